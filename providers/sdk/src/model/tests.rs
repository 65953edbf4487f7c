use crate::prelude::*;
use gpuform_schema::schema::{AttributeType, Nesting};
use gpuform_schema::{Number, Step, Type};

/// A machine.
///
/// With a second
/// paragraph.
#[derive(Model, Clone, PartialEq, Default, Debug)]
struct Machine {
    /// The
    /// name.
    #[attr(required, force_new)]
    name: Attr<String>,
    #[attr(optional, default = 8)]
    size: Attr<i64>,
    #[attr(computed, name = "self_link")]
    link: Attr<String>,
    #[attr(optional, sensitive, deprecated = "use a key")]
    r#type: Attr<String>,
    #[attr(optional)]
    share: Attr<f64>,
    #[attr(optional, computed)]
    ingress: Attr<Set<Rule>>,
    #[attr(optional, nested)]
    egress: Attr<Vec<Rule>>,
    #[attr(optional)]
    anything: Attr<Value>,
    #[block(min = 1)]
    disk: Vec<Rule>,
    #[block]
    root: Option<Rule>,
    #[block(nesting = "single")]
    spot: Option<Rule>,
    #[block(nesting = "set")]
    rule: Attr<Vec<Rule>>,
    #[timeouts(create = "10m", delete = "1h30m")]
    timeouts: Timeouts,
}

/// A rule.
#[derive(Model, Clone, PartialEq, Default, Debug)]
struct Rule {
    #[attr(optional)]
    port: Attr<i64>,
    #[attr(optional)]
    names: Attr<Vec<String>>,
}

fn rule_type() -> Type {
    Type::object([("port", Type::Number), ("names", Type::list(Type::String))])
}

fn rule(port: Value, names: Value) -> Value {
    Value::object([("port", port), ("names", names)])
}

fn names(names: &[&str]) -> Value {
    Value::list(Type::String, names.iter().map(Value::string).collect())
}

#[test]
fn the_schema_says_what_the_struct_says() {
    let block = Machine::object().block();
    assert_eq!(block.description.text, "A machine.\nWith a second paragraph.");
    let name = &block.attributes["name"];
    assert_eq!((name.required, name.description.text.as_str()), (true, "The name."));
    let size = &block.attributes["size"];
    assert!(size.optional && size.computed, "a default makes an attribute computed, as protocol 6 demands");
    assert!(block.attributes["self_link"].computed && !block.attributes["self_link"].optional);
    let ty = &block.attributes["type"];
    assert_eq!((ty.sensitive, ty.deprecated, ty.description.text.as_str()), (true, true, "Deprecated: use a key"));
    assert_eq!(block.attributes["ingress"].ty, AttributeType::Value(Type::set(rule_type())));
    assert!(matches!(&block.attributes["egress"].ty, AttributeType::Nested(n) if n.nesting == Nesting::List));
    assert_eq!(block.attributes["anything"].ty, AttributeType::Value(Type::Dynamic));

    let shape = |name: &str| {
        let b = &block.blocks[name];
        (b.nesting, b.min_items, b.max_items)
    };
    assert_eq!(shape("disk"), (Nesting::List, 1, 0));
    assert_eq!(shape("root"), (Nesting::List, 0, 1));
    assert_eq!(shape("spot"), (Nesting::Single, 0, 0));
    assert_eq!(shape("rule"), (Nesting::Set, 0, 0));
    let timeouts = &block.blocks["timeouts"];
    assert_eq!(timeouts.block.attributes.keys().map(|k| &**k).collect::<Vec<_>>(), ["create", "delete"]);
    assert!(timeouts.block.attributes["delete"].description.text.contains("by default 90m"));
}

#[test]
fn values_become_structs_and_structs_values() {
    let full = Machine {
        name: "a".into(),
        size: 3.into(),
        link: Attr::Unknown,
        share: 0.1.into(),
        ingress: Set::from(vec![Rule { port: 1.into(), names: Attr::Null }]).into(),
        disk: vec![Rule { port: Attr::Null, names: vec!["x".to_owned()].into() }],
        spot: Some(Rule::default()),
        rule: Attr::Unknown,
        anything: Value::from("v").into(),
        ..Machine::default()
    };
    let value = full.encode();
    assert_eq!(value.get("self_link"), Some(&Value::unknown(Type::String)));
    assert_eq!(value.get("share"), Some(&Value::Number(Number::parse("0.1").unwrap())));
    assert_eq!(value.get("root"), Some(&Value::list(rule_type(), vec![])));
    assert_eq!(value.get("spot"), Some(&rule(Value::Null(Type::Number), Value::Null(Type::list(Type::String)))));
    assert_eq!(value.get("rule"), Some(&Value::unknown(Type::set(rule_type()))));
    assert_eq!(<Machine as Model>::decode(&value).unwrap(), full);
}

#[test]
fn a_list_with_an_unknown_element_is_unknown_as_a_whole() {
    let unknown = Value::list(Type::String, vec![Value::from("a"), Value::unknown(Type::String)]);
    let decoded = <Rule as Model>::decode(&rule(Value::number(1i64), unknown)).unwrap();
    assert_eq!(decoded, Rule { port: 1.into(), names: Attr::Unknown });
}

#[test]
fn what_does_not_fit_is_an_error_with_its_place() {
    let why = |value: Value| match <Rule as Model>::decode(&value) {
        Err(e) => Error::from(e).to_string(),
        Ok(_) => "decoded".to_owned(),
    };
    let half = Value::Number(Number::parse("1.5").unwrap());
    assert!(why(rule(half, names(&[]))).contains("1.5 is not a whole number"));
    let null = Value::list(Type::String, vec![Value::Null(Type::String)]);
    assert!(why(rule(Value::number(1i64), null)).contains("null value"));
}

#[test]
fn only_what_the_code_changed_is_written_back() {
    // Neither the unknown element nor the exact number survives decoding; both survive the author's code.
    let partly = Value::list(Type::String, vec![Value::from("a"), Value::unknown(Type::String)]);
    let exact = Value::Number(Number::parse("0.1000000000000000000000000001").unwrap());
    let value = Machine::object().block().empty_value().map_children(&mut |step, v| match step() {
        Step::Attr(n) if &*n == "share" => exact.clone(),
        Step::Attr(n) if &*n == "root" => Value::list(rule_type(), vec![rule(Value::number(1i64), partly.clone())]),
        _ => v.clone(),
    });
    let mut machine = <Machine as Model>::decode(&value).unwrap();
    let before = machine.encode();
    machine.root.as_mut().unwrap().port = 2.into();
    let after = crate::codec::rewrite(&value, &before, &machine.encode());
    assert_eq!(after.get("share"), Some(&exact));
    assert_eq!(after.get("root"), Some(&Value::list(rule_type(), vec![rule(Value::number(2i64), partly)])));
}

#[test]
fn an_empty_answer_leaves_null_as_it_is() {
    let mut name: Attr<String> = Attr::Null;
    name.refresh("");
    assert_eq!(name, Attr::Null);
    name.refresh("x");
    name.refresh("");
    assert_eq!(name, "");
}

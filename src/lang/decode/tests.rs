//! What a provider gets from a block as it is written.

use super::{Decoder, Dependence, Layout};
use crate::addr::Resource;
use crate::diag::{Diagnostics, Result, Sources};
use crate::lang::functions::FunctionContext;
use crate::lang::json_syntax::JsonBody;
use crate::lang::parse::parse_file;
use crate::lang::render;
use crate::lang::resolve::{Allowed, Declared, Keys, Symbols};
use crate::lang::scope::{EmptyScope, Scope};
use crate::lang::syntax::{Body, Slot, Target, Traversal};
use gpuform_schema::schema::{Attribute, AttributeType, Block, NestedAttributes, NestedBlock, Nesting};
use gpuform_schema::{Marks, Path, Type, Value};

/// A module with these input variables.
struct Vars {
    values: Vec<(&'static str, Value)>,
    rest: EmptyScope<'static>,
}

impl Scope for Vars {
    fn value(&self, t: &Traversal) -> Result<Value> {
        match t.target {
            Target::Variable(slot) => Ok(self.values[slot as usize].1.clone()),
            _ => Ok(Value::unknown(Type::Dynamic)),
        }
    }
    fn function_context(&self) -> &FunctionContext<'_> {
        self.rest.function_context()
    }
}

impl Symbols for Vars {
    fn variable(&self, name: &str) -> Option<Slot> {
        self.values.iter().position(|(n, _)| *n == name).map(|i| i as Slot)
    }
    fn local(&self, _: &str) -> Option<Slot> {
        None
    }
    fn module_call(&self, _: &str) -> Option<Slot> {
        None
    }
    fn resource(&self, _: &Resource) -> Option<Slot> {
        None
    }
    fn keys(&self, _: Slot) -> Keys {
        Keys::Single
    }
    fn names(&self, _: Declared) -> Vec<&str> {
        Vec::new()
    }
    fn resources(&self) -> Vec<&Resource> {
        Vec::new()
    }
    fn place(&self) -> String {
        "the root module".into()
    }
}

fn attribute(ty: Type, required: bool) -> Attribute {
    Attribute {
        ty: AttributeType::Value(ty),
        description: Default::default(),
        required,
        optional: !required,
        computed: false,
        sensitive: false,
        write_only: false,
        deprecated: false,
    }
}

fn nested(nesting: Nesting, block: Block, min_items: u64, max_items: u64) -> NestedBlock {
    NestedBlock { nesting, block, min_items, max_items }
}

/// name (required), count, rules (list of objects), opts (structured); blocks disk (set, at most 2), net (single),
/// tag (map).
fn schema() -> Block {
    let rule = Type::object([("port", Type::Number), ("cidrs", Type::list(Type::String))]);
    let opts = NestedAttributes {
        nesting: Nesting::Single,
        attributes: [("on".into(), attribute(Type::Bool, true)), ("level".into(), attribute(Type::Number, false))]
            .into(),
    };
    let opts = Attribute { ty: AttributeType::Nested(opts), ..attribute(Type::Bool, false) };
    let only =
        |name: &str, ty: Type| Block { attributes: [(name.into(), attribute(ty, false))].into(), ..Block::default() };
    Block {
        attributes: [
            ("name".into(), attribute(Type::String, true)),
            ("size".into(), attribute(Type::Number, false)),
            ("rules".into(), attribute(Type::list(rule), false)),
            ("opts".into(), opts),
        ]
        .into(),
        blocks: [
            ("disk".into(), nested(Nesting::Set, only("gb", Type::Number), 0, 2)),
            ("net".into(), nested(Nesting::Single, only("id", Type::String), 0, 0)),
            ("tag".into(), nested(Nesting::Map, only("value", Type::String), 0, 0)),
        ]
        .into(),
        ..Block::default()
    }
}

struct Decoded {
    decoder: Decoder,
    value: Option<Value>,
    errors: Vec<String>,
    sources: Sources,
}

impl Decoded {
    fn shown(&self) -> String {
        assert_eq!(self.errors, Vec::<String>::new());
        self.value.as_ref().map(render::value).unwrap_or_default()
    }

    fn source_at(&self, path: &Path) -> String {
        self.decoder.range_of(path).map(|r| self.sources.text(r)).unwrap_or_default()
    }
}

fn decode(file: &str, text: &str, vars: &[(&'static str, Value)]) -> Decoded {
    let sources = Sources::default();
    let id = sources.add(file, text);
    let mut diags = Diagnostics::new();
    let body: Body = if file.ends_with(".json") {
        JsonBody::parse(text, id, &mut diags).into()
    } else {
        parse_file(text, id, &mut diags).into()
    };
    let scope = Vars { values: vars.to_vec(), rest: EmptyScope::default() };
    let allowed = Allowed { each: true, ..Allowed::default() };
    let decoder = Decoder::compile(&body, &Layout::new(&schema()), &scope, allowed, &mut diags);
    let value = decoder.eval(&scope, &mut diags);
    let errors = diags
        .iter()
        .map(|d| format!("{}: {}", d.subject.map(|r| sources.text(r)).unwrap_or_default(), d.summary))
        .collect();
    Decoded { decoder, value, errors, sources }
}

#[test]
fn both_syntaxes_decode_to_the_same_value_of_the_schemas_type() {
    let native = r#"
        name = 5
        opts = { on = "true" }
        disk { gb = 10 }
        net {}
        tag "a" { value = true }
        dynamic "tag" {
          for_each = { b = "x" }
          iterator = it
          labels   = ["${it.key}-${it.value}"]
          content {
            value = it.value
          }
        }
    "#
    .replace("{ gb", "{\n gb")
    .replace("10 }", "10\n}")
    .replace("{ value = true }", "{\n value = true\n}");
    let json = r#"{
        "name": 5,
        "opts": {"on": true},
        "disk": {"gb": 10},
        "net": {},
        "tag": {"a": {"value": true}},
        "dynamic": {"tag": {
            "for_each": {"b": "x"}, "iterator": "it", "labels": ["${it.key}-${it.value}"],
            "content": {"value": "${it.value}"}
        }}
    }"#;
    let expected = r#"{
  "disk" = toset([
    {
      "gb" = 10
    },
  ])
  "name" = "5"
  "net" = {
    "id" = tostring(null)
  }
  "opts" = {
    "level" = tonumber(null)
    "on" = true
  }
  "rules" = tolist(null) /* of object */
  "size" = tonumber(null)
  "tag" = tomap({
    "a" = {
      "value" = "true"
    }
    "b-x" = {
      "value" = "x"
    }
  })
}"#;
    for (file, text) in [("a.tf", &*native), ("a.tf.json", json)] {
        let decoded = decode(file, text, &[]);
        assert_eq!(decoded.shown(), expected, "{file}");
        assert_eq!(decoded.value.map(|v| v.ty()).as_ref(), Some(decoded.decoder.ty()));
    }
}

#[test]
fn lists_of_objects_may_be_written_as_blocks() {
    let blocks = "name = \"x\"\nrules {\n port = 1\n}\ndynamic \"rules\" {\n for_each = [2]\n content {\n port = rules.value\n}\n}";
    let argument = "name = \"x\"\nrules = [{ port = 1, cidrs = null }, { port = 2, cidrs = null }]";
    let decoded = decode("a.tf", blocks, &[]);
    assert_eq!(decoded.shown(), decode("a.tf", argument, &[]).shown());
    assert_eq!(decoded.source_at(&Path::attrs(["rules"]).index(0).attr("port")), "1");
}

#[test]
fn unknown_collections_make_unknown_blocks() {
    let text = "name = \"x\"\ndynamic \"disk\" {\n for_each = var.later\n content {\n gb = disk.value\n}\n}\n\
                dynamic \"net\" {\n for_each = var.later\n content {\n id = \"a\"\n}\n}";
    let decoded = decode("a.tf", text, &[("later", Value::unknown(Type::Dynamic))]);
    let shown = decoded.shown();
    assert!(shown.contains("\"disk\" = (known after apply)"), "{shown}");
    assert!(shown.contains("\"id\" = (known after apply)"), "{shown}");
}

#[test]
fn everything_that_is_wrong_is_told_with_its_place() {
    let text = "size = [1]\nnane = 1\nnet {\n}\nnet {\n}\ndisc {\n}\nrules {\n prot = 1\n}\nopts = { level = 1 }\n\
                dynamic \"disk\" {\n for_each = [1, 2, 3]\n content {\n gb = 1\n}\n}\ndynamic \"size\" {\n}";
    assert_eq!(
        decode("a.tf", text, &[]).errors,
        [
            "nane: Unsupported argument",
            "disc: Unsupported block type",
            "s: Missing required argument",
            "prot: Unsupported argument",
            "\"size\": Unsupported block type",
            "net: Duplicate net block",
            "{ level = 1 }: Incorrect attribute value type",
            "[1]: Incorrect attribute value type",
            "dynamic \"disk\": Too many disk blocks",
        ]
    );
}

#[test]
fn marks_stay_on_what_they_mark() {
    let secret = Value::string("s").with_marks(Marks::SENSITIVE);
    let text = "name = var.secret\ndisk {\n gb = 1\n}\nnet {\n id = \"a-${var.secret}\"\n}";
    let decoded = decode("a.tf", text, &[("secret", secret)]);
    let marked: Vec<String> =
        decoded.value.iter().flat_map(|v| v.unmark_with_paths().1).map(|(p, _)| p.to_string()).collect();
    assert_eq!(marked, [".name", ".net.id"]);
}

#[test]
fn paths_of_providers_lead_to_the_source() {
    let text =
        "name = \"x\"\nopts = {\n on = true\n level = 5\n}\nnet {\n id = \"n\"\n}\ntag \"k\" {\n value = \"v\"\n}";
    let decoded = decode("a.tf", text, &[]);
    assert_eq!(decoded.source_at(&Path::attrs(["opts", "level"])), "5");
    assert_eq!(decoded.source_at(&Path::attrs(["net", "id"])), "\"n\"");
    assert_eq!(decoded.source_at(&Path::attrs(["tag"]).key("k").attr("value")), "\"v\"");
    assert_eq!(decoded.source_at(&Path::attrs(["size"])), "n", "not set: where the body begins");
    assert_eq!(decoded.decoder.range_of(&Path::root()), None);
}

#[test]
fn what_a_body_depends_on_is_known_beforehand() {
    let other = ("other", Value::tuple(vec!["x".into()]));
    let dependence = |text: &str| decode("a.tf", text, std::slice::from_ref(&other)).decoder.dependence();
    assert_eq!(dependence("name = upper(\"x\")"), Dependence::Constant);
    assert_eq!(
        dependence("name = \"x\"\ndynamic \"disk\" {\n for_each = []\n content {\n gb = disk.value\n}\n}"),
        Dependence::Constant
    );
    assert_eq!(dependence("name = [for x in var.other : x][0]"), Dependence::Objects);
    assert_eq!(dependence("name = each.key"), Dependence::Instance);
    assert_eq!(dependence("name = uuid()"), Dependence::Instance);
}

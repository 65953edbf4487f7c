//! What expressions give, and where their errors point. Values and places were recorded from Terraform 1.11.4.

use crate::diag::{Diagnostics, FileId, Result};
use crate::lang::functions::FunctionContext;
use crate::lang::parse::parse_expression;
use crate::lang::render;
use crate::lang::scope::{EmptyScope, Scope};
use crate::lang::syntax::Traversal;
use gpuform_schema::{Marks, Str, Type, Value};
use std::collections::BTreeMap;

/// Names stand for values directly.
struct Names {
    values: BTreeMap<&'static str, Value>,
    rest: EmptyScope<'static>,
}

impl Scope for Names {
    fn value(&self, t: &Traversal) -> Result<Value> {
        Ok(self.values.get(&*t.root).cloned().unwrap_or_else(|| Value::unknown(Type::Dynamic)))
    }
    fn function_context(&self) -> &FunctionContext<'_> {
        self.rest.function_context()
    }
}

/// `secret` and `later` (an unknown string), `items` (a list of 2 strings), `zones` (a map).
fn names() -> Names {
    let values = [
        ("secret", Value::string("s").with_marks(Marks::SENSITIVE)),
        ("later", Value::unknown(Type::String)),
        ("items", Value::list(Type::String, vec!["a".into(), "b".into()])),
        ("zones", Value::map::<Str>(Type::String, [("k".into(), Value::string("v"))])),
    ];
    Names { values: values.into(), rest: EmptyScope::default() }
}

fn eval(text: &str) -> (Value, Diagnostics) {
    let expr = parse_expression(text, FileId(0), 0).expect("valid syntax");
    let mut diags = Diagnostics::new();
    let value = expr.eval_in(&names(), None, &mut diags);
    (value, diags)
}

/// The value as the console shows it.
fn shown(text: &str) -> String {
    let (value, diags) = eval(text);
    assert!(diags.is_empty(), "{text}: {diags:?}");
    render::value(&value)
}

/// Each error as `SOURCE: SUMMARY`.
fn errors(text: &str) -> Vec<String> {
    let describe = |d: &crate::diag::Diagnostic| {
        let source = d.subject.map(|r| &text[r.start as usize..r.end as usize]).unwrap_or_default();
        format!("{source}: {}", d.summary)
    };
    eval(text).1.iter().map(describe).collect()
}

#[test]
fn errors_point_where_terraform_points() {
    for (text, expected) in [
        ("upper([\"x\"])", "[: Invalid function argument"),
        ("upper({a = 1})", "{: Invalid function argument"),
        ("upper([for x in [\"a\"] : x])", "[: Invalid function argument"),
        ("upper(true ? [\"x\"] : [\"y\"])", "true: Invalid function argument"),
        ("upper([\"a\"][*])", "[*]: Invalid function argument"),
        ("upper(tolist([\"a\"]))", "tolist(: Invalid function argument"),
        ("abs(\"x\")", "x: Invalid function argument"),
        ("abs(!true)", "!: Invalid function argument"),
        ("abs((true))", "true: Invalid function argument"),
        ("try()", "try(: Error in function call"),
        ("nope(1)", "nope: Call to unknown function"),
        ("1 + \"a\"", "\"a\": Invalid operand"),
        ("-\"a\"", "\"a\": Invalid operand"),
        ("null + 1", "null + 1: Operation failed"),
        ("\"a${null}\"", "null: Invalid template interpolation value"),
        ("[][0]", "[0]: Invalid index"),
        ("[][0 + 1]", "[0 + 1]: Invalid index"),
        ("{}.a", ".a: Unsupported attribute"),
        ("[1][*].a", ".a: Unsupported attribute"),
        ("null[0]", "[0]: Attempt to index null value"),
        ("[for x in null : x]", "null: Iteration over null value"),
        ("[for x in 1 : x]", "1: Iteration over non-iterable value"),
        ("[for x in [1] : x if null]", "null: Condition is null"),
        ("{ for x in [1, 1] : x => 1 }", "x: Duplicate object key"),
        ("{ for x in [1] : null => 1 }", "null: Invalid object key"),
        ("{ (null) = 1 }", "1: Null value as key"),
        ("{ ([]) = 1 }", "([]): Incorrect key type"),
        ("true ? 1 : [2]", "1 : [2]: Inconsistent conditional result types"),
        ("[] ? 1 : 2", "[]: Incorrect condition type"),
    ] {
        assert_eq!(errors(text), [expected], "{text}");
    }
}

#[test]
fn every_error_of_an_expression_is_told_once() {
    assert_eq!(
        errors("[1 + \"a\", { x = {}.b }, \"${null}-${[]}\"]"),
        [
            "\"a\": Invalid operand",
            ".b: Unsupported attribute",
            "null: Invalid template interpolation value",
            "[]: Invalid template interpolation value",
        ]
    );
    assert_eq!(errors("(1 + \"a\") + [1]"), ["\"a\": Invalid operand", "[1]: Invalid operand"]);
    assert_eq!(errors("({}.b + 1).c[0]"), [".b: Unsupported attribute", ".c: Unsupported attribute"]);
    assert_eq!(errors("[for x in [1, 2, 3] : x if \"no\"]"), ["\"no\": Invalid 'for' condition"]);
}

#[test]
fn only_the_chosen_arm_counts() {
    assert_eq!(shown("true ? 1 : {}.b"), "1");
    assert_eq!(shown("false ? 1 : \"a\""), "\"a\"");
    assert_eq!(shown("true ? 1 : \"a\""), "\"1\"", "both arms have one type");
    assert_eq!(errors("false ? 1 : {}.b"), [".b: Unsupported attribute"]);
}

#[test]
fn marks_reach_whatever_shows_something_of_the_value() {
    for text in [
        "\"x-${secret}\"",
        "[for x in [secret] : x][0]",
        "{ (secret) = 1 }",
        "[for x in [1] : x if secret == \"s\"]",
        "{ for x in [secret] : x => 1 }",
        "secret == \"s\" ? 1 : 2",
        "true ? 1 : secret",
        "\"%{ if secret == \"s\" }a%{ endif }\"",
        "zones[secret == \"s\" ? \"k\" : \"k\"]",
        "[secret]...",
    ] {
        let text = if text.ends_with("...") { format!("upper({text})") } else { text.to_owned() };
        assert_eq!(shown(&text), "(sensitive value)", "{text}");
    }
    assert_eq!(shown("[secret]"), "[\n  (sensitive value),\n]", "a list of secrets is no secret");
}

#[test]
fn what_is_unknown_stays_unknown_with_its_type() {
    for (text, expected) in [
        ("\"a-${later}\"", "string"),
        ("[later]", "tuple([\n    string,\n])"),
        ("later == \"x\"", "bool"),
        ("[for x in later2 : x]", "dynamic"),
        ("later == \"x\" ? 1 : 2", "number"),
        ("later[*]", "dynamic"),
        ("try(later, 1)", "dynamic"),
        ("can(later)", "bool"),
    ] {
        let (value, diags) = eval(text);
        assert!(diags.is_empty(), "{text}: {diags:?}");
        assert_eq!(render::type_name(&value.ty()), expected, "{text}");
        assert!(!value.is_wholly_known(), "{text}");
    }
}

#[test]
fn failures_mention_the_values_involved_but_no_secrets() {
    let mentioned = |text: &str| -> Vec<String> {
        let diags = eval(text).1;
        diags.iter().flat_map(|d| &d.values).map(|v| format!("{} {}", v.traversal, v.statement)).collect()
    };
    assert_eq!(mentioned("items[2]"), ["items is list of string with 2 elements"]);
    assert_eq!(mentioned("[for i, x in items : x.a]"), ["x is \"a\"", "x is \"b\""]);
    assert_eq!(mentioned("abs(zones.k)"), ["zones.k is \"v\""]);
    assert_eq!(mentioned("abs(\"${secret}-${later}\" == 1)"), ["later is a string, known only after apply"]);
}

#[test]
fn loops_cost_the_same_for_each_element() {
    let text = "length([for i in range(1000) : [for j in range(100) : \"${i}-${j}\"]])";
    assert_eq!(shown(text), "1000");
    let deep = format!("{}1{}", "(1 + ".repeat(150), ")".repeat(150));
    assert_eq!(shown(&deep), "151");
    let nested_try = format!("{}{{}}.a{}", "try(".repeat(60), ", {}.b)".repeat(60));
    assert_eq!(errors(&nested_try).len(), 1, "nested calls that fail do not multiply");
}

//! Expressions: operators, templates, heredocs, `for`, splats, conditionals, indexes.

use crate::harness::{answers, error_of, folder, output_of, outputs};
use serde_json::json;

#[test]
fn operators_and_their_precedence() {
    answers(&[
        ("1 + 2 * 3 - 4 / 2", "5"),
        ("(1 + 2) * 3 % 5", "4"),
        ("-2 * -3", "6"),
        ("!true || true && false", "false"),
        ("1 < 2 == true", "true"),
        ("1 + 1 == 2 && 3 != 4", "true"),
        ("2 >= 2 && 1 <= 0", "false"),
        ("true || false ? 1 : 2", "1"),
    ]);
}

#[test]
fn equality_compares_types_too() {
    answers(&[
        ("1 == \"1\"", "false"),
        ("[1, 2] == [1, 2]", "true"),
        ("{ a = 1 } == { a = 1 }", "true"),
        ("null == null", "true"),
        ("toset([\"a\", \"b\"]) == toset([\"b\", \"a\"])", "true"),
    ]);
}

#[test]
fn operands_are_converted() {
    answers(&[("\"3\" + 4", "7"), ("\"true\" && true", "true"), ("\"10\" > 9", "true")]);
    assert_eq!(error_of("[1] + 1"), "Invalid operand");
    assert_eq!(error_of("null + 1"), "Operation failed");
}

#[test]
fn numbers_are_precise() {
    answers(&[
        ("0.1 + 0.2", "0.3"),
        ("9007199254740993 + 0", "9007199254740993"),
        ("123456789012345678901234567890 * 10", "1234567890123456789012345678900"),
        ("1e3", "1000"),
        ("5 % 3", "2"),
    ]);
}

#[test]
fn template_interpolation() {
    answers(&[
        ("\"a ${1 + 1} b ${true}\"", "\"a 2 b true\""),
        ("\"${[1, 2]}\"", "[\n  1,\n  2,\n]"),
        ("\"a ${\"nested ${\"deep\"}\"}\"", "\"a nested deep\""),
    ]);
    assert_eq!(error_of("\"a ${[1]}\""), "Invalid template interpolation value");
}

#[test]
fn template_directive_if() {
    answers(&[
        ("\"%{ if true }yes%{ else }no%{ endif }\"", "\"yes\""),
        ("\"%{ if false }yes%{ else }no%{ endif }\"", "\"no\""),
        ("\"<%{ if false }yes%{ endif }>\"", "\"<>\""),
    ]);
}

#[test]
fn template_directive_for() {
    answers(&[
        ("\"%{ for x in [1, 2] }<${x}>%{ endfor }\"", "\"<1><2>\""),
        ("\"%{ for k, v in { a = 1, b = 2 } }${k}=${v};%{ endfor }\"", "\"a=1;b=2;\""),
    ]);
}

#[test]
fn template_trimming_markers() {
    answers(&[
        ("\"a  ${~ \"b\" ~}  c\"", "\"abc\""),
        ("\"[  %{~ if true ~}  x  %{~ endif ~}  ]\"", "\"[x]\""),
        ("\"%{ for x in [1, 2] ~}  ${x}  %{~ endfor }\"", "\"12\""),
    ]);
}

#[test]
fn template_escapes() {
    answers(&[("\"$${a} %%{b}\"", "\"${a} %{b}\""), ("length(\"$${a}\")", "4"), ("\"$ % $$ %%\"", "\"$ % $$ %%\"")]);
}

#[test]
fn string_escapes() {
    answers(&[
        (r#""tab\there \"quoted\" back\\slash""#, r#""tab\there \"quoted\" back\\slash""#),
        (r#""\u00e9 \U0001F600""#, "\"é 😀\""),
        (r#"length("a\nb")"#, "3"),
    ]);
    assert_eq!(error_of(r#""\q""#), "Invalid escape sequence");
}

#[test]
fn strings_are_normalized_and_counted_as_characters() {
    answers(&[(r#"length("e\u0301")"#, "1"), (r#""e\u0301" == "\u00e9""#, "true"), ("length(\"👨‍👩‍👧\")", "1")]);
}

#[test]
fn heredoc_keeps_its_indentation() {
    let value = output_of(
        r#"
output "text" {
  value = <<EOT
  two ${1 + 1}
    four \n "as it is"
EOT
}
"#,
    );
    assert_eq!(value, "  two 2\n    four \\n \"as it is\"\n");
}

#[test]
fn heredoc_indented_form_drops_common_indentation() {
    let value = output_of(
        r#"
output "text" {
  value = <<-EOT
    a
      b
    c ${upper("d")}
  EOT
}
"#,
    );
    assert_eq!(value, "a\n  b\nc D\n");
}

#[test]
fn heredoc_as_an_argument_and_in_an_object() {
    let value = output_of(
        r#"
output "list" {
  value = [upper(<<-A
    x
  A
  ), { k = <<-B
    y
  B
  }]
}
"#,
    );
    assert_eq!(value, json!(["X\n", { "k": "y\n" }]));
}

#[test]
fn for_makes_tuples_and_objects() {
    answers(&[
        ("[for x in [1, 2, 3] : x * 2 if x != 2]", "[\n  2,\n  6,\n]"),
        ("[for i, x in [\"a\", \"b\"] : \"${i}${x}\"]", "[\n  \"0a\",\n  \"1b\",\n]"),
        ("{ for k, v in { a = 1, b = 2 } : upper(k) => v }", "{\n  \"A\" = 1\n  \"B\" = 2\n}"),
        ("[for x in toset([\"b\", \"a\"]) : x]", "[\n  \"a\",\n  \"b\",\n]"),
    ]);
    assert_eq!(error_of("{ for x in [\"a\", \"a\"] : x => 1 }"), "Duplicate object key");
    assert_eq!(error_of("[for x in 5 : x]"), "Iteration over non-iterable value");
}

#[test]
fn for_with_grouping() {
    answers(&[(
        "{ for w in [\"ab\", \"c\", \"de\"] : length(w) => w... }",
        "{\n  \"1\" = [\n    \"c\",\n  ]\n  \"2\" = [\n    \"ab\",\n    \"de\",\n  ]\n}",
    )]);
}

#[test]
fn splat_full() {
    answers(&[
        ("[{ a = [1] }, { a = [2] }][*].a[0]", "[\n  1,\n  2,\n]"),
        ("{ a = 1 }[*].a", "[\n  1,\n]"),
        ("null[*]", "[]"),
        ("\"x\"[*]", "[\n  \"x\",\n]"),
    ]);
}

#[test]
fn splat_attribute_only() {
    // An index after it applies to the whole result.
    answers(&[
        ("[{ a = 1 }, { a = 2 }].*.a", "[\n  1,\n  2,\n]"),
        ("[{ a = [1, 5] }, { a = [2, 6] }].*.a[1]", "[\n  2,\n  6,\n]"),
    ]);
}

#[test]
fn conditional_unifies_its_results() {
    answers(&[
        ("true ? 1 : \"a\"", "\"1\""),
        ("true ? [1] : [2, 3]", "tolist([\n  1,\n])"),
        ("true ? { a = 1 } : { b = 2 }", "tomap({\n  \"a\" = 1\n})"),
        ("true ? null : \"a\"", "tostring(null)"),
    ]);
    assert_eq!(error_of("true ? 1 : [1]"), "Inconsistent conditional result types");
    assert_eq!(error_of("null ? 1 : 2"), "Null condition");
}

#[test]
fn conditional_evaluates_only_the_result_it_takes() {
    answers(&[("true ? 1 : [2, 3][5]", "1"), ("false ? tonumber(\"x\") : 2", "2")]);
}

#[test]
fn try_takes_the_first_that_works() {
    answers(&[("try({}.a, [][0], \"last\")", "\"last\""), ("try(1, 2)", "1"), ("try(tonumber(\"x\"), null)", "null")]);
    assert_eq!(error_of("try({}.a, [][0])"), "Error in function call");
}

#[test]
fn can_tells_whether_it_works() {
    answers(&[("can({}.a)", "false"), ("can({ a = 1 }.a)", "true"), ("can(regex(\"^a\", \"b\"))", "false")]);
}

#[test]
fn index_and_attribute_access() {
    answers(&[
        ("[10, 20][1]", "20"),
        ("{ a = { b = 3 } }.a[\"b\"]", "3"),
        ("{ \"x y\" = 1 }[\"x y\"]", "1"),
        ("[10, 20][\"1\"]", "20"),
    ]);
    assert_eq!(error_of("[10][1]"), "Invalid index");
    assert_eq!(error_of("{ a = 1 }.b"), "Unsupported attribute");
}

#[test]
fn index_legacy_syntax() {
    let work = folder(
        r#"
locals {
  list = [{ a = "first" }, { a = "second" }]
}
output "legacy" {
  value = local.list.1.a
}
"#,
    );
    assert_eq!(outputs(&work), json!({ "legacy": "second" }));
}

#[test]
fn object_keys_names_expressions_and_separators() {
    answers(&[
        ("{ a : 1, \"b\" = 2, (\"c${1}\") = 3, 4 = 5 }", "{\n  \"4\" = 5\n  \"a\" = 1\n  \"b\" = 2\n  \"c1\" = 3\n}"),
        ("{ a = 1, a = 2 }", "{\n  \"a\" = 2\n}"),
    ]);
}

#[test]
fn arguments_are_expanded() {
    answers(&[("max([1, 5, 3]...)", "5"), ("format(\"%s-%s\", [\"a\", \"b\"]...)", "\"a-b\"")]);
}

#[test]
fn identifiers_may_contain_dashes_and_letters_of_any_script() {
    let work = folder("locals {\n  größe-1 = 7\n}\noutput \"o\" {\n  value = local.größe-1 - 1\n}\n");
    assert_eq!(outputs(&work), json!({ "o": 6 }));
}

#[test]
fn references_to_the_places_of_the_configuration() {
    let work = folder(
        r#"
output "paths" {
  value = [path.module, path.root, path.cwd == abspath("."), terraform.workspace]
}
"#,
    );
    assert_eq!(outputs(&work), json!({ "paths": [".", ".", true, "default"] }));
}

#[test]
fn trimmed_text_around_an_interpolation_makes_a_string() {
    answers(&[("\"${~ 1 ~}\"", "1"), ("\"  ${~ 1 ~}  \"", "\"1\""), ("\" ${~ [1][0] ~}\"", "\"1\"")]);
}

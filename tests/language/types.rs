//! Type constraints and conversion.

use crate::harness::{answers, console, error_of, folder, output_of, plan_problems, validated};
use serde_json::json;

#[test]
fn optional_attributes_and_their_defaults() {
    let value = output_of(
        r#"
variable "disk" {
  type = object({
    size   = number
    kind   = optional(string, "ssd")
    labels = optional(map(string))
    backup = optional(object({ keep = optional(number, 7) }), {})
  })
  default = { size = 10 }
}
output "disk" {
  value = var.disk
}
"#,
    );
    assert_eq!(value, json!({ "size": 10, "kind": "ssd", "labels": null, "backup": { "keep": 7 } }));
}

#[test]
fn optional_defaults_replace_null_inside_collections() {
    let value = output_of(
        r#"
variable "disks" {
  type    = map(object({ size = optional(number, 5) }))
  default = { a = {}, b = { size = null }, c = { size = 1 } }
}
output "sizes" {
  value = { for k, d in var.disks : k => d.size }
}
"#,
    );
    assert_eq!(value, json!({ "a": 5, "b": 5, "c": 1 }));
}

#[test]
fn any_is_replaced_by_one_type() {
    let work = folder(
        r#"
variable "list" {
  type    = list(any)
  default = [1, "a", true]
}
variable "whatever" {
  type    = any
  default = { a = [1, "x"] }
}
"#,
    );
    assert_eq!(console(&work, "var.list"), "tolist([\n  \"1\",\n  \"a\",\n  \"true\",\n])");
    assert_eq!(
        console(&work, "type(var.whatever)"),
        "object({\n    a: tuple([\n        number,\n        string,\n    ]),\n})"
    );
}

#[test]
fn any_without_a_common_type_is_an_error() {
    let found = validated("variable \"list\" {\n  type    = list(any)\n  default = [1, {}]\n}\n");
    assert_eq!(found, ["error main.tf:3,13-20 Invalid default value for variable"]);
}

#[test]
fn conversion_between_primitive_types() {
    answers(&[
        ("tonumber(\"0x10\" == \"\" ? 1 : \"1e2\")", "100"),
        ("tostring(1.50)", "\"1.5\""),
        ("tobool(\"true\")", "true"),
        ("tostring(true)", "\"true\""),
    ]);
    assert_eq!(error_of("tonumber(\"a\")"), "Invalid function argument");
    assert_eq!(error_of("tobool(\"yes\")"), "Invalid function argument");
}

#[test]
fn conversion_between_collection_types() {
    answers(&[
        ("tolist([1, \"a\"])", "tolist([\n  \"1\",\n  \"a\",\n])"),
        ("toset([1, 1, 2])", "toset([\n  1,\n  2,\n])"),
        ("tomap({ a = 1, b = \"x\" })", "tomap({\n  \"a\" = \"1\"\n  \"b\" = \"x\"\n})"),
        ("tolist(toset([\"b\", \"a\"]))", "tolist([\n  \"a\",\n  \"b\",\n])"),
    ]);
}

#[test]
fn conversion_of_objects_drops_what_the_type_does_not_name() {
    let value = output_of(
        r#"
variable "o" {
  type    = object({ a = string })
  default = { a = 1, more = 2 }
}
output "o" {
  value = var.o
}
"#,
    );
    assert_eq!(value, json!({ "a": "1" }));
}

#[test]
fn tuples_have_a_type_for_each_element() {
    let value = output_of(
        "variable \"t\" {\n  type    = tuple([string, number])\n  default = [1, \"2\"]\n}\noutput \"t\" {\n  value = var.t\n}\n",
    );
    assert_eq!(value, json!(["1", 2]));
    let short = validated("variable \"t\" {\n  type    = tuple([string, number])\n  default = [1]\n}\n");
    assert_eq!(short, ["error main.tf:3,13-16 Invalid default value for variable"]);
}

#[test]
fn values_that_do_not_fit_are_refused_where_they_are_given() {
    let found = plan_problems(
        r#"
variable "n" {
  type = map(number)
}
-- terraform.tfvars --
n = { a = "x" }
"#,
    );
    assert_eq!(found, ["error terraform.tfvars:1,5-16 Invalid value for input variable"]);
}

#[test]
fn type_constraints_that_are_none_are_refused() {
    let found = validated(
        r#"
variable "a" {
  type = list # an old way to write list(any)
}
variable "b" {
  type = strin
}
variable "c" {
  type = object({ a = optional(string, 1, 2) })
}
variable "d" {
  type = list(string, number)
}
"#,
    );
    assert_eq!(
        found,
        [
            "error main.tf:5,10-15 Invalid type specification",
            "error main.tf:8,31-45 Invalid type specification",
            "error main.tf:11,23-29 Invalid type specification",
        ]
    );
}

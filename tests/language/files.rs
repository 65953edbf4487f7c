//! The files of a module: overrides, the JSON form, what is read and what is not.

use crate::harness::{add_files, folder, output_of, outputs, problems, validated};
use serde_json::json;

#[test]
fn override_files_replace_arguments() {
    let work = folder(
        r#"
variable "v" {
  type    = string
  default = "base"
}
locals {
  l = "base"
}
output "o" {
  value = [var.v, local.l, terraform_data.a.output]
}
resource "terraform_data" "a" {
  input = { kept = true }
  count = 0
}
-- a_override.tf --
variable "v" {
  default = "first"
}
locals {
  l = "overridden"
}
resource "terraform_data" "a" {
  count = 1
}
output "o" {
  value = [var.v, local.l, terraform_data.a[0].output]
}
-- override.tf --
variable "v" {
  default = "last"
}
"#,
    );
    // In the order of their names.
    assert_eq!(outputs(&work), json!({ "o": ["last", "overridden", { "kept": true }] }));
}

#[test]
fn override_files_merge_lifecycle_and_replace_other_blocks() {
    let Some(work) = crate::harness::demo_folder(
        r#"
resource "demo_machine" "m" {
  name = "m"
  zone = "north"
  size = 1
  disk {
    size = 1
  }
  disk {
    size = 2
  }
}
output "o" {
  value = [demo_machine.m.size, demo_machine.m.disk[*].size]
}
-- override.tf --
resource "demo_machine" "m" {
  size = 5
  disk {
    size = 9
  }
}
"#,
    ) else {
        return;
    };
    assert_eq!(outputs(&work), json!({ "o": [5, [9]] }));
}

#[test]
fn override_files_need_something_to_override() {
    let found = validated("-- override.tf --\nresource \"terraform_data\" \"a\" {}\n");
    assert_eq!(found, ["error override.tf:1,1-30 Missing resource to override"]);
}

#[test]
fn json_files_with_expressions_and_comments() {
    let value = output_of(
        r#"
-- main.tf.json --
{
  "//": "a comment",
  "variable": { "v": { "type": "number", "default": 2 } },
  "locals": { "k": "key", "list": ["${var.v}", "v is ${var.v}", "plain", { "${upper(local.k)}": true }] },
  "resource": {
    "terraform_data": {
      "a": { "//": "another", "count": 2, "input": "${count.index}", "lifecycle": [{ "ignore_changes": ["input"] }] }
    }
  },
  "output": { "o": { "value": "${[local.list, terraform_data.a[*].output]}" } }
}
"#,
    );
    assert_eq!(value, json!([[2, "v is 2", "plain", { "KEY": true }], [0, 1]]));
}

#[test]
fn json_strings_are_templates_only_where_expressions_can_stand() {
    let work = folder(
        r#"
-- main.tf.json --
{
  "variable": {
    "v": {"default": "${1 + 1}", "description": "up to ${x"},
    "w": {"type": "map(string)"}
  },
  "output": {"o": {"value": ["${var.v}", "${1 + 1}", "${var.w}"], "description": "%{ no template"}}
}
-- t.auto.tfvars.json --
{"w": {"${a}": "%{ b"}}
"#,
    );
    assert_eq!(outputs(&work), json!({ "o": ["${1 + 1}", 2, { "${a}": "%{ b" }] }));
}

#[test]
fn json_templates_that_are_wrong_hide_no_other_mistake() {
    let files = r#"
-- main.tf.json --
{
  "output": {
    "a": {"value": "${1 +}"},
    "b": {"value": "${local.nope}"}
  }
}
"#;
    let work = folder(files);
    // The mistakes are in expressions, which init does not look at.
    work.ok(&["init"]);
    assert_eq!(
        validated(files),
        [
            "error main.tf.json:3,26-27 Invalid expression",
            "error main.tf.json:4,23-33 Reference to undeclared local value"
        ]
    );
}

#[test]
fn json_files_refer_to_others_without_interpolation_where_addresses_are_meant() {
    let work = folder(
        r#"
resource "terraform_data" "a" {}
-- more.tf.json --
{
  "resource": { "terraform_data": { "b": { "depends_on": ["terraform_data.a"] } } },
  "moved": { "from": "terraform_data.old", "to": "terraform_data.a" }
}
"#,
    );
    work.ok(&["apply", "-auto-approve"]);
    assert_eq!(work.ok(&["state", "list"]), "terraform_data.a\nterraform_data.b\n");
}

#[test]
fn json_files_that_are_wrong_are_reported_with_their_place() {
    let found = validated("-- main.tf.json --\n{\n  \"locals\": { \"a\": \"${var.x}\" },\n  \"resorce\": {}\n}\n");
    assert_eq!(found, ["error main.tf.json:3,3-12 Extraneous JSON object property"]);
}

#[test]
fn tofu_files_are_ignored() {
    assert_eq!(output_of("output \"o\" {\n  value = 1\n}\n-- main.tofu --\nthis is no configuration\n"), 1);
}

#[test]
fn hidden_and_backup_files_are_ignored() {
    let files = "output \"o\" {\n  value = 1\n}\n-- .hidden.tf --\nno configuration\n-- main.tf~ --\nnor this\n-- #main.tf# --\nnor this\n";
    assert_eq!(output_of(files), 1);
}

#[test]
fn byte_order_marks_and_carriage_returns() {
    let work = folder("");
    work.write("main.tf", "\u{feff}output \"o\" {\r\n  value = <<EOT\r\na\r\nEOT\r\n}\r\n");
    assert_eq!(outputs(&work), json!({ "o": "a\r\n" }));
}

#[test]
fn comments_of_all_kinds() {
    let value = output_of(
        "# one\n// two\n/* three\n   lines */\noutput \"o\" { # four\n  value = 1 /* five */ + 1 // six\n}\n",
    );
    assert_eq!(value, 2);
}

#[test]
fn variable_files_may_name_only_values() {
    let work = folder("variable \"a\" {\n  default = 1\n}\n-- terraform.tfvars --\na = var.b\n");
    assert_eq!(problems(&work, &["plan", "-json"]), ["error terraform.tfvars:1,5-8 Variables not allowed"]);
}

#[test]
fn variable_files_with_names_that_are_not_declared() {
    let work = folder("-- terraform.tfvars --\nnothing = 1\n");
    let found = problems(&work, &["plan", "-json"]);
    assert!(found.len() == 1 && found[0].starts_with("warning "), "{found:?}");
    assert!(found[0].ends_with("Value for undeclared variable"), "{found:?}");
    work.fails(&["plan", "-var=nothing=1"]);
}

#[test]
fn installing_tells_what_is_wrong_in_all_modules() {
    let wrong = "variable \"v\" {\n  type    = number\n  default = \"x\"\n}\n";
    let call = |name: &str, source: &str| format!("{wrong}module \"{name}\" {{\n  source = \"{source}\"\n}}\n");
    let work = folder("");
    add_files(&work, &format!("{}-- a/main.tf --\n{}-- b/main.tf --\n{wrong}", call("a", "./a"), call("b", "../b")));
    let errors = work.fails(&["get", "-no-color"]);
    for file in ["main.tf line 3", "a/main.tf line 3", "b/main.tf line 3"] {
        assert!(errors.contains(file), "{errors}");
    }
}

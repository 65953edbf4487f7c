//! Input variables, outputs and local values.

use crate::harness::{apply, console, folder, output_of, outputs, plan_problems, problems, shows, validated};
use serde_json::json;

#[test]
fn precedence_of_the_places_that_give_values() {
    let work = folder(
        r#"
variable "v" {
  default = "default"
}
output "v" {
  value = var.v
}
"#,
    );
    let now = |args: &[&str]| {
        let mut command = work.command(&[&["apply", "-auto-approve"], args].concat());
        assert!(command.env("TF_VAR_v", "environment").output().unwrap().status.success());
        work.ok(&["output", "-raw", "v"])
    };
    assert_eq!(now(&[]), "environment");
    work.write("terraform.tfvars", "v = \"terraform.tfvars\"\n");
    assert_eq!(now(&[]), "terraform.tfvars");
    work.write("terraform.tfvars.json", "{ \"v\": \"terraform.tfvars.json\" }");
    assert_eq!(now(&[]), "terraform.tfvars.json");
    work.write("b.auto.tfvars", "v = \"b.auto\"\n");
    work.write("a.auto.tfvars.json", "{ \"v\": \"a.auto\" }");
    assert_eq!(now(&[]), "b.auto");
    work.write("f.tfvars", "v = \"file\"\n");
    assert_eq!(now(&["-var=v=option", "-var-file=f.tfvars"]), "file");
    assert_eq!(now(&["-var-file=f.tfvars", "-var=v=option"]), "option");
}

#[test]
fn nullable_false_takes_the_default_for_null() {
    let value = output_of(
        r#"
module "m" {
  source = "./m"
  strict = null
  loose  = null
}
output "both" {
  value = module.m.both
}
-- m/main.tf --
variable "strict" {
  default  = "default"
  nullable = false
}
variable "loose" {
  default = "default"
}
output "both" {
  value = [var.strict, var.loose]
}
"#,
    );
    assert_eq!(value, json!(["default", null]));
}

#[test]
fn nullable_false_without_a_default_refuses_null() {
    let found = plan_problems(
        r#"
module "m" {
  source = "./m"
  v      = null
}
-- m/main.tf --
variable "v" {
  nullable = false
}
"#,
    );
    assert_eq!(found, ["error main.tf:3,12-16 Required variable not set"]);
}

#[test]
fn variables_without_a_value_are_required() {
    let work = folder("variable \"needed\" {}\n");
    assert_eq!(
        problems(&work, &["plan", "-json", "-input=false"]),
        ["error main.tf:1,1-18 No value for required variable"]
    );
}

#[test]
fn sensitive_variables_are_not_shown() {
    let work = folder(
        r#"
variable "secret" {
  sensitive = true
  default   = "hunter2"
}
resource "terraform_data" "a" {
  input = { open = 1, hidden = "x-${var.secret}" }
}
"#,
    );
    let plan = work.ok(&["plan", "-no-color"]);
    shows(&plan, "+ hidden = (sensitive value)\n+ open   = 1");
    assert!(!plan.contains("hunter2"), "{plan}");
    assert_eq!(console(&work, "var.secret"), "(sensitive value)");
}

#[test]
fn sensitive_values_need_sensitive_outputs() {
    let config = "variable \"s\" {\n  sensitive = true\n  default   = 1\n}\noutput \"o\" {\n  value = var.s\n}\n";
    assert_eq!(plan_problems(config), ["error main.tf:5,1-11 Output refers to sensitive values"]);
}

#[test]
fn sensitive_outputs_are_hidden_but_given_when_asked_for() {
    let work = folder("output \"o\" {\n  value     = \"hunter2\"\n  sensitive = true\n}\n");
    let applied = work.ok(&["apply", "-auto-approve", "-no-color"]);
    shows(&applied, "+ o = (sensitive value)\no = <sensitive>");
    assert_eq!(work.ok(&["output", "-raw", "o"]), "hunter2");
}

#[test]
fn ephemeral_variables_are_not_stored() {
    let work = folder(
        r#"
variable "token" {
  ephemeral = true
}
resource "terraform_data" "a" {
  provisioner "local-exec" {
    command = "printf %s '${var.token}' > seen"
  }
}
"#,
    );
    work.ok(&["plan", "-out=p", "-var=token=hunter2"]);
    work.ok(&["apply", "-var=token=hunter2", "p"]);
    assert_eq!(work.read("seen"), "hunter2");
    let files = ["p", "terraform.tfstate"].map(|f| std::fs::read(work.path(f)).unwrap());
    assert!(!files.iter().any(|f| String::from_utf8_lossy(f).contains("hunter2")));
}

#[test]
fn ephemeral_values_are_refused_where_they_would_be_stored() {
    let found = plan_problems(
        r#"
variable "token" {
  ephemeral = true
  default   = "t"
}
resource "terraform_data" "a" {
  input = var.token
}
output "o" {
  value = var.token
}
"#,
    );
    assert_eq!(
        found,
        ["error main.tf:6,11-20 Invalid use of ephemeral value", "error main.tf:9,11-20 Ephemeral value not allowed"]
    );
}

#[test]
fn ephemeral_outputs_of_modules_pass_values_on() {
    let work = folder(
        r#"
module "m" {
  source = "./m"
}
output "whether" {
  value = ephemeralasnull(module.m.token) == null
}
-- m/main.tf --
variable "token" {
  ephemeral = true
  default   = "t"
}
output "token" {
  value     = var.token
  ephemeral = true
}
"#,
    );
    assert_eq!(outputs(&work), json!({ "whether": true }));
}

#[test]
fn ephemeral_outputs_are_for_child_modules() {
    let found = validated("output \"o\" {\n  value     = 1\n  ephemeral = true\n}\n");
    assert_eq!(found, ["error main.tf:1,1-11 Ephemeral output not allowed"]);
}

#[test]
fn validation_of_a_variable() {
    let work = folder(
        r#"
variable "size" {
  type = number
  validation {
    condition     = var.size > 0
    error_message = "The size ${var.size} is too small."
  }
  validation {
    condition     = var.size % 2 == 0
    error_message = "The size must be even."
  }
}
"#,
    );
    work.ok(&["plan", "-var=size=2"]);
    let errors = work.fails(&["plan", "-no-color", "-var=size=-1"]);
    assert!(errors.contains("The size -1 is too small.") && errors.contains("The size must be even."), "{errors}");
    assert_eq!(problems(&work, &["plan", "-json", "-var=size=3"]), ["error main.tf:1,1-16 Invalid value for variable"]);
}

#[test]
fn validation_may_refer_to_other_objects() {
    let work = folder(
        r#"
variable "zone" {
  validation {
    condition     = contains(local.zones, var.zone) && var.zone != var.forbidden
    error_message = "Zones are ${join(", ", local.zones)}, without ${var.forbidden}."
  }
}
variable "forbidden" {
  default = "c"
}
locals {
  zones = ["a", "b", "c"]
}
"#,
    );
    work.ok(&["plan", "-var=zone=a"]);
    let errors = work.fails(&["plan", "-no-color", "-var=zone=c"]);
    assert!(errors.contains("Zones are a, b, c, without c."), "{errors}");
}

#[test]
fn validation_with_values_known_only_after_apply_waits() {
    let work = folder(
        r#"
resource "terraform_data" "a" {}
module "m" {
  source = "./m"
  id     = terraform_data.a.id
}
-- m/main.tf --
variable "id" {
  validation {
    condition     = length(var.id) < 5
    error_message = "The id is too long."
  }
}
"#,
    );
    work.ok(&["plan"]);
    let errors = work.fails(&["apply", "-auto-approve", "-no-color"]);
    assert!(errors.contains("The id is too long."), "{errors}");
}

#[test]
fn output_preconditions() {
    let work = folder(
        r#"
variable "n" {
  default = 1
}
output "o" {
  value = var.n
  precondition {
    condition     = var.n < 5
    error_message = "${var.n} is too much."
  }
}
"#,
    );
    apply(&work, &[]);
    let errors = work.fails(&["apply", "-auto-approve", "-no-color", "-var=n=7"]);
    assert!(
        errors.contains("Module output value precondition failed") && errors.contains("7 is too much."),
        "{errors}"
    );
    assert_eq!(work.ok(&["output", "-raw", "o"]), "1");
}

#[test]
fn outputs_may_depend_on_resources() {
    let work = folder(
        r#"
resource "terraform_data" "a" {
  provisioner "local-exec" {
    command = "echo done > file"
  }
}
module "m" {
  source = "./m"
  after  = terraform_data.a.id
}
output "o" {
  value      = "x"
  depends_on = [terraform_data.a, module.m]
}
-- m/main.tf --
variable "after" {}
"#,
    );
    assert_eq!(outputs(&work), json!({ "o": "x" }));
}

#[test]
fn locals_may_refer_to_each_other_in_any_order() {
    let value = output_of(
        r#"
output "o" {
  value = local.c
}
locals {
  c = "${local.b}c"
  a = "a"
}
locals {
  b = "${local.a}b"
}
"#,
    );
    assert_eq!(value, "abc");
}

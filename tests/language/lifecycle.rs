//! The arguments of `lifecycle`.

use crate::harness::{add_files, apply, changes, folder, plan_problems, problems, validated};

#[test]
fn create_before_destroy() {
    let work = folder(
        r#"
variable "v" {
  default = 1
}
resource "terraform_data" "a" {
  triggers_replace = var.v
  lifecycle {
    create_before_destroy = true
  }
}
"#,
    );
    let first = work.ok(&["apply", "-auto-approve", "-no-color"]);
    assert!(first.contains("Creation complete"), "{first}");
    let plan = work.ok(&["plan", "-no-color", "-var=v=2"]);
    assert!(plan.contains("+/- create replacement and then destroy"), "{plan}");
    let applied = work.ok(&["apply", "-auto-approve", "-no-color", "-var=v=2"]);
    assert!(applied.find("Creation complete") < applied.find("Destroying..."), "{applied}");
}

#[test]
fn create_before_destroy_spreads_to_dependencies() {
    let work = folder(
        r#"
variable "v" {
  default = 1
}
resource "terraform_data" "dependency" {
  triggers_replace = var.v
}
resource "terraform_data" "dependent" {
  triggers_replace = terraform_data.dependency.id
  lifecycle {
    create_before_destroy = true
  }
}
"#,
    );
    apply(&work, &[]);
    let plan = work.ok(&["plan", "-no-color", "-var=v=2"]);
    assert!(plan.contains("+/-") && !plan.contains("-/+"), "{plan}");
}

#[test]
fn create_before_destroy_ends_with_what_it_came_from() {
    let with = |trigger: &str, id: &str| {
        format!(
            "resource \"terraform_data\" \"dependency\" {{\n  triggers_replace = \"{trigger}\"\n}}\nresource \
             \"terraform_data\" \"dependent\" {{\n  input = {id}\n  lifecycle {{\n    create_before_destroy = true\n  }}\n}}\n"
        )
    };
    let work = folder(&with("a", "terraform_data.dependency.id"));
    apply(&work, &[]);
    let stored = || work.ok(&["state", "pull"]).matches("\"create_before_destroy\": true").count();
    assert_eq!(stored(), 2);
    add_files(&work, &with("b", "\"none\""));
    let plan = work.ok(&["plan", "-no-color"]);
    assert!(plan.contains("-/+") && !plan.contains("+/-"), "{plan}");
    add_files(&work, &with("a", "\"none\""));
    apply(&work, &[]);
    assert_eq!(stored(), 1);
}

#[test]
fn prevent_destroy() {
    let work = folder(
        r#"
variable "v" {
  default = 1
}
resource "terraform_data" "a" {
  triggers_replace = var.v
  lifecycle {
    prevent_destroy = true
  }
}
"#,
    );
    apply(&work, &[]);
    let expected = ["error main.tf:4,1-30 Instance cannot be destroyed"];
    assert_eq!(problems(&work, &["plan", "-json", "-var=v=2"]), expected);
    assert_eq!(problems(&work, &["plan", "-json", "-destroy"]), expected);
}

#[test]
fn ignore_changes() {
    let config = |what: &str| {
        let lifecycle = format!("  lifecycle {{\n    ignore_changes = {what}\n  }}\n");
        format!(
            "variable \"v\" {{\n  default = 1\n}}\nresource \"terraform_data\" \"a\" {{\n  input = {{ x = var.v, y = [var.v, 0] }}\n  \
             triggers_replace = var.v\n{lifecycle}}}\n"
        )
    };
    let planned = |what: &str| {
        let work = folder(&config(what));
        apply(&work, &[]);
        changes(&work, &["-var=v=2"])
    };
    assert_eq!(planned("[input]"), ["replace terraform_data.a (cannot_update)"]);
    assert_eq!(planned("[triggers_replace]"), ["update terraform_data.a"]);
    assert_eq!(planned("[input, triggers_replace]"), [] as [&str; 0]);
    assert_eq!(planned("all"), [] as [&str; 0]);
}

#[test]
fn ignore_changes_of_nested_paths() {
    let Some(work) = crate::harness::demo_folder(
        r#"
variable "v" {
  default = "1"
}
resource "demo_machine" "m" {
  name   = "m"
  zone   = "north"
  size   = 1
  labels = { a = var.v, b = "b" }
  disk {
    size = var.v
  }
  lifecycle {
    ignore_changes = [labels["a"], disk[0].size]
  }
}
"#,
    ) else {
        return;
    };
    apply(&work, &[]);
    assert_eq!(changes(&work, &["-var=v=2"]), [] as [&str; 0]);
}

#[test]
fn ignore_changes_of_attributes_that_are_none() {
    let found =
        plan_problems("resource \"terraform_data\" \"a\" {\n  lifecycle {\n    ignore_changes = [inptu]\n  }\n}\n");
    assert_eq!(found, ["error main.tf:3,23-28 Unsupported attribute"]);
}

#[test]
fn replace_triggered_by_a_resource() {
    let work = folder(
        r#"
variable "v" {
  default = 1
}
resource "terraform_data" "a" {
  input = var.v
}
resource "terraform_data" "b" {
  lifecycle {
    replace_triggered_by = [terraform_data.a]
  }
}
"#,
    );
    apply(&work, &[]);
    let expected = ["replace terraform_data.b (replace_triggered_by)", "update terraform_data.a"];
    assert_eq!(changes(&work, &["-var=v=2"]), expected);
    assert_eq!(apply(&work, &["-var=v=2"]), "Apply complete! Resources: 1 added, 1 changed, 1 destroyed.");
}

#[test]
fn replace_triggered_by_an_attribute_of_an_instance() {
    let work = folder(
        r#"
variable "v" {
  default = 1
}
resource "terraform_data" "a" {
  count = 2
  input = count.index == 0 ? var.v : "0"
}
resource "terraform_data" "b" {
  count = 2
  lifecycle {
    replace_triggered_by = [terraform_data.a[count.index].input]
  }
}
"#,
    );
    apply(&work, &[]);
    let expected = ["replace terraform_data.b[0] (replace_triggered_by)", "update terraform_data.a[0]"];
    assert_eq!(changes(&work, &["-var=v=2"]), expected);
}

#[test]
fn preconditions_stop_before_anything_is_done() {
    let work = folder(
        r#"
variable "v" {
  default = 1
}
resource "terraform_data" "a" {
  input = var.v
  lifecycle {
    precondition {
      condition     = var.v < 3
      error_message = "${var.v} is too much."
    }
  }
}
"#,
    );
    apply(&work, &[]);
    let errors = work.fails(&["apply", "-auto-approve", "-no-color", "-var=v=3"]);
    assert!(errors.contains("Resource precondition failed") && errors.contains("3 is too much."), "{errors}");
    assert!(work.read("terraform.tfstate").contains("\"value\": 1"));
}

#[test]
fn postconditions_see_the_result_as_self() {
    let work = folder(
        r#"
resource "terraform_data" "a" {
  lifecycle {
    postcondition {
      condition     = length(self.id) < 5
      error_message = "The id is too long."
    }
  }
}
resource "terraform_data" "after" {
  input = terraform_data.a.id
}
"#,
    );
    work.ok(&["plan"]);
    let errors = work.fails(&["apply", "-auto-approve", "-no-color"]);
    assert!(errors.contains("Resource postcondition failed") && errors.contains("The id is too long."), "{errors}");
    assert_eq!(work.ok(&["state", "list"]), "terraform_data.a\n");
}

#[test]
fn postconditions_of_data_sources() {
    let found = plan_problems(
        r#"
data "terraform_remote_state" "other" {
  backend  = "local"
  config   = { path = "other.tfstate" }
  lifecycle {
    postcondition {
      condition     = self.outputs.n > 5
      error_message = "n is too small."
    }
  }
}
-- other.tfstate --
{ "version": 4, "serial": 1, "lineage": "x", "outputs": { "n": { "value": 1, "type": "number" } } }
"#,
    );
    assert_eq!(found, ["error main.tf:6,23-41 Resource postcondition failed"]);
}

#[test]
fn enabled_resource() {
    // Not in Terraform 1.11.
    let work = folder(
        r#"
variable "on" {
  default = true
}
resource "terraform_data" "a" {
  lifecycle {
    enabled = var.on
  }
}
"#,
    );
    apply(&work, &[]);
    assert_eq!(work.ok(&["state", "list"]), "terraform_data.a\n");
    assert_eq!(apply(&work, &["-var=on=false"]), "Apply complete! Resources: 0 added, 0 changed, 1 destroyed.");
}

#[test]
fn enabled_module() {
    // Not in Terraform 1.11, but in OpenTofu.
    let work = folder(
        r#"
variable "on" {
  default = true
}
module "m" {
  source = "./m"
  lifecycle {
    enabled = var.on
  }
}
output "id" {
  value = var.on ? module.m.name : "none"
}
-- m/main.tf --
resource "terraform_data" "a" {}
output "name" {
  value = "in the module"
}
"#,
    );
    apply(&work, &[]);
    assert_eq!(work.ok(&["state", "list"]), "module.m.terraform_data.a\n");
    assert_eq!(work.ok(&["output", "-raw", "id"]), "in the module");
    assert_eq!(apply(&work, &["-var=on=false"]), "Apply complete! Resources: 0 added, 0 changed, 1 destroyed.");
    assert_eq!(work.ok(&["output", "-raw", "id"]), "none");
}

#[test]
fn enabled_excludes_count_and_for_each() {
    let with = |argument: &str| {
        validated(&format!(
            "resource \"terraform_data\" \"a\" {{\n  {argument}\n  lifecycle {{\n    enabled = true\n  }}\n}}\n"
        ))
    };
    assert_eq!(with("count = 1"), ["error main.tf:4,5-12 Invalid combination of \"enabled\" and \"count\""]);
    assert_eq!(
        with("for_each = toset([])"),
        ["error main.tf:4,5-12 Invalid combination of \"enabled\" and \"for_each\""]
    );
}

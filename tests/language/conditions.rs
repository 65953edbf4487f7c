//! The conditions of checks, resources, outputs and variables: what is wrong with their messages and names.

use crate::harness::{folder, plan_problems, problems, validated};

#[test]
fn messages_that_are_null_or_not_known() {
    let found = plan_problems(
        r#"
variable "n" {
  default = null
}
check "c" {
  assert {
    condition     = var.n == null
    error_message = var.n
  }
  assert {
    condition     = var.n == 1
    error_message = "Not one."
  }
}
resource "terraform_data" "a" {
  lifecycle {
    precondition {
      condition     = var.n == null
      error_message = var.n
    }
  }
}
output "o" {
  value = 1
  precondition {
    condition     = terraform_data.a.id == "x"
    error_message = var.n
  }
}
variable "passes" {
  default = 1
  validation {
    condition     = var.passes == 1
    error_message = var.n
  }
}
variable "later" {
  default = 1
  validation {
    condition     = var.later == 2
    error_message = terraform_data.b.id
  }
}
variable "fails" {
  default = 1
  validation {
    condition     = var.fails == 2
    error_message = var.n
  }
}
resource "terraform_data" "b" {}
"#,
    );
    assert_eq!(
        found,
        [
            "error main.tf:7,21-26 Invalid error message",
            "warning main.tf:10,21-31 Check block assertion failed",
            "error main.tf:18,23-28 Invalid error message",
            "error main.tf:40,21-40 Invalid error message",
            "error main.tf:43,1-17 Invalid value for variable",
        ]
    );
}

#[test]
fn messages_that_are_no_text() {
    let with = |kind: &str| {
        format!("{kind} {{\n    condition     = terraform_data.a.id != null\n    error_message = [\"a\"]\n  }}\n")
    };
    let files = format!(
        "resource \"terraform_data\" \"a\" {{\n}}\ncheck \"c\" {{\n  {}}}\noutput \"o\" {{\n  value = 1\n  {}}}\n",
        with("assert"),
        with("precondition")
    );
    assert_eq!(
        validated(&files),
        ["error main.tf:6,21-26 Invalid error message", "error main.tf:13,21-26 Invalid error message"]
    );
}

#[test]
fn names_have_no_meaning_where_one_of_them_is_wrong() {
    let found = validated(
        r#"
resource "terraform_data" "a" {
  lifecycle {
    precondition {
      condition     = terraform_data.b.input == terraform_data.nothing.id
      error_message = "${terraform_data.b.input}"
    }
  }
}
resource "terraform_data" "b" {
}
output "o" {
  value = 1
  precondition {
    condition     = terraform_data.b.input == null
    error_message = "${terraform_data.nothing.id}"
  }
}
check "c" {
  assert {
    condition     = terraform_data.b.input == module.nothing.x
    error_message = "${terraform_data.b.input}"
  }
}
variable "v" {
  default = 1
  validation {
    condition     = var.v == terraform_data.nothing.id
    error_message = "${terraform_data.b.input}"
  }
}
"#,
    );
    assert_eq!(
        found,
        [
            "error main.tf:4,23-37 Unknown variable",
            "error main.tf:4,49-63 Unknown variable",
            "error main.tf:4,49-71 Reference to undeclared resource",
            "error main.tf:14,21-35 Unknown variable",
            "error main.tf:15,24-38 Unknown variable",
            "error main.tf:15,24-46 Reference to undeclared resource",
            "error main.tf:20,47-63 Reference to undeclared module",
            "error main.tf:21,24-38 Unknown variable",
            "error main.tf:27,30-52 Reference to undeclared resource",
        ]
    );
}

#[test]
fn the_condition_of_a_check_is_evaluated_by_the_plan_alone() {
    let files = "variable \"v\" {\n  default = 1\n}\ncheck \"c\" {\n  assert {\n    condition     = [var.v]\n    \
                 error_message = \"a\"\n  }\n}\n";
    let work = folder(files);
    assert!(problems(&work, &["validate", "-json"]).is_empty());
    assert_eq!(problems(&work, &["plan", "-json"]), ["error main.tf:6,21-28 Invalid condition result"]);
}

#[test]
fn validation_finds_preconditions_of_outputs_that_fail_in_any_case() {
    let found = validated(
        "locals {\n  x = 1\n}\noutput \"o\" {\n  value = sensitive(1)\n  precondition {\n    condition     = local.x == 2\n    \
         error_message = \"No.\"\n  }\n}\n",
    );
    assert_eq!(found, ["error main.tf:7,21-33 Module output value precondition failed"]);
}

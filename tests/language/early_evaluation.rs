//! Early evaluation, which OpenTofu adds: sources and versions of modules and the arguments of the backend may be made
//! from input variables and local values.

use crate::harness::{Work, add_files, problems};
use serde_json::Value;

const MODULES: &str = r#"
variable "kind" {
  default = "a"
}
variable "secret" {
  default   = "./modules/a"
  sensitive = true
}
locals {
  root = "./modules"
  path = join("/", [local.root, lower(var.kind)])
}
module "m" {
  source = local.path
}
output "kind" {
  value = module.m.kind
}
-- modules/a/main.tf --
output "kind" {
  value = "a"
}
-- modules/b/main.tf --
output "kind" {
  value = "b"
}
"#;

fn folder(files: &str) -> Work {
    let work = Work::new("");
    add_files(&work, files);
    work
}

/// The value of the only output after an apply with these arguments.
#[track_caller]
fn kind(work: &Work, args: &[&str]) -> Value {
    work.ok(&[&["apply", "-auto-approve"], args].concat());
    serde_json::from_str::<Value>(&work.ok(&["output", "-json"])).unwrap()["kind"]["value"].take()
}

#[test]
fn early_evaluation_of_a_module_source() {
    let work = folder(MODULES);
    work.ok(&["init"]);
    work.ok(&["validate"]);
    assert_eq!(kind(&work, &[]), "a");
    // The module that is installed is no longer the one that is wanted.
    let changed = ["error main.tf:13,12-22 Module source has changed"];
    assert_eq!(problems(&work, &["plan", "-json", "-var=kind=B"]), changed);
    assert_eq!(problems(&work, &["validate", "-json", "-var=kind=B"]), changed);
    work.ok(&["init", "-var=kind=B"]);
    assert_eq!(kind(&work, &["-var=kind=B"]), "b");
    assert!(work.read(".terraform/modules/modules.json").contains("\"Source\":\"./modules/b\""));
    work.write("terraform.tfvars", "kind = \"B\"\n");
    assert_eq!(kind(&work, &[]), "b");
    work.ok(&["plan", "-out=p"]);
    work.ok(&["apply", "p"]);
}

#[test]
fn early_evaluation_of_module_inputs() {
    let work = folder(
        r#"
module "first" {
  source = "./wrapper"
  kind   = "a"
}
module "second" {
  source = "./wrapper"
  kind   = "b"
}
output "kind" {
  value = [module.first.kind, module.second.kind]
}
-- wrapper/main.tf --
variable "kind" {
  type = string
}
module "inner" {
  source = "../modules/${var.kind}"
}
output "kind" {
  value = module.inner.kind
}
-- modules/a/main.tf --
output "kind" {
  value = "a"
}
-- modules/b/main.tf --
output "kind" {
  value = "b"
}
"#,
    );
    work.ok(&["init"]);
    assert_eq!(kind(&work, &[]), serde_json::json!(["a", "b"]));
}

#[test]
fn early_evaluation_refuses_what_is_not_known_from_the_start() {
    let refused = |source: &str, more: &str| {
        let work = folder(&MODULES.replace("source = local.path", &format!("source = {source}")));
        work.write("more.tf", more);
        problems(&work, &["init", "-json"])
    };
    let data = "resource \"terraform_data\" \"a\" {}\nlocals {\n  id = terraform_data.a.id\n}\n";
    assert_eq!(refused("terraform_data.a.id", data), ["error main.tf:13,12-31 Variables not allowed"]);
    assert_eq!(refused("local.id", data), ["error more.tf:3,8-27 Variables not allowed"]);
    assert_eq!(refused("var.secret", ""), ["error main.tf:13,12-22 Sensitive value not allowed"]);
    assert_eq!(
        refused("var.none", "variable \"none\" {}\n"),
        ["error main.tf:13,12-20 No value for required variable"]
    );
    assert_eq!(refused("var.nome", ""), ["error main.tf:13,12-20 Reference to undeclared input variable"]);
    assert_eq!(refused("timestamp()", ""), ["error main.tf:13,12-23 Variables not allowed"]);
    assert_eq!(refused("upper(\"x\")", ""), ["error main.tf:13,12-22 Invalid module source address"]);
    let circle = "locals {\n  a = local.b\n  b = local.a\n}\n";
    assert_eq!(refused("local.a", circle), ["error more.tf:2,7-14 Self-referencing local value"]);
    assert_eq!(
        refused("\"./modules/a\"\n  version = var.kind", ""),
        ["error main.tf:13,12-25 Invalid registry module source address"]
    );
}

#[test]
fn early_evaluation_of_the_backend() {
    let work = folder(
        r#"
variable "place" {
  default = "one"
}
terraform {
  backend "local" {
    path = "${var.place}.tfstate"
  }
}
resource "terraform_data" "a" {}
"#,
    );
    work.ok(&["init"]);
    work.ok(&["apply", "-auto-approve"]);
    assert!(work.path("one.tfstate").exists());
    let other = work.run(&["plan", "-var=place=two"]);
    assert!(String::from_utf8_lossy(&other.stderr).contains("Backend initialization required"));
    work.ok(&["init", "-reconfigure", "-var=place=two"]);
    work.ok(&["apply", "-auto-approve", "-var=place=two"]);
    assert!(work.path("two.tfstate").exists());
    work.write("main.tf", "terraform {\n  backend \"local\" {\n    path = var.none\n  }\n}\nvariable \"none\" {}\n");
    assert_eq!(problems(&work, &["init", "-json"]), ["error main.tf:3,12-20 No value for required variable"]);
}

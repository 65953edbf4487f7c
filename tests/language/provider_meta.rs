//! `provider_meta` blocks: what modules tell a provider about themselves. The demo provider notes in its log what it
//! gets with each operation.

use crate::harness::{apply, demo_folder, folder, problems, validated};
use serde_json::Value;

/// Module name and operation of each operation that came with settings, sorted.
fn noted(log: &str) -> Vec<String> {
    let lines = log.lines().map(|l| serde_json::from_str::<Value>(l).unwrap());
    let settings = lines.filter_map(|l| {
        let operation = l["operation"].as_str()?.strip_prefix("settings:")?.to_owned();
        Some(format!("{} {operation} {}", l["module"].as_str().unwrap_or("-"), l["labels"]))
    });
    let mut noted: Vec<String> = settings.collect();
    noted.sort();
    noted
}

#[test]
fn each_operation_comes_with_what_its_module_sets() {
    let Some(work) = demo_folder(
        r#"
terraform {
  provider_meta "demo" {
    module = "root"
    labels = { size = 1 + 1 }
  }
}
resource "demo_thing" "a" {
  name = "a"
}
module "m" {
  source = "./m"
}
module "silent" {
  source = "./silent"
}
-- m/main.tf --
terraform {
  required_providers {
    demo = { source = "gpuform/demo" }
  }
  provider_meta "demo" {
    module = "child"
  }
}
resource "demo_thing" "b" {
  name = "b"
}
data "demo_thing" "c" {
  name = demo_thing.b.name
}
-- silent/main.tf --
terraform {
  required_providers {
    demo = { source = "gpuform/demo" }
  }
}
resource "demo_thing" "d" {
  name = "d"
}
"#,
    ) else {
        return;
    };
    apply(&work, &[]);
    assert_eq!(noted(&work.read("log")), ["child create null", "child find null", r#"root create {"size":"2"}"#]);
    work.write("log", "");
    work.ok(&["destroy", "-auto-approve"]);
    let labels = r#"{"size":"2"}"#;
    let root = [format!("root delete {labels}"), format!("root read {labels}")];
    let noted = noted(&work.read("log"));
    assert_eq!(noted[..3], ["child delete null", "child find null", "child read null"]);
    assert_eq!(noted[3..], root);
}

#[test]
fn only_constants_can_be_set() {
    let block = |value: &str| format!("terraform {{\n  provider_meta \"demo\" {{\n    module = {value}\n  }}\n}}\n");
    assert_eq!(validated(&block("path.root")), ["error main.tf:3,14-18 Variables not allowed"]);
    assert_eq!(validated(&block("upper(\"x\")")), ["error main.tf:3,14-24 Function calls not allowed"]);
}

#[test]
fn a_provider_that_takes_no_settings_is_named_by_the_plan() {
    let work = folder(
        r#"
terraform {
  provider_meta "terraform" {
    module = "root"
  }
}
resource "terraform_data" "a" {
}
"#,
    );
    work.ok(&["validate"]);
    let expected = "error main.tf:2,17-28 Provider terraform.io/builtin/terraform doesn't support provider_meta";
    assert_eq!(problems(&work, &["plan", "-json"]), [expected]);
}

#[test]
fn what_the_provider_does_not_know_is_refused_by_the_plan() {
    let Some(work) = demo_folder(
        r#"
terraform {
  provider_meta "demo" {
    modul = "root"
  }
}
resource "demo_thing" "a" {
  name = "a"
}
"#,
    ) else {
        return;
    };
    work.ok(&["validate"]);
    assert_eq!(problems(&work, &["plan", "-json"]), ["error main.tf:3,5-10 Unsupported argument"]);
}

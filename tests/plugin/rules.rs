//! What a user gets where a provider breaks a rule of the protocol: see `strange.rs` for the providers' side.
//! Expectations are those of Terraform 1.11.4 with the same provider.

use crate::fake;
use serde_json::Value;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

const HEAD: &str = "terraform {\n  required_providers {\n    fake = { source = \"example/fake\" }\n  }\n}\n";

/// A folder with a configuration, and the fake provider in a mode.
fn folder(mode: &str, config: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let bin = folder.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    fake::executable(&bin, mode);
    let overrides = format!("dev_overrides {{\n    \"example/fake\" = {bin:?}\n  }}");
    let rc = format!("provider_installation {{\n  {overrides}\n  direct {{}}\n}}\n");
    std::fs::write(folder.path().join("rc"), rc).unwrap();
    std::fs::write(folder.path().join("main.tf"), format!("{HEAD}{config}")).unwrap();
    folder
}

fn run(folder: &TempDir, args: &[&str]) -> Output {
    let mut c = Command::new(env!("CARGO_BIN_EXE_gpuform"));
    c.args(args).current_dir(folder.path()).env_clear().stdin(Stdio::null());
    c.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", folder.path());
    c.env("TF_CLI_CONFIG_FILE", folder.path().join("rc"));
    c.output().unwrap()
}

/// The summaries of the errors of a command.
fn errors(folder: &TempDir, args: &[&str]) -> Vec<String> {
    let out = run(folder, &[args, &["-json"]].concat());
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let messages = text.lines().filter_map(|l| serde_json::from_str::<Value>(l).ok());
    let errors = messages.filter(|m| m["@level"] == "error");
    errors.map(|m| m["diagnostic"]["summary"].as_str().unwrap_or_default().to_owned()).collect()
}

/// The first object of the state; null where there is none.
fn object(folder: &TempDir) -> Value {
    let text = std::fs::read_to_string(folder.path().join("terraform.tfstate")).unwrap_or_default();
    let state: Value = serde_json::from_str(&text).unwrap_or_default();
    state.pointer("/resources/0/instances/0").cloned().unwrap_or_default()
}

fn strange(name: &str) -> String {
    format!("resource \"fake_strange\" \"s\" {{\n  name = \"{name}\"\n  step {{\n    port = \"1\"\n  }}\n}}\n")
}

/// The errors of applying one strange resource under protocol 6 and under protocol 5 with its lenient rules.
fn applied(name: &str) -> [(Vec<String>, Value); 2] {
    ["v6 tls", "v5 tls"].map(|mode| {
        let folder = folder(mode, &strange(name));
        let errors = errors(&folder, &["apply", "-auto-approve"]);
        (errors, object(&folder))
    })
}

#[test]
fn a_provider_that_keeps_the_rules() {
    for (errors, object) in applied("fine") {
        assert_eq!((errors, &object["attributes"]["id"]), (vec![], &"i-1".into()));
    }
}

#[test]
fn inconsistent_plan_with_another_value_than_configured() {
    let [strict, lenient] = applied("plan-other");
    assert_eq!(strict.0, ["Provider produced invalid plan"]);
    assert!(strict.1.is_null());
    assert_eq!((lenient.0, &lenient.1["attributes"]["name"]), (vec![], &"other".into()));
}

#[test]
fn inconsistent_plan_without_the_object_that_is_configured() {
    let [strict, lenient] = applied("plan-null");
    assert_eq!(strict, (vec!["Provider produced invalid plan".to_owned()], Value::Null));
    assert_eq!(lenient, (vec!["Provider returned invalid result object after apply".to_owned()], Value::Null));
}

#[test]
fn inconsistent_plan_with_fewer_blocks_than_configured() {
    let [strict, lenient] = applied("plan-fewer");
    assert_eq!((strict.0, lenient.0), (vec!["Provider produced invalid plan".to_owned()], vec![]));
}

#[test]
fn inconsistent_final_plan() {
    let config = strange("replan-other").replace("name =", "note = terraform_data.a.id\n  name =");
    let folder = folder("v6 tls", &format!("{config}resource \"terraform_data\" \"a\" {{}}\n"));
    assert_eq!(errors(&folder, &["apply", "-auto-approve"]), ["Provider produced inconsistent final plan"]);
}

#[test]
fn inconsistent_result_with_another_value_than_planned() {
    let [strict, lenient] = applied("apply-other");
    assert_eq!(strict.0, ["Provider produced inconsistent result after apply"]);
    assert_eq!((&strict.1["status"], &strict.1["attributes"]["name"]), (&"tainted".into(), &"other".into()));
    assert_eq!((lenient.0, &lenient.1["attributes"]["name"]), (vec![], &"other".into()));
    assert!(lenient.1["status"].is_null());
}

#[test]
fn inconsistent_result_without_an_object() {
    let [strict, lenient] = applied("apply-null");
    assert_eq!(strict, (vec!["Provider produced inconsistent result after apply".to_owned()], Value::Null));
    assert_eq!(lenient, (vec!["Provider returned invalid result object after apply".to_owned()], Value::Null));
}

#[test]
fn invalid_result_with_unknown_parts() {
    for (errors, object) in applied("apply-unknown") {
        assert_eq!(errors, ["Provider returned invalid result object after apply"]);
        assert_eq!((&object["status"], &object["attributes"]["note"]), (&"tainted".into(), &Value::Null));
    }
}

#[test]
fn a_create_that_fails_leaves_what_there_is_as_tainted() {
    for (errors, object) in applied("apply-fails") {
        assert_eq!((errors, object), (vec!["It did not work".to_owned()], Value::Null));
    }
    for (errors, object) in applied("apply-fails-late") {
        assert_eq!((errors, &object["status"]), (vec!["It did not work".to_owned()], &"tainted".into()));
    }
}

#[test]
fn invalid_object_with_unknown_parts_when_read() {
    let folder = folder("v6 tls", &strange("read-unknown"));
    assert!(errors(&folder, &["apply", "-auto-approve"]).is_empty());
    assert_eq!(errors(&folder, &["plan"]), ["Provider produced invalid object"]);
}

#[test]
fn dynamic_blocks_with_labels() {
    let config = r#"
resource "fake_strange" "s" {
  name = "fine"
  dynamic "rule" {
    for_each = { http = "80", tls = "443" }
    iterator = it
    labels   = ["${it.key}-rule"]
    content {
      port = it.value
    }
  }
}
"#;
    let folder = folder("v6 tls", config);
    assert!(errors(&folder, &["apply", "-auto-approve"]).is_empty());
    let attributes = &object(&folder)["attributes"];
    let expected = serde_json::json!({ "http-rule": { "port": "80" }, "tls-rule": { "port": "443" } });
    assert_eq!(attributes["rule"], expected);
    let plan = run(&folder, &["plan", "-destroy", "-no-color"]);
    assert!(String::from_utf8_lossy(&plan.stdout).contains("- rule \"http-rule\" {"));
}

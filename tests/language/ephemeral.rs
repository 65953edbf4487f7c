//! Ephemeral resources of a provider, and write-only arguments: what is used during a run and never stored.

use crate::demo::Work;
use crate::harness::{apply, demo_folder, problems, shows};
use serde_json::{Value, json};

const KEYED: &str = r#"
ephemeral "demo_token" "t" {
  name = "door"
}
resource "demo_machine" "m" {
  name        = "m"
  zone        = "north"
  size        = 1
  key         = ephemeral.demo_token.t.value
  key_version = 1
}
"#;

/// What the provider did since the last call, as `create token door`.
fn effects(work: &Work) -> Vec<String> {
    let log = std::fs::read_to_string(work.path("log")).unwrap_or_default();
    let _ = std::fs::remove_file(work.path("log"));
    let line = |l: &str| {
        let entry: Value = serde_json::from_str(l).unwrap();
        let of = |key: &str| entry[key].as_str().unwrap_or_default().to_owned();
        format!("{} {} {}", of("operation"), of("type"), of("name"))
    };
    log.lines().map(line).collect()
}

#[test]
fn ephemeral_resource_is_opened_and_closed_in_every_run() {
    let Some(work) = demo_folder(KEYED) else { return };
    let plan = work.ok(&["plan", "-no-color"]);
    shows(
        &plan,
        "ephemeral.demo_token.t: Opening...
         ephemeral.demo_token.t: Opening complete after 0s
         ephemeral.demo_token.t: Closing...
         ephemeral.demo_token.t: Closing complete after 0s",
    );
    assert!(plan.contains("Plan: 1 to add, 0 to change, 0 to destroy."), "{plan}");
    assert_eq!(effects(&work), ["create token door", "delete token door"]);
    apply(&work, &[]);
    let expected =
        ["create token door", "delete token door", "create token door", "create machine m", "delete token door"];
    assert_eq!(effects(&work), expected);
}

#[test]
fn ephemeral_resource_is_never_stored() {
    let Some(work) = demo_folder(KEYED) else { return };
    work.ok(&["plan", "-out=p"]);
    let plan = work.ok(&["show", "-json", "p"]);
    work.ok(&["apply", "p"]);
    let state = work.ok(&["state", "pull"]);
    assert!(!format!("{plan}{state}").contains("secret of door"));
    assert_eq!(work.ok(&["state", "list"]), "demo_machine.m\n");
    let plan: Value = serde_json::from_str(&plan).unwrap();
    let listed = |v: &Value| v.as_array().unwrap().iter().map(|r| r["address"].clone()).collect::<Vec<_>>();
    assert_eq!(listed(&plan["resource_changes"]), ["demo_machine.m"]);
    assert_eq!(listed(&plan["configuration"]["root_module"]["resources"]), ["demo_machine.m"]);
    let state: Value = serde_json::from_str(&state).unwrap();
    assert_eq!(state["resources"][0]["instances"][0]["dependencies"], json!(["ephemeral.demo_token.t"]));
}

#[test]
fn ephemeral_resource_is_renewed_while_it_is_needed() {
    let renewed = KEYED.replace("\"door\"", "\"door\"\n  lifetime_ms = 300").replace(
        "key_version = 1",
        "key_version = 1\n  provisioner \"local-exec\" {\n    command = \"sleep 1.5\"\n  }",
    );
    let Some(work) = demo_folder(&renewed) else { return };
    apply(&work, &[]);
    assert!(effects(&work).iter().filter(|e| *e == "update token door").count() >= 2);
}

#[test]
fn ephemeral_resource_is_deferred_while_its_configuration_is_unknown() {
    let Some(work) = demo_folder(
        r#"
resource "demo_thing" "t" {
  name = "t"
}
ephemeral "demo_token" "late" {
  name = demo_thing.t.id == "" ? "" : "late"
}
resource "demo_machine" "m" {
  name        = "m"
  zone        = "north"
  size        = 1
  key         = ephemeral.demo_token.late.value
  key_version = 1
}
"#,
    ) else {
        return;
    };
    let plan = work.ok(&["plan", "-no-color", "-out=p"]);
    shows(&plan, "ephemeral.demo_token.late: Configuration not known yet, to be opened during apply");
    assert!(effects(&work).is_empty());
    work.ok(&["apply", "p"]);
    let expected = ["create thing t", "create token late", "create machine m", "delete token late"];
    assert_eq!(effects(&work), expected);
}

#[test]
fn ephemeral_resource_in_the_configuration_of_a_provider() {
    let Some(work) = demo_folder(
        r#"
ephemeral "demo_token" "t" {
  name = "door"
}
provider "demo" {
  alias = "guarded"
  login = ephemeral.demo_token.t.value
}
resource "demo_thing" "a" {
  provider = demo.guarded
  name     = "a"
}
"#,
    ) else {
        return;
    };
    apply(&work, &[]);
    let log = work.read("log");
    assert!(log.lines().any(|l| l.contains("\"name\":\"a\"") && l.contains("\"login\":\"secret of door\"")), "{log}");
    effects(&work);
    work.ok(&["destroy", "-auto-approve"]);
    let plan = ["create token door", "delete token door"];
    assert_eq!(effects(&work), [&plan[..], &["create token door", "delete thing a", "delete token door"]].concat());
}

#[test]
fn ephemeral_resource_that_cannot_be_opened() {
    let Some(work) = demo_folder(KEYED) else { return };
    let out = work.command(&["plan", "-no-color"]).env("DEMO_FAIL", "create:door").output().unwrap();
    assert_eq!(out.status.code(), Some(1));
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(said.contains("Error: The create of \"door\" failed"), "{said}");
    assert!(said.contains("with ephemeral.demo_token.t,"), "{said}");
}

#[test]
fn ephemeral_values_of_resources_are_refused_where_they_would_be_stored() {
    let Some(work) = demo_folder(
        r#"
ephemeral "demo_token" "t" {
  name = "door"
}
resource "terraform_data" "a" {
  input = ephemeral.demo_token.t.value
}
output "o" {
  value = ephemeral.demo_token.t.value
}
"#,
    ) else {
        return;
    };
    let found = problems(&work, &["plan", "-json"]);
    assert_eq!(
        found,
        ["error main.tf:5,11-39 Invalid use of ephemeral value", "error main.tf:8,11-39 Ephemeral value not allowed"]
    );
}

#[test]
fn write_only_arguments_are_shown_without_their_value() {
    let Some(work) = demo_folder(
        r#"
variable "version_of_key" {
  default = 1
}
resource "demo_machine" "m" {
  name        = "m"
  zone        = "north"
  size        = 1
  key         = "hunter2"
  key_version = var.version_of_key
}
"#,
    ) else {
        return;
    };
    let plan = work.ok(&["plan", "-no-color"]);
    shows(&plan, "+ key         = (write-only attribute)\n+ key_version = 1");
    apply(&work, &[]);
    shows(&work.ok(&["show", "-no-color"]), "key         = (write-only attribute)\nkey_version = 1");
    let plan = work.ok(&["plan", "-no-color", "-var=version_of_key=2"]);
    shows(&plan, "~ key_version = 1 -> 2\nname        = \"m\"\n# (7 unchanged attributes hidden)");
    shows(&work.ok(&["plan", "-no-color", "-destroy"]), "- key         = (write-only attribute) -> null");
}

#[test]
fn write_only_arguments_are_null_in_plan_documents() {
    let Some(work) = demo_folder(KEYED) else { return };
    work.ok(&["plan", "-out=p"]);
    let plan: Value = serde_json::from_str(&work.ok(&["show", "-json", "p"])).unwrap();
    let change = &plan["resource_changes"][0]["change"];
    assert_eq!((&change["after"]["key"], &change["after_unknown"]["key"]), (&Value::Null, &Value::Null));
}

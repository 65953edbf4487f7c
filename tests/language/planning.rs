//! What a plan says: unknown values, deferred reads, drift, targets, replacements, reasons, secrets.

use crate::harness::{apply, changes, console, demo_folder, folder, outputs, problems, shows};
use serde_json::json;

const CHAIN: &str = r#"
resource "terraform_data" "a" {}
resource "terraform_data" "b" {
  input = terraform_data.a.id
}
resource "terraform_data" "c" {
  input = "alone"
}
"#;

#[test]
fn unknown_values_are_known_after_apply() {
    let work = folder(
        r#"
resource "terraform_data" "a" {
  input = "x"
}
resource "terraform_data" "b" {
  input = { id = terraform_data.a.id, text = "a-${terraform_data.a.output}", known = length([terraform_data.a.id]) }
}
output "o" {
  value = terraform_data.a.output == null ? "null" : upper(terraform_data.a.output)
}
"#,
    );
    let plan = work.ok(&["plan", "-no-color"]);
    shows(&plan, "+ id    = (known after apply)\n+ known = 1\n+ text  = (known after apply)");
    shows(&plan, "Changes to Outputs:\n+ o = (known after apply)");
    assert_eq!(outputs(&work), json!({ "o": "X" }));
}

#[test]
fn unknown_values_keep_what_is_known_about_them() {
    // An id is not null, and a text that begins with a known part begins with it.
    let work = folder(
        r#"
resource "terraform_data" "a" {}
output "o" {
  value = ["x-${terraform_data.a.id}" != null, startswith("x-${terraform_data.a.id}", "x-")]
}
"#,
    );
    shows(&work.ok(&["plan", "-no-color"]), "+ o = [\n+ true,\n+ true,\n]");
}

#[test]
fn unknown_count_and_for_each_are_errors() {
    let found = |argument: &str| {
        let config =
            format!("resource \"terraform_data\" \"a\" {{}}\nresource \"terraform_data\" \"b\" {{\n  {argument}\n}}\n");
        problems(&folder(&config), &["plan", "-json"])
    };
    assert_eq!(found("count = length(terraform_data.a.id)"), ["error main.tf:3,11-38 Invalid count argument"]);
    assert_eq!(found("for_each = toset([terraform_data.a.id])"), ["error main.tf:3,14-42 Invalid for_each argument"]);
}

#[test]
fn data_sources_are_read_while_planning() {
    let Some(work) =
        demo_folder("resource \"demo_thing\" \"t\" {\n  name  = \"box\"\n  value = \"full\"\n}\n-- more.tf --\n")
    else {
        return;
    };
    apply(&work, &[]);
    work.write(
        "more.tf",
        "data \"demo_thing\" \"d\" {\n  name = \"box\"\n}\noutput \"o\" {\n  value = data.demo_thing.d.value\n}\n",
    );
    shows(&work.ok(&["plan", "-no-color"]), "Changes to Outputs:\n+ o = \"full\"");
}

#[test]
fn data_reads_are_deferred_when_arguments_are_unknown() {
    let Some(work) = demo_folder(
        r#"
resource "demo_thing" "t" {
  name  = "box"
  value = "full"
}
resource "terraform_data" "name" {
  input = demo_thing.t.name
}
data "demo_thing" "d" {
  name = terraform_data.name.output
}
output "o" {
  value = data.demo_thing.d.value
}
"#,
    ) else {
        return;
    };
    let plan = work.ok(&["plan", "-no-color"]);
    shows(
        &plan,
        "# data.demo_thing.d will be read during apply\n# (config refers to values not yet known)\n<= data \"demo_thing\" \"d\" {",
    );
    assert_eq!(outputs(&work), json!({ "o": "full" }));
}

#[test]
fn data_reads_are_deferred_when_dependencies_have_changes() {
    let Some(work) = demo_folder(
        r#"
resource "demo_thing" "t" {
  name  = "box"
}
data "demo_thing" "d" {
  name       = "box"
  depends_on = [demo_thing.t]
}
"#,
    ) else {
        return;
    };
    shows(
        &work.ok(&["plan", "-no-color"]),
        "# data.demo_thing.d will be read during apply\n# (depends on a resource or a module with changes pending)",
    );
    assert_eq!(
        changes(&work, &[]),
        ["create demo_thing.t", "read data.demo_thing.d (read_because_dependency_pending)"]
    );
}

#[test]
fn drift_is_shown_as_changes_made_outside() {
    let Some(work) = demo_folder(
        "resource \"demo_thing\" \"t\" {\n  name  = \"box\"\n  value = \"full\"\n}\noutput \"o\" {\n  value = demo_thing.t.value\n}\n",
    ) else {
        return;
    };
    apply(&work, &[]);
    let stored = std::fs::read_dir(work.path("store")).unwrap().flatten().find(|e| e.path().is_file()).unwrap().path();
    std::fs::write(&stored, r#"{ "name": "box", "value": "emptied" }"#).unwrap();
    assert_eq!(changes(&work, &[]), ["drift update demo_thing.t", "update demo_thing.t"]);
    shows(&work.ok(&["plan", "-no-color"]), "~ value = \"emptied\" -> \"full\"");
    std::fs::remove_file(stored).unwrap();
    assert_eq!(changes(&work, &[]), ["create demo_thing.t", "drift delete demo_thing.t"]);
}

#[test]
fn refresh_only_changes_nothing_but_the_state() {
    let Some(work) = demo_folder(
        "resource \"demo_thing\" \"t\" {\n  name  = \"box\"\n  value = \"full\"\n}\noutput \"o\" {\n  value = demo_thing.t.value\n}\n",
    ) else {
        return;
    };
    apply(&work, &[]);
    let stored = std::fs::read_dir(work.path("store")).unwrap().flatten().find(|e| e.path().is_file()).unwrap().path();
    std::fs::write(&stored, r#"{ "name": "box", "value": "emptied" }"#).unwrap();
    let plan = work.ok(&["plan", "-refresh-only", "-no-color"]);
    shows(&plan, "# demo_thing.t has changed\n~ resource \"demo_thing\" \"t\" {\n~ value = \"full\" -> \"emptied\"");
    apply(&work, &["-refresh-only"]);
    assert_eq!(work.ok(&["output", "-raw", "o"]), "emptied");
    assert!(std::fs::read_to_string(stored).unwrap().contains("emptied"));
}

#[test]
fn refresh_can_be_left_out() {
    let Some(work) = demo_folder("resource \"demo_thing\" \"t\" {\n  name = \"box\"\n}\n") else { return };
    apply(&work, &[]);
    std::fs::remove_dir_all(work.path("store")).unwrap();
    assert_eq!(changes(&work, &["-refresh=false"]), [] as [&str; 0]);
}

#[test]
fn target_takes_an_object_and_what_it_needs() {
    let work = folder(CHAIN);
    assert_eq!(changes(&work, &["-target=terraform_data.b"]), ["create terraform_data.a", "create terraform_data.b"]);
    let warnings = problems(&work, &["plan", "-json", "-target=terraform_data.c"]);
    assert_eq!(warnings, ["warning Resource targeting is in effect"]);
}

#[test]
fn a_target_in_one_module_instance_leaves_the_others_unknown() {
    let work = folder(
        r#"
module "m" {
  source   = "./m"
  for_each = toset(["a", "b"])
}
output "o" {
  value = module.m["b"].o
}
-- m/m.tf --
resource "terraform_data" "x" {
  input = 1
}
output "o" {
  value = terraform_data.x.output
}
"#,
    );
    apply(&work, &["-target=module.m[\"a\"]"]);
    assert_eq!(work.ok(&["state", "list"]), "module.m[\"a\"].terraform_data.x\n");
    assert_eq!(changes(&work, &[]), ["create module.m[\"b\"].terraform_data.x"]);
}

#[test]
fn exclude_leaves_an_object_and_what_needs_it() {
    // Not in Terraform 1.11.
    assert_eq!(changes(&folder(CHAIN), &["-exclude=terraform_data.a"]), ["create terraform_data.c"]);
}

#[test]
fn exclude_when_destroying_keeps_what_the_object_needs() {
    // Not in Terraform 1.11.
    let work = folder(CHAIN);
    apply(&work, &[]);
    assert_eq!(changes(&work, &["-destroy", "-exclude=terraform_data.b"]), ["delete terraform_data.c"]);
    let others = ["delete terraform_data.b", "delete terraform_data.c"];
    assert_eq!(changes(&work, &["-destroy", "-exclude=terraform_data.a"]), others);
    work.ok(&["destroy", "-auto-approve", "-exclude=terraform_data.b"]);
    assert_eq!(work.ok(&["state", "list"]), "terraform_data.a\nterraform_data.b\n");
}

#[test]
fn replace_makes_an_object_anew() {
    let work = folder(CHAIN);
    apply(&work, &[]);
    assert_eq!(
        changes(&work, &["-replace=terraform_data.a"]),
        ["replace terraform_data.a (requested)", "update terraform_data.b"]
    );
    shows(
        &work.ok(&["plan", "-no-color", "-replace=terraform_data.c"]),
        "# terraform_data.c will be replaced, as requested",
    );
}

#[test]
fn reasons_of_deletes() {
    let work = folder(
        r#"
resource "terraform_data" "gone" {}
resource "terraform_data" "count" {
  count = 2
}
resource "terraform_data" "each" {
  for_each = toset(["a", "b"])
}
resource "terraform_data" "keyed" {
  for_each = toset(["a"])
}
module "m" {
  source = "./m"
}
-- m/main.tf --
resource "terraform_data" "inner" {}
"#,
    );
    apply(&work, &[]);
    work.write(
        "main.tf",
        r#"
resource "terraform_data" "count" {
  count = 1
}
resource "terraform_data" "each" {
  for_each = toset(["a"])
}
resource "terraform_data" "keyed" {
  count = 1
}
"#,
    );
    assert_eq!(
        changes(&work, &[]),
        [
            "create terraform_data.keyed[0]",
            "delete module.m.terraform_data.inner (delete_because_no_resource_config)",
            "delete terraform_data.count[1] (delete_because_count_index)",
            "delete terraform_data.each[\"b\"] (delete_because_each_key)",
            "delete terraform_data.gone (delete_because_no_resource_config)",
            "delete terraform_data.keyed[\"a\"] (delete_because_wrong_repetition)",
        ]
    );
}

#[test]
fn destroy_with_a_provider_configured_from_objects_that_are_gone() {
    let Some(work) = demo_folder(
        r#"
resource "demo_thing" "t" {
  name = "t"
}
provider "demo" {
  alias = "late"
  login = demo_thing.t.id
}
resource "demo_thing" "u" {
  provider = demo.late
  name     = "u"
}
"#,
    ) else {
        return;
    };
    let nothing = work.ok(&["plan", "-destroy", "-no-color"]);
    assert!(nothing.contains("No changes. No objects need to be destroyed."), "{nothing}");
    apply(&work, &[]);
    let state: serde_json::Value = serde_json::from_str(&work.ok(&["state", "pull"])).unwrap();
    assert_eq!(state["resources"][1]["instances"][0]["dependencies"], json!(["demo_thing.t"]));
    let done = work.ok(&["destroy", "-auto-approve", "-no-color"]);
    assert!(done.find("demo_thing.u: Destruction complete") < done.find("demo_thing.t: Destroying"), "{done}");
}

#[test]
fn destroy_plans_delete_everything() {
    let work = folder(CHAIN);
    apply(&work, &[]);
    let plan = work.ok(&["plan", "-destroy", "-no-color"]);
    assert!(plan.contains("Plan: 0 to add, 0 to change, 3 to destroy."), "{plan}");
    let done = work.ok(&["destroy", "-auto-approve", "-no-color"]);
    assert!(done.find("terraform_data.b: Destroying") < done.find("terraform_data.a: Destroying"), "{done}");
}

#[test]
fn relevant_attributes_are_listed() {
    let work = folder(CHAIN);
    work.ok(&["plan", "-out=p"]);
    let plan: serde_json::Value = serde_json::from_str(&work.ok(&["show", "-json", "p"])).unwrap();
    assert_eq!(plan["relevant_attributes"], json!([{ "resource": "terraform_data.a", "attribute": ["id"] }]));
}

#[test]
fn a_reference_to_blocks_makes_the_whole_resource_relevant() {
    // As Terraform has it: which of the blocks is meant is not told apart.
    let Some(work) = demo_folder(
        r#"
resource "terraform_data" "name" {}
resource "terraform_data" "size" {
  input = 1
}
resource "demo_server" "s" {
  name = terraform_data.name.id
  root {
    size = terraform_data.size.output
  }
}
"#,
    ) else {
        return;
    };
    apply(&work, &[]);
    work.write("output.tf", "output \"o\" {\n  value = demo_server.s.root\n}\n");
    work.ok(&["plan", "-out=p"]);
    let plan: serde_json::Value = serde_json::from_str(&work.ok(&["show", "-json", "p"])).unwrap();
    let found = plan["relevant_attributes"].as_array().unwrap();
    let mut found: Vec<String> = found.iter().map(|r| format!("{} {}", r["resource"], r["attribute"])).collect();
    found.sort();
    let expected =
        [r#""demo_server.s" ["root"]"#, r#""terraform_data.name" ["id"]"#, r#""terraform_data.size" ["output"]"#];
    assert_eq!(found, expected);
}

#[test]
fn changes_in_shallow_modules_come_first() {
    let work = folder(
        r#"
module "a" {
  source = "./m"
  count  = 11
}
module "b" {
  source = "./n"
}
-- m/main.tf --
module "z" {
  source = "../n"
}
-- n/main.tf --
resource "terraform_data" "x" {}
"#,
    );
    work.ok(&["plan", "-out=p"]);
    let plan: serde_json::Value = serde_json::from_str(&work.ok(&["show", "-json", "p"])).unwrap();
    let addresses: Vec<&str> =
        plan["resource_changes"].as_array().unwrap().iter().map(|c| c["address"].as_str().unwrap()).collect();
    assert_eq!(addresses[..2], ["module.b.terraform_data.x", "module.a[0].module.z.terraform_data.x"]);
    assert_eq!(addresses[10..], ["module.a[9].module.z.terraform_data.x", "module.a[10].module.z.terraform_data.x"]);
}

#[test]
fn outputs_known_to_the_plan_are_stored_although_what_they_depend_on_fails() {
    let work = folder(
        r#"
resource "terraform_data" "bad" {
  provisioner "local-exec" {
    command = "exit 3"
  }
}
output "known" {
  value      = "v"
  depends_on = [terraform_data.bad]
}
output "unknown" {
  value = terraform_data.bad.id
}
"#,
    );
    work.fails(&["apply", "-auto-approve"]);
    let outputs: serde_json::Value = serde_json::from_str(&work.ok(&["output", "-json"])).unwrap();
    assert_eq!(outputs, json!({ "known": { "sensitive": false, "type": "string", "value": "v" } }));
}

#[test]
fn sensitive_values_are_never_shown() {
    let Some(work) = demo_folder(
        r#"
resource "demo_machine" "m" {
  name     = "m"
  zone     = "north"
  size     = 1
  password = "hunter2"
}
resource "terraform_data" "copy" {
  input = { password = demo_machine.m.password }
}
output "o" {
  value     = demo_machine.m
  sensitive = true
}
"#,
    ) else {
        return;
    };
    let plan = work.ok(&["plan", "-no-color"]);
    let applied = work.ok(&["apply", "-auto-approve", "-no-color"]);
    let shown = work.ok(&["show", "-no-color"])
        + &work.ok(&["output", "-no-color"])
        + &work.ok(&["plan", "-destroy", "-no-color"]);
    for text in [plan, applied, shown, console(&work, "demo_machine.m.password")] {
        assert!(text.contains("sensitive") && !text.contains("hunter2"), "{text}");
    }
}

#[test]
fn sensitive_marks_alone_are_a_change() {
    let work = folder("resource \"terraform_data\" \"a\" {\n  input = \"x\"\n}\n");
    apply(&work, &[]);
    work.write("main.tf", "resource \"terraform_data\" \"a\" {\n  input = sensitive(\"x\")\n}\n");
    let plan = work.ok(&["plan", "-no-color"]);
    shows(&plan, "# terraform_data.a will be updated in-place\n~ input  = (sensitive value)");
}

#[test]
fn outputs_that_change() {
    let work = folder("variable \"v\" {\n  default = 1\n}\noutput \"o\" {\n  value = { a = var.v, b = [1, 2] }\n}\n");
    apply(&work, &[]);
    let plan = work.ok(&["plan", "-no-color", "-var=v=2"]);
    shows(&plan, "Changes to Outputs:\n~ o = {\n~ a = 1 -> \"2\"\n# (1 unchanged attribute hidden)\n}");
    assert_eq!(work.run(&["plan", "-detailed-exitcode", "-var=v=2"]).status.code(), Some(2));
}

#[test]
fn an_output_that_becomes_null_or_secret_is_updated() {
    let config = |sensitive: bool| {
        format!(
            "variable \"v\" {{\n  default = 1\n}}\noutput \"p\" {{\n  value = var.v == 1 ? [] : null\n}}\noutput \"q\" {{\n  value     = \
             \"q\"\n  sensitive = {sensitive}\n}}\n"
        )
    };
    let work = folder(&config(false));
    apply(&work, &[]);
    work.write("main.tf", &config(true));
    let plan = work.ok(&["plan", "-no-color", "-var=v=2", "-out=saved"]);
    // Terraform's plan for people leaves `q` out; the README says so.
    shows(&plan, "Changes to Outputs:\n- p = [] -> null\n~ q = (sensitive value)");
    let plan: serde_json::Value = serde_json::from_str(&work.ok(&["show", "-json", "saved"])).unwrap();
    for name in ["p", "q"] {
        assert_eq!(plan["output_changes"][name]["actions"], json!(["update"]), "{name}");
    }
    assert_eq!(plan["planned_values"]["outputs"]["p"]["type"], "dynamic");
    assert_eq!(plan["prior_state"]["values"]["outputs"].get("p"), None);
}

#[test]
fn what_was_read_of_a_deferred_data_source_is_not_in_the_prior_state() {
    let work = folder(
        r#"
resource "terraform_data" "p" {
  input = "s.json"
}
data "terraform_remote_state" "s" {
  backend = "local"
  config  = { path = terraform_data.p.output }
}
-- s.json --
{ "version": 4, "outputs": {}, "resources": [] }
"#,
    );
    apply(&work, &[]);
    assert_eq!(work.ok(&["state", "list"]), "data.terraform_remote_state.s\nterraform_data.p\n");
    work.ok(&["plan", "-replace=terraform_data.p", "-out=saved"]);
    let plan: serde_json::Value = serde_json::from_str(&work.ok(&["show", "-json", "saved"])).unwrap();
    let prior = plan["prior_state"]["values"]["root_module"]["resources"].as_array().unwrap();
    assert_eq!(prior.iter().map(|r| &r["address"]).collect::<Vec<_>>(), ["terraform_data.p"]);
}

/// The types of the messages of a command with `-json`, and what they are about.
fn stream(work: &crate::demo::Work, args: &[&str]) -> Vec<String> {
    let out = String::from_utf8(work.run(args).stdout).unwrap();
    let message = |line: &str| {
        let m: serde_json::Value = serde_json::from_str(line).unwrap();
        format!("{} {}", m["type"].as_str().unwrap(), m["@message"].as_str().unwrap())
    };
    out.lines().skip(1).map(message).collect()
}

#[test]
fn an_apply_whose_plan_fails_with_nothing_planned_has_no_summary() {
    let precondition = "precondition {\n      condition     = var.v == 1\n      error_message = \"No.\"\n    }";
    let resource = format!("resource \"terraform_data\" \"a\" {{\n  lifecycle {{\n    {precondition}\n  }}\n}}\n");
    let work = folder(&format!("variable \"v\" {{\n  default = 2\n}}\n{resource}"));
    assert_eq!(stream(&work, &["apply", "-auto-approve", "-json"]), ["diagnostic Error: Resource precondition failed"]);
}

#[test]
fn moves_without_changes_are_not_announced_when_a_saved_plan_is_applied() {
    let work = folder("resource \"terraform_data\" \"a\" {}\n");
    apply(&work, &[]);
    work.write(
        "main.tf",
        "resource \"terraform_data\" \"b\" {}\nmoved {\n  from = terraform_data.a\n  to   = terraform_data.b\n}\n",
    );
    let planned = stream(&work, &["plan", "-json", "-out=saved"]);
    assert!(planned.iter().any(|m| m == "planned_change terraform_data.b: Plan to move"), "{planned:?}");
    let applied = stream(&work, &["apply", "-json", "saved"]);
    assert!(!applied.iter().any(|m| m.starts_with("planned_change")), "{applied:?}");
}

#[test]
fn a_tolerated_failure_of_a_provisioner_is_no_diagnostic_of_a_stream() {
    let work = folder(
        "resource \"terraform_data\" \"a\" {\n  provisioner \"local-exec\" {\n    command    = \"exit 1\"\n    on_failure = \
         continue\n  }\n}\n",
    );
    let said = stream(&work, &["apply", "-auto-approve", "-json"]);
    assert!(said.iter().any(|m| m.starts_with("provision_errored")), "{said:?}");
    assert!(!said.iter().any(|m| m.starts_with("diagnostic")), "{said:?}");
}

#[test]
fn values_of_variables_that_do_not_fit_are_told_at_the_declaration() {
    let work = folder("variable \"l\" {\n  type    = list(number)\n  default = []\n}\n");
    let expected = ["error main.tf:1,1-13 Invalid value for input variable"];
    assert_eq!(problems(&work, &["plan", "-json", "-var=l=[\"a\"]"]), expected);
}

#[test]
fn a_plan_that_a_postcondition_ends_shows_what_it_was_about() {
    let work = folder(
        r#"
resource "terraform_data" "a" {
  input = 2
  lifecycle {
    postcondition {
      condition     = self.input == 1
      error_message = "Not one."
    }
  }
}
resource "terraform_data" "b" {
  input = terraform_data.a.input
}
"#,
    );
    assert_eq!(
        stream(&work, &["plan", "-json"]),
        [
            "planned_change terraform_data.a: Plan to create",
            "change_summary Plan: 1 to add, 0 to change, 0 to destroy.",
            "diagnostic Error: Resource postcondition failed",
        ]
    );
}

#[test]
fn outputs_that_are_no_longer_declared_stay_with_a_targeted_plan() {
    let work = folder("resource \"terraform_data\" \"a\" {}\noutput \"gone\" {\n  value = 1\n}\n");
    apply(&work, &[]);
    work.write("main.tf", "resource \"terraform_data\" \"a\" {}\n");
    work.ok(&["apply", "-auto-approve", "-target=terraform_data.a"]);
    assert_eq!(work.ok(&["output", "-raw", "gone"]), "1");
    assert_eq!(outputs(&work), json!({}));
}

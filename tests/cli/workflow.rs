//! The daily round: init, plan, apply, change, destroy; saved plans; what partial failure keeps.

use crate::demo::{Work, is_built};

#[test]
fn a_plan_is_applied_as_it_was_saved() {
    let work = Work::new(
        "variable \"v\" {\n  default = 1\n}\nresource \"terraform_data\" \"a\" {\n  input = var.v\n}\noutput \"o\" {\n  value = terraform_data.a.output\n}\n",
    );
    work.ok(&["init"]);
    let plan = work.ok(&["plan", "-no-color", "-out=p", "-var=v=2"]);
    assert!(plan.contains("Plan: 1 to add, 0 to change, 0 to destroy."), "{plan}");
    // What happens to the configuration afterwards does not matter.
    work.write("main.tf", "");
    let applied = work.ok(&["apply", "-no-color", "p"]);
    assert!(applied.contains("Apply complete! Resources: 1 added, 0 changed, 0 destroyed."), "{applied}");
    assert_eq!(work.ok(&["output", "-raw", "o"]), "2");
}

#[test]
fn a_saved_plan_holds_modules_that_lie_above_the_configuration() {
    let work = Work::new("");
    std::fs::create_dir_all(work.path("live/one")).unwrap();
    std::fs::create_dir_all(work.path("modules/m")).unwrap();
    work.write(
        "live/one/main.tf",
        "module \"m\" {\n  source = \"../../modules/m\"\n}\nmodule \"n\" {\n  source = \"../\"\n}\n",
    );
    work.write("modules/m/main.tf", "resource \"terraform_data\" \"a\" {\n  input = path.module\n}\n");
    work.write("live/main.tf", "resource \"terraform_data\" \"b\" {}\n");
    work.ok(&["-chdir=live/one", "init"]);
    work.ok(&["-chdir=live/one", "plan", "-out=p"]);
    work.write("modules/m/main.tf", "");
    assert!(work.ok(&["-chdir=live/one", "show", "-no-color", "p"]).contains("= \"../../modules/m\""));
    let applied = work.ok(&["-chdir=live/one", "apply", "-no-color", "p"]);
    assert!(applied.contains("Resources: 2 added"), "{applied}");
}

#[test]
fn nothing_to_do_is_said_and_reported_by_the_exit_code() {
    let work = Work::new("resource \"terraform_data\" \"a\" {\n  input = 1\n}\n");
    assert_eq!(work.run(&["plan", "-detailed-exitcode"]).status.code(), Some(2));
    work.ok(&["apply", "-auto-approve"]);
    let again = work.run(&["plan", "-detailed-exitcode", "-no-color"]);
    assert_eq!(again.status.code(), Some(0));
    assert!(
        String::from_utf8_lossy(&again.stdout).contains("No changes. Your infrastructure matches the configuration.")
    );
    let destroyed = work.ok(&["destroy", "-auto-approve", "-no-color"]);
    assert!(destroyed.contains("Destroy complete! Resources: 1 destroyed."), "{destroyed}");
    let state: serde_json::Value = serde_json::from_str(&work.read("terraform.tfstate")).unwrap();
    assert_eq!(state["resources"], serde_json::json!([]));
}

#[test]
fn a_failure_keeps_what_was_done_and_reports_every_error() {
    if !is_built() {
        return;
    }
    let work = Work::new(
        "terraform {\n  required_providers {\n    demo = { source = \"gpuform/demo\" }\n  }\n}\nresource \"demo_thing\" \"t\" {\n  for_each = \
         toset([\"a\", \"b\", \"c\"])\n  name     = each.key\n}\n",
    );
    let mut c = work.command(&["apply", "-auto-approve", "-no-color"]);
    let out = c.env("DEMO_FAIL", "create:a,create:c").output().unwrap();
    let errors = crate::demo::text(&out.stderr);
    assert_eq!(out.status.code(), Some(1));
    assert!(errors.contains("demo_thing.t[\"a\"]") && errors.contains("demo_thing.t[\"c\"]"), "{errors}");
    assert_eq!(work.things(), ["b"]);
    work.ok(&["apply", "-auto-approve"]);
    assert_eq!(work.things(), ["a", "b", "c"]);
}

#[test]
fn secrets_do_not_show() {
    let work = Work::new(
        "variable \"s\" {\n  sensitive = true\n}\nresource \"terraform_data\" \"a\" {\n  input = var.s\n}\noutput \"o\" {\n  value     = \
         terraform_data.a.output\n  sensitive = true\n}\n",
    );
    let plan = work.ok(&["plan", "-no-color", "-var=s=hunter2"]);
    let applied = work.ok(&["apply", "-auto-approve", "-no-color", "-var=s=hunter2"]);
    let outputs = work.ok(&["output", "-no-color"]);
    let again = work.ok(&["plan", "-no-color", "-var=s=changed"]);
    let gone = work.ok(&["plan", "-destroy", "-no-color", "-var=s=changed"]);
    let shown = work.ok(&["show", "-no-color"]) + &work.ok(&["state", "show", "-no-color", "terraform_data.a"]);
    for text in [plan, applied, outputs, again, gone, shown] {
        assert!(!text.contains("hunter2"), "{text}");
    }
}

#[test]
fn a_value_that_turns_out_to_be_null_is_applied_as_null() {
    let work = Work::new(
        "resource \"terraform_data\" \"a\" {}\nresource \"terraform_data\" \"b\" {\n  input = terraform_data.a.id == \"x\" ? \"b\" : null\n}\noutput \"o\" {\n  \
         value = terraform_data.b.input == null\n}\n",
    );
    work.ok(&["apply", "-auto-approve"]);
    assert_eq!(work.ok(&["output", "-raw", "o"]), "true");
}

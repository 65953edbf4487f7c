//! Where states are: the backend block and what `init` remembers of it, workspaces, state files named on the command line.

use crate::demo::Work;

fn block(arguments: &str) -> String {
    format!("terraform {{\n  backend \"local\" {{\n{arguments}\n  }}\n}}\nresource \"terraform_data\" \"a\" {{\n}}\n")
}

fn exists(work: &Work, name: &str) -> bool {
    work.path(name).exists()
}

fn error(work: &Work, args: &[&str]) -> String {
    let out = work.run(args);
    assert_eq!(out.status.code(), Some(1), "{args:?}");
    let errors = String::from_utf8_lossy(&out.stderr);
    errors.split_once("Error: ").map(|(_, e)| e.lines().next().unwrap_or_default().to_owned()).unwrap_or_default()
}

#[test]
fn what_init_was_given_counts_until_it_is_given_anew() {
    let work = Work::new(&block("path = \"block.tfstate\""));
    work.ok(&["init", "-backend-config=path=flag.tfstate"]);
    work.ok(&["apply", "-auto-approve"]);
    work.ok(&["init"]);
    assert_eq!(work.run(&["plan", "-detailed-exitcode"]).status.code(), Some(0));
    assert!(exists(&work, "flag.tfstate") && !exists(&work, "block.tfstate"));
    work.ok(&["init", "-reconfigure"]);
    work.ok(&["apply", "-auto-approve"]);
    assert!(exists(&work, "block.tfstate"));
    // The number is the one that Terraform records for this block, so either program accepts what the other prepared.
    let record: serde_json::Value = serde_json::from_str(&work.read(".terraform/terraform.tfstate")).unwrap();
    assert_eq!(record["backend"]["hash"], 4_036_758_197_u32);
}

#[test]
fn state_commands_want_the_backend_of_the_configuration() {
    let work = Work::new("resource \"terraform_data\" \"a\" {\n}\n");
    work.ok(&["apply", "-auto-approve"]);
    work.write("main.tf", &block(""));
    let first = "Backend initialization required, please run \"gpuform init\"";
    for args in [&["state", "list"][..], &["output"], &["workspace", "list"], &["show"], &["plan"]] {
        assert_eq!(error(&work, args), first);
    }
    work.ok(&["init"]);
    assert_eq!(work.ok(&["state", "list"]), "terraform_data.a\n");
    work.write("main.tf", &block("path = \"other.tfstate\""));
    assert_eq!(error(&work, &["state", "list"]), "Backend initialization required, please run \"gpuform init\"");
    // A configuration that cannot be read is no reason not to look at the state.
    work.write("main.tf", "resource {");
    assert_eq!(work.ok(&["state", "list"]), "terraform_data.a\n");
}

#[test]
fn objects_move_to_another_state_file_and_back() {
    let work = Work::new("resource \"terraform_data\" \"a\" {\n}\nresource \"terraform_data\" \"b\" {\n}\n");
    work.ok(&["apply", "-auto-approve"]);
    work.ok(&["state", "mv", "-state-out=other.tfstate", "terraform_data.a", "terraform_data.a"]);
    assert_eq!(work.ok(&["state", "list"]), "terraform_data.b\n");
    assert_eq!(work.ok(&["state", "list", "-state=other.tfstate"]), "terraform_data.a\n");
    let back = ["-state=other.tfstate", "-state-out=terraform.tfstate", "terraform_data.a", "terraform_data.c"];
    work.ok(&[&["state", "mv"][..], &back].concat());
    assert_eq!(work.ok(&["state", "list"]), "terraform_data.b\nterraform_data.c\n");
    assert_eq!(work.ok(&["state", "list", "-state=other.tfstate"]), "");
}

#[test]
fn a_plan_is_not_saved_into_a_folder_that_is_not_there() {
    let work = Work::new("resource \"terraform_data\" \"a\" {\n}\n");
    assert_eq!(error(&work, &["plan", "-out=missing/p"]), "Failed to write plan file");
    // An empty name is none.
    work.ok(&["plan", "-out="]);
}

#[test]
fn an_environment_variable_that_selects_the_workspace_is_mentioned() {
    let work = Work::new("");
    let listed = work.command(&["workspace", "list"]).env("TF_WORKSPACE", "default").output().unwrap();
    assert!(String::from_utf8_lossy(&listed.stdout).contains("TF_WORKSPACE"));
    assert!(!work.ok(&["workspace", "list"]).contains("TF_WORKSPACE"));
    work.ok(&["workspace", "new", "a:b"]);
    assert_eq!(error(&work, &["workspace", "new", ".."]), "Invalid workspace name");
}

//! Arguments that make no sense, and help: exit codes as Terraform 1.11.4 has them.

use crate::demo::{Work, text};

#[track_caller]
fn check(work: &Work, exit: i32, args: &str) -> String {
    let args: Vec<&str> = args.split_whitespace().collect();
    let out = work.run(&args);
    assert_eq!(out.status.code(), Some(exit), "{args:?}\n{}{}", text(&out.stdout), text(&out.stderr));
    format!("{}{}", text(&out.stdout), text(&out.stderr))
}

#[test]
fn nonsense_is_an_error() {
    let work = Work::new("output \"a\" {\n  value = 1\n}\n");
    for args in [
        "nosuch",
        "plan extra",
        "plan -nosuch",
        "plan -lock=maybe",
        "plan -parallelism=x",
        "plan -target=a..b",
        "plan -refresh-only -destroy",
        "plan -destroy -replace=terraform_data.a",
        "plan -replace=data.a.b",
        "plan -refresh-only -refresh=false",
        "apply a b",
        "destroy -refresh-only",
        "console nothing",
        "metadata",
        "metadata functions",
        "state",
        "state nosuch",
        "state mv a",
        "workspace",
        "workspace new",
        "providers schema",
        "graph -type=nosuch",
        "-chdir=nosuch plan",
        "-chdir . plan",
        "plan -chdir=.",
        "-nosuch plan",
    ] {
        check(&work, 1, args);
    }
    assert!(check(&work, 1, "plann").contains("'plan'"));
    assert!(check(&work, 1, "plan -nosuch").contains("Error: Failed to parse command-line flags"));
}

#[test]
fn help_is_no_error() {
    let work = Work::new("");
    check(&work, 127, "");
    for args in ["-h", "-help", "--help", "plan -h", "state -help", "state mv -h", "fmt --help", "workspace new -h"] {
        assert!(check(&work, 0, args).contains("Usage: gpuform"), "{args}");
    }
    assert!(check(&work, 0, "plan -h").contains(" -detailed-exitcode "));
}

#[test]
fn flags_take_values_as_in_terraform() {
    let work = Work::new("output \"a\" {\n  value = 1\n}\n");
    assert!(check(&work, 0, "plan -json=true").starts_with('{'));
    assert!(check(&work, 0, "plan -json -json=false -no-color=1").contains("Changes to Outputs"));
    assert!(check(&work, 0, "-version").starts_with("gpuform v"));
    assert!(check(&work, 0, "workspace list -no-color").contains("default"));
    assert!(check(&work, 0, "graph -module-depth=1").starts_with("digraph"));
    check(&work, 0, "init -ignore-remote-version");
}

#[test]
fn providers_shows_the_modules_of_tests_too() {
    let work = Work::new("resource \"terraform_data\" \"a\" {}\n");
    for dir in ["tests", "m"] {
        std::fs::create_dir(work.path(dir)).unwrap();
    }
    work.write("tests/a.tftest.hcl", "run \"x\" {\n  module {\n    source = \"./m\"\n  }\n}\n");
    work.write("m/main.tf", "resource \"null_resource\" \"x\" {}\n");
    check(&work, 0, "get");
    assert_eq!(
        check(&work, 0, "providers"),
        "
Providers required by configuration:
.
├── provider[terraform.io/builtin/terraform]
└── test.tests.a
    └── run.x
        └── provider[registry.terraform.io/hashicorp/null]
"
    );
}

#[test]
fn shells_can_ask() {
    let work = Work::new("");
    let out = work.command(&[]).env("COMP_LINE", "gpuform work").output().unwrap();
    assert_eq!(text(&out.stdout), "workspace\n");
    assert!(check(&work, 0, "completion bash").starts_with("complete "));
    assert!(check(&work, 0, "man").starts_with(".TH GPUFORM 1"));
    check(&work, 1, "completion tcsh");
}

#[test]
fn arguments_from_the_environment_reach_commands_of_two_words() {
    let work = Work::new("resource \"terraform_data\" \"a\" {}\n");
    work.ok(&["apply", "-auto-approve"]);
    let rm =
        work.command(&["state", "rm", "terraform_data.a"]).env("TF_CLI_ARGS_state_rm", "-dry-run").output().unwrap();
    assert_eq!(rm.status.code(), Some(0));
    let list = work.command(&["state", "list"]).env("TF_CLI_ARGS", "-no-color").output().unwrap();
    assert_eq!(String::from_utf8_lossy(&list.stdout), "terraform_data.a\n");
}

#[test]
fn plans_in_automation_and_shown_plans_give_no_advice() {
    let work = Work::new("resource \"terraform_data\" \"a\" {}\n");
    assert!(work.ok(&["plan", "-no-color"]).contains("The plan was not saved"));
    assert!(work.ok(&["plan", "-no-color", "-out=saved"]).contains("gpuform apply \"saved\""));
    assert!(!work.ok(&["show", "-no-color", "saved"]).contains("gpuform apply"));
    for args in [&["plan", "-no-color"][..], &["plan", "-no-color", "-out=saved"]] {
        let out = work.command(args).env("TF_IN_AUTOMATION", "1").output().unwrap();
        let shown = text(&out.stdout);
        assert!(shown.trim_end().ends_with("Plan: 1 to add, 0 to change, 0 to destroy."), "{shown}");
    }
}

//! Bad input: a clear error, exit code 1, and nothing lost.

use crate::demo::{Work, is_built};

const GOOD: &str = "resource \"terraform_data\" \"a\" {\n  input = 1\n}\n";

#[test]
fn syntax_errors_of_all_files_are_shown_with_their_places() {
    let work = Work::new("resource \"terraform_data\" \"a\" {\n  input = [1,\n}\n");
    work.write("other.tf", "locals {\n  a = \n}\n");
    let errors = work.fails(&["validate", "-no-color"]);
    assert!(errors.contains("on main.tf line") && errors.contains("on other.tf line"), "{errors}");
}

#[test]
fn unknown_arguments_and_wrong_types_name_the_line() {
    let work = Work::new(
        "resource \"terraform_data\" \"a\" {\n  inptu = 1\n}\nvariable \"n\" {\n  type    = number\n  default = \"x\"\n}\n",
    );
    let errors = work.fails(&["validate", "-no-color"]);
    assert!(errors.contains("main.tf line 6"), "{errors}");
    work.write("main.tf", "resource \"terraform_data\" \"a\" {\n  inptu = 1\n}\n");
    let errors = work.fails(&["validate", "-no-color"]);
    assert!(errors.contains("Unsupported argument") && errors.contains("\"input\""), "{errors}");
}

#[test]
fn a_cycle_is_reported_with_its_whole_path() {
    let work = Work::new("locals {\n  a = local.b\n  b = local.c\n  c = local.a\n}\n");
    let errors = work.fails(&["plan", "-no-color"]);
    for name in ["local.a", "local.b", "local.c"] {
        assert!(errors.contains("Cycle:") && errors.contains(name), "{errors}");
    }
}

#[test]
fn a_truncated_state_is_an_error_and_is_left_alone() {
    let work = Work::new(GOOD);
    work.ok(&["apply", "-auto-approve"]);
    let whole = work.read("terraform.tfstate");
    let half = &whole[..whole.len() / 2];
    work.write("terraform.tfstate", half);
    let errors = work.fails(&["apply", "-auto-approve", "-no-color"]);
    assert!(errors.contains("terraform.tfstate"), "{errors}");
    assert_eq!(work.read("terraform.tfstate"), half);
}

#[test]
fn a_damaged_plan_file_is_refused() {
    let work = Work::new(GOOD);
    work.ok(&["plan", "-out=p"]);
    let bytes = std::fs::read(work.path("p")).unwrap();
    std::fs::write(work.path("p"), &bytes[..bytes.len() / 2]).unwrap();
    let errors = work.fails(&["apply", "-no-color", "p"]);
    assert!(errors.contains("Plan file cannot be read"), "{errors}");
}

#[test]
fn a_stale_plan_is_refused() {
    let work = Work::new(GOOD);
    work.ok(&["plan", "-out=p"]);
    work.ok(&["apply", "-auto-approve"]);
    assert!(work.fails(&["apply", "-no-color", "p"]).contains("stale"));
}

#[test]
fn a_locked_state_says_who_holds_the_lock() {
    let work = Work::new(
        "resource \"terraform_data\" \"a\" {\n  provisioner \"local-exec\" {\n    command = \"touch started; sleep 5\"\n  }\n}\n",
    );
    let mut child = work.command(&["apply", "-auto-approve"]).stdout(std::process::Stdio::null()).spawn().unwrap();
    let begin = std::time::Instant::now();
    while !work.path("started").exists() && begin.elapsed().as_secs() < 20 {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let errors = work.fails(&["plan", "-no-color"]);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(errors.contains("lock") && errors.contains('@'), "{errors}");
}

#[test]
fn a_provider_that_dies_in_the_middle_is_named() {
    if !is_built() {
        return;
    }
    let work = Work::new(
        "terraform {\n  required_providers {\n    demo = { source = \"gpuform/demo\" }\n  }\n}\nresource \"demo_thing\" \"a\" {\n  name = \
         \"a\"\n}\nresource \"terraform_data\" \"kept\" {}\n",
    );
    let mut c = work.command(&["apply", "-auto-approve", "-no-color"]);
    let out = c.env("DEMO_EXIT", "create:a:before").output().unwrap();
    let errors = crate::demo::text(&out.stderr);
    assert_eq!(out.status.code(), Some(1));
    assert!(errors.contains("demo") && errors.contains("demo_thing.a"), "{errors}");
    assert!(work.ok(&["state", "list"]).contains("terraform_data.kept"));
}

#[test]
fn without_configuration_nothing_is_destroyed_unless_asked_for() {
    let work = Work::new(GOOD);
    work.ok(&["apply", "-auto-approve"]);
    std::fs::remove_file(work.path("main.tf")).unwrap();
    for command in [&["plan", "-no-color"][..], &["apply", "-auto-approve", "-no-color"]] {
        assert!(work.fails(command).contains("No configuration files"));
    }
    assert_eq!(work.ok(&["state", "list"]), "terraform_data.a\n");
    assert!(work.ok(&["destroy", "-auto-approve", "-no-color"]).contains("1 destroyed."));
}

#[test]
fn options_that_contradict_each_other_do_nothing() {
    let work = Work::new(GOOD);
    work.ok(&["apply", "-auto-approve"]);
    for command in [
        &["apply", "-destroy", "-refresh-only", "-auto-approve"][..],
        &["destroy", "-refresh-only", "-auto-approve"],
        &["plan", "-refresh-only", "-refresh=false"],
        &["plan", "-destroy", "-replace=terraform_data.a"],
    ] {
        work.fails(command);
    }
    assert_eq!(work.ok(&["state", "list"]), "terraform_data.a\n");
}

#[test]
fn a_workspace_is_never_a_path() {
    let work = Work::new(GOOD);
    for name in ["../../outside", "a/b", ".."] {
        for args in [&["apply", "-auto-approve", "-no-color"][..], &["workspace", "show", "-no-color"]] {
            let out = work.command(args).env("TF_WORKSPACE", name).output().unwrap();
            assert_eq!(out.status.code(), Some(1), "{name:?} {args:?}");
            assert!(crate::demo::text(&out.stderr).contains("Invalid workspace name"));
        }
    }
}

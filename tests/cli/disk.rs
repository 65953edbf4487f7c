//! Disks that are full or read-only. Each test mounts a small disk of its own in a user namespace; where the system does
//! not allow that, it says so and is skipped.

use crate::demo::{Work, is_built, text};
use std::process::{Command, Output};

const MANY: &str = r#"
terraform {
  required_providers {
    demo = { source = "gpuform/demo" }
  }
}

variable "size" {
  type = number
}

resource "demo_thing" "a" {
  count = 60
  name  = "a${count.index}"
}

resource "terraform_data" "large" {
  count = 60
  input = join("", [for i in range(var.size) : "0123456789"])
}
"#;

/// Runs a shell script in the work folder with a disk of 300 kB mounted at `disk`. `$GPUFORM` is the executable under test.
/// `None` where this system mounts nothing for its users.
fn with_disk(work: &Work, script: &str) -> Option<Output> {
    std::fs::create_dir(work.path("disk")).unwrap();
    let mounted = |script: &str| {
        let mut c = Command::new("unshare");
        c.args(["--user", "--map-root-user", "--mount", "sh", "-c"]);
        c.arg(format!("mount -t tmpfs -o size=300k none disk || exit 99\n{script}"));
        work.prepare(&mut c);
        c.env("GPUFORM", env!("CARGO_BIN_EXE_gpuform")).output()
    };
    if !mounted("true").is_ok_and(|out| out.status.success()) {
        println!("skipped: this system does not let its users mount disks");
        return None;
    }
    Some(mounted(script).unwrap())
}

#[test]
fn a_full_disk_stops_the_apply_and_loses_nothing() {
    if !is_built() {
        return;
    }
    let work = Work::new(MANY);
    let script = "
        cp main.tf disk; cd disk
        $GPUFORM apply -auto-approve -no-color -var size=1 -target='demo_thing.a[0]' >/dev/null || exit 98
        cp terraform.tfstate ../before
        $GPUFORM apply -auto-approve -no-color -var size=1000
        code=$?
        cp terraform.tfstate ../after
        cp -r . ../rescued
        exit $code";
    let Some(out) = with_disk(&work, script) else { return };
    let errors = text(&out.stderr);
    assert_eq!(out.status.code(), Some(1), "{}{errors}", text(&out.stdout));
    assert!(errors.contains("No space left on device") && errors.contains("journal"), "{errors}");
    assert_eq!(work.read("before"), work.read("after"), "the state is whole");

    // What was made before the disk was full comes back from the journal, once there is space.
    let made = work.things();
    assert!(!made.is_empty());
    let rescued = format!("-chdir={}", work.path("rescued").display());
    work.ok(&[&rescued, "apply", "-auto-approve", "-no-color", "-var", "size=1"]);
    let mut wanted: Vec<String> = (0..60).map(|i| format!("a{i}")).collect();
    wanted.sort();
    assert_eq!(work.things(), wanted, "nothing is missing and nothing is doubled");
    assert_eq!(work.ok(&[&rescued, "state", "list"]).lines().count(), 120);
}

#[test]
fn a_plan_that_does_not_fit_on_the_disk_leaves_no_file() {
    let work = Work::new(
        "resource \"terraform_data\" \"a\" {\n  count = 300\n  input = [for i in range(1000) : sha256(\"${count.index}-${i}\")]\n}\n",
    );
    let Some(out) =
        with_disk(&work, "cp main.tf disk; cd disk; $GPUFORM plan -no-color -out=p; code=$?; ls -a >&2; exit $code")
    else {
        return;
    };
    let errors = text(&out.stderr);
    assert_eq!(out.status.code(), Some(1), "{errors}");
    assert!(errors.contains("No space left on device"), "{errors}");
    let files: Vec<&str> = errors.lines().filter(|line| *line == "p" || line.contains("tmp")).collect();
    assert!(files.is_empty(), "{files:?}");
}

#[test]
fn a_read_only_folder_is_an_error_before_anything_is_made() {
    if !is_built() {
        return;
    }
    let work = Work::new(MANY);
    let script =
        "cp main.tf disk; mount -o remount,ro disk; cd disk; $GPUFORM apply -auto-approve -no-color -var size=1";
    let Some(out) = with_disk(&work, script) else { return };
    let errors = text(&out.stderr);
    assert_eq!(out.status.code(), Some(1), "{errors}");
    assert!(errors.contains("Read-only file system") && errors.contains("folder must be writable"), "{errors}");
    assert!(work.things().is_empty());
}

#[test]
fn a_plan_without_a_lock_works_in_a_read_only_folder() {
    let work = Work::new("resource \"terraform_data\" \"a\" {}\n");
    let script = "cp main.tf disk; mount -o remount,ro disk; cd disk; $GPUFORM plan -lock=false -no-color";
    let Some(out) = with_disk(&work, script) else { return };
    assert!(out.status.success(), "{}", text(&out.stderr));
    assert!(text(&out.stdout).contains("Plan: 1 to add, 0 to change, 0 to destroy."));
}

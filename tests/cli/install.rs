//! Installing providers from a mirror: which version is chosen, what the lock file records, and that nothing else than
//! what it records is ever started.

use crate::demo::{Work, is_built};
use std::fs;

/// A configuration with one object of the demo provider, whose version is constrained.
fn config(version: &str) -> String {
    format!(
        "terraform {{\n  required_providers {{\n    demo = {{\n      source  = \"gpuform/demo\"\n      version = \"{version}\"\n    \
         }}\n  }}\n}}\nresource \"demo_thing\" \"t\" {{\n  name = \"t\"\n}}\n"
    )
}

fn work(version: &str) -> Work {
    let work = Work::with_mirror(&config(version));
    for version in ["1.0.0", "1.2.0", "1.3.0-beta1", "2.0.0"] {
        work.offer(version);
    }
    work
}

const LOCK: &str = ".terraform.lock.hcl";

/// The lock file without its hashes.
fn lock(work: &Work) -> String {
    let text = work.read(LOCK);
    let lines = text.lines().filter(|l| !l.contains("\"h1:") && !l.starts_with('#'));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_newest_acceptable_version_is_locked() {
    let work = work(">=1.0,< 2");
    let first = work.ok(&["init", "-no-color"]);
    assert!(first.contains("- Installed gpuform/demo v1.2.0"), "{first}");
    let entry = "\nprovider \"registry.terraform.io/gpuform/demo\" {\n  version     = \"1.2.0\"\n  constraints = \">= 1.0.0, < \
                 2.0.0\"\n  hashes = [\n  ]\n}";
    assert_eq!(lock(&work), entry);
    let again = work.ok(&["init", "-no-color"]);
    assert!(again.contains("- Using previously-installed gpuform/demo v1.2.0"), "{again}");
}

#[test]
fn a_locked_version_stays_until_init_may_upgrade() {
    let work = work("~> 1.0.0");
    work.ok(&["init"]);
    work.write("main.tf", &config(">= 1.0"));
    work.ok(&["init"]);
    assert!(lock(&work).contains("\"1.0.0\""));
    work.ok(&["init", "-upgrade"]);
    assert!(lock(&work).contains("\"2.0.0\""));

    work.write("main.tf", &config("1.0.0"));
    let plan = work.fails(&["plan", "-no-color"]);
    assert!(plan.contains("Inconsistent dependency lock file") && plan.contains("init -upgrade"), "{plan}");
    work.fails(&["init"]);
    work.ok(&["init", "-upgrade"]);
    assert!(lock(&work).contains("\"1.0.0\""));
}

#[test]
fn only_what_the_lock_file_knows_is_started() {
    let work = work("1.0.0");
    work.ok(&["init"]);
    let offered = work.offered("1.0.0");
    let executable = offered.join("terraform-provider-demo_v1.0.0");
    // It may be a link to the executable itself.
    fs::remove_file(&executable).unwrap();
    fs::write(executable, "another program").unwrap();
    for command in ["plan", "validate", "init"] {
        let errors = work.fails(&[command, "-no-color"]);
        assert!(errors.contains("which is not one of those in the lock file"), "{command}: {errors}");
    }
    fs::remove_dir_all(offered).unwrap();
    let errors = work.fails(&["plan", "-no-color"]);
    assert!(errors.contains("Required plugins are not installed"), "{errors}");
}

#[test]
fn a_read_only_lock_file_stays_as_it_is() {
    let work = work("1.0.0");
    work.fails(&["init", "-lockfile=readonly"]);
    assert!(!work.path(LOCK).exists());
    work.ok(&["init"]);
    work.ok(&["init", "-lockfile=readonly"]);
    let before = work.read(LOCK).replace("h1:", "zh:");
    work.write(LOCK, &before);
    let out = work.ok(&["init", "-no-color", "-lockfile=readonly"]);
    assert!(out.contains("Warning: Provider lock file not updated"), "{out}");
    assert_eq!(work.read(LOCK), before);
}

#[test]
fn objects_in_the_state_keep_their_provider_installed() {
    if !is_built() {
        return;
    }
    let work = work("1.0.0");
    work.ok(&["init"]);
    work.ok(&["apply", "-auto-approve"]);
    work.write("main.tf", "");
    fs::remove_dir_all(work.path(".terraform")).unwrap();
    fs::remove_file(work.path(LOCK)).unwrap();
    work.ok(&["init"]);
    assert!(lock(&work).contains("version = \"2.0.0\""), "{}", lock(&work));
    work.ok(&["apply", "-auto-approve"]);
    assert_eq!(work.things(), [""; 0]);
    // Nothing needs it any more.
    work.ok(&["init"]);
    assert_eq!(lock(&work), "");
}

#[test]
fn packages_for_another_platform_are_locked_too() {
    let work = work("1.0.0");
    let other = work.offered("1.0.0").with_file_name("plan9_arm");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("terraform-provider-demo_v1.0.0"), "for plan 9").unwrap();
    let out = work.ok(&["providers", "lock", "-fs-mirror=mirror", "-platform=plan9_arm"]);
    assert!(out.contains("Success! gpuform has updated the lock file."), "{out}");
    work.fails(&["init"]);
    work.ok(&["providers", "lock", "-fs-mirror=mirror"]);
    work.ok(&["init", "-lockfile=readonly"]);
    assert_eq!(work.read(LOCK).matches("h1:").count(), 2);
    let out = work.ok(&["providers", "lock", "-fs-mirror=mirror"]);
    assert!(out.contains("found no need for changes"), "{out}");
    work.fails(&["providers", "lock", "-fs-mirror=mirror", "-platform=vms_vax"]);
}

#[test]
fn packages_are_shared_by_way_of_a_cache() {
    let work = work("1.0.0");
    fs::create_dir(work.path("cache")).unwrap();
    let out = work.command(&["init"]).env("TF_PLUGIN_CACHE_DIR", "cache").output().unwrap();
    assert!(out.status.success());
    assert!(work.path("cache/registry.terraform.io/gpuform/demo/1.0.0").is_dir());
    assert!(work.path(".terraform/providers/registry.terraform.io/gpuform/demo/1.0.0").is_dir());
}

#[test]
fn providers_under_development_are_named() {
    let work = Work::new(&config("9.9.9"));
    let out = work.run(&["validate", "-no-color"]);
    let shown = crate::demo::text(&out.stdout);
    assert!(shown.contains("Warning: Provider development overrides are in effect"), "{shown}");
}

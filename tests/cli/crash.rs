//! `kill -9` at any moment: nothing is lost, nothing is made twice, the state file can always be read.

use crate::demo::{Work, is_built};
use std::collections::HashSet;
use std::time::Duration;

const COUNT: usize = 12;

const CONFIG: &str = r#"
terraform {
  required_providers {
    demo = {
      source = "gpuform/demo"
    }
  }
}
variable "generation" {
  type = number
}
resource "demo_thing" "t" {
  count = 12
  name  = "g${var.generation}-${count.index}"
}
"#;

/// A small generator of pseudo-random numbers; the seed is printed with a failure.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

#[test]
fn killed_at_fifty_random_moments_nothing_is_lost_or_doubled() {
    if !is_built() {
        return;
    }
    let seed = u64::from(std::process::id()) | 1 << 40;
    let mut random = Random(seed);
    let work = Work::new(CONFIG);
    let mut killed = 0;
    for round in 0..50 {
        // A new generation now and then: all objects are replaced.
        let generation = format!("-var=generation={}", round / 5);
        let mut child = work
            .command(&["apply", "-auto-approve", "-no-color", &generation])
            .env("DEMO_DELAY_MS", "15")
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(40 + random.below(400)));
        if child.try_wait().unwrap().is_none() {
            killed += 1;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // A provider process whose parent is gone ends by itself.
        std::thread::sleep(Duration::from_millis(350));
        // An empty file is what holds the lock before the first state is written: it means "no state yet".
        let stored = std::fs::read_to_string(work.path("terraform.tfstate")).unwrap_or_default();
        if !stored.is_empty() {
            let state: serde_json::Value = serde_json::from_str(&stored).unwrap();
            assert_eq!(state["version"], 4, "seed {seed}, round {round}");
        }
    }
    assert!(killed >= 10, "only {killed} of 50 runs were killed while they ran");
    let generation = "-var=generation=99";
    work.ok(&["apply", "-auto-approve", "-no-color", generation]);
    let mut wanted: Vec<String> = (0..COUNT).map(|i| format!("g99-{i}")).collect();
    wanted.sort();
    assert_eq!(work.things(), wanted, "seed {seed}");
    assert_eq!(work.ok(&["state", "list"]).lines().count(), COUNT, "seed {seed}");
    let again = work.run(&["plan", "-detailed-exitcode", "-no-color", generation]);
    assert_eq!(again.status.code(), Some(0), "seed {seed}");
    println!("{killed} of 50 runs were killed while they ran");
}

#[test]
fn what_was_reported_as_created_is_there_after_a_kill() {
    const RESOURCES: usize = 1500;
    let seed = u64::from(std::process::id()) | 1 << 40;
    let mut random = Random(seed);
    let mut config = String::new();
    for i in 0..RESOURCES {
        let input = if i % 10 == 0 { "\"first\"".into() } else { format!("terraform_data.r{}.id", i - 1) };
        config.push_str(&format!("resource \"terraform_data\" \"r{i}\" {{\n  input = {input}\n}}\n"));
    }
    let work = Work::new(&config);
    let mut killed_with_reports = 0;
    for round in 0..12 {
        work.ok(&["destroy", "-auto-approve", "-no-color"]);
        let shown = std::fs::File::create(work.path("shown")).unwrap();
        let mut child = work.command(&["apply", "-auto-approve", "-no-color"]).stdout(shown).spawn().unwrap();
        // The plan is shown first; from then on there is something to report.
        let begin = std::time::Instant::now();
        let reports = || std::fs::read_to_string(work.path("shown")).unwrap().matches(": Creation complete").count();
        while reports() == 0 && begin.elapsed() < Duration::from_secs(60) && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(2));
        }
        std::thread::sleep(Duration::from_millis(random.below(150)));
        child.kill().unwrap();
        child.wait().unwrap();
        let shown = std::fs::read_to_string(work.path("shown")).unwrap();
        let ids: Vec<&str> = shown
            .lines()
            .filter_map(|l| l.split_once(": Creation complete")?.1.split_once("[id=")?.1.split(']').next())
            .collect();
        killed_with_reports += usize::from(!ids.is_empty() && ids.len() < RESOURCES);
        work.ok(&["apply", "-auto-approve", "-no-color"]);
        let state = std::fs::read_to_string(work.path("terraform.tfstate")).unwrap();
        let kept: HashSet<&str> = state.split("\"id\":").filter_map(|rest| rest.split('"').nth(1)).collect();
        let lost: Vec<&&str> = ids.iter().filter(|id| !kept.contains(**id)).collect();
        assert!(lost.is_empty(), "seed {seed}, round {round}: {} of {} are lost: {lost:?}", lost.len(), ids.len());
        assert_eq!(work.ok(&["state", "list"]).lines().count(), RESOURCES, "seed {seed}, round {round}");
    }
    assert!(killed_with_reports >= 3, "only {killed_with_reports} of 12 runs were killed between reports");
}

#[test]
fn an_object_whose_creation_was_not_answered_is_found_again() {
    if !is_built() {
        return;
    }
    for (when, exists) in [("before", false), ("after", true)] {
        let work = Work::new(CONFIG);
        let mut c = work.command(&["apply", "-auto-approve", "-no-color", "-var=generation=1"]);
        let out = c.env("DEMO_EXIT", format!("create:g1-3:{when}")).output().unwrap();
        assert_eq!(out.status.code(), Some(1), "the provider died {when} the effect");
        assert_eq!(work.things().contains(&"g1-3".to_owned()), exists);
        let made = work.ids();
        let out = work.ok(&["apply", "-auto-approve", "-no-color", "-var=generation=1"]);
        let found = if exists { "found" } else { "had no effect" };
        assert!(out.contains(found), "{when}: {out}");
        assert_eq!(work.things().len(), COUNT, "the provider died {when} the effect: {out}");
        assert!(made.is_subset(&work.ids()), "what was made is kept: {out}");
    }
}

/// Starts an apply and waits until an object is being created.
fn apply_until_creating(work: &Work, args: &[&str], delay: &str) -> std::process::Child {
    let shown = std::fs::File::create(work.path("shown")).unwrap();
    let mut command = work.command(&["apply", "-auto-approve", "-no-color", "-var=generation=1"]);
    let child = command.args(args).env("DEMO_DELAY_MS", delay).stdout(shown).spawn().unwrap();
    let begin = std::time::Instant::now();
    while !work.read("shown").contains(": Creating...") {
        assert!(begin.elapsed() < Duration::from_secs(60), "no operation has begun");
        std::thread::sleep(Duration::from_millis(10));
    }
    child
}

#[test]
fn an_interrupt_lets_running_operations_finish_and_saves_the_state() {
    if !is_built() {
        return;
    }
    let work = Work::new(CONFIG);
    let mut child = apply_until_creating(&work, &["-parallelism=2"], "300");
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let made = work.things().len();
    assert!(made < COUNT, "everything was made before the interrupt");
    let listed = if made == 0 { 0 } else { work.ok(&["state", "list"]).lines().count() };
    assert_eq!(listed, made);
}

#[test]
fn a_second_interrupt_stops_at_once_and_the_journal_knows_what_was_begun() {
    if !is_built() {
        return;
    }
    let work = Work::new(CONFIG);
    let mut child = apply_until_creating(&work, &[], "5000");
    let pid = child.id().to_string();
    let begin = std::time::Instant::now();
    for _ in 0..2 {
        assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        std::thread::sleep(Duration::from_millis(200));
    }
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert!(begin.elapsed() < Duration::from_secs(3), "it waited for running operations: {:?}", begin.elapsed());
    let out = work.ok(&["apply", "-auto-approve", "-no-color", "-var=generation=1"]);
    assert!(out.contains("no effect") || out.contains("found"), "what was begun is looked for: {out}");
    assert_eq!(work.things().len(), COUNT);
}

#[test]
fn an_object_whose_provisioners_were_interrupted_is_tainted() {
    let work = Work::new(
        "resource \"terraform_data\" \"a\" {\n  provisioner \"local-exec\" {\n    command = \"touch started; sleep 4\"\n  }\n}\n",
    );
    let mut child = work.command(&["apply", "-auto-approve"]).stdout(std::process::Stdio::null()).spawn().unwrap();
    let begin = std::time::Instant::now();
    while !work.path("started").exists() && begin.elapsed().as_secs() < 20 {
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(work.ok(&["plan", "-no-color"]).contains("# terraform_data.a is tainted, so must be replaced"));
    work.write(
        "main.tf",
        "resource \"terraform_data\" \"a\" {\n  provisioner \"local-exec\" {\n    command = \"true\"\n  }\n}\n",
    );
    work.ok(&["apply", "-auto-approve"]);
    assert!(work.ok(&["plan", "-no-color"]).contains("No changes."));
}

#[test]
fn nothing_is_applied_without_the_lock_while_a_create_is_open() {
    if !is_built() {
        return;
    }
    let work = Work::new(CONFIG);
    let mut c = work.command(&["apply", "-auto-approve", "-no-color", "-var=generation=1"]);
    c.env("DEMO_EXIT", "create:g1-3:after").output().unwrap();
    let errors = work.fails(&["apply", "-auto-approve", "-no-color", "-lock=false", "-var=generation=1"]);
    assert!(errors.contains("Interrupted create is not settled"), "{errors}");
    let planned = work.ok(&["plan", "-no-color", "-lock=false", "-var=generation=1"]);
    let words = planned.replace("│ ", "").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("Run this once without -lock=false"), "{planned}");
    work.ok(&["apply", "-auto-approve", "-no-color", "-var=generation=1"]);
    assert_eq!(work.things().len(), COUNT);
}

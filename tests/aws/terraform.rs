//! gpuform and terraform with the same provider: the same state for the same configuration, and each goes on with the
//! other's state. Needs `terraform`; skipped, with the reason, where it is not installed.

use crate::cloud::{Cloud, GPUFORM, Stack, resources};
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::{Command, Stdio};

#[test]
fn both_make_the_same_of_a_network() {
    compare("network");
}

#[test]
fn both_make_the_same_of_buckets_and_roles() {
    compare("storage");
}

#[test]
fn both_make_the_same_of_instances() {
    compare("instances");
}

fn is_installed() -> bool {
    let asked = Command::new("terraform").arg("version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    let installed = asked.is_ok_and(|s| s.success());
    if !installed {
        eprintln!("skipped: terraform is not installed");
    }
    installed
}

/// Applies a configuration to two empty clouds, with one tool each; then each tool goes on with the other's state.
fn compare(config: &str) {
    if !is_installed() {
        return;
    }
    let (Some(ours), Some(theirs)) = (Cloud::start(), Cloud::start()) else { return };
    let (by_gpuform, by_terraform) = (Stack::of(&ours, config), Stack::of(&theirs, config));
    by_gpuform.apply();
    by_terraform.run("terraform", &["apply", "-auto-approve"], 0);

    let shown = by_gpuform.run("terraform", &["show", "-json"], 0);
    let (made, reference) = (comparable(&shown), comparable(&by_terraform.run("terraform", &["show", "-json"], 0)));
    assert_eq!(made.keys().collect::<Vec<_>>(), reference.keys().collect::<Vec<_>>());
    for (address, values) in &made {
        assert_eq!(values, &reference[address], "{address}");
    }

    let listed = by_gpuform.run("terraform", &["state", "list"], 0);
    assert_eq!(listed, by_gpuform.gpuform(&["state", "list"], 0));
    by_gpuform.run("terraform", &["plan", "-detailed-exitcode"], 0);
    by_gpuform.run("terraform", &["show"], 0);
    assert_eq!(by_terraform.gpuform(&["state", "list"], 0), by_terraform.run("terraform", &["state", "list"], 0));
    by_terraform.run(GPUFORM, &["plan", "-detailed-exitcode"], 0);
    assert_eq!(comparable(&by_terraform.gpuform(&["show", "-json"], 0)), reference);

    by_gpuform.run("terraform", &["destroy", "-auto-approve"], 0);
    by_terraform.gpuform(&["destroy", "-auto-approve"], 0);
}

/// The values of the managed resources by address, without what is different in every cloud.
fn comparable(json: &str) -> BTreeMap<String, Value> {
    let one = |r: Value| (r["address"].as_str().unwrap().to_owned(), without_chance(r["values"].clone()));
    resources(json).into_iter().map(one).collect()
}

/// Replaces IDs, addresses, times and random names by what kind of thing they are.
fn without_chance(value: Value) -> Value {
    match value {
        Value::Array(all) => {
            let mut all: Vec<Value> = all.into_iter().map(without_chance).collect();
            all.sort_by_key(ToString::to_string);
            all.into()
        }
        Value::Object(all) => all.into_iter().map(|(k, v)| (k, without_chance(v))).collect(),
        Value::String(text) => settled(&text).into(),
        other => other,
    }
}

/// Words with random digits lose them; IP addresses and times become a word.
fn settled(text: &str) -> String {
    let is_time = text.len() > 18 && text.as_bytes().get(10) == Some(&b'T') && text.ends_with('Z');
    if is_time {
        return "time".to_owned();
    }
    let word = |w: &str| {
        let all = |test: fn(&u8) -> bool| w.bytes().all(|b| test(&b));
        let hexadecimal = w.len() >= 4 && all(u8::is_ascii_hexdigit);
        let name = w.len() >= 16 && (w.bytes().any(|b| b.is_ascii_digit()) || all(u8::is_ascii_uppercase));
        let number = (1..4).contains(&w.len()) && all(u8::is_ascii_digit);
        if hexadecimal || name || number { "#".to_owned() } else { w.to_owned() }
    };
    text.split_inclusive(|c: char| !c.is_ascii_alphanumeric())
        .map(|part| {
            let end = part.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
            format!("{}{}", word(end), part.get(end.len()..).unwrap_or_default())
        })
        .collect()
}

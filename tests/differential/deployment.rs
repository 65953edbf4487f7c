//! Carries out several configurations in one folder: the first version is planned and applied, then the second. One with
//! errors is set aside, so that the others go on.

use crate::batch::Facts;
use crate::configurations::Configuration;
use crate::program::{Answer, Folder, Program};
use serde_json::{Map, Value};
use std::sync::LazyLock;

/// What `data.terraform_remote_state` reads.
const OTHER_STATE: &str = r#"{"version":4,"terraform_version":"1.11.4","serial":1,"lineage":"other","outputs":{
"word":{"value":"from afar","type":"string"},"list":{"value":["r","s"],"type":["list","string"]}},"resources":[],"check_results":null}"#;

static RANDOM: LazyLock<regex::Regex> =
    LazyLock::new(|| regex::Regex::new("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}").unwrap());

/// What a program makes of configurations, in their order.
pub fn deploy(program: Program, configurations: &[Configuration]) -> Vec<Facts> {
    let all: Vec<usize> = (0..configurations.len()).collect();
    let mut run =
        Run { folder: Folder::new(program), configurations, facts: vec![Facts::new(); all.len()], active: all };
    run.folder.write("other.tfstate", OTHER_STATE);
    run.active.clone().into_iter().for_each(|i| run.write(i, 0));
    run.version(0, &NAMES[0]);
    run.active.clone().into_iter().for_each(|i| run.write(i, 1));
    run.version(1, &NAMES[1]);
    run.facts
}

/// What the facts about a version are called.
struct Names {
    verdict: &'static str,
    errors: &'static str,
    plan: &'static str,
    shown: &'static str,
    state: &'static str,
}

const NAMES: [Names; 2] = [
    Names { verdict: "verdict", errors: "errors", plan: "plan", shown: "shown", state: "state" },
    Names { verdict: "verdict, 2", errors: "errors, 2", plan: "plan, 2", shown: "shown, 2", state: "state, 2" },
];

struct Run<'a> {
    folder: Folder,
    configurations: &'a [Configuration],
    facts: Vec<Facts>,
    /// Those without errors so far.
    active: Vec<usize>,
}

impl Run<'_> {
    fn write(&self, i: usize, version: usize) {
        self.configurations[i].files(version, i).into_iter().for_each(|(name, text)| self.folder.write(&name, text));
    }

    fn version(&mut self, version: usize, names: &Names) {
        while !self.active.is_empty() {
            let Err((stage, answer)) = self.plan(names) else { break };
            if !self.set_aside(stage, names, &answer, version) {
                self.give_up(stage, names, &answer);
                return;
            }
        }
        if self.active.is_empty() {
            return;
        }
        let applied = self.folder.run(&["apply", "-json", "saved"]);
        self.store(names);
        if !applied.succeeded() {
            self.set_aside("apply", names, &applied, version);
        }
    }

    fn plan(&mut self, names: &Names) -> Result<(), (&'static str, Answer)> {
        let checked = |stage: &'static str, args: &[&str]| {
            let answer = self.folder.run(args);
            if answer.succeeded() { Ok(answer) } else { Err((stage, answer)) }
        };
        checked("get", &["get"])?;
        checked("plan", &["plan", "-json", "-input=false", "-out=saved"])?;
        let plan = checked("show", &["show", "-json", "saved"])?.out;
        let shown = checked("show", &["show", "saved"])?.out;
        let plan: Value = serde_json::from_str(&RANDOM.replace_all(&plan, "<random>")).unwrap_or_default();
        for i in self.active.clone() {
            self.facts[i].insert(names.verdict, "accepted".to_owned());
            self.facts[i].insert(names.plan, plan_of(&plan, i));
            self.facts[i].insert(names.shown, blocks_of(&shown, i));
        }
        Ok(())
    }

    /// Notes the errors of configurations, which go no further. False when no error is about a configuration.
    fn set_aside(&mut self, stage: &str, names: &Names, answer: &Answer, version: usize) -> bool {
        let mut errors: Vec<(String, String)> = Vec::new();
        for error in answer.errors() {
            let range = &error["range"];
            let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
            let place = format!("line {} {}", range["start"]["line"], text(&error["summary"]));
            let file = if range.is_null() {
                text(&error["address"]) + &text(&error["detail"])
            } else {
                text(&range["filename"])
            };
            errors.push((file, place));
        }
        errors.extend(
            answer.errors_in_words().into_iter().map(|(file, line, summary)| (file, format!("line {line} {summary}"))),
        );
        let active = self.active.len();
        for i in self.active.clone() {
            let mut own: Vec<&str> =
                errors.iter().filter(|(file, _)| mentions(file, i)).map(|(_, text)| text.as_str()).collect();
            own.sort_unstable();
            own.dedup();
            if own.is_empty() {
                continue;
            }
            self.facts[i].insert(names.verdict, format!("refused by {stage}"));
            self.facts[i].insert(names.errors, own.join("\n"));
            self.active.retain(|a| *a != i);
            match version {
                0 => self.configurations[i].files(0, i).iter().for_each(|(name, _)| self.folder.write(name, "")),
                _ => self.write(i, 0),
            }
        }
        self.active.len() < active
    }

    fn give_up(&mut self, stage: &str, names: &Names, answer: &Answer) {
        let errors: Vec<String> = answer.errors().iter().map(|e| e["summary"].to_string()).collect();
        for i in std::mem::take(&mut self.active) {
            self.facts[i]
                .insert(names.verdict, format!("{stage} ends with {:?} for no known reason: {errors:?}", answer.code));
        }
    }

    fn store(&mut self, names: &Names) {
        let state = self.folder.read("terraform.tfstate");
        let state: Value = serde_json::from_str(&RANDOM.replace_all(&state, "<random>")).unwrap_or_default();
        for i in self.active.clone() {
            let part = |name: &str, key: &str| (name.to_owned(), pick(&state[name], key, i));
            let mut own: Map<String, Value> =
                [part("resources", "name"), part("outputs", ""), part("check_results", "config_addr")]
                    .into_iter()
                    .collect();
            for resource in own.get_mut("resources").and_then(Value::as_array_mut).into_iter().flatten() {
                sort_instances(resource);
            }
            self.facts[i].insert(names.state, pretty(&Value::Object(own)));
        }
    }
}

/// Whether a name or address belongs to a configuration.
fn mentions(text: &str, i: usize) -> bool {
    let tail = format!("_{i}");
    text.match_indices(&tail).any(|(at, _)| !text[at + tail.len()..].starts_with(|c: char| c.is_ascii_digit()))
}

/// The members of a list, or of an object when the key is empty, that belong to a configuration, in a fixed order.
fn pick(list: &Value, key: &str, i: usize) -> Value {
    match list {
        Value::Object(members) => members
            .iter()
            .filter(|(name, _)| mentions(name, i))
            .map(|(n, v)| (n.clone(), v.clone()))
            .collect::<Map<_, _>>()
            .into(),
        Value::Array(members) => {
            let own = |m: &&Value| {
                mentions(m[key].as_str().unwrap_or_default(), i)
                    || mentions(m["module"].as_str().unwrap_or_default(), i)
            };
            let mut own: Vec<Value> = members.iter().filter(own).cloned().collect();
            own.sort_by_cached_key(Value::to_string);
            own.into()
        }
        _ => Value::Null,
    }
}

fn sort_instances(resource: &mut Value) {
    for instance in resource["instances"].as_array_mut().into_iter().flatten() {
        for list in ["dependencies", "sensitive_attributes"] {
            if let Some(members) = instance[list].as_array_mut() {
                members.sort_by_cached_key(Value::to_string);
            }
        }
    }
}

fn plan_of(plan: &Value, i: usize) -> String {
    let part = |name: &str, key: &str| (name.to_owned(), pick(&plan[name], key, i));
    let mut own: Map<String, Value> = [
        part("resource_changes", "address"),
        part("resource_drift", "address"),
        part("output_changes", ""),
        part("relevant_attributes", "resource"),
        part("variables", ""),
    ]
    .into_iter()
    .collect();
    let planned = &plan["planned_values"];
    own.insert("planned_outputs".to_owned(), pick(&planned["outputs"], "", i));
    own.insert("planned_resources".to_owned(), pick(&planned["root_module"]["resources"], "address", i));
    own.insert(
        "configuration_resources".to_owned(),
        pick(&plan["configuration"]["root_module"]["resources"], "address", i),
    );
    for name in ["outputs", "variables", "module_calls"] {
        own.insert(format!("configuration_{name}"), pick(&plan["configuration"]["root_module"][name], "", i));
    }
    let checks = plan["checks"].as_array().into_iter().flatten().filter(|c| mentions(&c["address"].to_string(), i));
    let mut checks: Vec<Value> = checks.cloned().collect();
    for check in &mut checks {
        if let Some(instances) = check["instances"].as_array_mut() {
            instances.sort_by_cached_key(Value::to_string);
        }
    }
    checks.sort_by_cached_key(Value::to_string);
    own.insert("checks".to_owned(), checks.into());
    pretty(&Value::Object(own))
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// The parts of a plan, as people see it, that are about objects of a configuration.
fn blocks_of(shown: &str, i: usize) -> String {
    let shown = RANDOM.replace_all(shown, "<random>");
    let mut text = String::new();
    for block in shown.split("\n  # ").skip(1) {
        let heading = block.lines().next().unwrap_or_default();
        if mentions(heading.split(' ').next().unwrap_or_default(), i) {
            let end = block.find("\n    }\n").unwrap_or(heading.len());
            text += &format!("# {}\n", &block[..end]);
        }
    }
    text
}

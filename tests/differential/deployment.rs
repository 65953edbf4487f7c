//! Carries out several configurations in one folder: the first version is planned and applied, then the second. One with
//! errors is set aside, so that the others go on.

use crate::batch::Facts;
use crate::configurations::{Configuration, VERSIONS};
use crate::program::{Answer, Folder, Program};
use serde_json::{Map, Value, json};
use std::sync::LazyLock;

/// What `data.terraform_remote_state` reads.
const OTHER_STATE: &str = r#"{"version":4,"terraform_version":"1.11.4","serial":1,"lineage":"other","outputs":{
"word":{"value":"from afar","type":"string"},"list":{"value":["r","s"],"type":["list","string"]}},"resources":[],"check_results":null}"#;

/// The verdict where a program ends without saying what is wrong with a configuration.
pub const BREAKS: &str = "breaks the program";

static RANDOM: LazyLock<regex::Regex> =
    LazyLock::new(|| regex::Regex::new("(?i)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}").unwrap());

/// What a program makes of configurations, in their order.
pub fn deploy(program: Program, configurations: &[Configuration]) -> Vec<Facts> {
    let mut facts = vec![Facts::new(); configurations.len()];
    deploy_some(program, configurations, (0..configurations.len()).collect(), &mut facts);
    facts
}

/// Where the program ends without naming a configuration, each half of them is tried again, until the one is found that
/// does that to it.
fn deploy_some(program: Program, configurations: &[Configuration], which: Vec<usize>, facts: &mut [Facts]) {
    let mut run = Run { folder: Folder::new(program), configurations, facts, active: which.clone() };
    let Err(Broken { verdict, summaries }) = run.both_versions() else { return };
    if let [only] = which[..] {
        facts[only].insert(verdict, BREAKS.to_owned());
        facts[only].insert("broken by", summaries.join("\n"));
        return;
    }
    which.iter().for_each(|i| facts[*i].clear());
    let (first, second) = which.split_at(which.len() / 2);
    deploy_some(program, configurations, first.to_vec(), facts);
    deploy_some(program, configurations, second.to_vec(), facts);
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

/// The program failed, and no configuration is known to be the reason.
struct Broken {
    /// The fact that the version does this.
    verdict: &'static str,
    /// What the program said.
    summaries: Vec<String>,
}

struct Run<'a> {
    folder: Folder,
    configurations: &'a [Configuration],
    facts: &'a mut [Facts],
    /// Those without errors so far.
    active: Vec<usize>,
}

impl Run<'_> {
    fn write(&self, i: usize, version: usize) {
        self.configurations[i].files(version, i).into_iter().for_each(|(name, text)| self.folder.write(&name, text));
    }

    fn both_versions(&mut self) -> Result<(), Broken> {
        self.folder.write("other.tfstate", OTHER_STATE);
        for version in VERSIONS {
            self.active.clone().into_iter().for_each(|i| self.write(i, version));
            self.version(version, &NAMES[version])?;
        }
        Ok(())
    }

    fn version(&mut self, version: usize, names: &Names) -> Result<(), Broken> {
        while !self.active.is_empty()
            && let Err((stage, answer)) = self.plan(names)
        {
            self.set_aside(stage, names, &answer, version)?;
        }
        if self.active.is_empty() {
            return Ok(());
        }
        let applied = self.folder.run(&["apply", "-json", "saved"]);
        let all = self.active.clone();
        if !applied.succeeded() {
            self.set_aside("apply", names, &applied, version)?;
        }
        self.store(names, &all);
        Ok(())
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

    /// Notes the errors of configurations, which go no further.
    fn set_aside(&mut self, stage: &str, names: &Names, answer: &Answer, version: usize) -> Result<(), Broken> {
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
        // What has no place and no detail, like "no change found for …", is no error of the configuration.
        let broken = answer.errors().into_iter().filter(|e| e["range"].is_null() && e["detail"] == "");
        let broken: Vec<String> = broken.map(|e| e["summary"].as_str().unwrap_or_default().to_owned()).collect();
        let active = self.active.len();
        for i in self.active.clone() {
            let mut own: Vec<&str> =
                errors.iter().filter(|(file, _)| mentions(file, i)).map(|(_, text)| text.as_str()).collect();
            own.sort_unstable();
            own.dedup();
            let broken = broken.iter().find(|summary| mentions(summary, i));
            if own.is_empty() && broken.is_none() {
                continue;
            }
            match broken {
                Some(summary) => {
                    self.facts[i].insert(names.verdict, BREAKS.to_owned());
                    self.facts[i].insert("broken by", summary.clone());
                }
                None => {
                    self.facts[i].insert(names.verdict, format!("refused by {stage}"));
                    self.facts[i].insert(names.errors, own.join("\n"));
                }
            }
            self.active.retain(|a| *a != i);
            match version {
                0 => self.configurations[i].files(0, i).iter().for_each(|(name, _)| self.folder.write(name, "")),
                _ => self.write(i, 0),
            }
        }
        if self.active.len() == active {
            let summaries = answer.errors().iter().map(|e| e["summary"].to_string()).collect();
            return Err(Broken { verdict: names.verdict, summaries });
        }
        Ok(())
    }

    /// Notes what is in the state. Resources without instances, which Terraform leaves where an apply failed, are no part of that.
    fn store(&mut self, names: &Names, which: &[usize]) {
        let state = self.folder.read("terraform.tfstate");
        let state: Value = serde_json::from_str(&RANDOM.replace_all(&state, "<random>")).unwrap_or_default();
        for &i in which {
            let part = |name: &str, key: &str| (name.to_owned(), pick(&state[name], key, i));
            let mut own: Map<String, Value> =
                [part("resources", "name"), part("outputs", ""), part("check_results", "config_addr")]
                    .into_iter()
                    .collect();
            for list in own.values_mut().filter_map(Value::as_array_mut) {
                list.retain(|member| member.get("instances").is_none_or(|i| *i != json!([])));
                list.iter_mut().for_each(sort_instances);
                list.sort_by_cached_key(|member| (member["module"].to_string(), member.to_string()));
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
        _ if key.is_empty() => Value::Object(Map::new()),
        _ => Value::Array(Vec::new()),
    }
}

/// Puts what has no order into a fixed one: the objects of a check, and what an instance lists.
fn sort_instances(resource: &mut Value) {
    let sort = |of: &mut Value, name: &str| {
        let members = of.get_mut(name).and_then(Value::as_array_mut);
        members.into_iter().for_each(|list| list.sort_by_cached_key(Value::to_string));
    };
    sort(resource, "objects");
    for instance in resource.get_mut("instances").and_then(Value::as_array_mut).into_iter().flatten() {
        ["dependencies", "sensitive_attributes"].iter().for_each(|list| sort(instance, list));
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

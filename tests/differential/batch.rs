//! Evaluates many expressions with a handful of processes: each is a local value in a file of its own, with an output and
//! an object that take it. Those with errors are set aside, and the others go on, until all that is left is applied.

use crate::deployment::BREAKS;
use crate::expressions::{FILES, SURROUNDINGS};
use crate::program::{Answer, Folder, Program};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};

/// What is known about an expression, by the way it was found.
pub type Facts = BTreeMap<&'static str, String>;

/// What a program makes of expressions, in their order.
pub fn evaluate(program: Program, expressions: &[String], until: Stage) -> Vec<Facts> {
    let mut facts = vec![Facts::new(); expressions.len()];
    evaluate_some(program, expressions, until, &(0..expressions.len()).collect::<Vec<_>>(), &mut facts);
    facts
}

/// How far expressions are followed.
#[derive(Clone, Copy, PartialEq)]
pub enum Stage {
    /// The console tells the value, as people see it and as JSON: one process for all.
    Console,
    /// Up to the plan as JSON.
    Plan,
    /// Also the plan that people see, the state after it is carried out, and the console.
    Apply,
}

fn evaluate_some(program: Program, expressions: &[String], until: Stage, which: &[usize], facts: &mut [Facts]) {
    let mut left = which.to_vec();
    while !left.is_empty() {
        let folder = Folder::new(program);
        folder.write("main.tf", SURROUNDINGS);
        FILES.iter().for_each(|(name, content)| folder.write(name, content));
        left.iter().for_each(|i| folder.write(&format!("e{i}.tf"), file(*i, &expressions[*i])));
        let rejected = match run(&folder, until, &left, facts) {
            Ok(()) => return,
            Err(Stop { stage, answer }) => set_aside(stage, &answer, facts),
        };
        let before = left.len();
        left.retain(|i| !rejected.contains(i));
        if left.len() == before {
            if let [only] = left[..] {
                facts[only].insert("verdict", BREAKS.to_owned());
                return;
            }
            let (first, second) = left.split_at(left.len() / 2);
            evaluate_some(program, expressions, until, first, facts);
            evaluate_some(program, expressions, until, second, facts);
            return;
        }
    }
}

/// The file of an expression. That it stands on a line of its own makes places easy to compare.
fn file(i: usize, expression: &str) -> String {
    format!(
        "locals {{\n  e{i} = {expression}\n}}\noutput \"o{i}\" {{\n  sensitive = true\n  value     = [local.e{i}]\n}}\n\
         resource \"terraform_data\" \"r{i}\" {{\n  input = local.e{i}\n}}\n"
    )
}

/// A command that did not succeed.
struct Stop {
    stage: &'static str,
    answer: Answer,
}

fn run(folder: &Folder, until: Stage, which: &[usize], facts: &mut [Facts]) -> Result<(), Stop> {
    if until == Stage::Console {
        return console(folder, which, facts);
    }
    let checked = |stage, args: &[&str]| {
        let answer = folder.run(args);
        if answer.succeeded() { Ok(answer) } else { Err(Stop { stage, answer }) }
    };
    checked("plan", &["plan", "-json", "-input=false", "-out=saved"])?;
    let plan: Value = serde_json::from_str(&checked("show", &["show", "-json", "saved"])?.out).unwrap_or_default();
    planned(&plan, which, facts);
    if until == Stage::Apply {
        let shown = checked("show", &["show", "saved"])?.out;
        checked("apply", &["apply", "-json", "saved"])?;
        let state: Value = serde_json::from_str(&folder.read("terraform.tfstate")).unwrap_or_default();
        stored(&state, which, facts);
        blocks(&shown, facts);
        console(folder, which, facts)?;
    }
    for i in which {
        facts[*i].insert("verdict", "accepted".to_owned());
    }
    Ok(())
}

/// Notes what is wrong with expressions, and gives their numbers.
fn set_aside(stage: &str, answer: &Answer, facts: &mut [Facts]) -> Vec<usize> {
    let mut rejected = Vec::new();
    let mut reject = |file: &str, place: String, summary: &str| {
        let number = number(file, "e", ".tf").filter(|i| !rejected.contains(i));
        let Some((i, known)) = number.and_then(|i| Some((i, facts.get_mut(i)?))) else { return };
        *known = [
            ("verdict", "rejected".to_owned()),
            ("stage", stage.to_owned()),
            ("place", place),
            ("summary", summary.to_owned()),
        ]
        .into();
        rejected.push(i);
    };
    // The order in which several errors of an expression are told does not matter.
    let mut errors = answer.errors();
    let order = |e: &Value| (e["range"]["start"]["byte"].as_u64(), e["summary"].to_string());
    errors.sort_by_cached_key(order);
    for error in errors {
        let at = |end: &str| format!("{}:{}", error["range"][end]["line"], error["range"][end]["column"]);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        reject(&text(&error["range"]["filename"]), format!("{}-{}", at("start"), at("end")), &text(&error["summary"]));
    }
    for (file, line, summary) in answer.errors_in_words() {
        reject(&file, line, &summary);
    }
    rejected
}

fn number(text: &str, before: &str, after: &str) -> Option<usize> {
    text.strip_prefix(before)?.strip_suffix(after)?.parse().ok()
}

fn planned(plan: &Value, which: &[usize], facts: &mut [Facts]) {
    let changes = by_key(&plan["resource_changes"], "address");
    let none = Value::Null;
    for i in which {
        let output = format!("o{i}");
        let of_output = (&plan["planned_values"]["outputs"][&output], &plan["output_changes"][&output]);
        facts[*i].insert("planned output", format!("{}\n{}", of_output.0, of_output.1));
        let change = changes.get(format!("terraform_data.r{i}").as_str()).copied().unwrap_or(&none);
        facts[*i].insert("planned object", change["change"].to_string());
    }
}

fn stored(state: &Value, which: &[usize], facts: &mut [Facts]) {
    let objects = by_key(&state["resources"], "name");
    let none = Value::Null;
    for i in which {
        facts[*i].insert("stored output", state["outputs"][format!("o{i}")].to_string());
        let instance = &objects.get(format!("r{i}").as_str()).copied().unwrap_or(&none)["instances"][0];
        let part = |name: &str| instance["attributes"][name].to_string();
        let sensitive = &instance["sensitive_attributes"];
        facts[*i].insert("stored object", format!("{}\n{}\n{sensitive}", part("input"), part("output")));
    }
}

fn by_key<'a>(list: &'a Value, key: &str) -> HashMap<&'a str, &'a Value> {
    let members = list.as_array().map(Vec::as_slice).unwrap_or_default();
    members.iter().filter_map(|m| Some((m[key].as_str()?, m))).collect()
}

/// The part of the plan, as people see it, that is about each object.
fn blocks(shown: &str, facts: &mut [Facts]) {
    for block in shown.split("\n  # ").skip(1) {
        let name = block.split(' ').next().unwrap_or_default();
        let Some(i) = number(name, "terraform_data.r", "") else { continue };
        let end = block.find("\n    }\n").unwrap_or(block.len());
        facts[i].insert("shown", block[..end].replace(&format!("r{i}"), "r"));
    }
}

/// How the console shows the values, all asked for in one line. It goes on after errors in the values.
fn console(folder: &Folder, which: &[usize], facts: &mut [Facts]) -> Result<(), Stop> {
    let members: Vec<String> = which
        .iter()
        .map(|i| format!("e{i} = local.e{i}, j{i} = try(nonsensitive(jsonencode(local.e{i})), \"none\")"))
        .collect();
    let answer = folder.run_with(&["console"], &format!("{{ {} }}\n", members.join(", ")));
    if !answer.succeeded() {
        return Err(Stop { stage: "console", answer });
    }
    for i in which {
        facts[*i].insert("verdict", "accepted".to_owned());
    }
    let rejected = set_aside("console", &answer, facts);
    let mut at = None;
    for line in answer.out.lines() {
        let member = line.strip_prefix("  \"").and_then(|l| l.split_once("\" = "));
        let member = member.and_then(|(name, rest)| {
            let kind = if name.starts_with('e') { "console" } else { "as JSON" };
            Some((name.get(1..)?.parse::<usize>().ok()?, kind, rest))
        });
        if let Some((i, kind, rest)) = member {
            at = facts.get_mut(i).filter(|_| !rejected.contains(&i)).map(|f| f.entry(kind).or_insert(rest.to_owned()));
        } else if line == "}" {
            at = None;
        } else if let Some(text) = &mut at {
            text.push('\n');
            text.push_str(line);
        }
    }
    Ok(())
}

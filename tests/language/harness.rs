//! Helpers that keep each test on one screen: a folder written as one text, and the results of commands as short lines.

pub use crate::demo::Work;
use crate::demo::{is_built, text};
use serde_json::{Map, Value};
use std::io::Write;
use std::process::Stdio;

/// A folder with `main.tf` and the files that follow in the text, each after a line `-- NAME --`. Modules are installed.
#[track_caller]
pub fn folder(files: &str) -> Work {
    let work = Work::new("");
    add_files(&work, files);
    if files.contains("\nmodule ") || files.starts_with("module ") {
        work.ok(&["get"]);
    }
    work
}

/// Writes files into a folder; see [`folder`].
pub fn add_files(work: &Work, files: &str) {
    let (mut name, mut content) = ("main.tf", String::new());
    for line in files.trim_start_matches('\n').lines() {
        match line.strip_prefix("-- ").and_then(|l| l.strip_suffix(" --")) {
            Some(next) => {
                add_file(work, name, &content);
                (name, content) = (next, String::new());
            }
            None => content = content + line + "\n",
        }
    }
    add_file(work, name, &content);
}

fn add_file(work: &Work, name: &str, content: &str) {
    std::fs::create_dir_all(work.path(name).parent().unwrap()).unwrap();
    work.write(name, content);
}

/// As [`folder`], with the demo provider required in the root module; none where that provider is not built.
#[track_caller]
pub fn demo_folder(files: &str) -> Option<Work> {
    is_built().then(|| {
        let required = "terraform {\n  required_providers {\n    demo = { source = \"gpuform/demo\" }\n  }\n}\n";
        folder(&format!("{files}\n-- required.tf --\n{required}"))
    })
}

/// What the console answers to one line in a folder, or else its errors.
#[track_caller]
pub fn console(work: &Work, line: &str) -> String {
    let mut command = work.command(&["console"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(line.as_bytes()).unwrap();
    let out = child.wait_with_output().unwrap();
    text(if out.status.success() { &out.stdout } else { &out.stderr }).trim_end().to_owned()
}

/// Checks what the console answers in a folder without configuration.
#[track_caller]
pub fn answers(cases: &[(&str, &str)]) {
    let work = Work::new("");
    for (expression, expected) in cases {
        assert_eq!(console(&work, expression), *expected, "{expression}");
    }
}

/// The summary of the first error that the console reports in a folder without configuration.
#[track_caller]
pub fn error_of(expression: &str) -> String {
    let answer = console(&Work::new(""), expression);
    let line = answer.lines().find_map(|l| l.trim_start_matches(['│', ' ']).strip_prefix("Error: "));
    line.unwrap_or_else(|| panic!("{expression} gives no error: {answer}")).to_owned()
}

/// Applies a folder and gives its outputs.
#[track_caller]
pub fn outputs(work: &Work) -> Value {
    work.ok(&["apply", "-auto-approve"]);
    let stored: Map<String, Value> = serde_json::from_str(&work.ok(&["output", "-json"])).unwrap();
    stored.into_iter().map(|(name, mut output)| (name, output["value"].take())).collect::<Map<_, _>>().into()
}

/// The one output of a configuration that is applied.
#[track_caller]
pub fn output_of(files: &str) -> Value {
    let outputs = outputs(&folder(files));
    let (_, only) = outputs.as_object().unwrap().iter().next().unwrap();
    only.clone()
}

/// The messages of a command with `-json`, whatever its exit code.
#[track_caller]
fn messages(work: &Work, args: &[&str]) -> Vec<Value> {
    let out = text(&work.run(args).stdout);
    let lines: Result<Vec<Value>, _> = out.lines().map(serde_json::from_str).collect();
    lines.unwrap_or_else(|_| vec![serde_json::from_str(&out).unwrap_or_else(|e| panic!("{args:?}: {e}: {out}"))])
}

/// The errors and warnings of a command with `-json`, as `error main.tf:1,2-3 Summary` (lines and columns from 1, the
/// end exclusive), in the order of the text.
#[track_caller]
pub fn problems(work: &Work, args: &[&str]) -> Vec<String> {
    let messages = messages(work, args);
    let of_message = |m: &Value| match m["diagnostics"].as_array() {
        Some(all) => all.clone(),
        None => m.get("diagnostic").cloned().into_iter().collect(),
    };
    let mut found: Vec<_> = messages.iter().flat_map(of_message).filter_map(|d| problem(&d)).collect();
    found.sort();
    found.into_iter().map(|(_, line)| line).collect()
}

fn problem(d: &Value) -> Option<((String, u64, u64), String)> {
    let (severity, summary) = (d["severity"].as_str()?, d["summary"].as_str()?);
    if summary == "Provider development overrides are in effect" {
        return None;
    }
    let Some(range) = d.get("range") else { return Some((Default::default(), format!("{severity} {summary}"))) };
    let at = |end: &str, part: &str| range[end][part].as_u64().unwrap_or_default();
    let file = range["filename"].as_str()?;
    let (line, column) = (at("start", "line"), at("start", "column"));
    let end = match at("end", "line") {
        same if same == line => at("end", "column").to_string(),
        other => format!("{other},{}", at("end", "column")),
    };
    Some(((file.to_owned(), line, column), format!("{severity} {file}:{line},{column}-{end} {summary}")))
}

/// What validation says about a folder.
#[track_caller]
pub fn validated(files: &str) -> Vec<String> {
    problems(&folder(files), &["validate", "-json"])
}

/// What a plan says about a folder: its errors and warnings.
#[track_caller]
pub fn plan_problems(files: &str) -> Vec<String> {
    problems(&folder(files), &["plan", "-json"])
}

/// What a plan would do, as sorted lines `create terraform_data.a`, with the reason in brackets, where an object comes
/// from, and `drift` before changes made outside.
#[track_caller]
pub fn changes(work: &Work, args: &[&str]) -> Vec<String> {
    let args: Vec<&str> = ["plan", "-json"].iter().chain(args).copied().collect();
    let mut lines = Vec::new();
    for message in messages(work, &args) {
        assert_ne!(message["@level"], "error", "{message}");
        let drift = match message["type"].as_str() {
            Some("planned_change") => "",
            Some("resource_drift") => "drift ",
            _ => continue,
        };
        let change = &message["change"];
        let mut line = format!("{drift}{} {}", plain(&change["action"]), plain(&change["resource"]["addr"]));
        if let Some(reason) = change["reason"].as_str() {
            line += &format!(" ({reason})");
        }
        if let Some(from) = change["previous_resource"]["addr"].as_str() {
            line += &format!(" from {from}");
        }
        if let Some(id) = change["importing"]["id"].as_str() {
            line += &format!(" importing {id}");
        }
        lines.push(line);
    }
    lines.sort();
    lines
}

fn plain(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Checks that lines occur in a text in this order, apart from white space at their ends.
#[track_caller]
pub fn shows(text: &str, lines: &str) {
    let mut rest = text.lines().map(str::trim);
    for line in lines.lines().map(str::trim).filter(|l| !l.is_empty()) {
        assert!(rest.any(|l| l == line), "{line:?} is missing, or not where it should be, in:\n{text}");
    }
}

/// Applies without asking and gives the last line that says what was done.
#[track_caller]
pub fn apply(work: &Work, args: &[&str]) -> String {
    let args: Vec<&str> = ["apply", "-auto-approve", "-no-color"].iter().chain(args).copied().collect();
    let out = work.ok(&args);
    out.lines().find(|l| l.starts_with("Apply complete!")).unwrap_or_default().to_owned()
}

//! Configurations and commands with what Terraform 1.11.4 answered: exit codes, the lines that tools look at, the
//! diagnostics with their places, and the texts of `show`, `state list`, `state show` and `output`. The cases are in
//! `recorded/*.txt`; with `RECORD=1` the answers are recorded anew, from the `terraform` on the path.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Output};

/// Files by name, and commands. `write FILE <<EOF` … `EOF` among the commands replaces a file.
struct Case<'a> {
    name: &'a str,
    files: Vec<(&'a str, &'a str)>,
    steps: &'a str,
    answers: &'a str,
}

impl<'a> Case<'a> {
    fn parse(text: &'a str) -> Case<'a> {
        let (name, rest) = text.split_once('\n').unwrap();
        let mut case = Case { name, files: Vec::new(), steps: "", answers: "" };
        for part in rest.split("--- ").skip(1) {
            let (title, body) = part.split_once('\n').unwrap();
            match title {
                "steps" => case.steps = body,
                "answers" => case.answers = body,
                file => case.files.push((file, body)),
            }
        }
        case
    }

    /// What the program answers, command by command.
    fn play(&self, program: &Path) -> String {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("work");
        let write = |name: &str, text: &str| {
            let path = dir.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        self.files.iter().for_each(|(name, text)| write(name, text));
        std::fs::write(home.path().join("cli.tfrc"), "").unwrap();
        let mut names = Names::default();
        let mut answers = String::new();
        let mut lines = self.steps.lines();
        while let Some(line) = lines.next() {
            if let Some(name) = line.strip_prefix("write ").and_then(|l| l.strip_suffix(" <<EOF")) {
                let text: Vec<&str> = lines.by_ref().take_while(|l| *l != "EOF").collect();
                write(name, &format!("{}\n", text.join("\n")));
                continue;
            }
            let args = shlex::split(line).unwrap();
            let output = Command::new(program)
                .args(&args)
                .current_dir(&dir)
                .env_clear()
                .env("PATH", std::env::var_os("PATH").unwrap_or_default())
                .env("HOME", home.path())
                .env("TF_CLI_CONFIG_FILE", home.path().join("cli.tfrc"))
                .env("CHECKPOINT_DISABLE", "1")
                .output()
                .unwrap();
            let _ = writeln!(answers, "> {line}: {}", output.status.code().unwrap_or(-1));
            for line in told(&args, &output) {
                let _ = writeln!(answers, "  {}", names.replace(&line));
            }
        }
        answers
    }
}

/// Random names by order of appearance.
#[derive(Default)]
struct Names(HashMap<String, usize>);

impl Names {
    fn replace(&mut self, line: &str) -> String {
        let uuid = regex::Regex::new("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}").unwrap();
        let line = uuid.replace_all(line, |found: &regex::Captures<'_>| {
            let next = self.0.len() + 1;
            format!("<uuid-{}>", self.0.entry(found[0].to_owned()).or_insert(next))
        });
        line.replace("Terraform", "gpuform").replace("terraform ", "gpuform ")
    }
}

/// The part of an output that is compared.
fn told(args: &[String], output: &Output) -> Vec<String> {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let plain = |text: &str| regex::Regex::new("\x1b\\[[0-9;]*m").unwrap().replace_all(text, "").into_owned();
    let whole = matches!(
        args.iter().map(String::as_str).take(2).collect::<Vec<_>>()[..],
        ["state", "list" | "show"] | ["output", ..]
    );
    if args.iter().any(|a| a == "-json") && args[0] == "validate" {
        return diagnostics(&out);
    }
    if args[0] == "show" && output.status.success() {
        // Of a plan, what is between the legend and the closing advice.
        let text = plain(&out);
        let told = text.split_once("will perform the following actions:\n").map_or(&*text, |(_, told)| told);
        let told = told.split_once("\n\n───").map_or(told, |(told, _)| told);
        return told.lines().map(|l| l.trim_end().to_owned()).collect();
    }
    if whole && output.status.success() {
        return plain(&out).lines().map(str::to_owned).collect();
    }
    let kept = regex::Regex::new(concat!(
        r"^(Plan: \d+ to |(Apply|Destroy) complete! |No changes\. |Changes to Outputs:$|Success! |Error: |Warning: )",
        r"|^# .* (will be|will no longer|must be|has been|has changed|has moved|is tainted)|^# \((moved|imported) from",
    ))
    .unwrap();
    let text = plain(&format!("{out}\n{err}"));
    let mut lines: Vec<String> = text
        .lines()
        .map(|l| l.trim().trim_start_matches(['╷', '│', '╵']).trim().to_owned())
        .filter(|l| kept.is_match(l))
        .collect();
    lines.sort();
    lines.dedup();
    lines
}

/// Severity, place and summary of what `validate -json` has found.
fn diagnostics(json: &str) -> Vec<String> {
    let json: serde_json::Value = serde_json::from_str(json).unwrap();
    let one = |d: &serde_json::Value| {
        let (r, text) = (&d["range"], |v: &serde_json::Value| v.as_str().unwrap_or("-").to_owned());
        let place = format!(
            "{}:{},{}-{},{}",
            text(&r["filename"]),
            r["start"]["line"],
            r["start"]["column"],
            r["end"]["line"],
            r["end"]["column"]
        );
        format!("{} {place} {}", text(&d["severity"]), text(&d["summary"]))
    };
    let mut all: Vec<String> = json["diagnostics"].as_array().unwrap().iter().map(one).collect();
    all.sort();
    all
}

#[test]
fn answers_are_those_of_terraform() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/recorded");
    let record = std::env::var_os("RECORD").is_some();
    let program = if record { "terraform".as_ref() } else { Path::new(env!("CARGO_BIN_EXE_gpuform")) };
    let mut wrong = String::new();
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let cases: Vec<Case> = text.split("=== ").skip(1).map(Case::parse).collect();
        let played: Vec<String> = std::thread::scope(|scope| {
            let threads: Vec<_> = cases.iter().map(|c| scope.spawn(|| c.play(program))).collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        let mut recorded = String::new();
        for (case, answers) in cases.iter().zip(played) {
            if answers != case.answers && !record {
                let _ = writeln!(wrong, "{}\nrecorded:\n{}\nnow:\n{answers}", case.name, case.answers);
            }
            let files: String = case.files.iter().map(|(name, text)| format!("--- {name}\n{text}")).collect();
            let _ = write!(recorded, "=== {}\n{files}--- steps\n{}--- answers\n{answers}", case.name, case.steps);
        }
        if record {
            std::fs::write(&path, recorded).unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

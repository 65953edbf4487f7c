//! Configurations with mistakes of every kind, against what Terraform 1.11.4 says about them: `tests/recorded.txt` holds
//! files and, for each diagnostic of `terraform validate`, severity, place and summary.

use super::manifest::Manifest;
use super::*;
use crate::diag::{Diagnostic, Diagnostics, Severity, Sources};
use std::fmt::Write;
use std::path::Path;

/// Loads the configuration in a directory as `validate` does.
fn load_dir(dir: &Path) -> (Option<model::Config>, Vec<String>) {
    let sources = Sources::default();
    let modules = Manifest::read(&dir.join(".terraform")).expect("the manifest is valid");
    let version = "1.11.4".parse().expect("a version");
    let options = LoadOptions { modules: &modules, version, sources: sources.clone(), early: Early::default() };
    let (config, diags) = load(dir, &options);
    let late = config.iter().flat_map(|c| c.reference_problems.iter().cloned().chain(c.name_problems()));
    let mut told: Vec<String> = diags.into_iter().chain(late).map(|d| describe(&d, dir, &sources)).collect();
    told.sort();
    (config, told)
}

fn describe(d: &Diagnostic, dir: &Path, sources: &Sources) -> String {
    let severity = if d.severity == Severity::Error { "error" } else { "warning" };
    let Some((range, file)) = d.subject.and_then(|r| Some((r, sources.get(r.file)?))) else {
        return format!("{severity} {}", d.summary);
    };
    let name = file.name.strip_prefix(&format!("{}/", dir.display())).unwrap_or(&file.name);
    let (start, mut end) = (file.pos(range.start), file.pos(range.end));
    if start == end {
        // An empty range is shown as one character.
        end.column += 1;
    }
    format!("{severity} {name}:{},{}-{},{} {}", start.line, start.column, end.line, end.column, d.summary)
}

fn write_files(dir: &Path, files: &[(&str, &str)]) {
    for (name, text) in files {
        let path = dir.join(name);
        std::fs::create_dir_all(path.parent().expect("a file has a folder")).expect("folder");
        std::fs::write(path, text).expect("file");
    }
}

/// What came of loading files.
struct Loaded {
    config: Option<model::Config>,
    told: Vec<String>,
    dir: tempfile::TempDir,
}

/// Loads files given as name and text.
fn load_files(files: &[(&str, &str)]) -> Loaded {
    let dir = tempfile::tempdir().expect("folder");
    write_files(dir.path(), files);
    let (config, told) = load_dir(dir.path());
    Loaded { config, told, dir }
}

#[test]
fn diagnostics_are_those_of_terraform() {
    let mut wrong = String::new();
    let mut count = 0;
    for case in include_str!("tests/recorded.txt").split("===\n").skip(1) {
        let (inputs, expected) = case.split_once("--- expected\n").unwrap_or((case, ""));
        let texts: Vec<(String, String)> = inputs
            .split("--- ")
            .skip(1)
            .filter_map(|part| {
                let (name, text) = part.split_once('\n')?;
                match name.strip_suffix(" (no line end)") {
                    Some(name) => Some((name.to_owned(), text.strip_suffix('\n').unwrap_or(text).to_owned())),
                    None => Some((name.to_owned(), text.to_owned())),
                }
            })
            .collect();
        let files: Vec<(&str, &str)> = texts.iter().map(|(n, t)| (n.as_str(), t.as_str())).collect();
        let mut expected: Vec<&str> = expected.lines().collect();
        expected.sort_unstable();
        let told = load_files(&files).told;
        count += 1;
        if told != expected {
            let _ = writeln!(wrong, "{inputs}expected {expected:#?}\ntold {told:#?}\n");
        }
    }
    assert!(count > 300 && wrong.is_empty(), "{wrong}");
}

/// What every block says with its count written as a number; for_each has the key "x".
struct Counted<'a>(&'a model::Config);

impl refactoring::DeclaredInstances for Counted<'_> {
    fn modules(&self, module: &crate::addr::Module) -> Vec<crate::addr::ModuleInstance> {
        if module.is_root() { vec![crate::addr::ModuleInstance::root()] } else { Vec::new() }
    }
    fn has_resource(&self, resource: &crate::addr::ResourceInstance) -> bool {
        let block = self.0.root.module.resources.get(&resource.resource);
        block.is_some_and(|b| has_key(&b.repetition, &resource.key))
    }
}

fn has_key(repetition: &model::Repetition, key: &crate::addr::InstanceKey) -> bool {
    use crate::addr::InstanceKey;
    match (repetition, key) {
        (model::Repetition::Single, InstanceKey::None) => true,
        (model::Repetition::Count(e), InstanceKey::Int(i)) => {
            let count = e.eval_constant(&mut Diagnostics::new()).and_then(|v| v.as_i64());
            count.is_some_and(|c| (*i as i64) < c)
        }
        (model::Repetition::ForEach(_), InstanceKey::String(s)) => &**s == "x",
        _ => false,
    }
}

fn moved(pairs: &[(&str, &str)]) -> String {
    pairs.iter().map(|(from, to)| format!("moved {{\n  from = {from}\n  to = {to}\n}}\n")).collect()
}

/// Recorded from the plans of Terraform 1.11.4.
#[test]
fn moves_and_removals_are_checked_against_what_is_declared() {
    let a = "resource \"t\" \"a\" {\n}\n";
    let counted = "resource \"t\" \"a\" {\n  count = 2\n}\n";
    let each = "resource \"t\" \"a\" {\n  for_each = { x = 1 }\n}\n";
    for (blocks, moves, expected) in [
        (a, moved(&[("t.a", "t.b")]), vec!["error main.tf:3,1-3,6 Moved object still exists"]),
        (counted, moved(&[("t.a[0]", "t.b")]), vec!["error main.tf:4,1-4,6 Moved object still exists"]),
        (counted, moved(&[("t.a[2]", "t.b")]), vec![]),
        (counted, moved(&[("t.a", "t.a[1]")]), vec![]),
        (each, moved(&[("t.a[\"x\"]", "t.a[\"y\"]")]), vec!["error main.tf:4,1-4,6 Moved object still exists"]),
        ("", moved(&[("t.a", "t.a")]), vec!["error main.tf:1,1-1,6 Redundant move statement"]),
        ("", moved(&[("t.a", "t.b"), ("t.a", "t.c")]), vec!["error main.tf:5,1-5,6 Ambiguous move statements"]),
        ("", moved(&[("t.a", "t.c"), ("t.b", "t.c")]), vec!["error main.tf:5,1-5,6 Ambiguous move statements"]),
        ("", moved(&[("t.a", "t.b"), ("t.b", "t.c")]), vec![]),
        ("", moved(&[("t.a", "t.b"), ("t.a", "t.b")]), vec![]),
        ("", moved(&[("t.a", "t.b"), ("t.a[0]", "t.c")]), vec![]),
        (
            "",
            moved(&[("t.a", "t.b"), ("t.b", "t.c"), ("t.c", "t.a")]),
            vec!["error Cyclic dependency in move statements"],
        ),
        (a, "removed {\n  from = t.a\n}\n".into(), vec!["error main.tf:1,1-1,17 Removed resource still exists"]),
        ("", "removed {\n  from = t.a\n}\n".into(), vec![]),
    ] {
        let loaded = load_files(&[("main.tf", &format!("{blocks}{moves}"))]);
        assert_eq!(loaded.told, Vec::<String>::new(), "{moves}");
        let config = loaded.config.expect("valid");
        let mut problems = refactoring::check_removals(&config);
        problems.extend(refactoring::check_moves(&config, &Counted(&config)));
        let told: Vec<String> = problems.iter().map(|d| describe(d, loaded.dir.path(), &config.sources)).collect();
        assert_eq!(told, expected, "{blocks}{moves}");
    }
}

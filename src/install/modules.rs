//! Modules: finding those that a configuration calls and recording where they are (`.terraform/modules/modules.json`).
//! Local ones are used where they lie; others have to be there already. The modules that tests run are installed with
//! the others, under keys of their own.

use crate::config::manifest::{InstalledModule, Manifest, key, recorded_source};
use crate::config::source::ModuleSource;
use crate::config::{Early, LoadOptions, ModuleRequest, ModuleResolver, Start, load, load_from};
use crate::diag::{Diagnostic, Diagnostics, Failure, Range, Sources};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// A module that a test runs in place of the configuration.
pub struct TestModule {
    pub key: String,
    pub source: String,
    pub source_range: Range,
}

/// Resolves calls while they are installed.
struct Installing {
    old: Manifest,
    new: Mutex<Manifest>,
    root: PathBuf,
    lines: Mutex<Vec<String>>,
}

impl Installing {
    fn record(&self, key: &str, source: &str, dir: &Path) {
        let mut new = self.new.lock().unwrap_or_else(|e| e.into_inner());
        let module = InstalledModule {
            key: key.to_owned(),
            source: recorded_source(source),
            version: None,
            dir: dir.to_string_lossy().into_owned(),
        };
        new.0.insert(module.key.clone(), module);
    }
}

impl Installing {
    /// Installs one module under a key; `parent_dir` is where a relative source starts from.
    fn place(&self, k: &str, source: &str, at: Range, parent_dir: &Path) -> Result<PathBuf, Failure> {
        let fail = |summary: &str, detail: String| Err(Box::new(Diagnostic::error(summary, detail).at(at)));
        match ModuleSource::parse(source) {
            Ok(ModuleSource::Local(path)) => {
                let dir = clean(&parent_dir.join(path));
                if !self.root.join(&dir).is_dir() {
                    return fail(
                        "Unreadable module directory",
                        format!("The module source \"{source}\" leads to {}, which is not a directory.", dir.display()),
                    );
                }
                if self.old.0.get(k).is_none_or(|m| m.dir != dir.to_string_lossy()) {
                    let mut lines = self.lines.lock().unwrap_or_else(|e| e.into_inner());
                    lines.push(format!("- {k} in {}", dir.display()));
                }
                self.record(k, source, &dir);
                Ok(dir)
            }
            Ok(_) => match self.old.0.get(k).filter(|m| m.source == recorded_source(source)) {
                Some(m) => {
                    let dir = PathBuf::from(&m.dir);
                    let mut new = self.new.lock().unwrap_or_else(|e| e.into_inner());
                    new.0.insert(m.key.clone(), m.clone());
                    Ok(dir)
                }
                None => fail(
                    "Module cannot be downloaded",
                    format!(
                        "The module \"{k}\" comes from {source}. gpuform installs modules from local directories (\"./…\", \
                         \"../…\") only, so far: put a copy next to this configuration."
                    ),
                ),
            },
            Err(e) => fail("Invalid module source address", e),
        }
    }
}

impl ModuleResolver for Installing {
    fn resolve(&self, request: &ModuleRequest) -> Result<PathBuf, Failure> {
        let call = request.call;
        self.place(&key(request.path), &request.source.address, call.source_range, request.parent_dir)
    }

    fn goes_on(&self) -> bool {
        true
    }
}

/// Resolves calls below a module that a test runs.
struct InstallingBelow<'a> {
    all: &'a Installing,
    prefix: &'a str,
}

impl ModuleResolver for InstallingBelow<'_> {
    fn resolve(&self, request: &ModuleRequest) -> Result<PathBuf, Failure> {
        let call = request.call;
        let k = format!("{}.{}", self.prefix, key(request.path));
        self.all.place(&k, &request.source.address, call.source_range, request.parent_dir)
    }

    fn goes_on(&self) -> bool {
        true
    }
}

/// A relative path without `.` and `x/..`.
fn clean(path: &Path) -> PathBuf {
    use std::path::Component;
    let mut out: Vec<Component<'_>> = Vec::new();
    for c in path.components() {
        match c {
            Component::CurDir => {}
            Component::ParentDir if matches!(out.last(), Some(Component::Normal(_))) => {
                out.pop();
            }
            c => out.push(c),
        }
    }
    if out.is_empty() { PathBuf::from(".") } else { out.iter().collect() }
}

/// Installs the modules that the configuration in `dir` calls, directly and indirectly, and those that its tests run.
/// Gives what was done, one line each, and every problem found on the way.
pub fn install(
    dir: &Path,
    data_dir: &Path,
    tests: &[TestModule],
    update: bool,
    sources: &Sources,
    early: &Early,
) -> (Vec<String>, Diagnostics) {
    let old = match Manifest::read(data_dir) {
        Ok(m) if !update => m,
        Ok(_) | Err(_) => Manifest::default(),
    };
    let installing = Installing { old, new: Mutex::default(), root: dir.to_owned(), lines: Mutex::default() };
    installing.record("", "", Path::new("."));
    let Ok(version) = crate::cli::project::TERRAFORM_VERSION.parse() else { return (Vec::new(), Diagnostics::new()) };
    let options = LoadOptions { modules: &installing, version, sources: sources.clone(), early: early.clone() };
    let (_, mut diags) = load(dir, &options);
    for test in tests {
        match installing.place(&test.key, &test.source, test.source_range, Path::new(".")) {
            Ok(root) => {
                let below = InstallingBelow { all: &installing, prefix: &test.key };
                let (version, early) = (options.version.clone(), early.clone());
                let options = LoadOptions { modules: &below, version, sources: sources.clone(), early };
                let start = Start { root, ..Start::default() };
                diags.extend(load_from(dir, &start, &options).1);
            }
            Err(d) => diags.push(d),
        }
    }
    let lines = installing.lines.into_inner().unwrap_or_else(|e| e.into_inner());
    let new = installing.new.into_inner().unwrap_or_else(|e| e.into_inner());
    // What was found is recorded even if something is wrong with it, so that other commands can say what.
    if new.0.len() < 2 {
        return (lines, diags);
    }
    let path = data_dir.join("modules/modules.json");
    let text = new.to_json();
    if std::fs::read_to_string(&path).is_ok_and(|old| old == text) {
        return (lines, diags);
    }
    let written = std::fs::create_dir_all(data_dir.join("modules"))
        .and_then(|()| crate::state::backend::local::replace_file(&path, text.as_bytes(), None));
    if let Err(e) = written {
        diags.error("Module record cannot be written", format!("{}: {e}.", path.display()), None);
    }
    (lines, diags)
}

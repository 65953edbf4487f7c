//! `gpuform fmt`

use crate::cli::context::Context;
use crate::cli::{Exit, OK};
use crate::diag::{Diagnostic, Diagnostics};
use crate::lang::{format, parse};
use clap::ArgAction;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

/// Something could not be read, parsed or written.
const ERRORS: Exit = 2;
/// `-check` found a file that is not in canonical form.
const DIFFERS: Exit = 3;

/// The name of standard input in messages and diffs.
const STDIN: &str = "<stdin>";

/// Rewrite configuration files into their canonical form.
///
/// All .tf, .tfvars, .tftest.hcl and .tfmock.hcl files of the current directory are rewritten, or those that are named.
/// JSON files stay as they are.
#[derive(clap::Args, Debug)]
pub struct Fmt {
    /// Files, or directories whose files are meant; "-" for standard input.
    #[arg(value_name = "TARGET")]
    targets: Vec<PathBuf>,
    /// List the files that are not in canonical form.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "true", action = ArgAction::Set)]
    list: bool,
    /// Write the canonical form to the files.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "true", action = ArgAction::Set)]
    write: bool,
    /// Show the changes.
    #[arg(long)]
    diff: bool,
    /// Write nothing, and end with exit code 3 if a file is not in canonical form.
    #[arg(long)]
    check: bool,
    /// Use no colours.
    #[arg(long)]
    no_color: bool,
    /// Go into subdirectories as well.
    #[arg(long)]
    recursive: bool,
}

/// What was found on the way.
#[derive(Default)]
struct Findings {
    diags: Diagnostics,
    differs: bool,
    /// What `-check` has to say, once it is known that there are no errors.
    report: String,
}

impl Fmt {
    pub fn run(self, cx: &mut Context) -> Exit {
        cx.style.color &= !self.no_color;
        let mut found = Findings::default();
        match self.targets.as_slice() {
            [first, ..] if first.as_os_str() == "-" => self.standard_input(cx, &mut found),
            [] => self.directory(cx, &cx.dir, &mut found),
            targets => {
                for target in targets {
                    self.target(cx, target, &mut found);
                }
            }
        }
        cx.show(&found.diags, false);
        if found.diags.has_errors() {
            return ERRORS;
        }
        if self.list {
            cx.print(&found.report);
        }
        if self.check && found.differs { DIFFERS } else { OK }
    }

    /// Prints; with `-check` only in the end.
    fn tell(&self, cx: &Context, text: &str, found: &mut Findings) {
        if self.check {
            found.report.push_str(text);
        } else {
            cx.print(text);
        }
    }

    fn standard_input(&self, cx: &Context, found: &mut Findings) {
        let mut bytes = Vec::new();
        if let Err(e) = std::io::stdin().lock().read_to_end(&mut bytes) {
            found.fail("Failed to read standard input", format!("{e}."));
            return;
        }
        let Some((old, new)) = found.format(cx, &bytes, STDIN) else { return };
        if self.check {
            return;
        }
        if self.diff {
            cx.print(&difference(STDIN, &old, &new));
        } else {
            cx.print(&new);
            if !new.ends_with('\n') {
                cx.print("\n");
            }
        }
    }

    fn target(&self, cx: &Context, target: &Path, found: &mut Findings) {
        let path = cx.path(target);
        let Ok(meta) = path.metadata() else {
            found.fail(format!("No file or directory at {}", target.display()), "");
            return;
        };
        if meta.is_dir() {
            self.directory(cx, &path, found);
        } else if has_canonical_form(&path) {
            self.file(cx, &path, found);
        } else {
            found.fail(
                "Only .tf, .tfvars, .tftest.hcl and .tfmock.hcl files can be formatted",
                format!("The file \"{}\" is of another kind.", target.display()),
            );
        }
    }

    fn directory(&self, cx: &Context, dir: &Path, found: &mut Findings) {
        let entries = std::fs::read_dir(dir).and_then(|entries| entries.collect::<Result<Vec<_>, _>>());
        let mut entries = match entries {
            Ok(entries) => entries,
            Err(e) => {
                found.fail("Failed to read directory", format!("{}: {e}.", shown(cx, dir)));
                return;
            }
        };
        entries.sort_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            if is_ignored(&entry.file_name().to_string_lossy()) {
                continue;
            }
            // Symbolic links to directories are not followed, so that the walk ends.
            if entry.file_type().is_ok_and(|t| t.is_dir()) {
                if self.recursive {
                    crate::lang::deep(|| self.directory(cx, &entry.path(), found));
                }
            } else if has_canonical_form(&entry.path()) {
                self.file(cx, &entry.path(), found);
            }
        }
    }

    fn file(&self, cx: &Context, path: &Path, found: &mut Findings) {
        let name = shown(cx, path);
        let bytes = match crate::input::read(path) {
            Ok(bytes) => bytes,
            Err(e) => {
                found.fail(format!("Failed to read file {name}"), format!("{e}."));
                return;
            }
        };
        let Some((old, new)) = found.format(cx, &bytes, &name) else { return };
        if old == new {
            return;
        }
        if self.list {
            self.tell(cx, &format!("{name}\n"), found);
        }
        if self.write
            && !self.check
            && let Err(e) = std::fs::write(path, &new)
        {
            found.fail(format!("Failed to write file {name}"), format!("{e}."));
        }
        if self.diff {
            self.tell(cx, &difference(&name, &old, &new), found);
        }
    }
}

impl Findings {
    fn fail(&mut self, summary: impl Into<String>, detail: impl Into<String>) {
        self.diags.push(Diagnostic::error(summary, detail));
    }

    /// The text of a file and its canonical form; `None` if it has none, which is reported.
    fn format(&mut self, cx: &Context, bytes: &[u8], name: &str) -> Option<(String, String)> {
        let old = parse::decode(bytes).into_owned();
        match format::format(&old, cx.sources.add(name, &*old)) {
            Ok(new) => {
                self.differs |= old != new;
                Some((old, new))
            }
            Err(diags) => {
                self.diags.extend(diags);
                None
            }
        }
    }
}

fn has_canonical_form(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    [".tf", ".tfvars", ".tftest.hcl", ".tfmock.hcl"].iter().any(|end| name.ends_with(end))
}

/// Hidden files and what editors leave behind.
fn is_ignored(name: &str) -> bool {
    name.starts_with('.') || name.ends_with('~') || (name.starts_with('#') && name.ends_with('#'))
}

/// A path relative to the working directory.
fn shown(cx: &Context, path: &Path) -> String {
    let (from, to) = (cleaned(&cx.dir), cleaned(path));
    let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let up = from.iter().skip(common).map(|_| Component::ParentDir);
    let relative: PathBuf = up.chain(to.into_iter().skip(common)).collect();
    relative.to_string_lossy().into_owned()
}

/// The steps of an absolute path without `.` and `..`.
fn cleaned(path: &Path) -> Vec<Component<'_>> {
    let mut steps = Vec::new();
    for step in path.components() {
        match step {
            Component::CurDir => {}
            Component::ParentDir => {
                steps.pop();
            }
            step => steps.push(step),
        }
    }
    steps
}

/// A unified diff; empty if nothing differs.
fn difference(name: &str, old: &str, new: &str) -> String {
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let new: Vec<&str> = new.split_inclusive('\n').collect();
    let diff = similar::TextDiff::configure().newline_terminated(true).diff_slices(&old, &new);
    diff.unified_diff().context_radius(3).header(&format!("old/{name}"), &format!("new/{name}")).to_string()
}

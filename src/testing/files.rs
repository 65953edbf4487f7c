//! Which files hold tests and mocked data. Reading them is `loader`'s task.

use crate::diag::{Diagnostic, Diagnostics};
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

/// Where test files are besides the directory of the root module.
pub const DEFAULT_DIRECTORY: &str = "tests";

/// A test file that was found.
pub struct Found {
    pub path: PathBuf,
    pub in_test_directory: bool,
}

/// Finds the test files of the configuration in `dir`, by the name under which they are shown.
pub fn find(dir: &Path, test_directory: &str, diags: &mut Diagnostics) -> BTreeMap<String, Found> {
    let mut found = BTreeMap::new();
    let relative = Path::new(test_directory);
    let inside = relative.components().all(|c| matches!(c, Component::Normal(_) | Component::CurDir));
    if !inside {
        diags.push(Diagnostic::error(
            "Invalid testing directory",
            format!(
                "\"{test_directory}\" is not a directory within that of the configuration; its path must be relative."
            ),
        ));
        return found;
    }
    let tests = dir.join(relative);
    if test_directory != DEFAULT_DIRECTORY && !tests.is_dir() {
        diags.push(Diagnostic::warning(
            "Test directory does not exist",
            format!("There is no directory \"{test_directory}\" here."),
        ));
    }
    let prefix: PathBuf = relative.components().filter(|c| matches!(c, Component::Normal(_))).collect();
    for (path, in_test_directory) in [(dir, false), (&tests, true)] {
        for name in names(path, is_test) {
            let shown = if in_test_directory { prefix.join(&name) } else { PathBuf::from(&name) };
            let shown = shown.to_string_lossy().replace('\\', "/");
            found.insert(shown, Found { path: path.join(name), in_test_directory });
        }
    }
    found
}

/// The files with mocked data in a directory, by name.
///
/// # Errors
/// The directory cannot be read.
pub fn find_mocks(dir: &Path) -> std::io::Result<Vec<String>> {
    std::fs::read_dir(dir)?;
    Ok(names(dir, is_mock))
}

fn names(dir: &Path, wanted: fn(&str) -> bool) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(dir) else { return Vec::new() };
    let mut names: Vec<String> = entries
        .flatten()
        .filter(|e| !e.path().is_dir())
        .filter_map(|e| e.file_name().into_string().ok())
        .filter(|n| !is_ignored(n) && wanted(n))
        .collect();
    names.sort();
    names
}

/// Hidden files and what editors leave behind.
fn is_ignored(name: &str) -> bool {
    name.starts_with('.') || name.ends_with('~') || (name.starts_with('#') && name.ends_with('#'))
}

fn is_test(name: &str) -> bool {
    name.ends_with(".tftest.hcl") || name.ends_with(".tftest.json")
}

fn is_mock(name: &str) -> bool {
    name.ends_with(".tfmock.hcl") || name.ends_with(".tfmock.json")
}

/// The path of a test file without its extension, with dots for slashes: part of the key of installed modules.
pub fn module_key(name: &str) -> String {
    let base = name.strip_suffix(".tftest.hcl").or_else(|| name.strip_suffix(".tftest.json")).unwrap_or(name);
    base.replace('/', ".")
}

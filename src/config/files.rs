//! Which files of a directory make up a module, and reading them.

use crate::diag::{Diagnostic, Diagnostics, FileId, Sources};
use crate::lang::body::BodySchema;
use crate::lang::json_syntax::JsonBody;
use crate::lang::parse;
use crate::lang::syntax::Body;
use std::path::{Path, PathBuf};

/// Files beyond this size are not configurations (offsets in a file must fit 32 bits).
const MAX_SIZE: u64 = 1 << 30;

/// The configuration files of a module, by name.
pub(super) struct ModuleFiles {
    pub primary: Vec<PathBuf>,
    /// Merged into the others, in this order.
    pub overrides: Vec<PathBuf>,
}

/// Finds the configuration files of a directory.
pub(super) fn find(dir: &Path) -> std::io::Result<ModuleFiles> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        if is_config(&name) && !entry.path().is_dir() {
            names.push(name);
        }
    }
    names.sort();
    let (overrides, primary): (Vec<_>, Vec<_>) = names.into_iter().partition(|n| is_override(n));
    let paths = |names: Vec<String>| names.into_iter().map(|n| dir.join(n)).collect();
    Ok(ModuleFiles { primary: paths(primary), overrides: paths(overrides) })
}

/// `.tf` and `.tf.json`, except hidden files and what editors leave behind.
fn is_config(name: &str) -> bool {
    let ignored = name.starts_with('.') || name.ends_with('~') || (name.starts_with('#') && name.ends_with('#'));
    !ignored && (name.ends_with(".tf") || name.ends_with(".tf.json"))
}

fn is_override(name: &str) -> bool {
    let base = name.strip_suffix(".tf").or_else(|| name.strip_suffix(".tf.json")).unwrap_or(name);
    base == "override" || base.ends_with("_override")
}

/// A file that was read and parsed.
pub(crate) struct Parsed {
    pub id: FileId,
    pub json: bool,
    pub body: Body,
}

/// Reads and parses a file of either syntax; `name` is how messages call it. `None` if it cannot be read.
pub(crate) fn read(path: &Path, name: &str, sources: &Sources, diags: &mut Diagnostics) -> Option<Parsed> {
    let too_large = || std::io::Error::other("it is too large");
    let bytes = std::fs::metadata(path)
        .and_then(|m| if m.len() > MAX_SIZE { Err(too_large()) } else { crate::input::read(path) });
    match bytes {
        Ok(bytes) => Some(parse_bytes(&bytes, name, sources, diags)),
        Err(e) => {
            diags
                .push(Diagnostic::error("Failed to read file", format!("The file \"{name}\" could not be read: {e}.")));
            None
        }
    }
}

/// Parses the bytes of a file of either syntax, by its name.
pub(super) fn parse_bytes(bytes: &[u8], name: &str, sources: &Sources, diags: &mut Diagnostics) -> Parsed {
    let text = parse::decode(bytes);
    let id = sources.add(name, &*text);
    let json = name.ends_with(".json");
    let body = if json { JsonBody::parse(&text, id, diags).into() } else { parse::parse_file(&text, id, diags).into() };
    Parsed { id, json, body }
}

/// The block types of a configuration file.
pub(super) fn schema() -> BodySchema {
    BodySchema::new()
        .block("terraform", &[])
        .block("required_providers", &[])
        .block("provider", &["name"])
        .block("variable", &["name"])
        .block("locals", &[])
        .block("output", &["name"])
        .block("module", &["name"])
        .block("resource", &["type", "name"])
        .block("data", &["type", "name"])
        .block("ephemeral", &["type", "name"])
        .block("moved", &[])
        .block("import", &[])
        .block("check", &["name"])
        .block("removed", &[])
}

/// A path as it is shown: relative paths without a leading `./`.
pub(super) fn display(path: &Path) -> String {
    let shown = path.strip_prefix(".").unwrap_or(path);
    shown.to_string_lossy().into_owned()
}

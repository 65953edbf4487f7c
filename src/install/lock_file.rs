//! The dependency lock file `.terraform.lock.hcl`: which version of each provider was chosen, and the hashes by which
//! its package is recognised.

use crate::addr::Provider;
use crate::diag::{Diagnostics, Result, Sources};
use crate::lang::body::BodySchema;
use crate::lang::parse;
use crate::lang::static_expr::constant;
use gpuform_schema::{Type, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

pub const FILE_NAME: &str = ".terraform.lock.hcl";

/// What the file says.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct LockFile {
    pub providers: BTreeMap<Provider, Locked>,
}

/// One provider's entry.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Locked {
    pub version: String,
    pub constraints: String,
    /// `h1:…` of the unpacked package, `zh:…` of the archive.
    pub hashes: BTreeSet<String>,
}

/// Reads the file; an absent one is empty.
pub fn read(path: &Path, sources: &Sources, diags: &mut Diagnostics) -> LockFile {
    let mut lock = LockFile::default();
    let bytes = match std::fs::read(path) {
        Ok(b) => b,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return lock,
        Err(e) => {
            diags.error("Lock file cannot be read", format!("{}: {e}.", path.display()), None);
            return lock;
        }
    };
    let text = parse::decode(&bytes);
    let file = sources.add(FILE_NAME, &*text);
    let body = parse::parse_file(&text, file, diags);
    for b in body.blocks {
        let (true, Some(label)) = (&*b.ty == "provider", b.labels.first()) else {
            continue;
        };
        let provider = match Provider::parse(&label.text) {
            Ok(p) => p,
            Err(e) => {
                diags.error("Invalid provider source address", e, label.range);
                continue;
            }
        };
        let schema = BodySchema::new().optional(["constraints", "hashes"]).required(["version"]);
        let mut content = b.body.content(&schema, diags);
        let mut text = |name: &str| {
            let v = content.take(name).and_then(|a| constant(&a.expr, &Type::String, false, diags));
            v.and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default()
        };
        let (version, constraints) = (text("version"), text("constraints"));
        let hashes = content.take("hashes").and_then(|a| constant(&a.expr, &Type::list(Type::String), false, diags));
        let hashes = hashes.as_ref().and_then(Value::items).unwrap_or_default();
        let hashes = hashes.iter().filter_map(|v| v.as_str().map(str::to_owned)).collect();
        lock.providers.insert(provider, Locked { version, constraints, hashes });
    }
    lock
}

impl LockFile {
    /// The file's text.
    pub fn to_text(&self) -> String {
        let mut out = String::from(
            "# This file is maintained automatically by \"terraform init\".\n# Manual edits may be lost in future updates.\n",
        );
        for (provider, locked) in &self.providers {
            let _ = write!(out, "\nprovider \"{provider}\" {{\n");
            if locked.constraints.is_empty() {
                let _ = writeln!(out, "  version = {:?}", locked.version);
            } else {
                let _ = writeln!(out, "  version     = {:?}", locked.version);
                let _ = writeln!(out, "  constraints = {:?}", locked.constraints);
            }
            if !locked.hashes.is_empty() {
                out.push_str("  hashes = [\n");
                for h in &locked.hashes {
                    let _ = writeln!(out, "    {h:?},");
                }
                out.push_str("  ]\n");
            }
            out.push_str("}\n");
        }
        out
    }

    /// Writes the file whole or not at all, and only if it changes. Says whether it did.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, path: &Path) -> Result<bool> {
        let text = self.to_text();
        if std::fs::read_to_string(path).is_ok_and(|old| old == text) {
            return Ok(false);
        }
        crate::state::backend::local::replace_file(path, text.as_bytes(), None).map_err(|e| {
            Box::new(crate::diag::Diagnostic::error("Lock file cannot be written", format!("{}: {e}.", path.display())))
        })?;
        Ok(true)
    }
}

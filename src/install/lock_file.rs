//! The dependency lock file `.terraform.lock.hcl`: which version of each provider was chosen, and the hashes by which
//! its package is recognised.

mod edit;

use crate::addr::Provider;
use crate::config::version::{Constraints, Version};
use crate::diag::{Diagnostic, Diagnostics, Range, Result, Sources};
use crate::lang::body::BodySchema;
use crate::lang::parse;
use crate::lang::static_expr::constant;
use crate::lang::syntax::{Attribute, Body};
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

/// Reads the file; an absent one is empty. Everything must have the form in which [`LockFile::write`] writes it.
pub fn read(path: &Path, sources: &Sources, diags: &mut Diagnostics) -> LockFile {
    let mut lock = LockFile::default();
    let bytes = match crate::input::read(path) {
        Ok(b) => b,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return lock,
        Err(e) => {
            diags.error("Lock file cannot be read", format!("{}: {e}.", path.display()), None);
            return lock;
        }
    };
    let text = parse::decode(&bytes);
    let file = sources.add(FILE_NAME, &*text);
    let body = Body::from(parse::parse_file(&text, file, diags));
    let content = body.content(&BodySchema::new().block("provider", &["source address"]), diags);
    for block in content.blocks {
        let Some(label) = block.labels.first() else { continue };
        let provider = match address(&label.text) {
            Ok(p) => p,
            Err(e) => {
                diags.error("Invalid provider source address", e, label.range);
                continue;
            }
        };
        let (at, header) = (label.range, block.header_range);
        let locked = entry(block.body, header, diags);
        if lock.providers.insert(provider, locked).is_some() {
            diags.error("Duplicate provider lock", "The lock file has an entry for this provider already.", at);
        }
    }
    lock
}

/// The provider that a label names in full.
fn address(label: &str) -> std::result::Result<Provider, String> {
    let provider = Provider::parse(label)?;
    if provider.is_builtin() {
        return Err(format!("{provider} is part of gpuform: no version of it can be chosen."));
    }
    let full = provider.to_string();
    if full == label { Ok(provider) } else { Err(format!("Here the address must be written in full: \"{full}\".")) }
}

fn entry(body: Body, header: Range, diags: &mut Diagnostics) -> Locked {
    let schema = BodySchema::new().optional(["constraints", "hashes"]).required(["version"]);
    let mut content = body.content(&schema, diags);
    let mut locked = Locked::default();
    if let Some((text, at)) = content.take("version").and_then(|a| text_of(&a, diags)) {
        match text.parse::<Version>() {
            Ok(v) if v.to_string() == text => {}
            Ok(v) => diags.error("Invalid provider version", format!("Here the version must be written \"{v}\"."), at),
            Err(e) => diags.error("Invalid provider version", e.to_string(), at),
        }
        locked.version = text;
    }
    if let Some((text, at)) = content.take("constraints").and_then(|a| text_of(&a, diags)) {
        let summary = "Invalid provider version constraints";
        match Constraints::of_provider(&text) {
            Ok(c) if c.to_string() == text => {}
            Ok(c) => diags.error(summary, format!("Here the constraints must be written \"{c}\"."), at),
            Err(e) => diags.error(summary, e.to_string(), at),
        }
        locked.constraints = text;
    }
    if let Some(a) = content.take("hashes") {
        let list = constant(&a.expr, &Type::list(Type::String), false, diags);
        let items = list.as_ref().and_then(Value::items).unwrap_or_default();
        locked.hashes = items.iter().filter_map(|v| v.as_str().map(str::to_owned)).collect();
        if locked.hashes.is_empty() && list.is_some() {
            let detail = "Without hashes the argument must be left out.";
            diags.push(Diagnostic::error("Invalid provider hash set", detail).at(a.expr.range).context(header));
        }
    }
    locked
}

fn text_of(a: &Attribute, diags: &mut Diagnostics) -> Option<(String, Range)> {
    let value = constant(&a.expr, &Type::String, false, diags)?;
    value.as_str().map(|s| (s.to_owned(), a.expr.range))
}

impl LockFile {
    /// Whether both choose the same versions with the same hashes, whatever the constraints were.
    pub fn chooses_as(&self, other: &LockFile) -> bool {
        self.providers.len() == other.providers.len()
            && self
                .providers
                .iter()
                .zip(&other.providers)
                .all(|((p, a), (q, b))| p == q && a.version == b.version && a.hashes == b.hashes)
    }

    /// The chosen version of each provider.
    pub fn selections(&self) -> BTreeMap<String, String> {
        self.providers.iter().map(|(p, l)| (p.to_string(), l.version.clone())).collect()
    }

    /// The text of a new file.
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
        let mut text = self.to_text();
        if let Ok(old) = std::fs::read_to_string(path) {
            text = edit::update(&old, &text);
            if old == text {
                return Ok(false);
            }
        }
        crate::state::backend::local::replace_file(path, text.as_bytes(), None).map_err(|e| {
            Box::new(Diagnostic::error("Lock file cannot be written", format!("{}: {e}.", path.display())))
        })?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> (LockFile, Vec<String>) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE_NAME);
        std::fs::write(&path, text).unwrap();
        let mut diags = Diagnostics::new();
        let lock = read(&path, &Sources::default(), &mut diags);
        (lock, diags.iter().map(|d| d.summary.clone()).collect())
    }

    /// As `terraform init` wrote it.
    const FILE: &str = r#"# This file is maintained automatically by "terraform init".
# Manual edits may be lost in future updates.

provider "registry.terraform.io/hashicorp/null" {
  version = "3.1.0"
  hashes = [
    "h1:0o5dzLaitHzUENgrBHiSAVdXKTZkErLhkDvgMTqdOcU=",
    "zh:0000000000000000000000000000000000000000000000000000000000000000",
  ]
}

provider "registry.terraform.io/hashicorp/tls" {
  version     = "3.1.0"
  constraints = ">= 3.0.0, != 3.5.0, < 4.0.0"
}
"#;

    #[test]
    fn a_lock_file_is_written_as_it_was_read() {
        let (lock, problems) = read_text(FILE);
        assert_eq!((lock.to_text().as_str(), problems), (FILE, Vec::new()));
    }

    #[test]
    fn what_init_would_not_have_written_is_refused() {
        let null = "provider \"registry.terraform.io/hashicorp/null\"";
        for (text, summary) in [
            ("provider \"hashicorp/null\" {\n version = \"3.1.0\"\n}\n".into(), "Invalid provider source address"),
            (
                "provider \"terraform.io/builtin/terraform\" {\n version = \"1.0.0\"\n}\n".into(),
                "Invalid provider source address",
            ),
            (format!("{null} {{\n version = \"3.1\"\n}}\n"), "Invalid provider version"),
            (format!("{null} {{\n version = \">= 3.1.0\"\n}}\n"), "Invalid provider version"),
            (
                format!("{null} {{\n version = \"3.1.0\"\n constraints = \">=3\"\n}}\n"),
                "Invalid provider version constraints",
            ),
            (format!("{null} {{\n version = \"3.1.0\"\n hashes = []\n}}\n"), "Invalid provider hash set"),
            (format!("{null} {{\n}}\n"), "Missing required argument"),
            ("other \"x\" {}\n".into(), "Unsupported block type"),
            (
                format!("{null} {{\n version = \"3.1.0\"\n}}\n{null} {{\n version = \"3.0.0\"\n}}\n"),
                "Duplicate provider lock",
            ),
        ] {
            assert_eq!(read_text(&text).1, [summary], "{text}");
        }
    }
}

//! The record of installed modules, `.terraform/modules/modules.json`, in Terraform's format.

use super::model::ModuleCall;
use super::source::ModuleSource;
use super::tree::{ModuleRequest, ModuleResolver};
use super::version::{Constraints, Version};
use crate::addr;
use crate::diag::{Diagnostic, Failure, Range};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Where the record is kept, from the data directory (`.terraform`).
pub const MANIFEST: &str = "modules/modules.json";

/// The installed modules by the path of their call (`a.b`; empty for the root).
#[derive(Clone, Default, Debug, PartialEq, Eq)]
pub struct Manifest(pub BTreeMap<String, InstalledModule>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstalledModule {
    #[serde(rename = "Key")]
    pub key: String,
    /// As it is written; registry addresses with their host.
    #[serde(rename = "Source")]
    pub source: String,
    #[serde(rename = "Version", default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Relative to the directory of the root module, with forward slashes.
    #[serde(rename = "Dir")]
    pub dir: String,
}

#[derive(Serialize, Deserialize)]
struct Document {
    #[serde(rename = "Modules")]
    modules: Vec<InstalledModule>,
}

impl Manifest {
    /// Reads the record in a data directory; an empty one where there is none.
    ///
    /// # Errors
    /// When the file cannot be read or understood.
    pub fn read(data_dir: &Path) -> Result<Manifest, Failure> {
        let path = data_dir.join(MANIFEST);
        let failed = |e: &dyn std::fmt::Display| {
            let detail =
                format!("The record of installed modules, {}, could not be read: {e}. Run init again.", path.display());
            Box::new(Diagnostic::error("Failed to read module manifest file", detail))
        };
        let bytes = match crate::input::read(&path) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Manifest::default()),
            Err(e) => return Err(failed(&e)),
        };
        let document: Document = serde_json::from_slice(&bytes).map_err(|e| failed(&e))?;
        Ok(Manifest(document.modules.into_iter().map(|m| (m.key.clone(), m)).collect()))
    }

    /// The text of the file.
    pub fn to_json(&self) -> String {
        let document = Document { modules: self.0.values().cloned().collect() };
        serde_json::to_string(&document).unwrap_or_default()
    }
}

/// The key of a call path: names joined by dots.
pub fn key(path: &addr::Module) -> String {
    path.0.iter().map(|n| &**n).collect::<Vec<_>>().join(".")
}

/// The source as the record keeps it.
pub fn recorded_source(source: &str) -> String {
    match ModuleSource::parse(source) {
        Ok(ModuleSource::Local(local)) => local,
        Ok(ModuleSource::Registry(r)) if r.split("//").next().is_some_and(|p| p.split('/').count() == 3) => {
            format!("{}/{r}", addr::DEFAULT_REGISTRY)
        }
        _ => source.to_owned(),
    }
}

/// A module that should be installed: where it is asked for and from what source.
pub struct Wanted<'a> {
    /// Where to point when it is not there.
    pub range: Range,
    pub source: &'a str,
    pub source_range: Range,
    pub version: Option<&'a (String, Range)>,
}

impl Manifest {
    /// The directory of the module that is installed under a key.
    ///
    /// # Errors
    /// It is not installed, or from another source or in another version than wanted.
    pub fn directory(&self, key: &str, wanted: &Wanted) -> Result<PathBuf, Failure> {
        const RUN_INIT: &str = "Run init to install the modules of this configuration.";
        let fail =
            |summary: &str, what: &str, at| Box::new(Diagnostic::error(summary, format!("{what} {RUN_INIT}")).at(at));
        let Some(installed) = self.0.get(key).filter(|m| !m.dir.is_empty()) else {
            return Err(fail("Module not installed", "The module is not installed yet.", wanted.range));
        };
        if installed.source != recorded_source(wanted.source) {
            let what = "The source is another than when the module was installed.";
            return Err(fail("Module source has changed", what, wanted.source_range));
        }
        if let Some((constraint, range)) = wanted.version {
            let version = installed.version.as_deref().and_then(|v| v.parse::<Version>().ok());
            let constraint = constraint.parse::<Constraints>().unwrap_or_default();
            if !version.is_some_and(|v| constraint.allow(&v)) {
                let what = "The version that is installed does not meet the constraint.";
                return Err(fail("Module version requirements have changed", what, *range));
            }
        }
        Ok(PathBuf::from(&installed.dir))
    }

    /// The modules below the one that is installed under a key, which is the root of a configuration of its own.
    pub fn below<'a>(&'a self, key: &str) -> Below<'a> {
        Below { manifest: self, prefix: key.to_owned() }
    }
}

/// Resolves the calls of a configuration whose root is an installed module.
pub struct Below<'a> {
    manifest: &'a Manifest,
    prefix: String,
}

impl ModuleResolver for Below<'_> {
    fn resolve(&self, request: &ModuleRequest) -> Result<PathBuf, Failure> {
        self.manifest.directory(&format!("{}.{}", self.prefix, key(request.path)), &wanted(request))
    }
}

impl ModuleResolver for Manifest {
    fn resolve(&self, request: &ModuleRequest) -> Result<PathBuf, Failure> {
        self.directory(&key(request.path), &wanted(request))
    }
}

fn wanted<'a>(request: &'a ModuleRequest) -> Wanted<'a> {
    let call: &ModuleCall = request.call;
    Wanted {
        range: call.header_range,
        source: &request.source.address,
        source_range: call.source_range,
        version: request.source.version.as_ref(),
    }
}

//! The providers that `init` has installed, as the other commands find them: where their executables are, and whether
//! they are still what the lock file says.

use super::lock_file::LockFile;
use super::package::{executable, hash_installed, place_in, platform};
use super::requirements::Requirements;
use crate::addr::Provider;
use crate::config::version::Version;
use crate::diag::{Diagnostic, Diagnostics};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The directory under which packages are installed.
pub fn folder(data_dir: &Path) -> PathBuf {
    data_dir.join("providers")
}

/// The directory for what was seen of packages, see [`hash_installed`].
pub fn records(data_dir: &Path) -> PathBuf {
    data_dir.join("packages")
}

/// What is installed, for starting providers.
#[derive(Clone, Default, Debug)]
pub struct Installed {
    /// Providers under development, with where they are: nothing about them is checked.
    pub overrides: BTreeMap<Provider, PathBuf>,
    pub data_dir: PathBuf,
    pub lock: LockFile,
}

impl Installed {
    /// The executable of a provider, checked against the hashes in the lock file.
    ///
    /// # Errors
    /// It is not installed, or not as the lock file says.
    pub fn executable(&self, provider: &Provider) -> Result<PathBuf, Diagnostics> {
        if let Some(dir) = self.overrides.get(provider) {
            return executable(dir, provider).map_err(|e| {
                let detail = format!("The CLI configuration overrides {provider} by {}: {e}.", dir.display());
                Diagnostic::error("Provider executable not found", detail).into()
            });
        }
        self.find(provider).map_err(|why| self.tell(provider, &why).into())
    }

    fn find(&self, provider: &Provider) -> Result<PathBuf, String> {
        let locked = self.lock.providers.get(provider).ok_or("the lock file has no version of it")?;
        let dir = place_in(&folder(&self.data_dir), provider, &locked.version, &platform());
        if !dir.is_dir() {
            return Err(format!("version {} is not in {}", locked.version, folder(&self.data_dir).display()));
        }
        let found = executable(&dir, provider);
        if !locked.hashes.is_empty() {
            let unreadable = |e| format!("version {} cannot be read: {e}", locked.version);
            let hash = hash_installed(&dir, &records(&self.data_dir)).map_err(unreadable)?;
            if !locked.hashes.contains(&hash) {
                return Err(format!(
                    "the package of version {} in {} has the hash {hash}, which is not one of those in the lock file",
                    locked.version,
                    dir.display()
                ));
            }
        }
        found.map_err(|e| format!("version {}: {e}", locked.version))
    }

    /// Checks that the lock file serves a configuration, and that everything it needs is installed.
    ///
    /// # Errors
    /// What has to be done by `init`.
    pub fn check(&self, needed: &Requirements, runs: impl Fn(&Provider) -> bool) -> Result<(), Diagnostics> {
        let ours = |p: &&Provider| !p.is_builtin() && !self.overrides.contains_key(*p) && !runs(p);
        let differing: Vec<String> = needed.0.keys().filter(ours).filter_map(|p| self.differs(p, needed)).collect();
        if !differing.is_empty() {
            let chosen = needed.0.keys().filter(ours).all(|p| self.lock.providers.contains_key(p));
            let how = if chosen { "gpuform init -upgrade" } else { "gpuform init" };
            return Err(Diagnostic::error(
                "Inconsistent dependency lock file",
                format!(
                    "The providers chosen in the lock file are not those that the configuration needs:\n  - {}\n\nRun \"{how}\" \
                     to choose them.",
                    differing.join("\n  - ")
                ),
            )
            .into());
        }
        let find = |p: &Provider| self.find(p).err().map(|why| format!("{}: {why}", p.for_display()));
        let missing: Vec<String> = needed.0.keys().filter(ours).filter_map(find).collect();
        if missing.is_empty() { Ok(()) } else { Err(not_installed(&missing)) }
    }

    /// The providers that are not installed as they should be, whatever versions the configuration accepts: an error for
    /// each.
    pub fn missing(&self, needed: &Requirements, runs: impl Fn(&Provider) -> bool) -> Diagnostics {
        let ours = |p: &&Provider| !p.is_builtin() && !self.overrides.contains_key(*p) && !runs(p);
        needed.0.keys().filter(ours).filter_map(|p| Some(self.tell(p, &self.find(p).err()?))).collect()
    }

    /// The error about a provider that is not installed as it should be.
    fn tell(&self, provider: &Provider, why: &str) -> Diagnostic {
        let locked = self.lock.providers.contains_key(provider);
        let summary = if locked { NOT_INSTALLED } else { "Missing required provider" };
        let name = provider.for_display();
        Diagnostic::error(summary, format!("The provider {name} is needed, but {why}. Run \"gpuform init\"."))
    }

    fn differs(&self, provider: &Provider, needed: &Requirements) -> Option<String> {
        let constraints = needed.0.get(provider)?;
        let Some(locked) = self.lock.providers.get(provider) else {
            return Some(format!("provider {provider}: no version is chosen"));
        };
        let fits = locked.version.parse::<Version>().is_ok_and(|v| constraints.allow_of_provider(&v));
        (!fits).then(|| {
            format!("provider {provider}: version {} is chosen, but {constraints} is required", locked.version)
        })
    }
}

const NOT_INSTALLED: &str = "Required plugins are not installed";

fn not_installed(lines: &[String]) -> Diagnostics {
    Diagnostic::error(
        NOT_INSTALLED,
        format!(
            "The installed providers are not those of the lock file:\n  - {}\n\nRun \"gpuform init\".",
            lines.join("\n  - ")
        ),
    )
    .into()
}

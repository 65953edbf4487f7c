//! Choosing versions of providers and installing them: what `init` does. `providers lock` uses the same choice for
//! several platforms, without installing.

use super::cli_config::{CliConfig, Method, Source};
use super::installed::{folder, records};
use super::lock_file::{LockFile, Locked};
use super::mirror;
use super::package::{Package, fits, hash_installed, link_to, place_in, platform};
use super::requirements::Requirements;
use crate::addr::Provider;
use crate::config::version::{Constraints, Version};
use crate::diag::{Diagnostic, Diagnostics, Result};
use std::path::{Path, PathBuf};

/// What was done about one provider, for the report of `init`.
#[derive(Clone, PartialEq, Debug)]
pub enum Outcome {
    /// It was there already.
    Reused {
        provider: Provider,
        version: String,
    },
    Installed {
        provider: Provider,
        version: String,
    },
    /// Development override: used as it is.
    Overridden {
        provider: Provider,
    },
}

/// The places that are searched where the CLI configuration names none.
fn usual_methods(root: &Path, home: Option<&Path>) -> Vec<Method> {
    let places = [Some(root.join("terraform.d/plugins")), home.map(|h| h.join(".terraform.d/plugins"))];
    let mirrors = places.into_iter().flatten().filter(|p| p.is_dir()).map(Source::FilesystemMirror);
    mirrors.chain([Source::Direct]).map(|source| Method { source, include: Vec::new(), exclude: Vec::new() }).collect()
}

/// Where versions are looked for.
pub struct Catalogue {
    methods: Vec<Method>,
    platform: String,
}

impl Catalogue {
    /// By the CLI configuration; without one in it, the usual places.
    pub fn new(cli: &CliConfig, root: &Path, home: Option<&Path>) -> Catalogue {
        let methods = cli.methods.clone().unwrap_or_else(|| usual_methods(root, home));
        Catalogue { methods, platform: platform() }
    }

    /// A mirror directory alone.
    pub fn of_mirror(dir: PathBuf) -> Catalogue {
        let method = Method { source: Source::FilesystemMirror(dir), include: Vec::new(), exclude: Vec::new() };
        Catalogue { methods: vec![method], platform: platform() }
    }

    /// The same places, for packages for another platform.
    #[must_use]
    pub fn for_platform(&self, platform: &str) -> Catalogue {
        Catalogue { methods: self.methods.clone(), platform: platform.to_owned() }
    }

    /// The newest acceptable package of a provider, or that of the `locked` version.
    ///
    /// # Errors
    /// The locked version is not acceptable, or there is no package.
    pub fn choose(&self, provider: &Provider, required: &Constraints, locked: Option<&Locked>) -> Result<Package> {
        if let Some(l) = locked {
            let fits = l.version.parse::<Version>().is_ok_and(|v| required.allow_of_provider(&v));
            if !fits {
                return Err(not_found(format!(
                    "The lock file says version {} of {}, which the configuration does not accept ({required}). Run init with \
                     -upgrade to choose again.",
                    l.version,
                    provider.for_display()
                )));
            }
        }
        let (packages, searched) = self.available(provider)?;
        let wanted = locked.and_then(|l| l.version.parse::<Version>().ok());
        let chosen = packages
            .iter()
            .filter(|p| match &wanted {
                Some(w) => p.version == *w,
                None => required.allow_of_provider(&p.version),
            })
            .max_by(|a, b| a.version.cmp(&b.version));
        chosen.cloned().ok_or_else(|| none_acceptable(provider, required, &packages, wanted.as_ref(), &searched))
    }

    /// All packages that the methods offer, and where was searched.
    fn available(&self, provider: &Provider) -> Result<(Vec<Package>, Vec<String>)> {
        let mut found: Vec<Package> = Vec::new();
        let mut searched = Vec::new();
        for m in self.methods.iter().filter(|m| m.serves(provider)) {
            match &m.source {
                Source::FilesystemMirror(dir) => {
                    searched.push(dir.display().to_string());
                    let packages = mirror::search(dir, provider, &self.platform)
                        .map_err(|e| not_found(format!("The mirror {} cannot be read: {e}.", dir.display())))?;
                    for p in packages {
                        if !found.iter().any(|f| f.version == p.version) {
                            found.push(p);
                        }
                    }
                }
                Source::NetworkMirror(url) => searched.push(format!("{url} (network mirrors are not supported yet)")),
                Source::Direct => {
                    searched.push(format!("{} (installation from registries is not supported yet)", provider.hostname));
                }
            }
        }
        Ok((found, searched))
    }
}

fn none_acceptable(
    provider: &Provider,
    required: &Constraints,
    packages: &[Package],
    wanted: Option<&Version>,
    searched: &[String],
) -> Box<Diagnostic> {
    let mut versions: Vec<&Version> = packages.iter().map(|p| &p.version).collect();
    versions.sort();
    let offered = versions.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let want = match wanted {
        Some(w) => format!("{w}, by the lock file"),
        None if required.is_empty() => "any version".into(),
        None => required.to_string(),
    };
    let places = if searched.is_empty() { "no place (see provider_installation)".into() } else { searched.join(", ") };
    let name = provider.for_display();
    not_found(if offered.is_empty() {
        format!("No version of {name} was found. Wanted: {want}. Searched: {places}.")
    } else {
        format!(
            "None of the versions of {name} found is acceptable. Wanted: {want}. Found: {offered}. Searched: {places}."
        )
    })
}

fn not_found(detail: String) -> Box<Diagnostic> {
    Box::new(Diagnostic::error("Failed to query available provider packages", detail))
}

fn failed(detail: String) -> Box<Diagnostic> {
    Box::new(Diagnostic::error("Failed to install provider", detail))
}

/// The package is not the one that the lock file knows.
pub fn unknown_hash(provider: &Provider, version: &str, hashes: &[String]) -> Box<Diagnostic> {
    failed(format!(
        "The package of {} {version} has the hash {}, which is not one of those in the lock file. Either the package was \
         tampered with, or the lock file knows only the packages for other platforms: then add this one with \"gpuform \
         providers lock\".",
        provider.for_display(),
        hashes.join(", ")
    ))
}

/// Where installation works.
pub struct Installer<'a> {
    pub catalogue: &'a Catalogue,
    pub cli: &'a CliConfig,
    pub data_dir: &'a Path,
    /// Take the newest acceptable versions, whatever the lock file says.
    pub upgrade: bool,
    /// `-lockfile=readonly`: the lock file must know the providers, and stays as it is.
    pub readonly: bool,
}

impl Installer<'_> {
    /// Installs every provider and brings the lock file up to date. All failures are reported.
    pub fn install(&self, needed: &Requirements, lock: &mut LockFile) -> (Vec<Outcome>, Diagnostics) {
        let mut diags = Diagnostics::new();
        let mut done = Vec::new();
        let mut new = LockFile::default();
        let mut first_hashes = Vec::new();
        for (provider, required) in &needed.0 {
            if provider.is_builtin() {
                diags.extend(check_builtin(provider, required));
                continue;
            }
            let old = lock.providers.get(provider);
            if self.cli.dev_overrides.contains_key(provider) {
                new.providers.extend(old.map(|old| (provider.clone(), old.clone())));
                done.push(Outcome::Overridden { provider: provider.clone() });
                continue;
            }
            let Some((outcome, entry)) = diags.take(self.one(provider, required, old)) else { continue };
            if !old.is_some_and(|o| o.version == entry.version && !o.hashes.is_empty()) {
                first_hashes.push(provider);
            }
            new.providers.insert(provider.clone(), entry);
            done.push(outcome);
        }
        if diags.has_errors() || new.chooses_as(lock) {
            return (done, diags);
        }
        if self.readonly {
            diags.push(unsaved(&new, lock));
            return (done, diags);
        }
        if !first_hashes.is_empty() {
            diags.push(incomplete(&first_hashes));
        }
        *lock = new;
        (done, diags)
    }

    fn one(&self, provider: &Provider, required: &Constraints, old: Option<&Locked>) -> Result<(Outcome, Locked)> {
        let package = self.catalogue.choose(provider, required, old.filter(|_| !self.upgrade))?;
        let version = package.version.to_string();
        let mut hashes = old.filter(|l| l.version == version).map(|l| l.hashes.clone()).unwrap_or_default();
        let target = place_in(&folder(self.data_dir), provider, &version, &platform());
        let provider = provider.clone();
        let records = records(self.data_dir);
        let there = hash_installed(&target, &records);
        if let Some(old) = old.filter(|_| there.is_ok_and(|hash| hashes.contains(&hash))) {
            return Ok((Outcome::Reused { provider, version }, old.clone()));
        }
        let name = provider.for_display();
        let found =
            package.hashes(&records).map_err(|e| failed(format!("The package of {name} cannot be read: {e}.")))?;
        if !fits(&found, &hashes) {
            return Err(unknown_hash(&provider, &version, &found));
        }
        self.place(&package, &provider, &found, &target)
            .map_err(|e| failed(format!("Version {version} of {name} cannot be installed: {e}.")))?;
        hashes.extend(found.into_iter().filter(|h| h.starts_with("h1:")));
        let locked = Locked { version: version.clone(), constraints: required.to_string(), hashes };
        Ok((Outcome::Installed { provider, version }, locked))
    }

    /// Installs by way of the cache that several working directories share, if there is one.
    fn place(&self, package: &Package, provider: &Provider, hashes: &[String], target: &Path) -> std::io::Result<()> {
        let Some(cache) = &self.cli.plugin_cache_dir else { return package.install(target) };
        let shared = place_in(cache, provider, &package.version.to_string(), &platform());
        if !hash_installed(&shared, &records(self.data_dir)).is_ok_and(|hash| hashes.contains(&hash)) {
            package.install(&shared)?;
        }
        link_to(&shared, target)
    }
}

/// What is wrong with the requirement of a provider that is part of the program.
fn check_builtin(provider: &Provider, required: &Constraints) -> Option<Diagnostic> {
    let detail = if &*provider.ty != "terraform" {
        format!("There is no built-in provider {provider}; the only one is terraform.io/builtin/terraform.")
    } else if !required.is_empty() {
        format!("{provider} is part of gpuform: no version of it can be required.")
    } else {
        return None;
    };
    Some(Diagnostic::error("Invalid dependency on built-in provider", detail))
}

/// The lock file may not be changed, but would have to be.
fn unsaved(new: &LockFile, old: &LockFile) -> Diagnostic {
    if new.providers.keys().eq(old.providers.keys()) {
        return Diagnostic::warning(
            "Provider lock file not updated",
            "There is something to add to the lock file, which -lockfile=readonly protects. Run init without it to record \
             that.",
        );
    }
    Diagnostic::error(
        "Provider dependency changes detected",
        "The providers that the configuration needs are not those of the lock file, which -lockfile=readonly protects. Run \
         init without it and commit the lock file.",
    )
}

fn incomplete(providers: &[&Provider]) -> Diagnostic {
    let names: Vec<String> = providers.iter().map(|p| p.for_display()).collect();
    Diagnostic::warning(
        "Incomplete lock file information for providers",
        format!(
            "For these providers the lock file knows the package for {} alone, since they do not come from their registry:\n  - \
             {}\n\nBefore the configuration is used on another platform, add its packages with \"gpuform providers lock \
             -platform=…\".",
            platform(),
            names.join("\n  - ")
        ),
    )
}

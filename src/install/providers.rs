//! Providers: choosing versions, installing packages into `.terraform/providers`, and finding the executables again.

use crate::addr::Provider;
use crate::config::version::{Constraints, Version};
use crate::diag::{Diagnostic, Diagnostics, Result};
use crate::install::cli_config::{CliConfig, Method, Source};
use crate::install::lock_file::{LockFile, Locked};
use base64::Engine as _;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The platform part of package names, e.g. `linux_amd64`.
pub fn platform() -> String {
    let arch = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "x86" => "386",
        other => other,
    };
    let os = match std::env::consts::OS {
        "macos" => "darwin",
        other => other,
    };
    format!("{os}_{arch}")
}

/// Which provider versions a configuration accepts.
#[derive(Clone, Default, Debug)]
pub struct Requirements(pub BTreeMap<Provider, Required>);

#[derive(Clone, Default, Debug)]
pub struct Required {
    pub constraints: Constraints,
    /// As written, for the lock file.
    pub texts: BTreeSet<String>,
}

/// A package that can be installed.
#[derive(Clone, PartialEq, Debug)]
struct Package {
    version: Version,
    /// A directory with the executable, or a zip archive.
    location: PathBuf,
}

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

/// The directory under which packages are installed.
pub fn folder(data_dir: &Path) -> PathBuf {
    data_dir.join("providers")
}

fn package_folder(root: &Path, provider: &Provider, version: &str) -> PathBuf {
    root.join(&*provider.hostname).join(&*provider.namespace).join(&*provider.ty).join(version).join(platform())
}

/// The places that are searched where the CLI configuration names none.
fn usual_methods(root: &Path, home: Option<&Path>) -> Vec<Method> {
    let places = [Some(root.join("terraform.d/plugins")), home.map(|h| h.join(".terraform.d/plugins"))];
    let mirrors = places.into_iter().flatten().filter(|p| p.is_dir()).map(Source::FilesystemMirror);
    mirrors.chain([Source::Direct]).map(|source| Method { source, include: Vec::new(), exclude: Vec::new() }).collect()
}

/// Where installation works.
pub struct Installer<'a> {
    /// The root module's directory.
    pub root: &'a Path,
    pub data_dir: &'a Path,
    pub home: Option<&'a Path>,
    pub cli: &'a CliConfig,
    /// Take the newest acceptable versions, whatever the lock file says.
    pub upgrade: bool,
    /// `-lockfile=readonly`: the choice must be the one in the lock file.
    pub readonly: bool,
}

impl Installer<'_> {
    /// Installs every provider and brings the lock file up to date. All failures are reported.
    pub fn install(&self, needed: &Requirements, lock: &mut LockFile) -> (Vec<Outcome>, Diagnostics) {
        let mut diags = Diagnostics::new();
        let mut done = Vec::new();
        let methods = self.cli.methods.clone().unwrap_or_else(|| usual_methods(self.root, self.home));
        let mut new = LockFile::default();
        for (provider, required) in &needed.0 {
            if provider.is_builtin() {
                continue;
            }
            if self.cli.dev_overrides.contains_key(provider) {
                if let Some(old) = lock.providers.get(provider) {
                    new.providers.insert(provider.clone(), old.clone());
                }
                done.push(Outcome::Overridden { provider: provider.clone() });
                continue;
            }
            let locked = lock.providers.get(provider).filter(|_| !self.upgrade);
            match self.one(provider, required, locked, &methods) {
                Ok((outcome, entry)) => {
                    new.providers.insert(provider.clone(), entry);
                    done.push(outcome);
                }
                Err(d) => diags.push(d),
            }
        }
        if !diags.has_errors() {
            if self.readonly && new != *lock {
                diags.error(
                    "Provider dependency changes detected",
                    "The providers that the configuration needs are not those of the lock file, which -lockfile=readonly \
                     protects. Run init without it and commit the lock file.",
                    None,
                );
            } else {
                *lock = new;
            }
        }
        (done, diags)
    }

    fn one(
        &self,
        provider: &Provider,
        required: &Required,
        locked: Option<&Locked>,
        methods: &[Method],
    ) -> Result<(Outcome, Locked)> {
        if let Some(l) = locked {
            let fits = l.version.parse::<Version>().is_ok_and(|v| required.constraints.allow(&v));
            if !fits {
                return Err(failed(
                    provider,
                    format!(
                        "The lock file says version {}, which the configuration does not accept any more ({}). Run init \
                         with -upgrade to choose again.",
                        l.version,
                        described(required)
                    ),
                ));
            }
        }
        let (packages, searched) = self.available(provider, methods)?;
        let wanted = locked.and_then(|l| l.version.parse::<Version>().ok());
        let chosen = packages
            .iter()
            .filter(|p| match &wanted {
                Some(w) => p.version == *w,
                None => required.constraints.allow(&p.version) && (!p.version.is_pre_release() || pinned(required)),
            })
            .max_by(|a, b| a.version.cmp(&b.version));
        let Some(package) = chosen else {
            return Err(self.none_found(provider, required, &packages, wanted.as_ref(), &searched));
        };
        let version = package.version.to_string();
        let target = package_folder(&folder(self.data_dir), provider, &version);
        let reused = target.exists() && locked.is_some();
        if !reused {
            place(package, &target)
                .map_err(|e| failed(provider, format!("Version {version} cannot be installed: {e}.")))?;
        }
        let hash = hash_folder(&target).map_err(|e| failed(provider, format!("The package cannot be read: {e}.")))?;
        let known = locked.map(|l| l.hashes.clone()).unwrap_or_default();
        if known.iter().any(|h| h.starts_with("h1:")) && !known.contains(&hash) {
            return Err(failed(
                provider,
                format!(
                    "The package of version {version} has the hash {hash}, which is not among those in the lock file. \
                     Either the package was tampered with, or it is of another platform: then add its hash with \"providers \
                     lock\"."
                ),
            ));
        }
        let mut hashes = known;
        hashes.insert(hash);
        let constraints = required.texts.iter().cloned().collect::<Vec<_>>().join(", ");
        let provider = provider.clone();
        let outcome = if reused {
            Outcome::Reused { provider, version: version.clone() }
        } else {
            Outcome::Installed { provider, version: version.clone() }
        };
        Ok((outcome, Locked { version, constraints, hashes }))
    }

    /// All versions that the methods offer, and where was searched.
    fn available(&self, provider: &Provider, methods: &[Method]) -> Result<(Vec<Package>, Vec<String>)> {
        let mut found: Vec<Package> = Vec::new();
        let mut searched = Vec::new();
        for m in methods.iter().filter(|m| m.serves(provider)) {
            match &m.source {
                Source::FilesystemMirror(dir) => {
                    searched.push(dir.display().to_string());
                    let packages = mirror(dir, provider)
                        .map_err(|e| failed(provider, format!("The mirror {} cannot be read: {e}.", dir.display())))?;
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

    fn none_found(
        &self,
        provider: &Provider,
        required: &Required,
        packages: &[Package],
        wanted: Option<&Version>,
        searched: &[String],
    ) -> Box<Diagnostic> {
        let mut versions: Vec<&Version> = packages.iter().map(|p| &p.version).collect();
        versions.sort();
        let offered = versions.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let want = wanted.map_or_else(|| described(required), |w| format!("{w}, by the lock file"));
        let places =
            if searched.is_empty() { "no place (see provider_installation)".into() } else { searched.join(", ") };
        let detail = if offered.is_empty() {
            format!("No version of {} was found. Wanted: {want}. Searched: {places}.", provider.for_display())
        } else {
            format!(
                "None of the versions of {} found is acceptable. Wanted: {want}. Found: {offered}. Searched: {places}.",
                provider.for_display()
            )
        };
        Box::new(Diagnostic::error("Failed to query available provider packages", detail))
    }
}

/// Pre-releases are chosen only where exactly one is asked for.
fn pinned(required: &Required) -> bool {
    required.texts.iter().any(|t| t.contains('-'))
}

fn described(required: &Required) -> String {
    if required.texts.is_empty() {
        "any version".into()
    } else {
        required.texts.iter().cloned().collect::<Vec<_>>().join(", ")
    }
}

fn failed(provider: &Provider, detail: String) -> Box<Diagnostic> {
    Box::new(Diagnostic::error(format!("Failed to install provider {}", provider.for_display()), detail))
}

/// The packages of a provider in a mirror directory, unpacked
/// (`HOST/NAMESPACE/TYPE/VERSION/PLATFORM/`) or packed (`…/terraform-provider-TYPE_VERSION_PLATFORM.zip`).
fn mirror(dir: &Path, provider: &Provider) -> io::Result<Vec<Package>> {
    let base = dir.join(&*provider.hostname).join(&*provider.namespace).join(&*provider.ty);
    let entries = match fs::read_dir(&base) {
        Ok(e) => e,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(e),
    };
    let mut packages = Vec::new();
    let suffix = format!("_{}.zip", platform());
    let prefix = format!("terraform-provider-{}_", provider.ty);
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let packed = name.strip_prefix(&prefix).and_then(|n| n.strip_suffix(&suffix));
        let location = match packed {
            Some(_) => entry.path(),
            None => entry.path().join(platform()),
        };
        if let Ok(version) = packed.unwrap_or(&name).parse()
            && location.exists()
        {
            packages.push(Package { version, location });
        }
    }
    Ok(packages)
}

/// Installs a package: a directory is linked to, an archive unpacked.
fn place(package: &Package, target: &Path) -> io::Result<()> {
    if target.exists() || target.is_symlink() {
        if target.is_symlink() { fs::remove_file(target)? } else { fs::remove_dir_all(target)? }
    }
    if let Some(parent) = target.parent() {
        fs::create_dir_all(parent)?;
    }
    if package.location.is_dir() {
        return std::os::unix::fs::symlink(fs::canonicalize(&package.location)?, target);
    }
    let unfinished = target.with_extension("part");
    let _ = fs::remove_dir_all(&unfinished);
    let mut zip = zip::ZipArchive::new(fs::File::open(&package.location)?).map_err(io::Error::other)?;
    zip.extract(&unfinished).map_err(io::Error::other)?;
    fs::rename(unfinished, target)
}

/// The `h1:` hash of a package's content: SHA-256 over the sorted list of the files' hashes and names.
fn hash_folder(dir: &Path) -> io::Result<String> {
    let mut files = Vec::new();
    collect(dir, "", &mut files)?;
    files.sort();
    let mut all = Sha256::new();
    for name in files {
        let content = Sha256::digest(fs::read(dir.join(&name))?);
        let hex: String = content.iter().map(|b| format!("{b:02x}")).collect();
        all.update(format!("{hex}  {name}\n"));
    }
    Ok(format!("h1:{}", base64::engine::general_purpose::STANDARD.encode(all.finalize())))
}

fn collect(dir: &Path, prefix: &str, out: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(if prefix.is_empty() { dir.to_owned() } else { dir.join(prefix) })? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
        if fs::metadata(entry.path())?.is_dir() { collect(dir, &path, out)? } else { out.push(path) }
    }
    Ok(())
}

/// What is installed, for starting providers.
#[derive(Clone, Default, Debug)]
pub struct Installed {
    pub overrides: BTreeMap<Provider, PathBuf>,
    pub folder: PathBuf,
    pub lock: LockFile,
}

impl Installed {
    /// The executable of a provider.
    ///
    /// # Errors
    /// It is not installed, or not as the lock file says.
    pub fn executable(&self, provider: &Provider) -> std::result::Result<PathBuf, Diagnostics> {
        if let Some(dir) = self.overrides.get(provider) {
            return find_executable(dir, provider).map_err(|e| {
                let detail = format!("The CLI configuration overrides {provider} by {}: {e}.", dir.display());
                Diagnostic::error("Provider executable not found", detail).into()
            });
        }
        let Some(locked) = self.lock.providers.get(provider) else {
            return Err(missing(provider, "it is not in the lock file"));
        };
        let dir = package_folder(&self.folder, provider, &locked.version);
        find_executable(&dir, provider).map_err(|e| missing(provider, &format!("version {}: {e}", locked.version)))
    }

    /// The providers of `needed` that are not installed.
    pub fn missing<'a>(&self, needed: impl Iterator<Item = &'a Provider>) -> Vec<&'a Provider> {
        needed.filter(|p| !p.is_builtin() && self.executable(p).is_err()).collect()
    }
}

fn missing(provider: &Provider, why: &str) -> Diagnostics {
    Diagnostic::error(
        "Required plugins are not installed",
        format!("The provider {} is needed, but {why}. Run \"gpuform init\".", provider.for_display()),
    )
    .into()
}

fn find_executable(dir: &Path, provider: &Provider) -> std::result::Result<PathBuf, String> {
    let prefix = format!("terraform-provider-{}", provider.ty);
    if dir.is_file() {
        return Ok(dir.to_owned());
    }
    let entries = fs::read_dir(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let mut names: Vec<PathBuf> = entries
        .filter_map(|e| Some(e.ok()?.path()))
        .filter(|p| {
            let name = p.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
            let rest = name.strip_prefix(&prefix);
            rest.is_some_and(|r| r.is_empty() || r.starts_with('_') || r == ".exe") && p.is_file()
        })
        .collect();
    names.sort();
    names.pop().ok_or_else(|| format!("there is no file {prefix} in {}", dir.display()))
}

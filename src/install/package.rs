//! A provider package: a directory with the executable in it, or a zip archive of one. Its hashes, putting it where it
//! is used from, and finding the executable in it.

use crate::addr::Provider;
use crate::config::version::Version;
use base64::Engine as _;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

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

/// Where a package is within a folder of unpacked packages: `HOST/NAMESPACE/TYPE/VERSION/PLATFORM`.
pub fn place_in(folder: &Path, provider: &Provider, version: &str, platform: &str) -> PathBuf {
    folder.join(&*provider.hostname).join(&*provider.namespace).join(&*provider.ty).join(version).join(platform)
}

/// A package that can be installed.
#[derive(Clone, PartialEq, Debug)]
pub struct Package {
    pub version: Version,
    /// A directory, or a zip archive.
    pub location: PathBuf,
}

impl Package {
    /// The hashes by which lock files may know the package: `h1:` of the content, for an archive `zh:` of itself too.
    /// `records` as for [`hash_installed`].
    ///
    /// # Errors
    /// It cannot be read.
    pub fn hashes(&self, records: &Path) -> io::Result<Vec<String>> {
        if self.location.is_dir() {
            return Ok(vec![hash_installed(&self.location, records)?]);
        }
        let archive = format!("zh:{}", hex(&hash_of(&mut fs::File::open(&self.location)?)?));
        Ok(vec![hash_archive(&self.location)?, archive])
    }

    /// Puts the package at `target`, in place of what is there: a directory is linked to, an archive unpacked.
    ///
    /// # Errors
    /// The package cannot be read or the target not be written.
    pub fn install(&self, target: &Path) -> io::Result<()> {
        make_room(target)?;
        if self.location.is_dir() {
            return link(&self.location, target);
        }
        let unfinished = target.with_extension("part");
        let _ = fs::remove_dir_all(&unfinished);
        let mut zip = zip::ZipArchive::new(fs::File::open(&self.location)?).map_err(io::Error::other)?;
        zip.extract(&unfinished).map_err(io::Error::other)?;
        fs::rename(unfinished, target)
    }
}

/// Makes `target` a link to a directory, in place of what is there.
///
/// # Errors
/// It cannot be written.
pub fn link_to(directory: &Path, target: &Path) -> io::Result<()> {
    make_room(target)?;
    link(directory, target)
}

fn link(directory: &Path, target: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(fs::canonicalize(directory)?, target)
}

fn make_room(target: &Path) -> io::Result<()> {
    if target.is_symlink() {
        fs::remove_file(target)?;
    } else if target.exists() {
        fs::remove_dir_all(target)?;
    }
    target.parent().map_or(Ok(()), fs::create_dir_all)
}

/// Whether a package with these hashes may be what a lock file knows. Only hashes of the same kind can be compared;
/// where there are none, nothing speaks against the package.
pub fn fits(hashes: &[String], known: &BTreeSet<String>) -> bool {
    let kind = |h: &str| h.split(':').next().map(str::to_owned);
    let comparable = known.iter().any(|k| hashes.iter().any(|h| kind(h) == kind(k)));
    !comparable || hashes.iter().any(|h| known.contains(h))
}

// ---- hashes

/// The `h1:` hash of a directory: SHA-256 over the sorted list of the files' hashes and names.
fn hash_directory(dir: &Path) -> io::Result<String> {
    let mut files = BTreeMap::new();
    for name in list(dir)?.into_keys() {
        let hash = hash_of(&mut fs::File::open(dir.join(&name))?)?;
        files.insert(name, hash);
    }
    Ok(hash_list(&files))
}

/// The `h1:` hash that the archive's content will have when it is unpacked.
fn hash_archive(path: &Path) -> io::Result<String> {
    let mut zip = zip::ZipArchive::new(fs::File::open(path)?).map_err(io::Error::other)?;
    let mut files = BTreeMap::new();
    for i in 0..zip.len() {
        let mut file = zip.by_index(i).map_err(io::Error::other)?;
        if file.is_file() {
            let name = file.name().map_err(io::Error::other)?.into_owned();
            files.insert(name, hash_of(&mut file)?);
        }
    }
    Ok(hash_list(&files))
}

fn hash_list(files: &BTreeMap<String, Vec<u8>>) -> String {
    let mut all = Sha256::new();
    for (name, hash) in files {
        all.update(format!("{}  {name}\n", hex(hash)));
    }
    format!("h1:{}", base64::engine::general_purpose::STANDARD.encode(all.finalize()))
}

fn hash_of(content: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 18];
    loop {
        match content.read(&mut buffer)? {
            0 => return Ok(hash.finalize().to_vec()),
            n => hash.update(buffer.get(..n).unwrap_or_default()),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// Size in bytes and time of change in nanoseconds since 1970 of each file in a directory, by its name with slashes.
type Listing = BTreeMap<String, (u64, u64)>;

fn list(dir: &Path) -> io::Result<Listing> {
    fn collect(dir: &Path, prefix: &str, out: &mut Listing) -> io::Result<()> {
        for entry in fs::read_dir(dir)? {
            let path = entry?.path();
            let name = format!("{prefix}{}", path.file_name().unwrap_or_default().to_string_lossy());
            let metadata = fs::metadata(&path)?;
            if metadata.is_dir() {
                collect(&path, &format!("{name}/"), out)?;
            } else {
                let modified = metadata.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
                out.insert(name, (metadata.len(), u64::try_from(modified.as_nanos()).unwrap_or(u64::MAX)));
            }
        }
        Ok(())
    }
    let mut out = Listing::new();
    collect(dir, "", &mut out)?;
    Ok(out)
}

/// What a directory looked like when it was hashed.
#[derive(Serialize, Deserialize)]
struct Record {
    files: Listing,
    hash: String,
}

/// The `h1:` hash of an installed package. Packages can have hundreds of megabytes, so one whose files have the sizes
/// and times of change that they had the last time is not read again: `records` is a folder for what was seen.
///
/// # Errors
/// The package cannot be read.
pub fn hash_installed(dir: &Path, records: &Path) -> io::Result<String> {
    let dir = fs::canonicalize(dir)?;
    let files = list(&dir)?;
    let name = hex(&Sha256::digest(dir.as_os_str().as_encoded_bytes()));
    let path = records.join(name).with_extension("json");
    let before = fs::read(&path).ok().and_then(|text| serde_json::from_slice::<Record>(&text).ok());
    if let Some(before) = before.filter(|b| b.files == files) {
        return Ok(before.hash);
    }
    let hash = hash_directory(&dir)?;
    let record = Record { files, hash: hash.clone() };
    if let Ok(text) = serde_json::to_vec(&record) {
        // Without the record the next command only takes longer.
        let _ = crate::state::backend::local::replace_file(&path, &text, None);
    }
    Ok(hash)
}

// ---- the executable

/// The executable in an unpacked package; a path to a file is taken as it is.
///
/// # Errors
/// There is none.
pub fn executable(dir: &Path, provider: &Provider) -> Result<PathBuf, String> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    /// The hash is what `terraform init` wrote for a package with the same two files.
    const HASH: &str = "h1:yp9x5KE7E+MwwCGsf381rSN5PEqlA00al8WI8Hj2rDw=";

    fn unpacked() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("docs")).unwrap();
        fs::write(dir.path().join("docs/x.md"), "x\n").unwrap();
        fs::write(dir.path().join("terraform-provider-null_v3.1.0"), "hello\n").unwrap();
        dir
    }

    fn packed(dir: &Path) -> Package {
        let location = dir.join("p.zip");
        let mut zip = zip::ZipWriter::new(fs::File::create(&location).unwrap());
        let options = zip::write::SimpleFileOptions::default();
        zip.add_directory("docs/", options).unwrap();
        for (name, text) in [("docs/x.md", "x\n"), ("terraform-provider-null_v3.1.0", "hello\n")] {
            zip.start_file(name, options).unwrap();
            zip.write_all(text.as_bytes()).unwrap();
        }
        zip.finish().unwrap();
        Package { version: "3.1.0".parse().unwrap(), location }
    }

    #[test]
    fn a_package_has_the_same_hash_packed_and_unpacked() {
        let dir = unpacked();
        assert_eq!(hash_directory(dir.path()).unwrap(), HASH);
        let elsewhere = tempfile::tempdir().unwrap();
        let package = packed(elsewhere.path());
        let hashes = package.hashes(elsewhere.path()).unwrap();
        assert_eq!(hashes.first().map(String::as_str), Some(HASH));
        assert!(hashes.iter().any(|h| h.starts_with("zh:")));
        let target = elsewhere.path().join("a/b");
        package.install(&target).unwrap();
        assert_eq!(hash_directory(&target).unwrap(), HASH);
    }

    #[test]
    fn a_changed_file_is_hashed_again() {
        let (dir, records) = (unpacked(), tempfile::tempdir().unwrap());
        assert_eq!(hash_installed(dir.path(), records.path()).unwrap(), HASH);
        assert_eq!(hash_installed(dir.path(), records.path()).unwrap(), HASH);
        fs::write(dir.path().join("docs/x.md"), "xy\n").unwrap();
        assert_ne!(hash_installed(dir.path(), records.path()).unwrap(), HASH);
    }

    #[test]
    fn hashes_of_other_kinds_say_nothing() {
        let known = |all: &[&str]| all.iter().map(|s| (*s).to_owned()).collect::<BTreeSet<_>>();
        let ours = ["h1:a".to_owned()];
        assert!(fits(&ours, &known(&[])) && fits(&ours, &known(&["zh:b"])) && fits(&ours, &known(&["h1:b", "h1:a"])));
        assert!(!fits(&ours, &known(&["h1:b"])) && !fits(&ours, &known(&["h1:b", "zh:a"])));
    }
}

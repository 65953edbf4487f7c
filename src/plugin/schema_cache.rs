//! Schemas on disk, so that a command which only needs to know them starts no process.
//!
//! One file per executable content, named by its SHA-256, holds the provider's answer undecoded; one small file per
//! executable path says which content was seen there with which size and time of change, so that an executable of
//! hundreds of megabytes is read once. Everything here can be deleted at any time, and whatever looks wrong is ignored.

use super::Protocol;
use flate2::Crc;
use gpuform_schema::proto::undecoded::ProviderSchema;
use prost::Message;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The first word of each schema file; another one for another format.
const FORMAT: &str = "gpuform-schema-1";
/// Schemas that nothing used for so long are deleted.
const KEPT_UNUSED: Duration = Duration::from_secs(60 * 24 * 3600);

/// A folder with cached schemas. All of it blocks.
#[derive(Clone)]
pub(super) struct SchemaCache {
    folder: PathBuf,
}

/// The SHA-256 of an executable in hexadecimal: the name of its entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Key(String);

/// What is known of the file at a path.
#[derive(Serialize, Deserialize)]
struct Seen {
    size: u64,
    /// Nanoseconds since 1970.
    modified: u64,
    sha256: String,
}

impl SchemaCache {
    pub fn new(folder: PathBuf) -> SchemaCache {
        SchemaCache { folder }
    }

    /// The key of an executable.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn key(&self, executable: &Path) -> io::Result<Key> {
        let executable = executable.canonicalize()?;
        let metadata = fs::metadata(&executable)?;
        let modified = metadata.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
        let modified = u64::try_from(modified.as_nanos()).unwrap_or(u64::MAX);
        let place =
            self.folder.join(hex(&Sha256::digest(executable.as_os_str().as_encoded_bytes()))).with_extension("path");
        let seen = fs::read(&place).ok().and_then(|text| serde_json::from_slice::<Seen>(&text).ok());
        if let Some(seen) = seen.filter(|s| s.size == metadata.len() && s.modified == modified) {
            return Ok(Key(seen.sha256));
        }
        let sha256 = hash_file(&executable)?;
        let seen = Seen { size: metadata.len(), modified, sha256: sha256.clone() };
        if let Ok(text) = serde_json::to_vec(&seen) {
            // A cache that cannot be written only costs time.
            let _ = self.write(&place, &[&text]);
        }
        Ok(Key(sha256))
    }

    /// The schemas stored under a key.
    pub fn load(&self, key: &Key) -> Option<(Protocol, ProviderSchema)> {
        let path = self.path(key);
        let content = fs::read(&path).ok()?;
        let end = content.iter().position(|b| *b == b'\n')?;
        let (header, body) = (std::str::from_utf8(content.get(..end)?).ok()?, content.get(end + 1..)?);
        let mut words = header.split(' ');
        if words.next() != Some(FORMAT) {
            return None;
        }
        let protocol = Protocol::from_number(words.next()?.parse().ok()?)?;
        if words.next()?.parse() != Ok(checksum(body)) {
            return None;
        }
        let schemas = ProviderSchema::decode(body).ok()?;
        touch(&path);
        Some((protocol, schemas))
    }

    /// Stores schemas under a key, and deletes those that have not been used for long.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn store(&self, key: &Key, protocol: Protocol, schemas: &ProviderSchema) -> io::Result<()> {
        let body = schemas.encode_to_vec();
        let header = format!("{FORMAT} {} {}\n", protocol.number(), checksum(&body));
        self.write(&self.path(key), &[header.as_bytes(), &body])?;
        self.delete_unused();
        Ok(())
    }

    fn path(&self, key: &Key) -> PathBuf {
        self.folder.join(&key.0).with_extension("schema")
    }

    /// Writes a file so that nobody ever sees half of it.
    fn write(&self, path: &Path, parts: &[&[u8]]) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let temporary = path.with_extension(format!("{}.tmp", uuid::Uuid::new_v4().simple()));
        let written =
            File::create_new(&temporary).and_then(|mut file| parts.iter().try_for_each(|p| file.write_all(p)));
        let done = written.and_then(|()| fs::rename(&temporary, path));
        if done.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        done
    }

    fn delete_unused(&self) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        for entry in entries.flatten() {
            let age = entry.metadata().and_then(|m| m.modified()).ok().and_then(|t| t.elapsed().ok());
            if age.is_some_and(|age| age > KEPT_UNUSED) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// Notes that an entry was used, at most once a day.
fn touch(path: &Path) {
    let Ok(file) = File::options().append(true).open(path) else { return };
    let age = file.metadata().and_then(|m| m.modified()).ok().and_then(|t| t.elapsed().ok());
    if age.is_some_and(|age| age > Duration::from_secs(24 * 3600)) {
        let _ = file.set_modified(SystemTime::now());
    }
}

fn checksum(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

fn hash_file(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex(&hash.finalize())),
            n => hash.update(buffer.get(..n).unwrap_or_default()),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> ProviderSchema {
        ProviderSchema { resource_schemas: [("a".to_owned(), vec![1, 2, 3])].into(), ..ProviderSchema::default() }
    }

    #[test]
    fn schemas_are_found_again_until_the_executable_changes() {
        let folder = tempfile::tempdir().unwrap();
        let executable = folder.path().join("terraform-provider-x");
        fs::write(&executable, "one").unwrap();
        let cache = SchemaCache::new(folder.path().join("cache"));
        let key = cache.key(&executable).unwrap();
        assert_eq!(cache.load(&key), None);
        cache.store(&key, Protocol::V5, &example()).unwrap();
        assert_eq!(cache.load(&cache.key(&executable).unwrap()), Some((Protocol::V5, example())));

        let elsewhere = folder.path().join("copy");
        fs::copy(&executable, &elsewhere).unwrap();
        assert_eq!(cache.key(&elsewhere).unwrap(), key);

        fs::write(&executable, "two!").unwrap();
        assert_eq!(cache.load(&cache.key(&executable).unwrap()), None);
    }

    #[test]
    fn damaged_entries_are_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let cache = SchemaCache::new(folder.path().to_owned());
        let key = Key("k".into());
        cache.store(&key, Protocol::V6, &example()).unwrap();
        let path = cache.path(&key);
        let good = fs::read(&path).unwrap();
        for cut in [0, 5, good.len() - 1] {
            fs::write(&path, &good[..cut]).unwrap();
            assert_eq!(cache.load(&key), None);
        }
    }

    #[test]
    fn a_folder_that_cannot_be_written_only_costs_time() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let cache = SchemaCache::new(file.path().to_owned());
        let key = cache.key(file.path()).unwrap();
        assert!(cache.store(&key, Protocol::V6, &example()).is_err());
        assert_eq!(cache.load(&key), None);
    }
}

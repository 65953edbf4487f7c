//! States in files on this machine: `terraform.tfstate`, and `terraform.tfstate.d/NAME/terraform.tfstate` for the other
//! workspaces. A state file is replaced as a whole (written beside, made durable, renamed), and locked in a way that
//! excludes Terraform as well.
//!
//! Terraform locks the state file itself with an `fcntl` record lock and writes into it. As we put a new file in its
//! place, the new one is locked before it gets the name; a program that waits for the lock of the old one finds a text
//! there that it refuses, instead of a state that nobody sees any more.

use super::{Backend, DEFAULT_WORKSPACE, LockError, LockInfo, Snapshot, check_workspace_name};
use crate::diag::{Diagnostic, Failure, Result};
use crate::state::file::{self, Fingerprint, Stored};
use crate::state::record_lock::{try_lock, unlock};
use async_trait::async_trait;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

const STATE_FILE: &str = "terraform.tfstate";
const WORKSPACE_FOLDER: &str = "terraform.tfstate.d";

/// What is left in a file that was replaced while another program waits for its lock. Terraform shows the version.
const REPLACED: &[u8] =
    br#"{"version":4,"terraform_version":"the state was changed while this run waited for its lock: run it again"}"#;

/// Where the files are. Relative paths are relative to `folder`.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct LocalSettings {
    /// The working directory; empty for the process's own.
    pub folder: PathBuf,
    /// `path` of the backend block: the state of the default workspace.
    pub path: Option<PathBuf>,
    /// `workspace_dir` of the backend block.
    pub workspace_dir: Option<PathBuf>,
    /// `-state`: read this file, whatever the workspace.
    pub state: Option<PathBuf>,
    /// `-state-out`: write this file.
    pub state_out: Option<PathBuf>,
    pub backup: Backup,
}

/// Where the previous content of a state file is kept when it is changed.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub enum Backup {
    /// Beside it, with `.backup` at the end.
    #[default]
    Beside,
    /// Beside it, with the time (seconds since 1970) and `.backup` at the end, so that each one is kept.
    Timestamped,
    /// `-backup=PATH`
    Path(PathBuf),
    /// `-backup=-`
    Off,
}

impl Backup {
    /// The value of a `-backup` option.
    pub fn option(value: &str) -> Backup {
        match value {
            "" => Backup::Beside,
            "-" => Backup::Off,
            path => Backup::Path(path.into()),
        }
    }
}

/// The `local` backend.
#[derive(Debug)]
pub struct Local {
    settings: LocalSettings,
    locks: Mutex<BTreeMap<String, Held>>,
    /// Files whose content of before this run was kept already.
    backed_up: Mutex<BTreeSet<PathBuf>>,
}

/// A lock that we have.
#[derive(Debug)]
struct Held {
    /// The open state file; the lock lasts as long as it is open.
    file: File,
    id: String,
    path: PathBuf,
    info_path: PathBuf,
}

impl Local {
    pub fn new(settings: LocalSettings) -> Local {
        Local { settings, locks: Mutex::default(), backed_up: Mutex::default() }
    }

    /// The file that the state of a workspace is read from.
    pub fn read_path(&self, workspace: &str) -> PathBuf {
        let s = &self.settings;
        let path = match (&s.state, workspace) {
            (Some(path), _) => path.clone(),
            (None, DEFAULT_WORKSPACE) => s.path.clone().unwrap_or_else(|| STATE_FILE.into()),
            (None, name) => self.workspace_folder().join(name).join(STATE_FILE),
        };
        s.folder.join(path)
    }

    /// The file that it is written to.
    pub fn write_path(&self, workspace: &str) -> PathBuf {
        match &self.settings.state_out {
            Some(path) => self.settings.folder.join(path),
            None => self.read_path(workspace),
        }
    }

    fn workspace_folder(&self) -> PathBuf {
        let s = &self.settings;
        s.folder.join(s.workspace_dir.as_deref().unwrap_or(Path::new(WORKSPACE_FOLDER)))
    }

    /// The folder of a workspace other than the default one.
    fn named_folder(&self, name: &str) -> Result<PathBuf> {
        check_workspace_name(name)?;
        Ok(self.workspace_folder().join(name))
    }

    fn backup_path(&self, state: &Path) -> Option<PathBuf> {
        match &self.settings.backup {
            Backup::Beside => Some(with_suffix(state, ".backup")),
            Backup::Timestamped => Some(with_suffix(state, &format!(".{}.backup", jiff::Timestamp::now().as_second()))),
            Backup::Path(path) => Some(self.settings.folder.join(path)),
            Backup::Off => None,
        }
    }

    /// Keeps the content that a state file has before the first change of this run.
    fn back_up(&self, state: &Path) -> Result<()> {
        let mut done = self.backed_up.lock().unwrap_or_else(|e| e.into_inner());
        if done.contains(state) {
            return Ok(());
        }
        let Some(backup) = self.backup_path(state) else { return Ok(()) };
        let failure = |path: &Path, e: &io::Error| failure("Failed to back up the state", path, e);
        match crate::input::read(state) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(failure(state, &e)),
            Ok(bytes) if bytes.is_empty() => {}
            Ok(bytes) => replace_file(&backup, &bytes, None).map_err(|e| failure(&backup, &e))?,
        }
        done.insert(state.to_owned());
        Ok(())
    }

    fn locks(&self) -> MutexGuard<'_, BTreeMap<String, Held>> {
        self.locks.lock().unwrap_or_else(|e| e.into_inner())
    }
}

#[async_trait]
impl Backend for Local {
    fn kind(&self) -> &'static str {
        "local"
    }

    fn location(&self, workspace: &str) -> String {
        self.write_path(workspace).display().to_string()
    }

    fn journal_path(&self, workspace: &str) -> PathBuf {
        hidden_sibling(&self.write_path(workspace), ".gpuform.journal")
    }

    async fn workspaces(&self) -> Result<Vec<String>> {
        let folder = self.workspace_folder();
        let failure = |e: &io::Error| failure("Failed to list workspaces", &folder, e);
        let entries = match std::fs::read_dir(&folder) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(vec![DEFAULT_WORKSPACE.into()]),
            other => other.map_err(|e| failure(&e))?,
        };
        let mut names = BTreeSet::new();
        for entry in entries {
            let entry = entry.map_err(|e| failure(&e))?;
            if let (true, Ok(name)) = (entry.path().is_dir(), entry.file_name().into_string()) {
                names.insert(name);
            }
        }
        names.remove(DEFAULT_WORKSPACE);
        Ok(std::iter::once(DEFAULT_WORKSPACE.to_owned()).chain(names).collect())
    }

    async fn create_workspace(&self, name: &str) -> Result<()> {
        if name == DEFAULT_WORKSPACE {
            return Ok(());
        }
        let folder = self.named_folder(name)?;
        std::fs::create_dir_all(&folder).map_err(|e| failure("Failed to create the workspace", &folder, &e))
    }

    async fn delete_workspace(&self, name: &str) -> Result<()> {
        if name == DEFAULT_WORKSPACE {
            let detail = "The workspace \"default\" cannot be deleted: it always exists.";
            return Err(Box::new(Diagnostic::error("Failed to delete the workspace", detail)));
        }
        let folder = self.named_folder(name)?;
        match std::fs::remove_dir_all(&folder) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                Err(failure("Failed to delete the workspace", &folder, &e))
            }
            _ => Ok(()),
        }
    }

    async fn read(&self, workspace: &str) -> Result<Option<Stored>> {
        check_workspace_name(workspace)?;
        let path = self.read_path(workspace);
        match crate::input::read(&path) {
            Ok(bytes) => {
                let fingerprint = Fingerprint::of(&bytes);
                let state = file::read(&bytes, &path.display().to_string())?;
                Ok(state.map(|state| Stored { state, fingerprint }))
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(failure("Failed to load state", &path, &e)),
        }
    }

    fn ready(&self, workspace: &str) -> Result<()> {
        match self.backup_path(&self.write_path(workspace)).filter(|p| p.is_dir()) {
            None => Ok(()),
            Some(path) => {
                let error = io::Error::from(io::ErrorKind::IsADirectory);
                Err(failure("Failed to back up the state", &path, &error))
            }
        }
    }

    async fn write(&self, workspace: &str, snapshot: &Snapshot) -> Result<()> {
        let path = self.write_path(workspace);
        self.back_up(&path)?;
        let mut locks = self.locks();
        let held = locks.get_mut(workspace).filter(|h| h.path == path).map(|h| &mut h.file);
        replace_file(&path, &snapshot.bytes, held).map_err(|e| failure("Failed to save state", &path, &e))
    }

    async fn try_lock(&self, workspace: &str, info: &LockInfo) -> std::result::Result<(), LockError> {
        let path = self.write_path(workspace);
        let info_path = hidden_sibling(&path, ".lock.info");
        let failed = |path: &Path, e: &io::Error| LockError::Failed(failure("Error acquiring the state lock", path, e));
        let Some(file) = lock_file(&path).map_err(|e| failed(&path, &e))? else {
            return Err(LockError::Held(read_info(&info_path).map(Box::new)));
        };
        let info = LockInfo { path: path.display().to_string(), ..info.clone() };
        let held = Held { file, id: info.id.clone(), path, info_path };
        let text = serde_json::to_vec(&info).unwrap_or_default();
        // Whatever is there, of a run that has died, or a pipe that would block for ever, gives way.
        let _ = std::fs::remove_file(&held.info_path);
        let written = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&held.info_path)
            .and_then(|mut f| f.write_all(&text));
        if let Err(e) = written {
            let error = failed(&held.info_path, &e);
            // The lock is not taken after all; what else goes wrong while giving it back is not the point.
            let _ = held.release();
            return Err(error);
        }
        self.locks().insert(workspace.to_owned(), held);
        Ok(())
    }

    async fn unlock(&self, workspace: &str, id: &str) -> Result<()> {
        let mut locks = self.locks();
        match locks.remove(workspace) {
            Some(held) if held.id == id => {
                let path = held.path.clone();
                held.release().map_err(|e| failure("Failed to unlock the state", &path, &e))
            }
            other => {
                locks.extend(other.map(|held| (workspace.to_owned(), held)));
                Err(Box::new(Diagnostic::error(
                    "Failed to unlock the state",
                    format!("This run does not have the lock {id}."),
                )))
            }
        }
    }

    async fn force_unlock(&self, workspace: &str, id: &str) -> Result<()> {
        let path = self.write_path(workspace);
        let info_path = hidden_sibling(&path, ".lock.info");
        let refuse = |detail: String| -> Failure { Box::new(Diagnostic::error("Failed to unlock state", detail)) };
        let Some(info) = read_info(&info_path) else {
            return Err(refuse(format!("{} is not locked.", path.display())));
        };
        if info.id != id {
            return Err(refuse(format!("The lock has the ID {}, not {id}.\n{info}", info.id)));
        }
        match lock_file(&path).map_err(|e| failure("Failed to unlock state", &path, &e))? {
            None => Err(refuse(format!(
                "The run that has the lock is still going on, on this machine or on one that shares the folder. End that \
                 run; its lock ends with it.\n{info}"
            ))),
            Some(file) => Held { file, id: info.id, path: path.clone(), info_path }
                .release()
                .map_err(|e| failure("Failed to unlock state", &path, &e)),
        }
    }
}

impl Held {
    /// Gives the lock back, and removes a state file that exists only because it had to be locked.
    fn release(self) -> io::Result<()> {
        let cleaned = self.clean_up();
        unlock(&self.file)?;
        cleaned
    }

    fn clean_up(&self) -> io::Result<()> {
        let gone = |result: io::Result<()>| match result {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        };
        gone(std::fs::remove_file(&self.info_path))?;
        if self.file.metadata()?.len() == 0 && is_at(&self.file, &self.path)? {
            gone(std::fs::remove_file(&self.path))?;
        }
        Ok(())
    }
}

/// Opens the state file (which is created, empty, if there is none) and locks it; `None` if somebody else has the lock.
fn lock_file(path: &Path) -> io::Result<Option<File>> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    loop {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        if !try_lock(&file)? {
            return Ok(None);
        }
        // Whoever had it may have put another file in its place meanwhile.
        if is_at(&file, path)? {
            return Ok(Some(file));
        }
        unlock(&file)?;
    }
}

fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let ours = file.metadata()?;
    match std::fs::metadata(path) {
        Ok(m) => Ok((m.dev(), m.ino()) == (ours.dev(), ours.ino())),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(e),
    }
}

fn read_info(path: &Path) -> Option<LockInfo> {
    serde_json::from_slice(&crate::input::read(path).ok()?).ok()
}

/// Puts a file with new content in place of `path`, whole or not at all, and makes that durable. Follows symbolic
/// links and keeps mode and owner. If `held` is the locked file that has the name now, it becomes the new one, locked.
pub fn replace_file(path: &Path, bytes: &[u8], held: Option<&mut File>) -> io::Result<()> {
    let path = &follow_links(path)?;
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let prefix = hidden_name(path, ".");
    let before = std::fs::metadata(path).ok();
    let mut new = tempfile::Builder::new()
        .prefix(&prefix)
        .suffix(".tmp")
        .make_in(folder, |p| OpenOptions::new().read(true).write(true).create_new(true).mode(0o666).open(p))?;
    let file = new.as_file_mut();
    if let Some(before) = &before {
        file.set_permissions(before.permissions())?;
        let ours = file.metadata()?;
        if (ours.uid(), ours.gid()) != (before.uid(), before.gid()) {
            // Only a privileged process may; for others the file becomes their own, as any file they write does.
            let _ = std::os::unix::fs::fchown(&*file, Some(before.uid()), Some(before.gid()));
        }
    }
    file.write_all(bytes)?;
    file.sync_all()?;
    if held.is_some() && !try_lock(file)? {
        return Err(io::Error::other("the new file is locked by another program"));
    }
    let file = new.persist(path).map_err(|e| e.error)?;
    File::open(folder)?.sync_all()?;
    if let Some(held) = held {
        let mut old = std::mem::replace(held, file);
        // A program may be waiting for the lock of the old file. Other names of it keep their content.
        if old.metadata()?.nlink() == 0 {
            old.set_len(0)?;
            io::Seek::rewind(&mut old)?;
            old.write_all(REPLACED)?;
        }
        unlock(&old)?;
    }
    Ok(())
}

/// The file that a chain of symbolic links ends at, whether it exists or not.
fn follow_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..40 {
        match std::fs::read_link(&path) {
            Ok(target) => path = path.parent().map_or_else(|| target.clone(), |folder| folder.join(&target)),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn hidden_name(path: &Path, suffix: &str) -> OsString {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(suffix);
    name
}

/// `.NAME.SUFFIX` in the folder of `path`.
fn hidden_sibling(path: &Path, suffix: &str) -> PathBuf {
    path.with_file_name(hidden_name(path, suffix))
}

fn failure(summary: &str, path: &Path, e: &io::Error) -> Failure {
    let advice = match e.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => " Free some space and try again.",
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            " Files are replaced as a whole, so the folder must be writable too."
        }
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
            " Something in the path is a file, not a folder."
        }
        io::ErrorKind::IsADirectory => " A file is needed, but this is a folder.",
        _ => "",
    };
    Box::new(Diagnostic::error(summary, format!("{}: {e}.{advice}", path.display())))
}

#[cfg(test)]
mod tests;

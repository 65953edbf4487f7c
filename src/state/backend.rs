//! Backends: where states are kept, one file per kind. A backend reads, writes and locks the state of a workspace;
//! what is in it, and the order of steps that loses nothing, is the business of [`super::store`].

pub mod local;

use super::State;
use super::file::{self, Fingerprint, Stored, TERRAFORM_VERSION};
use super::model::new_lineage;
use crate::diag::{Diagnostic, Failure, Result};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The workspace that always exists.
pub const DEFAULT_WORKSPACE: &str = "default";

/// Whether a name can be that of a workspace: it becomes the name of a folder, or part of a URL.
///
/// # Errors
/// What is wrong with it.
pub fn check_workspace_name(name: &str) -> Result<()> {
    // What needs no escapes in a segment of a URL.
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.~$&+:=@".contains(c);
    if !matches!(name, "" | "." | "..") && name.chars().all(allowed) {
        return Ok(());
    }
    Err(Box::new(Diagnostic::error(
        "Invalid workspace name",
        format!(
            "{name:?} cannot be the name of a folder or part of a URL: use letters, digits, \"-\", \"_\" and \".\"."
        ),
    )))
}

/// A place for states.
#[async_trait]
pub trait Backend: Send + Sync + std::fmt::Debug {
    /// The label of the `backend` block, e.g. `local`.
    fn kind(&self) -> &'static str;

    /// Where the state of a workspace is, for messages: a path or URL.
    fn location(&self, workspace: &str) -> String;

    /// Where the journal of changes to a workspace's state is kept: a path on this machine.
    fn journal_path(&self, workspace: &str) -> PathBuf;

    /// The names of all workspaces: `default` first, the others sorted.
    async fn workspaces(&self) -> Result<Vec<String>>;

    async fn create_workspace(&self, name: &str) -> Result<()>;

    /// Deletes a workspace with its state, whatever is in it.
    async fn delete_workspace(&self, name: &str) -> Result<()>;

    /// The state of a workspace; `None` if there is none yet.
    async fn read(&self, workspace: &str) -> Result<Option<Stored>>;

    /// Looks, before anything is done, at what [`Backend::write`] will need besides.
    ///
    /// # Errors
    /// It is in the way.
    fn ready(&self, workspace: &str) -> Result<()> {
        let _ = workspace;
        Ok(())
    }

    /// Puts a state in place of the one before, durably, whole or not at all.
    async fn write(&self, workspace: &str, snapshot: &Snapshot) -> Result<()>;

    /// Takes the lock if it is free.
    async fn try_lock(&self, workspace: &str, info: &LockInfo) -> std::result::Result<(), LockError>;

    /// Gives the lock back that was taken with this id.
    async fn unlock(&self, workspace: &str, id: &str) -> Result<()>;

    /// Removes a lock that was left behind, if it has this id.
    async fn force_unlock(&self, workspace: &str, id: &str) -> Result<()>;
}

/// A state in the form in which it will be stored.
#[derive(Clone, PartialEq, Debug)]
pub struct Snapshot {
    pub stored: Stored,
    /// The text of the state file.
    pub bytes: Vec<u8>,
}

impl Snapshot {
    /// What to store after `previous`: the same lineage, the next serial. `None` if nothing has changed.
    ///
    /// # Errors
    /// An output whose value cannot be stored.
    pub fn next(state: &State, previous: Option<&Stored>) -> Result<Option<Snapshot>> {
        if previous.is_some_and(|p| p.state.same_content(state)) {
            return Ok(None);
        }
        let mut state = state.clone();
        if let Some(previous) = previous {
            state.lineage.clone_from(&previous.state.lineage);
        }
        state.serial = following(previous.map_or(state.serial, |p| p.state.serial))?;
        Snapshot::exactly(state).map(Some)
    }

    /// What to store for a state that has its serial and lineage already, as for `state push`.
    ///
    /// # Errors
    /// An output whose value cannot be stored.
    pub fn exactly(mut state: State) -> Result<Snapshot> {
        if state.lineage.is_empty() {
            state.lineage = new_lineage();
        }
        state.terraform_version = TERRAFORM_VERSION.to_owned();
        let bytes = file::to_bytes(&state).map_err(|e| {
            Box::new(Diagnostic::error("Failed to save state", format!("The state cannot be written down: {e}.")))
        })?;
        let fingerprint = Fingerprint::of(&bytes);
        Ok(Snapshot { stored: Stored { state, fingerprint }, bytes })
    }
}

/// The serial after another.
///
/// # Errors
/// There is none.
pub fn following(serial: u64) -> Result<u64> {
    serial.checked_add(1).ok_or_else(|| {
        Box::new(Diagnostic::error(
            "Failed to save state",
            format!("The state has the serial {serial}, after which there is none. Correct the number in the state."),
        ))
    })
}

/// Who holds a lock, and what for: the JSON of Terraform's lock information.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize, Debug)]
#[serde(rename_all = "PascalCase", default)]
pub struct LockInfo {
    #[serde(rename = "ID")]
    pub id: String,
    /// E.g. `OperationTypeApply`.
    pub operation: String,
    /// Anything else that helps people.
    pub info: String,
    /// `USER@HOST`
    pub who: String,
    /// The version of the program.
    pub version: String,
    /// RFC 3339 with nanoseconds.
    pub created: String,
    /// Of the state, as the backend names it.
    pub path: String,
}

impl LockInfo {
    /// A lock with a new id, taken now. The backend fills in the path.
    pub fn new(operation: &str, who: &str) -> LockInfo {
        LockInfo {
            id: uuid::Uuid::new_v4().to_string(),
            operation: operation.to_owned(),
            who: who.to_owned(),
            version: TERRAFORM_VERSION.to_owned(),
            created: jiff::Timestamp::now().to_string(),
            ..LockInfo::default()
        }
    }
}

impl std::fmt::Display for LockInfo {
    /// The block that people and tools look for the id in.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let LockInfo { id, operation, info, who, version, created, path } = self;
        write!(
            f,
            "Lock Info:\n  ID:        {id}\n  Path:      {path}\n  Operation: {operation}\n  Who:       {who}\n  \
             Version:   {version}\n  Created:   {created}\n  Info:      {info}\n"
        )
    }
}

/// Why a lock was not taken.
#[derive(Debug)]
pub enum LockError {
    /// Somebody has it, and may give it back.
    Held(Option<Box<LockInfo>>),
    /// It will not work later either.
    Failed(Failure),
}

impl From<LockError> for Failure {
    fn from(e: LockError) -> Failure {
        let held = match e {
            LockError::Failed(d) => return d,
            LockError::Held(Some(info)) => format!("The state is locked by another run.\n{info}"),
            LockError::Held(None) => {
                "The state is locked by another run, which left no information about itself.".into()
            }
        };
        Box::new(Diagnostic::error(
            "Error acquiring the state lock",
            format!(
                "{held}\nThe lock keeps two runs from changing the same state at once. Wait for the other run to end (with \
                 -lock-timeout=5m this run waits by itself). Only if it has died without giving the lock back, remove \
                 the lock with \"force-unlock\" and its ID. \"-lock=false\" goes on without a lock, which can lose changes."
            ),
        ))
    }
}

/// Takes the lock, waiting up to `timeout` for whoever has it. `waiting` is called once if there is something to wait
/// for.
///
/// # Errors
/// The lock is held still, or cannot be taken at all.
pub async fn lock(
    backend: &dyn Backend,
    workspace: &str,
    info: &LockInfo,
    timeout: Duration,
    waiting: impl FnOnce(),
) -> Result<()> {
    let end = tokio::time::Instant::now() + timeout;
    let mut waiting = Some(waiting);
    let mut pause = Duration::from_millis(50);
    loop {
        match backend.try_lock(workspace, info).await {
            Ok(()) => return Ok(()),
            Err(e @ LockError::Failed(_)) => return Err(e.into()),
            Err(e @ LockError::Held(_)) => {
                let left = end.saturating_duration_since(tokio::time::Instant::now());
                if left.is_zero() {
                    return Err(e.into());
                }
                if let Some(waiting) = waiting.take() {
                    waiting();
                }
                tokio::time::sleep(pause.min(left)).await;
                pause = (pause * 2).min(Duration::from_secs(1));
            }
        }
    }
}

/// Keeps a state that the backend did not take: writes it as `errored.tfstate` into `folder` and tells how to go on.
/// `cause` is why the backend did not take it.
pub fn save_errored(folder: &Path, snapshot: &Snapshot, cause: &Diagnostic) -> Diagnostic {
    let path = folder.join("errored.tfstate");
    let detail = match local::replace_file(&path, &snapshot.bytes, None) {
        Ok(()) => format!(
            "{}\n\nThe results of this run are not in the state, but nothing is lost: its objects are in the journal beside \
             the state, from which the next command takes them, and all of it was written to {}. Once the state can be \
             written again, store that before anything else with\n  gpuform state push {}",
            cause.detail,
            path.display(),
            path.display()
        ),
        Err(e) => format!(
            "{}\n\nThe results of this run could not be written to {} either: {e}. They are still in the journal beside \
             the state, from which the next command recovers them.",
            cause.detail,
            path.display()
        ),
    };
    Diagnostic { detail, ..Diagnostic::error("Failed to persist state to backend", "") }
}

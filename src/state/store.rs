//! One workspace's state during a command: locked, read, recovered from a journal if a run before was interrupted,
//! journaled while it changes, and saved. The steps are in the one order in which a crash at any moment loses nothing;
//! commands use this and never a backend or a journal file directly.

use super::State;
use super::backend::{Backend, LockInfo, Snapshot, check_workspace_name, following, lock};
use super::file::{Fingerprint, Stored};
use super::journal::{Intent, Journal, Recovery, recover};
use crate::diag::{Diagnostic, Result};
use std::sync::Arc;
use std::time::Duration;

/// How to lock the state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LockRequest {
    /// What for, e.g. `OperationTypeApply`.
    pub operation: String,
    /// `USER@HOST`
    pub who: String,
    /// How long to wait for whoever has the lock.
    pub timeout: Duration,
}

/// The state of one workspace, open for a command.
#[derive(Debug)]
pub struct Store {
    backend: Arc<dyn Backend>,
    workspace: String,
    lock_id: Option<String>,
    /// As it is in the backend.
    stored: Option<Stored>,
    /// With what a journal adds to it.
    recovery: Option<Recovery>,
    /// What a new state starts from.
    empty: State,
    journal: Option<Arc<Journal>>,
}

impl Store {
    /// Locks (if asked to) and reads the state, and the journal of an interrupted run if there is one. `waiting` is
    /// called once if somebody else has the lock and this waits for it.
    ///
    /// # Errors
    /// The lock is not to be had, or the state or the journal cannot be read. The lock is not kept then.
    pub async fn open(
        backend: Arc<dyn Backend>,
        workspace: &str,
        request: Option<&LockRequest>,
        waiting: impl FnOnce(),
    ) -> Result<Store> {
        check_workspace_name(workspace)?;
        let mut lock_id = None;
        if let Some(request) = request {
            let info = LockInfo::new(&request.operation, &request.who);
            lock(&*backend, workspace, &info, request.timeout, waiting).await?;
            lock_id = Some(info.id);
        }
        let mut store = Store {
            backend,
            workspace: workspace.to_owned(),
            lock_id,
            stored: None,
            recovery: None,
            empty: State::new(),
            journal: None,
        };
        match store.load().await {
            Ok(()) => Ok(store),
            Err(e) => {
                // The first error is the one to report.
                let _ = store.close().await;
                Err(e)
            }
        }
    }

    async fn load(&mut self) -> Result<()> {
        self.stored = self.backend.read(&self.workspace).await?;
        if self.read_journal().is_err() && self.lock_id.is_none() {
            // Without a lock, another run may just have saved its state and ended its journal.
            self.stored = self.backend.read(&self.workspace).await?;
        }
        self.read_journal()
    }

    fn read_journal(&mut self) -> Result<()> {
        self.recovery = recover(&self.backend.journal_path(&self.workspace), self.stored.as_ref())?;
        Ok(())
    }

    pub fn backend(&self) -> &Arc<dyn Backend> {
        &self.backend
    }

    pub fn workspace(&self) -> &str {
        &self.workspace
    }

    /// The state: what is stored, with what an interrupted run has added to it.
    pub fn state(&self) -> &State {
        match (&self.recovery, &self.stored) {
            (Some(r), _) => &r.state,
            (None, Some(s)) => &s.state,
            (None, None) => &self.empty,
        }
    }

    /// Whether there is a state at all.
    pub fn exists(&self) -> bool {
        self.stored.is_some() || self.recovery.as_ref().is_some_and(|r| r.changes > 0)
    }

    /// What the journal of an interrupted run says, if there is one.
    pub fn recovery(&self) -> Option<&Recovery> {
        self.recovery.as_ref()
    }

    /// Operations of earlier runs whose effect is not known.
    pub fn pending(&self) -> &[Intent] {
        self.recovery.as_ref().map_or(&[], |r| &r.pending)
    }

    /// Stores what an interrupted run had done, so that the journal is no longer needed for it. Only with the lock.
    /// Returns how many changes were stored.
    ///
    /// # Errors
    /// The state or the journal cannot be written. Both are as before then.
    pub async fn save_recovered(&mut self) -> Result<usize> {
        let Some(recovery) = &self.recovery else { return Ok(0) };
        let (changes, state) = (recovery.changes, recovery.state.clone());
        self.commit(&state).await?;
        Ok(changes)
    }

    /// The journal for the changes of this run: a new one, or the one of before with its open operations.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn begin(&mut self) -> Result<Arc<Journal>> {
        if let Some(journal) = &self.journal {
            return Ok(journal.clone());
        }
        // What would keep the result from being stored is found before anything is done.
        self.backend.ready(&self.workspace)?;
        following(self.base().state.serial)?;
        let path = self.backend.journal_path(&self.workspace);
        let journal = match &self.recovery {
            Some(recovery) => Journal::reopen(&path, recovery)?,
            None => Journal::create(&path, &self.base())?,
        };
        Ok(self.journal.insert(Arc::new(journal)).clone())
    }

    /// What the journal starts from.
    fn base(&self) -> Stored {
        let nothing = || Stored { state: self.empty.clone(), fingerprint: Fingerprint::default() };
        self.stored.clone().unwrap_or_else(nothing)
    }

    /// Stores a state if it differs from what is stored, and ends the journal. Returns whether it did differ.
    ///
    /// # Errors
    /// The backend does not take the state: use [`Store::snapshot`] with `save_errored`. The journal is kept then.
    pub async fn commit(&mut self, state: &State) -> Result<bool> {
        let snapshot = self.snapshot(state)?;
        let changed = snapshot.is_some();
        self.write_and_finish(snapshot).await?;
        Ok(changed)
    }

    async fn write_and_finish(&mut self, snapshot: Option<Snapshot>) -> Result<()> {
        if self.recovery.is_some() {
            // The journal that is there has to follow the state.
            self.begin()?;
        }
        if let Some(snapshot) = snapshot {
            self.write(&snapshot).await?;
        }
        if let Some(journal) = self.journal.take() {
            journal.finish(&self.base())?;
        }
        self.read_journal()
    }

    /// Stores a state in between, and goes on with the journal, which must have been begun.
    ///
    /// # Errors
    /// The backend does not take the state.
    pub async fn checkpoint(&mut self, state: &State) -> Result<()> {
        match self.snapshot(state)? {
            Some(snapshot) => self.write(&snapshot).await,
            None => Ok(()),
        }
    }

    /// What [`Store::commit`] would store; `None` if nothing has changed.
    ///
    /// # Errors
    /// An output whose value cannot be stored.
    pub fn snapshot(&self, state: &State) -> Result<Option<Snapshot>> {
        if self.stored.is_some() {
            return Snapshot::next(state, self.stored.as_ref());
        }
        let mut state = state.clone();
        state.lineage.clone_from(&self.state().lineage);
        Snapshot::next(&state, None)
    }

    async fn write(&mut self, snapshot: &Snapshot) -> Result<()> {
        if let Some(journal) = &self.journal {
            journal.saving(&snapshot.stored).await?;
        }
        self.backend.write(&self.workspace, snapshot).await?;
        self.stored = Some(snapshot.stored.clone());
        Ok(())
    }

    /// Puts another state in place of the stored one, as `state push` does. What an interrupted run had done is stored
    /// first. Returns whether anything was changed.
    ///
    /// # Errors
    /// Unless `force`: the lineage is another one, or the serial is not newer. The state cannot be written.
    pub async fn push(&mut self, state: &State, force: bool) -> Result<bool> {
        let recovered = self.save_recovered().await? > 0;
        if let Some(current) = &self.stored {
            if !(force || recovered && completes(&current.state, state)) {
                check_push(&current.state, state)?;
            }
            if current.state.lineage == state.lineage && current.state.same_content(state) {
                return Ok(false);
            }
        }
        let mut state = state.clone();
        state.serial = following(state.serial)?;
        self.write_and_finish(Some(Snapshot::exactly(state)?)).await?;
        Ok(true)
    }

    /// Gives the lock back.
    ///
    /// # Errors
    /// The backend could not.
    pub async fn close(self) -> Result<()> {
        match self.lock_id {
            Some(id) => self.backend.unlock(&self.workspace, &id).await,
            None => Ok(()),
        }
    }
}

/// Whether `new` is the state of the run whose journal has just given `current`: that has its objects, but not what is
/// worked out at the end of a run.
fn completes(current: &State, new: &State) -> bool {
    let mut same = current.clone();
    same.outputs.clone_from(&new.outputs);
    same.check_results.clone_from(&new.check_results);
    (&new.lineage, new.serial) == (&current.lineage, current.serial) && new.same_content(&same)
}

/// Whether `new` may replace `current` without force.
fn check_push(current: &State, new: &State) -> Result<()> {
    let refuse = |detail: String| Err(Box::new(Diagnostic::error("Failed to write state", detail)));
    if !current.lineage.is_empty() && new.lineage != current.lineage {
        return refuse(format!(
            "The new state has the lineage \"{}\", the stored one \"{}\": they are states of different things. If it is \
             to replace the stored one all the same, use -force.",
            new.lineage, current.lineage
        ));
    }
    if new.serial < current.serial {
        return refuse(format!(
            "The stored state has serial {}, which is newer than serial {} of the new one. If the older one is to replace \
             it all the same, use -force.",
            current.serial, new.serial
        ));
    }
    if new.serial == current.serial && !new.same_content(current) {
        return refuse(format!(
            "The new state has the serial {} of the stored one, but another content. If it is to replace the stored one \
             all the same, use -force.",
            new.serial
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests;

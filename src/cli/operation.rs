//! Planning and applying as commands do it: open the project and its state, plan, show, ask, apply, save. The steps
//! are here once; the commands differ in what they ask for.

use crate::cli::args::{Lock, Planning, StateFiles};
use crate::cli::context::Context;
use crate::cli::project::Project;
use crate::cli::view::{Kind, Next, OperationView};
use crate::cli::{Exit, FAILED, OK};
use crate::config::model::Config;
use crate::diag::{self, Diagnostic, Diagnostics};
use crate::engine::plan::{Plan, PlanMode};
use crate::engine::plan_file::{self, SavedPlan};
use crate::engine::{self, PlanOptions, Session};
use crate::install::lock_file;
use crate::state::backend::save_errored;
use crate::state::store::{LockRequest, Store};
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A state opened for a command, and what to do with it.
pub struct Operation<'a> {
    pub cx: &'a Context,
    pub view: Arc<dyn OperationView>,
    pub project: Project,
}

/// How a plan is confirmed.
pub enum Approval {
    /// `-auto-approve`
    Given,
    /// Ask on the terminal.
    Ask,
    /// Questions are not allowed.
    Impossible,
}

/// Whether `plan` reports by its exit code if there are changes.
pub struct PlanCommand<'a> {
    pub out: Option<&'a Path>,
    pub detailed_exitcode: bool,
    /// Where to write configuration of imported objects that have none.
    pub generate: Option<&'a Path>,
}

impl Operation<'_> {
    fn show(&self, diags: &Diagnostics) {
        self.view.diagnostics(diags);
    }

    fn fail(&self, diags: impl Into<Diagnostics>) -> Exit {
        self.show(&diags.into());
        FAILED
    }

    pub fn session(&self, parallelism: usize) -> Session {
        Session {
            pool: self.project.pool.clone(),
            events: self.view.clone().events(),
            stop: self.cx.stop.clone(),
            parallelism,
            place: self.cx.place(),
            substitutes: None,
        }
    }

    /// Opens the state, locked unless the user does not want that.
    pub async fn open(&self, lock: &Lock, files: &StateFiles, what: &str) -> Result<Store, Diagnostics> {
        let backend = self.project.backend(self.cx, files)?;
        let request = lock.lock.then(|| LockRequest {
            operation: what.to_owned(),
            who: self.cx.who(),
            timeout: lock.lock_timeout,
        });
        let view = self.view.clone();
        Store::open(backend, &self.cx.workspace(), request.as_ref(), move || view.waiting_for_lock())
            .await
            .map_err(Diagnostics::from)
    }

    /// Stores what an interrupted run has left, and says what is not known about it.
    async fn recover(&self, store: &mut Store, locked: bool) -> Result<(), Diagnostics> {
        if locked {
            let changes = store.save_recovered().await?;
            if changes > 0 {
                self.view.recovered(changes);
            }
        }
        crate::cli::recovery::resolve(self, store, locked).await
    }

    /// `plan`
    pub async fn plan(&self, p: &Planning, lock: &Lock, files: &StateFiles, command: PlanCommand<'_>) -> Exit {
        let mut store = match self.open(lock, files, "OperationTypePlan").await {
            Ok(s) => s,
            Err(d) => return self.fail(d),
        };
        let exit = self.plan_with(p, &mut store, lock.lock, command).await;
        self.project.pool.close().await;
        self.close(store, exit).await
    }

    async fn plan_with(&self, p: &Planning, store: &mut Store, locked: bool, command: PlanCommand<'_>) -> Exit {
        if let Err(d) = self.recover(store, locked).await {
            return self.fail(d);
        }
        let mut options = self.options(p);
        if let Some(file) = command.generate {
            if let Err(d) = self.check_generate(file, options.mode) {
                return self.fail(d);
            }
            options.generate = Some(file.to_string_lossy().into_owned());
        }
        let session = self.session(p.parallelism);
        let (plan, mut diags) = engine::plan(&session, &self.project.config, store.state(), &options).await;
        let Some(plan) = plan.filter(|_| !self.cx.stop.is_cancelled()) else { return self.fail(diags) };
        let generated = command.generate.filter(|_| !plan.generated.is_empty());
        if let Some(file) = generated {
            diags.push(Diagnostic::warning(
                "Config generation is experimental",
                "The form of generated configuration may change in later versions.",
            ));
            if let Err(d) = self.write_generated(&plan, file) {
                diags.push(d);
                return self.fail(diags);
            }
        }
        let mut saved = None;
        if let Some(out) = command.out {
            match self.save_plan(&plan, store, out) {
                Ok(()) => saved = Some(out.to_string_lossy().into_owned()),
                Err(d) => return self.fail(d),
            }
        }
        let next = match saved.as_deref() {
            _ if self.cx.env.in_automation() => Next::Unsaid,
            None => Next::Unsaved,
            Some(path) => Next::Saved(path),
        };
        self.view.plan(&plan, &self.project.config, next);
        self.show(&diags);
        if let Some(file) = generated {
            self.view.generated(&file.to_string_lossy());
        }
        if diags.has_errors() {
            FAILED
        } else if command.detailed_exitcode && (plan.has_changes() || plan.applyable()) {
            2
        } else {
            OK
        }
    }

    pub fn options(&self, p: &Planning) -> PlanOptions {
        PlanOptions {
            mode: if p.destroy {
                PlanMode::Destroy
            } else if p.refresh_only {
                PlanMode::RefreshOnly
            } else {
                PlanMode::Normal
            },
            refresh: p.refresh,
            targets: p.target.clone(),
            excludes: p.exclude.clone(),
            force_replace: p.replace.clone(),
            imports: Vec::new(),
            generate: None,
            unvalidated: false,
            variables: self.project.variables.values.clone(),
            unsuitable_variables: self.project.variables.unsuitable.clone(),
            timestamp: crate::cli::context::timestamp(),
        }
    }

    /// `-generate-config-out` is for a new file and for plans that import.
    fn check_generate(&self, file: &Path, mode: PlanMode) -> Result<(), Diagnostic> {
        if mode != PlanMode::Normal {
            return Err(Diagnostic::error(
                "Invalid generate-config-out flag",
                "Plans to destroy or only to refresh import nothing, so there is no configuration to generate.",
            ));
        }
        if std::fs::symlink_metadata(self.cx.path(file)).is_ok() {
            return Err(Diagnostic::error(
                "Target generated file already exists",
                format!(
                    "Generated configuration is written to a new file only, and {} is there already. Name another file, or \
                     move what is in this one elsewhere and delete it.",
                    file.display()
                ),
            ));
        }
        Ok(())
    }

    fn write_generated(&self, plan: &Plan, file: &Path) -> Result<(), Diagnostic> {
        let text = engine::generate::file(&plan.generated);
        let created = std::fs::OpenOptions::new().write(true).create_new(true).open(self.cx.path(file));
        created.and_then(|mut f| f.write_all(text.as_bytes())).map_err(|e| {
            Diagnostic::error(
                "Failed to create target generated file",
                format!("Generated configuration cannot be written to {}: {e}.", file.display()),
            )
        })
    }

    fn save_plan(&self, plan: &Plan, store: &Store, out: &Path) -> Result<(), Diagnostics> {
        let mut diags = Diagnostics::new();
        let lock = lock_file::read(&self.cx.path(lock_file::FILE_NAME), &self.cx.sources, &mut diags);
        if diags.has_errors() {
            return Err(diags);
        }
        let settings = plan_file::Settings {
            workspace: store.workspace().to_owned(),
            backend: self.project.backend_type(),
            backend_hash: String::new(),
            lineage: store.state().lineage.clone(),
            serial: store.state().serial,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            selections: lock.selections(),
        };
        let bytes = plan_file::write(plan, &self.project.snapshot(), &settings)?;
        let path = self.cx.path(out);
        let write = || {
            // A folder is not made for it: its name is more likely a mistake.
            path.parent().map_or(Ok(()), |folder| std::fs::metadata(folder).map(drop))?;
            crate::state::backend::local::replace_file(&path, &bytes, None)
        };
        write().map_err(|e| {
            Diagnostics::from(Diagnostic::error(
                "Failed to write plan file",
                format!("The plan could not be saved to {}: {e}.", out.display()),
            ))
        })
    }

    /// `apply`, `destroy` and `refresh` without a saved plan.
    pub async fn apply(&self, p: &Planning, lock: &Lock, files: &StateFiles, approval: Approval, kind: Kind) -> Exit {
        let mut store = match self.open(lock, files, "OperationTypeApply").await {
            Ok(s) => s,
            Err(d) => return self.fail(d),
        };
        let exit = self.apply_with(p, &mut store, lock.lock, approval, kind).await;
        self.project.pool.close().await;
        self.close(store, exit).await
    }

    async fn apply_with(&self, p: &Planning, store: &mut Store, locked: bool, approval: Approval, kind: Kind) -> Exit {
        if let Err(d) = crate::cli::recovery::refuse_unlocked(store, locked) {
            return self.fail(d);
        }
        if let Err(d) = self.recover(store, locked).await {
            return self.fail(d);
        }
        let session = self.session(p.parallelism);
        let (plan, diags) = engine::plan(&session, &self.project.config, store.state(), &self.options(p)).await;
        let Some(plan) = plan.filter(|_| !self.cx.stop.is_cancelled()) else { return self.fail(diags) };
        if diags.has_errors() && !plan.has_changes() {
            return self.fail(diags);
        }
        if kind != Kind::Refresh {
            self.view.plan(&plan, &self.project.config, Next::Apply);
        } else if store.state().is_empty() {
            let detail = "The state holds no objects, so there is nothing to refresh.";
            self.show(&Diagnostic::warning("Empty or non-existent state", detail).into());
        }
        if diags.has_errors() {
            return self.fail(diags);
        }
        let asks = plan.applyable() && matches!(approval, Approval::Ask);
        // Without a pause between plan and apply, what the checks say now would only be said again.
        let shown = diags.into_iter().filter(|d| asks || d.kind != diag::Kind::CheckAssertion);
        self.show(&shown.collect());
        if plan.applyable() {
            match approval {
                Approval::Given => {}
                Approval::Impossible => {
                    return self.fail(Diagnostic::error(
                        "Approval needed",
                        "Nothing was changed: the plan has to be approved, but questions are switched off (-input=false). Use \
                         -auto-approve, or apply a saved plan.",
                    ));
                }
                Approval::Ask => match crate::cli::prompt::approve(self.cx, p.destroy, store.workspace()) {
                    Ok(true) => {}
                    Ok(false) => return FAILED,
                    Err(d) => return self.fail(d),
                },
            }
        }
        self.carry_out(&session, &self.project.config, plan, store, kind).await
    }

    /// `apply FILE`
    pub async fn apply_saved(&self, saved: SavedPlan, lock: &Lock, files: &StateFiles, parallelism: usize) -> Exit {
        let mut store = match self.open(lock, files, "OperationTypeApply").await {
            Ok(s) => s,
            Err(d) => return self.fail(d),
        };
        let exit = self.saved_with(saved, &mut store, lock.lock, parallelism).await;
        self.project.pool.close().await;
        self.close(store, exit).await
    }

    async fn saved_with(&self, saved: SavedPlan, store: &mut Store, locked: bool, parallelism: usize) -> Exit {
        if let Err(d) = crate::cli::recovery::refuse_unlocked(store, locked) {
            return self.fail(d);
        }
        if let Err(d) = self.recover(store, locked).await {
            return self.fail(d);
        }
        let made_for = (saved.settings.lineage.clone(), saved.settings.serial);
        let current = store.state();
        if made_for != (current.lineage.clone(), current.serial) && store.exists() {
            return self.fail(Diagnostic::error(
                "Saved plan is stale",
                "The state has changed since the plan was made, so the plan no longer says what would happen. Make a new \
                 one.",
            ));
        }
        if saved.settings.workspace != store.workspace() {
            return self.fail(Diagnostic::error(
                "Plan made for another workspace",
                format!(
                    "The plan was made for the workspace \"{}\", but \"{}\" is selected.",
                    saved.settings.workspace,
                    store.workspace()
                ),
            ));
        }
        if saved.errored() {
            return self.fail(Diagnostic::error(
                "Cannot apply incomplete plan",
                "Planning ended with errors, so the saved plan is partial. Mend the errors and plan again.",
            ));
        }
        let plan = match self.project.decode_plan(saved).await {
            Ok(p) => p,
            Err(d) => return self.fail(d),
        };
        self.view.changes(&plan);
        let session = self.session(parallelism);
        self.carry_out(&session, &self.project.config, plan, store, Kind::Apply).await
    }

    /// `import`
    pub async fn import(
        &self,
        addr: crate::addr::ResourceInstance,
        id: String,
        parallelism: usize,
        lock: &Lock,
        files: &StateFiles,
    ) -> Exit {
        let mut store = match self.open(lock, files, "OperationTypeInvalid").await {
            Ok(s) => s,
            Err(d) => return self.fail(d),
        };
        let exit = self.import_with(addr, id, parallelism, &mut store, lock.lock).await;
        self.project.pool.close().await;
        self.close(store, exit).await
    }

    async fn import_with(
        &self,
        addr: crate::addr::ResourceInstance,
        id: String,
        parallelism: usize,
        store: &mut Store,
        locked: bool,
    ) -> Exit {
        if let Err(d) = self.recover(store, locked).await {
            return self.fail(d);
        }
        if store.state().get(&addr).is_some() {
            return self.fail(Diagnostic::error(
                "Resource already managed by gpuform",
                format!(
                    "The state holds an object for {addr} already. To import another one, remove it from the state first with \
                     \"gpuform state rm\"."
                ),
            ));
        }
        if !self.project.variables.unsuitable.is_empty() {
            return self.fail(self.project.variables.unsuitable.values().cloned().collect::<Diagnostics>());
        }
        let session = self.session(parallelism);
        let variables = self.project.variables.values.clone();
        let timestamp = crate::cli::context::timestamp();
        let imported =
            engine::import(&session, &self.project.config, store.state(), variables, timestamp, addr, id).await;
        let (state, diags) = match imported {
            Ok(i) => i,
            Err(d) => return self.fail(d),
        };
        self.show(&diags);
        match store.commit(&state).await {
            Ok(_) => {
                self.view.imported();
                OK
            }
            Err(d) => self.fail(d),
        }
    }

    /// Applies a plan, saves the state, and shows how it went.
    pub async fn carry_out(
        &self,
        session: &Session,
        config: &Config,
        plan: Plan,
        store: &mut Store,
        kind: Kind,
    ) -> Exit {
        self.cx.applying.store(true, Ordering::SeqCst);
        let journal = match store.begin() {
            Ok(j) => j,
            Err(d) => return self.fail(d),
        };
        // What refreshing, moves and imports have found out is saved first: the journal continues from there.
        if let Err(d) = store.checkpoint(&plan.prior_state).await {
            return self.fail(d);
        }
        let applied = engine::apply(session, config, plan, Some(journal)).await;
        let mut diags = applied.diagnostics;
        if let Err(cause) = store.commit(&applied.state).await {
            diags.push(self.save_elsewhere(store, &applied.state, &cause));
        }
        let failed = diags.has_errors();
        self.view.applied(kind, applied.counts, &applied.state, failed);
        self.show(&diags);
        if failed { FAILED } else { OK }
    }

    /// The state could not be saved where it belongs: it is put beside the configuration.
    fn save_elsewhere(&self, store: &Store, state: &crate::state::State, cause: &Diagnostic) -> Diagnostic {
        match store.snapshot(state) {
            Ok(Some(snapshot)) => save_errored(&self.cx.dir, &snapshot, cause),
            Ok(None) => cause.clone(),
            Err(d) => *d,
        }
    }

    async fn close(&self, store: Store, exit: Exit) -> Exit {
        match store.close().await {
            Ok(()) => exit,
            Err(d) => self.fail(d),
        }
    }
}

//! `gpuform apply`, `gpuform destroy`, `gpuform refresh`

use crate::cli::args::{Lock, Look, Planning, StateFiles, VariableArg};
use crate::cli::context::Context;
use crate::cli::operation::Approval;
use crate::cli::project::Project;
use crate::cli::view::Kind;
use crate::cli::{Exit, FAILED};
use crate::diag::{Diagnostic, Diagnostics};
use crate::engine::plan_file::{self, SavedPlan};
use crate::install::lock_file;
use std::path::{Path, PathBuf};

/// Create, change and destroy objects as the configuration says.
#[derive(clap::Args, Debug)]
pub struct Apply {
    /// A plan saved with "gpuform plan -out=FILE"; without one a plan is made and shown first.
    #[arg(value_name = "PLAN")]
    plan: Option<PathBuf>,
    #[command(flatten)]
    common: Common,
}

/// Destroy everything that the state holds.
#[derive(clap::Args, Debug)]
pub struct Destroy {
    #[command(flatten)]
    common: Common,
}

/// Bring the state up to date with what exists (the same as "apply -refresh-only -auto-approve").
#[derive(clap::Args, Debug)]
pub struct Refresh {
    #[command(flatten)]
    common: Common,
}

#[derive(clap::Args, Debug)]
struct Common {
    #[command(flatten)]
    planning: Planning,
    #[command(flatten)]
    lock: Lock,
    #[command(flatten)]
    files: StateFiles,
    #[command(flatten)]
    look: Look,
    /// Do not ask for approval.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false")]
    auto_approve: bool,
}

impl Apply {
    pub async fn run(self, cx: &mut Context, matches: &clap::ArgMatches) -> Exit {
        let variables = self.common.planning.variables.in_order(matches);
        match &self.plan {
            Some(file) => self.saved(cx, file, &variables).await,
            None => self.common.run(cx, &variables, Kind::Apply).await,
        }
    }

    async fn saved(&self, cx: &mut Context, file: &Path, variables: &[VariableArg]) -> Exit {
        let view = super::operation_view(cx, &self.common.look);
        let mut saved = match read_plan(cx, file) {
            Ok(s) => s,
            Err(d) => {
                view.diagnostics(&d);
                return FAILED;
            }
        };
        let p = &self.common.planning;
        if p.refresh_only || !p.target.is_empty() || !p.exclude.is_empty() || !p.replace.is_empty() {
            view.diagnostics(
                &Diagnostic::error(
                    "Planning options with a saved plan",
                    "A saved plan is applied as it is: -refresh-only, -target, -exclude and -replace belong to the \
                     plan command that makes it.",
                )
                .into(),
            );
            return FAILED;
        }
        saved.include_generated();
        let same = check_selections(cx, &saved);
        let opened = same.and_then(|()| Project::from_plan(cx, &saved, variables));
        let operation = match super::finish_opening(cx, view, opened) {
            Ok(o) => o,
            Err(exit) => return exit,
        };
        operation.apply_saved(saved, &self.common.lock, &self.common.files, p.parallelism).await
    }
}

impl Destroy {
    pub async fn run(mut self, cx: &mut Context, matches: &clap::ArgMatches) -> Exit {
        let p = &mut self.common.planning;
        if p.destroy || p.refresh_only {
            let flag = if p.destroy { "-destroy" } else { "-refresh-only" };
            let detail = format!("{flag} is an option of plan and apply; this command always destroys.");
            super::operation_view(cx, &self.common.look)
                .diagnostics(&Diagnostic::error("Invalid mode option", detail).into());
            return FAILED;
        }
        p.destroy = true;
        let variables = self.common.planning.variables.in_order(matches);
        self.common.run(cx, &variables, Kind::Destroy).await
    }
}

impl Refresh {
    pub async fn run(mut self, cx: &mut Context, matches: &clap::ArgMatches) -> Exit {
        self.common.planning.destroy = false;
        self.common.planning.refresh_only = true;
        self.common.planning.refresh = true;
        self.common.auto_approve = true;
        let variables = self.common.planning.variables.in_order(matches);
        self.common.run(cx, &variables, Kind::Refresh).await
    }
}

impl Common {
    async fn run(&self, cx: &mut Context, variables: &[VariableArg], kind: Kind) -> Exit {
        let view = super::operation_view(cx, &self.look);
        if let Err(d) = self.planning.check() {
            view.diagnostics(&d);
            return FAILED;
        }
        if self.look.json && !self.auto_approve {
            view.diagnostics(
                &Diagnostic::error(
                    "Plan file or auto-approve required",
                    "With -json there is nobody to ask: apply a saved plan, or use -auto-approve.",
                )
                .into(),
            );
            return FAILED;
        }
        let may_ask = self.planning.input && cx.env.input_allowed();
        let approval = match (self.auto_approve, may_ask) {
            (true, _) => Approval::Given,
            (false, true) => Approval::Ask,
            (false, false) => Approval::Impossible,
        };
        let operation = match super::open(cx, view, variables, may_ask && !self.look.json) {
            Ok(o) => o,
            Err(exit) => return exit,
        };
        // To refresh a state takes no configuration.
        if !self.planning.destroy
            && kind != Kind::Refresh
            && let Err(exit) = super::require_files(&operation)
        {
            return exit;
        }
        operation.apply(&self.planning, &self.lock, &self.files, approval, kind).await
    }
}

/// Checks that the providers are of the versions that the plan was made with.
fn check_selections(cx: &Context, saved: &SavedPlan) -> Result<(), Diagnostics> {
    let mut diags = Diagnostics::new();
    let lock = lock_file::read(&cx.path(lock_file::FILE_NAME), &cx.sources, &mut diags);
    if !diags.has_errors() && lock.selections() != saved.settings.selections {
        diags.error(
            "Inconsistent dependency lock file",
            "The plan was made with other versions of providers than the lock file has now. Make a new plan.",
            None,
        );
    }
    if diags.has_errors() { Err(diags) } else { Ok(()) }
}

/// Reads a saved plan.
///
/// # Errors
/// The file is not there, or is not a plan.
pub fn read_plan(cx: &Context, file: &Path) -> Result<SavedPlan, Diagnostics> {
    let path = cx.path(file);
    if path.is_dir() {
        return Err(Diagnostic::error(
            "Plan file is a directory",
            format!(
                "{} is a directory. To work in another directory, use -chdir={}; a saved plan is a file.",
                file.display(),
                file.display()
            ),
        )
        .into());
    }
    let bytes = crate::input::read_argument(&path).map_err(|e| {
        let summary = format!("Failed to load \"{}\" as a plan file", file.display());
        Diagnostics::from(Diagnostic::error(summary, format!("{}: {e}.", file.display())))
    })?;
    plan_file::read(&bytes, &file.display().to_string()).map_err(Diagnostics::from)
}

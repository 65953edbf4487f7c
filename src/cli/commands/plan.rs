//! `gpuform plan`

use crate::cli::args::{Lock, Look, Planning, StateFiles, path};
use crate::cli::context::Context;
use crate::cli::operation::PlanCommand;
use crate::cli::{Exit, FAILED};
use std::path::PathBuf;

/// Show what an apply would change.
#[derive(clap::Args, Debug)]
pub struct Plan {
    #[command(flatten)]
    planning: Planning,
    #[command(flatten)]
    lock: Lock,
    #[command(flatten)]
    files: StateFiles,
    #[command(flatten)]
    look: Look,
    /// Save the plan to this file, for "gpuform apply FILE".
    #[arg(long, value_name = "FILE", value_parser = path)]
    out: Option<PathBuf>,
    /// Exit with 2 if there are changes (0: none, 1: errors).
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false")]
    detailed_exitcode: bool,
    /// Write configuration for imported objects that have none to this file.
    #[arg(long, value_name = "FILE", value_parser = path)]
    generate_config_out: Option<PathBuf>,
}

impl Plan {
    pub async fn run(self, cx: &mut Context, matches: &clap::ArgMatches) -> Exit {
        let view = super::operation_view(cx, &self.look);
        if let Err(d) = self.planning.check() {
            view.diagnostics(&d);
            return FAILED;
        }
        let variables = self.planning.variables.in_order(matches);
        let operation = match super::open(cx, view, &variables, self.planning.input && !self.look.json) {
            Ok(o) => o,
            Err(exit) => return exit,
        };
        if !self.planning.destroy
            && let Err(exit) = super::require_files(&operation)
        {
            return exit;
        }
        let command = PlanCommand {
            out: self.out.as_deref().filter(|p| !p.as_os_str().is_empty()),
            detailed_exitcode: self.detailed_exitcode,
            generate: self.generate_config_out.as_deref().filter(|p| !p.as_os_str().is_empty()),
        };
        operation.plan(&self.planning, &self.lock, &self.files, command).await
    }
}

//! `gpuform import`

use crate::addr::ResourceInstance;
use crate::cli::args::{Lock, Look, StateFiles, Variables};
use crate::cli::context::Context;
use crate::cli::project::{Missing, Project};
use crate::cli::{Exit, FAILED};
use crate::diag::Diagnostic;
use std::path::PathBuf;

/// Take an existing object over into the state, for a resource block that is written already.
#[derive(clap::Args, Debug)]
pub struct Import {
    /// The resource instance, e.g. aws_instance.gpu[0].
    #[arg(value_name = "ADDRESS")]
    address: String,
    /// The ID by which the provider knows the object.
    #[arg(value_name = "ID")]
    id: String,
    /// The directory with the configuration, in place of the working directory.
    #[arg(long, value_name = "DIR", default_value = ".", hide_default_value = true)]
    config: PathBuf,
    #[command(flatten)]
    variables: Variables,
    #[command(flatten)]
    lock: Lock,
    #[command(flatten)]
    files: StateFiles,
    #[command(flatten)]
    look: Look,
    /// Ask for missing input.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "true")]
    input: bool,
    /// How many provider operations may run at once.
    #[arg(long, value_name = "N", default_value_t = 10)]
    parallelism: usize,
}

impl Import {
    pub async fn run(self, cx: &mut Context, matches: &clap::ArgMatches) -> Exit {
        let view = super::operation_view(cx, &self.look);
        let addr: ResourceInstance = match self.address.parse() {
            Ok(a) => a,
            Err(e) => {
                let e: crate::addr::ParseError = e;
                view.diagnostics(&Diagnostic::error("Invalid address", e.0).into());
                return FAILED;
            }
        };
        let variables = self.variables.in_order(matches);
        let missing = if self.input { Missing::Ask } else { Missing::Fail };
        let opened = Project::open_at(cx, &self.config, &variables, missing);
        let operation = match super::finish_opening(cx, view, opened) {
            Ok(o) => o,
            Err(exit) => return exit,
        };
        if operation.project.config.root.module.files.is_empty() {
            let detail = format!(
                "The directory {} holds no .tf and no .tf.json files, but an object can be imported only for a resource block \
                 that is written there. Another directory can be named with -config=DIR.",
                self.config.display()
            );
            operation.view.diagnostics(&Diagnostic::error("No configuration files", detail).into());
            return FAILED;
        }
        operation.import(addr, self.id, self.parallelism, &self.lock, &self.files).await
    }
}

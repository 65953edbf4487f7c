//! The commands, one file each: arguments with their documentation, then one function.

pub mod apply;
pub mod completion;
pub mod console;
pub mod fmt;
pub mod force_unlock;
pub mod get;
pub mod graph;
pub mod import;
pub mod init;
pub mod man;
pub mod metadata;
pub mod modules;
pub mod output;
pub mod plan;
pub mod providers;
pub mod show;
pub mod state;
pub mod test;
pub mod validate;
pub mod version;
pub mod workspace;

use crate::cli::args::{Look, VariableArg};
use crate::cli::context::Context;
use crate::cli::operation::Operation;
use crate::cli::project::{Missing, Project};
use crate::cli::view::{self, OperationView};
use crate::cli::{Exit, FAILED};
use crate::diag::{Diagnostic, Diagnostics};
use std::sync::Arc;

/// The view that the flags ask for.
pub fn operation_view(cx: &mut Context, look: &Look) -> Arc<dyn OperationView> {
    cx.style.color &= !look.no_color;
    if look.json {
        Arc::new(view::stream::Stream::new(&cx.sources))
    } else {
        Arc::new(view::human::Human::new(cx, look.compact_warnings))
    }
}

/// Opens the project for an operation; problems are shown.
///
/// # Errors
/// The exit code to end with.
pub fn open<'a>(
    cx: &'a Context,
    view: Arc<dyn OperationView>,
    variables: &[VariableArg],
    may_ask: bool,
) -> Result<Operation<'a>, Exit> {
    let missing = if may_ask { Missing::Ask } else { Missing::Fail };
    finish_opening(cx, view, Project::open(cx, variables, missing))
}

/// Shows what opening a project had to say.
///
/// # Errors
/// The exit code to end with.
pub fn finish_opening<'a>(
    cx: &'a Context,
    view: Arc<dyn OperationView>,
    opened: Result<(Project, Diagnostics), Diagnostics>,
) -> Result<Operation<'a>, Exit> {
    match opened {
        Ok((project, warnings)) => {
            view.diagnostics(&warnings);
            Ok(Operation { cx, view, project })
        }
        Err(d) => {
            view.diagnostics(&d);
            Err(FAILED)
        }
    }
}

/// Refuses to work in a directory without configuration files, which would mean to destroy everything.
///
/// # Errors
/// The exit code to end with.
pub fn require_files(operation: &Operation<'_>) -> Result<(), Exit> {
    if !operation.project.config.root.module.files.is_empty() {
        return Ok(());
    }
    let detail = "This directory holds no configuration, and applying none would destroy everything that is managed. To do \
                  that, use \"gpuform destroy\"; otherwise run this where the configuration is.";
    operation.view.diagnostics(&Diagnostic::error("No configuration files", detail).into());
    Err(FAILED)
}

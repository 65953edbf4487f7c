//! `gpuform completion`, `gpuform -install-autocomplete`, `gpuform -uninstall-autocomplete`

use crate::cli::completion::{self, Shell};
use crate::cli::context::Context;
use crate::cli::{Exit, FAILED, OK};
use crate::diag::{Diagnostic, Diagnostics};
use std::path::PathBuf;

/// Print the line that makes a shell complete command lines of gpuform.
///
/// "gpuform -install-autocomplete" puts it into the start-up files of the shells in use.
#[derive(clap::Args, Debug)]
pub struct Completion {
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

impl Completion {
    pub fn run(self, cx: &Context) -> Exit {
        finish(cx, program().map(|p| format!("{}\n", self.shell.line(&p))))
    }
}

/// Puts the line into the start-up files of the shells in use.
pub fn install(cx: &Context) -> Exit {
    finish(cx, program().and_then(|p| completion::install(&cx.env, &p)).map(|files| changed("Added to", &files)))
}

/// Takes it out again.
pub fn uninstall(cx: &Context) -> Exit {
    finish(cx, program().and_then(|p| completion::uninstall(&cx.env, &p)).map(|files| changed("Removed from", &files)))
}

fn program() -> Result<PathBuf, String> {
    std::env::current_exe().map_err(|e| format!("It is not known where this program is: {e}."))
}

fn changed(what: &str, files: &[PathBuf]) -> String {
    files.iter().map(|f| format!("{what} {}. It takes effect in new shells.\n", f.display())).collect()
}

fn finish(cx: &Context, result: Result<String, String>) -> Exit {
    match result {
        Ok(text) => {
            cx.print(&text);
            OK
        }
        Err(e) => {
            cx.show(&Diagnostics::from(Diagnostic::error("Completion cannot be set up", e)), false);
            FAILED
        }
    }
}

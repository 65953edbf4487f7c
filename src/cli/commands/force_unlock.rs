//! `gpuform force-unlock`

use crate::cli::args::StateFiles;
use crate::cli::context::Context;
use crate::cli::{Exit, FAILED, OK, backends, prompt};

/// Remove a lock that an interrupted run has left on the state.
#[derive(clap::Args, Debug)]
pub struct ForceUnlock {
    /// The ID that the message about the lock shows.
    #[arg(value_name = "LOCK_ID")]
    id: String,
    /// Do not ask.
    #[arg(long)]
    force: bool,
}

impl ForceUnlock {
    pub async fn run(self, cx: &mut Context) -> Exit {
        let backend = match backends::recorded(cx, &StateFiles::default()) {
            Ok(b) => b,
            Err(d) => {
                cx.show(&d, false);
                return FAILED;
            }
        };
        if !self.force {
            let text = "Do you really want to force-unlock?\n  The lock is there to keep two runs from changing the state at once. \
                        Only 'yes' will be accepted to confirm.\n\n  Enter a value: ";
            match prompt::ask(cx, text) {
                Ok(a) if a.trim() == "yes" => {}
                Ok(_) => {
                    cx.println("force-unlock cancelled.");
                    return FAILED;
                }
                Err(d) => {
                    cx.show(&d.into(), false);
                    return FAILED;
                }
            }
        }
        match backend.force_unlock(&cx.workspace(), &self.id).await {
            Ok(()) => {
                cx.println("The state has been unlocked; other commands can take the lock again.");
                OK
            }
            Err(d) => {
                cx.show(&d.into(), false);
                FAILED
            }
        }
    }
}

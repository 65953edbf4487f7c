//! `gpuform show`

use crate::cli::args::StateFiles;
use crate::cli::commands::apply::read_plan;
use crate::cli::context::Context;
use crate::cli::project::Project;
use crate::cli::view::Next;
use crate::cli::{Exit, FAILED, OK, backends, view};
use crate::diag::{Diagnostic, Diagnostics};
use crate::engine::plan_file;
use crate::state::file;
use crate::state::store::Store;
use std::path::{Path, PathBuf};

/// Show the state, or a saved plan or state file.
#[derive(clap::Args, Debug)]
pub struct Show {
    #[arg(value_name = "FILE")]
    path: Option<PathBuf>,
    /// Print as JSON.
    #[arg(long)]
    json: bool,
    /// Use no colours.
    #[arg(long)]
    no_color: bool,
}

impl Show {
    pub async fn run(self, cx: &mut Context) -> Exit {
        cx.style.color &= !self.no_color;
        let result = match &self.path {
            Some(path) => self.file(cx, path).await,
            None => self.current(cx).await,
        };
        match result {
            Ok(text) => {
                cx.print(&text);
                OK
            }
            Err(d) => {
                cx.show(&d, false);
                FAILED
            }
        }
    }

    async fn current(&self, cx: &Context) -> Result<String, Diagnostics> {
        let backend = backends::recorded(cx, &StateFiles::default())?;
        let store = Store::open(backend, &cx.workspace(), None, || {}).await?;
        let state = store.exists().then(|| store.state());
        Ok(if self.json { format!("{}\n", view::json::state(state)) } else { view::state::whole(state, cx.style) })
    }

    async fn file(&self, cx: &Context, path: &Path) -> Result<String, Diagnostics> {
        let full = cx.path(path);
        let bytes = std::fs::read(&full).map_err(|e| {
            Diagnostics::from(Diagnostic::error("Failed to load file", format!("{}: {e}.", path.display())))
        })?;
        if !plan_file::is_plan(&bytes) {
            let state = file::read(&bytes, &path.display().to_string())?;
            let state = state.as_ref();
            return Ok(if self.json {
                format!("{}\n", view::json::state(state))
            } else {
                view::state::whole(state, cx.style)
            });
        }
        let saved = read_plan(cx, path)?;
        let (project, _) = Project::from_plan(cx, &saved, &[])?;
        let plan = project.decode_plan(saved).await;
        let text = plan.map(|plan| {
            if self.json {
                format!("{}\n", view::json::plan(&plan, &project.config))
            } else {
                view::plan::render(&plan, &project.config, cx.style, Next::Saved(&path.display().to_string()))
            }
        });
        project.pool.close().await;
        text
    }
}

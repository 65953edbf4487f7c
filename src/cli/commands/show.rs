//! `gpuform show`

use crate::cli::args::StateFiles;
use crate::cli::commands::apply::read_plan;
use crate::cli::context::Context;
use crate::cli::project::{Project, load_schemas};
use crate::cli::view::Next;
use crate::cli::{Exit, FAILED, OK, backends, view};
use crate::diag::{Diagnostic, Diagnostics};
use crate::engine::plan_file::{self, SavedPlan};
use crate::engine::schemas::Needed;
use crate::state::State;
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
        self.state(cx, state).await
    }

    async fn file(&self, cx: &Context, path: &Path) -> Result<String, Diagnostics> {
        let full = cx.path(path);
        let bytes = crate::input::read_argument(&full).map_err(|e| {
            Diagnostics::from(Diagnostic::error(
                "Failed to read the given file as a state or plan file",
                format!("{}: {e}.", path.display()),
            ))
        })?;
        if !plan_file::is_plan(&bytes) {
            let state = file::read(&bytes, &path.display().to_string())?;
            return self.state(cx, state.as_ref()).await;
        }
        let saved = read_plan(cx, path)?;
        let (project, _) = Project::from_plan(cx, &saved, &[])?;
        let text = self.plan(cx, &project, saved).await;
        project.pool.close().await;
        text
    }

    async fn plan(&self, cx: &Context, project: &Project, saved: SavedPlan) -> Result<String, Diagnostics> {
        let plan = project.decode_plan(saved).await?;
        if !self.json {
            return Ok(view::plan::render(&plan, &project.config, cx.style, Next::Unsaid));
        }
        let mut needed = Needed::default();
        needed.add_config(&project.config);
        needed.add_state(&plan.prior_state);
        let schemas = needed.load(&project.pool).await?;
        Ok(format!("{}\n", view::json::plan(&plan, &project.config, &schemas)))
    }

    async fn state(&self, cx: &Context, state: Option<&State>) -> Result<String, Diagnostics> {
        let mut needed = Needed::default();
        if let Some(state) = state {
            needed.add_state(state);
        }
        let schemas = load_schemas(cx, needed).await?;
        if !self.json {
            return Ok(view::state::whole(state, &schemas, cx.style));
        }
        Ok(format!("{}\n", view::json::state(state, &schemas)))
    }
}

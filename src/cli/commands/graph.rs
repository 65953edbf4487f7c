//! `gpuform graph`

use crate::cli::args::StateFiles;
use crate::cli::commands::apply::read_plan;
use crate::cli::context::Context;
use crate::cli::project::{Factory, Project, load_config};
use crate::cli::view::graph;
use crate::cli::{Exit, FAILED, OK, backends};
use crate::diag::{Diagnostic, Diagnostics};
use crate::engine::diagram::{self, Kind};
use crate::engine::providers::ProviderPool;
use crate::state::State;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Show what depends on what, in the DOT language of Graphviz.
///
/// Without -type or -plan, the resources and the dependencies between them.
#[derive(clap::Args, Debug)]
pub struct Graph {
    /// The operation to show: plan, plan-refresh-only, plan-destroy or apply.
    #[arg(long = "type", value_name = "TYPE")]
    operation: Option<String>,
    /// Show what applying this saved plan does.
    #[arg(long, value_name = "FILE")]
    plan: Option<PathBuf>,
    /// Draw a graph that has cycles instead of reporting them; with -type only.
    #[arg(long)]
    draw_cycles: bool,
    /// Accepted for old scripts: all modules are always drawn.
    #[arg(long, value_name = "N", hide = true)]
    module_depth: Option<i64>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    Plan,
    Destroy,
    Apply,
}

impl Graph {
    pub async fn run(self, cx: &Context) -> Exit {
        match self.draw(cx).await {
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

    async fn draw(&self, cx: &Context) -> Result<String, Diagnostics> {
        let operation = self.operation()?;
        if let Some(file) = &self.plan {
            return self.saved(cx, file, operation.unwrap_or(Operation::Apply)).await;
        }
        let (config, mut diags) = load_config(cx, Path::new("."), &[]);
        let Some(config) = config else { return Err(diags) };
        let factory = Factory::new(cx, &mut diags);
        if diags.has_errors() {
            return Err(diags);
        }
        let pool = ProviderPool::new(Arc::new(factory));
        let backend = backends::open(cx, &config, &StateFiles::default())?;
        let state = backend.read(&cx.workspace()).await?.map(|s| s.state).unwrap_or_default();
        let kind = operation.map_or(Kind::Plan, |o| kind(o, Kind::Apply));
        let cycles = self.draw_cycles && operation.is_some();
        let drawn = diagram::draw(&config, &pool, &state, kind, cycles, &mut diags).await;
        pool.close().await;
        let drawn = drawn.ok_or(diags)?;
        Ok(if operation.is_some() { graph::operation(&drawn) } else { graph::resources(&drawn) })
    }

    async fn saved(&self, cx: &Context, file: &Path, operation: Operation) -> Result<String, Diagnostics> {
        let saved = read_plan(cx, file)?;
        let (project, mut diags) = Project::from_plan(cx, &saved, &[])?;
        let plan = project.decode_plan(saved).await?;
        let kind = kind(operation, Kind::Changes(&plan));
        let state: &State = &plan.previous_state;
        let drawn = diagram::draw(&project.config, &project.pool, state, kind, self.draw_cycles, &mut diags).await;
        project.pool.close().await;
        Ok(graph::operation(&drawn.ok_or(diags)?))
    }

    fn operation(&self) -> Result<Option<Operation>, Diagnostics> {
        Ok(Some(match self.operation.as_deref() {
            None | Some("") => return Ok(None),
            Some("plan" | "plan-refresh-only") => Operation::Plan,
            Some("plan-destroy") => Operation::Destroy,
            Some("apply") => Operation::Apply,
            Some(kind @ ("validate" | "eval" | "input" | "refresh")) => {
                return Err(Diagnostic::error(
                    "Graph type no longer available",
                    format!("There are no graphs of type \"{kind}\" any more; -type=plan shows much the same."),
                )
                .into());
            }
            Some(_) => {
                return Err(Diagnostic::error(
                    "Unsupported graph type",
                    "The type of a graph is plan, plan-refresh-only, plan-destroy or apply.",
                )
                .into());
            }
        }))
    }
}

/// What to draw for an operation; `apply` for an apply.
fn kind<'a>(operation: Operation, apply: Kind<'a>) -> Kind<'a> {
    match operation {
        Operation::Plan => Kind::Plan,
        Operation::Destroy => Kind::Destroy,
        Operation::Apply => apply,
    }
}

//! `gpuform console`

use crate::cli::args::{StateFiles, Variables};
use crate::cli::context::Context;
use crate::cli::project::{Missing, Project};
use crate::cli::{Exit, FAILED, OK};
use crate::cli::{backends, console, prompt};
use crate::diag::{Diagnostic, Diagnostics};
use crate::engine::{self, PlanOptions};
use crate::lang::resolve::{Allowed, resolve};
use crate::lang::syntax::Expr;
use crate::state::store::Store;
use std::io::{IsTerminal, Read};

/// Evaluate expressions; interactively, or line by line from standard input.
#[derive(clap::Args, Debug)]
pub struct Console {
    #[command(flatten)]
    variables: Variables,
    /// Read the state from this file.
    #[arg(long, value_name = "FILE")]
    state: Option<std::path::PathBuf>,
    /// Evaluate as the next plan would see things.
    #[arg(long)]
    plan: bool,
}

impl Console {
    pub async fn run(self, cx: &mut Context, matches: &clap::ArgMatches) -> Exit {
        let variables = self.variables.in_order(matches);
        match self.evaluate(cx, &variables).await {
            Ok(()) => OK,
            Err(d) => {
                cx.show(&d, false);
                FAILED
            }
        }
    }

    async fn evaluate(&self, cx: &Context, variables: &[crate::cli::args::VariableArg]) -> Result<(), Diagnostics> {
        let (project, warnings) = Project::open(cx, variables, Missing::Unknown)?;
        cx.show(&warnings, false);
        let files = StateFiles { state: self.state.clone(), ..StateFiles::default() };
        let backend = backends::open(cx, &project.config, &files)?;
        let store = Store::open(backend, &cx.workspace(), None, || {}).await?;
        let session = engine::Session {
            pool: project.pool.clone(),
            events: std::sync::Arc::new(engine::events::NoEvents),
            stop: cx.stop.clone(),
            parallelism: 10,
            place: cx.place(),
            substitutes: None,
        };
        let options = PlanOptions {
            variables: project.variables.values.clone(),
            unsuitable_variables: project.variables.unsuitable.clone(),
            ..PlanOptions::default()
        };
        let result = engine::console(&session, &project.config, store.state(), &options, |scope, problems| {
            if problems.has_errors() {
                cx.show(&problems, false);
                let summary = "Due to the problems above, some expressions may produce unexpected results.";
                cx.show(&Diagnostic::warning(summary, "").into(), false);
            }
            let module = &*project.config.root.module;
            let mut names = |e: &mut Expr, d: &mut Diagnostics| resolve(e, module, Allowed::default(), d);
            let mut answer = |text: &str| console::evaluate(text, &cx.sources, &mut names, scope);
            if std::io::stdin().is_terminal() {
                return interactive(cx, &mut answer);
            }
            let mut input = Vec::new();
            let _ = std::io::stdin().lock().read_to_end(&mut input);
            if let Some(text) = answer(&String::from_utf8_lossy(&input))? {
                cx.println(&text);
            }
            Ok(())
        })
        .await;
        project.pool.close().await;
        result
    }
}

type Answer<'a> = dyn FnMut(&str) -> Result<Option<String>, Diagnostics> + 'a;

fn interactive(cx: &Context, answer: &mut Answer<'_>) -> Result<(), Diagnostics> {
    loop {
        let Ok(line) = prompt::ask(cx, "> ") else { return Ok(()) };
        if line.trim() == "exit" {
            return Ok(());
        }
        if line.trim().is_empty() {
            continue;
        }
        match answer(&line) {
            Ok(Some(text)) => cx.println(&text),
            Ok(None) => {}
            Err(d) => cx.show(&d, false),
        }
    }
}

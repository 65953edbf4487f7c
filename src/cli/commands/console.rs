//! `gpuform console`

use crate::cli::args::{StateFiles, Variables};
use crate::cli::context::Context;
use crate::cli::line_editor::LineEditor;
use crate::cli::project::{Missing, Project};
use crate::cli::{Exit, FAILED, OK};
use crate::cli::{backends, console};
use crate::config::model::Module;
use crate::diag::{Diagnostic, Diagnostics};
use crate::engine::{self, PlanOptions};
use crate::lang::functions;
use crate::lang::resolve::{Allowed, resolve};
use crate::lang::syntax::Expr;
use crate::lang::visit::Met;
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
        let typed = std::io::stdin().is_terminal();
        // What is read from a pipe is answered with a value and nothing else.
        if typed {
            cx.show(&warnings, false);
        }
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
            let mut names = |e: &mut Expr, d: &mut Diagnostics| {
                resolve(e, module, Allowed::default(), d);
                refuse_plan_time(e, d);
            };
            if typed {
                let mut answer = |text: &str| console::answer_to(text, &cx.sources, &mut names, scope);
                return interactive(cx, module, &mut answer);
            }
            let mut input = Vec::new();
            let _ = std::io::stdin().lock().read_to_end(&mut input);
            let input = String::from_utf8_lossy(&input);
            if let Some(text) = console::evaluate(&input, &cx.sources, &mut names, scope)? {
                cx.println(&text);
            }
            Ok(())
        })
        .await;
        project.pool.close().await;
        result
    }
}

/// Terraform's console does not know `plantimestamp`: there is no plan.
fn refuse_plan_time(e: &Expr, diags: &mut Diagnostics) {
    e.visit(&mut |met| {
        if let Met::Call(call, _) = met
            && matches!(&*call.name, "plantimestamp" | "core::plantimestamp")
        {
            let detail = "No plan is made here, so there is no time of it.";
            diags.error("Call to unknown function", detail, call.name_range);
        }
    });
}

type Answer<'a> = dyn FnMut(&str) -> Result<Option<String>, Diagnostics> + 'a;

/// Answers what is typed, until the user leaves.
fn interactive(cx: &Context, module: &Module, answer: &mut Answer<'_>) -> Result<(), Diagnostics> {
    let broken = |e: std::io::Error| Diagnostic::error("No input", format!("The terminal cannot be read: {e}."));
    let mut editor = LineEditor::new(names_of(module)).map_err(broken)?;
    while let Some(text) = editor.read("> ").map_err(broken)? {
        match answer(&text) {
            Ok(None) => break,
            Ok(Some(text)) if text.is_empty() => {}
            Ok(Some(text)) => cx.println(&text),
            Err(d) => cx.show(&d, false),
        }
    }
    Ok(())
}

/// What an expression in a module can begin with.
fn names_of(module: &Module) -> Vec<String> {
    let mut names: Vec<String> = functions::all().map(|f| format!("{}(", f.name)).collect();
    names.extend(["path.cwd", "path.module", "path.root", "terraform.workspace"].map(str::to_owned));
    names.extend(module.variables.keys().map(|n| format!("var.{n}")));
    names.extend(module.locals.keys().map(|n| format!("local.{n}")));
    names.extend(module.calls.keys().map(|n| format!("module.{n}")));
    names.extend(module.resources.keys().map(ToString::to_string));
    names
}

//! `gpuform test`

use crate::cli::args::{VariableArg, Variables};
use crate::cli::context::{Context, timestamp};
use crate::cli::project::{Factory, load_config};
use crate::cli::test_programs::TestPrograms;
use crate::cli::view::OperationView;
use crate::cli::view::test::{human, junit, stream};
use crate::cli::{Exit, FAILED, OK, view};
use crate::config::variables::Given as Argument;
use crate::diag::{Diagnostic, Diagnostics};
use crate::engine::providers::ProviderPool;
use crate::testing::{self, Given, Inputs, Programs as _, Status, Watcher};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Run the tests of this configuration: files *.tftest.hcl and *.tftest.json here and in "tests". They create real
/// objects unless the providers are mocked, and destroy them at the end.
#[derive(clap::Args, Debug)]
pub struct Test {
    /// Run only this test file. May be repeated.
    #[arg(long, value_name = "FILE")]
    filter: Vec<String>,
    /// Where test files are besides the configuration's directory.
    #[arg(long, value_name = "DIR", default_value = testing::DEFAULT_DIRECTORY)]
    test_directory: String,
    /// Write a JUnit report to this file.
    #[arg(long, value_name = "FILE")]
    junit_xml: Option<PathBuf>,
    /// Print machine-readable JSON, one message a line.
    #[arg(long)]
    json: bool,
    /// Show the plan or state of each run.
    #[arg(long)]
    verbose: bool,
    /// Use no colours.
    #[arg(long)]
    no_color: bool,
    #[command(flatten)]
    variables: Variables,
}

impl Test {
    pub async fn run(self, cx: &mut Context, matches: &clap::ArgMatches) -> Exit {
        cx.style.color &= !self.no_color;
        let messages: Arc<dyn OperationView> = if self.json {
            Arc::new(view::stream::Stream::new(&cx.sources))
        } else {
            Arc::new(view::human::Human::new(cx, false))
        };
        let arguments = self.variables.in_order(matches);
        match self.carry_out(cx, arguments, &*messages).await {
            Ok(Status::Fail | Status::Error) => FAILED,
            Ok(_) => OK,
            Err(d) => {
                messages.diagnostics(&d);
                FAILED
            }
        }
    }

    async fn carry_out(
        &self,
        cx: &Context,
        arguments: Vec<VariableArg>,
        messages: &dyn OperationView,
    ) -> Result<Status, Diagnostics> {
        let (config, mut diags) = load_config(cx, Path::new("."), &arguments);
        let suite = testing::load(Path::new("."), &self.test_directory, &cx.sources, &mut diags);
        if diags.has_errors() {
            return Err(diags);
        }
        let Some(config) = config else { return Err(diags) };
        let factory = Factory::new(cx, &mut diags);
        if !diags.has_errors() {
            factory.check(&config, &mut diags);
        }
        if diags.has_errors() {
            return Err(diags);
        }
        let argument = |a| match a {
            VariableArg::Var(text) => Argument::Var(text),
            VariableArg::File(path) => Argument::File(path),
        };
        let given = Given {
            dir: cx.dir.clone(),
            test_directory: PathBuf::from(&self.test_directory),
            arguments: arguments.into_iter().map(argument).collect(),
            environment: cx.env.variables.clone(),
        };
        let pool = Arc::new(ProviderPool::new(Arc::new(factory)));
        let programs = TestPrograms::new(cx)?;
        // What is wrong with the modules of single runs is said before anything is made.
        for (key, module) in testing::each_module(&suite) {
            if let Err(d) = programs.load(Some((&key, module)), Vec::new()) {
                diags.extend(d);
            }
        }
        if diags.has_errors() {
            return Err(diags);
        }
        messages.diagnostics(&diags);
        // Runs create objects, and an interrupt lets them be destroyed again.
        cx.applying.store(true, std::sync::atomic::Ordering::SeqCst);
        let inputs = Inputs {
            suite: &suite,
            filter: &self.filter,
            given: &given,
            sources: &cx.sources,
            programs: &programs,
            pool: pool.clone(),
            parallelism: 10,
            place: cx.place(),
            timestamp,
            stop: cx.stop.clone(),
            abort: cx.abort.heeded(),
            show_results: self.verbose,
        };
        let status = self.watched(cx, &inputs).await;
        pool.close().await;
        status
    }

    /// Runs the tests with the view that the flags ask for, and writes the report.
    async fn watched(&self, cx: &Context, inputs: &Inputs<'_>) -> Result<Status, Diagnostics> {
        let view: Box<dyn Watcher> =
            if self.json { Box::new(stream::Stream::new(&cx.sources)) } else { Box::new(human::Human::new(cx)) };
        let Some(path) = &self.junit_xml else { return Ok(testing::run(inputs, &*view).await) };
        let reporter = junit::Reporter::new(view, &cx.sources);
        let status = testing::run(inputs, &reporter).await;
        std::fs::write(cx.path(path), reporter.xml()).map_err(|e| {
            Diagnostics::from(Diagnostic::error(
                "JUnit report cannot be written",
                format!("The results could not be written to {}: {e}.", path.display()),
            ))
        })?;
        Ok(status)
    }
}

//! The command line: one file per command, argument forms, and views (human, JSON). This file knows the commands and
//! hands over to them; `context.rs` is what they get from the outside.

pub mod args;
pub mod backends;
pub mod commands;
pub mod completion;
pub mod console;
pub mod context;
mod line_editor;
mod log;
pub mod operation;
pub mod project;
pub mod prompt;
pub mod recovery;
mod test_programs;
mod usage;
pub mod view;

use clap::{CommandFactory, Parser, Subcommand};
use context::{Abort, Context, Environment};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// What a command ends with: its exit code.
pub type Exit = u8;

/// Success.
pub const OK: Exit = 0;
/// Errors, already shown.
pub const FAILED: Exit = 1;

/// Declarative infrastructure for GPU clouds: the Terraform language, state and providers.
#[derive(Parser, Debug)]
#[command(name = "gpuform", disable_version_flag = true, disable_help_subcommand = true)]
#[command(arg_required_else_help = true, max_term_width = 120)]
struct Cli {
    /// Switch to this directory before anything else.
    #[arg(long, value_name = "DIR", require_equals = true)]
    chdir: Option<PathBuf>,
    /// Make the shells of this user complete command lines of gpuform.
    #[arg(long)]
    install_autocomplete: bool,
    /// Undo -install-autocomplete.
    #[arg(long)]
    uninstall_autocomplete: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand, Debug)]
enum Command {
    Init(commands::init::Init),
    Validate(commands::validate::Validate),
    Plan(commands::plan::Plan),
    Apply(commands::apply::Apply),
    Destroy(commands::apply::Destroy),
    Refresh(commands::apply::Refresh),
    Show(commands::show::Show),
    Output(commands::output::Output),
    #[command(subcommand)]
    State(commands::state::State),
    Taint(commands::state::Taint),
    Untaint(commands::state::Untaint),
    Import(commands::import::Import),
    Console(commands::console::Console),
    Test(commands::test::Test),
    Providers(commands::providers::Providers),
    #[command(subcommand, alias = "env")]
    Workspace(commands::workspace::Workspace),
    ForceUnlock(commands::force_unlock::ForceUnlock),
    Get(commands::get::Get),
    Fmt(commands::fmt::Fmt),
    Graph(commands::graph::Graph),
    Modules(commands::modules::Modules),
    #[command(subcommand)]
    Metadata(commands::metadata::Metadata),
    Version(commands::version::Version),
    Completion(commands::completion::Completion),
    Man(commands::man::Man),
}

/// The definition of all commands and flags.
pub fn command() -> clap::Command {
    args::complete(Cli::command())
}

/// Runs the program and gives its exit code.
pub fn main() -> ExitCode {
    let env = Environment::of_process();
    let original = match std::env::current_dir() {
        Ok(d) => d,
        Err(e) => {
            eprintln!("Error: the working directory cannot be used: {e}");
            return ExitCode::FAILURE;
        }
    };
    if let Some(answer) = completion::answer(&env, command) {
        print!("{answer}");
        return ExitCode::SUCCESS;
    }
    let args = match with_environment_args(std::env::args().skip(1).collect(), &env) {
        Ok(args) => args,
        Err(e) => {
            eprintln!("Error: {e}");
            return ExitCode::FAILURE;
        }
    };
    let (cli, matches) = match usage::parse(args::normalize(args), &env) {
        Ok(parsed) => parsed,
        Err(exit) => return ExitCode::from(exit),
    };
    let dir = cli.chdir.as_ref().map_or(original.clone(), |d| original.join(d));
    if cli.chdir.is_some()
        && let Err(e) = std::env::set_current_dir(&dir)
    {
        eprintln!("Error: cannot switch to {}: {e}", dir.display());
        return ExitCode::FAILURE;
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
        Ok(r) => r,
        Err(e) => {
            eprintln!("Error: the program cannot start its threads: {e}");
            return ExitCode::FAILURE;
        }
    };
    let mut context = Context::new(env, original, dir);
    context.style.color &= !args::no_color(&matches);
    let code = runtime.block_on(async {
        watch_interrupts(context.stop.clone(), context.abort.clone(), context.applying.clone());
        match cli {
            Cli { command: Some(command), .. } => dispatch(&mut context, command, &matches).await,
            Cli { install_autocomplete: true, .. } => commands::completion::install(&context),
            Cli { uninstall_autocomplete: true, .. } => commands::completion::uninstall(&context),
            _ => usage::overview(),
        }
    });
    runtime.shutdown_background();
    ExitCode::from(code)
}

async fn dispatch(cx: &mut Context, command: Command, matches: &clap::ArgMatches) -> Exit {
    let matches = matches.subcommand().map_or(matches, |(_, m)| m);
    match command {
        Command::Init(c) => c.run(cx, matches).await,
        Command::Validate(c) => c.run(cx, matches).await,
        Command::Plan(c) => c.run(cx, matches).await,
        Command::Apply(c) => c.run(cx, matches).await,
        Command::Destroy(c) => c.run(cx, matches).await,
        Command::Refresh(c) => c.run(cx, matches).await,
        Command::Show(c) => c.run(cx).await,
        Command::Output(c) => c.run(cx).await,
        Command::State(c) => c.run(cx).await,
        Command::Taint(c) => c.run(cx).await,
        Command::Untaint(c) => c.run(cx).await,
        Command::Import(c) => c.run(cx, matches).await,
        Command::Console(c) => c.run(cx, matches).await,
        Command::Test(c) => c.run(cx, matches).await,
        Command::Providers(c) => c.run(cx).await,
        Command::Workspace(c) => c.run(cx).await,
        Command::ForceUnlock(c) => c.run(cx).await,
        Command::Get(c) => c.run(cx, matches).await,
        Command::Fmt(c) => c.run(cx),
        Command::Graph(c) => c.run(cx).await,
        Command::Modules(c) => c.run(cx),
        Command::Metadata(c) => c.run(cx),
        Command::Version(c) => c.run(cx),
        Command::Completion(c) => c.run(cx),
        Command::Man(c) => c.run(cx),
    }
}

/// How long planning, or anything else that changes no objects, may take to notice an interrupt.
const GRACE: Duration = Duration::from_secs(3);

/// The first interrupt stops gracefully: operations that run may finish and are recorded. Where nothing is being changed
/// it ends the program soon, also in the middle of a long evaluation. The second ends it at once; the journal then says
/// what was under way. A command without a journal says itself what it leaves (see [`Abort`]).
fn watch_interrupts(stop: CancellationToken, abort: Abort, applying: Arc<AtomicBool>) {
    tokio::spawn(async move {
        let mut seen = 0;
        let Ok(mut term) = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) else { return };
        let mut deadline = None;
        loop {
            tokio::select! {
                r = tokio::signal::ctrl_c() => if r.is_err() { return },
                _ = term.recv() => {}
                () = tokio::time::sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => {
                    deadline = None;
                    if !applying.load(Ordering::SeqCst) {
                        eprintln!("\nStopped. No objects were changed.");
                        std::process::exit(i32::from(FAILED));
                    }
                    continue;
                }
            }
            seen += 1;
            if seen == 2 && abort.request() {
                eprintln!("\nTwo interrupts received. Stopping at once; what exists is listed.");
                continue;
            }
            let changing = applying.load(Ordering::SeqCst);
            if seen > 1 {
                eprintln!(
                    "{}",
                    if changing {
                        "\nStopped at once. Operations that were under way are in the journal; the next command says more."
                    } else {
                        "\nStopped at once. No objects were changed."
                    }
                );
                std::process::exit(i32::from(FAILED));
            }
            if changing {
                eprintln!(
                    "\nInterrupt received. Waiting for running operations to finish; a second interrupt stops at once (then \
                     the journal tells the next run what was under way)."
                );
            } else {
                eprintln!("\nInterrupt received. Stopping.");
                deadline = Some(Instant::now() + GRACE);
            }
            stop.cancel();
        }
    });
}

/// `TF_CLI_ARGS` goes before the arguments of every command, `TF_CLI_ARGS_plan` before those of `plan`,
/// `TF_CLI_ARGS_state_rm` before those of `state rm`.
fn with_environment_args(mut args: Vec<String>, env: &Environment) -> Result<Vec<String>, String> {
    let Some(at) = args.iter().position(|a| !a.starts_with('-')) else { return Ok(args) };
    let mut name = args[at].clone();
    let mut end = at + 1;
    if let Some(second) = args.get(end)
        && Cli::command().find_subcommand(&name).is_some_and(|c| c.find_subcommand(second).is_some())
    {
        name = format!("{name} {second}");
        end += 1;
    }
    let own = format!("TF_CLI_ARGS_{}", name.replace([' ', '-'], "_"));
    let mut extra = Vec::new();
    for name in ["TF_CLI_ARGS".to_owned(), own] {
        if let Some(text) = env.get(&name) {
            extra.extend(shlex::split(text).ok_or(format!("{name} has a quote that does not end."))?);
        }
    }
    args.splice(end..end, extra);
    Ok(args)
}

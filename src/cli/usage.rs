//! Arguments as a whole: parsing them, help, and what is said about arguments that make no sense. Exit codes are
//! Terraform's.

use super::context::{Environment, Style};
use super::{Cli, Exit, FAILED, OK, args, view};
use crate::diag::{Diagnostic, Diagnostics, Sources};
use clap::FromArgMatches;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::io::Write;

/// No command was given; the overview was shown instead.
const NO_COMMAND: Exit = 127;

/// Reads the arguments after the program's name, in the form that [`args::normalize`] gives them.
///
/// # Errors
/// The exit code to end with: help or an error was shown.
pub(super) fn parse(given: Vec<String>, env: &Environment) -> Result<(Cli, clap::ArgMatches), Exit> {
    let words = std::iter::once("gpuform").chain(given.iter().map(String::as_str));
    let parsed = super::command().try_get_matches_from(words);
    parsed.and_then(|m| Ok((Cli::from_arg_matches(&m)?, m))).map_err(|e| explain(&e, &given, env))
}

/// Shows all commands to somebody who named none.
pub(super) fn overview() -> Exit {
    print(&super::command().render_help().to_string());
    NO_COMMAND
}

fn explain(e: &clap::Error, given: &[String], env: &Environment) -> Exit {
    match e.kind() {
        ErrorKind::DisplayHelp => {
            print(&e.render().to_string());
            OK
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            print(&e.render().to_string());
            if given.iter().any(|a| !a.starts_with('-')) { FAILED } else { NO_COMMAND }
        }
        _ => {
            let mut style = Style::of_process(env);
            style.color &= !given.iter().any(|a| a == "--no-color");
            let error = Diagnostics::from(Diagnostic::error(summary(e), detail(e)));
            view::diagnostics::show(&error, &Sources::default(), style, false);
            FAILED
        }
    }
}

fn print(text: &str) {
    let _ = std::io::stdout().lock().write_all(args::help(text).as_bytes());
}

fn summary(e: &clap::Error) -> String {
    let context = |kind| match e.get(kind) {
        Some(ContextValue::String(s)) => s.as_str(),
        _ => "",
    };
    let (arg, value) = (context(ContextKind::InvalidArg), context(ContextKind::InvalidValue));
    match e.kind() {
        ErrorKind::InvalidSubcommand => {
            format!("There is no command named \"{}\"", context(ContextKind::InvalidSubcommand))
        }
        ErrorKind::UnknownArgument if !arg.starts_with('-') => "Too many command line arguments".into(),
        ErrorKind::ValueValidation if arg.starts_with("--target") => format!("Invalid target \"{value}\""),
        ErrorKind::ValueValidation if arg.starts_with("--replace") => {
            format!("Invalid force-replace address \"{value}\"")
        }
        ErrorKind::MissingRequiredArgument => "Missing command line arguments".into(),
        _ => "Failed to parse command-line flags".into(),
    }
}

/// The explanation, as a sentence and without what the summary has.
fn detail(e: &clap::Error) -> String {
    let text = args::help(&e.render().to_string());
    let text = text.strip_prefix("error: ").unwrap_or(&text).trim_end();
    let mut chars = text.chars();
    chars.next().map(|c| c.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

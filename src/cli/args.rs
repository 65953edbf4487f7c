//! The forms of arguments: Terraform's single-dash flags are brought into the double-dash form that clap reads, and
//! the flags that several commands share are defined once.

use crate::addr::{Mode, ResourceInstance, Target};
use crate::diag::{Diagnostic, Diagnostics};
use clap::{Arg, ArgAction, ArgMatches, Args, Command};
use std::any::TypeId;
use std::path::PathBuf;
use std::time::Duration;

/// The id of the flag `-no-color`.
const NO_COLOR: &str = "no_color";

/// Stands for the optional value of a boolean flag in help texts, which leave it out (see `help`).
const BOOLEAN: &str = "BOOL";

/// Brings `-flag`, `-flag=x` and `--flag` into one form. Single letters and everything after `--` stay as they are.
pub fn normalize(args: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut out = Vec::new();
    let mut args = args.into_iter();
    while let Some(a) = args.next() {
        if a == "--" {
            out.push(a);
            out.extend(args);
            break;
        }
        if out.iter().all(|a: &String| a.starts_with('-')) && matches!(&*a, "-v" | "-version" | "--version") {
            out.push("version".to_owned());
            continue;
        }
        let long = a.len() > 2 && a.starts_with('-') && !a.starts_with("--");
        if long && a.as_bytes().get(1).is_some_and(u8::is_ascii_alphabetic) {
            out.push(format!("-{a}"));
        } else {
            out.push(a);
        }
    }
    out
}

/// Completes the definitions of the commands: each has `-no-color`, every flag without a value may be given one too, as
/// in `-json=true` and `-refresh=0`, and of a flag that is given several times the last counts.
pub fn complete(command: Command) -> Command {
    let mut command = command.args_override_self(true);
    if command.get_arguments().all(|a| a.get_id() != NO_COLOR) && !command.has_subcommands() {
        command = command.arg(Arg::new(NO_COLOR).long("no-color").action(ArgAction::SetTrue).help("Use no colours"));
    }
    let change = |arg: Arg| match arg.get_action() {
        ArgAction::SetTrue => arg
            .action(ArgAction::Set)
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true")
            .default_value("false")
            .hide_default_value(true)
            .hide_possible_values(true)
            .value_name(BOOLEAN)
            .value_parser(boolean),
        ArgAction::Set if is_boolean(&arg) => arg.value_parser(boolean).value_name(BOOLEAN),
        _ => arg,
    };
    let names: Vec<String> = command.get_subcommands().map(|c| c.get_name().to_owned()).collect();
    command = command.mut_args(change);
    names.into_iter().fold(command, |c, name| c.mut_subcommand(name, complete))
}

/// Whether a flag is on or off.
pub fn is_boolean(arg: &Arg) -> bool {
    arg.get_value_parser().type_id() == TypeId::of::<bool>()
}

/// Text about arguments in the form in which people write them: flags with one dash, boolean ones without a value.
pub fn help(text: &str) -> String {
    let value = format!("[=<{BOOLEAN}>]");
    // In a table, what follows stays in its column.
    let text = text.replace(&format!("{value}  "), &" ".repeat(value.len() + 2)).replace(&value, "");
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '-' && chars.peek() == Some(&'-') && !before.is_alphanumeric() && before != '-' {
            chars.next();
            let flag = chars.peek().is_some_and(char::is_ascii_alphabetic);
            out.push_str(if flag { "-" } else { "--" });
        } else {
            out.push(c);
        }
        before = c;
    }
    out
}

/// Whether the command has `-no-color`.
pub fn no_color(matches: &ArgMatches) -> bool {
    let mut innermost = matches;
    while let Some((_, inner)) = innermost.subcommand() {
        innermost = inner;
    }
    matches!(innermost.try_get_one::<bool>(NO_COLOR), Ok(Some(true)))
}

/// The values of boolean flags, in the forms that Go's `strconv.ParseBool` reads.
fn boolean(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err("true or false expected".to_owned()),
    }
}

/// `5s`, `1m30s`, `0`: as in Terraform's `-lock-timeout`.
///
/// # Errors
/// What is wrong with the text.
pub fn duration(text: &str) -> Result<Duration, String> {
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let mut total = 0.0;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (n, after) = rest.split_at(digits);
        let unit = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
        let (u, after) = after.split_at(unit);
        let n: f64 = n.parse().map_err(|_| format!("\"{text}\" is not a duration such as 30s or 5m"))?;
        total += n * match u {
            "ms" => 0.001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return Err(format!("\"{text}\" is not a duration such as 30s or 5m")),
        };
        rest = after;
    }
    Duration::try_from_secs_f64(total).map_err(|_| format!("\"{text}\" is too long"))
}

fn target(text: &str) -> Result<Target, String> {
    text.parse().map_err(|e: crate::addr::ParseError| e.0)
}

/// A resource that can be replaced.
fn instance(text: &str) -> Result<ResourceInstance, String> {
    let addr: ResourceInstance = text.parse().map_err(|e: crate::addr::ParseError| e.0)?;
    if addr.resource.mode != Mode::Managed {
        return Err("Only managed resources can be replaced.".into());
    }
    Ok(addr)
}

/// Values of root variables, in the order in which they are given.
#[derive(Args, Clone, Default, Debug)]
pub struct Variables {
    /// Set an input variable of the root module, as NAME=VALUE. May be repeated.
    #[arg(long = "var", value_name = "NAME=VALUE", action = ArgAction::Append)]
    pub var: Vec<String>,
    /// Read input variables from a file. May be repeated.
    #[arg(long = "var-file", value_name = "FILE", action = ArgAction::Append)]
    pub var_file: Vec<PathBuf>,
}

/// A variable argument, in command line order.
#[derive(Clone, Debug)]
pub enum VariableArg {
    Var(String),
    File(PathBuf),
}

impl Variables {
    /// Both kinds merged in the order in which they were written.
    pub fn in_order(&self, matches: &ArgMatches) -> Vec<VariableArg> {
        let indices = |id: &str| matches.indices_of(id).map(|i| i.collect::<Vec<_>>()).unwrap_or_default();
        let vars = indices("var").into_iter().zip(self.var.iter().cloned().map(VariableArg::Var));
        let files = indices("var_file").into_iter().zip(self.var_file.iter().cloned().map(VariableArg::File));
        let mut all: Vec<(usize, VariableArg)> = vars.chain(files).collect();
        all.sort_by_key(|(i, _)| *i);
        all.into_iter().map(|(_, v)| v).collect()
    }
}

/// Locking of the state.
#[derive(Args, Clone, Debug)]
pub struct Lock {
    /// Hold a lock on the state while it is used.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "true", action = ArgAction::Set)]
    pub lock: bool,
    /// How long to wait for a lock that somebody else holds, e.g. 30s.
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = duration)]
    pub lock_timeout: Duration,
    /// Accepted for scripts that give it: it concerns remote states that another version wrote, which are never refused.
    #[arg(long, hide = true)]
    ignore_remote_version: bool,
}

/// A path, which may be empty: as good as not given.
pub fn path(text: &str) -> Result<PathBuf, std::convert::Infallible> {
    Ok(text.into())
}

/// Where a local state is kept (for the local backend only).
#[derive(Args, Clone, Default, Debug)]
pub struct StateFiles {
    /// Read the state from this file.
    #[arg(long, value_name = "FILE", value_parser = path)]
    pub state: Option<PathBuf>,
    /// Write the state to this file.
    #[arg(long, value_name = "FILE", value_parser = path)]
    pub state_out: Option<PathBuf>,
    /// Where to keep the previous state; "-" for nowhere.
    #[arg(long, value_name = "FILE", value_parser = path)]
    pub backup: Option<PathBuf>,
}

/// How output looks.
#[derive(Args, Clone, Default, Debug)]
pub struct Look {
    /// Use no colours.
    #[arg(long)]
    pub no_color: bool,
    /// Print machine-readable JSON, one message a line.
    #[arg(long)]
    pub json: bool,
    /// Show warnings as one line each where there are no errors.
    #[arg(long)]
    pub compact_warnings: bool,
}

/// What to plan.
#[derive(Args, Clone, Debug)]
pub struct Planning {
    /// Plan to destroy everything.
    #[arg(long)]
    pub destroy: bool,
    /// Only bring the state up to date.
    #[arg(long)]
    pub refresh_only: bool,
    /// Read the current state of objects first.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "true", action = ArgAction::Set)]
    pub refresh: bool,
    /// Restrict the plan to an object and what it needs. May be repeated.
    #[arg(long, value_name = "ADDRESS", action = ArgAction::Append, value_parser = target)]
    pub target: Vec<Target>,
    /// Leave out an object and what needs it. May be repeated.
    #[arg(long, value_name = "ADDRESS", action = ArgAction::Append, value_parser = target)]
    pub exclude: Vec<Target>,
    /// Replace an object even if nothing requires it. May be repeated.
    #[arg(long, value_name = "ADDRESS", action = ArgAction::Append, value_parser = instance)]
    pub replace: Vec<ResourceInstance>,
    #[command(flatten)]
    pub variables: Variables,
    /// Ask for missing input.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "true", action = ArgAction::Set)]
    pub input: bool,
    /// How many provider operations may run at once.
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub parallelism: usize,
}

impl Planning {
    /// Checks that the options go together.
    ///
    /// # Errors
    /// Every pair that does not.
    pub fn check(&self) -> Result<(), Diagnostics> {
        let mut diags = Diagnostics::new();
        let mut refuse = |summary: &str, detail: &str| diags.push(Diagnostic::error(summary, detail));
        if self.destroy && self.refresh_only {
            refuse(
                "Incompatible plan mode options",
                "-destroy plans to destroy everything and -refresh-only to change nothing: give one of them.",
            );
        }
        if self.refresh_only && !self.refresh {
            refuse("Incompatible refresh options", "With -refresh-only and -refresh=false there is nothing to do.");
        }
        if (self.destroy || self.refresh_only) && !self.replace.is_empty() {
            refuse(
                "Unsupported plan mode",
                "-replace belongs to a normal plan; it cannot be combined with -destroy or -refresh-only.",
            );
        }
        if diags.has_errors() { Err(diags) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_flags_are_the_same() {
        let given = ["plan", "-out=p", "--json", "-var", "a=-1", "-x", "--", "-raw"].map(str::to_owned);
        assert_eq!(normalize(given), ["plan", "--out=p", "--json", "--var", "a=-1", "-x", "--", "-raw"]);
    }

    #[test]
    fn durations_are_read_as_in_go() {
        assert_eq!(duration("1m30s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        assert!(duration("soon").is_err() && duration("5").is_err());
    }

    #[test]
    fn help_shows_flags_with_one_dash() {
        let text = "Usage: x [--a[=<BOOL>]] -- ---\n  -h, --help  a--b\n --c[=<BOOL>]  d";
        assert_eq!(help(text), "Usage: x [-a] -- ---\n  -h, -help  a--b\n -c           d");
    }

    #[test]
    fn flags_take_the_boolean_values_of_go() {
        let command = complete(Look::augment_args(Command::new("x")));
        let json = |given: &str| {
            let args = ["x", given].into_iter().filter(|a| !a.is_empty());
            command.clone().try_get_matches_from(args).map(|m| m.get_flag("json")).ok()
        };
        let found = ["", "--json", "--json=true", "--json=T", "--json=0", "--json=maybe"].map(json);
        assert_eq!(found, [Some(false), Some(true), Some(true), Some(true), Some(false), None]);
    }

    #[test]
    fn options_that_contradict_each_other_are_refused() {
        let refused = |args: &[&str]| {
            let matches = Planning::augment_args(Command::new("x")).get_matches_from([&["x"], args].concat());
            <Planning as clap::FromArgMatches>::from_arg_matches(&matches).unwrap().check().is_err()
        };
        assert!(refused(&["--destroy", "--refresh-only"]));
        assert!(refused(&["--refresh-only", "--refresh=false"]));
        assert!(refused(&["--destroy", "--replace=a.b"]));
        assert!(!refused(&["--destroy", "--refresh=false"]) && !refused(&["--replace=a.b"]));
    }
}

//! `cargo xtask`: the tasks of a checkout. One file per task (`quickstart`, `test`, `bench`); the others are what tasks share:
//! the workspace's folders and executables, the Python environment, the cloud on loopback, and child processes that
//! never outlive the task.

mod bench;
mod cloud;
mod instructions;
mod process;
mod python;
mod quickstart;
mod test;
mod workspace;

use std::process::ExitCode;

/// A task that cannot go on: the message for the user.
pub type Result<T = ()> = std::result::Result<T, String>;

const HELP: &str = "\
Tasks of this checkout:

  cargo xtask quickstart [--keep] [--release]
      Builds gpuform and its AWS provider, starts an AWS API on this machine, and takes examples/quickstart from
      init to destroy. No account is needed and nothing costs anything.
        --keep      leaves the stack running, says how to go on, and ends with Ctrl-C
        --release   an optimised build (takes longer)

  cargo xtask test [ARGUMENTS OF cargo test]
      Runs every test. With arguments, only those tests: cargo xtask test --test aws examples

  cargo xtask bench [--quick] [--only ROW]... [--executables FOLDER]
      Measures gpuform beside Terraform (where there is one in PATH) and writes docs/bench/. All of it takes about half
      an hour, most of which is Terraform's.
        --quick               small sizes, about a minute
        --only ROW            that row of the table only, and nothing is written
        --executables FOLDER  measures gpuform and the demo provider in this folder instead of building them
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.split_first() {
        Some((task, rest)) if task == "quickstart" => quickstart::run(rest),
        Some((task, rest)) if task == "test" => test::run(rest),
        Some((task, rest)) if task == "bench" => bench::run(rest),
        Some((help, _)) if ["help", "-h", "--help"].contains(&help.as_str()) => {
            print!("{HELP}");
            Ok(())
        }
        Some((other, _)) => Err(format!("there is no task \"{other}\".\n\n{HELP}")),
        None => Err(HELP.to_owned()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("\n{message}");
            ExitCode::FAILURE
        }
    }
}

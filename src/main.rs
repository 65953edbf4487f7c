//! The executable: hands the arguments to the command.

use gpuform::cli::console;
use gpuform::diag::Sources;
use gpuform::lang::scope::EmptyScope;
use std::io::Read;
use std::process::ExitCode;

fn main() -> ExitCode {
    let command: Vec<String> = std::env::args().skip(1).collect();
    if command != ["console"] {
        eprintln!("Error: the only command so far is \"console\"");
        return ExitCode::FAILURE;
    }
    let mut input = Vec::new();
    if let Err(e) = std::io::stdin().read_to_end(&mut input) {
        eprintln!("Error: cannot read the input: {e}");
        return ExitCode::FAILURE;
    }
    let input = String::from_utf8_lossy(&input);
    match console::evaluate(&input, &Sources::default(), &mut |_, _| {}, &EmptyScope::default()) {
        Ok(Some(answer)) => println!("{answer}"),
        Ok(None) => {}
        Err(diags) => {
            for d in &diags {
                eprintln!("\n{d}\n");
            }
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

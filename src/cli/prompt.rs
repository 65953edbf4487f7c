//! Questions to the user on the terminal or, line by line, on standard input.

use crate::cli::context::Context;
use crate::diag::{Diagnostic, Result};
use std::io::Write;

/// Asks whether a plan is to be carried out; only `yes` approves.
///
/// # Errors
/// There is no answer to be had.
pub fn approve(cx: &Context, destroy: bool, workspace: &str) -> Result<bool> {
    let place = if workspace == "default" { String::new() } else { format!(" in workspace \"{workspace}\"") };
    let (question, what) = if destroy {
        (
            format!("Do you really want to destroy all resources{place}?"),
            "gpuform will destroy everything that is listed above. There is no undo.",
        )
    } else {
        (format!("Do you want to perform these actions{place}?"), "gpuform will perform the actions described above.")
    };
    let text = format!("\n{question}\n  {what}\n  Only 'yes' will be accepted to approve.\n\n  Enter a value: ");
    let answer = ask(cx, &text)?;
    if answer.trim() == "yes" {
        return Ok(true);
    }
    let name = if destroy { "Destroy" } else { "Apply" };
    cx.println(&format!("\n{name} cancelled."));
    Ok(false)
}

/// Shows a text and reads one line.
///
/// # Errors
/// Standard input has ended or cannot be read.
pub fn ask(cx: &Context, text: &str) -> Result<String> {
    cx.print(text);
    let mut line = String::new();
    match std::io::stdin().read_line(&mut line) {
        Ok(0) => {
            let _ = writeln!(std::io::stdout());
            Err(Box::new(Diagnostic::error(
                "No answer",
                "Standard input ended before the question was answered. Run in a terminal, or use -auto-approve and give \
                 variables with -var.",
            )))
        }
        Ok(_) => Ok(line.trim_end_matches(['\n', '\r']).to_owned()),
        Err(e) => Err(Box::new(Diagnostic::error("No answer", format!("Standard input cannot be read: {e}.")))),
    }
}

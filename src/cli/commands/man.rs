//! `gpuform man`

use crate::cli::context::Context;
use crate::cli::{Exit, OK, args};
use clap::Command;
use std::fmt::Write as _;

/// Print the manual page, which "gpuform man | man -l -" shows.
#[derive(clap::Args, Debug)]
pub struct Man {}

impl Man {
    pub fn run(self, cx: &Context) -> Exit {
        cx.print(&page(&mut crate::cli::command()));
        OK
    }
}

/// The definition of the command line in the language of manual pages.
fn page(root: &mut Command) -> String {
    root.build();
    let about = root.get_about().map(ToString::to_string).unwrap_or_default();
    let mut out = format!(".TH GPUFORM 1 \"\" \"gpuform {}\"\n", env!("CARGO_PKG_VERSION"));
    let _ = writeln!(out, ".SH NAME\ngpuform \\- {}", escaped(&about));
    out.push_str(".SH SYNOPSIS\n.B gpuform\n[\\fB\\-chdir=\\fIDIR\\fR] \\fICOMMAND\\fR [\\fIARGUMENTS\\fR]\n");
    out.push_str(".SH OPTIONS\n");
    arguments(root, &mut out);
    out.push_str(".SH COMMANDS\n");
    commands(root, &mut out);
    out.push_str(".SH EXIT STATUS\n");
    out.push_str(
        "0 on success, 1 on errors; 2 for \\fBplan \\-detailed\\-exitcode\\fR with changes and for \\fBfmt\\fR with \
                  errors, 3 for \\fBfmt \\-check\\fR with files that are not in canonical form.\n",
    );
    out
}

fn commands(parent: &Command, out: &mut String) {
    for c in parent.get_subcommands().filter(|c| !c.is_hide_set()) {
        let usage = c.clone().render_usage().to_string();
        let usage = args::help(&usage);
        let _ = writeln!(out, ".SS \"{}\"", escaped(usage.trim_start_matches("Usage: ")));
        let about = c.get_long_about().or(c.get_about()).map(ToString::to_string).unwrap_or_default();
        for paragraph in about.split("\n\n") {
            let _ = writeln!(out, ".PP\n{}", escaped(paragraph));
        }
        arguments(c, out);
        commands(c, out);
    }
}

fn arguments(command: &Command, out: &mut String) {
    for arg in command.get_arguments().filter(|a| !a.is_hide_set() && a.get_id() != "help") {
        let name = args::help(&arg.to_string());
        let about = arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default();
        let _ = writeln!(out, ".TP\n\\fB{}\\fR\n{}", escaped(&name), escaped(&about));
    }
}

/// Text that is nothing but text in that language.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-").replace('"', "\\(dq");
    let lines = text.lines().map(|l| if l.starts_with(['.', '\'']) { format!("\\&{l}") } else { l.to_owned() });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_every_command_with_its_flags() {
        let page = page(&mut crate::cli::command());
        for part in ["\\fB\\-chdir", "state mv", "fmt", "\\fB\\-detailed\\-exitcode\\fR", "\\fB\\-out"] {
            assert!(page.contains(part), "{part}\n{page}");
        }
        assert!(!page.contains("\\-\\-detailed"));
    }

    #[test]
    fn text_is_not_taken_for_requests() {
        assert_eq!(escaped(".SH a-b\\c"), "\\&.SH a\\-b\\ec");
    }
}

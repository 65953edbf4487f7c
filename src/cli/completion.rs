//! Completion of command lines. A shell that completes asks the program itself: it passes the line so far in `COMP_LINE`
//! and gets the candidates for the last word, one a line. So there is one definition of arguments, that of the commands.
//! Here are also the lines that make a shell ask, and their way into its start-up files.

use crate::cli::args::is_boolean;
use crate::cli::context::Environment;
use clap::{ArgAction, Command};
use std::path::{Path, PathBuf};

/// A shell that can ask.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Shell {
    Bash,
    Zsh,
    Fish,
}

impl Shell {
    const ALL: [Shell; 3] = [Shell::Bash, Shell::Zsh, Shell::Fish];

    /// The line that makes the shell ask `program` (an absolute path) about command lines that begin with `gpuform`.
    pub fn line(self, program: &Path) -> String {
        let program = program.display();
        match self {
            Shell::Bash => format!("complete -o default -C '{program}' gpuform"),
            Shell::Zsh => format!(
                "autoload -Uz compinit bashcompinit && compinit && bashcompinit && complete -o default -C '{program}' gpuform"
            ),
            Shell::Fish => format!(
                "complete -c gpuform -a '(env COMP_LINE=(commandline -cp) GPUFORM_COMPLETE=fish \"{program}\")'"
            ),
        }
    }

    /// The start-up file that the line goes into; `None` if the shell is not used.
    fn file(self, home: &Path) -> Option<PathBuf> {
        match self {
            Shell::Bash => [".bashrc", ".bash_profile", ".bash_login", ".profile"]
                .iter()
                .map(|f| home.join(f))
                .find(|f| f.is_file()),
            Shell::Zsh => Some(home.join(".zshrc")).filter(|f| f.is_file()),
            Shell::Fish => {
                let dir = home.join(".config/fish");
                dir.is_dir().then(|| dir.join("completions/gpuform.fish"))
            }
        }
    }
}

/// The answer to the shell, if it asks.
pub fn answer(env: &Environment, root: impl FnOnce() -> Command) -> Option<String> {
    let line = env.get("COMP_LINE")?;
    let end = env.get("COMP_POINT").and_then(|p| p.parse().ok()).unwrap_or(line.len());
    let whole_word = env.get("GPUFORM_COMPLETE") == Some("fish");
    Some(candidates(&root(), line.get(..end).unwrap_or(line), whole_word).iter().map(|c| format!("{c}\n")).collect())
}

/// What the last word of a line could be. After `-flag=`, only the value is a candidate, unless the shell wants the
/// `whole_word`.
fn candidates(root: &Command, line: &str, whole_word: bool) -> Vec<String> {
    let mut words = line.split_whitespace().skip(1).collect::<Vec<_>>();
    let last = if line.ends_with(char::is_whitespace) { "" } else { words.pop().unwrap_or("") };
    let mut command = root;
    let mut value_of = None;
    for word in words {
        if value_of.take().is_some() {
            continue;
        }
        if word.starts_with('-') {
            value_of = flag(command, word).filter(|a| takes_next_word(a));
        } else if let Some(sub) = command.find_subcommand(word) {
            command = sub;
        }
    }
    let mut found = if let Some(arg) = value_of {
        values(arg)
    } else if let Some((name, _)) = last.split_once('=').filter(|_| last.starts_with('-')) {
        let prefix = if whole_word { format!("{name}=") } else { String::new() };
        let start = if whole_word { last } else { last.get(name.len() + 1..).unwrap_or("") };
        let values = flag(command, name).map(values).unwrap_or_default();
        return values.into_iter().map(|v| format!("{prefix}{v}")).filter(|v| v.starts_with(start)).collect();
    } else if last.starts_with('-') {
        let dashes = if last.starts_with("--") { "--" } else { "-" };
        let longs = command.get_arguments().filter(|a| !a.is_hide_set()).filter_map(|a| a.get_long());
        longs.chain(["help"]).map(|l| format!("{dashes}{l}")).collect()
    } else {
        command.get_subcommands().filter(|c| !c.is_hide_set()).map(|c| c.get_name().to_owned()).collect()
    };
    found.retain(|c| c.starts_with(last));
    found.sort();
    found.dedup();
    found
}

fn flag<'a>(command: &'a Command, word: &str) -> Option<&'a clap::Arg> {
    let name = word.trim_start_matches('-');
    if name.contains('=') {
        return None;
    }
    command.get_arguments().find(|a| a.get_long() == Some(name))
}

fn takes_next_word(arg: &clap::Arg) -> bool {
    matches!(arg.get_action(), ArgAction::Set | ArgAction::Append) && !arg.is_require_equals_set()
}

fn values(arg: &clap::Arg) -> Vec<String> {
    if is_boolean(arg) {
        return vec!["true".into(), "false".into()];
    }
    arg.get_possible_values().iter().map(|v| v.get_name().to_owned()).collect()
}

/// Adds the line for each shell in use to its start-up file; gives the files.
///
/// # Errors
/// It is there already, no shell is in use, or a file cannot be written.
pub fn install(env: &Environment, program: &Path) -> Result<Vec<PathBuf>, String> {
    edit(env, |file, shell| {
        let line = shell.line(program);
        let text = if file.exists() { read(file)? } else { String::new() };
        if text.lines().any(|l| l == line) {
            return Err(format!("{} has it already.", file.display()));
        }
        if let Some(dir) = file.parent() {
            std::fs::create_dir_all(dir).map_err(|e| format!("{}: {e}.", dir.display()))?;
        }
        let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        write(file, &format!("{text}{gap}{line}\n"))
    })
}

/// Takes the lines out again; gives the files.
///
/// # Errors
/// There is no such line, or a file cannot be written.
pub fn uninstall(env: &Environment, program: &Path) -> Result<Vec<PathBuf>, String> {
    edit(env, |file, shell| {
        let line = shell.line(program);
        let text = if file.exists() { read(file)? } else { String::new() };
        let rest: String = text.split_inclusive('\n').filter(|l| l.trim_end_matches('\n') != line).collect();
        if rest == text {
            return Err(format!("{} does not have it.", file.display()));
        }
        if rest.is_empty() {
            return std::fs::remove_file(file).map_err(|e| format!("{}: {e}.", file.display()));
        }
        write(file, &rest)
    })
}

/// Does something to the start-up file of every shell in use.
fn edit(env: &Environment, change: impl Fn(&Path, Shell) -> Result<(), String>) -> Result<Vec<PathBuf>, String> {
    let home = env.home().ok_or("HOME is not set.")?;
    let used: Vec<(PathBuf, Shell)> =
        Shell::ALL.into_iter().filter_map(|shell| Some((shell.file(&home)?, shell))).collect();
    if used.is_empty() {
        return Err(format!("There is no start-up file of bash, zsh or fish in {}.", home.display()));
    }
    let (done, failed): (Vec<_>, Vec<_>) =
        used.into_iter().map(|(file, shell)| change(&file, shell).map(|()| file)).partition(Result::is_ok);
    let failed: Vec<String> = failed.into_iter().filter_map(Result::err).collect();
    if failed.is_empty() { Ok(done.into_iter().flatten().collect()) } else { Err(failed.join("\n")) }
}

fn read(file: &Path) -> Result<String, String> {
    std::fs::read_to_string(file).map_err(|e| format!("{}: {e}.", file.display()))
}

fn write(file: &Path, text: &str) -> Result<(), String> {
    std::fs::write(file, text).map_err(|e| format!("{}: {e}.", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(line: &str) -> Vec<String> {
        candidates(&crate::cli::command(), line, false)
    }

    #[test]
    fn commands_and_their_parts_are_candidates() {
        assert_eq!(asked("gpuform wor"), ["workspace"]);
        assert_eq!(asked("gpuform workspace se"), ["select"]);
        assert_eq!(asked("gpuform -chdir=x state m"), ["mv"]);
        assert!(asked("gpuform ").contains(&"plan".to_owned()));
        assert!(asked("gpuform plan ").is_empty());
    }

    #[test]
    fn flags_are_candidates_in_the_form_that_was_begun() {
        assert_eq!(asked("gpuform plan -lock"), ["-lock", "-lock-timeout"]);
        assert_eq!(asked("gpuform plan --lock-"), ["--lock-timeout"]);
        assert_eq!(asked("gpuform plan -out x -js"), ["-json"]);
        assert!(asked("gpuform plan -out ").is_empty());
    }

    #[test]
    fn values_of_flags_are_candidates() {
        assert_eq!(asked("gpuform plan -lock="), ["true", "false"]);
        assert_eq!(asked("gpuform plan -lock=f"), ["false"]);
        assert_eq!(candidates(&crate::cli::command(), "gpuform plan -lock=f", true), ["-lock=false"]);
    }

    #[test]
    fn start_up_files_are_changed_and_changed_back() {
        let home = tempfile::tempdir().unwrap();
        let bashrc = home.path().join(".bashrc");
        std::fs::write(&bashrc, "alias x=y").unwrap();
        std::fs::create_dir_all(home.path().join(".config/fish")).unwrap();
        let mut env = Environment::default();
        env.variables.insert("HOME".into(), home.path().display().to_string());
        let program = Path::new("/opt/gpuform");
        assert_eq!(install(&env, program).unwrap().len(), 2);
        let expected = "alias x=y\ncomplete -o default -C '/opt/gpuform' gpuform\n";
        assert_eq!(std::fs::read_to_string(&bashrc).unwrap(), expected);
        assert!(install(&env, program).is_err());
        assert_eq!(uninstall(&env, program).unwrap().len(), 2);
        assert_eq!(std::fs::read_to_string(&bashrc).unwrap(), "alias x=y\n");
        assert!(!home.path().join(".config/fish/completions/gpuform.fish").exists());
        assert!(uninstall(&env, program).is_err());
    }
}

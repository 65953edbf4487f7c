//! What a small plan costs in instructions, counted by callgrind: unlike time, that hardly depends on what else the
//! machine does, so that a test can tell when it grows. The figure to compare with is in `tests/instructions.max`,
//! beside the compiler that it holds for.

use crate::Result;
use crate::bench::inputs;
use crate::process::Interrupt;
use crate::workspace::Workspace;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

/// Resources in the plan that is counted.
const SIZE: u32 = 300;
/// More than this many per cent of the recorded figure is a failure.
const LIMIT: u64 = 110;

/// How the count ended.
pub enum Verdict {
    /// Within the limit.
    Kept,
    /// Not counted, and why.
    Skipped(String),
}

/// Counts, and compares with what is recorded.
///
/// # Errors
/// More instructions than allowed, or the count failed.
pub fn check(workspace: &Workspace, interrupt: &Interrupt) -> Result<Verdict> {
    let file = workspace.root.join("tests/instructions.max");
    let text = fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
    let recorded = Recorded::parse(&text).ok_or_else(|| format!("{}: \"COUNT COMPILER\" expected.", file.display()))?;
    let Some(compiler) = first_line(&mut Command::new("rustc"), "--version") else {
        return Ok(Verdict::Skipped("rustc is not there".to_owned()));
    };
    if first_line(&mut Command::new("valgrind"), "--version").is_none() {
        return Ok(Verdict::Skipped("valgrind is not there".to_owned()));
    }
    let count = count(workspace, interrupt)?;
    println!("A plan of {SIZE} resources: {count} instructions ({compiler}).");
    if compiler != recorded.compiler {
        return Ok(Verdict::Skipped(format!("the recorded figure is that of {}", recorded.compiler)));
    }
    if count > recorded.count / 100 * LIMIT {
        return Err(format!(
            "A plan of {SIZE} resources takes {count} instructions, {}.{} % of the {} that {} records. Find out what grew \
             (valgrind --tool=callgrind); where the growth is worth it, record the new figure.",
            count * 100 / recorded.count,
            count * 1000 / recorded.count % 10,
            recorded.count,
            file.display()
        ));
    }
    Ok(Verdict::Kept)
}

/// What `tests/instructions.max` says.
#[derive(PartialEq, Debug)]
struct Recorded {
    count: u64,
    compiler: String,
}

impl Recorded {
    fn parse(text: &str) -> Option<Recorded> {
        let (count, compiler) = text.trim().split_once(' ')?;
        Some(Recorded { count: count.parse().ok().filter(|n| *n > 0)?, compiler: compiler.to_owned() })
    }
}

fn first_line(command: &mut Command, argument: &str) -> Option<String> {
    let out = command.arg(argument).output().ok().filter(|o| o.status.success())?;
    String::from_utf8_lossy(&out.stdout).lines().next().map(str::to_owned)
}

/// Instructions of `gpuform plan`, unoptimised as the tests build it.
fn count(workspace: &Workspace, interrupt: &Interrupt) -> Result<u64> {
    let folder = workspace.target.join(format!("instructions-{}", std::process::id()));
    let counted = count_in(&folder, &workspace.executable("gpuform", false), interrupt);
    let _ = fs::remove_dir_all(&folder);
    counted
}

fn count_in(folder: &Path, program: &Path, interrupt: &Interrupt) -> Result<u64> {
    let failed = |e: std::io::Error| format!("{}: {e}", folder.display());
    fs::create_dir_all(folder).and_then(|()| inputs::chains(folder, SIZE)).map_err(failed)?;
    let log = folder.join("callgrind.log");
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(format!("--log-file={}", log.display()));
    command.arg(program).args(["plan", "-input=false", "-no-color"]).current_dir(folder);
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", folder);
    let shown = File::create(folder.join("plan.log")).map_err(failed)?;
    command.stdin(Stdio::null()).stdout(shown);
    interrupt.run(&mut command)?;
    let text = fs::read_to_string(&log).map_err(failed)?;
    collected(&text).ok_or_else(|| format!("callgrind did not say how many instructions it has counted:\n{text}"))
}

/// The count in callgrind's last words, `==12345== Collected : 987654321`.
fn collected(log: &str) -> Option<u64> {
    log.lines().find_map(|l| l.split_once("Collected :")?.1.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_read_as_callgrind_writes_it() {
        assert_eq!(collected("==7== Events    : Ir\n==7== Collected : 987654321\n"), Some(987_654_321));
        assert_eq!(collected("==7== nothing"), None);
    }

    #[test]
    fn the_recorded_figure_has_its_compiler() {
        let recorded = Recorded { count: 12, compiler: "rustc 1.95.0 (abc 2026-01-01)".to_owned() };
        assert_eq!(Recorded::parse("12 rustc 1.95.0 (abc 2026-01-01)\n"), Some(recorded));
        assert_eq!(Recorded::parse("rustc"), None);
    }
}

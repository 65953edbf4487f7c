//! `cargo xtask test`: every test. Builds what the tests start, prepares the Python environment, and hands both to
//! the tests; then the tests of the test cloud, the conformance cases where they are at hand, what a small plan costs, and
//! cargo's tests.
//! The last line sums all of them, in the form of cargo's own.

use crate::instructions::{self, Verdict};
use crate::process::Interrupt;
use crate::workspace::Workspace;
use crate::{Result, python};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// Runs the task.
///
/// # Errors
/// When a test fails, when something cannot be built, or at Ctrl-C.
pub fn run(arguments: &[String]) -> Result {
    let start = Instant::now();
    let workspace = Workspace::find()?;
    let interrupt = Interrupt::listen()?;
    let run = Run { python: python::environment(&workspace, &interrupt)?, workspace, interrupt };
    run.interrupt.run(&mut run.workspace.cargo(&["build", "--workspace", "--all-targets"]))?;
    let mut total = Counts::default();
    if arguments.is_empty() {
        total.add(&run.cloud()?);
        total.add(&run.conformance()?);
        total.add(&run.instructions()?);
        total.add(&run.cargo(&["--workspace".to_owned(), "--no-fail-fast".to_owned()])?);
    } else {
        total.add(&run.cargo(arguments)?);
    }
    println!("\nAll of it:\n\n{}", total.line(start.elapsed().as_secs_f64()));
    if total.failed == 0 { Ok(()) } else { Err(format!("{} failed; see above.", total.failed)) }
}

/// How tests ended.
#[derive(Default, PartialEq, Debug)]
struct Counts {
    passed: u64,
    failed: u64,
    ignored: u64,
}

impl Counts {
    fn add(&mut self, other: &Counts) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
    }

    fn line(&self, seconds: f64) -> String {
        let verdict = if self.failed == 0 { "ok" } else { "FAILED" };
        format!(
            "test result: {verdict}. {} passed; {} failed; {} ignored; 0 measured; 0 filtered out; finished in {seconds:.2}s",
            self.passed, self.failed, self.ignored
        )
    }

    /// Reads cargo's line about one test executable.
    fn of_cargo(line: &str) -> Option<Counts> {
        let rest = line.strip_prefix("test result: ")?;
        let number = |word: &str| {
            rest.split("; ").find_map(|part| {
                let part = part.rsplit_once(". ").map_or(part, |(_, p)| p);
                part.strip_suffix(word)?.trim().parse().ok()
            })
        };
        Some(Counts { passed: number("passed")?, failed: number("failed")?, ignored: number("ignored")? })
    }
}

/// What all kinds of tests need.
struct Run {
    workspace: Workspace,
    python: PathBuf,
    interrupt: Interrupt,
}

impl Run {
    /// The Rust tests. They find the Python environment in `GPUFORM_TEST_PYTHON`.
    fn cargo(&self, arguments: &[String]) -> Result<Counts> {
        let mut command = self.workspace.cargo(&["test"]);
        command.args(arguments).env("GPUFORM_TEST_PYTHON", &self.python);
        let (mut counts, mut success) = (Counts::default(), true);
        self.lines(&mut command, &mut success, |line| {
            println!("{line}");
            if let Some(c) = Counts::of_cargo(line) {
                counts.add(&c);
            }
        })?;
        if !success && counts.failed == 0 {
            return Err("cargo test did not get to its end; see above.".to_owned());
        }
        Ok(counts)
    }

    /// The tests of the AWS API on loopback.
    fn cloud(&self) -> Result<Counts> {
        println!("\n     Running the tests of tests/clouds");
        let folder = self.workspace.root.join("tests/clouds");
        let mut command = Command::new(&self.python);
        command.args(["-m", "unittest"]).current_dir(folder).stdin(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|e| format!("{} cannot be started: {e}", self.python.display()))?;
        let mut report = String::new();
        if let Some(mut out) = child.stderr.take() {
            let _ = out.read_to_string(&mut report);
        }
        let success = self.interrupt.wait(child)?.success();
        print!("{report}");
        let ran = number_after(&report, "Ran ").ok_or("The tests of tests/clouds did not get to their end.")?;
        let bad = ["failures=", "errors="].iter().filter_map(|w| number_after(&report, w)).sum::<u64>();
        let failed = bad.max(u64::from(!success));
        let ignored = number_after(&report, "skipped=").unwrap_or(0);
        Ok(Counts { passed: ran.saturating_sub(failed + ignored), failed, ignored })
    }

    /// The conformance cases beside the checkout, or where `GPUFORM_COMPAT` says. Cases are known to fail: what counts
    /// is that not fewer pass than `tests/compat.min` records.
    fn conformance(&self) -> Result<Counts> {
        let runner = match std::env::var_os("GPUFORM_COMPAT") {
            Some(path) => PathBuf::from(path),
            None => self.workspace.root.join("../shared/compat/run"),
        };
        if !runner.exists() {
            println!("\nConformance cases: skipped, {} is not there.", runner.display());
            return Ok(Counts::default());
        }
        println!("\n     Running the conformance cases of {}", runner.display());
        let mut command = Command::new(&runner);
        command.arg("--bin").arg(self.workspace.executable("gpuform", false));
        let (mut last, mut success) = (String::new(), true);
        self.lines(&mut command, &mut success, |line| {
            println!("{line}");
            last = line.to_owned();
        })?;
        let pass = passing(&last).ok_or("The conformance runner did not get to its end.")?;
        let minimum = minimum(&self.workspace.root.join("tests/compat.min"))?;
        if pass.0 < minimum.0 || pass.1 < minimum.1 {
            return Err(format!(
                "Fewer conformance cases pass than tests/compat.min records: {} of {} expressions, {} of {} configurations.",
                pass.0, minimum.0, pass.1, minimum.1
            ));
        }
        Ok(Counts { passed: pass.0 + pass.1, ..Counts::default() })
    }

    /// What a small plan costs; counts as one test.
    fn instructions(&self) -> Result<Counts> {
        println!("\n     Counting instructions");
        match instructions::check(&self.workspace, &self.interrupt)? {
            Verdict::Kept => Ok(Counts { passed: 1, ..Counts::default() }),
            Verdict::Skipped(why) => {
                println!("Not compared: {why}.");
                Ok(Counts { ignored: 1, ..Counts::default() })
            }
        }
    }

    /// Runs a command and hands on its output line by line.
    fn lines(&self, command: &mut Command, success: &mut bool, mut each: impl FnMut(&str)) -> Result {
        let name = command.get_program().to_string_lossy().into_owned();
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| format!("{name} cannot be started: {e}"))?;
        if let Some(out) = child.stdout.take() {
            let mut lines = BufReader::new(out).split(b'\n');
            while let Some(Ok(line)) = lines.next() {
                each(&String::from_utf8_lossy(&line));
            }
        }
        *success = self.interrupt.wait(child)?.success();
        Ok(())
    }
}

/// The first number that follows a word: `Ran 12 tests`, `failures=3`.
fn number_after(text: &str, word: &str) -> Option<u64> {
    let (_, rest) = text.rsplit_once(word)?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).map_or(rest, |end| rest.get(..end).unwrap_or_default());
    digits.parse().ok()
}

/// Passed expressions and configurations, from `expr 10 passed, 2 failed; configs 4 passed, 0 failed`.
fn passing(line: &str) -> Option<(u64, u64)> {
    Some((number_after(line, "expr ")?, number_after(line, "configs ")?))
}

fn minimum(file: &Path) -> Result<(u64, u64)> {
    let text = std::fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
    passing(&text).ok_or_else(|| format!("{}: \"expr N\" and \"configs N\" expected.", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_as_cargo_writes_them() {
        let line = "test result: FAILED. 12 passed; 3 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.02s";
        let counts = Counts::of_cargo(line).unwrap();
        assert_eq!(counts, Counts { passed: 12, failed: 3, ignored: 1 });
        assert_eq!(Counts::of_cargo(&counts.line(1.0)), Some(counts));
        assert_eq!(Counts::of_cargo("test a::b ... ok"), None);
    }

    #[test]
    fn counts_are_read_as_the_conformance_runner_writes_them() {
        assert_eq!(passing("expr 10 passed, 2 failed; configs 4 passed, 0 failed, 3 skipped"), Some((10, 4)));
        assert_eq!(passing("expr none"), None);
    }
}

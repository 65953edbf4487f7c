//! A test run as JSON: one message a line, in the published types of Terraform's machine-readable user interface.

use super::{summary, word};
use crate::addr::ResourceInstance;
use crate::cli::view::json::write::{array, object, string};
use crate::cli::view::json::{diagnostic_into, test_plan, test_state};
use crate::cli::view::stream::{About, emit_about};
use crate::diag::{Diagnostics, Severity, Sources};
use crate::testing::model::{Run, TestFile};
use crate::testing::{Counts, Left, Outcome, Reached, Shown, Stage, Status, Watcher};
use std::time::Duration;

pub struct Stream {
    sources: Sources,
}

impl Stream {
    pub fn new(sources: &Sources) -> Stream {
        Stream { sources: sources.clone() }
    }

    fn diagnostics(&self, diags: &Diagnostics, about: About<'_>) {
        for d in diags {
            let (level, word) = match d.severity {
                Severity::Error => ("error", "Error"),
                Severity::Warning => ("warn", "Warning"),
            };
            emit_about(level, &format!("{word}: {}", d.summary), about, "diagnostic", |m| {
                diagnostic_into(d, &self.sources, m.key("diagnostic"));
            });
        }
    }
}

fn of_file(file: &TestFile) -> About<'_> {
    About { file: Some(&file.name), run: None }
}

fn of_run<'a>(file: &'a TestFile, run: &'a Run) -> About<'a> {
    About { file: Some(&file.name), run: Some(&run.name) }
}

/// The status as programs read it: what is false and what could not be carried out are different things.
fn exact(status: Status) -> &'static str {
    match status {
        Status::Error => "error",
        other => word(other),
    }
}

fn left_json(left: &Left, out: &mut String) {
    object(out, |m| {
        m.display("instance", &left.addr);
        if let Some(key) = left.deposed {
            m.display("deposed_key", key);
        }
    });
}

fn plural(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

impl Watcher for Stream {
    fn begin(&self, files: &[&TestFile]) {
        let runs = files.iter().map(|f| f.runs.len()).sum();
        let text = format!("Found {} and {}", plural(files.len(), "file"), plural(runs, "run block"));
        emit_about("info", &text, About::default(), "test_abstract", |m| {
            m.object("test_abstract", |m| {
                for file in files {
                    if file.runs.is_empty() {
                        m.null(&file.name);
                    } else {
                        m.array(&file.name, &file.runs, |r, out| string(out, &r.name));
                    }
                }
            });
        });
    }

    fn file(&self, file: &TestFile, stage: Stage) {
        let (text, progress) =
            if stage == Stage::Teardown { ("tearing down", "teardown") } else { ("in progress", "starting") };
        emit_about("info", &format!("{}... {text}", file.name), of_file(file), "test_file", |m| {
            m.object("test_file", |m| {
                m.string("path", &file.name);
                m.string("progress", progress);
            });
        });
    }

    fn run(&self, file: &TestFile, run: &Run, stage: Stage, elapsed: Duration) {
        let (text, progress) = match stage {
            Stage::Starting => ("in progress", "starting"),
            Stage::Running => ("in progress", "running"),
            Stage::Teardown => ("tearing down", "teardown"),
        };
        emit_about("info", &format!("  \"{}\"... {text}", run.name), of_run(file, run), "test_run", |m| {
            m.object("test_run", |m| {
                m.string("path", &file.name);
                m.string("run", &run.name);
                m.string("progress", progress);
                m.number("elapsed", elapsed.as_millis());
            });
        });
    }

    fn run_done(&self, file: &TestFile, run: &Run, outcome: &Outcome<'_>) {
        let about = of_run(file, run);
        let text = format!("  \"{}\"... {}", run.name, word(outcome.status));
        emit_about("info", &text, about, "test_run", |m| {
            m.object("test_run", |m| {
                m.string("path", &file.name);
                m.string("run", &run.name);
                m.string("progress", "complete");
                m.string("status", exact(outcome.status));
            });
        });
        if let Some(Shown { what, schemas, providers, .. }) = outcome.shown {
            match what {
                Reached::Plan(plan) => {
                    emit_about("info", "-verbose flag enabled, printing plan", about, "test_plan", |m| {
                        m.key("test_plan").push_str(&test_plan(plan, providers));
                    });
                }
                Reached::State(state) => {
                    emit_about("info", "-verbose flag enabled, printing state", about, "test_state", |m| {
                        m.key("test_state").push_str(&test_state(state, schemas, providers));
                    });
                }
            }
        }
        self.diagnostics(outcome.diagnostics, about);
    }

    fn torn_down(&self, file: &TestFile, run: &Run, diags: &Diagnostics, left: &[Left]) {
        let about = of_run(file, run);
        if !left.is_empty() {
            let text = format!(
                "gpuform left some resources in state after executing {}/{}, they need to be cleaned up manually.",
                file.name, run.name
            );
            emit_about("error", &text, about, "test_cleanup", |m| {
                m.object("test_cleanup", |m| m.array("failed_resources", left, left_json));
            });
        }
        self.diagnostics(diags, about);
    }

    fn file_done(&self, file: &TestFile, status: Status) {
        emit_about("info", &format!("{}... {}", file.name, word(status)), of_file(file), "test_file", |m| {
            m.object("test_file", |m| {
                m.string("path", &file.name);
                m.string("progress", "complete");
                m.string("status", exact(status));
            });
        });
    }

    fn abandoned(
        &self,
        file: &TestFile,
        run: Option<&Run>,
        existing: &[(&Run, Vec<Left>)],
        planned: &[ResourceInstance],
    ) {
        let about = About { file: Some(&file.name), run: run.map(|r| &*r.name) };
        let text = "gpuform was interrupted during test execution, and may not have performed the expected cleanup operations.";
        emit_about("error", text, about, "test_interrupt", |m| {
            m.object("test_interrupt", |m| {
                if !existing.is_empty() {
                    m.object("states", |m| {
                        existing.iter().for_each(|(run, left)| array(m.key(&run.name), left, left_json));
                    });
                }
                m.strings("planned", planned);
            });
        });
    }

    fn end(&self, status: Status, n: Counts) {
        let (headline, rest) = summary(status, n);
        // A run of nothing, or one in which everything was skipped, has not failed.
        let status = if headline == "Success!" { Status::Pass } else { status };
        emit_about("info", &format!("{headline} {rest}"), About::default(), "test_summary", |m| {
            m.object("test_summary", |m| {
                m.string("status", exact(status));
                m.number("passed", n.passed);
                m.number("failed", n.failed);
                m.number("errored", n.errored);
                m.number("skipped", n.skipped);
            });
        });
    }
}

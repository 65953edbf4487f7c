//! A test run for people: a line when a file or run begins or ends, and what failed below it.

use super::{listed, summary, word};
use crate::addr::ResourceInstance;
use crate::cli::context::{Context, Style};
use crate::cli::view::plan::diff::Paint;
use crate::cli::view::{Next, diagnostics, plan, state};
use crate::diag::{Diagnostics, Sources};
use crate::testing::model::{Run, TestFile};
use crate::testing::{Counts, Left, Outcome, Reached, Shown, Stage, Status, Watcher};
use std::io::Write;
use std::time::Duration;

pub struct Human {
    sources: Sources,
    style: Style,
}

impl Human {
    pub fn new(cx: &Context) -> Human {
        Human { sources: cx.sources.clone(), style: cx.style }
    }

    fn say(&self, text: &str) {
        let _ = writeln!(std::io::stdout().lock(), "{text}");
    }

    fn error(&self, text: &str) {
        let _ = writeln!(std::io::stderr().lock(), "{text}");
    }

    fn painted(&self, status: Status) -> String {
        let p = Paint(self.style.color);
        let color = match status {
            Status::Pass => "\x1b[32m",
            Status::Fail | Status::Error => "\x1b[31m",
            Status::Skip | Status::Pending => "\x1b[90m",
        };
        format!("{}{}{}", p.code(color), word(status), p.code("\x1b[0m"))
    }

    fn show(&self, diags: &Diagnostics) {
        diagnostics::show(diags, &self.sources, self.style, false);
    }

    fn result(&self, shown: &Shown) {
        match &shown.what {
            Reached::Plan(p) => self.say(plan::render(p, &shown.config, self.style, Next::Apply).trim_end()),
            Reached::State(s) => self.say(&format!("\n{}", state::whole(Some(s), &shown.schemas, self.style))),
        }
    }
}

impl Watcher for Human {
    fn begin(&self, _: &[&TestFile]) {}

    fn file(&self, file: &TestFile, stage: Stage) {
        let p = Paint(self.style.color);
        let what = if stage == Stage::Teardown { "tearing down" } else { "in progress" };
        self.say(&format!("{}... {}{what}{}", file.name, p.code("\x1b[90m"), p.code("\x1b[0m")));
    }

    fn run(&self, _: &TestFile, run: &Run, stage: Stage, elapsed: Duration) {
        // Like others, people are told of what takes long, but only on a terminal, and not every two seconds.
        if self.style.terminal && stage != Stage::Starting && elapsed.as_secs() >= 10 && elapsed.as_secs() % 10 < 2 {
            let what = if stage == Stage::Teardown { "tearing down" } else { "in progress" };
            self.say(&format!("  run \"{}\"... {what}, {} s", run.name, elapsed.as_secs()));
        }
    }

    fn run_done(&self, _: &TestFile, run: &Run, outcome: &Outcome<'_>) {
        self.say(&format!("  run \"{}\"... {}", run.name, self.painted(outcome.status)));
        if let Some(shown) = outcome.shown {
            self.result(shown);
        }
        self.show(outcome.diagnostics);
    }

    fn torn_down(&self, file: &TestFile, run: &Run, diags: &Diagnostics, left: &[Left]) {
        let place = format!("{}/{}", file.name, run.name);
        if diags.has_errors() {
            self.error(&format!("gpuform encountered an error destroying resources created while executing {place}."));
        }
        self.show(diags);
        if !left.is_empty() {
            self.error(&format!(
                "\ngpuform left the following resources in state after executing {place}, and they need to be cleaned up \
                 manually:"
            ));
            left.iter().for_each(|l| self.error(&format!("  - {}", listed(l))));
        }
    }

    fn file_done(&self, file: &TestFile, status: Status) {
        self.say(&format!("{}... {}", file.name, self.painted(status)));
    }

    fn abandoned(
        &self,
        file: &TestFile,
        run: Option<&Run>,
        existing: &[(&Run, Vec<Left>)],
        planned: &[ResourceInstance],
    ) {
        let during = run.map(|r| format!("/{}", r.name)).unwrap_or_default();
        self.error(&format!(
            "\ngpuform was interrupted while executing {}{during}, and may not have performed the expected cleanup operations.",
            file.name
        ));
        for (run, left) in existing {
            self.error(&format!(
                "\ngpuform has already created the following resources while executing {}/{}:",
                file.name, run.name
            ));
            left.iter().for_each(|l| self.error(&format!("  - {}", listed(l))));
        }
        if !planned.is_empty() {
            self.error("\ngpuform was in the process of creating the following resources, which may exist:");
            planned.iter().for_each(|a| self.error(&format!("  - {a}")));
        }
    }

    fn end(&self, status: Status, counts: Counts) {
        let p = Paint(self.style.color);
        let (headline, rest) = summary(status, counts);
        let color = if headline == "Success!" { "\x1b[32m" } else { "\x1b[31m" };
        self.say(&format!("\n{}{headline}{} {rest}", p.code(color), p.code("\x1b[0m")));
    }
}

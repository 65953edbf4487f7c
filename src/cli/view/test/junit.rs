//! A test run as a JUnit report, which other programs read. The report is put together while the run goes on and written
//! at its end; what happens is passed on to another view.

use crate::addr::ResourceInstance;
use crate::cli::context::Style;
use crate::cli::view::diagnostics;
use crate::diag::{Diagnostic, Diagnostics, Kind, Severity, Sources};
use crate::testing::model::{Run, TestFile};
use crate::testing::{Counts, Left, Outcome, Stage, Status, Watcher};
use std::cell::RefCell;
use std::fmt::Write as _;
use std::time::Duration;

/// Collects a report beside another view.
pub struct Reporter {
    inner: Box<dyn Watcher>,
    sources: Sources,
    suites: RefCell<Vec<Suite>>,
}

struct Suite {
    name: String,
    counts: Counts,
    cases: String,
    /// The run that ended in an error, after which the others are skipped.
    errored: Option<String>,
}

impl Reporter {
    pub fn new(inner: Box<dyn Watcher>, sources: &Sources) -> Reporter {
        Reporter { inner, sources: sources.clone(), suites: RefCell::default() }
    }

    /// The report so far.
    pub fn xml(&self) -> String {
        let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?><testsuites>\n");
        for s in self.suites.borrow().iter() {
            let n = s.counts;
            let _ = write!(
                out,
                "  <testsuite name=\"{}\" tests=\"{}\" skipped=\"{}\" failures=\"{}\" errors=\"{}\">\n{}  </testsuite>\n",
                escape(&s.name),
                n.passed + n.failed + n.errored + n.skipped,
                n.skipped,
                n.failed,
                n.errored,
                s.cases
            );
        }
        out.push_str("</testsuites>");
        out
    }

    fn with_suite(&self, f: impl FnOnce(&mut Suite)) {
        if let Some(suite) = self.suites.borrow_mut().last_mut() {
            f(suite);
        }
    }

    fn text(&self, diags: &[&Diagnostic]) -> String {
        let plain = Style { color: false, width: 80, terminal: false };
        diags.iter().map(|d| diagnostics::render(d, &self.sources, plain)).collect()
    }

    fn case(&self, suite: &mut Suite, file: &TestFile, run: &Run, outcome: &Outcome<'_>) {
        let of = |s: Severity| outcome.diagnostics.iter().filter(|d| d.severity == s).collect::<Vec<_>>();
        let (errors, warnings) = (of(Severity::Error), of(Severity::Warning));
        let mut inside = String::new();
        match outcome.status {
            Status::Pass => suite.counts.passed += 1,
            Status::Fail => {
                suite.counts.failed += 1;
                element(&mut inside, "failure", &failure(run, &errors), &self.text(&errors));
            }
            Status::Error => {
                suite.counts.errored += 1;
                suite.errored = Some(run.name.to_string());
                element(&mut inside, "error", "Encountered an error", &self.text(&errors));
            }
            Status::Skip | Status::Pending => {
                suite.counts.skipped += 1;
                let (message, text) = match &suite.errored {
                    Some(name) => (
                        "Testcase skipped due to a previous testcase error",
                        format!(
                            "Previous testcase \"{name}\" ended in error, which caused the remaining tests in the file to be \
                             skipped"
                        ),
                    ),
                    None => ("Testcase skipped", "The tests were interrupted before this one".to_owned()),
                };
                element(&mut inside, "skipped", message, &text);
            }
        }
        if !warnings.is_empty() {
            let _ = writeln!(inside, "      <system-err>{}</system-err>", cdata(&self.text(&warnings)));
        }
        let _ =
            write!(suite.cases, "    <testcase name=\"{}\" classname=\"{}\"", escape(&run.name), escape(&file.name));
        if let Some(started) = outcome.started {
            let at = started.round(jiff::Unit::Second).map_or_else(|_| String::new(), |t| t.to_string());
            let _ = write!(suite.cases, " time=\"{}\" timestamp=\"{at}\"", outcome.elapsed.as_secs_f64());
        }
        if inside.is_empty() {
            suite.cases.push_str("></testcase>\n");
        } else {
            let _ = write!(suite.cases, ">\n{inside}    </testcase>\n");
        }
    }
}

/// How many assertions failed, and the first of them.
fn failure(run: &Run, errors: &[&Diagnostic]) -> String {
    let failed: Vec<&&Diagnostic> = errors.iter().filter(|d| d.kind == Kind::TestAssertion).collect();
    let first = failed.first().map_or("", |d| d.detail.as_str());
    let including = if failed.len() > 1 { ", including" } else { "" };
    format!("{} of {} assertions failed{including}: {first}", failed.len(), run.asserts.len())
}

fn element(out: &mut String, name: &str, message: &str, text: &str) {
    let _ = writeln!(out, "      <{name} message=\"{}\">{}</{name}>", escape(message), cdata(text));
}

/// Text that is taken as it is, except what would end it.
fn cdata(text: &str) -> String {
    format!("<![CDATA[{}]]>", text.replace("]]>", "]]]]><![CDATA[>"))
}

/// Text within quotes. Characters that XML does not allow are left out.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&#34;"),
            '\n' => out.push_str("&#xA;"),
            '\t' => out.push_str("&#x9;"),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

impl Watcher for Reporter {
    fn begin(&self, files: &[&TestFile]) {
        self.inner.begin(files);
    }

    fn file(&self, file: &TestFile, stage: Stage) {
        if stage == Stage::Starting {
            let name = file.name.clone();
            let suite = Suite { name, counts: Counts::default(), cases: String::new(), errored: None };
            self.suites.borrow_mut().push(suite);
        }
        self.inner.file(file, stage);
    }

    fn run(&self, file: &TestFile, run: &Run, stage: Stage, elapsed: Duration) {
        self.inner.run(file, run, stage, elapsed);
    }

    fn run_done(&self, file: &TestFile, run: &Run, outcome: &Outcome<'_>) {
        self.with_suite(|suite| self.case(suite, file, run, outcome));
        self.inner.run_done(file, run, outcome);
    }

    fn torn_down(&self, file: &TestFile, run: &Run, diagnostics: &Diagnostics, left: &[Left]) {
        self.inner.torn_down(file, run, diagnostics, left);
    }

    fn file_done(&self, file: &TestFile, status: Status) {
        self.inner.file_done(file, status);
    }

    fn abandoned(
        &self,
        file: &TestFile,
        run: Option<&Run>,
        existing: &[(&Run, Vec<Left>)],
        planned: &[ResourceInstance],
    ) {
        self.inner.abandoned(file, run, existing, planned);
    }

    fn end(&self, status: Status, counts: Counts) {
        self.inner.end(status, counts);
    }
}

//! What provider processes write: log events for whoever listens, and the end of their output for crash reports.
//!
//! Providers log to standard error, most of them one JSON object a line (hclog). The process reader hands every line
//! to an [`Output`]; the command line passes in a [`LogSink`] that decides what is kept and where.

use serde_json::Value as Json;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// How important a log event is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Level {
    Trace,
    Debug,
    Info,
    Warn,
    Error,
}

impl Level {
    /// Parses `TRACE`, `debug`, ….
    pub fn parse(text: &str) -> Option<Level> {
        const NAMES: [(&str, Level); 6] = [
            ("trace", Level::Trace),
            ("debug", Level::Debug),
            ("info", Level::Info),
            ("warn", Level::Warn),
            ("warning", Level::Warn),
            ("error", Level::Error),
        ];
        NAMES.iter().find(|(n, _)| n.eq_ignore_ascii_case(text)).map(|(_, l)| *l)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Level::Trace => "TRACE",
            Level::Debug => "DEBUG",
            Level::Info => "INFO",
            Level::Warn => "WARN",
            Level::Error => "ERROR",
        }
    }
}

/// One thing that a provider logged.
#[derive(Debug)]
pub struct LogEvent<'a> {
    pub level: Level,
    /// The provider as shown to people, e.g. `hashicorp/aws`.
    pub provider: &'a str,
    /// The logger's name inside the provider, e.g. `provider.terraform-provider-aws_v5`; empty where it gave none.
    pub module: &'a str,
    pub message: &'a str,
    /// Further fields in the order of their names.
    pub fields: &'a [(String, Json)],
}

/// Where log events go. Called from the tasks that read the processes' output, so it must not block for long.
pub trait LogSink: Send + Sync {
    /// The least important level that is wanted; `None`: nothing is, and lines are not even parsed.
    fn level(&self) -> Option<Level>;
    fn log(&self, event: &LogEvent<'_>);
}

/// A sink that wants nothing.
pub struct NoLog;

impl LogSink for NoLog {
    fn level(&self) -> Option<Level> {
        None
    }

    fn log(&self, _: &LogEvent<'_>) {}
}

/// How much of the output is kept for a crash report: the beginning of a crash message, and the end of everything.
const KEPT: usize = 16 * 1024;

/// The output of one process. Cloning shares it.
#[derive(Clone)]
pub(super) struct Output {
    provider: Arc<str>,
    sink: Arc<dyn LogSink>,
    kept: Arc<Mutex<Kept>>,
}

#[derive(Default)]
struct Kept {
    tail: VecDeque<u8>,
    /// From the line on with which the process said that it crashes, which may be far from the end.
    crash: Option<String>,
}

impl Output {
    pub fn new(provider: impl Into<Arc<str>>, sink: Arc<dyn LogSink>) -> Output {
        Output { provider: provider.into(), sink, kept: Arc::default() }
    }

    /// Takes one line without its line end.
    pub fn line(&self, line: &str) {
        let line = line.trim_end_matches(['\r', '\n']);
        if line.is_empty() {
            return;
        }
        match line.starts_with('{').then(|| serde_json::from_str::<serde_json::Map<String, Json>>(line).ok()).flatten()
        {
            Some(fields) => self.structured(fields),
            None => self.plain(line),
        }
    }

    /// Reports something that the host itself has to say about the process.
    pub fn host(&self, level: Level, message: &str) {
        self.emit(level, "", message, &[]);
    }

    fn structured(&self, mut fields: serde_json::Map<String, Json>) {
        let mut text = |name: &str| match fields.remove(name) {
            Some(Json::String(s)) => s,
            _ => String::new(),
        };
        let level = Level::parse(&text("@level")).unwrap_or(Level::Debug);
        let (message, module) = (text("@message"), text("@module"));
        text("@timestamp");
        if level >= Level::Error {
            self.keep(&message);
        }
        let fields: Vec<(String, Json)> = fields.into_iter().collect();
        self.emit(level, &module, &message, &fields);
    }

    fn plain(&self, line: &str) {
        self.keep(line);
        let prefixed = line.strip_prefix('[').and_then(|l| l.split_once(']'));
        match prefixed.and_then(|(name, rest)| Some((Level::parse(name)?, rest))) {
            Some((level, rest)) => self.emit(level, "", rest.trim_start(), &[]),
            None => self.emit(Level::Debug, "", line, &[]),
        }
    }

    fn emit(&self, level: Level, module: &str, message: &str, fields: &[(String, Json)]) {
        if self.sink.level().is_some_and(|wanted| level >= wanted) {
            self.sink.log(&LogEvent { level, provider: &self.provider, module, message, fields });
        }
    }

    fn keep(&self, line: &str) {
        let mut kept = self.kept.lock().unwrap_or_else(|e| e.into_inner());
        if kept.crash.is_none() && begins_crash(line) {
            kept.crash = Some(String::new());
        }
        if let Some(crash) = &mut kept.crash
            && crash.len() < KEPT
        {
            crash.push_str(line);
            crash.push('\n');
        }
        kept.tail.extend(line.as_bytes());
        kept.tail.push_back(b'\n');
        let over = kept.tail.len().saturating_sub(KEPT);
        kept.tail.drain(..over);
    }

    /// What explains the end of the process best: the crash message if there was one, else the last of its output.
    pub fn report(&self) -> String {
        let kept = self.kept.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(crash) = &kept.crash {
            return crash.trim_end().to_owned();
        }
        let (a, b) = kept.tail.as_slices();
        let text = String::from_utf8_lossy(&[a, b].concat()).into_owned();
        let cut = text.len() >= KEPT;
        let text = if cut { text.split_once('\n').map_or(&*text, |(_, rest)| rest) } else { &text };
        text.trim_end().to_owned()
    }
}

/// The first line of a crash as the Go and Rust runtimes write it.
fn begins_crash(line: &str) -> bool {
    line.starts_with("panic: ")
        || line.starts_with("fatal error: ")
        || line.starts_with("SIGSEGV")
        || (line.starts_with("thread '") && line.contains("panicked at"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Recorder(Mutex<Vec<String>>);

    impl LogSink for Recorder {
        fn level(&self) -> Option<Level> {
            Some(Level::Info)
        }

        fn log(&self, e: &LogEvent<'_>) {
            let fields: Vec<String> = e.fields.iter().map(|(k, v)| format!("{k}={v}")).collect();
            let line = format!("{} {} {}: {} {}", e.level.as_str(), e.provider, e.module, e.message, fields.join(" "));
            self.0.lock().unwrap().push(line);
        }
    }

    #[test]
    fn log_lines_of_every_form_arrive_as_events_of_their_level() {
        let sink = Arc::new(Recorder::default());
        let out = Output::new("hashicorp/aws", sink.clone());
        out.line(r#"{"@level":"warn","@message":"slow","@module":"sdk","@timestamp":"2024","req":7,"attempt":"a"}"#);
        out.line(r#"{"@level":"debug","@message":"not wanted"}"#);
        out.line("[ERROR] old style");
        out.line("plain text is for debugging");
        assert_eq!(
            *sink.0.lock().unwrap(),
            ["WARN hashicorp/aws sdk: slow attempt=\"a\" req=7", "ERROR hashicorp/aws : old style "]
        );
    }

    #[test]
    fn a_crash_report_starts_at_the_panic_and_leaves_out_routine_logs() {
        let out = Output::new("x", Arc::new(NoLog));
        out.line(r#"{"@level":"info","@message":"routine"}"#);
        out.line("starting");
        out.line("panic: runtime error: index out of range");
        out.line("goroutine 1 [running]:");
        assert_eq!(out.report(), "panic: runtime error: index out of range\ngoroutine 1 [running]:");
    }

    #[test]
    fn without_a_panic_the_report_is_the_end_of_the_output() {
        let out = Output::new("x", Arc::new(NoLog));
        for i in 0..5000 {
            out.line(&format!("line {i}"));
        }
        let report = out.report();
        assert!(report.len() <= KEPT && report.starts_with("line ") && report.ends_with("line 4999"), "{report}");
    }
}

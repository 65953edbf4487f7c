//! Logs: what providers write goes to standard error or to `TF_LOG_PATH`, as `TF_LOG` and `TF_LOG_PROVIDER` ask.

use crate::cli::context::Environment;
use crate::plugin::log::{Level, LogEvent, LogSink, NoLog};
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::sync::{Arc, Mutex};

struct Sink {
    level: Level,
    json: bool,
    file: Option<Mutex<File>>,
}

impl LogSink for Sink {
    fn level(&self) -> Option<Level> {
        Some(self.level)
    }

    fn log(&self, event: &LogEvent<'_>) {
        if event.level < self.level {
            return;
        }
        let line = if self.json { json(event) } else { text(event) };
        match &self.file {
            Some(f) => {
                let mut f = f.lock().unwrap_or_else(|e| e.into_inner());
                let _ = writeln!(f, "{line}");
            }
            None => {
                let _ = writeln!(std::io::stderr().lock(), "{line}");
            }
        }
    }
}

fn text(e: &LogEvent<'_>) -> String {
    let mut line = format!("{} [{}] provider.{}", crate::cli::context::timestamp(), e.level.as_str(), e.provider);
    if !e.module.is_empty() {
        let _ = write!(line, " {}", e.module);
    }
    let _ = write!(line, ": {}", e.message);
    for (k, v) in e.fields {
        let _ = write!(line, " {k}={v}");
    }
    line
}

fn json(e: &LogEvent<'_>) -> String {
    let mut object = serde_json::Map::new();
    let mut put = |k: &str, v: &str| object.insert(k.to_owned(), v.into());
    put("@level", &e.level.as_str().to_lowercase());
    put("@message", e.message);
    put("@module", &format!("provider.{}", e.provider));
    put("@timestamp", &crate::cli::context::timestamp());
    for (k, v) in e.fields {
        object.entry(k.clone()).or_insert_with(|| v.clone());
    }
    serde_json::Value::Object(object).to_string()
}

/// Where logs go.
pub fn sink(env: &Environment) -> Arc<dyn LogSink> {
    let Some(setting) = env.get("TF_LOG_PROVIDER").or(env.get("TF_LOG")) else { return Arc::new(NoLog) };
    let json = setting.eq_ignore_ascii_case("json");
    let level = if json { Some(Level::Trace) } else { Level::parse(setting) };
    let Some(level) = level else { return Arc::new(NoLog) };
    let file = env.get("TF_LOG_PATH").and_then(|p| OpenOptions::new().create(true).append(true).open(p).ok());
    Arc::new(Sink { level, json, file: file.map(Mutex::new) })
}

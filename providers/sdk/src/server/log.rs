//! Logs on standard error as hosts of Terraform providers expect them: one JSON object a line, in hclog's form, at the
//! level of `TF_LOG_PROVIDER` or `TF_LOG`. The SDK logs names, durations and outcomes, never values of attributes.

use serde_json::{Map, Value, json};
use std::fmt::Debug;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber, span};

/// Starts logging if the environment asks for it.
pub(super) fn install() {
    let asked =
        ["TF_LOG_PROVIDER", "TF_LOG"].iter().find_map(|name| std::env::var(name).ok().filter(|v| !v.is_empty()));
    let level = match asked.unwrap_or_default().to_ascii_uppercase().as_str() {
        "TRACE" | "JSON" => Level::TRACE,
        "DEBUG" => Level::DEBUG,
        "INFO" => Level::INFO,
        "WARN" => Level::WARN,
        "ERROR" => Level::ERROR,
        _ => return,
    };
    // A second call changes nothing.
    let _ = tracing::subscriber::set_global_default(Lines { level, spans: AtomicU64::new(1) });
}

/// Hosts take a line for plain text unless the time has exactly six decimals.
const TIME: &str = "%Y-%m-%dT%H:%M:%S%.6fZ";

struct Lines {
    level: Level,
    spans: AtomicU64,
}

/// Whether a module is the SDK's or a provider's own. Others may log requests with secrets in them, so only their
/// warnings and errors are let through.
fn is_ours(target: &str) -> bool {
    target.starts_with("gpuform") || target.starts_with("terraform_provider")
}

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= self.level && (is_ours(metadata.target()) || *metadata.level() <= Level::WARN)
    }

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields(Map::new());
        event.record(&mut fields);
        let mut line = fields.0;
        let metadata = event.metadata();
        let message = line.remove("message").unwrap_or_default();
        line.insert("@level".into(), metadata.level().as_str().to_ascii_lowercase().into());
        line.insert("@module".into(), format!("provider.{}", metadata.target().replace("::", ".")).into());
        line.insert("@timestamp".into(), jiff::Timestamp::now().strftime(TIME).to_string().into());
        line.insert("@message".into(), message);
        // A log that cannot be written is no reason to fail.
        let _ = writeln!(std::io::stderr().lock(), "{}", Value::Object(line));
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(self.spans.fetch_add(1, Ordering::Relaxed))
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

struct Fields(Map<String, Value>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name().into(), format!("{value:?}").into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().into(), value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.insert(field.name().into(), json!(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.insert(field.name().into(), json!(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.insert(field.name().into(), json!(value));
    }
}

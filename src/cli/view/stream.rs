//! `-json`: one JSON message a line while an operation goes on, as Terraform's machine-readable user interface has them.
//! Warnings and errors are messages as well, and everything goes to standard output.

use super::json::write::{Members, object, string};
use super::json::{self, diagnostic_into, value};
use crate::addr::{InstanceKey, ResourceInstance};
use crate::cli::project::TERRAFORM_VERSION;
use crate::cli::view::{Kind, Next, OperationView};
use crate::config::model::Config;
use crate::diag::{Diagnostic, Diagnostics, Severity, Sources};
use crate::engine::events::{EphemeralAction, Event, Events, IdentifiedBy};
use crate::engine::plan::{Action, ActionReason, Counts, Plan, ResourceChange};
use crate::state::State;
use gpuform_schema::json::write_type;
use std::collections::HashMap;
use std::io::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::{Duration, Instant};

/// The version of the format of the messages.
const UI_VERSION: &str = "1.2";

/// How often operations that take long say so.
const PROGRESS: Duration = Duration::from_secs(10);

/// Prints messages as they come.
pub struct Stream {
    sources: Sources,
    running: Arc<Mutex<Running>>,
}

/// Operations under way, by address and deposed key.
#[derive(Default)]
struct Running {
    operations: HashMap<String, Operation>,
    /// The thread that reports them has been started.
    reporting: bool,
}

struct Operation {
    resource: String,
    action: Action,
    id: Option<IdentifiedBy>,
    since: Instant,
}

impl Stream {
    /// A view that begins with the message that names the version.
    pub fn new(sources: &Sources) -> Stream {
        version();
        Stream { sources: sources.clone(), running: Arc::default() }
    }

    fn running(&self) -> MutexGuard<'_, Running> {
        lock(&self.running)
    }

    fn started(&self, key: String, operation: Operation) {
        let mut running = self.running();
        running.operations.insert(key, operation);
        if !running.reporting {
            running.reporting = true;
            let shared = Arc::downgrade(&self.running);
            std::thread::spawn(move || report(&shared));
        }
    }
}

fn lock(running: &Mutex<Running>) -> MutexGuard<'_, Running> {
    running.lock().unwrap_or_else(|e| e.into_inner())
}

/// Says of each operation now and then that it goes on, until the view is gone.
fn report(running: &Weak<Mutex<Running>>) {
    const TICK: Duration = Duration::from_millis(500);
    let mut said: HashMap<String, u64> = HashMap::new();
    loop {
        std::thread::sleep(TICK);
        let Some(running) = running.upgrade() else { return };
        let running = lock(&running);
        said.retain(|key, _| running.operations.contains_key(key));
        for (key, o) in &running.operations {
            let elapsed = o.since.elapsed();
            let times = elapsed.as_secs() / PROGRESS.as_secs();
            if times > said.get(key).copied().unwrap_or(0) {
                said.insert(key.clone(), times);
                let id = o.id.as_ref().map(|i| format!("{}={}, ", i.key, i.value)).unwrap_or_default();
                let text = format!("{key}: Still {}... [{id}{} elapsed]", verb(o.action).0, clock(elapsed));
                emit("info", &text, "apply_progress", |m| {
                    m.object("hook", |m| {
                        m.key("resource").push_str(&o.resource);
                        m.string("action", word(o.action));
                        m.number("elapsed_seconds", elapsed.as_secs());
                    });
                });
            }
        }
    }
}

fn clock(d: Duration) -> String {
    let s = d.as_secs();
    let (h, m, s) = (s / 3600, s / 60 % 60, s % 60);
    match (h, m) {
        (0, 0) => format!("{s}s"),
        (0, m) => format!("{m}m{s}s"),
        (h, m) => format!("{h}h{m}m{s}s"),
    }
}

/// Prints the message that every stream begins with.
pub fn version() {
    emit("info", &format!("Terraform {TERRAFORM_VERSION}"), "version", |m| {
        m.string("terraform", TERRAFORM_VERSION);
        m.string("ui", UI_VERSION);
    });
}

/// Prints what `init` does: a step that programs know by its code, or a detail of one.
pub fn init_output(text: &str, code: Option<&str>) {
    match code {
        Some(code) => emit("info", text, "init_output", |m| m.string("message_code", code)),
        None => emit("info", text, "log", |_| {}),
    }
}

/// Prints a warning or an error.
pub fn diagnostic(d: &Diagnostic, sources: &Sources) {
    let (level, word) = match d.severity {
        Severity::Error => ("error", "Error"),
        Severity::Warning => ("warn", "Warning"),
    };
    emit(level, &format!("{word}: {}", d.summary), "diagnostic", |m| {
        diagnostic_into(d, sources, m.key("diagnostic"));
    });
}

/// Prints one message.
fn emit(level: &str, message: &str, ty: &str, f: impl FnOnce(&mut Members<'_>)) {
    emit_about(level, message, About::default(), ty, f);
}

/// The test that a message is about.
#[derive(Clone, Copy, Default)]
pub struct About<'a> {
    pub file: Option<&'a str>,
    pub run: Option<&'a str>,
}

/// Prints one message about a test.
pub fn emit_about(level: &str, message: &str, about: About<'_>, ty: &str, f: impl FnOnce(&mut Members<'_>)) {
    let mut line = String::with_capacity(512);
    object(&mut line, |m| {
        m.string("@level", level);
        m.string("@message", message);
        m.string("@module", "terraform.ui");
        if let Some(file) = about.file {
            m.string("@testfile", file);
        }
        if let Some(run) = about.run {
            m.string("@testrun", run);
        }
        m.string("@timestamp", now());
        f(m);
        m.string("type", ty);
    });
    line.push('\n');
    let _ = std::io::stdout().lock().write_all(line.as_bytes());
}

/// The time with microseconds, in RFC 3339 form.
fn now() -> String {
    format!("{:.6}", jiff::Timestamp::now())
}

/// The address of an object, taken apart.
fn resource_json(addr: &ResourceInstance) -> String {
    let mut out = String::new();
    object(&mut out, |m| {
        m.display("addr", addr);
        m.string("module", if addr.module.is_root() { String::new() } else { addr.module.to_string() });
        m.string("resource", format!("{}{}", addr.resource, addr.key));
        m.string("implied_provider", addr.resource.ty.split('_').next().unwrap_or_default());
        m.string("resource_type", &addr.resource.ty);
        m.string("resource_name", &addr.resource.name);
        match &addr.key {
            InstanceKey::None => m.null("resource_key"),
            InstanceKey::Int(i) => m.number("resource_key", i),
            InstanceKey::String(s) => m.string("resource_key", s),
        }
    });
    out
}

/// The word for an action.
fn word(action: Action) -> &'static str {
    match action {
        Action::NoOp => "noop",
        Action::Create => "create",
        Action::Read => "read",
        Action::Update => "update",
        Action::DeleteThenCreate | Action::CreateThenDelete => "replace",
        Action::Delete => "delete",
        Action::Forget => "remove",
    }
}

/// What is said of an operation: while it goes on, at its start, and when it is over.
fn verb(action: Action) -> (&'static str, &'static str, &'static str) {
    match action {
        Action::Create => ("creating", "Creating...", "Creation"),
        Action::Update => ("modifying", "Modifying...", "Modifications"),
        Action::Delete => ("destroying", "Destroying...", "Destruction"),
        Action::Read => ("refreshing", "Refreshing...", "Refresh"),
        Action::Forget => ("removing", "Removing...", "Removal"),
        Action::DeleteThenCreate | Action::CreateThenDelete => ("replacing", "Replacing...", "Replacement"),
        Action::NoOp => ("working", "Working...", "Operation"),
    }
}

/// The reason for a change, in the words of the message stream.
fn reason(r: ActionReason) -> Option<&'static str> {
    match r {
        ActionReason::ReplaceBecauseTainted => Some("tainted"),
        ActionReason::ReplaceByRequest => Some("requested"),
        ActionReason::ReplaceBecauseCannotUpdate => Some("cannot_update"),
        ActionReason::ReplaceByTriggers => Some("replace_triggered_by"),
        other => other.as_str(),
    }
}

fn key(addr: &ResourceInstance) -> String {
    addr.to_string()
}

fn id_members(m: &mut Members<'_>, id: Option<&IdentifiedBy>) {
    if let Some(id) = id {
        m.string("id_key", id.key);
        m.string("id_value", &id.value);
    }
}

fn in_brackets(id: Option<&IdentifiedBy>) -> String {
    id.map(|i| format!(" [{}={}]", i.key, i.value)).unwrap_or_default()
}

impl Events for Stream {
    fn event(&self, event: Event<'_>) {
        match event {
            Event::RefreshStart { addr, id, .. } => refresh("refresh_start", "Refreshing state...", addr, id.as_ref()),
            Event::RefreshDone { addr, id, .. } => refresh("refresh_complete", "Refresh complete", addr, id.as_ref()),
            Event::EphemeralStart { addr, action } => ephemeral("ephemeral_op_start", addr, action, None),
            Event::EphemeralDone { addr, action, elapsed } => {
                ephemeral("ephemeral_op_complete", addr, action, Some((elapsed, "complete")));
            }
            Event::EphemeralErrored { addr, action, elapsed } => {
                ephemeral("ephemeral_op_errored", addr, action, Some((elapsed, "errored")));
            }
            Event::OperationStart { addr, action, id, .. } => {
                let resource = resource_json(addr);
                let text = format!("{addr}: {}{}", verb(action).1, in_brackets(id.as_ref()));
                emit("info", &text, "apply_start", |m| {
                    m.object("hook", |m| {
                        m.key("resource").push_str(&resource);
                        m.string("action", word(action));
                        id_members(m, id.as_ref());
                    });
                });
                self.started(key(addr), Operation { resource, action, id, since: Instant::now() });
            }
            Event::OperationDone { addr, action, id, elapsed, .. } => {
                let id = id.filter(|_| action != Action::Delete);
                self.running().operations.remove(&key(addr));
                let shown = in_brackets(id.as_ref());
                let text = format!("{addr}: {} complete after {}{shown}", verb(action).2, clock(elapsed));
                emit("info", &text, "apply_complete", |m| {
                    m.object("hook", |m| {
                        m.key("resource").push_str(&resource_json(addr));
                        m.string("action", word(action));
                        id_members(m, id.as_ref());
                        m.number("elapsed_seconds", elapsed.as_secs());
                    });
                });
            }
            Event::OperationErrored { addr, action, elapsed, .. } => {
                self.running().operations.remove(&key(addr));
                if action == Action::Read {
                    return;
                }
                let text = format!("{addr}: {} errored after {}", verb(action).2, clock(elapsed));
                emit("info", &text, "apply_errored", |m| {
                    m.object("hook", |m| {
                        m.key("resource").push_str(&resource_json(addr));
                        m.string("action", word(action));
                        m.number("elapsed_seconds", elapsed.as_secs());
                    });
                });
            }
            Event::ProvisionerStart { addr, provisioner } => {
                let text = format!("Provisioning with '{provisioner}'...");
                provision("provision_start", &text, addr, provisioner, None);
            }
            Event::ProvisionerOutput { addr, provisioner, line } => {
                provision("provision_progress", &format!("({provisioner}): {line}"), addr, provisioner, Some(line));
            }
            Event::ProvisionerDone { addr, provisioner } => {
                let text = format!("({provisioner}) Provisioning complete");
                provision("provision_complete", &text, addr, provisioner, None);
            }
            Event::ProvisionerErrored { addr, provisioner } => {
                let text = format!("({provisioner}) Provisioning errored");
                provision("provision_errored", &text, addr, provisioner, None);
            }
            Event::Note(d) => diagnostic(d, &self.sources),
            // Shown with the finished plan, or nothing that the format has a message for.
            Event::EphemeralDeferred { .. }
            | Event::Planned(_)
            | Event::ApplyBegins { .. }
            | Event::ImportStart { .. }
            | Event::ImportDone { .. } => {}
        }
    }
}

fn refresh(ty: &str, text: &str, addr: &ResourceInstance, id: Option<&IdentifiedBy>) {
    emit("info", &format!("{addr}: {text}{}", in_brackets(id)), ty, |m| {
        m.object("hook", |m| {
            m.key("resource").push_str(&resource_json(addr));
            id_members(m, id);
        });
    });
}

/// A message about an ephemeral resource; `ended` says after what time and how.
fn ephemeral(ty: &str, addr: &ResourceInstance, action: EphemeralAction, ended: Option<(Duration, &str)>) {
    let (name, begins, noun) = match action {
        EphemeralAction::Open => ("open", "Opening...", "Opening"),
        EphemeralAction::Renew => ("renew", "Renewing...", "Renewal"),
        EphemeralAction::Close => ("close", "Closing...", "Closing"),
    };
    let text = match ended {
        Some((elapsed, how)) => format!("{addr}: {noun} {how} after {}", clock(elapsed)),
        None => format!("{addr}: {begins}"),
    };
    emit("info", &text, ty, |m| {
        m.object("hook", |m| {
            m.key("resource").push_str(&resource_json(addr));
            m.string("action", name);
            if let Some((elapsed, _)) = ended {
                m.number("elapsed_seconds", elapsed.as_secs());
            }
        });
    });
}

fn provision(ty: &str, text: &str, addr: &ResourceInstance, provisioner: &str, output: Option<&str>) {
    emit("info", &format!("{addr}: {text}"), ty, |m| {
        m.object("hook", |m| {
            m.key("resource").push_str(&resource_json(addr));
            m.string("provisioner", provisioner);
            if let Some(line) = output {
                m.string("output", line);
            }
        });
    });
}

impl OperationView for Stream {
    fn diagnostics(&self, diags: &Diagnostics) {
        diags.iter().filter(|d| d.kind != crate::diag::Kind::Tolerated).for_each(|d| diagnostic(d, &self.sources));
    }

    fn plan(&self, plan: &Plan, _: &Config, _: Next<'_>) {
        json::drift(plan).into_iter().for_each(drift);
        plan.changes.iter().for_each(|c| planned_change(c));
        let counts = plan.counts();
        let import = if counts.import > 0 { format!("{} to import, ", counts.import) } else { String::new() };
        let text =
            format!("Plan: {import}{} to add, {} to change, {} to destroy.", counts.add, counts.change, counts.destroy);
        change_summary(&text, "plan", counts);
        if !plan.outputs.is_empty() {
            emit("info", &format!("Outputs: {}", plan.outputs.len()), "outputs", |m| {
                m.object("outputs", |m| {
                    for (name, o) in &plan.outputs {
                        m.object(name, |m| {
                            m.bool("sensitive", o.sensitive);
                            m.string("action", word(o.action));
                        });
                    }
                });
            });
        }
    }

    fn changes(&self, plan: &Plan) {
        plan.changes.iter().filter(|c| c.action != Action::NoOp).for_each(|c| planned_change(c));
    }

    fn waiting_for_lock(&self) {
        emit("info", "Waiting for the lock of the state...", "log", |_| {});
    }

    fn recovered(&self, changes: usize) {
        let s = if changes == 1 { "" } else { "s" };
        let text = format!("An interrupted run had left {changes} change{s}, which the state now has.");
        emit("info", &text, "log", |_| {});
    }

    fn applied(&self, kind: Kind, counts: Counts, state: &State, failed: bool) {
        if failed {
            return;
        }
        let (operation, text) = match kind {
            Kind::Destroy => ("destroy", format!("Destroy complete! Resources: {} destroyed.", counts.destroy)),
            Kind::Apply | Kind::Refresh => {
                let import = if counts.import > 0 { format!("{} imported, ", counts.import) } else { String::new() };
                let text = format!(
                    "Apply complete! Resources: {import}{} added, {} changed, {} destroyed.",
                    counts.add, counts.change, counts.destroy
                );
                ("apply", text)
            }
        };
        if kind != Kind::Refresh {
            change_summary(&text, operation, counts);
        }
        if kind == Kind::Destroy {
            return;
        }
        emit("info", &format!("Outputs: {}", state.outputs.len()), "outputs", |m| {
            m.object("outputs", |m| {
                for (name, o) in &state.outputs {
                    m.object(name, |m| {
                        m.bool("sensitive", o.sensitive);
                        write_type(&o.value.ty(), m.key("type"));
                        if !o.sensitive {
                            value::known(&o.value, m.key("value"));
                        }
                    });
                }
            });
        });
    }

    fn imported(&self) {}

    fn events(self: Arc<Self>) -> Arc<dyn Events> {
        self
    }
}

fn change_summary(text: &str, operation: &str, counts: Counts) {
    emit("info", text, "change_summary", |m| {
        m.object("changes", |m| {
            m.number("add", counts.add);
            m.number("change", counts.change);
            m.number("import", counts.import);
            m.number("remove", counts.destroy);
            m.string("operation", operation);
        });
    });
}

/// A change made outside of the tool.
fn drift(c: &ResourceChange) {
    let action = if c.action == Action::NoOp { "move" } else { word(c.action) };
    emit("info", &format!("{}: Drift detected ({action})", c.addr), "resource_drift", |m| {
        m.object("change", |m| {
            m.key("resource").push_str(&resource_json(&c.addr));
            if c.is_moved() {
                m.key("previous_resource").push_str(&resource_json(&c.prev_addr));
            }
            m.string("action", action);
        });
    });
}

fn planned_change(c: &ResourceChange) {
    let action = match c.action {
        Action::NoOp if c.importing.is_some() => "import",
        Action::NoOp if c.is_moved() => "move",
        Action::NoOp => return,
        a => word(a),
    };
    emit("info", &format!("{}: Plan to {action}", c.addr), "planned_change", |m| {
        m.object("change", |m| {
            m.key("resource").push_str(&resource_json(&c.addr));
            if c.is_moved() {
                m.key("previous_resource").push_str(&resource_json(&c.prev_addr));
            }
            m.string("action", action);
            if let Some(reason) = reason(c.reason) {
                m.string("reason", reason);
            }
            if let Some(importing) = &c.importing {
                m.object("importing", |m| m.string("id", &importing.id));
            }
            if let Some(config) = &c.generated_config {
                string(m.key("generated_config"), config);
            }
        });
    });
}

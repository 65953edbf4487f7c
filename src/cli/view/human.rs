//! What people see while a plan or an apply goes on: one line for each thing that begins or ends, and on a terminal a
//! bar with an estimate of the time left.

use crate::addr::ResourceInstance;
use crate::cli::context::{Context, Style};
use crate::cli::view::plan::diff::Paint;
use crate::cli::view::{Kind, Next, OperationView, diagnostics, plan, state, visible};
use crate::config::model::Config;
use crate::diag::{Diagnostics, Sources};
use crate::engine::events::{EphemeralAction, Event, Events, IdentifiedBy};
use crate::engine::plan::{Action, Counts, Plan};
use crate::state::{DeposedKey, State};
use indicatif::{ProgressBar, ProgressStyle};
use std::collections::HashMap;
use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How often an operation that takes long is mentioned.
const REMINDER: Duration = Duration::from_secs(10);

pub struct Human {
    sources: Sources,
    style: Style,
    compact_warnings: bool,
    running: Arc<Mutex<Running>>,
}

#[derive(Default)]
struct Running {
    bar: Option<ProgressBar>,
    /// What is under way: since when, and when it was last mentioned.
    operations: HashMap<String, (Action, Instant, Instant)>,
    reminding: bool,
}

impl Human {
    pub fn new(cx: &Context, compact_warnings: bool) -> Human {
        Human { sources: cx.sources.clone(), style: cx.style, compact_warnings, running: Arc::default() }
    }

    fn say(&self, line: &str) {
        let running = self.running.lock().unwrap_or_else(|e| e.into_inner());
        print_line(running.bar.as_ref(), line);
    }

    fn bold(&self, text: &str) -> String {
        let p = Paint(self.style.color);
        format!("{}{text}{}", p.code("\x1b[1m"), p.code("\x1b[0m"))
    }

    fn begin(&self, name: String, action: Action) {
        let mut running = self.running.lock().unwrap_or_else(|e| e.into_inner());
        let now = Instant::now();
        running.operations.insert(name, (action, now, now));
        if !running.reminding {
            running.reminding = true;
            remind(&self.running);
        }
    }

    fn end(&self, name: &str) {
        let mut running = self.running.lock().unwrap_or_else(|e| e.into_inner());
        running.operations.remove(name);
        if let Some(bar) = &running.bar {
            bar.inc(1);
        }
    }
}

fn print_line(bar: Option<&ProgressBar>, line: &str) {
    match bar {
        Some(bar) => bar.suspend(|| println_quietly(line)),
        None => println_quietly(line),
    }
}

/// A closed pipe ends the output quietly.
fn println_quietly(line: &str) {
    let _ = writeln!(std::io::stdout().lock(), "{line}");
}

/// Mentions operations that take long, until none is left.
fn remind(running: &Arc<Mutex<Running>>) {
    let Ok(handle) = tokio::runtime::Handle::try_current() else { return };
    let weak = Arc::downgrade(running);
    handle.spawn(async move {
        loop {
            tokio::time::sleep(Duration::from_secs(1)).await;
            let Some(running) = weak.upgrade() else { return };
            let mut running = running.lock().unwrap_or_else(|e| e.into_inner());
            if running.operations.is_empty() {
                running.reminding = false;
                return;
            }
            let mut lines = Vec::new();
            for (name, (action, since, last)) in &mut running.operations {
                if last.elapsed() >= REMINDER {
                    *last = Instant::now();
                    lines.push(format!("{name}: Still {} [{} elapsed]", doing(*action), clock(since.elapsed())));
                }
            }
            lines.sort();
            lines.iter().for_each(|l| print_line(running.bar.as_ref(), l));
        }
    });
}

fn doing(action: Action) -> &'static str {
    match action {
        Action::Create | Action::DeleteThenCreate | Action::CreateThenDelete => "creating...",
        Action::Update => "modifying...",
        Action::Delete => "destroying...",
        Action::Read => "reading...",
        Action::NoOp | Action::Forget => "working...",
    }
}

fn begins(action: Action) -> &'static str {
    match action {
        Action::Create | Action::DeleteThenCreate | Action::CreateThenDelete => "Creating...",
        Action::Update => "Modifying...",
        Action::Delete => "Destroying...",
        Action::Read => "Reading...",
        Action::NoOp | Action::Forget => "Working...",
    }
}

fn ended(action: Action) -> &'static str {
    match action {
        Action::Create | Action::DeleteThenCreate | Action::CreateThenDelete => "Creation complete",
        Action::Update => "Modifications complete",
        Action::Delete => "Destruction complete",
        Action::Read => "Read complete",
        Action::NoOp | Action::Forget => "Done",
    }
}

fn ephemeral(action: EphemeralAction) -> (&'static str, &'static str) {
    match action {
        EphemeralAction::Open => ("Opening", "Opening"),
        EphemeralAction::Renew => ("Renewing", "Renewal"),
        EphemeralAction::Close => ("Closing", "Closing"),
    }
}

/// `5s`, `2m30s`, `1h2m3s`
fn clock(d: Duration) -> String {
    let s = d.as_secs();
    match (s / 3600, s / 60 % 60, s % 60) {
        (0, 0, s) => format!("{s}s"),
        (0, m, s) => format!("{m}m{s:02}s"),
        (h, m, s) => format!("{h}h{m}m{s}s"),
    }
}

fn id_suffix(id: Option<&IdentifiedBy>) -> String {
    id.map(|i| format!(" [{}={}]", i.key, visible::text(&i.value))).unwrap_or_default()
}

fn name(addr: &ResourceInstance, deposed: Option<DeposedKey>) -> String {
    match deposed {
        Some(key) => format!("{addr} (deposed object {key})"),
        None => addr.to_string(),
    }
}

impl Events for Human {
    fn event(&self, event: Event<'_>) {
        match event {
            Event::RefreshStart { addr, deposed, id } => {
                self.say(&self.bold(&format!(
                    "{}: Refreshing state...{}",
                    name(addr, deposed),
                    id_suffix(id.as_ref())
                )));
            }
            Event::OperationStart { addr, deposed, action, id } => {
                let name = name(addr, deposed);
                self.say(&self.bold(&format!("{name}: {}{}", begins(action), id_suffix(id.as_ref()))));
                self.begin(name, action);
            }
            Event::OperationDone { addr, deposed, action, id, elapsed } => {
                let name = name(addr, deposed);
                self.end(&name);
                let id = if action == Action::Delete { None } else { id };
                let text = format!("{name}: {} after {}{}", ended(action), clock(elapsed), id_suffix(id.as_ref()));
                self.say(&self.bold(&text));
            }
            Event::EphemeralStart { addr, action } => {
                self.say(&self.bold(&format!("{addr}: {}...", ephemeral(action).0)));
            }
            Event::EphemeralDone { addr, action, elapsed } => {
                let text = format!("{addr}: {} complete after {}", ephemeral(action).1, clock(elapsed));
                self.say(&self.bold(&text));
            }
            Event::EphemeralDeferred { addr } => {
                self.say(&self.bold(&format!("{addr}: Configuration not known yet, to be opened during apply")));
            }
            Event::OperationErrored { addr, deposed, .. } => self.end(&name(addr, deposed)),
            Event::ProvisionerStart { addr, provisioner } => {
                self.say(&self.bold(&format!("{addr}: Provisioning with '{provisioner}'...")));
            }
            Event::ProvisionerOutput { addr, provisioner, line } => {
                self.say(&format!("{} ({provisioner}): {line}", self.bold(&addr.to_string())));
            }
            Event::ImportStart { addr, id } => {
                self.say(&self.bold(&format!("{addr}: Preparing import... [id={}]", visible::text(id))));
            }
            Event::ApplyBegins { operations } => {
                if self.style.terminal && operations > 1 {
                    let template = "{bar:30.green} {pos}/{len} operations, {elapsed} elapsed, about {eta} left";
                    let style = ProgressStyle::with_template(template).unwrap_or(ProgressStyle::default_bar());
                    let bar = ProgressBar::new(operations as u64).with_style(style);
                    bar.enable_steady_tick(Duration::from_millis(250));
                    self.running.lock().unwrap_or_else(|e| e.into_inner()).bar = Some(bar);
                }
            }
            Event::Note(d) => self.say(&diagnostics::render(d, &self.sources, self.style)),
            Event::RefreshDone { .. }
            | Event::EphemeralErrored { .. }
            | Event::Planned(_)
            | Event::ProvisionerDone { .. }
            | Event::ProvisionerErrored { .. }
            | Event::ImportDone { .. } => {}
        }
    }
}

impl OperationView for Human {
    fn diagnostics(&self, diags: &Diagnostics) {
        diagnostics::show(diags, &self.sources, self.style, self.compact_warnings);
    }

    fn plan(&self, plan: &Plan, config: &Config, next: Next<'_>) {
        let text = plan::render(plan, config, self.style, next);
        let _ = std::io::stdout().lock().write_all(text.as_bytes());
    }

    fn generated(&self, file: &str) {
        self.say(&format!(
            "\nConfiguration of the imported objects was written to {file}. Look through it, and edit it or move it to where it \
             belongs."
        ));
    }

    fn waiting_for_lock(&self) {
        self.say("Somebody else holds the lock of the state. Waiting for it...");
    }

    fn recovered(&self, changes: usize) {
        let s = if changes == 1 { "" } else { "s" };
        self.say(&format!("Recovered {changes} change{s} of an interrupted run from the journal."));
    }

    fn applied(&self, kind: Kind, n: Counts, state: &State, failed: bool) {
        if let Some(bar) = self.running.lock().unwrap_or_else(|e| e.into_inner()).bar.take() {
            bar.finish_and_clear();
        }
        if failed {
            return;
        }
        let p = Paint(self.style.color);
        let (green, reset) = (format!("{}{}", p.code("\x1b[1m"), p.code("\x1b[32m")), p.code("\x1b[0m"));
        match kind {
            Kind::Destroy => {
                self.say(&format!("\n{green}Destroy complete! Resources: {} destroyed.{reset}", n.destroy));
                return;
            }
            Kind::Refresh => {}
            Kind::Apply => {
                let import = if n.import > 0 { format!("{} imported, ", n.import) } else { String::new() };
                self.say(&format!(
                    "\n{green}Apply complete! Resources: {import}{} added, {} changed, {} destroyed.{reset}",
                    n.add, n.change, n.destroy
                ));
            }
        }
        if !state.outputs.is_empty() {
            self.say(&format!("\n{green}Outputs:\n{reset}"));
            self.say(state::outputs(&state.outputs).trim_end());
        }
    }

    fn imported(&self) {
        let p = Paint(self.style.color);
        self.say(&format!(
            "\n{}{}Import successful!{}\n\nThe object is in the state now; run \"gpuform plan\" to compare it with its block.",
            p.code("\x1b[1m"),
            p.code("\x1b[32m"),
            p.code("\x1b[0m")
        ));
    }

    fn events(self: Arc<Self>) -> Arc<dyn Events> {
        self
    }
}

//! Provisioners: commands that run after an object was created or before it is destroyed. This file decides which run
//! and what follows from their failure; `local.rs` runs commands here, `remote.rs` on other machines.

mod connection;
mod local;
mod remote;
mod ssh;

use crate::addr::ResourceInstance;
use crate::config::model::Provisioner;
use crate::diag::{Diagnostic, Diagnostics, Kind, Severity};
use crate::engine::events::Event;
use crate::engine::program::ProvisionerProgram;
use crate::engine::runtime::{ModuleRun, Repeat};
use crate::engine::walk::Walk;
use crate::lang::decode::Decoder;
use connection::Connection;
use gpuform_schema::schema::{Attribute, AttributeType, Block, Description};
use gpuform_schema::{Marks, Type, Value};

/// Runs the provisioners of a block that are due; false when one failed and its failure counts.
#[allow(clippy::too_many_arguments)]
pub async fn run(
    walk: &Walk,
    provisioners: &[Provisioner],
    programs: &[Option<ProvisionerProgram>],
    addr: &ResourceInstance,
    this: &Value,
    when_destroy: bool,
    module: &ModuleRun,
    repeat: &Repeat,
) -> bool {
    let all = provisioners.iter().zip(programs);
    for (p, code) in all.filter(|(p, _)| p.when_destroy == when_destroy) {
        let Some(code) = code else { continue };
        walk.events.event(Event::ProvisionerStart { addr, provisioner: &p.ty });
        match (Run { walk, p, code, addr, this, module, repeat }).run().await {
            Ok(()) => walk.events.event(Event::ProvisionerDone { addr, provisioner: &p.ty }),
            Err(mut diags) => {
                walk.events.event(Event::ProvisionerErrored { addr, provisioner: &p.ty });
                if p.on_failure_continue {
                    diags.iter_mut().for_each(|d| (d.severity, d.kind) = (Severity::Warning, Kind::Tolerated));
                }
                walk.report_all(crate::engine::instance::about(diags, addr));
                if !p.on_failure_continue {
                    return false;
                }
            }
        }
    }
    true
}

/// One provisioner of one object.
struct Run<'a> {
    walk: &'a Walk,
    p: &'a Provisioner,
    code: &'a ProvisionerProgram,
    addr: &'a ResourceInstance,
    this: &'a Value,
    module: &'a ModuleRun,
    repeat: &'a Repeat,
}

impl Run<'_> {
    async fn run(&self) -> Result<(), Diagnostics> {
        let mut secrets = Secrets::default();
        let mut result = self.with(&mut secrets).await;
        if let Err(diags) = &mut result {
            diags.iter_mut().for_each(|d| d.detail = secrets.hidden_in(&d.detail));
        }
        result
    }

    /// Runs; what must not be shown is added to `secrets`.
    async fn with(&self, secrets: &mut Secrets) -> Result<(), Diagnostics> {
        let (value, marks) = self.eval(&self.code.decoder, secrets)?;
        check(self.p, &value)?;
        // Secrets in the configuration may show in what is printed.
        let secret = !marks.is_empty();
        if &*self.p.ty == "local-exec" {
            return local::run(self, &value, secret).await;
        }
        let Some(decoder) = &self.code.connection else {
            return self.fail("There is no \"connection\" block that says how the machine is reached.".into());
        };
        let (settings, _) = self.eval(decoder, secrets)?;
        let mut warning = connection::check_timeout(&settings, self.p.range);
        warning.iter_mut().for_each(|d| d.detail = secrets.hidden_in(&d.detail));
        self.walk.report_all(warning);
        let agent = self.walk.runtime.place.ssh_agent.clone();
        let connection = Connection::read(&settings, agent).or_else(|problem| self.fail(problem))?;
        self.remote(&value, &connection, secret, secrets).await.or_else(|problem| self.fail(problem))
    }

    async fn remote(
        &self,
        value: &Value,
        connection: &Connection,
        secret: bool,
        secrets: &Secrets,
    ) -> Result<(), String> {
        let base = &self.walk.runtime.place.base_dir;
        // What is missing here is found before anything is tried there.
        let (upload, scripts) = match &*self.p.ty {
            "file" => (Some(remote::Upload::read(value, base)?), Vec::new()),
            _ => (None, remote::scripts(value, base)?),
        };
        let mut lines = Lines { run: self, secret, told: false, part: Vec::new() };
        let target = &connection.target;
        lines.say(&secrets.hidden_in(&format!("Connecting to {} by SSH as {}...", target.host, target.user)));
        let waiting = |problem: &str| {
            if !secret {
                self.say(&secrets.hidden_in(&format!("Not connected yet: {problem}. Trying again...")));
            }
        };
        let mut session = ssh::Session::connect(connection, &waiting).await?;
        lines.say("Connected.");
        let mut result = match upload {
            Some(upload) => upload.send(&mut session).await,
            None => Ok(()),
        };
        for script in scripts {
            if result.is_ok() {
                result = remote::run_script(&mut session, connection, script, &mut lines).await;
            }
        }
        session.close().await;
        result
    }

    /// Evaluates a block; gives its value without marks, and all the marks in it.
    fn eval(&self, decoder: &Decoder, secrets: &mut Secrets) -> Result<(Value, Marks), Diagnostics> {
        let mut diags = Diagnostics::new();
        let scope = self.walk.runtime.scope(self.module, self.repeat).with_self(self.this.clone());
        let value = decoder.eval(&scope, &mut diags);
        let Some(value) = value.filter(|_| !diags.has_errors()) else { return Err(diags) };
        secrets.collect(&value);
        let mut marks = Marks::default();
        let value = value.unmark_deep(&mut marks);
        Ok((value, marks))
    }

    fn say(&self, line: &str) {
        self.walk.events.event(Event::ProvisionerOutput { addr: self.addr, provisioner: &self.p.ty, line });
    }

    fn fail<T>(&self, detail: String) -> Result<T, Diagnostics> {
        Err(Diagnostic::error(format!("{} provisioner error", self.p.ty), detail)
            .at(self.p.body.missing_item_range())
            .into())
    }
}

/// The marked texts of a provisioner's arguments, which are not shown, whatever they are part of.
#[derive(Default)]
struct Secrets(Vec<String>);

impl Secrets {
    fn collect(&mut self, value: &Value) {
        value.visit(&mut |part| {
            let (plain, marks) = part.unmark();
            if !marks.is_empty() {
                plain.unmark_deep(&mut Marks::default()).visit(&mut |leaf| {
                    self.0.extend(leaf.as_str().filter(|s| !s.is_empty()).map(str::to_owned));
                    true
                });
            }
            marks.is_empty()
        });
        // What holds another one goes first.
        self.0.sort_by_key(|s| std::cmp::Reverse(s.len()));
    }

    fn hidden_in(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| text.replace(secret, "(sensitive value)"))
    }
}

/// Output of a provisioner, line by line; withheld where the configuration has secrets.
struct Lines<'a> {
    run: &'a Run<'a>,
    secret: bool,
    /// Said that output is withheld.
    told: bool,
    /// The line that is not complete yet.
    part: Vec<u8>,
}

impl Lines<'_> {
    fn say(&mut self, line: &str) {
        if !self.secret {
            self.run.say(line);
        } else if !std::mem::replace(&mut self.told, true) {
            self.run.say("(output suppressed: the configuration of the provisioner has sensitive values)");
        }
    }

    /// Takes output as it comes. Carriage returns end lines too; empty ones are dropped.
    fn feed(&mut self, data: &[u8]) {
        if self.secret {
            return;
        }
        for byte in data {
            match byte {
                b'\n' | b'\r' => self.end(),
                byte => self.part.push(*byte),
            }
        }
    }

    fn end(&mut self) {
        if !self.secret && !self.part.is_empty() {
            let line = String::from_utf8_lossy(&std::mem::take(&mut self.part)).into_owned();
            self.say(&line);
        }
    }
}

fn text(value: &Value, name: &str) -> Option<String> {
    value.get(name).and_then(Value::as_str).map(str::to_owned)
}

fn attribute(ty: Type, required: bool) -> Attribute {
    Attribute {
        ty: AttributeType::Value(ty),
        description: Description::default(),
        required,
        optional: !required,
        computed: false,
        sensitive: false,
        write_only: false,
        deprecated: false,
    }
}

/// The schema of a provisioner's block.
pub fn schema(ty: &str) -> Option<&'static Block> {
    match ty {
        "local-exec" => Some(&local::SCHEMA),
        "remote-exec" => Some(&remote::REMOTE_EXEC),
        "file" => Some(&remote::FILE),
        _ => None,
    }
}

/// The schema of `connection` blocks.
pub fn connection_schema() -> &'static Block {
    &connection::SCHEMA
}

/// Checks arguments of a provisioner that depend on each other; its value may have unknown parts.
///
/// # Errors
/// What is wrong with them.
pub fn check(p: &Provisioner, value: &Value) -> Result<(), Diagnostic> {
    remote::check(&p.ty, value).map_err(|(summary, detail)| Diagnostic::error(summary, detail).at(p.range))
}

/// The error for a provisioner of an unknown type.
pub fn unknown(p: &Provisioner) -> Diagnostic {
    Diagnostic::error(
        "Provisioner not supported",
        format!("There is no provisioner \"{}\": gpuform has local-exec, remote-exec and file.", p.ty),
    )
    .at(p.range)
}

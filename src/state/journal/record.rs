//! What the journal records, and its text: one JSON object per record, in which objects and outputs look as they do in
//! the state file.

use crate::addr::{AbsProviderConfig, InstanceKey, ResourceInstance};
use crate::state::file::json::Json;
use crate::state::file::reader::ReadObject;
use crate::state::file::{reader, writer};
use crate::state::{DeposedKey, Fingerprint, ObjectState, OutputValue, State};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use gpuform_schema::Str;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::io;
use std::sync::Arc;

/// Numbers the provider operations of a journal.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct OperationId(pub u64);

/// One entry of the journal.
#[derive(Clone, PartialEq, Debug)]
pub enum Record {
    /// A provider is about to be asked for an effect. Durable before the call is made.
    Intent(Box<Intent>),
    /// The operation has ended and what exists now is known: `changes` say it. Also for an operation that failed.
    Finished { operation: OperationId, changes: Vec<Change> },
    /// Changes of the state that no provider operation stands behind: moves, forgotten objects, outputs.
    Changes(Vec<Change>),
    /// The state file is about to be written with this content. Everything before is in it.
    Saving { serial: u64, fingerprint: Fingerprint },
}

/// What a provider is about to do.
#[derive(Clone, PartialEq, Debug)]
pub struct Intent {
    pub operation: OperationId,
    pub action: IntentAction,
    pub addr: ResourceInstance,
    /// The deposed object concerned, if it is not the current one.
    pub deposed: Option<DeposedKey>,
    pub provider: AbsProviderConfig,
    /// What the provider puts on the object so that it can be found again, where it says so.
    pub client_token: Option<Str>,
    pub planned_private: Vec<u8>,
    /// The planned attributes as a JSON object; unknown ones are left out.
    pub planned: Str,
    /// Milliseconds since 1970.
    pub time: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IntentAction {
    Create,
    Update,
    Delete,
}

impl IntentAction {
    pub fn as_str(self) -> &'static str {
        match self {
            IntentAction::Create => "create",
            IntentAction::Update => "update",
            IntentAction::Delete => "delete",
        }
    }
}

/// One change of the state.
#[derive(Clone, PartialEq, Debug)]
pub enum Change {
    /// The current or a deposed object of an instance is this now.
    Set { addr: ResourceInstance, deposed: Option<DeposedKey>, provider: AbsProviderConfig, object: Arc<ObjectState> },
    /// The current or a deposed object is gone.
    Remove { addr: ResourceInstance, deposed: Option<DeposedKey> },
    /// The current object became a deposed one.
    Depose { addr: ResourceInstance, key: DeposedKey },
    /// A deposed object became the current one again.
    Restore { addr: ResourceInstance, key: DeposedKey },
    /// All objects of an instance have a new address.
    Move { from: ResourceInstance, to: ResourceInstance },
    /// An output of the root module has this value now; `None` if it is gone.
    Output { name: Str, value: Option<OutputValue> },
}

impl Change {
    /// The instance concerned; `None` for an output.
    pub fn addr(&self) -> Option<&ResourceInstance> {
        match self {
            Change::Set { addr, .. }
            | Change::Remove { addr, .. }
            | Change::Depose { addr, .. }
            | Change::Restore { addr, .. }
            | Change::Move { from: addr, .. } => Some(addr),
            Change::Output { .. } => None,
        }
    }

    /// Makes the change. Making it on a state that has it already changes nothing.
    pub fn apply(&self, state: &mut State) {
        match self {
            Change::Set { addr, deposed: None, provider, object } => state.set(addr, object.clone(), provider),
            Change::Set { addr, deposed: Some(key), provider, object } => {
                state.set_deposed(addr, *key, object.clone(), provider);
            }
            Change::Remove { addr, deposed: None } => {
                state.remove(addr);
            }
            Change::Remove { addr, deposed: Some(key) } => {
                state.remove_deposed(addr, *key);
            }
            Change::Depose { addr, key } => {
                state.depose_as(addr, *key);
            }
            Change::Restore { addr, key } => {
                state.restore_deposed(addr, *key);
            }
            Change::Move { from, to } => {
                state.move_instance(from, to);
            }
            Change::Output { name, value: Some(value) } => {
                state.outputs.insert(name.clone(), value.clone());
            }
            Change::Output { name, value: None } => {
                state.outputs.remove(name);
            }
        }
    }
}

type Out = Json<io::Sink>;

fn text(j: &mut Out, key: &str, value: &str) {
    j.key(key);
    j.string(value);
}

fn shown(j: &mut Out, key: &str, value: impl std::fmt::Display) {
    j.key(key);
    j.shown(value);
}

fn optional(j: &mut Out, key: &str, value: Option<impl std::fmt::Display>) {
    if let Some(value) = value {
        shown(j, key, value);
    }
}

/// The text of a record.
///
/// # Errors
/// An output whose value cannot be stored.
pub fn encode(record: &Record) -> io::Result<Vec<u8>> {
    let mut j = Json::in_memory();
    write_record(&mut j, record)?;
    Ok(j.into_bytes())
}

fn write_record(j: &mut Out, record: &Record) -> io::Result<()> {
    j.open(b'{');
    match record {
        Record::Intent(i) => {
            text(j, "record", "intent");
            j.key("operation");
            j.display(i.operation.0);
            text(j, "action", i.action.as_str());
            shown(j, "addr", &i.addr);
            optional(j, "deposed", i.deposed);
            shown(j, "provider", &i.provider);
            optional(j, "client_token", i.client_token.as_ref());
            if !i.planned_private.is_empty() {
                text(j, "private", &BASE64.encode(&i.planned_private));
            }
            j.key("planned");
            j.raw(&i.planned);
            j.key("time");
            j.display(i.time);
        }
        Record::Finished { operation, changes } => {
            text(j, "record", "finished");
            j.key("operation");
            j.display(operation.0);
            write_changes(j, changes)?;
        }
        Record::Changes(changes) => {
            text(j, "record", "changes");
            write_changes(j, changes)?;
        }
        Record::Saving { serial, fingerprint } => {
            text(j, "record", "saving");
            j.key("serial");
            j.display(serial);
            j.key("length");
            j.display(fingerprint.length);
            j.key("crc");
            j.display(fingerprint.crc);
        }
    }
    j.close(b'}')
}

fn write_changes(j: &mut Out, changes: &[Change]) -> io::Result<()> {
    j.key("changes");
    j.open(b'[');
    for change in changes {
        j.open(b'{');
        match change {
            Change::Set { addr, deposed, provider, object } => {
                text(j, "change", "set");
                shown(j, "addr", addr);
                shown(j, "provider", provider);
                j.key("object");
                writer::write_object(j, &InstanceKey::None, *deposed, None, object)?;
            }
            Change::Remove { addr, deposed } => {
                text(j, "change", "remove");
                shown(j, "addr", addr);
                optional(j, "deposed", *deposed);
            }
            Change::Depose { addr, key } => {
                text(j, "change", "depose");
                shown(j, "addr", addr);
                shown(j, "deposed", key);
            }
            Change::Restore { addr, key } => {
                text(j, "change", "restore");
                shown(j, "addr", addr);
                shown(j, "deposed", key);
            }
            Change::Move { from, to } => {
                text(j, "change", "move");
                shown(j, "addr", from);
                shown(j, "to", to);
            }
            Change::Output { name, value } => {
                text(j, "change", "output");
                text(j, "name", name);
                if let Some(value) = value {
                    j.key("output");
                    writer::write_output(j, value)?;
                }
            }
        }
        j.close(b'}')?;
    }
    j.close(b']')
}

#[derive(Deserialize)]
struct RecordText<'a> {
    record: &'a str,
    #[serde(default)]
    operation: u64,
    action: Option<&'a str>,
    #[serde(borrow)]
    addr: Option<Cow<'a, str>>,
    deposed: Option<&'a str>,
    #[serde(borrow)]
    provider: Option<Cow<'a, str>>,
    #[serde(borrow)]
    client_token: Option<Cow<'a, str>>,
    private: Option<&'a str>,
    #[serde(borrow)]
    planned: Option<&'a RawValue>,
    #[serde(default)]
    time: u64,
    #[serde(borrow, default)]
    changes: Vec<ChangeText<'a>>,
    #[serde(default)]
    serial: u64,
    #[serde(default)]
    length: u64,
    #[serde(default)]
    crc: u32,
}

#[derive(Deserialize)]
struct ChangeText<'a> {
    change: &'a str,
    #[serde(borrow)]
    addr: Option<Cow<'a, str>>,
    #[serde(borrow)]
    to: Option<Cow<'a, str>>,
    deposed: Option<&'a str>,
    #[serde(borrow)]
    provider: Option<Cow<'a, str>>,
    #[serde(borrow)]
    object: Option<&'a RawValue>,
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    output: Option<&'a RawValue>,
}

/// Numbers of operations beyond it were never given out; the next one can always be counted up to.
pub const LAST_OPERATION: u64 = u64::MAX / 2;

/// Reads the records of one journal.
#[derive(Default)]
pub struct Decoder<'a>(reader::Reader<'a>);

impl<'a> Decoder<'a> {
    /// # Errors
    /// A text that is not a record of this version: says why.
    pub fn decode(&mut self, payload: &'a [u8]) -> Result<Record, String> {
        let r: RecordText<'a> = serde_json::from_slice(payload).map_err(|e| e.to_string())?;
        if r.operation > LAST_OPERATION {
            return Err(format!("{} is not the number of an operation", r.operation));
        }
        Ok(match r.record {
            "intent" => Record::Intent(Box::new(Intent {
                operation: OperationId(r.operation),
                action: match r.action {
                    Some("create") => IntentAction::Create,
                    Some("update") => IntentAction::Update,
                    Some("delete") => IntentAction::Delete,
                    other => return Err(format!("unknown action {other:?}")),
                },
                addr: address(r.addr)?,
                deposed: deposed(r.deposed)?,
                provider: self.0.provider(r.provider.ok_or("an intent has no provider")?)?,
                client_token: r.client_token.map(|t| Str::from(&*t)),
                planned_private: BASE64.decode(r.private.unwrap_or_default()).map_err(|e| e.to_string())?,
                planned: r.planned.map_or("null", RawValue::get).into(),
                time: r.time,
            })),
            "finished" => Record::Finished { operation: OperationId(r.operation), changes: self.changes(r.changes)? },
            "changes" => Record::Changes(self.changes(r.changes)?),
            "saving" => Record::Saving { serial: r.serial, fingerprint: Fingerprint { length: r.length, crc: r.crc } },
            other => return Err(format!("unknown record \"{other}\"")),
        })
    }

    fn changes(&mut self, changes: Vec<ChangeText<'a>>) -> Result<Vec<Change>, String> {
        changes.into_iter().map(|c| self.change(c)).collect()
    }

    fn change(&mut self, c: ChangeText<'a>) -> Result<Change, String> {
        let key = |d: Option<&str>| deposed(d)?.ok_or_else(|| "a change has no deposed key".to_owned());
        Ok(match c.change {
            "set" => {
                let addr = address(c.addr)?;
                let provider = self.0.provider(c.provider.ok_or("a change has no provider")?)?;
                let ReadObject { deposed, object, .. } = self.0.object(c.object.ok_or("a change has no object")?)?;
                Change::Set { addr, deposed, provider, object: Arc::new(object) }
            }
            "remove" => Change::Remove { addr: address(c.addr)?, deposed: deposed(c.deposed)? },
            "depose" => Change::Depose { addr: address(c.addr)?, key: key(c.deposed)? },
            "restore" => Change::Restore { addr: address(c.addr)?, key: key(c.deposed)? },
            "move" => Change::Move { from: address(c.addr)?, to: address(c.to)? },
            "output" => Change::Output {
                name: Str::from(&*c.name.ok_or("an output has no name")?),
                value: c.output.map(|o| self.0.output(o)).transpose()?,
            },
            other => return Err(format!("unknown change \"{other}\"")),
        })
    }
}

fn address(text: Option<Cow<'_, str>>) -> Result<ResourceInstance, String> {
    let text = text.ok_or("an address is missing")?;
    text.parse().map_err(|e| format!("\"{text}\" is not an address. {e}"))
}

fn deposed(text: Option<&str>) -> Result<Option<DeposedKey>, String> {
    text.map(str::parse).transpose()
}

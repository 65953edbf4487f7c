//! Saved plans (`-out`): a zip archive with the plan, the states it starts from and the configuration it was made for.
//! It is written whole or not at all, and a file that is not such an archive gives an error that says so.

use crate::addr::{AbsProviderConfig, ConfigResource, Mode, Module, Provider, Resource, ResourceInstance, Target};
use crate::diag::{Diagnostic, Result};
use crate::engine::plan::{
    Action, ActionReason, Importing, OutputChange, Plan, PlanMode, RelevantAttribute, ResourceChange,
};
use crate::state::{State, file as state_file};
use gpuform_schema::schema::Schema;
use gpuform_schema::{Marks, Path, Step, Str, Type, Value, msgpack};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{Cursor, Read, Write};
use std::sync::Arc;

/// Grows when the layout changes; other versions are refused.
const VERSION: u32 = 1;

/// A saved plan as read, before its values are decoded with the providers' schemas.
pub struct SavedPlan {
    head: Head,
    prior_state: State,
    previous_state: State,
    /// The configuration: path (relative to the root module's directory) and text of each file.
    pub files: BTreeMap<String, Vec<u8>>,
    /// The module manifest's text, where there is one.
    pub settings: Settings,
}

/// Where the plan was made, for the apply.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize, Debug)]
pub struct Settings {
    pub workspace: String,
    /// Type of the backend, and a hash of its configuration.
    pub backend: String,
    pub backend_hash: String,
    /// Lineage and serial of the state that the plan starts from.
    pub lineage: String,
    pub serial: u64,
    /// The program that made the plan.
    pub version: String,
    /// The chosen version of each provider.
    #[serde(default)]
    pub selections: BTreeMap<String, String>,
}

#[derive(Serialize, Deserialize)]
struct Head {
    version: u32,
    mode: u8,
    timestamp: String,
    errored: bool,
    complete: bool,
    targets: Vec<String>,
    excludes: Vec<String>,
    force_replace: Vec<String>,
    providers: Vec<String>,
    variables: BTreeMap<String, SavedValue>,
    outputs: BTreeMap<String, SavedOutput>,
    changes: Vec<SavedChange>,
    drift: Vec<SavedChange>,
    checks: Vec<SavedCheck>,
    relevant: Vec<(String, Vec<SavedStep>)>,
    settings: Settings,
    /// Lists of dependencies, which many changes share.
    dependencies: Vec<Vec<(Vec<String>, u8, String, String)>>,
}

#[derive(Serialize, Deserialize)]
struct SavedCheck {
    kind: u8,
    config: String,
    status: u8,
    objects: Vec<(String, u8, Vec<String>)>,
}

#[derive(Serialize, Deserialize)]
struct SavedValue {
    #[serde(with = "bytes")]
    data: Vec<u8>,
    sensitive: Vec<Vec<SavedStep>>,
}

#[derive(Serialize, Deserialize)]
struct SavedOutput {
    action: u8,
    before: SavedValue,
    after: SavedValue,
    sensitive: bool,
}

#[derive(Serialize, Deserialize)]
struct SavedChange {
    addr: String,
    prev: Option<String>,
    deposed: Option<String>,
    provider: String,
    action: u8,
    reason: u8,
    before: SavedValue,
    after: SavedValue,
    replace: Vec<Vec<SavedStep>>,
    #[serde(with = "bytes")]
    private: Vec<u8>,
    import: Option<String>,
    generated: Option<String>,
    dependencies: u32,
    before_destroy: bool,
}

#[derive(Serialize, Deserialize)]
enum SavedStep {
    A(String),
    K(String),
    I(u64),
    E(#[serde(with = "bytes")] Vec<u8>),
}

mod bytes {
    //! Byte strings as msgpack binaries rather than lists of numbers.
    use serde::de::{Error, Visitor};
    use serde::{Deserializer, Serializer};

    pub fn serialize<S: Serializer>(b: &[u8], s: S) -> Result<S::Ok, S::Error> {
        s.serialize_bytes(b)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<u8>, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = Vec<u8>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("bytes")
            }
            fn visit_bytes<E: Error>(self, v: &[u8]) -> Result<Vec<u8>, E> {
                Ok(v.to_vec())
            }
        }
        d.deserialize_bytes(Bytes)
    }
}

// ---- small tables: enums as numbers

const MODES: [PlanMode; 3] = [PlanMode::Normal, PlanMode::Destroy, PlanMode::RefreshOnly];
const ACTIONS: [Action; 8] = [
    Action::NoOp,
    Action::Create,
    Action::Read,
    Action::Update,
    Action::DeleteThenCreate,
    Action::CreateThenDelete,
    Action::Delete,
    Action::Forget,
];
const REASONS: [ActionReason; 14] = [
    ActionReason::None,
    ActionReason::ReplaceBecauseTainted,
    ActionReason::ReplaceByRequest,
    ActionReason::ReplaceBecauseCannotUpdate,
    ActionReason::ReplaceByTriggers,
    ActionReason::DeleteBecauseNoResourceConfig,
    ActionReason::DeleteBecauseWrongRepetition,
    ActionReason::DeleteBecauseCountIndex,
    ActionReason::DeleteBecauseEachKey,
    ActionReason::DeleteBecauseNoModule,
    ActionReason::DeleteBecauseNoMoveTarget,
    ActionReason::ReadBecauseConfigUnknown,
    ActionReason::ReadBecauseDependencyPending,
    ActionReason::ReadBecauseCheckNested,
];
const MODE_OF_RESOURCE: [Mode; 3] = [Mode::Managed, Mode::Data, Mode::Ephemeral];
const CHECK_KINDS: [crate::state::CheckKind; 4] = [
    crate::state::CheckKind::Resource,
    crate::state::CheckKind::Output,
    crate::state::CheckKind::Check,
    crate::state::CheckKind::Variable,
];
const CHECK_STATUSES: [crate::state::CheckStatus; 4] = [
    crate::state::CheckStatus::Pass,
    crate::state::CheckStatus::Fail,
    crate::state::CheckStatus::Error,
    crate::state::CheckStatus::Unknown,
];

fn number<T: PartialEq>(table: &[T], item: &T) -> u8 {
    table.iter().position(|t| t == item).unwrap_or(0) as u8
}

fn entry<T: Copy>(table: &[T], n: u8) -> std::result::Result<T, String> {
    table.get(n as usize).copied().ok_or_else(|| format!("it has the unknown code {n}"))
}

// ---- writing

type Fallible<T> = std::result::Result<T, String>;

fn save_value(v: &Value, ty: &Type) -> Fallible<SavedValue> {
    let (plain, marks) = v.unmark_with_paths();
    let data = msgpack::encode(&plain, ty).map_err(|e| e.to_string())?;
    let sensitive = marks
        .iter()
        .filter(|(_, m)| m.contains(Marks::SENSITIVE))
        .map(|(p, _)| save_path(p))
        .collect::<Fallible<_>>()?;
    Ok(SavedValue { data, sensitive })
}

fn save_path(p: &Path) -> Fallible<Vec<SavedStep>> {
    p.0.iter()
        .map(|s| {
            Ok(match s {
                Step::Attr(a) => SavedStep::A(a.to_string()),
                Step::Key(k) => SavedStep::K(k.to_string()),
                Step::Index(i) => SavedStep::I(*i),
                Step::Element(v) => SavedStep::E(msgpack::encode(v, &Type::Dynamic).map_err(|e| e.to_string())?),
            })
        })
        .collect()
}

/// The bytes of a plan file.
///
/// # Errors
/// A value that does not follow its schema.
pub fn write(plan: &Plan, files: &BTreeMap<String, Vec<u8>>, settings: &Settings) -> Result<Vec<u8>> {
    encode(plan, files, settings).map_err(|e| {
        Box::new(Diagnostic::error("Plan cannot be saved", format!("The plan could not be encoded: {e}.")))
    })
}

fn encode(plan: &Plan, files: &BTreeMap<String, Vec<u8>>, settings: &Settings) -> Fallible<Vec<u8>> {
    let mut lists: Vec<Arc<[ConfigResource]>> = Vec::new();
    let mut list_index: std::collections::HashMap<*const ConfigResource, u32> = std::collections::HashMap::new();
    let mut types: std::collections::HashMap<*const Schema, Type> = std::collections::HashMap::new();
    let mut change = |c: &ResourceChange| -> Fallible<SavedChange> {
        let ty = types.entry(Arc::as_ptr(&c.schema)).or_insert_with(|| c.schema.block.implied_type()).clone();
        let dependencies = *list_index.entry(c.dependencies.as_ptr()).or_insert_with(|| {
            lists.push(c.dependencies.clone());
            lists.len() as u32 - 1
        });
        Ok(SavedChange {
            addr: c.addr.to_string(),
            prev: c.is_moved().then(|| c.prev_addr.to_string()),
            deposed: c.deposed.map(|k| k.to_string()),
            provider: c.provider.to_string(),
            action: number(&ACTIONS, &c.action),
            reason: number(&REASONS, &c.reason),
            before: save_value(&c.before, &ty)?,
            after: save_value(&c.after, &ty)?,
            replace: c.required_replace.iter().map(save_path).collect::<Fallible<_>>()?,
            private: c.planned_private.clone(),
            import: c.importing.as_ref().map(|i| i.id.clone()),
            generated: c.generated_config.clone(),
            dependencies,
            before_destroy: c.create_before_destroy,
        })
    };
    let changes = plan.changes.iter().map(|c| change(c)).collect::<Fallible<Vec<_>>>()?;
    let drift = plan.drift.iter().map(&mut change).collect::<Fallible<Vec<_>>>()?;
    let dynamic = Type::Dynamic;
    let head = Head {
        version: VERSION,
        mode: number(&MODES, &plan.mode),
        timestamp: plan.timestamp.clone(),
        errored: plan.errored,
        complete: plan.complete,
        targets: plan.targets.iter().map(ToString::to_string).collect(),
        excludes: plan.excludes.iter().map(ToString::to_string).collect(),
        force_replace: plan.force_replace.iter().map(ToString::to_string).collect(),
        providers: plan.providers.iter().map(ToString::to_string).collect(),
        variables: plan
            .variables
            .iter()
            .map(|(n, v)| Ok((n.to_string(), save_value(v, &dynamic)?)))
            .collect::<Fallible<_>>()?,
        outputs: plan
            .outputs
            .iter()
            .map(|(n, o)| {
                let saved = SavedOutput {
                    action: number(&ACTIONS, &o.action),
                    before: save_value(&o.before, &dynamic)?,
                    after: save_value(&o.after, &dynamic)?,
                    sensitive: o.sensitive,
                };
                Ok((n.to_string(), saved))
            })
            .collect::<Fallible<_>>()?,
        changes,
        drift,
        checks: plan
            .checks
            .iter()
            .map(|c| SavedCheck {
                kind: number(&CHECK_KINDS, &c.kind),
                config: c.config_addr.to_string(),
                status: number(&CHECK_STATUSES, &c.status),
                objects: c
                    .objects
                    .iter()
                    .map(|o| {
                        let messages = o.failure_messages.iter().map(ToString::to_string).collect();
                        (o.addr.to_string(), number(&CHECK_STATUSES, &o.status), messages)
                    })
                    .collect(),
            })
            .collect(),
        relevant: plan
            .relevant_attributes
            .iter()
            .map(|r| Ok((r.resource.to_string(), save_path(&r.path)?)))
            .collect::<Fallible<_>>()?,
        settings: settings.clone(),
        dependencies: lists
            .iter()
            .map(|l| {
                l.iter()
                    .map(|r| {
                        let module = r.module.0.iter().map(ToString::to_string).collect();
                        let mode = number(&MODE_OF_RESOURCE, &r.resource.mode);
                        (module, mode, r.resource.ty.to_string(), r.resource.name.to_string())
                    })
                    .collect()
            })
            .collect(),
    };
    let head = rmp_serde::to_vec(&head).map_err(|e| e.to_string())?;
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default()
        .compression_method(zip::CompressionMethod::Deflated)
        .compression_level(Some(1))
        .unix_permissions(0o600);
    let mut add = |name: &str, data: &[u8]| -> Fallible<()> {
        zip.start_file(name, options).map_err(|e| e.to_string())?;
        zip.write_all(data).map_err(|e| e.to_string())
    };
    add("plan", &head)?;
    add("state", &state_file::to_bytes(&plan.prior_state).map_err(|e| e.to_string())?)?;
    add("state-previous", &state_file::to_bytes(&plan.previous_state).map_err(|e| e.to_string())?)?;
    for (name, data) in files {
        add(&format!("config/{name}"), data)?;
    }
    Ok(zip.finish().map_err(|e| e.to_string())?.into_inner())
}

// ---- reading

/// Reads a plan file. `name` is used in messages.
///
/// # Errors
/// The bytes are not a plan that this version can read.
pub fn read(bytes: &[u8], name: &str) -> Result<SavedPlan> {
    decode(bytes).map_err(|e| {
        Box::new(Diagnostic::error(
            "Plan file cannot be read",
            format!("{name} is not a plan that this version of gpuform can use: {e}. Make the plan again."),
        ))
    })
}

/// Whether the bytes look like a plan file rather than a state.
pub fn is_plan(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK\x03\x04")
}

/// The entries of a sane plan are not larger together; an archive that claims more is refused.
const MOST_BYTES: u64 = 1 << 30;
/// JSON of many objects that are alike is compressed to a twentieth; nothing that the archive is for comes to this.
const MOST_COMPRESSED: u64 = 100;

fn decode(bytes: &[u8]) -> Fallible<SavedPlan> {
    let mut zip = zip::ZipArchive::new(Cursor::new(bytes)).map_err(|_| "it is not an archive".to_owned())?;
    let mut entries: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let mut left = MOST_BYTES.min((1 << 20) + (bytes.len() as u64).saturating_mul(MOST_COMPRESSED));
    for i in 0..zip.len() {
        let mut f = zip.by_index(i).map_err(|e| e.to_string())?;
        let mut data = Vec::new();
        let n = f.by_ref().take(left + 1).read_to_end(&mut data).map_err(|e| e.to_string())?;
        left = left.checked_sub(n as u64).ok_or("it is too large")?;
        let name = f.name().map_err(|e| e.to_string())?.into_owned();
        entries.insert(name, data);
    }
    let head = entries.get("plan").ok_or("it holds no gpuform plan")?;
    let head: Head = rmp_serde::from_slice(head).map_err(|_| "it was made by another version".to_owned())?;
    if head.version != VERSION {
        return Err("it was made by another version".into());
    }
    let state = |name: &str| -> Fallible<State> {
        let data = entries.get(name).ok_or("its state is missing")?;
        state_file::read(data, name).map(Option::unwrap_or_default).map_err(|d| d.summary.clone())
    };
    Ok(SavedPlan {
        prior_state: state("state")?,
        previous_state: state("state-previous")?,
        settings: head.settings.clone(),
        files: entries.iter().filter_map(|(n, d)| Some((n.strip_prefix("config/")?.to_owned(), d.clone()))).collect(),
        head,
    })
}

fn read_value(v: &SavedValue, ty: &Type) -> Fallible<Value> {
    let value = msgpack::decode(&v.data, ty).map_err(|e| e.to_string())?;
    let paths: Vec<(Path, Marks)> =
        v.sensitive.iter().map(|p| Ok((read_path(p)?, Marks::SENSITIVE))).collect::<Fallible<_>>()?;
    Ok(value.mark_paths(&paths))
}

fn read_path(steps: &[SavedStep]) -> Fallible<Path> {
    steps
        .iter()
        .map(|s| {
            Ok(match s {
                SavedStep::A(a) => Step::Attr(a.as_str().into()),
                SavedStep::K(k) => Step::Key(k.as_str().into()),
                SavedStep::I(i) => Step::Index(*i),
                SavedStep::E(b) => Step::Element(msgpack::decode(b, &Type::Dynamic).map_err(|e| e.to_string())?),
            })
        })
        .collect::<Fallible<Vec<_>>>()
        .map(Path)
}

impl SavedPlan {
    pub fn errored(&self) -> bool {
        self.head.errored
    }

    /// Root variables that the plan was made with.
    ///
    /// # Errors
    /// A value that cannot be decoded.
    pub fn variables(&self) -> Result<BTreeMap<Str, Value>> {
        self.head
            .variables
            .iter()
            .map(|(n, v)| Ok((Str::from(n.as_str()), read_value(v, &Type::Dynamic).map_err(damaged)?)))
            .collect()
    }

    /// The resource types that decoding needs schemas of.
    ///
    /// # Errors
    /// An address that cannot be parsed.
    pub fn needed_schemas(&self) -> Result<Vec<(Provider, Mode, Str)>> {
        let mut needed = std::collections::BTreeSet::new();
        for c in self.head.changes.iter().chain(&self.head.drift) {
            let addr: ResourceInstance = parse(&c.addr).map_err(damaged)?;
            let provider: AbsProviderConfig = parse(&c.provider).map_err(damaged)?;
            needed.insert((provider.provider, addr.resource.mode, addr.resource.ty));
        }
        Ok(needed.into_iter().collect())
    }

    /// Adds the configuration that was generated for imported objects to the files, as applying needs it.
    pub fn include_generated(&mut self) {
        let generated: String =
            self.head.changes.iter().filter_map(|c| c.generated.as_deref()).map(|block| format!("{block}\n")).collect();
        if !generated.is_empty() {
            let names = (0..).map(|n| format!("generated_{n}.tf"));
            let name = names.into_iter().find(|n| !self.files.contains_key(n)).unwrap_or_default();
            self.files.insert(name, generated.into_bytes());
        }
    }

    /// Decodes the plan with the schemas of its resource types.
    ///
    /// # Errors
    /// A schema that is missing or does not fit the plan.
    pub fn into_plan(self, schema: &dyn Fn(&Provider, Mode, &str) -> Option<Arc<Schema>>) -> Result<Plan> {
        self.build(schema).map_err(damaged)
    }

    fn build(self, schema: &dyn Fn(&Provider, Mode, &str) -> Option<Arc<Schema>>) -> Fallible<Plan> {
        let h = self.head;
        let lists: Vec<Arc<[ConfigResource]>> = h
            .dependencies
            .iter()
            .map(|l| {
                l.iter()
                    .map(|(module, mode, ty, name)| {
                        Ok(ConfigResource {
                            module: Module(module.iter().map(|m| Str::from(m.as_str())).collect()),
                            resource: Resource {
                                mode: entry(&MODE_OF_RESOURCE, *mode)?,
                                ty: ty.as_str().into(),
                                name: name.as_str().into(),
                            },
                        })
                    })
                    .collect::<Fallible<_>>()
            })
            .collect::<Fallible<_>>()?;
        let mut types: BTreeMap<(Provider, Mode, Str), (Arc<Schema>, Type)> = BTreeMap::new();
        let mut change = |c: SavedChange| -> Fallible<ResourceChange> {
            let addr: ResourceInstance = parse(&c.addr)?;
            let provider: AbsProviderConfig = parse(&c.provider)?;
            let key = (provider.provider.clone(), addr.resource.mode, addr.resource.ty.clone());
            let (schema, ty) = match types.get(&key) {
                Some(found) => found.clone(),
                None => {
                    let s = schema(&key.0, key.1, &key.2).ok_or_else(|| {
                        format!("the installed provider {} does not know the type {}", key.0.for_display(), key.2)
                    })?;
                    let ty = s.block.implied_type();
                    types.insert(key, (s.clone(), ty.clone()));
                    (s, ty)
                }
            };
            Ok(ResourceChange {
                prev_addr: match &c.prev {
                    Some(p) => parse(p)?,
                    None => addr.clone(),
                },
                addr,
                deposed: c.deposed.map(|k| k.parse()).transpose()?,
                provider,
                action: entry(&ACTIONS, c.action)?,
                reason: entry(&REASONS, c.reason)?,
                before: read_value(&c.before, &ty)?,
                after: read_value(&c.after, &ty)?,
                required_replace: c.replace.iter().map(|p| read_path(p)).collect::<Fallible<_>>()?,
                planned_private: c.private,
                importing: c.import.map(|id| Importing { id }),
                generated_config: c.generated,
                schema,
                dependencies: lists.get(c.dependencies as usize).cloned().unwrap_or_default(),
                create_before_destroy: c.before_destroy,
            })
        };
        let changes = h.changes.into_iter().map(|c| change(c).map(Arc::new)).collect::<Fallible<_>>()?;
        let drift = h.drift.into_iter().map(&mut change).collect::<Fallible<_>>()?;
        let dynamic = Type::Dynamic;
        Ok(Plan {
            mode: entry(&MODES, h.mode)?,
            variables: h
                .variables
                .iter()
                .map(|(n, v)| Ok((Str::from(n.as_str()), read_value(v, &dynamic)?)))
                .collect::<Fallible<_>>()?,
            changes,
            drift,
            generated: Vec::new(),
            outputs: h
                .outputs
                .iter()
                .map(|(n, o)| {
                    let change = OutputChange {
                        action: entry(&ACTIONS, o.action)?,
                        before: read_value(&o.before, &dynamic)?,
                        after: read_value(&o.after, &dynamic)?,
                        sensitive: o.sensitive,
                    };
                    Ok((Str::from(n.as_str()), change))
                })
                .collect::<Fallible<_>>()?,
            prior_state: self.prior_state,
            previous_state: self.previous_state,
            checks: h
                .checks
                .into_iter()
                .map(|c| {
                    Ok(crate::state::CheckResult {
                        kind: entry(&CHECK_KINDS, c.kind)?,
                        config_addr: c.config.into(),
                        status: entry(&CHECK_STATUSES, c.status)?,
                        objects: c
                            .objects
                            .into_iter()
                            .map(|(addr, status, messages)| {
                                Ok(crate::state::CheckObject {
                                    addr: addr.into(),
                                    status: entry(&CHECK_STATUSES, status)?,
                                    failure_messages: messages.into_iter().map(Into::into).collect(),
                                })
                            })
                            .collect::<Fallible<_>>()?,
                    })
                })
                .collect::<Fallible<_>>()?,
            relevant_attributes: h
                .relevant
                .iter()
                .map(|(r, p)| Ok(RelevantAttribute { resource: r.as_str().into(), path: read_path(p)? }))
                .collect::<Fallible<_>>()?,
            targets: parse_all::<Target>(&h.targets)?,
            excludes: parse_all::<Target>(&h.excludes)?,
            force_replace: parse_all::<ResourceInstance>(&h.force_replace)?,
            timestamp: h.timestamp,
            errored: h.errored,
            complete: h.complete,
            providers: h.providers.iter().map(|p| Provider::parse(p)).collect::<Fallible<_>>()?,
            prepared: None,
        })
    }
}

fn parse<T: std::str::FromStr<Err = crate::addr::ParseError>>(text: &str) -> Fallible<T> {
    text.parse().map_err(|e: crate::addr::ParseError| e.0)
}

fn parse_all<T: std::str::FromStr<Err = crate::addr::ParseError>>(texts: &[String]) -> Fallible<Vec<T>> {
    texts.iter().map(|t| parse(t)).collect()
}

fn damaged(e: String) -> Box<Diagnostic> {
    Box::new(Diagnostic::error("Plan file cannot be used", format!("The saved plan does not fit: {e}. Make it again.")))
}

//! Reading a state file in one pass over its text, straight into the model. Attributes are taken over as text.

use super::json::compact;
use crate::addr::{AbsProviderConfig, AbsResource, ConfigResource, InstanceKey, Mode, ModuleInstance, Provider};
use crate::addr::{Resource, Target};
use crate::diag::{Diagnostic, Failure, Result};
use crate::state::{
    Attributes, CheckKind, CheckObject, CheckResult, CheckStatus, DeposedKey, ObjectState, ObjectStatus, OutputValue,
    ResourceState, State,
};
use base64::Engine as _;
use gpuform_schema::{Path, Step, Str, json};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

/// Reads the content of a state file; `None` if it is empty, which means that there is no state yet. `name` is what
/// errors call the file.
///
/// # Errors
/// Text that is not a state in format version 4, with the place and what to do.
pub fn read(bytes: &[u8], name: &str) -> Result<Option<State>> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let invalid = |detail: String| -> Failure { Box::new(Diagnostic::error("Unsupported state file format", detail)) };
    let text = std::str::from_utf8(bytes).map_err(|e| {
        let line = bytes.iter().take(e.valid_up_to()).filter(|b| **b == b'\n').count() + 1;
        invalid(format!(
            "{name} is not a state file: line {line} (byte {}) is not valid UTF-8 text.{}",
            e.valid_up_to(),
            advice(name)
        ))
    })?;
    let mut reader = Reader::default();
    let mut json = serde_json::Deserializer::from_str(text);
    let outcome = json.deserialize_map(FileVisitor(&mut reader)).and_then(|state| json.end().map(|()| state));
    outcome.map(Some).map_err(|e| match version(text) {
        Ok(Some(4)) => invalid(format!("{name} is not a valid state file: {e}.{}", advice(name))),
        Ok(Some(old @ 0..=3)) => invalid(format!(
            "{name} has the state format version {old} of Terraform 0.11 or older. Any Terraform from 0.12 on upgrades \
             it: run \"terraform apply -refresh-only\" once, then come back. The file was not changed."
        )),
        Ok(Some(new)) => invalid(format!(
            "{name} has the state format version {new}; this gpuform reads version 4. A newer program has written it. \
             The file was not changed."
        )),
        Ok(None) => invalid(format!("{name} is not a state file: it has no \"version\" number.{}", advice(name))),
        Err(e) => invalid(format!("{name} is not valid JSON: {e}.{}", advice(name))),
    })
}

fn advice(name: &str) -> String {
    format!(
        " The file was not changed. If the file was cut off or edited by hand, mend it, or put back the last good copy: \
         look for {name}.backup beside it."
    )
}

/// The version number alone, for the explanation of an error.
fn version(text: &str) -> std::result::Result<Option<u64>, serde_json::Error> {
    #[derive(Deserialize)]
    struct Version<'a> {
        #[serde(borrow)]
        version: Option<&'a RawValue>,
    }
    if !text.trim_start().starts_with('{') {
        serde_json::from_str::<IgnoredAny>(text)?;
        return Ok(None);
    }
    let v: Version<'_> = serde_json::from_str(text)?;
    Ok(v.version.and_then(|v| v.get().parse().ok()))
}

/// What is shared between the parts of one file: every distinct text is parsed and stored once.
#[derive(Default)]
pub struct Reader<'a> {
    strings: HashMap<Cow<'a, str>, Str>,
    modules: HashMap<Cow<'a, str>, ModuleInstance>,
    providers: HashMap<Cow<'a, str>, AbsProviderConfig>,
    dependencies: HashMap<Cow<'a, str>, ConfigResource>,
    /// By the raw text of the list.
    dependency_lists: HashMap<&'a str, Arc<[ConfigResource]>>,
    scratch: String,
}

impl<'a> Reader<'a> {
    /// One object as [`super::writer::write_object`] writes it: instance key, deposed key, object.
    pub fn object(&mut self, raw: &'a RawValue) -> std::result::Result<ReadObject, String> {
        OneObject(self).deserialize(&mut serde_json::Deserializer::from_str(raw.get())).map_err(|e| e.to_string())
    }

    /// One output as [`super::writer::write_output`] writes it.
    pub fn output(&self, raw: &RawValue) -> std::result::Result<OutputValue, String> {
        serde_json::from_str(raw.get()).map_err(|e| e.to_string()).and_then(|o| output(&o))
    }

    fn string(&mut self, text: Cow<'a, str>) -> Str {
        if let Some(s) = self.strings.get(&text) {
            return s.clone();
        }
        let s: Str = (*text).into();
        self.strings.insert(text, s.clone());
        s
    }

    fn module(&mut self, text: Cow<'a, str>) -> std::result::Result<ModuleInstance, String> {
        if let Some(m) = self.modules.get(&text) {
            return Ok(m.clone());
        }
        let m: ModuleInstance =
            text.parse().map_err(|e| format!("\"{text}\" is not the address of a module instance. {e}"))?;
        self.modules.insert(text, m.clone());
        Ok(m)
    }

    pub fn provider(&mut self, text: Cow<'a, str>) -> std::result::Result<AbsProviderConfig, String> {
        if let Some(p) = self.providers.get(&text) {
            return Ok(p.clone());
        }
        let p = parse_provider(&text)
            .map_err(|e| format!("\"{text}\" is not the address of a provider configuration. {e}"))?;
        self.providers.insert(text, p.clone());
        Ok(p)
    }

    fn dependency(&mut self, text: Cow<'a, str>) -> std::result::Result<ConfigResource, String> {
        if let Some(d) = self.dependencies.get(&text) {
            return Ok(d.clone());
        }
        let target: Target = text.parse().map_err(|e| format!("\"{text}\" is not a resource address. {e}"))?;
        let mut d = match target {
            Target::Resource(r) => r.config(),
            Target::Instance(i) => i.config(),
            Target::Module(_) => return Err(format!("A dependency must be a resource, but \"{text}\" is a module.")),
        };
        d.resource.ty = self.string(Cow::Owned(d.resource.ty.to_string()));
        self.dependencies.insert(text, d.clone());
        Ok(d)
    }

    fn dependencies(&mut self, raw: &'a RawValue) -> std::result::Result<Arc<[ConfigResource]>, String> {
        if let Some(list) = self.dependency_lists.get(raw.get()) {
            return Ok(list.clone());
        }
        let texts: Vec<Text<'a>> = serde_json::from_str(raw.get()).map_err(|e| e.to_string())?;
        let list: Arc<[ConfigResource]> =
            texts.into_iter().map(|t| self.dependency(t.0)).collect::<std::result::Result<_, _>>()?;
        self.dependency_lists.insert(raw.get(), list.clone());
        Ok(list)
    }

    fn compact(&mut self, raw: &RawValue) -> Str {
        self.scratch.clear();
        compact(raw.get(), &mut self.scratch);
        self.scratch.as_str().into()
    }
}

/// A state says which version has written it; Terraform reads none that says something else.
fn known_version(text: &str) -> std::result::Result<(), String> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+' | '~');
    let number = text.strip_prefix('v').unwrap_or(text);
    if text.is_empty() || (number.starts_with(|c: char| c.is_ascii_digit()) && number.chars().all(allowed)) {
        return Ok(());
    }
    Err(format!("its \"terraform_version\" is \"{text}\", which is not a version"))
}

/// The current form, or one of those of Terraform 0.12 (`provider.aws`, `module.a.provider.aws.west`), whose provider
/// has no namespace: it gets the namespace `-`, as in Terraform, until `state replace-provider` gives it a real one.
fn parse_provider(text: &str) -> std::result::Result<AbsProviderConfig, String> {
    let legacy = |module: &str, ty: &str, alias: Option<&str>| {
        let module = if module.is_empty() { ModuleInstance::root() } else { module.parse()? };
        Ok(AbsProviderConfig {
            module: module.module(),
            provider: Provider::new(crate::addr::DEFAULT_REGISTRY, "-", ty),
            alias: alias.map(Into::into),
            key: InstanceKey::None,
        })
    };
    let result = if let Some((module, rest)) = split_provider(text, "provider[\"registry.terraform.io/-/") {
        let (ty, rest) = rest.split_once("\"]").unwrap_or((rest, ""));
        legacy(module, ty, rest.strip_prefix('.'))
    } else if let Some((module, rest)) = split_provider(text, "provider.") {
        let (ty, alias) = rest.split_once('.').map_or((rest, None), |(ty, alias)| (ty, Some(alias)));
        legacy(module, ty, alias)
    } else {
        text.parse()
    };
    result.map_err(|e: crate::addr::ParseError| e.0)
}

/// The module address before `word`, and what follows it.
fn split_provider<'t>(text: &'t str, word: &str) -> Option<(&'t str, &'t str)> {
    let (module, rest) = text.split_once(word)?;
    let module = if module.is_empty() { module } else { module.strip_suffix('.')? };
    Some((module, rest))
}

/// A string borrowed from the text where it has no escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

struct FileVisitor<'r, 'a>(&'r mut Reader<'a>);

impl<'a> Visitor<'a> for FileVisitor<'_, 'a> {
    type Value = State;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a state")
    }

    fn visit_map<M: MapAccess<'a>>(self, mut map: M) -> std::result::Result<State, M::Error> {
        let mut state = State::default();
        let mut version = None;
        while let Some(Text(key)) = map.next_key()? {
            match &*key {
                "version" => {
                    let v: u64 = map.next_value()?;
                    if v != 4 {
                        return Err(M::Error::custom("unsupported version"));
                    }
                    version = Some(v);
                }
                "terraform_version" => {
                    state.terraform_version = map.next_value::<Option<_>>()?.unwrap_or_default();
                    known_version(&state.terraform_version).map_err(M::Error::custom)?;
                }
                "serial" => state.serial = map.next_value::<Option<_>>()?.unwrap_or_default(),
                "lineage" => state.lineage = map.next_value::<Option<_>>()?.unwrap_or_default(),
                "outputs" => state.outputs = read_outputs(map.next_value()?).map_err(M::Error::custom)?,
                "resources" => map.next_value_seed(Resources { reader: self.0, state: &mut state })?,
                "check_results" => state.check_results = read_checks(map.next_value()?),
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        match version {
            Some(_) => Ok(state),
            None => Err(M::Error::custom("no version")),
        }
    }
}

/// The list of resources, each put into the state as it is read.
struct Resources<'r, 'a> {
    reader: &'r mut Reader<'a>,
    state: &'r mut State,
}

impl<'a> DeserializeSeed<'a> for Resources<'_, 'a> {
    type Value = ();

    fn deserialize<D: Deserializer<'a>>(self, d: D) -> std::result::Result<(), D::Error> {
        d.deserialize_any(self)
    }
}

impl<'a> Visitor<'a> for Resources<'_, 'a> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of resources")
    }

    fn visit_unit<E>(self) -> std::result::Result<(), E> {
        Ok(())
    }

    fn visit_seq<S: SeqAccess<'a>>(self, mut seq: S) -> std::result::Result<(), S::Error> {
        while let Some((addr, mut resource)) = seq.next_element_seed(OneResource(self.reader))? {
            // The instances of a resource stand together, except in files written by other hands.
            if let Some(before) = self.state.remove_resource(&addr) {
                for (key, instance) in before.instances {
                    if resource.instances.insert(&key, instance).is_some() {
                        return Err(S::Error::custom(format!("{} appears twice", addr.instance(key))));
                    }
                }
            }
            self.state.insert_resource(addr, resource);
        }
        Ok(())
    }
}

struct OneResource<'r, 'a>(&'r mut Reader<'a>);

impl<'a> DeserializeSeed<'a> for OneResource<'_, 'a> {
    type Value = (AbsResource, ResourceState);

    fn deserialize<D: Deserializer<'a>>(self, d: D) -> std::result::Result<Self::Value, D::Error> {
        d.deserialize_map(self)
    }
}

impl<'a> Visitor<'a> for OneResource<'_, 'a> {
    type Value = (AbsResource, ResourceState);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a resource")
    }

    fn visit_map<M: MapAccess<'a>>(self, mut map: M) -> std::result::Result<Self::Value, M::Error> {
        let reader = self.0;
        let mut module = ModuleInstance::root();
        let (mut mode, mut ty, mut name, mut provider) = (None, None, None, None);
        let mut instances = crate::state::Instances::default();
        while let Some(Text(key)) = map.next_key()? {
            match &*key {
                "module" => {
                    if let Some(Text(text)) = map.next_value::<Option<Text<'a>>>()?.filter(|t| !t.0.is_empty()) {
                        module = reader.module(text).map_err(M::Error::custom)?;
                    }
                }
                "mode" => {
                    let Text(text) = map.next_value()?;
                    mode = Some(match &*text {
                        "managed" => Mode::Managed,
                        "data" => Mode::Data,
                        other => return Err(M::Error::custom(format!("\"{other}\" is not a resource mode"))),
                    });
                }
                "type" => ty = Some(reader.string(map.next_value::<Text<'a>>()?.0)),
                "name" => name = Some(Str::from(&*map.next_value::<Text<'a>>()?.0)),
                "provider" => {
                    let Text(text) = map.next_value()?;
                    provider = Some(reader.provider(text).map_err(M::Error::custom)?);
                }
                "instances" => map.next_value_seed(Instances { reader, instances: &mut instances })?,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        let missing = |what| M::Error::custom(format!("a resource has no \"{what}\""));
        let resource = Resource {
            mode: mode.ok_or_else(|| missing("mode"))?,
            ty: ty.ok_or_else(|| missing("type"))?,
            name: name.ok_or_else(|| missing("name"))?,
        };
        let of_instance = instances.iter().find_map(|(_, i)| i.provider.as_ref().map(|p| p.block()));
        let provider = provider.or(of_instance).ok_or_else(|| missing("provider"))?;
        // What the resource says already need not be said again.
        instances.iter_mut().for_each(|i| i.provider = i.provider.take().filter(|p| **p != provider));
        Ok((AbsResource { module, resource }, ResourceState { provider, instances }))
    }
}

struct Instances<'r, 'a> {
    reader: &'r mut Reader<'a>,
    instances: &'r mut crate::state::Instances,
}

impl<'a> DeserializeSeed<'a> for Instances<'_, 'a> {
    type Value = ();

    fn deserialize<D: Deserializer<'a>>(self, d: D) -> std::result::Result<(), D::Error> {
        d.deserialize_any(self)
    }
}

impl<'a> Visitor<'a> for Instances<'_, 'a> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of instances")
    }

    fn visit_unit<E>(self) -> std::result::Result<(), E> {
        Ok(())
    }

    fn visit_seq<S: SeqAccess<'a>>(self, mut seq: S) -> std::result::Result<(), S::Error> {
        while let Some(ReadObject { key, deposed, provider, object }) = seq.next_element_seed(OneObject(self.reader))? {
            let twice = |key: &InstanceKey| S::Error::custom(format!("the instance with key {key:?} appears twice"));
            let instance = self.instances.entry(&key);
            instance.provider = provider.map(Arc::new).or(instance.provider.take());
            let before = match deposed {
                None => instance.current.replace(Arc::new(object)),
                Some(deposed) => instance.deposed.insert(deposed, Arc::new(object)),
            };
            if before.is_some() {
                return Err(twice(&key));
            }
        }
        Ok(())
    }
}

/// An object of an instance, with what the file says of where it belongs.
pub struct ReadObject {
    pub key: InstanceKey,
    pub deposed: Option<DeposedKey>,
    pub provider: Option<AbsProviderConfig>,
    pub object: ObjectState,
}

struct OneObject<'r, 'a>(&'r mut Reader<'a>);

impl<'a> DeserializeSeed<'a> for OneObject<'_, 'a> {
    type Value = ReadObject;

    fn deserialize<D: Deserializer<'a>>(self, d: D) -> std::result::Result<Self::Value, D::Error> {
        d.deserialize_map(self)
    }
}

impl<'a> Visitor<'a> for OneObject<'_, 'a> {
    type Value = ReadObject;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a resource instance")
    }

    fn visit_map<M: MapAccess<'a>>(self, mut map: M) -> std::result::Result<Self::Value, M::Error> {
        let reader = self.0;
        let mut key = InstanceKey::None;
        let (mut deposed, mut provider) = (None, None);
        let mut object = ObjectState::new(0, "{}");
        while let Some(Text(field)) = map.next_key()? {
            match &*field {
                "index_key" => key = index_key(map.next_value()?).map_err(M::Error::custom)?,
                "status" => {
                    let text = map.next_value::<Option<Text<'a>>>()?;
                    object.status = match text.as_ref().map_or("", |t| &*t.0) {
                        "" => ObjectStatus::Ready,
                        "tainted" => ObjectStatus::Tainted,
                        other => return Err(M::Error::custom(format!("\"{other}\" is not the status of an instance"))),
                    };
                }
                "deposed" => {
                    if let Some(Text(text)) = map.next_value::<Option<Text<'a>>>()?.filter(|t| !t.0.is_empty()) {
                        deposed = Some(text.parse().map_err(M::Error::custom)?);
                    }
                }
                "provider" => {
                    let text = map.next_value::<Option<Text<'a>>>()?;
                    provider = text.map(|Text(t)| reader.provider(t)).transpose().map_err(M::Error::custom)?;
                }
                "schema_version" => object.schema_version = map.next_value::<Option<_>>()?.unwrap_or_default(),
                "attributes" => {
                    let raw: &RawValue = map.next_value()?;
                    match raw.get().as_bytes().first() {
                        Some(b'{') => object.attributes = Attributes::Json(reader.compact(raw)),
                        Some(b'n') => {}
                        _ => return Err(M::Error::custom("the attributes of an instance must be an object")),
                    }
                }
                "attributes_flat" => {
                    if let Some(flat) = map.next_value::<Option<BTreeMap<String, String>>>()? {
                        object.attributes = Attributes::Flat(Arc::new(flat));
                    }
                }
                "sensitive_attributes" => {
                    object.sensitive_paths = sensitive_paths(map.next_value()?).map_err(M::Error::custom)?;
                }
                "private" => {
                    if let Some(Text(text)) = map.next_value()? {
                        object.private = base64::engine::general_purpose::STANDARD
                            .decode(&*text)
                            .map_err(|e| M::Error::custom(format!("\"private\" of an instance is not base64: {e}")))?;
                    }
                }
                "dependencies" => {
                    let raw: &'a RawValue = map.next_value()?;
                    if raw.get().starts_with('[') {
                        object.dependencies = reader.dependencies(raw).map_err(M::Error::custom)?;
                    }
                }
                "create_before_destroy" => {
                    object.create_before_destroy = map.next_value::<Option<_>>()?.unwrap_or_default();
                }
                "depends_on" => {
                    map.next_value::<IgnoredAny>()?;
                }
                _ => {
                    let text = reader.compact(map.next_value()?);
                    object.unknown_fields.push((reader.string(field), text));
                }
            }
        }
        Ok(ReadObject { key, deposed, provider, object })
    }
}

fn index_key(raw: &RawValue) -> std::result::Result<InstanceKey, String> {
    let text = raw.get();
    if text == "null" {
        return Ok(InstanceKey::None);
    }
    if text.starts_with('"') {
        return serde_json::from_str::<String>(text)
            .map(|s| InstanceKey::String(s.into()))
            .map_err(|e| format!("the instance key {text} is not a valid string: {e}"));
    }
    text.parse()
        .map(InstanceKey::Int)
        .map_err(|_| format!("the instance key {text} is neither a whole number nor a string"))
}

/// `[[{"type":"get_attr","value":"a"},{"type":"index","value":{"value":"k","type":"string"}}]]`
fn sensitive_paths(raw: &RawValue) -> std::result::Result<Vec<Path>, String> {
    #[derive(Deserialize)]
    struct StepText<'a> {
        r#type: String,
        #[serde(borrow)]
        value: &'a RawValue,
    }
    #[derive(Deserialize)]
    struct Index<'a> {
        #[serde(borrow)]
        value: &'a RawValue,
    }
    if matches!(raw.get(), "[]" | "null") {
        return Ok(Vec::new());
    }
    let wrong = |e: serde_json::Error| format!("\"sensitive_attributes\" of an instance is not valid: {e}");
    let step = |s: StepText<'_>| match s.r#type.as_str() {
        "get_attr" => Ok(Step::Attr(serde_json::from_str::<String>(s.value.get()).map_err(wrong)?.into())),
        "index" => {
            let index: Index<'_> = serde_json::from_str(s.value.get()).map_err(wrong)?;
            match index_key(index.value)? {
                InstanceKey::String(key) => Ok(Step::Key(key)),
                InstanceKey::Int(i) => Ok(Step::Index(i)),
                InstanceKey::None => Err("\"sensitive_attributes\" of an instance has a null index".into()),
            }
        }
        other => Err(format!("\"sensitive_attributes\" of an instance has a step of the unknown type \"{other}\"")),
    };
    let paths: Vec<Vec<StepText<'_>>> = serde_json::from_str(raw.get()).map_err(wrong)?;
    paths.into_iter().map(|p| p.into_iter().map(step).collect::<std::result::Result<_, _>>().map(Path)).collect()
}

#[derive(Deserialize)]
struct OutputText<'a> {
    #[serde(borrow)]
    value: &'a RawValue,
    #[serde(borrow)]
    r#type: &'a RawValue,
    sensitive: Option<bool>,
}

fn output(o: &OutputText<'_>) -> std::result::Result<OutputValue, String> {
    let ty = json::type_from_json(o.r#type.get()).map_err(|e| e.to_string())?;
    let value = json::decode(o.value.get(), &ty, json::ExtraAttributes::Refuse).map_err(|e| e.to_string())?;
    Ok(OutputValue { value, sensitive: o.sensitive.unwrap_or_default() })
}

fn read_outputs(
    outputs: Option<BTreeMap<String, OutputText<'_>>>,
) -> std::result::Result<BTreeMap<Str, OutputValue>, String> {
    let named = |(name, o): (String, OutputText<'_>)| match output(&o) {
        Ok(value) => Ok((name.into(), value)),
        Err(e) => Err(format!("the output \"{name}\" cannot be read: {e}")),
    };
    outputs.unwrap_or_default().into_iter().map(named).collect()
}

#[derive(Deserialize)]
struct CheckText {
    object_kind: String,
    config_addr: String,
    #[serde(default)]
    status: String,
    objects: Option<Vec<CheckObjectText>>,
}

#[derive(Deserialize)]
struct CheckObjectText {
    object_addr: String,
    #[serde(default)]
    status: String,
    failure_messages: Option<Vec<String>>,
}

/// Results of kinds that this version does not know are left out.
fn read_checks(checks: Option<Vec<CheckText>>) -> Vec<CheckResult> {
    let status = |text: &str| match text {
        "pass" => CheckStatus::Pass,
        "fail" => CheckStatus::Fail,
        "error" => CheckStatus::Error,
        _ => CheckStatus::Unknown,
    };
    let object = |o: CheckObjectText| CheckObject {
        status: status(&o.status),
        addr: o.object_addr.into(),
        failure_messages: o.failure_messages.unwrap_or_default().into_iter().map(Into::into).collect(),
    };
    let result = |c: CheckText| {
        let kind = match c.object_kind.as_str() {
            "resource" => CheckKind::Resource,
            "output" => CheckKind::Output,
            "check" => CheckKind::Check,
            "var" => CheckKind::Variable,
            _ => return None,
        };
        Some(CheckResult {
            kind,
            config_addr: c.config_addr.into(),
            status: status(&c.status),
            objects: c.objects.unwrap_or_default().into_iter().map(object).collect(),
        })
    };
    checks.unwrap_or_default().into_iter().filter_map(result).collect()
}

//! Writing a state file, straight from the model to the output.

use super::json::Json;
use crate::addr::{AbsProviderConfig, AbsResource, InstanceKey, ModuleInstance, Resource};
use crate::state::{
    Attributes, CheckResult, DeposedKey, InstanceState, ObjectState, ObjectStatus, OutputValue, ResourceState, State,
};
use base64::Engine as _;
use gpuform_schema::{Path, Step, Str, json};
use std::io::{self, Write};

/// Writes the state as a state file. Buffers by itself.
///
/// # Errors
/// Those of `out`, and an output whose value cannot be stored because it is not wholly known or is marked.
pub fn write(state: &State, out: impl Write) -> io::Result<()> {
    let mut j = Json::new(out);
    j.open(b'{');
    j.key("version");
    j.display(4);
    j.key("terraform_version");
    j.string(&state.terraform_version);
    j.key("serial");
    j.display(state.serial);
    j.key("lineage");
    j.string(&state.lineage);
    j.key("outputs");
    j.open(b'{');
    for (name, output) in &state.outputs {
        j.key(name);
        write_output(&mut j, output)?;
    }
    j.close(b'}')?;
    j.key("resources");
    j.open(b'[');
    for (module, resources) in &by_module(state) {
        for (resource, r) in resources {
            write_resource(&mut j, module, resource, r)?;
        }
    }
    j.close(b']')?;
    j.key("check_results");
    if state.check_results.is_empty() {
        j.display("null");
    } else {
        j.open(b'[');
        for result in &state.check_results {
            write_check(&mut j, result)?;
        }
        j.close(b']')?;
    }
    j.close(b'}')?;
    j.finish()
}

/// About how many bytes the state will take, so that the text need not be moved while it grows.
pub fn expected_length(state: &State) -> usize {
    const AROUND: usize = 640;
    const DEPENDENCY: usize = 56;
    let object = |o: &ObjectState| match &o.attributes {
        Attributes::Json(text) => text.len() + text.len() / 4 + o.dependencies.len() * DEPENDENCY,
        Attributes::Flat(map) => map.len() * 64,
    };
    let all = state.instances().flat_map(|i| i.state.current.iter().chain(i.state.deposed.values()));
    4096 + all.map(|o| AROUND + object(o)).sum::<usize>()
}

/// An output without its name.
pub fn write_output<W: Write>(j: &mut Json<W>, output: &OutputValue) -> io::Result<()> {
    j.open(b'{');
    let ty = output.value.ty();
    let mut text = String::new();
    json::encode(&output.value, &ty, &mut text).map_err(io::Error::other)?;
    j.key("value");
    j.raw(&text);
    j.key("type");
    j.raw(&json::type_to_json(&ty));
    if output.sensitive {
        j.key("sensitive");
        j.display(true);
    }
    j.close(b'}')
}

type ModuleResources<'a> = (String, Vec<(&'a Resource, &'a ResourceState)>);

/// The resources in the order of the file: by the text of the module address, in which `module.a[10]` comes before
/// `module.a[2]`, then by mode, type and name.
fn by_module(state: &State) -> Vec<ModuleResources<'_>> {
    let mut modules: Vec<ModuleResources<'_>> = Vec::new();
    let mut current: Option<&ModuleInstance> = None;
    for (AbsResource { module, resource }, r) in state.resources() {
        if current != Some(module) {
            current = Some(module);
            modules.push((module.to_string(), Vec::new()));
        }
        if let Some((_, resources)) = modules.last_mut() {
            resources.push((resource, r));
        }
    }
    modules.sort_by(|a, b| a.0.cmp(&b.0));
    modules
}

fn write_resource<W: Write>(j: &mut Json<W>, module: &str, resource: &Resource, r: &ResourceState) -> io::Result<()> {
    j.open(b'{');
    if !module.is_empty() {
        j.key("module");
        j.string(module);
    }
    j.key("mode");
    j.string(resource.mode.as_str());
    j.key("type");
    j.string(&resource.ty);
    j.key("name");
    j.string(&resource.name);
    // As OpenTofu has it: once one instance names its own provider, each does, and the resource none.
    let by_instance = r.instances.iter().any(|(_, i)| i.provider.is_some());
    if !by_instance {
        j.key("provider");
        j.shown(&r.provider);
    }
    j.key("instances");
    j.open(b'[');
    for (key, InstanceState { current, deposed, provider }) in &r.instances {
        let provider = by_instance.then(|| provider.as_deref().unwrap_or(&r.provider));
        let current = current.iter().map(|o| (None, o));
        for (deposed, object) in current.chain(deposed.iter().map(|(k, o)| (Some(*k), o))) {
            write_object(j, key, deposed, provider, object)?;
        }
    }
    j.close(b']')?;
    j.close(b'}')
}

/// An object as it stands in the list of instances.
pub fn write_object<W: Write>(
    j: &mut Json<W>,
    key: &InstanceKey,
    deposed: Option<DeposedKey>,
    provider: Option<&AbsProviderConfig>,
    object: &ObjectState,
) -> io::Result<()> {
    j.open(b'{');
    match key {
        InstanceKey::None => {}
        InstanceKey::Int(i) => {
            j.key("index_key");
            j.display(i);
        }
        InstanceKey::String(s) => {
            j.key("index_key");
            j.string(s);
        }
    }
    if object.status == ObjectStatus::Tainted {
        j.key("status");
        j.string("tainted");
    }
    if let Some(deposed) = deposed {
        j.key("deposed");
        j.shown(deposed);
    }
    if let Some(provider) = provider {
        j.key("provider");
        j.shown(provider);
    }
    j.key("schema_version");
    j.display(object.schema_version);
    match &object.attributes {
        Attributes::Json(text) => {
            j.key("attributes");
            j.raw(text);
        }
        Attributes::Flat(map) => {
            j.key("attributes_flat");
            j.open(b'{');
            for (k, v) in map.iter() {
                j.key(k);
                j.string(v);
            }
            j.close(b'}')?;
        }
    }
    j.key("sensitive_attributes");
    j.open(b'[');
    for path in &object.sensitive_paths {
        write_path(j, path)?;
    }
    j.close(b']')?;
    for (name, text) in &object.unknown_fields {
        j.key(name);
        j.raw(text);
    }
    if !object.private.is_empty() {
        j.key("private");
        j.string(&base64::engine::general_purpose::STANDARD.encode(&object.private));
    }
    if !object.dependencies.is_empty() {
        j.key("dependencies");
        j.open(b'[');
        for dependency in object.dependencies.iter() {
            j.shown(dependency);
        }
        j.close(b']')?;
    }
    if object.create_before_destroy {
        j.key("create_before_destroy");
        j.display(true);
    }
    j.close(b'}')
}

fn write_path<W: Write>(j: &mut Json<W>, path: &Path) -> io::Result<()> {
    j.open(b'[');
    for step in &path.0 {
        match step {
            Step::Attr(name) => {
                j.open(b'{');
                j.key("type");
                j.string("get_attr");
                j.key("value");
                j.string(name);
                j.close(b'}')?;
            }
            Step::Key(key) => write_index(j, "string", |j| j.string(key))?,
            Step::Index(i) => write_index(j, "number", |j| j.display(i))?,
            // The format cannot name set elements: the whole set is sensitive then.
            Step::Element(_) => break,
        }
    }
    j.close(b']')
}

fn write_index<W: Write>(j: &mut Json<W>, ty: &str, value: impl FnOnce(&mut Json<W>)) -> io::Result<()> {
    j.open(b'{');
    j.key("type");
    j.string("index");
    j.key("value");
    j.open(b'{');
    j.key("value");
    value(j);
    j.key("type");
    j.string(ty);
    j.close(b'}')?;
    j.close(b'}')
}

fn write_check<W: Write>(j: &mut Json<W>, result: &CheckResult) -> io::Result<()> {
    j.open(b'{');
    j.key("object_kind");
    j.string(result.kind.as_str());
    j.key("config_addr");
    j.string(&result.config_addr);
    j.key("status");
    j.string(result.status.as_str());
    j.key("objects");
    if result.objects.is_empty() {
        j.display("null");
    } else {
        j.open(b'[');
        for object in &result.objects {
            j.open(b'{');
            j.key("object_addr");
            j.string(&object.addr);
            j.key("status");
            j.string(object.status.as_str());
            write_messages(j, &object.failure_messages)?;
            j.close(b'}')?;
        }
        j.close(b']')?;
    }
    j.close(b'}')
}

fn write_messages<W: Write>(j: &mut Json<W>, messages: &[Str]) -> io::Result<()> {
    if messages.is_empty() {
        return Ok(());
    }
    j.key("failure_messages");
    j.open(b'[');
    for message in messages {
        j.string(message);
    }
    j.close(b']')
}

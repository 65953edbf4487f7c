//! States as JSON (`show -json`, and the states inside plans) and outputs (`output -json`).

use super::schema::write_providers;
use super::write::{Members, indented, object};
use super::{FORMAT, value};
use crate::addr::{InstanceKey, ModuleInstance, Provider, Resource, ResourceInstance};
use crate::engine::schemas::{Schemas, shown_value};
use crate::state::{CheckKind, CheckResult, DeposedKey, ObjectState, OutputValue, State};
use gpuform_schema::Str;
use gpuform_schema::json::write_type;
use gpuform_schema::schema::ProviderSchema;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A state; `None` where there is none, which looks like an empty one.
pub fn state(state: Option<&State>, schemas: &Schemas) -> String {
    let mut out = String::new();
    match state.filter(|s| !s.is_empty()) {
        None => object(&mut out, |m| m.string("format_version", FORMAT)),
        Some(s) => write_state(s, &s.outputs, true, schemas, &mut out),
    }
    out
}

/// A state as the verbose messages of `test` have it, with the schemas of the providers.
pub fn test_state(state: &State, schemas: &Schemas, providers: &BTreeMap<Provider, Arc<ProviderSchema>>) -> String {
    let mut out = String::new();
    object(&mut out, |m| {
        m.string("state_format_version", FORMAT);
        write_modules(m.key("root_module"), &objects(state), &mut |o, out| write_object(o, schemas, out));
        output_values(m, &state.outputs);
        m.string("provider_format_version", FORMAT);
        write_providers(m, providers);
    });
    out
}

fn output_values(m: &mut Members<'_>, outputs: &BTreeMap<Str, OutputValue>) {
    if outputs.is_empty() {
        return;
    }
    m.object("outputs", |m| {
        for (name, o) in outputs {
            m.object(name, |m| {
                m.bool("sensitive", o.sensitive);
                value::known(&o.value, m.key("value"));
                write_type(&o.value.ty(), m.key("type"));
            });
        }
    });
}

/// All outputs as `output -json` prints them.
pub fn outputs(outputs: &BTreeMap<Str, OutputValue>) -> String {
    let mut out = String::new();
    object(&mut out, |m| {
        for (name, o) in outputs {
            m.object(name, |m| {
                m.bool("sensitive", o.sensitive);
                write_type(&o.value.ty(), m.key("type"));
                value::known(&o.value, m.key("value"));
            });
        }
    });
    indented(&out)
}

/// Appends a state document; the outputs are given apart because those of a plan are ahead of the state.
pub fn write_state(
    state: &State,
    outputs: &BTreeMap<Str, OutputValue>,
    with_checks: bool,
    schemas: &Schemas,
    out: &mut String,
) {
    object(out, |m| {
        m.string("format_version", FORMAT);
        m.string("terraform_version", &state.terraform_version);
        m.object("values", |m| {
            output_values(m, outputs);
            write_modules(m.key("root_module"), &objects(state), &mut |o, out| write_object(o, schemas, out));
        });
        if with_checks && !state.check_results.is_empty() {
            checks(m, &state.check_results);
        }
    });
}

/// One object of a state.
struct Object<'a> {
    addr: ResourceInstance,
    provider: &'a Provider,
    deposed: Option<DeposedKey>,
    object: &'a ObjectState,
}

/// What stands in a module.
pub trait InModule {
    fn module(&self) -> &ModuleInstance;
}

impl InModule for Object<'_> {
    fn module(&self) -> &ModuleInstance {
        &self.addr.module
    }
}

fn objects(state: &State) -> Vec<Object<'_>> {
    let mut all = Vec::with_capacity(state.instance_count());
    for i in state.instances() {
        let provider = &i.provider.provider;
        if let Some(object) = &i.state.current {
            all.push(Object { addr: i.addr(), provider, deposed: None, object });
        }
        for (key, object) in &i.state.deposed {
            all.push(Object { addr: i.addr(), provider, deposed: Some(*key), object });
        }
    }
    all
}

/// Appends the module tree of objects that are sorted by module: the contents of the root module, then the modules in
/// it.
pub fn write_modules<T: InModule>(out: &mut String, items: &[T], write: &mut dyn FnMut(&T, &mut String)) {
    object(out, |m| module_members(m, items, 0, write));
}

fn module_members<T: InModule>(m: &mut Members<'_>, items: &[T], depth: usize, write: &mut dyn FnMut(&T, &mut String)) {
    let own = items.partition_point(|i| i.module().0.len() == depth);
    let (own, mut below) = items.split_at(own);
    if !own.is_empty() {
        m.array("resources", own, |i, out| write(i, out));
    }
    if depth > 0
        && let Some(path) = items.first().and_then(|i| i.module().0.get(..depth))
    {
        m.display("address", ModuleInstance(path.into()));
    }
    if !below.is_empty() {
        let mut children: Vec<&[T]> = Vec::new();
        while let Some(step) = below.first().and_then(|i| i.module().0.get(depth)) {
            let end = below.partition_point(|i| i.module().0.get(depth) == Some(step));
            let (child, rest) = below.split_at(end);
            children.push(child);
            below = rest;
        }
        // As Terraform: by the text of the address, in which "m[10]" comes before "m[2]".
        let address = |items: &&[T]| {
            items.first().and_then(|i| i.module().0.get(..=depth)).map(|path| ModuleInstance(path.into()).to_string())
        };
        children.sort_by_cached_key(address);
        m.array("child_modules", children, |items, out| object(out, |m| module_members(m, items, depth + 1, write)));
    }
}

/// The members that name an object in every document: mode, type, name and index.
pub fn identity(m: &mut Members<'_>, resource: &Resource, key: &InstanceKey) {
    m.string("mode", resource.mode.as_str());
    m.string("type", &resource.ty);
    m.string("name", &resource.name);
    match key {
        InstanceKey::None => {}
        InstanceKey::Int(i) => m.number("index", i),
        InstanceKey::String(s) => m.string("index", s),
    }
}

fn write_object(o: &Object<'_>, schemas: &Schemas, out: &mut String) {
    let resource = &o.addr.resource;
    let v = shown_value(schemas.resource(o.provider, resource.mode, &resource.ty), o.object);
    object(out, |m| {
        m.display("address", &o.addr);
        identity(m, resource, &o.addr.key);
        m.display("provider_name", o.provider);
        m.number("schema_version", o.object.schema_version);
        value::known(&v, m.key("values"));
        value::sensitive(&v, m.key("sensitive_values"));
        m.strings("depends_on", o.object.dependencies.iter());
        if o.object.is_tainted() {
            m.bool("tainted", true);
        }
        if let Some(key) = o.deposed {
            m.display("deposed_key", key);
        }
    });
}

/// Writes the results of conditions and checks, by address.
pub fn checks(m: &mut Members<'_>, results: &[CheckResult]) {
    let mut sorted: Vec<&CheckResult> = results.iter().collect();
    sorted.sort_by(|a, b| a.config_addr.cmp(&b.config_addr));
    m.array("checks", sorted, |c, out| {
        object(out, |m| {
            m.object("address", |m| declaration_address(m, c));
            m.string("status", c.status.as_str());
            if !c.objects.is_empty() {
                m.array("instances", &c.objects, |o, out| {
                    object(out, |m| {
                        m.object("address", |m| instance_address(m, c.kind, &o.addr));
                        m.string("status", o.status.as_str());
                        if !o.failure_messages.is_empty() {
                            m.array("problems", &o.failure_messages, |text, out| {
                                object(out, |m| m.string("message", text));
                            });
                        }
                    });
                });
            }
        });
    });
}

fn declaration_address(m: &mut Members<'_>, c: &CheckResult) {
    let (module, rest) = split_module(&c.config_addr);
    let mut names = rest.rsplit('.');
    let name = names.next().unwrap_or(rest);
    let ty = names.next().filter(|_| c.kind == CheckKind::Resource);
    m.string("kind", kind(c.kind));
    if ty.is_some() {
        m.string("mode", names.next().filter(|m| matches!(*m, "data" | "ephemeral")).unwrap_or("managed"));
    }
    if let Some(module) = module {
        m.string("module", module);
    }
    m.string("name", name);
    m.string("to_display", &c.config_addr);
    if let Some(ty) = ty {
        m.string("type", ty);
    }
}

fn instance_address(m: &mut Members<'_>, kind: CheckKind, addr: &str) {
    if kind == CheckKind::Resource
        && let Ok(a) = addr.parse::<ResourceInstance>()
    {
        match &a.key {
            InstanceKey::None => {}
            InstanceKey::Int(i) => m.number("instance_key", i),
            InstanceKey::String(s) => m.string("instance_key", s),
        }
        if !a.module.is_root() {
            m.display("module", &a.module);
        }
    } else if let (Some(module), _) = split_module(addr) {
        m.string("module", module);
    }
    m.string("to_display", addr);
}

fn kind(kind: CheckKind) -> &'static str {
    match kind {
        CheckKind::Resource => "resource",
        CheckKind::Output => "output_value",
        CheckKind::Check => "check",
        CheckKind::Variable => "var",
    }
}

/// The module part of an address (keys may hold dots), and the rest.
fn split_module(addr: &str) -> (Option<&str>, &str) {
    let mut end = 0;
    let mut rest = addr;
    while let Some(after) = rest.strip_prefix("module.") {
        let name = after.find(['.', '[']).unwrap_or(after.len());
        let mut tail = after.get(name..).unwrap_or_default();
        if tail.starts_with('[') {
            tail = tail.get(key_end(tail)..).unwrap_or_default();
        }
        let Some(next) = tail.strip_prefix('.') else { break };
        end = addr.len() - next.len();
        rest = next;
    }
    match end.checked_sub(1).and_then(|e| addr.get(..e)) {
        Some(module) => (Some(module), rest),
        None => (None, addr),
    }
}

/// Where the key that a text begins with (`["a.b"]`, `[0]`) ends.
fn key_end(text: &str) -> usize {
    let mut quoted = false;
    let mut escaped = false;
    for (i, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            ']' if !quoted => return i + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::addr::{AbsProviderConfig, Module};
    use crate::state::{CheckObject, CheckStatus, ObjectStatus};
    use gpuform_schema::Path;
    use std::sync::Arc;

    fn provider() -> AbsProviderConfig {
        AbsProviderConfig {
            module: Module::root(),
            provider: Provider::implied("t"),
            alias: None,
            key: crate::addr::InstanceKey::None,
        }
    }

    fn object(text: &str) -> Arc<ObjectState> {
        Arc::new(ObjectState::new(1, text))
    }

    #[test]
    fn objects_stand_in_the_tree_of_their_modules() {
        let mut s = State::default();
        s.terraform_version = "1.11.4".into();
        let mut first = ObjectState::new(1, r#"{"id":"1","ports":[80]}"#);
        first.sensitive_paths = vec![Path::attrs(["id"])];
        first.status = ObjectStatus::Tainted;
        s.set(&"t_x.a".parse().unwrap(), Arc::new(first), &provider());
        s.set_deposed(&"t_x.a".parse().unwrap(), "0000000a".parse().unwrap(), object("{}"), &provider());
        s.set(&r#"module.m["k"].module.n.t_x.b[0]"#.parse().unwrap(), object("{}"), &provider());
        let with_provider = r#""provider_name":"registry.terraform.io/hashicorp/t","schema_version":1"#;
        let expected = [
            r#"{"format_version":"1.0","terraform_version":"1.11.4","values":{"root_module":{"resources":["#,
            &format!(r#"{{"address":"t_x.a","mode":"managed","type":"t_x","name":"a",{with_provider},"#),
            r#""values":{"id":"1","ports":[80]},"sensitive_values":{"id":true,"ports":[false]},"tainted":true},"#,
            &format!(r#"{{"address":"t_x.a","mode":"managed","type":"t_x","name":"a",{with_provider},"#),
            r#""values":{},"sensitive_values":{},"deposed_key":"0000000a"}],"#,
            r#""child_modules":[{"address":"module.m[\"k\"]","child_modules":[{"resources":["#,
            r#"{"address":"module.m[\"k\"].module.n.t_x.b[0]","mode":"managed","type":"t_x","name":"b","index":0,"#,
            &format!(r#"{with_provider},"values":{{}},"sensitive_values":{{}}}}],"#),
            r#""address":"module.m[\"k\"].module.n"}]}]}}}"#,
        ]
        .concat();
        assert_eq!(state(Some(&s), &Schemas::default()), expected);
        assert_eq!(state(None, &Schemas::default()), r#"{"format_version":"1.0"}"#);
    }

    #[test]
    fn results_of_checks_name_declarations_and_instances() {
        let result = CheckResult {
            kind: CheckKind::Resource,
            config_addr: "module.m.data.t_x.a".into(),
            status: CheckStatus::Fail,
            objects: vec![CheckObject {
                addr: r#"module.m["a.b"].data.t_x.a[0]"#.into(),
                status: CheckStatus::Fail,
                failure_messages: vec!["No.".into()],
            }],
        };
        let mut out = String::new();
        super::object(&mut out, |m| checks(m, &[result]));
        let expected = [
            r#"{"checks":[{"address":{"kind":"resource","mode":"data","module":"module.m","name":"a","#,
            r#""to_display":"module.m.data.t_x.a","type":"t_x"},"status":"fail","instances":[{"address":"#,
            r#"{"instance_key":0,"module":"module.m[\"a.b\"]","to_display":"module.m[\"a.b\"].data.t_x.a[0]"},"#,
            r#""status":"fail","problems":[{"message":"No."}]}]}]}"#,
        ]
        .concat();
        assert_eq!(out, expected);
    }
}

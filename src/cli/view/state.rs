//! States and outputs for people.

use crate::addr::ResourceInstance;
use crate::cli::context::Style;
use crate::cli::view::copies;
use crate::cli::view::plan::diff::{Mark, Paint, Writer};
use crate::engine::schemas::{Schemas, shown_value};
use crate::engine::stored::TypeInfo;
use crate::lang::render;
use crate::state::{InstanceState, ObjectState, OutputValue, State};
use gpuform_schema::{Marks, Path, Str, Type, Value};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// All outputs, as `output` shows them.
pub fn outputs(outputs: &BTreeMap<Str, OutputValue>) -> String {
    let mut out = String::new();
    for (name, o) in outputs {
        let text = if o.sensitive { "<sensitive>".to_owned() } else { render::value(&o.value) };
        let _ = writeln!(out, "{name} = {text}");
    }
    out
}

/// Everything in a state.
pub fn whole(state: Option<&State>, schemas: &Schemas, style: Style) -> String {
    let Some(state) = state.filter(|s| !s.is_empty()) else {
        return if state.is_some() {
            "The state file is empty. No resources are represented.\n".into()
        } else {
            "No state.\n".into()
        };
    };
    let mut out = String::new();
    let mut last: Option<&crate::addr::ModuleInstance> = None;
    for i in state.instances() {
        if !out.is_empty() {
            out.push('\n');
            if last.is_some_and(|module| *module != i.resource.module) {
                out.push('\n');
            }
        }
        last = Some(&i.resource.module);
        let info = schemas.resource(&i.provider.provider, i.resource.resource.mode, &i.resource.resource.ty);
        out.push_str(&instance(&i.addr(), i.state, info, style));
    }
    if !state.outputs.is_empty() {
        out.push_str("\n\nOutputs:\n\n");
        for (name, o) in &state.outputs {
            output(name, o, style, &mut out);
        }
    }
    out
}

/// An output's value as Terraform shows it here: null attributes are left out, empty strings are null.
fn without_blanks(v: &Value) -> Value {
    match v {
        Value::String(s) if s.is_empty() => Value::Null(Type::String),
        Value::Object(_) => {
            let given = v.entries().into_iter().flatten().filter(|(_, v)| !v.is_null());
            Value::object(given.map(|(k, v)| (k.clone(), without_blanks(v))))
        }
        // Sets keep their order.
        Value::Set(_) => Value::tuple(v.items().unwrap_or_default().iter().map(without_blanks).collect()),
        v => v.map_children(&mut |_, v| without_blanks(v)),
    }
}

/// One output, in the form that attributes have.
fn output(name: &str, o: &OutputValue, style: Style, out: &mut String) {
    const MARGIN: usize = 4;
    let value = without_blanks(&o.value);
    let value = if o.sensitive { value.with_marks(Marks::SENSITIVE) } else { value };
    let mut writer =
        Writer { out: String::new(), paint: Paint(style.color), forces: &[], deleting: false, whole: false };
    writer.value(&format!("{name} = "), &value, &value, Mark::Keep, MARGIN - 2, &Path::root(), "");
    for line in writer.out.lines() {
        out.push_str(line.get(MARGIN..).unwrap_or_default());
        out.push('\n');
    }
}

/// One resource instance with all its objects.
pub fn instance(addr: &ResourceInstance, instance: &InstanceState, info: Option<&TypeInfo>, style: Style) -> String {
    let mut out = String::new();
    if let Some(current) = &instance.current {
        object(addr, current, info, "", style, &mut out);
    }
    for (key, deposed) in &instance.deposed {
        object(addr, deposed, info, &format!(" (deposed object {key})"), style, &mut out);
    }
    out
}

fn object(
    addr: &ResourceInstance,
    o: &ObjectState,
    info: Option<&TypeInfo>,
    what: &str,
    style: Style,
    out: &mut String,
) {
    let (bold, reset) = if style.color { ("\x1b[1m", "\x1b[0m") } else { ("", "") };
    let tainted = if o.is_tainted() { " (tainted)" } else { "" };
    let keyword = match addr.resource.mode {
        crate::addr::Mode::Data => "data",
        crate::addr::Mode::Ephemeral => "ephemeral",
        crate::addr::Mode::Managed => "resource",
    };
    let _ = writeln!(out, "{bold}# {addr}:{what}{tainted}{reset}");
    let _ = writeln!(out, "{keyword} \"{}\" \"{}\" {{", addr.resource.ty, addr.resource.name);
    let stored = shown_value(info, o);
    let value = copies::hide(&addr.resource, &stored);
    let mut writer =
        Writer { out: std::mem::take(out), paint: Paint(style.color), forces: &[], deleting: false, whole: false };
    match info {
        Some(info) => writer.state(&info.schema.block, &value, 2),
        None => {
            let attributes = value.entries().into_iter().flatten().map(|(name, v)| (name, v.clone()));
            writer.listed(attributes, &|_| false, 2);
        }
    }
    *out = writer.out;
    out.push_str("}\n");
}

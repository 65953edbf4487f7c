//! States and outputs for people.

use crate::addr::{Resource, ResourceInstance};
use crate::cli::context::Style;
use crate::cli::view::copies;
use crate::cli::view::visible::padded;
use crate::lang::render;
use crate::state::{Attributes, InstanceState, ObjectState, OutputValue, State};
use gpuform_schema::{Marks, Path, Str, Value, json};
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
pub fn whole(state: Option<&State>, style: Style) -> String {
    let Some(state) = state.filter(|s| !s.is_empty()) else {
        return if state.is_some() {
            "The state file is empty. No resources are represented.\n".into()
        } else {
            "No state.\n".into()
        };
    };
    let mut out = String::new();
    for i in state.instances() {
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&instance(&i.addr(), i.state, style));
    }
    if !state.outputs.is_empty() {
        out.push_str("\n\nOutputs:\n\n");
        out.push_str(&outputs(&state.outputs));
    }
    out
}

/// One resource instance with all its objects.
pub fn instance(addr: &ResourceInstance, instance: &InstanceState, style: Style) -> String {
    let mut out = String::new();
    if let Some(current) = &instance.current {
        object(addr, current, "", style, &mut out);
    }
    for (key, deposed) in &instance.deposed {
        object(addr, deposed, &format!(" (deposed object {key})"), style, &mut out);
    }
    out
}

fn object(addr: &ResourceInstance, o: &ObjectState, what: &str, style: Style, out: &mut String) {
    let (bold, reset) = if style.color { ("\x1b[1m", "\x1b[0m") } else { ("", "") };
    let tainted = if o.is_tainted() { " (tainted)" } else { "" };
    let keyword = match addr.resource.mode {
        crate::addr::Mode::Data => "data",
        crate::addr::Mode::Ephemeral => "ephemeral",
        crate::addr::Mode::Managed => "resource",
    };
    let _ = writeln!(out, "{bold}# {addr}:{what}{tainted}{reset}");
    let _ = writeln!(out, "{keyword} \"{}\" \"{}\" {{", addr.resource.ty, addr.resource.name);
    let text = match &o.attributes {
        Attributes::Json(text) => text.clone(),
        flat @ Attributes::Flat(_) => flat.to_json(),
    };
    match json::decode_untyped(text.as_bytes()) {
        Ok(v) => attributes(&addr.resource, &v, &o.sensitive_paths, out),
        Err(_) => out.push_str("    # the stored attributes cannot be read\n"),
    }
    out.push_str("}\n");
}

fn attributes(resource: &Resource, v: &Value, sensitive: &[Path], out: &mut String) {
    let marks: Vec<(Path, Marks)> = sensitive.iter().map(|p| (p.clone(), Marks::SENSITIVE)).collect();
    let v = v.mark_paths(&marks);
    let v = copies::hide(resource, &v);
    let shown: Vec<(&Str, &Value)> = v.entries().into_iter().flatten().filter(|(_, v)| !v.is_null()).collect();
    let width = shown.iter().map(|(n, _)| n.chars().count()).max().unwrap_or(0);
    for (name, v) in shown {
        let text = render::value(v).replace('\n', "\n    ");
        let _ = writeln!(out, "    {} = {text}", padded(name, width));
    }
}

//! Checks a configuration against the field attributes: validators, relations between fields, and whether each value
//! fits its Rust type. What the schema itself says (required, number of blocks) Terraform has checked before.

use crate::error::{Problems, Severity};
use crate::model::{Field, Kind, NestedObject, Object};
use gpuform_schema::{Path, Step, Value};
use std::collections::BTreeSet;

/// Adds what is wrong with a block's configuration.
pub(crate) fn check(object: &Object, config: &Value, path: &Path, problems: &mut Problems) {
    if !matches!(config, Value::Object(_)) {
        return;
    }
    let mut groups = BTreeSet::new();
    for field in &object.fields {
        let Some(value) = config.get(field.name) else { continue };
        let here = path.attr(field.name);
        relations(field, value, config, &here, problems, &mut groups);
        match &field.kind {
            Kind::Attribute(a) => {
                if value.is_known() && !value.is_null() {
                    for validator in &a.validators {
                        if let Err(why) = validator(value) {
                            let summary = format!("Invalid value for {:?}", field.name);
                            problems.add(Severity::Error, here.clone(), summary, why);
                        }
                    }
                }
                if let Some(NestedObject { object, .. }) = a.inner {
                    each_object(object, value, &here, problems);
                }
            }
            Kind::Block(b) => each_object(b.object, value, &here, problems),
        }
    }
}

fn each_object(object: &Object, value: &Value, path: &Path, problems: &mut Problems) {
    match value {
        Value::Object(_) => check(object, value, path, problems),
        Value::List(c) => {
            for (i, item) in c.items.iter().enumerate() {
                check(object, item, &path.index(i), problems);
            }
        }
        Value::Set(c) => {
            for item in &c.items {
                check(object, item, &path.child(Step::Element(item.clone())), problems);
            }
        }
        Value::Map(m) => {
            for (key, item) in &m.entries {
                check(object, item, &path.key(key.clone()), problems);
            }
        }
        _ => {}
    }
}

/// Whether a field is written: `None` while that is not known.
fn is_set(config: &Value, name: &str) -> Option<bool> {
    match config.get(name) {
        None | Some(Value::Null(_)) => Some(false),
        Some(v) if !v.is_known() => None,
        Some(Value::List(c) | Value::Set(c)) => Some(!c.items.is_empty()),
        Some(_) => Some(true),
    }
}

fn relations(
    field: &Field,
    value: &Value,
    config: &Value,
    path: &Path,
    problems: &mut Problems,
    groups: &mut BTreeSet<&'static [&'static str]>,
) {
    let mut say = |summary: &str, detail: String| {
        problems.add(Severity::Error, path.clone(), summary.to_owned(), detail);
    };
    // An empty list attribute counts as written; an absent block does not.
    let written = match &field.kind {
        Kind::Attribute(_) => value.is_known() && !value.is_null(),
        Kind::Block(_) => is_set(config, field.name) == Some(true),
    };
    if written {
        for other in field.conflicts_with.iter().filter(|other| is_set(config, other) == Some(true)) {
            say("Conflicting arguments", format!("{:?} conflicts with {other:?}: give only one of them.", field.name));
        }
        for other in field.required_with.iter().filter(|other| is_set(config, other) == Some(false)) {
            say("Missing argument", format!("{:?} needs {other:?} to be given as well.", field.name));
        }
    }
    let count = |group: &[&str]| {
        let states = group.iter().map(|name| is_set(config, name));
        states.fold((0, 0), |(yes, maybe), s| match s {
            Some(true) => (yes + 1, maybe),
            None => (yes, maybe + 1),
            Some(false) => (yes, maybe),
        })
    };
    if !field.exactly_one_of.is_empty() && groups.insert(field.exactly_one_of) {
        match count(field.exactly_one_of) {
            (0, 0) => say("Missing argument", format!("One of {} must be given.", names(field.exactly_one_of))),
            (2.., _) => {
                say("Conflicting arguments", format!("Only one of {} can be given.", names(field.exactly_one_of)))
            }
            _ => {}
        }
    }
    if !field.at_least_one_of.is_empty()
        && groups.insert(field.at_least_one_of)
        && count(field.at_least_one_of) == (0, 0)
    {
        say("Missing argument", format!("At least one of {} must be given.", names(field.at_least_one_of)));
    }
}

fn names(group: &[&str]) -> String {
    group.iter().map(|n| format!("{n:?}")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;

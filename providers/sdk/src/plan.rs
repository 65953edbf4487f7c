//! The planning rules: from the prior state and the configuration to the planned value and the paths that force a
//! replacement, by the field attributes alone. Pure functions over values; `run.rs` calls them around the author's
//! `modify_plan`.
//!
//! | the configuration says | create | update |
//! | --- | --- | --- |
//! | a value (known or not) | that value | that value, or the prior one if `suppress` finds them the same |
//! | nothing, there is a default | the default | the default |
//! | nothing, computed | unknown | the prior value; unknown if a field of `recompute_on` changes |
//! | nothing, not computed | null | null |
//! | no blocks, computed blocks | unknown | the prior blocks |
//!
//! Blocks of a list are compared with the prior ones by position, blocks of a set with the one that they match in all
//! but what the provider computes. Terraform plans a replacement again as a create, so nothing here deals with it.

use crate::model::{Field, Kind, NestedBlock, NestedObject, Nesting, Object};
use gpuform_schema::{Path, Type, Value};

/// What the object will be. `prior` is `None` (or null) for a create.
pub(crate) fn planned(object: &Object, prior: Option<&Value>, config: &Value) -> Value {
    let prior = prior.filter(|p| !p.is_null() && p.is_known());
    if !matches!(config, Value::Object(_)) {
        return config.clone();
    }
    let part = |value: Option<&Value>, field: &Field| value.and_then(|v| v.get(field.name)).cloned();
    let mut values: Vec<Value> = object
        .fields
        .iter()
        .map(|f| {
            let (old, new) = (part(prior, f), part(Some(config), f));
            match &f.kind {
                Kind::Attribute(_) => attribute(f, old.as_ref(), new.as_ref(), prior.is_some()),
                Kind::Block(b) => blocks(b, old.as_ref(), new.as_ref(), prior.is_some()),
            }
        })
        .collect();
    if let Some(prior) = prior {
        recompute(object, prior, config, &mut values);
    }
    object.value(values)
}

fn attribute(field: &Field, old: Option<&Value>, new: Option<&Value>, exists: bool) -> Value {
    let Kind::Attribute(a) = &field.kind else { return Value::null() };
    let null = || Value::Null(a.ty.clone());
    if a.write_only {
        return null();
    }
    match (new, old) {
        (Some(new), old) if !new.is_null() => {
            let same =
                |old: &&Value| !old.is_null() && new.is_wholly_known() && a.suppress.is_some_and(|same| same(old, new));
            match (old.filter(same), a.described()) {
                (Some(old), _) => old.clone(),
                (None, Some(nested)) => nested_attribute(nested, old, new),
                (None, None) => new.clone(),
            }
        }
        _ if a.default.is_some() => a.default.clone().unwrap_or_else(null),
        (_, old) if a.computed && exists => old.cloned().unwrap_or_else(null),
        _ if a.computed => Value::unknown(a.ty.clone()),
        _ => null(),
    }
}

fn nested_attribute(nested: &NestedObject, old: Option<&Value>, new: &Value) -> Value {
    match nested.nesting {
        Nesting::Single | Nesting::Group => planned(nested.object, old, new),
        Nesting::Map => new.map_children(&mut |step, item| {
            let key = step();
            let old = old.and_then(|o| o.step(&key));
            planned(nested.object, old.as_ref(), item)
        }),
        Nesting::List | Nesting::Set => items(nested.nesting, nested.object, old, new),
    }
}

fn blocks(block: &NestedBlock, old: Option<&Value>, new: Option<&Value>, exists: bool) -> Value {
    let ty = || block.ty();
    let Some(new) = new else { return Value::Null(ty()) };
    let absent = new.is_null() || new.element_count() == Some(0);
    if block.computed && absent {
        return match old {
            Some(old) if exists => old.clone(),
            _ => Value::unknown(ty()),
        };
    }
    match block.nesting {
        Nesting::List | Nesting::Set => items(block.nesting, block.object, old, new),
        _ => planned(block.object, old, new),
    }
}

/// The planned elements of a list or set of objects.
fn items(nesting: Nesting, object: &Object, old: Option<&Value>, new: &Value) -> Value {
    let (Some(wanted), Type::List(element) | Type::Set(element)) = (new.items(), new.ty()) else { return new.clone() };
    let present = old.and_then(Value::items).unwrap_or_default();
    if nesting == Nesting::List {
        let items = wanted.iter().enumerate().map(|(i, new)| planned(object, present.get(i), new)).collect();
        return Value::list((*element).clone(), items);
    }
    let mut free: Vec<&Value> = present.iter().collect();
    let mut take = |new: &Value| {
        let found = free.iter().position(|old| planned(object, Some(old), new) == **old);
        found.map(|i| free.swap_remove(i).clone())
    };
    let items = wanted.iter().map(|new| take(new).unwrap_or_else(|| planned(object, None, new))).collect();
    Value::set((*element).clone(), items)
}

/// Makes the computed values unknown that depend on something that changes.
fn recompute(object: &Object, prior: &Value, config: &Value, values: &mut [Value]) {
    let changed: Vec<&str> = object
        .fields
        .iter()
        .zip(values.iter())
        .filter(|(f, new)| prior.get(f.name) != Some(*new))
        .map(|(f, _)| f.name)
        .collect();
    for (field, value) in object.fields.iter().zip(values) {
        let Kind::Attribute(a) = &field.kind else { continue };
        let open = config.get(field.name).is_none_or(Value::is_null);
        if open && a.default.is_none() && a.recompute_on.iter().any(|name| changed.contains(name)) {
            *value = Value::unknown(a.ty.clone());
        }
    }
}

/// The paths whose change makes an update impossible.
pub(crate) fn requires_replace(object: &Object, prior: &Value, planned: &Value) -> Vec<Path> {
    let mut found = Vec::new();
    if !prior.is_null() && !planned.is_null() {
        replaced_in(object, prior, planned, &Path::root(), &mut found);
    }
    found
}

fn replaced_in(object: &Object, prior: &Value, planned: &Value, path: &Path, found: &mut Vec<Path>) {
    for field in &object.fields {
        let (Some(old), Some(new)) = (prior.get(field.name), planned.get(field.name)) else { continue };
        if old == new {
            continue;
        }
        let here = path.attr(field.name);
        match &field.kind {
            _ if field.force_new => found.push(here),
            Kind::Attribute(a) => {
                if let Some(NestedObject { nesting, object }) = a.described() {
                    replaced_items(*nesting, object, old, new, here, found);
                }
            }
            Kind::Block(b) => replaced_items(b.nesting, b.object, old, new, here, found),
        }
    }
}

fn replaced_items(nesting: Nesting, object: &Object, old: &Value, new: &Value, here: Path, found: &mut Vec<Path>) {
    match nesting {
        Nesting::Single | Nesting::Group => match (old, new) {
            (Value::Object(_), Value::Object(_)) => replaced_in(object, old, new, &here, found),
            _ if has_fixed(object, old) || has_fixed(object, new) => found.push(here),
            _ => {}
        },
        Nesting::List => {
            let (Some(old), Some(new)) = (old.items(), new.items()) else { return };
            for (i, (old, new)) in old.iter().zip(new).enumerate() {
                replaced_in(object, old, new, &here.index(i), found);
            }
            let common = old.len().min(new.len());
            if old.iter().skip(common).chain(new.iter().skip(common)).any(|item| has_fixed(object, item)) {
                found.push(here);
            }
        }
        Nesting::Set | Nesting::Map => {
            let items = |v: &Value| -> Vec<Value> {
                let entries = || v.entries().into_iter().flatten().map(|(_, e)| e.clone()).collect();
                v.items().map_or_else(entries, <[Value]>::to_vec)
            };
            let (old, new) = (items(old), items(new));
            let only = |a: &[Value], b: &[Value]| a.iter().any(|item| !b.contains(item) && has_fixed(object, item));
            if only(&old, &new) || only(&new, &old) {
                found.push(here);
            }
        }
    }
}

/// Whether an object has a value for something that cannot change.
fn has_fixed(object: &Object, value: &Value) -> bool {
    object.fields.iter().any(|f| {
        let Some(part) = value.get(f.name).filter(|v| !v.is_null()) else { return false };
        match &f.kind {
            Kind::Attribute(_) => f.force_new,
            Kind::Block(b) => {
                let count = part.element_count().unwrap_or_default();
                let inside = || match b.nesting {
                    Nesting::Single | Nesting::Group => has_fixed(b.object, part),
                    _ => part.items().unwrap_or_default().iter().any(|item| has_fixed(b.object, item)),
                };
                (f.force_new && count > 0) || inside()
            }
        }
    })
}

/// `new` with the old value kept wherever `suppress` finds both the same: what a read returns in another spelling.
pub(crate) fn keep_spelling(object: &Object, old: &Value, new: &Value) -> Value {
    if old == new || !matches!(old, Value::Object(_)) || !matches!(new, Value::Object(_)) {
        return new.clone();
    }
    new.map_children(&mut |step, new| {
        let gpuform_schema::Step::Attr(name) = step() else { return new.clone() };
        let (Some(field), Some(old)) = (object.field(&name), old.get(&name)) else { return new.clone() };
        match &field.kind {
            Kind::Attribute(a) if a.suppress.is_some_and(|same| same(old, new)) => old.clone(),
            Kind::Attribute(_) => new.clone(),
            Kind::Block(b) => match (b.nesting, old.items(), new.items()) {
                (Nesting::List, Some(olds), Some(news)) if olds.len() == news.len() => {
                    let items = olds.iter().zip(news).map(|(o, n)| keep_spelling(b.object, o, n)).collect();
                    Value::list(b.object.ty(), items)
                }
                (Nesting::Single, ..) => keep_spelling(b.object, old, new),
                _ => new.clone(),
            },
        }
    })
}

/// Unknown parts of `value` replaced by the same parts of `from`, or null where it has none.
pub(crate) fn complete(value: &Value, from: Option<&Value>) -> Value {
    if value.is_wholly_known() {
        return value.clone();
    }
    match value {
        Value::Unknown(u) => match from {
            Some(known) if known.is_wholly_known() => known.clone(),
            _ => Value::Null(u.ty.clone()),
        },
        Value::Set(set) => {
            let candidates = from.and_then(Value::items).unwrap_or_default();
            let pick = |item: &Value| candidates.iter().find(|c| fits(item, c));
            Value::set(set.element.clone(), set.items.iter().map(|item| complete(item, pick(item))).collect())
        }
        container => container.map_children(&mut |step, item| {
            let part = from.and_then(|f| f.step(&step()));
            complete(item, part.as_ref())
        }),
    }
}

/// Whether `known` is a possible outcome of `planned`.
pub(crate) fn fits(planned: &Value, known: &Value) -> bool {
    match (planned, known) {
        (Value::Unknown(_), _) => true,
        (Value::Object(p), Value::Object(k)) => {
            p.len() == k.len() && p.values.iter().zip(&k.values).all(|(p, k)| fits(p, k))
        }
        (Value::List(p), Value::List(k)) => {
            p.items.len() == k.items.len() && p.items.iter().zip(&k.items).all(|(p, k)| fits(p, k))
        }
        (Value::Set(p), Value::Set(k)) => p.items.iter().all(|p| k.items.iter().any(|k| fits(p, k))),
        (Value::Map(p), Value::Map(k)) => {
            p.entries.len() == k.entries.len()
                && p.entries.iter().all(|(key, p)| k.get(key).is_some_and(|k| fits(p, k)))
        }
        (p, k) => p == k,
    }
}

/// The value with write-only attributes taken from the configuration (for an operation) or, without one, null (for
/// the state).
pub(crate) fn write_only(object: &Object, value: &Value, config: Option<&Value>) -> Value {
    if !object.has_write_only() || !matches!(value, Value::Object(_)) {
        return value.clone();
    }
    value.map_children(&mut |step, part| {
        let gpuform_schema::Step::Attr(name) = step() else { return part.clone() };
        let written = config.and_then(|c| c.get(&name));
        match object.field(&name).map(|f| &f.kind) {
            Some(Kind::Attribute(a)) if a.write_only => written.cloned().unwrap_or_else(|| Value::Null(a.ty.clone())),
            Some(Kind::Block(b)) if b.nesting == Nesting::Single => write_only(b.object, part, written),
            Some(Kind::Block(b)) if b.nesting == Nesting::List => part.map_children(&mut |step, item| {
                let written = written.and_then(|w| w.step(&step()));
                write_only(b.object, item, written.as_ref())
            }),
            _ => part.clone(),
        }
    })
}

#[cfg(test)]
mod tests;

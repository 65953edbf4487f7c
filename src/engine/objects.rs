//! Objects against their schema, as pure functions: what is proposed to a provider, whether what it plans and returns
//! keeps its promises, and which configured changes are ignored. Values here carry no marks.

use gpuform_schema::schema::{Attribute, AttributeType, Block, NestedBlock, Nesting};
use gpuform_schema::{Path, Str, Type, Value};
use std::collections::{BTreeMap, HashSet};

// ---- proposed new object

/// The configuration with what the provider had computed before filled in: the starting point for its plan.
/// `prior` is null for a create.
pub fn proposed_new(block: &Block, prior: &Value, config: &Value) -> Value {
    if config.is_null() || !config.is_known() {
        return config.clone();
    }
    let attributes = block.attributes.iter().map(|(name, a)| {
        let (prior, config) = (part(prior, name, &a.value_type()), part(config, name, &a.value_type()));
        (name.clone(), proposed_attribute(a, &prior, &config))
    });
    let blocks = block.blocks.iter().map(|(name, b)| {
        let (prior, config) = (part(prior, name, &Type::Dynamic), part(config, name, &Type::Dynamic));
        (name.clone(), proposed_blocks(b, &prior, &config))
    });
    Value::object(attributes.chain(blocks))
}

fn part(object: &Value, name: &str, ty: &Type) -> Value {
    object.get(name).cloned().unwrap_or_else(|| Value::Null(ty.clone()))
}

fn proposed_attribute(a: &Attribute, prior: &Value, config: &Value) -> Value {
    if a.computed && config.is_null() {
        return prior.clone();
    }
    match &a.ty {
        AttributeType::Value(_) => config.clone(),
        AttributeType::Nested(n) => {
            let object = |prior: &Value, config: &Value| {
                if config.is_null() || !config.is_known() {
                    return config.clone();
                }
                Value::object(n.attributes.iter().map(|(name, a)| {
                    let ty = a.value_type();
                    (name.clone(), proposed_attribute(a, &part(prior, name, &ty), &part(config, name, &ty)))
                }))
            };
            let same = |prior: &Value, config: &Value| could_be_from_attributes(&n.attributes, prior, config);
            proposed_nested(n.nesting, prior, config, &object, &same)
        }
    }
}

fn proposed_blocks(b: &NestedBlock, prior: &Value, config: &Value) -> Value {
    let object = |prior: &Value, config: &Value| proposed_new(&b.block, prior, config);
    let same = |prior: &Value, config: &Value| could_be_from_block(&b.block, prior, config);
    proposed_nested(b.nesting, prior, config, &object, &same)
}

/// Pairs each configured element with the prior one it continues: by position, key, or (in sets) likeness.
fn proposed_nested(
    nesting: Nesting,
    prior: &Value,
    config: &Value,
    object: &dyn Fn(&Value, &Value) -> Value,
    same: &dyn Fn(&Value, &Value) -> bool,
) -> Value {
    if config.is_null() || !config.is_known() {
        return config.clone();
    }
    match nesting {
        Nesting::Single | Nesting::Group => object(prior, config),
        Nesting::Set => {
            let mut unused: Vec<&Value> = prior.items().unwrap_or_default().iter().collect();
            let items = config.items().unwrap_or_default().iter().map(|c| {
                let found = unused.iter().position(|p| same(p, c)).map(|i| unused.remove(i));
                found.map_or_else(|| object(&Value::null(), c), |p| object(p, c))
            });
            let items = items.collect();
            match config {
                Value::Set(s) => Value::set(s.element.clone(), items),
                _ => config.clone(),
            }
        }
        Nesting::List | Nesting::Map => config.map_children(&mut |step, c| {
            let prior = prior.step(&step()).unwrap_or_else(Value::null);
            object(&prior, c)
        }),
    }
}

/// Whether a prior set element may be the one that this configured element describes: everything configured agrees,
/// and everything else is the provider's.
fn could_be_from_block(block: &Block, prior: &Value, config: &Value) -> bool {
    could_be_from_attributes(&block.attributes, prior, config)
        && block.blocks.iter().all(|(name, b)| {
            let (prior, config) = (part(prior, name, &Type::Dynamic), part(config, name, &Type::Dynamic));
            match (b.nesting, prior.items(), config.items()) {
                (Nesting::List | Nesting::Set, Some(p), Some(c)) => {
                    p.len() == c.len() && p.iter().zip(c).all(|(p, c)| could_be_from_block(&b.block, p, c))
                }
                (Nesting::Single | Nesting::Group, ..) if !prior.is_null() && !config.is_null() => {
                    could_be_from_block(&b.block, &prior, &config)
                }
                _ => prior == config,
            }
        })
}

fn could_be_from_attributes(attributes: &BTreeMap<Str, Attribute>, prior: &Value, config: &Value) -> bool {
    if prior.is_null() || config.is_null() || !config.is_known() {
        return false;
    }
    attributes.iter().all(|(name, a)| {
        let ty = a.value_type();
        let (prior, config) = (part(prior, name, &ty), part(config, name, &ty));
        if config.is_null() && a.computed {
            return true;
        }
        match &a.ty {
            AttributeType::Nested(n) if n.nesting == Nesting::Single && !config.is_null() && !prior.is_null() => {
                could_be_from_attributes(&n.attributes, &prior, &config)
            }
            _ => prior == config,
        }
    })
}

/// The value of a data source that cannot be read yet: what is configured, and unknown where it will be computed.
pub fn planned_data(block: &Block, config: &Value) -> Value {
    if config.is_null() || !config.is_known() {
        return Value::unknown(block.implied_type());
    }
    let attributes = block.attributes.iter().map(|(name, a)| {
        let v = part(config, name, &a.value_type());
        let v = if a.computed && v.is_null() { Value::unknown(a.value_type()) } else { v };
        (name.clone(), v)
    });
    let blocks = block.blocks.iter().map(|(name, b)| {
        let v = part(config, name, &Type::Dynamic);
        let v = match b.nesting {
            Nesting::Single | Nesting::Group if !v.is_null() => planned_data(&b.block, &v),
            Nesting::List | Nesting::Set | Nesting::Map => v.map_children(&mut |_, c| planned_data(&b.block, c)),
            _ => v,
        };
        (name.clone(), v)
    });
    Value::object(attributes.chain(blocks))
}

// ---- ignored changes

/// The configuration with the ignored parts as they were before. Nothing is ignored for a create.
pub fn with_ignored(config: &Value, prior: &Value, ignore_all: bool, ignored: &[Path]) -> Value {
    if prior.is_null() || config.is_null() {
        return config.clone();
    }
    if ignore_all {
        return prior.clone();
    }
    ignored.iter().fold(config.clone(), |config, path| replace_part(&config, &path.0, Some(prior)))
}

/// `value` with the part at `steps` taken from `from`; a map element that is not there is removed.
fn replace_part(value: &Value, steps: &[gpuform_schema::Step], from: Option<&Value>) -> Value {
    use gpuform_schema::Step;
    let Some((step, rest)) = steps.split_first() else {
        return from.cloned().unwrap_or_else(|| Value::Null(value.ty()));
    };
    let (Step::Key(key) | Step::Attr(key)) = step else {
        let from = from.and_then(|f| f.step(step));
        if value.step(step).is_none() || from.is_none() {
            return value.clone();
        }
        return value.map_children(&mut |s, c| {
            if s() == *step { replace_part(c, rest, from.as_ref()) } else { c.clone() }
        });
    };
    match value {
        // An index in quotes into what is no map is taken for the whole.
        Value::Object(_) | Value::Tuple(_) | Value::List(_) | Value::Set(_)
            if rest.is_empty() && matches!(step, Step::Key(_)) =>
        {
            from.cloned().unwrap_or_else(|| value.clone())
        }
        Value::Map(_) | Value::Null(Type::Map(_)) if rest.is_empty() => {
            let element = value.ty().element().cloned().unwrap_or(Type::Dynamic);
            let mut entries: BTreeMap<Str, Value> =
                value.entries().into_iter().flatten().map(|(k, v)| (k.clone(), v.clone())).collect();
            match from.and_then(|f| f.get(key)) {
                Some(v) => entries.insert(key.clone(), v.clone()),
                None => entries.remove(key),
            };
            if entries.is_empty() && value.is_null() { value.clone() } else { Value::map(element, entries) }
        }
        Value::Object(_) | Value::Map(_) => {
            let from = from.and_then(|f| f.get(key));
            value.map_children(&mut |s, c| match s() {
                Step::Attr(n) | Step::Key(n) if n == *key => match from {
                    Some(f) => replace_part(c, rest, Some(f)),
                    None => c.clone(),
                },
                _ => c.clone(),
            })
        }
        _ => value.clone(),
    }
}

// ---- promises of providers

/// A broken promise: where, and what is wrong there (without values).
#[derive(Clone, PartialEq, Debug)]
pub struct Broken {
    pub path: Path,
    pub what: String,
}

/// Checks a planned value against the configuration: the provider may decide only what is not configured.
pub fn check_planned(block: &Block, prior: &Value, config: &Value, planned: &Value) -> Vec<Broken> {
    let mut broken = Vec::new();
    planned_block(block, prior, config, planned, &Path::root(), &mut broken);
    broken
}

fn planned_block(b: &Block, prior: &Value, config: &Value, planned: &Value, path: &Path, out: &mut Vec<Broken>) {
    if planned.is_null() && !config.is_null() {
        out.push(Broken { path: path.clone(), what: "planned as absent although it is configured".into() });
        return;
    }
    if config.is_null() && !planned.is_null() {
        out.push(Broken { path: path.clone(), what: "planned although it is not configured".into() });
        return;
    }
    if !config.is_known() || !planned.is_known() || planned.is_null() {
        return;
    }
    planned_attributes(&b.attributes, prior, config, planned, path, out);
    for (name, nested) in &b.blocks {
        let path = path.attr(name.clone());
        let [prior, config, planned] = [prior, config, planned].map(|v| part(v, name, &Type::Dynamic));
        planned_nested(nested.nesting, &prior, &config, &planned, &path, out, &mut |p, c, n, path, out| {
            planned_block(&nested.block, p, c, n, path, out);
        });
    }
}

type CheckElement<'a> = dyn FnMut(&Value, &Value, &Value, &Path, &mut Vec<Broken>) + 'a;

fn planned_nested(
    nesting: Nesting,
    prior: &Value,
    config: &Value,
    planned: &Value,
    path: &Path,
    out: &mut Vec<Broken>,
    element: &mut CheckElement<'_>,
) {
    if !config.is_known() || !planned.is_known() {
        return;
    }
    if matches!(nesting, Nesting::Single | Nesting::Group) {
        element(prior, config, planned, path, out);
        return;
    }
    let (c, p) = (config.element_count().unwrap_or(0), planned.element_count().unwrap_or(0));
    if c != p && !(nesting == Nesting::Set && !config.is_wholly_known()) {
        out.push(Broken { path: path.clone(), what: format!("planned with {p} elements although {c} are configured") });
        return;
    }
    match nesting {
        Nesting::Set => {} // Elements have no identity: what can be checked is that none was invented or lost.
        _ => {
            let _ = config.map_children(&mut |step, c| {
                let step = step();
                let prior = prior.step(&step).unwrap_or_else(Value::null);
                let path = path.child(step.clone());
                match planned.step(&step) {
                    Some(planned) => element(&prior, c, &planned, &path, out),
                    None => out.push(Broken { path, what: "missing from the plan".into() }),
                }
                c.clone()
            });
        }
    }
}

fn planned_attributes(
    attributes: &BTreeMap<Str, Attribute>,
    prior: &Value,
    config: &Value,
    planned: &Value,
    path: &Path,
    out: &mut Vec<Broken>,
) {
    for (name, a) in attributes {
        let path = path.attr(name.clone());
        let ty = a.value_type();
        let [prior, config, planned] = [prior, config, planned].map(|v| part(v, name, &ty));
        if planned == config || (planned == prior && !prior.is_null() && !config.is_null()) {
            continue;
        }
        if config.is_null() && a.computed {
            continue;
        }
        if a.write_only {
            if !planned.is_null() {
                out.push(Broken { path, what: "a write-only attribute must be planned as null".into() });
            }
            continue;
        }
        if let AttributeType::Nested(n) = &a.ty
            && !config.is_null()
            && !planned.is_null()
        {
            planned_nested(n.nesting, &prior, &config, &planned, &path, out, &mut |p, c, n2, path, out| {
                if !c.is_null() && c.is_known() && n2.is_known() {
                    planned_attributes(&n.attributes, p, c, n2, path, out);
                }
            });
            continue;
        }
        if !config.is_known() {
            // The provider may know more than the configuration does, but not that it is null where it will be set.
            continue;
        }
        let what = if config.is_null() {
            "planned with a value although it is neither configured nor computed"
        } else {
            "planned with a value that differs from the configured one"
        };
        out.push(Broken { path, what: what.into() });
    }
}

/// Checks that a result fits what was planned: known parts must be equal, unknown ones may have become anything of
/// their type.
pub fn check_result(planned: &Value, actual: &Value) -> Vec<Broken> {
    let mut broken = Vec::new();
    fits(planned, actual, &Path::root(), &mut broken);
    broken
}

fn fits(planned: &Value, actual: &Value, path: &Path, out: &mut Vec<Broken>) {
    if planned == actual {
        return;
    }
    let mut broken = |what: String| out.push(Broken { path: path.clone(), what });
    match (planned, actual) {
        (Value::Unknown(u), a) => {
            if u.refinement.not_null && a.is_null() {
                broken("must not be null, but is".into());
            }
        }
        (p, a) if p.is_null() != a.is_null() => broken(if p.is_null() {
            "was absent, but now present".into()
        } else {
            "was present, but now absent".into()
        }),
        (_, Value::Unknown(_)) => broken("was known, but now unknown".into()),
        (Value::Set(p), Value::Set(a)) => {
            if p.items.iter().all(Value::is_wholly_known) || a.items.len() > p.items.len() {
                let there: HashSet<&Value> = a.items.iter().collect();
                let lost = p.items.iter().any(|i| i.is_wholly_known() && !there.contains(i));
                if lost || a.items.len() != p.items.len() {
                    broken("the elements of the set are not those that were planned".into());
                }
            }
        }
        (Value::List(_) | Value::Tuple(_), Value::List(_) | Value::Tuple(_)) => {
            let (p, a) = (planned.items().unwrap_or_default(), actual.items().unwrap_or_default());
            if p.len() != a.len() {
                broken(format!("had {} elements in the plan, but now {}", p.len(), a.len()));
            } else {
                p.iter().zip(a).enumerate().for_each(|(i, (p, a))| fits(p, a, &path.index(i), out));
            }
        }
        (Value::Object(p), Value::Object(a)) => {
            for (name, p) in p.iter() {
                match a.get(name) {
                    Some(a) => fits(p, a, &path.attr(name.clone()), out),
                    None => out.push(Broken { path: path.attr(name.clone()), what: "is missing".into() }),
                }
            }
        }
        (Value::Map(p), Value::Map(a)) => {
            for (key, p) in &p.entries {
                match a.get(key) {
                    Some(a) => fits(p, a, &path.key(key.clone()), out),
                    None => out.push(Broken { path: path.key(key.clone()), what: "has vanished".into() }),
                }
            }
            for (key, _) in a.entries.iter().filter(|(k, _)| p.get(k).is_none()) {
                out.push(Broken { path: path.key(key.clone()), what: "has appeared".into() });
            }
        }
        _ => broken("has a value other than the planned one".into()),
    }
}

/// What is wrong with an object that a provider has read: parts that it does not know, or values that are only written.
pub fn check_read(block: &Block, object: &Value) -> Vec<Broken> {
    let mut broken = Vec::new();
    unknown_parts(object, &Path::root(), &mut broken);
    written_parts(block, object, &Path::root(), &mut broken);
    broken
}

fn unknown_parts(value: &Value, path: &Path, out: &mut Vec<Broken>) {
    if value.is_wholly_known() {
        return;
    }
    if !value.is_known() {
        out.push(Broken { path: path.clone(), what: "is unknown".into() });
        return;
    }
    let _ = value.map_children(&mut |step, c| {
        unknown_parts(c, &path.child(step()), out);
        c.clone()
    });
}

fn written_parts(block: &Block, object: &Value, path: &Path, out: &mut Vec<Broken>) {
    if !has_write_only(block) {
        return;
    }
    for (name, _) in block.attributes.iter().filter(|(_, a)| a.write_only) {
        if object.get(name).is_some_and(|v| !v.is_null()) {
            out.push(Broken { path: path.attr(name.clone()), what: "is write-only, but was returned".into() });
        }
    }
    for (name, b) in &block.blocks {
        let Some(v) = object.get(name) else { continue };
        each_object(b.nesting, v, &path.attr(name.clone()), &mut |v, path| written_parts(&b.block, v, path, out));
    }
}

/// Whether a planned object is complete for this configuration: nothing that is configured was left unknown, and nothing
/// that turned out to be left out either, unless the provider computes it. Elements of sets cannot be paired, so a set
/// with unknown parts counts as incomplete.
pub fn is_complete_for(block: &Block, config: &Value, planned: &Value) -> bool {
    let pair = |name: &Str| Some((config.get(name)?, planned.get(name)?));
    planned.is_wholly_known()
        || block.attributes.iter().all(|(name, a)| {
            pair(name)
                .is_none_or(|(c, p)| if c.is_null() { a.computed || p.is_wholly_known() } else { is_complete(c, p) })
        }) && block.blocks.iter().all(|(name, b)| pair(name).is_none_or(|(c, p)| are_complete(b, c, p)))
}

/// The same for all blocks of a type.
fn are_complete(nested: &NestedBlock, config: &Value, planned: &Value) -> bool {
    if planned.is_wholly_known() {
        return true;
    }
    match nested.nesting {
        Nesting::Single | Nesting::Group => is_complete_for(&nested.block, config, planned),
        Nesting::Set => false,
        Nesting::List => {
            let (Some(c), Some(p)) = (config.items(), planned.items()) else { return false };
            c.len() == p.len() && c.iter().zip(p).all(|(c, p)| is_complete_for(&nested.block, c, p))
        }
        Nesting::Map => {
            let Some(c) = config.entries() else { return false };
            c.into_iter().all(|(key, c)| planned.get(key).is_some_and(|p| is_complete_for(&nested.block, c, p)))
        }
    }
}

/// Whether nothing in a planned value was left unknown of which the configuration has a value.
fn is_complete(config: &Value, planned: &Value) -> bool {
    if config.is_null() || planned.is_wholly_known() {
        return true;
    }
    match (config, planned) {
        (_, Value::Unknown(_)) | (Value::Set(_), _) => false,
        (Value::Object(c), Value::Object(p)) => c.iter().all(|(name, c)| p.get(name).is_none_or(|p| is_complete(c, p))),
        (Value::Map(c), Value::Map(p)) => c.entries.iter().all(|(key, c)| p.get(key).is_none_or(|p| is_complete(c, p))),
        (Value::List(_) | Value::Tuple(_), Value::List(_) | Value::Tuple(_)) => {
            let (c, p) = (config.items().unwrap_or_default(), planned.items().unwrap_or_default());
            c.len() == p.len() && c.iter().zip(p).all(|(c, p)| is_complete(c, p))
        }
        _ => true,
    }
}

/// The value with every unknown part null: the best that can be stored after a failure.
pub fn unknown_as_null(value: &Value) -> Value {
    if value.is_wholly_known() {
        return value.clone();
    }
    match value {
        Value::Unknown(u) => Value::Null(u.ty.clone()),
        v => v.map_children(&mut |_, c| unknown_as_null(c)),
    }
}

/// Write-only attributes are never kept.
pub fn without_write_only(block: &Block, value: &Value) -> Value {
    if !has_write_only(block) || !value.is_known() {
        return value.clone();
    }
    let Some(entries) = value.entries() else { return value.clone() };
    Value::object(entries.map(|(name, v)| {
        let v = match (block.attributes.get(name), block.blocks.get(name)) {
            (Some(a), _) if a.write_only => Value::Null(a.value_type()),
            (_, Some(b)) if matches!(b.nesting, Nesting::Single | Nesting::Group) => without_write_only(&b.block, v),
            (_, Some(b)) => v.map_children(&mut |_, c| without_write_only(&b.block, c)),
            _ => v.clone(),
        };
        (name.clone(), v)
    }))
}

pub fn has_write_only(block: &Block) -> bool {
    block.attributes.values().any(|a| a.write_only) || block.blocks.values().any(|b| has_write_only(&b.block))
}

/// The paths of attributes that the schema calls sensitive, in a given value.
pub fn sensitive_paths(block: &Block, value: &Value) -> Vec<Path> {
    let mut out = Vec::new();
    if has_sensitive(block) {
        sensitive_in(block, value, &Path::root(), &mut out);
    }
    out
}

pub fn has_sensitive(block: &Block) -> bool {
    fn attribute(a: &Attribute) -> bool {
        a.sensitive || matches!(&a.ty, AttributeType::Nested(n) if n.attributes.values().any(attribute))
    }
    block.attributes.values().any(attribute) || block.blocks.values().any(|b| has_sensitive(&b.block))
}

fn sensitive_in(block: &Block, value: &Value, path: &Path, out: &mut Vec<Path>) {
    sensitive_attributes(&block.attributes, value, path, out);
    for (name, b) in &block.blocks {
        let Some(v) = value.get(name) else { continue };
        each_object(b.nesting, v, &path.attr(name.clone()), &mut |v, path| sensitive_in(&b.block, v, path, out));
    }
}

fn sensitive_attributes(attributes: &BTreeMap<Str, Attribute>, value: &Value, path: &Path, out: &mut Vec<Path>) {
    for (name, a) in attributes {
        let Some(v) = value.get(name) else { continue };
        if a.sensitive {
            out.push(path.attr(name.clone()));
        } else if let AttributeType::Nested(n) = &a.ty {
            each_object(n.nesting, v, &path.attr(name.clone()), &mut |v, path| {
                sensitive_attributes(&n.attributes, v, path, out);
            });
        }
    }
}

fn each_object(nesting: Nesting, value: &Value, path: &Path, f: &mut dyn FnMut(&Value, &Path)) {
    match nesting {
        Nesting::Single | Nesting::Group => f(value, path),
        _ => {
            let _ = value.map_children(&mut |step, c| {
                f(c, &path.child(step()));
                c.clone()
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpuform_schema::schema::Description;

    fn attr(ty: Type, optional: bool, computed: bool) -> Attribute {
        Attribute {
            ty: AttributeType::Value(ty),
            description: Description::default(),
            required: false,
            optional,
            computed,
            sensitive: false,
            write_only: false,
            deprecated: false,
        }
    }

    fn block() -> Block {
        let inner = Block {
            attributes: [
                ("port".into(), attr(Type::Number, true, false)),
                ("id".into(), attr(Type::String, true, true)),
            ]
            .into(),
            ..Block::default()
        };
        Block {
            attributes: [
                ("id".into(), attr(Type::String, false, true)),
                ("name".into(), attr(Type::String, true, false)),
                ("zone".into(), attr(Type::String, true, true)),
                ("tags".into(), attr(Type::map(Type::String), true, false)),
            ]
            .into(),
            blocks: [("rule".into(), NestedBlock { nesting: Nesting::Set, block: inner, min_items: 0, max_items: 0 })]
                .into(),
            ..Block::default()
        }
    }

    fn rule(port: i64, id: Option<&str>) -> Value {
        Value::object([("port", Value::from(port)), ("id", id.map_or(Value::Null(Type::String), Value::from))])
    }

    fn object(id: Option<&str>, name: &str, zone: Option<&str>, rules: Vec<Value>) -> Value {
        let opt = |s: Option<&str>| s.map_or(Value::Null(Type::String), Value::from);
        let element = block().blocks["rule"].block.implied_type();
        Value::object([
            ("id", opt(id)),
            ("name", Value::from(name)),
            ("zone", opt(zone)),
            ("tags", Value::Null(Type::map(Type::String))),
            ("rule", Value::set(element, rules)),
        ])
    }

    #[test]
    fn computed_values_are_carried_over_and_set_elements_matched_by_what_is_configured() {
        let prior = object(Some("i-1"), "old", Some("a"), vec![rule(80, Some("r-80")), rule(443, Some("r-443"))]);
        let config = object(None, "new", None, vec![rule(443, None), rule(22, None)]);
        let expected = object(Some("i-1"), "new", Some("a"), vec![rule(443, Some("r-443")), rule(22, None)]);
        assert_eq!(proposed_new(&block(), &prior, &config), expected);
    }

    #[test]
    fn a_provider_may_not_plan_against_the_configuration() {
        let config = object(None, "a", None, vec![]);
        let good = object(Some("x"), "a", Some("z"), vec![]);
        assert_eq!(check_planned(&block(), &Value::null(), &config, &good), []);
        let bad = object(Some("x"), "b", Some("z"), vec![]);
        let broken = check_planned(&block(), &Value::null(), &config, &bad);
        assert_eq!(broken.iter().map(|b| b.path.to_string()).collect::<Vec<_>>(), [".name"]);
        // Keeping the prior value (a provider's notion of equality) is allowed.
        assert_eq!(check_planned(&block(), &bad, &config, &bad), []);
    }

    #[test]
    fn a_result_must_fit_the_plan() {
        let planned = Value::object([("a", Value::unknown(Type::String)), ("b", Value::from("x"))]);
        let actual = |b: &str| Value::object([("a", Value::from("y")), ("b", Value::from(b))]);
        assert_eq!(check_result(&planned, &actual("x")), []);
        assert_eq!(check_result(&planned, &actual("z"))[0].path.to_string(), ".b");
    }

    #[test]
    fn ignored_parts_stay_as_they_were() {
        let tags = |pairs: &[(&str, &str)]| Value::map(Type::String, pairs.iter().map(|(k, v)| (*k, Value::from(*v))));
        let prior = Value::object([("name", Value::from("a")), ("tags", tags(&[("keep", "1"), ("x", "1")]))]);
        let config = Value::object([("name", Value::from("b")), ("tags", tags(&[("x", "2"), ("y", "3")]))]);
        let ignored = [Path::attrs(["name"]), Path::attrs(["tags"]).key("x"), Path::attrs(["tags"]).key("y")];
        let expected = Value::object([("name", Value::from("a")), ("tags", tags(&[("x", "1")]))]);
        assert_eq!(with_ignored(&config, &prior, false, &ignored), expected);
        assert_eq!(with_ignored(&config, &Value::null(), false, &ignored), config);
        assert_eq!(with_ignored(&config, &prior, true, &[]), prior);
    }
}

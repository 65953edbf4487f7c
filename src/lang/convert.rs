//! Conversion of values between types, the common type of several types, and type constraints with optional
//! attributes. What a conversion may do is decided by types alone, so that it fails the same way while values are
//! still unknown. Called by the evaluator, the functions, and wherever a value meets a declared type.

use crate::lang::ops::length_bounds;
use gpuform_schema::number::Number;
use gpuform_schema::path::{Path, Step};
use gpuform_schema::types::Type;
use gpuform_schema::value::{Marks, Refinement, Str, Unknown, Value};
use std::collections::{BTreeMap, HashSet};
use std::fmt;

/// Why a value does not convert, and at which part of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConvertError {
    /// From the root of the value given; empty when the whole value is meant.
    pub path: Path,
    /// A clause without a capital or a full stop, e.g. `a number is required, but this is a bool`.
    pub message: String,
}

impl ConvertError {
    fn new(path: &Path, message: impl Into<String>) -> ConvertError {
        ConvertError { path: path.clone(), message: message.into() }
    }
}

impl fmt::Display for ConvertError {
    /// The message, introduced by the place where there is one: `attribute "a": element 0: a number is required`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.path.0 {
            match step {
                Step::Attr(name) => write!(f, "attribute {name:?}: ")?,
                Step::Key(key) => write!(f, "element {key:?}: ")?,
                Step::Index(i) => write!(f, "element {i}: ")?,
                Step::Element(_) => f.write_str("set element: ")?,
            }
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for ConvertError {}

/// Which conversions are allowed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    /// Only those that lose nothing and cannot fail: number to string, tuple to list, object to map, set to list.
    Safe,
    /// Also those that may fail or lose something: string to number, list to set, map to object.
    Unsafe,
}

/// Converts a value to a type. `Dynamic` in the type accepts anything; inside a collection it stands for the one type
/// that all elements have in common. Marks and, where they stay valid, refinements are kept.
pub fn convert(value: &Value, to: &Type) -> Result<Value, ConvertError> {
    if has_type(value, to) {
        return Ok(value.clone());
    }
    Conversion { path: Path::root() }.convert(value, to)
}

/// Whether values of a type may be convertible to another; a conversion may still fail for the value (`"x"` to number).
pub fn is_convertible(from: &Type, to: &Type) -> bool {
    from == to || check(from, to, Mode::Unsafe, &Path::root()).is_ok()
}

/// The common type of several types, as used for the arms of a conditional and the elements of a list. Prefers types
/// that all others convert to without loss. `None` if there is no such type.
pub fn unify(types: &[Type]) -> Option<Type> {
    unify_refs(types.iter(), Mode::Unsafe)
}

/// As [`unify`], but only over conversions that lose nothing.
pub fn unify_safe(types: &[Type]) -> Option<Type> {
    unify_refs(types.iter(), Mode::Safe)
}

/// Whether `value.ty() == *ty`, without building the type.
pub fn has_type(value: &Value, ty: &Type) -> bool {
    match (value, ty) {
        (Value::Marked(m), ty) => has_type(&m.value, ty),
        (Value::Null(t), ty) => t == ty,
        (Value::Unknown(u), ty) => u.ty == *ty,
        (Value::Bool(_), Type::Bool) | (Value::Number(_), Type::Number) | (Value::String(_), Type::String) => true,
        (Value::List(c), Type::List(e)) | (Value::Set(c), Type::Set(e)) => c.element == **e,
        (Value::Map(m), Type::Map(e)) => m.element == **e,
        (Value::Tuple(items), Type::Tuple(types)) => {
            items.len() == types.len() && items.iter().zip(types.iter()).all(|(v, t)| has_type(v, t))
        }
        (Value::Object(o), Type::Object(t)) => {
            o.len() == t.len() && o.iter().zip(t.iter()).all(|((n, v), (m, t))| n == m && has_type(v, t))
        }
        _ => false,
    }
}

// ---- conversion of types

/// Whether one type converts to another in general; the error says why not.
fn check(from: &Type, to: &Type, mode: Mode, path: &Path) -> Result<(), ConvertError> {
    let allowed_unsafe = mode == Mode::Unsafe;
    match (from, to) {
        (_, Type::Dynamic) => Ok(()),
        (a, b) if a == b => Ok(()),
        (Type::Dynamic, _) if allowed_unsafe => Ok(()),
        (Type::Number | Type::Bool, Type::String) => Ok(()),
        (Type::String, Type::Number | Type::Bool) if allowed_unsafe => Ok(()),
        (Type::List(a) | Type::Set(a), Type::List(b)) | (Type::Set(a), Type::Set(b)) | (Type::Map(a), Type::Map(b)) => {
            check(a, b, mode, path)
        }
        (Type::List(a), Type::Set(b)) if allowed_unsafe => check(a, b, mode, path),
        (Type::Tuple(items), Type::List(e) | Type::Set(e)) => {
            let e = element_target(items.iter(), e, mode).ok_or_else(|| mixed(from, path))?;
            items.iter().enumerate().try_for_each(|(i, t)| check(t, &e, mode, &path.index(i)))
        }
        (Type::Object(attrs), Type::Map(e)) => {
            let e = attribute_target(attrs.iter().map(|(_, t)| t), e, mode).ok_or_else(|| mixed(from, path))?;
            attrs.iter().try_for_each(|(n, t)| check(t, &e, mode, &path.attr(n.clone())))
        }
        (Type::Tuple(a), Type::Tuple(b)) if a.len() == b.len() => {
            a.iter().zip(b.iter()).enumerate().try_for_each(|(i, (a, b))| check(a, b, mode, &path.index(i)))
        }
        (Type::Tuple(a), Type::Tuple(b)) => {
            Err(ConvertError::new(path, format!("a tuple of {} is required, but this has {}", count(b.len()), a.len())))
        }
        (Type::Map(a), Type::Object(b)) if allowed_unsafe => {
            b.iter().try_for_each(|(n, t)| check(a, t, mode, &path.key(n.clone())))
        }
        (Type::Object(a), Type::Object(b)) => {
            missing_attributes(b.iter().map(|(n, _)| n).filter(|n| a.get(n).is_none()), path)?;
            b.iter().try_for_each(|(n, t)| match a.get(n) {
                Some(have) => check(have, t, mode, &path.attr(n.clone())),
                None => Ok(()),
            })
        }
        _ => Err(ConvertError::new(path, format!("{} is required, but this is {}", described(to), described(from)))),
    }
}

/// The element type that the attributes of an object are converted to: `wanted`, or what they have in common.
fn attribute_target<'a>(parts: impl Iterator<Item = &'a Type>, wanted: &Type, mode: Mode) -> Option<Type> {
    if wanted.is_dynamic() { unify_refs(parts, mode) } else { Some(wanted.clone()) }
}

/// The same for the elements of a tuple.
fn element_target<'a>(parts: impl Iterator<Item = &'a Type>, wanted: &Type, mode: Mode) -> Option<Type> {
    if !wanted.is_dynamic() {
        return Some(wanted.clone());
    }
    let parts: Vec<&Type> = parts.collect();
    let common = unify_refs(parts.iter().copied(), mode)?;
    // Where only some parts are of a type not known yet, the common type of the rest is not to be guessed.
    (!common.is_dynamic() || parts.iter().all(|t| t.is_dynamic())).then_some(common)
}

/// The type that a null or unknown value of type `from` gets: `to` with its unknown parts filled in.
fn resolved(from: &Type, to: &Type) -> Type {
    let elements = |e: &Type| match from {
        Type::List(t) | Type::Set(t) | Type::Map(t) => resolved(t, e),
        Type::Tuple(ts) => unify_refs(ts.iter(), Mode::Unsafe).map_or(Type::Dynamic, |t| resolved(&t, e)),
        Type::Object(o) => {
            unify_refs(o.iter().map(|(_, t)| t), Mode::Unsafe).map_or(Type::Dynamic, |t| resolved(&t, e))
        }
        _ => e.clone(),
    };
    match to {
        to if from.is_dynamic() || !to.has_dynamic() => to.clone(),
        Type::List(e) => Type::list(elements(e)),
        Type::Set(e) => Type::set(elements(e)),
        Type::Map(e) => Type::map(elements(e)),
        Type::Tuple(ts) => match from {
            Type::Tuple(have) if have.len() == ts.len() => {
                Type::tuple(have.iter().zip(ts.iter()).map(|(a, b)| resolved(a, b)))
            }
            _ => to.clone(),
        },
        Type::Object(attrs) => Type::object(attrs.iter().map(|(n, t)| {
            let have = match from {
                Type::Object(o) => o.get(n),
                Type::Map(e) => Some(&**e),
                _ => None,
            };
            (n.clone(), have.map_or_else(|| t.clone(), |have| resolved(have, t)))
        })),
        _ => from.clone(),
    }
}

fn missing_attributes<'a>(missing: impl Iterator<Item = &'a Str>, path: &Path) -> Result<(), ConvertError> {
    let names: Vec<String> = missing.map(|n| format!("{n:?}")).collect();
    let message = match &names[..] {
        [] => return Ok(()),
        [one] => format!("attribute {one} is required"),
        [first @ .., last] => format!("attributes {} and {last} are required", first.join(", ")),
    };
    Err(ConvertError::new(path, message))
}

fn mixed(from: &Type, path: &Path) -> ConvertError {
    let parts = if matches!(from, Type::Object(_)) { "attributes" } else { "elements" };
    ConvertError::new(path, format!("all {parts} must be of one type, but these have no type in common"))
}

fn count(n: usize) -> String {
    if n == 1 { "1 element".into() } else { format!("{n} elements") }
}

/// The type with its article: `a number`, `an object`, `a list of any single type`.
pub fn described(ty: &Type) -> String {
    fn name(ty: &Type) -> String {
        match ty {
            Type::Dynamic => "any single type".into(),
            Type::List(t) => format!("list of {}", name(t)),
            Type::Set(t) => format!("set of {}", name(t)),
            Type::Map(t) => format!("map of {}", name(t)),
            ty => ty.friendly_name(),
        }
    }
    match ty {
        Type::Dynamic => "any value".into(),
        Type::Object(_) => "an object".into(),
        ty => format!("a {}", name(ty)),
    }
}

// ---- conversion of values

struct Conversion {
    /// Where in the value given we are.
    path: Path,
}

impl Conversion {
    fn fail<T>(&self, message: impl Into<String>) -> Result<T, ConvertError> {
        Err(ConvertError::new(&self.path, message))
    }

    fn at(&mut self, step: Step, value: &Value, to: &Type) -> Result<Value, ConvertError> {
        if has_type(value, to) {
            return Ok(value.clone());
        }
        self.path.0.push(step);
        let result = self.convert(value, to)?;
        self.path.0.pop();
        Ok(result)
    }

    fn convert(&mut self, value: &Value, to: &Type) -> Result<Value, ConvertError> {
        match (value, to) {
            (Value::Marked(m), to) => {
                let depth = self.path.0.len();
                let converted = self.convert(&m.value, to).map_err(|mut e| {
                    if m.marks.contains(Marks::SENSITIVE) {
                        // The keys inside may be secret too.
                        e.path.0.truncate(depth);
                    }
                    e
                })?;
                Ok(converted.with_marks(m.marks))
            }
            (v, Type::Dynamic) => Ok(v.clone()),
            (Value::Null(t), to) => {
                check(t, to, Mode::Unsafe, &self.path)?;
                Ok(Value::Null(resolved(t, to)))
            }
            (Value::Unknown(u), to) => {
                check(&u.ty, to, Mode::Unsafe, &self.path)?;
                Ok(convert_unknown(u, resolved(&u.ty, to)))
            }
            (Value::Number(n), Type::String) => Ok(Value::String(n.to_string().into())),
            (Value::Bool(b), Type::String) => Ok(Value::String(if *b { "true" } else { "false" }.into())),
            (Value::String(s), Type::Number) => match Number::parse(s) {
                Some(n) => Ok(Value::Number(n)),
                None => self.fail("a number is required, but this string is not a decimal number"),
            },
            (Value::String(s), Type::Bool) => match &**s {
                "true" | "1" => Ok(Value::TRUE),
                "false" | "0" => Ok(Value::FALSE),
                other if other.eq_ignore_ascii_case("true") || other.eq_ignore_ascii_case("false") => {
                    self.fail("a bool is required; as a string it is written in lower case, \"true\" or \"false\"")
                }
                _ => self.fail("a bool is required; of the strings only \"true\" and \"false\" convert"),
            },
            (Value::List(c) | Value::Set(c), Type::List(e) | Type::Set(e)) => {
                check(&c.element, e, Mode::Unsafe, &self.path)?;
                let from_set = matches!(value, Value::Set(_));
                // Elements of a set that are not known yet may turn out to be equal.
                let open = |set| matches!(length_bounds(set), (min, max) if max != Some(min));
                if from_set && matches!(to, Type::List(_)) && open(value) {
                    return Ok(Value::unknown_not_null(resolved(&value.ty(), to)));
                }
                let step = |i: usize, v: &Value| {
                    if from_set { Step::Element(v.clone()) } else { Step::Index(i as u64) }
                };
                let items =
                    c.items.iter().enumerate().map(|(i, v)| self.at(step(i, v), v, e)).collect::<Result<_, _>>()?;
                self.sequence(items, Some(&c.element), to)
            }
            (Value::Tuple(parts), Type::List(e) | Type::Set(e)) => {
                let types = distinct_types(parts.iter());
                let e = element_target(types.iter(), e, Mode::Unsafe).ok_or_else(|| mixed(&value.ty(), &self.path))?;
                let items = parts
                    .iter()
                    .enumerate()
                    .map(|(i, v)| self.at(Step::Index(i as u64), v, &e))
                    .collect::<Result<_, _>>()?;
                self.sequence(items, None, to)
            }
            (Value::Map(m), Type::Map(e)) => {
                check(&m.element, e, Mode::Unsafe, &self.path)?;
                let entries = m
                    .entries
                    .iter()
                    .map(|(k, v)| Ok((k.clone(), self.at(Step::Key(k.clone()), v, e)?)))
                    .collect::<Result<_, _>>()?;
                self.mapping(entries, Some(&m.element), e)
            }
            (Value::Object(o), Type::Map(e)) => {
                let types = distinct_types(o.values.iter());
                let common =
                    attribute_target(types.iter(), e, Mode::Unsafe).ok_or_else(|| mixed(&value.ty(), &self.path))?;
                let entries = o
                    .iter()
                    .map(|(k, v)| Ok((k.clone(), self.at(Step::Attr(k.clone()), v, &common)?)))
                    .collect::<Result<_, _>>()?;
                self.mapping(entries, None, e)
            }
            (Value::Tuple(parts), Type::Tuple(types)) if parts.len() == types.len() => {
                let items = parts.iter().zip(types.iter()).enumerate();
                Ok(Value::tuple(
                    items.map(|(i, (v, t))| self.at(Step::Index(i as u64), v, t)).collect::<Result<_, _>>()?,
                ))
            }
            (Value::Map(m), Type::Object(attrs)) => {
                missing_attributes(attrs.iter().map(|(n, _)| n).filter(|n| m.get(n).is_none()), &self.path)?;
                let found = attrs.iter().filter_map(|(n, t)| Some((n, m.get(n)?, t)));
                let found: Vec<(Str, Value)> = found
                    .map(|(n, v, t)| Ok((n.clone(), self.at(Step::Key(n.clone()), v, t)?)))
                    .collect::<Result<_, _>>()?;
                Ok(Value::object(found))
            }
            (Value::Object(o), Type::Object(attrs)) => {
                missing_attributes(attrs.iter().map(|(n, _)| n).filter(|n| o.get(n).is_none()), &self.path)?;
                let found = attrs.iter().filter_map(|(n, t)| Some((n, o.get(n)?, t)));
                let found: Vec<(Str, Value)> = found
                    .map(|(n, v, t)| Ok((n.clone(), self.at(Step::Attr(n.clone()), v, t)?)))
                    .collect::<Result<_, _>>()?;
                if found.len() == o.len() {
                    return Ok(Value::object_with_names(o.names.clone(), found.into_iter().map(|(_, v)| v).collect()));
                }
                Ok(Value::object(found))
            }
            (v, to) => match check(&v.ty(), to, Mode::Unsafe, &self.path) {
                Err(e) => Err(e),
                Ok(()) => self.fail(format!("{} is required", described(to))),
            },
        }
    }

    /// A list or set (as `to` says) of converted elements, brought to one type where the element type was left open.
    fn sequence(&mut self, items: Vec<Value>, from: Option<&Type>, to: &Type) -> Result<Value, ConvertError> {
        let wanted = to.element().unwrap_or(&Type::Dynamic);
        let (element, items) = self.one_type(items, from, wanted)?;
        Ok(if matches!(to, Type::Set(_)) { Value::set(element, items) } else { Value::list(element, items) })
    }

    fn mapping(
        &mut self,
        entries: Vec<(Str, Value)>,
        from: Option<&Type>,
        wanted: &Type,
    ) -> Result<Value, ConvertError> {
        let (keys, values): (Vec<Str>, Vec<Value>) = entries.into_iter().unzip();
        let (element, values) = self.one_type(values, from, wanted)?;
        Ok(Value::map(element, keys.into_iter().zip(values)))
    }

    fn one_type(
        &mut self,
        items: Vec<Value>,
        from: Option<&Type>,
        wanted: &Type,
    ) -> Result<(Type, Vec<Value>), ConvertError> {
        if !wanted.has_dynamic() {
            return Ok((wanted.clone(), items));
        }
        let types = distinct_types(items.iter());
        match &types[..] {
            [] => Ok((from.map_or_else(|| wanted.clone(), |from| resolved(from, wanted)), items)),
            [one] => Ok((one.clone(), items)),
            // A null of no type takes the type of the others, if they are all of one or simple.
            several => match unify_refs(several.iter().filter(|t| !t.is_dynamic()), Mode::Unsafe) {
                Some(t) if !t.is_dynamic() && (several.len() == 2 || unify(several) != Some(Type::Dynamic)) => {
                    let items: Vec<Value> = items
                        .iter()
                        .enumerate()
                        .map(|(i, v)| self.at(Step::Index(i as u64), v, &t))
                        .collect::<Result<_, _>>()?;
                    // Parts whose type is left open may still differ.
                    if t.has_dynamic() && distinct_types(items.iter()).len() > 1 {
                        return self.fail("all elements must be of one type, but parts of these have none in common");
                    }
                    Ok((t, items))
                }
                _ => self.fail("all elements must be of one type, but these have none in common"),
            },
        }
    }
}

/// The types among the values, each once, in order of appearance.
fn distinct_types<'a>(values: impl Iterator<Item = &'a Value>) -> Vec<Type> {
    let mut types: Vec<Type> = Vec::new();
    let mut seen = HashSet::new();
    for v in values {
        if types.last().is_some_and(|t| has_type(v, t)) {
            continue;
        }
        let t = v.ty();
        if seen.insert(t.clone()) {
            types.push(t);
        }
    }
    types
}

/// An unknown value of another type, with what remains known about it.
fn convert_unknown(u: &Unknown, ty: Type) -> Value {
    let old = &u.refinement;
    let mut new = Refinement { not_null: old.not_null, ..Refinement::default() };
    match (&u.ty, &ty) {
        (Type::String, Type::String) => new.prefix = old.prefix.clone(),
        (Type::Number, Type::Number) => {
            new.min = old.min.clone();
            new.max = old.max.clone();
        }
        (from, to) if to.is_collection() => {
            let (min, max) = match from {
                Type::Tuple(ts) => (Some(ts.len() as u64), Some(ts.len() as u64)),
                Type::Object(o) => (Some(o.len() as u64), Some(o.len() as u64)),
                _ => (old.min_len, old.max_len),
            };
            // Elements of a set may turn out to be equal.
            new.min_len = if matches!(to, Type::Set(_)) { min.map(|n| n.min(1)) } else { min };
            new.max_len = max;
        }
        _ => {}
    }
    Value::refined(ty, new)
}

// ---- common types

fn unify_refs<'a>(types: impl Iterator<Item = &'a Type>, mode: Mode) -> Option<Type> {
    let mut seen = HashSet::new();
    let types: Vec<&Type> = types.filter(|t| seen.insert(*t)).collect();
    match types[..] {
        [] => Some(Type::Dynamic),
        [one] => Some(one.clone()),
        _ => unify_distinct(&types, mode),
    }
}

fn unify_distinct(types: &[&Type], mode: Mode) -> Option<Type> {
    let [mut maps, mut lists, mut sets, mut objects, mut tuples, mut dynamics] = [0; 6];
    for t in types {
        match t {
            Type::Map(_) => maps += 1,
            Type::List(_) => lists += 1,
            Type::Set(_) => sets += 1,
            Type::Object(_) => objects += 1,
            Type::Tuple(_) => tuples += 1,
            Type::Dynamic => dynamics += 1,
            _ => {}
        }
    }
    let all = types.len();
    let open = dynamics > 0;
    let elements = || types.iter().filter_map(|t| t.element());
    match () {
        // One kind of structure: the same kind, with the parts' common types. With a type not known yet among them
        // the kind is not decided.
        () if all == maps + dynamics && maps > 0 => {
            return if open { Some(Type::Dynamic) } else { unify_refs(elements(), mode).map(Type::map) };
        }
        () if all == lists + dynamics && lists > 0 => {
            return if open { Some(Type::Dynamic) } else { unify_refs(elements(), mode).map(Type::list) };
        }
        () if all == sets + dynamics && sets > 0 => {
            return if open { Some(Type::Dynamic) } else { unify_refs(elements(), mode).map(Type::set) };
        }
        () if all == objects + dynamics && objects > 0 => {
            return if open { Some(Type::Dynamic) } else { unify_objects(types, mode) };
        }
        () if all == tuples + dynamics && tuples > 0 => {
            return if open { Some(Type::Dynamic) } else { unify_tuples(types, mode) };
        }
        () if all == maps + objects + dynamics && maps > 0 => {
            if let Some(element) = unify_refs(parts(types), mode) {
                return Some(Type::map(element));
            }
        }
        () if all == lists + tuples + dynamics && lists > 0 => {
            if let Some(list) = unify_to_list(types, mode) {
                return Some(list);
            }
        }
        () if objects > 0 && tuples > 0 => return None,
        () => {}
    }
    // Otherwise one of the given types that all others convert to.
    preferred_order(types)
        .into_iter()
        .find(|want| types.iter().all(|t| t == want || check(t, want, mode, &Path::root()).is_ok()))
        .cloned()
}

/// The list of the common type of all parts, if each of the types converts to it.
fn unify_to_list(types: &[&Type], mode: Mode) -> Option<Type> {
    let list = Type::list(unify_refs(parts(types), mode)?);
    types.iter().all(|t| check(t, &list, mode, &Path::root()).is_ok()).then_some(list)
}

/// The types of all parts of the given collections, objects and tuples.
fn parts<'a>(types: &'a [&'a Type]) -> impl Iterator<Item = &'a Type> {
    types.iter().flat_map(|t| -> Box<dyn Iterator<Item = &'a Type> + 'a> {
        match t {
            Type::List(e) | Type::Set(e) | Type::Map(e) => Box::new(std::iter::once(&**e)),
            Type::Tuple(ts) => Box::new(ts.iter()),
            Type::Object(o) => Box::new(o.iter().map(|(_, t)| t)),
            _ => Box::new(std::iter::empty()),
        }
    })
}

/// Objects with the same attribute names unify to an object, others to a map.
fn unify_objects(types: &[&Type], mode: Mode) -> Option<Type> {
    let objects: Vec<_> = types.iter().filter_map(|t| if let Type::Object(o) = t { Some(o) } else { None }).collect();
    let first = objects.first()?;
    let same_names =
        objects.iter().all(|o| o.len() == first.len() && o.iter().zip(first.iter()).all(|((a, _), (b, _))| a == b));
    if !same_names {
        return unify_refs(parts(types), mode).map(Type::map);
    }
    let attrs = first.iter().map(|(n, _)| {
        let common = unify_refs(objects.iter().filter_map(|o| o.get(n)), mode)?;
        Some((n.clone(), common))
    });
    Some(Type::object(attrs.collect::<Option<Vec<_>>>()?))
}

/// Tuples of the same length unify to a tuple, others to a list.
fn unify_tuples(types: &[&Type], mode: Mode) -> Option<Type> {
    let tuples: Vec<_> = types.iter().filter_map(|t| if let Type::Tuple(ts) = t { Some(ts) } else { None }).collect();
    let first = tuples.first()?;
    if tuples.iter().any(|t| t.len() != first.len()) {
        return unify_to_list(types, mode);
    }
    let items = (0..first.len()).map(|i| unify_refs(tuples.iter().filter_map(|t| t.get(i)), mode));
    Some(Type::tuple(items.collect::<Option<Vec<_>>>()?))
}

/// The types, those first that the others are more likely to convert to without loss; otherwise in the given order.
fn preferred_order<'a>(types: &[&'a Type]) -> Vec<&'a Type> {
    let mut rest: Vec<&Type> = types.to_vec();
    let mut order = Vec::with_capacity(rest.len());
    while !rest.is_empty() {
        let next = rest.iter().position(|t| !rest.iter().any(|other| is_preferred(other, t))).unwrap_or(0);
        order.push(rest.remove(next));
    }
    order
}

/// Whether `a` is more general than `b`.
fn is_preferred(a: &Type, b: &Type) -> bool {
    match (a, b) {
        (a, Type::Dynamic) => !a.is_dynamic(),
        (Type::String, Type::Number | Type::Bool) => true,
        (Type::List(a), Type::List(b)) | (Type::Set(a), Type::Set(b)) | (Type::Map(a), Type::Map(b)) => {
            is_preferred(a, b)
        }
        (Type::List(_), Type::Set(_) | Type::Tuple(_)) | (Type::Set(_), Type::Tuple(_)) => true,
        (Type::Map(_), Type::Object(_)) => true,
        _ => false,
    }
}

// ---- type constraints

/// A declared type: as [`Type`], with optional attributes of objects and their defaults.
#[derive(Clone, PartialEq, Debug)]
pub enum TypeConstraint {
    Any,
    Bool,
    Number,
    String,
    List(Box<TypeConstraint>),
    Set(Box<TypeConstraint>),
    Map(Box<TypeConstraint>),
    Tuple(Vec<TypeConstraint>),
    Object(BTreeMap<Str, AttributeConstraint>),
}

/// One attribute of an object constraint.
#[derive(Clone, PartialEq, Debug)]
pub struct AttributeConstraint {
    pub constraint: TypeConstraint,
    pub optional: bool,
    /// What an optional attribute is when it is left out or null; already of the attribute's type.
    pub default: Option<Value>,
}

impl TypeConstraint {
    /// Fills in optional attributes and defaults, then converts.
    pub fn apply(&self, value: &Value) -> Result<Value, ConvertError> {
        if self.has_optional() { convert(&self.fill(value), &self.ty()) } else { convert(value, &self.ty()) }
    }

    /// The type of the values that [`apply`](Self::apply) gives.
    pub fn ty(&self) -> Type {
        match self {
            TypeConstraint::Any => Type::Dynamic,
            TypeConstraint::Bool => Type::Bool,
            TypeConstraint::Number => Type::Number,
            TypeConstraint::String => Type::String,
            TypeConstraint::List(e) => Type::list(e.ty()),
            TypeConstraint::Set(e) => Type::set(e.ty()),
            TypeConstraint::Map(e) => Type::map(e.ty()),
            TypeConstraint::Tuple(ts) => Type::tuple(ts.iter().map(TypeConstraint::ty)),
            TypeConstraint::Object(attrs) => Type::object(attrs.iter().map(|(n, a)| (n.clone(), a.constraint.ty()))),
        }
    }

    /// Whether an attribute is optional anywhere in it.
    pub fn has_optional(&self) -> bool {
        match self {
            TypeConstraint::List(e) | TypeConstraint::Set(e) | TypeConstraint::Map(e) => e.has_optional(),
            TypeConstraint::Tuple(ts) => ts.iter().any(TypeConstraint::has_optional),
            TypeConstraint::Object(attrs) => attrs.values().any(|a| a.optional || a.constraint.has_optional()),
            _ => false,
        }
    }

    /// The value with optional attributes added, where it has the structure for it; what does not fit is left for the
    /// conversion to report.
    fn fill(&self, value: &Value) -> Value {
        if !self.has_optional() {
            return value.clone();
        }
        let (v, marks) = value.unmark();
        let filled = match (self, v) {
            (c, Value::Null(t)) => Value::Null(c.fill_type(t)),
            (c, Value::Unknown(u)) => Value::refined(c.fill_type(&u.ty), u.refinement.clone()),
            (TypeConstraint::List(e) | TypeConstraint::Set(e), Value::List(c) | Value::Set(c))
                if c.items.is_empty() =>
            {
                let element = e.fill_type(&c.element);
                if matches!(v, Value::Set(_)) {
                    Value::set(element, Vec::new())
                } else {
                    Value::list(element, Vec::new())
                }
            }
            (TypeConstraint::List(e) | TypeConstraint::Set(e), Value::List(c) | Value::Set(c)) => {
                Value::tuple(c.items.iter().map(|v| e.fill(v)).collect())
            }
            (TypeConstraint::List(e) | TypeConstraint::Set(e), Value::Tuple(items)) => {
                Value::tuple(items.iter().map(|v| e.fill(v)).collect())
            }
            (TypeConstraint::Tuple(cs), Value::Tuple(items)) if cs.len() == items.len() => {
                Value::tuple(cs.iter().zip(items.iter()).map(|(c, v)| c.fill(v)).collect())
            }
            (TypeConstraint::Map(e), Value::Map(m)) if m.entries.is_empty() => {
                Value::map::<Str>(e.fill_type(&m.element), [])
            }
            (TypeConstraint::Map(e), Value::Map(m)) => {
                Value::object(m.entries.iter().map(|(k, v)| (k.clone(), e.fill(v))))
            }
            (TypeConstraint::Map(e), Value::Object(o)) => Value::object(o.iter().map(|(k, v)| (k.clone(), e.fill(v)))),
            (TypeConstraint::Object(attrs), Value::Object(_) | Value::Map(_)) => {
                let filled = attrs.iter().filter_map(|(n, a)| {
                    let given = v.get(n);
                    let value = match given {
                        Some(given) if !(given.is_null() && a.default.is_some()) => given.clone(),
                        _ if a.optional => a.default.clone().unwrap_or_else(Value::null),
                        _ => return given.map(|g| (n.clone(), a.constraint.fill(g))),
                    };
                    Some((n.clone(), a.constraint.fill(&value)))
                });
                Value::object(filled.collect::<Vec<_>>())
            }
            _ => v.clone(),
        };
        filled.with_marks(marks)
    }

    /// The same for a type of which there is no known value: optional attributes become part of object types.
    fn fill_type(&self, ty: &Type) -> Type {
        match (self, ty) {
            (TypeConstraint::List(c) | TypeConstraint::Set(c), Type::List(e)) => Type::list(c.fill_type(e)),
            (TypeConstraint::List(c) | TypeConstraint::Set(c), Type::Set(e)) => Type::set(c.fill_type(e)),
            (TypeConstraint::List(c) | TypeConstraint::Set(c), Type::Tuple(ts)) => {
                Type::tuple(ts.iter().map(|t| c.fill_type(t)))
            }
            (TypeConstraint::Tuple(cs), Type::Tuple(ts)) if cs.len() == ts.len() => {
                Type::tuple(cs.iter().zip(ts.iter()).map(|(c, t)| c.fill_type(t)))
            }
            (TypeConstraint::Map(c), Type::Map(e)) => Type::map(c.fill_type(e)),
            (TypeConstraint::Map(c), Type::Object(o)) => {
                Type::object(o.iter().map(|(n, t)| (n.clone(), c.fill_type(t))))
            }
            (TypeConstraint::Object(attrs), Type::Object(o)) => Type::object(attrs.iter().filter_map(|(n, a)| {
                let t = match o.get(n) {
                    Some(t) => a.constraint.fill_type(t),
                    None if a.optional => a.constraint.ty(),
                    None => return None,
                };
                Some((n.clone(), t))
            })),
            _ => ty.clone(),
        }
    }
}

impl From<&Type> for TypeConstraint {
    /// The constraint that accepts values of the type, with all attributes required.
    fn from(ty: &Type) -> TypeConstraint {
        match ty {
            Type::Dynamic => TypeConstraint::Any,
            Type::Bool => TypeConstraint::Bool,
            Type::Number => TypeConstraint::Number,
            Type::String => TypeConstraint::String,
            Type::List(e) => TypeConstraint::List(Box::new((&**e).into())),
            Type::Set(e) => TypeConstraint::Set(Box::new((&**e).into())),
            Type::Map(e) => TypeConstraint::Map(Box::new((&**e).into())),
            Type::Tuple(ts) => TypeConstraint::Tuple(ts.iter().map(TypeConstraint::from).collect()),
            Type::Object(o) => TypeConstraint::Object(
                o.iter()
                    .map(|(n, t)| {
                        (n.clone(), AttributeConstraint { constraint: t.into(), optional: false, default: None })
                    })
                    .collect(),
            ),
        }
    }
}

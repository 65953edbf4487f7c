//! Values as JSON. Two forms: with a type known to both sides, as state files and providers have it (lists and sets,
//! maps and objects look alike; where the type is dynamic, `{"value":…,"type":…}`), and without one, as `jsonencode`,
//! `jsondecode` and the documents printed for other programs have it. Types as JSON are in `json/types.rs`, the reader
//! of JSON text in `json/read.rs`; msgpack has its own file.

mod read;
mod types;

use crate::codec::{CodecError, MAX_DEPTH, element_type};
use crate::number::Number;
use crate::path::Step;
use crate::types::{ObjectType, Type};
use crate::value::{Str, Value, nfc};
use read::{Kind, Reader};
use std::collections::HashSet;
use std::fmt::Write;
use std::sync::Arc;
pub use types::{type_from_json, type_to_json, write_type};

/// Object attributes in JSON that the type does not have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExtraAttributes {
    /// Are an error.
    Refuse,
    /// Are dropped: state written for an earlier version of a schema may have attributes that are gone.
    Ignore,
}

// ---- writing

/// Appends a value in the form for its type. The value must be wholly known, unmarked and of the type (null is of any
/// type; where the type is dynamic, any value is).
pub fn encode(value: &Value, ty: &Type, out: &mut String) -> Result<(), CodecError> {
    encode_at(value, ty, out, 0)
}

fn encode_at(value: &Value, ty: &Type, out: &mut String, depth: usize) -> Result<(), CodecError> {
    if depth > MAX_DEPTH {
        return Err(CodecError::too_deep());
    }
    match (ty, value) {
        (_, Value::Marked(_)) => Err(CodecError::marked()),
        (_, Value::Unknown(_)) => Err(unknown()),
        (_, Value::Null(Type::Dynamic)) => write_scalar(value, out),
        (Type::Dynamic, v) => {
            let actual = v.ty();
            out.push_str("{\"value\":");
            encode_at(v, &actual, out, depth + 1)?;
            out.push_str(",\"type\":");
            write_type(&actual, out);
            out.push('}');
            Ok(())
        }
        (_, Value::Null(_))
        | (Type::Bool, Value::Bool(_))
        | (Type::Number, Value::Number(_))
        | (Type::String, Value::String(_)) => write_scalar(value, out),
        (Type::List(element), Value::List(c)) | (Type::Set(element), Value::Set(c)) => {
            write_array(&c.items, out, |_, v, out| encode_at(v, element, out, depth + 1))
        }
        (Type::Tuple(elements), Value::Tuple(items)) if elements.len() == items.len() => {
            write_array(items, out, |i, v, out| encode_at(v, elements.get(i).unwrap_or(&Type::Dynamic), out, depth + 1))
        }
        (Type::Map(element), Value::Map(m)) => {
            write_object(m.entries.iter().map(|(k, v)| (k, v)), Step::Key, out, |_, v, out| {
                encode_at(v, element, out, depth + 1)
            })
        }
        (Type::Object(attributes), Value::Object(o)) if attributes.names() == &o.names => {
            write_object(o.iter(), Step::Attr, out, |i, v, out| {
                encode_at(v, attributes.types().get(i).unwrap_or(&Type::Dynamic), out, depth + 1)
            })
        }
        _ => Err(CodecError::mismatch(value, ty)),
    }
}

/// Appends a value in the form without a type, as `jsonencode` does: sets are arrays, and so on. The value must be
/// wholly known and unmarked.
pub fn encode_untyped(value: &Value, out: &mut String) -> Result<(), CodecError> {
    match value {
        Value::Marked(_) => Err(CodecError::marked()),
        Value::Unknown(_) => Err(unknown()),
        Value::List(c) | Value::Set(c) => write_array(&c.items, out, |_, v, out| encode_untyped(v, out)),
        Value::Tuple(items) => write_array(items, out, |_, v, out| encode_untyped(v, out)),
        Value::Map(m) => {
            write_object(m.entries.iter().map(|(k, v)| (k, v)), Step::Key, out, |_, v, out| encode_untyped(v, out))
        }
        Value::Object(o) => write_object(o.iter(), Step::Attr, out, |_, v, out| encode_untyped(v, out)),
        Value::Null(_) | Value::Bool(_) | Value::Number(_) | Value::String(_) => write_scalar(value, out),
    }
}

/// Appends a JSON string, escaped as Go does by default: also `<`, `>`, `&` and the line separators, so that it may
/// stand in HTML and JavaScript.
pub fn write_string(s: &str, out: &mut String) {
    out.push('"');
    let mut rest = s;
    // The two separators U+2028 and U+2029 begin with the byte E2, as other characters do.
    let special = |b: u8| b < b' ' || matches!(b, b'"' | b'\\' | b'<' | b'>' | b'&' | 0xE2);
    while let Some(at) = rest.bytes().position(special) {
        let (plain, special) = rest.split_at(at);
        out.push_str(plain);
        let mut chars = special.chars();
        match chars.next() {
            Some('"') => out.push_str("\\\""),
            Some('\\') => out.push_str("\\\\"),
            Some('\n') => out.push_str("\\n"),
            Some('\r') => out.push_str("\\r"),
            Some('\t') => out.push_str("\\t"),
            Some('\x08') => out.push_str("\\b"),
            Some('\x0c') => out.push_str("\\f"),
            Some(c) if c >= '\u{2000}' && !matches!(c, '\u{2028}' | '\u{2029}') => out.push(c),
            // Writing to a string does not fail.
            Some(c) => drop(write!(out, "\\u{:04x}", c as u32)),
            None => {}
        }
        rest = chars.as_str();
    }
    out.push_str(rest);
    out.push('"');
}

fn write_scalar(value: &Value, out: &mut String) -> Result<(), CodecError> {
    match value {
        Value::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
        Value::Number(n) if n.is_infinite() => return Err(CodecError::new("JSON has no infinite numbers")),
        Value::Number(n) => drop(write!(out, "{n}")),
        Value::String(s) => write_string(s, out),
        _ => out.push_str("null"),
    }
    Ok(())
}

fn write_array(
    items: &[Value],
    out: &mut String,
    mut write: impl FnMut(usize, &Value, &mut String) -> Result<(), CodecError>,
) -> Result<(), CodecError> {
    out.push('[');
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        write(i, item, out).map_err(|e| e.at(Step::Index(i as u64)))?;
    }
    out.push(']');
    Ok(())
}

fn write_object<'a>(
    entries: impl Iterator<Item = (&'a Str, &'a Value)>,
    step: fn(Str) -> Step,
    out: &mut String,
    mut write: impl FnMut(usize, &Value, &mut String) -> Result<(), CodecError>,
) -> Result<(), CodecError> {
    out.push('{');
    for (i, (name, value)) in entries.enumerate() {
        if i > 0 {
            out.push(',');
        }
        write_string(name, out);
        out.push(':');
        write(i, value, out).map_err(|e| e.at(step(name.clone())))?;
    }
    out.push('}');
    Ok(())
}

fn unknown() -> CodecError {
    CodecError::new("the value is not known yet")
}

// ---- reading

/// Reads a value of a type. Like Terraform it takes numbers and bools in quotes, numbers and bools for strings, and
/// null for attributes that are missing.
pub fn decode(text: impl AsRef<[u8]>, ty: &Type, extra: ExtraAttributes) -> Result<Value, CodecError> {
    let mut reader = Reader::new(text.as_ref());
    let value = read_typed(&mut reader, ty, extra, 0)?;
    reader.end()?;
    Ok(value)
}

fn read_typed(reader: &mut Reader<'_>, ty: &Type, extra: ExtraAttributes, depth: usize) -> Result<Value, CodecError> {
    if depth > MAX_DEPTH {
        return Err(CodecError::too_deep());
    }
    let kind = reader.kind()?;
    match (ty, kind) {
        (_, Kind::Null) => {
            reader.null()?;
            Ok(Value::Null(ty.clone()))
        }
        (Type::Dynamic, Kind::Object) => read_dynamic(reader, extra, depth),
        (Type::Bool | Type::String, Kind::Bool) => {
            let b = reader.bool()?;
            Ok(if *ty == Type::Bool { Value::Bool(b) } else { Value::string(b.to_string()) })
        }
        (Type::Number, Kind::Number) => read_number(reader),
        (Type::String, Kind::Number) => Ok(Value::string(reader.number()?)),
        (Type::String, Kind::String) => Ok(Value::string(reader.string()?)),
        (Type::Number, Kind::String) => {
            let text = reader.string()?;
            let number = Number::parse(&text).ok_or_else(|| reader.error(format_args!("{text:?} is not a number")))?;
            Ok(Value::Number(number))
        }
        (Type::Bool, Kind::String) => match &*reader.string()? {
            "true" | "1" => Ok(Value::TRUE),
            "false" | "0" => Ok(Value::FALSE),
            text => Err(reader.error(format_args!("{text:?} is not a bool"))),
        },
        (Type::List(element), Kind::Array) => {
            let items = read_items(reader, |r, _| read_typed(r, element, extra, depth + 1))?;
            Ok(Value::list(element_type(element, items.iter()), items))
        }
        (Type::Set(element), Kind::Array) => {
            let items = read_items(reader, |r, _| read_typed(r, element, extra, depth + 1))?;
            Ok(Value::set(element_type(element, items.iter()), items))
        }
        (Type::Tuple(elements), Kind::Array) => {
            let wrong_length = || CodecError::new(format!("a tuple of {} elements is required", elements.len()));
            let items =
                read_items(reader, |r, i| read_typed(r, elements.get(i).ok_or_else(wrong_length)?, extra, depth + 1))?;
            if items.len() == elements.len() { Ok(Value::tuple(items)) } else { Err(wrong_length()) }
        }
        (Type::Map(element), Kind::Object) => {
            let mut entries: Vec<(Str, Value)> = Vec::new();
            reader.object()?;
            while let Some(key) = reader.key(entries.is_empty())? {
                let key = nfc(&key);
                let value = read_typed(reader, element, extra, depth + 1).map_err(|e| e.at(Step::Key(key.clone())))?;
                entries.push((key, value));
            }
            Ok(Value::map(element_type(element, entries.iter().map(|(_, v)| v)), entries))
        }
        (Type::Object(attributes), Kind::Object) => read_attributes(reader, attributes, extra, depth),
        _ => Err(reader.error(format_args!("{} is required", ty.friendly_name()))),
    }
}

fn read_attributes(
    reader: &mut Reader<'_>,
    attributes: &ObjectType,
    extra: ExtraAttributes,
    depth: usize,
) -> Result<Value, CodecError> {
    let types = attributes.types();
    let mut values: Vec<Value> = types.iter().map(|t| Value::Null(t.clone())).collect();
    reader.object()?;
    let (mut first, mut expected) = (true, 0);
    while let Some(name) = reader.key(first)? {
        first = false;
        // Attributes are usually in order, so that the next name need not be searched for.
        let in_order = attributes.names().get(expected).is_some_and(|n| **n == *name);
        let position = if in_order { Some(expected) } else { attributes.position(&name) };
        match position.and_then(|p| Some((p, types.get(p)?, values.get_mut(p)?))) {
            Some((p, ty, slot)) => {
                *slot = read_typed(reader, ty, extra, depth + 1).map_err(|e| e.at(Step::Attr(nfc(&name))))?;
                expected = p + 1;
            }
            None if extra == ExtraAttributes::Ignore => reader.skip(depth + 1)?,
            None => return Err(reader.error(format_args!("an attribute named {name:?} is not expected here"))),
        }
    }
    Ok(Value::object_with_names(attributes.names().clone(), values))
}

/// Reads `{"value":…,"type":…}`, in either order.
fn read_dynamic(reader: &mut Reader<'_>, extra: ExtraAttributes, depth: usize) -> Result<Value, CodecError> {
    let (mut ty, mut value) = (None, None);
    reader.object()?;
    let mut first = true;
    while let Some(key) = reader.key(first)? {
        first = false;
        match &*key {
            "type" => ty = Some(types::read_type(reader, depth + 1)?),
            "value" => {
                value = Some(reader.clone());
                reader.skip(depth + 1)?;
            }
            _ => return Err(reader.error("a value of dynamic type has only \"value\" and \"type\"")),
        }
    }
    match (ty, value) {
        (Some(ty), Some(mut value)) => read_typed(&mut value, &ty, extra, depth + 1),
        _ => Err(reader.error("a value of dynamic type needs both \"value\" and \"type\"")),
    }
}

/// Reads a value of the type that the text implies, as `jsondecode` does: arrays become tuples, objects objects, and
/// of duplicate keys the last wins.
pub fn decode_untyped(text: impl AsRef<[u8]>) -> Result<Value, CodecError> {
    let mut reader = Reader::new(text.as_ref());
    let value = read_untyped(&mut reader, &mut Names::default(), 0)?;
    reader.end()?;
    Ok(value)
}

/// Names seen in a document, so that objects of the same shape share them.
#[derive(Default)]
struct Names {
    all: HashSet<Str>,
    last: Option<Arc<[Str]>>,
}

impl Names {
    fn name(&mut self, name: &str) -> Str {
        if let Some(known) = self.all.get(name) {
            return known.clone();
        }
        let new = nfc(name);
        self.all.insert(new.clone());
        new
    }

    /// The object of these attributes, with the names of the object before if they are the same.
    fn object(&mut self, attributes: Vec<(Str, Value)>) -> Value {
        if let Some(names) = &self.last
            && names.len() == attributes.len()
            && names.iter().zip(&attributes).all(|(n, (name, _))| Arc::ptr_eq(n, name))
        {
            let values = attributes.into_iter().map(|(_, v)| v).collect();
            return Value::object_with_names(names.clone(), values);
        }
        let value = Value::object(attributes);
        if let Value::Object(object) = &value {
            self.last = Some(object.names.clone());
        }
        value
    }
}

fn read_untyped(reader: &mut Reader<'_>, names: &mut Names, depth: usize) -> Result<Value, CodecError> {
    if depth > MAX_DEPTH {
        return Err(CodecError::too_deep());
    }
    match reader.kind()? {
        Kind::Null => reader.null().map(|()| Value::null()),
        Kind::Bool => reader.bool().map(Value::Bool),
        Kind::Number => read_number(reader),
        Kind::String => reader.string().map(Value::string),
        Kind::Array => read_items(reader, |r, _| read_untyped(r, names, depth + 1)).map(Value::tuple),
        Kind::Object => {
            let mut attributes: Vec<(Str, Value)> = Vec::new();
            reader.object()?;
            while let Some(name) = reader.key(attributes.is_empty())? {
                let name = names.name(&name);
                let value = read_untyped(reader, names, depth + 1).map_err(|e| e.at(Step::Attr(name.clone())))?;
                attributes.push((name, value));
            }
            Ok(names.object(attributes))
        }
    }
}

fn read_number(reader: &mut Reader<'_>) -> Result<Value, CodecError> {
    let text = reader.number()?;
    Number::parse(text).map(Value::Number).ok_or_else(|| reader.error("the number is too large"))
}

fn read_items<'a>(
    reader: &mut Reader<'a>,
    mut read: impl FnMut(&mut Reader<'a>, usize) -> Result<Value, CodecError>,
) -> Result<Vec<Value>, CodecError> {
    let mut items = Vec::new();
    reader.array()?;
    while reader.element(items.is_empty())? {
        let i = items.len();
        items.push(read(reader, i).map_err(|e| e.at(Step::Index(i as u64)))?);
    }
    Ok(items)
}

#[cfg(test)]
mod tests;

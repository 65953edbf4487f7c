//! Values as msgpack: the form of go-cty that the plugin protocol's `DynamicValue` and plan files use. Encoding and
//! decoding are driven by the type, without trees in between. JSON has its own file.
//!
//! Null is nil. An unknown value is an extension: type 0 with one zero byte, or type 12 with a map of what is known all
//! the same. Where the type is dynamic, an array of the actual type as JSON and the value. Numbers are integers where
//! they fit, floats where those are exact, otherwise decimal strings.

use crate::codec::{CodecError, MAX_DEPTH, element_type};
use crate::json::{type_from_json, write_type};
use crate::number::Number;
use crate::path::Step;
use crate::types::{ObjectType, Type};
use crate::value::{Refinement, Str, Unknown, Value, nfc};
use rmp::Marker;
use rmp::encode;
use std::borrow::Cow;

/// The extension type of an unknown value with refinements.
const REFINED: i8 = 12;
/// Refinements larger than this are refused.
const MAX_REFINEMENT: usize = 1024;
/// Longer prefixes are cut when encoding.
const MAX_PREFIX: usize = 256;

/// Keys of the map of refinements.
mod key {
    pub const NULLNESS: u64 = 1;
    pub const PREFIX: u64 = 2;
    pub const MIN: u64 = 3;
    pub const MAX: u64 = 4;
    pub const MIN_LENGTH: u64 = 5;
    pub const MAX_LENGTH: u64 = 6;
}

// ---- encoding

/// Encodes a value of a type. It must be unmarked and of the type (null and unknown may be of any type; where the type
/// is dynamic, any value is of it).
pub fn encode(value: &Value, ty: &Type) -> Result<Vec<u8>, CodecError> {
    let mut out = Vec::new();
    encode_into(value, ty, &mut out)?;
    Ok(out)
}

/// Like [`encode`], appending.
pub fn encode_into(value: &Value, ty: &Type, out: &mut Vec<u8>) -> Result<(), CodecError> {
    write(value, ty, out, 0)
}

// Writing to a vector fails only where memory does, but the writer's interface cannot say so.
macro_rules! put {
    ($write:ident, $out:expr $(, $arg:expr)*) => {
        encode::$write($out $(, $arg)*).map(drop).map_err(|e| CodecError::new(e.to_string()))
    };
}

fn write(value: &Value, ty: &Type, out: &mut Vec<u8>, depth: usize) -> Result<(), CodecError> {
    if depth > MAX_DEPTH {
        return Err(CodecError::too_deep());
    }
    match (ty, value) {
        (_, Value::Marked(_)) => Err(CodecError::marked()),
        (_, Value::Null(Type::Dynamic)) => put!(write_nil, out),
        (_, Value::Unknown(u)) if u.ty == Type::Dynamic => write_unknown(u, out),
        (Type::Dynamic, v) => {
            let actual = v.ty();
            let mut json = String::new();
            write_type(&actual, &mut json);
            put!(write_array_len, out, 2)?;
            put!(write_bin, out, json.as_bytes())?;
            write(v, &actual, out, depth + 1)
        }
        (_, Value::Unknown(u)) => write_unknown(u, out),
        (_, Value::Null(_)) => put!(write_nil, out),
        (Type::Bool, Value::Bool(b)) => put!(write_bool, out, *b),
        (Type::Number, Value::Number(n)) => write_number(n, out),
        (Type::String, Value::String(s)) => put!(write_str, out, s),
        (Type::List(element), Value::List(c)) | (Type::Set(element), Value::Set(c)) => {
            put!(write_array_len, out, length(c.items.len())?)?;
            for (i, item) in c.items.iter().enumerate() {
                write(item, element, out, depth + 1).map_err(|e| e.at(Step::Index(i as u64)))?;
            }
            Ok(())
        }
        (Type::Tuple(elements), Value::Tuple(items)) if elements.len() == items.len() => {
            put!(write_array_len, out, length(items.len())?)?;
            for (i, (item, element)) in items.iter().zip(elements.iter()).enumerate() {
                write(item, element, out, depth + 1).map_err(|e| e.at(Step::Index(i as u64)))?;
            }
            Ok(())
        }
        (Type::Map(element), Value::Map(m)) => {
            put!(write_map_len, out, length(m.entries.len())?)?;
            for (k, v) in &m.entries {
                put!(write_str, out, k)?;
                write(v, element, out, depth + 1).map_err(|e| e.at(Step::Key(k.clone())))?;
            }
            Ok(())
        }
        (Type::Object(attributes), Value::Object(o)) if attributes.names() == &o.names => {
            put!(write_map_len, out, length(o.len())?)?;
            for ((name, v), ty) in o.iter().zip(attributes.types()) {
                put!(write_str, out, name)?;
                write(v, ty, out, depth + 1).map_err(|e| e.at(Step::Attr(name.clone())))?;
            }
            Ok(())
        }
        _ => Err(CodecError::mismatch(value, ty)),
    }
}

fn length(len: usize) -> Result<u32, CodecError> {
    u32::try_from(len).map_err(|_| CodecError::new("more elements than msgpack can hold"))
}

fn write_number(n: &Number, out: &mut Vec<u8>) -> Result<(), CodecError> {
    if let Some(i) = n.as_i64() {
        return put!(write_sint, out, i);
    }
    let f = n.to_f64();
    if n.is_infinite() || (!n.is_integer() && Number::from_f64(f).as_ref() == Some(n)) {
        return put!(write_f64, out, f);
    }
    put!(write_str, out, &n.to_string())
}

fn write_unknown(unknown: &Unknown, out: &mut Vec<u8>) -> Result<(), CodecError> {
    let known = &unknown.refinement;
    let (mut body, mut entries) = (Vec::new(), 0);
    let mut entry = |key: u64, body: &mut Vec<u8>| {
        entries += 1;
        put!(write_uint, body, key)
    };
    if unknown.ty != Type::Dynamic && known.not_null {
        entry(key::NULLNESS, &mut body)?;
        put!(write_bool, &mut body, false)?;
    }
    if unknown.ty == Type::String
        && let Some(prefix) = known.prefix.as_deref().map(cut_prefix)
        && !prefix.is_empty()
    {
        entry(key::PREFIX, &mut body)?;
        put!(write_str, &mut body, prefix)?;
    }
    if unknown.ty == Type::Number {
        for (key, bound) in [(key::MIN, &known.min), (key::MAX, &known.max)] {
            if let Some((bound, inclusive)) = bound.as_ref().filter(|(n, _)| !n.is_infinite()) {
                entry(key, &mut body)?;
                put!(write_array_len, &mut body, 2)?;
                write_number(bound, &mut body)?;
                put!(write_bool, &mut body, *inclusive)?;
            }
        }
    }
    if unknown.ty.is_collection() {
        for (key, bound) in [(key::MIN_LENGTH, known.min_len.filter(|n| *n > 0)), (key::MAX_LENGTH, known.max_len)] {
            if let Some(bound) = bound {
                entry(key, &mut body)?;
                put!(write_uint, &mut body, bound)?;
            }
        }
    }
    if entries == 0 {
        out.extend([0xd4, 0, 0]);
        return Ok(());
    }
    put!(write_ext_meta, out, length(body.len() + 1)?, REFINED)?;
    put!(write_map_len, out, entries)?;
    out.extend(body);
    Ok(())
}

/// A prefix of limited length that does not end within a character as people see it: cut between two ASCII ones.
fn cut_prefix(prefix: &str) -> &str {
    if prefix.len() <= MAX_PREFIX {
        return prefix;
    }
    let bytes = prefix.as_bytes();
    let end = (1..MAX_PREFIX).rev().find(|i| match bytes.get(i - 1..=*i) {
        Some(pair) => pair.is_ascii() && pair != b"\r\n",
        None => false,
    });
    end.and_then(|i| prefix.get(..i)).unwrap_or("")
}

// ---- decoding

/// Decodes a value of a type. Bytes after it are ignored, as Terraform does. Strings that are not UTF-8 come out with
/// replacement characters.
pub fn decode(bytes: &[u8], ty: &Type) -> Result<Value, CodecError> {
    read(&mut Input(bytes), ty, 0)
}

/// What is left to decode.
struct Input<'a>(&'a [u8]);

/// The next thing in the input: a scalar, or the head of an array or map.
enum Item<'a> {
    Nil,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(f64),
    Bytes(&'a [u8]),
    Array(usize),
    Map(usize),
    Extension(i8, &'a [u8]),
}

impl<'a> Input<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8], CodecError> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or_else(|| CodecError::new("the data ends too early"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn big_endian<const N: usize>(&mut self) -> Result<[u8; N], CodecError> {
        let taken = self.take(N)?;
        taken.try_into().map_err(|_| CodecError::new("the data ends too early"))
    }

    fn length8(&mut self) -> Result<usize, CodecError> {
        Ok(u8::from_be_bytes(self.big_endian()?).into())
    }

    fn length16(&mut self) -> Result<usize, CodecError> {
        Ok(u16::from_be_bytes(self.big_endian()?).into())
    }

    fn length32(&mut self) -> Result<usize, CodecError> {
        Ok(u32::from_be_bytes(self.big_endian()?) as usize)
    }

    fn next(&mut self) -> Result<Item<'a>, CodecError> {
        let [head] = self.big_endian()?;
        let item = match Marker::from_u8(head) {
            Marker::Null => Item::Nil,
            Marker::True => Item::Bool(true),
            Marker::False => Item::Bool(false),
            Marker::FixPos(n) => Item::Int(n.into()),
            Marker::FixNeg(n) => Item::Int(n.into()),
            Marker::U8 => Item::Int(u8::from_be_bytes(self.big_endian()?).into()),
            Marker::U16 => Item::Int(u16::from_be_bytes(self.big_endian()?).into()),
            Marker::U32 => Item::Int(u32::from_be_bytes(self.big_endian()?).into()),
            Marker::U64 => Item::Uint(u64::from_be_bytes(self.big_endian()?)),
            Marker::I8 => Item::Int(i8::from_be_bytes(self.big_endian()?).into()),
            Marker::I16 => Item::Int(i16::from_be_bytes(self.big_endian()?).into()),
            Marker::I32 => Item::Int(i32::from_be_bytes(self.big_endian()?).into()),
            Marker::I64 => Item::Int(i64::from_be_bytes(self.big_endian()?)),
            Marker::F32 => Item::Float(f32::from_be_bytes(self.big_endian()?).into()),
            Marker::F64 => Item::Float(f64::from_be_bytes(self.big_endian()?)),
            Marker::FixStr(n) => Item::Bytes(self.take(n.into())?),
            Marker::Str8 | Marker::Bin8 => Item::Bytes(self.length8().and_then(|n| self.take(n))?),
            Marker::Str16 | Marker::Bin16 => Item::Bytes(self.length16().and_then(|n| self.take(n))?),
            Marker::Str32 | Marker::Bin32 => Item::Bytes(self.length32().and_then(|n| self.take(n))?),
            Marker::FixArray(n) => self.array(n.into())?,
            Marker::Array16 => self.length16().and_then(|n| self.array(n))?,
            Marker::Array32 => self.length32().and_then(|n| self.array(n))?,
            Marker::FixMap(n) => self.map(n.into())?,
            Marker::Map16 => self.length16().and_then(|n| self.map(n))?,
            Marker::Map32 => self.length32().and_then(|n| self.map(n))?,
            Marker::FixExt1 => self.extension(1)?,
            Marker::FixExt2 => self.extension(2)?,
            Marker::FixExt4 => self.extension(4)?,
            Marker::FixExt8 => self.extension(8)?,
            Marker::FixExt16 => self.extension(16)?,
            Marker::Ext8 => self.length8().and_then(|n| self.extension(n))?,
            Marker::Ext16 => self.length16().and_then(|n| self.extension(n))?,
            Marker::Ext32 => self.length32().and_then(|n| self.extension(n))?,
            Marker::Reserved => return Err(CodecError::new("0xc1 does not occur in msgpack")),
        };
        Ok(item)
    }

    /// An array head, if there can be that many elements: each takes a byte or more.
    fn array(&self, len: usize) -> Result<Item<'a>, CodecError> {
        if len > self.0.len() { Err(CodecError::new("the data ends too early")) } else { Ok(Item::Array(len)) }
    }

    fn map(&self, len: usize) -> Result<Item<'a>, CodecError> {
        if len > self.0.len() / 2 { Err(CodecError::new("the data ends too early")) } else { Ok(Item::Map(len)) }
    }

    fn extension(&mut self, len: usize) -> Result<Item<'a>, CodecError> {
        let code = i8::from_be_bytes(self.big_endian()?);
        Ok(Item::Extension(code, self.take(len)?))
    }

    fn text(&mut self) -> Result<Cow<'a, str>, CodecError> {
        match self.next()? {
            Item::Bytes(bytes) => Ok(String::from_utf8_lossy(bytes)),
            _ => Err(CodecError::new("a string is required as key")),
        }
    }
}

fn read(input: &mut Input<'_>, ty: &Type, depth: usize) -> Result<Value, CodecError> {
    if depth > MAX_DEPTH {
        return Err(CodecError::too_deep());
    }
    match (ty, input.next()?) {
        (_, Item::Extension(code, body)) => read_unknown(code, body, ty),
        (_, Item::Nil) => Ok(Value::Null(ty.clone())),
        (Type::Dynamic, Item::Array(2)) => {
            let actual = match input.next()? {
                Item::Bytes(json) => type_from_json(json)?,
                _ => return Err(CodecError::new("the type of a value of dynamic type must be JSON")),
            };
            read(input, &actual, depth + 1)
        }
        (Type::Bool, Item::Bool(b)) => Ok(Value::Bool(b)),
        (Type::Number, item) => read_number(item).map(Value::Number),
        (Type::String, Item::Bytes(bytes)) => Ok(Value::string(String::from_utf8_lossy(bytes))),
        (Type::List(element), Item::Array(len)) => {
            let items = read_items(input, len, |_| Some(element), depth)?;
            Ok(Value::list(element_type(element, items.iter()), items))
        }
        (Type::Set(element), Item::Array(len)) => {
            let items = read_items(input, len, |_| Some(element), depth)?;
            Ok(Value::set(element_type(element, items.iter()), items))
        }
        (Type::Tuple(elements), Item::Array(len)) if len == elements.len() => {
            Ok(Value::tuple(read_items(input, len, |i| elements.get(i), depth)?))
        }
        (Type::Tuple(elements), Item::Array(len)) => {
            Err(CodecError::new(format!("a tuple of {} elements is required, not of {len}", elements.len())))
        }
        (Type::Map(element), Item::Map(len)) => {
            let mut entries: Vec<(Str, Value)> = Vec::with_capacity(len.min(PREALLOCATED));
            for _ in 0..len {
                let key = nfc(&input.text()?);
                let value = read(input, element, depth + 1).map_err(|e| e.at(Step::Key(key.clone())))?;
                entries.push((key, value));
            }
            Ok(Value::map(element_type(element, entries.iter().map(|(_, v)| v)), entries))
        }
        (Type::Object(attributes), Item::Map(len)) if len == attributes.len() => {
            read_attributes(input, attributes, depth)
        }
        (Type::Object(attributes), Item::Map(len)) => {
            Err(CodecError::new(format!("an object of {} attributes is required, not of {len}", attributes.len())))
        }
        (Type::Dynamic, _) => {
            Err(CodecError::new("a value of dynamic type must be an array of its type and the value"))
        }
        _ => Err(CodecError::new(format!("{} is required", ty.friendly_name()))),
    }
}

/// Room made for elements before they are seen.
const PREALLOCATED: usize = 1024;

fn read_items<'t>(
    input: &mut Input<'_>,
    len: usize,
    element: impl Fn(usize) -> Option<&'t Type>,
    depth: usize,
) -> Result<Vec<Value>, CodecError> {
    let mut items = Vec::with_capacity(len.min(PREALLOCATED));
    for i in 0..len {
        let element = element(i).unwrap_or(&Type::Dynamic);
        items.push(read(input, element, depth + 1).map_err(|e| e.at(Step::Index(i as u64)))?);
    }
    Ok(items)
}

/// Reads the members of an object, as many as the type has; each must come once, in any order.
fn read_attributes(input: &mut Input<'_>, attributes: &ObjectType, depth: usize) -> Result<Value, CodecError> {
    let (names, types) = (attributes.names(), attributes.types());
    let mut values: Vec<Option<Value>> = Vec::new();
    values.resize(types.len(), None);
    for next in 0..types.len() {
        let name = input.text()?;
        // Usually in order, so that the name need not be searched for.
        let in_order = names.get(next).is_some_and(|n| **n == *name);
        let position = if in_order { Some(next) } else { attributes.position(&name) };
        let Some((ty, slot)) = position.and_then(|p| Some((types.get(p)?, values.get_mut(p)?))) else {
            return Err(CodecError::new("there is no such attribute").at(Step::Attr(nfc(&name))));
        };
        *slot = Some(read(input, ty, depth + 1).map_err(|e| e.at(Step::Attr(nfc(&name))))?);
    }
    let values: Option<Vec<Value>> = values.into_iter().collect();
    let values = values.ok_or_else(|| CodecError::new("an attribute is given twice and another is missing"))?;
    Ok(Value::object_with_names(names.clone(), values))
}

fn read_number(item: Item<'_>) -> Result<Number, CodecError> {
    let number = match item {
        Item::Int(i) => Some(i.into()),
        Item::Uint(i) => Some(i.into()),
        Item::Float(f) => Number::from_f64(f),
        Item::Bytes(text) => std::str::from_utf8(text).ok().and_then(Number::parse),
        _ => None,
    };
    number.ok_or_else(|| CodecError::new("number is required"))
}

fn read_unknown(code: i8, body: &[u8], ty: &Type) -> Result<Value, CodecError> {
    if body.len() <= 1 {
        return Ok(Value::unknown(ty.clone()));
    }
    if code != REFINED {
        return Err(CodecError::new(format!("{code} is not an extension for unknown values")));
    }
    if body.len() > MAX_REFINEMENT {
        return Err(CodecError::new(format!(
            "what is known of an unknown value takes more than {MAX_REFINEMENT} bytes"
        )));
    }
    let mut input = Input(body);
    let Item::Map(len) = input.next()? else {
        return Err(CodecError::new("what is known of an unknown value must be a map"));
    };
    if *ty == Type::Dynamic {
        return Ok(Value::unknown(Type::Dynamic));
    }
    let mut known = Refinement::default();
    for _ in 0..len {
        let misfit = || CodecError::new(format!("this cannot be said of an unknown {}", ty.friendly_name()));
        let key = match input.next()? {
            Item::Int(key) => key as u64,
            Item::Uint(key) => key,
            _ => return Err(CodecError::new("what is known of an unknown value must have integers as keys")),
        };
        match (key, input.next()?, ty) {
            (key::NULLNESS, Item::Bool(true), _) => return Ok(Value::Null(ty.clone())),
            (key::NULLNESS, Item::Bool(false), _) => known.not_null = true,
            (key::PREFIX, Item::Bytes(prefix), Type::String) => {
                known.prefix = Some(nfc(std::str::from_utf8(prefix).map_err(|_| misfit())?));
            }
            (key::MIN | key::MAX, Item::Array(2), Type::Number) => {
                let bound = read_number(input.next()?)?;
                let Item::Bool(inclusive) = input.next()? else { return Err(misfit()) };
                *(if key == key::MIN { &mut known.min } else { &mut known.max }) = Some((bound, inclusive));
            }
            (
                key::MIN_LENGTH | key::MAX_LENGTH,
                Item::Int(bound @ 0..),
                Type::List(_) | Type::Set(_) | Type::Map(_),
            ) => {
                let bound = Some(bound as u64);
                *(if key == key::MIN_LENGTH { &mut known.min_len } else { &mut known.max_len }) = bound;
            }
            (key::NULLNESS..=key::MAX_LENGTH, ..) => return Err(misfit()),
            // Keys of the future.
            (_, item, _) => skip(&mut input, item, 0)?,
        }
    }
    Ok(Value::refined(ty.clone(), known))
}

/// Skips what an item contains.
fn skip(input: &mut Input<'_>, item: Item<'_>, depth: usize) -> Result<(), CodecError> {
    let parts = match item {
        _ if depth > MAX_DEPTH => return Err(CodecError::too_deep()),
        Item::Array(len) => len,
        Item::Map(len) => len * 2,
        _ => 0,
    };
    for _ in 0..parts {
        let part = input.next()?;
        skip(input, part, depth + 1)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;

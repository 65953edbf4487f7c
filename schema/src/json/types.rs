//! Types as JSON, the form used in provider schemas, state, plans and the plugin protocol: `"string"`,
//! `["list","string"]`, `["object",{"a":"number"}]`, and `"dynamic"` for any type.

use super::read::{Kind, Reader};
use super::write_string;
use crate::codec::{CodecError, MAX_DEPTH};
use crate::types::Type;

/// Appends a type as JSON, without white space.
pub fn write_type(ty: &Type, out: &mut String) {
    let (kind, element) = match ty {
        Type::Bool => return out.push_str("\"bool\""),
        Type::Number => return out.push_str("\"number\""),
        Type::String => return out.push_str("\"string\""),
        Type::Dynamic => return out.push_str("\"dynamic\""),
        Type::Tuple(elements) => {
            out.push_str("[\"tuple\",[");
            for (i, element) in elements.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_type(element, out);
            }
            return out.push_str("]]");
        }
        Type::Object(attributes) => {
            out.push_str("[\"object\",{");
            for (i, (name, ty)) in attributes.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_string(name, out);
                out.push(':');
                write_type(ty, out);
            }
            return out.push_str("}]");
        }
        Type::List(element) => ("[\"list\",", element),
        Type::Set(element) => ("[\"set\",", element),
        Type::Map(element) => ("[\"map\",", element),
    };
    out.push_str(kind);
    write_type(element, out);
    out.push(']');
}

/// A type as JSON.
pub fn type_to_json(ty: &Type) -> String {
    let mut out = String::new();
    write_type(ty, &mut out);
    out
}

/// Reads a type. The names of optional attributes, which object types may have as a third element, are ignored.
pub fn type_from_json(text: impl AsRef<[u8]>) -> Result<Type, CodecError> {
    let mut reader = Reader::new(text.as_ref());
    let ty = read_type(&mut reader, 0)?;
    reader.end()?;
    Ok(ty)
}

pub(super) fn read_type(reader: &mut Reader<'_>, depth: usize) -> Result<Type, CodecError> {
    if depth > MAX_DEPTH {
        return Err(CodecError::too_deep());
    }
    match reader.kind()? {
        Kind::String => match &*reader.string()? {
            "bool" => Ok(Type::Bool),
            "number" => Ok(Type::Number),
            "string" => Ok(Type::String),
            "dynamic" => Ok(Type::Dynamic),
            name => Err(reader.error(format_args!("there is no type named {name:?}"))),
        },
        Kind::Array => {
            reader.array()?;
            reader.element(true)?;
            let kind = reader.string()?;
            if !reader.element(false)? {
                return Err(reader.error("a type description of two elements is required"));
            }
            let ty = match &*kind {
                "list" => Type::list(read_type(reader, depth + 1)?),
                "set" => Type::set(read_type(reader, depth + 1)?),
                "map" => Type::map(read_type(reader, depth + 1)?),
                "tuple" => Type::tuple(read_elements(reader, depth)?),
                "object" => Type::object(read_attributes(reader, depth)?),
                name => return Err(reader.error(format_args!("there is no kind of type named {name:?}"))),
            };
            if reader.element(false)? {
                reader.skip(depth)?;
                if reader.element(false)? {
                    return Err(reader.error("a type description of two elements is required"));
                }
            }
            Ok(ty)
        }
        _ => Err(reader.error("a type is a string or an array")),
    }
}

fn read_elements(reader: &mut Reader<'_>, depth: usize) -> Result<Vec<Type>, CodecError> {
    let mut elements = Vec::new();
    reader.array()?;
    while reader.element(elements.is_empty())? {
        elements.push(read_type(reader, depth + 1)?);
    }
    Ok(elements)
}

fn read_attributes(reader: &mut Reader<'_>, depth: usize) -> Result<Vec<(String, Type)>, CodecError> {
    let mut attributes = Vec::new();
    reader.object()?;
    while let Some(name) = reader.key(attributes.is_empty())? {
        attributes.push((name.into_owned(), read_type(reader, depth + 1)?));
    }
    Ok(attributes)
}

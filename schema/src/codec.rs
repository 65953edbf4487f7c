//! What the msgpack and JSON codecs have in common: their error, which says where in the value it happened, and limits
//! on what they accept from outside.

use crate::path::{Path, Step};
use crate::types::Type;
use crate::value::Value;
use std::fmt;

/// How deep values and types may be nested. Terraform has a limit in JSON only, of 10,000; code that walks values
/// recurses, so ours is what fits on the stack of any thread.
pub(crate) const MAX_DEPTH: usize = 256;

/// The element type of a collection that was decoded: what the elements have in common where the type asked for leaves
/// it open.
pub(crate) fn element_type<'a>(declared: &Type, mut items: impl Iterator<Item = &'a Value>) -> Type {
    if !declared.has_dynamic() {
        return declared.clone();
    }
    match items.next().map(Value::ty) {
        Some(first) if items.all(|v| v.ty() == first) => first,
        _ => declared.clone(),
    }
}

/// A value that cannot be encoded or decoded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CodecError {
    /// The part of the value that is at fault.
    pub path: Path,
    pub message: String,
}

impl CodecError {
    pub(crate) fn new(message: impl Into<String>) -> CodecError {
        CodecError { path: Path::root(), message: message.into() }
    }

    /// The same error seen from one level up, where `step` leads to what failed.
    pub(crate) fn at(mut self, step: Step) -> CodecError {
        self.path.0.insert(0, step);
        self
    }

    /// For a value that is not of the type asked for.
    pub(crate) fn mismatch(value: &Value, ty: &Type) -> CodecError {
        CodecError::new(format!("{} is required here, not {}", ty.friendly_name(), value.ty().friendly_name()))
    }

    pub(crate) fn marked() -> CodecError {
        CodecError::new("a sensitive or ephemeral value cannot be written as it is")
    }

    pub(crate) fn too_deep() -> CodecError {
        CodecError::new(format!("nested deeper than {MAX_DEPTH} levels"))
    }
}

impl fmt::Display for CodecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_root() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for CodecError {}

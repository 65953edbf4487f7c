//! Between stored objects and values: attributes of the state decoded with the schema (upgraded by the provider where
//! they are of another version), and values encoded for the state.

use crate::addr::{ConfigResource, ResourceInstance};
use crate::diag::{Diagnostic, Diagnostics};
use crate::engine::objects;
use crate::plugin::{Private, Provider};
use crate::state::{Attributes, ObjectState, ObjectStatus};
use gpuform_schema::json::{self, ExtraAttributes};
use gpuform_schema::schema::Schema;
use gpuform_schema::{Marks, Path, Type, Value};
use std::sync::Arc;

/// A resource type's schema with what is derived from it once.
#[derive(Clone)]
pub struct TypeInfo {
    pub name: Arc<str>,
    pub schema: Arc<Schema>,
    pub ty: Type,
    has_sensitive: bool,
    has_write_only: bool,
}

impl TypeInfo {
    pub fn new(name: Arc<str>, schema: Arc<Schema>) -> TypeInfo {
        let ty = schema.block.implied_type();
        let (has_sensitive, has_write_only) =
            (objects::has_sensitive(&schema.block), objects::has_write_only(&schema.block));
        TypeInfo { name, schema, ty, has_sensitive, has_write_only }
    }

    /// Marks what the schema calls sensitive, and the parts at `paths`.
    pub fn mark(&self, value: &Value, paths: &[Path]) -> Value {
        if !self.has_sensitive && paths.is_empty() {
            return value.clone();
        }
        let schema = objects::sensitive_paths(&self.schema.block, value);
        let all: Vec<(Path, Marks)> = schema.iter().chain(paths).map(|p| (p.clone(), Marks::SENSITIVE)).collect();
        value.mark_paths(&all)
    }

    /// Write-only attributes are never kept.
    pub fn without_write_only(&self, value: &Value) -> Value {
        if self.has_write_only { objects::without_write_only(&self.schema.block, value) } else { value.clone() }
    }
}

/// The attributes of a stored object, without marks.
///
/// # Errors
/// When they do not fit the schema and the provider cannot upgrade them.
pub async fn decode(
    provider: &dyn Provider,
    info: &TypeInfo,
    addr: &ResourceInstance,
    object: &ObjectState,
) -> Result<Value, Diagnostics> {
    let version = i64::try_from(object.schema_version).unwrap_or(i64::MAX);
    if version > info.schema.version {
        return Err(Diagnostic::error(
            "Resource instance managed by newer provider version",
            format!(
                "The stored object of {addr} follows schema version {version} of its type, but the installed provider knows \
                 only version {}. Install the provider version that wrote it, or a newer one.",
                info.schema.version
            ),
        )
        .address(addr)
        .into());
    }
    if version == info.schema.version
        && let Attributes::Json(text) = &object.attributes
        && let Ok(v) = json::decode(text.as_bytes(), &info.ty, ExtraAttributes::Refuse)
    {
        return Ok(v);
    }
    let (value, diags) = match &object.attributes {
        Attributes::Json(text) => provider.upgrade_resource_state(&info.name, version, text).await,
        Attributes::Flat(flat) => provider.upgrade_flat_state(&info.name, version, flat).await,
    };
    match value {
        Some(v) if !diags.has_errors() => Ok(v),
        _ => Err(diags.into_iter().map(|d| if d.address.is_none() { d.address(addr) } else { d }).collect()),
    }
}

/// What a new stored object needs besides its value.
pub struct Keep {
    pub private: Private,
    pub status: ObjectStatus,
    pub dependencies: Arc<[ConfigResource]>,
    pub create_before_destroy: bool,
}

/// Encodes an object for the state. Unknown parts are stored as null; sensitive marks become paths.
///
/// # Errors
/// When the value does not have the schema's type.
pub fn encode(info: &TypeInfo, value: &Value, keep: Keep) -> Result<ObjectState, Diagnostic> {
    let (plain, marks) = value.unmark_with_paths();
    let plain = objects::unknown_as_null(&plain);
    let mut text = String::new();
    json::encode(&plain, &info.ty, &mut text).map_err(|e| {
        Diagnostic::error(
            "Object cannot be stored",
            format!("The provider gave an object of type {} that does not follow its own schema: {e}.", info.name),
        )
    })?;
    let mut object = ObjectState::new(u64::try_from(info.schema.version).unwrap_or(0), text);
    object.sensitive_paths = marks.into_iter().filter(|(_, m)| m.contains(Marks::SENSITIVE)).map(|(p, _)| p).collect();
    object.private = keep.private;
    object.status = keep.status;
    object.dependencies = keep.dependencies;
    object.create_before_destroy = keep.create_before_destroy;
    Ok(object)
}

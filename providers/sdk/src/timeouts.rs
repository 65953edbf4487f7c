//! The `timeouts` block of a resource: how long each operation may take. The effective time of an operation is given by
//! [`crate::Context::timeout`], which retries and waits use by default.

use crate::attr::Attr;
use crate::codec::AttrValue;
use crate::context::Operation;
use crate::model::{Attribute, Field, Kind, NestedBlock, Nesting, Object};
use gpuform_schema::types::Type;
use gpuform_schema::value::Value;
use std::time::Duration;

/// What the user wrote in the `timeouts` block: durations such as `30s`, `10m`, `1h30m`.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Timeouts {
    present: bool,
    create: Attr<String>,
    read: Attr<String>,
    update: Attr<String>,
    delete: Attr<String>,
}

/// The time for an operation without a default of its own.
pub(crate) const DEFAULT: Duration = Duration::from_secs(20 * 60);

const NAMES: [&str; 4] = ["create", "read", "update", "delete"];

impl Timeouts {
    /// From a value of the block; anything unexpected counts as not written.
    pub fn decode(value: &Value) -> Timeouts {
        let part = |name| value.get(name).and_then(|v| Attr::<String>::decode(v).ok()).unwrap_or_default();
        Timeouts {
            present: matches!(value.unmark().0, Value::Object(_)),
            create: part("create"),
            read: part("read"),
            update: part("update"),
            delete: part("delete"),
        }
    }

    /// A value of the block with the attributes for these operations, which are in the order of their names.
    pub fn encode(&self, operations: &[&'static str]) -> Value {
        if !self.present {
            return Value::Null(Type::object(operations.iter().map(|name| (*name, Type::String))));
        }
        let attribute = |name: &&'static str| match *name {
            "create" => &self.create,
            "read" => &self.read,
            "update" => &self.update,
            _ => &self.delete,
        };
        Value::object(operations.iter().map(|name| (*name, AttrValue::encode(attribute(name)))))
    }
}

/// The description of a `timeouts` field; the seconds are the defaults for create, read, update and delete, absent
/// where the block has no such attribute. Called by the derive macro.
pub fn field(name: &'static str, description: &'static str, seconds: [Option<u64>; 4]) -> Field {
    let mut fields: Vec<Field> =
        NAMES.into_iter().zip(seconds).filter_map(|(name, s)| s.map(|s| attribute(name, s))).collect();
    fields.sort_by_key(|f| f.name);
    // One description per resource type, kept for the life of the process as all others are.
    let object: &'static Object = Box::leak(Box::new(Object::of(description, fields)));
    let block =
        NestedBlock { nesting: Nesting::Single, object, min: 0, max: 1, computed: false, timeouts: Some(seconds) };
    Field::plain(name, description, Kind::Block(block))
}

fn attribute(name: &'static str, default_seconds: u64) -> Field {
    let description: &'static str =
        Box::leak(format!("How long {name} may take; by default {}.", render(default_seconds)).into_boxed_str());
    let valid = crate::validate::check_str(|s| match parse(s) {
        Some(_) => Ok(()),
        None => Err(format!("{s:?} is not a duration such as \"30s\", \"10m\" or \"1h30m\".")),
    });
    let attribute = Attribute {
        ty: Type::String,
        inner: None,
        nested: false,
        required: false,
        optional: true,
        computed: false,
        sensitive: false,
        write_only: false,
        default: None,
        suppress: None,
        validators: vec![valid],
        recompute_on: &[],
    };
    Field::plain(name, description, Kind::Attribute(attribute))
}

/// The time for an operation on an object: as configured, or the resource's default.
pub(crate) fn effective(object: &Object, value: &Value, operation: Operation) -> Duration {
    let name = operation.name();
    let declared = object.fields.iter().find_map(|f| match &f.kind {
        Kind::Block(NestedBlock { timeouts: Some(seconds), .. }) => Some((f.name, seconds)),
        _ => None,
    });
    let Some((field, seconds)) = declared else { return DEFAULT };
    let configured = value.get(field).and_then(|block| block.get(name)).and_then(Value::as_str).and_then(parse);
    let default = NAMES.iter().position(|n| *n == name).and_then(|i| seconds.get(i).copied().flatten());
    configured.or(default.map(Duration::from_secs)).unwrap_or(DEFAULT)
}

/// A duration in the notation of Go: `1h30m`, `90s`, `1.5h`, `250ms`.
pub(crate) fn parse(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut total = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at(digits);
        let units = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at(units);
        let seconds = match unit {
            "h" => 3600.0,
            "m" => 60.0,
            "s" => 1.0,
            "ms" => 1e-3,
            _ => return None,
        };
        total += number.parse::<f64>().ok()? * seconds;
        rest = after;
    }
    (!text.is_empty()).then_some(total).and_then(|s| Duration::try_from_secs_f64(s).ok())
}

fn render(seconds: u64) -> String {
    match (seconds / 60, seconds % 60) {
        (0, s) => format!("{s}s"),
        (m, 0) if m % 60 == 0 => format!("{}h", m / 60),
        (m, 0) => format!("{m}m"),
        (m, s) => format!("{m}m{s}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_reads_them() {
        assert_eq!(parse("1h30m"), Some(Duration::from_secs(5400)));
        assert_eq!(parse("1.5h"), Some(Duration::from_secs(5400)));
        assert_eq!(parse("250ms"), Some(Duration::from_millis(250)));
        for bad in ["", "10", "m", "10x", "1h30", "-5m"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}

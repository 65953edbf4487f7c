//! The resource type `terraform_data`: it stores a value and follows the life cycle of others. No input or output; plan
//! and apply of one object cost a few allocations.

use super::MoveRequest;
use crate::diag::{Diagnostic, Diagnostics, Failure, Result};
use gpuform_schema::json::{self, ExtraAttributes};
use gpuform_schema::schema::{Attribute, AttributeType, Block, Description, Schema};
use gpuform_schema::{Path, Str, Type, Value};
use std::sync::{Arc, LazyLock};

pub const TYPE_NAME: &str = "terraform_data";

/// The attributes, sorted by name: shared by all objects.
static NAMES: LazyLock<Arc<[Str]>> =
    LazyLock::new(|| ["id", "input", "output", "triggers_replace"].map(Str::from).into());

static TYPE: LazyLock<Type> = LazyLock::new(|| schema().block.implied_type());

/// What is planned for a new object.
static UNKNOWN_ID: LazyLock<Value> = LazyLock::new(|| Value::unknown_not_null(Type::String));
static UNKNOWN_STRING: LazyLock<Value> = LazyLock::new(|| Value::unknown(Type::String));

/// An unknown value of a type: most are strings, and share one.
fn unknown(ty: Type) -> Value {
    if ty == Type::String { UNKNOWN_STRING.clone() } else { Value::unknown(ty) }
}

/// An object of the type, taken apart.
struct Object {
    id: Value,
    input: Value,
    output: Value,
    triggers_replace: Value,
}

impl Object {
    /// `None` for null.
    fn take(value: &Value) -> Option<Object> {
        let Value::Object(object) = value else { return None };
        let get = |name| object.get(name).cloned().unwrap_or(Value::null());
        Some(Object {
            id: get("id"),
            input: get("input"),
            output: get("output"),
            triggers_replace: get("triggers_replace"),
        })
    }

    fn put(self) -> Value {
        Value::object_with_names(NAMES.clone(), vec![self.id, self.input, self.output, self.triggers_replace])
    }
}

pub fn schema() -> Schema {
    let attribute = |ty: Type, optional: bool| Attribute {
        ty: AttributeType::Value(ty),
        description: Description::default(),
        required: false,
        optional,
        computed: !optional,
        sensitive: false,
        write_only: false,
        deprecated: false,
    };
    let attributes = [
        ("id".into(), attribute(Type::String, false)),
        ("input".into(), attribute(Type::Dynamic, true)),
        ("output".into(), attribute(Type::Dynamic, false)),
        ("triggers_replace".into(), attribute(Type::Dynamic, true)),
    ];
    Schema { version: 0, block: Block { attributes: attributes.into(), ..Block::default() } }
}

/// What a configuration may not set.
pub fn validate(config: &Value) -> Diagnostics {
    let given = |name: &&str| config.get(name).is_some_and(|v| !v.is_null());
    let wrong = ["id", "output"].into_iter().filter(given);
    wrong
        .map(|name| {
            let detail = "The value comes from gpuform; a configuration cannot set it.";
            let mut d = Diagnostic::error(format!("\"{name}\" attribute is read-only"), detail);
            d.attribute = Some(Path::attrs([name]));
            d
        })
        .collect()
}

/// Null of any type is the same here: the type of a null is not stored.
fn differ(a: &Value, b: &Value) -> bool {
    a != b && !(a.is_null() && b.is_null())
}

/// The planned object, and what forces its replacement.
pub fn plan(prior: &Value, proposed: Value) -> (Value, Vec<Path>) {
    let Some(mut planned) = Object::take(&proposed) else { return (proposed, Vec::new()) };
    let mut requires_replace = Vec::new();
    match Object::take(prior) {
        None => {
            planned.id = UNKNOWN_ID.clone();
            let input = &planned.input;
            planned.output = if input.is_null() { input.clone() } else { unknown(input.ty()) };
        }
        Some(prior) => {
            planned.id = prior.id;
            planned.output =
                if differ(&prior.input, &planned.input) { unknown(planned.input.ty()) } else { prior.output };
            if differ(&prior.triggers_replace, &planned.triggers_replace) {
                requires_replace.push(Path::attrs(["triggers_replace"]));
            }
        }
    }
    (planned.put(), requires_replace)
}

/// The object as it is after the plan was carried out.
pub fn apply(planned: Value) -> Value {
    let Some(mut object) = Object::take(&planned) else { return planned };
    if !object.id.is_known() {
        object.id = Value::String(uuid::Uuid::new_v4().to_string().into());
    }
    if !object.output.is_known() {
        object.output = object.input.clone();
    }
    object.put()
}

pub fn imported(id: &str) -> Value {
    let null = Value::null;
    Object { id: Value::string(id), input: null(), output: null(), triggers_replace: null() }.put()
}

/// Reads stored attributes.
///
/// # Errors
/// When they are not those of this type.
pub fn from_json(text: &str) -> Result<Value> {
    json::decode(text, &TYPE, ExtraAttributes::Ignore).map_err(|e| {
        let detail = format!("The stored attributes of a terraform_data object cannot be read: {e}.");
        Failure::from(Box::new(Diagnostic::error("Invalid resource state", detail)))
    })
}

/// Makes an object of a `null_resource`: its triggers become those of the object.
///
/// # Errors
/// For any other source.
pub fn moved(request: &MoveRequest<'_>) -> Result<Value> {
    if !request.source_provider_address.ends_with("/hashicorp/null") {
        return Err(Box::new(Diagnostic::error(
            "Unsupported source provider for move operation",
            "Only objects of the provider hashicorp/null can become terraform_data.",
        )));
    }
    if request.source_type_name != "null_resource" {
        return Err(Box::new(Diagnostic::error(
            "Unsupported source resource type for move operation",
            "Only objects of the resource type null_resource can become terraform_data.",
        )));
    }
    let source = Type::object([("id", Type::String), ("triggers", Type::map(Type::String))]);
    let source = json::decode(request.source_state_json, &source, ExtraAttributes::Refuse).map_err(|e| {
        let detail = format!("The stored attributes of the null_resource object cannot be read: {e}.");
        Box::new(Diagnostic::error("Invalid source state for move operation", detail))
    })?;
    let part = |name| source.get(name).cloned().unwrap_or(Value::null());
    // An object, as what is written in braces in a configuration is one too, so that nothing seems to have changed.
    let triggers = match part("triggers") {
        Value::Map(map) => Value::object(map.entries.iter().cloned()),
        _ => Value::null(),
    };
    Ok(Object { id: part("id"), input: Value::null(), output: Value::null(), triggers_replace: triggers }.put())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(id: &str, input: Value, output: Value, triggers_replace: Value) -> Value {
        Object { id: id.into(), input, output, triggers_replace }.put()
    }

    fn config(input: Value, triggers_replace: Value) -> Value {
        Object { id: Value::null(), input, output: Value::null(), triggers_replace }.put()
    }

    #[test]
    fn a_new_object_gets_an_id_and_puts_its_input_out() {
        let (planned, replace) = plan(&Value::Null(TYPE.clone()), config("x".into(), Value::null()));
        let unknown_id = Value::unknown_not_null(Type::String);
        assert_eq!(planned.get("id"), Some(&unknown_id));
        assert_eq!(planned.get("output"), Some(&Value::unknown(Type::String)));
        assert!(replace.is_empty());
        let applied = apply(planned);
        assert_eq!(applied.get("id").unwrap().as_str().unwrap().len(), 36);
        assert_eq!(applied.get("output"), Some(&"x".into()));
    }

    #[test]
    fn without_input_there_is_no_output() {
        let (planned, _) = plan(&Value::Null(TYPE.clone()), config(Value::null(), "t".into()));
        assert!(planned.get("output").unwrap().is_null());
    }

    #[test]
    fn a_changed_input_changes_the_output_in_place() {
        let prior = object("i", "x".into(), "x".into(), Value::null());
        let proposed = object("i", Value::tuple(vec!["x".into()]), "x".into(), Value::null());
        let (planned, replace) = plan(&prior, proposed);
        assert_eq!(planned.get("id"), Some(&"i".into()));
        assert_eq!(planned.get("output"), Some(&Value::unknown(Type::tuple([Type::String]))));
        assert!(replace.is_empty());
        assert_eq!(plan(&prior, prior.clone()), (prior.clone(), Vec::new()));
    }

    #[test]
    fn changed_or_unknown_triggers_force_replacement() {
        let prior = object("i", Value::null(), Value::null(), "a".into());
        for triggers in ["b".into(), Value::unknown(Type::String), Value::null()] {
            let (_, replace) = plan(&prior, object("i", Value::null(), Value::null(), triggers));
            assert_eq!(replace, [Path::attrs(["triggers_replace"])]);
        }
        let same = object("i", Value::Null(Type::String), Value::null(), "a".into());
        assert!(plan(&prior, same).1.is_empty());
    }

    #[test]
    fn a_null_resource_can_be_moved_with_its_triggers() {
        let mut request = MoveRequest {
            source_provider_address: "registry.terraform.io/hashicorp/null".into(),
            source_type_name: "null_resource".into(),
            source_schema_version: 0,
            source_state_json: r#"{"id":"7","triggers":{"a":"b"}}"#,
            source_private: Vec::new(),
            target_type_name: TYPE_NAME.into(),
        };
        let triggers = Value::object([("a", Value::from("b"))]);
        assert_eq!(moved(&request), Ok(object("7", Value::null(), Value::null(), triggers)));
        request.source_type_name = "null_data_source".into();
        assert!(moved(&request).is_err());
        request.source_provider_address = "registry.terraform.io/other/null".into();
        assert!(moved(&request).is_err());
    }
}

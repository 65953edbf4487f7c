//! The data source `terraform_remote_state`: the root outputs of another configuration, read through its backend.

use crate::diag::{Diagnostic, Diagnostics, Failure, Result};
use crate::lang::convert::convert;
use async_trait::async_trait;
use gpuform_schema::schema::{Attribute, AttributeType, Block, Description, NestedBlock, Nesting, Schema};
use gpuform_schema::{Path, Str, Type, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

pub const TYPE_NAME: &str = "terraform_remote_state";

/// Access to states of other configurations, which the backends provide.
#[async_trait]
pub trait RemoteStates: Send + Sync {
    /// What a backend's configuration may hold; `None` if there is no backend of that type.
    fn backend_schema(&self, backend: &str) -> Option<Arc<Block>>;

    /// The root outputs of the state in a workspace of a backend; `None` if there is no state.
    /// `config` is of the type that the backend's schema implies.
    ///
    /// # Errors
    /// What the backend has against its configuration, or why the state cannot be read.
    async fn outputs(
        &self,
        backend: &str,
        config: Value,
        workspace: &str,
    ) -> std::result::Result<Option<BTreeMap<Str, Value>>, Diagnostics>;
}

pub fn schema() -> Schema {
    let attribute = |ty: Type, text: &str| Attribute {
        ty: AttributeType::Value(ty),
        description: Description { text: text.to_owned(), markdown: true },
        required: false,
        optional: true,
        computed: false,
        sensitive: false,
        write_only: false,
        deprecated: false,
    };
    let backend = attribute(Type::String, "The type of the backend that holds the state, e.g. `s3` or `http`.");
    let backend = Attribute { required: true, optional: false, ..backend };
    let config = attribute(
        Type::Dynamic,
        "The configuration of the backend: an object with the arguments that its `backend` block would have.",
    );
    let defaults = attribute(Type::Dynamic, "Values for outputs that the state does not have: an object.");
    let outputs = attribute(Type::Dynamic, "The root outputs in the state: an object.");
    let outputs = Attribute { optional: false, computed: true, ..outputs };
    let workspace = attribute(Type::String, "The workspace whose state is read; `default` unless given.");
    let attributes = [
        ("backend".into(), backend),
        ("config".into(), config),
        ("defaults".into(), defaults),
        ("outputs".into(), outputs),
        ("workspace".into(), workspace),
    ];
    Schema { version: 0, block: Block { attributes: attributes.into(), ..Block::default() } }
}

/// What can be said about a configuration that may not be wholly known yet.
pub fn validate(states: &dyn RemoteStates, config: &Value) -> Diagnostics {
    prepare(states, config).err().unwrap_or_default()
}

/// The data source's object with its outputs.
///
/// # Errors
/// A wrong configuration, a state that is not there or cannot be read.
pub async fn read(states: &dyn RemoteStates, config: &Value) -> std::result::Result<Value, Diagnostics> {
    let prepared = prepare(states, config)?;
    let given = config.get("workspace").and_then(Value::as_str);
    let Some((backend, backend_config)) = prepared else {
        return Err(Diagnostic::error("Invalid backend configuration", "The backend is not known.").into());
    };
    let found = states.outputs(backend, backend_config, given.unwrap_or("default")).await?;
    let Some(found) = found else {
        let detail = "There is no state in the given workspace of the given backend.";
        let failure = Diagnostic::error("Unable to find remote state", detail);
        return Err(if given.is_some() { at("workspace", failure) } else { failure }.into());
    };
    let mut outputs: BTreeMap<Str, Value> = BTreeMap::new();
    if let Some(defaults) = config.get("defaults").and_then(Value::entries) {
        outputs.extend(defaults.map(|(name, value)| (name.clone(), value.clone())));
    }
    outputs.extend(found);
    let outputs = Value::object(outputs);
    let attributes = config.entries().into_iter().flatten();
    let attributes = attributes.map(|(n, v)| (n.clone(), if &**n == "outputs" { outputs.clone() } else { v.clone() }));
    Ok(Value::object(attributes))
}

fn at(attribute: &str, mut diagnostic: Diagnostic) -> Diagnostic {
    diagnostic.attribute = Some(Path::attrs([attribute]));
    diagnostic
}

/// The backend's type and its configuration in the backend's own type; `None` while either is not known.
fn prepare<'a>(
    states: &dyn RemoteStates,
    config: &'a Value,
) -> std::result::Result<Option<(&'a str, Value)>, Diagnostics> {
    let mut diagnostics = Diagnostics::new();
    if let Some(defaults) = config.get("defaults")
        && defaults.is_known()
        && !defaults.is_null()
        && defaults.entries().is_none()
    {
        let failure = Diagnostic::error("Invalid default values", "Defaults must be given in an object value.");
        diagnostics.push(at("defaults", failure));
    }
    let Some(backend) = config.get("backend").and_then(Value::as_str) else {
        return if diagnostics.has_errors() { Err(diagnostics) } else { Ok(None) };
    };
    let prepared = match states.backend_schema(backend) {
        None => {
            // The name may be a secret: the place that the message comes with shows it if it is not.
            let detail = "There is no backend type of the name given here.";
            Err(Box::new(at("backend", Diagnostic::error("Invalid backend configuration", detail))))
        }
        Some(schema) => backend_config(backend, &schema, config.get("config").unwrap_or(&Value::null())),
    };
    let prepared = diagnostics.take(prepared);
    if diagnostics.has_errors() { Err(diagnostics) } else { Ok(prepared.flatten().map(|c| (backend, c))) }
}

fn backend_config(backend: &str, schema: &Block, config: &Value) -> Result<Option<Value>> {
    if !config.is_known() {
        return Ok(None);
    }
    let fitted = if config.is_null() { fit_block(schema, &Value::empty_object()) } else { fit_block(schema, config) };
    match fitted {
        Ok(config) if config.is_wholly_known() => Ok(Some(config)),
        Ok(_) => Ok(None),
        Err(why) => {
            let detail = format!("The given configuration is not valid for backend {backend:?}: {why}.");
            Err(Failure::from(Box::new(at("config", Diagnostic::error("Invalid backend configuration", detail)))))
        }
    }
}

/// Brings an object to the form that a block of the schema has.
fn fit_block(schema: &Block, object: &Value) -> std::result::Result<Value, String> {
    if !object.is_known() {
        return Ok(Value::unknown(schema.implied_type()));
    }
    let given = object.entries().ok_or("an object is required")?;
    for (name, _) in given {
        if !schema.attributes.contains_key(name) && !schema.blocks.contains_key(name) {
            return Err(format!("unexpected attribute {name:?}"));
        }
    }
    let given = |name: &str| object.get(name).filter(|v| !v.is_null());
    let attributes = schema.attributes.iter().map(|(name, attribute)| {
        let ty = attribute.value_type();
        let value = match given(name) {
            None if attribute.required => return Err(format!("attribute {name:?} is required")),
            None => Value::Null(ty),
            Some(value) => convert(value, &ty).map_err(|e| format!(".{name}: {e}"))?,
        };
        Ok((name.clone(), value))
    });
    let blocks = schema.blocks.iter().map(|(name, block)| {
        let value = match given(name) {
            None => block.empty_value(),
            Some(value) => fit_blocks(block, value).map_err(|e| format!(".{name}: {e}"))?,
        };
        Ok((name.clone(), value))
    });
    Ok(Value::object(attributes.chain(blocks).collect::<std::result::Result<Vec<_>, String>>()?))
}

/// Brings the value for all nested blocks of one type to the form that they have.
fn fit_blocks(block: &NestedBlock, value: &Value) -> std::result::Result<Value, String> {
    let element = block.block.implied_type();
    let all = || -> std::result::Result<Vec<Value>, String> {
        let items = value.items().ok_or("a list is required")?;
        items.iter().map(|v| fit_block(&block.block, v)).collect()
    };
    match block.nesting {
        Nesting::Single | Nesting::Group => fit_block(&block.block, value),
        Nesting::List => Ok(Value::list(element, all()?)),
        Nesting::Set => Ok(Value::set(element, all()?)),
        Nesting::Map => {
            let entries = value.entries().ok_or("an object is required")?;
            let entries = entries.map(|(k, v)| Ok((k.clone(), fit_block(&block.block, v)?)));
            Ok(Value::map(element, entries.collect::<std::result::Result<Vec<_>, String>>()?))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct OneState;

    #[async_trait]
    impl RemoteStates for OneState {
        fn backend_schema(&self, backend: &str) -> Option<Arc<Block>> {
            let mut block = schema().block;
            block.attributes.retain(|name, _| &**name == "workspace" || &**name == "backend");
            (backend == "local").then(|| Arc::new(block))
        }

        async fn outputs(
            &self,
            _: &str,
            config: Value,
            workspace: &str,
        ) -> std::result::Result<Option<BTreeMap<Str, Value>>, Diagnostics> {
            let path = config.get("backend").cloned().unwrap();
            Ok((workspace == "default").then(|| [("path".into(), path), ("x".into(), Value::number(1))].into()))
        }
    }

    fn config(backend: &str, config: Value, defaults: Value, workspace: Value) -> Value {
        let outputs = Value::null();
        let backend = backend.into();
        Value::object([
            ("backend", backend),
            ("config", config),
            ("defaults", defaults),
            ("outputs", outputs),
            ("workspace", workspace),
        ])
    }

    fn object(name: &str, value: Value) -> Value {
        Value::object([(name, value)])
    }

    async fn outputs(config: Value) -> std::result::Result<Value, String> {
        match read(&OneState, &config).await {
            Ok(value) => Ok(value.get("outputs").unwrap().clone()),
            Err(d) => Err(d.iter().map(ToString::to_string).collect()),
        }
    }

    #[tokio::test]
    async fn outputs_come_from_the_state_and_from_defaults() {
        let defaults = Value::object([("x", Value::number(9)), ("y", Value::number(2))]);
        let found = outputs(config("local", object("backend", "p".into()), defaults, Value::null())).await;
        let expected = [("path", "p".into()), ("x", Value::number(1)), ("y", Value::number(2))];
        assert_eq!(found, Ok(Value::object(expected)));
    }

    #[tokio::test]
    async fn mistakes_are_explained() {
        let why = async |backend, backend_config, defaults: Value, workspace: Value| {
            outputs(config(backend, backend_config, defaults, workspace)).await.unwrap_err()
        };
        let null = Value::null;
        let good = || object("backend", "p".into());
        assert!(why("nope", null(), null(), null()).await.contains("no backend type of the name"));
        assert!(why("local", object("z", null()), null(), null()).await.contains("unexpected attribute \"z\""));
        assert!(why("local", null(), null(), null()).await.contains("attribute \"backend\" is required"));
        assert!(why("local", "x".into(), null(), null()).await.contains("an object is required"));
        assert!(why("local", good(), "x".into(), null()).await.contains("Defaults must be given in an object"));
        assert!(why("local", good(), null(), "other".into()).await.contains("Unable to find remote state"));
    }

    #[test]
    fn what_is_not_known_yet_is_not_judged() {
        let unknown = || Value::unknown(Type::Dynamic);
        assert!(validate(&OneState, &config("local", unknown(), unknown(), unknown())).is_empty());
        assert!(validate(&OneState, &config("local", object("z", unknown()), unknown(), unknown())).has_errors());
    }
}

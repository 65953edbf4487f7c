//! `fake_strange`: a resource type of the fake provider that breaks a rule of the protocol: the one that its `name` names.
//! The tests in `rules.rs` say what gpuform makes of it.

use crate::fake::attribute;
use gpuform_schema::json::{self, ExtraAttributes};
use gpuform_schema::proto::v6;
use gpuform_schema::schema::{Block, NestedBlock, Nesting, Schema};
use gpuform_schema::{Type, Value};
use std::sync::Arc;

pub const TYPE: &str = "fake_strange";

/// `id` and `kind` are the provider's, `note` anybody's, `name` the user's; blocks with a label and without.
pub fn schema() -> Arc<Schema> {
    let given = |optional, computed| {
        let mut a = attribute(Type::String);
        (a.optional, a.computed) = (optional, computed);
        a
    };
    let inner = Block { attributes: [("port".into(), given(true, false))].into(), ..Block::default() };
    let nested = |nesting| NestedBlock { nesting, block: inner.clone(), min_items: 0, max_items: 0 };
    let block = Block {
        attributes: [
            ("id".into(), given(false, true)),
            ("kind".into(), given(false, true)),
            ("name".into(), given(true, false)),
            ("note".into(), given(true, true)),
        ]
        .into(),
        blocks: [("rule".into(), nested(Nesting::Map)), ("step".into(), nested(Nesting::List))].into(),
        ..Block::default()
    };
    Arc::new(Schema { version: 0, block })
}

fn ty() -> Type {
    schema().block.implied_type()
}

fn read_value(value: Option<v6::DynamicValue>) -> Value {
    value.map_or(Value::Null(ty()), |v| v.decode(&ty()).unwrap())
}

fn write_value(value: &Value) -> Option<v6::DynamicValue> {
    Some(v6::DynamicValue::encode(value, &ty()).unwrap())
}

/// An object with another value for one attribute.
fn with(object: &Value, name: &str, value: impl Into<Value>) -> Value {
    let (value, entries) = (value.into(), object.entries().unwrap());
    Value::object(entries.map(|(n, v)| (n.clone(), if &**n == name { value.clone() } else { v.clone() })))
}

fn name_of(object: &Value) -> String {
    object.get("name").and_then(Value::as_str).unwrap_or_default().to_owned()
}

pub fn plan(q: v6::plan_resource_change::Request, legacy: bool) -> v6::plan_resource_change::Response {
    let (prior, config) = (read_value(q.prior_state), read_value(q.config));
    let mut planned = read_value(q.proposed_new_state);
    let unknown = || Value::unknown(Type::String);
    let note_known = config.get("note").is_some_and(Value::is_known);
    if prior.is_null() {
        planned = with(&with(&planned, "id", unknown()), "kind", "first");
        if planned.get("note").is_some_and(Value::is_null) {
            planned = with(&planned, "note", unknown());
        }
    }
    let planned = match &*name_of(&config) {
        "plan-other" => with(&planned, "name", "other"),
        "plan-null" => Value::Null(ty()),
        "plan-fewer" => {
            with(&planned, "step", Value::list(planned.get("step").unwrap().ty().element().unwrap().clone(), vec![]))
        }
        "replan-other" if note_known => with(&planned, "kind", "second"),
        _ => planned,
    };
    v6::plan_resource_change::Response {
        planned_state: write_value(&planned),
        legacy_type_system: legacy,
        ..Default::default()
    }
}

pub fn apply(q: v6::apply_resource_change::Request, legacy: bool) -> v6::apply_resource_change::Response {
    let planned = read_value(q.planned_state);
    let mut response = v6::apply_resource_change::Response { legacy_type_system: legacy, ..Default::default() };
    if planned.is_null() {
        response.new_state = write_value(&planned);
        return response;
    }
    let mut made = planned.clone();
    for (name, value) in [("id", "i-1"), ("note", "made")] {
        if !made.get(name).is_some_and(Value::is_known) {
            made = with(&made, name, value);
        }
    }
    let failure = || v6::Diagnostic {
        severity: v6::diagnostic::Severity::Error.into(),
        summary: "It did not work".into(),
        detail: String::new(),
        attribute: None,
    };
    let made = match &*name_of(&planned) {
        "apply-other" => with(&made, "name", "other"),
        "apply-null" => Value::Null(ty()),
        "apply-unknown" => with(&made, "note", Value::unknown(Type::String)),
        "apply-fails" => {
            response.diagnostics.push(failure());
            Value::Null(ty())
        }
        "apply-fails-late" => {
            response.diagnostics.push(failure());
            made
        }
        _ => made,
    };
    response.new_state = write_value(&made);
    response
}

pub fn read(q: v6::read_resource::Request) -> v6::read_resource::Response {
    let current = read_value(q.current_state);
    let now = match &*name_of(&current) {
        "read-unknown" => with(&current, "note", Value::unknown(Type::String)),
        _ => current,
    };
    v6::read_resource::Response { new_state: write_value(&now), ..Default::default() }
}

pub fn upgrade(q: v6::upgrade_resource_state::Request) -> v6::upgrade_resource_state::Response {
    let stored = json::decode(&q.raw_state.unwrap().json, &ty(), ExtraAttributes::Ignore).unwrap();
    v6::upgrade_resource_state::Response { upgraded_state: write_value(&stored), ..Default::default() }
}

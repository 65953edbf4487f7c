//! Values and types of outputs as JSON text.

use gpuform_schema::value::nfc;
use gpuform_schema::{Number, Type, Value};
use serde_json::Value as Json;

type Result<T> = std::result::Result<T, String>;

pub fn type_from_json(text: &str) -> Result<Type> {
    serde_json::from_str(text).map_err(|e| e.to_string()).and_then(|j| to_type(&j))
}

pub fn value_from_json(text: &str, ty: &Type) -> Result<Value> {
    serde_json::from_str(text).map_err(|e| e.to_string()).and_then(|j| to_value(&j, ty))
}

fn to_type(json: &Json) -> Result<Type> {
    let wrong = || Err(format!("{json} is not a type"));
    if let Some(name) = json.as_str() {
        return match name {
            "string" => Ok(Type::String),
            "number" => Ok(Type::Number),
            "bool" => Ok(Type::Bool),
            "dynamic" => Ok(Type::Dynamic),
            _ => wrong(),
        };
    }
    let Some([kind, inner, ..]) = json.as_array().map(Vec::as_slice) else { return wrong() };
    match (kind.as_str(), inner) {
        (Some("list"), t) => to_type(t).map(Type::list),
        (Some("set"), t) => to_type(t).map(Type::set),
        (Some("map"), t) => to_type(t).map(Type::map),
        (Some("tuple"), Json::Array(ts)) => ts.iter().map(to_type).collect::<Result<Vec<_>>>().map(Type::tuple),
        (Some("object"), Json::Object(attrs)) => {
            attrs.iter().map(|(n, t)| Ok((n.as_str(), to_type(t)?))).collect::<Result<Vec<_>>>().map(Type::object)
        }
        _ => wrong(),
    }
}

fn to_value(json: &Json, ty: &Type) -> Result<Value> {
    let items = |json: &[Json], ty: &Type| json.iter().map(|j| to_value(j, ty)).collect::<Result<Vec<_>>>();
    Ok(match (ty, json) {
        (Type::Dynamic, Json::Object(o)) => match (o.get("value"), o.get("type")) {
            (Some(value), Some(ty)) => to_value(value, &to_type(ty)?)?,
            _ => return Err("a value of dynamic type needs \"value\" and \"type\"".into()),
        },
        (_, Json::Null) => Value::Null(ty.clone()),
        (Type::String, Json::String(s)) => Value::String(nfc(s)),
        (Type::String, Json::Number(n)) => Value::string(n.to_string()),
        (Type::String | Type::Bool, Json::Bool(b)) if *ty == Type::String => Value::string(b.to_string()),
        (Type::Bool, Json::Bool(b)) => Value::Bool(*b),
        (Type::Number, Json::Number(n)) => {
            Value::Number(Number::parse(&n.to_string()).ok_or_else(|| format!("{n} is not a number"))?)
        }
        (Type::List(t), Json::Array(a)) => Value::list((**t).clone(), items(a, t)?),
        (Type::Set(t), Json::Array(a)) => Value::set((**t).clone(), items(a, t)?),
        (Type::Map(t), Json::Object(o)) => {
            Value::map((**t).clone(), o.iter().map(|(k, v)| Ok((nfc(k), to_value(v, t)?))).collect::<Result<Vec<_>>>()?)
        }
        (Type::Tuple(ts), Json::Array(a)) if ts.len() == a.len() => {
            Value::tuple(a.iter().zip(ts.iter()).map(|(j, t)| to_value(j, t)).collect::<Result<_>>()?)
        }
        (Type::Object(attrs), Json::Object(o)) => Value::object(
            attrs
                .iter()
                .map(|(n, t)| Ok((n.clone(), to_value(o.get(&**n).unwrap_or(&Json::Null), t)?)))
                .collect::<Result<Vec<_>>>()?,
        ),
        _ => return Err(format!("{ty} expected, not {json}")),
    })
}

pub fn type_to_json(ty: &Type) -> String {
    from_type(ty).to_string()
}

pub fn value_to_json(value: &Value) -> String {
    from_value(value).to_string()
}

fn from_type(ty: &Type) -> Json {
    let pair = |kind: &str, inner: Json| Json::Array(vec![kind.into(), inner]);
    match ty {
        Type::Bool => "bool".into(),
        Type::Number => "number".into(),
        Type::String => "string".into(),
        Type::Dynamic => "dynamic".into(),
        Type::List(t) => pair("list", from_type(t)),
        Type::Set(t) => pair("set", from_type(t)),
        Type::Map(t) => pair("map", from_type(t)),
        Type::Tuple(ts) => pair("tuple", ts.iter().map(from_type).collect()),
        Type::Object(o) => pair("object", o.iter().map(|(n, t)| (n.to_string(), from_type(t))).collect()),
    }
}

fn from_value(value: &Value) -> Json {
    match value.unmark().0 {
        Value::Bool(b) => (*b).into(),
        Value::Number(n) => serde_json::from_str(&n.to_string()).unwrap_or(Json::Null),
        Value::String(s) => (&**s).into(),
        Value::List(c) | Value::Set(c) => c.items.iter().map(from_value).collect(),
        Value::Tuple(t) => t.iter().map(from_value).collect(),
        Value::Map(m) => m.entries.iter().map(|(k, v)| (k.to_string(), from_value(v))).collect(),
        Value::Object(o) => o.iter().map(|(k, v)| (k.to_string(), from_value(v))).collect(),
        Value::Null(_) | Value::Unknown(_) | Value::Marked(_) => Json::Null,
    }
}

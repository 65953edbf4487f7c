//! When two values of an attribute mean the same: functions for `#[attr(suppress = …)]`.
//!
//! Terraform allows a planned value to be either the configured or the prior one, so a change that means nothing is
//! planned as the prior value; and a read that returns another spelling keeps the one in the state. Neither needs the
//! legacy flag. On create there is no prior value, so the state always begins with the user's spelling.

use gpuform_schema::Value;

/// Strings that differ in case only (ASCII).
pub fn case_insensitive(old: &Value, new: &Value) -> bool {
    strings(old, new).is_some_and(|(a, b)| a.eq_ignore_ascii_case(b))
}

/// JSON documents that differ in white space, key order or number spelling only.
pub fn json_equal(old: &Value, new: &Value) -> bool {
    let parse = |s: &str| serde_json::from_str::<serde_json::Value>(s).ok();
    strings(old, new).and_then(|(a, b)| Some(parse(a)? == parse(b)?)).unwrap_or(false)
}

/// Strings that differ in a final dot only, as DNS names do.
pub fn trailing_dot(old: &Value, new: &Value) -> bool {
    strings(old, new).is_some_and(|(a, b)| a.trim_end_matches('.') == b.trim_end_matches('.'))
}

/// Null, `""`, `0`, `false` and an empty collection count as the same, also deep within objects: state written by
/// providers that know no null.
pub fn zero_is_null(old: &Value, new: &Value) -> bool {
    old == new || (is_zero(old) && is_zero(new)) || same_parts(old, new)
}

fn same_parts(old: &Value, new: &Value) -> bool {
    match (old, new) {
        (Value::List(a), Value::List(b)) => {
            a.items.len() == b.items.len() && a.items.iter().zip(&b.items).all(|(a, b)| zero_is_null(a, b))
        }
        (Value::Set(a), Value::Set(b)) => {
            a.items.len() == b.items.len()
                && a.items.iter().all(|x| b.items.iter().any(|y| zero_is_null(x, y)))
                && b.items.iter().all(|x| a.items.iter().any(|y| zero_is_null(x, y)))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.names == b.names && a.values.iter().zip(&b.values).all(|(a, b)| zero_is_null(a, b))
        }
        _ => false,
    }
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null(_) => true,
        Value::Bool(b) => !b,
        Value::Number(n) => n.as_i64() == Some(0),
        Value::String(s) => s.is_empty(),
        Value::List(c) | Value::Set(c) => c.items.is_empty(),
        Value::Map(m) => m.entries.is_empty(),
        _ => false,
    }
}

fn strings<'a>(old: &'a Value, new: &'a Value) -> Option<(&'a str, &'a str)> {
    Some((old.as_str()?, new.as_str()?))
}

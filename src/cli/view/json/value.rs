//! The three forms in which documents show a value that may be partly unknown or sensitive: what is known of it, where
//! it is unknown, and where it is sensitive. The last two have the shape of the value with `true` for the parts meant;
//! attributes without such parts are left out, elements of lists are not, so that positions stay right.

use gpuform_schema::json::{encode_untyped, write_string};
use gpuform_schema::{Marks, Str, Type, Value};

/// Appends what is known of a value, marks or not. Unknown attributes are left out; unknown elements are null.
pub fn known(v: &Value, out: &mut String) {
    let (v, _) = v.unmark();
    match v {
        Value::List(_) | Value::Set(_) | Value::Tuple(_) => {
            out.push('[');
            for (i, item) in v.items().unwrap_or_default().iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                known(item, out);
            }
            out.push(']');
        }
        Value::Map(_) | Value::Object(_) => members(v, out, |v, out| {
            let shown = v.is_known();
            if shown {
                known(v, out);
            }
            shown
        }),
        Value::Unknown(_) | Value::Marked(_) => out.push_str("null"),
        scalar => {
            if encode_untyped(scalar, out).is_err() {
                out.push_str("null");
            }
        }
    }
}

/// Appends where a value is unknown.
pub fn unknown(v: &Value, out: &mut String) {
    if !unknown_shape(v, out) {
        out.push_str("false");
    }
}

/// Appends where a value is sensitive.
pub fn sensitive(v: &Value, out: &mut String) {
    if !sensitive_shape(v, out) {
        out.push_str("false");
    }
}

/// Writes the shape; false, and nothing is written, where it is plainly `false`.
fn unknown_shape(v: &Value, out: &mut String) -> bool {
    let (v, _) = v.unmark();
    match v {
        Value::Unknown(_) => out.push_str("true"),
        _ => return container(v, out, unknown_shape),
    }
    true
}

fn sensitive_shape(v: &Value, out: &mut String) -> bool {
    let (v, marks) = v.unmark();
    if marks.contains(Marks::SENSITIVE) {
        out.push_str("true");
        return true;
    }
    match v {
        Value::Unknown(u) => match &u.ty {
            Type::Bool | Type::Number | Type::String | Type::Dynamic => return false,
            Type::List(_) | Type::Set(_) | Type::Tuple(_) => out.push_str("[]"),
            Type::Map(_) | Type::Object(_) => out.push_str("{}"),
        },
        _ => return container(v, out, sensitive_shape),
    }
    true
}

/// The shape of a container; false for anything else.
fn container(v: &Value, out: &mut String, shape: fn(&Value, &mut String) -> bool) -> bool {
    match v {
        Value::List(_) | Value::Set(_) | Value::Tuple(_) => {
            out.push('[');
            for (i, item) in v.items().unwrap_or_default().iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                if !shape(item, out) {
                    out.push_str("false");
                }
            }
            out.push(']');
        }
        Value::Map(_) | Value::Object(_) => members(v, out, shape),
        _ => return false,
    }
    true
}

/// Writes an object of those members for which `f` answers true; for the others it must write nothing.
fn members(v: &Value, out: &mut String, f: impl Fn(&Value, &mut String) -> bool) {
    out.push('{');
    let mut first = true;
    let mut one = |name: &Str, v: &Value| {
        let before = out.len();
        if !first {
            out.push(',');
        }
        write_string(name, out);
        out.push(':');
        if f(v, out) {
            first = false;
        } else {
            out.truncate(before);
        }
    };
    match v {
        Value::Object(o) => o.iter().for_each(|(n, v)| one(n, v)),
        Value::Map(m) => m.entries.iter().for_each(|(n, v)| one(n, v)),
        _ => {}
    }
    out.push('}');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(f: fn(&Value, &mut String), v: &Value) -> String {
        let mut out = String::new();
        f(v, &mut out);
        out
    }

    #[test]
    fn unknown_and_sensitive_parts_keep_their_places() {
        let secret = Value::from("x").with_marks(Marks::SENSITIVE);
        let v = Value::object([
            ("id", Value::unknown(Type::String)),
            ("labels", Value::map(Type::String, [("k", Value::unknown(Type::String)), ("l", Value::from("1"))])),
            ("list", Value::tuple(vec![Value::from(1), Value::unknown(Type::String), secret])),
            ("none", Value::Null(Type::list(Type::String))),
            ("rest", Value::unknown(Type::map(Type::String))),
            ("set", Value::set(Type::Number, vec![Value::from(1)])),
        ]);
        assert_eq!(written(known, &v), r#"{"labels":{"l":"1"},"list":[1,null,"x"],"none":null,"set":[1]}"#);
        assert_eq!(
            written(unknown, &v),
            r#"{"id":true,"labels":{"k":true},"list":[false,true,false],"rest":true,"set":[false]}"#
        );
        assert_eq!(written(sensitive, &v), r#"{"labels":{},"list":[false,false,true],"rest":{},"set":[false]}"#);
        assert_eq!(written(sensitive, &Value::null()), "false");
    }
}

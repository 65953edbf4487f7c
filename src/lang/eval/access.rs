//! Parts of values: attributes, indices and splats.

use super::Cx;
use crate::diag::{Diagnostics, Range};
use crate::lang::convert::convert;
use crate::lang::suggest::did_you_mean;
use crate::lang::syntax::{Expr, Step, StepKind};
use gpuform_schema::{Marks, Number, Refinement, Str, Type, Value};

/// Why a part cannot be had: the summary and a sentence.
pub(super) type Refused = (&'static str, String);

impl Cx<'_> {
    /// Applies steps to a value; stops at the first that fails.
    pub(super) fn steps(self, mut value: Value, steps: &[Step], expr: &Expr, diags: &mut Diagnostics) -> Value {
        for step in steps {
            let part = match &step.kind {
                StepKind::Attr(name) => attribute(&value, name),
                StepKind::LegacyIndex(i) => index(&value, &Value::Number(Number::from(*i))),
                StepKind::Index(key) => {
                    let before = diags.len();
                    let key = self.eval(key, diags);
                    if diags.len() > before {
                        return Value::unknown(Type::Dynamic);
                    }
                    index(&value, &key)
                }
            };
            match part {
                Ok(part) => value = part,
                Err((summary, detail)) => {
                    self.fail(diags, expr, step.range, summary, || detail);
                    return Value::unknown(Type::Dynamic);
                }
            }
        }
        value
    }

    /// `source.*.rest` and `source[*].rest`.
    pub(super) fn splat(
        self,
        source: &Expr,
        rest: &[Step],
        marker: Range,
        expr: &Expr,
        diags: &mut Diagnostics,
    ) -> Value {
        let before = diags.len();
        let value = self.eval(source, diags);
        if diags.len() > before {
            return Value::unknown(Type::Dynamic);
        }
        let (inner, marks) = value.unmark();
        let ty = shape(inner);
        let sequence = matches!(ty, Shape::List(_) | Shape::Set(_) | Shape::Tuple);
        if matches!(inner, Value::Null(_)) {
            if !sequence {
                return Value::tuple(Vec::new()).with_marks(marks);
            }
            let _ = marker;
            self.fail(diags, expr, source.range, "Splat of null value", || {
                "This list, set or tuple is null, so there are no elements to take anything from.".into()
            });
            return Value::unknown(Type::Dynamic);
        }
        if matches!(ty, Shape::Dynamic) {
            return Value::unknown(Type::Dynamic).with_marks(marks);
        }
        if !sequence {
            let item = self.steps(value.clone(), rest, expr, diags);
            return match inner {
                Value::Unknown(u) if !u.refinement.not_null => Value::unknown(Type::Dynamic).with_marks(marks),
                _ => Value::tuple(vec![item]),
            };
        }
        if let Value::Unknown(u) = inner {
            return self.splat_unknown(&u.ty, &u.refinement, rest, expr, diags).with_marks(marks);
        }
        let items = inner.items().unwrap_or_default();
        let before = diags.len();
        let parts: Vec<Value> = items.iter().map(|v| self.steps(v.clone(), rest, expr, diags)).collect();
        if diags.len() > before {
            return Value::unknown(Type::Dynamic).with_marks(marks);
        }
        match ty {
            Shape::List(element) | Shape::Set(element) => {
                let element = match parts.first() {
                    Some(first) => first.ty(),
                    None => self.steps(Value::unknown(element.clone()), rest, expr, diags).ty(),
                };
                Value::list(element, parts)
            }
            _ => Value::tuple(parts),
        }
        .with_marks(marks)
    }

    /// The type of the result is known even if the elements are not.
    fn splat_unknown(
        self,
        ty: &Type,
        known: &Refinement,
        rest: &[Step],
        expr: &Expr,
        diags: &mut Diagnostics,
    ) -> Value {
        let mut part = |t: &Type| self.steps(Value::unknown(t.clone()), rest, expr, diags).ty();
        match ty {
            Type::List(e) | Type::Set(e) => {
                let refinement = Refinement {
                    not_null: true,
                    min_len: known.min_len,
                    max_len: known.max_len,
                    ..Refinement::default()
                };
                Value::refined(Type::list(part(e)), refinement)
            }
            Type::Tuple(types) => Value::unknown_not_null(Type::tuple(types.iter().map(part).collect::<Vec<_>>())),
            _ => Value::unknown(Type::Dynamic),
        }
    }
}

/// The type of a value as far as access to its parts needs it, without building the types of the parts.
enum Shape<'a> {
    Dynamic,
    Primitive(&'static str),
    List(&'a Type),
    Set(&'a Type),
    Map(&'a Type),
    Tuple,
    Object,
}

fn shape(v: &Value) -> Shape<'_> {
    fn of_type(t: &Type) -> Shape<'_> {
        match t {
            Type::Dynamic => Shape::Dynamic,
            Type::Bool => Shape::Primitive("bool"),
            Type::Number => Shape::Primitive("number"),
            Type::String => Shape::Primitive("string"),
            Type::List(e) => Shape::List(e),
            Type::Set(e) => Shape::Set(e),
            Type::Map(e) => Shape::Map(e),
            Type::Tuple(_) => Shape::Tuple,
            Type::Object(_) => Shape::Object,
        }
    }
    match v {
        Value::Null(t) => of_type(t),
        Value::Unknown(u) => of_type(&u.ty),
        Value::Bool(_) => Shape::Primitive("bool"),
        Value::Number(_) => Shape::Primitive("number"),
        Value::String(_) => Shape::Primitive("string"),
        Value::List(c) => Shape::List(&c.element),
        Value::Set(c) => Shape::Set(&c.element),
        Value::Map(m) => Shape::Map(&m.element),
        Value::Tuple(_) => Shape::Tuple,
        Value::Object(_) => Shape::Object,
        Value::Marked(m) => shape(&m.value),
    }
}

/// `value.name`
pub(super) fn attribute(value: &Value, name: &Str) -> Result<Value, Refused> {
    const UNSUPPORTED: &str = "Unsupported attribute";
    let (inner, marks) = value.unmark();
    if matches!(inner, Value::Null(_)) {
        return Err((
            "Attempt to get attribute from null value",
            "This value is null, so it does not have any attributes.".into(),
        ));
    }
    let part = match (inner, shape(inner)) {
        (_, Shape::Dynamic) => Value::unknown(Type::Dynamic),
        (Value::Object(o), _) => match o.get(name) {
            Some(part) => part.clone(),
            None => return Err((UNSUPPORTED, no_attribute(name, o.names.iter()))),
        },
        (Value::Map(m), _) => match m.get(name) {
            Some(part) => part.clone(),
            None => return Err(("Missing map element", format!("This map has no element with the key {name:?}."))),
        },
        (Value::Unknown(u), Shape::Object) => match &u.ty {
            Type::Object(o) => match o.get(name) {
                Some(t) => Value::unknown(t.clone()),
                None => return Err((UNSUPPORTED, no_attribute(name, o.iter().map(|(n, _)| n)))),
            },
            _ => Value::unknown(Type::Dynamic),
        },
        (_, Shape::Map(e)) => Value::unknown(e.clone()),
        (_, Shape::List(Type::Object(o))) => {
            return Err((
                UNSUPPORTED,
                if o.get(name).is_some() {
                    format!(
                        "This is a list of objects. Say which element's {name:?} is meant: [0].{name} or [*].{name}."
                    )
                } else {
                    "This is a list of objects, which has no attributes of its own.".into()
                },
            ));
        }
        (_, Shape::Set(Type::Object(_))) => {
            return Err((
                UNSUPPORTED,
                format!(
                    "This is a set of objects, whose elements have no index. To get {name:?} of all, use a \"for\" \
                     expression or [*].{name}."
                ),
            ));
        }
        (_, Shape::Primitive(kind)) => {
            return Err((UNSUPPORTED, format!("A {kind} does not have any attributes.")));
        }
        _ => return Err((UNSUPPORTED, "This value does not have any attributes.".into())),
    };
    Ok(part.with_marks(marks))
}

fn no_attribute<'a>(name: &str, known: impl Iterator<Item = &'a Str>) -> String {
    format!("This object does not have an attribute named {name:?}.{}", did_you_mean(name, known.map(|n| &**n)))
}

const INVALID_INDEX: &str = "Invalid index";

/// `value[key]`
pub(super) fn index(value: &Value, key: &Value) -> Result<Value, Refused> {
    let (inner, marks) = value.unmark();
    let (key, key_marks) = key.unmark();
    if matches!(inner, Value::Null(_)) {
        return Err(("Attempt to index null value", "This value is null, so it does not have any elements.".into()));
    }
    if matches!(key, Value::Null(_)) {
        return Err((INVALID_INDEX, "The index is null.".into()));
    }
    let secret = key_marks.contains(Marks::SENSITIVE);
    let part = match (inner, shape(inner)) {
        (_, Shape::Dynamic) => Value::unknown(Type::Dynamic),
        _ if matches!(shape(key), Shape::Dynamic) => Value::unknown(Type::Dynamic),
        (Value::List(c), _) => match sequence_index(key, Some(c.items.len()))? {
            Some(i) => c.items.get(i).cloned().unwrap_or_else(|| Value::unknown(c.element.clone())),
            None => Value::unknown(c.element.clone()),
        },
        (Value::Tuple(items), _) => match sequence_index(key, Some(items.len()))? {
            Some(i) => items.get(i).cloned().unwrap_or_else(|| Value::unknown(Type::Dynamic)),
            None => Value::unknown(Type::Dynamic),
        },
        (Value::Unknown(u), Shape::List(e)) => {
            let max = u.refinement.max_len.and_then(|n| usize::try_from(n).ok());
            sequence_index(key, max)?;
            Value::unknown(e.clone())
        }
        (Value::Unknown(u), Shape::Tuple) => match &u.ty {
            Type::Tuple(types) => match sequence_index(key, Some(types.len()))? {
                Some(i) => Value::unknown(types.get(i).cloned().unwrap_or(Type::Dynamic)),
                None => Value::unknown(Type::Dynamic),
            },
            _ => Value::unknown(Type::Dynamic),
        },
        (Value::Map(m), _) => match key_string(key)? {
            Some(k) => match m.get(&k) {
                Some(part) => part.clone(),
                None if secret => return Err((INVALID_INDEX, "This map has no element with the given key.".into())),
                None => {
                    let near = did_you_mean(&k, m.entries.iter().map(|(k, _)| &**k));
                    return Err((INVALID_INDEX, format!("This map has no element with the key {k:?}.{near}")));
                }
            },
            None => Value::unknown(m.element.clone()),
        },
        (_, Shape::Map(e)) => {
            key_string(key)?;
            Value::unknown(e.clone())
        }
        (_, Shape::Object) => match key_string(key)? {
            Some(k) => object_element(inner, &k, secret, matches!(key, Value::Number(_)))?,
            None => Value::unknown(Type::Dynamic),
        },
        (_, Shape::Set(_)) => {
            return Err((
                INVALID_INDEX,
                "The elements of a set have no index or key. To select some, use a \"for\" expression; if there is \
                 only one, use the function \"one\"."
                    .into(),
            ));
        }
        _ => return Err((INVALID_INDEX, "This value does not have any elements.".into())),
    };
    Ok(part.with_marks(marks | key_marks))
}

fn object_element(object: &Value, key: &str, secret: bool, by_number: bool) -> Result<Value, Refused> {
    let found = match object {
        Value::Object(o) => o.get(key).cloned(),
        Value::Unknown(u) => match &u.ty {
            Type::Object(_) => return Ok(Value::unknown(Type::Dynamic)),
            _ => None,
        },
        _ => None,
    };
    found.ok_or_else(|| {
        let detail = if by_number {
            "This is an object: its attributes are selected by name, not by number.".into()
        } else if secret {
            "This object does not have an attribute of the given name.".into()
        } else {
            match object {
                Value::Object(o) => no_attribute(key, o.names.iter()),
                _ => no_attribute(key, std::iter::empty()),
            }
        };
        (INVALID_INDEX, detail)
    })
}

/// The key as a position below `len`; `None` while it is unknown.
fn sequence_index(key: &Value, len: Option<usize>) -> Result<Option<usize>, Refused> {
    let number = convert(key, &Type::Number)
        .map_err(|e| (INVALID_INDEX, format!("The index does not select an element of this sequence: {e}.")))?;
    let number = match &number {
        Value::Number(n) => n,
        Value::Unknown(_) => return Ok(None),
        _ => return Err((INVALID_INDEX, "The index is null.".into())),
    };
    if number.is_negative() {
        let hint = "To select from the end, compute the position with the function \"length\".";
        return Err((INVALID_INDEX, format!("A position in a sequence cannot be negative. {hint}")));
    }
    if !number.is_integer() {
        return Err((
            INVALID_INDEX,
            "A position in a sequence is a whole number, but the index has a fraction.".into(),
        ));
    }
    match (number.as_usize(), len) {
        (Some(i), Some(len)) if i < len => Ok(Some(i)),
        (Some(i), None) => Ok(Some(i)),
        (_, Some(0)) => Err((INVALID_INDEX, "This sequence has no elements.".into())),
        (_, len) => {
            let have = match len {
                Some(1) => "there is only one element".into(),
                Some(n) => format!("there are only {n} elements"),
                None => "no sequence is that long".into(),
            };
            Err((INVALID_INDEX, format!("The index is past the end: {have}, counted from 0.")))
        }
    }
}

/// The key as a string; `None` while it is unknown.
fn key_string(key: &Value) -> Result<Option<Str>, Refused> {
    match convert(key, &Type::String) {
        Ok(Value::String(s)) => Ok(Some(s)),
        Ok(_) => Ok(None),
        Err(e) => Err((INVALID_INDEX, format!("The key does not select an element of this value: {e}."))),
    }
}

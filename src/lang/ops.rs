//! The operators of the language on values: arithmetic, comparison, logic, conditionals, indexing, attributes, splats
//! and string templates, with unknown and marked values. Nothing here knows source ranges or names: the evaluator adds
//! them. Functions that need an operator (`contains`, `index`) call it too.

use crate::lang::convert::{self, convert, described};
use crate::lang::limits;
use crate::lang::suggest::did_you_mean;
use crate::lang::syntax::{BinaryOp, UnaryOp};
use gpuform_schema::number::Number;
use gpuform_schema::types::Type;
use gpuform_schema::value::{Marks, Refinement, Value};

/// Why an operation failed, without a place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpError {
    pub summary: &'static str,
    pub detail: String,
    /// Which operand is to blame, from 0, where it is one of several: of an index operation 0 is the collection and 1
    /// the key, of a conditional 0 is the condition and 1 or 2 the chosen arm, of a template the position of the part.
    pub operand: Option<usize>,
}

impl OpError {
    fn new(summary: &'static str, detail: impl Into<String>) -> OpError {
        OpError { summary, detail: detail.into(), operand: None }
    }

    fn operand(self, operand: usize) -> OpError {
        OpError { operand: Some(operand), ..self }
    }
}

/// Summary of the failure of an operator whose operand is of the wrong type.
pub const INVALID_OPERAND: &str = "Invalid operand";

type Result<T> = std::result::Result<T, OpError>;

// ---- operators of one and two operands

/// Applies an operator of two operands. Both are always evaluated: `&&` and `||` do not stop early.
pub fn binary(op: BinaryOp, left: &Value, right: &Value) -> Result<Value> {
    if let (Value::Number(a), Value::Number(b)) = (left, right) {
        return numeric(op, a, b);
    }
    let mut marks = Marks::NONE;
    let (left, right) = (left.unmark_deep(&mut marks), right.unmark_deep(&mut marks));
    let result = match op {
        BinaryOp::Eq => equal(&left, &right),
        BinaryOp::NotEq => not(equal(&left, &right)),
        BinaryOp::And | BinaryOp::Or => match (bool_operand(&left, Some(0))?, bool_operand(&right, Some(1))?) {
            (Some(a), Some(b)) => Value::Bool(if op == BinaryOp::And { a && b } else { a || b }),
            _ => Value::unknown_not_null(Type::Bool),
        },
        _ => {
            let (a, b) = (operand(&left, &Type::Number, Some(0))?, operand(&right, &Type::Number, Some(1))?);
            match (&a, &b) {
                (Value::Number(a), Value::Number(b)) => numeric(op, a, b)?,
                _ => unknown_numeric(op, &a, &b),
            }
        }
    };
    Ok(result.with_marks(marks))
}

/// Applies an operator of one operand.
pub fn unary(op: UnaryOp, value: &Value) -> Result<Value> {
    let mut marks = Marks::NONE;
    let value = value.unmark_deep(&mut marks);
    let result = match op {
        UnaryOp::Neg => match operand(&value, &Type::Number, None)? {
            Value::Number(n) => Value::Number(n.neg()),
            _ => Value::unknown_not_null(Type::Number),
        },
        UnaryOp::Not => match bool_operand(&value, None)? {
            Some(b) => Value::Bool(!b),
            None => Value::unknown_not_null(Type::Bool),
        },
    };
    Ok(result.with_marks(marks))
}

/// An operand, converted; it must not be null.
fn operand(value: &Value, ty: &Type, position: Option<usize>) -> Result<Value> {
    let value = convert(value, ty).map_err(|e| OpError {
        operand: position,
        ..OpError::new(INVALID_OPERAND, format!("This operand does not suit the operator: {e}."))
    })?;
    if value.is_null() {
        return Err(OpError { operand: position, ..OpError::new("Operation failed", "An operand must not be null.") });
    }
    Ok(value)
}

/// A bool operand; `None` if it is unknown.
fn bool_operand(value: &Value, position: Option<usize>) -> Result<Option<bool>> {
    operand(value, &Type::Bool, position).map(|v| v.as_bool())
}

fn numeric(op: BinaryOp, a: &Number, b: &Number) -> Result<Value> {
    let number = match op {
        BinaryOp::Add => a.add(b),
        BinaryOp::Sub => a.sub(b),
        BinaryOp::Mul => a.mul(b),
        BinaryOp::Div => a.div(b),
        BinaryOp::Rem => a.rem(b),
        BinaryOp::Eq => return Ok(Value::Bool(a == b)),
        BinaryOp::NotEq => return Ok(Value::Bool(a != b)),
        BinaryOp::Less => return Ok(Value::Bool(a < b)),
        BinaryOp::LessEq => return Ok(Value::Bool(a <= b)),
        BinaryOp::Greater => return Ok(Value::Bool(a > b)),
        BinaryOp::GreaterEq => return Ok(Value::Bool(a >= b)),
        BinaryOp::And | BinaryOp::Or => {
            bool_operand(&Value::Number(a.clone()), Some(0))?;
            return Ok(Value::unknown_not_null(Type::Bool));
        }
    };
    number.map(Value::Number).map_err(|e| OpError::new("Operation failed", format!("This has no result: {e}.")))
}

/// Arithmetic and comparison where an operand is unknown. What is known of its bounds may decide a comparison; bounds
/// that are included in the range count as excluded, as in Terraform.
fn unknown_numeric(op: BinaryOp, a: &Value, b: &Value) -> Value {
    let decided = |if_less: bool| {
        let ((a_min, a_max), (b_min, b_max)) = (bounds(a), bounds(b));
        let below =
            |max: &Option<Number>, min: &Option<Number>| matches!((max, min), (Some(max), Some(min)) if max < min);
        if below(&a_max, &b_min) {
            Value::Bool(if_less)
        } else if below(&b_max, &a_min) {
            Value::Bool(!if_less)
        } else {
            Value::unknown_not_null(Type::Bool)
        }
    };
    match op {
        BinaryOp::Less | BinaryOp::LessEq => decided(true),
        BinaryOp::Greater | BinaryOp::GreaterEq => decided(false),
        _ => Value::unknown_not_null(Type::Number),
    }
}

/// The least and greatest that a number may be.
fn bounds(v: &Value) -> (Option<Number>, Option<Number>) {
    match v {
        Value::Number(n) => (Some(n.clone()), Some(n.clone())),
        Value::Unknown(u) => {
            (u.refinement.min.as_ref().map(|(n, _)| n.clone()), u.refinement.max.as_ref().map(|(n, _)| n.clone()))
        }
        _ => (None, None),
    }
}

fn not(v: Value) -> Value {
    match v {
        Value::Bool(b) => Value::Bool(!b),
        v => v,
    }
}

// ---- equality

/// Whether two values are equal: true, false or unknown. Values of different types are not, except that nulls of any
/// types are. Marks are ignored.
pub fn equal(a: &Value, b: &Value) -> Value {
    let unknown = || Value::unknown_not_null(Type::Bool);
    let (a, b) = (a.unmark().0, b.unmark().0);
    match (a, b) {
        (Value::Null(_), Value::Null(_)) => Value::TRUE,
        (Value::Null(_), other) | (other, Value::Null(_)) => {
            if other.is_not_null() {
                Value::FALSE
            } else {
                unknown()
            }
        }
        (Value::Unknown(u), known) | (known, Value::Unknown(u)) if known.is_known() => {
            if may_become(&u.ty, &u.refinement, known) { unknown() } else { Value::FALSE }
        }
        (Value::Unknown(_), _) | (_, Value::Unknown(_)) => unknown(),
        (Value::Bool(a), Value::Bool(b)) => Value::Bool(a == b),
        (Value::Number(a), Value::Number(b)) => Value::Bool(a == b),
        (Value::String(a), Value::String(b)) => Value::Bool(a == b),
        (a, b) => equal_structures(a, b),
    }
}

fn equal_structures(a: &Value, b: &Value) -> Value {
    let (a_type, b_type) = (a.ty(), b.ty());
    if has_open_type(a) || has_open_type(b) {
        // As long as a type is not known in full, parts that are known to differ do not decide.
        let compatible = conforms(&a_type, &b_type) || conforms(&b_type, &a_type);
        return if compatible { Value::unknown_not_null(Type::Bool) } else { Value::FALSE };
    }
    if a_type != b_type {
        return Value::FALSE;
    }
    match (a, b) {
        // An element of which only parts are unknown equals none.
        (Value::Set(x), Value::Set(y)) => {
            if x.items.iter().chain(y.items.iter()).all(Value::is_known) {
                Value::Bool(a.is_wholly_known() && x == y)
            } else {
                Value::unknown_not_null(Type::Bool)
            }
        }
        (Value::List(x), Value::List(y)) if x.items.len() == y.items.len() => all_equal(x.items.iter().zip(&y.items)),
        (Value::Tuple(x), Value::Tuple(y)) => all_equal(x.iter().zip(y.iter())),
        (Value::Object(x), Value::Object(y)) => all_equal(x.values.iter().zip(y.values.iter())),
        (Value::Map(x), Value::Map(y)) if x.entries.len() == y.entries.len() => {
            if x.entries.iter().zip(&y.entries).any(|((k, _), (l, _))| k != l) {
                return Value::FALSE;
            }
            all_equal(x.entries.iter().zip(&y.entries).map(|((_, v), (_, w))| (v, w)))
        }
        _ => Value::FALSE,
    }
}

/// Parts are compared in order; the first that is not certainly equal decides.
fn all_equal<'a>(pairs: impl Iterator<Item = (&'a Value, &'a Value)>) -> Value {
    for (a, b) in pairs {
        match equal(a, b) {
            Value::Bool(true) => {}
            decided => return decided,
        }
    }
    Value::TRUE
}

/// Whether a part of the value is unknown even in its type.
fn has_open_type(v: &Value) -> bool {
    let mut found = false;
    v.visit(&mut |part| {
        found |= matches!(part, Value::Unknown(u) if u.ty.has_dynamic());
        !found
    });
    found
}

/// Whether a type fits another in which some parts are not known yet.
fn conforms(ty: &Type, open: &Type) -> bool {
    match (ty, open) {
        (_, Type::Dynamic) => true,
        (Type::List(a), Type::List(b)) | (Type::Set(a), Type::Set(b)) | (Type::Map(a), Type::Map(b)) => conforms(a, b),
        (Type::Tuple(a), Type::Tuple(b)) => a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| conforms(a, b)),
        (Type::Object(a), Type::Object(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|((n, a), (m, b))| n == m && conforms(a, b))
        }
        (a, b) => a == b,
    }
}

/// Whether an unknown value may turn out to be a given known one that is not null.
fn may_become(ty: &Type, known: &Refinement, value: &Value) -> bool {
    let fits_type = convert::has_type(value, ty) || {
        let of_value = value.ty();
        (ty.has_dynamic() || of_value.has_dynamic()) && (conforms(ty, &of_value) || conforms(&of_value, ty))
    };
    let fits = match value {
        Value::String(s) => known.prefix.as_ref().is_none_or(|p| s.starts_with(&**p)),
        Value::Number(n) => {
            let above = |(min, included): &(Number, bool)| if *included { n >= min } else { n > min };
            let below = |(max, included): &(Number, bool)| if *included { n <= max } else { n < max };
            known.min.as_ref().is_none_or(above) && known.max.as_ref().is_none_or(below)
        }
        Value::List(_) | Value::Set(_) | Value::Map(_) => {
            let (least, most) = length_bounds(value);
            known.min_len.is_none_or(|min| most.is_none_or(|most| most >= min))
                && known.max_len.is_none_or(|max| least <= max)
        }
        _ => true,
    };
    fits_type && fits
}

/// The least and the greatest length that a collection may have: they differ for sets with unknown elements, which may
/// turn out to be equal.
pub fn length_bounds(collection: &Value) -> (u64, Option<u64>) {
    match collection.unmark().0 {
        Value::Set(c) if !collection.is_wholly_known() => {
            let known = c.items.iter().filter(|v| v.is_wholly_known()).count() as u64;
            (known.max(1), Some(c.items.len() as u64))
        }
        Value::Unknown(u) => (u.refinement.min_len.unwrap_or(0), u.refinement.max_len),
        v => {
            let n = v.element_count().unwrap_or(0) as u64;
            (n, Some(n))
        }
    }
}

// ---- conditional

/// `CONDITION ? THEN : OTHERWISE`. Both arms are given, evaluated or failed; they must have a common type, to which
/// the chosen one is converted. The failure of an arm counts only if that arm is chosen.
pub fn conditional<E: From<OpError>>(
    condition: &Value,
    then: std::result::Result<Value, E>,
    otherwise: std::result::Result<Value, E>,
) -> std::result::Result<Value, E> {
    let type_of = |arm: &std::result::Result<Value, E>| arm.as_ref().map_or(Type::Dynamic, Value::ty);
    let untyped_null = |arm: &std::result::Result<Value, E>| matches!(arm, Ok(Value::Null(Type::Dynamic)));
    let (then_type, otherwise_type) = (type_of(&then), type_of(&otherwise));
    let result_type = if untyped_null(&then) {
        otherwise_type
    } else if untyped_null(&otherwise) || then_type == otherwise_type {
        then_type
    } else if then_type.is_dynamic() || otherwise_type.is_dynamic() {
        Type::Dynamic
    } else {
        convert::unify(&[then_type.clone(), otherwise_type.clone()])
            .ok_or_else(|| inconsistent(&then_type, &otherwise_type))?
    };
    // The marks of the arm that is not chosen count too.
    let marks_of = |arm: &std::result::Result<Value, E>| arm.as_ref().map_or(Marks::NONE, Value::marks);
    let marks = condition.marks() | marks_of(&then) | marks_of(&otherwise);
    let (arm, chosen) = match choose(condition)? {
        Some(true) => (1, then?),
        Some(false) => (2, otherwise?),
        None => return Ok(undecided(condition, &then.ok(), &otherwise.ok(), result_type)),
    };
    let converted = convert(&chosen, &result_type).map_err(|e| {
        OpError::new("Inconsistent conditional result types", format!("The chosen result does not fit: {e}."))
            .operand(arm)
    })?;
    Ok(converted.with_marks(marks))
}

/// What a condition says; `None` if it is unknown.
pub fn choose(condition: &Value) -> Result<Option<bool>> {
    if condition.is_null() {
        return Err(OpError::new("Null condition", "A condition must be true or false, but this is null.").operand(0));
    }
    if !condition.is_known() {
        // Whatever its type is.
        return Ok(None);
    }
    let condition = convert(condition, &Type::Bool).map_err(|_| {
        let actual = described(&condition.ty());
        let detail = format!("A condition must be of type bool, but this is {actual}.");
        OpError::new("Incorrect condition type", detail).operand(0)
    })?;
    Ok(condition.as_bool())
}

fn inconsistent(then: &Type, otherwise: &Type) -> OpError {
    fn difference(a: &Type, b: &Type) -> String {
        if let (Type::Object(a), Type::Object(b)) = (a, b) {
            let names: Vec<_> = a.iter().map(|(n, _)| n).filter(|n| b.get(n).is_none()).collect();
            if let Some(name) = names.first() {
                return format!("attribute {name:?} is in the first only");
            }
            if let Some((name, _)) = b.iter().find(|(n, _)| a.get(n).is_none()) {
                return format!("attribute {name:?} is in the second only");
            }
            for ((name, a), (_, b)) in a.iter().zip(b.iter()) {
                if convert::unify(&[a.clone(), b.clone()]).is_none() {
                    return format!("in attribute {name:?}, {}", difference(a, b));
                }
            }
        }
        if let (Type::Tuple(a), Type::Tuple(b)) = (a, b) {
            for (i, (a, b)) in a.iter().zip(b.iter()).enumerate() {
                if convert::unify(&[a.clone(), b.clone()]).is_none() {
                    return format!("in element {i}, {}", difference(a, b));
                }
            }
        }
        format!("the first is {}, the second {}", described(a), described(b))
    }
    let difference = difference(then, otherwise);
    let detail = format!("Both results of a conditional must be of one type, but {difference}.");
    OpError::new("Inconsistent conditional result types", detail)
}

/// The result of a conditional whose condition is unknown, with what holds for both arms.
fn undecided(condition: &Value, then: &Option<Value>, otherwise: &Option<Value>, ty: Type) -> Value {
    let unknown = Value::unknown(Type::Dynamic);
    let (then, then_marks) = then.as_ref().unwrap_or(&unknown).unmark();
    let (otherwise, otherwise_marks) = otherwise.as_ref().unwrap_or(&unknown).unmark();
    let marks = condition.marks() | then_marks | otherwise_marks;
    if then.is_null() && otherwise.is_null() {
        return Value::Null(ty).with_marks(marks);
    }
    let mut known = Refinement { not_null: then.is_not_null() && otherwise.is_not_null(), ..Refinement::default() };
    let (then_type, otherwise_type) = (then.ty(), otherwise.ty());
    if then_type == Type::Number && otherwise_type == Type::Number && known.not_null {
        let ((a_min, a_max), (b_min, b_max)) = (bounds(then), bounds(otherwise));
        known.min = a_min.zip(b_min).map(|(a, b)| (a.min(b), true));
        known.max = a_max.zip(b_max).map(|(a, b)| (a.max(b), true));
    } else if ty.is_collection() && then_type == otherwise_type && known.not_null {
        let ((a_min, a_max), (b_min, b_max)) = (length_bounds(then), length_bounds(otherwise));
        known.min_len = Some(a_min.min(b_min)).filter(|n| *n > 0);
        known.max_len = a_max.zip(b_max).map(|(a, b)| a.max(b));
    }
    Value::refined(ty, known).with_marks(marks)
}

// ---- parts of values

/// `COLLECTION[KEY]`.
pub fn index(collection: &Value, key: &Value) -> Result<Value> {
    let invalid = |detail: &str| OpError::new("Invalid index", detail).operand(1);
    let (v, marks) = collection.unmark();
    if v.is_null() {
        let detail = "This value is null, so there is nothing in it to select.";
        return Err(OpError::new("Attempt to index null value", detail).operand(0));
    }
    if key.is_null() {
        return Err(invalid("A null value cannot be an index."));
    }
    let (key, key_marks) = key.unmark();
    let ty = match v {
        Value::Unknown(u) => u.ty.clone(),
        Value::Set(_) => Type::set(Type::Dynamic),
        v if v.element_count().is_none() => v.ty(),
        _ => Type::Dynamic,
    };
    match (v, &ty) {
        (_, Type::Set(_)) => {
            return Err(invalid("Elements of a set have no index; a for expression goes through all of them."));
        }
        (_, Type::Bool | Type::Number | Type::String) => {
            return Err(invalid(&format!("This is {}, which has no elements to select.", described(&ty))));
        }
        (Value::Unknown(_), Type::Dynamic) => return Ok(Value::unknown(Type::Dynamic).with_marks(marks | key_marks)),
        _ if key.ty().is_dynamic() => return Ok(Value::unknown(Type::Dynamic).with_marks(marks | key_marks)),
        _ => {}
    }
    let of_object = matches!(v, Value::Object(_)) || matches!(ty, Type::Object(_));
    let by_name = of_object || matches!(v, Value::Map(_)) || matches!(ty, Type::Map(_));
    let wanted = if by_name { Type::String } else { Type::Number };
    let number_given = matches!(key, Value::Number(_));
    let key = convert(key, &wanted).map_err(|e| invalid(&format!("The key does not fit here: {e}.")))?;
    let part = match (v, &key) {
        (Value::Unknown(u), key) => unknown_part(&u.ty, key),
        (Value::List(c), Value::Unknown(_)) => Some(Value::unknown(c.element.clone())),
        (Value::Map(m), Value::Unknown(_)) => Some(Value::unknown(m.element.clone())),
        (_, Value::Unknown(_)) => Some(Value::unknown(Type::Dynamic)),
        (v, Value::String(name)) => v.get(name).cloned(),
        (v, Value::Number(n)) => n.as_usize().and_then(|i| v.items()?.get(i).cloned()),
        _ => None,
    };
    let Some(part) = part else {
        let secret = (marks | key_marks).contains(Marks::SENSITIVE);
        return Err(invalid(&no_such_part(v, &key, number_given, secret)));
    };
    // The name of an attribute is not a secret.
    Ok(part.with_marks(if of_object { marks } else { marks | key_marks }))
}

/// The part of an unknown value; `None` if its type has no such part.
fn unknown_part(ty: &Type, key: &Value) -> Option<Value> {
    match (ty, key) {
        (Type::List(e) | Type::Map(e), _) => Some(Value::unknown((**e).clone())),
        (Type::Tuple(ts), Value::Number(n)) => Some(Value::unknown(ts.get(n.as_usize()?)?.clone())),
        (Type::Object(o), Value::String(name)) => Some(Value::unknown(o.get(name).cloned().unwrap_or(Type::Dynamic))),
        _ => Some(Value::unknown(Type::Dynamic)),
    }
}

/// Why there is no part with this key. Of a secret, the key is not told, nor how many elements there are.
fn no_such_part(v: &Value, key: &Value, number_given: bool, secret: bool) -> String {
    match key {
        Value::Number(n) if secret && n.is_integer() && !n.is_negative() => "There is no such element.".into(),
        Value::String(_) if secret && !number_given => match v {
            Value::Map(_) => "There is no element with this key, which is sensitive.".into(),
            _ => "There is no attribute with this name, which is sensitive.".into(),
        },
        Value::Number(n) if n.is_negative() => "An index must not be negative.".into(),
        Value::Number(n) if !n.is_integer() => "An index must be a whole number.".into(),
        Value::Number(_) => match v.element_count() {
            Some(0) => "There is no such element: there are none.".into(),
            Some(1) => "There is no such element: the only one has the index 0.".into(),
            Some(n) => format!("There is no such element: the indices are 0 to {}.", n - 1),
            None => "There is no such element.".into(),
        },
        Value::String(name) if matches!(v, Value::Map(_)) => format!("There is no element with the key {name:?}."),
        Value::String(_) if number_given => "The attributes of an object have names, not numbers.".into(),
        Value::String(name) => format!("There is no attribute named {name:?}."),
        _ => "There is no such element.".into(),
    }
}

/// `VALUE.NAME`.
pub fn attribute(value: &Value, name: &str) -> Result<Value> {
    let (v, marks) = value.unmark();
    let unsupported = |detail: String| Err(OpError::new("Unsupported attribute", detail).operand(0));
    let found = match v {
        Value::Null(_) => {
            let detail = "This value is null, so it has no attributes.";
            return Err(OpError::new("Attempt to get attribute from null value", detail).operand(0));
        }
        Value::Object(o) => o.get(name).cloned(),
        Value::Map(m) => match m.get(name) {
            Some(v) => Some(v.clone()),
            None => {
                let detail = format!("There is no element with the key {name:?}.");
                return Err(OpError::new("Missing map element", detail).operand(0));
            }
        },
        Value::Unknown(u) => match &u.ty {
            Type::Dynamic => Some(Value::unknown(Type::Dynamic)),
            Type::Map(e) => Some(Value::unknown((**e).clone())),
            Type::Object(o) => o.get(name).map(|t| Value::unknown(t.clone())),
            _ => None,
        },
        _ => None,
    };
    if let Some(part) = found {
        return Ok(part.with_marks(marks));
    }
    match v.ty() {
        Type::Object(o) => unsupported(format!(
            "There is no attribute named {name:?}.{}",
            did_you_mean(name, o.iter().map(|(n, _)| &**n))
        )),
        Type::List(e) | Type::Set(e) if matches!(&*e, Type::Object(o) if o.get(name).is_some()) => {
            unsupported(format!(
                "The elements have an attribute named {name:?}, the collection itself has none. Select one element, or all \
             of them with [*]."
            ))
        }
        ty => unsupported(format!("This is {}, which has no attributes.", described(&ty))),
    }
}

/// `SOURCE[*]…`: applies `each` to the elements of a list, set or tuple, or to a single other value as if it were a
/// tuple of one (of none if it is null).
pub fn splat<E: From<OpError>>(
    source: &Value,
    each: &mut dyn FnMut(&Value) -> std::result::Result<Value, E>,
) -> std::result::Result<Value, E> {
    let (v, marks) = source.unmark();
    let ty = match v {
        Value::Null(t) => t.clone(),
        Value::Unknown(u) => u.ty.clone(),
        Value::List(_) => Type::list(Type::Dynamic),
        Value::Set(_) => Type::set(Type::Dynamic),
        Value::Tuple(_) => Type::tuple([]),
        _ => Type::Dynamic,
    };
    let sequence = matches!(ty, Type::List(_) | Type::Set(_) | Type::Tuple(_));
    let result = match v {
        Value::Null(_) if sequence => {
            let detail = "This sequence is null, so it has no elements to go through.";
            return Err(OpError::new("Splat of null value", detail).operand(0).into());
        }
        Value::Null(_) => Value::tuple(Vec::new()),
        Value::Unknown(_) if ty.is_dynamic() => Value::unknown(Type::Dynamic),
        Value::Unknown(u) => match &ty {
            Type::List(e) | Type::Set(e) => {
                let element = each(&Value::unknown((**e).clone()))?.ty();
                let of_set = matches!(ty, Type::Set(_));
                let known = Refinement {
                    not_null: true,
                    min_len: u.refinement.min_len,
                    max_len: u.refinement.max_len.filter(|_| !of_set),
                    ..Refinement::default()
                };
                Value::refined(Type::list(element), known)
            }
            Type::Tuple(ts) => {
                let parts: std::result::Result<Vec<Type>, E> =
                    ts.iter().map(|t| Ok(each(&Value::unknown(t.clone()))?.ty())).collect();
                Value::unknown_not_null(Type::tuple(parts?))
            }
            _ if u.refinement.not_null => Value::tuple(vec![each(v)?]),
            _ => {
                // It may still be null, so even the number of results is unknown; errors are not.
                each(v)?;
                Value::unknown(Type::Dynamic)
            }
        },
        Value::List(c) | Value::Set(c) if c.items.is_empty() => {
            Value::list(each(&Value::unknown(c.element.clone()))?.ty(), Vec::new())
        }
        Value::List(c) | Value::Set(c) => {
            let items: Vec<Value> = c.items.iter().map(&mut *each).collect::<std::result::Result<_, E>>()?;
            let list = convert(&Value::tuple(items), &Type::list(Type::Dynamic));
            list.map_err(|e| OpError::new("Inconsistent splat results", format!("The results differ: {e}.")))?
        }
        Value::Tuple(items) => Value::tuple(items.iter().map(each).collect::<std::result::Result<_, E>>()?),
        single => Value::tuple(vec![each(&single.clone().with_marks(marks))?]),
    };
    Ok(result.with_marks(marks))
}

// ---- templates

/// Puts the parts of a string template together.
#[derive(Default)]
pub struct TemplateBuilder {
    /// What is known from the start of the string on.
    text: String,
    unknown: bool,
    marks: Marks,
    parts: usize,
}

impl TemplateBuilder {
    pub fn new() -> TemplateBuilder {
        TemplateBuilder::default()
    }

    /// Adds literal text.
    pub fn text(&mut self, text: &str) {
        self.parts += 1;
        if !self.unknown {
            self.text.push_str(text);
        }
    }

    /// Adds the value of an interpolation.
    pub fn value(&mut self, value: &Value) -> Result<()> {
        let part = self.parts;
        self.parts += 1;
        let (v, marks) = value.unmark();
        self.marks |= marks;
        if v.is_null() {
            let detail = "A null value cannot be part of a string.";
            return Err(OpError::new("Invalid template interpolation value", detail).operand(part));
        }
        let string = convert(v, &Type::String).map_err(|e| {
            let detail = format!("This value cannot be part of a string: {e}.");
            OpError::new("Invalid template interpolation value", detail).operand(part)
        })?;
        match string {
            Value::String(s) if !self.unknown => {
                if self.text.len() + s.len() > limits::MAX_TEXT {
                    return Err(OpError::new("String too long", limits::text_too_long()).operand(part));
                }
                self.text.push_str(&s);
            }
            Value::String(_) => {}
            _ => self.unknown = true,
        }
        Ok(())
    }

    /// Adds marks that the whole string gets, e.g. of a condition inside the template.
    pub fn mark(&mut self, marks: Marks) {
        self.marks |= marks;
    }

    /// From here on nothing is known of the string.
    pub fn unknown(&mut self) {
        self.unknown = true;
    }

    /// The string, or an unknown string that starts with what is known.
    pub fn finish(self) -> Value {
        if self.unknown { unknown_with_prefix(&self.text) } else { Value::string(self.text) }.with_marks(self.marks)
    }
}

/// An unknown string, not null, of which the start is known. The last character is left out if what follows might
/// still combine with it.
pub fn unknown_with_prefix(start: &str) -> Value {
    use unicode_segmentation::UnicodeSegmentation;
    let normal = gpuform_schema::value::nfc(start);
    const NEVER_COMBINES: &str = " \t!\"#$%&'()*+,-./:;?@[\\]^_{|}~";
    let prefix = match normal.chars().next_back() {
        Some(last) if NEVER_COMBINES.contains(last) => &*normal,
        _ => normal.grapheme_indices(true).next_back().and_then(|(i, _)| normal.get(..i)).unwrap_or(""),
    };
    let prefix = (!prefix.is_empty()).then(|| prefix.into());
    Value::refined(Type::String, Refinement { not_null: true, prefix, ..Refinement::default() })
}

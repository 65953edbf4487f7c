//! Functions that convert between types, and those about marks. `try` and `can` are declared here; the evaluator
//! implements them, because they need the expressions of their arguments.

use super::signature::{ListOf, MapOf, Raw, Rest, SetOf, Signature, Typed, functions};
use super::{Function, FunctionError};
use crate::lang::convert::convert;
use gpuform_schema::number::Number;
use gpuform_schema::types::Type;
use gpuform_schema::value::{Marks, Str, Value};

functions! {
    /// Replaces ephemeral values, and ephemeral values inside the given value, by null.
    fn ephemeralasnull(value: Raw) -> Value {
        without_ephemeral(&value.0)
    }

    /// Tells whether a value is sensitive itself.
    fn issensitive(value: Raw) -> Typed<bool> {
        let (v, marks) = value.0.unmark();
        Typed::new(if marks.contains(Marks::SENSITIVE) {
            Value::TRUE
        } else if matches!(v, Value::Unknown(_)) {
            Value::unknown_not_null(Type::Bool)
        } else {
            Value::FALSE
        })
    }

    /// Takes back that a value is sensitive, so that it is shown. Only for values that are safe to show.
    fn nonsensitive(value: Raw) -> Value {
        let (v, marks) = value.0.unmark();
        v.clone().with_marks(marks.without(Marks::SENSITIVE))
    }

    /// Marks a value as sensitive, so that it is not shown.
    fn sensitive(value: Raw) -> Value {
        value.0.with_marks(Marks::SENSITIVE)
    }

    /// Converts a value to a bool, if it is a bool or a string that says `true` or `false`.
    fn tobool(v: Raw) -> Result<Typed<bool>, FunctionError> {
        converted(&v)
    }

    /// Converts a sequence of values to a list, with all elements of one type.
    fn tolist(v: Raw) -> Result<Typed<ListOf<Value>>, FunctionError> {
        converted(&v)
    }

    /// Converts an object to a map, with all elements of one type.
    fn tomap(v: Raw) -> Result<Typed<MapOf<Value>>, FunctionError> {
        converted(&v)
    }

    /// Converts a value to a number, if it is a number or a string with the decimal digits of one.
    fn tonumber(v: Raw) -> Result<Typed<Number>, FunctionError> {
        converted(&v)
    }

    /// Converts a sequence of values to a set: all elements of one type, in no order, duplicates removed.
    fn toset(v: Raw) -> Result<Typed<SetOf<Value>>, FunctionError> {
        converted(&v)
    }

    /// Converts a string, number or bool to a string.
    fn tostring(v: Raw) -> Result<Typed<Str>, FunctionError> {
        converted(&v)
    }
}

/// The functions that the evaluator implements.
pub(super) fn special() -> Vec<Function> {
    let mut can = Signature::new::<bool>("can", &["Tells whether an expression has a value rather than an error."]);
    can.parameter::<Value>("expression", &[]);
    let doc = "Evaluates its arguments one after another and returns the value of the first that has no errors.";
    let mut attempt = Signature::new::<Value>("try", &[doc]);
    attempt.parameter::<Rest<Value>>("expressions", &[]);
    let doc = "Converts a value to a type, which is written as in the declaration of a variable.";
    let mut convert = Signature::new::<Value>("convert", &[doc]);
    convert.parameter::<Value>("value", &[]);
    convert.parameter::<Value>("type", &[]);
    vec![can.special(), attempt.special(), convert.special()]
}

fn converted<T>(value: &Raw) -> Result<Typed<T>, FunctionError>
where
    T: super::signature::Kind,
{
    match convert(&value.0, &T::ty()) {
        // Of an unknown value not even the type of the elements is kept.
        Ok(v) if !value.0.is_known() => Ok(Typed::new(Value::unknown(T::ty()).with_marks(v.marks()))),
        Ok(v) => Ok(Typed::new(v)),
        Err(e) => Err(FunctionError::argument(0, e.to_string())),
    }
}

fn without_ephemeral(value: &Value) -> Value {
    let (v, marks) = value.unmark();
    if marks.contains(Marks::EPHEMERAL) {
        return Value::Null(v.ty()).with_marks(marks.without(Marks::EPHEMERAL));
    }
    if value.has_marks() { value.map_children(&mut |_, part| without_ephemeral(part)) } else { value.clone() }
}

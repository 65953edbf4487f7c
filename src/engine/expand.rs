//! `count` and `for_each`: from their value to the instances that are asked for.

use crate::config::model::Repetition;
use crate::diag::{Diagnostic, Range, Result};
use crate::engine::runtime::Repeat;
use crate::lang::convert::convert;
use crate::lang::scope::Scope;
use gpuform_schema::{Marks, Number, Type, Value};

/// What a repetition comes to.
pub enum Expansion {
    Known(Vec<Repeat>),
    /// Not known before something is applied; the error to give where that is not acceptable.
    Unknown(Diagnostic),
}

fn fail<T>(summary: &str, detail: impl Into<String>, at: Range) -> Result<T> {
    Err(Box::new(Diagnostic::error(summary, detail).at(at)))
}

/// Evaluates a repetition.
///
/// # Errors
/// A diagnostic where the value cannot be used.
pub fn expand(repetition: &Repetition, scope: &dyn Scope) -> Result<Expansion> {
    match repetition {
        Repetition::Single => Ok(Expansion::Known(vec![Repeat::None])),
        Repetition::Count(e) => count(&e.eval(scope)?, e.range),
        Repetition::ForEach(e) => for_each(&e.eval(scope)?, e.range),
        Repetition::Enabled(e) => enabled(&e.eval(scope)?, e.range),
    }
}

/// Instances beyond this number are surely a mistake, and would only exhaust memory: each takes more than a kilobyte.
const MOST: u64 = 500_000;

fn count(value: &Value, at: Range) -> Result<Expansion> {
    const SUMMARY: &str = "Invalid count argument";
    if value.marks().contains(Marks::EPHEMERAL) {
        return fail(SUMMARY, "The instances are recorded in the state, so \"count\" cannot be ephemeral.", at);
    }
    let (value, _) = value.unmark();
    if value.is_null() {
        return fail(SUMMARY, "\"count\" must be a whole number, but is null.", at);
    }
    if !value.is_known() {
        return Ok(Expansion::Unknown(unknown(SUMMARY, "count", "", at)));
    }
    let number = match convert(value, &Type::Number) {
        Ok(Value::Number(n)) => n,
        Ok(_) | Err(_) => {
            let detail = format!("\"count\" must be a whole number, not {}.", value.ty().friendly_name());
            return fail("Incorrect value type", detail, at);
        }
    };
    if !number.is_integer() {
        return fail(SUMMARY, format!("\"count\" must be a whole number, but is {number}."), at);
    }
    if number < Number::ZERO {
        return fail(SUMMARY, format!("\"count\" must not be negative, but is {number}."), at);
    }
    match number.as_u64().filter(|n| *n <= MOST) {
        Some(n) => Ok(Expansion::Known((0..n).map(Repeat::Count).collect())),
        None => fail(SUMMARY, format!("\"count\" is {number}; at most {MOST} instances are possible."), at),
    }
}

fn enabled(value: &Value, at: Range) -> Result<Expansion> {
    const SUMMARY: &str = "Invalid enabled argument";
    let (value, marks) = value.unmark();
    if !marks.is_empty() {
        return fail(SUMMARY, "\"enabled\" does not accept a sensitive or ephemeral value.", at);
    }
    if !value.is_known() {
        return Ok(Expansion::Unknown(unknown(SUMMARY, "enabled", "", at)));
    }
    match convert(value, &Type::Bool) {
        Ok(Value::Bool(true)) => Ok(Expansion::Known(vec![Repeat::None])),
        Ok(Value::Bool(false)) => Ok(Expansion::Known(Vec::new())),
        _ => fail(SUMMARY, "\"enabled\" must be true or false.", at),
    }
}

fn for_each(value: &Value, at: Range) -> Result<Expansion> {
    const SUMMARY: &str = "Invalid for_each argument";
    let marks = value.marks();
    let (value, _) = value.unmark();
    let set_marks = match value {
        Value::Set(c) => c.items.iter().fold(marks, |m, i| m | i.deep_marks()),
        _ => marks,
    };
    if set_marks.contains(Marks::SENSITIVE) {
        return fail(
            SUMMARY,
            "The keys of instances are shown in addresses, so \"for_each\" does not accept a sensitive value. If the keys \
             are safe to show, take them with nonsensitive().",
            at,
        );
    }
    if set_marks.contains(Marks::EPHEMERAL) && value.is_known() {
        return fail(SUMMARY, "The instances are recorded in the state, so \"for_each\" cannot be ephemeral.", at);
    }
    if value.is_null() {
        return fail(SUMMARY, "\"for_each\" must be a map, an object or a set of strings, but is null.", at);
    }
    match value {
        Value::Unknown(u) => match &u.ty {
            Type::Dynamic | Type::Map(_) | Type::Object(_) => Ok(Expansion::Unknown(unknown(
                SUMMARY,
                "for_each",
                " Where only the values are unknown, write the keys as literals.",
                at,
            ))),
            Type::Set(e) if matches!(**e, Type::String | Type::Dynamic) => Ok(Expansion::Unknown(unknown(
                SUMMARY,
                "for_each",
                " A map with known keys, whose values may be unknown, is a way out.",
                at,
            ))),
            ty => wrong_type(ty, at),
        },
        Value::Map(_) | Value::Object(_) => Ok(Expansion::Known(
            value.entries().into_iter().flatten().map(|(k, v)| Repeat::Each(k.clone(), v.clone())).collect(),
        )),
        Value::Set(c) => {
            if !matches!(c.element, Type::String | Type::Dynamic) && !c.items.is_empty() {
                return fail(
                    "Invalid for_each set argument",
                    format!(
                        "A set for \"for_each\" must hold strings, but this one holds elements of type {}.",
                        c.element.friendly_name()
                    ),
                    at,
                );
            }
            let mut out = Vec::with_capacity(c.items.len());
            for i in &c.items {
                match i {
                    Value::String(s) => out.push(Repeat::Each(s.clone(), i.clone())),
                    Value::Unknown(_) => {
                        return Ok(Expansion::Unknown(unknown(
                            SUMMARY,
                            "for_each",
                            " A map with known keys, whose values may be unknown, is a way out.",
                            at,
                        )));
                    }
                    _ => {
                        return fail("Invalid for_each set argument", "A set for \"for_each\" must not hold null.", at);
                    }
                }
            }
            Ok(Expansion::Known(out))
        }
        v => wrong_type(&v.ty(), at),
    }
}

fn wrong_type(ty: &Type, at: Range) -> Result<Expansion> {
    let hint = match ty {
        Type::List(_) | Type::Tuple(_) => " Turn a list of strings into a set with toset().",
        _ => "",
    };
    fail(
        "Invalid for_each argument",
        format!("\"for_each\" must be a map, an object or a set of strings, not {}.{hint}", ty.friendly_name()),
        at,
    )
}

fn unknown(summary: &str, argument: &str, hint: &str, at: Range) -> Diagnostic {
    Diagnostic::error(
        summary,
        format!(
            "The value of \"{argument}\" depends on something that is known only after apply, so it is not clear which \
             instances there will be.{hint} Otherwise apply first what it depends on, with -target."
        ),
    )
    .at(at)
}

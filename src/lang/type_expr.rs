//! Type constraints as they are written in `variable` blocks: `list(object({ a = optional(string, "x") }))`. Reading the
//! expression gives a [`TypeConstraint`], which `convert` applies to values.

use crate::diag::{Diagnostic, Diagnostics, Range};
use crate::lang::convert::{AttributeConstraint, TypeConstraint};
use crate::lang::suggest::did_you_mean;
use crate::lang::syntax::{Call, Expr, ExprKind, ObjectItem};
use gpuform_schema::{Str, Value};
use std::collections::BTreeMap;

const INVALID: &str = "Invalid type specification";
const KEYWORDS: [&str; 9] = ["string", "number", "bool", "any", "list", "set", "map", "object", "tuple"];

/// Reads the `type` argument of a variable: a type constraint, or `list` and `map` alone for those of any element type.
/// In JSON syntax the caller parses the string first. `None` after errors.
pub fn variable_type(expr: &Expr, diags: &mut Diagnostics) -> Option<TypeConstraint> {
    if let ExprKind::Literal(Value::String(quoted)) = &expr.kind {
        let summary = match &**quoted {
            "string" | "list" | "map" => "Invalid quoted type constraints",
            _ => "Invalid legacy variable type hint",
        };
        diags.error(summary, "A type is written without quotes, such as string or list(string).", expr.range);
        return None;
    }
    match keyword(expr) {
        Some("list") => Some(TypeConstraint::List(Box::new(TypeConstraint::Any))),
        Some("map") => Some(TypeConstraint::Map(Box::new(TypeConstraint::Any))),
        _ => constraint(expr, diags),
    }
}

/// Reads a type constraint. `None` after errors, which are all reported.
pub fn constraint(expr: &Expr, diags: &mut Diagnostics) -> Option<TypeConstraint> {
    if let Some(name) = keyword(expr) {
        return primitive(name).or_else(|| {
            let detail = match name {
                "list" | "set" | "map" => format!("The type {name} needs the type of its elements: {name}(string)."),
                "object" => "The type object needs its attributes: object({ name = string }).".into(),
                "tuple" => "The type tuple needs the types of its elements: tuple([string, number]).".into(),
                _ => format!("\"{name}\" is not a type.{}", did_you_mean(name, KEYWORDS)),
            };
            diags.error(INVALID, detail, expr.range);
            None
        });
    }
    let ExprKind::Call(call) = &expr.kind else {
        let detail = "A type is one of the words string, number, bool and any, or is made with list(…), set(…), map(…), \
                      object({…}) or tuple([…]).";
        diags.error(INVALID, detail, expr.range);
        return None;
    };
    match &*call.name {
        "list" => element(call, expr, diags).map(TypeConstraint::List),
        "set" => element(call, expr, diags).map(TypeConstraint::Set),
        "map" => element(call, expr, diags).map(TypeConstraint::Map),
        "object" => object(call, expr, diags),
        "tuple" => tuple(call, expr, diags),
        name if primitive(name).is_some() => {
            diags.error(INVALID, format!("The type {name} takes no arguments."), arguments_range(call, expr));
            None
        }
        "optional" => {
            let detail = "Only attributes of an object type can be optional.";
            diags.error(INVALID, detail, call.name_range);
            None
        }
        name => {
            diags.error(
                INVALID,
                format!("\"{name}\" does not make a type.{}", did_you_mean(name, KEYWORDS)),
                expr.range,
            );
            None
        }
    }
}

/// The name that an expression consists of.
fn keyword(expr: &Expr) -> Option<&str> {
    match &expr.kind {
        ExprKind::Traversal(t) if t.steps.is_empty() => Some(&t.root),
        _ => None,
    }
}

fn primitive(name: &str) -> Option<TypeConstraint> {
    match name {
        "bool" => Some(TypeConstraint::Bool),
        "number" => Some(TypeConstraint::Number),
        "string" => Some(TypeConstraint::String),
        "any" => Some(TypeConstraint::Any),
        _ => None,
    }
}

/// From the opening to the closing parenthesis.
fn arguments_range(call: &Call, expr: &Expr) -> Range {
    Range { start: call.name_range.end, ..expr.range }
}

/// The one argument of a type constructor.
fn only_argument<'a>(call: &'a Call, expr: &Expr, wanted: &str, diags: &mut Diagnostics) -> Option<&'a Expr> {
    if let [only] = &call.args[..] {
        return Some(only);
    }
    let whole = arguments_range(call, expr);
    let subject = match &call.args[..] {
        [_, second, .., last] | [_, second @ last] => second.range.to(last.range),
        _ => whole,
    };
    let detail = format!("The type {} takes one argument: {wanted}.", call.name);
    diags.push(Diagnostic::error(INVALID, detail).at(subject).context(whole));
    None
}

fn element(call: &Call, expr: &Expr, diags: &mut Diagnostics) -> Option<Box<TypeConstraint>> {
    constraint(only_argument(call, expr, "the type of its elements", diags)?, diags).map(Box::new)
}

fn tuple(call: &Call, expr: &Expr, diags: &mut Diagnostics) -> Option<TypeConstraint> {
    let argument = only_argument(call, expr, "the list of the types of its elements", diags)?;
    let ExprKind::Tuple(items) = &argument.kind else {
        let d = Diagnostic::error(INVALID, "A tuple type is made of a list of types: tuple([string, number]).");
        diags.push(d.at(argument.range).context(expr.range));
        return None;
    };
    let types: Vec<Option<TypeConstraint>> = items.iter().map(|e| constraint(e, diags)).collect();
    types.into_iter().collect::<Option<_>>().map(TypeConstraint::Tuple)
}

fn object(call: &Call, expr: &Expr, diags: &mut Diagnostics) -> Option<TypeConstraint> {
    let argument = only_argument(call, expr, "its attributes and their types", diags)?;
    let ExprKind::Object(items) = &argument.kind else {
        let d = Diagnostic::error(INVALID, "An object type is made of names and types: object({ name = string }).");
        diags.push(d.at(argument.range).context(expr.range));
        return None;
    };
    let mut ok = true;
    let mut attrs: BTreeMap<Str, AttributeConstraint> = BTreeMap::new();
    for item in items {
        match attribute(item, expr, diags) {
            Some((name, attr)) => {
                if attrs.insert(name, attr).is_some() {
                    let d = Diagnostic::error(INVALID, "Each attribute of an object type has a name of its own.");
                    diags.push(d.at(item.key.range).context(expr.range));
                    ok = false;
                }
            }
            None => ok = false,
        }
    }
    ok.then_some(TypeConstraint::Object(attrs))
}

/// Whether the key is not the bare name that it stands for.
fn is_quoted(item: &ObjectItem, name: &str) -> bool {
    let range = item.key.range;
    (range.end - range.start) as usize > name.len()
}

fn attribute(item: &ObjectItem, object: &Expr, diags: &mut Diagnostics) -> Option<(Str, AttributeConstraint)> {
    let name = match &item.key.kind {
        ExprKind::Literal(Value::String(name)) if !is_quoted(item, name) => name.clone(),
        _ => {
            let d = Diagnostic::error(INVALID, "The attributes of an object type are plain names.");
            diags.push(d.at(item.key.range).context(object.range));
            return None;
        }
    };
    let Some(call) = optional(&item.value) else {
        let constraint = constraint(&item.value, diags)?;
        return Some((name, AttributeConstraint { constraint, optional: false, default: None }));
    };
    let (ty, default) = match &call.args[..] {
        [ty] => (ty, None),
        [ty, default] => (ty, Some(default)),
        args => {
            let detail = if args.is_empty() {
                "An optional attribute needs its type: optional(string)."
            } else {
                "An optional attribute has a type and at most one default value: optional(string, \"x\")."
            };
            let d = Diagnostic::error(INVALID, detail);
            diags.push(d.at(arguments_range(call, &item.value)).context(item.value.range));
            return None;
        }
    };
    let before = diags.len();
    let default = default.and_then(|e| Some((e, e.eval_constant(diags)?)));
    let constraint = constraint(ty, diags);
    if diags.len() > before {
        return None;
    }
    let constraint = constraint?;
    let default = match default {
        None => None,
        Some((e, value)) => match constraint.apply(&value) {
            Ok(value) => Some(value),
            Err(error) => {
                let detail = format!("The default value does not fit the type of the attribute: {error}.");
                diags.error("Invalid default value for optional attribute", detail, e.range);
                return None;
            }
        },
    };
    Some((name, AttributeConstraint { constraint, optional: true, default }))
}

/// The call `optional(…)`.
fn optional(expr: &Expr) -> Option<&Call> {
    match &expr.kind {
        ExprKind::Call(call) if &*call.name == "optional" => Some(call),
        _ => None,
    }
}

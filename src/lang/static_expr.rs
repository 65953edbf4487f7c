//! Reading expressions that are not evaluated but taken by their form: references, keywords, lists of references, and
//! constants. In JSON syntax such expressions stand in strings. The configuration loader reads meta-arguments with these.

use super::convert::convert;
use super::parse::parse_expression;
use super::syntax::{Expr, ExprKind, ObjectItem, StepKind, Target, Traversal};
use crate::diag::{Diagnostics, Range};
use gpuform_schema::{Type, Value};

/// Where an expression begins: what Terraform underlines for a constant of the wrong type.
pub fn start_range(expr: &Expr, json: bool) -> Range {
    let r = expr.range;
    match &expr.kind {
        ExprKind::Literal(Value::String(_)) if !json && r.end >= r.start + 2 => {
            Range { start: r.start + 1, end: r.end - 1, ..r }
        }
        ExprKind::Tuple(_) | ExprKind::Object(_) | ExprKind::For(_) | ExprKind::Paren(_) => {
            Range { end: r.start + 1, ..r }
        }
        // The name and the parenthesis after it.
        ExprKind::Call(c) => Range { end: c.name_range.end + 1, ..c.name_range },
        _ => r,
    }
}

/// In JSON syntax, the expression that a string holds; any other expression as it is. `None` after errors.
pub fn unquote_json(expr: Expr, json: bool, diags: &mut Diagnostics) -> Option<Expr> {
    match &expr.kind {
        ExprKind::Literal(Value::String(text)) if json => {
            match parse_expression(text, expr.range.file, expr.range.start + 1) {
                Ok(expr) => Some(expr),
                Err(errors) => {
                    diags.extend(errors);
                    None
                }
            }
        }
        _ => Some(expr),
    }
}

/// A reference to an object by its name, with constant keys at most. `None` after an error.
pub fn reference(expr: Expr, json: bool, diags: &mut Diagnostics) -> Option<Traversal> {
    let range = expr.range;
    let mut quiet = Diagnostics::new();
    let found = unquote_json(expr, json, &mut quiet).and_then(static_traversal);
    if found.is_none() {
        diags.error(
            "Invalid expression",
            "Only a reference can stand here: names and constant indexes, without calculations, function calls or \
             templates.",
            range,
        );
    }
    found
}

/// The traversal that an expression consists of, if its keys are constants. Here the words `null`, `true` and `false`
/// are names like others: `null` is also the name of a provider.
pub fn static_traversal(expr: Expr) -> Option<Traversal> {
    let named = |value: &Value, root_range, steps| {
        let root = match value {
            Value::Null(_) => "null",
            Value::Bool(true) => "true",
            Value::Bool(false) => "false",
            _ => return None,
        };
        Some(Traversal { root: root.into(), root_range, steps, target: Target::Unresolved, consumed: 0 })
    };
    let traversal = match expr.kind {
        ExprKind::Traversal(t) => *t,
        ExprKind::Literal(value) => named(&value, expr.range, Box::default())?,
        ExprKind::Relative(base, steps) => match &base.kind {
            ExprKind::Literal(value) => named(value, base.range, steps)?,
            _ => return None,
        },
        _ => return None,
    };
    let constant = |k: &StepKind| match k {
        StepKind::Attr(_) | StepKind::LegacyIndex(_) => true,
        StepKind::Index(key) => matches!(key.kind, ExprKind::Literal(_)),
        StepKind::Splat { .. } => false,
    };
    traversal.steps.iter().all(|s| constant(&s.kind)).then_some(traversal)
}

/// The word that an expression consists of, such as `all` or `destroy`.
pub fn keyword(expr: &Expr, json: bool) -> Option<&str> {
    match &expr.kind {
        ExprKind::Traversal(t) if t.steps.is_empty() => Some(&t.root),
        ExprKind::Literal(Value::String(s)) if json => Some(s),
        _ => None,
    }
}

/// The items of a list written out. `None` after an error.
pub fn list(expr: Expr, diags: &mut Diagnostics) -> Option<Vec<Expr>> {
    match expr.kind {
        ExprKind::Tuple(items) => Some(items.into()),
        _ => {
            diags.error("Invalid expression", "A list in square brackets must stand here.", start_range(&expr, false));
            None
        }
    }
}

/// The items of an object written out. `None` after an error.
pub fn object(expr: Expr, diags: &mut Diagnostics) -> Option<Vec<ObjectItem>> {
    match expr.kind {
        ExprKind::Object(items) => Some(items.into()),
        _ => {
            diags.error("Invalid expression", "A map in braces must stand here.", start_range(&expr, false));
            None
        }
    }
}

/// A constant of a type. `None` where it is null or after an error.
pub fn constant(expr: &Expr, ty: &Type, json: bool, diags: &mut Diagnostics) -> Option<Value> {
    let value = match &expr.kind {
        // What could not be parsed was reported.
        ExprKind::Literal(Value::Unknown(_)) => return None,
        ExprKind::Literal(v) => v.clone(),
        _ => match expr.eval_constant(diags) {
            Some(v) => v,
            None => {
                let at = start_range(expr, json);
                diags.error("Unsuitable value type", "A value that is known from the start is needed here.", at);
                return None;
            }
        },
    };
    match convert(&value, ty) {
        Ok(v) if v.is_null() => None,
        Ok(v) => Some(v),
        Err(e) => {
            diags.error("Unsuitable value type", format!("This value does not fit: {e}."), start_range(expr, json));
            None
        }
    }
}

/// A constant string; null counts as not given.
pub fn constant_string(expr: &Expr, json: bool, diags: &mut Diagnostics) -> Option<String> {
    constant(expr, &Type::String, json, diags).and_then(|v| v.as_str().map(str::to_owned))
}

/// A constant truth value; null counts as not given.
pub fn constant_bool(expr: &Expr, json: bool, diags: &mut Diagnostics) -> Option<bool> {
    constant(expr, &Type::Bool, json, diags).and_then(|v| v.as_bool())
}

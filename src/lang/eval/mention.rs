//! What a failure says about the values involved: each reference in the expression with a statement about its value,
//! safe to show.

use crate::diag::MentionedValue;
use crate::lang::ops;
use crate::lang::scope::{Locals, Scope};
use crate::lang::syntax::{Expr, ExprKind, Step, StepKind, Target, Traversal};
use gpuform_schema::{Marks, Type, Value};
use std::collections::BTreeMap;
use std::fmt::Write;

/// How many references a diagnostic mentions at most.
const LIMIT: usize = 20;

/// How many characters of a string are shown.
const LONGEST: usize = 1000;

/// The references in an expression and what their values are, sorted by reference. Sensitive values are left out.
pub fn mentions(expr: &Expr, scope: &dyn Scope, locals: Option<&Locals>) -> Vec<MentionedValue> {
    let mut found = BTreeMap::new();
    expr.visit_traversals(&mut |t| {
        if found.len() < LIMIT {
            mention(t, scope, locals, &mut found);
        }
    });
    found.into_iter().map(|(traversal, statement)| MentionedValue { traversal, statement }).collect()
}

/// Adds the longest part of a reference that has a value.
fn mention(t: &Traversal, scope: &dyn Scope, locals: Option<&Locals>, found: &mut BTreeMap<String, String>) {
    let local = if matches!(t.target, Target::Scoped | Target::Unresolved) {
        locals.and_then(|l| l.get(&t.root))
    } else {
        None
    };
    let (mut value, consumed) = match local {
        Some(v) => (v.clone(), 0),
        None => match scope.value(t) {
            Ok(v) => (v, usize::from(t.consumed)),
            Err(_) => return,
        },
    };
    let mut used = consumed;
    for step in t.steps.iter().skip(consumed) {
        let part = match &step.kind {
            StepKind::Attr(name) => ops::attribute(&value, name),
            StepKind::LegacyIndex(i) => ops::index(&value, &Value::number(*i)),
            StepKind::Index(key) => match &key.kind {
                ExprKind::Literal(k) => ops::index(&value, k),
                _ => break,
            },
            StepKind::Splat { .. } => break,
        };
        let Ok(part) = part else { break };
        value = part;
        used += 1;
    }
    if let Some(statement) = statement(&value) {
        found.entry(written(&t.root, t.steps.get(..used).unwrap_or_default())).or_insert(statement);
    }
}

/// A reference as text.
fn written(root: &str, steps: &[Step]) -> String {
    let mut text = root.to_owned();
    for step in steps {
        // Writing to a string cannot fail.
        let _ = match &step.kind {
            StepKind::Attr(name) => write!(text, ".{name}"),
            StepKind::LegacyIndex(i) => write!(text, "[{i}]"),
            StepKind::Index(key) => match &key.kind {
                ExprKind::Literal(Value::String(s)) => write!(text, "[{}]", crate::addr::quote(s)),
                ExprKind::Literal(Value::Number(n)) => write!(text, "[{n}]"),
                _ => write!(text, "[...]"),
            },
            StepKind::Splat { full } => write!(text, "{}", if *full { "[*]" } else { ".*" }),
        };
    }
    text
}

/// What is said about a value after its reference; nothing about sensitive and ephemeral ones, nor where nothing is
/// known.
fn statement(value: &Value) -> Option<String> {
    let (inner, marks) = value.unmark();
    if marks.contains(Marks::SENSITIVE) || marks.contains(Marks::EPHEMERAL) {
        return None;
    }
    match inner {
        Value::Unknown(u) if u.ty == Type::Dynamic => None,
        Value::Unknown(u) => Some(format!("is a {}, known only after apply", u.ty.friendly_name())),
        v => Some(format!("is {}", compact(v))),
    }
}

/// A value in a few words: scalars as they are written, of everything else the type and size.
pub fn compact(value: &Value) -> String {
    let (inner, marks) = value.unmark();
    if marks.contains(Marks::SENSITIVE) {
        return "a sensitive value".into();
    }
    if marks.contains(Marks::EPHEMERAL) {
        return "an ephemeral value".into();
    }
    match inner {
        Value::Null(_) => "null".into(),
        Value::Bool(b) => b.to_string(),
        Value::Number(n) => n.to_string(),
        Value::String(s) => match s.char_indices().nth(LONGEST) {
            Some((end, _)) => {
                format!("a string that begins with {}", crate::addr::quote(s.get(..end).unwrap_or_default()))
            }
            None => crate::addr::quote(s),
        },
        Value::Unknown(u) => format!("a {}, known only after apply", u.ty.friendly_name()),
        Value::Object(o) => match &o.names[..] {
            [] => "object with no attributes".into(),
            [one] => format!("object with 1 attribute {one:?}"),
            names => format!("object with {} attributes", names.len()),
        },
        v => {
            let kind = match v {
                Value::Tuple(_) => "tuple".into(),
                v => v.ty().friendly_name(),
            };
            match v.element_count() {
                Some(0) => format!("empty {kind}"),
                Some(1) => format!("{kind} with 1 element"),
                Some(n) => format!("{kind} with {n} elements"),
                None => kind,
            }
        }
    }
}

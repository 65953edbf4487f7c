//! References as text: how a name with its steps is printed in documents, whatever it resolves to. Resolving is
//! `resolve`'s task.

use super::syntax::{ExprKind, StepKind, TemplatePart, Traversal};
use crate::addr::quote;
use gpuform_schema::Value;
use std::fmt::Write as _;

impl Traversal {
    /// How many steps after the root belong to the name of the object: one for `var.x` and `t.n`, two for `data.t.n` and
    /// `module.m["k"]`. `None` where the name is not complete.
    fn subject_len(&self) -> Option<usize> {
        let attr = |i: usize| matches!(self.steps.get(i).map(|s| &s.kind), Some(StepKind::Attr(_)));
        let key = |i: usize| usize::from(self.steps.get(i).is_some_and(|s| constant_key(&s.kind).is_some()));
        let named = |n: usize| (0..n).all(attr).then_some(n);
        match &*self.root {
            "self" => Some(0),
            "var" | "local" | "each" | "count" | "path" | "terraform" => named(1),
            "module" => named(1).map(|n| n + key(n)),
            "data" | "ephemeral" | "resource" => named(2),
            _ => named(1),
        }
    }

    /// The text of the reference and of everything around it that it is a part of, the longest first: `a.b[0].c`,
    /// `a.b[0]`, `a.b`. Steps from the first key on that is not a constant are left out.
    pub fn prefixes(&self) -> Vec<String> {
        let Some(subject) = self.subject_len() else { return Vec::new() };
        let mut text = self.root.to_string();
        let mut all = Vec::new();
        if subject == 0 {
            all.push(text.clone());
        }
        for (i, step) in self.steps.iter().enumerate() {
            match &step.kind {
                StepKind::Attr(name) => {
                    text.push('.');
                    text.push_str(name);
                }
                kind => match constant_key(kind) {
                    Some(key) => drop(write!(text, "[{key}]")),
                    None => break,
                },
            }
            if i + 1 >= subject {
                all.push(text.clone());
            }
        }
        all.reverse();
        all
    }
}

/// A key that stands in the source as a constant, as it is printed between brackets.
fn constant_key(step: &StepKind) -> Option<String> {
    match step {
        StepKind::LegacyIndex(i) => Some(i.to_string()),
        StepKind::Index(key) => match &key.kind {
            ExprKind::Literal(Value::String(s)) => Some(quote(s)),
            ExprKind::Literal(Value::Number(n)) => Some(n.to_string()),
            ExprKind::Template(parts) => match &parts[..] {
                [] => Some(quote("")),
                [TemplatePart::Text(s)] => Some(quote(s)),
                _ => None,
            },
            _ => None,
        },
        StepKind::Attr(_) | StepKind::Splat { .. } => None,
    }
}

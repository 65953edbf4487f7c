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
        let Some(mut subject) = self.subject_len() else { return Vec::new() };
        if &*self.root == "module" && subject == 2 && self.steps.len() == 2 {
            // An instance of a module as a whole is a part of the module.
            subject = 1;
        }
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

#[cfg(test)]
mod tests {
    use crate::diag::FileId;
    use crate::lang::parse::parse_expression;

    fn prefixes(text: &str) -> Vec<String> {
        let mut all = Vec::new();
        parse_expression(text, FileId(0), 0).unwrap().visit_traversals(&mut |t| all.extend(t.prefixes()));
        all
    }

    #[test]
    fn a_reference_is_listed_with_what_it_is_a_part_of() {
        assert_eq!(prefixes("var.zones"), ["var.zones"]);
        assert_eq!(prefixes("each.value.port"), ["each.value.port", "each.value"]);
        assert_eq!(prefixes("self.id"), ["self.id", "self"]);
        assert_eq!(prefixes("data.t.n.id"), ["data.t.n.id", "data.t.n"]);
        assert_eq!(
            prefixes(r#"t.n["a"].ports[0]"#),
            [r#"t.n["a"].ports[0]"#, r#"t.n["a"].ports"#, r#"t.n["a"]"#, "t.n",]
        );
        assert_eq!(prefixes(r#"module.m["k"].out"#), [r#"module.m["k"].out"#, r#"module.m["k"]"#]);
        assert_eq!(prefixes("module.m[1]"), ["module.m[1]", "module.m"]);
    }

    #[test]
    fn keys_that_are_not_constant_end_a_reference() {
        assert_eq!(prefixes("t.n[var.k].id"), ["t.n", "var.k"]);
        assert_eq!(prefixes("t.n[*].id"), ["t.n"]);
        assert_eq!(prefixes("[for x in t.n : x.id]"), ["t.n"]);
    }
}

//! Steps from a value to its parts, and splats.

use super::Cx;
use crate::diag::{Diagnostics, Range};
use crate::lang::ops::{self, OpError};
use crate::lang::syntax::{Expr, Step, StepKind};
use gpuform_schema::{Number, Type, Value};

impl Cx<'_> {
    /// Applies steps to a value; stops at the first that fails.
    pub(super) fn steps(self, mut value: Value, steps: &[Step], expr: &Expr, diags: &mut Diagnostics) -> Value {
        let mut steps = steps;
        while let Some((step, after)) = steps.split_first() {
            steps = after;
            let part = match &step.kind {
                StepKind::Attr(name) => ops::attribute(&value, name),
                StepKind::LegacyIndex(i) => ops::index(&value, &Value::Number(Number::from(*i))),
                StepKind::Index(key) => {
                    let before = diags.len();
                    let key = self.eval(key, diags);
                    if diags.len() > before {
                        return Value::unknown(Type::Dynamic);
                    }
                    ops::index(&value, &key)
                }
                StepKind::Splat { full } => {
                    let taken = if *full { after.len() } else { attributes_only(after) };
                    let (rest, after) = after.split_at(taken);
                    steps = after;
                    let before = diags.len();
                    value = self.splat_value(&value, step.range, rest, expr, diags);
                    if diags.len() > before {
                        return value;
                    }
                    continue;
                }
            };
            match part {
                Ok(part) => value = part,
                Err(e) => return self.fail_op(diags, expr, step.range, e),
            }
        }
        value
    }

    /// `source.*.rest` and `source[*].rest`.
    pub(super) fn splat(self, source: &Expr, rest: &[Step], expr: &Expr, diags: &mut Diagnostics) -> Value {
        let before = diags.len();
        let value = self.eval(source, diags);
        if diags.len() > before {
            return Value::unknown(Type::Dynamic);
        }
        self.splat_value(&value, source.range, rest, expr, diags)
    }

    fn splat_value(self, value: &Value, at: Range, rest: &[Step], expr: &Expr, diags: &mut Diagnostics) -> Value {
        let before = diags.len();
        let result = ops::splat::<OpError>(value, &mut |item| Ok(self.steps(item.clone(), rest, expr, diags)));
        match result {
            Ok(v) if diags.len() > before => Value::unknown(v.ty()),
            Ok(v) => v,
            Err(e) => self.fail_op(diags, expr, at, e),
        }
    }
}

/// How many of the steps an attribute-only splat takes.
fn attributes_only(steps: &[Step]) -> usize {
    steps.iter().take_while(|s| matches!(s.kind, StepKind::Attr(_) | StepKind::LegacyIndex(_))).count()
}

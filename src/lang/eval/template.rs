//! Templates: text with interpolations, `if` and `for` directives.

use super::Cx;
use super::collection::Iterable;
use crate::diag::{Diagnostics, Range};
use crate::lang::ops::TemplateBuilder;
use crate::lang::scope::Locals;
use crate::lang::syntax::{Expr, TemplatePart};
use gpuform_schema::{Str, Value};

impl Cx<'_> {
    /// A quoted template or heredoc. One that is a single interpolation keeps the type of the value.
    pub(super) fn template(self, parts: &[TemplatePart], expr: &Expr, diags: &mut Diagnostics) -> Value {
        if let [TemplatePart::Interpolation(only)] = parts {
            return self.eval(only, diags);
        }
        self.string(parts, expr, diags)
    }

    fn string(self, parts: &[TemplatePart], expr: &Expr, diags: &mut Diagnostics) -> Value {
        let mut out = TemplateBuilder::new();
        for part in parts {
            match part {
                TemplatePart::Text(t) => out.text(t),
                TemplatePart::Interpolation(e) => {
                    let before = diags.len();
                    let value = self.eval(e, diags);
                    match out.value(&value) {
                        Err(error) if diags.len() == before => {
                            self.fail_op(diags, expr, e.range, error);
                        }
                        _ => {}
                    }
                }
                TemplatePart::If { condition, then, otherwise, range: _ } => {
                    self.string_if(condition, then, otherwise, expr, &mut out, diags);
                }
                TemplatePart::For { key, value, collection, body, range: _ } => {
                    self.string_for((key.as_ref(), value), collection, body, expr, &mut out, diags);
                }
            }
        }
        out.finish()
    }

    fn string_if(
        self,
        condition: &Expr,
        then: &[TemplatePart],
        otherwise: &[TemplatePart],
        expr: &Expr,
        out: &mut TemplateBuilder,
        diags: &mut Diagnostics,
    ) {
        let (chosen, marks) = self.condition(condition, expr, diags);
        out.mark(marks);
        match chosen {
            Some(chosen) => {
                let text = self.string(if chosen { then } else { otherwise }, expr, diags);
                self.append(out, &text, condition.range, expr, diags);
            }
            None => {
                // Either may come: the marks of both count.
                for arm in [then, otherwise] {
                    out.mark(self.quietly().string(arm, expr, &mut Diagnostics::new()).marks());
                }
                out.unknown();
            }
        }
    }

    fn string_for(
        self,
        (key, value): (Option<&Str>, &Str),
        collection: &Expr,
        body: &[TemplatePart],
        expr: &Expr,
        out: &mut TemplateBuilder,
        diags: &mut Diagnostics,
    ) {
        let items = match self.iterable(collection, expr, diags) {
            Iterable::Failed => return out.unknown(),
            Iterable::Unknown(marks) | Iterable::Open(marks) => {
                out.mark(marks);
                return out.unknown();
            }
            Iterable::Known(items) => items,
        };
        let mut joined = TemplateBuilder::new();
        joined.mark(items.marks);
        let (mut known, mut stopped) = (true, false);
        items.each(&mut |k, v| {
            if stopped || !self.turn(collection.range, diags) {
                (known, stopped) = (false, true);
                return;
            }
            let item = Locals { parent: self.locals, name: value, value: v };
            let text = match key {
                Some(name) => {
                    let k = k();
                    let key = Locals { parent: self.locals, name, value: &k };
                    let item = Locals { parent: Some(&key), ..item };
                    self.with(&item).string(body, expr, diags)
                }
                None => self.with(&item).string(body, expr, diags),
            };
            known &= text.is_known();
            stopped |= !self.append(&mut joined, &text, collection.range, expr, diags);
            known &= !stopped;
        });
        if known {
            self.append(out, &joined.finish(), collection.range, expr, diags);
        } else {
            out.mark(joined.finish().marks());
            out.unknown();
        }
    }

    /// Appends a string; false after an error, because the whole gets too long.
    fn append(
        self,
        out: &mut TemplateBuilder,
        string: &Value,
        at: Range,
        expr: &Expr,
        diags: &mut Diagnostics,
    ) -> bool {
        match out.value(string) {
            Ok(()) => true,
            Err(e) => {
                self.fail_op(diags, expr, at, e);
                false
            }
        }
    }
}

//! Templates: text with interpolations, `if` and `for` directives.

use super::Cx;
use super::collection::Iterable;
use crate::diag::{Diagnostics, Range};
use crate::lang::convert::convert;
use crate::lang::scope::Locals;
use crate::lang::syntax::{Expr, TemplatePart};
use gpuform_schema::{Marks, Refinement, Str, Type, Value};
use std::fmt::Write;

const INVALID: &str = "Invalid template interpolation value";

/// The longest prefix of a template with unknown parts that is kept as a refinement, in bytes.
const PREFIX: usize = 128;

/// The result of rendering so far.
#[derive(Default)]
struct Output {
    text: String,
    marks: Marks,
    /// Something unknown was met: the text is a prefix and does not grow any more.
    unknown: bool,
}

impl Cx<'_> {
    /// A quoted template or heredoc. One that is a single interpolation keeps the type of the value.
    pub(super) fn template(self, parts: &[TemplatePart], expr: &Expr, diags: &mut Diagnostics) -> Value {
        if let [TemplatePart::Interpolation(only)] = parts {
            return self.eval(only, diags);
        }
        let before = diags.len();
        let mut out = Output::default();
        self.render(parts, expr, &mut out, diags);
        let value = if !out.unknown {
            Value::string(&out.text)
        } else {
            let prefix = (diags.len() == before).then(|| known_prefix(&out.text)).flatten();
            Value::refined(Type::String, Refinement { not_null: true, prefix, ..Refinement::default() })
        };
        value.with_marks(out.marks)
    }

    fn render(self, parts: &[TemplatePart], expr: &Expr, out: &mut Output, diags: &mut Diagnostics) {
        for part in parts {
            match part {
                TemplatePart::Text(t) => out.push(t),
                TemplatePart::Interpolation(e) => {
                    let value = self.eval(e, diags);
                    self.append(&value, e.range, expr, out, diags);
                }
                TemplatePart::If { condition, then, otherwise, range } => {
                    self.render_if(condition, then, otherwise, *range, expr, out, diags);
                }
                TemplatePart::For { key, value, collection, body, range: _ } => {
                    self.render_for((key.as_ref(), value), collection, body, expr, out, diags);
                }
            }
        }
    }

    /// Appends the value of an interpolation.
    fn append(self, value: &Value, range: Range, expr: &Expr, out: &mut Output, diags: &mut Diagnostics) {
        let (inner, marks) = value.unmark();
        out.marks |= marks;
        match inner {
            Value::String(s) => out.push(s),
            Value::Number(n) if !out.unknown => {
                // Writing to a string cannot fail.
                let _ = write!(out.text, "{n}");
            }
            Value::Null(_) => self.fail(diags, expr, range, INVALID, || {
                "The value of this expression is null, which cannot be part of a string.".into()
            }),
            Value::Unknown(u) if u.ty.is_primitive() || u.ty.is_dynamic() => out.unknown = true,
            other => match convert(other, &Type::String) {
                Ok(Value::String(s)) => out.push(&s),
                Ok(_) => out.unknown = true,
                Err(e) => {
                    self.fail(diags, expr, range, INVALID, || format!("This value cannot be part of a string: {e}."));
                }
            },
        }
    }

    #[expect(clippy::too_many_arguments)]
    fn render_if(
        self,
        condition: &Expr,
        then: &[TemplatePart],
        otherwise: &[TemplatePart],
        range: Range,
        expr: &Expr,
        out: &mut Output,
        diags: &mut Diagnostics,
    ) {
        let _ = range;
        let Some((chosen, marks)) = self.condition(condition, diags) else {
            out.unknown = true;
            return;
        };
        out.marks |= marks;
        match chosen {
            Some(true) => self.render(then, expr, out, diags),
            Some(false) => self.render(otherwise, expr, out, diags),
            None => {
                // Both arms may come: their marks count, their text does not.
                for arm in [then, otherwise] {
                    let mut ignored = Output::default();
                    self.quietly().render(arm, expr, &mut ignored, &mut Diagnostics::new());
                    out.marks |= ignored.marks;
                }
                out.unknown = true;
            }
        }
    }

    fn render_for(
        self,
        (key, value): (Option<&Str>, &Str),
        collection: &Expr,
        body: &[TemplatePart],
        expr: &Expr,
        out: &mut Output,
        diags: &mut Diagnostics,
    ) {
        let items = match self.iterable(collection, expr, diags) {
            Iterable::Failed => {
                out.unknown = true;
                return;
            }
            Iterable::Unknown(marks) => {
                out.marks |= marks;
                out.unknown = true;
                return;
            }
            Iterable::Known(items) => items,
        };
        out.marks |= items.marks;
        items.each(&mut |k, v| {
            let item = Locals { parent: self.locals, name: value, value: v };
            match key {
                Some(name) => {
                    let k = k();
                    let key = Locals { parent: self.locals, name, value: &k };
                    let item = Locals { parent: Some(&key), ..item };
                    self.with(&item).render(body, expr, out, diags);
                }
                None => self.with(&item).render(body, expr, out, diags),
            }
        });
    }
}

impl Output {
    fn push(&mut self, text: &str) {
        if !self.unknown {
            self.text.push_str(text);
        }
    }
}

/// What is certain to be at the start whatever follows: without the last character, which may still combine.
fn known_prefix(text: &str) -> Option<Str> {
    let mut end = text.len().min(PREFIX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    (end > 0).then(|| text[..end].into())
}

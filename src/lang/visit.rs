//! Walking over the references in an expression, without evaluating it. The dependency graph and the mention of values
//! in diagnostics are built on this.

use crate::diag::Range;
use crate::lang::syntax::{Call, Expr, ExprKind, Step, StepKind, TemplatePart, Traversal};
use gpuform_schema::Str;

/// What a walk over an expression meets.
pub enum Met<'a> {
    /// A name that is not a variable of a loop inside the expression.
    Traversal(&'a Traversal),
    /// A function call with the range of the whole call.
    Call(&'a Call, Range),
}

impl Traversal {
    /// From the name to the last step.
    pub fn range(&self) -> Range {
        self.steps.last().map_or(self.root_range, |s| self.root_range.to(s.range))
    }
}

impl Expr {
    /// Calls `f` for each name in the expression, except the variables of its own loops. Names inside the index
    /// expressions of a reference are visited too.
    pub fn visit_traversals<'a>(&'a self, f: &mut dyn FnMut(&'a Traversal)) {
        self.visit(&mut |met| {
            if let Met::Traversal(t) = met {
                f(t);
            }
        });
    }

    /// Calls `f` for each name and function call in the expression, in the order in which they are written.
    pub fn visit<'a>(&'a self, f: &mut dyn FnMut(Met<'a>)) {
        Walk { bound: Vec::new(), json_templates: true, f }.expr(self);
    }

    /// The same where strings of JSON syntax are no templates but constants.
    pub fn visit_as_constant<'a>(&'a self, f: &mut dyn FnMut(Met<'a>)) {
        Walk { bound: Vec::new(), json_templates: false, f }.expr(self);
    }
}

struct Walk<'a, 'f> {
    /// Variables of the loops that we are in.
    bound: Vec<&'a Str>,
    /// Strings of JSON syntax are looked into.
    json_templates: bool,
    f: &'f mut dyn FnMut(Met<'a>),
}

impl<'a> Walk<'a, '_> {
    fn expr(&mut self, expr: &'a Expr) {
        super::deep(|| self.one(expr));
    }

    fn one(&mut self, expr: &'a Expr) {
        match &expr.kind {
            ExprKind::Literal(_) => {}
            ExprKind::Template(parts) => self.parts(parts),
            ExprKind::JsonTemplate(json) if self.json_templates => json.template.iter().for_each(|e| self.expr(e)),
            ExprKind::JsonTemplate(_) => {}
            ExprKind::Traversal(t) => {
                if !self.bound.contains(&&t.root) {
                    (self.f)(Met::Traversal(t));
                }
                self.steps(&t.steps);
            }
            ExprKind::Relative(source, steps) => {
                self.expr(source);
                self.steps(steps);
            }
            ExprKind::Splat { source, rest, .. } => {
                self.expr(source);
                self.steps(rest);
            }
            ExprKind::Call(call) => {
                (self.f)(Met::Call(call, expr.range));
                call.values().iter().for_each(|a| self.expr(a));
            }
            ExprKind::Conditional(parts) => parts.iter().for_each(|e| self.expr(e)),
            ExprKind::Unary(_, operand) | ExprKind::Paren(operand) => self.expr(operand),
            ExprKind::Binary(_, operands) => operands.iter().for_each(|e| self.expr(e)),
            ExprKind::Tuple(items) => items.iter().for_each(|e| self.expr(e)),
            ExprKind::Object(items) => items.iter().for_each(|item| {
                self.expr(&item.key);
                self.expr(&item.value);
            }),
            ExprKind::For(f) => {
                self.expr(&f.collection);
                self.bound(f.key_var.as_ref(), &f.value_var, |walk| {
                    let inner = [f.key.as_ref(), Some(&f.value), f.condition.as_ref()];
                    inner.into_iter().flatten().for_each(|e| walk.expr(e));
                });
            }
        }
    }

    fn parts(&mut self, parts: &'a [TemplatePart]) {
        for part in parts {
            match part {
                TemplatePart::Text(_) => {}
                TemplatePart::Interpolation(e) => self.expr(e),
                TemplatePart::If { condition, then, otherwise, .. } => {
                    self.expr(condition);
                    self.parts(then);
                    self.parts(otherwise);
                }
                TemplatePart::For { key, value, collection, body, .. } => {
                    self.expr(collection);
                    self.bound(key.as_ref(), value, |walk| walk.parts(body));
                }
            }
        }
    }

    fn steps(&mut self, steps: &'a [Step]) {
        for step in steps {
            if let StepKind::Index(key) = &step.kind {
                self.expr(key);
            }
        }
    }

    fn bound(&mut self, key: Option<&'a Str>, value: &'a Str, f: impl FnOnce(&mut Self)) {
        let outer = self.bound.len();
        self.bound.extend(key);
        self.bound.push(value);
        f(self);
        self.bound.truncate(outer);
    }
}

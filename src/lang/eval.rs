//! Evaluation of expressions: a walk over the syntax tree that gives a value and collects what is wrong. A part that
//! fails counts as unknown, so that the rest is still checked. Called by the decoder, the configuration loader and the
//! engine; operators, conversions and functions are next door in `ops`, `convert` and `functions`.

mod access;
mod call;
mod collection;
mod mention;
mod template;

pub use mention::{compact, mentions};

use crate::diag::{Diagnostic, Diagnostics, Range, Result};
use crate::lang::convert::convert;
use crate::lang::scope::{Locals, Scope};
use crate::lang::syntax::{BinaryOp, Expr, ExprKind, Target, Traversal, UnaryOp};
use gpuform_schema::{Marks, Type, Value};

/// Where evaluation happens and how much it says.
#[derive(Clone, Copy)]
struct Cx<'a> {
    scope: &'a dyn Scope,
    locals: Option<&'a Locals<'a>>,
    /// Nobody will read the failures (`can`, an arm not taken): do not spend time on their wording.
    quiet: bool,
}

impl Expr {
    /// The value of the expression.
    ///
    /// # Errors
    /// The first of what is wrong with it; [`Expr::eval_in`] gives everything.
    pub fn eval(&self, scope: &dyn Scope) -> Result<Value> {
        let mut diags = Diagnostics::new();
        let value = self.eval_in(scope, None, &mut diags);
        match diags.into_iter().next() {
            Some(first) => Err(Box::new(first)),
            None => Ok(value),
        }
    }

    /// The value of the expression where `locals` are defined too. Each problem is added to `diags`; after any, the
    /// value is of no use but its type may be.
    pub fn eval_in(&self, scope: &dyn Scope, locals: Option<&Locals>, diags: &mut Diagnostics) -> Value {
        Cx { scope, locals, quiet: false }.eval(self, diags)
    }

    /// The value of the expression, converted to a type.
    ///
    /// # Errors
    /// As [`Expr::eval`], or when the value does not convert.
    pub fn eval_as(&self, scope: &dyn Scope, ty: &Type) -> Result<Value> {
        let value = self.eval(scope)?;
        convert(&value, ty).map_err(|e| {
            let mut d = Diagnostic::error("Incorrect value type", format!("Invalid expression value: {e}."));
            d.values = mentions(self, scope, None);
            Box::new(d.at(self.range))
        })
    }
}

/// Stack that must be left for one level of evaluation, and how much is added when it is not: expressions may nest
/// deeper than a thread's stack allows.
const STACK_LEFT: usize = 128 * 1024;
const STACK_MORE: usize = 4 * 1024 * 1024;

impl<'a> Cx<'a> {
    /// The same place with one more local variable.
    fn with(self, frame: &'a Locals<'a>) -> Cx<'a> {
        Cx { locals: Some(frame), ..self }
    }

    fn quietly(self) -> Cx<'a> {
        Cx { quiet: true, ..self }
    }

    fn eval(self, expr: &Expr, diags: &mut Diagnostics) -> Value {
        match &expr.kind {
            ExprKind::Literal(v) => v.clone(),
            ExprKind::Traversal(t) => self.traversal(t, expr, diags),
            _ => stacker::maybe_grow(STACK_LEFT, STACK_MORE, || self.eval_compound(expr, diags)),
        }
    }

    fn eval_compound(self, expr: &Expr, diags: &mut Diagnostics) -> Value {
        match &expr.kind {
            ExprKind::Literal(v) => v.clone(),
            ExprKind::Traversal(t) => self.traversal(t, expr, diags),
            ExprKind::Paren(inner) => self.eval(inner, diags),
            ExprKind::Template(parts) => self.template(parts, expr, diags),
            ExprKind::Relative(source, steps) => {
                let value = self.eval(source, diags);
                self.steps(value, steps, expr, diags)
            }
            ExprKind::Splat { source, full: _, rest, range } => self.splat(source, rest, *range, expr, diags),
            ExprKind::Call(call) => self.call(call, expr, diags),
            ExprKind::Conditional(arms) => self.conditional(arms, expr, diags),
            ExprKind::Unary(op, operand) => self.unary(*op, operand, expr, diags),
            ExprKind::Binary(op, operands) => self.binary(*op, operands, expr, diags),
            ExprKind::Tuple(items) => Value::tuple(items.iter().map(|e| self.eval(e, diags)).collect()),
            ExprKind::Object(items) => self.object(items, expr, diags),
            ExprKind::For(f) => self.for_expr(f, expr, diags),
        }
    }

    fn traversal(self, t: &Traversal, expr: &Expr, diags: &mut Diagnostics) -> Value {
        let (value, consumed) = match self.root_value(t) {
            Some(Ok(v)) => v,
            Some(Err(mut d)) => {
                if d.subject.is_none() {
                    d.subject = Some(t.range());
                }
                diags.push(d);
                return Value::unknown(Type::Dynamic);
            }
            // An error was reported where names were resolved.
            None => return Value::unknown(Type::Dynamic),
        };
        self.steps(value, t.steps.get(consumed..).unwrap_or_default(), expr, diags)
    }

    /// The value that a traversal starts from and how many of its steps led there.
    fn root_value(self, t: &Traversal) -> Option<Result<(Value, usize)>> {
        if matches!(t.target, Target::Scoped | Target::Unresolved)
            && let Some(v) = self.locals.and_then(|l| l.get(&t.root))
        {
            return Some(Ok((v.clone(), 0)));
        }
        Some(self.scope.value(t).map(|v| (v, usize::from(t.consumed))))
    }

    fn conditional(self, [condition, then, otherwise]: &[Expr; 3], expr: &Expr, diags: &mut Diagnostics) -> Value {
        let _ = (then, otherwise, expr);
        match self.condition(condition, diags) {
            Some((Some(true), marks)) => self.eval(then, diags).with_marks(marks),
            Some((Some(false), marks)) => self.eval(otherwise, diags).with_marks(marks),
            _ => Value::unknown(Type::Dynamic),
        }
    }

    /// Whether a condition holds (`None` while it is unknown) and its marks; `None` after an error.
    fn condition(self, condition: &Expr, diags: &mut Diagnostics) -> Option<(Option<bool>, Marks)> {
        let before = diags.len();
        let value = self.eval(condition, diags);
        if diags.len() > before {
            return None;
        }
        let (inner, marks) = value.unmark();
        match inner {
            Value::Bool(b) => return Some((Some(*b), marks)),
            Value::Null(_) => self.fail(diags, condition, condition.range, "Null condition", || {
                "The condition is null; it must be true or false.".into()
            }),
            other => match convert(other, &Type::Bool) {
                Ok(Value::Bool(b)) => return Some((Some(b), marks)),
                Ok(_) => return Some((None, marks)),
                Err(e) => self.fail(diags, condition, condition.range, "Incorrect condition type", || {
                    format!("The condition must be true or false: {e}.")
                }),
            },
        }
        None
    }

    fn unary(self, op: UnaryOp, operand: &Expr, expr: &Expr, diags: &mut Diagnostics) -> Value {
        let value = self.eval(operand, diags);
        self.fail(diags, expr, expr.range, "Operation failed", || format!("{op:?} is not supported for {value:?}."));
        Value::unknown(Type::Dynamic)
    }

    fn binary(self, op: BinaryOp, [left, right]: &[Expr; 2], expr: &Expr, diags: &mut Diagnostics) -> Value {
        let (l, r) = (self.eval(left, diags), self.eval(right, diags));
        self.fail(diags, expr, expr.range, "Operation failed", || format!("{op:?} is not supported: {l:?}, {r:?}."));
        Value::unknown(Type::Dynamic)
    }

    /// Records a failure; its wording is computed only if somebody will read it. `cause` is the expression whose
    /// references are mentioned with their values.
    fn fail(
        self,
        diags: &mut Diagnostics,
        cause: &Expr,
        subject: Range,
        summary: &str,
        detail: impl FnOnce() -> String,
    ) {
        if self.quiet {
            diags.push(Diagnostic::error(String::new(), String::new()));
            return;
        }
        let mut d = Diagnostic::error(summary, detail()).at(subject).context(cause.range);
        d.values = mentions(cause, self.scope, self.locals);
        diags.push(d);
    }
}

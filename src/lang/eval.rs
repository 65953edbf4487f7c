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
use crate::lang::limits;
use crate::lang::ops::{self, OpError};
use crate::lang::scope::{EmptyScope, Locals, Scope};
use crate::lang::syntax::{BinaryOp, Expr, ExprKind, Target, Traversal, UnaryOp};
use crate::lang::visit::Met;
use gpuform_schema::{Marks, Type, Value};
use std::cell::Cell;

/// Where evaluation happens and how much it says.
#[derive(Clone, Copy)]
struct Cx<'a> {
    scope: &'a dyn Scope,
    locals: Option<&'a Locals<'a>>,
    /// Nobody will read the failures (`can`, an arm not taken): do not spend time on their wording.
    quiet: bool,
    /// How often loops may still go around.
    turns: &'a Cell<u64>,
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
        let before = diags.len();
        let value = Cx { scope, locals, quiet: false, turns: &Cell::new(limits::MAX_TURNS) }.eval(self, diags);
        // What a reference gives was checked where it was made.
        let made_here = !matches!(self.kind, ExprKind::Literal(_) | ExprKind::Traversal(_));
        if made_here
            && diags.len() == before
            && let Err(e) = limits::check(&value)
        {
            diags.error("Value too large", format!("The value of this expression is refused: {e}."), self.range);
            return Value::unknown(Type::Dynamic);
        }
        value
    }

    /// The value of an expression that may hold neither references nor function calls. `None` after errors.
    pub fn eval_constant(&self, diags: &mut Diagnostics) -> Option<Value> {
        let before = diags.len();
        self.visit_as_constant(&mut |met| match met {
            Met::Traversal(t) => {
                diags.error("Variables not allowed", "Only literal values can be used here.", t.root_range);
            }
            Met::Call(_, range) => {
                diags.error("Function calls not allowed", "Only literal values can be used here.", range);
            }
        });
        if diags.len() > before {
            return None;
        }
        let value = self.eval_in(&EmptyScope::default(), None, diags);
        (diags.len() == before).then_some(value)
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

impl<'a> Cx<'a> {
    /// The same place with one more local variable.
    fn with(self, frame: &'a Locals<'a>) -> Cx<'a> {
        Cx { locals: Some(frame), ..self }
    }

    /// Takes one turn of a loop; false after an error, because there were too many.
    fn turn(self, at: Range, diags: &mut Diagnostics) -> bool {
        match self.turns.get() {
            0 => false,
            1 => {
                self.turns.set(0);
                let detail = format!("The loops of one expression may go around {} times.", limits::MAX_TURNS);
                diags.error("Too many iterations", detail, at);
                false
            }
            left => {
                self.turns.set(left - 1);
                true
            }
        }
    }

    fn quietly(self) -> Cx<'a> {
        Cx { quiet: true, ..self }
    }

    fn eval(self, expr: &Expr, diags: &mut Diagnostics) -> Value {
        match &expr.kind {
            ExprKind::Literal(v) => v.clone(),
            ExprKind::Traversal(t) => self.traversal(t, expr, diags),
            _ => super::deep(|| self.eval_compound(expr, diags)),
        }
    }

    fn eval_compound(self, expr: &Expr, diags: &mut Diagnostics) -> Value {
        match &expr.kind {
            ExprKind::Literal(v) => v.clone(),
            ExprKind::Traversal(t) => self.traversal(t, expr, diags),
            ExprKind::Paren(inner) => self.eval(inner, diags),
            ExprKind::Template(parts) => self.template(parts, expr, diags),
            ExprKind::JsonTemplate(json) => Value::String(json.text.clone()),
            ExprKind::Relative(source, steps) => {
                let value = self.eval(source, diags);
                self.steps(value, steps, expr, diags)
            }
            ExprKind::Splat { source, rest, .. } => self.splat(source, rest, expr, diags),
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
            Ok(v) => v,
            Err(mut d) => {
                d.subject = d.subject.or(Some(t.range()));
                diags.push(d);
                return Value::unknown(Type::Dynamic);
            }
        };
        self.steps(value, t.steps.get(consumed..).unwrap_or_default(), expr, diags)
    }

    /// The value that a traversal starts from and how many of its steps led there.
    fn root_value(self, t: &Traversal) -> Result<(Value, usize)> {
        if matches!(t.target, Target::Scoped | Target::Unresolved)
            && let Some(v) = self.locals.and_then(|l| l.get(&t.root))
        {
            return Ok((v.clone(), 0));
        }
        self.scope.value(t).map(|v| (v, usize::from(t.consumed)))
    }

    /// Both arms are evaluated for the type that they have in common; what is wrong with one counts only if it is chosen.
    fn conditional(self, [condition, then, otherwise]: &[Expr; 3], expr: &Expr, diags: &mut Diagnostics) -> Value {
        let mut condition_diags = Diagnostics::new();
        let chooser = self.eval(condition, &mut condition_diags);
        let arm = |arm: &Expr, wanted: bool| {
            let mut diags = Diagnostics::new();
            let chosen = chooser.as_bool() == Some(wanted);
            let value = if chosen { self } else { self.quietly() }.eval(arm, &mut diags);
            (value, diags)
        };
        let (then_value, then_diags) = arm(then, true);
        let (otherwise_value, otherwise_diags) = arm(otherwise, false);
        match ops::conditional::<OpError>(&chooser, Ok(then_value.clone()), Ok(otherwise_value.clone())) {
            Ok(value) => {
                diags.extend(condition_diags);
                match chooser.as_bool() {
                    Some(true) => diags.extend(then_diags),
                    Some(false) => diags.extend(otherwise_diags),
                    None => {}
                }
                value
            }
            Err(e) if e.operand == Some(0) => {
                diags.extend(condition_diags);
                self.fail_op(diags, expr, condition.range, e);
                // The type that both arms have in common is known nevertheless.
                let either = Value::unknown(Type::Bool);
                let result = ops::conditional::<OpError>(&either, Ok(then_value), Ok(otherwise_value));
                Value::unknown(result.map_or(Type::Dynamic, |v| v.ty()))
            }
            Err(e) => {
                let at = match e.operand {
                    Some(1) => then.range,
                    Some(_) => otherwise.range,
                    None => then.range.to(otherwise.range),
                };
                self.fail_op(diags, expr, at, e)
            }
        }
    }

    /// Whether the condition of a template directive holds (`None` while it is unknown, and after an error) and its
    /// marks.
    fn condition(self, condition: &Expr, whole: &Expr, diags: &mut Diagnostics) -> (Option<bool>, Marks) {
        let before = diags.len();
        let value = self.eval(condition, diags);
        let chosen = match ops::choose(&value) {
            Ok(chosen) => chosen,
            Err(e) => {
                if diags.len() == before {
                    self.fail_op(diags, whole, condition.range, e);
                }
                None
            }
        };
        (chosen, value.marks())
    }

    fn unary(self, op: UnaryOp, operand: &Expr, expr: &Expr, diags: &mut Diagnostics) -> Value {
        let before = diags.len();
        let value = self.eval(operand, diags);
        match ops::unary(op, &value) {
            Err(e) if is_invalid_operand(&e) => drop(self.fail_op(diags, expr, operand.range, e)),
            _ if diags.len() > before => {}
            Ok(value) => return value,
            Err(e) => drop(self.fail_op(diags, expr, expr.range, e)),
        }
        Value::unknown(if op == UnaryOp::Neg { Type::Number } else { Type::Bool })
    }

    fn binary(self, op: BinaryOp, [left, right]: &[Expr; 2], expr: &Expr, diags: &mut Diagnostics) -> Value {
        let before = diags.len();
        let (l, r) = (self.eval(left, diags), self.eval(right, diags));
        let mut result = ops::binary(op, &l, &r);
        if let Err(e) = result.as_ref()
            && is_invalid_operand(e)
            && e.operand == Some(0)
        {
            self.fail_op(diags, expr, left.range, e.clone());
            // The other operand is checked all the same.
            result = ops::binary(op, &Value::unknown(Type::Dynamic), &r);
        }
        match result {
            Err(e) if is_invalid_operand(&e) => drop(self.fail_op(diags, expr, right.range, e)),
            _ if diags.len() > before => {}
            Ok(value) => return value,
            Err(e) => drop(self.fail_op(diags, expr, expr.range, e)),
        }
        Value::unknown(match op {
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem => Type::Number,
            _ => Type::Bool,
        })
    }

    /// Records the failure of an operation; gives the unknown value that stands for its result.
    fn fail_op(self, diags: &mut Diagnostics, cause: &Expr, subject: Range, e: OpError) -> Value {
        self.fail(diags, cause, subject, e.summary, || e.detail);
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

fn is_invalid_operand(e: &OpError) -> bool {
    e.summary == ops::INVALID_OPERAND
}

#[cfg(test)]
mod tests;

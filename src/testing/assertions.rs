//! The assertions of a run, evaluated with the values that planning or applying gave.

use super::model::Run;
use super::scope::{ALLOWED, Environment, Names, Position, Ran};
use super::watcher::Status;
use crate::config::model::{Condition, Module};
use crate::diag::{Diagnostic, Diagnostics, Kind, MentionedValue};
use crate::engine::Evaluated;
use crate::lang::eval::mentions;
use crate::lang::resolve;
use crate::lang::scope::Scope;
use gpuform_schema::{Marks, Type, Value};

/// Evaluates all assertions: [`Status::Error`] where one could not be evaluated, else [`Status::Fail`] where one is
/// false.
pub fn check(
    run: &Run,
    module: &Module,
    evaluated: &Evaluated,
    environment: &Environment,
    diags: &mut Diagnostics,
) -> Status {
    let scope = evaluated.scope();
    let ran = Ran { module, evaluated, scope: &scope };
    let scope = environment.scope(Some(&ran));
    let names = Names { environment, module: Some(module) };
    let mut status = Status::Pass;
    for assert in &run.asserts {
        status = status.worst(one(assert, run, environment, &names, &scope, diags));
    }
    status
}

fn one(
    assert: &Condition,
    run: &Run,
    environment: &Environment,
    names: &Names<'_>,
    scope: &dyn Scope,
    diags: &mut Diagnostics,
) -> Status {
    let mut assert = assert.clone();
    let mut wrong = Diagnostics::new();
    for expr in [&mut assert.condition, &mut assert.error_message] {
        expr.visit_traversals(&mut |t| environment.check(t, Position::Assertion, &mut wrong));
        resolve::resolve(expr, names, ALLOWED, &mut wrong);
    }
    if wrong.has_errors() {
        diags.extend(wrong.into_iter().map(|d| d.context(run.range)));
        return Status::Error;
    }
    let condition = &assert.condition;
    let said = |summary: &str, detail: &str, values: Vec<MentionedValue>| {
        let mut d = Diagnostic::error(summary, detail).at(condition.range).context(run.range);
        d.values = values;
        d
    };
    let value = match condition.eval_as(scope, &Type::Bool) {
        Ok(value) => value,
        Err(mut d) => {
            d.context = Some(run.range);
            diags.push(d);
            return Status::Error;
        }
    };
    let values = || mentions(condition, scope, None);
    match value.unmark().0 {
        Value::Bool(true) => Status::Pass,
        Value::Bool(false) => {
            let Some(message) = message(&assert, run, scope, diags) else { return Status::Error };
            let mut d = said("Test assertion failed", &message, values());
            d.kind = Kind::TestAssertion;
            diags.push(d);
            Status::Fail
        }
        Value::Null(_) => {
            diags.push(said("Invalid condition result", "The condition is null, but must be true or false.", values()));
            Status::Error
        }
        _ => {
            diags.push(said(
                "Unknown condition value",
                "The condition depends on something that is known only after an apply. Let the run apply instead of plan, \
                 leave the value out of the condition, or give it with an override that has \"override_during = plan\".",
                values(),
            ));
            Status::Error
        }
    }
}

/// The message of an assertion that failed; sensitive ones are not shown. `None` after an error.
fn message(assert: &Condition, run: &Run, scope: &dyn Scope, diags: &mut Diagnostics) -> Option<String> {
    let value = match assert.error_message.eval_as(scope, &Type::String) {
        Ok(value) => value,
        Err(mut d) => {
            d.context = Some(run.range);
            diags.push(d);
            return None;
        }
    };
    let marks = value.deep_marks();
    if marks.contains(Marks::SENSITIVE) || marks.contains(Marks::EPHEMERAL) {
        let what = if marks.contains(Marks::SENSITIVE) { "sensitive" } else { "ephemeral" };
        diags.push(
            Diagnostic::warning(
                format!("Error message refers to {what} values"),
                "The message of this assertion contains a value that must not be shown, so it is withheld. Use nonsensitive() \
                 on parts that are safe to show.",
            )
            .at(assert.error_message.range)
            .context(run.range),
        );
        return Some(String::new());
    }
    Some(value.as_str().map_or_else(|| "The message of the assertion is not known.".into(), |s| s.trim().to_owned()))
}

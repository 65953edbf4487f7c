//! References to attributes of resources, checked against the schemas: what a type of resource does not have is a mistake
//! wherever it is asked for, whatever the values come to. And the expressions of each node, to tell such mistakes and
//! names without a meaning where a node is evaluated.

use super::{ModuleId, ModuleMeta, Node, Program, ProviderMeta};
use crate::addr::{self, Mode};
use crate::config::model::Condition;
use crate::diag::{Diagnostic, Range};
use crate::lang::ops::{self, OpError};
use crate::lang::syntax::{Expr, ExprKind, Slot, Step, StepKind, Target, Traversal};
use crate::lang::visit::Met;
use crate::plugin::Provider;
use crate::state::CheckKind;
use gpuform_schema::schema::{AttributeType, Block, NestedAttributes, NestedBlock, Nesting, Schema};
use gpuform_schema::{Number, Type, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What references are checked against.
pub(super) struct References<'a> {
    pub modules: &'a [ModuleMeta],
    pub providers: &'a [ProviderMeta],
    pub running: &'a BTreeMap<addr::Provider, Arc<dyn Provider>>,
    pub program: &'a Program,
}

/// What is wrong with references outside of the bodies of resources.
#[derive(Default)]
pub(super) struct Found {
    pub wrong: Vec<Diagnostic>,
    /// Expressions that are not evaluated for it: that names in them have no value is not noticed.
    pub not_evaluated: Vec<Range>,
}

impl References<'_> {
    fn schema(&self, m: ModuleId, slot: Slot) -> Option<Arc<Schema>> {
        let meta = self.modules.get(m)?;
        let (resource, _) = meta.module().resources.get_index(slot as usize)?;
        let provider = self.providers.get(meta.resources.get(slot as usize)?.provider)?;
        let running = self.running.get(&provider.addr.provider)?;
        match resource.mode {
            Mode::Managed => running.resource_schema(&resource.ty),
            Mode::Data => running.data_source_schema(&resource.ty),
            Mode::Ephemeral => running.ephemeral_schema(&resource.ty),
        }
    }

    /// What is wrong with a reference in a module.
    pub fn check(&self, m: ModuleId, t: &Traversal) -> Option<Diagnostic> {
        let Target::Resource(slot) = t.target else { return None };
        let steps = t.steps.get(usize::from(t.consumed)..)?;
        let steps = match steps {
            [first, ..] if !is_fixed(first) => return None,
            [first, rest @ ..] if is_index(first) => rest,
            all => all,
        };
        if let Some(step) = steps.first().filter(|s| is_index(s)) {
            let detail = format!("Attributes of {} are named with a dot.", written(t));
            return Some(Diagnostic::error("Invalid index operation", detail).at(step.range));
        }
        let wrong = in_block(&self.schema(m, slot)?.block, steps)?;
        Some(wrong.diagnostic(|name| format!("{} has no argument, block or attribute \"{name}\".", written(t))))
    }

    /// What is wrong with the references in an expression.
    pub fn in_expr(&self, m: ModuleId, e: &Expr, found: &mut Found) {
        let before = found.wrong.len();
        e.visit_traversals(&mut |t| found.wrong.extend(self.check(m, t)));
        if found.wrong.len() > before {
            found.not_evaluated.push(e.range);
        }
    }

    /// The same for conditions. They are evaluated also where a name in them is wrong; then no name has a meaning there.
    pub fn in_conditions(&self, m: ModuleId, of: CheckKind, conditions: &[Condition], found: &mut Found) {
        for c in conditions {
            let (condition, message) = (&c.condition, &c.error_message);
            let wrong = [condition, message].map(|e| self.in_condition(m, e, found));
            let both = wrong[0] || wrong[1];
            let (condition_fails, message_fails) = match of {
                CheckKind::Resource => (wrong[0], wrong[1]),
                CheckKind::Output => (both, both),
                CheckKind::Check => (false, both),
                CheckKind::Variable => (false, false),
            };
            let unnoticed = if of == CheckKind::Resource { wrong } else { [both, both] };
            let ranges = [condition.range, message.range].into_iter().zip(unnoticed);
            found.not_evaluated.extend(ranges.filter_map(|(range, unnoticed)| unnoticed.then_some(range)));
            for (expr, _) in [(condition, condition_fails), (message, message_fails)].iter().filter(|(_, fails)| *fails)
            {
                no_meaning(expr, &mut found.wrong);
            }
        }
    }

    /// Whether the expression refers to an object or attribute that is not declared; attributes are told here.
    fn in_condition(&self, m: ModuleId, e: &Expr, found: &mut Found) -> bool {
        let about_object = |d: &Diagnostic| d.summary.contains("instance key");
        let mut wrong = self.program.problems_within(e.range).iter().any(about_object);
        e.visit_traversals(&mut |t| match self.check(m, t) {
            Some(d) => {
                found.wrong.push(d);
                wrong = true;
            }
            None => wrong |= t.target == Target::Unresolved && !ALWAYS_KNOWN.contains(&&*t.root),
        });
        wrong
    }
}

/// First parts of names that have a meaning in every condition.
const ALWAYS_KNOWN: [&str; 6] = ["var", "local", "path", "terraform", "count", "each"];

/// Tells each name in an expression that is evaluated where no name has a meaning. `try` and `can` keep that to themselves.
fn no_meaning(e: &Expr, found: &mut Vec<Diagnostic>) {
    let mut quiet: Option<Range> = None;
    e.visit(&mut |met| match met {
        Met::Call(call, range) if matches!(&*call.name, "try" | "can") => {
            quiet = Some(quiet.map_or(range, |q| q.to(range)))
        }
        Met::Traversal(t) if quiet.is_none_or(|q| t.root_range.start >= q.end) => {
            let detail = format!("There is nothing called \"{}\" here.", t.root);
            found.push(Diagnostic::error("Unknown variable", detail).at(t.root_range));
        }
        _ => {}
    });
}

/// What is wrong with an entry of `ignore_changes`.
pub(super) fn ignored(block: &Block, t: &Traversal) -> Option<Diagnostic> {
    let first = Step { kind: StepKind::Attr(t.root.clone()), range: t.root_range };
    let steps: Vec<Step> = std::iter::once(first).chain(t.steps.iter().cloned()).collect();
    let wrong = in_block(block, &steps)?;
    Some(wrong.diagnostic(|name| format!("There is no argument or block \"{name}\" whose changes could be ignored.")))
}

fn written(t: &Traversal) -> String {
    let names = t.steps.iter().take(usize::from(t.consumed)).filter_map(|s| match &s.kind {
        StepKind::Attr(name) => Some(&**name),
        _ => None,
    });
    std::iter::once(&*t.root).chain(names).collect::<Vec<_>>().join(".")
}

/// A step that does not lead anywhere.
struct Wrong<'s> {
    step: &'s Step,
    why: Why<'s>,
}

enum Why<'s> {
    NoSuchName(&'s str),
    Refused(OpError),
}

impl Wrong<'_> {
    fn diagnostic(self, missing: impl FnOnce(&str) -> String) -> Diagnostic {
        let (summary, detail) = match self.why {
            Why::NoSuchName(name) => ("Unsupported attribute", missing(name)),
            Why::Refused(e) => (e.summary, e.detail),
        };
        Diagnostic::error(summary, detail).at(self.step.range)
    }
}

fn refused<'s>(step: &'s Step, summary: &'static str, detail: String) -> Option<Wrong<'s>> {
    Some(Wrong { step, why: Why::Refused(OpError { summary, detail, operand: None }) })
}

fn is_index(step: &Step) -> bool {
    matches!(step.kind, StepKind::Index(_) | StepKind::LegacyIndex(_))
}

/// A step that is fixed, whatever values there are: not an index that is computed, nor a splat.
fn is_fixed(step: &Step) -> bool {
    match &step.kind {
        StepKind::Attr(_) | StepKind::LegacyIndex(_) => true,
        StepKind::Index(key) => matches!(key.kind, ExprKind::Literal(_)),
        StepKind::Splat { .. } => false,
    }
}

/// The first step that asks for what the block does not have.
fn in_block<'s>(block: &Block, steps: &'s [Step]) -> Option<Wrong<'s>> {
    let (first, rest) = steps.split_first()?;
    let name = match &first.kind {
        StepKind::Attr(name) => name,
        StepKind::Splat { .. } => return None,
        _ => return refused(first, "Invalid index operation", "Attributes and blocks are named with a dot.".into()),
    };
    if let Some(attribute) = block.attributes.get(name) {
        return match &attribute.ty {
            AttributeType::Nested(nested) => in_attributes(nested, rest),
            AttributeType::Value(ty) => in_value(ty, rest),
        };
    }
    let Some(nested) = block.blocks.get(name) else { return Some(Wrong { step: first, why: Why::NoSuchName(name) }) };
    in_nested_block(name, nested, rest)
}

fn in_nested_block<'s>(name: &str, nested: &NestedBlock, steps: &'s [Step]) -> Option<Wrong<'s>> {
    if matches!(nested.nesting, Nesting::Single | Nesting::Group) {
        return in_block(&nested.block, steps);
    }
    let (step, rest) = steps.split_first().filter(|(step, _)| is_fixed(step))?;
    match nested.nesting {
        Nesting::Set => {
            let detail =
                format!("The blocks \"{name}\" make a set, whose elements have no index; a for expression finds them.");
            refused(step, "Cannot index a set value", detail)
        }
        Nesting::List if !is_index(step) => {
            let detail = format!("The blocks \"{name}\" make a list: select one with a number, as in {name}[0].");
            refused(step, "Invalid operation", detail)
        }
        _ => in_block(&nested.block, rest),
    }
}

fn in_attributes<'s>(nested: &NestedAttributes, steps: &'s [Step]) -> Option<Wrong<'s>> {
    let steps = match (nested.nesting, steps) {
        (Nesting::Single | Nesting::Group, steps) => steps,
        (Nesting::List | Nesting::Map, [step, rest @ ..]) if is_index(step) && is_fixed(step) => rest,
        (_, steps) => return in_value(&nested.value_type(), steps),
    };
    let (first, rest) = steps.split_first()?;
    let StepKind::Attr(name) = &first.kind else { return in_value(&nested.object_type(), steps) };
    match nested.attributes.get(name).map(|a| &a.ty) {
        None => Some(Wrong { step: first, why: Why::NoSuchName(name) }),
        Some(AttributeType::Nested(inner)) => in_attributes(inner, rest),
        Some(AttributeType::Value(ty)) => in_value(ty, rest),
    }
}

/// The first step that no value of a type has; what follows a computed index or a splat depends on values.
fn in_value<'s>(ty: &Type, steps: &'s [Step]) -> Option<Wrong<'s>> {
    let mut value = Value::unknown(ty.clone());
    for step in steps.iter().take_while(|step| is_fixed(step)) {
        let part = match &step.kind {
            StepKind::Attr(name) => ops::attribute(&value, name),
            StepKind::LegacyIndex(i) => ops::index(&value, &Value::Number(Number::from(*i))),
            StepKind::Index(key) => match &key.kind {
                ExprKind::Literal(key) => ops::index(&value, key),
                _ => return None,
            },
            StepKind::Splat { .. } => return None,
        };
        match part {
            Ok(part) => value = part,
            Err(e) => return Some(Wrong { step, why: Why::Refused(e) }),
        }
    }
    None
}

/// Where the expressions of a node are written.
#[derive(Default)]
pub struct Expressions {
    /// Those without which the node has no value.
    pub value: Vec<Range>,
    /// Conditions.
    pub checked: Vec<Range>,
}

impl Program {
    /// Where names and references of a node are, apart from those in the bodies of resources and providers.
    pub fn expressions(&self, node: Node) -> Expressions {
        let module = |m: ModuleId| self.modules[m].module();
        let mut found = Expressions::default();
        let conditions = |list: &[Condition]| -> Vec<Range> {
            list.iter().flat_map(|c| [c.condition.range, c.error_message.range]).collect()
        };
        let depends_on = |list: &[Traversal]| -> Vec<Range> { list.iter().map(Traversal::range).collect() };
        match node {
            Node::Local(m, s) => found.value.push(module(m).locals[s as usize].expr.range),
            Node::Output(m, s) => {
                let output = &module(m).outputs[s as usize];
                found.value.push(output.expr.range);
                found.value.extend(depends_on(&output.depends_on));
                found.checked = conditions(&output.preconditions);
            }
            Node::Call(m, s) => {
                let call = &module(m).calls[s as usize];
                found.value.extend(call.repetition.expr().map(|e| e.range));
                found.value.extend(call.providers.iter().flatten().filter_map(|p| p.key.as_ref()).map(|e| e.range));
                found.value.extend(depends_on(&call.depends_on));
            }
            Node::Resource(m, s) => {
                let block = self.resource_block(m, s);
                found.value.extend(block.repetition.expr().map(|e| e.range));
                found.value.extend(block.provider_key.as_ref().map(|e| e.range));
                found.value.extend(depends_on(&block.depends_on));
                found.checked = conditions(&block.lifecycle.preconditions);
                found.checked.extend(conditions(&block.lifecycle.postconditions));
                found.checked.extend(block.lifecycle.replace_triggered_by.iter().map(|e| e.range));
            }
            Node::Variable(m, s) => {
                let variable = &module(m).variables[s as usize];
                if let Some((parent, call)) = self.modules[m].parent {
                    let input = module(parent).calls[call as usize].inputs.get(&variable.name);
                    found.value.extend(input.map(|(e, _)| e.range));
                }
                found.checked = conditions(&variable.validations);
            }
            Node::Check(m, s) => found.checked = conditions(&module(m).checks[s as usize].asserts),
            Node::Provider(id) => {
                let block = self.providers[id].block.as_ref();
                found.value.extend(block.and_then(|b| b.config.for_each.as_ref()).map(|e| e.range));
            }
            Node::Close(_) => {}
        }
        found
    }

    pub fn has_problems(&self) -> bool {
        !self.problems.is_empty()
    }

    /// What is wrong with names and references within a range.
    pub fn problems_within(&self, range: Range) -> &[Diagnostic] {
        let place = |d: &Diagnostic| d.subject.map_or((u32::MAX, 0), |r| (r.file.0, r.start));
        let first = self.problems.partition_point(|d| place(d) < (range.file.0, range.start));
        let end = self.problems.partition_point(|d| place(d) < (range.file.0, range.end.max(range.start + 1)));
        self.problems.get(first..end).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;

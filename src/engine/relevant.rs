//! Which attributes of which resources contribute to what a plan changes: starting from the references of changed
//! resources and outputs, names are followed backwards through variables, locals, module outputs and the configuration of
//! resources. Views show changes made outside only where they matter in this sense. Each reference is followed once, so
//! the cost is that of the configuration, not of its instances.

use crate::addr::{InstanceKey, ModuleInstance};
use crate::engine::plan::{Action, OutputChange, RelevantAttribute, ResourceChange};
use crate::engine::program::{ModuleId, Program};
use crate::engine::runtime::Runtime;
use crate::hash::HashSet;
use crate::lang::decode::{Block, Blocks, Setting};
use crate::lang::syntax::{Expr, ExprKind, Slot, Step as ExprStep, StepKind, Target, TemplatePart, Traversal};
use gpuform_schema::schema::Nesting;
use gpuform_schema::{Path, Step, Str, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The attributes that contribute to the changes of a plan, in no particular order but always the same. The outputs of
/// child modules are not stored and so count as changed each time, except where everything is destroyed.
pub fn attributes(
    program: &Program,
    runtime: &Runtime,
    changes: &[Arc<ResourceChange>],
    outputs: &BTreeMap<Str, OutputChange>,
    destroy: bool,
) -> Vec<RelevantAttribute> {
    let mut search = Search { program, queue: Vec::new(), seen: HashSet::default(), found: Vec::new() };
    let mut blocks: HashSet<(&ModuleInstance, ModuleId, Slot)> = HashSet::default();
    for c in changes.iter().filter(|c| c.action != Action::NoOp) {
        if let Some((id, slot)) = program.find_resource(&c.addr.config())
            && blocks.insert((&c.addr.module, id, slot))
        {
            search.resource(&Place { id, module: c.addr.module.clone() }, slot, &[]);
        }
    }
    for id in 0..program.modules.len() {
        let declared = &program.modules[id].module().outputs;
        for run in runtime.instances(id) {
            for (slot, (name, o)) in declared.iter().enumerate() {
                let changes = match outputs.get(name) {
                    Some(change) if run.addr.is_root() => change.action != Action::NoOp,
                    _ if run.addr.is_root() => false,
                    _ if destroy => false,
                    _ => run.outputs.get(slot).and_then(|v| v.get()).is_some_and(|v| !v.is_null()),
                };
                if changes {
                    search.expr(&Place { id, module: run.addr.clone() }, None, &o.expr);
                }
            }
        }
    }
    search.run();
    search.found
}

/// A module instance; one that a reference does not tell apart stands for all of its call.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Place {
    id: ModuleId,
    module: ModuleInstance,
}

/// What a reference names.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Subject {
    Variable(Slot),
    Local(Slot),
    Resource(Slot, InstanceKey),
    Call(Slot, InstanceKey),
    /// `count` or `each` of a resource.
    Repetition(Slot),
}

struct Search<'a> {
    program: &'a Program,
    queue: Vec<(Place, Subject, Path)>,
    seen: HashSet<(Place, Subject, Path)>,
    found: Vec<RelevantAttribute>,
}

impl Search<'_> {
    fn run(&mut self) {
        while let Some((place, subject, path)) = self.queue.pop() {
            self.follow(&place, &subject, &path);
        }
    }

    /// Everything that an expression refers to; `block` is the resource that it belongs to.
    fn expr(&mut self, place: &Place, block: Option<Slot>, e: &Expr) {
        e.visit_traversals(&mut |t| self.reference(place, block, t));
    }

    fn reference(&mut self, place: &Place, block: Option<Slot>, t: &Traversal) {
        let mut rest = t.steps.get(t.consumed as usize..).unwrap_or_default();
        let subject = match (&t.target, block) {
            (Target::Variable(s), _) => Subject::Variable(*s),
            (Target::Local(s), _) => Subject::Local(*s),
            (Target::Resource(s), _) => Subject::Resource(*s, take_key(&mut rest)),
            (Target::ModuleCall(s), _) => Subject::Call(*s, take_key(&mut rest)),
            (Target::CountIndex | Target::EachKey | Target::EachValue, Some(block)) => Subject::Repetition(block),
            _ => return,
        };
        let path = Path(rest.iter().map_while(constant_step).collect());
        let item = (place.clone(), subject, path);
        if !self.seen.insert(item.clone()) {
            return;
        }
        if let (place, Subject::Resource(slot, key), path) = &item {
            let addr = &self.program.resource_block(place.id, *slot).addr;
            let dot = if place.module.is_root() { "" } else { "." };
            let resource = format!("{}{dot}{addr}{key}", place.module).into();
            self.found.push(RelevantAttribute { resource, path: path.clone() });
        }
        self.queue.push(item);
    }

    fn follow(&mut self, place: &Place, subject: &Subject, path: &Path) {
        let program = self.program;
        let meta = &program.modules[place.id];
        let module = meta.module();
        match subject {
            Subject::Variable(s) => {
                let Some((name, _)) = module.variables.get_index(*s as usize) else { return };
                let Some((parent, call)) = meta.parent else { return };
                let Some((_, call)) = program.modules[parent].module().calls.get_index(call as usize) else { return };
                if let (Some((e, _)), Some((_, caller))) = (call.inputs.get(name), place.module.0.split_last()) {
                    self.expr(&Place { id: parent, module: ModuleInstance(caller.into()) }, None, e);
                }
            }
            Subject::Local(s) => {
                if let Some((_, local)) = module.locals.get_index(*s as usize) {
                    self.expr(place, None, &local.expr);
                }
            }
            Subject::Call(s, key) => {
                let Some((name, _)) = module.calls.get_index(*s as usize) else { return };
                let Some(id) = meta.children.get(*s as usize).copied() else { return };
                let child = Place { id, module: place.module.child(name.clone(), key.clone()) };
                let only = match path.0.first() {
                    Some(Step::Attr(output)) => Some(output),
                    _ => None,
                };
                for (name, o) in &program.modules[id].module().outputs {
                    if only.is_none_or(|n| n == name) {
                        self.expr(&child, None, &o.expr);
                    }
                }
            }
            Subject::Resource(s, _) => self.resource(place, *s, &path.0),
            Subject::Repetition(s) => {
                if let Some(e) = program.resource_block(place.id, *s).repetition.expr() {
                    self.expr(place, Some(*s), e);
                }
            }
        }
    }

    /// What the part of a resource's configuration at a path refers to.
    fn resource(&mut self, place: &Place, slot: Slot, path: &[Step]) {
        let program = self.program;
        let Some(code) = &program.resource_meta(place.id, slot).block else { return };
        at_path(code.decoder.block(), path, &mut |e| self.expr(place, Some(slot), e));
    }
}

/// Calls `f` for the expressions that decide the part of a block at a path. As in Terraform, blocks that make a list, a
/// set or a map count with everything around them, and what is inside one of them is not followed.
fn at_path<'a>(block: Block<'a>, path: &[Step], f: &mut dyn FnMut(&'a Expr)) {
    let Some((step, rest)) = path.split_first() else {
        block.expressions(f);
        return;
    };
    let (Step::Attr(name) | Step::Key(name)) = step else { return };
    match block.setting(name) {
        Some(Setting::Attribute(e)) => f(e),
        Some(Setting::Blocks(all)) if all.attribute => each_block(all, f, &mut |b, f| b.expressions(f)),
        Some(Setting::Blocks(all)) if matches!(all.nesting, Nesting::Single | Nesting::Group) => {
            each_block(all, f, &mut |b, f| at_path(b, rest, f));
        }
        Some(Setting::Blocks(_)) if rest.is_empty() => block.expressions(f),
        Some(Setting::Blocks(_)) | None => {}
    }
}

/// Calls `f` for what decides how often blocks stand, and `inner` with each of them.
fn each_block<'a>(
    all: Blocks<'a>,
    f: &mut dyn FnMut(&'a Expr),
    inner: &mut dyn FnMut(Block<'a>, &mut dyn FnMut(&'a Expr)),
) {
    all.fixed.into_iter().for_each(|(_, b)| inner(b, f));
    for (how_often, b) in all.dynamic {
        how_often.into_iter().for_each(&mut *f);
        inner(b, f);
    }
}

/// The instance key at the beginning of the steps, if there is one that is constant.
fn take_key(steps: &mut &[ExprStep]) -> InstanceKey {
    let Some((first, rest)) = steps.split_first() else { return InstanceKey::None };
    let key = match constant_step(first) {
        Some(Step::Index(i)) => InstanceKey::Int(i),
        Some(Step::Key(k)) => InstanceKey::String(k),
        _ => return InstanceKey::None,
    };
    *steps = rest;
    key
}

/// The step into a value, where it stands in the source as a constant.
fn constant_step(step: &ExprStep) -> Option<Step> {
    Some(match &step.kind {
        StepKind::Attr(n) => Step::Attr(n.clone()),
        StepKind::LegacyIndex(i) => Step::Index(*i),
        StepKind::Index(key) => match &key.kind {
            ExprKind::Literal(Value::String(s)) => Step::Key(s.clone()),
            ExprKind::Literal(Value::Number(n)) => Step::Index(n.as_u64()?),
            ExprKind::Template(parts) => match &parts[..] {
                [TemplatePart::Text(s)] => Step::Key(s.clone()),
                _ => return None,
            },
            _ => return None,
        },
        StepKind::Splat { .. } => return None,
    })
}

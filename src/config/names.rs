//! The names of a module: what expressions can refer to, and the resolution of all expressions that need no provider
//! schema.

use super::model::{Condition, Module, Repetition};
use crate::addr::Resource;
use crate::diag::{Diagnostic, Diagnostics, Kind};
use crate::hash::IndexMap;
use crate::lang::resolve::{self, Allowed, Declared, Keys, Symbols};
use crate::lang::syntax::{Expr, Slot, StepKind, Target, Traversal};
use gpuform_schema::Str;

/// What a module declares, by name, apart from the objects themselves (which are being changed by resolution).
struct Names {
    variables: IndexMap<Str, ()>,
    locals: IndexMap<Str, ()>,
    calls: IndexMap<Str, ()>,
    resources: IndexMap<Resource, (Keys, Option<Str>)>,
    place: String,
}

fn slot(i: Option<usize>) -> Option<Slot> {
    i.map(|i| i as Slot)
}

impl Symbols for Names {
    fn variable(&self, name: &str) -> Option<Slot> {
        slot(self.variables.get_index_of(name))
    }
    fn local(&self, name: &str) -> Option<Slot> {
        slot(self.locals.get_index_of(name))
    }
    fn module_call(&self, name: &str) -> Option<Slot> {
        slot(self.calls.get_index_of(name))
    }
    fn resource(&self, resource: &Resource) -> Option<Slot> {
        slot(self.resources.get_index_of(resource))
    }
    fn keys(&self, resource: Slot) -> Keys {
        self.resources.get_index(resource as usize).map_or(Keys::Single, |(_, (k, _))| *k)
    }
    fn check_of(&self, resource: Slot) -> Option<&str> {
        self.resources.get_index(resource as usize)?.1.1.as_deref()
    }
    fn names(&self, kind: Declared) -> Vec<&str> {
        let names = match kind {
            Declared::Variables => &self.variables,
            Declared::Locals => &self.locals,
            Declared::ModuleCalls => &self.calls,
        };
        names.keys().map(|n| &**n).collect()
    }
    fn resources(&self) -> Vec<&Resource> {
        self.resources.keys().collect()
    }
    fn place(&self) -> String {
        self.place.clone()
    }
}

impl Symbols for Module {
    fn variable(&self, name: &str) -> Option<Slot> {
        slot(self.variables.get_index_of(name))
    }
    fn local(&self, name: &str) -> Option<Slot> {
        slot(self.locals.get_index_of(name))
    }
    fn module_call(&self, name: &str) -> Option<Slot> {
        slot(self.calls.get_index_of(name))
    }
    fn resource(&self, resource: &Resource) -> Option<Slot> {
        let (slot, _, block) = self.resources.get_full(resource)?;
        (!block.generated).then_some(slot as Slot)
    }
    fn keys(&self, resource: Slot) -> Keys {
        self.resources.get_index(resource as usize).map_or(Keys::Single, |(_, r)| keys(&r.repetition))
    }
    fn check_of(&self, resource: Slot) -> Option<&str> {
        self.resources.get_index(resource as usize)?.1.check.as_deref()
    }
    fn names(&self, kind: Declared) -> Vec<&str> {
        match kind {
            Declared::Variables => self.variables.keys().map(|n| &**n).collect(),
            Declared::Locals => self.locals.keys().map(|n| &**n).collect(),
            Declared::ModuleCalls => self.calls.keys().map(|n| &**n).collect(),
        }
    }
    fn resources(&self) -> Vec<&Resource> {
        self.resources.keys().collect()
    }
    fn place(&self) -> String {
        place(self)
    }
}

fn place(module: &Module) -> String {
    if module.dir.as_os_str() == "." {
        "the root module".into()
    } else {
        format!("the module in {}", module.dir.display())
    }
}

fn keys(repetition: &Repetition) -> Keys {
    match repetition {
        Repetition::Single | Repetition::Enabled(_) => Keys::Single,
        Repetition::Count(_) => Keys::Count,
        Repetition::ForEach(_) => Keys::ForEach,
    }
}

impl Repetition {
    /// What the block that is repeated may refer to of its own instance.
    pub fn allowed(&self) -> Allowed<'static> {
        Allowed {
            count: matches!(self, Repetition::Count(_)),
            each: matches!(self, Repetition::ForEach(_)),
            ..Allowed::default()
        }
    }

    /// The expression of `count`, `for_each` or `enabled`.
    pub fn expr(&self) -> Option<&Expr> {
        match self {
            Repetition::Single => None,
            Repetition::Count(e) | Repetition::ForEach(e) | Repetition::Enabled(e) => Some(e),
        }
    }

    fn expr_mut(&mut self) -> Option<&mut Expr> {
        match self {
            Repetition::Single => None,
            Repetition::Count(e) | Repetition::ForEach(e) | Repetition::Enabled(e) => Some(e),
        }
    }
}

/// Resolves every expression of the module that does not depend on a provider's schema.
pub(super) fn resolve(module: &mut Module, problems: &mut Diagnostics) {
    let unit = |names: Vec<Str>| names.into_iter().map(|n| (n, ())).collect();
    let names = Names {
        variables: unit(module.variables.keys().cloned().collect()),
        locals: unit(module.locals.keys().cloned().collect()),
        calls: unit(module.calls.keys().cloned().collect()),
        resources: module.resources.iter().map(|(a, r)| (a.clone(), (keys(&r.repetition), r.check.clone()))).collect(),
        place: place(module),
    };
    let mut r = Resolution { names: &names, problems };
    let none = Allowed::default();
    for (_, v) in &mut module.variables {
        let mut found = Diagnostics::new();
        Resolution { names: &names, problems: &mut found }.conditions(&mut v.validations, none);
        r.problems.extend(found.into_iter().filter(|d| d.kind != Kind::MissingName));
    }
    for (slot, (name, local)) in module.locals.iter_mut().enumerate() {
        r.expr(&mut local.expr, none);
        r.check_not_itself(name, slot as Slot, &local.expr);
    }
    for (_, output) in &mut module.outputs {
        r.expr(&mut output.expr, none);
        r.conditions(&mut output.preconditions, none);
        r.depends_on(&mut output.depends_on);
    }
    for (_, resource) in &mut module.resources {
        let allowed = resource.repetition.allowed();
        if let Some(e) = resource.repetition.expr_mut() {
            r.expr(e, none);
        }
        if let Some(key) = &mut resource.provider_key {
            r.expr(key, allowed);
        }
        r.depends_on(&mut resource.depends_on);
        let l = &mut resource.lifecycle;
        l.replace_triggered_by.iter_mut().for_each(|e| r.trigger(e));
        r.conditions(&mut l.preconditions, allowed);
        r.conditions(&mut l.postconditions, Allowed { self_object: true, ..allowed });
    }
    for (_, call) in &mut module.calls {
        let allowed = call.repetition.allowed();
        if let Some(e) = call.repetition.expr_mut() {
            r.expr(e, none);
        }
        r.depends_on(&mut call.depends_on);
        // Whether the instance has a number or key shows only when it is planned: validation takes both for unknown.
        let of_instance = Allowed { count: true, each: true, ..none };
        call.inputs.values_mut().for_each(|(e, _)| r.expr(e, of_instance));
        call.providers.iter_mut().flatten().filter_map(|p| p.key.as_mut()).for_each(|key| r.expr(key, allowed));
    }
    for (_, provider) in &mut module.provider_configs {
        if let Some(e) = &mut provider.for_each {
            r.expr(e, none);
        }
    }
    for import in &mut module.imports {
        let allowed = Allowed { each: import.for_each.is_some(), ..none };
        if let Some(e) = &mut import.for_each {
            r.expr(e, none);
        }
        r.expr(&mut import.id, allowed);
        if import.for_each.is_none() && import.to.fixed.is_none() {
            let detail = "Without \"for_each\", the address of an import must be written out: its keys are constants.";
            r.problems.error("Invalid expression", detail, import.to.traversal.range());
            continue;
        }
        for step in &mut import.to.traversal.steps {
            if let StepKind::Index(key) = &mut step.kind {
                r.expr(key, allowed);
            }
        }
    }
    for (name, check) in &mut module.checks {
        r.conditions(&mut check.asserts, Allowed { check: Some(name), ..none });
    }
}

struct Resolution<'a> {
    names: &'a Names,
    problems: &'a mut Diagnostics,
}

/// Everything that may be referred to anywhere.
const EVERYTHING: Allowed<'static> =
    Allowed { count: true, each: true, self_object: true, tests: false, check: None, scoped: &[] };

/// Whether a name is well formed, but what it names is not there.
fn about_existence(d: &Diagnostic) -> bool {
    d.summary.starts_with("Reference to undeclared")
        || d.summary.starts_with("Reference to scoped")
        || d.summary.contains("instance key")
}

impl Resolution<'_> {
    fn expr(&mut self, expr: &mut Expr, allowed: Allowed) {
        let mut found = Diagnostics::new();
        resolve::resolve(expr, self.names, allowed, &mut found);
        self.problems.extend(resolve::told(found));
    }

    fn conditions(&mut self, conditions: &mut [Condition], allowed: Allowed) {
        for c in conditions {
            resolve::resolve(&mut c.condition, self.names, allowed, self.problems);
            resolve::resolve(&mut c.error_message, self.names, allowed, self.problems);
        }
    }

    /// A replacement trigger that names what does not exist is told when it is looked at.
    fn trigger(&mut self, expr: &mut Expr) {
        let mut found = Diagnostics::new();
        resolve::resolve(expr, self.names, EVERYTHING, &mut found);
        self.problems.extend(found.into_iter().filter(|d| !about_existence(d) && d.kind != Kind::MissingName));
    }

    /// Dependencies are whole objects. Of those that do not exist the first is told, if nothing else is wrong.
    fn depends_on(&mut self, list: &mut [Traversal]) {
        let mut complained = false;
        for t in list {
            let mut found = Diagnostics::new();
            resolve::resolve_traversal(t, self.names, EVERYTHING, &mut found);
            let found: Diagnostics = found.into_iter().filter(|d| d.kind != Kind::MissingName).collect();
            let instance = usize::from(t.consumed);
            let whole = match (&t.target, t.steps.get(instance).map(|s| &s.kind)) {
                (Target::Resource(_), Some(StepKind::Index(_) | StepKind::LegacyIndex(_))) => instance + 1,
                (Target::ModuleCall(_), Some(StepKind::Index(_))) => instance + 2,
                (Target::ModuleCall(_), Some(_)) => instance + 1,
                _ => instance,
            };
            if let Some(step) = t.steps.get(whole).filter(|_| t.target != Target::Unresolved) {
                let rest = t.steps.last().map_or(step.range, |last| step.range.to(last.range));
                complained = true;
                self.problems.error(
                    "Invalid depends_on reference",
                    "A dependency is an object as a whole, not one of its attributes.",
                    rest,
                );
            }
            for d in found {
                if !about_existence(&d) || !complained {
                    self.problems.push(d);
                }
                complained = true;
            }
        }
    }

    fn check_not_itself(&mut self, name: &str, slot: Slot, expr: &Expr) {
        let mut at = None;
        expr.visit_traversals(&mut |t| {
            if t.target == Target::Local(slot) {
                at = at.or(Some(t.steps.first().map_or(t.root_range, |s| t.root_range.to(s.range))));
            }
        });
        if let Some(at) = at {
            let detail = format!("local.{name} cannot be computed from itself.");
            self.problems.error("Self-referencing local value", detail, at);
        }
    }
}

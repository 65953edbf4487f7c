//! `import` blocks: which objects are to be taken over into which resource instances.

use crate::addr::{AbsResource, InstanceKey, ModuleInstance, ResourceInstance};
use crate::config::model::{Import, Repetition};
use crate::diag::{Diagnostic, Result};
use crate::engine::expand::{self, Expansion};
use crate::engine::program::ModuleId;
use crate::engine::runtime::Repeat;
use crate::engine::walk::Walk;
use crate::lang::scope::Scope;
use crate::lang::syntax::{Slot, StepKind, Traversal};
use gpuform_schema::{Marks, Str, Type, Value};
use std::collections::HashMap;

/// The imports into the instances of one block: from `import` blocks, and those given from outside. `None` after an
/// error.
pub fn wanted(
    walk: &Walk,
    given: &[(ResourceInstance, String)],
    m: ModuleId,
    slot: Slot,
) -> Option<HashMap<ResourceInstance, String>> {
    let config = walk.program().config_resource(m, slot);
    let mut all: HashMap<ResourceInstance, String> =
        given.iter().filter(|(a, _)| a.config() == config).map(|(a, id)| (a.clone(), id.clone())).collect();
    let root = walk.program().modules[0].module().clone();
    let mut ok = true;
    for import in root.imports.iter().filter(|i| i.to.resource == config) {
        match evaluate(walk, import) {
            Ok(found) => {
                for (addr, id) in found {
                    if all.insert(addr.clone(), id).is_some() {
                        ok = false;
                        walk.report(
                            Diagnostic::error(
                                "Duplicate import configuration for resource",
                                format!(
                                    "More than one import is given for {addr}; an object can be imported only once."
                                ),
                            )
                            .at(import.range),
                        );
                    }
                }
            }
            Err(d) => {
                ok = false;
                walk.report(d);
            }
        }
    }
    ok.then_some(all)
}

fn evaluate(walk: &Walk, import: &Import) -> Result<Vec<(ResourceInstance, String)>> {
    let root = walk.runtime.root();
    let repeats = match &import.for_each {
        None => vec![Repeat::None],
        Some(e) => {
            let scope = walk.runtime.scope(root, &Repeat::None);
            match expand::expand(&Repetition::ForEach(e.clone()), &scope)? {
                Expansion::Known(r) => r,
                Expansion::Unknown(d) => return Err(Box::new(d)),
            }
        }
    };
    let mut out = Vec::with_capacity(repeats.len());
    for repeat in &repeats {
        let scope = walk.runtime.scope(root, repeat);
        out.push((address(import, &scope)?, id(import, &scope)?));
    }
    Ok(out)
}

fn id(import: &Import, scope: &dyn Scope) -> Result<String> {
    let value = import.id.eval_as(scope, &Type::String)?;
    let fail =
        |detail: &str| Err(Box::new(Diagnostic::error("Invalid import id argument", detail).at(import.id.range)));
    let (plain, marks) = value.unmark();
    if marks.contains(Marks::SENSITIVE) || marks.contains(Marks::EPHEMERAL) {
        return fail("The ID is shown in the plan and stored, so it can be neither sensitive nor ephemeral.");
    }
    match plain {
        Value::String(s) if s.is_empty() => fail("The ID must not be empty."),
        Value::String(s) => Ok(s.to_string()),
        Value::Null(_) => fail("The ID must not be null."),
        _ => fail("The ID must be known when the plan is made; it depends on something known only after apply."),
    }
}

/// The instance that `to` names; its index expressions may use `each`.
fn address(import: &Import, scope: &dyn Scope) -> Result<ResourceInstance> {
    let t = &import.to.traversal;
    let keys = keys(t, scope)?;
    let resource = &import.to.resource;
    let modules: Vec<(Str, InstanceKey)> = resource
        .module
        .0
        .iter()
        .enumerate()
        .map(|(i, n)| (n.clone(), keys.get(&i).cloned().unwrap_or_default()))
        .collect();
    let key = keys.get(&usize::MAX).cloned().unwrap_or_default();
    Ok(AbsResource { module: ModuleInstance(modules.into()), resource: resource.resource.clone() }.instance(key))
}

/// The index after each module call of the path (by position), and after the resource (`usize::MAX`).
fn keys(t: &Traversal, scope: &dyn Scope) -> Result<HashMap<usize, InstanceKey>> {
    let mut keys = HashMap::new();
    let mut names = vec![t.root.clone()];
    let mut in_module = &*t.root == "module";
    let mut module = 0;
    for step in &t.steps {
        let value = match &step.kind {
            StepKind::Attr(n) => {
                if in_module && names.len() == 2 {
                    // `module.NAME` is complete: another module or the resource follows.
                    names.clear();
                    module += 1;
                    in_module = &**n == "module";
                }
                names.push(n.clone());
                continue;
            }
            StepKind::LegacyIndex(i) => Value::number(*i),
            StepKind::Index(e) => e.eval(scope)?,
            StepKind::Splat { .. } => Value::null(),
        };
        let key = match value.unmark().0 {
            Value::Number(n) => n.as_u64().map(InstanceKey::Int),
            Value::String(s) => Some(InstanceKey::String(s.clone())),
            _ => None,
        };
        let Some(key) = key else {
            return Err(Box::new(
                Diagnostic::error(
                    "Invalid import address",
                    "The instance key must be a whole number or a string that is known when the plan is made.",
                )
                .at(step.range),
            ));
        };
        keys.insert(if in_module { module } else { usize::MAX }, key);
    }
    Ok(keys)
}

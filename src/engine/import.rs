//! `import` blocks: which objects are to be taken over into which resource instances.

use crate::addr::{AbsResource, InstanceKey, ModuleInstance, ResourceInstance};
use crate::config::model::{Import, Repetition, ResourceBlock};
use crate::diag::{Diagnostic, Range, Result};
use crate::engine::expand::{self, Expansion};
use crate::engine::program::ModuleId;
use crate::engine::runtime::{Repeat, RunScope};
use crate::engine::walk::{Phase, Walk};
use crate::hash::{HashMap, HashSet};
use crate::lang::functions::FunctionContext;
use crate::lang::scope::Scope;
use crate::lang::syntax::{Call, Slot, StepKind, Target, Traversal};
use gpuform_schema::{Marks, Str, Type, Value};

/// The imports into the instances of one block: address and ID.
pub type Wanted = HashMap<ResourceInstance, String>;

/// The imports into the instances of one block: from `import` blocks, and those given from outside. `None` after an
/// error. In validation, only what is known already.
pub fn wanted(walk: &Walk, given: &[(ResourceInstance, String)], m: ModuleId, slot: Slot) -> Option<Wanted> {
    let config = walk.program().config_resource(m, slot);
    let block = walk.program().resource_block(m, slot);
    let mut all: Wanted =
        given.iter().filter(|(a, _)| a.config() == config).map(|(a, id)| (a.clone(), id.clone())).collect();
    let root = walk.program().modules[0].module().clone();
    let mut ok = true;
    for import in root.imports.iter().filter(|i| i.to.resource == config) {
        let expressions = import.for_each.iter().chain([&import.id]).map(|e| e.range);
        let mut wrong = false;
        for range in expressions.chain([import.to.traversal.range()]) {
            wrong |= walk.report_all(walk.program().problems_within(range).iter().cloned().collect());
        }
        if wrong {
            ok = false;
            continue;
        }
        let found = match evaluate(walk, import, block) {
            Ok(found) => found,
            Err(d) => {
                ok = false;
                walk.report(d);
                continue;
            }
        };
        for (addr, id) in found {
            if all.get(&addr).is_some_and(|other| *other != id) {
                walk.report(
                    Diagnostic::warning(
                        "Duplicate import configuration",
                        format!("More than one ID is given for {addr}. The last one counts: \"{id}\"."),
                    )
                    .at(import.range),
                );
            }
            all.insert(addr, id);
        }
    }
    ok &= walk.phase == Phase::Validate || all.is_empty() || all_declared(walk, &all, given, m, slot);
    ok.then_some(all)
}

/// The `import` block that asks for an object, for its place.
pub fn place(walk: &Walk, m: ModuleId, slot: Slot) -> Option<Range> {
    let config = walk.program().config_resource(m, slot);
    walk.program().modules[0].module().imports.iter().find(|i| i.to.resource == config).map(|i| i.range)
}

/// Reports imports into instances that the configuration does not ask for.
fn all_declared(walk: &Walk, wanted: &Wanted, given: &[(ResourceInstance, String)], m: ModuleId, slot: Slot) -> bool {
    let block = walk.program().resource_block(m, slot);
    let mut declared = HashSet::default();
    for run in walk.runtime.instances(m) {
        let scope = walk.runtime.scope(run, &Repeat::None);
        // What is wrong or unknown here is reported when the instances are planned.
        let Ok(Expansion::Known(repeats)) = expand::expand(&block.repetition, &scope) else { return true };
        let resource = AbsResource { module: run.addr.clone(), resource: block.addr.clone() };
        declared.extend(repeats.iter().map(|r| resource.instance(r.key())));
    }
    let mut missing: Vec<&ResourceInstance> =
        wanted.keys().filter(|a| !declared.contains(*a) && !given.iter().any(|(g, _)| g == *a)).collect();
    missing.sort();
    for addr in &missing {
        walk.report(Diagnostic::error(
            "Configuration for import target does not exist",
            format!(
                "An import block names {addr}, but the configuration asks for no such instance: check the key against \
                 \"count\" and \"for_each\" of the resource and its modules."
            ),
        ));
    }
    missing.is_empty()
}

fn evaluate(walk: &Walk, import: &Import, block: &ResourceBlock) -> Result<Vec<(ResourceInstance, String)>> {
    let root = walk.runtime.root();
    let validating = walk.phase == Phase::Validate;
    let each = match &import.for_each {
        None => vec![None],
        Some(e) => {
            let value = e.eval(&walk.runtime.scope(root, &Repeat::None))?.unmark_deep(&mut Default::default());
            if validating && !value.is_wholly_known() {
                return Ok(Vec::new());
            }
            elements(&value, e.range)?.into_iter().map(Some).collect()
        }
    };
    let mut out = Vec::with_capacity(each.len());
    for each in each {
        let scope = EachScope { inner: walk.runtime.scope(root, &Repeat::None), each };
        let addr = match address(import, &scope) {
            // A key may depend on what is not known before a plan is made.
            Err(_) if validating => continue,
            addr => addr?,
        };
        check_key(import, block, &addr)?;
        if let Some(id) = id(import, &scope, validating)? {
            out.push((addr, id));
        }
    }
    Ok(out)
}

/// Key and value of each element of `for_each`, which may be any collection here. Elements of sets are their own keys.
fn elements(value: &Value, at: Range) -> Result<Vec<(Value, Value)>> {
    const SUMMARY: &str = "Invalid for_each argument";
    let fail = |detail: &str| Err(Box::new(Diagnostic::error(SUMMARY, detail).at(at)));
    if !value.is_wholly_known() {
        return fail(
            "The collection must be known when the plan is made, but it depends on something that is known only after \
             apply.",
        );
    }
    Ok(match value {
        Value::Null(_) => Vec::new(),
        Value::Map(_) | Value::Object(_) => {
            value.entries().into_iter().flatten().map(|(k, v)| (Value::String(k.clone()), v.clone())).collect()
        }
        Value::Set(c) => c.items.iter().map(|v| (v.clone(), v.clone())).collect(),
        Value::List(_) | Value::Tuple(_) => {
            let items = value.items().unwrap_or_default();
            items.iter().enumerate().map(|(i, v)| (Value::number(i as u64), v.clone())).collect()
        }
        v => {
            let detail =
                format!("\"for_each\" must be a map, an object, a list or a set, not {}.", v.ty().friendly_name());
            return fail(&detail);
        }
    })
}

/// The root module's scope with the element of `for_each`.
struct EachScope<'a> {
    inner: RunScope<'a>,
    each: Option<(Value, Value)>,
}

impl Scope for EachScope<'_> {
    fn value(&self, t: &Traversal) -> Result<Value> {
        match (&t.target, &self.each) {
            (Target::EachKey, Some((key, _))) => Ok(key.clone()),
            (Target::EachValue, Some((_, value))) => Ok(value.clone()),
            _ => self.inner.value(t),
        }
    }

    fn function_context(&self) -> &FunctionContext<'_> {
        self.inner.function_context()
    }

    fn provider_function(&self, call: &Call, arguments: &[Value]) -> Result<Value> {
        self.inner.provider_function(call, arguments)
    }
}

/// The ID. It may come from a sensitive value: it names the object, is shown in the plan and stored in the state.
fn id(import: &Import, scope: &dyn Scope, validating: bool) -> Result<Option<String>> {
    let value = import.id.eval_as(scope, &Type::String)?;
    let fail =
        |detail: &str| Err(Box::new(Diagnostic::error("Invalid import id argument", detail).at(import.id.range)));
    let (plain, marks) = value.unmark();
    if marks.contains(Marks::EPHEMERAL) {
        return fail("The ID is shown in the plan and stored, so it cannot be ephemeral.");
    }
    match plain {
        Value::String(s) if s.is_empty() => fail("The ID must not be empty."),
        Value::String(s) => Ok(Some(s.to_string())),
        Value::Null(_) => fail("The ID must not be null."),
        _ if validating => Ok(None),
        _ => fail("The ID must be known when the plan is made; it depends on something known only after apply."),
    }
}

/// The key must be of the kind that the resource's instances have.
fn check_key(import: &Import, block: &ResourceBlock, addr: &ResourceInstance) -> Result<()> {
    let detail = match (&block.repetition, &addr.key) {
        (Repetition::Single | Repetition::Enabled(_), InstanceKey::None)
        | (Repetition::Count(_), InstanceKey::Int(_))
        | (Repetition::ForEach(_), InstanceKey::String(_)) => return Ok(()),
        (Repetition::Single | Repetition::Enabled(_), _) => {
            "has neither \"count\" nor \"for_each\", so no key can follow its name"
        }
        (Repetition::Count(_), _) => "has \"count\", so a number in brackets must follow its name",
        (Repetition::ForEach(_), _) => "has \"for_each\", so a string in brackets must follow its name",
    };
    Err(Box::new(
        Diagnostic::error("Invalid import 'to' expression", format!("{} {detail}.", import.to.resource))
            .at(import.to_range),
    ))
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
    let mut keys = HashMap::default();
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

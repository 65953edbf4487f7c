//! `moved` and `removed` blocks: objects that have new addresses, and objects to forget.

use crate::addr::{ConfigResource, InstanceKey, Module, ModuleInstance, ResourceInstance, Target};
use crate::config::model::{Config, ModuleNode, RemovedTarget, Repetition};
use crate::config::refactoring::{self, DeclaredInstances};
use crate::diag::Diagnostic;
use crate::engine::expand::{self, Expansion};
use crate::engine::runtime::Repeat;
use crate::engine::walk::Walk;
use crate::hash::HashMap;
use crate::state::State;
use gpuform_schema::Str;

/// What `removed` blocks say.
#[derive(Default)]
pub struct Forget(Vec<(RemovedTarget, bool)>);

impl Forget {
    pub fn from_config(config: &Config) -> Forget {
        let mut all = Vec::new();
        each_module(&config.root, &mut |node| {
            for r in &node.module.removed {
                let target = match &r.from {
                    RemovedTarget::Module(m) => RemovedTarget::Module(below(&node.addr, m)),
                    RemovedTarget::Resource(c) => RemovedTarget::Resource(ConfigResource {
                        module: below(&node.addr, &c.module),
                        resource: c.resource.clone(),
                    }),
                };
                all.push((target, r.destroy));
            }
        });
        Forget(all)
    }

    /// Whether the objects of a resource are to be destroyed, where a block says something about it.
    pub fn matches(&self, resource: &ConfigResource) -> Option<bool> {
        self.0
            .iter()
            .find(|(t, _)| match t {
                RemovedTarget::Module(m) => resource.module.0.starts_with(&m.0),
                RemovedTarget::Resource(r) => r == resource,
            })
            .map(|(_, destroy)| *destroy)
    }
}

fn below(base: &Module, rest: &Module) -> Module {
    Module(base.0.iter().chain(rest.0.iter()).cloned().collect())
}

fn each_module(node: &ModuleNode, f: &mut dyn FnMut(&ModuleNode)) {
    f(node);
    node.children.iter().for_each(|c| each_module(c, f));
}

/// What became of the objects that statements concern.
#[derive(Default)]
pub struct Moves {
    /// The old address of every instance that has a new one.
    pub moved: HashMap<ResourceInstance, ResourceInstance>,
    /// Objects that could not move because there is another one at their destination.
    pub blocked: Vec<(ResourceInstance, ResourceInstance)>,
}

impl Moves {
    /// A warning about moves that were not possible.
    pub fn warning(&self) -> Option<Diagnostic> {
        let list: String = self.blocked.iter().map(|(old, new)| format!("\n  - {old} to {new}")).collect();
        (!list.is_empty()).then(|| {
            Diagnostic::warning(
                "Unresolved resource instance address changes",
                format!("These objects could not move, because others have their new addresses already:{list}"),
            )
        })
    }
}

/// What a plan has found to be declared.
pub struct Declared<'a>(pub &'a Walk);

impl DeclaredInstances for Declared<'_> {
    fn modules(&self, module: &Module) -> Vec<ModuleInstance> {
        let id = self.0.program().module_ids.get(module);
        id.map_or(&[][..], |id| self.0.runtime.instances(*id)).iter().map(|run| run.addr.clone()).collect()
    }

    fn has_resource(&self, resource: &ResourceInstance) -> bool {
        let Some((m, slot)) = self.0.program().find_resource(&resource.config()) else { return false };
        let Some(run) = self.0.runtime.instances(m).iter().find(|run| run.addr == resource.module) else {
            return false;
        };
        let repetition = &self.0.program().resource_block(m, slot).repetition;
        let scope = self.0.runtime.scope(run, &Repeat::None);
        matches!(
            expand::expand(repetition, &scope),
            Ok(Expansion::Known(repeats)) if repeats.iter().any(|r| r.key() == resource.key)
        )
    }
}

/// Applies all moves to the state: those that are written, in the order that chains of them need, then those that
/// follow from adding or removing `count`.
pub fn apply(config: &Config, state: &mut State) -> Moves {
    let mut moves: Vec<(Module, Target, Target)> = Vec::new();
    each_module(&config.root, &mut |node| {
        for m in &node.module.moved {
            moves.push((node.addr.clone(), m.from.target.clone(), m.to.target.clone()));
        }
    });
    let mut moved = Moves::default();
    if !state.has_resources() {
        return moved;
    }
    for i in order(&moves) {
        let (module, from, to) = &moves[i];
        let found: Vec<(ResourceInstance, ResourceInstance)> = state
            .instances()
            .filter_map(|i| {
                let addr = i.addr();
                new_address(module, from, to, &addr).map(|new| (addr, new))
            })
            .collect();
        for (old, new) in found {
            rename(state, &mut moved, &old, new);
        }
    }
    implied(config, state, &mut moved);
    moved
}

fn rename(state: &mut State, moves: &mut Moves, old: &ResourceInstance, new: ResourceInstance) {
    if *old == new {
        return;
    }
    if !state.move_instance(old, &new) {
        moves.blocked.push((old.clone(), new));
        return;
    }
    let origin = moves.moved.remove(old).unwrap_or_else(|| old.clone());
    if origin != new {
        moves.moved.insert(new, origin);
    }
}

/// Statements whose source is another's destination come after it.
fn order(moves: &[(Module, Target, Target)]) -> Vec<usize> {
    let absolute = |module: &Module, end: &Target| refactoring::absolute(end, &ModuleInstance::of(module));
    let ends: Vec<(Target, Target)> = moves.iter().map(|(m, from, to)| (absolute(m, from), absolute(m, to))).collect();
    let graph = refactoring::order(&ends.iter().map(|(from, to)| (from, to)).collect::<Vec<_>>());
    match petgraph::algo::toposort(&graph, None) {
        Ok(order) => order.into_iter().map(|n| n.index()).collect(),
        Err(_) => (0..moves.len()).collect(),
    }
}

/// Where a statement of `module` sends an instance, if it concerns it.
fn new_address(module: &Module, from: &Target, to: &Target, addr: &ResourceInstance) -> Option<ResourceInstance> {
    let depth = module.0.len();
    if addr.module.0.len() < depth || !addr.module.0.iter().zip(module.0.iter()).all(|((n, _), m)| n == m) {
        return None;
    }
    let (base, rest) = addr.module.0.split_at(depth);
    let place = |path: &ModuleInstance, tail: &[(Str, InstanceKey)]| {
        ModuleInstance(base.iter().chain(path.0.iter()).chain(tail).cloned().collect())
    };
    match (from, to) {
        (Target::Module(f), Target::Module(t)) => {
            let tail = rest.strip_prefix(&*f.0).or_else(|| prefix_without_last_key(f, rest))?;
            let mut new: Vec<(Str, InstanceKey)> = t.0.to_vec();
            let keyless = |m: &ModuleInstance| m.0.last().is_some_and(|(_, k)| k.is_none());
            if keyless(f) && keyless(t) {
                // The whole call was renamed: instances keep their keys.
                if let (Some(last), Some(old)) = (new.last_mut(), rest.get(f.0.len().checked_sub(1)?)) {
                    last.1 = old.1.clone();
                }
            }
            let module = place(&ModuleInstance(new.into()), tail);
            Some(ResourceInstance { module, resource: addr.resource.clone(), key: addr.key.clone() })
        }
        (Target::Module(_), _) | (_, Target::Module(_)) => None,
        (f, t) => {
            let (f_module, f_resource, f_key) = parts(f)?;
            let (t_module, t_resource, t_key) = parts(t)?;
            if *rest != *f_module.0 || addr.resource != *f_resource {
                return None;
            }
            let key = match (f_key, t_key) {
                (None, None) => addr.key.clone(),
                (Some(k), t) if *k == addr.key => t.cloned().unwrap_or_default(),
                (None, Some(t)) if addr.key.is_none() => t.clone(),
                _ => return None,
            };
            Some(ResourceInstance { module: place(t_module, &[]), resource: t_resource.clone(), key })
        }
    }
}

/// A call without key stands for all its instances.
fn prefix_without_last_key<'a>(
    from: &ModuleInstance,
    rest: &'a [(Str, InstanceKey)],
) -> Option<&'a [(Str, InstanceKey)]> {
    let n = from.0.len();
    let (last, init) = from.0.split_last()?;
    if rest.len() < n || !last.1.is_none() || rest[..n - 1] != *init || rest[n - 1].0 != last.0 {
        return None;
    }
    Some(&rest[n..])
}

type Parts<'a> = (&'a ModuleInstance, &'a crate::addr::Resource, Option<&'a InstanceKey>);

fn parts(t: &Target) -> Option<Parts<'_>> {
    match t {
        Target::Module(_) => None,
        Target::Resource(r) => Some((&r.module, &r.resource, None)),
        Target::Instance(i) => Some((&i.module, &i.resource, Some(&i.key))),
    }
}

/// Adding `count` to a resource makes its object the first instance, and removing it the other way round.
fn implied(config: &Config, state: &mut State, moved: &mut Moves) {
    let mut repeated: HashMap<ConfigResource, bool> = HashMap::default();
    each_module(&config.root, &mut |node| {
        for r in node.module.resources.values() {
            let count = match r.repetition {
                Repetition::Count(_) => true,
                Repetition::Single | Repetition::Enabled(_) => false,
                Repetition::ForEach(_) => continue,
            };
            repeated.insert(ConfigResource { module: node.addr.clone(), resource: r.addr.clone() }, count);
        }
    });
    let mut found = Vec::new();
    for (abs, r) in state.resources() {
        let (single, first) = (InstanceKey::None, InstanceKey::Int(0));
        match repeated.get(&abs.config()) {
            Some(true) if r.instances.contains_key(&single) && !r.instances.contains_key(&first) => {
                found.push((abs.instance(single), abs.instance(first)));
            }
            Some(false) if r.instances.contains_key(&first) && !r.instances.contains_key(&single) => {
                found.push((abs.instance(first), abs.instance(single)));
            }
            _ => {}
        }
    }
    for (old, new) in found {
        rename(state, moved, &old, new);
    }
}

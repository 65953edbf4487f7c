//! Checks of `moved` and `removed` blocks against each other and against what is declared. Planning runs them:
//! removals before anything else, moves when it knows the instances of every block. `validate` runs neither.

use super::model::{Config, Module, ModuleNode, MoveEndpoint, Moved, RemovedTarget};
use crate::addr::{self, InstanceKey, ModuleInstance, ResourceInstance, Target};
use crate::diag::{Diagnostic, Diagnostics, Range};
use gpuform_schema::Str;
use petgraph::graph::{DiGraph, NodeIndex};
use std::collections::HashMap;

/// The instances that the configuration declares, as `count` and `for_each` come out.
pub trait DeclaredInstances {
    /// The instances of a module; the root has one.
    fn modules(&self, module: &addr::Module) -> Vec<ModuleInstance>;
    fn has_resource(&self, resource: &ResourceInstance) -> bool;
}

/// Everything that is declared although a `removed` block says that it is gone.
pub fn check_removals(config: &Config) -> Diagnostics {
    let mut diags = Diagnostics::new();
    config.root.visit(&mut |node| check_removed(node, config, &mut diags));
    diags
}

/// Everything that is wrong with the moves of a configuration.
pub fn check_moves(config: &Config, instances: &dyn DeclaredInstances) -> Diagnostics {
    let mut diags = Diagnostics::new();
    let mut moves = Vec::new();
    config.root.visit(&mut |node| {
        if !node.module.moved.is_empty() {
            for module in instances.modules(&node.addr) {
                moves.extend(node.module.moved.iter().map(|m| Statement::new(m, &module)));
            }
        }
    });
    compare(&moves, config, instances, &mut diags);
    if !diags.has_errors() {
        check_cycles(&moves, config, &mut diags);
    }
    diags
}

/// A move with addresses from the root module, in one instance of the module that states it.
struct Statement {
    from: Target,
    to: Target,
    range: Range,
}

impl Statement {
    fn new(moved: &Moved, module: &ModuleInstance) -> Statement {
        // If one end is an instance, the other is one too, perhaps the one without a key.
        let instance = |e: &MoveEndpoint| matches!(e.target, Target::Instance(_));
        let instances = instance(&moved.from) || instance(&moved.to);
        let end = |e: &MoveEndpoint| match absolute(&e.target, module) {
            Target::Resource(r) if instances => Target::Instance(r.instance(InstanceKey::None)),
            target => target,
        };
        Statement { from: end(&moved.from), to: end(&moved.to), range: moved.range }
    }
}

/// An end of a statement that stands in a module instance, as seen from the root.
pub fn absolute(target: &Target, module: &ModuleInstance) -> Target {
    let around = |m: &ModuleInstance| ModuleInstance(module.0.iter().chain(m.0.iter()).cloned().collect());
    match target {
        Target::Module(m) => Target::Module(around(m)),
        Target::Resource(r) => Target::Resource(addr::AbsResource { module: around(&r.module), ..r.clone() }),
        Target::Instance(i) => Target::Instance(ResourceInstance { module: around(&i.module), ..i.clone() }),
    }
}

/// Compares the moves with each other and with what is declared.
fn compare(moves: &[Statement], config: &Config, instances: &dyn DeclaredInstances, diags: &mut Diagnostics) {
    let mut by_from: HashMap<&Target, &Statement> = HashMap::new();
    let mut by_to: HashMap<&Target, &Statement> = HashMap::new();
    for m in moves {
        let Statement { from, to, range } = m;
        if from == to {
            let detail = format!("{from} moves to its own address, which changes nothing.");
            diags.error("Redundant move statement", detail, *range);
            continue;
        }
        let first = by_from.entry(from).or_insert(m);
        if first.to != *to {
            let place = config.sources.describe(first.range);
            let detail = format!(
                "{from} moves to {} by the statement at {place}, and to {to} by this one. It can move to one place only.",
                first.to
            );
            diags.error("Ambiguous move statements", detail, *range);
        }
        let first = by_to.entry(to).or_insert(m);
        if first.from != *from {
            let place = config.sources.describe(first.range);
            let detail = format!(
                "{} moves to {to} by the statement at {place}, and {from} by this one. Only one object can move there.",
                first.from
            );
            diags.error("Ambiguous move statements", detail, *range);
        }
        if let Some(declared) = still_declared(from, config, instances) {
            let detail = format!(
                "{from} is to move to {to}, but it is still declared, at {}. Declare it as {to} instead, or take the move out.",
                config.sources.describe(declared)
            );
            diags.error("Moved object still exists", detail, *range);
        }
    }
}

/// Where the object that moves away is declared, if it still is.
fn still_declared(from: &Target, config: &Config, instances: &dyn DeclaredInstances) -> Option<Range> {
    match from {
        Target::Module(m) => {
            let ((name, key), parent) = m.0.split_last()?;
            let call = module_at(config, parent)?.calls.get(name)?;
            let keyed = !matches!(call.repetition, super::model::Repetition::Single);
            let declared = if key.is_none() { !keyed } else { instances.modules(&m.module()).contains(m) };
            declared.then_some(call.header_range)
        }
        Target::Resource(r) => {
            let module = module_at(config, &r.module.0)?;
            if !instances.modules(&r.module.module()).contains(&r.module) {
                return None;
            }
            module.resources.get(&r.resource).map(|b| b.header_range)
        }
        Target::Instance(i) => {
            let module = module_at(config, &i.module.0)?;
            let block = module.resources.get(&i.resource)?;
            instances.has_resource(i).then_some(block.header_range)
        }
    }
}

/// The module at a path of calls, whatever the instances.
fn module_at<'a>(config: &'a Config, path: &[(Str, InstanceKey)]) -> Option<&'a Module> {
    let mut node: &ModuleNode = &config.root;
    for (name, _) in path {
        node = node.children.iter().find(|c| c.addr.0.last() == Some(name))?;
    }
    Some(&node.module)
}

/// Chains of moves that never end.
fn check_cycles(moves: &[Statement], config: &Config, diags: &mut Diagnostics) {
    let ends: Vec<(&Target, &Target)> = moves.iter().map(|m| (&m.from, &m.to)).collect();
    for cycle in petgraph::algo::tarjan_scc(&order(&ends)) {
        if cycle.len() < 2 {
            continue;
        }
        let members = cycle.iter().filter_map(|n| moves.get(n.index()));
        let step = |m: &Statement| format!("\n  - {}: {} to {}", config.sources.describe(m.range), m.from, m.to);
        let steps: String = members.map(step).collect();
        let detail = format!("These moves form a circle, so there is no place where the objects end up:{steps}");
        diags.push(Diagnostic::error("Cyclic dependency in move statements", detail));
    }
}

/// Which moves come after which others: an edge leads from a move to each one that starts from where it ends, from
/// something in there, or from something around. Nodes are the positions in `ends` (from, to).
pub fn order(ends: &[(&Target, &Target)]) -> DiGraph<(), ()> {
    let mut graph = DiGraph::new();
    for _ in ends {
        graph.add_node(());
    }
    let mut ending_at: HashMap<Target, Vec<usize>> = HashMap::new();
    let mut ending_within: HashMap<Target, Vec<usize>> = HashMap::new();
    for (i, (_, to)) in ends.iter().enumerate() {
        ending_at.entry((*to).clone()).or_default().push(i);
        around(to).for_each(|outer| ending_within.entry(outer).or_default().push(i));
    }
    for (i, (from, _)) in ends.iter().enumerate() {
        let outer: Vec<Target> = around(from).collect();
        let earlier =
            std::iter::once(*from).chain(&outer).flat_map(|t| ending_at.get(t)).chain(ending_within.get(from));
        for before in earlier.flatten().filter(|before| **before != i) {
            graph.update_edge(NodeIndex::new(*before), NodeIndex::new(i), ());
        }
    }
    graph
}

/// Everything that an object lies within, itself left out.
fn around(target: &Target) -> impl Iterator<Item = Target> {
    let (resource, module, own) = match target {
        Target::Module(m) => (None, m, false),
        Target::Resource(r) => (None, &r.module, true),
        Target::Instance(i) => (Some(Target::Resource(i.abs_resource())), &i.module, true),
    };
    let path = module.0.clone();
    let longest = if own { path.len() + 1 } else { path.len() };
    let modules = (1..longest).filter_map(move |n| Some(Target::Module(ModuleInstance(path.get(..n)?.into()))));
    resource.into_iter().chain(modules)
}

fn check_removed(node: &ModuleNode, config: &Config, diags: &mut Diagnostics) {
    for removed in &node.module.removed {
        let within = |path: &addr::Module| -> Vec<(Str, InstanceKey)> {
            node.addr.0.iter().chain(path.0.iter()).map(|n| (n.clone(), InstanceKey::None)).collect()
        };
        let (what, name, declared) = match &removed.from {
            RemovedTarget::Module(path) => {
                let path = within(path);
                let call = path.split_last().and_then(|((name, _), parent)| {
                    module_at(config, parent).and_then(|m| m.calls.get(name)).map(|c| c.header_range)
                });
                ("module", ModuleInstance(path.into()).to_string(), call)
            }
            RemovedTarget::Resource(r) => {
                let path = within(&r.module);
                let block = module_at(config, &path).and_then(|m| m.resources.get(&r.resource)).map(|b| b.header_range);
                let address = addr::AbsResource { module: ModuleInstance(path.into()), resource: r.resource.clone() };
                ("resource", address.to_string(), block)
            }
        };
        if let Some(declared) = declared {
            let detail = format!(
                "{name} is declared to be removed, at {}, but is declared here all the same.",
                config.sources.describe(removed.range)
            );
            diags.error(format!("Removed {what} still exists"), detail, declared);
        }
    }
}

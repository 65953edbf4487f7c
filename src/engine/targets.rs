//! `-target` and `-exclude`: which nodes and instances take part.

use crate::addr::{ConfigResource, Module, ResourceInstance, Target};
use crate::diag::Diagnostic;
use crate::engine::program::{ModuleId, Node, Program};
use crate::engine::walk::Walk;
use crate::hash::{HashMap, HashSet};
use crate::lang::syntax::Slot;
use crate::state::State;
use petgraph::Direction;
use petgraph::graph::NodeIndex;

/// What was asked for, and the nodes that follow from it.
#[derive(Default)]
pub struct Targets {
    targets: Vec<Target>,
    excludes: Vec<Target>,
    /// Nodes that something targeted needs: all their instances take part.
    needed: HashSet<NodeIndex>,
    /// When destroying: resources that depend on a target are destroyed with it.
    dependents: HashSet<NodeIndex>,
    /// When destroying: what excluded objects depend on, which stays with them.
    kept: HashSet<ConfigResource>,
    destroy: bool,
}

impl Targets {
    pub fn new(targets: Vec<Target>, excludes: Vec<Target>, destroy: bool) -> Targets {
        Targets { targets, excludes, destroy, ..Targets::default() }
    }

    pub fn is_empty(&self) -> bool {
        self.targets.is_empty() && self.excludes.is_empty()
    }

    /// The nodes that take part; `None` for all of them.
    pub fn select(&mut self, program: &Program) -> Option<HashSet<NodeIndex>> {
        if self.is_empty() {
            return None;
        }
        let graph = &program.graph;
        let matches = |n: NodeIndex, list: &[Target]| match graph[n] {
            Node::Resource(m, s) => list.iter().any(|t| covers_config(t, &program.config_resource(m, s))),
            _ => false,
        };
        let mut chosen: HashSet<NodeIndex> = if self.targets.is_empty() {
            graph.node_indices().collect()
        } else {
            graph.node_indices().filter(|n| matches(*n, &self.targets)).collect()
        };
        let mut left_out = HashSet::default();
        if !self.excludes.is_empty() && !self.destroy {
            // An instance-level exclusion leaves the block in; what depends on an excluded block goes out with it.
            let out: Vec<NodeIndex> = graph
                .node_indices()
                .filter(|n| match graph[*n] {
                    Node::Resource(m, s) => {
                        let config = program.config_resource(m, s);
                        self.excludes.iter().any(|t| covers_whole(t, &config))
                    }
                    _ => false,
                })
                .collect();
            left_out = reach(program, out, Direction::Outgoing);
            left_out.retain(|n| !matches!(graph[*n], Node::Close(_)));
            chosen.retain(|n| !left_out.contains(n));
        }
        if self.destroy && !self.targets.is_empty() {
            let direct: Vec<NodeIndex> = chosen.iter().copied().collect();
            let next = direct.iter().flat_map(|n| graph.neighbors(*n)).collect();
            self.dependents = reach(program, next, Direction::Outgoing);
            chosen.extend(self.dependents.iter().filter(|n| matches!(graph[**n], Node::Resource(..))));
        }
        let direct: HashSet<NodeIndex> = chosen.clone();
        let mut all = reach(program, chosen.iter().copied().collect(), Direction::Incoming);
        // Closing a provider comes after everything that uses it.
        all.retain(|n| !left_out.contains(n));
        for n in &all {
            let needed = graph.neighbors(*n).any(|d| all.contains(&d));
            if needed || !direct.contains(n) {
                self.needed.insert(*n);
            }
        }
        if !self.destroy {
            self.add_complete_outputs(program, &mut all);
        }
        Some(all)
    }

    /// When destroying, what an excluded object depends on by the state stays as well; what depends on it may go.
    pub fn keep(&mut self, state: &State) {
        if !self.destroy || self.excludes.is_empty() {
            return;
        }
        let mut needs: HashMap<ConfigResource, Vec<ConfigResource>> = HashMap::default();
        let mut queue = Vec::new();
        for i in state.instances() {
            let addr = i.addr();
            let objects = i.state.current.iter().chain(i.state.deposed.values());
            needs.entry(addr.config()).or_default().extend(objects.flat_map(|o| o.dependencies.iter().cloned()));
            if self.excludes.iter().any(|t| covers(t, &addr)) {
                queue.push(addr.config());
            }
        }
        while let Some(resource) = queue.pop() {
            for needed in needs.remove(&resource).into_iter().flatten() {
                queue.push(needed.clone());
                self.kept.insert(needed);
            }
        }
    }

    /// Root outputs whose resources all take part are brought up to date as well.
    fn add_complete_outputs(&self, program: &Program, all: &mut HashSet<NodeIndex>) {
        let outputs: Vec<NodeIndex> =
            program.graph.node_indices().filter(|n| matches!(program.graph[*n], Node::Output(0, _))).collect();
        for o in outputs {
            let inputs = reach(program, vec![o], Direction::Incoming);
            let mut resources = inputs.iter().filter(|n| matches!(program.graph[**n], Node::Resource(..))).peekable();
            if resources.peek().is_some() && resources.all(|n| all.contains(n)) {
                all.extend(inputs);
            }
        }
    }

    /// Whether one instance of a declared block takes part.
    pub fn includes_instance(&self, walk: &Walk, m: ModuleId, slot: Slot, addr: &ResourceInstance) -> bool {
        if self.is_empty() {
            return true;
        }
        if self.excludes.iter().any(|t| covers(t, addr)) || self.kept.contains(&addr.config()) {
            return false;
        }
        if self.targets.is_empty() || self.targets.iter().any(|t| covers(t, addr)) {
            return true;
        }
        let n = walk.program().modules[m].resource_index(slot);
        if self.destroy { self.dependents.contains(&n) } else { self.needed.contains(&n) }
    }

    /// Objects can move only if the targets cover both where they were and where they are to be.
    pub fn splits_moves(&self, moved: &HashMap<ResourceInstance, ResourceInstance>) -> Option<Diagnostic> {
        if self.targets.is_empty() {
            return None;
        }
        let covered = |addr: &ResourceInstance| self.targets.iter().any(|t| covers(t, addr));
        let mut left_out: Vec<String> = moved
            .iter()
            .flat_map(|(new, old)| [old, new])
            .filter(|addr| !covered(addr))
            .map(|addr| format!("\n  -target={}", shlex::try_quote(&addr.to_string()).unwrap_or_default()))
            .collect();
        left_out.sort();
        (!left_out.is_empty()).then(|| {
            Diagnostic::error(
                "Moved resource instances excluded by targeting",
                format!(
                    "Objects in the state are to move, which -target leaves out only in part. Plan without -target, or add \
                     these:{}",
                    left_out.concat()
                ),
            )
        })
    }

    /// Whether an object without configuration takes part.
    pub fn includes_orphan(&self, addr: &ResourceInstance) -> bool {
        (self.targets.is_empty() || self.targets.iter().any(|t| covers(t, addr)))
            && !self.excludes.iter().any(|t| covers(t, addr))
            && !self.kept.contains(&addr.config())
    }
}

/// Everything that can be reached from the given nodes, themselves included.
fn reach(program: &Program, from: Vec<NodeIndex>, direction: Direction) -> HashSet<NodeIndex> {
    let mut seen: HashSet<NodeIndex> = from.iter().copied().collect();
    let mut queue = from;
    while let Some(n) = queue.pop() {
        for next in program.graph.neighbors_directed(n, direction) {
            if seen.insert(next) {
                queue.push(next);
            }
        }
    }
    seen
}

/// Whether a module path given with or without keys covers an instance of it.
fn module_covers(target: &crate::addr::ModuleInstance, actual: &crate::addr::ModuleInstance, exact: bool) -> bool {
    if actual.0.len() < target.0.len() || (exact && actual.0.len() != target.0.len()) {
        return false;
    }
    target.0.iter().zip(actual.0.iter()).all(|((n, k), (an, ak))| n == an && (k.is_none() || k == ak))
}

fn covers(target: &Target, addr: &ResourceInstance) -> bool {
    match target {
        Target::Module(m) => module_covers(m, &addr.module, false),
        Target::Resource(r) => module_covers(&r.module, &addr.module, true) && r.resource == addr.resource,
        Target::Instance(i) => {
            module_covers(&i.module, &addr.module, true) && i.resource == addr.resource && i.key == addr.key
        }
    }
}

fn within(outer: &Module, inner: &Module) -> bool {
    inner.0.starts_with(&outer.0)
}

fn covers_config(target: &Target, config: &ConfigResource) -> bool {
    match target {
        Target::Module(m) => within(&m.module(), &config.module),
        Target::Resource(r) => r.config() == *config,
        Target::Instance(i) => i.config() == *config,
    }
}

/// As [`covers_config`], but not where only some instances are meant.
fn covers_whole(target: &Target, config: &ConfigResource) -> bool {
    let keyless = |m: &crate::addr::ModuleInstance| m.0.iter().all(|(_, k)| k.is_none());
    match target {
        Target::Module(m) => keyless(m) && within(&m.module(), &config.module),
        Target::Resource(r) => keyless(&r.module) && r.config() == *config,
        Target::Instance(_) => false,
    }
}

//! The execution graph: the declared objects of the program, which evaluate as more values become known, and beside
//! them one node for everything that is destroyed of a resource. Its edges say in one place what waits for what:
//!
//! - an object is destroyed after those that depend on it, as recorded in the state;
//! - an object that is replaced is destroyed before its successor is created, or after it and after everything that
//!   uses it was updated (create before destroy);
//! - an object that is only destroyed goes after the update of what used it, where that closes no circle;
//! - what a provider's configuration comes from outlives the last operation of that provider.

use crate::addr::{AbsProviderConfig, AbsResource, ConfigResource};
use crate::engine::plan::{Action, Plan};
use crate::engine::program::{Node, Program, ProviderId};
use crate::hash::{HashMap, HashSet};
use petgraph::graph::{DiGraph, NodeIndex};
use std::collections::BTreeSet;

/// One node of the execution graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// A declared object; for a resource: everything but destruction.
    Declared(Node),
    /// Destroys objects; position in [`Execution::groups`].
    Destroy(usize),
}

/// What is destroyed (or forgotten) of one resource block.
pub struct Group {
    pub resource: ConfigResource,
    pub provider: Option<ProviderId>,
    /// Positions in `plan.changes`.
    pub changes: Vec<usize>,
}

pub struct Execution {
    /// The nodes of the program come first and keep their indexes.
    pub graph: DiGraph<Step, ()>,
    pub groups: Vec<Group>,
    /// What is not destroyed of each declared resource instance: by resource, positions in `plan.changes`.
    pub by_resource: HashMap<AbsResource, Vec<usize>>,
}

impl Execution {
    pub fn build(program: &Program, plan: &Plan) -> Execution {
        let mut graph: DiGraph<Step, ()> = program.graph.map(|_, n| Step::Declared(*n), |_, ()| ());
        let mut by_resource: HashMap<AbsResource, Vec<usize>> = HashMap::default();
        let mut groups: Vec<Group> = Vec::new();
        let mut group_of: HashMap<ConfigResource, usize> = HashMap::default();
        let providers: HashMap<&AbsProviderConfig, ProviderId> =
            program.providers.iter().enumerate().map(|(i, p)| (&p.addr, i)).collect();
        for (n, c) in plan.changes.iter().enumerate() {
            if c.deposed.is_none() && !matches!(c.action, Action::Delete | Action::Forget) {
                by_resource.entry(c.addr.abs_resource()).or_default().push(n);
            }
            if matches!(c.action, Action::Delete | Action::Forget) || c.action.is_replace() {
                let config = c.addr.config();
                let group = *group_of.entry(config.clone()).or_insert_with(|| {
                    let provider = providers.get(&c.provider.block()).copied();
                    groups.push(Group { resource: config, provider, changes: Vec::new() });
                    groups.len() - 1
                });
                groups[group].changes.push(n);
            }
        }
        let destroy: Vec<NodeIndex> = (0..groups.len()).map(|g| graph.add_node(Step::Destroy(g))).collect();
        let mut hard: HashSet<(NodeIndex, NodeIndex)> = HashSet::default();
        let mut soft: HashSet<(NodeIndex, NodeIndex)> = HashSet::default();
        let node_of = |r: &ConfigResource| program.find_resource(r).map(|(m, s)| program.modules[m].resource_index(s));
        // Which resources each one with destroyed objects depended on, by the state.
        for (g, group) in groups.iter().enumerate() {
            let here = destroy[g];
            let mut needs: BTreeSet<&ConfigResource> = BTreeSet::new();
            let mut last: Option<&[ConfigResource]> = None;
            for c in group.changes.iter().map(|n| &plan.changes[*n]) {
                let stored = stored_dependencies(plan, c);
                // Instances of one block share their list.
                if last.is_none_or(|l| l != stored) {
                    needs.extend(stored);
                    last = Some(stored);
                }
            }
            for other in needs.iter().filter(|r| ***r != group.resource).filter_map(|r| group_of.get(*r)) {
                hard.insert((here, destroy[*other]));
            }
            if let Some(p) = group.provider {
                hard.insert((program.provider_index(p), here));
                for source in provider_sources(program, p) {
                    if let Some(other) = group_of.get(&source).filter(|o| **o != g) {
                        hard.insert((here, destroy[*other]));
                    }
                }
            }
            let changes = || group.changes.iter().map(|n| &plan.changes[*n]);
            let own = node_of(&group.resource);
            if let Some(own) = own {
                if changes().any(|c| c.action == Action::DeleteThenCreate) {
                    hard.insert((here, own));
                } else if changes().any(|c| c.action == Action::CreateThenDelete) {
                    hard.insert((own, here));
                } else {
                    soft.insert((own, here));
                }
            }
        }
        // What used a destroyed object before, or depends on its successor now, is updated first where possible.
        let mut users: HashMap<usize, HashSet<NodeIndex>> = HashMap::default();
        for (abs, changes) in &by_resource {
            let Some(user) = node_of(&abs.config()) else { continue };
            let mut last: Option<(&[ConfigResource], &[ConfigResource])> = None;
            for c in changes.iter().map(|n| &plan.changes[*n]).filter(|c| c.action != Action::NoOp) {
                let lists = (stored_dependencies(plan, c), &*c.dependencies);
                if last.is_some_and(|l| l == lists) {
                    continue;
                }
                last = Some(lists);
                for r in lists.0.iter().chain(lists.1) {
                    if let Some(g) = group_of.get(r).filter(|_| *r != abs.config()) {
                        users.entry(*g).or_default().insert(user);
                    }
                }
            }
        }
        for (g, users) in users {
            let before = groups[g].changes.iter().any(|n| plan.changes[*n].action == Action::CreateThenDelete);
            let after = groups[g].changes.iter().any(|n| plan.changes[*n].action == Action::DeleteThenCreate);
            for user in users {
                if before {
                    hard.insert((user, destroy[g]));
                } else if !after {
                    soft.insert((user, destroy[g]));
                }
            }
        }
        add_edges(&mut graph, hard, soft);
        Execution { graph, groups, by_resource }
    }

    /// Operations that an apply carries out, for progress.
    pub fn operations(plan: &Plan) -> usize {
        plan.changes
            .iter()
            .map(|c| match c.action {
                Action::NoOp => 0,
                Action::DeleteThenCreate | Action::CreateThenDelete => 2,
                _ => 1,
            })
            .sum()
    }
}

fn stored_dependencies<'a>(plan: &'a Plan, c: &crate::engine::plan::ResourceChange) -> &'a [ConfigResource] {
    let object = match c.deposed {
        Some(key) => plan.prior_state.get_deposed(&c.addr, key),
        None => plan.prior_state.get(&c.addr),
    };
    object.map_or(&[], |o| &o.dependencies)
}

/// The resources that a provider's configuration is made from.
fn provider_sources(program: &Program, provider: ProviderId) -> Vec<ConfigResource> {
    let mut found = Vec::new();
    let mut seen: HashSet<NodeIndex> = HashSet::default();
    let mut queue = vec![program.provider_index(provider)];
    while let Some(n) = queue.pop() {
        for input in program.graph.neighbors_directed(n, petgraph::Direction::Incoming) {
            if !seen.insert(input) {
                continue;
            }
            match program.graph[input] {
                Node::Resource(m, s) => found.push(program.config_resource(m, s)),
                _ => queue.push(input),
            }
        }
    }
    found
}

/// Adds all hard edges, and those soft ones that close no circle with them or with each other.
fn add_edges(
    graph: &mut DiGraph<Step, ()>,
    hard: HashSet<(NodeIndex, NodeIndex)>,
    soft: HashSet<(NodeIndex, NodeIndex)>,
) {
    for (a, b) in hard {
        graph.add_edge(a, b, ());
    }
    if soft.is_empty() {
        return;
    }
    let mut component = vec![0; graph.node_count()];
    let with_soft = {
        let mut g = graph.clone();
        for (a, b) in &soft {
            g.add_edge(*a, *b, ());
        }
        g
    };
    for (n, members) in petgraph::algo::tarjan_scc(&with_soft).into_iter().enumerate() {
        members.into_iter().for_each(|m| component[m.index()] = n);
    }
    for (a, b) in soft {
        if component[a.index()] != component[b.index()] {
            graph.add_edge(a, b, ());
        }
    }
}

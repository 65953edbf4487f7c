//! What follows from the edges of the graph: an order or the circles that forbid one, and to which resources
//! `create_before_destroy` spreads.

use super::{Node, Program};
use crate::diag::{Diagnostic, Diagnostics};
use crate::hash::HashMap;
use petgraph::graph::{DiGraph, NodeIndex};

impl Program {
    /// A topological order, or an error that names every member of each cycle.
    pub(super) fn check_cycles(&self, diags: &mut Diagnostics) -> Option<Vec<NodeIndex>> {
        if let Ok(order) = petgraph::algo::toposort(&self.graph, None) {
            return Some(order);
        }
        for component in petgraph::algo::tarjan_scc(&self.graph) {
            let own_loop = component.len() == 1 && self.graph.contains_edge(component[0], component[0]);
            if component.len() < 2 && !own_loop {
                continue;
            }
            let path = cycle_path(&self.graph, &component);
            let names: Vec<String> = path.iter().map(|n| self.describe(self.graph[*n])).collect();
            let mut around = names.clone();
            around.extend(names.first().cloned());
            diags.push(Diagnostic::error(
                format!("Cycle: {}", names.join(", ")),
                format!(
                    "These objects need each other, so none of them can be first:\n    {}\nBreak the circle by removing \
                     one of these references.",
                    around.join("\n    is needed by ")
                ),
            ));
        }
        None
    }

    /// What must be created before its old self is destroyed needs its dependencies to be treated the same way.
    pub(super) fn spread_create_before_destroy(&mut self, order: &[NodeIndex]) {
        let mut spreads = vec![false; self.graph.node_count()];
        for n in order.iter().rev() {
            let from_dependents =
                self.graph.neighbors(*n).any(|d| spreads[d.index()] && !matches!(self.graph[d], Node::Provider(_)));
            spreads[n.index()] = match self.graph[*n] {
                Node::Resource(m, s) => {
                    let written = self.resource_block(m, s).lifecycle.create_before_destroy;
                    let on = written == Some(true) || from_dependents;
                    self.modules[m].resources[s as usize].create_before_destroy = on;
                    on
                }
                _ => from_dependents,
            };
        }
    }
}

/// One closed walk through the members of a strongly connected component, each named once.
fn cycle_path(graph: &DiGraph<Node, ()>, component: &[NodeIndex]) -> Vec<NodeIndex> {
    let members: std::collections::HashSet<NodeIndex> = component.iter().copied().collect();
    let Some(start) = component.iter().min().copied() else { return Vec::new() };
    let mut previous: HashMap<NodeIndex, NodeIndex> = HashMap::default();
    let mut queue = std::collections::VecDeque::from([start]);
    while let Some(n) = queue.pop_front() {
        for next in graph.neighbors(n).filter(|x| members.contains(x)) {
            if next == start {
                let mut path = vec![n];
                while let Some(p) = path.last().filter(|p| **p != start).and_then(|p| previous.get(p)) {
                    path.push(*p);
                }
                path.reverse();
                return path;
            }
            previous.entry(next).or_insert_with(|| {
                queue.push_back(next);
                n
            });
        }
    }
    component.to_vec()
}

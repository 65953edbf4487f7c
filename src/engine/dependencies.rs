//! Which resources each resource depends on, as the state records it and as the order of destruction needs it. Worked
//! out once for a program, over declared objects: sets of numbers, so that a large configuration costs no more for each
//! resource than a small one.

use crate::addr::ConfigResource;
use crate::engine::program::{Node, Program};
use crate::hash::HashMap;
use petgraph::Direction;
use petgraph::graph::NodeIndex;
use std::sync::Arc;

/// Lists that are longer than this are replaced by the direct dependencies.
const LONG: usize = 64;

/// Positions in the sorted list of all resources, ascending; shared between the nodes that have the same.
type Set = Arc<[u32]>;

impl Program {
    /// For each resource, the resources that it depends on: all of them, as Terraform stores them, unless that list
    /// is long: then those that it refers to directly or through locals, variables and outputs, whose own lists lead
    /// on to the rest. That keeps states of large configurations linear in size.
    pub(super) fn dependencies(&mut self, order: &[NodeIndex]) {
        let (all, positions) = self.sorted_resources();
        let asked = self.leads_to_resources(order);
        let mut direct: Vec<Set> = vec![Arc::default(); self.graph.node_count()];
        let mut far: Vec<Set> = direct.clone();
        let nothing: Set = Arc::default();
        let mut lists: HashMap<Set, Arc<[ConfigResource]>> = HashMap::default();
        for n in order.iter().map(|n| n.index()).filter(|n| asked[*n]) {
            let inputs: Vec<usize> =
                self.graph.neighbors_directed(NodeIndex::new(n), Direction::Incoming).map(NodeIndex::index).collect();
            direct[n] = union(&inputs, &positions, |i| if positions[i].is_some() { &nothing } else { &direct[i] });
            let whole = union(&inputs, &positions, |i| &far[i]);
            far[n] = if whole.len() > LONG { direct[n].clone() } else { whole };
            if let Node::Resource(m, s) = self.graph[NodeIndex::new(n)] {
                let list = lists
                    .entry(far[n].clone())
                    .or_insert_with(|| far[n].iter().filter_map(|p| all.get(*p as usize)).cloned().collect());
                self.modules[m].resources[s as usize].dependencies = list.clone();
            }
        }
    }

    /// All resources in order of their printed addresses, as Terraform stores them, and by node the position of its resource among them.
    fn sorted_resources(&self) -> (Vec<ConfigResource>, Vec<Option<u32>>) {
        let mut all: Vec<(ConfigResource, NodeIndex)> = self
            .graph
            .node_indices()
            .filter_map(|n| match self.graph[n] {
                Node::Resource(m, s) => Some((self.config_resource(m, s), n)),
                _ => None,
            })
            .collect();
        all.sort_by_cached_key(|(r, _)| r.to_string());
        let mut positions = vec![None; self.graph.node_count()];
        for (position, (_, n)) in (0..).zip(&all) {
            positions[n.index()] = Some(position);
        }
        (all.into_iter().map(|(r, _)| r).collect(), positions)
    }

    /// The nodes that are resources, or that a resource needs in some way.
    fn leads_to_resources(&self, order: &[NodeIndex]) -> Vec<bool> {
        let mut leads = vec![false; self.graph.node_count()];
        for n in order.iter().rev() {
            leads[n.index()] = matches!(self.graph[*n], Node::Resource(..))
                || self.graph.neighbors(*n).any(|dependent| leads[dependent.index()]);
        }
        leads
    }
}

/// The inputs that are resources, and what `of` gives for each input. Shares the set where there is only one.
fn union<'a>(inputs: &[usize], positions: &[Option<u32>], of: impl Fn(usize) -> &'a Set) -> Set {
    let sets: Vec<&Set> = inputs.iter().map(|i| of(*i)).filter(|s| !s.is_empty()).collect();
    let own = || inputs.iter().filter_map(|i| positions[*i]);
    if let ([only], None) = (&sets[..], own().next()) {
        return (*only).clone();
    }
    let mut all: Vec<u32> = own().chain(sets.iter().flat_map(|s| s.iter().copied())).collect();
    all.sort_unstable();
    all.dedup();
    all.into()
}

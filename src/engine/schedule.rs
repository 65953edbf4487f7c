//! Runs the nodes of a graph as soon as everything they need is done, those with the longest path behind them first.
//! A failed node's dependents are skipped; everything else goes on. Which node does what is the caller's business.

use futures::stream::{self, FuturesUnordered, StreamExt};
use petgraph::Direction;
use petgraph::graph::{DiGraph, NodeIndex};
use std::collections::BinaryHeap;
use std::future::Future;

/// How a node ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    Done,
    /// It reported why; what depends on it is skipped.
    Failed,
}

/// Runs futures, up to `limit` at once, and gives their results in the order of the futures.
pub async fn in_order<F: Future>(futures: impl ExactSizeIterator<Item = F>, limit: usize) -> Vec<F::Output> {
    let mut futures = futures;
    match (futures.len(), futures.next()) {
        // Most blocks have one instance: it needs no queue.
        (1, Some(only)) => vec![only.await],
        (_, first) => stream::iter(first.into_iter().chain(futures)).buffered(limit).collect().await,
    }
}

/// Runs every node once. Nodes that need nothing asynchronous complete while they are started; the others overlap.
pub async fn run<N, F>(graph: &DiGraph<N, ()>, mut start: impl FnMut(NodeIndex) -> F)
where
    F: Future<Output = Outcome>,
{
    let remaining_path = longest_path_behind(graph);
    let mut waiting: Vec<u32> =
        graph.node_indices().map(|n| graph.neighbors_directed(n, Direction::Incoming).count() as u32).collect();
    let mut skip = vec![false; graph.node_count()];
    let mut ready: BinaryHeap<(u32, std::cmp::Reverse<NodeIndex>)> = graph
        .node_indices()
        .filter(|n| waiting[n.index()] == 0)
        .map(|n| (remaining_path[n.index()], std::cmp::Reverse(n)))
        .collect();
    let mut running = FuturesUnordered::new();
    loop {
        while let Some((_, std::cmp::Reverse(n))) = ready.pop() {
            if skip[n.index()] {
                finish(graph, n, true, &mut waiting, &mut skip, &mut ready, &remaining_path);
                continue;
            }
            let mut future = Box::pin(start(n));
            match futures::poll!(future.as_mut()) {
                std::task::Poll::Ready(outcome) => {
                    let failed = outcome == Outcome::Failed;
                    finish(graph, n, failed, &mut waiting, &mut skip, &mut ready, &remaining_path);
                }
                std::task::Poll::Pending => running.push(async move { (n, future.await) }),
            }
        }
        match running.next().await {
            Some((n, outcome)) => {
                let failed = outcome == Outcome::Failed;
                finish(graph, n, failed, &mut waiting, &mut skip, &mut ready, &remaining_path);
            }
            None => break,
        }
    }
}

fn finish<N>(
    graph: &DiGraph<N, ()>,
    n: NodeIndex,
    failed: bool,
    waiting: &mut [u32],
    skip: &mut [bool],
    ready: &mut BinaryHeap<(u32, std::cmp::Reverse<NodeIndex>)>,
    remaining_path: &[u32],
) {
    for next in graph.neighbors(n) {
        skip[next.index()] |= failed;
        waiting[next.index()] -= 1;
        if waiting[next.index()] == 0 {
            ready.push((remaining_path[next.index()], std::cmp::Reverse(next)));
        }
    }
}

/// For each node, the number of nodes on the longest path that starts after it.
fn longest_path_behind<N>(graph: &DiGraph<N, ()>) -> Vec<u32> {
    let mut length = vec![0; graph.node_count()];
    if let Ok(order) = petgraph::algo::toposort(graph, None) {
        for n in order.into_iter().rev() {
            length[n.index()] = graph.neighbors(n).map(|d| length[d.index()] + 1).max().unwrap_or(0);
        }
    }
    length
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    fn ran(edges: &[(u32, u32)], failing: &[u32]) -> Vec<usize> {
        let graph = DiGraph::<(), ()>::from_edges(edges.iter().copied());
        let order = RefCell::new(Vec::new());
        let order_ref = &order;
        futures::executor::block_on(run(&graph, |n| async move {
            order_ref.borrow_mut().push(n.index());
            if failing.contains(&(n.index() as u32)) { Outcome::Failed } else { Outcome::Done }
        }));
        order.into_inner()
    }

    #[test]
    fn a_node_runs_after_what_it_needs() {
        assert_eq!(ran(&[(2, 1), (1, 0)], &[]), [2, 1, 0]);
    }

    #[test]
    fn the_longest_path_goes_first() {
        assert_eq!(ran(&[(0, 4), (1, 2), (2, 3), (3, 4)], &[]), [1, 2, 0, 3, 4]);
    }

    #[test]
    fn what_depends_on_a_failure_is_skipped_and_the_rest_runs() {
        assert_eq!(ran(&[(0, 1), (1, 2), (3, 4)], &[0]), [0, 3, 4]);
    }
}

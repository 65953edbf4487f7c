//! Provider configurations with `for_each`: which expression chooses the instance that a resource uses, and what
//! `for_each` itself may not depend on. Used by the builder for edges and checks, and by walks to find the key.

use super::{ModuleId, Node, Program};
use crate::diag::{Diagnostic, Diagnostics};
use crate::lang::syntax::{Expr, Slot};
use petgraph::Direction;
use petgraph::graph::NodeIndex;
use std::collections::HashSet;

impl Program {
    /// The key of the provider instance that a resource uses, and the module in which it is evaluated: written in the
    /// block, or in a call of its module or of one around it.
    pub fn provider_key(&self, m: ModuleId, slot: Slot) -> Option<(ModuleId, &Expr)> {
        let block = self.resource_block(m, slot);
        if let Some(key) = &block.provider_key {
            return Some((m, key));
        }
        let passed = self.modules[m].node.provider_keys.get(&block.provider)?;
        let called = *self.module_ids.get(&passed.called)?;
        let (around, _) = self.modules[called].parent?;
        Some((around, &passed.expr))
    }

    /// Reports what `for_each` of provider blocks may not depend on, and blocks that are repeated alike.
    pub(super) fn check_provider_instances(&self, diags: &mut Diagnostics) {
        for p in &self.providers {
            let Some(e) = p.block.as_ref().and_then(|b| b.config.for_each.as_ref()) else { continue };
            let mut found = None;
            e.visit_traversals(&mut |t| {
                self.nodes_of(p.module, t, &mut |n| found = found.take().or_else(|| self.first_dynamic(n)));
            });
            if let Some(node) = found {
                let detail = format!(
                    "The instances of a provider must be known before anything is planned, so its \"for_each\" is made from \
                     input variables and local values only. Here it depends on {}.",
                    self.describe(node)
                );
                diags.push(Diagnostic::error("Invalid for_each argument", detail).at(e.range));
                continue;
            }
            self.warn_repeated_alike(p.module, e, diags);
        }
    }

    /// The first object that is known only by planning among a node and what it depends on.
    fn first_dynamic(&self, start: NodeIndex) -> Option<Node> {
        let mut seen = HashSet::from([start]);
        let mut queue = vec![start];
        while let Some(n) = queue.pop() {
            let node = self.graph[n];
            if matches!(node, Node::Resource(..) | Node::Output(..) | Node::Close(_)) {
                return Some(node);
            }
            queue.extend(self.graph.neighbors_directed(n, Direction::Incoming).filter(|i| seen.insert(*i)));
        }
        None
    }

    /// Objects need their provider to be destroyed, so one that goes together with its provider cannot be.
    fn warn_repeated_alike(&self, m: ModuleId, provider: &Expr, diags: &mut Diagnostics) {
        let text = |e: &Expr| self.config.sources.text(e.range);
        let written = text(provider);
        let uses = |e: &Expr| text(e) == written;
        let module = self.modules[m].module();
        let resources = module.resources.values().filter(|r| r.provider_key.is_some()).map(|r| r.repetition.expr());
        let keyed = module.calls.values().filter(|c| c.providers.iter().flatten().any(|p| p.key.is_some()));
        for e in resources.chain(keyed.map(|c| c.repetition.expr())).flatten().filter(|e| uses(e)) {
            let detail = format!(
                "The provider at {} is repeated by the same expression. When an element is taken out of it, the provider \
                 instance goes together with the objects that it would have to destroy, which is an error then. Let the \
                 provider keep the element until the objects are gone, for instance with a collection of its own.",
                self.config.sources.describe(provider.range)
            );
            diags.push(
                Diagnostic::warning("Provider configuration for_each matches resource or module", detail).at(e.range),
            );
        }
    }
}

//! What is asked of providers: the constraints that a configuration puts on their versions, and the providers that a
//! state needs. Nothing is chosen here.

use crate::addr::Provider;
use crate::config::model::{Module, ModuleNode};
use crate::config::version::Constraints;
use crate::diag::{Diagnostics, Range};
use crate::state::State;
use std::collections::BTreeMap;

/// Providers with the constraints on their versions; no constraints where any version will do.
#[derive(Clone, Default, Debug)]
pub struct Requirements(pub BTreeMap<Provider, Constraints>);

impl Requirements {
    /// What a whole configuration asks for.
    pub fn of_configuration(root: &ModuleNode, diags: &mut Diagnostics) -> Requirements {
        let mut all = Requirements::default();
        all.add_configuration(root, diags);
        all
    }

    /// Adds what another configuration asks for.
    pub fn add_configuration(&mut self, root: &ModuleNode, diags: &mut Diagnostics) {
        root.visit(&mut |node| self.add_module(&node.module, diags));
    }

    /// What one module asks for, without those that it calls.
    pub fn of_module(module: &Module, diags: &mut Diagnostics) -> Requirements {
        let mut all = Requirements::default();
        all.add_module(module, diags);
        all
    }

    fn add_module(&mut self, module: &Module, diags: &mut Diagnostics) {
        for r in module.required_providers.values() {
            self.add(&r.source, r.version.as_ref(), diags);
        }
        for block in module.provider_configs.values().filter(|b| b.version.is_some()) {
            if let Some(r) = module.required_providers.get(&block.name) {
                self.add(&r.source, block.version.as_ref(), diags);
            }
        }
    }

    fn add(&mut self, provider: &Provider, version: Option<&(String, Range)>, diags: &mut Diagnostics) {
        let entry = self.0.entry(provider.clone()).or_default();
        let Some((text, range)) = version else { return };
        match Constraints::of_provider(text) {
            Ok(c) => *entry = std::mem::take(entry).and_of_provider(&c),
            Err(e) => diags.error("Invalid version constraint", e.to_string(), *range),
        }
    }

    /// Adds the providers of the objects in a state.
    pub fn add_state(&mut self, state: &State) {
        for (_, resource) in state.resources() {
            self.0.entry(resource.provider.provider.clone()).or_default();
        }
    }
}

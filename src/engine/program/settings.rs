//! What `provider_meta` blocks set: constants with which a module tells a provider about itself. They go along with every
//! operation on the resources and data sources of that module which the configuration declares.

use super::{ModuleId, ModuleMeta, Program};
use crate::addr::{self, ResourceInstance};
use crate::diag::{Diagnostic, Diagnostics};
use crate::engine::schemas::provider_of;
use crate::hash::HashMap;
use crate::lang::decode::{Decoder, Layout};
use crate::lang::resolve::Allowed;
use crate::lang::scope::EmptyScope;
use crate::plugin::Provider;
use gpuform_schema::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// By module and provider; what is wrong with a block is told where something would be planned with it.
pub(super) type Settings = HashMap<(ModuleId, addr::Provider), Result<Value, Diagnostics>>;

/// Reads the blocks of all modules for the providers that are in use.
pub(super) fn read(modules: &[ModuleMeta], running: &BTreeMap<addr::Provider, Arc<dyn Provider>>) -> Settings {
    let mut all = Settings::default();
    for (m, meta) in modules.iter().enumerate() {
        let module = meta.module();
        for (local, (body, range)) in &module.provider_metas {
            let addr = provider_of(&meta.node, local);
            let Some(provider) = running.get(&addr) else { continue };
            let mut diags = Diagnostics::new();
            let value = match provider.meta_schema() {
                Some(schema) => {
                    let layout = Layout::new(&schema.block);
                    let decoder = Decoder::compile(body, &layout, &**module, Allowed::default(), &mut diags);
                    decoder.eval(&EmptyScope::default(), &mut diags)
                }
                None => {
                    diags.push(unsupported(&addr).at(*range));
                    None
                }
            };
            let read = match value {
                Some(value) if !diags.has_errors() => Ok(value),
                _ => Err(diags),
            };
            all.insert((m, addr), read);
        }
    }
    all
}

fn unsupported(provider: &addr::Provider) -> Diagnostic {
    Diagnostic::error(
        format!("Provider {provider} doesn't support provider_meta"),
        "Modules have nothing to tell this provider: it has no schema for such a block. Remove the block, or use a version \
         of the provider that has one.",
    )
}

impl Program {
    /// What the module of a declared resource tells its provider; `None` where it has no block for it.
    pub fn settings(&self, resource: &ResourceInstance, provider: &addr::Provider) -> Option<Value> {
        if self.settings.is_empty() {
            return None;
        }
        let (m, _) = self.find_resource(&resource.config())?;
        self.settings.get(&(m, provider.clone()))?.as_ref().ok().cloned()
    }

    /// What is wrong with the `provider_meta` block of a module for a provider.
    pub fn settings_problems(&self, m: ModuleId, provider: &addr::Provider) -> Option<&Diagnostics> {
        if self.settings.is_empty() {
            return None;
        }
        self.settings.get(&(m, provider.clone()))?.as_ref().err()
    }
}

//! The schemas that a document about a configuration or a state needs: gathered from the providers once, so that the
//! views need no providers.

use crate::addr::{Mode, Provider};
use crate::config::model::{Config, ModuleNode};
use crate::diag::Diagnostics;
use crate::engine::providers::ProviderPool;
use crate::engine::stored::TypeInfo;
use crate::state::{Attributes, ObjectState, State};
use gpuform_schema::json::{self, ExtraAttributes};
use gpuform_schema::schema::Schema;
use gpuform_schema::{Str, Value};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// What is asked for: providers, and of each the types of resources.
#[derive(Default)]
pub struct Needed(BTreeMap<Provider, BTreeSet<(Mode, Str)>>);

/// Schemas of providers and resource types.
#[derive(Default)]
pub struct Schemas(HashMap<Provider, OfProvider>);

#[derive(Default)]
struct OfProvider {
    config: Arc<Schema>,
    types: HashMap<(Mode, Str), TypeInfo>,
}

impl Needed {
    pub fn add(&mut self, provider: &Provider, mode: Mode, ty: &Str) {
        self.0.entry(provider.clone()).or_default().insert((mode, ty.clone()));
    }

    /// Everything that the blocks of a configuration need.
    pub fn add_config(&mut self, config: &Config) {
        config.root.visit(&mut |node| {
            for block in node.module.resources.values() {
                self.add(&provider_of(node, &block.provider.name), block.mode(), &block.addr.ty);
            }
            for p in node.module.provider_configs.values() {
                self.0.entry(provider_of(node, &p.name)).or_default();
            }
        });
    }

    pub fn add_state(&mut self, state: &State) {
        for (addr, resource) in state.resources() {
            self.add(&resource.provider.provider, addr.resource.mode, &addr.resource.ty);
        }
    }

    /// Asks the providers. Types that they do not have are left out.
    ///
    /// # Errors
    /// A provider cannot be started.
    pub async fn load(self, pool: &ProviderPool) -> Result<Schemas, Diagnostics> {
        let mut all = HashMap::new();
        for (provider, types) in self.0 {
            let running = pool.unconfigured(&provider).await?;
            let mut of = OfProvider { config: running.config_schema(), types: HashMap::new() };
            for (mode, ty) in types {
                let schema = match mode {
                    Mode::Managed => running.resource_schema(&ty),
                    Mode::Data => running.data_source_schema(&ty),
                    Mode::Ephemeral => running.ephemeral_schema(&ty),
                };
                if let Some(schema) = schema {
                    of.types.insert((mode, ty.clone()), TypeInfo::new(ty, schema));
                }
            }
            all.insert(provider, of);
        }
        Ok(Schemas(all))
    }
}

/// The provider that a local name means in a module.
pub fn provider_of(node: &ModuleNode, local_name: &str) -> Provider {
    let required = node.module.required_providers.get(local_name);
    required.map_or_else(|| Provider::implied(local_name), |r| r.source.clone())
}

impl Schemas {
    /// The schema of a resource type.
    pub fn resource(&self, provider: &Provider, mode: Mode, ty: &Str) -> Option<&TypeInfo> {
        self.0.get(provider)?.types.get(&(mode, ty.clone()))
    }

    /// The schema of a provider's own configuration.
    pub fn provider(&self, provider: &Provider) -> Option<&Arc<Schema>> {
        self.0.get(provider).map(|p| &p.config)
    }
}

/// The attributes of a stored object with its sensitive parts marked, for showing: where the schema is missing or
/// does not fit, as the text implies.
pub fn shown_value(info: Option<&TypeInfo>, object: &ObjectState) -> Value {
    let text = match &object.attributes {
        Attributes::Json(text) => text.clone(),
        flat => flat.to_json(),
    };
    let typed = info.and_then(|i| Some((i, json::decode(text.as_bytes(), &i.ty, ExtraAttributes::Ignore).ok()?)));
    match typed {
        Some((info, v)) => info.mark(&v, &object.sensitive_paths),
        None => {
            let v = json::decode_untyped(text.as_bytes()).unwrap_or_else(|_| Value::empty_object());
            let paths: Vec<_> =
                object.sensitive_paths.iter().map(|p| (p.clone(), gpuform_schema::Marks::SENSITIVE)).collect();
            v.mark_paths(&paths)
        }
    }
}

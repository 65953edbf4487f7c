//! Configuring providers in a walk, and finding the one that handles an object. A configuration with `for_each` has an
//! instance for each of its keys, any other exactly one. Called by the walk for provider blocks and by everything that
//! needs the provider of a resource instance.

use crate::addr::{AbsProviderConfig, InstanceKey, ResourceInstance};
use crate::config::model::Repetition;
use crate::diag::{Diagnostic, Diagnostics, Range};
use crate::engine::program::{ModuleId, ProviderId, ProviderMeta};
use crate::engine::runtime::{ModuleRun, Repeat};
use crate::engine::schedule::Outcome;
use crate::engine::walk::{Configured, Phase, Walk};
use crate::lang::convert::convert;
use crate::lang::syntax::Slot;
use crate::plugin::Provider;
use gpuform_schema::schema::Schema;
use gpuform_schema::{Marks, Type, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The configured instances of one provider block.
#[derive(Default)]
pub struct ProviderInstances {
    by_key: BTreeMap<InstanceKey, Configured>,
    /// While validating, stands for instances whose keys are not known.
    any: Option<Configured>,
}

impl ProviderInstances {
    /// The one instance of a block without `for_each`.
    pub fn single(&self) -> Option<&Configured> {
        self.by_key.get(&InstanceKey::None)
    }

    pub fn get(&self, key: &InstanceKey) -> Option<&Configured> {
        self.by_key.get(key).or(self.any.as_ref())
    }

    /// Some instance, where all are alike: for what does not depend on how it is configured.
    pub fn first(&self) -> Option<&Configured> {
        self.by_key.values().next().or(self.any.as_ref())
    }

    /// The keys in a sentence.
    fn keys(&self) -> String {
        let keys: Vec<String> = self
            .by_key
            .keys()
            .map(|k| match k {
                InstanceKey::String(s) => crate::addr::quote(s),
                other => other.to_string(),
            })
            .collect();
        if keys.is_empty() { "It has no instances".into() } else { format!("It has the keys {}", keys.join(", ")) }
    }
}

impl Walk {
    /// The provider that handles an instance of a resource, as its configuration says; what is wrong is reported.
    pub fn provider_of(&self, m: ModuleId, slot: Slot, run: &Arc<ModuleRun>, repeat: &Repeat) -> Option<&Configured> {
        let program = self.program();
        let instances = self.provider(program.resource_meta(m, slot).provider)?;
        if let Some(single) = instances.single() {
            return Some(single);
        }
        let (around, expr) = program.provider_key(m, slot)?;
        // The key may be written in a call around the module, for each instance of that call.
        let (mut run, mut repeat) = (run, repeat);
        while run.id != around {
            repeat = &run.repeat;
            run = &run.parent.as_ref()?.0;
        }
        let value = self.eval(expr, &self.runtime.scope(run, repeat))?;
        match key(&value, expr.range) {
            Ok(None) if self.phase == Phase::Validate => instances.first(),
            Ok(None) => {
                let detail = "Which provider instance is meant depends on something that is known only after apply.";
                self.report(Diagnostic::error("Invalid provider instance key", detail).at(expr.range));
                None
            }
            Ok(Some(key)) => {
                let found = instances.get(&key);
                if found.is_none() {
                    let config = &program.providers[program.resource_meta(m, slot).provider].addr;
                    let detail = format!("{config} has no instance {key}. {}.", instances.keys());
                    self.report(Diagnostic::error("Provider instance not present", detail).at(expr.range));
                }
                found
            }
            Err(d) => {
                self.report(d);
                None
            }
        }
    }

    /// The provider that is stored with an object, which the configuration may not have any more. What is missing is
    /// reported; not so a whole configuration after errors, which may be the reason.
    pub fn provider_of_stored(&self, addr: &ResourceInstance, stored: &AbsProviderConfig) -> Option<&Configured> {
        let providers = &self.program().providers;
        let id = providers.iter().position(|p| p.addr.same_block(stored));
        let instances = id.and_then(|id| self.provider(id));
        let found = instances.and_then(|i| i.get(&stored.key));
        match instances {
            Some(instances) if found.is_none() => self.report(lost_instance(addr, stored, instances)),
            None if !self.diagnostics().has_errors() => {
                self.report(crate::engine::planner::missing_provider(&addr.abs_resource(), stored));
            }
            _ => {}
        }
        found
    }

    pub(super) async fn configure(&self, id: ProviderId) -> Outcome {
        let program = self.program().clone();
        let meta = &program.providers[id];
        if !meta.used {
            return Outcome::Done;
        }
        let Some(schema) = &meta.schema else { return Outcome::Failed };
        let unconfigured = match self.pool.unconfigured(&meta.addr.provider).await {
            Ok(p) => p,
            Err(e) => {
                self.report_all(e);
                return Outcome::Failed;
            }
        };
        let instances = self.runtime.instances(meta.module);
        let repeats = match meta.block.as_ref().and_then(|b| b.config.for_each.as_ref()) {
            None => vec![Repeat::None],
            Some(_) if instances.is_empty() => return Outcome::Done,
            Some(e) => match self.repeats(&Repetition::ForEach(e.clone()), &instances[0]) {
                Some(repeats) => repeats,
                None => return Outcome::Failed,
            },
        };
        let mut all = ProviderInstances::default();
        for repeat in repeats {
            let configured = match self.configure_instance(meta, schema, &unconfigured, &repeat).await {
                Ok(Some(configured)) => configured,
                Ok(None) => return Outcome::Done,
                Err(diags) => {
                    self.report_all(diags);
                    return Outcome::Failed;
                }
            };
            match repeat {
                Repeat::Unknown => all.any = Some(configured),
                repeat => drop(all.by_key.insert(repeat.key(), configured)),
            }
        }
        let _ = self.providers[id].set(all);
        Outcome::Done
    }

    /// Evaluates the block for one instance and gives it to a provider. `None` where its module has no instances.
    async fn configure_instance(
        &self,
        meta: &ProviderMeta,
        schema: &Schema,
        unconfigured: &Arc<dyn Provider>,
        repeat: &Repeat,
    ) -> Result<Option<Configured>, Diagnostics> {
        let addr = meta.addr.instance(repeat.key());
        let substitutes = self.substitutes.as_ref();
        if let Some(provider) = substitutes.and_then(|s| s.provider(&meta.addr, unconfigured)) {
            return Ok(Some(Configured { addr, provider }));
        }
        let given = substitutes.and_then(|s| s.provider_config(&meta.addr, schema));
        let config = match (given, &meta.block) {
            (Some(given), _) => given?,
            (None, None) => schema.block.empty_value(),
            (None, Some(block)) => {
                let Some(run) = self.runtime.instances(meta.module).first() else { return Ok(None) };
                let mut diags = Diagnostics::new();
                let value = block.decoder.eval(&self.runtime.scope(run, repeat), &mut diags);
                let mut all = block.problems.clone();
                all.extend(diags);
                match value {
                    Some(value) if !all.has_errors() => {
                        self.report_all(all);
                        value
                    }
                    _ => return Err(all),
                }
            }
        };
        let config = config.unmark_deep(&mut Marks::NONE.clone());
        let (config, diags) = unconfigured.validate_provider_config(config).await;
        let diags = explain(diags, meta, &addr);
        if diags.has_errors() {
            return Err(diags);
        }
        self.report_all(diags);
        if self.phase == Phase::Validate {
            return Ok(Some(Configured { addr, provider: unconfigured.clone() }));
        }
        match self.pool.configured(&addr, &config).await {
            Ok((provider, diags)) => {
                self.report_all(explain(diags, meta, &addr));
                Ok(Some(Configured { addr, provider }))
            }
            Err(diags) => Err(explain(diags, meta, &addr)),
        }
    }
}

/// What a provider says about its configuration, with the place and the address.
fn explain(diags: Diagnostics, meta: &ProviderMeta, addr: &AbsProviderConfig) -> Diagnostics {
    diags
        .into_iter()
        .map(|mut d| {
            if let (Some(path), Some(block)) = (d.attribute.take(), &meta.block) {
                d.subject = d.subject.or_else(|| block.decoder.range_of(&path));
            }
            if d.subject.is_none() {
                d.subject = meta.block.as_ref().map(|b| b.config.range);
            }
            d.address.get_or_insert_with(|| addr.to_string());
            d
        })
        .collect()
}

/// A key from the value of its expression; `None` where that is not known.
fn key(value: &Value, at: Range) -> Result<Option<InstanceKey>, Diagnostic> {
    let wrong = |detail: &str| Err(Diagnostic::error("Invalid provider instance key", detail).at(at));
    let marks = value.deep_marks();
    if marks.contains(Marks::SENSITIVE) {
        return wrong("The key is shown in addresses, so it cannot be a sensitive value.");
    }
    if marks.contains(Marks::EPHEMERAL) {
        return wrong("The key is recorded in the state, so it cannot be an ephemeral value.");
    }
    let (value, _) = value.unmark();
    if value.is_null() {
        return wrong("The key of a provider instance is a string, but this is null.");
    }
    if !value.is_known() {
        return Ok(None);
    }
    match convert(value, &Type::String) {
        Ok(Value::String(s)) => Ok(Some(InstanceKey::String(s))),
        _ => wrong("The key of a provider instance is a string."),
    }
}

/// The provider instance that a stored object needs is gone.
fn lost_instance(addr: &ResourceInstance, stored: &AbsProviderConfig, instances: &ProviderInstances) -> Diagnostic {
    Diagnostic::error(
        "Provider instance not present",
        format!(
            "{addr} is to be destroyed and needs {stored} for that, but \"for_each\" of that provider has no such key any \
             more. {}. Put the key back, apply so that the object is destroyed, and then take the key out; or take the \
             object out of the state with \"gpuform state rm\".",
            instances.keys()
        ),
    )
    .address(addr)
}

//! Planning deletions: of everything when all is destroyed, of instances and resources that the configuration does not ask
//! for any more, and of deposed objects.

use super::refresh::Prior;
use super::{CONCURRENT_INSTANCES, Instance, Planner};
use crate::addr::{AbsResource, ConfigResource, InstanceKey, Mode, ResourceInstance};
use crate::config::model::{Repetition, ResourceBlock};
use crate::diag::Diagnostic;
use crate::engine::instance::about;
use crate::engine::plan::{Action, ActionReason, PlanMode, ResourceChange};
use crate::engine::program::ModuleId;
use crate::engine::provider_instances::ProviderInstances;
use crate::engine::stored::TypeInfo;
use crate::engine::walk::{Configured, Walk};
use crate::hash::{HashMap, HashSet};
use crate::lang::syntax::Slot;
use crate::plugin::PlanRequest;
use crate::state::{DeposedKey, ObjectState};
use futures::stream::{self, StreamExt};
use gpuform_schema::schema::Schema;
use gpuform_schema::{Marks, Value};
use std::sync::Arc;

impl Planner {
    pub(super) async fn destroy_instance(&self, i: &Instance<'_>, prior: Prior) -> Option<Value> {
        let value = prior.value.clone();
        if let Some(before) = prior.value {
            let change = self
                .deletion(
                    i.walk,
                    &i.configured,
                    i.info,
                    &i.addr,
                    None,
                    before,
                    prior.private,
                    ActionReason::None,
                    i.meta.dependencies.clone(),
                )
                .await?;
            self.add_change(i.walk, Some((i.module, i.slot)), change);
            if !self.may_destroy(i) {
                return None;
            }
        }
        Some(value.unwrap_or_else(|| Value::unknown(i.info.ty.clone())))
    }

    /// A planned deletion; providers that want to are asked about it.
    #[allow(clippy::too_many_arguments)]
    async fn deletion(
        &self,
        walk: &Walk,
        configured: &Configured,
        info: &TypeInfo,
        addr: &ResourceInstance,
        deposed: Option<DeposedKey>,
        before: Value,
        private: Vec<u8>,
        reason: ActionReason,
        dependencies: Arc<[ConfigResource]>,
    ) -> Option<ResourceChange> {
        let null = Value::Null(info.ty.clone());
        let mut planned_private = private.clone();
        if configured.provider.capabilities().plan_destroy {
            let _turn = walk.turn(&configured.addr.provider).await;
            let request = PlanRequest {
                type_name: &info.name,
                prior: before.unmark_deep(&mut Marks::default()),
                proposed: null.clone(),
                config: null.clone(),
                prior_private: private,
                provider_meta: walk.program().settings(addr, &configured.addr.provider),
            };
            let r = configured.provider.plan_resource_change(request).await;
            if walk.report_all(about(r.diagnostics, addr)) {
                return None;
            }
            planned_private = r.planned_private;
        }
        Some(ResourceChange {
            addr: addr.clone(),
            prev_addr: if self.input.mode == PlanMode::Destroy {
                addr
            } else {
                self.input.moved.get(addr).unwrap_or(addr)
            }
            .clone(),
            deposed,
            provider: configured.addr.clone(),
            action: Action::Delete,
            reason,
            before,
            after: null,
            required_replace: Vec::new(),
            planned_private,
            importing: None,
            generated_config: None,
            schema: info.schema.clone(),
            dependencies,
            create_before_destroy: false,
        })
    }

    /// Plans to delete the deposed objects of an instance.
    pub(super) async fn deposed(&self, i: &Instance<'_>) -> Option<()> {
        if self.input.mode == PlanMode::RefreshOnly {
            return Some(());
        }
        let deposed = self.work().state.instance(&i.addr).map(|s| s.deposed.clone()).unwrap_or_default();
        for (key, object) in deposed {
            self.delete_stored(
                i.walk,
                Some((i.module, i.slot)),
                &i.configured,
                i.info,
                &i.addr,
                Some(key),
                &object,
                ActionReason::None,
            )
            .await?;
        }
        Some(())
    }

    /// Plans to delete a stored object that is not wanted any more, unless it is gone already.
    #[allow(clippy::too_many_arguments)]
    async fn delete_stored(
        &self,
        walk: &Walk,
        block: Option<(ModuleId, Slot)>,
        configured: &Configured,
        info: &TypeInfo,
        addr: &ResourceInstance,
        deposed: Option<DeposedKey>,
        object: &Arc<ObjectState>,
        reason: ActionReason,
    ) -> Option<()> {
        let configured = &*walk.handler(addr, configured);
        let value = self.stored_value(walk, configured, info, addr, object).await?;
        // When everything is destroyed, nothing is left to be forgotten.
        let forget = self.input.forget.matches(&addr.config()).filter(|_| self.input.mode == PlanMode::Normal);
        let (value, private) = if self.input.refresh && forget != Some(false) {
            let provider = &*configured.provider;
            match self.refresh(walk, configured, provider, info, addr, deposed, object, value).await? {
                Some(r) => r,
                None => return Some(()),
            }
        } else {
            (value, object.private.clone())
        };
        if self.input.mode == PlanMode::RefreshOnly {
            return Some(());
        }
        let mut change = self
            .deletion(walk, configured, info, addr, deposed, value, private, reason, object.dependencies.clone())
            .await?;
        change.create_before_destroy = object.create_before_destroy;
        if forget == Some(false) {
            change.action = Action::Forget;
        }
        self.add_change(walk, block, change);
        Some(())
    }

    /// Instances of a declared resource that `count` or `for_each` does not ask for any more.
    pub(super) async fn surplus(
        &self,
        walk: &Walk,
        block: (ModuleId, Slot),
        abs: &AbsResource,
        wanted: &HashSet<InstanceKey>,
        info: &TypeInfo,
    ) -> bool {
        let surplus: Vec<_> = {
            let work = self.work();
            let instances = work.state.resource(abs).map(|r| &r.instances);
            instances
                .into_iter()
                .flatten()
                .filter(|(k, _)| !wanted.contains(*k))
                .map(|(k, s)| (k.clone(), s.clone()))
                .collect()
        };
        let repetition = &walk.program().resource_block(block.0, block.1).repetition;
        let mut ok = true;
        for (key, instance) in surplus {
            let addr = abs.instance(key.clone());
            if !self.input.targets.includes_instance(walk, block.0, block.1, &addr) {
                continue;
            }
            let reason = match (repetition, &key) {
                (Repetition::Count(_), InstanceKey::Int(_)) => ActionReason::DeleteBecauseCountIndex,
                (Repetition::ForEach(_), InstanceKey::String(_)) => ActionReason::DeleteBecauseEachKey,
                _ => ActionReason::DeleteBecauseWrongRepetition,
            };
            let prevent = walk.program().resource_block(block.0, block.1).lifecycle.prevent_destroy;
            if prevent && instance.current.is_some() && self.input.mode == PlanMode::Normal {
                walk.report(prevented(&addr, walk.program().resource_block(block.0, block.1)));
                ok = false;
            }
            ok &= match self.provider_of_stored(walk, Some(block), &addr) {
                Some(configured) => {
                    self.delete_instance(walk, Some(block), configured, info, &addr, &instance, reason).await
                }
                None => false,
            };
        }
        ok
    }

    #[allow(clippy::too_many_arguments)]
    async fn delete_instance(
        &self,
        walk: &Walk,
        block: Option<(ModuleId, Slot)>,
        configured: &Configured,
        info: &TypeInfo,
        addr: &ResourceInstance,
        instance: &crate::state::InstanceState,
        reason: ActionReason,
    ) -> bool {
        let current = instance.current.iter().map(|o| (None, o, reason));
        let deposed = instance.deposed.iter().map(|(k, o)| (Some(*k), o, ActionReason::None));
        let mut ok = true;
        for (key, object, reason) in current.chain(deposed) {
            ok &= self.delete_stored(walk, block, configured, info, addr, key, object, reason).await.is_some();
        }
        ok
    }

    /// Everything in the state that has no configuration. Called after the walk, when all providers are configured.
    pub async fn orphans(&self, walk: &Walk) {
        let program = walk.program().clone();
        let left: Vec<AbsResource> = {
            let work = self.work();
            work.state.resources().map(|(a, _)| a).filter(|a| !work.seen.contains(*a)).cloned().collect()
        };
        let mut types: HashMap<(crate::addr::Provider, Arc<str>), Option<TypeInfo>> = HashMap::default();
        let mut jobs = Vec::new();
        for abs in left {
            let declared = program.find_resource(&abs.config());
            if let Some((m, _)) = declared {
                // A block that was not planned because of an error or a target is not without configuration.
                let expanded = walk.runtime.instances(m).iter().any(|r| r.addr == abs.module);
                if expanded || !self.input.targets.is_empty() || walk.diagnostics().has_errors() {
                    continue;
                }
            }
            if abs.resource.mode == Mode::Data {
                self.work().state.remove_resource(&abs);
                continue;
            }
            let Some(resource) = self.work().state.resource(&abs).cloned() else { continue };
            let provider = program.providers.iter().position(|p| p.addr.same_block(&resource.provider));
            let Some(configured) = provider.and_then(|p| walk.provider(p)).and_then(ProviderInstances::first) else {
                if !walk.diagnostics().has_errors() {
                    walk.report(missing_provider(&abs, &resource.provider));
                }
                continue;
            };
            let key = (configured.addr.provider.clone(), abs.resource.ty.clone());
            let info = types.entry(key).or_insert_with(|| {
                let schema: Option<Arc<Schema>> = configured.provider.resource_schema(&abs.resource.ty);
                schema.map(|s| TypeInfo::new(abs.resource.ty.clone(), s))
            });
            let Some(info) = info.clone() else {
                walk.report(
                    Diagnostic::error(
                        "Unknown resource type in the state",
                        format!(
                            "The state holds {abs}, but the installed provider {} has no resource type \"{}\". Install the \
                             provider version that made it, or remove it from the state with \"gpuform state rm\".",
                            configured.addr.provider.for_display(),
                            abs.resource.ty
                        ),
                    )
                    .address(&abs),
                );
                continue;
            };
            if let Some(removed) = program.removed.get(&abs.config()).filter(|r| r.problems.has_errors()) {
                walk.report_all(removed.problems.clone());
                continue;
            }
            let reason = if declared.is_some() {
                ActionReason::DeleteBecauseNoModule
            } else {
                ActionReason::DeleteBecauseNoResourceConfig
            };
            let reason = if self.input.mode == PlanMode::Destroy { ActionReason::None } else { reason };
            for (key, instance) in resource.instances {
                let addr = abs.instance(key);
                let lost =
                    reason == ActionReason::DeleteBecauseNoResourceConfig && self.input.moved.contains_key(&addr);
                let reason = if lost { ActionReason::DeleteBecauseNoMoveTarget } else { reason };
                if self.input.targets.includes_orphan(&addr)
                    && let Some(configured) = self.provider_of_stored(walk, None, &addr)
                {
                    jobs.push((addr, instance, info.clone(), configured.clone(), reason));
                }
            }
        }
        stream::iter(jobs)
            .for_each_concurrent(CONCURRENT_INSTANCES, |(addr, instance, info, configured, reason)| async move {
                self.delete_instance(walk, None, &configured, &info, &addr, &instance, reason).await;
            })
            .await;
    }
}

pub(super) fn prevented(addr: &ResourceInstance, block: &ResourceBlock) -> Diagnostic {
    Diagnostic::error(
        "Instance cannot be destroyed",
        format!(
            "The plan would destroy {addr}, but its configuration has lifecycle.prevent_destroy set. To go on, remove that \
             setting, or leave this object out with -target."
        ),
    )
    .at(block.header_range)
}

pub fn missing_provider(abs: &AbsResource, provider: &crate::addr::AbsProviderConfig) -> Diagnostic {
    Diagnostic::error(
        "Provider configuration not present",
        format!(
            "{abs} is in the state but not in the configuration, and to destroy it needs {provider}, which the \
             configuration does not have any more. Put that provider configuration back, apply, and then remove it; or \
             take the object out of the state with \"gpuform state rm\"."
        ),
    )
    .address(abs)
}

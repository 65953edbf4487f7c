//! The planner: compares what is wanted with what is there, one resource block at a time, and asks providers what
//! each instance needs. It changes nothing but its own copy of the state, which it brings up to date by reading.

mod generated;

use crate::addr::{AbsResource, ConfigResource, InstanceKey, Mode, ResourceInstance};
use crate::config::model::{Repetition, ResourceBlock};
use crate::diag::{Diagnostic, Diagnostics};
use crate::engine::checks::Checkable;
use crate::engine::events::{Event, IdentifiedBy};
use crate::engine::plan::{Action, ActionReason, Importing, PlanMode, ResourceChange};
use crate::engine::program::{ModuleId, ResourceMeta, ResourceProgram};
use crate::engine::runtime::{Kind, ModuleRun, Repeat, combine};
use crate::engine::schedule::Outcome;
use crate::engine::stored::{self, Keep, TypeInfo};
use crate::engine::targets::Targets;
use crate::engine::walk::{Configured, ResourceStep, Walk};
use crate::engine::{generate, import, objects};
use crate::lang::syntax::Slot;
use crate::plugin::{PlanRequest, PlanResponse, Provider, ReadRequest};
use crate::state::{DeposedKey, ObjectState, ObjectStatus, State};
use async_trait::async_trait;
use futures::stream::{self, StreamExt};
use gpuform_schema::schema::Schema;
use gpuform_schema::{Marks, Path, Value};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};

/// Instances of one block that may be under way at once; operations of provider processes are limited separately.
const CONCURRENT_INSTANCES: usize = 512;

/// What the planner is told besides the configuration.
pub struct PlannerInput {
    pub mode: PlanMode,
    pub refresh: bool,
    pub force_replace: HashSet<ResourceInstance>,
    /// Objects to import that no `import` block names.
    pub imports: Vec<(ResourceInstance, String)>,
    pub targets: Targets,
    /// New address → old address, for objects that `moved` blocks have moved.
    pub moved: HashMap<ResourceInstance, ResourceInstance>,
    /// Resources that `removed` blocks say to forget.
    pub forget: crate::engine::moved::Forget,
    /// Make configuration for imported objects that have none; messages about it name this file.
    pub generate: Option<String>,
}

/// Plans the resources of a walk.
pub struct Planner {
    pub input: PlannerInput,
    work: Mutex<Work>,
}

/// What grows while planning.
pub struct Work {
    /// The state, brought up to date.
    pub state: State,
    pub changes: Vec<ResourceChange>,
    pub drift: Vec<ResourceChange>,
    pub generated: Vec<generate::Generated>,
    /// Where in `changes` the changes of a block are.
    by_block: HashMap<(ModuleId, Slot), Vec<usize>>,
    /// Resources (in module instances) whose block was planned; the rest of the state has no configuration.
    seen: HashSet<AbsResource>,
}

/// One instance being planned.
struct Instance<'a> {
    walk: &'a Walk,
    module: ModuleId,
    slot: Slot,
    run: &'a Arc<ModuleRun>,
    repeat: &'a Repeat,
    addr: ResourceInstance,
    block: &'a ResourceBlock,
    meta: &'a ResourceMeta,
    program: &'a ResourceProgram,
    info: &'a TypeInfo,
    configured: Cow<'a, Configured>,
    imports: &'a HashMap<ResourceInstance, String>,
}

/// What is there before planning.
#[derive(Default)]
struct Prior {
    /// Null where there is nothing; marks as stored.
    value: Option<Value>,
    private: Vec<u8>,
    tainted: bool,
    create_before_destroy: bool,
    importing: Option<Importing>,
}

impl Planner {
    pub fn new(input: PlannerInput, state: State) -> Planner {
        let work = Work {
            state,
            changes: Vec::new(),
            drift: Vec::new(),
            generated: Vec::new(),
            by_block: HashMap::new(),
            seen: HashSet::new(),
        };
        Planner { input, work: Mutex::new(work) }
    }

    fn work(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// What came out.
    pub fn finish(self) -> Work {
        self.work.into_inner().unwrap_or_else(|e| e.into_inner())
    }

    fn add_change(&self, walk: &Walk, block: Option<(ModuleId, Slot)>, change: ResourceChange) {
        if change.action != Action::NoOp || change.is_moved() || change.importing.is_some() {
            walk.events.event(Event::Planned(&change));
        }
        let mut work = self.work();
        let index = work.changes.len();
        if let Some(key) = block {
            work.by_block.entry(key).or_default().push(index);
        }
        work.changes.push(change);
    }

    /// Whether applying will change any instance of a block.
    fn block_changes(&self, block: (ModuleId, Slot)) -> bool {
        let work = self.work();
        work.by_block
            .get(&block)
            .is_some_and(|c| c.iter().any(|i| !matches!(work.changes[*i].action, Action::NoOp | Action::Open)))
    }

    // ---- one block

    async fn block(&self, walk: &Walk, m: ModuleId, slot: Slot) -> bool {
        let program = walk.program().clone();
        let block = program.resource_block(m, slot);
        let meta = program.resource_meta(m, slot);
        if block.generated && self.input.mode == PlanMode::Normal {
            return self.generated(walk, m, slot).await;
        }
        let (Some(code), Some(configured)) = (&meta.block, walk.provider(meta.provider)) else {
            // The configuration of a provider without instances of its module is never evaluated.
            return block.generated || walk.runtime.instances(m).is_empty();
        };
        let info = TypeInfo::new(block.addr.ty.clone(), code.schema.clone());
        let imports = match (block.mode(), self.input.mode) {
            (Mode::Managed, PlanMode::Normal) => import::wanted(walk, &self.input.imports, m, slot),
            (Mode::Managed, PlanMode::RefreshOnly) => Some(self.input.imports.iter().cloned().collect()),
            _ => Some(HashMap::new()),
        };
        let Some(imports) = imports else { return false };
        if refers_to_itself(walk, code, block, slot) {
            return false;
        }
        let has_conditions = !block.lifecycle.preconditions.is_empty() || !block.lifecycle.postconditions.is_empty();
        if has_conditions && block.check.is_none() {
            walk.checks.declare(crate::state::CheckKind::Resource, program.config_resource(m, slot).to_string());
        }
        let mut ok = true;
        for run in walk.runtime.instances(m) {
            let abs = AbsResource { module: run.addr.clone(), resource: block.addr.clone() };
            self.work().seen.insert(abs.clone());
            let repeats = if self.input.mode == PlanMode::Destroy {
                self.stored_repeats(walk, block, run, &abs)
            } else {
                walk.repeats(&block.repetition, run)
            };
            let Some(repeats) = repeats else {
                ok = false;
                continue;
            };
            let instances = repeats.iter().map(|repeat| {
                let addr = abs.instance(repeat.key());
                let configured = walk.handler(&addr, configured);
                Instance {
                    walk,
                    module: m,
                    slot,
                    run,
                    repeat,
                    addr,
                    block,
                    meta,
                    program: code,
                    info: &info,
                    configured,
                    imports: &imports,
                }
            });
            let planned: Vec<Option<Value>> =
                stream::iter(instances).map(|i| self.instance(i)).buffered(CONCURRENT_INSTANCES).collect().await;
            ok &= planned.iter().all(Option::is_some);
            let values = repeats.iter().zip(&planned).filter_map(|(r, v)| Some((r.clone(), v.clone()?)));
            let _ = run.resources[slot as usize].set(combine(values, &Kind::of_block(block)));
            if block.mode() == Mode::Managed && self.input.mode != PlanMode::Destroy {
                let wanted: HashSet<InstanceKey> = repeats.iter().map(Repeat::key).collect();
                ok &= self.surplus(walk, (m, slot), &abs, &wanted, &info, configured).await;
            } else if block.mode() == Mode::Data {
                let wanted: HashSet<InstanceKey> = repeats.iter().map(Repeat::key).collect();
                self.drop_unwanted_data(&abs, &wanted);
            }
        }
        ok
    }

    /// When everything is destroyed, the instances are those in the state; only data sources are expanded as written.
    fn stored_repeats(
        &self,
        walk: &Walk,
        block: &ResourceBlock,
        run: &ModuleRun,
        abs: &AbsResource,
    ) -> Option<Vec<Repeat>> {
        if block.mode() != Mode::Managed {
            return walk.repeats(&block.repetition, run);
        }
        let work = self.work();
        let instances = work.state.resource(abs).map(|r| r.instances.keys().cloned().collect::<Vec<_>>());
        Some(instances.unwrap_or_default().iter().map(Repeat::of_key).collect())
    }

    fn drop_unwanted_data(&self, abs: &AbsResource, wanted: &HashSet<InstanceKey>) {
        let mut work = self.work();
        let gone: Vec<InstanceKey> = work
            .state
            .resource(abs)
            .map(|r| r.instances.keys().filter(|k| !wanted.contains(*k)).cloned().collect())
            .unwrap_or_default();
        for key in gone {
            work.state.remove_instance(&abs.instance(key));
        }
    }

    async fn instance(&self, i: Instance<'_>) -> Option<Value> {
        if i.walk.stop.is_cancelled() {
            return None;
        }
        match i.block.mode() {
            Mode::Managed => self.managed(i).await,
            Mode::Data => self.data(i).await,
            Mode::Ephemeral => {
                crate::engine::ephemeral::open(
                    i.walk,
                    i.program,
                    i.info,
                    &i.configured,
                    &i.addr,
                    i.block,
                    i.run,
                    i.repeat,
                )
                .await
            }
        }
    }

    // ---- managed resources

    async fn managed(&self, i: Instance<'_>) -> Option<Value> {
        let included = self.input.targets.includes_instance(i.walk, i.module, i.slot, &i.addr);
        let prior = self.prior(&i, included).await?;
        self.deposed(&i).await?;
        if !included || self.input.mode == PlanMode::RefreshOnly {
            let value = prior.value.unwrap_or_else(|| Value::Null(i.info.ty.clone()));
            return Some(value);
        }
        if self.input.mode == PlanMode::Destroy {
            return self.destroy_instance(&i, prior).await;
        }
        let change = self.plan_instance(&i, prior).await?;
        let value = change.after.clone();
        self.add_change(i.walk, Some((i.module, i.slot)), change);
        Some(value)
    }

    /// Reads what is there now: from the state, or by import; refreshed.
    async fn prior(&self, i: &Instance<'_>, included: bool) -> Option<Prior> {
        let object = self.work().state.get(&i.addr).cloned();
        let Some(object) = object else {
            return match i.imports.get(&i.addr) {
                Some(id) if included => self.import(i, id).await,
                _ => Some(Prior::default()),
            };
        };
        let value = self.stored_value(i.walk, &i.configured, i.info, &i.addr, &object).await?;
        let mut prior = Prior {
            value: Some(value.clone()),
            private: object.private.clone(),
            tainted: object.is_tainted(),
            create_before_destroy: object.create_before_destroy,
            importing: None,
        };
        if self.input.refresh && included {
            let provider = &*i.configured.provider;
            match self.refresh(i.walk, &i.configured, provider, i.info, &i.addr, None, &object, value).await? {
                Some((value, private)) => {
                    prior.value = Some(value);
                    prior.private = private;
                }
                None => return Some(Prior::default()),
            }
        }
        Some(prior)
    }

    /// Decodes a stored object; its sensitive parts are marked.
    async fn stored_value(
        &self,
        walk: &Walk,
        configured: &Configured,
        info: &TypeInfo,
        addr: &ResourceInstance,
        object: &ObjectState,
    ) -> Option<Value> {
        match stored::decode(&*configured.provider, info, addr, object).await {
            Ok(v) => Some(info.mark(&v, &object.sensitive_paths)),
            Err(d) => {
                walk.report_all(d);
                None
            }
        }
    }

    /// Reads the object from the provider. `Some(None)`: it is gone. Differences are recorded as drift and kept in
    /// the state.
    #[allow(clippy::too_many_arguments, clippy::option_option)]
    async fn refresh(
        &self,
        walk: &Walk,
        configured: &Configured,
        provider: &dyn Provider,
        info: &TypeInfo,
        addr: &ResourceInstance,
        deposed: Option<DeposedKey>,
        object: &Arc<ObjectState>,
        value: Value,
    ) -> Option<Option<(Value, Vec<u8>)>> {
        let id = identified_by(&value);
        walk.events.event(Event::RefreshStart { addr, deposed, id: id.clone() });
        let current = value.unmark_deep(&mut Marks::default());
        let response = {
            let _turn = walk.turn(&configured.addr.provider).await;
            let request = ReadRequest {
                type_name: &info.name,
                current: current.clone(),
                private: object.private.clone(),
                provider_meta: None,
            };
            provider.read_resource(request).await
        };
        walk.events.event(Event::RefreshDone { addr, deposed, id });
        if walk.report_all(about(response.diagnostics, addr)) {
            return None;
        }
        if response.state.is_null() {
            let change =
                self.drift_change(configured, info, addr, deposed, value.clone(), Value::Null(info.ty.clone()));
            let mut work = self.work();
            match deposed {
                Some(key) => drop(work.state.remove_deposed(addr, key)),
                None => drop(work.state.remove(addr)),
            }
            work.drift.push(change);
            return Some(None);
        }
        if response.state == current && response.private == object.private {
            return Some(Some((value, response.private)));
        }
        let new = info.mark(&response.state, &object.sensitive_paths);
        let keep = Keep {
            private: response.private.clone(),
            status: object.status,
            dependencies: object.dependencies.clone(),
            create_before_destroy: object.create_before_destroy,
        };
        match stored::encode(info, &new, keep) {
            Ok(o) => {
                let mut work = self.work();
                match deposed {
                    Some(key) => work.state.set_deposed(addr, key, Arc::new(o), &configured.addr),
                    None => work.state.set(addr, Arc::new(o), &configured.addr),
                }
                if response.state != current {
                    let change = self.drift_change(configured, info, addr, deposed, value, new.clone());
                    work.drift.push(change);
                }
            }
            Err(d) => {
                walk.report(d.address(addr));
                return None;
            }
        }
        Some(Some((new, response.private)))
    }

    fn drift_change(
        &self,
        configured: &Configured,
        info: &TypeInfo,
        addr: &ResourceInstance,
        deposed: Option<DeposedKey>,
        before: Value,
        after: Value,
    ) -> ResourceChange {
        ResourceChange {
            addr: addr.clone(),
            prev_addr: self.input.moved.get(addr).unwrap_or(addr).clone(),
            deposed,
            provider: configured.addr.clone(),
            action: if after.is_null() { Action::Delete } else { Action::Update },
            reason: ActionReason::None,
            before,
            after,
            required_replace: Vec::new(),
            planned_private: Vec::new(),
            importing: None,
            generated_config: None,
            schema: info.schema.clone(),
            dependencies: Arc::default(),
            create_before_destroy: false,
        }
    }

    async fn import(&self, i: &Instance<'_>, id: &str) -> Option<Prior> {
        i.walk.events.event(Event::ImportStart { addr: &i.addr, id });
        let provider = &*i.configured.provider;
        let (imported, diags) = {
            let _turn = i.walk.turn(&i.configured.addr.provider).await;
            provider.import_resource_state(&i.info.name, id).await
        };
        if i.walk.report_all(about(diags, &i.addr)) {
            return None;
        }
        let Some(object) = imported.into_iter().find(|o| o.type_name == *i.info.name) else {
            i.walk.report(
                Diagnostic::error(
                    "Import found nothing",
                    format!("The provider has no object of type {} with the ID \"{id}\".", i.info.name),
                )
                .address(&i.addr),
            );
            return None;
        };
        let response = {
            let _turn = i.walk.turn(&i.configured.addr.provider).await;
            let request = ReadRequest {
                type_name: &i.info.name,
                current: object.state,
                private: object.private,
                provider_meta: None,
            };
            provider.read_resource(request).await
        };
        i.walk.events.event(Event::ImportDone { addr: &i.addr, type_name: &i.info.name });
        if i.walk.report_all(about(response.diagnostics, &i.addr)) {
            return None;
        }
        if response.state.is_null() {
            i.walk.report(
                Diagnostic::error(
                    "Cannot import non-existent remote object",
                    format!(
                        "There is no object with the ID \"{id}\" that could become {}. Check the ID, and the region and \
                         account that the provider is configured for.",
                        i.addr
                    ),
                )
                .address(&i.addr),
            );
            return None;
        }
        let value = i.info.mark(&response.state, &[]);
        let keep = Keep {
            private: response.private.clone(),
            status: ObjectStatus::Ready,
            dependencies: i.meta.dependencies.clone(),
            create_before_destroy: i.meta.create_before_destroy,
        };
        match stored::encode(i.info, &value, keep) {
            Ok(o) => self.work().state.set(&i.addr, Arc::new(o), &i.configured.addr),
            Err(d) => {
                i.walk.report(d.address(&i.addr));
                return None;
            }
        }
        Some(Prior {
            value: Some(value),
            private: response.private,
            importing: Some(Importing { id: id.to_owned() }),
            ..Prior::default()
        })
    }

    /// Evaluates the configuration, asks the provider for its plan, and decides on the action.
    async fn plan_instance(&self, i: &Instance<'_>, prior: Prior) -> Option<ResourceChange> {
        let walk = i.walk;
        let provider = &*i.configured.provider;
        let scope = || walk.runtime.scope(i.run, i.repeat);
        let lifecycle = &i.block.lifecycle;
        let subject = Checkable::resource(&i.addr);
        if !walk.conditions(
            &lifecycle.preconditions,
            &scope(),
            &subject,
            "Resource precondition failed",
            i.block.header_range,
        ) {
            return None;
        }
        let (config, sensitive) = evaluate_config(i.walk, i.program, i.block, &i.addr, &scope())?;
        let explain = |d: Diagnostics| explain(d, i.program, i.block, &i.addr);
        if walk.report_all(explain(provider.validate_resource_config(&i.info.name, config.clone()).await)) {
            return None;
        }
        let null = || Value::Null(i.info.ty.clone());
        let prior_marked = prior.value.clone().unwrap_or_else(null);
        let prior_value = prior_marked.unmark_deep(&mut Marks::default());
        let ignored = ignored_paths(lifecycle);
        let effective = objects::with_ignored(&config, &prior_value, lifecycle.ignore_all_changes, &ignored);
        let block = &i.info.schema.block;
        let plan_from = async |prior_value: &Value, private: &[u8], config: &Value| -> Option<PlanResponse> {
            let proposed = objects::proposed_new(block, prior_value, config);
            let _turn = walk.turn(&i.configured.addr.provider).await;
            let request = PlanRequest {
                type_name: &i.info.name,
                prior: prior_value.clone(),
                proposed: objects::without_write_only(block, &proposed),
                config: config.clone(),
                prior_private: private.to_vec(),
                provider_meta: None,
            };
            let r = provider.plan_resource_change(request).await;
            if walk.report_all(explain(r.diagnostics.clone())) {
                return None;
            }
            if !r.legacy_type_system {
                let broken = objects::check_planned(block, prior_value, config, &r.planned);
                if !broken.is_empty() {
                    walk.report(broken_plan(&i.configured.addr, &i.addr, &broken));
                    return None;
                }
            }
            Some(r)
        };
        let planned = plan_from(&prior_value, &prior.private, &effective).await?;
        let create_before_destroy =
            i.meta.create_before_destroy || (prior.create_before_destroy && lifecycle.create_before_destroy.is_none());
        let mut change = ResourceChange {
            addr: i.addr.clone(),
            prev_addr: self.input.moved.get(&i.addr).unwrap_or(&i.addr).clone(),
            deposed: None,
            provider: i.configured.addr.clone(),
            action: Action::NoOp,
            reason: ActionReason::None,
            before: prior_marked.clone(),
            after: Value::null(),
            required_replace: Vec::new(),
            planned_private: planned.planned_private,
            importing: prior.importing,
            generated_config: None,
            schema: i.info.schema.clone(),
            dependencies: i.meta.dependencies.clone(),
            create_before_destroy,
        };
        let mut after = planned.planned;
        if prior_value.is_null() {
            change.action = Action::Create;
        } else {
            let required: Vec<Path> = planned
                .requires_replace
                .into_iter()
                .filter(|p| match (p.get(&prior_value), p.get(&after)) {
                    (Some(a), Some(b)) => a != b,
                    (None, None) => false,
                    _ => true,
                })
                .collect();
            let marks_changed = after != prior_value || sensitive_changed(i.info, &prior_marked, &after, &sensitive);
            let replace = if prior.tainted {
                Some(ActionReason::ReplaceBecauseTainted)
            } else if !required.is_empty() {
                Some(ActionReason::ReplaceBecauseCannotUpdate)
            } else if self.input.force_replace.contains(&i.addr) {
                Some(ActionReason::ReplaceByRequest)
            } else if self.triggered(i)? {
                Some(ActionReason::ReplaceByTriggers)
            } else {
                None
            };
            change.action = match replace {
                Some(_) if create_before_destroy => Action::CreateThenDelete,
                Some(_) => Action::DeleteThenCreate,
                None if marks_changed => Action::Update,
                None => Action::NoOp,
            };
            if let Some(reason) = replace {
                change.reason = reason;
                change.required_replace = required;
                let fresh = plan_from(&null(), &[], &config).await?;
                after = fresh.planned;
                change.planned_private = fresh.planned_private;
                self.may_destroy(i)?;
            }
        }
        change.after = i.info.mark(&after, &sensitive);
        let with_self = scope().with_self(change.after.clone());
        walk.conditions(
            &lifecycle.postconditions,
            &with_self,
            &subject,
            "Resource postcondition failed",
            i.block.header_range,
        )
        .then_some(change)
    }

    /// Whether something named in `replace_triggered_by` will change.
    fn triggered(&self, i: &Instance<'_>) -> Option<bool> {
        if i.block.lifecycle.replace_triggered_by.is_empty() {
            return Some(false);
        }
        let scope = i.walk.runtime.scope(i.run, i.repeat);
        let work = self.work();
        for e in &i.block.lifecycle.replace_triggered_by {
            let reference = match crate::engine::triggers::resolve(e, &scope) {
                Ok(r) => r,
                Err(d) => {
                    i.walk.report(d);
                    return None;
                }
            };
            let Some(reference) = reference else { continue };
            let indexes = work.by_block.get(&(i.module, reference.slot)).map_or(&[][..], Vec::as_slice);
            let hit = indexes.iter().filter_map(|n| work.changes.get(*n)).any(|c| {
                c.addr.module == i.run.addr
                    && c.deposed.is_none()
                    && reference.key.as_ref().is_none_or(|k| *k == c.addr.key)
                    && crate::engine::triggers::is_trigger(c, &reference.path)
            });
            if hit {
                return Some(true);
            }
        }
        Some(false)
    }

    fn may_destroy(&self, i: &Instance<'_>) -> Option<()> {
        if !i.block.lifecycle.prevent_destroy {
            return Some(());
        }
        i.walk.report(
            Diagnostic::error(
                "Instance cannot be destroyed",
                format!(
                    "The plan would destroy {}, but its configuration has lifecycle.prevent_destroy set. To go on, remove \
                     that setting, or leave this object out with -target.",
                    i.addr
                ),
            )
            .at(i.block.lifecycle.prevent_destroy_range.or(Some(i.block.header_range)).map(|_| i.block.header_range))
            .address(&i.addr),
        );
        None
    }

    // ---- destruction

    async fn destroy_instance(&self, i: &Instance<'_>, prior: Prior) -> Option<Value> {
        let value = prior.value.clone();
        if let Some(before) = prior.value {
            self.may_destroy(i)?;
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
        }
        Some(value.unwrap_or_else(|| Value::Null(i.info.ty.clone())))
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
                provider_meta: None,
            };
            let r = configured.provider.plan_resource_change(request).await;
            if walk.report_all(about(r.diagnostics, addr)) {
                return None;
            }
            planned_private = r.planned_private;
        }
        Some(ResourceChange {
            addr: addr.clone(),
            prev_addr: self.input.moved.get(addr).unwrap_or(addr).clone(),
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
    async fn deposed(&self, i: &Instance<'_>) -> Option<()> {
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
        let forget = self.input.forget.matches(&addr.config());
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
            change.reason = ActionReason::None;
        }
        self.add_change(walk, block, change);
        Some(())
    }

    /// Instances of a declared resource that `count` or `for_each` does not ask for any more.
    async fn surplus(
        &self,
        walk: &Walk,
        block: (ModuleId, Slot),
        abs: &AbsResource,
        wanted: &HashSet<InstanceKey>,
        info: &TypeInfo,
        configured: &Configured,
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
                continue;
            }
            ok &= self.delete_instance(walk, Some(block), configured, info, &addr, &instance, reason).await;
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
        let mut types: HashMap<(crate::addr::Provider, Arc<str>), Option<TypeInfo>> = HashMap::new();
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
            let provider = program.providers.iter().position(|p| p.addr == resource.provider);
            let Some(configured) = provider.and_then(|p| walk.provider(p)) else {
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
            let reason = if declared.is_some() || !program.module_ids.contains_key(&abs.module.module()) {
                ActionReason::DeleteBecauseNoModule
            } else {
                ActionReason::DeleteBecauseNoResourceConfig
            };
            let reason = if self.input.mode == PlanMode::Destroy { ActionReason::None } else { reason };
            for (key, instance) in resource.instances {
                let addr = abs.instance(key);
                if self.input.targets.includes_orphan(&addr) {
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

    // ---- data sources

    async fn data(&self, i: Instance<'_>) -> Option<Value> {
        let walk = i.walk;
        let scope = || walk.runtime.scope(i.run, i.repeat);
        let subject = Checkable::resource(&i.addr);
        let lifecycle = &i.block.lifecycle;
        let destroying = self.input.mode == PlanMode::Destroy;
        if !destroying
            && !walk.conditions(
                &lifecycle.preconditions,
                &scope(),
                &subject,
                "Resource precondition failed",
                i.block.header_range,
            )
        {
            return None;
        }
        let (config, sensitive) = evaluate_config(walk, i.program, i.block, &i.addr, &scope())?;
        let known = config.is_wholly_known();
        let pending = !destroying && self.dependency_pending(&i);
        if !known || pending {
            let after = objects::planned_data(&i.info.schema.block, &config);
            let after = i.info.mark(&after, &sensitive);
            if self.input.mode == PlanMode::Normal {
                let reason = if known {
                    ActionReason::ReadBecauseDependencyPending
                } else {
                    ActionReason::ReadBecauseConfigUnknown
                };
                let change = self.planned_read(&i, reason, after.clone());
                self.add_change(walk, Some((i.module, i.slot)), change);
            }
            return Some(after);
        }
        let read = read_data(walk, &i.configured, i.program, i.block, i.info, &i.addr, config, &sensitive).await?;
        let keep = Keep {
            private: Vec::new(),
            status: ObjectStatus::Ready,
            dependencies: Arc::default(),
            create_before_destroy: false,
        };
        if i.block.check.is_some() && self.input.mode == PlanMode::Normal && read.store.is_some() {
            // What a check looks at is read again when everything else is done.
            let change = self.planned_read(&i, ActionReason::ReadBecauseCheckNested, read.value.clone());
            self.add_change(walk, Some((i.module, i.slot)), change);
        }
        if let Some(object) = &read.store {
            match stored::encode(i.info, object, keep) {
                Ok(o) => self.work().state.set(&i.addr, Arc::new(o), &i.configured.addr),
                Err(d) => {
                    walk.report(d.address(&i.addr));
                    return None;
                }
            }
        }
        if !destroying
            && !walk.conditions(
                &lifecycle.postconditions,
                &scope().with_self(read.value.clone()),
                &subject,
                "Resource postcondition failed",
                i.block.header_range,
            )
        {
            return None;
        }
        Some(read.value)
    }

    /// Reading a data source during apply.
    fn planned_read(&self, i: &Instance<'_>, reason: ActionReason, after: Value) -> ResourceChange {
        ResourceChange {
            addr: i.addr.clone(),
            prev_addr: i.addr.clone(),
            deposed: None,
            provider: i.configured.addr.clone(),
            action: Action::Read,
            reason,
            before: Value::Null(i.info.ty.clone()),
            after,
            required_replace: Vec::new(),
            planned_private: Vec::new(),
            importing: None,
            generated_config: None,
            schema: i.info.schema.clone(),
            dependencies: i.meta.dependencies.clone(),
            create_before_destroy: false,
        }
    }

    /// Whether something that the data source must come after (`depends_on`, also of its modules) has changes.
    fn dependency_pending(&self, i: &Instance<'_>) -> bool {
        let program = i.walk.program();
        let mut found = false;
        let mut look = |m: ModuleId, t: &crate::lang::syntax::Traversal| {
            program.resources_of_depends_on(m, t, &mut |m, s| {
                found |= program.resource_block(m, s).mode() == Mode::Managed && self.block_changes((m, s));
            });
        };
        i.block.depends_on.iter().for_each(|t| look(i.module, t));
        let mut module = i.module;
        while let Some((parent, call)) = program.modules[module].parent {
            program.modules[parent].module().calls[call as usize].depends_on.iter().for_each(|t| look(parent, t));
            module = parent;
        }
        found
    }
}

#[async_trait(?Send)]
impl ResourceStep for Planner {
    async fn resource(&self, walk: &Walk, module: ModuleId, slot: Slot) -> Outcome {
        if self.block(walk, module, slot).await { Outcome::Done } else { Outcome::Failed }
    }
}

// ---- shared with the executor

/// Reports references of a block to the resource that it declares, whose value cannot be known before it is.
fn refers_to_itself(walk: &Walk, code: &ResourceProgram, block: &ResourceBlock, slot: Slot) -> bool {
    let mut found = false;
    code.decoder.visit_traversals(&mut |t| {
        if t.target == crate::lang::syntax::Target::Resource(slot) {
            found = true;
            walk.report(
                Diagnostic::error(
                    "Self-referential block",
                    format!(
                        "The configuration of {} refers to {0} itself, whose attributes are known only once it is configured. \
                         Refer to the source of the value instead, for instance a local value.",
                        block.addr
                    ),
                )
                .at(t.range())
                .address(&block.addr),
            );
        }
    });
    found
}

/// The attribute by which people know an object, as Terraform chooses it.
pub fn identified_by(value: &Value) -> Option<IdentifiedBy> {
    let text = |key: &'static str| {
        let v = value.get(key)?;
        if !v.marks().is_empty() {
            return None;
        }
        v.as_str().filter(|s| !s.is_empty()).map(|s| IdentifiedBy { key, value: s.to_owned() })
    };
    text("id").or_else(|| text("name"))
}

/// Provider diagnostics with the object they are about.
pub fn about(d: Diagnostics, addr: &ResourceInstance) -> Diagnostics {
    d.into_iter().map(|d| if d.address.is_none() { d.address(addr) } else { d }).collect()
}

/// Provider diagnostics with the object, and the source range of the attribute they are about.
pub fn explain(
    d: Diagnostics,
    program: &ResourceProgram,
    block: &ResourceBlock,
    addr: &ResourceInstance,
) -> Diagnostics {
    about(d, addr)
        .into_iter()
        .map(|mut d| {
            if d.subject.is_none() {
                d.subject = d.attribute.as_ref().and_then(|p| program.decoder.range_of(p)).or(Some(block.header_range));
                d.context = Some(block.header_range);
            }
            d
        })
        .collect()
}

/// Evaluates the configuration of an instance: the value without marks, and where it is sensitive.
pub fn evaluate_config(
    walk: &Walk,
    program: &ResourceProgram,
    block: &ResourceBlock,
    addr: &ResourceInstance,
    scope: &dyn crate::lang::scope::Scope,
) -> Option<(Value, Vec<Path>)> {
    let mut diags = Diagnostics::new();
    let value = program.decoder.eval(scope, &mut diags);
    if walk.report_all(about(diags, addr)) {
        return None;
    }
    let (value, marks) = value?.unmark_with_paths();
    for (path, m) in &marks {
        if m.contains(Marks::EPHEMERAL) && block.mode() != Mode::Ephemeral && !is_write_only(program, path) {
            walk.report(
                Diagnostic::error(
                    "Invalid use of ephemeral value",
                    format!(
                        "The attribute {} of {addr} is stored, so it cannot be set from an ephemeral value; only \
                         write-only attributes can.",
                        path.to_string().trim_start_matches('.')
                    ),
                )
                .at(program.decoder.range_of(path).or(Some(block.header_range)))
                .address(addr),
            );
            return None;
        }
    }
    let sensitive = marks.into_iter().filter(|(_, m)| m.contains(Marks::SENSITIVE)).map(|(p, _)| p).collect();
    Some((value, sensitive))
}

fn is_write_only(program: &ResourceProgram, path: &Path) -> bool {
    match path.0.first() {
        Some(gpuform_schema::Step::Attr(name)) => {
            program.schema.block.attributes.get(name).is_some_and(|a| a.write_only)
        }
        _ => false,
    }
}

/// What reading a data source gave.
pub struct DataRead {
    pub value: Value,
    /// What to keep in the state; nothing where a failure was only warned about.
    pub store: Option<Value>,
}

/// Reads a data source. One that is nested in a check only warns when it fails.
#[allow(clippy::too_many_arguments)]
pub async fn read_data(
    walk: &Walk,
    configured: &Configured,
    program: &ResourceProgram,
    block: &ResourceBlock,
    info: &TypeInfo,
    addr: &ResourceInstance,
    config: Value,
    sensitive: &[Path],
) -> Option<DataRead> {
    let started = std::time::Instant::now();
    let action = Action::Read;
    walk.events.event(Event::OperationStart { addr, deposed: None, action, id: None });
    let provider = &*configured.provider;
    let mut diags = provider.validate_data_source_config(&info.name, config.clone()).await;
    let mut value = None;
    if !diags.has_errors() {
        let _turn = walk.turn(&configured.addr.provider).await;
        let (read, more) = provider.read_data_source(&info.name, config, None).await;
        diags.extend(more);
        value = read;
    }
    let mut diags = explain(diags, program, block, addr);
    let failed = diags.has_errors() || value.is_none();
    if failed && block.check.is_some() {
        let checked = block.check.as_ref().map(|c| Checkable::check(&addr.module, c).object.to_string());
        for d in diags.iter_mut() {
            d.severity = crate::diag::Severity::Warning;
            d.checked.clone_from(&checked);
        }
        walk.report_all(diags);
        walk.events.event(Event::OperationErrored { addr, deposed: None, action, elapsed: started.elapsed() });
        return Some(DataRead { value: Value::unknown(info.ty.clone()), store: None });
    }
    walk.report_all(diags);
    if failed {
        walk.events.event(Event::OperationErrored { addr, deposed: None, action, elapsed: started.elapsed() });
        return None;
    }
    let value = info.mark(&value?, sensitive);
    let id = identified_by(&value);
    walk.events.event(Event::OperationDone { addr, deposed: None, action, id, elapsed: started.elapsed() });
    Some(DataRead { store: Some(value.clone()), value })
}

fn sensitive_changed(info: &TypeInfo, prior: &Value, after: &Value, sensitive: &[Path]) -> bool {
    let places = |v: &Value| {
        let mut p: Vec<String> = v.unmark_with_paths().1.into_iter().map(|(p, _)| p.to_string()).collect();
        p.sort();
        p.dedup();
        p
    };
    if !prior.has_marks() && sensitive.is_empty() {
        return false;
    }
    places(prior) != places(&info.mark(after, sensitive))
}

/// The paths of `ignore_changes`.
pub fn ignored_paths(lifecycle: &crate::config::model::Lifecycle) -> Vec<Path> {
    lifecycle.ignore_changes.iter().filter_map(static_path).collect()
}

/// The path of an `ignore_changes` entry.
fn static_path(t: &crate::lang::syntax::Traversal) -> Option<Path> {
    use crate::lang::syntax::{ExprKind, StepKind};
    let mut path = Path::attrs([t.root.clone()]);
    for step in &t.steps {
        path = match &step.kind {
            StepKind::Attr(n) => path.attr(n.clone()),
            StepKind::LegacyIndex(n) => path.index(*n as usize),
            StepKind::Index(e) => match &e.kind {
                ExprKind::Literal(Value::String(s)) => path.key(s.clone()),
                ExprKind::Literal(Value::Number(n)) => path.index(n.as_usize()?),
                ExprKind::Template(parts) => match &parts[..] {
                    [crate::lang::syntax::TemplatePart::Text(s)] => path.key(s.clone()),
                    _ => return None,
                },
                _ => return None,
            },
            StepKind::Splat { .. } => return None,
        };
    }
    Some(path)
}

fn prevented(addr: &ResourceInstance, block: &ResourceBlock) -> Diagnostic {
    Diagnostic::error(
        "Instance cannot be destroyed",
        format!(
            "The plan would destroy {addr}, but its configuration has lifecycle.prevent_destroy set. To go on, remove that \
             setting, or leave this object out with -target."
        ),
    )
    .at(block.header_range)
    .address(addr)
}

fn broken_plan(
    provider: &crate::addr::AbsProviderConfig,
    addr: &ResourceInstance,
    broken: &[objects::Broken],
) -> Diagnostic {
    let places: Vec<String> = broken.iter().map(|b| format!("- {addr}{}: {}", b.path, b.what)).collect();
    Diagnostic::error(
        "Provider produced invalid plan",
        format!(
            "The provider {} planned something for {addr} that it may not:\n{}\nThis is a bug in the provider; nothing was \
             changed. Please report it to those who maintain it.",
            provider.provider.for_display(),
            places.join("\n")
        ),
    )
    .address(addr)
}

fn missing_provider(abs: &AbsResource, provider: &crate::addr::AbsProviderConfig) -> Diagnostic {
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

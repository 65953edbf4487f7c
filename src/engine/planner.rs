//! The planner: compares what is wanted with what is there, one resource block at a time, and asks providers what
//! each instance needs. It changes nothing but its own copy of the state, which it brings up to date by reading.

mod data;
mod destroy;
mod generated;
mod imported;
mod managed;
mod refresh;

pub use destroy::missing_provider;

use crate::addr::{AbsResource, InstanceKey, Mode, ResourceInstance};
use crate::config::model::ResourceBlock;
use crate::diag::Diagnostic;
use crate::engine::events::Event;
use crate::engine::plan::{Action, PlanMode, ResourceChange};
use crate::engine::program::{ModuleId, ResourceMeta, ResourceProgram};
use crate::engine::provider_instances::ProviderInstances;
use crate::engine::runtime::{Kind, ModuleRun, Repeat, combine};
use crate::engine::schedule::{self, Outcome};
use crate::engine::stored::TypeInfo;
use crate::engine::targets::Targets;
use crate::engine::walk::{Configured, ResourceStep, Walk};
use crate::engine::{generate, import};
use crate::hash::{HashMap, HashSet};
use crate::lang::syntax::Slot;
use crate::state::State;
use async_trait::async_trait;
use gpuform_schema::Value;
use std::borrow::Cow;
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
    /// The state before objects moved.
    pub previous_state: State,
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
    pub changes: Vec<Arc<ResourceChange>>,
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

impl Planner {
    pub fn new(input: PlannerInput, state: State) -> Planner {
        let work = Work {
            state,
            changes: Vec::new(),
            drift: Vec::new(),
            generated: Vec::new(),
            by_block: HashMap::default(),
            seen: HashSet::default(),
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
        work.changes.push(Arc::new(change));
    }

    /// Whether applying will change any instance of a block.
    fn block_changes(&self, block: (ModuleId, Slot)) -> bool {
        let work = self.work();
        work.by_block.get(&block).is_some_and(|c| c.iter().any(|i| work.changes[*i].action != Action::NoOp))
    }

    async fn block(&self, walk: &Walk, m: ModuleId, slot: Slot) -> bool {
        let program = walk.program().clone();
        let block = program.resource_block(m, slot);
        let meta = program.resource_meta(m, slot);
        if block.generated && self.input.mode == PlanMode::Normal {
            return self.generated(walk, m, slot).await;
        }
        let (Some(code), Some(_)) = (&meta.block, walk.provider(meta.provider)) else {
            // The configuration of a provider without instances of its module is never evaluated.
            return block.generated || walk.runtime.instances(m).is_empty();
        };
        let info = &*code.info;
        let imports = match (block.mode(), self.input.mode) {
            (Mode::Managed, PlanMode::Normal) => import::wanted(walk, &self.input.imports, m, slot),
            (Mode::Managed, PlanMode::RefreshOnly) => Some(self.input.imports.iter().cloned().collect()),
            _ => Some(HashMap::default()),
        };
        let Some(imports) = imports else { return false };
        if managed::refers_to_itself(walk, code, block, slot) {
            return false;
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
            let provider = &program.providers[meta.provider].addr.provider;
            if let Some(problems) = program.settings_problems(m, provider).filter(|_| !repeats.is_empty()) {
                walk.report_all(problems.clone());
                ok = false;
                continue;
            }
            walk.expect_conditions(block, &abs, &repeats);
            self.check_force_replace(walk, &abs, &repeats);
            let (info, imports, abs) = (&info, &imports, &abs);
            let instances = repeats.iter().map(|repeat| async move {
                let addr = abs.instance(repeat.key());
                let configured = walk.handler(&addr, self.provider_of(walk, (m, slot), run, repeat, &addr)?);
                let instance = Instance {
                    walk,
                    module: m,
                    slot,
                    run,
                    repeat,
                    addr,
                    block,
                    meta,
                    program: code,
                    info,
                    configured,
                    imports,
                };
                self.instance(instance).await
            });
            let planned = schedule::in_order(instances, CONCURRENT_INSTANCES).await;
            ok &= planned.iter().all(Option::is_some);
            let values = repeats.iter().zip(&planned).filter_map(|(r, v)| Some((r.clone(), v.clone()?)));
            // Without objects there is nothing to tell a provider that still wants to know one: it stays unknown.
            if self.input.mode != PlanMode::Destroy || !repeats.is_empty() {
                let _ = run.resources[slot as usize].set(combine(values, &Kind::of_block(block)));
            }
            if block.mode() == Mode::Managed && self.input.mode != PlanMode::Destroy {
                let wanted: HashSet<InstanceKey> = repeats.iter().map(Repeat::key).collect();
                ok &= self.surplus(walk, (m, slot), abs, &wanted, info).await;
            } else if block.mode() == Mode::Data {
                let wanted: HashSet<InstanceKey> = repeats.iter().map(Repeat::key).collect();
                self.drop_unwanted_data(abs, &wanted);
            }
        }
        ok
    }

    /// The provider of an instance. When everything is destroyed, that is the one that is stored with the object.
    fn provider_of<'w>(
        &self,
        walk: &'w Walk,
        (m, slot): (ModuleId, Slot),
        run: &Arc<ModuleRun>,
        repeat: &Repeat,
        addr: &ResourceInstance,
    ) -> Option<&'w Configured> {
        if self.input.mode == PlanMode::Destroy && addr.resource.mode == Mode::Managed {
            return self.provider_of_stored(walk, Some((m, slot)), addr);
        }
        walk.provider_of(m, slot, run, repeat)
    }

    /// The provider that handles an object as it is stored.
    fn provider_of_stored<'w>(
        &self,
        walk: &'w Walk,
        block: Option<(ModuleId, Slot)>,
        addr: &ResourceInstance,
    ) -> Option<&'w Configured> {
        let declared = block.and_then(|(m, slot)| walk.provider(walk.program().resource_meta(m, slot).provider));
        if let Some(single) = declared.and_then(ProviderInstances::single) {
            return Some(single);
        }
        let stored = self.work().state.provider_of(addr)?.clone();
        walk.provider_of_stored(addr, &stored)
    }

    /// `-replace` names one instance; a resource that has several is not meant as a whole.
    fn check_force_replace(&self, walk: &Walk, abs: &AbsResource, repeats: &[Repeat]) {
        let whole = abs.instance(InstanceKey::None);
        let keyed: Vec<String> =
            repeats.iter().filter(|r| !r.key().is_none()).map(|r| format!("\n  {}", abs.instance(r.key()))).collect();
        if !keyed.is_empty() && self.input.force_replace.contains(&whole) {
            walk.report(Diagnostic::warning(
                "Incompletely-matched force-replace resource instance",
                format!("{abs} has several instances, so -replace must name one of them:{}", keyed.concat()),
            ));
        }
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
                    i.slot,
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
}

#[async_trait(?Send)]
impl ResourceStep for Planner {
    async fn resource(&self, walk: &Walk, module: ModuleId, slot: Slot) -> Outcome {
        if self.block(walk, module, slot).await { Outcome::Done } else { Outcome::Failed }
    }
}

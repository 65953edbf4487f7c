//! The executor: carries out a plan. Declared objects are evaluated again, now with real values; each planned change
//! is made by its provider, checked against what was planned, and recorded before it counts as done. A failure stops
//! what depends on it and nothing else.

mod change;
mod destroy;
mod record;

pub use record::client_token;

use crate::addr::{AbsResource, Mode, ResourceInstance};
use crate::config::model::ResourceBlock;
use crate::diag::{Diagnostic, Diagnostics};
use crate::engine::execution::{Execution, Step};
use crate::engine::plan::{Counts, Plan, ResourceChange};
use crate::engine::program::{ModuleId, ResourceProgram};
use crate::engine::runtime::{Kind, ModuleRun, Repeat, combine};
use crate::engine::schedule::{self, Outcome};
use crate::engine::stored::{self, TypeInfo};
use crate::engine::teller::Teller;
use crate::engine::walk::{Configured, ResourceStep, Walk};
use crate::hash::HashMap;
use crate::lang::syntax::Slot;
use crate::state::journal::Journal;
use crate::state::{DeposedKey, State};
use async_trait::async_trait;
use gpuform_schema::Value;
use std::sync::{Arc, Mutex, MutexGuard};

const CONCURRENT_INSTANCES: usize = 4096;

/// Carries out one plan.
pub struct Executor {
    pub plan: Arc<Plan>,
    pub execution: Execution,
    journal: Option<Arc<Journal>>,
    teller: Arc<Teller>,
    state: Mutex<State>,
    /// How many objects were added, changed, destroyed, imported so far.
    counts: Mutex<Counts>,
    /// Keys of objects that became deposed during this apply.
    deposed: Mutex<HashMap<ResourceInstance, DeposedKey>>,
}

/// One change being made.
struct Job<'a> {
    walk: &'a Walk,
    change: &'a ResourceChange,
    block: &'a ResourceBlock,
    program: &'a ResourceProgram,
    info: &'a TypeInfo,
    configured: &'a Configured,
    run: &'a Arc<ModuleRun>,
    repeat: &'a Repeat,
}

impl Executor {
    pub fn new(plan: Arc<Plan>, execution: Execution, journal: Option<Arc<Journal>>, teller: Arc<Teller>) -> Executor {
        let state = plan.prior_state.clone();
        Executor {
            plan,
            execution,
            journal,
            teller,
            state: Mutex::new(state),
            counts: Mutex::default(),
            deposed: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn count(&self, f: impl FnOnce(&mut Counts)) {
        f(&mut self.counts.lock().unwrap_or_else(|e| e.into_inner()));
    }

    /// The state after the walk and what was done.
    pub fn finish(self) -> (State, Counts) {
        let counts = self.counts.into_inner().unwrap_or_else(|e| e.into_inner());
        (self.state.into_inner().unwrap_or_else(|e| e.into_inner()), counts)
    }

    /// Runs one node of the execution graph.
    pub async fn step(&self, walk: &Walk, n: petgraph::graph::NodeIndex) -> Outcome {
        match self.execution.graph[n] {
            Step::Declared(node) => walk.node(n, node, self).await,
            Step::Destroy(g) => {
                if walk.stop.is_cancelled() {
                    return Outcome::Failed;
                }
                if self.destroy_group(walk, &self.execution.groups[g]).await { Outcome::Done } else { Outcome::Failed }
            }
        }
    }

    async fn block(&self, walk: &Walk, m: ModuleId, slot: Slot) -> bool {
        let program = walk.program().clone();
        let block = program.resource_block(m, slot);
        let meta = program.resource_meta(m, slot);
        let (Some(code), Some(providers)) = (&meta.block, walk.provider(meta.provider)) else {
            return walk.runtime.instances(m).is_empty();
        };
        let info = &*code.info;
        let mut ok = true;
        for run in walk.runtime.instances(m) {
            let abs = AbsResource { module: run.addr.clone(), resource: block.addr.clone() };
            let repeats = if walk.phase.is_destroy() && block.mode() == Mode::Managed {
                self.planned_repeats(&abs)
            } else {
                match walk.repeats(&block.repetition, run) {
                    Some(r) => r,
                    None => {
                        ok = false;
                        continue;
                    }
                }
            };
            walk.expect_conditions(block, &abs, &repeats);
            let planned: HashMap<_, _> = self
                .execution
                .by_resource
                .get(&abs)
                .into_iter()
                .flatten()
                .map(|n| (&self.plan.changes[*n].addr.key, &self.plan.changes[*n]))
                .collect();
            let jobs = repeats.iter().map(|repeat| {
                let change = planned.get(&repeat.key()).copied();
                let abs = &abs;
                async move {
                    let addr = abs.instance(repeat.key());
                    let configured = match change {
                        Some(change) => providers.get(&change.provider.key),
                        None if block.mode() == Mode::Ephemeral => walk.provider_of(m, slot, run, repeat),
                        // The stored value is only decoded, which is the same in all instances.
                        None => providers.first(),
                    };
                    let configured = &*walk.handler(&addr, configured?);
                    match (block.mode(), change) {
                        (Mode::Ephemeral, _) => {
                            crate::engine::ephemeral::open(
                                walk, slot, code, info, configured, &addr, block, run, repeat,
                            )
                            .await
                        }
                        (_, Some(change)) => {
                            let job = Job { walk, change, block, program: code, info, configured, run, repeat };
                            self.change(&job).await
                        }
                        (_, None) => {
                            let value = self.unchanged(walk, configured, info, &addr).await?;
                            if walk.phase.is_destroy() {
                                return Some(value);
                            }
                            if value.is_null() {
                                // Left out by a target, or only refreshed: it may yet be created.
                                return Some(Value::unknown(info.ty.clone()));
                            }
                            if block.mode() == Mode::Data {
                                // It was read, and its conditions were checked, while planning.
                                return Some(value);
                            }
                            let scope = walk.runtime.scope(run, repeat);
                            walk.unchanged_conditions(block, &addr, scope, &value).then_some(value)
                        }
                    }
                }
            });
            let values: Vec<Option<Value>> = schedule::in_order(jobs, CONCURRENT_INSTANCES).await;
            ok &= values.iter().all(Option::is_some);
            let values = repeats.iter().zip(values).filter_map(|(r, v)| Some((r.clone(), v?)));
            if !walk.phase.is_destroy() || !repeats.is_empty() {
                let _ = run.resources[slot as usize].set(combine(values, &Kind::of_block(block)));
            }
        }
        ok
    }

    fn planned_repeats(&self, abs: &AbsResource) -> Vec<Repeat> {
        let keys = self.plan.prior_state.resource(abs).map(|r| r.instances.keys().cloned().collect::<Vec<_>>());
        keys.unwrap_or_default().iter().map(Repeat::of_key).collect()
    }

    /// The value of an instance that the plan does not touch.
    async fn unchanged(
        &self,
        walk: &Walk,
        configured: &Configured,
        info: &TypeInfo,
        addr: &ResourceInstance,
    ) -> Option<Value> {
        let object = self.plan.prior_state.get(addr).cloned();
        let Some(object) = object else {
            return Some(gpuform_schema::Value::Null(info.ty.clone()));
        };
        match stored::decode(&*configured.provider, info, addr, &object).await {
            Ok(v) => Some(info.mark(&v, &object.sensitive_paths)),
            Err(d) => {
                walk.report_all(d);
                None
            }
        }
    }
}

#[async_trait(?Send)]
impl ResourceStep for Executor {
    async fn resource(&self, walk: &Walk, module: ModuleId, slot: Slot) -> Outcome {
        if self.block(walk, module, slot).await { Outcome::Done } else { Outcome::Failed }
    }
}

/// Diagnostics of a run that was stopped.
pub fn stopped() -> Diagnostics {
    Diagnostic::error(
        "Execution halted",
        "The run was interrupted. Operations that had begun were allowed to finish and are recorded; the others were not \
         started. Plan again to see what is left.",
    )
    .into()
}

//! The executor: carries out a plan. Declared objects are evaluated again, now with real values; each planned change
//! is made by its provider, checked against what was planned, and recorded before it counts as done. A failure stops
//! what depends on it and nothing else.

use crate::addr::{AbsResource, Mode, ResourceInstance};
use crate::config::model::ResourceBlock;
use crate::diag::{Diagnostic, Diagnostics};
use crate::engine::checks::Checkable;
use crate::engine::events::Event;
use crate::engine::execution::{Execution, Group, Step};
use crate::engine::objects;
use crate::engine::plan::{Action, Plan, ResourceChange};
use crate::engine::planner::{about, evaluate_config, explain, identified_by, read_data};
use crate::engine::program::{ModuleId, ResourceProgram};
use crate::engine::provision;
use crate::engine::runtime::{Kind, ModuleRun, Repeat, combine};
use crate::engine::schedule::Outcome;
use crate::engine::stored::{self, Keep, TypeInfo};
use crate::engine::walk::{Configured, ResourceStep, Walk};
use crate::lang::syntax::Slot;
use crate::plugin::{ApplyRequest, ApplyResponse, PlanRequest};
use crate::state::journal::{self, Change, Intent, IntentAction, Journal, OperationId, Record};
use crate::state::{DeposedKey, ObjectStatus, State};
use async_trait::async_trait;
use futures::stream::{self, StreamExt};
use gpuform_schema::{Marks, Path, Value};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

const CONCURRENT_INSTANCES: usize = 4096;

/// The JSON key under which a provider keeps its client token in the planned private data.
const TOKEN_KEY: &str = "gpuform_client_token";

/// Carries out one plan.
pub struct Executor {
    pub plan: Arc<Plan>,
    pub execution: Execution,
    journal: Option<Arc<Journal>>,
    state: Mutex<State>,
    /// How many objects were added, changed, destroyed, imported so far.
    counts: Mutex<crate::engine::plan::Counts>,
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
    pub fn new(plan: Arc<Plan>, execution: Execution, journal: Option<Arc<Journal>>) -> Executor {
        let state = plan.prior_state.clone();
        Executor {
            plan,
            execution,
            journal,
            state: Mutex::new(state),
            counts: Mutex::default(),
            deposed: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn count(&self, f: impl FnOnce(&mut crate::engine::plan::Counts)) {
        f(&mut self.counts.lock().unwrap_or_else(|e| e.into_inner()));
    }

    /// The state after the walk and what was done.
    pub fn finish(self) -> (State, crate::engine::plan::Counts) {
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

    // ---- recording

    /// Makes changes to the state, durable when this returns.
    async fn record(&self, walk: &Walk, operation: Option<OperationId>, changes: Vec<Change>) -> bool {
        {
            let mut state = self.state();
            changes.iter().for_each(|c| c.apply(&mut state));
        }
        let Some(journal) = &self.journal else { return true };
        let record = match operation {
            Some(operation) => Record::Finished { operation, changes },
            None => Record::Changes(changes),
        };
        match journal.append(&record).await {
            Ok(()) => true,
            Err(d) => {
                // Nothing more is begun: what cannot be recorded must not be done.
                walk.report(d);
                walk.stop.cancel();
                false
            }
        }
    }

    /// Records what is about to be done. For a create this is durable when it returns.
    async fn intend(
        &self,
        walk: &Walk,
        change: &ResourceChange,
        action: IntentAction,
        planned: &Value,
        private: &[u8],
    ) -> Result<Option<OperationId>, ()> {
        // A built-in object exists in the state only: there is nothing that could be orphaned.
        let Some(journal) = self.journal.as_ref().filter(|_| !change.provider.provider.is_builtin()) else {
            return Ok(None);
        };
        let operation = journal.operation();
        let intent = Record::Intent(Box::new(Intent {
            operation,
            action,
            addr: change.addr.clone(),
            deposed: change.deposed,
            provider: change.provider.clone(),
            client_token: client_token(private).map(Into::into),
            planned_private: private.to_vec(),
            planned: known_attributes(planned).into(),
            time: journal::now(),
        }));
        let durable = journal.append(&intent);
        if action != IntentAction::Create {
            return Ok(Some(operation));
        }
        match durable.await {
            Ok(()) => Ok(Some(operation)),
            Err(d) => {
                walk.report(d);
                walk.stop.cancel();
                Err(())
            }
        }
    }

    // ---- declared resources

    async fn block(&self, walk: &Walk, m: ModuleId, slot: Slot) -> bool {
        let program = walk.program().clone();
        let block = program.resource_block(m, slot);
        let meta = program.resource_meta(m, slot);
        let (Some(code), Some(configured)) = (&meta.block, walk.provider(meta.provider)) else {
            return walk.runtime.instances(m).is_empty();
        };
        let info = TypeInfo::new(block.addr.ty.clone(), code.schema.clone());
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
                let info = &info;
                async move {
                    let addr = abs.instance(repeat.key());
                    let configured = &*walk.handler(&addr, configured);
                    match (block.mode(), change) {
                        (Mode::Ephemeral, _) => {
                            crate::engine::ephemeral::open(walk, code, info, configured, &addr, block, run, repeat)
                                .await
                        }
                        (_, Some(change)) => {
                            let job = Job { walk, change, block, program: code, info, configured, run, repeat };
                            self.change(&job).await
                        }
                        (_, None) => self.unchanged(walk, configured, info, &addr).await,
                    }
                }
            });
            let values: Vec<Option<Value>> = stream::iter(jobs).buffered(CONCURRENT_INSTANCES).collect().await;
            ok &= values.iter().all(Option::is_some);
            let values = repeats.iter().zip(values).filter_map(|(r, v)| Some((r.clone(), v?)));
            let _ = run.resources[slot as usize].set(combine(values, &Kind::of_block(block)));
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

    async fn change(&self, job: &Job<'_>) -> Option<Value> {
        if job.walk.stop.is_cancelled() {
            return None;
        }
        let lifecycle = &job.block.lifecycle;
        let scope = || job.walk.runtime.scope(job.run, job.repeat);
        let subject = Checkable::resource(&job.change.addr);
        let conditions = |list, scope: &dyn crate::lang::scope::Scope, summary| {
            job.walk.phase.is_destroy() || job.walk.conditions(list, scope, &subject, summary, job.block.header_range)
        };
        if !conditions(&lifecycle.preconditions, &scope(), "Resource precondition failed") {
            return None;
        }
        let value = match job.change.action {
            Action::NoOp => self.no_op(job).await?,
            Action::Read => self.read(job).await?,
            Action::Create => self.create(job, None).await?,
            Action::Update => self.update(job).await?,
            Action::DeleteThenCreate => self.create(job, None).await?,
            Action::CreateThenDelete => {
                let key = self.depose(job).await;
                self.create(job, key).await?
            }
            Action::Delete | Action::Forget | Action::Open => return None,
        };
        let with_self = scope().with_self(value.clone());
        conditions(&lifecycle.postconditions, &with_self, "Resource postcondition failed").then_some(value)
    }

    /// Nothing to do with the object, but its dependencies and its import are recorded.
    async fn no_op(&self, job: &Job<'_>) -> Option<Value> {
        let c = job.change;
        if c.importing.is_some() {
            self.count(|n| n.import += 1);
        }
        let stored = self.state().get(&c.addr).cloned();
        if let Some(object) = stored {
            let differs = *object.dependencies != *c.dependencies
                || object.create_before_destroy != c.create_before_destroy
                || self.provider_differs(c);
            if differs && !job.walk.phase.is_destroy() {
                let mut new = (*object).clone();
                new.dependencies = c.dependencies.clone();
                new.create_before_destroy = c.create_before_destroy;
                let set = self.set(c, new);
                self.record(job.walk, None, vec![set]).await;
            }
        }
        Some(c.after.clone())
    }

    fn provider_differs(&self, c: &ResourceChange) -> bool {
        self.state().resource(&c.addr.abs_resource()).is_some_and(|r| r.provider != c.provider)
    }

    fn set(&self, c: &ResourceChange, object: crate::state::ObjectState) -> Change {
        Change::Set { addr: c.addr.clone(), deposed: c.deposed, provider: c.provider.clone(), object: Arc::new(object) }
    }

    async fn read(&self, job: &Job<'_>) -> Option<Value> {
        let scope = job.walk.runtime.scope(job.run, job.repeat);
        let addr = &job.change.addr;
        let (config, sensitive) = evaluate_config(job.walk, job.program, job.block, addr, &scope)?;
        let read =
            read_data(job.walk, job.configured, job.program, job.block, job.info, addr, config, &sensitive).await?;
        if let Some(value) = &read.store {
            let keep = Keep {
                private: Vec::new(),
                status: ObjectStatus::Ready,
                dependencies: Arc::default(),
                create_before_destroy: false,
            };
            match stored::encode(job.info, value, keep) {
                Ok(o) => {
                    let set = self.set(job.change, o);
                    self.record(job.walk, None, vec![set]).await;
                }
                Err(d) => {
                    job.walk.report(d.address(addr));
                    return None;
                }
            }
        }
        Some(read.value)
    }

    /// The current object becomes a deposed one, to be destroyed once its successor is there.
    async fn depose(&self, job: &Job<'_>) -> Option<DeposedKey> {
        let addr = &job.change.addr;
        let key = self.state().instance(addr).map(crate::state::InstanceState::free_deposed_key)?;
        let change = Change::Depose { addr: addr.clone(), key };
        self.record(job.walk, None, vec![change]).await;
        self.deposed.lock().unwrap_or_else(|e| e.into_inner()).insert(addr.clone(), key);
        Some(key)
    }

    async fn create(&self, job: &Job<'_>, replaced: Option<DeposedKey>) -> Option<Value> {
        let prior = Value::Null(job.info.ty.clone());
        let ready = self.final_plan(job, &prior).await;
        let made = match ready {
            Some(ready) => self.apply(job, IntentAction::Create, prior, ready).await,
            None => Applied { value: None, exists: false },
        };
        if let (Some(key), false) = (replaced, made.exists) {
            // Nothing was created: the old object is the current one again.
            let restore = Change::Restore { addr: job.change.addr.clone(), key };
            self.record(job.walk, None, vec![restore]).await;
            self.deposed.lock().unwrap_or_else(|e| e.into_inner()).remove(&job.change.addr);
        }
        if made.value.is_some() {
            self.count(|n| n.add += 1);
        }
        made.value
    }

    async fn update(&self, job: &Job<'_>) -> Option<Value> {
        let prior = job.change.before.unmark_deep(&mut Marks::default());
        let ready = self.final_plan(job, &prior).await?;
        let value = self.apply(job, IntentAction::Update, prior, ready).await.value;
        if value.is_some() {
            self.count(|n| {
                n.change += 1;
                n.import += usize::from(job.change.importing.is_some());
            });
        }
        value
    }

    /// Evaluates the configuration with the values known now. Where the plan had to leave something open, the provider
    /// is asked to complete it, and may not go back on what was planned.
    async fn final_plan(&self, job: &Job<'_>, prior: &Value) -> Option<Ready> {
        let c = job.change;
        let scope = job.walk.runtime.scope(job.run, job.repeat);
        let (config, sensitive) = evaluate_config(job.walk, job.program, job.block, &c.addr, &scope)?;
        let planned = c.after.unmark_deep(&mut Marks::default());
        let block = &job.info.schema.block;
        let lifecycle = &job.block.lifecycle;
        let config = if lifecycle.ignore_all_changes || !lifecycle.ignore_changes.is_empty() {
            let ignored = crate::engine::planner::ignored_paths(lifecycle);
            objects::with_ignored(&config, prior, lifecycle.ignore_all_changes, &ignored)
        } else {
            config
        };
        if !config.is_wholly_known() {
            job.walk.report(
                Diagnostic::error(
                    "Configuration contains unknown value",
                    format!(
                        "A value in the configuration of {} is still not known although everything it depends on is \
                         applied. This is a fault in gpuform or in a provider; nothing was changed.",
                        c.addr
                    ),
                )
                .at(job.block.header_range)
                .address(&c.addr),
            );
            return None;
        }
        if objects::is_complete_for(block, &config, &planned) {
            return Some(Ready { config, planned, private: c.planned_private.clone(), sensitive });
        }
        let proposed = objects::proposed_new(block, prior, &config);
        let response = {
            let _turn = job.walk.turn(&job.configured.addr.provider).await;
            let request = PlanRequest {
                type_name: &job.info.name,
                prior: prior.clone(),
                proposed: objects::without_write_only(block, &proposed),
                config: config.clone(),
                prior_private: self.prior_private(c, prior),
                provider_meta: None,
            };
            job.configured.provider.plan_resource_change(request).await
        };
        if job.walk.report_all(explain(response.diagnostics, job.program, job.block, &c.addr)) {
            return None;
        }
        if !response.legacy_type_system {
            let broken = objects::check_result(&planned, &response.planned);
            if !broken.is_empty() {
                job.walk.report(broken_promise("Provider produced inconsistent final plan", job, &broken));
                return None;
            }
        }
        Some(Ready { config, planned: response.planned, private: response.planned_private, sensitive })
    }

    fn prior_private(&self, c: &ResourceChange, prior: &Value) -> Vec<u8> {
        if prior.is_null() {
            return Vec::new();
        }
        self.state().get(&c.addr).map(|o| o.private.clone()).unwrap_or_default()
    }

    async fn apply(&self, job: &Job<'_>, action: IntentAction, prior: Value, ready: Ready) -> Applied {
        let nothing = Applied { value: None, exists: false };
        let c = job.change;
        let (addr, walk) = (&c.addr, job.walk);
        let _turn = walk.turn(&job.configured.addr.provider).await;
        if walk.stop.is_cancelled() {
            return nothing;
        }
        let Ok(operation) = self.intend(walk, c, action, &ready.planned, &ready.private).await else { return nothing };
        let started = Instant::now();
        let shown = match action {
            IntentAction::Create => Action::Create,
            _ => Action::Update,
        };
        let id = if action == IntentAction::Update { identified_by(&c.before) } else { None };
        walk.events.event(Event::OperationStart { addr, deposed: None, action: shown, id });
        let request = ApplyRequest {
            type_name: &job.info.name,
            prior: prior.clone(),
            planned: ready.planned.clone(),
            config: ready.config.clone(),
            planned_private: ready.private.clone(),
            provider_meta: None,
        };
        let response = job.configured.provider.apply_resource_change(request).await;
        drop(_turn);
        let ApplyResponse { state, private, legacy_type_system, answered, diagnostics } = response;
        if !answered {
            // What the provider did is not known: the intent stays open, and the next run finds out.
            walk.report_all(unanswered(explain(diagnostics, job.program, job.block, addr), addr));
            let elapsed = started.elapsed();
            walk.events.event(Event::OperationErrored { addr, deposed: None, action: shown, elapsed });
            return Applied { value: None, exists: operation.is_some() };
        }
        let mut diags = explain(diagnostics, job.program, job.block, addr);
        let mut failed = diags.has_errors();
        let mut new = state;
        if new.is_null() && !failed {
            diags.push(
                Diagnostic::error(
                    "Provider returned no object",
                    format!(
                        "The provider {} reported success for {addr}, but gave no object. Check whether it exists before \
                         the next apply.",
                        job.configured.addr.provider.for_display()
                    ),
                )
                .address(addr),
            );
            failed = true;
        }
        if new.is_null() && failed && action == IntentAction::Update {
            new = prior.clone();
        }
        let unknown_left = !new.is_wholly_known();
        if unknown_left && !failed {
            diags.push(
                Diagnostic::error(
                    "Provider returned invalid result object after apply",
                    format!(
                        "The provider {} left parts of {addr} unknown after applying it. The object is kept; its unknown \
                         parts are stored as null.",
                        job.configured.addr.provider.for_display()
                    ),
                )
                .address(addr),
            );
            failed = true;
        }
        let new = objects::without_write_only(&job.info.schema.block, &objects::unknown_as_null(&new));
        if !failed && !legacy_type_system {
            let broken = objects::check_result(&ready.planned, &new);
            if !broken.is_empty() {
                diags.push(broken_promise("Provider produced inconsistent result after apply", job, &broken));
                failed = true;
            }
        }
        let exists = !new.is_null();
        let created = action == IntentAction::Create;
        let mut value = job.info.mark(&new, &ready.sensitive);
        let mut status = if failed && created { ObjectStatus::Tainted } else { ObjectStatus::Ready };
        let mut changes = Vec::new();
        if exists {
            match self.stored(job, &value, private.clone(), status) {
                Ok(o) => changes.push(self.set(c, o)),
                Err(d) => {
                    diags.push(d.address(addr));
                    failed = true;
                    value = Value::null();
                }
            }
        } else if c.deposed.is_none() && created {
            changes.push(Change::Remove { addr: addr.clone(), deposed: None });
        }
        let recorded = self.record(walk, operation, changes).await;
        if !failed && created {
            failed = !provision::run(walk, job.block, job.program, addr, &value, false, job.run, job.repeat).await;
            if failed {
                status = ObjectStatus::Tainted;
                if let Ok(o) = self.stored(job, &value, private, status) {
                    let set = self.set(c, o);
                    self.record(walk, None, vec![set]).await;
                }
            }
        }
        walk.report_all(diags);
        let elapsed = started.elapsed();
        if failed || !recorded {
            walk.events.event(Event::OperationErrored { addr, deposed: None, action: shown, elapsed });
            return Applied { value: None, exists };
        }
        let id = identified_by(&value);
        walk.events.event(Event::OperationDone { addr, deposed: None, action: shown, id, elapsed });
        Applied { value: Some(value), exists }
    }

    fn stored(
        &self,
        job: &Job<'_>,
        value: &Value,
        private: Vec<u8>,
        status: ObjectStatus,
    ) -> Result<crate::state::ObjectState, Diagnostic> {
        let keep = Keep {
            private,
            status,
            dependencies: job.change.dependencies.clone(),
            create_before_destroy: job.change.create_before_destroy,
        };
        stored::encode(job.info, value, keep)
    }

    // ---- destruction

    async fn destroy_group(&self, walk: &Walk, group: &Group) -> bool {
        let jobs = group.changes.iter().map(|n| self.destroy(walk, group, &self.plan.changes[*n]));
        let done: Vec<bool> = stream::iter(jobs).buffer_unordered(CONCURRENT_INSTANCES).collect().await;
        done.into_iter().all(|ok| ok)
    }

    async fn destroy(&self, walk: &Walk, group: &Group, c: &ResourceChange) -> bool {
        if walk.stop.is_cancelled() {
            return false;
        }
        if c.action == Action::Forget {
            let gone = Change::Remove { addr: c.addr.clone(), deposed: c.deposed };
            self.count(|n| n.forget += 1);
            return self.record(walk, None, vec![gone]).await;
        }
        let deposed = match c.action {
            Action::CreateThenDelete => {
                match self.deposed.lock().unwrap_or_else(|e| e.into_inner()).get(&c.addr) {
                    Some(key) => Some(*key),
                    // The successor was not created, so the object stays.
                    None => return true,
                }
            }
            _ => c.deposed,
        };
        let Some(configured) = group.provider.and_then(|p| walk.provider(p)) else { return false };
        let configured = walk.handler(&c.addr, configured);
        let info = TypeInfo::new(c.addr.resource.ty.clone(), c.schema.clone());
        let prior = c.before.unmark_deep(&mut Marks::default());
        let addr = &c.addr;
        if c.deposed.is_none() && c.action != Action::CreateThenDelete && !self.before_destroy(walk, c).await {
            return false;
        }
        let _turn = walk.turn(&configured.addr.provider).await;
        if walk.stop.is_cancelled() {
            return false;
        }
        let null = Value::Null(info.ty.clone());
        let private = match c.action {
            Action::Delete => c.planned_private.clone(),
            _ => {
                let state = self.state();
                let object = match deposed {
                    Some(key) => state.get_deposed(addr, key),
                    None => state.get(addr),
                };
                object.map(|o| o.private.clone()).unwrap_or_default()
            }
        };
        let Ok(operation) = self.intend(walk, c, IntentAction::Delete, &null, &[]).await else { return false };
        let started = Instant::now();
        let id = identified_by(&c.before);
        walk.events.event(Event::OperationStart { addr, deposed, action: Action::Delete, id: id.clone() });
        let request = ApplyRequest {
            type_name: &info.name,
            prior: prior.clone(),
            planned: null.clone(),
            config: null,
            planned_private: private,
            provider_meta: None,
        };
        let response = configured.provider.apply_resource_change(request).await;
        drop(_turn);
        if !response.answered {
            walk.report_all(unanswered(about(response.diagnostics, addr), addr));
            let elapsed = started.elapsed();
            walk.events.event(Event::OperationErrored { addr, deposed, action: Action::Delete, elapsed });
            return false;
        }
        let mut diags = about(response.diagnostics, addr);
        let failed = diags.has_errors();
        let mut changes = Vec::new();
        if response.state.is_null() && !failed {
            changes.push(Change::Remove { addr: addr.clone(), deposed });
        } else if !failed {
            diags.push(
                Diagnostic::error(
                    "Provider returned an object after destroying it",
                    format!(
                        "The provider {} reported that it destroyed {addr}, and gave an object all the same. The object is \
                         kept in the state.",
                        configured.addr.provider.for_display()
                    ),
                )
                .address(addr),
            );
        } else if !response.state.is_null() && response.state != prior && response.state.is_wholly_known() {
            self.keep_partly_destroyed(&info, c, deposed, &response.state, response.private, &mut changes);
        }
        let failed = diags.has_errors();
        let recorded = self.record(walk, operation, changes).await;
        walk.report_all(diags);
        let elapsed = started.elapsed();
        if failed || !recorded {
            walk.events.event(Event::OperationErrored { addr, deposed, action: Action::Delete, elapsed });
            return false;
        }
        walk.events.event(Event::OperationDone { addr, deposed, action: Action::Delete, id, elapsed });
        self.count(|n| n.destroy += 1);
        true
    }

    /// What a failed deletion has left, as the provider sees it.
    fn keep_partly_destroyed(
        &self,
        info: &TypeInfo,
        c: &ResourceChange,
        deposed: Option<DeposedKey>,
        left: &Value,
        private: Vec<u8>,
        changes: &mut Vec<Change>,
    ) {
        let object = {
            let state = self.state();
            match deposed {
                Some(key) => state.get_deposed(&c.addr, key).cloned(),
                None => state.get(&c.addr).cloned(),
            }
        };
        let Some(object) = object else { return };
        let keep = Keep {
            private,
            status: object.status,
            dependencies: object.dependencies.clone(),
            create_before_destroy: object.create_before_destroy,
        };
        if let Ok(o) = stored::encode(info, &info.mark(left, &object.sensitive_paths), keep) {
            changes.push(Change::Set {
                addr: c.addr.clone(),
                deposed,
                provider: c.provider.clone(),
                object: Arc::new(o),
            });
        }
    }

    /// Runs destroy-time provisioners, where the block that has them is still there.
    async fn before_destroy(&self, walk: &Walk, c: &ResourceChange) -> bool {
        let program = walk.program().clone();
        let Some((m, slot)) = program.find_resource(&c.addr.config()) else { return true };
        let block = program.resource_block(m, slot);
        if !block.provisioners.iter().any(|p| p.when_destroy) {
            return true;
        }
        let Some(code) = &program.resource_meta(m, slot).block else { return true };
        let instances = walk.runtime.instances(m);
        let Some(run) = instances.iter().find(|r| r.addr == c.addr.module).or(instances.first()) else { return true };
        let repeat = Repeat::of_key(&c.addr.key);
        provision::run(walk, block, code, &c.addr, &c.before, true, run, &repeat).await
    }
}

struct Ready {
    config: Value,
    planned: Value,
    private: Vec<u8>,
    sensitive: Vec<Path>,
}

struct Applied {
    /// The new value; `None` after a failure.
    value: Option<Value>,
    /// Something exists, whole or not.
    exists: bool,
}

#[async_trait(?Send)]
impl ResourceStep for Executor {
    async fn resource(&self, walk: &Walk, module: ModuleId, slot: Slot) -> Outcome {
        if self.block(walk, module, slot).await { Outcome::Done } else { Outcome::Failed }
    }
}

fn broken_promise(summary: &str, job: &Job<'_>, broken: &[objects::Broken]) -> Diagnostic {
    let addr = &job.change.addr;
    let places: Vec<String> = broken.iter().map(|b| format!("- {addr}{}: {}", b.path, b.what)).collect();
    Diagnostic::error(
        summary,
        format!(
            "The provider {} did not keep to what was planned for {addr}:\n{}\nThis is a bug in the provider, which should be \
             reported to those who maintain it.",
            job.configured.addr.provider.for_display(),
            places.join("\n")
        ),
    )
    .at(job.block.header_range)
    .address(addr)
}

/// The client token that a provider has put into its planned private data.
pub fn client_token(private: &[u8]) -> Option<String> {
    if private.is_empty() {
        return None;
    }
    let json: serde_json::Value = serde_json::from_slice(private).ok()?;
    json.get(TOKEN_KEY)?.as_str().map(str::to_owned)
}

/// The known attributes of a planned object as a JSON object, for the intent record.
fn known_attributes(planned: &Value) -> String {
    let Some(entries) = planned.entries() else { return "{}".into() };
    let mut out = String::from("{");
    for (name, v) in entries.filter(|(_, v)| !v.is_null() && v.is_wholly_known()) {
        let mut text = String::new();
        if gpuform_schema::json::encode_untyped(v, &mut text).is_ok() {
            if out.len() > 1 {
                out.push(',');
            }
            gpuform_schema::json::write_string(name, &mut out);
            out.push(':');
            out.push_str(&text);
        }
    }
    out.push('}');
    out
}

/// Adds to a failure without an answer what that means.
fn unanswered(mut diags: Diagnostics, addr: &ResourceInstance) -> Diagnostics {
    let note = format!(
        "The provider was asked to change {addr}, but gave no answer: the change may or may not have been made. The journal \
         remembers it, and the next command that locks the state looks for what became of it."
    );
    match diags.iter_mut().find(|d| d.is_error()) {
        Some(d) => d.detail = format!("{}\n\n{note}", d.detail),
        None => diags.push(Diagnostic::error("No answer from the provider", note).address(addr)),
    }
    diags
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

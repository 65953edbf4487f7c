//! Carrying out one planned change of a declared instance: creating, updating, replacing, reading. The result is checked
//! against the plan and recorded before it counts.

use super::{Executor, Job};
use crate::addr::ResourceInstance;
use crate::diag::{Diagnostic, Diagnostics};
use crate::engine::checks::Checkable;
use crate::engine::events::Event;
use crate::engine::instance::{evaluate_config, explain, identified_by, ignored_paths, read_data};
use crate::engine::objects;
use crate::engine::plan::{Action, ResourceChange};
use crate::engine::provision;
use crate::engine::stored::{self, Keep};
use crate::plugin::{ApplyRequest, ApplyResponse, PlanRequest};
use crate::state::journal::{Change, IntentAction};
use crate::state::{DeposedKey, ObjectStatus};
use gpuform_schema::{Marks, Path, Value};
use std::sync::Arc;
use std::time::Instant;

impl Executor {
    pub(super) async fn change(&self, job: &Job<'_>) -> Option<Value> {
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
            Action::Delete | Action::Forget => return None,
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
                self.record(None, vec![set]);
            }
        }
        Some(c.after.clone())
    }

    fn provider_differs(&self, c: &ResourceChange) -> bool {
        self.state().provider_of(&c.addr).is_some_and(|p| *p != c.provider)
    }

    async fn read(&self, job: &Job<'_>) -> Option<Value> {
        let scope = job.walk.runtime.scope(job.run, job.repeat);
        let addr = &job.change.addr;
        let (config, sensitive) = evaluate_config(job.walk, job.program, job.block, addr, &scope)?;
        let value = read_data(job.walk, job.configured, job.program, job.block, job.info, addr, config, &sensitive)
            .await?
            .value;
        let keep = Keep {
            private: Vec::new(),
            status: ObjectStatus::Ready,
            dependencies: Arc::default(),
            create_before_destroy: false,
        };
        match stored::encode(job.info, &value, keep) {
            Ok(o) => {
                let set = self.set(job.change, o);
                self.record(None, vec![set]);
            }
            Err(d) => {
                job.walk.report(d.address(addr));
                return None;
            }
        }
        Some(value)
    }

    /// The current object becomes a deposed one, to be destroyed once its successor is there.
    async fn depose(&self, job: &Job<'_>) -> Option<DeposedKey> {
        let addr = &job.change.addr;
        let key = self.state().instance(addr).map(crate::state::InstanceState::free_deposed_key)?;
        let change = Change::Depose { addr: addr.clone(), key };
        self.record(None, vec![change]);
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
            self.record(None, vec![restore]);
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
        if ready.planned == prior && !job.change.after.is_wholly_known() {
            // What was not known has come out as it was before.
            let value = job.info.mark(&prior, &ready.sensitive);
            return Some(value);
        }
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
            let ignored = ignored_paths(lifecycle);
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
                proposed: job.info.without_write_only(&proposed),
                config: config.clone(),
                prior_private: self.prior_private(c, prior),
                provider_meta: job.walk.program().settings(&c.addr, &job.configured.addr.provider),
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
        let provider = &job.configured.addr.provider;
        // The intent becomes durable while others have their turns.
        let _prepared = walk.preparation(provider).await;
        if walk.stop.is_cancelled() {
            return nothing;
        }
        let Ok(operation) = self.intend(walk, c, action, &ready.planned, &ready.private).await else { return nothing };
        let _turn = walk.turn(provider).await;
        if walk.stop.is_cancelled() {
            self.record(operation, Vec::new());
            return nothing;
        }
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
            provider_meta: walk.program().settings(addr, provider),
        };
        let response = job.configured.provider.apply_resource_change(request).await;
        drop((_turn, _prepared));
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
                    if legacy_type_system { INVALID_RESULT } else { "Provider produced inconsistent result after apply" },
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
                    INVALID_RESULT,
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
        let new = job.info.without_write_only(&objects::unknown_as_null(&new));
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
        // Until its provisioners have run, a new object is incomplete: an interruption leaves it tainted.
        let to_provision = !failed && created && job.block.has_create_provisioners();
        let status = if created && (failed || to_provision) { ObjectStatus::Tainted } else { ObjectStatus::Ready };
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
        if to_provision && !failed {
            failed = !self.record_first(walk, operation, changes).await
                || !provision::run(
                    walk,
                    &job.block.provisioners,
                    &job.program.provisioners,
                    addr,
                    &value,
                    false,
                    job.run,
                    job.repeat,
                )
                .await;
            if !failed && let Ok(o) = self.stored(job, &value, private, ObjectStatus::Ready) {
                self.record(None, vec![self.set(c, o)]);
            }
        } else {
            self.record(operation, changes);
        }
        walk.report_all(diags);
        let elapsed = started.elapsed();
        if failed {
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
}

/// The summary for results that no plan could have asked for.
const INVALID_RESULT: &str = "Provider returned invalid result object after apply";

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

/// Adds to a failure without an answer what that means.
pub(super) fn unanswered(mut diags: Diagnostics, addr: &ResourceInstance) -> Diagnostics {
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

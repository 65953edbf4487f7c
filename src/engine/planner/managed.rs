//! Planning one instance of a managed resource: its configuration is evaluated, the provider plans, and the action follows
//! from what it answers. Deletions are in `destroy`, what was there before in `refresh`.

use super::destroy::prevented;
use super::refresh::Prior;
use super::{Instance, Planner};
use crate::addr::ResourceInstance;
use crate::config::model::ResourceBlock;
use crate::diag::{Diagnostic, Diagnostics};
use crate::engine::checks::Checkable;
use crate::engine::instance::{evaluate_config, explain, ignored_paths};
use crate::engine::objects;
use crate::engine::plan::{Action, ActionReason, PlanMode, ResourceChange};
use crate::engine::program::ResourceProgram;
use crate::engine::stored::TypeInfo;
use crate::engine::triggers;
use crate::engine::walk::Walk;
use crate::lang::syntax::{Slot, Traversal};
use crate::plugin::{PlanRequest, PlanResponse};
use gpuform_schema::{Marks, Path, Value};

impl Planner {
    pub(super) async fn managed(&self, i: Instance<'_>) -> Option<Value> {
        let included = self.input.targets.includes_instance(i.walk, i.module, i.slot, &i.addr);
        let prior = self.prior(&i, included).await?;
        self.only_moved(&i, &prior);
        self.deposed(&i).await?;
        if !included || self.input.mode == PlanMode::RefreshOnly {
            // What is not there is not known: it may yet be created.
            let value = prior.value.unwrap_or_else(|| Value::unknown(i.info.ty.clone()));
            if included && value.is_known() {
                let scope = i.walk.runtime.scope(i.run, i.repeat);
                i.walk.unchanged_conditions(i.block, &i.addr, scope, &value);
            }
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

    /// A plan that only refreshes says where objects have moved as it says how they have changed; where an object has
    /// changed too, its change is there already, and goes before this one.
    fn only_moved(&self, i: &Instance<'_>, prior: &Prior) {
        let moved = self.input.mode == PlanMode::RefreshOnly && self.input.moved.contains_key(&i.addr);
        if let Some(value) = prior.value.as_ref().filter(|_| moved) {
            let change = self.drift_change(&i.configured, i.info, &i.addr, None, value.clone(), value.clone());
            self.work().drift.push(change);
        }
    }

    /// Evaluates the configuration, asks the provider for its plan, and decides on the action.
    pub(super) async fn plan_instance(&self, i: &Instance<'_>, prior: Prior) -> Option<ResourceChange> {
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
                proposed: i.info.without_write_only(&proposed),
                config: config.clone(),
                prior_private: private.to_vec(),
                provider_meta: walk.program().settings(&i.addr, &i.configured.addr.provider),
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
        let triggered = self.triggered(i)?;
        let planned = plan_from(&prior_value, &prior.private, &effective).await?;
        let create_before_destroy = i.meta.create_before_destroy;
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
            } else if triggered {
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
            }
        }
        change.after = i.info.mark(&after, &sensitive);
        if change.action.is_replace() && !self.may_destroy(i) {
            self.add_change(walk, Some((i.module, i.slot)), change);
            return None;
        }
        let with_self = scope().with_self(change.after.clone());
        let held = walk.conditions(
            &lifecycle.postconditions,
            &with_self,
            &subject,
            "Resource postcondition failed",
            i.block.header_range,
        );
        drop(with_self);
        if !held {
            // What would be done is shown beside the error; nothing that needs the object is planned.
            self.add_change(walk, Some((i.module, i.slot)), change);
            return None;
        }
        Some(change)
    }

    /// Whether something named in `replace_triggered_by` will change.
    fn triggered(&self, i: &Instance<'_>) -> Option<bool> {
        if i.block.lifecycle.replace_triggered_by.is_empty() {
            return Some(false);
        }
        let scope = i.walk.runtime.scope(i.run, i.repeat);
        let work = self.work();
        let mut triggered = false;
        for e in &i.block.lifecycle.replace_triggered_by {
            let reference = match triggers::resolve(e, &scope) {
                Ok(r) => r,
                Err(d) => {
                    i.walk.report(d);
                    return None;
                }
            };
            let indexes = work.by_block.get(&(i.module, reference.slot)).map_or(&[][..], Vec::as_slice);
            let mut changes = indexes
                .iter()
                .filter_map(|n| work.changes.get(*n))
                .filter(|c| c.addr.module == i.run.addr && c.deposed.is_none() && reference.covers(&c.addr.key))
                .peekable();
            if changes.peek().is_none() && reference.wants_instance() {
                i.walk.report(no_trigger(i, &reference));
                return None;
            }
            triggered |= changes.any(|c| triggers::is_trigger(c, &reference.path));
        }
        Some(triggered)
    }

    /// Whether the configuration lets the object be destroyed; if not, that is reported.
    pub(super) fn may_destroy(&self, i: &Instance<'_>) -> bool {
        if i.block.lifecycle.prevent_destroy {
            i.walk.report(prevented(&i.addr, i.block));
        }
        !i.block.lifecycle.prevent_destroy
    }
}

/// Reports references of a block to the resource that it declares, whose value cannot be known before it is.
pub(super) fn refers_to_itself(walk: &Walk, code: &ResourceProgram, block: &ResourceBlock, slot: Slot) -> bool {
    let mut found = false;
    let mut check = |t: &Traversal| {
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
    };
    if let Some(repetition) = block.repetition.expr() {
        repetition.visit_traversals(&mut check);
    }
    code.decoder.visit_traversals(&mut check);
    found
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

fn no_trigger(i: &Instance<'_>, reference: &triggers::Reference) -> Diagnostic {
    let resource = i.walk.program().resource_block(i.module, reference.slot).addr.clone();
    let key = reference.key.clone().unwrap_or_default();
    let module = if i.run.addr.is_root() { "the root module".into() } else { i.run.addr.to_string() };
    Diagnostic::error(
        format!("no change found for {resource}{key} in {module}"),
        format!(
            "replace_triggered_by of {} names an instance that there is not. Name one that \"count\" or \"for_each\" asks \
             for, or the resource as a whole.",
            i.addr
        ),
    )
}

//! Data sources while planning: they are read where their configuration is known and nothing that they depend on will
//! change; otherwise the plan says that they are read during apply.

use super::{Instance, Planner};
use crate::addr::{AbsResource, InstanceKey, Mode};
use crate::engine::checks::Checkable;
use crate::engine::instance::{DataRead, evaluate_config, read_data};
use crate::engine::objects;
use crate::engine::plan::{Action, ActionReason, PlanMode, ResourceChange};
use crate::engine::program::ModuleId;
use crate::engine::stored::{self, Keep};
use crate::hash::HashSet;
use crate::state::ObjectStatus;
use gpuform_schema::Value;
use std::sync::Arc;

impl Planner {
    pub(super) async fn data(&self, i: Instance<'_>) -> Option<Value> {
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
                // What was read earlier is not what it will be.
                self.work().state.remove_instance(&i.addr);
            }
            return Some(after);
        }
        let DataRead { value, failed } =
            read_data(walk, &i.configured, i.program, i.block, i.info, &i.addr, config.clone(), &sensitive).await?;
        if i.block.check.is_some() && self.input.mode == PlanMode::Normal {
            // What a check looks at is read again when everything else is done.
            let after = if failed {
                i.info.mark(&objects::planned_data(&i.info.schema.block, &config), &sensitive)
            } else {
                value.clone()
            };
            let change = self.planned_read(&i, ActionReason::ReadBecauseCheckNested, after);
            self.add_change(walk, Some((i.module, i.slot)), change);
        }
        let keep = Keep {
            private: Vec::new(),
            status: ObjectStatus::Ready,
            dependencies: Arc::default(),
            create_before_destroy: false,
        };
        match stored::encode(i.info, &value, keep) {
            Ok(o) => self.work().state.set(&i.addr, Arc::new(o), &i.configured.addr),
            Err(d) => {
                walk.report(d.address(&i.addr));
                return None;
            }
        }
        if !destroying
            && !walk.conditions(
                &lifecycle.postconditions,
                &scope().with_self(value.clone()),
                &subject,
                "Resource postcondition failed",
                i.block.header_range,
            )
        {
            return None;
        }
        Some(value)
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

    /// Whether something that the data source must come after (`depends_on`, also of its modules, and managed resources
    /// that it refers to itself) has changes.
    fn dependency_pending(&self, i: &Instance<'_>) -> bool {
        let program = i.walk.program();
        let mut found = false;
        let mut refers = |t: &crate::lang::syntax::Traversal| {
            if let crate::lang::syntax::Target::Resource(s) = t.target {
                found |=
                    program.resource_block(i.module, s).mode() == Mode::Managed && self.block_changes((i.module, s));
            }
        };
        i.program.decoder.visit_traversals(&mut refers);
        if let Some(e) = i.block.repetition.expr() {
            e.visit_traversals(&mut refers);
        }
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

    pub(super) fn drop_unwanted_data(&self, abs: &AbsResource, wanted: &HashSet<InstanceKey>) {
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
}

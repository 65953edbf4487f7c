//! Carrying out planned deletions, and forgetting.

use super::change::unanswered;
use super::{CONCURRENT_INSTANCES, Executor};
use crate::diag::Diagnostic;
use crate::engine::events::Event;
use crate::engine::execution::Group;
use crate::engine::instance::{about, identified_by};
use crate::engine::plan::{Action, ResourceChange};
use crate::engine::provision;
use crate::engine::runtime::Repeat;
use crate::engine::stored::{self, Keep, TypeInfo};
use crate::engine::walk::Walk;
use crate::plugin::ApplyRequest;
use crate::state::DeposedKey;
use crate::state::journal::{Change, IntentAction};
use futures::stream::{self, StreamExt};
use gpuform_schema::{Marks, Value};
use std::sync::Arc;
use std::time::Instant;

impl Executor {
    pub(super) async fn destroy_group(&self, walk: &Walk, group: &Group) -> bool {
        let changes = || group.changes.iter().map(|n| &self.plan.changes[*n]);
        let Some(first) = changes().next() else { return true };
        let info = &TypeInfo::new(first.addr.resource.ty.clone(), first.schema.clone());
        let jobs = changes().map(|c| self.destroy(walk, group, info, c));
        let done: Vec<bool> = stream::iter(jobs).buffer_unordered(CONCURRENT_INSTANCES).collect().await;
        done.into_iter().all(|ok| ok)
    }

    async fn destroy(&self, walk: &Walk, group: &Group, info: &TypeInfo, c: &ResourceChange) -> bool {
        if walk.stop.is_cancelled() {
            return false;
        }
        if c.action == Action::Forget {
            let gone = Change::Remove { addr: c.addr.clone(), deposed: c.deposed };
            self.count(|n| n.forget += 1);
            self.record(None, vec![gone]);
            return true;
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
        let Some(configured) = group.provider.and_then(|p| walk.provider(p)?.get(&c.provider.key)) else {
            return false;
        };
        let configured = walk.handler(&c.addr, configured);
        let prior = c.before.unmark_deep(&mut Marks::default());
        let addr = &c.addr;
        let started = Instant::now();
        let id = identified_by(&c.before);
        walk.events.event(Event::OperationStart { addr, deposed, action: Action::Delete, id: id.clone() });
        if c.deposed.is_none() && c.action != Action::CreateThenDelete && !self.before_destroy(walk, c).await {
            let elapsed = started.elapsed();
            walk.events.event(Event::OperationErrored { addr, deposed, action: Action::Delete, elapsed });
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
        let request = ApplyRequest {
            type_name: &info.name,
            prior: prior.clone(),
            planned: null.clone(),
            config: null,
            planned_private: private,
            provider_meta: walk.program().settings(addr, &configured.addr.provider),
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
            self.keep_partly_destroyed(info, c, deposed, &response.state, response.private, &mut changes);
        }
        let failed = diags.has_errors();
        self.record(operation, changes);
        walk.report_all(diags);
        let elapsed = started.elapsed();
        if failed {
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

    /// Runs the destroy-time provisioners of the block that an object comes from, or of the `removed` block in its place.
    async fn before_destroy(&self, walk: &Walk, c: &ResourceChange) -> bool {
        // What was not set up completely is not taken down by what the configuration says either.
        if self.state().get(&c.addr).is_some_and(|o| o.is_tainted()) {
            return true;
        }
        let program = walk.program().clone();
        let config = c.addr.config();
        let (m, provisioners, code) = match program.find_resource(&config) {
            Some((m, slot)) => {
                let Some(code) = &program.resource_meta(m, slot).block else { return true };
                (m, &*program.resource_block(m, slot).provisioners, &*code.provisioners)
            }
            None => {
                let Some(removed) = program.removed.get(&config) else { return true };
                let block = &program.modules[removed.module].module().removed[removed.block];
                (removed.module, &*block.provisioners, &*removed.provisioners)
            }
        };
        if !provisioners.iter().any(|p| p.when_destroy) {
            return true;
        }
        let instances = walk.runtime.instances(m);
        let around = instances.iter().find(|r| c.addr.module.is_within(&r.addr));
        let run = around.or(instances.first()).unwrap_or(walk.runtime.root());
        let repeat = Repeat::of_key(&c.addr.key);
        provision::run(walk, provisioners, code, &c.addr, &c.before, true, run, &repeat).await
    }
}

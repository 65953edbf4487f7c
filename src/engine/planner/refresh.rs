//! What is there before an instance is planned: the stored object, brought up to date by reading it from its provider.
//! Differences that are found become drift. Called for every managed instance and for what is to be deleted.

use super::{Instance, Planner};
use crate::addr::ResourceInstance;
use crate::diag::Diagnostic;
use crate::engine::events::Event;
use crate::engine::instance::{about, identified_by, invalid_object};
use crate::engine::plan::{Action, ActionReason, Importing, ResourceChange};
use crate::engine::stored::{self, Keep, TypeInfo};
use crate::engine::walk::{Configured, Walk};
use crate::plugin::{MoveRequest, Provider, ReadRequest};
use crate::state::{Attributes, DeposedKey, ObjectState};
use gpuform_schema::{Marks, Value};
use std::sync::Arc;

/// What is there before planning.
#[derive(Default)]
pub(super) struct Prior {
    /// Null where there is nothing; marks as stored.
    pub value: Option<Value>,
    pub private: Vec<u8>,
    pub tainted: bool,
    pub importing: Option<Importing>,
}

impl Planner {
    /// Reads what is there now: from the state, or by import; refreshed.
    pub(super) async fn prior(&self, i: &Instance<'_>, included: bool) -> Option<Prior> {
        let object = self.work().state.get(&i.addr).cloned();
        let Some(object) = object else {
            return match i.imports.get(&i.addr) {
                Some(id) if included => self.import(i, id).await,
                _ => Some(Prior::default()),
            };
        };
        let object = match self.input.moved.get(&i.addr) {
            Some(from) if from.resource.ty != i.addr.resource.ty => self.as_other_type(i, from, &object).await?,
            _ => object,
        };
        let value = self.stored_value(i.walk, &i.configured, i.info, &i.addr, &object).await?;
        let object = self.as_current_version(i, object, &value)?;
        let mut prior = Prior {
            value: Some(value.clone()),
            private: object.private.clone(),
            tainted: object.is_tainted(),
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

    /// An object that has moved to a resource of another type: the provider of that type makes it one of its own.
    async fn as_other_type(
        &self,
        i: &Instance<'_>,
        from: &ResourceInstance,
        object: &ObjectState,
    ) -> Option<Arc<ObjectState>> {
        if !i.configured.provider.capabilities().move_resource_state {
            let detail = format!(
                "{from} cannot become {}: the provider {} does not take over objects of other resource types.",
                i.addr, i.configured.addr.provider
            );
            i.walk.report(Diagnostic::error("Unsupported `moved` across resource types", detail).address(&i.addr));
            return None;
        }
        let source = self.input.previous_state.resource(&from.abs_resource());
        let attributes = object.attributes.to_json();
        let request = MoveRequest {
            source_provider_address: source.map(|r| r.provider.provider.to_string()).unwrap_or_default(),
            source_type_name: from.resource.ty.to_string(),
            source_schema_version: i64::try_from(object.schema_version).unwrap_or(i64::MAX),
            source_state_json: &attributes,
            source_private: object.private.clone(),
            target_type_name: i.info.name.to_string(),
        };
        let (moved, diags) = i.configured.provider.move_resource_state(request).await;
        if i.walk.report_all(about(diags, &i.addr)) {
            return None;
        }
        let Some((value, private)) = moved else {
            let detail = format!("The provider did not say what {from} becomes as {}.", i.addr);
            i.walk.report(Diagnostic::error("Unable to move resource state", detail).address(&i.addr));
            return None;
        };
        let keep = Keep {
            private,
            status: object.status,
            dependencies: object.dependencies.clone(),
            create_before_destroy: object.create_before_destroy,
        };
        self.keep(i, &value, keep)
    }

    /// An object that was stored with an older schema is kept as it was upgraded, so that it is upgraded once.
    fn as_current_version(
        &self,
        i: &Instance<'_>,
        object: Arc<ObjectState>,
        value: &Value,
    ) -> Option<Arc<ObjectState>> {
        let version = i64::try_from(object.schema_version).unwrap_or(i64::MAX);
        if version == i.info.schema.version && matches!(object.attributes, Attributes::Json(_)) {
            return Some(object);
        }
        let keep = Keep {
            private: object.private.clone(),
            status: object.status,
            dependencies: object.dependencies.clone(),
            create_before_destroy: object.create_before_destroy,
        };
        self.keep(i, value, keep)
    }

    /// Puts an object into the state under the address that is being planned.
    fn keep(&self, i: &Instance<'_>, value: &Value, keep: Keep) -> Option<Arc<ObjectState>> {
        match stored::encode(i.info, value, keep) {
            Ok(object) => {
                let object = Arc::new(object);
                self.work().state.set(&i.addr, object.clone(), &i.configured.addr);
                Some(object)
            }
            Err(d) => {
                i.walk.report(d.address(&i.addr));
                None
            }
        }
    }

    /// Decodes a stored object; its sensitive parts are marked.
    pub(super) async fn stored_value(
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
    pub(super) async fn refresh(
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
            let _turn = walk.turn_to_read(configured).await;
            let request = ReadRequest {
                type_name: &info.name,
                current: current.clone(),
                private: object.private.clone(),
                provider_meta: walk.program().settings(addr, &configured.addr.provider),
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
        if let Some(d) = invalid_object(&configured.addr, info, addr, &response.state) {
            walk.report(d);
            return None;
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

    pub(super) fn drift_change(
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
            action: match (after.is_null(), before == after) {
                (true, _) => Action::Delete,
                (false, true) => Action::NoOp,
                (false, false) => Action::Update,
            },
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
}

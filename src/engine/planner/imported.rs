//! Taking over an existing object while planning: the provider finds it by its ID and reads it. Which objects are to be
//! imported is found in `engine::import`.

use super::refresh::Prior;
use super::{Instance, Planner};
use crate::diag::Diagnostic;
use crate::engine::events::Event;
use crate::engine::instance::{about, identified_by, invalid_object};
use crate::engine::plan::Importing;
use crate::engine::stored::{self, Keep};
use crate::plugin::ReadRequest;
use crate::state::ObjectStatus;
use std::sync::Arc;

impl Planner {
    pub(super) async fn import(&self, i: &Instance<'_>, id: &str) -> Option<Prior> {
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
        let id_shown = identified_by(&object.state);
        i.walk.events.event(Event::RefreshStart { addr: &i.addr, deposed: None, id: id_shown.clone() });
        let response = {
            let _turn = i.walk.turn(&i.configured.addr.provider).await;
            let request = ReadRequest {
                type_name: &i.info.name,
                current: object.state,
                private: object.private,
                provider_meta: i.walk.program().settings(&i.addr, &i.configured.addr.provider),
            };
            provider.read_resource(request).await
        };
        i.walk.events.event(Event::RefreshDone { addr: &i.addr, deposed: None, id: id_shown });
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
        if let Some(d) = invalid_object(&i.configured.addr, i.info, &i.addr, &response.state) {
            i.walk.report(d);
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
}

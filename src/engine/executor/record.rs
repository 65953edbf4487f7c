//! Recording: intents before a provider is asked, results before they count as done. Nothing else changes the state while
//! a plan is carried out.

use super::Executor;
use crate::engine::plan::ResourceChange;
use crate::engine::walk::Walk;
use crate::state::journal::{self, Change, Durable, Intent, IntentAction, OperationId, Record};
use gpuform_schema::Value;
use std::sync::Arc;

/// The JSON key under which a provider keeps its client token in the planned private data.
const TOKEN_KEY: &str = "gpuform_client_token";

impl Executor {
    /// Makes changes to the state and puts them into the journal. They are durable before anything is told that happens
    /// after them, and before the effect of any later record.
    pub(super) fn record(&self, operation: Option<OperationId>, changes: Vec<Change>) {
        if let Some(durable) = self.append(operation, changes) {
            self.teller.after(durable);
        }
    }

    /// As [`Executor::record`], for changes that must be durable before work goes on; false where that failed.
    pub(super) async fn record_first(&self, walk: &Walk, operation: Option<OperationId>, changes: Vec<Change>) -> bool {
        let Some(durable) = self.append(operation, changes) else { return true };
        match durable.await {
            Ok(()) => true,
            Err(d) => {
                // Nothing more is begun: what cannot be recorded must not be done.
                walk.report(d);
                walk.stop.cancel();
                false
            }
        }
    }

    fn append(&self, operation: Option<OperationId>, changes: Vec<Change>) -> Option<Durable> {
        {
            let mut state = self.state();
            changes.iter().for_each(|c| c.apply(&mut state));
        }
        let journal = self.journal.as_ref()?;
        Some(journal.append(&match operation {
            Some(operation) => Record::Finished { operation, changes },
            None => Record::Changes(changes),
        }))
    }

    /// Records what is about to be done. For a create this is durable when it returns.
    pub(super) async fn intend(
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

    pub(super) fn set(&self, c: &ResourceChange, object: crate::state::ObjectState) -> Change {
        Change::Set { addr: c.addr.clone(), deposed: c.deposed, provider: c.provider.clone(), object: Arc::new(object) }
    }
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

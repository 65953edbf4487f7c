//! After an interrupted run: operations whose effect is not known. A provider that can find an object by the client
//! token of its create is asked; what it finds is taken into the state, what it does not find never came to be. For
//! the others the user is told what may exist, and where to look.

use crate::addr::ResourceInstance;
use crate::cli::operation::Operation;
use crate::diag::{Diagnostic, Diagnostics};
use crate::engine::recover::{Found, Search};
use crate::state::ObjectState;
use crate::state::journal::{Change, Intent, IntentAction, Record};
use crate::state::store::Store;
use std::sync::Arc;

/// Settles the pending operations of an interrupted run as far as possible. Without the lock nothing is changed and
/// the user is only told.
///
/// # Errors
/// The state or the journal cannot be written.
pub async fn resolve(op: &Operation<'_>, store: &mut Store, locked: bool) -> Result<(), Diagnostics> {
    let pending: Vec<Intent> = store.pending().to_vec();
    if pending.is_empty() {
        return Ok(());
    }
    let mut report = Diagnostics::new();
    if !locked {
        pending.iter().for_each(|i| report.push(unasked(i)));
        op.view.diagnostics(&report);
        return Ok(());
    }
    let session = op.session(10);
    settle(&pending).await;
    let creates: Vec<Search> = pending
        .iter()
        .filter(|i| i.action == IntentAction::Create)
        .map(|i| Search {
            addr: i.addr.clone(),
            provider: i.provider.clone(),
            planned: i.planned.to_string(),
            private: i.planned_private.clone(),
        })
        .collect();
    let found =
        crate::engine::recover::search(&session, &op.project.config, &op.project.variables.values, &creates).await;
    // One for each create, in their order: several can have been for the same address.
    let mut found = found.into_iter().map(|(_, f)| f);
    let journal = store.begin()?;
    let mut state = store.state().clone();
    for intent in &pending {
        let result = if intent.action == IntentAction::Create { found.next() } else { None };
        let changes = match result {
            Some(Found::Object(object)) => adopt(intent, object, &state, &mut report),
            Some(Found::Nothing) => {
                report.push(Diagnostic::warning(
                    "Interrupted create had no effect",
                    format!(
                        "An earlier run was interrupted while it created {}. The provider has looked for the object by its \
                         client token: it does not exist. It will be created again if it is still wanted.",
                        intent.addr
                    ),
                ));
                Vec::new()
            }
            // The next refresh sees what an update or a deletion has done.
            None if intent.action != IntentAction::Create => Vec::new(),
            result => {
                let mut d = unknown(intent);
                if let Some(Found::Unknown(why)) = result {
                    d.detail = format!("{}\nThe provider could not find out by itself: {why}", d.detail);
                }
                report.push(d);
                Vec::new()
            }
        };
        changes.iter().for_each(|c| c.apply(&mut state));
        journal.append(&Record::Finished { operation: intent.operation, changes }).await?;
    }
    store.commit(&state).await?;
    op.view.diagnostics(&report);
    Ok(())
}

/// A request that was sent just before the crash may still be on its way, and the provider's process takes a moment to
/// notice that it is alone: the search waits until the newest intent is a few seconds old.
async fn settle(pending: &[Intent]) {
    const QUIET: u64 = 2_000;
    let newest = pending.iter().map(|i| i.time).max().unwrap_or(0);
    let age = crate::state::journal::now().saturating_sub(newest);
    if age < QUIET {
        tokio::time::sleep(std::time::Duration::from_millis(QUIET - age)).await;
    }
}

/// Takes an object that was found into the state: as the object of its instance, or, where another one has taken that
/// place since, as a deposed one. Neither is forgotten.
fn adopt(
    intent: &Intent,
    object: Arc<ObjectState>,
    state: &crate::state::State,
    report: &mut Diagnostics,
) -> Vec<Change> {
    let addr = &intent.addr;
    let id = |o: &ObjectState| {
        let attributes: Option<serde_json::Value> = serde_json::from_str(&o.attributes.to_json()).ok();
        attributes.and_then(|a| a.get("id").cloned()).filter(|id| !id.is_null())
    };
    let holds = |other: &ObjectState| id(&object).is_some_and(|own| id(other) == Some(own));
    let instance = state.instance(addr);
    let all = instance.into_iter().flat_map(|i| i.current.iter().chain(i.deposed.values()));
    if all.into_iter().any(|other| holds(other)) {
        return Vec::new();
    }
    let deposed = match instance {
        Some(i) if i.current.is_some() => Some(i.free_deposed_key()),
        _ => None,
    };
    report.push(match deposed {
        None => adopted(addr, &object),
        Some(key) => Diagnostic::warning(
            "Second object of an interrupted create found",
            format!(
                "An earlier run was interrupted while it created {addr}, and another object was made for it since. The first \
                 one exists too; it was found by its client token and is in the state now as the deposed object {key} of \
                 {addr}, which the next apply destroys."
            ),
        ),
    });
    vec![Change::Set { addr: addr.clone(), deposed, provider: intent.provider.clone(), object }]
}

/// Refuses to create anything without the lock while it is open whether an object exists: it would be made twice.
///
/// # Errors
/// There are interrupted creates, and this run may not settle them.
pub fn refuse_unlocked(store: &Store, locked: bool) -> Result<(), Diagnostic> {
    let open = store.pending().iter().find(|i| i.action == IntentAction::Create);
    match open.filter(|_| !locked) {
        None => Ok(()),
        Some(intent) => Err(Diagnostic::error(
            "Interrupted create is not settled",
            format!(
                "An earlier run was interrupted while it created {}, and nobody has looked yet whether the object exists: \
                 applying now could make it twice. Run this once without -lock=false: then the provider is asked.",
                intent.addr
            ),
        )),
    }
}

/// What the user has to know about an operation that this run may not settle, as it has no lock.
fn unasked(intent: &Intent) -> Diagnostic {
    let mut d = unknown(intent);
    if intent.action == IntentAction::Create {
        d.detail = format!(
            "An earlier run was interrupted while it created {}, before the answer of the provider was recorded. The object \
             may or may not exist. Run this once without -lock=false: then the provider looks for it by its client token, \
             and it is taken into the state if it is there.",
            intent.addr
        );
    }
    d
}

fn adopted(addr: &ResourceInstance, object: &crate::state::ObjectState) -> Diagnostic {
    let tainted = if object.is_tainted() {
        " Its provisioners may not have run, so it is marked as tainted and the next apply replaces it; use \"gpuform \
         untaint\" to keep it as it is."
    } else {
        " Where its creation was not completed, the next plan shows what is missing."
    };
    Diagnostic::warning(
        "Object of an interrupted create found",
        format!(
            "An earlier run was interrupted while it created {addr}. The object exists; it was found by its client token \
             and is in the state now.{tainted}"
        ),
    )
}

/// What the user has to know about an operation that nobody can settle for them.
fn unknown(intent: &Intent) -> Diagnostic {
    let token = intent.client_token.as_ref().map(|t| format!(" Its client token is {t}.")).unwrap_or_default();
    let planned =
        if intent.planned.len() > 2 { format!("\nIt was planned as {}", intent.planned) } else { String::new() };
    match intent.action {
        IntentAction::Create => Diagnostic::warning(
            "Object may exist outside the state",
            format!(
                "An earlier run was interrupted while it created {}, before the answer of the provider was recorded. The \
                 object may or may not exist.{token} Look for it in the provider's console; if it is there, take it over \
                 with \"gpuform import {} ID\" or delete it: otherwise the next apply makes a second one.{planned}",
                intent.addr, intent.addr
            ),
        ),
        action => Diagnostic::warning(
            "Operation was interrupted",
            format!(
                "An earlier run was interrupted during the {} of {}. The refresh before the next plan shows what it has \
                 done.",
                action.as_str(),
                intent.addr
            ),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::addr::{AbsProviderConfig, InstanceKey, Module, Provider};
    use crate::state::State;

    fn object(id: &str) -> Arc<ObjectState> {
        Arc::new(ObjectState::new(0, format!("{{\"id\":\"{id}\"}}")))
    }

    #[test]
    fn an_object_that_is_found_late_displaces_no_other() {
        let addr: ResourceInstance = "x_y.a".parse().unwrap();
        let provider = AbsProviderConfig {
            module: Module::root(),
            provider: Provider::implied("x"),
            alias: None,
            key: InstanceKey::None,
        };
        let intent = Intent {
            operation: crate::state::journal::OperationId(1),
            action: IntentAction::Create,
            addr: addr.clone(),
            deposed: None,
            provider: provider.clone(),
            client_token: None,
            planned_private: Vec::new(),
            planned: "{}".into(),
            time: 0,
        };
        let mut state = State::new();
        let mut report = Diagnostics::new();
        let mut take = |state: &mut State, id: &str| {
            adopt(&intent, object(id), state, &mut report).iter().for_each(|c| c.apply(state));
        };
        take(&mut state, "first");
        take(&mut state, "second");
        take(&mut state, "second");
        take(&mut state, "first");
        let instance = state.instance(&addr).unwrap();
        assert_eq!(instance.current, Some(object("first")));
        assert_eq!(instance.deposed.values().cloned().collect::<Vec<_>>(), [object("second")]);
        let said: Vec<&str> = report.iter().map(|d| d.summary.as_str()).collect();
        assert_eq!(said, ["Object of an interrupted create found", "Second object of an interrupted create found"]);
    }
}

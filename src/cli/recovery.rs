//! After an interrupted run: operations whose effect is not known. A provider that can find an object by the client
//! token of its create is asked; what it finds is taken into the state, what it does not find never came to be. For
//! the others the user is told what may exist, and where to look.

use crate::addr::ResourceInstance;
use crate::cli::operation::Operation;
use crate::diag::{Diagnostic, Diagnostics};
use crate::engine::recover::{Found, Search};
use crate::state::journal::{Change, Intent, IntentAction, Record};
use crate::state::store::Store;

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
        pending.iter().for_each(|i| report.push(unknown(i)));
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
    let journal = store.begin()?;
    let mut state = store.state().clone();
    for intent in &pending {
        let changes = match found.iter().find(|(a, _)| *a == intent.addr).map(|(_, f)| f) {
            Some(Found::Object(object)) => {
                report.push(adopted(&intent.addr, object.as_ref()));
                vec![Change::Set {
                    addr: intent.addr.clone(),
                    deposed: None,
                    provider: intent.provider.clone(),
                    object: object.clone(),
                }]
            }
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
            Some(Found::Unknown(_)) | None => {
                let reason = found.iter().find(|(a, _)| *a == intent.addr).and_then(|(_, f)| match f {
                    Found::Unknown(why) => Some(why.as_str()),
                    _ => None,
                });
                let mut d = unknown(intent);
                if let Some(why) = reason {
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

//! Destroying what the runs of a file have made: state by state, the one that was changed last first, each with the
//! configuration and the stand-ins of the run that changed it.

use super::runner::{FileWork, Held};
use super::watcher::{Left, Stage, Status};
use crate::addr::Mode;
use crate::diag::Diagnostics;
use crate::engine::plan::PlanMode;
use crate::engine::{self, PlanOptions};
use crate::state::State;
use std::time::{Duration, Instant};

/// The managed objects in a state.
pub fn left_in(state: &State) -> Vec<Left> {
    let mut left = Vec::new();
    for i in state.instances().filter(|i| i.addr().resource.mode == Mode::Managed) {
        let addr = i.addr();
        if i.state.current.is_some() {
            left.push(Left { addr: addr.clone(), deposed: None });
        }
        left.extend(i.state.deposed.keys().map(|key| Left { addr: addr.clone(), deposed: Some(*key) }));
    }
    left
}

/// Destroys everything; [`Status::Error`] where something may be left.
pub(super) async fn destroy_all(work: &mut FileWork<'_>) -> Status {
    let mut states: Vec<Held<'_>> = std::mem::take(&mut work.states).into_values().collect();
    states.sort_by_key(|h| std::cmp::Reverse(h.index));
    let mut status = Status::Pending;
    for held in states {
        if left_in(&held.state).is_empty() {
            continue;
        }
        let run = held.last.run;
        work.watcher.run(work.file, run, Stage::Teardown, Duration::ZERO);
        let (diags, left) = if work.inputs.abort.is_cancelled() {
            (Diagnostics::new(), left_in(&held.state))
        } else {
            destroy(work, &held).await
        };
        if diags.has_errors() || !left.is_empty() {
            status = Status::Error;
        }
        work.watcher.torn_down(work.file, run, &diags, &left);
    }
    status
}

/// Destroys the objects of one state; gives what was said and what is left.
async fn destroy(work: &FileWork<'_>, held: &Held<'_>) -> (Diagnostics, Vec<Left>) {
    let last = &held.last;
    let options = PlanOptions {
        mode: PlanMode::Destroy,
        refresh: true,
        variables: last.variables.clone(),
        timestamp: (work.inputs.timestamp)(),
        ..PlanOptions::default()
    };
    let steps = async {
        let (plan, mut diags) = engine::plan(&last.session, &last.config, &held.state, &options).await;
        let Some(plan) = plan.filter(|_| !diags.has_errors()) else { return (diags, left_in(&held.state)) };
        let applied = engine::apply(&last.session, &last.config, plan, None).await;
        diags.extend(applied.diagnostics);
        (diags, left_in(&applied.state))
    };
    work.watched(last, Stage::Teardown, Instant::now(), steps).await
}

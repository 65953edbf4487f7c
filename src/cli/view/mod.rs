//! Views: how plans, states, diagnostics and progress look, for people and as JSON. They read the engine's data and
//! write text; they decide nothing.

mod copies;
pub mod diagnostics;
pub mod graph;
pub mod human;
pub mod json;
pub mod plan;
pub mod state;
pub mod stream;
pub mod test;
mod visible;

use crate::config::model::Config;
use crate::diag::Diagnostics;
use crate::engine::events::Events;
use crate::engine::plan::{Counts, Plan};
use crate::state::State;
use std::sync::Arc;

/// What a plan or an apply shows while it goes on and at its end.
pub trait OperationView: Events {
    fn diagnostics(&self, diags: &Diagnostics);

    /// The finished plan, which is partial where there were errors. `next` says what the user will do with it.
    fn plan(&self, plan: &Plan, config: &Config, next: Next<'_>);

    /// Configuration of imported objects was written to a file.
    fn generated(&self, file: &str) {
        let _ = file;
    }

    /// A saved plan is about to be applied, without having been shown by this command.
    fn changes(&self, plan: &Plan) {
        let _ = plan;
    }

    /// Somebody else holds the lock of the state, and we wait.
    fn waiting_for_lock(&self);

    /// An interrupted run had left changes in the journal, which are now in the state.
    fn recovered(&self, changes: usize);

    /// The apply is over; `failed` where there were errors.
    fn applied(&self, kind: Kind, counts: Counts, state: &State, failed: bool);

    /// `import` has stored the object.
    fn imported(&self);

    /// This view as the receiver of the engine's events.
    fn events(self: Arc<Self>) -> Arc<dyn Events>;
}

/// What follows a plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next<'a> {
    /// The plan was not saved: advice on `-out`.
    Unsaved,
    Saved(&'a str),
    /// It is about to be applied.
    Apply,
    /// There is nothing to say about it.
    Unsaid,
}

/// The command that an apply belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Apply,
    Destroy,
    Refresh,
}

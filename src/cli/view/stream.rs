//! placeholder replaced before landing
use crate::cli::view::{Kind, Next, OperationView};
use crate::config::model::Config;
use crate::diag::{Diagnostics, Sources};
use crate::engine::events::{Event, Events};
use crate::engine::plan::{Counts, Plan};
use crate::state::State;
use std::sync::Arc;
pub struct Stream;
impl Stream { pub fn new(_: &Sources) -> Stream { Stream } }
impl Events for Stream { fn event(&self, _: Event<'_>) {} }
impl OperationView for Stream {
    fn diagnostics(&self, _: &Diagnostics) {}
    fn plan(&self, _: &Plan, _: &Config, _: Next<'_>) {}
    fn waiting_for_lock(&self) {}
    fn recovered(&self, _: usize) {}
    fn applied(&self, _: Kind, _: Counts, _: &State, _: bool) {}
    fn imported(&self) {}
    fn events(self: Arc<Self>) -> Arc<dyn Events> { self }
}

//! What a test run tells while it goes on, for those who show it.

use super::model::{Run, TestFile};
use crate::addr::{Provider, ResourceInstance};
use crate::config::model::Config;
use crate::diag::Diagnostics;
use crate::engine::plan::Plan;
use crate::engine::schemas::Schemas;
use crate::state::{DeposedKey, State};
use gpuform_schema::schema::ProviderSchema;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// How a run, a file or everything ended. Later ones are worse.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub enum Status {
    #[default]
    Pending,
    Skip,
    Pass,
    /// An assertion is false.
    Fail,
    /// Something could not be carried out.
    Error,
}

impl Status {
    #[must_use]
    pub fn worst(self, other: Status) -> Status {
        self.max(other)
    }
}

/// How many runs ended in which way.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    pub passed: usize,
    pub failed: usize,
    pub errored: usize,
    pub skipped: usize,
}

/// What is done with a file or run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    Starting,
    Running,
    Teardown,
}

/// How a run ended.
pub struct Outcome<'a> {
    pub status: Status,
    pub diagnostics: &'a Diagnostics,
    pub elapsed: Duration,
    /// When it began; `None` for one that was skipped.
    pub started: Option<jiff::Timestamp>,
    /// What `-verbose` shows.
    pub shown: Option<&'a Shown>,
}

/// The plan or state that a run came to, with what is needed to show it.
pub struct Shown {
    pub what: Reached,
    pub config: Config,
    pub schemas: Schemas,
    /// The whole schemas of the providers that it uses.
    pub providers: BTreeMap<Provider, Arc<ProviderSchema>>,
}

/// What a run came to.
pub enum Reached {
    Plan(Box<Plan>),
    State(Box<State>),
}

/// An object that was not destroyed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Left {
    pub addr: ResourceInstance,
    pub deposed: Option<DeposedKey>,
}

/// Shows what happens.
pub trait Watcher {
    /// Before anything else: the files that will be run.
    fn begin(&self, files: &[&TestFile]);
    /// A file begins, or its runs are over and what they have made is destroyed.
    fn file(&self, file: &TestFile, stage: Stage);
    /// A run begins, still goes on, or what it has made is being destroyed, since `elapsed`.
    fn run(&self, file: &TestFile, run: &Run, stage: Stage, elapsed: Duration);
    fn run_done(&self, file: &TestFile, run: &Run, outcome: &Outcome<'_>);
    /// What destroying the objects of a run had to say, and what is left of them.
    fn torn_down(&self, file: &TestFile, run: &Run, diagnostics: &Diagnostics, left: &[Left]);
    fn file_done(&self, file: &TestFile, status: Status);
    /// A second interrupt came during a run: nothing is destroyed. By run, what exists; and what the run was about to
    /// create.
    fn abandoned(
        &self,
        file: &TestFile,
        run: Option<&Run>,
        existing: &[(&Run, Vec<Left>)],
        planned: &[ResourceInstance],
    );
    /// After everything else.
    fn end(&self, status: Status, counts: Counts);
}

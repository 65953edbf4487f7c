//! Carries out test files: the runs of a file one after the other, each on one of the file's states, which live in memory
//! only; at the end of a file everything that its runs have made is destroyed.

use super::model::{AlternateModule, Command, Run, Suite, TestFile};
use super::prepare::{Prepared, prepare};
use super::scope::Environment;
use super::variables::{FromOutside, Given};
use super::watcher::{Counts, Left, Outcome, Reached, Shown, Stage, Status, Watcher};
use super::{assertions, cleanup};
use crate::addr::ResourceInstance;
use crate::config::model::{Config, LocalProviderConfig};
use crate::diag::{Diagnostic, Diagnostics, Sources};
use crate::engine::plan::{Action, Plan};
use crate::engine::providers::ProviderPool;
use crate::engine::runtime::Place;
use crate::engine::schemas::Needed;
use crate::engine::{self, Evaluated, PlanOptions};
use crate::state::State;
use gpuform_schema::Value;
use indexmap::IndexMap;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// How often a run that takes long is mentioned.
const REMINDER: Duration = Duration::from_secs(2);

/// Loads configurations.
pub trait Programs {
    /// The configuration under test, or the module of a run, which is installed under a key. The root module may use
    /// the provider configurations given.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    fn load(
        &self,
        module: Option<(&str, &AlternateModule)>,
        providers: Vec<LocalProviderConfig>,
    ) -> Result<Config, Diagnostics>;
}

/// What running tests needs.
pub struct Inputs<'a> {
    pub suite: &'a Suite,
    /// Names of the files to run; all of them where there is none.
    pub filter: &'a [String],
    pub given: &'a Given,
    pub sources: &'a Sources,
    pub programs: &'a dyn Programs,
    pub pool: Arc<ProviderPool>,
    pub parallelism: usize,
    pub place: Place,
    /// Gives the time now, RFC 3339, for each plan.
    pub timestamp: fn() -> String,
    /// Cancelled when no further run may begin; what runs may finish, and what exists is destroyed.
    pub stop: CancellationToken,
    /// Cancelled when everything has to end at once; what exists is only listed.
    pub abort: CancellationToken,
    /// Whether plans and states are handed to the watcher.
    pub show_results: bool,
}

/// Runs the test files.
pub async fn run(inputs: &Inputs<'_>, watcher: &dyn Watcher) -> Status {
    let wanted = |f: &&TestFile| inputs.filter.is_empty() || inputs.filter.contains(&f.name);
    let files: Vec<&TestFile> = inputs.suite.files.iter().filter(wanted).collect();
    watcher.begin(&files);
    let mut counts = Counts::default();
    let mut status = Status::Pass;
    for file in files {
        if inputs.abort.is_cancelled() {
            break;
        }
        let mut work = FileWork::new(inputs, watcher, file);
        status = status.worst(work.carry_out(&mut counts).await);
    }
    watcher.end(status, counts);
    status
}

/// A test file under way.
pub(super) struct FileWork<'a> {
    pub inputs: &'a Inputs<'a>,
    pub watcher: &'a dyn Watcher,
    pub file: &'a TestFile,
    pub states: IndexMap<String, Held<'a>>,
    /// What later runs can refer to.
    pub environment: Environment,
    pub outside: FromOutside,
    /// What was wrong with values from outside.
    pub outside_problems: Diagnostics,
}

/// One state of a file, and the run that has changed it last.
pub(super) struct Held<'a> {
    pub state: State,
    pub last: Prepared<'a>,
    /// Position of that run.
    pub index: usize,
}

/// What came of a run.
struct Done {
    status: Status,
    diagnostics: Diagnostics,
    reached: Option<(Reached, Config)>,
}

impl Done {
    fn failed(diagnostics: impl Into<Diagnostics>) -> Done {
        Done { status: Status::Error, diagnostics: diagnostics.into(), reached: None }
    }
}

impl<'a> FileWork<'a> {
    fn new(inputs: &'a Inputs<'a>, watcher: &'a dyn Watcher, file: &'a TestFile) -> FileWork<'a> {
        let mut outside_problems = Diagnostics::new();
        let outside = FromOutside::collect(inputs.given, file.in_test_directory, inputs.sources, &mut outside_problems);
        let runs = file.runs.iter().map(|r| (r.name.clone(), r.command == Command::Apply)).collect();
        let environment = Environment { runs, place: inputs.place.clone(), ..Environment::default() };
        FileWork { inputs, watcher, file, states: IndexMap::new(), environment, outside, outside_problems }
    }

    async fn carry_out(&mut self, counts: &mut Counts) -> Status {
        self.watcher.file(self.file, Stage::Starting);
        let mut status = if self.file.runs.is_empty() { Status::Pass } else { Status::Pending };
        for (index, run) in self.file.runs.iter().enumerate() {
            let skip = status == Status::Error || self.inputs.stop.is_cancelled();
            let ended = if skip { self.skip(run) } else { self.run(index, run).await };
            match ended {
                Status::Pass => counts.passed += 1,
                Status::Fail => counts.failed += 1,
                Status::Error => counts.errored += 1,
                Status::Skip | Status::Pending => counts.skipped += 1,
            }
            status = status.worst(ended);
            if self.inputs.abort.is_cancelled() {
                break;
            }
        }
        if self.inputs.abort.is_cancelled() {
            self.watcher.file_done(self.file, status);
            return status;
        }
        self.watcher.file(self.file, Stage::Teardown);
        status = status.worst(cleanup::destroy_all(self).await);
        self.watcher.file_done(self.file, status);
        status
    }

    fn skip(&self, run: &Run) -> Status {
        let outcome = Outcome {
            status: Status::Skip,
            diagnostics: &Diagnostics::new(),
            elapsed: Duration::ZERO,
            started: None,
            shown: None,
        };
        self.watcher.run_done(self.file, run, &outcome);
        Status::Skip
    }

    async fn run(&mut self, index: usize, run: &'a Run) -> Status {
        self.watcher.run(self.file, run, Stage::Starting, Duration::ZERO);
        let (began, started) = (Instant::now(), jiff::Timestamp::now());
        let mut done = self.steps(index, run, began).await;
        let shown = match done.reached.take().filter(|_| self.inputs.show_results) {
            Some((what, config)) => self.shown(what, config, &mut done.diagnostics).await,
            None => None,
        };
        place_in(run, &mut done.diagnostics);
        let outcome = Outcome {
            status: done.status,
            diagnostics: &done.diagnostics,
            elapsed: began.elapsed(),
            started: Some(started),
            shown: shown.as_ref(),
        };
        self.watcher.run_done(self.file, run, &outcome);
        done.status
    }

    /// Prepares a run, plans it, applies it where it wants that, and checks the result.
    async fn steps(&mut self, index: usize, run: &'a Run, began: Instant) -> Done {
        let (prepared, mut diagnostics) = match prepare(self, run) {
            Ok(prepared) => prepared,
            Err(d) => return Done::failed(d),
        };
        let state = self.states.get(run.state_key()).map_or_else(State::new, |h| h.state.clone());
        let options = self.options(&prepared);
        let plan = engine::plan_evaluated(&prepared.session, &prepared.config, &state, &options);
        let (planned, mut said) = self.watched(&prepared, Stage::Running, began, plan).await;
        point_at_values(&prepared, &mut said);
        if self.inputs.abort.is_cancelled() {
            self.abandon(&prepared, planned.as_ref().map(|(plan, _)| plan));
            return Done::failed(interrupted(said));
        }
        if run.command == Command::Plan {
            return self.after_plan(prepared, planned, said, diagnostics);
        }
        let mut expected = prepared.expected;
        diagnostics.extend(expected.before_apply(said));
        let prepared = Prepared { expected, ..prepared };
        match planned {
            Some((plan, _)) if !diagnostics.has_errors() => self.apply(index, prepared, plan, diagnostics, began).await,
            _ => Done::failed(diagnostics),
        }
    }

    fn options(&self, prepared: &Prepared<'_>) -> PlanOptions {
        let o = &prepared.run.options;
        PlanOptions {
            mode: o.mode,
            refresh: o.refresh,
            targets: o.targets.clone(),
            force_replace: o.replace.clone(),
            variables: prepared.variables.clone(),
            timestamp: (self.inputs.timestamp)(),
            ..PlanOptions::default()
        }
    }

    fn after_plan(
        &mut self,
        mut prepared: Prepared<'a>,
        planned: Option<(Plan, Evaluated)>,
        said: Diagnostics,
        mut diagnostics: Diagnostics,
    ) -> Done {
        diagnostics.extend(prepared.expected.at_end(said));
        let Some((plan, evaluated)) = planned else { return Done::failed(diagnostics) };
        let status = self.finish(&prepared, &evaluated, &mut diagnostics);
        Done { status, diagnostics, reached: Some((Reached::Plan(Box::new(plan)), prepared.config)) }
    }

    async fn apply(
        &mut self,
        index: usize,
        mut prepared: Prepared<'a>,
        plan: Plan,
        mut diagnostics: Diagnostics,
        began: Instant,
    ) -> Done {
        let creating: Vec<ResourceInstance> = created(&plan);
        let work = engine::apply_evaluated(&prepared.session, &prepared.config, plan, None);
        let (applied, evaluated) = self.watched(&prepared, Stage::Running, began, work).await;
        diagnostics.extend(prepared.expected.at_end(applied.diagnostics));
        let (run, config, state) = (prepared.run, prepared.config.clone(), applied.state);
        let reached = Some((Reached::State(Box::new(state.clone())), config));
        let status = match &evaluated {
            Some(evaluated) => self.finish(&prepared, evaluated, &mut diagnostics),
            None => Status::Error,
        };
        self.states.insert(run.state_key().to_owned(), Held { state, last: prepared, index });
        if self.inputs.abort.is_cancelled() {
            self.watcher.abandoned(self.file, Some(run), &self.existing(), &creating);
            return Done { status: Status::Error, diagnostics: interrupted(diagnostics), reached };
        }
        Done { status, diagnostics, reached }
    }

    /// Checks what is left to check when a run has planned or applied, and keeps its outputs for later runs.
    fn finish(&mut self, prepared: &Prepared<'a>, evaluated: &Evaluated, diagnostics: &mut Diagnostics) -> Status {
        diagnostics.extend(prepared.expected.missing(prepared.run));
        let module = &*prepared.config.root.module;
        let outputs = module.outputs.keys().filter_map(|name| Some((name.clone(), evaluated.output(name)?)));
        let outputs = Value::object(outputs.collect::<Vec<_>>());
        let errors = diagnostics.has_errors();
        self.environment.outputs.insert(prepared.run.name.clone(), outputs);
        if errors {
            return Status::Error;
        }
        assertions::check(prepared.run, module, evaluated, &prepared.environment, diagnostics)
    }

    /// Waits for a step of a run: mentions it now and then, and stops it when everything has to end.
    pub async fn watched<T>(
        &self,
        prepared: &Prepared<'_>,
        stage: Stage,
        began: Instant,
        work: impl Future<Output = T>,
    ) -> T {
        let mut reminder = tokio::time::interval_at(tokio::time::Instant::now() + REMINDER, REMINDER);
        let mut stopping = false;
        tokio::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return done,
                _ = reminder.tick() => self.watcher.run(self.file, prepared.run, stage, began.elapsed()),
                () = self.inputs.abort.cancelled(), if !stopping => {
                    stopping = true;
                    prepared.session.stop.cancel();
                    self.inputs.pool.stop().await;
                }
            }
        }
    }

    fn abandon(&self, prepared: &Prepared<'_>, plan: Option<&Plan>) {
        let creating = plan.map(created).unwrap_or_default();
        self.watcher.abandoned(self.file, Some(prepared.run), &self.existing(), &creating);
    }

    /// What exists, by the run that has made or changed it last.
    pub fn existing(&self) -> Vec<(&'a Run, Vec<Left>)> {
        let of = |h: &Held<'a>| (h.last.run, cleanup::left_in(&h.state));
        self.states.values().map(of).filter(|(_, left)| !left.is_empty()).collect()
    }

    /// What is needed to show a result.
    async fn shown(&self, what: Reached, config: Config, diagnostics: &mut Diagnostics) -> Option<Shown> {
        let pool = &self.inputs.pool;
        let mut needed = Needed::default();
        needed.add_config(&config);
        let mut used: Vec<crate::addr::Provider> = Vec::new();
        match &what {
            Reached::Plan(plan) => {
                needed.add_state(&plan.prior_state);
                used.extend(plan.providers.iter().cloned());
            }
            Reached::State(state) => {
                needed.add_state(state);
                used.extend(state.resources().map(|(_, r)| r.provider.provider.clone()));
            }
        }
        let schemas = match needed.load(pool).await {
            Ok(schemas) => schemas,
            Err(d) => {
                diagnostics.extend(d);
                return None;
            }
        };
        let mut providers = BTreeMap::new();
        for provider in used {
            if let Ok(running) = pool.unconfigured(&provider).await {
                providers.insert(provider, running.schema());
            }
        }
        Some(Shown { what, config, schemas, providers })
    }
}

/// Says of what is wrong in the block of a run that it stands there.
fn place_in(run: &Run, diagnostics: &mut Diagnostics) {
    for d in diagnostics.iter_mut() {
        let inside = d.subject.is_some_and(|s| {
            s.file == run.body.file && run.body.start <= s.start && s.end <= run.body.end && s.start >= run.range.start
        });
        if inside {
            d.context = Some(run.range);
        }
    }
}

/// A condition of a variable that failed is shown at the value that the test gives.
fn point_at_values(prepared: &Prepared<'_>, diagnostics: &mut Diagnostics) {
    for d in diagnostics.iter_mut() {
        let name = d.checked.as_deref().and_then(|c| c.strip_prefix("var."));
        if let Some(range) = name.and_then(|n| prepared.ranges.get(n)) {
            d.subject = Some(*range);
            d.context = None;
        }
    }
}

/// The objects that a plan creates.
fn created(plan: &Plan) -> Vec<ResourceInstance> {
    let creates = |a: Action| a == Action::Create || a.is_replace();
    plan.changes.iter().filter(|c| creates(c.action)).map(|c| c.addr.clone()).collect()
}

/// What a run that was stopped has to say.
fn interrupted(said: Diagnostics) -> Diagnostics {
    let first = Diagnostic::error(
        "Test interrupted",
        "The run was stopped by an interrupt before it was complete. Objects that exist are listed above; they are not \
         destroyed by this test.",
    );
    std::iter::once(first).chain(said).collect()
}

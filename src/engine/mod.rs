//! The engine: dependency graph, planner, execution graph, executor.
//!
//! It neither prints nor reads the environment: everything it needs comes in through its options, everything it has to
//! say goes out as events, diagnostics, plans and states. It knows no cloud: providers are reached through
//! [`crate::plugin::Provider`] only. The three ways to run it are [`validate`], [`plan`] and [`apply`].

pub mod checks;
mod dependencies;
pub mod diagram;
mod ephemeral;
pub mod events;
pub mod execution;
mod executor;
mod expand;
pub mod generate;
mod import;
mod instance;
mod look;
pub mod moved;
pub mod objects;
pub mod plan;
pub mod plan_file;
mod planner;
pub mod program;
mod provider_instances;
pub mod providers;
pub mod provision;
pub mod recover;
mod relevant;
pub mod runtime;
mod schedule;
pub mod schemas;
pub mod stored;
pub mod substitutes;
mod targets;
mod teller;
mod triggers;
mod validate;
mod walk;

pub use executor::client_token;
pub use look::console;
pub use walk::Configured;

use crate::addr::{AbsProviderConfig, ResourceInstance, Target};
use crate::config::model::{Config, Module};
use crate::config::refactoring;
use crate::diag::{Diagnostic, Diagnostics, Result as DiagResult};
use crate::engine::events::{Event, Events};
use crate::engine::execution::Execution;
use crate::engine::executor::Executor;
use crate::engine::plan::{Action, Counts, OutputChange, Plan, PlanMode};
use crate::engine::planner::{Planner, PlannerInput};
use crate::engine::program::{Prepared, Program};
use crate::engine::providers::ProviderPool;
use crate::engine::runtime::{Place, ProviderFunctions, Repeat, Runtime};
use crate::engine::substitutes::Substitutes;
use crate::engine::targets::Targets;
use crate::engine::teller::Teller;
use crate::engine::walk::{Phase, Walk};
use crate::hash::HashSet;
use crate::lang::scope::Scope;
use crate::lang::syntax::Call;
use crate::state::journal::Journal;
use crate::state::{OutputValue, State};
use gpuform_schema::{Marks, Str, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// What every run needs.
#[derive(Clone)]
pub struct Session {
    pub pool: Arc<ProviderPool>,
    pub events: Arc<dyn Events>,
    /// Cancelled when no new operation may begin.
    pub stop: CancellationToken,
    /// Ceiling for concurrent operations of provider processes.
    pub parallelism: usize,
    pub place: Place,
    /// What a test replaces; `None` outside of tests.
    pub substitutes: Option<Arc<dyn Substitutes>>,
}

/// What a plan is asked for.
#[derive(Clone, Default)]
pub struct PlanOptions {
    pub mode: PlanMode,
    /// Read the current state of objects from their providers.
    pub refresh: bool,
    pub targets: Vec<Target>,
    pub excludes: Vec<Target>,
    pub force_replace: Vec<ResourceInstance>,
    /// Imports besides those of `import` blocks.
    pub imports: Vec<(ResourceInstance, String)>,
    /// Make configuration for imported objects that have none; messages about it name this file.
    pub generate: Option<String>,
    /// Do not check the parts of the configuration that the targets leave out.
    pub unvalidated: bool,
    /// Root variables given from outside, as given.
    pub variables: BTreeMap<Str, Value>,
    /// What is wrong with given values that cannot be converted.
    pub unsuitable_variables: BTreeMap<Str, Diagnostic>,
    /// For `plantimestamp()`, RFC 3339.
    pub timestamp: String,
}

/// Calls provider functions through the pool, blocking the evaluating thread.
struct PoolFunctions(Arc<ProviderPool>);

impl ProviderFunctions for PoolFunctions {
    fn call(&self, module: &Module, call: &Call, arguments: &[Value]) -> DiagResult<Value> {
        let fail =
            |summary: &str, detail: String| Err(Box::new(Diagnostic::error(summary, detail).at(call.name_range)));
        let mut parts = call.name.splitn(3, "::").skip(1);
        let (Some(local), Some(function)) = (parts.next(), parts.next()) else {
            return fail(
                "Unknown provider function",
                format!("\"{}\" is not the name of a provider function.", call.name),
            );
        };
        let Some(required) = module.required_providers.get(local).filter(|r| r.range.is_some()) else {
            let detail = format!("The provider \"{local}\" is not among the required_providers of this module.");
            return fail("Unknown provider function", detail);
        };
        let provider = required.source.clone();
        let pool = self.0.clone();
        let arguments = arguments.to_vec();
        let name = function.to_owned();
        let run = async move {
            let p = match pool.unconfigured(&provider).await {
                Ok(p) => p,
                Err(d) => return Err(d.into_iter().next()),
            };
            let Some(signature) = p.function(&name) else { return Err(None) };
            Ok(functions::call(&*p, &name, &signature, arguments).await)
        };
        let result = tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(run));
        match result {
            Ok(Ok(v)) => Ok(v),
            Ok(Err(e)) => {
                let mut d = Diagnostic::error(e.summary(), format!("{}: {}", call.name, e.message));
                d.subject = call.place_of(&e);
                d.function = Some(call.name.to_string());
                Err(Box::new(d))
            }
            Err(Some(d)) => Err(Box::new(d.at(call.name_range))),
            Err(None) => {
                fail("Unknown provider function", format!("The provider \"{local}\" has no function \"{function}\"."))
            }
        }
    }
}

mod functions {
    //! Calls of provider-defined functions: arguments are converted and null or unknown ones handled as declared.

    use crate::lang::convert::convert;
    use crate::lang::functions::{FunctionError, FunctionErrorKind};
    use crate::plugin::Provider;
    use gpuform_schema::schema::{FunctionParameter, FunctionSignature};
    use gpuform_schema::{Marks, Value};

    pub async fn call(
        provider: &dyn Provider,
        name: &str,
        signature: &FunctionSignature,
        arguments: Vec<Value>,
    ) -> Result<Value, FunctionError> {
        let fail = |kind, message| Err(FunctionError { kind, message });
        let parameter =
            |i: usize| -> Option<&FunctionParameter> { signature.parameters.get(i).or(signature.variadic.as_ref()) };
        if arguments.len() < signature.parameters.len() {
            let missing = &signature.parameters[arguments.len()].name;
            return fail(FunctionErrorKind::TooFewArguments, format!("the argument \"{missing}\" is missing."));
        }
        let mut marks = Marks::NONE;
        let mut values = Vec::with_capacity(arguments.len());
        let mut unknown = false;
        for (i, a) in arguments.into_iter().enumerate() {
            let Some(p) = parameter(i) else {
                let most = signature.parameters.len();
                return fail(FunctionErrorKind::TooManyArguments, format!("at most {most} arguments are accepted."));
            };
            let plain = a.unmark_deep(&mut marks);
            let v = convert(&plain, &p.ty)
                .map_err(|e| FunctionError::argument(i, format!("invalid value for \"{}\": {e}.", p.name)))?;
            if v.is_null() && !p.allow_null {
                return Err(FunctionError::argument(i, format!("the argument \"{}\" must not be null.", p.name)));
            }
            unknown |= !v.is_wholly_known() && !p.allow_unknown;
            values.push(v);
        }
        if unknown {
            return Ok(Value::unknown(signature.return_type.clone()).with_marks(marks));
        }
        let result = provider.call_function(name, values).await.map(|v| v.with_marks(marks));
        result.map_err(|(argument, message)| match argument {
            Some(i) => FunctionError::argument(i, message),
            None => FunctionError::call(message),
        })
    }
}

impl Session {
    fn walk(
        &self,
        phase: Phase,
        program: Arc<Program>,
        timestamp: Option<String>,
        variables: BTreeMap<Str, Value>,
        included: Option<HashSet<petgraph::graph::NodeIndex>>,
    ) -> Walk {
        let functions = Arc::new(PoolFunctions(self.pool.clone()));
        let runtime = Runtime::new(program, &self.place, timestamp, phase, functions);
        Walk::new(
            phase,
            runtime,
            self.pool.clone(),
            self.events.clone(),
            self.stop.clone(),
            self.parallelism,
            variables,
            included,
            self.substitutes.clone(),
        )
    }
}

/// Checks a configuration with its providers' schemas, without a state and without configuring anything.
pub async fn validate(session: &Session, config: &Config) -> Diagnostics {
    let mut diags = Diagnostics::new();
    if let Some(program) = Program::build(config, &session.pool, [], &mut diags).await {
        diags.extend(validate_program(session, &Arc::new(program)).await);
    }
    diags
}

async fn validate_program(session: &Session, program: &Arc<Program>) -> Diagnostics {
    let walk = session.walk(Phase::Validate, program.clone(), None, BTreeMap::new(), None);
    walk.run(&validate::Validator).await;
    walk.take_diagnostics()
}

/// The values of a configuration after it was planned or applied.
pub struct Evaluated(Walk);

impl Evaluated {
    /// The names that expressions of the root module see.
    pub fn scope(&self) -> impl Scope + '_ {
        self.0.runtime.scope(self.0.runtime.root(), &Repeat::None)
    }

    /// The value of an output of the root module, sensitive where the output is declared so; null where it was left
    /// out (by targets).
    pub fn output(&self, name: &str) -> Option<Value> {
        let (slot, _, o) = self.0.program().modules[0].module().outputs.get_full(name)?;
        let value = self.0.runtime.root().outputs[slot].get().cloned().unwrap_or_else(Value::null);
        Some(if o.sensitive { value.with_marks(Marks::SENSITIVE) } else { value })
    }
}

/// Makes a plan. With errors there may still be a partial plan, marked as such.
pub async fn plan(
    session: &Session,
    config: &Config,
    state: &State,
    options: &PlanOptions,
) -> (Option<Plan>, Diagnostics) {
    let (made, diags) = plan_evaluated(session, config, state, options).await;
    (made.map(|(plan, _)| plan), diags)
}

/// Makes a plan and keeps the values that it was made from.
pub async fn plan_evaluated(
    session: &Session,
    config: &Config,
    state: &State,
    options: &PlanOptions,
) -> (Option<(Plan, Evaluated)>, Diagnostics) {
    let mut diags = Diagnostics::new();
    let previous_state = state.clone();
    let mut state = state.clone();
    let moves = moved::apply(config, &mut state);
    let blocked = moves.warning();
    let needed: HashSet<AbsProviderConfig> = state
        .resources()
        .filter(|(a, _)| a.resource.mode == crate::addr::Mode::Managed)
        .flat_map(|(_, r)| r.providers().map(AbsProviderConfig::block))
        .collect();
    let known: Vec<AbsProviderConfig> = {
        let mut v: Vec<_> = needed.into_iter().filter(|p| is_available(config, p)).collect();
        v.sort();
        v
    };
    let Some(program) = Program::build(config, &session.pool, known, &mut diags).await else { return (None, diags) };
    let program = Arc::new(program);
    if diags.has_errors() {
        return (None, diags);
    }
    if !options.unvalidated {
        let wrong = validate_program(session, &program).await;
        if wrong.has_errors() {
            return (None, wrong);
        }
    }
    let lost = without_provider(config, &program, &state);
    if lost.has_errors() {
        return (None, lost);
    }
    let wrong = refactoring::check_removals(config);
    if wrong.has_errors() {
        diags.extend(wrong);
        return (None, diags);
    }
    let prepared = Prepared { program: program.clone(), reported: diags.clone() };
    let destroy = options.mode == PlanMode::Destroy;
    let mut targets = Targets::new(options.targets.clone(), options.excludes.clone(), destroy);
    let included = targets.select(&program);
    targets.keep(&state);
    let complete = targets.is_empty();
    let input = PlannerInput {
        mode: options.mode,
        refresh: options.refresh,
        force_replace: options.force_replace.iter().cloned().collect(),
        imports: options.imports.clone(),
        targets,
        previous_state: previous_state.clone(),
        moved: moves.moved,
        forget: moved::Forget::from_config(config),
        generate: options.generate.clone(),
    };
    if !complete && !options.unvalidated {
        diags.push(Diagnostic::warning(
            "Resource targeting is in effect",
            "Parts of the configuration were left out with -target or -exclude, so this plan may not hold all changes that \
             the configuration asks for. Plan once more without these options afterwards.",
        ));
    }
    if let Some(d) = input.targets.splits_moves(&input.moved) {
        diags.push(d);
        return (None, diags);
    }
    let planner = Planner::new(input, state);
    let phase = if destroy { Phase::PlanDestroy } else { Phase::Plan };
    let timestamp = Some(options.timestamp.clone());
    let mut walk = session.walk(phase, program.clone(), timestamp, options.variables.clone(), included);
    walk.unsuitable_variables.clone_from(&options.unsuitable_variables);
    walk.only_warn = options.mode == PlanMode::RefreshOnly;
    walk.run(&planner).await;
    if !session.stop.is_cancelled() {
        planner.orphans(&walk).await;
    }
    ephemeral::close_all(&walk).await;
    let wrong = refactoring::check_moves(config, &moved::Declared(&walk));
    if wrong.has_errors() {
        // Whatever else went wrong may only follow from these.
        return (None, wrong);
    }
    let outputs = output_changes(&walk, &previous_state, options.mode, complete);
    if session.stop.is_cancelled() {
        walk.report(Diagnostic::error("Execution halted", "Planning was interrupted. Nothing was changed."));
    }
    diags.extend(walk.take_diagnostics());
    if destroy && walk.values_refused() {
        // What will be destroyed was not found out.
        return (None, diags);
    }
    diags.extend(blocked);
    let mut work = planner.finish();
    diags.extend(forgotten(&work.changes));
    work.changes.sort_by(|a, b| a.order().cmp(&b.order()));
    work.drift.sort_by(|a, b| a.order().cmp(&b.order()));
    work.drift.dedup_by(|later, earlier| later.order() == earlier.order());
    work.generated.sort_by_key(|g| (g.import.file.0, g.import.start));
    let relevant_attributes = relevant::attributes(&program, &walk.runtime, &work.changes, &outputs, destroy);
    let plan = Plan {
        mode: options.mode,
        variables: options.variables.clone(),
        changes: work.changes,
        drift: work.drift,
        generated: work.generated,
        outputs,
        prior_state: work.state,
        previous_state,
        checks: walk.checks.results(),
        relevant_attributes,
        targets: options.targets.clone(),
        excludes: options.excludes.clone(),
        force_replace: options.force_replace.clone(),
        timestamp: options.timestamp.clone(),
        errored: diags.has_errors(),
        complete: complete && !diags.has_errors(),
        providers: program.providers.iter().map(|p| p.addr.provider.clone()).collect(),
        prepared: Some(prepared),
    };
    (Some((plan, Evaluated(walk))), diags)
}

/// A warning about objects that will be left alone from now on.
fn forgotten(changes: &[Arc<plan::ResourceChange>]) -> Option<Diagnostic> {
    let list: String =
        changes.iter().filter(|c| c.action == Action::Forget).map(|c| format!("\n  - {}", c.addr)).collect();
    (!list.is_empty()).then(|| {
        Diagnostic::warning(
            "Some objects will no longer be managed by gpuform",
            format!("These objects stay as they are, but the state will not hold them any more:{list}"),
        )
    })
}

/// Objects without configuration, which cannot be destroyed because the configuration of their provider is gone too.
fn without_provider(config: &Config, program: &Program, state: &State) -> Diagnostics {
    let managed = state.resources().filter(|(a, _)| a.resource.mode == crate::addr::Mode::Managed);
    let orphans = managed.filter(|(a, _)| program.find_resource(&a.config()).is_none());
    let lost = orphans.filter_map(|(a, r)| Some((a, r.providers().find(|p| !is_available(config, &p.block()))?)));
    lost.map(|(a, provider)| planner::missing_provider(a, provider)).collect()
}

/// Whether a provider configuration that the state names is there: declared, or implied by the root module.
fn is_available(config: &Config, p: &AbsProviderConfig) -> bool {
    fn find<'a>(
        node: &'a crate::config::model::ModuleNode,
        path: &[Str],
    ) -> Option<&'a crate::config::model::ModuleNode> {
        let Some((name, rest)) = path.split_first() else { return Some(node) };
        let slot = node.module.calls.get_index_of(name)?;
        find(node.children.get(slot)?, rest)
    }
    if p.module.is_root() && p.alias.is_none() {
        return true;
    }
    find(&config.root, &p.module.0).is_some_and(|n| n.providers.values().any(|a| a == p))
}

/// Imports one object into a copy of the state.
///
/// # Errors
/// The resource is not declared, or the object cannot be imported.
pub async fn import(
    session: &Session,
    config: &Config,
    state: &State,
    variables: BTreeMap<Str, Value>,
    timestamp: String,
    addr: ResourceInstance,
    id: String,
) -> Result<(State, Diagnostics), Diagnostics> {
    let options = PlanOptions {
        mode: PlanMode::RefreshOnly,
        refresh: true,
        targets: vec![Target::Instance(addr.clone())],
        imports: vec![(addr.clone(), id)],
        unvalidated: true,
        variables,
        timestamp,
        ..PlanOptions::default()
    };
    let declared = {
        let mut node = Some(&config.root);
        for name in addr.module.module().0.iter() {
            node = node.and_then(|n| n.children.get(n.module.calls.get_index_of(name)?));
        }
        node.and_then(|n| n.module.resources.get(&addr.resource)).is_some_and(|b| !b.generated)
    };
    if !declared {
        return Err(Diagnostic::error(
            "Resource address does not exist in the configuration",
            format!(
                "An object can be imported only into a resource that is written: add this to the configuration first.\n\nresource \
                 \"{}\" \"{}\" {{\n  # arguments of the object\n}}",
                addr.resource.ty, addr.resource.name
            ),
        )
        .into());
    }
    let (plan, diags) = plan(session, config, state, &options).await;
    match plan {
        Some(plan) if !diags.has_errors() && plan.prior_state.get(&addr).is_some() => {
            let mut state = plan.prior_state;
            state.check_results.clone_from(&plan.previous_state.check_results);
            Ok((state, diags))
        }
        Some(_) if !diags.has_errors() => Err(Diagnostic::error(
            "Import had no effect",
            format!("{addr} is not among the instances that the configuration asks for: check its index or key."),
        )
        .into()),
        _ => Err(diags),
    }
}

fn output_changes(walk: &Walk, state: &State, mode: PlanMode, complete: bool) -> BTreeMap<Str, OutputChange> {
    let module = walk.program().modules[0].module();
    let root = walk.runtime.root();
    let mut changes = BTreeMap::new();
    let marked = |o: &OutputValue| {
        if o.sensitive { o.value.clone().with_marks(Marks::SENSITIVE) } else { o.value.clone() }
    };
    for (slot, (name, o)) in module.outputs.iter().enumerate() {
        let stored = state.outputs.get(name);
        let evaluated = root.outputs[slot].get().is_some();
        if mode == PlanMode::Destroy && (stored.is_none() || (!evaluated && walk.diagnostics().has_errors())) {
            continue;
        }
        let before = stored.map_or_else(Value::null, marked);
        if !walk.is_included(walk.program().modules[0].output_index(slot as u32)) {
            continue;
        }
        let after = if mode == PlanMode::Destroy {
            Value::null()
        } else {
            match root.outputs[slot].get() {
                Some(v) => v.unmark_deep(&mut Marks::default()),
                None => continue,
            }
        };
        let same = stored.map_or(after.is_null(), |s| s.value == after && s.sensitive == o.sensitive);
        // What was secret is not shown when it ceases to be one.
        let sensitive = o.sensitive || stored.is_some_and(|s| s.sensitive);
        let action = match (stored, same) {
            (_, true) => Action::NoOp,
            (None, _) => Action::Create,
            (Some(_), _) if mode == PlanMode::Destroy => Action::Delete,
            // Also to null: the output is declared still.
            (Some(_), _) => Action::Update,
        };
        let after = if sensitive { after.with_marks(Marks::SENSITIVE) } else { after };
        changes.insert(name.clone(), OutputChange { action, before, after, sensitive });
    }
    // Outputs that are no longer declared go with a complete plan only.
    let undeclared = state.outputs.iter().filter(|(n, _)| complete && !module.outputs.contains_key(*n));
    for (name, stored) in undeclared {
        changes.insert(
            name.clone(),
            OutputChange {
                action: Action::Delete,
                before: marked(stored),
                after: Value::null(),
                sensitive: stored.sensitive,
            },
        );
    }
    changes
}

/// What an apply did.
#[derive(Debug)]
pub struct Applied {
    /// The state to save, complete also after errors.
    pub state: State,
    pub counts: Counts,
    pub diagnostics: Diagnostics,
}

/// Carries out a plan. Results are recorded in the journal as they come; the state is for the caller to save.
pub async fn apply(session: &Session, config: &Config, plan: Plan, journal: Option<Arc<Journal>>) -> Applied {
    apply_evaluated(session, config, plan, journal).await.0
}

/// Carries out a plan and keeps the values that came of it; there are none where it could not begin.
pub async fn apply_evaluated(
    session: &Session,
    config: &Config,
    mut plan: Plan,
    journal: Option<Arc<Journal>>,
) -> (Applied, Option<Evaluated>) {
    let prepared = plan.prepared.take();
    let plan = Arc::new(plan);
    let mut diags = Diagnostics::new();
    let failed = |diagnostics| {
        let applied = Applied { state: plan.prior_state.clone(), counts: Counts::default(), diagnostics };
        (applied, None)
    };
    let program = match prepared {
        Some(Prepared { program, reported }) => {
            diags.extend(reported);
            program
        }
        None => {
            let needed: BTreeSet<AbsProviderConfig> =
                plan.changes.iter().map(|c| c.provider.block()).filter(|p| is_available(config, p)).collect();
            match Program::build(config, &session.pool, needed, &mut diags).await {
                Some(program) if !diags.has_errors() => Arc::new(program),
                _ => return failed(diags),
            }
        }
    };
    let destroy = plan.mode == PlanMode::Destroy;
    let mut targets = Targets::new(plan.targets.clone(), plan.excludes.clone(), destroy);
    let included = targets.select(&program);
    let execution = Execution::build(&program, &plan);
    session.events.event(Event::ApplyBegins { operations: Execution::operations(&plan) });
    let phase = if destroy { Phase::ApplyDestroy } else { Phase::Apply };
    let mut walk = session.walk(phase, program.clone(), Some(plan.timestamp.clone()), plan.variables.clone(), included);
    walk.only_warn = plan.mode == PlanMode::RefreshOnly;
    let (teller, telling) = Teller::start(session.events.clone(), session.stop.clone());
    let teller = Arc::new(teller);
    walk.events = teller.clone();
    let executor = Executor::new(plan.clone(), execution, journal, teller);
    let graph = &executor.execution.graph;
    if let Err(cycle) = petgraph::algo::toposort(graph, None) {
        let step = graph[cycle.node_id()];
        diags.push(Diagnostic::error(
            "Circular order of operations",
            format!(
                "The changes cannot be brought into an order: {step:?} would have to wait for itself. Apply in two steps \
                 with -target. This is a fault in gpuform; please report it with the configuration."
            ),
        ));
        return failed(diags);
    }
    walk.run_graph(graph, |n| executor.step(&walk, n)).await;
    ephemeral::close_all(&walk).await;
    walk.events = session.events.clone();
    let (mut state, counts) = executor.finish();
    if let Some(unrecorded) = telling.end().await {
        walk.report(unrecorded);
    }
    if session.stop.is_cancelled() && !walk.diagnostics().has_errors() {
        walk.report_all(executor::stopped());
    }
    diags.extend(walk.take_diagnostics());
    if !plan.targets.is_empty() || !plan.excludes.is_empty() {
        diags.push(Diagnostic::warning(
            "Applied changes may be incomplete",
            "The plan left out parts of the configuration with -target or -exclude. \"gpuform plan\" shows whether anything \
             is left to do.",
        ));
    }
    if destroy && plan.targets.is_empty() && plan.excludes.is_empty() {
        // What was only read has no object behind it.
        let read: Vec<_> =
            state.resources().map(|(a, _)| a.clone()).filter(|a| a.resource.mode == crate::addr::Mode::Data).collect();
        read.iter().for_each(|a| drop(state.remove_resource(a)));
    }
    store_outputs(&walk, &plan, &mut state);
    state.check_results = walk.checks.results();
    // A plan has the messages in the order of the assertions, a state in that of the alphabet.
    for object in state.check_results.iter_mut().flat_map(|r| &mut r.objects) {
        object.failure_messages.sort();
    }
    (Applied { state, counts, diagnostics: diags }, Some(Evaluated(walk)))
}

fn store_outputs(walk: &Walk, plan: &Plan, state: &mut State) {
    let module = walk.program().modules[0].module();
    let root = walk.runtime.root();
    state.outputs = plan.known_outputs();
    for (name, change) in &plan.outputs {
        if change.action == Action::Delete && (plan.mode != PlanMode::Destroy || !state.has_resources()) {
            state.outputs.remove(name);
        }
    }
    if plan.mode == PlanMode::Destroy {
        return;
    }
    for (slot, (name, o)) in module.outputs.iter().enumerate() {
        let Some(value) = root.outputs[slot].get() else { continue };
        let value = value.unmark_deep(&mut Marks::default());
        if value.is_null() {
            state.outputs.remove(name);
        } else if value.is_wholly_known() {
            state.outputs.insert(name.clone(), OutputValue { value, sensitive: o.sensitive });
        }
    }
}

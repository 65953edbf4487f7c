//! What planning, applying and validating have in common: evaluating variables, locals, outputs, module calls,
//! providers and checks in dependency order. What happens to resources differs and is given as a [`ResourceStep`].

use crate::addr::{self, AbsProviderConfig};
use crate::config::model::{Condition, Repetition};
use crate::diag::{Diagnostic, Diagnostics, Kind, Range};
use crate::engine::checks::{CheckLog, Checkable};
use crate::engine::ephemeral;
use crate::engine::events::Events;
use crate::engine::expand::{self, Expansion};
use crate::engine::program::{ModuleId, Node, Program, ProviderId};
use crate::engine::providers::ProviderPool;
use crate::engine::runtime::{ModuleRun, Repeat, Runtime};
use crate::engine::schedule::{self, Outcome};
use crate::engine::substitutes::Substitutes;
use crate::lang::limits;
use crate::lang::scope::Scope;
use crate::lang::syntax::{Expr, Slot};
use crate::plugin::Provider;
use crate::state::CheckStatus;
use async_trait::async_trait;
use gpuform_schema::{Marks, Str, Type, Value};
use petgraph::graph::{DiGraph, NodeIndex};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio_util::sync::CancellationToken;

/// Why a walk is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    Validate,
    /// Only evaluate what is there.
    Look,
    Plan,
    /// A plan to destroy everything: conditions are not checked.
    PlanDestroy,
    Apply,
    ApplyDestroy,
}

impl Phase {
    pub fn is_destroy(self) -> bool {
        matches!(self, Phase::PlanDestroy | Phase::ApplyDestroy)
    }

    pub fn is_apply(self) -> bool {
        matches!(self, Phase::Apply | Phase::ApplyDestroy)
    }
}

/// What the walk does with resources.
#[async_trait(?Send)]
pub trait ResourceStep {
    async fn resource(&self, walk: &Walk, module: ModuleId, slot: Slot) -> Outcome;
}

/// A provider with its configuration.
#[derive(Clone)]
pub struct Configured {
    pub addr: AbsProviderConfig,
    pub provider: Arc<dyn Provider>,
}

/// The state of one walk.
pub struct Walk {
    pub phase: Phase,
    pub runtime: Runtime,
    pub pool: Arc<ProviderPool>,
    pub events: Arc<dyn Events>,
    /// Set when no new operation may begin.
    pub stop: CancellationToken,
    /// Ceiling for operations of provider processes.
    pub operations: Semaphore,
    /// Values of root variables given from outside.
    pub variables: BTreeMap<Str, Value>,
    /// The nodes that targeting leaves in; `None` for all.
    pub included: Option<HashSet<NodeIndex>>,
    pub checks: CheckLog,
    pub substitutes: Option<Arc<dyn Substitutes>>,
    diagnostics: Mutex<Diagnostics>,
    providers: Vec<OnceLock<Configured>>,
    opened: Mutex<Vec<ephemeral::Open>>,
}

impl Walk {
    #[allow(clippy::too_many_arguments)]
    pub fn new(
        phase: Phase,
        runtime: Runtime,
        pool: Arc<ProviderPool>,
        events: Arc<dyn Events>,
        stop: CancellationToken,
        parallelism: usize,
        variables: BTreeMap<Str, Value>,
        included: Option<HashSet<NodeIndex>>,
        substitutes: Option<Arc<dyn Substitutes>>,
    ) -> Walk {
        let providers = (0..runtime.program.providers.len()).map(|_| OnceLock::new()).collect();
        Walk {
            phase,
            runtime,
            pool,
            events,
            stop,
            operations: Semaphore::new(parallelism.max(1)),
            variables,
            included,
            checks: CheckLog::default(),
            substitutes,
            diagnostics: Mutex::default(),
            providers,
            opened: Mutex::default(),
        }
    }

    pub fn program(&self) -> &Arc<Program> {
        &self.runtime.program
    }

    pub fn diagnostics(&self) -> MutexGuard<'_, Diagnostics> {
        self.diagnostics.lock().unwrap_or_else(|e| e.into_inner())
    }

    pub fn report(&self, d: impl Into<Diagnostic>) {
        self.diagnostics().push(d);
    }

    pub fn report_all(&self, d: Diagnostics) -> bool {
        let errors = d.has_errors();
        self.diagnostics().extend(d);
        errors
    }

    pub fn take_diagnostics(&self) -> Diagnostics {
        std::mem::take(&mut *self.diagnostics())
    }

    /// Ephemeral resources that are open.
    pub fn opened(&self) -> MutexGuard<'_, Vec<ephemeral::Open>> {
        self.opened.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Waits for a turn to call a provider process; the built-in provider needs none.
    pub async fn turn(&self, provider: &addr::Provider) -> Option<SemaphorePermit<'_>> {
        if provider.is_builtin() { None } else { self.operations.acquire().await.ok() }
    }

    /// The provider of a configuration whose node is done.
    pub fn provider(&self, id: ProviderId) -> Option<&Configured> {
        self.providers[id].get()
    }

    /// The provider that handles an object: that of its configuration, or what a test puts in its place.
    pub fn handler<'a>(&self, addr: &addr::ResourceInstance, configured: &'a Configured) -> Cow<'a, Configured> {
        match self.substitutes.as_ref().and_then(|s| s.object(addr, configured)) {
            Some(provider) => Cow::Owned(Configured { addr: configured.addr.clone(), provider }),
            None => Cow::Borrowed(configured),
        }
    }

    pub fn is_included(&self, n: NodeIndex) -> bool {
        self.included.as_ref().is_none_or(|i| i.contains(&n))
    }

    /// Walks the program's graph (or one with the same nodes first and more behind them).
    pub async fn run(&self, resources: &dyn ResourceStep) {
        schedule::run(&self.program().graph, |n| self.node(n, self.program().graph[n], resources)).await;
    }

    /// Walks a graph of which the declared objects are a part.
    pub async fn run_graph<N: Copy + Send, F>(&self, graph: &DiGraph<N, ()>, start: impl FnMut(NodeIndex) -> F)
    where
        F: Future<Output = Outcome>,
    {
        schedule::run(graph, start).await;
    }

    /// Does what one declared object needs.
    pub async fn node(&self, n: NodeIndex, node: Node, resources: &dyn ResourceStep) -> Outcome {
        if !self.is_included(n) || self.stop.is_cancelled() {
            return if self.stop.is_cancelled() && !matches!(node, Node::Close(_)) {
                Outcome::Failed
            } else {
                Outcome::Done
            };
        }
        let ok = match node {
            Node::Variable(m, s) => self.each_module(m, |run| self.variable(run, s)),
            Node::Local(m, s) => self.each_module(m, |run| {
                let local = &self.program().modules[m].module().locals[s as usize];
                let value = self.eval(&local.expr, &self.runtime.scope(run, &Repeat::None));
                value.map(|v| run.locals[s as usize].set(v)).is_some()
            }),
            Node::Output(m, s) => self.each_module(m, |run| self.output(run, s)),
            Node::Call(m, s) => self.call(m, s),
            Node::Check(m, s) => self.each_module(m, |run| self.check(run, s)),
            Node::Close(_) => true,
            Node::Provider(id) => return self.configure(id).await,
            Node::Resource(m, s) => return resources.resource(self, m, s).await,
        };
        if ok { Outcome::Done } else { Outcome::Failed }
    }

    /// Does something in every instance of a module; true if it went well in all of them.
    pub fn each_module(&self, m: ModuleId, mut f: impl FnMut(&Arc<ModuleRun>) -> bool) -> bool {
        let mut ok = true;
        for run in self.runtime.instances(m) {
            ok &= f(run);
        }
        ok
    }

    /// Evaluates an expression; what is wrong with it is reported.
    pub fn eval(&self, e: &Expr, scope: &dyn Scope) -> Option<Value> {
        let mut diags = Diagnostics::new();
        let value = e.eval_in(scope, None, &mut diags);
        let failed = !diags.is_empty();
        self.diagnostics().extend(diags);
        (!failed).then_some(value)
    }

    // ---- variables

    fn variable(&self, run: &Arc<ModuleRun>, slot: Slot) -> bool {
        let Some(value) = self.variable_value(run, slot) else { return false };
        let module = self.program().modules[run.id].module();
        let v = &module.variables[slot as usize];
        let mut marks = Marks::NONE;
        if v.sensitive {
            marks |= Marks::SENSITIVE;
        }
        if v.ephemeral {
            marks |= Marks::EPHEMERAL;
        }
        let _ = run.variables[slot as usize].set(value.with_marks(marks));
        if self.phase.is_destroy() || self.phase == Phase::Look || v.validations.is_empty() {
            return true;
        }
        let scope = self.runtime.scope(run, &Repeat::None);
        let subject = Checkable::variable(&run.addr, &v.name);
        self.conditions(&v.validations, &scope, &subject, "Invalid value for variable", v.range)
    }

    fn variable_value(&self, run: &Arc<ModuleRun>, slot: Slot) -> Option<Value> {
        let module = self.program().modules[run.id].module();
        let v = &module.variables[slot as usize];
        let default = || match &v.default {
            Some(d) => d.clone(),
            None => Value::unknown(v.ty.ty()),
        };
        let Some((parent, call_slot)) = &run.parent else {
            if self.phase == Phase::Validate {
                return Some(Value::unknown(v.ty.ty()));
            }
            return Some(self.variables.get(&v.name).cloned().unwrap_or_else(default));
        };
        let call = &self.program().modules[parent.id].module().calls[*call_slot as usize];
        let Some((expr, range)) = call.inputs.get(&v.name) else { return Some(default()) };
        let value = self.eval(expr, &self.runtime.scope(parent, &run.repeat))?;
        if value.is_null() && !v.nullable {
            if v.default.is_some() {
                return Some(default());
            }
            self.report(
                Diagnostic::error(
                    "Required variable not set",
                    format!("The variable \"{}\" of this module does not accept null.", v.name),
                )
                .at(*range),
            );
            return None;
        }
        match v.ty.apply(&value) {
            Ok(v) => Some(v),
            Err(e) => {
                self.report(
                    Diagnostic::error(
                        "Invalid value for input variable",
                        format!(
                            "The value given here does not suit the variable \"{}\" of the module: {e}.\nIt is declared \
                             at {}.",
                            v.name,
                            self.program().config.sources.describe(v.range)
                        ),
                    )
                    .at(expr.range)
                    .context(*range),
                );
                None
            }
        }
    }

    // ---- conditions

    /// Checks conditions; false if one failed or could not be evaluated. Unknown ones pass for now.
    pub fn conditions(
        &self,
        conditions: &[Condition],
        scope: &dyn Scope,
        subject: &Checkable,
        summary: &str,
        context: Range,
    ) -> bool {
        let mut ok = true;
        for c in conditions {
            match self.condition(c, scope) {
                Ok(None) => self.checks.record(subject, CheckStatus::Unknown, None),
                Ok(Some(Ok(()))) => self.checks.record(subject, CheckStatus::Pass, None),
                Ok(Some(Err((message, shown)))) => {
                    ok = false;
                    self.checks.record(subject, CheckStatus::Fail, Some(message.clone()));
                    let mut d = Diagnostic::error(summary, shown).at(c.condition.range).context(context);
                    if summary == "Invalid value for variable" {
                        d.detail = format!("{}\n\nThis was checked by the validation rule at {}.", d.detail, {
                            self.program().config.sources.describe(c.range)
                        });
                        d.subject = Some(context);
                    }
                    d.kind = Kind::Condition;
                    d.checked = Some(subject.object.to_string());
                    d.values = crate::lang::eval::mentions(&c.condition, scope, None);
                    self.report(d);
                }
                Err(d) => {
                    ok = false;
                    self.checks.record(subject, CheckStatus::Error, None);
                    self.report_all(d);
                }
            }
        }
        ok
    }

    /// `Ok(None)`: not known yet. `Ok(Some(Err((message, detail))))`: false.
    #[allow(clippy::type_complexity)]
    pub fn condition(
        &self,
        c: &Condition,
        scope: &dyn Scope,
    ) -> Result<Option<Result<(), (Str, String)>>, Diagnostics> {
        let value = c.condition.eval_as(scope, &Type::Bool).map_err(Diagnostics::from)?;
        let (value, _) = value.unmark();
        match value {
            Value::Bool(true) => Ok(Some(Ok(()))),
            Value::Bool(false) => {
                if self.phase == Phase::Validate {
                    return Ok(None);
                }
                let message = c.error_message.eval_as(scope, &Type::String).map_err(Diagnostics::from)?;
                let marks = message.deep_marks();
                let text = match message.as_str() {
                    Some(_) if marks.contains(Marks::SENSITIVE) || marks.contains(Marks::EPHEMERAL) => {
                        let mut d = Diagnostics::from(
                            Diagnostic::warning(
                                "Error message refers to sensitive values",
                                "The message of this condition contains a value that must not be shown, so it is \
                                 withheld. Use nonsensitive() on the parts that are safe.",
                            )
                            .at(c.error_message.range),
                        );
                        self.diagnostics().extend(std::mem::take(&mut d));
                        "The message of the failed condition contains a sensitive value and is not shown.".to_owned()
                    }
                    Some(s) => s.trim().to_owned(),
                    None => "The condition is not met; its error message is not known yet.".to_owned(),
                };
                Ok(Some(Err((text.as_str().into(), text))))
            }
            Value::Null(_) => {
                Err(Diagnostic::error("Invalid condition result", "The condition is null, but must be true or false.")
                    .at(c.condition.range)
                    .into())
            }
            _ => Ok(None),
        }
    }

    // ---- outputs

    fn output(&self, run: &Arc<ModuleRun>, slot: Slot) -> bool {
        let program = self.program().clone();
        let o = &program.modules[run.id].module().outputs[slot as usize];
        let Some((name, _)) = program.modules[run.id].module().outputs.get_index(slot as usize) else { return true };
        let scope = self.runtime.scope(run, &Repeat::None);
        if !self.phase.is_destroy() && !o.preconditions.is_empty() {
            let subject = Checkable::output(&run.addr, name);
            if !self.conditions(&o.preconditions, &scope, &subject, "Module output value precondition failed", o.range)
            {
                return false;
            }
        }
        let value = if self.phase.is_destroy() {
            // What is being destroyed may be missing already; outputs only feed provider configurations then.
            o.expr.eval(&scope).ok()
        } else {
            self.eval(&o.expr, &scope)
        };
        let Some(value) = value else { return self.phase.is_destroy() };
        if run.addr.is_root()
            && let Err(e) = limits::check_storable(&value)
        {
            let detail = format!("The value of this output is refused: {e}.");
            self.report(Diagnostic::error("Infinite number", detail).at(o.expr.range));
            return false;
        }
        let marks = value.deep_marks();
        if run.addr.is_root() && !self.phase.is_destroy() {
            if marks.contains(Marks::EPHEMERAL) {
                self.report(
                    Diagnostic::error(
                        "Ephemeral value not allowed",
                        "An output of the root module is stored, so it cannot be made from an ephemeral value.",
                    )
                    .at(o.expr.range),
                );
                return false;
            }
            if marks.contains(Marks::SENSITIVE) && !o.sensitive {
                self.report(
                    Diagnostic::error(
                        "Output refers to sensitive values",
                        "The value of this output is derived from a sensitive value. If it is meant to be given out, \
                         confirm that with\n    sensitive = true\nin the output block; or remove the mark from what is \
                         safe with nonsensitive().",
                    )
                    .at(o.range),
                );
                return false;
            }
        }
        if marks.contains(Marks::EPHEMERAL) && !o.ephemeral && !run.addr.is_root() {
            self.report(
                Diagnostic::error(
                    "Ephemeral value not allowed",
                    "This output is made from an ephemeral value, so it must be declared with \"ephemeral = true\".",
                )
                .at(o.expr.range),
            );
            return false;
        }
        let value = if o.ephemeral { value.with_marks(Marks::EPHEMERAL) } else { value };
        let _ = run.outputs[slot as usize].set(value);
        true
    }

    // ---- module calls

    fn call(&self, m: ModuleId, slot: Slot) -> bool {
        let program = self.program().clone();
        let call = &program.modules[m].module().calls[slot as usize];
        let child = program.modules[m].children[slot as usize];
        let mut all = Vec::new();
        let ok = self.each_module(m, |run| {
            let Some(repeats) = self.repeats(&call.repetition, run) else { return false };
            let instances: Vec<Arc<ModuleRun>> = repeats
                .into_iter()
                .map(|repeat| {
                    let addr = run.addr.child(call.name.clone(), repeat.key());
                    Arc::new(ModuleRun::new(&program, child, addr, Some((run.clone(), slot)), repeat))
                })
                .collect();
            all.extend(instances.iter().filter(|i| !self.is_substituted(i)).cloned());
            run.set_call_instances(slot, instances);
            true
        });
        self.runtime.set_instances(child, all);
        ok
    }

    /// Gives a module instance the outputs that a test has for it. Nothing else of it is evaluated then.
    fn is_substituted(&self, run: &ModuleRun) -> bool {
        let Some(given) = self.substitutes.as_ref().and_then(|s| s.module(&run.addr)) else { return false };
        let declared = &self.program().modules[run.id].module().outputs;
        for (cell, name) in run.outputs.iter().zip(declared.keys()) {
            let _ = cell.set(given.get(name).cloned().unwrap_or_else(Value::null));
        }
        true
    }

    /// The instances that `count` or `for_each` asks for; `None` after an error.
    pub fn repeats(&self, repetition: &Repetition, run: &ModuleRun) -> Option<Vec<Repeat>> {
        if matches!(repetition, Repetition::Single) {
            return Some(vec![Repeat::None]);
        }
        let scope = self.runtime.scope(run, &Repeat::None);
        match expand::expand(repetition, &scope) {
            Ok(Expansion::Known(r)) => Some(r),
            Ok(Expansion::Unknown(d)) => {
                if self.phase == Phase::Validate {
                    return Some(vec![Repeat::Unknown]);
                }
                self.report(d);
                None
            }
            Err(d) => {
                self.report(d);
                None
            }
        }
    }

    // ---- providers

    async fn configure(&self, id: ProviderId) -> Outcome {
        let program = self.program().clone();
        let meta = &program.providers[id];
        let Some(schema) = &meta.schema else { return Outcome::Failed };
        let unconfigured = match self.pool.unconfigured(&meta.addr.provider).await {
            Ok(p) => p,
            Err(e) => {
                self.report_all(e);
                return Outcome::Failed;
            }
        };
        let substitutes = self.substitutes.as_ref();
        if let Some(provider) = substitutes.and_then(|s| s.provider(&meta.addr, &unconfigured)) {
            let _ = self.providers[id].set(Configured { addr: meta.addr.clone(), provider });
            return Outcome::Done;
        }
        let given = substitutes.and_then(|s| s.provider_config(&meta.addr, schema));
        let config = match (given, &meta.block) {
            (Some(Ok(value)), _) => value.unmark_deep(&mut Marks::NONE.clone()),
            (Some(Err(diags)), _) => {
                self.report_all(diags);
                return Outcome::Failed;
            }
            (None, None) => schema.block.empty_value(),
            (None, Some((block, decoder))) => {
                let instances = self.runtime.instances(meta.module);
                let Some(run) = instances.first() else { return Outcome::Done };
                let mut diags = Diagnostics::new();
                let value = decoder.eval(&self.runtime.scope(run, &Repeat::None), &mut diags);
                if self.report_all(diags) {
                    return Outcome::Failed;
                }
                let Some(value) = value else { return Outcome::Failed };
                let _ = block;
                value.unmark_deep(&mut Marks::NONE.clone())
            }
        };
        let explain = |diags: Diagnostics| -> Diagnostics {
            diags
                .into_iter()
                .map(|mut d| {
                    if let (Some(path), Some((_, decoder))) = (d.attribute.take(), &meta.block) {
                        d.subject = d.subject.or_else(|| decoder.range_of(&path));
                    }
                    if d.subject.is_none() {
                        d.subject = meta.block.as_ref().map(|(b, _)| b.range);
                    }
                    d.address.get_or_insert_with(|| meta.addr.to_string());
                    d
                })
                .collect()
        };
        let (config, diags) = unconfigured.validate_provider_config(config).await;
        if self.report_all(explain(diags)) {
            return Outcome::Failed;
        }
        let provider = if self.phase == Phase::Validate {
            unconfigured
        } else {
            match self.pool.configured(&meta.addr, &config).await {
                Ok((p, diags)) => {
                    self.report_all(explain(diags));
                    p
                }
                Err(diags) => {
                    self.report_all(explain(diags));
                    return Outcome::Failed;
                }
            }
        };
        let _ = self.providers[id].set(Configured { addr: meta.addr.clone(), provider });
        Outcome::Done
    }

    // ---- checks

    fn check(&self, run: &Arc<ModuleRun>, slot: Slot) -> bool {
        if self.phase.is_destroy() {
            return true;
        }
        let program = self.program().clone();
        let check = &program.modules[run.id].module().checks[slot as usize];
        let scope = self.runtime.scope(run, &Repeat::None);
        let subject = Checkable::check(&run.addr, &check.name);
        for c in &check.asserts {
            let warn = |d: &mut Diagnostic| {
                d.severity = crate::diag::Severity::Warning;
                d.kind = Kind::CheckAssertion;
                d.context = Some(check.header_range);
                d.checked = Some(subject.object.to_string());
            };
            match self.condition(c, &scope) {
                Ok(None) => self.checks.record(&subject, CheckStatus::Unknown, None),
                Ok(Some(Ok(()))) => self.checks.record(&subject, CheckStatus::Pass, None),
                Ok(Some(Err((message, shown)))) => {
                    self.checks.record(&subject, CheckStatus::Fail, Some(message));
                    let mut d = Diagnostic::error("Check block assertion failed", shown).at(c.condition.range);
                    warn(&mut d);
                    d.values = crate::lang::eval::mentions(&c.condition, &scope, None);
                    self.report(d);
                }
                Err(d) => {
                    self.checks.record(&subject, CheckStatus::Error, None);
                    for mut d in d {
                        if self.phase != Phase::Validate {
                            warn(&mut d);
                        }
                        self.report(d);
                    }
                }
            }
        }
        true
    }
}

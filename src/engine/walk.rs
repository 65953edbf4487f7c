//! What planning, applying and validating have in common: evaluating variables, locals, outputs, module calls,
//! providers and checks in dependency order. What happens to resources differs and is given as a [`ResourceStep`].

use crate::addr::{self, AbsProviderConfig, AbsResource, ModuleInstance, ResourceInstance};
use crate::config::model::{Condition, Repetition, ResourceBlock};
use crate::diag::{Diagnostic, Diagnostics, Failure, Kind, Range, Severity};
use crate::engine::checks::{CheckLog, Checkable};
use crate::engine::ephemeral;
use crate::engine::events::Events;
use crate::engine::expand::{self, Expansion};
use crate::engine::program::{ModuleId, Node, Program, ProviderId};
use crate::engine::provider_instances::ProviderInstances;
use crate::engine::providers::ProviderPool;
use crate::engine::runtime::{ModuleRun, Repeat, RunScope, Runtime};
use crate::engine::schedule::{self, Outcome};
use crate::engine::substitutes::Substitutes;
use crate::hash::HashSet;
use crate::lang::convert::convert;
use crate::lang::limits;
use crate::lang::scope::Scope;
use crate::lang::syntax::{Expr, Slot};
use crate::plugin::Provider;
use crate::state::{CheckKind, CheckStatus};
use async_trait::async_trait;
use gpuform_schema::{Marks, Str, Type, Value};
use petgraph::graph::{DiGraph, NodeIndex};
use std::borrow::Cow;
use std::collections::BTreeMap;
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

/// How many reads count as one operation where the provider joins reads into few calls of its API.
const JOINED_READS: usize = 50;

/// The summary for values that a `validation` block refuses.
const VALIDATION_FAILED: &str = "Invalid value for variable";

/// What is said of a condition whose own message is empty, or cannot be had.
const NO_MESSAGE: &str = "The condition is not met; it has no error message that could be shown.";

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
    /// Ceiling for operations that are prepared: as many again may become durable while others have their turns.
    preparations: Semaphore,
    /// Ceiling for reads by providers that join them.
    joined_reads: Semaphore,
    /// Values of root variables given from outside.
    pub variables: BTreeMap<Str, Value>,
    /// What is wrong with given values that cannot be converted.
    pub unsuitable_variables: BTreeMap<Str, Diagnostic>,
    /// The nodes that targeting leaves in; `None` for all.
    pub included: Option<HashSet<NodeIndex>>,
    /// Conditions of resources and outputs only warn: nothing will be changed.
    pub only_warn: bool,
    pub checks: CheckLog,
    pub substitutes: Option<Arc<dyn Substitutes>>,
    diagnostics: Mutex<Diagnostics>,
    pub(super) providers: Vec<OnceLock<ProviderInstances>>,
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
        let program = &runtime.program;
        let providers = program.providers.iter().map(|_| OnceLock::new()).collect();
        let checks = CheckLog::default();
        declare_checks(program, &checks);
        let walk = Walk {
            phase,
            runtime,
            pool,
            events,
            stop,
            operations: Semaphore::new(permits(parallelism)),
            preparations: Semaphore::new(permits(parallelism.saturating_mul(2))),
            joined_reads: Semaphore::new(permits(parallelism.saturating_mul(JOINED_READS))),
            variables,
            unsuitable_variables: BTreeMap::new(),
            included,
            only_warn: false,
            checks,
            substitutes,
            diagnostics: Mutex::default(),
            providers,
            opened: Mutex::default(),
        };
        walk.expect_checks(0, walk.runtime.instances(0));
        walk
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

    /// Whether the configuration has refused the value of a root variable.
    pub fn values_refused(&self) -> bool {
        self.diagnostics().iter().any(|d| d.is_error() && d.summary == VALIDATION_FAILED)
    }

    /// Ephemeral resources that are open.
    pub fn opened(&self) -> MutexGuard<'_, Vec<ephemeral::Open>> {
        self.opened.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Waits for a turn to call a provider process; the built-in provider needs none.
    pub async fn turn(&self, provider: &addr::Provider) -> Option<SemaphorePermit<'_>> {
        if provider.is_builtin() { None } else { self.operations.acquire().await.ok() }
    }

    /// Waits for a turn to read an object.
    pub async fn turn_to_read(&self, configured: &Configured) -> Option<SemaphorePermit<'_>> {
        if configured.provider.capabilities().joins_reads {
            self.joined_reads.acquire().await.ok()
        } else {
            self.turn(&configured.addr.provider).await
        }
    }

    /// Waits until an operation may be prepared whose turn comes soon.
    pub async fn preparation(&self, provider: &addr::Provider) -> Option<SemaphorePermit<'_>> {
        if provider.is_builtin() { None } else { self.preparations.acquire().await.ok() }
    }

    /// The instances of a provider configuration whose node is done.
    pub fn provider(&self, id: ProviderId) -> Option<&ProviderInstances> {
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
        let names_ok = self.names(node);
        if !names_ok && !matches!(node, Node::Resource(..) | Node::Check(..)) {
            return Outcome::Failed;
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
            Node::Resource(m, s) => {
                let broken = !names_ok || self.program().resource_meta(m, s).problems.has_errors();
                if broken && self.phase != Phase::Validate {
                    return Outcome::Failed;
                }
                let outcome = resources.resource(self, m, s).await;
                return if broken { Outcome::Failed } else { outcome };
            }
        };
        if ok { Outcome::Done } else { Outcome::Failed }
    }

    /// Tells what is wrong with the names that a node uses, once for each module call; false if something is.
    fn names(&self, node: Node) -> bool {
        let program = self.program();
        let m = match node {
            Node::Variable(m, _) | Node::Local(m, _) | Node::Output(m, _) | Node::Call(m, _) | Node::Check(m, _) => m,
            Node::Resource(m, _) if self.phase != Phase::Look => m,
            Node::Provider(id) if program.providers[id].used => program.providers[id].module,
            Node::Resource(..) | Node::Provider(_) | Node::Close(_) => return true,
        };
        if self.runtime.instances(m).is_empty() {
            return true;
        }
        let mut ok = true;
        if program.has_problems() {
            let expressions = program.expressions(node);
            for range in &expressions.value {
                let found = program.problems_within(*range);
                ok &= !self.report_all(found.iter().cloned().collect());
            }
            for range in &expressions.checked {
                self.report_all(program.problems_within(*range).iter().cloned().collect());
            }
        }
        if let Node::Resource(m, s) = node {
            self.report_all((*program.resource_meta(m, s).problems).clone());
        }
        ok
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
        let value = value.with_marks(marks);
        // Validation is for whatever values a module may be given; only a variable's own rules see the value.
        let seen = match self.phase {
            Phase::Validate => Value::unknown(v.ty.ty()).with_marks(marks),
            _ => value.clone(),
        };
        let _ = run.variables[slot as usize].set(seen);
        let checked = match self.phase {
            Phase::Look | Phase::ApplyDestroy => false,
            Phase::PlanDestroy => run.addr.is_root(),
            Phase::Validate | Phase::Plan | Phase::Apply => true,
        };
        if !checked || v.validations.is_empty() {
            return true;
        }
        let scope = self.runtime.scope(run, &Repeat::None).with_variable(slot, value);
        let subject = Checkable::variable(&run.addr, &v.name);
        if !self.phase.is_destroy() {
            self.checks.expect(&subject, v.validations.len());
        }
        let given = run.parent.as_ref().and_then(|(parent, call)| {
            let call = &self.program().modules[parent.id].module().calls[*call as usize];
            call.inputs.get(&v.name).map(|(e, _)| e.range)
        });
        self.conditions(&v.validations, &scope, &subject, VALIDATION_FAILED, given.unwrap_or(v.range))
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
            if let Some(d) = self.unsuitable_variables.get(&v.name) {
                self.report(d.clone());
                return None;
            }
            let given = self.variables.get(&v.name);
            return Some(given.map_or_else(default, |g| v.ty.apply(g).unwrap_or_else(|_| g.clone())));
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
                .at(expr.range)
                .context(*range),
            );
            return None;
        }
        if value.deep_marks().contains(Marks::EPHEMERAL) && !v.ephemeral {
            self.report(
                Diagnostic::error(
                    "Ephemeral value not allowed",
                    format!(
                        "The variable \"{}\" of this module is not declared with \"ephemeral = true\", so it cannot be set \
                         from an ephemeral value.",
                        v.name
                    ),
                )
                .at(expr.range)
                .context(*range),
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
        let only_warn = self.only_warn && subject.kind != CheckKind::Variable;
        let record = |status, message| {
            if !self.phase.is_destroy() {
                self.checks.record(subject, status, message);
            }
        };
        let mut ok = true;
        for c in conditions {
            match self.condition(c, scope, subject.kind) {
                Ok(None) => record(CheckStatus::Unknown, None),
                Ok(Some(Ok(()))) => record(CheckStatus::Pass, None),
                Ok(Some(Err(unmet))) => {
                    ok = only_warn;
                    record(CheckStatus::Fail, unmet.message);
                    let mut d = Diagnostic::error(summary, unmet.told).at(c.condition.range).context(context);
                    if summary == VALIDATION_FAILED {
                        d.detail = format!("{}\n\nThis was checked by the validation rule at {}.", d.detail, {
                            self.program().config.sources.describe(c.range)
                        });
                        d.subject = Some(context);
                    }
                    d.kind = Kind::Condition;
                    d.checked = Some(subject.object.to_string());
                    if only_warn {
                        d.severity = Severity::Warning;
                    }
                    d.values = crate::lang::eval::mentions(&c.condition, scope, None);
                    self.report(d);
                }
                Err(d) => {
                    ok = false;
                    record(CheckStatus::Error, None);
                    self.report_all(d);
                }
            }
        }
        ok
    }

    /// Checks the conditions of an instance that stays as it is; false if one failed.
    pub fn unchanged_conditions(
        &self,
        block: &ResourceBlock,
        addr: &ResourceInstance,
        scope: RunScope<'_>,
        value: &Value,
    ) -> bool {
        let (l, subject) = (&block.lifecycle, Checkable::resource(addr));
        let at = block.header_range;
        self.conditions(&l.preconditions, &scope, &subject, "Resource precondition failed", at)
            && self.conditions(
                &l.postconditions,
                &scope.with_self(value.clone()),
                &subject,
                "Resource postcondition failed",
                at,
            )
    }

    /// `Ok(None)`: not known yet, or not looked at while validating. `Ok(Some(Err(…)))`: false.
    ///
    /// The message is evaluated also where it is not needed, so that mistakes in it are found.
    fn condition(
        &self,
        c: &Condition,
        scope: &dyn Scope,
        kind: CheckKind,
    ) -> Result<Option<Result<(), Unmet>>, Diagnostics> {
        let wrong = |e: &Expr| self.program().problems_within(e.range).iter().any(Diagnostic::is_error);
        if self.program().has_problems() && (wrong(&c.condition) || wrong(&c.error_message)) {
            return Ok(None);
        }
        let validating = self.phase == Phase::Validate;
        let mut diags = Diagnostics::new();
        let told_when_planned = validating && kind == CheckKind::Check;
        let value = if told_when_planned { None } else { diags.take(c.condition.eval(scope)) };
        let message = diags.take(c.error_message.eval(scope));
        if kind == CheckKind::Variable {
            return self.validation(c, value, message, diags);
        }
        if validating && kind == CheckKind::Resource {
            return if diags.has_errors() { Err(diags) } else { Ok(None) };
        }
        let message = message.and_then(|m| diags.take(self.message(c, &m)));
        let (Some(value), Some(message)) = (value, message) else {
            return if diags.has_errors() { Err(diags) } else { Ok(None) };
        };
        match holds(c, &value)? {
            Some(true) => Ok(Some(Ok(()))),
            Some(false) => Ok(Some(Err(message))),
            None => Ok(None),
        }
    }

    /// The same for the condition of a variable, whose message counts only where the condition is false.
    fn validation(
        &self,
        c: &Condition,
        value: Option<Value>,
        message: Option<Value>,
        mut diags: Diagnostics,
    ) -> Result<Option<Result<(), Unmet>>, Diagnostics> {
        let holds = value.and_then(|v| diags.take(holds(c, &v).map_err(Box::new))).flatten();
        if holds == Some(false) {
            let message = message.unwrap_or(Value::unknown(Type::String));
            match convert(&message, &Type::String) {
                Ok(m) if !m.unmark().0.is_known() => {
                    let detail = "The condition is not met, but its error message is not known yet.";
                    diags.push(invalid_message(c, detail.into()));
                }
                Ok(m) => return Ok(Some(Err(self.told(c, &m)))),
                Err(e) => {
                    self.report(invalid_message(c, format!("The message does not suit: {e}.")));
                    return Ok(Some(Err(Unmet { message: None, told: NO_MESSAGE.to_owned() })));
                }
            }
        }
        if diags.has_errors() { Err(diags) } else { Ok(holds.map(|_| Ok(()))) }
    }

    /// The message of a condition that is not that of a variable.
    fn message(&self, c: &Condition, message: &Value) -> Result<Unmet, Failure> {
        match convert(message, &Type::String) {
            Ok(m) if m.is_null() => Err(Box::new(invalid_message(c, "The message is null.".into()))),
            Ok(m) => Ok(self.told(c, &m)),
            Err(e) => Err(Box::new(invalid_message(c, format!("The message does not suit: {e}.")))),
        }
    }

    /// What is said of a condition that does not hold; `message` is a string.
    fn told(&self, c: &Condition, message: &Value) -> Unmet {
        let without = |told: String| Unmet { message: None, told };
        if !message.unmark().0.is_known() {
            return without("The condition is not met; its error message is not known yet.".to_owned());
        }
        let marks = message.deep_marks();
        if marks.contains(Marks::SENSITIVE) || marks.contains(Marks::EPHEMERAL) {
            let what = if marks.contains(Marks::SENSITIVE) { "sensitive" } else { "ephemeral" };
            self.report(
                Diagnostic::warning(
                    format!("Error message refers to {what} values"),
                    "The message of this condition contains a value that must not be shown, so it is withheld. Use \
                     nonsensitive() on the parts that are safe.",
                )
                .at(c.error_message.range),
            );
            return without(format!("The message of the failed condition contains a {what} value and is not shown."));
        }
        match message.as_str().map(str::trim).filter(|s| !s.is_empty()) {
            Some(text) => Unmet { message: Some(text.into()), told: text.to_owned() },
            None => without(NO_MESSAGE.to_owned()),
        }
    }

    // ---- outputs

    fn output(&self, run: &Arc<ModuleRun>, slot: Slot) -> bool {
        let program = self.program().clone();
        let o = &program.modules[run.id].module().outputs[slot as usize];
        let Some((name, _)) = program.modules[run.id].module().outputs.get_index(slot as usize) else { return true };
        if o.ephemeral && run.addr.is_root() && !self.phase.is_destroy() {
            self.report(
                Diagnostic::error(
                    "Ephemeral output not allowed",
                    "An output of the root module is stored, so it cannot be ephemeral.",
                )
                .at(o.range),
            );
            return false;
        }
        let scope = self.runtime.scope(run, &Repeat::None);
        let subject = Checkable::output(&run.addr, name);
        if !o.preconditions.is_empty() && (run.addr.is_root() || !self.phase.is_destroy()) {
            self.checks.expect(&subject, o.preconditions.len());
        }
        let conditions = !self.phase.is_destroy() && !o.preconditions.is_empty();
        if conditions
            && !self.conditions(&o.preconditions, &scope, &subject, "Module output value precondition failed", o.range)
        {
            return false;
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
        if o.ephemeral && !marks.contains(Marks::EPHEMERAL) && !self.phase.is_destroy() {
            self.report(
                Diagnostic::error(
                    "Value not allowed in ephemeral output",
                    "This output is declared as ephemeral, so its value must be ephemeral too.",
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
            let repeats = match (self.repeats(&call.repetition, run), self.phase) {
                // One instance stands for all, even where there would be none.
                (Some(_), Phase::Validate) => vec![Repeat::Unknown],
                (Some(repeats), _) => repeats,
                (None, _) => return false,
            };
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
        self.expect_checks(child, &all);
        if all.is_empty() && !self.phase.is_destroy() {
            self.expect_nothing(child);
        }
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

    /// A module without instances: what is declared in it has none either.
    fn expect_nothing(&self, m: ModuleId) {
        let meta = &self.program().modules[m];
        let addr = ModuleInstance::of(&meta.node.addr);
        let none = |c: Checkable| self.checks.expand(c.kind, c.config);
        let checked = meta.module().variables.values().filter(|v| !v.validations.is_empty());
        checked.for_each(|v| none(Checkable::variable(&addr, &v.name)));
        let checked = meta.module().outputs.iter().filter(|(_, o)| !o.preconditions.is_empty());
        checked.for_each(|(name, _)| none(Checkable::output(&addr, name)));
        let checked = meta.module().resources.values().filter(|r| r.lifecycle.has_conditions() && r.check.is_none());
        checked.for_each(|r| {
            let abs = AbsResource { module: addr.clone(), resource: r.addr.clone() };
            self.checks.expand(CheckKind::Resource, abs.config().to_string());
        });
    }

    /// The instances of a resource are known, and with them the conditions that will be checked.
    pub fn expect_conditions(&self, block: &ResourceBlock, abs: &AbsResource, repeats: &[Repeat]) {
        let l = &block.lifecycle;
        if self.phase.is_destroy() || !l.has_conditions() || block.check.is_some() {
            return;
        }
        self.checks.expand(CheckKind::Resource, abs.config().to_string());
        let count = l.preconditions.len() + l.postconditions.len();
        repeats.iter().for_each(|r| self.checks.expect(&Checkable::resource(&abs.instance(r.key())), count));
    }

    /// Which check blocks there are follows from the instances of their module alone.
    fn expect_checks(&self, m: ModuleId, runs: &[Arc<ModuleRun>]) {
        if self.phase.is_destroy() {
            return;
        }
        let meta = &self.program().modules[m];
        for (slot, check) in meta.module().checks.values().enumerate() {
            if !self.is_included(meta.check_index(slot as Slot)) {
                continue;
            }
            let declaration = Checkable::check(&ModuleInstance::of(&meta.node.addr), &check.name);
            self.checks.expand(declaration.kind, declaration.config);
            runs.iter().for_each(|r| self.checks.expect(&Checkable::check(&r.addr, &check.name), check.asserts.len()));
        }
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

    // ---- checks

    fn check(&self, run: &Arc<ModuleRun>, slot: Slot) -> bool {
        if self.phase.is_destroy() {
            return true;
        }
        let program = self.program().clone();
        let check = &program.modules[run.id].module().checks[slot as usize];
        let scope = self.runtime.scope(run, &Repeat::None);
        let subject = Checkable::check(&run.addr, &check.name);
        if self.checks.has_failed(&subject) {
            // Its data source could not be read, so there is nothing to look at.
            return true;
        }
        for c in &check.asserts {
            let told = |summary: &str, detail: String| {
                let mut d = Diagnostic::warning(summary, detail).at(c.condition.range).context(check.header_range);
                d.kind = Kind::CheckAssertion;
                d.checked = Some(subject.object.to_string());
                d.values = crate::lang::eval::mentions(&c.condition, &scope, None);
                self.report(d);
            };
            match self.condition(c, &scope, CheckKind::Check) {
                Ok(None) => {
                    self.checks.record(&subject, CheckStatus::Unknown, None);
                    if self.phase == Phase::Plan {
                        let detail = "Whether the condition holds is known only after apply, so it is checked then.";
                        told("Check block assertion known after apply", detail.into());
                    }
                }
                Ok(Some(Ok(()))) => self.checks.record(&subject, CheckStatus::Pass, None),
                Ok(Some(Err(unmet))) => {
                    self.checks.record(&subject, CheckStatus::Fail, unmet.message);
                    told("Check block assertion failed", unmet.told);
                }
                Err(found) => {
                    self.checks.record(&subject, CheckStatus::Error, None);
                    self.report_all(found);
                }
            }
        }
        true
    }
}

/// A condition that does not hold.
struct Unmet {
    /// Its message, if it has one that may be shown and is known.
    message: Option<Str>,
    /// What is said of it.
    told: String,
}

/// Whether a condition holds, once that is known.
fn holds(c: &Condition, value: &Value) -> Result<Option<bool>, Diagnostic> {
    let invalid = |detail: &str| Diagnostic::error("Invalid condition result", detail).at(c.condition.range);
    let (value, _) = value.unmark();
    match value {
        Value::Null(_) => Err(invalid("The condition is null, but must be true or false.")),
        Value::Unknown(_) => Ok(None),
        value => match convert(value, &Type::Bool) {
            Ok(Value::Bool(holds)) => Ok(Some(holds)),
            _ => Err(invalid("The condition must be true or false.")),
        },
    }
}

fn invalid_message(c: &Condition, detail: String) -> Diagnostic {
    Diagnostic::error("Invalid error message", detail).at(c.error_message.range)
}

/// As many as a semaphore can have, and one at least.
fn permits(wanted: usize) -> usize {
    wanted.clamp(1, Semaphore::MAX_PERMITS)
}

/// Enters everything that has conditions, before it is known which instances there are.
fn declare_checks(program: &Program, checks: &CheckLog) {
    for (m, meta) in program.modules.iter().enumerate() {
        let (addr, module) = (ModuleInstance::of(&meta.node.addr), meta.module());
        let declare = |c: Checkable| checks.declare(c.kind, c.config);
        let checked = module.variables.values().filter(|v| !v.validations.is_empty());
        checked.for_each(|v| declare(Checkable::variable(&addr, &v.name)));
        let checked = module.outputs.iter().filter(|(_, o)| !o.preconditions.is_empty());
        checked.for_each(|(name, _)| declare(Checkable::output(&addr, name)));
        module.checks.values().for_each(|c| declare(Checkable::check(&addr, &c.name)));
        for (slot, block) in module.resources.values().enumerate() {
            if block.lifecycle.has_conditions() && block.check.is_none() {
                checks.declare(CheckKind::Resource, program.config_resource(m, slot as Slot).to_string());
            }
        }
    }
}

//! The values of one walk over a program: module instances with one cell for each declared object, and the scope in
//! which expressions of a module instance are evaluated. A cell is set once, when its node is done.

use crate::addr::{InstanceKey, ModuleInstance};
use crate::config::model::{Module, ResourceBlock};
use crate::diag::{Diagnostic, Result};
use crate::engine::program::{ModuleId, Program};
use crate::engine::walk::Phase;
use crate::lang::functions::FunctionContext;
use crate::lang::scope::Scope;
use crate::lang::syntax::{Call, Slot, Target, Traversal};
use gpuform_schema::{Marks, Str, Type, Value};
use std::sync::{Arc, OnceLock};

/// What `count.index`, `each.key` and `each.value` mean.
#[derive(Clone, Default, Debug)]
pub enum Repeat {
    #[default]
    None,
    Count(u64),
    Each(Str, Value),
    /// During validation, where instances are not known.
    Unknown,
}

impl Repeat {
    /// The instance of a stored object, whose `each.value` is not known.
    pub fn of_key(key: &InstanceKey) -> Repeat {
        match key {
            InstanceKey::None => Repeat::None,
            InstanceKey::Int(i) => Repeat::Count(*i),
            InstanceKey::String(s) => Repeat::Each(s.clone(), Value::unknown(Type::Dynamic)),
        }
    }

    pub fn key(&self) -> InstanceKey {
        match self {
            Repeat::None | Repeat::Unknown => InstanceKey::None,
            Repeat::Count(i) => InstanceKey::Int(*i),
            Repeat::Each(k, _) => InstanceKey::String(k.clone()),
        }
    }
}

/// One instance of a module.
pub struct ModuleRun {
    pub id: ModuleId,
    pub addr: ModuleInstance,
    /// The calling module instance and the slot of the call.
    pub parent: Option<(Arc<ModuleRun>, Slot)>,
    /// The instance of the call, for the expressions of its inputs.
    pub repeat: Repeat,
    pub variables: Box<[OnceLock<Value>]>,
    pub locals: Box<[OnceLock<Value>]>,
    pub outputs: Box<[OnceLock<Value>]>,
    /// All instances of a resource as one value.
    pub resources: Box<[OnceLock<Value>]>,
    calls: Box<[CallRun]>,
    dir: String,
}

/// The instances of one module call, and its value as far as it was asked for.
#[derive(Default)]
struct CallRun {
    instances: OnceLock<Vec<Arc<ModuleRun>>>,
    whole: OnceLock<Value>,
    /// By output slot: the value of the call with this output alone.
    single: OnceLock<Box<[OnceLock<Value>]>>,
}

fn cells<T>(n: usize) -> Box<[OnceLock<T>]> {
    (0..n).map(|_| OnceLock::new()).collect()
}

impl ModuleRun {
    pub fn new(
        program: &Program,
        id: ModuleId,
        addr: ModuleInstance,
        parent: Option<(Arc<ModuleRun>, Slot)>,
        repeat: Repeat,
    ) -> ModuleRun {
        let module = program.modules[id].module();
        ModuleRun {
            id,
            addr,
            parent,
            repeat,
            variables: cells(module.variables.len()),
            locals: cells(module.locals.len()),
            outputs: cells(module.outputs.len()),
            resources: cells(module.resources.len()),
            calls: module.calls.iter().map(|_| CallRun::default()).collect(),
            dir: module.dir.to_string_lossy().replace('\\', "/"),
        }
    }

    pub fn set_call_instances(&self, slot: Slot, instances: Vec<Arc<ModuleRun>>) {
        let _ = self.calls[slot as usize].instances.set(instances);
    }

    pub fn call_instances(&self, slot: Slot) -> &[Arc<ModuleRun>] {
        self.calls[slot as usize].instances.get().map_or(&[], Vec::as_slice)
    }
}

/// All module instances of a walk.
pub struct Runtime {
    pub program: Arc<Program>,
    /// By module id: its instances, once its call is expanded.
    modules: Vec<OnceLock<Vec<Arc<ModuleRun>>>>,
    pub place: Place,
    /// What `plantimestamp()` gives.
    pub plan_timestamp: Option<String>,
    pub applying: bool,
    /// Nothing is known but what is written: the values of module calls are unknown.
    pub validating: bool,
    /// Whether functions such as `uuid()` give their results.
    pub impure: bool,
    pub provider_functions: Arc<dyn ProviderFunctions>,
}

/// Where the program runs: what `path.*` and `terraform.workspace` say, and where the file functions look.
#[derive(Clone, Default, Debug)]
pub struct Place {
    /// The directory that relative paths start from: the one gpuform works in.
    pub base_dir: std::path::PathBuf,
    /// What `~` stands for.
    pub home: Option<std::path::PathBuf>,
    /// The socket of the user's SSH agent.
    pub ssh_agent: Option<std::path::PathBuf>,
    /// `path.cwd`
    pub cwd: String,
    /// `path.root`
    pub root: String,
    pub workspace: String,
}

/// Calls a function that a provider defines; blocks until it answers.
pub trait ProviderFunctions: Send + Sync {
    fn call(&self, module: &Module, call: &Call, arguments: &[Value]) -> Result<Value>;
}

impl Runtime {
    pub fn new(
        program: Arc<Program>,
        place: &Place,
        plan_timestamp: Option<String>,
        phase: Phase,
        provider_functions: Arc<dyn ProviderFunctions>,
    ) -> Runtime {
        let modules = cells(program.modules.len()).into_vec();
        let root = Arc::new(ModuleRun::new(&program, 0, ModuleInstance::root(), None, Repeat::None));
        let _ = modules[0].set(vec![root]);
        Runtime {
            program,
            modules,
            place: place.clone(),
            plan_timestamp,
            applying: phase.is_apply(),
            validating: phase == Phase::Validate,
            impure: phase.is_apply() || phase == Phase::Look,
            provider_functions,
        }
    }

    /// The instances of a module whose call is expanded.
    pub fn instances(&self, id: ModuleId) -> &[Arc<ModuleRun>] {
        self.modules[id].get().map_or(&[], Vec::as_slice)
    }

    pub fn root(&self) -> &Arc<ModuleRun> {
        &self.instances(0)[0]
    }

    pub fn set_instances(&self, id: ModuleId, instances: Vec<Arc<ModuleRun>>) {
        let _ = self.modules[id].set(instances);
    }

    pub fn scope<'a>(&'a self, module: &'a ModuleRun, repeat: &'a Repeat) -> RunScope<'a> {
        let functions = FunctionContext {
            base_dir: &self.place.base_dir,
            home: self.place.home.as_deref(),
            plan_timestamp: self.plan_timestamp.as_deref(),
            impure: self.impure,
            templates: None,
        };
        RunScope { runtime: self, module, repeat, this: None, variable: None, functions }
    }

    fn call_value(&self, module: &ModuleRun, slot: Slot, t: &Traversal) -> Value {
        let call = &module.calls[slot as usize];
        let Some(instances) = call.instances.get() else { return Value::unknown(Type::Dynamic) };
        let child = self.program.modules[module.id].children[slot as usize];
        let declared = &self.program.modules[child].module().outputs;
        let names: Arc<[Str]> = {
            let mut names: Vec<Str> = declared.keys().cloned().collect();
            names.sort();
            names.into()
        };
        if self.validating {
            let object = Type::object(names.iter().map(|n| (n.clone(), Type::Dynamic)));
            return Value::unknown(match self.repetition_kind(module, slot) {
                Kind::Single => object,
                Kind::Tuple => Type::list(object),
                Kind::Object => Type::map(object),
            });
        }
        let build = |only: Option<Slot>| {
            let one = |run: &Arc<ModuleRun>| {
                let values = names.iter().map(|n| {
                    let slot = declared.get_index_of(n).unwrap_or_default();
                    let wanted = only.is_none_or(|o| o as usize == slot);
                    let value = run.outputs[slot].get().filter(|_| wanted).cloned();
                    let value = value.unwrap_or_else(|| Value::unknown(Type::Dynamic));
                    if declared[slot].sensitive { value.with_marks(Marks::SENSITIVE) } else { value }
                });
                Value::object_with_names(names.clone(), values.collect())
            };
            combine(instances.iter().map(|r| (r.repeat.clone(), one(r))), &self.repetition_kind(module, slot))
        };
        match self.program.output_of(module.id, slot, t) {
            Some(output) => {
                let single = call.single.get_or_init(|| cells(declared.len()));
                single[output as usize].get_or_init(|| build(Some(output))).clone()
            }
            None => call.whole.get_or_init(|| build(None)).clone(),
        }
    }

    fn repetition_kind(&self, module: &ModuleRun, slot: Slot) -> Kind {
        let call = &self.program.modules[module.id].module().calls[slot as usize];
        Kind::of(&call.repetition)
    }
}

/// How instances combine into the value of the whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Single,
    Tuple,
    Object,
}

impl Kind {
    pub fn of(r: &crate::config::model::Repetition) -> Kind {
        use crate::config::model::Repetition;
        match r {
            Repetition::Single | Repetition::Enabled(_) => Kind::Single,
            Repetition::Count(_) => Kind::Tuple,
            Repetition::ForEach(_) => Kind::Object,
        }
    }

    pub fn of_block(block: &ResourceBlock) -> Kind {
        Kind::of(&block.repetition)
    }
}

/// The value of a repeated object from those of its instances: the object itself, a tuple in order of index, or an
/// object by key.
pub fn combine(instances: impl Iterator<Item = (Repeat, Value)>, kind: &Kind) -> Value {
    let mut instances = instances.peekable();
    if let Some((Repeat::Unknown, _)) = instances.peek() {
        return Value::unknown(Type::Dynamic);
    }
    match kind {
        Kind::Single => instances.next().map_or_else(Value::null, |(_, v)| v),
        Kind::Tuple => Value::tuple(instances.map(|(_, v)| v).collect()),
        Kind::Object => Value::object(instances.filter_map(|(r, v)| match r {
            Repeat::Each(k, _) => Some((k, v)),
            _ => None,
        })),
    }
}

/// The names that expressions of one module instance see.
pub struct RunScope<'a> {
    runtime: &'a Runtime,
    module: &'a ModuleRun,
    repeat: &'a Repeat,
    this: Option<Value>,
    /// One variable with another value than what the rest of the module sees.
    variable: Option<(Slot, Value)>,
    functions: FunctionContext<'a>,
}

impl RunScope<'_> {
    /// With `self`.
    #[must_use]
    pub fn with_self(mut self, value: Value) -> Self {
        self.this = Some(value);
        self
    }

    /// With this value of a variable.
    #[must_use]
    pub fn with_variable(mut self, slot: Slot, value: Value) -> Self {
        self.variable = Some((slot, value));
        self
    }

    fn cell(&self, cell: &OnceLock<Value>) -> Value {
        // A cell may be empty where an earlier error left something out; the error is already reported.
        cell.get().cloned().unwrap_or_else(|| Value::unknown(Type::Dynamic))
    }
}

impl Scope for RunScope<'_> {
    fn value(&self, t: &Traversal) -> Result<Value> {
        let m = self.module;
        Ok(match &t.target {
            Target::Variable(s) => match &self.variable {
                Some((own, value)) if own == s => value.clone(),
                _ => self.cell(&m.variables[*s as usize]),
            },
            Target::Local(s) => self.cell(&m.locals[*s as usize]),
            Target::Resource(s) => self.cell(&m.resources[*s as usize]),
            Target::ModuleCall(s) => self.runtime.call_value(m, *s, t),
            Target::CountIndex => match self.repeat {
                Repeat::Count(i) => Value::number(*i),
                Repeat::Unknown => Value::unknown_not_null(Type::Number),
                _ => return misplaced(t, "count.index", "count"),
            },
            Target::EachKey => match self.repeat {
                Repeat::Each(k, _) => Value::String(k.clone()),
                Repeat::Unknown => Value::unknown_not_null(Type::String),
                _ => return misplaced(t, "each.key", "for_each"),
            },
            Target::EachValue => match self.repeat {
                Repeat::Each(_, v) => v.clone(),
                Repeat::Unknown => Value::unknown(Type::Dynamic),
                _ => return misplaced(t, "each.value", "for_each"),
            },
            Target::SelfObject => match &self.this {
                Some(v) => v.clone(),
                None => {
                    return Err(Box::new(
                        Diagnostic::error(
                            "Invalid \"self\" reference",
                            "The name \"self\" means the resource around it, and exists only in provisioners, \
                             connections and postconditions.",
                        )
                        .at(t.root_range),
                    ));
                }
            },
            Target::PathModule => Value::string(&m.dir),
            Target::PathRoot => Value::string(&self.runtime.place.root),
            Target::PathCwd => Value::string(&self.runtime.place.cwd),
            Target::TerraformWorkspace => Value::string(&self.runtime.place.workspace),
            Target::TerraformApplying => Value::Bool(self.runtime.applying).with_marks(Marks::EPHEMERAL),
            Target::Unresolved | Target::Scoped | Target::Provider(_) | Target::Run(_) | Target::Output(_) => {
                Value::unknown(Type::Dynamic)
            }
        })
    }

    fn function_context(&self) -> &FunctionContext<'_> {
        &self.functions
    }

    fn provider_function(&self, call: &Call, arguments: &[Value]) -> Result<Value> {
        let module = self.runtime.program.modules[self.module.id].module();
        self.runtime.provider_functions.call(module, call, arguments)
    }
}

fn misplaced(t: &Traversal, name: &str, argument: &str) -> Result<Value> {
    let summary = match &t.target {
        Target::CountIndex => "Reference to \"count\" in non-counted context",
        Target::EachKey => "Reference to \"each\" in context without for_each",
        _ => "each.value cannot be used in this context",
    };
    let detail = format!("\"{name}\" has a value only inside a block that has the argument \"{argument}\".");
    let range = t.steps.first().map_or(t.root_range, |s| t.root_range.to(s.range));
    Err(Box::new(Diagnostic::error(summary, detail).at(range)))
}

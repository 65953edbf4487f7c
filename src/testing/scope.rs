//! What names in test files mean: variables of the file and from outside, outputs of earlier runs, and, in assertions,
//! the objects of the module that was run.

use crate::addr::Resource;
use crate::config::model::Module;
use crate::diag::{Diagnostic, Diagnostics, Range, Result};
use crate::engine::Evaluated;
use crate::engine::runtime::Place;
use crate::lang::functions::FunctionContext;
use crate::lang::resolve::{self, Allowed, Declared, Keys, Symbols};
use crate::lang::scope::Scope;
use crate::lang::syntax::{Call, Expr, Slot, StepKind, Target, Traversal};
use gpuform_schema::{Str, Type, Value};
use indexmap::IndexMap;
use std::collections::BTreeMap;

/// The names that a test file gives a meaning to.
#[derive(Clone, Default, Debug)]
pub struct Environment {
    /// Variables of the file and from outside.
    pub variables: IndexMap<Str, Value>,
    /// Outputs of the runs that were carried out.
    pub outputs: BTreeMap<Str, Value>,
    /// All runs of the file; false for those that only plan.
    pub runs: BTreeMap<Str, bool>,
    pub place: Place,
}

/// Where an expression of a test file stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Position {
    FileVariables,
    RunVariables,
    Provider,
    Assertion,
}

impl Environment {
    /// Checks what an expression outside of assertions refers to, and gives its value. `None` after errors.
    pub fn eval(&self, expr: &Expr, position: Position, diags: &mut Diagnostics) -> Option<Value> {
        let before = diags.len();
        expr.visit_traversals(&mut |t| self.check(t, position, diags));
        if diags.len() > before {
            return None;
        }
        let mut expr = expr.clone();
        let names = Names { environment: self, module: None };
        resolve::resolve(&mut expr, &names, ALLOWED, diags);
        let value = expr.eval_in(&self.scope(None), None, diags);
        (diags.len() == before).then_some(value)
    }

    /// Reports a reference that has no meaning where it stands.
    pub fn check(&self, t: &Traversal, position: Position, diags: &mut Diagnostics) {
        match &*t.root {
            "run" if position == Position::FileVariables => diags.error(
                "Invalid reference",
                "The variables of a file are the same for all of its runs, so they cannot refer to runs.",
                t.range(),
            ),
            "run" => self.check_run(t, diags),
            _ if position == Position::Assertion => {}
            "var" => {
                if let Some(StepKind::Attr(name)) = t.steps.first().map(|s| &s.kind)
                    && !self.variables.contains_key(name)
                {
                    let known = if position == Position::FileVariables {
                        "values from outside (-var, -var-file and the environment)"
                    } else {
                        "variables of the file and values from outside (-var, -var-file and the environment)"
                    };
                    diags.error(
                        "Reference to unavailable variable",
                        format!("There is no value for var.{name} here, where only {known} count."),
                        t.range(),
                    );
                }
            }
            _ => diags.error(
                "Invalid reference",
                "Only variables of the file, values from outside and outputs of earlier runs can be referred to here.",
                t.range(),
            ),
        }
    }

    fn check_run(&self, t: &Traversal, diags: &mut Diagnostics) {
        let Some(StepKind::Attr(name)) = t.steps.first().map(|s| &s.kind) else { return };
        let Some(outputs) = self.outputs.get(name) else {
            let (summary, what) = if self.runs.contains_key(name) {
                ("Reference to unavailable run block", "was not carried out yet")
            } else {
                ("Reference to unknown run block", "is not in this file")
            };
            let detail =
                format!("The run \"{name}\" {what}. A run can use the outputs of those before it in the same file.");
            return diags.error(summary, detail, t.range());
        };
        let Some(StepKind::Attr(output)) = t.steps.get(1).map(|s| &s.kind) else { return };
        let planned = self.runs.get(name) == Some(&false);
        if planned && outputs.get(output).is_some_and(|v| !v.is_known()) {
            let detail =
                format!("The run \"{name}\" only plans, and its output \"{output}\" is known only after an apply.");
            diags.error("Reference to unknown value", detail, t.range());
        }
    }

    /// The scope of expressions: of assertions where the module that was run is given.
    pub fn scope<'a>(&'a self, run: Option<&'a Ran<'a>>) -> TestScope<'a> {
        let functions = FunctionContext {
            base_dir: &self.place.base_dir,
            home: self.place.home.as_deref(),
            plan_timestamp: None,
            impure: true,
            templates: None,
        };
        TestScope { environment: self, run, functions }
    }
}

/// Runs may be referred to everywhere; where they may not, that was said before names are resolved.
pub const ALLOWED: Allowed<'static> =
    Allowed { count: false, each: false, self_object: false, tests: true, check: None, scoped: &[] };

/// A module that was run, with its values.
pub struct Ran<'a> {
    pub module: &'a Module,
    pub evaluated: &'a Evaluated,
    pub scope: &'a dyn Scope,
}

/// The names of a test file, and of the module that was run. Variables of the module come before those of the file.
pub struct Names<'a> {
    pub environment: &'a Environment,
    pub module: Option<&'a Module>,
}

impl Names<'_> {
    fn declared(&self) -> usize {
        self.module.map_or(0, |m| m.variables.len())
    }
}

impl Symbols for Names<'_> {
    fn variable(&self, name: &str) -> Option<Slot> {
        let own = self.module.and_then(|m| m.variable(name));
        own.or_else(|| Some((self.declared() + self.environment.variables.get_index_of(name)?) as Slot))
    }

    fn local(&self, name: &str) -> Option<Slot> {
        self.module?.local(name)
    }

    fn module_call(&self, name: &str) -> Option<Slot> {
        self.module?.module_call(name)
    }

    fn resource(&self, resource: &Resource) -> Option<Slot> {
        Symbols::resource(self.module?, resource)
    }

    fn keys(&self, resource: Slot) -> Keys {
        self.module.map_or(Keys::Single, |m| m.keys(resource))
    }

    fn names(&self, kind: Declared) -> Vec<&str> {
        let mut names = self.module.map(|m| m.names(kind)).unwrap_or_default();
        if kind == Declared::Variables {
            names.extend(self.environment.variables.keys().map(|n| &**n));
        }
        names
    }

    fn resources(&self) -> Vec<&Resource> {
        self.module.map(Symbols::resources).unwrap_or_default()
    }

    fn place(&self) -> String {
        self.module.map_or_else(|| "the test file".into(), Symbols::place)
    }
}

/// Gives the names of a test file their values.
pub struct TestScope<'a> {
    environment: &'a Environment,
    run: Option<&'a Ran<'a>>,
    functions: FunctionContext<'a>,
}

impl Scope for TestScope<'_> {
    fn value(&self, t: &Traversal) -> Result<Value> {
        let declared = self.run.map_or(0, |r| r.module.variables.len());
        match (&t.target, self.run) {
            (Target::Variable(slot), _) if *slot as usize >= declared => {
                let own = self.environment.variables.get_index(*slot as usize - declared);
                Ok(own.map_or_else(|| Value::unknown(Type::Dynamic), |(_, v)| v.clone()))
            }
            (Target::Run(name), _) => match self.environment.outputs.get(name) {
                Some(outputs) => Ok(outputs.clone()),
                None => undeclared("run block", name, t.range()),
            },
            (Target::Output(name), Some(run)) => match run.evaluated.output(name) {
                Some(value) => Ok(value),
                None => undeclared("output value", name, t.range()),
            },
            (_, Some(run)) => run.scope.value(t),
            _ => Ok(Value::unknown(Type::Dynamic)),
        }
    }

    fn function_context(&self) -> &FunctionContext<'_> {
        self.run.map_or(&self.functions, |r| r.scope.function_context())
    }

    fn provider_function(&self, call: &Call, args: &[Value]) -> Result<Value> {
        match self.run {
            Some(run) => run.scope.provider_function(call, args),
            None => Err(Box::new(
                Diagnostic::error(
                    "Unknown provider function",
                    "Functions of providers can be called in assertions only.",
                )
                .at(call.name_range),
            )),
        }
    }
}

fn undeclared(what: &str, name: &str, at: Range) -> Result<Value> {
    let detail = format!("There is no {what} \"{name}\" here.");
    Err(Box::new(Diagnostic::error(format!("Reference to undeclared {what}"), detail).at(at)))
}

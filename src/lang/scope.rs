//! What an expression is evaluated in: the objects that names stand for ([`Scope`], which the engine implements for
//! each place that has expressions) and the local variables of loops ([`Locals`]). No evaluation happens here.

use crate::diag::{Diagnostic, Result};
use crate::lang::functions::FunctionContext;
use crate::lang::syntax::{Call, Traversal};
use gpuform_schema::{Str, Value};
use std::path::Path;

/// Where the names in an expression get their values from.
pub trait Scope: Sync {
    /// The value of what a resolved traversal names (`var.x`, `aws_instance.a`). The steps after
    /// [`Traversal::consumed`] are applied by the evaluator. For `Target::Unresolved`, of which an error was reported
    /// already, it is unknown.
    ///
    /// # Errors
    /// When the object cannot be used here, or its value could not be computed.
    fn value(&self, traversal: &Traversal) -> Result<Value>;

    /// What functions may know of the world: paths, the time of the plan.
    fn function_context(&self) -> &FunctionContext<'_>;

    /// Whether the expression is part of a template file or string, which cannot render further ones.
    fn in_template(&self) -> bool {
        false
    }

    /// Calls `provider::NAME::FUNCTION`.
    ///
    /// # Errors
    /// When there is no such function here, or the provider refuses the arguments. `argument` in the failure's
    /// subject is filled in by the evaluator where it is missing.
    fn provider_function(&self, call: &Call, args: &[Value]) -> Result<Value> {
        let _ = args;
        Err(Box::new(
            Diagnostic::error(
                "Unknown provider function",
                format!("There is no provider here that offers the function \"{}\".", call.name),
            )
            .at(call.name_range),
        ))
    }
}

/// A scope without any objects: literals and functions only.
pub struct EmptyScope<'a> {
    pub functions: FunctionContext<'a>,
}

impl Default for EmptyScope<'_> {
    /// With functions that see no files but those of the working directory, and no plan.
    fn default() -> Self {
        EmptyScope {
            functions: FunctionContext {
                base_dir: Path::new("."),
                home: None,
                plan_timestamp: None,
                impure: true,
                templates: None,
            },
        }
    }
}

impl Scope for EmptyScope<'_> {
    fn value(&self, traversal: &Traversal) -> Result<Value> {
        Err(Box::new(
            Diagnostic::error("Variables not allowed", "Only literal values and function calls can be used here.")
                .at(traversal.range()),
        ))
    }

    fn function_context(&self) -> &FunctionContext<'_> {
        &self.functions
    }
}

/// Local variables, innermost first: a list of frames on the stack, so that a loop adds one without copying the others.
#[derive(Clone, Copy)]
pub struct Locals<'a> {
    pub parent: Option<&'a Locals<'a>>,
    pub name: &'a Str,
    pub value: &'a Value,
}

impl<'a> Locals<'a> {
    /// The value of the innermost variable of that name.
    pub fn get(&self, name: &str) -> Option<&'a Value> {
        let mut frame = self;
        loop {
            if **frame.name == *name {
                return Some(frame.value);
            }
            frame = frame.parent?;
        }
    }
}

//! The built-in functions: one file per family, one plain Rust function each. This file has what the evaluator calls:
//! finding a function by name and calling it with values; `signature.rs` turns the Rust signatures into parameters.

mod charset;
mod collection;
mod crypto;
mod csv;
pub mod datetime;
mod deflate;
mod encoding;
mod filesystem;
mod format;
mod glob;
mod mapping;
mod network;
mod numeric;
mod pattern;
mod private_key;
mod set;
mod signature;
mod string;
#[cfg(test)]
mod tests;
mod types;
mod yaml;
mod yaml_writer;

use crate::lang::convert::{ConvertError, convert};
use crate::lang::limits::{self, MAX_TEXT};
use gpuform_schema::number::Number;
use gpuform_schema::types::Type;
use gpuform_schema::value::{Marks, Value};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

/// A built-in function.
pub struct Function {
    pub name: &'static str,
    /// What it does, for documentation and editors.
    pub description: String,
    /// The positional parameters.
    pub parameters: Vec<Parameter>,
    /// The parameter that takes all further arguments, if there is one.
    pub variadic: Option<Parameter>,
    /// The type of every result; `Dynamic` where it depends on the arguments.
    pub returns: Type,
    /// How much of the work is done by the function itself.
    implementation: Implementation,
}

enum Implementation {
    Plain(fn(Vec<Value>, &FunctionContext) -> Result<Value, FunctionError>),
    /// The evaluator implements it, because it must see the argument expressions (`try`, `can`).
    Evaluator,
}

/// A parameter of a function.
pub struct Parameter {
    pub name: &'static str,
    /// May be empty.
    pub description: String,
    /// Arguments are converted to it.
    pub ty: Type,
    /// Whether null is an argument like any other.
    pub nullable: bool,
    /// Whether the function itself deals with unknown arguments.
    pub takes_unknown: bool,
    /// Whether the function itself deals with marks.
    pub takes_marks: bool,
    /// Whether nothing is known of the result while the type of the argument is not.
    pub needs_type: bool,
}

/// What functions may know besides their arguments.
pub struct FunctionContext<'a> {
    /// The folder that relative file names start from.
    pub base_dir: &'a Path,
    /// What `~` stands for in `pathexpand` and the file functions.
    pub home: Option<&'a Path>,
    /// The time when the plan was made, as `plantimestamp()` says it; `None` where there is no plan.
    pub plan_timestamp: Option<&'a str>,
    /// Whether functions whose results differ from call to call give results (they are unknown while planning).
    pub impure: bool,
    /// Renders the templates of `templatefile` and `templatestring`.
    pub templates: Option<&'a dyn Templates>,
}

/// Evaluates template source; implemented by the evaluator.
pub trait Templates: Sync {
    /// Renders `source`, called `name` in messages, with the attributes of the object `vars` as its variables.
    fn render(&self, source: &str, name: &str, vars: &Value) -> Result<Value, FunctionError>;
}

/// Why a call failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FunctionError {
    pub kind: FunctionErrorKind,
    /// One or more sentences.
    pub message: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FunctionErrorKind {
    TooFewArguments,
    TooManyArguments,
    /// The argument at this position, from 0, is to blame.
    Argument(usize),
    /// The call as a whole failed.
    Call,
}

impl FunctionError {
    /// The call as a whole failed.
    pub fn call(message: impl Into<String>) -> FunctionError {
        FunctionError { kind: FunctionErrorKind::Call, message: message.into() }
    }

    /// The argument at a position is to blame; the parameter's name is put before the message.
    pub fn argument(index: usize, message: impl Into<String>) -> FunctionError {
        FunctionError { kind: FunctionErrorKind::Argument(index), message: message.into() }
    }

    /// The same error, but its message, which may quote an argument, left out.
    fn without_reason(self) -> FunctionError {
        let message = "an argument is sensitive, so the reason is not shown".into();
        FunctionError { message, ..self }
    }

    /// The position of the argument to blame.
    pub fn argument_index(&self) -> Option<usize> {
        match self.kind {
            FunctionErrorKind::Argument(i) => Some(i),
            _ => None,
        }
    }

    /// The summary line of the diagnostic.
    pub fn summary(&self) -> &'static str {
        match self.kind {
            FunctionErrorKind::TooFewArguments => "Not enough function arguments",
            FunctionErrorKind::TooManyArguments => "Too many function arguments",
            FunctionErrorKind::Argument(_) => "Invalid function argument",
            FunctionErrorKind::Call => "Error in function call",
        }
    }
}

impl Function {
    /// Calls the function: checks and converts the arguments, and goes on as [`Function::call_converted`].
    pub fn call(&self, args: Vec<Value>, ctx: &FunctionContext) -> Result<Value, FunctionError> {
        self.check_arity(args.len())?;
        let args = args.into_iter().enumerate().map(|(i, arg)| self.convert_argument(i, arg));
        self.call_converted(args.collect::<Result<_, _>>()?, ctx)
    }

    /// Calls the function with arguments of the right number and types: deals with null, unknown and marked ones where
    /// the function does not do so itself, and runs it.
    pub fn call_converted(&self, args: Vec<Value>, ctx: &FunctionContext) -> Result<Value, FunctionError> {
        let Implementation::Plain(run) = self.implementation else {
            return Err(FunctionError::call(format!("{} cannot be called here.", self.name)));
        };
        let mut marks = Marks::NONE;
        let mut unknown = false;
        let mut prepared = Vec::with_capacity(args.len());
        for (i, arg) in args.into_iter().enumerate() {
            let Some(parameter) = self.parameter(i) else { continue };
            if arg.is_null() && !parameter.nullable {
                return Err(self.named(FunctionError::argument(i, "it must not be null")));
            }
            let arg = if parameter.takes_marks { arg } else { arg.unmark_deep(&mut marks) };
            if parameter.needs_type && arg.ty().is_dynamic() {
                return Ok(Value::unknown(Type::Dynamic).with_marks(marks | arg.marks()));
            }
            unknown |= !parameter.takes_unknown && !arg.is_known();
            prepared.push(arg);
        }
        if unknown {
            let result = match self.returns {
                Type::Dynamic => Value::unknown(Type::Dynamic),
                ref ty => Value::unknown_not_null(ty.clone()),
            };
            return Ok(result.with_marks(marks));
        }
        let given = prepared.clone();
        match run(prepared, ctx) {
            Ok(value) => Ok(value.with_marks(marks)),
            Err(e) => {
                let all = given.iter().fold(marks, |marks, v| marks | v.deep_marks());
                Err(self.named(if all.contains(Marks::SENSITIVE) { e.without_reason() } else { e }))
            }
        }
    }

    /// A value as the argument at a position, converted to the type of the parameter.
    pub fn convert_argument(&self, index: usize, value: Value) -> Result<Value, FunctionError> {
        match self.parameter(index) {
            Some(parameter) => convert(&value, &parameter.ty).map_err(|e| self.blame(index, &e)),
            None => Ok(value),
        }
    }

    /// Whether the evaluator implements this function itself (`try`, `can`).
    pub fn is_special(&self) -> bool {
        matches!(self.implementation, Implementation::Evaluator)
    }

    /// Fails when a call with this many arguments cannot be right.
    pub fn check_arity(&self, given: usize) -> Result<(), FunctionError> {
        let wanted = self.parameters.len();
        if let Some(missing) = self.parameters.get(given) {
            return Err(FunctionError {
                kind: FunctionErrorKind::TooFewArguments,
                message: format!(
                    "Function {:?} needs {}; {:?} is missing.",
                    self.name,
                    arguments(wanted),
                    missing.name
                ),
            });
        }
        if given > wanted && self.variadic.is_none() {
            return Err(FunctionError {
                kind: FunctionErrorKind::TooManyArguments,
                message: format!("Function {:?} takes {} only, but {given} are given.", self.name, arguments(wanted)),
            });
        }
        Ok(())
    }

    /// The parameter that takes the argument at a position.
    pub fn parameter(&self, index: usize) -> Option<&Parameter> {
        self.parameters.get(index).or(self.variadic.as_ref())
    }

    fn blame(&self, index: usize, e: &ConvertError) -> FunctionError {
        self.named(FunctionError::argument(index, e.to_string()))
    }

    /// Puts the parameter's name before the message of an error about an argument.
    fn named(&self, e: FunctionError) -> FunctionError {
        let message = e.message.trim_end_matches('.');
        match e.argument_index().and_then(|i| self.parameter(i)) {
            Some(p) => FunctionError { message: format!("Invalid value for {:?}: {message}.", p.name), ..e },
            None => FunctionError { message: format!("{message}."), ..e },
        }
    }
}

fn arguments(n: usize) -> String {
    match n {
        0 => "no arguments".into(),
        1 => "1 argument".into(),
        n => format!("{n} arguments"),
    }
}

static FUNCTIONS: LazyLock<BTreeMap<&'static str, Function>> = LazyLock::new(|| {
    let families = [
        charset::functions(),
        collection::functions(),
        crypto::functions(),
        csv::functions(),
        datetime::functions(),
        encoding::functions(),
        filesystem::functions(),
        format::functions(),
        mapping::functions(),
        network::functions(),
        numeric::functions(),
        set::functions(),
        string::functions(),
        types::functions(),
        types::special(),
        yaml::functions(),
    ];
    families.into_iter().flatten().map(|f| (f.name, f)).collect()
});

/// The function of a name, which may be written `core::NAME`.
pub fn lookup(name: &str) -> Option<&'static Function> {
    FUNCTIONS.get(name.strip_prefix("core::").unwrap_or(name))
}

/// All functions, sorted by name.
pub fn all() -> impl Iterator<Item = &'static Function> {
    FUNCTIONS.values()
}

/// A whole number of machine size; `name` is what the message calls it.
fn whole(name: &str, n: &Number) -> Result<i64, String> {
    n.as_i64().ok_or_else(|| format!("{name:?} must be a whole number between {} and {}", i64::MIN, i64::MAX))
}

/// The value as `jsonencode` writes it.
fn json_text(value: &Value) -> Result<String, String> {
    limits::check(value)?;
    let mut out = String::new();
    gpuform_schema::json::encode_untyped(value, &mut out).map_err(|e| e.to_string())?;
    Ok(out)
}

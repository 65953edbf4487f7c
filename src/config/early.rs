//! Values that are known before anything is planned: `source` and `version` of module calls and the arguments of the
//! backend may be made from input variables and local values, as in OpenTofu. The loader evaluates them while it builds
//! the tree of modules; what depends on anything else is an error with its place.

use super::model::{Backend, Module, ModuleCall, Variable};
use crate::diag::{Diagnostic, Diagnostics, Result};
use crate::lang::functions::FunctionContext;
use crate::lang::resolve::{self, Allowed};
use crate::lang::scope::Scope;
use crate::lang::syntax::{Body, Expr, ExprKind, NativeBody, Slot, Target, Traversal};
use crate::lang::visit::Met;
use gpuform_schema::{Marks, Str, Value};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::OnceLock;

/// Gives the values of the variables of a root module, not converted yet.
pub type GivenVariables<'a> = dyn Fn(&Module) -> BTreeMap<Str, Value> + Sync + 'a;

/// What expressions that are evaluated early can see besides the configuration.
#[derive(Clone, Default)]
pub struct Early<'a> {
    /// Asked only where a value is needed.
    pub variables: Option<&'a GivenVariables<'a>>,
    /// Where relative file names start from.
    pub base_dir: PathBuf,
    pub home: Option<PathBuf>,
    /// `path.cwd`
    pub cwd: String,
    pub workspace: String,
}

/// Whether an expression is more than a constant.
pub(super) fn is_early(expr: &Expr) -> bool {
    let mut found = false;
    expr.visit(&mut |met| found |= matches!(met, Met::Traversal(_) | Met::Call(..)));
    found
}

/// One module of the tree with the values in it that are known early.
pub(super) struct Frame<'a> {
    module: &'a Module,
    parent: Option<(&'a Frame<'a>, &'a ModuleCall)>,
    early: &'a Early<'a>,
    given: OnceLock<BTreeMap<Str, Value>>,
    variables: Vec<OnceLock<Result<Value>>>,
    locals: Vec<OnceLock<Result<Value>>>,
    dir: String,
}

impl<'a> Frame<'a> {
    pub fn root(module: &'a Module, early: &'a Early<'a>) -> Frame<'a> {
        Frame::new(module, None, early)
    }

    /// A module that a call of this one leads to.
    pub fn child(&'a self, module: &'a Module, call: &'a ModuleCall) -> Frame<'a> {
        Frame::new(module, Some((self, call)), self.early)
    }

    fn new(module: &'a Module, parent: Option<(&'a Frame<'a>, &'a ModuleCall)>, early: &'a Early<'a>) -> Frame<'a> {
        let cells = |n: usize| (0..n).map(|_| OnceLock::new()).collect();
        Frame {
            module,
            parent,
            early,
            given: OnceLock::new(),
            variables: cells(module.variables.len()),
            locals: cells(module.locals.len()),
            dir: module.dir.to_string_lossy().replace('\\', "/"),
        }
    }

    /// The text that an expression of this module gives. `None` after an error; `what` is what needs it.
    pub fn text(&self, expr: &Expr, what: &str, diags: &mut Diagnostics) -> Option<String> {
        let value = self.value(expr, what, diags)?;
        let wrong = |detail: String| Diagnostic::error("Unsuitable value type", detail).at(expr.range);
        match crate::lang::convert::convert(&value, &gpuform_schema::Type::String) {
            Ok(Value::String(text)) => Some(text.to_string()),
            Ok(_) => {
                diags.push(wrong(format!("{what} must be a string, but this is null.")));
                None
            }
            Err(e) => {
                diags.push(wrong(format!("{what} must be a string: {e}.")));
                None
            }
        }
    }

    /// A known value without marks.
    fn value(&self, expr: &Expr, what: &str, diags: &mut Diagnostics) -> Option<Value> {
        let mut expr = expr.clone();
        let before = diags.len();
        resolve::resolve(&mut expr, self.module, Allowed::default(), diags);
        if diags.iter().skip(before).any(Diagnostic::is_error) {
            return None;
        }
        let value = match expr.eval(&Names::new(self, None)) {
            Ok(value) => value,
            Err(mut d) => {
                d.detail = format!("{}\n\n{what} must be known before anything is planned.", d.detail);
                diags.push(d);
                return None;
            }
        };
        let refused = if !value.deep_marks().is_empty() {
            Some(("Sensitive value not allowed", "it is shown and stored, so it cannot be sensitive or ephemeral."))
        } else if !value.is_wholly_known() {
            Some(("Variables not allowed", "it must be known before anything is planned, which this is not."))
        } else {
            None
        };
        match refused {
            Some((summary, why)) => {
                diags.error(summary, format!("{what}: {why}"), expr.range);
                None
            }
            None => Some(value),
        }
    }

    /// Puts the values of early expressions into the arguments of the backend.
    pub fn backend(&self, backend: &Backend) -> (Body, Diagnostics) {
        let mut diags = Diagnostics::new();
        let what = format!("The configuration of the backend \"{}\"", backend.ty);
        let body = self.body(backend.body.clone(), &what, &mut diags);
        (body, diags)
    }

    fn body(&self, body: Body, what: &str, diags: &mut Diagnostics) -> Body {
        match body {
            Body::Native(mut native) => {
                for a in native.attributes.iter_mut().filter(|a| is_early(&a.expr)) {
                    if let Some(value) = self.value(&a.expr, what, diags) {
                        a.expr.kind = ExprKind::Literal(value);
                    }
                }
                for block in &mut native.blocks {
                    let empty = Body::empty(block.header_range);
                    block.body = self.body(std::mem::replace(&mut block.body, empty), what, diags);
                }
                Body::Native(native)
            }
            Body::Json(json) => {
                let whole = Body::Json(json);
                let attributes = whole.clone().just_attributes(&mut Diagnostics::new());
                if !attributes.iter().any(|a| is_early(&a.expr)) {
                    return whole;
                }
                let (range, end_range) = (whole.range(), whole.missing_item_range());
                self.body(Body::Native(NativeBody { attributes, blocks: Vec::new(), range, end_range }), what, diags)
            }
            Body::Merged(both) => {
                let [base, over] = *both;
                Body::Merged(Box::new([self.body(base, what, diags), self.body(over, what, diags)]))
            }
        }
    }

    fn variable(&self, slot: Slot, at: &Traversal, visiting: Option<&Visiting>) -> Result<Value> {
        let (Some(cell), Some((_, v))) =
            (self.variables.get(slot as usize), self.module.variables.get_index(slot as usize))
        else {
            return Err(dynamic(at));
        };
        cell.get_or_init(|| self.variable_value(v, at, visiting)).clone()
    }

    fn variable_value(&self, v: &Variable, at: &Traversal, visiting: Option<&Visiting>) -> Result<Value> {
        let given = match self.parent {
            Some((parent, call)) => match call.inputs.get(&v.name) {
                Some((expr, _)) => Some(expr.eval(&Names::new(parent, visiting))?),
                None => None,
            },
            None => {
                let ask = || self.early.variables.map(|f| f(self.module)).unwrap_or_default();
                self.given.get_or_init(ask).get(&v.name).cloned()
            }
        };
        let given = given.filter(|g| v.nullable || !g.is_null());
        let value = match (given, &v.default) {
            (Some(given), _) => v.ty.apply(&given).map_err(|e| {
                let detail = format!("The value of the variable \"{}\" does not suit its type: {e}.", v.name);
                Box::new(Diagnostic::error("Invalid value for input variable", detail).at(at.range()))
            })?,
            (None, Some(default)) => default.clone(),
            (None, None) => {
                let detail = format!(
                    "The variable \"{}\" has no value: give it with -var, -var-file, a tfvars file or TF_VAR_{0}.",
                    v.name
                );
                return Err(Box::new(Diagnostic::error("No value for required variable", detail).at(at.range())));
            }
        };
        let mut marks = Marks::NONE;
        if v.sensitive {
            marks |= Marks::SENSITIVE;
        }
        if v.ephemeral {
            marks |= Marks::EPHEMERAL;
        }
        Ok(value.with_marks(marks))
    }

    fn local(&self, slot: Slot, at: &Traversal, visiting: Option<&Visiting>) -> Result<Value> {
        let (Some(cell), Some((name, local))) =
            (self.locals.get(slot as usize), self.module.locals.get_index(slot as usize))
        else {
            return Err(dynamic(at));
        };
        let here = (std::ptr::from_ref(self) as usize, slot);
        if std::iter::successors(visiting, |v| v.outer).any(|v| v.local == here) {
            let detail = format!("local.{name} cannot be computed from itself.");
            return Err(Box::new(Diagnostic::error("Self-referencing local value", detail).at(local.expr.range)));
        }
        let inner = Visiting { local: here, outer: visiting };
        cell.get_or_init(|| crate::lang::deep(|| local.expr.eval(&Names::new(self, Some(&inner))))).clone()
    }
}

/// The local values that are being computed, the innermost first.
struct Visiting<'v> {
    /// The address of the frame, only to tell frames apart, and the position in its module.
    local: (usize, Slot),
    outer: Option<&'v Visiting<'v>>,
}

/// The names that early expressions of a module see.
struct Names<'a> {
    frame: &'a Frame<'a>,
    visiting: Option<&'a Visiting<'a>>,
    functions: FunctionContext<'a>,
}

impl<'a> Names<'a> {
    fn new(frame: &'a Frame<'a>, visiting: Option<&'a Visiting<'a>>) -> Names<'a> {
        let functions = FunctionContext {
            base_dir: &frame.early.base_dir,
            home: frame.early.home.as_deref(),
            plan_timestamp: None,
            impure: false,
            templates: None,
        };
        Names { frame, visiting, functions }
    }
}

impl Scope for Names<'_> {
    fn value(&self, t: &Traversal) -> Result<Value> {
        let early = self.frame.early;
        match &t.target {
            Target::Variable(slot) => self.frame.variable(*slot, t, self.visiting),
            Target::Local(slot) => self.frame.local(*slot, t, self.visiting),
            Target::PathModule => Ok(Value::string(&self.frame.dir)),
            Target::PathRoot => Ok(Value::string(".")),
            Target::PathCwd => Ok(Value::string(&early.cwd)),
            Target::TerraformWorkspace => Ok(Value::string(&early.workspace)),
            _ => Err(dynamic(t)),
        }
    }

    fn function_context(&self) -> &FunctionContext<'_> {
        &self.functions
    }
}

/// What is known only when the configuration is evaluated as a whole.
fn dynamic(t: &Traversal) -> Box<Diagnostic> {
    let name = std::iter::once(t.root.to_string())
        .chain(t.steps.iter().map_while(|s| match &s.kind {
            crate::lang::syntax::StepKind::Attr(name) => Some(name.to_string()),
            _ => None,
        }))
        .collect::<Vec<_>>()
        .join(".");
    let detail = format!("Only input variables and local values can be used here, but this depends on {name}.");
    Box::new(Diagnostic::error("Variables not allowed", detail).at(t.range()))
}

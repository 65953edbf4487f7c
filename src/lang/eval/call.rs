//! Function calls, and the functions that must see their arguments as expressions: `try`, `can`, `templatestring`.

use super::Cx;
use crate::diag::{Diagnostic, Diagnostics, Range, Result, Sources};
use crate::lang::functions::{self, Function, FunctionContext, FunctionError, FunctionErrorKind, Templates};
use crate::lang::parse;
use crate::lang::scope::Scope;
use crate::lang::suggest::did_you_mean;
use crate::lang::syntax::{Call, Expr, ExprKind, Step, StepKind, TemplatePart, Traversal};
use crate::lang::type_expr;
use gpuform_schema::{Marks, Type, Value};

impl Cx<'_> {
    pub(super) fn call(self, call: &Call, expr: &Expr, diags: &mut Diagnostics) -> Value {
        if call.name.starts_with("provider::") {
            return self.call_provider(call, expr, diags);
        }
        let Some(function) = functions::lookup(&call.name) else {
            self.unknown_function(call, expr, diags);
            return Value::unknown(Type::Dynamic);
        };
        match function.name {
            "try" => return self.call_try(call, expr, diags),
            "can" => return self.call_can(call, expr, diags),
            "convert" => return self.call_convert(call, expr, diags),
            "templatefile" | "templatestring" if self.scope.in_template() => {
                let at = name_with_parenthesis(call);
                self.fail_call(diags, expr, at, call, "Error in function call", || {
                    format!("Call to function {:?} failed: a template cannot render another template.", function.name)
                });
                return Value::unknown(Type::Dynamic);
            }
            "templatestring" => {
                if let Err(e) = function.check_arity(call.args.len())
                    && !call.expand_final
                {
                    self.function_failed(&e, call, expr, diags);
                    return Value::unknown(Type::Dynamic);
                }
                if let Some(template) = call.args.first()
                    && !is_reference(template)
                {
                    self.fail_call(diags, expr, start_of(template), call, "Invalid function argument", || {
                        "Invalid value for \"template\": it must be a direct reference to the string that holds the \
                         template, such as local.greeting or data.x.y.content."
                            .into()
                    });
                    return Value::unknown(Type::Dynamic);
                }
            }
            _ => {}
        }
        let Some(args) = self.arguments(call, Some(function), expr, diags) else {
            return Value::unknown(Type::Dynamic);
        };
        if function.name == "templatestring"
            && let [template, vars] = &args.values[..]
            && !template.is_known()
            && !vars.is_null()
        {
            return Value::unknown(Type::Dynamic).with_marks(template.deep_marks() | vars.deep_marks() | args.marks);
        }
        let renderer = Renderer { scope: self.scope };
        let context = FunctionContext { templates: Some(&renderer), ..*self.scope.function_context() };
        match function.call_converted(args.values, &context) {
            Ok(value) => value.with_marks(args.marks),
            Err(e) => {
                self.function_failed(&e, call, expr, diags);
                Value::unknown(Type::Dynamic)
            }
        }
    }

    fn call_provider(self, call: &Call, expr: &Expr, diags: &mut Diagnostics) -> Value {
        let Some(args) = self.arguments(call, None, expr, diags) else { return Value::unknown(Type::Dynamic) };
        match self.scope.provider_function(call, &args.values) {
            Ok(value) => value.with_marks(args.marks),
            Err(mut d) => {
                if d.subject.is_none() {
                    d.subject = Some(closing_parenthesis(expr));
                }
                if d.context.is_none() {
                    d.context = Some(expr.range);
                }
                d.function = Some(call.name.to_string());
                diags.push(d);
                Value::unknown(Type::Dynamic)
            }
        }
    }

    fn unknown_function(self, call: &Call, expr: &Expr, diags: &mut Diagnostics) {
        let summary = if call.name.contains("::") { "Unknown provider function" } else { "Call to unknown function" };
        self.fail(diags, expr, call.name_range, summary, || {
            let near = did_you_mean(&call.name, functions::all().map(|f| f.name));
            format!("There is no function named {:?}.{near}", &*call.name)
        });
    }

    /// Evaluates the arguments; `None` after errors, and where an expanded argument is unknown. Their number is checked
    /// before anything else is looked at.
    fn arguments(
        self,
        call: &Call,
        function: Option<&Function>,
        expr: &Expr,
        diags: &mut Diagnostics,
    ) -> Option<Arguments> {
        let before = diags.len();
        let (expanded, plain) = match call.args.split_last() {
            Some((last, rest)) if call.expand_final => (Some(last), rest),
            _ => (None, &call.args[..]),
        };
        let (tail, marks) = match expanded {
            Some(last) => self.expanded(last, call, expr, diags)?,
            None => (Vec::new(), Marks::NONE),
        };
        if let Some(Err(e)) = function.map(|f| f.check_arity(plain.len() + tail.len())) {
            self.function_failed(&e, call, expr, diags);
            return None;
        }
        let mut values: Vec<Value> = Vec::with_capacity(plain.len() + tail.len());
        for arg in plain {
            let value = self.eval(arg, diags);
            values.extend(self.converted(value, values.len(), function, call, expr, diags));
        }
        for value in tail {
            values.extend(self.converted(value, values.len(), function, call, expr, diags));
        }
        (diags.len() == before).then_some(Arguments { values, marks })
    }

    /// An argument as the function takes it; where it does not suit, says so, so that what is wrong with the others is
    /// told too.
    fn converted(
        self,
        value: Value,
        index: usize,
        function: Option<&Function>,
        call: &Call,
        expr: &Expr,
        diags: &mut Diagnostics,
    ) -> Option<Value> {
        let converted = match function {
            // A template is not converted, and need not be a string as long as it is not known.
            Some(f) if f.name == "templatestring" && index == 0 => match value.ty() {
                Type::String | Type::Dynamic => Some(Ok(value.clone())),
                _ if !value.is_known() => None,
                _ => Some(Err(FunctionError::argument(0, "Invalid value for \"template\": it must be a string."))),
            },
            f => f.map(|f| f.convert_argument(index, value.clone())),
        };
        match converted {
            None => Some(value),
            Some(Ok(value)) => Some(value),
            Some(Err(e)) => {
                self.function_failed(&e, call, expr, diags);
                Some(Value::unknown(Type::Dynamic))
            }
        }
    }

    /// The values that the last argument stands for (`…`), and marks of it that no value carries.
    fn expanded(self, last: &Expr, call: &Call, expr: &Expr, diags: &mut Diagnostics) -> Option<(Vec<Value>, Marks)> {
        let before = diags.len();
        let list = self.eval(last, diags);
        if diags.len() > before {
            return None;
        }
        let (inner, marks) = list.unmark();
        let problem = match inner {
            Value::List(_) | Value::Set(_) | Value::Tuple(_) => {
                let items = inner.items().unwrap_or_default();
                return Some((items.iter().map(|v| v.clone().with_marks(marks)).collect(), marks));
            }
            Value::Unknown(u) if matches!(u.ty, Type::Dynamic | Type::List(_) | Type::Set(_) | Type::Tuple(_)) => {
                return None;
            }
            Value::Null(_) => "cannot be null",
            _ => "must be a list, set or tuple",
        };
        self.fail_call(diags, expr, last.range, call, "Invalid expanding argument value", || {
            format!("The argument before the ellipsis (...) {problem}.")
        });
        None
    }

    /// The first argument that has a value.
    fn call_try(self, call: &Call, expr: &Expr, diags: &mut Diagnostics) -> Value {
        let (expanded, plain) = match call.args.split_last() {
            Some((last, rest)) if call.expand_final => (Some(last), rest),
            _ => (None, &call.args[..]),
        };
        let tail = match expanded.map(|last| self.expanded(last, call, expr, diags)) {
            Some(None) => return Value::unknown(Type::Dynamic),
            Some(Some((tail, marks))) => tail.into_iter().next().map(|first| first.with_marks(marks)),
            None => None,
        };
        let known = |value: Value| if value.is_wholly_known() { value } else { Value::unknown(Type::Dynamic) };
        for arg in plain {
            let mut failed = Diagnostics::new();
            let value = self.quietly().eval(arg, &mut failed);
            if failed.is_empty() {
                return known(value);
            }
        }
        if let Some(first) = tail {
            return known(first);
        }
        self.fail_call(diags, expr, name_with_parenthesis(call), call, "Error in function call", || {
            if call.args.is_empty() {
                return "Call to function \"try\" failed: at least one argument is required.".into();
            }
            let mut text = String::from("Call to function \"try\" failed: none of its arguments has a value:");
            for arg in &call.args {
                let mut failed = Diagnostics::new();
                self.eval(arg, &mut failed);
                for d in &failed {
                    text.push_str(&format!("\n- {}: {}", d.summary, d.detail.replace('\n', "\n  ")));
                }
            }
            text
        });
        Value::unknown(Type::Dynamic)
    }

    /// Whether the argument has a value.
    fn call_can(self, call: &Call, expr: &Expr, diags: &mut Diagnostics) -> Value {
        let expanded = match call.args.last() {
            Some(last) if call.expand_final => match self.expanded(last, call, expr, diags) {
                Some((values, _)) => Some(values),
                None => return Value::unknown(Type::Bool),
            },
            _ => None,
        };
        let given = call.args.len() + expanded.as_ref().map_or(0, Vec::len) - usize::from(expanded.is_some());
        if let Some(Err(e)) = functions::lookup("can").map(|f| f.check_arity(given)) {
            self.function_failed(&e, call, expr, diags);
            return Value::unknown(Type::Bool);
        }
        let arg = match (expanded.as_deref(), call.args.first()) {
            (Some([value]), _) if value.is_wholly_known() => return Value::TRUE,
            (Some([_]), _) => return Value::unknown(Type::Bool),
            (_, Some(arg)) => arg,
            (_, None) => return Value::unknown(Type::Bool),
        };
        let mut failed = Diagnostics::new();
        let value = self.quietly().eval(arg, &mut failed);
        if !failed.is_empty() {
            return Value::FALSE;
        }
        if value.is_wholly_known() { Value::TRUE } else { Value::unknown(Type::Bool) }
    }

    fn call_convert(self, call: &Call, expr: &Expr, diags: &mut Diagnostics) -> Value {
        let [value, ty] = &call.args[..] else {
            if let Some(function) = functions::lookup("convert")
                && let Err(e) = function.check_arity(call.args.len())
            {
                self.function_failed(&e, call, expr, diags);
            }
            return Value::unknown(Type::Dynamic);
        };
        let before = diags.len();
        let value = self.eval(value, diags);
        let Some(ty) = type_expr::constraint(ty, diags).filter(|_| diags.len() == before) else {
            return Value::unknown(Type::Dynamic);
        };
        match ty.apply(&value) {
            Ok(value) => value,
            Err(e) => {
                self.function_failed(&FunctionError::argument(0, e.to_string()), call, expr, diags);
                Value::unknown(Type::Dynamic)
            }
        }
    }

    /// Reports why a call failed, pointing at the argument to blame where it is known.
    fn function_failed(self, e: &FunctionError, call: &Call, expr: &Expr, diags: &mut Diagnostics) {
        let at = e.argument_index().and_then(|i| call.args.get(i).or(call.args.last()));
        let subject = match (e.kind, at) {
            (_, Some(arg)) if call.expand_final && call.args.last().is_some_and(|last| std::ptr::eq(last, arg)) => {
                arg.range
            }
            (_, Some(arg)) => start_of(arg),
            // The parenthesis that comes too soon.
            (FunctionErrorKind::TooFewArguments, None) => closing_parenthesis(expr),
            (FunctionErrorKind::TooManyArguments, None) => {
                let wanted = functions::lookup(&call.name).map_or(0, |f| f.parameters.len());
                call.args.get(wanted).map_or(expr.range, start_of)
            }
            (FunctionErrorKind::Call, None) => name_with_parenthesis(call),
            _ => expr.range,
        };
        self.fail_call(diags, expr, subject, call, e.summary(), || match e.kind {
            FunctionErrorKind::Call => {
                format!("Call to function {:?} failed: {}", &*call.name, e.message)
            }
            _ => e.message.clone(),
        });
    }

    fn fail_call(
        self,
        diags: &mut Diagnostics,
        expr: &Expr,
        subject: Range,
        call: &Call,
        summary: &str,
        detail: impl FnOnce() -> String,
    ) {
        let before = diags.len();
        self.fail(diags, expr, subject, summary, detail);
        for d in diags.iter_mut().skip(before) {
            d.function = Some(call.name.to_string());
        }
    }
}

impl Call {
    /// What is underlined of a call of a provider's function that failed; `None` for the closing parenthesis, because
    /// arguments are missing.
    pub fn place_of(&self, e: &FunctionError) -> Option<Range> {
        match e.kind {
            FunctionErrorKind::TooFewArguments => None,
            FunctionErrorKind::TooManyArguments => self.args.last().map(start_of),
            FunctionErrorKind::Argument(i) => self.args.get(i).or(self.args.last()).map(start_of),
            FunctionErrorKind::Call => Some(name_with_parenthesis(self)),
        }
    }
}

struct Arguments {
    values: Vec<Value>,
    /// Marks of an expanded argument that had no elements to carry them.
    marks: Marks,
}

/// Whether an expression is a name with attributes and keys.
fn is_reference(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Traversal(_))
}

/// The beginning of a call, which is underlined when it fails as a whole.
fn name_with_parenthesis(call: &Call) -> Range {
    Range { end: call.name_range.end + 1, ..call.name_range }
}

fn closing_parenthesis(expr: &Expr) -> Range {
    Range { start: expr.range.end.saturating_sub(1).max(expr.range.start), ..expr.range }
}

/// What Terraform underlines of an argument to blame: where it begins.
fn start_of(expr: &Expr) -> Range {
    let r = expr.range;
    let first = |r: Range| Range { end: (r.start + 1).min(r.end), ..r };
    match &expr.kind {
        ExprKind::Tuple(_) | ExprKind::Object(_) | ExprKind::For(_) | ExprKind::Unary(..) => first(r),
        ExprKind::Literal(Value::String(s)) if s.is_empty() && r.end == r.start + 2 => Range { start: r.end, ..r },
        // Without the quotes.
        ExprKind::Literal(Value::String(s)) if !s.contains('\n') && r.end >= r.start + 2 => {
            Range { start: r.start + 1, end: r.end - 1, ..r }
        }
        ExprKind::Template(parts) => match &parts[..] {
            [TemplatePart::Text(_), TemplatePart::Interpolation(e), ..] => {
                Range { start: r.start + 1, end: (e.range.start - 2).max(r.start + 1), ..r }
            }
            [TemplatePart::Interpolation(e), _, ..] => start_of(e),
            _ => r,
        },
        ExprKind::Call(call) => name_with_parenthesis(call),
        ExprKind::Conditional(parts) => start_of(&parts[0]),
        ExprKind::Binary(_, operands) => start_of(&operands[0]),
        ExprKind::Paren(inner) => start_of(inner),
        ExprKind::Splat { range, .. } => *range,
        ExprKind::Traversal(t) => bracket(&t.steps).map_or(r, first),
        ExprKind::Relative(_, steps) => bracket(steps).map_or(r, first),
        ExprKind::Literal(_) | ExprKind::JsonTemplate(_) => r,
    }
}

/// The last step, if it is a computed index.
fn bracket(steps: &[Step]) -> Option<Range> {
    match steps.last().map(|s| (&s.kind, s.range)) {
        Some((StepKind::Index(key), range)) if !matches!(key.kind, ExprKind::Literal(_)) => Some(range),
        _ => None,
    }
}

/// Renders templates for the functions that take them as text.
struct Renderer<'a> {
    scope: &'a dyn Scope,
}

impl Templates for Renderer<'_> {
    fn render(&self, source: &str, name: &str, vars: &Value) -> std::result::Result<Value, FunctionError> {
        // A registry of its own: the template is no file of the configuration, and is gone after the call.
        let sources = Sources::default();
        let file = sources.add(name, source);
        let described = |diags: Diagnostics| {
            let texts = diags.into_iter().map(|d| {
                let at = d.subject.map(|r| format!("{}: ", sources.describe(r))).unwrap_or_default();
                format!("{at}{}; {}", d.summary, d.detail)
            });
            FunctionError::call(texts.collect::<Vec<_>>().join("\n"))
        };
        let expr = parse::parse_template(source, file, 0).map_err(&described)?;
        let (object, marks) = vars.unmark();
        for (variable, _) in object.entries().into_iter().flatten() {
            if !parse::is_identifier(variable) {
                let rule = "a name begins with a letter and has only letters, digits, underscores and dashes";
                return Err(FunctionError::argument(
                    1,
                    format!("{variable:?} cannot be the name of a variable: {rule}"),
                ));
            }
        }
        let mut missing = None;
        expr.visit_traversals(&mut |t| {
            if object.get(&t.root).is_none() {
                missing.get_or_insert(t);
            }
        });
        if let Some(t) = missing {
            let near = did_you_mean(&t.root, object.entries().into_iter().flatten().map(|(n, _)| &**n));
            let at = sources.describe(t.root_range);
            let message = format!("there is no variable {:?}, to which the template refers at {at}.{near}", &*t.root);
            return Err(FunctionError::argument(1, message));
        }
        let mut diags = Diagnostics::new();
        let value = expr.eval_in(&TemplateScope { outer: self.scope, vars: object }, None, &mut diags);
        if !diags.is_empty() {
            return Err(described(diags));
        }
        if value.is_null() {
            return Err(FunctionError::call(format!("the result of the template {name} is null")));
        }
        Ok(value.with_marks(marks))
    }
}

/// The scope of a template from a file or string: its variables are the attributes of one object.
struct TemplateScope<'a> {
    outer: &'a dyn Scope,
    vars: &'a Value,
}

impl Scope for TemplateScope<'_> {
    fn value(&self, traversal: &Traversal) -> Result<Value> {
        self.vars.get(&traversal.root).cloned().ok_or_else(|| {
            let detail = format!("There is no variable named {:?}.", &*traversal.root);
            Box::new(Diagnostic::error("Unknown variable", detail).at(traversal.root_range))
        })
    }

    fn function_context(&self) -> &FunctionContext<'_> {
        self.outer.function_context()
    }

    fn in_template(&self) -> bool {
        true
    }
}

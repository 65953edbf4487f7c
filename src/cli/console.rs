//! `console`: evaluates the lines of its input. Here is what a line means and what is answered; the command gives the
//! scope and does the reading and printing.

use crate::diag::{Diagnostic, Diagnostics, Sources};
use crate::lang::parse::parse_expression;
use crate::lang::render;
use crate::lang::scope::Scope;
use crate::lang::syntax::{Call, Expr, ExprKind, TemplatePart};
use crate::lang::visit::Met;
use gpuform_schema::Value;

/// The name that diagnostics give to the input.
const INPUT: &str = "<console-input>";

const HELP: &str = "\
Type an expression and press Enter to see its value. It may use functions, and may refer to the values of the
configuration and of the state in the current folder, for example aws_instance.gpu.id. Tab completes names, the arrow
keys bring back what was typed before, and an expression with open brackets goes on in the next line.

To leave, type \"exit\" or press Control-D.";

/// How names are given their meaning in an expression.
type Resolve<'a> = dyn FnMut(&mut Expr, &mut Diagnostics) + 'a;

/// Evaluates piped input line by line; the answer is what the last line gives, or nothing where there is no line or
/// one says `exit`. `resolve` finds out what the names in an expression mean.
///
/// # Errors
/// What is wrong with the first line that fails; later lines are not looked at.
pub fn evaluate(
    input: &str,
    sources: &Sources,
    resolve: &mut Resolve<'_>,
    scope: &dyn Scope,
) -> Result<Option<String>, Diagnostics> {
    let mut answer = None;
    for line in input.lines() {
        answer = Some(match answer_to(line, sources, resolve, scope)? {
            Some(text) => text,
            None => return Ok(None),
        });
    }
    Ok(answer)
}

/// What one text is answered, which may have several lines when it is typed at a terminal; nothing for `exit`.
///
/// # Errors
/// What is wrong with the expression.
pub fn answer_to(
    text: &str,
    sources: &Sources,
    resolve: &mut Resolve<'_>,
    scope: &dyn Scope,
) -> Result<Option<String>, Diagnostics> {
    match text.trim() {
        "" => Ok(Some(String::new())),
        "exit" => Ok(None),
        "help" => Ok(Some(HELP.to_owned())),
        text => evaluate_expression(text, sources, resolve, scope).map(Some).map_err(in_source_order),
    }
}

fn in_source_order(diags: Diagnostics) -> Diagnostics {
    let mut sorted: Vec<Diagnostic> = diags.into_iter().collect();
    sorted.sort_by_key(|d| d.subject.map(|r| (r.start, r.end)));
    sorted.into_iter().collect()
}

fn evaluate_expression(
    text: &str,
    sources: &Sources,
    resolve: &mut Resolve<'_>,
    scope: &dyn Scope,
) -> Result<String, Diagnostics> {
    let file = sources.add(INPUT, text);
    let mut expr = parse_expression(text, file, 0)?;
    let mut diags = Diagnostics::new();
    resolve(&mut expr, &mut diags);
    if diags.has_errors() {
        return Err(diags);
    }
    let answer = match type_call(&expr) {
        Some((call, range)) => match &call.args[..] {
            [inner] if type_call(inner).is_some() => "type".into(),
            [arg] => render::type_name(&argument(arg, call.expand_final, scope, &mut diags).ty()),
            args => {
                let (summary, given) = match args {
                    [] => ("Not enough function arguments", "none is given"),
                    _ => ("Too many function arguments", "more are given"),
                };
                let detail = format!("Function \"type\" takes 1 argument, but {given}.");
                return Err(Diagnostic::error(summary, detail).at(range).into());
            }
        },
        None => {
            expr.visit(&mut |met| {
                if let Met::Call(call, range) = met
                    && is_type(call)
                {
                    let detail = "The function \"type\" exists only in the console, as the outermost of an expression.";
                    diags.error("Invalid use of type function", detail, range);
                }
            });
            if diags.has_errors() {
                return Err(diags);
            }
            render::value(&expr.eval_in(scope, None, &mut diags))
        }
    };
    if diags.has_errors() { Err(diags) } else { Ok(answer) }
}

fn argument(arg: &Expr, expand: bool, scope: &dyn Scope, diags: &mut Diagnostics) -> Value {
    let value = arg.eval_in(scope, None, diags);
    match value.items() {
        Some([only]) if expand => only.clone(),
        _ => value,
    }
}

fn is_type(call: &Call) -> bool {
    matches!(&*call.name, "type" | "core::type")
}

/// The call of `type` that makes up an expression.
fn type_call(expr: &Expr) -> Option<(&Call, crate::diag::Range)> {
    match &expr.kind {
        ExprKind::Call(call) if is_type(call) => Some((call, expr.range)),
        ExprKind::Paren(inner) => type_call(inner),
        ExprKind::Template(parts) => match &parts[..] {
            [TemplatePart::Interpolation(only)] => type_call(only),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::evaluate;
    use crate::diag::Sources;
    use crate::lang::scope::EmptyScope;

    fn answer(input: &str) -> Result<Option<String>, String> {
        evaluate(input, &Sources::default(), &mut |_, _| {}, &EmptyScope::default())
            .map_err(|diags| diags.iter().map(|d| d.summary.clone()).collect())
    }

    #[test]
    fn the_last_line_is_answered_and_the_first_error_ends_it() {
        assert_eq!(answer("1 + 1\n  [1, \"a\"]  \n"), Ok(Some("[\n  1,\n  \"a\",\n]".into())));
        assert_eq!(answer("1\n\n"), Ok(Some(String::new())));
        assert_eq!(answer("1\nexit\n2"), Ok(None));
        assert_eq!(answer(""), Ok(None));
        assert_eq!(answer("1 + true\n2"), Err("Invalid operand".into()));
        assert_eq!(answer("# nothing"), Err("Missing expression".into()));
    }

    #[test]
    fn an_expression_typed_at_a_terminal_may_have_several_lines() {
        let typed = super::answer_to("[\n  1,\n]", &Sources::default(), &mut |_, _| {}, &EmptyScope::default());
        assert_eq!(typed.ok().flatten().as_deref(), Some("[\n  1,\n]"));
    }

    #[test]
    fn type_is_a_function_of_the_console_alone() {
        assert_eq!(answer("type([1, null])"), Ok(Some("tuple([\n    number,\n    dynamic,\n])".into())));
        assert_eq!(answer("(type(type(1)))"), Ok(Some("type".into())));
        assert_eq!(answer("[type(1)]"), Err("Invalid use of type function".into()));
        assert_eq!(answer("type()"), Err("Not enough function arguments".into()));
    }
}

//! Values of variables in tests: of the run, of the file, and from outside (variable files, the environment, the command
//! line), in this order of precedence.

use super::model::{ProviderKind, Run, TestFile};
use super::scope::{Environment, Position};
use crate::config::model::{Module, Variable};
use crate::config::variables::{self, automatic_files, parse_text, read_body};
use crate::diag::{Diagnostic, Diagnostics, Range, Sources};
use crate::lang::parse;
use crate::lang::static_expr::constant;
use crate::lang::syntax::{Attribute, Body, StepKind, Traversal};
use gpuform_schema::{Str, Type, Value};
use indexmap::IndexMap;
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

/// Where values from outside come from.
#[derive(Clone, Default, Debug)]
pub struct Given {
    /// The directory of the root module.
    pub dir: PathBuf,
    /// Relative to it: the test directory, whose variable files count for the test files in it.
    pub test_directory: PathBuf,
    /// `-var` and `-var-file`, in their order.
    pub arguments: Vec<variables::Given>,
    pub environment: BTreeMap<String, String>,
}

/// A value from outside, not converted yet.
#[derive(Clone, Debug)]
enum Outside {
    /// Text, whose meaning depends on the declaration.
    Text(String),
    Value(Value, Range),
}

/// The values from outside that count for a test file.
#[derive(Clone, Default, Debug)]
pub struct FromOutside(BTreeMap<Str, Outside>);

impl FromOutside {
    /// Collects the values for the files of the test directory (`in_tests`) or for the others.
    pub fn collect(given: &Given, in_tests: bool, sources: &Sources, diags: &mut Diagnostics) -> FromOutside {
        let mut all = FromOutside::default();
        for (name, text) in &given.environment {
            if let Some(name) = name.strip_prefix("TF_VAR_") {
                all.0.insert(name.into(), Outside::Text(text.clone()));
            }
        }
        for file in automatic_files(&given.dir) {
            all.file(&given.dir.join(&file), &file, sources, diags);
        }
        let tests = given.dir.join(&given.test_directory);
        for file in automatic_files(&tests).iter().filter(|_| in_tests) {
            let shown = given.test_directory.join(file);
            all.file(&tests.join(file), &shown.to_string_lossy(), sources, diags);
        }
        for argument in &given.arguments {
            match argument {
                variables::Given::File(path) => {
                    all.file(&given.dir.join(path), &path.to_string_lossy(), sources, diags);
                }
                variables::Given::Var(text) => match text.split_once('=') {
                    Some((name, value)) => drop(all.0.insert(name.into(), Outside::Text(value.to_owned()))),
                    None => diags.error(
                        "Invalid -var option",
                        format!("The option -var takes NAME=VALUE, but \"{text}\" has no equals sign."),
                        None,
                    ),
                },
            }
        }
        all
    }

    fn file(&mut self, path: &Path, name: &str, sources: &Sources, diags: &mut Diagnostics) {
        let bytes = match crate::input::read(path) {
            Ok(bytes) => bytes,
            Err(e) => {
                let detail = format!("The variables file {name} could not be read: {e}.");
                return diags.push(Diagnostic::error("Failed to read variables file", detail));
            }
        };
        let json = name.ends_with(".json");
        let Some(body) = read_body(&bytes, name, json, sources, diags) else { return };
        for a in body.just_attributes(diags) {
            if let Some(value) = constant(&a.expr, &Type::Dynamic, json, diags) {
                self.0.insert(a.name, Outside::Value(value, a.expr.range));
            }
        }
    }

    /// One value: text is read as the declaration asks, or as an expression where there is none.
    fn value(
        &self,
        name: &str,
        declared: Option<&Variable>,
        sources: &Sources,
        diags: &mut Diagnostics,
    ) -> Option<(Value, Option<Range>)> {
        match (self.0.get(name)?, declared) {
            (Outside::Value(v, range), _) => Some((v.clone(), Some(*range))),
            (Outside::Text(text), Some(v)) => parse_text(v, text, &format!("<value for var.{name}>"), sources, diags),
            (Outside::Text(text), None) => {
                let file = sources.add(format!("<value for var.{name}>"), text.as_str());
                match parse::parse_expression(text, file, 0) {
                    Ok(e) => constant(&e, &Type::Dynamic, false, diags).map(|v| (v, Some(e.range))),
                    Err(d) => {
                        diags.extend(d);
                        None
                    }
                }
            }
        }
    }
}

/// What variables are for one run.
pub struct RunVariables {
    /// Of the module that is run, converted to their types.
    pub module: BTreeMap<Str, Value>,
    /// Where the values are written.
    pub ranges: BTreeMap<Str, Range>,
    /// Everything that the test file can refer to.
    pub environment: Environment,
}

/// Evaluates the variables of a file and of a run, and works out what the module that is run gets. `environment` holds
/// the runs so far.
///
/// # Errors
/// Everything that is wrong with the variables; warnings come with the values.
pub fn evaluate(
    file: &TestFile,
    run: &Run,
    module: &Module,
    outside: &FromOutside,
    mut environment: Environment,
    sources: &Sources,
) -> Result<(RunVariables, Diagnostics), Diagnostics> {
    let mut diags = Diagnostics::new();
    let referred = referred(file, run);
    let mut ranges: BTreeMap<Str, Range> = BTreeMap::new();
    for name in outside.0.keys() {
        let declared = module.variables.get(name);
        if (declared.is_some() || referred.contains(name))
            && let Some((value, range)) = outside.value(name, declared, sources, &mut diags)
        {
            ranges.extend(range.map(|r| (name.clone(), r)));
            environment.variables.insert(name.clone(), value);
        }
    }
    let of_file = values(&file.variables, Position::FileVariables, &environment, &mut diags);
    ranges.extend(file.variables.values().map(|a| (a.name.clone(), a.expr.range)));
    environment.variables.extend(of_file);
    let of_run = values(&run.variables, Position::RunVariables, &environment, &mut diags);
    ranges.extend(run.variables.values().map(|a| (a.name.clone(), a.expr.range)));
    if diags.has_errors() {
        return Err(diags);
    }
    for a in run.variables.values().filter(|a| !module.variables.contains_key(&a.name)) {
        diags.warning(
            "Value for undeclared variable",
            format!(
                "The run \"{}\" gives a value to \"{}\", but the module under test declares no variable of this name.",
                run.name, a.name
            ),
            a.name_range,
        );
    }
    let mut wanted = environment.variables.clone();
    wanted.extend(of_run);
    let mut converted = BTreeMap::new();
    for (name, v) in &module.variables {
        let range = ranges.get(name).copied();
        if let Some(value) = for_module(v, wanted.get(name), range, run, sources, &mut diags) {
            converted.insert(name.clone(), value);
        }
    }
    if diags.has_errors() {
        return Err(diags);
    }
    Ok((RunVariables { module: converted, ranges, environment }, diags))
}

fn values(
    all: &IndexMap<Str, Attribute>,
    position: Position,
    environment: &Environment,
    diags: &mut Diagnostics,
) -> Vec<(Str, Value)> {
    let value = |a: &Attribute, d: &mut Diagnostics| environment.eval(&a.expr, position, d);
    all.values().filter_map(|a| Some((a.name.clone(), value(a, diags)?))).collect()
}

/// The variables that expressions of a file mention: only of these does it matter whether values from outside that the
/// module does not declare can be read.
fn referred(file: &TestFile, run: &Run) -> HashSet<Str> {
    let mut names = HashSet::new();
    let mut add = |t: &Traversal| {
        if let ("var", Some(StepKind::Attr(name))) = (&*t.root, t.steps.first().map(|s| &s.kind)) {
            names.insert(name.clone());
        }
    };
    for a in file.variables.values().chain(run.variables.values()) {
        a.expr.visit_traversals(&mut add);
    }
    for c in &run.asserts {
        c.condition.visit_traversals(&mut add);
        c.error_message.visit_traversals(&mut add);
    }
    for p in file.providers.values() {
        if let ProviderKind::Real(config) = &p.kind {
            mentioned_in_body(&config.body, &mut add);
        }
    }
    names
}

fn mentioned_in_body(body: &Body, add: &mut impl FnMut(&Traversal)) {
    match body {
        Body::Native(b) => {
            b.attributes.iter().for_each(|a| a.expr.visit_traversals(&mut |t| add(t)));
            b.blocks.iter().for_each(|b| mentioned_in_body(&b.body, add));
        }
        Body::Json(_) => {
            let mut quiet = Diagnostics::new();
            let attributes = body.clone().just_attributes(&mut quiet);
            attributes.iter().for_each(|a| a.expr.visit_traversals(&mut |t| add(t)));
        }
        Body::Merged(both) => both.iter().for_each(|b| mentioned_in_body(b, add)),
    }
}

/// The value of a variable of the module, converted to its type; `None` where its default counts, and after errors.
fn for_module(
    v: &Variable,
    value: Option<&Value>,
    range: Option<Range>,
    run: &Run,
    sources: &Sources,
    diags: &mut Diagnostics,
) -> Option<Value> {
    let Some(value) = value else {
        if v.default.is_none() {
            diags.error(
                "No value for required variable",
                format!(
                    "The run \"{}\" needs a value for the variable \"{}\" of the module under test, which has no default: give \
                     it in a \"variables\" block of the file or the run, or with -var or -var-file.",
                    run.name, v.name
                ),
                v.range,
            );
        }
        return None;
    };
    if value.is_null() && !v.nullable {
        if v.default.is_none() {
            let detail = format!("The variable \"{}\" does not accept null.", v.name);
            diags.error("Required variable not set", detail, range.or(Some(v.range)));
        }
        return None;
    }
    match v.ty.apply(value) {
        Ok(value) => Some(value),
        Err(e) => {
            let what = if v.sensitive { "the given value is not suitable".to_owned() } else { e.to_string() };
            diags.error(
                "Invalid value for input variable",
                format!("This does not suit var.{}, declared at {}: {what}.", v.name, sources.describe(v.range)),
                range.or(Some(v.range)),
            );
            None
        }
    }
}

//! Values of root variables: from files, from the command line and from the environment, in Terraform's order of
//! precedence, converted to the types of their declarations.

use super::model::{Module, Variable};
use crate::diag::{Diagnostic, Diagnostics, Range, Sources};
use crate::lang::parse;
use crate::lang::suggest::did_you_mean;
use crate::lang::syntax::{Body, Expr, ExprKind};
use gpuform_schema::{Str, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A `-var` or `-var-file` argument.
#[derive(Clone, Debug)]
pub enum Given {
    Var(String),
    File(PathBuf),
}

/// Where a value came from.
#[derive(Clone, Debug)]
struct Candidate {
    value: Value,
    range: Option<Range>,
    /// For messages: `-var`, `TF_VAR_x`, a file name.
    origin: String,
}

/// The values found so far, not converted yet.
#[derive(Clone, Default, Debug)]
pub struct Collected {
    values: BTreeMap<Str, Candidate>,
}

/// The values given to the variables of the root module.
#[derive(Clone, Default, Debug)]
pub struct RootVariables {
    /// As given, not converted yet.
    pub values: BTreeMap<Str, Value>,
    /// What is wrong with values that do not suit their variables; told when the variable is evaluated.
    pub unsuitable: BTreeMap<Str, Diagnostic>,
}

/// What an undeclared name means, by where it is found.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Undeclared {
    Ignore,
    Error,
}

/// Collects the values for the variables of `module`: first `TF_VAR_*`, then `terraform.tfvars` and
/// `*.auto.tfvars` in `dir`, then the arguments in their order. Later ones replace earlier ones.
pub fn collect(
    dir: &Path,
    module: &Module,
    given: &[Given],
    environment: &BTreeMap<String, String>,
    sources: &Sources,
    diags: &mut Diagnostics,
) -> Collected {
    let mut c = Collector { module, sources, diags, found: Collected::default(), undeclared_in_files: Vec::new() };
    for (name, text) in environment {
        if let Some(name) = name.strip_prefix("TF_VAR_") {
            c.text(name, text, &format!("TF_VAR_{name}"), &format!("<value for var.{name}>"), Undeclared::Ignore);
        }
    }
    for file in automatic_files(dir) {
        c.file(&dir.join(&file), &file);
    }
    for g in given {
        match g {
            Given::File(path) => c.file(&dir.join(path), &path.display().to_string()),
            Given::Var(text) => match text.split_once('=') {
                Some((name, value)) => {
                    c.text(name, value, "-var", &format!("<value for var.{name}>"), Undeclared::Error);
                }
                None => c.diags.error(
                    "Invalid -var option",
                    format!("The option -var takes NAME=VALUE, but \"{text}\" has no equals sign."),
                    None,
                ),
            },
        }
    }
    c.warn_undeclared();
    c.found
}

/// The files that are read without being asked for, in order.
pub(crate) fn automatic_files(dir: &Path) -> Vec<String> {
    let mut files: Vec<String> = ["terraform.tfvars", "terraform.tfvars.json"]
        .iter()
        .filter(|f| dir.join(f).is_file())
        .map(|f| (*f).to_owned())
        .collect();
    let Ok(entries) = std::fs::read_dir(dir) else { return files };
    let mut auto: Vec<String> = entries
        .flatten()
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .filter(|n| (n.ends_with(".auto.tfvars") || n.ends_with(".auto.tfvars.json")) && !n.starts_with('.'))
        .collect();
    auto.sort();
    files.extend(auto);
    files
}

struct Collector<'a> {
    module: &'a Module,
    sources: &'a Sources,
    diags: &'a mut Diagnostics,
    found: Collected,
    undeclared_in_files: Vec<Str>,
}

impl Collector<'_> {
    fn text(&mut self, name: &str, text: &str, origin: &str, label: &str, undeclared: Undeclared) {
        let Some(v) = self.module.variables.get(name) else {
            if undeclared == Undeclared::Error {
                let hint = did_you_mean(name, self.module.variables.keys().map(|n| &**n));
                self.diags.error(
                    "Value for undeclared variable",
                    format!(
                        "{origin} gives a value to \"{name}\", but the root module declares no variable of this name.{hint}"
                    ),
                    None,
                );
            }
            return;
        };
        if let Some((value, range)) = parse_text(v, text, label, self.sources, self.diags) {
            self.found.values.insert(name.into(), Candidate { value, range, origin: origin.to_owned() });
        }
    }

    fn file(&mut self, path: &Path, name: &str) {
        let bytes = match crate::input::read_argument(path) {
            Ok(b) => b,
            Err(e) => {
                let what = if e.kind() == std::io::ErrorKind::NotFound {
                    "does not exist".to_owned()
                } else {
                    format!("cannot be read: {e}")
                };
                self.diags.error("Failed to read variables file", format!("The variables file {name} {what}."), None);
                return;
            }
        };
        let json = name.ends_with(".json");
        let Some(body) = read_body(&bytes, name, json, self.sources, self.diags) else { return };
        for a in body.just_attributes(self.diags) {
            let Some(value) = given(&a.expr, self.diags) else { continue };
            if self.module.variables.contains_key(&a.name) {
                let candidate = Candidate { value, range: Some(a.expr.range), origin: name.to_owned() };
                self.found.values.insert(a.name.clone(), candidate);
            } else {
                self.undeclared_in_files.push(a.name.clone());
            }
        }
    }

    fn warn_undeclared(&mut self) {
        const SHOWN: usize = 2;
        let all = std::mem::take(&mut self.undeclared_in_files);
        for name in all.iter().take(SHOWN) {
            let hint = did_you_mean(name, self.module.variables.keys().map(|n| &**n));
            self.diags.warning(
                "Value for undeclared variable",
                format!(
                    "The root module declares no variable \"{name}\", so this value has no effect.{hint} Values for several \
                     configurations are better given as TF_VAR_{name} in the environment, where undeclared ones are ignored."
                ),
                None,
            );
        }
        if all.len() > SHOWN {
            self.diags.warning(
                "Values for undeclared variables",
                format!("Besides those shown, {} more values have no effect.", all.len() - SHOWN),
                None,
            );
        }
    }
}

/// Reads a variables file of either syntax. `None` after errors.
pub(crate) fn read_body(
    bytes: &[u8],
    name: &str,
    json: bool,
    sources: &Sources,
    diags: &mut Diagnostics,
) -> Option<Body> {
    let text = parse::decode(bytes);
    let file = sources.add(name, &*text);
    let before = diags.iter().filter(|d| d.is_error()).count();
    let body = if json {
        Some(Body::Json(crate::lang::json_syntax::JsonBody::parse(&text, file, diags)))
    } else {
        let body = parse::parse_file(&text, file, diags);
        for b in &body.blocks {
            diags.error(
                "Unexpected block in a variables file",
                format!("A variables file holds values (NAME = VALUE), not blocks such as \"{}\".", b.ty),
                b.ty_range,
            );
        }
        Some(Body::Native(without_blocks(body)))
    };
    body.filter(|_| diags.iter().filter(|d| d.is_error()).count() == before)
}

/// Only the arguments of a body.
fn without_blocks(mut body: crate::lang::syntax::NativeBody) -> crate::lang::syntax::NativeBody {
    body.blocks.clear();
    body
}

/// A value given as text: as it is for a variable of a primitive or unknown type, otherwise an expression.
pub(crate) fn parse_text(
    v: &Variable,
    text: &str,
    label: &str,
    sources: &Sources,
    diags: &mut Diagnostics,
) -> Option<(Value, Option<Range>)> {
    let ty = v.ty.ty();
    if ty.is_primitive() || !v.ty_given {
        return Some((Value::string(text), None));
    }
    let file = sources.add(label, text);
    match parse::parse_expression(text, file, 0) {
        // What does not fit is told at the declaration: the text has no place that could be opened.
        Ok(e) => given(&e, diags).map(|v| (v, None)),
        Err(d) => {
            diags.extend(d);
            None
        }
    }
}

/// The value of an expression in which there may be no names. `None` after an error.
fn given(expr: &Expr, diags: &mut Diagnostics) -> Option<Value> {
    match &expr.kind {
        // What could not be parsed was reported.
        ExprKind::Literal(Value::Unknown(_)) => None,
        _ => expr.eval_constant(diags),
    }
}

impl Collected {
    /// The variables that have neither a value nor a default.
    pub fn missing(&self, module: &Module) -> Vec<Str> {
        module
            .variables
            .iter()
            .filter(|(n, v)| v.default.is_none() && !self.values.contains_key(*n))
            .map(|(n, _)| n.clone())
            .collect()
    }

    /// Takes what the user has typed.
    pub fn answer(&mut self, module: &Module, name: &str, text: &str, sources: &Sources, diags: &mut Diagnostics) {
        let Some(v) = module.variables.get(name) else { return };
        if let Some((value, range)) = parse_text(v, text, &format!("<value for var.{name}>"), sources, diags) {
            self.values.insert(name.into(), Candidate { value, range, origin: "the answer".into() });
        }
    }

    /// Variables that have no value are an error.
    pub fn require_all(&self, module: &Module, diags: &mut Diagnostics) {
        for name in self.missing(module) {
            let range = module.variables.get(&name).map(|v| v.range);
            diags.error(
                "No value for required variable",
                format!(
                    "The root module variable \"{name}\" has no default, so it needs a value: give it with -var, -var-file, a \
                     tfvars file or TF_VAR_{name}."
                ),
                range,
            );
        }
    }

    /// Checks all values.
    pub fn finish(self, module: &Module) -> RootVariables {
        let mut out = RootVariables::default();
        for (name, c) in self.values {
            let Some(v) = module.variables.get(&name) else { continue };
            if c.value.is_null() && !v.nullable {
                match &v.default {
                    Some(_) => continue,
                    None => {
                        let detail =
                            format!("The variable \"{name}\" does not accept null, but {} gives it null.", c.origin);
                        let d = Diagnostic::error("Required variable not set", detail).at(c.range.or(Some(v.range)));
                        out.unsuitable.insert(name, d);
                        continue;
                    }
                }
            }
            match v.ty.apply(&c.value) {
                Ok(_) => {
                    out.values.insert(name, c.value);
                }
                Err(e) => {
                    let shown = if v.sensitive { "the given value is not suitable".to_owned() } else { e.to_string() };
                    let mut d = Diagnostic::error(
                        "Invalid value for input variable",
                        format!("The value that {} gives to var.{name} does not suit its type: {shown}.", c.origin),
                    )
                    .at(c.range.or(Some(v.range)));
                    if c.range.is_none() {
                        d.context = Some(v.range);
                    }
                    out.unsuitable.insert(name, d);
                }
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Early, LoadOptions, load, manifest::Manifest};

    const CONFIG: &str =
        "variable \"a\" {\n  type = string\n}\nvariable \"n\" {\n  type = list(number)\n  default = []\n}\n";

    fn values(files: &[(&str, &str)], given: &[Given], env: &[(&str, &str)]) -> (BTreeMap<Str, Value>, Diagnostics) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("main.tf"), CONFIG).unwrap();
        files.iter().for_each(|(n, t)| std::fs::write(dir.path().join(n), t).unwrap());
        let sources = Sources::default();
        let manifest = Manifest::default();
        let options = LoadOptions {
            modules: &manifest,
            version: "1.11.4".parse().unwrap(),
            sources: sources.clone(),
            early: Early::default(),
        };
        let config = load(dir.path(), &options).0.unwrap();
        let env = env.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let mut diags = Diagnostics::new();
        let module = &config.root.module;
        let found = collect(dir.path(), module, given, &env, &sources, &mut diags);
        found.require_all(module, &mut diags);
        let found = found.finish(module);
        diags.extend(found.unsuitable.into_values());
        (found.values, diags)
    }

    #[test]
    fn later_sources_win() {
        let files = [("terraform.tfvars", "a = \"file\"\n"), ("x.auto.tfvars", "a = \"auto\"\n")];
        let env = [("TF_VAR_a", "env")];
        assert_eq!(values(&[], &[], &env).0["a"], Value::from("env"));
        assert_eq!(values(&files[..1], &[], &env).0["a"], Value::from("file"));
        assert_eq!(values(&files, &[], &env).0["a"], Value::from("auto"));
        let given = [Given::Var("a=null".into()), Given::Var("n=[1, 2]".into())];
        let (v, diags) = values(&files, &given, &env);
        assert_eq!((v["a"].clone(), diags.len()), (Value::from("null"), 0));
        assert_eq!(v["n"].element_count(), Some(2));
    }

    #[test]
    fn what_is_wrong_says_where() {
        let (_, diags) = values(&[], &[Given::Var("n=[\"x\"]".into()), Given::Var("b=1".into())], &[]);
        let summaries: Vec<&str> = diags.iter().map(|d| d.summary.as_str()).collect();
        assert_eq!(
            summaries,
            ["Value for undeclared variable", "No value for required variable", "Invalid value for input variable"]
        );
        let (_, diags) = values(&[("terraform.tfvars", "zz = 1\na = \"x\"\n")], &[], &[]);
        assert!(!diags.has_errors() && diags.len() == 1);
    }
}

//! Blocks to declared objects: one file per kind of block. What can be checked within one block is checked here; names
//! are resolved later, when all files are read.

pub(super) mod call;
pub(super) mod check;
pub(super) mod output;
pub(super) mod provider;
pub(super) mod refactor;
pub(super) mod resource;
pub(super) mod terraform;
pub(super) mod variable;

use super::model::{Condition, LocalProviderConfig};
use crate::diag::{Diagnostics, FileId, Range};
use crate::lang::body::{BodySchema, Content};
use crate::lang::parse;
use crate::lang::static_expr;
use crate::lang::syntax::{Attribute, Block, Body, Expr, ExprKind, Label, Step, StepKind, Traversal};
use gpuform_schema::{Str, Value};
use std::collections::HashSet;
use std::sync::LazyLock;

/// What decoding has at hand.
pub(crate) struct Cx<'d> {
    /// Files in JSON syntax, where references stand in strings.
    pub json: HashSet<FileId>,
    pub diags: &'d mut Diagnostics,
}

const NAME_RULE: &str =
    "A name begins with a letter or underscore and holds only letters, digits, underscores and dashes.";

impl Cx<'_> {
    pub fn is_json(&self, range: Range) -> bool {
        self.json.contains(&range.file)
    }

    pub fn error(&mut self, summary: impl Into<String>, detail: impl Into<String>, at: Range) {
        self.diags.error(summary, detail, at);
    }

    pub fn content(&mut self, body: Body, schema: &BodySchema) -> Content {
        body.content(schema, self.diags)
    }

    pub fn partial(&mut self, body: Body, schema: &BodySchema) -> (Content, Body) {
        body.partial_content(schema, self.diags)
    }

    /// A name that must be an identifier.
    pub fn check_name(&mut self, label: &Label, summary: &str) {
        if !parse::is_identifier(&label.text) {
            self.error(summary, NAME_RULE, label.range);
        }
    }

    /// The constant string of an argument.
    pub fn string(&mut self, a: &Attribute) -> Option<String> {
        let json = self.is_json(a.range);
        static_expr::constant_string(&a.expr, json, self.diags)
    }

    /// The constant truth value of an argument, which may not be null.
    pub fn bool(&mut self, a: &Attribute) -> Option<bool> {
        let json = self.is_json(a.range);
        let before = self.diags.len();
        let value = static_expr::constant_bool(&a.expr, json, self.diags);
        let unknown = matches!(&a.expr.kind, ExprKind::Literal(Value::Unknown(_)));
        if value.is_none() && self.diags.len() == before && !unknown {
            let at = static_expr::start_range(&a.expr, json);
            self.error("Unsuitable value type", "This value may not be null: true or false is needed.", at);
        }
        value
    }

    /// A static reference. One in quotes, as old versions wanted it, is accepted with a warning.
    pub fn reference(&mut self, expr: Expr) -> Option<Traversal> {
        let json = self.is_json(expr.range);
        let expr = self.unquote(expr);
        static_expr::reference(expr, json, self.diags)
    }

    /// Takes an expression out of the quotes that old versions wanted.
    pub fn unquote(&mut self, expr: Expr) -> Expr {
        if self.is_json(expr.range) {
            return expr;
        }
        let ExprKind::Literal(Value::String(text)) = &expr.kind else { return expr };
        match parse::parse_expression(text, expr.range.file, expr.range.start + 1) {
            Ok(inner) if static_expr::static_traversal(inner.clone()).is_some() => {
                self.diags.warning(
                    "Quoted references are deprecated",
                    "References are written without quotes.",
                    expr.range,
                );
                inner
            }
            _ => expr,
        }
    }

    /// `depends_on`
    pub fn depends_on(&mut self, a: Attribute) -> Vec<Traversal> {
        let items = static_expr::list(a.expr, self.diags).unwrap_or_default();
        items.into_iter().filter_map(|e| self.reference(e)).collect()
    }

    /// A word such as `destroy`; old versions wanted it in quotes. `None` if it is none of the choices.
    pub fn keyword<'c>(&mut self, a: &Attribute, choices: &[&'c str]) -> Option<&'c str> {
        let json = self.is_json(a.range);
        let given = static_expr::keyword(&a.expr, json).map(str::to_owned);
        let given = given.or_else(|| match &a.expr.kind {
            ExprKind::Literal(Value::String(s)) => {
                self.diags.warning(
                    "Quoted keywords are deprecated",
                    "Keywords are written without quotes.",
                    a.expr.range,
                );
                Some(s.to_string())
            }
            _ => None,
        });
        let found = choices.iter().find(|c| given.as_deref() == Some(**c)).copied();
        if found.is_none() {
            self.error(
                format!("Invalid \"{}\" keyword", a.name),
                format!("\"{}\" takes one of the keywords {}.", a.name, choices.join(" and ")),
                a.expr.range,
            );
        }
        found
    }

    /// A provider configuration that may have instances: `aws.by_region[each.key]`, with the key apart.
    pub fn provider_instance(&mut self, expr: Expr, argument: &str) -> Option<(LocalProviderConfig, Option<Expr>)> {
        let json = self.is_json(expr.range);
        let mut quiet = Diagnostics::new();
        let mut expr = static_expr::unquote_json(expr.clone(), json, &mut quiet).unwrap_or(expr);
        let mut key = None;
        if let ExprKind::Traversal(t) = &mut expr.kind
            && t.steps.len() == 2
            && let Some(Step { kind: StepKind::Index(index), range }) = t.steps.last_mut()
        {
            let at = *range;
            key = Some(std::mem::replace(&mut **index, Expr { kind: ExprKind::Literal(Value::null()), range: at }));
            t.steps = t.steps.iter().take(1).cloned().collect();
        }
        Some((self.provider_ref(expr, argument)?, key))
    }

    /// A provider configuration as it is referred to: `aws` or `aws.west`. `argument` is what needs it.
    pub fn provider_ref(&mut self, expr: Expr, argument: &str) -> Option<LocalProviderConfig> {
        let range = expr.range;
        let json = self.is_json(range);
        let expr = self.unquote(expr);
        let mut quiet = Diagnostics::new();
        let traversal = static_expr::unquote_json(expr, json, &mut quiet).and_then(static_expr::static_traversal);
        const SUMMARY: &str = "Invalid provider configuration reference";
        let form =
            || format!("\"{argument}\" takes a provider name, perhaps with a dot and an alias after it: aws.west.");
        let Some(t) = traversal.filter(|t| t.steps.len() <= 1) else {
            self.error(SUMMARY, form(), range);
            return None;
        };
        let alias = match t.steps.first() {
            None => None,
            Some(step) => match &step.kind {
                StepKind::Attr(alias) => Some(alias.clone()),
                _ => {
                    self.error(SUMMARY, form(), step.range);
                    return None;
                }
            },
        };
        self.check_provider_name(&t.root, t.root_range);
        Some(LocalProviderConfig { name: t.root, alias })
    }

    /// Local names of providers are written in lower case, without underscores.
    pub fn check_provider_name(&mut self, name: &str, at: Range) -> bool {
        let lower = name.to_lowercase();
        let detail = if !is_provider_part(&lower) {
            format!("\"{name}\" is not a provider name: letters, digits and inner dashes only.")
        } else if lower != name {
            format!("Provider names are written in lower case: \"{lower}\".")
        } else {
            return true;
        };
        self.error("Invalid provider local name", detail, at);
        false
    }

    /// `condition` and `error_message` of a nested block, whose type is `kind` in messages.
    pub fn condition(&mut self, block: Block, kind: &str) -> Option<Condition> {
        let range = block.header_range;
        let (condition, error_message) = self.condition_parts(block, kind);
        Some(Condition { range, condition: condition?, error_message: error_message? })
    }

    /// The same where one of the two may be missing, which is reported.
    pub fn condition_parts(&mut self, block: Block, kind: &str) -> (Option<Expr>, Option<Expr>) {
        static SCHEMA: LazyLock<BodySchema> =
            LazyLock::new(|| BodySchema::new().required(["condition", "error_message"]));
        let mut content = self.content(block.body, &SCHEMA);
        let condition = content.take("condition").map(|a| a.expr);
        if let Some(c) = &condition {
            let mut refers = match &c.kind {
                ExprKind::Literal(Value::Unknown(_)) => true,
                ExprKind::JsonTemplate(json) => json.template.is_err(),
                _ => false,
            };
            c.visit_traversals(&mut |_| refers = true);
            if !refers {
                self.error(
                    format!("Invalid {kind} expression"),
                    "The condition refers to nothing outside itself, so it checks nothing.",
                    c.range,
                );
            }
        }
        (condition, content.take("error_message").map(|a| a.expr))
    }

    /// Both `count` and `for_each` are set.
    pub fn check_repetition(&mut self, count: Option<&Attribute>, for_each: Option<&Attribute>) {
        if let (Some(_), Some(f)) = (count, for_each) {
            self.error(
                "Invalid combination of \"count\" and \"for_each\"",
                "Either \"count\" or \"for_each\" says how many instances there are, not both.",
                f.name_range,
            );
        }
    }
}

/// Whether a text may be the namespace or type of a provider.
pub(super) fn is_provider_part(part: &str) -> bool {
    !part.is_empty()
        && part.chars().all(|c| c.is_alphanumeric() || c == '-')
        && !part.starts_with('-')
        && !part.ends_with('-')
}

/// The label at a position; the schema made sure that it is there.
pub(crate) fn label(block: &Block, i: usize) -> Label {
    let none = || Label { text: Str::from(""), range: block.header_range };
    block.labels.get(i).cloned().unwrap_or_else(none)
}

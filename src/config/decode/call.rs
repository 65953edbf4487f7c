//! `module` blocks.

use super::{Cx, label};
use crate::config::early;
use crate::config::model::{LocalProviderConfig, ModuleCall, PassedProvider};
use crate::config::source::ModuleSource;
use crate::diag::Diagnostics;
use crate::hash::IndexMap;
use crate::lang::body::BodySchema;
use crate::lang::static_expr;
use crate::lang::syntax::{Attribute, Block, Body, Expr, ExprKind, ObjectItem};
use gpuform_schema::Value;
use std::sync::LazyLock;

static SCHEMA: LazyLock<BodySchema> = LazyLock::new(|| {
    BodySchema::new()
        .required(["source"])
        .optional(["version", "count", "for_each", "depends_on", "providers"])
        .block("_", &[])
        .block("lifecycle", &[])
        .block("locals", &[])
        .block("provider", &["type"])
});

static LIFECYCLE: LazyLock<BodySchema> = LazyLock::new(|| BodySchema::new().optional(["enabled"]));

impl Cx<'_> {
    /// The call, and what is wrong with its inputs (which is no concern of `init`).
    pub fn module_call(&mut self, block: Block, late: &mut Diagnostics) -> ModuleCall {
        let name = label(&block, 0);
        self.check_name(&name, "Invalid module instance name");
        let header_range = block.header_range;
        let missing_range = block.body.missing_item_range();
        let (mut content, mut rest) = self.partial(block.body, &SCHEMA);
        let (mut early_source, mut early_version) = (None, None);
        let version = content.take("version");
        let versioned = version.is_some();
        let version = match version {
            Some(a) if early::is_early(&a.expr) => {
                early_version = Some(a.expr);
                None
            }
            version => version.and_then(|a| self.version_constraint(&a)),
        };
        let source = match content.take("source") {
            Some(a) if early::is_early(&a.expr) => {
                let range = a.expr.range;
                early_source = Some(a.expr);
                Some((String::new(), range))
            }
            source => source.and_then(|a| self.module_source(a, versioned)),
        };
        let providers = content.take("providers").map(|a| self.passed_providers(a));
        let depends_on = content.take("depends_on");
        let depends_on = depends_on.map(|a| self.depends_on(a)).unwrap_or_default();
        let depends_on_range = depends_on.first().map(|t| t.range());
        let mut repetition = self.repetition(&mut content);
        let mut escaped = false;
        for block in std::mem::take(&mut content.blocks) {
            match &*block.ty {
                "_" if !escaped => {
                    escaped = true;
                    rest = std::mem::replace(&mut rest, Body::empty(header_range)).overridden_by(block.body);
                }
                "_" => self.error(
                    "Duplicate escaping block",
                    "The block \"_\", for arguments that would be taken for meta-arguments, can stand only once.",
                    block.header_range,
                ),
                ty => {
                    let enabled = (ty == "lifecycle").then(|| self.content(block.body, &LIFECYCLE).take("enabled"));
                    if let Some(Some(a)) = enabled {
                        self.enabled(&mut repetition, a);
                    } else {
                        let detail = format!("Blocks of type \"{ty}\" have no meaning here; the name is reserved.");
                        self.error("Reserved block type name in module block", detail, block.ty_range);
                    }
                }
            }
        }
        let (source, source_range) = source.unwrap_or_else(|| (String::new(), header_range));
        ModuleCall {
            name: name.text,
            range: header_range,
            header_range,
            missing_range,
            source,
            source_range,
            version,
            early_source,
            early_version,
            repetition,
            inputs: inputs(rest, late),
            depends_on,
            depends_on_range,
            providers,
        }
    }

    fn module_source(&mut self, a: Attribute, versioned: bool) -> Option<(String, crate::diag::Range)> {
        let text = self.string(&a)?;
        let range = a.expr.range;
        match check_source(&text, versioned) {
            Ok(()) => Some((text, range)),
            Err((summary, detail)) => {
                self.error(summary, detail, range);
                None
            }
        }
    }

    /// `providers = { CHILD = PARENT }`
    pub fn passed_providers(&mut self, a: Attribute) -> Vec<PassedProvider> {
        let mut passed: Vec<PassedProvider> = Vec::new();
        for ObjectItem { key, value } in static_expr::object(a.expr, self.diags).unwrap_or_default() {
            let range = value.range;
            let child_range = match &key.kind {
                ExprKind::Traversal(t) => t.root_range,
                ExprKind::Relative(base, _) => base.range,
                _ => key.range,
            };
            let child = self.provider_key(key);
            let parent = self.provider_instance(value, "providers");
            let (Some(child), Some((parent, key))) = (child, parent) else { continue };
            if passed.iter().any(|p| p.child == child) {
                let detail = format!("A configuration was passed as {child} already.");
                self.error("Duplicate provider address", detail, range);
                continue;
            }
            passed.push(PassedProvider { child, child_range, parent, key, range });
        }
        passed
    }

    /// The name that a child module knows a configuration by. A plain name is a literal key in the syntax tree.
    fn provider_key(&mut self, key: Expr) -> Option<LocalProviderConfig> {
        let plain = match &key.kind {
            ExprKind::Literal(Value::String(s)) if !self.is_json(key.range) => {
                (key.range.end - key.range.start) as usize == s.len()
            }
            _ => false,
        };
        if plain && let ExprKind::Literal(Value::String(name)) = key.kind {
            self.check_provider_name(&name, key.range);
            return Some(LocalProviderConfig { name, alias: None });
        }
        self.provider_ref(key, "providers")
    }
}

/// Checks the source address of a call that has a version constraint or not.
///
/// # Errors
/// The summary and the detail of what is wrong with it.
pub(in crate::config) fn check_source(text: &str, versioned: bool) -> Result<(), (&'static str, String)> {
    match ModuleSource::parse(text) {
        Err(e) => Err(("Invalid module source address", e)),
        Ok(ModuleSource::Local(_) | ModuleSource::Remote(_)) if versioned => Err((
            "Invalid registry module source address",
            format!("A version can be chosen only of modules from a registry, and \"{text}\" is no registry address."),
        )),
        Ok(_) => Ok(()),
    }
}

/// The arguments for the child's variables.
fn inputs(rest: Body, late: &mut Diagnostics) -> IndexMap<gpuform_schema::Str, (Expr, crate::diag::Range)> {
    let names = BodySchema::new();
    let mut unexpected = Diagnostics::new();
    let attributes = rest.clone().just_attributes(&mut unexpected);
    if !unexpected.is_empty() {
        // Blocks: name each of them, as for any other body.
        let known = names.optional(attributes.iter().map(|a| a.name.clone()));
        rest.content(&known, late);
    }
    attributes.into_iter().map(|a| (a.name, (a.expr, a.name_range))).collect()
}

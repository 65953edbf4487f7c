//! `terraform` blocks: what a module requires, and the root module's backend.

use super::{Cx, is_provider_part, label};
use crate::addr;
use crate::config::model::{Backend, LocalProviderConfig, ProviderRequirement};
use crate::config::version::Constraints;
use crate::diag::{Diagnostics, Range};
use crate::lang::body::BodySchema;
use crate::lang::static_expr;
use crate::lang::syntax::{Attribute, Block, Body, Expr, ExprKind, Label, ObjectItem, StepKind};
use gpuform_schema::{Str, Value};
use std::collections::BTreeMap;
use std::sync::LazyLock;

static SCHEMA: LazyLock<BodySchema> = LazyLock::new(|| {
    BodySchema::new()
        .optional(["required_version", "experiments", "language"])
        .block("required_providers", &[])
        .block("backend", &["type"])
        .block("cloud", &[])
        .block("provider_meta", &["provider"])
});

/// What one `terraform` block says.
#[derive(Default)]
pub(crate) struct TerraformBlock {
    pub required_version: Option<(String, Range)>,
    pub backends: Vec<Backend>,
    pub clouds: Vec<Range>,
    /// Each `required_providers` block with its place.
    pub required_providers: Vec<(BTreeMap<Str, ProviderRequirement>, Range)>,
    pub provider_metas: Vec<(Label, Body, Range)>,
}

impl Cx<'_> {
    pub fn terraform(&mut self, block: Block) -> TerraformBlock {
        let mut content = self.content(block.body, &SCHEMA);
        let mut found = TerraformBlock {
            required_version: content
                .take("required_version")
                .and_then(|a| self.version_constraint(&a).map(|(constraint, _)| (constraint, a.range))),
            ..TerraformBlock::default()
        };
        if let Some(a) = content.take("experiments") {
            self.error(
                "Module uses experimental features",
                "There are no experimental features of the language to switch on.",
                a.name_range,
            );
        }
        if let Some(a) = content.take("language") {
            let json = self.is_json(a.range);
            if static_expr::keyword(&a.expr, json) != Some("TF2021") {
                self.error("Invalid language edition", "The only edition of the language is TF2021.", a.expr.range);
            }
        }
        for block in content.blocks {
            let range = block.header_range;
            match &*block.ty {
                "backend" => found.backends.push(Backend {
                    ty: label(&block, 0).text,
                    range,
                    body: block.body,
                    problems: Diagnostics::new(),
                }),
                "cloud" => found.clouds.push(range),
                "provider_meta" => found.provider_metas.push((label(&block, 0), block.body, range)),
                _ => found.required_providers.push((self.required_providers(block), range)),
            }
        }
        found
    }

    fn required_providers(&mut self, block: Block) -> BTreeMap<Str, ProviderRequirement> {
        let mut found: BTreeMap<Str, ProviderRequirement> = BTreeMap::new();
        for a in block.body.just_attributes(self.diags) {
            let name = a.name.clone();
            if !self.check_provider_name(&name, a.expr.range) {
                continue;
            }
            let range = a.expr.range;
            let Some(requirement) = self.requirement(a) else { continue };
            if let Some((other, _)) = found.iter().find(|(_, r)| r.source == requirement.source) {
                self.diags.warning(
                    "Duplicate required provider",
                    format!("{} is required as \"{other}\" already.", requirement.source.for_display()),
                    range,
                );
            }
            found.insert(name, requirement);
        }
        found
    }

    /// One entry of `required_providers`: a version constraint, or an object.
    fn requirement(&mut self, a: Attribute) -> Option<ProviderRequirement> {
        let implied = addr::Provider::implied(&a.name);
        let mut requirement = ProviderRequirement {
            source: implied,
            version: None,
            configuration_aliases: Vec::new(),
            range: Some(a.expr.range),
        };
        let items = match a.expr.kind {
            ExprKind::Object(items) => items,
            ExprKind::Literal(Value::String(_) | Value::Number(_)) => {
                requirement.version = self.version_constraint(&a);
                return requirement.version.is_some().then_some(requirement);
            }
            ExprKind::Literal(Value::Unknown(_)) => return None,
            _ => {
                let detail = "A provider is required by an object with a source and a version, or by a version alone.";
                self.error("Invalid required_providers object", detail, a.expr.range);
                return None;
            }
        };
        let before = self.diags.len();
        for item in items {
            self.requirement_item(item, &a.name, &mut requirement);
        }
        (self.diags.iter().skip(before).all(|d| !d.is_error())).then_some(requirement)
    }

    fn requirement_item(&mut self, item: ObjectItem, name: &Str, requirement: &mut ProviderRequirement) {
        let ObjectItem { key, value } = item;
        let key_name = match &key.kind {
            ExprKind::Literal(Value::String(s)) => s.clone(),
            _ => Str::from(""),
        };
        match &*key_name {
            "version" => match &value.kind {
                ExprKind::Literal(Value::String(text)) => match text.parse::<Constraints>() {
                    Ok(_) => requirement.version = Some((text.to_string(), value.range)),
                    Err(e) => {
                        let detail = format!("{e} A constraint has the form \">= 1.2, < 2.0\" or \"~> 1.4\".");
                        self.error("Invalid version constraint", detail, value.range);
                    }
                },
                _ => self.error("Invalid version constraint", "A version constraint is a string.", value.range),
            },
            "source" => match &value.kind {
                ExprKind::Literal(Value::String(text)) => match parse_source(text) {
                    Ok(source) => requirement.source = source,
                    Err((summary, detail)) => self.error(summary, detail, value.range),
                },
                _ => self.error("Invalid source", "The source of a provider is a string.", value.range),
            },
            "configuration_aliases" => requirement.configuration_aliases = self.configuration_aliases(value, name),
            _ => self.error(
                "Invalid required_providers object",
                "Here only \"source\", \"version\" and \"configuration_aliases\" can be set. A provider is configured by a \
                 \"provider\" block.",
                key.range,
            ),
        }
    }

    fn configuration_aliases(&mut self, list: Expr, provider: &str) -> Vec<LocalProviderConfig> {
        const SUMMARY: &str = "Invalid configuration_aliases value";
        let range = list.range;
        let mut aliases = Vec::new();
        for item in static_expr::list(list, self.diags).unwrap_or_default() {
            let json = self.is_json(item.range);
            let Some(t) = static_expr::reference(item, json, self.diags) else { continue };
            let alias = match t.steps.first().map(|s| &s.kind) {
                // The default configuration needs no mention.
                None => continue,
                Some(StepKind::Attr(alias)) if t.steps.len() == 1 => Some(alias.clone()),
                Some(_) => None,
            };
            match alias {
                None => self.error(SUMMARY, "An alias is written with the name of the provider: aws.west.", range),
                Some(_) if &*t.root != provider => {
                    let detail =
                        format!("The aliases of this provider begin with \"{provider}.\", not \"{}.\".", t.root);
                    self.error(SUMMARY, detail, range);
                }
                alias => aliases.push(LocalProviderConfig { name: t.root, alias }),
            }
        }
        aliases
    }
}

/// Parses a provider source address.
///
/// # Errors
/// The summary and detail of a diagnostic.
fn parse_source(text: &str) -> Result<addr::Provider, (&'static str, String)> {
    let parts: Vec<&str> = text.split('/').collect();
    let (host, namespace, ty) = match parts.as_slice() {
        [ty] => (addr::DEFAULT_REGISTRY, "hashicorp", *ty),
        [namespace, ty] => (addr::DEFAULT_REGISTRY, *namespace, *ty),
        [host, namespace, ty] => (*host, *namespace, *ty),
        _ => ("", "", ""),
    };
    let form = "A source has the form NAME, NAMESPACE/NAME or HOST/NAMESPACE/NAME";
    if parts.iter().any(|p| p.is_empty()) || ty.is_empty() {
        return Err(("Invalid provider source string", format!("{form}, not \"{text}\".")));
    }
    if !is_provider_part(&ty.to_lowercase()) {
        return Err(("Invalid provider type", format!("\"{ty}\" in \"{text}\" is not the name of a provider.")));
    }
    if let Some(short) = ty.strip_prefix("terraform-provider-") {
        let detail = format!("The prefix \"terraform-provider-\" is no part of a source; leave it off: \"{short}\".");
        return Err(("Invalid provider type", detail));
    }
    if namespace != "-" && !is_provider_part(&namespace.to_lowercase()) {
        let detail = format!("\"{namespace}\" in \"{text}\" is not the namespace of a provider.");
        return Err(("Invalid provider namespace", detail));
    }
    let host_ok = |h: &str| {
        let (name, port) = h.split_once(':').unwrap_or((h, "443"));
        let label = |l: &str| {
            !l.is_empty()
                && !l.starts_with('-')
                && !l.ends_with('-')
                && l.chars().all(|c| c.is_alphanumeric() || c == '-')
        };
        name.split('.').all(label) && port.parse::<u16>().is_ok()
    };
    if !host_ok(host) {
        return Err((
            "Invalid provider source hostname",
            format!("\"{host}\" in \"{text}\" is not the name of a host."),
        ));
    }
    if parts.len() == 1 && ty == "terraform" {
        return Ok(addr::Provider::builtin("terraform"));
    }
    Ok(addr::Provider::new(host.to_lowercase(), namespace.to_lowercase(), ty.to_lowercase()))
}

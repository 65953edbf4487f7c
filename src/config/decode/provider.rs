//! `provider` blocks.

use super::{Cx, NAME_RULE, label};
use crate::config::model::ProviderConfig;
use crate::config::version::Constraints;
use crate::diag::{Diagnostic, Range};
use crate::lang::body::BodySchema;
use crate::lang::parse::is_identifier;
use crate::lang::syntax::{Attribute, Block, Body};
use std::sync::LazyLock;

const RESERVED: [&str; 3] = ["count", "depends_on", "source"];

static SCHEMA: LazyLock<BodySchema> = LazyLock::new(|| {
    BodySchema::new()
        .optional(["alias", "version", "for_each"])
        .optional(RESERVED)
        .block("_", &[])
        .block("lifecycle", &[])
        .block("locals", &[])
});

static ALIAS: LazyLock<BodySchema> = LazyLock::new(|| BodySchema::new().optional(["alias"]));

/// The alias of a provider block, without any complaint.
pub(in crate::config) fn alias(block: &Block) -> Option<String> {
    let mut quiet = crate::diag::Diagnostics::new();
    let (mut content, _) = block.body.clone().partial_content(&ALIAS, &mut quiet);
    let a = content.take("alias")?;
    crate::lang::static_expr::constant_string(&a.expr, false, &mut quiet)
}

impl Cx<'_> {
    pub fn provider(&mut self, block: Block) -> ProviderConfig {
        let name = label(&block, 0);
        let range = block.header_range;
        self.check_provider_name(&name.text, range);
        let (mut content, mut body) = self.partial(block.body, &SCHEMA);
        let alias = content.take("alias").and_then(|a| {
            let Some(alias) = self.string(&a) else {
                self.diags.push(Diagnostic::error("Invalid provider configuration alias", NAME_RULE));
                return None;
            };
            if !is_identifier(&alias) {
                self.error("Invalid provider configuration alias", NAME_RULE, a.expr.range);
                return None;
            }
            Some(alias.into())
        });
        let version = content.take("version").and_then(|a| {
            self.diags.warning(
                "Version constraints inside provider configuration blocks are deprecated",
                "Put the constraint into the required_providers block of the module.",
                a.expr.range,
            );
            self.version_constraint(&a)
        });
        let for_each = content.take("for_each").and_then(|a| {
            if alias.is_none() {
                let detail = "Only a configuration with an \"alias\" can have several instances: without one it is the \
                              default, of which there is one.";
                self.error("Invalid for_each in provider block", detail, a.name_range);
                return None;
            }
            Some(a.expr)
        });
        for reserved in RESERVED {
            if let Some(a) = content.take(reserved) {
                let detail = format!("\"{reserved}\" has no meaning in provider blocks; the name is reserved.");
                self.error("Reserved argument name in provider block", detail, a.name_range);
            }
        }
        let mut escaped = false;
        for block in content.blocks {
            match &*block.ty {
                "_" if !escaped => {
                    escaped = true;
                    body = std::mem::replace(&mut body, Body::empty(range)).overridden_by(block.body);
                }
                "_" => self.error(
                    "Duplicate escaping block",
                    "The block \"_\", for arguments that would be taken for meta-arguments, can stand only once.",
                    block.header_range,
                ),
                ty => {
                    let detail = format!("Blocks of type \"{ty}\" have no meaning here; the name is reserved.");
                    self.error("Reserved block type name in provider block", detail, block.ty_range);
                }
            }
        }
        ProviderConfig { name: name.text, alias, range, version, body, for_each }
    }

    /// A constant version constraint, checked for its form.
    pub fn version_constraint(&mut self, a: &Attribute) -> Option<(String, Range)> {
        let text = self.string(a)?;
        match text.parse::<Constraints>() {
            Ok(_) => Some((text, a.expr.range)),
            Err(e) => {
                let detail = format!("{e} A constraint has the form \">= 1.2, < 2.0\" or \"~> 1.4\".");
                self.error("Invalid version constraint", detail, a.expr.range);
                None
            }
        }
    }
}

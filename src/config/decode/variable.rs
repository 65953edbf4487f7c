//! `variable` blocks.

use super::{Cx, NAME_RULE, label};
use crate::config::model::{Condition, Variable};
use crate::diag::Range;
use crate::lang::body::BodySchema;
use crate::lang::convert::TypeConstraint;
use crate::lang::parse::is_identifier;
use crate::lang::static_expr;
use crate::lang::syntax::{Attribute, Block, ExprKind, Step, StepKind};
use crate::lang::type_expr;
use gpuform_schema::Value;
use std::sync::LazyLock;

/// Names that mean something in `module` blocks, where variables are set.
const RESERVED: [&str; 8] =
    ["source", "version", "providers", "count", "for_each", "lifecycle", "depends_on", "locals"];

static SCHEMA: LazyLock<BodySchema> = LazyLock::new(|| {
    BodySchema::new()
        .optional(["description", "default", "type", "sensitive", "ephemeral", "nullable", "deprecated"])
        .block("validation", &[])
});

impl Cx<'_> {
    /// Decodes a variable. `changed_by` is the block of an override file that has changed its type or default value.
    pub fn variable(&mut self, block: Block, changed_by: Option<Range>) -> Variable {
        let name = label(&block, 0);
        let range = block.header_range;
        if !is_identifier(&name.text) {
            self.error("Invalid variable name", NAME_RULE, name.range);
        } else if RESERVED.contains(&&*name.text) {
            let detail =
                format!("\"{}\" has a meaning of its own in module blocks, where variables are set.", name.text);
            self.error("Invalid variable name", detail, name.range);
        }
        let mut content = self.content(block.body, &SCHEMA);
        let description = content.take("description").and_then(|a| self.string(&a));
        let ty_attribute = content.take("type");
        let ty_given = ty_attribute.is_some();
        let ty = ty_attribute.and_then(|a| self.variable_type(a)).unwrap_or(TypeConstraint::Any);
        let mut flag =
            |name: &str, otherwise: bool| content.take(name).and_then(|a| self.bool(&a)).unwrap_or(otherwise);
        let (sensitive, ephemeral, nullable) =
            (flag("sensitive", false), flag("ephemeral", false), flag("nullable", true));
        let default_attribute = content.take("default");
        let default_range = default_attribute.as_ref().map(|a| a.expr.range);
        let default = default_attribute.map(|a| self.default_value(&a, &ty, nullable, changed_by));
        let validations = content.blocks.into_iter().filter_map(|b| self.validation(b, &name.text)).collect();
        Variable {
            name: name.text,
            range,
            description,
            ty,
            ty_given,
            default,
            default_range,
            nullable,
            sensitive,
            ephemeral,
            validations,
        }
    }

    fn variable_type(&mut self, a: Attribute) -> Option<TypeConstraint> {
        let json = self.is_json(a.range);
        let written = a.expr.range;
        let mut expr = static_expr::unquote_json(a.expr, json, self.diags)?;
        if json && matches!(expr.kind, ExprKind::Traversal(_)) {
            // A name alone stands for the whole text.
            expr.range = written;
        }
        // What could not be parsed was reported.
        if matches!(&expr.kind, ExprKind::Literal(Value::Unknown(_))) {
            return None;
        }
        type_expr::variable_type(&expr, self.diags)
    }

    fn default_value(
        &mut self,
        a: &Attribute,
        ty: &TypeConstraint,
        nullable: bool,
        changed_by: Option<Range>,
    ) -> Value {
        const SUMMARY: &str = "Invalid default value for variable";
        let unknown = || Value::unknown(ty.ty());
        let Some(value) = a.expr.eval_constant(self.diags) else { return unknown() };
        match ty.apply(&value) {
            Ok(v) if v.is_null() && !nullable => {
                self.error(SUMMARY, "The default value is null, which nullable = false forbids.", a.expr.range);
                unknown()
            }
            Ok(v) => v,
            Err(e) => {
                self.error(
                    SUMMARY,
                    format!("The default value does not fit the type of the variable: {e}."),
                    changed_by.unwrap_or(a.expr.range),
                );
                unknown()
            }
        }
    }

    fn validation(&mut self, block: Block, variable: &str) -> Option<Condition> {
        let range = block.header_range;
        let (condition, error_message) = self.condition_parts(block, "validation");
        let condition = condition?;
        let mut about_itself = false;
        condition.visit_traversals(&mut |t| {
            let own = |s: &Step| matches!(&s.kind, StepKind::Attr(n) if &**n == variable);
            about_itself |= &*t.root == "var" && t.steps.first().is_some_and(own);
        });
        if !about_itself {
            self.error(
                "Invalid variable validation condition",
                format!("The condition must refer to var.{variable}, whose values it is there to check."),
                condition.range,
            );
        }
        Some(Condition { range, condition, error_message: error_message? })
    }
}

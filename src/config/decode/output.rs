//! `output` and `locals` blocks.

use super::{Cx, NAME_RULE, label};
use crate::config::model::{Local, Output};
use crate::lang::body::BodySchema;
use crate::lang::parse::is_identifier;
use crate::lang::syntax::{Block, Expr, ExprKind};
use gpuform_schema::{Str, Value};
use std::sync::LazyLock;

static OUTPUT: LazyLock<BodySchema> = LazyLock::new(|| {
    BodySchema::new()
        .required(["value"])
        .optional(["description", "sensitive", "ephemeral", "depends_on", "deprecated"])
        .block("precondition", &[])
        .block("postcondition", &[])
});

impl Cx<'_> {
    pub fn output(&mut self, block: Block) -> (Str, Output) {
        let name = label(&block, 0);
        let range = block.header_range;
        self.check_name(&name, "Invalid output name");
        let mut content = self.content(block.body, &OUTPUT);
        let null = || Expr { range, kind: ExprKind::Literal(Value::null()) };
        let mut preconditions = Vec::new();
        for b in content.blocks.drain(..) {
            if &*b.ty == "precondition" {
                preconditions.extend(self.condition(b, "precondition"));
            } else {
                let detail = "An output can be checked by a precondition only; there is nothing after it.";
                self.error("Postconditions are not allowed", detail, b.ty_range);
            }
        }
        let output = Output {
            range,
            description: content.take("description").and_then(|a| self.string(&a)),
            expr: content.take("value").map_or_else(null, |a| a.expr),
            sensitive: content.take("sensitive").and_then(|a| self.bool(&a)).unwrap_or(false),
            ephemeral: content.take("ephemeral").and_then(|a| self.bool(&a)).unwrap_or(false),
            depends_on: content.take("depends_on").map(|a| self.depends_on(a)).unwrap_or_default(),
            preconditions,
        };
        (name.text, output)
    }

    /// The local values of one block; broken names are reported and left out.
    pub fn locals(&mut self, block: Block) -> Vec<(Str, Local)> {
        let mut found = Vec::new();
        for a in block.body.just_attributes(self.diags) {
            if is_identifier(&a.name) {
                found.push((a.name, Local { range: a.range, expr: a.expr }));
            } else {
                self.error("Invalid local value name", NAME_RULE, a.name_range);
            }
        }
        found
    }
}

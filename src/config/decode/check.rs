//! `check` blocks.

use super::{Cx, label};
use crate::addr::Mode;
use crate::config::model::{Check, ResourceBlock};
use crate::lang::body::BodySchema;
use crate::lang::syntax::{Block, Body};
use gpuform_schema::Str;
use std::sync::LazyLock;

static SCHEMA: LazyLock<BodySchema> =
    LazyLock::new(|| BodySchema::new().block("assert", &[]).block("data", &["type", "name"]));
static NOT_NESTED: LazyLock<BodySchema> =
    LazyLock::new(|| BodySchema::new().optional(["count", "for_each"]).block("lifecycle", &[]));

impl Cx<'_> {
    /// The check and its data source.
    pub fn check(&mut self, block: Block) -> (Check, Option<ResourceBlock>) {
        let name = label(&block, 0);
        let header_range = block.header_range;
        self.check_name(&name, "Invalid check block name");
        let content = self.content(block.body, &SCHEMA);
        let mut asserts = Vec::new();
        let mut data = None;
        for block in content.blocks {
            let before = self.diags.len();
            if &*block.ty == "assert" {
                let assert = self.condition(block, "assert");
                asserts.extend(assert.filter(|_| self.diags.len() == before));
            } else if data.is_some() {
                self.error(
                    "Multiple data resource blocks",
                    "A check can have only one data source of its own.",
                    block.header_range,
                );
            } else {
                let nested = self.nested_data(block, &name.text);
                data = Some(nested).filter(|_| self.diags.len() == before);
            }
        }
        if asserts.is_empty() {
            self.error("Zero assert blocks", "A check needs at least one assert block.", header_range);
        }
        (Check { name: name.text, range: header_range, header_range, data: None, asserts }, data)
    }

    fn nested_data(&mut self, mut block: Block, check: &Str) -> ResourceBlock {
        let place = block.header_range;
        let (meta, rest) = self.partial(std::mem::replace(&mut block.body, Body::empty(place)), &NOT_NESTED);
        block.body = rest;
        for name in ["count", "for_each"] {
            if let Some(a) = meta.attributes.get(name) {
                let detail =
                    "A data source in a check has one instance: it can set neither \"count\" nor \"for_each\".";
                self.error(format!("Invalid \"{name}\" attribute"), detail, a.name_range);
            }
        }
        for lifecycle in &meta.blocks {
            let detail = "A data source in a check has no lifecycle of its own.";
            self.error("Invalid lifecycle block", detail, lifecycle.header_range);
        }
        let mut data = self.resource(block, Mode::Data);
        data.check = Some(check.clone());
        data
    }
}

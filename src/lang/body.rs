//! Uniform access to the bodies of native and JSON syntax: a caller says which arguments and blocks it knows and gets
//! them sorted out, with errors about everything else. `dynamic` blocks are blocks like any other here; whoever expands
//! them asks for them.

use super::json_syntax::JsonBody;
use super::suggest::did_you_mean;
use super::syntax::{Attribute, Block, Body, NativeBody};
use crate::diag::{Diagnostics, Range};
use crate::hash::HashMap;
use gpuform_schema::Str;
use std::collections::BTreeMap;

/// What may stand in a body.
#[derive(Clone, Default, Debug)]
pub struct BodySchema {
    /// Name → whether it is required.
    attributes: BTreeMap<Str, bool>,
    /// Block type → the names of its labels.
    blocks: BTreeMap<Str, &'static [&'static str]>,
}

impl BodySchema {
    pub fn new() -> BodySchema {
        BodySchema::default()
    }

    /// Adds arguments that may be left out.
    #[must_use]
    pub fn optional<S: Into<Str>>(mut self, names: impl IntoIterator<Item = S>) -> BodySchema {
        self.attributes.extend(names.into_iter().map(|n| (n.into(), false)));
        self
    }

    /// Adds arguments that must be there.
    #[must_use]
    pub fn required<S: Into<Str>>(mut self, names: impl IntoIterator<Item = S>) -> BodySchema {
        self.attributes.extend(names.into_iter().map(|n| (n.into(), true)));
        self
    }

    /// Adds a block type with the names of its labels.
    #[must_use]
    pub fn block(mut self, ty: impl Into<Str>, labels: &'static [&'static str]) -> BodySchema {
        self.blocks.insert(ty.into(), labels);
        self
    }

    pub(super) fn attribute(&self, name: &str) -> bool {
        self.attributes.contains_key(name)
    }

    pub(super) fn labels(&self, ty: &str) -> Option<&'static [&'static str]> {
        self.blocks.get(ty).copied()
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.attributes.keys().chain(self.blocks.keys()).map(|n| &**n)
    }
}

/// What was asked for, as far as it is there.
#[derive(Debug)]
pub struct Content {
    pub attributes: HashMap<Str, Attribute>,
    /// In source order.
    pub blocks: Vec<Block>,
    /// Where to point when something is missing.
    pub missing_item_range: Range,
}

impl Content {
    pub fn take(&mut self, name: &str) -> Option<Attribute> {
        self.attributes.remove(name)
    }
}

/// A body taken apart by a schema.
pub(super) struct Split {
    pub attributes: HashMap<Str, Attribute>,
    pub blocks: Vec<Block>,
    pub unknown: Vec<Unknown>,
    pub missing_item_range: Range,
    pub rest: Body,
}

/// Something in a body that its schema does not know.
pub(super) struct Unknown {
    pub kind: UnknownKind,
    pub name: Str,
    pub range: Range,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum UnknownKind {
    Attribute,
    Block,
    /// May have been meant as either.
    JsonProperty,
}

impl Unknown {
    fn report(&self, schema: &BodySchema, diags: &mut Diagnostics) {
        let Unknown { kind, name, range } = self;
        let attributes = || schema.attributes.keys().map(|n| &**n);
        let blocks = || schema.blocks.keys().map(|n| &**n);
        let (summary, detail) = match kind {
            UnknownKind::Attribute => {
                let hint = match schema.labels(name) {
                    Some(_) => format!(" Did you mean to define a block of type \"{name}\"?"),
                    None => did_you_mean(name, attributes()),
                };
                ("Unsupported argument", format!("There is no argument \"{name}\" here.{hint}"))
            }
            UnknownKind::Block => {
                let hint = if schema.attribute(name) {
                    format!(" \"{name}\" is an argument: set it with an equals sign.")
                } else {
                    did_you_mean(name, blocks())
                };
                ("Unsupported block type", format!("There are no blocks of type \"{name}\" here.{hint}"))
            }
            UnknownKind::JsonProperty => {
                let hint = did_you_mean(name, attributes().chain(blocks()));
                (
                    "Extraneous JSON object property",
                    format!("There is no argument or block type \"{name}\" here.{hint}"),
                )
            }
        };
        diags.error(summary, detail, *range);
    }
}

impl Body {
    /// An empty body at a place.
    pub fn empty(range: Range) -> Body {
        Body::Native(NativeBody { attributes: Vec::new(), blocks: Vec::new(), range, end_range: range })
    }

    /// The body with the arguments and blocks of an override file.
    #[must_use]
    pub fn overridden_by(self, other: Body) -> Body {
        Body::Merged(Box::new([self, other]))
    }

    pub fn range(&self) -> Range {
        match self {
            Body::Native(b) => b.range,
            Body::Json(b) => b.range(),
            Body::Merged(m) => m[0].range(),
        }
    }

    /// Where to point when something is missing from the body: its opening brace, in JSON its closing one.
    pub fn missing_item_range(&self) -> Range {
        match self {
            Body::Native(b) => Range { end: b.range.end.min(b.range.start + 1), ..b.range },
            Body::Json(b) => b.missing_item_range(),
            Body::Merged(m) => m[0].missing_item_range(),
        }
    }

    /// Exactly what the schema allows; anything else is an error.
    pub fn content(self, schema: &BodySchema, diags: &mut Diagnostics) -> Content {
        let split = self.split(schema, diags);
        for unknown in &split.unknown {
            unknown.report(schema, diags);
        }
        finish(split, schema, diags).0
    }

    /// What the schema asks for, and the rest as a body.
    pub fn partial_content(self, schema: &BodySchema, diags: &mut Diagnostics) -> (Content, Body) {
        let split = self.split(schema, diags);
        finish(split, schema, diags)
    }

    fn split(self, schema: &BodySchema, diags: &mut Diagnostics) -> Split {
        match self {
            Body::Native(body) => split_native(body, schema),
            Body::Json(body) => body.split(schema, diags),
            Body::Merged(both) => {
                let [base, other] = *both;
                merge(base.split(schema, diags), other.split(schema, diags))
            }
        }
    }

    /// All arguments, in source order; blocks are an error.
    pub fn just_attributes(self, diags: &mut Diagnostics) -> Vec<Attribute> {
        match self {
            Body::Native(body) => {
                if let Some(block) = body.blocks.first() {
                    diags.error(
                        format!("Unexpected \"{}\" block", block.ty),
                        "Only arguments are possible here, no blocks.",
                        block.ty_range,
                    );
                }
                body.attributes
            }
            Body::Json(body) => body.just_attributes(diags),
            Body::Merged(both) => {
                let [base, other] = *both;
                let mut attributes = base.just_attributes(diags);
                let other = other.just_attributes(diags);
                attributes.retain(|a| other.iter().all(|o| o.name != a.name));
                attributes.extend(other);
                attributes
            }
        }
    }
}

impl From<NativeBody> for Body {
    fn from(body: NativeBody) -> Body {
        Body::Native(body)
    }
}

impl From<JsonBody> for Body {
    fn from(body: JsonBody) -> Body {
        Body::Json(body)
    }
}

fn split_native(body: NativeBody, schema: &BodySchema) -> Split {
    let missing_item_range = Range { end: body.range.end.min(body.range.start + 1), ..body.range };
    let (known, mut attributes): (Vec<_>, Vec<_>) =
        body.attributes.into_iter().partition(|a| schema.attribute(&a.name));
    let (blocks, mut other_blocks): (Vec<_>, Vec<_>) =
        body.blocks.into_iter().partition(|b| schema.labels(&b.ty).is_some());
    // They are kept for as long as the configuration is.
    attributes.shrink_to_fit();
    other_blocks.shrink_to_fit();
    let unknown = |kind, name: &Str, range| Unknown { kind, name: name.clone(), range };
    Split {
        attributes: known.into_iter().map(|a| (a.name.clone(), a)).collect(),
        blocks,
        unknown: attributes
            .iter()
            .map(|a| unknown(UnknownKind::Attribute, &a.name, a.name_range))
            .chain(other_blocks.iter().map(|b| unknown(UnknownKind::Block, &b.ty, b.ty_range)))
            .collect(),
        missing_item_range,
        rest: Body::Native(NativeBody { attributes, blocks: other_blocks, ..body }),
    }
}

/// The type of the blocks that a block makes: a `dynamic` block stands for those of its label.
fn made_type(block: &Block) -> &Str {
    match block.labels.first() {
        Some(label) if &*block.ty == "dynamic" => &label.text,
        _ => &block.ty,
    }
}

/// Of these arguments only one can be set, so that setting one overrides the other.
const REPETITION: [&str; 2] = ["count", "for_each"];

fn merge(base: Split, other: Split) -> Split {
    let mut attributes = base.attributes;
    if REPETITION.iter().any(|name| other.attributes.contains_key(*name)) {
        REPETITION.iter().for_each(|name| drop(attributes.remove(*name)));
    }
    attributes.extend(other.attributes);
    let (mut blocks, mut overriding) = (base.blocks, Vec::new());
    for block in other.blocks {
        match blocks.iter_mut().find(|b| &*b.ty == "lifecycle" && b.ty == block.ty) {
            // Its arguments are independent of each other and are overridden one by one.
            Some(b) => {
                let body = std::mem::replace(&mut b.body, Body::empty(b.header_range));
                b.body = body.overridden_by(block.body);
            }
            None => overriding.push(block),
        }
    }
    blocks.retain(|b| overriding.iter().all(|o| made_type(o) != made_type(b)));
    blocks.extend(overriding);
    let mut unknown = base.unknown;
    unknown.extend(other.unknown);
    Split {
        attributes,
        blocks,
        unknown,
        missing_item_range: base.missing_item_range,
        rest: base.rest.overridden_by(other.rest),
    }
}

/// Checks what must be there.
fn finish(split: Split, schema: &BodySchema, diags: &mut Diagnostics) -> (Content, Body) {
    let Split { attributes, mut blocks, missing_item_range, rest, .. } = split;
    for (name, required) in &schema.attributes {
        if *required && !attributes.contains_key(name) {
            diags.error(
                "Missing required argument",
                format!("The argument \"{name}\" must be set here."),
                missing_item_range,
            );
        }
    }
    blocks.retain(|block| schema.labels(&block.ty).is_some_and(|names| labels_fit(block, names, diags)));
    (Content { attributes, blocks, missing_item_range }, rest)
}

fn labels_fit(block: &Block, names: &[&str], diags: &mut Diagnostics) -> bool {
    let ty = &block.ty;
    if let Some(extra) = block.labels.get(names.len()) {
        let detail = match names {
            [] => format!("A \"{ty}\" block has no labels."),
            [one] => format!("A \"{ty}\" block has one label, its {one}."),
            names => format!("A \"{ty}\" block has {} labels: {}.", names.len(), names.join(", ")),
        };
        diags.error(format!("Extraneous label for {ty}"), detail, extra.range);
        return false;
    }
    if let Some(missing) = names.get(block.labels.len()) {
        let detail = match names {
            [one] => format!("A \"{ty}\" block needs one label, its {one}."),
            names => format!("A \"{ty}\" block needs {} labels: {}.", names.len(), names.join(", ")),
        };
        diags.error(format!("Missing {missing} for {ty}"), detail, block.body.missing_item_range());
        return false;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::Sources;
    use crate::lang::parse::parse_file;

    fn content(name: &str, text: &str) -> (Content, Vec<String>) {
        let sources = Sources::default();
        let file = sources.add(name, text);
        let mut diags = Diagnostics::new();
        let body: Body = if name.ends_with(".json") {
            JsonBody::parse(text, file, &mut diags).into()
        } else {
            parse_file(text, file, &mut diags).into()
        };
        let schema = BodySchema::new().required(["value"]).optional(["name"]).block("rule", &["type", "name"]);
        let content = body.content(&schema, &mut diags);
        let told = |d: &crate::diag::Diagnostic| {
            let place = d.subject.map(|r| sources.describe(r)).unwrap_or_default();
            format!("{} {}", place.trim_start_matches(&format!("{name}:")), d.summary)
        };
        let errors = diags.iter().map(told).collect();
        (content, errors)
    }

    #[test]
    fn both_syntaxes_give_the_same_content() {
        let native = "value = 1\nrule \"a\" \"b\" {\n  x = 1\n}\nrule \"a\" \"c\" {\n}\n";
        let json = r#"{"value": 1, "//": "a comment", "rule": {"a": [{"b": {"x": 1}}, {"c": [{}]}]}}"#;
        for (name, text) in [("a.tf", native), ("a.tf.json", json)] {
            let (content, errors) = content(name, text);
            assert_eq!(errors, Vec::<String>::new());
            assert!(content.attributes.contains_key("value"));
            let labels: Vec<String> =
                content.blocks.iter().map(|b| format!("{}.{}", b.labels[0].text, b.labels[1].text)).collect();
            assert_eq!(labels, ["a.b", "a.c"]);
        }
    }

    #[test]
    fn what_does_not_belong_is_named() {
        let native = "vlaue = 1\nrule = 2\nrule \"a\" {\n}\nrule \"a\" \"b\" \"c\" {\n}\nname {\n}\nother {\n}\n";
        assert_eq!(
            content("a.tf", native).1,
            [
                "1,1-6 Unsupported argument",
                "2,1-5 Unsupported argument",
                "7,1-5 Unsupported block type",
                "9,1-6 Unsupported block type",
                "1,1-2 Missing required argument",
                "3,10-11 Missing name for rule",
                "5,14-17 Extraneous label for rule",
            ]
        );
        let json = r#"{"vlaue": 1, "rule": {"a": 5}, "name": 1, "name": 2}"#;
        assert_eq!(
            content("a.tf.json", json).1,
            [
                "1,28-29 Incorrect JSON value type",
                "1,28-29 Missing block label",
                "1,43-49 Duplicate argument",
                "1,2-9 Extraneous JSON object property",
                "1,52-53 Missing required argument",
            ]
        );
    }
}

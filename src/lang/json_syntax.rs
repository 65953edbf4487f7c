//! JSON syntax (`.tf.json`, `.tfvars.json`): a body whose properties become attributes or blocks depending on what is
//! asked for (by the methods of `body`), and values that become expressions: strings are templates. Reading the text
//! is `read`'s work.

mod read;

use super::body::{BodySchema, Split, Unknown, UnknownKind};
use super::parse;
use super::syntax::{Attribute, Block, Body, Expr, ExprKind, JsonTemplate, Label, ObjectItem};
use crate::diag::{Diagnostics, FileId, Range};
use crate::hash::HashMap;
use gpuform_schema::{Number, Str, Type, Value};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A JSON value with its place in the source.
#[derive(Clone, Debug)]
pub struct JsonValue {
    pub range: Range,
    pub kind: JsonKind,
}

#[derive(Clone, Debug)]
pub enum JsonKind {
    Null,
    Bool(bool),
    Number(Number),
    /// In normalization form C.
    String(Str),
    Array(Vec<JsonValue>),
    /// In source order; names may repeat.
    Object(Vec<JsonProperty>),
    /// Wrong in itself; already reported.
    Invalid,
}

#[derive(Clone, Debug)]
pub struct JsonProperty {
    pub name: Str,
    pub name_range: Range,
    pub value: JsonValue,
}

/// A JSON object, or an array of objects taken together, read as a body.
#[derive(Clone, Debug)]
pub struct JsonBody {
    value: Arc<JsonValue>,
    /// Names that were asked for before and are not part of the rest.
    hidden: Arc<BTreeSet<Str>>,
}

impl JsonValue {
    /// The member of an object whose value, an object or array, lies around a byte.
    fn member_around(&self, byte: u32) -> Option<(&str, &JsonValue)> {
        let JsonKind::Object(members) = &self.kind else { return None };
        let around = |v: &JsonValue| v.range.start < byte && byte < v.range.end;
        let found = members
            .iter()
            .find(|p| matches!(p.value.kind, JsonKind::Object(_) | JsonKind::Array(_)) && around(&p.value))?;
        Some((&found.name, &found.value))
    }

    /// Where the value begins: the bracket of an array or object, all of anything else.
    fn start_range(&self) -> Range {
        match self.kind {
            JsonKind::Array(_) | JsonKind::Object(_) => Range { end: self.range.start + 1, ..self.range },
            _ => self.range,
        }
    }

    /// The closing bracket.
    fn end_range(&self) -> Range {
        match self.kind {
            JsonKind::Array(_) | JsonKind::Object(_) => Range { start: self.range.end.saturating_sub(1), ..self.range },
            _ => self.range,
        }
    }

    /// The value as an expression: strings are templates, also those that are names of properties.
    pub fn to_expr(&self, diags: &mut Diagnostics) -> Expr {
        let kind = match &self.kind {
            JsonKind::Null => ExprKind::Literal(Value::null()),
            JsonKind::Bool(b) => ExprKind::Literal(Value::Bool(*b)),
            JsonKind::Number(n) => ExprKind::Literal(Value::Number(n.clone())),
            JsonKind::String(s) => string(s, self.range),
            JsonKind::Array(items) => ExprKind::Tuple(items.iter().map(|i| i.to_expr(diags)).collect()),
            JsonKind::Object(properties) => {
                report_duplicates(properties, "Duplicate object attribute", diags);
                let item = |p: &JsonProperty, diags: &mut Diagnostics| ObjectItem {
                    key: Expr { range: p.name_range, kind: string(&p.name, p.name_range) },
                    value: p.value.to_expr(diags),
                };
                ExprKind::Object(properties.iter().map(|p| item(p, diags)).collect())
            }
            JsonKind::Invalid => ExprKind::Literal(Value::unknown(Type::Dynamic)),
        };
        Expr { range: self.range, kind }
    }
}

/// A string, which may be a template.
fn string(text: &Str, range: Range) -> ExprKind {
    if !text.contains("${") && !text.contains("%{") {
        return ExprKind::Literal(Value::String(text.clone()));
    }
    let template = parse::parse_template(text, range.file, range.start + 1);
    ExprKind::JsonTemplate(Box::new(JsonTemplate { text: text.clone(), template }))
}

fn report_duplicates(properties: &[JsonProperty], summary: &str, diags: &mut Diagnostics) {
    let mut seen = BTreeSet::new();
    for p in properties {
        if !seen.insert(&p.name) {
            diags.error(summary, format!("The property \"{}\" was set before in this object.", p.name), p.name_range);
        }
    }
}

impl JsonBody {
    /// Reads a file. The body is empty where the text is not a JSON object or array of objects (already reported).
    /// The names of the objects and arrays around a byte.
    pub fn path_to(&self, byte: u32) -> Vec<&str> {
        let mut path = Vec::new();
        let mut value = &*self.value;
        while let Some((name, inner)) = value.member_around(byte) {
            path.push(name);
            value = inner;
        }
        path
    }

    pub fn parse(text: &str, file: FileId, diags: &mut Diagnostics) -> JsonBody {
        let value = read::read(text, file, diags);
        let is_body = matches!(value.kind, JsonKind::Object(_) | JsonKind::Array(_));
        if !is_body {
            diags.error(
                "Root value must be object",
                "A configuration in JSON is one object, or an array of objects.",
                value.range,
            );
            return JsonBody::new(JsonValue { range: value.range, kind: JsonKind::Object(Vec::new()) });
        }
        JsonBody::new(value)
    }

    fn new(value: JsonValue) -> JsonBody {
        JsonBody { value: Arc::new(value), hidden: Arc::default() }
    }

    pub(super) fn range(&self) -> Range {
        self.value.range
    }

    /// Where to point when something is missing.
    pub(super) fn missing_item_range(&self) -> Range {
        match self.value.kind {
            JsonKind::Object(_) => self.value.end_range(),
            _ => self.value.start_range(),
        }
    }

    /// The properties that are not hidden yet, comments (`//`) excluded.
    fn properties<'a>(&'a self, value: &'a JsonValue, what: &str, diags: &mut Diagnostics) -> Vec<&'a JsonProperty> {
        let mut found: Vec<&JsonProperty> = Vec::new();
        let objects = match &value.kind {
            JsonKind::Null => &[],
            JsonKind::Array(items) => items.as_slice(),
            JsonKind::Object(_) => std::slice::from_ref(value),
            JsonKind::Invalid => &[],
            _ => {
                diags.error(
                    "Incorrect JSON value type",
                    format!("A JSON object, or an array of objects, is needed here to give {what}."),
                    value.start_range(),
                );
                &[]
            }
        };
        for object in objects {
            match &object.kind {
                JsonKind::Object(p) => found.extend(p),
                JsonKind::Invalid => {}
                _ => diags.error(
                    "Incorrect JSON value type",
                    format!("A JSON object is needed here to give {what}."),
                    object.start_range(),
                ),
            }
        }
        found
    }

    pub(super) fn split(self, schema: &BodySchema, diags: &mut Diagnostics) -> Split {
        let mut attributes: HashMap<Str, Attribute> = HashMap::default();
        let mut blocks = Vec::new();
        let mut unknown = Vec::new();
        for p in self.properties(&self.value, "the arguments and blocks of this block", diags) {
            if &*p.name == "//" || self.hidden.contains(&p.name) {
                continue;
            }
            if schema.attribute(&p.name) {
                let attribute = Attribute {
                    name: p.name.clone(),
                    name_range: p.name_range,
                    range: p.name_range.to(p.value.range),
                    expr: p.value.to_expr(diags),
                };
                if attributes.contains_key(&p.name) {
                    let detail = format!("The argument \"{}\" was set before in this block.", p.name);
                    diags.error("Duplicate argument", detail, p.name_range);
                } else {
                    attributes.insert(p.name.clone(), attribute);
                }
            } else if let Some(labels) = schema.labels(&p.name) {
                self.unpack(p, &p.value, labels, &mut Vec::new(), &mut blocks, diags);
            } else {
                unknown.push(Unknown { kind: UnknownKind::JsonProperty, name: p.name.clone(), range: p.name_range });
            }
        }
        let mut hidden = (*self.hidden).clone();
        hidden.extend(schema.names().map(Str::from));
        let missing_item_range = self.missing_item_range();
        Split {
            attributes,
            blocks,
            unknown,
            missing_item_range,
            rest: Body::Json(JsonBody { value: self.value, hidden: Arc::new(hidden) }),
        }
    }

    /// Adds the blocks of one property: one object level for each label, then objects or arrays of them.
    fn unpack(
        &self,
        property: &JsonProperty,
        value: &JsonValue,
        labels_left: &[&str],
        labels: &mut Vec<Label>,
        blocks: &mut Vec<Block>,
        diags: &mut Diagnostics,
    ) {
        let ty = &property.name;
        if let Some((label, left)) = labels_left.split_first() {
            let what = format!("the {label} of each \"{ty}\" block");
            let inner = self.properties(value, &what, diags);
            if inner.is_empty() {
                let detail = format!("A property is needed here whose name is the {label} of the \"{ty}\" block.");
                diags.error("Missing block label", detail, value.start_range());
            }
            for p in inner {
                labels.push(Label { text: p.name.clone(), range: p.name_range });
                self.unpack(property, &p.value, left, labels, blocks, diags);
                labels.pop();
            }
            return;
        }
        // Of an array, all blocks are where the array begins.
        let header_range = value.start_range();
        let mut add = |v: &JsonValue| {
            blocks.push(Block {
                ty: ty.clone(),
                ty_range: property.name_range,
                labels: labels.clone(),
                header_range,
                body: Body::Json(JsonBody::new(v.clone())),
            });
        };
        match &value.kind {
            JsonKind::Null => {}
            JsonKind::Object(_) => add(value),
            JsonKind::Array(items) => items.iter().for_each(add),
            _ => diags.error(
                "Incorrect JSON value type",
                format!("A JSON object, or an array of objects, is needed here as the content of \"{ty}\" blocks."),
                value.start_range(),
            ),
        }
    }

    pub(super) fn just_attributes(self, diags: &mut Diagnostics) -> Vec<Attribute> {
        let JsonKind::Object(properties) = &self.value.kind else {
            if !matches!(self.value.kind, JsonKind::Invalid) {
                diags.error(
                    "Incorrect JSON value type",
                    "A JSON object is needed here to set the arguments of this block.",
                    self.value.start_range(),
                );
            }
            return Vec::new();
        };
        report_duplicates(properties, "Duplicate attribute definition", diags);
        let mut seen = BTreeSet::new();
        let mut found = Vec::new();
        for p in properties {
            if &*p.name == "//" || self.hidden.contains(&p.name) || !seen.insert(&p.name) {
                continue;
            }
            found.push(Attribute {
                name: p.name.clone(),
                name_range: p.name_range,
                range: p.name_range.to(p.value.range),
                expr: p.value.to_expr(diags),
            });
        }
        found
    }
}

#[cfg(test)]
mod tests;

//! From a body and a layout to a decoder: everything that can be checked without values.

use super::layout::{BlockSlot, Layout, Slot};
use super::{AttributeDecoder, BlockDecoder, BlocksDecoder, Decoder, Dependence, Dynamic, Item, labelled};
use crate::diag::{Diagnostic, Diagnostics, Range};
use crate::lang::body::{BodySchema, Content};
use crate::lang::resolve::{Allowed, Symbols, resolve, told};
use crate::lang::suggest::did_you_mean;
use crate::lang::syntax::{Block, Body, Expr, ExprKind, Target};
use crate::lang::visit::Met;
use gpuform_schema::schema::Nesting;
use gpuform_schema::{Str, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

impl Decoder {
    /// Checks a body against a schema, resolves the names in it and prepares it for evaluation. What is wrong is added
    /// to `diags`; the decoder then covers the rest.
    pub fn compile(
        body: &Body,
        layout: &Arc<Layout>,
        symbols: &dyn Symbols,
        allowed: Allowed,
        diags: &mut Diagnostics,
    ) -> Decoder {
        let iterators = allowed.scoped.to_vec();
        let (mut names, mut shape) = (NameProblems::default(), Diagnostics::new());
        let root =
            Compiler { symbols, allowed, diags: &mut shape, names: &mut names, iterators }.block(body.clone(), layout);
        let names = names.told();
        // A body with names that mean nothing is not looked at further.
        let wrong_names = names.has_errors();
        diags.extend(names);
        diags.extend(shape.into_iter().filter(|d| !wrong_names || !d.is_error()));
        let mut decoder = Decoder { root, dependence: Dependence::Constant, wrong_names };
        let mut dependence = Dependence::Constant;
        decoder.visit(&mut |met| dependence = dependence.max(of(met)));
        decoder.dependence = dependence;
        decoder
    }
}

/// Functions that give another result at each call.
const IMPURE: [&str; 3] = ["bcrypt", "timestamp", "uuid"];

/// What a reference or call depends on.
fn of(met: Met) -> Dependence {
    match met {
        Met::Traversal(t) => match t.target {
            Target::CountIndex | Target::EachKey | Target::EachValue | Target::SelfObject => Dependence::Instance,
            _ => Dependence::Objects,
        },
        Met::Call(call, _) => {
            let name = call.name.strip_prefix("core::").unwrap_or(&call.name);
            if IMPURE.contains(&name) {
                Dependence::Instance
            } else if name.starts_with("provider::") {
                Dependence::Objects
            } else {
                Dependence::Constant
            }
        }
    }
}

/// What is wrong with names, by when it is noticed: `dynamic` blocks are made before anything else is evaluated.
#[derive(Default)]
struct NameProblems {
    /// In what says how often `dynamic` blocks stand.
    making: Diagnostics,
    /// In the contents of `dynamic` blocks.
    contents: Diagnostics,
    elsewhere: Diagnostics,
}

impl NameProblems {
    /// What a user is told: contents of blocks that cannot be made are not looked at.
    fn told(self) -> Diagnostics {
        let mut evaluated = self.elsewhere;
        if !self.making.has_errors() {
            evaluated.extend(self.contents);
        }
        told(self.making).into_iter().chain(told(evaluated)).collect()
    }
}

struct Compiler<'a, 'd> {
    symbols: &'a dyn Symbols,
    allowed: Allowed<'a>,
    /// What does not fit the schema.
    diags: &'d mut Diagnostics,
    names: &'d mut NameProblems,
    /// Of the `dynamic` blocks that we are in.
    iterators: Vec<Str>,
}

impl Compiler<'_, '_> {
    fn block(&mut self, body: Body, layout: &Arc<Layout>) -> BlockDecoder {
        let as_blocks = if layout.ambiguous { written_as_blocks(&body, layout) } else { Vec::new() };
        let mut content = if as_blocks.is_empty() {
            body.content(&layout.body, self.diags)
        } else {
            body.content(&layout.body_with_blocks(&as_blocks), self.diags)
        };
        let blocks = self.blocks(&mut content, layout, &as_blocks);
        let missing_item_range = content.missing_item_range;
        let mut attributes: Vec<AttributeDecoder> = Vec::with_capacity(content.attributes.len());
        for (name, attribute) in content.attributes {
            let Some(position) = layout.position(&name) else { continue };
            attributes.push(AttributeDecoder { position, expr: attribute.expr, range: attribute.range });
        }
        // In the order of the layout: diagnostics come out the same way each time.
        attributes.sort_by_key(|a| a.position);
        attributes.iter_mut().for_each(|a| self.resolve(&mut a.expr));
        BlockDecoder { layout: layout.clone(), attributes, blocks, missing_item_range }
    }

    fn resolve(&mut self, expr: &mut Expr) {
        let in_content = self.iterators.len() > self.allowed.scoped.len();
        let problems = if in_content { &mut self.names.contents } else { &mut self.names.elsewhere };
        resolve(expr, self.symbols, Allowed { scoped: &self.iterators, ..self.allowed }, problems);
    }

    /// An expression that says how often a `dynamic` block stands.
    fn resolve_making(&mut self, expr: &mut Expr) {
        resolve(expr, self.symbols, Allowed { scoped: &self.iterators, ..self.allowed }, &mut self.names.making);
    }

    fn blocks(&mut self, content: &mut Content, layout: &Arc<Layout>, as_blocks: &[usize]) -> Vec<BlocksDecoder> {
        let mut by_position: BTreeMap<usize, Vec<Item>> = BTreeMap::new();
        for block in std::mem::take(&mut content.blocks) {
            let dynamic = &*block.ty == "dynamic" && layout.position("dynamic").is_none();
            let (ty, ty_range) = match block.labels.first() {
                Some(label) if dynamic => (label.text.clone(), label.range),
                _ => (block.ty.clone(), block.ty_range),
            };
            let position = layout.position(&ty);
            let Some((position, slot)) = position.and_then(|p| Some((p, block_slot(layout, p, as_blocks)?))) else {
                self.unsupported(&ty, ty_range, layout);
                continue;
            };
            let item = if dynamic { self.dynamic(block, &ty, slot) } else { Some(self.fixed(block, slot)) };
            by_position.entry(position).or_default().extend(item);
        }
        let mut blocks: Vec<BlocksDecoder> =
            by_position.into_iter().map(|(position, items)| BlocksDecoder { position, items }).collect();
        for (position, slot) in layout.slots.iter().enumerate() {
            if let Slot::Blocks(slot) = slot {
                let items = blocks.iter().find(|b| b.position == position).map_or(&[][..], |b| &b.items);
                self.check_count(&layout.names[position], slot, items, content.missing_item_range);
            }
        }
        blocks.retain(|b| !b.items.is_empty());
        blocks
    }

    fn unsupported(&mut self, ty: &str, range: Range, layout: &Layout) {
        let hint = match layout.position(ty).and_then(|p| layout.slot(p)) {
            Some(Slot::Attribute(_)) => format!(" \"{ty}\" is an argument: set it with an equals sign."),
            _ => did_you_mean(ty, layout.names.iter().map(|n| &**n)),
        };
        let detail = format!("There are no blocks of type \"{ty}\" here.{hint}");
        self.diags.error("Unsupported block type", detail, range);
    }

    /// The number of blocks, where no `dynamic` block leaves it open.
    fn check_count(&mut self, ty: &str, slot: &BlockSlot, items: &[Item], missing: Range) {
        if items.iter().any(|i| matches!(i, Item::Dynamic(_))) {
            return;
        }
        let ranges = items.iter().filter_map(|i| match i {
            Item::Static { header_range, .. } => Some(*header_range),
            Item::Dynamic(_) => None,
        });
        if let Some(d) = count_error(ty, slot, &ranges.collect::<Vec<_>>(), missing) {
            self.diags.push(d);
        }
    }

    fn fixed(&mut self, block: Block, slot: &BlockSlot) -> Item {
        let label = block.labels.into_iter().next().map(|l| l.text);
        Item::Static { label, block: self.block(block.body, &slot.inner), header_range: block.header_range }
    }

    /// `dynamic "TYPE" { for_each = … content { … } }`
    fn dynamic(&mut self, block: Block, ty: &Str, slot: &BlockSlot) -> Option<Item> {
        let header_range = block.header_range;
        let before = self.diags.len();
        let mut schema = BodySchema::new().required(["for_each"]).optional(["iterator"]).block("content", &[]);
        if labelled(slot.nesting) {
            schema = schema.optional(["labels"]);
        }
        let mut content = block.body.content(&schema, self.diags);
        let mut for_each = content.take("for_each")?.expr;
        let iterator = match content.take("iterator") {
            Some(a) => self.iterator(&a.expr)?,
            None => ty.clone(),
        };
        let label = match content.take("labels") {
            Some(a) => Some(self.label(ty, a.expr)?),
            None if labelled(slot.nesting) => {
                let detail = format!("Blocks of type \"{ty}\" have one label; set it with labels = [KEY].");
                self.diags.error("Insufficient dynamic block labels", detail, content.missing_item_range);
                return None;
            }
            None => None,
        };
        let mut contents = content.blocks.into_iter();
        let Some(inner) = contents.next() else {
            let detail =
                "A dynamic block needs a block \"content\", which says what is in each of the blocks it makes.";
            self.diags.error("Missing dynamic content block", detail, content.missing_item_range);
            return None;
        };
        if let Some(second) = contents.next() {
            let detail = "A dynamic block has only one block \"content\".";
            self.diags.error("Extraneous dynamic content block", detail, second.header_range);
            return None;
        }
        if self.diags.len() > before {
            return None;
        }
        self.resolve_making(&mut for_each);
        self.iterators.push(iterator.clone());
        let label = label.map(|mut l| {
            self.resolve_making(&mut l);
            l
        });
        let block = self.block(inner.body, &slot.inner);
        self.iterators.pop();
        Some(Item::Dynamic(Box::new(Dynamic { for_each, iterator, label, block, header_range })))
    }

    /// The name of the iterator: a bare name, in JSON a string.
    fn iterator(&mut self, expr: &Expr) -> Option<Str> {
        match &expr.kind {
            ExprKind::Traversal(t) if t.steps.is_empty() => Some(t.root.clone()),
            ExprKind::Literal(Value::String(s)) if crate::lang::parse::is_identifier(s) => Some(s.clone()),
            _ => {
                let detail = "The iterator of a dynamic block is the name of a variable.";
                self.diags.error("Invalid dynamic iterator name", detail, expr.range);
                None
            }
        }
    }

    fn label(&mut self, ty: &str, expr: Expr) -> Option<Expr> {
        let range = expr.range;
        let ExprKind::Tuple(items) = expr.kind else {
            self.diags.error("Invalid dynamic block labels", "The labels of a dynamic block are a list.", range);
            return None;
        };
        let mut items = items.into_vec().into_iter();
        match (items.next(), items.next()) {
            (Some(only), None) => Some(only),
            (Some(_), Some(extra)) => {
                let detail = format!("Blocks of type \"{ty}\" have only one label.");
                self.diags.error("Extraneous dynamic block label", detail, extra.range);
                None
            }
            (None, _) => {
                let detail = format!("Blocks of type \"{ty}\" have one label.");
                self.diags.error("Insufficient dynamic block labels", detail, range);
                None
            }
        }
    }
}

/// The slot of a block type, or of an attribute that is written as blocks.
fn block_slot<'a>(layout: &'a Layout, position: usize, as_blocks: &[usize]) -> Option<&'a BlockSlot> {
    match layout.slot(position)? {
        Slot::Blocks(slot) => Some(slot),
        Slot::Attribute(a) if as_blocks.contains(&position) => a.as_blocks.as_ref().map(|b| b.slot()),
        Slot::Attribute(_) => None,
    }
}

/// The attributes that a body writes as blocks: those for which it has blocks and no argument. In JSON syntax both look
/// the same and count as arguments, except in `dynamic`.
fn written_as_blocks(body: &Body, layout: &Layout) -> Vec<usize> {
    let ambiguous = |name: &str| {
        let position = layout.position(name)?;
        matches!(layout.slot(position), Some(Slot::Attribute(a)) if a.as_blocks.is_some()).then_some(position)
    };
    let mut names = Vec::new();
    block_types(body, &mut names);
    let mut positions: Vec<usize> = names.iter().filter_map(|n| ambiguous(n)).collect();
    positions.sort_unstable();
    positions.dedup();
    positions
}

/// The types of the blocks that a body has or makes, where no argument has the same name.
fn block_types(body: &Body, names: &mut Vec<Str>) {
    let of_dynamic = |b: Block| b.labels.into_iter().next().map(|l| l.text);
    match body {
        Body::Native(body) => {
            let dynamic = body.blocks.iter().filter(|b| &*b.ty == "dynamic").cloned().filter_map(of_dynamic);
            let types = dynamic.chain(body.blocks.iter().map(|b| b.ty.clone()));
            names.extend(types.filter(|n| body.attributes.iter().all(|a| a.name != *n)));
        }
        Body::Json(_) => {
            let schema = BodySchema::new().block("dynamic", &["type"]);
            let mut ignored = Diagnostics::new();
            let (content, _) = body.clone().partial_content(&schema, &mut ignored);
            names.extend(content.blocks.into_iter().filter_map(of_dynamic));
        }
        Body::Merged(both) => both.iter().for_each(|b| block_types(b, names)),
    }
}

/// What is wrong with the number of blocks of a type, given the places where they come from.
pub(super) fn count_error(ty: &str, slot: &BlockSlot, ranges: &[Range], missing: Range) -> Option<Diagnostic> {
    let n = ranges.len() as u64;
    let single = matches!(slot.nesting, Nesting::Single | Nesting::Group);
    if n < slot.min {
        let (summary, detail) = if single {
            (format!("Missing {ty} block"), format!("A block of type \"{ty}\" is required here."))
        } else {
            let s = if slot.min == 1 { "" } else { "s" };
            (
                format!("Insufficient {ty} blocks"),
                format!("At least {} block{s} of type \"{ty}\" must be here.", slot.min),
            )
        };
        return Some(Diagnostic::error(summary, detail).at(missing));
    }
    if slot.max > 0 && n > slot.max {
        let at = usize::try_from(slot.max).ok().and_then(|i| ranges.get(i)).copied().unwrap_or(missing);
        let s = if slot.max == 1 { "" } else { "s" };
        let detail = format!("Only {} block{s} of type \"{ty}\" can be here.", slot.max);
        let summary = if single { format!("Duplicate {ty} block") } else { format!("Too many {ty} blocks") };
        return Some(Diagnostic::error(summary, detail).at(at));
    }
    None
}

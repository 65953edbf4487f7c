//! Decoding: the body of a block, read by a provider's schema, becomes a value of the schema's type. What does not
//! depend on values is checked and worked out once ([`Decoder::compile`]); evaluating for one instance only evaluates
//! expressions ([`Decoder::eval`]). Rendering diagnostics of providers asks here for places ([`Decoder::range_of`]).

mod compile;
mod eval;
mod layout;
mod settings;

pub use layout::Layout;
pub use settings::{Block, Blocks, Setting};

use crate::diag::Range;
use crate::lang::syntax::{Expr, ExprKind, Target, Traversal};
use crate::lang::visit::Met;
use gpuform_schema::path::{Path, Step};
use gpuform_schema::schema::Nesting;
use gpuform_schema::{Str, Type, Value};
use std::sync::Arc;

/// The body of a block, ready to be evaluated.
#[derive(Debug)]
pub struct Decoder {
    root: BlockDecoder,
    dependence: Dependence,
    /// Some names in it mean nothing.
    pub wrong_names: bool,
}

/// What the value of a body depends on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Dependence {
    /// Nothing: it is the same everywhere.
    Constant,
    /// Other objects: it is the same for all instances of the block in one module instance.
    Objects,
    /// `count`, `each` or `self`, or functions that give another result at each call.
    Instance,
}

/// One block: what of its layout is set.
#[derive(Debug)]
struct BlockDecoder {
    layout: Arc<Layout>,
    attributes: Vec<AttributeDecoder>,
    blocks: Vec<BlocksDecoder>,
    /// Where to point when something is missing.
    missing_item_range: Range,
}

#[derive(Debug)]
struct AttributeDecoder {
    /// Position in the layout.
    position: usize,
    expr: Expr,
    /// Name, equals sign and expression.
    range: Range,
}

/// All blocks of one type in a block.
#[derive(Debug)]
struct BlocksDecoder {
    position: usize,
    items: Vec<Item>,
}

#[derive(Debug)]
enum Item {
    Static {
        /// The key, for blocks that make a map.
        label: Option<Str>,
        block: BlockDecoder,
        header_range: Range,
    },
    Dynamic(Box<Dynamic>),
}

/// A `dynamic` block.
#[derive(Debug)]
struct Dynamic {
    for_each: Expr,
    iterator: Str,
    /// The key, for blocks that make a map.
    label: Option<Expr>,
    block: BlockDecoder,
    header_range: Range,
}

impl Decoder {
    /// The type of the values.
    pub fn ty(&self) -> &Type {
        self.root.layout.ty()
    }

    /// What the value depends on, so that it need not be computed again where that is the same.
    pub fn dependence(&self) -> Dependence {
        self.dependence
    }

    /// Calls `f` for each reference in the body, except to iterators of `dynamic` blocks.
    pub fn visit_traversals<'a>(&'a self, f: &mut dyn FnMut(&'a Traversal)) {
        self.visit(&mut |met| {
            if let Met::Traversal(t) = met {
                f(t);
            }
        });
    }

    /// Calls `f` for each reference and function call in the body.
    pub fn visit<'a>(&'a self, f: &mut dyn FnMut(Met<'a>)) {
        self.root.each_expr(&mut |e| {
            e.visit(&mut |met| match met {
                Met::Traversal(t) if t.target == Target::Scoped => {}
                met => f(met),
            });
        });
    }

    /// The place in the source that sets the part of the value at a path; where nothing there is set, the place where
    /// it could be. `None` if the path does not begin with an attribute.
    pub fn range_of(&self, path: &Path) -> Option<Range> {
        matches!(path.0.first(), Some(Step::Attr(_))).then(|| self.root.range_of(&path.0))
    }
}

impl BlockDecoder {
    fn each_expr<'a>(&'a self, f: &mut dyn FnMut(&'a Expr)) {
        self.attributes.iter().for_each(|a| f(&a.expr));
        for item in self.blocks.iter().flat_map(|b| &b.items) {
            match item {
                Item::Static { block, .. } => block.each_expr(f),
                Item::Dynamic(d) => {
                    f(&d.for_each);
                    d.label.iter().for_each(&mut *f);
                    d.block.each_expr(f);
                }
            }
        }
    }

    fn range_of(&self, steps: &[Step]) -> Range {
        let Some((Step::Attr(name) | Step::Key(name), rest)) = steps.split_first() else {
            return self.missing_item_range;
        };
        let Some(position) = self.layout.position(name) else { return self.missing_item_range };
        if let Some(a) = self.attributes.iter().find(|a| a.position == position) {
            return part_of_literal(&a.expr, rest);
        }
        let Some(blocks) = self.blocks.iter().find(|b| b.position == position) else {
            return self.missing_item_range;
        };
        let single = !matches!(rest.first(), Some(Step::Index(_) | Step::Key(_) | Step::Element(_)));
        let (index, rest) = match rest.split_first() {
            Some((Step::Index(i), rest)) => (usize::try_from(*i).unwrap_or(usize::MAX), rest),
            Some((Step::Key(key), rest)) => (blocks.with_label(key), rest),
            Some((Step::Element(_), rest)) => (usize::MAX, rest),
            _ => (0, rest),
        };
        // A `dynamic` block before it stands for a number of blocks that is not known here.
        let items = &blocks.items;
        let before = items.iter().take(index.saturating_add(1));
        let found = match (before.clone().find(|i| matches!(i, Item::Dynamic(_))), items.get(index)) {
            (Some(dynamic), _) => Some(dynamic),
            (None, Some(item)) => Some(item),
            (None, None) => items.first().filter(|_| items.len() == 1 || single),
        };
        match found {
            Some(Item::Static { block, .. }) => block.range_of(rest),
            Some(Item::Dynamic(d)) => d.block.range_of(rest),
            None => self.missing_item_range,
        }
    }
}

impl BlocksDecoder {
    fn with_label(&self, key: &str) -> usize {
        let labelled = |i: &Item| matches!(i, Item::Static { label: Some(l), .. } if **l == *key);
        self.items.iter().position(labelled).unwrap_or(usize::MAX)
    }
}

/// The part of a literal list or object that the steps lead to, as far as it is written out.
fn part_of_literal(expr: &Expr, steps: &[Step]) -> Range {
    let Some((step, rest)) = steps.split_first() else { return expr.range };
    let part = match (&expr.kind, step) {
        (ExprKind::Tuple(items), Step::Index(i)) => usize::try_from(*i).ok().and_then(|i| items.get(i)),
        (ExprKind::Object(items), Step::Attr(name) | Step::Key(name)) => items
            .iter()
            .find(|item| matches!(&item.key.kind, ExprKind::Literal(Value::String(s)) if s == name))
            .map(|item| &item.value),
        (ExprKind::Paren(inner), _) => return part_of_literal(inner, steps),
        _ => None,
    };
    part.map_or(expr.range, |part| part_of_literal(part, rest))
}

/// Whether blocks of this nesting have a label.
fn labelled(nesting: Nesting) -> bool {
    nesting == Nesting::Map
}

#[cfg(test)]
mod tests;

//! What a body sets, by name: for those who look at a configuration instead of evaluating it (the JSON form of a
//! configuration, the search for relevant attributes).

use super::layout::Slot;
use super::{BlockDecoder, Decoder, Item};
use crate::lang::syntax::Expr;
use gpuform_schema::Str;
use gpuform_schema::schema::Nesting;

/// A block of a body.
#[derive(Clone, Copy)]
pub struct Block<'a>(&'a BlockDecoder);

/// What is set under one name.
pub enum Setting<'a> {
    Attribute(&'a Expr),
    Blocks(Blocks<'a>),
}

/// All blocks of one type.
pub struct Blocks<'a> {
    pub nesting: Nesting,
    /// The schema knows it as an attribute.
    pub attribute: bool,
    /// Blocks that are written out, with their keys.
    pub fixed: Vec<(Option<&'a Str>, Block<'a>)>,
    /// The content of `dynamic` blocks, with the expressions that say how often it stands.
    pub dynamic: Vec<(Vec<&'a Expr>, Block<'a>)>,
}

impl Decoder {
    pub fn block(&self) -> Block<'_> {
        Block(&self.root)
    }
}

impl<'a> Block<'a> {
    /// Everything that is set, sorted by name.
    pub fn settings(self) -> Vec<(&'a Str, Setting<'a>)> {
        let attributes = self.0.attributes.iter().map(|a| (a.position, Setting::Attribute(&a.expr)));
        let blocks = self.0.blocks.iter().map(|b| (b.position, Setting::Blocks(self.blocks(b.position, &b.items))));
        let mut all: Vec<(usize, Setting<'a>)> = attributes.chain(blocks).collect();
        all.sort_by_key(|(position, _)| *position);
        all.into_iter().filter_map(|(position, s)| Some((self.0.layout.names.get(position)?, s))).collect()
    }

    /// What is set under a name; `None` where nothing is.
    pub fn setting(self, name: &str) -> Option<Setting<'a>> {
        let position = self.0.layout.position(name)?;
        if let Some(a) = self.0.attributes.iter().find(|a| a.position == position) {
            return Some(Setting::Attribute(&a.expr));
        }
        let blocks = self.0.blocks.iter().find(|b| b.position == position)?;
        Some(Setting::Blocks(self.blocks(position, &blocks.items)))
    }

    /// Calls `f` for each expression in the block and the blocks in it.
    pub fn expressions(self, f: &mut dyn FnMut(&'a Expr)) {
        self.0.each_expr(f);
    }

    fn blocks(self, position: usize, items: &'a [Item]) -> Blocks<'a> {
        let (nesting, attribute) = match self.0.layout.slot(position) {
            Some(Slot::Blocks(b)) => (b.nesting, false),
            _ => (Nesting::List, true),
        };
        let mut blocks = Blocks { nesting, attribute, fixed: Vec::new(), dynamic: Vec::new() };
        for item in items {
            match item {
                Item::Static { label, block, .. } => blocks.fixed.push((label.as_ref(), Block(block))),
                Item::Dynamic(d) => {
                    let how_often = [Some(&d.for_each), d.label.as_ref()].into_iter().flatten().collect();
                    blocks.dynamic.push((how_often, Block(&d.block)));
                }
            }
        }
        blocks
    }
}

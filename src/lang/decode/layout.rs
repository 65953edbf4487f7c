//! What a schema says about the value of a block, worked out once: sorted names, types, and the values of what is not
//! set. All blocks of one schema share it.

use crate::lang::body::BodySchema;
use crate::lang::convert::{AttributeConstraint, TypeConstraint};
use gpuform_schema::schema::{Attribute, AttributeType, Block, NestedAttributes, NestedBlock, Nesting};
use gpuform_schema::{ObjectType, Str, Type, Value};
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// The layout of the object that a block of one schema decodes to.
#[derive(Debug)]
pub struct Layout {
    /// Attributes and blocks together, sorted; shared by all values.
    pub(super) names: Arc<[Str]>,
    /// In the order of `names`.
    pub(super) slots: Box<[Slot]>,
    /// The values where nothing is set, in the order of `names`.
    pub(super) empty: Box<[Value]>,
    pub(super) ty: Type,
    /// What a body may hold where no attribute is written as blocks.
    pub(super) body: BodySchema,
    /// Whether there are attributes that may be written as blocks.
    pub(super) ambiguous: bool,
}

#[derive(Debug)]
pub(super) enum Slot {
    Attribute(AttributeSlot),
    Blocks(BlockSlot),
}

#[derive(Debug)]
pub(super) struct AttributeSlot {
    pub ty: Type,
    /// Of structured attributes, in which parts may be left out.
    pub constraint: Option<TypeConstraint>,
    pub required: bool,
    /// Of a list or set of objects, which may also be written as blocks.
    pub as_blocks: Option<AsBlocks>,
}

/// How a list or set of objects looks when it is written as blocks.
#[derive(Debug)]
pub(super) struct AsBlocks {
    nesting: Nesting,
    object: Arc<ObjectType>,
    slot: OnceLock<BlockSlot>,
}

#[derive(Debug)]
pub(super) struct BlockSlot {
    pub nesting: Nesting,
    pub min: u64,
    /// 0: no limit.
    pub max: u64,
    pub inner: Arc<Layout>,
    /// The type of the value of all blocks together; `Dynamic` where that depends on them.
    pub ty: Type,
}

impl Layout {
    /// Works out the layout of a schema's block.
    pub fn new(block: &Block) -> Arc<Layout> {
        let attributes = block.attributes.iter().map(|(n, a)| (n.clone(), attribute(a)));
        let blocks = block.blocks.iter().map(|(n, b)| {
            let empty = b.empty_value();
            (n.clone(), (Slot::Blocks(nested_block(b)), empty))
        });
        Layout::from_slots(attributes.chain(blocks).collect())
    }

    fn from_slots(sorted: BTreeMap<Str, (Slot, Value)>) -> Arc<Layout> {
        let mut names = Vec::with_capacity(sorted.len());
        let mut slots = Vec::with_capacity(sorted.len());
        let mut empty = Vec::with_capacity(sorted.len());
        for (name, (slot, value)) in sorted {
            names.push(name);
            slots.push(slot);
            empty.push(value);
        }
        let types = slots.iter().map(|s| match s {
            Slot::Attribute(a) => a.ty.clone(),
            Slot::Blocks(b) => b.ty.clone(),
        });
        let ty = Type::object(names.iter().cloned().zip(types));
        let body = body_schema(&names, &slots, &|_| false);
        let ambiguous = slots.iter().any(|s| matches!(s, Slot::Attribute(AttributeSlot { as_blocks: Some(_), .. })));
        Arc::new(Layout { names: names.into(), slots: slots.into(), empty: empty.into(), ty, body, ambiguous })
    }

    /// What a body may hold where the attributes at the given positions are written as blocks.
    pub(super) fn body_with_blocks(&self, as_blocks: &[usize]) -> BodySchema {
        body_schema(&self.names, &self.slots, &|position| as_blocks.contains(&position))
    }

    /// The layout of a block that stands for an object in a list or set.
    fn of_object(object: &ObjectType) -> Arc<Layout> {
        let slot = |ty: &Type| {
            let slot = AttributeSlot { ty: ty.clone(), constraint: None, required: false, as_blocks: as_blocks(ty) };
            (Slot::Attribute(slot), Value::Null(ty.clone()))
        };
        Layout::from_slots(object.iter().map(|(n, t)| (n.clone(), slot(t))).collect())
    }

    pub(super) fn position(&self, name: &str) -> Option<usize> {
        self.names.binary_search_by(|n| (**n).cmp(name)).ok()
    }

    pub(super) fn slot(&self, position: usize) -> Option<&Slot> {
        self.slots.get(position)
    }

    /// The type of the values that blocks of this schema decode to.
    pub fn ty(&self) -> &Type {
        &self.ty
    }
}

fn body_schema(names: &[Str], slots: &[Slot], as_blocks: &dyn Fn(usize) -> bool) -> BodySchema {
    let mut schema = BodySchema::new().block("dynamic", &["type"]);
    for (position, (name, slot)) in names.iter().zip(slots).enumerate() {
        schema = match slot {
            Slot::Blocks(b) if b.nesting == Nesting::Map => schema.block(name.clone(), &["key"]),
            Slot::Blocks(_) => schema.block(name.clone(), &[]),
            Slot::Attribute(_) if as_blocks(position) => schema.block(name.clone(), &[]),
            Slot::Attribute(a) if a.required => schema.required([name.clone()]),
            Slot::Attribute(_) => schema.optional([name.clone()]),
        };
    }
    schema
}

impl AsBlocks {
    pub fn slot(&self) -> &BlockSlot {
        self.slot.get_or_init(|| {
            let inner = Layout::of_object(&self.object);
            let ty = block_type(self.nesting, &inner);
            BlockSlot { nesting: self.nesting, min: 0, max: 0, inner, ty }
        })
    }
}

fn attribute(a: &Attribute) -> (Slot, Value) {
    let ty = a.value_type();
    let (constraint, as_blocks) = match &a.ty {
        AttributeType::Value(ty) => (None, as_blocks(ty)),
        AttributeType::Nested(n) => (Some(nested_constraint(n)), None),
    };
    let null = Value::Null(ty.clone());
    (Slot::Attribute(AttributeSlot { ty, constraint, required: a.required, as_blocks }), null)
}

fn as_blocks(ty: &Type) -> Option<AsBlocks> {
    let nesting = match ty {
        Type::List(_) => Nesting::List,
        Type::Set(_) => Nesting::Set,
        _ => return None,
    };
    match ty.element() {
        Some(Type::Object(object)) => Some(AsBlocks { nesting, object: object.clone(), slot: OnceLock::new() }),
        _ => None,
    }
}

/// The constraint of a structured attribute: what is not required may be left out.
fn nested_constraint(n: &NestedAttributes) -> TypeConstraint {
    let attrs = n.attributes.iter().map(|(name, a)| {
        let constraint = match &a.ty {
            AttributeType::Value(ty) => ty.into(),
            AttributeType::Nested(n) => nested_constraint(n),
        };
        (name.clone(), AttributeConstraint { constraint, optional: !a.required, default: None })
    });
    let object = TypeConstraint::Object(attrs.collect());
    match n.nesting {
        Nesting::Single | Nesting::Group => object,
        Nesting::List => TypeConstraint::List(Box::new(object)),
        Nesting::Set => TypeConstraint::Set(Box::new(object)),
        Nesting::Map => TypeConstraint::Map(Box::new(object)),
    }
}

fn nested_block(b: &NestedBlock) -> BlockSlot {
    let inner = Layout::new(&b.block);
    let ty = block_type(b.nesting, &inner);
    let (min, max) = match b.nesting {
        Nesting::Single | Nesting::Group => (b.min_items, 1),
        _ => (b.min_items, b.max_items),
    };
    BlockSlot { nesting: b.nesting, min, max, inner, ty }
}

/// As [`NestedBlock::value_type`].
fn block_type(nesting: Nesting, inner: &Layout) -> Type {
    let object = inner.ty.clone();
    match nesting {
        Nesting::Single | Nesting::Group => object,
        Nesting::List | Nesting::Map if object.has_dynamic() => Type::Dynamic,
        Nesting::List => Type::list(object),
        Nesting::Set => Type::set(object),
        Nesting::Map => Type::map(object),
    }
}

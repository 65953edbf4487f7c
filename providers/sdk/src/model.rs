//! What the derive macro says about a struct, and the schema that follows from it.
//!
//! # Field attributes
//!
//! `#[attr(…)]` on an [`Attr<T>`](crate::Attr): an argument or exported attribute.
//!
//! | setting | meaning |
//! | --- | --- |
//! | `required` / `optional` / `computed` | who gives the value: the user must, the user may, the provider does; `optional, computed` together: the provider does unless the user did |
//! | `default = 8` | the value where the user gives none (goes with `optional`; the schema then says computed as well, as protocol 6 demands) |
//! | `force_new` | a change replaces the object |
//! | `sensitive`, `write_only`, `deprecated = "use x"` | as in Terraform |
//! | `name = "type"` | the attribute's name where it cannot be the field's (`r#type` works too) |
//! | `validate = one_of(["a", "b"])` | a check from [`crate::validate`]; an array of several, or repeated |
//! | `conflicts_with`, `required_with`, `exactly_one_of`, `at_least_one_of = ["a", "b"]` | relations to other fields of the same block; the last two list all fields including this one |
//! | `suppress = json_equal` | two values count as the same (see [`crate::suppress`]): plan and read then keep the old one |
//! | `recompute_on = ["a"]` | a computed value becomes unknown when an update changes one of these fields |
//! | `nested` | attributes in an attribute (a `T` that derives `Model`, or a collection of it) get schemas of their own; without it the type is a plain object, as of hashicorp/aws's "attributes as blocks" |
//!
//! `#[block(…)]` on `Vec<T>`, `Option<T>` or `Attr<Vec<T>>` (where it matters if the number is known): nested blocks.
//!
//! | setting | meaning |
//! | --- | --- |
//! | `nesting` | `"list"` (the default), `"set"`, or `"single"` on an `Option` |
//! | `min = 1`, `max = 1` | how many; `Option` means `max = 1` |
//! | `force_new` | any change of or in them replaces the object |
//! | `computed` | where the user writes none, the provider reports them (`root_block_device` of an instance); see below |
//! | `name`, `deprecated`, `conflicts_with`, `exactly_one_of`, `at_least_one_of` | as above |
//!
//! `#[timeouts(create = "10m", delete = "20m")]` on a [`Timeouts`](crate::Timeouts): the usual `timeouts` block for the
//! operations named, with their defaults.
//!
//! # Computed blocks and the legacy flag
//!
//! Protocol 6 demands as many blocks in the plan as in the configuration. Resources that report blocks nobody wrote
//! break that rule, and hashicorp/aws has many; for a resource with a `computed` block (and only then) the SDK sets
//! the protocol's `legacy_type_system` flag, with which Terraform tolerates it. Everything else the SDK plans by the
//! strict rules in either case.

use crate::codec::Undecodable;
use crate::validate::Validator;
use gpuform_schema::schema;
use gpuform_schema::types::Type;
use gpuform_schema::value::{Str, Value};
pub use schema::Nesting;
use std::sync::Arc;

/// A struct that describes a block; derive it.
pub trait Model: Sized + Clone + PartialEq + Default + Send + Sync + 'static {
    fn object() -> &'static Object;

    fn decode(value: &Value) -> Result<Self, Undecodable>;

    fn encode(&self) -> Value;
}

/// A block's description with all its fields, sorted by name.
pub struct Object {
    pub description: &'static str,
    pub fields: Vec<Field>,
    ty: Type,
    names: Arc<[Str]>,
    block: schema::Block,
}

pub struct Field {
    pub name: &'static str,
    pub description: &'static str,
    pub deprecated: Option<&'static str>,
    pub force_new: bool,
    pub conflicts_with: &'static [&'static str],
    pub required_with: &'static [&'static str],
    pub exactly_one_of: &'static [&'static str],
    pub at_least_one_of: &'static [&'static str],
    pub kind: Kind,
}

pub enum Kind {
    Attribute(Attribute),
    Block(NestedBlock),
}

pub struct Attribute {
    pub ty: Type,
    /// What is inside, if it is one object or a collection of them.
    pub inner: Option<NestedObject>,
    /// The schema describes the attributes inside, rather than just their types.
    pub nested: bool,
    pub required: bool,
    pub optional: bool,
    pub computed: bool,
    pub sensitive: bool,
    pub write_only: bool,
    pub default: Option<Value>,
    /// Whether an old and a new value mean the same.
    pub suppress: Option<fn(&Value, &Value) -> bool>,
    pub validators: Vec<Validator>,
    pub recompute_on: &'static [&'static str],
}

/// The attributes inside an attribute.
#[derive(Clone, Copy)]
pub struct NestedObject {
    pub nesting: Nesting,
    pub object: &'static Object,
}

pub struct NestedBlock {
    pub nesting: Nesting,
    pub object: &'static Object,
    pub min: u64,
    /// 0: no limit.
    pub max: u64,
    pub computed: bool,
    /// This is the `timeouts` block: default seconds of create, read, update and delete.
    pub timeouts: Option<[Option<u64>; 4]>,
}

impl Object {
    pub fn new<const N: usize>(description: &'static str, fields: [Field; N]) -> Object {
        Object::of(description, fields.into())
    }

    pub(crate) fn of(description: &'static str, fields: Vec<Field>) -> Object {
        let mut block = schema::Block {
            description: schema::Description { text: description.into(), markdown: false },
            ..schema::Block::default()
        };
        for field in &fields {
            match &field.kind {
                Kind::Attribute(a) => {
                    block.attributes.insert(Str::from(field.name), a.schema(field));
                }
                Kind::Block(b) => {
                    block.blocks.insert(Str::from(field.name), b.schema(field));
                }
            }
        }
        let names = fields.iter().map(|f| Str::from(f.name)).collect();
        Object { description, ty: block.implied_type(), names, block, fields }
    }

    /// The type of the values that a block of this description makes.
    pub fn ty(&self) -> Type {
        self.ty.clone()
    }

    /// A value of the type, from the values of the fields in their order.
    pub fn value(&self, values: Vec<Value>) -> Value {
        Value::object_with_names(Arc::clone(&self.names), values)
    }

    pub fn block(&self) -> &schema::Block {
        &self.block
    }

    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.binary_search_by(|f| f.name.cmp(name)).ok().and_then(|i| self.fields.get(i))
    }

    /// Whether any nested block, at any depth, is computed.
    pub fn has_computed_block(&self) -> bool {
        self.fields.iter().any(|f| match &f.kind {
            Kind::Block(b) => b.computed || b.object.has_computed_block(),
            Kind::Attribute(_) => false,
        })
    }

    /// Whether any attribute, at any depth of blocks, is write-only.
    pub fn has_write_only(&self) -> bool {
        self.fields.iter().any(|f| match &f.kind {
            Kind::Attribute(a) => a.write_only,
            Kind::Block(b) => b.object.has_write_only(),
        })
    }

    /// The schema with the version of stored state that goes with it.
    pub fn schema(&self, version: i64) -> Arc<schema::Schema> {
        Arc::new(schema::Schema { version, block: self.block.clone() })
    }
}

impl Field {
    pub(crate) fn is_timeouts(&self) -> bool {
        matches!(&self.kind, Kind::Block(NestedBlock { timeouts: Some(_), .. }))
    }

    /// A field without relations to others.
    pub(crate) fn plain(name: &'static str, description: &'static str, kind: Kind) -> Field {
        Field {
            name,
            description,
            deprecated: None,
            force_new: false,
            conflicts_with: &[],
            required_with: &[],
            exactly_one_of: &[],
            at_least_one_of: &[],
            kind,
        }
    }
}

impl Attribute {
    /// The attributes inside if the schema describes them.
    pub(crate) fn described(&self) -> Option<&NestedObject> {
        self.inner.as_ref().filter(|_| self.nested)
    }

    fn schema(&self, field: &Field) -> schema::Attribute {
        let ty = match self.described() {
            None => schema::AttributeType::Value(self.ty.clone()),
            Some(nested) => schema::AttributeType::Nested(schema::NestedAttributes {
                nesting: nested.nesting,
                attributes: nested.object.block.attributes.clone(),
            }),
        };
        schema::Attribute {
            ty,
            description: describe(field),
            required: self.required,
            optional: self.optional,
            computed: self.computed,
            sensitive: self.sensitive,
            write_only: self.write_only,
            deprecated: field.deprecated.is_some(),
        }
    }
}

impl NestedBlock {
    /// The type of the value that the blocks make together.
    pub fn ty(&self) -> Type {
        match self.nesting {
            Nesting::Set => Type::set(self.object.ty()),
            Nesting::List => Type::list(self.object.ty()),
            Nesting::Map => Type::map(self.object.ty()),
            Nesting::Single | Nesting::Group => self.object.ty(),
        }
    }

    /// The value where no block is written.
    pub(crate) fn empty(&self) -> Value {
        match self.nesting {
            Nesting::Set => Value::set(self.object.ty(), Vec::new()),
            Nesting::List => Value::list(self.object.ty(), Vec::new()),
            _ => Value::Null(self.ty()),
        }
    }

    fn schema(&self, field: &Field) -> schema::NestedBlock {
        let mut block = self.object.block.clone();
        block.deprecated = field.deprecated.is_some();
        if !field.description.is_empty() {
            block.description = describe(field);
        }
        // A single block is required or not; the protocol wants both bounds to say so.
        let max_items = if self.nesting == Nesting::Single { self.min } else { self.max };
        schema::NestedBlock { nesting: self.nesting, block, min_items: self.min, max_items }
    }
}

impl NestedObject {
    pub fn single(object: &'static Object) -> Option<NestedObject> {
        Some(NestedObject { nesting: Nesting::Single, object })
    }

    /// The same in a collection; only one level of collection can be described.
    pub fn collected(self, nesting: Nesting) -> Option<NestedObject> {
        (self.nesting == Nesting::Single).then_some(NestedObject { nesting, ..self })
    }
}

fn describe(field: &Field) -> schema::Description {
    let mut text = field.description.to_owned();
    if let Some(instead) = field.deprecated {
        text = format!("{text} Deprecated: {instead}").trim().to_owned();
    }
    schema::Description { text, markdown: false }
}

#[cfg(test)]
mod tests;

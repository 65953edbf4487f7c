//! The model of a provider's schema: what attributes and nested blocks a configuration may hold, and what a provider
//! offers. Converted from and to the protocol's messages at the plugin boundary; the engine, the views and the
//! provider SDK use only this form.

use crate::types::{ObjectType, Type};
use crate::value::{Str, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Everything a provider offers.
#[derive(Clone, Default, Debug)]
pub struct ProviderSchema {
    /// The provider's own configuration block.
    pub provider: Arc<Schema>,
    pub resources: BTreeMap<Str, Arc<Schema>>,
    pub data_sources: BTreeMap<Str, Arc<Schema>>,
    pub ephemeral_resources: BTreeMap<Str, Arc<Schema>>,
    pub functions: BTreeMap<Str, Arc<FunctionSignature>>,
    pub provider_meta: Option<Arc<Schema>>,
    pub capabilities: ServerCapabilities,
}

/// What a provider says it can do beyond the basics.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ServerCapabilities {
    /// `PlanResourceChange` wants to be called for destroy plans too.
    pub plan_destroy: bool,
    pub get_provider_schema_optional: bool,
    pub move_resource_state: bool,
    /// Concurrent reads share calls of the API, and the provider limits those calls by itself (gpuform's own).
    pub joins_reads: bool,
}

/// A block schema with the version of stored state that goes with it.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Schema {
    pub version: i64,
    pub block: Block,
}

/// What may stand in a block.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Block {
    pub attributes: BTreeMap<Str, Attribute>,
    pub blocks: BTreeMap<Str, NestedBlock>,
    pub description: Description,
    pub deprecated: bool,
}

#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Description {
    pub text: String,
    pub markdown: bool,
}

/// An argument or exported attribute.
#[derive(Clone, PartialEq, Debug)]
pub struct Attribute {
    pub ty: AttributeType,
    pub description: Description,
    pub required: bool,
    pub optional: bool,
    pub computed: bool,
    pub sensitive: bool,
    pub write_only: bool,
    pub deprecated: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub enum AttributeType {
    /// A plain type.
    Value(Type),
    /// Attributes within the attribute (protocol 6 only).
    Nested(NestedAttributes),
}

/// The attributes inside a structured attribute.
#[derive(Clone, PartialEq, Debug)]
pub struct NestedAttributes {
    /// `Group` does not occur here.
    pub nesting: Nesting,
    pub attributes: BTreeMap<Str, Attribute>,
}

/// A block type nested in a block.
#[derive(Clone, PartialEq, Debug)]
pub struct NestedBlock {
    pub nesting: Nesting,
    pub block: Block,
    pub min_items: u64,
    /// 0: no limit.
    pub max_items: u64,
}

/// How often a nested block or attribute may occur and what value it makes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Nesting {
    /// At most one; an object, null where absent.
    Single,
    /// At most one; an object, never null: where absent its attributes are null.
    Group,
    List,
    Set,
    /// Blocks with one label, which is the key.
    Map,
}

/// The signature of a function that a provider defines.
#[derive(Clone, PartialEq, Debug)]
pub struct FunctionSignature {
    pub parameters: Vec<FunctionParameter>,
    pub variadic: Option<FunctionParameter>,
    pub return_type: Type,
    pub summary: String,
    pub description: Description,
    pub deprecation_message: String,
}

#[derive(Clone, PartialEq, Debug)]
pub struct FunctionParameter {
    pub name: String,
    pub ty: Type,
    pub allow_null: bool,
    pub allow_unknown: bool,
    pub description: Description,
}

impl Attribute {
    /// The type of the attribute's value.
    pub fn value_type(&self) -> Type {
        match &self.ty {
            AttributeType::Value(t) => t.clone(),
            AttributeType::Nested(n) => n.value_type(),
        }
    }
}

impl NestedAttributes {
    pub fn object_type(&self) -> Type {
        Type::object(self.attributes.iter().map(|(n, a)| (n.clone(), a.value_type())))
    }

    pub fn value_type(&self) -> Type {
        let object = self.object_type();
        match self.nesting {
            Nesting::Single | Nesting::Group => object,
            Nesting::List => Type::list(object),
            Nesting::Set => Type::set(object),
            Nesting::Map => Type::map(object),
        }
    }
}

impl NestedBlock {
    /// The type of the value that the blocks of this type make together. A list or map whose element type contains
    /// `Dynamic` becomes a tuple or object, so its type is not known in advance.
    pub fn value_type(&self) -> Type {
        let object = self.block.implied_type();
        match self.nesting {
            Nesting::Single | Nesting::Group => object,
            Nesting::List | Nesting::Map if object.has_dynamic() => Type::Dynamic,
            Nesting::List => Type::list(object),
            Nesting::Set => Type::set(object),
            Nesting::Map => Type::map(object),
        }
    }
}

impl Block {
    /// The type of the value that a block of this schema decodes to.
    pub fn implied_type(&self) -> Type {
        let attributes = self.attributes.iter().map(|(n, a)| (n.clone(), a.value_type()));
        let blocks = self.blocks.iter().map(|(n, b)| (n.clone(), b.value_type()));
        Type::Object(Arc::new(attributes.chain(blocks).collect::<ObjectType>()))
    }

    /// The value of a block in which nothing is set: attributes null, lists of blocks empty, groups filled.
    pub fn empty_value(&self) -> Value {
        let attributes = self.attributes.iter().map(|(n, a)| (n.clone(), Value::Null(a.value_type())));
        let blocks = self.blocks.iter().map(|(n, b)| (n.clone(), b.empty_value()));
        Value::object(attributes.chain(blocks))
    }
}

impl NestedBlock {
    /// The value where no block of this type is written.
    pub fn empty_value(&self) -> Value {
        let object = || self.block.implied_type();
        match self.nesting {
            Nesting::Single => Value::Null(object()),
            Nesting::Group => self.block.empty_value(),
            Nesting::List if object().has_dynamic() => Value::tuple(Vec::new()),
            Nesting::Map if object().has_dynamic() => Value::empty_object(),
            Nesting::List => Value::list(object(), Vec::new()),
            Nesting::Set => Value::set(object(), Vec::new()),
            Nesting::Map => Value::map::<Str>(object(), []),
        }
    }
}

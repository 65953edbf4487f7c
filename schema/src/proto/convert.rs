//! Conversions between the protocol's messages and the models of this crate: schemas, functions, paths and values.
//! Protocol 5's schema messages are converted by way of protocol 6's, which can say all that they can.

use super::{v5, v6};
use crate::codec::CodecError;
use crate::path::{Path, Step};
use crate::schema::{
    Attribute, AttributeType, Block, Description, FunctionParameter, FunctionSignature, NestedAttributes, NestedBlock,
    Nesting, ProviderSchema, Schema, ServerCapabilities,
};
use crate::types::Type;
use crate::value::{Str, Value};
use crate::{json, msgpack};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// A schema that one side cannot express or understand.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SchemaError {
    /// Names of the blocks and attributes that lead to the fault, e.g. `root_block_device.iops`.
    pub place: String,
    pub message: String,
}

impl SchemaError {
    fn new(message: impl Into<String>) -> SchemaError {
        SchemaError { place: String::new(), message: message.into() }
    }

    fn within(mut self, name: &str) -> SchemaError {
        let dot = if self.place.is_empty() { "" } else { "." };
        self.place.insert_str(0, dot);
        self.place.insert_str(0, name);
        self
    }
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.place.is_empty() {
            write!(f, "{}: ", self.place)?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for SchemaError {}

type Result<T> = std::result::Result<T, SchemaError>;

// ---- messages to the model

impl TryFrom<v6::Schema> for Schema {
    type Error = SchemaError;

    fn try_from(schema: v6::Schema) -> Result<Schema> {
        let block = schema.block.map(read_block).transpose()?.unwrap_or_default();
        Ok(Schema { version: schema.version, block })
    }
}

impl TryFrom<v5::Schema> for Schema {
    type Error = SchemaError;

    fn try_from(schema: v5::Schema) -> Result<Schema> {
        v6::Schema::from(schema).try_into()
    }
}

fn read_block(block: v6::schema::Block) -> Result<Block> {
    let attributes = read_attributes(block.attributes)?;
    let blocks = block.block_types.into_iter().map(|b| {
        let name = b.type_name.clone();
        let nested = read_nested_block(b).map_err(|e| e.within(&name))?;
        Ok((Str::from(name), nested))
    });
    Ok(Block {
        attributes,
        blocks: blocks.collect::<Result<_>>()?,
        description: read_description(block.description, block.description_kind),
        deprecated: block.deprecated,
    })
}

fn read_attributes(attributes: Vec<v6::schema::Attribute>) -> Result<BTreeMap<Str, Attribute>> {
    let named = attributes.into_iter().map(|a| {
        let name = a.name.clone();
        let attribute = read_attribute(a).map_err(|e| e.within(&name))?;
        Ok((Str::from(name), attribute))
    });
    named.collect()
}

fn read_attribute(a: v6::schema::Attribute) -> Result<Attribute> {
    let ty = match a.nested_type {
        Some(nested) => AttributeType::Nested(read_nested_attributes(nested)?),
        None => AttributeType::Value(read_type(&a.r#type)?),
    };
    Ok(Attribute {
        ty,
        description: read_description(a.description, a.description_kind),
        required: a.required,
        optional: a.optional,
        computed: a.computed,
        sensitive: a.sensitive,
        write_only: a.write_only,
        deprecated: a.deprecated,
    })
}

fn read_nested_attributes(object: v6::schema::Object) -> Result<NestedAttributes> {
    use v6::schema::object::NestingMode;
    let nesting = match object.nesting() {
        NestingMode::Single => Nesting::Single,
        NestingMode::List => Nesting::List,
        NestingMode::Set => Nesting::Set,
        NestingMode::Map => Nesting::Map,
        NestingMode::Invalid => return Err(SchemaError::new("the nesting of its attributes is not valid")),
    };
    Ok(NestedAttributes { nesting, attributes: read_attributes(object.attributes)? })
}

fn read_nested_block(block: v6::schema::NestedBlock) -> Result<NestedBlock> {
    use v6::schema::nested_block::NestingMode;
    let nesting = match block.nesting() {
        NestingMode::Single => Nesting::Single,
        NestingMode::Group => Nesting::Group,
        NestingMode::List => Nesting::List,
        NestingMode::Set => Nesting::Set,
        NestingMode::Map => Nesting::Map,
        NestingMode::Invalid => return Err(SchemaError::new("the nesting of the block is not valid")),
    };
    let count = |n: i64| u64::try_from(n).map_err(|_| SchemaError::new("a number of blocks may not be negative"));
    Ok(NestedBlock {
        nesting,
        min_items: count(block.min_items)?,
        max_items: count(block.max_items)?,
        block: block.block.map(read_block).transpose()?.unwrap_or_default(),
    })
}

fn read_type(text: &[u8]) -> Result<Type> {
    json::type_from_json(text).map_err(|e| SchemaError::new(format!("its type is not valid: {e}")))
}

fn read_description(text: String, kind: i32) -> Description {
    Description { text, markdown: kind == v6::StringKind::Markdown as i32 }
}

impl TryFrom<v6::Function> for FunctionSignature {
    type Error = SchemaError;

    fn try_from(f: v6::Function) -> Result<FunctionSignature> {
        let result = f.r#return.unwrap_or_default();
        Ok(FunctionSignature {
            parameters: f.parameters.into_iter().map(read_parameter).collect::<Result<_>>()?,
            variadic: f.variadic_parameter.map(read_parameter).transpose()?,
            return_type: read_type(&result.r#type).map_err(|e| e.within("result"))?,
            summary: f.summary,
            description: read_description(f.description, f.description_kind),
            deprecation_message: f.deprecation_message,
        })
    }
}

fn read_parameter(p: v6::function::Parameter) -> Result<FunctionParameter> {
    Ok(FunctionParameter {
        ty: read_type(&p.r#type).map_err(|e| e.within(&p.name))?,
        name: p.name,
        allow_null: p.allow_null_value,
        allow_unknown: p.allow_unknown_values,
        description: read_description(p.description, p.description_kind),
    })
}

impl From<v6::ServerCapabilities> for ServerCapabilities {
    fn from(c: v6::ServerCapabilities) -> ServerCapabilities {
        ServerCapabilities {
            plan_destroy: c.plan_destroy,
            get_provider_schema_optional: c.get_provider_schema_optional,
            move_resource_state: c.move_resource_state,
            joins_reads: c.joins_reads,
        }
    }
}

// ---- the model to messages

impl From<&Schema> for v6::Schema {
    fn from(schema: &Schema) -> v6::Schema {
        v6::Schema { version: schema.version, block: Some(write_block(&schema.block, schema.version)) }
    }
}

impl TryFrom<&Schema> for v5::Schema {
    type Error = SchemaError;

    /// Fails for attributes within attributes, which protocol 5 does not have.
    fn try_from(schema: &Schema) -> Result<v5::Schema> {
        v6::Schema::from(schema).try_into()
    }
}

fn write_block(block: &Block, version: i64) -> v6::schema::Block {
    let blocks = block.blocks.iter().map(|(name, b)| v6::schema::NestedBlock {
        type_name: name.to_string(),
        block: Some(write_block(&b.block, 0)),
        nesting: write_block_nesting(b.nesting).into(),
        min_items: b.min_items.try_into().unwrap_or(i64::MAX),
        max_items: b.max_items.try_into().unwrap_or(i64::MAX),
    });
    let (description, description_kind) = write_description(&block.description);
    v6::schema::Block {
        version,
        attributes: write_attributes(&block.attributes),
        block_types: blocks.collect(),
        description,
        description_kind,
        deprecated: block.deprecated,
    }
}

fn write_attributes(attributes: &BTreeMap<Str, Attribute>) -> Vec<v6::schema::Attribute> {
    let write = |(name, a): (&Str, &Attribute)| {
        let (ty, nested_type) = match &a.ty {
            AttributeType::Value(ty) => (json::type_to_json(ty).into_bytes(), None),
            AttributeType::Nested(nested) => (Vec::new(), Some(write_nested_attributes(nested))),
        };
        let (description, description_kind) = write_description(&a.description);
        v6::schema::Attribute {
            name: name.to_string(),
            r#type: ty,
            nested_type,
            description,
            description_kind,
            required: a.required,
            optional: a.optional,
            computed: a.computed,
            sensitive: a.sensitive,
            write_only: a.write_only,
            deprecated: a.deprecated,
        }
    };
    attributes.iter().map(write).collect()
}

fn write_nested_attributes(nested: &NestedAttributes) -> v6::schema::Object {
    use v6::schema::object::NestingMode;
    let nesting = match nested.nesting {
        Nesting::Single | Nesting::Group => NestingMode::Single,
        Nesting::List => NestingMode::List,
        Nesting::Set => NestingMode::Set,
        Nesting::Map => NestingMode::Map,
    };
    v6::schema::Object { attributes: write_attributes(&nested.attributes), nesting: nesting.into() }
}

fn write_block_nesting(nesting: Nesting) -> v6::schema::nested_block::NestingMode {
    use v6::schema::nested_block::NestingMode;
    match nesting {
        Nesting::Single => NestingMode::Single,
        Nesting::Group => NestingMode::Group,
        Nesting::List => NestingMode::List,
        Nesting::Set => NestingMode::Set,
        Nesting::Map => NestingMode::Map,
    }
}

fn write_description(d: &Description) -> (String, i32) {
    let kind = if d.markdown { v6::StringKind::Markdown } else { v6::StringKind::Plain };
    (d.text.clone(), kind.into())
}

impl From<&FunctionSignature> for v6::Function {
    fn from(f: &FunctionSignature) -> v6::Function {
        let (description, description_kind) = write_description(&f.description);
        v6::Function {
            parameters: f.parameters.iter().map(write_parameter).collect(),
            variadic_parameter: f.variadic.as_ref().map(write_parameter),
            r#return: Some(v6::function::Return { r#type: json::type_to_json(&f.return_type).into_bytes() }),
            summary: f.summary.clone(),
            description,
            description_kind,
            deprecation_message: f.deprecation_message.clone(),
        }
    }
}

fn write_parameter(p: &FunctionParameter) -> v6::function::Parameter {
    let (description, description_kind) = write_description(&p.description);
    v6::function::Parameter {
        name: p.name.clone(),
        r#type: json::type_to_json(&p.ty).into_bytes(),
        allow_null_value: p.allow_null,
        allow_unknown_values: p.allow_unknown,
        description,
        description_kind,
    }
}

impl From<ServerCapabilities> for v6::ServerCapabilities {
    fn from(c: ServerCapabilities) -> v6::ServerCapabilities {
        v6::ServerCapabilities {
            plan_destroy: c.plan_destroy,
            get_provider_schema_optional: c.get_provider_schema_optional,
            move_resource_state: c.move_resource_state,
            joins_reads: c.joins_reads,
        }
    }
}

impl From<&ProviderSchema> for v6::get_provider_schema::Response {
    fn from(p: &ProviderSchema) -> v6::get_provider_schema::Response {
        fn all<M: for<'a> From<&'a S>, S>(schemas: &BTreeMap<Str, Arc<S>>) -> BTreeMap<String, M> {
            schemas.iter().map(|(name, s)| (name.to_string(), M::from(&**s))).collect()
        }
        v6::get_provider_schema::Response {
            provider: Some((&*p.provider).into()),
            resource_schemas: all(&p.resources),
            data_source_schemas: all(&p.data_sources),
            ephemeral_resource_schemas: all(&p.ephemeral_resources),
            functions: all(&p.functions),
            provider_meta: p.provider_meta.as_deref().map(Into::into),
            server_capabilities: Some(p.capabilities.into()),
            diagnostics: Vec::new(),
        }
    }
}

// ---- protocol 5 and protocol 6

impl From<v5::Schema> for v6::Schema {
    fn from(schema: v5::Schema) -> v6::Schema {
        v6::Schema { version: schema.version, block: schema.block.map(block_to_v6) }
    }
}

fn block_to_v6(block: v5::schema::Block) -> v6::schema::Block {
    let attributes = block.attributes.into_iter().map(|a| v6::schema::Attribute {
        name: a.name,
        r#type: a.r#type,
        nested_type: None,
        description: a.description,
        description_kind: a.description_kind,
        required: a.required,
        optional: a.optional,
        computed: a.computed,
        sensitive: a.sensitive,
        write_only: a.write_only,
        deprecated: a.deprecated,
    });
    let blocks = block.block_types.into_iter().map(|b| v6::schema::NestedBlock {
        type_name: b.type_name,
        block: b.block.map(block_to_v6),
        nesting: b.nesting,
        min_items: b.min_items,
        max_items: b.max_items,
    });
    v6::schema::Block {
        version: block.version,
        attributes: attributes.collect(),
        block_types: blocks.collect(),
        description: block.description,
        description_kind: block.description_kind,
        deprecated: block.deprecated,
    }
}

impl TryFrom<v6::Schema> for v5::Schema {
    type Error = SchemaError;

    fn try_from(schema: v6::Schema) -> Result<v5::Schema> {
        Ok(v5::Schema { version: schema.version, block: schema.block.map(block_to_v5).transpose()? })
    }
}

fn block_to_v5(block: v6::schema::Block) -> Result<v5::schema::Block> {
    let attributes = block.attributes.into_iter().map(|a| {
        if a.nested_type.is_some() {
            return Err(SchemaError::new("protocol 5 has no attributes within attributes").within(&a.name));
        }
        Ok(v5::schema::Attribute {
            name: a.name,
            r#type: a.r#type,
            description: a.description,
            description_kind: a.description_kind,
            required: a.required,
            optional: a.optional,
            computed: a.computed,
            sensitive: a.sensitive,
            write_only: a.write_only,
            deprecated: a.deprecated,
        })
    });
    let blocks = block.block_types.into_iter().map(|b| {
        let block = b.block.map(block_to_v5).transpose().map_err(|e| e.within(&b.type_name))?;
        Ok(v5::schema::NestedBlock {
            type_name: b.type_name,
            block,
            nesting: b.nesting,
            min_items: b.min_items,
            max_items: b.max_items,
        })
    });
    Ok(v5::schema::Block {
        version: block.version,
        attributes: attributes.collect::<Result<_>>()?,
        block_types: blocks.collect::<Result<_>>()?,
        description: block.description,
        description_kind: block.description_kind,
        deprecated: block.deprecated,
    })
}

// ---- paths and values

impl From<&Path> for v6::AttributePath {
    /// The protocol has no step into a set, so a path ends before one.
    fn from(path: &Path) -> v6::AttributePath {
        use v6::attribute_path::step::Selector;
        let selectors = path.0.iter().map_while(|step| match step {
            Step::Attr(name) => Some(Selector::AttributeName(name.to_string())),
            Step::Key(key) => Some(Selector::ElementKeyString(key.to_string())),
            Step::Index(i) => i64::try_from(*i).ok().map(Selector::ElementKeyInt),
            Step::Element(_) => None,
        });
        v6::AttributePath { steps: selectors.map(|s| v6::attribute_path::Step { selector: Some(s) }).collect() }
    }
}

impl From<v6::AttributePath> for Path {
    /// A path ends before the first step that makes no sense.
    fn from(path: v6::AttributePath) -> Path {
        use v6::attribute_path::step::Selector;
        let steps = path.steps.into_iter().map_while(|step| match step.selector? {
            Selector::AttributeName(name) => Some(Step::Attr(name.into())),
            Selector::ElementKeyString(key) => Some(Step::Key(key.into())),
            Selector::ElementKeyInt(i) => u64::try_from(i).ok().map(Step::Index),
        });
        Path(steps.collect())
    }
}

impl v6::DynamicValue {
    /// Encodes a value (without marks) of the type.
    ///
    /// # Errors
    /// As those of [`msgpack::encode`].
    pub fn encode(value: &Value, ty: &Type) -> std::result::Result<v6::DynamicValue, CodecError> {
        Ok(v6::DynamicValue { msgpack: msgpack::encode(value, ty)?, json: Vec::new() })
    }

    /// Decodes a value of the type; an empty message is null.
    ///
    /// # Errors
    /// As those of the codec concerned.
    pub fn decode(&self, ty: &Type) -> std::result::Result<Value, CodecError> {
        if !self.msgpack.is_empty() {
            msgpack::decode(&self.msgpack, ty)
        } else if !self.json.is_empty() {
            json::decode(&self.json, ty, json::ExtraAttributes::Refuse)
        } else {
            Ok(Value::Null(ty.clone()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(ty: AttributeType) -> Attribute {
        Attribute {
            ty,
            description: Description { text: "what it is".into(), markdown: true },
            required: false,
            optional: true,
            computed: true,
            sensitive: true,
            write_only: true,
            deprecated: true,
        }
    }

    fn schema(inner: AttributeType) -> Schema {
        let nested = NestedBlock {
            nesting: Nesting::Group,
            block: Block { attributes: [("inner".into(), attribute(inner))].into(), ..Block::default() },
            min_items: 1,
            max_items: 3,
        };
        let plain = attribute(AttributeType::Value(Type::map(Type::Dynamic)));
        let block = Block {
            attributes: [("plain".into(), plain)].into(),
            blocks: [("outer".into(), nested)].into(),
            description: Description::default(),
            deprecated: true,
        };
        Schema { version: 7, block }
    }

    fn nested() -> AttributeType {
        let attributes = [("deep".into(), attribute(AttributeType::Value(Type::String)))].into();
        AttributeType::Nested(NestedAttributes { nesting: Nesting::Set, attributes })
    }

    #[test]
    fn schemas_survive_both_protocols() {
        let all = schema(nested());
        assert_eq!(Schema::try_from(v6::Schema::from(&all)), Ok(all));
        let without_nesting = schema(AttributeType::Value(Type::Bool));
        let message = v5::Schema::try_from(&without_nesting).unwrap();
        assert_eq!(Schema::try_from(message), Ok(without_nesting));
    }

    #[test]
    fn protocol_5_refuses_attributes_within_attributes() {
        let refused = v5::Schema::try_from(&schema(nested())).unwrap_err();
        assert_eq!(refused.to_string(), "outer.inner: protocol 5 has no attributes within attributes");
    }

    #[test]
    fn schemas_that_make_no_sense_are_refused_with_their_place() {
        let mut message = v6::Schema::from(&schema(nested()));
        let block = message.block.as_mut().unwrap().block_types[0].block.as_mut().unwrap();
        block.attributes[0].nested_type = None;
        let refused = Schema::try_from(message).unwrap_err().to_string();
        assert!(refused.starts_with("outer.inner: its type is not valid"), "{refused}");
    }

    #[test]
    fn paths_survive_up_to_an_element_of_a_set() {
        let path = Path::attrs(["a"]).index(2).key("k");
        assert_eq!(Path::from(v6::AttributePath::from(&path)), path);
        assert_eq!(Path::from(v6::AttributePath::from(&path.child(Step::Element("x".into())).attr("b"))), path);
    }
}

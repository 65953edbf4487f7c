//! The schemas of one provider executable: kept as the bytes that the provider sent, each decoded when it is first
//! asked for. A large provider has more than a thousand resource types, of which a configuration uses a few.

use super::Protocol;
use crate::diag::{Diagnostic, Diagnostics};
use gpuform_schema::proto::{SchemaError, undecoded, v5, v6};
use gpuform_schema::schema::{FunctionSignature, ProviderSchema, Schema, ServerCapabilities};
use gpuform_schema::{Str, Type};
use prost::Message;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// A schema with the type that it implies.
pub(super) struct Typed {
    pub schema: Arc<Schema>,
    pub ty: Type,
}

/// All schemas of a provider.
pub(super) struct Schemas {
    pub protocol: Protocol,
    pub capabilities: ServerCapabilities,
    provider: Slot<Typed>,
    meta: Option<Slot<Typed>>,
    resources: Slots<Typed>,
    data_sources: Slots<Typed>,
    ephemeral: Slots<Typed>,
    functions: Slots<FunctionSignature>,
}

/// Which of a provider's schemas is meant.
#[derive(Clone, Copy, Debug)]
pub(super) enum Of<'a> {
    Provider,
    Meta,
    Resource(&'a str),
    DataSource(&'a str),
    Ephemeral(&'a str),
}

type Slots<T> = BTreeMap<Str, Slot<T>>;

/// One schema: its bytes, and what they mean once somebody has asked.
struct Slot<T> {
    raw: Vec<u8>,
    decoded: OnceLock<Result<Arc<T>, SchemaError>>,
}

impl<T> Slot<T> {
    fn new(raw: Vec<u8>) -> Slot<T> {
        Slot { raw, decoded: OnceLock::new() }
    }

    fn get(&self, decode: impl FnOnce(&[u8]) -> Result<T, SchemaError>) -> Result<Arc<T>, SchemaError> {
        self.decoded.get_or_init(|| decode(&self.raw).map(Arc::new)).clone()
    }
}

fn slots<T>(raw: BTreeMap<String, Vec<u8>>) -> Slots<T> {
    raw.into_iter().map(|(name, raw)| (name.into(), Slot::new(raw))).collect()
}

impl Schemas {
    /// Takes the answer to `GetProviderSchema`.
    ///
    /// # Errors
    /// What the provider reported instead of its schema.
    pub fn new(protocol: Protocol, answer: undecoded::ProviderSchema) -> Result<Schemas, Diagnostics> {
        let diagnostics: Diagnostics = answer.diagnostics.into_iter().map(super::client::diagnostic).collect();
        if diagnostics.has_errors() {
            return Err(diagnostics);
        }
        Ok(Schemas {
            protocol,
            capabilities: answer.server_capabilities.unwrap_or_default().into(),
            provider: Slot::new(answer.provider),
            meta: answer.provider_meta.map(Slot::new),
            resources: slots(answer.resource_schemas),
            data_sources: slots(answer.data_source_schemas),
            ephemeral: slots(answer.ephemeral_resource_schemas),
            functions: slots(answer.functions),
        })
    }

    /// The schema asked for; `None` if the provider has none such.
    ///
    /// # Errors
    /// A schema that makes no sense.
    pub fn get(&self, of: Of<'_>) -> Result<Option<Arc<Typed>>, SchemaError> {
        let slot = match of {
            Of::Provider => Some(&self.provider),
            Of::Meta => self.meta.as_ref(),
            Of::Resource(name) => self.resources.get(name),
            Of::DataSource(name) => self.data_sources.get(name),
            Of::Ephemeral(name) => self.ephemeral.get(name),
        };
        slot.map(|s| self.decode(s)).transpose()
    }

    pub fn function(&self, name: &str) -> Result<Option<Arc<FunctionSignature>>, SchemaError> {
        self.functions.get(name).map(decode_function).transpose()
    }

    /// Whether the provider takes what modules say in `provider_meta` blocks.
    pub fn has_meta(&self) -> bool {
        self.meta.is_some()
    }

    /// Everything, decoded. Schemas that make no sense are left out.
    pub fn all(&self) -> ProviderSchema {
        let one = |slot: &Slot<Typed>| self.decode(slot).ok().map(|t| t.schema.clone());
        let each = |slots: &Slots<Typed>| {
            slots.iter().filter_map(|(name, slot)| Some((name.clone(), one(slot)?))).collect::<BTreeMap<_, _>>()
        };
        let functions = self.functions.iter().filter_map(|(n, slot)| Some((n.clone(), decode_function(slot).ok()?)));
        ProviderSchema {
            provider: one(&self.provider).unwrap_or_default(),
            resources: each(&self.resources),
            data_sources: each(&self.data_sources),
            ephemeral_resources: each(&self.ephemeral),
            functions: functions.collect(),
            provider_meta: self.meta.as_ref().and_then(one),
            capabilities: self.capabilities,
        }
    }

    fn decode(&self, slot: &Slot<Typed>) -> Result<Arc<Typed>, SchemaError> {
        slot.get(|raw| {
            let schema: Schema = match self.protocol {
                Protocol::V5 => v5::Schema::decode(raw).map_err(unreadable)?.try_into()?,
                Protocol::V6 => v6::Schema::decode(raw).map_err(unreadable)?.try_into()?,
            };
            Ok(Typed { ty: schema.block.implied_type(), schema: Arc::new(schema) })
        })
    }
}

fn decode_function(slot: &Slot<FunctionSignature>) -> Result<Arc<FunctionSignature>, SchemaError> {
    slot.get(|raw| v6::Function::decode(raw).map_err(unreadable)?.try_into())
}

fn unreadable(error: prost::DecodeError) -> SchemaError {
    SchemaError { place: String::new(), message: format!("the message cannot be read: {error}") }
}

/// What is wrong with the schema of `what` as an error of the provider.
pub(super) fn broken_schema(provider: &str, what: &str, error: &SchemaError) -> Diagnostic {
    Diagnostic::error(
        "Invalid provider schema",
        format!(
            "The provider {provider} describes {what} in a way that makes no sense: {error}. This is a bug in the provider."
        ),
    )
}

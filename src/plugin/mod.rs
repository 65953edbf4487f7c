//! Providers as the engine sees them: one trait, whatever the protocol behind it.
//!
//! A [`Provider`] is one running provider process (or the built-in `terraform` provider) with at most one
//! configuration. Values go in and come out as `Value` of the schema's implied type, without marks; the clients for
//! protocol 5 and 6 do the encoding. Provider diagnostics carry attribute paths, which the engine resolves to source
//! ranges. Nothing here knows states, plans or configurations.
//!
//! [`Host`] opens providers that are processes: `process` starts and watches them (`handshake`, `tls`), `client` calls
//! them, `schemas` and `schema_cache` keep what they offer, `log` takes what they print. [`builtin`] is the provider
//! that is part of the program.

pub mod builtin;
mod client;
mod handshake;
mod host;
pub mod log;
mod process;
mod schema_cache;
mod schemas;
mod tls;

pub use handshake::{Address, Protocol, ReattachTo, parse_reattach};
pub use host::{Host, Options};

use crate::diag::Diagnostics;
use async_trait::async_trait;
use gpuform_schema::schema::{FunctionSignature, ProviderSchema, Schema, ServerCapabilities};
use gpuform_schema::{Path, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Opaque bytes that a provider keeps with an object.
pub type Private = Vec<u8>;

pub struct ReadRequest<'a> {
    pub type_name: &'a str,
    pub current: Value,
    pub private: Private,
    pub provider_meta: Option<Value>,
}

#[derive(Debug)]
pub struct ReadResponse {
    /// The object now; null when it is gone. Without an answer, the object as it was.
    pub state: Value,
    pub private: Private,
    pub diagnostics: Diagnostics,
}

pub struct PlanRequest<'a> {
    pub type_name: &'a str,
    /// Null for a create.
    pub prior: Value,
    /// Configuration merged with the prior computed values; null for a destroy.
    pub proposed: Value,
    /// Null for a destroy.
    pub config: Value,
    pub prior_private: Private,
    pub provider_meta: Option<Value>,
}

#[derive(Debug)]
pub struct PlanResponse {
    pub planned: Value,
    /// Attributes that cannot change in place.
    pub requires_replace: Vec<Path>,
    pub planned_private: Private,
    /// The provider is built on the old SDK: be lenient about its planned values.
    pub legacy_type_system: bool,
    pub diagnostics: Diagnostics,
}

pub struct ApplyRequest<'a> {
    pub type_name: &'a str,
    pub prior: Value,
    /// Null for a destroy.
    pub planned: Value,
    pub config: Value,
    pub planned_private: Private,
    pub provider_meta: Option<Value>,
}

#[derive(Debug)]
pub struct ApplyResponse {
    /// What exists now, also after an error: null when nothing does. Without an answer, the prior object.
    pub state: Value,
    pub private: Private,
    /// False if the provider was asked and gave no answer (it died) or none that makes sense: the change may have been
    /// made all the same, so a create may have left an object that nobody knows.
    pub answered: bool,
    pub legacy_type_system: bool,
    pub diagnostics: Diagnostics,
}

#[derive(Debug)]
pub struct ImportedObject {
    pub type_name: String,
    pub state: Value,
    pub private: Private,
}

pub struct MoveRequest<'a> {
    pub source_provider_address: String,
    pub source_type_name: String,
    pub source_schema_version: i64,
    pub source_state_json: &'a str,
    pub source_private: Private,
    pub target_type_name: String,
}

#[derive(Debug)]
pub struct EphemeralOpened {
    pub result: Value,
    pub private: Private,
    /// When to renew, if at all.
    pub renew_at: Option<std::time::SystemTime>,
}

/// What a response says beside its value.
pub type WithDiagnostics<T> = (T, Diagnostics);

/// A provider, configured or not. Every method may be called concurrently with others. A provider that has died
/// answers every call with an error diagnostic that names it and shows the end of its standard error.
#[async_trait]
pub trait Provider: Send + Sync {
    /// The schema of the provider's own configuration block.
    fn config_schema(&self) -> Arc<Schema>;
    fn meta_schema(&self) -> Option<Arc<Schema>>;
    /// The schema of a resource type: decoded at the first call, shared after that, as are the next three.
    fn resource_schema(&self, type_name: &str) -> Option<Arc<Schema>>;
    fn data_source_schema(&self, type_name: &str) -> Option<Arc<Schema>>;
    fn ephemeral_schema(&self, type_name: &str) -> Option<Arc<Schema>>;
    fn function(&self, name: &str) -> Option<Arc<FunctionSignature>>;
    fn capabilities(&self) -> ServerCapabilities;
    /// All of the schema, for those who list it. Slow for a provider with many resource types.
    fn schema(&self) -> Arc<ProviderSchema>;

    async fn validate_provider_config(&self, config: Value) -> WithDiagnostics<Value>;
    async fn validate_resource_config(&self, type_name: &str, config: Value) -> Diagnostics;
    async fn validate_data_source_config(&self, type_name: &str, config: Value) -> Diagnostics;
    async fn validate_ephemeral_config(&self, type_name: &str, config: Value) -> Diagnostics;

    async fn configure(&self, config: Value) -> Diagnostics;

    /// Brings stored attributes (the JSON text of the state file) to the current schema version.
    async fn upgrade_resource_state(&self, type_name: &str, version: i64, json: &str)
    -> WithDiagnostics<Option<Value>>;
    /// The same for attributes in the form of Terraform 0.11 and older: `triggers.a`, `list.#`. A provider that never had
    /// states in that form need not know it.
    async fn upgrade_flat_state(
        &self,
        type_name: &str,
        version: i64,
        flat: &BTreeMap<String, String>,
    ) -> WithDiagnostics<Option<Value>> {
        self.upgrade_resource_state(type_name, version, &serde_json::to_string(flat).unwrap_or_default()).await
    }
    async fn read_resource(&self, request: ReadRequest<'_>) -> ReadResponse;
    async fn plan_resource_change(&self, request: PlanRequest<'_>) -> PlanResponse;
    async fn apply_resource_change(&self, request: ApplyRequest<'_>) -> ApplyResponse;
    async fn import_resource_state(&self, type_name: &str, id: &str) -> WithDiagnostics<Vec<ImportedObject>>;
    async fn move_resource_state(&self, request: MoveRequest<'_>) -> WithDiagnostics<Option<(Value, Private)>>;

    async fn read_data_source(
        &self,
        type_name: &str,
        config: Value,
        meta: Option<Value>,
    ) -> WithDiagnostics<Option<Value>>;

    async fn open_ephemeral(&self, type_name: &str, config: Value) -> WithDiagnostics<Option<EphemeralOpened>>;
    async fn renew_ephemeral(
        &self,
        type_name: &str,
        private: Private,
    ) -> WithDiagnostics<(Private, Option<std::time::SystemTime>)>;
    async fn close_ephemeral(&self, type_name: &str, private: Private) -> Diagnostics;

    /// Calls a provider-defined function. `Err` holds the argument index concerned, if any, and the message.
    async fn call_function(&self, name: &str, arguments: Vec<Value>) -> Result<Value, (Option<usize>, String)>;

    /// Asks running operations to end early.
    async fn stop(&self);
    /// Ends the process; waits for it.
    async fn close(&self);
}

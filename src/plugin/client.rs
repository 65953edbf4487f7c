//! The [`Provider`] that is another process: values and requests to messages, messages to values and diagnostics.
//!
//! Both protocols are served by the same code: on the wire protocol 5 differs from protocol 6 in the names of some
//! calls and in the schema messages only (see `tfplugin5.proto`). The process is started by the first call that needs
//! it; the schemas are there before that.

use super::log::{Level, LogSink, Output};
use super::process::{Launch, Process, root_cause};
use super::schemas::{Of, Schemas, Typed, broken_schema};
use super::{
    ApplyRequest, ApplyResponse, EphemeralOpened, ImportedObject, MoveRequest, PlanRequest, PlanResponse, Private,
    Protocol, Provider, ReadRequest, ReadResponse, ReattachTo, WithDiagnostics,
};
use crate::diag::{Diagnostic, Diagnostics, Failure, Result, Severity};
use async_trait::async_trait;
use gpuform_schema::proto::{SchemaError, undecoded, v6};
use gpuform_schema::schema::{FunctionSignature, ProviderSchema, Schema, ServerCapabilities};
use gpuform_schema::{Path, Type, Value};
use prost::Message;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};
use tokio::sync::OnceCell;
use tonic::codegen::http::uri::PathAndQuery;

/// The limit that providers built on the official SDK have too.
const LARGEST_MESSAGE: usize = 256 << 20;
/// How long a provider may take to take note that it is to stop.
const STOP_PATIENCE: Duration = Duration::from_secs(10);

/// How to get at a provider's process.
#[derive(Clone)]
pub(super) struct Access {
    /// The provider as shown to people.
    pub name: String,
    pub source: Source,
    pub log: Arc<dyn LogSink>,
    pub patience: Duration,
    /// The Terraform version whose behaviour the provider may expect, e.g. `1.11.4`.
    pub terraform_version: String,
}

#[derive(Clone)]
pub(super) enum Source {
    Executable(PathBuf),
    Running(ReattachTo),
}

/// A provider in a process of its own, started or not.
pub(super) struct Client {
    access: Access,
    schemas: Arc<Schemas>,
    /// Starting is tried once; what failed then fails every call.
    process: OnceCell<Result<Process>>,
    closed: AtomicBool,
}

/// The path of a call in each protocol.
#[derive(Clone, Copy)]
struct Method {
    v5: &'static str,
    v6: &'static str,
}

macro_rules! method {
    ($name:literal) => {
        method!($name, $name)
    };
    ($v5:literal, $v6:literal) => {
        Method { v5: concat!("/tfplugin5.Provider/", $v5), v6: concat!("/tfplugin6.Provider/", $v6) }
    };
}

impl Method {
    fn path(self, protocol: Protocol) -> &'static str {
        match protocol {
            Protocol::V5 => self.v5,
            Protocol::V6 => self.v6,
        }
    }

    /// The name of the call for messages.
    fn name(self, protocol: Protocol) -> &'static str {
        self.path(protocol).rsplit('/').next().unwrap_or_default()
    }
}

const GET_SCHEMA: Method = method!("GetSchema", "GetProviderSchema");

impl Access {
    pub async fn connect(&self) -> Result<Process> {
        match &self.source {
            Source::Running(to) => Process::reattach(&self.name, to).await,
            Source::Executable(executable) => {
                let launch =
                    Launch { provider: &self.name, executable, log: self.log.clone(), patience: self.patience };
                Process::start(launch).await
            }
        }
    }

    /// Asks a process for its schemas, undecoded.
    pub async fn fetch_schemas(&self, process: &Process) -> Result<undecoded::ProviderSchema> {
        self.call(process, GET_SCHEMA, v6::get_provider_schema::Request {}).await
    }

    async fn call<Req, Resp>(&self, process: &Process, method: Method, request: Req) -> Result<Resp>
    where
        Req: Message + Default + 'static,
        Resp: Message + Default + 'static,
    {
        let name = method.name(process.protocol);
        let call = async {
            let mut grpc = tonic::client::Grpc::new(process.channel.clone())
                .max_decoding_message_size(LARGEST_MESSAGE)
                .max_encoding_message_size(LARGEST_MESSAGE);
            grpc.ready().await.map_err(|e| tonic::Status::from_error(e.into()))?;
            let path = PathAndQuery::from_static(method.path(process.protocol));
            let codec = tonic_prost::ProstCodec::<Req, Resp>::default();
            grpc.unary(tonic::Request::new(request), path, codec).await
        };
        match process.guard(name, call).await? {
            Ok(response) => Ok(response.into_inner()),
            Err(status) => Err(Box::new(self.explain(name, &status))),
        }
    }

    fn explain(&self, method: &str, status: &tonic::Status) -> Diagnostic {
        let (provider, message) = (&self.name, status.message());
        if status.code() == tonic::Code::Unimplemented {
            let detail = format!("The provider {provider} does not implement the call {method}.");
            return Diagnostic::error("Unsupported operation", detail);
        }
        let code = format!("{:?}", status.code());
        let cause = std::error::Error::source(status).map(|e| format!(": {}", root_cause(e))).unwrap_or_default();
        let detail = format!("The provider {provider} failed to answer the call {method} ({code}): {message}{cause}.");
        Diagnostic::error("Plugin error", detail)
    }
}

impl Client {
    /// A provider whose process was started already if `process` is given.
    pub fn new(access: Access, schemas: Arc<Schemas>, process: Option<Process>) -> Client {
        let process = OnceCell::new_with(process.map(Ok));
        Client { access, schemas, process, closed: AtomicBool::new(false) }
    }

    async fn process(&self) -> Result<&Process> {
        if self.closed.load(Ordering::Acquire) {
            let detail = format!("The provider {} was called after it had been closed.", self.access.name);
            return Err(Box::new(Diagnostic::error("Plugin did not respond", detail)));
        }
        let start = || async {
            let process = self.access.connect().await?;
            // Providers on older SDKs set themselves up when they are asked for their schema.
            if !self.schemas.capabilities.get_provider_schema_optional {
                self.access.fetch_schemas(&process).await?;
            }
            Ok(process)
        };
        self.process.get_or_init(start).await.as_ref().map_err(Clone::clone)
    }

    async fn call<Req, Resp>(&self, method: Method, request: Req) -> Result<Resp>
    where
        Req: Message + Default + 'static,
        Resp: Message + Default + 'static,
    {
        self.access.call(self.process().await?, method, request).await
    }

    /// The schema that a call needs.
    fn typed(&self, of: Of<'_>) -> Result<Arc<Typed>> {
        let found = self.schemas.get(of).map_err(|e| broken_schema(&self.access.name, &describe(of), &e))?;
        let missing = || {
            let detail = format!("The provider {} has no {}.", self.access.name, describe(of));
            Box::new(Diagnostic::error("Invalid resource type", detail))
        };
        found.ok_or_else(missing)
    }

    /// The schema for those who only look, `None` also if it makes no sense (which the log says).
    fn look<T>(&self, what: &str, found: std::result::Result<Option<T>, SchemaError>) -> Option<T> {
        found.unwrap_or_else(|e| {
            let message = broken_schema(&self.access.name, what, &e).detail;
            Output::new(&*self.access.name, self.access.log.clone()).host(Level::Error, &message);
            None
        })
    }

    fn schema_of(&self, of: Of<'_>) -> Option<Arc<Schema>> {
        self.look(&describe(of), self.schemas.get(of)).map(|t| t.schema.clone())
    }

    fn encode(&self, what: &str, value: &Value, ty: &Type) -> Result<Option<v6::DynamicValue>> {
        match v6::DynamicValue::encode(value, ty) {
            Ok(message) => Ok(Some(message)),
            Err(e) => {
                let detail = format!("The {what} cannot be sent to the provider {}: {e}.", self.access.name);
                Err(Box::new(Diagnostic::error("Unsuitable value for provider", detail)))
            }
        }
    }

    /// A value in an answer; null where the answer has none.
    fn decode(&self, what: &str, message: Option<v6::DynamicValue>, ty: &Type) -> Result<Value> {
        let Some(message) = message else { return Ok(Value::Null(ty.clone())) };
        message.decode(ty).map_err(|e| {
            let detail = format!(
                "The {what} that the provider {} returned does not fit its own schema: {e}. This is a bug in the \
                 provider.",
                self.access.name
            );
            Box::new(Diagnostic::error("Provider produced invalid object", detail))
        })
    }

    async fn upgrade(&self, type_name: &str, version: i64, stored: v6::RawState) -> WithDiagnostics<Option<Value>> {
        let run = async {
            let typed = self.typed(Of::Resource(type_name))?;
            let request = v6::upgrade_resource_state::Request {
                type_name: type_name.to_owned(),
                version,
                raw_state: Some(stored),
            };
            let response: v6::upgrade_resource_state::Response =
                self.call(method!("UpgradeResourceState"), request).await?;
            let state = self.decode("upgraded state", response.upgraded_state, &typed.ty);
            Ok(some_value(diagnostics(response.diagnostics), state))
        };
        or_default(run.await)
    }

    fn encode_meta(&self, meta: Option<&Value>) -> Result<Option<v6::DynamicValue>> {
        match meta {
            Some(meta) => self.encode("provider_meta block", meta, &self.typed(Of::Meta)?.ty),
            // As from Terraform: providers may count on a value where they have a schema for it.
            None if self.schemas.has_meta() => {
                let ty = &self.typed(Of::Meta)?.ty;
                self.encode("provider_meta block", &Value::Null(ty.clone()), ty)
            }
            None => Ok(None),
        }
    }
}

fn describe(of: Of<'_>) -> String {
    match of {
        Of::Provider => "provider configuration".to_owned(),
        Of::Meta => "provider_meta block".to_owned(),
        Of::Resource(name) => format!("resource type {name:?}"),
        Of::DataSource(name) => format!("data source {name:?}"),
        Of::Ephemeral(name) => format!("ephemeral resource type {name:?}"),
    }
}

/// A diagnostic as the provider sent it.
pub(super) fn diagnostic(d: v6::Diagnostic) -> Diagnostic {
    let severity = match d.severity() {
        v6::diagnostic::Severity::Warning => Severity::Warning,
        v6::diagnostic::Severity::Error | v6::diagnostic::Severity::Invalid => Severity::Error,
    };
    let mut out = Diagnostic::new(severity, d.summary, d.detail);
    out.attribute = d.attribute.map(Path::from).filter(|p| !p.is_root());
    out
}

fn diagnostics(all: Vec<v6::Diagnostic>) -> Diagnostics {
    all.into_iter().map(diagnostic).collect()
}

/// Adds the failure of a step to what was reported before it.
fn and(mut reported: Diagnostics, failure: Failure) -> Diagnostics {
    reported.push(failure);
    reported
}

fn only_diagnostics(result: Result<Diagnostics>) -> Diagnostics {
    result.unwrap_or_else(Diagnostics::from)
}

/// The value of an answer beside its diagnostics; the default where there is none.
fn or_default<T: Default>(result: Result<WithDiagnostics<T>>) -> WithDiagnostics<T> {
    result.unwrap_or_else(|failure| (T::default(), failure.into()))
}

/// A decoded value beside the diagnostics of its answer; none if decoding failed or the provider reported errors
/// without a value.
fn some_value(reported: Diagnostics, value: Result<Value>) -> WithDiagnostics<Option<Value>> {
    match value {
        Ok(value) if reported.has_errors() && value.is_null() => (None, reported),
        Ok(value) => (Some(value), reported),
        Err(failure) => (None, and(reported, failure)),
    }
}

fn client_capabilities() -> Option<v6::ClientCapabilities> {
    Some(v6::ClientCapabilities { deferral_allowed: false, write_only_attributes_allowed: true })
}

fn non_empty(private: Private) -> Option<Vec<u8>> {
    Some(private).filter(|p| !p.is_empty())
}

#[async_trait]
impl Provider for Client {
    fn config_schema(&self) -> Arc<Schema> {
        self.schema_of(Of::Provider).unwrap_or_default()
    }

    fn meta_schema(&self) -> Option<Arc<Schema>> {
        self.schema_of(Of::Meta)
    }

    fn resource_schema(&self, type_name: &str) -> Option<Arc<Schema>> {
        self.schema_of(Of::Resource(type_name))
    }

    fn data_source_schema(&self, type_name: &str) -> Option<Arc<Schema>> {
        self.schema_of(Of::DataSource(type_name))
    }

    fn ephemeral_schema(&self, type_name: &str) -> Option<Arc<Schema>> {
        self.schema_of(Of::Ephemeral(type_name))
    }

    fn function(&self, name: &str) -> Option<Arc<FunctionSignature>> {
        self.look(&format!("function {name:?}"), self.schemas.function(name))
    }

    fn capabilities(&self) -> ServerCapabilities {
        self.schemas.capabilities
    }

    fn schema(&self) -> Arc<ProviderSchema> {
        Arc::new(self.schemas.all())
    }

    async fn validate_provider_config(&self, config: Value) -> WithDiagnostics<Value> {
        let run = async {
            let config = self.encode("provider configuration", &config, &self.typed(Of::Provider)?.ty)?;
            let method = method!("PrepareProviderConfig", "ValidateProviderConfig");
            let request = v6::validate_provider_config::Request { config };
            let response: v6::validate_provider_config::Response = self.call(method, request).await?;
            Ok(diagnostics(response.diagnostics))
        };
        // Terraform does not use the configuration that protocol 5 returns either.
        let reported = only_diagnostics(run.await);
        (config, reported)
    }

    async fn validate_resource_config(&self, type_name: &str, config: Value) -> Diagnostics {
        let run = async {
            let config = self.encode("configuration", &config, &self.typed(Of::Resource(type_name))?.ty)?;
            let request = v6::validate_resource_config::Request {
                type_name: type_name.to_owned(),
                config,
                client_capabilities: client_capabilities(),
            };
            let method = method!("ValidateResourceTypeConfig", "ValidateResourceConfig");
            let response: v6::validate_resource_config::Response = self.call(method, request).await?;
            Ok(diagnostics(response.diagnostics))
        };
        only_diagnostics(run.await)
    }

    async fn validate_data_source_config(&self, type_name: &str, config: Value) -> Diagnostics {
        let run = async {
            let config = self.encode("configuration", &config, &self.typed(Of::DataSource(type_name))?.ty)?;
            let request = v6::validate_data_resource_config::Request { type_name: type_name.to_owned(), config };
            let method = method!("ValidateDataSourceConfig", "ValidateDataResourceConfig");
            let response: v6::validate_data_resource_config::Response = self.call(method, request).await?;
            Ok(diagnostics(response.diagnostics))
        };
        only_diagnostics(run.await)
    }

    async fn validate_ephemeral_config(&self, type_name: &str, config: Value) -> Diagnostics {
        let run = async {
            let config = self.encode("configuration", &config, &self.typed(Of::Ephemeral(type_name))?.ty)?;
            let request = v6::validate_ephemeral_resource_config::Request { type_name: type_name.to_owned(), config };
            let method = method!("ValidateEphemeralResourceConfig");
            let response: v6::validate_ephemeral_resource_config::Response = self.call(method, request).await?;
            Ok(diagnostics(response.diagnostics))
        };
        only_diagnostics(run.await)
    }

    async fn configure(&self, config: Value) -> Diagnostics {
        let run = async {
            let request = v6::configure_provider::Request {
                terraform_version: self.access.terraform_version.clone(),
                config: self.encode("provider configuration", &config, &self.typed(Of::Provider)?.ty)?,
                client_capabilities: client_capabilities(),
            };
            let response: v6::configure_provider::Response =
                self.call(method!("Configure", "ConfigureProvider"), request).await?;
            Ok(diagnostics(response.diagnostics))
        };
        only_diagnostics(run.await)
    }

    async fn upgrade_resource_state(
        &self,
        type_name: &str,
        version: i64,
        json: &str,
    ) -> WithDiagnostics<Option<Value>> {
        let stored = v6::RawState { json: json.as_bytes().to_vec(), ..v6::RawState::default() };
        self.upgrade(type_name, version, stored).await
    }

    async fn upgrade_flat_state(
        &self,
        type_name: &str,
        version: i64,
        flat: &BTreeMap<String, String>,
    ) -> WithDiagnostics<Option<Value>> {
        let flatmap = flat.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
        self.upgrade(type_name, version, v6::RawState { flatmap, ..v6::RawState::default() }).await
    }

    async fn read_resource(&self, request: ReadRequest<'_>) -> ReadResponse {
        let run = async {
            let typed = self.typed(Of::Resource(request.type_name))?;
            let message = v6::read_resource::Request {
                type_name: request.type_name.to_owned(),
                current_state: self.encode("state", &request.current, &typed.ty)?,
                private: request.private.clone(),
                provider_meta: self.encode_meta(request.provider_meta.as_ref())?,
                client_capabilities: client_capabilities(),
                current_identity: None,
            };
            let response: v6::read_resource::Response = self.call(method!("ReadResource"), message).await?;
            let reported = diagnostics(response.diagnostics);
            // An answer with errors need not have a state, and must not look as if the object were gone.
            if response.new_state.is_none() && reported.has_errors() {
                return Ok((request.current.clone(), request.private.clone(), reported));
            }
            Ok(match self.decode("state", response.new_state, &typed.ty) {
                Ok(state) => (state, response.private, reported),
                Err(failure) => (request.current.clone(), request.private.clone(), and(reported, failure)),
            })
        };
        let (state, private, diagnostics) =
            run.await.unwrap_or_else(|f: Failure| (request.current.clone(), request.private.clone(), f.into()));
        ReadResponse { state, private, diagnostics }
    }

    async fn plan_resource_change(&self, request: PlanRequest<'_>) -> PlanResponse {
        let unplanned = |diagnostics| PlanResponse {
            planned: request.proposed.clone(),
            requires_replace: Vec::new(),
            planned_private: request.prior_private.clone(),
            legacy_type_system: false,
            diagnostics,
        };
        if request.proposed.is_null() && !self.schemas.capabilities.plan_destroy {
            return unplanned(Diagnostics::new());
        }
        let run = async {
            let typed = self.typed(Of::Resource(request.type_name))?;
            let message = v6::plan_resource_change::Request {
                type_name: request.type_name.to_owned(),
                prior_state: self.encode("prior state", &request.prior, &typed.ty)?,
                proposed_new_state: self.encode("proposed state", &request.proposed, &typed.ty)?,
                config: self.encode("configuration", &request.config, &typed.ty)?,
                prior_private: request.prior_private.clone(),
                provider_meta: self.encode_meta(request.provider_meta.as_ref())?,
                client_capabilities: client_capabilities(),
                prior_identity: None,
            };
            let response: v6::plan_resource_change::Response =
                self.call(method!("PlanResourceChange"), message).await?;
            let reported = diagnostics(response.diagnostics);
            Ok(match self.decode("planned state", response.planned_state, &typed.ty) {
                Ok(planned) => PlanResponse {
                    planned,
                    requires_replace: response.requires_replace.into_iter().map(Path::from).collect(),
                    planned_private: response.planned_private,
                    legacy_type_system: response.legacy_type_system,
                    diagnostics: reported,
                },
                Err(failure) => unplanned(and(reported, failure)),
            })
        };
        run.await.unwrap_or_else(|failure: Failure| unplanned(failure.into()))
    }

    async fn apply_resource_change(&self, request: ApplyRequest<'_>) -> ApplyResponse {
        // Without a usable answer, what was there before is the best knowledge.
        let as_before = |answered, diagnostics| ApplyResponse {
            state: request.prior.clone(),
            private: request.planned_private.clone(),
            answered,
            legacy_type_system: false,
            diagnostics,
        };
        let method = method!("ApplyResourceChange");
        let prepare = async {
            let typed = self.typed(Of::Resource(request.type_name))?;
            let message = v6::apply_resource_change::Request {
                type_name: request.type_name.to_owned(),
                prior_state: self.encode("prior state", &request.prior, &typed.ty)?,
                planned_state: self.encode("planned state", &request.planned, &typed.ty)?,
                config: self.encode("configuration", &request.config, &typed.ty)?,
                planned_private: request.planned_private.clone(),
                provider_meta: self.encode_meta(request.provider_meta.as_ref())?,
                planned_identity: None,
            };
            let process = self.process().await?;
            process.still_runs(method.name(process.protocol))?;
            Ok((typed, message, process))
        };
        let (typed, message, process) = match prepare.await {
            Ok(prepared) => prepared,
            Err(failure) => return as_before(true, Failure::into(failure)),
        };
        let response: v6::apply_resource_change::Response = match self.access.call(process, method, message).await {
            Ok(response) => response,
            Err(failure) => return as_before(false, failure.into()),
        };
        let reported = diagnostics(response.diagnostics);
        if response.new_state.is_none() && reported.has_errors() {
            return as_before(true, reported);
        }
        match self.decode("new state", response.new_state, &typed.ty) {
            Ok(state) => ApplyResponse {
                state,
                private: response.private,
                answered: true,
                legacy_type_system: response.legacy_type_system,
                diagnostics: reported,
            },
            Err(failure) => as_before(false, and(reported, failure)),
        }
    }

    async fn import_resource_state(&self, type_name: &str, id: &str) -> WithDiagnostics<Vec<ImportedObject>> {
        let run = async {
            let request = v6::import_resource_state::Request {
                type_name: type_name.to_owned(),
                id: id.to_owned(),
                client_capabilities: client_capabilities(),
                identity: None,
            };
            let response: v6::import_resource_state::Response =
                self.call(method!("ImportResourceState"), request).await?;
            let mut reported = diagnostics(response.diagnostics);
            let imported = response.imported_resources.into_iter().map(|object| {
                let typed = self.typed(Of::Resource(&object.type_name))?;
                let state = self.decode("imported state", object.state, &typed.ty)?;
                Ok(ImportedObject { type_name: object.type_name, state, private: object.private })
            });
            let imported = imported.filter_map(|object| reported.take(object)).collect();
            Ok((imported, reported))
        };
        or_default(run.await)
    }

    async fn move_resource_state(&self, request: MoveRequest<'_>) -> WithDiagnostics<Option<(Value, Private)>> {
        let run = async {
            let typed = self.typed(Of::Resource(&request.target_type_name))?;
            let source_state =
                v6::RawState { json: request.source_state_json.as_bytes().to_vec(), ..v6::RawState::default() };
            let message = v6::move_resource_state::Request {
                source_provider_address: request.source_provider_address.clone(),
                source_type_name: request.source_type_name.clone(),
                source_schema_version: request.source_schema_version,
                source_state: Some(source_state),
                target_type_name: request.target_type_name.clone(),
                source_private: request.source_private.clone(),
                source_identity: None,
                source_identity_schema_version: 0,
            };
            let response: v6::move_resource_state::Response = self.call(method!("MoveResourceState"), message).await?;
            let state = self.decode("moved state", response.target_state, &typed.ty);
            let (state, reported) = some_value(diagnostics(response.diagnostics), state);
            Ok((state.map(|s| (s, response.target_private)), reported))
        };
        or_default(run.await)
    }

    async fn read_data_source(
        &self,
        type_name: &str,
        config: Value,
        meta: Option<Value>,
    ) -> WithDiagnostics<Option<Value>> {
        let run = async {
            let typed = self.typed(Of::DataSource(type_name))?;
            let request = v6::read_data_source::Request {
                type_name: type_name.to_owned(),
                config: self.encode("configuration", &config, &typed.ty)?,
                provider_meta: self.encode_meta(meta.as_ref())?,
                client_capabilities: client_capabilities(),
            };
            let response: v6::read_data_source::Response = self.call(method!("ReadDataSource"), request).await?;
            let state = self.decode("data", response.state, &typed.ty);
            Ok(some_value(diagnostics(response.diagnostics), state))
        };
        or_default(run.await)
    }

    async fn open_ephemeral(&self, type_name: &str, config: Value) -> WithDiagnostics<Option<EphemeralOpened>> {
        let run = async {
            let typed = self.typed(Of::Ephemeral(type_name))?;
            let request = v6::open_ephemeral_resource::Request {
                type_name: type_name.to_owned(),
                config: self.encode("configuration", &config, &typed.ty)?,
                client_capabilities: client_capabilities(),
            };
            let response: v6::open_ephemeral_resource::Response =
                self.call(method!("OpenEphemeralResource"), request).await?;
            let result = self.decode("result", response.result, &typed.ty);
            let (result, reported) = some_value(diagnostics(response.diagnostics), result);
            let opened = result.map(|result| EphemeralOpened {
                result,
                private: response.private.unwrap_or_default(),
                renew_at: response.renew_at.and_then(|t| t.try_into().ok()),
            });
            Ok((opened, reported))
        };
        or_default(run.await)
    }

    async fn renew_ephemeral(
        &self,
        type_name: &str,
        private: Private,
    ) -> WithDiagnostics<(Private, Option<SystemTime>)> {
        let request =
            v6::renew_ephemeral_resource::Request { type_name: type_name.to_owned(), private: non_empty(private) };
        let response: Result<v6::renew_ephemeral_resource::Response> =
            self.call(method!("RenewEphemeralResource"), request).await;
        or_default(response.map(|r| {
            let renew_at = r.renew_at.and_then(|t| t.try_into().ok());
            ((r.private.unwrap_or_default(), renew_at), diagnostics(r.diagnostics))
        }))
    }

    async fn close_ephemeral(&self, type_name: &str, private: Private) -> Diagnostics {
        let request =
            v6::close_ephemeral_resource::Request { type_name: type_name.to_owned(), private: non_empty(private) };
        let response: Result<v6::close_ephemeral_resource::Response> =
            self.call(method!("CloseEphemeralResource"), request).await;
        only_diagnostics(response.map(|r| diagnostics(r.diagnostics)))
    }

    async fn call_function(
        &self,
        name: &str,
        arguments: Vec<Value>,
    ) -> std::result::Result<Value, (Option<usize>, String)> {
        let plain = |failure: Failure| (None, failure.detail.clone());
        let signature = self.schemas.function(name).map_err(|e| (None, format!("The function is broken: {e}.")))?;
        let missing = || (None, format!("The provider {} has no function {name:?}.", self.access.name));
        let signature = signature.ok_or_else(missing)?;
        let parameters = signature.parameters.iter().chain(signature.variadic.iter().cycle());
        let encode = |(i, (argument, parameter)): (usize, (&Value, &gpuform_schema::schema::FunctionParameter))| {
            self.encode("argument", argument, &parameter.ty).map_err(|f| (Some(i), f.detail.clone()))
        };
        let arguments = arguments.iter().zip(parameters).enumerate().map(encode);
        let arguments: Vec<_> = arguments.collect::<std::result::Result<Vec<_>, _>>()?;
        let request =
            v6::call_function::Request { name: name.to_owned(), arguments: arguments.into_iter().flatten().collect() };
        let response: v6::call_function::Response = self.call(method!("CallFunction"), request).await.map_err(plain)?;
        if let Some(error) = response.error {
            return Err((error.function_argument.and_then(|i| i.try_into().ok()), error.text));
        }
        self.decode("result", response.result, &signature.return_type).map_err(plain)
    }

    async fn stop(&self) {
        if let Some(Ok(process)) = self.process.get() {
            let request = v6::stop_provider::Request {};
            let stop =
                self.access.call::<_, v6::stop_provider::Response>(process, method!("Stop", "StopProvider"), request);
            // A provider that cannot stop early goes on to the end, which is awaited anyway.
            let _ = tokio::time::timeout(STOP_PATIENCE, stop).await;
        }
    }

    async fn close(&self) {
        self.closed.store(true, Ordering::Release);
        if let Some(Ok(process)) = self.process.get() {
            process.close().await;
        }
    }
}

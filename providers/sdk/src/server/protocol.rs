//! Plugin protocol 6 over a provider: decodes requests, hands them to the runners, encodes what comes back. What an
//! operation means is decided in `run.rs`; here a failure is always a diagnostic, never a broken call.

use crate::context::{Operation, Private};
use crate::ephemeral::{EphemeralRunner, Lease};
use crate::error::{Diagnostic, Error, Severity};
use crate::model::{Kind, Model, Object};
use crate::provider::{Function, FunctionError, Provider, Setup};
use crate::resource::MoveSource;
use crate::run::{self, DataSourceRunner, Outcome, Runner, Session};
use gpuform_schema::json::{self, ExtraAttributes};
use gpuform_schema::proto::v6;
use gpuform_schema::schema::{FunctionParameter, ProviderSchema, ServerCapabilities};
use gpuform_schema::{Str, Value};
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Instant;
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status};

pub(super) struct Server<P: Provider> {
    provider: P,
    resources: BTreeMap<&'static str, Box<dyn Runner<P::Client>>>,
    data_sources: BTreeMap<&'static str, Box<dyn DataSourceRunner<P::Client>>>,
    ephemeral: BTreeMap<&'static str, Box<dyn EphemeralRunner<P::Client>>>,
    functions: BTreeMap<&'static str, Function>,
    schema: OnceLock<v6::get_provider_schema::Response>,
    client: RwLock<Option<Arc<P::Client>>>,
    cancel: CancellationToken,
}

impl<P: Provider> Server<P> {
    const CAPABILITIES: ServerCapabilities = ServerCapabilities {
        plan_destroy: false,
        get_provider_schema_optional: true,
        move_resource_state: true,
        joins_reads: P::JOINS_READS,
    };

    pub(super) fn new(provider: P) -> Server<P> {
        Server {
            resources: provider.resources().into_iter().map(|e| (e.name, e.runner)).collect(),
            data_sources: provider.data_sources().into_iter().map(|e| (e.name, e.runner)).collect(),
            ephemeral: provider.ephemeral_resources().into_iter().map(|e| (e.name, e.runner)).collect(),
            functions: provider.functions().into_iter().map(|f| (f.name, f)).collect(),
            provider,
            schema: OnceLock::new(),
            client: RwLock::new(None),
            cancel: CancellationToken::new(),
        }
    }

    fn describe(&self) -> ProviderSchema {
        ProviderSchema {
            provider: P::Config::object().schema(0),
            resources: self.resources.iter().map(|(n, r)| (Str::from(*n), r.object().schema(r.version()))).collect(),
            data_sources: self.data_sources.iter().map(|(n, d)| (Str::from(*n), d.object().schema(0))).collect(),
            ephemeral_resources: self.ephemeral.iter().map(|(n, e)| (Str::from(*n), e.object().schema(0))).collect(),
            functions: self.functions.iter().map(|(n, f)| (Str::from(*n), Arc::new(f.signature.clone()))).collect(),
            provider_meta: self.provider.module_settings().map(|o| o.schema(0)),
            capabilities: Self::CAPABILITIES,
        }
    }

    fn resource(&self, name: &str) -> Result<&dyn Runner<P::Client>, Error> {
        self.resources.get(name).map(Box::as_ref).ok_or_else(|| unknown_type::<P>("resource", name))
    }

    fn data_source(&self, name: &str) -> Result<&dyn DataSourceRunner<P::Client>, Error> {
        self.data_sources.get(name).map(Box::as_ref).ok_or_else(|| unknown_type::<P>("data source", name))
    }

    fn ephemeral(&self, name: &str) -> Result<&dyn EphemeralRunner<P::Client>, Error> {
        self.ephemeral.get(name).map(Box::as_ref).ok_or_else(|| unknown_type::<P>("ephemeral resource", name))
    }

    fn client(&self) -> Option<Arc<P::Client>> {
        self.client.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What operations need; an error while the provider has no configuration.
    fn session(&self) -> Result<Session<P::Client>, Error> {
        self.session_in(None)
    }

    /// The same for an operation that comes with what its module has set.
    fn session_in(&self, settings: Option<v6::DynamicValue>) -> Result<Session<P::Client>, Error> {
        let settings = match self.provider.module_settings() {
            Some(object) => decode(settings, object)?,
            None => Value::null(),
        };
        match self.client() {
            Some(client) => Ok(Session { client, cancel: self.cancel.clone(), settings }),
            None => Err(Error::new("The provider is not configured")
                .detail("Its configuration has values that are not known yet, so it cannot reach the API.")),
        }
    }

    async fn configure(&self, request: v6::configure_provider::Request) -> Result<(), Error> {
        let config = decode(request.config, P::Config::object())?;
        if !config.is_wholly_known() {
            tracing::info!("the provider's configuration is not wholly known: planning without a client");
            return Ok(());
        }
        let setup = Setup { terraform_version: request.terraform_version, cancel: self.cancel.clone() };
        let model = P::Config::decode(&config)?;
        let client = run::caught(self.provider.configure(model, &setup)).await?;
        *self.client.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(client));
        Ok(())
    }

    async fn plan(&self, q: v6::plan_resource_change::Request) -> Result<v6::plan_resource_change::Response, Error> {
        let runner = self.resource(&q.type_name)?;
        let object = runner.object();
        let config = decode(q.config, object)?;
        let prior = decode(q.prior_state, object)?;
        let private = read_private(&q.prior_private);
        if decode(q.proposed_new_state, object)?.is_null() {
            return Ok(v6::plan_resource_change::Response {
                planned_state: Some(encode(&Value::Null(object.ty()), object)?),
                planned_private: q.prior_private,
                ..Default::default()
            });
        }
        let plan = runner.plan(&prior, &config, private, self.client()).await;
        Ok(v6::plan_resource_change::Response {
            planned_state: Some(encode(&plan.outcome.value, object)?),
            requires_replace: plan.requires_replace.iter().map(v6::AttributePath::from).collect(),
            planned_private: write_private(&plan.outcome.private),
            diagnostics: messages(plan.outcome.diagnostics),
            legacy_type_system: object.has_computed_block(),
            ..Default::default()
        })
    }

    async fn apply(&self, q: v6::apply_resource_change::Request) -> Result<v6::apply_resource_change::Response, Error> {
        let runner = self.resource(&q.type_name)?;
        let object = runner.object();
        let prior = decode(q.prior_state, object)?;
        let planned = decode(q.planned_state, object)?;
        let config = decode(q.config, object)?;
        let start = Instant::now();
        let operation = match (prior.is_null(), planned.is_null()) {
            (true, _) => Operation::Create,
            (false, true) => Operation::Delete,
            (false, false) => Operation::Update,
        };
        let outcome = match self.session_in(q.provider_meta) {
            Ok(session) => runner.apply(&prior, &planned, &config, read_private(&q.planned_private), session).await,
            Err(e) => failed(prior, read_private(&q.planned_private), e),
        };
        log_end(operation, &q.type_name, start, &outcome);
        Ok(v6::apply_resource_change::Response {
            new_state: Some(encode(&outcome.value, object)?),
            private: write_private(&outcome.private),
            diagnostics: messages(outcome.diagnostics),
            legacy_type_system: object.has_computed_block(),
            ..Default::default()
        })
    }

    async fn read(&self, q: v6::read_resource::Request) -> Result<v6::read_resource::Response, Error> {
        let runner = self.resource(&q.type_name)?;
        let object = runner.object();
        let current = decode(q.current_state, object)?;
        let (private, start) = (read_private(&q.private), Instant::now());
        let outcome = match self.session_in(q.provider_meta) {
            Ok(session) => runner.read(&current, private, session).await,
            Err(e) => {
                let mut unread = e.into_diagnostic();
                unread.severity = Severity::Warning;
                Outcome { value: current, private, diagnostics: vec![unread] }
            }
        };
        log_end(Operation::Read, &q.type_name, start, &outcome);
        Ok(v6::read_resource::Response {
            new_state: Some(encode(&outcome.value, object)?),
            private: write_private(&outcome.private),
            diagnostics: messages(outcome.diagnostics),
            ..Default::default()
        })
    }

    async fn import(
        &self,
        q: v6::import_resource_state::Request,
    ) -> Result<v6::import_resource_state::Response, Error> {
        let runner = self.resource(&q.type_name)?;
        let outcome = runner.import(&q.id, self.session()?).await;
        let imported = match outcome.value.is_null() {
            true => Vec::new(),
            false => vec![v6::import_resource_state::ImportedResource {
                type_name: q.type_name,
                state: Some(encode(&outcome.value, runner.object())?),
                private: write_private(&outcome.private),
                ..Default::default()
            }],
        };
        Ok(v6::import_resource_state::Response {
            imported_resources: imported,
            diagnostics: messages(outcome.diagnostics),
            ..Default::default()
        })
    }

    fn upgrade(&self, q: &v6::upgrade_resource_state::Request) -> Result<v6::DynamicValue, Error> {
        let runner = self.resource(&q.type_name)?;
        let summary = "The stored state cannot be used";
        let raw = q.raw_state.as_ref().map(|raw| raw.json.as_slice()).unwrap_or_default();
        if raw.is_empty() {
            return Err(Error::new(summary)
                .detail("It has the form of Terraform 0.11 and earlier. Apply it once with Terraform 0.12 first."));
        }
        if q.version > runner.version() {
            return Err(Error::new(summary).detail(format!(
                "It was written by a newer provider: version {} of {}, where this one knows {}.",
                q.version,
                q.type_name,
                runner.version()
            )));
        }
        let broken = |e: &dyn std::fmt::Display| Error::new(summary).detail(format!("{}: {e}.", q.type_name));
        let value = if q.version == runner.version() {
            json::decode(raw, &runner.object().ty(), ExtraAttributes::Ignore).map_err(|e| broken(&e))?
        } else {
            let stored = serde_json::from_slice(raw).map_err(|e| broken(&e))?;
            let upgraded = serde_json::Value::Object(runner.upgrade(q.version, stored)?).to_string();
            json::decode(&upgraded, &runner.object().ty(), ExtraAttributes::Ignore).map_err(|e| broken(&e))?
        };
        encode(&without_null_blocks(runner.object(), &value), runner.object())
    }

    async fn read_data(&self, q: v6::read_data_source::Request) -> Result<v6::read_data_source::Response, Error> {
        let runner = self.data_source(&q.type_name)?;
        let config = decode(q.config, runner.object())?;
        let outcome = runner.read(&config, self.session_in(q.provider_meta)?).await;
        Ok(v6::read_data_source::Response {
            state: Some(encode(&outcome.value, runner.object())?),
            diagnostics: messages(outcome.diagnostics),
            ..Default::default()
        })
    }

    fn take_over(&self, q: v6::move_resource_state::Request) -> Result<v6::DynamicValue, Error> {
        let runner = self.resource(&q.target_type_name)?;
        let stored = q.source_state.map(|raw| raw.json).unwrap_or_default();
        let state = serde_json::from_slice(&stored).map_err(|e| {
            Error::new("The stored state cannot be used").detail(format!("{}: {e}.", q.source_type_name))
        })?;
        let from = MoveSource {
            provider: q.source_provider_address,
            type_name: q.source_type_name,
            version: q.source_schema_version,
            state,
        };
        encode(&runner.take_over(&from)?, runner.object())
    }

    async fn open(
        &self,
        q: v6::open_ephemeral_resource::Request,
    ) -> Result<v6::open_ephemeral_resource::Response, Error> {
        let runner = self.ephemeral(&q.type_name)?;
        let config = decode(q.config, runner.object())?;
        let Lease { outcome, renew_at } = runner.open(&config, self.session()?).await;
        Ok(v6::open_ephemeral_resource::Response {
            result: Some(encode(&outcome.value, runner.object())?),
            private: Some(write_private(&outcome.private)),
            renew_at: renew_at.map(Into::into),
            diagnostics: messages(outcome.diagnostics),
            ..Default::default()
        })
    }

    async fn renew(
        &self,
        q: v6::renew_ephemeral_resource::Request,
    ) -> Result<v6::renew_ephemeral_resource::Response, Error> {
        let private = read_private(q.private.as_deref().unwrap_or_default());
        let Lease { outcome, renew_at } = self.ephemeral(&q.type_name)?.renew(private, self.session()?).await;
        Ok(v6::renew_ephemeral_resource::Response {
            private: Some(write_private(&outcome.private)),
            renew_at: renew_at.map(Into::into),
            diagnostics: messages(outcome.diagnostics),
        })
    }

    async fn close(&self, q: v6::close_ephemeral_resource::Request) -> Result<Vec<Diagnostic>, Error> {
        let private = read_private(q.private.as_deref().unwrap_or_default());
        Ok(self.ephemeral(&q.type_name)?.close(private, self.session()?).await)
    }

    fn call(&self, q: &v6::call_function::Request) -> Result<v6::DynamicValue, FunctionError> {
        let function = self
            .functions
            .get(q.name.as_str())
            .ok_or_else(|| FunctionError::new(format!("The {} provider has no function {:?}.", P::NAME, q.name)))?;
        let decode = |(i, (value, parameter)): (usize, (&v6::DynamicValue, &FunctionParameter))| {
            value.decode(&parameter.ty).map_err(|e| FunctionError::argument(i, e.to_string()))
        };
        let arguments = q
            .arguments
            .iter()
            .zip(&function.signature.parameters)
            .enumerate()
            .map(decode)
            .collect::<Result<Vec<_>, _>>()?;
        let result = (function.body)(&arguments)?;
        v6::DynamicValue::encode(&result, &function.signature.return_type)
            .map_err(|e| FunctionError::new(format!("The result has not the type of the function: {e}.")))
    }
}

#[tonic::async_trait]
impl<P: Provider> v6::provider_server::Provider for Server<P> {
    async fn get_metadata(
        &self,
        _: Request<v6::get_metadata::Request>,
    ) -> Result<Response<v6::get_metadata::Response>, Status> {
        use v6::get_metadata::{DataSourceMetadata, EphemeralResourceMetadata, FunctionMetadata, ResourceMetadata};
        let named = |n: &&str| (*n).to_owned();
        Ok(Response::new(v6::get_metadata::Response {
            server_capabilities: Some(Self::CAPABILITIES.into()),
            resources: self.resources.keys().map(|n| ResourceMetadata { type_name: named(n) }).collect(),
            data_sources: self.data_sources.keys().map(|n| DataSourceMetadata { type_name: named(n) }).collect(),
            ephemeral_resources: self
                .ephemeral
                .keys()
                .map(|n| EphemeralResourceMetadata { type_name: named(n) })
                .collect(),
            functions: self.functions.keys().map(|n| FunctionMetadata { name: named(n) }).collect(),
            ..Default::default()
        }))
    }

    async fn get_provider_schema(
        &self,
        _: Request<v6::get_provider_schema::Request>,
    ) -> Result<Response<v6::get_provider_schema::Response>, Status> {
        Ok(Response::new(self.schema.get_or_init(|| (&self.describe()).into()).clone()))
    }

    async fn get_resource_identity_schemas(
        &self,
        _: Request<v6::get_resource_identity_schemas::Request>,
    ) -> Result<Response<v6::get_resource_identity_schemas::Response>, Status> {
        Ok(Response::new(v6::get_resource_identity_schemas::Response::default()))
    }

    async fn validate_provider_config(
        &self,
        request: Request<v6::validate_provider_config::Request>,
    ) -> Result<Response<v6::validate_provider_config::Response>, Status> {
        let checked = decode(request.into_inner().config, P::Config::object()).map(|config| {
            run::validate::<P::Config>(&config, |model, problems| self.provider.validate(model, problems))
        });
        Ok(Response::new(v6::validate_provider_config::Response {
            diagnostics: findings(checked),
            ..Default::default()
        }))
    }

    async fn validate_resource_config(
        &self,
        request: Request<v6::validate_resource_config::Request>,
    ) -> Result<Response<v6::validate_resource_config::Response>, Status> {
        let q = request.into_inner();
        let checked = self.resource(&q.type_name).and_then(|r| Ok(r.validate(&decode(q.config, r.object())?)));
        Ok(Response::new(v6::validate_resource_config::Response { diagnostics: findings(checked) }))
    }

    async fn validate_data_resource_config(
        &self,
        request: Request<v6::validate_data_resource_config::Request>,
    ) -> Result<Response<v6::validate_data_resource_config::Response>, Status> {
        let q = request.into_inner();
        let checked = self.data_source(&q.type_name).and_then(|r| Ok(r.validate(&decode(q.config, r.object())?)));
        Ok(Response::new(v6::validate_data_resource_config::Response { diagnostics: findings(checked) }))
    }

    async fn configure_provider(
        &self,
        request: Request<v6::configure_provider::Request>,
    ) -> Result<Response<v6::configure_provider::Response>, Status> {
        let diagnostics = self.configure(request.into_inner()).await.err().map(message).into_iter().collect();
        Ok(Response::new(v6::configure_provider::Response { diagnostics }))
    }

    async fn upgrade_resource_state(
        &self,
        request: Request<v6::upgrade_resource_state::Request>,
    ) -> Result<Response<v6::upgrade_resource_state::Response>, Status> {
        Ok(Response::new(match self.upgrade(&request.into_inner()) {
            Ok(state) => v6::upgrade_resource_state::Response { upgraded_state: Some(state), ..Default::default() },
            Err(e) => v6::upgrade_resource_state::Response { diagnostics: vec![message(e)], ..Default::default() },
        }))
    }

    async fn read_resource(
        &self,
        request: Request<v6::read_resource::Request>,
    ) -> Result<Response<v6::read_resource::Response>, Status> {
        let q = request.into_inner();
        let (current, private) = (q.current_state.clone(), q.private.clone());
        Ok(Response::new(self.read(q).await.unwrap_or_else(|e| v6::read_resource::Response {
            new_state: current,
            private,
            diagnostics: vec![message(e)],
            ..Default::default()
        })))
    }

    async fn plan_resource_change(
        &self,
        request: Request<v6::plan_resource_change::Request>,
    ) -> Result<Response<v6::plan_resource_change::Response>, Status> {
        let q = request.into_inner();
        Ok(Response::new(self.plan(q).await.unwrap_or_else(|e| v6::plan_resource_change::Response {
            diagnostics: vec![message(e)],
            ..Default::default()
        })))
    }

    async fn apply_resource_change(
        &self,
        request: Request<v6::apply_resource_change::Request>,
    ) -> Result<Response<v6::apply_resource_change::Response>, Status> {
        let q = request.into_inner();
        let (prior, private) = (q.prior_state.clone(), q.planned_private.clone());
        Ok(Response::new(self.apply(q).await.unwrap_or_else(|e| v6::apply_resource_change::Response {
            new_state: prior,
            private,
            diagnostics: vec![message(e)],
            ..Default::default()
        })))
    }

    async fn import_resource_state(
        &self,
        request: Request<v6::import_resource_state::Request>,
    ) -> Result<Response<v6::import_resource_state::Response>, Status> {
        let q = request.into_inner();
        Ok(Response::new(self.import(q).await.unwrap_or_else(|e| v6::import_resource_state::Response {
            diagnostics: vec![message(e)],
            ..Default::default()
        })))
    }

    async fn read_data_source(
        &self,
        request: Request<v6::read_data_source::Request>,
    ) -> Result<Response<v6::read_data_source::Response>, Status> {
        let q = request.into_inner();
        Ok(Response::new(self.read_data(q).await.unwrap_or_else(|e| v6::read_data_source::Response {
            diagnostics: vec![message(e)],
            ..Default::default()
        })))
    }

    async fn get_functions(
        &self,
        _: Request<v6::get_functions::Request>,
    ) -> Result<Response<v6::get_functions::Response>, Status> {
        let functions = self.functions.iter().map(|(n, f)| ((*n).to_owned(), (&f.signature).into())).collect();
        Ok(Response::new(v6::get_functions::Response { functions, ..Default::default() }))
    }

    async fn call_function(
        &self,
        request: Request<v6::call_function::Request>,
    ) -> Result<Response<v6::call_function::Response>, Status> {
        Ok(Response::new(match self.call(&request.into_inner()) {
            Ok(result) => v6::call_function::Response { result: Some(result), error: None },
            Err(e) => v6::call_function::Response {
                result: None,
                error: Some(v6::FunctionError {
                    text: e.message,
                    function_argument: e.argument.and_then(|i| i64::try_from(i).ok()),
                }),
            },
        }))
    }

    async fn stop_provider(
        &self,
        _: Request<v6::stop_provider::Request>,
    ) -> Result<Response<v6::stop_provider::Response>, Status> {
        tracing::info!("asked to stop");
        self.cancel.cancel();
        Ok(Response::new(v6::stop_provider::Response::default()))
    }

    async fn move_resource_state(
        &self,
        request: Request<v6::move_resource_state::Request>,
    ) -> Result<Response<v6::move_resource_state::Response>, Status> {
        Ok(Response::new(match self.take_over(request.into_inner()) {
            Ok(state) => v6::move_resource_state::Response { target_state: Some(state), ..Default::default() },
            Err(e) => v6::move_resource_state::Response { diagnostics: vec![message(e)], ..Default::default() },
        }))
    }

    async fn upgrade_resource_identity(
        &self,
        _: Request<v6::upgrade_resource_identity::Request>,
    ) -> Result<Response<v6::upgrade_resource_identity::Response>, Status> {
        let diagnostics = vec![unsupported::<P>("resource identities")];
        Ok(Response::new(v6::upgrade_resource_identity::Response { diagnostics, ..Default::default() }))
    }

    async fn validate_ephemeral_resource_config(
        &self,
        request: Request<v6::validate_ephemeral_resource_config::Request>,
    ) -> Result<Response<v6::validate_ephemeral_resource_config::Response>, Status> {
        let q = request.into_inner();
        let checked = self.ephemeral(&q.type_name).and_then(|e| Ok(e.validate(&decode(q.config, e.object())?)));
        Ok(Response::new(v6::validate_ephemeral_resource_config::Response { diagnostics: findings(checked) }))
    }

    async fn open_ephemeral_resource(
        &self,
        request: Request<v6::open_ephemeral_resource::Request>,
    ) -> Result<Response<v6::open_ephemeral_resource::Response>, Status> {
        Ok(Response::new(self.open(request.into_inner()).await.unwrap_or_else(|e| {
            v6::open_ephemeral_resource::Response { diagnostics: vec![message(e)], ..Default::default() }
        })))
    }

    async fn renew_ephemeral_resource(
        &self,
        request: Request<v6::renew_ephemeral_resource::Request>,
    ) -> Result<Response<v6::renew_ephemeral_resource::Response>, Status> {
        let q = request.into_inner();
        let private = q.private.clone();
        Ok(Response::new(self.renew(q).await.unwrap_or_else(|e| v6::renew_ephemeral_resource::Response {
            private,
            diagnostics: vec![message(e)],
            ..Default::default()
        })))
    }

    async fn close_ephemeral_resource(
        &self,
        request: Request<v6::close_ephemeral_resource::Request>,
    ) -> Result<Response<v6::close_ephemeral_resource::Response>, Status> {
        let diagnostics = findings(self.close(request.into_inner()).await);
        Ok(Response::new(v6::close_ephemeral_resource::Response { diagnostics }))
    }
}

fn decode(value: Option<v6::DynamicValue>, object: &Object) -> Result<Value, Error> {
    let ty = object.ty();
    match value {
        Some(value) => value
            .decode(&ty)
            .map_err(|e| Error::new("A value from the tool cannot be read").detail(e.to_string()).at_path(e.path)),
        None => Ok(Value::Null(ty)),
    }
}

fn encode(value: &Value, object: &Object) -> Result<v6::DynamicValue, Error> {
    v6::DynamicValue::encode(value, &object.ty()).map_err(|e| {
        Error::new("A value of the provider does not fit its schema").detail(e.to_string()).at_path(e.path)
    })
}

/// Private data that is not a JSON object (from another provider) counts as none.
fn read_private(bytes: &[u8]) -> Private {
    serde_json::from_slice(bytes).unwrap_or_default()
}

fn write_private(private: &Private) -> Vec<u8> {
    if private.is_empty() { Vec::new() } else { serde_json::to_vec(private).unwrap_or_default() }
}

/// Lists and sets of blocks are empty where stored state has null: they are never null in the protocol.
fn without_null_blocks(object: &Object, value: &Value) -> Value {
    if !matches!(value, Value::Object(_)) {
        return value.clone();
    }
    value.map_children(&mut |step, part| {
        let gpuform_schema::Step::Attr(name) = step() else { return part.clone() };
        match object.field(&name).map(|f| &f.kind) {
            Some(Kind::Block(b)) => match part {
                Value::Null(_) => b.empty(),
                Value::List(_) | Value::Set(_) => part.map_children(&mut |_, item| without_null_blocks(b.object, item)),
                single => without_null_blocks(b.object, single),
            },
            _ => part.clone(),
        }
    })
}

fn log_end(operation: Operation, resource: &str, start: Instant, outcome: &Outcome) {
    let milliseconds = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
    let failed = outcome.diagnostics.iter().any(|d| d.severity == Severity::Error);
    tracing::debug!(operation = operation.name(), resource, milliseconds, failed, "operation done");
}

fn failed(value: Value, private: Private, error: Error) -> Outcome {
    Outcome { value, private, diagnostics: vec![error.into_diagnostic()] }
}

fn unknown_type<P: Provider>(what: &str, name: &str) -> Error {
    Error::new(format!("Unknown {what}")).detail(format!("The {} provider has no {what} {name:?}.", P::NAME))
}

fn unsupported<P: Provider>(what: &str) -> v6::Diagnostic {
    message(Error::unsupported("Not supported").detail(format!("The {} provider does not support {what}.", P::NAME)))
}

fn message(error: Error) -> v6::Diagnostic {
    diagnostic(error.into_diagnostic())
}

fn messages(diagnostics: Vec<Diagnostic>) -> Vec<v6::Diagnostic> {
    diagnostics.into_iter().map(diagnostic).collect()
}

fn findings(checked: Result<Vec<Diagnostic>, Error>) -> Vec<v6::Diagnostic> {
    checked.map_or_else(|e| vec![message(e)], messages)
}

fn diagnostic(d: Diagnostic) -> v6::Diagnostic {
    let severity = match d.severity {
        Severity::Error => v6::diagnostic::Severity::Error,
        Severity::Warning => v6::diagnostic::Severity::Warning,
    };
    v6::Diagnostic {
        severity: severity.into(),
        summary: d.summary,
        detail: d.detail,
        attribute: (!d.path.is_root()).then(|| (&d.path).into()),
    }
}

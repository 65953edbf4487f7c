//! The provider `terraform.io/builtin/terraform`: part of the program, so no process and no encoding.
//!
//! It offers the resource type `terraform_data`, the data source `terraform_remote_state` and three functions about
//! `.tfvars` syntax. Reading states of others is the business of whoever makes the provider ([`RemoteStates`]).

mod data;
mod encode;
mod functions;
mod remote_state;

pub use remote_state::RemoteStates;

use super::{
    ApplyRequest, ApplyResponse, EphemeralOpened, ImportedObject, MoveRequest, PlanRequest, PlanResponse, Private,
    Provider, ReadRequest, ReadResponse, WithDiagnostics,
};
use crate::diag::{Diagnostic, Diagnostics};
use async_trait::async_trait;
use gpuform_schema::Value;
use gpuform_schema::schema::{FunctionSignature, ProviderSchema, Schema, ServerCapabilities};
use std::sync::Arc;
use std::time::SystemTime;

/// The built-in provider. Needs no configuration; one serves all configurations.
pub struct Builtin {
    schema: Arc<ProviderSchema>,
    remote_states: Arc<dyn RemoteStates>,
}

impl Builtin {
    pub fn new(remote_states: Arc<dyn RemoteStates>) -> Builtin {
        let schema = ProviderSchema {
            resources: [(data::TYPE_NAME.into(), Arc::new(data::schema()))].into(),
            data_sources: [(remote_state::TYPE_NAME.into(), Arc::new(remote_state::schema()))].into(),
            functions: functions::signatures(),
            capabilities: ServerCapabilities {
                plan_destroy: false,
                get_provider_schema_optional: true,
                move_resource_state: true,
                joins_reads: false,
            },
            ..ProviderSchema::default()
        };
        Builtin { schema: Arc::new(schema), remote_states }
    }

    /// [`Provider::call_function`] for callers that are not asynchronous: no function of this provider waits.
    ///
    /// # Errors
    /// The index of the argument at fault, if any, and the message.
    pub fn call(name: &str, arguments: &[Value]) -> Result<Value, (Option<usize>, String)> {
        functions::call(name, arguments)
    }
}

fn no_such(kind: &str, name: &str) -> Diagnostic {
    let detail = format!("The built-in provider terraform has no {kind} {name:?}.");
    Diagnostic::error("Invalid resource type", detail)
}

/// The diagnostics about a resource type that is not ours; none for the one that is.
fn unless_ours(type_name: &str) -> Diagnostics {
    if type_name == data::TYPE_NAME { Diagnostics::new() } else { no_such("resource type", type_name).into() }
}

#[async_trait]
impl Provider for Builtin {
    fn config_schema(&self) -> Arc<Schema> {
        self.schema.provider.clone()
    }

    fn meta_schema(&self) -> Option<Arc<Schema>> {
        None
    }

    fn resource_schema(&self, type_name: &str) -> Option<Arc<Schema>> {
        self.schema.resources.get(type_name).cloned()
    }

    fn data_source_schema(&self, type_name: &str) -> Option<Arc<Schema>> {
        self.schema.data_sources.get(type_name).cloned()
    }

    fn ephemeral_schema(&self, _: &str) -> Option<Arc<Schema>> {
        None
    }

    fn function(&self, name: &str) -> Option<Arc<FunctionSignature>> {
        self.schema.functions.get(name).cloned()
    }

    fn capabilities(&self) -> ServerCapabilities {
        self.schema.capabilities
    }

    fn schema(&self) -> Arc<ProviderSchema> {
        self.schema.clone()
    }

    async fn validate_provider_config(&self, config: Value) -> WithDiagnostics<Value> {
        (config, Diagnostics::new())
    }

    async fn validate_resource_config(&self, type_name: &str, config: Value) -> Diagnostics {
        if type_name == data::TYPE_NAME { data::validate(&config) } else { unless_ours(type_name) }
    }

    async fn validate_data_source_config(&self, type_name: &str, config: Value) -> Diagnostics {
        if type_name != remote_state::TYPE_NAME {
            return no_such("data source", type_name).into();
        }
        remote_state::validate(&*self.remote_states, &config)
    }

    async fn validate_ephemeral_config(&self, type_name: &str, _: Value) -> Diagnostics {
        no_such("ephemeral resource type", type_name).into()
    }

    async fn configure(&self, _: Value) -> Diagnostics {
        Diagnostics::new()
    }

    async fn upgrade_resource_state(&self, type_name: &str, _: i64, json: &str) -> WithDiagnostics<Option<Value>> {
        if type_name != data::TYPE_NAME {
            return (None, unless_ours(type_name));
        }
        match data::from_json(json) {
            Ok(state) => (Some(state), Diagnostics::new()),
            Err(failure) => (None, failure.into()),
        }
    }

    async fn read_resource(&self, request: ReadRequest<'_>) -> ReadResponse {
        let diagnostics = unless_ours(request.type_name);
        ReadResponse { state: request.current, private: request.private, diagnostics }
    }

    async fn plan_resource_change(&self, request: PlanRequest<'_>) -> PlanResponse {
        let diagnostics = unless_ours(request.type_name);
        let (planned, requires_replace) = if diagnostics.has_errors() {
            (request.proposed, Vec::new())
        } else {
            data::plan(&request.prior, request.proposed)
        };
        PlanResponse {
            planned,
            requires_replace,
            planned_private: request.prior_private,
            legacy_type_system: false,
            diagnostics,
        }
    }

    async fn apply_resource_change(&self, request: ApplyRequest<'_>) -> ApplyResponse {
        let diagnostics = unless_ours(request.type_name);
        let state = if diagnostics.has_errors() { request.prior } else { data::apply(request.planned) };
        ApplyResponse {
            state,
            private: request.planned_private,
            answered: true,
            legacy_type_system: false,
            diagnostics,
        }
    }

    async fn import_resource_state(&self, type_name: &str, id: &str) -> WithDiagnostics<Vec<ImportedObject>> {
        let diagnostics = unless_ours(type_name);
        if diagnostics.has_errors() {
            return (Vec::new(), diagnostics);
        }
        let state = data::imported(id);
        (vec![ImportedObject { type_name: type_name.to_owned(), state, private: Vec::new() }], diagnostics)
    }

    async fn move_resource_state(&self, request: MoveRequest<'_>) -> WithDiagnostics<Option<(Value, Private)>> {
        if request.target_type_name != data::TYPE_NAME {
            return (None, unless_ours(&request.target_type_name));
        }
        match data::moved(&request) {
            Ok(state) => (Some((state, Vec::new())), Diagnostics::new()),
            Err(failure) => (None, failure.into()),
        }
    }

    async fn read_data_source(
        &self,
        type_name: &str,
        config: Value,
        _: Option<Value>,
    ) -> WithDiagnostics<Option<Value>> {
        if type_name != remote_state::TYPE_NAME {
            return (None, no_such("data source", type_name).into());
        }
        match remote_state::read(&*self.remote_states, &config).await {
            Ok(state) => (Some(state), Diagnostics::new()),
            Err(diagnostics) => (None, diagnostics),
        }
    }

    async fn open_ephemeral(&self, type_name: &str, _: Value) -> WithDiagnostics<Option<EphemeralOpened>> {
        (None, no_such("ephemeral resource type", type_name).into())
    }

    async fn renew_ephemeral(
        &self,
        type_name: &str,
        private: Private,
    ) -> WithDiagnostics<(Private, Option<SystemTime>)> {
        ((private, None), no_such("ephemeral resource type", type_name).into())
    }

    async fn close_ephemeral(&self, type_name: &str, _: Private) -> Diagnostics {
        no_such("ephemeral resource type", type_name).into()
    }

    async fn call_function(&self, name: &str, arguments: Vec<Value>) -> Result<Value, (Option<usize>, String)> {
        Builtin::call(name, &arguments)
    }

    async fn stop(&self) {}

    async fn close(&self) {}
}

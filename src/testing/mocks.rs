//! Providers that only pretend: they have the schema of a real provider and let it validate, but everything that would
//! touch an object is answered from the test file, or with made-up values.

use super::generate::{Fill, Made, Missing, complete};
use super::model::{Mock, MockData};
use crate::addr::Mode;
use crate::diag::{Diagnostic, Diagnostics};
use crate::plugin::{
    ApplyRequest, ApplyResponse, EphemeralOpened, ImportedObject, MoveRequest, PlanRequest, PlanResponse, Private,
    Provider, ReadRequest, ReadResponse, WithDiagnostics,
};
use async_trait::async_trait;
use gpuform_schema::Value;
use gpuform_schema::schema::{FunctionSignature, ProviderSchema, Schema, ServerCapabilities};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::SystemTime;

/// Where the answers come from.
enum Answers {
    /// A `mock_provider` block.
    Mock(Arc<Mock>),
    /// An `override_…` block for one object.
    Override(Arc<MockData>),
}

/// Stands in for a provider, for one object where it should remember what it has made up for it.
pub struct MockProvider {
    real: Arc<dyn Provider>,
    answers: Answers,
    made: Mutex<Made>,
}

impl MockProvider {
    /// A provider that is mocked as a whole. `real` need not be configured.
    pub fn new(real: Arc<dyn Provider>, mock: Arc<Mock>) -> MockProvider {
        MockProvider { real, answers: Answers::Mock(mock), made: Mutex::default() }
    }

    /// The provider of one object whose values are given.
    pub fn of_object(real: Arc<dyn Provider>, data: Arc<MockData>) -> MockProvider {
        MockProvider { real, answers: Answers::Override(data), made: Mutex::default() }
    }

    fn made(&self) -> MutexGuard<'_, Made> {
        self.made.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// What the test says about objects of a type.
    fn data(&self, mode: Mode, type_name: &str) -> Option<&MockData> {
        match (&self.answers, mode) {
            (Answers::Override(data), _) => Some(data),
            (Answers::Mock(mock), Mode::Managed) => mock.resources.get(type_name).map(|d| &**d),
            (Answers::Mock(mock), Mode::Data) => mock.data_sources.get(type_name).map(|d| &**d),
            (Answers::Mock(_), Mode::Ephemeral) => None,
        }
    }

    fn schema_of(&self, mode: Mode, type_name: &str) -> Option<Arc<Schema>> {
        match mode {
            Mode::Managed => self.real.resource_schema(type_name),
            Mode::Data => self.real.data_source_schema(type_name),
            Mode::Ephemeral => self.real.ephemeral_schema(type_name),
        }
    }

    /// An object with everything that is computed.
    fn complete(
        &self,
        mode: Mode,
        type_name: &str,
        object: &Value,
        missing: Missing,
    ) -> WithDiagnostics<Option<Value>> {
        let Some(schema) = self.schema_of(mode, type_name) else { return (None, unknown_type(type_name)) };
        let given = self.data(mode, type_name).map(|d| &d.values);
        match complete(&schema.block, object, missing, given, Fill::Values(&mut self.made())) {
            Ok(value) => (Some(value), Diagnostics::new()),
            Err(unfit) => {
                let diags = unfit.into_iter().map(|u| {
                    let name = u.path.to_string();
                    let mut d = Diagnostic::error(
                        "Failed to compute attribute",
                        format!(
                            "The test gives a value for the attribute \"{}\" that does not fit its type: {}.",
                            name.trim_start_matches('.'),
                            u.message
                        ),
                    );
                    d.attribute = Some(u.path);
                    d
                });
                (None, diags.collect())
            }
        }
    }
}

fn unknown_type(type_name: &str) -> Diagnostics {
    Diagnostic::error("Invalid resource type", format!("The mocked provider has no type \"{type_name}\".")).into()
}

#[async_trait]
impl Provider for MockProvider {
    fn config_schema(&self) -> Arc<Schema> {
        self.real.config_schema()
    }

    fn meta_schema(&self) -> Option<Arc<Schema>> {
        self.real.meta_schema()
    }

    fn resource_schema(&self, type_name: &str) -> Option<Arc<Schema>> {
        self.real.resource_schema(type_name)
    }

    fn data_source_schema(&self, type_name: &str) -> Option<Arc<Schema>> {
        self.real.data_source_schema(type_name)
    }

    fn ephemeral_schema(&self, type_name: &str) -> Option<Arc<Schema>> {
        self.real.ephemeral_schema(type_name)
    }

    fn function(&self, name: &str) -> Option<Arc<FunctionSignature>> {
        self.real.function(name)
    }

    fn capabilities(&self) -> ServerCapabilities {
        ServerCapabilities { plan_destroy: false, ..self.real.capabilities() }
    }

    fn schema(&self) -> Arc<ProviderSchema> {
        self.real.schema()
    }

    async fn validate_provider_config(&self, config: Value) -> WithDiagnostics<Value> {
        (config, Diagnostics::new())
    }

    async fn validate_resource_config(&self, type_name: &str, config: Value) -> Diagnostics {
        self.real.validate_resource_config(type_name, config).await
    }

    async fn validate_data_source_config(&self, type_name: &str, config: Value) -> Diagnostics {
        self.real.validate_data_source_config(type_name, config).await
    }

    async fn validate_ephemeral_config(&self, type_name: &str, config: Value) -> Diagnostics {
        self.real.validate_ephemeral_config(type_name, config).await
    }

    async fn configure(&self, _: Value) -> Diagnostics {
        Diagnostics::new()
    }

    async fn upgrade_resource_state(
        &self,
        type_name: &str,
        version: i64,
        json: &str,
    ) -> WithDiagnostics<Option<Value>> {
        self.real.upgrade_resource_state(type_name, version, json).await
    }

    async fn read_resource(&self, request: ReadRequest<'_>) -> ReadResponse {
        ReadResponse { state: request.current, private: request.private, diagnostics: Diagnostics::new() }
    }

    async fn plan_resource_change(&self, request: PlanRequest<'_>) -> PlanResponse {
        let mut response = PlanResponse {
            planned: request.proposed,
            requires_replace: Vec::new(),
            planned_private: request.prior_private,
            legacy_type_system: false,
            diagnostics: Diagnostics::new(),
        };
        if response.planned.is_null() || !request.prior.is_null() {
            return response;
        }
        if self.data(Mode::Managed, request.type_name).is_some_and(|d| d.during_plan) {
            let (value, diags) = self.complete(Mode::Managed, request.type_name, &response.planned, Missing::Null);
            response.planned = value.unwrap_or(response.planned);
            response.diagnostics = diags;
        } else if let Some(schema) = self.real.resource_schema(request.type_name)
            && let Ok(value) = complete(&schema.block, &response.planned, Missing::Null, None, Fill::Unknown)
        {
            response.planned = value;
        }
        response
    }

    async fn apply_resource_change(&self, request: ApplyRequest<'_>) -> ApplyResponse {
        let mut response = ApplyResponse {
            state: request.planned,
            private: request.planned_private,
            answered: true,
            legacy_type_system: false,
            diagnostics: Diagnostics::new(),
        };
        if !response.state.is_null() {
            let (value, diags) = self.complete(Mode::Managed, request.type_name, &response.state, Missing::Unknown);
            response.state = value.unwrap_or(request.prior);
            response.diagnostics = diags;
        }
        // An object that is created anew gets new values.
        self.made().clear();
        response
    }

    async fn import_resource_state(&self, type_name: &str, id: &str) -> WithDiagnostics<Vec<ImportedObject>> {
        let Answers::Override(_) = &self.answers else {
            let d = Diagnostic::error(
                "Invalid import request",
                format!(
                    "A mock provider has no objects, so \"{id}\" cannot be imported. Give the object with an \
                     override_resource block."
                ),
            );
            return (Vec::new(), d.into());
        };
        let Some(schema) = self.real.resource_schema(type_name) else { return (Vec::new(), unknown_type(type_name)) };
        let (state, diags) = self.complete(Mode::Managed, type_name, &schema.block.empty_value(), Missing::Null);
        let object = |state| ImportedObject { type_name: type_name.to_owned(), state, private: Vec::new() };
        (state.into_iter().map(object).collect(), diags)
    }

    async fn move_resource_state(&self, request: MoveRequest<'_>) -> WithDiagnostics<Option<(Value, Private)>> {
        self.real.move_resource_state(request).await
    }

    async fn read_data_source(
        &self,
        type_name: &str,
        config: Value,
        _: Option<Value>,
    ) -> WithDiagnostics<Option<Value>> {
        self.complete(Mode::Data, type_name, &config, Missing::Null)
    }

    async fn open_ephemeral(&self, type_name: &str, _: Value) -> WithDiagnostics<Option<EphemeralOpened>> {
        let d = Diagnostic::error(
            "No ephemeral resource types in mock providers",
            format!(
                "Ephemeral resources such as {type_name} cannot be mocked. Give the module a variable in its place."
            ),
        );
        (None, d.into())
    }

    async fn renew_ephemeral(&self, _: &str, private: Private) -> WithDiagnostics<(Private, Option<SystemTime>)> {
        ((private, None), Diagnostics::new())
    }

    async fn close_ephemeral(&self, _: &str, _: Private) -> Diagnostics {
        Diagnostics::new()
    }

    async fn call_function(&self, name: &str, arguments: Vec<Value>) -> Result<Value, (Option<usize>, String)> {
        self.real.call_function(name, arguments).await
    }

    /// Nothing runs here that could be stopped.
    async fn stop(&self) {}

    /// The real provider is ended by those who started it.
    async fn close(&self) {}
}

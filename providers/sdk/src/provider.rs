//! What a provider author implements once: the [`Provider`], its configuration, its lists of resources, data sources
//! and functions.

use crate::ephemeral::{Ephemeral, EphemeralResource, EphemeralRunner};
use crate::error::{Problems, Result};
use crate::model::{Model, Object};
use crate::resource::{DataSource, Resource};
use crate::run::{DataSourceRunner, ResourceRunner, Runner};
use gpuform_schema::schema::{FunctionParameter, FunctionSignature};
use gpuform_schema::{Type, Value};
use tokio_util::sync::CancellationToken;

/// A provider: one executable `terraform-provider-NAME`.
pub trait Provider: Send + Sync + 'static {
    /// The settings of the `provider` block.
    type Config: Model;

    /// What operations work with, shared by all of them, which run concurrently.
    type Client: Send + Sync + 'static;

    /// The provider's name: `aws`.
    const NAME: &'static str;

    /// The version that goes into logs.
    const VERSION: &'static str;

    /// Whether concurrent reads share calls of the API ([`Batcher`](crate::Batcher)) and the client limits how many
    /// calls are under way. gpuform then sends hundreds of reads at a time, whatever its `-parallelism`; Terraform sends
    /// ten.
    const JOINS_READS: bool = false;

    /// Makes the client from the configuration, whose values are all known: while they are not, the SDK plans without
    /// a client, and reads nothing.
    fn configure(&self, config: Self::Config, setup: &Setup) -> impl Future<Output = Result<Self::Client>> + Send;

    /// `vec![resource::<Vpc>(), …]`
    fn resources(&self) -> Vec<ResourceEntry<Self::Client>>;

    /// `vec![data_source::<Ami>(), …]`
    fn data_sources(&self) -> Vec<DataSourceEntry<Self::Client>> {
        Vec::new()
    }

    fn ephemeral_resources(&self) -> Vec<EphemeralEntry<Self::Client>> {
        Vec::new()
    }

    fn functions(&self) -> Vec<Function> {
        Vec::new()
    }

    /// The settings of `provider_meta` blocks, with which a module tells the provider about itself; operations get them
    /// from [`Context::module_settings`](crate::Context::module_settings). `Some(Settings::object())`; without it,
    /// modules may have no such block for this provider.
    fn module_settings(&self) -> Option<&'static Object> {
        None
    }

    /// Checks the configuration beyond what field attributes can say. Values may be unknown.
    fn validate(&self, config: &Self::Config, problems: &mut Problems) {
        let _ = (config, problems);
    }
}

/// What a provider learns about who configures it.
pub struct Setup {
    /// The version of the tool (Terraform's notation), for user agents.
    pub terraform_version: String,
    /// Cancelled when the user wants to stop.
    pub cancel: CancellationToken,
}

/// A resource in a provider's list; see [`resource`].
pub struct ResourceEntry<C> {
    pub(crate) name: &'static str,
    pub(crate) runner: Box<dyn Runner<C>>,
}

/// A data source in a provider's list; see [`data_source`].
pub struct DataSourceEntry<C> {
    pub(crate) name: &'static str,
    pub(crate) runner: Box<dyn DataSourceRunner<C>>,
}

/// An ephemeral resource in a provider's list; see [`ephemeral_resource`].
pub struct EphemeralEntry<C> {
    pub(crate) name: &'static str,
    pub(crate) runner: Box<dyn EphemeralRunner<C>>,
}

/// The entry of a resource.
pub fn resource<R: Resource>() -> ResourceEntry<R::Client> {
    ResourceEntry { name: R::TYPE, runner: Box::new(ResourceRunner::<R>::default()) }
}

/// The entry of a data source.
pub fn data_source<D: DataSource>() -> DataSourceEntry<D::Client> {
    DataSourceEntry { name: D::TYPE, runner: Box::new(crate::run::DataRunner::<D>::default()) }
}

/// The entry of an ephemeral resource.
pub fn ephemeral_resource<E: EphemeralResource>() -> EphemeralEntry<E::Client> {
    EphemeralEntry { name: E::TYPE, runner: Box::new(Ephemeral::<E>::default()) }
}

/// A function that configurations call as `provider::NAME::function(…)`.
pub struct Function {
    pub(crate) name: &'static str,
    pub(crate) signature: FunctionSignature,
    pub(crate) body: FunctionBody,
}

type FunctionBody = Box<dyn Fn(&[Value]) -> Result<Value, FunctionError> + Send + Sync>;

/// Why a function call failed.
#[derive(Debug)]
pub struct FunctionError {
    /// The argument concerned, from 0.
    pub argument: Option<usize>,
    pub message: String,
}

impl Function {
    /// A function without parameters yet; its body gets as many arguments as there are parameters, known and not null.
    pub fn new(
        name: &'static str,
        summary: &'static str,
        returns: Type,
        body: impl Fn(&[Value]) -> Result<Value, FunctionError> + Send + Sync + 'static,
    ) -> Function {
        let signature = FunctionSignature {
            parameters: Vec::new(),
            variadic: None,
            return_type: returns,
            summary: summary.into(),
            description: gpuform_schema::schema::Description { text: summary.into(), markdown: false },
            deprecation_message: String::new(),
        };
        Function { name, signature, body: Box::new(body) }
    }

    #[must_use]
    pub fn parameter(mut self, name: &str, ty: Type, description: &str) -> Function {
        self.signature.parameters.push(FunctionParameter {
            name: name.into(),
            ty,
            allow_null: false,
            allow_unknown: false,
            description: gpuform_schema::schema::Description { text: description.into(), markdown: false },
        });
        self
    }
}

impl FunctionError {
    pub fn new(message: impl Into<String>) -> FunctionError {
        FunctionError { argument: None, message: message.into() }
    }

    /// An error about the argument at this position, from 0.
    pub fn argument(position: usize, message: impl Into<String>) -> FunctionError {
        FunctionError { argument: Some(position), message: message.into() }
    }
}

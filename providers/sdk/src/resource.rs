//! What a provider author implements for a kind of object: [`Resource`] for managed ones, [`DataSource`] for those that
//! are only read. How the operations are called, and what becomes of their results, is in `run.rs`.

use crate::attr::Attr;
use crate::codec::AttrValue;
use crate::context::Context;
use crate::error::{Error, Problems, Result};
use crate::model::Model;
use gpuform_schema::{Path, Value};

/// A managed resource. The implementing struct is at once its configuration, plan and state.
///
/// Each operation gets a struct and gives one back; what the code does not touch keeps its exact value, so attributes
/// that an operation knows nothing about can be left alone.
pub trait Resource: Model {
    /// What [`Provider::configure`](crate::Provider::configure) makes.
    type Client: Send + Sync + 'static;

    /// The resource type: `aws_vpc`.
    const TYPE: &'static str;

    /// The version of stored state; raise it, and implement [`Resource::upgrade`], when its form changes.
    const VERSION: i64 = 0;

    /// Makes the object. `self` is the plan; fill in what is unknown.
    ///
    /// - Set `self.id` as soon as the object exists. If an error is returned after that, the object is kept in the state
    ///   as tainted, and the next apply replaces it; before that, nothing is kept.
    /// - Attributes that are still unknown at the end are taken from a [`Resource::read`] that the SDK then makes; what
    ///   this leaves open becomes null. So a short `create` makes the object, waits for it, and sets the id.
    /// - Values the plan knew must not change.
    /// - Pass [`Context::client_token`] to the API, so that a repeated create makes one object.
    fn create(&mut self, ctx: &Context<Self::Client>) -> impl Future<Output = Result<()>> + Send;

    /// The object as it is now; `None` (or an error of kind "not found") when it is gone. `self` is the state; after an
    /// import only what [`Resource::import`] set.
    fn read(self, ctx: &Context<Self::Client>) -> impl Future<Output = Result<Option<Self>>> + Send;

    /// Changes the object in place. `self` is the plan, `prior` the state: compare the fields to see what changed
    /// (`if self.size != prior.size`). Unknown attributes are completed as for create. After an error the state stays
    /// as it was, and the next refresh finds out what was done.
    ///
    /// The default is for resources of which every argument is `force_new`.
    fn update(&mut self, prior: &Self, ctx: &Context<Self::Client>) -> impl Future<Output = Result<()>> + Send {
        let _ = (prior, ctx);
        std::future::ready(Err(Error::unsupported(format!("{} cannot be updated in place", Self::TYPE))
            .detail("This is a mistake in the provider: every argument should be force_new.")))
    }

    /// Removes the object and waits until it is gone. An error of kind "not found" counts as success.
    fn delete(self, ctx: &Context<Self::Client>) -> impl Future<Output = Result<()>> + Send;

    /// The beginning of a state for an existing object, which a read then completes. By default the whole text is the
    /// `id`.
    fn import(id: &str, ctx: &Context<Self::Client>) -> impl Future<Output = Result<Self>> + Send {
        let _ = ctx;
        std::future::ready(with_id(id))
    }

    /// Adjusts the plan after the SDK made it by the field attributes; not called for a destroy.
    fn modify_plan(plan: &mut Plan<'_, Self>) -> impl Future<Output = Result<()>> + Send {
        let _ = plan;
        std::future::ready(Ok(()))
    }

    /// Checks the configuration beyond what field attributes can say. Values may be unknown.
    fn validate(&self, problems: &mut Problems) {
        let _ = problems;
    }

    /// Brings state stored by version `from` to the form of [`Resource::VERSION`].
    fn upgrade(from: i64, state: JsonObject) -> Result<JsonObject> {
        let _ = from;
        Ok(state)
    }

    /// The state of this resource for an object that was one of another type: a `moved` block says so. What it sets is
    /// then completed by a read. By default no other type is accepted.
    fn take_over(from: &MoveSource) -> Result<Self> {
        Err(Error::unsupported("Unsupported move").detail(format!(
            "{} cannot take over objects of the type {}.",
            Self::TYPE,
            from.type_name
        )))
    }

    /// Finds the object that an interrupted create made (or did not make) with this token. `self` is the plan that the
    /// create had, with the unknown attributes null. `None`: there is no such object. Used only for recovery after a
    /// crash; see the crate's documentation. Where the API cannot search by token, search by tag or by name.
    fn find_by_token(
        &self,
        token: &str,
        ctx: &Context<Self::Client>,
    ) -> impl Future<Output = Result<Option<Self>>> + Send {
        let _ = (token, ctx);
        std::future::ready(Err(Error::unsupported(format!("{} cannot be found by its client token", Self::TYPE))))
    }
}

/// Attributes as stored in a state file.
pub type JsonObject = serde_json::Map<String, serde_json::Value>;

/// An object of another type that is to become one of this; see [`Resource::take_over`].
#[derive(Clone, Debug)]
pub struct MoveSource {
    /// The provider of the other type: `registry.terraform.io/hashicorp/null`.
    pub provider: String,
    /// The other type: `null_resource`.
    pub type_name: String,
    /// The version of the other type's state.
    pub version: i64,
    /// The object's attributes, as they are stored.
    pub state: JsonObject,
}

/// A data source. The implementing struct is its configuration and its result.
pub trait DataSource: Model {
    type Client: Send + Sync + 'static;

    /// The data source type: `aws_ami`.
    const TYPE: &'static str;

    /// Finds the data: `self` is the configuration, wholly known; fill in the rest.
    fn read(self, ctx: &Context<Self::Client>) -> impl Future<Output = Result<Self>> + Send;

    /// Checks the configuration beyond what field attributes can say. Values may be unknown.
    fn validate(&self, problems: &mut Problems) {
        let _ = problems;
    }
}

/// A plan in the making; see [`Resource::modify_plan`].
pub struct Plan<'a, R: Resource> {
    /// The state; `None` for a create.
    pub prior: Option<R>,
    /// What the user wrote.
    pub config: R,
    /// What the object will be: configuration, defaults and kept values, unknown where only apply can tell. Change it.
    /// An attribute that the user gave a value may only keep that value or the prior one.
    pub planned: R,
    client: Option<&'a R::Client>,
    replace: Vec<Path>,
    prior_value: &'a Value,
}

impl<'a, R: Resource> Plan<'a, R> {
    pub(crate) fn new(
        prior: Option<R>,
        config: R,
        planned: R,
        client: Option<&'a R::Client>,
        prior_value: &'a Value,
    ) -> Self {
        Plan { prior, config, planned, client, replace: Vec::new(), prior_value }
    }

    /// The client; `None` while the provider's configuration is not known yet.
    pub fn client(&self) -> Option<&'a R::Client> {
        self.client
    }

    pub fn is_create(&self) -> bool {
        self.prior.is_none()
    }

    /// Whether an update changes this attribute or block; true for every one of a create.
    pub fn changed(&self, name: &str) -> bool {
        match self.prior_value {
            Value::Object(prior) => prior.get(name) != self.planned.encode().get(name),
            _ => true,
        }
    }

    /// Says that the change of this attribute cannot be made in place.
    pub fn replace(&mut self, attribute: &str) {
        self.replace.push(Path::attrs([attribute]));
    }

    pub(crate) fn into_parts(self) -> (R, Vec<Path>) {
        (self.planned, self.replace)
    }
}

/// A model in which only `id` is set.
fn with_id<M: Model>(id: &str) -> Result<M> {
    let empty = M::object().block().empty_value();
    let Some(Value::Null(_)) = empty.get("id") else {
        return Err(Error::unsupported("Import is not supported").detail("The resource has no attribute \"id\"."));
    };
    let id = Attr::Known(id.to_owned()).encode();
    let filled = empty.map_children(&mut |step, v| match step() {
        gpuform_schema::Step::Attr(name) if &*name == "id" => id.clone(),
        _ => v.clone(),
    });
    Ok(M::decode(&filled)?)
}

//! Write a Terraform-compatible provider in Rust: a resource is a documented struct and four async operations; the SDK
//! derives the schema, plans, checks, and serves plugin protocol 6 to gpuform and Terraform alike. No protocol types
//! are visible here.
//!
//! # A resource in one file
//!
//! ```no_run
//! use gpuform_provider_sdk::prelude::*;
//!
//! # #[derive(Clone)] pub struct Cloud;
//! # pub struct Answer { id: String, kind: String, size: i64, arn: String, tags: BTreeMap<String, String> }
//! # impl Cloud {
//! #     async fn create_volume(&self, _: &str, _: &Volume) -> Result<Answer> { Err(Error::new("x")) }
//! #     async fn volume(&self, _: &str) -> Result<Option<Answer>> { Ok(None) }
//! #     async fn grow_volume(&self, _: &str, _: i64) -> Result<()> { Ok(()) }
//! #     async fn set_tags(&self, _: &str, _: &BTreeMap<String, String>) -> Result<()> { Ok(()) }
//! #     async fn delete_volume(&self, _: &str) -> Result<()> { Ok(()) }
//! #     async fn volume_state(&self, _: &str) -> Result<Option<(String, Answer)>> { Ok(None) }
//! # }
//!
//! /// A network volume.
//! #[derive(Model, Clone, PartialEq, Default)]
//! pub struct Volume {
//!     /// The volume's identifier.
//!     #[attr(computed)]
//!     pub id: Attr<String>,
//!     /// The volume's resource name.
//!     #[attr(computed)]
//!     pub arn: Attr<String>,
//!     /// Where the volume lies.
//!     #[attr(required, force_new)]
//!     pub zone: Attr<String>,
//!     /// Size in GiB.
//!     #[attr(required, validate = range(1..=16384))]
//!     pub size: Attr<i64>,
//!     /// Kind of disk.
//!     #[attr(optional, default = "ssd", name = "type", force_new, validate = one_of(["ssd", "hdd"]))]
//!     pub kind: Attr<String>,
//!     /// Key to encrypt with; the account's default key unless given.
//!     #[attr(optional, computed, force_new)]
//!     pub key_id: Attr<String>,
//!     /// Labels.
//!     #[attr(optional)]
//!     pub tags: Attr<BTreeMap<String, String>>,
//!     /// When snapshots are taken.
//!     #[block(nesting = "set")]
//!     pub snapshot: Vec<Schedule>,
//!     #[timeouts(create = "5m", delete = "10m")]
//!     pub timeouts: Timeouts,
//! }
//!
//! /// A schedule of snapshots.
//! #[derive(Model, Clone, PartialEq, Default)]
//! pub struct Schedule {
//!     /// Hours between two snapshots.
//!     #[attr(required)]
//!     pub every: Attr<i64>,
//!     /// Snapshots to keep.
//!     #[attr(optional, default = 7)]
//!     pub keep: Attr<i64>,
//! }
//!
//! impl Resource for Volume {
//!     type Client = Cloud;
//!     const TYPE: &'static str = "demo_volume";
//!
//!     async fn create(&mut self, ctx: &Context<Cloud>) -> Result<()> {
//!         let made = ctx.client().create_volume(ctx.client_token(), self).await?;
//!         self.id.set(made.id.as_str());
//!         let wait = Wait::until("volume", &["available"]).pending(&["creating"]);
//!         ctx.wait_for(&wait, || ctx.client().volume_state(&made.id)).await?;
//!         Ok(()) // `arn` and `key_id`, still unknown, come from the read that the SDK makes now
//!     }
//!
//!     async fn read(mut self, ctx: &Context<Cloud>) -> Result<Option<Self>> {
//!         let Some(now) = ctx.client().volume(self.id.require("id")?).await? else { return Ok(None) };
//!         self.size.set(now.size);
//!         self.kind.set(now.kind);
//!         self.arn.set(now.arn);
//!         self.tags.refresh(now.tags); // no tags: null stays null, as the user wrote it
//!         Ok(Some(self))
//!     }
//!
//!     async fn update(&mut self, prior: &Self, ctx: &Context<Cloud>) -> Result<()> {
//!         let id = self.id.require("id")?;
//!         if self.size != prior.size {
//!             ctx.client().grow_volume(id, *self.size.require("size")?).await?;
//!         }
//!         if self.tags != prior.tags {
//!             ctx.client().set_tags(id, &self.tags.or_default()).await?;
//!         }
//!         Ok(())
//!     }
//!
//!     async fn delete(self, ctx: &Context<Cloud>) -> Result<()> {
//!         let id = self.id.require("id")?;
//!         ctx.retry(|e| e.has_code(&["VolumeInUse"]), |_| ctx.client().delete_volume(id)).await
//!     }
//! }
//! ```
//!
//! The provider itself:
//!
//! ```no_run
//! # use gpuform_provider_sdk::prelude::*;
//! # pub struct Cloud;
//! /// The demo cloud.
//! #[derive(Model, Clone, PartialEq, Default)]
//! pub struct Config {
//!     /// Where the API answers.
//!     #[attr(optional)]
//!     pub endpoint: Attr<String>,
//! }
//!
//! struct Demo;
//!
//! impl Provider for Demo {
//!     type Config = Config;
//!     type Client = Cloud;
//!     const NAME: &'static str = "demo";
//!     const VERSION: &'static str = env!("CARGO_PKG_VERSION");
//!
//!     async fn configure(&self, config: Config, _setup: &Setup) -> Result<Cloud> {
//!         let _endpoint = config.endpoint.as_deref().unwrap_or("http://localhost");
//!         Ok(Cloud)
//!     }
//!
//!     fn resources(&self) -> Vec<ResourceEntry<Cloud>> {
//!         vec![/* resource::<Volume>(), … */]
//!     }
//! }
//!
//! fn main() -> std::process::ExitCode {
//!     gpuform_provider_sdk::serve(Demo)
//! }
//! ```
//!
//! # Where to look
//!
//! - [`model`]: all field attributes. [`validate`] and [`suppress`]: what goes into them.
//! - [`Attr`]: null, unknown, known. [`Set`]: lists without an order.
//! - [`Resource`]: the operations and what they may rely on. [`DataSource`], [`EphemeralResource`] and [`Provider`]
//!   likewise.
//! - [`Batcher`]: one call of the API for many concurrent reads.
//! - [`Context`]: client, client token, retries, waits, warnings, private data. [`Error`]: how to fail.
//!
//! # How values are planned
//!
//! By the field attributes: a configured value is planned as it is; a default fills what is not configured; a computed
//! attribute is unknown for a create and keeps its value for an update, unless a field named in its `recompute_on`
//! changes. If nothing differs the plan is the prior state, exactly. A changed `force_new` field asks for a replacement,
//! which is then planned as a create. [`Resource::modify_plan`] may change the result.
//!
//! # Client tokens and recovery after a crash
//!
//! Planning a create puts a random UUID into the planned private data, which is a JSON object, under the key
//! `gpuform_client_token` ([`TOKEN_KEY`]):
//!
//! ```json
//! {"gpuform_client_token": "6f0e2a0e-95a4-4c4c-9ed2-7a8d6f9c3b7e"}
//! ```
//!
//! `ApplyResourceChange` takes it from there for [`Context::client_token`]; so applying the same planned create again,
//! with the same planned private data, uses the same token, and an API that knows client tokens makes one object. The
//! token is not kept in the private data of the state. A create without the key gets a new token.
//!
//! An engine that finds an intent without a result asks what became of it with `ReadResource`:
//!
//! - `current_state`: the planned value of the create (unknown attributes may stay unknown or be null; `id` is either);
//! - `private`: the planned private data with one more key, `"gpuform_recover": true` ([`RECOVER_KEY`]).
//!
//! The SDK then calls [`Resource::find_by_token`] in place of `read`. `new_state` is the object, or null when the
//! create made none; both keys are gone from the returned private data. A resource that cannot search answers with an
//! error diagnostic, and the state as given.

pub mod attr;
pub mod batch;
mod check;
pub mod codec;
pub mod context;
pub mod ephemeral;
pub mod error;
pub mod model;
mod plan;
pub mod provider;
pub mod resource;
pub mod retry;
mod run;
mod server;
pub mod suppress;
pub mod timeouts;
pub mod validate;

pub use attr::{Attr, Set};
pub use batch::Batcher;
pub use context::Context;
pub use ephemeral::EphemeralResource;
pub use error::{Error, ErrorKind, Problems, Result};
pub use gpuform_provider_sdk_derive::Model;
pub use gpuform_schema::{Path, Step, Str, Type, Value};
pub use model::Model;
pub use provider::{
    DataSourceEntry, EphemeralEntry, Function, FunctionError, Provider, ResourceEntry, Setup, data_source,
    ephemeral_resource, resource,
};
pub use resource::{DataSource, JsonObject, MoveSource, Plan, Resource};
pub use retry::Wait;
pub use run::{RECOVER_KEY, TOKEN_KEY};
pub use server::serve;
pub use timeouts::Timeouts;

/// All that a resource's file needs.
pub mod prelude {
    pub use crate::suppress::{case_insensitive, json_equal, zero_is_null};
    pub use crate::{
        Attr, Batcher, Context, DataSource, DataSourceEntry, EphemeralEntry, EphemeralResource, Error, Function, Model,
        MoveSource, Plan, Problems, Provider, Resource, ResourceEntry, Result, Set, Setup, Timeouts, Value, Wait,
        data_source, ephemeral_resource, resource,
    };
    pub use std::collections::BTreeMap;
}

// The derive macro names this crate from outside; inside its own tests the name must lead here.
extern crate self as gpuform_provider_sdk;

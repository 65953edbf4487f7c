//! `demo_thing`: the smallest resource, for measurements and for tests that need many; and the data source that finds one.

use crate::store::{Store, Stored};
use gpuform_provider_sdk::prelude::*;
use serde::{Deserialize, Serialize};

const KIND: &str = "thing";

/// A thing with a value.
#[derive(Model, Clone, PartialEq, Default)]
pub struct Thing {
    /// The thing's identifier.
    #[attr(computed)]
    pub id: Attr<String>,
    /// The thing's name, which cannot change.
    #[attr(required, force_new)]
    pub name: Attr<String>,
    /// Anything.
    #[attr(optional)]
    pub value: Attr<String>,
}

#[derive(Serialize, Deserialize)]
struct Record {
    name: String,
    value: Option<String>,
}

impl Thing {
    fn record(&self) -> Record {
        Record { name: self.name.or_default(), value: self.value.cloned() }
    }
}

impl Resource for Thing {
    type Client = Store;
    const TYPE: &'static str = "demo_thing";

    async fn create(&mut self, ctx: &Context<Store>) -> Result<()> {
        ctx.client().record_settings("create", &self.name.or_default(), ctx.module_settings()?)?;
        let made = ctx.client().create(KIND, &self.name.or_default(), ctx.client_token(), self.record()).await?;
        self.id.set(made.id);
        Ok(())
    }

    async fn read(mut self, ctx: &Context<Store>) -> Result<Option<Self>> {
        ctx.client().record_settings("read", &self.name.or_default(), ctx.module_settings()?)?;
        let Some(now) = ctx.client().get::<Record>(KIND, self.id.require("id")?, &self.name.or_default()).await? else {
            return Ok(None);
        };
        self.name.set(now.name);
        self.value = now.value.into();
        Ok(Some(self))
    }

    async fn update(&mut self, _prior: &Self, ctx: &Context<Store>) -> Result<()> {
        ctx.client().record_settings("update", &self.name.or_default(), ctx.module_settings()?)?;
        ctx.client().put(KIND, self.id.require("id")?, &self.name.or_default(), &self.record()).await
    }

    async fn delete(self, ctx: &Context<Store>) -> Result<()> {
        ctx.client().record_settings("delete", &self.name.or_default(), ctx.module_settings()?)?;
        ctx.client().delete(KIND, self.id.require("id")?, &self.name.or_default()).await
    }

    async fn find_by_token(&self, token: &str, ctx: &Context<Store>) -> Result<Option<Self>> {
        let Some(Stored { id, object }) = ctx.client().find::<Record>(KIND, token)? else { return Ok(None) };
        Ok(Some(Thing { id: id.into(), name: object.name.into(), value: object.value.into() }))
    }
}

/// Finds a thing by its name.
#[derive(Model, Clone, PartialEq, Default)]
pub struct FindThing {
    /// The thing's identifier.
    #[attr(computed)]
    pub id: Attr<String>,
    /// The name to look for.
    #[attr(required)]
    pub name: Attr<String>,
    /// The thing's value.
    #[attr(computed)]
    pub value: Attr<String>,
}

impl DataSource for FindThing {
    type Client = Store;
    const TYPE: &'static str = "demo_thing";

    async fn read(mut self, ctx: &Context<Store>) -> Result<Self> {
        ctx.client().record_settings("find", &self.name.or_default(), ctx.module_settings()?)?;
        let all = ctx.client().list::<Record>(KIND).await?;
        let Some(found) = all.into_iter().find(|t| self.name == *t.object.name) else {
            return Err(
                Error::not_found("No such thing").detail(format!("None is named {:?}.", self.name.or_default()))
            );
        };
        self.id.set(found.id);
        self.value = found.object.value.into();
        Ok(self)
    }
}

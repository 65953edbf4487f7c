//! `demo_item`: what `demo_thing` is called with another schema. It takes over things, as resource types do that succeed
//! others.

use crate::store::Store;
use gpuform_provider_sdk::prelude::*;
use serde::{Deserialize, Serialize};

const KIND: &str = "thing";

/// An item, which once was a thing.
#[derive(Model, Clone, PartialEq, Default)]
pub struct Item {
    /// The item's identifier.
    #[attr(computed)]
    pub id: Attr<String>,
    /// Its title: the name of a thing.
    #[attr(required, force_new)]
    pub title: Attr<String>,
    /// Anything.
    #[attr(optional)]
    pub value: Attr<String>,
}

#[derive(Serialize, Deserialize)]
struct Record {
    name: String,
    value: Option<String>,
}

impl Item {
    fn record(&self) -> Record {
        Record { name: self.title.or_default(), value: self.value.cloned() }
    }
}

impl Resource for Item {
    type Client = Store;
    const TYPE: &'static str = "demo_item";

    async fn create(&mut self, ctx: &Context<Store>) -> Result<()> {
        let made = ctx.client().create(KIND, &self.title.or_default(), ctx.client_token(), self.record()).await?;
        self.id.set(made.id);
        Ok(())
    }

    async fn read(mut self, ctx: &Context<Store>) -> Result<Option<Self>> {
        let id = self.id.require("id")?;
        let Some(now) = ctx.client().get::<Record>(KIND, id, &self.title.or_default()).await? else { return Ok(None) };
        self.title.set(now.name);
        self.value = now.value.into();
        Ok(Some(self))
    }

    async fn update(&mut self, _prior: &Self, ctx: &Context<Store>) -> Result<()> {
        ctx.client().put(KIND, self.id.require("id")?, &self.title.or_default(), &self.record()).await
    }

    async fn delete(self, ctx: &Context<Store>) -> Result<()> {
        ctx.client().delete(KIND, self.id.require("id")?, &self.title.or_default()).await
    }

    fn take_over(from: &MoveSource) -> Result<Self> {
        if from.type_name != "demo_thing" {
            return Err(Error::unsupported("Unsupported move")
                .detail(format!("An item can take over things only, not {}.", from.type_name)));
        }
        let text = |name: &str| from.state.get(name).and_then(|v| v.as_str()).map(str::to_owned);
        Ok(Item { id: text("id").into(), title: text("name").into(), value: text("value").into() })
    }
}

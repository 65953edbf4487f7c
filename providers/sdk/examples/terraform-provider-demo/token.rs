//! `demo_token`: an ephemeral resource, which is in the store from its opening to its closing.

use crate::store::Store;
use gpuform_provider_sdk::prelude::*;
use serde::{Deserialize, Serialize};
use std::time::Duration;

const KIND: &str = "token";

/// A token for the time of one run.
#[derive(Model, Clone, PartialEq, Default)]
pub struct Token {
    /// What it is for.
    #[attr(required)]
    pub name: Attr<String>,
    /// Milliseconds after which it has to be renewed.
    #[attr(optional)]
    pub lifetime_ms: Attr<i64>,
    /// The token.
    #[attr(computed)]
    pub value: Attr<String>,
}

/// What renewing and closing need to know; also what the store keeps.
#[derive(Serialize, Deserialize, Clone, Default)]
struct Lease {
    id: String,
    name: String,
    lifetime_ms: Option<u64>,
    renewals: u32,
}

impl Lease {
    fn of(ctx: &Context<Store>) -> Result<Lease> {
        ctx.private("lease").ok_or_else(|| Error::new("The lease of the token is lost"))
    }

    /// Keeps the lease, and asks to be renewed before it ends.
    fn keep(&self, ctx: &Context<Store>) -> Result<()> {
        if let Some(lifetime) = self.lifetime_ms {
            ctx.renew_after(Duration::from_millis(lifetime));
        }
        ctx.set_private("lease", self)
    }
}

impl EphemeralResource for Token {
    type Client = Store;
    const TYPE: &'static str = "demo_token";

    async fn open(mut self, ctx: &Context<Store>) -> Result<Self> {
        let name = self.name.require("name")?.clone();
        let lifetime_ms = self.lifetime_ms.get().and_then(|l| u64::try_from(*l).ok());
        let mut lease = Lease { name, lifetime_ms, ..Lease::default() };
        let token = uuid::Uuid::new_v4().to_string();
        lease.id = ctx.client().create(KIND, &lease.name, &token, lease.clone()).await?.id;
        self.value.set(format!("secret of {}", lease.name));
        lease.keep(ctx)?;
        Ok(self)
    }

    async fn renew(ctx: &Context<Store>) -> Result<()> {
        let mut lease = Lease::of(ctx)?;
        lease.renewals += 1;
        ctx.client().put(KIND, &lease.id, &lease.name, &lease).await?;
        lease.keep(ctx)
    }

    async fn close(ctx: &Context<Store>) -> Result<()> {
        let lease = Lease::of(ctx)?;
        ctx.client().delete(KIND, &lease.id, &lease.name).await
    }
}

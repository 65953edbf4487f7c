//! `demo_server`: what hashicorp/aws has and the strict rules do not allow or hardly foresee: blocks that the provider
//! reports where the user wrote none, and "attributes as blocks".

use crate::store::Store;
use gpuform_provider_sdk::prelude::*;
use serde::{Deserialize, Serialize};

const KIND: &str = "server";

/// A server with a root disk and a firewall.
#[derive(Model, Clone, PartialEq, Default)]
pub struct Server {
    /// The server's identifier.
    #[attr(computed)]
    pub id: Attr<String>,
    /// The server's name.
    #[attr(required)]
    pub name: Attr<String>,
    /// The root disk; every server has one.
    #[block(computed)]
    pub root: Option<Root>,
    /// What may come in: as blocks or as a value.
    #[attr(optional, computed, suppress = zero_is_null)]
    pub ingress: Attr<Set<Ingress>>,
}

/// A root disk.
#[derive(Model, Clone, PartialEq, Default)]
pub struct Root {
    /// Size in GiB.
    #[attr(optional, computed)]
    pub size: Attr<i64>,
    /// The disk's identifier.
    #[attr(computed)]
    pub disk_id: Attr<String>,
    /// Encrypted disks cannot be decrypted.
    #[attr(optional, computed, force_new)]
    pub encrypted: Attr<bool>,
}

/// What may come in.
#[derive(Model, Clone, PartialEq, Default)]
pub struct Ingress {
    /// The port.
    #[attr(optional)]
    pub port: Attr<i64>,
    /// From where.
    #[attr(optional)]
    pub networks: Attr<Vec<String>>,
    /// Why.
    #[attr(optional)]
    pub description: Attr<String>,
}

#[derive(Serialize, Deserialize)]
struct Record {
    name: String,
    root_size: i64,
    root_encrypted: bool,
    ingress: Vec<(i64, Vec<String>, String)>,
}

impl Server {
    fn record(&self) -> Record {
        let rule = |i: &Ingress| (i.port.or_default(), i.networks.or_default(), i.description.or_default());
        let root = self.root.as_ref();
        Record {
            name: self.name.or_default(),
            root_size: root.and_then(|r| r.size.cloned()).unwrap_or(8),
            root_encrypted: root.is_some_and(|r| r.encrypted == true),
            ingress: self.ingress.or_default().iter().map(rule).collect(),
        }
    }
}

impl Resource for Server {
    type Client = Store;
    const TYPE: &'static str = "demo_server";

    async fn create(&mut self, ctx: &Context<Store>) -> Result<()> {
        let made = ctx.client().create(KIND, &self.name.or_default(), ctx.client_token(), self.record()).await?;
        self.id.set(made.id);
        Ok(())
    }

    async fn read(mut self, ctx: &Context<Store>) -> Result<Option<Self>> {
        let id = self.id.require("id")?;
        let Some(now) = ctx.client().get::<Record>(KIND, id, &self.name.or_default()).await? else { return Ok(None) };
        let rule = |(port, networks, description): (i64, Vec<String>, String)| Ingress {
            port: port.into(),
            networks: networks.into(),
            description: description.into(),
        };
        self.root = Some(Root {
            size: now.root_size.into(),
            disk_id: format!("root-of-{id}").into(),
            encrypted: now.root_encrypted.into(),
        });
        self.name.set(now.name);
        self.ingress.set(now.ingress.into_iter().map(rule).collect::<Set<_>>());
        Ok(Some(self))
    }

    async fn update(&mut self, _prior: &Self, ctx: &Context<Store>) -> Result<()> {
        ctx.client().put(KIND, self.id.require("id")?, &self.name.or_default(), &self.record()).await
    }

    async fn delete(self, ctx: &Context<Store>) -> Result<()> {
        ctx.client().delete(KIND, self.id.require("id")?, &self.name.or_default()).await
    }
}

//! `demo_machine`: a resource with every kind of field that the strict rules of the protocol allow.

use crate::store::{Store, Stored};
use gpuform_provider_sdk::prelude::*;
use serde::{Deserialize, Serialize};

const KIND: &str = "machine";

/// A machine with disks and rules.
#[derive(Model, Clone, PartialEq, Default)]
pub struct Machine {
    /// The machine's identifier.
    #[attr(computed)]
    pub id: Attr<String>,
    /// The machine's name.
    #[attr(required, validate = length(1..=40))]
    pub name: Attr<String>,
    /// Where it stands.
    #[attr(required, force_new, validate = one_of(["north", "south"]))]
    pub zone: Attr<String>,
    /// Number of cores.
    #[attr(required, validate = range(1..=128))]
    pub size: Attr<i64>,
    /// What it boots.
    #[attr(optional, default = "linux", force_new)]
    pub image: Attr<String>,
    /// Its address; one is chosen unless given.
    #[attr(optional, computed)]
    pub address: Attr<String>,
    /// Changes with the size.
    #[attr(computed, recompute_on = ["size"])]
    pub serial: Attr<String>,
    /// The first password.
    #[attr(optional, sensitive)]
    pub password: Attr<String>,
    /// A key that is handed over and not kept.
    #[attr(optional, write_only, required_with = ["key_version"])]
    pub key: Attr<String>,
    /// To be raised for a new `key`.
    #[attr(optional)]
    pub key_version: Attr<i64>,
    /// Who may do what, in JSON.
    #[attr(optional, validate = json(), suppress = json_equal)]
    pub policy: Attr<String>,
    /// A share of something.
    #[attr(optional)]
    pub share: Attr<f64>,
    /// Open ports.
    #[attr(optional, conflicts_with = ["closed"])]
    pub ports: Attr<Set<i64>>,
    /// No port at all.
    #[attr(optional)]
    pub closed: Attr<bool>,
    /// The machine's own labels.
    #[attr(optional)]
    pub labels: Attr<BTreeMap<String, String>>,
    /// Its labels with those of the provider.
    #[attr(computed)]
    pub labels_all: Attr<BTreeMap<String, String>>,
    /// Disks in their order.
    #[block]
    pub disk: Vec<Disk>,
    /// Rules without an order.
    #[block(nesting = "set")]
    pub rule: Vec<Rule>,
    /// When it is looked after.
    #[block(nesting = "single")]
    pub upkeep: Option<Upkeep>,
    /// How long things may take.
    #[timeouts(create = "10m", update = "10m", delete = "5m")]
    pub timeouts: Timeouts,
}

/// A disk.
#[derive(Model, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Disk {
    /// Size in GiB.
    #[attr(required)]
    #[serde(with = "known")]
    pub size: Attr<i64>,
    /// Kind of disk.
    #[attr(optional, default = "ssd", name = "type", force_new, validate = one_of(["ssd", "hdd"]))]
    #[serde(with = "known")]
    pub kind: Attr<String>,
    /// The disk's identifier.
    #[attr(computed)]
    #[serde(with = "known")]
    pub id: Attr<String>,
}

/// A rule.
#[derive(Model, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Rule {
    /// The port.
    #[attr(required)]
    #[serde(with = "known")]
    pub port: Attr<i64>,
    /// The protocol.
    #[attr(optional, default = "tcp")]
    #[serde(with = "known")]
    pub protocol: Attr<String>,
    /// The rule's identifier.
    #[attr(computed)]
    #[serde(with = "known")]
    pub id: Attr<String>,
}

/// A time of the week.
#[derive(Model, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Upkeep {
    /// The day.
    #[attr(required)]
    #[serde(with = "known")]
    pub day: Attr<String>,
    /// The hour.
    #[attr(optional, default = 3)]
    #[serde(with = "known")]
    pub hour: Attr<i64>,
}

/// Attributes in the store's files: null or a value.
mod known {
    use gpuform_provider_sdk::Attr;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<T: Serialize, S: Serializer>(attr: &Attr<T>, s: S) -> Result<S::Ok, S::Error> {
        attr.get().serialize(s)
    }

    pub fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(d: D) -> Result<Attr<T>, D::Error> {
        Option::<T>::deserialize(d).map(Attr::from)
    }
}

#[derive(Serialize, Deserialize)]
struct Record {
    name: String,
    zone: String,
    size: i64,
    image: String,
    address: String,
    password: Option<String>,
    policy: Option<serde_json::Value>,
    share: Option<f64>,
    ports: Vec<i64>,
    closed: Option<bool>,
    labels: BTreeMap<String, String>,
    key_length: usize,
    key_version: Option<i64>,
    disks: Vec<Disk>,
    rules: Vec<Rule>,
    upkeep: Option<Upkeep>,
}

impl Machine {
    /// What the store is to hold; gives the new parts their identifiers.
    fn record(&self) -> Result<Record> {
        let (mut disks, mut rules) = (self.disk.clone(), self.rule.clone());
        let new = |prefix: &str| format!("{prefix}-{}", uuid::Uuid::new_v4().simple());
        disks.iter_mut().for_each(|d| d.id.set_if_unknown(new("disk")));
        rules.iter_mut().for_each(|r| r.id.set_if_unknown(new("rule")));
        let policy = self.policy.get().map(|text| serde_json::from_str(text));
        Ok(Record {
            name: self.name.require("name")?.clone(),
            zone: self.zone.require("zone")?.clone(),
            size: *self.size.require("size")?,
            image: self.image.require("image")?.clone(),
            address: self.address.cloned().unwrap_or_else(|| "10.0.0.1".into()),
            password: self.password.cloned(),
            policy: policy.transpose().map_err(|e| Error::new("Invalid policy").detail(e.to_string()).at("policy"))?,
            share: self.share.cloned(),
            ports: self.ports.or_default().into_vec(),
            closed: self.closed.cloned(),
            labels: self.labels_all.or_default(),
            key_length: self.key.as_deref().map_or(0, str::len),
            key_version: self.key_version.cloned(),
            disks,
            rules,
            upkeep: self.upkeep.clone(),
        })
    }

    fn fill(&mut self, now: Record, defaults: &BTreeMap<String, String>) {
        let own = |(k, v): &(&String, &String)| defaults.get(*k) != Some(*v);
        let labels = now.labels.iter().filter(own).map(|(k, v)| (k.clone(), v.clone()));
        self.labels.refresh(labels.collect::<BTreeMap<_, _>>());
        self.labels_all.set(now.labels.clone());
        self.serial.set(format!("{}-{}", now.zone, now.size));
        self.name.set(now.name);
        self.zone.set(now.zone);
        self.size.set(now.size);
        self.image.set(now.image);
        self.address.set(now.address);
        self.password = now.password.into();
        // The store returns policies in its own spelling; `suppress` keeps the user's.
        self.policy = now.policy.map(|p| format!("{p:#}")).into();
        self.share = now.share.into();
        self.ports.refresh(now.ports.into_iter().collect::<Set<_>>());
        self.closed = now.closed.into();
        self.key_version = now.key_version.into();
        self.disk = now.disks;
        self.rule = now.rules;
        self.upkeep = now.upkeep;
    }
}

impl Resource for Machine {
    type Client = Store;
    const TYPE: &'static str = "demo_machine";
    const VERSION: i64 = 1;

    async fn create(&mut self, ctx: &Context<Store>) -> Result<()> {
        let made = ctx.client().create(KIND, &self.name.or_default(), ctx.client_token(), self.record()?).await?;
        self.id.set(made.id);
        Ok(())
    }

    async fn read(mut self, ctx: &Context<Store>) -> Result<Option<Self>> {
        let store = ctx.client();
        let Some(now) = store.get::<Record>(KIND, self.id.require("id")?, &self.name.or_default()).await? else {
            return Ok(None);
        };
        self.fill(now, &store.default_labels);
        Ok(Some(self))
    }

    async fn update(&mut self, prior: &Self, ctx: &Context<Store>) -> Result<()> {
        if self.size.get() < prior.size.get() {
            ctx.warn("The machine shrinks", "It is restarted with fewer cores.");
        }
        ctx.client().put(KIND, self.id.require("id")?, &self.name.or_default(), &self.record()?).await
    }

    async fn delete(self, ctx: &Context<Store>) -> Result<()> {
        ctx.client().delete(KIND, self.id.require("id")?, &self.name.or_default()).await
    }

    async fn modify_plan(plan: &mut Plan<'_, Self>) -> Result<()> {
        plan.planned.labels_all = match (plan.client(), &plan.planned.labels) {
            (None, _) | (_, Attr::Unknown) => Attr::Unknown,
            (Some(store), labels) => {
                Attr::Known(store.default_labels.clone().into_iter().chain(labels.or_default()).collect())
            }
        };
        Ok(())
    }

    fn validate(&self, problems: &mut Problems) {
        if self.zone == "south" && self.size.get().is_some_and(|size| *size > 64) {
            problems.error("size", "Too large", "Machines in the south have at most 64 cores.");
        }
    }

    /// Version 0 called the size "cores".
    fn upgrade(_from: i64, mut state: gpuform_provider_sdk::JsonObject) -> Result<gpuform_provider_sdk::JsonObject> {
        if let Some(cores) = state.remove("cores") {
            state.insert("size".into(), cores);
        }
        Ok(state)
    }

    async fn find_by_token(&self, token: &str, ctx: &Context<Store>) -> Result<Option<Self>> {
        let Some(Stored { id, object }) = ctx.client().find::<Record>(KIND, token)? else { return Ok(None) };
        let mut found = self.clone();
        found.id.set(id);
        found.fill(object, &ctx.client().default_labels);
        Ok(Some(found))
    }
}

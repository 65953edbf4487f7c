//! Finding objects of interrupted creates: providers that know their client tokens are asked whether the object came
//! to be (the provider SDK documents how: `ReadResource` with `gpuform_recover` in the private data).

use crate::addr::{AbsProviderConfig, ResourceInstance};
use crate::config::model::Config;
use crate::diag::Diagnostics;
use crate::engine::program::Program;
use crate::engine::stored::{self, Keep, TypeInfo};
use crate::engine::walk::{Phase, ResourceStep, Walk};
use crate::engine::{Session, program::ModuleId, schedule::Outcome};
use crate::lang::syntax::Slot;
use crate::plugin::ReadRequest;
use crate::state::{ObjectState, ObjectStatus};
use async_trait::async_trait;
use gpuform_schema::json::{self, ExtraAttributes};
use gpuform_schema::{Str, Type, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// An interrupted create.
pub struct Search {
    pub addr: ResourceInstance,
    pub provider: AbsProviderConfig,
    /// The planned attributes that were known, as a JSON object.
    pub planned: String,
    /// The planned private data, with the client token.
    pub private: Vec<u8>,
}

/// What came of a search.
pub enum Found {
    Object(Arc<ObjectState>),
    Nothing,
    /// The provider cannot tell; why.
    Unknown(String),
}

/// Evaluates everything that provider configurations need, but touches no resource.
struct Nothing;

#[async_trait(?Send)]
impl ResourceStep for Nothing {
    async fn resource(&self, _: &Walk, _: ModuleId, _: Slot) -> Outcome {
        Outcome::Done
    }
}

/// Asks the providers about each interrupted create.
pub async fn search(
    session: &Session,
    config: &Config,
    variables: &BTreeMap<Str, Value>,
    creates: &[Search],
) -> Vec<(ResourceInstance, Found)> {
    if creates.is_empty() {
        return Vec::new();
    }
    let mut diags = Diagnostics::new();
    let needed = creates.iter().map(|c| c.provider.clone());
    let all_unknown =
        |why: &str| creates.iter().map(|c| (c.addr.clone(), Found::Unknown(why.to_owned()))).collect::<Vec<_>>();
    let program = match Program::build(config, &session.pool, needed, &mut diags).await {
        Some(program) if !diags.has_errors() => program,
        _ => return all_unknown("the configuration has errors."),
    };
    let walk = session.walk(Phase::PlanDestroy, Arc::new(program), None, variables.clone(), None);
    walk.run(&Nothing).await;
    let mut out = Vec::with_capacity(creates.len());
    for c in creates {
        out.push((c.addr.clone(), one(&walk, c).await));
    }
    out
}

async fn one(walk: &Walk, c: &Search) -> Found {
    let provider = walk.program().providers.iter().position(|p| p.addr.same_block(&c.provider));
    let Some(configured) = provider.and_then(|p| walk.provider(p)).and_then(|i| i.get(&c.provider.key)) else {
        return Found::Unknown("its configuration is not known.".into());
    };
    let Some(private) = marked(&c.private) else {
        return Found::Unknown("it gave no client token for this object.".into());
    };
    let ty = &c.addr.resource.ty;
    let Some(schema) = configured.provider.resource_schema(ty) else {
        return Found::Unknown(format!("it does not know the type {ty}."));
    };
    let info = TypeInfo::new(ty.clone(), schema);
    let current = match planned_value(&info, &c.planned) {
        Some(v) => v,
        None => return Found::Unknown("the planned attributes do not fit its schema.".into()),
    };
    let provider_meta = walk.program().settings(&c.addr, &configured.addr.provider);
    let request = ReadRequest { type_name: ty, current, private, provider_meta };
    let response = configured.provider.read_resource(request).await;
    if let Some(d) = response.diagnostics.iter().find(|d| d.is_error()) {
        return Found::Unknown(format!("{}. {}", d.summary, d.detail));
    }
    if response.state.is_null() {
        return Found::Nothing;
    }
    let program = walk.program();
    let block = program.find_resource(&c.addr.config());
    let dependencies = block.map(|(m, s)| program.resource_meta(m, s).dependencies.clone()).unwrap_or_default();
    // What the provider reads is compared with the configuration by the next plan, which completes what is missing. Only
    // of provisioners nobody can tell whether they have run.
    let incomplete = block.is_some_and(|(m, s)| program.resource_block(m, s).has_create_provisioners());
    let keep = Keep {
        private: response.private,
        status: if incomplete { ObjectStatus::Tainted } else { ObjectStatus::Ready },
        dependencies,
        create_before_destroy: false,
    };
    match stored::encode(&info, &info.mark(&response.state, &[]), keep) {
        Ok(o) => Found::Object(Arc::new(o)),
        Err(d) => Found::Unknown(d.detail),
    }
}

/// The private data with the request to search by token in it; `None` where there is no token.
fn marked(private: &[u8]) -> Option<Vec<u8>> {
    super::client_token(private)?;
    let mut json: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(private).ok()?;
    json.insert("gpuform_recover".into(), serde_json::Value::Bool(true));
    serde_json::to_vec(&json).ok()
}

/// The planned object with what was unknown null.
fn planned_value(info: &TypeInfo, planned: &str) -> Option<Value> {
    let Type::Object(attributes) = &info.ty else { return None };
    let mut object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(planned).ok()?;
    for (name, ty) in attributes.iter() {
        let empty = if ty.is_collection() { serde_json::Value::Array(Vec::new()) } else { serde_json::Value::Null };
        let is_block = info.schema.block.blocks.contains_key(name);
        let absent = if is_block { empty } else { serde_json::Value::Null };
        object.entry(name.to_string()).or_insert(absent);
    }
    json::decode(serde_json::to_vec(&object).ok()?, &info.ty, ExtraAttributes::Ignore).ok()
}

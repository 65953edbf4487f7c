//! placeholder replaced before landing
use crate::addr;
use crate::config::model::Config;
use crate::diag::{Diagnostics, Sources};
use crate::engine::plan::Plan;
use crate::state::{OutputValue, State};
use gpuform_schema::schema::ProviderSchema;
use gpuform_schema::{Str, Value};
use std::collections::BTreeMap;
use std::sync::Arc;
pub fn plan(_: &Plan, _: &Config) -> String { String::new() }
pub fn state(_: Option<&State>) -> String { String::new() }
pub fn outputs(_: &BTreeMap<Str, OutputValue>) -> String { String::new() }
pub fn value(_: &Value) -> String { String::new() }
pub fn validation(_: &Diagnostics, _: &Sources) -> String { String::new() }
pub fn functions() -> String { String::new() }
pub fn provider_schemas(_: &BTreeMap<addr::Provider, Arc<ProviderSchema>>) -> String { String::new() }

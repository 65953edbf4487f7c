//! The time that a provider needs by itself: makes the calls that a plan or an apply of `demo_thing` instances makes, as
//! many at once as these, and nothing else. `cargo xtask bench` compares runs of gpuform with it.
//!
//! Arguments: the provider's executable, `plan`, `apply` or `refresh`, and the number of instances. The provider finds
//! its store in the environment.

use futures::stream::{self, StreamExt};
use gpuform::addr::Provider as Address;
use gpuform::plugin::{ApplyRequest, Host, Options, PlanRequest, Provider, ReadRequest};
use gpuform_schema::{Type, Value};
use std::error::Error;
use std::path::Path;

/// Calls under way at once, as `-parallelism` has it.
const PARALLEL: usize = 10;
const TYPE: &str = "demo_thing";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [executable, what, count] = &arguments[..] else { return Err("PROVIDER plan|apply|refresh COUNT".into()) };
    let count: usize = count.parse()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let host = Host::new(Options::default());
        let address = Address::parse("gpuform/demo")?;
        let failed = |d: gpuform::diag::Diagnostics| format!("{d:?}");
        let provider = host.open(&address, Path::new(executable)).await.map_err(failed)?;
        let config = provider.config_schema().block.empty_value();
        provider.configure(config).await;
        let calls = stream::iter(0..count).map(|i| calls(&*provider, what, i)).buffer_unordered(PARALLEL);
        let failures = calls.filter(|ok| std::future::ready(!ok)).count().await;
        provider.close().await;
        if failures == 0 { Ok(()) } else { Err(format!("{failures} instances failed").into()) }
    })
}

fn thing(id: Value, i: usize) -> Value {
    Value::object([("id", id), ("name", format!("thing-{i}").into()), ("value", "v".into())])
}

/// The calls for one instance; whether they went well.
async fn calls(provider: &dyn Provider, what: &str, i: usize) -> bool {
    let null = Value::Null(thing(Value::Null(Type::String), 0).ty());
    let config = thing(Value::Null(Type::String), i);
    if what == "refresh" {
        let current = thing(Value::from("thing-unknown"), i);
        let request = ReadRequest { type_name: TYPE, current, private: Vec::new(), provider_meta: None };
        if provider.read_resource(request).await.diagnostics.has_errors() {
            return false;
        }
    }
    if provider.validate_resource_config(TYPE, config.clone()).await.has_errors() {
        return false;
    }
    let request = PlanRequest {
        type_name: TYPE,
        prior: null.clone(),
        proposed: config.clone(),
        config: config.clone(),
        prior_private: Vec::new(),
        provider_meta: None,
    };
    let plan = provider.plan_resource_change(request).await;
    if plan.diagnostics.has_errors() || what != "apply" {
        return !plan.diagnostics.has_errors();
    }
    let request = ApplyRequest {
        type_name: TYPE,
        prior: null,
        planned: plan.planned,
        config,
        planned_private: plan.planned_private,
        provider_meta: None,
    };
    !provider.apply_resource_change(request).await.diagnostics.has_errors()
}

//! A provider over a folder of files: the example to read, and the plugin for tests of gpuform's host, crash recovery
//! and speed. `store.rs` is its "cloud" with switches for faults; every resource has a file of its own.
//!
//! The switches are environment variables, so that a test need not touch its configuration:
//!
//! | variable | meaning |
//! | --- | --- |
//! | `DEMO_STORE` | the folder, where the provider's `store` is not set |
//! | `DEMO_DELAY_MS` | how long each operation takes, where the provider's `delay_ms` is not set |
//! | `DEMO_FAIL` | operations that fail, comma-separated: `create:web`, `read:*`, `*:db`; with `:after`, after their effect |
//! | `DEMO_EXIT` | the process ends in this operation, before its effect or after: `create:web:before`, `create:web:after` |
//! | `DEMO_LOG` | a file to which each effect is appended as a line of JSON: operation, type, id, name, token, login; also what modules have set, with each operation of a `demo_thing` |
//! | `DEMO_IGNORE_TOKENS` | if set, a repeated create makes a second object, as clouds without client tokens do |

mod item;
mod machine;
mod server;
mod store;
mod thing;
mod token;

use gpuform_provider_sdk::prelude::*;
use gpuform_provider_sdk::{FunctionError, Type, serve};
use std::process::ExitCode;
use store::Store;

/// Keeps objects as files in a folder.
#[derive(Model, Clone, PartialEq, Default)]
pub struct Config {
    /// The folder.
    #[attr(optional)]
    pub store: Attr<String>,
    /// Milliseconds that each operation takes.
    #[attr(optional, validate = range(0..=600_000))]
    pub delay_ms: Attr<i64>,
    /// Labels for everything that has labels.
    #[attr(optional)]
    pub default_labels: Attr<BTreeMap<String, String>>,
    /// Who works with the store, for the log.
    #[attr(optional)]
    pub login: Attr<String>,
}

/// What a module tells about itself.
#[derive(Model, Clone, PartialEq, Default)]
pub struct ModuleSettings {
    /// The module's name, for the log.
    #[attr(optional)]
    pub module: Attr<String>,
    /// Anything else.
    #[attr(optional)]
    pub labels: Attr<BTreeMap<String, String>>,
}

struct Demo;

impl Provider for Demo {
    type Config = Config;
    type Client = Store;
    const NAME: &'static str = "demo";
    const VERSION: &'static str = env!("CARGO_PKG_VERSION");

    async fn configure(&self, config: Config, _setup: &Setup) -> Result<Store> {
        Store::open(&config)
    }

    fn module_settings(&self) -> Option<&'static gpuform_provider_sdk::model::Object> {
        Some(ModuleSettings::object())
    }

    fn resources(&self) -> Vec<ResourceEntry<Store>> {
        vec![
            resource::<item::Item>(),
            resource::<machine::Machine>(),
            resource::<server::Server>(),
            resource::<thing::Thing>(),
        ]
    }

    fn data_sources(&self) -> Vec<DataSourceEntry<Store>> {
        vec![data_source::<thing::FindThing>()]
    }

    fn ephemeral_resources(&self) -> Vec<EphemeralEntry<Store>> {
        vec![ephemeral_resource::<token::Token>()]
    }

    fn functions(&self) -> Vec<Function> {
        let slug = Function::new("slug", "A text as a name: lower case, with dashes.", Type::String, |arguments| {
            let text = arguments.first().and_then(Value::as_str).unwrap_or_default();
            let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
            match words.is_empty() {
                true => Err(FunctionError::argument(0, "There is no word in the text.")),
                false => Ok(Value::string(words.join("-"))),
            }
        });
        vec![slug.parameter("text", Type::String, "The text.")]
    }
}

fn main() -> ExitCode {
    serve(Demo)
}

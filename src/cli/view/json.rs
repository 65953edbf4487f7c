//! The JSON documents for other programs, in Terraform's documented formats: plans, states, outputs, validation results,
//! schemas and functions. Everything is written straight into one string, in the order of Terraform's own documents; the
//! stream of messages that `-json` prints while an operation goes on is `view::stream`.

mod configuration;
mod diagnostic;
mod plan;
mod schema;
mod state;
pub(super) mod value;
pub(super) mod write;

pub(super) use diagnostic::write_diagnostic as diagnostic_into;
pub use diagnostic::{diagnostic, validation};
pub(super) use plan::drift;
pub use plan::{plan, test_plan};
pub use schema::{functions, provider_schemas};
pub use state::{outputs, state, test_state};

use gpuform_schema::Value;

/// The version of the format of plans.
const PLAN_FORMAT: &str = "1.2";
/// The version of the formats of states, schemas, functions and validation results.
const FORMAT: &str = "1.0";

/// A value as `output -json NAME` prints it.
pub fn value(v: &Value) -> String {
    let mut out = String::new();
    value::known(v, &mut out);
    out
}

//! What a test puts in the place of parts of a configuration: providers that only pretend, objects and modules whose
//! results are given. The engine asks at the places where the real thing would be used; `testing` answers.

use crate::addr::{AbsProviderConfig, ModuleInstance, ResourceInstance};
use crate::diag::Diagnostics;
use crate::engine::walk::Configured;
use crate::plugin::Provider;
use gpuform_schema::schema::Schema;
use gpuform_schema::{Str, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Answers what stands in for what. `None` leaves the real thing in place.
pub trait Substitutes: Send + Sync {
    /// The provider that is used for a configuration; `real` is running and not configured. What is given needs no
    /// configuration.
    fn provider(&self, addr: &AbsProviderConfig, real: &Arc<dyn Provider>) -> Option<Arc<dyn Provider>>;

    /// The value of a provider configuration, whatever the configuration says itself. An error is why there is none.
    fn provider_config(&self, addr: &AbsProviderConfig, schema: &Schema) -> Option<Result<Value, Diagnostics>>;

    /// The provider that handles one object.
    fn object(&self, addr: &ResourceInstance, configured: &Configured) -> Option<Arc<dyn Provider>>;

    /// The outputs of a module instance of which nothing else is evaluated; those that are missing are null.
    fn module(&self, addr: &ModuleInstance) -> Option<BTreeMap<Str, Value>>;
}

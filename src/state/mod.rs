//! State: what gpuform knows about the objects it manages. The model, Terraform's file format version 4, the journal
//! written while applying, locking and backends live here; deciding what to do with the objects is the engine's work.

pub mod backend;
pub mod file;
mod instances;
pub mod journal;
pub mod model;
pub mod ops;
mod record_lock;
pub mod store;

pub use file::{Fingerprint, Stored};
pub use instances::Instances;
pub use model::{
    Attributes, CheckKind, CheckObject, CheckResult, CheckStatus, DeposedKey, InstanceState, ObjectState, ObjectStatus,
    OutputValue, ResourceState, State,
};
pub use store::{LockRequest, Store};

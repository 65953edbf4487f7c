//! What the engine reports while it works. The command line renders these as progress for people or as the JSON
//! stream; tests collect them. Events carry no sensitive values.

use crate::addr::ResourceInstance;
use crate::diag::Diagnostic;
use crate::engine::plan::{Action, ResourceChange};
use crate::state::DeposedKey;
use gpuform_schema::Str;
use std::time::Duration;

/// Identifies the object that an event is about by an attribute that people know it by.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IdentifiedBy {
    /// `id` or `name`.
    pub key: &'static str,
    pub value: String,
}

/// One thing that happened.
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// Reading the current state of an object began; `id` where it has one.
    RefreshStart {
        addr: &'a ResourceInstance,
        deposed: Option<DeposedKey>,
        id: Option<IdentifiedBy>,
    },
    RefreshDone {
        addr: &'a ResourceInstance,
        deposed: Option<DeposedKey>,
        id: Option<IdentifiedBy>,
    },
    /// A data source is read during plan, or any operation begins during apply.
    OperationStart {
        addr: &'a ResourceInstance,
        deposed: Option<DeposedKey>,
        action: Action,
        id: Option<IdentifiedBy>,
    },
    OperationDone {
        addr: &'a ResourceInstance,
        deposed: Option<DeposedKey>,
        action: Action,
        id: Option<IdentifiedBy>,
        elapsed: Duration,
    },
    OperationErrored {
        addr: &'a ResourceInstance,
        deposed: Option<DeposedKey>,
        action: Action,
        elapsed: Duration,
    },
    /// The change of one object is decided. Sent in no particular order.
    Planned(&'a ResourceChange),
    ProvisionerStart {
        addr: &'a ResourceInstance,
        provisioner: &'a str,
    },
    ProvisionerOutput {
        addr: &'a ResourceInstance,
        provisioner: &'a str,
        line: &'a str,
    },
    ProvisionerDone {
        addr: &'a ResourceInstance,
        provisioner: &'a str,
    },
    ProvisionerErrored {
        addr: &'a ResourceInstance,
        provisioner: &'a str,
    },
    /// How many operations an apply will carry out, before the first of them.
    ApplyBegins {
        operations: usize,
    },
    /// Something worth saying at once, not only at the end (e.g. no capacity, alternatives follow).
    Note(&'a Diagnostic),
    /// Importing an object is about to begin.
    ImportStart {
        addr: &'a ResourceInstance,
        id: &'a str,
    },
    ImportDone {
        addr: &'a ResourceInstance,
        type_name: &'a Str,
    },
}

/// Receives events, from any thread.
pub trait Events: Send + Sync {
    fn event(&self, event: Event<'_>);
}

/// Throws events away.
pub struct NoEvents;

impl Events for NoEvents {
    fn event(&self, _: Event<'_>) {}
}

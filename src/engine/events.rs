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

/// What is done with an ephemeral resource.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EphemeralAction {
    Open,
    Renew,
    Close,
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
    /// Something begins with an ephemeral resource, or ends: well or with errors.
    EphemeralStart {
        addr: &'a ResourceInstance,
        action: EphemeralAction,
    },
    EphemeralDone {
        addr: &'a ResourceInstance,
        action: EphemeralAction,
        elapsed: Duration,
    },
    EphemeralErrored {
        addr: &'a ResourceInstance,
        action: EphemeralAction,
        elapsed: Duration,
    },
    /// An ephemeral resource cannot be opened while planning, as its configuration is not known yet.
    EphemeralDeferred {
        addr: &'a ResourceInstance,
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

//! Tells what an apply does, in the order in which it happens, from a task of its own. What is reported as done is durable
//! first; nothing else waits for that. The executor puts events in here and says when they depend on the journal.

use crate::addr::ResourceInstance;
use crate::diag::Failure;
use crate::engine::events::{EphemeralAction, Event, Events, IdentifiedBy};
use crate::engine::plan::Action;
use crate::state::DeposedKey;
use crate::state::journal::Durable;
use gpuform_schema::Str;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_util::sync::CancellationToken;

/// Takes events while an apply runs.
pub struct Teller(UnboundedSender<Item>);

/// The task that tells. It ends when its [`Teller`] is gone.
pub struct Telling(tokio::task::JoinHandle<Option<Failure>>);

enum Item {
    /// Everything that follows is told when this is durable.
    After(Durable),
    Event(Told),
}

/// An event with all that belongs to it.
enum Told {
    Operation { addr: ResourceInstance, deposed: Option<DeposedKey>, action: Action, moment: Moment },
    Provisioner { addr: ResourceInstance, provisioner: Str, moment: ProvisionerMoment },
    Ephemeral { addr: ResourceInstance, action: EphemeralAction, moment: EphemeralMoment },
}

enum Moment {
    Start(Option<IdentifiedBy>),
    Done(Option<IdentifiedBy>, Duration),
    Errored(Duration),
}

enum EphemeralMoment {
    Start,
    Done(Duration),
    Errored(Duration),
}

enum ProvisionerMoment {
    Start,
    Output(String),
    Done,
    Errored,
}

impl Teller {
    /// Starts a task that passes events on. When the journal fails, it sets `stop`: what cannot be recorded must not be
    /// done.
    pub fn start(events: Arc<dyn Events>, stop: CancellationToken) -> (Teller, Telling) {
        let (sender, receiver) = unbounded_channel();
        (Teller(sender), Telling(tokio::spawn(tell(receiver, events, stop))))
    }

    /// What comes after this is told only when the record is durable.
    pub fn after(&self, durable: Durable) {
        self.put(Item::After(durable));
    }

    fn put(&self, item: Item) {
        // The task ends only after its last sender.
        let _ = self.0.send(item);
    }
}

impl Telling {
    /// Waits until everything was told; gives why the journal could not be written, if it could not.
    pub async fn end(self) -> Option<Failure> {
        self.0.await.ok().flatten()
    }
}

impl Events for Teller {
    fn event(&self, event: Event<'_>) {
        if let Some(told) = Told::new(event) {
            self.put(Item::Event(told));
        }
    }
}

async fn tell(mut items: UnboundedReceiver<Item>, events: Arc<dyn Events>, stop: CancellationToken) -> Option<Failure> {
    let mut failure = None;
    while let Some(item) = items.recv().await {
        match item {
            Item::After(durable) => {
                if let Err(e) = durable.await {
                    stop.cancel();
                    failure.get_or_insert(e);
                }
            }
            Item::Event(told) => told.pass_on(&*events, failure.is_some()),
        }
    }
    failure
}

impl Told {
    /// `None` for what happens only while planning.
    fn new(event: Event<'_>) -> Option<Told> {
        let operation = |addr: &ResourceInstance, deposed, action, moment| {
            Some(Told::Operation { addr: addr.clone(), deposed, action, moment })
        };
        let provisioner = |addr: &ResourceInstance, provisioner: &str, moment| {
            Some(Told::Provisioner { addr: addr.clone(), provisioner: provisioner.into(), moment })
        };
        let ephemeral =
            |addr: &ResourceInstance, action, moment| Some(Told::Ephemeral { addr: addr.clone(), action, moment });
        match event {
            Event::EphemeralStart { addr, action } => ephemeral(addr, action, EphemeralMoment::Start),
            Event::EphemeralDone { addr, action, elapsed } => ephemeral(addr, action, EphemeralMoment::Done(elapsed)),
            Event::EphemeralErrored { addr, action, elapsed } => {
                ephemeral(addr, action, EphemeralMoment::Errored(elapsed))
            }
            Event::OperationStart { addr, deposed, action, id } => operation(addr, deposed, action, Moment::Start(id)),
            Event::OperationDone { addr, deposed, action, id, elapsed } => {
                operation(addr, deposed, action, Moment::Done(id, elapsed))
            }
            Event::OperationErrored { addr, deposed, action, elapsed } => {
                operation(addr, deposed, action, Moment::Errored(elapsed))
            }
            Event::ProvisionerStart { addr, provisioner: p } => provisioner(addr, p, ProvisionerMoment::Start),
            Event::ProvisionerOutput { addr, provisioner: p, line } => {
                provisioner(addr, p, ProvisionerMoment::Output(line.to_owned()))
            }
            Event::ProvisionerDone { addr, provisioner: p } => provisioner(addr, p, ProvisionerMoment::Done),
            Event::ProvisionerErrored { addr, provisioner: p } => provisioner(addr, p, ProvisionerMoment::Errored),
            Event::RefreshStart { .. }
            | Event::RefreshDone { .. }
            | Event::EphemeralDeferred { .. }
            | Event::Planned(_)
            | Event::ApplyBegins { .. }
            | Event::Note(_)
            | Event::ImportStart { .. }
            | Event::ImportDone { .. } => None,
        }
    }

    /// Passes the event on. What was not recorded does not count as done.
    fn pass_on(self, events: &dyn Events, unrecorded: bool) {
        match self {
            Told::Operation { addr, deposed, action, moment } => {
                let addr = &addr;
                events.event(match moment {
                    Moment::Start(id) => Event::OperationStart { addr, deposed, action, id },
                    Moment::Done(id, elapsed) if !unrecorded => {
                        Event::OperationDone { addr, deposed, action, id, elapsed }
                    }
                    Moment::Done(_, elapsed) | Moment::Errored(elapsed) => {
                        Event::OperationErrored { addr, deposed, action, elapsed }
                    }
                });
            }
            Told::Ephemeral { addr, action, moment } => {
                let addr = &addr;
                events.event(match moment {
                    EphemeralMoment::Start => Event::EphemeralStart { addr, action },
                    EphemeralMoment::Done(elapsed) => Event::EphemeralDone { addr, action, elapsed },
                    EphemeralMoment::Errored(elapsed) => Event::EphemeralErrored { addr, action, elapsed },
                });
            }
            Told::Provisioner { addr, provisioner, moment } => {
                let (addr, provisioner) = (&addr, &*provisioner);
                events.event(match &moment {
                    ProvisionerMoment::Start => Event::ProvisionerStart { addr, provisioner },
                    ProvisionerMoment::Output(line) => Event::ProvisionerOutput { addr, provisioner, line },
                    ProvisionerMoment::Done => Event::ProvisionerDone { addr, provisioner },
                    ProvisionerMoment::Errored => Event::ProvisionerErrored { addr, provisioner },
                });
            }
        }
    }
}

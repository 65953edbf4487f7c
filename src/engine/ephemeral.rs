//! Ephemeral resources: opened during a walk, renewed while it lasts, never stored, closed when it is over.

use crate::addr::{Mode, ResourceInstance};
use crate::config::model::ResourceBlock;
use crate::diag::Diagnostics;
use crate::engine::events::{EphemeralAction, Event, Events};
use crate::engine::instance::{about, evaluate_config, explain};
use crate::engine::objects;
use crate::engine::program::{ModuleId, Node, Program, ResourceProgram};
use crate::engine::runtime::{ModuleRun, Repeat};
use crate::engine::stored::TypeInfo;
use crate::engine::walk::{Configured, Walk};
use crate::hash::HashSet;
use crate::lang::syntax::Slot;
use crate::plugin::{EphemeralOpened, Private, Provider};
use gpuform_schema::{Marks, Str, Value};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Renewals of one resource are at least so far apart.
const RENEWAL_PAUSE: Duration = Duration::from_millis(100);

/// An open ephemeral resource, which a task keeps renewed.
pub struct Open {
    object: Object,
    close: CancellationToken,
    /// Ends after `close`, with what closing needs.
    renewal: JoinHandle<(Private, Diagnostics)>,
}

#[derive(Clone)]
struct Object {
    addr: ResourceInstance,
    ty: Str,
    provider: Arc<dyn Provider>,
    events: Arc<dyn Events>,
}

/// Opens one instance and gives its value, all of it ephemeral. Where the configuration is not known yet, or nobody will
/// need it, the value is unknown and nothing is opened.
#[allow(clippy::too_many_arguments)]
pub async fn open(
    walk: &Walk,
    slot: Slot,
    program: &ResourceProgram,
    info: &TypeInfo,
    configured: &Configured,
    addr: &ResourceInstance,
    block: &ResourceBlock,
    run: &ModuleRun,
    repeat: &Repeat,
) -> Option<Value> {
    if walk.phase.is_destroy() && !serves_a_provider(walk.program(), run.id, slot) {
        return Some(Value::unknown(info.ty.clone()).with_marks(Marks::EPHEMERAL));
    }
    let scope = walk.runtime.scope(run, repeat);
    let (config, sensitive) = evaluate_config(walk, program, block, addr, &scope)?;
    let provider = &*configured.provider;
    let diags = provider.validate_ephemeral_config(&info.name, config.clone()).await;
    if walk.report_all(explain(diags, program, block, addr)) {
        return None;
    }
    if !config.is_wholly_known() {
        walk.events.event(Event::EphemeralDeferred { addr });
        let value = objects::planned_data(&info.schema.block, &config);
        return Some(info.mark(&value, &sensitive).with_marks(Marks::EPHEMERAL));
    }
    let object = Object {
        addr: addr.clone(),
        ty: info.name.clone(),
        provider: configured.provider.clone(),
        events: walk.events.clone(),
    };
    let call = async {
        let _turn = walk.turn(&configured.addr.provider).await;
        provider.open_ephemeral(&info.name, config).await
    };
    let (opened, diags) = object.told(EphemeralAction::Open, call, |(o, d)| o.is_none() || d.has_errors()).await;
    if walk.report_all(explain(diags, program, block, addr)) {
        return None;
    }
    let EphemeralOpened { result, private, renew_at } = opened?;
    let close = CancellationToken::new();
    let renewal = tokio::spawn(object.clone().renew(private, renew_at, close.clone()));
    walk.opened().push(Open { object, close, renewal });
    Some(info.mark(&result, &sensitive).with_marks(Marks::EPHEMERAL))
}

impl Object {
    /// Makes a call and says when it begins and how it ends.
    async fn told<T>(&self, action: EphemeralAction, call: impl Future<Output = T>, failed: impl Fn(&T) -> bool) -> T {
        let (addr, started) = (&self.addr, Instant::now());
        self.events.event(Event::EphemeralStart { addr, action });
        let answer = call.await;
        let elapsed = started.elapsed();
        self.events.event(match failed(&answer) {
            true => Event::EphemeralErrored { addr, action, elapsed },
            false => Event::EphemeralDone { addr, action, elapsed },
        });
        answer
    }

    /// Renews whenever the provider has asked for it, until it is time to close or a renewal fails.
    async fn renew(
        self,
        mut private: Private,
        mut due: Option<SystemTime>,
        close: CancellationToken,
    ) -> (Private, Diagnostics) {
        let mut said = Diagnostics::new();
        while let Some(at) = due {
            let pause = at.duration_since(SystemTime::now()).unwrap_or_default().max(RENEWAL_PAUSE);
            tokio::select! {
                () = close.cancelled() => break,
                () = tokio::time::sleep(pause) => {}
            }
            let call = self.provider.renew_ephemeral(&self.ty, private.clone());
            let ((renewed, next), diags) = self.told(EphemeralAction::Renew, call, |(_, d)| d.has_errors()).await;
            let failed = diags.has_errors();
            said.extend(diags);
            if failed {
                break;
            }
            (private, due) = (renewed, next);
        }
        (private, said)
    }
}

/// Closes everything that the walk has opened, the latest first.
pub async fn close_all(walk: &Walk) {
    let opened = std::mem::take(&mut *walk.opened());
    for Open { object, close, renewal } in opened.into_iter().rev() {
        close.cancel();
        let Ok((private, said)) = renewal.await else { continue };
        walk.report_all(about(said, &object.addr));
        let call = object.provider.close_ephemeral(&object.ty, private);
        let diags = object.told(EphemeralAction::Close, call, Diagnostics::has_errors).await;
        walk.report_all(about(diags, &object.addr));
    }
}

/// Whether a provider is configured from an ephemeral resource: when everything is destroyed, only those are needed.
fn serves_a_provider(program: &Program, m: ModuleId, slot: Slot) -> bool {
    let mut seen = HashSet::default();
    let mut queue = vec![program.modules[m].resource_index(slot)];
    while let Some(n) = queue.pop() {
        for user in program.graph.neighbors(n).filter(|u| seen.insert(*u)) {
            match program.graph[user] {
                Node::Provider(_) => return true,
                Node::Resource(m, s) if program.resource_block(m, s).mode() == Mode::Managed => {}
                _ => queue.push(user),
            }
        }
    }
    false
}

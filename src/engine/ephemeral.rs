//! Ephemeral resources: opened during a walk, never stored, closed when the walk is over.

use crate::addr::ResourceInstance;
use crate::config::model::ResourceBlock;
use crate::engine::events::Event;
use crate::engine::instance::{about, evaluate_config, explain};
use crate::engine::objects;
use crate::engine::plan::Action;
use crate::engine::program::ResourceProgram;
use crate::engine::runtime::{ModuleRun, Repeat};
use crate::engine::stored::TypeInfo;
use crate::engine::walk::{Configured, Walk};
use crate::plugin::Private;
use gpuform_schema::{Marks, Str, Value};

/// An open ephemeral resource.
pub struct Open {
    pub addr: ResourceInstance,
    pub ty: Str,
    pub configured: Configured,
    pub private: Private,
}

/// Opens one instance and gives its value, all of it ephemeral. Where the configuration is not known yet, the value is
/// unknown and nothing is opened.
#[allow(clippy::too_many_arguments)]
pub async fn open(
    walk: &Walk,
    program: &ResourceProgram,
    info: &TypeInfo,
    configured: &Configured,
    addr: &ResourceInstance,
    block: &ResourceBlock,
    run: &ModuleRun,
    repeat: &Repeat,
) -> Option<Value> {
    let scope = walk.runtime.scope(run, repeat);
    let (config, sensitive) = evaluate_config(walk, program, block, addr, &scope)?;
    let provider = &*configured.provider;
    let diags = provider.validate_ephemeral_config(&info.name, config.clone()).await;
    if walk.report_all(explain(diags, program, block, addr)) {
        return None;
    }
    if !config.is_wholly_known() {
        let value = objects::planned_data(&info.schema.block, &config);
        return Some(info.mark(&value, &sensitive).with_marks(Marks::EPHEMERAL));
    }
    let started = std::time::Instant::now();
    let action = Action::Open;
    walk.events.event(Event::OperationStart { addr, deposed: None, action, id: None });
    let (opened, diags) = {
        let _turn = walk.turn(&configured.addr.provider).await;
        provider.open_ephemeral(&info.name, config).await
    };
    let failed = walk.report_all(explain(diags, program, block, addr)) || opened.is_none();
    if failed {
        walk.events.event(Event::OperationErrored { addr, deposed: None, action, elapsed: started.elapsed() });
        return None;
    }
    let opened = opened?;
    walk.events.event(Event::OperationDone { addr, deposed: None, action, id: None, elapsed: started.elapsed() });
    walk.opened().push(Open {
        addr: addr.clone(),
        ty: info.name.clone(),
        configured: configured.clone(),
        private: opened.private,
    });
    Some(info.mark(&opened.result, &sensitive).with_marks(Marks::EPHEMERAL))
}

/// Closes everything that the walk has opened, the latest first.
pub async fn close_all(walk: &Walk) {
    let opened = std::mem::take(&mut *walk.opened());
    for o in opened.into_iter().rev() {
        let diags = o.configured.provider.close_ephemeral(&o.ty, o.private).await;
        walk.report_all(about(diags, &o.addr));
    }
}

//! Evaluating expressions against the stored state, without planning: for the console.

use crate::addr::AbsResource;
use crate::config::model::Config;
use crate::diag::Diagnostics;
use crate::engine::program::{ModuleId, Program};
use crate::engine::provider_instances::ProviderInstances;
use crate::engine::runtime::{Kind, Repeat, combine};
use crate::engine::schedule::Outcome;
use crate::engine::stored;
use crate::engine::walk::{Phase, ResourceStep, Walk};
use crate::engine::{PlanOptions, Session, ephemeral};
use crate::lang::scope::Scope;
use crate::lang::syntax::Slot;
use crate::state::State;
use async_trait::async_trait;
use gpuform_schema::Value;
use std::sync::Arc;

/// Gives resources the values that the state holds; what it does not hold is unknown.
struct Stored<'a>(&'a State);

#[async_trait(?Send)]
impl ResourceStep for Stored<'_> {
    async fn resource(&self, walk: &Walk, m: ModuleId, slot: Slot) -> Outcome {
        let program = walk.program().clone();
        let block = program.resource_block(m, slot);
        let meta = program.resource_meta(m, slot);
        // Stored objects are only decoded here, which is the same in all instances of a provider configuration.
        let configured = walk.provider(meta.provider).and_then(ProviderInstances::first);
        let (Some(code), Some(configured)) = (&meta.block, configured) else {
            return Outcome::Failed;
        };
        let info = &code.info;
        for run in walk.runtime.instances(m) {
            let abs = AbsResource { module: run.addr.clone(), resource: block.addr.clone() };
            let mut values = Vec::new();
            for (key, instance) in self.0.resource(&abs).into_iter().flat_map(|r| &r.instances) {
                let Some(object) = &instance.current else { continue };
                let addr = abs.instance(key.clone());
                match stored::decode(&*configured.provider, info, &addr, object).await {
                    Ok(v) => values.push((Repeat::of_key(key), info.mark(&v, &object.sensitive_paths))),
                    Err(d) => {
                        walk.report_all(d);
                    }
                }
            }
            let kind = Kind::of_block(block);
            let value = match kind {
                Kind::Single if values.is_empty() => Value::unknown(info.ty.clone()),
                _ if values.is_empty() => continue,
                _ => combine(values.into_iter(), &kind),
            };
            let _ = run.resources[slot as usize].set(value);
        }
        Outcome::Done
    }
}

/// Evaluates the configuration with the stored state and hands over the scope of the root module, with what went wrong
/// with parts of it.
///
/// # Errors
/// What is wrong with the configuration as a whole, or what `f` reports.
pub async fn console<R>(
    session: &Session,
    config: &Config,
    state: &State,
    options: &PlanOptions,
    f: impl FnOnce(&dyn Scope, Diagnostics) -> Result<R, Diagnostics>,
) -> Result<R, Diagnostics> {
    let mut diags = Diagnostics::new();
    let program = match Program::build(config, &session.pool, [], &mut diags).await {
        Some(program) if !diags.has_errors() => program,
        _ => return Err(diags),
    };
    let mut walk = session.walk(Phase::Look, Arc::new(program), None, options.variables.clone(), None);
    walk.unsuitable_variables.clone_from(&options.unsuitable_variables);
    walk.run(&Stored(state)).await;
    let problems = walk.take_diagnostics();
    let result = f(&walk.runtime.scope(walk.runtime.root(), &Repeat::None), problems);
    ephemeral::close_all(&walk).await;
    result
}

//! Validation without a plan: every block is evaluated with nothing known but what is written, and shown to its
//! provider.

use crate::addr::{Mode, ResourceInstance};
use crate::diag::Diagnostics;
use crate::engine::instance::{evaluate_config, explain};
use crate::engine::program::ModuleId;
use crate::engine::runtime::Repeat;
use crate::engine::schedule::Outcome;
use crate::engine::walk::{ResourceStep, Walk};
use crate::engine::{checks::Checkable, import, objects, provision};
use crate::lang::syntax::Slot;
use async_trait::async_trait;
use gpuform_schema::{Marks, Type, Value};

/// Validates the resources of a walk.
pub struct Validator;

#[async_trait(?Send)]
impl ResourceStep for Validator {
    async fn resource(&self, walk: &Walk, m: ModuleId, slot: Slot) -> Outcome {
        let program = walk.program().clone();
        let block = program.resource_block(m, slot);
        let meta = program.resource_meta(m, slot);
        let imported = block.mode() != Mode::Managed || import::wanted(walk, &[], m, slot).is_some();
        if block.generated {
            return if imported { Outcome::Done } else { Outcome::Failed };
        }
        let (Some(code), Some(_)) = (&meta.block, walk.provider(meta.provider)) else {
            return Outcome::Failed;
        };
        let info = &code.info;
        let mut ok = imported;
        for run in walk.runtime.instances(m) {
            // What is wrong with the body shows even where the number of instances makes no sense.
            let repeats = walk.repeats(&block.repetition, run).unwrap_or_else(|| {
                ok = false;
                vec![Repeat::Unknown]
            });
            // One instance stands for all: they differ only in what `each` and `count` give, which is unknown here.
            let repeat = match repeats.first() {
                Some(Repeat::None) | None => Repeat::None,
                Some(_) => Repeat::Unknown,
            };
            let addr = ResourceInstance {
                module: run.addr.clone(),
                resource: block.addr.clone(),
                key: crate::addr::InstanceKey::None,
            };
            let scope = || walk.runtime.scope(run, &repeat);
            // Where nothing will be created, what is written is checked all the same.
            let of_none = repeats.is_empty() && !matches!(repeat, Repeat::Unknown);
            let given = if of_none { &Repeat::Unknown } else { &repeat };
            let scope_of_given = walk.runtime.scope(run, given);
            let config =
                if meta.wrong_names { None } else { evaluate_config(walk, code, block, &addr, &scope_of_given) };
            let Some((plain, _)) = config.filter(|_| !meta.problems.has_errors()) else {
                ok = false;
                continue;
            };
            let Some(configured) = walk.provider_of(m, slot, run, given) else {
                ok &= repeats.is_empty();
                continue;
            };
            let provider = &*configured.provider;
            let diags = match block.mode() {
                Mode::Managed => provider.validate_resource_config(&info.name, plain.clone()).await,
                Mode::Data => provider.validate_data_source_config(&info.name, plain.clone()).await,
                Mode::Ephemeral => provider.validate_ephemeral_config(&info.name, plain.clone()).await,
            };
            ok &= !walk.report_all(explain(diags, code, block, &addr));
            let subject = Checkable::resource(&addr);
            let value = objects::planned_data(&info.schema.block, &plain);
            let value = info.mark(&value, &[]);
            let value = if block.mode() == Mode::Ephemeral { value.with_marks(Marks::EPHEMERAL) } else { value };
            let l = &block.lifecycle;
            ok &= walk.conditions(&l.preconditions, &scope(), &subject, "Resource precondition failed", block.range);
            let with_self = scope().with_self(value.clone());
            ok &=
                walk.conditions(&l.postconditions, &with_self, &subject, "Resource postcondition failed", block.range);
            for (p, code) in block.provisioners.iter().zip(&code.provisioners) {
                let Some(code) = code else { continue };
                let mut diags = Diagnostics::new();
                let scope = scope().with_self(Value::unknown(info.ty.clone()));
                let value = code.decoder.eval(&scope, &mut diags);
                diags.extend(value.and_then(|v| provision::check(p, &v).err()));
                code.connection.iter().for_each(|c| drop(c.eval(&scope, &mut diags)));
                ok &= !walk.report_all(diags);
            }
            // What others see of it is wholly unknown, even its type: references to it are checked by themselves.
            let seen = Value::unknown(Type::Dynamic);
            let seen = if block.mode() == Mode::Ephemeral { seen.with_marks(Marks::EPHEMERAL) } else { seen };
            let _ = run.resources[slot as usize].set(seen);
        }
        if ok { Outcome::Done } else { Outcome::Failed }
    }
}

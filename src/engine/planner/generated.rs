//! Imported objects that have no configuration: it is made from the object, and the plan goes on as if it had been
//! written.

use super::{Instance, Planner};
use crate::addr::{AbsResource, InstanceKey};
use crate::config::imports;
use crate::config::model::ResourceBlock;
use crate::diag::{Diagnostic, Diagnostics};
use crate::engine::generate::{self, Generated};
use crate::engine::import;
use crate::engine::instance::about;
use crate::engine::program::{ModuleId, ResourceProgram};
use crate::engine::runtime::Repeat;
use crate::engine::walk::Walk;
use crate::lang::decode::{Decoder, Layout};
use crate::lang::parse;
use crate::lang::resolve::Allowed;
use crate::lang::syntax::{Body, Slot};
use std::borrow::Cow;

impl Planner {
    /// Plans the target of an `import` block that is not declared. False after an error.
    pub(super) async fn generated(&self, walk: &Walk, m: ModuleId, slot: Slot) -> bool {
        let program = walk.program().clone();
        let (block, meta) = (program.resource_block(m, slot), program.resource_meta(m, slot));
        let run = walk.runtime.root();
        let abs = AbsResource { module: run.addr.clone(), resource: block.addr.clone() };
        let addr = abs.instance(InstanceKey::None);
        self.work().seen.insert(abs);
        let Some(imports) = import::wanted(walk, &self.input.imports, m, slot) else { return false };
        if !self.input.targets.includes_instance(walk, m, slot, &addr) {
            return true;
        }
        let Some(file) = &self.input.generate else {
            walk.report(not_declared(block));
            return false;
        };
        let (Some(code), Some(configured)) = (&meta.block, walk.provider_of(m, slot, run, &Repeat::None)) else {
            if meta.block.is_none() {
                walk.report(unknown_type(block));
            }
            return false;
        };
        let i = Instance {
            walk,
            module: m,
            slot,
            run,
            repeat: &Repeat::None,
            addr: addr.clone(),
            block,
            meta,
            program: code,
            info: &code.info,
            configured: Cow::Borrowed(configured),
            imports: &imports,
        };
        let Some(prior) = self.prior(&i, true).await else { return false };
        let Some(value) = &prior.value else {
            walk.report(not_declared(block));
            return false;
        };
        let written = Some(&block.provider).filter(|p| **p != imports::implied_provider(&block.addr.ty));
        let text = generate::resource(&block.addr, written, &code.info.schema.block, value);
        let id = prior.importing.as_ref().map(|i| i.id.clone());
        let change = match compile(&i, file, &text) {
            Some(code) => self.plan_instance(&Instance { program: &code, ..i }, prior).await,
            None => None,
        };
        let place = import::place(walk, m, slot).unwrap_or(block.range);
        let id = id.filter(|_| change.is_some());
        self.work().generated.push(Generated { addr, import: place, id, text: text.clone() });
        let Some(mut change) = change else { return false };
        change.generated_config = Some(text);
        let _ = run.resources[slot as usize].set(change.after.clone());
        self.add_change(walk, Some((m, slot)), change);
        true
    }
}

/// Reads the generated block as if it stood in a file of the root module.
fn compile(i: &Instance<'_>, file: &str, text: &str) -> Option<ResourceProgram> {
    let mut diags = Diagnostics::new();
    let file = i.walk.program().config.sources.add(file, text);
    let mut body = parse::parse_file(text, file, &mut diags).blocks.pop()?.body;
    if let Body::Native(body) = &mut body {
        body.attributes.retain(|a| &*a.name != "provider");
    }
    let info = i.program.info.clone();
    let module = i.walk.program().modules[0].module().clone();
    let decoder = Decoder::compile(&body, &Layout::new(&info.schema.block), &*module, Allowed::default(), &mut diags);
    let failed = i.walk.report_all(about(diags, &i.addr));
    (!failed).then(|| ResourceProgram { info, decoder, provisioners: Vec::new() })
}

fn not_declared(block: &ResourceBlock) -> Diagnostic {
    Diagnostic::error(
        "Configuration for import target does not exist",
        format!(
            "{} is not in the configuration. Declare it, or have its configuration written to a new file:\n\n  gpuform plan \
             -generate-config-out=generated.tf",
            block.addr
        ),
    )
    .at(block.header_range)
}

fn unknown_type(block: &ResourceBlock) -> Diagnostic {
    Diagnostic::error(
        "Invalid resource type",
        format!("The provider {} has no resource type \"{}\".", block.provider, block.addr.ty),
    )
    .at(block.type_range)
}

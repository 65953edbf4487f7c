//! What can be said of `import` blocks without evaluating them, and the resources that only they name: their
//! configuration is to be generated.

use super::model::{Import, Lifecycle, LocalProviderConfig, Module, ModuleNode, Repetition, ResourceBlock};
use crate::diag::{Diagnostics, Sources};
use crate::lang::syntax::{Body, Target};
use std::collections::HashMap;

const NO_CONFIGURATION: &str = "Configuration for import target does not exist";
const INVALID_TO: &str = "Invalid import 'to' expression";

/// The provider configuration that the prefix of a resource type implies.
pub fn implied_provider(ty: &str) -> LocalProviderConfig {
    let prefix = ty.split_once('_').map_or(ty, |(prefix, _)| prefix);
    LocalProviderConfig { name: prefix.into(), alias: None }
}

/// The provider configuration that serves an import whose target is not declared.
pub(super) fn provider_of(import: &Import) -> LocalProviderConfig {
    import.provider.clone().unwrap_or_else(|| implied_provider(&import.to.resource.resource.ty))
}

/// Whether configuration can be generated for the target: it must be a single resource of the root module.
fn can_generate(import: &Import) -> bool {
    let fixed = import.to.fixed.as_ref();
    import.to.resource.module.is_root() && import.for_each.is_none() && fixed.is_some_and(|a| a.key.is_none())
}

/// Adds an empty block for each target that is not declared and whose configuration can be generated. References to
/// it are errors all the same, so it is called when names are resolved.
pub(super) fn declare_targets(module: &mut Module) {
    for import in &module.imports {
        let addr = &import.to.resource.resource;
        if can_generate(import) && !module.resources.contains_key(addr) {
            let block = ResourceBlock {
                addr: addr.clone(),
                range: import.range,
                header_range: import.to_range,
                type_range: import.to_range,
                repetition: Repetition::Single,
                body: Body::empty(import.range),
                provider: provider_of(import),
                provider_range: import.provider_range,
                provider_key: None,
                depends_on: Vec::new(),
                lifecycle: Lifecycle::default(),
                provisioners: Vec::new(),
                connection: None,
                check: None,
                generated: true,
            };
            module.resources.insert(addr.clone(), Box::new(block));
        }
    }
}

/// Import blocks that contradict each other or the blocks of their targets.
pub(super) fn check(module: &Module, sources: &Sources, diags: &mut Diagnostics) {
    let mut seen = HashMap::new();
    for import in &module.imports {
        let Some(addr) = &import.to.fixed else { continue };
        if let Some(first) = seen.insert(addr, import.range) {
            diags.error(
                format!("Duplicate import configuration for \"{}\"", import.to.resource),
                format!(
                    "An import block at {} names {addr} already; an object can be imported only once.",
                    sources.describe(first)
                ),
                import.to_range,
            );
        }
    }
    for import in module.imports.iter().filter(|i| i.to.resource.module.is_root()) {
        let declared = module.resources.get(&import.to.resource.resource).is_some_and(|b| !b.generated);
        if let (true, Some(range)) = (declared, import.provider_range) {
            diags.error(
                "Invalid import provider argument",
                format!(
                    "{} is declared, and its own \"provider\" argument says which provider configuration serves it. The \
                     argument of the import block is for resources whose configuration is to be generated.",
                    import.to.resource
                ),
                range,
            );
        }
    }
}

/// Targets that do not exist, and IDs that depend on what they identify.
pub(super) fn problems(root: &ModuleNode, problems: &mut Diagnostics) {
    for import in &root.module.imports {
        let target = &import.to.resource;
        match find(root, &target.module.0) {
            None => problems.error(
                NO_CONFIGURATION,
                format!("{target} is not in the configuration: there is no such module."),
                import.to_range,
            ),
            Some(node) if !node.module.resources.contains_key(&target.resource) => problems.error(
                // A key that is computed says of itself that the resource has "for_each".
                if target.module.is_root() && import.to.fixed.is_none() { INVALID_TO } else { NO_CONFIGURATION },
                if target.module.is_root() {
                    format!(
                        "{target} is not declared, and its configuration cannot be generated: that is possible only for \
                         resources without \"count\" or \"for_each\", and for import blocks without \"for_each\"."
                    )
                } else {
                    format!(
                        "{target} is not declared. Configuration can be generated only for resources of the root module."
                    )
                },
                import.to_range,
            ),
            Some(node) if target.module.is_root() => {
                let slot = node.module.resource_slot(&target.resource);
                let mut own = false;
                import.id.visit_traversals(&mut |t| own |= slot.is_some_and(|s| t.target == Target::Resource(s)));
                if own {
                    let detail = format!("The ID refers to {target}, which is the resource that it is to identify.");
                    problems.error("Invalid import id argument", detail, import.id.range);
                }
            }
            Some(_) => {}
        }
    }
}

fn find<'a>(node: &'a ModuleNode, path: &[gpuform_schema::Str]) -> Option<&'a ModuleNode> {
    let Some((name, rest)) = path.split_first() else { return Some(node) };
    find(node.children.get(node.module.calls.get_index_of(name)?)?, rest)
}

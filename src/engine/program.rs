//! The configuration made ready to run: every declared object is one node of a dependency graph, and every resource
//! and provider block is decoded against its schema once. Instances do not appear here: `count` and `for_each` are
//! expanded inside a node while it runs, so that cost stays linear in what is written plus what is created.

mod build;
mod order;
mod provider_instances;
mod references;
mod settings;

use crate::addr::{self, AbsProviderConfig, ConfigResource};
use crate::config::model::{self, Config, ModuleNode};
use crate::diag::{Diagnostic, Diagnostics};
use crate::engine::stored::TypeInfo;
use crate::hash::HashMap;
use crate::lang::decode::Decoder;
use crate::lang::syntax::{Slot, StepKind, Target, Traversal};
use gpuform_schema::Str;
use gpuform_schema::schema::Schema;
use petgraph::graph::{DiGraph, NodeIndex};
use std::fmt;
use std::sync::Arc;

/// Position of a module call path in [`Program::modules`]; 0 is the root.
pub type ModuleId = usize;
/// Position in [`Program::providers`].
pub type ProviderId = usize;

/// One declared object.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Node {
    Variable(ModuleId, Slot),
    Local(ModuleId, Slot),
    Output(ModuleId, Slot),
    Resource(ModuleId, Slot),
    /// Expands a module call of this module into instances.
    Call(ModuleId, Slot),
    /// Everything in the module (and below it) is done.
    Close(ModuleId),
    Provider(ProviderId),
    Check(ModuleId, Slot),
}

/// A module call path with where its nodes are in the graph.
pub struct ModuleMeta {
    pub node: Arc<ModuleNode>,
    /// The calling module and the slot of the call; `None` for the root.
    pub parent: Option<(ModuleId, Slot)>,
    /// By call slot.
    pub children: Vec<ModuleId>,
    /// By resource slot.
    pub resources: Vec<ResourceMeta>,
    first: [usize; 6],
}

/// What is known of a resource block before it runs.
pub struct ResourceMeta {
    /// `None` where there is no such type of resource.
    pub block: Option<Arc<ResourceProgram>>,
    /// What is wrong with the block. With errors it can be evaluated, to find more of them, but not used.
    pub problems: Arc<Diagnostics>,
    /// Names or references in the block mean nothing: it cannot even be evaluated.
    pub wrong_names: bool,
    pub provider: ProviderId,
    /// The resources it depends on, for the state of its objects and for destroy order.
    pub dependencies: Arc<[ConfigResource]>,
    /// Written, or spread from a resource that depends on this one.
    pub create_before_destroy: bool,
}

/// A resource block decoded against its schema; shared by all calls of its module.
pub struct ResourceProgram {
    /// The same for all blocks of a type.
    pub info: Arc<TypeInfo>,
    pub decoder: Decoder,
    /// In the order of the block's provisioners; `None` for a type that does not exist, which was reported.
    pub provisioners: Vec<Option<ProvisionerProgram>>,
}

/// A provisioner decoded against its schema.
pub struct ProvisionerProgram {
    pub decoder: Decoder,
    /// How to reach the machine: what the provisioner says, over what its resource says.
    pub connection: Option<Decoder>,
}

/// What a `removed` block runs before objects are destroyed.
pub struct RemovedProgram {
    pub module: ModuleId,
    /// Position in the module's `removed`.
    pub block: usize,
    /// As in [`ResourceProgram`].
    pub provisioners: Vec<Option<ProvisionerProgram>>,
    /// What is wrong with them: told where an object is to be destroyed.
    pub problems: Diagnostics,
}

impl ProvisionerProgram {
    fn decoders(&self) -> impl Iterator<Item = &Decoder> {
        std::iter::once(&self.decoder).chain(&self.connection)
    }
}

/// A provider configuration that something uses.
pub struct ProviderMeta {
    pub addr: AbsProviderConfig,
    pub module: ModuleId,
    /// The block, decoded; `None` for an implied, empty configuration.
    pub block: Option<ProviderBlock>,
    pub schema: Option<Arc<Schema>>,
    /// Whether a resource or an object needs it; what nothing needs is not looked at.
    pub used: bool,
}

pub struct ProviderBlock {
    pub config: model::ProviderConfig,
    pub decoder: Decoder,
    /// What is wrong with it. With errors it can be evaluated, to find more of them, but not used.
    pub problems: Diagnostics,
}

pub struct Program {
    pub config: Config,
    pub modules: Vec<ModuleMeta>,
    pub providers: Vec<ProviderMeta>,
    /// Edges lead from what is needed to what needs it.
    pub graph: DiGraph<Node, ()>,
    pub module_ids: HashMap<addr::Module, ModuleId>,
    /// The `removed` blocks that have provisioners, by the resource that is gone.
    pub removed: HashMap<ConfigResource, RemovedProgram>,
    settings: settings::Settings,
    /// Names and references that mean nothing, in the order of files; told where they would be evaluated.
    problems: Vec<Diagnostic>,
}

/// A program with what its preparation reported, so that an apply need not prepare again what its plan was made with.
#[derive(Clone)]
pub struct Prepared {
    pub program: Arc<Program>,
    pub reported: Diagnostics,
}

impl fmt::Debug for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Prepared")
    }
}

const VARIABLE: usize = 0;
const LOCAL: usize = 1;
const OUTPUT: usize = 2;
const RESOURCE: usize = 3;
const CALL: usize = 4;
const CHECK: usize = 5;

impl ModuleMeta {
    fn index(&self, kind: usize, slot: Slot) -> NodeIndex {
        NodeIndex::new(self.first[kind] + slot as usize)
    }

    pub fn resource_index(&self, slot: Slot) -> NodeIndex {
        self.index(RESOURCE, slot)
    }

    pub fn output_index(&self, slot: Slot) -> NodeIndex {
        self.index(OUTPUT, slot)
    }

    pub fn check_index(&self, slot: Slot) -> NodeIndex {
        self.index(CHECK, slot)
    }

    pub fn module(&self) -> &Arc<model::Module> {
        &self.node.module
    }
}

impl Program {
    pub fn resource_block(&self, module: ModuleId, slot: Slot) -> &model::ResourceBlock {
        &self.modules[module].node.module.resources[slot as usize]
    }

    pub fn resource_meta(&self, module: ModuleId, slot: Slot) -> &ResourceMeta {
        &self.modules[module].resources[slot as usize]
    }

    pub fn config_resource(&self, module: ModuleId, slot: Slot) -> ConfigResource {
        ConfigResource {
            module: self.modules[module].node.addr.clone(),
            resource: self.resource_block(module, slot).addr.clone(),
        }
    }

    /// Where a resource is declared, if it is.
    pub fn find_resource(&self, addr: &ConfigResource) -> Option<(ModuleId, Slot)> {
        let module = *self.module_ids.get(&addr.module)?;
        let slot = self.modules[module].module().resources.get_index_of(&addr.resource)?;
        Some((module, slot as Slot))
    }

    /// The name of a node in messages about cycles.
    pub fn describe(&self, node: Node) -> String {
        let within = |m: ModuleId, rest: String| {
            let addr = &self.modules[m].node.addr;
            if addr.is_root() { rest } else { format!("{addr}.{rest}") }
        };
        let module = |m: ModuleId| self.modules[m].module();
        match node {
            Node::Variable(0, s) => format!("var.{}", module(0).variables[s as usize].name),
            Node::Variable(m, s) => within(m, format!("var.{} (expand)", module(m).variables[s as usize].name)),
            Node::Local(m, s) => within(m, format!("local.{} (expand)", name_at(&module(m).locals, s))),
            Node::Output(m, s) => within(m, format!("output.{} (expand)", name_at(&module(m).outputs, s))),
            Node::Resource(m, s) => within(m, module(m).resources[s as usize].addr.to_string()),
            Node::Call(m, s) => within(m, format!("module.{} (expand)", module(m).calls[s as usize].name)),
            Node::Close(m) => format!("{} (close)", self.modules[m].node.addr),
            Node::Provider(p) => self.providers[p].addr.to_string(),
            Node::Check(m, s) => within(m, format!("check.{}", module(m).checks[s as usize].name)),
        }
    }

    /// The nodes that a reference in `module` waits for.
    pub fn nodes_of(&self, module: ModuleId, t: &Traversal, f: &mut impl FnMut(NodeIndex)) {
        let meta = &self.modules[module];
        match &t.target {
            Target::Variable(s) => f(meta.index(VARIABLE, *s)),
            Target::Local(s) => f(meta.index(LOCAL, *s)),
            Target::Resource(s) => f(meta.index(RESOURCE, *s)),
            Target::ModuleCall(s) => {
                let Some(child) = meta.children.get(*s as usize).map(|c| &self.modules[*c]) else { return };
                match self.output_of(module, *s, t) {
                    Some(output) => f(child.index(OUTPUT, output)),
                    None => f(self.close_index(meta.children[*s as usize])),
                }
            }
            _ => {}
        }
    }

    /// The single output that a reference to a module call reads, where that is plain: `module.m.OUT` or
    /// `module.m[KEY].OUT`.
    pub fn output_of(&self, module: ModuleId, call: Slot, t: &Traversal) -> Option<Slot> {
        let meta = &self.modules[module];
        let child = &self.modules[*meta.children.get(call as usize)?];
        let rest = t.steps.get(t.consumed as usize..)?;
        let name = match rest {
            [a, ..] if matches!(a.kind, StepKind::Attr(_)) => &a.kind,
            [_, b, ..] => &b.kind,
            _ => return None,
        };
        let StepKind::Attr(name) = name else { return None };
        child.module().outputs.get_index_of(name).map(|o| o as Slot)
    }

    /// The nodes that a `depends_on` entry waits for: a whole module counts with everything in it.
    pub fn nodes_of_depends_on(&self, module: ModuleId, t: &Traversal, f: &mut impl FnMut(NodeIndex)) {
        if let Target::ModuleCall(s) = &t.target {
            if let Some(child) = self.modules[module].children.get(*s as usize) {
                f(self.close_index(*child));
            }
        } else {
            self.nodes_of(module, t, f);
        }
    }

    /// The resources that a `depends_on` entry names, directly or as parts of a module.
    pub fn resources_of_depends_on(&self, module: ModuleId, t: &Traversal, f: &mut impl FnMut(ModuleId, Slot)) {
        match &t.target {
            Target::Resource(s) => f(module, *s),
            Target::ModuleCall(s) => {
                let mut queue: Vec<ModuleId> =
                    self.modules[module].children.get(*s as usize).copied().into_iter().collect();
                while let Some(m) = queue.pop() {
                    (0..self.modules[m].resources.len()).for_each(|s| f(m, s as Slot));
                    queue.extend(&self.modules[m].children);
                }
            }
            _ => {}
        }
    }

    pub fn call_index(&self, module: ModuleId, slot: Slot) -> NodeIndex {
        self.modules[module].index(CALL, slot)
    }

    pub fn check_index(&self, module: ModuleId, slot: Slot) -> NodeIndex {
        self.modules[module].index(CHECK, slot)
    }

    /// Close nodes come first in the graph, in order of module.
    pub fn close_index(&self, module: ModuleId) -> NodeIndex {
        NodeIndex::new(module)
    }

    pub fn provider_index(&self, provider: ProviderId) -> NodeIndex {
        NodeIndex::new(self.modules.len() + provider)
    }
}

fn name_at<V>(map: &crate::hash::IndexMap<Str, V>, slot: Slot) -> &str {
    map.get_index(slot as usize).map_or("", |(k, _)| k)
}

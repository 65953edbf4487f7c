//! The configuration made ready to run: every declared object is one node of a dependency graph, and every resource
//! and provider block is decoded against its schema once. Instances do not appear here: `count` and `for_each` are
//! expanded inside a node while it runs, so that cost stays linear in what is written plus what is created.

use crate::addr::{self, AbsProviderConfig, ConfigResource, Mode};
use crate::config::model::{self, Config, LocalProviderConfig, ModuleNode, Repetition};
use crate::diag::{Diagnostic, Diagnostics};
use crate::engine::providers::ProviderPool;
use crate::lang::decode::{Decoder, Layout};
use crate::lang::resolve::Allowed;
use crate::lang::syntax::{Expr, Slot, StepKind, Target, Traversal};
use gpuform_schema::Str;
use gpuform_schema::schema::Schema;
use petgraph::graph::{DiGraph, NodeIndex};
use std::collections::{BTreeMap, HashMap};
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
    /// `None` where an error was reported.
    pub block: Option<Arc<ResourceProgram>>,
    pub provider: ProviderId,
    /// The resources it depends on, for the state of its objects and for destroy order.
    pub dependencies: Arc<[ConfigResource]>,
    /// Written, or spread from a resource that depends on this one.
    pub create_before_destroy: bool,
}

/// A resource block decoded against its schema; shared by all calls of its module.
pub struct ResourceProgram {
    pub schema: Arc<Schema>,
    pub decoder: Decoder,
    /// In the order of the block's provisioners; `None` for a kind that gpuform does not run.
    pub provisioners: Vec<Option<Decoder>>,
}

/// A provider configuration that something uses.
pub struct ProviderMeta {
    pub addr: AbsProviderConfig,
    pub module: ModuleId,
    /// The block, decoded; `None` for an implied, empty configuration.
    pub block: Option<(model::ProviderConfig, Decoder)>,
    pub schema: Option<Arc<Schema>>,
}

pub struct Program {
    pub config: Config,
    pub modules: Vec<ModuleMeta>,
    pub providers: Vec<ProviderMeta>,
    /// Edges lead from what is needed to what needs it.
    pub graph: DiGraph<Node, ()>,
    pub module_ids: HashMap<addr::Module, ModuleId>,
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

    pub fn module(&self) -> &Arc<model::Module> {
        &self.node.module
    }
}

impl Program {
    /// Prepares a configuration. `extra` are provider configurations that the state needs.
    ///
    /// Starts the providers whose schemas are needed. All problems found are reported; the program is `None` when it
    /// cannot run.
    pub async fn build(
        config: &Config,
        pool: &ProviderPool,
        extra: impl IntoIterator<Item = AbsProviderConfig>,
        diags: &mut Diagnostics,
    ) -> Option<Program> {
        let mut program = Program::unchecked(config, pool, extra, diags).await?;
        let order = program.check_cycles(diags)?;
        program.dependencies(&order);
        program.spread_create_before_destroy(&order);
        Some(program)
    }

    /// As [`Program::build`], for a program that is only looked at: it may have cycles, and resources do not know what
    /// they depend on.
    pub async fn unchecked(
        config: &Config,
        pool: &ProviderPool,
        extra: impl IntoIterator<Item = AbsProviderConfig>,
        diags: &mut Diagnostics,
    ) -> Option<Program> {
        diags.extend(config.reference_problems.clone());
        let mut b = Builder {
            program: Program {
                config: config.clone(),
                modules: Vec::new(),
                providers: Vec::new(),
                graph: DiGraph::new(),
                module_ids: HashMap::new(),
            },
            provider_ids: HashMap::new(),
            blocks: HashMap::new(),
            pool,
        };
        b.add_module(&config.root, None);
        for provider in extra {
            b.provider(&provider);
        }
        b.resolve_providers(diags);
        b.compile(diags).await;
        if diags.has_errors() {
            return None;
        }
        b.nodes();
        b.edges();
        Some(b.program)
    }

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
            Node::Variable(m, s) => within(m, format!("var.{}", module(m).variables[s as usize].name)),
            Node::Local(m, s) => within(m, format!("local.{}", name_at(&module(m).locals, s))),
            Node::Output(m, s) => within(m, format!("output.{}", name_at(&module(m).outputs, s))),
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

    /// Close nodes come first in the graph, in order of module.
    pub fn close_index(&self, module: ModuleId) -> NodeIndex {
        NodeIndex::new(module)
    }

    pub fn call_index(&self, module: ModuleId, slot: Slot) -> NodeIndex {
        self.modules[module].index(CALL, slot)
    }

    pub fn check_index(&self, module: ModuleId, slot: Slot) -> NodeIndex {
        self.modules[module].index(CHECK, slot)
    }

    pub fn provider_index(&self, provider: ProviderId) -> NodeIndex {
        NodeIndex::new(self.modules.len() + provider)
    }

    /// A topological order, or an error that names every member of each cycle.
    fn check_cycles(&self, diags: &mut Diagnostics) -> Option<Vec<NodeIndex>> {
        if let Ok(order) = petgraph::algo::toposort(&self.graph, None) {
            return Some(order);
        }
        for component in petgraph::algo::tarjan_scc(&self.graph) {
            let own_loop = component.len() == 1 && self.graph.contains_edge(component[0], component[0]);
            if component.len() < 2 && !own_loop {
                continue;
            }
            let path = cycle_path(&self.graph, &component);
            let names: Vec<String> = path.iter().map(|n| self.describe(self.graph[*n])).collect();
            let mut around = names.clone();
            around.extend(names.first().cloned());
            diags.push(Diagnostic::error(
                format!("Cycle: {}", names.join(", ")),
                format!(
                    "These objects need each other, so none of them can be first:\n    {}\nBreak the circle by removing \
                     one of these references.",
                    around.join("\n    is needed by ")
                ),
            ));
        }
        None
    }

    /// What must be created before its old self is destroyed needs its dependencies to be treated the same way.
    fn spread_create_before_destroy(&mut self, order: &[NodeIndex]) {
        let mut spreads = vec![false; self.graph.node_count()];
        for n in order.iter().rev() {
            let from_dependents =
                self.graph.neighbors(*n).any(|d| spreads[d.index()] && !matches!(self.graph[d], Node::Provider(_)));
            spreads[n.index()] = match self.graph[*n] {
                Node::Resource(m, s) => {
                    let written = self.resource_block(m, s).lifecycle.create_before_destroy;
                    let on = written == Some(true) || from_dependents;
                    self.modules[m].resources[s as usize].create_before_destroy = on;
                    on
                }
                _ => from_dependents,
            };
        }
    }
}

fn name_at<V>(map: &indexmap::IndexMap<Str, V>, slot: Slot) -> &str {
    map.get_index(slot as usize).map_or("", |(k, _)| k)
}

/// One closed walk through the members of a strongly connected component, each named once.
fn cycle_path(graph: &DiGraph<Node, ()>, component: &[NodeIndex]) -> Vec<NodeIndex> {
    let members: std::collections::HashSet<NodeIndex> = component.iter().copied().collect();
    let Some(start) = component.iter().min().copied() else { return Vec::new() };
    let mut previous: HashMap<NodeIndex, NodeIndex> = HashMap::new();
    let mut queue = std::collections::VecDeque::from([start]);
    while let Some(n) = queue.pop_front() {
        for next in graph.neighbors(n).filter(|x| members.contains(x)) {
            if next == start {
                let mut path = vec![n];
                while let Some(p) = path.last().filter(|p| **p != start).and_then(|p| previous.get(p)) {
                    path.push(*p);
                }
                path.reverse();
                return path;
            }
            previous.entry(next).or_insert_with(|| {
                queue.push_back(next);
                n
            });
        }
    }
    component.to_vec()
}

/// Key of a decoded block: source module, resource slot, provider.
type BlockKey = (*const model::Module, Slot, addr::Provider);

struct Builder<'a> {
    program: Program,
    provider_ids: HashMap<AbsProviderConfig, ProviderId>,
    blocks: HashMap<BlockKey, Option<Arc<ResourceProgram>>>,
    pool: &'a ProviderPool,
}

impl Builder<'_> {
    fn add_module(&mut self, node: &Arc<ModuleNode>, parent: Option<(ModuleId, Slot)>) -> ModuleId {
        let id = self.program.modules.len();
        self.program.module_ids.insert(node.addr.clone(), id);
        self.program.modules.push(ModuleMeta {
            node: node.clone(),
            parent,
            children: Vec::new(),
            resources: Vec::new(),
            first: [0; 6],
        });
        let children =
            node.children.iter().enumerate().map(|(slot, c)| self.add_module(c, Some((id, slot as Slot)))).collect();
        self.program.modules[id].children = children;
        id
    }

    fn provider(&mut self, addr: &AbsProviderConfig) -> ProviderId {
        if let Some(id) = self.provider_ids.get(addr) {
            return *id;
        }
        let id = self.program.providers.len();
        let module = self.program.module_ids.get(&addr.module).copied().unwrap_or(0);
        self.program.providers.push(ProviderMeta { addr: addr.clone(), module, block: None, schema: None });
        self.provider_ids.insert(addr.clone(), id);
        id
    }

    /// Finds the provider configuration of every resource, and those that are declared without being used.
    fn resolve_providers(&mut self, diags: &mut Diagnostics) {
        for m in 0..self.program.modules.len() {
            let node = self.program.modules[m].node.clone();
            let mut metas = Vec::with_capacity(node.module.resources.len());
            for block in node.module.resources.values() {
                let addr = provider_config_of(&node, &block.provider);
                let missing_alias = addr.is_none() && block.provider.alias.is_some();
                if missing_alias {
                    let name = local_name(&block.provider);
                    diags.push(
                        Diagnostic::error(
                            "Provider configuration not present",
                            format!(
                                "{} uses the provider configuration {name}, but this module neither declares it nor is \
                                 given it by its caller's \"providers\" argument.",
                                block.addr
                            ),
                        )
                        .at(block.provider_range.unwrap_or(block.header_range))
                        .address(&block.addr),
                    );
                }
                let addr = addr.unwrap_or_else(|| implied_config(&node, &block.provider.name));
                let provider = self.provider(&addr);
                metas.push(ResourceMeta {
                    block: None,
                    provider,
                    dependencies: Arc::default(),
                    create_before_destroy: false,
                });
            }
            self.program.modules[m].resources = metas;
            for local in node.module.provider_configs.keys() {
                if let Some(addr) = node.providers.get(local).filter(|a| a.module == node.addr) {
                    self.provider(&addr.clone());
                }
            }
        }
    }

    /// Decodes provider and resource blocks against their schemas.
    async fn compile(&mut self, diags: &mut Diagnostics) {
        let needed: std::collections::BTreeSet<addr::Provider> =
            self.program.providers.iter().map(|p| p.addr.provider.clone()).collect();
        let mut running = BTreeMap::new();
        for provider in needed {
            match self.pool.unconfigured(&provider).await {
                Ok(p) => {
                    running.insert(provider, p);
                }
                Err(e) => diags.extend(e),
            }
        }
        for p in &mut self.program.providers {
            let Some(provider) = running.get(&p.addr.provider) else { continue };
            let schema = provider.config_schema();
            let module = &self.program.modules[p.module];
            let found = module.module().provider_configs.values().find(|c| {
                let local = LocalProviderConfig { name: c.name.clone(), alias: c.alias.clone() };
                module.node.providers.get(&local).is_some_and(|a| *a == p.addr)
            });
            if let Some(c) = found {
                let decoder =
                    compile_body(&c.body, &Layout::new(&schema.block), module.module(), Allowed::default(), diags);
                p.block = Some((c.clone(), decoder));
            }
            p.schema = Some(schema);
        }
        let mut layouts = HashMap::new();
        for m in 0..self.program.modules.len() {
            let module = self.program.modules[m].node.module.clone();
            for (slot, block) in module.resources.values().enumerate() {
                let id = self.program.modules[m].resources[slot].provider;
                let provider_addr = &self.program.providers[id].addr.provider;
                let Some(provider) = running.get(provider_addr) else { continue };
                let key = (Arc::as_ptr(&module), slot as Slot, provider_addr.clone());
                let compiled = self.blocks.entry(key).or_insert_with(|| {
                    // Configuration that is not made yet cannot be wrong.
                    let mut unwritten = Diagnostics::new();
                    let diags = if block.generated { &mut unwritten } else { &mut *diags };
                    compile_resource(block, &module, &**provider, provider_addr, &mut layouts, diags)
                });
                self.program.modules[m].resources[slot].block = compiled.clone();
            }
        }
    }

    fn nodes(&mut self) {
        let p = &mut self.program;
        for m in 0..p.modules.len() {
            p.graph.add_node(Node::Close(m));
        }
        for id in 0..p.providers.len() {
            p.graph.add_node(Node::Provider(id));
        }
        for m in 0..p.modules.len() {
            let module = p.modules[m].node.module.clone();
            let kinds: [(usize, fn(ModuleId, Slot) -> Node); 6] = [
                (module.variables.len(), Node::Variable),
                (module.locals.len(), Node::Local),
                (module.outputs.len(), Node::Output),
                (module.resources.len(), Node::Resource),
                (module.calls.len(), Node::Call),
                (module.checks.len(), Node::Check),
            ];
            for (kind, (count, make)) in kinds.into_iter().enumerate() {
                p.modules[m].first[kind] = p.graph.node_count();
                for s in 0..count {
                    p.graph.add_node(make(m, s as Slot));
                }
            }
        }
    }

    fn edges(&mut self) {
        let mut edges: Vec<(NodeIndex, NodeIndex)> = Vec::new();
        for n in self.program.graph.node_indices() {
            self.inputs(n, self.program.graph[n], &mut edges);
        }
        edges.sort_unstable();
        edges.dedup();
        for (a, b) in edges {
            self.program.graph.add_edge(a, b, ());
        }
    }

    /// Adds the edges that lead to one node.
    fn inputs(&self, n: NodeIndex, node: Node, edges: &mut Vec<(NodeIndex, NodeIndex)>) {
        let p = &self.program;
        let m_imports = !p.modules[0].module().imports.is_empty();
        // A condition may refer to the object that it belongs to, which is no cycle.
        let mut add = |i: NodeIndex, own: bool| {
            if !own || i != n {
                edges.push((i, n));
            }
        };
        match node {
            Node::Variable(m, s) => {
                let variable = &p.modules[m].module().variables[s as usize];
                for e in variable.validations.iter().flat_map(|v| [&v.condition, &v.error_message]) {
                    refs(p, m, e, true, &mut add);
                }
                if let Some((parent, call)) = p.modules[m].parent {
                    let call = &p.modules[parent].module().calls[call as usize];
                    if let Some((e, _)) = call.inputs.get(&variable.name) {
                        refs(p, parent, e, false, &mut add);
                    }
                }
            }
            Node::Local(m, s) => refs(p, m, &p.modules[m].module().locals[s as usize].expr, false, &mut add),
            Node::Output(m, s) => {
                let o = &p.modules[m].module().outputs[s as usize];
                refs(p, m, &o.expr, false, &mut add);
                for e in o.preconditions.iter().flat_map(|c| [&c.condition, &c.error_message]) {
                    refs(p, m, e, false, &mut add);
                }
                o.depends_on.iter().for_each(|t| p.nodes_of_depends_on(m, t, &mut |i| add(i, false)));
            }
            Node::Call(m, s) => {
                let c = &p.modules[m].module().calls[s as usize];
                repetition_expr(&c.repetition).into_iter().for_each(|e| refs(p, m, e, false, &mut add));
                c.depends_on.iter().for_each(|t| p.nodes_of_depends_on(m, t, &mut |i| add(i, false)));
            }
            Node::Resource(m, s) => {
                let block = p.resource_block(m, s);
                let meta = p.resource_meta(m, s);
                repetition_expr(&block.repetition).into_iter().for_each(|e| refs(p, m, e, false, &mut add));
                let l = &block.lifecycle;
                for c in l.preconditions.iter().chain(&l.postconditions) {
                    refs(p, m, &c.condition, true, &mut add);
                    refs(p, m, &c.error_message, true, &mut add);
                }
                l.replace_triggered_by.iter().for_each(|e| refs(p, m, e, false, &mut add));
                if let Some(program) = &meta.block {
                    let provisioners = program.provisioners.iter().flatten();
                    for decoder in provisioners.chain([&program.decoder]) {
                        decoder.visit_traversals(&mut |t| p.nodes_of(m, t, &mut |i| add(i, true)));
                    }
                }
                if m_imports {
                    let root = p.modules[0].module();
                    let config = p.config_resource(m, s);
                    for import in root.imports.iter().filter(|i| i.to.resource == config) {
                        for e in import.for_each.iter().chain([&import.id]) {
                            refs(p, 0, e, false, &mut add);
                        }
                    }
                }
                block.depends_on.iter().for_each(|t| p.nodes_of_depends_on(m, t, &mut |i| add(i, false)));
                add(p.provider_index(meta.provider), false);
            }
            Node::Provider(id) => {
                let meta = &p.providers[id];
                if let Some((_, decoder)) = &meta.block {
                    decoder.visit_traversals(&mut |t| p.nodes_of(meta.module, t, &mut |i| add(i, false)));
                }
            }
            Node::Check(m, s) => {
                let check = &p.modules[m].module().checks[s as usize];
                for e in check.asserts.iter().flat_map(|c| [&c.condition, &c.error_message]) {
                    refs(p, m, e, false, &mut add);
                }
                if let Some(data) = check.data {
                    add(p.modules[m].resource_index(data), false);
                }
            }
            Node::Close(m) => {
                let meta = &p.modules[m];
                let module = meta.module();
                (0..module.resources.len()).for_each(|s| add(meta.resource_index(s as Slot), false));
                (0..module.outputs.len()).for_each(|s| add(meta.output_index(s as Slot), false));
                meta.children.iter().for_each(|c| add(p.close_index(*c), false));
            }
        }
        let module = match node {
            Node::Variable(m, _)
            | Node::Local(m, _)
            | Node::Output(m, _)
            | Node::Call(m, _)
            | Node::Resource(m, _)
            | Node::Close(m)
            | Node::Check(m, _) => m,
            Node::Provider(id) => p.providers[id].module,
        };
        if let Some((parent, call)) = p.modules[module].parent {
            add(p.modules[parent].index(CALL, call), false);
        }
    }
}

/// Adds an edge for each object that an expression refers to; `own`: it may refer to the object that it belongs to.
fn refs(p: &Program, m: ModuleId, e: &Expr, own: bool, add: &mut impl FnMut(NodeIndex, bool)) {
    e.visit_traversals(&mut |t| p.nodes_of(m, t, &mut |i| add(i, own)));
}

fn compile_resource(
    block: &model::ResourceBlock,
    module: &model::Module,
    provider: &dyn crate::plugin::Provider,
    provider_addr: &addr::Provider,
    layouts: &mut HashMap<*const Schema, Arc<Layout>>,
    diags: &mut Diagnostics,
) -> Option<Arc<ResourceProgram>> {
    let ty = &block.addr.ty;
    let (schema, what) = match block.mode() {
        Mode::Managed => (provider.resource_schema(ty), "resource type"),
        Mode::Data => (provider.data_source_schema(ty), "data source"),
        Mode::Ephemeral => (provider.ephemeral_schema(ty), "ephemeral resource type"),
    };
    let Some(schema) = schema else {
        let hint = match block.mode() {
            Mode::Managed if provider.data_source_schema(ty).is_some() => {
                format!(" There is a data source of this name: did you mean data \"{ty}\"?")
            }
            Mode::Data if provider.resource_schema(ty).is_some() => {
                format!(" There is a resource type of this name: did you mean resource \"{ty}\"?")
            }
            _ => String::new(),
        };
        diags.push(
            Diagnostic::error(
                format!("Invalid {what}"),
                format!("The provider {} has no {what} \"{ty}\".{hint}", provider_addr.for_display()),
            )
            .at(block.type_range)
            .context(block.header_range),
        );
        return None;
    };
    let allowed = match block.repetition {
        Repetition::Count(_) => Allowed { count: true, ..Allowed::default() },
        Repetition::ForEach(_) => Allowed { each: true, ..Allowed::default() },
        _ => Allowed::default(),
    };
    let layout = layouts.entry(Arc::as_ptr(&schema)).or_insert_with(|| Layout::new(&schema.block)).clone();
    let decoder = compile_body(&block.body, &layout, module, allowed, diags);
    let provisioners = block
        .provisioners
        .iter()
        .map(|p| {
            let schema = crate::engine::provision::schema(&p.ty)?;
            let allowed = Allowed { self_object: true, ..allowed };
            Some(compile_body(&p.body, &Layout::new(schema), module, allowed, diags))
        })
        .collect();
    Some(Arc::new(ResourceProgram { schema, decoder, provisioners }))
}

/// Reads a body by a schema; its names mean objects of `module`.
fn compile_body(
    body: &crate::lang::syntax::Body,
    layout: &Arc<Layout>,
    module: &model::Module,
    allowed: Allowed,
    diags: &mut Diagnostics,
) -> Decoder {
    Decoder::compile(body, layout, module, allowed, diags)
}

/// The expression of `count`, `for_each` or `enabled`.
pub fn repetition_expr(r: &Repetition) -> Option<&Expr> {
    match r {
        Repetition::Single => None,
        Repetition::Count(e) | Repetition::ForEach(e) | Repetition::Enabled(e) => Some(e),
    }
}

/// The configuration that a local provider name means in a module, where there is one.
fn provider_config_of(node: &ModuleNode, local: &LocalProviderConfig) -> Option<AbsProviderConfig> {
    node.providers.get(local).cloned()
}

/// The implied, empty configuration of a provider in the root module.
fn implied_config(node: &ModuleNode, local_name: &str) -> AbsProviderConfig {
    let provider = node
        .module
        .required_providers
        .get(local_name)
        .map_or_else(|| addr::Provider::implied(local_name), |r| r.source.clone());
    AbsProviderConfig { module: addr::Module::root(), provider, alias: None }
}

fn local_name(local: &LocalProviderConfig) -> String {
    match &local.alias {
        Some(a) => format!("{}.{a}", local.name),
        None => local.name.to_string(),
    }
}

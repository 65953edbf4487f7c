//! From a configuration to a program: provider configurations are found, blocks are decoded against their schemas, and
//! every reference becomes an edge.

use super::references::{self, References};
use super::settings;
use super::{
    CALL, ModuleId, ModuleMeta, Node, Program, ProviderBlock, ProviderId, ProviderMeta, ProvisionerProgram,
    RemovedProgram, ResourceMeta, ResourceProgram,
};
use crate::addr::{self, AbsProviderConfig, Mode};
use crate::config::model::{self, Config, LocalProviderConfig, ModuleNode, RemovedTarget, Repetition};
use crate::diag::{Diagnostic, Diagnostics};
use crate::engine::providers::ProviderPool;
use crate::engine::provision;
use crate::engine::stored::TypeInfo;
use crate::hash::{HashMap, HashSet};
use crate::lang::decode::{Decoder, Layout};
use crate::lang::resolve::{Allowed, has_no_value};
use crate::lang::syntax::{Body, Expr, Slot};
use crate::plugin::Provider;
use crate::state::CheckKind;
use gpuform_schema::Str;
use gpuform_schema::schema::Schema;
use petgraph::graph::{DiGraph, NodeIndex};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

impl Program {
    /// Prepares a configuration. `extra` are provider configurations that the state needs.
    ///
    /// Starts the providers whose schemas are needed. `None` after errors in how modules and providers fit together,
    /// and for circular dependencies; what is wrong with single expressions is told when they are evaluated.
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
                module_ids: HashMap::default(),
                removed: HashMap::default(),
                settings: HashMap::default(),
                problems: config.name_problems(),
            },
            provider_ids: HashMap::default(),
            blocks: HashMap::default(),
            pool,
        };
        b.add_module(&config.root, None);
        for provider in extra {
            let id = b.provider(&provider);
            b.program.providers[id].used = true;
        }
        b.resolve_providers();
        let running = b.running(diags).await;
        if diags.has_errors() {
            return None;
        }
        b.compile(&running);
        b.compile_removed();
        b.program.settings = settings::read(&b.program.modules, &running);
        b.references(&running);
        b.nodes();
        b.edges();
        b.program.check_provider_instances(diags);
        Some(b.program)
    }
}

/// Key of a decoded block: source module, resource slot, provider.
type BlockKey = (*const model::Module, Slot, addr::Provider);

/// What follows from a schema, by schema and name of the type.
type Types = HashMap<(*const Schema, Str), (Arc<Layout>, Arc<TypeInfo>)>;

struct Builder<'a> {
    program: Program,
    provider_ids: HashMap<AbsProviderConfig, ProviderId>,
    blocks: HashMap<BlockKey, (Option<Arc<ResourceProgram>>, Arc<Diagnostics>)>,
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
        let addr = addr.block();
        if let Some(id) = self.provider_ids.get(&addr) {
            return *id;
        }
        let id = self.program.providers.len();
        let module = self.program.module_ids.get(&addr.module).copied().unwrap_or(0);
        self.program.providers.push(ProviderMeta {
            addr: addr.clone(),
            module,
            block: None,
            schema: None,
            used: false,
        });
        self.provider_ids.insert(addr, id);
        id
    }

    /// Finds the provider configuration of every resource, and those that are declared without being used.
    fn resolve_providers(&mut self) {
        for m in 0..self.program.modules.len() {
            let node = self.program.modules[m].node.clone();
            let mut metas = Vec::with_capacity(node.module.resources.len());
            // Blocks of one provider mostly stand together.
            let mut last: Option<(&LocalProviderConfig, ProviderId)> = None;
            for block in node.module.resources.values() {
                let provider = match last {
                    Some((local, id)) if *local == block.provider => id,
                    _ => {
                        let addr = provider_config_of(&node, &block.provider);
                        let id = self.provider(&addr.unwrap_or_else(|| implied_config(&node, &block.provider.name)));
                        self.program.providers[id].used = true;
                        id
                    }
                };
                last = Some((&block.provider, provider));
                metas.push(ResourceMeta {
                    block: None,
                    problems: Arc::default(),
                    wrong_names: false,
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

    /// The providers that are needed, started.
    async fn running(&self, diags: &mut Diagnostics) -> BTreeMap<addr::Provider, Arc<dyn Provider>> {
        let needed: BTreeSet<addr::Provider> = self.program.providers.iter().map(|p| p.addr.provider.clone()).collect();
        let mut running = BTreeMap::new();
        for provider in needed {
            match self.pool.unconfigured(&provider).await {
                Ok(p) => {
                    running.insert(provider, p);
                }
                Err(e) => diags.extend(e),
            }
        }
        running
    }

    /// Decodes provider and resource blocks against their schemas.
    fn compile(&mut self, running: &BTreeMap<addr::Provider, Arc<dyn Provider>>) {
        for p in &mut self.program.providers {
            let Some(provider) = running.get(&p.addr.provider) else { continue };
            let schema = provider.config_schema();
            let module = &self.program.modules[p.module];
            let found = module.module().provider_configs.values().find(|c| {
                let local = LocalProviderConfig { name: c.name.clone(), alias: c.alias.clone() };
                module.node.providers.get(&local).is_some_and(|a| *a == p.addr)
            });
            if let Some(c) = found {
                let mut own = Diagnostics::new();
                let allowed = Allowed { each: c.for_each.is_some(), ..Allowed::default() };
                let decoder = compile_body(&c.body, &Layout::new(&schema.block), module.module(), allowed, &mut own);
                // `for_each` is not Terraform's, so that nobody can rely on its being left alone.
                p.used |= c.for_each.is_some();
                p.block = Some(ProviderBlock { config: c.clone(), decoder, problems: own });
            }
            p.schema = Some(schema);
        }
        let mut types = Types::default();
        for m in 0..self.program.modules.len() {
            let module = self.program.modules[m].node.module.clone();
            for (slot, block) in module.resources.values().enumerate() {
                let id = self.program.modules[m].resources[slot].provider;
                let provider_addr = &self.program.providers[id].addr.provider;
                let Some(provider) = running.get(provider_addr) else { continue };
                let key = (Arc::as_ptr(&module), slot as Slot, provider_addr.clone());
                let compiled = self.blocks.entry(key).or_insert_with(|| {
                    let mut own = Diagnostics::new();
                    let program = compile_resource(block, &module, &**provider, provider_addr, &mut types, &mut own);
                    if block.generated {
                        // Configuration that is not made yet cannot be wrong.
                        own = Diagnostics::new();
                    }
                    (program, Arc::new(own))
                });
                let meta = &mut self.program.modules[m].resources[slot];
                (meta.block, meta.problems) = compiled.clone();
                meta.wrong_names = meta.block.as_ref().is_some_and(|b| b.decoder.wrong_names);
            }
        }
    }

    /// Decodes the provisioners of `removed` blocks.
    fn compile_removed(&mut self) {
        let allowed = Allowed { count: true, each: true, ..Allowed::default() };
        for m in 0..self.program.modules.len() {
            let node = self.program.modules[m].node.clone();
            for (block, removed) in node.module.removed.iter().enumerate() {
                let RemovedTarget::Resource(from) = &removed.from else { continue };
                if removed.provisioners.is_empty() {
                    continue;
                }
                let mut problems = Diagnostics::new();
                let provisioners = removed
                    .provisioners
                    .iter()
                    .map(|p| compile_provisioner(p, removed.connection.as_ref(), &node.module, allowed, &mut problems))
                    .collect();
                let module = addr::Module(node.addr.0.iter().chain(from.module.0.iter()).cloned().collect());
                let config = addr::ConfigResource { module, resource: from.resource.clone() };
                let program = RemovedProgram { module: m, block, provisioners, problems };
                self.program.removed.entry(config).or_insert(program);
            }
        }
    }

    /// Checks references to attributes against the schemas.
    fn references(&mut self, running: &BTreeMap<addr::Provider, Arc<dyn Provider>>) {
        let Program { modules, providers, .. } = &self.program;
        let references = References { modules, providers, running, program: &self.program };
        let mut seen = HashSet::default();
        let mut found = references::Found::default();
        let mut in_bodies = Vec::new();
        for (m, meta) in modules.iter().enumerate() {
            for (slot, resource) in meta.resources.iter().enumerate() {
                let mut wrong = Vec::new();
                let mut wrong_names = false;
                if let Some(program) = &resource.block {
                    program.decoder.visit_traversals(&mut |t| wrong.extend(references.check(m, t)));
                    wrong_names = !wrong.is_empty();
                    let provisioners = program.provisioners.iter().flatten().flat_map(ProvisionerProgram::decoders);
                    provisioners.for_each(|d| d.visit_traversals(&mut |t| wrong.extend(references.check(m, t))));
                }
                let block = &meta.module().resources[slot];
                let ignored = block.lifecycle.ignore_changes.iter();
                if let Some(program) = &resource.block {
                    wrong.extend(ignored.filter_map(|t| references::ignored(&program.info.schema.block, t)));
                }
                if !wrong.is_empty() {
                    in_bodies.push((m, slot, wrong, wrong_names));
                }
            }
            if seen.insert(Arc::as_ptr(meta.module())) {
                module_references(&references, m, meta.module(), &mut found);
            }
        }
        for (m, slot, wrong, wrong_names) in in_bodies {
            let meta = &mut self.program.modules[m].resources[slot];
            meta.wrong_names |= wrong_names;
            let problems = meta.problems.iter().filter(|d| !wrong_names || !has_no_value(d));
            meta.problems = Arc::new(problems.cloned().chain(wrong).collect());
        }
        let references::Found { wrong, not_evaluated } = found;
        if !wrong.is_empty() || !not_evaluated.is_empty() {
            let noticed = |d: &Diagnostic| {
                !has_no_value(d) || !not_evaluated.iter().any(|e| d.subject.is_some_and(|at| e.contains(at)))
            };
            self.program.problems.retain(noticed);
            self.program.problems.extend(wrong);
            self.program.problems.sort_by_key(|d| d.subject.map(|r| (r.file.0, r.start)));
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
        // An object that refers to itself is not a question of order: it is reported where it is evaluated.
        for (a, b) in edges.into_iter().filter(|(a, b)| a != b) {
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
                c.repetition.expr().into_iter().for_each(|e| refs(p, m, e, false, &mut add));
                c.depends_on.iter().for_each(|t| p.nodes_of_depends_on(m, t, &mut |i| add(i, false)));
            }
            Node::Resource(m, s) => {
                let block = p.resource_block(m, s);
                let meta = p.resource_meta(m, s);
                block.repetition.expr().into_iter().for_each(|e| refs(p, m, e, false, &mut add));
                if let Some((module, key)) = p.provider_key(m, s) {
                    refs(p, module, key, false, &mut add);
                }
                let l = &block.lifecycle;
                for c in l.preconditions.iter().chain(&l.postconditions) {
                    refs(p, m, &c.condition, true, &mut add);
                    refs(p, m, &c.error_message, true, &mut add);
                }
                l.replace_triggered_by.iter().for_each(|e| refs(p, m, e, false, &mut add));
                if let Some(program) = &meta.block {
                    let provisioners = program.provisioners.iter().flatten().flat_map(ProvisionerProgram::decoders);
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
                block.depends_on.iter().for_each(|t| p.nodes_of_depends_on(m, t, &mut |i| add(i, true)));
                add(p.provider_index(meta.provider), false);
            }
            Node::Provider(id) => {
                let meta = &p.providers[id];
                if let Some(block) = &meta.block {
                    block.decoder.visit_traversals(&mut |t| p.nodes_of(meta.module, t, &mut |i| add(i, false)));
                    block.config.for_each.iter().for_each(|e| refs(p, meta.module, e, false, &mut add));
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

/// Checks the references of a module outside of its resource bodies.
fn module_references(references: &References, m: ModuleId, module: &model::Module, found: &mut references::Found) {
    for local in module.locals.values() {
        references.in_expr(m, &local.expr, found);
    }
    for output in module.outputs.values() {
        references.in_expr(m, &output.expr, found);
        references.in_conditions(m, CheckKind::Output, &output.preconditions, found);
    }
    for call in module.calls.values() {
        let inputs = call.inputs.values().map(|(e, _)| e);
        let keys = call.providers.iter().flatten().filter_map(|p| p.key.as_ref());
        inputs.chain(keys).chain(call.repetition.expr()).for_each(|e| references.in_expr(m, e, found));
    }
    for resource in module.resources.values() {
        let key = resource.provider_key.as_ref();
        resource.repetition.expr().into_iter().chain(key).for_each(|e| references.in_expr(m, e, found));
        let l = &resource.lifecycle;
        references.in_conditions(m, CheckKind::Resource, &l.preconditions, found);
        references.in_conditions(m, CheckKind::Resource, &l.postconditions, found);
    }
    for variable in module.variables.values() {
        references.in_conditions(m, CheckKind::Variable, &variable.validations, found);
    }
    for check in module.checks.values() {
        references.in_conditions(m, CheckKind::Check, &check.asserts, found);
    }
}

fn compile_resource(
    block: &model::ResourceBlock,
    module: &model::Module,
    provider: &dyn crate::plugin::Provider,
    provider_addr: &addr::Provider,
    types: &mut Types,
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
    let (layout, info) = types
        .entry((Arc::as_ptr(&schema), ty.clone()))
        .or_insert_with(|| (Layout::new(&schema.block), Arc::new(TypeInfo::new(ty.clone(), schema.clone()))));
    let decoder = compile_body(&block.body, layout, module, allowed, diags);
    let provisioners = block
        .provisioners
        .iter()
        .map(|p| compile_provisioner(p, block.connection.as_ref(), module, allowed, diags))
        .collect();
    Some(Arc::new(ResourceProgram { info: info.clone(), decoder, provisioners }))
}

fn compile_provisioner(
    p: &model::Provisioner,
    of_resource: Option<&Body>,
    module: &model::Module,
    allowed: Allowed,
    diags: &mut Diagnostics,
) -> Option<ProvisionerProgram> {
    let Some(schema) = provision::schema(&p.ty) else {
        diags.push(provision::unknown(p));
        return None;
    };
    let allowed = Allowed { self_object: true, ..allowed };
    let decoder = compile_body(&p.body, &Layout::new(schema), module, allowed, diags);
    let connection = match (of_resource, &p.connection) {
        (Some(of_resource), Some(own)) => Some(of_resource.clone().overridden_by(own.clone())),
        (of_resource, own) => own.as_ref().or(of_resource).cloned(),
    };
    let connection = connection.map(|body| {
        // The resource's block may be read for several provisioners: what is wrong with it is said once.
        let mut found = Diagnostics::new();
        let decoder = compile_body(&body, &Layout::new(provision::connection_schema()), module, allowed, &mut found);
        let new: Vec<Diagnostic> = found.into_iter().filter(|d| !diags.iter().any(|known| known == d)).collect();
        diags.extend(new);
        decoder
    });
    Some(ProvisionerProgram { decoder, connection })
}

/// Reads a body by a schema; its names mean objects of `module`.
fn compile_body(
    body: &Body,
    layout: &Arc<Layout>,
    module: &model::Module,
    allowed: Allowed,
    diags: &mut Diagnostics,
) -> Decoder {
    Decoder::compile(body, layout, module, allowed, diags)
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
    AbsProviderConfig { module: addr::Module::root(), provider, alias: None, key: crate::addr::InstanceKey::None }
}

//! The configuration as plan documents show it: blocks with the constants and references of their expressions.

use super::value;
use super::write::{Members, array, object, string};
use crate::addr::{Mode, Provider};
use crate::config::model::{
    Config, LocalProviderConfig, ModuleCall, ModuleNode, ProviderConfig, Provisioner, Repetition, ResourceBlock,
};
use crate::config::version::Constraints;
use crate::diag::{Diagnostics, Sources};
use crate::engine::provision;
use crate::engine::schemas::{Schemas, provider_of};
use crate::lang::decode::{Block, Decoder, Layout, Setting};
use crate::lang::resolve::Allowed;
use crate::lang::syntax::{Body, Expr, Traversal};
use crate::lang::visit::Met;
use gpuform_schema::Str;
use gpuform_schema::schema::{self, Nesting};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// What names may stand in the expressions; all are allowed, since nothing is checked here.
const ANY: Allowed<'static> =
    Allowed { count: true, each: true, self_object: true, tests: true, check: None, scoped: &[] };

/// Appends the configuration.
pub fn configuration(config: &Config, schemas: &Schemas, out: &mut String) {
    let mut writer = Writer { config, schemas, layouts: HashMap::new() };
    object(out, |m| {
        writer.provider_configs(m);
        writer.module(m.key("root_module"), &config.root);
    });
}

struct Writer<'a> {
    config: &'a Config,
    schemas: &'a Schemas,
    /// By schema block.
    layouts: HashMap<*const schema::Block, Arc<Layout>>,
}

/// A provider configuration as it is listed.
struct Listed<'a> {
    node: &'a ModuleNode,
    local: LocalProviderConfig,
    provider: Provider,
    block: Option<&'a ProviderConfig>,
}

impl Writer<'_> {
    fn provider_configs(&mut self, m: &mut Members<'_>) {
        let mut all: BTreeMap<String, Listed<'_>> = BTreeMap::new();
        self.config.root.visit(&mut |node| {
            let written = node.module.provider_configs.keys().cloned();
            let default = |name: &Str| LocalProviderConfig { name: name.clone(), alias: None };
            for local in written.chain(node.module.required_providers.keys().map(default)) {
                let (owner, own) = self.source(node, &local);
                if owner.addr == node.addr && own == local {
                    let provider = provider_of(node, &local.name);
                    let block = node.module.provider_configs.get(&local);
                    all.insert(key(node, &local), Listed { node, local, provider, block });
                }
            }
            // A provider that goes by another name here is listed by its own as well.
            for (name, required) in &node.module.required_providers {
                let provider = required.source.clone();
                let (local, own) = (default(&provider.ty), default(name));
                let key = key(node, &local);
                if all.contains_key(&key) || self.source(node, &own).0.addr != node.addr {
                    continue;
                }
                all.insert(key, Listed { node, local, provider, block: None });
            }
        });
        if all.is_empty() {
            return;
        }
        m.object("provider_config", |m| {
            for (key, p) in all {
                m.object(&key, |m| self.provider_config(m, &p));
            }
        });
    }

    fn provider_config(&mut self, m: &mut Members<'_>, p: &Listed<'_>) {
        m.string("name", &p.local.name);
        m.display("full_name", &p.provider);
        if let Some(alias) = &p.local.alias {
            m.string("alias", alias);
        }
        let required = p.node.module.required_providers.get(&p.local.name).and_then(|r| r.version.as_ref());
        let version = required.or(p.block.and_then(|b| b.version.as_ref()));
        if let Some(constraints) = version.and_then(|(text, _)| Constraints::of_provider(text).ok()) {
            m.display("version_constraint", &constraints);
        }
        if !p.node.addr.is_root() {
            m.display("module_address", &p.node.addr);
        }
        if let (Some(block), Some(schema)) = (p.block, self.schemas.provider(&p.provider)) {
            self.expressions(m, &block.body, &schema.block, p.node);
        }
    }

    fn module(&mut self, out: &mut String, node: &ModuleNode) {
        let module = &node.module;
        object(out, |m| {
            if !module.outputs.is_empty() {
                m.object("outputs", |m| {
                    for (name, o) in sorted(&module.outputs) {
                        m.object(name, |m| {
                            if o.sensitive {
                                m.bool("sensitive", true);
                            }
                            if o.ephemeral {
                                m.bool("ephemeral", true);
                            }
                            expression(&self.config.sources, &o.expr, m.key("expression"));
                            depends_on(m, &o.depends_on);
                            if let Some(text) = o.description.as_ref().filter(|d| !d.is_empty()) {
                                m.string("description", text);
                            }
                        });
                    }
                });
            }
            let listed = |b: &&ResourceBlock| !b.generated && b.mode() != Mode::Ephemeral;
            if module.resources.values().any(|b| listed(&&**b)) {
                let mut blocks: Vec<&ResourceBlock> = module.resources.values().map(|b| &**b).filter(listed).collect();
                let rank = |mode| match mode {
                    Mode::Managed => 0,
                    Mode::Data => 1,
                    Mode::Ephemeral => 2,
                };
                blocks.sort_by_cached_key(|b| (rank(b.mode()), b.addr.to_string()));
                m.array("resources", blocks, |b, out| self.resource(out, node, b));
            }
            if !module.calls.is_empty() {
                m.object("module_calls", |m| {
                    for (name, call) in sorted(&module.calls) {
                        let child = module.calls.get_index_of(name).and_then(|i| node.children.get(i));
                        m.object(name, |m| self.call(m, call, child));
                    }
                });
            }
            if !module.variables.is_empty() {
                m.object("variables", |m| {
                    for (name, v) in sorted(&module.variables) {
                        m.object(name, |m| {
                            if let Some(default) = &v.default {
                                value::known(default, m.key("default"));
                            }
                            if let Some(text) = v.description.as_ref().filter(|d| !d.is_empty()) {
                                m.string("description", text);
                            }
                            if v.sensitive {
                                m.bool("sensitive", true);
                            }
                        });
                    }
                });
            }
        });
    }

    fn resource(&mut self, out: &mut String, node: &ModuleNode, block: &ResourceBlock) {
        let provider = provider_of(node, &block.provider.name);
        object(out, |m| {
            m.display("address", &block.addr);
            m.string("mode", block.mode().as_str());
            m.string("type", &block.addr.ty);
            m.string("name", &block.addr.name);
            m.string("provider_config_key", self.provider_key(node, &block.provider));
            if !block.provisioners.is_empty() {
                m.array("provisioners", &block.provisioners, |p, out| self.provisioner(out, node, p));
            }
            if let Some(info) = self.schemas.resource(&provider, block.mode(), &block.addr.ty) {
                self.expressions(m, &block.body, &info.schema.block, node);
                m.number("schema_version", info.schema.version);
            }
            repetition(&self.config.sources, m, &block.repetition);
            depends_on(m, &block.depends_on);
        });
    }

    fn provisioner(&mut self, out: &mut String, node: &ModuleNode, p: &Provisioner) {
        object(out, |m| {
            m.string("type", &p.ty);
            if let Some(schema) = provision::schema(&p.ty) {
                self.expressions(m, &p.body, schema, node);
            }
        });
    }

    fn call(&mut self, m: &mut Members<'_>, call: &ModuleCall, child: Option<&Arc<ModuleNode>>) {
        let source = child.and_then(|c| c.source.as_ref());
        m.string("source", source.map_or(&call.source, |s| &s.address));
        if !call.inputs.is_empty() {
            m.object("expressions", |m| {
                for (name, (e, _)) in sorted(&call.inputs) {
                    expression(&self.config.sources, e, m.key(name));
                }
            });
        }
        repetition(&self.config.sources, m, &call.repetition);
        if let Some(child) = child {
            self.module(m.key("module"), child);
        }
        if let Some((version, _)) = source.map_or(&call.version, |s| &s.version) {
            m.string("version_constraint", version);
        }
        depends_on(m, &call.depends_on);
    }

    /// The expressions of a body, where it sets anything.
    fn expressions(&mut self, m: &mut Members<'_>, body: &Body, schema: &schema::Block, node: &ModuleNode) {
        let layout = self.layouts.entry(std::ptr::from_ref(schema)).or_insert_with(|| Layout::new(schema));
        let decoder = Decoder::compile(body, layout, &*node.module, ANY, &mut Diagnostics::new());
        let mut text = String::new();
        block(&self.config.sources, &mut text, decoder.block());
        if text != "{}" {
            m.key("expressions").push_str(&text);
        }
    }

    /// The key under which a provider configuration is listed.
    fn provider_key(&self, node: &ModuleNode, local: &LocalProviderConfig) -> String {
        let (owner, own) = self.source(node, local);
        key(owner, &own)
    }

    /// Where a provider configuration comes from: the module that has it, and its name there. One that is neither
    /// written nor passed is that of the calling module, if that uses the provider too.
    fn source<'n>(
        &'n self,
        node: &'n ModuleNode,
        local: &LocalProviderConfig,
    ) -> (&'n ModuleNode, LocalProviderConfig) {
        let here = || (node, local.clone());
        if node.module.provider_configs.contains_key(local) {
            return here();
        }
        let Some((parent, call)) = self.caller(node) else { return here() };
        let passed = call.providers.as_ref().and_then(|list| list.iter().find(|p| p.child == *local));
        if let Some(passed) = passed {
            return self.source(parent, &passed.parent);
        }
        if local.alias.is_some() {
            return here();
        }
        let provider = provider_of(node, &local.name);
        let mut same = parent.module.required_providers.iter().filter(|(_, r)| r.source == provider);
        match same.next() {
            Some((name, _)) => self.source(parent, &LocalProviderConfig { name: name.clone(), alias: None }),
            None => here(),
        }
    }

    /// The module that calls this one, and the call.
    fn caller(&self, node: &ModuleNode) -> Option<(&ModuleNode, &ModuleCall)> {
        let (last, path) = node.addr.0.split_last()?;
        let mut parent: &ModuleNode = &self.config.root;
        for name in path {
            parent = parent.children.get(parent.module.calls.get_index_of(name)?)?;
        }
        Some((parent, parent.module.calls.get(last)?))
    }
}

fn key(node: &ModuleNode, local: &LocalProviderConfig) -> String {
    if node.addr.is_root() { local.to_string() } else { format!("{}:{local}", node.addr) }
}

fn sorted<V>(map: &crate::hash::IndexMap<Str, V>) -> Vec<(&Str, &V)> {
    let mut all: Vec<_> = map.iter().collect();
    all.sort_by_key(|(name, _)| *name);
    all
}

fn depends_on(m: &mut Members<'_>, list: &[Traversal]) {
    m.strings("depends_on", list.iter().filter_map(|t| t.prefixes().into_iter().next()));
}

fn repetition(sources: &Sources, m: &mut Members<'_>, r: &Repetition) {
    let (name, e) = match r {
        Repetition::Single => return,
        Repetition::Count(e) => ("count_expression", e),
        Repetition::ForEach(e) => ("for_each_expression", e),
        Repetition::Enabled(e) => ("enabled_expression", e),
    };
    let mut text = String::new();
    expression(sources, e, &mut text);
    if text != "{}" {
        m.key(name).push_str(&text);
    }
}

fn block(sources: &Sources, out: &mut String, b: Block<'_>) {
    object(out, |m| {
        for (name, setting) in b.settings() {
            match setting {
                Setting::Attribute(e) => expression(sources, e, m.key(name)),
                Setting::Blocks(blocks) if blocks.attribute => {
                    let mut references = Vec::new();
                    blocks.fixed.iter().for_each(|(_, b)| b.expressions(&mut |e| add_references(e, &mut references)));
                    for (how_often, b) in &blocks.dynamic {
                        how_often.iter().for_each(|e| add_references(e, &mut references));
                        b.expressions(&mut |e| add_references(e, &mut references));
                    }
                    object(m.key(name), |m| m.strings("references", &references));
                }
                // What `dynamic` blocks make is not known here.
                Setting::Blocks(blocks) => match (blocks.nesting, &blocks.fixed[..]) {
                    (_, []) => {}
                    (Nesting::Single | Nesting::Group, [(_, only), ..]) => block(sources, m.key(name), *only),
                    (Nesting::Map, labelled) => m.object(name, |m| {
                        for (label, b) in labelled {
                            block(sources, m.key(label.map_or("", |l| l)), *b);
                        }
                    }),
                    (_, list) => m.array(name, list, |(_, b), out| block(sources, out, *b)),
                },
            }
        }
    });
}

/// Appends the constant value of an expression, or what it refers to.
fn expression(sources: &Sources, e: &Expr, out: &mut String) {
    let mut references = Vec::new();
    add_references(e, &mut references);
    let constant = constant(sources, e);
    object(out, |m| {
        if let Some(v) = constant {
            value::known(&v, m.key("constant_value"));
        }
        if !references.is_empty() {
            array(m.key("references"), &references, |r, out| string(out, r));
        }
    });
}

/// The value of an expression without names and function calls; in JSON syntax the value as it is written, with the
/// names in its texts.
fn constant(sources: &Sources, e: &Expr) -> Option<gpuform_schema::Value> {
    if sources.get(e.range.file).is_some_and(|f| f.name.ends_with(".json")) {
        return gpuform_schema::json::decode_untyped(sources.text(e.range)).ok();
    }
    let mut plain = true;
    e.visit(&mut |_: Met<'_>| plain = false);
    if !plain {
        return None;
    }
    e.eval_constant(&mut Diagnostics::new()).filter(gpuform_schema::Value::is_wholly_known)
}

fn add_references(e: &Expr, out: &mut Vec<String>) {
    e.visit_traversals(&mut |t| out.extend(t.prefixes()));
}

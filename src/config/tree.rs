//! The tree of modules: loading the modules that are called, checking what is passed to them, and working out which
//! provider configuration each name in a module means.

use super::decode::call::check_source;
use super::early::{Early, Frame};
use super::model::{
    Backend, CallSource, Config, LocalProviderConfig, Module, ModuleCall, ModuleNode, PassedKey, PassedProvider,
    ProviderRequirement,
};
use super::version::{Constraints, Version};
use super::{imports, module};
use crate::addr::{self, AbsProviderConfig, Provider};
use crate::diag::{Diagnostic, Diagnostics, Failure, Range, Sources};
use crate::lang::suggest::did_you_mean;
use crate::lang::syntax::Body;
use gpuform_schema::Str;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Finds the directories of called modules.
pub trait ModuleResolver {
    /// The directory of a module, relative to that of the root module.
    ///
    /// # Errors
    /// When the module is not there yet.
    fn resolve(&self, request: &ModuleRequest) -> Result<PathBuf, Failure>;

    /// Whether the modules that a broken one calls are loaded too, so that all that is wrong is told at once.
    fn goes_on(&self) -> bool {
        false
    }
}

/// A module that is called.
pub struct ModuleRequest<'a> {
    /// The path of the call: `module.a.module.b`.
    pub path: &'a addr::Module,
    pub call: &'a ModuleCall,
    pub source: &'a CallSource,
    /// The directory of the calling module, relative to that of the root module.
    pub parent_dir: &'a Path,
}

/// What loading depends on besides the files.
pub struct LoadOptions<'a> {
    pub modules: &'a dyn ModuleResolver,
    /// The version of Terraform that we answer as to `required_version`.
    pub version: Version,
    /// Where texts of files are registered; may hold others already.
    pub sources: Sources,
    /// For sources of modules and arguments of the backend that are made from variables.
    pub early: Early<'a>,
}

/// Modules call modules at most this deep.
const MAX_DEPTH: usize = 100;

/// Loads the configuration in a directory. Every error of every file is reported, in the order of files; there is a
/// configuration when there is no error.
pub fn load(dir: &Path, options: &LoadOptions) -> (Option<Config>, Diagnostics) {
    load_from(dir, &Start::default(), options)
}

/// The root module alone, without what it calls; `None` if it has errors.
pub fn load_root(dir: &Path, sources: &Sources) -> Option<Module> {
    let mut diags = Diagnostics::new();
    let here = PathBuf::from(".");
    let module = module::load(dir, &here, here.clone(), sources, &mut diags);
    module.filter(|_| !diags.has_errors())
}

/// Where a configuration begins, and what is given to it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Start {
    /// The directory of the root module, relative to the directory that is loaded.
    pub root: PathBuf,
    /// Configurations of providers that the root module may use without having a block for them.
    pub providers: Vec<LocalProviderConfig>,
}

impl Default for Start {
    /// The directory itself, with nothing given.
    fn default() -> Self {
        Start { root: PathBuf::from("."), providers: Vec::new() }
    }
}

/// As [`load`], from a module below the directory.
pub fn load_from(dir: &Path, start: &Start, options: &LoadOptions) -> (Option<Config>, Diagnostics) {
    let mut diags = Diagnostics::new();
    let mut loader = Loader { dir, options, modules: HashMap::new(), diags: &mut diags };
    let root = loader.root(&start.root);
    let node = match root {
        // Elsewhere, what a broken module calls is not even looked at: the calls may be what is broken.
        Some(module) if !loader.diags.has_errors() || options.modules.goes_on() => {
            let broken = loader.diags.has_errors();
            let address = addr::Module::root();
            let frame = Frame::root(&module, &options.early);
            let mut node = loader.node(address, module.clone(), None, &frame, &mut Vec::new());
            if !broken {
                loader.check_tree(&mut node, &start.providers);
            }
            Some(node)
        }
        _ => None,
    };
    let sources = options.sources.clone();
    let mut diags = sorted(diags);
    let Some(node) = node.filter(|_| !diags.has_errors()) else { return (None, diags) };
    let root = Arc::new(node.finish());
    let mut all = Vec::new();
    root.visit(&mut |node| all.push(node));
    check_versions(&all, &options.version, &mut diags);
    if diags.has_errors() {
        return (None, diags);
    }
    let reference_problems = reference_problems(&all);
    drop(all);
    (Some(Config { root, sources, reference_problems }), diags)
}

impl ModuleNode {
    /// Calls `f` for this module and all below it.
    pub fn visit<'a>(&'a self, f: &mut dyn FnMut(&'a ModuleNode)) {
        f(self);
        self.children.iter().for_each(|c| c.visit(f));
    }
}

/// The requirement of the provider that a name implies, if it is required by another name alone.
fn required_otherwise<'a>(m: &'a Module, name: &str) -> Option<(&'a Str, &'a ProviderRequirement)> {
    let implied = m.required_providers.get(name).filter(|r| r.range.is_none())?;
    m.required_providers.iter().find(|(_, r)| r.range.is_some() && r.source == implied.source)
}

/// In the order of files and of places in them; what has no place comes last.
fn sorted(diags: Diagnostics) -> Diagnostics {
    let mut list: Vec<Diagnostic> = diags.into_iter().collect();
    list.sort_by_key(|d| d.subject.map_or((u32::MAX, 0), |r| (r.file.0, r.start)));
    list.into_iter().collect()
}

/// A node while the tree is being built.
struct Node {
    addr: addr::Module,
    module: Arc<Module>,
    source: Option<CallSource>,
    children: Vec<Node>,
    providers: BTreeMap<LocalProviderConfig, AbsProviderConfig>,
    provider_keys: BTreeMap<LocalProviderConfig, Arc<PassedKey>>,
}

impl Node {
    fn finish(self) -> ModuleNode {
        ModuleNode {
            addr: self.addr,
            module: self.module,
            source: self.source,
            children: self.children.into_iter().map(|c| Arc::new(c.finish())).collect(),
            providers: self.providers,
            provider_keys: self.provider_keys,
        }
    }
}

/// The configuration that a module inherits for a provider, with the key of its instance where a call has chosen one.
type Inherited = BTreeMap<Provider, (AbsProviderConfig, Option<Arc<PassedKey>>)>;

/// What the calling module knows of providers.
struct Around<'a> {
    module: &'a Module,
    providers: &'a BTreeMap<LocalProviderConfig, AbsProviderConfig>,
    keys: &'a BTreeMap<LocalProviderConfig, Arc<PassedKey>>,
    defaults: &'a Inherited,
}

struct Loader<'a, 'd> {
    dir: &'a Path,
    options: &'a LoadOptions<'a>,
    /// Modules by their directory: calls of the same one share it.
    modules: HashMap<PathBuf, Option<Arc<Module>>>,
    diags: &'d mut Diagnostics,
}

impl Loader<'_, '_> {
    /// The root module, with the values of expressions in its backend block.
    fn root(&mut self, relative: &Path) -> Option<Arc<Module>> {
        let mut module = self.read(relative)?;
        if let Some(backend) = &module.backend {
            let (body, problems) = Frame::root(&module, &self.options.early).backend(backend);
            module.backend = Some(Backend { body, problems, ..backend.clone() });
        }
        let module = Arc::new(module);
        self.modules.insert(relative.to_owned(), Some(module.clone()));
        Some(module)
    }

    /// The module in a directory, relative to that of the root module. `None` if it cannot be read.
    fn module(&mut self, relative: &Path) -> Option<Arc<Module>> {
        if let Some(known) = self.modules.get(relative) {
            return known.clone();
        }
        let loaded = self.read(relative).map(Arc::new);
        self.modules.insert(relative.to_owned(), loaded.clone());
        loaded
    }

    fn read(&mut self, relative: &Path) -> Option<Module> {
        let dir = self.dir.join(relative);
        let path = relative.strip_prefix(".").unwrap_or(relative);
        let path = if path.as_os_str().is_empty() { PathBuf::from(".") } else { path.to_owned() };
        module::load(&dir, &path, path.clone(), &self.options.sources, self.diags)
    }

    /// Where a called module comes from; `None` after an error.
    fn source(&mut self, call: &ModuleCall, path: &addr::Module, frame: &Frame) -> Option<CallSource> {
        if call.early_source.is_none() && call.early_version.is_none() {
            return Some(CallSource { address: call.source.clone(), version: call.version.clone() });
        }
        let mut version = call.version.clone();
        if let Some(e) = &call.early_version {
            let text = frame.text(e, &format!("The version of {path}"), self.diags)?;
            if let Err(problem) = text.parse::<Constraints>() {
                self.diags.error("Invalid version constraint", format!("\"{text}\": {problem}"), e.range);
                return None;
            }
            version = Some((text, e.range));
        }
        let address = match &call.early_source {
            Some(e) => frame.text(e, &format!("The source of {path}"), self.diags)?,
            None => call.source.clone(),
        };
        if let Err((summary, detail)) = check_source(&address, version.is_some()) {
            self.diags.error(summary, detail, call.source_range);
            return None;
        }
        Some(CallSource { address, version })
    }

    /// The module and everything that it calls. `above` holds the directories of the modules around it.
    fn node(
        &mut self,
        addr: addr::Module,
        module: Arc<Module>,
        source: Option<CallSource>,
        frame: &Frame,
        above: &mut Vec<PathBuf>,
    ) -> Node {
        above.push(module.dir.clone());
        let mut children = Vec::with_capacity(module.calls.len());
        for call in module.calls.values() {
            let path = addr.child(call.name.clone());
            if call.source.is_empty() && call.early_source.is_none() {
                continue; // It is broken or missing, which was told.
            }
            let Some(from) = self.source(call, &path, frame) else { continue };
            let request = ModuleRequest { path: &path, call, source: &from, parent_dir: &module.dir };
            let dir = match self.options.modules.resolve(&request) {
                Ok(dir) => dir,
                Err(failure) => {
                    self.diags.push(failure);
                    continue;
                }
            };
            let same = |d: &PathBuf| d.strip_prefix(".").unwrap_or(d) == dir.strip_prefix(".").unwrap_or(&dir);
            if above.iter().any(same) || above.len() >= MAX_DEPTH {
                self.diags.error(
                    "Module calls itself",
                    format!(
                        "The directory \"{}\" is that of a module around this call, which would never end.",
                        dir.display()
                    ),
                    call.source_range,
                );
                continue;
            }
            if let Some(child) = self.module(&dir) {
                self.check_child_module(&path, &child);
                let inner = frame.child(&child, call);
                children.push(self.node(path, child.clone(), Some(from), &inner, above));
            }
        }
        above.pop();
        Node { addr, module, source, children, providers: BTreeMap::new(), provider_keys: BTreeMap::new() }
    }

    /// What only the root module may have.
    fn check_child_module(&mut self, path: &addr::Module, child: &Module) {
        for import in &child.imports {
            let detail = format!("Imports stand in the root module only; this one is in {path}.");
            self.diags.error("Invalid import configuration", detail, import.range);
        }
        if let Some(range) = child.backend.as_ref().map(|b| b.range).or(child.cloud) {
            let detail = "The root module alone says where the state is kept.";
            let told = |d: &Diagnostic| d.subject == Some(range);
            if !self.diags.iter().any(told) {
                self.diags.warning("Backend configuration ignored", detail, range);
            }
        }
    }

    fn check_tree(&mut self, root: &mut Node, given: &[LocalProviderConfig]) {
        let mut defaults = BTreeMap::new();
        let m = root.module.clone();
        imports::check(&m, &self.options.sources, self.diags);
        for (name, requirement) in &m.required_providers {
            let default = absolute(addr::Module::root(), &requirement.source, None);
            defaults.insert(requirement.source.clone(), (default.clone(), None));
            root.providers.insert(LocalProviderConfig { name: name.clone(), alias: None }, default);
        }
        for key in m.provider_configs.keys().chain(given) {
            let config = absolute(addr::Module::root(), &source_of(&m, &key.name), key.alias.clone());
            root.providers.insert(key.clone(), config);
        }
        self.check_implied_names(&m);
        self.check_implied_duplicates(&m);
        for child in &mut root.children {
            let around =
                Around { module: &m, providers: &root.providers, keys: &root.provider_keys, defaults: &defaults };
            self.check_child(child, &around, None);
        }
    }

    /// Resources of a provider that is not required by the name that they imply, but by another one.
    fn check_implied_names(&mut self, m: &Module) {
        for block in m.resources.values().filter(|b| b.provider_range.is_none()) {
            let told = |d: &Diagnostic| d.subject == Some(block.header_range);
            if let Some((name, _)) = required_otherwise(m, &block.provider.name)
                && !self.diags.iter().any(told)
            {
                let detail = format!(
                    "{} needs the provider \"{}\", which is required as \"{name}\". Use the same name in required_providers, or \
                     set provider = {name} here.",
                    block.addr, block.provider.name
                );
                self.diags.warning("Duplicate required provider", detail, block.header_range);
            }
        }
    }

    /// A provider block for a name that is not required, while another name stands for the same provider.
    fn check_implied_duplicates(&mut self, m: &Module) {
        for key in m.provider_configs.keys() {
            if let Some((name, requirement)) = required_otherwise(m, &key.name) {
                let detail = format!(
                    "{} is required as \"{name}\", but configured as \"{}\". Use the same name in both places.",
                    requirement.source.for_display(),
                    key.name
                );
                self.diags.warning("Duplicate required provider", detail, requirement.range);
            }
        }
    }

    /// Checks what the call passes to a module and works out its provider configurations. `no_configs` is the
    /// argument of a call around or of this one that forbids the module to configure providers.
    fn check_child(&mut self, node: &mut Node, around: &Around, no_configs: Option<Range>) {
        let parent = around.module;
        let m = node.module.clone();
        let Some(call) = node.addr.0.last().and_then(|name| parent.calls.get(name)) else { return };
        let no_configs = call.repetition.expr().map(|e| e.range).or(call.depends_on_range).or(no_configs);
        let passed = call.providers.as_deref().unwrap_or_default();
        for p in passed {
            self.check_passed(p, &node.addr, &m, parent);
        }
        self.check_aliases(call, &m, passed);
        self.check_implied_names(&m);
        let mut defaults = around.defaults.clone();
        let mut configured = false;
        for (key, config) in &m.provider_configs {
            let empty = is_empty(&config.body) && config.for_each.is_none();
            configured |= !empty;
            if empty {
                self.warn_empty(config.range);
            }
            let absolute = absolute(node.addr.clone(), &source_of(&m, &key.name), key.alias.clone());
            node.providers.insert(key.clone(), absolute);
        }
        if let Some(range) = no_configs.filter(|_| configured) {
            let detail = format!(
                "{} configures a provider itself, so it cannot be called with count, for_each or depends_on. Take the \
                 provider blocks out of the module and pass it the configurations.",
                node.addr
            );
            self.diags.error("Module is incompatible with count, for_each, and depends_on", detail, range);
        }
        for p in passed {
            let source = source_of(parent, &p.parent.name);
            let given = around.providers.get(&p.parent).map(|c| (c.clone(), around.keys.get(&p.parent).cloned()));
            let given = given.or_else(|| p.parent.alias.is_none().then(|| default_for(&source, around.defaults)));
            if let Some((config, key)) = given {
                let own = p.key.clone().map(|expr| Arc::new(PassedKey { called: node.addr.clone(), expr }));
                node.provider_keys.extend(own.or(key).map(|key| (p.child.clone(), key)));
                node.providers.insert(p.child.clone(), config);
            }
        }
        for (name, requirement) in &m.required_providers {
            let local = LocalProviderConfig { name: name.clone(), alias: None };
            if !node.providers.contains_key(&local) {
                let (config, key) = default_for(&requirement.source, around.defaults);
                node.provider_keys.extend(key.map(|key| (local.clone(), key)));
                node.providers.insert(local.clone(), config);
            }
            let known = node.providers.get(&local).map(|c| (c.clone(), node.provider_keys.get(&local).cloned()));
            defaults.extend(known.map(|known| (requirement.source.clone(), known)));
        }
        let Node { children, providers, provider_keys, .. } = node;
        for child in children {
            let around = Around { module: &m, providers, keys: provider_keys, defaults: &defaults };
            self.check_child(child, &around, no_configs);
        }
    }

    /// One entry of `providers`.
    fn check_passed(&mut self, p: &PassedProvider, path: &addr::Module, child: &Module, parent: &Module) {
        let own = child.provider_configs.get(&p.child);
        if own.is_some_and(|c| !is_empty(&c.body) || c.for_each.is_some()) {
            let detail = format!("{path} has a configuration of its own for {}, which cannot be replaced.", p.child);
            self.diags.error("Cannot override provider configuration", detail, p.child_range);
        }
        const UNDEFINED: &str = "Reference to undefined provider";
        let requirement = child.required_providers.get(&p.child.name).filter(|r| r.range.is_some());
        let declared = match &p.child.alias {
            None => requirement.is_some(),
            Some(_) => requirement.is_some_and(|r| r.configuration_aliases.contains(&p.child)),
        };
        let proxy = own.is_some_and(|c| is_empty(&c.body) && c.for_each.is_none());
        if !declared && !proxy {
            let detail = format!(
                "{path} does not require a provider \"{}\", so it is taken for {}. Add it to the required_providers of the \
                 module.",
                p.child,
                source_of(child, &p.child.name).for_display()
            );
            self.diags.warning(UNDEFINED, detail, p.child_range);
        }
        let parent_required = parent.required_providers.get(&p.parent.name).is_some_and(|r| r.range.is_some());
        if p.parent.alias.is_none() && !parent_required {
            let detail = format!(
                "The calling module does not require a provider \"{}\", so it is taken for {}. Add it to the \
                 required_providers there.",
                p.parent.name,
                source_of(parent, &p.parent.name).for_display()
            );
            self.diags.warning(UNDEFINED, detail, p.range);
        }
        let required = |m: &Module, name: &str| match m.required_providers.get(name).filter(|r| r.range.is_some()) {
            Some(r) => r.source.clone(),
            // Here the name alone never means the built-in provider.
            None => Provider::new(addr::DEFAULT_REGISTRY, "hashicorp", name),
        };
        let (ours, theirs) = (required(parent, &p.parent.name), required(child, &p.child.name));
        if ours != theirs {
            let detail = format!(
                "\"{}\" is {} here, but in {path} \"{}\" is {}: the two have nothing in common but the name.",
                p.parent.name,
                ours.for_display(),
                p.child.name,
                theirs.for_display()
            );
            self.diags.error("Provider type mismatch", detail, p.range);
        }
    }

    /// Configurations that a module asks its callers for.
    fn check_aliases(&mut self, call: &ModuleCall, child: &Module, passed: &[PassedProvider]) {
        for requirement in child.required_providers.values() {
            for alias in &requirement.configuration_aliases {
                let given = passed.iter().any(|p| p.child == *alias) || child.provider_configs.contains_key(alias);
                if !given {
                    let detail = format!(
                        "The module needs a configuration of {} under the name {alias}. Add it to \"providers\" of the \
                         call.",
                        requirement.source.for_display()
                    );
                    self.diags.error("Missing required provider configuration", detail, call.header_range);
                }
            }
        }
    }

    fn warn_empty(&mut self, range: Range) {
        if self.diags.iter().any(|d| d.subject == Some(range)) {
            return;
        }
        self.diags.warning(
            "Redundant empty provider block",
            "An empty provider block in a module was once the way to say that a configuration is passed in. Name the \
             provider in the required_providers of the module and take the block out.",
            range,
        );
    }
}

fn absolute(module: addr::Module, provider: &Provider, alias: Option<Str>) -> AbsProviderConfig {
    AbsProviderConfig { module, provider: provider.clone(), alias, key: crate::addr::InstanceKey::None }
}

/// The default configuration of a provider that a module inherits; where nothing is written, an empty one in the root.
fn default_for(provider: &Provider, inherited: &Inherited) -> (AbsProviderConfig, Option<Arc<PassedKey>>) {
    inherited.get(provider).cloned().unwrap_or_else(|| (absolute(addr::Module::root(), provider, None), None))
}

fn source_of(module: &Module, name: &str) -> Provider {
    module.required_providers.get(name).map_or_else(|| Provider::implied(name), |r| r.source.clone())
}

/// Whether a provider block says nothing beyond its name and alias.
fn is_empty(body: &Body) -> bool {
    match body {
        Body::Native(b) => b.attributes.is_empty() && b.blocks.is_empty(),
        Body::Json(_) => {
            let mut quiet = Diagnostics::new();
            body.clone().just_attributes(&mut quiet).is_empty()
        }
        Body::Merged(both) => both.iter().all(is_empty),
    }
}

fn check_versions(nodes: &[&ModuleNode], version: &Version, diags: &mut Diagnostics) {
    for node in nodes {
        for (text, range) in &node.module.required_versions {
            let allowed = text.parse::<Constraints>().is_ok_and(|c| c.allow(version));
            if !allowed && diags.iter().all(|d| d.subject != Some(*range)) {
                let who = if node.addr.is_root() { "This configuration".into() } else { node.addr.to_string() };
                let detail = format!(
                    "{who} does not support version {version} of the language and command line, which this program \
                     implements. If it works all the same, widen the constraint."
                );
                diags.error("Unsupported Terraform Core version", detail, *range);
            }
        }
    }
}

/// Inputs that do not fit the modules that are called, and providers that are not there.
fn reference_problems(nodes: &[&ModuleNode]) -> Diagnostics {
    let mut problems = Diagnostics::new();
    let mut seen = HashSet::new();
    if let Some(root) = nodes.first() {
        imports::problems(root, &mut problems);
    }
    check_passed_configurations(nodes, &mut problems);
    let passed = problems.has_errors();
    for node in nodes {
        if !passed {
            check_provider_references(node, &mut problems);
        }
        let address = Arc::as_ptr(&node.module);
        if seen.insert(address) {
            problems.extend(node.module.reference_problems.clone());
            check_provider_keys(&node.module, &mut problems);
            for child in &node.children {
                let call = child.addr.0.last().and_then(|name| node.module.calls.get(name));
                if let Some(call) = call {
                    check_inputs(call, &child.module, &mut problems);
                }
            }
        }
    }
    sorted(problems)
}

/// Calls that pass a provider configuration that does not exist. What follows from that is not told as well.
fn check_passed_configurations(nodes: &[&ModuleNode], problems: &mut Diagnostics) {
    for node in nodes {
        let calls = node.module.calls.values().zip(&node.children);
        let passed = calls.flat_map(|(call, child)| call.providers.iter().flatten().map(move |p| (p, child)));
        for (p, child) in passed.filter(|(p, _)| p.parent.alias.is_some() && !node.providers.contains_key(&p.parent)) {
            let missing = absolute(node.addr.clone(), &source_of(&node.module, &p.parent.name), p.parent.alias.clone());
            let detail = format!(
                "The call of {} passes the provider configuration {}, which is neither written in the calling module nor \
                 passed to it.",
                child.addr, p.parent
            );
            problems.push(Diagnostic::error(format!("missing provider {missing}"), detail));
        }
    }
}

/// Resources whose provider configuration does not exist.
fn check_provider_references(node: &ModuleNode, problems: &mut Diagnostics) {
    for resource in node.module.resources.values() {
        if !node.providers.contains_key(&resource.provider) {
            let detail = format!(
                "{} needs the provider configuration {}, which is neither written in its module nor passed to it.",
                resource.addr, resource.provider
            );
            problems.push(Diagnostic::error("Provider configuration not present", detail));
        }
    }
}

/// A provider configuration with `for_each` is used by the key of one of its instances, any other without.
fn check_provider_keys(module: &Module, problems: &mut Diagnostics) {
    let resources = module.resources.values().map(|r| (&r.provider, &r.provider_key, r.provider_range));
    let passed = module.calls.values().flat_map(|c| c.providers.iter().flatten());
    let passed = passed.map(|p| (&p.parent, &p.key, Some(p.range)));
    for (local, key, range) in resources.chain(passed) {
        let repeated = module.provider_configs.get(local).is_some_and(|c| c.for_each.is_some());
        match (repeated, key, range) {
            (true, None, Some(range)) => {
                let detail = format!(
                    "{local} has \"for_each\", so it stands for several instances, of which one must be chosen by its key: \
                     {local}[each.key]."
                );
                problems.error("Provider instance key required", detail, range);
            }
            (false, Some(key), _) => {
                let detail =
                    format!("{local} is a single configuration here, without \"for_each\", so it takes no key.");
                problems.error("Invalid provider instance key", detail, key.range);
            }
            _ => {}
        }
    }
}

fn check_inputs(call: &ModuleCall, child: &Module, problems: &mut Diagnostics) {
    for v in child.variables.values() {
        if v.default.is_none() && !call.inputs.contains_key(&v.name) {
            let detail = format!("The module needs a value for its variable \"{}\".", v.name);
            problems.error("Missing required argument", detail, call.missing_range);
        }
    }
    for (name, (_, range)) in &call.inputs {
        if !child.variables.contains_key(name) {
            let hint = did_you_mean(name, child.variables.keys().map(|n| &**n));
            problems.error("Unsupported argument", format!("The module has no variable \"{name}\".{hint}"), *range);
        }
    }
}

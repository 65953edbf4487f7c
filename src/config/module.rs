//! One module: the files of a directory, put together. Override files are merged into the blocks of the others before
//! anything is decoded, so that each object is decoded once, as it will be.

use super::decode::{self, Cx, terraform::TerraformBlock};
use super::files;
use super::imports;
use super::model::{Import, Module, ResourceBlock};
use super::names;
use crate::addr::{Mode, Resource};
use crate::diag::{Diagnostics, Range, Sources};
use crate::hash::{HashMap, IndexMap};
use crate::lang::body::BodySchema;
use crate::lang::syntax::{Attribute, Block, Body, ExprKind};
use gpuform_schema::Str;
use indexmap::IndexSet;
use indexmap::map::Entry;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Reads the module in a directory. `dir` is how the program reaches it, `shown` how messages call it, `path` what
/// `path.module` is. `None` if the directory cannot be read; otherwise the module with all that could be understood.
pub(super) fn load(
    dir: &Path,
    shown: &Path,
    path: PathBuf,
    sources: &Sources,
    diags: &mut Diagnostics,
) -> Option<Module> {
    let found = match files::find(dir) {
        Ok(found) => found,
        Err(e) => {
            let detail = format!("The directory \"{}\" could not be read: {e}.", shown.display());
            diags.push(crate::diag::Diagnostic::error("Failed to read module directory", detail));
            return None;
        }
    };
    let mut builder = Builder {
        module: Module { dir: path, ..Module::default() },
        json: HashSet::new(),
        sources,
        first: FirstPlaces::default(),
    };
    let mut blocks = Vec::new();
    for file in &found.primary {
        blocks.extend(builder.read(file, shown, diags));
    }
    let mut overrides = Overrides::default();
    for file in &found.overrides {
        let content = builder.read(file, shown, diags);
        merge(&mut blocks, content, &mut overrides, diags);
    }
    builder.decode(blocks, overrides, diags);
    let mut module = builder.module;
    let mut problems = Diagnostics::new();
    names::resolve(&mut module, &mut problems);
    imports::declare_targets(&mut module);
    module.name_problems = problems;
    Some(module)
}

struct Builder<'s> {
    module: Module,
    json: HashSet<crate::diag::FileId>,
    sources: &'s Sources,
    first: FirstPlaces,
}

/// Where the first of things that may stand only once was found.
#[derive(Default)]
struct FirstPlaces {
    required_providers: Option<Range>,
}

/// What override files say apart from what is merged into blocks.
#[derive(Default)]
struct Overrides {
    terraform: Vec<Block>,
    /// Blocks of local values, whose names must exist.
    locals: Vec<Block>,
    /// The last block that changes the type or the default value of a variable, but not both.
    variables: HashMap<Str, Range>,
}

impl Builder<'_> {
    /// Reads a file; gives its top-level blocks.
    fn read(&mut self, file: &Path, shown: &Path, diags: &mut Diagnostics) -> Vec<Block> {
        static SCHEMA: LazyLock<BodySchema> = LazyLock::new(files::schema);
        let name = files::display(&shown.join(file.file_name().unwrap_or_default()));
        let Some(parsed) = files::read(file, &name, self.sources, diags) else { return Vec::new() };
        self.module.files.push(parsed.id);
        if parsed.json {
            self.json.insert(parsed.id);
        }
        parsed.body.content(&SCHEMA, diags).blocks
    }

    fn decode(&mut self, blocks: Vec<Block>, overrides: Overrides, diags: &mut Diagnostics) {
        let mut cx = Cx { json: std::mem::take(&mut self.json), diags };
        let mut checked: Vec<(Str, ResourceBlock)> = Vec::new();
        for block in blocks {
            match &*block.ty {
                "terraform" => {
                    let t = cx.terraform(block);
                    self.terraform(t, false, &mut cx);
                }
                "required_providers" => cx.error(
                    "Invalid required_providers block",
                    "A \"required_providers\" block stands within a \"terraform\" block.",
                    block.ty_range,
                ),
                "provider" => self.provider(block, &mut cx),
                "variable" => {
                    let changed_by = block.labels.first().and_then(|l| overrides.variables.get(&l.text));
                    let v = cx.variable(block, changed_by.copied());
                    self.variable(v, &mut cx);
                }
                "locals" => self.locals(block, &mut cx),
                "output" => self.output(block, &mut cx),
                "module" => self.call(block, &mut cx),
                "resource" => self.resource(block, Mode::Managed, &mut cx),
                "data" => self.resource(block, Mode::Data, &mut cx),
                "ephemeral" => self.resource(block, Mode::Ephemeral, &mut cx),
                "moved" => self.module.moved.extend(cx.moved(block)),
                "removed" => self.module.removed.extend(cx.removed(block)),
                "import" => {
                    let import = cx.import(block);
                    self.module.imports.extend(import);
                }
                _ => checked.extend(self.check(block, &mut cx)),
            }
        }
        if let (Some(cloud), Some(backend)) = (self.module.cloud, &self.module.backend) {
            let place = self.describe(cloud);
            let detail = format!("The state is kept either by a backend or by a cloud block, which is at {place}.");
            cx.error("Both a backend and cloud configuration are present", detail, backend.range);
        }
        for (check, data) in checked {
            self.checked_data(check, data, &mut cx);
        }
        for block in overrides.locals {
            self.override_locals(block, &mut cx);
        }
        let mut versions_replaced = false;
        for block in overrides.terraform {
            let t = cx.terraform(block);
            if t.required_version.is_some() && !std::mem::replace(&mut versions_replaced, true) {
                self.module.required_versions.clear();
            }
            self.terraform(t, true, &mut cx);
        }
        self.implied_requirements();
    }

    fn describe(&self, range: Range) -> String {
        self.sources.describe(range)
    }

    fn duplicate(&self, summary: impl Into<String>, what: &str, first: Range, again: Range, cx: &mut Cx) {
        let detail =
            format!("{what} is declared at {} already. Names must be unique within a module.", self.describe(first));
        cx.error(summary, detail, again);
    }

    fn terraform(&mut self, t: TerraformBlock, overriding: bool, cx: &mut Cx) {
        self.module.required_versions.extend(t.required_version);
        for (requirements, range) in t.required_providers {
            if overriding {
                self.module.required_providers.extend(requirements);
                continue;
            }
            match self.first.required_providers {
                None => {
                    self.first.required_providers = Some(range);
                    self.module.required_providers.extend(requirements);
                }
                Some(first) => {
                    let detail =
                        format!("A module has one required_providers block; it is at {}.", self.describe(first));
                    cx.error("Duplicate required providers configuration", detail, range);
                }
            }
        }
        for backend in t.backends {
            match &self.module.backend {
                Some(first) if !overriding => {
                    let detail =
                        format!("A module has one backend; it is configured at {}.", self.describe(first.range));
                    cx.error("Duplicate backend configuration", detail, backend.range);
                }
                _ => {
                    if overriding {
                        self.module.cloud = None;
                    }
                    self.module.backend = Some(backend);
                }
            }
        }
        for cloud in t.clouds {
            match self.module.cloud {
                Some(first) if !overriding => {
                    let detail = format!("A module has one cloud block; it is at {}.", self.describe(first));
                    cx.error("Duplicate HCP Terraform configurations", detail, cloud);
                }
                _ => {
                    if overriding {
                        self.module.backend = None;
                    }
                    self.module.cloud = Some(cloud);
                }
            }
        }
        for (provider, body, range) in t.provider_metas {
            match self.module.provider_metas.get(&provider.text) {
                Some((_, first)) => {
                    let detail = format!("There is one for this provider at {} already.", self.describe(*first));
                    cx.error("Duplicate provider_meta block", detail, range);
                }
                None => {
                    for a in body.clone().just_attributes(cx.diags) {
                        let _ = a.expr.eval_constant(cx.diags);
                    }
                    self.module.provider_metas.insert(provider.text, (body, provider.range));
                }
            }
        }
    }

    fn provider(&mut self, block: Block, cx: &mut Cx) {
        let config = cx.provider(block);
        let key = super::model::LocalProviderConfig { name: config.name.clone(), alias: config.alias.clone() };
        match self.module.provider_configs.entry(key) {
            Entry::Vacant(e) => {
                e.insert(config);
            }
            Entry::Occupied(e) => {
                let first = self.sources.describe(e.get().range);
                let detail = match &config.alias {
                    Some(alias) => {
                        format!("\"{}\" is configured with the alias \"{alias}\" at {first} already.", config.name)
                    }
                    None => format!(
                        "\"{}\" is configured at {first} already. Further configurations need an alias each.",
                        config.name
                    ),
                };
                cx.error("Duplicate provider configuration", detail, config.range);
            }
        }
    }

    fn variable(&mut self, v: super::model::Variable, cx: &mut Cx) {
        match self.module.variables.get(&v.name) {
            Some(first) => {
                let (range, what) = (first.range, format!("A variable \"{}\"", v.name));
                self.duplicate("Duplicate variable declaration", &what, range, v.range, cx);
            }
            None => {
                self.module.variables.insert(v.name.clone(), v);
            }
        }
    }

    fn locals(&mut self, block: Block, cx: &mut Cx) {
        for (name, local) in cx.locals(block) {
            match self.module.locals.get(&name) {
                Some(first) => {
                    let what = format!("A local value \"{name}\"");
                    self.duplicate("Duplicate local value definition", &what, first.range, local.range, cx);
                }
                None => {
                    self.module.locals.insert(name, local);
                }
            }
        }
    }

    fn override_locals(&mut self, block: Block, cx: &mut Cx) {
        for (name, local) in cx.locals(block) {
            match self.module.locals.get_mut(&name) {
                Some(base) => *base = local,
                None => no_base(
                    "Missing base local value definition to override",
                    &format!("local value \"{name}\""),
                    local.range,
                    cx.diags,
                ),
            }
        }
    }

    fn output(&mut self, block: Block, cx: &mut Cx) {
        let (name, output) = cx.output(block);
        match self.module.outputs.get(&name) {
            Some(first) => {
                let what = format!("An output \"{name}\"");
                self.duplicate("Duplicate output definition", &what, first.range, output.range, cx);
            }
            None => {
                self.module.outputs.insert(name, output);
            }
        }
    }

    fn call(&mut self, block: Block, cx: &mut Cx) {
        let call = cx.module_call(block, &mut self.module.reference_problems);
        match self.module.calls.get(&call.name) {
            Some(first) => {
                let what = format!("A module call \"{}\"", call.name);
                self.duplicate("Duplicate module call", &what, first.range, call.range, cx);
            }
            None => {
                self.module.calls.insert(call.name.clone(), call);
            }
        }
    }

    fn resource(&mut self, block: Block, mode: Mode, cx: &mut Cx) {
        let resource = cx.resource(block, mode);
        self.add_resource(resource, "", cx);
    }

    fn add_resource(&mut self, resource: ResourceBlock, extra: &str, cx: &mut Cx) -> Option<usize> {
        match self.module.resources.entry(resource.addr.clone()) {
            Entry::Vacant(e) => {
                let slot = e.index();
                e.insert(Box::new(resource));
                Some(slot)
            }
            Entry::Occupied(e) => {
                let addr = &resource.addr;
                let detail = format!(
                    "{addr} is declared at {} already. Names must be unique for each type within a module{extra}.",
                    self.sources.describe(e.get().range)
                );
                let kind = decode::resource::kind_name(addr.mode, &addr.ty);
                cx.error(format!("Duplicate {kind} configuration"), detail, resource.range);
                None
            }
        }
    }

    fn check(&mut self, block: Block, cx: &mut Cx) -> Option<(Str, ResourceBlock)> {
        let (check, data) = cx.check(block);
        let name = check.name.clone();
        match self.module.checks.get(&name) {
            Some(first) => {
                let (range, what) = (first.range, format!("A check \"{name}\""));
                self.duplicate(format!("Duplicate check \"{name}\" configuration"), &what, range, check.range, cx);
                None
            }
            None => {
                self.module.checks.insert(name.clone(), check);
                data.map(|d| (name, d))
            }
        }
    }

    fn checked_data(&mut self, check: Str, data: ResourceBlock, cx: &mut Cx) {
        let slot = self.add_resource(data, ", those in check blocks included", cx);
        if let Some(check) = self.module.checks.get_mut(&check) {
            check.data = slot.map(|s| s as u32);
        }
    }

    /// Providers that are used without being required.
    fn implied_requirements(&mut self) {
        let m = &mut self.module;
        let used = m.resources.values().map(|r| &r.provider.name);
        let configured = m.provider_configs.keys().map(|p| &p.name);
        let undeclared =
            |i: &&Import| i.to.resource.module.is_root() && !m.resources.contains_key(&i.to.resource.resource);
        let imported: Vec<Str> = m.imports.iter().filter(undeclared).map(|i| imports::provider_of(i).name).collect();
        let passed = m.calls.values().flat_map(|c| c.providers.iter().flatten()).map(|p| &p.parent.name);
        let names: IndexSet<Str> = used.chain(configured).chain(&imported).chain(passed).cloned().collect();
        for name in names {
            m.required_providers.entry(name.clone()).or_insert_with(|| super::model::ProviderRequirement {
                source: crate::addr::Provider::implied(&name.to_lowercase()),
                version: None,
                configuration_aliases: Vec::new(),
                range: None,
            });
        }
    }
}

fn no_base(summary: &str, what: &str, at: Range, diags: &mut Diagnostics) {
    let detail = format!("An override file changes what other files declare, and none declares a {what}.");
    diags.error(summary, detail, at);
}

/// Merges the blocks of an override file into those of the files before it.
fn merge(base: &mut Vec<Block>, other: Vec<Block>, overrides: &mut Overrides, diags: &mut Diagnostics) {
    let index: IndexMap<Key, usize> = base.iter().enumerate().rev().filter_map(|(i, b)| Some((key(b)?, i))).collect();
    for block in other {
        let at = block.header_range;
        let name = || block.labels.last().map(|l| l.text.to_string()).unwrap_or_default();
        match &*block.ty {
            "terraform" => {
                overrides.terraform.push(block);
                continue;
            }
            "locals" => {
                overrides.locals.push(block);
                continue;
            }
            "moved" => {
                let detail = "Moves stand in normal files only.";
                diags.error("Cannot override 'moved' blocks", detail, at);
                continue;
            }
            "import" => {
                let detail = "Imports stand in normal files only.";
                diags.error("Cannot override 'import' blocks", detail, at);
                continue;
            }
            "check" => {
                diags.error("Can't override check blocks", "Checks stand in normal files only.", at);
                continue;
            }
            "removed" => {
                base.push(block);
                continue;
            }
            _ => {}
        }
        let target = key(&block).and_then(|k| index.get(&k)).and_then(|i| base.get_mut(*i));
        let Some(target) = target else {
            // A default configuration may be written in an override file alone.
            if &*block.ty == "provider" && key(&block).is_some_and(|(_, _, alias)| alias.is_none()) {
                base.push(block);
                continue;
            }
            let (summary, what) = match &*block.ty {
                "variable" => ("Missing base variable declaration to override", "variable"),
                "output" => ("Missing base output definition to override", "output"),
                "module" => ("Missing module call to override", "module call"),
                "provider" => ("Missing base provider configuration for override", "provider configuration"),
                "data" => ("Missing data resource to override", "data source"),
                "ephemeral" => ("Missing ephemeral resource to override", "ephemeral resource"),
                _ => ("Missing resource to override", "resource"),
            };
            no_base(summary, &format!("{what} \"{}\"", name()), at, diags);
            continue;
        };
        refuse(&block, diags);
        if &*block.ty == "variable" && changes_half_of_a_variable(&block) {
            overrides.variables.insert(name().into(), at);
        }
        let body = std::mem::replace(&mut target.body, Body::empty(at));
        target.body = body.overridden_by(block.body);
    }
}

/// Whether the type is changed and the default value is kept, or the other way round: then they may not fit.
fn changes_half_of_a_variable(block: &Block) -> bool {
    static SCHEMA: LazyLock<BodySchema> = LazyLock::new(|| BodySchema::new().optional(["type", "default"]));
    let (mut content, _) = block.body.clone().partial_content(&SCHEMA, &mut Diagnostics::new());
    content.take("type").is_some() != content.take("default").is_some()
}

/// What a block is known by.
type Key = (Str, Vec<Str>, Option<String>);

fn key(block: &Block) -> Option<Key> {
    let labels = block.labels.iter().map(|l| l.text.clone()).collect();
    let alias = if &*block.ty == "provider" { decode::provider::alias(block) } else { None };
    match &*block.ty {
        "provider" | "variable" | "output" | "module" | "resource" | "data" | "ephemeral" => {
            Some((block.ty.clone(), labels, alias))
        }
        _ => None,
    }
}

/// Reports what an override file cannot change: dependencies and conditions.
fn refuse(block: &Block, diags: &mut Diagnostics) {
    static SCHEMA: LazyLock<BodySchema> = LazyLock::new(|| {
        BodySchema::new()
            .optional(["depends_on"])
            .block("validation", &[])
            .block("precondition", &[])
            .block("postcondition", &[])
            .block("lifecycle", &[])
    });
    let mut quiet = Diagnostics::new();
    let (mut content, _) = block.body.clone().partial_content(&SCHEMA, &mut quiet);
    let depends_on: Option<Attribute> = content.take("depends_on");
    if let Some(a) = depends_on.filter(|_| &*block.ty != "variable") {
        let detail = "An override file cannot change \"depends_on\".";
        let first = match &a.expr.kind {
            // An empty list changes nothing.
            ExprKind::Tuple(items) => items.first().map(|e| e.range),
            _ => Some(a.expr.range),
        };
        if let Some(at) = first {
            diags.error("Unsupported override", detail, at);
        }
    }
    let resource = matches!(&*block.ty, "resource" | "data" | "ephemeral");
    let nested = content.blocks.iter().filter(|b| resource == (&*b.ty == "lifecycle"));
    for b in nested {
        if !resource {
            refuse_condition(b, diags);
            continue;
        }
        let (inner, _) = b.body.clone().partial_content(&SCHEMA, &mut quiet);
        inner.blocks.iter().for_each(|b| refuse_condition(b, diags));
    }
}

fn refuse_condition(block: &Block, diags: &mut Diagnostics) {
    diags.error(
        format!("Can't override {} blocks", block.ty),
        format!("An override file cannot change \"{}\" blocks.", block.ty),
        block.header_range,
    );
}

/// Slot lookups by name.
impl Module {
    /// The slot of a resource.
    pub fn resource_slot(&self, resource: &Resource) -> Option<u32> {
        self.resources.get_index_of(resource).map(|i| i as u32)
    }
}

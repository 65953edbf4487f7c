//! Test files to the model: block by block, everything checked that needs no provider and no values.

use super::files;
use super::model::{AlternateModule, Command, Mock, ProviderKind, Run, RunOptions, Suite, TestFile, TestProvider};
use crate::addr::{ResourceInstance, Target};
use crate::config::decode::{Cx, label};
use crate::config::model::LocalProviderConfig;
use crate::config::source::ModuleSource;
use crate::config::{Parsed, read_file};
use crate::diag::{Diagnostics, Range, Sources};
use crate::engine::plan::PlanMode;
use crate::lang::body::BodySchema;
use crate::lang::parse::is_identifier;
use crate::lang::static_expr;
use crate::lang::syntax::{Attribute, Block, Body, Traversal};
use gpuform_schema::{Str, Value};
use indexmap::IndexMap;
use std::collections::HashSet;
use std::path::Path;
use std::sync::{Arc, LazyLock};

static FILE: LazyLock<BodySchema> = LazyLock::new(|| {
    BodySchema::new()
        .block("run", &["name"])
        .block("variables", &[])
        .block("provider", &["name"])
        .block("mock_provider", &["name"])
        .block("override_resource", &[])
        .block("override_data", &[])
        .block("override_module", &[])
});
static RUN: LazyLock<BodySchema> = LazyLock::new(|| {
    BodySchema::new()
        .optional(["command", "providers", "expect_failures", "state_key"])
        .block("plan_options", &[])
        .block("assert", &[])
        .block("variables", &[])
        .block("module", &[])
        .block("override_resource", &[])
        .block("override_data", &[])
        .block("override_module", &[])
});
static OPTIONS: LazyLock<BodySchema> =
    LazyLock::new(|| BodySchema::new().optional(["mode", "refresh", "replace", "target"]));
static MODULE: LazyLock<BodySchema> = LazyLock::new(|| BodySchema::new().optional(["source", "version"]));

/// Loads the test files of the configuration in `dir`: those in the directory itself and in `test_directory`. With
/// errors the files hold what could be understood.
pub fn load(dir: &Path, test_directory: &str, sources: &Sources, diags: &mut Diagnostics) -> Suite {
    let mut suite = Suite::default();
    for (name, found) in files::find(dir, test_directory, diags) {
        let Some(parsed) = read_file(&found.path, &name, sources, diags) else { continue };
        let mut loader = Loader::new(dir, sources, &parsed, diags);
        suite.files.push(loader.file(name, found.in_test_directory, parsed.body));
    }
    suite
}

/// Reads one file.
pub(super) struct Loader<'a, 'd> {
    pub(super) cx: Cx<'d>,
    pub(super) sources: &'a Sources,
    /// Of the root module: where `source` of a mock provider starts from.
    pub(super) dir: &'a Path,
}

impl<'a, 'd> Loader<'a, 'd> {
    pub(super) fn new(
        dir: &'a Path,
        sources: &'a Sources,
        file: &Parsed,
        diags: &'d mut Diagnostics,
    ) -> Loader<'a, 'd> {
        let json = file.json.then_some(file.id).into_iter().collect::<HashSet<_>>();
        Loader { cx: Cx { json, diags }, sources, dir }
    }

    fn file(&mut self, name: String, in_test_directory: bool, body: Body) -> TestFile {
        let mut file = TestFile {
            name,
            in_test_directory,
            variables: IndexMap::new(),
            providers: IndexMap::new(),
            overrides: Vec::new(),
            runs: Vec::new(),
        };
        let mut variables = None;
        for block in self.cx.content(body, &FILE).blocks {
            match &*block.ty {
                "run" => {
                    let run = self.run(block);
                    self.add_run(&mut file, run);
                }
                "variables" => {
                    if self.first("variables", &mut variables, &block) {
                        file.variables = self.variables(block);
                    }
                }
                "provider" => {
                    let range = label(&block, 0).range;
                    let config = self.cx.provider(block);
                    if let Some(e) = &config.for_each {
                        let detail = "A provider of a test file stands for all instances of the one that it replaces, so it \
                                      has no \"for_each\".";
                        self.cx.error("Invalid for_each in provider block", detail, e.range);
                    }
                    let key = LocalProviderConfig { name: config.name.clone(), alias: config.alias.clone() };
                    self.add_provider(
                        &mut file,
                        key,
                        TestProvider { range, kind: ProviderKind::Real(Box::new(config)) },
                    );
                }
                "mock_provider" => {
                    let range = label(&block, 0).range;
                    let (key, mock) = self.mock_provider(block);
                    let kind = ProviderKind::Mock(Arc::new(mock));
                    self.add_provider(&mut file, key, TestProvider { range, kind });
                }
                _ => self.add_override(block, &mut file.overrides),
            }
        }
        file
    }

    pub(super) fn describe(&self, range: Range) -> String {
        self.sources.describe(range)
    }

    /// Whether a block is the first of its kind; a second one is an error.
    fn first(&mut self, what: &str, seen: &mut Option<Range>, block: &Block) -> bool {
        if let Some(first) = seen {
            let detail = format!("There is a \"{what}\" block at {} already.", self.describe(*first));
            self.cx.error(format!("Multiple \"{what}\" blocks"), detail, block.header_range);
            return false;
        }
        *seen = Some(block.header_range);
        true
    }

    fn add_run(&mut self, file: &mut TestFile, run: Run) {
        if let Some(first) = file.runs.iter().find(|r| r.name == run.name) {
            let detail = format!("A run block \"{}\" is at {} already.", run.name, self.describe(first.range));
            self.cx.error("Duplicate \"run\" block names", detail, run.range);
            return;
        }
        file.runs.push(run);
    }

    fn add_provider(&mut self, file: &mut TestFile, key: LocalProviderConfig, provider: TestProvider) {
        if let Some(first) = file.providers.get(&key) {
            let detail = format!("The provider {key} is configured at {} already.", self.describe(first.range));
            self.cx.error("Duplicate provider block", detail, provider.range);
            return;
        }
        file.providers.insert(key, provider);
    }

    fn variables(&mut self, block: Block) -> IndexMap<Str, Attribute> {
        block.body.just_attributes(self.cx.diags).into_iter().map(|a| (a.name.clone(), a)).collect()
    }

    fn run(&mut self, block: Block) -> Run {
        let name = label(&block, 0);
        if !is_identifier(&name.text) {
            self.cx.check_name(&name, "Invalid run block name");
        }
        let body = block.body.range();
        let mut content = self.cx.content(block.body, &RUN);
        let command = content.take("command").and_then(|a| self.command(&a)).unwrap_or_default();
        let providers = content.take("providers").map(|a| self.cx.passed_providers(a)).unwrap_or_default();
        if let Some(key) = providers.iter().find_map(|p| p.key.as_ref()) {
            let detail = "Provider configurations of test files have no instances, so a key has no meaning here.";
            self.cx.error("Invalid provider instance key", detail, key.range);
        }
        let expect_failures = content.take("expect_failures").map(|a| self.cx.depends_on(a)).unwrap_or_default();
        let state_key = content.take("state_key").and_then(|a| self.cx.string(&a));
        let mut run = Run {
            name: name.text,
            range: block.header_range,
            body,
            command,
            options: RunOptions::default(),
            variables: IndexMap::new(),
            module: None,
            providers,
            asserts: Vec::new(),
            expect_failures,
            overrides: Vec::new(),
            state_key,
        };
        let (mut variables, mut options, mut module) = (None, None, None);
        for block in content.blocks {
            match &*block.ty {
                "assert" => run.asserts.extend(self.cx.condition(block, "assert")),
                "variables" => {
                    if self.first("variables", &mut variables, &block) {
                        run.variables = self.variables(block);
                    }
                }
                "plan_options" => {
                    if self.first("plan_options", &mut options, &block) {
                        run.options = self.options(block);
                    }
                }
                "module" => {
                    if self.first("module", &mut module, &block) {
                        run.module = self.module(block);
                    }
                }
                _ => self.add_override(block, &mut run.overrides),
            }
        }
        run
    }

    /// A keyword without quotes, of those that an argument takes.
    pub(super) fn keyword(&mut self, a: &Attribute, choices: &[&'static str], summary: &str) -> Option<&'static str> {
        let json = self.cx.is_json(a.range);
        let given = static_expr::keyword(&a.expr, json);
        let found = choices.iter().find(|c| given == Some(**c)).copied();
        if found.is_none() {
            let detail = format!("\"{}\" takes one of the words {}, without quotes.", a.name, choices.join(" and "));
            self.cx.error(summary, detail, a.expr.range);
        }
        found
    }

    fn command(&mut self, a: &Attribute) -> Option<Command> {
        self.keyword(a, &["apply", "plan"], "Invalid \"command\" keyword").map(|k| match k {
            "plan" => Command::Plan,
            _ => Command::Apply,
        })
    }

    fn options(&mut self, block: Block) -> RunOptions {
        let mut content = self.cx.content(block.body, &OPTIONS);
        let mut options = RunOptions::default();
        let mode = content.take("mode");
        if let Some(a) = mode
            && self.keyword(&a, &["normal", "refresh-only"], "Invalid \"mode\" keyword") == Some("refresh-only")
        {
            options.mode = PlanMode::RefreshOnly;
        }
        if let Some(a) = content.take("refresh") {
            options.refresh = self.cx.bool(&a).unwrap_or(true);
            if !options.refresh && options.mode == PlanMode::RefreshOnly {
                self.cx.error(
                    "Incompatible plan options",
                    "In the mode \"refresh-only\" nothing but refreshing is done, so it cannot be switched off.",
                    a.range,
                );
            }
        }
        if let Some(a) = content.take("replace") {
            let wanted = self.cx.depends_on(a);
            options.replace = wanted.iter().filter_map(|t| self.instance(t)).collect();
        }
        if let Some(a) = content.take("target") {
            let wanted = self.cx.depends_on(a);
            options.targets = wanted.iter().filter_map(|t| self.cx.target(t)).collect();
        }
        options
    }

    /// A resource instance to be replaced.
    fn instance(&mut self, t: &Traversal) -> Option<ResourceInstance> {
        match self.cx.target(t)? {
            Target::Instance(i) => Some(i),
            Target::Resource(r) => Some(r.instance(crate::addr::InstanceKey::None)),
            Target::Module(_) => {
                self.cx.error("Invalid address", "A module cannot be replaced, only a resource instance.", t.range());
                None
            }
        }
    }

    fn module(&mut self, block: Block) -> Option<AlternateModule> {
        let range = block.header_range;
        let mut content = self.cx.content(block.body, &MODULE);
        let version = content.take("version").and_then(|a| self.cx.version_constraint(&a));
        let Some(source) = content.take("source") else {
            let detail = "A run of another module has to say where that module is.";
            self.cx.error("Missing \"source\" attribute for module block", detail, range);
            return None;
        };
        let text = self.cx.string(&source)?;
        let source_range = source.expr.range;
        match ModuleSource::parse(&text) {
            Err(e) => self.cx.error("Invalid module source address", e, source_range),
            Ok(ModuleSource::Local(_) | ModuleSource::Remote(_)) if version.is_some() => self.cx.error(
                "Invalid registry module source address",
                format!("A version can be chosen only of modules from a registry, and \"{text}\" is no such address."),
                source_range,
            ),
            Ok(_) => return Some(AlternateModule { source: text, source_range, version, range }),
        }
        None
    }

    /// The alias of a mock provider.
    pub(super) fn alias(&mut self, a: &Attribute) -> Option<Str> {
        let alias = self.cx.string(a)?;
        if !is_identifier(&alias) {
            let detail =
                "An alias begins with a letter or underscore and holds only letters, digits, underscores and dashes.";
            self.cx.error("Invalid provider configuration alias", detail, a.expr.range);
            return None;
        }
        Some(alias.into())
    }

    /// A constant value of any type; `None` after an error.
    pub(super) fn constant(&mut self, a: &Attribute) -> Option<Value> {
        a.expr.eval_constant(self.cx.diags)
    }
}

impl Mock {
    /// Takes over what is not said yet.
    pub(super) fn complete_with(&mut self, other: Mock) {
        for (name, data) in other.resources {
            self.resources.entry(name).or_insert(data);
        }
        for (name, data) in other.data_sources {
            self.data_sources.entry(name).or_insert(data);
        }
        for o in other.overrides {
            if self.overrides.iter().all(|own| own.target != o.target) {
                self.overrides.push(o);
            }
        }
    }
}

//! Mock providers and overrides in test files, and the files that mock providers read their data from.

use super::files;
use super::loader::Loader;
use super::model::{Mock, MockData, Override};
use crate::addr::{Mode, Target};
use crate::config::decode::label;
use crate::config::model::LocalProviderConfig;
use crate::config::read_file;
use crate::lang::body::{BodySchema, Content};
use crate::lang::syntax::{Attribute, Block, Body};
use gpuform_schema::{Str, Value};
use std::path::Path;
use std::sync::{Arc, LazyLock};

static MOCK_PROVIDER: LazyLock<BodySchema> = LazyLock::new(|| {
    BodySchema::new()
        .optional(["alias", "source", "override_during"])
        .block("mock_resource", &["type"])
        .block("mock_data", &["type"])
        .block("override_resource", &[])
        .block("override_data", &[])
});
static MOCK_FILE: LazyLock<BodySchema> = LazyLock::new(|| {
    BodySchema::new()
        .block("mock_resource", &["type"])
        .block("mock_data", &["type"])
        .block("override_resource", &[])
        .block("override_data", &[])
});
static MOCK_DATA: LazyLock<BodySchema> = LazyLock::new(|| BodySchema::new().optional(["defaults", "override_during"]));
static OVERRIDE: LazyLock<BodySchema> =
    LazyLock::new(|| BodySchema::new().optional(["target", "values", "override_during"]));
static OVERRIDE_MODULE: LazyLock<BodySchema> =
    LazyLock::new(|| BodySchema::new().optional(["target", "outputs", "override_during"]));

impl Loader<'_, '_> {
    pub(super) fn mock_provider(&mut self, block: Block) -> (LocalProviderConfig, Mock) {
        let name = label(&block, 0);
        self.cx.check_provider_name(&name.text, name.range);
        let mut content = self.cx.content(block.body, &MOCK_PROVIDER);
        let alias = content.take("alias").and_then(|a| self.alias(&a));
        let during_plan = self.during_plan(&mut content).unwrap_or(false);
        let source = content.take("source");
        let mut mock = self.mock(content, during_plan);
        if let Some(a) = source
            && let Some(source) = self.cx.string(&a)
        {
            let more = self.mock_files(&a, &source, during_plan);
            mock.complete_with(more);
        }
        (LocalProviderConfig { name: name.text, alias }, mock)
    }

    fn mock(&mut self, content: Content, during_plan: bool) -> Mock {
        let mut mock = Mock::default();
        for block in content.blocks {
            match &*block.ty {
                "mock_resource" | "mock_data" => self.mock_type(block, during_plan, &mut mock),
                _ => self.add_override_during(block, during_plan, &mut mock.overrides),
            }
        }
        mock
    }

    /// `mock_resource` or `mock_data`.
    fn mock_type(&mut self, block: Block, during_plan: bool, mock: &mut Mock) {
        let name = label(&block, 0).text;
        let (kind, range) = (block.ty, block.header_range);
        let mut content = self.cx.content(block.body, &MOCK_DATA);
        let during_plan = self.during_plan(&mut content).unwrap_or(during_plan);
        let data = self.data(content.take("defaults"), "defaults", &kind, range, during_plan);
        let table = if &*kind == "mock_data" { &mut mock.data_sources } else { &mut mock.resources };
        if let Some(first) = table.get(&name).map(|d| d.range) {
            let detail = format!("The type {name} has a \"{kind}\" block at {} already.", self.describe(first));
            self.cx.error(format!("Duplicate {kind} block"), detail, range);
            return;
        }
        table.insert(name, data);
    }

    /// The data in the `*.tfmock.hcl` and `*.tfmock.json` files of a directory.
    fn mock_files(&mut self, at: &Attribute, source: &str, during_plan: bool) -> Mock {
        let relative = Path::new(source).strip_prefix(".").unwrap_or(Path::new(source));
        let dir = self.dir.join(relative);
        let names = match files::find_mocks(&dir) {
            Ok(names) => names,
            Err(e) => {
                let detail = format!("The directory \"{source}\" could not be read: {e}.");
                self.cx.error("Failed to read mock data", detail, at.expr.range);
                return Mock::default();
            }
        };
        let mut all = Mock::default();
        for name in names {
            let shown = relative.join(&name).to_string_lossy().into_owned();
            let Some(parsed) = read_file(&dir.join(&name), &shown, self.sources, self.cx.diags) else { continue };
            let mut loader = Loader::new(self.dir, self.sources, &parsed, self.cx.diags);
            let mock = loader.mock_file(parsed.body, during_plan);
            all.complete_with(mock);
        }
        all
    }

    fn mock_file(&mut self, body: Body, during_plan: bool) -> Mock {
        let content = self.cx.content(body, &MOCK_FILE);
        self.mock(content, during_plan)
    }

    /// Adds an `override_…` block to those of a file or run.
    pub(super) fn add_override(&mut self, block: Block, all: &mut Vec<Override>) {
        self.add_override_during(block, false, all);
    }

    fn add_override_during(&mut self, block: Block, during_plan: bool, all: &mut Vec<Override>) {
        let (kind, range) = (block.ty.clone(), block.header_range);
        let Some(new) = self.override_block(block, during_plan) else { return };
        if let Some(first) = all.iter().find(|o| o.target == new.target) {
            let detail = format!("{} is overridden at {} already.", new.target, self.describe(first.range));
            self.cx.error(format!("Duplicate {kind} block"), detail, range);
            return;
        }
        all.push(new);
    }

    fn override_block(&mut self, block: Block, during_plan: bool) -> Option<Override> {
        let (kind, range) = (block.ty, block.header_range);
        let module = &*kind == "override_module";
        let (schema, argument) = if module { (&OVERRIDE_MODULE, "outputs") } else { (&OVERRIDE, "values") };
        let mut content = self.cx.content(block.body, schema);
        let during_plan = self.during_plan(&mut content).unwrap_or(during_plan);
        let data = self.data(content.take(argument), argument, &kind, range, during_plan);
        let Some(target) = content.take("target") else {
            let detail = format!("A \"{kind}\" block has to say what it overrides.");
            self.cx.error("Missing target attribute", detail, range);
            return None;
        };
        let target = self.target(target, &kind)?;
        Some(Override { target, range, data })
    }

    fn target(&mut self, a: Attribute, kind: &str) -> Option<Target> {
        let endpoint = self.cx.move_endpoint(a)?;
        let mode = match &endpoint.target {
            Target::Module(_) => None,
            Target::Resource(r) => Some(r.resource.mode),
            Target::Instance(i) => Some(i.resource.mode),
        };
        let (fits, what) = match kind {
            "override_module" => (mode.is_none(), "modules"),
            "override_data" => (mode == Some(Mode::Data), "data sources"),
            _ => (mode == Some(Mode::Managed), "resources"),
        };
        if !fits {
            let detail = format!("A \"{kind}\" block overrides {what}; {} is something else.", endpoint.target);
            self.cx.error("Invalid override target", detail, endpoint.range);
            return None;
        }
        Some(endpoint.target)
    }

    /// `override_during`: whether the values are known while planning already.
    fn during_plan(&mut self, content: &mut Content) -> Option<bool> {
        let a = content.take("override_during")?;
        self.keyword(&a, &["plan", "apply"], "Invalid override_during value").map(|k| k == "plan")
    }

    /// The object with values of a block.
    fn data(
        &mut self,
        values: Option<Attribute>,
        argument: &str,
        kind: &Str,
        block: crate::diag::Range,
        during_plan: bool,
    ) -> Arc<MockData> {
        let mut data = MockData { values: Value::empty_object(), range: block, during_plan };
        if let Some(a) = values {
            match self.constant(&a) {
                Some(v) if matches!(v, Value::Object(_) | Value::Map(_)) => {
                    data = MockData { values: v, range: a.range, during_plan };
                }
                Some(_) => {
                    let detail = format!("\"{argument}\" of a \"{kind}\" block is an object: names and their values.");
                    self.cx.error(format!("Invalid {argument} attribute"), detail, a.expr.range);
                }
                None => {}
            }
        }
        Arc::new(data)
    }
}

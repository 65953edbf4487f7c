//! What test files say, checked as far as that is possible without running anything.

use crate::addr::{InstanceKey, ModuleInstance, ResourceInstance, Target};
use crate::config::model::{Condition, LocalProviderConfig, PassedProvider, ProviderConfig};
use crate::diag::Range;
use crate::engine::plan::PlanMode;
use crate::lang::syntax::{Attribute, Traversal};
use gpuform_schema::{Str, Value};
use indexmap::IndexMap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// All test files of a configuration, by name.
#[derive(Clone, Default, Debug)]
pub struct Suite {
    pub files: Vec<TestFile>,
}

/// One `*.tftest.hcl` or `*.tftest.json` file.
#[derive(Clone, Debug)]
pub struct TestFile {
    /// As it is shown and filtered by: relative to the root module, e.g. `tests/network.tftest.hcl`.
    pub name: String,
    /// The file lies in the test directory, whose variable files count for it.
    pub in_test_directory: bool,
    pub variables: IndexMap<Str, Attribute>,
    /// By name and alias, as run blocks refer to them.
    pub providers: IndexMap<LocalProviderConfig, TestProvider>,
    pub overrides: Vec<Override>,
    pub runs: Vec<Run>,
}

/// A provider configuration that a test file gives.
#[derive(Clone, Debug)]
pub struct TestProvider {
    pub range: Range,
    pub kind: ProviderKind,
}

#[derive(Clone, Debug)]
pub enum ProviderKind {
    /// `provider`
    Real(Box<ProviderConfig>),
    /// `mock_provider`
    Mock(Arc<Mock>),
}

/// What a mock provider is told to answer.
#[derive(Clone, Default, Debug)]
pub struct Mock {
    /// `mock_resource`, by type.
    pub resources: BTreeMap<Str, Arc<MockData>>,
    /// `mock_data`, by type.
    pub data_sources: BTreeMap<Str, Arc<MockData>>,
    pub overrides: Vec<Override>,
}

/// Values for the computed attributes of an object.
#[derive(Clone, Debug)]
pub struct MockData {
    /// The values, an object; what it leaves out is made up.
    pub values: Value,
    /// Where the values are written, or the block around them.
    pub range: Range,
    /// The values are known while planning already.
    pub during_plan: bool,
}

/// `override_resource`, `override_data` or `override_module`.
#[derive(Clone, Debug)]
pub struct Override {
    pub target: Target,
    pub range: Range,
    pub data: Arc<MockData>,
}

impl Override {
    /// How exactly the override names an object; `None` if it does not mean it.
    pub fn fits(&self, addr: &ResourceInstance) -> Option<u8> {
        match &self.target {
            Target::Instance(i) => (i == addr).then_some(2),
            Target::Resource(r) => (r.resource == addr.resource && covers(&r.module, &addr.module)).then_some(1),
            Target::Module(_) => None,
        }
    }

    /// How exactly the override names a module instance; `None` if it does not mean it.
    pub fn fits_module(&self, addr: &ModuleInstance) -> Option<u8> {
        match &self.target {
            Target::Module(m) if covers(m, addr) => Some(if m == addr { 2 } else { 1 }),
            _ => None,
        }
    }
}

/// Whether a written module address means a module instance; one without a key means all instances.
fn covers(written: &ModuleInstance, instance: &ModuleInstance) -> bool {
    written.0.len() == instance.0.len()
        && written.0.iter().zip(instance.0.iter()).all(|((a, k), (b, l))| a == b && (*k == InstanceKey::None || k == l))
}

/// What a run block does.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Command {
    #[default]
    Apply,
    Plan,
}

/// A `run` block.
#[derive(Clone, Debug)]
pub struct Run {
    pub name: Str,
    /// Of the header.
    pub range: Range,
    pub body: Range,
    pub command: Command,
    pub options: RunOptions,
    pub variables: IndexMap<Str, Attribute>,
    /// The module that is run in place of the configuration under test.
    pub module: Option<AlternateModule>,
    pub providers: Vec<PassedProvider>,
    pub asserts: Vec<Condition>,
    pub expect_failures: Vec<Traversal>,
    pub overrides: Vec<Override>,
    /// Which of the file's states the run works on, where that is said.
    pub state_key: Option<String>,
}

impl Run {
    /// Which of the file's states the run works on. The configuration under test and each other module have one of
    /// their own.
    pub fn state_key(&self) -> &str {
        match (&self.state_key, &self.module) {
            (Some(key), _) => key,
            (None, Some(module)) => &module.source,
            (None, None) => "",
        }
    }
}

/// `plan_options`
#[derive(Clone, Debug)]
pub struct RunOptions {
    pub mode: PlanMode,
    pub refresh: bool,
    pub targets: Vec<Target>,
    pub replace: Vec<ResourceInstance>,
}

impl Default for RunOptions {
    fn default() -> Self {
        RunOptions { mode: PlanMode::Normal, refresh: true, targets: Vec::new(), replace: Vec::new() }
    }
}

/// The `module` block of a run.
#[derive(Clone, Debug)]
pub struct AlternateModule {
    pub source: String,
    pub source_range: Range,
    pub version: Option<(String, Range)>,
    pub range: Range,
}

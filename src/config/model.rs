//! The declared objects of a configuration, checked as far as that is possible without provider schemas. Expressions
//! are resolved: each traversal names the slot of what it refers to in the tables of its own [`Module`].

use crate::addr::{self, ConfigResource, Mode, Resource, ResourceInstance};
use crate::diag::{Diagnostic, Diagnostics, FileId, Range, Sources};
use crate::hash::{HashSet, IndexMap};
use crate::lang::convert::TypeConstraint;
use crate::lang::syntax::{Body, Expr, Traversal};
use gpuform_schema::{Str, Value};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// A whole configuration: the tree of modules.
#[derive(Clone, Debug)]
pub struct Config {
    pub root: Arc<ModuleNode>,
    pub sources: Sources,
    /// Module inputs and providers that do not fit: errors for everything that evaluates the configuration (`validate`,
    /// `plan`, …), but not for `init` and the commands that only look at the state.
    pub reference_problems: Diagnostics,
}

impl Config {
    /// The names that mean nothing, of each module once, in the order of files.
    pub fn name_problems(&self) -> Vec<Diagnostic> {
        let mut seen = HashSet::default();
        let mut all: Vec<Diagnostic> = Vec::new();
        self.root.visit(&mut |node| {
            if seen.insert(Arc::as_ptr(&node.module)) {
                all.extend(node.module.name_problems.iter().cloned());
            }
        });
        all.sort_by_key(|d| d.subject.map(|r| (r.file.0, r.start)));
        all
    }
}

/// One module call path (`module.a.module.b`), whatever its instances. Calls of the same source directory share
/// their [`Module`].
#[derive(Debug)]
pub struct ModuleNode {
    pub addr: addr::Module,
    pub module: Arc<Module>,
    /// Where it comes from; `None` for the root.
    pub source: Option<CallSource>,
    /// In the order of `module.calls`.
    pub children: Vec<Arc<ModuleNode>>,
    /// Which absolute provider configuration each local provider configuration name means here, e.g.
    /// (`aws`, `Some("west")`); passed down by `providers = {…}` or inherited. Only configurations that exist.
    pub providers: BTreeMap<LocalProviderConfig, addr::AbsProviderConfig>,
    /// Which instance each of them is, for those that a call around here has chosen from a `for_each`.
    pub provider_keys: BTreeMap<LocalProviderConfig, Arc<PassedKey>>,
}

/// The source address of a called module, and the version constraint, as they come out.
#[derive(Clone, Debug)]
pub struct CallSource {
    pub address: String,
    pub version: Option<(String, Range)>,
}

/// The instance of a provider configuration that a module call passes: `aws = aws.by_region[each.key]`.
#[derive(Debug)]
pub struct PassedKey {
    /// The module that is called; the key is evaluated in the module around it, for each instance of the call.
    pub called: addr::Module,
    pub expr: Expr,
}

/// A provider configuration as a module writes it: `aws` or `aws.west`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct LocalProviderConfig {
    pub name: Str,
    pub alias: Option<Str>,
}

impl fmt::Display for LocalProviderConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.alias {
            Some(alias) => write!(f, "{}.{alias}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// The objects declared in one source directory. A slot (`lang::syntax::Slot`) is a position in the matching table.
#[derive(Debug, Default)]
pub struct Module {
    /// As used for `path.module`: relative to the root module's directory, `.` for the root.
    pub dir: PathBuf,
    pub files: Vec<FileId>,
    pub variables: IndexMap<Str, Variable>,
    pub locals: IndexMap<Str, Local>,
    pub outputs: IndexMap<Str, Output>,
    /// Managed, data and ephemeral resources together; slots number them all. Data sources nested in `check` blocks
    /// are here too, with `check` set.
    pub resources: IndexMap<Resource, Box<ResourceBlock>>,
    pub calls: IndexMap<Str, ModuleCall>,
    pub provider_configs: IndexMap<LocalProviderConfig, ProviderConfig>,
    /// Local provider name → requirement, implied ones included.
    pub required_providers: BTreeMap<Str, ProviderRequirement>,
    pub required_versions: Vec<(String, Range)>,
    pub backend: Option<Backend>,
    pub cloud: Option<Range>,
    pub moved: Vec<Moved>,
    pub removed: Vec<Removed>,
    pub imports: Vec<Import>,
    pub checks: IndexMap<Str, Check>,
    /// By local provider name, with the range of that name.
    pub provider_metas: BTreeMap<Str, (Body, Range)>,
    /// What belongs into [`Config::reference_problems`].
    pub reference_problems: Diagnostics,
    /// Names that mean nothing. Each is told when the expression that it stands in would be evaluated.
    pub name_problems: Diagnostics,
}

#[derive(Clone, Debug)]
pub struct Variable {
    pub name: Str,
    pub range: Range,
    pub description: Option<String>,
    pub ty: TypeConstraint,
    /// Whether a type was written (otherwise `any`; values on the command line are then taken as plain strings).
    pub ty_given: bool,
    /// Converted to `ty` already.
    pub default: Option<Value>,
    pub default_range: Option<Range>,
    pub nullable: bool,
    pub sensitive: bool,
    pub ephemeral: bool,
    pub validations: Vec<Condition>,
}

#[derive(Clone, Debug)]
pub struct Local {
    pub range: Range,
    pub expr: Expr,
}

#[derive(Clone, Debug)]
pub struct Output {
    pub range: Range,
    pub description: Option<String>,
    pub expr: Expr,
    pub sensitive: bool,
    pub ephemeral: bool,
    pub depends_on: Vec<Traversal>,
    pub preconditions: Vec<Condition>,
}

/// `condition` and `error_message` of a validation, precondition, postcondition or assertion.
#[derive(Clone, Debug)]
pub struct Condition {
    pub range: Range,
    pub condition: Expr,
    pub error_message: Expr,
}

/// `count`, `for_each` (or OpenTofu's `enabled`) of a resource or module.
#[derive(Clone, Default, Debug)]
pub enum Repetition {
    #[default]
    Single,
    Count(Expr),
    ForEach(Expr),
    Enabled(Expr),
}

#[derive(Clone, Debug)]
pub struct ResourceBlock {
    pub addr: Resource,
    pub range: Range,
    /// `resource "T" "N"`
    pub header_range: Range,
    /// Of the label that names the type.
    pub type_range: Range,
    pub repetition: Repetition,
    /// Everything that is not a meta-argument; decoded against the provider's schema.
    pub body: Body,
    /// The local provider configuration: written, or implied by the type's prefix.
    pub provider: LocalProviderConfig,
    pub provider_range: Option<Range>,
    /// Which instance of a provider configuration with `for_each`, for each instance of the resource.
    pub provider_key: Option<Expr>,
    pub depends_on: Vec<Traversal>,
    pub lifecycle: Lifecycle,
    pub provisioners: Vec<Provisioner>,
    pub connection: Option<Body>,
    /// The `check` block that this data source is nested in.
    pub check: Option<Str>,
    /// Named by an `import` block alone: there is no block, and its configuration is to be generated.
    pub generated: bool,
}

impl ResourceBlock {
    /// Whether provisioners run after a create.
    pub fn has_create_provisioners(&self) -> bool {
        self.provisioners.iter().any(|p| !p.when_destroy)
    }
}

impl ResourceBlock {
    pub fn mode(&self) -> Mode {
        self.addr.mode
    }
}

#[derive(Clone, Default, Debug)]
pub struct Lifecycle {
    pub create_before_destroy: Option<bool>,
    pub prevent_destroy: bool,
    pub prevent_destroy_range: Option<Range>,
    pub ignore_all_changes: bool,
    /// Attribute paths relative to the resource.
    pub ignore_changes: Vec<Traversal>,
    /// References to resources or their attributes.
    pub replace_triggered_by: Vec<Expr>,
    pub preconditions: Vec<Condition>,
    pub postconditions: Vec<Condition>,
}

impl Lifecycle {
    pub fn has_conditions(&self) -> bool {
        !self.preconditions.is_empty() || !self.postconditions.is_empty()
    }
}

#[derive(Clone, Debug)]
pub struct Provisioner {
    pub ty: Str,
    pub range: Range,
    pub body: Body,
    pub connection: Option<Body>,
    pub when_destroy: bool,
    pub on_failure_continue: bool,
}

#[derive(Clone, Debug)]
pub struct ModuleCall {
    pub name: Str,
    pub range: Range,
    pub header_range: Range,
    /// Where to point when an input is missing.
    pub missing_range: Range,
    /// Empty where it is an expression, see `early_source`.
    pub source: String,
    pub source_range: Range,
    pub version: Option<(String, Range)>,
    /// A source that is made from variables and local values, which differ from call to call of this module.
    pub early_source: Option<Expr>,
    /// The same of the version.
    pub early_version: Option<Expr>,
    pub repetition: Repetition,
    /// Input variable name → expression, evaluated in the calling module.
    pub inputs: IndexMap<Str, (Expr, Range)>,
    pub depends_on: Vec<Traversal>,
    pub depends_on_range: Option<Range>,
    /// `providers = { child = parent }`; `None` where not written (default configurations are inherited).
    pub providers: Option<Vec<PassedProvider>>,
}

#[derive(Clone, Debug)]
pub struct PassedProvider {
    pub child: LocalProviderConfig,
    pub child_range: Range,
    pub parent: LocalProviderConfig,
    /// Which instance of the parent's configuration, where that has `for_each`.
    pub key: Option<Expr>,
    /// Of the parent's name.
    pub range: Range,
}

#[derive(Clone, Debug)]
pub struct ProviderConfig {
    pub name: Str,
    pub alias: Option<Str>,
    pub range: Range,
    pub version: Option<(String, Range)>,
    pub body: Body,
    /// OpenTofu's provider `for_each`.
    pub for_each: Option<Expr>,
}

#[derive(Clone, Debug)]
pub struct ProviderRequirement {
    pub source: addr::Provider,
    pub version: Option<(String, Range)>,
    pub configuration_aliases: Vec<LocalProviderConfig>,
    /// `None` for an implied requirement.
    pub range: Option<Range>,
}

#[derive(Clone, Debug)]
pub struct Backend {
    pub ty: Str,
    pub range: Range,
    /// In the root module of a loaded configuration, with the values of expressions in place of them.
    pub body: Body,
    /// Why expressions in it have no value. Told by what uses the backend.
    pub problems: Diagnostics,
}

#[derive(Clone, Debug)]
pub struct Moved {
    pub from: MoveEndpoint,
    pub to: MoveEndpoint,
    pub range: Range,
}

/// An end of a `moved` block, relative to the module that declares it.
#[derive(Clone, PartialEq, Debug)]
pub struct MoveEndpoint {
    pub target: addr::Target,
    pub range: Range,
}

#[derive(Clone, Debug)]
pub struct Removed {
    /// A module or resource of this module or below it, without instance keys.
    pub from: RemovedTarget,
    pub range: Range,
    /// `lifecycle { destroy = … }`, true where not written.
    pub destroy: bool,
    pub provisioners: Vec<Provisioner>,
    pub connection: Option<Body>,
}

#[derive(Clone, PartialEq, Debug)]
pub enum RemovedTarget {
    Module(addr::Module),
    Resource(ConfigResource),
}

#[derive(Clone, Debug)]
pub struct Import {
    pub range: Range,
    pub to: ImportTo,
    pub to_range: Range,
    pub id: Expr,
    pub for_each: Option<Expr>,
    pub provider: Option<LocalProviderConfig>,
    pub provider_range: Option<Range>,
}

/// Where an import goes: a resource and the key expression of each step that has one.
#[derive(Clone, Debug)]
pub struct ImportTo {
    /// The address with keys left out.
    pub resource: ConfigResource,
    /// The `to` expression itself, whose index steps are evaluated (they may use `each`).
    pub traversal: Traversal,
    /// The address, where it is fully static.
    pub fixed: Option<ResourceInstance>,
}

#[derive(Clone, Debug)]
pub struct Check {
    pub name: Str,
    pub range: Range,
    pub header_range: Range,
    /// Slot (in `Module::resources`) of the scoped data source.
    pub data: Option<u32>,
    pub asserts: Vec<Condition>,
}

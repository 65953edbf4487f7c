//! A configuration directory opened for a command: its configuration, variables, backend, providers. What `init` has
//! prepared is used here; what it has not gives errors that say to run it.

use crate::addr::{self, Mode, Provider as ProviderAddr};
use crate::cli::args::{StateFiles, VariableArg};
use crate::cli::backends;
use crate::cli::context::Context;
use crate::config::manifest::Manifest;
use crate::config::model::{Config, Module};
use crate::config::variables::{self, RootVariables};
use crate::config::{self, Early, GivenVariables, LoadOptions};
use crate::diag::{Diagnostic, Diagnostics, Sources};
use crate::engine::plan::Plan;
use crate::engine::plan_file::SavedPlan;
use crate::engine::providers::{ProviderFactory, ProviderPool};
use crate::engine::schemas::{Needed, Schemas};
use crate::install::cli_config::{self, CliConfig};
use crate::install::installed::Installed;
use crate::install::lock_file;
use crate::install::requirements::Requirements;
use crate::plugin::{self, Provider};
use crate::state::backend::Backend;
use async_trait::async_trait;
use gpuform_schema::schema::Schema;
use gpuform_schema::{Str, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The version of Terraform that we behave as.
pub const TERRAFORM_VERSION: &str = "1.11.4";

/// What happens to variables that have no value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Missing {
    /// They are asked for, where that is possible.
    Ask,
    /// They are an error.
    Fail,
    /// They stay unknown.
    Unknown,
}

/// A configuration with everything around it.
pub struct Project {
    pub config: Config,
    /// Root variables that were given.
    pub variables: RootVariables,
    pub pool: Arc<ProviderPool>,
}

/// Starts providers from where they are installed.
pub struct Factory {
    host: plugin::Host,
    installed: Installed,
    remote_states: Arc<dyn plugin::builtin::RemoteStates>,
}

impl Factory {
    /// The providers that are installed for the working directory of `cx`.
    pub fn new(cx: &Context, diags: &mut Diagnostics) -> Factory {
        let cli = cli_settings(cx, diags);
        let lock = lock_file::read(&cx.path(lock_file::FILE_NAME), &cx.sources, diags);
        let running = match cx.env.get("TF_REATTACH_PROVIDERS").map(plugin::parse_reattach) {
            Some(Ok(r)) => r,
            Some(Err(e)) => {
                diags.error("Invalid TF_REATTACH_PROVIDERS", e, None);
                BTreeMap::new()
            }
            None => BTreeMap::new(),
        };
        let host = plugin::Host::new(plugin::Options {
            log: crate::cli::log::sink(&cx.env),
            schema_cache: Some(cx.data_dir().join("schemas")),
            running,
            terraform_version: TERRAFORM_VERSION.to_owned(),
            ..plugin::Options::default()
        });
        let installed = Installed { overrides: cli.dev_overrides, data_dir: cx.data_dir(), lock };
        Factory { host, installed, remote_states: Arc::new(backends::RemoteStateReader::new(cx)) }
    }

    /// Checks that everything that a configuration needs is installed as the lock file says. Errors tell what `init` has
    /// to do; providers under development are warned about.
    pub fn check(&self, config: &Config, diags: &mut Diagnostics) {
        let needed = Requirements::of_configuration(&config.root, diags);
        self.warn_of_overrides(config, diags);
        if !diags.has_errors()
            && let Err(d) = self.installed.check(&needed, |p| self.host.is_running(p))
        {
            diags.extend(d);
        }
    }

    /// The same for `validate`, which takes any version: an error for each provider that is not installed.
    pub fn check_installed(&self, config: &Config, diags: &mut Diagnostics) {
        let needed = Requirements::of_configuration(&config.root, diags);
        self.warn_of_overrides(config, diags);
        diags.extend(self.installed.missing(&needed, |p| self.host.is_running(p)));
    }

    /// Warns that the results are those of providers under development.
    fn warn_of_overrides(&self, config: &Config, diags: &mut Diagnostics) {
        let mut overridden = BTreeSet::new();
        config.root.visit(&mut |node| {
            let sources = node.module.required_providers.values().map(|r| &r.source);
            overridden.extend(sources.filter(|p| self.installed.overrides.contains_key(*p)).cloned());
        });
        if overridden.is_empty() {
            return;
        }
        let names: Vec<String> = overridden.iter().map(ProviderAddr::for_display).collect();
        diags.warning(
            "Provider development overrides are in effect",
            format!(
                "The CLI configuration names directories for these providers, which are used whatever their version:\n  - \
                 {}\n\nA state written with them may not be readable with released versions.",
                names.join("\n  - ")
            ),
            None,
        );
    }
}

#[async_trait]
impl ProviderFactory for Factory {
    async fn start(&self, provider: &addr::Provider) -> Result<Arc<dyn Provider>, Diagnostics> {
        if provider.is_builtin() {
            if &*provider.ty == "terraform" {
                return Ok(Arc::new(plugin::builtin::Builtin::new(self.remote_states.clone())));
            }
            return Err(Diagnostic::error(
                "Unknown built-in provider",
                format!("{provider} is not a built-in provider; the only one is terraform.io/builtin/terraform."),
            )
            .into());
        }
        if self.host.is_running(provider) {
            return self.host.open(provider, Path::new("")).await;
        }
        let executable = self.installed.executable(provider)?;
        self.host.open(provider, &executable).await
    }
}

/// The settings of the CLI configuration file.
pub fn cli_settings(cx: &Context, diags: &mut Diagnostics) -> CliConfig {
    let home = cx.env.home();
    let path = match cx.env.get("TF_CLI_CONFIG_FILE").or(cx.env.get("TERRAFORM_CONFIG")) {
        Some(p) => Some(PathBuf::from(p)),
        None => home.as_ref().map(|h| h.join(".terraformrc")).filter(|p| p.exists()),
    };
    let mut config =
        path.map_or_else(CliConfig::default, |p| cli_config::load(&p, home.as_deref(), &cx.sources, diags));
    if let Some(dir) = cx.env.get("TF_PLUGIN_CACHE_DIR") {
        config.plugin_cache_dir = Some(cx.path(dir));
    }
    config
}

/// Loads the configuration in a directory that lies like the root module's (relative module paths are those of the
/// manifest in the data directory).
pub fn load_config(cx: &Context, dir: &Path, given: &[VariableArg]) -> (Option<Config>, Diagnostics) {
    load_with(cx, dir, &|root| early_values(cx, root, given))
}

/// The values of root variables as far as they are given; what is wrong with them is told where they are collected.
fn early_values(cx: &Context, root: &Module, given: &[VariableArg]) -> BTreeMap<Str, Value> {
    let mut quiet = Diagnostics::new();
    let args = given_variables(given);
    variables::collect(&cx.dir, root, &args, &cx.env.variables, &Sources::default(), &mut quiet).finish(root).values
}

/// What sources of modules and arguments of the backend can be made from, with the variables given.
pub fn with_early<R>(cx: &Context, given: &[VariableArg], f: impl FnOnce(&Early) -> R) -> R {
    f(&early(cx, &|root| early_values(cx, root, given)))
}

fn early<'a>(cx: &Context, variables: &'a GivenVariables<'a>) -> Early<'a> {
    let place = cx.place();
    Early {
        variables: Some(variables),
        base_dir: place.base_dir,
        home: place.home,
        cwd: place.cwd,
        workspace: place.workspace,
    }
}

fn load_with(cx: &Context, dir: &Path, variables: &GivenVariables) -> (Option<Config>, Diagnostics) {
    let mut diags = Diagnostics::new();
    let manifest = match Manifest::read(&cx.data_dir()) {
        Ok(m) => m,
        Err(d) => {
            diags.push(d);
            return (None, diags);
        }
    };
    let version = match TERRAFORM_VERSION.parse() {
        Ok(v) => v,
        Err(_) => return (None, diags),
    };
    let options = LoadOptions { modules: &manifest, version, sources: cx.sources.clone(), early: early(cx, variables) };
    let (config, found) = config::load(dir, &options);
    diags.extend(found);
    (config, diags)
}

impl Project {
    /// Opens the configuration in the working directory with the variables given.
    ///
    /// # Errors
    /// Everything that is wrong with it, or that `init` has not done yet.
    pub fn open(cx: &Context, given: &[VariableArg], missing: Missing) -> Result<(Project, Diagnostics), Diagnostics> {
        Project::open_at(cx, Path::new("."), given, missing)
    }

    /// Opens the configuration in another directory; everything else is that of the working directory.
    ///
    /// # Errors
    /// As for [`Project::open`].
    pub fn open_at(
        cx: &Context,
        dir: &Path,
        given: &[VariableArg],
        missing: Missing,
    ) -> Result<(Project, Diagnostics), Diagnostics> {
        let (config, mut diags) = load_config(cx, dir, given);
        let Some(config) = config else { return Err(diags) };
        let variables = collect_variables(cx, &config, given, missing, &mut diags);
        Project::assemble(cx, config, variables, diags)
    }

    /// Opens the configuration that a saved plan was made for.
    ///
    /// # Errors
    /// As for [`Project::open`].
    pub fn from_plan(
        cx: &Context,
        saved: &SavedPlan,
        given: &[VariableArg],
    ) -> Result<(Project, Diagnostics), Diagnostics> {
        let fail = |e: std::io::Error| {
            Diagnostics::from(Diagnostic::error(
                "Plan cannot be unpacked",
                format!("The configuration in the plan file cannot be unpacked to a temporary directory: {e}."),
            ))
        };
        let dir = tempfile::tempdir().map_err(fail)?;
        let root = unpack(&saved.files, dir.path()).map_err(fail)?;
        let mut values = saved.variables().map_err(Diagnostics::from)?;
        let (config, mut diags) = load_with(cx, &root, &|_| values.clone());
        let Some(config) = config else { return Err(diags) };
        check_given_again(cx, &config, given, &mut values, &mut diags);
        let variables = RootVariables { values, ..RootVariables::default() };
        Project::assemble(cx, config, variables, diags)
    }

    fn assemble(
        cx: &Context,
        config: Config,
        variables: RootVariables,
        mut diags: Diagnostics,
    ) -> Result<(Project, Diagnostics), Diagnostics> {
        let factory = Factory::new(cx, &mut diags);
        if let Err(d) = backends::check_initialized(cx, &config) {
            diags.extend(d);
        }
        if !diags.has_errors() {
            factory.check(&config, &mut diags);
        }
        if diags.has_errors() {
            return Err(diags);
        }
        let pool = Arc::new(ProviderPool::new(Arc::new(factory)));
        Ok((Project { config, variables, pool }, diags))
    }

    /// The backend that the configuration names.
    ///
    /// # Errors
    /// Its configuration is wrong, or it needs `init`.
    pub fn backend(&self, cx: &Context, files: &StateFiles) -> Result<Arc<dyn Backend>, Diagnostics> {
        backends::open(cx, &self.config, files)
    }

    pub fn backend_type(&self) -> String {
        self.config.root.module.backend.as_ref().map_or_else(|| "local".into(), |b| b.ty.to_string())
    }

    /// The files of the configuration, for a saved plan.
    pub fn snapshot(&self) -> BTreeMap<String, Vec<u8>> {
        snapshot(&self.config.sources, &self.config)
    }

    /// Decodes a saved plan with the schemas of the providers.
    ///
    /// # Errors
    /// A provider cannot be started, or the plan does not fit.
    pub async fn decode_plan(&self, saved: SavedPlan) -> Result<Plan, Diagnostics> {
        let mut schemas: BTreeMap<(ProviderAddr, Mode, Str), Arc<Schema>> = BTreeMap::new();
        for (provider, mode, ty) in saved.needed_schemas()? {
            let running = self.pool.unconfigured(&provider).await?;
            let schema = match mode {
                Mode::Managed => running.resource_schema(&ty),
                Mode::Data => running.data_source_schema(&ty),
                Mode::Ephemeral => running.ephemeral_schema(&ty),
            };
            if let Some(schema) = schema {
                schemas.insert((provider, mode, ty), schema);
            }
        }
        let plan = saved.into_plan(&|p, mode, ty| schemas.get(&(p.clone(), mode, ty.into())).cloned())?;
        Ok(plan)
    }
}

/// Writes the files of a configuration below a directory and gives that of the root module. Modules may lie beside or
/// above the root (`../../network/main.tf`), so it is placed as deep as they reach up; nothing is written outside.
fn unpack(files: &BTreeMap<String, Vec<u8>>, base: &Path) -> std::io::Result<PathBuf> {
    const DEEPEST: usize = 64;
    let places: Vec<(usize, &Path, &[u8])> = files
        .iter()
        .filter_map(|(name, data)| {
            let (up, rest) = relative_place(Path::new(name))?;
            (up <= DEEPEST).then_some((up, rest, data.as_slice()))
        })
        .collect();
    let depth = places.iter().map(|(up, ..)| *up).max().unwrap_or_default();
    let root = (0..depth).fold(base.to_owned(), |dir, _| dir.join(".planned"));
    std::fs::create_dir_all(&root)?;
    for (up, rest, data) in places {
        let Some(dir) = root.ancestors().nth(up) else { continue };
        let path = dir.join(rest);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(path, data)?;
    }
    Ok(root)
}

/// How many directories a relative path leads up, and the path from there; `None` for other paths.
fn relative_place(path: &Path) -> Option<(usize, &Path)> {
    let (mut up, mut rest) = (0, path);
    while let Ok(inner) = rest.strip_prefix("..") {
        (up, rest) = (up + 1, inner);
    }
    rest.components().all(|c| matches!(c, std::path::Component::Normal(_))).then_some((up, rest))
}

fn snapshot(sources: &Sources, config: &Config) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    config.root.visit(&mut |node| {
        for f in node.module.files.iter().filter_map(|f| sources.get(*f)) {
            files.insert(f.name.clone(), f.text.as_bytes().to_vec());
        }
    });
    files
}

fn given_variables(given: &[VariableArg]) -> Vec<variables::Given> {
    given
        .iter()
        .map(|a| match a {
            VariableArg::Var(text) => variables::Given::Var(text.clone()),
            VariableArg::File(path) => variables::Given::File(path.clone()),
        })
        .collect()
}

/// Variables from all places where they can be given; missing ones are asked for where that is possible.
fn collect_variables(
    cx: &Context,
    config: &Config,
    given: &[VariableArg],
    missing: Missing,
    diags: &mut Diagnostics,
) -> RootVariables {
    let args = given_variables(given);
    let mut collected = variables::collect(&cx.dir, &config.root.module, &args, &cx.env.variables, &cx.sources, diags);
    if !diags.has_errors() && missing == Missing::Ask && cx.env.input_allowed() {
        for name in collected.missing(&config.root.module) {
            let description = config.root.module.variables.get(&name).and_then(|v| v.description.clone());
            let about = description.map(|d| format!("  {d}\n\n")).unwrap_or_default();
            match crate::cli::prompt::ask(cx, &format!("var.{name}\n{about}  Enter a value: ")) {
                Ok(answer) => collected.answer(&config.root.module, &name, &answer, &cx.sources, diags),
                Err(_) => break,
            }
            cx.println("");
        }
    }
    if missing != Missing::Unknown {
        collected.require_all(&config.root.module, diags);
    }
    collected.finish(&config.root.module)
}

/// A saved plan fixes its variables: given again they must be the same; ephemeral ones must be given again.
fn check_given_again(
    cx: &Context,
    config: &Config,
    given: &[VariableArg],
    planned: &mut BTreeMap<Str, Value>,
    diags: &mut Diagnostics,
) {
    let module = &config.root.module;
    let has_ephemeral = module.variables.values().any(|v| v.ephemeral);
    if given.is_empty() && !has_ephemeral {
        return;
    }
    let mut own = Diagnostics::new();
    let RootVariables { values: now, unsuitable } = collect_variables(cx, config, given, Missing::Fail, &mut own);
    own.extend(unsuitable.into_values());
    let named: Vec<&str> = given
        .iter()
        .filter_map(|g| match g {
            VariableArg::Var(text) => text.split('=').next(),
            VariableArg::File(_) => None,
        })
        .collect();
    for (name, v) in &module.variables {
        let (Some(value), before) = (now.get(name), planned.get(name)) else { continue };
        if v.ephemeral {
            planned.insert(name.clone(), value.clone());
        } else if named.contains(&&**name) && planned_value(v, before) != planned_value(v, Some(value)) {
            diags.error(
                "Can't change variable when applying a saved plan",
                format!(
                    "The variable \"{name}\" has another value now than in the saved plan. A saved plan is applied as it \
                     is; to use the new value, make a new plan."
                ),
                None,
            );
        }
    }
    let missing_ephemeral = own.iter().filter(|_| has_ephemeral && own.has_errors()).cloned();
    diags.extend(missing_ephemeral.collect::<Vec<_>>());
}

/// What a variable is when this is given for it.
fn planned_value(v: &crate::config::model::Variable, given: Option<&Value>) -> Option<Value> {
    match given {
        Some(g) => v.ty.apply(g).ok(),
        None => v.default.clone(),
    }
}

/// Schemas where there is no configuration, only a state.
///
/// # Errors
/// A provider cannot be started.
pub async fn load_schemas(cx: &Context, needed: Needed) -> Result<Schemas, Diagnostics> {
    let mut diags = Diagnostics::new();
    let pool = ProviderPool::new(Arc::new(Factory::new(cx, &mut diags)));
    if diags.has_errors() {
        return Err(diags);
    }
    let schemas = needed.load(&pool).await;
    pool.close().await;
    schemas
}

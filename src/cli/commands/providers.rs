//! `gpuform providers`

use crate::addr::Provider;
use crate::cli::context::Context;
use crate::cli::project::{Factory, cli_settings, load_config};
use crate::cli::test_programs::TestPrograms;
use crate::cli::{Exit, FAILED, OK, backends, view};
use crate::config::model::{Config, ModuleNode};
use crate::config::version::Constraints;
use crate::diag::{Diagnostic, Diagnostics};
use crate::engine::providers::ProviderFactory;
use crate::install::installed::records;
use crate::install::lock_file::{self, LockFile};
use crate::install::package::platform;
use crate::install::providers::Catalogue;
use crate::install::requirements::Requirements;
use crate::state::State;
use crate::testing::{self, Programs as _};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Show which providers the configuration and the state need.
#[derive(clap::Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Providers {
    #[command(subcommand)]
    what: Option<What>,
    /// Where tests are kept, whose modules may need providers too.
    #[arg(long, value_name = "DIR", default_value = testing::DEFAULT_DIRECTORY)]
    test_directory: String,
}

#[derive(clap::Subcommand, Debug)]
enum What {
    /// Print the schemas of the providers that the configuration needs.
    Schema {
        /// Print as JSON (the only form there is).
        #[arg(long, required = true)]
        json: bool,
    },
    Lock(Lock),
}

/// Write the hashes of provider packages to the lock file, for other platforms than this one too.
#[derive(clap::Args, Debug)]
struct Lock {
    /// Only these providers.
    #[arg(value_name = "PROVIDER")]
    providers: Vec<String>,
    /// The packages lie in this directory, laid out as a mirror.
    #[arg(long, value_name = "DIR")]
    fs_mirror: Option<PathBuf>,
    /// A platform such as linux_arm64; without any, this one. May be repeated.
    #[arg(long, value_name = "OS_ARCH")]
    platform: Vec<String>,
}

impl Providers {
    pub async fn run(self, cx: &mut Context) -> Exit {
        let (config, mut diags) = load_config(cx, Path::new("."), &[]);
        let Some(config) = config else {
            cx.show(&diags, false);
            return FAILED;
        };
        let result = match self.what {
            None if config.root.module.files.is_empty() => {
                let detail = "This directory holds no configuration, so there is nothing that asks for providers.";
                Err(Diagnostic::error("No configuration files", detail).into())
            }
            None => {
                let text = tree(cx, &config.root, &self.test_directory, &mut diags).await;
                cx.show(&diags, false);
                text
            }
            Some(What::Schema { json: _ }) => schemas(cx, &config).await,
            Some(What::Lock(lock)) => lock.run(cx, &config).await,
        };
        match result {
            Ok(text) => {
                cx.print(&text);
                OK
            }
            Err(d) => {
                cx.show(&d, false);
                FAILED
            }
        }
    }
}

async fn stored(cx: &Context) -> Result<Option<State>, Diagnostics> {
    let backend = backends::recorded(cx, &crate::cli::args::StateFiles::default())?;
    Ok(backend.read(&cx.workspace()).await?.map(|s| s.state))
}

async fn tree(
    cx: &Context,
    root: &ModuleNode,
    test_directory: &str,
    diags: &mut Diagnostics,
) -> Result<String, Diagnostics> {
    let mut whole = Tree::of_module(root, diags);
    whole.branches.extend(tests(cx, test_directory, diags)?);
    let mut out = String::from("\nProviders required by configuration:\n.\n");
    whole.draw("", &mut out);
    if diags.has_errors() {
        return Err(Diagnostics::new());
    }
    let mut state = Requirements::default();
    if let Some(stored) = stored(cx).await? {
        state.add_state(&stored);
    }
    if !state.0.is_empty() {
        out.push_str("\nProviders required by state:\n\n");
        for p in state.0.keys() {
            let _ = writeln!(out, "    provider[{p}]\n");
        }
    }
    Ok(out)
}

/// Providers, and named parts of the configuration that need more of them.
#[derive(Default)]
struct Tree {
    leaves: Vec<String>,
    branches: Vec<(String, Tree)>,
}

impl Tree {
    /// The providers of one module and the modules that it calls.
    fn of_module(node: &ModuleNode, diags: &mut Diagnostics) -> Tree {
        let providers = Requirements::of_module(&node.module, diags);
        let leaf =
            |(p, constraints): (&Provider, &Constraints)| format!("provider[{p}] {constraints}").trim_end().to_owned();
        let name = |child: &ModuleNode| format!("module.{}", child.addr.0.last().map_or("", |n| n));
        Tree {
            leaves: providers.0.iter().map(leaf).collect(),
            branches: node.children.iter().map(|c| (name(c), Tree::of_module(c, diags))).collect(),
        }
    }

    fn draw(&self, indent: &str, out: &mut String) {
        let total = self.leaves.len() + self.branches.len();
        let mut items = 0;
        let mut item = |out: &mut String, text: &str| {
            items += 1;
            let _ = writeln!(out, "{indent}{}── {text}", if items == total { "└" } else { "├" });
            items == total
        };
        for leaf in &self.leaves {
            item(out, leaf);
        }
        for (name, branch) in &self.branches {
            let last = item(out, name);
            branch.draw(&format!("{indent}{}", if last { "    " } else { "│\u{a0}\u{a0} " }), out);
        }
    }
}

/// What the modules need that the runs of test files name, a tree for each file.
fn tests(cx: &Context, directory: &str, diags: &mut Diagnostics) -> Result<Vec<(String, Tree)>, Diagnostics> {
    let suite = testing::load(Path::new("."), directory, &cx.sources, diags);
    if suite.files.is_empty() {
        return Ok(Vec::new());
    }
    let programs = TestPrograms::new(cx)?;
    let mut files: Vec<(String, Tree)> = Vec::new();
    for file in &suite.files {
        let mut runs = Tree::default();
        for run in &file.runs {
            if let Some(module) = &run.module {
                let config = programs.load(Some((&testing::key_of(file, run), module)), Vec::new())?;
                runs.branches.push((format!("run.{}", run.name), Tree::of_module(&config.root, diags)));
            }
        }
        files.push((format!("test.{}", testing::module_key(&file.name)), runs));
    }
    Ok(files)
}

impl Lock {
    async fn run(self, cx: &Context, config: &Config) -> Result<String, Diagnostics> {
        let mut diags = Diagnostics::new();
        let platforms = self.platforms()?;
        let path = cx.path(lock_file::FILE_NAME);
        let mut lock = lock_file::read(&path, &cx.sources, &mut diags);
        let mut needed = Requirements::of_configuration(&config.root, &mut diags);
        let cli = cli_settings(cx, &mut diags);
        if diags.has_errors() {
            return Err(diags);
        }
        if let Some(state) = stored(cx).await? {
            needed.add_state(&state);
        }
        self.select(&mut needed)?;
        let catalogue = match &self.fs_mirror {
            Some(dir) => Catalogue::of_mirror(cx.path(dir)),
            None => Catalogue::new(&cli, &cx.dir, cx.env.home().as_deref()),
        };
        let before = lock.clone();
        let mut out = String::new();
        for (provider, required) in needed.0.iter().filter(|(p, _)| !p.is_builtin()) {
            for platform in &platforms {
                match lock_one(cx, &catalogue, (provider, required), platform, &mut lock) {
                    Ok(line) => out.push_str(&line),
                    Err(d) => diags.push(d),
                }
            }
        }
        if diags.has_errors() {
            return Err(diags);
        }
        lock.write(&path)?;
        if lock.chooses_as(&before) {
            out.push_str("\nSuccess! gpuform has validated the lock file and found no need for changes.\n");
        } else {
            out.push_str("\nSuccess! gpuform has updated the lock file.\n\nReview the changes and commit them.\n");
        }
        Ok(out)
    }

    fn platforms(&self) -> Result<Vec<String>, Diagnostics> {
        let valid = |p: &String| p.split_once('_').is_some_and(|(os, arch)| !os.is_empty() && !arch.contains('_'));
        match self.platform.iter().find(|p| !valid(p)) {
            Some(p) => {
                let detail = format!("\"{p}\" is not a platform: it has the form OS_ARCH, such as linux_arm64.");
                Err(Diagnostic::error("Invalid target platform", detail).into())
            }
            None if self.platform.is_empty() => Ok(vec![platform()]),
            None => Ok(self.platform.clone()),
        }
    }

    /// Keeps the providers that the arguments name.
    fn select(&self, needed: &mut Requirements) -> Result<(), Diagnostics> {
        if self.providers.is_empty() {
            return Ok(());
        }
        let mut selected = BTreeSet::new();
        for text in &self.providers {
            let provider = Provider::parse(text)
                .map_err(|e| Diagnostics::from(Diagnostic::error("Invalid provider argument", e)))?;
            if !needed.0.contains_key(&provider) {
                let detail = format!("The configuration does not need the provider {provider}.");
                return Err(Diagnostic::error("Invalid provider argument", detail).into());
            }
            selected.insert(provider);
        }
        needed.0.retain(|p, _| selected.contains(p));
        Ok(())
    }
}

/// Adds the hashes of one provider's package for one platform; says what was done.
fn lock_one(
    cx: &Context,
    catalogue: &Catalogue,
    (provider, required): (&Provider, &Constraints),
    platform: &str,
    lock: &mut LockFile,
) -> Result<String, Box<Diagnostic>> {
    let old = lock.providers.get(provider);
    const SUMMARY: &str = "Could not retrieve providers for locking";
    let found = catalogue.for_platform(platform).choose(provider, required, old);
    let package = found.map_err(|d| Diagnostic::error(SUMMARY, format!("For {platform}: {}", d.detail)))?;
    let name = provider.for_display();
    let found = package.hashes(&records(&cx.data_dir())).map_err(|e| {
        Diagnostic::error(SUMMARY, format!("The package of {name} for {platform} cannot be read: {e}."))
    })?;
    let entry = lock.providers.entry(provider.clone()).or_default();
    entry.version = package.version.to_string();
    entry.constraints = required.to_string();
    let known = entry.hashes.len();
    entry.hashes.extend(found.into_iter().filter(|h| h.starts_with("h1:")));
    let what = if entry.hashes.len() > known { "its package is in the lock file now" } else { "its package was known" };
    Ok(format!("- {name} {} for {platform}: {what}\n", entry.version))
}

async fn schemas(cx: &Context, config: &Config) -> Result<String, Diagnostics> {
    let mut diags = Diagnostics::new();
    let factory = Factory::new(cx, &mut diags);
    factory.check(config, &mut diags);
    let mut needed = Requirements::of_configuration(&config.root, &mut diags);
    if diags.has_errors() {
        return Err(diags);
    }
    if let Some(state) = stored(cx).await? {
        needed.add_state(&state);
    }
    let mut all = BTreeMap::new();
    for p in needed.0.into_keys() {
        let running = factory.start(&p).await.map_err(|d| match d.is_empty() {
            true => Diagnostic::error("Provider cannot be started", p.to_string()).into(),
            false => d,
        })?;
        all.insert(p, running.schema());
        running.close().await;
    }
    Ok(format!("{}\n", view::json::provider_schemas(&all)))
}

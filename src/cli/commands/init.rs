//! `gpuform init`

use crate::cli::args::{Lock, StateFiles, VariableArg, Variables};
use crate::cli::backends::{self, LocalConfig, Record};
use crate::cli::context::Context;
use crate::cli::project::{cli_settings, load_config, with_early};
use crate::cli::test_programs::TestPrograms;
use crate::cli::view::stream;
use crate::cli::{Exit, FAILED, OK, prompt};
use crate::config::model::Config;
use crate::diag::{Diagnostic, Diagnostics};
use crate::install::providers::{Catalogue, Installer, Outcome};
use crate::install::requirements::Requirements;
use crate::install::{lock_file, modules};
use crate::state::State;
use crate::state::store::{LockRequest, Store};
use crate::testing::model::Suite;
use crate::testing::{self, Programs as _};
use std::path::Path;

/// Prepare a directory: modules, backend, providers. Safe to run again at any time.
#[derive(clap::Args, Debug)]
pub struct Init {
    /// Set up the backend.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "true", action = clap::ArgAction::Set)]
    backend: bool,
    /// An argument of the backend as NAME=VALUE, or a file with arguments. May be repeated.
    #[arg(long, value_name = "NAME=VALUE|FILE")]
    backend_config: Vec<String>,
    /// Install modules.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "true", action = clap::ArgAction::Set)]
    get: bool,
    /// Choose the newest acceptable versions, whatever the lock file says.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", action = clap::ArgAction::Set)]
    upgrade: bool,
    /// Ask for missing input.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "true", action = clap::ArgAction::Set)]
    input: bool,
    /// Take the existing state along to a changed backend.
    #[arg(long)]
    migrate_state: bool,
    /// Use a changed backend and leave the existing state where it is.
    #[arg(long, conflicts_with = "migrate_state")]
    reconfigure: bool,
    /// Do not ask whether to take the state along.
    #[arg(long)]
    force_copy: bool,
    /// Look for provider packages in this directory alone. May be repeated.
    #[arg(long, value_name = "DIR")]
    plugin_dir: Vec<std::path::PathBuf>,
    /// "readonly": fail rather than change the lock file.
    #[arg(long, value_name = "MODE")]
    lockfile: Option<String>,
    /// Copy the content of a module into the empty directory first.
    #[arg(long, value_name = "SOURCE")]
    from_module: Option<String>,
    /// Where test files are besides the configuration's directory.
    #[arg(long, value_name = "DIR", default_value = testing::DEFAULT_DIRECTORY)]
    test_directory: String,
    /// Use no colours.
    #[arg(long)]
    no_color: bool,
    /// Print machine-readable JSON, one message a line.
    #[arg(long)]
    json: bool,
    /// Show warnings as one line each where there are no errors.
    #[arg(long)]
    compact_warnings: bool,
    #[command(flatten)]
    lock: Lock,
    #[command(flatten)]
    variables: Variables,
}

impl Init {
    pub async fn run(self, cx: &mut Context, matches: &clap::ArgMatches) -> Exit {
        cx.style.color &= !self.no_color;
        if self.json {
            stream::version();
        }
        match self.prepare(cx, &self.variables.in_order(matches)).await {
            Ok(warnings) => {
                self.show(cx, &warnings);
                self.step(cx, "output_init_success_message", "\ngpuform has been successfully initialized!");
                if !cx.env.in_automation() {
                    self.step(
                        cx,
                        "output_init_success_cli_message",
                        "\nNext: \"gpuform plan\" shows what an apply would do. Run init again after changing modules, \
                         providers or the backend; other commands will tell you to.",
                    );
                }
                OK
            }
            Err(d) => {
                self.show(cx, &d);
                FAILED
            }
        }
    }

    fn show(&self, cx: &Context, diags: &Diagnostics) {
        if self.json {
            diags.iter().for_each(|d| stream::diagnostic(d, &cx.sources));
        } else {
            cx.show(diags, self.compact_warnings);
        }
    }

    /// Says what happens; the code names it for programs.
    fn step(&self, cx: &Context, code: &str, text: &str) {
        if self.json { stream::init_output(text.trim(), Some(code)) } else { cx.println(text) }
    }

    fn say(&self, cx: &Context, text: &str) {
        if self.json { stream::init_output(text.trim(), None) } else { cx.println(text) }
    }

    async fn prepare(&self, cx: &Context, given: &[VariableArg]) -> Result<Diagnostics, Diagnostics> {
        let mut warnings = Diagnostics::new();
        if self.upgrade && self.readonly() {
            return Err(Diagnostic::error(
                "Options exclude each other",
                "-upgrade chooses new versions, which -lockfile=readonly does not let into the lock file.",
            )
            .into());
        }
        if self.from_module.is_some() {
            return Err(Diagnostic::error(
                "Option not supported",
                "-from-module is not supported: copy the module's files into this directory yourself.",
            )
            .into());
        }
        if is_empty(&cx.dir) {
            let text = "gpuform initialized in an empty directory!\n\nThere are no configuration files here yet.";
            self.step(cx, "output_init_empty_message", text);
            return Ok(warnings);
        }
        let dir = Path::new(".");
        let tests = testing::load(dir, &self.test_directory, &cx.sources, &mut warnings);
        if warnings.has_errors() {
            return Err(warnings);
        }
        if self.get {
            let modules = testing::modules(&tests);
            let (installed, diags) = with_early(cx, given, |early| {
                modules::install(dir, &cx.data_dir(), &modules, self.upgrade, &cx.sources, early)
            });
            if !installed.is_empty() {
                match self.upgrade {
                    false => self.step(cx, "initializing_modules_message", "Initializing modules..."),
                    true => self.step(cx, "upgrading_modules_message", "Upgrading modules..."),
                }
                installed.iter().for_each(|line| self.say(cx, line));
            }
            if diags.has_errors() {
                return Err(diags);
            }
            warnings.extend(diags);
        }
        let (config, diags) = load_config(cx, dir, given);
        warnings.extend(diags);
        let Some(config) = config else { return Err(warnings) };
        if self.backend {
            self.step(cx, "initializing_backend_message", "\nInitializing the backend...");
            self.backend(cx, &config).await?;
        }
        self.step(cx, "initializing_provider_plugin_message", "\nInitializing provider plugins...");
        warnings.extend(self.providers(cx, &config, &tests).await?);
        Ok(warnings)
    }

    // ---- backend

    async fn backend(&self, cx: &Context, config: &Config) -> Result<(), Diagnostics> {
        let data_dir = cx.data_dir();
        let wanted = match &config.root.module.backend {
            None => {
                if !self.backend_config.is_empty() {
                    let d = Diagnostic::warning(
                        "Missing backend configuration",
                        "-backend-config has no effect: the configuration has no backend block.",
                    );
                    self.show(cx, &d.into());
                }
                None
            }
            Some(_) => {
                let mut c = backends::local_config(&config.root.module)?;
                let hash = backends::hash(&c);
                self.add_given(cx, &mut c)?;
                Some(Record { config: c, hash })
            }
        };
        let before = backends::read_record(&data_dir)?;
        let same_block = || before.as_ref().map(|r| r.hash) == wanted.as_ref().map(|r| r.hash);
        // What an earlier -backend-config has added stays until it is given anew.
        let kept = self.backend_config.is_empty() && !self.reconfigure && same_block();
        if before == wanted || kept {
            return Ok(());
        }
        let first = before.is_none() && !has_state(cx).await?;
        if !first && !self.reconfigure && !self.migrate_state && !self.force_copy && before.is_some() {
            return Err(Diagnostic::error(
                "Backend configuration changed",
                "The backend is not the one that was used before. Run init with -migrate-state to take the existing state \
                 along, or with -reconfigure to leave it where it is.",
            )
            .into());
        }
        if !self.reconfigure && !first {
            self.migrate(cx, before.as_ref().map(|r| &r.config), wanted.as_ref().map(|r| &r.config)).await?;
        }
        backends::record(&data_dir, wanted.as_ref())?;
        if wanted.is_some() {
            self.say(cx, "\nSuccessfully configured the backend \"local\"! gpuform will use it from now on.");
        }
        Ok(())
    }

    fn add_given(&self, cx: &Context, config: &mut LocalConfig) -> Result<(), Diagnostics> {
        for given in &self.backend_config {
            let pairs = match given.split_once('=') {
                Some((name, value)) => vec![(name.trim().to_owned(), value.to_owned())],
                None => self.file_arguments(cx, given)?,
            };
            for (name, value) in pairs {
                match name.as_str() {
                    "path" => config.path = Some(value),
                    "workspace_dir" => config.workspace_dir = Some(value),
                    _ => {
                        return Err(Diagnostic::error(
                            "Unsupported argument",
                            format!("The backend \"local\" has no argument \"{name}\"; it has \"path\" and \"workspace_dir\"."),
                        )
                        .into());
                    }
                }
            }
        }
        Ok(())
    }

    fn file_arguments(&self, cx: &Context, name: &str) -> Result<Vec<(String, String)>, Diagnostics> {
        let bytes = crate::input::read_argument(&cx.path(name))
            .map_err(|e| Diagnostics::from(Diagnostic::error("Failed to read file", format!("{name}: {e}."))))?;
        let mut diags = Diagnostics::new();
        let text = crate::lang::parse::decode(&bytes);
        let file = cx.sources.add(name, &*text);
        let body = crate::lang::parse::parse_file(&text, file, &mut diags);
        let mut found = Vec::new();
        for a in &body.attributes {
            let ty = gpuform_schema::Type::String;
            if let Some(v) = crate::lang::static_expr::constant(&a.expr, &ty, false, &mut diags) {
                found.extend(v.as_str().map(|s| (a.name.to_string(), s.to_owned())));
            }
        }
        if diags.has_errors() { Err(diags) } else { Ok(found) }
    }

    /// Copies the states of all workspaces from one place to another.
    async fn migrate(
        &self,
        cx: &Context,
        from: Option<&LocalConfig>,
        to: Option<&LocalConfig>,
    ) -> Result<(), Diagnostics> {
        let usual = LocalConfig::default();
        let (from, to) = (backends::at(cx, from.unwrap_or(&usual)), backends::at(cx, to.unwrap_or(&usual)));
        let mut copies = Vec::new();
        for workspace in from.workspaces().await? {
            if let Some(stored) = from.read(&workspace).await?
                && from.location(&workspace) != to.location(&workspace)
                && !stored.state.is_empty()
            {
                copies.push((workspace, stored.state));
            }
        }
        if copies.is_empty() {
            return Ok(());
        }
        if !self.force_copy {
            if !self.input {
                return Err(Diagnostic::error(
                    "Approval needed to copy the state",
                    "There is a state at the place used before, and questions are switched off. Use -force-copy to take it \
                     along, or -reconfigure to leave it.",
                )
                .into());
            }
            let text = "Do you want to copy existing state to the new backend?\n  Enter \"yes\" to copy and \"no\" to start with an \
                        empty state.\n\n  Enter a value: ";
            if prompt::ask(cx, text)?.trim() != "yes" {
                return Ok(());
            }
        }
        for (workspace, state) in copies {
            if workspace != crate::state::backend::DEFAULT_WORKSPACE && !to.workspaces().await?.contains(&workspace) {
                to.create_workspace(&workspace).await?;
            }
            let request = self.lock.lock.then(|| LockRequest {
                operation: "init".into(),
                who: cx.who(),
                timeout: self.lock.lock_timeout,
            });
            let mut store = Store::open(to.clone(), &workspace, request.as_ref(), || {}).await?;
            let pushed = store.push(&state, true).await;
            store.close().await?;
            pushed?;
        }
        Ok(())
    }

    // ---- providers

    async fn providers(&self, cx: &Context, config: &Config, tests: &Suite) -> Result<Diagnostics, Diagnostics> {
        let mut diags = Diagnostics::new();
        let mut cli = cli_settings(cx, &mut diags);
        if !self.plugin_dir.is_empty() {
            let mirror = |d: &std::path::PathBuf| crate::install::cli_config::Method {
                source: crate::install::cli_config::Source::FilesystemMirror(cx.path(d)),
                include: Vec::new(),
                exclude: Vec::new(),
            };
            cli.methods = Some(self.plugin_dir.iter().map(mirror).collect());
        }
        let path = cx.path(lock_file::FILE_NAME);
        let mut lock = lock_file::read(&path, &cx.sources, &mut diags);
        if diags.has_errors() {
            return Err(diags);
        }
        let data_dir = cx.data_dir();
        let catalogue = Catalogue::new(&cli, &cx.dir, cx.env.home().as_deref());
        let installer = Installer {
            catalogue: &catalogue,
            data_dir: &data_dir,
            cli: &cli,
            upgrade: self.upgrade,
            readonly: self.readonly(),
        };
        let mut needed = Requirements::of_configuration(&config.root, &mut diags);
        let programs = TestPrograms::new(cx)?;
        for (key, module) in testing::each_module(tests) {
            let config = programs.load(Some((&key, module)), Vec::new())?;
            needed.add_configuration(&config.root, &mut diags);
        }
        if diags.has_errors() {
            return Err(diags);
        }
        if let Some(state) = self.state(cx, config).await? {
            needed.add_state(&state);
        }
        let had_lock = path.exists();
        let before = lock.clone();
        let (done, found) = installer.install(&needed, &mut lock);
        diags.extend(found);
        for outcome in done {
            self.say(
                cx,
                &match outcome {
                    Outcome::Reused { provider, version } => {
                        format!("- Using previously-installed {} v{version}", provider.for_display())
                    }
                    Outcome::Installed { provider, version } => {
                        format!("- Installed {} v{version}", provider.for_display())
                    }
                    Outcome::Overridden { provider } => {
                        format!("- {} is overridden by the CLI configuration (development)", provider.for_display())
                    }
                },
            );
        }
        if diags.has_errors() {
            return Err(diags);
        }
        if lock == before {
            return Ok(diags);
        }
        lock.write(&path)?;
        self.say(
            cx,
            if had_lock {
                "\nThe choice of provider versions has changed: see the lock file .terraform.lock.hcl, and commit it if the \
                 change is what you want."
            } else {
                "\nThe choice of provider versions is recorded in the lock file .terraform.lock.hcl. Commit it to version \
                 control, so that everybody uses the same."
            },
        );
        Ok(diags)
    }

    fn readonly(&self) -> bool {
        self.lockfile.as_deref() == Some("readonly")
    }

    /// The state as it is, whose objects need their providers too.
    async fn state(&self, cx: &Context, config: &Config) -> Result<Option<State>, Diagnostics> {
        if !self.backend {
            return Ok(None);
        }
        let backend = backends::open(cx, config, &StateFiles::default())?;
        Ok(backend.read(&cx.workspace()).await?.map(|s| s.state))
    }
}

async fn has_state(cx: &Context) -> Result<bool, Diagnostics> {
    let usual = backends::at(cx, &LocalConfig::default());
    Ok(usual.read(crate::state::backend::DEFAULT_WORKSPACE).await?.is_some())
}

fn is_empty(dir: &std::path::Path) -> bool {
    let Ok(entries) = std::fs::read_dir(dir) else { return false };
    !entries.flatten().any(|e| {
        let name = e.file_name().to_string_lossy().into_owned();
        name.ends_with(".tf") || name.ends_with(".tf.json")
    })
}

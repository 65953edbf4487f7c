//! The configurations that tests run: the one in the working directory, and the modules that single runs use instead.

use crate::cli::context::Context;
use crate::cli::project::TERRAFORM_VERSION;
use crate::config::manifest::Manifest;
use crate::config::model::{Config, LocalProviderConfig};
use crate::config::{Early, LoadOptions, Start, load_from};
use crate::diag::Diagnostics;
use crate::testing::model::AlternateModule;
use crate::testing::{self, Programs};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Mutex;

/// Loads each configuration once.
pub struct TestPrograms<'a> {
    cx: &'a Context,
    manifest: Manifest,
    loaded: Mutex<HashMap<(String, Vec<LocalProviderConfig>), Result<Config, Diagnostics>>>,
}

impl TestPrograms<'_> {
    /// With the modules that `init` has installed.
    ///
    /// # Errors
    /// The record of installed modules cannot be read.
    pub fn new(cx: &Context) -> Result<TestPrograms<'_>, Diagnostics> {
        let manifest = Manifest::read(&cx.data_dir()).map_err(Diagnostics::from)?;
        Ok(TestPrograms { cx, manifest, loaded: Mutex::default() })
    }

    fn read(&self, module: Option<(&str, &AlternateModule)>, start: Start) -> Result<Config, Diagnostics> {
        let Ok(version) = TERRAFORM_VERSION.parse() else { return Err(Diagnostics::new()) };
        let below = self.manifest.below(module.map_or("", |(key, _)| key));
        let mut options =
            LoadOptions { modules: &self.manifest, version, sources: self.cx.sources.clone(), early: Early::default() };
        if module.is_some() {
            options.modules = &below;
        }
        let (config, diags) = load_from(Path::new("."), &start, &options);
        config.ok_or(diags)
    }
}

impl Programs for TestPrograms<'_> {
    fn load(
        &self,
        module: Option<(&str, &AlternateModule)>,
        providers: Vec<LocalProviderConfig>,
    ) -> Result<Config, Diagnostics> {
        let known = (module.map_or_else(String::new, |(key, _)| key.to_owned()), providers);
        let mut loaded = self.loaded.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(config) = loaded.get(&known) {
            return config.clone();
        }
        let mut start = Start { providers: known.1.clone(), ..Start::default() };
        if let Some((key, m)) = module {
            start.root = self.manifest.directory(key, &testing::wanted(m)).map_err(Diagnostics::from)?;
        }
        let config = self.read(module, start);
        loaded.insert(known, config.clone());
        config
    }
}

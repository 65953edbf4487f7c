//! Tells the engine what a run puts in the place of providers, objects and modules.

use super::mocks::MockProvider;
use super::model::{Mock, Override, ProviderKind, Run, TestFile, TestProvider};
use super::scope::{ALLOWED, Environment, Names, Position};
use crate::addr::{AbsProviderConfig, ModuleInstance, ResourceInstance};
use crate::config::model::{Config, LocalProviderConfig, ProviderConfig};
use crate::diag::{Diagnostic, Diagnostics};
use crate::engine::Configured;
use crate::engine::substitutes::Substitutes;
use crate::lang::decode::{Decoder, Layout};
use crate::plugin::Provider;
use gpuform_schema::schema::Schema;
use gpuform_schema::{Str, Value};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

/// What one run replaces.
pub struct StandIns {
    mocks: HashMap<AbsProviderConfig, Arc<Mock>>,
    configs: HashMap<AbsProviderConfig, ProviderConfig>,
    /// Those of the run before those of the file.
    overrides: [Vec<Override>; 2],
    environment: Arc<Environment>,
    /// The providers of single objects, which remember what they have made up.
    objects: Mutex<HashMap<ResourceInstance, Arc<dyn Provider>>>,
}

/// The provider configurations of the file that a run uses, by the name that its module knows them by.
///
/// # Errors
/// The run names one that the file does not have.
pub fn chosen<'f>(file: &'f TestFile, run: &Run) -> Result<Vec<(LocalProviderConfig, &'f TestProvider)>, Diagnostics> {
    if run.providers.is_empty() {
        return Ok(file.providers.iter().map(|(k, p)| (k.clone(), p)).collect());
    }
    let mut diags = Diagnostics::new();
    let mut chosen = Vec::new();
    for passed in &run.providers {
        match file.providers.get(&passed.parent) {
            Some(p) => chosen.push((passed.child.clone(), p)),
            None => diags.error(
                format!("Missing provider definition for {}", passed.parent),
                "The test file has no provider or mock_provider block for this name and alias.",
                passed.range,
            ),
        }
    }
    if diags.has_errors() { Err(diags) } else { Ok(chosen) }
}

/// The most exact override; of equals the first.
fn best<'a>(fitting: impl Iterator<Item = (u8, &'a Override)>) -> Option<&'a Override> {
    fitting.reduce(|best, next| if next.0 > best.0 { next } else { best }).map(|(_, o)| o)
}

impl StandIns {
    /// What a run of a file replaces in a configuration.
    pub fn new(
        file: &TestFile,
        run: &Run,
        chosen: &[(LocalProviderConfig, &TestProvider)],
        config: &Config,
        environment: Arc<Environment>,
    ) -> StandIns {
        let mut own = StandIns {
            mocks: HashMap::new(),
            configs: HashMap::new(),
            overrides: [run.overrides.clone(), file.overrides.clone()],
            environment,
            objects: Mutex::default(),
        };
        for (local, provider) in chosen {
            let Some(addr) = config.root.providers.get(local) else { continue };
            match &provider.kind {
                ProviderKind::Mock(mock) => drop(own.mocks.insert(addr.clone(), mock.clone())),
                ProviderKind::Real(config) => drop(own.configs.insert(addr.clone(), (**config).clone())),
            }
        }
        own
    }

    /// The override for an object: the most exact one; of equals, that of the run before that of the file, and that
    /// before the one of its mock provider.
    fn override_of<'a>(&'a self, addr: &ResourceInstance, mock: Option<&'a Arc<Mock>>) -> Option<&'a Override> {
        let lists = self.overrides.iter().chain(mock.map(|m| &m.overrides));
        best(lists.flatten().filter_map(|o| Some((o.fits(addr)?, o))))
    }
}

impl Substitutes for StandIns {
    fn provider(&self, addr: &AbsProviderConfig, real: &Arc<dyn Provider>) -> Option<Arc<dyn Provider>> {
        let mock = self.mocks.get(addr)?;
        Some(Arc::new(MockProvider::new(real.clone(), mock.clone())))
    }

    fn provider_config(&self, addr: &AbsProviderConfig, schema: &Schema) -> Option<Result<Value, Diagnostics>> {
        let config = self.configs.get(addr)?;
        let mut diags = Diagnostics::new();
        let names = Names { environment: &self.environment, module: None };
        let mut unresolved = Diagnostics::new();
        let layout = Layout::new(&schema.block);
        let decoder = Decoder::compile(&config.body, &layout, &names, ALLOWED, &mut unresolved);
        decoder.visit_traversals(&mut |t| self.environment.check(t, Position::Provider, &mut diags));
        if diags.is_empty() {
            diags = unresolved;
        }
        if diags.has_errors() {
            return Some(Err(diags));
        }
        let value = decoder.eval(&self.environment.scope(None), &mut diags);
        Some(value.ok_or_else(|| {
            let failed = Diagnostic::error("Invalid provider configuration", "It could not be evaluated.");
            if diags.is_empty() { failed.at(config.range).into() } else { diags }
        }))
    }

    fn object(&self, addr: &ResourceInstance, configured: &Configured) -> Option<Arc<dyn Provider>> {
        let mock = self.mocks.get(&configured.addr.block());
        let given = self.override_of(addr, mock);
        let remembers = |m: &Arc<Mock>| m.resources.get(&addr.resource.ty).is_some_and(|d| d.during_plan);
        if given.is_none() && !mock.is_some_and(remembers) {
            return None;
        }
        let mut objects = self.objects.lock().unwrap_or_else(|e| e.into_inner());
        let make = || -> Arc<dyn Provider> {
            match (given, mock) {
                (Some(o), _) => Arc::new(MockProvider::of_object(configured.provider.clone(), o.data.clone())),
                (None, Some(mock)) => Arc::new(MockProvider::new(configured.provider.clone(), mock.clone())),
                (None, None) => configured.provider.clone(),
            }
        };
        Some(objects.entry(addr.clone()).or_insert_with(make).clone())
    }

    fn module(&self, addr: &ModuleInstance) -> Option<BTreeMap<Str, Value>> {
        let all = self.overrides.iter().flatten();
        let values = &best(all.filter_map(|o| Some((o.fits_module(addr)?, o))))?.data.values;
        let entries = values.entries()?;
        Some(entries.map(|(name, v)| (name.clone(), v.clone())).collect())
    }
}

//! Opening providers: the one entrance to everything in this folder that has to do with processes.
//!
//! A [`Host`] lives as long as a command. It knows where providers' output goes, where schemas are cached, and which
//! providers run already; it shares the schemas between the configurations of one provider.

use super::client::{Access, Client, Source};
use super::log::{LogSink, NoLog};
use super::process::Process;
use super::schema_cache::{Key, SchemaCache};
use super::schemas::Schemas;
use super::{Protocol, Provider, ReattachTo};
use crate::addr;
use crate::diag::Diagnostics;
use gpuform_schema::proto::undecoded::ProviderSchema;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::OnceCell;

/// How a [`Host`] behaves.
pub struct Options {
    /// Where the output of the processes goes.
    pub log: Arc<dyn LogSink>,
    /// The folder for cached schemas; `None`: they are fetched from a process each time.
    pub schema_cache: Option<PathBuf>,
    /// How long a process may take until it listens.
    pub patience: Duration,
    /// Processes to use instead of starting some.
    pub running: BTreeMap<addr::Provider, ReattachTo>,
    /// The Terraform version that is told to providers.
    pub terraform_version: String,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            log: Arc::new(NoLog),
            schema_cache: None,
            patience: Duration::from_secs(60),
            running: BTreeMap::new(),
            terraform_version: "1.11.4".to_owned(),
        }
    }
}

/// Opens providers.
pub struct Host {
    options: Options,
    cache: Option<SchemaCache>,
    /// The schemas by executable, so that further configurations of a provider need not look for them.
    known: Mutex<HashMap<PathBuf, Arc<OnceCell<Arc<Schemas>>>>>,
}

impl Host {
    pub fn new(options: Options) -> Host {
        let cache = options.schema_cache.clone().map(SchemaCache::new);
        Host { options, cache, known: Mutex::default() }
    }

    /// Whether a provider runs already, so that no executable is needed for it.
    pub fn is_running(&self, provider: &addr::Provider) -> bool {
        self.options.running.contains_key(provider)
    }

    /// A provider for one configuration. With cached schemas no process is started before the first call that needs
    /// one; each provider opened has a process of its own. `executable` is not used for a provider that runs already.
    ///
    /// # Errors
    /// What kept the process from starting, or what it said instead of its schema.
    pub async fn open(&self, provider: &addr::Provider, executable: &Path) -> Result<Arc<dyn Provider>, Diagnostics> {
        let running = self.options.running.get(provider);
        let source = running.cloned().map_or_else(|| Source::Executable(executable.to_owned()), Source::Running);
        let access = Access {
            name: provider.for_display(),
            source,
            log: self.options.log.clone(),
            patience: self.options.patience,
            terraform_version: self.options.terraform_version.clone(),
        };
        if running.is_some() {
            let (process, answer) = fetch(&access).await?;
            let schemas = Arc::new(Schemas::new(process.protocol, answer)?);
            return Ok(Arc::new(Client::new(access, schemas, Some(process))));
        }
        let known = {
            let mut all = self.known.lock().unwrap_or_else(|e| e.into_inner());
            all.entry(executable.to_owned()).or_default().clone()
        };
        let mut process = None;
        let find = self.find_schemas(&access, executable, &mut process);
        let schemas = known.get_or_try_init(|| find).await?.clone();
        Ok(Arc::new(Client::new(access, schemas, process)))
    }

    /// Schemas from the cache, or from a process that is then left in `started`.
    async fn find_schemas(
        &self,
        access: &Access,
        executable: &Path,
        started: &mut Option<Process>,
    ) -> Result<Arc<Schemas>, Diagnostics> {
        let (key, cached) = match &self.cache {
            Some(cache) => look_up(cache.clone(), executable.to_owned()).await,
            None => (None, None),
        };
        if let Some((protocol, answer)) = cached {
            return Ok(Arc::new(Schemas::new(protocol, answer)?));
        }
        let (process, answer) = fetch(access).await?;
        let protocol = process.protocol;
        *started = Some(process);
        if let (Some(cache), Some(key)) = (self.cache.clone(), key) {
            let answer = answer.clone();
            // Not awaited: a command need not wait for what only later ones use.
            tokio::task::spawn_blocking(move || cache.store(&key, protocol, &answer));
        }
        Ok(Arc::new(Schemas::new(protocol, answer)?))
    }
}

async fn fetch(access: &Access) -> Result<(Process, ProviderSchema), Diagnostics> {
    let process = access.connect().await?;
    let answer = access.fetch_schemas(&process).await?;
    Ok((process, answer))
}

/// The key of an executable and what is stored under it, looked for where blocking is allowed.
async fn look_up(cache: SchemaCache, executable: PathBuf) -> (Option<Key>, Option<(Protocol, ProviderSchema)>) {
    let look = move || {
        let key = cache.key(&executable).ok();
        let found = key.as_ref().and_then(|key| cache.load(key));
        (key, found)
    };
    tokio::task::spawn_blocking(look).await.unwrap_or_default()
}

//! The provider processes of one run: started when first needed, one for each provider configuration; the process
//! that was started for its schema serves the first configuration too.

use crate::addr::{self, AbsProviderConfig};
use crate::diag::Diagnostics;
use crate::plugin::Provider;
use async_trait::async_trait;
use gpuform_schema::Value;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::Mutex;

/// Starts providers. The command line implements it over installed executables; tests over in-process providers.
#[async_trait]
pub trait ProviderFactory: Send + Sync {
    async fn start(&self, provider: &addr::Provider) -> Result<Arc<dyn Provider>, Diagnostics>;
}

#[derive(Default)]
struct Slot {
    unconfigured: Option<Arc<dyn Provider>>,
    /// The unconfigured process has been given to a configuration.
    taken: bool,
}

/// All providers of one run.
pub struct ProviderPool {
    factory: Arc<dyn ProviderFactory>,
    slots: Mutex<HashMap<addr::Provider, Arc<Mutex<Slot>>>>,
    configured: Mutex<HashMap<AbsProviderConfig, Arc<Mutex<Option<(Value, Arc<dyn Provider>)>>>>>,
    all: std::sync::Mutex<Vec<Arc<dyn Provider>>>,
}

impl ProviderPool {
    pub fn new(factory: Arc<dyn ProviderFactory>) -> ProviderPool {
        ProviderPool {
            factory,
            slots: Mutex::default(),
            configured: Mutex::default(),
            all: std::sync::Mutex::default(),
        }
    }

    async fn slot(&self, provider: &addr::Provider) -> Arc<Mutex<Slot>> {
        self.slots.lock().await.entry(provider.clone()).or_default().clone()
    }

    async fn start(&self, provider: &addr::Provider) -> Result<Arc<dyn Provider>, Diagnostics> {
        let p = self.factory.start(provider).await?;
        self.all.lock().unwrap_or_else(|e| e.into_inner()).push(p.clone());
        Ok(p)
    }

    /// A provider to ask for schemas, validation and functions.
    ///
    /// # Errors
    /// Why it could not be started.
    pub async fn unconfigured(&self, provider: &addr::Provider) -> Result<Arc<dyn Provider>, Diagnostics> {
        let slot = self.slot(provider).await;
        let mut slot = slot.lock().await;
        if let Some(p) = &slot.unconfigured {
            return Ok(p.clone());
        }
        let p = self.start(provider).await?;
        slot.unconfigured = Some(p.clone());
        Ok(p)
    }

    /// A process that no other configuration uses.
    async fn for_configuration(&self, provider: &addr::Provider) -> Result<Arc<dyn Provider>, Diagnostics> {
        let slot = self.slot(provider).await;
        let mut slot = slot.lock().await;
        if slot.taken {
            drop(slot);
            return self.start(provider).await;
        }
        slot.taken = true;
        if let Some(p) = &slot.unconfigured {
            return Ok(p.clone());
        }
        let p = self.start(provider).await?;
        slot.unconfigured = Some(p.clone());
        Ok(p)
    }

    /// The provider for a configuration whose value is wholly known. Asked again with the same value (by the apply
    /// that follows a plan), it gives the same process without configuring it again.
    ///
    /// # Errors
    /// Why the provider could not be started or did not accept its configuration.
    pub async fn configured(
        &self,
        addr: &AbsProviderConfig,
        config: &Value,
    ) -> Result<(Arc<dyn Provider>, Diagnostics), Diagnostics> {
        let known = config.is_wholly_known();
        let entry = self.configured.lock().await.entry(addr.clone()).or_default().clone();
        let mut entry = entry.lock().await;
        if let Some((_, p)) = entry.as_ref().filter(|(c, _)| known && c == config) {
            return Ok((p.clone(), Diagnostics::new()));
        }
        let p = self.for_configuration(&addr.provider).await?;
        let diags = p.configure(config.clone()).await;
        if diags.has_errors() {
            return Err(diags);
        }
        *entry = Some((config.clone(), p.clone()));
        Ok((p, diags))
    }

    fn running(&self) -> Vec<Arc<dyn Provider>> {
        self.all.lock().unwrap_or_else(|e| e.into_inner()).clone()
    }

    /// Asks all running operations to end early.
    pub async fn stop(&self) {
        futures::future::join_all(self.running().iter().map(|p| p.stop())).await;
    }

    /// Ends all processes.
    pub async fn close(&self) {
        let all = std::mem::take(&mut *self.all.lock().unwrap_or_else(|e| e.into_inner()));
        futures::future::join_all(all.iter().map(|p| p.close())).await;
        self.slots.lock().await.clear();
        self.configured.lock().await.clear();
    }
}

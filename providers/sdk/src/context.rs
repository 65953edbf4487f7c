//! What an operation may use beside its own values: the configured client, the client token, the time allowed, the
//! user's wish to stop, retries and waits, warnings, private data.

use crate::error::{Diagnostic, Error, Result, Severity};
use crate::model::Model;
use crate::retry::{self, Limits, Wait};
use crate::run::Session;
use gpuform_schema::{Path, Value};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// One of the things that the SDK asks a resource to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    Create,
    Read,
    Update,
    Delete,
}

impl Operation {
    pub fn name(self) -> &'static str {
        match self {
            Operation::Create => "create",
            Operation::Read => "read",
            Operation::Update => "update",
            Operation::Delete => "delete",
        }
    }
}

/// The surroundings of one operation on one object. `C` is the provider's client type.
pub struct Context<C> {
    client: Arc<C>,
    token: Arc<str>,
    limits: Limits,
    settings: Value,
    private: Mutex<Private>,
    warnings: Mutex<Vec<Diagnostic>>,
    renew_at: Mutex<Option<SystemTime>>,
}

/// What the provider keeps with an object and no user sees: a JSON object.
pub(crate) type Private = serde_json::Map<String, serde_json::Value>;

impl<C> Context<C> {
    pub(crate) fn new(session: Session<C>, token: Arc<str>, timeout: Duration, private: Private) -> Self {
        Context {
            client: session.client,
            token,
            limits: Limits::new(timeout, session.cancel),
            settings: session.settings,
            private: Mutex::new(private),
            warnings: Mutex::default(),
            renew_at: Mutex::default(),
        }
    }

    /// The configured client.
    pub fn client(&self) -> &C {
        &self.client
    }

    /// The idempotency token of this create, the same whenever the same planned create is repeated. Give it to every
    /// API that takes one. It is a UUID; shorten it if the API allows fewer than 36 characters.
    pub fn client_token(&self) -> &str {
        &self.token
    }

    /// What the `provider_meta` block of the object's module sets; `None` where it has none.
    ///
    /// # Errors
    /// The block does not fit `M`, which is not the provider's
    /// [`module_settings`](crate::Provider::module_settings) then.
    pub fn module_settings<M: Model>(&self) -> Result<Option<M>> {
        if self.settings.is_null() { Ok(None) } else { Ok(Some(M::decode(&self.settings)?)) }
    }

    /// How long the operation may take: as in the `timeouts` block, or the resource's default.
    pub fn timeout(&self) -> Duration {
        self.limits.timeout
    }

    /// Completes when the user wants to stop. Retries and waits of this context already heed it.
    pub async fn cancelled(&self) {
        self.limits.cancel.cancelled().await;
    }

    pub fn is_cancelled(&self) -> bool {
        self.limits.cancel.is_cancelled()
    }

    /// Runs `operation` until it succeeds, fails with an error that is not `retryable`, or the operation's time is up.
    /// It gets the number of the attempt, from 1. Pauses grow from half a second to ten, with jitter.
    pub async fn retry<T, F>(
        &self,
        retryable: impl Fn(&Error) -> bool + Send,
        operation: impl FnMut(u32) -> F + Send,
    ) -> Result<T>
    where
        F: Future<Output = Result<T>> + Send,
    {
        retry::retry(&self.limits, retryable, operation).await
    }

    /// Asks `poll` for the object's state until it is one of the targets; see [`Wait`].
    pub async fn wait_for<T, F>(&self, wait: &Wait<'_>, poll: impl FnMut() -> F + Send) -> Result<T>
    where
        T: Send,
        F: Future<Output = Result<Option<(String, T)>>> + Send,
    {
        retry::wait_for(&self.limits, wait, poll).await
    }

    /// Asks `poll` for the object's state until it is not there any more.
    pub async fn wait_until_gone<T, F>(&self, wait: &Wait<'_>, poll: impl FnMut() -> F + Send) -> Result<()>
    where
        T: Send,
        F: Future<Output = Result<Option<(String, T)>>> + Send,
    {
        retry::wait_until_gone(&self.limits, wait, poll).await
    }

    /// The limits of this operation, for clients that retry by themselves.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Tells the user something without failing.
    pub fn warn(&self, summary: impl Into<String>, detail: impl Into<String>) {
        let warning = Diagnostic {
            severity: Severity::Warning,
            summary: summary.into(),
            detail: detail.into(),
            path: Path::root(),
        };
        lock(&self.warnings).push(warning);
    }

    /// Private data kept with the object under `key`; `None` where there is none or it has another form.
    pub fn private<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        lock(&self.private).get(key).and_then(|v| T::deserialize(v).ok())
    }

    /// Keeps private data with the object under `key`. Keys that begin with `gpuform_` are the SDK's own.
    pub fn set_private(&self, key: &str, value: &impl Serialize) -> Result<()> {
        let value = serde_json::to_value(value).map_err(|e| Error::new("Private data").detail(e.to_string()))?;
        lock(&self.private).insert(key.to_owned(), value);
        Ok(())
    }

    /// Asks to be renewed after this time; for ephemeral resources.
    pub fn renew_after(&self, time: Duration) {
        *lock(&self.renew_at) = SystemTime::now().checked_add(time);
    }

    pub(crate) fn renew_at(&self) -> Option<SystemTime> {
        *lock(&self.renew_at)
    }

    pub(crate) fn finish(self) -> (Private, Vec<Diagnostic>) {
        (
            self.private.into_inner().unwrap_or_else(PoisonError::into_inner),
            self.warnings.into_inner().unwrap_or_else(PoisonError::into_inner),
        )
    }
}

/// The data behind a lock; a panic elsewhere cannot leave these half written.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

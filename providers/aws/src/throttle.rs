//! How many calls of a service may be under way. An answer that says "too many requests" halves the number, answers
//! that do not raise it again, one by one; the refused call waits, longer each time and at random, and is made again.
//! `client.rs` puts a [`Throttle`] under the client of each service, so that every call passes through it.
//!
//! The SDK's own adaptive mode limits the rate of calls and not their number, counts refused calls against the budget
//! of a client's other retries, and cannot be told to stop; so refused calls never get back to it.

use aws_smithy_http_client::proxy::ProxyConfig;
use aws_smithy_http_client::{Builder, ConnectorBuilder, tls};
use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::connector_metadata::ConnectorMetadata;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::interceptors::context::InterceptorContext;
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::retries::classifiers::{ClassifyRetry, RetryAction, RetryClassifierPriority};
use aws_smithy_runtime_api::client::runtime_components::{RuntimeComponents, RuntimeComponentsBuilder};
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::byte_stream::ByteStream;
use aws_smithy_types::config_bag::ConfigBag;
use gpuform_provider_sdk::retry::backoff;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio_util::sync::CancellationToken;

/// Codes of AWS's services for "too many requests". The request had no effect.
pub const BUSY: &[&str] = &[
    "RequestLimitExceeded",
    "Throttling",
    "ThrottlingException",
    "ThrottledException",
    "RequestThrottled",
    "RequestThrottledException",
    "TooManyRequestsException",
    "EC2ThrottledException",
    "SlowDown",
];

/// Calls of a service that may be under way at first, and at most.
const AT_FIRST: usize = 32;
const AT_MOST: usize = 128;
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// How long a call waits for its turn and is made again. AWS takes a signature for five minutes.
const PATIENCE: Duration = Duration::from_secs(240);
/// Marks the last answer to a call that is not made again. The SDK sees it, AWS never does.
const GIVEN_UP: &str = "x-gpuform-given-up";

/// The moving limit of a service in a region.
#[derive(Debug)]
pub struct Throttle {
    service: &'static str,
    /// How often a refused call is made again.
    retries: u32,
    /// The user wants to stop.
    cancel: CancellationToken,
    turns: Semaphore,
    limit: Mutex<Limit>,
}

/// Additive increase, multiplicative decrease.
#[derive(Debug)]
struct Limit {
    now: usize,
    /// Turns to be taken back as soon as they are free.
    owed: usize,
    /// Answers since the limit was last changed.
    answered: usize,
    /// Counts decreases: calls that began before the last one say nothing new.
    cuts: u64,
}

/// Permission for one call.
struct Turn<'a> {
    throttle: &'a Throttle,
    permit: Option<SemaphorePermit<'a>>,
    cuts: u64,
}

impl Throttle {
    pub fn new(service: &'static str, retries: u32, cancel: CancellationToken) -> Arc<Throttle> {
        let limit = Limit { now: AT_FIRST, owed: 0, answered: 0, cuts: 0 };
        Arc::new(Throttle { service, retries, cancel, turns: Semaphore::new(AT_FIRST), limit: Mutex::new(limit) })
    }

    /// The HTTP client of the SDK with this limit above it.
    pub fn client(self: &Arc<Throttle>) -> SharedHttpClient {
        SharedHttpClient::new(Client { inner: plain(), throttle: Arc::clone(self) })
    }

    fn limit(&self) -> MutexGuard<'_, Limit> {
        self.limit.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn turn(&self) -> Option<Turn<'_>> {
        let permit = self.turns.acquire().await.ok()?;
        Some(Turn { throttle: self, permit: Some(permit), cuts: self.limit().cuts })
    }

    /// A call was refused that began when there had been `cuts` decreases.
    fn refused(&self, cuts: u64) {
        let mut limit = self.limit();
        if limit.cuts != cuts {
            return;
        }
        let (before, after) = (limit.now, (limit.now / 2).max(1));
        limit.owed += before - after;
        limit.owed -= self.turns.forget_permits(limit.owed);
        limit.now = after;
        limit.answered = 0;
        limit.cuts += 1;
        let service = self.service;
        tracing::warn!(service, before, after, "too many requests: fewer calls at a time");
    }

    /// A call was not refused. After as many of them as may be under way there may be one more.
    fn answered(&self) {
        let mut limit = self.limit();
        limit.answered += 1;
        if limit.answered < limit.now || limit.now >= AT_MOST {
            return;
        }
        limit.now += 1;
        limit.answered = 0;
        if limit.owed > 0 {
            limit.owed -= 1;
        } else {
            self.turns.add_permits(1);
        }
        tracing::debug!(service = self.service, after = limit.now, "one more call at a time");
    }

    /// Makes a call, again and again while it is refused.
    async fn call(&self, inner: &SharedHttpConnector, request: HttpRequest) -> Result<HttpResponse, ConnectorError> {
        let start = Instant::now();
        let (mut request, mut attempt) = (request, 0);
        let mut turn = self.turn_within(PATIENCE).await?;
        loop {
            let again = request.try_clone();
            let head = request.method() == "HEAD";
            let (mut response, refused) = examined(inner.call(request).await?, head).await?;
            if !refused {
                self.answered();
                return Ok(response);
            }
            self.refused(turn.cuts);
            attempt += 1;
            let pause = backoff(attempt, FIRST_PAUSE, LONGEST_PAUSE);
            let Some(next) = again.filter(|_| attempt <= self.retries && start.elapsed() + pause < PATIENCE) else {
                response.headers_mut().insert(GIVEN_UP, "true");
                return Ok(response);
            };
            // The turn is kept: whoever waits for it would be refused as well.
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.cancel.cancelled() => {
                    response.headers_mut().insert(GIVEN_UP, "true");
                    return Ok(response);
                }
            }
            turn.cuts = self.limit().cuts;
            request = next;
        }
    }

    async fn turn_within(&self, patience: Duration) -> Result<Turn<'_>, ConnectorError> {
        let why = tokio::select! {
            biased;
            turn = tokio::time::timeout(patience, self.turn()) => match turn {
                Ok(Some(turn)) => return Ok(turn),
                _ => format!("AWS refuses calls of {} as too many, and none could be made for {patience:?}", self.service),
            },
            () = self.cancel.cancelled() => "The call was not made, as all is to stop".to_owned(),
        };
        Err(ConnectorError::other(crate::endpoint::NotReached::new(why).into(), None))
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut limit = self.throttle.limit();
        if let Some(permit) = self.permit.take().filter(|_| limit.owed > 0) {
            limit.owed -= 1;
            permit.forget();
        }
    }
}

/// An answer, and whether it says "too many requests". The body of an error is read, as only it names the reason.
async fn examined(response: HttpResponse, head: bool) -> Result<(HttpResponse, bool), ConnectorError> {
    let status = response.status().as_u16();
    if status < 400 {
        return Ok((response, false));
    }
    // An answer to HEAD has no body.
    if status == 429 || (status == 503 && head) {
        return Ok((response, true));
    }
    let mut response = response;
    let body = std::mem::replace(response.body_mut(), SdkBody::empty());
    let body = ByteStream::new(body).collect().await.map_err(|e| ConnectorError::io(e.into()))?.into_bytes();
    let refused = {
        let text = String::from_utf8_lossy(body.get(..body.len().min(4096)).unwrap_or_default());
        let code = response.headers().get("x-amzn-errortype").or_else(|| code(&text)).unwrap_or_default();
        BUSY.contains(&code.split(':').next().unwrap_or_default())
    };
    *response.body_mut() = SdkBody::from(body);
    Ok((response, refused))
}

/// The code in an error's XML or JSON.
fn code(body: &str) -> Option<&str> {
    let within = |before: &str, after: char| body.split_once(before)?.1.split(after).next();
    within("<Code>", '<').or_else(|| within("\"__type\":", ',').map(|t| t.trim_matches([' ', '"', '}', '\n'])))
}

/// Keeps the SDK from making a call again that was given up here.
#[derive(Debug)]
pub struct GivenUp;

impl ClassifyRetry for GivenUp {
    fn classify_retry(&self, ctx: &InterceptorContext) -> RetryAction {
        match ctx.response().and_then(|r| r.headers().get(GIVEN_UP)) {
            Some(_) => RetryAction::RetryForbidden,
            None => RetryAction::NoActionIndicated,
        }
    }

    fn name(&self) -> &'static str {
        "no retries of calls that were refused for long"
    }

    fn priority(&self) -> RetryClassifierPriority {
        RetryClassifierPriority::run_after(RetryClassifierPriority::transient_error_classifier())
    }
}

/// The HTTP client that the SDK has by default.
fn plain() -> SharedHttpClient {
    Builder::new().build_with_connector_fn(|settings, components| {
        let provider = tls::Provider::Rustls(tls::rustls_provider::CryptoMode::AwsLc);
        let mut connector = ConnectorBuilder::default().tls_provider(provider);
        connector.set_connector_settings(settings.cloned());
        if let Some(components) = components {
            connector.set_sleep_impl(components.sleep_impl());
        }
        connector.set_proxy_config(Some(ProxyConfig::from_env()));
        connector.build()
    })
}

#[derive(Debug)]
struct Client {
    inner: SharedHttpClient,
    throttle: Arc<Throttle>,
}

impl HttpClient for Client {
    fn http_connector(&self, settings: &HttpConnectorSettings, components: &RuntimeComponents) -> SharedHttpConnector {
        let inner = self.inner.http_connector(settings, components);
        SharedHttpConnector::new(Connector { inner, throttle: Arc::clone(&self.throttle) })
    }

    fn validate_base_client_config(
        &self,
        components: &RuntimeComponentsBuilder,
        settings: &ConfigBag,
    ) -> Result<(), BoxError> {
        self.inner.validate_base_client_config(components, settings)
    }

    fn validate_final_config(&self, components: &RuntimeComponents, settings: &ConfigBag) -> Result<(), BoxError> {
        self.inner.validate_final_config(components, settings)
    }

    fn connector_metadata(&self) -> Option<ConnectorMetadata> {
        self.inner.connector_metadata()
    }
}

#[derive(Debug)]
struct Connector {
    inner: SharedHttpConnector,
    throttle: Arc<Throttle>,
}

impl HttpConnector for Connector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let (inner, throttle) = (self.inner.clone(), Arc::clone(&self.throttle));
        HttpConnectorFuture::new(async move { throttle.call(&inner, request).await })
    }
}

#[cfg(test)]
mod tests;

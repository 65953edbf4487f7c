//! Endpoints that cannot be reached. An address that the user gave is given up after a few seconds, as it is more
//! likely wrong than busy; AWS's own are tried as often as the provider block says. Either way the error names the
//! address. `client.rs` takes [`Patience`] and [`NameEndpoint`] into every client.

use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::interceptors::Intercept;
use aws_smithy_runtime_api::client::interceptors::context::{
    BeforeTransmitInterceptorContextRef, FinalizerInterceptorContextMut, InterceptorContext,
};
use aws_smithy_runtime_api::client::orchestrator::OrchestratorError;
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::retries::classifiers::{ClassifyRetry, RetryAction, RetryClassifierPriority};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::config_bag::{ConfigBag, Storable, StoreReplace};
use std::error::Error;
use std::io::ErrorKind;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a given address may refuse connections.
const PATIENCE: Duration = Duration::from_secs(4);

/// Ends the retries of a client whose endpoint cannot be reached.
#[derive(Default, Debug)]
pub struct Patience {
    /// Since when every attempt has failed to connect.
    since: Mutex<Option<Instant>>,
}

impl ClassifyRetry for Patience {
    fn classify_retry(&self, ctx: &InterceptorContext) -> RetryAction {
        let error = ctx.output_or_error().and_then(|r| r.err()).and_then(OrchestratorError::as_connector_error);
        let mut since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        if !error.is_some_and(is_unreachable) {
            *since = None;
            return RetryAction::NoActionIndicated;
        }
        match since.get_or_insert_with(Instant::now).elapsed() > PATIENCE {
            true => RetryAction::RetryForbidden,
            false => RetryAction::NoActionIndicated,
        }
    }

    fn name(&self) -> &'static str {
        "few retries of an address that does not answer"
    }

    fn priority(&self) -> RetryClassifierPriority {
        RetryClassifierPriority::run_after(RetryClassifierPriority::transient_error_classifier())
    }
}

/// Whether no connection came about; a connection that broke is another matter.
fn is_unreachable(error: &ConnectorError) -> bool {
    error.is_timeout()
        || causes(error).any(|e| {
            let refused = e.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == ErrorKind::ConnectionRefused);
            refused || e.to_string().contains("dns error")
        })
}

fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |e| (*e).source())
}

/// No connection came about, so that the request had no effect.
#[derive(Debug)]
pub struct NotReached(String);

impl NotReached {
    /// `why` is the whole of what the user reads.
    pub fn new(why: String) -> NotReached {
        NotReached(why)
    }
}

impl std::fmt::Display for NotReached {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for NotReached {}

/// Where a request goes, kept until it is answered.
#[derive(Debug)]
struct Address(String);

impl Storable for Address {
    type Storer = StoreReplace<Self>;
}

/// Puts the address into the error of a request that did not reach it.
#[derive(Debug)]
pub struct NameEndpoint;

impl Intercept for NameEndpoint {
    fn name(&self) -> &'static str {
        "the address in errors"
    }

    fn read_before_transmit(
        &self,
        ctx: &BeforeTransmitInterceptorContextRef<'_>,
        _components: &RuntimeComponents,
        settings: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        settings.interceptor_state().store_put(Address(address(ctx.request().uri())));
        Ok(())
    }

    fn modify_before_completion(
        &self,
        ctx: &mut FinalizerInterceptorContextMut<'_>,
        _components: &RuntimeComponents,
        settings: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let address = settings.load::<Address>().map(|a| a.0.as_str()).unwrap_or_default();
        if let Some(Err(error)) = ctx.output_or_error_mut()
            && let Some(cause) = error.as_connector_error().filter(|e| e.is_io() || e.is_timeout())
        {
            let reason = causes(cause).last().map(ToString::to_string).unwrap_or_default();
            let text = format!("{address} did not answer: {reason}");
            let named: BoxError = if is_unreachable(cause) { NotReached(text).into() } else { text.into() };
            *error = OrchestratorError::connector(ConnectorError::io(named));
        }
        Ok(())
    }
}

/// `https://ec2.us-east-1.amazonaws.com` of a request's address.
fn address(uri: &str) -> String {
    let scheme = uri.find("://").map_or(0, |at| at + 3);
    let end = uri.get(scheme..).and_then(|rest| rest.find(['/', '?'])).map_or(uri.len(), |at| scheme + at);
    uri.get(..end).unwrap_or(uri).to_owned()
}

/// Whether the environment has a setting that is empty, which the SDK would take for an address.
fn empty_settings() -> Vec<String> {
    let is_address = |name: &str| name.starts_with("AWS_ENDPOINT_URL");
    std::env::vars().filter(|(name, value)| is_address(name) && value.is_empty()).map(|(name, _)| name).collect()
}

/// Starts this program anew without the addresses that are set to nothing: they mean "not set". Returns where there
/// are none, and where that is not possible.
pub fn forget_empty_settings() {
    use std::os::unix::process::CommandExt;
    let empty = empty_settings();
    let (false, Ok(own)) = (empty.is_empty(), std::env::current_exe()) else { return };
    let mut command = Command::new(own);
    command.args(std::env::args_os().skip(1));
    for name in empty {
        command.env_remove(name);
    }
    let error = command.exec();
    eprintln!("terraform-provider-aws cannot be started anew: {error}");
}

/// Whether the environment names the endpoint of a service: `ec2` for `AWS_ENDPOINT_URL_EC2`.
pub fn is_named(service: &str) -> bool {
    let name = format!("AWS_ENDPOINT_URL_{}", service.to_uppercase().replace(' ', "_"));
    std::env::var_os(name).is_some()
}

#[cfg(test)]
mod tests {
    use super::address;

    #[test]
    fn an_address_has_no_path() {
        assert_eq!(address("http://127.0.0.1:9/bucket?tagging"), "http://127.0.0.1:9");
        assert_eq!(address("https://sts.us-east-1.amazonaws.com"), "https://sts.us-east-1.amazonaws.com");
    }
}

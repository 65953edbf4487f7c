//! Answers of AWS that are errors, as errors of the provider: the API's code decides what they mean, its message is
//! what the user reads.

use crate::endpoint::NotReached;
use crate::throttle::BUSY;
use aws_smithy_runtime_api::client::result::{DispatchFailure, SdkError};
use aws_smithy_types::error::display::DisplayErrorContext;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;
use gpuform_provider_sdk::prelude::*;
use std::error::Error as _;

/// Codes that mean "there is no such object" without saying so in their name.
const GONE: &[&str] = &["NoSuchEntity", "NoSuchBucket", "NoSuchKey", "404"];

/// What is said of a call that was refused as one too many until the end.
const GAVE_UP: &str = "The call was made again, fewer and fewer of them at a time, as often as max_retries says or for four \
                       minutes. Something else may be using up the account's API rate.";

/// Turns the answer of an SDK call into the provider's result.
pub trait Answer<T> {
    /// `doing` completes the summary: `Creating the VPC` becomes `Creating the VPC failed`.
    ///
    /// # Errors
    /// Of kind "not found" where the code says that the object does not exist; with the API's code in any case
    /// (`NoAnswer` where there was no answer that could be understood, `NotReached` where the request was never sent).
    fn or_fail(self, doing: &str) -> Result<T>;
}

impl<T, E, R> Answer<T> for Result<T, SdkError<E, R>>
where
    E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
    R: std::fmt::Debug + Send + Sync + 'static,
{
    fn or_fail(self, doing: &str) -> Result<T> {
        self.map_err(|e| {
            let summary = format!("{doing} failed");
            let Some(service) = e.as_service_error() else {
                let error = Error::new(summary).detail(unanswered(&e));
                return match &e {
                    SdkError::ConstructionFailure(_) => error,
                    SdkError::DispatchFailure(d) if not_reached(d) => error.code("NotReached"),
                    _ => error.code("NoAnswer"),
                };
            };
            let code = service.code().unwrap_or("Unknown").to_owned();
            let message = service.message().unwrap_or("AWS gave no further explanation.");
            let gone = GONE.contains(&code.as_str())
                || code.ends_with("NotFound")
                || code.ends_with("NotFoundException")
                || (code == "ValidationError" && message.contains("not found"));
            let message = match BUSY.contains(&code.as_str()) {
                true => format!("{message} {GAVE_UP}"),
                false => message.to_owned(),
            };
            let error = if gone { Error::not_found(summary) } else { Error::new(summary) };
            error.detail(format!("{code}: {message}")).code(code)
        })
    }
}

fn not_reached(failure: &DispatchFailure) -> bool {
    failure.as_connector_error().and_then(|c| c.source()).is_some_and(|s| s.is::<NotReached>())
}

/// Why there was no answer, without the request's content.
fn unanswered<E, R>(e: &SdkError<E, R>) -> String
where
    E: std::error::Error + Send + Sync + 'static,
    R: std::fmt::Debug + Send + Sync + 'static,
{
    match e {
        SdkError::ConstructionFailure(_) => format!("The request could not be made: {}", DisplayErrorContext(e)),
        SdkError::TimeoutError(_) => "AWS did not answer in time.".into(),
        SdkError::DispatchFailure(d) => match d.as_connector_error() {
            Some(c) if c.is_io() || not_reached(d) => c.source().map(ToString::to_string).unwrap_or_default(),
            Some(c) => format!("AWS could not be reached, or no credentials were found: {}", DisplayErrorContext(c)),
            None => "AWS could not be reached, or no credentials were found.".into(),
        },
        _ => format!("The answer of AWS could not be understood: {}", DisplayErrorContext(e)),
    }
}

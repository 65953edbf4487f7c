//! Creating an object once where the API knows no client tokens. The SDK's own retries would make a second object when
//! the answer to the first request is lost; here the object is looked for before the request is repeated. An object
//! without a natural key is found by a tag that holds the client token and is removed when the answer has arrived.

use crate::client::Aws;
use crate::error::Answer;
use crate::tags::Tags;
use aws_config::retry::RetryConfig;
use gpuform_provider_sdk::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::time::Duration;

/// The tag of an object whose creation has not been confirmed. It is never shown.
pub const TOKEN_TAG: &str = "gpuform:client-token";

/// The request may have had its effect.
const LOST: &[&str] = &[
    "NoAnswer",
    "InternalError",
    "InternalFailure",
    "InternalServerError",
    "ServiceFailure",
    "KMSInternalException",
    "KMSInternal",
    "DependencyTimeoutException",
    "DependencyTimeout",
    "ServiceUnavailable",
    "Unavailable",
];
/// The tag is not allowed, or is one too many.
const TAG_REFUSED: &[&str] = &[
    "UnauthorizedOperation",
    "AccessDenied",
    "AccessDeniedException",
    "TagPolicyException",
    "TagLimitExceeded",
    "TagException",
    "InvalidParameterValue",
];
const ATTEMPTS: u32 = 8;
/// The request cannot have had an effect, and should be repeated a few times only.
const UNSENT: &[&str] = &["NotReached"];
const UNSENT_ATTEMPTS: u32 = 5;

/// Requests of a service that the SDK must not repeat by itself.
macro_rules! requests_of {
    ($name:ident, $service:ident) => {
        pub fn $name() -> $service::config::Builder {
            $service::config::Builder::new().retry_config(RetryConfig::disabled())
        }
    };
}

requests_of!(ec2, aws_sdk_ec2);
requests_of!(iam, aws_sdk_iam);
requests_of!(kms, aws_sdk_kms);
requests_of!(s3, aws_sdk_s3);

/// The tag's filter in EC2's Describe calls.
pub fn by_token(token: &str) -> aws_sdk_ec2::types::Filter {
    crate::ec2::util::filter(&format!("tag:{TOKEN_TAG}"), token)
}

/// Finds an EC2 object whose create is [`once_tagged`], by the file's `lookup(aws, token)`.
macro_rules! find_by_tag {
    () => {
        async fn find_by_token(&self, token: &str, ctx: &Context<Aws>) -> Result<Option<Self>> {
            let Some(id) = lookup(ctx.client(), token).await? else { return Ok(None) };
            crate::once::untag_ec2(ctx.client(), &id).await;
            let mut found = self.clone();
            found.id.set(id);
            found.read(ctx).await
        }
    };
}
pub(crate) use find_by_tag;

/// Finds an object by repeating its create, `request(aws, token)`, which the API answers with the one that exists.
macro_rules! find_by_repeating {
    () => {
        async fn find_by_token(&self, token: &str, ctx: &Context<Aws>) -> Result<Option<Self>> {
            let mut found = self.clone();
            found.id.set(self.request(ctx.client(), token).await?);
            found.read(ctx).await
        }
    };
}
pub(crate) use find_by_repeating;

/// Makes an object by `create`, which must not retry by itself. Where an answer is lost, `lookup` says whether the
/// object exists before `create` is called again.
pub async fn once<T, C, L>(
    ctx: &Context<Aws>,
    create: impl Fn() -> C + Send + Sync,
    lookup: impl Fn() -> L + Send + Sync,
) -> Result<T>
where
    C: Future<Output = Result<T>> + Send,
    L: Future<Output = Result<Option<T>>> + Send,
    T: Send,
{
    let (lost, losses) = (AtomicBool::new(false), AtomicU32::new(0));
    let fewer_than = |most: u32| losses.load(Relaxed) < most;
    let again =
        |e: &Error| (e.has_code(LOST) && fewer_than(ATTEMPTS)) || (e.has_code(UNSENT) && fewer_than(UNSENT_ATTEMPTS));
    let lose = |_: &Error| {
        losses.fetch_add(1, Relaxed);
    };
    let attempt = || async {
        if lost.load(Relaxed)
            && let Some(found) = patiently(&lookup).await.inspect_err(lose)?
        {
            return Ok(found);
        }
        match create().await.inspect_err(lose) {
            Err(e) if e.has_code(LOST) => {
                lost.store(true, Relaxed);
                Err(e)
            }
            Err(e) if e.has_code(UNSENT) => Err(e),
            // A conflict, perhaps, with what an earlier request made.
            Err(e) if lost.load(Relaxed) => lookup().await?.ok_or(e),
            answer => answer,
        }
    };
    ctx.retry(again, |_| attempt()).await
}

/// As [`once`], with the client token added to the `tags` that `create` gets; without it where it is refused. The
/// caller removes the tag.
pub async fn once_tagged<T, C, L>(
    ctx: &Context<Aws>,
    tags: &Tags,
    create: impl Fn(Tags) -> C + Send + Sync,
    lookup: impl Fn() -> L + Send + Sync,
) -> Result<T>
where
    C: Future<Output = Result<T>> + Send,
    L: Future<Output = Result<Option<T>>> + Send,
    T: Send,
{
    let mut tagged = tags.clone();
    tagged.insert(TOKEN_TAG.into(), ctx.client_token().to_owned());
    match once(ctx, || create(tagged.clone()), &lookup).await {
        Err(e) if e.has_code(TAG_REFUSED) => once(ctx, || create(tags.clone()), lookup).await,
        answer => answer,
    }
}

/// Removes the tag from an EC2 object. A failure only leaves a tag that nobody sees.
pub async fn untag_ec2(aws: &Aws, id: &str) {
    let tag = aws_sdk_ec2::types::Tag::builder().key(TOKEN_TAG).build();
    let _ = aws.ec2.delete_tags().resources(id).tags(tag).send().await.or_fail("Removing a tag");
}

/// Looks three times, as new objects may be invisible at first.
async fn patiently<T, L>(lookup: &(impl Fn() -> L + Sync)) -> Result<Option<T>>
where
    L: Future<Output = Result<Option<T>>> + Send,
{
    for _ in 0..2 {
        if let Some(found) = lookup().await? {
            return Ok(Some(found));
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    lookup().await
}

//! Policy documents of IAM and of resources: the test whether two of them say the same, though AWS reports them with
//! other key orders, lists for single strings and the like; and the retries of calls that may come too early for what
//! was made a moment ago. Resources of IAM, S3 and KMS use them.

use gpuform_provider_sdk::prelude::*;
use serde_json::Value as Json;
use std::sync::atomic::{AtomicU32, Ordering};

/// Two policies with the same meaning: for `suppress`.
pub fn policy_equal(old: &Value, new: &Value) -> bool {
    matches!((old.as_str(), new.as_str()), (Some(a), Some(b)) if same_policy(a, b))
}

/// Whether two policies have the same meaning.
pub fn same_policy(a: &str, b: &str) -> bool {
    let parse = |s: &str| serde_json::from_str::<Json>(s).ok().map(|j| canonical(&j));
    a == b || matches!((parse(a), parse(b)), (Some(a), Some(b)) if a == b)
}

/// Brings a policy to one form: statements sorted, lists for single values, numbers and flags as text.
fn canonical(policy: &Json) -> Json {
    let Json::Object(policy) = policy else { return policy.clone() };
    let each = |(key, value): (&String, &Json)| match (key.as_str(), value) {
        ("Statement", Json::Array(all)) => (key.clone(), sorted(all.iter().map(statement).collect())),
        ("Statement", one) => (key.clone(), Json::Array(vec![statement(one)])),
        _ => (key.clone(), value.clone()),
    };
    ordered(policy.iter().filter(|(_, v)| v.as_str() != Some("")).map(each))
}

fn statement(statement: &Json) -> Json {
    let Json::Object(statement) = statement else { return statement.clone() };
    let each = |(key, value): (&String, &Json)| {
        let value = match key.as_str() {
            "Action" | "NotAction" => lower(strings(value)),
            "Resource" | "NotResource" => strings(value),
            "Principal" | "NotPrincipal" => principals(value),
            "Condition" => conditions(value),
            _ => value.clone(),
        };
        (key.clone(), value)
    };
    let empty = |v: &Json| v.is_null() || v.as_str() == Some("") || v.as_array().is_some_and(Vec::is_empty);
    ordered(statement.iter().filter(|(_, v)| !empty(v)).map(each))
}

fn principals(value: &Json) -> Json {
    match value {
        Json::Object(kinds) => ordered(kinds.iter().map(|(k, v)| match strings(v) {
            Json::Array(all) if k == "AWS" => (k.clone(), sorted(all.iter().map(account).collect())),
            other => (k.clone(), other),
        })),
        Json::String(any) if any == "*" => ordered([("AWS".to_owned(), Json::Array(vec![value.clone()]))]),
        other => other.clone(),
    }
}

/// An account may be named by its number or by its root's ARN.
fn account(principal: &Json) -> Json {
    let number = principal.as_str().and_then(|p| p.strip_suffix(":root")).and_then(|p| p.split_once(":iam::"));
    number.map_or_else(|| principal.clone(), |(_, number)| Json::from(number))
}

fn conditions(value: &Json) -> Json {
    let Json::Object(tests) = value else { return value.clone() };
    ordered(tests.iter().map(|(test, variables)| match variables {
        Json::Object(variables) => {
            (test.clone(), ordered(variables.iter().map(|(name, v)| (name.to_lowercase(), strings(v)))))
        }
        other => (test.clone(), other.clone()),
    }))
}

/// One value or a list of them as a sorted list of strings.
fn strings(value: &Json) -> Json {
    let text = |v: &Json| match v {
        Json::Bool(_) | Json::Number(_) => Json::String(v.to_string()),
        other => other.clone(),
    };
    match value {
        Json::Array(all) => sorted(all.iter().map(text).collect()),
        one => Json::Array(vec![text(one)]),
    }
}

fn lower(list: Json) -> Json {
    match list {
        Json::Array(all) => {
            sorted(all.iter().map(|a| a.as_str().map_or_else(|| a.clone(), |s| s.to_lowercase().into())).collect())
        }
        other => other,
    }
}

fn sorted(mut list: Vec<Json>) -> Json {
    list.sort_by_cached_key(Json::to_string);
    list.dedup();
    Json::Array(list)
}

fn ordered(entries: impl IntoIterator<Item = (String, Json)>) -> Json {
    Json::Object(entries.into_iter().collect::<BTreeMap<_, _>>().into_iter().collect())
}

/// Text in which IAM wrote `%7B` for `{` and so on.
pub fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        bytes.extend_from_slice(before.as_bytes());
        match after.get(..2).and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(b'%');
                rest = after;
            }
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8_lossy(&bytes).into_owned()
}

/// How often a call is repeated that may have come too early: about half a minute in all.
const ATTEMPTS: u32 = 7;

/// Repeats a call for about half a minute while it fails because something made a moment ago is not visible everywhere.
pub async fn eventually<T, F>(ctx: &Context<crate::client::Aws>, call: impl FnMut(u32) -> F + Send) -> Result<T>
where
    F: Future<Output = Result<T>> + Send,
{
    retry_briefly(ctx, too_early, call).await
}

/// Repeats a call for about half a minute while its errors are `retryable`.
pub async fn retry_briefly<T, F>(
    ctx: &Context<crate::client::Aws>,
    retryable: impl Fn(&Error) -> bool + Send + Sync,
    call: impl FnMut(u32) -> F + Send,
) -> Result<T>
where
    F: Future<Output = Result<T>> + Send,
{
    let failures = AtomicU32::new(0);
    ctx.retry(|e| retryable(e) && failures.fetch_add(1, Ordering::Relaxed) + 1 < ATTEMPTS, call).await
}

fn too_early(e: &Error) -> bool {
    let invalid = e.has_code(&["MalformedPolicyDocument", "MalformedPolicy"]);
    e.is_not_found()
        || (invalid && e.to_string().to_lowercase().contains("invalid principal"))
        || e.has_code(&["ConcurrentModification", "OperationAborted", "EntityTemporarilyUnmodifiable"])
}

#[cfg(test)]
mod tests {
    use super::{percent_decoded, same_policy};

    #[test]
    fn policies_that_mean_the_same_are_the_same() {
        let written = r#"{"Version":"2012-10-17","Statement":[{"Sid":"","Effect":"Allow","Action":["s3:PutObject","s3:GetObject"],
            "Principal":{"AWS":"arn:aws:iam::123456789012:root"},"Resource":"*","Condition":{"Bool":{"aws:SecureTransport":true}}}]}"#;
        let reported = r#"{"Statement":{"Effect":"Allow","Action":["s3:GetObject","s3:PutObject"],"Resource":["*"],
            "Principal":{"AWS":["123456789012"]},"Condition":{"Bool":{"aws:SecureTransport":["true"]}}},"Version":"2012-10-17"}"#;
        assert!(same_policy(written, reported));
        assert!(!same_policy(written, &reported.replace("Allow", "Deny")));
    }

    #[test]
    fn documents_of_iam_are_decoded() {
        assert_eq!(percent_decoded("%7B%22a%22%3A%20%22%25%C3%A4%22%7D"), r#"{"a": "%ä"}"#);
        assert_eq!(percent_decoded("100%"), "100%");
    }
}

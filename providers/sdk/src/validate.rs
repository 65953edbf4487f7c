//! Checks for `#[attr(validate = …)]`. A check sees the attribute's value when it is known and not null, and answers
//! with what is wrong, as a sentence. Relations between attributes are settings of their own (`conflicts_with` …), and
//! what neither can express goes into the `validate` method of the resource.

use gpuform_schema::{Number, Value};
use std::fmt::Display;
use std::ops::RangeBounds;
use std::sync::Arc;

/// A check of one value. See [`check`] to write one.
pub type Validator = Arc<dyn Fn(&Value) -> Result<(), String> + Send + Sync>;

/// A check by a function or closure.
pub fn check(f: impl Fn(&Value) -> Result<(), String> + Send + Sync + 'static) -> Validator {
    Arc::new(f)
}

/// A check of a string.
pub fn check_str(f: impl Fn(&str) -> Result<(), String> + Send + Sync + 'static) -> Validator {
    check(move |v| v.as_str().map_or(Ok(()), &f))
}

/// One of these strings.
pub fn one_of<const N: usize>(choices: [&'static str; N]) -> Validator {
    check_str(move |s| match choices.contains(&s) {
        true => Ok(()),
        false => Err(format!("{s:?} is none of {}.", quoted(&choices))),
    })
}

/// One of these strings, in any case.
pub fn one_of_any_case<const N: usize>(choices: [&'static str; N]) -> Validator {
    check_str(move |s| match choices.iter().any(|c| c.eq_ignore_ascii_case(s)) {
        true => Ok(()),
        false => Err(format!("{s:?} is none of {}.", quoted(&choices))),
    })
}

/// A number within a range: `range(1..=100)`, `range(0.5..)`.
pub fn range<T>(bounds: impl RangeBounds<T> + Send + Sync + 'static) -> Validator
where
    T: Into<f64> + PartialOrd + Copy + Display + Send + Sync + 'static,
{
    check(move |v| {
        let Some(n) = v.as_number().map(Number::to_f64) else { return Ok(()) };
        let low = bounds.start_bound().map(|b| (*b).into());
        let high = bounds.end_bound().map(|b| (*b).into());
        if (low, high).contains(&n) {
            return Ok(());
        }
        Err(format!("{n} is not {}.", in_words(&bounds)))
    })
}

/// A string with so many characters, or a collection with so many elements: `length(1..=255)`.
pub fn length(bounds: impl RangeBounds<usize> + Send + Sync + 'static) -> Validator {
    check(move |v| {
        let (count, what) = match v.as_str() {
            Some(s) => (s.chars().count(), "characters"),
            None => (v.element_count().unwrap_or_default(), "elements"),
        };
        match bounds.contains(&count) {
            true => Ok(()),
            false => Err(format!("The number of {what}, {count}, is not {}.", in_words(&bounds))),
        }
    })
}

/// A string that matches a regular expression as a whole; `means` completes "The value must be …".
pub fn regex(pattern: &'static str, means: &'static str) -> Validator {
    match regex::Regex::new(&format!("^(?:{pattern})$")) {
        Ok(re) => check_str(move |s| match re.is_match(s) {
            true => Ok(()),
            false => Err(format!("{s:?} must be {means}.")),
        }),
        Err(e) => check_str(move |_| Err(format!("The provider's pattern for this attribute is broken: {e}."))),
    }
}

/// A string that holds a JSON document.
pub fn json() -> Validator {
    check_str(|s| match serde_json::from_str::<serde::de::IgnoredAny>(s) {
        Ok(_) => Ok(()),
        Err(e) => Err(format!("The text is not valid JSON: {e}.")),
    })
}

/// An IPv4 network such as `10.0.0.0/16`, with no bits set behind the prefix.
pub fn ipv4_cidr() -> Validator {
    check_str(|s| cidr::<std::net::Ipv4Addr>(s, 32, |a| u128::from(u32::from(a))))
}

/// An IPv6 network such as `2001:db8::/32`, with no bits set behind the prefix.
pub fn ipv6_cidr() -> Validator {
    check_str(|s| cidr::<std::net::Ipv6Addr>(s, 128, u128::from))
}

/// An IPv4 or IPv6 address.
pub fn ip_address() -> Validator {
    check_str(|s| match s.parse::<std::net::IpAddr>() {
        Ok(_) => Ok(()),
        Err(_) => Err(format!("{s:?} is not an IP address.")),
    })
}

/// The same check for every element of a list, set or map.
pub fn each(validator: Validator) -> Validator {
    check(move |v| {
        let known = |e: &&Value| e.is_known() && !e.is_null();
        match v.items() {
            Some(items) => items.iter().filter(known).try_for_each(|e| validator(e)),
            None => v.entries().into_iter().flatten().map(|(_, e)| e).filter(known).try_for_each(|e| validator(e)),
        }
    })
}

/// Every key of a map.
pub fn each_key(validator: Validator) -> Validator {
    check(move |v| v.entries().into_iter().flatten().try_for_each(|(k, _)| validator(&Value::String(k.clone()))))
}

fn cidr<A: std::str::FromStr>(text: &str, width: u32, bits: impl Fn(A) -> u128) -> Result<(), String> {
    let parsed = text.split_once('/').and_then(|(a, p)| Some((a.parse::<A>().ok()?, p.parse::<u32>().ok()?)));
    let Some((address, prefix)) = parsed.filter(|(_, prefix)| *prefix <= width) else {
        return Err(format!("{text:?} is not a network in CIDR notation."));
    };
    let behind = width - prefix;
    let mask = if behind == 128 { u128::MAX } else { (1u128 << behind) - 1 };
    match bits(address) & mask {
        0 => Ok(()),
        _ => Err(format!("{text:?} has address bits set behind the prefix of {prefix} bits.")),
    }
}

fn quoted(choices: &[&str]) -> String {
    choices.iter().map(|c| format!("{c:?}")).collect::<Vec<_>>().join(", ")
}

fn in_words<T: Display>(bounds: &impl RangeBounds<T>) -> String {
    use std::ops::Bound::{Excluded, Included, Unbounded};
    match (bounds.start_bound(), bounds.end_bound()) {
        (Included(a), Included(b)) => format!("between {a} and {b}"),
        (Included(a) | Excluded(a), Excluded(b)) => format!("at least {a} and less than {b}"),
        (Included(a) | Excluded(a), Unbounded) => format!("at least {a}"),
        (Unbounded, Included(b)) => format!("at most {b}"),
        (Unbounded, Excluded(b)) => format!("less than {b}"),
        (Excluded(a), Included(b)) => format!("more than {a} and at most {b}"),
        (Unbounded, Unbounded) => "in range".to_owned(),
    }
}

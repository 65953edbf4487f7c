//! Small conversions that the files of EC2 resources share: attributes to the API's enumerations, filters, and the
//! tests on optional values that the API reports. Nothing here calls AWS.

use aws_sdk_ec2::types::Filter;
use gpuform_provider_sdk::prelude::*;

/// The API's enumeration value of an attribute, if it is known.
pub fn choice<T>(attr: &Attr<String>) -> Option<T>
where
    T: for<'a> From<&'a str>,
{
    attr.as_deref().map(T::from)
}

/// An attribute's elements, if it is known and has any.
pub fn list(attr: &Attr<Set<String>>) -> Option<Vec<String>> {
    attr.get().filter(|s| !s.is_empty()).map(|s| s.to_vec())
}

/// A filter of a Describe call.
pub fn filter(name: &str, value: impl Into<String>) -> Filter {
    Filter::builder().name(name).values(value).build()
}

/// A filter of a Describe call that any of the values passes.
pub fn values(name: &str, values: Vec<String>) -> Filter {
    Filter::builder().name(name).set_values(Some(values)).build()
}

/// Takes a flag that the API reports; `false` leaves an argument that nobody wrote as it is.
pub fn refresh_flag(attr: &mut Attr<bool>, found: bool) {
    if found || !attr.is_null() {
        attr.set(found);
    }
}

/// Takes a number that the API reports; zero leaves an argument that nobody wrote as it is.
pub fn refresh_number(attr: &mut Attr<i32>, found: Option<i32>) {
    match found {
        Some(n) if n != 0 || !attr.is_null() => attr.set(n),
        Some(_) => {}
        None => *attr = Attr::Null,
    }
}

/// Keeps the spelling of a KMS key that the user wrote (ID, alias) where AWS reports the ARN of the same key. An alias
/// cannot be compared and is taken at its word.
pub fn refresh_key(attr: &mut Attr<String>, found: Option<&str>) {
    let found = found.unwrap_or_default();
    let same = attr.as_deref().is_some_and(|written| {
        written == found
            || (!written.is_empty() && found.ends_with(&format!("/{written}")))
            || (!found.is_empty() && (written.starts_with("alias/") || written.contains(":alias/")))
    });
    if !same {
        attr.set(found);
    }
}

/// Numbers in text that differ in their spelling only: `0.5` and `0.500000`.
pub fn same_number(old: &Value, new: &Value) -> bool {
    let number = |v: &Value| v.as_str().and_then(|s| s.parse::<f64>().ok());
    matches!((number(old), number(new)), (Some(a), Some(b)) if (a - b).abs() < 1e-9)
}

/// Times in text that differ in their spelling only: `…T12:00:00Z` and `…T12:00:00.000Z`.
pub fn same_time(old: &Value, new: &Value) -> bool {
    let time = |v: &Value| v.as_str().and_then(parse_time);
    matches!((time(old), time(new)), (Some(a), Some(b)) if a == b)
}

/// A time as RFC 3339 has it.
pub fn parse_time(text: &str) -> Option<aws_smithy_types::DateTime> {
    use aws_smithy_types::date_time::{DateTime, Format};
    DateTime::from_str(text, Format::DateTimeWithOffset).ok()
}

/// A time as RFC 3339 has it, in UTC.
pub fn render_time(time: &aws_smithy_types::DateTime) -> String {
    time.fmt(aws_smithy_types::date_time::Format::DateTime).unwrap_or_default()
}

/// The name that the configuration gives, or a unique one: the prefix (`terraform-` unless given) and 26 digits that
/// follow from the client token, so that a repeated create uses the same name.
pub fn unique_name(name: &Attr<String>, prefix: &Attr<String>, token: &str) -> String {
    if let Some(name) = name.as_deref().filter(|n| !n.is_empty()) {
        return name.to_owned();
    }
    let prefix = prefix.as_deref().filter(|p| !p.is_empty()).unwrap_or("terraform-");
    let digits: String = token.chars().filter(char::is_ascii_hexdigit).take(26).collect();
    format!("{prefix}{digits}")
}

/// A `filter` block of a data source.
#[derive(Model, Clone, PartialEq, Default, Debug)]
pub struct Filters {
    /// The filter's name at the API.
    #[attr(required)]
    pub name: Attr<String>,
    /// The values, any of which lets through.
    #[attr(required)]
    pub values: Attr<Set<String>>,
}

/// The filters of a data source as the API takes them.
pub fn filters(blocks: &[Filters]) -> Option<Vec<Filter>> {
    let one = |f: &Filters| Filter::builder().set_name(f.name.cloned()).set_values(list(&f.values)).build();
    (!blocks.is_empty()).then(|| blocks.iter().map(one).collect())
}

/// The prefix of a unique name, for an imported object; empty where the name does not look like one.
pub fn prefix_of(name: &str) -> &str {
    match name.len().checked_sub(26).and_then(|at| name.split_at_checked(at)) {
        Some((prefix, digits)) if digits.bytes().all(|b| b.is_ascii_hexdigit()) => prefix,
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::{prefix_of, unique_name};
    use gpuform_provider_sdk::prelude::*;

    #[test]
    fn a_repeated_create_uses_the_same_name_and_an_import_knows_its_prefix() {
        let token = "6f0e2a0e-95a4-4c4c-9ed2-7a8d6f9c3b7e";
        let name = unique_name(&Attr::Null, &"worker-".into(), token);
        assert_eq!(name, "worker-6f0e2a0e95a44c4c9ed27a8d6f");
        assert_eq!(prefix_of(&name), "worker-");
        assert_eq!(prefix_of("worker"), "");
    }
}

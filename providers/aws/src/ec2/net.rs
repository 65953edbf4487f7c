//! What the files of network resources share: flags, lists of what changed, rule protocols. Nothing here calls
//! AWS.

use aws_sdk_ec2::types::AttributeBooleanValue;
use gpuform_provider_sdk::prelude::*;

/// A flag that the API may leave out.
pub fn flag(value: Option<bool>) -> bool {
    value.unwrap_or_default()
}

/// A flag in the form of the Modify calls.
pub fn boolean(value: bool) -> AttributeBooleanValue {
    AttributeBooleanValue::builder().value(value).build()
}

/// A string attribute's value unless it is empty.
pub fn filled(attr: &Attr<String>) -> Option<String> {
    attr.cloned().filter(|s| !s.is_empty())
}

/// A protocol of a rule as the API names it: `6` and `TCP` are `tcp`, `all` is `-1`.
pub fn protocol(name: &str) -> String {
    match name.to_ascii_lowercase().as_str() {
        "6" | "tcp" => "tcp",
        "17" | "udp" => "udp",
        "1" | "icmp" => "icmp",
        "58" | "icmpv6" => "icmpv6",
        "-1" | "all" => "-1",
        other => return other.to_owned(),
    }
    .to_owned()
}

/// Protocols that differ in their spelling only.
pub fn same_protocol(old: &Value, new: &Value) -> bool {
    matches!((old.as_str(), new.as_str()), (Some(a), Some(b)) if protocol(a) == protocol(b))
}

/// CIDR ranges of IPv6 that differ in their spelling only.
pub fn same_cidr(a: &str, b: &str) -> bool {
    a == b || matches!((parse_cidr(a), parse_cidr(b)), (Some(x), Some(y)) if x == y)
}

fn parse_cidr(text: &str) -> Option<(std::net::IpAddr, u8)> {
    let (address, bits) = text.split_once('/')?;
    Some((address.parse().ok()?, bits.parse().ok()?))
}

//! Functions over IP address ranges in CIDR notation.

use super::signature::{Rest, functions};
use super::{FunctionError, whole};
use gpuform_schema::number::Number;
use gpuform_schema::value::Str;
use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

functions! {
    /// Tells whether an address, or all of a range, is in a range.
    fn cidrcontains(containing_prefix: Str, contained_ip_or_prefix: Str) -> Result<bool, FunctionError> {
        let outer = Prefix::parse(&containing_prefix).map_err(|e| FunctionError::argument(0, e))?;
        let inner = Prefix::parse(&contained_ip_or_prefix)
            .or_else(|e| Prefix::address(&contained_ip_or_prefix).ok_or(e))
            .map_err(|e| FunctionError::argument(1, e))?;
        if outer.width != inner.width {
            return Err(FunctionError::call("one is an IPv4 range, the other is of IPv6"));
        }
        Ok(inner.length >= outer.length && inner.base & outer.mask() == outer.base)
    }

    /// The address of a host in a range, by its number.
    fn cidrhost(
        /// The range in CIDR notation, such as `10.0.0.0/8`.
        prefix: Str,
        /// The number of the host; negative numbers count from the end of the range.
        hostnum: Number,
    ) -> Result<String, FunctionError> {
        let prefix = Prefix::parse(&prefix).map_err(FunctionError::call)?;
        let hosts = !prefix.mask() & prefix.all();
        let out_of_range = || FunctionError::call(format!("the range {prefix} has no host of this number"));
        let magnitude = big(&hostnum).ok_or_else(out_of_range)?;
        let host = if hostnum.is_negative() {
            // The last host is number -1.
            hosts.checked_sub(magnitude - 1).ok_or_else(out_of_range)?
        } else {
            magnitude
        };
        if host > hosts {
            return Err(out_of_range());
        }
        // Of an IPv4 address that is written as one of IPv6 the number lands in front, as in Terraform.
        let host = if prefix.in_v6_as_v4() { host << (V6 - V4) } else { host };
        Ok(prefix.show(prefix.base | host))
    }

    /// The mask of an IPv4 range in dotted form, such as `255.0.0.0`.
    fn cidrnetmask(
        /// The range in CIDR notation, such as `10.0.0.0/8`.
        prefix: Str,
    ) -> Result<String, FunctionError> {
        let prefix = Prefix::parse(&prefix).map_err(FunctionError::call)?;
        if prefix.width != V4 && !prefix.in_v6_as_v4() {
            return Err(FunctionError::call("only IPv4 ranges have masks in dotted form"));
        }
        Ok(prefix.show(prefix.mask()))
    }

    /// A range inside of a range, by its number.
    fn cidrsubnet(
        /// The range in CIDR notation, such as `10.0.0.0/8`.
        prefix: Str,
        /// By how many bits the prefix gets longer.
        newbits: i64,
        /// The number that is put in these bits.
        netnum: Number,
    ) -> Result<String, FunctionError> {
        let prefix = Prefix::parse(&prefix).map_err(FunctionError::call)?;
        let length = i64::from(prefix.length).checked_add(newbits).and_then(|n| u32::try_from(n).ok());
        let length = length
            .filter(|n| *n <= prefix.width)
            .ok_or_else(|| FunctionError::call(format!("a prefix of {} bits cannot get longer by {newbits}", prefix.length)))?;
        // Where the prefix gets shorter, Terraform puts the number in front of what is left of it.
        let room = if newbits < 0 { length } else { u32::try_from(newbits).unwrap_or(0) };
        let fits = |n: &u128| room >= 128 || *n >> room == 0;
        let number = big(&netnum).filter(fits).ok_or_else(|| {
            FunctionError::call(format!("the number of the subnet must be whole and fit {room} bits"))
        })?;
        let number = number.checked_shl(prefix.width - length).unwrap_or(0);
        // Of a negative number Terraform leaves nothing but its magnitude.
        let base = if netnum.is_negative() { number } else { prefix.base | number };
        Ok(Prefix { base, length, ..prefix }.to_string())
    }

    /// Ranges inside of a range, one after another, each as close to the one before as its size allows.
    fn cidrsubnets(
        /// The range in CIDR notation, such as `10.0.0.0/8`.
        prefix: Str,
        /// For each range, by how many bits its prefix is longer.
        newbits: Rest<Number>,
    ) -> Result<Vec<String>, FunctionError> {
        let outer = Prefix::parse(&prefix).map_err(|e| FunctionError::argument(0, e))?;
        let mut ranges = Vec::with_capacity(newbits.0.len());
        // The first address that is free; `None` after the very last.
        let mut free = Some(outer.base);
        for (i, bits) in newbits.0.iter().enumerate() {
            let invalid = |message: String| FunctionError::argument(i + 1, message);
            if outer.base == 0 || outer.in_v6_as_v4() {
                return Err(invalid(format!("{outer} begins with the first of all addresses, before which there is no range")));
            }
            let bits = whole("newbits", bits).map_err(invalid)?;
            let bits = u32::try_from(bits).ok().filter(|b| (1..=32).contains(b));
            let bits = bits.ok_or_else(|| invalid("the prefix must get longer by 1 to 32 bits".into()))?;
            let length = outer.length + bits;
            if length > outer.width {
                return Err(invalid(format!("a prefix of {length} bits is too long for the address")));
            }
            let range = Prefix { base: 0, length, ..outer };
            let size = (!range.mask() & outer.all()).checked_add(1);
            let base = match size {
                Some(size) => free.and_then(|f| f.checked_add(size - 1)).map(|f| f & range.mask()),
                None => free,
            };
            let base = base.filter(|b| b & outer.mask() == outer.base && b & outer.all() == *b).ok_or_else(|| {
                invalid(format!("there is no room left in {outer} for a range with a prefix of {length} bits"))
            })?;
            ranges.push(Prefix { base, ..range }.to_string());
            free = size.and_then(|size| base.checked_add(size));
        }
        Ok(ranges)
    }
}

const V4: u32 = 32;
const V6: u32 = 128;

/// A range: the addresses that start with the first `length` bits of `base`.
#[derive(Clone, Copy)]
struct Prefix {
    /// The first address; of IPv4 only the last 32 bits are used.
    base: u128,
    length: u32,
    /// How many bits an address has.
    width: u32,
}

impl Prefix {
    /// Reads `ADDRESS/LENGTH`; bits of the address after the length are dropped.
    fn parse(text: &str) -> Result<Prefix, String> {
        let parsed = text.split_once('/').and_then(|(address, length)| {
            let host = Prefix::address(address)?;
            let digits = !length.is_empty() && length.bytes().all(|b| b.is_ascii_digit());
            let length = length.parse().ok().filter(|l| digits && *l <= host.width)?;
            let range = Prefix { length, ..host };
            Some(Prefix { base: range.base & range.mask(), ..range })
        });
        parsed.ok_or_else(|| format!("{text:?} is not an address range such as 10.0.0.0/8"))
    }

    /// The range of a single address.
    fn address(text: &str) -> Option<Prefix> {
        if text.contains(':') {
            let address: Ipv6Addr = text.parse().ok()?;
            return Some(Prefix { base: address.into(), length: V6, width: V6 });
        }
        // Numbers may have leading zeros, which the standard library refuses because they might mean octal.
        let mut parts = text.split('.');
        let mut base = 0u128;
        for _ in 0..4 {
            let part = parts.next().filter(|p| !p.is_empty() && p.bytes().all(|b| b.is_ascii_digit()))?;
            base = base << 8 | u128::from(part.parse::<u8>().ok()?);
        }
        parts.next().is_none().then_some(Prefix { base, length: V4, width: V4 })
    }

    /// All bits of an address.
    fn all(&self) -> u128 {
        u128::MAX >> (V6 - self.width)
    }

    fn mask(&self) -> u128 {
        let rest = self.width - self.length;
        u128::MAX.checked_shl(rest).unwrap_or(0) & self.all()
    }

    /// Whether it is a range of IPv4 addresses, written in the form of IPv6 (`::ffff:10.0.0.0/104`).
    fn in_v6_as_v4(&self) -> bool {
        self.width == V6 && self.length >= V6 - V4 && is_v4(self.base)
    }

    fn show(&self, address: u128) -> String {
        if self.width == V4 || is_v4(address) {
            Ipv4Addr::from(address as u32).to_string()
        } else {
            Ipv6Addr::from(address).to_string()
        }
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let length = if self.in_v6_as_v4() { self.length - (V6 - V4) } else { self.length };
        write!(f, "{}/{length}", self.show(self.base))
    }
}

/// Whether an address of IPv6 stands for one of IPv4.
fn is_v4(address: u128) -> bool {
    Ipv6Addr::from(address).to_ipv4_mapped().is_some()
}

/// The absolute value of a whole number that fits.
fn big(n: &Number) -> Option<u128> {
    n.integer_text(10)?.trim_start_matches('-').parse().ok()
}

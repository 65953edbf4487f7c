//! Numbers as text: reading literals and integers of any base, printing in the notations of Go's `Text` and `fmt`,
//! exactly (digits come from big integers, never from a machine float). Arithmetic is in the parent module.

use super::{LITERAL, MAX_EXPONENT, Number, Repr, WORD, quotient};
use dashu_int::UBig;
use dashu_int::ops::BitTest;
use std::fmt;

/// How to print a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Notation {
    /// `1234.5`: digits after the point are counted.
    Fixed,
    /// `1.2345e+03`: digits after the point are counted.
    Exponent,
    /// The shorter of the two (all digits are counted), without trailing zeros.
    General,
}

/// Decimal exponents of literals beyond this are refused, as Terraform does.
const MAX_LITERAL_EXPONENT: i64 = 1 << 31;

impl Number {
    /// Reads a decimal literal (`12`, `-0.5`, `1e100`, also `.5`, `1.`, `+1`, `inf` and binary exponents as in
    /// `1p-4`), rounded to 512 bits. `None` if it is not a number. Numbers too large to hold are infinite.
    pub fn parse(text: &str) -> Option<Number> {
        if let Some(i) = parse_small(text.as_bytes()) {
            return Some(Number(Repr::Int(i, LITERAL)));
        }
        let (negative, unsigned) = split_sign(text);
        if unsigned == "Inf" || unsigned == "inf" {
            return Some(Number(Repr::Infinity(negative)));
        }
        let (mantissa, exponent10, exponent2) = match unsigned.find(['e', 'E', 'p', 'P']) {
            None => (unsigned, 0, 0),
            Some(at) => {
                let exponent = parse_exponent(&unsigned[at + 1..])?;
                let binary = matches!(unsigned.as_bytes()[at], b'p' | b'P');
                if binary { (&unsigned[..at], 0, exponent) } else { (&unsigned[..at], exponent, 0) }
            }
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        if !whole.bytes().chain(fraction.bytes()).all(|b| b.is_ascii_digit()) {
            return None;
        }
        let digits = [whole.trim_start_matches('0'), fraction.trim_end_matches('0')].concat();
        let digits = digits.trim_start_matches('0');
        if digits.is_empty() {
            return Some(Number::zero(negative, LITERAL));
        }
        let exponent10 = exponent10 - fraction.trim_end_matches('0').len() as i64;
        Some(scaled(negative, digits, exponent10, exponent2))
    }

    /// Reads an integer of base 2 to 62: digits, then lower case letters, then upper case letters (to base 36 either
    /// case will do), with an optional sign. `None` if it is not one.
    pub fn parse_radix(text: &str, radix: u32) -> Option<Number> {
        let (negative, digits) = split_sign(text);
        if digits.is_empty() || !(2..=62).contains(&radix) {
            return None;
        }
        let values: Option<Vec<u8>> = digits
            .bytes()
            .map(|b| {
                let value = match b {
                    b'0'..=b'9' => b - b'0',
                    b'a'..=b'z' => b - b'a' + 10,
                    b'A'..=b'Z' if radix <= 36 => b - b'A' + 10,
                    b'A'..=b'Z' => b - b'A' + 36,
                    _ => return None,
                };
                (u32::from(value) < radix).then_some(value)
            })
            .collect();
        let mantissa = from_digits(&values?, radix);
        let precision = u32::try_from(mantissa.bit_len()).ok()?.max(WORD);
        Some(Number::round(negative && !mantissa.is_zero(), mantissa, 0, false, precision))
    }

    /// The digits of a whole number in base 2 to 36, lower case, with a minus sign if negative. `None` if the number
    /// is not whole or the base none of these.
    pub fn integer_text(&self, radix: u8) -> Option<String> {
        if !self.is_integer() || !(2..=36).contains(&radix) {
            return None;
        }
        let parts = self.parts();
        let digits = (parts.mantissa << usize::try_from(parts.exponent).ok()?).in_radix(radix).to_string();
        Some(if self.is_negative() { format!("-{digits}") } else { digits })
    }

    /// The number in JSON: the same digits as when printed. `None` for infinities, which JSON cannot hold.
    pub fn to_json_text(&self) -> Option<String> {
        (!self.is_infinite()).then(|| self.to_string())
    }

    /// The text of a literal that a machine float tells from all others (`0.1`): if it reads back the same, then nothing
    /// shorter does. Saves the big integers in the usual case.
    fn short_text(&self) -> Option<String> {
        let float = self.to_f64();
        if self.precision() < LITERAL || !float.is_finite() {
            return None;
        }
        let text = float.to_string();
        (Number::parse(&text).as_ref() == Some(self)).then_some(text)
    }

    /// The number in a notation with that many digits (see [`Notation`]), or with as few as read back the same.
    pub fn to_text(&self, notation: Notation, digits: Option<usize>) -> String {
        if let Repr::Infinity(negative) = self.0 {
            return if negative { "-Inf".into() } else { "+Inf".into() };
        }
        let mut out = String::new();
        if self.has_sign() {
            out.push('-');
        }
        let mut d = Decimal::exact(self);
        match digits {
            None => d.shorten(self),
            Some(n) => d.round(match notation {
                Notation::Fixed => d.point.saturating_add(n as i64),
                Notation::Exponent => n as i64 + 1,
                Notation::General => n.max(1) as i64,
            }),
        }
        let count = d.digits.len();
        match notation {
            Notation::Fixed => d.write_fixed(&mut out, digits.unwrap_or((count as i64 - d.point).max(0) as usize)),
            Notation::Exponent => d.write_exponent(&mut out, digits.unwrap_or(count.saturating_sub(1))),
            Notation::General => {
                // The threshold for an exponent: the digits asked for, but no fewer than a whole number needs.
                let threshold = match digits {
                    None => 6,
                    Some(n) if n > count && count as i64 >= d.point => count as i64,
                    Some(n) => n.max(1) as i64,
                };
                let exponent = d.point - 1;
                if count > 0 && (exponent < -4 || exponent >= threshold) {
                    d.write_exponent(&mut out, count - 1);
                } else {
                    d.write_fixed(&mut out, (count as i64 - d.point).max(0) as usize);
                }
            }
        }
        out
    }
}

impl fmt::Display for Number {
    /// The shortest decimal that reads back the same at the number's precision, never with an exponent.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Repr::Int(i, p) if p >= WORD || i.unsigned_abs() >> p == 0 => fmt::Display::fmt(&i, f),
            _ => f.write_str(&self.short_text().unwrap_or_else(|| self.to_text(Notation::Fixed, None))),
        }
    }
}

/// A short run of digits with an optional minus sign, but not `-0`.
fn parse_small(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    if digits.is_empty() || digits.len() > 18 {
        return None;
    }
    let mut value = 0i64;
    for b in digits {
        value = value * 10 + i64::from(b.is_ascii_digit().then(|| b - b'0')?);
    }
    match (negative, value) {
        (true, 0) => None,
        (true, v) => Some(-v),
        (false, v) => Some(v),
    }
}

fn split_sign(text: &str) -> (bool, &str) {
    match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    }
}

fn parse_exponent(text: &str) -> Option<i64> {
    let (negative, digits) = split_sign(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let value: i64 = digits.parse().ok()?;
    (value < MAX_LITERAL_EXPONENT).then_some(if negative { -value } else { value })
}

/// `digits * 10^exponent10 * 2^exponent2`, rounded to the precision of literals.
fn scaled(negative: bool, digits: &str, exponent10: i64, exponent2: i64) -> Number {
    // Far outside the range: do not compute the power. 3.32 bits make a digit, so 1/3 of the bits is on the safe side.
    let magnitude = digits.len() as i64 + exponent10;
    if magnitude.abs() > MAX_EXPONENT / 3 || exponent2.abs() > 2 * MAX_EXPONENT {
        let large = if magnitude.abs() > MAX_EXPONENT / 3 { magnitude > 0 } else { exponent2 > 0 };
        return if large { Number(Repr::Infinity(negative)) } else { Number::zero(negative, LITERAL) };
    }
    // Digits and a power of ten: ASCII digits always parse.
    let mantissa = UBig::from_str_radix(digits, 10).unwrap_or(UBig::ZERO);
    let power = UBig::from(5u8).pow(exponent10.unsigned_abs() as usize);
    let exponent = exponent10 + exponent2;
    if exponent10 >= 0 {
        return Number::round(negative, mantissa * power, exponent, false, LITERAL);
    }
    let (mantissa, shift, inexact) = quotient(mantissa, &power, LITERAL);
    Number::round(negative, mantissa, exponent + shift, inexact, LITERAL)
}

/// The integer with these digits, most significant first, by halves so that long texts stay cheap.
fn from_digits(digits: &[u8], radix: u32) -> UBig {
    if digits.len() <= 10 {
        return digits.iter().fold(0u64, |n, d| n * u64::from(radix) + u64::from(*d)).into();
    }
    let (high, low) = digits.split_at(digits.len() / 2);
    from_digits(high, radix) * UBig::from(radix).pow(low.len()) + from_digits(low, radix)
}

/// `0.DIGITS * 10^point`, the digits ASCII without leading or trailing zeros; none for zero.
struct Decimal {
    digits: Vec<u8>,
    point: i64,
}

impl Decimal {
    /// All digits of a finite number.
    fn exact(n: &Number) -> Decimal {
        let parts = n.parts();
        Decimal::from_binary(parts.mantissa, parts.exponent)
    }

    fn from_binary(mantissa: UBig, exponent: i64) -> Decimal {
        if mantissa.is_zero() {
            return Decimal { digits: Vec::new(), point: 0 };
        }
        let shift = exponent.unsigned_abs() as usize;
        let (scaled, fraction) =
            if exponent >= 0 { (mantissa << shift, 0) } else { (mantissa * UBig::from(5u8).pow(shift), shift) };
        let digits = scaled.to_string().into_bytes();
        let point = digits.len() as i64 - fraction as i64;
        let mut d = Decimal { digits, point };
        d.trim();
        d
    }

    fn trim(&mut self) {
        let len = self.digits.iter().rposition(|d| *d != b'0').map_or(0, |i| i + 1);
        self.digits.truncate(len);
        if len == 0 {
            self.point = 0;
        }
    }

    fn at(&self, i: usize) -> u8 {
        self.digits.get(i).copied().unwrap_or(b'0')
    }

    /// Keeps as few digits as identify the number among those of its precision. Follows Go digit by digit, also where
    /// that is not quite the shortest (next to a power of two).
    fn shorten(&mut self, n: &Number) {
        if self.digits.is_empty() {
            return;
        }
        let parts = n.parts();
        // The mantissa with one bit more than the precision: one unit is half of the last place.
        let wanted = n.precision() as i64 + 1;
        let shift = wanted - parts.mantissa.bit_len() as i64;
        let (mantissa, exponent) = if shift >= 0 {
            (parts.mantissa << shift as usize, parts.exponent - shift)
        } else {
            (parts.mantissa >> shift.unsigned_abs() as usize, parts.exponent - shift)
        };
        // A tie rounds to the number only if its mantissa is even.
        let inclusive = !mantissa.bit(1);
        let lower = Decimal::from_binary(&mantissa - 1u8, exponent);
        let upper = Decimal::from_binary(mantissa + 1u8, exponent);
        for i in 0..self.digits.len() {
            let (l, m, u) = (lower.at(i), self.at(i), upper.at(i));
            let down = l != m || (inclusive && i + 1 == lower.digits.len());
            let up = m != u && (inclusive || m + 1 < u || i + 1 < upper.digits.len());
            let keep = i as i64 + 1;
            match (down, up) {
                (true, true) => return self.round(keep),
                (true, false) => return self.cut(keep, false),
                (false, true) => return self.cut(keep, true),
                (false, false) => {}
            }
        }
    }

    /// Keeps `count` digits, rounding to nearest, halves to even.
    fn round(&mut self, count: i64) {
        if count < 0 {
            self.digits.clear();
            self.point = 0;
            return;
        }
        let n = count as usize;
        if n >= self.digits.len() {
            return;
        }
        let up = match self.digits[n] {
            b'5' if n + 1 == self.digits.len() => n > 0 && self.digits[n - 1] % 2 == 1,
            d => d >= b'5',
        };
        self.cut(count, up);
    }

    /// Keeps `count` digits, adding one to the last if `up`.
    fn cut(&mut self, count: i64, up: bool) {
        self.digits.truncate(count as usize);
        if up {
            match self.digits.iter().rposition(|d| *d < b'9') {
                Some(i) => {
                    self.digits.truncate(i + 1);
                    self.digits[i] += 1;
                }
                None => {
                    self.digits = vec![b'1'];
                    self.point += 1;
                }
            }
        }
        self.trim();
    }

    fn write_fixed(&self, out: &mut String, places: usize) {
        if self.point > 0 {
            out.extend((0..self.point as usize).map(|i| char::from(self.at(i))));
        } else {
            out.push('0');
        }
        if places > 0 {
            out.push('.');
            let digit = |p: i64| if p < 0 { b'0' } else { self.at(p as usize) };
            out.extend((0..places as i64).map(|i| char::from(digit(self.point + i))));
        }
    }

    fn write_exponent(&self, out: &mut String, places: usize) {
        out.push(char::from(self.at(0)));
        if places > 0 {
            out.push('.');
            out.extend((1..=places).map(|i| char::from(self.at(i))));
        }
        let exponent = if self.digits.is_empty() { 0 } else { self.point - 1 };
        out.push('e');
        out.push(if exponent < 0 { '-' } else { '+' });
        out.push_str(&format!("{:02}", exponent.abs()));
    }
}

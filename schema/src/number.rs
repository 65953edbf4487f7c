//! Numbers: binary floating point of a precision that each number carries, rounded to nearest even, and printed as the
//! shortest decimal that reads back. This file holds the representation and the arithmetic, `number/text.rs` reading
//! and printing, `number/float.rs` what goes through machine floats. Integers that fit a machine word, which is almost all of them, never touch big integers.
//!
//! The rules are those of Go's `math/big.Float` as cty uses it: literals have 512 bits, machine integers 64, machine
//! floats 53, and a result has the larger precision of its operands.

mod float;
mod text;

use dashu_int::UBig;
use dashu_int::ops::{BitTest, DivRem};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
pub use text::Notation;

/// A number value: finite, or an infinity. Negative zero is kept (it prints as `-0`) and equals zero.
#[derive(Clone)]
pub struct Number(Repr);

/// The one representation of each value: `Int` whenever the value is whole, fits, and is not negative zero.
#[derive(Clone)]
enum Repr {
    /// Value and precision; the precision is always enough to hold the value.
    Int(i64, u32),
    NegativeZero(u32),
    /// Negative or not.
    Infinity(bool),
    Big(Arc<Big>),
}

/// `mantissa * 2^exponent`, the mantissa odd.
struct Big {
    negative: bool,
    mantissa: UBig,
    exponent: i64,
    precision: u32,
}

/// A finite number taken apart.
struct Parts {
    negative: bool,
    mantissa: UBig,
    exponent: i64,
}

/// Precision of literals and of numbers in JSON, in bits.
const LITERAL: u32 = 512;
/// Precision of machine integers.
const WORD: u32 = 64;
/// Precision of machine floats.
const DOUBLE: u32 = 53;
/// Numbers of 2^this and more are infinite, those below its inverse zero. Terraform's limit is 2^31, which would let a
/// literal of a few bytes grow to half a gigabyte when printed.
const MAX_EXPONENT: i64 = 1 << 20;

/// An operation without a result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NumberError {
    /// An infinity minus itself, or the sum of both.
    InfiniteDifference,
    /// Zero times an infinity.
    ZeroTimesInfinity,
    /// Zero divided by zero, or an infinity by an infinity.
    Indeterminate,
    /// The remainder of or by an infinity.
    InfiniteRemainder,
}

impl fmt::Display for NumberError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NumberError::InfiniteDifference => "infinity minus infinity has no value",
            NumberError::ZeroTimesInfinity => "zero times infinity has no value",
            NumberError::Indeterminate => "zero divided by zero and infinity divided by infinity have no value",
            NumberError::InfiniteRemainder => "a division that involves infinity has no remainder",
        })
    }
}

impl std::error::Error for NumberError {}

impl Number {
    pub const ZERO: Number = Number(Repr::Int(0, WORD));
    pub const ONE: Number = Number(Repr::Int(1, WORD));
    pub const INFINITY: Number = Number(Repr::Infinity(false));
    pub const NEGATIVE_INFINITY: Number = Number(Repr::Infinity(true));

    /// The value if it is whole and fits.
    pub fn as_i64(&self) -> Option<i64> {
        match self.0 {
            Repr::Int(i, _) => Some(i),
            Repr::NegativeZero(_) => Some(0),
            _ => None,
        }
    }

    /// The value if it is whole, not negative and fits.
    pub fn as_u64(&self) -> Option<u64> {
        match &self.0 {
            Repr::Big(b) if !b.negative && b.exponent >= 0 && b.exponent + b.mantissa.bit_len() as i64 <= 64 => {
                u64::try_from(&b.mantissa).ok().map(|m| m << b.exponent)
            }
            _ => self.as_i64().and_then(|i| u64::try_from(i).ok()),
        }
    }

    /// The value if it is whole, not negative and fits.
    pub fn as_usize(&self) -> Option<usize> {
        self.as_u64().and_then(|i| usize::try_from(i).ok())
    }

    /// Whether the number is finite and whole.
    pub fn is_integer(&self) -> bool {
        match &self.0 {
            Repr::Int(..) | Repr::NegativeZero(_) => true,
            Repr::Infinity(_) => false,
            Repr::Big(b) => b.exponent >= 0,
        }
    }

    pub fn is_infinite(&self) -> bool {
        matches!(self.0, Repr::Infinity(_))
    }

    pub fn is_zero(&self) -> bool {
        matches!(self.0, Repr::Int(0, _) | Repr::NegativeZero(_))
    }

    /// Whether the number is less than zero.
    pub fn is_negative(&self) -> bool {
        self.signum() < 0
    }

    /// -1, 0 or 1.
    pub fn signum(&self) -> i64 {
        match &self.0 {
            Repr::Int(i, _) => i.signum(),
            Repr::NegativeZero(_) => 0,
            Repr::Infinity(negative) => {
                if *negative {
                    -1
                } else {
                    1
                }
            }
            Repr::Big(b) => {
                if b.negative {
                    -1
                } else {
                    1
                }
            }
        }
    }

    /// Whether the number has a minus sign: like `is_negative`, and for negative zero.
    fn has_sign(&self) -> bool {
        matches!(self.0, Repr::NegativeZero(_)) || self.is_negative()
    }

    fn precision(&self) -> u32 {
        match &self.0 {
            Repr::Int(_, p) | Repr::NegativeZero(p) => *p,
            Repr::Infinity(_) => DOUBLE,
            Repr::Big(b) => b.precision,
        }
    }

    // ---- arithmetic

    pub fn add(&self, other: &Number) -> Result<Number, NumberError> {
        let precision = self.precision().max(other.precision());
        match (&self.0, &other.0) {
            (Repr::Int(a, _), Repr::Int(b, _)) => {
                if let Some(n) = a.checked_add(*b).and_then(|sum| Number::int(sum, precision)) {
                    return Ok(n);
                }
            }
            (Repr::Infinity(a), Repr::Infinity(b)) if a != b => return Err(NumberError::InfiniteDifference),
            (Repr::Infinity(_), _) => return Ok(self.clone()),
            (_, Repr::Infinity(_)) => return Ok(other.clone()),
            (Repr::NegativeZero(_), Repr::NegativeZero(_)) => return Ok(Number(Repr::NegativeZero(precision))),
            _ => {}
        }
        let (a, b) = (self.parts(), other.parts());
        let exponent = match (a.mantissa.is_zero(), b.mantissa.is_zero()) {
            (false, false) => a.exponent.min(b.exponent),
            (true, _) => b.exponent,
            (_, true) => a.exponent,
        };
        let align =
            |p: &Parts| if p.mantissa.is_zero() { UBig::ZERO } else { &p.mantissa << (p.exponent - exponent) as usize };
        let (x, y) = (align(&a), align(&b));
        let (negative, mantissa) = match (a.negative == b.negative, x.cmp(&y)) {
            (true, _) => (a.negative, x + y),
            (false, Ordering::Equal) => (false, UBig::ZERO),
            (false, Ordering::Greater) => (a.negative, x - y),
            (false, Ordering::Less) => (b.negative, y - x),
        };
        Ok(Number::round(negative, mantissa, exponent, false, precision))
    }

    pub fn sub(&self, other: &Number) -> Result<Number, NumberError> {
        if let (Repr::Int(a, p), Repr::Int(b, q)) = (&self.0, &other.0)
            && let Some(n) = a.checked_sub(*b).and_then(|d| Number::int(d, *p.max(q)))
        {
            return Ok(n);
        }
        self.add(&other.neg())
    }

    /// The product. Unlike the other operations it may be more precise than its operands, up to 512 bits, where that
    /// makes it exact.
    pub fn mul(&self, other: &Number) -> Result<Number, NumberError> {
        let precision = self.precision().max(other.precision());
        let negative = self.has_sign() != other.has_sign();
        match (&self.0, &other.0) {
            (Repr::Int(a, _), Repr::Int(b, _)) if *a != 0 && *b != 0 => {
                if let Some(n) = a.checked_mul(*b).and_then(|m| Number::int(m, precision.max(WORD))) {
                    let precision = precision.max(n.bits());
                    return Ok(n.with_precision(precision));
                }
            }
            (Repr::Infinity(_), _) | (_, Repr::Infinity(_)) => {
                if self.is_zero() || other.is_zero() {
                    return Err(NumberError::ZeroTimesInfinity);
                }
                return Ok(Number(Repr::Infinity(negative)));
            }
            _ => {}
        }
        let (a, b) = (self.parts(), other.parts());
        let product = Number::round(negative, a.mantissa * b.mantissa, a.exponent + b.exponent, false, LITERAL);
        let precision = precision.max(product.bits());
        Ok(product.with_precision(precision))
    }

    /// The quotient; an infinity when dividing by zero.
    pub fn div(&self, other: &Number) -> Result<Number, NumberError> {
        let precision = self.precision().max(other.precision());
        let negative = self.has_sign() != other.has_sign();
        if (self.is_zero() && other.is_zero()) || (self.is_infinite() && other.is_infinite()) {
            return Err(NumberError::Indeterminate);
        }
        if self.is_infinite() || other.is_zero() {
            return Ok(Number(Repr::Infinity(negative)));
        }
        if self.is_zero() || other.is_infinite() {
            return Ok(Number::zero(negative, precision));
        }
        if let (Repr::Int(a, _), Repr::Int(b, _)) = (&self.0, &other.0)
            && a.checked_rem(*b) == Some(0)
            && let Some(n) = a.checked_div(*b).and_then(|q| Number::int(q, precision))
        {
            return Ok(n);
        }
        let (a, b) = (self.parts(), other.parts());
        let (quotient, exponent, inexact) = quotient(a.mantissa, &b.mantissa, precision);
        Ok(Number::round(negative, quotient, a.exponent - b.exponent + exponent, inexact, precision))
    }

    /// What remains of `self` after taking away the whole part of the quotient times `other`; it has the sign of
    /// `self`. Dividing by zero leaves `self`.
    pub fn rem(&self, other: &Number) -> Result<Number, NumberError> {
        if other.is_zero() {
            return Ok(self.clone());
        }
        if self.is_infinite() || other.is_infinite() {
            return Err(NumberError::InfiniteRemainder);
        }
        if let (Repr::Int(a, p), Repr::Int(b, q)) = (&self.0, &other.0)
            && *p >= WORD
            && *q >= WORD
        {
            return Ok(Number(Repr::Int(a.wrapping_rem(*b), *p)));
        }
        // Each step is rounded to the precision of the dividend, so that 0.3 % 0.1 is 0 and not a sliver.
        let precision = self.precision();
        let whole = self.div(other)?.trunc().with_precision(precision);
        let (a, b) = (whole.parts(), other.parts());
        let negative = whole.is_negative() != other.has_sign();
        let taken = Number::round(negative, a.mantissa * b.mantissa, a.exponent + b.exponent, false, precision);
        self.sub(&taken)
    }

    #[must_use]
    pub fn neg(&self) -> Number {
        match &self.0 {
            Repr::Int(0, p) => Number(Repr::NegativeZero(*p)),
            Repr::NegativeZero(p) => Number(Repr::Int(0, *p)),
            Repr::Infinity(negative) => Number(Repr::Infinity(!negative)),
            Repr::Int(i, p) if *i != i64::MIN => Number(Repr::Int(-i, *p)),
            _ => {
                let Parts { negative, mantissa, exponent } = self.parts();
                Number::round(!negative, mantissa, exponent, false, self.precision())
            }
        }
    }

    #[must_use]
    pub fn abs(&self) -> Number {
        if self.has_sign() { self.neg() } else { self.clone() }
    }

    /// The next whole number towards negative infinity.
    #[must_use]
    pub fn floor(&self) -> Number {
        self.whole(true)
    }

    /// The next whole number towards positive infinity.
    #[must_use]
    pub fn ceil(&self) -> Number {
        self.whole(false)
    }

    /// The next whole number towards zero.
    #[must_use]
    pub fn trunc(&self) -> Number {
        self.whole(!self.has_sign())
    }

    fn whole(&self, down: bool) -> Number {
        let Repr::Big(big) = &self.0 else {
            return if self.is_zero() { Number(Repr::Int(0, self.precision())) } else { self.clone() };
        };
        if big.exponent >= 0 {
            return self.clone();
        }
        // An odd mantissa with a negative exponent is never whole, so the bits shifted out are never all zero.
        let mut mantissa = &big.mantissa >> big.exponent.unsigned_abs() as usize;
        if down == big.negative {
            mantissa += 1u8;
        }
        Number::round(big.negative && !mantissa.is_zero(), mantissa, 0, false, big.precision)
    }

    // ---- representation

    /// A machine integer, if the precision suffices for it.
    fn int(value: i64, precision: u32) -> Option<Number> {
        let n = Number(Repr::Int(value, precision));
        (precision >= WORD || n.bits() <= precision).then_some(n)
    }

    fn zero(negative: bool, precision: u32) -> Number {
        Number(if negative { Repr::NegativeZero(precision) } else { Repr::Int(0, precision) })
    }

    /// The least precision that holds the number.
    fn bits(&self) -> u32 {
        match &self.0 {
            Repr::Int(0, _) | Repr::NegativeZero(_) | Repr::Infinity(_) => 0,
            Repr::Int(i, _) => 64 - i.unsigned_abs().leading_zeros() - i.trailing_zeros(),
            Repr::Big(b) => b.mantissa.bit_len() as u32,
        }
    }

    /// The same number, rounded if the precision is too small for it.
    fn with_precision(self, precision: u32) -> Number {
        if precision == self.precision() {
            return self;
        }
        match self.0 {
            Repr::Infinity(_) => self,
            Repr::NegativeZero(_) => Number(Repr::NegativeZero(precision)),
            Repr::Int(i, _) if self.bits() <= precision => Number(Repr::Int(i, precision)),
            _ => {
                let Parts { negative, mantissa, exponent } = self.parts();
                Number::round(negative, mantissa, exponent, false, precision)
            }
        }
    }

    /// Takes a finite number apart (an infinity comes out as zero: callers have dealt with it).
    fn parts(&self) -> Parts {
        match &self.0 {
            Repr::Int(i, _) => Parts { negative: *i < 0, mantissa: i.unsigned_abs().into(), exponent: 0 },
            Repr::NegativeZero(_) => Parts { negative: true, mantissa: UBig::ZERO, exponent: 0 },
            Repr::Infinity(negative) => Parts { negative: *negative, mantissa: UBig::ZERO, exponent: 0 },
            Repr::Big(b) => Parts { negative: b.negative, mantissa: b.mantissa.clone(), exponent: b.exponent },
        }
    }

    /// `mantissa * 2^exponent` rounded to nearest even; `inexact` says that the true value is a little larger in
    /// magnitude, by less than the mantissa's last place.
    fn round(negative: bool, mantissa: UBig, exponent: i64, inexact: bool, precision: u32) -> Number {
        if mantissa.is_zero() {
            return Number::zero(negative, precision);
        }
        let (mantissa, shift) = round_to(mantissa, inexact, precision);
        let exponent = exponent + shift;
        let bits = mantissa.bit_len() as i64;
        if exponent + bits > MAX_EXPONENT {
            return Number(Repr::Infinity(negative));
        }
        if exponent + bits < -MAX_EXPONENT {
            return Number::zero(negative, precision);
        }
        if exponent >= 0
            && exponent + bits <= 64
            && let Ok(m) = u64::try_from(&mantissa)
        {
            let value = i128::from(m << exponent);
            if let Ok(i) = i64::try_from(if negative { -value } else { value }) {
                return Number(Repr::Int(i, precision));
            }
        }
        Number(Repr::Big(Arc::new(Big { negative, mantissa, exponent, precision })))
    }
}

/// Rounds to nearest even and makes the mantissa odd; answers it with the exponent to add. `inexact` as in
/// [`Number::round`], for which the mantissa must have more bits than the precision.
fn round_to(mut mantissa: UBig, inexact: bool, precision: u32) -> (UBig, i64) {
    let mut shift = 0;
    let extra = mantissa.bit_len().saturating_sub(precision as usize);
    if extra > 0 {
        let half = mantissa.bit(extra - 1);
        let beyond = inexact || mantissa.trailing_zeros().is_some_and(|z| z < extra - 1);
        mantissa >>= extra;
        if half && (beyond || mantissa.bit(0)) {
            mantissa += 1u8;
        }
        shift = extra;
    }
    let zeros = mantissa.trailing_zeros().unwrap_or(0);
    if zeros > 0 {
        mantissa >>= zeros;
    }
    (mantissa, (shift + zeros) as i64)
}

/// `a / b` with at least two bits more than `precision`, the exponent to add, and whether more bits would follow.
fn quotient(a: UBig, b: &UBig, precision: u32) -> (UBig, i64, bool) {
    let wanted = precision as usize + 2 + b.bit_len();
    let shift = wanted.saturating_sub(a.bit_len());
    let (quotient, remainder) = (a << shift).div_rem(b);
    (quotient, -(shift as i64), !remainder.is_zero())
}

impl From<i64> for Number {
    fn from(i: i64) -> Self {
        Number(Repr::Int(i, WORD))
    }
}

impl From<u64> for Number {
    fn from(i: u64) -> Self {
        i64::try_from(i).map_or_else(|_| Number::round(false, i.into(), 0, false, WORD), Number::from)
    }
}

impl From<usize> for Number {
    fn from(i: usize) -> Self {
        Number::from(i as u64)
    }
}

impl From<i32> for Number {
    fn from(i: i32) -> Self {
        Number::from(i64::from(i))
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Repr::Big(a), Repr::Big(b)) => {
                a.negative == b.negative && a.exponent == b.exponent && a.mantissa == b.mantissa
            }
            (Repr::Infinity(a), Repr::Infinity(b)) => a == b,
            _ => match (self.as_i64(), other.as_i64()) {
                (Some(a), Some(b)) => a == b,
                _ => false,
            },
        }
    }
}

impl Eq for Number {}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Number {
    /// By value: precision does not matter, and negative zero equals zero.
    fn cmp(&self, other: &Self) -> Ordering {
        if let (Some(a), Some(b)) = (self.as_i64(), other.as_i64()) {
            return a.cmp(&b);
        }
        let sign = self.signum();
        if sign != other.signum() || self == other {
            return sign.cmp(&other.signum()).then(Ordering::Equal);
        }
        let magnitude = match (&self.0, &other.0) {
            (Repr::Infinity(_), _) => Ordering::Greater,
            (_, Repr::Infinity(_)) => Ordering::Less,
            _ => {
                let (a, b) = (self.parts(), other.parts());
                let top = |p: &Parts| p.exponent + p.mantissa.bit_len() as i64;
                top(&a).cmp(&top(&b)).then_with(|| {
                    // Equal tops: the exponents differ by no more than the mantissas' lengths.
                    let low = a.exponent.min(b.exponent);
                    (a.mantissa << (a.exponent - low) as usize).cmp(&(b.mantissa << (b.exponent - low) as usize))
                })
            }
        };
        if sign < 0 { magnitude.reverse() } else { magnitude }
    }
}

impl Hash for Number {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match &self.0 {
            Repr::Int(i, _) => i.hash(state),
            Repr::NegativeZero(_) => 0i64.hash(state),
            Repr::Infinity(negative) => (i64::MAX, negative).hash(state),
            Repr::Big(b) => (b.negative, b.exponent, &b.mantissa).hash(state),
        }
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests;

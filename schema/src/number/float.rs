//! Numbers and machine floats: conversion, and the two operations that Terraform computes with machine floats, powers
//! and logarithms. Everything else is exact arithmetic in the parent module.

use super::{DOUBLE, Number, Repr, round_to};
use dashu_int::ops::BitTest;

impl Number {
    /// From a machine float, with 53 bits of precision, as results of `pow` and `log` have. `None` if not a number.
    pub fn from_f64(f: f64) -> Option<Number> {
        if f.is_nan() {
            return None;
        }
        let negative = f.is_sign_negative();
        if f.is_infinite() {
            return Some(Number(Repr::Infinity(negative)));
        }
        let bits = f.to_bits();
        let fraction = bits & ((1 << 52) - 1);
        let (mantissa, exponent) = match (bits >> 52) & 0x7ff {
            0 => (fraction, -1074),
            e => (fraction | (1 << 52), e as i64 - 1075),
        };
        Some(Number::round(negative, mantissa.into(), exponent, false, DOUBLE))
    }

    /// The nearest machine float: infinite if too large, a zero of the right sign if too small.
    pub fn to_f64(&self) -> f64 {
        let big = match &self.0 {
            Repr::Int(i, _) => return *i as f64,
            Repr::NegativeZero(_) => return -0.0,
            Repr::Infinity(negative) => return if *negative { f64::NEG_INFINITY } else { f64::INFINITY },
            Repr::Big(big) => big,
        };
        let sign = if big.negative { -1.0 } else { 1.0 };
        let top = big.exponent + big.mantissa.bit_len() as i64;
        if top > 1024 {
            return sign * f64::INFINITY;
        }
        // Below 2^-1021 the bits that remain lie above 2^-1074; at most half of the smallest is zero.
        let precision = (top + 1074).min(i64::from(DOUBLE));
        if precision < 0 || (precision == 0 && big.mantissa.is_one()) {
            return sign * 0.0;
        }
        if precision == 0 {
            return sign * f64::from_bits(1);
        }
        let (mantissa, shift) = round_to(big.mantissa.clone(), false, precision as u32);
        let mut exponent = big.exponent + shift;
        let mut mantissa = u64::try_from(&mantissa).unwrap_or(u64::MAX);
        let free = i64::from(mantissa.leading_zeros()) - 11;
        let up = free.min(exponent + 1074);
        mantissa <<= up.max(0);
        exponent -= up.max(0);
        if mantissa >> 52 == 0 {
            return sign * f64::from_bits(mantissa);
        }
        let biased = exponent + 1075;
        if biased > 2046 {
            return sign * f64::INFINITY;
        }
        sign * f64::from_bits((biased as u64) << 52 | (mantissa & ((1 << 52) - 1)))
    }

    /// `self` raised to a power, computed with machine floats and with 53 bits of precision. `None` where there is no
    /// real result (a negative number to a power that is not whole).
    pub fn pow(&self, exponent: &Number) -> Option<Number> {
        Number::from_f64(pow(self.to_f64(), exponent.to_f64()))
    }

    /// The logarithm to a base, computed with machine floats and with 53 bits of precision. `None` where there is no
    /// real result.
    pub fn log(&self, base: &Number) -> Option<Number> {
        Number::from_f64(ln(self.to_f64()) / ln(base.to_f64()))
    }
}

// Users see all digits of powers and logarithms (`pow(9, 1.5)` is 27.000000000000004), so the functions below round
// where Go's do on x86-64, not as well as the platform's. They agree with Terraform on some thousands of random
// arguments.

/// Powers: the whole part of the exponent by repeated squaring, the rest by way of the logarithm.
fn pow(x: f64, y: f64) -> f64 {
    let whole = y.abs().trunc();
    let special = [0.0, 1.0, 0.5].contains(&y.abs()) || x == 0.0 || x == 1.0 || !x.is_finite() || whole >= 9.2e18;
    if special || !y.is_finite() || (x < 0.0 && y.fract() != 0.0) {
        return match y {
            0.5 => x.sqrt(),
            -0.5 => 1.0 / x.sqrt(),
            _ => x.powf(y),
        };
    }
    let (mut whole, mut fraction) = (whole, y.abs().fract());
    let mut mantissa = 1.0;
    if fraction != 0.0 {
        if fraction > 0.5 {
            fraction -= 1.0;
            whole += 1.0;
        }
        mantissa = exp(fraction * ln(x));
    }
    let mut exponent = 0i64;
    let (mut square, mut square_exponent) = split(x);
    let mut left = whole as u64;
    while left != 0 {
        if square_exponent.abs() > 1 << 12 {
            // Far out of range, either way.
            exponent += square_exponent;
            break;
        }
        if left & 1 == 1 {
            mantissa *= square;
            exponent += square_exponent;
        }
        square *= square;
        square_exponent *= 2;
        if square < 0.5 {
            square *= 2.0;
            square_exponent -= 1;
        }
        left >>= 1;
    }
    if y < 0.0 {
        mantissa = 1.0 / mantissa;
        exponent = -exponent;
    }
    scale(mantissa, exponent)
}

/// The natural logarithm: with x = 2^k (1 + f) and s = f / (2 + f), a polynomial in s² for what `2s` lacks of
/// ln(1 + f).
fn ln(x: f64) -> f64 {
    const LN2_HIGH: f64 = 0.693_147_180_369_123_8;
    const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    if x.is_nan() || x <= 0.0 || x.is_infinite() {
        return x.ln();
    }
    let (mut fraction, mut exponent) = split(x);
    if fraction < std::f64::consts::FRAC_1_SQRT_2 {
        fraction *= 2.0;
        exponent -= 1;
    }
    let (f, k) = (fraction - 1.0, exponent as f64);
    let s = f / (2.0 + f);
    let s2 = s * s;
    let s4 = s2 * s2;
    let odd = 0.181_835_721_616_180_5 + s4 * 0.147_981_986_051_165_86;
    let odd = s2 * (0.666_666_666_666_673_5 + s4 * (0.285_714_287_436_623_9 + s4 * odd));
    let even = 0.222_221_984_321_497_84 + s4 * 0.153_138_376_992_093_73;
    let even = s4 * (0.399_999_999_994_094_2 + s4 * even);
    let half_square = 0.5 * f * f;
    k * LN2_HIGH - ((half_square - (s * (half_square + (odd + even)) + k * LN2_LOW)) - f)
}

/// The exponential of a number within ±700: the Taylor series of `e^r - 1` for a sixteenth of what is left after
/// taking out powers of two, doubled four times by `(1 + y)² - 1 = y (y + 2)`.
fn exp(x: f64) -> f64 {
    const LN2_HIGH: f64 = 0.693_147_180_559_663;
    const LN2_LOW: f64 = 2.823_529_056_303_157_7e-13;
    let k = (x * std::f64::consts::LOG2_E).round_ties_even();
    let r = (-k).mul_add(LN2_LOW, (-k).mul_add(LN2_HIGH, x)) / 16.0;
    // 1/8!, then 1/7! to 1/1!.
    let series = [5040.0, 720.0, 120.0, 24.0, 6.0, 2.0, 1.0].map(f64::recip);
    let mut y = r * series.into_iter().fold(40320f64.recip(), |sum, term| sum.mul_add(r, term));
    for _ in 0..3 {
        y *= y + 2.0;
    }
    scale(y.mul_add(y + 2.0, 1.0), k as i64)
}

/// A finite float other than zero as a fraction of absolute value from 0.5 to 1, and a power of two.
fn split(x: f64) -> (f64, i64) {
    let biased = |x: f64| ((x.to_bits() >> 52) & 0x7ff) as i64;
    let (x, shifted) = if biased(x) == 0 { (x * 2f64.powi(64), 64) } else { (x, 0) };
    let half = f64::from_bits(x.to_bits() & !(0x7ff << 52) | (1022 << 52));
    (half, biased(x) - 1022 - shifted)
}

/// `x * 2^exponent`, rounded once.
fn scale(x: f64, exponent: i64) -> f64 {
    match Number::from_f64(x) {
        Some(n) if !n.is_zero() && !n.is_infinite() => {
            let parts = n.parts();
            Number::round(parts.negative, parts.mantissa, parts.exponent + exponent, false, DOUBLE).to_f64()
        }
        _ => x,
    }
}

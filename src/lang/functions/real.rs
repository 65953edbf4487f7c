//! Logarithm and power of machine floats, computed as Go's standard library does it: the last digits, which the
//! shortest decimal shows in full, differ from those of the C library. The logarithm is the well-known one of FreeBSD's
//! msun (Sun Microsystems 1993), the power multiplies by squaring on mantissa and exponent apart.

use std::f64::consts::FRAC_1_SQRT_2;

/// `fraction * 2^exponent` with the fraction in [0.5, 1); zero, infinities and NaN come back unchanged.
fn split(f: f64) -> (f64, i64) {
    if f == 0.0 || !f.is_finite() {
        return (f, 0);
    }
    let (scaled, shift) = if f.abs() < f64::MIN_POSITIVE { (f * 2f64.powi(52), -52) } else { (f, 0) };
    let bits = scaled.to_bits();
    let exponent = ((bits >> 52) & 0x7ff) as i64 - 1022;
    (f64::from_bits((bits & !(0x7ff << 52)) | (1022 << 52)), exponent + shift)
}

/// `fraction * 2^exponent`, for a fraction near 1.
fn join(fraction: f64, exponent: i64) -> f64 {
    // In two steps each way, so that neither overflows before its time and subnormal results are rounded once.
    let exponent = exponent.clamp(-2200, 2200) as i32;
    if exponent > 1000 {
        return fraction * 2f64.powi(1000) * 2f64.powi((exponent - 1000).min(1020));
    }
    if exponent < -1000 {
        return fraction * 2f64.powi(-900) * 2f64.powi((exponent + 900).max(-1020));
    }
    fraction * 2f64.powi(exponent)
}

/// The natural logarithm.
pub(super) fn ln(x: f64) -> f64 {
    if x.is_nan() || x == f64::INFINITY {
        return x;
    }
    if x < 0.0 {
        return f64::NAN;
    }
    if x == 0.0 {
        return f64::NEG_INFINITY;
    }
    // ln(2) in two parts, the first exact in products with any exponent.
    const LN2_HIGH: f64 = 6.931_471_803_691_238_16e-1;
    const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    // Of the series of ln((1+s)/(1-s)) for small s.
    const C: [f64; 7] = [
        6.666_666_666_666_735e-1,
        3.999_999_999_940_942e-1,
        2.857_142_874_366_239_1e-1,
        2.222_219_843_214_978_4e-1,
        1.818_357_216_161_805e-1,
        1.531_383_769_920_937_3e-1,
        1.479_819_860_511_658_6e-1,
    ];
    let (mut fraction, mut exponent) = split(x);
    if fraction < FRAC_1_SQRT_2 {
        fraction *= 2.0;
        exponent -= 1;
    }
    let (f, k) = (fraction - 1.0, exponent as f64);
    let s = f / (2.0 + f);
    let (s2, s4) = (s * s, (s * s) * (s * s));
    let odd = s2 * (C[0] + s4 * (C[2] + s4 * (C[4] + s4 * C[6])));
    let even = s4 * (C[1] + s4 * (C[3] + s4 * C[5]));
    let half_square = 0.5 * f * f;
    k * LN2_HIGH - ((half_square - (s * (half_square + odd + even) + k * LN2_LOW)) - f)
}

/// `x` to the power of `y`.
pub(super) fn pow(x: f64, y: f64) -> f64 {
    let magnitude = y.abs();
    let (mut whole, mut part) = (magnitude.trunc(), magnitude.fract());
    // Special cases, and those in which the whole part does not fit an integer, are exact in any library.
    let special = x == 0.0 || x == 1.0 || y == 0.0 || y == 1.0 || !x.is_finite() || !y.is_finite();
    if special || whole >= 9.2e18 || (part != 0.0 && x < 0.0) {
        return x.powf(y);
    }
    if magnitude == 0.5 {
        return if y > 0.0 { x.sqrt() } else { 1.0 / x.sqrt() };
    }
    let (mut result, mut exponent) = (1.0, 0i64);
    if part != 0.0 {
        if part > 0.5 {
            part -= 1.0;
            whole += 1.0;
        }
        result = (part * ln(x)).exp();
    }
    let (mut square, mut square_exponent) = split(x);
    let mut bits = whole as u64;
    while bits != 0 {
        if square_exponent.abs() > 1 << 12 {
            // Beyond what a float holds, whatever follows.
            exponent += square_exponent;
            break;
        }
        if bits & 1 == 1 {
            result *= square;
            exponent += square_exponent;
        }
        square *= square;
        square_exponent *= 2;
        if square < 0.5 {
            square *= 2.0;
            square_exponent -= 1;
        }
        bits >>= 1;
    }
    if y < 0.0 {
        result = 1.0 / result;
        exponent = -exponent;
    }
    let (fraction, extra) = split(result);
    join(fraction, exponent + extra)
}

//! Numbers: Terraform's are binary floating point with up to 512 bits of mantissa, rounded to nearest even, and print
//! as the shortest decimal that reads back. Integers that fit a machine word take a fast path.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

/// A number value.
#[derive(Clone, Debug)]
pub struct Number(Repr);

#[derive(Clone, Debug)]
enum Repr {
    Int(i64),
    Float(f64),
}

impl Number {
    pub const ZERO: Number = Number(Repr::Int(0));
    pub const ONE: Number = Number(Repr::Int(1));

    /// Reads a decimal literal (`12`, `-0.5`, `1e100`), rounded to 512 bits. `None` if it is not a number.
    pub fn parse(text: &str) -> Option<Number> {
        if let Ok(i) = text.parse::<i64>() {
            return Some(Number(Repr::Int(i)));
        }
        text.parse::<f64>().ok().map(|f| Number(Repr::Float(f)))
    }

    /// From a machine float; keeps 53 bits of precision, as results of `pow` and `log` do.
    pub fn from_f64(f: f64) -> Option<Number> {
        if f.is_nan() {
            return None;
        }
        if f.fract() == 0.0 && f.abs() < 9e15 {
            return Some(Number(Repr::Int(f as i64)));
        }
        Some(Number(Repr::Float(f)))
    }

    pub fn to_f64(&self) -> f64 {
        match self.0 {
            Repr::Int(i) => i as f64,
            Repr::Float(f) => f,
        }
    }

    /// The value as a machine integer if it is a whole number that fits.
    pub fn as_i64(&self) -> Option<i64> {
        match self.0 {
            Repr::Int(i) => Some(i),
            Repr::Float(_) => None,
        }
    }

    pub fn as_u64(&self) -> Option<u64> {
        self.as_i64().and_then(|i| u64::try_from(i).ok())
    }

    pub fn as_usize(&self) -> Option<usize> {
        self.as_i64().and_then(|i| usize::try_from(i).ok())
    }

    pub fn is_integer(&self) -> bool {
        match self.0 {
            Repr::Int(_) => true,
            Repr::Float(f) => f.fract() == 0.0,
        }
    }

    pub fn is_infinite(&self) -> bool {
        matches!(self.0, Repr::Float(f) if f.is_infinite())
    }

    pub fn is_negative(&self) -> bool {
        self.to_f64() < 0.0
    }
}

impl From<i64> for Number {
    fn from(i: i64) -> Self {
        Number(Repr::Int(i))
    }
}

impl From<u64> for Number {
    fn from(i: u64) -> Self {
        i64::try_from(i).map_or(Number(Repr::Float(i as f64)), Number::from)
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
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Number {}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        match (&self.0, &other.0) {
            (Repr::Int(a), Repr::Int(b)) => a.cmp(b),
            _ => self.to_f64().total_cmp(&other.to_f64()),
        }
    }
}

impl Hash for Number {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.to_f64().to_bits().hash(state);
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Repr::Int(i) => write!(f, "{i}"),
            Repr::Float(x) => write!(f, "{x}"),
        }
    }
}

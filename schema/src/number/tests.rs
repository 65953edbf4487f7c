//! Numbers against results observed in Terraform 1.11.4 (`observed.tsv`: expressions and what `terraform console` made
//! of them), and laws that hold for all numbers.

use super::*;
use proptest::prelude::*;

/// Evaluates the arithmetic of the observed expressions; `None` for an error.
struct Calculator<'a>(&'a str);

impl<'a> Calculator<'a> {
    fn run(text: &'a str) -> Option<Number> {
        let mut c = Calculator(text);
        let n = c.sum()?;
        c.0.is_empty().then_some(n)
    }

    fn take(&mut self, token: &str) -> bool {
        let found = self.0.strip_prefix(token);
        self.0 = found.unwrap_or(self.0);
        found.is_some()
    }

    fn sum(&mut self) -> Option<Number> {
        let mut left = self.product()?;
        loop {
            left = if self.take("+") {
                left.add(&self.product()?).ok()?
            } else if self.take("-") {
                left.sub(&self.product()?).ok()?
            } else {
                return Some(left);
            }
        }
    }

    fn product(&mut self) -> Option<Number> {
        let mut left = self.unary()?;
        loop {
            left = if self.take("*") {
                left.mul(&self.unary()?).ok()?
            } else if self.take("/") {
                left.div(&self.unary()?).ok()?
            } else if self.take("%") {
                left.rem(&self.unary()?).ok()?
            } else {
                return Some(left);
            }
        }
    }

    fn unary(&mut self) -> Option<Number> {
        if self.take("-") {
            return Some(self.unary()?.neg());
        }
        let function = self.0[..self.0.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(self.0.len())].to_owned();
        self.take(&function);
        if matches!(function.as_str(), "tonumber" | "parseint" | "length") {
            let (arguments, rest) = self.0[1..].split_once(')')?;
            self.0 = rest;
            return match (function.as_str(), arguments.split_once(',')) {
                ("length", _) => Some(arguments.matches(char::is_numeric).count().into()),
                ("parseint", Some((text, radix))) => Number::parse_radix(text.trim_matches('"'), radix.parse().ok()?),
                _ => Number::parse(arguments.trim_matches('"')),
            };
        }
        if self.take("(") {
            let n = self.sum()?;
            let n = match function.as_str() {
                "" => n,
                "abs" => n.abs(),
                "floor" => n.floor(),
                "ceil" => n.ceil(),
                "pow" => n.pow(&self.take(",").then(|| self.sum())??)?,
                "log" => n.log(&self.take(",").then(|| self.sum())??)?,
                _ => return None,
            };
            return self.take(")").then_some(n);
        }
        let exponent_sign = |i: usize| self.0[..i].ends_with('e');
        let end = self
            .0
            .char_indices()
            .find(|(i, c)| !(c.is_ascii_alphanumeric() || *c == '.' || ("+-".contains(*c) && exponent_sign(*i))));
        let (literal, rest) = self.0.split_at(end.map_or(self.0.len(), |(i, _)| i));
        self.0 = rest;
        Number::parse(literal)
    }
}

#[test]
fn arithmetic_gives_what_terraform_gives() {
    let mut wrong = Vec::new();
    for line in include_str!("observed.tsv").lines() {
        let (expression, expected) = line.split_once('\t').unwrap();
        let got = Calculator::run(&expression.replace(' ', "")).map_or("error".into(), |n| n.to_string());
        if got != expected {
            wrong.push(format!("{expression}\n  got      {got}\n  expected {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn notations_agree_with_terraform_format() {
    use Notation::*;
    let n = |text: &str| Number::parse(text).unwrap();
    for (number, notation, digits, expected) in [
        (n("123456.789"), Exponent, Some(6), "1.234568e+05"),
        (n("2.0005"), Fixed, Some(3), "2.001"),
        (n("1e21"), General, None, "1e+21"),
        (n("123456"), General, None, "123456"),
        (n("1234567"), General, None, "1.234567e+06"),
        (n("0.0001"), General, None, "0.0001"),
        (n("0.00001"), General, None, "1e-05"),
        (n("123456789.125"), General, None, "1.23456789125e+08"),
        (n("123456789.125"), General, Some(3), "1.23e+08"),
        (n("123456789012"), General, Some(10), "1.23456789e+11"),
        (n("0.00012345678"), General, Some(4), "0.0001235"),
        (n("0"), Exponent, Some(6), "0.000000e+00"),
        (n("1e-300"), Exponent, Some(6), "1.000000e-300"),
        (n("9.9999"), Exponent, Some(3), "1.000e+01"),
        (n("-0"), Fixed, Some(6), "-0.000000"),
        (n("0.5"), Fixed, Some(0), "0"),
        (n("1.5"), Fixed, Some(0), "2"),
        (n("-1.005"), Fixed, Some(2), "-1.00"),
        (n("1e-3"), Fixed, Some(5), "0.00100"),
        (n("0.1"), Fixed, Some(20), "0.10000000000000000000"),
        (Number::from_f64(1152921504606846976.0).unwrap(), General, None, "1.152921504606847e+18"),
    ] {
        assert_eq!(number.to_text(notation, digits), expected, "{number} {notation:?} {digits:?}");
    }
    assert_eq!(n("-123456789012345678901234567890").integer_text(10).unwrap(), "-123456789012345678901234567890");
    assert_eq!(n("3735928559").integer_text(16).unwrap(), "deadbeef");
    assert_eq!(n("-5").integer_text(2).unwrap(), "-101");
    assert_eq!(n("1e3").integer_text(10).unwrap(), "1000");
    assert_eq!(n("0.5").integer_text(10), None);
}

#[test]
fn numbers_are_small() {
    assert!(size_of::<Number>() <= 16);
    assert!(size_of::<crate::Value>() <= 24);
}

#[test]
fn absurd_literals_are_refused_or_infinite_at_once() {
    for text in
        ["1e99999999999999999999", "1e2147483648", "1p9999999999", "1e", "1e+", "+", "", ".", "1_0", "0x10", "NaN"]
    {
        assert_eq!(Number::parse(text), None, "{text}");
    }
    assert_eq!(Number::parse("1e1000000000"), Some(Number::INFINITY));
    assert_eq!(Number::parse("-1e1000000000"), Some(Number::NEGATIVE_INFINITY));
    assert_eq!(Number::parse("1e-1000000000").unwrap().to_string(), "0");
    assert_eq!(Number::parse("0e1000000000").unwrap().to_string(), "0");
    let large = Number::parse("1e300000").unwrap();
    assert_eq!(large.to_string().len(), 300_001);
    assert_eq!(large.mul(&large).unwrap(), Number::INFINITY);
    assert_eq!(Number::ONE.div(&large).unwrap().div(&large).unwrap().to_string(), "0");
}

#[test]
fn machine_types_round_trip() {
    assert_eq!(Number::from(u64::MAX).to_string(), "18446744073709551615");
    assert_eq!(Number::from(u64::MAX).as_u64(), Some(u64::MAX));
    assert_eq!(Number::from(u64::MAX).as_i64(), None);
    assert_eq!(Number::parse("1e19").unwrap().as_u64(), Some(10_000_000_000_000_000_000));
    assert_eq!(Number::parse("-1").unwrap().as_u64(), None);
    assert_eq!(Number::parse("0.5").unwrap().as_i64(), None);
    assert_eq!(Number::parse("-0").unwrap().as_i64(), Some(0));
    assert_eq!(Number::from_f64(f64::NAN), None);
    assert_eq!(Number::parse("1e309").unwrap().to_f64(), f64::INFINITY);
    assert!(Number::parse("-1e-400").unwrap().to_f64().is_sign_negative());
}

fn any_number() -> impl Strategy<Value = Number> {
    let literal = "-?[0-9]{1,30}(\\.[0-9]{1,30})?(e-?[0-9]{1,3})?".prop_map(|t| Number::parse(&t).unwrap());
    prop_oneof![
        any::<i64>().prop_map(Number::from),
        (-1000i64..1000).prop_map(Number::from),
        any::<f64>().prop_filter_map("number", |f| Number::from_f64(f).filter(|n| !n.is_infinite())),
        literal.clone(),
        (literal, 1i64..1000).prop_map(|(n, d)| n.div(&d.into()).unwrap()),
    ]
}

proptest! {
    #[test]
    fn text_reads_back(n in any_number()) {
        let text = n.to_string();
        let back = Number::parse(&text).unwrap();
        prop_assert_eq!(n.to_text(Notation::Fixed, None), text.clone());
        prop_assert_eq!(back.to_string(), text.clone());
        prop_assert_eq!(back.clone().with_precision(n.precision()), n.clone());
        prop_assert_eq!(back.signum(), n.signum());
    }

    #[test]
    fn floats_survive(f in any::<f64>()) {
        if let Some(n) = Number::from_f64(f) {
            prop_assert_eq!(n.to_f64().to_bits(), f.to_bits());
        }
    }

    #[test]
    fn literals_become_the_nearest_float(text in "-?[0-9]{1,25}(\\.[0-9]{1,25})?(e-?[0-9]{1,3})?") {
        prop_assert_eq!(Number::parse(&text).unwrap().to_f64(), text.parse::<f64>().unwrap());
    }

    #[test]
    fn machine_integers_and_big_ones_agree(a in any::<i64>(), b in any::<i64>()) {
        let (x, y) = (Number::parse(&a.to_string()).unwrap(), Number::parse(&b.to_string()).unwrap());
        let (p, q) = (i128::from(a), i128::from(b));
        prop_assert_eq!(x.add(&y).unwrap().to_string(), (p + q).to_string());
        prop_assert_eq!(x.sub(&y).unwrap().to_string(), (p - q).to_string());
        prop_assert_eq!(x.mul(&y).unwrap().abs().to_string(), (p * q).abs().to_string());
        if b != 0 {
            prop_assert_eq!(x.rem(&y).unwrap().abs().to_string(), (p % q).abs().to_string());
        }
        prop_assert_eq!(x.cmp(&y), a.cmp(&b));
    }

    #[test]
    fn order_fits_subtraction(a in any_number(), b in any_number()) {
        prop_assert_eq!(a.cmp(&b), a.sub(&b).unwrap().signum().cmp(&0));
        prop_assert_eq!(a == b, a.cmp(&b) == Ordering::Equal);
        prop_assert_eq!(a.neg().cmp(&b.neg()), b.cmp(&a));
    }

    #[test]
    fn whole_parts_surround(a in any_number()) {
        let (floor, ceil) = (a.floor(), a.ceil());
        prop_assert!(floor <= a && a <= ceil && floor.is_integer() && ceil.is_integer());
        prop_assert_eq!(a.is_integer(), floor == ceil);
        prop_assert!(a.trunc().abs() <= a.abs());
    }
}

//! Versions of Terraform, providers and modules, and the constraints on them: `>= 1.2, < 2.0`, `~> 3.4`.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// A version: numbers, and perhaps a pre-release (`1.2.0-beta1`) and build metadata, which does not count.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Version {
    /// At least three numbers; missing ones are 0.
    numbers: Vec<u64>,
    pre_release: String,
    metadata: String,
}

/// Why a text is not a version or constraint.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VersionError(String);

impl fmt::Display for VersionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for VersionError {}

impl Version {
    pub fn is_pre_release(&self) -> bool {
        !self.pre_release.is_empty()
    }

    fn number(&self, i: usize) -> u64 {
        self.numbers.get(i).copied().unwrap_or(0)
    }
}

/// Reads a version; also how many numbers it was written with.
fn parse(text: &str) -> Result<(Version, usize), VersionError> {
    let error = || VersionError(format!("\"{text}\" is not a version: it has the form 1.2.3 or 1.2.3-beta1."));
    let rest = text.strip_prefix('v').unwrap_or(text);
    let (rest, metadata) = rest.split_once('+').unwrap_or((rest, ""));
    let (numbers, pre_release) = match rest.split_once('-') {
        Some((_, "")) => return Err(error()),
        Some((numbers, pre)) => (numbers, pre),
        None => (rest, ""),
    };
    let fits =
        |s: &str| s.split('.').all(|p| !p.is_empty() && p.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'));
    if !(pre_release.is_empty() || fits(pre_release)) || !(metadata.is_empty() || fits(metadata)) {
        return Err(error());
    }
    let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    let mut parsed = Vec::new();
    for n in numbers.split('.') {
        parsed.push(Some(n).filter(|n| digits(n)).and_then(|n| n.parse().ok()).ok_or_else(error)?);
    }
    let written = parsed.len();
    while parsed.len() < 3 {
        parsed.push(0);
    }
    Ok((Version { numbers: parsed, pre_release: pre_release.into(), metadata: metadata.into() }, written))
}

impl FromStr for Version {
    type Err = VersionError;

    fn from_str(s: &str) -> Result<Version, VersionError> {
        parse(s.trim()).map(|(v, _)| v)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, usize::MAX)
    }
}

impl Version {
    /// Writes the version with at most so many numbers.
    fn write(&self, f: &mut fmt::Formatter<'_>, most: usize) -> fmt::Result {
        for (i, n) in self.numbers.iter().take(most).enumerate() {
            write!(f, "{}{n}", if i > 0 { "." } else { "" })?;
        }
        if !self.pre_release.is_empty() {
            write!(f, "-{}", self.pre_release)?;
        }
        if !self.metadata.is_empty() {
            write!(f, "+{}", self.metadata)?;
        }
        Ok(())
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Version) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Version) -> Ordering {
        let len = self.numbers.len().max(other.numbers.len());
        let numbers = (0..len).map(|i| self.number(i).cmp(&other.number(i))).find(|o| o.is_ne());
        numbers.unwrap_or_else(|| match (self.is_pre_release(), other.is_pre_release()) {
            (false, false) => Ordering::Equal,
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (true, true) => compare_pre_release(&self.pre_release, &other.pre_release),
        })
    }
}

/// Part by part, numbers by value and before words; the shorter first.
fn compare_pre_release(a: &str, b: &str) -> Ordering {
    let mut a = a.split('.');
    let mut b = b.split('.');
    loop {
        let order = match (a.next(), b.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (Some(a), Some(b)) => match (a.parse::<u64>(), b.parse::<u64>()) {
                (Ok(a), Ok(b)) => a.cmp(&b),
                (Ok(_), Err(_)) => Ordering::Less,
                (Err(_), Ok(_)) => Ordering::Greater,
                (Err(_), Err(_)) => a.cmp(b),
            },
        };
        if order.is_ne() {
            return order;
        }
    }
}

/// In the order in which conditions on the same version are listed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Op {
    Greater,
    GreaterOrEqual,
    Equal,
    /// `~>`: only the last number that is written may grow.
    Pessimistic,
    LessOrEqual,
    Less,
    NotEqual,
}

/// Conditions that a version must all meet.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Constraints(Vec<Constraint>);

#[derive(Clone, PartialEq, Eq, Debug)]
struct Constraint {
    op: Op,
    version: Version,
    /// With how many numbers the version was written.
    written: usize,
}

impl Constraints {
    /// Reads constraints on a provider. Their form is stricter than that of others: at most three numbers, no `v`
    /// before them. They are kept without repetitions, in the order in which lock files have them.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn of_provider(text: &str) -> Result<Constraints, VersionError> {
        let mut all: Constraints = text.parse()?;
        if all.is_empty() {
            return Err(VersionError("The constraint is empty.".into()));
        }
        if text.split(',').any(|part| part.trim_start_matches(['=', '!', '<', '>', '~', ' ']).starts_with('v')) {
            return Err(VersionError("Versions of providers are written without \"v\".".into()));
        }
        for c in &mut all.0 {
            if c.written > 3 {
                return Err(VersionError(format!("\"{}\" has more than three numbers.", c.version)));
            }
            if c.op == Op::Pessimistic {
                c.written = c.written.max(2);
            }
        }
        all.arrange();
        Ok(all)
    }

    /// By version, of conditions on the same version lower bounds first; each condition once.
    fn arrange(&mut self) {
        let key = |c: &Constraint| (c.op, std::cmp::Reverse(if c.op == Op::Pessimistic { c.written } else { 0 }));
        self.0.sort_by(|a, b| {
            let by_version = a.version.cmp(&b.version).then_with(|| a.version.metadata.cmp(&b.version.metadata));
            by_version.then_with(|| key(a).cmp(&key(b)))
        });
        self.0.dedup_by(|a, b| a.version == b.version && key(a) == key(b));
    }

    /// Both constraints on a provider together.
    #[must_use]
    pub fn and_of_provider(mut self, other: &Constraints) -> Constraints {
        self.0.extend(other.0.iter().cloned());
        self.arrange();
        self
    }

    /// Whether a version of a provider meets all conditions. A pre-release is accepted only where a condition names
    /// exactly this one.
    pub fn allow_of_provider(&self, version: &Version) -> bool {
        let named = || self.0.iter().any(|c| c.op == Op::Equal && c.version == *version);
        self.0.iter().all(|c| c.holds(version)) && (!version.is_pre_release() || named())
    }

    /// Whether a version meets all conditions. A pre-release meets only conditions that name a pre-release of the same
    /// numbers.
    pub fn allow(&self, version: &Version) -> bool {
        self.0.iter().all(|c| c.allows(version))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Constraint {
    fn allows(&self, v: &Version) -> bool {
        let comparable = match (v.is_pre_release(), self.version.is_pre_release()) {
            (true, true) => v.numbers == self.version.numbers,
            (true, false) => false,
            _ => true,
        };
        (comparable || matches!(self.op, Op::Equal | Op::NotEqual)) && self.holds(v)
    }

    /// The condition by order alone, whether the versions are pre-releases or not.
    fn holds(&self, v: &Version) -> bool {
        let order = v.cmp(&self.version);
        match self.op {
            Op::Equal => order.is_eq(),
            Op::NotEqual => order.is_ne(),
            Op::Greater => order.is_gt(),
            Op::GreaterOrEqual => order.is_ge(),
            Op::Less => order.is_lt(),
            Op::LessOrEqual => order.is_le(),
            Op::Pessimistic => {
                let kept = self.written.saturating_sub(1);
                order.is_ge() && (0..kept).all(|i| v.number(i) == self.version.number(i))
            }
        }
    }
}

impl FromStr for Constraints {
    type Err = VersionError;

    fn from_str(s: &str) -> Result<Constraints, VersionError> {
        if s.trim().is_empty() {
            return Ok(Constraints::default());
        }
        let mut all = Vec::new();
        for part in s.split(',') {
            let part = part.trim();
            let end = part.find(|c: char| !matches!(c, '=' | '!' | '<' | '>' | '~')).unwrap_or(part.len());
            let (op, version) = part.split_at(end);
            let op = match op {
                "" | "=" => Op::Equal,
                "!=" => Op::NotEqual,
                ">" => Op::Greater,
                ">=" => Op::GreaterOrEqual,
                "<" => Op::Less,
                "<=" => Op::LessOrEqual,
                "~>" => Op::Pessimistic,
                _ => return Err(VersionError(format!("\"{op}\" is not an operator for versions."))),
            };
            let (version, written) = parse(version.trim())?;
            all.push(Constraint { op, version, written });
        }
        Ok(Constraints(all))
    }
}

impl fmt::Display for Constraints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, c) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            f.write_str(match c.op {
                Op::Equal => "",
                Op::NotEqual => "!= ",
                Op::Greater => "> ",
                Op::GreaterOrEqual => ">= ",
                Op::Less => "< ",
                Op::LessOrEqual => "<= ",
                Op::Pessimistic => "~> ",
            })?;
            c.version.write(f, if c.op == Op::Pessimistic { c.written } else { usize::MAX })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constraints_accept_and_refuse() {
        for (constraint, accepted, refused) in [
            (">= 1.2, < 2.0", &["1.2.0", "1.99"][..], &["1.1.9", "2.0.0", "1.5.0-beta"][..]),
            ("~> 1.2", &["1.2", "1.9.1"], &["2.0", "1.1"]),
            ("~> 1.2.3", &["1.2.3", "1.2.99"], &["1.3.0", "1.2.2"]),
            ("1.0", &["1.0.0"], &["1.0.1"]),
            ("!= 1.0", &["1.0.1"], &["1"]),
            ("= 1.0.0-rc1", &["1.0.0-rc1"], &["1.0.0"]),
            (">= 1.0.0-beta2", &["1.0.0-beta3", "1.0.0", "1.1.0"], &["1.0.0-beta1", "1.1.0-alpha"]),
            ("", &["0.0.1"], &[]),
        ] {
            let c: Constraints = constraint.parse().expect(constraint);
            for v in accepted {
                assert!(c.allow(&v.parse().expect(v)), "{constraint} {v}");
            }
            for v in refused {
                assert!(!c.allow(&v.parse().expect(v)), "{constraint} {v}");
            }
        }
    }

    #[test]
    fn constraints_on_providers_have_one_form_and_order() {
        for (text, arranged) in [
            (">=3.0,< 4, != 3.5", ">= 3.0.0, != 3.5.0, < 4.0.0"),
            ("~> 3, ~> 3.0, ~> 3.0.0", "~> 3.0.0, ~> 3.0"),
            (
                "!= 3.0, ~> 3.0, >= 3.0, <= 3.0, > 3.0, < 3.0, = 3.0, 3.0.0",
                "> 3.0.0, >= 3.0.0, 3.0.0, ~> 3.0, <= 3.0.0, < 3.0.0, != 3.0.0",
            ),
            ("~> 3.0-beta1", "~> 3.0-beta1"),
        ] {
            assert_eq!(Constraints::of_provider(text).map(|c| c.to_string()), Ok(arranged.into()), "{text}");
        }
        for text in ["", "v3.0", "3.0.0.0", ">= v1"] {
            assert!(Constraints::of_provider(text).is_err(), "{text}");
        }
    }

    #[test]
    fn pre_releases_of_providers_must_be_named() {
        let beta: Version = "3.2.0-beta1".parse().expect("a version");
        let accepts = |text: &str| Constraints::of_provider(text).expect(text).allow_of_provider(&beta);
        assert!(accepts("3.2.0-beta1") && accepts(">= 3.0, 3.2.0-beta1"));
        assert!(!accepts(">= 3.2.0-beta1") && !accepts("~> 3.2.0-beta1") && !accepts("3.2.0-beta1, < 3.0"));
        assert!(!Constraints::default().allow_of_provider(&beta));
    }

    #[test]
    fn what_is_not_a_constraint() {
        for text in ["foo", ">=", "1.x", "=> 1", "1.0-", "1..2", ">= 1 < 2", ","] {
            assert!(text.parse::<Constraints>().is_err(), "{text}");
        }
        assert_eq!(">=1.0,~>2".parse::<Constraints>().map(|c| c.to_string()), Ok(">= 1.0.0, ~> 2".into()));
    }
}

//! Limits of values: how long, how large and how deeply nested they may become. A few lines of configuration can ask
//! for more than any machine has (a list doubled forty times); the evaluator refuses that with an error instead. Each
//! limit is far beyond what configurations need.

use gpuform_schema::{Type, Value};

/// The longest string that may be made out of shorter ones, in bytes.
pub const MAX_TEXT: usize = 64 << 20;

/// How many levels of lists, maps and so on a value may have. The JSON of states and plans cannot be read back beyond
/// 128 levels, some of which are around the value.
pub const MAX_DEPTH: usize = 100;

/// How many parts a value may have, all levels together. With what is needed to make and to keep such a value, this
/// stays well below a gigabyte.
pub const MAX_PARTS: u64 = 4_000_000;

/// How often one expression may go around its loops.
pub const MAX_TURNS: u64 = 10_000_000;

/// How many bytes the strings of a value may have together.
const MAX_BYTES: usize = 256 << 20;

/// Why a string is refused, as a sentence.
pub fn text_too_long() -> String {
    format!("The text would be longer than {} MiB.", MAX_TEXT >> 20)
}

/// Checks the number of elements that a list is about to get, so that it is not even made where it is refused.
///
/// # Errors
/// Why, as a clause.
pub fn check_count(elements: usize) -> Result<(), String> {
    if elements as u64 > MAX_PARTS {
        return Err(format!("the result would be too large: it would have more than {MAX_PARTS} elements"));
    }
    Ok(())
}

/// Checks the depth and the size of a value.
///
/// # Errors
/// Which limit it exceeds, as a clause after which a full stop may follow.
pub fn check(value: &Value) -> Result<(), String> {
    let mut seen = Seen { parts: 0, bytes: 0 };
    if !is_container(value) {
        return seen.one(value);
    }
    seen.value(value, 0)
}

/// Checks that a value can be stored: JSON has no infinite numbers.
///
/// # Errors
/// What cannot be stored, as a clause.
pub fn check_storable(value: &Value) -> Result<(), String> {
    let mut infinite = false;
    value.visit(&mut |part| {
        infinite |= matches!(part, Value::Number(n) if n.is_infinite());
        !infinite
    });
    if infinite {
        return Err("it is, or contains, an infinite number, which cannot be stored".into());
    }
    Ok(())
}

struct Seen {
    parts: u64,
    bytes: usize,
}

impl Seen {
    fn value(&mut self, value: &Value, depth: usize) -> Result<(), String> {
        self.one(value)?;
        if !is_container(value) {
            return Ok(());
        }
        if depth >= MAX_DEPTH {
            return Err(format!("it is nested more than {MAX_DEPTH} levels deep"));
        }
        match value {
            Value::Marked(m) => self.value(&m.value, depth),
            Value::List(c) | Value::Set(c) => c.items.iter().try_for_each(|v| self.value(v, depth + 1)),
            Value::Map(m) => m.entries.iter().try_for_each(|(_, v)| self.value(v, depth + 1)),
            Value::Tuple(items) => items.iter().try_for_each(|v| self.value(v, depth + 1)),
            Value::Object(o) => o.values.iter().try_for_each(|v| self.value(v, depth + 1)),
            Value::Unknown(u) => self.unknown(&u.ty, depth),
            _ => Ok(()),
        }
    }

    fn one(&mut self, value: &Value) -> Result<(), String> {
        self.parts += 1;
        if let Value::String(s) = value {
            self.bytes += s.len();
        }
        if self.parts > MAX_PARTS {
            return Err(format!("it has more than {MAX_PARTS} parts"));
        }
        if self.bytes > MAX_BYTES {
            return Err(format!("its texts are longer than {} MiB together", MAX_BYTES >> 20));
        }
        Ok(())
    }

    /// The type of an unknown value has the parts that the value will have.
    fn unknown(&mut self, ty: &Type, depth: usize) -> Result<(), String> {
        self.parts += 1;
        if depth >= MAX_DEPTH {
            return Err(format!("it is nested more than {MAX_DEPTH} levels deep"));
        }
        if self.parts > MAX_PARTS {
            return Err(format!("it has more than {MAX_PARTS} parts"));
        }
        match ty {
            Type::List(e) | Type::Set(e) | Type::Map(e) => self.unknown(e, depth + 1),
            Type::Tuple(types) => types.iter().try_for_each(|t| self.unknown(t, depth + 1)),
            Type::Object(attrs) => attrs.iter().try_for_each(|(_, t)| self.unknown(t, depth + 1)),
            _ => Ok(()),
        }
    }
}

/// Whether a value has parts, or will have.
fn is_container(value: &Value) -> bool {
    match value {
        Value::Unknown(u) => !u.ty.is_primitive() && !u.ty.is_dynamic(),
        Value::Null(_) | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lang::parse::parse_expression;
    use crate::lang::scope::EmptyScope;

    /// The summary of the first error of an expression.
    fn error(source: &str) -> String {
        let expr = parse_expression(source, crate::diag::Sources::default().add("x", source), 0);
        match expr {
            Ok(expr) => expr.eval(&EmptyScope::default()).map(|_| String::new()).unwrap_or_else(|d| d.summary),
            Err(diags) => diags.into_iter().next().map(|d| d.summary).unwrap_or_default(),
        }
    }

    #[test]
    fn values_are_neither_too_deep_nor_too_large() {
        let nested = |n: usize| (0..n).fold(Value::TRUE, |v, _| Value::tuple(vec![v]));
        assert!(check(&nested(MAX_DEPTH)).is_ok());
        assert!(check(&nested(MAX_DEPTH + 1)).unwrap_err().contains("levels deep"));
        let doubled = (0..40).fold(Value::TRUE, |v, _| Value::tuple(vec![v.clone(), v]));
        assert!(check(&doubled).unwrap_err().contains("parts"));
        let text = Value::string("x".repeat(1 << 20));
        assert!(check(&Value::tuple(vec![text; 300])).unwrap_err().contains("MiB"));
    }

    #[test]
    fn an_expression_that_asks_for_too_much_is_an_error() {
        let loops = "[for a in range(1024): [for b in range(1024): [for c in range(1024): 1]]]";
        assert_eq!(error(loops), "Too many iterations");
        assert_eq!(error(&format!("[1]{}", "[*]".repeat(10_000))), "Nesting too deep");
        let long = "join(\"\", [for a in range(1024): [for b in range(1024): format(\"%100s\", \"\")]]...)";
        assert_eq!(error(long), "Error in function call");
    }

    #[test]
    fn infinite_numbers_cannot_be_stored() {
        let infinite = Value::Number(gpuform_schema::Number::INFINITY);
        assert!(check_storable(&Value::tuple(vec![infinite])).is_err());
        assert!(check_storable(&Value::tuple(vec![Value::number(1)])).is_ok());
    }
}

//! The order in which Terraform iterates over the elements of a set, and making sets of elements in any order. Only
//! `Value::set` builds sets; others may compare with [`set_order`].
//!
//! Strings, numbers and bools are ordered by value. Everything else is ordered by a byte encoding of its content that
//! go-cty uses to hash elements; configurations see that order in outputs and in `tolist(set)`, so it is followed
//! exactly, down to numbers being told apart by ten digits only.

use crate::number::{Notation, Number};
use crate::value::Value;
use std::cmp::Ordering;

/// Terraform's iteration order of set elements; unknown elements after known ones, null ones last. Elements that
/// compare equal need not be equal.
pub fn set_order(a: &Value, b: &Value) -> Ordering {
    rank(a).cmp(&rank(b)).then_with(|| match (a, b) {
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Number(a), Value::Number(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        _ => content(a).cmp(&content(b)),
    })
}

/// Sorts elements and drops duplicates. Elements that are not wholly known are all kept.
pub(crate) fn into_set_elements(mut items: Vec<Value>) -> Vec<Value> {
    if items.len() < 2 {
        return items;
    }
    let composite = |v: &Value| !matches!(v, Value::String(_) | Value::Number(_) | Value::Bool(_)) && rank(v) == 0;
    if !items.iter().any(composite) {
        items.sort_by(set_order);
        items.dedup_by(|a, b| same(a, b));
        return items;
    }
    let mut keyed: Vec<((u8, Vec<u8>), Value)> = items.into_iter().map(|v| ((rank(&v), content(&v)), v)).collect();
    keyed.sort_by(|a, b| a.0.cmp(&b.0));
    let mut elements: Vec<Value> = Vec::with_capacity(keyed.len());
    // Elements with the same encoding are next to each other; there is seldom more than one that is not a duplicate.
    let (mut key, mut run) = ((0, Vec::new()), 0);
    for (k, v) in keyed {
        if k != key {
            (key, run) = (k, elements.len());
        }
        if !v.is_wholly_known() || !elements[run..].iter().any(|e| same(e, &v)) {
            elements.push(v);
        }
    }
    elements
}

/// Whether two elements are certainly the same.
fn same(a: &Value, b: &Value) -> bool {
    matches!((a, b), (Value::Null(_), Value::Null(_))) || (a == b && a.is_wholly_known())
}

fn rank(v: &Value) -> u8 {
    match v {
        Value::Null(_) => 2,
        Value::Unknown(_) => 1,
        _ => 0,
    }
}

fn content(v: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    write_content(v, &mut out);
    out
}

/// Lists and sets are `[a;b;]`, tuples and objects `<a;b;>` (without names: one type has the same names), maps
/// `{"k":v;}`, null `~`, unknown `?`, bools `T` and `F`, strings quoted.
fn write_content(v: &Value, out: &mut Vec<u8>) {
    let mut delimited = |open: u8, items: &mut dyn Iterator<Item = &Value>, close: u8| {
        out.push(open);
        for item in items {
            write_content(item, out);
            out.push(b';');
        }
        out.push(close);
    };
    match v {
        Value::Null(_) => out.push(b'~'),
        Value::Unknown(_) => out.push(b'?'),
        Value::Bool(b) => out.push(if *b { b'T' } else { b'F' }),
        Value::Number(n) => write_number(n, out),
        Value::String(s) => write_quoted(s, out),
        Value::List(c) | Value::Set(c) => delimited(b'[', &mut c.items.iter(), b']'),
        Value::Tuple(t) => delimited(b'<', &mut t.iter(), b'>'),
        Value::Object(o) => delimited(b'<', &mut o.values.iter(), b'>'),
        Value::Map(m) => {
            out.push(b'{');
            for (k, v) in &m.entries {
                write_quoted(k, out);
                out.push(b':');
                write_content(v, out);
                out.push(b';');
            }
            out.push(b'}');
        }
        Value::Marked(m) => write_content(&m.value, out),
    }
}

fn write_number(n: &Number, out: &mut Vec<u8>) {
    const TEN_DIGITS: i64 = 10_000_000_000;
    let text = match n.as_i64() {
        Some(i) if i.abs() < TEN_DIGITS && i != 0 => i.to_string(),
        _ => n.to_text(Notation::General, Some(10)),
    };
    out.extend_from_slice(text.as_bytes());
}

/// Quotes as Go's `%q` does.
fn write_quoted(s: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    for c in s.chars() {
        match c {
            '"' | '\\' => out.extend([b'\\', c as u8]),
            ' '..='~' => out.push(c as u8),
            '\x07' => out.extend(b"\\a"),
            '\x08' => out.extend(b"\\b"),
            '\x0c' => out.extend(b"\\f"),
            '\n' => out.extend(b"\\n"),
            '\r' => out.extend(b"\\r"),
            '\t' => out.extend(b"\\t"),
            '\x0b' => out.extend(b"\\v"),
            '\0'..='\x7f' => out.extend(format!("\\x{:02x}", c as u32).bytes()),
            c if is_printable(c) => out.extend(c.encode_utf8(&mut [0; 4]).bytes()),
            '\u{80}'..='\u{ffff}' => out.extend(format!("\\u{:04x}", c as u32).bytes()),
            c => out.extend(format!("\\U{:08x}", c as u32).bytes()),
        }
    }
    out.push(b'"');
}

/// Letters, marks, numbers, punctuation and symbols. The standard library knows: it escapes the others when debugging
/// (and combining marks at the start, hence the letter before).
fn is_printable(c: char) -> bool {
    let mut text = [b'x'; 5];
    let len = 1 + c.encode_utf8(&mut text[1..]).len();
    std::str::from_utf8(&text[..len]).is_ok_and(|t| t.escape_debug().nth(1) == Some(c))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Type;

    fn object(attrs: &[(&str, Value)]) -> Value {
        Value::object(attrs.iter().cloned())
    }

    fn n(text: &str) -> Value {
        Value::Number(Number::parse(text).unwrap())
    }

    /// The elements of the set in order, one `a` attribute or the value itself each.
    fn ordered(items: Vec<Value>) -> Vec<String> {
        let set = Value::set(Type::Dynamic, items);
        set.items().unwrap().iter().map(|v| format!("{:?}", v.get("a").unwrap_or(v))).collect()
    }

    #[test]
    fn primitives_are_ordered_by_value() {
        let s = |t: &str| Value::string(t);
        assert_eq!(
            ordered(vec![s("b"), s("B"), s("e\u{301}"), s("é"), s("10"), s("9")]),
            ["\"10\"", "\"9\"", "\"B\"", "\"b\"", "\"é\""]
        );
        assert_eq!(
            ordered(["1e21", "12345678901.5", "12345678901", "3", "0.1", "-1"].map(n).to_vec()),
            ["-1", "0.1", "3", "12345678901", "12345678901.5", "1000000000000000000000"]
        );
        assert_eq!(ordered(vec![true.into(), false.into(), true.into()]), ["false", "true"]);
        assert_eq!(ordered(vec![Value::null(), s("b"), Value::null(), s("a")]), ["\"a\"", "\"b\"", "null(any)"]);
    }

    /// Orders printed by `terraform console` for `toset([{a = …}, …])`.
    #[test]
    fn objects_are_ordered_by_the_encoding_of_their_content() {
        let objects = |items: &[Value]| items.iter().map(|v| object(&[("a", v.clone())])).collect();
        let strings =
            ["z", "Z", "a b", "é", "a\"b", "a\tb", "aZ", "\u{200b}", "日本", "\u{300}x", ""].map(Value::string);
        let expected =
            ["", "Z", "\u{200b}", "a b", "aZ", "a\"b", "a\tb", "z", "é", "\u{300}x", "日本"].map(Value::string);
        assert_eq!(ordered(objects(&strings)), expected.iter().map(|v| format!("{v:?}")).collect::<Vec<_>>());

        let numbers = ["1e21", "1e20", "12345678901.5", "12345678901", "3", "0.00001", "-1"].map(n);
        let expected = ["-1", "12345678901.5", "12345678901", "1e20", "1e21", "0.00001", "3"].map(n);
        assert_eq!(ordered(objects(&numbers)), expected.iter().map(|v| format!("{v:?}")).collect::<Vec<_>>());

        let others = [Value::Null(Type::String), "x".into(), "~".into(), "".into(), "x".into()];
        assert_eq!(ordered(objects(&others)), ["\"\"", "\"x\"", "\"~\"", "null(string)"]);
        assert_eq!(ordered(objects(&[true.into(), false.into()])), ["false", "true"]);
    }

    #[test]
    fn collections_are_ordered_by_the_encoding_of_their_content() {
        let list = |items: &[i64]| Value::list(Type::Number, items.iter().map(|i| Value::number(*i)).collect());
        assert_eq!(
            ordered(vec![list(&[1, 2]), list(&[1]), list(&[10]), list(&[2, 1]), list(&[])]),
            ["list[10]", "list[1, 2]", "list[1]", "list[2, 1]", "list[]"]
        );
        let map =
            |entries: &[(&str, i64)]| Value::map(Type::Number, entries.iter().map(|(k, v)| (*k, Value::number(*v))));
        assert_eq!(
            ordered(vec![map(&[("x", 1)]), map(&[("x", 1), ("y", 2)]), map(&[]), map(&[("y", 1)])]),
            ["map{\"x\": 1, \"y\": 2}", "map{\"x\": 1}", "map{\"y\": 1}", "map{}"]
        );
    }

    #[test]
    fn elements_that_may_differ_are_kept() {
        let unknown = object(&[("a", Value::unknown(Type::String))]);
        assert_eq!(ordered(vec![unknown.clone(), unknown]).len(), 2);
        let close = ["12345678901.5", "12345678901", "12345678901.5"].map(|t| object(&[("a", n(t))]));
        assert_eq!(ordered(close.to_vec()), ["12345678901.5", "12345678901"]);
    }
}

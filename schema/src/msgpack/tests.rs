//! msgpack against values that Terraform 1.11.4 wrote into a plan file (`observed.tsv`), and round trips.

use super::*;
use crate::generate::{any_type, value_of};
use proptest::prelude::*;

fn bytes(hex: &str) -> Vec<u8> {
    hex.as_bytes().chunks(2).map(|p| u8::from_str_radix(std::str::from_utf8(p).unwrap(), 16).unwrap()).collect()
}

/// Planned values of `terraform_data`, and one output.
fn observed() -> Vec<(&'static str, Type, Vec<u8>)> {
    let resource = Type::object([
        ("id", Type::String),
        ("input", Type::Dynamic),
        ("output", Type::Dynamic),
        ("triggers_replace", Type::Dynamic),
    ]);
    let lines = include_str!("observed.tsv").lines().map(|l| l.split_once('\t').unwrap());
    lines
        .map(|(name, hex)| (name, if name == "output" { Type::Dynamic } else { resource.clone() }, bytes(hex)))
        .collect()
}

fn observed_value(name: &str) -> Value {
    let (_, ty, bytes) = observed().into_iter().find(|(n, ..)| *n == name).unwrap();
    decode(&bytes, &ty).unwrap()
}

#[test]
fn what_terraform_wrote_is_read_and_written_the_same() {
    for (name, ty, bytes) in observed() {
        let value = decode(&bytes, &ty).unwrap();
        assert_eq!(encode(&value, &ty).unwrap(), bytes, "{name}: {value:?}");
    }
    let all = observed_value("all_kinds");
    let input = all.get("input").unwrap();
    let third = Number::parse("1").unwrap().div(&Number::parse("3").unwrap()).unwrap();
    assert_eq!(
        format!("{input:?}"),
        r#"{"b": true, "big": 123456789012345678901234567890, "e": {}, "f32": -0.5, "l": ["a", null(any)], "#
            .to_owned()
            + r#""long": "0123456789012345678901234567890123456789", "m": map{"k": [1, 2]}, "n": 1.5, "neg": -5, "#
            + r#""s": "x", "set": set["a", "b"], "t": 0.1, "third": "#
            + &third.to_string()
            + r#", "u64": 18446744073709551615, "u8": 200}"#
    );
    assert!(all.get("id").unwrap().is_not_null());
    assert_eq!(all.get("output").unwrap().ty(), input.ty());
}

#[test]
fn what_is_known_of_unknown_values_survives() {
    let refinement = |v: &Value| match v {
        Value::Unknown(u) => u.refinement.clone(),
        v => panic!("{v:?} is known"),
    };
    let prefix = observed_value("prefix");
    assert_eq!(refinement(prefix.get("input").unwrap()).prefix.as_deref(), Some("pre-"));
    let output = observed_value("output");
    let number = refinement(output.get("y").unwrap());
    assert_eq!(number.min, Some((0.into(), true)));
    assert_eq!(number.max, Some((i64::MAX.into(), true)));
    assert!(number.not_null);

    let long = Refinement { prefix: Some("é1".repeat(200).into()), ..Refinement::default() };
    let ty = Type::String;
    let cut = decode(&encode(&Value::refined(ty.clone(), long), &ty).unwrap(), &ty).unwrap();
    assert_eq!(cut, Value::unknown(Type::String), "no safe place to cut");
    let long = Refinement { prefix: Some("e\u{301}xy".repeat(200).into()), ..Refinement::default() };
    let cut = decode(&encode(&Value::refined(ty.clone(), long), &ty).unwrap(), &ty).unwrap();
    assert!(refinement(&cut).prefix.is_some_and(|p| p.len() > 200 && p.len() < 256 && p.ends_with(['x', 'y'])));
}

#[test]
fn errors_say_where() {
    let ty = Type::object([("a", Type::list(Type::map(Type::Number)))]);
    let value = Value::object([(
        "a",
        Value::list(Type::map(Type::String), vec![Value::map(Type::String, [("k", "x".into())])]),
    )]);
    assert_eq!(encode(&value, &ty).unwrap_err().to_string(), ".a[0][\"k\"]: number is required here, not string");
    let mistyped = encode(&value, &value.ty()).unwrap();
    assert_eq!(decode(&mistyped, &ty).unwrap_err().to_string(), ".a[0][\"k\"]: number is required");
    let secret = Value::object([("a", Value::from("x").with_marks(crate::Marks::SENSITIVE))]);
    let error = encode(&secret, &Type::object([("a", Type::String)])).unwrap_err();
    assert_eq!(error.to_string(), ".a: a sensitive or ephemeral value cannot be written as it is");
    let renamed = encode(&Value::object([("b", Value::null())]), &Type::object([("b", Type::String)])).unwrap();
    assert_eq!(decode(&renamed, &ty).unwrap_err().to_string(), ".b: there is no such attribute");
}

#[test]
fn attributes_may_come_in_any_order() {
    let ty = Type::object([("a", Type::Number), ("b", Type::String)]);
    let value = decode(b"\x82\xa1b\xa1x\xa1a\x01", &ty).unwrap();
    assert_eq!(value, Value::object([("a", Value::from(1)), ("b", "x".into())]));
    assert!(decode(b"\x82\xa1b\xa1x\xa1b\xa1x", &ty).is_err(), "the same attribute twice");
}

#[test]
fn hostile_bytes_are_errors() {
    for (name, ty, bytes) in observed() {
        for len in 0..bytes.len() {
            assert!(decode(&bytes[..len], &ty).is_err(), "{name} cut at {len}");
        }
    }
    let list = Type::list(Type::String);
    assert!(decode(&[0xdd, 0xff, 0xff, 0xff, 0xff], &list).is_err(), "four billion elements");
    let nested = [b"\x92\xc4\x0b\"dynamic\"  ".repeat(100_000), vec![0xc0]].concat();
    assert!(decode(&nested, &Type::Dynamic).is_err(), "dynamic within dynamic without end");
    let deep_type = "[\"list\",".repeat(100_000);
    let deep_type = [b"\x92\xc6", &(deep_type.len() as u32).to_be_bytes()[..], deep_type.as_bytes()].concat();
    assert!(decode(&deep_type, &Type::Dynamic).is_err());
    let future = b"\xc7\x07\x0c\x82\x01\xc2\x63\x91\x91\x00";
    assert_eq!(decode(future, &Type::String).unwrap(), Value::unknown_not_null(Type::String), "keys of the future");
    assert!(decode(b"\xcb\x7f\xf8\0\0\0\0\0\0", &Type::Number).is_err(), "not a number");
}

proptest! {
    #[test]
    fn values_survive((ty, value) in any_type().prop_flat_map(|t| (Just(t.clone()), value_of(&t, true)))) {
        let bytes = encode(&value, &ty).unwrap();
        let back = decode(&bytes, &ty).unwrap();
        prop_assert_eq!(&back, &value);
        prop_assert_eq!(encode(&back, &ty).unwrap(), bytes);
    }

    #[test]
    fn floats_survive(f in any::<f64>()) {
        if let Some(n) = Number::from_f64(f) {
            let back = decode(&encode(&Value::Number(n.clone()), &Type::Number).unwrap(), &Type::Number).unwrap();
            prop_assert!(back == Value::Number(n.clone()) || (n.is_integer() && n.as_i64().is_none()));
        }
    }

    #[test]
    fn damaged_bytes_do_no_harm(at in 0usize..600, byte in any::<u8>(), which in 0usize..5) {
        let (_, ty, mut bytes) = observed().swap_remove(which);
        let len = bytes.len();
        bytes[at % len] = byte;
        drop(decode(&bytes, &ty));
    }

    #[test]
    fn random_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..200), ty in any_type()) {
        drop(decode(&bytes, &ty));
    }
}

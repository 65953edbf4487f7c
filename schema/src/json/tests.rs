//! JSON against results observed in Terraform 1.11.4, and round trips.

use super::*;
use crate::generate::{any_type, value_of};
use proptest::prelude::*;

fn jsonencode(value: &Value) -> String {
    let mut out = String::new();
    encode_untyped(value, &mut out).unwrap();
    out
}

fn typed(value: &Value, ty: &Type) -> Result<String, CodecError> {
    let mut out = String::new();
    encode(value, ty, &mut out).map(|()| out)
}

fn refuse(text: &str, ty: &Type) -> Result<Value, String> {
    decode(text, ty, ExtraAttributes::Refuse).map_err(|e| e.to_string())
}

#[test]
fn jsonencode_writes_what_terraform_writes() {
    let n = |text: &str| Value::Number(Number::parse(text).unwrap());
    for (value, expected) in [
        (Value::TRUE, "true"),
        (Value::null(), "null"),
        (Value::Null(Type::String), "null"),
        (Value::tuple(vec![]), "[]"),
        (Value::empty_object(), "{}"),
        (n("-0"), "-0"),
        (n("1e21"), "1000000000000000000000"),
        (n("1e-7"), "0.0000001"),
        (n("123456789012345678901234567890"), "123456789012345678901234567890"),
        (Value::Number(Number::from_f64(18446744073709551616.0).unwrap()), "18446744073709550000"),
        ("<>&\u{2028}\u{2029}'/\\\"".into(), r#""\u003c\u003e\u0026\u2028\u2029'/\\\"""#),
        ("\t\n\r é日😀\u{7f}".into(), "\"\\t\\n\\r é日😀\u{7f}\""),
        ("\u{1}\u{8}\u{c}\u{1f}\0".into(), r#""\u0001\b\f\u001f\u0000""#),
        (Value::object([("<k>", Value::from(1))]), r#"{"\u003ck\u003e":1}"#),
        (Value::set(Type::String, vec!["b".into(), "a".into()]), r#"["a","b"]"#),
        (Value::map(Type::Number, [("b", 1.into()), ("a", Value::from(2))]), r#"{"a":2,"b":1}"#),
        (
            Value::tuple(vec![1.into(), "a".into(), Value::null(), true.into(), n("1.5"), Value::empty_object()]),
            r#"[1,"a",null,true,1.5,{}]"#,
        ),
    ] {
        assert_eq!(jsonencode(&value), expected);
    }
    let infinite =
        encode_untyped(&Value::object([("a", Number::INFINITY.into())] as [(_, Value); 1]), &mut String::new());
    assert_eq!(infinite.unwrap_err().to_string(), ".a: JSON has no infinite numbers");
}

#[test]
fn jsondecode_reads_what_terraform_reads() {
    for (text, expected) in [
        ("null", "null(any)"),
        (" [1, \"a\", null] ", r#"[1, "a", null(any)]"#),
        ("{}", "{}"),
        (r#"{"b":1,"a":{"c":[1,2,3.5e-3]}}"#, r#"{"a": {"c": [1, 2, 0.0035]}, "b": 1}"#),
        (r#"{"a":1,"b":2,"a":"x"}"#, r#"{"a": "x", "b": 2}"#),
        (r#""\u00e9\ud83d\ude00\/""#, r#""é😀/""#),
        (r#""e\u0301""#, r#""é""#),
        (r#""\ud800 \uDEAD\ud83dx""#, "\"\u{fffd} \u{fffd}\u{fffd}x\""),
        (r#""\u0000""#, r#""\0""#),
        ("-0", "-0"),
        ("1E+2", "100"),
        ("1e1000000000", "+Inf"),
        ("[[],{},[{}]]", "[[], {}, [{}]]"),
        ("18446744073709551617.25", "18446744073709551617.25"),
    ] {
        assert_eq!(format!("{:?}", decode_untyped(text).unwrap()), expected, "{text}");
    }
    for text in [
        "",
        " ",
        "nul",
        "tru",
        "[1,]",
        "[,1]",
        "[1 2]",
        "{\"a\" 1}",
        "{\"a\":}",
        "{1:2}",
        "{\"a\":1,}",
        "{a:1}",
        "01",
        "+1",
        ".5",
        "1.",
        "-",
        "1e",
        "\"\\x\"",
        "\"\\u12\"",
        "\"a\tb\"",
        "\u{feff}1",
        "1 2",
        "true false",
        "\"a",
        "{",
        "[1,2",
        "// c\n1",
        "'a'",
    ] {
        assert!(decode_untyped(text).is_err(), "{text}");
    }
    assert_eq!(decode_untyped(b"\"a\xffb\"").unwrap(), "a\u{fffd}b".into(), "not UTF-8");
}

#[test]
fn errors_say_where() {
    let error = |text: &str| decode_untyped(text).unwrap_err().to_string();
    assert_eq!(error("{\"a\": [1,\n 2,]}"), ".a[2]: ']' where a value should be (line 2, column 4)");
    assert_eq!(error("[\"é\" 1"), "'1' where ',' or ']' should be (line 1, column 6)");
    assert_eq!(error("["), "[0]: the JSON text ends where a value should be (line 1, column 2)");
    let ty = Type::map(Type::list(Type::Number));
    assert_eq!(
        refuse("{\"k\":[1,[]]}", &ty).unwrap_err(),
        ".[\"k\"][1]: number is required (line 1, column 9)".replace(".[", "[")
    );
}

#[test]
fn state_attributes_are_read_and_written() {
    let ty = Type::object([
        ("any", Type::Dynamic),
        ("list", Type::list(Type::String)),
        ("map", Type::map(Type::Bool)),
        ("none", Type::Number),
        ("number", Type::Number),
    ]);
    let text = concat!(
        r#"{"any":{"value":{"a":[1]},"type":["object",{"a":["tuple",["number"]]}]},"#,
        r#""list":["x"],"map":{"k":true},"none":null,"number":1.5}"#
    );
    let value = refuse(text, &ty).unwrap();
    assert_eq!(typed(&value, &ty).unwrap(), text);
    assert_eq!(value.get("any").unwrap(), &decode_untyped(r#"{"a":[1]}"#).unwrap());
    let swapped = r#"{"type":["set","number"],"value":[2,1]}"#;
    assert_eq!(jsonencode(&refuse(swapped, &Type::Dynamic).unwrap()), "[1,2]");

    let lenient = r#"{"number":"7","list":[1,true,1.50],"map":{"k":"false","l":"1"},"gone":{"x":[1]}}"#;
    assert!(refuse(lenient, &ty).unwrap_err().contains("\"gone\""));
    let value = decode(lenient, &ty, ExtraAttributes::Ignore).unwrap();
    let expected = r#"{"any":null,"list":["1","true","1.50"],"map":{"k":false,"l":true},"none":null,"number":7}"#;
    assert_eq!(typed(&value, &ty).unwrap(), expected);
}

#[test]
fn only_known_and_public_values_of_the_type_are_written() {
    let ty = Type::object([("a", Type::String)]);
    let error = |v: Value| typed(&Value::object([("a", v)]), &ty).unwrap_err().to_string();
    assert_eq!(error(Value::unknown(Type::String)), ".a: the value is not known yet");
    assert_eq!(
        error(Value::from("x").with_marks(crate::Marks::SENSITIVE)),
        CodecError::marked().at(Step::Attr("a".into())).to_string()
    );
    assert_eq!(error(1.into()), ".a: string is required here, not number");
}

#[test]
fn objects_of_a_document_share_their_names() {
    let value = decode_untyped(r#"[{"a":1,"b":2},{"a":3,"b":4}]"#).unwrap();
    let [Value::Object(first), Value::Object(second)] = value.items().unwrap() else { panic!("two objects") };
    assert!(Arc::ptr_eq(&first.names, &second.names));
}

#[test]
fn types_are_read_and_written() {
    let ty = type_from_json(r#"[ "object", {"b": ["list", "string"], "a": ["tuple", ["bool", "dynamic"]]}, ["b"] ]"#)
        .unwrap();
    assert_eq!(ty.to_string(), "object({a=tuple([bool, any]),b=list(string)})");
    assert_eq!(type_to_json(&ty), r#"["object",{"a":["tuple",["bool","dynamic"]],"b":["list","string"]}]"#);
    for text in [
        "",
        "\"any\"",
        "[]",
        "[\"list\"]",
        "[\"list\",\"string\",1,2]",
        "[\"vector\",\"string\"]",
        "{}",
        "\"string\" 1",
        "null",
    ] {
        assert!(type_from_json(text).is_err(), "{text}");
    }
}

#[test]
fn deep_nesting_is_an_error() {
    assert!(decode_untyped("[".repeat(1_000_000)).is_err());
    assert!(decode_untyped("{\"a\":".repeat(1_000_000)).is_err());
    assert!(type_from_json("[\"list\",".repeat(1_000_000)).is_err());
    assert!(decode_untyped(format!("{}{}", "[".repeat(200), "]".repeat(200))).is_ok());
    let skipped = format!("{{\"gone\":{}", "[".repeat(1_000_000));
    assert!(decode(skipped, &Type::object::<&str>([]), ExtraAttributes::Ignore).is_err());
}

proptest! {
    #[test]
    fn values_survive((ty, value) in any_type().prop_flat_map(|t| (Just(t.clone()), value_of(&t, false)))) {
        let text = typed(&value, &ty).unwrap();
        prop_assert_eq!(&refuse(&text, &ty).unwrap(), &value);
        prop_assert!(serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok());
        let untyped = jsonencode(&value);
        prop_assert_eq!(jsonencode(&decode_untyped(&untyped).unwrap()), untyped);
    }

    #[test]
    fn types_survive(ty in any_type()) {
        prop_assert_eq!(type_from_json(type_to_json(&ty)).unwrap(), ty);
    }

    #[test]
    fn strings_survive(s in any::<String>()) {
        let mut text = String::new();
        write_string(&s, &mut text);
        prop_assert_eq!(serde_json::from_str::<String>(&text).unwrap(), s);
    }

    /// What is JSON and what not is as serde_json has it.
    #[test]
    fn text_is_accepted_as_elsewhere(text in "[\\[\\]{}:,\"a\\\\1.e\\- ]{0,12}") {
        let expected = serde_json::from_str::<serde_json::Value>(&text);
        prop_assert_eq!(decode_untyped(&text).is_ok(), expected.is_ok(), "{:?}", expected);
    }

    #[test]
    fn damaged_text_does_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..100), ty in any_type()) {
        drop(decode_untyped(&bytes));
        drop(decode(&bytes, &ty, ExtraAttributes::Ignore));
    }
}

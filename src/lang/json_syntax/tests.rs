use super::*;
use crate::diag::Sources;

fn read(text: &str) -> (JsonBody, Vec<String>) {
    let sources = Sources::default();
    let file = sources.add("t", text);
    let mut diags = Diagnostics::new();
    let body = JsonBody::parse(text, file, &mut diags);
    let errors = diags
        .iter()
        .map(|d| {
            let r = d.subject.expect("every error has a place");
            format!("{}-{} {}", r.start, r.end, d.summary)
        })
        .collect();
    (body, errors)
}

/// Recorded with the reference implementation.
#[test]
fn errors_and_their_places() {
    for (text, expected) in [
        ("", vec!["0-0 Missing value", "0-0 Root value must be object"]),
        ("\u{feff}{}", vec!["0-0 Invalid start of value", "0-0 Root value must be object"]),
        ("5", vec!["0-1 Root value must be object"]),
        ("{", vec!["1-1 Missing value", "1-1 Invalid object property name", "0-1 Root value must be object"]),
        ("{\"a\"", vec!["4-4 Missing property value colon", "0-1 Root value must be object"]),
        ("{\"a\":", vec!["5-5 Missing value", "0-1 Unclosed object", "0-1 Root value must be object"]),
        ("{\"a\":1,}", vec!["6-7 Trailing comma in object", "0-1 Root value must be object"]),
        (
            "{a:1}",
            vec!["1-2 Invalid JSON keyword", "1-2 Invalid object property name", "0-1 Root value must be object"],
        ),
        ("{\"a\":tru}", vec!["5-8 Invalid JSON keyword"]),
        (
            "{\"a\":[1,]}",
            vec!["7-8 Trailing comma in array", "9-10 Mismatched braces", "0-1 Root value must be object"],
        ),
        ("{\"a\":[1 2]}", vec!["10-11 Missing attribute seperator comma"]),
        ("{\"a\":01}", vec!["5-7 Invalid JSON number"]),
        ("{\"a\":\"\\q\"}", vec!["8-9 Invalid JSON string"]),
        ("{\"a\":1}}", vec!["7-8 Extraneous data after value"]),
        ("{\"a\":}", vec!["5-6 Missing JSON value"]),
        ("{\"a\":{\"b\":1]}", vec!["12-13 Mismatched braces"]),
    ] {
        assert_eq!(read(text).1, expected, "{text}");
    }
}

#[test]
fn values_become_expressions() {
    let text = r#"{"s": "a${b}", "n": 1.50, "l": [true, null], "o": {"k${x}": "\u00e9\ud83d\ude00"}}"#;
    let (body, errors) = read(text);
    assert_eq!(errors, Vec::<String>::new());
    let mut diags = Diagnostics::new();
    let attributes = body.just_attributes(&mut diags);
    assert!(diags.is_empty());
    let kinds: Vec<String> = attributes.iter().map(|a| format!("{}={:?}", a.name, a.expr.kind)).collect();
    assert!(kinds[0].contains("Template"), "{}", kinds[0]);
    assert_eq!(kinds[1], "n=Literal(1.5)");
    assert!(kinds[2].contains("Literal(true)") && kinds[2].contains("Literal(null"), "{}", kinds[2]);
    assert!(kinds[3].contains("Template") && kinds[3].contains("é😀"), "{}", kinds[3]);
}

#[test]
fn deep_nesting_is_an_error_not_a_crash() {
    let (_, errors) = read(&format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000)));
    assert_eq!(errors.first().map(|e| e.contains("Nesting too deep")), Some(true));
}

proptest::proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in "[\\[\\]{}:,\"\\\\au0-9.e \\n-]{0,40}") {
        read(&text);
    }
}

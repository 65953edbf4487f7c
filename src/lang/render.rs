//! Values and types as text for people: the form in which `console` and `output` print them. It looks like the language
//! but is not meant to be read back; sensitive parts are never shown.

use gpuform_schema::{Marks, Type, Value};
use std::fmt::Write;
use std::sync::LazyLock;

/// The value as `console` and `output` show it, over several lines where it has parts. No final newline.
pub fn value(v: &Value) -> String {
    let mut out = String::new();
    write_value(&mut out, v, 0);
    out
}

/// The type as the console's function `type` shows it.
pub fn type_name(ty: &Type) -> String {
    let mut out = String::new();
    write_type(&mut out, ty, 0);
    out
}

/// A string in double quotes, with control and other invisible characters escaped.
pub fn quoted(s: &str) -> String {
    let mut out = String::with_capacity(s.len() + 2);
    write_quoted(&mut out, s);
    out
}

fn write_value(out: &mut String, v: &Value, indent: usize) {
    let (v, marks) = v.unmark();
    if let Value::Unknown(_) = v {
        out.push_str("(known after apply)");
        return;
    }
    if marks.contains(Marks::SENSITIVE) {
        out.push_str("(sensitive value)");
        return;
    }
    if marks.contains(Marks::EPHEMERAL) {
        out.push_str("(ephemeral value)");
        return;
    }
    match v {
        Value::Null(ty) => write_null(out, ty),
        Value::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
        Value::Number(n) => {
            // Writing to a string cannot fail.
            let _ = write!(out, "{n}");
        }
        Value::String(s) => write_string(out, s, indent),
        Value::Tuple(items) => write_sequence(out, items, indent),
        Value::List(c) => wrapped(out, "tolist(", |out| write_sequence(out, &c.items, indent)),
        Value::Set(c) => wrapped(out, "toset(", |out| write_sequence(out, &c.items, indent)),
        Value::Object(o) => write_mapping(out, o.iter().map(|(k, v)| (&**k, v)), indent),
        Value::Map(m) => wrapped(out, "tomap(", |out| {
            write_mapping(out, m.entries.iter().map(|(k, v)| (&**k, v)), indent);
        }),
        Value::Unknown(_) | Value::Marked(_) => {}
    }
}

fn wrapped(out: &mut String, open: &str, content: impl FnOnce(&mut String)) {
    out.push_str(open);
    content(out);
    out.push(')');
}

fn write_null(out: &mut String, ty: &Type) {
    let text = match ty {
        Type::Dynamic => "null".into(),
        Type::String => "tostring(null)".into(),
        Type::Number => "tonumber(null)".into(),
        Type::Bool => "tobool(null)".into(),
        Type::List(e) => format!("tolist(null) /* of {} */", e.friendly_name()),
        Type::Set(e) => format!("toset(null) /* of {} */", e.friendly_name()),
        Type::Map(e) => format!("tomap(null) /* of {} */", e.friendly_name()),
        Type::Tuple(_) | Type::Object(_) => format!("null /* {} */", ty.friendly_name()),
    };
    out.push_str(&text);
}

fn write_sequence(out: &mut String, items: &[Value], indent: usize) {
    if items.is_empty() {
        out.push_str("[]");
        return;
    }
    out.push_str("[\n");
    for item in items {
        spaces(out, indent + 2);
        write_value(out, item, indent + 2);
        out.push_str(",\n");
    }
    spaces(out, indent);
    out.push(']');
}

fn write_mapping<'a>(out: &mut String, entries: impl Iterator<Item = (&'a str, &'a Value)>, indent: usize) {
    let mut entries = entries.peekable();
    if entries.peek().is_none() {
        out.push_str("{}");
        return;
    }
    out.push_str("{\n");
    for (key, item) in entries {
        spaces(out, indent + 2);
        write_string(out, key, indent + 2);
        out.push_str(" = ");
        write_value(out, item, indent + 2);
        out.push('\n');
    }
    spaces(out, indent);
    out.push('}');
}

fn write_string(out: &mut String, s: &str, indent: usize) {
    if s.contains('\n') { write_heredoc(out, s, indent) } else { write_quoted(out, s) }
}

/// A string of several lines, with an end marker that is none of its lines.
fn write_heredoc(out: &mut String, s: &str, indent: usize) {
    let mut marker = String::from("EOT");
    while s.split('\n').any(|line| line.trim() == marker) {
        marker.push('_');
    }
    out.push_str(if indent > 0 { "<<-" } else { "<<" });
    out.push_str(&marker);
    for line in s.split('\n') {
        out.push('\n');
        spaces(out, indent);
        write_line(out, line);
    }
    out.push('\n');
    spaces(out, indent);
    out.push_str(&marker);
}

/// One line of a text. Control characters that might forge what is around it are escaped; those that only stand for
/// blanks and bells are left as they are.
fn write_line(out: &mut String, line: &str) {
    for c in line.chars() {
        if c.is_control() && !matches!(c, '\t' | '\r' | '\u{7}' | '\u{b}' | '\u{c}') {
            let _ = match u32::from(c) {
                code @ 0..0x80 => write!(out, "\\x{code:02x}"),
                code => write!(out, "\\u{code:04x}"),
            };
        } else {
            out.push(c);
        }
    }
}

/// Letters, marks, numbers, punctuation and symbols: what is shown as it is.
static VISIBLE: LazyLock<Option<regex::Regex>> =
    LazyLock::new(|| regex::Regex::new(r"^[\p{L}\p{M}\p{N}\p{P}\p{S}]$").ok());

pub(crate) fn is_visible(c: char) -> bool {
    if c.is_ascii() {
        return c == ' ' || c.is_ascii_graphic();
    }
    VISIBLE.as_ref().is_none_or(|r| r.is_match(c.encode_utf8(&mut [0; 4])))
}

fn write_quoted(out: &mut String, s: &str) {
    out.push('"');
    for c in s.chars() {
        let escape = match c {
            '"' => "\\\"",
            '\\' => "\\\\",
            '\u{7}' => "\\a",
            '\u{8}' => "\\b",
            '\u{c}' => "\\f",
            '\n' => "\\n",
            '\r' => "\\r",
            '\t' => "\\t",
            '\u{b}' => "\\v",
            c if is_visible(c) => {
                out.push(c);
                continue;
            }
            c => {
                let code = u32::from(c);
                let _ = match code {
                    0..0x80 => write!(out, "\\x{code:02x}"),
                    0x80..0x1_0000 => write!(out, "\\u{code:04x}"),
                    _ => write!(out, "\\U{code:08x}"),
                };
                continue;
            }
        };
        out.push_str(escape);
    }
    out.push('"');
}

fn write_type(out: &mut String, ty: &Type, indent: usize) {
    match ty {
        Type::Bool => out.push_str("bool"),
        Type::Number => out.push_str("number"),
        Type::String => out.push_str("string"),
        Type::Dynamic => out.push_str("dynamic"),
        Type::List(e) => write_collection_type(out, "list(", e, indent),
        Type::Set(e) => write_collection_type(out, "set(", e, indent),
        Type::Map(e) => write_collection_type(out, "map(", e, indent),
        Type::Tuple(types) if types.is_empty() => out.push_str("tuple([])"),
        Type::Tuple(types) => {
            out.push_str("tuple([\n");
            for t in types.iter() {
                spaces(out, indent + 4);
                write_type(out, t, indent + 4);
                out.push_str(",\n");
            }
            spaces(out, indent);
            out.push_str("])");
        }
        Type::Object(attrs) if attrs.is_empty() => out.push_str("object({})"),
        Type::Object(attrs) => {
            out.push_str("object({\n");
            for (name, t) in attrs.iter() {
                spaces(out, indent + 4);
                out.push_str(name);
                out.push_str(": ");
                write_type(out, t, indent + 4);
                out.push_str(",\n");
            }
            spaces(out, indent);
            out.push_str("})");
        }
    }
}

/// The element type of a collection stands on lines of its own where it has parts.
fn write_collection_type(out: &mut String, open: &str, element: &Type, indent: usize) {
    out.push_str(open);
    if matches!(element, Type::Tuple(_) | Type::Object(_)) {
        out.push('\n');
        spaces(out, indent + 4);
        write_type(out, element, indent + 4);
        out.push_str(",\n");
        spaces(out, indent);
    } else {
        write_type(out, element, indent);
    }
    out.push(')');
}

fn spaces(out: &mut String, n: usize) {
    out.extend(std::iter::repeat_n(' ', n));
}

#[cfg(test)]
mod tests {
    use super::{quoted, type_name, value};
    use gpuform_schema::{Marks, Type, Value};

    #[test]
    fn nulls_say_their_type() {
        let nulls = [Type::Dynamic, Type::String, Type::list(Type::Bool), Type::tuple([Type::Number])];
        let shown: Vec<String> = nulls.into_iter().map(|t| value(&Value::Null(t))).collect();
        assert_eq!(shown, ["null", "tostring(null)", "tolist(null) /* of bool */", "null /* tuple */"]);
    }

    #[test]
    fn collections_name_their_kind_and_strings_of_several_lines_become_heredocs() {
        let v = Value::object([
            ("a b", Value::list(Type::String, vec!["x\nEOT".into()])),
            ("n", Value::map(Type::Number, [("k", Value::number(1))])),
            ("p", Value::string("hush").with_marks(Marks::SENSITIVE)),
            ("t", Value::tuple(vec![Value::TRUE, Value::unknown(Type::Bool)])),
        ]);
        let expected = r#"{
  "a b" = tolist([
    <<-EOT_
    x
    EOT
    EOT_,
  ])
  "n" = tomap({
    "k" = 1
  })
  "p" = (sensitive value)
  "t" = [
    true,
    (known after apply),
  ]
}"#;
        assert_eq!(value(&v), expected);
    }

    #[test]
    fn invisible_characters_are_escaped() {
        assert_eq!(quoted("é\u{200d}\u{1}\u{e0001}\t${x}"), "\"é\\u200d\\x01\\U000e0001\\t${x}\"");
    }

    #[test]
    fn heredocs_cannot_hold_control_sequences() {
        assert_eq!(value(&Value::string("a\n\tb\u{1b}[31m\r\n")), "<<EOT\na\n\tb\\x1b[31m\r\n\nEOT");
    }

    #[test]
    fn element_types_with_parts_stand_on_their_own_lines() {
        let object = Type::object([("a", Type::set(Type::Dynamic))]);
        assert_eq!(type_name(&Type::list(object)), "list(\n    object({\n        a: set(dynamic),\n    }),\n)");
    }
}

//! Values as text in the language, in the layout that `fmt` gives: objects over several lines with their equals signs
//! aligned, everything else on one line.

use crate::lang::parse::is_identifier;
use crate::lang::render::is_visible;
use gpuform_schema::{Str, Value};
use std::fmt::Write;
use unicode_segmentation::UnicodeSegmentation;

/// The value as an expression, without a final line end.
pub fn expression(value: &Value) -> String {
    let mut layout = Layout::default();
    layout.value(value);
    layout.finish()
}

/// The values as arguments, one after the other, with a final line end (nothing if there are none).
pub fn arguments(entries: &[(&Str, &Value)]) -> String {
    let mut layout = Layout::default();
    for (name, value) in entries {
        layout.item(name, value);
    }
    layout.finish()
}

/// Lines in the making.
#[derive(Default)]
struct Layout {
    done: Vec<Line>,
    current: Line,
}

#[derive(Default)]
struct Line {
    text: String,
    /// The value of an item that fits on the line; its equals sign is aligned with those of the lines around it.
    assigned: Option<String>,
    /// Opening brackets less closing ones.
    opened: i32,
}

impl Layout {
    fn value(&mut self, value: &Value) {
        match value {
            Value::List(_) | Value::Set(_) | Value::Tuple(_) => {
                self.open('[');
                for (i, item) in value.items().unwrap_or_default().iter().enumerate() {
                    if i > 0 {
                        self.current.text.push_str(", ");
                    }
                    self.value(item);
                }
                self.close(']');
            }
            Value::Map(_) | Value::Object(_) => {
                self.open('{');
                if value.element_count() != Some(0) {
                    self.end_line();
                    for (name, item) in value.entries().into_iter().flatten() {
                        self.item(name, item);
                    }
                }
                self.close('}');
            }
            scalar => write_scalar(&mut self.current.text, scalar),
        }
    }

    /// A name with its value, and the end of the line.
    fn item(&mut self, name: &str, value: &Value) {
        if is_identifier(name) {
            self.current.text.push_str(name);
        } else {
            write_string(&mut self.current.text, name);
        }
        if fits_on_a_line(value) {
            let mut inner = Layout::default();
            inner.value(value);
            self.current.assigned = Some(inner.current.text);
        } else {
            self.current.text.push_str(" = ");
            self.value(value);
        }
        self.end_line();
    }

    fn open(&mut self, bracket: char) {
        self.current.text.push(bracket);
        self.current.opened += 1;
    }

    fn close(&mut self, bracket: char) {
        self.current.text.push(bracket);
        self.current.opened -= 1;
    }

    fn end_line(&mut self) {
        self.done.push(std::mem::take(&mut self.current));
    }

    /// The text, indented and aligned.
    fn finish(mut self) -> String {
        let unended = !self.current.text.is_empty();
        if unended {
            self.end_line();
        }
        let mut out = String::new();
        // One level of indentation for each line that opens brackets, however many.
        let mut levels: Vec<i32> = Vec::new();
        for group in self.done.chunk_by(|a, b| a.assigned.is_some() && b.assigned.is_some()) {
            let widest = group.iter().map(|l| columns(&l.text)).max().unwrap_or_default();
            for line in group {
                close_levels(&mut levels, -line.opened);
                push_spaces(&mut out, 2 * levels.len());
                out.push_str(&line.text);
                if let Some(assigned) = &line.assigned {
                    push_spaces(&mut out, widest - columns(&line.text));
                    out.push_str(" = ");
                    out.push_str(assigned);
                }
                out.push('\n');
                if line.opened > 0 {
                    levels.push(line.opened);
                }
            }
        }
        if unended {
            out.pop();
        }
        out
    }
}

fn close_levels(levels: &mut Vec<i32>, mut closed: i32) {
    while closed > 0 {
        let Some(level) = levels.last_mut() else { return };
        if closed < *level {
            *level -= closed;
            return;
        }
        closed -= *level;
        levels.pop();
    }
}

fn fits_on_a_line(value: &Value) -> bool {
    match value {
        Value::Map(_) | Value::Object(_) => value.element_count() == Some(0),
        _ => value.items().unwrap_or_default().iter().all(fits_on_a_line),
    }
}

fn columns(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.graphemes(true).count() }
}

fn push_spaces(out: &mut String, n: usize) {
    out.extend(std::iter::repeat_n(' ', n));
}

fn write_scalar(out: &mut String, value: &Value) {
    match value {
        Value::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
        Value::String(s) => write_string(out, s),
        Value::Number(n) => {
            // Writing to a string cannot fail.
            let _ = write!(out, "{n}");
        }
        _ => out.push_str("null"),
    }
}

fn write_string(out: &mut String, s: &str) {
    out.push('"');
    let mut chars = s.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '$' | '%' if chars.peek() == Some(&'{') => out.extend([c, c]),
            c if is_visible(c) => out.push(c),
            c => {
                let code = u32::from(c);
                let _ = if code < 0x1_0000 { write!(out, "\\u{code:04x}") } else { write!(out, "\\U{code:08x}") };
            }
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(entries: &[(&str, Value)]) -> Value {
        Value::object(entries.iter().cloned())
    }

    fn n(i: i64) -> Value {
        Value::number(i)
    }

    // Recorded from Terraform 1.11.4.

    #[test]
    fn objects_are_laid_out_over_lines_and_aligned() {
        let inner = object(&[("x", "y".into())]);
        let value = object(&[
            ("a b", n(1)),
            ("c", Value::tuple(vec![n(1), n(2), inner])),
            ("d", Value::null()),
            ("a-b", n(1)),
            ("1a", n(2)),
            ("", n(4)),
        ]);
        let text = "{\n  \"\"    = 4\n  \"1a\"  = 2\n  \"a b\" = 1\n  a-b   = 1\n  c = [1, 2, {\n    x = \"y\"\n  }]\n  d = null\n}";
        assert_eq!(expression(&value), text);
    }

    #[test]
    fn objects_in_lists_indent_once_for_each_line() {
        let last = object(&[("b", n(1)), ("ccc", Value::tuple(vec![object(&[("d", n(1))])]))]);
        let value = Value::tuple(vec![n(1), object(&[("a", n(1))]), n(2), last, n(3)]);
        let text = "[1, {\n  a = 1\n  }, 2, {\n  b = 1\n  ccc = [{\n    d = 1\n  }]\n}, 3]";
        assert_eq!(expression(&value), text);
        let one = |name| Value::tuple(vec![object(&[(name, n(1))])]);
        let value = Value::tuple(vec![one("a"), one("b"), n(1)]);
        assert_eq!(expression(&value), "[[{\n  a = 1\n  }], [{\n  b = 1\n}], 1]");
    }

    #[test]
    fn arguments_end_with_a_line_end_and_are_aligned_in_groups() {
        let (a, c, d) = (Str::from("a"), Str::from("ccc"), Str::from("d"));
        let nested = object(&[("x", n(1)), ("yyy", n(2))]);
        let list = Value::tuple(vec![n(1), Value::empty_object()]);
        let text = arguments(&[(&a, &n(1)), (&c, &list), (&d, &nested)]);
        assert_eq!(text, "a   = 1\nccc = [1, {}]\nd = {\n  x   = 1\n  yyy = 2\n}\n");
        assert_eq!(arguments(&[]), "");
    }

    #[test]
    fn strings_are_escaped_so_that_they_read_back() {
        let text = expression(&"a\nb\t\"q\" \\ ${x} %{y} $ é \u{1} \u{200d} \u{e0001}".into());
        assert_eq!(text, r#""a\nb\t\"q\" \\ $${x} %%{y} $ é \u0001 \u200d \U000e0001""#);
    }
}

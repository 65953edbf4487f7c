//! JSON text with the white space and escapes of Go's encoder, which Terraform uses: two spaces of indentation, `{}`
//! and `[]` for empty containers, and `<`, `>`, `&`, U+2028 and U+2029 escaped in strings.

use std::io::{self, Write};

const FLUSH_AT: usize = 1 << 16;

/// Writes JSON piece by piece, indented or compact. The caller opens and closes containers in order.
pub struct Json<W: Write> {
    out: W,
    buffer: Vec<u8>,
    compact: bool,
    depth: usize,
    /// Whether something was written at this level, so that a comma must come first.
    comma: bool,
    after_key: bool,
    scratch: String,
}

impl Json<io::Sink> {
    /// Writes to memory, without white space. Texts passed to [`Json::raw`] are taken as they are.
    pub fn in_memory() -> Json<io::Sink> {
        let buffer = Vec::with_capacity(512);
        Json {
            out: io::sink(),
            buffer,
            compact: true,
            depth: 0,
            comma: false,
            after_key: false,
            scratch: String::new(),
        }
    }

    pub fn into_bytes(self) -> Vec<u8> {
        self.buffer
    }
}

impl<W: Write> Json<W> {
    /// Writes indented text to `out`.
    pub fn new(out: W) -> Json<W> {
        let buffer = Vec::with_capacity(FLUSH_AT + 4096);
        Json { out, buffer, compact: false, depth: 0, comma: false, after_key: false, scratch: String::new() }
    }

    /// Ends the text with a line feed and writes out what is buffered.
    pub fn finish(mut self) -> io::Result<()> {
        self.buffer.push(b'\n');
        self.out.write_all(&self.buffer)?;
        self.out.flush()
    }

    fn line(&mut self) {
        if self.compact {
            return;
        }
        self.buffer.push(b'\n');
        self.buffer.extend(std::iter::repeat_n(b' ', self.depth * 2));
    }

    /// What precedes a value: nothing after a key, else a comma where needed and a new line.
    fn value(&mut self) {
        if self.after_key {
            self.after_key = false;
        } else if self.depth > 0 {
            self.element();
        }
    }

    fn element(&mut self) {
        if self.comma {
            self.buffer.push(b',');
        }
        self.comma = true;
        self.line();
    }

    pub fn open(&mut self, bracket: u8) {
        self.value();
        self.buffer.push(bracket);
        self.depth += 1;
        self.comma = false;
    }

    pub fn close(&mut self, bracket: u8) -> io::Result<()> {
        self.depth -= 1;
        if self.comma {
            self.line();
        }
        self.comma = true;
        self.buffer.push(bracket);
        if self.buffer.len() >= FLUSH_AT && !self.compact {
            self.out.write_all(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }

    pub fn key(&mut self, name: &str) {
        self.element();
        push_string(&mut self.buffer, name);
        self.buffer.extend_from_slice(if self.compact { b":" } else { b": " });
        self.after_key = true;
    }

    pub fn string(&mut self, text: &str) {
        self.value();
        push_string(&mut self.buffer, text);
    }

    pub fn display(&mut self, value: impl std::fmt::Display) {
        self.value();
        // Writing to memory cannot fail.
        let _ = write!(self.buffer, "{value}");
    }

    /// A value's text as a string.
    pub fn shown(&mut self, value: impl std::fmt::Display) {
        self.scratch.clear();
        // Writing to memory cannot fail.
        let _ = std::fmt::Write::write_fmt(&mut self.scratch, format_args!("{value}"));
        self.value();
        push_string(&mut self.buffer, &self.scratch);
    }

    /// JSON text that is known to be valid, in whatever layout.
    pub fn raw(&mut self, text: &str) {
        self.value();
        if self.compact {
            self.buffer.extend_from_slice(text.as_bytes());
            return;
        }
        let bytes = text.as_bytes();
        let mut depth = self.depth;
        let mut i = 0;
        let newline = |buffer: &mut Vec<u8>, depth: usize| {
            buffer.push(b'\n');
            buffer.extend(std::iter::repeat_n(b' ', depth * 2));
        };
        while let Some(&b) = bytes.get(i) {
            i += 1;
            match b {
                b'"' => {
                    let end = string_end(bytes, i);
                    self.buffer.push(b'"');
                    push_escaped_html(&mut self.buffer, &bytes[i..end]);
                    i = end;
                }
                b'{' | b'[' => {
                    self.buffer.push(b);
                    i = skip_space(bytes, i);
                    if let Some(close @ (b'}' | b']')) = bytes.get(i) {
                        self.buffer.push(*close);
                        i += 1;
                    } else {
                        depth += 1;
                        newline(&mut self.buffer, depth);
                    }
                }
                b'}' | b']' => {
                    depth = depth.saturating_sub(1);
                    newline(&mut self.buffer, depth);
                    self.buffer.push(b);
                }
                b',' => {
                    self.buffer.push(b);
                    newline(&mut self.buffer, depth);
                }
                b':' => self.buffer.extend_from_slice(b": "),
                b if b.is_ascii_whitespace() => {}
                b => self.buffer.push(b),
            }
        }
    }
}

/// The index after the closing quote of a string whose content begins at `start`.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut i = start;
    while let Some(b) = bytes.get(i) {
        match b {
            b'"' => return i + 1,
            b'\\' => i += 2,
            _ => i += 1,
        }
    }
    bytes.len()
}

fn skip_space(bytes: &[u8], mut i: usize) -> usize {
    while bytes.get(i).is_some_and(u8::is_ascii_whitespace) {
        i += 1;
    }
    i
}

/// Valid JSON text without insignificant white space.
pub fn compact(text: &str, out: &mut String) {
    let bytes = text.as_bytes();
    let mut run = 0;
    let mut i = 0;
    while let Some(b) = bytes.get(i) {
        match b {
            b'"' => i = string_end(bytes, i + 1),
            b if b.is_ascii_whitespace() => {
                out.push_str(text.get(run..i).unwrap_or_default());
                i = skip_space(bytes, i);
                run = i;
            }
            _ => i += 1,
        }
    }
    out.push_str(text.get(run..).unwrap_or_default());
}

const HEX: &[u8; 16] = b"0123456789abcdef";

fn push_unicode_escape(out: &mut Vec<u8>, b: u8) {
    out.extend_from_slice(b"\\u00");
    out.push(HEX[usize::from(b >> 4)]);
    out.push(HEX[usize::from(b & 15)]);
}

/// Whether the three bytes from `i` are U+2028 or U+2029.
fn line_separator(bytes: &[u8], i: usize) -> Option<u8> {
    match bytes.get(i..i + 3) {
        Some([0xe2, 0x80, last @ (0xa8 | 0xa9)]) => Some(last & 15),
        _ => None,
    }
}

/// The inside of a JSON string, with the characters escaped that Go escapes in text it passes on.
fn push_escaped_html(out: &mut Vec<u8>, bytes: &[u8]) {
    let mut run = 0;
    let mut i = 0;
    while let Some(next) = bytes[i..].iter().position(|b| matches!(b, b'<' | b'>' | b'&' | 0xe2)) {
        i += next;
        match (bytes[i], line_separator(bytes, i)) {
            (_, Some(last)) => {
                out.extend_from_slice(&bytes[run..i]);
                out.extend_from_slice(b"\\u202");
                out.push(HEX[usize::from(last)]);
                i += 3;
                run = i;
            }
            (0xe2, None) => i += 1,
            (b, None) => {
                out.extend_from_slice(&bytes[run..i]);
                push_unicode_escape(out, b);
                i += 1;
                run = i;
            }
        }
    }
    out.extend_from_slice(&bytes[run..]);
}

/// Bytes that may have to be escaped: control characters, `"`, `\\`, `<`, `>`, `&`, and the first of U+2028 and U+2029.
static SPECIAL: [bool; 256] = {
    let mut table = [false; 256];
    let mut b = 0;
    while b < 256 {
        table[b] = b < 0x20 || matches!(b as u8, b'"' | b'\\' | b'<' | b'>' | b'&' | 0xe2);
        b += 1;
    }
    table
};

/// A text as a JSON string.
fn push_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let bytes = text.as_bytes();
    let mut run = 0;
    let mut i = 0;
    while let Some(next) = bytes[i..].iter().position(|b| SPECIAL[usize::from(*b)]) {
        i += next;
        let b = bytes[i];
        let separator = line_separator(bytes, i);
        if b == 0xe2 && separator.is_none() {
            i += 1;
            continue;
        }
        out.extend_from_slice(&bytes[run..i]);
        i += 1;
        match (b, separator) {
            (_, Some(last)) => {
                out.extend_from_slice(b"\\u202");
                out.push(HEX[usize::from(last)]);
                i += 2;
            }
            (b'"' | b'\\', _) => out.extend_from_slice(&[b'\\', b]),
            (b'\n', _) => out.extend_from_slice(b"\\n"),
            (b'\r', _) => out.extend_from_slice(b"\\r"),
            (b'\t', _) => out.extend_from_slice(b"\\t"),
            (0x08, _) => out.extend_from_slice(b"\\b"),
            (0x0c, _) => out.extend_from_slice(b"\\f"),
            (b, _) => push_unicode_escape(out, b),
        }
        run = i;
    }
    out.extend_from_slice(&bytes[run..]);
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn indented(text: &str) -> String {
        let mut out = Vec::new();
        let mut json = Json::new(&mut out);
        json.raw(text);
        json.finish().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn text_is_laid_out_as_go_does() {
        let text = "{\"a\":[1.0, {} ,[ ],\"<\\\"\u{2028}é>\"],\"b\":{\"c\":null}}";
        let expected = "{\n  \"a\": [\n    1.0,\n    {},\n    [],\n    \"\\u003c\\\"\\u2028é\\u003e\"\n  ],\n  \"b\": {\n    \"c\": null\n  }\n}\n";
        assert_eq!(indented(text), expected);
        assert_eq!(indented(expected), expected);
        let mut short = String::new();
        compact(expected, &mut short);
        assert_eq!(short, r#"{"a":[1.0,{},[],"\u003c\"\u2028é\u003e"],"b":{"c":null}}"#);
    }

    #[test]
    fn strings_are_escaped_as_go_does() {
        let mut out = Vec::new();
        push_string(&mut out, "a\"\\\n\r\t\u{8}\u{c}\u{1}\u{7f}<&>\u{2029}é\u{20ac}");
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "\"a\\\"\\\\\\n\\r\\t\\b\\f\\u0001\u{7f}\\u003c\\u0026\\u003e\\u2029é€\""
        );
    }
}

//! The JSON reader: strict JSON with the place of every value, numbers exact, names as often as they occur, and more
//! than one error where reading can go on.

use super::{JsonKind, JsonProperty, JsonValue};
use crate::diag::{Diagnostics, FileId, Range};
use crate::lang::parse::MAX_NESTING;
use gpuform_schema::Number;
use gpuform_schema::value::nfc;

/// Reads a text that is one JSON value.
pub(super) fn read(text: &str, file: FileId, diags: &mut Diagnostics) -> JsonValue {
    let mut r = Reader { text, pos: 0, file, depth: 0, diags };
    r.skip();
    let start = r.pos;
    let errors = r.diags.len();
    let value = r.value().unwrap_or(JsonValue { range: r.range(start, r.mistake_end(start)), kind: JsonKind::Invalid });
    r.skip();
    if r.pos < text.len() && r.diags.len() == errors {
        let at = r.range(r.pos, r.word_end(r.pos));
        r.diags.error("Extraneous data after value", "The JSON value is complete before this.", at);
    }
    value
}

struct Reader<'a, 'd> {
    text: &'a str,
    pos: usize,
    file: FileId,
    depth: u32,
    diags: &'d mut Diagnostics,
}

impl<'a> Reader<'a, '_> {
    fn range(&self, start: usize, end: usize) -> Range {
        Range::new(self.file, start, end)
    }

    /// The end of the character at `at`, or of the text.
    fn after(&self, at: usize) -> usize {
        at + self.text.get(at..).and_then(|r| r.chars().next()).map_or(0, char::len_utf8)
    }

    /// Where the range of a mistake at `at` ends. Mistakes are told byte by byte: of a character of several bytes the
    /// first counts, for which the range is left empty.
    fn mistake_end(&self, at: usize) -> usize {
        at + usize::from(self.text.as_bytes().get(at).is_some_and(u8::is_ascii))
    }

    /// The end of what looks like one word, of anything else one character.
    fn word_end(&self, at: usize) -> usize {
        let letters = self.text.bytes().skip(at).take_while(u8::is_ascii_alphabetic).count();
        if letters > 0 { at + letters } else { self.mistake_end(at) }
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.pos).copied()
    }

    fn skip(&mut self) {
        while matches!(self.byte(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.pos += 1;
        }
    }

    /// The range of the next token or character.
    fn next_range(&mut self) -> Range {
        self.skip();
        self.range(self.pos, self.mistake_end(self.pos))
    }

    /// A value. `None`: where it ends is not known.
    fn value(&mut self) -> Option<JsonValue> {
        self.skip();
        let start = self.pos;
        let kind = match self.byte() {
            None => {
                let at = self.next_range();
                self.diags.error("Missing value", "The text ends where a JSON value was expected.", at);
                return None;
            }
            Some(b'{') => return self.nested(Self::object),
            Some(b'[') => return self.nested(Self::array),
            Some(b'"') => self.string().map_or(JsonKind::Invalid, |s| JsonKind::String(nfc(&s))),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b'a'..=b'z' | b'A'..=b'Z') => self.keyword(),
            Some(c) => {
                let at = self.next_range();
                let summary = match c {
                    b']' => "Missing array element value",
                    b'}' => "Missing JSON value",
                    _ => "Invalid start of value",
                };
                self.diags.error(
                    summary,
                    "A JSON value begins with a brace, a bracket, a digit, a quote, or is true, false or null.",
                    at,
                );
                return if matches!(c, b'}' | b',') { Some(self.invalid(start)) } else { None };
            }
        };
        Some(JsonValue { range: self.range(start, self.pos), kind })
    }

    fn invalid(&self, start: usize) -> JsonValue {
        JsonValue { range: self.range(start, self.mistake_end(start)), kind: JsonKind::Invalid }
    }

    fn nested(&mut self, f: impl FnOnce(&mut Self) -> Option<JsonValue>) -> Option<JsonValue> {
        if self.depth >= MAX_NESTING {
            let at = self.next_range();
            self.diags.error(
                "Nesting too deep",
                format!("Arrays and objects may be nested at most {MAX_NESTING} levels deep."),
                at,
            );
            self.pos = self.text.len();
            return None;
        }
        self.depth += 1;
        let r = f(self);
        self.depth -= 1;
        r
    }

    fn object(&mut self) -> Option<JsonValue> {
        let start = self.pos;
        self.pos += 1;
        let mut properties = Vec::new();
        loop {
            self.skip();
            if self.byte() == Some(b'}') {
                break;
            }
            let name_start = self.pos;
            if self.byte() != Some(b'"') {
                self.value();
                let at = self.range(name_start, self.mistake_end(name_start));
                self.diags.error("Invalid object property name", "Names of properties are JSON strings.", at);
                self.recover(b'}');
                return None;
            }
            let name = self.string()?;
            let name_range = self.range(name_start, self.pos);
            self.skip();
            if self.byte() != Some(b':') {
                let at = self.next_range();
                self.diags.error(
                    "Missing property value colon",
                    "A colon stands between the name of a property and its value.",
                    at,
                );
                self.recover(b'}');
                return None;
            }
            self.pos += 1;
            self.skip();
            let value_start = self.pos;
            let value = match self.value() {
                Some(value) => value,
                None => self.invalid(value_start),
            };
            properties.push(JsonProperty { name: nfc(&name), name_range, value });
            self.skip();
            match self.byte() {
                Some(b',') => {
                    let comma = self.next_range();
                    self.pos += 1;
                    self.skip();
                    if self.byte() == Some(b'}') {
                        self.diags.error(
                            "Trailing comma in object",
                            "In JSON no comma may follow the last property of an object.",
                            comma,
                        );
                        return None;
                    }
                }
                Some(b'}') => break,
                Some(b']') => {
                    self.pos += 1;
                    let at = self.next_range();
                    self.diags.error("Mismatched braces", "An object is closed with a brace, not a bracket.", at);
                    return None;
                }
                None => {
                    let at = self.range(start, start + 1);
                    self.diags.error("Unclosed object", "The closing brace of this object is missing.", at);
                    return None;
                }
                _ => {
                    self.recover(b'}');
                    let at = self.next_range();
                    self.diags.error(
                        "Missing attribute seperator comma",
                        "The properties of an object are separated by commas.",
                        at,
                    );
                    return None;
                }
            }
        }
        self.pos += 1;
        Some(JsonValue { range: self.range(start, self.pos), kind: JsonKind::Object(properties) })
    }

    fn array(&mut self) -> Option<JsonValue> {
        let start = self.pos;
        self.pos += 1;
        let mut items = Vec::new();
        loop {
            self.skip();
            if self.byte() == Some(b']') {
                break;
            }
            let item_start = self.pos;
            let item = match self.value() {
                Some(item) => item,
                None => self.invalid(item_start),
            };
            items.push(item);
            self.skip();
            match self.byte() {
                Some(b',') => {
                    let comma = self.next_range();
                    self.pos += 1;
                    self.skip();
                    if self.byte() == Some(b']') {
                        self.diags.error(
                            "Trailing comma in array",
                            "In JSON no comma may follow the last value of an array.",
                            comma,
                        );
                        return None;
                    }
                }
                Some(b']') => break,
                Some(b'}') => {
                    self.pos += 1;
                    let at = self.next_range();
                    self.diags.error("Mismatched brackets", "An array is closed with a bracket, not a brace.", at);
                    return None;
                }
                None => {
                    let at = self.range(start, start + 1);
                    self.diags.error("Unclosed object", "The closing bracket of this array is missing.", at);
                    return None;
                }
                _ => {
                    self.recover(b']');
                    let at = self.next_range();
                    self.diags.error(
                        "Missing attribute seperator comma",
                        "The values of an array are separated by commas.",
                        at,
                    );
                    return None;
                }
            }
        }
        self.pos += 1;
        Some(JsonValue { range: self.range(start, self.pos), kind: JsonKind::Array(items) })
    }

    /// Goes on until after the closing bracket `end` of what is open now, or after a character that has no meaning.
    fn recover(&mut self, end: u8) {
        let start = if end == b'}' { b'{' } else { b'[' };
        let mut nesting = 0u32;
        while let Some(c) = self.byte() {
            self.pos += 1;
            if c == b'"' {
                while let Some(c) = self.byte() {
                    self.pos += if c == b'\\' { 2 } else { 1 };
                    if matches!(c, b'"' | b'\n') {
                        break;
                    }
                }
            } else if c == start {
                nesting += 1;
            } else if c == end {
                if nesting == 0 {
                    break;
                }
                nesting -= 1;
            } else if !(c.is_ascii_alphanumeric() || c.is_ascii_whitespace() || b"{}[],:.+-".contains(&c)) {
                break;
            }
        }
        self.pos = self.pos.min(self.text.len());
        while !self.text.is_char_boundary(self.pos) {
            self.pos += 1;
        }
    }

    fn number(&mut self) -> JsonKind {
        let start = self.pos;
        while matches!(self.byte(), Some(b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E')) {
            self.pos += 1;
        }
        let text = self.text.get(start..self.pos).unwrap_or_default();
        match Number::parse(text).filter(|_| is_json_number(text)) {
            Some(n) => JsonKind::Number(n),
            None => {
                let at = self.range(start, self.pos);
                self.diags.error("Invalid JSON number", format!("\"{text}\" is not a number in JSON."), at);
                JsonKind::Invalid
            }
        }
    }

    fn keyword(&mut self) -> JsonKind {
        let start = self.pos;
        while self.byte().is_some_and(|c| c.is_ascii_alphanumeric() || c == b'_') {
            self.pos += 1;
        }
        match self.text.get(start..self.pos).unwrap_or_default() {
            "true" => JsonKind::Bool(true),
            "false" => JsonKind::Bool(false),
            "null" => JsonKind::Null,
            word => {
                let hint = crate::lang::suggest::did_you_mean(word, ["true", "false", "null"]);
                let at = self.range(start, self.pos);
                self.diags.error("Invalid JSON keyword", format!("\"{word}\" has no meaning in JSON.{hint}"), at);
                JsonKind::Invalid
            }
        }
    }

    /// A string, the opening quote being next. `None` where it is wrong; it is read to its end all the same.
    fn string(&mut self) -> Option<String> {
        self.pos += 1;
        let mut out = String::new();
        let mut wrong: Option<usize> = None;
        loop {
            let rest: &'a str = self.text.get(self.pos..).unwrap_or_default();
            let plain = rest.find(['"', '\\']).unwrap_or(rest.len());
            let run = rest.get(..plain).unwrap_or_default();
            if let Some(i) = run.find(|c: char| c < ' ') {
                wrong.get_or_insert(self.pos + i);
            }
            out.push_str(run);
            self.pos += plain;
            match self.byte() {
                Some(b'"') => {
                    self.pos += 1;
                    break;
                }
                Some(_) => match self.escape() {
                    Some(c) => out.push(c),
                    None => {
                        wrong.get_or_insert(self.pos);
                    }
                },
                None => {
                    wrong.get_or_insert(self.pos);
                    break;
                }
            }
        }
        let Some(at) = wrong else { return Some(out) };
        let at = self.range(at, self.mistake_end(at));
        self.diags.error(
            "Invalid JSON string",
            "A JSON string ends on its line, and a backslash in it begins one of \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX.",
            at,
        );
        None
    }

    /// An escape sequence, the backslash being next.
    fn escape(&mut self) -> Option<char> {
        self.pos += 1;
        let selector = self.byte()?;
        self.pos = self.after(self.pos);
        Some(match selector {
            b'"' | b'\\' | b'/' => char::from(selector),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let first = self.hex()?;
                if let 0xd800..=0xdbff = first
                    && self.text.get(self.pos..self.pos + 2) == Some("\\u")
                {
                    let before = self.pos;
                    self.pos += 2;
                    let second = self.hex()?;
                    if let 0xdc00..=0xdfff = second {
                        return char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00));
                    }
                    self.pos = before;
                }
                // Half of a pair stands for no character.
                char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            _ => return None,
        })
    }

    fn hex(&mut self) -> Option<u32> {
        let start = self.pos;
        for _ in 0..4 {
            let digit = self.byte();
            self.pos = self.after(self.pos);
            digit.filter(u8::is_ascii_hexdigit)?;
        }
        u32::from_str_radix(self.text.get(start..self.pos)?, 16).ok()
    }
}

/// JSON is stricter than HCL: no leading zeros or plus signs, digits on both sides of a dot.
fn is_json_number(text: &str) -> bool {
    fn digits(s: &str) -> (&str, &str) {
        s.split_at(s.find(|c: char| !c.is_ascii_digit()).unwrap_or(s.len()))
    }
    let (whole, mut rest) = digits(text.strip_prefix('-').unwrap_or(text));
    if whole.is_empty() || (whole.len() > 1 && whole.starts_with('0')) {
        return false;
    }
    if let Some(r) = rest.strip_prefix('.') {
        let (fraction, r) = digits(r);
        if fraction.is_empty() {
            return false;
        }
        rest = r;
    }
    if let Some(r) = rest.strip_prefix(['e', 'E']) {
        let (exponent, r) = digits(r.strip_prefix(['+', '-']).unwrap_or(r));
        if exponent.is_empty() {
            return false;
        }
        rest = r;
    }
    rest.is_empty()
}

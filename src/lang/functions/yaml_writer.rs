//! The text of `yamlencode`: block style, strings in double quotes or, where they have lines, as literal blocks, lines
//! folded beyond 80 characters. The layout is that of libyaml, which Terraform's encoder descends from.

use gpuform_schema::value::Value;
use std::fmt::Write;

/// A document with a value, which must be wholly known and unmarked.
pub(super) fn document(value: &Value) -> String {
    let mut w = Writer { out: String::new(), column: 0, after_space: true, only_indicators: true };
    w.node(value, None, Place::Root);
    if w.column > 0 {
        w.line_end();
    }
    // The end of a scalar without quotes is marked, since more lines could belong to it.
    if matches!(value, Value::Null(_) | Value::Bool(_) | Value::Number(_)) {
        w.out.push_str("...\n");
    }
    w.out
}

/// How far collections and blocks are indented.
const INDENT: usize = 2;
/// Lines are folded at the first space after this many characters.
const WIDTH: usize = 80;
/// Longer keys are written with `?` in front.
const MAX_SIMPLE_KEY: usize = 128;

#[derive(Clone, Copy, PartialEq)]
enum Place {
    Root,
    Item,
    SimpleKey,
    Key,
    MappingValue,
}

struct Writer {
    out: String,
    /// Characters on the current line.
    column: usize,
    /// Whether the last thing written was white space.
    after_space: bool,
    /// Whether the line has only spaces and indicators (`-`, `?`, `:`) so far.
    only_indicators: bool,
}

impl Writer {
    fn put(&mut self, c: char) {
        self.out.push(c);
        self.column += 1;
    }

    fn line_end(&mut self) {
        self.out.push('\n');
        self.column = 0;
    }

    /// Goes to a column, on a new line unless this one has nothing but indicators before it.
    fn indent(&mut self, indent: usize) {
        if !self.only_indicators || self.column > indent || (self.column == indent && !self.after_space) {
            self.line_end();
        }
        while self.column < indent {
            self.put(' ');
        }
        self.after_space = true;
        self.only_indicators = true;
    }

    /// Writes a token, with a space before it where there is none; `starts_line` says that what follows may count as
    /// being at the start of the line.
    fn token(&mut self, token: &str, starts_line: bool) {
        if !self.after_space {
            self.put(' ');
        }
        token.chars().for_each(|c| self.put(c));
        self.after_space = false;
        self.only_indicators &= starts_line;
    }

    /// Writes a value; `indent` is that of the collection around it.
    fn node(&mut self, value: &Value, indent: Option<usize>, place: Place) {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || match value {
            Value::Null(_) => self.token("null", false),
            Value::Bool(b) => self.token(if *b { "true" } else { "false" }, false),
            Value::Number(n) => self.token(&n.to_string(), false),
            Value::String(s) => self.string(s, indent.map_or(INDENT, |i| i + INDENT), place),
            Value::Map(_) | Value::Object(_) => match value.entries() {
                Some(entries) if entries.len() > 0 => self.mapping(entries, indent),
                _ => self.token("{}", false),
            },
            value => match value.items() {
                Some(items) if !items.is_empty() => self.sequence(items, indent, place),
                _ => self.token("[]", false),
            },
        });
    }

    fn sequence(&mut self, items: &[Value], indent: Option<usize>, place: Place) {
        // In a mapping the items are not indented, unless they follow the indicator of the value on its line.
        let flush = place == Place::MappingValue && !self.only_indicators;
        let indent = indent.map_or(0, |i| if flush { i } else { i + INDENT });
        for item in items {
            self.indent(indent);
            self.token("-", true);
            self.node(item, Some(indent), Place::Item);
        }
    }

    fn mapping<'a>(
        &mut self,
        entries: impl Iterator<Item = (&'a std::sync::Arc<str>, &'a Value)>,
        indent: Option<usize>,
    ) {
        let indent = indent.map_or(0, |i| i + INDENT);
        for (key, value) in entries {
            self.indent(indent);
            if key.chars().any(is_break) || key.len() > MAX_SIMPLE_KEY {
                self.token("?", true);
                self.string(key, indent + INDENT, Place::Key);
                self.indent(indent);
                self.token(":", true);
            } else {
                self.string(key, indent + INDENT, Place::SimpleKey);
                self.put(':');
                self.after_space = false;
                self.only_indicators = false;
            }
            self.node(value, Some(indent), Place::MappingValue);
        }
    }

    fn string(&mut self, s: &str, indent: usize, place: Place) {
        if s.contains('\n') && place != Place::SimpleKey && fits_block(s) {
            self.literal(s, indent);
        } else {
            self.quoted(s, indent, place != Place::SimpleKey);
        }
    }

    fn literal(&mut self, s: &str, indent: usize) {
        self.token("|", false);
        if s.starts_with(|c| c == ' ' || is_break(c)) {
            // The first line does not tell where the block begins.
            let _ = write!(self.out, "{INDENT}");
        }
        let mut end = s.chars().rev();
        match (end.next().is_some_and(is_break), end.next()) {
            (false, _) => self.out.push('-'),
            (true, before) if before.is_none_or(is_break) => self.out.push('+'),
            _ => {}
        }
        self.line_end();
        let mut line_start = true;
        for c in s.chars() {
            if is_break(c) {
                self.out.push(c);
                self.column = 0;
                line_start = true;
            } else {
                if std::mem::take(&mut line_start) {
                    (0..indent).for_each(|_| self.put(' '));
                }
                self.put(c);
            }
        }
        self.after_space = line_start;
        self.only_indicators = line_start;
    }

    fn quoted(&mut self, s: &str, indent: usize, fold: bool) {
        self.token("\"", false);
        let mut after_space = false;
        let mut chars = s.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            if c == ' ' {
                let inside = at > 0 && at + 1 < s.len();
                if fold && !after_space && self.column > WIDTH && inside {
                    self.only_indicators = false;
                    self.indent(indent);
                    if chars.peek().is_some_and(|(_, next)| *next == ' ') {
                        self.put('\\');
                    }
                } else {
                    self.put(' ');
                }
                after_space = true;
                continue;
            }
            after_space = false;
            if is_printable(c) && !is_break(c) && !matches!(c, '"' | '\\') {
                self.put(c);
                continue;
            }
            let before = self.out.len();
            let _ = match escape(c) {
                Some(letter) => write!(self.out, "\\{letter}"),
                None if (c as u32) <= 0xff => write!(self.out, "\\x{:02X}", c as u32),
                None if (c as u32) <= 0xffff => write!(self.out, "\\u{:04X}", c as u32),
                None => write!(self.out, "\\U{:08X}", c as u32),
            };
            self.column += self.out.len() - before;
        }
        self.put('"');
        self.after_space = false;
        self.only_indicators = false;
    }
}

/// Whether a string can be a literal block: nothing that needs an escape, no spaces at the end of a line.
fn fits_block(s: &str) -> bool {
    let mut after_space = false;
    for c in s.chars() {
        if !is_printable(c) || (is_break(c) && after_space) {
            return false;
        }
        after_space = c == ' ';
    }
    !after_space
}

fn is_break(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn is_printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}') && c != '\u{feff}'
}

fn escape(c: char) -> Option<char> {
    Some(match c {
        '\0' => '0',
        '\u{7}' => 'a',
        '\u{8}' => 'b',
        '\t' => 't',
        '\n' => 'n',
        '\u{b}' => 'v',
        '\u{c}' => 'f',
        '\r' => 'r',
        '\u{1b}' => 'e',
        '"' => '"',
        '\\' => '\\',
        '\u{85}' => 'N',
        '\u{a0}' => '_',
        '\u{2028}' => 'L',
        '\u{2029}' => 'P',
        _ => return None,
    })
}

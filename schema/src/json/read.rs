//! Reading JSON text token by token, as Go's `encoding/json` does: numbers stay text (they may be longer than any
//! machine number), lone surrogates and invalid UTF-8 become U+FFFD, errors tell the line and column. serde_json does
//! neither of the first two. Knows nothing of values and types.

use crate::codec::{CodecError, MAX_DEPTH};
use std::borrow::Cow;

/// A position in JSON text.
#[derive(Clone)]
pub(super) struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

/// What a value starts with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Null,
    Bool,
    Number,
    String,
    Array,
    Object,
}

impl<'a> Reader<'a> {
    pub fn new(text: &'a [u8]) -> Self {
        Reader { text, at: 0 }
    }

    /// An error at the current position.
    pub fn error(&self, message: impl std::fmt::Display) -> CodecError {
        let before = self.text.get(..self.at).unwrap_or(self.text);
        let line = before.iter().filter(|b| **b == b'\n').count() + 1;
        let start = before.iter().rposition(|b| *b == b'\n').map_or(0, |i| i + 1);
        let column = String::from_utf8_lossy(before.get(start..).unwrap_or_default()).chars().count() + 1;
        CodecError::new(format!("{message} (line {line}, column {column})"))
    }

    fn unexpected(&self, wanted: &str) -> CodecError {
        match self.text.get(self.at..).unwrap_or_default() {
            [] => self.error(format_args!("the JSON text ends where {wanted} should be")),
            rest => {
                let c = String::from_utf8_lossy(rest.get(..4).unwrap_or(rest)).chars().next().unwrap_or('\u{fffd}');
                self.error(format_args!("{c:?} where {wanted} should be"))
            }
        }
    }

    fn byte(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// The next byte that is not white space.
    fn peek(&mut self) -> Option<u8> {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.byte() {
            self.at += 1;
        }
        self.byte()
    }

    fn take(&mut self, byte: u8, wanted: &str) -> Result<(), CodecError> {
        if self.peek() != Some(byte) {
            return Err(self.unexpected(wanted));
        }
        self.at += 1;
        Ok(())
    }

    /// What comes next.
    pub fn kind(&mut self) -> Result<Kind, CodecError> {
        Ok(match self.peek() {
            Some(b'n') => Kind::Null,
            Some(b't' | b'f') => Kind::Bool,
            Some(b'-' | b'0'..=b'9') => Kind::Number,
            Some(b'"') => Kind::String,
            Some(b'[') => Kind::Array,
            Some(b'{') => Kind::Object,
            _ => return Err(self.unexpected("a value")),
        })
    }

    fn word(&mut self, word: &str) -> Result<(), CodecError> {
        if !self.text.get(self.at..).unwrap_or_default().starts_with(word.as_bytes()) {
            return Err(self.unexpected("a value"));
        }
        self.at += word.len();
        Ok(())
    }

    pub fn null(&mut self) -> Result<(), CodecError> {
        self.word("null")
    }

    pub fn bool(&mut self) -> Result<bool, CodecError> {
        let value = self.byte() == Some(b't');
        self.word(if value { "true" } else { "false" })?;
        Ok(value)
    }

    /// The text of a number.
    pub fn number(&mut self) -> Result<&'a str, CodecError> {
        let start = self.at;
        self.skip_if(b"-");
        if self.byte() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.skip_if(b".") {
            self.digits()?;
        }
        if self.skip_if(b"eE") {
            self.skip_if(b"+-");
            self.digits()?;
        }
        let text = self.text.get(start..self.at).unwrap_or_default();
        std::str::from_utf8(text).map_err(|_| self.unexpected("a number"))
    }

    fn skip_if(&mut self, any: &[u8]) -> bool {
        let found = self.byte().is_some_and(|b| any.contains(&b));
        self.at += usize::from(found);
        found
    }

    fn digits(&mut self) -> Result<(), CodecError> {
        let start = self.at;
        while self.byte().is_some_and(|b| b.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at == start { Err(self.unexpected("a digit")) } else { Ok(()) }
    }

    /// A string, its escapes resolved.
    pub fn string(&mut self) -> Result<Cow<'a, str>, CodecError> {
        self.take(b'"', "a string")?;
        let plain = self.plain();
        if self.byte() == Some(b'"') {
            self.at += 1;
            return Ok(String::from_utf8_lossy(plain));
        }
        let mut out = String::from_utf8_lossy(plain).into_owned();
        loop {
            match self.byte() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(Cow::Owned(out));
                }
                Some(b'\\') => {
                    self.at += 1;
                    out.push(self.escape()?);
                }
                Some(..0x20) => return Err(self.unexpected("an escape of this control character")),
                Some(_) => out.push_str(&String::from_utf8_lossy(self.plain())),
                None => return Err(self.unexpected("the end of a string")),
            }
        }
    }

    /// The bytes up to the next quote, backslash or control character.
    fn plain(&mut self) -> &'a [u8] {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let len = rest.iter().position(|b| matches!(b, b'"' | b'\\' | ..0x20)).unwrap_or(rest.len());
        self.at += len;
        rest.get(..len).unwrap_or_default()
    }

    fn escape(&mut self) -> Result<char, CodecError> {
        let c = match self.byte() {
            Some(c @ (b'"' | b'\\' | b'/')) => char::from(c),
            Some(b'b') => '\x08',
            Some(b'f') => '\x0c',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                return self.unicode_escape();
            }
            _ => return Err(self.unexpected("an escape such as \\n or \\u00e9")),
        };
        self.at += 1;
        Ok(c)
    }

    /// After `\u`: one code point, perhaps of two escapes.
    fn unicode_escape(&mut self) -> Result<char, CodecError> {
        let first = self.hex4()?;
        if let 0xd800..0xdc00 = first
            && self.text.get(self.at..).is_some_and(|rest| rest.starts_with(b"\\u"))
        {
            let after_first = self.at;
            self.at += 2;
            let second = self.hex4()?;
            if let 0xdc00..0xe000 = second {
                let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                return Ok(char::from_u32(code).unwrap_or('\u{fffd}'));
            }
            self.at = after_first;
        }
        Ok(char::from_u32(first).unwrap_or('\u{fffd}'))
    }

    fn hex4(&mut self) -> Result<u32, CodecError> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.byte().and_then(|b| char::from(b).to_digit(16));
            code = code * 16 + digit.ok_or_else(|| self.unexpected("a hexadecimal digit"))?;
            self.at += 1;
        }
        Ok(code)
    }

    /// The start of an array; then ask [`Reader::element`] before each element.
    pub fn array(&mut self) -> Result<(), CodecError> {
        self.take(b'[', "an array")
    }

    /// Whether another element follows, moving to it; `first` is true the first time.
    pub fn element(&mut self, first: bool) -> Result<bool, CodecError> {
        self.more(first, b']', "',' or ']'")
    }

    /// The start of an object; then ask [`Reader::key`] before each value.
    pub fn object(&mut self) -> Result<(), CodecError> {
        self.take(b'{', "an object")
    }

    /// The key of the next member, moving to its value; `None` at the end. `first` is true the first time.
    pub fn key(&mut self, first: bool) -> Result<Option<Cow<'a, str>>, CodecError> {
        if !self.more(first, b'}', "',' or '}'")? {
            return Ok(None);
        }
        if self.peek() != Some(b'"') {
            return Err(self.unexpected("a quoted key"));
        }
        let key = self.string()?;
        self.take(b':', "':'")?;
        Ok(Some(key))
    }

    fn more(&mut self, first: bool, close: u8, wanted: &str) -> Result<bool, CodecError> {
        match self.peek() {
            Some(b) if b == close => {
                self.at += 1;
                Ok(false)
            }
            _ if first => Ok(true),
            Some(b',') => {
                self.at += 1;
                Ok(true)
            }
            _ => Err(self.unexpected(wanted)),
        }
    }

    /// Skips a value.
    pub fn skip(&mut self, depth: usize) -> Result<(), CodecError> {
        if depth > MAX_DEPTH {
            return Err(CodecError::too_deep());
        }
        match self.kind()? {
            Kind::Null => self.null(),
            Kind::Bool => self.bool().map(drop),
            Kind::Number => self.number().map(drop),
            Kind::String => self.string().map(drop),
            Kind::Array => {
                self.array()?;
                let mut first = true;
                while self.element(first)? {
                    first = false;
                    self.skip(depth + 1)?;
                }
                Ok(())
            }
            Kind::Object => {
                self.object()?;
                let mut first = true;
                while self.key(first)?.is_some() {
                    first = false;
                    self.skip(depth + 1)?;
                }
                Ok(())
            }
        }
    }

    /// Checks that only white space is left.
    pub fn end(&mut self) -> Result<(), CodecError> {
        if self.peek().is_some() { Err(self.unexpected("the end of the JSON text")) } else { Ok(()) }
    }
}

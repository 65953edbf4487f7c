//! The scanner: text to tokens, in one pass over the whole text. Templates are scanned in modes that nest, as quotes,
//! heredocs and `${…}` do. Characters that belong to no token are reported here; the parser only sees that they are
//! not what it wants. Comments are tokens only for those who ask for them (`format`).

use crate::diag::{Diagnostics, FileId, Range};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::lang) enum T {
    OBrace,
    CBrace,
    OBrack,
    CBrack,
    OParen,
    CParen,
    /// The opening quote of a template.
    OQuote,
    CQuote,
    /// `<<NAME` or `<<-NAME` with its line end.
    OHeredoc,
    /// The line of the end marker, without its line end.
    CHeredoc,
    Star,
    Slash,
    Plus,
    Minus,
    Percent,
    EqualEqual,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    And,
    Or,
    Bang,
    Equal,
    Dot,
    Comma,
    Question,
    Colon,
    ColonColon,
    FatArrow,
    Ellipsis,
    /// `${` or `${~`
    Interpolation,
    /// `%{` or `%{~`
    Directive,
    /// `}` or `~}` at the end of either.
    SequenceEnd,
    /// Literal text in quotes, escapes not decoded.
    QuotedText,
    /// Literal text in a heredoc, at most one line.
    HeredocText,
    Number,
    Ident,
    Newline,
    /// Only in `with_comments`. A comment to the end of the line has that line end in it.
    Comment,
    /// Something that is in no valid text; already reported.
    Invalid,
    End,
}

#[derive(Clone, Copy, Debug)]
pub(in crate::lang) struct Token {
    pub kind: T,
    pub start: u32,
    pub end: u32,
}

/// What the text is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::lang) enum Start {
    /// A body or an expression.
    Normal,
    /// A template without quotes around it.
    Template,
}

/// Stands for each byte of a file that is not UTF-8 (see `super::decode`).
pub(in crate::lang) const BAD_BYTE: char = '\u{1a}';

pub(in crate::lang) fn is_ident_start(c: char) -> bool {
    c == '_' || c.is_ascii_alphabetic() || (!c.is_ascii() && unicode_ident::is_xid_start(c))
}

pub(in crate::lang) fn is_ident_continue(c: char) -> bool {
    c == '_' || c == '-' || c.is_ascii_alphanumeric() || (!c.is_ascii() && unicode_ident::is_xid_continue(c))
}

enum Mode<'a> {
    /// Between `${` or `%{` and its end; counts the braces opened since.
    Sequence {
        braces: u32,
    },
    Quoted,
    Heredoc {
        marker: &'a str,
    },
    /// A template that ends with the text.
    Bare,
}

struct Scanner<'a, 'd> {
    text: &'a str,
    pos: usize,
    file: FileId,
    base: usize,
    modes: Vec<Mode<'a>>,
    comments: bool,
    tokens: Vec<Token>,
    diags: &'d mut Diagnostics,
    told: Told,
}

/// How often each kind of bad character was reported: one slip of a whole file deserves one message, not hundreds.
#[derive(Default)]
struct Told {
    bitwise: u32,
    backtick: u32,
    apostrophe: u32,
    semicolon: u32,
    encoding: u32,
}

/// Scans `text`, which begins at byte `base` of the file. The last token is always `End`.
pub(in crate::lang) fn scan(
    text: &str,
    file: FileId,
    base: usize,
    start: Start,
    diags: &mut Diagnostics,
) -> Vec<Token> {
    let modes = if start == Start::Template { vec![Mode::Bare] } else { Vec::new() };
    Scanner::new(text, file, base, modes, diags).run()
}

/// Scans a file that was parsed before without errors, and keeps its comments.
pub(in crate::lang) fn with_comments(text: &str) -> Vec<Token> {
    let mut scanner_diags = Diagnostics::new();
    let mut s = Scanner::new(text, FileId(0), 0, Vec::new(), &mut scanner_diags);
    s.comments = true;
    s.run()
}

impl<'a, 'd> Scanner<'a, 'd> {
    fn new(text: &'a str, file: FileId, base: usize, modes: Vec<Mode<'a>>, diags: &'d mut Diagnostics) -> Self {
        let tokens = Vec::with_capacity(text.len() / 6 + 1);
        let pos = if modes.is_empty() && text.starts_with('\u{feff}') { 3 } else { 0 };
        Scanner { text, pos, file, base, modes, comments: false, tokens, diags, told: Told::default() }
    }

    fn run(mut self) -> Vec<Token> {
        while self.pos < self.text.len() {
            match self.modes.last() {
                Some(Mode::Quoted) => self.quoted(),
                Some(Mode::Heredoc { marker }) => {
                    let marker = *marker;
                    self.heredoc(marker);
                }
                Some(Mode::Bare) => self.bare(),
                _ => self.normal(),
            }
        }
        let end = self.text.len();
        self.push(T::End, end, end);
        self.tokens
    }

    fn push(&mut self, kind: T, start: usize, end: usize) {
        self.tokens.push(Token { kind, start: start as u32, end: end as u32 });
    }

    /// Adds the token of `len` bytes at the current position and steps over it.
    fn take(&mut self, kind: T, len: usize) {
        self.push(kind, self.pos, self.pos + len);
        self.pos += len;
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.pos..).unwrap_or_default()
    }

    fn byte(&self, at: usize) -> u8 {
        self.text.as_bytes().get(at).copied().unwrap_or(0)
    }

    fn range(&self, start: usize, end: usize) -> Range {
        Range::new(self.file, self.base + start, self.base + end)
    }

    /// Length of a line end at `at`, 0 where there is none.
    fn line_end(&self, at: usize) -> usize {
        match (self.byte(at), self.byte(at + 1)) {
            (b'\n', _) => 1,
            (b'\r', b'\n') => 2,
            _ => 0,
        }
    }

    fn normal(&mut self) {
        let next = self.byte(self.pos + 1);
        match self.byte(self.pos) {
            b' ' | b'\t' => self.pos += 1,
            b'\n' => self.take(T::Newline, 1),
            b'\r' if next == b'\n' => self.take(T::Newline, 2),
            b'#' => self.line_comment(),
            b'/' if next == b'/' => self.line_comment(),
            b'/' if next == b'*' => match self.rest().get(2..).and_then(|r| r.find("*/")) {
                Some(i) => self.comment(i + 4),
                None => self.take(T::Slash, 1),
            },
            b'/' => self.take(T::Slash, 1),
            b'0'..=b'9' => self.number(),
            b'"' => {
                self.take(T::OQuote, 1);
                self.modes.push(Mode::Quoted);
            }
            b'{' => {
                if let Some(Mode::Sequence { braces }) = self.modes.last_mut() {
                    *braces += 1;
                }
                self.take(T::OBrace, 1);
            }
            b'}' => match self.modes.last_mut() {
                Some(Mode::Sequence { braces: 0 }) => self.sequence_end(1),
                Some(Mode::Sequence { braces }) => {
                    *braces -= 1;
                    self.take(T::CBrace, 1);
                }
                _ => self.take(T::CBrace, 1),
            },
            b'~' if next == b'}' => match self.modes.last() {
                Some(Mode::Sequence { braces: 0 }) => self.sequence_end(2),
                _ => self.take(T::SequenceEnd, 2),
            },
            b'[' => self.take(T::OBrack, 1),
            b']' => self.take(T::CBrack, 1),
            b'(' => self.take(T::OParen, 1),
            b')' => self.take(T::CParen, 1),
            b',' => self.take(T::Comma, 1),
            b'?' => self.take(T::Question, 1),
            b'+' => self.take(T::Plus, 1),
            b'-' => self.take(T::Minus, 1),
            b'%' => self.take(T::Percent, 1),
            b'.' if self.rest().starts_with("...") => self.take(T::Ellipsis, 3),
            b'.' => self.take(T::Dot, 1),
            b':' if next == b':' => self.take(T::ColonColon, 2),
            b':' => self.take(T::Colon, 1),
            b'=' if next == b'=' => self.take(T::EqualEqual, 2),
            b'=' if next == b'>' => self.take(T::FatArrow, 2),
            b'=' => self.take(T::Equal, 1),
            b'!' if next == b'=' => self.take(T::NotEqual, 2),
            b'!' => self.take(T::Bang, 1),
            b'>' if next == b'=' => self.take(T::GreaterEqual, 2),
            b'>' => self.take(T::Greater, 1),
            b'<' if next == b'=' => self.take(T::LessEqual, 2),
            b'<' if next == b'<' && self.heredoc_start() => {}
            b'<' => self.take(T::Less, 1),
            b'&' if next == b'&' => self.take(T::And, 2),
            b'|' if next == b'|' => self.take(T::Or, 2),
            b'*' => self.take(T::Star, 1),
            _ => {
                let rest = self.rest();
                let c = rest.chars().next().unwrap_or_default();
                if is_ident_start(c) {
                    let len = rest.find(|c| !is_ident_continue(c)).unwrap_or(rest.len());
                    self.take(T::Ident, len);
                } else {
                    self.invalid(c.len_utf8());
                }
            }
        }
    }

    /// A comment counts as part of its line end, unless comments are wanted as tokens of their own.
    fn line_comment(&mut self) {
        let rest = self.rest();
        match rest.find('\n') {
            Some(line) => self.take(if self.comments { T::Comment } else { T::Newline }, line + 1),
            None => self.comment(rest.len()),
        }
    }

    fn comment(&mut self, len: usize) {
        if self.comments { self.take(T::Comment, len) } else { self.pos += len }
    }

    /// Digits with dots and exponents in any number; whether they make a number is the parser's question. A final
    /// dot is left alone (`1...`).
    fn number(&mut self) {
        let mut end = self.pos;
        let mut i = self.pos;
        loop {
            match self.byte(i) {
                b'0'..=b'9' => {
                    i += 1;
                    end = i;
                }
                b'.' => i += 1,
                b'e' | b'E' => {
                    let sign = usize::from(matches!(self.byte(i + 1), b'+' | b'-'));
                    if !self.byte(i + 1 + sign).is_ascii_digit() {
                        break;
                    }
                    i += sign + 1;
                }
                _ => break,
            }
        }
        self.take(T::Number, end - self.pos);
    }

    fn sequence_end(&mut self, len: usize) {
        self.take(T::SequenceEnd, len);
        self.modes.pop();
    }

    /// `<<NAME`, a line end; nothing else may stand on the line.
    fn heredoc_start(&mut self) -> bool {
        let name = self.pos + 2 + usize::from(self.byte(self.pos + 2) == b'-');
        let rest = self.text.get(name..).unwrap_or_default();
        if !rest.starts_with(is_ident_start) {
            return false;
        }
        let len = rest.find(|c| !is_ident_continue(c)).unwrap_or(rest.len());
        let line_end = self.line_end(name + len);
        if line_end == 0 {
            return false;
        }
        self.take(T::OHeredoc, name + len + line_end - self.pos);
        self.modes.push(Mode::Heredoc { marker: rest.get(..len).unwrap_or_default() });
        true
    }

    /// The token that begins `${` or `%{` at `at`, if one does.
    fn sequence_start(&self, at: usize) -> Option<(T, usize)> {
        let kind = match self.byte(at) {
            b'$' => T::Interpolation,
            b'%' => T::Directive,
            _ => return None,
        };
        if self.byte(at + 1) != b'{' {
            return None;
        }
        Some((kind, if self.byte(at + 2) == b'~' { 3 } else { 2 }))
    }

    /// Length of `$${` or `%%{` at `at`, else 0.
    fn escaped_start(&self, at: usize) -> usize {
        let b = self.byte(at);
        if matches!(b, b'$' | b'%') && self.byte(at + 1) == b && self.byte(at + 2) == b'{' { 3 } else { 0 }
    }

    fn begin_sequence(&mut self, kind: T, len: usize) {
        self.take(kind, len);
        self.modes.push(Mode::Sequence { braces: 0 });
    }

    fn quoted(&mut self) {
        let mut i = self.pos;
        loop {
            i += self.plain(i);
            let escaped = self.escaped_start(i);
            if escaped > 0 {
                i += escaped;
                continue;
            }
            if i >= self.text.len()
                || self.line_end(i) > 0
                || self.sequence_start(i).is_some()
                || matches!(self.byte(i), b'"' | BAD)
            {
                break;
            }
            // The character after a backslash is part of the text even if it is a quote.
            let escape = self.byte(i) == b'\\' && self.line_end(i + 1) == 0 && i + 1 < self.text.len();
            i += if escape { 1 + self.char_len(i + 1) } else { self.char_len(i) };
        }
        if i > self.pos {
            self.take(T::QuotedText, i - self.pos);
        } else if self.byte(i) == b'"' {
            self.take(T::CQuote, 1);
            self.modes.pop();
        } else if self.byte(i) == BAD {
            self.invalid(1);
        } else if let Some((kind, len)) = self.sequence_start(i) {
            self.begin_sequence(kind, len);
        } else {
            let len = self.line_end(i);
            self.diags.error(
                "Invalid multi-line string",
                "A quoted string ends on the line where it begins. Write \\n for a line break in it, or use a heredoc \
                 (<<EOT) for text of several lines.",
                self.range(i, i + len),
            );
            self.take(T::Invalid, len);
        }
    }

    /// How many bytes at `at` are text and nothing else, also in templates: texts may be long.
    fn plain(&self, at: usize) -> usize {
        let special = |b: &u8| matches!(*b, b'"' | b'\\' | b'$' | b'%' | b'\r' | b'\n' | BAD);
        let rest = self.text.as_bytes().get(at..).unwrap_or_default();
        rest.iter().position(special).unwrap_or(rest.len())
    }

    fn char_len(&self, at: usize) -> usize {
        self.text.get(at..).and_then(|r| r.chars().next()).map_or(1, char::len_utf8)
    }

    /// End of the literal text at the current position: before a sequence or bad byte, or after a line end.
    fn text_end(&self) -> usize {
        let mut i = self.pos;
        loop {
            i += self.plain(i);
            if i >= self.text.len() {
                break;
            }
            let escaped = self.escaped_start(i);
            if escaped > 0 {
                i += escaped;
            } else if self.byte(i) == b'\n' {
                return i + 1;
            } else if self.sequence_start(i).is_some() || self.byte(i) == BAD {
                break;
            } else {
                i += 1;
            }
        }
        i
    }

    fn heredoc(&mut self, marker: &str) {
        let end = self.text_end();
        let text = self.text.get(self.pos..end).unwrap_or_default();
        let line_start = self.pos == 0 || self.byte(self.pos - 1) == b'\n';
        if line_start && text.ends_with('\n') && text.trim() == marker {
            let len = text.trim_end_matches('\n').trim_end_matches('\r').len();
            self.take(T::CHeredoc, len);
            self.modes.pop();
        } else if end > self.pos {
            self.take(T::HeredocText, end - self.pos);
        } else if let Some((kind, len)) = self.sequence_start(self.pos) {
            self.begin_sequence(kind, len);
        } else {
            self.invalid(1);
        }
    }

    fn bare(&mut self) {
        let end = self.text_end();
        if end > self.pos {
            self.take(T::HeredocText, end - self.pos);
        } else if let Some((kind, len)) = self.sequence_start(self.pos) {
            self.begin_sequence(kind, len);
        } else {
            self.invalid(1);
        }
    }

    /// Reports what no token begins with.
    fn invalid(&mut self, len: usize) {
        let range = self.range(self.pos, self.pos + len);
        let what = self.rest().get(..len).unwrap_or_default();
        let told = &mut self.told;
        let (count, limit) = match what {
            "&" | "|" | "^" | "~" => (&mut told.bitwise, 4),
            "`" => (&mut told.backtick, 4),
            "'" => (&mut told.apostrophe, 4),
            ";" => (&mut told.semicolon, 1),
            "\u{1a}" => (&mut told.encoding, 1),
            _ => (&mut 0, 1),
        };
        *count += 1;
        let count = *count;
        // Quotes come in pairs: the opening one stands for both.
        let paired = matches!(what, "`" | "'") && count % 2 == 0;
        if count <= limit && !paired {
            let (summary, detail) = match what {
                "&" => ("Unsupported operator", "There are no operators on bits. For a boolean AND write \"&&\"."),
                "|" => ("Unsupported operator", "There are no operators on bits. For a boolean OR write \"||\"."),
                "~" => ("Unsupported operator", "There are no operators on bits. For a boolean NOT write \"!\"."),
                "^" => ("Unsupported operator", "There are no operators on bits."),
                "`" => (
                    "Invalid character",
                    "A backquote has no meaning here. Text of several lines is written as a heredoc, which begins \
                     with <<EOT.",
                ),
                "'" => ("Invalid character", "Strings are written in double quotes (\"), not in single quotes."),
                ";" => (
                    "Invalid character",
                    "A semicolon has no meaning here. Arguments and blocks end with their line; items of a list or \
                     object are separated by commas.",
                ),
                "\u{1a}" => (
                    "Invalid character encoding",
                    "The file is not encoded as UTF-8 here. Save it as UTF-8 in your editor.",
                ),
                "\u{201c}" | "\u{201d}" => (
                    "Invalid character",
                    "Typographic quotes do not delimit strings; they often get in when text is copied from a document. \
                     Replace them with straight quotes (\").",
                ),
                _ => ("Invalid character", "This character has no meaning in the language."),
            };
            self.diags.error(summary, detail, range);
        }
        self.take(T::Invalid, len);
    }
}

const BAD: u8 = BAD_BYTE as u8;

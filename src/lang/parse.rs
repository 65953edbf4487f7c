//! The parser of the native syntax: text to syntax trees, with the exact range of every node. One pass over the tokens
//! of `scan`, by recursive descent; after a mistake it finds the next argument or block and carries on, so that a file
//! tells as much as it can in one go. What names mean is not decided here (`resolve`).

mod body;
mod expr;
pub(super) mod scan;
mod template;

use super::syntax::{Expr, ExprKind, NativeBody, TemplatePart};
use crate::diag::{Diagnostics, FileId, Range};
use scan::{Start, T, Token};
use std::borrow::Cow;

/// How deeply expressions, templates and blocks may nest. Nobody writes this; the limit keeps every later walk over
/// the tree within its stack.
pub const MAX_NESTING: u32 = 200;

/// How many operators may follow each other without parentheses (each makes the tree one level deeper).
pub const MAX_OPERATORS: u32 = 1000;

/// How many splat operators may follow one term.
const MAX_SPLATS: u32 = 50;

/// How many errors of one text are told. A file with more of them is surely no configuration.
const MAX_ERRORS: usize = 50;

/// Parses a file. Where the text is wrong, errors are added and the body holds what could be understood, with
/// unknown values in place of broken expressions.
pub fn parse_file(text: &str, file: FileId, diags: &mut Diagnostics) -> NativeBody {
    let mut found = Diagnostics::new();
    let body = Parser::new(text, file, 0, Start::Normal, &mut found).file();
    let more = found.len() > MAX_ERRORS;
    diags.extend(found.into_iter().take(MAX_ERRORS));
    if more {
        let detail = format!("Only the first {MAX_ERRORS} syntax errors of this file are shown.");
        diags.error("Too many errors", detail, Range::new(file, 0, 0));
    }
    body
}

/// Parses one expression that makes up the whole text, which begins at byte `offset` of the file.
///
/// # Errors
/// Everything that is wrong with it.
pub fn parse_expression(text: &str, file: FileId, offset: u32) -> Result<Expr, Diagnostics> {
    let mut diags = Diagnostics::new();
    let mut p = Parser::new(text, file, offset as usize, Start::Normal, &mut diags);
    p.newlines.push(false);
    let expr = p.expression();
    p.expect_end();
    if diags.has_errors() { Err(diags) } else { Ok(expr) }
}

/// Parses a template without quotes around it: the content of a template file or of a string in JSON syntax. The text
/// begins at byte `offset` of the file.
///
/// # Errors
/// Everything that is wrong with it.
pub fn parse_template(text: &str, file: FileId, offset: u32) -> Result<Expr, Diagnostics> {
    let mut diags = Diagnostics::new();
    let mut p = Parser::new(text, file, offset as usize, Start::Template, &mut diags);
    let expr = p.bare_template();
    if diags.has_errors() { Err(diags) } else { Ok(expr) }
}

/// Makes text of a file's bytes. Bytes that are not UTF-8 are replaced one by one by a character that the parser
/// reports, so that offsets stay true.
pub fn decode(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        out.extend(chunk.invalid().iter().map(|_| scan::BAD_BYTE));
    }
    Cow::Owned(out)
}

/// Whether a name may be used as an identifier in the language.
pub fn is_identifier(name: &str) -> bool {
    name.starts_with(scan::is_ident_start) && name.chars().all(scan::is_ident_continue)
}

/// Parsing state. The parser is `recovering` from its first syntax error on: what follows an error is often misread,
/// so most later complaints about syntax are withheld until the first one is mended.
struct Parser<'a, 'd> {
    text: &'a str,
    file: FileId,
    base: usize,
    tokens: Vec<Token>,
    pos: usize,
    /// The last token read.
    previous: Token,
    /// Whether line ends count, for each open bracket; outside of all brackets they do.
    newlines: Vec<bool>,
    recovering: bool,
    depth: u32,
    /// Nesting went beyond its limit; of what is left out for that nothing is said.
    too_deep: bool,
    diags: &'d mut Diagnostics,
}

/// The expression holds a mistake (already reported); where the parser stands in the tokens is uncertain.
struct Broken;

type Parsed<T> = Result<T, Broken>;

impl<'a, 'd> Parser<'a, 'd> {
    fn new(text: &'a str, file: FileId, base: usize, start: Start, diags: &'d mut Diagnostics) -> Self {
        let tokens = scan::scan(text, file, base, start, diags);
        let previous = Token { kind: T::Newline, start: 0, end: 0 };
        let newlines = Vec::new();
        Parser {
            text,
            file,
            base,
            tokens,
            pos: 0,
            previous,
            newlines,
            recovering: false,
            depth: 0,
            too_deep: false,
            diags,
        }
    }

    fn range(&self, t: Token) -> Range {
        Range::new(self.file, self.base + t.start as usize, self.base + t.end as usize)
    }

    fn text(&self, t: Token) -> &'a str {
        self.text.get(t.start as usize..t.end as usize).unwrap_or_default()
    }

    /// The next token that counts, without reading it.
    fn peek(&mut self) -> Token {
        let skip = self.newlines.last() == Some(&false);
        loop {
            match self.tokens.get(self.pos) {
                Some(t) if t.kind == T::Newline && skip => self.pos += 1,
                Some(t) => return *t,
                None => {
                    let end = self.text.len() as u32;
                    return Token { kind: T::End, start: end, end };
                }
            }
        }
    }

    fn read(&mut self) -> Token {
        let t = self.peek();
        if t.kind != T::End {
            self.pos += 1;
        }
        self.previous = t;
        t
    }

    fn next_is(&mut self, kind: T) -> bool {
        self.peek().kind == kind
    }

    /// Whether the next token is this word.
    fn next_is_word(&mut self, word: &str) -> bool {
        let t = self.peek();
        t.kind == T::Ident && self.text(t) == word
    }

    /// Reports a syntax error, unless one was reported before.
    fn error(&mut self, summary: &str, detail: impl Into<String>, at: Range) {
        if !self.recovering {
            self.diags.error(summary, detail, at);
        }
        self.recovering = true;
    }

    /// Reports a syntax error that does not depend on what was read before.
    fn certain_error(&mut self, summary: &str, detail: impl Into<String>, at: Range) {
        self.diags.error(summary, detail, at);
        self.recovering = true;
    }

    /// Runs `parse` with line ends counting or not.
    fn with_newlines<R>(&mut self, count: bool, parse: impl FnOnce(&mut Self) -> R) -> R {
        self.newlines.push(count);
        let r = parse(self);
        self.newlines.pop();
        r
    }

    /// Runs `parse` one level deeper; too deep is an error.
    fn nested<R>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<R>) -> Parsed<R> {
        if self.depth >= MAX_NESTING {
            self.too_deep = true;
            let at = self.peek();
            let at = self.range(at);
            self.error(
                "Nesting too deep",
                format!("Expressions and blocks may be nested at most {MAX_NESTING} levels deep."),
                at,
            );
            return Err(Broken);
        }
        self.depth += 1;
        let r = parse(self);
        self.depth -= 1;
        r
    }

    /// Reads on until after the closing token `end` of the bracket that is open now.
    fn recover(&mut self, end: T) -> Token {
        self.recovering = true;
        let mut nesting = 0u32;
        loop {
            let t = self.read();
            if t.kind == end {
                if nesting == 0 {
                    return t;
                }
                nesting -= 1;
            } else if opens(end, t.kind) {
                nesting += 1;
            } else if t.kind == T::End {
                return t;
            }
        }
    }

    /// Reads on until after the end of the line, brackets that open on the way included.
    fn recover_after_item(&mut self) {
        self.recovering = true;
        let depth = self.newlines.len();
        self.newlines.push(true);
        let mut open: Vec<T> = Vec::new();
        loop {
            let t = self.read();
            match t.kind {
                T::Newline if open.is_empty() => break,
                T::End => break,
                T::OBrace | T::OBrack | T::OParen | T::OQuote | T::OHeredoc | T::Interpolation | T::Directive => {
                    open.push(t.kind);
                }
                T::CBrace | T::CBrack | T::CParen | T::CQuote | T::CHeredoc | T::SequenceEnd => {
                    while open.pop().is_some_and(|o| !opens(t.kind, o)) {}
                }
                _ => {}
            }
        }
        self.newlines.truncate(depth);
    }

    /// The whole text must have been read.
    fn expect_end(&mut self) {
        let t = self.peek();
        if t.kind != T::End {
            let at = self.range(t);
            self.error("Extra characters after expression", "The expression is complete before this.", at);
        }
    }
}

/// Whether `open` is an opening token for the closing token `close`.
fn opens(close: T, open: T) -> bool {
    matches!(
        (close, open),
        (T::CBrace, T::OBrace)
            | (T::CBrack, T::OBrack)
            | (T::CParen, T::OParen)
            | (T::CQuote, T::OQuote)
            | (T::CHeredoc, T::OHeredoc)
            | (T::SequenceEnd, T::Interpolation | T::Directive)
    )
}

/// The expression of a template: literal text becomes a plain string.
fn template_expr(parts: Vec<TemplatePart>, range: Range) -> Expr {
    let kind = match parts.as_slice() {
        [] => ExprKind::Literal(gpuform_schema::Value::string("")),
        [TemplatePart::Text(s)] => ExprKind::Literal(gpuform_schema::Value::String(s.clone())),
        _ => ExprKind::Template(parts.into()),
    };
    Expr { range, kind }
}

#[cfg(test)]
mod oracle;
#[cfg(test)]
mod tests;

//! Templates: quoted strings, heredocs, template files. The tokens are first read into a flat list of parts, on which
//! trimming (`~`) and the indentation of `<<-` heredocs work; then directives are nested.

use super::scan::{T, Token};
use super::{Broken, Parsed, Parser, opens, template_expr};
use crate::diag::Range;
use crate::lang::syntax::{Expr, Label, TemplatePart};
use gpuform_schema::Str;
use gpuform_schema::value::nfc;
use unicode_segmentation::UnicodeSegmentation;

enum Part {
    Text(String),
    Interpolation(Expr),
    If(Expr, Range),
    Else(Range),
    EndIf(Range),
    For { key: Option<Str>, value: Str, collection: Expr, range: Range },
    EndFor(Range),
}

impl Parser<'_, '_> {
    /// A quoted template or a heredoc.
    pub(super) fn template(&mut self) -> Parsed<Expr> {
        let open = self.read();
        let (close, flush) = match open.kind {
            T::OHeredoc => (T::CHeredoc, self.text(open).starts_with("<<-")),
            _ => (T::CQuote, false),
        };
        let mut parts = self.parts(close)?;
        if flush {
            strip_indentation(&mut parts);
        }
        let range = self.range(open).to(self.range(self.previous));
        let parts = self.nest(parts)?;
        Ok(template_expr(parts, range))
    }

    /// A template that makes up the whole text.
    pub(super) fn bare_template(&mut self) -> Expr {
        let range = Range::new(self.file, self.base, self.base + self.text.len());
        let parts = self.parts(T::End).and_then(|parts| self.nest(parts));
        template_expr(parts.unwrap_or_default(), range)
    }

    /// Parts up to the closing token, which is read.
    fn parts(&mut self, close: T) -> Parsed<Vec<Part>> {
        // Line ends within the template are text.
        let depth = self.newlines.len();
        self.newlines.push(true);
        let r = self.parts_inner(close);
        self.newlines.truncate(depth);
        r
    }

    fn parts_inner(&mut self, close: T) -> Parsed<Vec<Part>> {
        let mut parts = Vec::new();
        let mut trim_next = false;
        let mut broken = false;
        loop {
            let token = self.read();
            if token.kind == close {
                break;
            }
            let trim = std::mem::take(&mut trim_next);
            match token.kind {
                T::QuotedText | T::HeredocText => {
                    let mut text = self.literal(token);
                    if trim {
                        text.drain(..text.len() - text.trim_start().len());
                    }
                    parts.push(Part::Text(text));
                }
                T::Interpolation | T::Directive => {
                    if self.text(token).ends_with('~')
                        && let Some(Part::Text(text)) = parts.last_mut()
                    {
                        text.truncate(text.trim_end().len());
                    }
                    let part = self.nested(|p| p.with_newlines(false, |p| p.sequence(token, close)));
                    match part {
                        Ok(part) => parts.push(part),
                        Err(Broken) => broken = true,
                    }
                    trim_next = self.previous.kind == T::SequenceEnd && self.text(self.previous).starts_with('~');
                }
                T::End => {
                    let at = self.range(token);
                    self.error("Unterminated template string", unterminated(close), at);
                    return Err(Broken);
                }
                _ => {
                    let at = self.range(token);
                    self.error("Unterminated template string", unterminated(close), at);
                    self.recover(close);
                    return Err(Broken);
                }
            }
        }
        if broken { Err(Broken) } else { Ok(parts) }
    }

    /// `${…}` or `%{…}`, whose opening token was read; reads its end.
    fn sequence(&mut self, open: Token, close: T) -> Parsed<Part> {
        let r = match open.kind {
            T::Interpolation => self.interpolation(open, close),
            _ => self.directive(open),
        };
        if r.is_err() && self.previous.kind != T::SequenceEnd {
            self.recover(T::SequenceEnd);
        }
        r
    }

    fn interpolation(&mut self, open: Token, close: T) -> Parsed<Part> {
        let expr = self.try_expression()?;
        let end = self.peek();
        match end.kind {
            T::SequenceEnd => {
                self.read();
                return Ok(Part::Interpolation(expr));
            }
            T::End => {
                let at = self.range(open);
                self.error("Unclosed template interpolation sequence", "The closing brace is missing.", at);
            }
            T::OQuote | T::CQuote if close == T::CQuote => {
                let at = self.range(open);
                self.error(
                    "Unclosed template interpolation sequence",
                    "The closing brace is missing before the end of the string.",
                    at,
                );
            }
            T::Colon => {
                let at = self.range(end);
                self.error(
                    "Extra characters after interpolation expression",
                    "There is no meaning to a colon here. If the text is meant for another program, write \"$${\" in \
                     place of \"${\".",
                    at,
                );
            }
            _ => {
                let at = self.range(end);
                self.error(
                    "Extra characters after interpolation expression",
                    "The closing brace of the interpolation was expected here.",
                    at,
                );
            }
        }
        Err(Broken)
    }

    fn directive(&mut self, open: Token) -> Parsed<Part> {
        let keyword = self.peek();
        let at = self.range(keyword);
        if keyword.kind != T::Ident {
            self.error("Invalid template directive", "One of the words if, else, endif, for, endfor must follow.", at);
            return Err(Broken);
        }
        self.read();
        let begin = self.range(open);
        let word = self.text(keyword);
        let mut part = match word {
            "if" => Part::If(self.try_expression()?, begin),
            "else" => Part::Else(begin),
            "endif" => Part::EndIf(begin),
            "endfor" => Part::EndFor(begin),
            "for" => {
                let (key, value) = match self.for_variables() {
                    Ok(names) => names,
                    Err((detail, at)) => {
                        self.error("Invalid 'for' directive", detail, at);
                        return Err(Broken);
                    }
                };
                Part::For { key, value, collection: self.try_expression()?, range: begin }
            }
            _ => {
                let hint = crate::lang::suggest::did_you_mean(word, ["if", "else", "endif", "for", "endfor"]);
                self.error("Invalid template control keyword", format!("There is no directive \"{word}\".{hint}"), at);
                return Err(Broken);
            }
        };
        let end = self.peek();
        if end.kind != T::SequenceEnd {
            let at = self.range(end);
            self.error(
                &format!("Extra characters in {word} marker"),
                "The closing brace of the directive was expected here.",
                at,
            );
            return Err(Broken);
        }
        self.read();
        let whole = begin.to(self.range(end));
        match &mut part {
            Part::If(_, r) | Part::Else(r) | Part::EndIf(r) | Part::EndFor(r) | Part::For { range: r, .. } => {
                *r = whole
            }
            Part::Text(_) | Part::Interpolation(_) => {}
        }
        Ok(part)
    }

    /// The text of a literal token with escapes decoded.
    fn literal(&mut self, token: Token) -> String {
        let raw = self.text(token);
        let quoted = token.kind == T::QuotedText;
        if !raw.contains(['$', '%']) && !(quoted && raw.contains('\\')) {
            return raw.to_owned();
        }
        let mut out = String::with_capacity(raw.len());
        let mut rest = raw;
        while let Some(c) = rest.chars().next() {
            let (text, used) = match c {
                '\\' if quoted => self.escape(rest, token.end as usize - rest.len()),
                '$' | '%' if rest.get(1..).is_some_and(|r| r.starts_with(c) && r.get(1..2) == Some("{")) => {
                    (rest.get(1..3).unwrap_or_default().chars().next(), 2)
                }
                c => (Some(c), c.len_utf8()),
            };
            out.extend(text);
            rest = rest.get(used..).unwrap_or_default();
        }
        out
    }

    /// Decodes the escape sequence that `rest` (at byte `at` of the text) begins with.
    fn escape(&mut self, rest: &str, at: usize) -> (Option<char>, usize) {
        let range = |p: &Self, len: usize| Range::new(p.file, p.base + at, p.base + at + len);
        let Some(selector) = rest.chars().nth(1) else {
            let r = range(self, 1);
            self.certain_error("Invalid escape sequence", "A character must follow the backslash.", r);
            return (None, 1);
        };
        let digits = match selector {
            'n' => return (Some('\n'), 2),
            'r' => return (Some('\r'), 2),
            't' => return (Some('\t'), 2),
            '"' | '\\' => return (Some(selector), 2),
            'u' => 4,
            'U' => 8,
            _ => {
                let len = 1 + selector.len_utf8();
                let r = range(self, len);
                self.certain_error(
                    "Invalid escape sequence",
                    format!("\"\\{selector}\" is not an escape sequence. For a backslash in the text write two."),
                    r,
                );
                return (None, len);
            }
        };
        let hex: String = rest.chars().skip(2).take(digits).take_while(char::is_ascii_hexdigit).collect();
        let len = 2 + hex.len();
        if hex.len() < digits {
            let r = range(self, len);
            self.certain_error(
                "Invalid escape sequence",
                format!("\"\\{selector}\" is followed by {digits} hexadecimal digits."),
                r,
            );
            return (None, len);
        }
        let c = u32::from_str_radix(&hex, 16).ok().and_then(char::from_u32);
        if c.is_none() {
            let r = range(self, len);
            self.certain_error("Invalid escape sequence", format!("There is no character with the code {hex}."), r);
        }
        (c, len)
    }

    /// A quoted string without templates, such as a block label; up to the closing quote.
    pub(super) fn plain_string(&mut self) -> Label {
        let open = self.read();
        let mut text = String::new();
        loop {
            let token = self.read();
            match token.kind {
                T::CQuote => break,
                T::QuotedText => text.push_str(&self.literal(token)),
                T::Interpolation | T::Directive => {
                    let at = self.range(token);
                    let sign = self.text(token).get(..1).unwrap_or_default();
                    self.certain_error(
                        "Invalid string literal",
                        format!("No templates are possible in this string. For a literal \"{sign}{{\" write \"{sign}{sign}{{\"."),
                        at,
                    );
                    text.push_str(if sign == "$" { "${ ... }" } else { "%{ ... }" });
                    self.recover(T::SequenceEnd);
                }
                _ => {
                    let at = self.range(token);
                    self.error("Invalid string literal", "The string ends with its line, by a closing quote.", at);
                    if token.kind != T::End {
                        self.recover(T::CQuote);
                    }
                    break;
                }
            }
        }
        let range = self.range(open).to(self.range(self.previous));
        Label { text: nfc(&text), range }
    }

    /// Nests directives.
    fn nest(&mut self, parts: Vec<Part>) -> Parsed<Vec<TemplatePart>> {
        let mut parts = parts.into_iter();
        let (out, stop) = self.nest_until(&mut parts)?;
        match stop {
            None => Ok(out),
            Some(Part::Else(r)) => self.misplaced("else", "an if directive", r),
            Some(Part::EndIf(r)) => self.misplaced("endif", "an if directive", r),
            Some(Part::EndFor(r)) => self.misplaced("endfor", "a for directive", r),
            Some(_) => Ok(out),
        }
    }

    fn misplaced<R>(&mut self, word: &str, of: &str, at: Range) -> Parsed<R> {
        self.error(&format!("Unexpected {word} directive"), format!("It does not belong to {of} here."), at);
        Err(Broken)
    }

    /// Parts up to an `else`, `endif` or `endfor`, which is returned too.
    fn nest_until(&mut self, parts: &mut std::vec::IntoIter<Part>) -> Parsed<(Vec<TemplatePart>, Option<Part>)> {
        let mut out: Vec<TemplatePart> = Vec::new();
        let mut text = String::new();
        loop {
            let part = parts.next();
            if let Some(Part::Text(t)) = &part {
                text.push_str(t);
                continue;
            }
            if !text.is_empty() {
                out.push(TemplatePart::Text(nfc(&text)));
                text.clear();
            }
            match part {
                Some(Part::Interpolation(e)) => out.push(TemplatePart::Interpolation(e)),
                Some(Part::If(condition, range)) => {
                    let (then, mut stop) = self.nested(|p| p.nest_until(parts))?;
                    let mut otherwise = Vec::new();
                    if let Some(Part::Else(_)) = stop {
                        (otherwise, stop) = self.nested(|p| p.nest_until(parts))?;
                    }
                    match stop {
                        Some(Part::EndIf(end)) => out.push(TemplatePart::If {
                            condition,
                            then: then.into(),
                            otherwise: otherwise.into(),
                            range: range.to(end),
                        }),
                        stop => return self.not_closed("if", range, stop),
                    }
                }
                Some(Part::For { key, value, collection, range }) => {
                    let (body, stop) = self.nested(|p| p.nest_until(parts))?;
                    match stop {
                        Some(Part::EndFor(end)) => out.push(TemplatePart::For {
                            key,
                            value,
                            collection,
                            body: body.into(),
                            range: range.to(end),
                        }),
                        stop => return self.not_closed("for", range, stop),
                    }
                }
                stop => return Ok((out, stop)),
            }
        }
    }

    fn not_closed<R>(&mut self, word: &str, begin: Range, stop: Option<Part>) -> Parsed<R> {
        match stop {
            Some(Part::Else(r)) if word == "for" => self.misplaced("else", "an if directive", r),
            Some(Part::Else(r)) => {
                self.error("Unexpected else directive", "The if directive has an else already.", r);
                Err(Broken)
            }
            Some(Part::EndIf(r)) => self.misplaced("endif", "an if directive", r),
            Some(Part::EndFor(r)) => self.misplaced("endfor", "a for directive", r),
            _ => {
                self.error(
                    "Unexpected end of template",
                    format!("The {word} directive is not closed by an end{word} directive."),
                    begin,
                );
                Err(Broken)
            }
        }
    }
}

fn unterminated(close: T) -> &'static str {
    if opens(close, T::OHeredoc) {
        "The end marker of the heredoc was not found; it stands on a line of its own."
    } else {
        "The closing quote of the string was not found."
    }
}

/// Removes the indentation that all lines of a `<<-` heredoc share. Lines of blanks alone do not count and stay.
fn strip_indentation(parts: &mut [Part]) {
    let mut least = usize::MAX;
    let mut line_start = true;
    let mut starts: Vec<usize> = Vec::new();
    for (i, part) in parts.iter().enumerate() {
        let text = match part {
            Part::Text(t) => Some(t),
            _ => None,
        };
        if line_start {
            line_start = false;
            match text {
                Some(t) if t.trim_start().is_empty() && t.ends_with('\n') => {}
                Some(t) => {
                    let blank = t.get(..t.len() - t.trim_start().len()).unwrap_or_default();
                    least = least.min(blank.graphemes(true).count());
                    starts.push(i);
                }
                None => least = 0,
            }
        }
        line_start = line_start || text.is_some_and(|t| t.ends_with('\n'));
    }
    for i in starts {
        if let Some(Part::Text(t)) = parts.get_mut(i) {
            let cut = t.grapheme_indices(true).nth(least).map_or(t.len(), |(at, _)| at);
            t.drain(..cut);
        }
    }
}

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
        let (mut parts, whole) = self.parts(close);
        if flush {
            strip_indentation(&mut parts);
        }
        let range = self.range(open).to(self.range(self.previous));
        let parts = self.nest(parts);
        if whole { Ok(template_expr(parts, range)) } else { Err(Broken) }
    }

    /// A template that makes up the whole text.
    pub(super) fn bare_template(&mut self) -> Expr {
        let range = Range::new(self.file, self.base, self.base + self.text.len());
        let (parts, _) = self.parts(T::End);
        template_expr(self.nest(parts), range)
    }

    /// Parts up to the closing token, which is read, and whether all of them could be understood.
    fn parts(&mut self, close: T) -> (Vec<Part>, bool) {
        // Line ends within the template are text.
        let depth = self.newlines.len();
        self.newlines.push(true);
        let mut parts = Vec::new();
        let whole = self.read_parts(close, &mut parts);
        self.newlines.truncate(depth);
        (parts, whole)
    }

    fn read_parts(&mut self, close: T, parts: &mut Vec<Part>) -> bool {
        let mut trim_next = false;
        let mut whole = true;
        let first = self.peek();
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
                    let read =
                        self.nested(|p| p.with_newlines(false, |p| Ok(p.sequence(token, (first, close), parts))));
                    whole &= matches!(read, Ok(true));
                    trim_next = self.previous.kind == T::SequenceEnd && self.text(self.previous).starts_with('~');
                }
                T::End => {
                    let at = self.range(token);
                    self.error("Unterminated template string", unterminated(close), at);
                    return false;
                }
                _ => {
                    let at = self.range(token);
                    self.error("Unterminated template string", unterminated(close), at);
                    self.recover(close);
                    return false;
                }
            }
        }
        whole
    }

    /// `${…}` or `%{…}`, whose opening token was read; reads its end. Whether all of it could be understood; a
    /// directive counts in any case, for the sake of the one that ends it.
    fn sequence(&mut self, open: Token, around: (Token, T), parts: &mut Vec<Part>) -> bool {
        let read = match open.kind {
            T::Interpolation => self.interpolation(around).map(|part| parts.push(part)),
            _ => self.directive(open, parts),
        };
        if read.is_err() && self.previous.kind != T::SequenceEnd {
            self.recover(T::SequenceEnd);
        }
        read.is_ok()
    }

    /// `around` is the first token of the template and the one that would close it.
    fn interpolation(&mut self, (first, close): (Token, T)) -> Parsed<Part> {
        let expr = self.try_expression()?;
        let end = self.peek();
        match end.kind {
            T::SequenceEnd => {
                self.read();
                return Ok(Part::Interpolation(expr));
            }
            T::End => {
                let at = self.range(first);
                self.error("Unclosed template interpolation sequence", "The closing brace is missing.", at);
            }
            T::OQuote | T::CQuote if close == T::CQuote => {
                let at = self.range(first);
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

    fn directive(&mut self, open: Token, parts: &mut Vec<Part>) -> Parsed<()> {
        let keyword = self.peek();
        let at = self.range(keyword);
        if keyword.kind != T::Ident {
            self.error("Invalid template directive", "One of the words if, else, endif, for, endfor must follow.", at);
            return Err(Broken);
        }
        self.read();
        let begin = self.range(open);
        let word = self.text(keyword);
        let mut read = Ok(());
        let part = match word {
            "if" => Part::If(self.directive_expression(&mut read), begin),
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
                Part::For { key, value, collection: self.directive_expression(&mut read), range: begin }
            }
            _ => {
                let hint = crate::lang::suggest::did_you_mean(word, ["if", "else", "endif", "for", "endfor"]);
                let detail = format!("There is no directive \"{word}\".{hint}");
                self.error("Invalid template control keyword", detail, at);
                return Err(Broken);
            }
        };
        parts.push(part);
        read?;
        let end = self.peek();
        if end.kind != T::SequenceEnd {
            let at = self.range(end);
            let detail = "The closing brace of the directive was expected here.";
            self.error(&format!("Extra characters in {word} marker"), detail, at);
            return Err(Broken);
        }
        self.read();
        let whole = begin.to(self.range(end));
        if let Some(Part::If(_, r) | Part::Else(r) | Part::EndIf(r) | Part::EndFor(r) | Part::For { range: r, .. }) =
            parts.last_mut()
        {
            *r = whole;
        }
        Ok(())
    }

    /// An expression in a directive; in place of a broken one an unknown value.
    fn directive_expression(&mut self, read: &mut Parsed<()>) -> Expr {
        let start = self.peek();
        self.try_expression().unwrap_or_else(|Broken| {
            *read = Err(Broken);
            super::expr::unknown(self.range(start))
        })
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
            self.diags.error("Invalid escape sequence", "A character must follow the backslash.", r);
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
                self.diags.error(
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
            self.diags.error(
                "Invalid escape sequence",
                format!("\"\\{selector}\" is followed by {digits} hexadecimal digits."),
                r,
            );
            return (None, len);
        }
        let c = u32::from_str_radix(&hex, 16).ok().and_then(char::from_u32);
        if c.is_none() {
            let r = range(self, len);
            self.diags.error("Invalid escape sequence", format!("There is no character with the code {hex}."), r);
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
                T::End => {
                    let at = self.range(token);
                    self.diags.error("Unterminated string literal", "The closing quote is missing.", at);
                    break;
                }
                _ => {
                    let at = self.range(token);
                    let detail = "The string ends with its line, by a closing quote.";
                    self.certain_error("Invalid string literal", detail, at);
                    self.recover(T::CQuote);
                    return Label { text: nfc(&text), range: self.range(open).to(at) };
                }
            }
        }
        let range = self.range(open).to(self.range(self.previous));
        Label { text: nfc(&text), range }
    }

    /// Nests directives. What does not belong where it stands is reported and left out.
    fn nest(&mut self, parts: Vec<Part>) -> Vec<TemplatePart> {
        let alone = parts.len() == 1;
        let mut parts = parts.into_iter();
        let mut all = Vec::new();
        loop {
            let (found, stop) = self.nest_until(&mut parts);
            all.extend(found);
            match stop {
                None => break,
                Some(stop) => self.misplaced(stop),
            }
        }
        // A text of which trimming left nothing still makes a string of the template.
        if !alone && matches!(all[..], [TemplatePart::Interpolation(_)]) {
            all.push(TemplatePart::Text(nfc("")));
        }
        all
    }

    /// Parts up to an `else`, `endif` or `endfor`, which is returned too.
    fn nest_until(&mut self, parts: &mut std::vec::IntoIter<Part>) -> (Vec<TemplatePart>, Option<Stop>) {
        let mut out: Vec<TemplatePart> = Vec::new();
        let mut text: Option<String> = None;
        loop {
            let part = parts.next();
            if let Some(Part::Text(t)) = &part {
                text.get_or_insert_default().push_str(t);
                continue;
            }
            // Text of which `~` has left nothing counts: with it the template is not a lone interpolation.
            if let Some(text) = text.take() {
                out.push(TemplatePart::Text(nfc(&text)));
            }
            match part {
                None => return (out, None),
                Some(Part::Text(_)) => {}
                Some(Part::Interpolation(e)) => out.push(TemplatePart::Interpolation(e)),
                Some(Part::If(condition, range)) => out.extend(self.conditional(condition, range, parts)),
                Some(Part::For { key, value, collection, range }) => {
                    let (body, stop) = self.nest_deeper(parts);
                    if let Some(Stop { word: "endfor", range: end }) = stop {
                        let body = body.into();
                        out.push(TemplatePart::For { key, value, collection, body, range: range.to(end) });
                    } else {
                        self.not_closed("for", stop);
                    }
                }
                Some(Part::Else(range)) => return (out, Some(Stop { word: "else", range })),
                Some(Part::EndIf(range)) => return (out, Some(Stop { word: "endif", range })),
                Some(Part::EndFor(range)) => return (out, Some(Stop { word: "endfor", range })),
            }
        }
    }

    fn nest_deeper(&mut self, parts: &mut std::vec::IntoIter<Part>) -> (Vec<TemplatePart>, Option<Stop>) {
        let nested = self.nested(|p| Ok(p.nest_until(parts)));
        // Too deep, which was reported: nothing more is said of this template.
        nested.unwrap_or_else(|Broken| {
            parts.by_ref().for_each(drop);
            (Vec::new(), None)
        })
    }

    fn conditional(
        &mut self,
        condition: Expr,
        range: Range,
        parts: &mut std::vec::IntoIter<Part>,
    ) -> Option<TemplatePart> {
        let (then, mut stop) = self.nest_deeper(parts);
        let mut otherwise = Vec::new();
        if let Some(Stop { word: "else", .. }) = stop {
            (otherwise, stop) = self.nest_deeper(parts);
        }
        let Some(Stop { word: "endif", range: end }) = stop else {
            self.not_closed("if", stop);
            return None;
        };
        let (then, otherwise) = (then.into(), otherwise.into());
        Some(TemplatePart::If { condition, then, otherwise, range: range.to(end) })
    }

    fn misplaced(&mut self, stop: Stop) {
        let Stop { word, range } = stop;
        let detail = format!("There is no directive that an {word} could belong to here.");
        self.diags.error(format!("Unexpected {word} directive"), detail, range);
    }

    /// A directive ends in the wrong way, or not at all.
    fn not_closed(&mut self, word: &str, stop: Option<Stop>) {
        match stop {
            Some(stop) => self.misplaced(stop),
            None if self.too_deep => {}
            None => {
                let end = self.range(self.previous);
                let detail = format!("The {word} directive is not closed by an end{word} directive.");
                self.diags.error("Unexpected end of template", detail, end);
            }
        }
    }
}

/// A directive that ends what is before it.
struct Stop {
    word: &'static str,
    range: Range,
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

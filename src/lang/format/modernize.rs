//! Outdated notations and their successors: `"${x}"` becomes `x`, quoted and incomplete types of variables are spelled
//! out, labels of blocks get quotes. The syntax tree says where such a thing may stand; only tokens are changed.

use super::Piece;
use super::layout::nesting;
use crate::diag::Range;
use crate::lang::parse::scan::{T, Token};
use crate::lang::render::is_visible;
use crate::lang::syntax::{Block, Body, Label, NativeBody};
use std::fmt::Write as _;

/// A part of the file that may have to be written differently.
struct Site<'s> {
    range: Range,
    kind: Kind<'s>,
}

enum Kind<'s> {
    Value,
    /// The type of a variable.
    Type,
    Labels(&'s [Label]),
}

/// The file's tokens with outdated notations replaced; spaces are not set, except before the end of the file.
pub(super) fn pieces<'a>(text: &'a str, tokens: &[Token], body: &NativeBody) -> Vec<Piece<'a>> {
    let mut sites = Vec::new();
    collect(body, None, true, &mut sites);
    sites.sort_by_key(|s| s.range.start);
    let piece = |t: &Token| Piece::new(t.kind, text.get(t.start as usize..t.end as usize).unwrap_or_default());
    let mut out: Vec<Piece<'a>> = Vec::with_capacity(tokens.len() + 16);
    let mut rest = tokens;
    for site in sites {
        let (before, after) = rest.split_at(rest.partition_point(|t| t.start < site.range.start));
        let (inside, after) = after.split_at(after.partition_point(|t| t.end <= site.range.end));
        rest = after;
        out.extend(before.iter().map(piece));
        let inside: Vec<Piece<'a>> = inside.iter().map(piece).collect();
        out.extend(match site.kind {
            Kind::Value => unwrapped(inside, rest.first().is_some_and(|t| t.kind == T::Newline)),
            Kind::Type => full_type(inside),
            Kind::Labels(labels) => quoted(labels),
        });
    }
    out.extend(rest.iter().map(piece));
    keep_final_spaces(tokens, &mut out);
    out
}

/// Spaces after the last line end of a file stay.
fn keep_final_spaces(tokens: &[Token], pieces: &mut [Piece]) {
    if let ([.., last, end], Some(piece)) = (tokens, pieces.last_mut()) {
        piece.spaces = (end.start - last.end) as usize;
    } else if let ([end], Some(piece)) = (tokens, pieces.last_mut()) {
        piece.spaces = end.start as usize;
    }
}

fn collect<'s>(body: &'s NativeBody, block: Option<&Block>, top: bool, sites: &mut Vec<Site<'s>>) {
    let variable = top && block.is_some_and(|b| &*b.ty == "variable");
    for attribute in &body.attributes {
        let kind = if variable && &*attribute.name == "type" { Kind::Type } else { Kind::Value };
        sites.push(Site { range: attribute.expr.range, kind });
    }
    for inner in &body.blocks {
        if let (Some(first), Some(last)) = (inner.labels.first(), inner.labels.last()) {
            // Comments among the labels go.
            let range = Range { start: inner.ty_range.end, ..first.range.to(last.range) };
            sites.push(Site { range, kind: Kind::Labels(&inner.labels) });
        }
        if let Body::Native(native) = &inner.body {
            crate::lang::deep(|| collect(native, Some(inner), block.is_none(), sites));
        }
    }
}

/// `"${x}"` as `x`: a template that is nothing but one interpolation. In parentheses where it has several lines.
/// `ends_line` says that nothing comes after it on its line, which a heredoc needs.
fn unwrapped(value: Vec<Piece>, ends_line: bool) -> Vec<Piece> {
    let Some(inside) = interpolated(&value) else { return value };
    let is_break = |p: &Piece| p.kind == T::Newline;
    let start = inside.iter().position(|p| !is_break(p)).unwrap_or(inside.len());
    let end = inside.iter().rposition(|p| !is_break(p)).map_or(start, |i| i + 1);
    let inside = inside.get(start..end).unwrap_or_default();
    let (last, others) = match inside.split_last() {
        Some(split) => split,
        None => return value,
    };
    if last.kind == T::CHeredoc && !ends_line {
        return value;
    }
    let several_lines = others.iter().any(is_break) || breaks_at_comment(others);
    let parenthesized = inside.first().is_some_and(|p| p.kind == T::OParen) && last.kind == T::CParen;
    let mut out = inside.to_vec();
    if several_lines && !parenthesized {
        out.insert(0, Piece::new(T::OParen, "("));
        out.push(Piece::new(T::CParen, ")"));
    }
    out
}

/// Whether a comment ends a line outside of all brackets.
fn breaks_at_comment(pieces: &[Piece]) -> bool {
    let mut depth = 0;
    pieces.iter().any(|p| {
        depth += nesting(p.kind);
        depth == 0 && p.is_line_comment()
    })
}

/// The tokens between `"${` and `}"`, if these belong together and nothing else is in the template.
fn interpolated<'p, 'a>(value: &'p [Piece<'a>]) -> Option<&'p [Piece<'a>]> {
    let [open, begin, inside @ .., end, close] = value else { return None };
    if [open.kind, begin.kind, end.kind, close.kind] != [T::OQuote, T::Interpolation, T::SequenceEnd, T::CQuote] {
        return None;
    }
    let mut quotes = 0_usize;
    for piece in inside {
        match piece.kind {
            T::OQuote => quotes += 1,
            T::CQuote => quotes = quotes.saturating_sub(1),
            T::Interpolation | T::SequenceEnd | T::QuotedText if quotes == 0 => return None,
            _ => {}
        }
    }
    Some(inside)
}

/// A type in full: `list` is `list(any)`, and `"list"` as of old is `list(string)`.
fn full_type(value: Vec<Piece>) -> Vec<Piece> {
    let (collection, element) = match value.as_slice() {
        [Piece { kind: T::Ident, text, .. }] if matches!(&**text, "list" | "map" | "set") => (text.clone(), "any"),
        [open, name, close]
            if [open.kind, name.kind, close.kind] == [T::OQuote, T::QuotedText, T::CQuote]
                && matches!(&*name.text, "string" | "list" | "map") =>
        {
            (name.text.clone(), "string")
        }
        _ => return value,
    };
    if collection == "string" {
        return vec![Piece::new(T::Ident, collection)];
    }
    vec![
        Piece::new(T::Ident, collection),
        Piece::new(T::OParen, "("),
        Piece::new(T::Ident, element),
        Piece::new(T::CParen, ")"),
    ]
}

fn quoted<'a>(labels: &[Label]) -> Vec<Piece<'a>> {
    let mut out = Vec::with_capacity(labels.len() * 3);
    for label in labels {
        out.push(Piece::new(T::OQuote, "\""));
        if !label.text.is_empty() {
            out.push(Piece::new(T::QuotedText, escaped(&label.text)));
        }
        out.push(Piece::new(T::CQuote, "\""));
    }
    out
}

/// A text as it is written between quotes.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '$' | '%' if chars.peek() == Some(&'{') => out.extend([c, c]),
            c if is_visible(c) => out.push(c),
            c if u32::from(c) < 0x1_0000 => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => {
                let _ = write!(out, "\\U{:08x}", u32::from(c));
            }
        }
    }
    out
}

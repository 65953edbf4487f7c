//! Where tokens stand: indentation by the brackets that are open, one space or none between neighbours, and columns
//! for the equals signs and comments of lines that follow each other. The rules are those of Terraform's formatter,
//! found by trying.

use super::Piece;
use crate::lang::parse::scan::T;
use unicode_segmentation::UnicodeSegmentation;

/// A line in its three columns: `NAME`, `= VALUE`, `# COMMENT`. Only values that are complete on their line are in the
/// second one; a heredoc counts as one line.
struct Line<'t, 'a> {
    lead: &'t mut [Piece<'a>],
    value: &'t mut [Piece<'a>],
    comment: Option<&'t mut Piece<'a>>,
}

/// Sets the spaces before every token but the end of the file.
pub(super) fn lay_out(pieces: &mut [Piece<'_>]) {
    let [pieces @ .., _end] = pieces else { return };
    let mut lines: Vec<Line> = pieces.split_inclusive_mut(ends_line).map(columns).collect();
    indent(&mut lines);
    for line in &mut lines {
        space(line.lead);
        space(line.value);
    }
    align_values(&mut lines);
    align_comments(&mut lines);
}

fn ends_line(piece: &Piece) -> bool {
    piece.kind == T::Newline || (piece.is_line_comment() && piece.text.ends_with('\n'))
}

/// What a token adds to the number of open brackets.
pub(super) fn nesting(kind: T) -> isize {
    match kind {
        T::OBrace | T::OBrack | T::OParen | T::Interpolation | T::Directive => 1,
        T::CBrace | T::CBrack | T::CParen | T::SequenceEnd => -1,
        _ => 0,
    }
}

fn columns<'t, 'a>(line: &'t mut [Piece<'a>]) -> Line<'t, 'a> {
    let commented = line.len() > 1 && line.last().is_some_and(|p| p.kind == T::Comment);
    let (rest, comment) = line.split_at_mut(line.len() - usize::from(commented));
    let (lead, value) = rest.split_at_mut(value_start(rest).unwrap_or(rest.len()));
    Line { lead, value, comment: comment.first_mut() }
}

/// Where the equals sign is, if a value follows it that is complete on this line.
fn value_start(line: &[Piece]) -> Option<usize> {
    let equals = line.iter().skip(1).position(|p| p.kind == T::Equal)? + 1;
    let open: isize = line.iter().skip(equals).map(|p| nesting(p.kind)).sum();
    (open == 0).then_some(equals)
}

/// Indents each line by two spaces for every earlier line that left brackets open. However many brackets a line opens,
/// the next ones are indented by one step; the step ends with the line that closes the last of them.
fn indent(lines: &mut [Line]) {
    let mut steps: Vec<isize> = Vec::new();
    for line in lines {
        let net = opened(line.lead) + opened(line.value);
        let mut closed = -net;
        while closed > 0 {
            let Some(open) = steps.last_mut() else { break };
            if closed < *open {
                *open -= closed;
                break;
            }
            closed -= *open;
            steps.pop();
        }
        if let Some(first) = line.lead.first_mut() {
            first.spaces = if first.kind == T::Newline { 0 } else { 2 * steps.len() };
        }
        if net > 0 {
            steps.push(net);
        }
    }
}

/// The brackets that stay open after these tokens. A heredoc ends the count: its lines are not indented.
fn opened(pieces: &[Piece]) -> isize {
    pieces.iter().take_while(|p| p.kind != T::OHeredoc).map(|p| nesting(p.kind)).sum()
}

/// One space or none before each token but the first.
fn space(pieces: &mut [Piece]) {
    let mut before = None;
    let mut subject: Option<&Piece> = None;
    for piece in pieces {
        if let Some(subject) = subject {
            piece.spaces =
                if piece.kind == T::End { piece.spaces } else { usize::from(separated(before, subject, piece.kind)) };
            before = Some(subject.kind);
        }
        subject = Some(piece);
    }
}

/// Whether there is a space between `subject` and the token after it, of kind `after`. `before` is the token before
/// `subject` on the same line.
fn separated(before: Option<T>, subject: &Piece, after: T) -> bool {
    match (subject.kind, after) {
        (_, T::Newline | T::Comma | T::Ellipsis | T::Dot) | (T::Dot, _) => false,
        (T::Ident, T::OParen | T::ColonColon) | (T::ColonColon, T::Ident) => false,
        (T::Comma, _) => true,
        (T::QuotedText | T::HeredocText | T::OQuote | T::OHeredoc, _) => false,
        (_, T::QuotedText | T::HeredocText | T::CQuote | T::CHeredoc) => false,
        // `for x in [1]`: a keyword, not an index into something called "in".
        (T::Ident, _) if subject.text == "in" && before == Some(T::Ident) => true,
        (T::Ident | T::Number | T::CBrace | T::CBrack | T::CParen | T::SequenceEnd, T::OBrack) => false,
        (T::Bang, _) => false,
        (T::Minus, _) => !before.is_none_or(precedes_operand),
        (T::OBrace, T::CBrace) => false,
        (T::OBrace, _) | (_, T::CBrace) => true,
        // An object alone in an interpolation stands apart from the braces around it: `${ {} }`.
        (T::Interpolation | T::Directive, T::OBrace) | (T::CBrace, T::SequenceEnd) => true,
        (T::SequenceEnd, T::Interpolation | T::Directive) => false,
        (subject, after) => nesting(subject) <= 0 && nesting(after) >= 0,
    }
}

/// Whether an operand begins after a token, so that a minus sign there is a negation.
fn precedes_operand(kind: T) -> bool {
    matches!(
        kind,
        T::OParen
            | T::OBrace
            | T::OBrack
            | T::Equal
            | T::Colon
            | T::Comma
            | T::Question
            | T::Plus
            | T::Star
            | T::Slash
            | T::Percent
            | T::Minus
            | T::EqualEqual
            | T::NotEqual
            | T::Greater
            | T::GreaterEqual
            | T::Less
            | T::LessEqual
            | T::And
            | T::Or
            | T::Bang
    )
}

/// Brings the equals signs of successive lines into one column.
fn align_values(lines: &mut [Line]) {
    for chain in lines.chunk_by_mut(|a, b| a.value.is_empty() == b.value.is_empty()) {
        let widths: Vec<usize> = chain.iter().map(|l| width(l.lead)).collect();
        let widest = widths.iter().copied().max().unwrap_or(0);
        for (line, width) in chain.iter_mut().zip(widths) {
            if let Some(equals) = line.value.first_mut() {
                equals.spaces = widest - width + 1;
            }
        }
    }
}

/// Brings the comments at the ends of successive lines into one column.
fn align_comments(lines: &mut [Line]) {
    for chain in lines.chunk_by_mut(|a, b| a.comment.is_some() == b.comment.is_some()) {
        let widths: Vec<usize> = chain.iter().map(|l| width(l.lead) + width(l.value)).collect();
        let widest = widths.iter().copied().max().unwrap_or(0);
        for (line, width) in chain.iter_mut().zip(widths) {
            if let Some(comment) = &mut line.comment {
                comment.spaces = widest - width + 1;
            }
        }
    }
}

/// Columns that tokens take, with the spaces before each.
fn width(pieces: &[Piece]) -> usize {
    pieces.iter().map(|p| p.spaces + text_width(&p.text)).sum()
}

/// Grapheme clusters of a text.
fn text_width(text: &str) -> usize {
    if text.is_ascii() && !text.contains('\r') { text.len() } else { text.graphemes(true).count() }
}

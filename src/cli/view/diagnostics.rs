//! Diagnostics for people: summary, place, the source line with the exact part underlined, the values involved, and
//! what to do.

use crate::cli::context::Style;
use crate::cli::view::visible;
use crate::diag::{Diagnostic, Diagnostics, Kind, Severity, Sources};
use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::Write as _;

const RED: &str = "\x1b[31m";
const YELLOW: &str = "\x1b[33m";
const BOLD: &str = "\x1b[1m";
const UNDERLINE: &str = "\x1b[4m";
const DIM: &str = "\x1b[2m";
const RESET: &str = "\x1b[0m";

/// Prints diagnostics: errors to standard error, warnings to standard output.
pub fn show(diags: &Diagnostics, sources: &Sources, style: Style, compact_warnings: bool) {
    if compact_warnings && !diags.has_errors() {
        let text = compact(diags, sources, style);
        let _ = std::io::stdout().lock().write_all(text.as_bytes());
        return;
    }
    for d in &in_order(consolidated(diags), sources) {
        let text = render(d, sources, style);
        let _ = match d.severity {
            Severity::Error => std::io::stderr().lock().write_all(text.as_bytes()),
            Severity::Warning => std::io::stdout().lock().write_all(text.as_bytes()),
        };
    }
}

/// Warnings as one line each.
fn compact(diags: &Diagnostics, sources: &Sources, style: Style) -> String {
    if diags.is_empty() {
        return String::new();
    }
    let paint = |code: &'static str| if style.color { code } else { "" };
    let mut out = format!("{}{}Warnings:{}\n\n", paint(BOLD), paint(YELLOW), paint(RESET));
    for d in diags {
        let _ = write!(out, "- {}", visible::text(&d.summary));
        if let Some(at) = d.subject {
            let place = sources.describe(at);
            let line = place.split(',').next().unwrap_or(&place).replacen(':', " line ", 1);
            let _ = write!(out, "\n  on {line}");
        }
        out.push('\n');
    }
    out.push_str("\nTo see them in full, run the command without -compact-warnings.\n");
    out
}

/// Several warnings of one kind are shown once, with the number of further places.
fn consolidated(diags: &Diagnostics) -> Vec<Diagnostic> {
    const LIMIT: usize = 1;
    let mut out: Vec<Diagnostic> = Vec::new();
    let mut counts: Vec<(String, usize, usize)> = Vec::new();
    for d in diags {
        if d.severity != Severity::Warning || d.kind == Kind::CheckAssertion {
            out.push(d.clone());
            continue;
        }
        match counts.iter_mut().find(|(s, ..)| *s == d.summary) {
            Some((_, _, n)) => *n += 1,
            None => {
                counts.push((d.summary.clone(), out.len(), 0));
                out.push(d.clone());
            }
        }
    }
    for (_, at, more) in counts.into_iter().filter(|(.., n)| *n >= LIMIT) {
        if let Some(d) = out.get_mut(at) {
            let s = if more == 1 { "" } else { "s" };
            let _ = write!(d.detail, "\n\n(and {more} more similar warning{s} elsewhere)");
        }
    }
    out
}

/// Warnings first, then errors, each by their places; those without a place come before the others. What is not written
/// anywhere follows from another mistake, which is enough.
fn in_order(mut diags: Vec<Diagnostic>, sources: &Sources) -> Vec<Diagnostic> {
    diags.retain(|d| d.kind != Kind::MissingName);
    diags.sort_by_cached_key(|d| {
        let place = d.subject.map(|at| (sources.get(at.file).map(|f| f.name.clone()), at.start));
        (d.severity == Severity::Error, place)
    });
    diags
}

/// One diagnostic as text.
pub fn render(d: &Diagnostic, sources: &Sources, style: Style) -> String {
    let paint = |code: &'static str| if style.color { code } else { "" };
    let (color, word) = match d.severity {
        Severity::Error => (RED, "Error"),
        Severity::Warning => (YELLOW, "Warning"),
    };
    let (color, bold, reset) = (paint(color), paint(BOLD), paint(RESET));
    let mut body = format!("{bold}{color}{word}: {reset}{bold}{}{reset}\n", visible::text(&d.summary));
    if d.subject.is_some() || d.address.is_some() {
        body.push('\n');
    }
    if let Some(address) = &d.address {
        let _ = writeln!(body, "  with {},", visible::text(address));
    }
    snippet(d, sources, style, &mut body);
    if !d.detail.is_empty() {
        body.push('\n');
        let width = if style.terminal { style.width.saturating_sub(4).max(40) } else { usize::MAX };
        for paragraph in visible::text(&d.detail).lines() {
            wrap(paragraph, width, &mut body);
        }
    }
    let mut out = format!("{color}╷{reset}\n");
    for line in body.lines() {
        let _ = writeln!(out, "{color}│{reset} {line}");
    }
    let _ = writeln!(out, "{color}╵{reset}");
    format!("\n{out}")
}

fn snippet(d: &Diagnostic, sources: &Sources, style: Style, out: &mut String) {
    let Some(subject) = d.subject else { return };
    let Some(file) = sources.get(subject.file) else { return };
    let paint = |code: &'static str| if style.color { code } else { "" };
    let start = file.pos(subject.start);
    let end = file.pos(subject.end);
    let context = d.context.filter(|c| c.file == subject.file).map(|c| file.pos(c.start).line);
    let inside = context.filter(|l| *l != start.line).map(|l| {
        let header = file.line(l).trim().trim_end_matches('{').trim_end();
        format!(", in {}", visible::text(&beginning(header, CONTEXT)))
    });
    let name = visible::text(&file.name);
    let _ = writeln!(out, "  on {name} line {}{}:", start.line, inside.unwrap_or_default());
    for line in start.line..=end.line.min(start.line + 3) {
        let text = file.line(line);
        let line_start = subject_offset(&file.text, text);
        let from = (subject.start as usize).saturating_sub(line_start).min(text.len());
        let to = (subject.end as usize).saturating_sub(line_start).min(text.len());
        let [a, b, c] = around(text, from, to);
        if !b.is_empty() && style.color {
            let _ = writeln!(out, "{line:>4}: {a}{}{b}{}{c}", paint(UNDERLINE), paint(RESET));
            continue;
        }
        let _ = writeln!(out, "{line:>4}: {a}{b}{c}");
        if !b.is_empty() && end.line == start.line && from > 0 {
            let pad: String = a.chars().map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
            let _ = writeln!(out, "      {pad}{}", "^".repeat(b.chars().count()));
        }
    }
    if d.function.is_some() || !d.values.is_empty() {
        let (dim, reset) = (paint(DIM), paint(RESET));
        let _ = writeln!(out, "    {dim}├────────────────{reset}");
        if let Some(f) = &d.function {
            let _ = writeln!(out, "    {dim}│{reset} while calling {f}(…)");
        }
        for v in &d.values {
            let (traversal, statement) = (visible::text(&v.traversal), visible::text(&v.statement));
            let _ = writeln!(out, "    {dim}│{reset} {}{traversal}{reset} {statement}", paint(BOLD));
        }
    }
}

/// How many characters of a long line are shown before and after the marked part.
const CONTEXT: usize = 100;

/// A line before, inside and after the marked part, safe to print. Of a long line only what is near that part.
fn around(line: &str, from: usize, to: usize) -> [Cow<'_, str>; 3] {
    let (Some(a), Some(b), Some(c)) = (line.get(..from), line.get(from..to), line.get(to..)) else {
        return [visible::text(line), "".into(), "".into()];
    };
    if line.len() <= 4 * CONTEXT {
        return [a, b, c].map(visible::text);
    }
    let a = match a.char_indices().rev().nth(CONTEXT) {
        Some((at, _)) => Cow::Owned(format!("…{}", a.get(at..).unwrap_or_default())),
        None => a.into(),
    };
    [a, beginning(b, 2 * CONTEXT), beginning(c, CONTEXT)].map(|part| visible::text(&part).into_owned().into())
}

/// The first characters of a text, and an ellipsis where it goes on.
fn beginning(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()).into(),
        None => text.into(),
    }
}

/// The byte offset of a line that is a slice of the whole text.
fn subject_offset(whole: &str, line: &str) -> usize {
    (line.as_ptr() as usize).saturating_sub(whole.as_ptr() as usize)
}

/// Breaks a paragraph at spaces; indented ones (code) stay as they are.
fn wrap(paragraph: &str, width: usize, out: &mut String) {
    if paragraph.starts_with(' ') || paragraph.chars().count() <= width {
        out.push_str(paragraph);
        out.push('\n');
        return;
    }
    let mut column = 0;
    for word in paragraph.split(' ') {
        let n = word.chars().count();
        if column > 0 && column + 1 + n > width {
            out.push('\n');
            column = 0;
        } else if column > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += n;
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::Range;

    const PLAIN: Style = Style { color: false, width: 80, terminal: false };

    #[test]
    fn an_error_shows_its_place_and_the_part_that_is_wrong() {
        let sources = Sources::default();
        let file = sources.add("main.tf", "resource \"a\" \"b\" {\n  size = \"x\"\n}\n");
        let d = Diagnostic::error("Incorrect attribute value type", "A number is required.")
            .at(Range::new(file, 27, 30))
            .context(Range::new(file, 0, 16))
            .address("a.b");
        let expected = "
╷
│ Error: Incorrect attribute value type
│ 
│   with a.b,
│   on main.tf line 2, in resource \"a\" \"b\":
│    2:   size = \"x\"
│               ^^^
│ 
│ A number is required.
╵
";
        assert_eq!(render(&d, &sources, PLAIN), expected);
    }

    #[test]
    fn of_a_long_line_only_the_part_around_the_error_is_shown() {
        let sources = Sources::default();
        let file = sources.add("main.tf", format!("{}bad{}", "a".repeat(50_000), "\u{1b}[31m".repeat(10_000)));
        let text = render(&Diagnostic::error("E", "").at(Range::new(file, 50_000, 50_003)), &sources, PLAIN);
        assert!(text.len() < 2000 && text.contains("aabad\\x1b[31m") && text.contains("^^^"), "{text}");
        assert!(!text.contains('\u{1b}'));
    }

    #[test]
    fn similar_warnings_are_shown_once() {
        let diags: Diagnostics = (0..3).map(|_| Diagnostic::warning("Deprecated", "Use b.")).collect();
        let shown = consolidated(&diags);
        assert_eq!(shown.len(), 1);
        assert!(shown[0].detail.contains("2 more similar warnings"));
    }
}

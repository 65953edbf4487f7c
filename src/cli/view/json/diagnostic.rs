//! Diagnostics as JSON, in the form that `validate -json` and the message stream share.

use super::FORMAT;
use super::schema::builtin;
use super::write::{Members, indented, object};
use crate::diag::{Diagnostic, Diagnostics, Kind, Pos, Range, Severity, SourceFile, Sources};
use crate::lang::functions;
use crate::lang::json_syntax::JsonBody;
use crate::lang::parse::parse_file;
use crate::lang::syntax::Body;

/// The result of `validate -json`.
pub fn validation(diags: &Diagnostics, sources: &Sources) -> String {
    let count = |s: Severity| diags.iter().filter(|d| d.severity == s).count();
    let errors = count(Severity::Error);
    let mut out = String::new();
    object(&mut out, |m| {
        m.string("format_version", FORMAT);
        m.bool("valid", errors == 0);
        m.number("error_count", errors);
        m.number("warning_count", count(Severity::Warning));
        m.array("diagnostics", diags, |d, out| write_diagnostic(d, sources, out));
    });
    indented(&out)
}

/// One diagnostic.
pub fn diagnostic(d: &Diagnostic, sources: &Sources) -> String {
    let mut out = String::new();
    write_diagnostic(d, sources, &mut out);
    out
}

/// Appends one diagnostic.
pub fn write_diagnostic(d: &Diagnostic, sources: &Sources, out: &mut String) {
    object(out, |m| {
        m.string("severity", severity(d.severity));
        m.string("summary", &d.summary);
        m.string("detail", &d.detail);
        if let Some(address) = &d.address {
            m.string("address", address);
        }
        if d.kind == Kind::MissingName {
            range(m, "", Pos { line: 0, column: 0, byte: 0 }, Pos { line: 0, column: 1, byte: 1 });
        }
        let subject = d.subject.filter(|_| d.kind != Kind::MissingName);
        if let Some((subject, file)) = subject.and_then(|s| Some((s, sources.get(s.file)?))) {
            place(m, d, subject, &file);
        }
    });
}

/// The word for a severity.
pub fn severity(s: Severity) -> &'static str {
    match s {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

fn range(m: &mut Members<'_>, file: &str, start: Pos, end: Pos) {
    m.object("range", |m| {
        m.string("filename", file);
        m.object("start", |m| position(m, start));
        m.object("end", |m| position(m, end));
    });
}

fn place(m: &mut Members<'_>, d: &Diagnostic, subject: Range, file: &SourceFile) {
    let start = file.pos(subject.start);
    let mut end = file.pos(subject.end);
    if subject.end <= subject.start {
        end = Pos { column: start.column + 1, byte: start.byte + 1, ..start };
    }
    range(m, &file.name, start, end);
    let context = d.context.filter(|c| c.file == subject.file);
    // A context before the subject is the header of its block, which is named apart.
    let around = context.filter(|c| c.start <= subject.start && c.end >= subject.end);
    let first = around.map_or(start.line, |c| file.pos(c.start).line);
    let last = around.map_or(end.line, |c| file.pos(c.end).line.max(end.line));
    let lines: Vec<&str> = (first..=last.max(first)).map(|l| file.line(l)).collect();
    let (code, cut) = without_distant(lines.join("\n"), (start.byte as usize).saturating_sub(line_start(file, first)));
    let code_start = line_start(file, first) + cut;
    let within = |byte: u32| (byte as usize).saturating_sub(code_start).min(code.len());
    m.object("snippet", |m| {
        match context_of(file, subject) {
            Some(header) => m.string("context", header),
            None => m.null("context"),
        }
        m.string("code", &code);
        m.number("start_line", first);
        m.number("highlight_start_offset", within(start.byte));
        m.number("highlight_end_offset", within(end.byte));
        m.array("values", &d.values, |v, out| {
            object(out, |m| {
                m.string("traversal", &v.traversal);
                m.string("statement", &v.statement);
            });
        });
        if let Some(name) = &d.function {
            m.object("function_call", |m| {
                m.string("called_as", name);
                if let Some(f) = functions::lookup(name) {
                    m.object("signature", |m| builtin(m, f));
                }
            });
        }
    });
}

/// Code that is too long to repeat with each error, cut to what is around a place in it; and how many bytes are missing
/// at its beginning.
fn without_distant(code: String, place: usize) -> (String, usize) {
    const MOST: usize = 64 << 10;
    if code.len() <= MOST {
        return (code, 0);
    }
    let boundary = |mut at: usize| {
        at = at.min(code.len());
        while !code.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let (from, to) = (boundary(place.saturating_sub(MOST / 2)), boundary(place + MOST / 2));
    (code.get(from..to).unwrap_or_default().to_owned(), from)
}

fn position(m: &mut Members<'_>, p: Pos) {
    m.number("line", p.line);
    m.number("column", p.column);
    m.number("byte", p.byte);
}

/// The byte at which a line starts.
fn line_start(file: &SourceFile, line: u32) -> usize {
    (file.line(line).as_ptr() as usize).saturating_sub(file.text.as_ptr() as usize)
}

/// The header of the outermost block around a place, e.g. `resource "a" "b"`; in JSON syntax the names that lead there.
fn context_of(file: &SourceFile, at: Range) -> Option<String> {
    if file.name.ends_with(".json") {
        let body = JsonBody::parse(&file.text, at.file, &mut Diagnostics::new());
        let path = body.path_to(at.start);
        return (!path.is_empty()).then(|| path.join("."));
    }
    let body = parse_file(&file.text, at.file, &mut Diagnostics::new());
    let block = body.blocks.iter().find(|b| {
        let end = match &b.body {
            Body::Native(inner) => inner.range.end,
            other => other.range().end,
        };
        b.header_range.start < at.start && at.start < end.max(b.header_range.end)
    })?;
    let mut header = block.ty.to_string();
    for l in &block.labels {
        header.push_str(&format!(" {}", crate::addr::quote(&l.text)));
    }
    Some(header)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diagnostic_has_its_place_with_the_source_around_it() {
        let sources = Sources::default();
        let file = sources.add("main.tf", "resource \"a\" \"b\" {\n  size = \"x\"\n}\n");
        let d = Diagnostic::error("Incorrect attribute value type", "A number is required.")
            .at(Range::new(file, 28, 31))
            .address("a.b");
        let expected = [
            r#"{"severity":"error","summary":"Incorrect attribute value type","detail":"A number is required.","#,
            r#""address":"a.b","range":{"filename":"main.tf","start":{"line":2,"column":10,"byte":28},"#,
            r#""end":{"line":2,"column":13,"byte":31}},"snippet":{"context":"resource \"a\" \"b\"","#,
            r#""code":"  size = \"x\"","start_line":2,"highlight_start_offset":9,"highlight_end_offset":12,"#,
            r#""values":[]}}"#,
        ]
        .concat();
        assert_eq!(diagnostic(&d, &sources), expected);
    }

    #[test]
    fn a_validation_counts_what_it_lists() {
        let diags: Diagnostics = [Diagnostic::warning("W", ""), Diagnostic::error("E", "")].into_iter().collect();
        let text = validation(&diags, &Sources::default());
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (&json["valid"], &json["error_count"], &json["warning_count"]),
            (&false.into(), &1.into(), &1.into())
        );
        assert_eq!(json["diagnostics"].as_array().map(Vec::len), Some(2));
    }
}

//! Diagnostics: the one way anything fails or warns.
//!
//! A phase collects every problem it finds in a [`Diagnostics`] and carries on as far as it can; callers render them
//! with the text of the files from [`Sources`]. Nothing here prints. Values mentioned in a diagnostic are already
//! redacted when they are sensitive: whoever builds [`Diagnostic::values`] calls the redacting formatter.

use std::fmt;
use std::sync::{Arc, RwLock};

/// Index of a source file in [`Sources`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct FileId(pub u32);

/// A range of bytes in a source file: `start` inclusive, `end` exclusive.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Range {
    pub file: FileId,
    pub start: u32,
    pub end: u32,
}

impl Range {
    pub fn new(file: FileId, start: usize, end: usize) -> Range {
        Range { file, start: start as u32, end: end as u32 }
    }

    /// Whether another range lies within this one.
    pub fn contains(self, other: Range) -> bool {
        self.file == other.file && self.start <= other.start && other.end <= self.end
    }

    /// The smallest range that covers both (of the same file; otherwise `self`).
    pub fn to(self, other: Range) -> Range {
        if self.file != other.file {
            return self;
        }
        Range { file: self.file, start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

/// A position as people and editors count it: line and column from 1 (columns count grapheme clusters), byte from 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pos {
    pub line: u32,
    pub column: u32,
    pub byte: u32,
}

/// One source file that diagnostics can point into.
#[derive(Debug)]
pub struct SourceFile {
    /// The name as shown to the user: relative to the working directory, e.g. `modules/vpc/main.tf`, or a label such
    /// as `<value for var.name>`.
    pub name: String,
    pub text: Arc<str>,
    line_starts: Vec<u32>,
}

impl SourceFile {
    fn new(name: String, text: Arc<str>) -> SourceFile {
        let mut line_starts = vec![0];
        line_starts.extend(text.match_indices('\n').map(|(i, _)| i as u32 + 1));
        SourceFile { name, text, line_starts }
    }

    /// Line, column and byte of a byte offset (clamped to the text).
    pub fn pos(&self, byte: u32) -> Pos {
        let mut byte = byte.min(self.text.len() as u32);
        while !self.text.is_char_boundary(byte as usize) {
            byte -= 1;
        }
        let line = self.line_starts.partition_point(|s| *s <= byte) - 1;
        let prefix = &self.text[self.line_starts[line] as usize..byte as usize];
        // A byte order mark is no column of the first line.
        let prefix = prefix.strip_prefix('\u{feff}').unwrap_or(prefix);
        let column = if prefix.is_ascii() {
            prefix.len()
        } else {
            unicode_segmentation::UnicodeSegmentation::graphemes(prefix, true).count()
        };
        let column = column as u32 + 1;
        Pos { line: line as u32 + 1, column, byte }
    }

    /// The text of a line counted from 1, without its line end.
    pub fn line(&self, line: u32) -> &str {
        let i = (line as usize).saturating_sub(1);
        let Some(start) = self.line_starts.get(i) else { return "" };
        let end = self.line_starts.get(i + 1).map_or(self.text.len(), |e| *e as usize);
        self.text[*start as usize..end].trim_end_matches(['\n', '\r'])
    }
}

/// All source files read so far. Cloning shares the same registry.
#[derive(Clone, Default, Debug)]
pub struct Sources(Arc<RwLock<Vec<Arc<SourceFile>>>>);

impl Sources {
    /// Registers a file and gives it an id.
    pub fn add(&self, name: impl Into<String>, text: impl Into<Arc<str>>) -> FileId {
        let mut files = self.0.write().unwrap_or_else(|e| e.into_inner());
        files.push(Arc::new(SourceFile::new(name.into(), text.into())));
        FileId(files.len() as u32 - 1)
    }

    pub fn get(&self, id: FileId) -> Option<Arc<SourceFile>> {
        self.0.read().unwrap_or_else(|e| e.into_inner()).get(id.0 as usize).cloned()
    }

    /// The source text that a range covers.
    pub fn text(&self, range: Range) -> String {
        self.get(range.file)
            .and_then(|f| f.text.get(range.start as usize..range.end as usize).map(str::to_owned))
            .unwrap_or_default()
    }

    /// `file:line,column-column` or `file:line,column-line,column`, for messages that mention a second place.
    pub fn describe(&self, range: Range) -> String {
        let Some(f) = self.get(range.file) else { return String::new() };
        let (s, e) = (f.pos(range.start), f.pos(range.end));
        if s.line == e.line {
            format!("{}:{},{}-{}", f.name, s.line, s.column, e.column)
        } else {
            format!("{}:{},{}-{},{}", f.name, s.line, s.column, e.line, e.column)
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Severity {
    Error,
    Warning,
}

/// A value that an expression in the diagnostic refers to, as text that is safe to show.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MentionedValue {
    /// The reference as written, e.g. `var.zones`.
    pub traversal: String,
    /// What is said about it after the traversal, e.g. `is 3`, `is list of string with 2 elements`,
    /// `has a sensitive value`, `will be known only after apply`.
    pub statement: String,
}

/// One error or warning.
#[derive(Clone, PartialEq, Debug)]
pub struct Diagnostic {
    pub severity: Severity,
    /// One short line without a final full stop, e.g. `Unsupported argument`.
    pub summary: String,
    /// Sentences that say what is wrong and what to do. May be empty.
    pub detail: String,
    /// The object concerned, e.g. `aws_instance.gpu[0]`, where there is one.
    pub address: Option<String>,
    /// The exact source range to underline.
    pub subject: Option<Range>,
    /// The larger construct around the subject (e.g. a block header), for the snippet.
    pub context: Option<Range>,
    /// The values that the expression under `subject` refers to.
    pub values: Vec<MentionedValue>,
    /// Name of the function whose call failed, if that is the cause.
    pub function: Option<String>,
    /// An attribute path relative to the object's configuration, from a provider; `None` once resolved to a range.
    pub attribute: Option<gpuform_schema::path::Path>,
    /// The object whose condition failed, e.g. `check.reachable`, `output.address` or `aws_instance.gpu[0]`.
    pub checked: Option<String>,
    /// Which check or condition failed; views and `-json` treat some kinds specially.
    pub kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Kind {
    #[default]
    Plain,
    /// A failed `assert` of a `check` block: never consolidated with other warnings.
    CheckAssertion,
    /// A failed precondition, postcondition or variable validation.
    Condition,
    /// A failed `assert` of a test.
    TestAssertion,
    /// A failure that the configuration says to go on after. Streams have another message for it.
    Tolerated,
    /// It is about a name that is not written, as after `var` alone, and follows from another error: told in JSON only,
    /// with an empty place.
    MissingName,
}

impl Diagnostic {
    pub fn error(summary: impl Into<String>, detail: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Error, summary, detail)
    }

    pub fn warning(summary: impl Into<String>, detail: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Warning, summary, detail)
    }

    pub fn new(severity: Severity, summary: impl Into<String>, detail: impl Into<String>) -> Diagnostic {
        Diagnostic {
            severity,
            summary: summary.into(),
            detail: detail.into(),
            address: None,
            subject: None,
            context: None,
            values: Vec::new(),
            function: None,
            attribute: None,
            checked: None,
            kind: Kind::Plain,
        }
    }

    /// Points at a source range.
    pub fn at(mut self, range: impl Into<Option<Range>>) -> Diagnostic {
        self.subject = range.into();
        self
    }

    pub fn context(mut self, range: impl Into<Option<Range>>) -> Diagnostic {
        self.context = range.into();
        self
    }

    /// Names the object concerned.
    pub fn address(mut self, address: impl fmt::Display) -> Diagnostic {
        self.address = Some(address.to_string());
        self
    }

    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.severity {
            Severity::Error => "Error: ",
            Severity::Warning => "Warning: ",
        })?;
        f.write_str(&self.summary)?;
        if !self.detail.is_empty() {
            write!(f, "\n\n{}", self.detail)?;
        }
        Ok(())
    }
}

/// A single failure, boxed to keep `Result` small.
pub type Failure = Box<Diagnostic>;

/// The result of a step that stops at its first problem.
pub type Result<T> = std::result::Result<T, Failure>;

/// Everything a phase has to say, in order.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Diagnostics(Vec<Diagnostic>);

impl Diagnostics {
    pub fn new() -> Diagnostics {
        Diagnostics::default()
    }

    pub fn push(&mut self, d: impl Into<Diagnostic>) {
        self.0.push(d.into());
    }

    pub fn error(&mut self, summary: impl Into<String>, detail: impl Into<String>, at: impl Into<Option<Range>>) {
        self.0.push(Diagnostic::error(summary, detail).at(at));
    }

    pub fn warning(&mut self, summary: impl Into<String>, detail: impl Into<String>, at: impl Into<Option<Range>>) {
        self.0.push(Diagnostic::warning(summary, detail).at(at));
    }

    pub fn has_errors(&self) -> bool {
        self.0.iter().any(Diagnostic::is_error)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.0.iter()
    }

    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, Diagnostic> {
        self.0.iter_mut()
    }

    /// Keeps the value of a step and records its failure.
    pub fn take<T>(&mut self, result: Result<T>) -> Option<T> {
        result.map_err(|d| self.0.push(*d)).ok()
    }
}

impl Extend<Diagnostic> for Diagnostics {
    fn extend<I: IntoIterator<Item = Diagnostic>>(&mut self, iter: I) {
        self.0.extend(iter);
    }
}

impl IntoIterator for Diagnostics {
    type Item = Diagnostic;
    type IntoIter = std::vec::IntoIter<Diagnostic>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a Diagnostics {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl FromIterator<Diagnostic> for Diagnostics {
    fn from_iter<I: IntoIterator<Item = Diagnostic>>(iter: I) -> Self {
        Diagnostics(iter.into_iter().collect())
    }
}

impl From<Failure> for Diagnostics {
    fn from(d: Failure) -> Self {
        Diagnostics(vec![*d])
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(d: Diagnostic) -> Self {
        Diagnostics(vec![d])
    }
}

impl From<Failure> for Diagnostic {
    fn from(d: Failure) -> Self {
        *d
    }
}

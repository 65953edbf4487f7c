//! How operations fail and warn: [`Error`] for the one reason why an operation ended, [`Problems`] for the findings of
//! a validation, [`Diagnostic`] for what the user finally sees. No protocol types.

use gpuform_schema::Path;
use std::fmt;

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation failed: what a user reads, and what a program decides on.
///
/// Never put secrets into the texts: they end up in terminals and logs.
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    summary: String,
    detail: String,
    code: Option<String>,
    path: Path,
}

/// What the SDK does about an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ErrorKind {
    /// Report it.
    Failed,
    /// The object does not exist: `read` and `delete` take it as an answer.
    NotFound,
    /// The resource does not offer the operation.
    Unsupported,
    /// The user asked to stop.
    Cancelled,
    /// The time allowed was not enough.
    Timeout,
}

impl Error {
    /// An error with a one-line summary: `Creating the volume failed`.
    pub fn new(summary: impl Into<String>) -> Error {
        Error::of(ErrorKind::Failed, summary.into())
    }

    /// The object does not exist (any more).
    pub fn not_found(summary: impl Into<String>) -> Error {
        Error::of(ErrorKind::NotFound, summary.into())
    }

    pub fn unsupported(summary: impl Into<String>) -> Error {
        Error::of(ErrorKind::Unsupported, summary.into())
    }

    pub fn cancelled() -> Error {
        Error::of(ErrorKind::Cancelled, "Stopped".into()).detail("The operation was interrupted before it was done.")
    }

    pub fn timeout(summary: impl Into<String>) -> Error {
        Error::of(ErrorKind::Timeout, summary.into())
    }

    fn of(kind: ErrorKind, summary: String) -> Error {
        Error(Box::new(Inner { kind, summary, detail: String::new(), code: None, path: Path::root() }))
    }

    /// The explanation under the summary: what happened, the values involved, what to do.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Error {
        self.0.detail = detail.into();
        self
    }

    /// The API's own name of the error (`InsufficientInstanceCapacity`), for decisions; see [`Error::has_code`].
    #[must_use]
    pub fn code(mut self, code: impl Into<String>) -> Error {
        self.0.code = Some(code.into());
        self
    }

    /// The attribute concerned, by name.
    #[must_use]
    pub fn at(self, attribute: &str) -> Error {
        self.at_path(Path::attrs([attribute]))
    }

    /// The part of the configuration concerned.
    #[must_use]
    pub fn at_path(mut self, path: Path) -> Error {
        self.0.path = path;
        self
    }

    /// Says what was being done: becomes the summary, and the old summary the beginning of the detail.
    #[must_use]
    pub fn context(mut self, summary: impl Into<String>) -> Error {
        let was = std::mem::replace(&mut self.0.summary, summary.into());
        self.0.detail = if self.0.detail.is_empty() { was } else { format!("{was}\n\n{}", self.0.detail) };
        self
    }

    /// Adds a sentence to the detail.
    #[must_use]
    pub fn also(mut self, sentence: &str) -> Error {
        if !self.0.detail.is_empty() {
            self.0.detail.push(' ');
        }
        self.0.detail.push_str(sentence);
        self
    }

    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    pub fn is_not_found(&self) -> bool {
        self.0.kind == ErrorKind::NotFound
    }

    /// Whether the API's name of the error is one of these.
    pub fn has_code(&self, codes: &[&str]) -> bool {
        self.0.code.as_deref().is_some_and(|c| codes.contains(&c))
    }

    pub(crate) fn into_diagnostic(self) -> Diagnostic {
        let Inner { summary, detail, path, .. } = *self.0;
        Diagnostic { severity: Severity::Error, summary, detail, path }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.summary)?;
        if self.0.detail.is_empty() { Ok(()) } else { write!(f, ": {}", self.0.detail) }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.0.kind)
    }
}

impl std::error::Error for Error {}

/// What a user sees.
#[derive(Clone, PartialEq, Debug)]
pub struct Diagnostic {
    pub severity: Severity,
    pub summary: String,
    pub detail: String,
    /// The part of the configuration concerned; the root if none in particular.
    pub path: Path,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Severity {
    Error,
    Warning,
}

/// The findings of a validation.
#[derive(Default, Debug)]
pub struct Problems(Vec<Diagnostic>);

impl Problems {
    /// Something is wrong with an attribute of the block.
    pub fn error(&mut self, attribute: &str, summary: impl Into<String>, detail: impl Into<String>) {
        self.add(Severity::Error, Path::attrs([attribute]), summary.into(), detail.into());
    }

    /// Something is wrong with the part at `path`.
    pub fn error_at(&mut self, path: Path, summary: impl Into<String>, detail: impl Into<String>) {
        self.add(Severity::Error, path, summary.into(), detail.into());
    }

    /// The user should know something about an attribute of the block.
    pub fn warning(&mut self, attribute: &str, summary: impl Into<String>, detail: impl Into<String>) {
        self.add(Severity::Warning, Path::attrs([attribute]), summary.into(), detail.into());
    }

    pub(crate) fn add(&mut self, severity: Severity, path: Path, summary: String, detail: String) {
        self.0.push(Diagnostic { severity, summary, detail, path });
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn into_diagnostics(self) -> Vec<Diagnostic> {
        self.0
    }
}

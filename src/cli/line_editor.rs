//! Lines that are typed at a terminal: editing, the history of the session, completion, and expressions that go on over
//! several lines. What a line means is not known here. The console calls it.

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::MemHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{CompletionType, Config, Context, Editor, Helper};

/// A terminal at which expressions are typed. The history lives as long as it does: what is typed may be secret, so
/// nothing is written to a file.
pub struct LineEditor(Editor<Names, MemHistory>);

impl LineEditor {
    /// An editor that completes the given names.
    ///
    /// # Errors
    /// The terminal cannot be used.
    pub fn new(mut names: Vec<String>) -> std::io::Result<LineEditor> {
        names.sort();
        names.dedup();
        let config = Config::builder().auto_add_history(true).completion_type(CompletionType::List).build();
        let history = MemHistory::with_config(&config);
        let mut editor = Editor::with_history(config, history).map_err(std::io::Error::other)?;
        editor.set_helper(Some(Names(names)));
        Ok(LineEditor(editor))
    }

    /// The next text that is typed, or nothing when the user has had enough (Control-D). Control-C takes back what has
    /// been typed of it.
    ///
    /// # Errors
    /// The terminal cannot be read.
    pub fn read(&mut self, prompt: &str) -> std::io::Result<Option<String>> {
        loop {
            match self.0.readline(prompt) {
                Ok(text) => return Ok(Some(text)),
                Err(ReadlineError::Interrupted) => {}
                Err(ReadlineError::Eof) => return Ok(None),
                Err(e) => return Err(std::io::Error::other(e)),
            }
        }
    }
}

/// The names that can be completed, in order.
struct Names(Vec<String>);

impl Names {
    /// Where the name begins that ends at a byte position, and the names it can become.
    fn candidates(&self, line: &str, position: usize) -> (usize, Vec<String>) {
        let before = line.get(..position).unwrap_or(line);
        let part_of_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':');
        let start =
            before.rfind(|c| !part_of_name(c)).map_or(0, |i| i + before[i..].chars().next().map_or(0, char::len_utf8));
        let typed = &before[start..];
        let fits = |name: &&String| !typed.is_empty() && name.starts_with(typed);
        (start, self.0.iter().filter(fits).cloned().collect())
    }
}

/// Whether an expression goes on in the next line: brackets are open, and the last line is not empty.
fn goes_on(text: &str) -> bool {
    let count = |brackets: [char; 3]| text.chars().filter(|c| brackets.contains(c)).count();
    count(['(', '[', '{']) > count([')', ']', '}']) && !text.ends_with('\n')
}

impl Completer for Names {
    type Candidate = String;

    fn complete(&self, line: &str, position: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(self.candidates(line, position))
    }
}

impl Validator for Names {
    fn validate(&self, cx: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(if goes_on(cx.input()) { ValidationResult::Incomplete } else { ValidationResult::Valid(None) })
    }
}

impl Hinter for Names {
    type Hint = String;
}

impl Highlighter for Names {}

impl Helper for Names {}

#[cfg(test)]
mod tests {
    use super::{Names, goes_on};

    #[test]
    fn the_name_before_the_cursor_is_completed() {
        let names = Names(["local.size", "var.size", "var.zone", "upper("].map(str::to_owned).into());
        assert_eq!(names.candidates("1 + var.", 8), (4, vec!["var.size".into(), "var.zone".into()]));
        assert_eq!(names.candidates("é[upp", 6), (3, vec!["upper(".into()]));
        assert_eq!(names.candidates("var.z + x", 5), (0, vec!["var.zone".into()]));
        assert_eq!(names.candidates("1 + ", 4), (4, vec![]));
    }

    #[test]
    fn open_brackets_go_on_until_an_empty_line() {
        assert!(goes_on("[1,") && goes_on("{ a = [1]"));
        assert!(!goes_on("[1]") && !goes_on("]") && !goes_on("[1,\n"));
    }
}

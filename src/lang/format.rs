//! The canonical form of configuration files: `gpuform fmt`. A file is scanned without losing a comment, outdated
//! notations are brought up to date by the syntax tree (`modernize`), and the tokens get new indentation, spacing and
//! alignment (`layout`). Line ends, blank lines and the text of strings and heredocs stay as they are.

mod layout;
mod modernize;
#[cfg(test)]
mod tests;

use super::parse::scan::{self, T};
use super::parse::{self};
use crate::diag::{Diagnostics, FileId};
use std::borrow::Cow;

/// A token as it will be written.
#[derive(Clone, Debug)]
struct Piece<'a> {
    kind: T,
    text: Cow<'a, str>,
    /// Spaces before the token.
    spaces: usize,
}

impl<'a> Piece<'a> {
    fn new(kind: T, text: impl Into<Cow<'a, str>>) -> Piece<'a> {
        Piece { kind, text: text.into(), spaces: 0 }
    }

    fn is_line_comment(&self) -> bool {
        self.kind == T::Comment && !self.text.starts_with("/*")
    }
}

/// The canonical form of a file in native syntax. Formatting again changes nothing, unless one outdated notation was
/// inside another: each time the outer one is replaced.
///
/// # Errors
/// What is wrong with the text; a file that cannot be parsed has no canonical form.
pub fn format(text: &str, file: FileId) -> Result<String, Diagnostics> {
    let mut diags = Diagnostics::new();
    let body = parse::parse_file(text, file, &mut diags);
    if diags.has_errors() {
        return Err(diags);
    }
    let tokens = scan::with_comments(text);
    let mut pieces = modernize::pieces(text, &tokens, &body);
    layout::lay_out(&mut pieces);
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    for piece in &pieces {
        out.extend(std::iter::repeat_n(' ', piece.spaces));
        out.push_str(&piece.text);
    }
    Ok(out)
}

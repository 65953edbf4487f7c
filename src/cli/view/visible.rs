//! Text that came from outside, made safe to print: a configuration, a state or a provider must not be able to move the
//! cursor, change colours, or otherwise forge what a plan seems to say. Every view for people uses this; JSON has its own
//! escapes.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Whether a character is printed as it is. Line ends and tabs are; the texts here may have several lines.
fn is_safe(c: char) -> bool {
    match c {
        '\n' | '\t' => true,
        // Marks that change the direction of the text around them.
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => false,
        c => !c.is_control(),
    }
}

/// The text with its control characters written as escapes, such as `\x1b`.
pub fn text(s: &str) -> Cow<'_, str> {
    if s.chars().all(is_safe) {
        return Cow::Borrowed(s);
    }
    let mut out = String::with_capacity(s.len() + 16);
    let mut chars = s.chars().peekable();
    while let Some(c) = chars.next() {
        let code = u32::from(c);
        let _ = match c {
            '\r' if chars.peek() == Some(&'\n') => Ok(()),
            '\r' => out.write_str("\\r"),
            c if is_safe(c) => out.write_char(c),
            _ if code < 0x80 => write!(out, "\\x{code:02x}"),
            _ => write!(out, "\\u{code:04x}"),
        };
    }
    Cow::Owned(out)
}

/// The text followed by blanks up to a number of characters, which may be of any size.
pub fn padded(s: &str, width: usize) -> String {
    let missing = width.saturating_sub(s.chars().count());
    let mut out = String::with_capacity(s.len() + missing);
    out.push_str(s);
    out.extend(std::iter::repeat_n(' ', missing));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped_and_lines_stay() {
        assert_eq!(text("a\r\nb\tc é"), "a\nb\tc é");
        assert_eq!(text("\x1b[31m\u{9b}\u{202e}\ra"), "\\x1b[31m\\u009b\\u202e\\ra");
    }

    #[test]
    fn the_width_has_no_limit() {
        assert_eq!(padded("ab", 4), "ab  ");
        assert_eq!(padded("ab", 100_000).len(), 100_000);
    }
}

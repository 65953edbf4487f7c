//! Functions over strings, as far as they are not about encodings (`encoding.rs`) or formatting (`format.rs`).
//! Lengths and positions count grapheme clusters.

use super::pattern::Pattern;
use super::signature::{ListOf, Open, Rest, Typed, functions};
use super::{FunctionError, MAX_TEXT, limits};
use gpuform_schema::types::Type;
use gpuform_schema::value::{Str, Value};
use unicode_segmentation::UnicodeSegmentation;

functions! {
    /// Removes newline characters from the end of a string.
    fn chomp(str: Str) -> String {
        str.trim_end_matches(['\r', '\n']).to_owned()
    }

    /// Tells whether a string ends with another.
    fn endswith(str: Str, suffix: Str) -> bool {
        str.ends_with(&*suffix)
    }

    /// Adds spaces to the start of every line of a string except the first.
    fn indent(
        /// How many spaces to add.
        spaces: i64,
        str: Str,
    ) -> Result<String, FunctionError> {
        let spaces = usize::try_from(spaces).map_err(|_| FunctionError::call("\"spaces\" must not be negative"))?;
        let newlines = str.matches('\n').count();
        if newlines > 0 && spaces.saturating_mul(newlines) > MAX_TEXT {
            return Err(FunctionError::argument(0, "the result would be too large"));
        }
        let newline = if newlines > 0 { format!("\n{}", " ".repeat(spaces)) } else { String::new() };
        Ok(str.replace('\n', &newline))
    }

    /// Concatenates the elements of lists of strings, with a separator between them.
    fn join(
        /// What to put between the strings.
        separator: Str,
        /// The lists whose elements to join, one after another.
        lists: Rest<ListOf<Str>>,
    ) -> Result<Typed<Str>, FunctionError> {
        if lists.0.is_empty() {
            return Err(FunctionError::call("at least one list is required"));
        }
        if !lists.0.iter().all(|l| l.value.is_wholly_known()) {
            return Ok(Typed::unknown());
        }
        let mut out = String::new();
        let mut first = true;
        for (n, list) in lists.0.iter().enumerate() {
            for (i, item) in list.iter().enumerate() {
                match item {
                    Value::String(s) => {
                        if !std::mem::take(&mut first) {
                            out.push_str(&separator);
                        }
                        out.push_str(s);
                        if out.len() > MAX_TEXT {
                            return Err(FunctionError::call("the result would be too large"));
                        }
                    }
                    Value::Null(_) => {
                        return Err(FunctionError::argument(
                            n + 1,
                            format!("element {i} is null and cannot be joined"),
                        ));
                    }
                    _ => return Ok(Typed::unknown()),
                }
            }
        }
        Ok(Typed::new(Value::string(out)))
    }

    /// Converts all letters that have cases to lower case.
    fn lower(str: Str) -> String {
        str.chars().map(simple_lowercase).collect()
    }

    /// Applies a regular expression to a string and returns the first match: its text, or the texts of the capture
    /// groups as a list, or as an object if the groups have names. It is an error if nothing matches.
    fn regex(pattern: Open<Str>, string: Open<Str>) -> Result<Value, FunctionError> {
        match_with(&pattern, &string, |pattern, ty, text| match text {
            None => Ok(Value::unknown_not_null(ty)),
            Some(text) => {
                let found = pattern.first(text);
                found.ok_or_else(|| FunctionError::call("the pattern matches no part of the string"))
            }
        })
    }

    /// Applies a regular expression to a string and returns a list of all matches, each as `regex` returns it.
    fn regexall(pattern: Open<Str>, string: Open<Str>) -> Result<Typed<ListOf<Value>>, FunctionError> {
        match_with(&pattern, &string, |pattern, ty, text| match text {
            None => Ok(Value::unknown_not_null(Type::list(ty))),
            Some(text) => {
                limits::check_count(pattern.count(text)).map_err(FunctionError::call)?;
                Ok(Value::list(ty, pattern.all(text)))
            }
        })
        .map(Typed::new)
    }

    /// Replaces all occurrences of a substring. If the substring is written between slashes it is a regular
    /// expression, and the replacement may refer to its capture groups as `$1` or `$name`.
    fn replace(str: Str, substr: Str, replace: Str) -> Result<String, FunctionError> {
        let pattern = substr.strip_prefix('/').and_then(|s| s.strip_suffix('/'));
        let too_large = || FunctionError::call("the result would be too large");
        if let Some(pattern) = pattern {
            let pattern = Pattern::new(pattern).map_err(|e| FunctionError::call(format!("invalid pattern: {e}")))?;
            return pattern.replace_all(&str, &replace, MAX_TEXT).ok_or_else(too_large);
        }
        let worst = (str.len() + 1).saturating_mul(replace.len());
        if worst > MAX_TEXT && str.matches(&*substr).count().saturating_mul(replace.len()) > MAX_TEXT {
            return Err(too_large());
        }
        Ok(str.replace(&*substr, &replace))
    }

    /// Splits a string into a list at each occurrence of a separator. An empty separator splits into characters.
    fn split(separator: Str, str: Str) -> Result<Vec<String>, FunctionError> {
        let pieces = if separator.is_empty() { str.chars().count() } else { str.matches(&*separator).count() };
        limits::check_count(pieces).map_err(FunctionError::call)?;
        if separator.is_empty() {
            return Ok(str.chars().map(String::from).collect());
        }
        Ok(str.split(&*separator).map(str::to_owned).collect())
    }

    /// Tells whether a string starts with another.
    fn startswith(str: Open<Str>, prefix: Open<Str>) -> Typed<bool> {
        let ((value, marks), (prefix, prefix_marks)) = (str.value.unmark(), prefix.value.unmark());
        let starts = match (value, prefix) {
            (Value::String(s), Value::String(p)) => Some(s.starts_with(&**p)),
            // What is known of the start of an unknown string may suffice to tell.
            (Value::Unknown(_), Value::String(p)) if p.is_empty() => Some(true),
            (Value::Unknown(u), Value::String(p)) => u.refinement.prefix.as_ref().and_then(|known| {
                if known.len() >= p.len() {
                    Some(known.starts_with(&**p))
                } else {
                    (!p.starts_with(&**known)).then_some(false)
                }
            }),
            _ => None,
        };
        let result = starts.map_or_else(|| Value::unknown_not_null(Type::Bool), Value::Bool);
        Typed::new(result.with_marks(marks | prefix_marks))
    }

    /// Tells whether a string contains another.
    fn strcontains(str: Str, substr: Str) -> bool {
        str.contains(&*substr)
    }

    /// Reverses the characters of a string.
    fn strrev(str: Str) -> String {
        str.graphemes(true).rev().collect()
    }

    /// Takes a part of a string: from a position on, counted in characters from 0, or from the end if negative.
    fn substr(
        str: Str,
        offset: i64,
        /// The greatest length of the result; -1 for all of the rest.
        length: i64,
    ) -> String {
        let skip = match usize::try_from(offset) {
            Ok(_) if length == 0 => return String::new(),
            Ok(skip) => skip,
            Err(_) => {
                let back = usize::try_from(offset.unsigned_abs()).unwrap_or(usize::MAX);
                str.graphemes(true).count().saturating_sub(back)
            }
        };
        // Counted from the end, a length of 0 means all of the rest, as it does in Terraform.
        let take = usize::try_from(length).ok().filter(|n| *n > 0).unwrap_or(usize::MAX);
        str.graphemes(true).skip(skip).take(take).collect()
    }

    /// Converts the first letter of each word to upper case.
    fn title(str: Str) -> String {
        let mut boundary = true;
        let mut out = String::with_capacity(str.len());
        for c in str.chars() {
            out.push(if boundary { titlecase(c) } else { c });
            boundary = if c.is_ascii() { !c.is_ascii_alphanumeric() && c != '_' } else { c.is_whitespace() };
        }
        out
    }

    /// Removes all of the given characters from both ends of a string.
    fn trim(
        str: Str,
        /// The characters to remove, in any order.
        cutset: Str,
    ) -> String {
        str.trim_matches(|c| cutset.contains(c)).to_owned()
    }

    /// Removes a string from the start of another, if it starts with it.
    fn trimprefix(str: Str, prefix: Str) -> String {
        str.strip_prefix(&*prefix).unwrap_or(&str).to_owned()
    }

    /// Removes white space, including newlines, from both ends of a string.
    fn trimspace(str: Str) -> String {
        str.trim().to_owned()
    }

    /// Removes a string from the end of another, if it ends with it.
    fn trimsuffix(str: Str, suffix: Str) -> String {
        str.strip_suffix(&*suffix).unwrap_or(&str).to_owned()
    }

    /// Converts all letters that have cases to upper case.
    fn upper(str: Str) -> String {
        str.chars().map(simple_uppercase).collect()
    }
}

/// Compiles the pattern and lets `found` make the result, from the text or, while that is unknown, from the type.
fn match_with(
    pattern: &Open<Str>,
    string: &Open<Str>,
    found: impl FnOnce(&Pattern, Type, Option<&str>) -> Result<Value, FunctionError>,
) -> Result<Value, FunctionError> {
    let marks = pattern.value.marks() | string.value.marks();
    let Some(source) = pattern.value.as_str() else {
        return Ok(Value::unknown(Type::Dynamic).with_marks(marks));
    };
    let invalid = |e| FunctionError::argument(0, format!("this is no valid pattern: {e}"));
    let pattern = Pattern::new(source).map_err(invalid)?;
    let ty = pattern.result_type().map_err(invalid)?;
    found(&pattern, ty, string.value.as_str()).map(|v| v.with_marks(marks))
}

/// One character for one character: a letter whose upper case is written with several letters stays as it is.
fn simple_uppercase(c: char) -> char {
    let mut upper = c.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(u), None) => u,
        _ => match c as u32 {
            // Greek letters with iota subscript have an upper case with iota adscript.
            n @ (0x1f80..=0x1f87 | 0x1f90..=0x1f97 | 0x1fa0..=0x1fa7) => char::from_u32(n + 8).unwrap_or(c),
            0x1fb3 => '\u{1fbc}',
            0x1fc3 => '\u{1fcc}',
            0x1ff3 => '\u{1ffc}',
            _ => c,
        },
    }
}

fn simple_lowercase(c: char) -> char {
    c.to_lowercase().next().unwrap_or(c)
}

/// Title case differs from upper case for digraphs, and for Georgian letters, which have none.
fn titlecase(c: char) -> char {
    match c {
        'Ǆ' | 'ǅ' | 'ǆ' => 'ǅ',
        'Ǉ' | 'ǈ' | 'ǉ' => 'ǈ',
        'Ǌ' | 'ǋ' | 'ǌ' => 'ǋ',
        'Ǳ' | 'ǲ' | 'ǳ' => 'ǲ',
        '\u{10d0}'..='\u{10fa}' | '\u{10fd}'..='\u{10ff}' => c,
        c => simple_uppercase(c),
    }
}

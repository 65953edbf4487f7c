//! `format` and `formatlist`: text from a format string with verbs as those of C's `printf`.

use super::signature::{Raw, Rest, functions};
use super::{FunctionError, MAX_TEXT, json_text};
use crate::lang::convert::{convert, described};
use crate::lang::ops::{length_bounds, unknown_with_prefix};
use gpuform_schema::json::write_string;
use gpuform_schema::number::{Notation, Number};
use gpuform_schema::types::Type;
use gpuform_schema::value::{Marks, Str, Value};
use unicode_segmentation::UnicodeSegmentation;

functions! {
    /// Builds a string from a format and values: each verb of the format, such as `%s`, `%d` or `%.2f`, is replaced by
    /// the next value.
    fn format(format: Str, args: Rest<Raw>) -> Result<Value, FunctionError> {
        let mut marks = Marks::NONE;
        let args: Vec<Value> = args.0.iter().map(|a| a.0.unmark_deep(&mut marks)).collect();
        if args.iter().any(|a| a.ty().is_dynamic()) {
            return Ok(Value::unknown(Type::Dynamic).with_marks(marks));
        }
        let text = format_one(&format, &args).map_err(|e| match e {
            Failure::Unused { used } => FunctionError::argument(1 + used, too_many(used)),
            Failure::Other(message) => FunctionError::call(message),
        })?;
        Ok(text.with_marks(marks))
    }

    /// Builds a list of strings by applying a format to the elements of lists, one after another. Values that are not
    /// lists are used for every element.
    fn formatlist(format: Str, args: Rest<Raw>) -> Result<Value, FunctionError> {
        let mut marks = Marks::NONE;
        let args: Vec<Value> = args.0.iter().map(|a| a.0.unmark_deep(&mut marks)).collect();
        if args.iter().any(|a| a.ty().is_dynamic()) {
            return Ok(Value::unknown(Type::Dynamic).with_marks(marks));
        }
        let sequence = |v: &Value| matches!(v.ty(), Type::List(_) | Type::Set(_) | Type::Tuple(_));
        // How many elements a set has is open while some of them may turn out to be equal.
        let open = |v: &Value| {
            matches!(v.ty(), Type::Set(_)) && matches!(length_bounds(v), (min, max) if max != Some(min))
        };
        let mut length: Option<usize> = None;
        for (i, arg) in args.iter().enumerate().filter(|(_, a)| !open(a)) {
            let here = match (arg.items(), arg.ty()) {
                (Some(items), _) => items.len(),
                (None, Type::Tuple(types)) => types.len(),
                _ => continue,
            };
            if length.is_some_and(|n| n != here) {
                let message = format!("its length of {here} differs from that of the other lists");
                return Err(FunctionError::argument(1 + i, message));
            }
            length = Some(here);
        }
        if args.iter().any(|a| sequence(a) && (open(a) || !a.is_known())) {
            return Ok(Value::unknown_not_null(Type::list(Type::String)).with_marks(marks));
        }
        let mut size = 0;
        let mut results = Vec::new();
        for i in 0..length.unwrap_or(1) {
            let row: Vec<Value> =
                args.iter().map(|a| a.items().and_then(|items| items.get(i)).unwrap_or(a).clone()).collect();
            let text = format_one(&format, &row).map_err(|e| {
                let message = match e {
                    Failure::Unused { used } => too_many(used),
                    Failure::Other(message) => message,
                };
                FunctionError::call(if length.is_some() { format!("element {i}: {message}") } else { message })
            })?;
            size += text.as_str().map_or(0, str::len);
            if size > MAX_TEXT {
                return Err(FunctionError::call("the result would be too large"));
            }
            results.push(text);
        }
        Ok(Value::list(Type::String, results).with_marks(marks))
    }
}

enum Failure {
    /// More values were given than the format uses.
    Unused {
        used: usize,
    },
    Other(String),
}

impl From<String> for Failure {
    fn from(message: String) -> Failure {
        Failure::Other(message)
    }
}

fn too_many(used: usize) -> String {
    match used {
        0 => "the format has no verbs, so it takes no values".into(),
        1 => "the format uses 1 value only".into(),
        n => format!("the format uses {n} values only"),
    }
}

/// One verb of a format.
#[derive(Default)]
struct Verb {
    /// As written.
    text: String,
    zero: bool,
    sharp: bool,
    minus: bool,
    plus: bool,
    space: bool,
    width: usize,
    precision: Option<usize>,
    /// The value to use, from 1, if the verb says which.
    index: Option<usize>,
    letter: char,
}

/// The widest field and the most digits that a verb may ask for.
const MAX_WIDTH: usize = 1_000_000;

/// The formatted string; unknown if a value is.
fn format_one(format: &str, args: &[Value]) -> Result<Value, Failure> {
    if !args.iter().all(Value::is_wholly_known) {
        let start = format.split('%').next().unwrap_or("");
        return Ok(unknown_with_prefix(start));
    }
    let mut out = String::with_capacity(format.len() + 16);
    let mut rest = format;
    let (mut next, mut used) = (0, 0);
    while let Some(at) = rest.find('%') {
        let (before, from_verb) = rest.split_at(at);
        out.push_str(before);
        if let Some(after) = from_verb.strip_prefix("%%") {
            out.push('%');
            rest = after;
            continue;
        }
        let (verb, after) = parse_verb(from_verb, format.len() - from_verb.len())?;
        rest = after;
        let index = verb.index.map_or(next, |i| i - 1);
        next = index + 1;
        used = used.max(next);
        let value = args.get(index).ok_or_else(|| {
            format!("{} asks for value number {next}, but there are {} values only", verb.text, args.len())
        })?;
        verb.append(value, &mut out).map_err(|e| format!("{} cannot show this value: {e}", verb.text))?;
        if out.len() > MAX_TEXT {
            return Err(Failure::Other("the result would be too large".into()));
        }
    }
    out.push_str(rest);
    if used < args.len() {
        return Err(Failure::Unused { used });
    }
    Ok(Value::string(out))
}

/// Reads a verb from its `%` on; also returns what follows it. `offset` is where the verb is in the format.
fn parse_verb(source: &str, offset: usize) -> Result<(Verb, &str), String> {
    fn digits(s: &str) -> (&str, &str) {
        s.split_at(s.find(|c: char| !c.is_ascii_digit()).unwrap_or(s.len()))
    }
    fn limited(digits: &str) -> Result<usize, String> {
        match digits.parse() {
            _ if digits.is_empty() => Ok(0),
            Ok(n) if n <= MAX_WIDTH => Ok(n),
            _ => Err(format!("the format asks for more than {MAX_WIDTH} characters")),
        }
    }
    let mut verb = Verb::default();
    let mut rest = source.get(1..).unwrap_or("");
    while let Some(flag) = rest.chars().next() {
        match flag {
            '0' => verb.zero = true,
            '#' => verb.sharp = true,
            '-' => verb.minus = true,
            '+' => verb.plus = true,
            ' ' => verb.space = true,
            _ => break,
        }
        rest = rest.get(1..).unwrap_or("");
    }
    let (width, after) = digits(rest);
    verb.width = limited(width)?;
    rest = after;
    if let Some(after) = rest.strip_prefix('.') {
        let (precision, after) = digits(after);
        verb.precision = Some(limited(precision)?);
        rest = after;
    }
    if let Some(after) = rest.strip_prefix('[') {
        let (index, after) = digits(after);
        let after = after.strip_prefix(']').filter(|_| !index.is_empty() && !index.starts_with('0'));
        let Some(after) = after else {
            return Err(format!("the number in brackets at position {offset} of the format is not valid"));
        };
        verb.index = Some(index.parse().map_err(|_| format!("there is no value number {index}"))?);
        rest = after;
    }
    let Some(letter) = rest.chars().next() else {
        return Err(format!("the verb at position {offset} of the format is not complete"));
    };
    rest = rest.get(letter.len_utf8()..).unwrap_or("");
    verb.letter = letter;
    verb.text = source.get(..source.len() - rest.len()).unwrap_or("").to_owned();
    if !"vtbdoxXeEfgGsq".contains(letter) {
        return Err(format!("{:?} at position {offset} of the format is not a known verb", verb.text));
    }
    Ok((verb, rest))
}

impl Verb {
    fn append(&self, value: &Value, out: &mut String) -> Result<(), String> {
        if value.is_null() && self.letter != 'v' {
            return Err("it is null".into());
        }
        match self.letter {
            'v' => {
                let text = match value {
                    Value::String(s) if !self.sharp => s.to_string(),
                    Value::Number(n) if !self.sharp => n.to_text(Notation::General, None),
                    value => json_text(value)?,
                };
                self.pad(&text, out);
            }
            't' => out.push_str(if as_type(value, &Type::Bool)?.as_bool() == Some(true) { "true" } else { "false" }),
            's' | 'q' => {
                let string = as_type(value, &Type::String)?;
                let mut text = string.as_str().unwrap_or("");
                if let Some(most) = self.precision.filter(|p| *p > 0) {
                    let end = text.grapheme_indices(true).nth(most).map_or(text.len(), |(i, _)| i);
                    text = text.get(..end).unwrap_or("");
                }
                if self.letter == 's' {
                    self.pad(text, out);
                } else {
                    let mut quoted = String::new();
                    write_string(text, &mut quoted);
                    self.pad(&quoted, out);
                }
            }
            'e' | 'E' | 'f' | 'g' | 'G' => self.float(&number(value)?, out),
            _ => self.integer(&number(value)?, out)?,
        }
        Ok(())
    }

    /// Pads with spaces, or with zeros if asked to, on either side.
    fn pad(&self, text: &str, out: &mut String) {
        let missing = self.width.saturating_sub(text.graphemes(true).count());
        let padding = if self.zero { "0" } else { " " }.repeat(missing);
        if self.minus {
            out.push_str(text);
            out.push_str(&padding);
        } else {
            out.push_str(&padding);
            out.push_str(text);
        }
    }

    fn sign(&self, negative: bool) -> &'static str {
        match () {
            () if negative => "-",
            () if self.plus => "+",
            () if self.space => " ",
            () => "",
        }
    }

    fn integer(&self, n: &Number, out: &mut String) -> Result<(), String> {
        let (radix, prefix) = match self.letter {
            'b' => (2, "0b"),
            'o' => (8, "0"),
            'x' => (16, "0x"),
            'X' => (16, "0X"),
            _ => (10, ""),
        };
        let text = n.integer_text(radix).ok_or("a whole number is required")?;
        let mut digits = text.trim_start_matches('-').to_owned();
        if self.letter == 'X' {
            digits.make_ascii_uppercase();
        }
        if digits == "0" && self.precision == Some(0) {
            return Ok(());
        }
        let sign = self.sign(text.starts_with('-'));
        let prefix = if self.sharp { prefix } else { "" };
        let mut zeros = self.precision.unwrap_or(0).saturating_sub(digits.len());
        let missing = self.width.saturating_sub(sign.len() + prefix.len() + zeros + digits.len());
        let (mut left, mut right) = (0, 0);
        match () {
            () if self.minus => right = missing,
            () if self.zero && self.precision.is_none() => zeros += missing,
            () => left = missing,
        }
        out.extend(std::iter::repeat_n(' ', left));
        out.push_str(sign);
        out.push_str(prefix);
        out.extend(std::iter::repeat_n('0', zeros));
        out.push_str(&digits);
        out.extend(std::iter::repeat_n(' ', right));
        Ok(())
    }

    fn float(&self, n: &Number, out: &mut String) {
        let mut text = match self.letter {
            'f' => n.to_text(Notation::Fixed, Some(self.precision.unwrap_or(6))),
            'e' | 'E' => n.to_text(Notation::Exponent, Some(self.precision.unwrap_or(6))),
            _ => n.to_text(Notation::General, self.precision),
        };
        if matches!(self.letter, 'E' | 'G') && !n.is_infinite() {
            text.make_ascii_uppercase();
        }
        let (sign, digits) = match text.strip_prefix('+') {
            // Infinity always has a sign.
            Some(infinity) => (if self.space { " " } else { "+" }, infinity),
            None => (self.sign(text.starts_with('-')), text.trim_start_matches('-')),
        };
        let missing = self.width.saturating_sub(sign.len() + digits.len());
        let (mut left, mut zeros, mut right) = (0, 0, 0);
        match () {
            () if self.zero && !n.is_infinite() => zeros = missing,
            () if self.minus => right = missing,
            () => left = missing,
        }
        out.extend(std::iter::repeat_n(' ', left));
        out.push_str(sign);
        out.extend(std::iter::repeat_n('0', zeros));
        out.push_str(digits);
        out.extend(std::iter::repeat_n(' ', right));
    }
}

fn as_type(value: &Value, ty: &Type) -> Result<Value, String> {
    convert(value, ty).map_err(|e| e.to_string())
}

fn number(value: &Value) -> Result<Number, String> {
    as_type(value, &Type::Number)?
        .as_number()
        .cloned()
        .ok_or_else(|| format!("{} is required", described(&Type::Number)))
}

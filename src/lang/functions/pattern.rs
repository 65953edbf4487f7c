//! Regular expressions in the syntax and with the meaning of RE2 as Go has it, on top of the `regex` crate: `\d`, `\w`,
//! `\s` and `\b` are about ASCII, `[` and `&&` inside a class are literal, `\Q…\E` and octal escapes exist, and what
//! RE2 refuses is refused. Used by `regex`, `regexall` and `replace`.

use gpuform_schema::types::Type;
use gpuform_schema::value::{Str, Value};
use regex::{Captures, Regex, RegexBuilder};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// A compiled pattern.
pub(super) struct Pattern {
    regex: Regex,
    /// The name of each capture group.
    groups: Vec<Option<Str>>,
}

/// Largest bound of a repetition, and of the product of nested ones.
const MAX_REPEAT: u32 = 1000;
/// How deep groups may nest.
const MAX_DEPTH: usize = 1000;
/// How many compiled patterns are kept.
const CACHE: usize = 16;

thread_local! {
    static COMPILED: RefCell<HashMap<Str, Rc<Pattern>>> = RefCell::default();
}

impl Pattern {
    /// Compiles a pattern; those used last are kept, because a `for` expression uses one many times.
    pub fn new(source: &str) -> Result<Rc<Pattern>, String> {
        if let Some(known) = COMPILED.with_borrow(|cache| cache.get(source).cloned()) {
            return Ok(known);
        }
        let (translated, groups) = Translator::new(source).translate()?;
        let regex = RegexBuilder::new(&translated).nest_limit(2 * MAX_DEPTH as u32).build();
        let regex = regex.map_err(|e| match e {
            regex::Error::CompiledTooBig(_) => "the pattern is too large".to_owned(),
            e => e
                .to_string()
                .lines()
                .last()
                .unwrap_or("the pattern is not valid")
                .trim_start_matches("error: ")
                .to_owned(),
        })?;
        let pattern = Rc::new(Pattern { regex, groups });
        COMPILED.with_borrow_mut(|cache| {
            if cache.len() >= CACHE {
                cache.clear();
            }
            cache.insert(source.into(), pattern.clone());
        });
        Ok(pattern)
    }

    /// The type of what a match gives: the matched text if there are no groups, else a tuple of the groups' texts, or
    /// an object if the groups have names.
    pub fn result_type(&self) -> Result<Type, String> {
        let named = self.groups.iter().filter(|n| n.is_some()).count();
        if self.groups.is_empty() {
            Ok(Type::String)
        } else if named == 0 {
            Ok(Type::tuple(self.groups.iter().map(|_| Type::String)))
        } else if named == self.groups.len() {
            Ok(Type::object(self.groups.iter().flatten().map(|n| (n.clone(), Type::String))))
        } else {
            Err("either all groups must have names or none".to_owned())
        }
    }

    /// The value of the first match.
    pub fn first(&self, text: &str) -> Option<Value> {
        self.regex.captures(text).map(|c| self.value(&c))
    }

    /// The values of all matches.
    pub fn all(&self, text: &str) -> Vec<Value> {
        self.regex.captures_iter(text).map(|c| self.value(&c)).collect()
    }

    fn value(&self, captures: &Captures) -> Value {
        let group = |i: usize| match captures.get(i) {
            Some(m) => Value::string(m.as_str()),
            None => Value::Null(Type::String),
        };
        match self.groups.first() {
            None => group(0),
            Some(None) => Value::tuple((1..=self.groups.len()).map(group).collect()),
            Some(Some(_)) => {
                let named = self.groups.iter().enumerate();
                Value::object(named.filter_map(|(i, n)| Some((n.clone()?, group(i + 1)))).collect::<Vec<_>>())
            }
        }
    }

    /// How many matches there are.
    pub fn count(&self, text: &str) -> usize {
        self.regex.find_iter(text).count()
    }

    /// Replaces all matches. In the replacement `$1`, `${1}`, `$name` and `${name}` stand for groups, `$$` for `$`.
    /// `None` if the result would have more than `most` bytes.
    pub fn replace_all(&self, text: &str, replacement: &str, most: usize) -> Option<String> {
        let mut out = String::new();
        let mut copied = 0;
        for captures in self.regex.captures_iter(text) {
            let whole = captures.get(0)?;
            out.push_str(text.get(copied..whole.start())?);
            copied = whole.end();
            self.expand(&captures, replacement, most, &mut out)?;
        }
        out.push_str(text.get(copied..)?);
        Some(out).filter(|out| out.len() <= most.max(text.len()))
    }

    /// Appends the replacement of one match; `None` where `out` gets longer than `most` bytes.
    fn expand(&self, captures: &Captures, template: &str, most: usize, out: &mut String) -> Option<()> {
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('$') {
            out.push_str(before);
            rest = after;
            if let Some(after) = rest.strip_prefix('$') {
                out.push('$');
                rest = after;
                continue;
            }
            let is_name = |c: char| c == '_' || c.is_alphanumeric();
            let (name, after) = match rest.strip_prefix('{') {
                Some(inner) => {
                    let end = inner.find(|c| !is_name(c)).unwrap_or(inner.len());
                    let (name, after) = inner.split_at(end);
                    (name, after.strip_prefix('}'))
                }
                None => {
                    let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
                    let (name, after) = rest.split_at(end);
                    (name, Some(after))
                }
            };
            match after {
                Some(after) if !name.is_empty() => {
                    rest = after;
                    let group = self.group_text(captures, name);
                    if out.len() + group.len() > most {
                        return None;
                    }
                    out.push_str(group);
                }
                // Not the name of anything: the dollar sign is literal.
                _ => out.push('$'),
            }
        }
        out.push_str(rest);
        (out.len() <= most).then_some(())
    }

    fn group_text<'t>(&self, captures: &Captures<'t>, name: &str) -> &'t str {
        let numbered = |i: usize| captures.get(i).map(|m| m.as_str());
        let is_number = name == "0" || !name.starts_with('0');
        let found = match name.parse::<usize>() {
            Ok(i) if is_number => numbered(i),
            _ => {
                let named = self.groups.iter().enumerate().filter(|(_, n)| n.as_deref() == Some(name));
                named.filter_map(|(i, _)| numbered(i + 1)).next()
            }
        };
        found.unwrap_or("")
    }
}

/// From RE2 syntax to that of the `regex` crate.
struct Translator<'a> {
    source: &'a str,
    /// What is still to be read.
    rest: &'a str,
    out: String,
    groups: Vec<Option<Str>>,
    /// For each open group, the largest product of nested repetitions in it so far.
    open: Vec<u32>,
    /// The same of what is read at the current level.
    level: u32,
    /// What the next repetition would apply to.
    last: Last,
}

#[derive(Clone, Copy, PartialEq)]
enum Last {
    Nothing,
    /// Something that may be repeated, with the largest product of repetitions in it.
    Item(u32),
    Repetition,
}

type Step<T = ()> = Result<T, String>;

impl<'a> Translator<'a> {
    fn new(source: &'a str) -> Translator<'a> {
        Translator {
            source,
            rest: source,
            out: String::with_capacity(source.len() + 16),
            groups: Vec::new(),
            open: Vec::new(),
            level: 1,
            last: Last::Nothing,
        }
    }

    fn translate(mut self) -> Step<(String, Vec<Option<Str>>)> {
        while let Some(c) = self.next() {
            match c {
                '(' => self.open_group()?,
                ')' => {
                    let outer = self.open.pop().ok_or("there is a ) without a (")?;
                    self.out.push(')');
                    self.last = Last::Item(self.level);
                    self.level = self.level.max(outer);
                }
                '|' => {
                    self.out.push('|');
                    self.last = Last::Nothing;
                }
                '[' => {
                    self.class()?;
                    self.item();
                }
                '.' | '^' | '$' => {
                    self.out.push(c);
                    self.item();
                }
                '*' | '+' | '?' => self.repetition(&c.to_string(), 1)?,
                '{' => match self.counts() {
                    Some((text, most)) => self.repetition(&text, most?)?,
                    None => self.literal('{'),
                },
                '\\' => self.escape()?,
                c => self.literal(c),
            }
        }
        if !self.open.is_empty() {
            return Err("a ( is not closed".into());
        }
        Ok((self.out, self.groups))
    }

    fn next(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = self.rest.get(c.len_utf8()..).unwrap_or("");
        Some(c)
    }

    fn eat(&mut self, prefix: &str) -> bool {
        let after = self.rest.strip_prefix(prefix);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    fn item(&mut self) {
        self.last = Last::Item(1);
    }

    fn literal(&mut self, c: char) {
        push_literal(&mut self.out, c);
        self.item();
    }

    fn repetition(&mut self, operator: &str, most: u32) -> Step {
        let nested = match self.last {
            Last::Nothing => return Err(format!("there is nothing to repeat before {operator}")),
            Last::Repetition => return Err(format!("{operator} repeats a repetition")),
            Last::Item(nested) => nested,
        };
        let product = nested.saturating_mul(most.max(1));
        if product > MAX_REPEAT {
            return Err(format!("{operator} repeats more than {MAX_REPEAT} times"));
        }
        self.level = self.level.max(product);
        self.out.push_str(operator);
        if self.eat("?") {
            self.out.push('?');
        }
        self.last = Last::Repetition;
        Ok(())
    }

    /// The rest of `{2}`, `{2,}` or `{2,3}` with the larger bound; `None` if that is not what follows.
    fn counts(&mut self) -> Option<(String, Step<u32>)> {
        let (inner, after) = self.rest.split_once('}')?;
        let (min, max) = match inner.split_once(',') {
            None => (inner, Some(inner)),
            Some((min, "")) => (min, None),
            Some((min, max)) => (min, Some(max)),
        };
        let is_count =
            |n: &str| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()) && (n == "0" || !n.starts_with('0'));
        if !is_count(min) || !max.is_none_or(is_count) {
            return None;
        }
        self.rest = after;
        let number = |n: &str| n.parse().ok().filter(|n| *n <= MAX_REPEAT);
        let bounds = (number(min), max.map_or(Some(None), |m| number(m).map(Some)));
        let most = match bounds {
            (Some(min), Some(None)) => Ok(min),
            (Some(min), Some(Some(max))) if min <= max => Ok(max),
            _ => Err(format!("{{{inner}}} is not a valid repetition")),
        };
        Some((format!("{{{inner}}}"), most))
    }

    fn open_group(&mut self) -> Step {
        if self.open.len() >= MAX_DEPTH {
            return Err("groups nest too deeply".into());
        }
        if self.eat("?P<") || self.eat("?<") {
            let (name, after) = self.rest.split_once('>').ok_or("the name of a group is not closed")?;
            if name.is_empty() || !name.chars().all(|c| c == '_' || c.is_alphanumeric()) {
                return Err(format!("{name:?} is not a name for a group"));
            }
            self.rest = after;
            self.groups.push(Some(name.into()));
            self.out.push('(');
        } else if self.eat("?") {
            if !self.flags()? {
                return Ok(());
            }
        } else {
            self.groups.push(None);
            self.out.push('(');
        }
        self.open.push(self.level);
        self.level = 1;
        self.last = Last::Nothing;
        Ok(())
    }

    /// The rest of `(?i-s:` (a group is open then: true) or `(?i)` (false).
    fn flags(&mut self) -> Step<bool> {
        let mut flags = String::new();
        let (mut negative, mut any) = (false, false);
        loop {
            match self.next() {
                Some(c @ ('i' | 'm' | 's' | 'U')) => {
                    any = true;
                    flags.push(c);
                }
                Some('-') if !negative => {
                    negative = true;
                    any = false;
                    flags.push('-');
                }
                Some(end @ (':' | ')')) if any || !negative => {
                    if end == ')' && flags.is_empty() {
                        return Ok(false);
                    }
                    self.out.push_str("(?");
                    self.out.push_str(&flags);
                    self.out.push(end);
                    return Ok(end == ':');
                }
                _ => return Err("what follows (? is not supported".into()),
            }
        }
    }

    fn escape(&mut self) -> Step {
        if self.eat("Q") {
            let (quoted, after) = self.rest.split_once("\\E").unwrap_or((self.rest, ""));
            self.rest = after;
            for c in quoted.chars() {
                self.literal(c);
            }
            return Ok(());
        }
        let known = match self.rest.chars().next() {
            Some('A') => "\\A",
            Some('z') => "\\z",
            Some('b') => "(?-u:\\b)",
            Some('B') => "\\B",
            _ => "",
        };
        if !known.is_empty() {
            self.next();
            self.out.push_str(known);
        } else if let Some(class) = self.class_escape()? {
            self.out.push_str(&class);
        } else {
            let c = self.char_escape()?;
            push_literal(&mut self.out, c);
        }
        self.item();
        Ok(())
    }

    /// After a backslash: `d`, `W`, `pL`, `P{Greek}` and the like as a class.
    fn class_escape(&mut self) -> Step<Option<String>> {
        let simple = match self.rest.chars().next() {
            Some('d') => "[0-9]",
            Some('D') => "[^0-9]",
            Some('s') => "[\\t\\n\\x0C\\r ]",
            Some('S') => "[^\\t\\n\\x0C\\r ]",
            Some('w') => "[0-9A-Za-z_]",
            Some('W') => "[^0-9A-Za-z_]",
            Some('p' | 'P') => "",
            _ => return Ok(None),
        };
        let letter = self.next();
        if !simple.is_empty() {
            return Ok(Some(simple.to_owned()));
        }
        let name = if self.eat("{") {
            let (name, after) = self.rest.split_once('}').ok_or("the name of a character class is not closed")?;
            self.rest = after;
            name.to_owned()
        } else {
            self.next().ok_or("the name of a character class is missing")?.to_string()
        };
        let (name, inverse) = name.strip_prefix('^').map_or((&*name, false), |n| (n, true));
        const CATEGORIES: &str =
            " C Cc Cf Co Cs L Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps S Sc Sk Sm So Z Zl Zp Zs ";
        let plain = !name.is_empty() && name.chars().all(|c| c == '_' || c.is_ascii_alphabetic());
        let property = if name == "Any" || (plain && CATEGORIES.contains(&format!(" {name} "))) {
            name.to_owned()
        } else if plain && name.starts_with(|c: char| c.is_ascii_uppercase()) {
            format!("Script={name}")
        } else {
            return Err(format!("{name:?} is not a character class"));
        };
        let negated = (letter == Some('P')) != inverse;
        Ok(Some(format!("\\{}{{{property}}}", if negated { 'P' } else { 'p' })))
    }

    /// After a backslash: the one character that an escape stands for.
    fn char_escape(&mut self) -> Step<char> {
        let c = self.next().ok_or("a \\ at the end escapes nothing")?;
        let invalid = || format!("\\{c} is not a known escape sequence");
        Ok(match c {
            'a' => '\u{7}',
            'f' => '\u{c}',
            't' => '\t',
            'n' => '\n',
            'r' => '\r',
            'v' => '\u{b}',
            'x' => {
                let digits = if self.eat("{") {
                    let (digits, after) = self.rest.split_once('}').ok_or_else(invalid)?;
                    self.rest = after;
                    digits
                } else {
                    let digits = self.rest.get(..2).ok_or_else(invalid)?;
                    self.rest = self.rest.get(2..).unwrap_or("");
                    digits
                };
                let valid = (1..=8).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_hexdigit());
                let code = if valid { u32::from_str_radix(digits, 16).ok() } else { None };
                code.and_then(char::from_u32).ok_or_else(invalid)?
            }
            // A single digit other than 0 would refer to a group, which RE2 does not support.
            '0'..='7' if c == '0' || self.rest.starts_with(|d: char| ('0'..='7').contains(&d)) => {
                let mut code = c.to_digit(8).unwrap_or(0);
                for _ in 0..2 {
                    let Some(d) = self.rest.chars().next().and_then(|d| d.to_digit(8)) else { break };
                    code = code * 8 + d;
                    self.next();
                }
                char::from_u32(code).ok_or_else(invalid)?
            }
            c if c.is_ascii() && !c.is_ascii_alphanumeric() => c,
            _ => return Err(invalid()),
        })
    }

    /// After `[`: a whole class.
    fn class(&mut self) -> Step {
        self.out.push('[');
        if self.eat("^") {
            self.out.push('^');
        }
        let mut first = true;
        loop {
            if self.rest.is_empty() {
                return Err(format!("a [ is not closed in {:?}", self.source));
            }
            if !first && self.eat("]") {
                self.out.push(']');
                return Ok(());
            }
            first = false;
            if self.rest.starts_with("[:")
                && let Some((name, after)) = self.rest.get(2..).and_then(|r| r.split_once(":]"))
            {
                const NAMES: &str =
                    " alnum alpha ascii blank cntrl digit graph lower print punct space upper word xdigit ";
                let plain = name.strip_prefix('^').unwrap_or(name);
                if plain.is_empty() || plain.contains(' ') || !NAMES.contains(&format!(" {plain} ")) {
                    return Err(format!("[:{name}:] is not a character class"));
                }
                self.out.push_str(&format!("[:{name}:]"));
                self.rest = after;
                continue;
            }
            if let Some(escaped) = self.rest.strip_prefix('\\') {
                let before = std::mem::replace(&mut self.rest, escaped);
                if let Some(class) = self.class_escape()? {
                    self.out.push_str(&class);
                    continue;
                }
                self.rest = before;
            }
            let low = self.class_char()?;
            push_literal(&mut self.out, low);
            if self.rest.starts_with('-') && !self.rest.starts_with("-]") && self.rest.len() > 1 {
                self.next();
                let high = self.class_char()?;
                if high < low {
                    return Err(format!("{low}-{high} is not a range"));
                }
                self.out.push('-');
                push_literal(&mut self.out, high);
            }
        }
    }

    fn class_char(&mut self) -> Step<char> {
        match self.next() {
            Some('\\') => self.char_escape(),
            Some(c) => Ok(c),
            None => Err("a [ is not closed".into()),
        }
    }
}

/// Adds a character that stands for itself, inside and outside of classes.
fn push_literal(out: &mut String, c: char) {
    if c.is_ascii_punctuation() && !matches!(c, '<' | '>' | '_') {
        out.push('\\');
    }
    out.push(c);
}

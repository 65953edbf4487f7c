//! `yamldecode` and `yamlencode`. Reading takes events from a parser and gives scalars the meaning that they have in
//! Terraform: that of YAML 1.1, but with its bools and numbers in the forms most people expect. Writing reproduces
//! Terraform's text exactly, since it often ends up in user data of instances, which must not change; it is in
//! `yaml_writer.rs`.

use super::datetime::{Time, parse_offset};
use super::encoding::decode_base64;
use super::signature::{Nullable, Typed, functions};
use super::{FunctionError, limits, yaml_writer};
use gpuform_schema::number::Number;
use gpuform_schema::types::Type;
use gpuform_schema::value::{Str, Value, nfc};
use saphyr_parser::{Event, Parser, ScalarStyle, Tag};
use std::collections::{BTreeMap, HashMap};

functions! {
    /// Reads a value from YAML.
    fn yamldecode(src: Str) -> Result<Value, FunctionError> {
        let source = src.strip_prefix('\u{feff}').unwrap_or(&src);
        decode(source).map_err(|e| FunctionError::call(format!("this is not valid YAML: {e}")))
    }

    /// Writes a value as YAML.
    fn yamlencode(value: Nullable) -> Typed<Str> {
        if !value.0.is_wholly_known() {
            return Typed::unknown();
        }
        Typed::new(Value::string(yaml_writer::document(&value.0)))
    }
}

/// A collection whose end has not come yet.
struct Open {
    anchor: usize,
    kind: OpenKind,
}

enum OpenKind {
    Sequence(Vec<Value>),
    /// The entries so far and the key that waits for its value.
    Mapping(BTreeMap<Str, Value>, Option<Key>),
}

enum Key {
    Name(Str),
    /// `<<`: the entries of the value become entries of this mapping.
    Merge,
}

/// How many values a document may have once aliases are replaced by what they stand for.
const MAX_VALUES: usize = limits::MAX_PARTS as usize;
/// How deep collections may nest.
const MAX_DEPTH: usize = 1_000;

fn decode(source: &str) -> Result<Value, String> {
    let mut stack: Vec<Open> = Vec::new();
    let mut anchors: HashMap<usize, (Value, usize)> = HashMap::new();
    let mut document: Option<Value> = None;
    let mut size = 0;
    let length = source.chars().count();
    for event in Parser::new_from_str(source) {
        let (event, span) = event.map_err(|e| e.to_string())?;
        let line = span.start.line();
        let at = |message: String| format!("line {line}: {message}");
        let (value, anchor) = match event {
            Event::DocumentStart(_) if document.is_some() => {
                return Err("there must be one document only, but there are more".into());
            }
            Event::Alias(id) => {
                let (value, count) = anchors
                    .get(&id)
                    .cloned()
                    .ok_or_else(|| at("an alias stands for nothing, or for the collection that it is in".into()))?;
                size += count;
                (value, 0)
            }
            Event::Scalar(text, style, anchor, tag) => {
                let merge = text == "<<" && tag.is_none();
                if let Some(Open { kind: OpenKind::Mapping(_, key @ None), .. }) = stack.last_mut()
                    && merge
                {
                    *key = Some(Key::Merge);
                    continue;
                }
                size += 1;
                // A block at the very end, without a newline in the source, has none in its value.
                let block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
                let cut = block && !source.ends_with('\n') && span.end.index() >= length;
                let text = if cut { text.strip_suffix('\n').unwrap_or(&text) } else { &text };
                (scalar(text, style, tag.as_deref()).map_err(at)?, anchor)
            }
            Event::SequenceStart(anchor, tag) => {
                check_tag(tag.as_deref(), "seq").map_err(at)?;
                stack.push(Open { anchor, kind: OpenKind::Sequence(Vec::new()) });
                continue;
            }
            Event::MappingStart(anchor, tag) => {
                check_tag(tag.as_deref(), "map").map_err(at)?;
                stack.push(Open { anchor, kind: OpenKind::Mapping(BTreeMap::new(), None) });
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(open) = stack.pop() else { continue };
                size += 1;
                let value = match open.kind {
                    OpenKind::Sequence(items) => Value::tuple(items),
                    OpenKind::Mapping(entries, _) => Value::object(entries),
                };
                (value, open.anchor)
            }
            _ => continue,
        };
        if size > MAX_VALUES || stack.len() > MAX_DEPTH {
            return Err("the document is too large once its aliases are replaced, or nested too deeply".into());
        }
        if anchor > 0 {
            anchors.insert(anchor, (value.clone(), count(&value)));
        }
        match stack.last_mut() {
            None => document = Some(value),
            Some(Open { kind: OpenKind::Sequence(items), .. }) => items.push(value),
            Some(Open { kind: OpenKind::Mapping(entries, waiting), .. }) => match waiting.take() {
                None => *waiting = Some(Key::Name(key(value).map_err(at)?)),
                Some(Key::Name(name)) => {
                    entries.insert(name, value);
                }
                Some(Key::Merge) => {
                    let Value::Object(merged) = &value else {
                        return Err(at("only a mapping can be merged into a mapping".into()));
                    };
                    entries.extend(merged.iter().map(|(n, v)| (n.clone(), v.clone())));
                }
            },
        }
    }
    document.ok_or_else(|| "there is no document".into())
}

fn count(value: &Value) -> usize {
    let mut n = 0;
    value.visit(&mut |_| {
        n += 1;
        n <= MAX_VALUES
    });
    n
}

fn key(value: Value) -> Result<Str, String> {
    match value {
        Value::String(s) => Ok(s),
        Value::Number(n) => Ok(n.to_string().into()),
        Value::Bool(b) => Ok(b.to_string().into()),
        Value::Null(_) => Err("a key must not be null".into()),
        _ => Err("only strings can be keys".into()),
    }
}

/// The name of a tag of the core schema, e.g. `str`; other tags are errors.
fn core_tag(tag: Option<&Tag>) -> Result<Option<&str>, String> {
    const CORE: &str = "tag:yaml.org,2002:";
    let Some(tag) = tag else { return Ok(None) };
    let name = match tag.handle.as_str() {
        CORE => Some(tag.suffix.as_str()),
        "" => tag.suffix.strip_prefix(CORE),
        _ => None,
    };
    match name {
        Some(name) => Ok(Some(name)),
        None => Err(format!("the tag {:?} is not supported", format!("{}{}", tag.handle, tag.suffix))),
    }
}

fn check_tag(tag: Option<&Tag>, allowed: &str) -> Result<(), String> {
    match core_tag(tag)? {
        Some(name) if name != allowed => Err(format!("a collection cannot be of the type {name}")),
        _ => Ok(()),
    }
}

fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Result<Value, String> {
    let tag = core_tag(tag)?;
    if let Some(tag) = tag
        && !matches!(tag, "str" | "null" | "bool" | "int" | "float" | "binary" | "timestamp")
    {
        return Err(format!("a scalar cannot be of the type {tag}"));
    }
    if tag == Some("binary") && decode_base64(text).is_none() {
        return Err(format!("{text:?} is not valid base64"));
    }
    match (style, tag) {
        // An empty block is not an empty string in Terraform.
        (ScalarStyle::Literal | ScalarStyle::Folded, None) if text.is_empty() => Ok(Value::Null(Type::String)),
        (ScalarStyle::Plain, None) => plain(text),
        (ScalarStyle::Plain, Some("null")) => Ok(Value::null()),
        (ScalarStyle::Plain, Some(tag @ ("bool" | "int" | "float" | "timestamp"))) => match plain(text)? {
            Value::String(s) if tag != "timestamp" || &*s == text => Err(format!("{text:?} is not of the type {tag}")),
            value => Ok(value),
        },
        _ => Ok(Value::String(nfc(text))),
    }
}

/// What a scalar without quotes means.
fn plain(text: &str) -> Result<Value, String> {
    Ok(match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::null(),
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => Value::TRUE,
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => Value::FALSE,
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Value::Number(Number::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => Value::Number(Number::NEGATIVE_INFINITY),
        ".nan" | ".NaN" | ".NAN" => return Err("there is no number that is not a number".into()),
        text => match number(text) {
            Some(n) => Value::Number(n),
            None => match timestamp(text) {
                Some(time) => Value::string(time.to_text()),
                None => Value::String(nfc(text)),
            },
        },
    })
}

fn number(text: &str) -> Option<Number> {
    let digits = |s: &str, radix: u32| !s.is_empty() && s.chars().all(|c| c.is_digit(radix));
    if let Some(hex) = text.strip_prefix("0x") {
        return digits(hex, 16).then(|| Number::parse_radix(hex, 16)).flatten();
    }
    if let Some(octal) = text.strip_prefix("0o") {
        return digits(octal, 8).then(|| Number::parse_radix(octal, 8)).flatten();
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).map_or((unsigned, None), |(m, e)| (m, Some(e)));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mantissa_fits = match (whole, fraction) {
        ("", fraction) => digits(fraction, 10),
        (whole, fraction) => digits(whole, 10) && (fraction.is_empty() || digits(fraction, 10)),
    };
    let exponent_fits = exponent.is_none_or(|e| digits(e.strip_prefix(['+', '-']).unwrap_or(e), 10));
    (mantissa_fits && exponent_fits).then(|| Number::parse(text)).flatten()
}

/// A date such as `2001-12-14`, or a date and time.
fn timestamp(text: &str) -> Option<Time> {
    let (date, clock) = match text.find(['T', 't', ' ']) {
        None => (text, None),
        Some(at) => (text.get(..at)?, Some((text.get(at..at + 1)?, text.get(at + 1..)?))),
    };
    let short = |s: &str| (1..=2).contains(&s.len()).then(|| digits(s)).flatten();
    let mut parts = date.split('-');
    let year = parts.next().filter(|y| y.len() == 4).and_then(digits)?;
    let (month, day) = (short(parts.next()?)?, short(parts.next()?)?);
    if parts.next().is_some() {
        return None;
    }
    let Some((separator, clock)) = clock else { return Time::from_parts([year, month, day, 0, 0, 0], 0, 0) };
    let (clock, offset) = match separator {
        " " => (clock, 0),
        _ => {
            let zone = clock.find(['Z', '+', '-'])?;
            (clock.get(..zone)?, parse_offset(clock.get(zone..)?)?)
        }
    };
    let mut parts = clock.splitn(3, ':');
    let (hour, minute, seconds) = (short(parts.next()?)?, short(parts.next()?)?, parts.next()?);
    let (second, fraction) = seconds.split_once('.').map_or((seconds, None), |(s, f)| (s, Some(f)));
    if fraction.is_some_and(|f| digits(f).is_none()) {
        return None;
    }
    Time::from_parts([year, month, day, hour, minute, short(second)?], 0, offset)
}

fn digits(s: &str) -> Option<i64> {
    let valid = !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    if valid { s.get(..s.len().min(18))?.parse().ok() } else { None }
}

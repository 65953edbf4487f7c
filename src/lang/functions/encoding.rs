//! Functions that encode and decode: JSON, base64, URLs. YAML is in `yaml.rs`, CSV in `csv.rs`, character encodings in
//! `charset.rs`.

use super::signature::{Nullable, Typed, functions};
use super::{FunctionError, deflate, json_text, limits};
use crate::lang::ops::unknown_with_prefix;
use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use flate2::Crc;
use gpuform_schema::json;
use gpuform_schema::value::{Str, Value};
use std::fmt::Write;

functions! {
    /// Decodes a string from base64. The result must be valid UTF-8.
    fn base64decode(str: Str) -> Result<String, FunctionError> {
        let bytes = decode_base64(&str).ok_or_else(|| FunctionError::call("the string is not valid base64"))?;
        String::from_utf8(bytes).map_err(|_| FunctionError::call("what the base64 stands for is not valid UTF-8"))
    }

    /// Encodes a string, as UTF-8, in base64.
    fn base64encode(str: Str) -> String {
        encode_base64(str.as_bytes())
    }

    /// Decompresses what base64 and gzip were applied to. The result must be valid UTF-8.
    fn base64gunzip(str: Str) -> Result<String, FunctionError> {
        let bytes = decode_base64(&str).ok_or_else(|| FunctionError::call("the string is not valid base64"))?;
        let mut text = String::new();
        let limited = std::io::Read::take(flate2::read::GzDecoder::new(&bytes[..]), super::MAX_TEXT as u64 + 1);
        std::io::Read::read_to_string(&mut { limited }, &mut text)
            .map_err(|e| FunctionError::call(format!("the data cannot be decompressed: {e}")))?;
        if text.len() > super::MAX_TEXT {
            return Err(FunctionError::call("the result would be too large"));
        }
        Ok(text)
    }

    /// Compresses a string with gzip and encodes the result in base64.
    fn base64gzip(str: Str) -> String {
        encode_base64(&gzip(str.as_bytes()))
    }

    /// Reads a value from JSON.
    fn jsondecode(str: Str) -> Result<Value, FunctionError> {
        limits::check_count(json_parts(&str)).map_err(FunctionError::call)?;
        json::decode_untyped(&*str).map_err(|e| FunctionError::call(format!("this is not valid JSON: {e}")))
    }

    /// Writes a value as JSON.
    fn jsonencode(val: Nullable) -> Result<Typed<Str>, FunctionError> {
        let value = val.0;
        if !value.is_wholly_known() {
            let start = if value.items().is_some() { "[" } else { "{" };
            return Ok(Typed::new(unknown_with_prefix(start)));
        }
        json_text(&value).map(|s| Typed::new(Value::string(s))).map_err(FunctionError::call)
    }

    /// Decodes a string from the form that `urlencode` gives it.
    fn urldecode(str: Str) -> Result<String, FunctionError> {
        let invalid = || FunctionError::call("the string is not the encoded form of a text");
        let mut bytes = Vec::with_capacity(str.len());
        let mut rest = str.bytes();
        while let Some(b) = rest.next() {
            bytes.push(match b {
                b'+' => b' ',
                b'%' => {
                    let digit = |b: Option<u8>| b.and_then(|b| char::from(b).to_digit(16)).ok_or_else(invalid);
                    (digit(rest.next())? * 16 + digit(rest.next())?) as u8
                }
                b => b,
            });
        }
        String::from_utf8(bytes).map_err(|_| invalid())
    }

    /// Encodes a string so that it can be part of a URL: a space becomes `+`, and every byte that is not a letter, a
    /// digit or one of `-_.~` becomes `%` with two hexadecimal digits.
    fn urlencode(str: Str) -> String {
        let mut out = String::with_capacity(str.len());
        for b in str.bytes() {
            match b {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(char::from(b)),
                b' ' => out.push('+'),
                b => {
                    let _ = write!(out, "%{b:02X}");
                }
            }
        }
        out
    }
}

/// With padding required, but not zero bits in it.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireCanonical),
);

/// About how many values a JSON text has: at least as many, and at most as many as it has commas and brackets outside
/// of strings.
fn json_parts(text: &str) -> usize {
    let (mut parts, mut quoted, mut escaped) = (1, false, false);
    for b in text.bytes() {
        match b {
            _ if escaped => escaped = false,
            b'\\' => escaped = quoted,
            b'"' => quoted = !quoted,
            b',' | b'[' | b'{' if !quoted => parts += 1,
            _ => {}
        }
    }
    parts
}

pub(super) fn encode_base64(bytes: &[u8]) -> String {
    BASE64.encode(bytes)
}

/// Decodes base64, in which line ends are ignored.
pub(super) fn decode_base64(text: &str) -> Option<Vec<u8>> {
    if text.contains(['\r', '\n']) {
        let joined: String = text.chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
        return BASE64.decode(joined).ok();
    }
    BASE64.decode(text).ok()
}

/// The gzip form of the data as Terraform makes it: without a name or time, the data flushed before the end, and an
/// empty last block.
fn gzip(data: &[u8]) -> Vec<u8> {
    const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
    const LAST_BLOCK: [u8; 5] = [1, 0, 0, 0xff, 0xff];
    let mut out = HEADER.to_vec();
    out.extend(deflate::compress(data));
    out.extend(LAST_BLOCK);
    let mut crc = Crc::new();
    crc.update(data);
    out.extend(crc.sum().to_le_bytes());
    out.extend((data.len() as u32).to_le_bytes());
    out
}

//! Functions that read files, and those about their names. File names are relative to the working directory; `~` at
//! the start of one is the home directory. Patterns of file names are in `glob.rs`.

use super::crypto::hex;
use super::encoding::encode_base64;
use super::glob;
use super::signature::{Open, SetOf, Typed, functions};
use super::{FunctionContext, FunctionError};
use gpuform_schema::types::Type;
use gpuform_schema::value::{Str, Value};
use md5::Md5;
use sha1::{Digest, Sha1};
use sha2::{Sha256, Sha512};
use std::io::{self, Read};
use std::path::PathBuf;

functions! {
    /// The absolute form of a file name.
    fn abspath(ctx: &FunctionContext, path: Str) -> String {
        let joined = ctx.base_dir.join(&*path);
        let absolute = std::path::absolute(&joined).unwrap_or(joined);
        clean(&absolute.to_string_lossy())
    }

    /// The last part of a file name.
    fn basename(path: Str) -> String {
        let trimmed = path.trim_end_matches('/');
        match (trimmed.rsplit('/').next(), trimmed.is_empty()) {
            (_, true) if path.is_empty() => ".".into(),
            (_, true) => "/".into(),
            (last, false) => last.unwrap_or("").into(),
        }
    }

    /// A file name without its last part.
    fn dirname(path: Str) -> String {
        clean(path.rsplit_once('/').map_or("", |(dir, _)| if dir.is_empty() { "/" } else { dir }))
    }

    /// The content of a file, which must be valid UTF-8.
    fn file(ctx: &FunctionContext, path: Str) -> Result<String, FunctionError> {
        text(ctx, &path)
    }

    /// The content of a file in base64.
    fn filebase64(ctx: &FunctionContext, path: Str) -> Result<String, FunctionError> {
        Ok(encode_base64(&content(ctx, &path)?))
    }

    /// The SHA-256 hash of a file in base64.
    fn filebase64sha256(ctx: &FunctionContext, path: Str) -> Result<String, FunctionError> {
        Ok(encode_base64(&hash::<Sha256>(ctx, &path)?))
    }

    /// The SHA-512 hash of a file in base64.
    fn filebase64sha512(ctx: &FunctionContext, path: Str) -> Result<String, FunctionError> {
        Ok(encode_base64(&hash::<Sha512>(ctx, &path)?))
    }

    /// Tells whether there is a file of a name. It is an error if it is a folder.
    fn fileexists(ctx: &FunctionContext, path: Str) -> Result<bool, FunctionError> {
        let failed = |why: String| FunctionError::call(format!("{path:?} {why}"));
        let full = locate(ctx, &path).map_err(|e| failed(format!("cannot be found: {e}")))?;
        match full.metadata() {
            Ok(m) if m.is_dir() => Err(failed("is a folder, not a file".into())),
            Ok(m) if m.is_file() => Ok(true),
            Ok(_) => Err(failed("is not a regular file".into())),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(e) => Err(failed(format!("cannot be looked up: {e}"))),
        }
    }

    /// The MD5 hash of a file in hexadecimal digits.
    fn filemd5(ctx: &FunctionContext, path: Str) -> Result<String, FunctionError> {
        Ok(hex(&hash::<Md5>(ctx, &path)?))
    }

    /// The names of the files in a folder that a pattern fits: `*` and `?` stand for characters of a name, `**` for any
    /// folders, `{a,b}` for alternatives, `[a-z]` for a character of a class.
    fn fileset(ctx: &FunctionContext, path: Str, pattern: Str) -> Result<Typed<SetOf<Str>>, FunctionError> {
        let base = locate(ctx, &path).map_err(FunctionError::call)?;
        let found = glob::files(&base, &pattern).map_err(|e| FunctionError::call(format!("the pattern {e}")))?;
        Ok(Typed::new(Value::set(Type::String, found.into_iter().map(Value::string).collect())))
    }

    /// The SHA-1 hash of a file in hexadecimal digits.
    fn filesha1(ctx: &FunctionContext, path: Str) -> Result<String, FunctionError> {
        Ok(hex(&hash::<Sha1>(ctx, &path)?))
    }

    /// The SHA-256 hash of a file in hexadecimal digits.
    fn filesha256(ctx: &FunctionContext, path: Str) -> Result<String, FunctionError> {
        Ok(hex(&hash::<Sha256>(ctx, &path)?))
    }

    /// The SHA-512 hash of a file in hexadecimal digits.
    fn filesha512(ctx: &FunctionContext, path: Str) -> Result<String, FunctionError> {
        Ok(hex(&hash::<Sha512>(ctx, &path)?))
    }

    /// A file name with `~` at its start replaced by the home directory.
    fn pathexpand(ctx: &FunctionContext, path: Str) -> Result<String, FunctionError> {
        if !path.starts_with('~') {
            return Ok(path.to_string());
        }
        let home = expand(ctx, &path).map_err(FunctionError::call)?;
        Ok(clean(&home))
    }

    /// Renders a file as a template, with the given variables.
    fn templatefile(ctx: &FunctionContext, path: Str, vars: Open) -> Result<Value, FunctionError> {
        if !vars.value.is_known() {
            return Ok(Value::unknown(Type::Dynamic).with_marks(vars.value.marks()));
        }
        render(ctx, &text(ctx, &path)?, &path, vars)
    }

    /// Renders a string as a template, with the given variables.
    fn templatestring(
        ctx: &FunctionContext,
        /// A direct reference to the string that holds the template.
        template: Str,
        /// An object whose attributes are the variables of the template.
        vars: Open,
    ) -> Result<Value, FunctionError> {
        render(ctx, &template, "<templatestring argument>", vars)
    }
}

fn render(ctx: &FunctionContext, source: &str, name: &str, vars: Open) -> Result<Value, FunctionError> {
    let mut marks = gpuform_schema::value::Marks::NONE;
    let vars = vars.value.unmark_deep(&mut marks);
    if !vars.is_known() {
        return Ok(Value::unknown(Type::Dynamic).with_marks(marks));
    }
    if vars.entries().is_none() {
        return Err(FunctionError::argument(1, "an object or map is required"));
    }
    let templates = ctx.templates.ok_or_else(|| FunctionError::call("templates cannot be rendered here"))?;
    templates.render(source, name, &vars).map(|v| v.with_marks(marks))
}

/// `~` and `~/…` with the home directory.
fn expand(ctx: &FunctionContext, path: &str) -> Result<String, String> {
    let Some(rest) = path.strip_prefix('~') else { return Ok(path.to_owned()) };
    if !rest.is_empty() && !rest.starts_with('/') {
        return Err("the home directory of another user cannot be found".into());
    }
    let home = ctx.home.ok_or("the home directory is not known")?;
    Ok(format!("{}{rest}", home.display()))
}

fn locate(ctx: &FunctionContext, path: &str) -> Result<PathBuf, String> {
    Ok(ctx.base_dir.join(expand(ctx, path)?))
}

/// The shortest name of the same file by its text alone: without `.`, double slashes and inner `..`.
fn clean(path: &str) -> String {
    let absolute = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|p| *p != "..") => {
                parts.pop();
            }
            ".." if absolute => {}
            part => parts.push(part),
        }
    }
    let joined = parts.join("/");
    match (absolute, joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".into(),
        (false, false) => joined,
    }
}

fn read(ctx: &FunctionContext, path: &str) -> Result<Vec<u8>, String> {
    crate::input::read(&locate(ctx, path)?).map_err(|e| unreadable(path, &e))
}

fn unreadable(path: &str, e: &io::Error) -> String {
    match e.kind() {
        io::ErrorKind::NotFound => format!(
            "there is no file {path:?}; files that another resource makes cannot be read, since functions run before"
        ),
        io::ErrorKind::IsADirectory => format!("{path:?} is a folder"),
        _ => format!("{path:?} cannot be read: {e}"),
    }
}

fn content(ctx: &FunctionContext, path: &str) -> Result<Vec<u8>, FunctionError> {
    read(ctx, path).map_err(|e| FunctionError::argument(0, e))
}

fn text(ctx: &FunctionContext, path: &str) -> Result<String, FunctionError> {
    String::from_utf8(content(ctx, path)?).map_err(|_| {
        FunctionError::call(format!("{path:?} is not valid UTF-8; filebase64 and the hash functions read any file"))
    })
}

fn hash<H: Digest>(ctx: &FunctionContext, path: &str) -> Result<Vec<u8>, FunctionError> {
    let failed = |e: io::Error| FunctionError::call(unreadable(path, &e));
    let full = locate(ctx, path).map_err(FunctionError::call)?;
    let (file, most) = crate::input::open(&full).map_err(failed)?;
    let mut file = file.take(most);
    let (mut hash, mut part) = (H::new(), vec![0; 64 << 10]);
    loop {
        match file.read(&mut part) {
            Ok(0) => return Ok(hash.finalize().to_vec()),
            Ok(n) => hash.update(part.get(..n).unwrap_or_default()),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(failed(e)),
        }
    }
}

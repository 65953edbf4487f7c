//! `file` and `remote-exec`: what is copied to a machine, and what runs there.

use crate::engine::provision::connection::{Connection, Platform};
use crate::engine::provision::ssh::{Session, quoted};
use crate::engine::provision::{Lines, attribute, text};
use gpuform_schema::schema::Block;
use gpuform_schema::{Type, Value};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

pub static FILE: LazyLock<Block> = LazyLock::new(|| Block {
    attributes: [
        ("source".into(), attribute(Type::String, false)),
        ("content".into(), attribute(Type::String, false)),
        ("destination".into(), attribute(Type::String, true)),
    ]
    .into(),
    ..Block::default()
});

pub static REMOTE_EXEC: LazyLock<Block> = LazyLock::new(|| Block {
    attributes: [
        ("inline".into(), attribute(Type::list(Type::String), false)),
        ("script".into(), attribute(Type::String, false)),
        ("scripts".into(), attribute(Type::list(Type::String), false)),
    ]
    .into(),
    ..Block::default()
});

/// What is wrong with arguments that exclude each other: summary and detail. Unknown ones count as given.
pub fn check(ty: &str, value: &Value) -> Result<(), (&'static str, &'static str)> {
    let given = |name: &str| value.get(name).is_some_and(|v| !v.unmark().0.is_null());
    match ty {
        "file" => match (given("source"), given("content")) {
            (true, true) => Err(("Cannot set both 'source' and 'content'", "A file is copied or written, not both.")),
            (false, false) => {
                Err(("Must provide one of 'source' or 'content'", "There is nothing to copy or to write."))
            }
            _ => Ok(()),
        },
        "remote-exec" => match ["inline", "script", "scripts"].iter().filter(|n| given(n)).count() {
            1 => Ok(()),
            _ => Err((
                "Invalid remote-exec provisioner configuration",
                "Exactly one of \"inline\", \"script\" and \"scripts\" says what runs.",
            )),
        },
        _ => Ok(()),
    }
}

/// Something to put on the machine.
pub enum Upload {
    Text {
        content: Vec<u8>,
        destination: String,
    },
    File {
        source: PathBuf,
        destination: String,
    },
    /// Into a directory of the source's name below the destination where that exists, else as the destination; with
    /// `contents`, what is in the source goes right into the destination.
    Directory {
        source: PathBuf,
        destination: String,
        contents: bool,
    },
}

impl Upload {
    /// What a `file` block asks for; relative sources start from `base`.
    ///
    /// # Errors
    /// Something is not there.
    pub fn read(value: &Value, base: &Path) -> Result<Upload, String> {
        let destination = text(value, "destination").filter(|d| !d.is_empty());
        let destination = destination.ok_or("The argument \"destination\" is empty.")?;
        if let Some(content) = text(value, "content") {
            if destination.ends_with('/') {
                return Err(format!(
                    "\"destination\" must name a file for \"content\", but {destination} is a directory."
                ));
            }
            return Ok(Upload::Text { content: content.into_bytes(), destination });
        }
        let written = text(value, "source").unwrap_or_default();
        let source = base.join(&written);
        let metadata = std::fs::metadata(&source).map_err(|e| format!("\"source\" {written}: {e}."))?;
        Ok(match metadata.is_dir() {
            true => Upload::Directory { source, destination, contents: written.ends_with('/') },
            false => Upload::File { source, destination },
        })
    }

    /// Copies it.
    ///
    /// # Errors
    /// What could not be read or stored.
    pub async fn send(self, session: &mut Session) -> Result<(), String> {
        match self {
            Upload::Text { content, destination } => write(session, &destination, &content).await,
            Upload::File { source, destination } => {
                let destination = match destination.strip_suffix('/') {
                    Some(directory) => format!("{directory}/{}", name(&source)),
                    None => destination,
                };
                send_file(session, &source, &destination).await
            }
            Upload::Directory { source, destination, contents } => {
                let below = !contents && session.is_directory(&destination).await? && !destination.ends_with("/.");
                let destination = destination.trim_end_matches('/');
                let target = if below { format!("{destination}/{}", name(&source)) } else { destination.to_owned() };
                send_directory(session, &source, &target).await
            }
        }
    }
}

fn name(path: &Path) -> String {
    path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default()
}

async fn write(session: &mut Session, destination: &str, content: &[u8]) -> Result<(), String> {
    if session.is_directory(destination).await? {
        return Err(format!("{destination} is a directory on the host; name the file to write."));
    }
    session.write(destination, content, false).await.map_err(|e| format!("{destination} cannot be written: {e}."))
}

async fn send_file(session: &mut Session, source: &Path, destination: &str) -> Result<(), String> {
    let content = tokio::fs::read(source).await.map_err(|e| format!("{}: {e}.", source.display()))?;
    write(session, destination, &content).await
}

/// Copies a directory and all below it; links are followed.
async fn send_directory(session: &mut Session, source: &Path, destination: &str) -> Result<(), String> {
    let mut pending = vec![(source.to_owned(), destination.to_owned())];
    while let Some((from, to)) = pending.pop() {
        session.make_directory(&to).await.map_err(|e| format!("The directory {to} cannot be made: {e}."))?;
        let failed = |e: std::io::Error| format!("{}: {e}.", from.display());
        let mut entries: Vec<PathBuf> =
            std::fs::read_dir(&from).and_then(|d| d.map(|e| e.map(|e| e.path())).collect()).map_err(failed)?;
        entries.sort();
        for entry in entries {
            let target = format!("{to}/{}", name(&entry));
            match entry.is_dir() {
                true => pending.push((entry, target)),
                false => send_file(session, &entry, &target).await?,
            }
        }
    }
    Ok(())
}

/// The scripts of a `remote-exec` block, in order.
///
/// # Errors
/// One is empty or cannot be read.
pub fn scripts(value: &Value, base: &Path) -> Result<Vec<Vec<u8>>, String> {
    let list = |name: &str| -> Result<Option<Vec<String>>, String> {
        let Some(items) = value.get(name).and_then(Value::items) else { return Ok(None) };
        let text = |v: &Value| v.as_str().filter(|s| !s.is_empty()).map(str::to_owned);
        let all: Option<Vec<String>> = items.iter().map(text).collect();
        all.map(Some).ok_or_else(|| format!("An element of \"{name}\" is null or empty."))
    };
    if let Some(lines) = list("inline")? {
        if lines.is_empty() {
            return Err("\"inline\" has no command.".into());
        }
        return Ok(vec![(lines.join("\n") + "\n").into_bytes()]);
    }
    let paths = match list("scripts")? {
        Some(paths) => paths,
        None => vec![text(value, "script").filter(|s| !s.is_empty()).ok_or("\"script\" is empty.")?],
    };
    let read = |p: &String| std::fs::read(base.join(p)).map_err(|e| format!("The script {p} cannot be read: {e}."));
    paths.iter().map(read).collect()
}

/// Runs a script on the machine: it is stored there under a name of its own, and removed afterwards.
///
/// # Errors
/// It could not be stored, or did not succeed.
pub async fn run_script(
    session: &mut Session,
    connection: &Connection,
    mut script: Vec<u8>,
    lines: &mut Lines<'_>,
) -> Result<(), String> {
    let random = uuid::Uuid::new_v4().as_u128() as u32;
    let path = connection.script_path.replace("%RAND%", &random.to_string());
    let command = match connection.platform {
        // A name alone would be looked for among the installed programs.
        Platform::Unix if !path.contains('/') => quoted(&format!("./{path}")),
        Platform::Unix => quoted(&path),
        Platform::Windows => format!("\"{path}\""),
    };
    if connection.platform == Platform::Unix && !script.starts_with(b"#!") {
        script.splice(0..0, *b"#!/bin/sh\n");
    }
    session.write(&path, &script, true).await.map_err(|e| format!("The script cannot be stored as {path}: {e}."))?;
    let result = session.run(&command, &mut |data| lines.feed(data)).await;
    lines.end();
    session.remove(&path).await;
    result.map_err(|end| format!("The script {path} ended with {end}."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_that_exclude_each_other_are_refused() {
        let value = |pairs: &[(&str, Value)]| Value::object(pairs.iter().map(|(k, v)| (*k, v.clone())));
        assert!(check("file", &value(&[("source", "a".into()), ("content", Value::null())])).is_ok());
        assert!(check("file", &value(&[("source", "a".into()), ("content", Value::unknown(Type::String))])).is_err());
        assert!(check("remote-exec", &value(&[("inline", Value::null())])).is_err());
        assert!(check("remote-exec", &value(&[("script", "x".into())])).is_ok());
    }

    #[test]
    fn a_script_without_commands_is_refused() {
        let inline =
            |items: Vec<Value>| scripts(&Value::object([("inline", Value::list(Type::String, items))]), Path::new("."));
        assert_eq!(inline(vec!["a".into(), "b".into()]).unwrap(), [b"a\nb\n"]);
        assert!(inline(Vec::new()).is_err() && inline(vec!["".into()]).is_err());
        assert!(inline(vec![Value::Null(Type::String)]).is_err());
        let missing = Value::object([("script", Value::from("no-such-file"))]);
        assert!(scripts(&missing, Path::new(".")).unwrap_err().contains("no-such-file"));
    }
}

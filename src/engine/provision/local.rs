//! `local-exec`: a command on the machine that gpuform runs on.

use crate::diag::Diagnostics;
use crate::engine::provision::{Run, attribute, text};
use gpuform_schema::schema::Block;
use gpuform_schema::{Type, Value};
use std::process::Stdio;
use std::sync::LazyLock;
use tokio::io::{AsyncBufReadExt, BufReader};

pub static SCHEMA: LazyLock<Block> = LazyLock::new(|| Block {
    attributes: [
        ("command".into(), attribute(Type::String, true)),
        ("interpreter".into(), attribute(Type::list(Type::String), false)),
        ("working_dir".into(), attribute(Type::String, false)),
        ("environment".into(), attribute(Type::map(Type::String), false)),
        ("quiet".into(), attribute(Type::Bool, false)),
    ]
    .into(),
    ..Block::default()
});

pub async fn run(run: &Run<'_>, value: &Value, secret: bool) -> Result<(), Diagnostics> {
    let place = &run.walk.runtime.place;
    let Some(command) = text(value, "command").filter(|c| !c.is_empty()) else {
        return run.fail("The argument \"command\" must be a text that is not empty.".into());
    };
    let interpreter: Vec<String> = value
        .get("interpreter")
        .and_then(Value::items)
        .map(|items| items.iter().filter_map(|v| v.as_str().map(str::to_owned)).collect())
        .unwrap_or_default();
    let shell = vec!["/bin/sh".to_owned(), "-c".to_owned()];
    let interpreter = if interpreter.is_empty() { shell } else { interpreter };
    let mut process = tokio::process::Command::new(&interpreter[0]);
    process.args(&interpreter[1..]).arg(&command);
    process.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    process.current_dir(match text(value, "working_dir") {
        Some(dir) => place.base_dir.join(dir),
        None => place.base_dir.clone(),
    });
    if let Some(environment) = value.get("environment").and_then(Value::entries) {
        for (k, v) in environment {
            if let Some(v) = v.as_str() {
                process.env(&**k, v);
            }
        }
    }
    let quiet = value.get("quiet").and_then(Value::as_bool) == Some(true);
    let say = |line: &str| run.say(line);
    if secret {
        say("(output suppressed: the configuration of the provisioner has sensitive values)");
    } else if quiet {
        say("Executing: (suppressed by \"quiet\")");
    } else {
        let argv: Vec<String> = interpreter.iter().chain([&command]).map(|a| format!("{a:?}")).collect();
        say(&format!("Executing: [{}]", argv.join(" ")));
    }
    let mut child = match process.spawn() {
        Ok(c) => c,
        Err(e) => return run.fail(format!("The program {} cannot be started: {e}.", interpreter[0])),
    };
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let tail = std::sync::Mutex::new(Vec::<String>::new());
    let keep = |line: String| {
        if !secret {
            say(&line);
            let mut tail = tail.lock().unwrap_or_else(|e| e.into_inner());
            if tail.len() == 40 {
                tail.remove(0);
            }
            tail.push(line);
        }
    };
    tokio::join!(forward(out, &keep), forward(err, &keep));
    let status = match child.wait().await {
        Ok(s) => s,
        Err(e) => return run.fail(format!("Waiting for the command failed: {e}.")),
    };
    if status.success() {
        return Ok(());
    }
    let output = if secret {
        "(suppressed)".to_owned()
    } else {
        tail.into_inner().unwrap_or_else(|e| e.into_inner()).join("\n")
    };
    let shown = if secret { "The command".to_owned() } else { format!("The command {command:?}") };
    run.fail(format!("{shown} ended with {status}. Its output was:\n{output}"))
}

async fn forward(stream: Option<impl tokio::io::AsyncRead + Unpin>, f: &impl Fn(String)) {
    let Some(stream) = stream else { return };
    let mut reader = BufReader::new(stream);
    let mut line = Vec::new();
    while let Ok(n) = reader.read_until(b'\n', &mut line).await {
        if n == 0 {
            break;
        }
        f(String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r']).to_owned());
        line.clear();
    }
}

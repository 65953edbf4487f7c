//! Provisioners: commands that run after an object was created or before it is destroyed. `local-exec` runs here.

use crate::addr::ResourceInstance;
use crate::config::model::{Provisioner, ResourceBlock};
use crate::diag::{Diagnostic, Diagnostics, Severity};
use crate::engine::events::Event;
use crate::engine::program::ResourceProgram;
use crate::engine::runtime::{ModuleRun, Repeat};
use crate::engine::walk::Walk;
use crate::lang::decode::Decoder;
use gpuform_schema::schema::{Attribute, AttributeType, Block, Description};
use gpuform_schema::{Marks, Type, Value};
use std::process::Stdio;
use std::sync::LazyLock;
use tokio::io::{AsyncBufReadExt, BufReader};

/// Runs the provisioners of a block that are due; false when one failed and its failure counts.
pub async fn run(
    walk: &Walk,
    block: &ResourceBlock,
    program: &ResourceProgram,
    addr: &ResourceInstance,
    this: &Value,
    when_destroy: bool,
    module: &ModuleRun,
    repeat: &Repeat,
) -> bool {
    let all = block.provisioners.iter().zip(&program.provisioners);
    for (p, decoder) in all.filter(|(p, _)| p.when_destroy == when_destroy) {
        walk.events.event(Event::ProvisionerStart { addr, provisioner: &p.ty });
        let result = match decoder {
            Some(decoder) => local_exec(walk, p, decoder, addr, this, module, repeat).await,
            None => Err(Diagnostic::error(
                "Provisioner not supported",
                format!("gpuform runs the provisioner \"local-exec\"; \"{}\" is not supported yet.", p.ty),
            )
            .at(p.range)
            .into()),
        };
        match result {
            Ok(()) => walk.events.event(Event::ProvisionerDone { addr, provisioner: &p.ty }),
            Err(mut diags) => {
                walk.events.event(Event::ProvisionerErrored { addr, provisioner: &p.ty });
                if p.on_failure_continue {
                    diags.iter_mut().for_each(|d| d.severity = Severity::Warning);
                }
                walk.report_all(crate::engine::instance::about(diags, addr));
                if !p.on_failure_continue {
                    return false;
                }
            }
        }
    }
    true
}

fn attribute(ty: Type, required: bool) -> Attribute {
    Attribute {
        ty: AttributeType::Value(ty),
        description: Description::default(),
        required,
        optional: !required,
        computed: false,
        sensitive: false,
        write_only: false,
        deprecated: false,
    }
}

static LOCAL_EXEC: LazyLock<Block> = LazyLock::new(|| Block {
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

/// The schema of a provisioner's block.
pub fn schema(ty: &str) -> Option<&'static Block> {
    (ty == "local-exec").then_some(&*LOCAL_EXEC)
}

async fn local_exec(
    walk: &Walk,
    p: &Provisioner,
    decoder: &Decoder,
    addr: &ResourceInstance,
    this: &Value,
    module: &ModuleRun,
    repeat: &Repeat,
) -> Result<(), Diagnostics> {
    let mut diags = Diagnostics::new();
    let scope = walk.runtime.scope(module, repeat).with_self(this.clone());
    let value = decoder.eval(&scope, &mut diags);
    let Some(value) = value.filter(|_| !diags.has_errors()) else { return Err(diags) };
    let mut marks = Marks::default();
    let value = value.unmark_deep(&mut marks);
    let text = |name: &str| value.get(name).and_then(|v| v.as_str().map(str::to_owned));
    let fail = |detail: String| {
        Err(Diagnostic::error("local-exec provisioner error", detail).at(p.body.missing_item_range()).into())
    };
    let Some(command) = text("command").filter(|c| !c.is_empty()) else {
        return fail("The argument \"command\" must be a text that is not empty.".into());
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
    process.current_dir(match text("working_dir") {
        Some(dir) => walk.runtime.place.base_dir.join(dir),
        None => walk.runtime.place.base_dir.clone(),
    });
    if let Some(environment) = value.get("environment").and_then(Value::entries) {
        for (k, v) in environment {
            if let Some(v) = v.as_str() {
                process.env(&**k, v);
            }
        }
    }
    let quiet = value.get("quiet").and_then(Value::as_bool) == Some(true);
    let secret = !marks.is_empty();
    let say = |line: &str| walk.events.event(Event::ProvisionerOutput { addr, provisioner: &p.ty, line });
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
        Err(e) => return fail(format!("The program {} cannot be started: {e}.", interpreter[0])),
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
        Err(e) => return fail(format!("Waiting for the command failed: {e}.")),
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
    fail(format!("{shown} ended with {status}. Its output was:\n{output}"))
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

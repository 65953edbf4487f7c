//! Which backend keeps the state: the one that the configuration names, initialised by `init`.

use crate::cli::args::StateFiles;
use crate::cli::context::Context;
use crate::config::model::{Config, Module};
use crate::diag::{Diagnostic, Diagnostics, Result as DiagResult};
use crate::lang::body::BodySchema;
use crate::lang::static_expr::constant;
use crate::plugin::builtin::RemoteStates;
use crate::state::backend::Backend;
use crate::state::backend::local::{Backup, Local, LocalSettings};
use async_trait::async_trait;
use gpuform_schema::schema::{Attribute, AttributeType, Block, Description};
use gpuform_schema::{Str, Type, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

static LOCAL: LazyLock<Arc<Block>> = LazyLock::new(|| {
    let text = |what: &str| Attribute {
        ty: AttributeType::Value(Type::String),
        description: Description { text: what.to_owned(), markdown: false },
        required: false,
        optional: true,
        computed: false,
        sensitive: false,
        write_only: false,
        deprecated: false,
    };
    Arc::new(Block {
        attributes: [
            ("path".into(), text("The state file of the default workspace; terraform.tfstate unless given.")),
            ("workspace_dir".into(), text("The folder for the other workspaces; terraform.tfstate.d unless given.")),
        ]
        .into(),
        ..Block::default()
    })
});

/// What the `backend "local"` block says.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct LocalConfig {
    pub path: Option<String>,
    pub workspace_dir: Option<String>,
}

/// Reads the backend block of a root module; without one everything is as usual.
///
/// # Errors
/// A backend type that gpuform does not have, or arguments that are wrong.
pub fn local_config(module: &Module) -> Result<LocalConfig, Diagnostics> {
    if let Some(range) = module.cloud {
        return Err(Diagnostic::error(
            "HCP Terraform is not supported",
            "A \"cloud\" block keeps the state and runs plans in HCP Terraform, which gpuform does not do. Use a backend block.",
        )
        .at(range)
        .into());
    }
    let Some(block) = &module.backend else { return Ok(LocalConfig::default()) };
    if &*block.ty != "local" {
        return Err(Diagnostic::error(
            "Unsupported backend type",
            format!("gpuform keeps states with the backend \"local\"; it has no backend \"{}\" yet.", block.ty),
        )
        .at(block.range)
        .into());
    }
    if block.problems.has_errors() {
        return Err(block.problems.clone());
    }
    let mut diags = Diagnostics::new();
    let schema = BodySchema::new().optional(["path", "workspace_dir"]);
    let mut content = block.body.clone().content(&schema, &mut diags);
    let mut text = |name: &str| {
        let a = content.take(name)?;
        let v = constant(&a.expr, &Type::String, false, &mut diags)?;
        v.as_str().map(str::to_owned)
    };
    let found = LocalConfig { path: text("path"), workspace_dir: text("workspace_dir") };
    if diags.has_errors() { Err(diags) } else { Ok(found) }
}

/// The backend for a configuration.
///
/// # Errors
/// As for [`local_config`].
pub fn open(cx: &Context, config: &Config, files: &StateFiles) -> Result<Arc<dyn Backend>, Diagnostics> {
    let root = &config.root.module;
    let mut found = local_config(root)?;
    if let (Some(_), Some(record)) = (&root.backend, read_record(&cx.data_dir())?) {
        found = record.config;
    }
    Ok(Arc::new(local(cx, &found, files)))
}

fn local(cx: &Context, config: &LocalConfig, files: &StateFiles) -> Local {
    let given = |path: &Option<PathBuf>| path.clone().filter(|p| !p.as_os_str().is_empty());
    Local::new(LocalSettings {
        folder: cx.dir.clone(),
        path: config.path.as_ref().map(PathBuf::from),
        workspace_dir: config.workspace_dir.as_ref().map(PathBuf::from),
        state: given(&files.state),
        state_out: given(&files.state_out),
        backup: files.backup.as_ref().map_or(Backup::Beside, |b| Backup::option(&b.to_string_lossy())),
    })
}

/// A backend by its settings.
pub fn at(cx: &Context, config: &LocalConfig) -> Arc<dyn Backend> {
    Arc::new(local(cx, config, &StateFiles::default()))
}

/// The backend of a directory whose configuration need not be valid, for the commands that work on the state alone. A
/// root module that can be read has to name the backend that `init` has prepared.
///
/// # Errors
/// The record of `init` cannot be read, or is about another backend.
pub fn recorded(cx: &Context, files: &StateFiles) -> Result<Arc<dyn Backend>, Diagnostics> {
    if let Some(root) = crate::config::load_root(&cx.dir, &cx.sources) {
        check_recorded(cx, &root)?;
    }
    let config = read_record(&cx.data_dir())?.unwrap_or_default().config;
    Ok(Arc::new(local(cx, &config, files)))
}

// ---- what init has recorded

/// The backend that `init` has prepared.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Record {
    pub config: LocalConfig,
    /// Identifies what the backend block said, without what `-backend-config` has added: as Terraform computes it, so
    /// that either program accepts what the other has prepared.
    pub hash: u32,
}

/// The hash of a backend block. Terraform's is the CRC-32 of a notation of the block's value.
pub fn hash(block: &LocalConfig) -> u32 {
    let quoted = |text: &Option<String>| text.as_deref().map_or_else(|| "~".to_owned(), quote);
    let notation = format!("<\"local\";<{};{};>;>", quoted(&block.path), quoted(&block.workspace_dir));
    crc32fast::hash(notation.as_bytes())
}

/// A text in the notation of string literals.
fn quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_control() => quoted.push_str(&format!("\\x{:02x}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

fn record_path(data_dir: &Path) -> PathBuf {
    data_dir.join("terraform.tfstate")
}

/// What `init` has recorded, if it has prepared a backend.
///
/// # Errors
/// It cannot be read.
pub fn read_record(data_dir: &Path) -> Result<Option<Record>, Diagnostics> {
    let path = record_path(data_dir);
    let Ok(bytes) = crate::input::read(&path) else { return Ok(None) };
    let json: serde_json::Value = serde_json::from_slice(&bytes).map_err(|e| {
        Diagnostics::from(Diagnostic::error(
            "Backend record cannot be read",
            format!("{}: {e}. Run \"gpuform init -reconfigure\".", path.display()),
        ))
    })?;
    let Some(backend) = json.get("backend").filter(|b| !b.is_null()) else { return Ok(None) };
    let text = |name: &str| backend.pointer(&format!("/config/{name}")).and_then(|v| v.as_str().map(str::to_owned));
    let hash = backend.get("hash").and_then(|h| u32::try_from(h.as_u64()?).ok());
    let config = LocalConfig { path: text("path"), workspace_dir: text("workspace_dir") };
    Ok(Some(Record { config, hash: hash.unwrap_or_default() }))
}

/// Records the backend for the commands that follow; `None` where the configuration has no backend block.
///
/// # Errors
/// The file cannot be written.
pub fn record(data_dir: &Path, record: Option<&Record>) -> DiagResult<()> {
    let path = record_path(data_dir);
    let fail = |e: std::io::Error| {
        Box::new(Diagnostic::error("Backend cannot be recorded", format!("{}: {e}.", path.display())))
    };
    let mut json = serde_json::json!({
        "version": 3,
        "terraform_version": crate::cli::project::TERRAFORM_VERSION,
    });
    if let Some(Record { config, hash }) = record {
        json["backend"] = serde_json::json!({
            "type": "local",
            "config": { "path": config.path, "workspace_dir": config.workspace_dir },
            "hash": hash,
        });
    }
    std::fs::create_dir_all(data_dir).map_err(fail)?;
    let text = format!("{json:#}\n");
    crate::state::backend::local::replace_file(&path, text.as_bytes(), None).map_err(fail)
}

/// Refuses to work with a backend that `init` has not seen.
///
/// # Errors
/// The backend block is new, gone or changed.
pub fn check_initialized(cx: &Context, config: &Config) -> Result<(), Diagnostics> {
    check_recorded(cx, &config.root.module)
}

fn check_recorded(cx: &Context, root: &Module) -> Result<(), Diagnostics> {
    let then = read_record(&cx.data_dir())?.map(|record| record.hash);
    let now = root.backend.is_some().then(|| local_config(root)).transpose()?;
    if now.as_ref().map(hash) == then {
        return Ok(());
    }
    Err(Diagnostic::error(
        "Backend initialization required, please run \"gpuform init\"",
        "The backend in the configuration is not the one that init has prepared. Run \"gpuform init\": with -migrate-state to \
         take the existing state along, or with -reconfigure to leave it where it is.",
    )
    .at(root.backend.as_ref().map(|b| b.range))
    .into())
}

// ---- terraform_remote_state

/// Reads outputs of other states for `terraform_remote_state`.
pub struct RemoteStateReader {
    dir: PathBuf,
}

impl RemoteStateReader {
    pub fn new(cx: &Context) -> RemoteStateReader {
        RemoteStateReader { dir: cx.dir.clone() }
    }
}

#[async_trait]
impl RemoteStates for RemoteStateReader {
    fn backend_schema(&self, backend: &str) -> Option<Arc<Block>> {
        (backend == "local").then(|| LOCAL.clone())
    }

    async fn outputs(
        &self,
        _: &str,
        config: Value,
        workspace: &str,
    ) -> Result<Option<BTreeMap<Str, Value>>, Diagnostics> {
        let text = |name: &str| config.get(name).and_then(|v| v.as_str().map(PathBuf::from));
        let backend = Local::new(LocalSettings {
            folder: self.dir.clone(),
            path: text("path"),
            workspace_dir: text("workspace_dir"),
            ..LocalSettings::default()
        });
        let stored = backend.read(workspace).await?;
        Ok(stored.map(|s| {
            // As under Terraform, whether an output is sensitive is a matter of the configuration that has it.
            s.state.outputs.into_iter().map(|(n, o)| (n, o.value)).collect()
        }))
    }
}

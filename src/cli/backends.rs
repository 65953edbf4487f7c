//! Which backend keeps the state: the one that the configuration names, initialised by `init`.

use crate::cli::args::StateFiles;
use crate::cli::context::Context;
use crate::config::model::Config;
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

/// Reads the backend block of a configuration; without one everything is as usual.
///
/// # Errors
/// A backend type that gpuform does not have, or arguments that are wrong.
pub fn local_config(config: &Config) -> Result<LocalConfig, Diagnostics> {
    let module = &config.root.module;
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
    let mut found = local_config(config)?;
    let overrides = initialized(&cx.data_dir())?;
    if config.root.module.backend.is_some() {
        found.path = overrides.path.or(found.path);
        found.workspace_dir = overrides.workspace_dir.or(found.workspace_dir);
    }
    Ok(Arc::new(local(cx, &found, files)))
}

fn local(cx: &Context, config: &LocalConfig, files: &StateFiles) -> Local {
    Local::new(LocalSettings {
        folder: cx.dir.clone(),
        path: config.path.as_ref().map(PathBuf::from),
        workspace_dir: config.workspace_dir.as_ref().map(PathBuf::from),
        state: files.state.clone(),
        state_out: files.state_out.clone(),
        backup: files.backup.as_ref().map_or(Backup::Beside, |b| Backup::option(&b.to_string_lossy())),
    })
}

/// A backend by its settings.
pub fn at(cx: &Context, config: &LocalConfig) -> Arc<dyn Backend> {
    Arc::new(local(cx, config, &StateFiles::default()))
}

/// The backend of a directory without looking at its configuration beyond what `init` has recorded: for the state
/// commands, which work without a valid configuration.
///
/// # Errors
/// The record of `init` cannot be read.
pub fn recorded(cx: &Context, files: &StateFiles) -> Result<Arc<dyn Backend>, Diagnostics> {
    Ok(Arc::new(local(cx, &initialized(&cx.data_dir())?, files)))
}

// ---- what init has recorded

fn record_path(data_dir: &Path) -> PathBuf {
    data_dir.join("terraform.tfstate")
}

fn initialized(data_dir: &Path) -> Result<LocalConfig, Diagnostics> {
    let path = record_path(data_dir);
    let Ok(bytes) = crate::input::read(&path) else { return Ok(LocalConfig::default()) };
    let json: serde_json::Value = serde_json::from_slice(&bytes).map_err(|e| {
        Diagnostics::from(Diagnostic::error(
            "Backend record cannot be read",
            format!("{}: {e}. Run \"gpuform init -reconfigure\".", path.display()),
        ))
    })?;
    let text =
        |name: &str| json.pointer(&format!("/backend/config/{name}")).and_then(|v| v.as_str().map(str::to_owned));
    Ok(LocalConfig { path: text("path"), workspace_dir: text("workspace_dir") })
}

/// Whether `init` has recorded a backend.
pub fn is_recorded(data_dir: &Path) -> bool {
    record_path(data_dir).exists()
}

/// What `init` has recorded, for comparison.
///
/// # Errors
/// It cannot be read.
pub fn recorded_config(data_dir: &Path) -> Result<LocalConfig, Diagnostics> {
    initialized(data_dir)
}

/// Records the backend for the commands that follow; a configuration without backend block needs no record.
///
/// # Errors
/// The file cannot be written.
pub fn record(data_dir: &Path, config: Option<&LocalConfig>) -> DiagResult<()> {
    let path = record_path(data_dir);
    let fail = |e: std::io::Error| {
        Box::new(Diagnostic::error("Backend cannot be recorded", format!("{}: {e}.", path.display())))
    };
    let Some(config) = config else {
        return match std::fs::remove_file(&path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(fail(e)),
            _ => Ok(()),
        };
    };
    std::fs::create_dir_all(data_dir).map_err(fail)?;
    let json = serde_json::json!({
        "version": 3,
        "terraform_version": crate::cli::project::TERRAFORM_VERSION,
        "backend": {
            "type": "local",
            "config": { "path": config.path, "workspace_dir": config.workspace_dir },
        },
    });
    let text = format!("{json:#}\n");
    crate::state::backend::local::replace_file(&path, text.as_bytes(), None).map_err(fail)
}

/// Refuses to work with a backend that `init` has not seen.
///
/// # Errors
/// The backend block is new, gone or changed.
pub fn check_initialized(cx: &Context, config: &Config) -> Result<(), Diagnostics> {
    let wanted = config.root.module.backend.is_some();
    let recorded = is_recorded(&cx.data_dir());
    let same = if wanted && recorded {
        let (now, then) = (local_config(config)?, initialized(&cx.data_dir())?);
        // Arguments may have been left to -backend-config.
        (now.path.is_none() || now.path == then.path)
            && (now.workspace_dir.is_none() || now.workspace_dir == then.workspace_dir)
    } else {
        wanted == recorded
    };
    if same {
        return Ok(());
    }
    Err(Diagnostic::error(
        "Backend initialization required, please run \"gpuform init\"",
        "The backend in the configuration is not the one that init has prepared. Run \"gpuform init\": with -migrate-state to \
         take the existing state along, or with -reconfigure to leave it where it is.",
    )
    .at(config.root.module.backend.as_ref().map(|b| b.range))
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

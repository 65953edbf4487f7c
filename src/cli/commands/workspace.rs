//! `gpuform workspace`

use crate::cli::args::{Lock, StateFiles};
use crate::cli::context::Context;
use crate::cli::{Exit, FAILED, OK, backends};
use crate::diag::{Diagnostic, Diagnostics};
use crate::state::backend::{DEFAULT_WORKSPACE, check_workspace_name};
use crate::state::file;
use crate::state::store::{LockRequest, Store};
use std::path::PathBuf;

/// Several states for one configuration.
#[derive(clap::Subcommand, Debug)]
pub enum Workspace {
    /// Show the name of the selected workspace.
    Show {
        /// Further arguments mean nothing, as in Terraform.
        #[arg(hide = true)]
        others: Vec<String>,
    },
    /// List the workspaces.
    List,
    /// Select a workspace.
    Select {
        #[arg(value_name = "NAME")]
        name: String,
        /// Create it if it does not exist.
        #[arg(long)]
        or_create: bool,
    },
    /// Create a workspace and select it.
    New {
        #[arg(value_name = "NAME")]
        name: String,
        /// Begin with the state in this file.
        #[arg(long, value_name = "FILE")]
        state: Option<PathBuf>,
        #[command(flatten)]
        lock: Lock,
    },
    /// Delete a workspace.
    Delete {
        #[arg(value_name = "NAME")]
        name: String,
        /// Delete it even if its state holds objects, which are then no longer managed.
        #[arg(long)]
        force: bool,
        #[command(flatten)]
        lock: Lock,
    },
}

impl Workspace {
    pub async fn run(self, cx: &mut Context) -> Exit {
        let result = match self {
            Workspace::Show { .. } => show(cx),
            Workspace::List => list(cx).await,
            Workspace::Select { name, or_create } => select(cx, &name, or_create).await,
            Workspace::New { name, state, lock } => new(cx, &name, state, &lock).await,
            Workspace::Delete { name, force, lock } => delete(cx, &name, force, &lock).await,
        };
        match result {
            Ok(text) => {
                cx.print(&text);
                OK
            }
            Err(d) => {
                cx.show(&d, false);
                FAILED
            }
        }
    }
}

fn fail<T>(summary: impl Into<String>, detail: impl Into<String>) -> Result<T, Diagnostics> {
    Err(Diagnostic::error(summary, detail).into())
}

fn show(cx: &Context) -> Result<String, Diagnostics> {
    let name = cx.workspace();
    check_workspace_name(&name)?;
    Ok(format!("{name}\n"))
}

fn not_overridden(cx: &Context) -> Result<(), Diagnostics> {
    if cx.env.get("TF_WORKSPACE").is_none() {
        return Ok(());
    }
    fail(
        "The selected workspace is currently overridden using the TF_WORKSPACE environment variable",
        "Unset TF_WORKSPACE to select another workspace with this command.",
    )
}

async fn list(cx: &Context) -> Result<String, Diagnostics> {
    let backend = backends::recorded(cx, &StateFiles::default())?;
    let current = cx.workspace();
    let all = backend.workspaces().await?;
    let mut text: String = all.iter().map(|w| format!("{} {w}\n", if *w == current { "*" } else { " " })).collect();
    text.push('\n');
    if cx.env.get("TF_WORKSPACE").is_some() {
        text.push_str("\n\nThe active workspace is being overridden using the TF_WORKSPACE environment\nvariable.\n\n");
    }
    Ok(text)
}

fn remember(cx: &Context, name: &str) -> Result<(), Diagnostics> {
    let path = cx.data_dir().join("environment");
    let write = || {
        std::fs::create_dir_all(cx.data_dir())?;
        crate::state::backend::local::replace_file(&path, name.as_bytes(), None)
    };
    write().or_else(|e| fail("Workspace cannot be selected", format!("{}: {e}.", path.display())))
}

async fn select(cx: &Context, name: &str, or_create: bool) -> Result<String, Diagnostics> {
    check_workspace_name(name)?;
    not_overridden(cx)?;
    let backend = backends::recorded(cx, &StateFiles::default())?;
    if cx.workspace() == name {
        return Ok(String::new());
    }
    let mut text = String::new();
    if !backend.workspaces().await?.iter().any(|w| w == name) {
        if !or_create {
            return fail(
                format!("Workspace \"{name}\" doesn't exist."),
                "Create it with \"gpuform workspace new\", or use -or-create.",
            );
        }
        backend.create_workspace(name).await?;
        text = format!("Created and switched to workspace \"{name}\"!\n");
    }
    remember(cx, name)?;
    Ok(if text.is_empty() { format!("Switched to workspace \"{name}\".\n") } else { text })
}

async fn new(cx: &Context, name: &str, state: Option<PathBuf>, lock: &Lock) -> Result<String, Diagnostics> {
    check_workspace_name(name)?;
    // The one that the environment selects can be made.
    if cx.env.get("TF_WORKSPACE").is_none_or(|selected| selected != name) {
        not_overridden(cx)?;
    }
    let backend = backends::recorded(cx, &StateFiles::default())?;
    if backend.workspaces().await?.iter().any(|w| w == name) {
        return fail(format!("Workspace \"{name}\" already exists"), "Select it with \"gpuform workspace select\".");
    }
    let initial = match state {
        None => None,
        Some(path) => {
            let bytes = crate::input::read_argument(&cx.path(&path))
                .or_else(|e| fail("State cannot be read", format!("{}: {e}.", path.display())))?;
            file::read(&bytes, &path.display().to_string())?
        }
    };
    backend.create_workspace(name).await?;
    remember(cx, name)?;
    if let Some(state) = initial {
        let request = lock.lock.then(|| LockRequest {
            operation: "workspace-new".into(),
            who: cx.who(),
            timeout: lock.lock_timeout,
        });
        let mut store = Store::open(backend, name, request.as_ref(), || {}).await?;
        let pushed = store.push(&state, true).await;
        store.close().await?;
        pushed?;
    }
    Ok(format!(
        "Created and switched to workspace \"{name}\"!\n\nIts state is its own: \"gpuform plan\" does not see what other \
         workspaces have made.\n"
    ))
}

async fn delete(cx: &Context, name: &str, force: bool, lock: &Lock) -> Result<String, Diagnostics> {
    let backend = backends::recorded(cx, &StateFiles::default())?;
    if !backend.workspaces().await?.iter().any(|w| w == name) {
        return fail(format!("Workspace \"{name}\" doesn't exist."), "\"gpuform workspace list\" shows those that do.");
    }
    if name == DEFAULT_WORKSPACE {
        return fail("Default workspace cannot be deleted", "The workspace \"default\" always exists.");
    }
    if name == cx.workspace() {
        return fail(
            format!("Workspace \"{name}\" is your active workspace."),
            "Select another one before deleting it.",
        );
    }
    let request = lock.lock.then(|| LockRequest {
        operation: "workspace-delete".into(),
        who: cx.who(),
        timeout: lock.lock_timeout,
    });
    let store = Store::open(backend.clone(), name, request.as_ref(), || {}).await?;
    let objects = store.state().instance_count();
    if objects > 0 && !force {
        store.close().await?;
        return fail(
            "Workspace is not empty",
            format!(
                "The state of \"{name}\" holds {objects} objects, which would not be managed any more. Destroy them first, or \
                 use -force."
            ),
        );
    }
    store.close().await?;
    backend.delete_workspace(name).await?;
    let mut text = format!("Deleted workspace \"{name}\"!\n");
    if objects > 0 {
        text.push_str(&format!(
            "\nWarning: {objects} objects of its state still exist and are not managed any more.\n"
        ));
    }
    Ok(text)
}

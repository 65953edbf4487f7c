//! `gpuform state`, `gpuform taint`, `gpuform untaint`

use crate::addr::{Provider, ResourceInstance, Target};
use crate::cli::args::{Lock, StateFiles};
use crate::cli::context::Context;
use crate::cli::project::load_schemas;
use crate::cli::{Exit, FAILED, OK, backends, prompt, view};
use crate::diag::{Diagnostic, Diagnostics};
use crate::engine::schemas::Needed;
use crate::state::store::{LockRequest, Store};
use crate::state::{State as StateModel, file, ops};
use std::path::PathBuf;

/// Look at the state and change it.
#[derive(clap::Subcommand, Debug)]
pub enum State {
    /// List the objects in the state.
    List {
        /// Only those that these addresses cover.
        #[arg(value_name = "ADDRESS")]
        addresses: Vec<String>,
        /// Only the object with this ID.
        #[arg(long, value_name = "ID")]
        id: Option<String>,
        #[command(flatten)]
        files: StateFiles,
    },
    /// Show the attributes of one object.
    Show {
        #[arg(value_name = "ADDRESS")]
        address: String,
        /// Use no colours.
        #[arg(long)]
        no_color: bool,
        #[command(flatten)]
        files: StateFiles,
    },
    /// Give an object another address, so that it is not replaced when its block is renamed.
    Mv {
        #[arg(value_name = "SOURCE")]
        source: String,
        #[arg(value_name = "DESTINATION")]
        destination: String,
        /// Say what would be done, and do nothing.
        #[arg(long)]
        dry_run: bool,
        #[command(flatten)]
        lock: Lock,
        #[command(flatten)]
        files: StateFiles,
    },
    /// Forget objects without destroying them.
    Rm {
        #[arg(value_name = "ADDRESS", required = true)]
        addresses: Vec<String>,
        /// Say what would be done, and do nothing.
        #[arg(long)]
        dry_run: bool,
        #[command(flatten)]
        lock: Lock,
        #[command(flatten)]
        files: StateFiles,
    },
    /// Print the state as it is stored.
    Pull {
        /// Accepted and ignored, as by Terraform.
        #[arg(hide = true)]
        ignored: Vec<String>,
    },
    /// Store a state from a file ("-" for standard input).
    Push {
        #[arg(value_name = "FILE")]
        path: PathBuf,
        /// Store it even if it is older or belongs to another lineage.
        #[arg(long)]
        force: bool,
        #[command(flatten)]
        lock: Lock,
    },
    /// Change the provider of all objects that have a given one.
    ReplaceProvider {
        #[arg(value_name = "FROM")]
        from: String,
        #[arg(value_name = "TO")]
        to: String,
        /// Do not ask.
        #[arg(long)]
        auto_approve: bool,
        #[command(flatten)]
        lock: Lock,
        #[command(flatten)]
        files: StateFiles,
    },
}

/// Mark an object as damaged, so that the next apply replaces it.
#[derive(clap::Args, Debug)]
pub struct Taint {
    #[command(flatten)]
    one: One,
}

/// Take back the mark that an object is damaged.
#[derive(clap::Args, Debug)]
pub struct Untaint {
    #[command(flatten)]
    one: One,
}

#[derive(clap::Args, Debug)]
struct One {
    #[arg(value_name = "ADDRESS")]
    address: String,
    /// Succeed even if there is no such object.
    #[arg(long)]
    allow_missing: bool,
    #[command(flatten)]
    lock: Lock,
    #[command(flatten)]
    files: StateFiles,
}

type Failed = Diagnostics;

async fn open(cx: &Context, files: &StateFiles, lock: Option<&Lock>, what: &str) -> Result<Store, Failed> {
    let backend = backends::recorded(cx, files)?;
    let request = lock.filter(|l| l.lock).map(|l| LockRequest {
        operation: what.to_owned(),
        who: cx.who(),
        timeout: l.lock_timeout,
    });
    let waiting = || cx.println("Waiting for the lock of the state, which somebody else holds...");
    Store::open(backend, &cx.workspace(), request.as_ref(), waiting).await.map_err(Failed::from)
}

/// Opens the state with the lock, changes it, saves it.
async fn change(
    cx: &Context,
    files: &StateFiles,
    lock: &Lock,
    what: &str,
    edit: impl FnOnce(&mut StateModel) -> Result<String, Failed>,
) -> Result<String, Failed> {
    let mut store = open(cx, files, Some(lock), what).await?;
    let result = async {
        store.save_recovered().await?;
        let mut state = store.state().clone();
        let said = edit(&mut state)?;
        store.commit(&state).await?;
        Ok::<String, Failed>(said)
    }
    .await;
    let closed = store.close().await;
    let said = result?;
    closed?;
    Ok(said)
}

fn show(cx: &Context, result: Result<String, Failed>) -> Exit {
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

fn bad_address(e: impl std::fmt::Display) -> Failed {
    Diagnostic::error("Invalid address", e.to_string()).into()
}

fn target(text: &str) -> Result<Target, Failed> {
    text.parse().map_err(bad_address)
}

fn no_state() -> Failed {
    Diagnostic::error(
        "No state file was found",
        "There is no state here: nothing was applied yet, or the state is elsewhere (-state, another workspace).",
    )
    .into()
}

impl State {
    pub async fn run(self, cx: &mut Context) -> Exit {
        let result = match self {
            State::List { addresses, id, files } => list(cx, &addresses, id.as_deref(), &files).await,
            State::Show { address, no_color, files } => {
                cx.style.color &= !no_color;
                show_one(cx, &address, &files).await
            }
            State::Mv { source, destination, dry_run, lock, files } => {
                move_objects(cx, [&source, &destination], dry_run, &lock, files).await
            }
            State::Rm { addresses, dry_run, lock, files } => {
                let removed = |state: &mut StateModel| {
                    let targets = addresses.iter().map(|a| target(a)).collect::<Result<Vec<_>, _>>()?;
                    let mut trial = state.clone();
                    let gone = ops::remove(&mut trial, &targets)?;
                    let verb = if dry_run { "Would remove" } else { "Removed" };
                    let mut text: String = gone.iter().map(|a| format!("{verb} {a}\n")).collect();
                    if !dry_run {
                        *state = trial;
                        text.push_str(&format!("Successfully removed {} resource instance(s).\n", gone.len()));
                    }
                    Ok(text)
                };
                change(cx, &files, &lock, "state-rm", removed).await
            }
            State::Pull { .. } => pull(cx).await,
            State::Push { path, force, lock } => push(cx, &path, force, &lock).await,
            State::ReplaceProvider { from, to, auto_approve, lock, files } => {
                replace_provider(cx, &from, &to, auto_approve, &lock, &files).await
            }
        };
        show(cx, result)
    }
}

/// Moves within one state, or from one state file to another.
async fn move_objects(
    cx: &Context,
    [source, destination]: [&str; 2],
    dry_run: bool,
    lock: &Lock,
    mut files: StateFiles,
) -> Result<String, Failed> {
    let moved = |state: &mut StateModel, other: Option<&mut StateModel>| {
        let (from, to) = (target(source)?, target(destination)?);
        let (mut trial, mut other_trial) = (state.clone(), other.as_deref().cloned());
        let moves = ops::mv(&mut trial, other_trial.as_mut(), &from, &to)?;
        let verb = if dry_run { "Would move" } else { "Move" };
        let mut text: String = moves.iter().map(|(a, b)| format!("{verb} \"{a}\" to \"{b}\"\n")).collect();
        if !dry_run {
            *state = trial;
            if let (Some(other), Some(new)) = (other, other_trial) {
                *other = new;
            }
            text.push_str(&format!("Successfully moved {} object(s).\n", moves.len()));
        }
        Ok(text)
    };
    let out = files.state_out.take().filter(|out| !out.as_os_str().is_empty());
    let Some(out) = out else {
        return change(cx, &files, lock, "state-mv", |state| moved(state, None)).await;
    };
    let mut other = open(cx, &StateFiles { state: Some(out), ..StateFiles::default() }, Some(lock), "state-mv").await?;
    let result = async {
        other.save_recovered().await?;
        let mut target = other.state().clone();
        let mut store = open(cx, &files, Some(lock), "state-mv").await?;
        let result = async {
            store.save_recovered().await?;
            let mut state = store.state().clone();
            let said = moved(&mut state, Some(&mut target))?;
            // What is written last is what forgets: objects may be in both states for a moment, never in none.
            other.commit(&target).await?;
            store.commit(&state).await?;
            Ok::<String, Failed>(said)
        }
        .await;
        let closed = store.close().await;
        let said = result?;
        closed?;
        Ok::<String, Failed>(said)
    }
    .await;
    let closed = other.close().await;
    let said = result?;
    closed?;
    Ok(said)
}

async fn list(cx: &Context, addresses: &[String], id: Option<&str>, files: &StateFiles) -> Result<String, Failed> {
    let targets = addresses.iter().map(|a| target(a)).collect::<Result<Vec<_>, _>>()?;
    let store = open(cx, files, None, "").await?;
    if !store.exists() {
        return Err(no_state());
    }
    let state = store.state();
    let mut listed = ops::list(state, &targets)?;
    listed.retain(|a| id.is_none_or(|id| state.get(a).is_some_and(|o| has_id(o, id))));
    Ok(listed.into_iter().map(|a| format!("{a}\n")).collect())
}

fn has_id(object: &crate::state::ObjectState, id: &str) -> bool {
    let json: Result<serde_json::Value, _> = serde_json::from_str(&object.attributes.to_json());
    json.is_ok_and(|v| v.get("id").and_then(|v| v.as_str()) == Some(id))
}

async fn show_one(cx: &Context, address: &str, files: &StateFiles) -> Result<String, Failed> {
    let addr: ResourceInstance = address.parse().map_err(bad_address)?;
    let store = open(cx, files, None, "").await?;
    if !store.exists() {
        return Err(no_state());
    }
    let state = store.state();
    let resource = state.resource(&addr.abs_resource());
    let Some((resource, instance)) = resource.and_then(|r| Some((r, r.instances.get(&addr.key)?))) else {
        return Err(Diagnostic::error(
            "No instance found for the given address!",
            format!("The state holds no object {addr}. \"gpuform state list\" shows what it holds."),
        )
        .into());
    };
    let provider = &resource.provider.provider;
    let mut needed = Needed::default();
    needed.add(provider, addr.resource.mode, &addr.resource.ty);
    let schemas = load_schemas(cx, needed).await?;
    let info = schemas.resource(provider, addr.resource.mode, &addr.resource.ty);
    Ok(view::state::instance(&addr, instance, info, cx.style))
}

async fn pull(cx: &Context) -> Result<String, Failed> {
    let store = open(cx, &StateFiles::default(), None, "").await?;
    if !store.exists() {
        return Ok(String::new());
    }
    let bytes = file::to_bytes(store.state())
        .map_err(|e| Failed::from(Diagnostic::error("State cannot be shown", e.to_string())))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

async fn push(cx: &Context, path: &std::path::Path, force: bool, lock: &Lock) -> Result<String, Failed> {
    let fail = |e: std::io::Error| {
        Failed::from(Diagnostic::error("State cannot be read", format!("{}: {e}.", path.display())))
    };
    let bytes = if path.as_os_str() == "-" {
        let mut all = Vec::new();
        std::io::Read::read_to_end(&mut std::io::stdin().lock(), &mut all).map_err(fail)?;
        all
    } else {
        crate::input::read_argument(&cx.path(path)).map_err(fail)?
    };
    let Some(state) = file::read(&bytes, &path.display().to_string())? else {
        return Err(Diagnostic::error("State is empty", "There is nothing in the file that could be stored.").into());
    };
    let mut store = open(cx, &StateFiles::default(), Some(lock), "state-push").await?;
    let pushed = store.push(&state, force).await;
    let closed = store.close().await;
    pushed?;
    closed?;
    Ok(String::new())
}

async fn replace_provider(
    cx: &Context,
    from: &str,
    to: &str,
    auto_approve: bool,
    lock: &Lock,
    files: &StateFiles,
) -> Result<String, Failed> {
    let source = |text: &str| Provider::parse(text).map_err(bad_address);
    let (from, to) = (source(from)?, source(to)?);
    let replaced = |state: &mut StateModel| {
        let mut trial = state.clone();
        let changed = ops::replace_provider(&mut trial, &from, &to);
        if changed.is_empty() {
            return Ok("No matching resources found.\n".to_owned());
        }
        let mut text = format!("The provider of these resources changes from\n  {from}\nto\n  {to}\n\n");
        changed.iter().for_each(|r| text.push_str(&format!("  {r}\n")));
        if !auto_approve {
            cx.print(&text);
            text.clear();
            let question =
                "\nDo you want to make these changes?\nOnly 'yes' will be accepted to continue.\n\nEnter a value: ";
            if prompt::ask(cx, question)?.trim() != "yes" {
                return Ok("Cancelled replacing providers.\n".to_owned());
            }
        }
        *state = trial;
        Ok(format!("{text}\nSuccessfully replaced provider for {} resources.\n", changed.len()))
    };
    change(cx, files, lock, "state-replace-provider", replaced).await
}

impl One {
    async fn run(
        self,
        cx: &Context,
        what: &str,
        done: &str,
        edit: impl FnOnce(&mut StateModel, &ResourceInstance) -> Result<(), Box<Diagnostic>>,
    ) -> Exit {
        let result = async {
            let addr: ResourceInstance = self.address.parse().map_err(bad_address)?;
            let edited = |state: &mut StateModel| {
                if self.allow_missing && state.instance(&addr).is_none() {
                    let detail = format!("The state holds no object {addr}, so nothing was changed.");
                    cx.show(&Diagnostic::warning("No such resource instance", detail).into(), false);
                    return Ok(String::new());
                }
                edit(state, &addr)?;
                Ok(format!("{done} {addr}.\n"))
            };
            change(cx, &self.files, &self.lock, what, edited).await
        };
        show(cx, result.await)
    }
}

impl Taint {
    pub async fn run(self, cx: &mut Context) -> Exit {
        let edit = |s: &mut StateModel, a: &ResourceInstance| ops::taint(s, a);
        self.one.run(cx, "taint", "Marked as tainted:", edit).await
    }
}

impl Untaint {
    pub async fn run(self, cx: &mut Context) -> Exit {
        let edit = |s: &mut StateModel, a: &ResourceInstance| ops::untaint(s, a);
        self.one.run(cx, "untaint", "No longer tainted:", edit).await
    }
}

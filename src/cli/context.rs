//! What a command gets from the outside: the environment, where it works, and how to speak to the user. Only this
//! file and `main.rs` touch the process's environment and streams.

use crate::diag::{Diagnostics, Sources};
use crate::engine::runtime::Place;
use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio_util::sync::CancellationToken;

/// The environment of the process, taken once.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    pub variables: BTreeMap<String, String>,
}

impl Environment {
    pub fn of_process() -> Environment {
        let text = |s: std::ffi::OsString| s.into_string().ok();
        Environment { variables: std::env::vars_os().filter_map(|(k, v)| Some((text(k)?, text(v)?))).collect() }
    }

    /// A variable that is set and not empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|v| !v.is_empty())
    }

    pub fn home(&self) -> Option<PathBuf> {
        self.get("HOME").map(PathBuf::from)
    }

    /// `TF_IN_AUTOMATION`: leave out advice on what to run next.
    pub fn in_automation(&self) -> bool {
        self.get("TF_IN_AUTOMATION").is_some()
    }

    /// `TF_INPUT`: whether questions may be asked.
    pub fn input_allowed(&self) -> bool {
        !matches!(self.get("TF_INPUT"), Some("0" | "false"))
    }
}

/// How to show things.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    pub color: bool,
    /// Columns of the terminal.
    pub width: usize,
    /// Standard output is a terminal.
    pub terminal: bool,
}

/// The wish to stop at once, which the second interrupt expresses. Commands that do not heed it are ended.
#[derive(Clone, Debug, Default)]
pub struct Abort {
    token: CancellationToken,
    heeded: Arc<AtomicBool>,
}

impl Abort {
    /// From now on the command ends by itself when the token is cancelled.
    pub fn heeded(&self) -> CancellationToken {
        self.heeded.store(true, Ordering::SeqCst);
        self.token.clone()
    }

    /// Asks the command to end; false if it does not listen.
    pub fn request(&self) -> bool {
        self.token.cancel();
        self.heeded.load(Ordering::SeqCst)
    }
}

impl Style {
    /// What standard output can show.
    pub fn of_process(env: &Environment) -> Style {
        let terminal = std::io::stdout().is_terminal();
        let width = terminal_size::terminal_size().map_or(80, |(w, _)| usize::from(w.0));
        let color = terminal && env.get("NO_COLOR").is_none() && env.get("TERM") != Some("dumb");
        Style { color, width, terminal }
    }
}

/// What commands work with.
pub struct Context {
    pub env: Environment,
    /// The directory of the root module.
    pub dir: PathBuf,
    /// Where the program was started, before `-chdir`.
    pub original_dir: PathBuf,
    pub sources: Sources,
    pub style: Style,
    /// Cancelled by the first interrupt.
    pub stop: CancellationToken,
    pub abort: Abort,
    /// Whether objects are being changed right now, which an interrupt must not cut short.
    pub applying: Arc<AtomicBool>,
}

impl Context {
    pub fn new(env: Environment, original_dir: PathBuf, dir: PathBuf) -> Context {
        let style = Style::of_process(&env);
        Context {
            env,
            dir,
            original_dir,
            sources: Sources::default(),
            style,
            stop: CancellationToken::new(),
            applying: Arc::default(),
            abort: Abort::default(),
        }
    }

    /// `.terraform`, or what `TF_DATA_DIR` says.
    pub fn data_dir(&self) -> PathBuf {
        self.dir.join(self.env.get("TF_DATA_DIR").unwrap_or(".terraform"))
    }

    /// `USER@HOST`, for locks.
    pub fn who(&self) -> String {
        let user = self.env.get("USER").or(self.env.get("LOGNAME")).unwrap_or("unknown");
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let host = host.trim();
        format!("{user}@{}", if host.is_empty() { "localhost" } else { host })
    }

    /// A path given by the user, relative to the working directory.
    pub fn path(&self, given: impl AsRef<Path>) -> PathBuf {
        self.dir.join(given)
    }

    /// The selected workspace.
    pub fn workspace(&self) -> String {
        if let Some(w) = self.env.get("TF_WORKSPACE") {
            return w.to_owned();
        }
        let file = self.data_dir().join("environment");
        let name = crate::input::read(&file).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        name.map(|n| n.trim().to_owned()).filter(|n| !n.is_empty()).unwrap_or_else(|| "default".to_owned())
    }

    pub fn place(&self) -> Place {
        Place {
            base_dir: self.dir.clone(),
            home: self.env.home(),
            ssh_agent: self.env.get("SSH_AUTH_SOCK").filter(|s| !s.is_empty()).map(PathBuf::from),
            cwd: self.original_dir.to_string_lossy().into_owned(),
            root: ".".into(),
            workspace: self.workspace(),
        }
    }

    /// Prints to standard output. A closed pipe ends the output quietly, as it does for other tools.
    pub fn print(&self, text: &str) {
        let mut out = std::io::stdout().lock();
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }

    pub fn println(&self, text: &str) {
        self.print(&format!("{text}\n"));
    }

    /// Shows diagnostics to people: errors on standard error, warnings on standard output.
    pub fn show(&self, diags: &Diagnostics, compact_warnings: bool) {
        crate::cli::view::diagnostics::show(diags, &self.sources, self.style, compact_warnings);
    }
}

/// The time now, RFC 3339 in UTC with whole seconds.
pub fn timestamp() -> String {
    jiff::Timestamp::now().round(jiff::Unit::Second).map_or_else(|_| String::new(), |t| t.to_string())
}

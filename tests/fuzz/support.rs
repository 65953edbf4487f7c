//! What the fuzz targets share: a working directory that the process is in, a context without a terminal, and looking
//! at diagnostics as a user would. A target gives bytes to the functions that the commands call; whatever the bytes
//! are, they must come back.

use gpuform::cli::context::{Context, Environment, Style};
use gpuform::cli::project::{Factory, Missing, Project};
use gpuform::cli::view;
use gpuform::diag::{Diagnostics, Sources};
use gpuform::engine::Session;
use gpuform::engine::events::NoEvents;
use gpuform::engine::providers::ProviderPool;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// The working directory of the process: empty at first, and a new one for each process.
pub fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let shared = Path::new("/dev/shm");
        let base = if shared.is_dir() { shared.to_owned() } else { std::env::temp_dir() };
        let folder = base.join(format!("gpuform-fuzz-{}", std::process::id()));
        // An earlier process may have had this number.
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(folder.join(".terraform/modules")).expect("a folder for the files");
        std::env::set_current_dir(&folder).expect("the folder can be entered");
        folder
    })
}

/// Writes a file of the working directory.
pub fn put(name: &str, content: impl AsRef<[u8]>) {
    let path = folder().join(name);
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).expect("folders of the file");
    }
    std::fs::write(path, content).expect("the file is written");
}

/// Takes a file of the working directory away.
pub fn remove(name: &str) {
    let _ = std::fs::remove_file(folder().join(name));
}

/// The context of a command in the working directory.
pub fn context() -> Context {
    let folder = folder().to_owned();
    let variables = [("HOME", "."), ("TF_INPUT", "0"), ("TF_CLI_CONFIG_FILE", "cli.tfrc")];
    let env = Environment { variables: variables.map(|(k, v)| (k.to_owned(), v.to_owned())).into() };
    let mut context = Context::new(env, folder.clone(), folder);
    context.style = STYLE;
    context
}

pub const STYLE: Style = Style { color: true, width: 40, terminal: false };

/// Runs what is asynchronous.
pub fn block_on<F: Future>(future: F) -> F::Output {
    static RUNTIME: OnceLock<tokio::runtime::Runtime> = OnceLock::new();
    let new = || tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("threads");
    RUNTIME.get_or_init(new).block_on(future)
}

/// A run of the engine with the providers that are installed in the working directory: the built-in one.
pub fn session(cx: &Context, pool: Arc<ProviderPool>) -> Session {
    Session {
        pool,
        events: Arc::new(NoEvents),
        stop: cx.stop.clone(),
        parallelism: 2,
        place: cx.place(),
        substitutes: None,
    }
}

/// Providers of a working directory.
pub fn pool(factory: Factory) -> Arc<ProviderPool> {
    Arc::new(ProviderPool::new(Arc::new(factory)))
}

/// The configuration that states and plans meet.
const CONFIG: &str = r#"
variable "v" {
  default = { a = 1, b = ["x"] }
}
resource "terraform_data" "a" {
  input = var.v
}
resource "terraform_data" "b" {
  count            = 2
  input            = count.index
  triggers_replace = terraform_data.a.id
}
resource "terraform_data" "c" {
  for_each = toset(["x", "y"])
  input    = each.key
  lifecycle {
    create_before_destroy = true
  }
}
data "terraform_remote_state" "r" {
  backend = "local"
  config  = { path = "other.tfstate" }
  defaults = { o = 1 }
}
moved {
  from = terraform_data.old
  to   = terraform_data.c["x"]
}
removed {
  from = terraform_data.gone
  lifecycle {
    destroy = false
  }
}
check "c" {
  assert {
    condition     = terraform_data.a.output != null
    error_message = "It is null."
  }
}
output "o" {
  value = [terraform_data.a, terraform_data.b[*].output, var.v]
}
output "s" {
  value     = terraform_data.c
  sensitive = true
}
"#;

/// The project of [`CONFIG`], opened once.
pub fn project() -> &'static Project {
    static PROJECT: OnceLock<Project> = OnceLock::new();
    PROJECT.get_or_init(|| {
        put("main.tf", CONFIG);
        put("other.tfstate", r#"{"version":4,"serial":1,"lineage":"l","outputs":{"o":{"value":1,"type":"number"}}}"#);
        put("cli.tfrc", "");
        match Project::open(&context(), &[], Missing::Unknown) {
            Ok((project, _)) => project,
            Err(d) => panic!("{d:?}"),
        }
    })
}

/// Shows diagnostics in all ways.
pub fn told(diags: &Diagnostics, sources: &Sources) {
    for d in diags {
        let text = view::diagnostics::render(d, sources, STYLE);
        assert!(!text.is_empty());
    }
    assert!(view::json::validation(diags, sources).starts_with('{'));
}

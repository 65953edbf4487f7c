//! A working directory with the demo provider of the SDK, and gpuform run in it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A directory for one test.
pub struct Work {
    dir: tempfile::TempDir,
}

/// The demo provider beside the executables under test.
fn provider() -> PathBuf {
    let gpuform = Path::new(env!("CARGO_BIN_EXE_gpuform"));
    gpuform.with_file_name("examples").join("terraform-provider-demo")
}

/// Whether the demo provider is built; if not, says how to build it. `cargo xtask test` builds it.
pub fn is_built() -> bool {
    let built = provider().is_file();
    if !built {
        assert!(std::env::var_os("CI").is_none(), "the demo provider is not built");
        println!("skipped: build it with cargo build -p gpuform-provider-sdk --example terraform-provider-demo");
    }
    built
}

impl Work {
    pub fn new(config: &str) -> Work {
        let work = Work { dir: tempfile::tempdir().unwrap() };
        work.write("main.tf", config);
        let bin = provider().parent().unwrap().display().to_string();
        work.write(
            "cli.tfrc",
            &format!("provider_installation {{\n  dev_overrides {{\n    \"gpuform/demo\" = \"{bin}\"\n  }}\n  direct {{}}\n}}\n"),
        );
        work
    }

    /// A folder whose providers are installed from the mirror directory `mirror` in it; see [`Work::offer`].
    pub fn with_mirror(config: &str) -> Work {
        let work = Work::new(config);
        let mirror = work.path("mirror");
        std::fs::create_dir(&mirror).unwrap();
        let text = format!("provider_installation {{\n  filesystem_mirror {{\n    path = {mirror:?}\n  }}\n}}\n");
        work.write("cli.tfrc", &text);
        work
    }

    /// Where the mirror has a version of the demo provider for this platform.
    pub fn offered(&self, version: &str) -> PathBuf {
        let arch = if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" };
        let os = if cfg!(target_os = "macos") { "darwin" } else { "linux" };
        self.path("mirror/registry.terraform.io/gpuform/demo").join(version).join(format!("{os}_{arch}"))
    }

    /// Puts a version of the demo provider into the mirror: the real one where it is built, or a file in its place.
    pub fn offer(&self, version: &str) {
        let dir = self.offered(version);
        std::fs::create_dir_all(&dir).unwrap();
        let executable = dir.join(format!("terraform-provider-demo_v{version}"));
        if provider().is_file() {
            // A link where the file system can: the executable is large, and many tests offer it.
            if std::fs::hard_link(provider(), &executable).is_err() {
                std::fs::copy(provider(), executable).unwrap();
            }
        } else {
            std::fs::write(executable, version).unwrap();
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// gpuform with arguments, ready to start.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut c = Command::new(env!("CARGO_BIN_EXE_gpuform"));
        c.args(args);
        self.prepare(&mut c);
        c
    }

    /// Gives a command this folder as working directory and home, and nothing of the caller's environment but PATH.
    pub fn prepare(&self, c: &mut Command) {
        c.current_dir(self.dir.path()).env_clear();
        c.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        c.env("HOME", self.dir.path()).env("TF_CLI_CONFIG_FILE", self.path("cli.tfrc"));
        c.env("DEMO_STORE", self.path("store")).env("DEMO_LOG", self.path("log")).stdin(std::process::Stdio::null());
    }

    pub fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Runs a command that must succeed; gives what it printed.
    #[track_caller]
    pub fn ok(&self, args: &[&str]) -> String {
        let out = self.run(args);
        assert!(out.status.success(), "{args:?}:\n{}{}", text(&out.stdout), text(&out.stderr));
        text(&out.stdout)
    }

    /// Runs a command that must fail with exit code 1; gives its errors.
    #[track_caller]
    pub fn fails(&self, args: &[&str]) -> String {
        let out = self.run(args);
        assert_eq!(out.status.code(), Some(1), "{args:?}:\n{}{}", text(&out.stdout), text(&out.stderr));
        text(&out.stderr)
    }

    /// The files of the objects that exist in the provider's store.
    fn objects(&self) -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir(self.path("store")) else { return Vec::new() };
        entries.flatten().map(|e| e.path()).filter(|p| p.extension().is_some_and(|e| e == "json")).collect()
    }

    /// The IDs of the objects that exist.
    pub fn ids(&self) -> BTreeSet<String> {
        self.objects().iter().filter_map(|p| Some(p.file_stem()?.to_string_lossy().into_owned())).collect()
    }

    /// Their names, sorted.
    pub fn things(&self) -> Vec<String> {
        let mut names: Vec<String> = self
            .objects()
            .iter()
            .filter_map(|p| serde_json::from_slice::<serde_json::Value>(&std::fs::read(p).ok()?).ok())
            .filter_map(|v| v.get("name").and_then(|n| n.as_str().map(str::to_owned)))
            .collect();
        names.sort();
        names
    }
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

//! `cargo xtask quickstart`: a GPU stack from init to destroy, against an AWS API on this machine.

use crate::cloud::Cloud;
use crate::process::Interrupt;
use crate::workspace::Workspace;
use crate::{Result, python};
use std::env::consts::{ARCH, OS};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const EXAMPLE: &str = "examples/quickstart";

/// Runs the task.
///
/// # Errors
/// When a step fails or at Ctrl-C. In every case the server is stopped and the work folder removed: what the stack
/// consisted of was in the server's memory.
pub fn run(arguments: &[String]) -> Result {
    let (mut keep, mut release) = (false, false);
    for a in arguments {
        match a.as_str() {
            "--keep" => keep = true,
            "--release" => release = true,
            other => return Err(format!("quickstart has no option \"{other}\"; it has --keep and --release.")),
        }
    }
    let workspace = Workspace::find()?;
    let interrupt = Interrupt::listen()?;
    let python = python::environment(&workspace, &interrupt)?;
    println!("Building gpuform and its AWS provider (the first time takes minutes: the AWS SDK is large)");
    workspace.build(release, &interrupt)?;

    let cloud = Cloud::start(&workspace, &python)?;
    println!("An AWS API answers on {}. No account is used, nothing costs anything.", cloud.address);
    let folder = Folder::create(&workspace, release)?;
    println!("{EXAMPLE} is copied to {}", folder.stack.display());
    let stack = Stack { program: workspace.executable("gpuform", release), folder, cloud, interrupt };
    stack.tour(keep)
}

/// What the steps of the tour share.
struct Stack {
    program: PathBuf,
    folder: Folder,
    cloud: Cloud,
    interrupt: Interrupt,
}

impl Stack {
    fn tour(&self, keep: bool) -> Result {
        self.step("Install the provider", &["init"])?;
        self.step("See what would be made", &["plan", "-out=stack.plan"])?;
        self.step("Make it", &["apply", "stack.plan"])?;
        self.step("Nothing is left to change", &["plan", "-detailed-exitcode"])?;
        self.step("What other tools need to know", &["output"])?;
        if keep {
            self.linger();
        } else {
            self.step("Take it down", &["destroy", "-auto-approve"])?;
            println!("\nDone. Go on with --keep, with the other examples, or with README.md.");
        }
        Ok(())
    }

    fn step(&self, purpose: &str, arguments: &[&str]) -> Result {
        println!("\n# {purpose}\n$ gpuform {}", arguments.join(" "));
        let mut command = Command::new(&self.program);
        command.args(arguments).current_dir(&self.folder.stack);
        let private = |name: &str| ["AWS_", "TF_", "GPUFORM_"].iter().any(|p| name.starts_with(p));
        for (name, _) in std::env::vars_os().filter(|(n, _)| private(&n.to_string_lossy())) {
            command.env_remove(name);
        }
        self.interrupt.run(command.envs(self.environment()))
    }

    fn environment(&self) -> Vec<(&'static str, String)> {
        let mut all = self.cloud.environment();
        all.push(("TF_CLI_CONFIG_FILE", self.folder.settings.display().to_string()));
        all.push(("NO_PROXY", "127.0.0.1".to_owned()));
        all
    }

    /// Keeps the server running while the user works with the stack in another terminal.
    fn linger(&self) {
        println!("\nThe stack is up. In another terminal:\n\n    cd {}", self.folder.stack.display());
        for (name, value) in self.environment() {
            println!("    export {name}={value}");
        }
        println!("    alias gpuform={}\n", self.program.display());
        println!("and then, for example: gpuform show; gpuform state list; edit compute.tf and gpuform apply.");
        println!("Ctrl-C here ends the server, and the stack with it.");
        self.interrupt.wait_for_request();
    }
}

/// The work folder: the example's copy, a mirror with the provider, and a CLI configuration that points to it.
struct Folder {
    root: PathBuf,
    stack: PathBuf,
    settings: PathBuf,
}

impl Folder {
    fn create(workspace: &Workspace, release: bool) -> Result<Folder> {
        let root = workspace.target.join(format!("quickstart-{}", std::process::id()));
        let folder = Folder { stack: root.join("stack"), settings: root.join("gpuform.tfrc"), root };
        folder.fill(workspace, release).map_err(|e| format!("{} cannot be prepared: {e}", folder.root.display()))?;
        Ok(folder)
    }

    fn fill(&self, workspace: &Workspace, release: bool) -> std::io::Result<()> {
        fs::create_dir_all(&self.stack)?;
        for entry in fs::read_dir(workspace.root.join(EXAMPLE))? {
            let entry = entry?;
            if entry.path().extension().is_some_and(|e| e == "tf") {
                fs::copy(entry.path(), self.stack.join(entry.file_name()))?;
            }
        }
        let mirror = self.root.join("providers");
        install(&workspace.executable("terraform-provider-aws", release), &mirror)?;
        let text = format!(
            "provider_installation {{\n  filesystem_mirror {{\n    path = \"{}\"\n  }}\n}}\n",
            mirror.display()
        );
        fs::write(&self.settings, text)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

/// Puts a provider into a mirror, in the layout of Terraform's unpacked mirrors.
fn install(provider: &Path, mirror: &Path) -> std::io::Result<()> {
    let version = env!("CARGO_PKG_VERSION");
    let system = if OS == "macos" { "darwin" } else { OS };
    let machine = match ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    let place = mirror.join(format!("registry.terraform.io/gpuform/aws/{version}/{system}_{machine}"));
    fs::create_dir_all(&place)?;
    let target = place.join(format!("terraform-provider-aws_v{version}"));
    fs::hard_link(provider, &target).or_else(|_| fs::copy(provider, &target).map(drop))
}

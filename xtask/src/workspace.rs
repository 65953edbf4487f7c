//! Where the checkout, its target folder and its executables are, and how they are built.

use crate::Result;
use crate::process::Interrupt;
use std::env::consts::EXE_SUFFIX;
use std::path::{Path, PathBuf};
use std::process::Command;

pub struct Workspace {
    /// The checkout.
    pub root: PathBuf,
    /// Cargo's target folder, wherever the user has put it.
    pub target: PathBuf,
}

impl Workspace {
    /// The workspace that this executable was built in.
    ///
    /// # Errors
    /// When it is not where cargo puts it, `TARGET/PROFILE/xtask`.
    pub fn find() -> Result<Workspace> {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = manifest.parent().ok_or("xtask must lie in a folder of the workspace")?.to_path_buf();
        let own = std::env::current_exe().map_err(|e| format!("Where this program lies is unknown: {e}"))?;
        let target = own.ancestors().nth(2).ok_or("xtask must be started with \"cargo xtask\"")?.to_path_buf();
        Ok(Workspace { root, target })
    }

    /// `cargo` in the checkout.
    pub fn cargo(&self, arguments: &[&str]) -> Command {
        let mut c = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        c.args(arguments).current_dir(&self.root);
        c
    }

    /// Builds gpuform and the AWS provider.
    ///
    /// # Errors
    /// When cargo fails, which has said why, or at Ctrl-C.
    pub fn build(&self, release: bool, interrupt: &Interrupt) -> Result {
        let mut c = self.cargo(&["build", "--package", "gpuform", "--package", "gpuform-provider-aws"]);
        if release {
            c.arg("--release");
        }
        interrupt.run(&mut c)
    }

    /// The path of an executable that was built.
    pub fn executable(&self, name: &str, release: bool) -> PathBuf {
        self.target.join(if release { "release" } else { "debug" }).join(format!("{name}{EXE_SUFFIX}"))
    }
}

//! The Python environment that the AWS API on loopback runs in: made once in the target folder, and made anew when
//! `tests/clouds/requirements.txt` changes.

use crate::Result;
use crate::process::Interrupt;
use crate::workspace::Workspace;
use std::path::{Path, PathBuf};
use std::process::Command;

const OLDEST: &str = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))";

/// The interpreter of the environment, which is prepared where it is not there yet.
///
/// # Errors
/// When there is no fit Python 3, when packages cannot be installed, or at Ctrl-C.
pub fn environment(workspace: &Workspace, interrupt: &Interrupt) -> Result<PathBuf> {
    let requirements = workspace.root.join("tests/clouds/requirements.txt");
    let wanted = std::fs::read(&requirements).map_err(|e| format!("{}: {e}", requirements.display()))?;
    let place = workspace.target.join("python");
    let (interpreter, installed) = (place.join("bin/python"), place.join("requirements.installed"));
    if std::fs::read(&installed).is_ok_and(|i| i == wanted) && works(&interpreter) {
        return Ok(interpreter);
    }
    let system = Path::new("python3");
    if !works(system) {
        return Err(
            "Python 3.11 or later with the modules venv and ensurepip is needed as \"python3\" (on Debian and Ubuntu: \
                    apt install python3 python3-venv)."
                .to_owned(),
        );
    }
    println!("Preparing a Python environment in {}", place.display());
    let _ = std::fs::remove_dir_all(&place);
    interrupt.run(Command::new(system).args(["-m", "venv"]).arg(&place))?;
    let pip = ["-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--requirement"];
    interrupt.run(Command::new(&interpreter).args(pip).arg(&requirements))?;
    std::fs::write(&installed, wanted).map_err(|e| format!("{}: {e}", installed.display()))?;
    Ok(interpreter)
}

fn works(interpreter: &Path) -> bool {
    Command::new(interpreter).args(["-c", OLDEST]).output().is_ok_and(|o| o.status.success())
}

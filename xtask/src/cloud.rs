//! The AWS API on this machine: `tests/clouds/aws.py`, running for as long as a task does.

use crate::Result;
use crate::workspace::Workspace;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A running server; it ends when this is dropped, and by itself when this process dies in any other way.
pub struct Cloud {
    server: Child,
    /// `http://127.0.0.1:PORT`
    pub address: String,
}

impl Cloud {
    /// Starts the server and waits until it answers.
    ///
    /// # Errors
    /// When it does not start; it has said why.
    pub fn start(workspace: &Workspace, python: &Path) -> Result<Cloud> {
        let mut command = Command::new(python);
        // A group of its own, so that Ctrl-C reaches gpuform, which still needs the server to stop in an orderly way.
        command.arg(workspace.root.join("tests/clouds/aws.py")).arg("--die-with-parent").process_group(0);
        let mut server = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| format!("{} cannot be started: {e}", python.display()))?;
        let mut line = String::new();
        if let Some(out) = server.stdout.take() {
            let _ = BufReader::new(out).read_line(&mut line);
        }
        let address = line.trim().strip_prefix("listening on ").unwrap_or_default().to_owned();
        let cloud = Cloud { server, address };
        if cloud.address.is_empty() { Err("The AWS API did not start.".to_owned()) } else { Ok(cloud) }
    }

    /// The environment in which AWS tools talk to this server and to nothing else.
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        let none = "/dev/null".to_owned();
        vec![
            ("AWS_ENDPOINT_URL", self.address.clone()),
            ("AWS_REGION", "us-east-1".to_owned()),
            ("AWS_ACCESS_KEY_ID", "test".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "test".to_owned()),
            ("AWS_CONFIG_FILE", none.clone()),
            ("AWS_SHARED_CREDENTIALS_FILE", none),
        ]
    }
}

impl Drop for Cloud {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

//! What a plugin and its host say before gRPC: the environment that the host sets, and the line on standard output
//! with which the plugin answers. Also the texts for those who start a provider by hand.

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// The variable, and its value, by which a host of Terraform providers shows that it is one.
const COOKIE: (&str, &str) =
    ("TF_PLUGIN_MAGIC_COOKIE", "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2");
const VERSIONS: &str = "PLUGIN_PROTOCOL_VERSIONS";
const CLIENT_CERTIFICATE: &str = "PLUGIN_CLIENT_CERT";
const SOCKET_FOLDER: &str = "PLUGIN_UNIX_SOCKET_DIR";

/// The major version of the plugin protocol that the SDK speaks.
const PROTOCOL: u32 = 6;

/// How the process was started.
pub(super) enum Start {
    /// By a host.
    Plugin {
        /// The host's certificate (PEM) if it wants TLS.
        client_certificate: Option<String>,
    },
    /// By a developer, with `-debug`.
    Debug,
}

pub(super) enum Refusal {
    NotAPluginHost,
    Impossible(String),
}

/// Reads arguments and environment.
pub(super) fn start(mut arguments: impl Iterator<Item = String>) -> Result<Start, Refusal> {
    let variable = |name| std::env::var(name).ok().filter(|v: &String| !v.is_empty());
    if arguments.any(|a| a == "-debug" || a == "--debug") {
        return Ok(Start::Debug);
    }
    if variable(COOKIE.0).as_deref() != Some(COOKIE.1) {
        return Err(Refusal::NotAPluginHost);
    }
    if let Some(versions) = variable(VERSIONS)
        && !versions.split(',').any(|v| v.trim().parse() == Ok(PROTOCOL))
    {
        return Err(Refusal::Impossible(format!(
            "it speaks plugin protocol {PROTOCOL}, but the tool offers only {versions}. A newer tool is needed."
        )));
    }
    Ok(Start::Plugin { client_certificate: variable(CLIENT_CERTIFICATE) })
}

/// A place for the socket that only this user can reach; removed when dropped.
pub(super) struct Socket {
    folder: PathBuf,
    path: PathBuf,
}

impl Socket {
    pub(super) fn create() -> std::io::Result<Socket> {
        let base = std::env::var_os(SOCKET_FOLDER).map_or_else(std::env::temp_dir, PathBuf::from);
        // The address of a socket has room for about a hundred bytes.
        let base = if base.as_os_str().len() > 60 { PathBuf::from("/tmp") } else { base };
        let folder = base.join(format!("plugin-{}", uuid::Uuid::new_v4().simple()));
        std::fs::DirBuilder::new().mode(0o700).create(&folder)?;
        Ok(Socket { path: folder.join("s"), folder })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // Nothing can be done about what cannot be removed, and nobody is left to be told.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Prints the line that the host waits for; the certificate is the server's, in DER.
pub(super) fn announce(socket: &Path, certificate: Option<&[u8]>) -> std::io::Result<()> {
    let certificate = certificate.map(|der| STANDARD_NO_PAD.encode(der)).unwrap_or_default();
    let mut out = std::io::stdout().lock();
    writeln!(out, "1|{PROTOCOL}|unix|{}|grpc|{certificate}", socket.display())?;
    out.flush()
}

/// What `-debug` prints: how to make a tool use this process.
pub(super) fn reattach(name: &str, socket: &Path) -> String {
    let description = serde_json::json!({
        format!("registry.terraform.io/gpuform/{name}"): {
            "Protocol": "grpc",
            "ProtocolVersion": PROTOCOL,
            "Pid": std::process::id(),
            "Test": true,
            "Addr": { "Network": "unix", "String": socket.display().to_string() },
        }
    });
    format!("The provider runs. To use it, set in another terminal:\n\n\tTF_REATTACH_PROVIDERS='{description}'\n")
}

pub(super) fn by_hand(name: &str, version: &str) -> String {
    format!(
        "This is version {version} of the {name} provider for gpuform and Terraform.\n\n\
         It is not meant to be started by hand: the tools start it themselves for configurations that name it in\n\
         `required_providers`. To try a build of your own, name its folder under `dev_overrides` in the file given\n\
         by TF_CLI_CONFIG_FILE:\n\n    \
         provider_installation {{\n      dev_overrides {{\n        \"gpuform/{name}\" = \"/the/folder\"\n      }}\n      \
         direct {{}}\n    }}\n\n\
         With the argument -debug it serves until interrupted, for use under a debugger."
    )
}

//! `connection` blocks: how provisioners reach a machine.

use crate::diag::{Diagnostic, Diagnostics, Range};
use crate::engine::provision::attribute;
use gpuform_schema::schema::Block;
use gpuform_schema::{Type, Value};
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;

/// How long connecting is tried, unless `timeout` says something else.
const TIMEOUT: Duration = Duration::from_secs(300);

/// One host to log in to.
#[derive(Clone, PartialEq, Debug)]
pub struct Login {
    pub host: String,
    pub port: u16,
    pub user: String,
    pub password: Option<String>,
    /// The text of a private key, and of a certificate for it.
    pub private_key: Option<String>,
    pub certificate: Option<String>,
    /// The key that the host must show, or that has signed the one it shows; any key is accepted where it is absent.
    pub host_key: Option<String>,
}

/// What a machine's commands look like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Platform {
    Unix,
    Windows,
}

/// A connection that was asked for.
#[derive(Clone, PartialEq, Debug)]
pub struct Connection {
    pub target: Login,
    /// The host through which the target is reached.
    pub bastion: Option<Login>,
    /// The socket of the SSH agent, where its keys are to be tried.
    pub agent: Option<PathBuf>,
    /// The agent's key to try first: part of its comment, or its public key.
    pub agent_identity: Option<String>,
    pub timeout: Duration,
    pub platform: Platform,
    /// Where scripts are put; `%RAND%` in it stands for a random number.
    pub script_path: String,
}

pub static SCHEMA: LazyLock<Block> = LazyLock::new(|| {
    let texts = [
        "type",
        "user",
        "password",
        "timeout",
        "script_path",
        "target_platform",
        "private_key",
        "certificate",
        "host_key",
        "agent_identity",
        "bastion_host",
        "bastion_host_key",
        "bastion_user",
        "bastion_password",
        "bastion_private_key",
        "bastion_certificate",
        "proxy_scheme",
        "proxy_host",
        "proxy_user_name",
        "proxy_user_password",
        "cacert",
    ];
    let mut attributes: std::collections::BTreeMap<_, _> =
        texts.map(|n| (n.into(), attribute(Type::String, false))).into();
    for name in ["port", "bastion_port", "proxy_port"] {
        attributes.insert(name.into(), attribute(Type::Number, false));
    }
    for name in ["agent", "https", "insecure", "use_ntlm"] {
        attributes.insert(name.into(), attribute(Type::Bool, false));
    }
    attributes.insert("host".into(), attribute(Type::String, true));
    Block { attributes, ..Block::default() }
});

impl Connection {
    /// Reads an evaluated block without marks. `agent` is the agent's socket from the environment.
    ///
    /// # Errors
    /// What is missing or not supported, in one sentence.
    pub fn read(value: &Value, agent: Option<PathBuf>) -> Result<Connection, String> {
        let text = |name: &str| value.get(name).and_then(Value::as_str).filter(|s| !s.is_empty()).map(str::to_owned);
        match text("type").as_deref() {
            None | Some("ssh") => {}
            Some("winrm") => {
                return Err(
                    "Connections of type \"winrm\" are not supported; use type \"ssh\", which Windows offers as an \
                            optional feature."
                        .into(),
                );
            }
            Some(other) => return Err(format!("There is no connection type \"{other}\"; supported is \"ssh\".")),
        }
        if text("proxy_host").is_some() {
            return Err("Connections through a proxy (proxy_host) are not supported; use a bastion host.".into());
        }
        let platform = match text("target_platform").as_deref() {
            None | Some("unix") => Platform::Unix,
            Some("windows") => Platform::Windows,
            Some(other) => return Err(format!("target_platform must be \"unix\" or \"windows\", not \"{other}\".")),
        };
        let port = |name: &str| match value.get(name) {
            Some(Value::Number(n)) => match n.as_u64().and_then(|n| u16::try_from(n).ok()).filter(|n| *n > 0) {
                Some(port) => Ok(Some(port)),
                None => Err(format!("The argument \"{name}\" must be a port: a number from 1 to 65535.")),
            },
            _ => Ok(None),
        };
        let (default_user, default_path) = match platform {
            Platform::Unix => ("root", "/tmp/gpuform_%RAND%.sh"),
            Platform::Windows => ("Administrator", "C:/windows/temp/gpuform_%RAND%.cmd"),
        };
        let target = Login {
            host: text("host").ok_or("The argument \"host\" is empty: there is no machine to connect to.")?,
            port: port("port")?.unwrap_or(22),
            user: text("user").unwrap_or_else(|| default_user.into()),
            password: text("password"),
            private_key: text("private_key"),
            certificate: text("certificate"),
            host_key: text("host_key"),
        };
        let bastion_port = port("bastion_port")?.unwrap_or(target.port);
        let bastion = text("bastion_host").map(|host| {
            let own_key = text("bastion_private_key");
            Login {
                host,
                port: bastion_port,
                user: text("bastion_user").unwrap_or_else(|| target.user.clone()),
                password: text("bastion_password").or_else(|| target.password.clone()),
                certificate: text("bastion_certificate")
                    .or_else(|| target.certificate.clone().filter(|_| own_key.is_none())),
                private_key: own_key.or_else(|| target.private_key.clone()),
                host_key: text("bastion_host_key"),
            }
        });
        let wanted = value.get("agent").and_then(Value::as_bool);
        if wanted == Some(true) && agent.is_none() {
            return Err("The keys of an SSH agent are to be used (agent = true), but SSH_AUTH_SOCK names none.".into());
        }
        Ok(Connection {
            target,
            bastion,
            agent: agent.filter(|_| wanted != Some(false)),
            agent_identity: text("agent_identity"),
            timeout: text("timeout").as_deref().and_then(duration).unwrap_or(TIMEOUT),
            platform,
            script_path: text("script_path").unwrap_or_else(|| default_path.into()),
        })
    }
}

/// Reports a `timeout` that is none; the usual one is used then.
pub fn check_timeout(value: &Value, at: Range) -> Diagnostics {
    let written = value.get("timeout").and_then(Value::as_str).filter(|s| !s.is_empty());
    match written {
        Some(text) if duration(text).is_none() => Diagnostic::warning(
            "Invalid connection timeout",
            format!("\"{text}\" is no duration such as \"30s\" or \"5m\". Connecting is tried for five minutes."),
        )
        .at(at)
        .into(),
        _ => Diagnostics::new(),
    }
}

/// A duration such as `1h30m`, `90s` or `1.5m`.
fn duration(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    let mut seconds = 0.0;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').filter(|n| *n > 0)?;
        let (number, after) = rest.split_at(digits);
        let unit = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at(unit);
        let factor = match unit {
            "h" => 3600.0,
            "m" => 60.0,
            "s" => 1.0,
            "ms" => 1e-3,
            "us" | "µs" => 1e-6,
            "ns" => 1e-9,
            _ => return None,
        };
        seconds += number.parse::<f64>().ok()? * factor;
        rest = after;
    }
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, Value)]) -> Result<Connection, String> {
        Connection::read(&Value::object(pairs.iter().map(|(k, v)| (*k, v.clone()))), None)
    }

    #[test]
    fn a_bastion_takes_over_what_is_not_said_of_it() {
        let c = read(&[
            ("host", "10.0.0.1".into()),
            ("user", "ubuntu".into()),
            ("private_key", "K".into()),
            ("bastion_host", "gate".into()),
            ("bastion_port", Value::number(2222)),
            ("timeout", "1m30s".into()),
        ])
        .unwrap();
        let bastion = c.bastion.unwrap();
        assert_eq!((c.target.port, bastion.port, &*bastion.user), (22, 2222, "ubuntu"));
        assert_eq!((bastion.private_key.as_deref(), c.timeout), (Some("K"), Duration::from_secs(90)));
    }

    #[test]
    fn what_cannot_be_is_said_before_anything_is_tried() {
        for (pairs, problem) in [
            (vec![("host", Value::from(""))], "\"host\" is empty"),
            (vec![("host", "h".into()), ("type", "winrm".into())], "\"winrm\" are not supported"),
            (vec![("host", "h".into()), ("type", "telnet".into())], "no connection type \"telnet\""),
            (vec![("host", "h".into()), ("target_platform", "mac".into())], "not \"mac\""),
            (vec![("host", "h".into()), ("port", Value::number(70000))], "\"port\" must be a port"),
            (vec![("host", "h".into()), ("agent", Value::TRUE)], "SSH_AUTH_SOCK names none"),
            (vec![("host", "h".into()), ("proxy_host", "p".into())], "proxy"),
        ] {
            let message = read(&pairs).unwrap_err();
            assert!(message.contains(problem), "{message}");
        }
        assert_eq!(duration("abc"), None);
        assert_eq!(duration("1.5m"), Some(Duration::from_secs(90)));
    }
}

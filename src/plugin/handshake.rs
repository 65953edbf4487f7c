//! What a plugin process and its host tell each other before they speak gRPC: the environment that the host sets, the
//! line that the plugin prints, and the description of a process that somebody else started (reattaching).

use crate::addr;
use base64::Engine as _;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

/// The environment variable (and value) without which a plugin refuses to serve.
pub(super) const MAGIC_COOKIE: (&str, &str) =
    ("TF_PLUGIN_MAGIC_COOKIE", "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2");
/// In order of preference.
pub(super) const PROTOCOL_VERSIONS: (&str, &str) = ("PLUGIN_PROTOCOL_VERSIONS", "6,5");
pub(super) const CLIENT_CERTIFICATE: &str = "PLUGIN_CLIENT_CERT";
/// The ports among which a plugin without unix sockets chooses.
pub(super) const PORTS: [(&str, &str); 2] = [("PLUGIN_MIN_PORT", "10000"), ("PLUGIN_MAX_PORT", "25000")];

/// The version of the plugin protocol that a process speaks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protocol {
    V5,
    V6,
}

impl Protocol {
    pub fn from_number(n: u64) -> Option<Protocol> {
        match n {
            5 => Some(Protocol::V5),
            6 => Some(Protocol::V6),
            _ => None,
        }
    }

    pub fn number(self) -> u8 {
        match self {
            Protocol::V5 => 5,
            Protocol::V6 => 6,
        }
    }
}

/// Where a plugin listens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Address {
    Unix(PathBuf),
    Tcp(SocketAddr),
}

impl Address {
    fn parse(network: &str, address: &str) -> Result<Address, String> {
        match network {
            "unix" => Ok(Address::Unix(address.into())),
            "tcp" => match address.parse() {
                Ok(a) => Ok(Address::Tcp(a)),
                Err(_) => Err(format!("It gave {address:?} as the TCP address at which it listens.")),
            },
            other => Err(format!("It listens on a network of the unknown kind {other:?}.")),
        }
    }
}

/// The line with which a plugin says that it is ready.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Handshake {
    pub protocol: Protocol,
    pub address: Address,
    /// The server's certificate (DER); `None` if it does without TLS.
    pub certificate: Option<Vec<u8>>,
}

impl Handshake {
    /// Parses `1|PROTOCOL|NETWORK|ADDRESS|grpc|CERTIFICATE`.
    ///
    /// # Errors
    /// Sentences that say what is wrong, about "it", the program.
    pub fn parse(line: &str) -> Result<Handshake, String> {
        let line = line.trim();
        let parts: Vec<&str> = line.split('|').collect();
        let [core, protocol, network, address, rest @ ..] = &parts[..] else {
            return Err(format!(
                "It is not a provider plugin, or not one for this kind of machine: the first line of its output was \
                 {:?}, not a plugin handshake.",
                shorten(line)
            ));
        };
        if *core != "1" {
            return Err(format!("It uses version {core} of the plugin handshake; only version 1 is known."));
        }
        let protocol = protocol.parse().ok().and_then(Protocol::from_number).ok_or_else(|| {
            format!("It speaks version {protocol} of the plugin protocol; only versions 5 and 6 are supported.")
        })?;
        match rest.first() {
            Some(&"grpc") => {}
            other => {
                let transport = other.copied().unwrap_or("netrpc");
                return Err(format!("It wants to be called over {transport:?}; only \"grpc\" is supported."));
            }
        }
        let certificate = match rest.get(1) {
            None | Some(&"") => None,
            Some(text) => {
                Some(certificate_encoding().decode(text).map_err(|e| format!("Its certificate cannot be read: {e}."))?)
            }
        };
        Ok(Handshake { protocol, address: Address::parse(network, address)?, certificate })
    }
}

/// Standard base64, usually without padding.
fn certificate_encoding() -> GeneralPurpose {
    let config = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    GeneralPurpose::new(&base64::alphabet::STANDARD, config)
}

fn shorten(line: &str) -> String {
    let mut short: String = line.chars().take(200).collect();
    if short.len() < line.len() {
        short.push('…');
    }
    short
}

/// A provider process that somebody else started, e.g. under a debugger. It is used as it is and never ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReattachTo {
    pub protocol: Protocol,
    pub address: Address,
    pub pid: u32,
}

/// Reads the JSON of `TF_REATTACH_PROVIDERS`.
///
/// # Errors
/// A sentence that says what is wrong with it.
pub fn parse_reattach(json: &str) -> Result<BTreeMap<addr::Provider, ReattachTo>, String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Entry {
        protocol: String,
        #[serde(default)]
        protocol_version: u64,
        #[serde(default)]
        pid: u32,
        addr: Addr,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Addr {
        network: String,
        string: String,
    }

    let entries: BTreeMap<String, Entry> =
        serde_json::from_str(json).map_err(|e| format!("The description of running providers is not valid: {e}."))?;
    let convert = |(source, entry): (String, Entry)| {
        let provider = addr::Provider::parse(&source)?;
        if entry.protocol != "grpc" {
            return Err(format!("{source} is to be called over {:?}; only \"grpc\" is supported.", entry.protocol));
        }
        // Older tools did not say the version and meant 5.
        let version = if entry.protocol_version == 0 { 5 } else { entry.protocol_version };
        let protocol = Protocol::from_number(version)
            .ok_or_else(|| format!("{source} speaks plugin protocol {version}; only 5 and 6 are supported."))?;
        let address = Address::parse(&entry.addr.network, &entry.addr.string)?;
        Ok((provider, ReattachTo { protocol, address, pid: entry.pid }))
    };
    entries.into_iter().map(convert).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handshakes_over_unix_and_tcp_with_and_without_certificates() {
        let h = Handshake::parse("1|6|unix|/tmp/plugin1|grpc|AQID\n").unwrap();
        assert_eq!(h.address, Address::Unix("/tmp/plugin1".into()));
        assert_eq!((h.protocol, h.certificate), (Protocol::V6, Some(vec![1, 2, 3])));

        let h = Handshake::parse("1|5|tcp|127.0.0.1:10000|grpc||true").unwrap();
        assert_eq!(h.address, Address::Tcp(([127, 0, 0, 1], 10000).into()));
        assert_eq!((h.protocol, h.certificate), (Protocol::V5, None));

        assert_eq!(Handshake::parse("1|5|unix|/s|grpc|AQ").unwrap().certificate, Some(vec![1]));
        assert_eq!(Handshake::parse("1|5|unix|/s|grpc|AQ==").unwrap().certificate, Some(vec![1]));
    }

    #[test]
    fn what_is_not_a_handshake_is_explained() {
        let why = |line| Handshake::parse(line).unwrap_err();
        assert!(why("Hello from a shell script").contains("\"Hello from a shell script\""));
        assert!(why("2|6|unix|/s|grpc|").contains("version 2 of the plugin handshake"));
        assert!(why("1|4|unix|/s|grpc|").contains("version 4 of the plugin protocol"));
        assert!(why("1|5|unix|/s").contains("netrpc"));
        assert!(why("1|5|carrier-pigeon|x|grpc|").contains("carrier-pigeon"));
        assert!(why("1|5|tcp|nowhere|grpc|").contains("nowhere"));
        assert!(why("1|5|unix|/s|grpc|!!").contains("certificate"));
    }

    #[test]
    fn providers_to_reattach_to_are_read_from_json() {
        let json = r#"{"example/thing": {"Protocol":"grpc","ProtocolVersion":6,"Pid":42,"Test":true,
            "Addr":{"Network":"unix","String":"/tmp/s"}}}"#;
        let all = parse_reattach(json).unwrap();
        let one = &all[&addr::Provider::parse("example/thing").unwrap()];
        assert_eq!((one.protocol, one.pid), (Protocol::V6, 42));
        assert_eq!(one.address, Address::Unix("/tmp/s".into()));
        assert!(parse_reattach("{").unwrap_err().contains("not valid"));
    }
}

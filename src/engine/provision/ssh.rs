//! An SSH session for provisioners: connecting with patience (machines that were just created need a while), running
//! commands, writing files. Nothing here knows of resources or events.

use crate::engine::provision::connection::{Connection, Login, Platform};
use russh::client::{self, AuthResult, Handle, KeyboardInteractiveAuthResponse};
use russh::keys::agent::AgentIdentity;
use russh::keys::agent::client::AgentClient;
use russh::keys::ssh_key::certificate::CertType;
use russh::keys::{Certificate, HashAlg, PrivateKey, PrivateKeyWithHashAlg, PublicKey, PublicKeyOrCertificate};
use russh::{ChannelMsg, ChannelStream, Disconnect};
use russh_sftp::client::SftpSession;
use russh_sftp::protocol::{FileAttributes, OpenFlags};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::time::Instant;

/// How long one attempt to reach a host may take.
const ATTEMPT: Duration = Duration::from_secs(15);
/// Between attempts.
const PAUSE: Duration = Duration::from_millis(1000);

/// A session on the target.
pub struct Session {
    handle: Handle<Client>,
    /// Kept for as long as the target is reached through it.
    bastion: Option<Handle<Client>>,
    platform: Platform,
    sftp: Option<SftpSession>,
    sftp_refused: bool,
}

/// Why an attempt to connect failed.
enum Failure {
    /// It may go better in a moment: the machine is still starting.
    Passing(String),
    /// Waiting does not help.
    Final(String),
}

impl From<russh::Error> for Failure {
    fn from(e: russh::Error) -> Failure {
        Failure::Passing(format!("{e}"))
    }
}

/// Everything that connecting needs, parsed.
struct Credentials {
    key: Option<Arc<PrivateKey>>,
    certificate: Option<Certificate>,
    host_key: Option<PublicKey>,
}

/// The client's side of the protocol: it looks at the host's key.
struct Client {
    host: String,
    expected: Option<PublicKey>,
    /// What the host showed instead.
    other: Arc<Mutex<Option<String>>>,
}

impl client::Handler for Client {
    type Error = russh::Error;

    async fn check_server_key(&mut self, shown: &PublicKeyOrCertificate) -> Result<bool, russh::Error> {
        let Some(expected) = &self.expected else { return Ok(true) };
        let (key, accepted) = match shown {
            PublicKeyOrCertificate::PublicKey { key, .. } => (key.key_data(), key.key_data() == expected.key_data()),
            PublicKeyOrCertificate::Certificate(c) => (c.signature_key(), self.is_certified(c, expected)),
        };
        if accepted {
            return Ok(true);
        }
        let fingerprint = key.fingerprint(HashAlg::Sha256).to_string();
        *self.other.lock().unwrap_or_else(|e| e.into_inner()) = Some(fingerprint);
        Ok(false)
    }
}

impl Client {
    /// Whether a host's certificate is signed with the expected key, and valid for this host.
    fn is_certified(&self, certificate: &Certificate, expected: &PublicKey) -> bool {
        let names = certificate.valid_principals();
        certificate.cert_type() == CertType::Host
            && (names.is_empty() || names.contains(&self.host))
            && certificate.validate(&[expected.fingerprint(HashAlg::Sha256)]).is_ok()
    }
}

impl Session {
    /// Connects, trying again until the timeout of the connection. `waiting` hears why it is not there yet.
    ///
    /// # Errors
    /// Why it cannot be reached, in sentences.
    pub async fn connect(connection: &Connection, waiting: &dyn Fn(&str)) -> Result<Session, String> {
        let target = credentials(&connection.target, "")?;
        let bastion = match &connection.bastion {
            Some(login) => Some((login, credentials(login, "bastion_")?)),
            None => None,
        };
        let deadline = Instant::now() + connection.timeout;
        let mut told = String::new();
        loop {
            let attempt = connect_once(connection, &target, bastion.as_ref().map(|(l, c)| (*l, c)));
            let failure = match tokio::time::timeout_at(deadline.max(Instant::now() + PAUSE), attempt).await {
                Ok(Ok(session)) => return Ok(session),
                Ok(Err(Failure::Final(problem))) => return Err(problem),
                Ok(Err(Failure::Passing(problem))) => problem,
                Err(_) => "no answer in time".to_owned(),
            };
            if Instant::now() + PAUSE >= deadline {
                let host = &connection.target;
                return Err(format!(
                    "{}:{} could not be reached within {:?}. The last attempt failed with: {failure}.",
                    host.host, host.port, connection.timeout
                ));
            }
            if failure != told {
                waiting(&failure);
                told = failure;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Runs a command; `output` gets what it writes, as it comes.
    ///
    /// # Errors
    /// How it ended, if not with success.
    pub async fn run(&mut self, command: &str, output: &mut dyn FnMut(&[u8])) -> Result<(), String> {
        self.run_with_input(command, None, output).await
    }

    async fn run_with_input(
        &mut self,
        command: &str,
        input: Option<&[u8]>,
        output: &mut dyn FnMut(&[u8]),
    ) -> Result<(), String> {
        let mut channel = self.handle.channel_open_session().await.map_err(|e| e.to_string())?;
        channel.exec(true, command).await.map_err(|e| e.to_string())?;
        if let Some(input) = input {
            channel.data(input).await.map_err(|e| e.to_string())?;
            channel.eof().await.map_err(|e| e.to_string())?;
        }
        let mut end = None;
        while let Some(message) = channel.wait().await {
            match message {
                ChannelMsg::Data { data } | ChannelMsg::ExtendedData { data, .. } => output(&data),
                ChannelMsg::ExitStatus { exit_status: 0 } => end = Some(Ok(())),
                ChannelMsg::ExitStatus { exit_status } => end = Some(Err(format!("exit status {exit_status}"))),
                ChannelMsg::ExitSignal { signal_name, .. } => end = Some(Err(format!("signal {signal_name:?}"))),
                ChannelMsg::Failure => end = Some(Err("a refusal of the host to run it".into())),
                _ => {}
            }
        }
        end.unwrap_or_else(|| Err("the loss of the connection".into()))
    }

    /// Writes a file, over one that is there.
    ///
    /// # Errors
    /// Why the host cannot store it.
    pub async fn write(&mut self, path: &str, content: &[u8], executable: bool) -> Result<(), String> {
        let mode = if executable { 0o700 } else { 0o644 };
        if let Some(sftp) = self.sftp().await? {
            let flags = OpenFlags::CREATE | OpenFlags::TRUNCATE | OpenFlags::WRITE;
            let attributes = FileAttributes { permissions: Some(mode), ..FileAttributes::empty() };
            let mut file = sftp
                .open_with_flags_and_attributes(path, flags, attributes.clone())
                .await
                .map_err(|e| e.to_string())?;
            file.write_all(content).await.map_err(|e| e.to_string())?;
            file.shutdown().await.map_err(|e| e.to_string())?;
            if executable {
                sftp.set_metadata(path, attributes).await.map_err(|e| e.to_string())?;
            }
            return Ok(());
        }
        let path = quoted(path);
        let chmod = if executable { format!(" && chmod 700 {path}") } else { String::new() };
        self.tell(&format!("cat > {path}{chmod}"), Some(content)).await
    }

    /// Makes a directory with those above it, unless it is there.
    ///
    /// # Errors
    /// Why it cannot be made.
    pub async fn make_directory(&mut self, path: &str) -> Result<(), String> {
        if let Some(sftp) = self.sftp().await? {
            let mut at = String::new();
            for part in path.split_inclusive('/') {
                at.push_str(part);
                let dir = at.trim_end_matches('/');
                if dir.is_empty() || sftp.metadata(dir).await.is_ok_and(|m| m.is_dir()) {
                    continue;
                }
                sftp.create_dir(dir).await.map_err(|e| format!("{dir}: {e}"))?;
            }
            return Ok(());
        }
        self.tell(&format!("mkdir -p {}", quoted(path)), None).await
    }

    /// Whether there is a directory of this name.
    ///
    /// # Errors
    /// The host does not answer.
    pub async fn is_directory(&mut self, path: &str) -> Result<bool, String> {
        if let Some(sftp) = self.sftp().await? {
            return Ok(sftp.metadata(path).await.is_ok_and(|m| m.is_dir()));
        }
        Ok(self.tell(&format!("test -d {}", quoted(path)), None).await.is_ok())
    }

    /// Removes a file, if that is possible.
    pub async fn remove(&mut self, path: &str) {
        if let Ok(Some(sftp)) = self.sftp().await {
            let _ = sftp.remove_file(path).await;
        } else {
            let _ = self.tell(&format!("rm -f {}", quoted(path)), None).await;
        }
    }

    /// Ends the session.
    pub async fn close(self) {
        let _ = self.handle.disconnect(Disconnect::ByApplication, "", "en").await;
        if let Some(bastion) = self.bastion {
            let _ = bastion.disconnect(Disconnect::ByApplication, "", "en").await;
        }
    }

    /// A helper command, whose output explains its failure.
    async fn tell(&mut self, command: &str, input: Option<&[u8]>) -> Result<(), String> {
        let mut said = Vec::new();
        let result = self.run_with_input(command, input, &mut |data| said.extend_from_slice(data)).await;
        result.map_err(|end| {
            let said = String::from_utf8_lossy(&said);
            if said.trim().is_empty() { end } else { said.trim().to_owned() }
        })
    }

    /// The host's file service; `None` where it has none, so that shell commands must do.
    async fn sftp(&mut self) -> Result<Option<&SftpSession>, String> {
        if self.sftp.is_none() && !self.sftp_refused {
            let mut channel = self.handle.channel_open_session().await.map_err(|e| e.to_string())?;
            let opened = async {
                channel.request_subsystem(true, "sftp").await.ok()?;
                loop {
                    match channel.wait().await? {
                        ChannelMsg::Success => break,
                        ChannelMsg::Failure | ChannelMsg::Eof | ChannelMsg::Close => return None,
                        _ => {}
                    }
                }
                SftpSession::new(channel.into_stream()).await.ok()
            };
            match tokio::time::timeout(ATTEMPT, opened).await.ok().flatten() {
                Some(sftp) => self.sftp = Some(sftp),
                None if self.platform == Platform::Windows => {
                    return Err("the host offers no SFTP, by which files get to Windows".into());
                }
                None => self.sftp_refused = true,
            }
        }
        Ok(self.sftp.as_ref())
    }
}

/// A word for the shell.
pub fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

fn credentials(login: &Login, prefix: &str) -> Result<Credentials, String> {
    let key = match &login.private_key {
        None => None,
        Some(text) => Some(Arc::new(russh::keys::decode_secret_key(text, None).map_err(|e| {
            if matches!(e, russh::keys::Error::KeyIsEncrypted) || text.contains("ENCRYPTED") {
                format!("The key in \"{prefix}private_key\" is protected by a passphrase, which cannot be given here.")
            } else {
                format!("\"{prefix}private_key\" holds no private key that can be read: {e}.")
            }
        })?)),
    };
    let certificate = match &login.certificate {
        None => None,
        Some(text) => Some(
            Certificate::from_openssh(text.trim())
                .map_err(|e| format!("\"{prefix}certificate\" holds no SSH certificate: {e}."))?,
        ),
    };
    let host_key = match &login.host_key {
        None => None,
        Some(text) => Some(
            PublicKey::from_openssh(text.trim())
                .map_err(|e| format!("\"{prefix}host_key\" holds no public key such as \"ssh-ed25519 AAAA…\": {e}."))?,
        ),
    };
    Ok(Credentials { key, certificate, host_key })
}

async fn connect_once(
    connection: &Connection,
    target: &Credentials,
    bastion: Option<(&Login, &Credentials)>,
) -> Result<Session, Failure> {
    let (handle, bastion) = match bastion {
        None => (log_in(tcp(&connection.target).await?, &connection.target, target, connection).await?, None),
        Some((login, credentials)) => {
            let through = |f: Failure| match f {
                Failure::Passing(p) => Failure::Passing(format!("bastion host: {p}")),
                Failure::Final(p) => Failure::Final(format!("Bastion host: {p}")),
            };
            let stream = tcp(login).await.map_err(through)?;
            let bastion = log_in(stream, login, credentials, connection).await.map_err(through)?;
            let tunnel = tunnel(&bastion, &connection.target).await?;
            (log_in(tunnel, &connection.target, target, connection).await?, Some(bastion))
        }
    };
    Ok(Session { handle, bastion, platform: connection.platform, sftp: None, sftp_refused: false })
}

async fn tcp(login: &Login) -> Result<tokio::net::TcpStream, Failure> {
    let host = login.host.trim_start_matches('[').trim_end_matches(']');
    let connecting = tokio::net::TcpStream::connect((host, login.port));
    let stream = match tokio::time::timeout(ATTEMPT, connecting).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(e)) => return Err(Failure::Passing(e.to_string())),
        Err(_) => return Err(Failure::Passing("no answer".into())),
    };
    let _ = stream.set_nodelay(true);
    Ok(stream)
}

async fn tunnel(bastion: &Handle<Client>, target: &Login) -> Result<ChannelStream<client::Msg>, Failure> {
    let opened = bastion.channel_open_direct_tcpip(&target.host, target.port.into(), "127.0.0.1", 0).await;
    let channel = opened
        .map_err(|e| Failure::Passing(format!("the bastion host cannot reach {}:{}: {e}", target.host, target.port)))?;
    Ok(channel.into_stream())
}

async fn log_in<S>(
    stream: S,
    login: &Login,
    c: &Credentials,
    connection: &Connection,
) -> Result<Handle<Client>, Failure>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let config = client::Config {
        keepalive_interval: Some(Duration::from_secs(15)),
        keepalive_max: 4,
        ..client::Config::default()
    };
    let other = Arc::new(Mutex::new(None));
    let client = Client { host: login.host.clone(), expected: c.host_key.clone(), other: other.clone() };
    let connected = tokio::time::timeout(ATTEMPT, client::connect_stream(Arc::new(config), stream, client)).await;
    if let Some(fingerprint) = other.lock().unwrap_or_else(|e| e.into_inner()).take() {
        return Err(Failure::Final(format!(
            "{}:{} shows another key ({fingerprint}) than the one in \"host_key\". Somebody may be listening in, or the \
             machine was replaced: nothing was sent to it.",
            login.host, login.port
        )));
    }
    let mut handle = connected.map_err(|_| Failure::Passing("no answer to the SSH greeting".into()))??;
    if authenticate(&mut handle, login, c, connection).await? {
        return Ok(handle);
    }
    Err(Failure::Passing(format!(
        "{} does not accept the login as \"{}\" ({})",
        login.host,
        login.user,
        tried(c, login, connection)
    )))
}

/// What was offered to a host.
fn tried(c: &Credentials, login: &Login, connection: &Connection) -> String {
    let mut all = Vec::new();
    if c.key.is_some() {
        all.push(if c.certificate.is_some() { "certificate" } else { "private key" });
    }
    if connection.agent.is_some() {
        all.push("SSH agent");
    }
    if login.password.is_some() {
        all.push("password");
    }
    if all.is_empty() { "neither key nor password was given".into() } else { format!("tried: {}", all.join(", ")) }
}

async fn authenticate(
    handle: &mut Handle<Client>,
    login: &Login,
    c: &Credentials,
    connection: &Connection,
) -> Result<bool, Failure> {
    let user = &login.user;
    if let Some(key) = &c.key {
        let result = match &c.certificate {
            Some(certificate) => handle.authenticate_openssh_cert(user, key.clone(), certificate.clone()).await?,
            None => {
                let hash = handle.best_supported_rsa_hash().await?.flatten();
                handle.authenticate_publickey(user, PrivateKeyWithHashAlg::new(key.clone(), hash)).await?
            }
        };
        if result.success() {
            return Ok(true);
        }
    }
    if let Some(socket) = &connection.agent
        && ask_agent(handle, user, socket, connection.agent_identity.as_deref()).await?
    {
        return Ok(true);
    }
    let Some(password) = &login.password else {
        return Ok(c.key.is_none() && handle.authenticate_none(user).await?.success());
    };
    if handle.authenticate_password(user, password).await?.success() {
        return Ok(true);
    }
    let mut answer = handle.authenticate_keyboard_interactive_start(user, None::<String>).await?;
    // Each prompt is taken for the one for the password; nobody asks more than a few times.
    for _ in 0..4 {
        match answer {
            KeyboardInteractiveAuthResponse::Success => return Ok(true),
            KeyboardInteractiveAuthResponse::Failure { .. } => return Ok(false),
            KeyboardInteractiveAuthResponse::InfoRequest { prompts, .. } => {
                let answers = prompts.iter().map(|_| password.clone()).collect();
                answer = handle.authenticate_keyboard_interactive_respond(answers).await?;
            }
        }
    }
    Ok(false)
}

/// Tries the keys of an agent, the preferred one first.
async fn ask_agent(
    handle: &mut Handle<Client>,
    user: &str,
    socket: &Path,
    preferred: Option<&str>,
) -> Result<bool, Failure> {
    let failed = |e: russh::keys::Error| Failure::Passing(format!("the SSH agent does not answer: {e}"));
    let mut agent = AgentClient::connect_uds(socket).await.map_err(failed)?;
    let mut identities = agent.request_identities().await.map_err(failed)?;
    let is_preferred = |identity: &AgentIdentity| {
        let text = match identity {
            AgentIdentity::PublicKey { key, comment } => format!("{} {comment}", key.to_openssh().unwrap_or_default()),
            AgentIdentity::Certificate { comment, .. } => comment.clone(),
        };
        preferred.is_some_and(|p| text.contains(p.trim()))
    };
    identities.sort_by_key(|i| !is_preferred(i));
    let hash = handle.best_supported_rsa_hash().await?.flatten();
    for identity in identities {
        let result = match identity {
            AgentIdentity::PublicKey { key, .. } => {
                let hash = hash.filter(|_| key.algorithm().is_rsa());
                handle.authenticate_publickey_with(user, key, hash, &mut agent).await
            }
            AgentIdentity::Certificate { certificate, .. } => {
                handle.authenticate_certificate_with(user, certificate, hash, &mut agent).await
            }
        };
        // An agent that declines to sign with one key may sign with the next.
        if matches!(result, Ok(AuthResult::Success)) {
            return Ok(true);
        }
    }
    Ok(false)
}

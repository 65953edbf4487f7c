//! An SSH server on loopback for tests: it runs commands with `sh` in a temporary home directory, keeps files there by
//! SFTP if it is told to, and passes connections on as a bastion host does.

use russh::keys::PrivateKey;
use russh::keys::ssh_key::LineEnding;
use russh::keys::ssh_key::private::Ed25519Keypair;
use russh::server::{Auth, ChannelOpenHandle, Config, Handler, Msg, Session, VerifiedPublicKey};
use russh::{Channel, ChannelId, ChannelMsg};
use russh_sftp::protocol::{Attrs, FileAttributes, Handle, OpenFlags, Status, StatusCode, Version};
use std::collections::HashMap;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// A key that is made from one byte.
pub fn key(seed: u8) -> PrivateKey {
    Ed25519Keypair::from_seed(&[seed; 32]).into()
}

pub fn private_text(key: &PrivateKey) -> String {
    key.to_openssh(LineEnding::LF).unwrap().to_string()
}

pub fn public_text(key: &PrivateKey) -> String {
    key.public_key().to_openssh().unwrap()
}

/// A running server; it ends with the test.
pub struct Server {
    pub port: u16,
    /// The home directory of everybody who logs in.
    pub home: tempfile::TempDir,
    pub commands: Arc<AtomicUsize>,
    pub tunnels: Arc<AtomicUsize>,
    _runtime: tokio::runtime::Runtime,
}

impl Server {
    /// The host key is `key(1)`, and `key(2)` or the password "open" may log in.
    pub fn start(sftp: bool) -> Server {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let home = tempfile::tempdir().unwrap();
        let (commands, tunnels) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let port = listener.local_addr().unwrap().port();
        let config = Arc::new(Config {
            keys: vec![key(1)],
            auth_rejection_time: std::time::Duration::ZERO,
            ..Config::default()
        });
        let path = home.path().to_owned();
        let counters = (commands.clone(), tunnels.clone());
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (commands, tunnels) = counters.clone();
                let client = Client { home: path.clone(), sftp, commands, tunnels, channels: HashMap::new() };
                let config = config.clone();
                tokio::spawn(async move {
                    if let Ok(session) = russh::server::run_stream(config, stream, client).await {
                        let _ = session.await;
                    }
                });
            }
        });
        Server { port, home, commands, tunnels, _runtime: runtime }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }
}

struct Client {
    home: PathBuf,
    sftp: bool,
    commands: Arc<AtomicUsize>,
    tunnels: Arc<AtomicUsize>,
    channels: HashMap<ChannelId, Channel<Msg>>,
}

fn verdict(accepted: bool) -> Auth {
    if accepted { Auth::Accept } else { Auth::reject() }
}

impl Handler for Client {
    type Error = russh::Error;

    async fn auth_password(&mut self, _user: &str, password: &str) -> Result<Auth, russh::Error> {
        Ok(verdict(password == "open"))
    }

    async fn auth_publickey(&mut self, _user: &str, shown: VerifiedPublicKey<'_>) -> Result<Auth, russh::Error> {
        Ok(verdict(shown.public_key.key_data() == key(2).public_key().key_data()))
    }

    async fn channel_open_session(
        &mut self,
        channel: Channel<Msg>,
        reply: ChannelOpenHandle,
        _session: &mut Session,
    ) -> Result<(), russh::Error> {
        self.channels.insert(channel.id(), channel);
        reply.accept().await;
        Ok(())
    }

    async fn channel_open_direct_tcpip(
        &mut self,
        channel: Channel<Msg>,
        host: &str,
        port: u32,
        _from: &str,
        _from_port: u32,
        reply: ChannelOpenHandle,
        _session: &mut Session,
    ) -> Result<(), russh::Error> {
        self.tunnels.fetch_add(1, Ordering::SeqCst);
        let mut stream = tokio::net::TcpStream::connect((host, port as u16)).await?;
        reply.accept().await;
        tokio::spawn(async move {
            let _ = tokio::io::copy_bidirectional(&mut channel.into_stream(), &mut stream).await;
        });
        Ok(())
    }

    async fn exec_request(&mut self, id: ChannelId, command: &[u8], session: &mut Session) -> Result<(), russh::Error> {
        self.commands.fetch_add(1, Ordering::SeqCst);
        session.channel_success(id)?;
        if let Some(channel) = self.channels.remove(&id) {
            tokio::spawn(run(channel, String::from_utf8_lossy(command).into_owned(), self.home.clone()));
        }
        Ok(())
    }

    async fn subsystem_request(
        &mut self,
        id: ChannelId,
        name: &str,
        session: &mut Session,
    ) -> Result<(), russh::Error> {
        match self.channels.remove(&id).filter(|_| self.sftp && name == "sftp") {
            Some(channel) => {
                session.channel_success(id)?;
                let files = Files { home: self.home.clone(), open: HashMap::new(), next: 0 };
                russh_sftp::server::run(channel.into_stream(), files).await;
            }
            None => session.channel_failure(id)?,
        }
        Ok(())
    }
}

async fn run(channel: Channel<Msg>, command: String, home: PathBuf) {
    let mut child = tokio::process::Command::new("sh")
        .args(["-c", &command])
        .current_dir(&home)
        .env("HOME", &home)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut input, output) = channel.split();
    let mut stdin = child.stdin.take();
    let feed = tokio::spawn(async move {
        while let Some(message) = input.wait().await {
            match (message, &mut stdin) {
                (ChannelMsg::Data { data }, Some(stdin)) => drop(stdin.write_all(&data).await),
                (ChannelMsg::Eof, stdin) => drop(stdin.take()),
                _ => {}
            }
        }
    });
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let (mut stdout, mut stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let _ = tokio::join!(stdout.read_to_end(&mut out), stderr.read_to_end(&mut err));
    let status = child.wait().await.unwrap();
    let _ = output.data_bytes(out).await;
    let _ = output.extended_data_bytes(1, err).await;
    let _ = output.exit_status(status.code().unwrap_or(255) as u32).await;
    let _ = output.eof().await;
    let _ = output.close().await;
    feed.abort();
}

/// The files of the home directory, as far as provisioners need them.
struct Files {
    home: PathBuf,
    open: HashMap<String, std::fs::File>,
    next: u32,
}

fn done(id: u32, result: std::io::Result<()>) -> Result<Status, StatusCode> {
    let status = |status_code| Status { id, status_code, error_message: String::new(), language_tag: String::new() };
    result.map(|()| status(StatusCode::Ok)).map_err(failure)
}

fn failure(e: std::io::Error) -> StatusCode {
    match e.kind() {
        std::io::ErrorKind::NotFound => StatusCode::NoSuchFile,
        std::io::ErrorKind::PermissionDenied => StatusCode::PermissionDenied,
        _ => StatusCode::Failure,
    }
}

fn set_mode(path: &Path, attributes: &FileAttributes) -> std::io::Result<()> {
    match attributes.permissions {
        Some(mode) => std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)),
        None => Ok(()),
    }
}

impl russh_sftp::server::Handler for Files {
    type Error = StatusCode;

    fn unimplemented(&self) -> StatusCode {
        StatusCode::OpUnsupported
    }

    async fn init(&mut self, _version: u32, _extensions: HashMap<String, String>) -> Result<Version, StatusCode> {
        Ok(Version::new())
    }

    async fn open(
        &mut self,
        id: u32,
        name: String,
        _flags: OpenFlags,
        attributes: FileAttributes,
    ) -> Result<Handle, StatusCode> {
        let path = self.home.join(name);
        let file = std::fs::File::create(&path).map_err(failure)?;
        set_mode(&path, &attributes).map_err(failure)?;
        self.next += 1;
        let handle = self.next.to_string();
        self.open.insert(handle.clone(), file);
        Ok(Handle { id, handle })
    }

    async fn write(&mut self, id: u32, handle: String, offset: u64, data: Vec<u8>) -> Result<Status, StatusCode> {
        let file = self.open.get(&handle).ok_or(StatusCode::Failure)?;
        done(id, file.write_all_at(&data, offset))
    }

    async fn close(&mut self, id: u32, handle: String) -> Result<Status, StatusCode> {
        self.open.remove(&handle);
        done(id, Ok(()))
    }

    async fn stat(&mut self, id: u32, path: String) -> Result<Attrs, StatusCode> {
        let metadata = std::fs::metadata(self.home.join(path)).map_err(failure)?;
        Ok(Attrs { id, attrs: FileAttributes::from(&metadata) })
    }

    async fn setstat(&mut self, id: u32, path: String, attributes: FileAttributes) -> Result<Status, StatusCode> {
        done(id, set_mode(&self.home.join(path), &attributes))
    }

    async fn mkdir(&mut self, id: u32, path: String, _attributes: FileAttributes) -> Result<Status, StatusCode> {
        done(id, std::fs::create_dir(self.home.join(path)))
    }

    async fn remove(&mut self, id: u32, path: String) -> Result<Status, StatusCode> {
        done(id, std::fs::remove_file(self.home.join(path)))
    }
}

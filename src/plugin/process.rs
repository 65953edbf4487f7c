//! A running provider process: started with the go-plugin handshake, connected over mutual TLS, watched until it ends.
//!
//! What is called over the connection is not known here. A process that ends makes every pending and later
//! [`Process::guard`]ed call fail at once with its exit status and the end of its output; dropping the [`Process`]
//! kills it.

use super::handshake::{self, Address, Handshake, Protocol, ReattachTo};
use super::log::{Level, LogSink, Output};
use super::tls::Identity;
use crate::diag::{Diagnostic, Failure, Result};
use gpuform_schema::proto::plugin;
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use std::error::Error;
use std::future::Future;
use std::io;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, BufReader};
use tokio::process::{Child, ChildStdout, Command};
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;
use tonic::transport::{Channel, Endpoint, Uri};

/// How long a process may take to end by itself after it was asked to.
const GRACE: Duration = Duration::from_secs(2);
/// How long the output of an ended process is awaited: something it started may still hold the pipe open.
const LAST_OUTPUT: Duration = Duration::from_millis(500);
/// How long an answer that was on its way may still take once the process has ended.
const LAST_ANSWER: Duration = Duration::from_millis(100);
/// How long a broken connection waits for the news that the process has ended.
const LAST_NEWS: Duration = Duration::from_secs(2);
/// The longest line of output that is read as one.
const LONGEST_LINE: u64 = 1 << 20;

/// What is needed to start a process.
pub(super) struct Launch<'a> {
    /// The provider as shown to people.
    pub provider: &'a str,
    pub executable: &'a Path,
    pub log: Arc<dyn LogSink>,
    /// How long it may take until it listens.
    pub patience: Duration,
}

/// A process and the connection to it.
pub(super) struct Process {
    provider: String,
    pub protocol: Protocol,
    pub channel: Channel,
    /// `None` for a process that somebody else started.
    child: Option<Watched>,
}

/// A child process in the care of its own task.
struct Watched {
    /// `None` while it runs.
    ended: watch::Receiver<Option<Ended>>,
    /// Dropping this kills it.
    kill: mpsc::Sender<()>,
}

/// How a process ended.
#[derive(Clone, Debug)]
struct Ended {
    status: String,
    output: String,
}

impl Process {
    /// Starts a provider executable and connects to it.
    ///
    /// # Errors
    /// One that names the provider and the executable: it cannot be executed, ends or says something else than it
    /// should before it listens, or takes too long.
    pub async fn start(launch: Launch<'_>) -> Result<Process> {
        let failed = |detail: String| -> Failure {
            let executable = launch.executable.display();
            let detail = format!("The provider {} ({executable}) could not be started. {detail}", launch.provider);
            Box::new(Diagnostic::error("Failed to start provider", detail))
        };
        let identity = Identity::generate()
            .map_err(|e| failed(format!("No certificate could be made for the connection: {e}.")))?;
        let output = Output::new(launch.provider, launch.log.clone());
        let mut child = spawn(launch.executable, &identity).await.map_err(|e| failed(explain_spawn(&e)))?;
        output.host(Level::Debug, &format!("started {}", launch.executable.display()));
        let stdout = child.stdout.take();
        let mut watched = watch_child(child, output.clone());
        let mut lines = BufReader::new(stdout.ok_or_else(|| failed("Its output is not readable.".into()))?);

        let connect = async {
            let handshake = read_handshake(&mut lines, &mut watched).await?;
            let tls = match handshake.certificate {
                Some(der) => Some(identity.client_config(der).map_err(|e| format!("Setting up TLS failed: {e}."))?),
                None => None,
            };
            let channel = connect(handshake.address, tls).await.map_err(|e| format!("Connecting failed: {e}."));
            match channel {
                Ok(channel) => Ok((handshake.protocol, channel)),
                Err(why) => Err(match watched.end_within(LAST_ANSWER).await {
                    Some(ended) => ended.before_listening(),
                    None => why,
                }),
            }
        };
        let connected = timeout(launch.patience, connect).await.unwrap_or_else(|_| {
            let seconds = launch.patience.as_secs();
            Err(format!("It did not announce that it listens within {seconds} seconds.{}", quote(&output.report())))
        });
        let (protocol, channel) = connected.map_err(failed)?;
        tokio::spawn(drain_stdout(lines, output.clone()));
        tokio::spawn(forward_stdio(channel.clone(), output));
        Ok(Process { provider: launch.provider.to_owned(), protocol, channel, child: Some(watched) })
    }

    /// Connects to a process that somebody else started.
    ///
    /// # Errors
    /// When nothing listens there.
    pub async fn reattach(provider: &str, to: &ReattachTo) -> Result<Process> {
        let channel = connect(to.address.clone(), None).await.map_err(|e| {
            let detail =
                format!("The provider {provider} should be running as process {}, but connecting failed: {e}.", to.pid);
            Diagnostic::error("Failed to reattach to provider", detail)
        })?;
        Ok(Process { provider: provider.to_owned(), protocol: to.protocol, channel, child: None })
    }

    /// Awaits a call to the process, or its end.
    ///
    /// # Errors
    /// The status that the call failed with, or why there will be no answer.
    pub async fn guard<T>(
        &self,
        method: &str,
        call: impl Future<Output = std::result::Result<T, tonic::Status>>,
    ) -> Result<std::result::Result<T, tonic::Status>> {
        let mut call = std::pin::pin!(call);
        let answer = tokio::select! {
            biased;
            answer = &mut call => Some(answer),
            () = self.end() => timeout(LAST_ANSWER, &mut call).await.ok(),
        };
        match answer {
            Some(Err(status)) if is_broken_connection(&status) => match self.end_within(LAST_NEWS).await {
                Some(ended) => Err(self.ended_during(method, &ended)),
                None => Ok(Err(status)),
            },
            Some(answer) => Ok(answer),
            None => match self.end_within(LAST_NEWS).await {
                Some(ended) => Err(self.ended_during(method, &ended)),
                None => Ok(Err(tonic::Status::unavailable("the process has ended"))),
            },
        }
    }

    /// Checks that a call would be sent at all.
    ///
    /// # Errors
    /// When the process is known to have ended.
    pub fn still_runs(&self, method: &str) -> Result<()> {
        match self.child.as_ref().and_then(|c| c.ended.borrow().clone()) {
            Some(ended) => {
                let detail = format!(
                    "The call {method} was not made, because the process of the provider {} had ended before with \
                     {}.{}",
                    self.provider,
                    ended.status,
                    quote(&ended.output)
                );
                Err(Box::new(Diagnostic::error("Plugin did not respond", detail)))
            }
            None => Ok(()),
        }
    }

    /// Asks the process to end, and sees to it that it does.
    pub async fn close(&self) {
        let Some(child) = &self.child else { return };
        if child.ended.borrow().is_some() {
            return;
        }
        let mut controller = plugin::grpc_controller_client::GrpcControllerClient::new(self.channel.clone());
        // A process that shuts down may do so before it has answered.
        let shut_down = async {
            let _ = controller.shutdown(plugin::Empty {}).await;
            self.end().await;
        };
        if timeout(GRACE, shut_down).await.is_err() {
            let _ = child.kill.try_send(());
            let _ = timeout(GRACE, self.end()).await;
        }
    }

    /// Waits until the process has ended; for one that is not ours, forever.
    async fn end(&self) {
        match &self.child {
            Some(child) => drop(child.ended.clone().wait_for(Option::is_some).await),
            None => std::future::pending().await,
        }
    }

    async fn end_within(&self, patience: Duration) -> Option<Ended> {
        self.child.as_ref()?.end_within(patience).await
    }

    fn ended_during(&self, method: &str, ended: &Ended) -> Failure {
        let effect = match method {
            "ApplyResourceChange" => " The change may have been made all the same, in part or in full.",
            _ => "",
        };
        let detail = format!(
            "The process of the provider {} ended with {} and did not answer the call {method}.{effect} This is a bug \
             in the provider, or something on this machine ended its process.{}",
            self.provider,
            ended.status,
            quote(&ended.output)
        );
        Box::new(Diagnostic::error("Plugin did not respond", detail))
    }
}

impl Watched {
    async fn end_within(&self, patience: Duration) -> Option<Ended> {
        let mut ended = self.ended.clone();
        let ended = timeout(patience, ended.wait_for(Option::is_some)).await.ok()?.ok()?;
        ended.clone()
    }
}

impl Ended {
    fn before_listening(&self) -> String {
        format!("It ended with {} before it listened.{}", self.status, quote(&self.output))
    }
}

/// The output of a process as the end of a message; nothing if there is none.
fn quote(output: &str) -> String {
    if output.is_empty() { String::new() } else { format!(" The last of its output:\n\n{output}") }
}

async fn spawn(executable: &Path, identity: &Identity) -> io::Result<Child> {
    let mut command = Command::new(executable);
    command
        .envs([handshake::MAGIC_COOKIE, handshake::PROTOCOL_VERSIONS])
        .envs(handshake::PORTS)
        .env(handshake::CLIENT_CERTIFICATE, &identity.pem)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    // A file that was written a moment ago can still be open for writing in a child that another thread is starting.
    for pause in [5, 20, 100] {
        match command.spawn() {
            Err(e) if e.kind() == io::ErrorKind::ExecutableFileBusy => {
                tokio::time::sleep(Duration::from_millis(pause)).await;
            }
            done => return done,
        }
    }
    command.spawn()
}

fn explain_spawn(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "There is no such file, or a file that it needs to run is missing.".to_owned(),
        io::ErrorKind::PermissionDenied => "The file may not be executed: its permissions do not allow it.".to_owned(),
        _ if error.raw_os_error() == Some(8) => {
            "The file is not a program for this kind of machine; it may have been built for another operating system \
             or processor, or be damaged."
                .to_owned()
        }
        _ => format!("The operating system refused: {error}."),
    }
}

/// Starts the task that reads the child's standard error and tells of its end.
fn watch_child(mut child: Child, output: Output) -> Watched {
    let (told, ended) = watch::channel(None);
    let (kill, mut killed) = mpsc::channel::<()>(1);
    let stderr = child.stderr.take();
    let reader = {
        let output = output.clone();
        tokio::spawn(async move {
            if let Some(stderr) = stderr {
                read_lines(BufReader::new(stderr), |line| output.line(line)).await;
            }
        })
    };
    tokio::spawn(async move {
        let status = tokio::select! {
            status = child.wait() => status,
            // Also when the sender is gone.
            _ = killed.recv() => {
                let _ = child.start_kill();
                child.wait().await
            }
        };
        let _ = timeout(LAST_OUTPUT, reader).await;
        let status = status.map_or_else(|e| format!("an unknown status ({e})"), |s| s.to_string());
        output.host(Level::Debug, &format!("ended with {status}"));
        told.send_replace(Some(Ended { status, output: output.report() }));
    });
    Watched { ended, kill }
}

/// Calls `f` with each line, however it is encoded; very long ones come in parts. Ends with the stream.
async fn read_lines(mut reader: impl AsyncBufReadExt + Unpin, f: impl Fn(&str)) {
    let mut line = Vec::new();
    while let Ok(1..) = (&mut reader).take(LONGEST_LINE).read_until(b'\n', &mut line).await {
        f(&String::from_utf8_lossy(&line));
        line.clear();
    }
}

async fn read_handshake(
    lines: &mut BufReader<ChildStdout>,
    child: &mut Watched,
) -> std::result::Result<Handshake, String> {
    let mut line = Vec::new();
    let read = lines.take(LONGEST_LINE).read_until(b'\n', &mut line).await;
    let line = String::from_utf8_lossy(&line);
    match read {
        Ok(n) if n > 0 => match Handshake::parse(&line) {
            Ok(handshake) => Ok(handshake),
            // A program that is no plugin often says so over several lines and ends.
            Err(why) => Err(match child.end_within(LAST_ANSWER).await {
                Some(ended) => format!("{why} It ended with {}.{}", ended.status, quote(&ended.output)),
                None => why,
            }),
        },
        _ => Err(match child.end_within(LAST_NEWS).await {
            Some(ended) => ended.before_listening(),
            None => "It closed its output before it listened.".to_owned(),
        }),
    }
}

/// Keeps a provider that still prints from being blocked by a full pipe.
async fn drain_stdout(lines: BufReader<ChildStdout>, output: Output) {
    read_lines(lines, |line| output.line(line)).await;
}

/// Takes what the plugin library caught of the provider's own printing; most providers have nothing to say here.
async fn forward_stdio(channel: Channel, output: Output) {
    let mut client = plugin::grpc_stdio_client::GrpcStdioClient::new(channel);
    let Ok(response) = client.stream_stdio(()).await else { return };
    let mut stream = response.into_inner();
    let mut partial = Vec::new();
    while let Ok(Some(chunk)) = stream.message().await {
        partial.extend(chunk.data);
        let complete = partial.iter().rposition(|b| *b == b'\n').map_or(0, |i| i + 1);
        for line in String::from_utf8_lossy(&partial[..complete]).lines() {
            output.line(line);
        }
        partial.drain(..complete);
        if partial.len() as u64 > LONGEST_LINE {
            output.line(&String::from_utf8_lossy(&std::mem::take(&mut partial)));
        }
    }
    output.line(&String::from_utf8_lossy(&partial));
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Opens a gRPC channel; the connection is made now, so that its errors are known here.
async fn connect(address: Address, tls: Option<Arc<ClientConfig>>) -> std::result::Result<Channel, String> {
    let open = move |_: Uri| {
        let (address, tls) = (address.clone(), tls.clone());
        async move { Ok::<_, io::Error>(TokioIo::new(open_stream(&address, tls).await?)) }
    };
    // The name is only for the protocol's headers: the connector knows where to go. Schemas can be tens of megabytes,
    // so the windows are larger than HTTP/2's 64 KiB.
    Endpoint::from_static("http://localhost")
        .initial_stream_window_size(4 << 20)
        .initial_connection_window_size(16 << 20)
        .tcp_nodelay(true)
        .connect_with_connector(tower::service_fn(open))
        .await
        .map_err(|e| root_cause(&e))
}

async fn open_stream(address: &Address, tls: Option<Arc<ClientConfig>>) -> io::Result<Box<dyn Stream>> {
    let stream: Box<dyn Stream> = match address {
        Address::Tcp(a) => {
            let stream = tokio::net::TcpStream::connect(a).await?;
            stream.set_nodelay(true)?;
            Box::new(stream)
        }
        #[cfg(unix)]
        Address::Unix(path) => Box::new(tokio::net::UnixStream::connect(path).await?),
        #[cfg(not(unix))]
        Address::Unix(_) => return Err(io::Error::other("unix sockets are not supported here")),
    };
    let Some(tls) = tls else { return Ok(stream) };
    let name = ServerName::try_from("localhost").map_err(io::Error::other)?;
    Ok(Box::new(tokio_rustls::TlsConnector::from(tls).connect(name, stream).await?))
}

/// The innermost cause of an error, which says most.
pub(super) fn root_cause(error: &dyn Error) -> String {
    match error.source() {
        Some(source) => root_cause(source),
        None => error.to_string(),
    }
}

/// Whether a status means that the connection broke, rather than that the provider answered with an error.
fn is_broken_connection(status: &tonic::Status) -> bool {
    matches!(
        status.code(),
        tonic::Code::Unavailable | tonic::Code::Unknown | tonic::Code::Internal | tonic::Code::Cancelled
    ) && status.source().is_some()
}

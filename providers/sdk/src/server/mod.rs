//! The process around a provider: what `main` calls. Handshake and transport are in `handshake.rs` and `tls.rs`, logs in
//! `log.rs`, the services of go-plugin in `plugin.rs`, the protocol itself in `protocol.rs`. Authors see only [`serve`].

mod handshake;
mod log;
mod plugin;
mod protocol;
mod tls;

use crate::provider::Provider;
use gpuform_schema::proto::health::health_server::HealthServer;
use gpuform_schema::proto::plugin::grpc_controller_server::GrpcControllerServer;
use gpuform_schema::proto::plugin::grpc_stdio_server::GrpcStdioServer;
use gpuform_schema::proto::v6::provider_server::ProviderServer;
use handshake::{Refusal, Start};
use std::process::ExitCode;
use std::time::Duration;
use tls::Connection;
use tokio::net::UnixListener;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Serves a provider to the tool that started this process; the whole of a provider's `main`.
///
/// Started by hand it explains itself. With the argument `-debug` it serves until interrupted, and prints the value of
/// `TF_REATTACH_PROVIDERS` with which a tool uses this very process.
pub fn serve<P: Provider>(provider: P) -> ExitCode {
    let start = match handshake::start(std::env::args().skip(1)) {
        Ok(start) => start,
        Err(Refusal::NotAPluginHost) => {
            eprintln!("{}", handshake::by_hand(P::NAME, P::VERSION));
            return ExitCode::FAILURE;
        }
        Err(Refusal::Impossible(why)) => {
            eprintln!("The {} provider cannot start: {why}", P::NAME);
            return ExitCode::FAILURE;
        }
    };
    log::install();
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().thread_stack_size(STACK).build() {
        Ok(runtime) => runtime,
        Err(e) => {
            eprintln!("The {} provider cannot start: {e}", P::NAME);
            return ExitCode::FAILURE;
        }
    };
    let served = runtime.block_on(run(provider, start));
    // Operations that still run have no one to report to.
    runtime.shutdown_timeout(Duration::from_millis(100));
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("The {} provider stops: {e}", P::NAME);
            ExitCode::FAILURE
        }
    }
}

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Bytes of stack for a thread: operations are deep futures, and those of an unoptimised build are large.
const STACK: usize = 16 << 20;

/// Large schemas and states are a matter of the tool's, not of a limit here.
const LARGEST_MESSAGE: usize = usize::MAX;

/// How many calls the tool may have under way; more of them wait on its side.
const MOST_CALLS: u32 = 4096;

async fn run<P: Provider>(provider: P, start: Start) -> Result<(), BoxError> {
    let socket = handshake::Socket::create()?;
    let listener = UnixListener::bind(socket.path())?;
    let end = CancellationToken::new();
    let tls = match &start {
        Start::Plugin { client_certificate: Some(pem) } => Some(tls::Server::new(pem)?),
        _ => None,
    };
    let certificate = tls.as_ref().map(|t| t.certificate.clone());
    let (connections, mut accepted) = mpsc::channel::<Connection>(16);
    tokio::spawn(tls::accept(listener, tls.map(|t| t.acceptor), connections));

    let protocol = ProviderServer::new(protocol::Server::new(provider))
        .max_decoding_message_size(LARGEST_MESSAGE)
        .max_encoding_message_size(LARGEST_MESSAGE);
    let serving = tonic::transport::Server::builder()
        // By default 200; more reads than that may be under way.
        .max_concurrent_streams(MOST_CALLS)
        .initial_stream_window_size(1 << 20)
        .initial_connection_window_size(4 << 20)
        .add_service(protocol)
        .add_service(GrpcControllerServer::new(plugin::Controller { end: end.clone() }))
        .add_service(GrpcStdioServer::new(plugin::Stdio { end: end.clone() }))
        .add_service(HealthServer::new(plugin::Health))
        .serve_with_incoming(futures::stream::poll_fn(move |cx| {
            accepted.poll_recv(cx).map(|c| c.map(Ok::<_, std::io::Error>))
        }));

    match &start {
        Start::Plugin { .. } => {
            tokio::spawn(watch_parent(end.clone()));
            ignore_interrupts()?;
            handshake::announce(socket.path(), certificate.as_deref())?;
        }
        Start::Debug => {
            println!("{}", handshake::reattach(P::NAME, socket.path()));
            let end = end.clone();
            tokio::spawn(async move {
                if tokio::signal::ctrl_c().await.is_ok() {
                    end.cancel();
                }
            });
        }
    }
    tokio::select! {
        served = serving => served?,
        () = end.cancelled() => tokio::time::sleep(Duration::from_millis(50)).await,
    }
    Ok(())
}

/// An interrupt from the terminal reaches the whole process group, but it is for the tool to decide what stops.
fn ignore_interrupts() -> std::io::Result<()> {
    let mut interrupts = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt())?;
    tokio::spawn(async move { while interrupts.recv().await.is_some() {} });
    Ok(())
}

/// Ends the process when the tool that started it is gone without a word.
async fn watch_parent(end: CancellationToken) {
    let parent = std::os::unix::process::parent_id();
    while std::os::unix::process::parent_id() == parent {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    end.cancel();
}

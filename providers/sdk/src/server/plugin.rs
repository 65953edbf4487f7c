//! The services that go-plugin expects beside the provider's own: shutdown, forwarding of output (of which there is
//! none: providers log to standard error), health.

use futures::stream::{self, BoxStream, StreamExt};
use gpuform_schema::proto::health::{self, HealthCheckRequest, HealthCheckResponse};
use gpuform_schema::proto::plugin::{self, Empty, StdioData};
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status};

/// Ends the process when the host asks for it.
pub(super) struct Controller {
    pub end: CancellationToken,
}

#[tonic::async_trait]
impl plugin::grpc_controller_server::GrpcController for Controller {
    async fn shutdown(&self, _: Request<Empty>) -> Result<Response<Empty>, Status> {
        self.end.cancel();
        Ok(Response::new(Empty {}))
    }
}

/// A stream of output without any.
pub(super) struct Stdio {
    pub end: CancellationToken,
}

#[tonic::async_trait]
impl plugin::grpc_stdio_server::GrpcStdio for Stdio {
    type StreamStdioStream = BoxStream<'static, Result<StdioData, Status>>;

    async fn stream_stdio(&self, _: Request<()>) -> Result<Response<Self::StreamStdioStream>, Status> {
        let end = self.end.clone();
        let silence = stream::pending().take_until(async move { end.cancelled().await });
        Ok(Response::new(silence.boxed()))
    }
}

/// Serving as long as the process lives.
pub(super) struct Health;

fn serving() -> HealthCheckResponse {
    HealthCheckResponse { status: health::health_check_response::ServingStatus::Serving.into() }
}

#[tonic::async_trait]
impl health::health_server::Health for Health {
    type WatchStream = BoxStream<'static, Result<HealthCheckResponse, Status>>;

    async fn check(&self, _: Request<HealthCheckRequest>) -> Result<Response<HealthCheckResponse>, Status> {
        Ok(Response::new(serving()))
    }

    async fn watch(&self, _: Request<HealthCheckRequest>) -> Result<Response<Self::WatchStream>, Status> {
        Ok(Response::new(stream::once(async { Ok(serving()) }).chain(stream::pending()).boxed()))
    }
}

use super::{AT_FIRST, AT_MOST, Throttle, code, examined};
use aws_smithy_runtime_api::client::http::{HttpConnector, HttpConnectorFuture, SharedHttpConnector};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_types::body::SdkBody;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

const REFUSAL: &str = "<Response><Errors><Error><Code>RequestLimitExceeded</Code></Error></Errors></Response>";

fn answer(status: u16, body: &str) -> HttpResponse {
    HttpResponse::new(status.try_into().unwrap(), SdkBody::from(body))
}

fn request() -> HttpRequest {
    HttpRequest::new(SdkBody::from("Action=DescribeInstances"))
}

/// A service that takes 5 ms for a call and refuses those beyond `most` at a time.
#[derive(Debug, Default)]
struct Service {
    most: AtomicUsize,
    now: AtomicUsize,
    seen: Mutex<Vec<usize>>,
}

#[derive(Debug)]
struct Wire(Arc<Service>);

impl HttpConnector for Wire {
    fn call(&self, _: HttpRequest) -> HttpConnectorFuture {
        let service = Arc::clone(&self.0);
        HttpConnectorFuture::new(async move {
            let now = service.now.fetch_add(1, Relaxed) + 1;
            service.seen.lock().unwrap().push(now);
            tokio::time::sleep(Duration::from_millis(5)).await;
            service.now.fetch_sub(1, Relaxed);
            Ok(if now > service.most.load(Relaxed) { answer(503, REFUSAL) } else { answer(200, "") })
        })
    }
}

async fn calls(throttle: &Arc<Throttle>, service: &Arc<Service>, number: usize) -> Vec<u16> {
    let wire = SharedHttpConnector::new(Wire(Arc::clone(service)));
    let all = (0..number).map(|_| {
        let (throttle, wire) = (Arc::clone(throttle), wire.clone());
        tokio::spawn(async move { throttle.call(&wire, request()).await.unwrap().status().as_u16() })
    });
    let mut statuses = Vec::new();
    for call in all.collect::<Vec<_>>() {
        statuses.push(call.await.unwrap());
    }
    statuses
}

#[tokio::test]
async fn refused_calls_are_made_again_fewer_at_a_time_and_then_more() {
    let (throttle, service) = (Throttle::new("ec2", 25, CancellationToken::new()), Arc::<Service>::default());
    service.most.store(6, Relaxed);
    assert!(calls(&throttle, &service, 150).await.into_iter().all(|s| s == 200));
    let seen = std::mem::take(&mut *service.seen.lock().unwrap());
    assert_eq!(seen.iter().max(), Some(&AT_FIRST));
    let low = throttle.limit().now;
    assert!(low < AT_FIRST / 2, "{low}");
    // The service has recovered.
    service.most.store(usize::MAX, Relaxed);
    assert!(calls(&throttle, &service, 3000).await.into_iter().all(|s| s == 200));
    let high = throttle.limit().now;
    assert!(high > low + 20 && high <= AT_MOST, "{low} to {high}");
    assert!(*service.seen.lock().unwrap().iter().max().unwrap() > low + 10);
    // Every turn has come back.
    assert_eq!((throttle.turns.available_permits(), throttle.limit().owed), (high, 0));
}

#[tokio::test]
async fn a_call_is_given_up_after_so_many_attempts_or_when_the_user_stops() {
    let service = Arc::<Service>::default();
    let throttle = Throttle::new("ec2", 2, CancellationToken::new());
    assert_eq!(calls(&throttle, &service, 1).await, [503]);
    assert_eq!(service.seen.lock().unwrap().len(), 3);
    let cancel = CancellationToken::new();
    let throttle = Throttle::new("ec2", 1000, cancel.clone());
    let stop = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        cancel.cancel();
    };
    let (statuses, ()) = tokio::join!(calls(&throttle, &service, 1), stop);
    assert_eq!(statuses, [503]);
}

#[tokio::test]
async fn refusals_are_told_from_other_errors_in_each_protocol() {
    let refused = |status, body: &'static str, head| async move {
        let (response, refused) = examined(answer(status, body), head).await.unwrap();
        // What was read can be read again.
        assert_eq!(response.body().bytes().unwrap(), body.as_bytes());
        refused
    };
    assert!(refused(503, REFUSAL, false).await);
    assert!(refused(400, "{\"__type\":\"ThrottlingException\",\"message\":\"Rate exceeded\"}", false).await);
    assert!(refused(503, "", true).await);
    assert!(!refused(503, "<Error><Code>ServiceUnavailable</Code></Error>", false).await);
    assert!(!refused(400, "<Error><Code>InvalidVpcID.NotFound</Code></Error>", false).await);
    assert!(!refused(500, "", false).await);
    assert_eq!(code("{\"__type\": \"SlowDown\"}"), Some("SlowDown"));
}

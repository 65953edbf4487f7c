use super::*;
use std::sync::atomic::{AtomicUsize, Ordering};

fn limits(seconds: u64) -> Limits {
    Limits::new(Duration::from_secs(seconds), CancellationToken::new())
}

/// An API that passes through these states, and stays in the last; an empty one means that the object is not there.
fn states(states: &'static [&'static str]) -> impl FnMut() -> std::future::Ready<Result<Option<(String, usize)>>> {
    let at = AtomicUsize::new(0);
    move || {
        let i = at.fetch_add(1, Ordering::Relaxed).min(states.len() - 1);
        std::future::ready(Ok((!states[i].is_empty()).then(|| (states[i].to_owned(), i))))
    }
}

fn wait<'a>(target: &'a [&'a str], pending: &'a [&'a str]) -> Wait<'a> {
    Wait::until("volume v", target).pending(pending).every(Duration::from_millis(10))
}

#[tokio::test]
async fn transient_errors_are_retried_and_others_are_not() {
    let transient = |e: &Error| e.has_code(&["Busy"]);
    let third =
        |attempt: u32| async move { if attempt < 3 { Err(Error::new("no").code("Busy")) } else { Ok(attempt) } };
    assert_eq!(retry(&limits(10), transient, third).await.unwrap(), 3);
    let fatal = |_: u32| async { Err::<(), _>(Error::new("no").code("Denied")) };
    assert!(retry(&limits(10), transient, fatal).await.unwrap_err().has_code(&["Denied"]));
}

#[tokio::test]
async fn retries_end_with_the_last_error_when_the_time_is_up() {
    let short = Limits::new(Duration::from_millis(300), CancellationToken::new());
    let busy = |_: u32| async { Err::<(), _>(Error::new("Busy").code("Busy")) };
    let error = retry(&short, |_| true, busy).await.unwrap_err();
    assert!(error.has_code(&["Busy"]) && error.to_string().contains("Gave up"), "{error}");
}

#[tokio::test]
async fn the_users_stop_ends_retries_and_waits_at_once() {
    let stopped = limits(60);
    stopped.cancel.cancel();
    let busy = |_: u32| async { Err::<(), _>(Error::new("Busy")) };
    assert_eq!(retry(&stopped, |_| true, busy).await.unwrap_err().kind(), crate::ErrorKind::Cancelled);
    let waited = wait_for(&stopped, &wait(&["up"], &[]), states(&["down"])).await;
    assert_eq!(waited.unwrap_err().kind(), crate::ErrorKind::Cancelled);
}

#[tokio::test]
async fn waiting_passes_through_pending_states_to_the_target() {
    let creating = states(&["", "creating", "creating", "available"]);
    assert_eq!(wait_for(&limits(10), &wait(&["available"], &["creating"]), creating).await.unwrap(), 3);
    let error = wait_for(&limits(10), &wait(&["available"], &["creating"]), states(&["creating", "error"])).await;
    assert!(error.unwrap_err().to_string().contains("\"error\""));
    let gone = wait_for(&limits(10), &wait(&["available"], &[]), states(&["creating", ""])).await;
    assert!(gone.unwrap_err().is_not_found());
    let flapping = wait(&["up"], &[]).in_a_row(2);
    assert_eq!(wait_for(&limits(10), &flapping, states(&["up", "down", "up", "up"])).await.unwrap(), 3);
}

#[tokio::test]
async fn waiting_until_gone_ends_when_it_is() {
    let until = |pending| Wait::until_gone("volume v").pending(pending).every(Duration::from_millis(10));
    assert!(wait_until_gone(&limits(10), &until(&["deleting"]), states(&["deleting", ""])).await.is_ok());
    assert!(wait_until_gone(&limits(10), &until(&["deleting"]), states(&["deleting", "available"])).await.is_err());
    let never = Limits::new(Duration::from_millis(100), CancellationToken::new());
    let error = wait_until_gone(&never, &until(&[]), states(&["deleting"])).await.unwrap_err();
    assert_eq!(error.kind(), crate::ErrorKind::Timeout);
}

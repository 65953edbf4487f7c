//! Repeating what fails for the moment, and waiting for an object to reach a state. Both heed the operation's timeout
//! and the user's wish to stop. Resources use them through [`crate::Context`]; clients may call them directly.

use crate::error::{Error, Result};
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// How long something may go on.
#[derive(Clone)]
pub struct Limits {
    pub timeout: Duration,
    pub cancel: CancellationToken,
    start: Instant,
}

impl Limits {
    /// The time runs from now.
    pub fn new(timeout: Duration, cancel: CancellationToken) -> Limits {
        Limits { timeout, cancel, start: Instant::now() }
    }

    fn left(&self) -> Duration {
        self.timeout.saturating_sub(self.start.elapsed())
    }

    /// Sleeps, but not beyond the limits. False when the time is up.
    async fn sleep(&self, pause: Duration) -> Result<bool> {
        let left = self.left();
        if left.is_zero() {
            return Ok(false);
        }
        tokio::select! {
            () = self.cancel.cancelled() => Err(Error::cancelled()),
            () = tokio::time::sleep(pause.min(left)) => Ok(true),
        }
    }
}

const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// Runs `operation` until it succeeds or fails for good; see [`crate::Context::retry`]. When the time is up, the last
/// error is returned, with a sentence that says so.
pub async fn retry<T, F>(
    limits: &Limits,
    retryable: impl Fn(&Error) -> bool + Send,
    mut operation: impl FnMut(u32) -> F + Send,
) -> Result<T>
where
    F: Future<Output = Result<T>> + Send,
{
    let mut attempt = 1;
    loop {
        let error = match operation(attempt).await {
            Ok(value) => return Ok(value),
            Err(e) if retryable(&e) => e,
            Err(e) => return Err(e),
        };
        tracing::debug!(attempt, %error, "will try again");
        if !limits.sleep(pause(attempt)).await? {
            let after = format!("Gave up after {attempt} attempts in {}.", seconds(limits.start.elapsed()));
            return Err(error.also(&after));
        }
        attempt += 1;
    }
}

/// What to wait for: `Wait::until("volume vol-1", &["available"]).pending(&["creating"])`.
#[derive(Clone)]
pub struct Wait<'a> {
    what: &'a str,
    target: &'a [&'a str],
    pending: &'a [&'a str],
    interval: Duration,
    grace: Duration,
    in_a_row: u32,
}

impl<'a> Wait<'a> {
    /// Waits until `what` (for messages: `volume vol-1`) is in one of the `target` states.
    pub fn until(what: &'a str, target: &'a [&'a str]) -> Wait<'a> {
        let (interval, grace) = (Duration::from_secs(2), Duration::from_secs(20));
        Wait { what, target, pending: &[], interval, grace, in_a_row: 1 }
    }

    /// Waits until `what` is gone.
    pub fn until_gone(what: &'a str) -> Wait<'a> {
        Wait::until(what, &[])
    }

    /// The states to pass through; any other state is then an error at once. Without them every state but the target
    /// is waited through.
    #[must_use]
    pub fn pending(self, pending: &'a [&'a str]) -> Self {
        Wait { pending, ..self }
    }

    /// How often to ask; every 2 seconds by default. The first few questions come faster.
    #[must_use]
    pub fn every(self, interval: Duration) -> Self {
        Wait { interval, ..self }
    }

    /// How long an object may be invisible at first, as APIs are eventually consistent; 20 seconds by default.
    #[must_use]
    pub fn grace(self, grace: Duration) -> Self {
        Wait { grace, ..self }
    }

    /// How many times in a row the target must be seen; once by default.
    #[must_use]
    pub fn in_a_row(self, times: u32) -> Self {
        Wait { in_a_row: times, ..self }
    }
}

/// Asks `poll` for the state and the object (`None`, or an error of kind "not found", is "not there") until the state
/// is a target; returns the object.
pub async fn wait_for<T, F>(limits: &Limits, wait: &Wait<'_>, mut poll: impl FnMut() -> F + Send) -> Result<T>
where
    T: Send,
    F: Future<Output = Result<Option<(String, T)>>> + Send,
{
    let (mut round, mut seen, mut hits) = (0, false, 0);
    loop {
        let state = match present(poll().await)? {
            None if seen || limits.start.elapsed() > wait.grace => return Err(vanished(wait)),
            None => "not there yet".to_owned(),
            Some((state, object)) if wait.target.contains(&state.as_str()) => {
                hits += 1;
                if hits >= wait.in_a_row {
                    return Ok(object);
                }
                state
            }
            Some((state, _)) if wait.pending.is_empty() || wait.pending.contains(&state.as_str()) => {
                hits = 0;
                state
            }
            Some((state, _)) => return Err(unexpected(wait, &state)),
        };
        seen |= state != "not there yet";
        round += 1;
        if !limits.sleep(interval(wait.interval, round)).await? {
            return Err(too_long(limits, wait, &state));
        }
    }
}

/// Asks `poll` for the state until the object is not there any more.
pub async fn wait_until_gone<T, F>(limits: &Limits, wait: &Wait<'_>, mut poll: impl FnMut() -> F + Send) -> Result<()>
where
    T: Send,
    F: Future<Output = Result<Option<(String, T)>>> + Send,
{
    let mut round = 0;
    loop {
        let state = match present(poll().await)? {
            None => return Ok(()),
            Some((state, _)) if wait.pending.is_empty() || wait.pending.contains(&state.as_str()) => state,
            Some((state, _)) => return Err(unexpected(wait, &state)),
        };
        round += 1;
        if !limits.sleep(interval(wait.interval, round)).await? {
            return Err(too_long(limits, wait, &state));
        }
    }
}

fn present<T>(answer: Result<Option<T>>) -> Result<Option<T>> {
    match answer {
        Err(e) if e.is_not_found() => Ok(None),
        other => other,
    }
}

fn vanished(wait: &Wait<'_>) -> Error {
    Error::not_found(format!("The {} is gone", wait.what))
        .detail(format!("It disappeared while waiting for it to be {}.", wait.target.join(" or ")))
}

fn unexpected(wait: &Wait<'_>, state: &str) -> Error {
    let wanted = if wait.target.is_empty() { "gone".to_owned() } else { wait.target.join(" or ") };
    Error::new(format!("The {} is in the state {state:?}", wait.what))
        .detail(format!("It was expected to become {wanted}, by way of {}.", wait.pending.join(", ")))
        .code(state)
}

fn too_long(limits: &Limits, wait: &Wait<'_>, state: &str) -> Error {
    let wanted = if wait.target.is_empty() { "gone".to_owned() } else { wait.target.join(" or ") };
    Error::timeout(format!("The {} took too long", wait.what)).detail(format!(
        "After {} its state is {state:?}, not {wanted}. More time can be given in a `timeouts` block.",
        seconds(limits.start.elapsed())
    ))
}

/// The first questions come after a tenth, a fifth, … of the interval: many objects are ready at once.
fn interval(longest: Duration, round: u32) -> Duration {
    longest.min(longest / 10 * round.min(10))
}

fn pause(attempt: u32) -> Duration {
    backoff(attempt, FIRST_PAUSE, LONGEST_PAUSE)
}

/// Half to all of a pause that doubles with each attempt (from 1), chosen at random so that clients do not march in
/// step.
pub fn backoff(attempt: u32, first: Duration, longest: Duration) -> Duration {
    let whole = first.saturating_mul(1 << attempt.saturating_sub(1).min(10)).min(longest);
    let random = RandomState::new().hash_one(attempt) % 1000;
    whole / 2 + whole / 2 * u32::try_from(random).unwrap_or_default() / 1000
}

fn seconds(time: Duration) -> String {
    format!("{} seconds", time.as_secs_f32().round())
}

#[cfg(test)]
mod tests;

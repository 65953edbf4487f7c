//! How a test run looks: for people, as a stream of JSON messages, and as a JUnit report.

pub mod human;
pub mod junit;
pub mod stream;

use crate::testing::{Counts, Left, Status};

/// The word for how a run or file ended. To people, what could not be carried out has failed like what is false.
fn word(status: Status) -> &'static str {
    match status {
        Status::Pass => "pass",
        Status::Fail | Status::Error => "fail",
        Status::Skip => "skip",
        Status::Pending => "pending",
    }
}

/// The line at the end, which other tools read.
fn summary(status: Status, n: Counts) -> (&'static str, String) {
    let headline = if matches!(status, Status::Fail | Status::Error) { "Failure!" } else { "Success!" };
    let skipped = if n.skipped > 0 { format!(", {} skipped", n.skipped) } else { String::new() };
    (headline, format!("{} passed, {} failed{skipped}.", n.passed, n.failed + n.errored))
}

/// An object that is left, as it is listed.
fn listed(left: &Left) -> String {
    match left.deposed {
        Some(key) => format!("{} ({key})", left.addr),
        None => left.addr.to_string(),
    }
}

//! One run of a program, measured: wall time, processor time, peak memory. The system's accounting is used (`wait4`),
//! so that a plugin process that the program has started and awaited is counted with it.

use std::io;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};
use wait4::Wait4;

/// What a run took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    pub wall: Duration,
    /// User and system time of all threads.
    pub cpu: Duration,
    /// Largest resident size, in bytes.
    pub memory: u64,
}

/// Runs a command to its end.
///
/// # Errors
/// When it cannot be started or waited for.
pub fn run(command: &mut Command) -> io::Result<(ExitStatus, Sample)> {
    let start = Instant::now();
    let child = command.spawn()?;
    let used = child.wait4()?;
    let sample =
        Sample { wall: start.elapsed(), cpu: used.rusage.utime + used.rusage.stime, memory: used.rusage.maxrss };
    Ok((used.status, sample))
}

/// The median of each figure; `None` without samples.
pub fn median(samples: &[Sample]) -> Option<Sample> {
    Some(Sample {
        wall: middle(samples.iter().map(|s| s.wall))?,
        cpu: middle(samples.iter().map(|s| s.cpu))?,
        memory: middle(samples.iter().map(|s| s.memory))?,
    })
}

fn middle<T: Ord + Copy>(values: impl Iterator<Item = T>) -> Option<T> {
    let mut all: Vec<T> = values.collect();
    all.sort_unstable();
    all.get(all.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_taken_of_each_figure() {
        let sample = |n: u64| Sample { wall: Duration::from_secs(n), cpu: Duration::from_secs(9 - n), memory: n };
        assert_eq!(median(&[sample(3), sample(1), sample(2)]), Some(sample(2)));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn a_run_is_measured() {
        let (status, sample) = run(Command::new("sh").args(["-c", "sleep 0.05"])).unwrap();
        assert!(status.success() && sample.wall >= Duration::from_millis(50) && sample.memory > 0);
    }
}

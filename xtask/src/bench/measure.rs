//! One run of a program, measured: wall time, processor time, peak memory. The system's accounting is used (`wait4`),
//! so that a plugin process that the program has started and awaited is counted with it.

use std::io;
use std::process::{Child, Command};
use std::sync::mpsc::{self, RecvTimeoutError};
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
    /// It was stopped at the limit: it would have needed more than these figures say.
    pub cut_off: bool,
}

/// How a command ended.
pub struct Ended {
    /// With exit code 0.
    pub success: bool,
    pub sample: Sample,
}

/// Runs a command to its end, or until `limit`.
///
/// # Errors
/// When it cannot be started or waited for.
pub fn run(command: &mut Command, limit: Duration) -> io::Result<Ended> {
    let start = Instant::now();
    let mut child = command.spawn()?;
    let watch = watch(&mut child, limit);
    let used = child.wait4()?;
    let wall = start.elapsed();
    let cut_off = watch.ended();
    let cpu = used.rusage.utime + used.rusage.stime;
    Ok(Ended { success: used.status.success(), sample: Sample { wall, cpu, memory: used.rusage.maxrss, cut_off } })
}

/// A thread that stops a process at its limit.
struct Watch {
    done: mpsc::Sender<()>,
    thread: std::thread::JoinHandle<bool>,
}

fn watch(child: &mut Child, limit: Duration) -> Watch {
    let (done, ended) = mpsc::channel();
    let pid = child.id().to_string();
    let thread = std::thread::spawn(move || {
        let late = ended.recv_timeout(limit) == Err(RecvTimeoutError::Timeout);
        // The process has not been waited for yet, so that the number is still its own.
        late && Command::new("kill").args(["-KILL", &pid]).status().is_ok_and(|s| s.success())
    });
    Watch { done, thread }
}

impl Watch {
    /// Whether the process was stopped.
    fn ended(self) -> bool {
        // A thread that is gone has stopped the process.
        let _ = self.done.send(());
        self.thread.join().unwrap_or(false)
    }
}

/// The median of each figure; `None` without samples.
pub fn median(samples: &[Sample]) -> Option<Sample> {
    Some(Sample {
        wall: middle(samples.iter().map(|s| s.wall))?,
        cpu: middle(samples.iter().map(|s| s.cpu))?,
        memory: middle(samples.iter().map(|s| s.memory))?,
        cut_off: samples.iter().any(|s| s.cut_off),
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
        let sample = |n: u64| Sample {
            wall: Duration::from_secs(n),
            cpu: Duration::from_secs(9 - n),
            memory: n,
            cut_off: false,
        };
        assert_eq!(median(&[sample(3), sample(1), sample(2)]), Some(sample(2)));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn a_run_is_measured() {
        let Ended { success, sample } = run(Command::new("sh").args(["-c", "sleep 0.05"]), LONG).unwrap();
        assert!(success && sample.wall >= Duration::from_millis(50) && sample.memory > 0 && !sample.cut_off);
    }

    #[test]
    fn a_run_ends_at_its_limit() {
        let Ended { success, sample } = run(Command::new("sleep").arg("20"), Duration::from_millis(50)).unwrap();
        assert!(!success && sample.cut_off && sample.wall < Duration::from_secs(10));
    }

    const LONG: Duration = Duration::from_secs(60);
}

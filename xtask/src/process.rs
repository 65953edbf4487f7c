//! Child processes, and Ctrl-C: the first one lets the running command end by itself (the terminal has told it too),
//! after which the task cleans up; the second ends the command at once.

use crate::Result;
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::Duration;

const POLL: Duration = Duration::from_millis(30);

/// Whether the user wants the task to end.
pub struct Interrupt {
    keyboard: Arc<AtomicUsize>,
    terminated: Arc<AtomicBool>,
}

impl Interrupt {
    /// From now on Ctrl-C and SIGTERM end what the task does next, not the task itself.
    ///
    /// # Errors
    /// When the system refuses the handlers.
    pub fn listen() -> Result<Interrupt> {
        use signal_hook::consts::{SIGINT, SIGTERM};
        let this = Interrupt { keyboard: Arc::default(), terminated: Arc::default() };
        let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])
            .map_err(|e| format!("Signals cannot be handled: {e}"))?;
        let (keyboard, terminated) = (this.keyboard.clone(), this.terminated.clone());
        std::thread::spawn(move || {
            for signal in signals.forever() {
                match signal {
                    SIGTERM => terminated.store(true, Ordering::SeqCst),
                    _ => {
                        keyboard.fetch_add(1, Ordering::SeqCst);
                    }
                }
            }
        });
        Ok(this)
    }

    pub fn requested(&self) -> bool {
        self.keyboard.load(Ordering::SeqCst) > 0 || self.terminated.load(Ordering::SeqCst)
    }

    fn at_once(&self) -> bool {
        self.keyboard.load(Ordering::SeqCst) > 1 || self.terminated.load(Ordering::SeqCst)
    }

    /// Runs a command to its end.
    ///
    /// # Errors
    /// When it cannot be started, fails (it has said why), or the user interrupts.
    pub fn run(&self, command: &mut Command) -> Result {
        let name = command.get_program().to_string_lossy().into_owned();
        let child = command.spawn().map_err(|e| format!("{name} cannot be started: {e}"))?;
        let status = self.wait(child)?;
        if status.success() { Ok(()) } else { Err(format!("{name}: {status}")) }
    }

    /// Waits for a child, and kills it when there is no time left.
    ///
    /// # Errors
    /// When the user interrupts.
    pub fn wait(&self, mut child: Child) -> Result<ExitStatus> {
        loop {
            match child.try_wait() {
                Ok(Some(_)) if self.requested() => return Err("Interrupted.".to_owned()),
                Ok(Some(status)) => return Ok(status),
                Ok(None) if self.at_once() => {
                    let _ = child.kill();
                    let _ = child.wait();
                    return Err("Interrupted.".to_owned());
                }
                Ok(None) => sleep(POLL),
                Err(e) => return Err(format!("A command's end was missed: {e}")),
            }
        }
    }

    /// Waits for Ctrl-C.
    pub fn wait_for_request(&self) {
        while !self.requested() {
            sleep(POLL);
        }
    }
}

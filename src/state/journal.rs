//! The journal: an append-only file in which everything that happens to the objects is written while it happens, so
//! that a crash at any moment loses nothing. The state file is written once, at the end; until then the journal is
//! what counts. The executor appends to it, the command that comes after a crash recovers from it.
//!
//! The order of a run is: [`Journal::create`]; for each operation an intent, durable before the provider is called, and
//! its end; [`Journal::saving`]; the state file; [`Journal::finish`], which removes the journal, or leaves one that
//! holds only the intents whose end is not known. After a crash it is [`recover`], [`Journal::reopen`], and again
//! saving, state file, finish. A crash between any two of these steps is recovered in the same way.
//!
//! Records are durable in the order of appending. So an operation that needs the result of another may begin as soon
//! as that result was appended; only what is *reported* as complete has to wait until it is durable.

mod log;
mod record;
mod recovery;

pub use record::{Change, Intent, IntentAction, OperationId, Record};
pub use recovery::{Recovery, recover};

use crate::diag::{Diagnostic, Failure, Result};
use crate::state::Stored;
use crate::state::record_lock::{try_lock, unlock};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::future::Future;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, mpsc};
use std::task::{Context, Poll};
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::sync::oneshot;

/// At most this many bytes are written before they are made durable.
const BATCH_BYTES: usize = 8 << 20;

/// The first frame of a journal: which state it starts from.
#[derive(Serialize, Deserialize, Debug)]
struct Header {
    /// Of the journal format.
    version: u32,
    lineage: String,
    serial: u64,
    length: u64,
    crc: u32,
    process: u32,
    /// Milliseconds since 1970.
    time: u64,
    /// The smallest operation number that is free.
    next_operation: u64,
}

const VERSION: u32 = 1;

/// Milliseconds since 1970.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as u64)
}

/// An open journal. Records may be appended from any thread and task.
#[derive(Debug)]
pub struct Journal {
    path: Arc<Path>,
    queue: mpsc::Sender<Entry>,
    writer: Mutex<Option<std::thread::JoinHandle<()>>>,
    next_operation: AtomicU64,
    /// Encoded intents whose end was not appended yet.
    open: Mutex<BTreeMap<OperationId, Vec<u8>>>,
}

enum Entry {
    Record {
        payload: Vec<u8>,
        waiter: oneshot::Sender<std::result::Result<(), Arc<str>>>,
    },
    /// Nothing follows.
    End,
}

impl Journal {
    /// Starts a journal for changes to `base`. `path` must not exist: a journal that is there has to be recovered.
    ///
    /// # Errors
    /// The file exists or cannot be written.
    pub fn create(path: &Path, base: &Stored) -> Result<Journal> {
        if path.exists() {
            return Err(Box::new(Diagnostic::error(
                "Journal exists already",
                format!(
                    "{} holds the results of an apply that was interrupted, or of one that is still running. Recover it \
                     before anything else is changed.",
                    path.display()
                ),
            )));
        }
        write_new(path, base, 1, &BTreeMap::new())?;
        Journal::open(path, Frames { number: 1, sound: None }, 1, BTreeMap::new())
    }

    /// Carries on a journal that was recovered: to save what was recovered, and to record how its pending operations
    /// end.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn reopen(path: &Path, recovery: &Recovery) -> Result<Journal> {
        let frames = Frames { number: recovery.frames, sound: Some(recovery.sound) };
        let open = recovery
            .pending
            .iter()
            .map(|i| Ok((i.operation, record::encode(&Record::Intent(Box::new(i.clone())))?)))
            .collect::<std::io::Result<_>>()
            .map_err(|e| failure(path, &e))?;
        Journal::open(path, frames, recovery.next_operation, open)
    }

    fn open(path: &Path, frames: Frames, next: u64, open: BTreeMap<OperationId, Vec<u8>>) -> Result<Journal> {
        let file = OpenOptions::new().append(true).open(path).map_err(|e| failure(path, &e))?;
        if !try_lock(&file).map_err(|e| failure(path, &e))? {
            return Err(failure(path, &"another run is writing it"));
        }
        if let Some(sound) = frames.sound {
            file.set_len(sound).and_then(|()| file.sync_all()).map_err(|e| failure(path, &e))?;
        }
        let (queue, entries) = mpsc::channel();
        let number = frames.number;
        let writer = std::thread::Builder::new()
            .name("journal".into())
            .spawn(move || write_entries(file, number, &entries))
            .map_err(|e| failure(path, &e))?;
        Ok(Journal {
            path: path.into(),
            queue,
            writer: Mutex::new(Some(writer)),
            next_operation: AtomicU64::new(next),
            open: Mutex::new(open),
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A number for a new operation.
    pub fn operation(&self) -> OperationId {
        OperationId(self.next_operation.fetch_add(1, Ordering::Relaxed))
    }

    /// Appends a record; await the result to know that it is durable, or drop it where that does not matter yet.
    /// Once one record could not be written, all later ones fail as well.
    pub fn append(&self, record: &Record) -> Durable {
        let (waiter, durable) = oneshot::channel();
        match record::encode(record) {
            Err(e) => {
                // The receiver is still in our hands.
                let _ = waiter.send(Err(e.to_string().into()));
            }
            Ok(payload) => {
                match record {
                    Record::Intent(i) => {
                        self.open_intents().insert(i.operation, payload.clone());
                    }
                    Record::Finished { operation, .. } => {
                        self.open_intents().remove(operation);
                    }
                    Record::Changes(_) | Record::Saving { .. } => {}
                }
                // If the writer has ended, the dropped waiter tells the caller.
                let _ = self.queue.send(Entry::Record { payload, waiter });
            }
        }
        Durable { path: self.path.clone(), durable }
    }

    /// Appends a record that may become durable at any time.
    pub fn append_nowait(&self, record: &Record) {
        drop(self.append(record));
    }

    fn open_intents(&self) -> MutexGuard<'_, BTreeMap<OperationId, Vec<u8>>> {
        self.open.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Lets the writer write what is queued, and end.
    fn end_writer(&self) {
        let writer = self.writer.lock().unwrap_or_else(|e| e.into_inner()).take();
        if let Some(writer) = writer {
            // It can only be gone already if it has panicked, which it does not.
            let _ = self.queue.send(Entry::End);
            let _ = writer.join();
        }
    }

    /// Records what the state file will be, and waits until that and everything before is durable. The next step is to
    /// write exactly this content.
    ///
    /// # Errors
    /// The journal cannot be written.
    pub async fn saving(&self, next: &Stored) -> Result<()> {
        self.append(&Record::Saving { serial: next.state.serial, fingerprint: next.fingerprint }).await
    }

    /// Ends the journal after the state file `saved` is durable. Returns whether nothing is left of it: where
    /// operations have no known end, a journal with their intents stays for the next run.
    ///
    /// # Errors
    /// The file cannot be removed or replaced.
    pub fn finish(&self, saved: &Stored) -> Result<bool> {
        self.end_writer();
        let path = &self.path;
        let open = self.open_intents();
        if open.is_empty() {
            std::fs::remove_file(path).and_then(|()| sync_folder(path)).map_err(|e| failure(path, &e))?;
            return Ok(true);
        }
        write_new(path, saved, self.next_operation.load(Ordering::Relaxed), &open)?;
        Ok(false)
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.end_writer();
    }
}

struct Frames {
    /// How many there are.
    number: u64,
    /// Bytes that are to be kept.
    sound: Option<u64>,
}

/// Becomes ready when a record is durable.
#[derive(Debug)]
pub struct Durable {
    path: Arc<Path>,
    durable: oneshot::Receiver<std::result::Result<(), Arc<str>>>,
}

impl Future for Durable {
    type Output = Result<()>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.durable).poll(cx).map(|outcome| match outcome {
            Ok(Ok(())) => Ok(()),
            Ok(Err(e)) => Err(failure(&self.path, &e)),
            Err(_) => Err(failure(&self.path, &"its writer has ended")),
        })
    }
}

fn failure(path: &Path, e: &dyn std::fmt::Display) -> Failure {
    Box::new(Diagnostic::error(
        "Failed to write the journal",
        format!(
            "{}: {e}. Results cannot be made safe against a crash any more, so no further operation is started.",
            path.display()
        ),
    ))
}

/// The writer: takes whatever has been queued, writes it at once, makes it durable, and tells those who wait.
fn write_entries(mut file: File, mut number: u64, entries: &mpsc::Receiver<Entry>) {
    let mut buffer = Vec::new();
    let mut waiters = Vec::new();
    let mut broken: Option<Arc<str>> = None;
    let mut ended = false;
    while !ended && let Ok(first) = entries.recv() {
        buffer.clear();
        let durable = number;
        let mut next = Some(first);
        while let Some(entry) = next {
            let Entry::Record { payload, waiter } = entry else {
                ended = true;
                break;
            };
            log::push_frame(&mut buffer, number, durable, &payload);
            number += 1;
            waiters.push(waiter);
            next = if buffer.len() < BATCH_BYTES { entries.try_recv().ok() } else { None };
        }
        if broken.is_none() && !buffer.is_empty() {
            let written = file.write_all(&buffer).and_then(|()| file.sync_data());
            broken = written.err().map(|e| e.to_string().into());
        }
        for waiter in waiters.drain(..) {
            // A waiter that is gone did not want to know.
            let _ = waiter.send(broken.clone().map_or(Ok(()), Err));
        }
    }
    // Closing the file gives the lock back as well, only perhaps a moment later.
    let _ = unlock(&file);
}

/// Puts a new journal in place, whole or not at all, with the intents that are still open.
fn write_new(path: &Path, base: &Stored, next_operation: u64, open: &BTreeMap<OperationId, Vec<u8>>) -> Result<()> {
    let header = Header {
        version: VERSION,
        lineage: base.state.lineage.clone(),
        serial: base.state.serial,
        length: base.fingerprint.length,
        crc: base.fingerprint.crc,
        process: std::process::id(),
        time: now(),
        next_operation,
    };
    let mut bytes = Vec::new();
    let payload = serde_json::to_vec(&header).unwrap_or_default();
    for (number, payload) in (0..).zip(std::iter::once(&payload).chain(open.values())) {
        log::push_frame(&mut bytes, number, 0, payload);
    }
    let temporary = path.with_extension("journal.new");
    let write = || {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
        file.write_all(&bytes)?;
        file.sync_all()?;
        std::fs::rename(&temporary, path)?;
        sync_folder(path)
    };
    write().map_err(|e: std::io::Error| {
        // What is left of the attempt is of no use; that it cannot be removed either adds nothing.
        let _ = std::fs::remove_file(&temporary);
        failure(path, &e)
    })
}

/// Makes the creation, renaming or removal of a file durable.
fn sync_folder(path: &Path) -> std::io::Result<()> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests;

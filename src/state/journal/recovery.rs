//! What a journal says after a crash: the state with every recorded change, and the operations whose end is unknown.

use super::record::{Decoder, Intent, LAST_OPERATION, OperationId, Record};
use super::{Header, VERSION, log};
use crate::diag::{Diagnostic, Failure, Result};
use crate::state::{Fingerprint, State, Stored};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The outcome of reading a journal. Nothing on disk was changed for it.
#[derive(Clone, PartialEq, Debug)]
pub struct Recovery {
    /// The stored state with all recorded changes.
    pub state: State,
    /// Operations that were begun and whose end is not known: their effect may or may not have happened.
    pub pending: Vec<Intent>,
    /// How many recorded changes the stored state did not have yet. If there are none, it need not be saved again.
    pub changes: usize,
    /// The last records were cut off. Nobody was told that they were durable.
    pub torn_tail: bool,
    /// The process that wrote the journal.
    pub process: u32,
    pub(super) frames: u64,
    pub(super) sound: u64,
    pub(super) next_operation: u64,
}

/// Reads the journal at `path`, which belongs to the state `stored` (`None`: there is no state yet). `None` if there is
/// no journal.
///
/// # Errors
/// The journal is damaged, or belongs to another state. It is left as it is.
pub fn recover(path: &Path, stored: Option<&Stored>) -> Result<Option<Recovery>> {
    let bytes = match crate::input::read(path) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(failure(path, &format!("It cannot be read: {e}."))),
    };
    let log = log::scan(&bytes).map_err(|d| {
        failure(
            path,
            &format!(
                "It is damaged: the record at byte {} cannot be read, although it was safely on disk once. {} records \
                 before it are sound. This points to a failing disk or to a file that was edited.",
                d.at, d.before
            ),
        )
    })?;
    let Some((header, payloads)) = log.payloads.split_first() else {
        return Err(failure(path, "It has no readable beginning."));
    };
    let header: Header =
        serde_json::from_slice(header).map_err(|e| failure(path, &format!("Its beginning is not understood: {e}.")))?;
    if header.version != VERSION {
        return Err(failure(
            path,
            &format!("It has the format version {}, which this gpuform does not know.", header.version),
        ));
    }
    if header.next_operation > LAST_OPERATION {
        return Err(failure(path, "Its beginning is not understood: the number of the next operation is too large."));
    }
    let mut decoder = Decoder::default();
    let records = payloads
        .iter()
        .enumerate()
        .map(|(i, p)| {
            decoder.decode(p).map_err(|e| failure(path, &format!("Its record {} is not understood: {e}.", i + 1)))
        })
        .collect::<Result<Vec<Record>>>()?;
    let stored_are = already_stored(path, &header, &records, stored)?;
    let mut recovery = Recovery {
        state: stored.map_or_else(State::default, |s| s.state.clone()),
        pending: Vec::new(),
        changes: 0,
        torn_tail: log.torn,
        process: header.process,
        frames: log.payloads.len() as u64,
        sound: log.sound as u64,
        next_operation: header.next_operation,
    };
    if recovery.state.lineage.is_empty() {
        recovery.state.lineage.clone_from(&header.lineage);
    }
    replay(&mut recovery, records, stored_are);
    Ok(Some(recovery))
}

/// Makes the changes of all records but the first `stored`, whose changes the state has.
fn replay(recovery: &mut Recovery, records: Vec<Record>, stored: usize) {
    let mut pending: BTreeMap<OperationId, Intent> = BTreeMap::new();
    for (i, record) in records.into_iter().enumerate() {
        let changes = match record {
            Record::Intent(intent) => {
                recovery.next_operation = recovery.next_operation.max(intent.operation.0 + 1);
                pending.insert(intent.operation, *intent);
                continue;
            }
            Record::Finished { operation, changes } => {
                pending.remove(&operation);
                changes
            }
            Record::Changes(changes) => changes,
            Record::Saving { .. } => continue,
        };
        if i >= stored {
            recovery.changes += changes.len();
            changes.iter().for_each(|c| c.apply(&mut recovery.state));
        }
    }
    recovery.pending = pending.into_values().collect();
}

/// How many records the stored state contains: none if it is the one that the journal starts from, those before the
/// record that announced it otherwise.
fn already_stored(path: &Path, header: &Header, records: &[Record], stored: Option<&Stored>) -> Result<usize> {
    let (lineage, serial, fingerprint) = match stored {
        Some(s) => (s.state.lineage.as_str(), s.state.serial, s.fingerprint),
        None => ("", 0, Fingerprint::default()),
    };
    let start = Fingerprint { length: header.length, crc: header.crc };
    let same_lineage = lineage == header.lineage;
    if fingerprint == start && (stored.is_none() || (same_lineage && serial == header.serial)) {
        return Ok(0);
    }
    let announced = records.iter().rposition(|r| *r == Record::Saving { serial, fingerprint });
    if let (Some(at), true) = (announced, same_lineage) {
        return Ok(at);
    }
    let now = match stored {
        None => "there is no state now".to_owned(),
        Some(_) if lineage != header.lineage => format!("the state now has the lineage {lineage}"),
        Some(_) if serial != header.serial => format!("the state now has serial {serial}"),
        Some(_) => "the state file was edited since".to_owned(),
    };
    let mut addresses = BTreeSet::new();
    for record in records {
        match record {
            Record::Intent(i) => {
                addresses.insert(i.addr.to_string());
            }
            Record::Finished { changes, .. } | Record::Changes(changes) => {
                addresses.extend(changes.iter().filter_map(super::Change::addr).map(ToString::to_string));
            }
            Record::Saving { .. } => {}
        }
    }
    let shown: Vec<&str> = addresses.iter().take(10).map(String::as_str).collect();
    let more = if addresses.len() > shown.len() {
        format!(" and {} more", addresses.len() - shown.len())
    } else {
        String::new()
    };
    let objects =
        if shown.is_empty() { "no object".to_owned() } else { format!("these objects: {}{more}", shown.join(", ")) };
    Err(failure(
        path,
        &format!(
            "It was written by an interrupted apply that began with serial {} of the state with the lineage {}, but {now}. \
             Another program has changed the state in between, so the journal cannot be added to it. It tells of \
             {objects}. Either put back the state it began with, or check that each of them is in the state as it \
             should be (\"import\" what is missing) and delete the journal.",
            header.serial,
            if header.lineage.is_empty() { "(none)" } else { &header.lineage },
        ),
    ))
}

fn failure(path: &Path, detail: &str) -> Failure {
    Box::new(Diagnostic::error(
        "Failed to recover from the journal",
        format!("{}: {detail} The journal was left as it is.", path.display()),
    ))
}

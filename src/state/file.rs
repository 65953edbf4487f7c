//! Terraform's state file, format version 4: the only place that knows its layout. [`read`] and [`write`] are inverse
//! to each other byte for byte for every file that Terraform wrote. Where files are and who may write them is the
//! backends' affair.

pub(super) mod json;
pub(super) mod reader;
pub(super) mod writer;

pub use reader::read;
pub use writer::write;

use super::State;

/// The version that is written into state files, so that Terraform of the same language version accepts them.
pub const TERRAFORM_VERSION: &str = "1.11.4";

/// What tells one content of a state file from another: for recognising what was written, not for security.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Fingerprint {
    pub length: u64,
    pub crc: u32,
}

impl Fingerprint {
    pub fn of(bytes: &[u8]) -> Fingerprint {
        Fingerprint { length: bytes.len() as u64, crc: crc32fast::hash(bytes) }
    }
}

/// A state together with the fingerprint of the bytes that it was read from or written as.
#[derive(Clone, PartialEq, Debug)]
pub struct Stored {
    pub state: State,
    pub fingerprint: Fingerprint,
}

/// The state as the text of a state file.
///
/// # Errors
/// An output whose value cannot be stored because it is not wholly known or is marked.
pub fn to_bytes(state: &State) -> std::io::Result<Vec<u8>> {
    let mut out = Vec::with_capacity(writer::expected_length(state));
    write(state, &mut out)?;
    Ok(out)
}

#[cfg(test)]
mod tests;

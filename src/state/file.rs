//! Terraform's state file, format version 4: the only place that knows its layout. [`read`] and [`write`] are inverse
//! to each other byte for byte for every file that Terraform wrote. Where files are and who may write them is the
//! backends' affair.

mod json;
mod reader;
mod value;
mod writer;

pub use reader::read;
pub use writer::write;

use super::State;

/// The version that is written into state files, so that Terraform of the same language version accepts them.
pub const TERRAFORM_VERSION: &str = "1.11.4";

/// The state as the text of a state file.
pub fn to_bytes(state: &State) -> Vec<u8> {
    let mut out = Vec::with_capacity(4096);
    // Writing to memory cannot fail.
    let _ = write(state, &mut out);
    out
}

#[cfg(test)]
mod tests;

//! Resources of AWS KMS.

pub mod alias;
pub mod key;

//! Who and where we are: the caller's identity, and the region.

pub mod caller_identity;
pub mod region;

//! S3: one file per resource; `empty.rs` deletes objects with their versions for two of them.

pub mod bucket;
pub mod empty;
pub mod encryption;
pub mod lifecycle;
pub mod object;
pub mod policy;
pub mod public_access_block;
pub mod versioning;

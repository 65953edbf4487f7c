//! What a user gets from the AWS provider under gpuform and under terraform, against the AWS API on loopback of
//! `tests/clouds`. `cloud.rs` starts it; every other file is about one subject.
//!
//! `cargo xtask test` prepares the Python environment that this needs and says where it is in `GPUFORM_TEST_PYTHON`.

#![allow(clippy::unwrap_used)]

mod cloud;
mod examples;
mod faults;
mod lost_answers;
mod requests;
mod resources;
mod settings;
mod terraform;

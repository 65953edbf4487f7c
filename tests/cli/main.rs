//! What a user gets from the command line, end to end over the built executables. `demo.rs` starts the demo provider;
//! every file is about one subject.

#![allow(clippy::unwrap_used)]

mod backends;
mod bad_input;
mod crash;
mod demo;
mod disk;
mod fmt;
mod generate;
mod graph;
mod hostile;
mod install;
mod recorded;
mod remote;
mod ssh_server;
mod test_command;
mod usage;
mod workflow;

//! gpuform: declarative infrastructure for GPU clouds.
//!
//! The library plans and applies; it never prints and never reads the environment or the terminal. The command line
//! (`cli`) passes everything in and renders the events and diagnostics that come out. `docs/architecture.md` is the map.

pub mod addr;
pub mod cli;
pub mod config;
pub mod diag;
pub mod engine;
pub mod hash;
mod input;
pub mod install;
pub mod lang;
pub mod plugin;
pub mod state;
pub mod testing;

//! The command line: one file per command, argument forms, and views (human, JSON).

pub mod console;

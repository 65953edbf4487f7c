//! Configuration: loading and merging files, static validation, the tree of modules. What cannot be known without a
//! provider's schema or without evaluation is left to the engine. Nothing here prints or reads the environment.

pub(crate) mod decode;
mod early;
mod files;
pub mod imports;
pub mod manifest;
pub mod model;
mod module;
mod names;
pub mod refactoring;
pub mod source;
mod tree;
pub mod variables;
pub mod version;

pub use early::{Early, GivenVariables};
pub(crate) use files::{Parsed, read as read_file};
pub use tree::{LoadOptions, ModuleRequest, ModuleResolver, Start, load, load_from, load_root};

#[cfg(test)]
mod tests;

//! Configuration: loading and merging files, static validation, the tree of modules.

pub mod model;

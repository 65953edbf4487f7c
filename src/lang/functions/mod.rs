//! The built-in functions: one file per family, one plain Rust function each, registered by one line.

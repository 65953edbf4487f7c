//! The expression language: syntax trees, evaluation, conversion, type constraints, functions.

pub mod functions;

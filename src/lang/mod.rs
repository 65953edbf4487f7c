//! The expression language: syntax trees, evaluation, conversion, type constraints, functions.

pub mod convert;
pub mod functions;
pub mod json_syntax;
pub mod syntax;

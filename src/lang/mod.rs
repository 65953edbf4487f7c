//! The expression language: syntax trees, evaluation, conversion, type constraints, functions.

pub mod body;
pub mod convert;
pub mod eval;
pub mod functions;
pub mod json_syntax;
pub mod ops;
pub mod parse;
pub mod render;
pub mod scope;
pub mod suggest;
pub mod syntax;
pub mod type_expr;
pub mod visit;

//! The expression language: syntax trees, evaluation, conversion, type constraints, functions.

pub mod body;
pub mod convert;
pub mod decode;
pub mod eval;
pub mod format;
pub mod functions;
pub mod json_syntax;
pub mod limits;
pub mod ops;
pub mod parse;
pub mod reference;
pub mod render;
pub mod resolve;
pub mod scope;
pub mod static_expr;
pub mod suggest;
pub mod syntax;
pub mod type_expr;
pub mod visit;

/// Runs one level of a walk over a syntax tree, with more stack where little is left: trees may be deeper than a
/// thread's stack allows.
pub(crate) fn deep<R>(walk: impl FnOnce() -> R) -> R {
    stacker::maybe_grow(64 * 1024, 1024 * 1024, walk)
}

//! The engine: dependency graph, planner, execution graph, executor.
//!
//! It neither prints nor reads the environment: everything it needs comes in through its options, everything it has to
//! say goes out as events, diagnostics, plans and states. It knows no cloud: providers are reached through
//! [`crate::plugin::Provider`] only.

pub mod events;
pub mod plan;

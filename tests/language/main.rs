//! The language, feature by feature: each test is named after what it shows, so that a reader finds a feature by its
//! name. Expectations are those of Terraform 1.11.4, except in tests that say otherwise, and OpenTofu's for what it adds. `harness.rs` has the helpers.

#![allow(clippy::unwrap_used)]

mod blocks;
mod conditions;
#[path = "../cli/demo.rs"]
#[allow(dead_code)]
mod demo;
mod early_evaluation;
mod ephemeral;
mod expressions;
mod files;
mod functions;
mod harness;
mod lifecycle;
mod planning;
mod provider_for_each;
mod provider_meta;
mod refactoring;
mod types;
mod validation;
mod variables;

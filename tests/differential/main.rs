//! Random expressions and configurations, given to gpuform and to the `terraform` 1.11.4 in PATH: both must accept and
//! refuse the same, and give the same values, plans and states. Where that program is missing, nothing is compared.
//!
//! `DIFFERENTIAL` sets how much is compared, as in `DIFFERENTIAL="expressions=20000 configurations=500 seed=7"`. What
//! differs is made smaller as long as it still differs, and printed with both answers; `differences=20` is how many at
//! most are made smaller. By default 150 expressions and 24 configurations are compared. `DIFFERENTIAL_BIN` names another
//! executable of gpuform than the one just built. `known.rs` lists the differences that are meant to be.

#![allow(clippy::unwrap_used)]

mod batch;
mod configurations;
mod deployment;
mod dice;
mod expressions;
mod functions;
mod known;
mod pools;
mod program;
mod report;
mod tree;

use batch::Stage;
use configurations::Configurations;
use dice::Dice;
use expressions::Expressions;
use report::Report;
use std::collections::HashMap;

/// How much is compared.
struct Amount {
    expressions: usize,
    configurations: usize,
    seed: u64,
    /// How many differences are made small.
    differences: usize,
}

impl Amount {
    fn of_environment() -> Amount {
        let text = std::env::var("DIFFERENTIAL").unwrap_or_default();
        let given: HashMap<&str, u64> =
            text.split_whitespace().filter_map(|w| w.split_once('=')).map(|(k, v)| (k, v.parse().unwrap())).collect();
        let number = |name: &str, default: u64| given.get(name).copied().unwrap_or(default);
        Amount {
            expressions: number("expressions", 150) as usize,
            configurations: number("configurations", 24) as usize,
            seed: number("seed", 1),
            differences: number("differences", 20) as usize,
        }
    }
}

#[test]
fn expressions_mean_the_same() {
    if !program::terraform_is_here() {
        return;
    }
    let amount = Amount::of_environment();
    let mut report = Report::new(amount.differences);
    let size = 150;
    for (round, start) in (0..amount.expressions).step_by(size).enumerate() {
        let end = (start + size).min(amount.expressions);
        let trees = (start..end).map(|i| Expressions::new(Dice::new(amount.seed, i as u64)).any()).collect();
        let until = match round % 20 {
            1 => Stage::Apply,
            6 => Stage::Plan,
            _ => Stage::Console,
        };
        report.compare_expressions(trees, until);
    }
    report.finish();
}

#[test]
fn configurations_do_the_same() {
    if !program::terraform_is_here() {
        return;
    }
    let amount = Amount::of_environment();
    let mut report = Report::new(amount.differences);
    let size = 12;
    for start in (0..amount.configurations).step_by(size) {
        let end = (start + size).min(amount.configurations);
        let made = (start..end).map(|i| Configurations::make(Dice::new(amount.seed, (1 << 32) + i as u64))).collect();
        report.compare_configurations(made);
    }
    report.finish();
}

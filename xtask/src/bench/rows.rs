//! What is measured, and what is aimed at: one row of the table each.

use crate::bench::inputs::{self, Input};

/// One line of the table.
pub struct Row {
    /// For `--only`.
    pub name: &'static str,
    /// With `{n}` for the size.
    pub title: &'static str,
    pub input: Input,
    pub size: u32,
    pub quick: u32,
    /// Commands of gpuform that make the starting point for both programs.
    pub seed: &'static [&'static [&'static str]],
    /// Commands that each program runs before it is measured.
    pub before: &'static [&'static [&'static str]],
    pub command: &'static [&'static str],
    /// Whether Terraform is measured too; it would take too long for some sizes.
    pub terraform: bool,
    /// What `provider-alone` is asked for, where that bounds the row.
    pub alone: Option<&'static str>,
    pub target: Target,
}

/// What a row aims at.
#[derive(Clone, Copy)]
pub enum Target {
    /// So many times faster than Terraform.
    Faster(f64),
    /// So many times faster, and within this factor of the provider alone.
    NearAlone(f64, f64),
    /// So many times faster, with this share of its memory.
    FasterInMemory(f64, f64),
    /// Milliseconds.
    Within(u64),
    /// The time per resource stays within this factor of the row that is named.
    Linear { like: &'static str, factor: f64 },
    /// As `Linear`; besides, in so many seconds and bytes.
    LinearWithin { like: &'static str, factor: f64, seconds: u64, memory: u64 },
    /// Measured for comparison with other rows.
    None,
}

const GIB: u64 = 1 << 30;
const APPLY: &[&str] = &["apply", "-auto-approve", "-input=false", "-no-color"];
const PLAN: &[&str] = &["plan", "-input=false", "-no-color"];
const SAVE_PLAN: &[&str] = &["plan", "-input=false", "-no-color", "-out=saved.plan"];
const INIT: &[&str] = &["init", "-input=false", "-no-color"];

const fn row(name: &'static str, title: &'static str, input: Input, size: u32, quick: u32) -> Row {
    Row {
        name,
        title,
        input,
        size,
        quick,
        seed: &[],
        before: &[],
        command: PLAN,
        terraform: true,
        alone: None,
        target: Target::None,
    }
}

/// All rows, in the order of the table.
pub fn all() -> Vec<Row> {
    let linear = |factor| Target::Linear { like: "apply-10000", factor };
    let large = Target::LinearWithin { like: "apply-10000", factor: 1.3, seconds: 15, memory: GIB + GIB / 2 };
    let apply_alone = |name, size, quick, target| Row {
        command: APPLY,
        terraform: false,
        target,
        ..row(name, "apply, {n} `terraform_data`", inputs::chains, size, quick)
    };
    vec![
        Row {
            command: &["validate", "-no-color"],
            target: Target::Faster(15.0),
            ..row("validate", "validate, {n} resources", inputs::chains, 10_000, 2_000)
        },
        Row {
            target: Target::FasterInMemory(40.0, 0.25),
            ..row("plan", "plan (create), {n} `terraform_data`", inputs::chains, 10_000, 2_000)
        },
        Row {
            command: APPLY,
            target: Target::Faster(300.0),
            ..row("apply", "apply, {n} `terraform_data`", inputs::chains, 2_000, 300)
        },
        apply_alone("apply-10000", 10_000, 2_000, Target::None),
        apply_alone("apply-50000", 50_000, 5_000, linear(1.3)),
        apply_alone("apply-100000", 100_000, 10_000, large),
        Row {
            seed: &[APPLY],
            target: Target::Faster(40.0),
            ..row("no-changes", "plan without changes, {n} in the state", inputs::chains, 10_000, 1_000)
        },
        Row {
            alone: Some("plan"),
            target: Target::NearAlone(2.0, 1.3),
            ..row("provider-plan", "plan, {n} instances of a plugin process", inputs::things, 1_000, 1_000)
        },
        Row {
            command: APPLY,
            alone: Some("apply"),
            target: Target::NearAlone(5.0, 1.3),
            ..row("provider-apply", "apply, {n} instances of a plugin process", inputs::things, 1_000, 300)
        },
        Row {
            seed: &[APPLY],
            alone: Some("refresh"),
            target: Target::NearAlone(2.0, 1.3),
            ..row("provider-refresh", "plan without changes, {n} of a plugin process", inputs::things, 1_000, 1_000)
        },
        Row {
            before: &[INIT],
            target: Target::Faster(40.0),
            ..row("modules", "plan, {n} modules × 50 resources, nested 4 deep", inputs::modules, 200, 40)
        },
        Row {
            target: Target::Faster(20.0),
            ..row("count", "plan, one block with `count = {n}`", inputs::count, 20_000, 2_000)
        },
        Row {
            target: Target::Faster(20.0),
            ..row("for-each", "plan, a map of {n} through `for_each`", inputs::for_each, 20_000, 2_000)
        },
        Row {
            target: Target::Faster(20.0),
            ..row("locals", "plan, locals that transform {n} elements", inputs::locals, 100_000, 20_000)
        },
        Row { command: &["version"], target: Target::Within(10), ..row("version", "`version`", inputs::empty, 0, 0) },
        Row {
            command: &["validate", "-no-color"],
            target: Target::Within(10),
            ..row("validate-empty", "`validate` of an empty folder", inputs::empty, 0, 0)
        },
        Row {
            seed: &[APPLY],
            command: &["state", "mv", "terraform_data.r5", "terraform_data.moved"],
            target: Target::Faster(10.0),
            ..row("state-mv", "`state mv` in a state of {n} objects, 2.5 kB each", inputs::bulky, 20_000, 4_000)
        },
        Row {
            seed: &[APPLY],
            command: &["state", "rm", "terraform_data.r5"],
            target: Target::Faster(10.0),
            ..row("state-rm", "`state rm` in a state of {n} objects, 2.5 kB each", inputs::bulky, 20_000, 4_000)
        },
        Row {
            before: &[SAVE_PLAN],
            command: &["show", "-json", "saved.plan"],
            target: Target::Faster(10.0),
            ..row("show-json", "`show -json` of a plan with {n} changes", inputs::chains, 10_000, 1_000)
        },
    ]
}

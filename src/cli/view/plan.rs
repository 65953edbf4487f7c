//! A plan for people: each change with its reason and its difference, what changed outside of gpuform, the outputs,
//! and the summary line.

pub mod diff;

use crate::addr::{AbsResource, ResourceInstance};
use crate::cli::context::Style;
use crate::cli::view::visible::{self, padded};
use crate::cli::view::{Next, copies};
use crate::config::model::Config;
use crate::engine::plan::{Action, ActionReason, OutputChange, Plan, PlanMode, RelevantAttribute, ResourceChange};
use diff::{Mark, Paint, Writer};
use gpuform_schema::{Marks, Path, Value};
use std::fmt::Write as _;

const RULE: &str = "─────────────────────────────────────────────────────────────────────────────";

/// The whole plan as text.
pub fn render(plan: &Plan, _config: &Config, style: Style, next: Next<'_>) -> String {
    let paint = Paint(style.color);
    let shown: Vec<&ResourceChange> = plan.changes.iter().map(|c| &**c).filter(|c| is_shown(c)).collect();
    let mut out = String::with_capacity(shown.len() * 256);
    let output_changes: Vec<(&str, &OutputChange)> =
        plan.outputs.iter().filter(|(_, o)| o.action != Action::NoOp).map(|(n, o)| (&**n, o)).collect();
    drift(plan, paint, &mut out);
    if shown.is_empty() && output_changes.is_empty() {
        nothing(plan, &mut out);
        return out;
    }
    if plan.mode == PlanMode::RefreshOnly {
        out.push_str(
            "\nThis is a refresh-only plan: applying it changes no objects, but brings the state up to date with the changes \
             above.\n",
        );
    }
    if !shown.is_empty() {
        legend(&shown, paint, &mut out);
        out.push_str(if plan.errored {
            "\nPlanning failed. These changes were planned before the error:\n"
        } else {
            "\ngpuform will perform the following actions:\n"
        });
        for c in &shown {
            change(c, paint, &mut out);
        }
    }
    if !shown.is_empty() || plan.mode != PlanMode::RefreshOnly && plan.counts() != Default::default() {
        let _ = write!(out, "\n{}\n", summary(plan, paint));
    }
    if !output_changes.is_empty() {
        let _ = write!(out, "\n{}Changes to Outputs:{}\n", paint.code("\x1b[1m"), paint.code("\x1b[0m"));
        // Aligned with those that do not change, too.
        let width = plan.outputs.keys().map(|n| n.chars().count()).max().unwrap_or(0);
        outputs(&output_changes, width, paint, &mut out);
        if shown.is_empty() {
            out.push_str(
                "\nYou can apply this plan to save these new output values to the state, without changing any real \
                 infrastructure.\n",
            );
        }
    }
    match next {
        Next::Unsaved if !plan.errored => {
            let _ = write!(
                out,
                "\n{RULE}\n\nThe plan was not saved (-out): an apply makes a new one, which may differ if something changes in \
                 between.\n"
            );
        }
        Next::Saved(path) if !plan.errored => {
            let _ = write!(
                out,
                "\n{RULE}\n\nSaved the plan to: {path}\n\nTo perform exactly these actions, run:\n    gpuform apply {path:?}\n"
            );
        }
        _ => {}
    }
    out
}

fn is_shown(c: &ResourceChange) -> bool {
    match c.action {
        Action::NoOp => c.is_moved() || c.importing.is_some(),
        _ => true,
    }
}

fn nothing(plan: &Plan, out: &mut String) {
    if plan.errored {
        out.push_str("\nPlanning failed before any change was planned.\n");
        return;
    }
    out.push_str(match plan.mode {
        PlanMode::Destroy => {
            "\nNo changes. No objects need to be destroyed.\n\nEither you have not created any objects yet or the existing objects \
             were already deleted outside of gpuform.\n"
        }
        PlanMode::RefreshOnly if !plan.drift.is_empty() => {
            "\nApplying this refresh-only plan updates the state to match the changes above; no objects are changed.\n"
        }
        PlanMode::RefreshOnly => {
            "\nNo changes. Your infrastructure still matches the configuration.\n\nThe state agrees with what exists.\n"
        }
        PlanMode::Normal => {
            "\nNo changes. Your infrastructure matches the configuration.\n\nWhat exists was compared with the configuration, and no \
             differences were found, so there is nothing to do.\n"
        }
    });
}

/// Changes made outside of gpuform. In a normal plan only those that matter for it.
fn drift(plan: &Plan, paint: Paint, out: &mut String) {
    let of_resource = |r: &RelevantAttribute| Some(r.resource.parse::<ResourceInstance>().ok()?.abs_resource());
    let relevant: std::collections::HashSet<AbsResource> =
        plan.relevant_attributes.iter().filter_map(of_resource).collect();
    let shown: Vec<&ResourceChange> = plan
        .drift
        .iter()
        .filter(|d| plan.mode == PlanMode::RefreshOnly || relevant.contains(&d.addr.abs_resource()))
        .collect();
    if shown.is_empty() {
        return;
    }
    let _ = write!(
        out,
        "\n{0}Note:{1} Objects have changed outside of gpuform\n\nThese objects are not as the last apply left them; the changes may \
         have an effect on this plan:\n",
        paint.code("\x1b[1m"),
        paint.code("\x1b[0m")
    );
    for c in shown {
        let what = match c.action {
            Action::Delete => format!("{} has been deleted", c.addr),
            Action::NoOp => format!("{} has moved to {}", c.prev_addr, c.addr),
            _ => format!("{} has changed", c.addr),
        };
        let _ = write!(out, "\n  {}# {what}{}\n", paint.code("\x1b[1m"), paint.code("\x1b[0m"));
        body(c, c.action, paint, out);
    }
}

fn legend(changes: &[&ResourceChange], paint: Paint, out: &mut String) {
    out.push_str("\nThe plan has these kinds of actions:\n");
    let has = |a: Action| changes.iter().any(|c| c.action == a);
    for (action, text) in [
        (Action::Create, "create"),
        (Action::Update, "update in-place"),
        (Action::Delete, "destroy"),
        (Action::DeleteThenCreate, "destroy and then create replacement"),
        (Action::CreateThenDelete, "create replacement and then destroy"),
        (Action::Read, "read (data resources)"),
    ] {
        if has(action) {
            let _ = writeln!(out, "{} {text}", symbol(action, paint));
        }
    }
}

/// The symbol of an action, three characters wide but for objects that are left alone.
fn symbol(action: Action, paint: Paint) -> String {
    let (g, r, y, c, reset) = (
        paint.code("\x1b[32m"),
        paint.code("\x1b[31m"),
        paint.code("\x1b[33m"),
        paint.code("\x1b[36m"),
        paint.code("\x1b[0m"),
    );
    match action {
        Action::Create => format!("  {g}+{reset}"),
        Action::Update => format!("  {y}~{reset}"),
        Action::Delete => format!("  {r}-{reset}"),
        Action::DeleteThenCreate => format!("{r}-{reset}/{g}+{reset}"),
        Action::CreateThenDelete => format!("{g}+{reset}/{r}-{reset}"),
        Action::Read => format!(" {c}<={reset}"),
        Action::Forget => format!(" {r}.{reset}"),
        Action::NoOp => "   ".into(),
    }
}

fn change(c: &ResourceChange, paint: Paint, out: &mut String) {
    let (bold, reset) = (paint.code("\x1b[1m"), paint.code("\x1b[0m"));
    let red = |text: &str| format!("{}{}{text}{reset}{bold}", paint.code("\x1b[1m"), paint.code("\x1b[31m"));
    let addr = match c.deposed {
        Some(key) => format!("{} (deposed object {key})", c.addr),
        None => c.addr.to_string(),
    };
    let mut notes: Vec<String> = Vec::new();
    let headline = match c.action {
        Action::Create => format!("{addr} will be created"),
        Action::Read => {
            notes.push(match c.reason {
                ActionReason::ReadBecauseDependencyPending => {
                    "(depends on a resource or a module with changes pending)".into()
                }
                ActionReason::ReadBecauseCheckNested => "(config will be reloaded to verify a check block)".into(),
                _ => "(config refers to values not yet known)".into(),
            });
            format!("{addr} will be read during apply")
        }
        Action::Update => format!("{addr} will be updated in-place"),
        Action::DeleteThenCreate | Action::CreateThenDelete => match c.reason {
            ActionReason::ReplaceBecauseTainted => format!("{addr} is tainted, so must be {}", red("replaced")),
            ActionReason::ReplaceByRequest => format!("{addr} will be {}, as requested", red("replaced")),
            ActionReason::ReplaceByTriggers => {
                format!("{addr} will be {} due to changes in replace_triggered_by", red("replaced"))
            }
            _ => format!("{addr} must be {}", red("replaced")),
        },
        Action::Delete => {
            notes.extend(delete_note(c));
            format!("{addr} will be {}", red("destroyed"))
        }
        Action::Forget => {
            notes.push("(destroy = false is set in the configuration)".into());
            format!("{addr} will no longer be managed by gpuform, but will not be destroyed")
        }
        Action::NoOp if c.importing.is_some() => format!("{addr} will be imported"),
        Action::NoOp => format!("{} has moved to {addr}", c.prev_addr),
    };
    let indent = if c.action == Action::Forget { " " } else { "  " };
    let _ = write!(out, "\n{indent}{bold}# {headline}{reset}\n");
    for note in notes {
        let _ = writeln!(out, "{indent}# {note}");
    }
    if c.is_moved() && c.action != Action::NoOp {
        let _ = writeln!(out, "  # (moved from {})", c.prev_addr);
    }
    if let Some(i) = c.importing.as_ref().filter(|_| c.action != Action::NoOp) {
        let _ = writeln!(out, "  # (imported from \"{}\")", visible::text(&i.id));
    }
    if c.generated_config.is_some() && c.action == Action::NoOp {
        out.push_str("  # (config will be generated)\n");
    }
    body(c, c.action, paint, out);
}

fn delete_note(c: &ResourceChange) -> Option<String> {
    Some(match c.reason {
        ActionReason::DeleteBecauseNoResourceConfig => format!("(because {} is not in configuration)", c.addr.resource),
        ActionReason::DeleteBecauseNoMoveTarget => {
            format!("(because {} was moved to {}, which is not in configuration)", c.prev_addr, c.addr)
        }
        ActionReason::DeleteBecauseNoModule => format!("(because {} is not in configuration)", c.addr.module),
        ActionReason::DeleteBecauseWrongRepetition if c.addr.key.is_none() => {
            "(because resource uses count or for_each)".into()
        }
        ActionReason::DeleteBecauseWrongRepetition => match c.addr.key {
            crate::addr::InstanceKey::Int(_) => "(because resource does not use count)".into(),
            _ => "(because resource does not use for_each)".into(),
        },
        ActionReason::DeleteBecauseCountIndex => format!("(because index {} is out of range for count)", c.addr.key),
        ActionReason::DeleteBecauseEachKey => format!("(because key {} is not in for_each map)", c.addr.key),
        _ if c.deposed.is_some() => "(left over from a partially-failed replacement of this instance)".into(),
        _ => return None,
    })
}

/// The difference of one object in its braces.
fn body(c: &ResourceChange, action: Action, paint: Paint, out: &mut String) {
    let keyword = match c.addr.resource.mode {
        crate::addr::Mode::Data => "data",
        crate::addr::Mode::Ephemeral => "ephemeral",
        crate::addr::Mode::Managed => "resource",
    };
    let _ =
        writeln!(out, "{} {keyword} \"{}\" \"{}\" {{", symbol(action, paint), c.addr.resource.ty, c.addr.resource.name);
    let null = Value::null();
    let (before, after) = match action {
        Action::Forget => (&c.before, &c.before),
        Action::Read => (&null, &c.after),
        Action::Delete => (&c.before, &null),
        _ => (&c.before, &c.after),
    };
    let (before, after) = copies::hide_change(&c.addr.resource, before, after);
    let mut writer = Writer {
        out: std::mem::take(out),
        paint,
        forces: &c.required_replace,
        deleting: matches!(action, Action::Delete),
        whole: c.importing.is_some(),
    };
    writer.block(&c.schema.block, &before, &after, 6, &Path::root());
    *out = writer.out;
    out.push_str("    }\n");
}

/// `Plan: 1 to add, 0 to change, 2 to destroy.`
pub fn summary(plan: &Plan, paint: Paint) -> String {
    let n = plan.counts();
    let import = if n.import > 0 { format!("{} to import, ", n.import) } else { String::new() };
    format!(
        "{}Plan:{} {import}{} to add, {} to change, {} to destroy.",
        paint.code("\x1b[1m"),
        paint.code("\x1b[0m"),
        n.add,
        n.change,
        n.destroy
    )
}

fn outputs(changes: &[(&str, &OutputChange)], width: usize, paint: Paint, out: &mut String) {
    let mut writer = Writer { out: std::mem::take(out), paint, forces: &[], deleting: false, whole: false };
    for (name, o) in changes {
        let mark = match o.action {
            Action::Create => Mark::Add,
            Action::Delete => Mark::Remove,
            _ if o.after.unmark().0.is_null() => Mark::Remove,
            _ => Mark::Change,
        };
        let label = format!("{} = ", padded(name, width));
        writer.deleting = mark == Mark::Remove;
        let hide = |v: &Value| {
            let v = diff::untyped(v);
            if o.sensitive { v.with_marks(Marks::SENSITIVE) } else { v }
        };
        let (before, after) = (hide(&o.before), hide(&o.after));
        writer.value(&label, &before, &after, mark, 2, &Path::root(), "");
    }
    *out = writer.out;
}

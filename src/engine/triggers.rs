//! `replace_triggered_by`: what an entry refers to, and whether a planned change counts.

use crate::addr::InstanceKey;
use crate::diag::{Diagnostic, Result};
use crate::engine::plan::{Action, ResourceChange};
use crate::lang::scope::Scope;
use crate::lang::syntax::{Expr, ExprKind, Slot, StepKind, Target};
use gpuform_schema::{Path, Step, Value};

/// What one entry names.
pub struct Reference {
    pub slot: Slot,
    /// All instances where there is none.
    pub key: Option<InstanceKey>,
    /// The part of the object; the root for all of it.
    pub path: Path,
}

/// Resolves an entry; `None` where it names nothing that can change.
///
/// # Errors
/// When the entry is not a reference to a resource, or its index cannot be used.
pub fn resolve(e: &Expr, scope: &dyn Scope) -> Result<Option<Reference>> {
    let ExprKind::Traversal(t) = &e.kind else {
        return Err(Box::new(
            Diagnostic::error(
                "Invalid replace_triggered_by expression",
                "Each entry must be a reference to a resource of this module, one of its instances, or one of its \
                 attributes.",
            )
            .at(e.range),
        ));
    };
    let Target::Resource(slot) = t.target else { return Ok(None) };
    let mut key = None;
    let mut path = Path::root();
    for (n, step) in t.steps.iter().skip(t.consumed as usize).enumerate() {
        let value = match &step.kind {
            StepKind::Attr(a) => {
                path = path.attr(a.clone());
                continue;
            }
            StepKind::LegacyIndex(i) => Value::number(*i),
            StepKind::Index(e) => e.eval(scope)?,
            StepKind::Splat { .. } => Value::null(),
        };
        let step = match value.unmark().0 {
            Value::Number(i) => i.as_u64().map(Step::Index),
            Value::String(s) => Some(Step::Key(s.clone())),
            _ => None,
        };
        let Some(step) = step else {
            return Err(Box::new(
                Diagnostic::error(
                    "Invalid replace_triggered_by expression",
                    "An index here must be a known number or string.",
                )
                .at(e.range),
            ));
        };
        match step {
            Step::Index(i) if n == 0 => key = Some(InstanceKey::Int(i)),
            Step::Key(k) if n == 0 => key = Some(InstanceKey::String(k)),
            step => path = path.child(step),
        }
    }
    Ok(Some(Reference { slot, key, path }))
}

/// Whether a change concerns the part at `path`.
pub fn is_trigger(change: &ResourceChange, path: &Path) -> bool {
    if !matches!(change.action, Action::Update | Action::DeleteThenCreate | Action::CreateThenDelete) {
        return false;
    }
    path.is_root() || path.get(&change.before) != path.get(&change.after)
}

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

/// Resolves an entry.
///
/// # Errors
/// When the entry is not a reference to a resource that is declared, or its index cannot be used.
pub fn resolve(e: &Expr, scope: &dyn Scope) -> Result<Reference> {
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
    let Target::Resource(slot) = t.target else {
        let detail = "A trigger must be a resource of this module that exists.";
        return Err(Box::new(Diagnostic::error("Reference to undeclared resource", detail).at(e.range)));
    };
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
    Ok(Reference { slot, key, path })
}

impl Reference {
    /// Whether it means the instance with this key.
    pub fn covers(&self, key: &InstanceKey) -> bool {
        match &self.key {
            Some(k) => k == key,
            None => self.path.is_root() || key.is_none(),
        }
    }

    /// Whether an instance must be there: a resource as a whole may have none.
    pub fn wants_instance(&self) -> bool {
        self.key.is_some() || !self.path.is_root()
    }
}

/// Whether a change concerns the part at `path`.
pub fn is_trigger(change: &ResourceChange, path: &Path) -> bool {
    if !matches!(change.action, Action::Update | Action::DeleteThenCreate | Action::CreateThenDelete) {
        return false;
    }
    path.is_root() || path.get(&change.before) != path.get(&change.after)
}

//! The plan: what the planner decided, as data. The executor carries it out, the views show it, and `plan_file`
//! saves it; nothing here computes.

use crate::addr::{AbsProviderConfig, ConfigResource, Provider, ResourceInstance, Target};
use crate::engine::generate::Generated;
use crate::engine::program::Prepared;
use crate::plugin::Private;
use crate::state::{CheckResult, DeposedKey, OutputValue, State};
use gpuform_schema::schema::Schema;
use gpuform_schema::{Marks, Path, Str, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What kind of plan was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PlanMode {
    #[default]
    Normal,
    /// `-destroy`
    Destroy,
    /// `-refresh-only`
    RefreshOnly,
}

/// What will happen to one object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Action {
    NoOp,
    Create,
    /// A data source that is read during apply.
    Read,
    Update,
    /// Destroy first, then create.
    DeleteThenCreate,
    /// Create the new object before the old one is destroyed.
    CreateThenDelete,
    Delete,
    /// Remove from the state only.
    Forget,
}

impl Action {
    pub fn is_replace(self) -> bool {
        matches!(self, Action::DeleteThenCreate | Action::CreateThenDelete)
    }
}

/// Why an action was chosen, where that is not plain from the configuration.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ActionReason {
    #[default]
    None,
    ReplaceBecauseTainted,
    ReplaceByRequest,
    ReplaceBecauseCannotUpdate,
    ReplaceByTriggers,
    DeleteBecauseNoResourceConfig,
    DeleteBecauseWrongRepetition,
    DeleteBecauseCountIndex,
    DeleteBecauseEachKey,
    DeleteBecauseNoModule,
    DeleteBecauseNoMoveTarget,
    ReadBecauseConfigUnknown,
    ReadBecauseDependencyPending,
    ReadBecauseCheckNested,
}

impl ActionReason {
    /// The word in plan JSON; `None` where the key is left out.
    pub fn as_str(self) -> Option<&'static str> {
        Some(match self {
            ActionReason::None => return None,
            ActionReason::ReplaceBecauseTainted => "replace_because_tainted",
            ActionReason::ReplaceByRequest => "replace_by_request",
            ActionReason::ReplaceBecauseCannotUpdate => "replace_because_cannot_update",
            ActionReason::ReplaceByTriggers => "replace_by_triggers",
            ActionReason::DeleteBecauseNoResourceConfig => "delete_because_no_resource_config",
            ActionReason::DeleteBecauseWrongRepetition => "delete_because_wrong_repetition",
            ActionReason::DeleteBecauseCountIndex => "delete_because_count_index",
            ActionReason::DeleteBecauseEachKey => "delete_because_each_key",
            ActionReason::DeleteBecauseNoModule => "delete_because_no_module",
            ActionReason::DeleteBecauseNoMoveTarget => "delete_because_no_move_target",
            ActionReason::ReadBecauseConfigUnknown => "read_because_config_unknown",
            ActionReason::ReadBecauseDependencyPending => "read_because_dependency_pending",
            ActionReason::ReadBecauseCheckNested => "read_because_check_nested",
        })
    }
}

/// A planned change of one object. Values are of the schema's type; sensitive parts (by configuration or schema) are
/// marked.
#[derive(Clone, Debug)]
pub struct ResourceChange {
    pub addr: ResourceInstance,
    /// Where the object was before a `moved` block; otherwise the same as `addr`.
    pub prev_addr: ResourceInstance,
    pub deposed: Option<DeposedKey>,
    pub provider: AbsProviderConfig,
    pub action: Action,
    pub reason: ActionReason,
    /// Null for a create.
    pub before: Value,
    /// Null for a delete; unknown where known after apply.
    pub after: Value,
    /// The attributes that force the replacement.
    pub required_replace: Vec<Path>,
    pub planned_private: Private,
    pub importing: Option<Importing>,
    /// HCL text made for an imported object that has no configuration.
    pub generated_config: Option<String>,
    pub schema: Arc<Schema>,
    /// The resources that the object depends on, for its state.
    pub dependencies: Arc<[ConfigResource]>,
    pub create_before_destroy: bool,
}

impl ResourceChange {
    /// What changes are listed by: shallow modules come first, then the address decides.
    pub fn order(&self) -> (usize, &ResourceInstance, Option<DeposedKey>) {
        (self.addr.module.0.len(), &self.addr, self.deposed)
    }

    pub fn is_moved(&self) -> bool {
        self.addr != self.prev_addr
    }
}

#[derive(Clone, PartialEq, Debug)]
pub struct Importing {
    pub id: String,
}

/// A change of a root module output.
#[derive(Clone, PartialEq, Debug)]
pub struct OutputChange {
    /// `Create`, `Update`, `Delete` or `NoOp`.
    pub action: Action,
    /// Null of dynamic type where there was none.
    pub before: Value,
    pub after: Value,
    pub sensitive: bool,
}

/// An attribute that contributed to a planned value: changes outside gpuform are shown only for these.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct RelevantAttribute {
    /// Printed address of the resource, with an instance key where one was given.
    pub resource: Str,
    pub path: Path,
}

/// A complete plan.
#[derive(Clone, Debug)]
pub struct Plan {
    pub mode: PlanMode,
    /// Values of root variables given from outside (not defaults), as given: not converted to their types yet.
    pub variables: BTreeMap<Str, Value>,
    /// In the order of [`ResourceChange::order`]; no-ops included.
    pub changes: Vec<Arc<ResourceChange>>,
    /// Changes made outside of gpuform, found by refreshing. `after` is what is there now.
    pub drift: Vec<ResourceChange>,
    /// Configuration made for imported objects, in the order of their `import` blocks. Saved plans have it only with
    /// the changes.
    pub generated: Vec<Generated>,
    pub outputs: BTreeMap<Str, OutputChange>,
    /// The state after refreshing, moves applied: what the changes start from.
    pub prior_state: State,
    /// The state as it was stored, moves not applied.
    pub previous_state: State,
    pub checks: Vec<CheckResult>,
    pub relevant_attributes: Vec<RelevantAttribute>,
    pub targets: Vec<Target>,
    pub excludes: Vec<Target>,
    pub force_replace: Vec<ResourceInstance>,
    /// The value of `plantimestamp()`, in RFC 3339 form.
    pub timestamp: String,
    /// Planning ended with errors: the plan is partial and cannot be applied.
    pub errored: bool,
    /// `false` where targets or errors left something out.
    pub complete: bool,
    /// Providers that the configuration or the state needs.
    pub providers: Vec<Provider>,
    /// What the plan was made with; a saved plan has it no more.
    pub prepared: Option<Prepared>,
}

/// How many objects a plan or apply touches, as in the summary line.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    pub add: usize,
    pub change: usize,
    pub destroy: usize,
    pub import: usize,
    pub forget: usize,
}

impl Plan {
    /// What the summary line counts: a replacement adds one and destroys one.
    pub fn counts(&self) -> Counts {
        let mut c = Counts::default();
        for change in &self.changes {
            c.import += usize::from(change.importing.is_some());
            match change.action {
                Action::Create => c.add += 1,
                Action::Update => c.change += 1,
                Action::DeleteThenCreate | Action::CreateThenDelete => {
                    c.add += 1;
                    c.destroy += 1;
                }
                Action::Delete => c.destroy += 1,
                Action::Forget => c.forget += 1,
                Action::NoOp | Action::Read => {}
            }
        }
        c
    }

    /// The outputs that an apply starts with: those that are known already have their new values. They keep them also
    /// where what they depend on fails.
    pub fn known_outputs(&self) -> BTreeMap<Str, OutputValue> {
        let mut outputs = self.prior_state.outputs.clone();
        if self.mode == PlanMode::Destroy {
            return outputs;
        }
        for (name, o) in self.outputs.iter().filter(|(_, o)| matches!(o.action, Action::Create | Action::Update)) {
            let value = o.after.unmark_deep(&mut Marks::default());
            if value.is_null() {
                outputs.remove(name);
            } else if value.is_wholly_known() {
                outputs.insert(name.clone(), OutputValue { value, sensitive: o.sensitive });
            }
        }
        outputs
    }

    /// Whether applying would do anything at all (changes, moves, imports, output changes, or a refreshed state to
    /// store).
    pub fn applyable(&self) -> bool {
        if self.errored {
            return false;
        }
        if self.mode == PlanMode::RefreshOnly {
            return self.drift.iter().any(|d| d.action != Action::NoOp) || self.outputs.values().any(is_change);
        }
        self.has_changes()
    }

    /// Whether there is anything that `-detailed-exitcode` reports as a difference.
    pub fn has_changes(&self) -> bool {
        self.changes.iter().any(|c| c.action != Action::NoOp || c.is_moved() || c.importing.is_some())
            || self.outputs.values().any(is_change)
    }
}

fn is_change(o: &OutputChange) -> bool {
    o.action != Action::NoOp
}

//! Results of conditions and checks, collected while a walk goes on and stored in the state.

use crate::addr::{ModuleInstance, ResourceInstance};
use crate::state::{CheckKind, CheckObject, CheckResult, CheckStatus};
use gpuform_schema::Str;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Mutex;

/// An object with conditions.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Checkable {
    pub kind: CheckKind,
    /// The declaration.
    pub config: Str,
    /// The instance.
    pub object: Str,
}

impl Checkable {
    fn new(kind: CheckKind, module: &ModuleInstance, what: &dyn Display) -> Checkable {
        let within = |m: &dyn Display, root: bool| if root { what.to_string() } else { format!("{m}.{what}") };
        let root = module.is_root();
        Checkable { kind, config: within(&module.module(), root).into(), object: within(module, root).into() }
    }

    pub fn variable(module: &ModuleInstance, name: &str) -> Checkable {
        Checkable::new(CheckKind::Variable, module, &format!("var.{name}"))
    }

    pub fn output(module: &ModuleInstance, name: &str) -> Checkable {
        Checkable::new(CheckKind::Output, module, &format!("output.{name}"))
    }

    pub fn check(module: &ModuleInstance, name: &str) -> Checkable {
        Checkable::new(CheckKind::Check, module, &format!("check.{name}"))
    }

    pub fn resource(addr: &ResourceInstance) -> Checkable {
        Checkable {
            kind: CheckKind::Resource,
            config: addr.config().to_string().into(),
            object: addr.to_string().into(),
        }
    }
}

#[derive(Default)]
struct Entry {
    statuses: Vec<CheckStatus>,
    messages: Vec<Str>,
}

/// What was found so far.
#[derive(Default)]
pub struct CheckLog {
    objects: Mutex<BTreeMap<Checkable, Entry>>,
    /// Declarations, also those without instances.
    declared: Mutex<BTreeMap<(CheckKind, Str), ()>>,
}

fn worst(statuses: impl Iterator<Item = CheckStatus>) -> CheckStatus {
    let rank = |s: &CheckStatus| match s {
        CheckStatus::Pass => 0,
        CheckStatus::Unknown => 1,
        CheckStatus::Fail => 2,
        CheckStatus::Error => 3,
    };
    statuses.max_by_key(rank).unwrap_or(CheckStatus::Unknown)
}

impl CheckLog {
    /// Records the result of one condition of an object.
    pub fn record(&self, subject: &Checkable, status: CheckStatus, message: Option<Str>) {
        let mut objects = self.objects.lock().unwrap_or_else(|e| e.into_inner());
        let entry = objects.entry(subject.clone()).or_default();
        entry.statuses.push(status);
        entry.messages.extend(message);
    }

    /// Says that an object with conditions is declared, whether or not it has instances.
    pub fn declare(&self, kind: CheckKind, config: impl Into<Str>) {
        self.declared.lock().unwrap_or_else(|e| e.into_inner()).insert((kind, config.into()), ());
    }

    /// Everything recorded, by declaration.
    pub fn results(&self) -> Vec<CheckResult> {
        let objects = self.objects.lock().unwrap_or_else(|e| e.into_inner());
        let declared = self.declared.lock().unwrap_or_else(|e| e.into_inner());
        let mut by_config: BTreeMap<(CheckKind, Str), Vec<CheckObject>> =
            declared.keys().map(|k| (k.clone(), Vec::new())).collect();
        for (subject, entry) in objects.iter() {
            by_config.entry((subject.kind, subject.config.clone())).or_default().push(CheckObject {
                addr: subject.object.clone(),
                status: worst(entry.statuses.iter().copied()),
                failure_messages: entry.messages.clone(),
            });
        }
        by_config
            .into_iter()
            .map(|((kind, config_addr), objects)| CheckResult {
                kind,
                config_addr,
                status: if objects.is_empty() { CheckStatus::Pass } else { worst(objects.iter().map(|o| o.status)) },
                objects,
            })
            .collect()
    }
}

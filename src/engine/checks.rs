//! Results of conditions and checks, collected while a walk goes on and stored in the state.

use crate::addr::{ModuleInstance, ResourceInstance};
use crate::state::{CheckKind, CheckObject, CheckResult, CheckStatus};
use gpuform_schema::Str;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::{Mutex, MutexGuard};

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

/// The conditions of one object.
#[derive(Default)]
struct Entry {
    /// How many there are.
    conditions: usize,
    statuses: Vec<CheckStatus>,
    messages: Vec<Str>,
}

impl Entry {
    fn status(&self) -> CheckStatus {
        let open = if self.statuses.len() < self.conditions { Some(CheckStatus::Unknown) } else { None };
        worst(self.statuses.iter().copied().chain(open)).unwrap_or(CheckStatus::Unknown)
    }
}

/// The instances of one declaration; `None` before it is known which there are.
type Instances = Option<BTreeMap<Str, Entry>>;

/// What was found so far, by declaration.
#[derive(Default)]
pub struct CheckLog(Mutex<BTreeMap<(CheckKind, Str), Instances>>);

fn worst(statuses: impl Iterator<Item = CheckStatus>) -> Option<CheckStatus> {
    let rank = |s: &CheckStatus| match s {
        CheckStatus::Pass => 0,
        CheckStatus::Unknown => 1,
        CheckStatus::Fail => 2,
        CheckStatus::Error => 3,
    };
    statuses.max_by_key(rank)
}

impl CheckLog {
    fn all(&self) -> MutexGuard<'_, BTreeMap<(CheckKind, Str), Instances>> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Says that an object with conditions is declared.
    pub fn declare(&self, kind: CheckKind, config: impl Into<Str>) {
        self.all().entry((kind, config.into())).or_default();
    }

    /// Says that it is known now which instances of a declaration there are, perhaps none.
    pub fn expand(&self, kind: CheckKind, config: impl Into<Str>) {
        self.all().entry((kind, config.into())).or_default().get_or_insert_default();
    }

    /// Says that there is an object with so many conditions.
    pub fn expect(&self, subject: &Checkable, conditions: usize) {
        self.change(subject, |entry| entry.conditions = conditions);
    }

    /// Records the result of one condition of an object.
    pub fn record(&self, subject: &Checkable, status: CheckStatus, message: Option<Str>) {
        self.change(subject, |entry| {
            entry.statuses.push(status);
            entry.messages.extend(message);
        });
    }

    /// Whether a condition of the object was found to be false.
    pub fn has_failed(&self, subject: &Checkable) -> bool {
        let all = self.all();
        let instances = all.get(&(subject.kind, subject.config.clone())).and_then(Option::as_ref);
        instances.and_then(|i| i.get(&subject.object)).is_some_and(|entry| entry.statuses.contains(&CheckStatus::Fail))
    }

    fn change(&self, subject: &Checkable, f: impl FnOnce(&mut Entry)) {
        let mut all = self.all();
        let instances = all.entry((subject.kind, subject.config.clone())).or_default();
        f(instances.get_or_insert_default().entry(subject.object.clone()).or_default());
    }

    /// Everything that is declared, with what is known of it.
    pub fn results(&self) -> Vec<CheckResult> {
        let result = |((kind, config_addr), instances): (&(CheckKind, Str), &Instances)| {
            let objects: Vec<CheckObject> = instances
                .iter()
                .flatten()
                .map(|(addr, entry)| CheckObject {
                    addr: addr.clone(),
                    status: entry.status(),
                    failure_messages: entry.messages.clone(),
                })
                .collect();
            let status = match instances {
                None => CheckStatus::Unknown,
                Some(_) => worst(objects.iter().map(|o| o.status)).unwrap_or(CheckStatus::Pass),
            };
            CheckResult { kind: *kind, config_addr: config_addr.clone(), status, objects }
        };
        self.all().iter().map(result).collect()
    }
}

//! What the commands `state list`, `state mv`, `state rm`, `state replace-provider`, `taint` and `untaint` do to a
//! state. Nothing here reads files or prints.

use super::model::{ObjectStatus, State};
use crate::addr::{AbsResource, InstanceKey, Mode, ModuleInstance, Provider, ResourceInstance, Target};
use crate::diag::{Diagnostic, Failure, Result};
use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt::Display;
use std::sync::Arc;

fn refuse<T>(summary: &str, detail: impl Into<String>) -> Result<T> {
    Err(Box::new(Diagnostic::error(summary, detail)))
}

/// The order of lists for people: modules nearer to the root first.
pub fn list_order(a: &ResourceInstance, b: &ResourceInstance) -> Ordering {
    a.module.0.len().cmp(&b.module.0.len()).then_with(|| a.cmp(b))
}

/// The instances that an address stands for, in [`list_order`]. A module stands for everything below it, and without
/// a key for all its instances.
pub fn matching(state: &State, target: &Target) -> Vec<ResourceInstance> {
    let all = |r: &AbsResource| {
        state.resource(r).into_iter().flat_map(|s| s.instances.keys()).map(|k| r.instance(k.clone())).collect()
    };
    match target {
        Target::Resource(r) => all(r),
        Target::Instance(i) => state.instance(i).map(|_| i.clone()).into_iter().collect(),
        Target::Module(module) => {
            let mut found: Vec<ResourceInstance> =
                state.instances().filter(|i| covers(module, &i.resource.module)).map(|i| i.addr()).collect();
            found.sort_by(list_order);
            found
        }
    }
}

/// Whether `inner` is `outer` or lies within it, where calls without a key in `outer` stand for all their instances.
fn covers(outer: &ModuleInstance, inner: &ModuleInstance) -> bool {
    inner.0.len() >= outer.0.len()
        && outer.0.iter().zip(inner.0.iter()).all(|((a, k), (b, l))| a == b && (k.is_none() || k == l))
}

/// `state list`: the instances that the addresses stand for, in that order; all of them without addresses.
///
/// # Errors
/// An address that stands for nothing.
pub fn list(state: &State, targets: &[Target]) -> Result<Vec<ResourceInstance>> {
    if targets.is_empty() {
        let mut all: Vec<ResourceInstance> = state.instances().map(|i| i.addr()).collect();
        all.sort_by(list_order);
        return Ok(all);
    }
    let mut found = Vec::new();
    let mut listed = HashSet::new();
    for target in targets {
        let matching = matching(state, target);
        if matching.is_empty() {
            let what = match target {
                Target::Module(_) => "module",
                Target::Resource(_) => "resource",
                Target::Instance(_) => "resource instance",
            };
            return refuse(
                &format!("Unknown {what}"),
                format!("There is no {what} {target} in the state. It comes into the state when it is first applied."),
            );
        }
        found.extend(matching.into_iter().filter(|addr| listed.insert(addr.clone())));
    }
    Ok(found)
}

/// `state rm`: forgets what the addresses stand for, deposed objects included. Returns the instances forgotten.
///
/// # Errors
/// None of the addresses stands for anything.
pub fn remove(state: &mut State, targets: &[Target]) -> Result<Vec<ResourceInstance>> {
    let mut removed = Vec::new();
    for target in targets {
        for addr in matching(state, target) {
            state.remove_instance(&addr);
            removed.push(addr);
        }
    }
    if removed.is_empty() {
        return refuse(
            "Invalid target address",
            "Nothing in the state has this address. \"gpuform state list\" shows the addresses there are.",
        );
    }
    Ok(removed)
}

/// What was moved: the address before and after.
pub type Moved = Vec<(String, String)>;

/// `state mv`: gives a module, resource or instance a new address, in `other` if that is given, else in the same state.
///
/// # Errors
/// There is nothing at the source or something at the destination, or the two are not of one kind. Nothing is moved
/// then.
pub fn mv(state: &mut State, other: Option<&mut State>, from: &Target, to: &Target) -> Result<Moved> {
    let missing = || {
        refuse(
            "Invalid source address",
            format!("Cannot move {from}: there is nothing with this address in the state."),
        )
    };
    // A resource whose only instance has no key has the address of that instance.
    let single = |r: &AbsResource| {
        let instance = r.instance(InstanceKey::None);
        state.instance(&instance).is_some().then_some(instance)
    };
    match (from, to) {
        (Target::Module(a), Target::Module(b)) => move_module(state, other, a, b),
        (Target::Module(_), _) => {
            refuse("Invalid target address", format!("Cannot move {from} to {to}: a module can only become a module."))
        }
        (_, Target::Module(_)) => {
            refuse("Invalid target address", format!("Cannot move {from} to {to}: a resource cannot become a module."))
        }
        (Target::Instance(a), _) if state.instance(a).is_none() => missing(),
        (Target::Instance(a), _) => move_instance(state, other, a, &instance(to)),
        (Target::Resource(a), _) if state.resource(a).is_none() => missing(),
        (Target::Resource(a), _) => match (single(a), to) {
            (Some(a), _) => move_instance(state, other, &a, &instance(to)),
            (None, Target::Resource(b)) => move_resource(state, other, a, b),
            (None, _) => refuse(
                "Invalid target address",
                format!(
                    "Cannot move {from} to {to}: {from} has instances with keys, so either name one of them, or move all \
                     to a resource without a key in its address."
                ),
            ),
        },
    }
}

fn instance(target: &Target) -> ResourceInstance {
    match target {
        Target::Instance(i) => i.clone(),
        Target::Resource(r) => r.instance(InstanceKey::None),
        // Callers have told modules apart.
        Target::Module(m) => ResourceInstance {
            module: m.clone(),
            resource: crate::addr::Resource::managed("", ""),
            key: InstanceKey::None,
        },
    }
}

/// Whether a resource may get the address of another one.
fn check_kind(
    from: &impl Display,
    a: &crate::addr::Resource,
    to: &impl Display,
    b: &crate::addr::Resource,
) -> Result<()> {
    let word = |mode| if mode == Mode::Data { "data source" } else { "managed resource" };
    if a.mode != b.mode {
        return refuse(
            "Invalid state move request",
            format!("Cannot move {from} to {to}: a {} cannot become a {}.", word(a.mode), word(b.mode)),
        );
    }
    if a.ty != b.ty {
        return refuse(
            "Invalid state move request",
            format!("Cannot move {from} to {to}: resource types don't match."),
        );
    }
    Ok(())
}

fn occupied<T>(to: &impl Display, what: &str) -> Result<T> {
    refuse("Invalid target address", format!("Cannot move to {to}: there is already a {what} at that address."))
}

fn move_instance(
    state: &mut State,
    other: Option<&mut State>,
    from: &ResourceInstance,
    to: &ResourceInstance,
) -> Result<Moved> {
    check_kind(from, &from.resource, to, &to.resource)?;
    if other.as_deref().unwrap_or(state).instance(to).is_some() {
        return occupied(to, "resource instance");
    }
    match other {
        None => {
            state.move_instance(from, to);
        }
        Some(other) => {
            let provider = state.provider_of(from).cloned();
            if let (Some(provider), Some(objects)) = (provider, state.remove_instance(from)) {
                for (key, object) in objects.deposed {
                    other.set_deposed(to, key, object, &provider);
                }
                if let Some(object) = objects.current {
                    other.set(to, object, &provider);
                }
            }
        }
    }
    Ok(vec![(from.to_string(), to.to_string())])
}

fn move_resource(state: &mut State, other: Option<&mut State>, from: &AbsResource, to: &AbsResource) -> Result<Moved> {
    check_kind(from, &from.resource, to, &to.resource)?;
    if other.as_deref().unwrap_or(state).resource(to).is_some() {
        return occupied(to, "resource");
    }
    match other {
        None => {
            state.move_resource(from, to);
        }
        Some(other) => {
            if let Some(resource) = state.remove_resource(from) {
                other.insert_resource(to.clone(), resource);
            }
        }
    }
    Ok(vec![(from.to_string(), to.to_string())])
}

fn move_module(
    state: &mut State,
    other: Option<&mut State>,
    from: &ModuleInstance,
    to: &ModuleInstance,
) -> Result<Moved> {
    let inside: Vec<AbsResource> = state.resources_within(from).map(|(a, _)| a.clone()).collect();
    if inside.is_empty() {
        return refuse(
            "Invalid source address",
            format!("Cannot move {from}: there is nothing in the state in a module with this address."),
        );
    }
    let moved = |m: &ModuleInstance| {
        ModuleInstance(to.0.iter().chain(m.0.get(from.0.len()..).unwrap_or_default()).cloned().collect())
    };
    let target = other.as_deref().unwrap_or(state);
    let in_the_way = |a: &AbsResource| other.is_some() || !a.module.is_within(from);
    if target.resources_within(to).any(|(a, _)| a.module == *to && in_the_way(a)) {
        return occupied(to, "module");
    }
    let mut modules: Vec<&ModuleInstance> = inside.iter().map(|a| &a.module).collect();
    modules.dedup();
    let pairs = modules.iter().map(|m| (m.to_string(), moved(m).to_string())).collect();
    match other {
        None => {
            if !state.move_module(from, to) {
                return occupied(to, "module");
            }
        }
        Some(other) => {
            for a in &inside {
                if let Some(resource) = state.remove_resource(a) {
                    let addr = AbsResource { module: moved(&a.module), resource: a.resource.clone() };
                    other.insert_resource(addr, resource);
                }
            }
        }
    }
    Ok(pairs)
}

/// The resources that belong to a provider.
pub fn resources_of(state: &State, provider: &Provider) -> Vec<AbsResource> {
    state.resources().filter(|(_, r)| r.provider.provider == *provider).map(|(a, _)| a.clone()).collect()
}

/// `state replace-provider`: hands the resources of one provider over to another. Returns the resources concerned.
pub fn replace_provider(state: &mut State, from: &Provider, to: &Provider) -> Vec<AbsResource> {
    let concerned = resources_of(state, from);
    for addr in &concerned {
        if let Some(mut resource) = state.remove_resource(addr) {
            resource.provider.provider = to.clone();
            for own in resource.instances.iter_mut().filter_map(|i| i.provider.as_mut()) {
                Arc::make_mut(own).provider = to.clone();
            }
            state.insert_resource(addr.clone(), resource);
        }
    }
    concerned
}

/// `taint`: marks the current object of an instance to be replaced by the next plan.
///
/// # Errors
/// There is no such object, or it is not managed.
pub fn taint(state: &mut State, addr: &ResourceInstance) -> Result<()> {
    if addr.resource.mode != Mode::Managed {
        return refuse("Invalid address", format!("{addr} is not a managed resource, so it cannot be tainted."));
    }
    set_status(state, addr, ObjectStatus::Tainted)
}

/// `untaint`: takes that mark away.
///
/// # Errors
/// There is no such object, or it has no mark.
pub fn untaint(state: &mut State, addr: &ResourceInstance) -> Result<()> {
    if state.get(addr).is_some_and(|o| !o.is_tainted()) {
        return refuse(
            "Resource instance is not tainted",
            format!("{addr} is not tainted, so there is nothing to undo."),
        );
    }
    set_status(state, addr, ObjectStatus::Ready)
}

fn set_status(state: &mut State, addr: &ResourceInstance, status: ObjectStatus) -> Result<()> {
    let (Some(object), Some(provider)) = (state.get(addr), state.provider_of(addr)) else {
        return Err(no_such_instance(state, addr));
    };
    let (mut object, provider) = ((**object).clone(), provider.clone());
    object.status = status;
    state.set(addr, Arc::new(object), &provider);
    Ok(())
}

/// The diagnostic for an instance that is not there; with `-allow-missing` it is shown as a warning.
pub fn no_such_instance(state: &State, addr: &ResourceInstance) -> Failure {
    let keys = matching(state, &Target::Resource(addr.abs_resource()));
    let hint = match keys.first() {
        Some(first) => format!(" Its instances have keys, as in {first}."),
        None => " It comes into the state when it is first applied.".to_owned(),
    };
    Box::new(Diagnostic::error(
        "No such resource instance",
        format!("There is no resource instance {addr} in the state.{hint}"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::addr::{AbsProviderConfig, Module};
    use crate::state::ObjectState;

    const ALL: &str = "data.d.one a.map[\"x\"] a.map[\"y\"] a.one a.two[0] a.two[1] b.one module.m[0].a.inm \
                       module.m[1].a.inm module.p.a.p module.m[0].module.n.a.deep";

    fn state() -> State {
        let provider = AbsProviderConfig {
            module: Module::root(),
            provider: Provider::implied("null"),
            alias: Some("w".into()),
            key: InstanceKey::None,
        };
        let mut s = State::new();
        for a in ALL.split(' ') {
            s.set(&a.parse().unwrap(), Arc::new(ObjectState::new(0, "{}")), &provider);
        }
        s
    }

    fn targets(text: &str) -> Vec<Target> {
        text.split_whitespace().map(|t| t.parse().unwrap()).collect()
    }

    fn show(addrs: &[ResourceInstance]) -> String {
        addrs.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    }

    /// What Terraform 1.11 does with the same state, recorded with `terraform state mv`; the text is part of the error.
    #[test]
    fn moves() {
        for (from, to, outcome) in [
            ("a.one", "a.uno", Ok("a.uno")),
            ("a.one", "a.two", Ok("a.two a.two[0] a.two[1]")),
            ("a.one", "a.two[5]", Ok("a.two[0] a.two[1] a.two[5]")),
            ("a.one", "a.new[0]", Ok("a.new[0]")),
            ("a.two[0]", "a.zero", Ok("a.two[1] a.zero")),
            ("a.two", "a.three", Ok("a.three[0] a.three[1]")),
            ("a.two", "module.q.a.two", Ok("module.q.a.two[0] module.q.a.two[1]")),
            ("a.two[0]", "module.q[0].a.two[\"k\"]", Ok("module.q[0].a.two[\"k\"]")),
            ("module.m[0].a.inm", "a.inm", Ok("a.inm")),
            ("data.d.one", "data.d.two", Ok("data.d.two")),
            ("module.m[0]", "module.q", Ok("module.q.a.inm module.q.module.n.a.deep")),
            ("module.m[0]", "module.m[2]", Ok("module.m[1].a.inm module.m[2].a.inm module.m[2].module.n.a.deep")),
            ("module.p", "module.p[0]", Ok("module.p[0].a.p")),
            ("module.p", "module.p.module.q", Ok("module.p.module.q.a.p")),
            ("module.p", "module.m", Ok("module.m.a.p")),
            ("a.one", "b.uno", Err("types don't match")),
            ("a.one", "a.two[0]", Err("already a resource instance")),
            ("a.two[0]", "a.one", Err("already a resource instance")),
            ("a.one", "a.one", Err("already a resource instance")),
            ("a.two", "a.map", Err("already a resource at")),
            ("a.two", "a.three[0]", Err("instances with keys")),
            ("module.m", "module.q", Err("nothing in the state in a module")),
            ("module.m[0]", "module.m[1]", Err("already a module")),
            ("module.p", "a.one", Err("a module can only become a module")),
            ("a.one", "module.p", Err("cannot become a module")),
            ("a.no", "a.x", Err("nothing with this address")),
            ("a.two[7]", "a.x", Err("nothing with this address")),
            ("a.one", "data.a.one", Err("cannot become a data source")),
        ] {
            let before = state();
            let mut s = before.clone();
            match (mv(&mut s, None, &from.parse().unwrap(), &to.parse().unwrap()), outcome) {
                (Ok(_), Ok(new)) => {
                    let all = show(&list(&s, &[]).unwrap());
                    assert!(new.split(' ').all(|n| all.split(' ').any(|a| a == n)), "{from} to {to}: {all}");
                    assert_eq!(s.instance_count(), before.instance_count(), "{from} to {to}");
                    assert!(from == to || !all.split(' ').any(|a| a == from));
                }
                (Err(e), Err(part)) => {
                    assert!(e.detail.contains(part), "{from} to {to}: {e}");
                    assert!(s == before, "{from} to {to}");
                }
                (outcome, _) => panic!("{from} to {to}: {outcome:?}"),
            }
        }
    }

    #[test]
    fn a_module_move_names_each_module() {
        let moved = mv(&mut state(), None, &"module.m[0]".parse().unwrap(), &"module.q".parse().unwrap()).unwrap();
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(moved, [pair("module.m[0]", "module.q"), pair("module.m[0].module.n", "module.q.module.n")]);
    }

    #[test]
    fn moves_to_another_state() {
        for (from, to, there) in [
            ("a.two", "a.dos", "a.dos[0] a.dos[1]"),
            ("a.two[0]", "a.two", "a.two"),
            ("module.m[0]", "module.m[0]", "module.m[0].a.inm module.m[0].module.n.a.deep"),
        ] {
            let (mut s, mut other) = (state(), State::new());
            mv(&mut s, Some(&mut other), &from.parse().unwrap(), &to.parse().unwrap()).unwrap();
            assert_eq!(show(&list(&other, &[]).unwrap()), there);
            assert_eq!(s.instance_count() + other.instance_count(), 11);
            assert!(mv(&mut state(), Some(&mut other), &from.parse().unwrap(), &to.parse().unwrap()).is_err());
        }
    }

    #[test]
    fn lists_are_in_terraforms_order_and_addresses_select() {
        let s = state();
        for (wanted, found) in [
            ("", ALL),
            ("a.two", "a.two[0] a.two[1]"),
            ("module.m", "module.m[0].a.inm module.m[1].a.inm module.m[0].module.n.a.deep"),
            ("module.m[1] a.one a.one", "module.m[1].a.inm a.one"),
        ] {
            assert_eq!(show(&list(&s, &targets(wanted)).unwrap()), found);
        }
        for (wanted, summary) in
            [("a.no", "Unknown resource"), ("a.two[7]", "Unknown resource instance"), ("module.no", "Unknown module")]
        {
            assert_eq!(list(&s, &targets(wanted)).unwrap_err().summary, summary);
        }
    }

    #[test]
    fn removing_forgets_what_matches() {
        let mut s = state();
        assert_eq!(show(&remove(&mut s, &targets("a.two a.none module.m")).unwrap()).split(' ').count(), 5);
        assert_eq!(show(&list(&s, &[]).unwrap()), "data.d.one a.map[\"x\"] a.map[\"y\"] a.one b.one module.p.a.p");
        assert_eq!(remove(&mut s, &targets("a.two module.m")).unwrap_err().summary, "Invalid target address");
    }

    #[test]
    fn a_provider_takes_over_with_its_alias() {
        let mut s = state();
        let new = Provider::parse("foo/bar").unwrap();
        assert_eq!(replace_provider(&mut s, &Provider::implied("null"), &new).len(), 9);
        assert!(resources_of(&s, &Provider::implied("null")).is_empty());
        let config = &s.resource(&"a.one".parse::<ResourceInstance>().unwrap().abs_resource()).unwrap().provider;
        assert_eq!(config.to_string(), "provider[\"registry.terraform.io/foo/bar\"].w");
        assert_eq!(s.instance_count(), 11);
    }

    #[test]
    fn tainting() {
        let mut s = state();
        let one = "a.one".parse().unwrap();
        assert!(untaint(&mut s, &one).unwrap_err().summary.contains("is not tainted"));
        taint(&mut s, &one).unwrap();
        taint(&mut s, &one).unwrap();
        assert!(s.get(&one).unwrap().is_tainted());
        untaint(&mut s, &one).unwrap();
        assert!(!s.get(&one).unwrap().is_tainted());
        assert!(taint(&mut s, &"a.two".parse().unwrap()).unwrap_err().detail.contains("as in a.two[0]"));
        assert_eq!(taint(&mut s, &"a.none".parse().unwrap()).unwrap_err().summary, "No such resource instance");
        assert!(taint(&mut s, &"data.d.one".parse().unwrap()).unwrap_err().detail.contains("not a managed resource"));
    }
}

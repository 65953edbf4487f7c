//! The state as the program holds it: outputs of the root module and the objects of every resource instance. The
//! engine, the commands and the views work on this form; how it is written to a file is `file.rs`.
//!
//! A [`State`] is cheap to clone: clones share everything until one of them is changed.

use crate::addr::{
    AbsProviderConfig, AbsResource, ConfigResource, InstanceKey, Mode, ModuleInstance, Resource, ResourceInstance,
};
use crate::state::instances::Instances;
use gpuform_schema::{Path, Str, Value};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// Everything in a state file.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct State {
    /// The version of the program that wrote it, e.g. `1.11.4`; empty for a state that was never written.
    pub terraform_version: String,
    /// Grows by one with every changed state that is written.
    pub serial: u64,
    /// A unique name given when the state was first written; states of different lineages must not replace each
    /// other. Empty for a state that was never written.
    pub lineage: String,
    /// Outputs of the root module.
    pub outputs: BTreeMap<Str, OutputValue>,
    /// Results of conditions and checks of the last plan or apply, in the order of the file.
    pub check_results: Vec<CheckResult>,
    resources: Arc<BTreeMap<AbsResource, Arc<ResourceState>>>,
}

/// An output of the root module.
#[derive(Clone, PartialEq, Debug)]
pub struct OutputValue {
    /// Without marks.
    pub value: Value,
    pub sensitive: bool,
}

/// The instances of one resource in one module instance. Never without instances.
#[derive(Clone, PartialEq, Debug)]
pub struct ResourceState {
    /// What handles the instances that do not name a provider of their own.
    pub provider: AbsProviderConfig,
    pub instances: Instances,
}

/// The objects of one resource instance: the current one, and those replaced but not destroyed yet. Never empty.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct InstanceState {
    pub current: Option<Arc<ObjectState>>,
    pub deposed: BTreeMap<DeposedKey, Arc<ObjectState>>,
    /// Its own provider, where that is an instance of a configuration with `for_each`.
    pub provider: Option<Arc<AbsProviderConfig>>,
}

impl ResourceState {
    /// What handles an instance.
    pub fn provider_of(&self, key: &InstanceKey) -> &AbsProviderConfig {
        self.instances.get(key).and_then(|i| i.provider.as_deref()).unwrap_or(&self.provider)
    }

    /// The provider configurations that its instances need, repeated as often as they are needed.
    pub fn providers(&self) -> impl Iterator<Item = &AbsProviderConfig> {
        self.instances.iter().map(|(_, i)| i.provider.as_deref().unwrap_or(&self.provider))
    }
}

/// One object as last seen.
#[derive(Clone, PartialEq, Debug)]
pub struct ObjectState {
    /// Version of the resource type's schema that the attributes follow.
    pub schema_version: u64,
    pub attributes: Attributes,
    /// Parts of the attributes that are sensitive beyond what the schema says.
    pub sensitive_paths: Vec<Path>,
    /// Opaque bytes that the provider keeps with the object.
    pub private: Vec<u8>,
    pub status: ObjectStatus,
    /// The resources that this object depends on, which must outlive it.
    pub dependencies: Arc<[ConfigResource]>,
    pub create_before_destroy: bool,
    /// Fields of the file that this version of gpuform does not know, kept as they are: name and JSON text.
    pub unknown_fields: Vec<(Str, Str)>,
}

/// Attributes as stored, decoded with the schema only where they are needed.
#[derive(Clone, PartialEq, Debug)]
pub enum Attributes {
    /// A JSON object without insignificant white space.
    Json(Str),
    /// The form of Terraform 0.11 and older; the provider upgrades it to JSON.
    Flat(Arc<BTreeMap<String, String>>),
}

impl Attributes {
    /// The JSON text that a provider's upgrade function takes.
    pub fn to_json(&self) -> Str {
        match self {
            Attributes::Json(text) => text.clone(),
            Attributes::Flat(map) => serde_json::to_string(&**map).unwrap_or_default().into(),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum ObjectStatus {
    #[default]
    Ready,
    /// Created but not fully set up; the next plan replaces it.
    Tainted,
}

impl ObjectState {
    /// A ready object with nothing but attributes.
    pub fn new(schema_version: u64, attributes_json: impl Into<Str>) -> ObjectState {
        ObjectState {
            schema_version,
            attributes: Attributes::Json(attributes_json.into()),
            sensitive_paths: Vec::new(),
            private: Vec::new(),
            status: ObjectStatus::Ready,
            dependencies: Arc::default(),
            create_before_destroy: false,
            unknown_fields: Vec::new(),
        }
    }

    pub fn is_tainted(&self) -> bool {
        self.status == ObjectStatus::Tainted
    }
}

impl InstanceState {
    pub fn is_empty(&self) -> bool {
        self.current.is_none() && self.deposed.is_empty()
    }

    /// A deposed key that this instance does not use yet.
    pub fn free_deposed_key(&self) -> DeposedKey {
        loop {
            let key = DeposedKey::random();
            if !self.deposed.contains_key(&key) {
                return key;
            }
        }
    }
}

/// Names one deposed object of an instance: eight hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct DeposedKey(u32);

impl DeposedKey {
    pub fn random() -> DeposedKey {
        DeposedKey(uuid::Uuid::new_v4().as_fields().0)
    }
}

impl fmt::Display for DeposedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.0)
    }
}

impl FromStr for DeposedKey {
    type Err = String;

    fn from_str(s: &str) -> Result<DeposedKey, String> {
        let digits = s.len() == 8 && s.bytes().all(|b| b.is_ascii_hexdigit());
        if let (true, Ok(n)) = (digits, u32::from_str_radix(s, 16)) {
            return Ok(DeposedKey(n));
        }
        Err(format!("\"{s}\" is not a deposed object key, which is eight hexadecimal digits."))
    }
}

/// What a check result is about.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum CheckKind {
    Resource,
    Output,
    Check,
    Variable,
}

impl CheckKind {
    /// The word in state files.
    pub fn as_str(self) -> &'static str {
        match self {
            CheckKind::Resource => "resource",
            CheckKind::Output => "output",
            CheckKind::Check => "check",
            CheckKind::Variable => "var",
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum CheckStatus {
    Pass,
    /// The condition was false.
    Fail,
    /// The condition could not be evaluated.
    Error,
    #[default]
    Unknown,
}

impl CheckStatus {
    /// The word in state files and JSON output.
    pub fn as_str(self) -> &'static str {
        match self {
            CheckStatus::Pass => "pass",
            CheckStatus::Fail => "fail",
            CheckStatus::Error => "error",
            CheckStatus::Unknown => "unknown",
        }
    }
}

/// The results of the conditions of one declared object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckResult {
    pub kind: CheckKind,
    /// The declaration, e.g. `module.net.aws_vpc.main` or `check.health`.
    pub config_addr: Str,
    /// The worst of its objects.
    pub status: CheckStatus,
    pub objects: Vec<CheckObject>,
}

/// The results of the conditions of one instance.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckObject {
    pub addr: Str,
    pub status: CheckStatus,
    pub failure_messages: Vec<Str>,
}

/// A resource instance with its parts borrowed from the state.
#[derive(Clone, Copy, Debug)]
pub struct InstanceRef<'a> {
    pub resource: &'a AbsResource,
    pub key: &'a InstanceKey,
    pub provider: &'a AbsProviderConfig,
    pub state: &'a InstanceState,
}

impl InstanceRef<'_> {
    pub fn addr(&self) -> ResourceInstance {
        self.resource.instance(self.key.clone())
    }
}

impl State {
    /// An empty state with a new lineage.
    pub fn new() -> State {
        State { lineage: new_lineage(), ..State::default() }
    }

    // ---- looking

    pub fn resources(&self) -> impl DoubleEndedIterator<Item = (&AbsResource, &ResourceState)> {
        self.resources.iter().map(|(a, r)| (a, &**r))
    }

    pub fn resource(&self, addr: &AbsResource) -> Option<&ResourceState> {
        self.resources.get(addr).map(|r| &**r)
    }

    /// All resource instances, those of one resource together and ordered by key.
    pub fn instances(&self) -> impl Iterator<Item = InstanceRef<'_>> {
        self.resources.iter().flat_map(|(resource, r)| {
            r.instances.iter().map(move |(key, state)| InstanceRef {
                resource,
                key,
                provider: state.provider.as_deref().unwrap_or(&r.provider),
                state,
            })
        })
    }

    pub fn instance(&self, addr: &ResourceInstance) -> Option<&InstanceState> {
        self.resource(&addr.abs_resource())?.instances.get(&addr.key)
    }

    /// The current object of an instance.
    pub fn get(&self, addr: &ResourceInstance) -> Option<&Arc<ObjectState>> {
        self.instance(addr)?.current.as_ref()
    }

    pub fn get_deposed(&self, addr: &ResourceInstance, key: DeposedKey) -> Option<&Arc<ObjectState>> {
        self.instance(addr)?.deposed.get(&key)
    }

    /// The resources in a module instance and the modules below it.
    pub fn resources_within(&self, module: &ModuleInstance) -> impl Iterator<Item = (&AbsResource, &ResourceState)> {
        let first = AbsResource {
            module: module.clone(),
            resource: Resource { mode: Mode::Data, ty: "".into(), name: "".into() },
        };
        self.resources.range(first..).take_while(move |(a, _)| a.module.is_within(module)).map(|(a, r)| (a, &**r))
    }

    pub fn has_resources(&self) -> bool {
        !self.resources.is_empty()
    }

    /// Whether there are neither objects nor outputs.
    pub fn is_empty(&self) -> bool {
        self.resources.is_empty() && self.outputs.is_empty()
    }

    pub fn resource_count(&self) -> usize {
        self.resources.len()
    }

    /// Instances with a current object or deposed ones.
    pub fn instance_count(&self) -> usize {
        self.resources.values().map(|r| r.instances.len()).sum()
    }

    /// Whether both hold the same outputs, objects and check results, whatever serial, lineage and version they have.
    pub fn same_content(&self, other: &State) -> bool {
        self.outputs == other.outputs
            && self.check_results == other.check_results
            && (Arc::ptr_eq(&self.resources, &other.resources) || self.resources == other.resources)
    }

    // ---- changing

    fn instances_mut(&mut self, addr: &AbsResource) -> Option<&mut Instances> {
        let resource = Arc::make_mut(&mut self.resources).get_mut(addr)?;
        Some(&mut Arc::make_mut(resource).instances)
    }

    /// Changes what is known of one instance, and drops the instance and the resource when nothing is left.
    fn edit<T>(&mut self, addr: &ResourceInstance, change: impl FnOnce(&mut InstanceState) -> T) -> Option<T> {
        let resource = addr.abs_resource();
        let instances = self.instances_mut(&resource)?;
        let instance = instances.get_mut(&addr.key)?;
        let result = change(instance);
        if instance.is_empty() {
            instances.remove(&addr.key);
            if instances.is_empty() {
                Arc::make_mut(&mut self.resources).remove(&resource);
            }
        }
        Some(result)
    }

    fn entry(&mut self, addr: &ResourceInstance, provider: &AbsProviderConfig) -> &mut InstanceState {
        let resource = Arc::make_mut(&mut self.resources)
            .entry(addr.abs_resource())
            .or_insert_with(|| Arc::new(ResourceState { provider: provider.block(), instances: Instances::default() }));
        let resource = Arc::make_mut(resource);
        let instance = resource.instances.entry(&addr.key);
        if provider.key.is_none() {
            instance.provider = None;
            if resource.provider != *provider {
                resource.provider = provider.clone();
            }
        } else if instance.provider.as_deref() != Some(provider) {
            instance.provider = Some(Arc::new(provider.clone()));
        }
        instance
    }

    /// What handles an instance, if it is there.
    pub fn provider_of(&self, addr: &ResourceInstance) -> Option<&AbsProviderConfig> {
        self.resource(&addr.abs_resource())
            .filter(|r| r.instances.contains_key(&addr.key))
            .map(|r| r.provider_of(&addr.key))
    }

    /// Sets the current object of an instance. It belongs to `provider` from then on: with the whole resource, unless the
    /// provider is an instance of a configuration with `for_each`.
    pub fn set(&mut self, addr: &ResourceInstance, object: Arc<ObjectState>, provider: &AbsProviderConfig) {
        self.entry(addr, provider).current = Some(object);
    }

    pub fn set_deposed(
        &mut self,
        addr: &ResourceInstance,
        key: DeposedKey,
        object: Arc<ObjectState>,
        provider: &AbsProviderConfig,
    ) {
        self.entry(addr, provider).deposed.insert(key, object);
    }

    /// Removes the current object; deposed ones stay.
    pub fn remove(&mut self, addr: &ResourceInstance) -> Option<Arc<ObjectState>> {
        self.edit(addr, |i| i.current.take())?
    }

    pub fn remove_deposed(&mut self, addr: &ResourceInstance, key: DeposedKey) -> Option<Arc<ObjectState>> {
        self.edit(addr, |i| i.deposed.remove(&key))?
    }

    /// Removes an instance with all its objects.
    pub fn remove_instance(&mut self, addr: &ResourceInstance) -> Option<InstanceState> {
        self.edit(addr, std::mem::take)
    }

    /// Removes a resource with all its instances.
    pub fn remove_resource(&mut self, addr: &AbsResource) -> Option<ResourceState> {
        if !self.resources.contains_key(addr) {
            return None;
        }
        Arc::make_mut(&mut self.resources).remove(addr).map(Arc::unwrap_or_clone)
    }

    /// Puts a whole resource in place of what was there.
    pub fn insert_resource(&mut self, addr: AbsResource, resource: ResourceState) {
        if resource.instances.is_empty() {
            self.remove_resource(&addr);
        } else {
            Arc::make_mut(&mut self.resources).insert(addr, Arc::new(resource));
        }
    }

    /// Makes the current object a deposed one, so that a new one can be created beside it.
    pub fn depose(&mut self, addr: &ResourceInstance) -> Option<DeposedKey> {
        self.edit(addr, |i| {
            let object = i.current.take()?;
            let key = i.free_deposed_key();
            i.deposed.insert(key, object);
            Some(key)
        })?
    }

    /// As [`State::depose`], under a key chosen before (see [`InstanceState::free_deposed_key`]).
    pub fn depose_as(&mut self, addr: &ResourceInstance, key: DeposedKey) -> bool {
        self.edit(addr, |i| i.current.take().map(|object| i.deposed.insert(key, object)).is_some()).unwrap_or(false)
    }

    /// Makes a deposed object the current one again if there is none; false otherwise.
    pub fn restore_deposed(&mut self, addr: &ResourceInstance, key: DeposedKey) -> bool {
        self.edit(addr, |i| {
            let free = i.current.is_none();
            if free {
                i.current = i.deposed.remove(&key);
            }
            free && i.current.is_some()
        })
        .unwrap_or(false)
    }

    /// Moves an instance with all its objects. False where there is nothing at `from` or something at `to`.
    pub fn move_instance(&mut self, from: &ResourceInstance, to: &ResourceInstance) -> bool {
        if self.instance(to).is_some() {
            return false;
        }
        let Some(provider) = self.resource(&from.abs_resource()).map(|r| r.provider.clone()) else { return false };
        let Some(instance) = self.remove_instance(from) else { return false };
        let provider = self.resource(&to.abs_resource()).map_or(provider, |r| r.provider.clone());
        *self.entry(to, &provider) = instance;
        true
    }

    /// Moves a resource with all its instances. False where there is nothing at `from` or something at `to`.
    pub fn move_resource(&mut self, from: &AbsResource, to: &AbsResource) -> bool {
        if self.resource(to).is_some() || self.resource(from).is_none() {
            return false;
        }
        let resources = Arc::make_mut(&mut self.resources);
        match resources.remove(from) {
            Some(r) => resources.insert(to.clone(), r).is_none(),
            None => false,
        }
    }

    /// Moves every resource in a module instance and the modules below it. False where there is nothing at `from`
    /// or a resource of the same name at `to`; then nothing is moved.
    pub fn move_module(&mut self, from: &ModuleInstance, to: &ModuleInstance) -> bool {
        let moves: Vec<(AbsResource, AbsResource)> = self
            .resources_within(from)
            .map(|(a, _)| {
                let rest = a.module.0.get(from.0.len()..).unwrap_or_default();
                let module = ModuleInstance(to.0.iter().chain(rest).cloned().collect());
                (a.clone(), AbsResource { module, resource: a.resource.clone() })
            })
            .collect();
        let taken = |to: &AbsResource| self.resources.contains_key(to) && !to.module.is_within(from);
        if moves.is_empty() || moves.iter().any(|(_, to)| taken(to)) {
            return false;
        }
        let resources = Arc::make_mut(&mut self.resources);
        let moved: Vec<_> = moves.into_iter().filter_map(|(from, to)| Some((to, resources.remove(&from)?))).collect();
        resources.extend(moved);
        true
    }
}

/// A name for a new state that no other has.
pub fn new_lineage() -> String {
    uuid::Uuid::new_v4().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::addr::{Module, Provider};

    fn addr(text: &str) -> ResourceInstance {
        text.parse().unwrap()
    }

    fn provider() -> AbsProviderConfig {
        AbsProviderConfig {
            module: Module::root(),
            provider: Provider::builtin("terraform"),
            alias: None,
            key: InstanceKey::None,
        }
    }

    fn state(addrs: &[&str]) -> State {
        let mut s = State::new();
        for a in addrs {
            s.set(&addr(a), Arc::new(ObjectState::new(0, format!("{{\"id\":\"{a}\"}}"))), &provider());
        }
        s
    }

    fn list(s: &State) -> Vec<String> {
        s.instances().map(|i| i.addr().to_string()).collect()
    }

    #[test]
    fn clones_do_not_see_each_others_changes() {
        let a = state(&["x.a", "x.b[0]", "x.b[1]"]);
        let mut b = a.clone();
        b.remove(&addr("x.b[0]"));
        assert_eq!(list(&a), ["x.a", "x.b[0]", "x.b[1]"]);
        assert_eq!(list(&b), ["x.a", "x.b[1]"]);
        assert!(a.same_content(&a.clone()) && !a.same_content(&b));
        assert_eq!((a.resource_count(), a.instance_count()), (2, 3));
    }

    #[test]
    fn a_resource_without_objects_is_gone() {
        let mut s = state(&["x.a"]);
        assert!(s.remove(&addr("x.a")).is_some());
        assert!(s.is_empty() && s.remove(&addr("x.a")).is_none());
    }

    #[test]
    fn a_deposed_object_can_become_current_again() {
        let mut s = state(&["x.a"]);
        let key = s.depose(&addr("x.a")).unwrap();
        assert!(s.get(&addr("x.a")).is_none() && s.get_deposed(&addr("x.a"), key).is_some());
        assert!(s.restore_deposed(&addr("x.a"), key));
        assert!(s.get(&addr("x.a")).is_some() && s.get_deposed(&addr("x.a"), key).is_none());
        assert!(!s.restore_deposed(&addr("x.a"), key));
        assert_eq!(key.to_string().parse(), Ok(key));
    }

    #[test]
    fn modules_move_with_everything_below_them() {
        let mut s = state(&["module.a.x.a", "module.a.module.b[0].x.a[1]", "module.ab.x.a"]);
        assert!(s.move_module(&"module.a".parse().unwrap(), &"module.a.module.c".parse().unwrap()));
        assert_eq!(list(&s), ["module.a.module.c.x.a", "module.a.module.c.module.b[0].x.a[1]", "module.ab.x.a"]);
        assert!(!s.move_module(&"module.ab".parse().unwrap(), &"module.a.module.c".parse().unwrap()));
    }

    #[test]
    fn instances_and_resources_move_to_free_places_only() {
        let mut s = state(&["x.a[0]", "x.a[1]", "x.b"]);
        assert!(s.move_instance(&addr("x.a[0]"), &addr("x.c")));
        assert!(!s.move_instance(&addr("x.a[1]"), &addr("x.b")));
        assert!(!s.move_resource(&addr("x.a").abs_resource(), &addr("x.b").abs_resource()));
        assert!(s.move_resource(&addr("x.a").abs_resource(), &addr("x.d").abs_resource()));
        assert_eq!(list(&s), ["x.b", "x.c", "x.d[1]"]);
    }
}

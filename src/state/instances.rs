//! The instances of one resource by key. Most resources have exactly one: it takes no allocation of its own, where the
//! node of a tree would have room for eleven. Part of the state's model.

use super::model::InstanceState;
use crate::addr::InstanceKey;
use std::collections::{BTreeMap, btree_map};
use std::{iter, option};

/// Instances in order of their keys.
#[derive(Clone, Debug)]
pub struct Instances(Kind);

#[derive(Clone, Debug)]
enum Kind {
    One(InstanceKey, InstanceState),
    /// Any number. An empty tree takes no allocation.
    Many(BTreeMap<InstanceKey, InstanceState>),
}

impl Default for Instances {
    fn default() -> Instances {
        Instances(Kind::Many(BTreeMap::new()))
    }
}

impl Instances {
    pub fn len(&self) -> usize {
        match &self.0 {
            Kind::One(..) => 1,
            Kind::Many(all) => all.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn get(&self, key: &InstanceKey) -> Option<&InstanceState> {
        match &self.0 {
            Kind::One(k, instance) => (k == key).then_some(instance),
            Kind::Many(all) => all.get(key),
        }
    }

    pub fn contains_key(&self, key: &InstanceKey) -> bool {
        self.get(key).is_some()
    }

    pub fn get_mut(&mut self, key: &InstanceKey) -> Option<&mut InstanceState> {
        match &mut self.0 {
            Kind::One(k, instance) => (k == key).then_some(instance),
            Kind::Many(all) => all.get_mut(key),
        }
    }

    /// The instance with a key, a new one without objects if there is none.
    pub fn entry(&mut self, key: &InstanceKey) -> &mut InstanceState {
        match &mut self.0 {
            Kind::Many(all) if all.is_empty() => self.0 = Kind::One(key.clone(), InstanceState::default()),
            Kind::One(k, instance) if k != key => {
                let only = (std::mem::take(k), std::mem::take(instance));
                self.0 = Kind::Many(BTreeMap::from([only]));
            }
            _ => {}
        }
        match &mut self.0 {
            Kind::One(_, instance) => instance,
            Kind::Many(all) => all.entry(key.clone()).or_default(),
        }
    }

    /// Puts an instance in place of what was there, which is returned.
    pub fn insert(&mut self, key: &InstanceKey, instance: InstanceState) -> Option<InstanceState> {
        let before = std::mem::replace(self.entry(key), instance);
        (!before.is_empty()).then_some(before)
    }

    pub fn remove(&mut self, key: &InstanceKey) -> Option<InstanceState> {
        match &mut self.0 {
            Kind::Many(all) => all.remove(key),
            Kind::One(k, instance) if k == key => {
                let instance = std::mem::take(instance);
                *self = Instances::default();
                Some(instance)
            }
            Kind::One(..) => None,
        }
    }

    pub fn iter(&self) -> Iter<'_> {
        let (one, many) = match &self.0 {
            Kind::One(key, instance) => (Some((key, instance)), None),
            Kind::Many(all) => (None, Some(all)),
        };
        one.into_iter().chain(many.into_iter().flatten())
    }

    /// The instances, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut InstanceState> {
        let (one, many) = match &mut self.0 {
            Kind::One(_, instance) => (Some(instance), None),
            Kind::Many(all) => (None, Some(all)),
        };
        one.into_iter().chain(many.into_iter().flat_map(|all| all.values_mut()))
    }

    pub fn keys(&self) -> impl Iterator<Item = &InstanceKey> {
        self.iter().map(|(key, _)| key)
    }
}

type One<T> = option::IntoIter<T>;

/// Instances with their keys.
pub type Iter<'a> = iter::Chain<
    One<(&'a InstanceKey, &'a InstanceState)>,
    iter::Flatten<One<&'a BTreeMap<InstanceKey, InstanceState>>>,
>;

impl<'a> IntoIterator for &'a Instances {
    type Item = (&'a InstanceKey, &'a InstanceState);
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

impl IntoIterator for Instances {
    type Item = (InstanceKey, InstanceState);
    type IntoIter = iter::Chain<One<Self::Item>, btree_map::IntoIter<InstanceKey, InstanceState>>;

    fn into_iter(self) -> Self::IntoIter {
        let (one, many) = match self.0 {
            Kind::One(key, instance) => (Some((key, instance)), BTreeMap::new()),
            Kind::Many(all) => (None, all),
        };
        one.into_iter().chain(many)
    }
}

/// How they are kept makes no difference.
impl PartialEq for Instances {
    fn eq(&self, other: &Instances) -> bool {
        self.len() == other.len() && self.iter().eq(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::ObjectState;
    use std::sync::Arc;

    fn instance(text: &str) -> InstanceState {
        InstanceState { current: Some(Arc::new(ObjectState::new(0, text))), ..InstanceState::default() }
    }

    #[test]
    fn instances_come_and_go() {
        let [single, first, second] = [InstanceKey::None, InstanceKey::Int(0), InstanceKey::Int(1)];
        let mut all = Instances::default();
        assert_eq!(all.insert(&first, instance("a")), None);
        assert_eq!(all.insert(&first, instance("b")), Some(instance("a")));
        let one = all.clone();
        assert_eq!(all.insert(&second, instance("c")), None);
        assert_eq!(all.insert(&single, instance("d")), None);
        assert_eq!(all.keys().collect::<Vec<_>>(), [&single, &first, &second]);
        assert_eq!(all.remove(&single).zip(all.remove(&second)), Some((instance("d"), instance("c"))));
        assert_eq!(all, one);
        assert_eq!((all.remove(&second), all.remove(&first)), (None, Some(instance("b"))));
        assert!(all.is_empty() && all.get(&first).is_none());
    }
}

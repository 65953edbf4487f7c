//! [`Attr`], the three states of an attribute (null, unknown, known), and [`Set`], the unordered collection: the types
//! that provider authors use for the fields of a model.

use crate::error::{Error, Result};
use std::ops::Deref;

/// An attribute of a configuration, plan or state.
///
/// In a configuration `Null` is "not written". In a plan `Unknown` is "known after apply". After apply everything is
/// null or known.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Attr<T> {
    #[default]
    Null,
    Unknown,
    Known(T),
}

impl<T> Attr<T> {
    /// The value, if there is one and it is known.
    pub fn get(&self) -> Option<&T> {
        match self {
            Attr::Known(v) => Some(v),
            _ => None,
        }
    }

    /// The value itself, if there is one and it is known.
    pub fn known(self) -> Option<T> {
        match self {
            Attr::Known(v) => Some(v),
            _ => None,
        }
    }

    /// A copy of the value, if there is one and it is known.
    pub fn cloned(&self) -> Option<T>
    where
        T: Clone,
    {
        self.get().cloned()
    }

    /// The value borrowed in its simpler form (`&str` of a string, a slice of a list), if known.
    pub fn as_deref(&self) -> Option<&T::Target>
    where
        T: Deref,
    {
        self.get().map(Deref::deref)
    }

    /// A copy of the value, or the type's default where null or unknown.
    pub fn or_default(&self) -> T
    where
        T: Clone + Default,
    {
        self.cloned().unwrap_or_default()
    }

    /// A copy of the value, or `default` where null or unknown.
    pub fn unwrap_or(&self, default: T) -> T
    where
        T: Clone,
    {
        self.cloned().unwrap_or(default)
    }

    /// The value, or an error that names the attribute: for what must be known by now.
    pub fn require(&self, name: &str) -> Result<&T> {
        self.get().ok_or_else(|| {
            Error::new("A value is missing").detail(format!("{name:?} has no known value here.")).at(name)
        })
    }

    pub fn is_null(&self) -> bool {
        matches!(self, Attr::Null)
    }

    pub fn is_unknown(&self) -> bool {
        matches!(self, Attr::Unknown)
    }

    pub fn is_known(&self) -> bool {
        matches!(self, Attr::Known(_))
    }

    /// Not null: written in the configuration, though perhaps not known yet.
    pub fn is_set(&self) -> bool {
        !self.is_null()
    }

    pub fn set(&mut self, value: impl Into<T>) {
        *self = Attr::Known(value.into());
    }

    /// Gives a value to what the plan left open. What the configuration said stays.
    pub fn set_if_unknown(&mut self, value: impl Into<Attr<T>>) {
        if self.is_unknown() {
            *self = value.into();
        }
    }

    /// Takes what an API returned on a read. APIs know no null: an empty string or collection, 0 and false leave null as
    /// it is, so that an argument nobody wrote shows no difference.
    pub fn refresh(&mut self, value: impl Into<Attr<T>>)
    where
        T: MayBeEmpty,
    {
        let value = value.into();
        if !(self.is_null() && value.get().is_some_and(T::is_empty)) {
            *self = value;
        }
    }

    /// The value with `f` applied, where known.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Attr<U> {
        match self {
            Attr::Null => Attr::Null,
            Attr::Unknown => Attr::Unknown,
            Attr::Known(v) => Attr::Known(f(v)),
        }
    }
}

/// Types with an empty value, which many APIs return for "not set".
pub trait MayBeEmpty {
    fn is_empty(&self) -> bool;
}

macro_rules! may_be_zero {
    ($($number:ty),*) => {
        $(impl MayBeEmpty for $number {
            fn is_empty(&self) -> bool {
                *self == <$number>::default()
            }
        })*
    };
}

may_be_zero!(i64, i32, f64, bool);

impl MayBeEmpty for String {
    fn is_empty(&self) -> bool {
        self.is_empty()
    }
}

impl<T> MayBeEmpty for Vec<T> {
    fn is_empty(&self) -> bool {
        self.is_empty()
    }
}

impl<T> MayBeEmpty for Set<T> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T> MayBeEmpty for std::collections::BTreeMap<String, T> {
    fn is_empty(&self) -> bool {
        self.is_empty()
    }
}

impl<T> From<T> for Attr<T> {
    fn from(value: T) -> Self {
        Attr::Known(value)
    }
}

/// `None` is null: what an API does not return.
impl<T> From<Option<T>> for Attr<T> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Attr::Null, Attr::Known)
    }
}

impl From<&str> for Attr<String> {
    fn from(value: &str) -> Self {
        Attr::Known(value.to_owned())
    }
}

impl From<Option<&str>> for Attr<String> {
    fn from(value: Option<&str>) -> Self {
        value.map_or(Attr::Null, Attr::from)
    }
}

impl PartialEq<str> for Attr<String> {
    fn eq(&self, other: &str) -> bool {
        self.as_deref() == Some(other)
    }
}

impl PartialEq<&str> for Attr<String> {
    fn eq(&self, other: &&str) -> bool {
        self.as_deref() == Some(*other)
    }
}

impl PartialEq<i64> for Attr<i64> {
    fn eq(&self, other: &i64) -> bool {
        self.get() == Some(other)
    }
}

impl PartialEq<bool> for Attr<bool> {
    fn eq(&self, other: &bool) -> bool {
        self.get() == Some(other)
    }
}

/// A set: order and duplicates do not count when comparing. Derefs to a slice.
#[derive(Clone, Debug)]
pub struct Set<T>(Vec<T>);

impl<T> Set<T> {
    pub fn new() -> Self {
        Set(Vec::new())
    }

    pub fn into_vec(self) -> Vec<T> {
        self.0
    }

    /// The elements that `other` lacks.
    pub fn without<'a>(&'a self, other: &'a Set<T>) -> impl Iterator<Item = &'a T>
    where
        T: PartialEq,
    {
        self.0.iter().filter(|e| !other.0.contains(e))
    }
}

impl<T> Default for Set<T> {
    fn default() -> Self {
        Set::new()
    }
}

impl<T> Deref for Set<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T: PartialEq> PartialEq for Set<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0 || (self.0.iter().all(|e| other.0.contains(e)) && other.0.iter().all(|e| self.0.contains(e)))
    }
}

impl<T: Eq> Eq for Set<T> {}

impl<T> From<Vec<T>> for Set<T> {
    fn from(items: Vec<T>) -> Self {
        Set(items)
    }
}

impl<T> FromIterator<T> for Set<T> {
    fn from_iter<I: IntoIterator<Item = T>>(iter: I) -> Self {
        Set(iter.into_iter().collect())
    }
}

impl<T> IntoIterator for Set<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a Set<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

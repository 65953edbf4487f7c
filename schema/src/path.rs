//! Paths into a value: which attribute or element is meant.

use crate::number::Number;
use crate::value::{Str, Value};
use std::fmt;

/// One step from a value to a part of it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Step {
    /// Attribute of an object.
    Attr(Str),
    /// Element of a map.
    Key(Str),
    /// Element of a list or tuple, from 0.
    Index(u64),
    /// Element of a set, which is addressed by its own value.
    Element(Value),
}

/// A sequence of steps from the root of a value. The empty path is the whole value.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub struct Path(pub Vec<Step>);

impl Path {
    pub fn root() -> Path {
        Path::default()
    }

    /// A path of attribute names, e.g. `Path::attrs(["root_block_device"])`.
    pub fn attrs<S: Into<Str>>(names: impl IntoIterator<Item = S>) -> Path {
        Path(names.into_iter().map(|n| Step::Attr(n.into())).collect())
    }

    #[must_use]
    pub fn attr(&self, name: impl Into<Str>) -> Path {
        self.child(Step::Attr(name.into()))
    }

    #[must_use]
    pub fn index(&self, index: usize) -> Path {
        self.child(Step::Index(index as u64))
    }

    #[must_use]
    pub fn key(&self, key: impl Into<Str>) -> Path {
        self.child(Step::Key(key.into()))
    }

    #[must_use]
    pub fn child(&self, step: Step) -> Path {
        let mut steps = self.0.clone();
        steps.push(step);
        Path(steps)
    }

    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    pub fn starts_with(&self, prefix: &Path) -> bool {
        self.0.starts_with(&prefix.0)
    }

    /// The part of `value` at this path; `None` where the value has no such part (or is null or unknown there).
    pub fn get(&self, value: &Value) -> Option<Value> {
        self.0.iter().try_fold(value.clone(), |v, step| v.step(step))
    }
}

impl fmt::Display for Path {
    /// As in an expression: `.tags["Name"]`, `.root_block_device[0].iops`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.0 {
            match step {
                Step::Attr(a) => write!(f, ".{a}")?,
                Step::Key(k) => write!(f, "[{k:?}]")?,
                Step::Index(i) => write!(f, "[{i}]")?,
                Step::Element(v) => match v {
                    Value::String(s) => write!(f, "[{s:?}]")?,
                    Value::Number(n) => write!(f, "[{n}]")?,
                    _ => f.write_str("[...]")?,
                },
            }
        }
        Ok(())
    }
}

impl From<Number> for Step {
    fn from(n: Number) -> Self {
        match n.as_u64() {
            Some(i) => Step::Index(i),
            None => Step::Element(Value::Number(n)),
        }
    }
}

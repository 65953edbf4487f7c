//! Types of values.

use crate::value::Str;
use std::fmt;
use std::sync::Arc;

/// The type of a value. Cloning is cheap.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Type {
    Bool,
    Number,
    String,
    /// Not known yet, or (in a constraint) any type.
    Dynamic,
    List(Arc<Type>),
    Set(Arc<Type>),
    Map(Arc<Type>),
    Tuple(Arc<Vec<Type>>),
    Object(Arc<ObjectType>),
}

/// The attributes of an object type, sorted by name. The names can be shared with the objects of the type.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ObjectType {
    names: Arc<[Str]>,
    types: Box<[Type]>,
}

impl ObjectType {
    /// An object type whose sorted, distinct names are shared; there are as many types.
    pub(crate) fn with_names(names: Arc<[Str]>, types: Vec<Type>) -> ObjectType {
        debug_assert!(names.len() == types.len() && names.is_sorted());
        ObjectType { names, types: types.into() }
    }

    /// The names of the attributes, sorted.
    pub fn names(&self) -> &Arc<[Str]> {
        &self.names
    }

    /// The types of the attributes, in the order of the names.
    pub fn types(&self) -> &[Type] {
        &self.types
    }

    pub fn get(&self, name: &str) -> Option<&Type> {
        self.position(name).and_then(|i| self.types.get(i))
    }

    /// Where among the sorted names this one is.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.names.binary_search_by(|n| (**n).cmp(name)).ok()
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Str, &Type)> {
        self.names.iter().zip(&self.types)
    }

    pub fn len(&self) -> usize {
        self.types.len()
    }

    pub fn is_empty(&self) -> bool {
        self.types.is_empty()
    }
}

impl<S: Into<Str>> FromIterator<(S, Type)> for ObjectType {
    /// Of duplicate names the last wins.
    fn from_iter<I: IntoIterator<Item = (S, Type)>>(iter: I) -> Self {
        let map: std::collections::BTreeMap<Str, Type> = iter.into_iter().map(|(n, t)| (n.into(), t)).collect();
        let (names, types): (Vec<Str>, Vec<Type>) = map.into_iter().unzip();
        ObjectType { names: names.into(), types: types.into() }
    }
}

impl Default for ObjectType {
    fn default() -> Self {
        ObjectType::from_iter::<[(Str, Type); 0]>([])
    }
}

impl Type {
    pub fn list(element: Type) -> Type {
        Type::List(Arc::new(element))
    }

    pub fn set(element: Type) -> Type {
        Type::Set(Arc::new(element))
    }

    pub fn map(element: Type) -> Type {
        Type::Map(Arc::new(element))
    }

    pub fn tuple(elements: impl IntoIterator<Item = Type>) -> Type {
        Type::Tuple(Arc::new(elements.into_iter().collect()))
    }

    pub fn object<S: Into<Str>>(attrs: impl IntoIterator<Item = (S, Type)>) -> Type {
        Type::Object(Arc::new(attrs.into_iter().collect()))
    }

    pub fn is_primitive(&self) -> bool {
        matches!(self, Type::Bool | Type::Number | Type::String)
    }

    pub fn is_collection(&self) -> bool {
        matches!(self, Type::List(_) | Type::Set(_) | Type::Map(_))
    }

    pub fn is_dynamic(&self) -> bool {
        matches!(self, Type::Dynamic)
    }

    /// Whether `Dynamic` appears anywhere in the type.
    pub fn has_dynamic(&self) -> bool {
        match self {
            Type::Dynamic => true,
            Type::List(t) | Type::Set(t) | Type::Map(t) => t.has_dynamic(),
            Type::Tuple(ts) => ts.iter().any(Type::has_dynamic),
            Type::Object(o) => o.iter().any(|(_, t)| t.has_dynamic()),
            _ => false,
        }
    }

    /// The element type of a list, set or map.
    pub fn element(&self) -> Option<&Type> {
        match self {
            Type::List(t) | Type::Set(t) | Type::Map(t) => Some(t),
            _ => None,
        }
    }

    /// The name used in messages: `list of string`, `object`, `tuple`.
    pub fn friendly_name(&self) -> String {
        match self {
            Type::Bool => "bool".into(),
            Type::Number => "number".into(),
            Type::String => "string".into(),
            Type::Dynamic => "dynamic".into(),
            Type::List(t) => format!("list of {}", t.friendly_name()),
            Type::Set(t) => format!("set of {}", t.friendly_name()),
            Type::Map(t) => format!("map of {}", t.friendly_name()),
            Type::Tuple(_) => "tuple".into(),
            Type::Object(_) => "object".into(),
        }
    }
}

impl fmt::Display for Type {
    /// As a type constraint: `list(string)`, `object({ a = number })`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Bool => f.write_str("bool"),
            Type::Number => f.write_str("number"),
            Type::String => f.write_str("string"),
            Type::Dynamic => f.write_str("any"),
            Type::List(t) => write!(f, "list({t})"),
            Type::Set(t) => write!(f, "set({t})"),
            Type::Map(t) => write!(f, "map({t})"),
            Type::Tuple(ts) => {
                f.write_str("tuple([")?;
                for (i, t) in ts.iter().enumerate() {
                    write!(f, "{}{t}", if i > 0 { ", " } else { "" })?;
                }
                f.write_str("])")
            }
            Type::Object(o) => {
                f.write_str("object({")?;
                for (i, (n, t)) in o.iter().enumerate() {
                    write!(f, "{}{n}={t}", if i > 0 { "," } else { "" })?;
                }
                f.write_str("})")
            }
        }
    }
}

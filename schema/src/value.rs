//! Values: one representation for the whole program, cheap to clone and immutable.
//!
//! A value is null, known or unknown (with refinements), and any part of it may be marked (sensitive, ephemeral).
//! Collections are kept sorted: map keys and object attributes by name, set elements in Terraform's iteration order.

use crate::number::Number;
use crate::path::{Path, Step};
use crate::set_order::into_set_elements;
use crate::types::{ObjectType, Type};
use std::fmt;
use std::sync::Arc;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

/// A shared string. Strings inside values are in Unicode normalization form C.
pub type Str = Arc<str>;

/// A value of any type.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Value {
    /// Null of a type (`Type::Dynamic` where nothing is known of it).
    Null(Type),
    /// Not known yet.
    Unknown(Arc<Unknown>),
    Bool(bool),
    Number(Number),
    String(Str),
    List(Arc<Collection>),
    /// Elements are distinct and sorted; build with [`Value::set`].
    Set(Arc<Collection>),
    Map(Arc<MapValue>),
    Tuple(Arc<Vec<Value>>),
    Object(Arc<ObjectValue>),
    /// A value with marks; never nested directly in another `Marked`.
    Marked(Arc<Marked>),
}

/// An unknown value: its type and what is known about it all the same.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Unknown {
    pub ty: Type,
    pub refinement: Refinement,
}

/// What is known about an unknown value. The default says nothing.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub struct Refinement {
    /// It will not be null.
    pub not_null: bool,
    /// A string that will start with this.
    pub prefix: Option<Str>,
    /// Bounds of a number: the bound and whether it is included.
    pub min: Option<(Number, bool)>,
    pub max: Option<(Number, bool)>,
    /// Bounds of the length of a collection, both included.
    pub min_len: Option<u64>,
    pub max_len: Option<u64>,
}

/// The elements of a list or set.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Collection {
    pub element: Type,
    pub items: Vec<Value>,
}

/// The entries of a map, sorted by key.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct MapValue {
    pub element: Type,
    pub entries: Vec<(Str, Value)>,
}

/// The attributes of an object: names sorted (shared between objects of one schema), values in the same order.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ObjectValue {
    pub names: Arc<[Str]>,
    pub values: Box<[Value]>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Marked {
    pub marks: Marks,
    pub value: Value,
}

/// A set of marks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Marks(u8);

impl Marks {
    pub const NONE: Marks = Marks(0);
    /// Not to be shown.
    pub const SENSITIVE: Marks = Marks(1);
    /// Not to be stored.
    pub const EPHEMERAL: Marks = Marks(2);

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn contains(self, other: Marks) -> bool {
        self.0 & other.0 == other.0
    }

    #[must_use]
    pub fn without(self, other: Marks) -> Marks {
        Marks(self.0 & !other.0)
    }
}

impl std::ops::BitOr for Marks {
    type Output = Marks;
    fn bitor(self, other: Marks) -> Marks {
        Marks(self.0 | other.0)
    }
}

impl std::ops::BitOrAssign for Marks {
    fn bitor_assign(&mut self, other: Marks) {
        self.0 |= other.0;
    }
}

impl ObjectValue {
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.names.binary_search_by(|n| (**n).cmp(name)).ok().map(|i| &self.values[i])
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Str, &Value)> {
        self.names.iter().zip(self.values.iter())
    }

    pub fn len(&self) -> usize {
        self.values.len()
    }

    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

impl MapValue {
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.entries.binary_search_by(|(k, _)| (**k).cmp(key)).ok().map(|i| &self.entries[i].1)
    }
}

/// A string in normalization form C.
pub fn nfc(s: &str) -> Str {
    if s.is_ascii() || is_nfc_quick(s.chars()) == IsNormalized::Yes {
        s.into()
    } else {
        s.nfc().collect::<String>().into()
    }
}

impl Value {
    pub const TRUE: Value = Value::Bool(true);
    pub const FALSE: Value = Value::Bool(false);

    // ---- construction

    /// Null of unknown type.
    pub const fn null() -> Value {
        Value::Null(Type::Dynamic)
    }

    pub fn unknown(ty: Type) -> Value {
        Value::Unknown(Arc::new(Unknown { ty, refinement: Refinement::default() }))
    }

    pub fn unknown_not_null(ty: Type) -> Value {
        Value::refined(ty, Refinement { not_null: true, ..Refinement::default() })
    }

    /// An unknown value of which something is known; where that leaves only one value, that value, and where it fixes
    /// the length of a list, a list of unknown elements.
    pub fn refined(ty: Type, refinement: Refinement) -> Value {
        /// Longer lists stay unknown: a provider may claim any length.
        const LONGEST_LIST: u64 = 1024;
        if refinement.not_null {
            let length = refinement.min_len.or(Some(0)).filter(|n| refinement.max_len == Some(*n));
            match (&ty, length, &refinement.min, &refinement.max) {
                (Type::List(e), Some(n @ 0..=LONGEST_LIST), ..) => {
                    let items = vec![Value::unknown((**e).clone()); n as usize];
                    return Value::list((**e).clone(), items);
                }
                (Type::Set(e), Some(0), ..) => return Value::set((**e).clone(), Vec::new()),
                (Type::Set(e), Some(1), ..) => {
                    return Value::set((**e).clone(), vec![Value::unknown((**e).clone())]);
                }
                (Type::Map(e), Some(0), ..) => return Value::map::<Str>((**e).clone(), []),
                (Type::Number, _, Some((min, true)), Some((max, true))) if min == max => {
                    return Value::Number(min.clone());
                }
                _ => {}
            }
        }
        Value::Unknown(Arc::new(Unknown { ty, refinement }))
    }

    /// A string, normalized.
    pub fn string(s: impl AsRef<str>) -> Value {
        Value::String(nfc(s.as_ref()))
    }

    pub fn number(n: impl Into<Number>) -> Value {
        Value::Number(n.into())
    }

    /// A list; the elements must be of type `element` (or null or unknown of it).
    pub fn list(element: Type, items: Vec<Value>) -> Value {
        Value::List(Arc::new(Collection { element, items }))
    }

    /// A set: sorts and removes duplicates. Marks of elements move to the set itself. If any element is not wholly
    /// known, elements that may turn out equal are all kept.
    pub fn set(element: Type, items: Vec<Value>) -> Value {
        let mut marks = Marks::NONE;
        let items: Vec<Value> =
            items.into_iter().map(|v| if v.has_marks() { v.unmark_deep(&mut marks) } else { v }).collect();
        Value::Set(Arc::new(Collection { element, items: into_set_elements(items) })).with_marks(marks)
    }

    /// A map from entries in any order; of duplicate keys the last wins.
    pub fn map<K: Into<Str>>(element: Type, entries: impl IntoIterator<Item = (K, Value)>) -> Value {
        let mut entries: Vec<(Str, Value)> = entries.into_iter().map(|(k, v)| (k.into(), v)).collect();
        sort_last_wins(&mut entries);
        Value::Map(Arc::new(MapValue { element, entries }))
    }

    pub fn tuple(items: Vec<Value>) -> Value {
        Value::Tuple(Arc::new(items))
    }

    /// An object from attributes in any order; of duplicate names the last wins.
    pub fn object<K: Into<Str>>(attrs: impl IntoIterator<Item = (K, Value)>) -> Value {
        let mut entries: Vec<(Str, Value)> = attrs.into_iter().map(|(k, v)| (k.into(), v)).collect();
        sort_last_wins(&mut entries);
        let (names, values): (Vec<Str>, Vec<Value>) = entries.into_iter().unzip();
        Value::Object(Arc::new(ObjectValue { names: names.into(), values: values.into() }))
    }

    /// An object whose sorted names are shared with others of the same shape.
    pub fn object_with_names(names: Arc<[Str]>, values: Vec<Value>) -> Value {
        debug_assert!(names.len() == values.len() && names.is_sorted());
        Value::Object(Arc::new(ObjectValue { names, values: values.into() }))
    }

    pub fn empty_object() -> Value {
        Value::object::<Str>([])
    }

    // ---- marks

    /// The value without its own marks, and those marks. Parts keep theirs.
    pub fn unmark(&self) -> (&Value, Marks) {
        match self {
            Value::Marked(m) => (&m.value, m.marks),
            v => (v, Marks::NONE),
        }
    }

    /// The marks of the value itself.
    pub fn marks(&self) -> Marks {
        self.unmark().1
    }

    /// Adds marks to the value itself.
    #[must_use]
    pub fn with_marks(self, marks: Marks) -> Value {
        if marks.is_empty() {
            return self;
        }
        match self {
            Value::Marked(m) if m.marks.contains(marks) => Value::Marked(m),
            Value::Marked(m) => Value::Marked(Arc::new(Marked { marks: m.marks | marks, value: m.value.clone() })),
            value => Value::Marked(Arc::new(Marked { marks, value })),
        }
    }

    /// Whether the value or any part of it is marked.
    pub fn has_marks(&self) -> bool {
        match self {
            Value::Marked(_) => true,
            Value::List(c) | Value::Set(c) => c.items.iter().any(Value::has_marks),
            Value::Map(m) => m.entries.iter().any(|(_, v)| v.has_marks()),
            Value::Tuple(items) => items.iter().any(Value::has_marks),
            Value::Object(o) => o.values.iter().any(Value::has_marks),
            _ => false,
        }
    }

    /// All marks of the value and its parts.
    pub fn deep_marks(&self) -> Marks {
        let mut marks = Marks::NONE;
        self.visit(&mut |v| {
            marks |= v.marks();
            true
        });
        marks
    }

    /// The value without any marks; those found are added to `marks`.
    #[must_use]
    pub fn unmark_deep(&self, marks: &mut Marks) -> Value {
        if !self.has_marks() {
            return self.clone();
        }
        match self {
            Value::Marked(m) => {
                *marks |= m.marks;
                m.value.unmark_deep(marks)
            }
            v => v.map_children(&mut |_, c| c.unmark_deep(marks)),
        }
    }

    /// The value without any marks, and where they were.
    pub fn unmark_with_paths(&self) -> (Value, Vec<(Path, Marks)>) {
        let mut found = Vec::new();
        if !self.has_marks() {
            return (self.clone(), found);
        }
        fn go(v: &Value, path: &Path, found: &mut Vec<(Path, Marks)>) -> Value {
            match v {
                Value::Marked(m) => {
                    found.push((path.clone(), m.marks));
                    go(&m.value, path, found)
                }
                v if v.has_marks() => v.map_children(&mut |step, c| go(c, &path.child(step()), found)),
                v => v.clone(),
            }
        }
        let v = go(self, &Path::root(), &mut found);
        (v, found)
    }

    /// Marks the parts at the given paths; a path that leads nowhere (into null or unknown) marks the deepest part
    /// that exists.
    #[must_use]
    pub fn mark_paths(&self, paths: &[(Path, Marks)]) -> Value {
        fn go(v: &Value, paths: &[(&[Step], Marks)]) -> Value {
            let mut own = Marks::NONE;
            let deeper: Vec<&(&[Step], Marks)> = paths
                .iter()
                .filter(|(steps, marks)| {
                    if steps.is_empty() {
                        own |= *marks;
                    }
                    !steps.is_empty()
                })
                .collect();
            if deeper.is_empty() {
                return v.clone().with_marks(own);
            }
            let (inner, kept) = v.unmark();
            if matches!(inner, Value::Null(_) | Value::Unknown(_)) {
                let all = deeper.iter().fold(own, |m, (_, n)| m | *n);
                return v.clone().with_marks(all);
            }
            let out = inner.map_children(&mut |step, c| {
                let step = step();
                let here: Vec<(&[Step], Marks)> = deeper
                    .iter()
                    .filter(|(steps, _)| step_matches(&steps[0], &step))
                    .map(|(steps, m)| (&steps[1..], *m))
                    .collect();
                if here.is_empty() { c.clone() } else { go(c, &here) }
            });
            out.with_marks(kept | own)
        }
        if paths.is_empty() {
            return self.clone();
        }
        let paths: Vec<(&[Step], Marks)> = paths.iter().map(|(p, m)| (&p.0[..], *m)).collect();
        go(self, &paths)
    }

    // ---- inspection (all of these look through the value's own marks)

    pub fn ty(&self) -> Type {
        match self {
            Value::Null(t) => t.clone(),
            Value::Unknown(u) => u.ty.clone(),
            Value::Bool(_) => Type::Bool,
            Value::Number(_) => Type::Number,
            Value::String(_) => Type::String,
            Value::List(c) => Type::list(c.element.clone()),
            Value::Set(c) => Type::set(c.element.clone()),
            Value::Map(m) => Type::map(m.element.clone()),
            Value::Tuple(items) => Type::tuple(items.iter().map(Value::ty)),
            Value::Object(o) => {
                let types = o.values.iter().map(Value::ty).collect();
                Type::Object(Arc::new(ObjectType::with_names(o.names.clone(), types)))
            }
            Value::Marked(m) => m.value.ty(),
        }
    }

    pub fn is_null(&self) -> bool {
        matches!(self.unmark().0, Value::Null(_))
    }

    /// Whether the value itself is known (its parts may not be).
    pub fn is_known(&self) -> bool {
        !matches!(self.unmark().0, Value::Unknown(_))
    }

    pub fn is_wholly_known(&self) -> bool {
        match self {
            Value::Unknown(_) => false,
            Value::List(c) | Value::Set(c) => c.items.iter().all(Value::is_wholly_known),
            Value::Map(m) => m.entries.iter().all(|(_, v)| v.is_wholly_known()),
            Value::Tuple(items) => items.iter().all(Value::is_wholly_known),
            Value::Object(o) => o.values.iter().all(Value::is_wholly_known),
            Value::Marked(m) => m.value.is_wholly_known(),
            _ => true,
        }
    }

    /// Whether the value will certainly not be null.
    pub fn is_not_null(&self) -> bool {
        match self.unmark().0 {
            Value::Null(_) => false,
            Value::Unknown(u) => u.refinement.not_null,
            _ => true,
        }
    }

    pub fn as_str(&self) -> Option<&str> {
        match self.unmark().0 {
            Value::String(s) => Some(s),
            _ => None,
        }
    }

    pub fn as_bool(&self) -> Option<bool> {
        match self.unmark().0 {
            Value::Bool(b) => Some(*b),
            _ => None,
        }
    }

    pub fn as_number(&self) -> Option<&Number> {
        match self.unmark().0 {
            Value::Number(n) => Some(n),
            _ => None,
        }
    }

    pub fn as_i64(&self) -> Option<i64> {
        self.as_number().and_then(Number::as_i64)
    }

    /// Number of elements of a known collection, tuple or object.
    pub fn element_count(&self) -> Option<usize> {
        match self.unmark().0 {
            Value::List(c) | Value::Set(c) => Some(c.items.len()),
            Value::Map(m) => Some(m.entries.len()),
            Value::Tuple(t) => Some(t.len()),
            Value::Object(o) => Some(o.len()),
            _ => None,
        }
    }

    /// The elements of a list, set or tuple (without the container's marks).
    pub fn items(&self) -> Option<&[Value]> {
        match self.unmark().0 {
            Value::List(c) | Value::Set(c) => Some(&c.items),
            Value::Tuple(t) => Some(t),
            _ => None,
        }
    }

    /// The entries of a map or the attributes of an object, sorted by name (without the container's marks).
    pub fn entries(&self) -> Option<Box<dyn ExactSizeIterator<Item = (&Str, &Value)> + '_>> {
        match self.unmark().0 {
            Value::Map(m) => Some(Box::new(m.entries.iter().map(|(k, v)| (k, v)))),
            Value::Object(o) => Some(Box::new(o.iter())),
            _ => None,
        }
    }

    /// Attribute of a known object or element of a known map, without adding the container's marks.
    pub fn get(&self, name: &str) -> Option<&Value> {
        match self.unmark().0 {
            Value::Object(o) => o.get(name),
            Value::Map(m) => m.get(name),
            _ => None,
        }
    }

    /// The part one step down, with the container's marks added; `None` where there is none.
    pub fn step(&self, step: &Step) -> Option<Value> {
        let (v, marks) = self.unmark();
        let part = match (v, step) {
            (Value::Object(o), Step::Attr(n) | Step::Key(n)) => o.get(n)?.clone(),
            (Value::Map(m), Step::Key(n) | Step::Attr(n)) => m.get(n)?.clone(),
            (Value::List(c), Step::Index(i)) => c.items.get(*i as usize)?.clone(),
            (Value::Tuple(t), Step::Index(i)) => t.get(*i as usize)?.clone(),
            (Value::Set(c), Step::Element(e)) => c.items.iter().find(|i| *i == e)?.clone(),
            _ => return None,
        };
        Some(part.with_marks(marks))
    }

    // ---- traversal

    /// Calls `f` for the value and all its parts, outermost first; does not descend where `f` answers false.
    pub fn visit(&self, f: &mut impl FnMut(&Value) -> bool) {
        if !f(self) {
            return;
        }
        match self {
            Value::Marked(m) => m.value.visit(f),
            Value::List(c) | Value::Set(c) => c.items.iter().for_each(|v| v.visit(f)),
            Value::Map(m) => m.entries.iter().for_each(|(_, v)| v.visit(f)),
            Value::Tuple(t) => t.iter().for_each(|v| v.visit(f)),
            Value::Object(o) => o.values.iter().for_each(|v| v.visit(f)),
            _ => {}
        }
    }

    /// The same container with each direct part replaced; the step to it is built only on demand. Sets are sorted
    /// again. A marked value keeps its marks.
    #[must_use]
    pub fn map_children(&self, f: &mut dyn FnMut(&dyn Fn() -> Step, &Value) -> Value) -> Value {
        match self {
            Value::List(c) => Value::List(Arc::new(Collection {
                element: c.element.clone(),
                items: c.items.iter().enumerate().map(|(i, v)| f(&|| Step::Index(i as u64), v)).collect(),
            })),
            Value::Set(c) => {
                Value::set(c.element.clone(), c.items.iter().map(|v| f(&|| Step::Element(v.clone()), v)).collect())
            }
            Value::Map(m) => Value::Map(Arc::new(MapValue {
                element: m.element.clone(),
                entries: m.entries.iter().map(|(k, v)| (k.clone(), f(&|| Step::Key(k.clone()), v))).collect(),
            })),
            Value::Tuple(t) => {
                Value::tuple(t.iter().enumerate().map(|(i, v)| f(&|| Step::Index(i as u64), v)).collect())
            }
            Value::Object(o) => Value::Object(Arc::new(ObjectValue {
                names: o.names.clone(),
                values: o.iter().map(|(n, v)| f(&|| Step::Attr(n.clone()), v)).collect(),
            })),
            Value::Marked(m) => m.value.map_children(f).with_marks(m.marks),
            v => v.clone(),
        }
    }

    /// Rebuilds the value from the inside out: `f` gets each part with its path, its own parts already replaced.
    #[must_use]
    pub fn transform(&self, f: &mut dyn FnMut(&Path, Value) -> Value) -> Value {
        fn go(v: &Value, path: &mut Path, f: &mut dyn FnMut(&Path, Value) -> Value) -> Value {
            let rebuilt = v.map_children(&mut |step, c| {
                path.0.push(step());
                let r = go(c, path, f);
                path.0.pop();
                r
            });
            f(path, rebuilt)
        }
        go(self, &mut Path::root(), f)
    }
}

fn sort_last_wins(entries: &mut Vec<(Str, Value)>) {
    if entries.is_sorted_by(|a, b| a.0 < b.0) {
        return;
    }
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    entries.dedup_by(|later, first| {
        let same = later.0 == first.0;
        if same {
            std::mem::swap(&mut later.1, &mut first.1);
        }
        same
    });
}

fn step_matches(wanted: &Step, actual: &Step) -> bool {
    match (wanted, actual) {
        (Step::Attr(a) | Step::Key(a), Step::Attr(b) | Step::Key(b)) => a == b,
        (a, b) => a == b,
    }
}

impl From<bool> for Value {
    fn from(b: bool) -> Self {
        Value::Bool(b)
    }
}

impl From<&str> for Value {
    fn from(s: &str) -> Self {
        Value::string(s)
    }
}

impl From<String> for Value {
    fn from(s: String) -> Self {
        Value::string(s)
    }
}

impl From<i64> for Value {
    fn from(i: i64) -> Self {
        Value::number(i)
    }
}

impl From<Number> for Value {
    fn from(n: Number) -> Self {
        Value::Number(n)
    }
}

impl fmt::Debug for Value {
    /// For tests and developers; sensitive parts are redacted.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null(t) => write!(f, "null({t})"),
            Value::Unknown(u) if u.refinement == Refinement::default() => write!(f, "unknown({})", u.ty),
            Value::Unknown(u) => write!(f, "unknown({}, {:?})", u.ty, u.refinement),
            Value::Bool(b) => write!(f, "{b}"),
            Value::Number(n) => write!(f, "{n}"),
            Value::String(s) => write!(f, "{s:?}"),
            Value::List(c) => f.write_str("list").and_then(|()| f.debug_list().entries(&c.items).finish()),
            Value::Set(c) => f.write_str("set").and_then(|()| f.debug_list().entries(&c.items).finish()),
            Value::Map(m) => {
                f.write_str("map").and_then(|()| f.debug_map().entries(m.entries.iter().map(|(k, v)| (k, v))).finish())
            }
            Value::Tuple(t) => f.debug_list().entries(t.iter()).finish(),
            Value::Object(o) => f.debug_map().entries(o.iter()).finish(),
            Value::Marked(m) if m.marks.contains(Marks::SENSITIVE) => f.write_str("(sensitive)"),
            Value::Marked(m) => write!(f, "{:?}", m.value),
        }
    }
}

//! Conversion between protocol values and the Rust types of model fields. The derive macro calls this; authors meet it
//! only when they give a type of their own to attributes.
//!
//! Decoding may lose something (a list with an unknown element becomes `Attr::Unknown`, a number becomes `f64`), so the
//! SDK never sends back a whole re-encoded model: it writes only what the author's code changed; see [`rewrite`].

use crate::attr::{Attr, Set};
use crate::error::Error;
use crate::model::{Model, NestedObject, Nesting};
use crate::timeouts::Timeouts;
use gpuform_schema::Number;
use gpuform_schema::path::{Path, Step};
use gpuform_schema::types::Type;
use gpuform_schema::value::{Str, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Why a value has no Rust form.
#[derive(Debug)]
pub enum Undecodable {
    /// It is not known yet.
    Unknown,
    /// It is not what the type wants; where and why.
    Invalid(Box<(Path, String)>),
}

impl Undecodable {
    fn invalid(why: impl Into<String>) -> Undecodable {
        Undecodable::Invalid(Box::new((Path::root(), why.into())))
    }

    /// The same one level up.
    fn below(self, step: Step) -> Undecodable {
        match self {
            Undecodable::Unknown => Undecodable::Unknown,
            Undecodable::Invalid(mut inner) => {
                inner.0.0.insert(0, step);
                Undecodable::Invalid(inner)
            }
        }
    }
}

impl From<Undecodable> for Error {
    fn from(e: Undecodable) -> Error {
        match e {
            Undecodable::Unknown => Error::new("Invalid value").detail("The whole value is unknown."),
            Undecodable::Invalid(inner) => Error::new("Invalid value").detail(inner.1).at_path(inner.0),
        }
    }
}

/// A Rust type of attribute values or of parts of them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the type of an attribute",
    note = "use String, bool, i64, i32, f64, Vec<T>, Set<T>, BTreeMap<String, T>, Value, or a struct that derives Model"
)]
pub trait AttrValue: Sized + Clone + Send + Sync + 'static {
    fn ty() -> Type;

    fn decode(value: &Value) -> Result<Self, Undecodable>;

    fn encode(&self) -> Value;

    /// The object inside, or the one of which this is a collection.
    fn inner() -> Option<NestedObject> {
        None
    }
}

/// The type of an `#[attr]` field: [`Attr`].
#[diagnostic::on_unimplemented(
    message = "an #[attr] field has the type Attr<T>, not `{Self}`",
    note = "wrap the type: `Attr<{Self}>`"
)]
pub trait Attribute: AttrValue {
    type Value: AttrValue;

    fn default_value(value: impl Into<Self::Value>) -> Value {
        value.into().encode()
    }
}

impl<T: AttrValue> Attribute for Attr<T> {
    type Value = T;
}

/// The type of a `#[block]` field: `Vec<T>`, `Option<T>` (at most one) or `Attr<Vec<T>>` where `T` derives `Model`.
#[diagnostic::on_unimplemented(
    message = "a #[block] field has the type Vec<T>, Option<T> or Attr<Vec<T>>, not `{Self}`",
    note = "T is a struct that derives Model"
)]
pub trait BlockValue: Sized {
    type Item: Model;
    /// How many blocks there may be unless said otherwise; 0: no limit.
    const MAX: u64;

    fn decode(value: &Value) -> Result<Self, Undecodable>;

    fn encode(&self, nesting: Nesting) -> Value;
}

impl<T: AttrValue> AttrValue for Attr<T> {
    fn ty() -> Type {
        T::ty()
    }

    fn decode(value: &Value) -> Result<Self, Undecodable> {
        if value.is_null() {
            return Ok(Attr::Null);
        }
        match T::decode(value) {
            Ok(v) => Ok(Attr::Known(v)),
            Err(Undecodable::Unknown) => Ok(Attr::Unknown),
            Err(e) => Err(e),
        }
    }

    fn encode(&self) -> Value {
        match self {
            Attr::Null => Value::Null(T::ty()),
            Attr::Unknown => Value::unknown(T::ty()),
            Attr::Known(v) => v.encode(),
        }
    }

    fn inner() -> Option<NestedObject> {
        T::inner()
    }
}

/// The known, not null value, or why not.
fn present(value: &Value) -> Result<&Value, Undecodable> {
    match value.unmark().0 {
        Value::Unknown(_) => Err(Undecodable::Unknown),
        Value::Null(_) => Err(Undecodable::invalid("A null value is not allowed here.")),
        v => Ok(v),
    }
}

fn mismatch(wanted: &str, value: &Value) -> Undecodable {
    Undecodable::invalid(format!("A {wanted} is needed, not a {}.", value.ty().friendly_name()))
}

impl AttrValue for String {
    fn ty() -> Type {
        Type::String
    }

    fn decode(value: &Value) -> Result<Self, Undecodable> {
        let value = present(value)?;
        value.as_str().map(str::to_owned).ok_or_else(|| mismatch("string", value))
    }

    fn encode(&self) -> Value {
        Value::string(self)
    }
}

impl AttrValue for bool {
    fn ty() -> Type {
        Type::Bool
    }

    fn decode(value: &Value) -> Result<Self, Undecodable> {
        let value = present(value)?;
        value.as_bool().ok_or_else(|| mismatch("bool", value))
    }

    fn encode(&self) -> Value {
        Value::Bool(*self)
    }
}

impl AttrValue for i64 {
    fn ty() -> Type {
        Type::Number
    }

    fn decode(value: &Value) -> Result<Self, Undecodable> {
        let value = present(value)?;
        let number = value.as_number().ok_or_else(|| mismatch("number", value))?;
        number.as_i64().ok_or_else(|| Undecodable::invalid(format!("{number} is not a whole number in range.")))
    }

    fn encode(&self) -> Value {
        Value::number(*self)
    }
}

impl AttrValue for i32 {
    fn ty() -> Type {
        Type::Number
    }

    fn decode(value: &Value) -> Result<Self, Undecodable> {
        let wide = i64::decode(value)?;
        i32::try_from(wide).map_err(|_| Undecodable::invalid(format!("{wide} is out of range.")))
    }

    fn encode(&self) -> Value {
        Value::number(*self)
    }
}

impl AttrValue for f64 {
    fn ty() -> Type {
        Type::Number
    }

    fn decode(value: &Value) -> Result<Self, Undecodable> {
        let value = present(value)?;
        value.as_number().map(Number::to_f64).ok_or_else(|| mismatch("number", value))
    }

    /// The number with the shortest decimal form that reads back as this float: 0.1 is the 0.1 of a configuration.
    fn encode(&self) -> Value {
        Number::parse(&self.to_string()).map_or(Value::Null(Type::Number), Value::Number)
    }
}

/// A value of any type (a dynamic attribute).
impl AttrValue for Value {
    fn ty() -> Type {
        Type::Dynamic
    }

    fn decode(value: &Value) -> Result<Self, Undecodable> {
        present(value)?;
        Ok(value.clone())
    }

    fn encode(&self) -> Value {
        self.clone()
    }
}

fn decode_items<T: AttrValue>(value: &Value, wanted: &str) -> Result<Vec<T>, Undecodable> {
    let value = present(value)?;
    let items = value.items().ok_or_else(|| mismatch(wanted, value))?;
    let step = |i: usize, item: &Value| match value {
        Value::Set(_) => Step::Element(item.clone()),
        _ => Step::Index(i as u64),
    };
    items.iter().enumerate().map(|(i, v)| T::decode(v).map_err(|e| e.below(step(i, v)))).collect()
}

impl<T: AttrValue> AttrValue for Vec<T> {
    fn ty() -> Type {
        Type::list(T::ty())
    }

    fn decode(value: &Value) -> Result<Self, Undecodable> {
        decode_items(value, "list")
    }

    fn encode(&self) -> Value {
        Value::list(T::ty(), self.iter().map(T::encode).collect())
    }

    fn inner() -> Option<NestedObject> {
        T::inner()?.collected(Nesting::List)
    }
}

impl<T: AttrValue> AttrValue for Set<T> {
    fn ty() -> Type {
        Type::set(T::ty())
    }

    fn decode(value: &Value) -> Result<Self, Undecodable> {
        decode_items(value, "set").map(Set::from)
    }

    fn encode(&self) -> Value {
        Value::set(T::ty(), self.iter().map(T::encode).collect())
    }

    fn inner() -> Option<NestedObject> {
        T::inner()?.collected(Nesting::Set)
    }
}

impl<T: AttrValue> AttrValue for BTreeMap<String, T> {
    fn ty() -> Type {
        Type::map(T::ty())
    }

    fn decode(value: &Value) -> Result<Self, Undecodable> {
        let value = present(value)?;
        let entries = value.entries().ok_or_else(|| mismatch("map", value))?;
        let decode = |(k, v): (&Str, &Value)| match T::decode(v) {
            Ok(v) => Ok((k.to_string(), v)),
            Err(e) => Err(e.below(Step::Key(k.clone()))),
        };
        entries.map(decode).collect()
    }

    fn encode(&self) -> Value {
        Value::map(T::ty(), self.iter().map(|(k, v)| (gpuform_schema::value::nfc(k), v.encode())))
    }

    fn inner() -> Option<NestedObject> {
        T::inner()?.collected(Nesting::Map)
    }
}

/// Blocks whose number is not known yet count as none.
impl<T: Model> BlockValue for Vec<T> {
    type Item = T;
    const MAX: u64 = 0;

    fn decode(value: &Value) -> Result<Self, Undecodable> {
        let items = value.items().unwrap_or_default();
        let decode = |(i, v): (usize, &Value)| T::decode(v).map_err(|e| e.below(Step::Index(i as u64)));
        items.iter().enumerate().map(decode).filter(|item| !matches!(item, Err(Undecodable::Unknown))).collect()
    }

    fn encode(&self, nesting: Nesting) -> Value {
        let items = self.iter().map(T::encode).collect();
        match nesting {
            Nesting::Set => Value::set(T::object().ty(), items),
            _ => Value::list(T::object().ty(), items),
        }
    }
}

/// At most one block; one whose presence is not known yet counts as none.
impl<T: Model> BlockValue for Option<T> {
    type Item = T;
    const MAX: u64 = 1;

    fn decode(value: &Value) -> Result<Self, Undecodable> {
        let (one, step) = match value.unmark().0 {
            Value::Object(_) => (value, None),
            v => match v.items().and_then(<[Value]>::first) {
                Some(first) => (first, Some(Step::Index(0))),
                None => return Ok(None),
            },
        };
        match T::decode(one) {
            Ok(block) => Ok(Some(block)),
            Err(Undecodable::Unknown) => Ok(None),
            Err(e) => Err(step.into_iter().fold(e, Undecodable::below)),
        }
    }

    fn encode(&self, nesting: Nesting) -> Value {
        let items = || self.iter().map(T::encode).collect();
        match nesting {
            Nesting::Set => Value::set(T::object().ty(), items()),
            Nesting::List => Value::list(T::object().ty(), items()),
            _ => self.as_ref().map_or_else(|| Value::Null(T::object().ty()), T::encode),
        }
    }
}

/// Blocks of which it matters whether they are known yet. No blocks are a known empty list, never null.
impl<T: Model> BlockValue for Attr<Vec<T>> {
    type Item = T;
    const MAX: u64 = 0;

    fn decode(value: &Value) -> Result<Self, Undecodable> {
        if value.is_known() { <Vec<T> as BlockValue>::decode(value).map(Attr::Known) } else { Ok(Attr::Unknown) }
    }

    fn encode(&self, nesting: Nesting) -> Value {
        match (self, nesting) {
            (Attr::Known(blocks), _) => BlockValue::encode(blocks, nesting),
            (Attr::Null, _) => BlockValue::encode(&Vec::<T>::new(), nesting),
            (Attr::Unknown, Nesting::Set) => Value::unknown(Type::set(T::object().ty())),
            (Attr::Unknown, _) => Value::unknown(Type::list(T::object().ty())),
        }
    }
}

/// The fields of an object being decoded; used by the derive macro.
pub struct Fields<'a>(&'a Value);

impl<'a> Fields<'a> {
    pub fn of(value: &'a Value) -> Result<Fields<'a>, Undecodable> {
        match present(value)? {
            object @ Value::Object(_) => Ok(Fields(object)),
            other => Err(mismatch("object", other)),
        }
    }

    pub fn attribute<A: Attribute>(&self, name: &str) -> Result<A, Undecodable> {
        self.part(name, A::decode, || A::ty())
    }

    pub fn blocks<B: BlockValue>(&self, name: &str) -> Result<B, Undecodable> {
        self.part(name, B::decode, || Type::Dynamic)
    }

    pub fn timeouts(&self, name: &str) -> Result<Timeouts, Undecodable> {
        self.part(name, |v| Ok(Timeouts::decode(v)), || Type::Dynamic)
    }

    fn part<T>(
        &self,
        name: &str,
        decode: impl FnOnce(&Value) -> Result<T, Undecodable>,
        ty: impl FnOnce() -> Type,
    ) -> Result<T, Undecodable> {
        let decoded = match self.0.get(name) {
            Some(value) => decode(value),
            None => decode(&Value::Null(ty())),
        };
        decoded.map_err(|e| e.below(Step::Attr(name.into())))
    }
}

/// `original` with exactly those parts replaced that differ between `before` and `after`, which are two encodings of
/// the model decoded from it, taken before and after the author's code ran.
pub(crate) fn rewrite(original: &Value, before: &Value, after: &Value) -> Value {
    if before == after {
        return original.clone();
    }
    match (original, before, after) {
        (Value::Object(o), Value::Object(b), Value::Object(a))
            if same_names(&o.names, &a.names) && b.len() == a.len() =>
        {
            let values = o.values.iter().zip(&b.values).zip(&a.values).map(|((o, b), a)| rewrite(o, b, a)).collect();
            Value::object_with_names(Arc::clone(&o.names), values)
        }
        (Value::List(o), Value::List(b), Value::List(a))
            if o.items.len() == b.items.len() && b.items.len() == a.items.len() =>
        {
            let items = o.items.iter().zip(&b.items).zip(&a.items).map(|((o, b), a)| rewrite(o, b, a)).collect();
            Value::list(o.element.clone(), items)
        }
        _ => after.clone(),
    }
}

fn same_names(a: &Arc<[Str]>, b: &Arc<[Str]>) -> bool {
    Arc::ptr_eq(a, b) || a == b
}

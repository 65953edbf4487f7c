//! Values for what a mock provider computes: those that the test gives, and made-up ones for the rest. Strings are eight
//! random letters and digits, numbers 0, truth values false, collections empty.

use crate::lang::convert::convert;
use gpuform_schema::schema::{Attribute, AttributeType, Block, NestedAttributes, Nesting};
use gpuform_schema::{Path, Str, Type, Value};
use std::collections::{BTreeMap, HashMap};

/// Made-up values by the place that they are for, so that a place gets the same value when it is asked about again.
pub type Made = HashMap<Path, Value>;

/// What is put in the place of a computed value that is missing.
pub enum Fill<'a> {
    Unknown,
    Values(&'a mut Made),
}

/// Which values are missing.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// Those that the configuration leaves out.
    Null,
    /// Those that were planned as not known yet.
    Unknown,
}

/// A value given by the test that does not fit the schema: where, and why.
pub struct Unfit {
    pub path: Path,
    pub message: String,
}

/// Completes an object of a schema with what is computed: from `given`, an object of the test, where it has it.
///
/// # Errors
/// Given values that do not fit.
pub fn complete(
    block: &Block,
    object: &Value,
    missing: Missing,
    given: Option<&Value>,
    fill: Fill<'_>,
) -> Result<Value, Vec<Unfit>> {
    let mut work = Work { missing, fill, unfit: Vec::new() };
    let value = work.block(block, object, given, &Path::root());
    if work.unfit.is_empty() { Ok(value) } else { Err(work.unfit) }
}

struct Work<'a> {
    missing: Missing,
    fill: Fill<'a>,
    unfit: Vec<Unfit>,
}

impl Work<'_> {
    fn block(&mut self, block: &Block, object: &Value, given: Option<&Value>, at: &Path) -> Value {
        let Some(entries) = object.entries() else { return object.clone() };
        Value::object(entries.map(|(name, v)| {
            let given = given.and_then(|g| g.get(name));
            let at = at.attr(name.clone());
            let completed = if let Some(a) = block.attributes.get(name) {
                self.attribute(a, v, given, &at)
            } else if let Some(nested) = block.blocks.get(name) {
                self.nested(nested.nesting, v, given, &at, &mut |w, v, given, at| w.block(&nested.block, v, given, at))
            } else {
                v.clone()
            };
            (name.clone(), completed)
        }))
    }

    fn attributes(
        &mut self,
        all: &BTreeMap<Str, Attribute>,
        object: &Value,
        given: Option<&Value>,
        at: &Path,
    ) -> Value {
        let Some(entries) = object.entries() else { return object.clone() };
        Value::object(entries.map(|(name, v)| {
            let given = given.and_then(|g| g.get(name));
            let completed = match all.get(name) {
                Some(a) => self.attribute(a, v, given, &at.attr(name.clone())),
                None => v.clone(),
            };
            (name.clone(), completed)
        }))
    }

    fn attribute(&mut self, a: &Attribute, v: &Value, given: Option<&Value>, at: &Path) -> Value {
        let is_missing = match self.missing {
            Missing::Null => v.is_null(),
            Missing::Unknown => !v.is_known(),
        };
        if a.computed && !a.write_only && is_missing {
            return self.missing_value(&a.value_type(), given, at);
        }
        match &a.ty {
            AttributeType::Nested(n) if v.is_known() && !v.is_null() => self.inner(n, v, given, at),
            _ => v.clone(),
        }
    }

    fn inner(&mut self, n: &NestedAttributes, v: &Value, given: Option<&Value>, at: &Path) -> Value {
        self.nested(n.nesting, v, given, at, &mut |w, v, given, at| w.attributes(&n.attributes, v, given, at))
    }

    /// The blocks of one type, or the objects of a structured attribute: each is completed from the same given object.
    fn nested(
        &mut self,
        nesting: Nesting,
        v: &Value,
        given: Option<&Value>,
        at: &Path,
        one: &mut dyn FnMut(&mut Self, &Value, Option<&Value>, &Path) -> Value,
    ) -> Value {
        let given = given.filter(|g| !g.is_null());
        if let Some(g) = given.filter(|g| !matches!(g, Value::Object(_) | Value::Map(_))) {
            let message = format!(
                "an object is needed, whose values are used in each block, but this is {}",
                g.ty().friendly_name()
            );
            self.unfit.push(Unfit { path: at.clone(), message });
            return v.clone();
        }
        if v.is_null() || !v.is_known() {
            return v.clone();
        }
        if matches!(nesting, Nesting::Single | Nesting::Group) {
            return one(self, v, given, at);
        }
        let mut place = 0;
        v.map_children(&mut |_, child| {
            place += 1;
            one(self, child, given, &at.index(place - 1))
        })
    }

    fn missing_value(&mut self, ty: &Type, given: Option<&Value>, at: &Path) -> Value {
        let Fill::Values(made) = &mut self.fill else { return Value::unknown(ty.clone()) };
        match fitted(ty, given, at, made) {
            Ok(v) => v,
            Err(message) => {
                self.unfit.push(Unfit { path: at.clone(), message });
                Value::unknown(ty.clone())
            }
        }
    }
}

/// A given value as one of a type, with what it leaves out made up.
fn fitted(ty: &Type, given: Option<&Value>, at: &Path, made: &mut Made) -> Result<Value, String> {
    let Some(given) = given else { return Ok(made.entry(at.clone()).or_insert_with(|| random(ty)).clone()) };
    match (ty, given) {
        (Type::Object(attributes), Value::Object(_) | Value::Map(_)) => {
            let mut values = Vec::new();
            for (name, ty) in attributes.iter() {
                values.push((name.clone(), fitted(ty, given.get(name), &at.attr(name.clone()), made)?));
            }
            Ok(Value::object(values))
        }
        (Type::List(element) | Type::Set(element), Value::Tuple(_) | Value::List(_) | Value::Set(_)) => {
            let mut items = Vec::new();
            for (i, item) in given.items().unwrap_or_default().iter().enumerate() {
                items.push(fitted(element, Some(item), &at.index(i), made)?);
            }
            convert(&Value::tuple(items), ty).map_err(|e| e.to_string())
        }
        (Type::Map(element), Value::Object(_) | Value::Map(_)) => {
            let mut entries = Vec::new();
            for (key, item) in given.entries().into_iter().flatten() {
                entries.push((key.clone(), fitted(element, Some(item), &at.key(key.clone()), made)?));
            }
            convert(&Value::object(entries), ty).map_err(|e| e.to_string())
        }
        _ => convert(given, ty).map_err(|e| e.to_string()),
    }
}

/// A made-up value of a type.
fn random(ty: &Type) -> Value {
    match ty {
        Type::String => Value::string(letters()),
        Type::Number => Value::number(0),
        Type::Bool => Value::Bool(false),
        Type::List(e) => Value::list((**e).clone(), Vec::new()),
        Type::Set(e) => Value::set((**e).clone(), Vec::new()),
        Type::Map(e) => Value::map::<Str>((**e).clone(), []),
        Type::Tuple(items) => Value::tuple(items.iter().map(random).collect()),
        Type::Object(attributes) => Value::object(attributes.iter().map(|(n, t)| (n.clone(), random(t)))),
        Type::Dynamic => Value::Null(Type::Dynamic),
    }
}

/// Eight random lower-case letters and digits.
fn letters() -> String {
    const ALPHABET: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
    let bytes = uuid::Uuid::new_v4();
    // The version and variant bits of a UUID are not random: the bytes with them are left out.
    let random = bytes.as_bytes().iter().enumerate().filter(|(i, _)| *i != 6 && *i != 8).map(|(_, b)| *b);
    random.take(8).map(|b| char::from(ALPHABET[usize::from(b) % ALPHABET.len()])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(ty: Type, computed: bool) -> Attribute {
        Attribute {
            ty: AttributeType::Value(ty),
            description: Default::default(),
            required: !computed,
            optional: false,
            computed,
            sensitive: false,
            write_only: false,
            deprecated: false,
        }
    }

    fn block() -> Block {
        let mut block = Block::default();
        block.attributes.insert("name".into(), attribute(Type::String, false));
        block.attributes.insert("id".into(), attribute(Type::String, true));
        block.attributes.insert("ports".into(), attribute(Type::list(Type::Number), true));
        block
    }

    fn object(block: &Block) -> Value {
        let named = [("name".into(), Value::string("n"))];
        let empty = block.empty_value();
        let rest = empty.entries().into_iter().flatten().filter(|(n, _)| &***n != "name");
        Value::object(rest.map(|(n, v)| (n.clone(), v.clone())).chain(named))
    }

    #[test]
    fn given_values_are_taken_and_the_rest_is_made_up() {
        let block = block();
        let given = Value::object([("ports", Value::tuple(vec![Value::string("80")])), ("name", Value::string("x"))]);
        let mut made = Made::new();
        let filled = complete(&block, &object(&block), Missing::Null, Some(&given), Fill::Values(&mut made));
        let filled = filled.unwrap_or_else(|_| Value::null());
        assert_eq!(filled.get("name"), Some(&Value::string("n")), "what is not computed is not given");
        assert_eq!(filled.get("ports"), Some(&Value::list(Type::Number, vec![Value::number(80)])));
        let id = filled.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
        assert!(id.len() == 8 && id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit()), "{id}");
        let again = complete(&block, &object(&block), Missing::Null, Some(&given), Fill::Values(&mut made));
        assert_eq!(again.unwrap_or_else(|_| Value::null()), filled, "asked again, the same");
    }

    #[test]
    fn a_given_value_of_the_wrong_type_is_said_with_its_place() {
        let block = block();
        let given = Value::object([("id", Value::tuple(Vec::new()))]);
        let failed = complete(&block, &object(&block), Missing::Null, Some(&given), Fill::Values(&mut Made::new()));
        let unfit: Vec<String> = failed.err().into_iter().flatten().map(|u| u.path.to_string()).collect();
        assert_eq!(unfit, [".id"]);
    }
}

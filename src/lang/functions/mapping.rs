//! Functions over maps and objects.

use super::FunctionError;
use super::signature::{ListOf, MapOf, OfType, Open, Raw, Rest, Typed, Unsettled, functions};
use crate::lang::convert::{convert, described, unify};
use gpuform_schema::types::Type;
use gpuform_schema::value::{Marks, Str, Value};
use std::collections::{BTreeMap, HashSet};

functions! {
    /// Lists the keys of a map or the attribute names of an object, sorted.
    fn keys(
        /// The map. The keys of an object are returned as a tuple.
        inputMap: Open,
    ) -> Result<Value, FunctionError> {
        let (v, marks) = inputMap.value.unmark();
        let name = |n: &Str| Value::String(n.clone());
        let keys = match (v, v.ty()) {
            (Value::Map(m), _) => Value::list(Type::String, m.entries.iter().map(|(k, _)| name(k)).collect()),
            (_, Type::Object(attrs)) => Value::tuple(attrs.iter().map(|(n, _)| name(n)).collect()),
            (Value::Unknown(_), Type::Map(_)) => Value::unknown_not_null(Type::list(Type::String)),
            (_, Type::Dynamic) => Value::unknown(Type::Dynamic),
            (_, ty) => return Err(map_required(0, &ty)),
        };
        Ok(keys.with_marks(marks))
    }

    /// Finds the element of a map with a key, or a default if there is none.
    fn lookup(
        inputMap: OfType,
        key: Open<Str>,
        /// What to return if there is no such key.
        default: Rest<Raw>,
    ) -> Result<Value, FunctionError> {
        let ((v, marks), (key, key_marks)) = (inputMap.value.unmark(), key.value.unmark());
        let marks = marks | key_marks;
        let default = match &default.0[..] {
            [] => None,
            [one] => Some(&one.0),
            _ => return Err(FunctionError::call("at most one default is allowed")),
        };
        let key = key.as_str();
        let found = match (v, v.ty()) {
            (_, Type::Map(element)) => {
                let default = default.map(|d| convert(d, &element)).transpose().map_err(|e| {
                    FunctionError::argument(2, format!("the default must be of the type of the elements: {e}"))
                })?;
                match (v, key) {
                    (Value::Map(m), Some(key)) => match m.get(key).cloned().or(default) {
                        Some(found) => found,
                        None => return Err(FunctionError::call(format!("there is no element with the key {key:?}"))),
                    },
                    _ => Value::unknown((*element).clone()),
                }
            }
            (_, Type::Object(attrs)) => match key {
                None => Value::unknown(Type::Dynamic),
                Some(key) => match (v.get(key), attrs.get(key), default) {
                    (Some(found), _, _) => found.clone(),
                    (None, Some(ty), _) => Value::unknown(ty.clone()),
                    (None, None, Some(default)) if !v.is_known() => {
                        let mut marks = Marks::NONE;
                        Value::unknown(default.unmark_deep(&mut marks).ty()).with_marks(marks)
                    }
                    (None, None, Some(default)) => default.clone(),
                    (None, None, None) => {
                        return Err(FunctionError::argument(0, format!("the object has no attribute named {key:?}")));
                    }
                },
            },
            (_, ty) => return Err(map_required(0, &ty)),
        };
        Ok(found.with_marks(marks))
    }

    /// Takes those elements of a list whose keys, at the same positions of a second list, are in a third one.
    fn matchkeys(
        values: Unsettled<ListOf<Value>>,
        keys: Unsettled<ListOf<Value>>,
        searchset: Unsettled<ListOf<Value>>,
    ) -> Result<Typed<ListOf<Value>>, FunctionError> {
        let ty = values.value.ty();
        if ![&values, &keys, &searchset].iter().all(|v| v.value.is_known()) {
            return Ok(Typed::new(Value::unknown_not_null(ty)));
        }
        let items = values.value.items().unwrap_or_default();
        if values.value.element_count() != keys.value.element_count() {
            return Err(FunctionError::call("the lists of values and keys must be of the same length"));
        }
        let common = unify(&[keys.value.ty(), searchset.value.ty()])
            .ok_or_else(|| FunctionError::call("the keys and the set to search must be of one type"))?;
        if searchset.value.element_count() == Some(0) {
            return Ok(Typed::new(Value::list(ty.element().cloned().unwrap_or(Type::Dynamic), Vec::new())));
        }
        if ![&values.value, &keys.value, &searchset.value].iter().all(|v| v.is_wholly_known()) {
            return Ok(Typed::new(Value::unknown_not_null(ty)));
        }
        let fitting = |v: &Value| convert(v, &common).map_err(|e| FunctionError::call(e.to_string()));
        let (keys, searchset) = (fitting(&keys.value)?, fitting(&searchset.value)?);
        let wanted: HashSet<&Value> = searchset.items().unwrap_or_default().iter().collect();
        let pairs = items.iter().zip(keys.items().unwrap_or_default());
        let matching = pairs.filter(|(_, k)| wanted.contains(k)).map(|(v, _)| v.clone()).collect();
        Ok(Typed::new(Value::list(ty.element().cloned().unwrap_or(Type::Dynamic), matching)))
    }

    /// Puts the elements of maps, or the attributes of objects, together. Of elements with the same key the last wins.
    fn merge(maps: Rest<Raw>) -> Result<Value, FunctionError> {
        let mut marks = Marks::NONE;
        let mut merged: BTreeMap<Str, Value> = BTreeMap::new();
        let mut types: Vec<Type> = Vec::new();
        let (mut known, mut open, mut attributes_known) = (true, false, true);
        for map in &maps.0 {
            let (v, own) = map.0.unmark();
            marks |= own;
            let ty = v.ty();
            open |= ty.is_dynamic();
            match (v, &ty) {
                (Value::Null(_), Type::Dynamic) => {}
                (_, Type::Map(_) | Type::Object(_)) => {}
                (Value::Unknown(_), Type::Dynamic) => known = false,
                // After an argument without a type Terraform no longer checks types, only elements.
                (v, _) if open && (!known || v.element_count() == Some(0)) => continue,
                (_, ty) => {
                    let message = format!("all arguments must be maps or objects, but one is {}", described(ty));
                    return Err(FunctionError::call(message));
                }
            }
            match v {
                Value::Unknown(u) => {
                    known = false;
                    match &u.ty {
                        Type::Object(attrs) => {
                            merged.extend(attrs.iter().map(|(n, t)| (n.clone(), Value::unknown(t.clone()))));
                        }
                        _ => attributes_known = false,
                    }
                }
                v => merged.extend(v.entries().into_iter().flatten().map(|(k, v)| (k.clone(), v.clone()))),
            }
            types.push(ty);
        }
        let same = types.split_first().and_then(|(first, rest)| rest.iter().all(|t| t == first).then_some(first));
        let result = match same {
            Some(Type::Map(element)) if known => Value::map((**element).clone(), merged),
            _ if known => Value::object(merged),
            Some(Type::Dynamic) => Value::unknown(Type::Dynamic),
            Some(ty) => Value::unknown_not_null(ty.clone()),
            None if attributes_known && !open => {
                Value::unknown_not_null(Type::object(merged.into_iter().map(|(n, v)| (n, v.ty()))))
            }
            None => Value::unknown(Type::Dynamic),
        };
        Ok(result.with_marks(marks))
    }

    /// Swaps keys and values of a map of lists of strings: each string becomes a key for the list of the keys that it
    /// was found under.
    fn transpose(values: MapOf<ListOf<Str>>) -> Result<Typed<MapOf<ListOf<Str>>>, FunctionError> {
        if !values.value.is_wholly_known() {
            return Ok(Typed::unknown());
        }
        let mut swapped: BTreeMap<Str, Vec<Value>> = BTreeMap::new();
        for (key, list) in values.value.entries().into_iter().flatten() {
            let items = list.items().ok_or_else(|| FunctionError::call(format!("the list of {key:?} is null")))?;
            for item in items {
                let Value::String(item) = item else {
                    return Err(FunctionError::call(format!("the list of {key:?} contains null")));
                };
                swapped.entry(item.clone()).or_default().push(Value::String(key.clone()));
            }
        }
        let lists = swapped.into_iter().map(|(k, keys)| (k, Value::list(Type::String, keys)));
        Ok(Typed::new(Value::map(Type::list(Type::String), lists)))
    }

    /// Lists the values of a map or object, in the order of their keys.
    fn values(mapping: Open) -> Result<Value, FunctionError> {
        let (v, marks) = mapping.value.unmark();
        let values = match (v, v.ty()) {
            (Value::Map(m), _) => Value::list(m.element.clone(), m.entries.iter().map(|(_, v)| v.clone()).collect()),
            (Value::Object(o), _) => Value::tuple(o.values.to_vec()),
            (_, Type::Map(e)) => Value::unknown_not_null(Type::list((*e).clone())),
            (_, Type::Object(attrs)) => Value::unknown_not_null(Type::tuple(attrs.iter().map(|(_, t)| t.clone()))),
            (_, Type::Dynamic) => Value::unknown(Type::Dynamic),
            (_, ty) => return Err(FunctionError::call(map_required(0, &ty).message)),
        };
        Ok(values.with_marks(marks))
    }

    /// Makes a map of a list of keys and a list of values.
    fn zipmap(keys: Unsettled<ListOf<Str>>, values: Open) -> Result<Value, FunctionError> {
        let (v, marks) = values.value.unmark();
        let ty = v.ty();
        let unknown = || match &ty {
            Type::List(e) => Value::unknown_not_null(Type::map((**e).clone())),
            _ => Value::unknown(Type::Dynamic),
        };
        let items = match (v, &ty) {
            (Value::List(_) | Value::Tuple(_), _) => v.items().unwrap_or_default(),
            (_, Type::List(_) | Type::Tuple(_) | Type::Dynamic) => return Ok(unknown().with_marks(marks)),
            (_, ty) => {
                let message = format!("the values must be a list or tuple, but they are {}", described(ty));
                return Err(FunctionError::call(message));
            }
        };
        if !keys.value.is_wholly_known() {
            return Ok(unknown().with_marks(marks));
        }
        let keys = keys.value.items().unwrap_or_default();
        if keys.len() != items.len() {
            let message = format!("there are {} keys, but {} values", keys.len(), items.len());
            return Err(FunctionError::call(message));
        }
        let mut entries = Vec::with_capacity(items.len());
        for (i, (key, value)) in keys.iter().zip(items).enumerate() {
            match key {
                Value::String(key) => entries.push((key.clone(), value.clone())),
                Value::Null(_) => return Err(FunctionError::call(format!("the key at index {i} is null"))),
                _ => return Ok(unknown().with_marks(marks)),
            }
        }
        let result = match ty.element() {
            Some(element) => Value::map(element.clone(), entries),
            None => Value::object(entries),
        };
        Ok(result.with_marks(marks))
    }
}

fn map_required(argument: usize, ty: &Type) -> FunctionError {
    FunctionError::argument(argument, format!("a map or object is required, but this is {}", described(ty)))
}

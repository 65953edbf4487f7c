//! Functions over sequences: lists, tuples and, where order does not matter, sets. Those over maps are in `mapping.rs`,
//! those that treat sequences as sets in `set.rs`.

use super::signature::{ListOf, OfType, Open, Raw, Rest, Typed, Unsettled, functions};
use super::{FunctionError, limits, whole};
use crate::lang::convert::{convert, described, unify};
use crate::lang::ops::{equal, length_bounds};
use gpuform_schema::number::Number;
use gpuform_schema::types::Type;
use gpuform_schema::value::{Marks, Refinement, Str, Value};
use std::collections::HashSet;
use unicode_segmentation::UnicodeSegmentation;

functions! {
    /// Tells whether all elements of a list are true. They are if there are none.
    fn alltrue(list: ListOf<bool>) -> Typed<bool> {
        for item in list.iter() {
            match item {
                Value::Bool(true) => {}
                Value::Unknown(_) => return Typed::unknown(),
                _ => return Typed::new(Value::FALSE),
            }
        }
        Typed::new(Value::TRUE)
    }

    /// Tells whether any element of a list is true.
    fn anytrue(list: ListOf<bool>) -> Typed<bool> {
        if list.contains(&Value::TRUE) {
            Typed::new(Value::TRUE)
        } else if list.iter().any(|v| !v.is_known()) {
            Typed::unknown()
        } else {
            Typed::new(Value::FALSE)
        }
    }

    /// Splits a list into lists of a given length, as many as it takes.
    fn chunklist(
        list: Open<ListOf<Value>>,
        /// The length of the chunks; the last one may be shorter. 0 means one chunk.
        size: Number,
    ) -> Result<Typed<ListOf<ListOf<Value>>>, FunctionError> {
        let (v, marks) = list.value.unmark();
        let ty = v.ty();
        let chunks = match v.items() {
            None => Value::unknown_not_null(Type::list(ty)),
            Some(items) => {
                let size = whole("size", &size).map_err(FunctionError::call)?;
                let size = usize::try_from(size).map_err(|_| FunctionError::call("the size must not be negative"))?;
                let element = ty.element().unwrap_or(&Type::Dynamic);
                let size = if size == 0 { items.len().max(1) } else { size };
                let chunk = |part: &[Value]| Value::list(element.clone(), part.to_vec());
                Value::list(ty.clone(), items.chunks(size).map(chunk).collect())
            }
        };
        Ok(Typed::new(chunks.with_marks(marks)))
    }

    /// Returns the first argument that is neither null nor an empty string.
    fn coalesce(vals: Rest<Raw>) -> Result<Value, FunctionError> {
        let mut marks = Marks::NONE;
        let vals: Vec<Value> = vals.0.iter().map(|v| v.0.unmark_deep(&mut marks)).collect();
        let types: Vec<Type> = vals.iter().map(Value::ty).collect();
        let common = if types.is_empty() { None } else { unify(&types) };
        let common = common.ok_or_else(|| FunctionError::call("the arguments must all be of one type"))?;
        for (i, value) in vals.iter().enumerate() {
            let value = convert(value, &common).map_err(|e| FunctionError::argument(i, e.to_string()))?;
            match &value {
                Value::Unknown(_) => return Ok(Value::unknown_not_null(common).with_marks(marks)),
                Value::Null(_) => {}
                Value::String(s) if s.is_empty() => {}
                _ => return Ok(value.with_marks(marks)),
            }
        }
        Err(FunctionError::call("all arguments are null or empty strings"))
    }

    /// Returns the first argument that is not an empty list.
    fn coalescelist(
        /// Lists or tuples, in the order of preference.
        vals: Rest<Raw>,
    ) -> Result<Value, FunctionError> {
        if vals.0.is_empty() {
            return Err(FunctionError::call("at least one argument is required"));
        }
        let mut marks = Marks::NONE;
        let vals: Vec<Value> = vals.0.iter().map(|v| v.0.unmark_deep(&mut marks)).collect();
        // What comes after an unknown one is not looked at.
        if vals.iter().take_while(|v| v.is_known()).any(|v| !matches!(v.ty(), Type::List(_) | Type::Tuple(_))) {
            return Err(FunctionError::call("all arguments must be lists or tuples"));
        }
        for value in vals {
            match &value {
                Value::Unknown(_) => return Ok(Value::unknown(Type::Dynamic).with_marks(marks)),
                v if v.element_count().is_some_and(|n| n > 0) => return Ok(value.with_marks(marks)),
                _ => {}
            }
        }
        Err(FunctionError::call("all arguments are null or empty"))
    }

    /// Removes null and empty strings from a list of strings.
    fn compact(list: ListOf<Str>) -> Typed<ListOf<Str>> {
        if !list.value.is_wholly_known() {
            return Typed::unknown();
        }
        let kept = list.iter().filter(|v| v.as_str().is_some_and(|s| !s.is_empty())).cloned();
        Typed::new(Value::list(Type::String, kept.collect()))
    }

    /// Puts lists one after another.
    fn concat(seqs: Rest<OfType>) -> Result<Value, FunctionError> {
        if seqs.0.is_empty() {
            return Err(FunctionError::call("at least one argument is required"));
        }
        let counts = seqs.0.iter().filter_map(|s| s.value.element_count());
        limits::check_count(counts.fold(0, usize::saturating_add)).map_err(FunctionError::call)?;
        let mut marks = Marks::NONE;
        let (mut items, mut types) = (Vec::new(), Vec::new());
        let (mut known, mut lists) = (true, true);
        for (i, seq) in seqs.0.iter().enumerate() {
            let (v, own) = seq.value.unmark();
            marks |= own;
            if !known && !matches!(v.ty(), Type::List(_)) {
                // How many elements there are is open, so nothing can be said of the result's type.
                lists = false;
                continue;
            }
            if let Value::Tuple(part) = v {
                // Its type would be as large as the tuple, and is not needed.
                lists = false;
                items.extend_from_slice(part);
                continue;
            }
            let ty = v.ty();
            match &ty {
                Type::List(_) => {}
                Type::Tuple(_) => lists = false,
                ty => {
                    let message = format!("a list or tuple is required, but this is {}", described(ty));
                    return Err(FunctionError::argument(i, message));
                }
            }
            match v.items() {
                Some(part) => items.extend_from_slice(part),
                None => known = false,
            }
            types.push(ty);
        }
        let common = if lists { unify(&types) } else { None };
        let result = match common {
            Some(ty) if !known => Value::unknown_not_null(ty),
            None if !known => Value::unknown(Type::Dynamic),
            Some(ty) => convert(&Value::tuple(items), &ty).map_err(|e| FunctionError::call(e.to_string()))?,
            None => Value::tuple(items),
        };
        Ok(result.with_marks(marks))
    }

    /// Tells whether a list, tuple or set contains a value.
    fn contains(list: Value, value: Value) -> Result<Value, FunctionError> {
        let items = list.items().ok_or_else(|| FunctionError::call("a list, tuple or set is required"))?;
        let mut unknown = false;
        for item in items {
            match equal(item, &value) {
                Value::Bool(true) => return Ok(Value::TRUE),
                Value::Bool(false) => {}
                _ => unknown = true,
            }
        }
        Ok(if unknown { Value::unknown_not_null(Type::Bool) } else { Value::FALSE })
    }

    /// Removes duplicates from a list; of equal elements the first stays.
    fn distinct(list: Unsettled<ListOf<Value>>) -> Typed<ListOf<Value>> {
        let ty = list.value.ty();
        if !list.value.is_wholly_known() {
            return Typed::new(Value::unknown_not_null(ty));
        }
        let list = list.value.items().unwrap_or_default();
        let mut seen = HashSet::new();
        let first = list.iter().filter(|v| seen.insert(*v)).cloned().collect();
        Typed::new(Value::list(ty.element().cloned().unwrap_or(Type::Dynamic), first))
    }

    /// Takes an element of a list by its index. An index beyond the end starts over at the front.
    fn element(list: OfType, index: Open<Number>) -> Result<Value, FunctionError> {
        let ((v, marks), (index, index_marks)) = (list.value.unmark(), index.value.unmark());
        let marks = marks | index_marks;
        let ty = v.ty();
        let (Type::List(_) | Type::Tuple(_)) = ty else {
            return Err(FunctionError::call(format!("a list or tuple is required, but this is {}", described(&ty))));
        };
        let unknown = || match &ty {
            Type::List(e) => Value::unknown((**e).clone()),
            _ => Value::unknown(Type::Dynamic),
        };
        let Value::Number(index) = index else { return Ok(unknown().with_marks(marks)) };
        let length = match (v.items(), &ty) {
            (Some(items), _) => items.len(),
            (None, Type::Tuple(types)) => types.len(),
            (None, _) => return Ok(unknown().with_marks(marks)),
        };
        let index = whole("index", index).map_err(FunctionError::call)?;
        let length = i64::try_from(length).unwrap_or(i64::MAX);
        let index = index.checked_rem(length);
        let index = index.ok_or_else(|| FunctionError::call("an empty list has no elements to take"))?;
        // A negative one counts from the end of a list, not of a tuple.
        let index = if index < 0 && matches!(ty, Type::List(_)) { index + length } else { index };
        let index = usize::try_from(index).map_err(|_| FunctionError::call("the index must not be negative"))?;
        let found = match (v.items(), &ty) {
            (Some(items), _) => items.get(index).cloned(),
            (None, Type::Tuple(types)) => types.get(index).map(|t| Value::unknown(t.clone())),
            (None, _) => None,
        };
        Ok(found.unwrap_or_else(unknown).with_marks(marks))
    }

    /// Replaces lists inside of a list by their elements, at any depth.
    fn flatten(list: Open) -> Result<Value, FunctionError> {
        let (v, mut marks) = list.value.unmark();
        let wholly_known = v.is_wholly_known();
        if wholly_known && !matches!(v.ty(), Type::List(_) | Type::Set(_) | Type::Tuple(_)) {
            return Err(FunctionError::call("only lists, sets and tuples can be flattened"));
        }
        if !v.is_known() {
            return Ok(Value::unknown(Type::Dynamic).with_marks(marks));
        }
        let mut flat = Vec::new();
        // A map or object is refused only once it is known.
        let of_map: Vec<Value> = v.entries().into_iter().flatten().map(|(_, v)| v.clone()).collect();
        let start = if v.items().is_some() { std::slice::from_ref(v) } else { &of_map[..] };
        let mut open = vec![start.iter()];
        let mut known = true;
        while let Some(level) = open.last_mut() {
            let Some(item) = level.next() else {
                open.pop();
                continue;
            };
            let (inner, own) = item.unmark();
            match inner {
                // Some of its elements may turn out to be equal.
                Value::Set(_) if matches!(length_bounds(inner), (min, max) if max != Some(min)) => {
                    marks |= own;
                    known = false;
                }
                Value::List(_) | Value::Set(_) | Value::Tuple(_) => {
                    marks |= own;
                    open.push(inner.items().unwrap_or_default().iter());
                }
                Value::Unknown(u) if !u.ty.is_primitive() && !matches!(u.ty, Type::Map(_) | Type::Object(_)) => {
                    marks |= own;
                    known = false;
                }
                _ => {
                    limits::check_count(flat.len()).map_err(FunctionError::call)?;
                    flat.push(item.clone());
                }
            }
        }
        let result = if known { Value::tuple(flat) } else { Value::unknown(Type::Dynamic) };
        Ok(result.with_marks(marks))
    }

    /// Finds the index of the first element of a list that equals a value. It is an error if there is none.
    fn index(list: Value, value: Value) -> Result<Value, FunctionError> {
        let (Value::List(_) | Value::Tuple(_)) = list else {
            return Err(FunctionError::call("a list or tuple is required"));
        };
        for (i, item) in list.items().unwrap_or_default().iter().enumerate() {
            match equal(item, &value) {
                Value::Bool(true) => return Ok(Value::number(i)),
                Value::Bool(false) => {}
                _ => return Ok(Value::unknown_not_null(Type::Number)),
            }
        }
        Err(FunctionError::call("the list does not contain the value"))
    }

    /// Counts the elements of a list, set, tuple, map or object, or the characters of a string.
    fn length(value: Open) -> Result<Typed<Number>, FunctionError> {
        let (v, marks) = value.value.unmark();
        let unknown_between = |min: u64, max: Option<u64>| {
            let min = (min > 0).then(|| (Number::from(min), true));
            let max = max.map(|n| (Number::from(n), true));
            Value::refined(Type::Number, Refinement { not_null: true, min, max, ..Refinement::default() })
        };
        let length = match v {
            Value::String(s) => Value::number(s.graphemes(true).count()),
            Value::Set(_) if !v.is_wholly_known() => match length_bounds(v) {
                (min, Some(max)) if min == max => Value::number(min),
                (min, max) => unknown_between(min, max),
            },
            Value::Unknown(u) => match &u.ty {
                Type::Tuple(types) => Value::number(types.len()),
                Type::Object(attrs) => Value::number(attrs.len()),
                Type::Bool | Type::Number => return Err(no_length()),
                ty if ty.is_collection() => match length_bounds(v) {
                    (min, Some(max)) if min == max => Value::number(min),
                    (min, max) => unknown_between(min, max),
                },
                _ => unknown_between(0, None),
            },
            v => Value::number(v.element_count().ok_or_else(no_length)?),
        };
        Ok(Typed::new(length.with_marks(marks)))
    }

    /// Takes the one element of a list of one; null if the list is empty. It is an error if there are more.
    fn one(list: Open) -> Result<Value, FunctionError> {
        let mut marks = Marks::NONE;
        let v = &list.value.unmark_deep(&mut marks);
        let ty = v.ty();
        let several = || FunctionError::argument(0, "there must be one element or none, but there are more");
        let null = || match &ty {
            Type::List(e) | Type::Set(e) => Value::Null((**e).clone()),
            _ => Value::null(),
        };
        let unknown = || match &ty {
            Type::List(e) | Type::Set(e) => Value::unknown((**e).clone()),
            _ => Value::unknown(Type::Dynamic),
        };
        let found = match (v, &ty) {
            (Value::Unknown(_), Type::Tuple(types)) => match &types[..] {
                [] => null(),
                [one] => Value::unknown(one.clone()),
                _ => return Err(several()),
            },
            (Value::Unknown(_), Type::List(_) | Type::Set(_) | Type::Dynamic) => unknown(),
            (Value::Set(_), _) if !v.is_wholly_known() && length_bounds(v) != (1, Some(1)) => unknown(),
            (v, _) => match v.items() {
                Some([]) => null(),
                Some([one]) => one.clone(),
                Some(_) => return Err(several()),
                None => {
                    let message = format!("a list, set or tuple is required, but this is {}", described(&ty));
                    return Err(FunctionError::argument(0, message));
                }
            },
        };
        Ok(found.with_marks(marks))
    }

    /// Puts the elements of a list in the reverse order.
    fn reverse(list: Open) -> Result<Value, FunctionError> {
        let (v, marks) = list.value.unmark();
        let reversed = |items: &[Value]| items.iter().rev().cloned().collect::<Vec<_>>();
        let result = match (v, v.ty()) {
            (Value::Unknown(_), Type::Tuple(types)) => {
                Value::unknown_not_null(Type::tuple(types.iter().rev().cloned()))
            }
            (Value::Unknown(u), Type::List(e) | Type::Set(e)) => Value::refined(
                Type::list((*e).clone()),
                Refinement { not_null: true, max_len: u.refinement.max_len, ..Refinement::default() },
            ),
            (Value::Unknown(_), Type::Dynamic) => Value::unknown(Type::Dynamic),
            (Value::List(c) | Value::Set(c), _) => Value::list(c.element.clone(), reversed(&c.items)),
            (Value::Tuple(items), _) => Value::tuple(reversed(items)),
            (_, ty) => {
                let message = format!("a list or tuple is required, but this is {}", described(&ty));
                return Err(FunctionError::argument(0, message));
            }
        };
        Ok(result.with_marks(marks))
    }

    /// Takes the elements of a list from one index up to, but not including, another.
    fn slice(list: OfType, start_index: Open<Number>, end_index: Open<Number>) -> Result<Value, FunctionError> {
        let (v, marks) = list.value.unmark();
        let ((start, start_marks), (end, end_marks)) = (start_index.value.unmark(), end_index.value.unmark());
        let marks = marks | start_marks | end_marks;
        let ty = v.ty();
        match &ty {
            Type::List(_) | Type::Tuple(_) => {}
            Type::Set(_) => {
                let message = "the elements of a set have no order; tolist gives them one where it does not matter";
                return Err(FunctionError::argument(0, message));
            }
            ty => {
                let message = format!("a list or tuple is required, but this is {}", described(ty));
                return Err(FunctionError::argument(0, message));
            }
        }
        let length = match (&ty, v.items()) {
            (Type::Tuple(types), None) => Some(types.len()),
            (_, items) => items.map(<[Value]>::len),
        };
        let bound = |position: usize, name: &str, n: &Value| match n {
            Value::Number(n) => {
                let n = whole(name, n).map_err(|e| FunctionError::argument(position, e))?;
                let n = usize::try_from(n).map_err(|_| FunctionError::argument(position, "it must not be negative"))?;
                if length.is_some_and(|length| n > length) {
                    return Err(FunctionError::argument(position, "it must not exceed the length of the list"));
                }
                Ok(Some(n))
            }
            _ => Ok(None),
        };
        let (start, end) = (bound(1, "start_index", start)?, bound(2, "end_index", end)?);
        if let (Some(start), Some(end)) = (start, end)
            && start > end
        {
            return Err(FunctionError::argument(1, "it must not exceed the end index"));
        }
        let result = match (start, end, v, &ty) {
            (Some(s), Some(e), Value::List(c), _) => {
                Value::list(c.element.clone(), c.items.get(s..e).unwrap_or_default().to_vec())
            }
            (Some(s), Some(e), Value::Tuple(items), _) => Value::tuple(items.get(s..e).unwrap_or_default().to_vec()),
            (Some(s), Some(e), _, Type::Tuple(types)) => {
                Value::unknown_not_null(Type::tuple(types.get(s..e).unwrap_or_default().iter().cloned()))
            }
            (_, _, _, Type::List(_)) => Value::unknown_not_null(ty),
            _ => Value::unknown(Type::Dynamic),
        };
        Ok(result.with_marks(marks))
    }

    /// Sorts a list of strings by the code points of their characters.
    fn sort(list: ListOf<Str>) -> Result<Typed<ListOf<Str>>, FunctionError> {
        if list.value.is_wholly_known()
            && let Some(i) = list.iter().position(Value::is_null)
        {
            return Err(FunctionError::call(format!("element {i} is null, which has no place in an order")));
        }
        let mut items = list.to_vec();
        if list.value.is_wholly_known() {
            items.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
        } else {
            items.fill(Value::unknown_not_null(Type::String));
        }
        Ok(Typed::new(Value::list(Type::String, items)))
    }
}

fn no_length() -> FunctionError {
    FunctionError::call("only strings, collections, tuples and objects have a length")
}

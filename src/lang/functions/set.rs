//! Functions over sets; lists are converted.

use super::FunctionError;
use super::signature::{OfType, Rest, SetOf, Typed, Unsettled, functions};
use crate::lang::convert::{convert, unify};
use crate::lang::ops::length_bounds;
use gpuform_schema::types::Type;
use gpuform_schema::value::{Marks, Value};
use std::collections::HashSet;

functions! {
    /// Takes the elements that all of the given sets have.
    fn setintersection(
        first_set: Unsettled<SetOf<Value>>,
        other_sets: Rest<Unsettled<SetOf<Value>>>,
    ) -> Result<Typed<SetOf<Value>>, FunctionError> {
        let Some((element, sets)) = of_one_type(&first_set, &other_sets.0)? else { return Ok(Typed::unknown()) };
        if !sets.iter().all(Value::is_wholly_known) {
            return Ok(Typed::new(Value::unknown_not_null(Type::set(element))));
        }
        let mut sets = sets.iter().map(|s| s.items().unwrap_or_default());
        let mut common: Vec<Value> = sets.next().unwrap_or_default().to_vec();
        for other in sets {
            let other: HashSet<&Value> = other.iter().collect();
            common.retain(|v| other.contains(v));
        }
        Ok(Typed::new(Value::set(element, common)))
    }

    /// Makes all combinations of an element of each of the given sets. If they are all lists, so is the result, in
    /// their order.
    fn setproduct(
        /// The sets, lists or tuples.
        sets: Rest<OfType>,
    ) -> Result<Value, FunctionError> {
        if sets.0.len() < 2 {
            return Err(FunctionError::call("at least two arguments are required"));
        }
        let mut marks = Marks::NONE;
        let mut parts = Vec::new();
        let mut ordered = true;
        // Elements that have no type in common with a null among them do no harm where there are no combinations.
        let mut mixed = None;
        for (i, set) in sets.0.iter().enumerate() {
            let (v, own) = set.value.unmark();
            marks |= own;
            let ty = v.ty();
            ordered &= matches!(ty, Type::List(_) | Type::Tuple(_));
            let list = match ty {
                Type::List(_) | Type::Set(_) => Ok(v.clone()),
                Type::Tuple(ref types) => match convert(v, &Type::list(Type::Dynamic)) {
                    Err(e) if types.iter().any(Type::is_dynamic) => {
                        mixed = Some(e.to_string());
                        Ok(Value::list(Type::Dynamic, v.items().unwrap_or_default().to_vec()))
                    }
                    converted => converted.map_err(|e| e.to_string()),
                },
                _ => Err("a set or list is required".to_owned()),
            };
            parts.push(list.map_err(|e| FunctionError::argument(i, e))?);
        }
        if let Some(message) = mixed
            && !parts.iter().any(|p| p.element_count() == Some(0))
        {
            return Err(FunctionError::call(message));
        }
        let element = Type::tuple(parts.iter().map(|p| p.ty().element().cloned().unwrap_or(Type::Dynamic)));
        // How many elements a set has is open while some of them may turn out to be equal.
        let open = |p: &Value| matches!(length_bounds(p), (min, max) if max != Some(min));
        if !ordered && parts.iter().any(open) {
            return Ok(Value::unknown_not_null(Type::set(element)).with_marks(marks));
        }
        let result = match parts.iter().map(Value::items).collect::<Option<Vec<_>>>() {
            None if ordered => Value::unknown_not_null(Type::list(element)),
            None => Value::unknown_not_null(Type::set(element)),
            Some(parts) => {
                let combinations = combinations(&parts)?.into_iter().map(Value::tuple).collect();
                if ordered { Value::list(element, combinations) } else { Value::set(element, combinations) }
            }
        };
        Ok(result.with_marks(marks))
    }

    /// Takes the elements of a set that another does not have.
    fn setsubtract(
        a: Unsettled<SetOf<Value>>,
        b: Unsettled<SetOf<Value>>,
    ) -> Result<Typed<SetOf<Value>>, FunctionError> {
        let Some((element, sets)) = of_one_type(&a, &[b])? else { return Ok(Typed::unknown()) };
        if !sets.iter().all(Value::is_wholly_known) {
            return Ok(Typed::new(Value::unknown_not_null(Type::set(element))));
        }
        let [a, b] = &sets[..] else { return Ok(Typed::unknown()) };
        let removed: HashSet<&Value> = b.items().unwrap_or_default().iter().collect();
        let rest = a.items().unwrap_or_default().iter().filter(|v| !removed.contains(v)).cloned();
        Ok(Typed::new(Value::set(element, rest.collect())))
    }

    /// Puts the elements of sets together.
    fn setunion(
        first_set: Unsettled<SetOf<Value>>,
        other_sets: Rest<Unsettled<SetOf<Value>>>,
    ) -> Result<Typed<SetOf<Value>>, FunctionError> {
        let Some((element, sets)) = of_one_type(&first_set, &other_sets.0)? else { return Ok(Typed::unknown()) };
        if !sets.iter().all(Value::is_known) {
            return Ok(Typed::new(Value::unknown_not_null(Type::set(element))));
        }
        let all = sets.iter().flat_map(|s| s.items().unwrap_or_default()).cloned().collect();
        Ok(Typed::new(Value::set(element, all)))
    }
}

/// The sets with all elements converted to what they have in common; nothing while a type is not known.
fn of_one_type(
    first: &Unsettled<SetOf<Value>>,
    others: &[Unsettled<SetOf<Value>>],
) -> Result<Option<(Type, Vec<Value>)>, FunctionError> {
    let sets: Vec<&Value> = std::iter::once(&first.value).chain(others.iter().map(|s| &s.value)).collect();
    if sets.iter().any(|s| !s.is_known() && s.ty().element().is_some_and(Type::is_dynamic)) {
        return Ok(None);
    }
    // An empty set whose elements have no type converts to any other.
    let counts = |s: &&&Value| s.element_count() != Some(0) || s.ty().element().is_none_or(|e| !e.is_dynamic());
    let types: Vec<Type> = sets.iter().filter(counts).filter_map(|s| s.ty().element().cloned()).collect();
    let element = unify(&types).filter(|t| !t.is_dynamic() || types.iter().all(Type::is_dynamic));
    let element = element.ok_or_else(|| FunctionError::call("the elements of all sets must be of one type"))?;
    let ty = Type::set(element.clone());
    let converted = sets.iter().map(|s| convert(s, &ty).map_err(|e| FunctionError::call(e.to_string())));
    Ok(Some((element, converted.collect::<Result<_, _>>()?)))
}

/// All ways to take one element of each part, the last part varying fastest.
fn combinations(parts: &[&[Value]]) -> Result<Vec<Vec<Value>>, FunctionError> {
    /// How many values all combinations together may have.
    const MOST: usize = 16_000_000;
    let count = parts.iter().try_fold(1usize, |n, p| n.checked_mul(p.len()));
    if parts.iter().any(|p| p.is_empty()) {
        return Ok(Vec::new());
    }
    if count.and_then(|n| n.checked_mul(parts.len())).is_none_or(|n| n > MOST) {
        return Err(FunctionError::call("there are too many combinations"));
    }
    let mut combinations: Vec<Vec<Value>> = vec![Vec::new()];
    for part in parts {
        let longer = combinations.iter().flat_map(|start| {
            part.iter().map(move |v| {
                let mut next = Vec::with_capacity(parts.len());
                next.extend_from_slice(start);
                next.push(v.clone());
                next
            })
        });
        combinations = longer.collect();
    }
    Ok(combinations)
}

//! Random types and values of them, for tests of properties.

use crate::number::Number;
use crate::types::Type;
use crate::value::{Refinement, Value};
use proptest::prelude::*;

/// Numbers that survive being printed and read again: literals and machine integers.
pub fn literal() -> impl Strategy<Value = Number> {
    prop_oneof![
        any::<i64>().prop_map(Number::from),
        "-?[0-9]{1,30}(\\.[0-9]{1,30})?".prop_map(|t| Number::parse(&t).unwrap()),
    ]
}

fn text() -> impl Strategy<Value = Value> {
    prop_oneof!["[a-z]{0,8}", "\\PC{0,40}", "[\\x00-\\x7f]{0,300}"].prop_map(Value::string)
}

pub fn any_type() -> impl Strategy<Value = Type> {
    let leaf = prop_oneof![Just(Type::Bool), Just(Type::Number), Just(Type::String), Just(Type::Dynamic)];
    concrete_type(leaf.boxed())
}

fn concrete_type(leaf: BoxedStrategy<Type>) -> BoxedStrategy<Type> {
    let compound = |t: BoxedStrategy<Type>| {
        prop_oneof![
            t.clone().prop_map(Type::list),
            t.clone().prop_map(Type::set),
            t.clone().prop_map(Type::map),
            prop::collection::vec(t.clone(), 0..4).prop_map(Type::tuple),
            prop::collection::btree_map("[a-zé\"<]{1,6}", t, 0..5).prop_map(Type::object),
        ]
    };
    leaf.prop_recursive(3, 20, 4, compound).boxed()
}

/// A value that fits the type: concrete where the type is dynamic, null anywhere, unknown anywhere if `unknowns`.
pub fn value_of(ty: &Type, unknowns: bool) -> BoxedStrategy<Value> {
    let of = move |t: &Type| value_of(t, unknowns);
    let known = match ty {
        Type::Bool => any::<bool>().prop_map(Value::Bool).boxed(),
        Type::Number => literal().prop_map(Value::Number).boxed(),
        Type::String => text().boxed(),
        Type::Dynamic => {
            let leaf = prop_oneof![Just(Type::Bool), Just(Type::Number), Just(Type::String)];
            let ty = concrete_type(leaf.boxed());
            return prop_oneof![Just(Value::null()), ty.prop_flat_map(move |t| value_of(&t, unknowns))].boxed();
        }
        // Elements of one collection are of one type, which a dynamic element type leaves open.
        Type::List(e) | Type::Set(e) | Type::Map(e) if e.has_dynamic() => return Just(Value::Null(ty.clone())).boxed(),
        Type::List(e) => {
            let e = (**e).clone();
            prop::collection::vec(of(&e), 0..4).prop_map(move |items| Value::list(e.clone(), items)).boxed()
        }
        Type::Set(e) => {
            let e = (**e).clone();
            prop::collection::vec(of(&e), 0..4).prop_map(move |items| Value::set(e.clone(), items)).boxed()
        }
        Type::Map(e) => {
            let e = (**e).clone();
            prop::collection::btree_map("\\PC{0,6}", of(&e), 0..4)
                .prop_map(move |m| Value::map(e.clone(), m.into_iter().map(|(k, v)| (crate::value::nfc(&k), v))))
                .boxed()
        }
        Type::Tuple(ts) => ts.iter().map(of).collect::<Vec<_>>().prop_map(Value::tuple).boxed(),
        Type::Object(o) => {
            let names = o.names().clone();
            let values: Vec<_> = o.types().iter().map(of).collect();
            values.prop_map(move |values| Value::object_with_names(names.clone(), values)).boxed()
        }
    };
    let null = Just(Value::Null(ty.clone()));
    if unknowns {
        let unknown = unknown_of(ty.clone());
        prop_oneof![8 => known, 1 => null, 1 => unknown].boxed()
    } else {
        prop_oneof![9 => known, 1 => null].boxed()
    }
}

fn unknown_of(ty: Type) -> impl Strategy<Value = Value> {
    let bound = || prop::option::of((literal(), any::<bool>()));
    (any::<bool>(), "[a-z]{1,9}", bound(), bound(), 1u64..9, 9u64..12, any::<bool>()).prop_map(
        move |(not_null, prefix, min, max, min_len, max_len, more)| {
            let mut known = Refinement { not_null, ..Refinement::default() };
            match &ty {
                Type::String if more => known.prefix = Some(prefix.as_str().into()),
                Type::Number => (known.min, known.max) = (min, max),
                t if t.is_collection() && more => (known.min_len, known.max_len) = (Some(min_len), Some(max_len)),
                _ => {}
            }
            Value::refined(ty.clone(), known)
        },
    )
}

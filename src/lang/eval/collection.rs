//! Object constructors and `for` expressions.

use super::Cx;
use crate::diag::Diagnostics;
use crate::lang::convert::{convert, described};
use crate::lang::scope::Locals;
use crate::lang::syntax::{Expr, ExprKind, For, ObjectItem};
use gpuform_schema::{Marks, Number, Str, Type, Value};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// What a loop goes over.
pub(super) enum Iterable {
    /// An error was reported.
    Failed,
    Unknown(Marks),
    /// Not even the type is known.
    Open(Marks),
    Known(Items),
}

/// A known collection without its own marks.
pub(super) struct Items {
    collection: Value,
    pub marks: Marks,
}

impl Items {
    /// Calls `f` for each element with its key (made only on demand).
    pub fn each(&self, f: &mut dyn FnMut(&dyn Fn() -> Value, &Value)) {
        match &self.collection {
            Value::List(c) => sequence(&c.items, f),
            Value::Tuple(items) => sequence(items, f),
            Value::Set(c) => c.items.iter().for_each(|v| f(&|| v.clone(), v)),
            Value::Map(m) => m.entries.iter().for_each(|(k, v)| f(&|| Value::String(k.clone()), v)),
            Value::Object(o) => o.iter().for_each(|(k, v)| f(&|| Value::String(k.clone()), v)),
            _ => {}
        }
    }

    fn len(&self) -> usize {
        self.collection.element_count().unwrap_or(0)
    }
}

fn sequence(items: &[Value], f: &mut dyn FnMut(&dyn Fn() -> Value, &Value)) {
    for (i, v) in items.iter().enumerate() {
        f(&|| Value::Number(Number::from(i)), v);
    }
}

/// What a `for` expression has made so far.
struct Loop {
    marks: Marks,
    /// False once the result cannot be known, because of an unknown condition or key or because of an error. Then only
    /// the values are still checked, and problems with conditions and keys are not repeated.
    known: bool,
    made: Made,
}

enum Made {
    Tuple(Vec<Value>),
    Object(BTreeMap<Str, Value>),
    Groups(BTreeMap<Str, Vec<Value>>),
}

impl Cx<'_> {
    /// Evaluates the collection of a loop.
    pub(super) fn iterable(self, collection: &Expr, whole: &Expr, diags: &mut Diagnostics) -> Iterable {
        let before = diags.len();
        let value = self.eval(collection, diags);
        let (inner, marks) = value.unmark();
        match inner {
            Value::Null(_) => {
                if diags.len() == before {
                    self.fail(diags, whole, collection.range, "Iteration over null value", || {
                        "The collection of a \"for\" expression cannot be null.".into()
                    });
                }
                Iterable::Failed
            }
            Value::Unknown(u) => match &u.ty {
                Type::Bool | Type::Number | Type::String => self.not_iterable(&u.ty, collection, whole, diags),
                _ if diags.len() > before => Iterable::Failed,
                Type::Dynamic => Iterable::Open(marks),
                _ => Iterable::Unknown(marks),
            },
            Value::Bool(_) => self.not_iterable(&Type::Bool, collection, whole, diags),
            Value::Number(_) => self.not_iterable(&Type::Number, collection, whole, diags),
            Value::String(_) => self.not_iterable(&Type::String, collection, whole, diags),
            _ => Iterable::Known(Items { collection: inner.clone(), marks }),
        }
    }

    fn not_iterable(self, ty: &Type, collection: &Expr, whole: &Expr, diags: &mut Diagnostics) -> Iterable {
        self.fail(diags, whole, collection.range, "Iteration over non-iterable value", || {
            format!("A \"for\" expression needs a list, set, map, tuple or object, but this is {}.", described(ty))
        });
        Iterable::Failed
    }

    /// `[for …]` and `{for …}`
    pub(super) fn for_expr(self, f: &For, expr: &Expr, diags: &mut Diagnostics) -> Value {
        let items = match self.iterable(&f.collection, expr, diags) {
            Iterable::Failed => return Value::unknown(Type::Dynamic),
            Iterable::Open(marks) => return Value::unknown(Type::Dynamic).with_marks(marks),
            Iterable::Unknown(marks) => Err(marks),
            Iterable::Known(items) => Ok(items),
        };
        if let Some(condition) = &f.condition
            && !self.condition_fits(f, condition, expr, diags)
        {
            return Value::unknown(Type::Dynamic);
        }
        let items = match items {
            Ok(items) => items,
            Err(marks) => return Value::unknown(Type::Dynamic).with_marks(marks),
        };
        let made = match (&f.key, f.grouping) {
            (None, _) => Made::Tuple(Vec::with_capacity(items.len())),
            (Some(_), false) => Made::Object(BTreeMap::new()),
            (Some(_), true) => Made::Groups(BTreeMap::new()),
        };
        let mut state = Loop { marks: items.marks, known: true, made };
        items.each(&mut |k, v| {
            if !self.turn(expr.range, diags) {
                state.known = false;
                return;
            }
            let value = Locals { parent: self.locals, name: &f.value_var, value: v };
            match &f.key_var {
                Some(name) => {
                    let k = k();
                    let key = Locals { parent: self.locals, name, value: &k };
                    let value = Locals { parent: Some(&key), ..value };
                    self.with(&value).for_element(f, &mut state, expr, diags);
                }
                None => self.with(&value).for_element(f, &mut state, expr, diags),
            }
        });
        let value = match state.made {
            _ if !state.known => Value::unknown(Type::Dynamic),
            Made::Tuple(items) => Value::tuple(items),
            Made::Object(attrs) => object_of_sorted(attrs.into_iter()),
            Made::Groups(groups) => object_of_sorted(groups.into_iter().map(|(k, vs)| (k, Value::tuple(vs)))),
        };
        value.with_marks(state.marks)
    }

    /// One turn of a `for` expression, its variables being defined.
    fn for_element(self, f: &For, state: &mut Loop, expr: &Expr, diags: &mut Diagnostics) {
        if let Some(condition) = &f.condition
            && !self.for_condition(condition, state, expr, diags)
        {
            return;
        }
        let Some(key_expr) = &f.key else {
            let value = self.eval(&f.value, diags);
            if let Made::Tuple(items) = &mut state.made {
                items.push(value);
            }
            return;
        };
        let Some(key) = self.for_key(key_expr, state, expr, diags) else { return };
        let value = self.eval(&f.value, diags);
        match &mut state.made {
            Made::Groups(groups) => groups.entry(key).or_default().push(value),
            Made::Object(attrs) => match attrs.entry(key) {
                Entry::Vacant(e) => {
                    e.insert(value);
                }
                Entry::Occupied(e) => {
                    let secret = state.marks.contains(Marks::SENSITIVE);
                    let key = if secret { "the same key".into() } else { format!("the key {:?}", e.key()) };
                    self.fail(diags, expr, key_expr.range, "Duplicate object key", || {
                        format!(
                            "Two elements have {key} in this \"for\" expression. To collect the values of equal keys \
                             in a list, put an ellipsis (...) after the value expression."
                        )
                    });
                }
            },
            Made::Tuple(_) => {}
        }
    }

    /// Whether the condition can be one, as far as that is clear without an element: then its problems are told once,
    /// not for each element, and also where there is none.
    fn condition_fits(self, f: &For, condition: &Expr, expr: &Expr, diags: &mut Diagnostics) -> bool {
        let before = diags.len();
        let unknown = Value::unknown(Type::Dynamic);
        let key = f.key_var.as_ref().map(|name| Locals { parent: self.locals, name, value: &unknown });
        let value = Locals { parent: key.as_ref().or(self.locals), name: &f.value_var, value: &unknown };
        let mut state = Loop { marks: Marks::NONE, known: true, made: Made::Tuple(Vec::new()) };
        self.with(&value).for_condition(condition, &mut state, expr, diags);
        diags.len() == before
    }

    /// Whether the element is included.
    fn for_condition(self, condition: &Expr, state: &mut Loop, expr: &Expr, diags: &mut Diagnostics) -> bool {
        const INVALID: &str = "Invalid 'for' condition";
        let value = self.eval(condition, diags);
        let (inner, marks) = value.unmark();
        let include = match inner {
            Value::Bool(b) => Some(*b),
            Value::Null(_) => {
                if state.known {
                    self.fail(diags, expr, condition.range, "Condition is null", || {
                        "The \"if\" clause must be true or false, but is null.".into()
                    });
                }
                None
            }
            other => match convert(other, &Type::Bool) {
                Ok(Value::Bool(b)) => Some(b),
                Ok(_) => None,
                Err(e) => {
                    if state.known {
                        self.fail(diags, expr, condition.range, INVALID, || {
                            format!("The value of the \"if\" clause is not usable as a condition: {e}.")
                        });
                    }
                    None
                }
            },
        };
        state.marks |= marks;
        state.known &= include.is_some();
        include == Some(true)
    }

    fn for_key(self, key: &Expr, state: &mut Loop, expr: &Expr, diags: &mut Diagnostics) -> Option<Str> {
        const INVALID: &str = "Invalid object key";
        let value = self.eval(key, diags);
        let (inner, marks) = value.unmark();
        state.marks |= marks;
        let text = match inner {
            Value::String(s) => Some(s.clone()),
            Value::Null(_) => {
                if state.known {
                    self.fail(diags, expr, key.range, INVALID, || "The key of an element cannot be null.".into());
                }
                None
            }
            Value::Unknown(_) => None,
            other => match convert(other, &Type::String) {
                Ok(Value::String(s)) => Some(s),
                Ok(_) => None,
                Err(e) => {
                    if state.known {
                        self.fail(diags, expr, key.range, INVALID, || {
                            format!("This value cannot be the key of an element: {e}.")
                        });
                    }
                    None
                }
            },
        };
        state.known &= text.is_some();
        text
    }

    /// `{ key = value, … }`
    pub(super) fn object(self, items: &[ObjectItem], expr: &Expr, diags: &mut Diagnostics) -> Value {
        let mut marks = Marks::NONE;
        let mut known = true;
        let mut attrs: Vec<(Str, Value)> = Vec::with_capacity(items.len());
        for item in items {
            if let ExprKind::Literal(Value::String(name)) = &item.key.kind {
                attrs.push((name.clone(), self.eval(&item.value, diags)));
                continue;
            }
            let before = diags.len();
            let key = self.eval(&item.key, diags);
            let key_failed = diags.len() > before;
            let value = self.eval(&item.value, diags);
            if key_failed {
                known = false;
                continue;
            }
            let (inner, key_marks) = key.unmark();
            marks |= key_marks;
            match inner {
                Value::String(s) => attrs.push((s.clone(), value)),
                Value::Null(_) => {
                    known = false;
                    self.fail(diags, expr, item.value.range, "Null value as key", || {
                        "The name of an attribute cannot be null.".into()
                    });
                }
                other => match convert(other, &Type::String) {
                    Ok(Value::String(s)) => attrs.push((s, value)),
                    Ok(_) => known = false,
                    Err(e) => {
                        known = false;
                        self.fail(diags, expr, item.key.range, "Incorrect key type", || {
                            format!("This value cannot be the name of an attribute: {e}.")
                        });
                    }
                },
            }
        }
        if known { Value::object(attrs) } else { Value::unknown(Type::Dynamic) }.with_marks(marks)
    }
}

fn object_of_sorted(attrs: impl Iterator<Item = (Str, Value)>) -> Value {
    let (names, values): (Vec<Str>, Vec<Value>) = attrs.unzip();
    Value::object_with_names(names.into(), values)
}

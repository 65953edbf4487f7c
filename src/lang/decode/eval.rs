//! Evaluation of a decoder for one instance.

use super::compile::count_error;
use super::layout::{AttributeSlot, BlockSlot, Slot};
use super::{AttributeDecoder, BlockDecoder, BlocksDecoder, Decoder, Dynamic, Item};
use crate::diag::{Diagnostic, Diagnostics, Range};
use crate::lang::convert::{convert, described};
use crate::lang::eval::mentions;
use crate::lang::limits;
use crate::lang::scope::{Locals, Scope};
use crate::lang::syntax::Expr;
use gpuform_schema::schema::Nesting;
use gpuform_schema::{Marks, Number, Str, Type, Value};
use std::sync::{Arc, LazyLock};

/// Where a decoder is evaluated.
#[derive(Clone, Copy)]
struct Place<'a> {
    scope: &'a dyn Scope,
    locals: Option<&'a Locals<'a>>,
    /// Within blocks of which is not known whether and how often they will be there: what is set in them is not looked at.
    uncertain: bool,
}

/// The blocks of one type that were made so far.
#[derive(Default)]
struct Made {
    items: Vec<(Option<Str>, Value)>,
    /// The place of each.
    ranges: Vec<Range>,
    /// More may come: a `for_each` is unknown.
    unknown: bool,
}

impl Decoder {
    /// The value of the body in a scope: an object of [`Decoder::ty`], in which what is not set is null. Marks are
    /// where the expressions put them. `None` after errors, which are all reported.
    pub fn eval(&self, scope: &dyn Scope, diags: &mut Diagnostics) -> Option<Value> {
        let before = diags.len();
        let value = self.root.eval(Place { scope, locals: None, uncertain: false }, diags);
        (diags.len() == before).then_some(value)
    }
}

impl BlockDecoder {
    fn eval(&self, place: Place, diags: &mut Diagnostics) -> Value {
        let mut values = self.layout.empty.to_vec();
        for a in &self.attributes {
            if let (Some(Slot::Attribute(slot)), Some(value)) =
                (self.layout.slot(a.position), values.get_mut(a.position))
            {
                *value = a.eval(slot, &self.layout.names[a.position], place, diags);
            }
        }
        for b in &self.blocks {
            let slot = match self.layout.slot(b.position) {
                Some(Slot::Blocks(slot)) => slot,
                Some(Slot::Attribute(AttributeSlot { as_blocks: Some(as_blocks), .. })) => as_blocks.slot(),
                _ => continue,
            };
            if let Some(value) = values.get_mut(b.position) {
                *value = self.eval_blocks(b, slot, place, diags);
            }
        }
        Value::object_with_names(self.layout.names.clone(), values)
    }

    fn eval_blocks(&self, blocks: &BlocksDecoder, slot: &BlockSlot, place: Place, diags: &mut Diagnostics) -> Value {
        let mut made = Made::default();
        for item in &blocks.items {
            match item {
                Item::Static { label, block, header_range } => {
                    made.items.push((label.clone(), block.eval(place, diags)));
                    made.ranges.push(*header_range);
                }
                Item::Dynamic(d) => d.eval(slot, place, &mut made, diags),
            }
        }
        let name = &self.layout.names[blocks.position];
        let dynamic = blocks.items.iter().any(|i| matches!(i, Item::Dynamic(_)));
        if dynamic
            && !made.unknown
            && !place.uncertain
            && let Some(d) = count_error(name, slot, &made.ranges, self.missing_item_range)
        {
            diags.push(d);
        }
        made.collect(name, slot, diags)
    }
}

impl AttributeDecoder {
    fn eval(&self, slot: &AttributeSlot, name: &str, place: Place, diags: &mut Diagnostics) -> Value {
        if place.uncertain {
            return Value::unknown(slot.ty.clone());
        }
        let before = diags.len();
        let value = self.expr.eval_in(place.scope, place.locals, diags);
        if diags.len() > before {
            return Value::unknown(slot.ty.clone());
        }
        if let Err(e) = limits::check_storable(&value) {
            let detail = format!("This value cannot be used for the argument \"{name}\": {e}.");
            let mut d = Diagnostic::error("Infinite number", detail).at(self.expr.range).context(self.range);
            d.values = mentions(&self.expr, place.scope, place.locals);
            diags.push(d);
            return Value::unknown(slot.ty.clone());
        }
        let converted = match &slot.constraint {
            Some(constraint) => constraint.apply(&value),
            None => convert(&value, &slot.ty),
        };
        match converted {
            Ok(value) => value,
            Err(e) => {
                let detail = format!("This value does not fit the argument \"{name}\": {e}.");
                let mut d = Diagnostic::error("Incorrect attribute value type", detail);
                d = d.at(self.expr.range).context(self.range);
                d.values = mentions(&self.expr, place.scope, place.locals);
                diags.push(d);
                Value::unknown(slot.ty.clone())
            }
        }
    }
}

/// The attributes of an iterator.
static ITERATOR: LazyLock<Arc<[Str]>> = LazyLock::new(|| ["key".into(), "value".into()].into());

impl Dynamic {
    fn eval(&self, slot: &BlockSlot, place: Place, made: &mut Made, diags: &mut Diagnostics) {
        let before = diags.len();
        let for_each = self.for_each.eval_in(place.scope, place.locals, diags);
        if diags.len() > before {
            made.unknown = true;
            return;
        }
        let (collection, marks) = for_each.unmark();
        if !marks.is_empty() && collection.is_known() {
            let secret = if marks.contains(Marks::SENSITIVE) { "sensitive" } else { "ephemeral" };
            let detail = format!("The value is {secret}, but the number of blocks would show something of it.");
            self.invalid(detail, place, diags);
            made.unknown = true;
            return;
        }
        match collection {
            Value::List(c) => self.eval_sequence(&c.items, place, made, diags),
            Value::Tuple(items) => self.eval_sequence(items, place, made, diags),
            Value::Set(c) => c.items.iter().for_each(|v| self.eval_one(v.clone(), v.clone(), place, made, diags)),
            Value::Map(m) => {
                m.entries
                    .iter()
                    .for_each(|(k, v)| self.eval_one(Value::String(k.clone()), v.clone(), place, made, diags));
            }
            Value::Object(o) => {
                o.iter().for_each(|(k, v)| self.eval_one(Value::String(k.clone()), v.clone(), place, made, diags));
            }
            Value::Unknown(u) if !u.ty.is_primitive() => {
                let unknown = Value::unknown(Type::Dynamic);
                let single = matches!(slot.nesting, Nesting::Single | Nesting::Group);
                let place = Place { uncertain: true, ..place };
                // The dynamic blocks in it are made all the same.
                let value = self.content(&unknown, &unknown, place, diags).1;
                if single {
                    made.items.push((None, value));
                    made.ranges.push(self.header_range);
                } else {
                    made.unknown = true;
                }
            }
            other => {
                let detail = match other {
                    Value::Null(_) => "The value is null.".into(),
                    v => format!("A list, set, map, tuple or object is needed, but this is {}.", described(&v.ty())),
                };
                self.invalid(detail, place, diags);
                made.unknown = true;
            }
        }
    }

    fn invalid(&self, detail: String, place: Place, diags: &mut Diagnostics) {
        let mut d = Diagnostic::error("Invalid dynamic for_each value", detail).at(self.for_each.range);
        d.values = mentions(&self.for_each, place.scope, place.locals);
        diags.push(d);
    }

    fn eval_sequence(&self, items: &[Value], place: Place, made: &mut Made, diags: &mut Diagnostics) {
        for (i, v) in items.iter().enumerate() {
            self.eval_one(Value::Number(Number::from(i)), v.clone(), place, made, diags);
        }
    }

    fn eval_one(&self, key: Value, value: Value, place: Place, made: &mut Made, diags: &mut Diagnostics) {
        made.items.push(self.content(&key, &value, place, diags));
        made.ranges.push(self.header_range);
    }

    /// The block for one element.
    fn content(&self, key: &Value, value: &Value, place: Place, diags: &mut Diagnostics) -> (Option<Str>, Value) {
        let iterator = Value::object_with_names(ITERATOR.clone(), vec![key.clone(), value.clone()]);
        let frame = Locals { parent: place.locals, name: &self.iterator, value: &iterator };
        let place = Place { locals: Some(&frame), ..place };
        let label = self.label.as_ref().and_then(|l| eval_label(l, place, diags));
        (label, self.block.eval(place, diags))
    }
}

fn eval_label(label: &Expr, place: Place, diags: &mut Diagnostics) -> Option<Str> {
    let before = diags.len();
    let value = label.eval_in(place.scope, place.locals, diags);
    if diags.len() > before {
        return None;
    }
    let (inner, marks) = value.unmark();
    let detail = match inner {
        _ if !marks.is_empty() => "The label of a block cannot be sensitive or ephemeral.".into(),
        Value::Null(_) => "The label of a block cannot be null.".into(),
        Value::Unknown(_) => "The label of a block must be known before anything is applied.".into(),
        v => match convert(v, &Type::String) {
            Ok(Value::String(s)) => return Some(s),
            Ok(_) => return None,
            Err(e) => format!("The label of a block must be a string: {e}."),
        },
    };
    let mut d = Diagnostic::error("Invalid dynamic block label", detail).at(label.range);
    d.values = mentions(label, place.scope, place.locals);
    diags.push(d);
    None
}

impl Made {
    /// The value of all blocks of a type.
    fn collect(self, name: &str, slot: &BlockSlot, diags: &mut Diagnostics) -> Value {
        let element = slot.inner.ty();
        let open = slot.ty.is_dynamic();
        match slot.nesting {
            Nesting::Single | Nesting::Group => match self.items.into_iter().next() {
                Some((_, value)) => value,
                None if self.unknown => Value::unknown(slot.ty.clone()),
                None if slot.nesting == Nesting::Group => {
                    Value::object_with_names(slot.inner.names.clone(), slot.inner.empty.to_vec())
                }
                None => Value::Null(slot.ty.clone()),
            },
            _ if self.unknown => Value::unknown(slot.ty.clone()),
            Nesting::List => {
                let values = self.items.into_iter().map(|(_, v)| v).collect();
                if open { Value::tuple(values) } else { Value::list(element.clone(), values) }
            }
            Nesting::Set => Value::set(element.clone(), self.items.into_iter().map(|(_, v)| v).collect()),
            Nesting::Map => {
                let mut seen = std::collections::HashSet::new();
                for ((label, _), range) in self.items.iter().zip(&self.ranges) {
                    if let Some(label) = label
                        && !seen.insert(label.clone())
                    {
                        let detail =
                            format!("There is more than one block of type \"{name}\" with the key \"{label}\".");
                        diags.error(format!("Duplicate {name} block"), detail, *range);
                    }
                }
                let entries = self.items.into_iter().filter_map(|(label, v)| Some((label?, v)));
                if open { Value::object(entries) } else { Value::map(element.clone(), entries) }
            }
        }
    }
}

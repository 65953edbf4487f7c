//! Configuration for imported objects that have none: from an object and the schema of its type to the text of a
//! resource block. What a user cannot set is left out, and so are secrets. Called by the planner; the command line
//! writes the file.

use crate::addr::{Resource, ResourceInstance};
use crate::config::model::LocalProviderConfig;
use crate::diag::{FileId, Range};
use crate::lang::{format, render};
use gpuform_schema::schema::{self, AttributeType, NestedAttributes, Nesting};
use gpuform_schema::{Str, Value, json};
use hcl_edit::expr::{Array, Expression, FuncArgs, FuncCall, Object, ObjectKey, ObjectValue, ObjectValueTerminator};
use hcl_edit::structure::{Attribute, Block, BlockLabel, Body};
use hcl_edit::{Decorate, Ident};
use std::fmt::Write as _;

/// Configuration that was made for an imported object.
#[derive(Clone, PartialEq, Debug)]
pub struct Generated {
    pub addr: ResourceInstance,
    /// The `import` block that asked for the object: the order in the file is that of these blocks.
    pub import: Range,
    /// The ID of the import; absent where the object could not be planned with the configuration.
    pub id: Option<String>,
    /// The resource block, without a final newline.
    pub text: String,
}

/// The text of a file with generated configuration.
pub fn file(blocks: &[Generated]) -> String {
    let mut out = String::from(
        "# __generated__ by gpuform\n\
         # Please review these resources and move them into your main configuration files.\n",
    );
    for g in blocks {
        // Writing to a string cannot fail.
        let _ = match &g.id {
            Some(id) => write!(out, "\n# __generated__ by gpuform from {}\n", render::quoted(id)),
            None => write!(out, "\n# __generated__ by gpuform\n"),
        };
        out.push_str(&g.text);
        out.push('\n');
    }
    out
}

/// The resource block for an object, without a final newline. `value` is of the schema's type.
pub fn resource(
    addr: &Resource,
    provider: Option<&LocalProviderConfig>,
    schema: &schema::Block,
    value: &Value,
) -> String {
    let value = value.unmark_deep(&mut Default::default());
    let mut block = Block::new(Ident::new("resource"));
    block.labels = vec![BlockLabel::from(&*addr.ty), BlockLabel::from(&*addr.name)];
    if let Some(p) = provider {
        let reference = p.to_string().parse().unwrap_or_else(|_| Expression::from(p.to_string()));
        block.body.push(Attribute::new(Ident::new("provider"), reference));
    }
    add_attributes(&mut block.body, schema, &value, true);
    add_blocks(&mut block.body, schema, &value);
    let text = visible(&Body::from(vec![block.into()]).to_string());
    let text = format::format(&text, FileId(0)).unwrap_or(text);
    text.trim_end().to_owned()
}

/// Invisible characters as escape sequences. They can only stand in strings, since nothing else is taken from values.
fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c == '\n' || render::is_visible(c) {
            out.push(c);
        } else if u32::from(c) < 0x1_0000 {
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            let _ = write!(out, "\\U{:08x}", u32::from(c));
        }
    }
    out
}

/// Whether an attribute belongs into configuration.
fn is_argument(attribute: &schema::Attribute) -> bool {
    !attribute.deprecated && (attribute.required || attribute.optional)
}

/// An argument's name, its expression, and whether a comment says that a secret was left out.
fn arguments<'a>(
    attributes: impl IntoIterator<Item = (&'a Str, &'a schema::Attribute)>,
    value: &Value,
) -> Vec<(&'a Str, Expression, bool)> {
    let arguments = attributes.into_iter().filter(|(_, a)| is_argument(a));
    arguments
        .map(|(name, a)| {
            let v = value.get(name).cloned().unwrap_or_else(Value::null);
            (name, argument(a, &v), a.sensitive)
        })
        .collect()
}

const SECRET: &str = " # sensitive";

fn add_attributes(body: &mut Body, schema: &schema::Block, value: &Value, top: bool) {
    // The provider chooses the ID, even where it could be given.
    let chosen = |name: &str, a: &schema::Attribute| top && name == "id" && a.optional && a.computed;
    let attributes = schema.attributes.iter().filter(|(n, a)| !chosen(n, a));
    for (name, mut value, secret) in arguments(attributes, value) {
        if secret {
            value.decorate((" ", SECRET));
        }
        body.push(Attribute::new(Ident::new_sanitized(name), value));
    }
}

fn add_blocks(body: &mut Body, schema: &schema::Block, value: &Value) {
    for (name, nested) in schema.blocks.iter().filter(|(_, n)| !n.block.deprecated) {
        let Some(value) = value.get(name) else { continue };
        let mut add = |label: Option<&Str>, value: &Value| {
            let mut block = Block::new(Ident::new_sanitized(name));
            block.labels = label.iter().map(|l| BlockLabel::from(&***l)).collect();
            add_attributes(&mut block.body, &nested.block, value, false);
            add_blocks(&mut block.body, &nested.block, value);
            body.push(block);
        };
        match nested.nesting {
            Nesting::Single | Nesting::Group if value.is_null() => {}
            Nesting::Single | Nesting::Group => add(None, value),
            Nesting::List => value.items().into_iter().flatten().for_each(|v| add(None, v)),
            // A secret in an element makes the whole set one: elements are told apart by their content.
            Nesting::Set if has_secret(&nested.block) => {
                if value.items().is_some_and(|i| !i.is_empty()) {
                    let mut block = Block::new(Ident::new_sanitized(name));
                    block.body.set_prefer_oneline(true);
                    block.decorate(("", SECRET));
                    body.push(block);
                }
            }
            Nesting::Set => value.items().into_iter().flatten().for_each(|v| add(None, v)),
            Nesting::Map => value.entries().into_iter().flatten().for_each(|(k, v)| add(Some(k), v)),
        }
    }
}

fn has_secret(block: &schema::Block) -> bool {
    fn attribute(a: &schema::Attribute) -> bool {
        a.sensitive || matches!(&a.ty, AttributeType::Nested(n) if n.attributes.values().any(attribute))
    }
    block.attributes.values().any(attribute) || block.blocks.values().any(|b| has_secret(&b.block))
}

fn argument(attribute: &schema::Attribute, value: &Value) -> Expression {
    match &attribute.ty {
        AttributeType::Nested(n) if attribute.sensitive => match n.nesting {
            Nesting::List | Nesting::Set => Array::new().into(),
            _ => Object::new().into(),
        },
        _ if attribute.sensitive || value.is_null() => Expression::null(),
        AttributeType::Nested(n) => structured(n, value),
        AttributeType::Value(_) => match value {
            Value::String(s) if s.is_empty() && !attribute.required => Expression::null(),
            Value::String(s) => from_json(s).unwrap_or_else(|| Expression::from(&**s)),
            v => literal(v),
        },
    }
}

/// The value of an attribute that has attributes itself; elements stand on lines of their own.
fn structured(nested: &NestedAttributes, value: &Value) -> Expression {
    let inner = |value: &Value| -> Expression {
        object(arguments(&nested.attributes, value).into_iter().map(|(n, v, secret)| (&**n, v, secret)))
    };
    match nested.nesting {
        Nesting::Single | Nesting::Group => inner(value),
        Nesting::Map => {
            let entries = value.entries().into_iter().flatten();
            object(entries.map(|(k, v)| (&**k, inner(v), false)))
        }
        Nesting::List | Nesting::Set => {
            let mut array = Array::new();
            for item in value.items().into_iter().flatten() {
                array.push(inner(item).decorated(("\n", "")));
            }
            array.set_trailing_comma(!array.is_empty());
            array.set_trailing("\n");
            array.into()
        }
    }
}

fn literal(value: &Value) -> Expression {
    match value {
        Value::Bool(b) => Expression::from(*b),
        Value::Number(n) => number(&n.to_string()),
        Value::String(s) => Expression::from(&**s),
        Value::List(c) | Value::Set(c) => c.items.iter().map(literal).collect::<Array>().into(),
        Value::Tuple(items) => items.iter().map(literal).collect::<Array>().into(),
        Value::Map(_) | Value::Object(_) => {
            let entries: Vec<_> = value.entries().into_iter().flatten().collect();
            if entries.is_empty() {
                return Object::new().into();
            }
            object(entries.iter().map(|(k, v)| (&***k, literal(v), false)))
        }
        Value::Null(_) | Value::Unknown(_) | Value::Marked(_) => Expression::null(),
    }
}

/// A number with all its digits; `hcl_edit` has no number for those beyond 64 bits, but prints a word as it is.
fn number(digits: &str) -> Expression {
    digits.parse().unwrap_or_else(|_| Ident::new_unchecked(digits).into())
}

/// An object with a line for each entry.
fn object<'a>(entries: impl IntoIterator<Item = (&'a str, Expression, bool)>) -> Expression {
    let mut object = Object::new();
    for (name, mut value, secret) in entries {
        let mut key = match Ident::try_new(name) {
            // `{ for …` would begin a for expression; other keywords may be keys, as an expression of one name.
            Ok(ident) if !(object.is_empty() && name == "for") => ObjectKey::from(Expression::from(ident)),
            _ => ObjectKey::from(Expression::from(name)),
        };
        if object.is_empty() {
            key.decorate(("\n", " "));
        }
        if secret {
            value.decorate((" ", SECRET));
        }
        let mut value = ObjectValue::from(value);
        value.set_terminator(ObjectValueTerminator::Newline);
        object.insert(key, value);
    }
    if object.is_empty() {
        object.set_trailing("\n");
    }
    object.into()
}

/// A call of `jsonencode` for a string that holds a JSON array, object or null: easier to read and to edit.
fn from_json(text: &str) -> Option<Expression> {
    if !text.trim_start().starts_with(['{', '[', 'n']) {
        return None;
    }
    let value = json::decode_untyped(text).ok()?;
    let mut args = FuncArgs::new();
    args.push(literal(&value));
    Some(FuncCall::new(Ident::new("jsonencode"), args).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::addr::Mode;
    use gpuform_schema::schema::{Attribute as Argument, Block as Schema, Description, NestedBlock};
    use gpuform_schema::{Number, Type};

    /// `r`equired, `o`ptional, `c`omputed, `s`ensitive, `d`eprecated.
    fn attribute(ty: AttributeType, is: &str) -> Argument {
        Argument {
            ty,
            description: Description::default(),
            required: is.contains('r'),
            optional: is.contains('o'),
            computed: is.contains('c'),
            sensitive: is.contains('s'),
            write_only: false,
            deprecated: is.contains('d'),
        }
    }

    fn plain(ty: Type, is: &str) -> Argument {
        attribute(AttributeType::Value(ty), is)
    }

    fn nested(nesting: Nesting, is: &str) -> Argument {
        let attributes = [
            ("a".into(), plain(Type::String, "r")),
            ("c".into(), plain(Type::String, "c")),
            ("s".into(), plain(Type::String, "os")),
        ];
        attribute(AttributeType::Nested(NestedAttributes { nesting, attributes: attributes.into() }), is)
    }

    fn element(a: &str) -> Value {
        Value::object([("a", a.into()), ("c", "x".into()), ("s", "secret".into())])
    }

    fn written(attributes: Vec<(&str, Argument, Value)>, blocks: Vec<(&str, NestedBlock, Value)>) -> String {
        let value =
            attributes.iter().map(|(n, _, v)| (*n, v.clone())).chain(blocks.iter().map(|(n, _, v)| (*n, v.clone())));
        let value = Value::object(value);
        let schema = Schema {
            attributes: attributes.into_iter().map(|(n, a, _)| (n.into(), a)).collect(),
            blocks: blocks.into_iter().map(|(n, b, _)| (n.into(), b)).collect(),
            ..Schema::default()
        };
        let addr = Resource { mode: Mode::Managed, ty: "t_x".into(), name: "n".into() };
        let west = LocalProviderConfig { name: "t".into(), alias: Some("west".into()) };
        resource(&addr, Some(&west), &schema, &value)
    }

    #[test]
    fn only_what_a_user_can_set_is_written_and_no_secret() {
        let big = Number::parse("12345678901234567890123456789").unwrap();
        let attributes = vec![
            ("id", plain(Type::String, "oc"), "i-1".into()),
            ("arn", plain(Type::String, "c"), "arn".into()),
            ("old", plain(Type::String, "od"), "x".into()),
            ("big", plain(Type::Number, "o"), Value::Number(big)),
            ("empty", plain(Type::String, "oc"), "".into()),
            ("empty_r", plain(Type::String, "r"), "".into()),
            ("json", plain(Type::String, "o"), " {\"a b\":[{}]}".into()),
            ("text", plain(Type::String, "o"), "\u{200d}é".into()),
            ("secret", plain(Type::String, "os"), "hush".into()),
            ("secrets", nested(Nesting::List, "os"), Value::null()),
            (
                "keys",
                plain(Type::map(Type::String), "o"),
                Value::map(Type::String, [("for", "1".into()), ("in", "2".into())]),
            ),
        ];
        let expected = r#"resource "t_x" "n" {
  provider = t.west
  big      = 12345678901234567890123456789
  empty    = null
  empty_r  = ""
  json = jsonencode({
    "a b" = [{}]
  })
  keys = {
    "for" = "1"
    in    = "2"
  }
  secret  = null # sensitive
  secrets = []   # sensitive
  text    = "\u200dé"
}"#;
        assert_eq!(written(attributes, Vec::new()), expected);
    }

    #[test]
    fn attributes_and_blocks_nest() {
        let block = |nesting, is: &str| NestedBlock {
            nesting,
            block: Schema { attributes: [("a".into(), plain(Type::String, is))].into(), ..Schema::default() },
            min_items: 0,
            max_items: 0,
        };
        let a = |text: &str| Value::object([("a", Value::from(text))]);
        let ty = || Type::object([("a", Type::String)]);
        let attributes = vec![
            ("list", nested(Nesting::List, "o"), Value::tuple(vec![element("1"), element("2")])),
            ("map", nested(Nesting::Map, "o"), Value::object([("k 1", element("1"))])),
            ("none", nested(Nesting::List, "o"), Value::tuple(Vec::new())),
            ("objects", plain(Type::list(ty()), "o"), Value::list(ty(), vec![a("1"), a("2")])),
        ];
        let blocks = vec![
            ("absent", block(Nesting::Single, "o"), Value::Null(ty())),
            ("labelled", block(Nesting::Map, "o"), Value::map(ty(), [("k 1", a("1"))])),
            ("many", block(Nesting::List, "o"), Value::list(ty(), vec![a("1"), a("2")])),
            ("secret", block(Nesting::Set, "os"), Value::set(ty(), vec![a("1"), a("2")])),
        ];
        let expected = r#"resource "t_x" "n" {
  provider = t.west
  list = [
    {
      a = "1"
      s = null # sensitive
    },
    {
      a = "2"
      s = null # sensitive
    },
  ]
  map = {
    "k 1" = {
      a = "1"
      s = null # sensitive
    }
  }
  none = [
  ]
  objects = [{
    a = "1"
    }, {
    a = "2"
  }]
  labelled "k 1" {
    a = "1"
  }
  many {
    a = "1"
  }
  many {
    a = "2"
  }
  secret {} # sensitive
}"#;
        assert_eq!(written(attributes, blocks), expected);
    }
}

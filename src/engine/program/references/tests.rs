//! What references may ask of blocks, by how the blocks are nested.

use super::in_block;
use crate::diag::FileId;
use crate::lang::parse::parse_expression;
use crate::lang::syntax::ExprKind;
use gpuform_schema::Type;
use gpuform_schema::schema::{Attribute, AttributeType, Block, Description, NestedBlock, Nesting};

/// Attributes `name` and `zones`, and a block of each kind that has a `name`.
fn block() -> Block {
    let attribute = |ty| Attribute {
        ty: AttributeType::Value(ty),
        description: Description::default(),
        required: false,
        optional: true,
        computed: true,
        sensitive: false,
        write_only: false,
        deprecated: false,
    };
    let mut inner = Block::default();
    inner.attributes.insert("name".into(), attribute(Type::String));
    let mut block = inner.clone();
    block.attributes.insert("zones".into(), attribute(Type::set(Type::String)));
    for (name, nesting) in
        [("one", Nesting::Single), ("list", Nesting::List), ("set", Nesting::Set), ("map", Nesting::Map)]
    {
        let nested = NestedBlock { nesting, block: inner.clone(), min_items: 0, max_items: 0 };
        block.blocks.insert(name.into(), nested);
    }
    block
}

/// The summary of what is wrong with a reference to parts of `it`.
fn problem(reference: &str) -> Option<String> {
    let expr = parse_expression(reference, FileId(0), 0).unwrap();
    let ExprKind::Traversal(t) = &expr.kind else { return None };
    in_block(&block(), &t.steps).map(|wrong| wrong.diagnostic(|name| name.to_owned()).summary)
}

#[test]
fn blocks_are_reached_as_they_are_nested() {
    for right in [
        "it.name",
        "it.zones",
        "it.one.name",
        "it.list",
        "it.list[0].name",
        "it.list[\"0\"].name",
        "it.list.0.name",
        "it.list[var.i].nothing",
        "it.list[*].nothing",
        "it.set",
        "it.set[*].nothing",
        "it.map.key.name",
        "it.map[\"key\"].name",
    ] {
        assert_eq!(problem(right), None, "{right}");
    }
    for (wrong, summary) in [
        ("it.nothing", "Unsupported attribute"),
        ("it.name.x", "Unsupported attribute"),
        ("it.name[0]", "Invalid index"),
        ("it.zones[0]", "Invalid index"),
        ("it.one.nothing", "Unsupported attribute"),
        ("it.one[0].name", "Invalid index operation"),
        ("it.one[\"name\"]", "Invalid index operation"),
        ("it.list.name", "Invalid operation"),
        ("it.list[0].nothing", "Unsupported attribute"),
        ("it.list[0].name.x", "Unsupported attribute"),
        ("it.set.name", "Cannot index a set value"),
        ("it.set[0]", "Cannot index a set value"),
        ("it.set.0.name", "Cannot index a set value"),
        ("it.map.key.nothing", "Unsupported attribute"),
    ] {
        assert_eq!(problem(wrong).as_deref(), Some(summary), "{wrong}");
    }
}

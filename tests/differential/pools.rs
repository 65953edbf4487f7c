//! What generated expressions are made of: literals, and arguments of functions that are more than "a string". A pool is
//! picked from by its name; those of whole expressions are in `pools.txt`.

use std::collections::HashMap;
use std::sync::LazyLock;

/// Pieces of quoted strings.
pub const PIECES: &[&str] = &[
    "a",
    "Z",
    "hello",
    "wörld",
    " ",
    "  ",
    "é",
    "e\u{301}",
    "日本",
    "👩\u{200d}👩\u{200d}👧",
    "🇩🇪",
    "\\n",
    "\\t",
    "\\r",
    "\\\"",
    "\\\\",
    "$${",
    "%%{",
    "$",
    "%",
    "\\u00e9",
    "\\U0001F600",
    "1",
    "42",
    "-7",
    "3.5",
    "true",
    "-",
    "_",
    ",",
    ".",
    "ß",
    "İ",
    "ǆ",
    "<&>",
    "'",
    "#",
    "//",
    "{",
    "}",
    "x y",
    "it's",
    "A1",
    "\\u200d",
    "\\u0301",
    "\\u0001",
    "\\u2028",
    "ﬁ",
    "=",
    ":",
    "Σς",
    "\\x41",
    "$$",
    "%%",
    "null",
    "[1]",
    "\\u00A0",
    "0x1f",
    "1e3",
    "١",
    "ŉ",
];

/// Lines of heredocs.
pub const LINES: &[&str] = &[
    "text",
    "  two spaces",
    "    four",
    "",
    "\ttab",
    "$${no}",
    "back\\slash",
    "\"quoted\"",
    "é日本",
    "  ",
    "# not a comment",
    "EOT x",
    "%%{x}",
    "trailing  ",
];

static POOLS: LazyLock<HashMap<&str, Vec<&str>>> = LazyLock::new(|| {
    let of_part = |part: &'static str| {
        let (name, members) = part.split_once("]\n")?;
        Some((name, members.lines().filter(|l| !l.is_empty()).collect()))
    };
    include_str!("pools.txt").split("\n\n[").filter_map(of_part).collect()
});

/// The members of a pool, each an expression.
pub fn pool(name: &str) -> &'static [&'static str] {
    POOLS.get(name).unwrap_or_else(|| panic!("there is no pool {name}"))
}

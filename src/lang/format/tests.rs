//! Recorded from Terraform 1.11.4, except where a test says otherwise.

use super::format;
use crate::diag::Sources;
use crate::lang::parse::scan::{self, T};
use proptest::prelude::*;

fn formatted(text: &str) -> Option<String> {
    let id = Sources::default().add("main.tf", text);
    format(text, id).ok()
}

#[track_caller]
fn check(table: &[(&str, &str)]) {
    for (text, expected) in table {
        assert_eq!(formatted(text).as_deref(), Some(*expected), "{text:?}");
    }
}

#[test]
fn lines_are_indented_by_the_brackets_that_are_open() {
    check(&[
        ("a {\nb {\nc = 1\n}\n}\n", "a {\n  b {\n    c = 1\n  }\n}\n"),
        ("a = [\n1,\n2]\n", "a = [\n  1,\n2]\n"),
        ("a = f([{\nb = 1\n}, {\nc = 2\n}])\n", "a = f([{\n  b = 1\n  }, {\n  c = 2\n}])\n"),
        ("a = [[\n1\n],\n[\n2\n]\n]\n", "a = [[\n  1\n  ],\n  [\n    2\n  ]\n]\n"),
        ("a = (b\n+ c)\n", "a = (b\n+ c)\n"),
        ("a {\n\t# c\n\n/* d */\n}\n", "a {\n  # c\n\n  /* d */\n}\n"),
    ]);
}

#[test]
fn blank_lines_and_line_ends_stay() {
    check(&[
        ("\n\na = 1\n\n\n\nb = 2\n\n", "\n\na = 1\n\n\n\nb = 2\n\n"),
        ("a {\n\n\n}\n", "a {\n\n\n}\n"),
        ("a=1\r\nbb=2 # c\r\n", "a  = 1\r\nbb = 2 # c\r\n"),
        ("a=1", "a = 1"),
        ("a=1   \n \t ", "a = 1\n   "),
        ("  \n\ta=1 # c", "\na = 1 # c"),
        ("\u{feff}a=1\n", "a = 1\n"),
        ("", ""),
    ]);
}

#[test]
fn equals_signs_of_successive_lines_are_aligned() {
    check(&[
        ("a=1\nbbb=2\n\ncc=3\n", "a   = 1\nbbb = 2\n\ncc = 3\n"),
        ("a=1\n# c\nbbb=2\n", "a = 1\n# c\nbbb = 2\n"),
        ("a=1\nbbb=[\n]\ncc=3\ndddd={}\n", "a = 1\nbbb = [\n]\ncc   = 3\ndddd = {}\n"),
        ("a=1\nbbb=<<EOT\n  x\nEOT\n", "a   = 1\nbbb = <<EOT\n  x\nEOT\n"),
        ("x = {\n\"é\"=1\nbbb=2\n(c)=3\nd:4\n}\n", "x = {\n  \"é\" = 1\n  bbb = 2\n  (c) = 3\n  d : 4\n}\n"),
        ("a /* x */=1\nb=2\n", "a /* x */ = 1\nb         = 2\n"),
    ]);
}

#[test]
fn comments_at_the_ends_of_successive_lines_are_aligned() {
    check(&[
        ("a=1# c\nbbb=22 // d\n", "a   = 1  # c\nbbb = 22 // d\n"),
        ("a=1 # c\nb = { # d\n}\n", "a = 1 # c\nb = { # d\n}\n"),
        ("a=\"é\" # c\nb=\"日本\" # d\n", "a = \"é\"  # c\nb = \"日本\" # d\n"),
        ("a {   # c\nb=1 /* d */\n}\n", "a { # c\n  b = 1 /* d */\n}\n"),
        ("a = [1 # c\n,2]\n", "a = [1 # c\n, 2]\n"),
    ]);
}

#[test]
fn tokens_are_separated_by_one_space_or_none() {
    check(&[
        ("a=b?c:-d\n", "a = b ? c : -d\n"),
        ("a=- 1-- 2*-3\n", "a = -1 - -2 * -3\n"),
        ("a=! b&&( c )||d [ 0 ] . e\n", "a = !b && (c) || d[0].e\n"),
        ("a=f (x , y ... )\n", "a = f(x, y...)\n"),
        ("a=x :: y (1)\n", "a = x::y(1)\n"),
        ("a=[for x in[1]:x if x>0]\n", "a = [for x in [1] : x if x > 0]\n"),
        ("a={for k,v in m:k=>v...}\n", "a = { for k, v in m : k => v... }\n"),
        ("a={}\nb={c=1}\nc=[ ]\n", "a = {}\nb = { c = 1 }\nc = []\n"),
        ("a=b [*] . c\nd=b . * . c\n", "a = b[*].c\nd = b.*.c\n"),
        ("a {b=1}\nc{}\n", "a { b = 1 }\nc {}\n"),
        ("a = \"x${ b } ${~c ~}%{ if d }e%{endif}\"\n", "a = \"x${b} ${~c~}%{if d}e%{endif}\"\n"),
        ("a = \" ${ {} }\"\n", "a = \" ${ {} }\"\n"),
    ]);
}

#[test]
fn heredocs_keep_their_lines() {
    check(&[
        ("a {\nb=<<-EOT\n   x ${ y }\n  EOT  \nc=1\n}\n", "a {\n  b = <<-EOT\n   x ${y}\n  EOT  \n  c = 1\n}\n"),
        ("a=<<EOT\n%{ if b ~}\n c\n%{ endif ~}\nEOT\n", "a = <<EOT\n%{if b~}\n c\n%{endif~}\nEOT\n"),
        ("a=f(<<EOT\n x\nEOT\n,1)\n", "a = f(<<EOT\n x\nEOT\n, 1)\n"),
    ]);
}

#[test]
fn outdated_notations_are_replaced() {
    check(&[
        ("a = \"${b.c[0]}\"\n", "a = b.c[0]\n"),
        ("a = [\"${b}\"]\n", "a = [\"${b}\"]\n"),
        ("a = \"${b}${c}\"\nd = \"x${b}\"\ne = \"x\"\n", "a = \"${b}${c}\"\nd = \"x${b}\"\ne = \"x\"\n"),
        ("a = \"${f(\"${b}\")}\" # c\n", "a = f(\"${b}\") # c\n"),
        ("a = \"${\n b ?\n c : d\n}\"\n", "a = (b ?\nc : d)\n"),
        ("a = \"${(b +\n c)}\"\n", "a = (b +\nc)\n"),
        ("a = \"${b}\" == \"${c}\"\n", "a = \"${b}\" == \"${c}\"\n"),
        ("a = /* x */ \"${ /* y */ b }\" /* z */\n", "a = /* x */ /* y */ b /* z */\n"),
        ("variable \"a\" {\ntype=\"string\"\n}\n", "variable \"a\" {\n  type = string\n}\n"),
        ("variable \"a\" {\ntype=\"list\"\n}\n", "variable \"a\" {\n  type = list(string)\n}\n"),
        ("variable \"a\" {\ntype=list\n}\n", "variable \"a\" {\n  type = list(any)\n}\n"),
        ("variable \"a\" {\ntype=\"set\"\n}\n", "variable \"a\" {\n  type = \"set\"\n}\n"),
        ("variable \"a\" {\nb {\ntype=list\n}\n}\n", "variable \"a\" {\n  b {\n    type = list\n  }\n}\n"),
        ("x \"a\" {\ntype=list\n}\n", "x \"a\" {\n  type = list\n}\n"),
        ("a b /* c */ \"d\" /* e */ {\n}\n", "a \"b\" \"d\" /* e */ {\n}\n"),
        ("a /* b */ {}\n", "a /* b */ {}\n"),
        (r#"a "\u00e9\t\"" "" "\u200b" {}"#, r#"a "é\t\"" "" "\u200b" {}"#),
    ]);
}

/// Terraform writes `a = b + # c` without parentheses and puts comments behind heredocs, after which the text is no
/// longer a configuration; it drops labels that have a dollar sign in them, and the index of `a[null]`.
#[test]
fn nothing_is_broken_or_lost() {
    check(&[
        ("a = \"${b + # c\n1}\"\n", "a = (b + # c\n1)\n"),
        ("a = \"${{ # c\n}}\"\n", "a = { # c\n}\n"),
        ("a = \"${<<EOT\n x\nEOT\n}\" # c\n", "a = \"${<<EOT\n x\nEOT\n}\" # c\n"),
        ("a = b[null]\n", "a = b[null]\n"),
        ("a \"$$\" \"%%{b\" {}\n", "a \"$$\" \"%%{b\" {}\n"),
    ]);
}

#[test]
fn what_is_no_configuration_has_no_form() {
    for text in ["a = ", "a {", "a = 1 }\n", "a { b = 1\n}\n", "a = 1\na = 2\n", "a = \"b\n\"\n"] {
        assert_eq!(formatted(text), None, "{text:?}");
    }
}

/// A configuration of random tokens with random space between them; often valid.
fn texts() -> impl Strategy<Value = String> {
    let space = prop_oneof![3 => Just(""), 4 => Just(" "), 1 => Just("   "), 1 => Just("\t"), 1 => Just(" /* c */ ")];
    let value = prop::sample::select(vec![
        "1",
        "-x",
        "x.y[0]",
        "\"a ${b} c\"",
        "[1,\n2]",
        "{ a=1\nb : 2 }",
        "f(x,y)",
        "(1+\n2)",
        "a?b:c",
        "<<EOT\n  x\nEOT",
        "[for x in[1]:x]",
        "\"${x}\"",
        "\"${\nx +\n1}\"",
    ]);
    let end = prop::sample::select(vec!["\n", "\r\n", " # c\n", "  // d\r\n", "\n\n", "   \n"]);
    let attribute = (space.clone(), "[a-z]{1,6}", space.clone(), space.clone(), value, space, end).prop_map(
        |(s1, name, s2, s3, value, s4, end)| {
            let end = if value.starts_with("<<") { "\n" } else { end };
            let s4 = if value.starts_with("<<") { "" } else { s4 };
            format!("{s1}{name}{s2}={s3}{value}{s4}{end}")
        },
    );
    let body = prop::collection::vec(attribute, 0..5).prop_map(|v| v.concat());
    prop::collection::vec((body.clone(), body), 1..4)
        .prop_map(|v| v.into_iter().map(|(a, b)| format!("x  Y \"z\"{{\n{a}w {{ # c\n{b}}}\n}}\n")).collect())
}

/// The tokens of a text without space, line ends and parentheses.
fn tokens(text: &str) -> Vec<&str> {
    let all = scan::with_comments(text);
    let meant = all.iter().filter(|t| !matches!(t.kind, T::Newline | T::OParen | T::CParen));
    meant.filter_map(|t| text.get(t.start as usize..t.end as usize)).map(str::trim).collect()
}

proptest! {
    #[test]
    fn formatting_again_changes_nothing(text in texts()) {
        if let Some(once) = formatted(&text) {
            prop_assert_eq!(formatted(&once), Some(once));
        }
    }

    #[test]
    fn tokens_stay(text in texts()) {
        let modern = text.replace("\"${x}\"", "x").replace("\"${\nx +\n1}\"", "x +\n1").replace(" Y ", " \"Y\" ");
        if let Some(new) = formatted(&text) {
            prop_assert_eq!(tokens(&modern).concat(), tokens(&new).concat());
        }
    }
}

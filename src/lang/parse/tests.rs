use super::*;
use crate::diag::Sources;
use crate::lang::syntax::Body;

/// `line,column-line,column summary` of each error in a file.
fn errors(text: &str) -> Vec<String> {
    let sources = Sources::default();
    let file = sources.add("t.tf", text);
    let mut diags = Diagnostics::new();
    parse_file(text, file, &mut diags);
    let at = |d: &crate::diag::Diagnostic| d.subject.map(|r| sources.describe(r)).unwrap_or_default();
    diags.iter().map(|d| format!("{} {}", at(d).trim_start_matches("t.tf:"), d.summary)).collect()
}

/// The expression written back, fully bracketed.
fn shape(text: &str) -> String {
    match parse_expression(text, FileId(0), 0) {
        Ok(e) => tree(&e),
        Err(diags) => diags.iter().next().map(|d| format!("error: {}", d.summary)).unwrap_or_default(),
    }
}

pub(super) fn tree(e: &Expr) -> String {
    use crate::lang::syntax::{Step, StepKind};
    fn all<'a>(items: impl IntoIterator<Item = &'a Expr>) -> String {
        items.into_iter().map(tree).collect::<Vec<_>>().join(" ")
    }
    fn steps(steps: &[Step]) -> String {
        let step = |s: &Step| match &s.kind {
            StepKind::Attr(n) => format!(".{n}"),
            StepKind::LegacyIndex(i) => format!(".{i}"),
            StepKind::Index(e) => format!("[{}]", tree(e)),
            StepKind::Splat { full } => if *full { "[*]" } else { ".*" }.to_owned(),
        };
        steps.iter().map(step).collect()
    }
    fn parts(list: &[TemplatePart]) -> String {
        let part = |p: &TemplatePart| match p {
            TemplatePart::Text(t) => format!("{t:?}"),
            TemplatePart::Interpolation(e) => tree(e),
            TemplatePart::If { condition, then, otherwise, .. } => {
                format!("(if {} [{}] [{}])", tree(condition), parts(then), parts(otherwise))
            }
            TemplatePart::For { key, value, collection, body, .. } => {
                format!("(for {key:?} {value} {} [{}])", tree(collection), parts(body))
            }
        };
        list.iter().map(part).collect::<Vec<_>>().join(" ")
    }
    match &e.kind {
        ExprKind::Literal(v) => format!("{v:?}"),
        ExprKind::Template(p) => format!("(template {})", parts(p)),
        ExprKind::Traversal(t) => format!("{}{}", t.root, steps(&t.steps)),
        ExprKind::Relative(s, t) => format!("({}){}", tree(s), steps(t)),
        ExprKind::Splat { source, full, rest, .. } => {
            format!("({} {} {})", tree(source), if *full { "[*]" } else { ".*" }, steps(rest))
        }
        ExprKind::Call(c) => {
            format!("({} {}{})", c.name, all(&c.args), if c.expand_final { "..." } else { "" })
        }
        ExprKind::Conditional(p) => format!("(? {})", all(p.iter())),
        ExprKind::Unary(op, e) => format!("({op:?} {})", tree(e)),
        ExprKind::Binary(op, p) => format!("({op:?} {})", all(p.iter())),
        ExprKind::Tuple(p) => format!("[{}]", all(p)),
        ExprKind::Object(items) => {
            let items: Vec<_> = items.iter().map(|i| format!("{}: {}", tree(&i.key), tree(&i.value))).collect();
            format!("{{{}}}", items.join(", "))
        }
        ExprKind::For(f) => format!(
            "(for {:?} {} {} {}{}{}{})",
            f.key_var,
            f.value_var,
            tree(&f.collection),
            f.key.as_ref().map(|k| format!("{} => ", tree(k))).unwrap_or_default(),
            tree(&f.value),
            if f.grouping { "..." } else { "" },
            f.condition.as_ref().map(|c| format!(" if {}", tree(c))).unwrap_or_default(),
        ),
        ExprKind::Paren(e) => format!("<{}>", tree(e)),
        ExprKind::JsonTemplate(json) => json.text.to_string(),
    }
}

#[test]
fn operators_bind_as_in_arithmetic_and_from_the_left() {
    for (text, expected) in [
        ("1 + 2 * 3 - 4", "(Sub (Add 1 (Mul 2 3)) 4)"),
        ("a || b && !c == d", "(Or a (And b (Eq (Not c) d)))"),
        ("-46 + 5", "(Add (Neg 46) 5)"),
        ("-a.b[0]", "(Neg a.b[0])"),
        ("1 < 2 == 3 > 4", "(Eq (Less 1 2) (Greater 3 4))"),
        ("a ? b : c ? d : e", "(? a b (? c d e))"),
        ("(1 + 2) % 3", "(Rem <(Add 1 2)> 3)"),
        ("- - 1", "(Neg (Neg 1))"),
    ] {
        assert_eq!(shape(text), expected, "{text}");
    }
}

#[test]
fn references_calls_and_collections() {
    for (text, expected) in [
        ("var.x.y[0][\"k\"].0", "var.x.y[0][\"k\"].0"),
        ("a.*.b.0[1]", "((a .* .b.0))[1]"),
        ("a[*].b[1].c", "(a [*] .b[1].c)"),
        ("a[*].b[*].c", "(a [*] .b[*].c)"),
        ("a.*.b[*].c", "((a .* .b) [*] .c)"),
        ("f(1, [2]...)", "(f 1 [2]...)"),
        ("f(\n1,\n)", "(f 1)"),
        ("provider::x::y(z)", "(provider::x::y z)"),
        ("(a).b", "(<a>).b"),
        ("f().b", "((f )).b"),
        ("{ a = 1, \"b\" : 2\n (c) = 3, true = 4 }", "{\"a\": 1, \"b\": 2, <c>: 3, \"true\": 4}"),
        ("[for k, v in m : v if k]", "(for Some(\"k\") v m v if k)"),
        ("{for v in m : v => v...}", "(for None v m v => v...)"),
        ("{\nfor v in m :\n v => v\n}", "(for None v m v => v)"),
        ("[format(1)]", "[(format 1)]"),
        ("12345678901234567890123", "12345678901234567890123"),
        ("a-b", "a-b"),
    ] {
        assert_eq!(shape(text), expected, "{text}");
    }
}

#[test]
fn templates_decode_escapes_trim_and_nest() {
    for (text, expected) in [
        (r#""a\tb\"\\\u00e9\U0001F600""#, r#""a\tb\"\\é😀""#),
        (r#""$${x} %%{y} $ % $$ %%""#, r#""${x} %{y} $ % $$ %%""#),
        (r#""${x}""#, "(template x)"),
        (r#""a ${~ x ~}  b""#, r#"(template "a" x "b")"#),
        (r#""%{ if a }1%{ else }2%{ endif }""#, r#"(template (if a ["1"] ["2"]))"#),
        (r#""%{ for k, v in m ~} ${v}%{ endfor }""#, r#"(template (for Some("k") v m ["" v]))"#),
        (r#""  ${~ x ~} ""#, r#"(template "" x "")"#),
        (r#""${"in ${"deep"}"}""#, r#"(template (template "in " "deep"))"#),
        ("<<EOT\na\\n\n  EOT x\nEOT\n", r#""a\\n\n  EOT x\n""#),
        ("<<-EOT\n    a\n      b\n\n    ${c} d\n  EOT\n", r#"(template "a\n  b\n\n" c " d\n")"#),
        ("<<EOT\r\nx\r\nEOT\r\n", r#""x\r\n""#),
        ("<<EOT\nEOT\n", r#""""#),
    ] {
        assert_eq!(shape(text), expected, "{text}");
    }
}

#[test]
fn expressions_with_mistakes_say_what_is_wrong() {
    let compat = concat!(
        "upper(\"a\",,)\tInvalid expression\n[1, 2\tUnterminated tuple constructor expression\n1 +* 2\tInvalid expression\n",
        "true &&\tMissing expression\n1 /* open\tInvalid expression\n1 2 3\tExtra characters after expression\n",
        "max([1]...,)\tMissing closing parenthesis\ndata.\tInvalid attribute name\na.1b\tExtra characters after expression\n",
        "a[0:1]\tMissing close bracket on index\n[1 2]\tMissing item separator\n1;\tInvalid character\n",
        "\"\\'\"\tInvalid escape sequence\n\"%{ for x in [1] }x\"\tUnexpected end of template\n",
        "\"%{ if }x%{ endif }\"\tInvalid expression\n\"%{ for x in [1] }a%{ else }b%{ endfor }\"\tUnexpected else directive\n",
        "\"${\"a\" // c\tUnclosed template interpolation sequence\n${1}\tInvalid character\n{ a 1 }\tMissing key/value separator\n",
        "a.0.1\tInvalid legacy index syntax\n\"$$${\"a\"}\"\tExtra characters after expression\n",
        "[for x in [1] : x => x]\tInvalid 'for' expression\n{for x in [1] : x}\tInvalid 'for' expression\n",
    );
    for line in compat.lines() {
        let (text, summary) = line.split_once('\t').expect("two columns");
        assert_eq!(shape(text), format!("error: {summary}"), "{text}");
    }
}

#[test]
fn files_with_mistakes_are_read_as_far_as_possible() {
    for (text, expected) in [
        ("locals {\n  a = 1 +\n  b = 2 +\n}\n", vec!["2,10-3,1 Invalid expression"]),
        (
            "locals {\n  z = 1\n  z = 2\n}\nlocals {\n  \"q\" = 1\n}\n",
            vec!["3,3-4 Attribute redefined", "6,3-4 Invalid argument name"],
        ),
        ("r \"a\" {\n  x = 1\n", vec!["1,7-8 Unclosed configuration block"]),
        ("a { b = 1, c = 2 }\n", vec!["1,10-11 Invalid single-argument block definition"]),
        ("b { c { } }\n", vec!["1,5-8 Argument definition required"]),
        ("b { c = 1\n}\n", vec!["1,10-2,1 Invalid single-argument block definition"]),
        (
            "b { c = 1, d = 2 }\nb { c = 1\n}\nb { c = 1 d = 2 }\n",
            vec![
                "1,10-11 Invalid single-argument block definition",
                "2,10-3,1 Invalid single-argument block definition",
            ],
        ),
        ("b { c = 1 } d { }\n", vec!["1,13-14 Missing newline after block definition"]),
        ("b \"x\" = {\n}\n", vec!["1,7-8 Invalid block definition"]),
        ("b \"x\"\n{\n}\n", vec!["1,6-2,1 Invalid block definition"]),
        (
            "foo\nbar\n",
            vec!["1,1-4 Argument or block definition required", "2,1-4 Argument or block definition required"],
        ),
        ("l {\n  a = 1,\n  b = 2\n}\n", vec!["2,8-9 Unexpected comma after argument"]),
        ("l {\n  a = 1 2\n}\n", vec!["2,9-10 Missing newline after argument"]),
        ("a =", vec!["1,4-4 Missing expression"]),
        ("\u{feff}a = 1\n", vec![]),
        ("l { a = 1 }", vec![]),
        ("l {\n  a = <<EOT\nfoo\n}\n", vec!["5,1-1 Unterminated template string"]),
    ] {
        assert_eq!(errors(text), expected, "{text}");
    }
}

#[test]
fn ranges_cover_what_was_written() {
    let text = "\u{feff}resource \"t\" \"n\" {\n  list = [ var.a , f( 1 ) ]\n}\n";
    let sources = Sources::default();
    let file = sources.add("t.tf", text);
    let mut diags = Diagnostics::new();
    let body = parse_file(text, file, &mut diags);
    assert!(diags.is_empty());
    let block = &body.blocks[0];
    assert_eq!(sources.text(block.header_range), "resource \"t\" \"n\"");
    let Body::Native(inner) = &block.body else { panic!("native") };
    assert_eq!(sources.text(inner.end_range), "}");
    let list = &inner.attributes[0];
    assert_eq!(sources.text(list.range), "list = [ var.a , f( 1 ) ]");
    let ExprKind::Tuple(items) = &list.expr.kind else { panic!("tuple") };
    let texts: Vec<_> = items.iter().map(|i| sources.text(i.range)).collect();
    assert_eq!(texts, ["var.a", "f( 1 )"]);
}

#[test]
fn deep_nesting_is_an_error_not_a_crash() {
    for (open, close) in [("[", "]"), ("(", ")"), ("{a=", "}"), ("f(", ")"), ("!", ""), ("\"${", "}\""), ("x[", "]")] {
        let text = format!("a = {}1{}\n", open.repeat(20_000), close.repeat(20_000));
        assert_eq!(errors(&text).len(), 1, "{open}");
        let fine = format!("a = {}1{}\n", open.repeat(60), close.repeat(60));
        assert_eq!(errors(&fine), Vec::<String>::new(), "{open}");
    }
    assert_eq!(errors(&"b {\n".repeat(50_000)).len(), 1);
    assert_eq!(errors(&format!("a = 1{}\n", " + 1".repeat(50_000))).len(), 1);
    assert_eq!(errors(&format!("a = 1{}\n", " + 1".repeat(900))), Vec::<String>::new());
    assert_eq!(errors(&format!("a = \"{}\"\n", "%{ if x }".repeat(20_000))).len(), 1);
    assert_eq!(errors(&format!("a = {}1\n", "true ? 1 : ".repeat(900))), Vec::<String>::new());
    assert_eq!(errors(&format!("a = {}1\n", "true ? 1 : ".repeat(50_000))).len(), 1);
    assert_eq!(errors(&format!("a = [1]{}\n", "[*]".repeat(20_000))).len(), 1);
    assert_eq!(errors(&format!("a = [1]{}\n", ".*[0]".repeat(20_000))).len(), 1);
}

#[test]
fn of_many_mistakes_only_the_first_are_told() {
    assert_eq!(errors(&"a = 1\n".repeat(100_000)).len(), 51);
    assert_eq!(errors(&"\u{1}".repeat(100_000)).len(), 51);
}

proptest::proptest! {
    /// Whatever the bytes, parsing ends, and every range lies in the text.
    #[test]
    fn no_text_makes_the_parser_panic(
        pieces in proptest::collection::vec(
            proptest::sample::select(vec![
                "a", "b.c", "1", "1.5e3", "\"", "${", "%{", "}", "~}", "{", "[", "]", "(", ")", "=", ",", ":", "?", ".", "...",
                "\n", "\r\n", "\r", " ", "<<EOT\n", "<<-EOT\n", "EOT\n", "\nEOT\n", "#", "//", "/*", "*/", "*", "[*]", ".*",
                "=>", "==", "!", "-", "&&", "\\", "\\u12", "$${", "if ", "else", "endif", "for ", "in ", "endfor", "é", "\u{301}",
                "\u{feff}", "'", "`", ";", "::", "f(", "null", "true",
            ]),
            0..40,
        )
    ) {
        let text: String = pieces.concat();
        let mut diags = Diagnostics::new();
        let body = parse_file(&text, FileId(0), &mut diags);
        let inside = |r: Range| r.start <= r.end && r.end as usize <= text.len();
        proptest::prop_assert!(inside(body.range) && diags.iter().all(|d| d.subject.is_some_and(inside)));
        if let Err(errors) = parse_template(&text, FileId(0), 0) {
            proptest::prop_assert!(errors.iter().all(|d| d.subject.is_some_and(inside)));
        }
        let _ = parse_expression(&text, FileId(0), 0);
    }
}

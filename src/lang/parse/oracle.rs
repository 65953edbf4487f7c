//! Another parser as a witness: on any valid text, `hcl-edit` and this one must understand the same.

use super::tests::tree;
use super::*;
use crate::lang::syntax::Body;
use hcl_edit::expr::{Expression, ObjectKey, TraversalOperator as Op};
use hcl_edit::structure as theirs;
use hcl_edit::template::{Directive, Element, Template};
use proptest::prelude::*;

// ---- what each parser understands, in the notation of `tests::tree`, with steps and templates in one form

/// Without brackets, and with neighbouring texts joined: where one parser has several parts, the other has one.
fn normal(shape: String) -> String {
    shape.replace(['(', ')'], "").replace("\" \"", "")
}

fn expression(e: &Expression) -> String {
    let all = |items: &mut dyn Iterator<Item = &Expression>| items.map(expression).collect::<Vec<_>>().join(" ");
    match e {
        Expression::Null(_) => "nullany".into(),
        Expression::Bool(b) => b.to_string(),
        Expression::Number(n) => n.value().to_string(),
        Expression::String(s) => format!("{:?}", s.value()),
        Expression::StringTemplate(t) => format!("template {}", elements(t.iter())),
        Expression::HeredocTemplate(t) => format!("template {}", template(&t.template)),
        Expression::Array(a) => format!("[{}]", all(&mut a.iter())),
        Expression::Object(o) => {
            let item = |(k, v): (&ObjectKey, &hcl_edit::expr::ObjectValue)| {
                let key = match k {
                    ObjectKey::Ident(i) => format!("{:?}", i.as_str()),
                    ObjectKey::Expression(e) => expression(e),
                };
                format!("{key}: {}", expression(v.expr()))
            };
            format!("{{{}}}", o.iter().map(item).collect::<Vec<_>>().join(", "))
        }
        Expression::Parenthesis(p) => format!("<{}>", expression(p.inner())),
        Expression::Variable(v) => v.to_string(),
        Expression::Conditional(c) => {
            format!("? {} {} {}", expression(&c.cond_expr), expression(&c.true_expr), expression(&c.false_expr))
        }
        Expression::FuncCall(c) => {
            let dots = if c.args.expand_final() { "..." } else { "" };
            format!("{} {}{dots}", c.name.name.as_str(), all(&mut c.args.iter()))
        }
        Expression::UnaryOp(u) => format!("{:?} {}", u.operator.value(), expression(&u.expr)),
        Expression::BinaryOp(b) => {
            let name = match b.operator.value().as_str() {
                "+" => "Add",
                "-" => "Sub",
                "*" => "Mul",
                "/" => "Div",
                "%" => "Rem",
                "==" => "Eq",
                "!=" => "NotEq",
                "<" => "Less",
                "<=" => "LessEq",
                ">" => "Greater",
                ">=" => "GreaterEq",
                "&&" => "And",
                _ => "Or",
            };
            format!("{name} {} {}", expression(&b.lhs_expr), expression(&b.rhs_expr))
        }
        Expression::Traversal(t) => {
            let step = |op: &Op| match op {
                Op::AttrSplat(_) => " .* ".to_owned(),
                Op::FullSplat(_) => " [*] ".to_owned(),
                Op::GetAttr(n) => format!(".{}", n.as_str()),
                Op::Index(e) => format!("[{}]", expression(e)),
                Op::LegacyIndex(n) => format!(".{}", n.value()),
            };
            let steps: String = t.operators.iter().map(|op| step(op.value())).collect();
            format!("{}{steps}", expression(&t.expr))
        }
        Expression::ForExpr(f) => {
            let i = &f.intro;
            format!(
                "for {:?} {} {} {}{}{}{}",
                i.key_var.as_ref().map(|k| k.as_str()),
                i.value_var.as_str(),
                expression(&i.collection_expr),
                f.key_expr.as_ref().map(|k| format!("{} => ", expression(k))).unwrap_or_default(),
                expression(&f.value_expr),
                if f.grouping { "..." } else { "" },
                f.cond.as_ref().map(|c| format!(" if {}", expression(&c.expr))).unwrap_or_default(),
            )
        }
    }
}

fn template(t: &Template) -> String {
    elements(t.iter())
}

fn elements<'a>(list: impl Iterator<Item = &'a Element>) -> String {
    let element = |e: &Element| match e {
        Element::Literal(text) => format!("{:?}", text.value().as_str()),
        Element::Interpolation(i) => expression(&i.expr),
        Element::Directive(d) => match d.as_ref() {
            Directive::If(d) => {
                let otherwise = d.else_expr.as_ref().map(|e| template(&e.template)).unwrap_or_default();
                format!("if {} [{}] [{otherwise}]", expression(&d.if_expr.cond_expr), template(&d.if_expr.template))
            }
            Directive::For(d) => {
                let f = &d.for_expr;
                let key = f.key_var.as_ref().map(|k| k.as_str());
                let value = f.value_var.as_str();
                format!("for {key:?} {value} {} [{}]", expression(&f.collection_expr), template(&f.template))
            }
        },
    };
    list.map(element).collect::<Vec<_>>().join(" ")
}

fn our_body(body: &NativeBody, out: &mut String) {
    let mut parts: Vec<(u32, String)> = Vec::new();
    for a in &body.attributes {
        parts.push((a.range.start, format!("{} = {}\n", a.name, normal(tree(&a.expr)))));
    }
    for b in &body.blocks {
        let labels: Vec<String> = b.labels.iter().map(|l| format!("{:?}", l.text)).collect();
        let mut text = format!("{} {} {{\n", b.ty, labels.join(" "));
        if let Body::Native(inner) = &b.body {
            our_body(inner, &mut text);
        }
        parts.push((b.header_range.start, text + "}\n"));
    }
    parts.sort();
    out.extend(parts.into_iter().map(|(_, text)| text));
}

fn their_body(body: &theirs::Body, out: &mut String) {
    for s in body {
        match s {
            theirs::Structure::Attribute(a) => {
                out.push_str(&format!("{} = {}\n", a.key.as_str(), normal(expression(&a.value))))
            }
            theirs::Structure::Block(b) => {
                let labels: Vec<String> = b.labels.iter().map(|l| format!("{:?}", l.as_str())).collect();
                out.push_str(&format!("{} {} {{\n", b.ident.as_str(), labels.join(" ")));
                their_body(&b.body, out);
                out.push_str("}\n");
            }
        }
    }
}

// ---- valid texts

fn name() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b_1", "c-d", "é", "_x", "null1", "forest", "true_"]).prop_map(str::to_owned)
}

/// Text inside of quotes, with every kind of escape.
fn quoted_text() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "x",
        " ",
        "é",
        "{",
        "}",
        "$",
        "%",
        "$$",
        "%%",
        "$${",
        "%%{",
        "\\n",
        "\\t",
        "\\\"",
        "\\\\",
        "\\u00e9",
        "\\U0001f600",
        "#",
        "//",
        "/*",
        "<<EOT",
    ]);
    // A dollar or percent sign must not meet a brace or another of its kind by chance.
    prop::collection::vec(piece, 0..4).prop_map(|p| p.join("_"))
}

fn an_expression() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        (0..100_u32).prop_map(|n| n.to_string()),
        prop::sample::select(vec!["1.5", "0.25", "12.75", "true", "false", "null"]).prop_map(str::to_owned),
        quoted_text().prop_map(|t| format!("\"{t}\"")),
        name(),
        (name(), name()).prop_map(|(a, b)| format!("{a}.{b}")),
    ];
    leaf.prop_recursive(4, 40, 4, |inner| {
        let gap = || prop::sample::select(vec!["", " ", "\n", "\n  ", " # remark\n", " /* remark */ "]);
        let operator =
            prop::sample::select(vec!["+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "&&", "||"]);
        let some = prop::collection::vec(inner.clone(), 0..4);
        let text = quoted_text().boxed();
        let one_line = inner.clone().prop_map(|e| if e.contains('\n') { "1".to_owned() } else { e }).boxed();
        prop_oneof![
            (inner.clone(), operator, inner.clone()).prop_map(|(a, o, b)| format!("{a} {o} {b}")),
            inner.clone().prop_map(|e| format!("({e})")),
            (gap(), inner.clone(), gap()).prop_map(|(g, e, h)| format!("({g}{e}{h})")),
            inner.clone().prop_map(|e| format!("!{e}")),
            inner.clone().prop_map(|e| format!("-({e})")),
            (inner.clone(), inner.clone(), inner.clone()).prop_map(|(a, b, c)| format!("{a} ? {b} : {c}")),
            (gap(), some.clone(), gap()).prop_map(|(g, items, h)| format!("[{g}{}{h}]", items.join(", "))),
            (name(), some.clone()).prop_map(|(f, items)| format!("{f}({})", items.join(", "))),
            (name(), inner.clone()).prop_map(|(f, e)| format!("{f}(1, [{e}]...)")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{{ k = {a}, \"q r\" = {b} }}")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{{\n  k : {a}\n  ({b}) = 1\n}}")),
            (name(), inner.clone()).prop_map(|(n, e)| format!("{n}[{e}].x[0]")),
            (name(), name()).prop_map(|(a, b)| format!("{a}[*].{b}")),
            (name(), name()).prop_map(|(a, b)| format!("{a}.*.{b}")),
            (name(), name()).prop_map(|(a, b)| format!("{a}.0.{b}")),
            inner.clone().prop_map(|e| format!("({e}).y")),
            (inner.clone(), inner.clone()).prop_map(|(c, e)| format!("[for v in {c} : {e}]")),
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(c, e, i)| format!("{{for k, v in {c} : k => {e}... if {i}}}")),
            (text.clone(), one_line.clone(), text.clone()).prop_map(|(a, e, b)| format!("\"{a}_${{{e}}}_{b}\"")),
            // Inside of directives, hcl-edit takes backslashes for themselves.
            (text, one_line.clone(), one_line).prop_map(|(t, c, e)| {
                let t = if t.contains('\\') { "plain".to_owned() } else { t };
                format!("\"%{{ if {c} }}{t}_%{{ else }}${{ {e} }}%{{ endif }}-%{{ for x in {e} }}${{x}}%{{ endfor }}\"")
            }),
        ]
    })
}

fn a_body() -> impl Strategy<Value = String> {
    let attribute = (name(), an_expression()).prop_map(|(n, e)| (n.clone(), format!("{n} = {e}\n")));
    let heredoc = (name(), quoted_text()).prop_map(|(n, t)| {
        let text = format!("{n} = <<-EOT\n    first ${{upper}}\n      \"{t}\"\n    ${{[1]}}\n  EOT\n");
        (n, text)
    });
    let attributes = prop::collection::vec(prop_oneof![4 => attribute, 1 => heredoc], 0..4).prop_map(|list| {
        let mut seen = std::collections::HashSet::new();
        list.into_iter().filter(|(n, _)| seen.insert(n.clone())).map(|(_, text)| text).collect::<String>()
    });
    attributes.prop_recursive(2, 8, 2, move |inner| {
        let label = prop::sample::select(vec!["", " \"l\"", " \"a b\" plain"]);
        (name(), label, inner.clone(), inner).prop_map(|(n, label, a, b)| {
            format!("# remark\nb-{n}{label} {{\n{a}}}\n\nzz /* remark */ \"w\" {{\n{b}}}\n")
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn another_parser_understands_the_same(text in a_body()) {
        let mut diags = Diagnostics::new();
        let ours = parse_file(&text, FileId(0), &mut diags);
        let theirs = text.parse::<theirs::Body>();
        prop_assert!(!diags.has_errors(), "refused: {diags:?}\n{text}");
        let theirs = theirs.map_err(|e| TestCaseError::fail(format!("{e}\n{text}")))?;
        let (mut a, mut b) = (String::new(), String::new());
        our_body(&ours, &mut a);
        their_body(&theirs, &mut b);
        prop_assert_eq!(a, b, "{}", text);
    }
}

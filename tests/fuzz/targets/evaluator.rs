//! An expression, and the same text as a template, evaluated with all functions and with variables of every kind.

#![no_main]

use gpuform::cli::console;
use gpuform::diag::{Diagnostic, Diagnostics, Result, Sources};
use gpuform::lang::functions::FunctionContext;
use gpuform::lang::scope::Scope;
use gpuform::lang::syntax::Traversal;
use gpuform::lang::{parse, render};
use gpuform_fuzz::{folder, put, told};
use gpuform_schema::{Marks, Type, Value};
use std::path::Path;
use std::sync::OnceLock;

struct Known(FunctionContext<'static>);

impl Scope for Known {
    fn value(&self, traversal: &Traversal) -> Result<Value> {
        match &*traversal.root {
            "var" => Ok(variables().clone()),
            other => Err(Box::new(Diagnostic::error("No such name", other).at(traversal.range()))),
        }
    }

    fn function_context(&self) -> &FunctionContext<'_> {
        &self.0
    }
}

fn variables() -> &'static Value {
    static VARIABLES: OnceLock<Value> = OnceLock::new();
    VARIABLES.get_or_init(|| {
        let text = |s: &str| Value::string(s);
        Value::object([
            ("s", text("a\u{301}b,c")),
            ("n", Value::number(12)),
            ("l", Value::list(Type::String, vec![text("x"), text("y")])),
            ("t", Value::tuple(vec![Value::number(1), text("x"), Value::TRUE, Value::null()])),
            ("m", Value::map(Type::Number, [("k", Value::number(1)), ("j", Value::number(2))])),
            ("o", Value::object([("a", Value::number(1)), ("b", Value::tuple(vec![]))])),
            ("u", Value::unknown(Type::Dynamic)),
            ("us", Value::unknown(Type::String)),
            ("ul", Value::unknown(Type::list(Type::String))),
            ("um", Value::unknown(Type::map(Type::String))),
            ("un", Value::unknown_not_null(Type::Number)),
            ("h", text("secret").with_marks(Marks::SENSITIVE)),
            ("e", Value::tuple(vec![text("e").with_marks(Marks::EPHEMERAL)])),
            ("z", Value::null()),
        ])
    })
}

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    put("a.txt", "text\n");
    put("t.tmpl", "%{ for x in l }${x}%{ endfor }${templatefile(\"t.tmpl\", {})}");
    let functions = FunctionContext {
        base_dir: folder(),
        home: Some(Path::new("/root")),
        plan_timestamp: Some("2026-01-02T03:04:05Z"),
        impure: true,
        templates: None,
    };
    let scope = Known(functions);
    let sources = Sources::default();
    match console::answer_to(text, &sources, &mut |_, _| {}, &scope) {
        Ok(_) => {}
        Err(d) => told(&d, &sources),
    }
    match parse::parse_template(text, sources.add("template", text), 0) {
        Ok(template) => {
            let mut diags = Diagnostics::new();
            let value = template.eval_in(&scope, None, &mut diags);
            render::value(&value);
            told(&diags, &sources);
        }
        Err(d) => told(&d, &sources),
    }
});

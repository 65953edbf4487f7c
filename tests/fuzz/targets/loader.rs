//! A configuration as `validate` and `fmt` read it. The input is the files of [`NAMES`], one after another, with lines
//! of `----` between them. A text that starts with a brace is a file of JSON syntax.

#![no_main]

use gpuform::cli::project::{Factory, load_config};
use gpuform::diag::{Diagnostics, Sources};
use gpuform::engine;
use gpuform::lang::{format, parse};
use gpuform::testing;
use gpuform_fuzz::{block_on, context, pool, put, remove, session, told};
use std::path::Path;

const NAMES: [&str; 5] = ["main", "a_override", "child/main", "b", "tests/a"];
const MODULES: &str =
    r#"{"Modules":[{"Key":"","Source":"","Dir":"."},{"Key":"child","Source":"./child","Dir":"child"}]}"#;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    put(".terraform/modules/modules.json", MODULES);
    put("cli.tfrc", "");
    for name in NAMES {
        for end in [".tf", ".tf.json", ".tftest.hcl", ".tftest.json"] {
            remove(&format!("{name}{end}"));
        }
    }
    for (name, text) in NAMES.iter().zip(parts(data)) {
        let json = text.trim_ascii_start().starts_with(b"{");
        let end = match (name.starts_with("tests"), json) {
            (false, false) => ".tf",
            (false, true) => ".tf.json",
            (true, false) => ".tftest.hcl",
            (true, true) => ".tftest.json",
        };
        put(&format!("{name}{end}"), text);
        if !json {
            lay_out(text);
        }
    }
    let cx = context();
    let (config, mut diags) = load_config(&cx, Path::new("."), &[]);
    testing::load(Path::new("."), testing::DEFAULT_DIRECTORY, &cx.sources, &mut diags);
    if let Some(config) = config {
        let factory = Factory::new(&cx, &mut diags);
        factory.check_installed(&config, &mut diags);
        if !diags.has_errors() {
            let pool = pool(factory);
            let session = session(&cx, pool.clone());
            diags.extend(block_on(engine::validate(&session, &config)));
            block_on(pool.close());
        }
    }
    told(&diags, &cx.sources);
});

fn parts(data: &[u8]) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    let mut rest = data;
    while let Some(at) = rest.windows(6).position(|w| w == b"\n----\n") {
        parts.push(&rest[..at + 1]);
        rest = &rest[at + 6..];
    }
    parts.push(rest);
    parts
}

/// What `fmt` writes can be read again.
fn lay_out(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let sources = Sources::default();
    if let Ok(formatted) = format::format(text, sources.add("main.tf", text)) {
        let mut diags = Diagnostics::new();
        parse::parse_file(&formatted, sources.add("formatted.tf", formatted.as_str()), &mut diags);
        assert!(!diags.has_errors(), "{formatted}\n{diags:?}");
    }
}

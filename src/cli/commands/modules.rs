//! `gpuform modules`

use crate::addr::Module;
use crate::cli::context::Context;
use crate::cli::project::load_config;
use crate::cli::{Exit, FAILED, OK};
use crate::config::manifest::{self, InstalledModule, Manifest};
use crate::config::model::{ModuleCall, ModuleNode};
use crate::diag::Diagnostics;
use std::fmt::Write as _;
use std::path::Path;

/// Show which modules the configuration calls.
#[derive(clap::Args, Debug)]
pub struct Modules {
    /// Print as JSON.
    #[arg(long)]
    json: bool,
}

impl Modules {
    pub fn run(self, cx: &Context) -> Exit {
        match self.list(cx) {
            Ok(text) => {
                cx.print(&text);
                OK
            }
            Err(d) => {
                cx.show(&d, false);
                FAILED
            }
        }
    }

    fn list(&self, cx: &Context) -> Result<String, Diagnostics> {
        let (config, diags) = load_config(cx, Path::new("."), &[]);
        let config = config.filter(|_| !diags.has_errors()).ok_or(diags)?;
        let installed = Manifest::read(&cx.data_dir())?;
        if self.json {
            let mut modules = Vec::new();
            objects(&config.root, &installed, &mut modules);
            let modules = if modules.is_empty() { serde_json::Value::Null } else { modules.into() };
            return Ok(format!("{}\n", serde_json::json!({ "format_version": "1.0", "modules": modules })));
        }
        if config.root.children.is_empty() {
            return Ok("No modules found in configuration.\n".into());
        }
        let mut out = String::from("\nModules declared by configuration:\n.\n");
        branch(&config.root, "", &installed, &mut out);
        out.push('\n');
        Ok(out)
    }
}

/// The calls of a module by name, with what they call and what is installed for them.
fn calls<'a>(
    node: &'a ModuleNode,
    installed: &'a Manifest,
) -> Vec<(&'a ModuleCall, &'a ModuleNode, Option<&'a InstalledModule>)> {
    let entry = |addr: &Module| installed.0.get(&manifest::key(addr));
    let mut calls: Vec<_> =
        node.module.calls.values().zip(&node.children).map(|(c, n)| (c, &**n, entry(&n.addr))).collect();
    calls.sort_by(|a, b| a.0.name.cmp(&b.0.name));
    calls
}

/// Where a module comes from.
fn address(node: &ModuleNode) -> &str {
    node.source.as_ref().map_or("", |s| &s.address)
}

fn objects(node: &ModuleNode, installed: &Manifest, out: &mut Vec<serde_json::Value>) {
    for (call, child, entry) in calls(node, installed) {
        let version = entry.and_then(|e| e.version.as_deref()).unwrap_or_default();
        out.push(serde_json::json!({ "key": &*call.name, "source": address(child), "version": version }));
        objects(child, installed, out);
    }
}

/// The calls of a module and what they call in turn, as a tree.
fn branch(node: &ModuleNode, indent: &str, installed: &Manifest, out: &mut String) {
    let calls = calls(node, installed);
    let count = calls.len();
    for (i, (call, child, entry)) in calls.into_iter().enumerate() {
        let (sign, below) = if i + 1 == count { ("└", "    ") } else { ("├", "│\u{a0}\u{a0} ") };
        let _ = write!(out, "{indent}{sign}── \"{}\"[{}]", call.name, address(child));
        if let Some(version) = entry.and_then(|e| e.version.as_ref()) {
            let _ = write!(out, " {version}");
        }
        if let Some((constraint, _)) = child.source.as_ref().and_then(|s| s.version.as_ref()) {
            let _ = write!(out, " ({constraint})");
        }
        out.push('\n');
        branch(child, &format!("{indent}{below}"), installed, out);
    }
}

//! `gpuform providers`

use crate::addr::Provider;
use crate::cli::context::Context;
use crate::cli::project::{Factory, load_config};
use crate::cli::{Exit, FAILED, OK, backends, view};
use crate::config::model::ModuleNode;
use crate::diag::{Diagnostic, Diagnostics};
use crate::engine::providers::ProviderFactory;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Show which providers the configuration and the state need.
#[derive(clap::Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Providers {
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(clap::Subcommand, Debug)]
enum What {
    /// Print the schemas of the providers that the configuration needs.
    Schema {
        /// Print as JSON (the only form there is).
        #[arg(long, required = true)]
        json: bool,
    },
}

impl Providers {
    pub async fn run(self, cx: &mut Context) -> Exit {
        let (config, diags) = load_config(cx, std::path::Path::new("."));
        let Some(config) = config else {
            cx.show(&diags, false);
            return FAILED;
        };
        let result = match self.what {
            None => tree(cx, &config.root).await,
            Some(What::Schema { json: _ }) => schemas(cx, &config.root).await,
        };
        match result {
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
}

async fn from_state(cx: &Context) -> Result<BTreeSet<Provider>, Diagnostics> {
    let backend = backends::recorded(cx, &crate::cli::args::StateFiles::default())?;
    let stored = backend.read(&cx.workspace()).await?;
    Ok(stored.map(|s| s.state.resources().map(|(_, r)| r.provider.provider.clone()).collect()).unwrap_or_default())
}

async fn tree(cx: &Context, root: &ModuleNode) -> Result<String, Diagnostics> {
    let mut out = String::from("\nProviders required by configuration:\n.\n");
    branch(root, "", &mut out);
    let state = from_state(cx).await?;
    if !state.is_empty() {
        out.push_str("\nProviders required by state:\n\n");
        for p in state {
            let _ = writeln!(out, "    provider[{p}]\n");
        }
    }
    Ok(out)
}

/// The providers of one module and the modules that it calls, as a tree.
fn branch(node: &ModuleNode, indent: &str, out: &mut String) {
    let mut items: Vec<String> = Vec::new();
    let providers: BTreeMap<&Provider, Option<&str>> = node
        .module
        .required_providers
        .values()
        .map(|r| (&r.source, r.version.as_ref().map(|(v, _)| v.as_str())))
        .collect();
    for (p, version) in providers {
        items.push(match version {
            Some(v) => format!("provider[{p}] {v}"),
            None => format!("provider[{p}]"),
        });
    }
    let total = items.len() + node.children.len();
    for (i, item) in items.iter().enumerate() {
        let _ = writeln!(out, "{indent}{}── {item}", if i + 1 == total { "└" } else { "├" });
    }
    for (i, child) in node.children.iter().enumerate() {
        let last = items.len() + i + 1 == total;
        let name = child.addr.0.last().map_or("", |n| n);
        let _ = writeln!(out, "{indent}{}── module.{name}", if last { "└" } else { "├" });
        branch(child, &format!("{indent}{}", if last { "    " } else { "│   " }), out);
    }
}

async fn schemas(cx: &Context, root: &ModuleNode) -> Result<String, Diagnostics> {
    let mut needed = from_state(cx).await?;
    root.visit(&mut |node| needed.extend(node.module.required_providers.values().map(|r| r.source.clone())));
    let mut diags = Diagnostics::new();
    let factory = Factory::new(cx, &mut diags);
    if diags.has_errors() {
        return Err(diags);
    }
    let mut all = BTreeMap::new();
    for p in needed {
        let running = factory.start(&p).await.map_err(|d| match d.is_empty() {
            true => Diagnostic::error("Provider cannot be started", p.to_string()).into(),
            false => d,
        })?;
        all.insert(p, running.schema());
        running.close().await;
    }
    Ok(format!("{}\n", view::json::provider_schemas(&all)))
}

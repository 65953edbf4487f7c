//! `gpuform validate`

use crate::cli::args::{VariableArg, Variables};
use crate::cli::context::Context;
use crate::cli::project::{Factory, load_config};
use crate::cli::{Exit, FAILED, OK, view};
use crate::diag::Diagnostics;
use crate::engine::events::NoEvents;
use crate::engine::providers::ProviderPool;
use crate::engine::{self, Session};
use crate::testing;
use std::sync::Arc;

/// Check the configuration without looking at the state or at what exists.
#[derive(clap::Args, Debug)]
pub struct Validate {
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
    /// Use no colours.
    #[arg(long)]
    no_color: bool,
    /// Leave out the test files.
    #[arg(long)]
    no_tests: bool,
    /// Where test files are besides the configuration's directory.
    #[arg(long, value_name = "DIR", default_value = testing::DEFAULT_DIRECTORY)]
    test_directory: String,
    /// The directory of the configuration.
    #[arg(value_name = "DIR", default_value = ".")]
    directory: std::path::PathBuf,
    #[command(flatten)]
    variables: Variables,
}

impl Validate {
    pub async fn run(self, cx: &mut Context, matches: &clap::ArgMatches) -> Exit {
        cx.style.color &= !self.no_color;
        let diags = self.check(cx, &self.variables.in_order(matches)).await;
        if self.json {
            cx.println(&view::json::validation(&diags, &cx.sources));
        } else {
            cx.show(&diags, false);
            if !diags.has_errors() {
                let but =
                    if diags.is_empty() { "." } else { ", but there were some\nvalidation warnings as shown above." };
                let (green, reset) = if cx.style.color { ("\x1b[32m\x1b[1m", "\x1b[0m") } else { ("", "") };
                cx.println(&format!("{green}Success!{reset} The configuration is valid{but}\n"));
            }
        }
        if diags.has_errors() { FAILED } else { OK }
    }

    async fn check(&self, cx: &Context, given: &[VariableArg]) -> Diagnostics {
        let dir = &self.directory;
        let (config, mut diags) = load_config(cx, dir, given);
        if !self.no_tests {
            testing::load(dir, &self.test_directory, &cx.sources, &mut diags);
        }
        let Some(config) = config else { return diags };
        let factory = Factory::new(cx, &mut diags);
        factory.check_installed(&config, &mut diags);
        if diags.has_errors() {
            return diags;
        }
        let pool = Arc::new(ProviderPool::new(Arc::new(factory)));
        let session = Session {
            pool: pool.clone(),
            events: Arc::new(NoEvents),
            stop: cx.stop.clone(),
            parallelism: 10,
            place: cx.place(),
            substitutes: None,
        };
        diags.extend(engine::validate(&session, &config).await);
        pool.close().await;
        diags
    }
}

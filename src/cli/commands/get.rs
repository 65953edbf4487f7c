//! `gpuform get`

use crate::cli::args::Variables;
use crate::cli::context::Context;
use crate::cli::project::with_early;
use crate::cli::{Exit, FAILED, OK};
use crate::diag::Diagnostics;
use crate::install::modules;
use crate::testing;
use std::path::Path;

/// Install the modules that the configuration calls.
#[derive(clap::Args, Debug)]
pub struct Get {
    /// Look for newer versions of modules that are installed already.
    #[arg(long)]
    update: bool,
    /// Where test files are besides the configuration's directory.
    #[arg(long, value_name = "DIR", default_value = testing::DEFAULT_DIRECTORY)]
    test_directory: String,
    /// Use no colours.
    #[arg(long)]
    no_color: bool,
    #[command(flatten)]
    variables: Variables,
}

impl Get {
    pub async fn run(self, cx: &mut Context, matches: &clap::ArgMatches) -> Exit {
        cx.style.color &= !self.no_color;
        let mut diags = Diagnostics::new();
        let dir = Path::new(".");
        let tests = testing::load(dir, &self.test_directory, &cx.sources, &mut diags);
        let tests = testing::modules(&tests);
        let (installed, found) = with_early(cx, &self.variables.in_order(matches), |early| {
            modules::install(dir, &cx.data_dir(), &tests, self.update, &cx.sources, early)
        });
        diags.extend(found);
        for line in &installed {
            cx.println(line);
        }
        cx.show(&diags, false);
        if diags.has_errors() { FAILED } else { OK }
    }
}

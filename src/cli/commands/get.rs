//! `gpuform get`

use crate::cli::context::Context;
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
}

impl Get {
    pub async fn run(self, cx: &mut Context) -> Exit {
        cx.style.color &= !self.no_color;
        let mut diags = Diagnostics::new();
        let dir = Path::new(".");
        let tests = testing::load(dir, &self.test_directory, &cx.sources, &mut diags);
        let tests = testing::modules(&tests);
        let (installed, found) = modules::install(dir, &cx.data_dir(), &tests, self.update, &cx.sources);
        diags.extend(found);
        for line in &installed {
            cx.println(line);
        }
        cx.show(&diags, false);
        if diags.has_errors() { FAILED } else { OK }
    }
}

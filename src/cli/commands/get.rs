//! `gpuform get`

use crate::cli::context::Context;
use crate::cli::{Exit, FAILED, OK};
use crate::install::modules;

/// Install the modules that the configuration calls.
#[derive(clap::Args, Debug)]
pub struct Get {
    /// Look for newer versions of modules that are installed already.
    #[arg(long)]
    update: bool,
    /// Use no colours.
    #[arg(long)]
    no_color: bool,
}

impl Get {
    pub async fn run(self, cx: &mut Context) -> Exit {
        cx.style.color &= !self.no_color;
        let (installed, diags) = modules::install(std::path::Path::new("."), &cx.data_dir(), self.update, &cx.sources);
        for line in &installed {
            cx.println(line);
        }
        cx.show(&diags, false);
        if diags.has_errors() { FAILED } else { OK }
    }
}

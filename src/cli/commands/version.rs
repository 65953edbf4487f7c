//! `gpuform version`

use crate::cli::context::Context;
use crate::cli::project::TERRAFORM_VERSION;
use crate::cli::{Exit, OK};
use crate::diag::Diagnostics;
use crate::install::lock_file;
use crate::install::package::platform;

/// Show the version, and those of the installed providers.
#[derive(clap::Args, Debug)]
pub struct Version {
    /// Print as JSON.
    #[arg(long)]
    json: bool,
}

impl Version {
    pub fn run(self, cx: &Context) -> Exit {
        let mut ignored = Diagnostics::new();
        let lock = lock_file::read(&cx.path(lock_file::FILE_NAME), &cx.sources, &mut ignored);
        if self.json {
            let selections: serde_json::Map<String, serde_json::Value> =
                lock.providers.iter().map(|(p, l)| (p.to_string(), l.version.as_str().into())).collect();
            let json = serde_json::json!({
                "terraform_version": TERRAFORM_VERSION,
                "platform": platform(),
                "provider_selections": selections,
                "terraform_outdated": false,
            });
            cx.println(&format!("{json:#}"));
            return OK;
        }
        cx.println(&format!(
            "gpuform v{} (compatible with Terraform v{TERRAFORM_VERSION})\non {}",
            env!("CARGO_PKG_VERSION"),
            platform()
        ));
        for (p, l) in &lock.providers {
            cx.println(&format!("+ provider {p} v{}", l.version));
        }
        OK
    }
}

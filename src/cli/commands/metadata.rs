//! `gpuform metadata`

use crate::cli::context::Context;
use crate::cli::{Exit, OK, view};

/// Facts about the language for other programs.
#[derive(clap::Subcommand, Debug)]
pub enum Metadata {
    /// List the built-in functions with their signatures.
    Functions {
        /// Print as JSON (the only form there is).
        #[arg(long, required = true)]
        json: bool,
    },
}

impl Metadata {
    pub fn run(self, cx: &Context) -> Exit {
        let Metadata::Functions { json: _ } = self;
        cx.println(&view::json::functions());
        OK
    }
}

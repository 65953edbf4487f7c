//! `terraform-provider-aws`: the AWS provider (source `gpuform/aws`), with the attribute names and types of the widely
//! used hashicorp/aws provider. One file per resource or data source, in a folder per AWS service; this file lists
//! them. `config.rs` is the provider block, `client.rs` what operations work with.

mod client;
mod config;
mod ec2;
mod error;
mod tags;

use client::Aws;
use config::Config;
use gpuform_provider_sdk::prelude::*;
use gpuform_provider_sdk::serve;
use std::process::ExitCode;

struct Provider;

impl gpuform_provider_sdk::Provider for Provider {
    type Config = Config;
    type Client = Aws;
    const NAME: &'static str = "aws";
    const VERSION: &'static str = env!("CARGO_PKG_VERSION");

    async fn configure(&self, config: Config, setup: &Setup) -> Result<Aws> {
        Aws::connect(config, setup).await
    }

    fn validate(&self, config: &Config, problems: &mut Problems) {
        config.check(problems);
    }

    fn resources(&self) -> Vec<ResourceEntry<Aws>> {
        vec![resource::<ec2::vpc::Vpc>()]
    }

    fn data_sources(&self) -> Vec<DataSourceEntry<Aws>> {
        vec![]
    }
}

fn main() -> ExitCode {
    serve(Provider)
}

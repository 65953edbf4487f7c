//! `terraform-provider-aws`: the AWS provider (source `gpuform/aws`), with the attribute names and types of the widely
//! used hashicorp/aws provider. One file per resource or data source, in a folder per AWS service; this file lists
//! them. `config.rs` is the provider block, `client.rs` what operations work with.

mod autoscaling;
mod client;
mod config;
mod ec2;
mod endpoint;
mod error;
mod iam;
mod kms;
mod once;
mod policy;
mod s3;
mod sts;
mod tags;
mod throttle;

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
    const JOINS_READS: bool = true;

    async fn configure(&self, config: Config, setup: &Setup) -> Result<Aws> {
        Aws::connect(config, setup).await
    }

    fn validate(&self, config: &Config, problems: &mut Problems) {
        config.check(problems);
    }

    fn resources(&self) -> Vec<ResourceEntry<Aws>> {
        vec![
            resource::<autoscaling::group::AutoscalingGroup>(),
            resource::<autoscaling::policy::AutoscalingPolicy>(),
            resource::<ec2::ami_from_instance::AmiFromInstance>(),
            resource::<ec2::ebs_snapshot::EbsSnapshot>(),
            resource::<ec2::ebs_volume::EbsVolume>(),
            resource::<ec2::eip::Eip>(),
            resource::<ec2::instance::Instance>(),
            resource::<ec2::internet_gateway::InternetGateway>(),
            resource::<ec2::key_pair::KeyPair>(),
            resource::<ec2::launch_template::LaunchTemplate>(),
            resource::<ec2::nat_gateway::NatGateway>(),
            resource::<ec2::network_acl::NetworkAcl>(),
            resource::<ec2::placement_group::PlacementGroup>(),
            resource::<ec2::route::Route>(),
            resource::<ec2::route_table::RouteTable>(),
            resource::<ec2::route_table_association::RouteTableAssociation>(),
            resource::<ec2::security_group::SecurityGroup>(),
            resource::<ec2::security_group_rule::EgressRule>(),
            resource::<ec2::security_group_rule::IngressRule>(),
            resource::<ec2::subnet::Subnet>(),
            resource::<ec2::volume_attachment::VolumeAttachment>(),
            resource::<ec2::vpc::Vpc>(),
            resource::<kms::alias::Alias>(),
            resource::<kms::key::Key>(),
            resource::<iam::instance_profile::InstanceProfile>(),
            resource::<iam::policy::Policy>(),
            resource::<iam::role::Role>(),
            resource::<iam::role_policy::RolePolicy>(),
            resource::<iam::role_policy_attachment::RolePolicyAttachment>(),
            resource::<s3::bucket::Bucket>(),
            resource::<s3::encryption::BucketEncryption>(),
            resource::<s3::lifecycle::BucketLifecycle>(),
            resource::<s3::object::Object>(),
            resource::<s3::policy::BucketPolicy>(),
            resource::<s3::public_access_block::BucketPublicAccessBlock>(),
            resource::<s3::versioning::BucketVersioning>(),
        ]
    }

    fn data_sources(&self) -> Vec<DataSourceEntry<Aws>> {
        vec![
            data_source::<ec2::ami_data::Ami>(),
            data_source::<ec2::availability_zones_data::AvailabilityZones>(),
            data_source::<ec2::instance_type_data::InstanceType>(),
            data_source::<ec2::offerings_data::InstanceTypeOfferings>(),
            data_source::<ec2::spot_price_data::SpotPrice>(),
            data_source::<ec2::subnets_data::Subnets>(),
            data_source::<ec2::vpc_data::VpcData>(),
            data_source::<sts::caller_identity::CallerIdentity>(),
            data_source::<sts::region::Region>(),
            data_source::<iam::policy_document::PolicyDocument>(),
        ]
    }
}

fn main() -> ExitCode {
    endpoint::forget_empty_settings();
    serve(Provider)
}

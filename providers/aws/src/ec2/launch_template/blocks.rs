//! The blocks of `aws_launch_template`. What a template does not say stays null: AWS adds nothing to it. Flags that
//! may be left out are text, `"true"` or `"false"`, as existing configurations have them.

use crate::ec2::util::{same_number, same_time};
use crate::tags::Tags;
use gpuform_provider_sdk::prelude::*;
use gpuform_provider_sdk::validate::{Validator, one_of};

/// A flag in text.
pub fn flag() -> Validator {
    one_of(["", "true", "false"])
}

/// A device of the instance.
#[derive(Model, Clone, PartialEq, Default, Debug)]
pub struct BlockDevice {
    /// The name of the device.
    #[attr(optional)]
    pub device_name: Attr<String>,
    /// The volume.
    #[block]
    pub ebs: Option<Ebs>,
    /// Leaves out a device of the image: any text.
    #[attr(optional)]
    pub no_device: Attr<String>,
    /// The disk of the host: `ephemeral0`, …
    #[attr(optional)]
    pub virtual_name: Attr<String>,
}

/// A volume.
#[derive(Model, Clone, PartialEq, Default, Debug)]
pub struct Ebs {
    /// Whether the volume ends with the instance.
    #[attr(optional, validate = flag())]
    pub delete_on_termination: Attr<String>,
    /// Whether the volume is encrypted.
    #[attr(optional, validate = flag())]
    pub encrypted: Attr<String>,
    /// I/O operations a second.
    #[attr(optional, computed)]
    pub iops: Attr<i32>,
    /// ARN of the KMS key.
    #[attr(optional)]
    pub kms_key_id: Attr<String>,
    /// The snapshot that the volume begins with.
    #[attr(optional)]
    pub snapshot_id: Attr<String>,
    /// MiB a second.
    #[attr(optional, computed, validate = range(125..=2000))]
    pub throughput: Attr<i32>,
    /// MiB a second at which blocks of the snapshot are loaded.
    #[attr(optional, validate = range(100..=300))]
    pub volume_initialization_rate: Attr<i32>,
    /// GiB.
    #[attr(optional, computed)]
    pub volume_size: Attr<i32>,
    /// `gp2`, `gp3`, `io1`, `io2`, `sc1`, `st1` or `standard`.
    #[attr(optional, computed)]
    pub volume_type: Attr<String>,
}

/// Cores and threads.
#[derive(Model, Clone, PartialEq, Default, Debug)]
pub struct CpuOptions {
    /// AMD SEV-SNP: `enabled` or `disabled`.
    #[attr(optional, validate = one_of(["enabled", "disabled"]))]
    pub amd_sev_snp: Attr<String>,
    /// The number of cores.
    #[attr(optional)]
    pub core_count: Attr<i32>,
    /// Threads of each core.
    #[attr(optional)]
    pub threads_per_core: Attr<i32>,
}

/// CPU credits.
#[derive(Model, Clone, PartialEq, Default, Debug)]
pub struct CreditSpecification {
    /// `standard` or `unlimited`.
    #[attr(optional, validate = one_of(["standard", "unlimited"]))]
    pub cpu_credits: Attr<String>,
}

/// Something that is on or off.
#[derive(Model, Clone, PartialEq, Default, Debug)]
pub struct Enabled {
    /// Whether it is on.
    #[attr(optional)]
    pub enabled: Attr<bool>,
}

/// Hibernation.
#[derive(Model, Clone, PartialEq, Default, Debug)]
pub struct Hibernation {
    /// Whether instances can hibernate.
    #[attr(required)]
    pub configured: Attr<bool>,
}

/// The instance profile, by ARN or by name.
#[derive(Model, Clone, PartialEq, Default, Debug)]
pub struct InstanceProfile {
    /// The ARN.
    #[attr(optional, conflicts_with = ["name"])]
    pub arn: Attr<String>,
    /// The name.
    #[attr(optional)]
    pub name: Attr<String>,
}

/// How instances are bought.
#[derive(Model, Clone, PartialEq, Default, Debug)]
pub struct MarketOptions {
    /// `spot` or `capacity-block`.
    #[attr(optional, validate = one_of(["spot", "capacity-block"]))]
    pub market_type: Attr<String>,
    /// The terms of spot instances.
    #[block]
    pub spot_options: Option<SpotOptions>,
}

/// The terms of spot instances.
#[derive(Model, Clone, PartialEq, Default, Debug)]
pub struct SpotOptions {
    /// Minutes that the instance surely runs; no longer offered by AWS.
    #[attr(optional)]
    pub block_duration_minutes: Attr<i32>,
    /// What an interruption does: `terminate`, `stop` or `hibernate`.
    #[attr(optional, validate = one_of(["terminate", "stop", "hibernate"]))]
    pub instance_interruption_behavior: Attr<String>,
    /// The most to pay for an hour, in USD.
    #[attr(optional, suppress = same_number)]
    pub max_price: Attr<String>,
    /// `one-time` or `persistent`.
    #[attr(optional, validate = one_of(["one-time", "persistent"]))]
    pub spot_instance_type: Attr<String>,
    /// When a persistent request ends.
    #[attr(optional, computed, suppress = same_time)]
    pub valid_until: Attr<String>,
}

/// A license.
#[derive(Model, Clone, PartialEq, Default, Debug)]
pub struct License {
    /// The ARN of the license configuration.
    #[attr(required)]
    pub license_configuration_arn: Attr<String>,
}

/// Recovery when the host fails.
#[derive(Model, Clone, PartialEq, Default, Debug)]
pub struct MaintenanceOptions {
    /// `default` or `disabled`.
    #[attr(optional, validate = one_of(["default", "disabled"]))]
    pub auto_recovery: Attr<String>,
}

/// The instance metadata service.
#[derive(Model, Clone, PartialEq, Default, Debug)]
pub struct MetadataOptions {
    /// `enabled` or `disabled`.
    #[attr(optional, computed, validate = one_of(["enabled", "disabled"]))]
    pub http_endpoint: Attr<String>,
    /// `enabled` or `disabled`.
    #[attr(optional, validate = one_of(["enabled", "disabled"]))]
    pub http_protocol_ipv6: Attr<String>,
    /// How many hops an answer may travel.
    #[attr(optional, computed, validate = range(1..=64))]
    pub http_put_response_hop_limit: Attr<i32>,
    /// `required` (IMDSv2) or `optional`.
    #[attr(optional, computed, validate = one_of(["optional", "required"]))]
    pub http_tokens: Attr<String>,
    /// `enabled` or `disabled`.
    #[attr(optional, computed, validate = one_of(["enabled", "disabled"]))]
    pub instance_metadata_tags: Attr<String>,
}

/// A network interface.
#[derive(Model, Clone, PartialEq, Default, Debug)]
pub struct NetworkInterface {
    /// Whether a public IPv4 address is given.
    #[attr(optional, validate = flag())]
    pub associate_public_ip_address: Attr<String>,
    /// Whether the interface ends with the instance.
    #[attr(optional, validate = flag())]
    pub delete_on_termination: Attr<String>,
    /// What the interface is for.
    #[attr(optional)]
    pub description: Attr<String>,
    /// Its place: 0 is the primary interface.
    #[attr(optional)]
    pub device_index: Attr<i32>,
    /// `efa`, `efa-only` or `interface`.
    #[attr(optional, validate = one_of(["efa", "efa-only", "interface"]))]
    pub interface_type: Attr<String>,
    /// How many secondary IPv4 addresses it gets.
    #[attr(optional)]
    pub ipv4_address_count: Attr<i32>,
    /// Further private IPv4 addresses.
    #[attr(optional)]
    pub ipv4_addresses: Attr<Set<String>>,
    /// How many IPv4 prefixes it gets.
    #[attr(optional)]
    pub ipv4_prefix_count: Attr<i32>,
    /// How many IPv6 addresses it gets.
    #[attr(optional)]
    pub ipv6_address_count: Attr<i32>,
    /// IPv6 addresses.
    #[attr(optional)]
    pub ipv6_addresses: Attr<Set<String>>,
    /// How many IPv6 prefixes it gets.
    #[attr(optional)]
    pub ipv6_prefix_count: Attr<i32>,
    /// The network card.
    #[attr(optional)]
    pub network_card_index: Attr<i32>,
    /// An existing interface.
    #[attr(optional)]
    pub network_interface_id: Attr<String>,
    /// Whether the first IPv6 address is the primary one.
    #[attr(optional, validate = flag())]
    pub primary_ipv6: Attr<String>,
    /// The primary private IPv4 address.
    #[attr(optional)]
    pub private_ip_address: Attr<String>,
    /// Security groups.
    #[attr(optional)]
    pub security_groups: Attr<Set<String>>,
    /// The subnet.
    #[attr(optional)]
    pub subnet_id: Attr<String>,
}

/// Where instances run.
#[derive(Model, Clone, PartialEq, Default, Debug)]
pub struct Placement {
    /// The affinity to a dedicated host.
    #[attr(optional)]
    pub affinity: Attr<String>,
    /// The zone.
    #[attr(optional)]
    pub availability_zone: Attr<String>,
    /// The ID of the placement group.
    #[attr(optional)]
    pub group_id: Attr<String>,
    /// The name of the placement group.
    #[attr(optional)]
    pub group_name: Attr<String>,
    /// The dedicated host.
    #[attr(optional)]
    pub host_id: Attr<String>,
    /// The resource group of dedicated hosts.
    #[attr(optional)]
    pub host_resource_group_arn: Attr<String>,
    /// The partition.
    #[attr(optional)]
    pub partition_number: Attr<i32>,
    /// Reserved by AWS.
    #[attr(optional)]
    pub spread_domain: Attr<String>,
    /// `default`, `dedicated` or `host`.
    #[attr(optional, validate = one_of(["default", "dedicated", "host"]))]
    pub tenancy: Attr<String>,
}

/// Private DNS names.
#[derive(Model, Clone, PartialEq, Default, Debug)]
pub struct PrivateDnsNameOptions {
    /// Whether the resource name has an A record.
    #[attr(optional)]
    pub enable_resource_name_dns_a_record: Attr<bool>,
    /// Whether the resource name has an AAAA record.
    #[attr(optional)]
    pub enable_resource_name_dns_aaaa_record: Attr<bool>,
    /// `ip-name` or `resource-name`.
    #[attr(optional, validate = one_of(["ip-name", "resource-name"]))]
    pub hostname_type: Attr<String>,
}

/// Tags of what a launch makes.
#[derive(Model, Clone, PartialEq, Default, Debug)]
pub struct TagSpecification {
    /// `instance`, `volume`, `network-interface`, `spot-instances-request`, …
    #[attr(optional)]
    pub resource_type: Attr<String>,
    /// The tags.
    #[attr(optional)]
    pub tags: Attr<Tags>,
}

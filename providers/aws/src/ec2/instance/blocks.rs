//! The blocks of `aws_instance`, with the attributes that AWS fills in where nobody wrote them.

use crate::ec2::util::{same_number, same_time};
use crate::tags::Tags;
use gpuform_provider_sdk::prelude::*;

/// The volume that the instance boots from.
#[derive(Model, Clone, PartialEq, Default, Debug)]
pub struct RootBlockDevice {
    /// Whether the volume ends with the instance.
    #[attr(optional, default = true)]
    pub delete_on_termination: Attr<bool>,
    /// The name of the device, e.g. `/dev/sda1`.
    #[attr(computed)]
    pub device_name: Attr<String>,
    /// Whether the volume is encrypted.
    #[attr(optional, computed, force_new)]
    pub encrypted: Attr<bool>,
    /// I/O operations a second (types `gp3`, `io1`, `io2`).
    #[attr(optional, computed)]
    pub iops: Attr<i32>,
    /// ARN of the KMS key that encrypts the volume.
    #[attr(optional, computed, force_new)]
    pub kms_key_id: Attr<String>,
    /// Tags of the volume.
    #[attr(optional)]
    pub tags: Attr<Tags>,
    /// Tags of the volume with the provider's default tags.
    #[attr(optional, computed)]
    pub tags_all: Attr<Tags>,
    /// MiB a second (type `gp3`).
    #[attr(optional, computed)]
    pub throughput: Attr<i32>,
    /// The volume's ID.
    #[attr(computed)]
    pub volume_id: Attr<String>,
    /// GiB.
    #[attr(optional, computed, validate = range(1..=65536))]
    pub volume_size: Attr<i32>,
    /// `gp2`, `gp3`, `io1`, `io2`, `sc1`, `st1` or `standard`.
    #[attr(optional, computed, validate = one_of(["gp2", "gp3", "io1", "io2", "sc1", "st1", "standard"]))]
    pub volume_type: Attr<String>,
}

/// A further volume.
#[derive(Model, Clone, PartialEq, Default, Debug)]
pub struct EbsBlockDevice {
    /// Whether the volume ends with the instance.
    #[attr(optional, default = true)]
    pub delete_on_termination: Attr<bool>,
    /// The name of the device, e.g. `/dev/sdf`.
    #[attr(required)]
    pub device_name: Attr<String>,
    /// Whether the volume is encrypted.
    #[attr(optional, computed)]
    pub encrypted: Attr<bool>,
    /// I/O operations a second (types `gp3`, `io1`, `io2`).
    #[attr(optional, computed)]
    pub iops: Attr<i32>,
    /// ARN of the KMS key that encrypts the volume.
    #[attr(optional, computed)]
    pub kms_key_id: Attr<String>,
    /// The snapshot that the volume begins with.
    #[attr(optional, computed)]
    pub snapshot_id: Attr<String>,
    /// Tags of the volume.
    #[attr(optional)]
    pub tags: Attr<Tags>,
    /// Tags of the volume with the provider's default tags.
    #[attr(optional, computed)]
    pub tags_all: Attr<Tags>,
    /// MiB a second (type `gp3`).
    #[attr(optional, computed)]
    pub throughput: Attr<i32>,
    /// The volume's ID.
    #[attr(computed)]
    pub volume_id: Attr<String>,
    /// GiB.
    #[attr(optional, computed, validate = range(1..=65536))]
    pub volume_size: Attr<i32>,
    /// `gp2`, `gp3`, `io1`, `io2`, `sc1`, `st1` or `standard`.
    #[attr(optional, computed, validate = one_of(["gp2", "gp3", "io1", "io2", "sc1", "st1", "standard"]))]
    pub volume_type: Attr<String>,
}

/// A disk of the host, lost when the instance stops.
#[derive(Model, Clone, PartialEq, Default, Debug)]
pub struct EphemeralBlockDevice {
    /// The name of the device.
    #[attr(required)]
    pub device_name: Attr<String>,
    /// Leaves out a device of the image.
    #[attr(optional)]
    pub no_device: Attr<bool>,
    /// The disk: `ephemeral0`, `ephemeral1`, …
    #[attr(optional)]
    pub virtual_name: Attr<String>,
}

/// How the instance is bought.
#[derive(Model, Clone, PartialEq, Default, Debug)]
pub struct MarketOptions {
    /// `spot` or `capacity-block`.
    #[attr(optional, computed, force_new, validate = one_of(["spot", "capacity-block"]))]
    pub market_type: Attr<String>,
    /// The terms of a spot instance.
    #[block(computed, force_new)]
    pub spot_options: Option<SpotOptions>,
}

/// The terms of a spot instance.
#[derive(Model, Clone, PartialEq, Default, Debug)]
pub struct SpotOptions {
    /// What an interruption does: `terminate`, `stop` or `hibernate`.
    #[attr(optional, computed, force_new, validate = one_of(["terminate", "stop", "hibernate"]))]
    pub instance_interruption_behavior: Attr<String>,
    /// The most to pay for an hour, in USD; the on-demand price unless given.
    #[attr(optional, computed, force_new, suppress = same_number)]
    pub max_price: Attr<String>,
    /// `one-time` or `persistent`.
    #[attr(optional, computed, force_new, validate = one_of(["one-time", "persistent"]))]
    pub spot_instance_type: Attr<String>,
    /// When a persistent request ends, as `YYYY-MM-DDTHH:MM:SSZ`.
    #[attr(optional, computed, force_new, suppress = same_time)]
    pub valid_until: Attr<String>,
}

/// Cores and threads.
#[derive(Model, Clone, PartialEq, Default, Debug)]
pub struct CpuOptions {
    /// AMD SEV-SNP: `enabled` or `disabled`.
    #[attr(optional, computed, force_new, validate = one_of(["enabled", "disabled"]))]
    pub amd_sev_snp: Attr<String>,
    /// The number of cores.
    #[attr(optional, computed, force_new)]
    pub core_count: Attr<i32>,
    /// Threads of each core: 1 switches hyper-threading off.
    #[attr(optional, computed, force_new)]
    pub threads_per_core: Attr<i32>,
}

/// CPU credits of a burstable instance.
#[derive(Model, Clone, PartialEq, Default, Debug)]
pub struct CreditSpecification {
    /// `standard` or `unlimited`.
    #[attr(optional, computed, validate = one_of(["standard", "unlimited"]))]
    pub cpu_credits: Attr<String>,
}

/// Nitro Enclaves.
#[derive(Model, Clone, PartialEq, Default, Debug)]
pub struct EnclaveOptions {
    /// Whether enclaves can be made.
    #[attr(optional, computed, force_new)]
    pub enabled: Attr<bool>,
}

/// A launch template that gives what the configuration does not.
#[derive(Model, Clone, PartialEq, Default, Debug)]
pub struct LaunchTemplate {
    /// The template's ID.
    #[attr(optional, computed, force_new)]
    pub id: Attr<String>,
    /// The template's name.
    #[attr(optional, computed, force_new)]
    pub name: Attr<String>,
    /// A version's number, `$Latest` or `$Default`.
    #[attr(optional, default = "$Default", validate = length(1..=255))]
    pub version: Attr<String>,
}

/// Recovery when the host fails.
#[derive(Model, Clone, PartialEq, Default, Debug)]
pub struct MaintenanceOptions {
    /// `default` or `disabled`.
    #[attr(optional, computed, validate = one_of(["default", "disabled"]))]
    pub auto_recovery: Attr<String>,
}

/// The instance metadata service.
#[derive(Model, Clone, PartialEq, Default, Debug)]
pub struct MetadataOptions {
    /// Whether it answers: `enabled` or `disabled`.
    #[attr(optional, computed, validate = one_of(["enabled", "disabled"]))]
    pub http_endpoint: Attr<String>,
    /// Whether it answers over IPv6: `enabled` or `disabled`.
    #[attr(optional, computed, validate = one_of(["enabled", "disabled"]))]
    pub http_protocol_ipv6: Attr<String>,
    /// How many hops an answer may travel.
    #[attr(optional, computed, validate = range(1..=64))]
    pub http_put_response_hop_limit: Attr<i32>,
    /// Whether session tokens are needed (IMDSv2): `required` or `optional`.
    #[attr(optional, computed, validate = one_of(["optional", "required"]))]
    pub http_tokens: Attr<String>,
    /// Whether tags can be read there: `enabled` or `disabled`.
    #[attr(optional, computed, validate = one_of(["enabled", "disabled"]))]
    pub instance_metadata_tags: Attr<String>,
}

/// An existing network interface to attach at launch.
#[derive(Model, Clone, PartialEq, Default, Debug)]
pub struct NetworkInterface {
    /// Whether the interface ends with the instance.
    #[attr(optional, default = false, force_new)]
    pub delete_on_termination: Attr<bool>,
    /// Its place: 0 is the primary interface.
    #[attr(required, force_new)]
    pub device_index: Attr<i32>,
    /// The network card.
    #[attr(optional, default = 0, force_new)]
    pub network_card_index: Attr<i32>,
    /// The interface's ID.
    #[attr(required, force_new)]
    pub network_interface_id: Attr<String>,
}

/// The existing network interface that becomes the primary one.
#[derive(Model, Clone, PartialEq, Default, Debug)]
pub struct PrimaryNetworkInterface {
    /// Whether the interface ends with the instance.
    #[attr(computed)]
    pub delete_on_termination: Attr<bool>,
    /// The interface's ID.
    #[attr(required, force_new)]
    pub network_interface_id: Attr<String>,
}

/// The instance's private DNS names.
#[derive(Model, Clone, PartialEq, Default, Debug)]
pub struct PrivateDnsNameOptions {
    /// Whether the resource name has an A record.
    #[attr(optional, computed)]
    pub enable_resource_name_dns_a_record: Attr<bool>,
    /// Whether the resource name has an AAAA record.
    #[attr(optional, computed)]
    pub enable_resource_name_dns_aaaa_record: Attr<bool>,
    /// `ip-name` or `resource-name`.
    #[attr(optional, computed, force_new, validate = one_of(["ip-name", "resource-name"]))]
    pub hostname_type: Attr<String>,
}

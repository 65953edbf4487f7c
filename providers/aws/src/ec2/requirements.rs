//! Instance requirements: instead of a type, what the type must offer. Used by launch templates and by the overrides
//! of auto scaling groups, whose APIs have the same fields in types of their own.

use gpuform_provider_sdk::prelude::*;

/// A range of whole numbers.
#[derive(Model, Clone, PartialEq, Default, Debug)]
pub struct Range {
    /// The most.
    #[attr(optional, validate = range(0..))]
    pub max: Attr<i32>,
    /// The least.
    #[attr(optional, validate = range(0..))]
    pub min: Attr<i32>,
}

/// A range of numbers with a fraction.
#[derive(Model, Clone, PartialEq, Default, Debug)]
pub struct FractionalRange {
    /// The most.
    #[attr(optional)]
    pub max: Attr<f64>,
    /// The least.
    #[attr(optional)]
    pub min: Attr<f64>,
}

/// A range of whole numbers that has a beginning.
#[derive(Model, Clone, PartialEq, Default, Debug)]
pub struct RangeFrom {
    /// The most.
    #[attr(optional, validate = range(1..))]
    pub max: Attr<i32>,
    /// The least.
    #[attr(required, validate = range(0..))]
    pub min: Attr<i32>,
}

/// What an instance type must offer.
#[derive(Model, Clone, PartialEq, Default, Debug)]
pub struct InstanceRequirements {
    /// The number of accelerators; a `max` of 0 excludes types with any.
    #[block]
    pub accelerator_count: Option<Range>,
    /// `nvidia`, `amd`, `amazon-web-services`, `xilinx`, `habana`.
    #[attr(optional)]
    pub accelerator_manufacturers: Attr<Set<String>>,
    /// `a100`, `h100`, `l4`, `t4`, …
    #[attr(optional)]
    pub accelerator_names: Attr<Set<String>>,
    /// Memory of all accelerators together, in MiB.
    #[block]
    pub accelerator_total_memory_mib: Option<Range>,
    /// `gpu`, `fpga`, `inference`, `media`.
    #[attr(optional)]
    pub accelerator_types: Attr<Set<String>>,
    /// Types that are allowed, with `*`.
    #[attr(optional)]
    pub allowed_instance_types: Attr<Set<String>>,
    /// `included`, `excluded` or `required`.
    #[attr(optional, validate = one_of(["included", "excluded", "required"]))]
    pub bare_metal: Attr<String>,
    /// Throughput to EBS in Mbit/s.
    #[block]
    pub baseline_ebs_bandwidth_mbps: Option<Range>,
    /// `included`, `excluded` or `required`.
    #[attr(optional, validate = one_of(["included", "excluded", "required"]))]
    pub burstable_performance: Attr<String>,
    /// `intel`, `amd`, `amazon-web-services`, `apple`.
    #[attr(optional)]
    pub cpu_manufacturers: Attr<Set<String>>,
    /// Types that are excluded, with `*`.
    #[attr(optional)]
    pub excluded_instance_types: Attr<Set<String>>,
    /// `current`, `previous`.
    #[attr(optional)]
    pub instance_generations: Attr<Set<String>>,
    /// `included`, `excluded` or `required`.
    #[attr(optional, validate = one_of(["included", "excluded", "required"]))]
    pub local_storage: Attr<String>,
    /// `hdd`, `ssd`.
    #[attr(optional)]
    pub local_storage_types: Attr<Set<String>>,
    /// The most to pay for spot, as a percentage of the on-demand price of the best type.
    #[attr(optional, validate = range(1..))]
    pub max_spot_price_as_percentage_of_optimal_on_demand_price: Attr<i32>,
    /// GiB of memory for each vCPU.
    #[block]
    pub memory_gib_per_vcpu: Option<FractionalRange>,
    /// Memory in MiB.
    #[block(min = 1)]
    pub memory_mib: Option<RangeFrom>,
    /// Network bandwidth in Gbit/s.
    #[block]
    pub network_bandwidth_gbps: Option<FractionalRange>,
    /// The number of network interfaces.
    #[block]
    pub network_interface_count: Option<Range>,
    /// The most to pay on demand, as a percentage above the cheapest type.
    #[attr(optional, validate = range(1..))]
    pub on_demand_max_price_percentage_over_lowest_price: Attr<i32>,
    /// Whether the type must be able to hibernate.
    #[attr(optional)]
    pub require_hibernate_support: Attr<bool>,
    /// The most to pay for spot, as a percentage above the cheapest type.
    #[attr(optional, validate = range(1..))]
    pub spot_max_price_percentage_over_lowest_price: Attr<i32>,
    /// Local storage in GB.
    #[block]
    pub total_local_storage_gb: Option<FractionalRange>,
    /// The number of vCPUs.
    #[block(min = 1)]
    pub vcpu_count: Option<RangeFrom>,
}

/// The elements of a set as the API's enumeration values.
pub fn choices<T>(attr: &Attr<Set<String>>) -> Option<Vec<T>>
where
    T: for<'a> From<&'a str>,
{
    attr.get().filter(|s| !s.is_empty()).map(|s| s.iter().map(|v| T::from(v.as_str())).collect())
}

/// What the API reports as a set; null where it reports nothing.
pub fn reported<'a>(values: impl Iterator<Item = &'a str>) -> Attr<Set<String>> {
    let set: Set<String> = values.map(str::to_owned).collect();
    if set.is_empty() { Attr::Null } else { Attr::Known(set) }
}

/// Writes a `request` and a `from_api` for one API's types, whose names differ only here and there.
#[macro_export]
macro_rules! instance_requirements {
    ($api:ident, $request:ident, $response:ident, $vcpu:ident, $memory:ident, $per_vcpu:ident, $interfaces:ident,
     $storage:ident, $bandwidth:ident, $count:ident, $accelerator_memory:ident, $network:ident) => {
        /// The requirements as the API takes them.
        pub fn request(r: &$crate::ec2::requirements::InstanceRequirements) -> $api::$request {
            use $crate::ec2::requirements::choices;
            use $crate::ec2::util::choice;
            macro_rules! range {
                ($of:expr, $ty:ident) => {
                    $of.as_ref().map(|b| {
                        let built = $api::$ty::builder().set_min(b.min.cloned()).set_max(b.max.cloned());
                        built.build()
                    })
                };
            }
            $api::$request::builder()
                .set_v_cpu_count(range!(r.vcpu_count, $vcpu))
                .set_memory_mib(range!(r.memory_mib, $memory))
                .set_memory_gib_per_v_cpu(range!(r.memory_gib_per_vcpu, $per_vcpu))
                .set_network_interface_count(range!(r.network_interface_count, $interfaces))
                .set_total_local_storage_gb(range!(r.total_local_storage_gb, $storage))
                .set_baseline_ebs_bandwidth_mbps(range!(r.baseline_ebs_bandwidth_mbps, $bandwidth))
                .set_accelerator_count(range!(r.accelerator_count, $count))
                .set_accelerator_total_memory_mib(range!(r.accelerator_total_memory_mib, $accelerator_memory))
                .set_network_bandwidth_gbps(range!(r.network_bandwidth_gbps, $network))
                .set_accelerator_manufacturers(choices(&r.accelerator_manufacturers))
                .set_accelerator_names(choices(&r.accelerator_names))
                .set_accelerator_types(choices(&r.accelerator_types))
                .set_allowed_instance_types(choices(&r.allowed_instance_types))
                .set_excluded_instance_types(choices(&r.excluded_instance_types))
                .set_cpu_manufacturers(choices(&r.cpu_manufacturers))
                .set_instance_generations(choices(&r.instance_generations))
                .set_local_storage_types(choices(&r.local_storage_types))
                .set_bare_metal(choice(&r.bare_metal))
                .set_burstable_performance(choice(&r.burstable_performance))
                .set_local_storage(choice(&r.local_storage))
                .set_require_hibernate_support(r.require_hibernate_support.cloned())
                .set_max_spot_price_as_percentage_of_optimal_on_demand_price(
                    r.max_spot_price_as_percentage_of_optimal_on_demand_price.cloned(),
                )
                .set_on_demand_max_price_percentage_over_lowest_price(
                    r.on_demand_max_price_percentage_over_lowest_price.cloned(),
                )
                .set_spot_max_price_percentage_over_lowest_price(r.spot_max_price_percentage_over_lowest_price.cloned())
                .build()
        }

        /// The requirements as the API reports them.
        pub fn from_api(r: &$api::$response) -> $crate::ec2::requirements::InstanceRequirements {
            use $crate::ec2::requirements::{FractionalRange, InstanceRequirements, Range, RangeFrom, reported};
            macro_rules! range {
                ($of:expr, $ty:ident) => {
                    $of.map(|b| $ty { max: b.max().into(), min: b.min().into() })
                };
            }
            InstanceRequirements {
                accelerator_count: range!(r.accelerator_count(), Range),
                accelerator_manufacturers: reported(r.accelerator_manufacturers().iter().map(|v| v.as_str())),
                accelerator_names: reported(r.accelerator_names().iter().map(|v| v.as_str())),
                accelerator_total_memory_mib: range!(r.accelerator_total_memory_mib(), Range),
                accelerator_types: reported(r.accelerator_types().iter().map(|v| v.as_str())),
                allowed_instance_types: reported(r.allowed_instance_types().iter().map(String::as_str)),
                bare_metal: r.bare_metal().map(|v| v.as_str()).into(),
                baseline_ebs_bandwidth_mbps: range!(r.baseline_ebs_bandwidth_mbps(), Range),
                burstable_performance: r.burstable_performance().map(|v| v.as_str()).into(),
                cpu_manufacturers: reported(r.cpu_manufacturers().iter().map(|v| v.as_str())),
                excluded_instance_types: reported(r.excluded_instance_types().iter().map(String::as_str)),
                instance_generations: reported(r.instance_generations().iter().map(|v| v.as_str())),
                local_storage: r.local_storage().map(|v| v.as_str()).into(),
                local_storage_types: reported(r.local_storage_types().iter().map(|v| v.as_str())),
                max_spot_price_as_percentage_of_optimal_on_demand_price: r
                    .max_spot_price_as_percentage_of_optimal_on_demand_price()
                    .into(),
                memory_gib_per_vcpu: range!(r.memory_gib_per_v_cpu(), FractionalRange),
                memory_mib: range!(r.memory_mib(), RangeFrom),
                network_bandwidth_gbps: range!(r.network_bandwidth_gbps(), FractionalRange),
                network_interface_count: range!(r.network_interface_count(), Range),
                on_demand_max_price_percentage_over_lowest_price: r
                    .on_demand_max_price_percentage_over_lowest_price()
                    .into(),
                require_hibernate_support: r.require_hibernate_support().into(),
                spot_max_price_percentage_over_lowest_price: r.spot_max_price_percentage_over_lowest_price().into(),
                total_local_storage_gb: range!(r.total_local_storage_gb(), FractionalRange),
                vcpu_count: range!(r.v_cpu_count(), RangeFrom),
            }
        }
    };
}

/// Conversions for EC2.
pub mod ec2 {
    use aws_sdk_ec2::types as api;
    crate::instance_requirements!(
        api,
        InstanceRequirementsRequest,
        InstanceRequirements,
        VCpuCountRangeRequest,
        MemoryMiBRequest,
        MemoryGiBPerVCpuRequest,
        NetworkInterfaceCountRequest,
        TotalLocalStorageGbRequest,
        BaselineEbsBandwidthMbpsRequest,
        AcceleratorCountRequest,
        AcceleratorTotalMemoryMiBRequest,
        NetworkBandwidthGbpsRequest
    );
}

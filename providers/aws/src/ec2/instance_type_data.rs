//! Data source `aws_ec2_instance_type`. API: DescribeInstanceTypes.

use crate::client::Aws;
use crate::error::Answer;
use aws_sdk_ec2::types::InstanceTypeInfo;
use gpuform_provider_sdk::prelude::*;

/// What an instance type offers.
#[derive(Model, Clone, PartialEq, Default)]
pub struct InstanceType {
    /// Whether instances recover on another host.
    #[attr(computed)]
    pub auto_recovery_supported: Attr<bool>,
    /// How bandwidth can be weighted.
    #[attr(computed)]
    pub bandwidth_weightings: Attr<Set<String>>,
    /// Whether instances have the whole host without a hypervisor.
    #[attr(computed)]
    pub bare_metal: Attr<bool>,
    /// How instances can boot.
    #[attr(computed)]
    pub boot_modes: Attr<Set<String>>,
    /// Whether CPU credits count.
    #[attr(computed)]
    pub burstable_performance_supported: Attr<bool>,
    /// Whether the type is of the current generation.
    #[attr(computed)]
    pub current_generation: Attr<bool>,
    /// Whether dedicated hosts of the type exist.
    #[attr(computed)]
    pub dedicated_hosts_supported: Attr<bool>,
    /// Cores unless given.
    #[attr(computed)]
    pub default_cores: Attr<i32>,
    /// The network card of the primary interface.
    #[attr(computed)]
    pub default_network_card_index: Attr<i32>,
    /// Threads of each core unless given.
    #[attr(computed)]
    pub default_threads_per_core: Attr<i32>,
    /// vCPUs unless given.
    #[attr(computed)]
    pub default_vcpus: Attr<i32>,
    /// Whether EBS encryption is supported.
    #[attr(computed)]
    pub ebs_encryption_support: Attr<String>,
    /// Whether EBS volumes are NVMe devices.
    #[attr(computed)]
    pub ebs_nvme_support: Attr<String>,
    /// Whether throughput to EBS is dedicated.
    #[attr(computed)]
    pub ebs_optimized_support: Attr<String>,
    /// Mbit/s to EBS at all times.
    #[attr(computed)]
    pub ebs_performance_baseline_bandwidth: Attr<i32>,
    /// I/O operations a second to EBS at all times.
    #[attr(computed)]
    pub ebs_performance_baseline_iops: Attr<i32>,
    /// MB/s to EBS at all times.
    #[attr(computed)]
    pub ebs_performance_baseline_throughput: Attr<f64>,
    /// Mbit/s to EBS at most.
    #[attr(computed)]
    pub ebs_performance_maximum_bandwidth: Attr<i32>,
    /// I/O operations a second to EBS at most.
    #[attr(computed)]
    pub ebs_performance_maximum_iops: Attr<i32>,
    /// MB/s to EBS at most.
    #[attr(computed)]
    pub ebs_performance_maximum_throughput: Attr<f64>,
    /// EFA interfaces at most.
    #[attr(computed)]
    pub efa_maximum_interfaces: Attr<i32>,
    /// Whether the Elastic Fabric Adapter is supported.
    #[attr(computed)]
    pub efa_supported: Attr<bool>,
    /// Whether ENA Express is supported.
    #[attr(computed)]
    pub ena_srd_supported: Attr<bool>,
    /// Whether ENA is supported or required.
    #[attr(computed)]
    pub ena_support: Attr<String>,
    /// Whether traffic between instances is encrypted.
    #[attr(computed)]
    pub encryption_in_transit_supported: Attr<bool>,
    /// FPGAs.
    #[attr(computed)]
    pub fpgas: Attr<Set<Accelerator>>,
    /// Whether the type is in the free tier.
    #[attr(computed)]
    pub free_tier_eligible: Attr<bool>,
    /// GPUs.
    #[attr(computed)]
    pub gpus: Attr<Set<Accelerator>>,
    /// Whether instances can hibernate.
    #[attr(computed)]
    pub hibernation_supported: Attr<bool>,
    /// The hypervisor.
    #[attr(computed)]
    pub hypervisor: Attr<String>,
    /// The type.
    #[attr(optional, computed)]
    pub id: Attr<String>,
    /// Inference accelerators.
    #[attr(computed)]
    pub inference_accelerators: Attr<Set<Accelerator>>,
    /// Disks of the host.
    #[attr(computed)]
    pub instance_disks: Attr<Set<InstanceDisk>>,
    /// Whether the host has disks for instances.
    #[attr(computed)]
    pub instance_storage_supported: Attr<bool>,
    /// The type, e.g. `p5.48xlarge`.
    #[attr(required)]
    pub instance_type: Attr<String>,
    /// Whether IPv6 is supported.
    #[attr(computed)]
    pub ipv6_supported: Attr<bool>,
    /// IPv4 addresses of an interface at most.
    #[attr(computed)]
    pub maximum_ipv4_addresses_per_interface: Attr<i32>,
    /// IPv6 addresses of an interface at most.
    #[attr(computed)]
    pub maximum_ipv6_addresses_per_interface: Attr<i32>,
    /// Network cards at most.
    #[attr(computed)]
    pub maximum_network_cards: Attr<i32>,
    /// Network interfaces at most.
    #[attr(computed)]
    pub maximum_network_interfaces: Attr<i32>,
    /// Media accelerators.
    #[attr(computed)]
    pub media_accelerators: Attr<Set<Accelerator>>,
    /// MiB of memory.
    #[attr(computed)]
    pub memory_size: Attr<i64>,
    /// Network cards.
    #[attr(computed)]
    pub network_cards: Attr<Set<NetworkCard>>,
    /// The network in words.
    #[attr(computed)]
    pub network_performance: Attr<String>,
    /// Neuron devices.
    #[attr(computed)]
    pub neuron_devices: Attr<Set<NeuronDevice>>,
    /// Whether Nitro Enclaves are supported.
    #[attr(computed)]
    pub nitro_enclaves_support: Attr<String>,
    /// Whether NitroTPM is supported.
    #[attr(computed)]
    pub nitro_tpm_support: Attr<String>,
    /// Versions of NitroTPM.
    #[attr(computed)]
    pub nitro_tpm_supported_versions: Attr<Set<String>>,
    /// Whether the PTP hardware clock is supported.
    #[attr(computed)]
    pub phc_support: Attr<String>,
    /// Architectures of images.
    #[attr(computed)]
    pub supported_architectures: Attr<Vec<String>>,
    /// Features of the processor.
    #[attr(computed)]
    pub supported_cpu_features: Attr<Set<String>>,
    /// Strategies of placement groups.
    #[attr(computed)]
    pub supported_placement_strategies: Attr<Vec<String>>,
    /// Kinds of root devices.
    #[attr(computed)]
    pub supported_root_device_types: Attr<Vec<String>>,
    /// How instances can be bought: on demand, spot, capacity block.
    #[attr(computed)]
    pub supported_usages_classes: Attr<Vec<String>>,
    /// Virtualisation of images.
    #[attr(computed)]
    pub supported_virtualization_types: Attr<Vec<String>>,
    /// GHz.
    #[attr(computed)]
    pub sustained_clock_speed: Attr<f64>,
    /// MiB of memory of all FPGAs.
    #[attr(computed)]
    pub total_fpga_memory: Attr<i32>,
    /// MiB of memory of all GPUs.
    #[attr(computed)]
    pub total_gpu_memory: Attr<i32>,
    /// MiB of memory of all inference accelerators.
    #[attr(computed)]
    pub total_inference_memory: Attr<i32>,
    /// GB of all disks.
    #[attr(computed)]
    pub total_instance_storage: Attr<i64>,
    /// MiB of memory of all media accelerators.
    #[attr(computed)]
    pub total_media_memory: Attr<i32>,
    /// MiB of memory of all Neuron devices.
    #[attr(computed)]
    pub total_neuron_device_memory: Attr<i32>,
    /// Numbers of cores to choose from.
    #[attr(computed)]
    pub valid_cores: Attr<Vec<i32>>,
    /// Numbers of threads to choose from.
    #[attr(computed)]
    pub valid_threads_per_core: Attr<Vec<i32>>,
    #[timeouts(read = "20m")]
    pub timeouts: Timeouts,
}

/// Accelerators of one kind.
#[derive(Model, Clone, PartialEq, Default)]
pub struct Accelerator {
    /// How many.
    #[attr(computed)]
    pub count: Attr<i32>,
    /// Who makes them.
    #[attr(computed)]
    pub manufacturer: Attr<String>,
    /// MiB of memory of each.
    #[attr(computed)]
    pub memory_size: Attr<i32>,
    /// The model, e.g. `H100`.
    #[attr(computed)]
    pub name: Attr<String>,
}

/// Neuron devices of one kind.
#[derive(Model, Clone, PartialEq, Default)]
pub struct NeuronDevice {
    /// Cores of each.
    #[attr(computed)]
    pub core_count: Attr<i32>,
    /// The version of the cores.
    #[attr(computed)]
    pub core_version: Attr<i32>,
    /// How many.
    #[attr(computed)]
    pub count: Attr<i32>,
    /// MiB of memory of each.
    #[attr(computed)]
    pub memory_size: Attr<i32>,
    /// The model, e.g. `Trainium2`.
    #[attr(computed)]
    pub name: Attr<String>,
}

/// Disks of one kind.
#[derive(Model, Clone, PartialEq, Default)]
pub struct InstanceDisk {
    /// How many.
    #[attr(computed)]
    pub count: Attr<i32>,
    /// GB of each.
    #[attr(computed)]
    pub size: Attr<i64>,
    /// `hdd` or `ssd`.
    #[attr(computed, name = "type")]
    pub kind: Attr<String>,
}

/// A network card.
#[derive(Model, Clone, PartialEq, Default)]
pub struct NetworkCard {
    /// Gbit/s at all times.
    #[attr(computed)]
    pub baseline_bandwidth: Attr<f64>,
    /// Its index.
    #[attr(computed)]
    pub index: Attr<i32>,
    /// Interfaces at most.
    #[attr(computed)]
    pub maximum_interfaces: Attr<i32>,
    /// Gbit/s at most.
    #[attr(computed)]
    pub peak_bandwidth: Attr<f64>,
    /// The speed in words.
    #[attr(computed)]
    pub performance: Attr<String>,
}

impl DataSource for InstanceType {
    type Client = Aws;
    const TYPE: &'static str = "aws_ec2_instance_type";

    async fn read(mut self, ctx: &Context<Aws>) -> Result<Self> {
        let aws = ctx.client();
        let name = self.instance_type.require("instance_type")?.clone();
        let request = aws.ec2.describe_instance_types().instance_types(name.as_str().into());
        let answer = request.send().await.or_fail("Reading the instance type")?;
        let Some(info) = answer.instance_types().first() else {
            return Err(Error::new("No such instance type")
                .detail(format!("{} does not offer {name}.", aws.region))
                .at("instance_type"));
        };
        self.id.set(name);
        self.take(info);
        Ok(self)
    }
}

/// The same four facts about FPGAs, GPUs and other accelerators.
macro_rules! accelerators {
    ($devices:expr) => {
        $devices
            .unwrap_or_default()
            .iter()
            .map(|d| Accelerator {
                count: d.count().into(),
                manufacturer: d.manufacturer().into(),
                memory_size: d.memory_info().and_then(|m| m.size_in_mib()).into(),
                name: d.name().into(),
            })
            .collect::<Set<_>>()
    };
}

impl InstanceType {
    fn take(&mut self, info: &InstanceTypeInfo) {
        let (network, ebs) = (info.network_info(), info.ebs_info());
        let (cpu, processor) = (info.v_cpu_info(), info.processor_info());
        let ebs_speed = ebs.and_then(|e| e.ebs_optimized_info());
        self.auto_recovery_supported = Attr::Known(info.auto_recovery_supported().unwrap_or_default());
        self.bandwidth_weightings =
            Attr::Known(network.map(|n| texts(n.bandwidth_weightings(), |v| v.as_str())).unwrap_or_default());
        self.bare_metal = Attr::Known(info.bare_metal().unwrap_or_default());
        self.boot_modes = Attr::Known(texts(info.supported_boot_modes(), |v| v.as_str()));
        self.burstable_performance_supported = Attr::Known(info.burstable_performance_supported().unwrap_or_default());
        self.current_generation = Attr::Known(info.current_generation().unwrap_or_default());
        self.dedicated_hosts_supported = Attr::Known(info.dedicated_hosts_supported().unwrap_or_default());
        self.default_cores = Attr::Known(cpu.and_then(|c| c.default_cores()).unwrap_or_default());
        self.default_network_card_index =
            Attr::Known(network.and_then(|n| n.default_network_card_index()).unwrap_or_default());
        self.default_threads_per_core = Attr::Known(cpu.and_then(|c| c.default_threads_per_core()).unwrap_or_default());
        self.default_vcpus = Attr::Known(cpu.and_then(|c| c.default_v_cpus()).unwrap_or_default());
        self.ebs_encryption_support =
            Attr::Known(ebs.and_then(|e| e.encryption_support()).map(|v| v.as_str().to_owned()).unwrap_or_default());
        self.ebs_nvme_support =
            Attr::Known(ebs.and_then(|e| e.nvme_support()).map(|v| v.as_str().to_owned()).unwrap_or_default());
        self.ebs_optimized_support =
            Attr::Known(ebs.and_then(|e| e.ebs_optimized_support()).map(|v| v.as_str().to_owned()).unwrap_or_default());
        self.ebs_performance_baseline_bandwidth =
            Attr::Known(ebs_speed.and_then(|e| e.baseline_bandwidth_in_mbps()).unwrap_or_default());
        self.ebs_performance_baseline_iops = Attr::Known(ebs_speed.and_then(|e| e.baseline_iops()).unwrap_or_default());
        self.ebs_performance_baseline_throughput =
            Attr::Known(ebs_speed.and_then(|e| e.baseline_throughput_in_m_bps()).unwrap_or_default());
        self.ebs_performance_maximum_bandwidth =
            Attr::Known(ebs_speed.and_then(|e| e.maximum_bandwidth_in_mbps()).unwrap_or_default());
        self.ebs_performance_maximum_iops = Attr::Known(ebs_speed.and_then(|e| e.maximum_iops()).unwrap_or_default());
        self.ebs_performance_maximum_throughput =
            Attr::Known(ebs_speed.and_then(|e| e.maximum_throughput_in_m_bps()).unwrap_or_default());
        self.efa_maximum_interfaces = Attr::Known(
            network.and_then(|n| n.efa_info()).and_then(|e| e.maximum_efa_interfaces()).unwrap_or_default(),
        );
        self.efa_supported = Attr::Known(network.and_then(|n| n.efa_supported()).unwrap_or_default());
        self.ena_srd_supported = Attr::Known(network.and_then(|n| n.ena_srd_supported()).unwrap_or_default());
        self.ena_support =
            Attr::Known(network.and_then(|n| n.ena_support()).map(|v| v.as_str().to_owned()).unwrap_or_default());
        self.encryption_in_transit_supported =
            Attr::Known(network.and_then(|n| n.encryption_in_transit_supported()).unwrap_or_default());
        self.fpgas = Attr::Known(accelerators!(info.fpga_info().map(|i| i.fpgas())));
        self.free_tier_eligible = Attr::Known(info.free_tier_eligible().unwrap_or_default());
        self.gpus = Attr::Known(accelerators!(info.gpu_info().map(|i| i.gpus())));
        self.hibernation_supported = Attr::Known(info.hibernation_supported().unwrap_or_default());
        self.hypervisor = Attr::Known(info.hypervisor().map(|v| v.as_str().to_owned()).unwrap_or_default());
        self.inference_accelerators =
            Attr::Known(accelerators!(info.inference_accelerator_info().map(|i| i.accelerators())));
        self.instance_disks = Attr::Known(disks(info));
        self.instance_storage_supported = Attr::Known(info.instance_storage_supported().unwrap_or_default());
        self.ipv6_supported = Attr::Known(network.and_then(|n| n.ipv6_supported()).unwrap_or_default());
        self.maximum_ipv4_addresses_per_interface =
            Attr::Known(network.and_then(|n| n.ipv4_addresses_per_interface()).unwrap_or_default());
        self.maximum_ipv6_addresses_per_interface =
            Attr::Known(network.and_then(|n| n.ipv6_addresses_per_interface()).unwrap_or_default());
        self.maximum_network_cards = Attr::Known(network.and_then(|n| n.maximum_network_cards()).unwrap_or_default());
        self.maximum_network_interfaces =
            Attr::Known(network.and_then(|n| n.maximum_network_interfaces()).unwrap_or_default());
        self.media_accelerators = Attr::Known(accelerators!(info.media_accelerator_info().map(|i| i.accelerators())));
        self.memory_size = Attr::Known(info.memory_info().and_then(|m| m.size_in_mib()).unwrap_or_default());
        self.network_cards = Attr::Known(network_cards(info));
        self.network_performance =
            Attr::Known(network.and_then(|n| n.network_performance()).map(str::to_owned).unwrap_or_default());
        self.neuron_devices = Attr::Known(neuron_devices(info));
        self.nitro_enclaves_support =
            Attr::Known(info.nitro_enclaves_support().map(|v| v.as_str().to_owned()).unwrap_or_default());
        self.nitro_tpm_support =
            Attr::Known(info.nitro_tpm_support().map(|v| v.as_str().to_owned()).unwrap_or_default());
        self.nitro_tpm_supported_versions = Attr::Known(
            info.nitro_tpm_info().map(|n| texts(n.supported_versions(), String::as_str)).unwrap_or_default(),
        );
        self.phc_support = Attr::Known(info.phc_support().map(|v| v.as_str().to_owned()).unwrap_or_default());
        self.supported_architectures =
            Attr::Known(processor.map(|p| texts(p.supported_architectures(), |v| v.as_str())).unwrap_or_default());
        self.supported_cpu_features =
            Attr::Known(processor.map(|p| texts(p.supported_features(), |v| v.as_str())).unwrap_or_default());
        self.supported_placement_strategies = Attr::Known(
            info.placement_group_info().map(|p| texts(p.supported_strategies(), |v| v.as_str())).unwrap_or_default(),
        );
        self.supported_root_device_types = Attr::Known(texts(info.supported_root_device_types(), |v| v.as_str()));
        self.supported_usages_classes = Attr::Known(texts(info.supported_usage_classes(), |v| v.as_str()));
        self.supported_virtualization_types = Attr::Known(texts(info.supported_virtualization_types(), |v| v.as_str()));
        self.sustained_clock_speed =
            Attr::Known(processor.and_then(|p| p.sustained_clock_speed_in_ghz()).unwrap_or_default());
        self.total_fpga_memory =
            Attr::Known(info.fpga_info().and_then(|f| f.total_fpga_memory_in_mib()).unwrap_or_default());
        self.total_gpu_memory =
            Attr::Known(info.gpu_info().and_then(|g| g.total_gpu_memory_in_mib()).unwrap_or_default());
        self.total_inference_memory = Attr::Known(
            info.inference_accelerator_info().and_then(|i| i.total_inference_memory_in_mib()).unwrap_or_default(),
        );
        self.total_instance_storage =
            Attr::Known(info.instance_storage_info().and_then(|s| s.total_size_in_gb()).unwrap_or_default());
        self.total_media_memory =
            Attr::Known(info.media_accelerator_info().and_then(|m| m.total_media_memory_in_mib()).unwrap_or_default());
        self.total_neuron_device_memory =
            Attr::Known(info.neuron_info().and_then(|n| n.total_neuron_device_memory_in_mib()).unwrap_or_default());
        self.valid_cores = Attr::Known(cpu.map(|c| c.valid_cores().to_vec()).unwrap_or_default());
        self.valid_threads_per_core = Attr::Known(cpu.map(|c| c.valid_threads_per_core().to_vec()).unwrap_or_default());
    }
}

fn texts<'a, T, C: FromIterator<String>>(values: &'a [T], text: impl Fn(&'a T) -> &'a str) -> C {
    values.iter().map(|v| text(v).to_owned()).collect()
}

fn neuron_devices(info: &InstanceTypeInfo) -> Set<NeuronDevice> {
    let devices = info.neuron_info().map(|n| n.neuron_devices()).unwrap_or_default();
    let one = |d: &aws_sdk_ec2::types::NeuronDeviceInfo| NeuronDevice {
        core_count: d.core_info().and_then(|c| c.count()).into(),
        core_version: d.core_info().and_then(|c| c.version()).into(),
        count: d.count().into(),
        memory_size: d.memory_info().and_then(|m| m.size_in_mib()).into(),
        name: d.name().into(),
    };
    devices.iter().map(one).collect()
}

fn disks(info: &InstanceTypeInfo) -> Set<InstanceDisk> {
    let disks = info.instance_storage_info().map(|s| s.disks()).unwrap_or_default();
    let one = |d: &aws_sdk_ec2::types::DiskInfo| InstanceDisk {
        count: d.count().into(),
        size: d.size_in_gb().into(),
        kind: d.r#type().map(|t| t.as_str()).into(),
    };
    disks.iter().map(one).collect()
}

fn network_cards(info: &InstanceTypeInfo) -> Set<NetworkCard> {
    let cards = info.network_info().map(|n| n.network_cards()).unwrap_or_default();
    let one = |c: &aws_sdk_ec2::types::NetworkCardInfo| NetworkCard {
        baseline_bandwidth: c.baseline_bandwidth_in_gbps().into(),
        index: c.network_card_index().into(),
        maximum_interfaces: c.maximum_network_interfaces().into(),
        peak_bandwidth: c.peak_bandwidth_in_gbps().into(),
        performance: c.network_performance().into(),
    };
    cards.iter().map(one).collect()
}

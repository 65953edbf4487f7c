//! The launch template's blocks as the API takes them, and as it reports them.

use super::{LaunchTemplate, blocks::*};
use crate::ec2::requirements;
use crate::ec2::reservation::CapacityReservation;
use crate::ec2::util::{choice, list, parse_time, refresh_flag, render_time};
use crate::tags;
use aws_sdk_ec2::types as ec2;
use gpuform_provider_sdk::prelude::*;

/// A flag in text; empty text is none.
fn flag(text: &Attr<String>) -> Option<bool> {
    match text.as_deref() {
        Some("true") => Some(true),
        Some("false") => Some(false),
        _ => None,
    }
}

fn unflag(value: Option<bool>) -> Attr<String> {
    value.map(|v| v.to_string()).into()
}

/// Text that is not empty.
fn text(attr: &Attr<String>) -> Option<String> {
    attr.cloned().filter(|t| !t.is_empty())
}

fn positive(attr: &Attr<i32>) -> Option<i32> {
    attr.cloned().filter(|n| *n > 0)
}

pub fn request(t: &LaunchTemplate) -> ec2::RequestLaunchTemplateData {
    let devices: Vec<_> = t.block_device_mappings.iter().map(device).collect();
    let interfaces: Vec<_> = t.network_interfaces.iter().map(interface).collect();
    let licenses: Vec<_> = t
        .license_specification
        .iter()
        .map(|l| {
            let arn = l.license_configuration_arn.cloned();
            ec2::LaunchTemplateLicenseConfigurationRequest::builder().set_license_configuration_arn(arn).build()
        })
        .collect();
    let tagged: Vec<_> = t
        .tag_specifications
        .iter()
        .map(|s| {
            ec2::LaunchTemplateTagSpecificationRequest::builder()
                .set_resource_type(choice(&s.resource_type))
                .set_tags(Some(tags::ec2(&s.tags.or_default())))
                .build()
        })
        .collect();
    let some = |empty: bool| (!empty).then_some(());
    let data = ec2::RequestLaunchTemplateData::builder()
        .set_block_device_mappings(some(devices.is_empty()).map(|()| devices))
        .set_network_interfaces(some(interfaces.is_empty()).map(|()| interfaces))
        .set_license_specifications(some(licenses.is_empty()).map(|()| licenses))
        .set_tag_specifications(some(tagged.is_empty()).map(|()| tagged))
        .set_disable_api_stop(t.disable_api_stop.cloned())
        .set_disable_api_termination(t.disable_api_termination.cloned())
        .set_ebs_optimized(flag(&t.ebs_optimized))
        .set_image_id(text(&t.image_id))
        .set_instance_initiated_shutdown_behavior(choice(&t.instance_initiated_shutdown_behavior))
        .set_instance_type(text(&t.instance_type).map(|t| ec2::InstanceType::from(t.as_str())))
        .set_instance_requirements(t.instance_requirements.as_ref().map(requirements::ec2::request))
        .set_kernel_id(text(&t.kernel_id))
        .set_key_name(text(&t.key_name))
        .set_ram_disk_id(text(&t.ram_disk_id))
        .set_security_groups(list(&t.security_group_names))
        .set_security_group_ids(list(&t.vpc_security_group_ids))
        .set_user_data(text(&t.user_data))
        .set_placement(t.placement.as_ref().map(placement))
        .set_instance_market_options(t.instance_market_options.as_ref().map(market))
        .set_capacity_reservation_specification(t.capacity_reservation_specification.as_ref().map(reservation));
    options(t, data).build()
}

fn options(
    t: &LaunchTemplate,
    data: ec2::builders::RequestLaunchTemplateDataBuilder,
) -> ec2::builders::RequestLaunchTemplateDataBuilder {
    let cpu = t.cpu_options.as_ref().map(|c| {
        ec2::LaunchTemplateCpuOptionsRequest::builder()
            .set_amd_sev_snp(choice(&c.amd_sev_snp))
            .set_core_count(c.core_count.cloned())
            .set_threads_per_core(c.threads_per_core.cloned())
            .build()
    });
    let credits = t.credit_specification.as_ref().and_then(|c| text(&c.cpu_credits));
    let credits = credits.map(|c| ec2::CreditSpecificationRequest::builder().cpu_credits(c).build());
    let enclave = t.enclave_options.as_ref();
    let enclave =
        enclave.map(|e| ec2::LaunchTemplateEnclaveOptionsRequest::builder().set_enabled(e.enabled.cloned()).build());
    let hibernation = t
        .hibernation_options
        .as_ref()
        .map(|h| ec2::LaunchTemplateHibernationOptionsRequest::builder().set_configured(h.configured.cloned()).build());
    let profile = t.iam_instance_profile.as_ref().map(|p| {
        ec2::LaunchTemplateIamInstanceProfileSpecificationRequest::builder()
            .set_arn(text(&p.arn))
            .set_name(text(&p.name))
            .build()
    });
    let recovery = t.maintenance_options.as_ref().map(|m| {
        ec2::LaunchTemplateInstanceMaintenanceOptionsRequest::builder()
            .set_auto_recovery(choice(&m.auto_recovery))
            .build()
    });
    let metadata = t.metadata_options.as_ref().map(|m| {
        ec2::LaunchTemplateInstanceMetadataOptionsRequest::builder()
            .set_http_endpoint(choice(&m.http_endpoint))
            .set_http_protocol_ipv6(choice(&m.http_protocol_ipv6))
            .set_http_put_response_hop_limit(positive(&m.http_put_response_hop_limit))
            .set_http_tokens(choice(&m.http_tokens))
            .set_instance_metadata_tags(choice(&m.instance_metadata_tags))
            .build()
    });
    let monitoring = t.monitoring.as_ref();
    let monitoring =
        monitoring.map(|m| ec2::LaunchTemplatesMonitoringRequest::builder().set_enabled(m.enabled.cloned()).build());
    let names = t.private_dns_name_options.as_ref().map(|p| {
        ec2::LaunchTemplatePrivateDnsNameOptionsRequest::builder()
            .set_enable_resource_name_dns_a_record(p.enable_resource_name_dns_a_record.cloned())
            .set_enable_resource_name_dns_aaaa_record(p.enable_resource_name_dns_aaaa_record.cloned())
            .set_hostname_type(choice(&p.hostname_type))
            .build()
    });
    data.set_cpu_options(cpu)
        .set_credit_specification(credits)
        .set_enclave_options(enclave)
        .set_hibernation_options(hibernation)
        .set_iam_instance_profile(profile)
        .set_maintenance_options(recovery)
        .set_metadata_options(metadata)
        .set_monitoring(monitoring)
        .set_private_dns_name_options(names)
}

fn device(d: &BlockDevice) -> ec2::LaunchTemplateBlockDeviceMappingRequest {
    let ebs = d.ebs.as_ref().map(|e| {
        ec2::LaunchTemplateEbsBlockDeviceRequest::builder()
            .set_delete_on_termination(flag(&e.delete_on_termination))
            .set_encrypted(flag(&e.encrypted))
            .set_iops(positive(&e.iops))
            .set_kms_key_id(text(&e.kms_key_id))
            .set_snapshot_id(text(&e.snapshot_id))
            .set_throughput(positive(&e.throughput))
            .set_volume_initialization_rate(positive(&e.volume_initialization_rate))
            .set_volume_size(positive(&e.volume_size))
            .set_volume_type(text(&e.volume_type).map(|t| ec2::VolumeType::from(t.as_str())))
            .build()
    });
    ec2::LaunchTemplateBlockDeviceMappingRequest::builder()
        .set_device_name(text(&d.device_name))
        .set_virtual_name(text(&d.virtual_name))
        .set_no_device(d.no_device.cloned())
        .set_ebs(ebs)
        .build()
}

fn interface(n: &NetworkInterface) -> ec2::LaunchTemplateInstanceNetworkInterfaceSpecificationRequest {
    let address = |ip: &String, primary| {
        ec2::PrivateIpAddressSpecification::builder().private_ip_address(ip).primary(primary).build()
    };
    let primary = text(&n.private_ip_address);
    let further = n.ipv4_addresses.or_default();
    let all: Option<Vec<_>> = (!further.is_empty()).then(|| {
        let rest = further.iter().filter(|ip| Some(*ip) != primary.as_ref()).map(|ip| address(ip, false));
        primary.iter().map(|ip| address(ip, true)).chain(rest).collect()
    });
    let ipv6: Option<Vec<_>> = list(&n.ipv6_addresses)
        .map(|l| l.into_iter().map(|ip| ec2::InstanceIpv6AddressRequest::builder().ipv6_address(ip).build()).collect());
    ec2::LaunchTemplateInstanceNetworkInterfaceSpecificationRequest::builder()
        .set_associate_public_ip_address(flag(&n.associate_public_ip_address))
        .set_delete_on_termination(flag(&n.delete_on_termination))
        .set_description(text(&n.description))
        .set_device_index(n.device_index.cloned())
        .set_interface_type(text(&n.interface_type))
        .set_secondary_private_ip_address_count(positive(&n.ipv4_address_count))
        .set_private_ip_address(primary.filter(|_| all.is_none()))
        .set_private_ip_addresses(all)
        .set_ipv4_prefix_count(positive(&n.ipv4_prefix_count))
        .set_ipv6_address_count(positive(&n.ipv6_address_count))
        .set_ipv6_addresses(ipv6)
        .set_ipv6_prefix_count(positive(&n.ipv6_prefix_count))
        .set_network_card_index(n.network_card_index.cloned())
        .set_network_interface_id(text(&n.network_interface_id))
        .set_primary_ipv6(flag(&n.primary_ipv6))
        .set_groups(list(&n.security_groups))
        .set_subnet_id(text(&n.subnet_id))
        .build()
}

fn placement(p: &Placement) -> ec2::LaunchTemplatePlacementRequest {
    ec2::LaunchTemplatePlacementRequest::builder()
        .set_affinity(text(&p.affinity))
        .set_availability_zone(text(&p.availability_zone))
        .set_group_id(text(&p.group_id))
        .set_group_name(text(&p.group_name))
        .set_host_id(text(&p.host_id))
        .set_host_resource_group_arn(text(&p.host_resource_group_arn))
        .set_partition_number(positive(&p.partition_number))
        .set_spread_domain(text(&p.spread_domain))
        .set_tenancy(choice(&p.tenancy))
        .build()
}

fn market(m: &MarketOptions) -> ec2::LaunchTemplateInstanceMarketOptionsRequest {
    let spot = m.spot_options.as_ref().map(|s| {
        ec2::LaunchTemplateSpotMarketOptionsRequest::builder()
            .set_block_duration_minutes(positive(&s.block_duration_minutes))
            .set_instance_interruption_behavior(choice(&s.instance_interruption_behavior))
            .set_max_price(text(&s.max_price))
            .set_spot_instance_type(choice(&s.spot_instance_type))
            .set_valid_until(s.valid_until.as_deref().and_then(parse_time))
            .build()
    });
    ec2::LaunchTemplateInstanceMarketOptionsRequest::builder()
        .set_market_type(choice(&m.market_type))
        .set_spot_options(spot)
        .build()
}

fn reservation(r: &CapacityReservation) -> ec2::LaunchTemplateCapacityReservationSpecificationRequest {
    let (preference, target) = r.to_api();
    ec2::LaunchTemplateCapacityReservationSpecificationRequest::builder()
        .set_capacity_reservation_preference(preference)
        .set_capacity_reservation_target(target)
        .build()
}

/// Takes a version's data into the state. What the version does not say becomes null; blocks that say nothing stay as
/// they were written, as AWS keeps no trace of them.
pub fn refresh(t: &mut LaunchTemplate, d: &ec2::ResponseLaunchTemplateData) {
    t.block_device_mappings = d.block_device_mappings().iter().map(found_device).collect();
    t.network_interfaces = d.network_interfaces().iter().map(found_interface).collect();
    t.license_specification = d
        .license_specifications()
        .iter()
        .map(|l| License { license_configuration_arn: l.license_configuration_arn().into() })
        .collect();
    t.tag_specifications = d
        .tag_specifications()
        .iter()
        .map(|s| {
            let found = tags::from_ec2(s.tags());
            TagSpecification {
                resource_type: s.resource_type().map(|r| r.as_str()).into(),
                tags: if found.is_empty() { Attr::Null } else { Attr::Known(found) },
            }
        })
        .collect();
    refresh_flag(&mut t.disable_api_stop, d.disable_api_stop().unwrap_or_default());
    refresh_flag(&mut t.disable_api_termination, d.disable_api_termination().unwrap_or_default());
    let found = |attr: &mut Attr<String>, now: Option<&str>| match now {
        None if attr == "" => {}
        now => *attr = now.into(),
    };
    if t.ebs_optimized != "" || d.ebs_optimized().is_some() {
        t.ebs_optimized = unflag(d.ebs_optimized());
    }
    found(&mut t.image_id, d.image_id());
    let shutdown = d.instance_initiated_shutdown_behavior().map(|b| b.as_str());
    found(&mut t.instance_initiated_shutdown_behavior, shutdown);
    found(&mut t.instance_type, d.instance_type().map(|t| t.as_str()));
    found(&mut t.kernel_id, d.kernel_id());
    found(&mut t.key_name, d.key_name());
    found(&mut t.ram_disk_id, d.ram_disk_id());
    found(&mut t.user_data, d.user_data());
    t.security_group_names.refresh(d.security_groups().iter().cloned().collect::<Set<_>>());
    t.vpc_security_group_ids.refresh(d.security_group_ids().iter().cloned().collect::<Set<_>>());
    t.instance_requirements = d.instance_requirements().map(requirements::ec2::from_api);
    t.placement = d.placement().map(found_placement);
    t.instance_market_options = d.instance_market_options().map(found_market);
    t.capacity_reservation_specification = d
        .capacity_reservation_specification()
        .map(|r| CapacityReservation::from_api(r.capacity_reservation_preference(), r.capacity_reservation_target()));
    found_options(t, d);
}

fn found_options(t: &mut LaunchTemplate, d: &ec2::ResponseLaunchTemplateData) {
    t.cpu_options = d.cpu_options().map(|c| CpuOptions {
        amd_sev_snp: c.amd_sev_snp().map(|s| s.as_str()).into(),
        core_count: c.core_count().into(),
        threads_per_core: c.threads_per_core().into(),
    });
    t.credit_specification =
        d.credit_specification().map(|c| CreditSpecification { cpu_credits: c.cpu_credits().into() });
    t.enclave_options = d.enclave_options().map(|e| Enabled { enabled: e.enabled().into() });
    t.hibernation_options = d.hibernation_options().map(|h| Hibernation { configured: h.configured().into() });
    t.iam_instance_profile =
        d.iam_instance_profile().map(|p| InstanceProfile { arn: p.arn().into(), name: p.name().into() });
    t.maintenance_options = d
        .maintenance_options()
        .map(|m| MaintenanceOptions { auto_recovery: m.auto_recovery().map(|r| r.as_str()).into() });
    t.metadata_options = d.metadata_options().map(|m| MetadataOptions {
        http_endpoint: m.http_endpoint().map(|v| v.as_str()).into(),
        http_protocol_ipv6: m.http_protocol_ipv6().map(|v| v.as_str()).into(),
        http_put_response_hop_limit: m.http_put_response_hop_limit().into(),
        http_tokens: m.http_tokens().map(|v| v.as_str()).into(),
        instance_metadata_tags: m.instance_metadata_tags().map(|v| v.as_str()).into(),
    });
    t.monitoring = d.monitoring().map(|m| Enabled { enabled: m.enabled().into() });
    t.private_dns_name_options = d.private_dns_name_options().map(|p| PrivateDnsNameOptions {
        enable_resource_name_dns_a_record: p.enable_resource_name_dns_a_record().into(),
        enable_resource_name_dns_aaaa_record: p.enable_resource_name_dns_aaaa_record().into(),
        hostname_type: p.hostname_type().map(|h| h.as_str()).into(),
    });
}

fn found_device(d: &ec2::LaunchTemplateBlockDeviceMapping) -> BlockDevice {
    BlockDevice {
        device_name: d.device_name().into(),
        ebs: d.ebs().map(|e| Ebs {
            delete_on_termination: unflag(e.delete_on_termination()),
            encrypted: unflag(e.encrypted()),
            iops: e.iops().into(),
            kms_key_id: e.kms_key_id().into(),
            snapshot_id: e.snapshot_id().into(),
            throughput: e.throughput().into(),
            volume_initialization_rate: e.volume_initialization_rate().into(),
            volume_size: e.volume_size().into(),
            volume_type: e.volume_type().map(|t| t.as_str()).into(),
        }),
        no_device: d.no_device().into(),
        virtual_name: d.virtual_name().into(),
    }
}

fn found_interface(n: &ec2::LaunchTemplateInstanceNetworkInterfaceSpecification) -> NetworkInterface {
    let addresses = n.private_ip_addresses().iter();
    let primary = addresses.clone().find(|a| a.primary().unwrap_or_default()).and_then(|a| a.private_ip_address());
    let further = addresses.filter(|a| !a.primary().unwrap_or_default()).filter_map(|a| a.private_ip_address());
    NetworkInterface {
        associate_public_ip_address: unflag(n.associate_public_ip_address()),
        delete_on_termination: unflag(n.delete_on_termination()),
        description: n.description().into(),
        device_index: n.device_index().into(),
        interface_type: n.interface_type().into(),
        ipv4_address_count: n.secondary_private_ip_address_count().into(),
        ipv4_addresses: requirements::reported(further),
        ipv4_prefix_count: n.ipv4_prefix_count().into(),
        ipv6_address_count: n.ipv6_address_count().into(),
        ipv6_addresses: requirements::reported(n.ipv6_addresses().iter().filter_map(|a| a.ipv6_address())),
        ipv6_prefix_count: n.ipv6_prefix_count().into(),
        network_card_index: n.network_card_index().into(),
        network_interface_id: n.network_interface_id().into(),
        primary_ipv6: unflag(n.primary_ipv6()),
        private_ip_address: n.private_ip_address().or(primary).into(),
        security_groups: requirements::reported(n.groups().iter().map(String::as_str)),
        subnet_id: n.subnet_id().into(),
    }
}

fn found_placement(p: &ec2::LaunchTemplatePlacement) -> Placement {
    Placement {
        affinity: p.affinity().into(),
        availability_zone: p.availability_zone().into(),
        group_id: p.group_id().into(),
        group_name: p.group_name().into(),
        host_id: p.host_id().into(),
        host_resource_group_arn: p.host_resource_group_arn().into(),
        partition_number: p.partition_number().into(),
        spread_domain: p.spread_domain().into(),
        tenancy: p.tenancy().map(|t| t.as_str()).into(),
    }
}

fn found_market(m: &ec2::LaunchTemplateInstanceMarketOptions) -> MarketOptions {
    MarketOptions {
        market_type: m.market_type().map(|t| t.as_str()).into(),
        spot_options: m.spot_options().map(|s| SpotOptions {
            block_duration_minutes: s.block_duration_minutes().into(),
            instance_interruption_behavior: s.instance_interruption_behavior().map(|b| b.as_str()).into(),
            max_price: s.max_price().into(),
            spot_instance_type: s.spot_instance_type().map(|t| t.as_str()).into(),
            valid_until: s.valid_until().map(render_time).into(),
        }),
    }
}

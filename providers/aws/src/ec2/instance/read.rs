//! Brings the state of an instance up to date with what AWS reports. What AWS never reports (ephemeral devices, the
//! launch template's version as written) stays as it is.

use super::attributes::Attributes;
use super::{Instance, blocks::*, is_spot, launch, state_name};
use crate::client::Aws;
use crate::ec2::reservation::CapacityReservation;
use crate::ec2::util::{refresh_key, render_time};
use crate::tags::{self, Tags};
use aws_sdk_ec2::types::{self as ec2, Instance as Found};
use gpuform_provider_sdk::prelude::*;

/// Takes all that AWS reports about `found` into the state. Tags that are `inherited` from the launch template are left
/// out as long as they keep their value and nobody wrote their key.
pub async fn refresh(state: &mut Instance, found: &Found, inherited: &Tags, ctx: &Context<Aws>) -> Result<()> {
    let aws = ctx.client();
    let id = found.instance_id().unwrap_or_default();
    // After a create the plan says what was asked for; after an import there is nothing yet.
    let imported = state.ami.is_null() && state.launch_template.is_none();
    let text = |t: Option<&str>| t.unwrap_or_default().to_owned();
    let (attributes, volumes, spot, vpc) = tokio::try_join!(
        Attributes::read(state, found, ctx),
        volumes(aws, found),
        spot_request(aws, found),
        aws.default_vpc(),
    )?;
    state.arn.set(aws.arn("ec2", &format!("instance/{id}")).await?);
    state.ami.set(text(found.image_id()));
    state.instance_type.set(found.instance_type().map(|t| t.as_str()).unwrap_or_default());
    state.instance_state.set(state_name(found));
    state.instance_lifecycle.set(found.instance_lifecycle().map(|l| l.as_str()).unwrap_or_default());
    state.spot_instance_request_id.set(text(found.spot_instance_request_id()));
    state.outpost_arn.set(text(found.outpost_arn()));
    state.key_name.set(text(found.key_name()));
    state.private_dns.set(text(found.private_dns_name()));
    state.public_dns.set(text(found.public_dns_name()));
    state.public_ip.set(text(found.public_ip_address()));
    state.ebs_optimized.set(found.ebs_optimized().unwrap_or_default());
    let on = |m: &ec2::MonitoringState| matches!(m, ec2::MonitoringState::Enabled | ec2::MonitoringState::Pending);
    state.monitoring.set(found.monitoring().and_then(|m| m.state()).is_some_and(on));
    state.hibernation.set(found.hibernation_options().and_then(|h| h.configured()).unwrap_or_default());
    let profile = found.iam_instance_profile().and_then(|p| p.arn()).unwrap_or_default();
    let name = profile.rsplit('/').next().unwrap_or_default();
    if !state.iam_instance_profile.as_deref().is_some_and(|written| written == profile) {
        state.iam_instance_profile.set(name);
    }
    placement(state, found);
    network(state, found, vpc);
    if imported {
        attached_interfaces(state, found);
    }
    options(state, found);
    attributes.into_state(state);
    market(state, found, spot.as_ref());
    devices(state, found, &volumes, aws);
    let mut now = tags::from_ec2(found.tags());
    let written = state.tags.or_default();
    now.retain(|key, value| written.contains_key(key) || inherited.get(key) != Some(value));
    tags::refresh(now, &mut state.tags, &mut state.tags_all, aws);
    template(state, found, imported);
    name_template(state, aws).await?;
    if state.get_password_data.or_default() {
        state.password_data.set(launch::password(aws, id).await?);
    } else if !state.password_data.is_known() {
        state.password_data.set("");
    }
    for unset in [&mut state.force_destroy, &mut state.get_password_data, &mut state.user_data_replace_on_change] {
        if !unset.is_known() {
            unset.set(false);
        }
    }
    Ok(())
}

fn placement(state: &mut Instance, found: &Found) {
    let placement = found.placement();
    let text = |t: Option<&str>| t.unwrap_or_default().to_owned();
    state.availability_zone.set(text(placement.and_then(|p| p.availability_zone())));
    state.placement_group.set(text(placement.and_then(|p| p.group_name())));
    state.placement_group_id.set(text(placement.and_then(|p| p.group_id())));
    let partition = placement.and_then(|p| p.partition_number()).unwrap_or_default();
    state.placement_partition_number.set(partition);
    state.tenancy.set(placement.and_then(|p| p.tenancy()).map(|t| t.as_str()).unwrap_or("default"));
    state.host_id.set(text(placement.and_then(|p| p.host_id())));
    state.host_resource_group_arn.set(text(placement.and_then(|p| p.host_resource_group_arn())));
}

fn network(state: &mut Instance, found: &Found, default_vpc: Option<&str>) {
    let interfaces = found.network_interfaces();
    let index = |i: &ec2::InstanceNetworkInterface| i.attachment().and_then(|a| a.device_index()).unwrap_or_default();
    let primary = interfaces.iter().find(|i| index(i) == 0);
    let ends =
        |i: &ec2::InstanceNetworkInterface| i.attachment().and_then(|a| a.delete_on_termination()).unwrap_or_default();
    state.subnet_id.set(found.subnet_id().unwrap_or_default());
    state.primary_network_interface_id.set(primary.and_then(|i| i.network_interface_id()).unwrap_or_default());
    state
        .private_ip
        .set(found.private_ip_address().or(primary.and_then(|i| i.private_ip_address())).unwrap_or_default());
    let further =
        primary.into_iter().flat_map(|i| i.private_ip_addresses()).filter(|a| !a.primary().unwrap_or_default());
    state
        .secondary_private_ips
        .set(further.filter_map(|a| a.private_ip_address()).map(str::to_owned).collect::<Set<_>>());
    let ipv6: Vec<String> = primary
        .into_iter()
        .flat_map(|i| i.ipv6_addresses())
        .filter_map(|a| a.ipv6_address())
        .map(str::to_owned)
        .collect();
    state
        .enable_primary_ipv6
        .set(primary.into_iter().flat_map(|i| i.ipv6_addresses()).any(|a| a.is_primary_ipv6().unwrap_or_default()));
    state.ipv6_address_count.set(i32::try_from(ipv6.len()).unwrap_or_default());
    // The order of addresses means nothing: as written, if they are the same.
    let same = |old: &Vec<String>| Set::from(old.clone()) == Set::from(ipv6.clone());
    if !state.ipv6_addresses.get().is_some_and(same) {
        state.ipv6_addresses.set(ipv6);
    }
    // The primary interface alone carries the groups of an instance with several.
    let groups = primary.map_or(found.security_groups(), |i| i.groups());
    state.vpc_security_group_ids.set(groups.iter().filter_map(|g| g.group_id()).map(str::to_owned).collect::<Set<_>>());
    let named = found.vpc_id().is_some_and(|v| Some(v) == default_vpc);
    let names = groups.iter().filter_map(|g| g.group_name()).filter(|_| named).map(str::to_owned).collect::<Set<_>>();
    // In another VPC only IDs count, also where they were given as security_groups.
    let kept = !named
        && state.security_groups.get().is_some_and(|s| !s.is_empty() && Some(s) == state.vpc_security_group_ids.get());
    if !kept {
        state.security_groups.set(names);
    }
    state
        .source_dest_check
        .set(primary.and_then(|i| i.source_dest_check()).or(found.source_dest_check()).unwrap_or(true));
    public_address(state, found, primary);
    for block in &mut state.network_interface {
        let id = block.network_interface_id.as_deref();
        let Some(now) = interfaces.iter().find(|i| i.network_interface_id() == id) else { continue };
        block.device_index.set(index(now));
        block.network_card_index.set(now.attachment().and_then(|a| a.network_card_index()).unwrap_or_default());
        block.delete_on_termination.set(ends(now));
    }
    state.primary_network_interface = primary.map(|i| PrimaryNetworkInterface {
        delete_on_termination: Attr::Known(ends(i)),
        network_interface_id: i.network_interface_id().into(),
    });
}

/// After an import: interfaces that outlive the instance existed before it, so a `network_interface` block named them.
fn attached_interfaces(state: &mut Instance, found: &Found) {
    let attached = found.network_interfaces().iter().filter_map(|i| {
        let attachment = i.attachment().filter(|a| a.delete_on_termination() == Some(false))?;
        Some(NetworkInterface {
            delete_on_termination: Attr::Known(false),
            device_index: Attr::Known(attachment.device_index().unwrap_or_default()),
            network_card_index: Attr::Known(attachment.network_card_index().unwrap_or_default()),
            network_interface_id: i.network_interface_id().into(),
        })
    });
    state.network_interface = attached.collect();
}

/// A stopped instance has no address for the moment, and one with an elastic address has lost the one of its launch:
/// neither says that the launch was different.
fn public_address(state: &mut Instance, found: &Found, primary: Option<&ec2::InstanceNetworkInterface>) {
    let owner = primary.and_then(|i| i.association()).map(|a| a.ip_owner_id().unwrap_or_default());
    let now = match owner {
        Some("amazon") => Some(true),
        Some(_) => None,
        None if state_name(found) == "running" => Some(found.public_ip_address().is_some()),
        None => None,
    };
    match now {
        Some(now) => state.associate_public_ip_address.set(now),
        None if !state.associate_public_ip_address.is_known() => {
            state.associate_public_ip_address.set(owner.is_some());
        }
        None => {}
    }
}

fn options(state: &mut Instance, found: &Found) {
    let name = |n: &str| Attr::Known(n.to_owned());
    state.capacity_reservation_specification = found
        .capacity_reservation_specification()
        .map(|s| CapacityReservation::from_api(s.capacity_reservation_preference(), s.capacity_reservation_target()));
    let cpu = found.cpu_options().map(|c| CpuOptions {
        amd_sev_snp: name(c.amd_sev_snp().map(|s| s.as_str()).unwrap_or_default()),
        core_count: c.core_count().into(),
        threads_per_core: c.threads_per_core().into(),
    });
    state.cpu_options.set(cpu.into_iter().collect::<Vec<_>>());
    state.enclave_options =
        found.enclave_options().map(|e| EnclaveOptions { enabled: Attr::Known(e.enabled().unwrap_or_default()) });
    state.maintenance_options = found
        .maintenance_options()
        .map(|m| MaintenanceOptions { auto_recovery: m.auto_recovery().map(|r| r.as_str()).into() });
    state.metadata_options = found.metadata_options().map(|m| MetadataOptions {
        http_endpoint: m.http_endpoint().map(|e| e.as_str()).into(),
        http_protocol_ipv6: name(m.http_protocol_ipv6().map(|e| e.as_str()).unwrap_or("disabled")),
        http_put_response_hop_limit: m.http_put_response_hop_limit().into(),
        http_tokens: m.http_tokens().map(|t| t.as_str()).into(),
        instance_metadata_tags: name(m.instance_metadata_tags().map(|t| t.as_str()).unwrap_or("disabled")),
    });
    state.private_dns_name_options = found.private_dns_name_options().map(|p| PrivateDnsNameOptions {
        enable_resource_name_dns_a_record: Attr::Known(p.enable_resource_name_dns_a_record().unwrap_or_default()),
        enable_resource_name_dns_aaaa_record: Attr::Known(p.enable_resource_name_dns_aaaa_record().unwrap_or_default()),
        hostname_type: p.hostname_type().map(|t| t.as_str()).into(),
    });
}

fn market(state: &mut Instance, found: &Found, request: Option<&ec2::SpotInstanceRequest>) {
    state.instance_market_options = match found.instance_lifecycle() {
        Some(ec2::InstanceLifecycleType::CapacityBlock) => {
            Some(MarketOptions { market_type: "capacity-block".into(), spot_options: None })
        }
        Some(ec2::InstanceLifecycleType::Spot) => Some(MarketOptions {
            market_type: "spot".into(),
            spot_options: request.map(|r| SpotOptions {
                instance_interruption_behavior: r.instance_interruption_behavior().map(|b| b.as_str()).into(),
                max_price: r.spot_price().into(),
                spot_instance_type: r.r#type().map(|t| t.as_str()).into(),
                // One-time requests have an end that nobody asked for.
                valid_until: Attr::Known(
                    r.valid_until()
                        .filter(|_| r.r#type() == Some(&ec2::SpotInstanceType::Persistent))
                        .map(render_time)
                        .unwrap_or_default(),
                ),
            }),
        }),
        _ => None,
    };
}

/// The template that the instance was launched from is in AWS's own tags. A version stays as it was written; after an
/// import it is the number.
fn template(state: &mut Instance, found: &Found, imported: bool) {
    let tag = |key: &str| found.tags().iter().find(|t| t.key() == Some(key)).and_then(|t| t.value());
    let (Some(id), Some(version)) = (tag("aws:ec2launchtemplate:id"), tag("aws:ec2launchtemplate:version")) else {
        return;
    };
    match &mut state.launch_template {
        Some(block) => block.id.set(id),
        None if imported => {
            state.launch_template = Some(LaunchTemplate { id: id.into(), name: Attr::Null, version: version.into() });
        }
        None => {}
    }
}

/// Completes a template that is known by its ID or by its name only.
async fn name_template(state: &mut Instance, aws: &Aws) -> Result<()> {
    let Some(block) = &mut state.launch_template else { return Ok(()) };
    if block.id.is_known() && block.name.is_known() {
        return Ok(());
    }
    let found = match (block.id.as_deref(), block.name.as_deref()) {
        (Some(id), _) => aws.reads.launch_templates.get(id).await,
        (None, Some(name)) => aws.reads.launch_template_names.get(name).await,
        (None, None) => return Ok(()),
    };
    match found {
        Ok(Some(found)) => {
            block.id = found.launch_template_id().into();
            block.name = found.launch_template_name().into();
            Ok(())
        }
        // The template may be gone by now; the instance does not need it any more.
        Err(e) if !e.is_not_found() => Err(e),
        _ => Ok(()),
    }
}

async fn spot_request(aws: &Aws, found: &Found) -> Result<Option<ec2::SpotInstanceRequest>> {
    let Some(id) = found.spot_instance_request_id().filter(|_| is_spot(found)) else { return Ok(None) };
    aws.reads.spot_requests.get(id).await
}

async fn volumes(aws: &Aws, found: &Found) -> Result<Vec<ec2::Volume>> {
    let has_volumes = found.block_device_mappings().iter().any(|m| m.ebs().is_some_and(|e| e.volume_id().is_some()));
    let Some(id) = found.instance_id().filter(|_| has_volumes) else { return Ok(Vec::new()) };
    aws.reads.instance_volumes.all(id).await
}

fn devices(state: &mut Instance, found: &Found, volumes: &[ec2::Volume], aws: &Aws) {
    let shared_tags = state.volume_tags.is_set();
    let (mut root, mut others) = (None, Vec::new());
    let mut found_tags: Vec<Tags> = Vec::new();
    for mapping in found.block_device_mappings() {
        let Some(ebs) = mapping.ebs() else { continue };
        let Some(volume) = volumes.iter().find(|v| v.volume_id() == ebs.volume_id()) else { continue };
        let device = mapping.device_name().unwrap_or_default();
        let now = device_block(volume, device, ebs.delete_on_termination().unwrap_or_default());
        let volume_tags = tags::from_ec2(volume.tags());
        found_tags.push(
            volume_tags.iter().filter(|(k, _)| !aws.ignores_tag(k)).map(|(k, v)| (k.clone(), v.clone())).collect(),
        );
        if found.root_device_name() == Some(device) {
            let old = state.root_block_device.take().unwrap_or_default();
            root = Some(root_block(now, old, volume_tags, volume.kms_key_id(), shared_tags, aws));
        } else {
            let old = state.ebs_block_device.iter().find(|b| b.device_name == device).cloned().unwrap_or_default();
            others.push(ebs_block(now, &old, volume_tags, volume.kms_key_id(), shared_tags, aws));
        }
    }
    state.root_block_device = root;
    state.ebs_block_device = others;
    if shared_tags {
        let written = state.volume_tags.or_default();
        if let Some(different) = found_tags.into_iter().find(|t| *t != written) {
            state.volume_tags.set(different);
        }
    }
}

fn device_block(volume: &ec2::Volume, device: &str, ends: bool) -> EbsBlockDevice {
    EbsBlockDevice {
        delete_on_termination: Attr::Known(ends),
        device_name: device.into(),
        encrypted: Attr::Known(volume.encrypted().unwrap_or_default()),
        iops: Attr::Known(volume.iops().unwrap_or_default()),
        snapshot_id: Attr::Known(volume.snapshot_id().unwrap_or_default().to_owned()),
        throughput: Attr::Known(volume.throughput().unwrap_or_default()),
        volume_id: volume.volume_id().into(),
        volume_size: volume.size().into(),
        volume_type: volume.volume_type().map(|t| t.as_str()).into(),
        ..EbsBlockDevice::default()
    }
}

fn ebs_block(
    mut now: EbsBlockDevice,
    old: &EbsBlockDevice,
    found: Tags,
    key: Option<&str>,
    shared_tags: bool,
    aws: &Aws,
) -> EbsBlockDevice {
    now.kms_key_id = old.kms_key_id.clone();
    refresh_key(&mut now.kms_key_id, key);
    now.tags = old.tags.clone();
    let mut own = old.tags.clone();
    tags::refresh(found, &mut own, &mut now.tags_all, aws);
    if !shared_tags {
        now.tags = own;
    }
    now
}

fn root_block(
    now: EbsBlockDevice,
    old: RootBlockDevice,
    found: Tags,
    key: Option<&str>,
    shared_tags: bool,
    aws: &Aws,
) -> RootBlockDevice {
    let old = EbsBlockDevice { kms_key_id: old.kms_key_id, tags: old.tags, ..EbsBlockDevice::default() };
    let now = ebs_block(now, &old, found, key, shared_tags, aws);
    RootBlockDevice {
        delete_on_termination: now.delete_on_termination,
        device_name: now.device_name,
        encrypted: now.encrypted,
        iops: now.iops,
        kms_key_id: now.kms_key_id,
        tags: now.tags,
        tags_all: now.tags_all,
        throughput: now.throughput,
        volume_id: now.volume_id,
        volume_size: now.volume_size,
        volume_type: now.volume_type,
    }
}

//! Makes an instance: RunInstances with the client token, so that a repeated launch makes one instance, then waits
//! until it runs and sets what a launch cannot.

use super::{Instance, attributes, blocks, find, state_name};
use crate::client::Aws;
use crate::ec2::capacity::{self, Wanted};
use crate::ec2::reservation::CapacityReservation;
use crate::ec2::util::{choice, list, parse_time};
use crate::error::Answer;
use crate::tags;
use aws_sdk_ec2::operation::run_instances::builders::RunInstancesFluentBuilder;
use aws_sdk_ec2::types as ec2;
use gpuform_provider_sdk::prelude::*;
use std::time::{Duration, Instant};

/// How long a new instance profile may be unknown to EC2.
const PROFILE_VISIBLE_WITHIN: Duration = Duration::from_secs(120);

pub async fn launch(plan: &mut Instance, ctx: &Context<Aws>) -> Result<()> {
    let aws = ctx.client();
    let request = request(plan, aws).await?.client_token(ctx.client_token());
    let began = Instant::now();
    let retryable = |e: &Error| {
        began.elapsed() < PROFILE_VISIBLE_WITHIN
            && e.has_code(&["InvalidParameterValue"])
            && e.to_string().contains("Invalid IAM Instance Profile")
    };
    let send = |_| {
        let request = request.clone();
        async move { request.send().await.or_fail("Launching the instance") }
    };
    let made = match ctx.retry(retryable, send).await {
        Ok(made) => made,
        Err(e) => return Err(refused(plan, aws, e).await),
    };
    let Some(id) = made.instances().first().and_then(|i| i.instance_id()).map(str::to_owned) else {
        return Err(Error::new("Launching the instance failed").detail("AWS returned no instance."));
    };
    plan.id.set(id.clone());
    let running = wait_until_running(ctx, &id).await?;
    if plan.launch_template.is_some() {
        keep_inherited_tags(plan, ctx, &running)?;
    } else {
        attributes::of_launch(plan, &running, ctx)?;
    }
    if plan.source_dest_check == false {
        super::change::set_source_dest_check(aws, &id, false).await?;
    }
    tag_volumes(plan, aws, &id).await?;
    if plan.get_password_data.or_default() {
        let password = wait_for_password(ctx, &id).await?;
        plan.password_data.set_if_unknown(password);
    }
    Ok(())
}

/// Remembers the tags that came from the launch template.
fn keep_inherited_tags(plan: &Instance, ctx: &Context<Aws>, found: &ec2::Instance) -> Result<()> {
    let mut inherited = tags::from_ec2(found.tags());
    let ours = plan.tags_all.or_default();
    inherited.retain(|key, _| !ours.contains_key(key) && !ctx.client().ignores_tag(key));
    ctx.set_private(super::INHERITED_TAGS, &inherited)
}

/// The error of a refused launch, with what could be had instead.
async fn refused(plan: &Instance, aws: &Aws, error: Error) -> Error {
    let zone = match plan.subnet_id.as_deref() {
        Some(subnet) => zone_of(aws, subnet).await,
        None => plan.availability_zone.cloned(),
    };
    let Some(instance_type) = plan.instance_type.as_deref() else { return error };
    let market = plan.instance_market_options.as_ref();
    let spot =
        market.is_some_and(|m| m.market_type == "spot" || (!m.market_type.is_known() && m.spot_options.is_some()));
    capacity::explain(aws, error, Wanted { instance_type, zone: zone.as_deref(), spot }).await
}

async fn zone_of(aws: &Aws, subnet: &str) -> Option<String> {
    aws.reads.subnets.get(subnet).await.ok()??.availability_zone
}

/// Waits until the instance runs. One that ends instead is an error with the reason that AWS gives.
pub async fn wait_until_running(ctx: &Context<Aws>, id: &str) -> Result<ec2::Instance> {
    let wait = Wait::until("instance", &["running"]).pending(&["pending", "stopped"]).every(Duration::from_secs(3));
    ctx.wait_for(&wait, || async {
        let Some(found) = find(ctx.client(), id).await? else { return Ok(None) };
        let state = state_name(&found);
        if matches!(state, "shutting-down" | "terminated") {
            let reason = found.state_reason();
            let code = reason.and_then(|r| r.code()).unwrap_or("no reason");
            let message = reason.and_then(|r| r.message()).unwrap_or("AWS gave no further explanation.");
            return Err(Error::new(format!("The instance {id} ended while it was starting"))
                .detail(format!("{code}: {message}"))
                .code(code));
        }
        Ok(Some((state.to_owned(), found)))
    })
    .await
}

async fn wait_for_password(ctx: &Context<Aws>, id: &str) -> Result<String> {
    let wait = Wait::until("instance's password", &["there"]).every(Duration::from_secs(10));
    ctx.wait_for(&wait, || async {
        let password = password(ctx.client(), id).await?;
        Ok(Some((if password.is_empty() { "not there yet" } else { "there" }.to_owned(), password)))
    })
    .await
}

/// The encrypted password of a Windows instance; empty while there is none.
pub async fn password(aws: &Aws, id: &str) -> Result<String> {
    let answer = aws.ec2.get_password_data().instance_id(id).send().await.or_fail("Reading the instance's password")?;
    Ok(answer.password_data().unwrap_or_default().trim().to_owned())
}

/// Gives volumes that have a block of their own their tags; the launch can only tag all alike.
async fn tag_volumes(plan: &Instance, aws: &Aws, id: &str) -> Result<()> {
    let root = plan.root_block_device.iter().map(|b| (None, &b.tags_all));
    let others = plan.ebs_block_device.iter().map(|b| (b.device_name.as_deref(), &b.tags_all));
    let tagged: Vec<_> = root.chain(others).filter(|(_, t)| t.get().is_some_and(|t| !t.is_empty())).collect();
    if tagged.is_empty() || plan.volume_tags.is_set() {
        return Ok(());
    }
    let Some(found) = find(aws, id).await? else { return Ok(()) };
    for (device, tags_all) in tagged {
        let device = device.or(found.root_device_name());
        let mapping = found.block_device_mappings().iter().find(|m| m.device_name() == device);
        if let Some(volume) = mapping.and_then(|m| m.ebs()).and_then(|e| e.volume_id()) {
            tags::update_ec2(aws, volume, &Attr::Null, tags_all).await?;
        }
    }
    Ok(())
}

async fn request(plan: &Instance, aws: &Aws) -> Result<RunInstancesFluentBuilder> {
    let mut tagged: Vec<_> =
        tags::specification(ec2::ResourceType::Instance, &plan.tags_all.or_default()).into_iter().collect();
    tagged.extend(tags::specification(ec2::ResourceType::Volume, &plan.volume_tags.or_default()));
    let request = aws
        .ec2
        .run_instances()
        .min_count(1)
        .max_count(1)
        .set_image_id(plan.ami.cloned())
        .set_instance_type(choice(&plan.instance_type))
        .set_key_name(plan.key_name.cloned())
        .set_tag_specifications((!tagged.is_empty()).then_some(tagged))
        .set_user_data(user_data(plan))
        .set_ebs_optimized(plan.ebs_optimized.cloned())
        .set_disable_api_stop(plan.disable_api_stop.cloned())
        .set_disable_api_termination(plan.disable_api_termination.cloned())
        .set_instance_initiated_shutdown_behavior(choice(&plan.instance_initiated_shutdown_behavior))
        .set_iam_instance_profile(plan.iam_instance_profile.cloned().filter(|n| !n.is_empty()).map(profile))
        .set_monitoring(
            plan.monitoring.cloned().map(|on| ec2::RunInstancesMonitoringEnabled::builder().enabled(on).build()),
        )
        .set_placement(placement(plan))
        .set_block_device_mappings(devices(plan, aws).await?)
        .set_launch_template(plan.launch_template.as_ref().map(template));
    Ok(options(plan, network(plan, request)))
}

/// The options of the machine, each as its block says.
fn options(plan: &Instance, request: RunInstancesFluentBuilder) -> RunInstancesFluentBuilder {
    let cpu = plan.cpu_options.get().and_then(|b| b.first()).map(|b| {
        ec2::CpuOptionsRequest::builder()
            .set_core_count(b.core_count.cloned())
            .set_threads_per_core(b.threads_per_core.cloned())
            .set_amd_sev_snp(choice(&b.amd_sev_snp))
            .build()
    });
    let credits = plan.credit_specification.as_ref().and_then(|b| b.cpu_credits.cloned());
    let enclave = plan.enclave_options.as_ref();
    let enclave = enclave.map(|b| ec2::EnclaveOptionsRequest::builder().set_enabled(b.enabled.cloned()).build());
    let recovery = plan
        .maintenance_options
        .as_ref()
        .map(|b| ec2::InstanceMaintenanceOptionsRequest::builder().set_auto_recovery(choice(&b.auto_recovery)).build());
    let names = plan.private_dns_name_options.as_ref().map(|b| {
        ec2::PrivateDnsNameOptionsRequest::builder()
            .set_hostname_type(choice(&b.hostname_type))
            .set_enable_resource_name_dns_a_record(b.enable_resource_name_dns_a_record.cloned())
            .set_enable_resource_name_dns_aaaa_record(b.enable_resource_name_dns_aaaa_record.cloned())
            .build()
    });
    let hibernation = plan.hibernation.cloned();
    request
        .set_instance_market_options(plan.instance_market_options.as_ref().map(market))
        .set_capacity_reservation_specification(plan.capacity_reservation_specification.as_ref().map(reservation))
        .set_metadata_options(plan.metadata_options.as_ref().map(metadata))
        .set_cpu_options(cpu)
        .set_credit_specification(
            credits.and_then(|c| ec2::CreditSpecificationRequest::builder().cpu_credits(c).build().into()),
        )
        .set_enclave_options(enclave)
        .set_maintenance_options(recovery)
        .set_private_dns_name_options(names)
        .set_hibernation_options(hibernation.map(|on| ec2::HibernationOptionsRequest::builder().configured(on).build()))
}

/// User data in base64, as the API takes it. Text that is base64 already is sent as it is.
pub fn user_data(plan: &Instance) -> Option<String> {
    let text = |text: &str| match aws_smithy_types::base64::decode(text) {
        Ok(_) => text.to_owned(),
        Err(_) => aws_smithy_types::base64::encode(text),
    };
    plan.user_data_base64.cloned().or_else(|| plan.user_data.as_deref().map(text)).filter(|d| !d.is_empty())
}

/// An instance profile, by name or ARN.
pub fn profile(name: String) -> ec2::IamInstanceProfileSpecification {
    let builder = ec2::IamInstanceProfileSpecification::builder();
    if name.starts_with("arn:") { builder.arn(name).build() } else { builder.name(name).build() }
}

fn template(block: &blocks::LaunchTemplate) -> ec2::LaunchTemplateSpecification {
    // The API wants either; after planning only one is known.
    let id = block.id.cloned().filter(|id| !id.is_empty());
    let name = if id.is_some() { None } else { block.name.cloned() };
    ec2::LaunchTemplateSpecification::builder()
        .set_launch_template_id(id)
        .set_launch_template_name(name)
        .set_version(block.version.cloned())
        .build()
}

fn placement(plan: &Instance) -> Option<ec2::Placement> {
    let placement = ec2::Placement::builder()
        .set_availability_zone(plan.availability_zone.cloned())
        .set_group_name(plan.placement_group.cloned().filter(|g| !g.is_empty()))
        .set_group_id(plan.placement_group_id.cloned().filter(|g| !g.is_empty()))
        .set_partition_number(plan.placement_partition_number.cloned().filter(|n| *n != 0))
        .set_tenancy(choice(&plan.tenancy))
        .set_host_id(plan.host_id.cloned())
        .set_host_resource_group_arn(plan.host_resource_group_arn.cloned())
        .build();
    (placement != ec2::Placement::builder().build()).then_some(placement)
}

fn market(block: &blocks::MarketOptions) -> ec2::InstanceMarketOptionsRequest {
    let spot = block.spot_options.as_ref().map(|s| {
        ec2::SpotMarketOptions::builder()
            .set_max_price(s.max_price.cloned().filter(|p| !p.is_empty()))
            .set_spot_instance_type(choice(&s.spot_instance_type))
            .set_instance_interruption_behavior(choice(&s.instance_interruption_behavior))
            .set_valid_until(s.valid_until.as_deref().and_then(parse_time))
            .build()
    });
    let kind = choice(&block.market_type).or(spot.as_ref().map(|_| ec2::MarketType::Spot));
    ec2::InstanceMarketOptionsRequest::builder().set_market_type(kind).set_spot_options(spot).build()
}

/// Which capacity reservations to use, for a launch or a change.
pub fn reservation(block: &CapacityReservation) -> ec2::CapacityReservationSpecification {
    let (preference, target) = block.to_api();
    ec2::CapacityReservationSpecification::builder()
        .set_capacity_reservation_preference(preference)
        .set_capacity_reservation_target(target)
        .build()
}

fn metadata(block: &blocks::MetadataOptions) -> ec2::InstanceMetadataOptionsRequest {
    ec2::InstanceMetadataOptionsRequest::builder()
        .set_http_endpoint(choice(&block.http_endpoint))
        .set_http_protocol_ipv6(choice(&block.http_protocol_ipv6))
        .set_http_put_response_hop_limit(block.http_put_response_hop_limit.cloned())
        .set_http_tokens(choice(&block.http_tokens))
        .set_instance_metadata_tags(choice(&block.instance_metadata_tags))
        .build()
}

/// Subnet, addresses and groups: of the instance, or, where only an interface can say it, of the primary interface.
fn network(plan: &Instance, request: RunInstancesFluentBuilder) -> RunInstancesFluentBuilder {
    let existing = existing_interfaces(plan);
    if !existing.is_empty() {
        return request.set_network_interfaces(Some(existing));
    }
    let ids = list(&plan.vpc_security_group_ids);
    let names = list(&plan.security_groups);
    let addresses = list(&plan.secondary_private_ips);
    let of_interface =
        plan.associate_public_ip_address.is_known() || plan.enable_primary_ipv6.is_known() || addresses.is_some();
    let ipv6: Option<Vec<_>> = plan
        .ipv6_addresses
        .get()
        .filter(|l| !l.is_empty())
        .map(|l| l.iter().map(|a| ec2::InstanceIpv6Address::builder().ipv6_address(a).build()).collect());
    let ipv6_count = plan.ipv6_address_count.cloned().filter(|n| *n > 0);
    if !of_interface {
        return request
            .set_subnet_id(plan.subnet_id.cloned())
            .set_private_ip_address(plan.private_ip.cloned())
            .set_security_group_ids(ids)
            .set_security_groups(names)
            .set_ipv6_address_count(ipv6_count)
            .set_ipv6_addresses(ipv6);
    }
    let mut all: Vec<ec2::PrivateIpAddressSpecification> = Vec::new();
    let mut private_ip = plan.private_ip.cloned();
    if let Some(addresses) = addresses {
        let address = |ip: String, primary| {
            ec2::PrivateIpAddressSpecification::builder().private_ip_address(ip).primary(primary).build()
        };
        all.extend(private_ip.take().map(|ip| address(ip, true)));
        all.extend(addresses.into_iter().map(|ip| address(ip, false)));
    }
    let interface = ec2::InstanceNetworkInterfaceSpecification::builder()
        .device_index(0)
        .set_subnet_id(plan.subnet_id.cloned())
        .set_private_ip_address(private_ip)
        .set_private_ip_addresses((!all.is_empty()).then_some(all))
        .set_groups(ids.or(names))
        .set_associate_public_ip_address(plan.associate_public_ip_address.cloned())
        .set_primary_ipv6(plan.enable_primary_ipv6.cloned())
        .set_ipv6_address_count(ipv6_count)
        .set_ipv6_addresses(ipv6)
        .build();
    request.network_interfaces(interface)
}

fn existing_interfaces(plan: &Instance) -> Vec<ec2::InstanceNetworkInterfaceSpecification> {
    let specification =
        |id: &Attr<String>| ec2::InstanceNetworkInterfaceSpecification::builder().set_network_interface_id(id.cloned());
    let primary = plan.primary_network_interface.iter();
    let primary = primary.map(|b| specification(&b.network_interface_id).device_index(0).build());
    let all = plan.network_interface.iter().map(|b| {
        specification(&b.network_interface_id)
            .set_device_index(b.device_index.cloned())
            .set_network_card_index(b.network_card_index.cloned().filter(|n| *n != 0))
            .set_delete_on_termination(b.delete_on_termination.cloned())
            .build()
    });
    primary.chain(all).collect()
}

/// The volumes and disks that blocks describe.
async fn devices(plan: &Instance, aws: &Aws) -> Result<Option<Vec<ec2::BlockDeviceMapping>>> {
    let mut all = Vec::new();
    if let Some(root) = &plan.root_block_device {
        let ebs = ec2::EbsBlockDevice::builder()
            .set_delete_on_termination(root.delete_on_termination.cloned())
            .set_encrypted(root.encrypted.cloned())
            .set_iops(root.iops.cloned().filter(|n| *n > 0))
            .set_throughput(root.throughput.cloned().filter(|n| *n > 0))
            .set_kms_key_id(root.kms_key_id.cloned().filter(|k| !k.is_empty()))
            .set_volume_size(root.volume_size.cloned())
            .set_volume_type(choice(&root.volume_type))
            .build();
        let device = root_device(plan, aws).await?;
        all.push(ec2::BlockDeviceMapping::builder().device_name(device).ebs(ebs).build());
    }
    for block in &plan.ebs_block_device {
        let ebs = ec2::EbsBlockDevice::builder()
            .set_delete_on_termination(block.delete_on_termination.cloned())
            .set_encrypted(block.encrypted.cloned())
            .set_iops(block.iops.cloned().filter(|n| *n > 0))
            .set_throughput(block.throughput.cloned().filter(|n| *n > 0))
            .set_kms_key_id(block.kms_key_id.cloned().filter(|k| !k.is_empty()))
            .set_snapshot_id(block.snapshot_id.cloned().filter(|s| !s.is_empty()))
            .set_volume_size(block.volume_size.cloned())
            .set_volume_type(choice(&block.volume_type))
            .build();
        let mapping = ec2::BlockDeviceMapping::builder().set_device_name(block.device_name.cloned()).ebs(ebs);
        all.push(mapping.build());
    }
    for block in &plan.ephemeral_block_device {
        let mapping = ec2::BlockDeviceMapping::builder().set_device_name(block.device_name.cloned());
        all.push(match block.no_device.or_default() {
            true => mapping.no_device("").build(),
            false => mapping.set_virtual_name(block.virtual_name.cloned()).build(),
        });
    }
    Ok((!all.is_empty()).then_some(all))
}

/// The name of the image's root device.
async fn root_device(plan: &Instance, aws: &Aws) -> Result<String> {
    let image = match (plan.ami.cloned(), &plan.launch_template) {
        (Some(ami), _) => ami,
        (None, Some(template)) => image_of_template(template, aws).await?,
        (None, None) => return Err(Error::new("No image").detail("Neither ami nor launch_template is given.")),
    };
    let device = aws.reads.images.get(&image).await?.and_then(|i| i.root_device_name);
    device.ok_or_else(|| {
        Error::new("The image has no root device").detail(format!("{image} cannot have a root_block_device.")).at("ami")
    })
}

async fn image_of_template(template: &blocks::LaunchTemplate, aws: &Aws) -> Result<String> {
    let id = template.id.cloned();
    let name = if id.is_some() { None } else { template.name.cloned() };
    let request = aws.ec2.describe_launch_template_versions().set_launch_template_id(id).set_launch_template_name(name);
    let request = request.versions(template.version.unwrap_or("$Default".into())).resolve_alias(true);
    let answer = request.send().await.or_fail("Reading the launch template")?;
    let version = answer.launch_template_versions().first();
    let image = version.and_then(|v| v.launch_template_data()).and_then(|d| d.image_id());
    image.map(str::to_owned).ok_or_else(|| {
        Error::new("No image").detail("The launch template names no image, and ami is not given.").at("ami")
    })
}

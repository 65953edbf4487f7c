//! Updates an instance in place. What only a stopped instance allows (type, user data, capacity reservation) stops it
//! once, makes all those changes, and starts it again if it ran before.

use super::{Instance, blocks, find, launch, state_name};
use crate::client::Aws;
use crate::ec2::capacity::{self, Wanted};
use crate::ec2::util::{choice, filter};
use crate::error::Answer;
use crate::tags::{self, Tags};
use aws_sdk_ec2::primitives::Blob;
use aws_sdk_ec2::types as ec2;
use gpuform_provider_sdk::prelude::*;
use std::time::Duration;

pub async fn update(plan: &mut Instance, prior: &Instance, ctx: &Context<Aws>) -> Result<()> {
    let aws = ctx.client();
    let id = plan.id.require("id")?.clone();
    tags::update_ec2(aws, &id, &prior.tags_all, &plan.tags_all).await?;
    attributes(plan, prior, aws, &id).await?;
    if plan.iam_instance_profile.is_known() && plan.iam_instance_profile != prior.iam_instance_profile {
        set_profile(ctx, &id, &plan.iam_instance_profile.or_default()).await?;
    }
    network(plan, prior, aws, &id).await?;
    options(plan, prior, ctx, &id).await?;
    devices(plan, prior, ctx, &id).await?;
    with_machine_stopped(plan, prior, ctx, &id).await?;
    if plan.get_password_data.or_default() && !prior.get_password_data.or_default() {
        plan.password_data.set(launch::password(aws, &id).await?);
    }
    Ok(())
}

/// The new value of an attribute that is to change.
fn changed<T: Clone + PartialEq>(new: &Attr<T>, old: &Attr<T>) -> Option<T> {
    if new == old { None } else { new.cloned() }
}

fn flag(value: bool) -> ec2::AttributeBooleanValue {
    ec2::AttributeBooleanValue::builder().value(value).build()
}

async fn attributes(plan: &Instance, prior: &Instance, aws: &Aws, id: &str) -> Result<()> {
    let doing = "Changing the instance's attributes";
    let change = || aws.ec2.modify_instance_attribute().instance_id(id);
    if let Some(value) = changed(&plan.disable_api_stop, &prior.disable_api_stop) {
        change().disable_api_stop(flag(value)).send().await.or_fail(doing)?;
    }
    if let Some(value) = changed(&plan.disable_api_termination, &prior.disable_api_termination) {
        change().disable_api_termination(flag(value)).send().await.or_fail(doing)?;
    }
    let shutdown = changed(&plan.instance_initiated_shutdown_behavior, &prior.instance_initiated_shutdown_behavior);
    if let Some(value) = shutdown {
        let value = ec2::AttributeValue::builder().value(value).build();
        change().instance_initiated_shutdown_behavior(value).send().await.or_fail(doing)?;
    }
    match changed(&plan.monitoring, &prior.monitoring) {
        Some(true) => {
            aws.ec2.monitor_instances().instance_ids(id).send().await.or_fail("Switching on detailed monitoring")?;
        }
        Some(false) => {
            aws.ec2.unmonitor_instances().instance_ids(id).send().await.or_fail("Switching off detailed monitoring")?;
        }
        None => {}
    }
    Ok(())
}

/// Attaches, replaces or removes the instance profile.
async fn set_profile(ctx: &Context<Aws>, id: &str, name: &str) -> Result<()> {
    let aws = ctx.client();
    let associations = aws.ec2.describe_iam_instance_profile_associations().filters(filter("instance-id", id));
    let associations = associations.send().await.or_fail("Reading the instance's profile")?;
    let current = associations
        .iam_instance_profile_associations()
        .iter()
        .find(|a| a.state().is_some_and(|s| matches!(s.as_str(), "associated" | "associating")))
        .and_then(|a| a.association_id());
    if name.is_empty() {
        if let Some(association) = current {
            let removed = aws.ec2.disassociate_iam_instance_profile().association_id(association).send().await;
            removed.or_fail("Removing the instance's profile")?;
        }
        return Ok(());
    }
    let profile = launch::profile(name.to_owned());
    let unknown =
        |e: &Error| e.has_code(&["InvalidParameterValue"]) && e.to_string().contains("Invalid IAM Instance Profile");
    let set = |_| {
        let profile = profile.clone();
        async move {
            let doing = "Changing the instance's profile";
            match current {
                Some(association) => {
                    let request = aws.ec2.replace_iam_instance_profile_association().association_id(association);
                    request.iam_instance_profile(profile).send().await.or_fail(doing).map(drop)
                }
                None => {
                    let request = aws.ec2.associate_iam_instance_profile().instance_id(id);
                    request.iam_instance_profile(profile).send().await.or_fail(doing).map(drop)
                }
            }
        }
    };
    ctx.retry(unknown, set).await
}

/// Sets whether the primary interface drops packets for others.
pub async fn set_source_dest_check(aws: &Aws, id: &str, on: bool) -> Result<()> {
    let change = aws.ec2.modify_instance_attribute().instance_id(id).source_dest_check(flag(on));
    change.send().await.or_fail("Changing the source/destination check").map(drop)
}

async fn network(plan: &Instance, prior: &Instance, aws: &Aws, id: &str) -> Result<()> {
    let interface = prior.primary_network_interface_id.or_default();
    if let Some(groups) = changed(&plan.vpc_security_group_ids, &prior.vpc_security_group_ids).filter(|g| !g.is_empty())
    {
        let change = aws.ec2.modify_network_interface_attribute().network_interface_id(&interface);
        change.set_groups(Some(groups.into_vec())).send().await.or_fail("Changing the instance's security groups")?;
    }
    if let Some(on) = changed(&plan.source_dest_check, &prior.source_dest_check) {
        if interface.is_empty() {
            set_source_dest_check(aws, id, on).await?;
        } else {
            let change = aws.ec2.modify_network_interface_attribute().network_interface_id(&interface);
            change.source_dest_check(flag(on)).send().await.or_fail("Changing the source/destination check")?;
        }
    }
    if let Some(new) = changed(&plan.secondary_private_ips, &prior.secondary_private_ips) {
        let old = prior.secondary_private_ips.or_default();
        let gone: Vec<String> = old.without(&new).cloned().collect();
        let added: Vec<String> = new.without(&old).cloned().collect();
        if !gone.is_empty() {
            let request = aws.ec2.unassign_private_ip_addresses().network_interface_id(&interface);
            request.set_private_ip_addresses(Some(gone)).send().await.or_fail("Removing private addresses")?;
        }
        if !added.is_empty() {
            let request = aws.ec2.assign_private_ip_addresses().network_interface_id(&interface);
            request.set_private_ip_addresses(Some(added)).send().await.or_fail("Adding private addresses")?;
        }
    }
    Ok(())
}

async fn options(plan: &Instance, prior: &Instance, ctx: &Context<Aws>, id: &str) -> Result<()> {
    let aws = ctx.client();
    if let Some(m) = plan.metadata_options.as_ref().filter(|m| Some(*m) != prior.metadata_options.as_ref()) {
        let request = aws
            .ec2
            .modify_instance_metadata_options()
            .instance_id(id)
            .set_http_endpoint(choice(&m.http_endpoint))
            .set_http_protocol_ipv6(choice(&m.http_protocol_ipv6))
            .set_http_put_response_hop_limit(m.http_put_response_hop_limit.cloned())
            .set_http_tokens(choice(&m.http_tokens))
            .set_instance_metadata_tags(choice(&m.instance_metadata_tags));
        request.send().await.or_fail("Changing the metadata options")?;
        wait_for_metadata(ctx, id).await?;
    }
    if let Some(m) = plan.maintenance_options.as_ref().filter(|m| Some(*m) != prior.maintenance_options.as_ref()) {
        let request = aws.ec2.modify_instance_maintenance_options().instance_id(id);
        let request = request.set_auto_recovery(choice(&m.auto_recovery));
        request.send().await.or_fail("Changing the maintenance options")?;
    }
    let names = plan.private_dns_name_options.as_ref();
    if let Some(p) = names.filter(|p| Some(*p) != prior.private_dns_name_options.as_ref()) {
        let request = aws
            .ec2
            .modify_private_dns_name_options()
            .instance_id(id)
            .set_enable_resource_name_dns_a_record(p.enable_resource_name_dns_a_record.cloned())
            .set_enable_resource_name_dns_aaaa_record(p.enable_resource_name_dns_aaaa_record.cloned());
        request.send().await.or_fail("Changing the private DNS names")?;
    }
    let credits = plan.credit_specification.as_ref().and_then(|c| c.cpu_credits.cloned());
    if let Some(credits) = credits.filter(|_| plan.credit_specification != prior.credit_specification) {
        let specification =
            ec2::InstanceCreditSpecificationRequest::builder().instance_id(id).cpu_credits(credits).build();
        let request = aws.ec2.modify_instance_credit_specification();
        request.instance_credit_specifications(specification).send().await.or_fail("Changing the CPU credits")?;
    }
    Ok(())
}

async fn wait_for_metadata(ctx: &Context<Aws>, id: &str) -> Result<()> {
    let wait = Wait::until("metadata options", &["applied"]);
    ctx.wait_for(&wait, || async {
        let found = find(ctx.client(), id).await?;
        let pending = |o: &ec2::InstanceMetadataOptionsState| o.as_str() == "pending";
        Ok(found.map(|i| {
            let waiting = i.metadata_options().and_then(|m| m.state()).is_some_and(pending);
            (if waiting { "pending" } else { "applied" }.to_owned(), ())
        }))
    })
    .await
}

/// A volume of the instance before and after.
struct Device<'a> {
    volume: String,
    name: String,
    size: (&'a Attr<i32>, &'a Attr<i32>),
    kind: (&'a Attr<String>, &'a Attr<String>),
    iops: (&'a Attr<i32>, &'a Attr<i32>),
    throughput: (&'a Attr<i32>, &'a Attr<i32>),
    ends: (&'a Attr<bool>, &'a Attr<bool>),
    tags_all: (&'a Attr<Tags>, &'a Attr<Tags>),
}

fn pairs<'a>(plan: &'a Instance, prior: &'a Instance) -> Vec<Device<'a>> {
    let mut all = Vec::new();
    if let (Some(old), Some(new)) = (&prior.root_block_device, &plan.root_block_device) {
        all.push(Device {
            volume: old.volume_id.or_default(),
            name: old.device_name.or_default(),
            size: (&old.volume_size, &new.volume_size),
            kind: (&old.volume_type, &new.volume_type),
            iops: (&old.iops, &new.iops),
            throughput: (&old.throughput, &new.throughput),
            ends: (&old.delete_on_termination, &new.delete_on_termination),
            tags_all: (&old.tags_all, &new.tags_all),
        });
    }
    for new in &plan.ebs_block_device {
        let Some(old) =
            prior.ebs_block_device.iter().find(|b: &&blocks::EbsBlockDevice| b.device_name == new.device_name)
        else {
            continue;
        };
        all.push(Device {
            volume: old.volume_id.or_default(),
            name: old.device_name.or_default(),
            size: (&old.volume_size, &new.volume_size),
            kind: (&old.volume_type, &new.volume_type),
            iops: (&old.iops, &new.iops),
            throughput: (&old.throughput, &new.throughput),
            ends: (&old.delete_on_termination, &new.delete_on_termination),
            tags_all: (&old.tags_all, &new.tags_all),
        });
    }
    all
}

async fn devices(plan: &Instance, prior: &Instance, ctx: &Context<Aws>, id: &str) -> Result<()> {
    let aws = ctx.client();
    for device in pairs(plan, prior) {
        modify_volume(ctx, &device).await?;
        if let Some(ends) = changed(device.ends.1, device.ends.0) {
            let ebs = ec2::EbsInstanceBlockDeviceSpecification::builder().delete_on_termination(ends).build();
            let mapping = ec2::InstanceBlockDeviceMappingSpecification::builder().device_name(&device.name).ebs(ebs);
            let change = aws.ec2.modify_instance_attribute().instance_id(id).block_device_mappings(mapping.build());
            change.send().await.or_fail("Changing whether a volume ends with the instance")?;
        }
        if plan.volume_tags.is_set() || prior.volume_tags.is_set() {
            if plan.volume_tags != prior.volume_tags {
                // What the volume has now, so that tags leave with the argument that gave them.
                tags::update_ec2(aws, &device.volume, &prior.volume_tags, &plan.volume_tags).await?;
            }
        } else if device.tags_all.1.is_known() {
            tags::update_ec2(aws, &device.volume, device.tags_all.0, device.tags_all.1).await?;
        }
    }
    Ok(())
}

async fn modify_volume(ctx: &Context<Aws>, device: &Device<'_>) -> Result<()> {
    let (size, kind) = (changed(device.size.1, device.size.0), changed(device.kind.1, device.kind.0));
    let iops = changed(device.iops.1, device.iops.0).filter(|n| *n > 0);
    let throughput = changed(device.throughput.1, device.throughput.0).filter(|n| *n > 0);
    if size.is_none() && kind.is_none() && iops.is_none() && throughput.is_none() {
        return Ok(());
    }
    let request = ctx
        .client()
        .ec2
        .modify_volume()
        .volume_id(&device.volume)
        .set_size(size)
        .set_volume_type(kind.as_deref().map(ec2::VolumeType::from))
        .set_iops(iops)
        .set_throughput(throughput);
    request.send().await.or_fail("Changing the volume")?;
    crate::ec2::ebs_volume::wait_until_modified(ctx, &device.volume).await
}

/// Type, user data and capacity reservation can only be changed while the machine is stopped.
async fn with_machine_stopped(plan: &Instance, prior: &Instance, ctx: &Context<Aws>, id: &str) -> Result<()> {
    let aws = ctx.client();
    let kind = changed(&plan.instance_type, &prior.instance_type);
    let data = super::changes_user_data(plan, prior);
    let reservation = plan.capacity_reservation_specification.as_ref();
    let reservation = reservation.filter(|r| Some(*r) != prior.capacity_reservation_specification.as_ref());
    if kind.is_none() && !data && reservation.is_none() {
        return Ok(());
    }
    let ran = find(aws, id).await?.is_some_and(|i| matches!(state_name(&i), "pending" | "running"));
    stop(ctx, id).await?;
    if let Some(kind) = &kind {
        let value = ec2::AttributeValue::builder().value(kind.as_str()).build();
        let change = aws.ec2.modify_instance_attribute().instance_id(id).instance_type(value);
        change.send().await.or_fail("Changing the instance's type")?;
    }
    if data {
        // The API takes user data in base64 here too, and the client encodes blobs.
        let bytes = aws_smithy_types::base64::decode(launch::user_data(plan).unwrap_or_default()).unwrap_or_default();
        let value = ec2::SecureBlobAttributeValue::builder().value(Blob::new(bytes)).build();
        let change = aws.ec2.modify_instance_attribute().instance_id(id).user_data(value);
        change.send().await.or_fail("Changing the instance's user data")?;
    }
    if let Some(block) = reservation {
        let change = aws.ec2.modify_instance_capacity_reservation_attributes().instance_id(id);
        let change = change.capacity_reservation_specification(launch::reservation(block));
        change.send().await.or_fail("Changing the instance's capacity reservation")?;
    }
    if !ran {
        return Ok(());
    }
    if let Err(e) = aws.ec2.start_instances().instance_ids(id).send().await.or_fail("Starting the instance") {
        let e = e.also("The instance has been changed but stays stopped; it can be started when there is capacity.");
        let instance_type = plan.instance_type.as_deref().unwrap_or_default();
        let wanted = Wanted {
            instance_type,
            zone: prior.availability_zone.as_deref(),
            spot: prior.instance_lifecycle == "spot",
        };
        return Err(capacity::explain(aws, e, wanted).await);
    }
    launch::wait_until_running(ctx, id).await.map(drop)
}

/// Stops the instance, if it runs, and waits until it is stopped.
pub async fn stop(ctx: &Context<Aws>, id: &str) -> Result<()> {
    let aws = ctx.client();
    aws.ec2.stop_instances().instance_ids(id).send().await.or_fail("Stopping the instance")?;
    let wait = Wait::until("instance", &["stopped"]).pending(&["pending", "running", "stopping"]);
    let wait = wait.every(Duration::from_secs(5));
    ctx.wait_for(&wait, || async { Ok(find(aws, id).await?.map(|i| (state_name(&i).to_owned(), ()))) }).await
}

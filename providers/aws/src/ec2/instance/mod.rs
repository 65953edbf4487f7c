//! `aws_instance`. `blocks.rs` has its blocks, `launch.rs` makes one (RunInstances), `read.rs` brings the state up to
//! date, `change.rs` updates in place, here are its arguments, its plan and its end.

mod attributes;
mod blocks;
mod change;
mod launch;
mod read;

use crate::client::Aws;
use crate::ec2::reservation::CapacityReservation;
use crate::ec2::util::filter;
use crate::error::Answer;
use crate::tags::{self, Tags};
use aws_sdk_ec2::types::{AttributeBooleanValue, Instance as Found, InstanceLifecycleType};
use blocks::*;
use gpuform_provider_sdk::prelude::*;

/// An EC2 instance.
#[derive(Model, Clone, PartialEq, Default, Debug)]
pub struct Instance {
    /// The instance's ID.
    #[attr(optional, computed)]
    pub id: Attr<String>,
    /// The instance's ARN.
    #[attr(computed)]
    pub arn: Attr<String>,
    /// The image to boot; needed unless a launch template gives it.
    #[attr(optional, computed, force_new)]
    pub ami: Attr<String>,
    /// Whether the primary interface gets a public IPv4 address; as the subnet says unless given.
    #[attr(optional, computed, force_new)]
    pub associate_public_ip_address: Attr<bool>,
    /// The zone.
    #[attr(optional, computed, force_new)]
    pub availability_zone: Attr<String>,
    /// Which capacity reservations the instance may use.
    #[block(computed)]
    pub capacity_reservation_specification: Option<CapacityReservation>,
    /// Cores and threads.
    #[block(computed, max = 1)]
    pub cpu_options: Attr<Vec<CpuOptions>>,
    /// CPU credits of a burstable instance.
    #[block(computed)]
    pub credit_specification: Option<CreditSpecification>,
    /// Whether the instance is protected from being stopped.
    #[attr(optional, computed)]
    pub disable_api_stop: Attr<bool>,
    /// Whether the instance is protected from being terminated.
    #[attr(optional, computed)]
    pub disable_api_termination: Attr<bool>,
    /// Further volumes.
    #[block(nesting = "set", computed)]
    pub ebs_block_device: Vec<EbsBlockDevice>,
    /// Whether the type's dedicated throughput to EBS is used.
    #[attr(optional, computed, force_new)]
    pub ebs_optimized: Attr<bool>,
    /// Whether the primary interface has a primary IPv6 address.
    #[attr(optional, computed, force_new)]
    pub enable_primary_ipv6: Attr<bool>,
    /// Nitro Enclaves.
    #[block(computed, force_new)]
    pub enclave_options: Option<EnclaveOptions>,
    /// Disks of the host.
    #[block(nesting = "set", computed, force_new)]
    pub ephemeral_block_device: Vec<EphemeralBlockDevice>,
    /// Whether destroying lifts the protections from being stopped and terminated.
    #[attr(optional, default = false)]
    pub force_destroy: Attr<bool>,
    /// Whether to wait for the Windows password and keep it, encrypted, in `password_data`.
    #[attr(optional, default = false)]
    pub get_password_data: Attr<bool>,
    /// Whether the instance can hibernate.
    #[attr(optional, computed, force_new)]
    pub hibernation: Attr<bool>,
    /// The dedicated host.
    #[attr(optional, computed, force_new)]
    pub host_id: Attr<String>,
    /// The resource group of dedicated hosts.
    #[attr(optional, computed, force_new, conflicts_with = ["host_id"])]
    pub host_resource_group_arn: Attr<String>,
    /// The name of the instance profile.
    #[attr(optional, computed)]
    pub iam_instance_profile: Attr<String>,
    /// What a shutdown from within does: `stop` or `terminate`.
    #[attr(optional, computed, validate = one_of(["stop", "terminate"]))]
    pub instance_initiated_shutdown_behavior: Attr<String>,
    /// `spot`, `scheduled`, `capacity-block`, or empty for on demand.
    #[attr(computed)]
    pub instance_lifecycle: Attr<String>,
    /// How the instance is bought: spot or in a capacity block.
    #[block(computed, force_new)]
    pub instance_market_options: Option<MarketOptions>,
    /// `running`, `stopped`, …
    #[attr(computed)]
    pub instance_state: Attr<String>,
    /// The type; needed unless a launch template gives it. A change stops the instance and starts it again.
    #[attr(optional, computed)]
    pub instance_type: Attr<String>,
    /// How many IPv6 addresses the primary interface gets from the subnet.
    #[attr(optional, computed, force_new, conflicts_with = ["ipv6_addresses"])]
    pub ipv6_address_count: Attr<i32>,
    /// The IPv6 addresses of the primary interface.
    #[attr(optional, computed, force_new)]
    pub ipv6_addresses: Attr<Vec<String>>,
    /// The key pair for logging in.
    #[attr(optional, computed, force_new)]
    pub key_name: Attr<String>,
    /// A launch template that gives what the configuration does not.
    #[block(at_least_one_of = ["ami", "launch_template"])]
    pub launch_template: Option<LaunchTemplate>,
    /// Recovery when the host fails.
    #[block(computed)]
    pub maintenance_options: Option<MaintenanceOptions>,
    /// The instance metadata service.
    #[block(computed)]
    pub metadata_options: Option<MetadataOptions>,
    /// Whether metrics come every minute.
    #[attr(optional, computed)]
    pub monitoring: Attr<bool>,
    /// Existing network interfaces to attach.
    #[block(nesting = "set", computed, conflicts_with = ["subnet_id", "associate_public_ip_address", "private_ip", "secondary_private_ips", "vpc_security_group_ids", "security_groups", "ipv6_addresses", "ipv6_address_count", "source_dest_check"])]
    pub network_interface: Vec<NetworkInterface>,
    /// The Outpost.
    #[attr(computed)]
    pub outpost_arn: Attr<String>,
    /// The Windows password, encrypted with the key pair, in base64.
    #[attr(computed)]
    pub password_data: Attr<String>,
    /// The name of the placement group.
    #[attr(optional, computed, force_new)]
    pub placement_group: Attr<String>,
    /// The ID of the placement group.
    #[attr(optional, computed, force_new, conflicts_with = ["placement_group"])]
    pub placement_group_id: Attr<String>,
    /// The partition of the placement group.
    #[attr(optional, computed, force_new)]
    pub placement_partition_number: Attr<i32>,
    /// The existing network interface that becomes the primary one.
    #[block(computed)]
    pub primary_network_interface: Option<PrimaryNetworkInterface>,
    /// The primary network interface.
    #[attr(computed)]
    pub primary_network_interface_id: Attr<String>,
    /// The private DNS name.
    #[attr(computed)]
    pub private_dns: Attr<String>,
    /// The instance's private DNS names.
    #[block(computed)]
    pub private_dns_name_options: Option<PrivateDnsNameOptions>,
    /// The private IPv4 address.
    #[attr(optional, computed, force_new, validate = ip_address())]
    pub private_ip: Attr<String>,
    /// The public DNS name.
    #[attr(computed, recompute_on = ["instance_type", "user_data", "user_data_base64", "capacity_reservation_specification"])]
    pub public_dns: Attr<String>,
    /// The public IPv4 address.
    #[attr(computed, recompute_on = ["instance_type", "user_data", "user_data_base64", "capacity_reservation_specification"])]
    pub public_ip: Attr<String>,
    /// The volume that the instance boots from.
    #[block(computed)]
    pub root_block_device: Option<RootBlockDevice>,
    /// Further private IPv4 addresses of the primary interface.
    #[attr(optional, computed)]
    pub secondary_private_ips: Attr<Set<String>>,
    /// Names of security groups, in the default VPC.
    #[attr(optional, computed, recompute_on = ["vpc_security_group_ids"])]
    pub security_groups: Attr<Set<String>>,
    /// Whether packets for others are dropped; `false` for routers.
    #[attr(optional, computed)]
    pub source_dest_check: Attr<bool>,
    /// The spot request of a spot instance.
    #[attr(computed)]
    pub spot_instance_request_id: Attr<String>,
    /// The subnet.
    #[attr(optional, computed, force_new)]
    pub subnet_id: Attr<String>,
    /// Tags.
    #[attr(optional)]
    pub tags: Attr<Tags>,
    /// Tags with the provider's default tags.
    #[attr(optional, computed)]
    pub tags_all: Attr<Tags>,
    /// `default`, `dedicated` or `host`.
    #[attr(optional, computed, force_new, validate = one_of(["default", "dedicated", "host"]))]
    pub tenancy: Attr<String>,
    /// User data as text. A change stops the instance and starts it again, unless `user_data_replace_on_change`.
    #[attr(optional, computed, conflicts_with = ["user_data_base64"], validate = length(0..=16384))]
    pub user_data: Attr<String>,
    /// User data in base64, for what is not text.
    #[attr(optional, computed)]
    pub user_data_base64: Attr<String>,
    /// Whether a change of the user data replaces the instance.
    #[attr(optional, default = false)]
    pub user_data_replace_on_change: Attr<bool>,
    /// Tags of all volumes made with the instance.
    #[attr(optional)]
    pub volume_tags: Attr<Tags>,
    /// Security groups.
    #[attr(optional, computed)]
    pub vpc_security_group_ids: Attr<Set<String>>,
    #[timeouts(create = "10m", read = "15m", update = "10m", delete = "20m")]
    pub timeouts: Timeouts,
}

/// Private data: the tags that the launch template gave the instance, which are no drift.
const INHERITED_TAGS: &str = "inherited_tags";

impl Resource for Instance {
    type Client = Aws;
    const TYPE: &'static str = "aws_instance";
    const VERSION: i64 = 2;

    async fn create(&mut self, ctx: &Context<Aws>) -> Result<()> {
        launch::launch(self, ctx).await
    }

    async fn read(mut self, ctx: &Context<Aws>) -> Result<Option<Self>> {
        let id = self.id.require("id")?.clone();
        ctx.client().reads.sees_instance(&id);
        let Some(found) = find(ctx.client(), &id).await?.filter(|i| !ended(i)) else { return Ok(None) };
        let inherited: Tags = ctx.private(INHERITED_TAGS).unwrap_or_default();
        read::refresh(&mut self, &found, &inherited, ctx).await?;
        Ok(Some(self))
    }

    async fn update(&mut self, prior: &Self, ctx: &Context<Aws>) -> Result<()> {
        change::update(self, prior, ctx).await
    }

    async fn delete(self, ctx: &Context<Aws>) -> Result<()> {
        let aws = ctx.client();
        let id = self.id.require("id")?;
        if self.force_destroy.or_default() {
            unprotect(aws, id).await?;
        }
        // A persistent spot request would launch another instance when this one ends.
        if let Some(request) = self.spot_instance_request_id.as_deref().filter(|r| !r.is_empty()) {
            let cancelled = aws.ec2.cancel_spot_instance_requests().spot_instance_request_ids(request).send().await;
            match cancelled.or_fail("Cancelling the spot request") {
                Err(e) if !e.is_not_found() => return Err(e),
                _ => {}
            }
        }
        let ending = aws.ec2.terminate_instances().instance_ids(id).send().await;
        if let Err(e) = ending.or_fail("Terminating the instance") {
            return Err(if e.has_code(&["OperationNotPermitted"]) {
                e.also(
                    "Set disable_api_termination and disable_api_stop to false and apply, or set force_destroy to true.",
                )
            } else {
                e
            });
        }
        let wait = Wait::until_gone("instance").every(std::time::Duration::from_secs(5));
        ctx.wait_until_gone(&wait, || async {
            let found = find(aws, id).await?.filter(|i| state_name(i) != "terminated");
            Ok(found.map(|i| (state_name(&i).to_owned(), ())))
        })
        .await
    }

    async fn modify_plan(plan: &mut Plan<'_, Self>) -> Result<()> {
        let client = plan.client();
        tags::plan(&plan.planned.tags, &mut plan.planned.tags_all, client);
        plan_volume_tags(plan, client);
        plan_user_data(plan);
        plan_devices(plan);
        plan_type(plan);
        if plan.config.security_groups.is_set()
            && plan.prior.as_ref().is_some_and(|p| p.security_groups != plan.planned.security_groups)
        {
            plan.replace("security_groups");
        }
        plan_template(plan).await
    }

    fn validate(&self, problems: &mut Problems) {
        let template = self.launch_template.as_ref();
        if template.is_none() && self.instance_type.is_null() {
            problems.error(
                "instance_type",
                "Missing instance type",
                "Without a launch_template, instance_type is needed.",
            );
        }
        if template.is_some_and(|t| t.id.is_set() && t.name.is_set()) {
            problems.error("launch_template", "Launch template named twice", "Give either its id or its name.");
        }
        if template.is_some_and(|t| t.id.is_null() && t.name.is_null()) {
            problems.error("launch_template", "Launch template not named", "Give its id or its name.");
        }
        if self.volume_tags.is_set() {
            let root = self.root_block_device.as_ref().is_some_and(|b| b.tags.is_set());
            if root || self.ebs_block_device.iter().any(|b| b.tags.is_set()) {
                problems.error(
                    "volume_tags",
                    "Volume tags given twice",
                    "Tags of volumes are either in volume_tags, for all alike, or in the blocks of the volumes.",
                );
            }
        }
    }

    async fn find_by_token(&self, token: &str, ctx: &Context<Aws>) -> Result<Option<Self>> {
        let aws = ctx.client();
        let answer = aws.ec2.describe_instances().filters(filter("client-token", token)).send().await;
        let answer = answer.or_fail("Looking for the instance of an interrupted launch")?;
        let mut instances = answer.reservations().iter().flat_map(|r| r.instances());
        let Some(found) = instances.find(|i| !ended(i)) else { return Ok(None) };
        let mut state = self.clone();
        state.id.set(found.instance_id().unwrap_or_default());
        read::refresh(&mut state, found, &Tags::new(), ctx).await?;
        Ok(Some(state))
    }
}

pub use change::stop;

/// Waits until volumes can be attached to the instance: until it runs, or is stopped.
pub async fn wait_until_attachable(ctx: &Context<Aws>, id: &str) -> Result<()> {
    let wait = Wait::until("instance", &["running", "stopped"]).pending(&["pending", "stopping"]);
    ctx.wait_for(&wait, || async { Ok(find(ctx.client(), id).await?.map(|i| (state_name(&i).to_owned(), ()))) }).await
}

/// The instance with this ID, in whatever state.
async fn find(aws: &Aws, id: &str) -> Result<Option<Found>> {
    aws.reads.instances.get(id).await
}

fn state_name(instance: &Found) -> &str {
    instance.state().and_then(|s| s.name()).map(|n| n.as_str()).unwrap_or_default()
}

fn ended(instance: &Found) -> bool {
    matches!(state_name(instance), "shutting-down" | "terminated")
}

fn is_spot(instance: &Found) -> bool {
    instance.instance_lifecycle() == Some(&InstanceLifecycleType::Spot)
}

/// Lifts the protections, so that the instance can be terminated.
async fn unprotect(aws: &Aws, id: &str) -> Result<()> {
    let off = || AttributeBooleanValue::builder().value(false).build();
    let change = aws.ec2.modify_instance_attribute().instance_id(id).disable_api_termination(off());
    change.send().await.or_fail("Lifting the instance's protection from being terminated")?;
    let change = aws.ec2.modify_instance_attribute().instance_id(id).disable_api_stop(off());
    change.send().await.or_fail("Lifting the instance's protection from being stopped").map(drop)
}

/// `tags_all` of volumes that have a block of their own: its tags and the provider's default tags.
fn plan_volume_tags(plan: &mut Plan<'_, Instance>, client: Option<&Aws>) {
    let shared = plan.planned.volume_tags.is_set();
    // With tags for all volumes alike, the tags of each stay as they are unless those change.
    let prior = plan.prior.as_ref().filter(|p| p.volume_tags == plan.planned.volume_tags);
    let set = |tags: &Attr<Tags>, all: &mut Attr<Tags>, old: Option<&Attr<Tags>>| {
        if shared {
            *all = old.cloned().unwrap_or(Attr::Unknown);
        } else {
            tags::plan(tags, all, client);
        }
    };
    if let (Some(_), Some(block)) = (&plan.config.root_block_device, &mut plan.planned.root_block_device) {
        let old = prior.and_then(|p| p.root_block_device.as_ref());
        set(&block.tags, &mut block.tags_all, old.map(|b| &b.tags_all));
    }
    if plan.config.ebs_block_device.is_empty() {
        return;
    }
    for block in &mut plan.planned.ebs_block_device {
        let old = prior.and_then(|p| p.ebs_block_device.iter().find(|b| b.device_name == block.device_name));
        set(&block.tags, &mut block.tags_all, old.map(|b| &b.tags_all));
    }
}

/// User data is either text or base64; one that the configuration does not use is null.
fn plan_user_data(plan: &mut Plan<'_, Instance>) {
    if plan.config.user_data.is_set() {
        plan.planned.user_data_base64 = Attr::Null;
    } else if plan.config.user_data_base64.is_set() {
        plan.planned.user_data = Attr::Null;
    }
    let Some(prior) = &plan.prior else { return };
    if changes_user_data(&plan.planned, prior) && plan.planned.user_data_replace_on_change.or_default() {
        plan.replace(if plan.config.user_data.is_set() { "user_data" } else { "user_data_base64" });
    }
}

/// Whether the user data itself changes, not only from text to base64 or back.
fn changes_user_data(plan: &Instance, prior: &Instance) -> bool {
    plan.user_data.is_unknown()
        || plan.user_data_base64.is_unknown()
        || launch::user_data(plan) != launch::user_data(prior)
}

/// Volumes are recognised by their device: size, type, speed, tags and end change in place; the rest, a smaller size,
/// and devices that come or go need a new instance.
fn plan_devices(plan: &mut Plan<'_, Instance>) {
    let Some(prior) = &plan.prior else { return };
    let smaller = |old: &Attr<i32>, new: &Attr<i32>| matches!((old, new), (Attr::Known(o), Attr::Known(n)) if n < o);
    let mut replaced = Vec::new();
    if let (Some(old), Some(new)) = (&prior.root_block_device, &plan.planned.root_block_device)
        && smaller(&old.volume_size, &new.volume_size)
    {
        replaced.push("root_block_device");
    }
    if !plan.config.ebs_block_device.is_empty() {
        let mut changed = prior.ebs_block_device.len() != plan.planned.ebs_block_device.len();
        for new in &mut plan.planned.ebs_block_device {
            let Some(old) = prior.ebs_block_device.iter().find(|b| b.device_name == new.device_name) else {
                changed = true;
                continue;
            };
            keep(&mut new.encrypted, &old.encrypted);
            keep(&mut new.kms_key_id, &old.kms_key_id);
            keep(&mut new.snapshot_id, &old.snapshot_id);
            keep(&mut new.volume_id, &old.volume_id);
            keep(&mut new.volume_size, &old.volume_size);
            let same_type = new.volume_type.is_unknown() || new.volume_type == old.volume_type;
            keep(&mut new.volume_type, &old.volume_type);
            if same_type {
                keep(&mut new.iops, &old.iops);
                keep(&mut new.throughput, &old.throughput);
            }
            changed |= new.encrypted != old.encrypted
                || new.kms_key_id != old.kms_key_id
                || new.snapshot_id != old.snapshot_id
                || smaller(&old.volume_size, &new.volume_size);
        }
        if changed {
            replaced.push("ebs_block_device");
        }
    }
    if let (Some(old), Some(new)) = (&prior.root_block_device, &mut plan.planned.root_block_device)
        && let Some(config) = &plan.config.root_block_device
        && old.volume_type != new.volume_type
    {
        // Another type has other defaults.
        if config.iops.is_null() {
            new.iops = Attr::Unknown;
        }
        if config.throughput.is_null() {
            new.throughput = Attr::Unknown;
        }
    }
    for block in replaced {
        plan.replace(block);
    }
}

/// Another version of the template needs a new instance, if it is another: `$Latest` may be the number that it was.
async fn plan_template(plan: &mut Plan<'_, Instance>) -> Result<()> {
    let Some(old) = plan.prior.as_ref().and_then(|p| p.launch_template.as_ref()) else { return Ok(()) };
    let Some(new) = plan.planned.launch_template.as_ref() else { return Ok(()) };
    if old.version == new.version {
        return Ok(());
    }
    let same = match (plan.client(), old.id.as_deref(), old.version.as_deref(), new.version.as_deref()) {
        (Some(aws), Some(id), Some(old), Some(new)) => version(aws, id, old).await? == version(aws, id, new).await?,
        _ => false,
    };
    if !same {
        plan.replace("launch_template");
    }
    Ok(())
}

/// The number of a version that may be `$Latest` or `$Default`.
async fn version(aws: &Aws, id: &str, name: &str) -> Result<String> {
    if !name.starts_with('$') {
        return Ok(name.to_owned());
    }
    let request = aws.ec2.describe_launch_template_versions().launch_template_id(id).versions(name);
    let answer = request.send().await.or_fail("Reading the version of the launch template")?;
    let number = answer.launch_template_versions().first().and_then(|v| v.version_number());
    Ok(number.map(|n| n.to_string()).unwrap_or_default())
}

fn keep<T: Clone>(new: &mut Attr<T>, old: &Attr<T>) {
    if new.is_unknown() {
        *new = old.clone();
    }
}

/// A spot instance that cannot be stopped is replaced where another is stopped and started; another type has other
/// cores.
fn plan_type(plan: &mut Plan<'_, Instance>) {
    let Some(prior) = &plan.prior else { return };
    let changes_type = prior.instance_type != plan.planned.instance_type;
    let changes_data = changes_user_data(&plan.planned, prior);
    let persistent = prior
        .instance_market_options
        .as_ref()
        .and_then(|m| m.spot_options.as_ref())
        .is_some_and(|s| s.spot_instance_type == "persistent");
    let fixed = prior.instance_lifecycle == "spot" && !persistent;
    if changes_type && plan.config.cpu_options.get().is_none_or(Vec::is_empty) {
        plan.planned.cpu_options = Attr::Unknown;
    }
    if !fixed {
        return;
    }
    if changes_type {
        plan.replace("instance_type");
    }
    if changes_data {
        plan.replace(if plan.config.user_data.is_set() { "user_data" } else { "user_data_base64" });
    }
}

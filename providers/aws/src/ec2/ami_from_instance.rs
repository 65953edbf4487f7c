//! `aws_ami_from_instance`. API: CreateImage, DescribeImages, EnableImageDeprecation, DisableImageDeprecation,
//! ModifyImageAttribute, DeregisterImage, DeleteSnapshot.

use crate::client::Aws;
use crate::ec2::util::{filter, same_time};
use crate::error::Answer;
use crate::tags::{self, Tags};
use aws_sdk_ec2::types::{AttributeValue, Image, ResourceType};
use gpuform_provider_sdk::prelude::*;
use std::time::Duration;

/// An image made from an instance, with snapshots of its volumes.
#[derive(Model, Clone, PartialEq, Default)]
pub struct AmiFromInstance {
    /// The image's ID.
    #[attr(optional, computed)]
    pub id: Attr<String>,
    /// `x86_64`, `arm64`, …
    #[attr(computed)]
    pub architecture: Attr<String>,
    /// The image's ARN.
    #[attr(computed)]
    pub arn: Attr<String>,
    /// `legacy-bios`, `uefi` or `uefi-preferred`.
    #[attr(computed)]
    pub boot_mode: Attr<String>,
    /// When the image is no longer recommended, as `YYYY-MM-DDTHH:MM:SSZ`.
    #[attr(optional, suppress = same_time)]
    pub deprecation_time: Attr<String>,
    /// What the image is for.
    #[attr(optional)]
    pub description: Attr<String>,
    /// The volumes.
    #[block(nesting = "set", computed)]
    pub ebs_block_device: Vec<EbsDevice>,
    /// Whether enhanced networking is supported.
    #[attr(computed)]
    pub ena_support: Attr<bool>,
    /// Disks of the host.
    #[block(nesting = "set", computed)]
    pub ephemeral_block_device: Vec<EphemeralDevice>,
    /// The hypervisor.
    #[attr(computed)]
    pub hypervisor: Attr<String>,
    /// Owner and name.
    #[attr(computed)]
    pub image_location: Attr<String>,
    /// The owner's alias.
    #[attr(computed)]
    pub image_owner_alias: Attr<String>,
    /// The kind of image.
    #[attr(computed)]
    pub image_type: Attr<String>,
    /// Whether instances require IMDSv2.
    #[attr(computed)]
    pub imds_support: Attr<String>,
    /// The kernel.
    #[attr(computed)]
    pub kernel_id: Attr<String>,
    /// When an instance was last launched.
    #[attr(computed)]
    pub last_launched_time: Attr<String>,
    /// Whether the snapshots end with the image.
    #[attr(computed)]
    pub manage_ebs_snapshots: Attr<bool>,
    /// The name.
    #[attr(required, force_new, validate = length(3..=128))]
    pub name: Attr<String>,
    /// The owner's account.
    #[attr(computed)]
    pub owner_id: Attr<String>,
    /// `windows`, or empty.
    #[attr(computed)]
    pub platform: Attr<String>,
    /// The platform as billed.
    #[attr(computed)]
    pub platform_details: Attr<String>,
    /// Whether anybody may launch the image.
    #[attr(computed)]
    pub public: Attr<bool>,
    /// The RAM disk.
    #[attr(computed)]
    pub ramdisk_id: Attr<String>,
    /// The name of the root device.
    #[attr(computed)]
    pub root_device_name: Attr<String>,
    /// The snapshot of the root device.
    #[attr(computed)]
    pub root_snapshot_id: Attr<String>,
    /// Whether the instance goes on running; what it writes meanwhile may be missing.
    #[attr(optional)]
    pub snapshot_without_reboot: Attr<bool>,
    /// The instance.
    #[attr(required)]
    pub source_instance_id: Attr<String>,
    /// Whether the older enhanced networking is supported.
    #[attr(computed)]
    pub sriov_net_support: Attr<String>,
    /// Tags.
    #[attr(optional)]
    pub tags: Attr<Tags>,
    /// Tags with the provider's default tags.
    #[attr(optional, computed)]
    pub tags_all: Attr<Tags>,
    /// `v2.0` where a TPM is emulated.
    #[attr(computed)]
    pub tpm_support: Attr<String>,
    /// UEFI variables.
    #[attr(computed)]
    pub uefi_data: Attr<String>,
    /// What is billed.
    #[attr(computed)]
    pub usage_operation: Attr<String>,
    /// `hvm` or `paravirtual`.
    #[attr(computed)]
    pub virtualization_type: Attr<String>,
    #[timeouts(create = "40m", update = "40m", delete = "90m")]
    pub timeouts: Timeouts,
}

/// A volume.
#[derive(Model, Clone, PartialEq, Default)]
pub struct EbsDevice {
    /// Whether the volume ends with the instance.
    #[attr(computed)]
    pub delete_on_termination: Attr<bool>,
    /// The name of the device.
    #[attr(computed)]
    pub device_name: Attr<String>,
    /// Whether the volume is encrypted.
    #[attr(computed)]
    pub encrypted: Attr<bool>,
    /// I/O operations a second.
    #[attr(computed)]
    pub iops: Attr<i32>,
    /// The Outpost.
    #[attr(computed)]
    pub outpost_arn: Attr<String>,
    /// The snapshot.
    #[attr(computed)]
    pub snapshot_id: Attr<String>,
    /// MiB a second.
    #[attr(computed)]
    pub throughput: Attr<i32>,
    /// GiB.
    #[attr(computed)]
    pub volume_size: Attr<i32>,
    /// `gp2`, `gp3`, …
    #[attr(computed)]
    pub volume_type: Attr<String>,
}

/// A disk of the host.
#[derive(Model, Clone, PartialEq, Default)]
pub struct EphemeralDevice {
    /// The name of the device.
    #[attr(computed)]
    pub device_name: Attr<String>,
    /// The disk.
    #[attr(computed)]
    pub virtual_name: Attr<String>,
}

impl Resource for AmiFromInstance {
    type Client = Aws;
    const TYPE: &'static str = "aws_ami_from_instance";

    async fn create(&mut self, ctx: &Context<Aws>) -> Result<()> {
        let aws = ctx.client();
        let name = self.name.require("name")?;
        let tags = self.tags_all.or_default();
        let specifications: Vec<_> = [ResourceType::Image, ResourceType::Snapshot]
            .into_iter()
            .filter_map(|kind| tags::specification(kind, &tags))
            .collect();
        let request = aws
            .ec2
            .create_image()
            .set_instance_id(self.source_instance_id.cloned())
            .name(name)
            .set_description(self.description.cloned())
            .no_reboot(self.snapshot_without_reboot.or_default())
            .set_tag_specifications((!specifications.is_empty()).then_some(specifications));
        let id = match request.send().await.or_fail("Creating the image") {
            Ok(made) => made.image_id().unwrap_or_default().to_owned(),
            // The API takes no client token, but names are unique: a repeated request finds the image of the lost one.
            Err(e) if e.has_code(&["InvalidAMIName.Duplicate"]) => match self.by_name(aws).await? {
                Some(image) => image.image_id().unwrap_or_default().to_owned(),
                None => return Err(e),
            },
            Err(e) => return Err(e),
        };
        self.id.set(id.clone());
        let wait =
            Wait::until("image", &["available"]).pending(&["pending", "transient"]).every(Duration::from_secs(10));
        ctx.wait_for(&wait, || state(aws, &id)).await?;
        if let Some(time) = self.deprecation_time.as_deref().filter(|t| !t.is_empty()) {
            deprecate(aws, &id, Some(time)).await?;
        }
        Ok(())
    }

    async fn read(mut self, ctx: &Context<Aws>) -> Result<Option<Self>> {
        let id = self.id.require("id")?.clone();
        let Some(found) = find(ctx.client(), &id).await? else { return Ok(None) };
        self.refresh(&found, ctx.client());
        Ok(Some(self))
    }

    async fn update(&mut self, prior: &Self, ctx: &Context<Aws>) -> Result<()> {
        let aws = ctx.client();
        let id = self.id.require("id")?;
        if self.description != prior.description {
            let value = AttributeValue::builder().value(self.description.or_default()).build();
            let change = aws.ec2.modify_image_attribute().image_id(id).description(value);
            change.send().await.or_fail("Changing the image's description")?;
        }
        if self.deprecation_time != prior.deprecation_time {
            deprecate(aws, id, self.deprecation_time.as_deref().filter(|t| !t.is_empty())).await?;
        }
        tags::update_ec2(aws, id, &prior.tags_all, &self.tags_all).await
    }

    async fn delete(self, ctx: &Context<Aws>) -> Result<()> {
        let aws = ctx.client();
        let id = self.id.require("id")?;
        aws.ec2.deregister_image().image_id(id).send().await.or_fail("Deregistering the image")?;
        ctx.wait_until_gone(&Wait::until_gone("image"), || state(aws, id)).await?;
        for snapshot in self.ebs_block_device.iter().filter_map(|d| d.snapshot_id.as_deref()).filter(|s| !s.is_empty())
        {
            let delete = |_| async {
                aws.ec2.delete_snapshot().snapshot_id(snapshot).send().await.or_fail("Deleting a snapshot of the image")
            };
            match ctx.retry(|e| e.has_code(&["InvalidSnapshot.InUse"]), delete).await {
                Err(e) if !e.is_not_found() => return Err(e),
                _ => {}
            }
        }
        Ok(())
    }

    async fn modify_plan(plan: &mut Plan<'_, Self>) -> Result<()> {
        let client = plan.client();
        tags::plan(&plan.planned.tags, &mut plan.planned.tags_all, client);
        // AWS may have forgotten what the image was made from, and never tells how: nothing to replace it for.
        let Some(prior) = &plan.prior else { return Ok(()) };
        let source = prior.source_instance_id.is_set() && prior.source_instance_id != plan.planned.source_instance_id;
        let how = prior.snapshot_without_reboot.is_set()
            && prior.snapshot_without_reboot.or_default() != plan.planned.snapshot_without_reboot.or_default();
        if source {
            plan.replace("source_instance_id");
        }
        if how {
            plan.replace("snapshot_without_reboot");
        }
        Ok(())
    }

    async fn find_by_token(&self, _token: &str, ctx: &Context<Aws>) -> Result<Option<Self>> {
        let Some(found) = self.by_name(ctx.client()).await? else { return Ok(None) };
        let mut state = self.clone();
        state.id.set(found.image_id().unwrap_or_default());
        state.refresh(&found, ctx.client());
        Ok(Some(state))
    }
}

impl AmiFromInstance {
    /// Our image of this name, made from the same instance.
    async fn by_name(&self, aws: &Aws) -> Result<Option<Image>> {
        let name = self.name.require("name")?;
        let request = aws.ec2.describe_images().owners("self").filters(filter("name", name));
        let answer = request.send().await.or_fail("Looking for the image of an interrupted create")?;
        let same = |i: &&Image| {
            let source = i.source_instance_id();
            source.is_none() || source == self.source_instance_id.as_deref()
        };
        Ok(answer.images().iter().find(same).cloned())
    }

    fn refresh(&mut self, i: &Image, aws: &Aws) {
        let text = |t: Option<&str>| t.unwrap_or_default().to_owned();
        let id = text(i.image_id());
        self.arn.set(format!("arn:{}:ec2:{}::image/{id}", aws.partition(), aws.region));
        self.architecture.set(i.architecture().map(|a| a.as_str()).unwrap_or_default());
        self.boot_mode.set(i.boot_mode().map(|b| b.as_str()).unwrap_or_default());
        self.deprecation_time.refresh(text(i.deprecation_time()));
        self.description.refresh(text(i.description()));
        self.ena_support.set(i.ena_support().unwrap_or_default());
        self.hypervisor.set(i.hypervisor().map(|h| h.as_str()).unwrap_or_default());
        self.image_location.set(text(i.image_location()));
        self.image_owner_alias.set(text(i.image_owner_alias()));
        self.image_type.set(i.image_type().map(|t| t.as_str()).unwrap_or_default());
        self.imds_support.set(i.imds_support().map(|t| t.as_str()).unwrap_or_default());
        self.kernel_id.set(text(i.kernel_id()));
        self.last_launched_time.set(text(i.last_launched_time()));
        self.manage_ebs_snapshots.set(true);
        self.name.set(text(i.name()));
        self.owner_id.set(text(i.owner_id()));
        self.platform.set(i.platform().map(|p| p.as_str()).unwrap_or_default());
        self.platform_details.set(text(i.platform_details()));
        self.public.set(i.public().unwrap_or_default());
        self.ramdisk_id.set(text(i.ramdisk_id()));
        self.root_device_name.set(text(i.root_device_name()));
        let root = i.block_device_mappings().iter().find(|d| d.device_name() == i.root_device_name());
        self.root_snapshot_id.set(text(root.and_then(|d| d.ebs()).and_then(|e| e.snapshot_id())));
        if self.source_instance_id.is_null() {
            self.source_instance_id = i.source_instance_id().into();
        }
        self.sriov_net_support.set(text(i.sriov_net_support()));
        self.tpm_support.set(i.tpm_support().map(|t| t.as_str()).unwrap_or_default());
        self.uefi_data.set("");
        self.usage_operation.set(text(i.usage_operation()));
        self.virtualization_type.set(i.virtualization_type().map(|t| t.as_str()).unwrap_or_default());
        self.ebs_block_device = i.block_device_mappings().iter().filter_map(volume).collect();
        let disks = i.block_device_mappings().iter().filter(|d| d.virtual_name().is_some());
        self.ephemeral_block_device = disks
            .map(|d| EphemeralDevice { device_name: d.device_name().into(), virtual_name: d.virtual_name().into() })
            .collect();
        tags::refresh(tags::from_ec2(i.tags()), &mut self.tags, &mut self.tags_all, aws);
    }
}

fn volume(d: &aws_sdk_ec2::types::BlockDeviceMapping) -> Option<EbsDevice> {
    let ebs = d.ebs()?;
    Some(EbsDevice {
        delete_on_termination: Attr::Known(ebs.delete_on_termination().unwrap_or_default()),
        device_name: d.device_name().into(),
        encrypted: Attr::Known(ebs.encrypted().unwrap_or_default()),
        iops: Attr::Known(ebs.iops().unwrap_or_default()),
        outpost_arn: Attr::Known(ebs.outpost_arn().unwrap_or_default().to_owned()),
        snapshot_id: Attr::Known(ebs.snapshot_id().unwrap_or_default().to_owned()),
        throughput: Attr::Known(ebs.throughput().unwrap_or_default()),
        volume_size: Attr::Known(ebs.volume_size().unwrap_or_default()),
        volume_type: Attr::Known(ebs.volume_type().map(|t| t.as_str()).unwrap_or_default().to_owned()),
    })
}

async fn deprecate(aws: &Aws, id: &str, time: Option<&str>) -> Result<()> {
    match time {
        Some(time) => {
            let at = crate::ec2::util::parse_time(time).ok_or_else(|| {
                Error::new("Invalid time")
                    .detail(format!("{time:?} is not like 2027-01-31T12:00:00Z."))
                    .at("deprecation_time")
            })?;
            let request = aws.ec2.enable_image_deprecation().image_id(id).deprecate_at(at);
            request.send().await.or_fail("Deprecating the image").map(drop)
        }
        None => {
            let request = aws.ec2.disable_image_deprecation().image_id(id);
            request.send().await.or_fail("Ending the deprecation of the image").map(drop)
        }
    }
}

async fn find(aws: &Aws, id: &str) -> Result<Option<Image>> {
    match aws.reads.images.get(id).await {
        Ok(image) => Ok(image.filter(|i| !i.state().is_some_and(|s| s.as_str() == "deregistered"))),
        Err(e) if e.has_code(&["InvalidAMIID.Unavailable"]) => Ok(None),
        Err(e) => Err(e),
    }
}

async fn state(aws: &Aws, id: &str) -> Result<Option<(String, ())>> {
    let found = find(aws, id).await?;
    Ok(found.map(|i| (i.state().map(|s| s.as_str().to_owned()).unwrap_or_default(), ())))
}

//! Data source `aws_ami`. API: DescribeImages.

use crate::client::Aws;
use crate::ec2::util::{Filters, filters};
use crate::error::Answer;
use crate::tags::{self, Tags};
use aws_sdk_ec2::types::Image;
use gpuform_provider_sdk::prelude::*;

/// Finds one image.
#[derive(Model, Clone, PartialEq, Default)]
pub struct Ami {
    /// Allows `most_recent` without owners: anybody can publish an image under a known name.
    #[attr(optional)]
    pub allow_unsafe_filter: Attr<bool>,
    /// `x86_64`, `arm64`, …
    #[attr(computed)]
    pub architecture: Attr<String>,
    /// The image's ARN.
    #[attr(computed)]
    pub arn: Attr<String>,
    /// Devices of instances.
    #[attr(computed)]
    pub block_device_mappings: Attr<Set<Device>>,
    /// `legacy-bios`, `uefi` or `uefi-preferred`.
    #[attr(computed)]
    pub boot_mode: Attr<String>,
    /// When the image was made.
    #[attr(computed)]
    pub creation_date: Attr<String>,
    /// When the image is no longer recommended.
    #[attr(computed)]
    pub deprecation_time: Attr<String>,
    /// What the image is for.
    #[attr(computed)]
    pub description: Attr<String>,
    /// Whether enhanced networking is supported.
    #[attr(computed)]
    pub ena_support: Attr<bool>,
    /// Only images that these accounts (or `self`, `all`) may launch.
    #[attr(optional)]
    pub executable_users: Attr<Vec<String>>,
    /// Only images that these filters of DescribeImages let through.
    #[block(nesting = "set")]
    pub filter: Vec<Filters>,
    /// The hypervisor.
    #[attr(computed)]
    pub hypervisor: Attr<String>,
    /// The image's ID.
    #[attr(optional, computed)]
    pub id: Attr<String>,
    /// The image's ID.
    #[attr(computed)]
    pub image_id: Attr<String>,
    /// Owner and name.
    #[attr(computed)]
    pub image_location: Attr<String>,
    /// The owner's alias.
    #[attr(computed)]
    pub image_owner_alias: Attr<String>,
    /// The kind of image.
    #[attr(computed)]
    pub image_type: Attr<String>,
    /// Whether instances require IMDSv2: `v2.0`.
    #[attr(computed)]
    pub imds_support: Attr<String>,
    /// Whether deprecated images count.
    #[attr(optional)]
    pub include_deprecated: Attr<bool>,
    /// The kernel.
    #[attr(computed)]
    pub kernel_id: Attr<String>,
    /// When an instance was last launched.
    #[attr(computed)]
    pub last_launched_time: Attr<String>,
    /// Whether the newest of several images is taken.
    #[attr(optional)]
    pub most_recent: Attr<bool>,
    /// The name.
    #[attr(computed)]
    pub name: Attr<String>,
    /// Only images whose name this regular expression matches.
    #[attr(optional)]
    pub name_regex: Attr<String>,
    /// The owner's account.
    #[attr(computed)]
    pub owner_id: Attr<String>,
    /// Only images of these owners: accounts, `self`, `amazon`, `aws-marketplace`.
    #[attr(optional)]
    pub owners: Attr<Vec<String>>,
    /// `windows`, or empty.
    #[attr(computed)]
    pub platform: Attr<String>,
    /// The platform as billed.
    #[attr(computed)]
    pub platform_details: Attr<String>,
    /// Codes of the marketplace.
    #[attr(computed)]
    pub product_codes: Attr<Set<ProductCode>>,
    /// Whether anybody may launch the image.
    #[attr(computed)]
    pub public: Attr<bool>,
    /// The RAM disk.
    #[attr(computed)]
    pub ramdisk_id: Attr<String>,
    /// The name of the root device.
    #[attr(computed)]
    pub root_device_name: Attr<String>,
    /// `ebs` or `instance-store`.
    #[attr(computed)]
    pub root_device_type: Attr<String>,
    /// The snapshot of the root device.
    #[attr(computed)]
    pub root_snapshot_id: Attr<String>,
    /// Whether the older enhanced networking is supported.
    #[attr(computed)]
    pub sriov_net_support: Attr<String>,
    /// `available`, …
    #[attr(computed)]
    pub state: Attr<String>,
    /// Why the image is in its state.
    #[attr(computed)]
    pub state_reason: Attr<BTreeMap<String, String>>,
    /// Tags.
    #[attr(optional, computed)]
    pub tags: Attr<Tags>,
    /// `v2.0` where a TPM is emulated.
    #[attr(computed)]
    pub tpm_support: Attr<String>,
    /// UEFI variables.
    #[attr(optional)]
    pub uefi_data: Attr<String>,
    /// What is billed.
    #[attr(computed)]
    pub usage_operation: Attr<String>,
    /// `hvm` or `paravirtual`.
    #[attr(computed)]
    pub virtualization_type: Attr<String>,
    #[timeouts(read = "20m")]
    pub timeouts: Timeouts,
}

/// A device.
#[derive(Model, Clone, PartialEq, Default)]
pub struct Device {
    /// The name of the device.
    #[attr(computed)]
    pub device_name: Attr<String>,
    /// The volume.
    #[attr(computed)]
    pub ebs: Attr<BTreeMap<String, String>>,
    /// Set where the device is left out.
    #[attr(computed)]
    pub no_device: Attr<String>,
    /// The disk of the host.
    #[attr(computed)]
    pub virtual_name: Attr<String>,
}

/// A code of the marketplace.
#[derive(Model, Clone, PartialEq, Default)]
pub struct ProductCode {
    /// The code.
    #[attr(computed)]
    pub product_code_id: Attr<String>,
    /// Its kind.
    #[attr(computed)]
    pub product_code_type: Attr<String>,
}

impl DataSource for Ami {
    type Client = Aws;
    const TYPE: &'static str = "aws_ami";

    async fn read(mut self, ctx: &Context<Aws>) -> Result<Self> {
        let aws = ctx.client();
        let mut pages = aws
            .ec2
            .describe_images()
            .set_filters(filters(&self.filter))
            .set_owners(self.owners.cloned().filter(|o| !o.is_empty()))
            .set_executable_users(self.executable_users.cloned().filter(|u| !u.is_empty()))
            .include_deprecated(self.include_deprecated.or_default())
            .into_paginator()
            .send();
        let mut images = Vec::new();
        while let Some(page) = pages.next().await {
            images.extend(page.or_fail("Looking for images")?.images.unwrap_or_default());
        }
        if let Some(pattern) = self.name_regex.as_deref() {
            let pattern = regex::Regex::new(pattern)
                .map_err(|e| Error::new("Invalid regular expression").detail(e.to_string()).at("name_regex"))?;
            images.retain(|i| i.name().is_some_and(|n| pattern.is_match(n)));
        }
        if images.len() > 1 && !self.most_recent.or_default() {
            return Err(Error::new("Several images match").detail(format!(
                "{} images match, among them {}. Be more exact, or set most_recent to take the newest.",
                images.len(),
                images.iter().filter_map(|i| i.name()).take(3).collect::<Vec<_>>().join(", ")
            )));
        }
        let found = images.into_iter().max_by(|a, b| a.creation_date().cmp(&b.creation_date()));
        let found = found.ok_or_else(|| {
            Error::new("No image matches").detail(format!("No image in {} matches the filters and owners.", aws.region))
        })?;
        self.take(&found, aws);
        Ok(self)
    }

    fn validate(&self, problems: &mut Problems) {
        if let Some(pattern) = self.name_regex.as_deref()
            && let Err(e) = regex::Regex::new(pattern)
        {
            problems.error("name_regex", "Invalid regular expression", e.to_string());
        }
        let by_owner = self
            .filter
            .iter()
            .any(|f| f.name.as_deref().is_none_or(|n| matches!(n, "image-id" | "owner-id")) || !f.name.is_known());
        if self.most_recent.or_default() && self.owners.is_null() && !by_owner && !self.allow_unsafe_filter.or_default()
        {
            problems.warning(
                "most_recent",
                "The newest image of anybody",
                "Without owners (or a filter by owner-id or image-id), anybody can publish an image that matches. Give \
                 owners, or set allow_unsafe_filter if that is wanted.",
            );
        }
    }
}

impl Ami {
    fn take(&mut self, i: &Image, aws: &Aws) {
        let text = |t: Option<&str>| t.unwrap_or_default().to_owned();
        let id = text(i.image_id());
        self.arn.set(format!("arn:{}:ec2:{}::image/{id}", aws.partition(), aws.region));
        self.id.set(id.as_str());
        self.image_id.set(id);
        self.architecture.set(i.architecture().map(|a| a.as_str()).unwrap_or_default());
        self.boot_mode.set(i.boot_mode().map(|b| b.as_str()).unwrap_or_default());
        self.creation_date.set(text(i.creation_date()));
        self.deprecation_time.set(text(i.deprecation_time()));
        self.description.set(text(i.description()));
        self.ena_support.set(i.ena_support().unwrap_or_default());
        self.hypervisor.set(i.hypervisor().map(|h| h.as_str()).unwrap_or_default());
        self.image_location.set(text(i.image_location()));
        self.image_owner_alias.set(text(i.image_owner_alias()));
        self.image_type.set(i.image_type().map(|t| t.as_str()).unwrap_or_default());
        self.imds_support.set(i.imds_support().map(|t| t.as_str()).unwrap_or_default());
        self.kernel_id.set(text(i.kernel_id()));
        self.last_launched_time.set(text(i.last_launched_time()));
        self.name.set(text(i.name()));
        self.owner_id.set(text(i.owner_id()));
        self.platform.set(i.platform().map(|p| p.as_str()).unwrap_or_default());
        self.platform_details.set(text(i.platform_details()));
        self.public.set(i.public().unwrap_or_default());
        self.ramdisk_id.set(text(i.ramdisk_id()));
        self.root_device_name.set(text(i.root_device_name()));
        self.root_device_type.set(i.root_device_type().map(|t| t.as_str()).unwrap_or_default());
        let root = i.block_device_mappings().iter().find(|d| d.device_name() == i.root_device_name());
        self.root_snapshot_id.set(text(root.and_then(|d| d.ebs()).and_then(|e| e.snapshot_id())));
        self.sriov_net_support.set(text(i.sriov_net_support()));
        self.state.set(i.state().map(|s| s.as_str()).unwrap_or_default());
        let reason = |t: Option<&str>| t.unwrap_or("UNSET").to_owned();
        let code = i.state_reason().and_then(|r| r.code());
        let message = i.state_reason().and_then(|r| r.message());
        self.state_reason
            .set(BTreeMap::from([("code".to_owned(), reason(code)), ("message".to_owned(), reason(message))]));
        self.tpm_support.set(i.tpm_support().map(|t| t.as_str()).unwrap_or_default());
        self.usage_operation.set(text(i.usage_operation()));
        self.virtualization_type.set(i.virtualization_type().map(|t| t.as_str()).unwrap_or_default());
        let codes = i.product_codes().iter().map(|p| ProductCode {
            product_code_id: p.product_code_id().into(),
            product_code_type: p.product_code_type().map(|t| t.as_str()).into(),
        });
        self.product_codes.set(codes.collect::<Set<_>>());
        self.block_device_mappings.set(i.block_device_mappings().iter().map(device).collect::<Set<_>>());
        let mut found = tags::from_ec2(i.tags());
        found.retain(|k, _| !aws.ignores_tag(k));
        self.tags.set(found);
    }
}

fn device(d: &aws_sdk_ec2::types::BlockDeviceMapping) -> Device {
    let ebs = d.ebs().map(|e| {
        BTreeMap::from([
            ("delete_on_termination".to_owned(), e.delete_on_termination().unwrap_or_default().to_string()),
            ("encrypted".to_owned(), e.encrypted().unwrap_or_default().to_string()),
            ("iops".to_owned(), e.iops().unwrap_or_default().to_string()),
            ("snapshot_id".to_owned(), e.snapshot_id().unwrap_or_default().to_owned()),
            ("throughput".to_owned(), e.throughput().unwrap_or_default().to_string()),
            ("volume_initialization_rate".to_owned(), e.volume_initialization_rate().unwrap_or_default().to_string()),
            ("volume_size".to_owned(), e.volume_size().unwrap_or_default().to_string()),
            ("volume_type".to_owned(), e.volume_type().map(|t| t.as_str()).unwrap_or_default().to_owned()),
        ])
    });
    let text = |t: Option<&str>| Attr::Known(t.unwrap_or_default().to_owned());
    Device {
        device_name: text(d.device_name()),
        ebs: Attr::Known(ebs.unwrap_or_default()),
        no_device: text(d.no_device()),
        virtual_name: text(d.virtual_name()),
    }
}

//! `aws_launch_template`. Each change of what a launch does makes a new version of the template. `blocks.rs` has the
//! blocks, `data.rs` converts them. API: CreateLaunchTemplate, CreateLaunchTemplateVersion, ModifyLaunchTemplate,
//! DescribeLaunchTemplates, DescribeLaunchTemplateVersions, DeleteLaunchTemplate.

mod blocks;
mod data;

use crate::client::Aws;
use crate::ec2::requirements::InstanceRequirements;
use crate::ec2::reservation::CapacityReservation;
use crate::ec2::util::{filter, prefix_of, unique_name};
use crate::error::Answer;
use crate::tags::{self, Tags};
use aws_sdk_ec2::types::{LaunchTemplate as Found, ResourceType};
use blocks::*;
use gpuform_provider_sdk::prelude::*;

/// A launch template.
#[derive(Model, Clone, PartialEq, Default, Debug)]
pub struct LaunchTemplate {
    /// The template's ID.
    #[attr(optional, computed)]
    pub id: Attr<String>,
    /// The template's ARN.
    #[attr(computed)]
    pub arn: Attr<String>,
    /// Devices.
    #[block]
    pub block_device_mappings: Vec<BlockDevice>,
    /// Capacity reservations.
    #[block]
    pub capacity_reservation_specification: Option<CapacityReservation>,
    /// Cores and threads.
    #[block]
    pub cpu_options: Option<CpuOptions>,
    /// CPU credits.
    #[block]
    pub credit_specification: Option<CreditSpecification>,
    /// The version that launches use unless they say otherwise.
    #[attr(optional, computed, conflicts_with = ["update_default_version"], validate = range(1..))]
    pub default_version: Attr<i64>,
    /// What the version is for.
    #[attr(optional, validate = length(0..=255))]
    pub description: Attr<String>,
    /// Whether instances are protected from being stopped.
    #[attr(optional)]
    pub disable_api_stop: Attr<bool>,
    /// Whether instances are protected from being terminated.
    #[attr(optional)]
    pub disable_api_termination: Attr<bool>,
    /// Whether the type's dedicated throughput to EBS is used.
    #[attr(optional, validate = flag())]
    pub ebs_optimized: Attr<String>,
    /// Nitro Enclaves.
    #[block]
    pub enclave_options: Option<Enabled>,
    /// Hibernation.
    #[block]
    pub hibernation_options: Option<Hibernation>,
    /// The instance profile.
    #[block]
    pub iam_instance_profile: Option<InstanceProfile>,
    /// The image, or `resolve:ssm:` with a parameter that has it.
    #[attr(optional)]
    pub image_id: Attr<String>,
    /// What a shutdown from within does: `stop` or `terminate`.
    #[attr(optional, validate = one_of(["stop", "terminate"]))]
    pub instance_initiated_shutdown_behavior: Attr<String>,
    /// How instances are bought.
    #[block]
    pub instance_market_options: Option<MarketOptions>,
    /// What the type must offer, instead of a type.
    #[block(conflicts_with = ["instance_type"])]
    pub instance_requirements: Option<InstanceRequirements>,
    /// The type.
    #[attr(optional)]
    pub instance_type: Attr<String>,
    /// The kernel.
    #[attr(optional)]
    pub kernel_id: Attr<String>,
    /// The key pair.
    #[attr(optional)]
    pub key_name: Attr<String>,
    /// The newest version.
    #[attr(computed)]
    pub latest_version: Attr<i64>,
    /// Licenses.
    #[block(nesting = "set")]
    pub license_specification: Vec<License>,
    /// Recovery when the host fails.
    #[block]
    pub maintenance_options: Option<MaintenanceOptions>,
    /// The instance metadata service.
    #[block]
    pub metadata_options: Option<MetadataOptions>,
    /// Detailed monitoring.
    #[block]
    pub monitoring: Option<Enabled>,
    /// The name; a unique one unless given.
    #[attr(optional, computed, force_new, conflicts_with = ["name_prefix"], validate = length(3..=128))]
    pub name: Attr<String>,
    /// What a unique name begins with.
    #[attr(optional, computed, force_new, validate = length(0..=99))]
    pub name_prefix: Attr<String>,
    /// Network interfaces.
    #[block(conflicts_with = ["security_group_names", "vpc_security_group_ids"])]
    pub network_interfaces: Vec<NetworkInterface>,
    /// Where instances run.
    #[block]
    pub placement: Option<Placement>,
    /// Private DNS names.
    #[block]
    pub private_dns_name_options: Option<PrivateDnsNameOptions>,
    /// The RAM disk.
    #[attr(optional)]
    pub ram_disk_id: Attr<String>,
    /// Names of security groups.
    #[attr(optional, conflicts_with = ["vpc_security_group_ids"])]
    pub security_group_names: Attr<Set<String>>,
    /// Tags of what a launch makes.
    #[block]
    pub tag_specifications: Vec<TagSpecification>,
    /// Tags of the template.
    #[attr(optional)]
    pub tags: Attr<Tags>,
    /// Tags with the provider's default tags.
    #[attr(optional, computed)]
    pub tags_all: Attr<Tags>,
    /// Whether each new version becomes the default.
    #[attr(optional)]
    pub update_default_version: Attr<bool>,
    /// User data in base64.
    #[attr(optional)]
    pub user_data: Attr<String>,
    /// Security groups.
    #[attr(optional)]
    pub vpc_security_group_ids: Attr<Set<String>>,
}

impl Resource for LaunchTemplate {
    type Client = Aws;
    const TYPE: &'static str = "aws_launch_template";

    async fn create(&mut self, ctx: &Context<Aws>) -> Result<()> {
        let name = unique_name(&self.name, &self.name_prefix, ctx.client_token());
        let request = ctx
            .client()
            .ec2
            .create_launch_template()
            .client_token(ctx.client_token())
            .launch_template_name(&name)
            .set_version_description(self.description.cloned().filter(|d| !d.is_empty()))
            .launch_template_data(data::request(self))
            .set_tag_specifications(tags::specifications(ResourceType::LaunchTemplate, &self.tags_all.or_default()));
        let made = request.send().await.or_fail("Creating the launch template")?;
        let id = made.launch_template().and_then(|t| t.launch_template_id()).unwrap_or_default();
        self.id.set(id);
        self.name.set_if_unknown(name);
        Ok(())
    }

    async fn read(mut self, ctx: &Context<Aws>) -> Result<Option<Self>> {
        let aws = ctx.client();
        let id = self.id.require("id")?;
        let Some(found) = aws.reads.launch_templates.get(id).await? else { return Ok(None) };
        self.refresh(&found, aws).await?;
        Ok(Some(self))
    }

    async fn update(&mut self, prior: &Self, ctx: &Context<Aws>) -> Result<()> {
        let aws = ctx.client();
        let id = self.id.require("id")?.clone();
        if !self.launches_like(prior) {
            let request = aws
                .ec2
                .create_launch_template_version()
                .launch_template_id(&id)
                .set_version_description(self.description.cloned().filter(|d| !d.is_empty()))
                .launch_template_data(data::request(self));
            let made = request.send().await.or_fail("Creating a version of the launch template")?;
            let version = made.launch_template_version().and_then(|v| v.version_number()).unwrap_or_default();
            self.latest_version.set(version);
            if self.update_default_version.or_default() {
                set_default(aws, &id, version).await?;
                self.default_version.set(version);
            }
        } else if self.update_default_version.or_default() && !prior.update_default_version.or_default() {
            let latest = prior.latest_version.or_default();
            set_default(aws, &id, latest).await?;
            self.default_version.set(latest);
        }
        if let Some(version) = self.default_version.get().filter(|_| !self.update_default_version.or_default())
            && self.default_version != prior.default_version
        {
            set_default(aws, &id, *version).await?;
        }
        tags::update_ec2(aws, &id, &prior.tags_all, &self.tags_all).await
    }

    async fn delete(self, ctx: &Context<Aws>) -> Result<()> {
        let id = self.id.require("id")?;
        let request = ctx.client().ec2.delete_launch_template().launch_template_id(id);
        match request.send().await.or_fail("Deleting the launch template") {
            Err(e) if !e.is_not_found() => Err(e),
            _ => Ok(()),
        }
    }

    async fn modify_plan(plan: &mut Plan<'_, Self>) -> Result<()> {
        let client = plan.client();
        tags::plan(&plan.planned.tags, &mut plan.planned.tags_all, client);
        let Some(prior) = &plan.prior else { return Ok(()) };
        let follows = plan.planned.update_default_version.or_default();
        if !plan.planned.launches_like(prior) {
            plan.planned.latest_version = Attr::Unknown;
            if follows {
                plan.planned.default_version = Attr::Unknown;
            }
        } else if follows && !prior.update_default_version.or_default() {
            plan.planned.default_version = Attr::Unknown;
        }
        Ok(())
    }

    async fn find_by_token(&self, token: &str, ctx: &Context<Aws>) -> Result<Option<Self>> {
        // Names are unique, and a name that nobody chose follows from the token.
        let aws = ctx.client();
        let name = unique_name(&self.name, &self.name_prefix, token);
        let request = aws.ec2.describe_launch_templates().filters(filter("launch-template-name", &name));
        let answer = request.send().await.or_fail("Looking for the launch template of an interrupted create")?;
        let Some(found) = answer.launch_templates().first() else { return Ok(None) };
        let mut state = self.clone();
        state.refresh(found, aws).await?;
        let ours = state.tags_all == self.tags_all && state.image_id == self.image_id;
        Ok(ours.then_some(state))
    }
}

impl LaunchTemplate {
    /// Whether launches from both do the same, so that no new version is needed.
    fn launches_like(&self, other: &Self) -> bool {
        let same = LaunchTemplate {
            id: self.id.clone(),
            arn: self.arn.clone(),
            name: self.name.clone(),
            name_prefix: self.name_prefix.clone(),
            tags: self.tags.clone(),
            tags_all: self.tags_all.clone(),
            default_version: self.default_version,
            latest_version: self.latest_version,
            update_default_version: self.update_default_version,
            ..other.clone()
        };
        *self == same
    }

    async fn refresh(&mut self, found: &Found, aws: &Aws) -> Result<()> {
        let id = found.launch_template_id().unwrap_or_default();
        self.id.set(id);
        self.arn.set(aws.arn("ec2", &format!("launch-template/{id}")).await?);
        self.name.set(found.launch_template_name().unwrap_or_default());
        if !self.name_prefix.is_known() {
            self.name_prefix.set(prefix_of(found.launch_template_name().unwrap_or_default()));
        }
        self.default_version.set(found.default_version_number().unwrap_or_default());
        let latest = found.latest_version_number().unwrap_or_default();
        self.latest_version.set(latest);
        let request = aws.ec2.describe_launch_template_versions().launch_template_id(id).versions(latest.to_string());
        let answer = request.send().await.or_fail("Reading the version of the launch template")?;
        if let Some(version) = answer.launch_template_versions().first() {
            self.description.refresh(version.version_description().unwrap_or_default().to_owned());
            if let Some(found) = version.launch_template_data() {
                data::refresh(self, found);
            }
        }
        tags::refresh(tags::from_ec2(found.tags()), &mut self.tags, &mut self.tags_all, aws);
        Ok(())
    }
}

async fn set_default(aws: &Aws, id: &str, version: i64) -> Result<()> {
    let request = aws.ec2.modify_launch_template().launch_template_id(id).default_version(version.to_string());
    request.send().await.or_fail("Setting the default version of the launch template").map(drop)
}

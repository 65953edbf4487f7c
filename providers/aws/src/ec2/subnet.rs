//! `aws_subnet`. API: CreateSubnet, DescribeSubnets, ModifySubnetAttribute, AssociateSubnetCidrBlock,
//! DisassociateSubnetCidrBlock, DeleteSubnet.

use super::net::flag;
use super::util::filter;
use crate::client::Aws;
use crate::error::Answer;
use crate::once;
use crate::tags::{self, Tags};
use aws_sdk_ec2::operation::modify_subnet_attribute::builders::ModifySubnetAttributeFluentBuilder;
use aws_sdk_ec2::types::{HostnameType, ResourceType, Subnet as Found};
use gpuform_provider_sdk::prelude::*;

/// A subnet of a VPC.
#[derive(Model, Clone, PartialEq, Default)]
pub struct Subnet {
    /// The subnet's ID.
    #[attr(optional, computed)]
    pub id: Attr<String>,
    /// The subnet's ARN.
    #[attr(computed)]
    pub arn: Attr<String>,
    /// The VPC.
    #[attr(required, force_new)]
    pub vpc_id: Attr<String>,
    /// The IPv4 range; part of the VPC's.
    #[attr(optional, force_new, validate = ipv4_cidr())]
    pub cidr_block: Attr<String>,
    /// The availability zone by name.
    #[attr(optional, computed, force_new, conflicts_with = ["availability_zone_id"])]
    pub availability_zone: Attr<String>,
    /// The availability zone by ID.
    #[attr(optional, computed, force_new, conflicts_with = ["availability_zone"])]
    pub availability_zone_id: Attr<String>,
    /// The IPv6 range, a /64 of the VPC's.
    #[attr(optional, validate = ipv6_cidr())]
    pub ipv6_cidr_block: Attr<String>,
    /// ID of the association of the IPv6 range.
    #[attr(computed, recompute_on = ["ipv6_cidr_block"])]
    pub ipv6_cidr_block_association_id: Attr<String>,
    /// Whether the subnet has IPv6 only.
    #[attr(optional, default = false, force_new)]
    pub ipv6_native: Attr<bool>,
    /// Whether network interfaces get an IPv6 address.
    #[attr(optional, default = false)]
    pub assign_ipv6_address_on_creation: Attr<bool>,
    /// Whether the resolver returns synthetic IPv6 addresses for IPv4-only destinations.
    #[attr(optional, default = false)]
    pub enable_dns64: Attr<bool>,
    /// Whether queries for an instance's resource name get A records.
    #[attr(optional, default = false)]
    pub enable_resource_name_dns_a_record_on_launch: Attr<bool>,
    /// Whether queries for an instance's resource name get AAAA records.
    #[attr(optional, default = false)]
    pub enable_resource_name_dns_aaaa_record_on_launch: Attr<bool>,
    /// Whether instances get a public IPv4 address.
    #[attr(optional, default = false)]
    pub map_public_ip_on_launch: Attr<bool>,
    /// Form of host names: `ip-name` or `resource-name`.
    #[attr(optional, computed, validate = one_of(["ip-name", "resource-name"]))]
    pub private_dns_hostname_type_on_launch: Attr<String>,
    /// The account that owns the subnet.
    #[attr(computed)]
    pub owner_id: Attr<String>,
    /// Tags.
    #[attr(optional)]
    pub tags: Attr<Tags>,
    /// Tags with the provider's default tags.
    #[attr(optional, computed)]
    pub tags_all: Attr<Tags>,
    #[timeouts(create = "10m", delete = "20m")]
    pub timeouts: Timeouts,
}

impl Resource for Subnet {
    type Client = Aws;
    const TYPE: &'static str = "aws_subnet";
    const VERSION: i64 = 1;

    async fn create(&mut self, ctx: &Context<Aws>) -> Result<()> {
        let aws = ctx.client();
        let id = once::once(ctx, || self.request(aws), || self.lookup(aws)).await?;
        self.id.set(id.clone());
        let wait = Wait::until("subnet", &["available"]).pending(&["pending"]);
        ctx.wait_for(&wait, || state(aws, &id)).await?;
        self.modify(aws, &Subnet::fresh(), &id).await
    }

    async fn read(mut self, ctx: &Context<Aws>) -> Result<Option<Self>> {
        let aws = ctx.client();
        let Some(s) = find(aws, self.id.require("id")?).await? else { return Ok(None) };
        self.arn.set(s.subnet_arn().unwrap_or_default());
        self.vpc_id.set(s.vpc_id().unwrap_or_default());
        self.cidr_block.refresh(s.cidr_block().unwrap_or_default());
        self.availability_zone.set(s.availability_zone().unwrap_or_default());
        self.availability_zone_id.set(s.availability_zone_id().unwrap_or_default());
        let associations = s.ipv6_cidr_block_association_set();
        let ipv6 = associations.iter().find(|a| {
            a.ipv6_cidr_block_state()
                .and_then(|s| s.state())
                .is_none_or(|s| matches!(s.as_str(), "associated" | "associating"))
        });
        self.ipv6_cidr_block.refresh(ipv6.and_then(|a| a.ipv6_cidr_block()).unwrap_or_default());
        self.ipv6_cidr_block_association_id.set(ipv6.and_then(|a| a.association_id()).unwrap_or_default());
        self.ipv6_native.set(flag(s.ipv6_native()));
        self.assign_ipv6_address_on_creation.set(flag(s.assign_ipv6_address_on_creation()));
        self.enable_dns64.set(flag(s.enable_dns64()));
        self.map_public_ip_on_launch.set(flag(s.map_public_ip_on_launch()));
        let names = s.private_dns_name_options_on_launch();
        self.enable_resource_name_dns_a_record_on_launch
            .set(flag(names.and_then(|n| n.enable_resource_name_dns_a_record())));
        self.enable_resource_name_dns_aaaa_record_on_launch
            .set(flag(names.and_then(|n| n.enable_resource_name_dns_aaaa_record())));
        self.private_dns_hostname_type_on_launch
            .set(names.and_then(|n| n.hostname_type()).map(HostnameType::as_str).unwrap_or("ip-name"));
        self.owner_id.set(s.owner_id().unwrap_or_default());
        tags::refresh(tags::from_ec2(s.tags()), &mut self.tags, &mut self.tags_all, aws);
        Ok(Some(self))
    }

    async fn update(&mut self, prior: &Self, ctx: &Context<Aws>) -> Result<()> {
        let aws = ctx.client();
        let id = self.id.require("id")?.clone();
        if self.ipv6_cidr_block.or_default() != prior.ipv6_cidr_block.or_default() {
            self.replace_ipv6(prior, ctx).await?;
        }
        self.modify(aws, prior, &id).await?;
        tags::update_ec2(aws, &id, &prior.tags_all, &self.tags_all).await
    }

    async fn delete(self, ctx: &Context<Aws>) -> Result<()> {
        let (aws, id) = (ctx.client(), self.id.require("id")?);
        ctx.retry(
            |e| e.has_code(&["DependencyViolation"]),
            |_| async { aws.ec2.delete_subnet().subnet_id(id).send().await.or_fail("Deleting the subnet").map(drop) },
        )
        .await?;
        ctx.wait_until_gone(&Wait::until_gone("subnet"), || state(aws, id)).await
    }

    tags::plan_tags!();

    fn validate(&self, problems: &mut Problems) {
        if self.cidr_block.is_null() && self.ipv6_cidr_block.is_null() {
            problems.error("cidr_block", "Missing argument", "A subnet needs cidr_block or ipv6_cidr_block.");
        }
    }

    async fn find_by_token(&self, _token: &str, ctx: &Context<Aws>) -> Result<Option<Self>> {
        let Some(id) = self.lookup(ctx.client()).await? else { return Ok(None) };
        let mut found = self.clone();
        found.id.set(id);
        found.read(ctx).await
    }
}

impl Subnet {
    /// What AWS makes if nothing is said.
    fn fresh() -> Subnet {
        Subnet {
            assign_ipv6_address_on_creation: Attr::Known(false),
            enable_dns64: Attr::Known(false),
            enable_resource_name_dns_a_record_on_launch: Attr::Known(false),
            enable_resource_name_dns_aaaa_record_on_launch: Attr::Known(false),
            map_public_ip_on_launch: Attr::Known(false),
            private_dns_hostname_type_on_launch: Attr::Unknown,
            ..Subnet::default()
        }
    }

    async fn request(&self, aws: &Aws) -> Result<String> {
        let mut request = aws
            .ec2
            .create_subnet()
            .set_vpc_id(self.vpc_id.cloned())
            .set_cidr_block(self.cidr_block.cloned())
            .set_ipv6_cidr_block(self.ipv6_cidr_block.cloned().filter(|c| !c.is_empty()))
            .set_availability_zone(self.availability_zone.cloned())
            .set_availability_zone_id(self.availability_zone_id.cloned())
            .set_tag_specifications(tags::specifications(ResourceType::Subnet, &self.tags_all.or_default()));
        if self.ipv6_native == true {
            request = request.ipv6_native(true);
        }
        let made = request.customize().config_override(once::ec2()).send().await.or_fail("Creating the subnet")?;
        Ok(made.subnet().and_then(|s| s.subnet_id()).unwrap_or_default().to_owned())
    }

    /// The subnet with this range and these tags; ranges cannot overlap, so there is one at most.
    async fn lookup(&self, aws: &Aws) -> Result<Option<String>> {
        let cidr = match self.cidr_block.cloned() {
            Some(c) => filter("cidr-block", c),
            None => filter("ipv6-cidr-block-association.ipv6-cidr-block", self.ipv6_cidr_block.or_default()),
        };
        let request = aws.ec2.describe_subnets().filters(filter("vpc-id", self.vpc_id.or_default())).filters(cidr);
        let answer = request.send().await.or_fail("Looking for the subnet")?;
        let wanted = self.tags_all.or_default();
        let found = answer.subnets().iter().find(|s| {
            let tags = tags::from_ec2(s.tags());
            wanted.iter().all(|(k, v)| tags.get(k) == Some(v))
        });
        Ok(found.and_then(|s| s.subnet_id()).map(str::to_owned))
    }

    /// Brings the attributes from `prior` to `self`; the API takes one at a time.
    async fn modify(&self, aws: &Aws, prior: &Subnet, id: &str) -> Result<()> {
        type Request = ModifySubnetAttributeFluentBuilder;
        type Setter = fn(Request, aws_sdk_ec2::types::AttributeBooleanValue) -> Request;
        let value = super::net::boolean;
        let flags: [(&Attr<bool>, &Attr<bool>, Setter); 5] = [
            (
                &self.assign_ipv6_address_on_creation,
                &prior.assign_ipv6_address_on_creation,
                Request::assign_ipv6_address_on_creation,
            ),
            (&self.enable_dns64, &prior.enable_dns64, Request::enable_dns64),
            (&self.map_public_ip_on_launch, &prior.map_public_ip_on_launch, Request::map_public_ip_on_launch),
            (
                &self.enable_resource_name_dns_a_record_on_launch,
                &prior.enable_resource_name_dns_a_record_on_launch,
                Request::enable_resource_name_dns_a_record_on_launch,
            ),
            (
                &self.enable_resource_name_dns_aaaa_record_on_launch,
                &prior.enable_resource_name_dns_aaaa_record_on_launch,
                Request::enable_resource_name_dns_aaaa_record_on_launch,
            ),
        ];
        let request = || aws.ec2.modify_subnet_attribute().subnet_id(id);
        for (new, old, set) in flags {
            if new != old && new.is_known() {
                set(request(), value(new.or_default())).send().await.or_fail("Changing the subnet")?;
            }
        }
        let kind = &self.private_dns_hostname_type_on_launch;
        if *kind != prior.private_dns_hostname_type_on_launch
            && let Some(kind) = kind.as_deref()
        {
            let request = request().private_dns_hostname_type_on_launch(HostnameType::from(kind));
            request.send().await.or_fail("Changing the subnet")?;
        }
        Ok(())
    }

    async fn replace_ipv6(&self, prior: &Subnet, ctx: &Context<Aws>) -> Result<()> {
        let (aws, id) = (ctx.client(), self.id.require("id")?);
        if let Some(old) = prior.ipv6_cidr_block_association_id.as_deref().filter(|o| !o.is_empty()) {
            // An address can only be assigned while there is a range.
            if prior.assign_ipv6_address_on_creation == true {
                let request = aws.ec2.modify_subnet_attribute().subnet_id(id);
                let request = request.assign_ipv6_address_on_creation(super::net::boolean(false));
                request.send().await.or_fail("Changing the subnet")?;
            }
            let request = aws.ec2.disassociate_subnet_cidr_block().association_id(old);
            request.send().await.or_fail("Removing the subnet's IPv6 range")?;
            let wait = Wait::until_gone("subnet's IPv6 range");
            ctx.wait_until_gone(&wait, || ipv6_state(aws, id, old)).await?;
        }
        if let Some(new) = self.ipv6_cidr_block.cloned().filter(|c| !c.is_empty()) {
            let request = aws.ec2.associate_subnet_cidr_block().subnet_id(id).ipv6_cidr_block(new);
            let made = request.send().await.or_fail("Adding the subnet's IPv6 range")?;
            let new = made.ipv6_cidr_block_association().and_then(|a| a.association_id()).unwrap_or_default();
            let wait = Wait::until("subnet's IPv6 range", &["associated"]).pending(&["associating"]);
            ctx.wait_for(&wait, || ipv6_state(aws, id, new)).await?;
        }
        Ok(())
    }
}

async fn find(aws: &Aws, id: &str) -> Result<Option<Found>> {
    aws.reads.subnets.get(id).await
}

async fn state(aws: &Aws, id: &str) -> Result<Option<(String, ())>> {
    let subnet = find(aws, id).await?;
    Ok(subnet.map(|s| (s.state().map(|s| s.as_str().to_owned()).unwrap_or_default(), ())))
}

async fn ipv6_state(aws: &Aws, id: &str, association: &str) -> Result<Option<(String, ())>> {
    let Some(subnet) = find(aws, id).await? else { return Ok(None) };
    let found = subnet.ipv6_cidr_block_association_set().iter().find(|a| a.association_id() == Some(association));
    let state = found.and_then(|a| a.ipv6_cidr_block_state()).and_then(|s| s.state());
    Ok(state.map(|s| s.as_str().to_owned()).filter(|s| s != "disassociated").map(|s| (s, ())))
}

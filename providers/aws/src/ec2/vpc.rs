//! `aws_vpc`. API: CreateVpc, DescribeVpcs, DescribeVpcAttribute, ModifyVpcAttribute, ModifyVpcTenancy, DeleteVpc.

use crate::client::Aws;
use crate::error::Answer;
use crate::once;
use crate::tags::{self, Tags};
use aws_sdk_ec2::types::{AttributeBooleanValue, ResourceType, Tenancy, VpcAttributeName};
use gpuform_provider_sdk::prelude::*;

/// A virtual private cloud.
#[derive(Model, Clone, PartialEq, Default)]
pub struct Vpc {
    /// The VPC's ID.
    #[attr(optional, computed)]
    pub id: Attr<String>,
    /// The VPC's ARN.
    #[attr(computed)]
    pub arn: Attr<String>,
    /// The IPv4 range, e.g. `10.0.0.0/16`.
    #[attr(optional, computed, force_new, validate = ipv4_cidr())]
    pub cidr_block: Attr<String>,
    /// Tenancy of the instances: `default` or `dedicated`.
    #[attr(optional, default = "default", validate = one_of(["default", "dedicated"]))]
    pub instance_tenancy: Attr<String>,
    /// Whether instances with public addresses get public DNS names.
    #[attr(optional, computed)]
    pub enable_dns_hostnames: Attr<bool>,
    /// Whether the VPC has a DNS resolver.
    #[attr(optional, default = true)]
    pub enable_dns_support: Attr<bool>,
    /// Whether network address usage metrics are kept.
    #[attr(optional, computed)]
    pub enable_network_address_usage_metrics: Attr<bool>,
    /// Whether the VPC gets an IPv6 range from Amazon.
    #[attr(optional)]
    pub assign_generated_ipv6_cidr_block: Attr<bool>,
    /// The IPv6 range.
    #[attr(computed)]
    pub ipv6_cidr_block: Attr<String>,
    /// ID of the association of the IPv6 range.
    #[attr(computed)]
    pub ipv6_association_id: Attr<String>,
    /// The network ACL made with the VPC.
    #[attr(computed)]
    pub default_network_acl_id: Attr<String>,
    /// The route table made with the VPC.
    #[attr(computed)]
    pub default_route_table_id: Attr<String>,
    /// The security group made with the VPC.
    #[attr(computed)]
    pub default_security_group_id: Attr<String>,
    /// The set of DHCP options.
    #[attr(computed)]
    pub dhcp_options_id: Attr<String>,
    /// The main route table.
    #[attr(computed)]
    pub main_route_table_id: Attr<String>,
    /// The account that owns the VPC.
    #[attr(computed)]
    pub owner_id: Attr<String>,
    /// Tags.
    #[attr(optional)]
    pub tags: Attr<Tags>,
    /// Tags with the provider's default tags.
    #[attr(optional, computed)]
    pub tags_all: Attr<Tags>,
}

impl Resource for Vpc {
    type Client = Aws;
    const TYPE: &'static str = "aws_vpc";
    const VERSION: i64 = 1;

    async fn create(&mut self, ctx: &Context<Aws>) -> Result<()> {
        let aws = ctx.client();
        let tags = self.tags_all.or_default();
        let id = once::once_tagged(ctx, &tags, |t| self.request(aws, t), || lookup(aws, ctx.client_token())).await?;
        self.id.set(id.clone());
        let wait = Wait::until("VPC", &["available"]).pending(&["pending"]);
        ctx.wait_for(&wait, || state(aws, &id)).await?;
        // A new VPC resolves names and gives none.
        if !self.enable_dns_support.or_default() {
            set(aws, &id, VpcAttributeName::EnableDnsSupport, false).await?;
        }
        if self.enable_dns_hostnames.or_default() {
            set(aws, &id, VpcAttributeName::EnableDnsHostnames, true).await?;
        }
        if self.enable_network_address_usage_metrics.or_default() {
            set(aws, &id, VpcAttributeName::EnableNetworkAddressUsageMetrics, true).await?;
        }
        once::untag_ec2(aws, &id).await;
        Ok(())
    }

    async fn read(mut self, ctx: &Context<Aws>) -> Result<Option<Self>> {
        let aws = ctx.client();
        let id = self.id.require("id")?.clone();
        let Some(vpc) = find(aws, &id).await? else { return Ok(None) };
        self.arn.set(aws.arn("ec2", &format!("vpc/{id}")).await?);
        self.cidr_block.set(vpc.cidr_block().unwrap_or_default());
        self.instance_tenancy.set(vpc.instance_tenancy().map(|t| t.as_str()).unwrap_or("default"));
        self.dhcp_options_id.set(vpc.dhcp_options_id().unwrap_or_default());
        self.owner_id.set(vpc.owner_id().unwrap_or_default());
        let ipv6 = vpc.ipv6_cidr_block_association_set().first();
        self.assign_generated_ipv6_cidr_block = match ipv6 {
            Some(_) => Attr::Known(true),
            None if self.assign_generated_ipv6_cidr_block.is_null() => Attr::Null,
            None => Attr::Known(false),
        };
        self.ipv6_cidr_block.set(ipv6.and_then(|a| a.ipv6_cidr_block()).unwrap_or_default());
        self.ipv6_association_id.set(ipv6.and_then(|a| a.association_id()).unwrap_or_default());
        let (support, hostnames, metrics, acl, table, group) = tokio::try_join!(
            attribute(aws, &id, VpcAttributeName::EnableDnsSupport),
            attribute(aws, &id, VpcAttributeName::EnableDnsHostnames),
            attribute(aws, &id, VpcAttributeName::EnableNetworkAddressUsageMetrics),
            aws.reads.vpc_acls.get(&id),
            aws.reads.vpc_tables.get(&id),
            aws.reads.vpc_groups.get(&id),
        )?;
        self.enable_dns_support.set(support);
        self.enable_dns_hostnames.set(hostnames);
        self.enable_network_address_usage_metrics.set(metrics);
        self.default_network_acl_id.set(acl.and_then(|a| a.network_acl_id).unwrap_or_default());
        let table = table.and_then(|t| t.route_table_id).unwrap_or_default();
        self.main_route_table_id.set(table.clone());
        if !self.default_route_table_id.is_known() {
            self.default_route_table_id.set(table);
        }
        self.default_security_group_id.set(group.and_then(|g| g.group_id).unwrap_or_default());
        tags::refresh(tags::from_ec2(vpc.tags()), &mut self.tags, &mut self.tags_all, aws);
        Ok(Some(self))
    }

    async fn update(&mut self, prior: &Self, ctx: &Context<Aws>) -> Result<()> {
        let aws = ctx.client();
        let id = self.id.require("id")?;
        // Names need the resolver: switched on it goes first, switched off last.
        let names =
            (self.enable_dns_hostnames != prior.enable_dns_hostnames).then(|| self.enable_dns_hostnames.or_default());
        if names == Some(false) {
            set(aws, id, VpcAttributeName::EnableDnsHostnames, false).await?;
        }
        if self.enable_dns_support != prior.enable_dns_support {
            set(aws, id, VpcAttributeName::EnableDnsSupport, self.enable_dns_support.or_default()).await?;
        }
        if names == Some(true) {
            set(aws, id, VpcAttributeName::EnableDnsHostnames, true).await?;
        }
        let metrics = &self.enable_network_address_usage_metrics;
        if *metrics != prior.enable_network_address_usage_metrics {
            set(aws, id, VpcAttributeName::EnableNetworkAddressUsageMetrics, metrics.or_default()).await?;
        }
        if self.instance_tenancy != prior.instance_tenancy {
            let request = aws.ec2.modify_vpc_tenancy().vpc_id(id);
            let tenancy = aws_sdk_ec2::types::VpcTenancy::from(self.instance_tenancy.or_default().as_str());
            request.instance_tenancy(tenancy).send().await.or_fail("Changing the VPC's tenancy")?;
        }
        tags::update_ec2(aws, id, &prior.tags_all, &self.tags_all).await
    }

    async fn delete(self, ctx: &Context<Aws>) -> Result<()> {
        let id = self.id.require("id")?;
        ctx.retry(
            |e| e.has_code(&["DependencyViolation"]),
            |_| async { ctx.client().ec2.delete_vpc().vpc_id(id).send().await.or_fail("Deleting the VPC").map(drop) },
        )
        .await
    }

    async fn modify_plan(plan: &mut Plan<'_, Self>) -> Result<()> {
        // AWS can take dedicated tenancy away from a VPC, but not give it.
        let tenancy = |v: &Self| v.instance_tenancy.or_default();
        if plan.prior.as_ref().is_some_and(|p| tenancy(p) != "dedicated" && tenancy(&plan.planned) == "dedicated") {
            plan.replace("instance_tenancy");
        }
        let client = plan.client();
        tags::plan(&plan.planned.tags, &mut plan.planned.tags_all, client);
        Ok(())
    }

    once::find_by_tag!();
}

impl Vpc {
    async fn request(&self, aws: &Aws, tags: Tags) -> Result<String> {
        let request = aws
            .ec2
            .create_vpc()
            .cidr_block(self.cidr_block.require("cidr_block")?)
            .instance_tenancy(Tenancy::from(self.instance_tenancy.or_default().as_str()))
            .amazon_provided_ipv6_cidr_block(self.assign_generated_ipv6_cidr_block.or_default())
            .set_tag_specifications(tags::specifications(ResourceType::Vpc, &tags));
        let made = request.customize().config_override(once::ec2()).send().await.or_fail("Creating the VPC")?;
        Ok(made.vpc().and_then(|v| v.vpc_id()).unwrap_or_default().to_owned())
    }
}

async fn lookup(aws: &Aws, token: &str) -> Result<Option<String>> {
    let answer = aws.ec2.describe_vpcs().filters(once::by_token(token)).send().await.or_fail("Looking for the VPC")?;
    Ok(answer.vpcs().first().and_then(|v| v.vpc_id()).map(str::to_owned))
}

async fn find(aws: &Aws, id: &str) -> Result<Option<aws_sdk_ec2::types::Vpc>> {
    aws.reads.vpcs.get(id).await
}

async fn state(aws: &Aws, id: &str) -> Result<Option<(String, ())>> {
    let vpc = find(aws, id).await?;
    Ok(vpc.map(|v| (v.state().map(|s| s.as_str().to_owned()).unwrap_or_default(), ())))
}

async fn set(aws: &Aws, id: &str, name: VpcAttributeName, value: bool) -> Result<()> {
    let value = AttributeBooleanValue::builder().value(value).build();
    let request = aws.ec2.modify_vpc_attribute().vpc_id(id);
    let request = match name {
        VpcAttributeName::EnableDnsHostnames => request.enable_dns_hostnames(value),
        VpcAttributeName::EnableDnsSupport => request.enable_dns_support(value),
        _ => request.enable_network_address_usage_metrics(value),
    };
    request.send().await.or_fail("Changing the VPC").map(drop)
}

/// One of the attributes that have a call of their own.
pub async fn attribute(aws: &Aws, id: &str, name: VpcAttributeName) -> Result<bool> {
    let answer = aws.ec2.describe_vpc_attribute().vpc_id(id).attribute(name).send().await;
    let answer = answer.or_fail("Reading the VPC's attributes")?;
    let value =
        answer.enable_dns_hostnames().or(answer.enable_dns_support()).or(answer.enable_network_address_usage_metrics());
    Ok(value.and_then(|v| v.value()).unwrap_or_default())
}

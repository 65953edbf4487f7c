//! Data source `aws_vpc`. API: DescribeVpcs, DescribeVpcAttribute, DescribeRouteTables.

use super::filters;
use super::util::{Filters, filter};
use super::vpc::attribute;
use crate::client::Aws;
use crate::error::Answer;
use crate::tags::{self, Tags};
use aws_sdk_ec2::types::VpcAttributeName;
use gpuform_provider_sdk::prelude::*;

/// One existing VPC.
#[derive(Model, Clone, PartialEq, Default)]
pub struct VpcData {
    /// The VPC's ID.
    #[attr(optional, computed)]
    pub id: Attr<String>,
    /// The main IPv4 range.
    #[attr(optional, computed)]
    pub cidr_block: Attr<String>,
    /// Whether to look for the region's default VPC.
    #[attr(optional, computed)]
    pub default: Attr<bool>,
    /// The set of DHCP options.
    #[attr(optional, computed)]
    pub dhcp_options_id: Attr<String>,
    /// The state.
    #[attr(optional, computed)]
    pub state: Attr<String>,
    /// Tags that the VPC has; all tags that were found.
    #[attr(optional, computed)]
    pub tags: Attr<Tags>,
    /// What must fit besides.
    #[block(nesting = "set")]
    pub filter: Vec<Filters>,
    /// The VPC's ARN.
    #[attr(computed)]
    pub arn: Attr<String>,
    /// All IPv4 ranges.
    #[attr(computed)]
    pub cidr_block_associations: Attr<Vec<CidrBlock>>,
    /// Whether instances with public addresses get public DNS names.
    #[attr(computed)]
    pub enable_dns_hostnames: Attr<bool>,
    /// Whether the VPC has a DNS resolver.
    #[attr(computed)]
    pub enable_dns_support: Attr<bool>,
    /// Whether network address usage metrics are kept.
    #[attr(computed)]
    pub enable_network_address_usage_metrics: Attr<bool>,
    /// Tenancy of the instances.
    #[attr(computed)]
    pub instance_tenancy: Attr<String>,
    /// ID of the association of the IPv6 range.
    #[attr(computed)]
    pub ipv6_association_id: Attr<String>,
    /// The IPv6 range.
    #[attr(computed)]
    pub ipv6_cidr_block: Attr<String>,
    /// The main route table.
    #[attr(computed)]
    pub main_route_table_id: Attr<String>,
    /// The account that owns the VPC.
    #[attr(computed)]
    pub owner_id: Attr<String>,
    #[timeouts(read = "20m")]
    pub timeouts: Timeouts,
}

/// An IPv4 range of a VPC.
#[derive(Model, Clone, PartialEq, Default)]
pub struct CidrBlock {
    /// ID of the association.
    #[attr(computed)]
    pub association_id: Attr<String>,
    /// The range.
    #[attr(computed)]
    pub cidr_block: Attr<String>,
    /// The association's state.
    #[attr(computed)]
    pub state: Attr<String>,
}

impl DataSource for VpcData {
    type Client = Aws;
    const TYPE: &'static str = "aws_vpc";

    async fn read(mut self, ctx: &Context<Aws>) -> Result<Self> {
        let aws = ctx.client();
        let more = vec![
            ("cidr", self.cidr_block.cloned()),
            ("dhcp-options-id", self.dhcp_options_id.cloned()),
            ("is-default", (self.default == true).then(|| "true".to_owned())),
            ("state", self.state.cloned()),
        ];
        let request = aws
            .ec2
            .describe_vpcs()
            .set_vpc_ids(self.id.cloned().map(|id| vec![id]))
            .set_filters(filters::all(&self.filter, &self.tags, more));
        let answer = request.send().await.or_fail("Reading the VPC")?;
        let vpc = match answer.vpcs() {
            [vpc] => vpc,
            [] => return Err(Error::new("No such VPC").detail("No VPC fits the arguments.")),
            many => {
                return Err(Error::new("Several VPCs")
                    .detail(format!("{} VPCs fit the arguments; narrow them down to one.", many.len())));
            }
        };
        let id = vpc.vpc_id().unwrap_or_default();
        let owner = vpc.owner_id().unwrap_or_default();
        self.arn.set(format!("arn:{}:ec2:{}:{owner}:vpc/{id}", aws.partition(), aws.region));
        self.owner_id.set(owner);
        self.cidr_block.set(vpc.cidr_block().unwrap_or_default());
        self.default.set(vpc.is_default().unwrap_or_default());
        self.dhcp_options_id.set(vpc.dhcp_options_id().unwrap_or_default());
        self.state.set(vpc.state().map(|s| s.as_str()).unwrap_or_default());
        self.instance_tenancy.set(vpc.instance_tenancy().map(|t| t.as_str()).unwrap_or_default());
        let ipv6 = vpc.ipv6_cidr_block_association_set().first();
        self.ipv6_association_id.set(ipv6.and_then(|a| a.association_id()).unwrap_or_default());
        self.ipv6_cidr_block.set(ipv6.and_then(|a| a.ipv6_cidr_block()).unwrap_or_default());
        let ranges = vpc.cidr_block_association_set().iter().map(|a| CidrBlock {
            association_id: a.association_id().into(),
            cidr_block: a.cidr_block().into(),
            state: a.cidr_block_state().and_then(|s| s.state()).map(|s| s.as_str()).into(),
        });
        self.cidr_block_associations.set(ranges.collect::<Vec<_>>());
        self.enable_dns_hostnames.set(attribute(aws, id, VpcAttributeName::EnableDnsHostnames).await?);
        self.enable_dns_support.set(attribute(aws, id, VpcAttributeName::EnableDnsSupport).await?);
        self.enable_network_address_usage_metrics
            .set(attribute(aws, id, VpcAttributeName::EnableNetworkAddressUsageMetrics).await?);
        let tables =
            aws.ec2.describe_route_tables().filters(filter("vpc-id", id)).filters(filter("association.main", "true"));
        let tables = tables.send().await.or_fail("Reading the VPC's main route table")?;
        let main = tables.route_tables().first().and_then(|t| t.route_table_id());
        self.main_route_table_id.set(main.unwrap_or_default());
        let tags = tags::from_ec2(vpc.tags()).into_iter().filter(|(k, _)| !aws.ignores_tag(k));
        self.tags.set(tags.collect::<Tags>());
        self.id.set(id);
        Ok(self)
    }
}

//! Data source `aws_subnets`. API: DescribeSubnets.

use super::filters;
use super::util::Filters;
use crate::client::Aws;
use crate::error::Answer;
use crate::tags::Tags;
use gpuform_provider_sdk::prelude::*;

/// IDs of the subnets that fit.
#[derive(Model, Clone, PartialEq, Default)]
pub struct Subnets {
    /// The region.
    #[attr(optional, computed)]
    pub id: Attr<String>,
    /// Only subnets that all filters let through.
    #[block(nesting = "set")]
    pub filter: Vec<Filters>,
    /// Only subnets with these tags.
    #[attr(optional)]
    pub tags: Attr<Tags>,
    /// IDs of the subnets.
    #[attr(computed)]
    pub ids: Attr<Vec<String>>,
    #[timeouts(read = "20m")]
    pub timeouts: Timeouts,
}

impl DataSource for Subnets {
    type Client = Aws;
    const TYPE: &'static str = "aws_subnets";

    async fn read(mut self, ctx: &Context<Aws>) -> Result<Self> {
        let aws = ctx.client();
        let request = aws.ec2.describe_subnets().set_filters(filters::all(&self.filter, &self.tags, Vec::new()));
        let mut pages = request.into_paginator().items().send();
        let mut ids = Vec::new();
        while let Some(subnet) = pages.next().await {
            ids.extend(subnet.or_fail("Reading the subnets")?.subnet_id);
        }
        ids.sort_unstable();
        self.ids.set(ids);
        self.id.set(aws.region.as_str());
        Ok(self)
    }
}

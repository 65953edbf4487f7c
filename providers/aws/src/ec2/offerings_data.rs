//! Data source `aws_ec2_instance_type_offerings`. API: DescribeInstanceTypeOfferings.

use crate::client::Aws;
use crate::ec2::util::{Filters, choice, filters};
use crate::error::Answer;
use gpuform_provider_sdk::prelude::*;

/// Which instance types are offered where.
#[derive(Model, Clone, PartialEq, Default)]
pub struct InstanceTypeOfferings {
    /// Only offerings that these filters (`instance-type`, `location`) let through.
    #[block(nesting = "set")]
    pub filter: Vec<Filters>,
    /// The region.
    #[attr(optional, computed)]
    pub id: Attr<String>,
    /// The types; each has its location at the same place of `locations`.
    #[attr(computed)]
    pub instance_types: Attr<Vec<String>>,
    /// `region` (unless given), `availability-zone`, `availability-zone-id` or `outpost`.
    #[attr(optional, validate = one_of(["region", "availability-zone", "availability-zone-id", "outpost"]))]
    pub location_type: Attr<String>,
    /// The kinds of the locations.
    #[attr(computed)]
    pub location_types: Attr<Vec<String>>,
    /// The locations.
    #[attr(computed)]
    pub locations: Attr<Vec<String>>,
    #[timeouts(read = "20m")]
    pub timeouts: Timeouts,
}

impl DataSource for InstanceTypeOfferings {
    type Client = Aws;
    const TYPE: &'static str = "aws_ec2_instance_type_offerings";

    async fn read(mut self, ctx: &Context<Aws>) -> Result<Self> {
        let aws = ctx.client();
        let request = aws.ec2.describe_instance_type_offerings().set_location_type(choice(&self.location_type));
        let mut pages = request.set_filters(filters(&self.filter)).into_paginator().send();
        let mut found: Vec<(String, String, String)> = Vec::new();
        while let Some(page) = pages.next().await {
            for o in page.or_fail("Reading the offerings of instance types")?.instance_type_offerings() {
                let kind = o.instance_type().map(|t| t.as_str()).unwrap_or_default();
                let location = o.location().unwrap_or_default();
                let location_type = o.location_type().map(|t| t.as_str()).unwrap_or_default();
                found.push((kind.to_owned(), location.to_owned(), location_type.to_owned()));
            }
        }
        // AWS gives them in no particular order; a stable one keeps plans empty.
        found.sort();
        self.id.set(aws.region.as_str());
        self.instance_types.set(found.iter().map(|o| o.0.clone()).collect::<Vec<_>>());
        self.locations.set(found.iter().map(|o| o.1.clone()).collect::<Vec<_>>());
        self.location_types.set(found.into_iter().map(|o| o.2).collect::<Vec<_>>());
        Ok(self)
    }
}

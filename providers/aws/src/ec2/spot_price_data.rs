//! Data source `aws_ec2_spot_price`. API: DescribeSpotPriceHistory.

use crate::client::Aws;
use crate::ec2::util::{Filters, choice, filters, render_time};
use crate::error::Answer;
use gpuform_provider_sdk::prelude::*;

/// The present spot price of a type in a zone.
#[derive(Model, Clone, PartialEq, Default)]
pub struct SpotPrice {
    /// The zone.
    #[attr(optional)]
    pub availability_zone: Attr<String>,
    /// Only prices that these filters of DescribeSpotPriceHistory let through.
    #[block(nesting = "set")]
    pub filter: Vec<Filters>,
    /// The region.
    #[attr(optional, computed)]
    pub id: Attr<String>,
    /// The type.
    #[attr(optional)]
    pub instance_type: Attr<String>,
    /// USD for an hour.
    #[attr(computed)]
    pub spot_price: Attr<String>,
    /// Since when.
    #[attr(computed)]
    pub spot_price_timestamp: Attr<String>,
    #[timeouts(read = "20m")]
    pub timeouts: Timeouts,
}

impl DataSource for SpotPrice {
    type Client = Aws;
    const TYPE: &'static str = "aws_ec2_spot_price";

    async fn read(mut self, ctx: &Context<Aws>) -> Result<Self> {
        let aws = ctx.client();
        let types = choice(&self.instance_type).map(|t| vec![t]);
        let mut pages = aws
            .ec2
            .describe_spot_price_history()
            .set_availability_zone(self.availability_zone.cloned())
            .set_instance_types(types)
            .set_filters(filters(&self.filter))
            .start_time(aws_smithy_types::DateTime::from(std::time::SystemTime::now()))
            .into_paginator()
            .send();
        let mut prices = Vec::new();
        while let Some(page) = pages.next().await {
            prices.extend(page.or_fail("Reading spot prices")?.spot_price_history.unwrap_or_default());
        }
        let [price] = prices.as_slice() else {
            let what = if prices.is_empty() { "No spot price matches" } else { "Several spot prices match" };
            return Err(Error::new(what).detail(format!(
                "{} prices match in {}. One type, one zone and a filter by product-description (such as Linux/UNIX) name \
                 one price.",
                prices.len(),
                aws.region
            )));
        };
        self.id.set(aws.region.as_str());
        self.spot_price.set(price.spot_price().unwrap_or_default());
        self.spot_price_timestamp.set(price.timestamp().map(render_time).unwrap_or_default());
        Ok(self)
    }
}

//! Data source `aws_availability_zones`. API: DescribeAvailabilityZones.

use super::filters;
use super::util::Filters;
use crate::client::Aws;
use crate::error::Answer;
use gpuform_provider_sdk::prelude::*;

/// The availability zones that the account can use in the region.
#[derive(Model, Clone, PartialEq, Default)]
pub struct AvailabilityZones {
    /// The region.
    #[attr(optional, computed)]
    pub id: Attr<String>,
    /// Whether zones count that the account has not opted into.
    #[attr(optional)]
    pub all_availability_zones: Attr<bool>,
    /// Names of zones to leave out.
    #[attr(optional)]
    pub exclude_names: Attr<Set<String>>,
    /// IDs of zones to leave out.
    #[attr(optional)]
    pub exclude_zone_ids: Attr<Set<String>>,
    /// Only zones in this state.
    #[attr(optional, validate = one_of(["available", "information", "impaired", "unavailable", "constrained"]))]
    pub state: Attr<String>,
    /// Only zones that all filters let through.
    #[block(nesting = "set")]
    pub filter: Vec<Filters>,
    /// Groups of the zones.
    #[attr(computed)]
    pub group_names: Attr<Set<String>>,
    /// Names of the zones, in order.
    #[attr(computed)]
    pub names: Attr<Vec<String>>,
    /// IDs of the zones, in the order of the names.
    #[attr(computed)]
    pub zone_ids: Attr<Vec<String>>,
    #[timeouts(read = "20m")]
    pub timeouts: Timeouts,
}

impl DataSource for AvailabilityZones {
    type Client = Aws;
    const TYPE: &'static str = "aws_availability_zones";

    async fn read(mut self, ctx: &Context<Aws>) -> Result<Self> {
        let aws = ctx.client();
        let filters = filters::all(&self.filter, &Attr::Null, vec![("state", self.state.cloned())]);
        let mut request = aws.ec2.describe_availability_zones().set_filters(filters);
        if let Some(all) = self.all_availability_zones.cloned() {
            request = request.all_availability_zones(all);
        }
        let answer = request.send().await.or_fail("Reading the availability zones")?;
        let (names, ids) = (self.exclude_names.or_default(), self.exclude_zone_ids.or_default());
        let excluded = |set: &Set<String>, text: Option<&str>| set.iter().any(|e| Some(e.as_str()) == text);
        let mut zones: Vec<_> = answer
            .availability_zones()
            .iter()
            .filter(|z| !excluded(&names, z.zone_name()) && !excluded(&ids, z.zone_id()))
            .collect();
        zones.sort_by(|a, b| a.zone_name().cmp(&b.zone_name()));
        let text = |t: Option<&str>| t.unwrap_or_default().to_owned();
        self.names.set(zones.iter().map(|z| text(z.zone_name())).collect::<Vec<String>>());
        self.zone_ids.set(zones.iter().map(|z| text(z.zone_id())).collect::<Vec<String>>());
        let groups = zones.iter().filter_map(|z| z.group_name()).map(str::to_owned);
        self.group_names.set(groups.collect::<std::collections::BTreeSet<_>>().into_iter().collect::<Set<String>>());
        self.id.set(aws.region.as_str());
        Ok(self)
    }
}

//! `aws_route`: one route of a table that may have others. The calls are in `routes.rs`.

use super::net::same_cidr;
use super::routes::{self, Destination, Target, TargetKind};
use crate::client::Aws;
use gpuform_provider_sdk::prelude::*;

/// A route of a route table. Do not manage the same table's routes in `aws_route_table` as well.
#[derive(Model, Clone, PartialEq, Default)]
pub struct Route {
    /// `r-`, the table's ID and a checksum of the destination.
    #[attr(optional, computed)]
    pub id: Attr<String>,
    /// The route table.
    #[attr(required, force_new)]
    pub route_table_id: Attr<String>,
    /// The destination, an IPv4 range.
    #[attr(optional, force_new, validate = ipv4_cidr(), exactly_one_of = ["destination_cidr_block", "destination_ipv6_cidr_block", "destination_prefix_list_id"])]
    pub destination_cidr_block: Attr<String>,
    /// The destination, an IPv6 range.
    #[attr(optional, force_new, validate = ipv6_cidr(), suppress = same_range, exactly_one_of = ["destination_cidr_block", "destination_ipv6_cidr_block", "destination_prefix_list_id"])]
    pub destination_ipv6_cidr_block: Attr<String>,
    /// The destination, a managed prefix list.
    #[attr(optional, force_new, exactly_one_of = ["destination_cidr_block", "destination_ipv6_cidr_block", "destination_prefix_list_id"])]
    pub destination_prefix_list_id: Attr<String>,
    /// Leads to a carrier gateway.
    #[attr(optional)]
    pub carrier_gateway_id: Attr<String>,
    /// Leads to a core network.
    #[attr(optional)]
    pub core_network_arn: Attr<String>,
    /// Leads to an egress-only internet gateway.
    #[attr(optional)]
    pub egress_only_gateway_id: Attr<String>,
    /// Leads to an internet gateway or a virtual private gateway.
    #[attr(optional)]
    pub gateway_id: Attr<String>,
    /// Leads to a local gateway.
    #[attr(optional)]
    pub local_gateway_id: Attr<String>,
    /// Leads to a NAT gateway.
    #[attr(optional)]
    pub nat_gateway_id: Attr<String>,
    /// Leads to a network interface.
    #[attr(optional, computed, recompute_on = ["carrier_gateway_id", "core_network_arn", "egress_only_gateway_id", "gateway_id", "local_gateway_id", "nat_gateway_id", "transit_gateway_id", "vpc_endpoint_id", "vpc_peering_connection_id"])]
    pub network_interface_id: Attr<String>,
    /// Leads to a transit gateway.
    #[attr(optional)]
    pub transit_gateway_id: Attr<String>,
    /// Leads to a VPC endpoint.
    #[attr(optional)]
    pub vpc_endpoint_id: Attr<String>,
    /// Leads to a peered VPC.
    #[attr(optional)]
    pub vpc_peering_connection_id: Attr<String>,
    /// The instance that has the network interface.
    #[attr(computed, recompute_on = ["network_interface_id"])]
    pub instance_id: Attr<String>,
    /// The account that owns the instance.
    #[attr(computed, recompute_on = ["network_interface_id"])]
    pub instance_owner_id: Attr<String>,
    /// How the route was made.
    #[attr(computed)]
    pub origin: Attr<String>,
    /// `active` or `blackhole`.
    #[attr(computed, recompute_on = ["carrier_gateway_id", "core_network_arn", "egress_only_gateway_id", "gateway_id", "local_gateway_id", "nat_gateway_id", "network_interface_id", "transit_gateway_id", "vpc_endpoint_id", "vpc_peering_connection_id"])]
    pub state: Attr<String>,
    #[timeouts(create = "5m", update = "2m", delete = "5m")]
    pub timeouts: Timeouts,
}

impl Resource for Route {
    type Client = Aws;
    const TYPE: &'static str = "aws_route";

    async fn create(&mut self, ctx: &Context<Aws>) -> Result<()> {
        let table = self.route_table_id.require("route_table_id")?;
        let destination = self.destination()?;
        routes::create(ctx, table, &destination, &self.target()?).await?;
        self.id.set(id(table, &destination));
        Ok(())
    }

    async fn read(mut self, ctx: &Context<Aws>) -> Result<Option<Self>> {
        let table = self.route_table_id.require("route_table_id")?.clone();
        let destination = self.destination()?;
        let Some(route) = routes::find(ctx.client(), &table, &destination).await? else { return Ok(None) };
        if self.id.is_null() {
            self.id.set(id(&table, &destination));
        }
        let target = Target::of(&route);
        for (kind, attr) in self.targets_mut() {
            let found = target.as_ref().filter(|t| t.kind == kind).map(|t| t.id.as_str()).unwrap_or_default();
            attr.refresh(found);
        }
        self.network_interface_id.set(route.network_interface_id().unwrap_or_default());
        self.instance_id.set(route.instance_id().unwrap_or_default());
        self.instance_owner_id.set(route.instance_owner_id().unwrap_or_default());
        self.origin.set(route.origin().map(|o| o.as_str()).unwrap_or_default());
        self.state.set(route.state().map(|s| s.as_str()).unwrap_or_default());
        Ok(Some(self))
    }

    async fn update(&mut self, prior: &Self, ctx: &Context<Aws>) -> Result<()> {
        let target = self.target()?;
        if prior.target().ok().as_ref() == Some(&target) {
            return Ok(());
        }
        let table = self.route_table_id.require("route_table_id")?;
        routes::replace(ctx.client(), table, &self.destination()?, &target).await
    }

    async fn delete(self, ctx: &Context<Aws>) -> Result<()> {
        routes::delete(ctx, self.route_table_id.require("route_table_id")?, &self.destination()?).await
    }

    /// `TABLE_DESTINATION`.
    async fn import(text: &str, _ctx: &Context<Aws>) -> Result<Self> {
        let Some((table, destination)) = text.split_once('_').filter(|(t, d)| t.starts_with("rtb-") && !d.is_empty())
        else {
            return Err(Error::new("Invalid import ID").detail(format!(
                "\"{text}\" should be the route table and the destination, e.g. rtb-0123456789abcdef0_10.0.0.0/16."
            )));
        };
        let mut route = Route { route_table_id: table.into(), ..Route::default() };
        let destination = Destination::parse(destination);
        route.id.set(id(table, &destination));
        match destination {
            Destination::Ipv4(d) => route.destination_cidr_block.set(d),
            Destination::Ipv6(d) => route.destination_ipv6_cidr_block.set(d),
            Destination::PrefixList(d) => route.destination_prefix_list_id.set(d),
        }
        Ok(route)
    }

    fn validate(&self, problems: &mut Problems) {
        let given = self.targets().iter().filter(|(_, a)| a.is_known()).count();
        let open = self.targets().iter().filter(|(_, a)| a.is_unknown()).count();
        if given > 1 || (given == 0 && open == 0) {
            let names = "carrier_gateway_id, core_network_arn, egress_only_gateway_id, gateway_id, local_gateway_id, \
                         nat_gateway_id, network_interface_id, transit_gateway_id, vpc_endpoint_id, \
                         vpc_peering_connection_id";
            problems.error("route_table_id", "A route needs one target", format!("Give exactly one of {names}."));
        }
    }

    async fn find_by_token(&self, _token: &str, ctx: &Context<Aws>) -> Result<Option<Self>> {
        let target = self.target()?;
        let found = self.clone().read(ctx).await?;
        Ok(found.filter(|r| r.target().is_ok_and(|t| t == target)))
    }
}

impl Route {
    fn destination(&self) -> Result<Destination> {
        let text = |a: &Attr<String>| super::net::filled(a);
        text(&self.destination_cidr_block)
            .map(Destination::Ipv4)
            .or_else(|| text(&self.destination_ipv6_cidr_block).map(Destination::Ipv6))
            .or_else(|| text(&self.destination_prefix_list_id).map(Destination::PrefixList))
            .ok_or_else(|| Error::new("The route has no destination"))
    }

    fn targets(&self) -> [(TargetKind, &Attr<String>); 10] {
        [
            (TargetKind::CarrierGateway, &self.carrier_gateway_id),
            (TargetKind::CoreNetwork, &self.core_network_arn),
            (TargetKind::EgressOnlyGateway, &self.egress_only_gateway_id),
            (TargetKind::Gateway, &self.gateway_id),
            (TargetKind::LocalGateway, &self.local_gateway_id),
            (TargetKind::NatGateway, &self.nat_gateway_id),
            (TargetKind::TransitGateway, &self.transit_gateway_id),
            (TargetKind::VpcEndpoint, &self.vpc_endpoint_id),
            (TargetKind::VpcPeering, &self.vpc_peering_connection_id),
            (TargetKind::NetworkInterface, &self.network_interface_id),
        ]
    }

    /// All but the network interface, which other targets have as well.
    fn targets_mut(&mut self) -> [(TargetKind, &mut Attr<String>); 9] {
        [
            (TargetKind::CarrierGateway, &mut self.carrier_gateway_id),
            (TargetKind::CoreNetwork, &mut self.core_network_arn),
            (TargetKind::EgressOnlyGateway, &mut self.egress_only_gateway_id),
            (TargetKind::Gateway, &mut self.gateway_id),
            (TargetKind::LocalGateway, &mut self.local_gateway_id),
            (TargetKind::NatGateway, &mut self.nat_gateway_id),
            (TargetKind::TransitGateway, &mut self.transit_gateway_id),
            (TargetKind::VpcEndpoint, &mut self.vpc_endpoint_id),
            (TargetKind::VpcPeering, &mut self.vpc_peering_connection_id),
        ]
    }

    fn target(&self) -> Result<Target> {
        Target::first(self.targets().map(|(kind, attr)| (kind, attr.as_deref())))
            .ok_or_else(|| Error::new("The route has no target"))
    }
}

/// The ID that hashicorp/aws gives a route.
fn id(table: &str, destination: &Destination) -> String {
    format!("r-{table}{}", crc32fast::hash(destination.text().as_bytes()))
}

fn same_range(old: &Value, new: &Value) -> bool {
    matches!((old.as_str(), new.as_str()), (Some(a), Some(b)) if same_cidr(a, b))
}

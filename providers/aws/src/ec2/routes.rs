//! Routes as `aws_route` and `aws_route_table` share them: where to and by what, and the calls on them. API:
//! DescribeRouteTables, CreateRoute, ReplaceRoute, DeleteRoute.

use super::net::same_cidr;
use crate::client::Aws;
use crate::error::Answer;
use aws_sdk_ec2::types::{Route, RouteTable};
use gpuform_provider_sdk::prelude::*;

/// Which traffic a route is for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Destination {
    Ipv4(String),
    Ipv6(String),
    PrefixList(String),
}

impl Destination {
    /// From text as in an import: a range or the ID of a prefix list.
    pub fn parse(text: &str) -> Destination {
        match text {
            t if t.starts_with("pl-") => Destination::PrefixList(t.to_owned()),
            t if t.contains(':') => Destination::Ipv6(t.to_owned()),
            t => Destination::Ipv4(t.to_owned()),
        }
    }

    pub fn of(route: &Route) -> Option<Destination> {
        let text = |v: Option<&str>| v.filter(|s| !s.is_empty()).map(str::to_owned);
        text(route.destination_cidr_block())
            .map(Destination::Ipv4)
            .or_else(|| text(route.destination_ipv6_cidr_block()).map(Destination::Ipv6))
            .or_else(|| text(route.destination_prefix_list_id()).map(Destination::PrefixList))
    }

    pub fn text(&self) -> &str {
        let (Destination::Ipv4(t) | Destination::Ipv6(t) | Destination::PrefixList(t)) = self;
        t
    }

    pub fn same(&self, other: &Destination) -> bool {
        same_cidr(self.text(), other.text())
    }
}

/// What a route leads to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Target {
    pub kind: TargetKind,
    pub id: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TargetKind {
    CarrierGateway,
    CoreNetwork,
    EgressOnlyGateway,
    Gateway,
    LocalGateway,
    NatGateway,
    NetworkInterface,
    TransitGateway,
    VpcEndpoint,
    VpcPeering,
}

use TargetKind::*;

impl Target {
    /// The first target that is given. EC2 reports several for one route (an instance's interface, too).
    pub fn first<'a>(targets: impl IntoIterator<Item = (TargetKind, Option<&'a str>)>) -> Option<Target> {
        let given = |(kind, id): (TargetKind, Option<&str>)| {
            id.filter(|id| !id.is_empty()).map(|id| Target { kind, id: id.to_owned() })
        };
        targets.into_iter().find_map(given)
    }

    pub fn of(route: &Route) -> Option<Target> {
        let (endpoint, gateway) = match route.gateway_id() {
            Some(id) if id.starts_with("vpce-") => (Some(id), None),
            id => (None, id),
        };
        Target::first([
            (CarrierGateway, route.carrier_gateway_id()),
            (CoreNetwork, route.core_network_arn()),
            (EgressOnlyGateway, route.egress_only_internet_gateway_id()),
            (VpcEndpoint, endpoint),
            (Gateway, gateway),
            (LocalGateway, route.local_gateway_id()),
            (NatGateway, route.nat_gateway_id()),
            (NetworkInterface, route.network_interface_id()),
            (TransitGateway, route.transit_gateway_id()),
            (VpcPeering, route.vpc_peering_connection_id()),
        ])
    }
}

/// Fills a CreateRoute or ReplaceRoute request; both have the same setters.
macro_rules! filled_in {
    ($request:expr, $destination:expr, $target:expr) => {{
        let id = &$target.id;
        let request = match $destination {
            Destination::Ipv4(d) => $request.destination_cidr_block(d),
            Destination::Ipv6(d) => $request.destination_ipv6_cidr_block(d),
            Destination::PrefixList(d) => $request.destination_prefix_list_id(d),
        };
        match $target.kind {
            CarrierGateway => request.carrier_gateway_id(id),
            CoreNetwork => request.core_network_arn(id),
            EgressOnlyGateway => request.egress_only_internet_gateway_id(id),
            Gateway => request.gateway_id(id),
            LocalGateway => request.local_gateway_id(id),
            NatGateway => request.nat_gateway_id(id),
            NetworkInterface => request.network_interface_id(id),
            TransitGateway => request.transit_gateway_id(id),
            VpcEndpoint => request.vpc_endpoint_id(id),
            VpcPeering => request.vpc_peering_connection_id(id),
        }
    }};
}

/// Makes a route and waits until it can be seen. A gateway that was just made may not be usable at once. A route that
/// leads where it should already is no error: an answer may have been lost.
pub async fn create(ctx: &Context<Aws>, table: &str, destination: &Destination, target: &Target) -> Result<()> {
    let aws = ctx.client();
    let request = filled_in!(aws.ec2.create_route().route_table_id(table), destination, target);
    let made = ctx
        .retry(
            |e| {
                e.has_code(&[
                    "InvalidRouteTableID.NotFound",
                    "InvalidTransitGatewayID.NotFound",
                    "NatGatewayNotFound",
                    "InvalidNatGatewayID.NotFound",
                ])
            },
            |attempt| {
                let request = request.clone();
                async move {
                    let answer = request.send().await.or_fail("Creating the route").map(drop);
                    // Only a young object is invisible; one that does not exist never appears.
                    answer.map_err(|e| if attempt > 8 { e.code("NotFound") } else { e })
                }
            },
        )
        .await;
    match made {
        Err(e) if e.has_code(&["RouteAlreadyExists"]) && leads(aws, table, destination, target).await? => {}
        other => other?,
    }
    let wait = Wait::until("route", &["present"]);
    ctx.wait_for(&wait, || async { Ok(find(aws, table, destination).await?.map(|_| ("present".to_owned(), ()))) }).await
}

/// Leads an existing route to another target.
pub async fn replace(aws: &Aws, table: &str, destination: &Destination, target: &Target) -> Result<()> {
    let request = filled_in!(aws.ec2.replace_route().route_table_id(table), destination, target);
    // A VPC's own route is reset to "local" by a setting of its own.
    let request = if target.kind == Gateway && target.id == "local" {
        request.set_gateway_id(None).local_target(true)
    } else {
        request
    };
    request.send().await.or_fail("Changing the route").map(drop)
}

/// Removes a route; none is no error.
pub async fn delete(ctx: &Context<Aws>, table: &str, destination: &Destination) -> Result<()> {
    let aws = ctx.client();
    let request = aws.ec2.delete_route().route_table_id(table);
    let request = match destination {
        Destination::Ipv4(d) => request.destination_cidr_block(d),
        Destination::Ipv6(d) => request.destination_ipv6_cidr_block(d),
        Destination::PrefixList(d) => request.destination_prefix_list_id(d),
    };
    match request.send().await.or_fail("Deleting the route") {
        Err(e) if e.is_not_found() => return Ok(()),
        other => other?,
    };
    let gone = Wait::until_gone("route");
    ctx.wait_until_gone(&gone, || async {
        Ok(find(aws, table, destination).await?.map(|_| ("present".to_owned(), ())))
    })
    .await
}

/// The route for a destination.
pub async fn find(aws: &Aws, table: &str, destination: &Destination) -> Result<Option<Route>> {
    let Some(table) = find_table(aws, table).await? else { return Ok(None) };
    let wanted = |r: &&Route| Destination::of(r).is_some_and(|d| d.same(destination));
    Ok(table.routes().iter().find(wanted).cloned())
}

pub async fn find_table(aws: &Aws, id: &str) -> Result<Option<RouteTable>> {
    aws.reads.route_tables.get(id).await
}

async fn leads(aws: &Aws, table: &str, destination: &Destination, target: &Target) -> Result<bool> {
    Ok(find(aws, table, destination).await?.and_then(|r| Target::of(&r)).is_some_and(|t| t == *target))
}

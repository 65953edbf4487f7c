//! `aws_route_table`. API: CreateRouteTable, DescribeRouteTables, EnableVgwRoutePropagation,
//! DisableVgwRoutePropagation, DisassociateRouteTable, DeleteRouteTable; the calls on routes are in `routes.rs`.

use super::net::{filled, same_cidr};
use super::routes::{self, Destination, Target, TargetKind};
use crate::client::Aws;
use crate::error::Answer;
use crate::once;
use crate::tags::{self, Tags};
use aws_sdk_ec2::types::{ResourceType, Route as Found, RouteOrigin, RouteTable as FoundTable};
use gpuform_provider_sdk::codec::AttrValue;
use gpuform_provider_sdk::prelude::*;

/// A route table of a VPC.
#[derive(Model, Clone, PartialEq, Default)]
pub struct RouteTable {
    /// The table's ID.
    #[attr(optional, computed)]
    pub id: Attr<String>,
    /// The table's ARN.
    #[attr(computed)]
    pub arn: Attr<String>,
    /// The VPC.
    #[attr(required, force_new)]
    pub vpc_id: Attr<String>,
    /// The routes. Where none is written, routes are left to `aws_route`.
    #[attr(optional, computed, suppress = same_routes)]
    pub route: Attr<Set<Route>>,
    /// Virtual private gateways that make routes in the table.
    #[attr(optional, computed)]
    pub propagating_vgws: Attr<Set<String>>,
    /// The account that owns the table.
    #[attr(computed)]
    pub owner_id: Attr<String>,
    /// Tags.
    #[attr(optional)]
    pub tags: Attr<Tags>,
    /// Tags with the provider's default tags.
    #[attr(optional, computed)]
    pub tags_all: Attr<Tags>,
    #[timeouts(create = "5m", update = "2m", delete = "5m")]
    pub timeouts: Timeouts,
}

/// A route: one destination, one target.
#[derive(Model, Clone, PartialEq, Default)]
pub struct Route {
    /// The destination, an IPv4 range.
    #[attr(optional)]
    pub cidr_block: Attr<String>,
    /// The destination, an IPv6 range.
    #[attr(optional)]
    pub ipv6_cidr_block: Attr<String>,
    /// The destination, a managed prefix list.
    #[attr(optional)]
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
    #[attr(optional)]
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
}

impl Resource for RouteTable {
    type Client = Aws;
    const TYPE: &'static str = "aws_route_table";

    async fn create(&mut self, ctx: &Context<Aws>) -> Result<()> {
        let aws = ctx.client();
        let id = self.request(aws, ctx.client_token()).await?;
        self.id.set(id.clone());
        let wait = Wait::until("route table", &["ready"]);
        ctx.wait_for(&wait, || ready(aws, &id)).await?;
        self.propagate(aws, &id, &Set::new()).await?;
        self.change_routes(ctx, &id, &Set::new()).await
    }

    async fn read(mut self, ctx: &Context<Aws>) -> Result<Option<Self>> {
        let aws = ctx.client();
        let id = self.id.require("id")?.clone();
        let Some(table) = routes::find_table(aws, &id).await? else { return Ok(None) };
        let owner = table.owner_id().unwrap_or_default();
        self.arn.set(format!("arn:{}:ec2:{}:{owner}:route-table/{id}", aws.partition(), aws.region));
        self.owner_id.set(owner);
        self.vpc_id.set(table.vpc_id().unwrap_or_default());
        self.route.set(Route::reported(&table, &self.route.or_default()));
        let gateways = table.propagating_vgws().iter().filter_map(|g| g.gateway_id()).map(str::to_owned);
        self.propagating_vgws.set(gateways.collect::<Set<String>>());
        tags::refresh(tags::from_ec2(table.tags()), &mut self.tags, &mut self.tags_all, aws);
        Ok(Some(self))
    }

    async fn update(&mut self, prior: &Self, ctx: &Context<Aws>) -> Result<()> {
        let id = self.id.require("id")?;
        self.propagate(ctx.client(), id, &prior.propagating_vgws.or_default()).await?;
        if self.route != prior.route {
            self.change_routes(ctx, id, &prior.route.or_default()).await?;
        }
        tags::update_ec2(ctx.client(), id, &prior.tags_all, &self.tags_all).await
    }

    async fn delete(self, ctx: &Context<Aws>) -> Result<()> {
        let (aws, id) = (ctx.client(), self.id.require("id")?);
        let Some(table) = routes::find_table(aws, id).await? else { return Ok(()) };
        for association in table.associations().iter().filter_map(|a| a.route_table_association_id()) {
            let request = aws.ec2.disassociate_route_table().association_id(association);
            match request.send().await.or_fail("Disassociating the route table") {
                Err(e) if !e.is_not_found() => return Err(e),
                _ => {}
            }
        }
        ctx.retry(
            |e| e.has_code(&["DependencyViolation"]),
            |_| async {
                let request = aws.ec2.delete_route_table().route_table_id(id);
                request.send().await.or_fail("Deleting the route table").map(drop)
            },
        )
        .await?;
        ctx.wait_until_gone(&Wait::until_gone("route table"), || ready(aws, id)).await
    }

    tags::plan_tags!();

    fn validate(&self, problems: &mut Problems) {
        for route in self.route.get().into_iter().flatten() {
            let destinations = [&route.cidr_block, &route.ipv6_cidr_block, &route.destination_prefix_list_id];
            let open = |attrs: &[&Attr<String>]| attrs.iter().any(|a| a.is_unknown());
            let count = |attrs: &[&Attr<String>]| attrs.iter().filter(|a| filled(a).is_some()).count();
            if count(&destinations) != 1 && !open(&destinations) {
                problems.error(
                    "route",
                    "A route needs one destination",
                    "Give exactly one of cidr_block, ipv6_cidr_block and destination_prefix_list_id.",
                );
            }
            let targets = route.targets().map(|(_, a)| a);
            if count(&targets) != 1 && !open(&targets) {
                problems.error("route", "A route needs one target", "Give exactly one target, such as gateway_id.");
            }
        }
    }

    once::find_by_repeating!();
}

impl RouteTable {
    async fn request(&self, aws: &Aws, token: &str) -> Result<String> {
        let request = aws
            .ec2
            .create_route_table()
            .client_token(token)
            .vpc_id(self.vpc_id.or_default())
            .set_tag_specifications(tags::specifications(ResourceType::RouteTable, &self.tags_all.or_default()));
        let made = request.send().await.or_fail("Creating the route table")?;
        Ok(made.route_table().and_then(|t| t.route_table_id()).unwrap_or_default().to_owned())
    }

    /// Brings the propagating gateways from `prior` to what is planned.
    async fn propagate(&self, aws: &Aws, id: &str, prior: &Set<String>) -> Result<()> {
        let Some(planned) = self.propagating_vgws.get() else { return Ok(()) };
        for gateway in prior.without(planned) {
            let request = aws.ec2.disable_vgw_route_propagation().route_table_id(id).gateway_id(gateway);
            request.send().await.or_fail("Ending the propagation of routes")?;
        }
        for gateway in planned.without(prior) {
            let request = aws.ec2.enable_vgw_route_propagation().route_table_id(id).gateway_id(gateway);
            request.send().await.or_fail("Starting the propagation of routes")?;
        }
        Ok(())
    }

    /// Brings the routes from `prior` to what is planned.
    async fn change_routes(&self, ctx: &Context<Aws>, id: &str, prior: &Set<Route>) -> Result<()> {
        let Some(planned) = self.route.get() else { return Ok(()) };
        let old: Vec<_> = prior.iter().filter_map(Route::parts).collect();
        let new: Vec<_> = planned.iter().filter_map(Route::parts).collect();
        let among = |routes: &[(Destination, Target)], d: &Destination| {
            routes.iter().find(|(other, _)| other.same(d)).map(|(_, target)| target.clone())
        };
        for (destination, target) in &old {
            if among(&new, destination).is_none() && target.id != "local" {
                routes::delete(ctx, id, destination).await?;
            }
        }
        for (destination, target) in &new {
            match among(&old, destination) {
                Some(was) if was == *target => {}
                Some(_) => routes::replace(ctx.client(), id, destination, target).await?,
                // The VPC's own routes are there from the beginning.
                None if target.id == "local" => {}
                None => match routes::find(ctx.client(), id, destination).await? {
                    Some(r) if r.origin() == Some(&RouteOrigin::CreateRouteTable) => {
                        routes::replace(ctx.client(), id, destination, target).await?;
                    }
                    _ => routes::create(ctx, id, destination, target).await?,
                },
            }
        }
        Ok(())
    }
}

impl Route {
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

    /// Destination and target, where the route is complete.
    fn parts(&self) -> Option<(Destination, Target)> {
        let destination = filled(&self.cidr_block)
            .map(Destination::Ipv4)
            .or_else(|| filled(&self.ipv6_cidr_block).map(Destination::Ipv6))
            .or_else(|| filled(&self.destination_prefix_list_id).map(Destination::PrefixList))?;
        Some((destination, Target::first(self.targets().map(|(kind, attr)| (kind, attr.as_deref())))?))
    }

    fn new(destination: Destination, target: Target) -> Route {
        let mut route = Route::default();
        match destination {
            Destination::Ipv4(d) => route.cidr_block.set(d),
            Destination::Ipv6(d) => route.ipv6_cidr_block.set(d),
            Destination::PrefixList(d) => route.destination_prefix_list_id.set(d),
        }
        let attr = match target.kind {
            TargetKind::CarrierGateway => &mut route.carrier_gateway_id,
            TargetKind::CoreNetwork => &mut route.core_network_arn,
            TargetKind::EgressOnlyGateway => &mut route.egress_only_gateway_id,
            TargetKind::Gateway => &mut route.gateway_id,
            TargetKind::LocalGateway => &mut route.local_gateway_id,
            TargetKind::NatGateway => &mut route.nat_gateway_id,
            TargetKind::NetworkInterface => &mut route.network_interface_id,
            TargetKind::TransitGateway => &mut route.transit_gateway_id,
            TargetKind::VpcEndpoint => &mut route.vpc_endpoint_id,
            TargetKind::VpcPeering => &mut route.vpc_peering_connection_id,
        };
        attr.set(target.id);
        route
    }

    /// The table's routes, each as it is written in `known` where that means the same.
    fn reported(table: &FoundTable, known: &Set<Route>) -> Set<Route> {
        let written: Vec<_> = known.iter().filter_map(|r| Some((r.parts()?, r))).collect();
        let as_written = |destination: Destination, target: Target| {
            let same = written.iter().find(|((d, t), _)| d.same(&destination) && *t == target);
            same.map_or_else(|| Route::new(destination, target), |(_, route)| (*route).clone())
        };
        let is_written = |d: &Destination| written.iter().any(|((w, _), _)| w.same(d));
        let mut found = Vec::new();
        for route in table.routes() {
            let (Some(destination), Some(target)) = (Destination::of(route), Target::of(route)) else { continue };
            if is_written(&destination) || is_configurable(route, &destination, &target) {
                found.push(as_written(destination, target));
            }
        }
        found.into()
    }
}

/// Not one of those that AWS makes: the VPC's own, propagated ones, those of gateway endpoints.
fn is_configurable(route: &Found, destination: &Destination, target: &Target) -> bool {
    let of_endpoint = target.kind == TargetKind::VpcEndpoint && matches!(destination, Destination::PrefixList(_));
    target.id != "local" && route.origin() != Some(&RouteOrigin::EnableVgwRoutePropagation) && !of_endpoint
}

/// Sets of routes that mean the same: null or "" for what is not said, spelling of ranges.
fn same_routes(old: &Value, new: &Value) -> bool {
    let parts = |v: &Value| -> Option<Vec<(Destination, Target)>> {
        Set::<Route>::decode(v).ok()?.iter().map(Route::parts).collect()
    };
    let (Some(a), Some(b)) = (parts(old), parts(new)) else { return false };
    let within = |a: &[(Destination, Target)], b: &[(Destination, Target)]| {
        a.iter().all(|(d, t)| b.iter().any(|(e, u)| same_cidr(d.text(), e.text()) && t == u))
    };
    within(&a, &b) && within(&b, &a)
}

async fn ready(aws: &Aws, id: &str) -> Result<Option<(String, ())>> {
    Ok(routes::find_table(aws, id).await?.map(|_| ("ready".to_owned(), ())))
}

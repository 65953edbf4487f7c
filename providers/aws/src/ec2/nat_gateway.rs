//! `aws_nat_gateway`. API: CreateNatGateway, DescribeNatGateways, AssociateNatGatewayAddress,
//! DisassociateNatGatewayAddress, DeleteNatGateway.

use super::net::filled;
use crate::client::Aws;
use crate::error::Answer;
use crate::once;
use crate::tags::{self, Tags};
use aws_sdk_ec2::types::{ConnectivityType, NatGateway as Found, NatGatewayAddress, ResourceType};
use gpuform_provider_sdk::prelude::*;

/// Network address translation for private subnets.
#[derive(Model, Clone, PartialEq, Default)]
pub struct NatGateway {
    /// The gateway's ID.
    #[attr(optional, computed)]
    pub id: Attr<String>,
    /// The subnet that the gateway lies in.
    #[attr(required, force_new)]
    pub subnet_id: Attr<String>,
    /// `public` or `private`.
    #[attr(optional, default = "public", force_new, validate = one_of(["public", "private"]))]
    pub connectivity_type: Attr<String>,
    /// Allocation of the public address.
    #[attr(optional, force_new)]
    pub allocation_id: Attr<String>,
    /// The private address.
    #[attr(optional, computed, force_new, validate = ip_address())]
    pub private_ip: Attr<String>,
    /// Allocations of further public addresses.
    #[attr(optional, computed)]
    pub secondary_allocation_ids: Attr<Set<String>>,
    /// How many further private addresses to assign.
    #[attr(optional, computed, force_new, conflicts_with = ["secondary_private_ip_addresses"])]
    pub secondary_private_ip_address_count: Attr<i32>,
    /// Further private addresses.
    #[attr(optional, computed, force_new, recompute_on = ["secondary_allocation_ids"])]
    pub secondary_private_ip_addresses: Attr<Set<String>>,
    /// ID of the public address's association.
    #[attr(computed)]
    pub association_id: Attr<String>,
    /// The gateway's network interface.
    #[attr(computed)]
    pub network_interface_id: Attr<String>,
    /// The public address.
    #[attr(computed)]
    pub public_ip: Attr<String>,
    /// Tags.
    #[attr(optional)]
    pub tags: Attr<Tags>,
    /// Tags with the provider's default tags.
    #[attr(optional, computed)]
    pub tags_all: Attr<Tags>,
    #[timeouts(create = "10m", update = "10m", delete = "30m")]
    pub timeouts: Timeouts,
}

impl Resource for NatGateway {
    type Client = Aws;
    const TYPE: &'static str = "aws_nat_gateway";

    async fn create(&mut self, ctx: &Context<Aws>) -> Result<()> {
        let aws = ctx.client();
        let id = self.request(ctx.client(), ctx.client_token()).await?;
        self.id.set(id.clone());
        let wait = Wait::until("NAT gateway", &["available"]).pending(&["pending"]);
        ctx.wait_for(&wait, || state(aws, &id)).await.map(drop)
    }

    async fn read(mut self, ctx: &Context<Aws>) -> Result<Option<Self>> {
        let aws = ctx.client();
        let id = self.id.require("id")?.clone();
        let Some(gateway) = find(aws, &id).await?.filter(|g| !is_gone(g)) else { return Ok(None) };
        self.subnet_id.set(gateway.subnet_id().unwrap_or_default());
        self.connectivity_type.set(gateway.connectivity_type().map(ConnectivityType::as_str).unwrap_or("public"));
        let (primary, others): (Vec<_>, Vec<_>) =
            gateway.nat_gateway_addresses().iter().partition(|a| a.is_primary() != Some(false));
        let primary = primary.first();
        let text = |f: fn(&NatGatewayAddress) -> Option<&str>| primary.and_then(|a| f(a)).unwrap_or_default();
        self.allocation_id.refresh(text(NatGatewayAddress::allocation_id));
        self.private_ip.set(text(NatGatewayAddress::private_ip));
        self.public_ip.set(text(NatGatewayAddress::public_ip));
        self.association_id.set(text(NatGatewayAddress::association_id));
        self.network_interface_id.set(text(NatGatewayAddress::network_interface_id));
        let all = |f: fn(&NatGatewayAddress) -> Option<&str>| -> Set<String> {
            others.iter().filter_map(|a| f(a)).map(str::to_owned).collect()
        };
        self.secondary_allocation_ids.set(all(NatGatewayAddress::allocation_id));
        let addresses = all(NatGatewayAddress::private_ip);
        self.secondary_private_ip_address_count.set(i32::try_from(addresses.len()).unwrap_or_default());
        self.secondary_private_ip_addresses.set(addresses);
        tags::refresh(tags::from_ec2(gateway.tags()), &mut self.tags, &mut self.tags_all, aws);
        Ok(Some(self))
    }

    async fn update(&mut self, prior: &Self, ctx: &Context<Aws>) -> Result<()> {
        let aws = ctx.client();
        let id = self.id.require("id")?;
        let (old, new) = (prior.secondary_allocation_ids.or_default(), self.secondary_allocation_ids.or_default());
        if self.secondary_allocation_ids.is_known() && old != new {
            let gone: Vec<&String> = old.without(&new).collect();
            let gateway = find(aws, id).await?.ok_or_else(|| Error::not_found("The NAT gateway is gone"))?;
            let associations: Vec<String> = gateway
                .nat_gateway_addresses()
                .iter()
                .filter(|a| a.allocation_id().is_some_and(|a| gone.iter().any(|g| *g == a)))
                .filter_map(|a| a.association_id().map(str::to_owned))
                .collect();
            if !associations.is_empty() {
                let request = aws.ec2.disassociate_nat_gateway_address().nat_gateway_id(id);
                let request = request.set_association_ids(Some(associations));
                request.send().await.or_fail("Removing addresses of the NAT gateway")?;
            }
            let added: Vec<String> = new.without(&old).cloned().collect();
            if !added.is_empty() {
                let request = aws.ec2.associate_nat_gateway_address().nat_gateway_id(id);
                let request = request.set_allocation_ids(Some(added));
                request.send().await.or_fail("Adding addresses to the NAT gateway")?;
            }
            let wait = Wait::until("NAT gateway's addresses", &["settled"]);
            ctx.wait_for(&wait, || settled(aws, id)).await?;
        }
        tags::update_ec2(aws, id, &prior.tags_all, &self.tags_all).await
    }

    async fn delete(self, ctx: &Context<Aws>) -> Result<()> {
        let (aws, id) = (ctx.client(), self.id.require("id")?);
        let request = aws.ec2.delete_nat_gateway().nat_gateway_id(id);
        request.send().await.or_fail("Deleting the NAT gateway")?;
        let wait = Wait::until_gone("NAT gateway").pending(&["available", "pending", "deleting", "failed"]);
        ctx.wait_until_gone(&wait, || async {
            Ok(find(aws, id).await?.filter(|g| status(g) != "deleted").map(|g| (status(&g), ())))
        })
        .await
    }

    tags::plan_tags!();

    fn validate(&self, problems: &mut Problems) {
        let public = self.connectivity_type.unwrap_or("public".into()) == "public";
        if public && self.allocation_id.is_null() && !self.connectivity_type.is_unknown() {
            problems.error("allocation_id", "Missing argument", "A public NAT gateway needs an allocation_id.");
        }
        if !public && self.allocation_id.is_known() {
            problems.error("allocation_id", "Conflicting arguments", "A private NAT gateway has no public address.");
        }
    }

    once::find_by_repeating!();
}

impl NatGateway {
    async fn request(&self, aws: &Aws, token: &str) -> Result<String> {
        let secondary = |s: &Attr<Set<String>>| s.cloned().map(Set::into_vec).filter(|l| !l.is_empty());
        let request = aws
            .ec2
            .create_nat_gateway()
            .client_token(token)
            .subnet_id(self.subnet_id.or_default())
            .connectivity_type(ConnectivityType::from(self.connectivity_type.or_default().as_str()))
            .set_allocation_id(filled(&self.allocation_id))
            .set_private_ip_address(filled(&self.private_ip))
            .set_secondary_allocation_ids(secondary(&self.secondary_allocation_ids))
            .set_secondary_private_ip_addresses(secondary(&self.secondary_private_ip_addresses))
            .set_secondary_private_ip_address_count(self.secondary_private_ip_address_count.cloned().filter(|n| *n > 0))
            .set_tag_specifications(tags::specifications(ResourceType::Natgateway, &self.tags_all.or_default()));
        let made = request.send().await.or_fail("Creating the NAT gateway")?;
        Ok(made.nat_gateway().and_then(|g| g.nat_gateway_id()).unwrap_or_default().to_owned())
    }
}

async fn find(aws: &Aws, id: &str) -> Result<Option<Found>> {
    aws.reads.nat_gateways.get(id).await
}

fn status(gateway: &Found) -> String {
    gateway.state().map(|s| s.as_str().to_owned()).unwrap_or_default()
}

fn is_gone(gateway: &Found) -> bool {
    matches!(status(gateway).as_str(), "deleted" | "deleting" | "failed")
}

/// The state; a failure is an error that says why.
async fn state(aws: &Aws, id: &str) -> Result<Option<(String, ())>> {
    let Some(gateway) = find(aws, id).await? else { return Ok(None) };
    if status(&gateway) == "failed" {
        let code = gateway.failure_code().unwrap_or("failed");
        let why = gateway.failure_message().unwrap_or("AWS gave no reason.");
        return Err(Error::new("Creating the NAT gateway failed").detail(format!("{code}: {why}")).code(code));
    }
    Ok(Some((status(&gateway), ())))
}

/// Whether addresses are still being added or removed.
async fn settled(aws: &Aws, id: &str) -> Result<Option<(String, ())>> {
    let Some(gateway) = find(aws, id).await? else { return Ok(None) };
    let mut states = gateway.nat_gateway_addresses().iter().filter_map(|a| a.status()).map(|s| s.as_str());
    let busy = states.find(|s| !matches!(*s, "succeeded" | "failed"));
    Ok(Some((busy.unwrap_or("settled").to_owned(), ())))
}

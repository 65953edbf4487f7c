//! `aws_eip`. API: AllocateAddress, DescribeAddresses, AssociateAddress, DisassociateAddress, ReleaseAddress.

use super::net::filled;
use crate::client::Aws;
use crate::error::Answer;
use crate::once;
use crate::tags::{self, Tags};
use aws_sdk_ec2::types::{Address, DomainType, ResourceType};
use gpuform_provider_sdk::prelude::*;

/// A public IPv4 address that stays the same (an Elastic IP address).
#[derive(Model, Clone, PartialEq, Default)]
pub struct Eip {
    /// The allocation's ID.
    #[attr(optional, computed)]
    pub id: Attr<String>,
    /// The allocation's ID.
    #[attr(computed)]
    pub allocation_id: Attr<String>,
    /// The address's ARN.
    #[attr(computed)]
    pub arn: Attr<String>,
    /// `vpc`, the only domain that AWS still has.
    #[attr(optional, computed, force_new, validate = one_of(["vpc", "standard"]))]
    pub domain: Attr<String>,
    /// A particular address from a pool of the user's own.
    #[attr(optional, force_new)]
    pub address: Attr<String>,
    /// The instance that has the address.
    #[attr(optional, computed, recompute_on = ["network_interface"])]
    pub instance: Attr<String>,
    /// The network interface that has the address.
    #[attr(optional, computed, recompute_on = ["instance"])]
    pub network_interface: Attr<String>,
    /// The private address that the public one leads to.
    #[attr(optional)]
    pub associate_with_private_ip: Attr<String>,
    /// The pool to take the address from.
    #[attr(optional, computed, force_new)]
    pub public_ipv4_pool: Attr<String>,
    /// The IPAM pool to take the address from.
    #[attr(optional, computed, force_new)]
    pub ipam_pool_id: Attr<String>,
    /// The group of zones from which the address is announced.
    #[attr(optional, computed, force_new)]
    pub network_border_group: Attr<String>,
    /// The customer-owned pool (Outposts).
    #[attr(optional, force_new)]
    pub customer_owned_ipv4_pool: Attr<String>,
    /// ID of the association with an instance or interface.
    #[attr(computed, recompute_on = ["instance", "network_interface", "associate_with_private_ip"])]
    pub association_id: Attr<String>,
    /// The carrier's address (Wavelength).
    #[attr(computed)]
    pub carrier_ip: Attr<String>,
    /// The customer-owned address (Outposts).
    #[attr(computed)]
    pub customer_owned_ip: Attr<String>,
    /// The private address.
    #[attr(computed, recompute_on = ["instance", "network_interface", "associate_with_private_ip"])]
    pub private_ip: Attr<String>,
    /// The private DNS name.
    #[attr(computed, recompute_on = ["instance", "network_interface", "associate_with_private_ip"])]
    pub private_dns: Attr<String>,
    /// The public address.
    #[attr(computed)]
    pub public_ip: Attr<String>,
    /// The public DNS name.
    #[attr(computed)]
    pub public_dns: Attr<String>,
    /// Tags.
    #[attr(optional)]
    pub tags: Attr<Tags>,
    /// Tags with the provider's default tags.
    #[attr(optional, computed)]
    pub tags_all: Attr<Tags>,
    #[timeouts(read = "15m", update = "5m", delete = "3m")]
    pub timeouts: Timeouts,
}

impl Resource for Eip {
    type Client = Aws;
    const TYPE: &'static str = "aws_eip";

    async fn create(&mut self, ctx: &Context<Aws>) -> Result<()> {
        let aws = ctx.client();
        let tags = self.tags_all.or_default();
        let id = once::once_tagged(ctx, &tags, |t| self.request(aws, t), || lookup(aws, ctx.client_token())).await?;
        self.id.set(id.clone());
        self.associate(ctx, &id).await?;
        once::untag_ec2(aws, &id).await;
        Ok(())
    }

    async fn read(mut self, ctx: &Context<Aws>) -> Result<Option<Self>> {
        let aws = ctx.client();
        let id = self.id.require("id")?.clone();
        let Some(a) = find(aws, &id).await? else { return Ok(None) };
        self.allocation_id.set(id.as_str());
        self.arn.set(aws.arn("ec2", &format!("elastic-ip/{id}")).await?);
        self.domain.set(a.domain().map(DomainType::as_str).unwrap_or("vpc"));
        self.instance.set(a.instance_id().unwrap_or_default());
        self.network_interface.set(a.network_interface_id().unwrap_or_default());
        let private = a.private_ip_address().unwrap_or_default();
        if self.associate_with_private_ip.is_set() {
            self.associate_with_private_ip.set(private);
        }
        self.private_ip.set(private);
        self.private_dns.set(dns(aws, "ip", private));
        let public = a.public_ip().unwrap_or_default();
        self.public_ip.set(public);
        self.public_dns.set(dns(aws, "ec2", public));
        self.public_ipv4_pool.set(a.public_ipv4_pool().unwrap_or_default());
        if !self.ipam_pool_id.is_known() {
            self.ipam_pool_id.set("");
        }
        self.network_border_group.set(a.network_border_group().unwrap_or_default());
        self.customer_owned_ipv4_pool.refresh(a.customer_owned_ipv4_pool().unwrap_or_default());
        self.association_id.set(a.association_id().unwrap_or_default());
        self.carrier_ip.set(a.carrier_ip().unwrap_or_default());
        self.customer_owned_ip.set(a.customer_owned_ip().unwrap_or_default());
        tags::refresh(tags::from_ec2(a.tags()), &mut self.tags, &mut self.tags_all, aws);
        Ok(Some(self))
    }

    async fn update(&mut self, prior: &Self, ctx: &Context<Aws>) -> Result<()> {
        let id = self.id.require("id")?.clone();
        let moved = self.instance != prior.instance
            || self.network_interface != prior.network_interface
            || self.associate_with_private_ip != prior.associate_with_private_ip;
        if moved {
            disassociate(ctx, &prior.association_id).await?;
            self.associate(ctx, &id).await?;
        }
        tags::update_ec2(ctx.client(), &id, &prior.tags_all, &self.tags_all).await
    }

    async fn delete(self, ctx: &Context<Aws>) -> Result<()> {
        let (aws, id) = (ctx.client(), self.id.require("id")?);
        disassociate(ctx, &self.association_id).await?;
        ctx.retry(
            |e| e.has_code(&["InvalidIPAddress.InUse", "AuthFailure", "ResourceInUse"]),
            |_| async {
                let request = aws.ec2.release_address().allocation_id(id);
                let request = request.set_network_border_group(filled(&self.network_border_group));
                request.send().await.or_fail("Releasing the address").map(drop)
            },
        )
        .await?;
        let gone = Wait::until_gone("address");
        ctx.wait_until_gone(&gone, || async { Ok(find(aws, id).await?.map(|_| ("present".to_owned(), ()))) }).await
    }

    tags::plan_tags!();

    once::find_by_tag!();
}

impl Eip {
    async fn request(&self, aws: &Aws, tags: Tags) -> Result<String> {
        let request = aws
            .ec2
            .allocate_address()
            .domain(DomainType::from(self.domain.unwrap_or("vpc".into()).as_str()))
            .set_address(filled(&self.address))
            .set_public_ipv4_pool(filled(&self.public_ipv4_pool))
            .set_ipam_pool_id(filled(&self.ipam_pool_id))
            .set_network_border_group(filled(&self.network_border_group))
            .set_customer_owned_ipv4_pool(filled(&self.customer_owned_ipv4_pool))
            .set_tag_specifications(tags::specifications(ResourceType::ElasticIp, &tags));
        let made = request.customize().config_override(once::ec2()).send().await;
        Ok(made.or_fail("Allocating the address")?.allocation_id().unwrap_or_default().to_owned())
    }

    /// Gives the address to the instance or interface, if there is one; an instance may still be starting.
    async fn associate(&self, ctx: &Context<Aws>, id: &str) -> Result<()> {
        let (instance, interface) = (filled(&self.instance), filled(&self.network_interface));
        if instance.is_none() && interface.is_none() {
            return Ok(());
        }
        let request = ctx
            .client()
            .ec2
            .associate_address()
            .allocation_id(id)
            .allow_reassociation(true)
            .set_instance_id(instance)
            .set_network_interface_id(interface)
            .set_private_ip_address(filled(&self.associate_with_private_ip));
        ctx.retry(
            |e| e.has_code(&["InvalidAllocationID.NotFound", "IncorrectInstanceState", "InvalidInstanceID"]),
            |_| async { request.clone().send().await.or_fail("Associating the address").map(drop) },
        )
        .await
    }
}

/// Takes the address away from what has it.
async fn disassociate(ctx: &Context<Aws>, association: &Attr<String>) -> Result<()> {
    let Some(id) = filled(association) else { return Ok(()) };
    match ctx.client().ec2.disassociate_address().association_id(id).send().await.or_fail("Disassociating the address")
    {
        Err(e) if !e.is_not_found() => Err(e),
        _ => Ok(()),
    }
}

async fn lookup(aws: &Aws, token: &str) -> Result<Option<String>> {
    let request = aws.ec2.describe_addresses().filters(once::by_token(token));
    let answer = request.send().await.or_fail("Looking for the address")?;
    Ok(answer.addresses().first().and_then(|a| a.allocation_id()).map(str::to_owned))
}

async fn find(aws: &Aws, id: &str) -> Result<Option<Address>> {
    aws.reads.addresses.get(id).await
}

/// `ec2-192-0-2-1.compute-1.amazonaws.com` of a public, `ip-10-0-0-1.ec2.internal` of a private address.
fn dns(aws: &Aws, kind: &str, address: &str) -> String {
    if address.is_empty() {
        return String::new();
    }
    let domain = match (kind, aws.region.as_str(), aws.partition()) {
        ("ip", "us-east-1", _) => "ec2.internal".to_owned(),
        ("ip", region, _) => format!("{region}.compute.internal"),
        (_, "us-east-1", _) => "compute-1.amazonaws.com".to_owned(),
        (_, region, "aws-cn") => format!("{region}.compute.amazonaws.com.cn"),
        (_, region, _) => format!("{region}.compute.amazonaws.com"),
    };
    format!("{kind}-{}.{domain}", address.replace('.', "-"))
}

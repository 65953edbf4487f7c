//! `aws_internet_gateway`. API: CreateInternetGateway, DescribeInternetGateways, AttachInternetGateway,
//! DetachInternetGateway, DeleteInternetGateway.

use super::net::filled;
use crate::client::Aws;
use crate::error::Answer;
use crate::once;
use crate::tags::{self, Tags};
use aws_sdk_ec2::types::{InternetGateway as Found, ResourceType};
use gpuform_provider_sdk::prelude::*;

/// A VPC's door to the internet.
#[derive(Model, Clone, PartialEq, Default)]
pub struct InternetGateway {
    /// The gateway's ID.
    #[attr(optional, computed)]
    pub id: Attr<String>,
    /// The gateway's ARN.
    #[attr(computed)]
    pub arn: Attr<String>,
    /// The VPC that it is attached to.
    #[attr(optional, computed)]
    pub vpc_id: Attr<String>,
    /// The account that owns the gateway.
    #[attr(computed)]
    pub owner_id: Attr<String>,
    /// Tags.
    #[attr(optional)]
    pub tags: Attr<Tags>,
    /// Tags with the provider's default tags.
    #[attr(optional, computed)]
    pub tags_all: Attr<Tags>,
    #[timeouts(create = "20m", update = "20m", delete = "20m")]
    pub timeouts: Timeouts,
}

impl Resource for InternetGateway {
    type Client = Aws;
    const TYPE: &'static str = "aws_internet_gateway";

    async fn create(&mut self, ctx: &Context<Aws>) -> Result<()> {
        let aws = ctx.client();
        let tags = self.tags_all.or_default();
        let id = once::once_tagged(ctx, &tags, |t| request(aws, t), || lookup(aws, ctx.client_token())).await?;
        self.id.set(id.clone());
        if let Some(vpc) = filled(&self.vpc_id) {
            attach(ctx, &id, &vpc).await?;
        }
        once::untag_ec2(aws, &id).await;
        Ok(())
    }

    async fn read(mut self, ctx: &Context<Aws>) -> Result<Option<Self>> {
        let aws = ctx.client();
        let id = self.id.require("id")?.clone();
        let Some(gateway) = find(aws, &id).await? else { return Ok(None) };
        let owner = gateway.owner_id().unwrap_or_default();
        self.arn.set(format!("arn:{}:ec2:{}:{owner}:internet-gateway/{id}", aws.partition(), aws.region));
        self.owner_id.set(owner);
        self.vpc_id.set(gateway.attachments().first().and_then(|a| a.vpc_id()).unwrap_or_default());
        tags::refresh(tags::from_ec2(gateway.tags()), &mut self.tags, &mut self.tags_all, aws);
        Ok(Some(self))
    }

    async fn update(&mut self, prior: &Self, ctx: &Context<Aws>) -> Result<()> {
        let id = self.id.require("id")?;
        if self.vpc_id != prior.vpc_id {
            if let Some(old) = filled(&prior.vpc_id) {
                detach(ctx, id, &old).await?;
            }
            if let Some(new) = filled(&self.vpc_id) {
                attach(ctx, id, &new).await?;
            }
        }
        tags::update_ec2(ctx.client(), id, &prior.tags_all, &self.tags_all).await
    }

    async fn delete(self, ctx: &Context<Aws>) -> Result<()> {
        let (aws, id) = (ctx.client(), self.id.require("id")?);
        if let Some(vpc) = filled(&self.vpc_id) {
            detach(ctx, id, &vpc).await?;
        }
        ctx.retry(
            |e| e.has_code(&["DependencyViolation"]),
            |_| async {
                let request = aws.ec2.delete_internet_gateway().internet_gateway_id(id);
                request.send().await.or_fail("Deleting the internet gateway").map(drop)
            },
        )
        .await?;
        let gone = Wait::until_gone("internet gateway");
        ctx.wait_until_gone(&gone, || async { Ok(find(aws, id).await?.map(|_| ("present".to_owned(), ()))) }).await
    }

    tags::plan_tags!();

    once::find_by_tag!();
}

async fn request(aws: &Aws, tags: Tags) -> Result<String> {
    let tags = tags::specifications(ResourceType::InternetGateway, &tags);
    let request = aws.ec2.create_internet_gateway().set_tag_specifications(tags);
    let made = request.customize().config_override(once::ec2()).send().await;
    let made = made.or_fail("Creating the internet gateway")?;
    Ok(made.internet_gateway().and_then(|g| g.internet_gateway_id()).unwrap_or_default().to_owned())
}

async fn lookup(aws: &Aws, token: &str) -> Result<Option<String>> {
    let request = aws.ec2.describe_internet_gateways().filters(once::by_token(token));
    let answer = request.send().await.or_fail("Looking for the internet gateway")?;
    Ok(answer.internet_gateways().first().and_then(|g| g.internet_gateway_id()).map(str::to_owned))
}

async fn find(aws: &Aws, id: &str) -> Result<Option<Found>> {
    aws.reads.internet_gateways.get(id).await
}

/// Attaches the gateway; attaching it again to the same VPC is no error.
async fn attach(ctx: &Context<Aws>, id: &str, vpc: &str) -> Result<()> {
    let aws = ctx.client();
    let done = ctx
        .retry(
            |e| e.has_code(&["InvalidInternetGatewayID.NotFound"]),
            |_| async {
                let request = aws.ec2.attach_internet_gateway().internet_gateway_id(id).vpc_id(vpc);
                request.send().await.or_fail("Attaching the internet gateway").map(drop)
            },
        )
        .await;
    match done {
        Err(e) if e.has_code(&["Resource.AlreadyAssociated"]) && attached(aws, id, vpc).await? => {}
        other => other?,
    }
    let wait = Wait::until("internet gateway's attachment", &["available", "attached"]);
    ctx.wait_for(&wait, || attachment(aws, id, vpc)).await
}

async fn attached(aws: &Aws, id: &str, vpc: &str) -> Result<bool> {
    Ok(attachment(aws, id, vpc).await?.is_some())
}

async fn attachment(aws: &Aws, id: &str, vpc: &str) -> Result<Option<(String, ())>> {
    let gateway = find(aws, id).await?;
    let found = gateway.iter().flat_map(|g| g.attachments()).find(|a| a.vpc_id() == Some(vpc));
    Ok(found.map(|a| (a.state().map(|s| s.as_str().to_owned()).unwrap_or_default(), ())))
}

/// Detaches the gateway, once the VPC has no public addresses any more.
async fn detach(ctx: &Context<Aws>, id: &str, vpc: &str) -> Result<()> {
    let aws = ctx.client();
    let done = ctx
        .retry(
            |e| e.has_code(&["DependencyViolation"]),
            |_| async {
                let request = aws.ec2.detach_internet_gateway().internet_gateway_id(id).vpc_id(vpc);
                request.send().await.or_fail("Detaching the internet gateway").map(drop)
            },
        )
        .await;
    match done {
        Err(e) if e.has_code(&["Gateway.NotAttached"]) || e.is_not_found() => return Ok(()),
        other => other?,
    }
    ctx.wait_until_gone(&Wait::until_gone("internet gateway's attachment"), || attachment(aws, id, vpc)).await
}

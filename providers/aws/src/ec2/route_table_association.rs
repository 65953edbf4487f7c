//! `aws_route_table_association`. API: AssociateRouteTable, ReplaceRouteTableAssociation, DisassociateRouteTable,
//! DescribeRouteTables.

use super::net::filled;
use crate::client::Aws;
use crate::error::Answer;
use aws_sdk_ec2::types::RouteTableAssociation as Found;
use gpuform_provider_sdk::prelude::*;

/// The route table of a subnet or of a gateway.
#[derive(Model, Clone, PartialEq, Default)]
pub struct RouteTableAssociation {
    /// The association's ID.
    #[attr(optional, computed, recompute_on = ["route_table_id"])]
    pub id: Attr<String>,
    /// The route table.
    #[attr(required)]
    pub route_table_id: Attr<String>,
    /// The subnet.
    #[attr(optional, force_new, exactly_one_of = ["subnet_id", "gateway_id"])]
    pub subnet_id: Attr<String>,
    /// The internet gateway or virtual private gateway.
    #[attr(optional, force_new, exactly_one_of = ["subnet_id", "gateway_id"])]
    pub gateway_id: Attr<String>,
    #[timeouts(create = "5m", update = "2m", delete = "5m")]
    pub timeouts: Timeouts,
}

impl Resource for RouteTableAssociation {
    type Client = Aws;
    const TYPE: &'static str = "aws_route_table_association";

    async fn create(&mut self, ctx: &Context<Aws>) -> Result<()> {
        let request = ctx
            .client()
            .ec2
            .associate_route_table()
            .set_route_table_id(self.route_table_id.cloned())
            .set_subnet_id(filled(&self.subnet_id))
            .set_gateway_id(filled(&self.gateway_id));
        let made = ctx
            .retry(
                |e| e.has_code(&["InvalidRouteTableID.NotFound"]),
                |attempt| {
                    let request = request.clone();
                    async move {
                        let answer = request.send().await.or_fail("Associating the route table");
                        // Only a young table is invisible; one that does not exist never appears.
                        answer.map_err(|e| if attempt > 6 { e.code("NotFound") } else { e })
                    }
                },
            )
            .await;
        let id = match made {
            Ok(made) => made.association_id().unwrap_or_default().to_owned(),
            // Perhaps the answer to the first attempt was lost.
            Err(e) if e.has_code(&["Resource.AlreadyAssociated"]) => self.lookup(ctx.client()).await?.ok_or(e)?,
            Err(e) => return Err(e),
        };
        self.id.set(id.clone());
        settled(ctx, &id).await
    }

    async fn read(mut self, ctx: &Context<Aws>) -> Result<Option<Self>> {
        let Some(found) = find(ctx.client(), self.id.require("id")?).await? else { return Ok(None) };
        self.route_table_id.set(found.route_table_id().unwrap_or_default());
        self.subnet_id.refresh(found.subnet_id().unwrap_or_default());
        self.gateway_id.refresh(found.gateway_id().unwrap_or_default());
        Ok(Some(self))
    }

    async fn update(&mut self, prior: &Self, ctx: &Context<Aws>) -> Result<()> {
        let request = ctx
            .client()
            .ec2
            .replace_route_table_association()
            .association_id(prior.id.require("id")?)
            .set_route_table_id(self.route_table_id.cloned());
        let made = request.send().await.or_fail("Changing the route table association")?;
        let id = made.new_association_id().unwrap_or_default().to_owned();
        self.id.set(id.clone());
        settled(ctx, &id).await
    }

    async fn delete(self, ctx: &Context<Aws>) -> Result<()> {
        let (aws, id) = (ctx.client(), self.id.require("id")?);
        let request = aws.ec2.disassociate_route_table().association_id(id);
        request.send().await.or_fail("Disassociating the route table")?;
        ctx.wait_until_gone(&Wait::until_gone("route table association"), || state(aws, id)).await
    }

    /// `SUBNET/TABLE` or `GATEWAY/TABLE`.
    async fn import(text: &str, ctx: &Context<Aws>) -> Result<Self> {
        let Some((target, table)) = text.split_once('/') else {
            return Err(Error::new("Invalid import ID").detail(format!(
                "\"{text}\" should be the subnet or gateway, a slash, and the route table, e.g. subnet-1/rtb-1."
            )));
        };
        let mut association = RouteTableAssociation { route_table_id: table.into(), ..Default::default() };
        if target.starts_with("subnet-") {
            association.subnet_id.set(target);
        } else {
            association.gateway_id.set(target);
        }
        let id = association.lookup(ctx.client()).await?;
        association.id.set(id.ok_or_else(|| {
            Error::not_found("There is no such association")
                .detail(format!("{target} is not associated with the route table {table}."))
        })?);
        Ok(association)
    }

    async fn find_by_token(&self, _token: &str, ctx: &Context<Aws>) -> Result<Option<Self>> {
        let Some(id) = self.lookup(ctx.client()).await? else { return Ok(None) };
        let mut found = self.clone();
        found.id.set(id);
        found.read(ctx).await
    }
}

impl RouteTableAssociation {
    /// The ID of the association of this table with this subnet or gateway.
    async fn lookup(&self, aws: &Aws) -> Result<Option<String>> {
        let request =
            aws.ec2.describe_route_tables().set_route_table_ids(self.route_table_id.cloned().map(|t| vec![t]));
        let answer = request.send().await.or_fail("Reading the route table")?;
        let (subnet, gateway) = (filled(&self.subnet_id), filled(&self.gateway_id));
        let found = answer.route_tables().iter().flat_map(|t| t.associations()).find(|a| {
            (subnet.is_some() && a.subnet_id() == subnet.as_deref())
                || (gateway.is_some() && a.gateway_id() == gateway.as_deref())
        });
        Ok(found.and_then(|a| a.route_table_association_id()).map(str::to_owned))
    }
}

async fn find(aws: &Aws, id: &str) -> Result<Option<Found>> {
    aws.reads.associations.get(id).await
}

async fn settled(ctx: &Context<Aws>, id: &str) -> Result<()> {
    let wait = Wait::until("route table association", &["associated"]).pending(&["associating"]);
    ctx.wait_for(&wait, || state(ctx.client(), id)).await
}

async fn state(aws: &Aws, id: &str) -> Result<Option<(String, ())>> {
    let Some(found) = find(aws, id).await? else { return Ok(None) };
    let state = found.association_state().and_then(|s| s.state()).map(|s| s.as_str());
    Ok(match state {
        Some("disassociated") => None,
        state => Some((state.unwrap_or("associated").to_owned(), ())),
    })
}

//! `aws_security_group`. API: CreateSecurityGroup, DescribeSecurityGroups, AuthorizeSecurityGroup…,
//! RevokeSecurityGroup…, UpdateSecurityGroupRuleDescriptions…, DeleteSecurityGroup. Rules in `permissions.rs`.

use super::net::filled;
use super::permissions::{self, Permission, Rule, same_rules};
use super::util::{filter, prefix_of, unique_name};
use crate::client::Aws;
use crate::error::Answer;
use crate::once;
use crate::tags::{self, Tags};
use aws_sdk_ec2::types::{ResourceType, SecurityGroup as Found};
use gpuform_provider_sdk::prelude::*;
use std::collections::BTreeSet;

/// A security group: rules for the traffic to and from network interfaces.
#[derive(Model, Clone, PartialEq, Default)]
pub struct SecurityGroup {
    /// The group's ID.
    #[attr(optional, computed)]
    pub id: Attr<String>,
    /// The group's ARN.
    #[attr(computed)]
    pub arn: Attr<String>,
    /// The group's name; a unique one unless given.
    #[attr(optional, computed, force_new, conflicts_with = ["name_prefix"], validate = [length(0..=255), group_name()])]
    pub name: Attr<String>,
    /// The beginning of a unique name.
    #[attr(optional, computed, force_new, conflicts_with = ["name"], validate = [length(0..=229), group_name()])]
    pub name_prefix: Attr<String>,
    /// What the group is for.
    #[attr(optional, default = "Managed by Terraform", force_new, validate = length(0..=255))]
    pub description: Attr<String>,
    /// The VPC; the region's default VPC unless given.
    #[attr(optional, computed, force_new)]
    pub vpc_id: Attr<String>,
    /// Rules for incoming traffic. Where none is written, they are left to resources of their own.
    #[attr(optional, computed, suppress = same_rules)]
    pub ingress: Attr<Set<Rule>>,
    /// Rules for outgoing traffic. Where none is written, a new group allows none.
    #[attr(optional, computed, suppress = same_rules)]
    pub egress: Attr<Set<Rule>>,
    /// Whether all rules are removed before the group is deleted.
    #[attr(optional, default = false)]
    pub revoke_rules_on_delete: Attr<bool>,
    /// The account that owns the group.
    #[attr(computed)]
    pub owner_id: Attr<String>,
    /// Tags.
    #[attr(optional)]
    pub tags: Attr<Tags>,
    /// Tags with the provider's default tags.
    #[attr(optional, computed)]
    pub tags_all: Attr<Tags>,
    #[timeouts(create = "10m", delete = "15m")]
    pub timeouts: Timeouts,
}

fn group_name() -> gpuform_provider_sdk::validate::Validator {
    gpuform_provider_sdk::validate::check_str(|name| match name.starts_with("sg-") {
        true => Err("The name of a security group cannot begin with \"sg-\".".to_owned()),
        false => Ok(()),
    })
}

impl Resource for SecurityGroup {
    type Client = Aws;
    const TYPE: &'static str = "aws_security_group";
    const VERSION: i64 = 1;

    async fn create(&mut self, ctx: &Context<Aws>) -> Result<()> {
        let aws = ctx.client();
        let name = unique_name(&self.name, &self.name_prefix, ctx.client_token());
        let id = once::once(ctx, || self.request(aws, &name), || self.lookup(aws, &name)).await?;
        self.id.set(id.clone());
        let wait = Wait::until("security group", &["present"]);
        let made = ctx.wait_for(&wait, || state(aws, &id)).await?;
        // AWS lets all traffic out of a new group of a VPC.
        let fresh = permissions::found(made.ip_permissions_egress(), &id, made.owner_id().unwrap_or_default());
        change(aws, &id, Direction::Ingress, &BTreeSet::new(), &permissions::permissions(&self.ingress)).await?;
        change(aws, &id, Direction::Egress, &fresh, &permissions::permissions(&self.egress)).await
    }

    async fn read(mut self, ctx: &Context<Aws>) -> Result<Option<Self>> {
        let aws = ctx.client();
        let id = self.id.require("id")?.clone();
        let Some(group) = find(aws, &id).await? else { return Ok(None) };
        let owner = group.owner_id().unwrap_or_default();
        self.arn.set(format!("arn:{}:ec2:{}:{owner}:security-group/{id}", aws.partition(), aws.region));
        self.owner_id.set(owner);
        let name = group.group_name().unwrap_or_default();
        self.name.set(name);
        if !self.name_prefix.is_known() {
            self.name_prefix.set(prefix_of(name));
        }
        self.description.set(group.description().unwrap_or_default());
        self.vpc_id.set(group.vpc_id().unwrap_or_default());
        let ingress = permissions::found(group.ip_permissions(), &id, owner);
        self.ingress.set(permissions::as_written(ingress, &self.ingress.or_default()));
        let egress = permissions::found(group.ip_permissions_egress(), &id, owner);
        self.egress.set(permissions::as_written(egress, &self.egress.or_default()));
        if self.revoke_rules_on_delete.is_null() {
            self.revoke_rules_on_delete.set(false);
        }
        tags::refresh(tags::from_ec2(group.tags()), &mut self.tags, &mut self.tags_all, aws);
        Ok(Some(self))
    }

    async fn update(&mut self, prior: &Self, ctx: &Context<Aws>) -> Result<()> {
        let aws = ctx.client();
        let id = self.id.require("id")?;
        let all = permissions::permissions;
        if self.ingress.is_known() {
            change(aws, id, Direction::Ingress, &all(&prior.ingress), &all(&self.ingress)).await?;
        }
        if self.egress.is_known() {
            change(aws, id, Direction::Egress, &all(&prior.egress), &all(&self.egress)).await?;
        }
        tags::update_ec2(aws, id, &prior.tags_all, &self.tags_all).await
    }

    async fn delete(self, ctx: &Context<Aws>) -> Result<()> {
        let (aws, id) = (ctx.client(), self.id.require("id")?);
        if self.revoke_rules_on_delete == true
            && let Some(group) = find(aws, id).await?
        {
            let owner = group.owner_id().unwrap_or_default();
            let none = BTreeSet::new();
            let ingress = permissions::found(group.ip_permissions(), id, owner);
            change(aws, id, Direction::Ingress, &ingress, &none).await?;
            let egress = permissions::found(group.ip_permissions_egress(), id, owner);
            change(aws, id, Direction::Egress, &egress, &none).await?;
        }
        ctx.retry(
            |e| e.has_code(&["DependencyViolation", "InvalidGroup.InUse"]),
            |_| async {
                let request = aws.ec2.delete_security_group().group_id(id);
                request.send().await.or_fail("Deleting the security group").map(drop)
            },
        )
        .await?;
        ctx.wait_until_gone(&Wait::until_gone("security group"), || state(aws, id)).await
    }

    tags::plan_tags!();

    fn validate(&self, problems: &mut Problems) {
        permissions::check("ingress", &self.ingress, problems);
        permissions::check("egress", &self.egress, problems);
    }

    /// Names are unique in a VPC, and those not given follow from the token.
    async fn find_by_token(&self, token: &str, ctx: &Context<Aws>) -> Result<Option<Self>> {
        let Some(id) = self.lookup(ctx.client(), &unique_name(&self.name, &self.name_prefix, token)).await? else {
            return Ok(None);
        };
        let mut found = self.clone();
        found.id.set(id);
        found.read(ctx).await
    }
}

impl SecurityGroup {
    async fn request(&self, aws: &Aws, name: &str) -> Result<String> {
        let request = aws
            .ec2
            .create_security_group()
            .group_name(name)
            .description(self.description.or_default())
            .set_vpc_id(filled(&self.vpc_id))
            .set_tag_specifications(tags::specifications(ResourceType::SecurityGroup, &self.tags_all.or_default()));
        let made = request.customize().config_override(once::ec2()).send().await;
        Ok(made.or_fail("Creating the security group")?.group_id().unwrap_or_default().to_owned())
    }

    /// The group of this name and description in the VPC.
    async fn lookup(&self, aws: &Aws, name: &str) -> Result<Option<String>> {
        let mut request = aws.ec2.describe_security_groups().filters(filter("group-name", name));
        if let Some(vpc) = filled(&self.vpc_id) {
            request = request.filters(filter("vpc-id", vpc));
        }
        let answer = request.send().await.or_fail("Looking for the security group")?;
        let found = answer.security_groups().iter().find(|g| g.description() == self.description.as_deref());
        Ok(found.and_then(|g| g.group_id()).map(str::to_owned))
    }
}

#[derive(Clone, Copy)]
enum Direction {
    Ingress,
    Egress,
}

/// Brings the rules of one direction from `prior` to `planned`. New ones come before old ones go, so that traffic which
/// both allow is never interrupted.
async fn change(
    aws: &Aws,
    id: &str,
    direction: Direction,
    prior: &BTreeSet<Permission>,
    planned: &BTreeSet<Permission>,
) -> Result<()> {
    let within = |set: &BTreeSet<Permission>, p: &Permission| set.iter().any(|o| o.same_traffic(p));
    let renamed: Vec<&Permission> = planned.difference(prior).filter(|p| within(prior, p)).collect();
    let new: Vec<&Permission> = planned.iter().filter(|p| !within(prior, p)).collect();
    let gone: Vec<&Permission> = prior.iter().filter(|p| !within(planned, p)).collect();
    describe(aws, id, direction, &renamed).await?;
    match authorize(aws, id, direction, &new).await {
        Err(e) if e.has_code(&["RulesPerSecurityGroupLimitExceeded"]) => {
            revoke(aws, id, direction, &gone).await?;
            authorize(aws, id, direction, &new).await
        }
        Err(e) => Err(e),
        Ok(()) => revoke(aws, id, direction, &gone).await,
    }
}

/// Adds rules. Those that are there already, as after a lost answer, are left out.
async fn authorize(aws: &Aws, id: &str, direction: Direction, new: &[&Permission]) -> Result<()> {
    match authorize_all(aws, id, direction, new).await {
        Err(e) if e.has_code(&["InvalidPermission.Duplicate"]) => {
            let group = find(aws, id).await?.ok_or_else(|| Error::not_found("The security group is gone"))?;
            let owner = group.owner_id().unwrap_or_default();
            let reported = match direction {
                Direction::Ingress => group.ip_permissions(),
                Direction::Egress => group.ip_permissions_egress(),
            };
            let there = permissions::found(reported, id, owner);
            let lacking: Vec<&Permission> =
                new.iter().copied().filter(|p| !there.iter().any(|t| t.same_traffic(p))).collect();
            authorize_all(aws, id, direction, &lacking).await?;
            let renamed: Vec<&Permission> = new
                .iter()
                .copied()
                .filter(|p| there.iter().any(|t| t.same_traffic(p) && t.description != p.description))
                .collect();
            describe(aws, id, direction, &renamed).await
        }
        other => other,
    }
}

async fn authorize_all(aws: &Aws, id: &str, direction: Direction, new: &[&Permission]) -> Result<()> {
    if new.is_empty() {
        return Ok(());
    }
    let rules = Some(permissions::to_api(new.iter().copied(), id));
    match direction {
        Direction::Ingress => {
            let request = aws.ec2.authorize_security_group_ingress().group_id(id).set_ip_permissions(rules);
            request.send().await.or_fail("Adding ingress rules to the security group").map(drop)
        }
        Direction::Egress => {
            let request = aws.ec2.authorize_security_group_egress().group_id(id).set_ip_permissions(rules);
            request.send().await.or_fail("Adding egress rules to the security group").map(drop)
        }
    }
}

/// Removes rules. AWS refuses all of them where one is gone already; then those that are left go one by one.
async fn revoke(aws: &Aws, id: &str, direction: Direction, gone: &[&Permission]) -> Result<()> {
    let missing = |e: &Error| e.has_code(&["InvalidPermission.NotFound"]);
    match revoke_all(aws, id, direction, gone).await {
        Err(e) if missing(&e) => {}
        other => return other,
    }
    for permission in gone {
        match revoke_all(aws, id, direction, &[*permission]).await {
            Err(e) if !missing(&e) => return Err(e),
            _ => {}
        }
    }
    Ok(())
}

async fn revoke_all(aws: &Aws, id: &str, direction: Direction, gone: &[&Permission]) -> Result<()> {
    if gone.is_empty() {
        return Ok(());
    }
    let rules = Some(permissions::to_api(gone.iter().copied(), id));
    match direction {
        Direction::Ingress => {
            let request = aws.ec2.revoke_security_group_ingress().group_id(id).set_ip_permissions(rules);
            request.send().await.or_fail("Removing ingress rules from the security group").map(drop)
        }
        Direction::Egress => {
            let request = aws.ec2.revoke_security_group_egress().group_id(id).set_ip_permissions(rules);
            request.send().await.or_fail("Removing egress rules from the security group").map(drop)
        }
    }
}

/// Gives existing rules new descriptions.
async fn describe(aws: &Aws, id: &str, direction: Direction, renamed: &[&Permission]) -> Result<()> {
    if renamed.is_empty() {
        return Ok(());
    }
    let rules = Some(permissions::to_api(renamed.iter().copied(), id));
    match direction {
        Direction::Ingress => {
            let request = aws.ec2.update_security_group_rule_descriptions_ingress().group_id(id);
            request.set_ip_permissions(rules).send().await.or_fail("Describing ingress rules").map(drop)
        }
        Direction::Egress => {
            let request = aws.ec2.update_security_group_rule_descriptions_egress().group_id(id);
            request.set_ip_permissions(rules).send().await.or_fail("Describing egress rules").map(drop)
        }
    }
}

async fn find(aws: &Aws, id: &str) -> Result<Option<Found>> {
    aws.reads.security_groups.get(id).await
}

async fn state(aws: &Aws, id: &str) -> Result<Option<(String, Found)>> {
    Ok(find(aws, id).await?.map(|g| ("present".to_owned(), g)))
}

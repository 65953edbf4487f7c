//! `aws_iam_policy`. API: CreatePolicy, GetPolicy, GetPolicyVersion, CreatePolicyVersion, ListPolicyVersions,
//! DeletePolicyVersion, TagPolicy, UntagPolicy, DeletePolicy.

use crate::client::Aws;
use crate::ec2::util::{prefix_of, unique_name};
use crate::error::Answer;
use crate::iam::role::gone_is_fine;
use crate::once;
use crate::policy::{eventually, percent_decoded, policy_equal, retry_briefly, same_policy};
use crate::tags::{self, Tags};
use aws_sdk_iam::types::PolicyVersion;
use gpuform_provider_sdk::prelude::*;

/// How many versions of a policy AWS keeps.
const VERSIONS: usize = 5;

/// A managed policy.
#[derive(Model, Clone, PartialEq, Default)]
pub struct Policy {
    /// The policy's ARN.
    #[attr(optional, computed)]
    pub id: Attr<String>,
    /// The policy's ARN.
    #[attr(computed)]
    pub arn: Attr<String>,
    /// How many users, groups and roles have the policy.
    #[attr(computed)]
    pub attachment_count: Attr<i32>,
    /// What the policy is for.
    #[attr(optional, force_new)]
    pub description: Attr<String>,
    /// The policy's name; a unique one unless given.
    #[attr(optional, computed, force_new, conflicts_with = ["name_prefix"])]
    pub name: Attr<String>,
    /// Beginning of a unique name.
    #[attr(optional, computed, force_new, conflicts_with = ["name"])]
    pub name_prefix: Attr<String>,
    /// The policy's path.
    #[attr(optional, default = "/", force_new)]
    pub path: Attr<String>,
    /// The policy in JSON.
    #[attr(required, validate = json(), suppress = policy_equal)]
    pub policy: Attr<String>,
    /// The policy's unique ID.
    #[attr(computed)]
    pub policy_id: Attr<String>,
    /// Tags.
    #[attr(optional)]
    pub tags: Attr<Tags>,
    /// Tags with the provider's default tags.
    #[attr(optional, computed)]
    pub tags_all: Attr<Tags>,
}

impl Resource for Policy {
    type Client = Aws;
    const TYPE: &'static str = "aws_iam_policy";

    async fn create(&mut self, ctx: &Context<Aws>) -> Result<()> {
        let aws = ctx.client();
        let name = unique_name(&self.name, &self.name_prefix, ctx.client_token());
        let arn = once::once(ctx, || self.make(aws, &name), || self.lookup(aws, &name)).await?;
        self.name.set_if_unknown(Attr::Known(name));
        self.id.set(arn.clone());
        eventually(ctx, |_| document(aws, &arn)).await.map(drop)
    }

    async fn read(mut self, ctx: &Context<Aws>) -> Result<Option<Self>> {
        let aws = ctx.client();
        let arn = self.id.require("id")?.clone();
        let answer = aws.iam.get_policy().policy_arn(&arn).send().await.or_fail("Reading the policy")?;
        let Some(found) = answer.policy() else { return Ok(None) };
        let name = found.policy_name().unwrap_or_default();
        self.arn.set(arn.clone());
        self.attachment_count.set(found.attachment_count().unwrap_or_default());
        self.description.refresh(found.description().unwrap_or_default());
        self.name.set(name);
        if !self.name_prefix.is_known() {
            self.name_prefix.set(prefix_of(name));
        }
        self.path.set(found.path().unwrap_or("/"));
        self.policy_id.set(found.policy_id().unwrap_or_default());
        self.policy.set(version(aws, &arn, found.default_version_id().unwrap_or("v1")).await?);
        tags::refresh(tags::from_iam(found.tags()), &mut self.tags, &mut self.tags_all, aws);
        Ok(Some(self))
    }

    async fn update(&mut self, prior: &Self, ctx: &Context<Aws>) -> Result<()> {
        let aws = ctx.client();
        let arn = self.id.require("id")?;
        if self.policy != prior.policy {
            make_room(aws, arn).await?;
            let request = aws.iam.create_policy_version().policy_arn(arn).set_as_default(true);
            let request = request.set_policy_document(self.policy.cloned());
            request.send().await.or_fail("Changing the policy")?;
        }
        let (gone, new) = tags::difference(&prior.tags_all, &self.tags_all);
        if !gone.is_empty() {
            aws.iam.untag_policy().policy_arn(arn).set_tag_keys(Some(gone)).send().await.or_fail("Removing tags")?;
        }
        if !new.is_empty() {
            let request = aws.iam.tag_policy().policy_arn(arn).set_tags(Some(tags::iam(&new)));
            request.send().await.or_fail("Setting tags")?;
        }
        Ok(())
    }

    async fn delete(self, ctx: &Context<Aws>) -> Result<()> {
        let aws = ctx.client();
        let arn = self.id.require("id")?;
        for old in old_versions(aws, arn).await? {
            delete_version(aws, arn, &old).await?;
        }
        let delete =
            |_| async { aws.iam.delete_policy().policy_arn(arn).send().await.or_fail("Deleting the policy").map(drop) };
        retry_briefly(ctx, |e| e.has_code(&["DeleteConflict", "ConcurrentModification"]), delete).await
    }

    tags::plan_tags!();

    async fn find_by_token(&self, token: &str, ctx: &Context<Aws>) -> Result<Option<Self>> {
        let name = unique_name(&self.name, &self.name_prefix, token);
        let Some(arn) = self.lookup(ctx.client(), &name).await? else { return Ok(None) };
        let mut state = self.clone();
        state.id.set(arn);
        state.read(ctx).await
    }
}

impl Policy {
    async fn make(&self, aws: &Aws, name: &str) -> Result<String> {
        let request = aws.iam.create_policy().policy_name(name).set_path(self.path.cloned());
        let request = request.set_policy_document(self.policy.cloned());
        let request = request.set_description(self.description.cloned().filter(|d| !d.is_empty()));
        let request = request.set_tags(Some(tags::iam(&self.tags_all.or_default())));
        let made = request.customize().config_override(once::iam()).send().await.or_fail("Creating the policy")?;
        Ok(made.policy().and_then(|p| p.arn()).unwrap_or_default().to_owned())
    }

    /// The ARN of the policy of this name, if it says what this create makes it say.
    async fn lookup(&self, aws: &Aws, name: &str) -> Result<Option<String>> {
        let arn = self.arn_of(aws, name).await?;
        match document(aws, &arn).await {
            Err(e) if e.is_not_found() => Ok(None),
            other => Ok(same_policy(&other?, &self.policy.or_default()).then_some(arn)),
        }
    }

    async fn arn_of(&self, aws: &Aws, name: &str) -> Result<String> {
        let (partition, account) = (aws.partition(), aws.account_id().await?);
        Ok(format!("arn:{partition}:iam::{account}:policy{}{name}", self.path.unwrap_or("/".into())))
    }
}

async fn document(aws: &Aws, arn: &str) -> Result<String> {
    let answer = aws.iam.get_policy().policy_arn(arn).send().await.or_fail("Reading the policy")?;
    version(aws, arn, answer.policy().and_then(|p| p.default_version_id()).unwrap_or("v1")).await
}

async fn version(aws: &Aws, arn: &str, id: &str) -> Result<String> {
    let answer = aws.iam.get_policy_version().policy_arn(arn).version_id(id).send().await;
    let answer = answer.or_fail("Reading the policy's document")?;
    Ok(percent_decoded(answer.policy_version().and_then(|v| v.document()).unwrap_or_default()))
}

/// The versions that are not the default one, oldest first.
async fn old_versions(aws: &Aws, arn: &str) -> Result<Vec<PolicyVersion>> {
    let mut all = Vec::new();
    let mut pages = aws.iam.list_policy_versions().policy_arn(arn).into_paginator().items().send();
    while let Some(version) = pages.next().await {
        all.push(version.or_fail("Listing the policy's versions")?);
    }
    all.retain(|v| !v.is_default_version());
    all.sort_by_key(|v| v.create_date().map(|d| d.secs()));
    Ok(all)
}

/// Deletes the oldest version where there are as many as AWS keeps.
async fn make_room(aws: &Aws, arn: &str) -> Result<()> {
    let old = old_versions(aws, arn).await?;
    match old.first() {
        Some(oldest) if old.len() + 1 >= VERSIONS => delete_version(aws, arn, oldest).await,
        _ => Ok(()),
    }
}

async fn delete_version(aws: &Aws, arn: &str, version: &PolicyVersion) -> Result<()> {
    let request = aws.iam.delete_policy_version().policy_arn(arn).version_id(version.version_id().unwrap_or_default());
    gone_is_fine(request.send().await.or_fail("Deleting an old version of the policy").map(drop))
}

//! `aws_iam_role`. API: CreateRole, GetRole, UpdateRole, UpdateAssumeRolePolicy, PutRolePermissionsBoundary,
//! DeleteRolePermissionsBoundary, TagRole, UntagRole, DeleteRole, and the lists of what is attached.

use crate::client::Aws;
use crate::ec2::util::{prefix_of, render_time, unique_name};
use crate::error::Answer;
use crate::once;
use crate::policy::{eventually, percent_decoded, policy_equal, retry_briefly, same_policy};
use crate::tags::{self, Tags};
use aws_sdk_iam::types::Role as Found;
use gpuform_provider_sdk::prelude::*;

/// A role that services and users assume.
#[derive(Model, Clone, PartialEq, Default)]
pub struct Role {
    /// The role's name.
    #[attr(optional, computed)]
    pub id: Attr<String>,
    /// The role's ARN.
    #[attr(computed)]
    pub arn: Attr<String>,
    /// Who may assume the role: a policy in JSON.
    #[attr(required, validate = json(), suppress = policy_equal)]
    pub assume_role_policy: Attr<String>,
    /// When the role was made.
    #[attr(computed)]
    pub create_date: Attr<String>,
    /// What the role is for.
    #[attr(optional, validate = length(..=1000))]
    pub description: Attr<String>,
    /// Whether policies that are attached by others are detached when the role is destroyed.
    #[attr(optional, default = false)]
    pub force_detach_policies: Attr<bool>,
    /// Longest session in seconds.
    #[attr(optional, default = 3600, validate = range(3600..=43200))]
    pub max_session_duration: Attr<i32>,
    /// The role's name; a unique one unless given.
    #[attr(optional, computed, force_new, conflicts_with = ["name_prefix"], validate = length(1..=64))]
    pub name: Attr<String>,
    /// Beginning of a unique name.
    #[attr(optional, computed, force_new, conflicts_with = ["name"], validate = length(..=38))]
    pub name_prefix: Attr<String>,
    /// The role's path.
    #[attr(optional, default = "/", force_new)]
    pub path: Attr<String>,
    /// ARN of the policy that bounds the role's permissions.
    #[attr(optional)]
    pub permissions_boundary: Attr<String>,
    /// Tags.
    #[attr(optional)]
    pub tags: Attr<Tags>,
    /// Tags with the provider's default tags.
    #[attr(optional, computed)]
    pub tags_all: Attr<Tags>,
    /// The role's unique ID.
    #[attr(computed)]
    pub unique_id: Attr<String>,
}

impl Resource for Role {
    type Client = Aws;
    const TYPE: &'static str = "aws_iam_role";

    async fn create(&mut self, ctx: &Context<Aws>) -> Result<()> {
        let name = unique_name(&self.name, &self.name_prefix, ctx.client_token());
        let lookup = || async { Ok(self.lookup(ctx.client(), &name).await?.map(drop)) };
        eventually(ctx, |_| once::once(ctx, || self.make(ctx.client(), &name), lookup)).await?;
        self.id.set(name.clone());
        self.name.set_if_unknown(Attr::Known(name.clone()));
        eventually(ctx, |_| find(ctx.client(), &name)).await.map(drop)
    }

    async fn read(mut self, ctx: &Context<Aws>) -> Result<Option<Self>> {
        let found = find(ctx.client(), self.id.require("id")?).await?;
        self.refresh(&found, ctx.client());
        Ok(Some(self))
    }

    async fn update(&mut self, prior: &Self, ctx: &Context<Aws>) -> Result<()> {
        let iam = &ctx.client().iam;
        let name = self.id.require("id")?;
        if self.assume_role_policy != prior.assume_role_policy {
            let policy = self.assume_role_policy.require("assume_role_policy")?;
            let change = |_| async {
                let request = iam.update_assume_role_policy().role_name(name).policy_document(policy);
                request.send().await.or_fail("Changing who may assume the role").map(drop)
            };
            eventually(ctx, change).await?;
        }
        if self.description != prior.description || self.max_session_duration != prior.max_session_duration {
            let request = iam.update_role().role_name(name).description(self.description.or_default());
            let request = request.set_max_session_duration(self.max_session_duration.cloned());
            request.send().await.or_fail("Changing the role")?;
        }
        if self.permissions_boundary != prior.permissions_boundary {
            self.bound(ctx.client(), name).await?;
        }
        let (gone, new) = tags::difference(&prior.tags_all, &self.tags_all);
        if !gone.is_empty() {
            iam.untag_role().role_name(name).set_tag_keys(Some(gone)).send().await.or_fail("Removing tags")?;
        }
        if !new.is_empty() {
            let request = iam.tag_role().role_name(name).set_tags(Some(tags::iam(&new)));
            request.send().await.or_fail("Setting tags")?;
        }
        Ok(())
    }

    async fn delete(self, ctx: &Context<Aws>) -> Result<()> {
        let aws = ctx.client();
        let name = self.id.require("id")?;
        leave_profiles(aws, name).await?;
        if self.force_detach_policies.or_default() {
            detach_all(aws, name).await?;
        }
        let delete =
            |_| async { aws.iam.delete_role().role_name(name).send().await.or_fail("Deleting the role").map(drop) };
        retry_briefly(ctx, |e| e.has_code(&["DeleteConflict", "ConcurrentModification"]), delete).await
    }

    tags::plan_tags!();

    async fn find_by_token(&self, token: &str, ctx: &Context<Aws>) -> Result<Option<Self>> {
        let name = unique_name(&self.name, &self.name_prefix, token);
        let Some(found) = self.lookup(ctx.client(), &name).await? else { return Ok(None) };
        let mut state = self.clone();
        state.id.set(name);
        state.refresh(&found, ctx.client());
        Ok(Some(state))
    }
}

impl Role {
    async fn make(&self, aws: &Aws, name: &str) -> Result<()> {
        let request = aws.iam.create_role().role_name(name).set_path(self.path.cloned());
        let request = request.set_assume_role_policy_document(self.assume_role_policy.cloned());
        let request = request.set_description(self.description.cloned().filter(|d| !d.is_empty()));
        let request = request.set_max_session_duration(self.max_session_duration.cloned());
        let bound = self.permissions_boundary.cloned().filter(|b| !b.is_empty());
        let request = request.set_permissions_boundary(bound).set_tags(Some(tags::iam(&self.tags_all.or_default())));
        request.customize().config_override(once::iam()).send().await.or_fail("Creating the role").map(drop)
    }

    /// The role of this name, if it is as this create makes it.
    async fn lookup(&self, aws: &Aws, name: &str) -> Result<Option<Found>> {
        let found = match find(aws, name).await {
            Err(e) if e.is_not_found() => return Ok(None),
            other => other?,
        };
        let policy = percent_decoded(found.assume_role_policy_document().unwrap_or_default());
        let ours = same_policy(&policy, &self.assume_role_policy.or_default())
            && found.description().unwrap_or_default() == self.description.or_default()
            && tags::are(tags::from_iam(found.tags()), &self.tags_all, aws);
        Ok(ours.then_some(found))
    }

    async fn bound(&self, aws: &Aws, name: &str) -> Result<()> {
        match self.permissions_boundary.as_deref().filter(|b| !b.is_empty()) {
            Some(arn) => {
                let request = aws.iam.put_role_permissions_boundary().role_name(name).permissions_boundary(arn);
                request.send().await.or_fail("Setting the role's permissions boundary").map(drop)
            }
            None => {
                let request = aws.iam.delete_role_permissions_boundary().role_name(name);
                request.send().await.or_fail("Removing the role's permissions boundary").map(drop)
            }
        }
    }

    fn refresh(&mut self, found: &Found, aws: &Aws) {
        self.arn.set(found.arn());
        if let Some(document) = found.assume_role_policy_document() {
            self.assume_role_policy.set(percent_decoded(document));
        }
        self.create_date.set(render_time(found.create_date()));
        self.description.refresh(found.description().unwrap_or_default());
        self.force_detach_policies.set(self.force_detach_policies.or_default());
        self.max_session_duration.set(found.max_session_duration().unwrap_or(3600));
        self.name.set(found.role_name());
        if !self.name_prefix.is_known() {
            self.name_prefix.set(prefix_of(found.role_name()));
        }
        self.path.set(found.path());
        let bound = found.permissions_boundary().and_then(|b| b.permissions_boundary_arn());
        self.permissions_boundary.refresh(bound.unwrap_or_default());
        self.unique_id.set(found.role_id());
        tags::refresh(tags::from_iam(found.tags()), &mut self.tags, &mut self.tags_all, aws);
    }
}

async fn find(aws: &Aws, name: &str) -> Result<Found> {
    let answer = aws.iam.get_role().role_name(name).send().await.or_fail("Reading the role")?;
    answer.role.ok_or_else(|| Error::not_found("The role is gone"))
}

async fn leave_profiles(aws: &Aws, role: &str) -> Result<()> {
    let answer = aws.iam.list_instance_profiles_for_role().role_name(role).send().await;
    for profile in answer.or_fail("Listing the role's instance profiles")?.instance_profiles() {
        let request = aws.iam.remove_role_from_instance_profile().role_name(role);
        let request = request.instance_profile_name(profile.instance_profile_name());
        gone_is_fine(request.send().await.or_fail("Taking the role out of its instance profile").map(drop))?;
    }
    Ok(())
}

async fn detach_all(aws: &Aws, role: &str) -> Result<()> {
    let mut pages = aws.iam.list_attached_role_policies().role_name(role).into_paginator().items().send();
    while let Some(policy) = pages.next().await {
        let policy = policy.or_fail("Listing the role's policies")?;
        let request = aws.iam.detach_role_policy().role_name(role).set_policy_arn(policy.policy_arn);
        gone_is_fine(request.send().await.or_fail("Detaching a policy from the role").map(drop))?;
    }
    let mut pages = aws.iam.list_role_policies().role_name(role).into_paginator().items().send();
    while let Some(name) = pages.next().await {
        let name = name.or_fail("Listing the role's inline policies")?;
        let request = aws.iam.delete_role_policy().role_name(role).policy_name(name);
        gone_is_fine(request.send().await.or_fail("Deleting an inline policy of the role").map(drop))?;
    }
    Ok(())
}

/// For calls that remove something: that it is gone already is no error.
pub fn gone_is_fine(answer: Result<()>) -> Result<()> {
    answer.or_else(|e| if e.is_not_found() { Ok(()) } else { Err(e) })
}

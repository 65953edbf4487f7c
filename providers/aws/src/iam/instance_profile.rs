//! `aws_iam_instance_profile`. API: CreateInstanceProfile, GetInstanceProfile, AddRoleToInstanceProfile,
//! RemoveRoleFromInstanceProfile, TagInstanceProfile, UntagInstanceProfile, DeleteInstanceProfile.

use crate::client::Aws;
use crate::ec2::util::{prefix_of, render_time, unique_name};
use crate::error::Answer;
use crate::iam::role::gone_is_fine;
use crate::once;
use crate::policy::{eventually, retry_briefly};
use crate::tags::{self, Tags};
use aws_sdk_iam::types::InstanceProfile as Found;
use gpuform_provider_sdk::prelude::*;

/// What gives an instance a role.
#[derive(Model, Clone, PartialEq, Default)]
pub struct InstanceProfile {
    /// The profile's name.
    #[attr(optional, computed)]
    pub id: Attr<String>,
    /// The profile's ARN.
    #[attr(computed)]
    pub arn: Attr<String>,
    /// When the profile was made.
    #[attr(computed)]
    pub create_date: Attr<String>,
    /// The profile's name; a unique one unless given.
    #[attr(optional, computed, force_new, conflicts_with = ["name_prefix"])]
    pub name: Attr<String>,
    /// Beginning of a unique name.
    #[attr(optional, computed, force_new, conflicts_with = ["name"])]
    pub name_prefix: Attr<String>,
    /// The profile's path.
    #[attr(optional, default = "/", force_new)]
    pub path: Attr<String>,
    /// The role's name.
    #[attr(optional)]
    pub role: Attr<String>,
    /// Tags.
    #[attr(optional)]
    pub tags: Attr<Tags>,
    /// Tags with the provider's default tags.
    #[attr(optional, computed)]
    pub tags_all: Attr<Tags>,
    /// The profile's unique ID.
    #[attr(computed)]
    pub unique_id: Attr<String>,
}

impl Resource for InstanceProfile {
    type Client = Aws;
    const TYPE: &'static str = "aws_iam_instance_profile";

    async fn create(&mut self, ctx: &Context<Aws>) -> Result<()> {
        let aws = ctx.client();
        let name = unique_name(&self.name, &self.name_prefix, ctx.client_token());
        let lookup = || async { Ok(self.lookup(aws, &name).await?.map(drop)) };
        once::once(ctx, || self.make(aws, &name), lookup).await?;
        self.id.set(name.clone());
        self.name.set_if_unknown(Attr::Known(name.clone()));
        eventually(ctx, |_| find(aws, &name)).await?;
        match self.role.as_deref().filter(|r| !r.is_empty()) {
            Some(role) => eventually(ctx, |_| add(aws, &name, role)).await,
            None => Ok(()),
        }
    }

    async fn read(mut self, ctx: &Context<Aws>) -> Result<Option<Self>> {
        let found = find(ctx.client(), self.id.require("id")?).await?;
        self.arn.set(found.arn());
        self.create_date.set(render_time(found.create_date()));
        self.name.set(found.instance_profile_name());
        if !self.name_prefix.is_known() {
            self.name_prefix.set(prefix_of(found.instance_profile_name()));
        }
        self.path.set(found.path());
        self.role.refresh(found.roles().first().map(|r| r.role_name()).unwrap_or_default());
        self.unique_id.set(found.instance_profile_id());
        tags::refresh(tags::from_iam(found.tags()), &mut self.tags, &mut self.tags_all, ctx.client());
        Ok(Some(self))
    }

    async fn update(&mut self, prior: &Self, ctx: &Context<Aws>) -> Result<()> {
        let aws = ctx.client();
        let name = self.id.require("id")?;
        if self.role != prior.role {
            if let Some(old) = prior.role.as_deref().filter(|r| !r.is_empty()) {
                remove(aws, name, old).await?;
            }
            if let Some(new) = self.role.as_deref().filter(|r| !r.is_empty()) {
                eventually(ctx, |_| add(aws, name, new)).await?;
            }
        }
        let (gone, new) = tags::difference(&prior.tags_all, &self.tags_all);
        if !gone.is_empty() {
            let request = aws.iam.untag_instance_profile().instance_profile_name(name).set_tag_keys(Some(gone));
            request.send().await.or_fail("Removing tags")?;
        }
        if !new.is_empty() {
            let request = aws.iam.tag_instance_profile().instance_profile_name(name).set_tags(Some(tags::iam(&new)));
            request.send().await.or_fail("Setting tags")?;
        }
        Ok(())
    }

    async fn delete(self, ctx: &Context<Aws>) -> Result<()> {
        let aws = ctx.client();
        let name = self.id.require("id")?;
        let found = find(aws, name).await?;
        for role in found.roles() {
            remove(aws, name, role.role_name()).await?;
        }
        let delete = |_| async {
            let request = aws.iam.delete_instance_profile().instance_profile_name(name);
            request.send().await.or_fail("Deleting the instance profile").map(drop)
        };
        retry_briefly(ctx, |e| e.has_code(&["DeleteConflict"]), delete).await
    }

    tags::plan_tags!();

    async fn find_by_token(&self, token: &str, ctx: &Context<Aws>) -> Result<Option<Self>> {
        let name = unique_name(&self.name, &self.name_prefix, token);
        if self.lookup(ctx.client(), &name).await?.is_none() {
            return Ok(None);
        }
        let mut state = self.clone();
        state.id.set(name);
        state.read(ctx).await
    }
}

impl InstanceProfile {
    async fn make(&self, aws: &Aws, name: &str) -> Result<()> {
        let request = aws.iam.create_instance_profile().instance_profile_name(name).set_path(self.path.cloned());
        let request = request.set_tags(Some(tags::iam(&self.tags_all.or_default())));
        let request = request.customize().config_override(once::iam());
        request.send().await.or_fail("Creating the instance profile").map(drop)
    }

    /// The profile of this name, if it is as this create makes it.
    async fn lookup(&self, aws: &Aws, name: &str) -> Result<Option<Found>> {
        match find(aws, name).await {
            Err(e) if e.is_not_found() => Ok(None),
            other => Ok(Some(other?).filter(|f| tags::are(tags::from_iam(f.tags()), &self.tags_all, aws))),
        }
    }
}

async fn find(aws: &Aws, name: &str) -> Result<Found> {
    let answer = aws.iam.get_instance_profile().instance_profile_name(name).send().await;
    let answer = answer.or_fail("Reading the instance profile")?;
    answer.instance_profile.ok_or_else(|| Error::not_found("The instance profile is gone"))
}

async fn add(aws: &Aws, profile: &str, role: &str) -> Result<()> {
    let request = aws.iam.add_role_to_instance_profile().instance_profile_name(profile).role_name(role);
    match request.send().await.or_fail("Giving the instance profile its role") {
        // Given by a request whose answer was lost.
        Err(e) if e.has_code(&["LimitExceeded"]) => {
            let there = find(aws, profile).await?.roles().iter().any(|r| r.role_name() == role);
            if there { Ok(()) } else { Err(e) }
        }
        other => other.map(drop),
    }
}

async fn remove(aws: &Aws, profile: &str, role: &str) -> Result<()> {
    let request = aws.iam.remove_role_from_instance_profile().instance_profile_name(profile).role_name(role);
    gone_is_fine(request.send().await.or_fail("Taking the role from the instance profile").map(drop))
}

//! `aws_iam_role_policy_attachment`. API: AttachRolePolicy, ListAttachedRolePolicies, DetachRolePolicy.

use crate::client::Aws;
use crate::error::Answer;
use crate::policy::eventually;
use gpuform_provider_sdk::prelude::*;

/// A managed policy on a role.
#[derive(Model, Clone, PartialEq, Default)]
pub struct RolePolicyAttachment {
    /// The role's name and the policy's ARN, with a slash between.
    #[attr(optional, computed)]
    pub id: Attr<String>,
    /// The policy's ARN.
    #[attr(required, force_new)]
    pub policy_arn: Attr<String>,
    /// The role's name.
    #[attr(required, force_new)]
    pub role: Attr<String>,
}

impl Resource for RolePolicyAttachment {
    type Client = Aws;
    const TYPE: &'static str = "aws_iam_role_policy_attachment";

    async fn create(&mut self, ctx: &Context<Aws>) -> Result<()> {
        let (role, arn) = (self.role.require("role")?.clone(), self.policy_arn.require("policy_arn")?.clone());
        let attach = |_| async {
            let request = ctx.client().iam.attach_role_policy().role_name(&role).policy_arn(&arn);
            request.send().await.or_fail("Attaching the policy to the role").map(drop)
        };
        eventually(ctx, attach).await?;
        self.id.set(format!("{role}/{arn}"));
        let seen = |_| async {
            match attached(ctx.client(), &role, &arn).await? {
                true => Ok(()),
                false => Err(Error::not_found("The role does not have the policy")),
            }
        };
        eventually(ctx, seen).await
    }

    async fn read(mut self, ctx: &Context<Aws>) -> Result<Option<Self>> {
        if !self.role.is_known() {
            let id = self.id.require("id")?;
            let Some((role, arn)) = id.split_once('/') else {
                return Err(Error::new("Invalid ID of a policy attachment").detail(format!(
                    "{id:?} is not the name of a role and the ARN of a policy with a slash between."
                )));
            };
            (self.role, self.policy_arn) = (role.into(), arn.into());
        }
        let there = attached(ctx.client(), self.role.require("role")?, self.policy_arn.require("policy_arn")?).await?;
        Ok(there.then_some(self))
    }

    async fn delete(self, ctx: &Context<Aws>) -> Result<()> {
        let request = ctx.client().iam.detach_role_policy().set_role_name(self.role.known());
        let request = request.set_policy_arn(self.policy_arn.known());
        request.send().await.or_fail("Detaching the policy from the role").map(drop)
    }

    async fn find_by_token(&self, _token: &str, ctx: &Context<Aws>) -> Result<Option<Self>> {
        let mut state = self.clone();
        state.id.set(format!("{}/{}", self.role.require("role")?, self.policy_arn.require("policy_arn")?));
        state.read(ctx).await
    }
}

async fn attached(aws: &Aws, role: &str, arn: &str) -> Result<bool> {
    let mut pages = aws.iam.list_attached_role_policies().role_name(role).into_paginator().items().send();
    while let Some(policy) = pages.next().await {
        if policy.or_fail("Listing the role's policies")?.policy_arn() == Some(arn) {
            return Ok(true);
        }
    }
    Ok(false)
}

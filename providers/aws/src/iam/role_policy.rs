//! `aws_iam_role_policy`: a policy that is part of a role. API: PutRolePolicy, GetRolePolicy, DeleteRolePolicy.

use crate::client::Aws;
use crate::ec2::util::{prefix_of, unique_name};
use crate::error::Answer;
use crate::policy::{eventually, percent_decoded, policy_equal};
use gpuform_provider_sdk::prelude::*;

/// A policy inside a role.
#[derive(Model, Clone, PartialEq, Default)]
pub struct RolePolicy {
    /// The role's name and the policy's, with a colon between.
    #[attr(optional, computed)]
    pub id: Attr<String>,
    /// The policy's name; a unique one unless given.
    #[attr(optional, computed, force_new, conflicts_with = ["name_prefix"])]
    pub name: Attr<String>,
    /// Beginning of a unique name.
    #[attr(optional, computed, force_new, conflicts_with = ["name"])]
    pub name_prefix: Attr<String>,
    /// The policy in JSON.
    #[attr(required, validate = json(), suppress = policy_equal)]
    pub policy: Attr<String>,
    /// The role's name.
    #[attr(required, force_new)]
    pub role: Attr<String>,
}

impl Resource for RolePolicy {
    type Client = Aws;
    const TYPE: &'static str = "aws_iam_role_policy";

    async fn create(&mut self, ctx: &Context<Aws>) -> Result<()> {
        let name = unique_name(&self.name, &self.name_prefix, ctx.client_token());
        self.name.set_if_unknown(Attr::Known(name.clone()));
        let role = self.role.require("role")?.clone();
        eventually(ctx, |_| self.put(ctx.client(), &role, &name)).await?;
        self.id.set(format!("{role}:{name}"));
        eventually(ctx, |_| find(ctx.client(), &role, &name)).await.map(drop)
    }

    async fn read(mut self, ctx: &Context<Aws>) -> Result<Option<Self>> {
        let id = self.id.require("id")?.clone();
        let Some((role, name)) = id.split_once(':') else { return Err(bad_id(&id)) };
        self.policy.set(find(ctx.client(), role, name).await?);
        self.role.set(role);
        self.name.set(name);
        if !self.name_prefix.is_known() {
            self.name_prefix.set(prefix_of(name));
        }
        Ok(Some(self))
    }

    async fn update(&mut self, _prior: &Self, ctx: &Context<Aws>) -> Result<()> {
        let (role, name) = (self.role.require("role")?, self.name.require("name")?);
        eventually(ctx, |_| self.put(ctx.client(), role, name)).await
    }

    async fn delete(self, ctx: &Context<Aws>) -> Result<()> {
        let request = ctx.client().iam.delete_role_policy().set_role_name(self.role.known());
        request.set_policy_name(self.name.known()).send().await.or_fail("Deleting the role's policy").map(drop)
    }

    async fn find_by_token(&self, token: &str, ctx: &Context<Aws>) -> Result<Option<Self>> {
        let name = unique_name(&self.name, &self.name_prefix, token);
        let mut state = self.clone();
        state.id.set(format!("{}:{name}", self.role.require("role")?));
        state.read(ctx).await
    }
}

impl RolePolicy {
    async fn put(&self, aws: &Aws, role: &str, name: &str) -> Result<()> {
        let request = aws.iam.put_role_policy().role_name(role).policy_name(name);
        let request = request.set_policy_document(self.policy.cloned());
        request.send().await.or_fail("Writing the role's policy").map(drop)
    }
}

async fn find(aws: &Aws, role: &str, name: &str) -> Result<String> {
    let answer = aws.iam.get_role_policy().role_name(role).policy_name(name).send().await;
    Ok(percent_decoded(answer.or_fail("Reading the role's policy")?.policy_document()))
}

fn bad_id(id: &str) -> Error {
    Error::new("Invalid ID of a role's policy")
        .detail(format!("{id:?} is not the name of a role and that of a policy with a colon between."))
}

//! `aws_kms_alias`. API: CreateAlias, UpdateAlias, DescribeKey, DeleteAlias.

use crate::client::Aws;
use crate::ec2::util::{prefix_of, unique_name};
use crate::error::Answer;
use gpuform_provider_sdk::prelude::*;

const PREFIX: &str = "alias/";

/// A name for a key of KMS.
#[derive(Model, Clone, PartialEq, Default)]
pub struct Alias {
    /// The name.
    #[attr(optional, computed)]
    pub id: Attr<String>,
    /// The alias's ARN.
    #[attr(computed)]
    pub arn: Attr<String>,
    /// The name, which begins with `alias/`; a unique one unless given.
    #[attr(optional, computed, force_new, conflicts_with = ["name_prefix"], validate = alias_name())]
    pub name: Attr<String>,
    /// The beginning of a unique name.
    #[attr(optional, computed, force_new, conflicts_with = ["name"], validate = alias_name())]
    pub name_prefix: Attr<String>,
    /// The key, by ID or ARN.
    #[attr(required, suppress = same_key)]
    pub target_key_id: Attr<String>,
    /// The key's ARN.
    #[attr(computed, recompute_on = ["target_key_id"])]
    pub target_key_arn: Attr<String>,
}

fn alias_name() -> gpuform_provider_sdk::validate::Validator {
    gpuform_provider_sdk::validate::check_str(|name| {
        let rest = name.strip_prefix(PREFIX);
        let allowed = |c: char| c.is_ascii_alphanumeric() || "/_-".contains(c);
        match rest {
            Some(rest) if rest.starts_with("aws/") => Err("Names under alias/aws/ belong to AWS.".to_owned()),
            Some(rest) if rest.chars().all(allowed) => Ok(()),
            _ => Err("The name should be \"alias/\" and letters, digits, \"/\", \"_\", \"-\".".to_owned()),
        }
    })
}

impl Resource for Alias {
    type Client = Aws;
    const TYPE: &'static str = "aws_kms_alias";

    async fn create(&mut self, ctx: &Context<Aws>) -> Result<()> {
        let aws = ctx.client();
        let name = self.full_name(ctx.client_token());
        let target = self.target_key_id.require("target_key_id")?;
        let made = ctx
            .retry(
                |e| e.has_code(&["NotFoundException"]),
                |attempt| {
                    let request = aws.kms.create_alias().alias_name(&name).target_key_id(target);
                    async move {
                        let answer = request.send().await.or_fail("Creating the alias").map(drop);
                        // Only a young key is invisible; one that does not exist never appears.
                        answer.map_err(|e| if attempt > 5 && e.is_not_found() { e.code("NotFound") } else { e })
                    }
                },
            )
            .await;
        match made {
            // Perhaps made by an attempt whose answer was lost.
            Err(e) if e.has_code(&["AlreadyExistsException"]) => match find(aws, &name).await? {
                Some(key) if key == *target || key.ends_with(&format!("/{target}")) => {}
                _ => return Err(e),
            },
            other => other?,
        }
        self.id.set(name);
        Ok(())
    }

    async fn read(mut self, ctx: &Context<Aws>) -> Result<Option<Self>> {
        let aws = ctx.client();
        let name = self.id.require("id")?.clone();
        let Some(key) = find(aws, &name).await? else { return Ok(None) };
        self.arn.set(aws.arn("kms", &name).await?);
        if !self.name_prefix.is_known() {
            self.name_prefix.set(prefix_of(&name));
        }
        self.name.set(name);
        let id = key.rsplit('/').next().unwrap_or_default();
        self.target_key_id.set(id);
        self.target_key_arn.set(key);
        Ok(Some(self))
    }

    async fn update(&mut self, _prior: &Self, ctx: &Context<Aws>) -> Result<()> {
        let request = ctx.client().kms.update_alias().alias_name(self.id.require("id")?);
        let request = request.set_target_key_id(self.target_key_id.cloned());
        request.send().await.or_fail("Changing the alias").map(drop)
    }

    async fn delete(self, ctx: &Context<Aws>) -> Result<()> {
        let request = ctx.client().kms.delete_alias().alias_name(self.id.require("id")?);
        request.send().await.or_fail("Deleting the alias").map(drop)
    }

    /// Names are unique, and those not given follow from the token.
    async fn find_by_token(&self, token: &str, ctx: &Context<Aws>) -> Result<Option<Self>> {
        let mut found = self.clone();
        found.id.set(self.full_name(token));
        found.read(ctx).await
    }
}

impl Alias {
    /// The name, made unique by the token where only a prefix is given.
    fn full_name(&self, token: &str) -> String {
        let prefix = self.name_prefix.cloned().filter(|p| !p.is_empty()).unwrap_or_else(|| PREFIX.to_owned());
        unique_name(&self.name, &Attr::Known(prefix), token)
    }
}

/// The ARN of the key that an alias names.
async fn find(aws: &Aws, name: &str) -> Result<Option<String>> {
    match aws.kms.describe_key().key_id(name).send().await.or_fail("Reading the alias") {
        Err(e) if e.is_not_found() => Ok(None),
        other => Ok(other?.key_metadata().and_then(|k| k.arn()).map(str::to_owned)),
    }
}

/// A key by ID and by ARN.
fn same_key(old: &Value, new: &Value) -> bool {
    let id = |v: &Value| v.as_str().and_then(|s| s.rsplit('/').next().map(str::to_owned));
    old == new || matches!((id(old), id(new)), (Some(a), Some(b)) if a == b)
}

//! `aws_key_pair`. API: ImportKeyPair, DescribeKeyPairs, DeleteKeyPair.

use crate::client::Aws;
use crate::ec2::util::{prefix_of, unique_name};
use crate::error::Answer;
use crate::once;
use crate::tags::{self, Tags};
use aws_sdk_ec2::primitives::Blob;
use aws_sdk_ec2::types::{KeyPairInfo, ResourceType};
use gpuform_provider_sdk::prelude::*;

/// A key pair for logging in; the private key stays with the user.
#[derive(Model, Clone, PartialEq, Default)]
pub struct KeyPair {
    /// The key pair's name.
    #[attr(optional, computed)]
    pub id: Attr<String>,
    /// The key pair's ARN.
    #[attr(computed)]
    pub arn: Attr<String>,
    /// The fingerprint of the public key.
    #[attr(computed)]
    pub fingerprint: Attr<String>,
    /// The name; a unique one unless given.
    #[attr(optional, computed, force_new, conflicts_with = ["key_name_prefix"], validate = length(0..=255))]
    pub key_name: Attr<String>,
    /// What a unique name begins with.
    #[attr(optional, computed, force_new, conflicts_with = ["key_name"], validate = length(0..=229))]
    pub key_name_prefix: Attr<String>,
    /// The key pair's ID.
    #[attr(computed)]
    pub key_pair_id: Attr<String>,
    /// `rsa` or `ed25519`.
    #[attr(computed)]
    pub key_type: Attr<String>,
    /// The public key in the format of OpenSSH.
    #[attr(required, force_new, suppress = same_key)]
    pub public_key: Attr<String>,
    /// Tags.
    #[attr(optional)]
    pub tags: Attr<Tags>,
    /// Tags with the provider's default tags.
    #[attr(optional, computed)]
    pub tags_all: Attr<Tags>,
}

impl Resource for KeyPair {
    type Client = Aws;
    const TYPE: &'static str = "aws_key_pair";
    const VERSION: i64 = 1;

    async fn create(&mut self, ctx: &Context<Aws>) -> Result<()> {
        let (aws, name) = (ctx.client(), self.name(ctx.client_token()));
        once::once(ctx, || self.request(aws, &name), || self.lookup(aws, &name)).await?;
        self.key_name.set_if_unknown(Attr::Known(name.clone()));
        self.id.set(name);
        Ok(())
    }

    async fn read(mut self, ctx: &Context<Aws>) -> Result<Option<Self>> {
        let name = self.id.require("id")?.clone();
        let Some(found) = find(ctx.client(), &name).await? else { return Ok(None) };
        self.refresh(&found, ctx.client()).await?;
        Ok(Some(self))
    }

    async fn update(&mut self, prior: &Self, ctx: &Context<Aws>) -> Result<()> {
        let id = self.key_pair_id.require("key_pair_id")?;
        tags::update_ec2(ctx.client(), id, &prior.tags_all, &self.tags_all).await
    }

    async fn delete(self, ctx: &Context<Aws>) -> Result<()> {
        let name = self.id.require("id")?;
        ctx.client().ec2.delete_key_pair().key_name(name).send().await.or_fail("Deleting the key pair").map(drop)
    }

    tags::plan_tags!();

    async fn find_by_token(&self, token: &str, ctx: &Context<Aws>) -> Result<Option<Self>> {
        let name = self.name(token);
        let Some(found) = self.lookup(ctx.client(), &name).await? else { return Ok(None) };
        let mut state = self.clone();
        state.id.set(name);
        state.refresh(&found, ctx.client()).await?;
        Ok(Some(state))
    }
}

impl KeyPair {
    fn name(&self, token: &str) -> String {
        unique_name(&self.key_name, &self.key_name_prefix, token)
    }

    async fn request(&self, aws: &Aws, name: &str) -> Result<KeyPairInfo> {
        let key = self.public_key.require("public_key")?.trim_end();
        let request = aws.ec2.import_key_pair().key_name(name).public_key_material(Blob::new(key));
        let tags = tags::specifications(ResourceType::KeyPair, &self.tags_all.or_default());
        let request = request.set_tag_specifications(tags).customize().config_override(once::ec2());
        request.send().await.or_fail("Importing the key pair")?;
        Ok(KeyPairInfo::builder().key_name(name).build())
    }

    /// The key pair of this name, if its key is the one to import: names are unique.
    async fn lookup(&self, aws: &Aws, name: &str) -> Result<Option<KeyPairInfo>> {
        let wanted = self.public_key.or_default();
        let same = |found: &KeyPairInfo| found.public_key().is_some_and(|k| material(k) == material(&wanted));
        Ok(find(aws, name).await?.filter(same))
    }

    async fn refresh(&mut self, found: &KeyPairInfo, aws: &Aws) -> Result<()> {
        let text = |t: Option<&str>| t.unwrap_or_default().to_owned();
        let name = text(found.key_name());
        self.arn.set(aws.arn("ec2", &format!("key-pair/{name}")).await?);
        self.fingerprint.set(text(found.key_fingerprint()));
        if !self.key_name_prefix.is_known() {
            self.key_name_prefix.set(prefix_of(found.key_name().unwrap_or_default()));
        }
        self.key_name.set(name);
        self.key_pair_id.set(text(found.key_pair_id()));
        self.key_type.set(found.key_type().map(|t| t.as_str()).unwrap_or_default());
        let now = text(found.public_key());
        // AWS may report another comment than the one that was written.
        let same = self.public_key.as_deref().is_some_and(|old| material(old) == material(&now));
        if !now.is_empty() && !same {
            self.public_key.set(now.trim_end());
        }
        tags::refresh(tags::from_ec2(found.tags()), &mut self.tags, &mut self.tags_all, aws);
        Ok(())
    }
}

async fn find(aws: &Aws, name: &str) -> Result<Option<KeyPairInfo>> {
    aws.reads.key_pairs.get(name).await
}

/// Kind and key without the comment.
fn material(key: &str) -> Vec<&str> {
    key.split_whitespace().take(2).collect()
}

/// Keys that differ only in white space at the ends.
fn same_key(old: &Value, new: &Value) -> bool {
    matches!((old.as_str(), new.as_str()), (Some(a), Some(b)) if a.trim() == b.trim())
}

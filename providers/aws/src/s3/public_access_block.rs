//! `aws_s3_bucket_public_access_block`. API: PutPublicAccessBlock, GetPublicAccessBlock, DeletePublicAccessBlock.

use crate::client::Aws;
use crate::error::Answer;
use aws_sdk_s3::types::PublicAccessBlockConfiguration;
use gpuform_provider_sdk::prelude::*;

/// What keeps a bucket from becoming public.
#[derive(Model, Clone, PartialEq, Default)]
pub struct BucketPublicAccessBlock {
    /// The bucket's name.
    #[attr(optional, computed)]
    pub id: Attr<String>,
    /// Whether public access lists are refused.
    #[attr(optional, default = false)]
    pub block_public_acls: Attr<bool>,
    /// Whether public policies are refused.
    #[attr(optional, default = false)]
    pub block_public_policy: Attr<bool>,
    /// The bucket's name.
    #[attr(required, force_new)]
    pub bucket: Attr<String>,
    /// Whether public access lists have no effect.
    #[attr(optional, default = false)]
    pub ignore_public_acls: Attr<bool>,
    /// Whether a bucket with a public policy is open to its owner and to AWS services only.
    #[attr(optional, default = false)]
    pub restrict_public_buckets: Attr<bool>,
}

impl Resource for BucketPublicAccessBlock {
    type Client = Aws;
    const TYPE: &'static str = "aws_s3_bucket_public_access_block";

    bucket_setting!();

    async fn read(mut self, ctx: &Context<Aws>) -> Result<Option<Self>> {
        let bucket = self.id.require("id")?.clone();
        let found = find(ctx.client(), &bucket).await?;
        self.block_public_acls.set(found.block_public_acls().unwrap_or_default());
        self.block_public_policy.set(found.block_public_policy().unwrap_or_default());
        self.ignore_public_acls.set(found.ignore_public_acls().unwrap_or_default());
        self.restrict_public_buckets.set(found.restrict_public_buckets().unwrap_or_default());
        self.bucket.set(bucket);
        Ok(Some(self))
    }

    async fn delete(self, ctx: &Context<Aws>) -> Result<()> {
        let request = ctx.client().s3.delete_public_access_block().set_bucket(self.id.known());
        match request.send().await.or_fail("Deleting the bucket's public access block") {
            Err(e) if e.has_code(&["NoSuchPublicAccessBlockConfiguration"]) => Ok(()),
            other => other.map(drop),
        }
    }
}

impl BucketPublicAccessBlock {
    async fn put(&self, aws: &Aws) -> Result<()> {
        let block = PublicAccessBlockConfiguration::builder()
            .block_public_acls(self.block_public_acls.or_default())
            .block_public_policy(self.block_public_policy.or_default())
            .ignore_public_acls(self.ignore_public_acls.or_default())
            .restrict_public_buckets(self.restrict_public_buckets.or_default())
            .build();
        let request = aws.s3.put_public_access_block().set_bucket(self.bucket.cloned());
        let request = request.public_access_block_configuration(block);
        request.send().await.or_fail("Setting the bucket's public access block").map(drop)
    }
}

async fn find(aws: &Aws, bucket: &str) -> Result<PublicAccessBlockConfiguration> {
    let none = || Error::not_found("The bucket has no public access block");
    match aws.s3.get_public_access_block().bucket(bucket).send().await.or_fail("Reading the public access block") {
        Ok(answer) => answer.public_access_block_configuration.ok_or_else(none),
        Err(e) if e.has_code(&["NoSuchPublicAccessBlockConfiguration"]) => Err(none()),
        Err(e) => Err(e),
    }
}

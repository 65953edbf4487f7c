//! `aws_s3_bucket_policy`. API: PutBucketPolicy, GetBucketPolicy, DeleteBucketPolicy.

use crate::client::Aws;
use crate::error::Answer;
use crate::policy::policy_equal;
use gpuform_provider_sdk::prelude::*;

/// The policy of a bucket.
#[derive(Model, Clone, PartialEq, Default)]
pub struct BucketPolicy {
    /// The bucket's name.
    #[attr(optional, computed)]
    pub id: Attr<String>,
    /// The bucket's name.
    #[attr(required, force_new)]
    pub bucket: Attr<String>,
    /// The policy in JSON.
    #[attr(required, validate = json(), suppress = policy_equal)]
    pub policy: Attr<String>,
}

impl Resource for BucketPolicy {
    type Client = Aws;
    const TYPE: &'static str = "aws_s3_bucket_policy";

    bucket_setting!();

    async fn read(mut self, ctx: &Context<Aws>) -> Result<Option<Self>> {
        let bucket = self.id.require("id")?.clone();
        self.policy.set(find(ctx.client(), &bucket).await?);
        self.bucket.set(bucket);
        Ok(Some(self))
    }

    async fn delete(self, ctx: &Context<Aws>) -> Result<()> {
        let bucket = self.id.require("id")?;
        let request = ctx.client().s3.delete_bucket_policy().bucket(bucket);
        request.send().await.or_fail("Deleting the bucket's policy").map(drop)
    }
}

impl BucketPolicy {
    async fn put(&self, aws: &Aws) -> Result<()> {
        let request = aws.s3.put_bucket_policy().set_bucket(self.bucket.cloned()).set_policy(self.policy.cloned());
        request.send().await.or_fail("Setting the bucket's policy").map(drop)
    }
}

async fn find(aws: &Aws, bucket: &str) -> Result<String> {
    match aws.s3.get_bucket_policy().bucket(bucket).send().await.or_fail("Reading the bucket's policy") {
        Ok(answer) => answer.policy.ok_or_else(|| Error::not_found("The bucket has no policy")),
        Err(e) if e.has_code(&["NoSuchBucketPolicy"]) => Err(Error::not_found("The bucket has no policy")),
        Err(e) => Err(e),
    }
}

//! `aws_s3_bucket`. API: CreateBucket, HeadBucket, GetBucketTagging, PutBucketTagging, DeleteBucketTagging,
//! GetObjectLockConfiguration, ListObjectVersions, DeleteObjects, DeleteBucket. What a bucket has beyond that (versions,
//! encryption, lifecycle, policy …) are resources of their own.

use crate::client::Aws;
use crate::ec2::util::{prefix_of, unique_name};
use crate::error::Answer;
use crate::once;
use crate::policy::{eventually, retry_briefly};
use crate::s3::empty;
use crate::tags::{self, Tags};
use aws_sdk_s3::types::{BucketLocationConstraint, CreateBucketConfiguration, ObjectLockEnabled, Tagging};
use gpuform_provider_sdk::prelude::*;

/// A bucket.
#[derive(Model, Clone, PartialEq, Default)]
pub struct Bucket {
    /// The bucket's name.
    #[attr(optional, computed)]
    pub id: Attr<String>,
    /// The bucket's ARN.
    #[attr(computed)]
    pub arn: Attr<String>,
    /// The bucket's name; a unique one unless given.
    #[attr(optional, computed, force_new, conflicts_with = ["bucket_prefix"], validate = length(..=63))]
    pub bucket: Attr<String>,
    /// The bucket's domain name.
    #[attr(computed)]
    pub bucket_domain_name: Attr<String>,
    /// Beginning of a unique name.
    #[attr(optional, computed, force_new, conflicts_with = ["bucket"], validate = length(..=37))]
    pub bucket_prefix: Attr<String>,
    /// The region in which the bucket lies.
    #[attr(computed)]
    pub bucket_region: Attr<String>,
    /// The bucket's domain name in its region.
    #[attr(computed)]
    pub bucket_regional_domain_name: Attr<String>,
    /// Whether the objects are deleted with the bucket, in all their versions.
    #[attr(optional, default = false)]
    pub force_destroy: Attr<bool>,
    /// The Route 53 zone of the bucket's region.
    #[attr(computed)]
    pub hosted_zone_id: Attr<String>,
    /// Whether objects can be locked.
    #[attr(optional, computed, force_new)]
    pub object_lock_enabled: Attr<bool>,
    /// The region in which the bucket lies.
    #[attr(computed)]
    pub region: Attr<String>,
    /// Tags.
    #[attr(optional)]
    pub tags: Attr<Tags>,
    /// Tags with the provider's default tags.
    #[attr(optional, computed)]
    pub tags_all: Attr<Tags>,
    #[timeouts(create = "20m", read = "20m", update = "20m", delete = "60m")]
    pub timeouts: Timeouts,
}

impl Resource for Bucket {
    type Client = Aws;
    const TYPE: &'static str = "aws_s3_bucket";

    async fn create(&mut self, ctx: &Context<Aws>) -> Result<()> {
        let aws = ctx.client();
        let name = unique_name(&self.bucket, &self.bucket_prefix, ctx.client_token());
        let lookup = || async { Ok(self.is_ours(aws, &name).await?.then_some(())) };
        eventually(ctx, |_| once::once(ctx, || self.make(aws, &name), lookup)).await?;
        self.id.set(name.clone());
        self.bucket.set_if_unknown(Attr::Known(name.clone()));
        eventually(ctx, |_| region(aws, &name)).await?;
        let tags = self.tags_all.or_default();
        if tags.is_empty() { Ok(()) } else { eventually(ctx, |_| put_tags(aws, &name, tags.clone())).await }
    }

    async fn read(mut self, ctx: &Context<Aws>) -> Result<Option<Self>> {
        let aws = ctx.client();
        let name = self.id.require("id")?.clone();
        let region = region(aws, &name).await?;
        self.arn.set(format!("arn:{}:s3:::{name}", aws.partition()));
        self.bucket.set(name.as_str());
        if !self.bucket_prefix.is_known() {
            self.bucket_prefix.set(prefix_of(&name));
        }
        let suffix = if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
        self.bucket_domain_name.set(format!("{name}.s3.{suffix}"));
        self.bucket_regional_domain_name.set(format!("{name}.s3.{region}.{suffix}"));
        self.hosted_zone_id.set(hosted_zone(&region));
        self.bucket_region.set(region.as_str());
        self.region.set(region);
        self.force_destroy.set(self.force_destroy.or_default());
        if !self.object_lock_enabled.is_known() {
            self.object_lock_enabled.set(locks(aws, &name).await?);
        }
        tags::refresh(found_tags(aws, &name).await?, &mut self.tags, &mut self.tags_all, aws);
        Ok(Some(self))
    }

    async fn update(&mut self, prior: &Self, ctx: &Context<Aws>) -> Result<()> {
        if self.tags_all == prior.tags_all {
            return Ok(());
        }
        let name = self.id.require("id")?;
        eventually(ctx, |_| put_tags(ctx.client(), name, self.tags_all.or_default())).await
    }

    async fn delete(self, ctx: &Context<Aws>) -> Result<()> {
        let aws = ctx.client();
        let name = self.id.require("id")?;
        let force = self.force_destroy.or_default();
        let delete = |_| async {
            let answer = aws.s3.delete_bucket().bucket(name).send().await.or_fail("Deleting the bucket");
            match answer {
                Err(e) if force && e.has_code(&["BucketNotEmpty"]) => {
                    empty::bucket(aws, name, self.object_lock_enabled.or_default()).await?;
                    aws.s3.delete_bucket().bucket(name).send().await.or_fail("Deleting the bucket").map(drop)
                }
                other => other.map(drop),
            }
        };
        let again = |e: &Error| e.has_code(&["OperationAborted"]) || (force && e.has_code(&["BucketNotEmpty"]));
        retry_briefly(ctx, again, delete).await?;
        let poll = || async { Ok(Some((region(aws, name).await?, ()))) };
        ctx.wait_until_gone(&Wait::until_gone("bucket"), poll).await
    }

    tags::plan_tags!();

    async fn find_by_token(&self, token: &str, ctx: &Context<Aws>) -> Result<Option<Self>> {
        let name = unique_name(&self.bucket, &self.bucket_prefix, token);
        if !self.is_ours(ctx.client(), &name).await? {
            return Ok(None);
        }
        let mut state = self.clone();
        state.id.set(name);
        state.read(ctx).await
    }
}

impl Bucket {
    async fn make(&self, aws: &Aws, name: &str) -> Result<()> {
        let mut request = aws.s3.create_bucket().bucket(name);
        if aws.region != "us-east-1" {
            let place = BucketLocationConstraint::from(aws.region.as_str());
            let place = CreateBucketConfiguration::builder().location_constraint(place).build();
            request = request.create_bucket_configuration(place);
        }
        if self.object_lock_enabled.or_default() {
            request = request.object_lock_enabled_for_bucket(true);
        }
        request.customize().config_override(once::s3()).send().await.or_fail("Creating the bucket").map(drop)
    }

    /// Whether there is a bucket of this name that this create can have made: with its tags, or none yet.
    async fn is_ours(&self, aws: &Aws, name: &str) -> Result<bool> {
        match found_tags(aws, name).await {
            Err(e) if e.is_not_found() => Ok(false),
            tags => tags.map(|t| t.is_empty() || tags::are(t, &self.tags_all, aws)),
        }
    }
}

/// Where the bucket lies; an error of kind "not found" where there is none.
async fn region(aws: &Aws, name: &str) -> Result<String> {
    let answer = aws.s3.head_bucket().bucket(name).send().await.or_fail("Reading the bucket")?;
    Ok(answer.bucket_region().unwrap_or(&aws.region).to_owned())
}

async fn locks(aws: &Aws, name: &str) -> Result<bool> {
    let answer = aws.s3.get_object_lock_configuration().bucket(name).send().await;
    match answer.or_fail("Reading the bucket's object lock") {
        Ok(answer) => {
            let lock = answer.object_lock_configuration().and_then(|l| l.object_lock_enabled());
            Ok(lock == Some(&ObjectLockEnabled::Enabled))
        }
        Err(e) if e.has_code(&["ObjectLockConfigurationNotFoundError", "NotImplemented", "MethodNotAllowed"]) => {
            Ok(false)
        }
        Err(e) => Err(e),
    }
}

async fn found_tags(aws: &Aws, name: &str) -> Result<Tags> {
    match aws.s3.get_bucket_tagging().bucket(name).send().await.or_fail("Reading the bucket's tags") {
        Ok(answer) => Ok(tags::from_s3(answer.tag_set())),
        Err(e) if e.has_code(&["NoSuchTagSet"]) => Ok(Tags::new()),
        Err(e) => Err(e),
    }
}

/// Replaces the bucket's tags. Those that the provider is to ignore stay.
async fn put_tags(aws: &Aws, name: &str, mut tags: Tags) -> Result<()> {
    tags.extend(found_tags(aws, name).await?.into_iter().filter(|(k, _)| aws.ignores_tag(k)));
    if tags.is_empty() {
        return aws
            .s3
            .delete_bucket_tagging()
            .bucket(name)
            .send()
            .await
            .or_fail("Removing the bucket's tags")
            .map(drop);
    }
    let tagging = Tagging::builder().set_tag_set(Some(tags::s3(&tags))).build();
    let tagging = tagging.map_err(|e| Error::new("Invalid tags").detail(e.to_string()))?;
    aws.s3
        .put_bucket_tagging()
        .bucket(name)
        .tagging(tagging)
        .send()
        .await
        .or_fail("Setting the bucket's tags")
        .map(drop)
}

/// The Route 53 zone of the region's S3 endpoint, as AWS publishes it; empty for regions that are not listed.
fn hosted_zone(region: &str) -> &'static str {
    match region {
        "af-south-1" => "Z83WF9RJE8B12",
        "ap-east-1" => "ZNB98KWMFR0R6",
        "ap-northeast-1" => "Z2M4EHUR26P7ZW",
        "ap-northeast-2" => "Z3W03O7B5YMIYP",
        "ap-northeast-3" => "Z2YQB5RD63NC85",
        "ap-south-1" => "Z11RGJOFQNVJUP",
        "ap-southeast-1" => "Z3O0J2DXBE1FTB",
        "ap-southeast-2" => "Z1WCIGYICN2BYD",
        "ca-central-1" => "Z1QDHH18159H29",
        "eu-central-1" => "Z21DNDUVLTQW6Q",
        "eu-north-1" => "Z3BAZG2TWCNX0D",
        "eu-south-1" => "Z30OZKI7KPW7MI",
        "eu-west-1" => "Z1BKCTXD74EZPE",
        "eu-west-2" => "Z3GKZC51ZF0DB4",
        "eu-west-3" => "Z3R1K369G5AVDG",
        "me-south-1" => "Z1MPMWCPA7YB62",
        "sa-east-1" => "Z7KQH4QJS55SO",
        "us-east-1" => "Z3AQBSTGFYJSTF",
        "us-east-2" => "Z2O1EMRO9K5GLX",
        "us-gov-east-1" => "Z2NIFVYYW2VKV1",
        "us-gov-west-1" => "Z31GFT0UA1I2HV",
        "us-west-1" => "Z2F56UZL2M1ACD",
        "us-west-2" => "Z3BJ6K6RIION7M",
        _ => "",
    }
}

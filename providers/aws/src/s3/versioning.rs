//! `aws_s3_bucket_versioning`. API: PutBucketVersioning, GetBucketVersioning.

use crate::client::Aws;
use crate::error::Answer;
use crate::policy::eventually;
use aws_sdk_s3::types::{BucketVersioningStatus, MfaDelete, VersioningConfiguration};
use gpuform_provider_sdk::prelude::*;

/// Whether a bucket keeps old versions of its objects.
#[derive(Model, Clone, PartialEq, Default)]
pub struct BucketVersioning {
    /// The bucket's name.
    #[attr(optional, computed)]
    pub id: Attr<String>,
    /// The bucket's name.
    #[attr(required, force_new)]
    pub bucket: Attr<String>,
    /// The account that must own the bucket.
    #[attr(optional, force_new)]
    pub expected_bucket_owner: Attr<String>,
    /// Serial number of the MFA device and its code, with a space between.
    #[attr(optional)]
    pub mfa: Attr<String>,
    /// What to keep.
    #[block(min = 1, max = 1)]
    pub versioning_configuration: Vec<Versioning>,
}

/// What a bucket keeps.
#[derive(Model, Clone, PartialEq, Default)]
pub struct Versioning {
    /// Whether deleting versions takes a second factor: `Enabled` or `Disabled`.
    #[attr(optional, computed, validate = one_of(["Enabled", "Disabled"]))]
    pub mfa_delete: Attr<String>,
    /// `Enabled`, `Suspended`, or `Disabled` where versions were never kept.
    #[attr(required, validate = one_of(["Enabled", "Suspended", "Disabled"]))]
    pub status: Attr<String>,
}

impl Resource for BucketVersioning {
    type Client = Aws;
    const TYPE: &'static str = "aws_s3_bucket_versioning";

    async fn create(&mut self, ctx: &Context<Aws>) -> Result<()> {
        let bucket = self.bucket.require("bucket")?.clone();
        let status = self.status();
        if status != "Disabled" {
            eventually(ctx, |_| self.put(ctx.client(), &status)).await?;
        }
        self.id.set(bucket);
        self.settled(ctx).await
    }

    async fn read(mut self, ctx: &Context<Aws>) -> Result<Option<Self>> {
        let bucket = self.id.require("id")?.clone();
        let (status, mfa) = find(ctx.client(), &bucket).await?;
        let mut versioning = self.versioning_configuration.pop().unwrap_or_default();
        versioning.status.set(status);
        versioning.mfa_delete = match (mfa, &versioning.mfa_delete) {
            (Some(mfa), _) => Attr::Known(mfa),
            (None, Attr::Known(old)) if old == "Disabled" => versioning.mfa_delete,
            (None, _) => Attr::Known(String::new()),
        };
        self.versioning_configuration = vec![versioning];
        self.bucket.set(bucket);
        Ok(Some(self))
    }

    async fn update(&mut self, _prior: &Self, ctx: &Context<Aws>) -> Result<()> {
        let status = self.status();
        if status == "Disabled" {
            return Err(Error::new("Versioning cannot be disabled")
                .detail("A bucket that has kept versions can suspend that: set the status to \"Suspended\".")
                .at("versioning_configuration"));
        }
        eventually(ctx, |_| self.put(ctx.client(), &status)).await?;
        self.settled(ctx).await
    }

    async fn delete(self, ctx: &Context<Aws>) -> Result<()> {
        match self.status().as_str() {
            "Enabled" => self.put(ctx.client(), "Suspended").await,
            _ => Ok(()),
        }
    }

    async fn find_by_token(&self, _token: &str, ctx: &Context<Aws>) -> Result<Option<Self>> {
        let mut state = self.clone();
        state.id = self.bucket.clone();
        let found = state.read(ctx).await?;
        Ok(found.filter(|f| f.status() == self.status()))
    }
}

impl BucketVersioning {
    fn status(&self) -> String {
        self.versioning_configuration.first().map(|v| v.status.or_default()).unwrap_or_default()
    }

    async fn put(&self, aws: &Aws, status: &str) -> Result<()> {
        let mfa = self.versioning_configuration.first().and_then(|v| v.mfa_delete.cloned()).filter(|m| !m.is_empty());
        let versioning = VersioningConfiguration::builder()
            .status(BucketVersioningStatus::from(status))
            .set_mfa_delete(mfa.map(|m| MfaDelete::from(m.as_str())))
            .build();
        let request = aws.s3.put_bucket_versioning().set_bucket(self.bucket.cloned()).set_mfa(self.mfa.cloned());
        let request = request.set_expected_bucket_owner(self.expected_bucket_owner.cloned());
        let request = request.versioning_configuration(versioning);
        request.send().await.or_fail("Setting the bucket's versioning").map(drop)
    }

    /// Waits until the bucket reports what was set.
    async fn settled(&self, ctx: &Context<Aws>) -> Result<()> {
        let (bucket, status) = (self.bucket.require("bucket")?, self.status());
        let target = [status.as_str()];
        let poll = || async { Ok(Some((find(ctx.client(), bucket).await?.0, ()))) };
        ctx.wait_for(&Wait::until("bucket's versioning", &target), poll).await
    }
}

/// Status and MFA delete.
async fn find(aws: &Aws, bucket: &str) -> Result<(String, Option<String>)> {
    let answer = aws.s3.get_bucket_versioning().bucket(bucket).send().await;
    let answer = answer.or_fail("Reading the bucket's versioning")?;
    let status = answer.status().map_or("Disabled", |s| s.as_str()).to_owned();
    Ok((status, answer.mfa_delete().map(|m| m.as_str().to_owned())))
}

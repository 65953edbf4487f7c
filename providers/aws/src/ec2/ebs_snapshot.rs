//! `aws_ebs_snapshot`. API: CreateSnapshot, DescribeSnapshots, ModifySnapshotTier, RestoreSnapshotTier, DeleteSnapshot.

use crate::client::Aws;
use crate::error::Answer;
use crate::once;
use crate::tags::{self, Tags};
use aws_sdk_ec2::types::{ResourceType, Snapshot, TargetStorageTier};
use gpuform_provider_sdk::prelude::*;
use std::time::Duration;

/// A snapshot of a volume.
#[derive(Model, Clone, PartialEq, Default)]
pub struct EbsSnapshot {
    /// The snapshot's ID.
    #[attr(optional, computed)]
    pub id: Attr<String>,
    /// The snapshot's ARN.
    #[attr(computed)]
    pub arn: Attr<String>,
    /// The data encryption key.
    #[attr(computed)]
    pub data_encryption_key_id: Attr<String>,
    /// What the snapshot is for.
    #[attr(optional, force_new)]
    pub description: Attr<String>,
    /// Whether the snapshot is encrypted.
    #[attr(computed)]
    pub encrypted: Attr<bool>,
    /// ARN of the KMS key.
    #[attr(computed)]
    pub kms_key_id: Attr<String>,
    /// The Outpost.
    #[attr(optional, force_new)]
    pub outpost_arn: Attr<String>,
    /// The owner's alias.
    #[attr(computed)]
    pub owner_alias: Attr<String>,
    /// The owner's account.
    #[attr(computed)]
    pub owner_id: Attr<String>,
    /// Whether leaving the archive tier is for good.
    #[attr(optional)]
    pub permanent_restore: Attr<bool>,
    /// `standard` or `archive`.
    #[attr(optional, computed, validate = one_of(["archive", "standard"]))]
    pub storage_tier: Attr<String>,
    /// Tags.
    #[attr(optional)]
    pub tags: Attr<Tags>,
    /// Tags with the provider's default tags.
    #[attr(optional, computed)]
    pub tags_all: Attr<Tags>,
    /// For how many days a snapshot leaves the archive tier.
    #[attr(optional)]
    pub temporary_restore_days: Attr<i32>,
    /// The volume.
    #[attr(required, force_new)]
    pub volume_id: Attr<String>,
    /// The volume's size in GiB.
    #[attr(computed)]
    pub volume_size: Attr<i32>,
    #[timeouts(create = "10m", delete = "10m")]
    pub timeouts: Timeouts,
}

impl Resource for EbsSnapshot {
    type Client = Aws;
    const TYPE: &'static str = "aws_ebs_snapshot";

    async fn create(&mut self, ctx: &Context<Aws>) -> Result<()> {
        let aws = ctx.client();
        let tags = self.tags_all.or_default();
        let id = once::once_tagged(ctx, &tags, |t| self.make(aws, t), || lookup(aws, ctx.client_token())).await?;
        self.id.set(id.clone());
        once::untag_ec2(aws, &id).await;
        let wait = Wait::until("snapshot", &["completed"]).pending(&["pending"]).every(Duration::from_secs(10));
        ctx.wait_for(&wait, || state(aws, &id)).await?;
        if self.storage_tier == "archive" {
            archive(aws, &id).await?;
        }
        Ok(())
    }

    async fn read(mut self, ctx: &Context<Aws>) -> Result<Option<Self>> {
        let id = self.id.require("id")?.clone();
        let Some(found) = find(ctx.client(), &id).await? else { return Ok(None) };
        self.refresh(&found, ctx.client()).await?;
        Ok(Some(self))
    }

    async fn update(&mut self, prior: &Self, ctx: &Context<Aws>) -> Result<()> {
        let aws = ctx.client();
        let id = self.id.require("id")?;
        if self.storage_tier != prior.storage_tier {
            if self.storage_tier == "archive" {
                archive(aws, id).await?;
            } else {
                let request = aws.ec2.restore_snapshot_tier().snapshot_id(id);
                let request = request
                    .set_permanent_restore(self.permanent_restore.cloned())
                    .set_temporary_restore_days(self.temporary_restore_days.cloned());
                request.send().await.or_fail("Restoring the snapshot from the archive tier")?;
            }
        }
        tags::update_ec2(aws, id, &prior.tags_all, &self.tags_all).await
    }

    async fn delete(self, ctx: &Context<Aws>) -> Result<()> {
        let aws = ctx.client();
        let id = self.id.require("id")?;
        ctx.retry(
            |e| e.has_code(&["InvalidSnapshot.InUse"]),
            |_| async {
                aws.ec2.delete_snapshot().snapshot_id(id).send().await.or_fail("Deleting the snapshot").map(drop)
            },
        )
        .await?;
        ctx.wait_until_gone(&Wait::until_gone("snapshot"), || state(aws, id)).await
    }

    tags::plan_tags!();

    once::find_by_tag!();
}

impl EbsSnapshot {
    async fn make(&self, aws: &Aws, tags: Tags) -> Result<String> {
        let request = aws
            .ec2
            .create_snapshot()
            .set_volume_id(self.volume_id.cloned())
            .set_description(self.description.cloned())
            .set_outpost_arn(self.outpost_arn.cloned())
            .set_tag_specifications(tags::specifications(ResourceType::Snapshot, &tags));
        let made = request.customize().config_override(once::ec2()).send().await.or_fail("Creating the snapshot")?;
        Ok(made.snapshot_id().unwrap_or_default().to_owned())
    }

    async fn refresh(&mut self, found: &Snapshot, aws: &Aws) -> Result<()> {
        let text = |t: Option<&str>| t.unwrap_or_default().to_owned();
        let id = text(found.snapshot_id());
        // Snapshots have ARNs without an account.
        self.arn.set(format!("arn:{}:ec2:{}::snapshot/{id}", aws.partition(), aws.region));
        self.data_encryption_key_id.set(text(found.data_encryption_key_id()));
        self.description.refresh(text(found.description()));
        self.encrypted.set(found.encrypted().unwrap_or_default());
        self.kms_key_id.set(text(found.kms_key_id()));
        self.outpost_arn.refresh(text(found.outpost_arn()));
        self.owner_alias.set(text(found.owner_alias()));
        self.owner_id.set(text(found.owner_id()));
        self.storage_tier.set(found.storage_tier().map(|t| t.as_str()).unwrap_or("standard"));
        self.volume_id.set(text(found.volume_id()));
        self.volume_size.set(found.volume_size().unwrap_or_default());
        tags::refresh(tags::from_ec2(found.tags()), &mut self.tags, &mut self.tags_all, aws);
        Ok(())
    }
}

async fn archive(aws: &Aws, id: &str) -> Result<()> {
    let request = aws.ec2.modify_snapshot_tier().snapshot_id(id).storage_tier(TargetStorageTier::Archive);
    request.send().await.or_fail("Moving the snapshot to the archive tier").map(drop)
}

async fn lookup(aws: &Aws, token: &str) -> Result<Option<String>> {
    let request = aws.ec2.describe_snapshots().owner_ids("self").filters(once::by_token(token));
    let answer = request.send().await.or_fail("Looking for the snapshot")?;
    Ok(answer.snapshots().first().and_then(|s| s.snapshot_id()).map(str::to_owned))
}

async fn find(aws: &Aws, id: &str) -> Result<Option<Snapshot>> {
    aws.reads.snapshots.get(id).await
}

async fn state(aws: &Aws, id: &str) -> Result<Option<(String, ())>> {
    let found = find(aws, id).await?;
    Ok(found.map(|s| (s.state().map(|s| s.as_str().to_owned()).unwrap_or_default(), ())))
}

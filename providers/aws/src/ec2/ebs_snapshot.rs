//! `aws_ebs_snapshot`. API: CreateSnapshot, DescribeSnapshots, ModifySnapshotTier, RestoreSnapshotTier, DeleteSnapshot.

use crate::client::Aws;
use crate::ec2::util::filter;
use crate::error::Answer;
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

/// The tag by which the snapshot of an interrupted create is found, as CreateSnapshot takes no client token.
const TOKEN_TAG: &str = "gpuform:token";

impl Resource for EbsSnapshot {
    type Client = Aws;
    const TYPE: &'static str = "aws_ebs_snapshot";

    async fn create(&mut self, ctx: &Context<Aws>) -> Result<()> {
        let aws = ctx.client();
        let token = ctx.client_token();
        let id = match by_token(aws, token).await? {
            Some(made) => made.snapshot_id().unwrap_or_default().to_owned(),
            None => self.make(aws, token).await?,
        };
        self.id.set(id.clone());
        let untag = aws_sdk_ec2::types::Tag::builder().key(TOKEN_TAG).build();
        aws.ec2.delete_tags().resources(&id).tags(untag).send().await.or_fail("Removing a tag of the snapshot")?;
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

    async fn modify_plan(plan: &mut Plan<'_, Self>) -> Result<()> {
        let client = plan.client();
        tags::plan(&plan.planned.tags, &mut plan.planned.tags_all, client);
        Ok(())
    }

    async fn find_by_token(&self, token: &str, ctx: &Context<Aws>) -> Result<Option<Self>> {
        let Some(found) = by_token(ctx.client(), token).await? else { return Ok(None) };
        let mut state = self.clone();
        state.id.set(found.snapshot_id().unwrap_or_default());
        state.refresh(&found, ctx.client()).await?;
        Ok(Some(state))
    }
}

impl EbsSnapshot {
    async fn make(&self, aws: &Aws, token: &str) -> Result<String> {
        let mut tags = self.tags_all.or_default();
        tags.insert(TOKEN_TAG.to_owned(), token.to_owned());
        let request = aws
            .ec2
            .create_snapshot()
            .set_volume_id(self.volume_id.cloned())
            .set_description(self.description.cloned())
            .set_outpost_arn(self.outpost_arn.cloned())
            .set_tag_specifications(tags::specification(ResourceType::Snapshot, &tags).map(|t| vec![t]));
        let made = request.send().await.or_fail("Creating the snapshot")?;
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
        let mut tags = tags::from_ec2(found.tags());
        tags.remove(TOKEN_TAG);
        tags::refresh(tags, &mut self.tags, &mut self.tags_all, aws);
        Ok(())
    }
}

async fn archive(aws: &Aws, id: &str) -> Result<()> {
    let request = aws.ec2.modify_snapshot_tier().snapshot_id(id).storage_tier(TargetStorageTier::Archive);
    request.send().await.or_fail("Moving the snapshot to the archive tier").map(drop)
}

async fn by_token(aws: &Aws, token: &str) -> Result<Option<Snapshot>> {
    let request = aws.ec2.describe_snapshots().owner_ids("self").filters(filter(&format!("tag:{TOKEN_TAG}"), token));
    let answer = request.send().await.or_fail("Looking for the snapshot of an interrupted create")?;
    Ok(answer.snapshots().first().cloned())
}

async fn find(aws: &Aws, id: &str) -> Result<Option<Snapshot>> {
    let answer = aws.ec2.describe_snapshots().snapshot_ids(id).send().await.or_fail("Reading the snapshot")?;
    Ok(answer.snapshots().first().cloned())
}

async fn state(aws: &Aws, id: &str) -> Result<Option<(String, ())>> {
    let found = find(aws, id).await?;
    Ok(found.map(|s| (s.state().map(|s| s.as_str().to_owned()).unwrap_or_default(), ())))
}

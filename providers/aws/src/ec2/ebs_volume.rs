//! `aws_ebs_volume`. API: CreateVolume, DescribeVolumes, ModifyVolume, DescribeVolumesModifications, DeleteVolume,
//! CreateSnapshot (for a final snapshot).

use crate::client::Aws;
use crate::ec2::util::{choice, filter, refresh_flag, refresh_key, refresh_number, render_time};
use crate::error::Answer;
use crate::tags::{self, Tags};
use aws_sdk_ec2::types::{ResourceType, SnapshotState, Volume, VolumeModificationState};
use gpuform_provider_sdk::prelude::*;
use std::time::Duration;

/// A network volume.
#[derive(Model, Clone, PartialEq, Default)]
pub struct EbsVolume {
    /// The volume's ID.
    #[attr(optional, computed)]
    pub id: Attr<String>,
    /// The volume's ARN.
    #[attr(computed)]
    pub arn: Attr<String>,
    /// The zone.
    #[attr(required, force_new)]
    pub availability_zone: Attr<String>,
    /// When the volume was made.
    #[attr(computed)]
    pub create_time: Attr<String>,
    /// Whether the volume is encrypted.
    #[attr(optional, computed, force_new)]
    pub encrypted: Attr<bool>,
    /// Whether a snapshot is made before the volume is deleted.
    #[attr(optional, default = false)]
    pub final_snapshot: Attr<bool>,
    /// I/O operations a second (types `gp3`, `io1`, `io2`).
    #[attr(optional, computed)]
    pub iops: Attr<i32>,
    /// ARN of the KMS key that encrypts the volume.
    #[attr(optional, computed, force_new)]
    pub kms_key_id: Attr<String>,
    /// Whether several instances may attach the volume (types `io1`, `io2`).
    #[attr(optional, force_new)]
    pub multi_attach_enabled: Attr<bool>,
    /// The Outpost.
    #[attr(optional, force_new)]
    pub outpost_arn: Attr<String>,
    /// GiB; that of the snapshot unless given.
    #[attr(optional, computed, at_least_one_of = ["size", "snapshot_id"], validate = range(1..=65536))]
    pub size: Attr<i32>,
    /// The snapshot that the volume begins with.
    #[attr(optional, computed, force_new)]
    pub snapshot_id: Attr<String>,
    /// Tags.
    #[attr(optional)]
    pub tags: Attr<Tags>,
    /// Tags with the provider's default tags.
    #[attr(optional, computed)]
    pub tags_all: Attr<Tags>,
    /// MiB a second (type `gp3`).
    #[attr(optional, computed, validate = range(125..=2000))]
    pub throughput: Attr<i32>,
    /// `gp2`, `gp3`, `io1`, `io2`, `sc1`, `st1` or `standard`.
    #[attr(optional, computed, name = "type", validate = one_of(["gp2", "gp3", "io1", "io2", "sc1", "st1", "standard"]))]
    pub kind: Attr<String>,
    /// MiB a second at which blocks of the snapshot are loaded.
    #[attr(optional, force_new, validate = range(100..=300))]
    pub volume_initialization_rate: Attr<i32>,
    #[timeouts(create = "5m", update = "5m", delete = "10m")]
    pub timeouts: Timeouts,
}

impl Resource for EbsVolume {
    type Client = Aws;
    const TYPE: &'static str = "aws_ebs_volume";

    async fn create(&mut self, ctx: &Context<Aws>) -> Result<()> {
        let aws = ctx.client();
        let made = aws
            .ec2
            .create_volume()
            .client_token(ctx.client_token())
            .set_availability_zone(self.availability_zone.cloned())
            .set_encrypted(self.encrypted.cloned())
            .set_iops(self.iops.cloned().filter(|n| *n > 0))
            .set_kms_key_id(self.kms_key_id.cloned())
            .set_multi_attach_enabled(self.multi_attach_enabled.cloned())
            .set_outpost_arn(self.outpost_arn.cloned())
            .set_size(self.size.cloned())
            .set_snapshot_id(self.snapshot_id.cloned().filter(|s| !s.is_empty()))
            .set_throughput(self.throughput.cloned().filter(|n| *n > 0))
            .set_volume_type(choice(&self.kind))
            .set_volume_initialization_rate(self.volume_initialization_rate.cloned())
            .set_tag_specifications(tags::specifications(ResourceType::Volume, &self.tags_all.or_default()))
            .send()
            .await
            .or_fail("Creating the volume")?;
        let id = made.volume_id().unwrap_or_default().to_owned();
        self.id.set(id.clone());
        let wait = Wait::until("volume", &["available"]).pending(&["creating"]);
        ctx.wait_for(&wait, || state(aws, &id)).await
    }

    async fn read(mut self, ctx: &Context<Aws>) -> Result<Option<Self>> {
        let aws = ctx.client();
        let id = self.id.require("id")?.clone();
        let Some(volume) = find(aws, &id).await? else { return Ok(None) };
        self.refresh(&volume, aws).await?;
        Ok(Some(self))
    }

    async fn update(&mut self, prior: &Self, ctx: &Context<Aws>) -> Result<()> {
        let aws = ctx.client();
        let id = self.id.require("id")?;
        if self.size != prior.size
            || self.kind != prior.kind
            || self.iops != prior.iops
            || self.throughput != prior.throughput
        {
            let request = aws
                .ec2
                .modify_volume()
                .volume_id(id)
                .set_size(self.size.cloned())
                .set_volume_type(choice(&self.kind))
                .set_iops(self.iops.cloned().filter(|n| *n > 0))
                .set_throughput(self.throughput.cloned().filter(|n| *n > 0));
            request.send().await.or_fail("Changing the volume")?;
            wait_until_modified(ctx, id).await?;
        }
        tags::update_ec2(aws, id, &prior.tags_all, &self.tags_all).await
    }

    async fn delete(self, ctx: &Context<Aws>) -> Result<()> {
        let aws = ctx.client();
        let id = self.id.require("id")?;
        if self.final_snapshot.or_default() {
            final_snapshot(&self, ctx, id).await?;
        }
        ctx.retry(
            |e| e.has_code(&["VolumeInUse"]),
            |_| async { aws.ec2.delete_volume().volume_id(id).send().await.or_fail("Deleting the volume").map(drop) },
        )
        .await?;
        ctx.wait_until_gone(&Wait::until_gone("volume"), || state(aws, id)).await
    }

    async fn modify_plan(plan: &mut Plan<'_, Self>) -> Result<()> {
        let client = plan.client();
        tags::plan(&plan.planned.tags, &mut plan.planned.tags_all, client);
        let Some(prior) = &plan.prior else { return Ok(()) };
        if prior.kind != plan.planned.kind {
            // Another type has other defaults.
            if plan.config.iops.is_null() {
                plan.planned.iops = Attr::Unknown;
            }
            if plan.config.throughput.is_null() {
                plan.planned.throughput = Attr::Unknown;
            }
        }
        if matches!((&prior.size, &plan.planned.size), (Attr::Known(old), Attr::Known(new)) if new < old) {
            plan.replace("size");
        }
        Ok(())
    }

    async fn find_by_token(&self, _token: &str, ctx: &Context<Aws>) -> Result<Option<Self>> {
        // Volumes cannot be searched by token; a repeated create with the same token answers with the first volume, but
        // would make one if there is none. So an exact match that nothing uses, by its tags.
        let aws = ctx.client();
        let tags = self.tags_all.or_default();
        if tags.is_empty() {
            return Err(Error::unsupported("A volume without tags cannot be found again"));
        }
        let zone = self.availability_zone.or_default();
        let mut request = aws.ec2.describe_volumes().filters(filter("availability-zone", &zone));
        for (key, value) in &tags {
            request = request.filters(filter(&format!("tag:{key}"), value));
        }
        let answer = request.filters(filter("status", "available")).send().await;
        let answer = answer.or_fail("Looking for the volume of an interrupted create")?;
        let [volume] = answer.volumes() else { return Ok(None) };
        let mut state = self.clone();
        state.id.set(volume.volume_id().unwrap_or_default());
        state.refresh(volume, aws).await?;
        Ok(Some(state))
    }
}

impl EbsVolume {
    async fn refresh(&mut self, volume: &Volume, aws: &Aws) -> Result<()> {
        let id = volume.volume_id().unwrap_or_default();
        self.arn.set(aws.arn("ec2", &format!("volume/{id}")).await?);
        self.availability_zone.set(volume.availability_zone().unwrap_or_default());
        self.create_time.set(volume.create_time().map(render_time).unwrap_or_default());
        self.encrypted.set(volume.encrypted().unwrap_or_default());
        self.iops.set(volume.iops().unwrap_or_default());
        refresh_key(&mut self.kms_key_id, volume.kms_key_id());
        refresh_flag(&mut self.multi_attach_enabled, volume.multi_attach_enabled().unwrap_or_default());
        self.outpost_arn.refresh(volume.outpost_arn().unwrap_or_default().to_owned());
        self.size = volume.size().into();
        self.snapshot_id.set(volume.snapshot_id().unwrap_or_default());
        self.throughput.set(volume.throughput().unwrap_or_default());
        self.kind.set(volume.volume_type().map(|t| t.as_str()).unwrap_or_default());
        if !self.final_snapshot.is_known() {
            self.final_snapshot.set(false);
        }
        if volume.volume_initialization_rate().is_some() {
            refresh_number(&mut self.volume_initialization_rate, volume.volume_initialization_rate());
        }
        tags::refresh(tags::from_ec2(volume.tags()), &mut self.tags, &mut self.tags_all, aws);
        Ok(())
    }
}

/// The volume with this ID, unless it is being deleted.
pub async fn find(aws: &Aws, id: &str) -> Result<Option<Volume>> {
    let volume = aws.reads.volumes.get(id).await?;
    Ok(volume.filter(|v| !v.state().is_some_and(|s| matches!(s.as_str(), "deleting" | "deleted"))))
}

async fn state(aws: &Aws, id: &str) -> Result<Option<(String, ())>> {
    let volume = find(aws, id).await?;
    Ok(volume.map(|v| (v.state().map(|s| s.as_str().to_owned()).unwrap_or_default(), ())))
}

/// Waits until a modification of the volume has taken effect; optimising afterwards may go on for hours.
pub async fn wait_until_modified(ctx: &Context<Aws>, id: &str) -> Result<()> {
    let wait = Wait::until("modification of the volume", &["optimizing", "completed"]).pending(&["modifying"]);
    let wait = wait.every(Duration::from_secs(3));
    ctx.wait_for(&wait, || async {
        let Some(change) = ctx.client().reads.volume_modifications.all(id).await?.pop() else { return Ok(None) };
        let state = change.modification_state().map(VolumeModificationState::as_str).unwrap_or_default();
        if state == "failed" {
            let why = change.status_message().unwrap_or("AWS gave no further explanation.");
            return Err(Error::new("Changing the volume failed").detail(why));
        }
        Ok(Some((state.to_owned(), ())))
    })
    .await
}

async fn final_snapshot(volume: &EbsVolume, ctx: &Context<Aws>, id: &str) -> Result<()> {
    let aws = ctx.client();
    let tags = tags::specifications(ResourceType::Snapshot, &volume.tags_all.or_default());
    let request = aws.ec2.create_snapshot().volume_id(id).description(format!("Final snapshot of {id}"));
    let made = request.set_tag_specifications(tags).send().await.or_fail("Creating the final snapshot")?;
    let snapshot = made.snapshot_id().unwrap_or_default().to_owned();
    let wait = Wait::until("final snapshot", &["completed"]).pending(&["pending"]).every(Duration::from_secs(10));
    ctx.wait_for(&wait, || async {
        let made = aws.reads.snapshots.get(&snapshot).await?;
        let state = made.as_ref().and_then(|s| s.state()).map(SnapshotState::as_str);
        Ok(state.map(|s| (s.to_owned(), ())))
    })
    .await
}

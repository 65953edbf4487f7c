//! `aws_volume_attachment`. API: AttachVolume, DescribeVolumes, DetachVolume, StopInstances.

use crate::client::Aws;
use crate::ec2::{ebs_volume, instance};
use crate::error::Answer;
use aws_sdk_ec2::types::VolumeAttachment as Found;
use gpuform_provider_sdk::prelude::*;

/// A volume attached to an instance.
#[derive(Model, Clone, PartialEq, Default)]
pub struct VolumeAttachment {
    /// A name for the attachment, made of device, instance and volume.
    #[attr(optional, computed)]
    pub id: Attr<String>,
    /// The name of the device, e.g. `/dev/sdf`.
    #[attr(required, force_new)]
    pub device_name: Attr<String>,
    /// Whether to detach also when the instance does not answer; data may be lost.
    #[attr(optional)]
    pub force_detach: Attr<bool>,
    /// The instance.
    #[attr(required, force_new)]
    pub instance_id: Attr<String>,
    /// Whether destroying only forgets the attachment.
    #[attr(optional)]
    pub skip_destroy: Attr<bool>,
    /// Whether the instance is stopped before the volume is detached.
    #[attr(optional)]
    pub stop_instance_before_detaching: Attr<bool>,
    /// The volume.
    #[attr(required, force_new)]
    pub volume_id: Attr<String>,
    #[timeouts(create = "5m", delete = "5m")]
    pub timeouts: Timeouts,
}

impl Resource for VolumeAttachment {
    type Client = Aws;
    const TYPE: &'static str = "aws_volume_attachment";

    async fn create(&mut self, ctx: &Context<Aws>) -> Result<()> {
        let aws = ctx.client();
        let (device, machine, volume) = self.parts()?;
        // Attaching again what a lost request attached is an error; it is looked up first.
        if !is_at(aws, volume, machine, device).await? {
            instance::wait_until_attachable(ctx, machine).await?;
            let request = aws.ec2.attach_volume().device(device).instance_id(machine).volume_id(volume);
            match request.send().await.or_fail("Attaching the volume") {
                // Attached by a request whose answer was lost.
                Err(e) if e.has_code(&["VolumeInUse"]) && is_at(aws, volume, machine, device).await? => {}
                other => drop(other?),
            }
        }
        let id = identifier(device, machine, volume);
        let wait = Wait::until("volume attachment", &["attached"]).pending(&["attaching", "busy"]);
        ctx.wait_for(&wait, || state(aws, volume, machine)).await?;
        self.id.set(id);
        Ok(())
    }

    async fn read(mut self, ctx: &Context<Aws>) -> Result<Option<Self>> {
        let (_, machine, volume) = self.parts()?;
        let Some(found) = find(ctx.client(), volume, machine).await? else { return Ok(None) };
        let device = found.device().unwrap_or_default().to_owned();
        self.id.set(identifier(&device, machine, volume));
        self.device_name.set(device);
        Ok(Some(self))
    }

    /// What can change in place only says how to detach.
    async fn update(&mut self, _prior: &Self, _ctx: &Context<Aws>) -> Result<()> {
        Ok(())
    }

    async fn delete(self, ctx: &Context<Aws>) -> Result<()> {
        if self.skip_destroy.or_default() {
            return Ok(());
        }
        let aws = ctx.client();
        let (device, machine, volume) = self.parts()?;
        if self.stop_instance_before_detaching.or_default() {
            instance::stop(ctx, machine).await?;
        }
        let request = aws.ec2.detach_volume().device(device).instance_id(machine).volume_id(volume);
        let request = request.force(self.force_detach.or_default());
        match request.send().await.or_fail("Detaching the volume") {
            // It is detached already: the instance is gone or somebody else did it.
            Err(e) if e.has_code(&["IncorrectState"]) && find(aws, volume, machine).await?.is_none() => return Ok(()),
            Err(e) => return Err(e),
            Ok(_) => {}
        }
        ctx.wait_until_gone(&Wait::until_gone("volume attachment"), || state(aws, volume, machine)).await
    }

    /// `DEVICE_NAME:VOLUME_ID:INSTANCE_ID`.
    async fn import(id: &str, _ctx: &Context<Aws>) -> Result<Self> {
        let [device, volume, machine] = id.split(':').collect::<Vec<_>>()[..] else {
            return Err(Error::new("Invalid import ID")
                .detail(format!("\"{id}\" should be DEVICE_NAME:VOLUME_ID:INSTANCE_ID, e.g. /dev/sdh:vol-1:i-1.")));
        };
        Ok(VolumeAttachment {
            id: Attr::Known(identifier(device, machine, volume)),
            device_name: device.into(),
            instance_id: machine.into(),
            volume_id: volume.into(),
            ..VolumeAttachment::default()
        })
    }

    async fn find_by_token(&self, _token: &str, ctx: &Context<Aws>) -> Result<Option<Self>> {
        self.clone().read(ctx).await
    }
}

impl VolumeAttachment {
    /// Device, instance and volume.
    fn parts(&self) -> Result<(&String, &String, &String)> {
        Ok((
            self.device_name.require("device_name")?,
            self.instance_id.require("instance_id")?,
            self.volume_id.require("volume_id")?,
        ))
    }
}

/// Attachments have no ID at AWS.
fn identifier(device: &str, machine: &str, volume: &str) -> String {
    format!("vai-{}", crc32fast::hash(format!("{device}-{machine}-{volume}-").as_bytes()))
}

async fn is_at(aws: &Aws, volume: &str, machine: &str, device: &str) -> Result<bool> {
    Ok(find(aws, volume, machine).await?.is_some_and(|a| a.device() == Some(device)))
}

async fn find(aws: &Aws, volume: &str, machine: &str) -> Result<Option<Found>> {
    let found = match ebs_volume::find(aws, volume).await {
        Ok(found) => found,
        Err(e) if e.is_not_found() => None,
        Err(e) => return Err(e),
    };
    let attachment = found.and_then(|v| v.attachments().iter().find(|a| a.instance_id() == Some(machine)).cloned());
    Ok(attachment.filter(|a| a.state().is_none_or(|s| s.as_str() != "detached")))
}

async fn state(aws: &Aws, volume: &str, machine: &str) -> Result<Option<(String, ())>> {
    let found = find(aws, volume, machine).await?;
    Ok(found.map(|a| (a.state().map(|s| s.as_str().to_owned()).unwrap_or_default(), ())))
}

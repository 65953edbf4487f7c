"""EBS volumes as AWS shows them: defaults of each type, key ARNs, transitional states, attachments, modifications.

Moto keeps what a request said; AWS also fills in IOPS, throughput and keys, and refuses what a type does not offer.
Launch-time volumes are made by `launch` through the same `create_volume`.
"""

from moto.core.responses import ActionResult
from moto.ec2.exceptions import EC2ClientError, InvalidParameterDependency, InvalidParameterValueError
from moto.ec2.models import elastic_block_store as store
from moto.kms import kms_backends

from .lifecycle import Clock

#: Smallest and largest size by type, in GiB.
SIZES = {
    "gp2": (1, 16384),
    "gp3": (1, 65536),
    "io1": (4, 16384),
    "io2": (4, 65536),
    "st1": (125, 16384),
    "sc1": (125, 16384),
    "standard": (1, 1024),
}
DEFAULT_IOPS = {"gp3": 3000}
DEFAULT_THROUGHPUT = {"gp3": 125}


class Volume(store.Volume):
    """A volume whose state follows the clock: creating, available, in-use, and modified while it is used."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.clock = Clock()
        self.multi_attach_enabled = bool(self.multi_attach_enabled)

    @property
    def status(self):
        if self.attachment:
            return "in-use"
        return "available" if self.clock.settled() else "creating"

    def get_filter_value(self, filter_name, method_name=None):
        if filter_name == "attachment.delete-on-termination" and self.attachment:
            return str(self.attachment.delete_on_termination).lower()
        return super().get_filter_value(filter_name, method_name)


class VolumeAttachment(store.VolumeAttachment):
    """An attachment that is `attaching` for a while, and says what happens at termination."""

    def __init__(self, volume, instance, device, status):
        super().__init__(volume, instance, device, status)
        self.clock = Clock()

    @property
    def status(self):
        if self.settled_status == "attached" and not self.clock.settled():
            return "attaching"
        return self.settled_status

    @status.setter
    def status(self, status):
        self.settled_status = status

    @property
    def delete_on_termination(self):
        block = self.instance.block_device_mapping.get(self.device)
        return bool(block and block.delete_on_termination)

    @delete_on_termination.setter
    def delete_on_termination(self, value):
        self.instance.block_device_mapping[self.device].delete_on_termination = value


class VolumeModification(store.VolumeModification):
    """A modification with every target and original, as AWS reports them, that takes its time."""

    def __init__(self, volume, **targets):
        original = {
            name: getattr(volume, name)
            for name in ("size", "volume_type", "iops", "throughput", "multi_attach_enabled")
        }
        super().__init__(volume, **targets)
        for name, value in original.items():
            setattr(self, f"original_{name}", value)
            if getattr(self, f"target_{name}") is None:
                setattr(self, f"target_{name}", value)
        self.clock = Clock()

    @property
    def modification_state(self):
        return "completed" if self.clock.settled() else "modifying"

    @property
    def progress(self):
        return 100 if self.clock.settled() else 0


class VolumeBackend:
    # Images make volumes before moto's settings are initialised.
    ebs_encryption_by_default = False

    def create_volume(
        self,
        size,
        zone_name,
        snapshot_id=None,
        encrypted=False,
        kms_key_id=None,
        volume_type=None,
        iops=None,
        throughput=None,
        multi_attach_enabled=None,
    ):
        volume_type = volume_type or "gp2"
        zone = self.get_zone_by_name(zone_name)
        if zone is None and zone_name != "us-east-1a":
            raise EC2ClientError("InvalidZone.NotFound", f"The zone '{zone_name}' does not exist.")
        if kms_key_id and not encrypted:
            raise InvalidParameterDependency("KmsKeyId", "Encrypted")
        encrypted = encrypted or self.ebs_encryption_by_default
        if kms_key_id:
            kms_key_id = key_arn(self.account_id, self.region_name, kms_key_id)
        if snapshot_id:
            snapshot = self.get_snapshot(snapshot_id)
            if size is not None and size < snapshot.volume_size:
                raise InvalidParameterValueError(
                    f"The volume size {size} is smaller than the size of snapshot {snapshot_id}, "
                    f"{snapshot.volume_size} GiB."
                )
            size = size or snapshot.volume_size
            if snapshot.encrypted and not kms_key_id:
                encrypted, kms_key_id = True, snapshot.kms_key_id
        check_size(volume_type, size)
        volume = super().create_volume(
            size, zone_name, snapshot_id, encrypted, kms_key_id, volume_type, iops, throughput, multi_attach_enabled
        )
        fill_performance(volume)
        return volume

    def modify_volume(
        self,
        volume_id,
        target_size=None,
        target_volume_type=None,
        target_iops=None,
        target_throughput=None,
        target_multi_attach_enabled=None,
    ):
        volume = self.get_volume(volume_id)
        if target_size is not None and target_size < volume.size:
            raise InvalidParameterValueError("New size cannot be smaller than existing size")
        if any(not modification.clock.settled() for modification in volume.modifications):
            raise EC2ClientError(
                "IncorrectModificationState",
                f"Cannot modify volume {volume_id} - currently in modification state MODIFYING",
            )
        check_size(target_volume_type or volume.volume_type, target_size or volume.size)
        changes_type = target_volume_type is not None and target_volume_type != volume.volume_type
        volume = super().modify_volume(
            volume_id, target_size, target_volume_type, target_iops, target_throughput, target_multi_attach_enabled
        )
        if changes_type:
            volume.iops, volume.throughput = target_iops, target_throughput
        fill_performance(volume)
        modification = volume.modifications[-1]
        modification.target_iops, modification.target_throughput = volume.iops, volume.throughput
        return volume

    def attach_volume(self, volume_id, instance_id, device_path, delete_on_termination=False):
        volume = self.get_volume(volume_id)
        instance = self.get_instance(instance_id)
        if volume.attachment:
            raise EC2ClientError("VolumeInUse", f"{volume_id} is already attached to an instance")
        if instance.state not in ("pending", "running", "stopping", "stopped"):
            raise EC2ClientError("IncorrectState", f"Instance '{instance_id}' is not 'running'.")
        if volume.availability_zone and volume.availability_zone != instance.availability_zone:
            raise EC2ClientError(
                "InvalidVolume.ZoneMismatch",
                f"The volume '{volume_id}' is not in the same availability zone as instance '{instance_id}'",
            )
        if device_path in instance.block_device_mapping:
            raise InvalidParameterValueError(
                f"Invalid value '{device_path}' for unixDevice. Attachment point {device_path} is already in use"
            )
        return super().attach_volume(volume_id, instance_id, device_path, delete_on_termination)

    def detach_volume(self, volume_id, instance_id, device_path):
        attachment = self.get_volume(volume_id).attachment
        if attachment is None or (instance_id and attachment.instance_id != instance_id):
            if attachment is None:
                raise EC2ClientError("IncorrectState", f"Volume '{volume_id}' is in the 'available' state.")
            raise EC2ClientError(
                "InvalidAttachment.NotFound",
                f"The attachment of volume '{volume_id}' to instance '{instance_id}' was not found.",
            )
        return super().detach_volume(volume_id, attachment.instance_id, device_path)

    def create_snapshot(self, volume_id, description, owner_id=None, from_ami=None):
        snapshot = super().create_snapshot(volume_id, description, owner_id, from_ami)
        snapshot.size_at_creation = snapshot.volume.size
        snapshot.kms_key_id = snapshot.volume.kms_key_id
        if from_ami:
            snapshot.clock = None
        return snapshot


class Snapshot(store.Snapshot):
    """A snapshot that is `pending` for a while and keeps the size that its volume had."""

    def __init__(self, *args, **kwargs):
        self.clock = Clock()
        super().__init__(*args, **kwargs)
        self.size_at_creation = self.volume.size

    @property
    def status(self):
        if self.settled_status == "completed" and self.clock and not self.clock.settled():
            return "pending"
        return self.settled_status

    @status.setter
    def status(self, status):
        self.settled_status = status

    @property
    def progress(self):
        return "100%" if self.status == "completed" else "0%"

    @property
    def volume_size(self):
        return self.size_at_creation


def check_size(volume_type, size):
    """Raises for an unknown type, or a size in GiB that the type does not allow."""
    if volume_type not in SIZES:
        raise EC2ClientError("UnknownVolumeType", f"Unsupported volume type '{volume_type}' for volume creation.")
    smallest, largest = SIZES[volume_type]
    if size is not None and not smallest <= size <= largest:
        raise InvalidParameterValueError(
            f"Volume of {size}GiB is too {'small' if size < smallest else 'large'} for volume type "
            f"{volume_type}; {'minimum is' if size < smallest else 'maximum is'} "
            f"{smallest if size < smallest else largest}GiB."
        )


def fill_performance(volume):
    """Sets the IOPS and the throughput (MiB/s) that a volume of this type has when none are asked for."""
    if volume.volume_type == "gp2":
        volume.iops = max(100, min(3 * volume.size, 16000))
    elif volume.volume_type in DEFAULT_IOPS:
        volume.iops = volume.iops or DEFAULT_IOPS[volume.volume_type]
    volume.throughput = volume.throughput or DEFAULT_THROUGHPUT.get(volume.volume_type)


def key_arn(account, region, key):
    """The ARN of a KMS key named by ID, ARN or alias; the name itself when there is no such key here."""
    backend = kms_backends[account][region]
    if "alias/" in key:
        key = backend.get_key_id_from_alias(backend.get_alias_name(key)) or key
    found = backend.keys.get(key.rsplit("/", 1)[-1])
    return found.arn if found else key


class VolumeResponse:
    def attach_volume(self):
        self.error_on_dryrun()
        return ActionResult(
            self.ec2_backend.attach_volume(
                self._get_param("VolumeId"), self._get_param("InstanceId"), self._get_param("Device")
            )
        )

    def describe_volume_attribute(self):
        volume = self.ec2_backend.get_volume(self._get_param("VolumeId"))
        attribute = self._get_param("Attribute")
        result = {"VolumeId": volume.id}
        if attribute == "autoEnableIO":
            result["AutoEnableIO"] = {"Value": False}
        else:
            result["ProductCodes"] = []
        return ActionResult(result)


def install():
    """Puts this file's models into moto's module, where its backend makes them."""
    store.Volume = Volume
    store.VolumeAttachment = VolumeAttachment
    store.VolumeModification = VolumeModification
    store.Snapshot = Snapshot

"""AMIs: recent public ones to look up, realistic devices and dates, and images made from instances.

Moto's own list stays (Amazon Linux is recent in it, Ubuntu and the deep learning AMIs are from 2017); its dates were
the server's start and its devices all alike.
"""

import datetime
import hashlib
import re

from moto.core.responses import ActionResult, EmptyResult
from moto.ec2.exceptions import EC2ClientError, InvalidAMIIdError
from moto.ec2.models import amis as moto_amis
from moto.ec2.utils import convert_tag_spec

from .lifecycle import Clock

CANONICAL, AMAZON_DEEP_LEARNING = "099720109477", "898082745236"

#: (owner, name, description, root device, architecture)
PUBLIC_IMAGES = [
    (
        CANONICAL,
        f"ubuntu/images/{path}/ubuntu-{release}-{architecture}-server-{date}",
        f"Canonical, Ubuntu, {release[-5:]}, {architecture} image",
        "/dev/sda1",
        "x86_64" if architecture == "amd64" else "arm64",
    )
    for path, release in (("hvm-ssd", "jammy-22.04"), ("hvm-ssd-gp3", "noble-24.04"))
    for architecture in ("amd64", "arm64")
    for date in ("20260612", "20260915")
] + [
    (AMAZON_DEEP_LEARNING, f"{kind} {date}", kind, device, "x86_64")
    for kind, device in (
        ("Deep Learning Base OSS Nvidia Driver GPU AMI (Ubuntu 22.04)", "/dev/sda1"),
        ("Deep Learning Base OSS Nvidia Driver GPU AMI (Ubuntu 24.04)", "/dev/sda1"),
        ("Deep Learning Base OSS Nvidia Driver GPU AMI (Amazon Linux 2023)", "/dev/xvda"),
        ("Deep Learning OSS Nvidia Driver AMI GPU PyTorch 2.7 (Ubuntu 22.04)", "/dev/sda1"),
        ("Deep Learning OSS Nvidia Driver AMI GPU PyTorch 2.7 (Amazon Linux 2023)", "/dev/xvda"),
    )
    for date in ("20260704", "20260918")
]

#: Root volume size in GiB by a part of the name; 8 otherwise.
ROOT_SIZES = (("Windows", 30), ("Deep Learning", 75), ("DLAMI", 75), ("-ecs-", 30))
UNDATED = datetime.datetime(2017, 11, 1, tzinfo=datetime.UTC)


class Ami(moto_amis.Ami):
    """An image with the devices of the instance that it was made from, or one root device."""

    def __init__(self, ec2_backend, ami_id, instance=None, source_ami=None, name=None, creation_date=None, **kwargs):
        is_public_image = instance is None and source_ami is None
        if is_public_image and creation_date is None:
            creation_date = date_of(name or "")
        self.devices = []
        self.clock = None if is_public_image else Clock()
        super().__init__(ec2_backend, ami_id, instance, source_ami, name=name, creation_date=creation_date, **kwargs)
        self.platform_details = "Windows" if self.platform == "windows" else "Linux/UNIX"
        self.usage_operation = "RunInstances:0002" if self.platform == "windows" else "RunInstances"
        self.ena_support = True
        self.sriov_net_support = "simple"
        self.image_location = self.image_location or f"{self.owner_alias or self.owner_id}/{self.name}"
        if self.root_device_type == "standard":
            self.root_device_type = "ebs"
        if instance is not None:
            self.take_devices(instance)
        elif source_ami is not None:
            self.devices = source_ami.devices
            self.root_device_name = source_ami.root_device_name
        else:
            self.ebs_snapshot.size_at_creation = root_size(name or "")

    @property
    def state(self):
        return "pending" if self.clock and not self.clock.settled() else self.settled_state

    @state.setter
    def state(self, state):
        self.settled_state = state

    @property
    def block_device_mappings(self):
        if self.devices:
            return self.devices
        root = {
            "SnapshotId": self.ebs_snapshot.id,
            "VolumeSize": self.ebs_snapshot.size_at_creation,
            "DeleteOnTermination": True,
            "VolumeType": "gp3",
            "Iops": 3000,
            "Throughput": 125,
            "Encrypted": False,
        }
        return [{"DeviceName": self.root_device_name, "Ebs": root}]

    def take_devices(self, instance):
        """Makes a snapshot of each of the instance's volumes."""
        del self.ec2_backend.snapshots[self.ebs_snapshot.id]
        self.root_device_name = instance.root_device_name
        self.boot_mode = instance.boot_mode
        self.hypervisor = "xen"
        for name, block in instance.get_block_device_mapping:
            volume = self.ec2_backend.get_volume(block.volume_id)
            snapshot = self.ec2_backend.create_snapshot(
                volume.id, f"Created by CreateImage({instance.id}) for {self.id}", from_ami=self.id
            )
            ebs = {
                "SnapshotId": snapshot.id,
                "VolumeSize": volume.size,
                "DeleteOnTermination": block.delete_on_termination,
                "VolumeType": volume.volume_type,
                "Encrypted": volume.encrypted,
            }
            if volume.volume_type in ("gp3", "io1", "io2"):
                ebs["Iops"] = volume.iops
            if volume.volume_type == "gp3":
                ebs["Throughput"] = volume.throughput
            self.devices.append({"DeviceName": name, "Ebs": ebs})

    def get_filter_value(self, filter_name, method_name=None):
        if filter_name == "creation-date":
            return self.creation_date.strftime("%Y-%m-%dT%H:%M:%S.000Z")
        if filter_name == "block-device-mapping.volume-type":
            return [mapping["Ebs"]["VolumeType"] for mapping in self.block_device_mappings]
        return super().get_filter_value(filter_name, method_name)


def date_of(name):
    """The date that a public image's name contains."""
    found = re.search(r"(20[12]\d)(0[1-9]|1[0-2])([0-2]\d|3[01])", name)
    if found is None:
        return UNDATED
    return datetime.datetime(*map(int, found.groups()), tzinfo=datetime.UTC)


def root_size(name):
    return next((size for part, size in ROOT_SIZES if part in name), 8)


class ImageBackend:
    def _load_amis(self):
        super()._load_amis()
        for owner, name, description, device, architecture in PUBLIC_IMAGES:
            digest = hashlib.sha256(f"{self.region_name}/{name}".encode()).hexdigest()
            ami_id = f"ami-0{digest[:16]}"
            self.amis[ami_id] = Ami(
                self,
                ami_id,
                name=name,
                description=description,
                owner_id=owner,
                owner_alias="amazon",
                public=True,
                virtualization_type="hvm",
                architecture=architecture,
                hypervisor="xen",
                root_device_type="ebs",
                root_device_name=device,
            )

    def create_image(self, instance_id, name, description, tag_specifications):
        if any(image.name == name and image.owner_id == self.account_id for image in self.amis.values()):
            raise EC2ClientError(
                "InvalidAMIName.Duplicate", f"AMI name {name} is already in use by another of your AMIs"
            )
        image = super().create_image(instance_id, name, description, [])
        tags = convert_tag_spec(tag_specifications)
        image.add_tags(tags.get("image", {}))
        for mapping in image.devices:
            self.get_snapshot(mapping["Ebs"]["SnapshotId"]).add_tags(tags.get("snapshot", {}))
        return image


class ImageResponse:
    def modify_image_attribute(self):
        """Moto's, and the description, which moto ignores."""
        description = self._get_param("Description.Value")
        if self._get_param("Attribute") == "description":
            description = self._get_param("Value")
        if description is None:
            return super().modify_image_attribute()
        self.own_image().description = description
        return EmptyResult()

    def enable_image_deprecation(self):
        self.own_image().deprecation_time = self._get_param("DeprecateAt")
        return ActionResult({"Return": True})

    def disable_image_deprecation(self):
        self.own_image().deprecation_time = None
        return ActionResult({"Return": True})

    def own_image(self):
        image = self.ec2_backend.amis.get(self._get_param("ImageId"))
        if image is None:
            raise InvalidAMIIdError(self._get_param("ImageId"))
        return image


def install():
    """Puts this file's model into moto's module, where its backend makes it.

    Moto's 1,200 ECS images per region are left out: they take longer than the rest of the start.
    """
    moto_amis.Ami = Ami
    load = moto_amis.load_resource
    moto_amis.load_resource = lambda path: [] if "/ecs/" in path else load(path)

"""Eventual consistency: a new object stays invisible to some reads, as AWS warns that it may.

The middleware hands over each create that a `stale_reads` fault concerns, and asks before and after each read. Reads
that name the object get AWS's NotFound error; lists lose it. Calls that change things always see everything.
"""

import json
import threading
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass

READS = ("Describe", "Get", "List", "Head")

#: (service, action): (where the new name is in the answer, or "?" and a parameter; status, code and text of NotFound)
CREATED = {
    ("ec2", "AllocateAddress"): (
        "allocationId",
        400,
        "InvalidAllocationID.NotFound",
        "The allocation ID '{}' does not exist",
    ),
    ("ec2", "CreateCapacityReservation"): (
        "capacityReservationId",
        400,
        "InvalidCapacityReservationId.NotFound",
        "The capacity reservation '{}' does not exist",
    ),
    ("ec2", "CreateImage"): ("imageId", 400, "InvalidAMIID.NotFound", "The image id '[{}]' does not exist"),
    ("ec2", "CreateInternetGateway"): (
        "internetGatewayId",
        400,
        "InvalidInternetGatewayID.NotFound",
        "The internetGateway ID '{}' does not exist",
    ),
    ("ec2", "CreateLaunchTemplate"): (
        "launchTemplateId",
        400,
        "InvalidLaunchTemplateId.NotFound",
        "The specified launch template, with template ID {}, does not exist.",
    ),
    ("ec2", "CreateNatGateway"): ("natGatewayId", 400, "NatGatewayNotFound", "NAT gateway {} was not found"),
    ("ec2", "CreateNetworkAcl"): (
        "networkAclId",
        400,
        "InvalidNetworkAclID.NotFound",
        "The networkAcl ID '{}' does not exist",
    ),
    ("ec2", "CreateNetworkInterface"): (
        "networkInterfaceId",
        400,
        "InvalidNetworkInterfaceID.NotFound",
        "The networkInterface ID '{}' does not exist",
    ),
    ("ec2", "CreatePlacementGroup"): (
        "groupName",
        400,
        "InvalidPlacementGroup.Unknown",
        "The Placement Group '{}' is unknown.",
    ),
    ("ec2", "CreateRouteTable"): (
        "routeTableId",
        400,
        "InvalidRouteTableID.NotFound",
        "The routeTable ID '{}' does not exist",
    ),
    ("ec2", "CreateSecurityGroup"): ("groupId", 400, "InvalidGroup.NotFound", "The security group '{}' does not exist"),
    ("ec2", "CreateSnapshot"): ("snapshotId", 400, "InvalidSnapshot.NotFound", "The snapshot '{}' does not exist."),
    ("ec2", "CreateSubnet"): ("subnetId", 400, "InvalidSubnetID.NotFound", "The subnet ID '{}' does not exist"),
    ("ec2", "CreateVolume"): ("volumeId", 400, "InvalidVolume.NotFound", "The volume '{}' does not exist."),
    ("ec2", "CreateVpc"): ("vpcId", 400, "InvalidVpcID.NotFound", "The vpc ID '{}' does not exist"),
    ("ec2", "ImportKeyPair"): ("keyName", 400, "InvalidKeyPair.NotFound", "The key pair '{}' does not exist"),
    ("ec2", "RunInstances"): ("instanceId", 400, "InvalidInstanceID.NotFound", "The instance ID '{}' does not exist"),
    ("autoscaling", "CreateAutoScalingGroup"): ("?AutoScalingGroupName", None, None, None),
    ("iam", "CreateInstanceProfile"): (
        "?InstanceProfileName",
        404,
        "NoSuchEntity",
        "Instance Profile {} cannot be found.",
    ),
    ("iam", "CreatePolicy"): ("Arn", 404, "NoSuchEntity", "Policy {} was not found."),
    ("iam", "CreateRole"): ("?RoleName", 404, "NoSuchEntity", "The role with name {} cannot be found."),
    ("kms", "CreateKey"): ("KeyId", 400, "NotFoundException", "Key '{}' does not exist"),
    ("s3", "CreateBucket"): ("?Bucket", 404, "NoSuchBucket", "The specified bucket does not exist"),
}


@dataclass
class Hidden:
    """An object that reads do not see yet: for `reads` more of them, or until `until` (monotonic seconds)."""

    service: str
    name: str
    field: str
    status: int | None
    code: str | None
    text: str | None
    reads: int | None
    until: float | None

    def over(self):
        return (self.reads is not None and self.reads <= 0) or (
            self.until is not None and time.monotonic() > self.until
        )

    def seen(self):
        if self.reads is not None:
            self.reads -= 1


class Staleness:
    def __init__(self):
        self.lock = threading.Lock()
        self.hidden = []

    def clear(self):
        with self.lock:
            self.hidden = []

    def created(self, call, answer, fault):
        """Hides what a successful create made. Other calls are ignored."""
        found = CREATED.get((call.service, call.action))
        if found is None or answer.status >= 300:
            return
        field, status, code, text = found
        until = None if fault.seconds is None else time.monotonic() + fault.seconds
        with self.lock:
            for name in new_names(call, answer, field):
                self.hidden.append(
                    Hidden(call.service, name, field.lstrip("?"), status, code, text, fault.times, until)
                )

    def concerning(self, call):
        """The hidden objects that this read must not see."""
        if not call.action.startswith(READS) or not self.hidden:
            return []
        with self.lock:
            self.hidden = [hidden for hidden in self.hidden if not hidden.over()]
            return [hidden for hidden in self.hidden if hidden.service == call.service]

    def refusal(self, call, concerning):
        """(status, code, message) when the read names a hidden object, else None."""
        named = {value for key, value in call.params.items() if not key.startswith("Filter")}
        for hidden in concerning:
            if hidden.code and any(value == hidden.name or value.endswith(f"/{hidden.name}") for value in named):
                hidden.seen()
                return hidden.status, hidden.code, hidden.text.format(hidden.name)
        return None

    def strip(self, concerning, answer):
        """Takes the hidden objects out of a list in XML."""
        if answer.status >= 300 or not answer.body.lstrip().startswith(b"<"):
            return
        present = [hidden for hidden in concerning if f">{hidden.name}<".encode() in answer.body]
        if not present:
            return
        root = ElementTree.fromstring(answer.body)
        if root.tag.startswith("{"):
            ElementTree.register_namespace("", root.tag[1:].split("}")[0])
        for hidden in present:
            if remove_items(root, hidden):
                hidden.seen()
        answer.body = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)


def new_names(call, answer, field):
    if field.startswith("?"):
        return [call.params[field[1:]]]
    if answer.body.startswith(b"{"):
        return [json.loads(answer.body)["KeyMetadata"][field]]
    root = ElementTree.fromstring(answer.body)
    names = [element.text for element in root.iter() if local(element.tag) == field]
    return names if call.action == "RunInstances" else names[:1]


def local(tag):
    return tag.rsplit("}", 1)[-1]


def remove_items(root, hidden):
    """Removes the list items that describe the hidden object, and reservations left empty. Says whether any was."""
    removed = False
    for parent in root.iter():
        for item in list(parent):
            if local(item.tag) not in ("item", "member"):
                continue
            if any(local(child.tag) == hidden.field and child.text == hidden.name for child in item):
                parent.remove(item)
                removed = True
    if removed and hidden.field == "instanceId":
        for parent in root.iter():
            for item in list(parent):
                instances = [child for child in item if local(child.tag) == "instancesSet"]
                if instances and len(instances[0]) == 0:
                    parent.remove(item)
    return removed

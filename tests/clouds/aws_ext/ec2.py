"""The EC2 backend and responses that the server uses: moto's, with this package's subjects mixed in.

A new subject is one new file and one line in each class here.
"""

import re

import moto.ec2.models as models
import moto.ec2.urls as urls
from moto.ec2 import utils
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models import EC2Backend
from moto.ec2.responses import EC2Response

from . import images, instances, launch_templates, network, security_groups, volumes
from .capacity_reservations import CapacityReservationBackend, CapacityReservationResponse
from .images import ImageBackend, ImageResponse
from .instance_actions import InstanceActionsResponse
from .instances import InstanceBackend
from .launch import LaunchBackend, LaunchResponse
from .launch_templates import LaunchTemplateBackend, LaunchTemplateResponse
from .network import NetworkBackend, NetworkResponse
from .placement_groups import PlacementGroupBackend, PlacementGroupResponse
from .security_groups import SecurityGroupBackend
from .spot import SpotBackend, SpotResponse
from .tokens import ClientTokenBackend, honour_tokens
from .types_offered import InstanceTypeResponse
from .volumes import VolumeBackend, VolumeResponse

#: Resource types that moto cannot tell by their ID's prefix.
PREFIXES = {"placement-group": "pg", "capacity-reservation": "cr"}

#: Filters of DescribeInstances that moto lacks, with the attribute they compare.
INSTANCE_FILTERS = {
    "client-token": "client_token",
    "instance-lifecycle": "lifecycle",
    "spot-instance-request-id": "spot_instance_request_id",
    "capacity-reservation-id": "capacity_reservation_id",
    "placement-group-name": "placement.group_name",
    "tenancy": "placement.tenancy",
    "instance-state-code": "state_code",
    "root-device-name": "root_device_name",
}


class Backend(
    ClientTokenBackend,
    CapacityReservationBackend,
    ImageBackend,
    SecurityGroupBackend,
    NetworkBackend,
    InstanceBackend,
    LaunchBackend,
    LaunchTemplateBackend,
    PlacementGroupBackend,
    SpotBackend,
    VolumeBackend,
    EC2Backend,
):
    # Moto finds a service's URLs by the module name of its backend.
    __module__ = EC2Backend.__module__

    def __init__(self, region_name, account_id):
        self.init_client_tokens()
        self.init_capacity_reservations()
        self.init_instances()
        self.init_network()
        self.init_placement_groups()
        super().__init__(region_name, account_id)

    def describe_tags(self, filters=None):
        """As moto's, without a walk over all tags for the tags of one resource."""
        if filters and list(filters) == ["resource-id"] and len(filters["resource-id"]) == 1:
            resource_id = filters["resource-id"][0]
            if "*" not in resource_id and "?" not in resource_id:
                kind = utils.EC2_PREFIX_TO_RESOURCE.get(utils.get_prefix(resource_id), "")
                return [
                    {"resource_id": resource_id, "key": key, "value": value, "resource_type": kind}
                    for key, value in self.tags.get(resource_id, {}).items()
                ]
        return super().describe_tags(filters)


class Response(
    CapacityReservationResponse,
    ImageResponse,
    InstanceActionsResponse,
    InstanceTypeResponse,
    LaunchResponse,
    LaunchTemplateResponse,
    NetworkResponse,
    PlacementGroupResponse,
    SpotResponse,
    VolumeResponse,
    EC2Response,
):
    RESPONSE_KEY_PATH_TO_TRANSFORMER = {
        **{
            path: transform
            for path, transform in EC2Response.RESPONSE_KEY_PATH_TO_TRANSFORMER.items()
            if not path.startswith(("RunInstances.", "CreateVolumeResponse.", "ModifyVolumeResponse."))
        },
        "Instances.Instance.StateReason": lambda reason: reason if reason and reason.code else None,
    }

    def call_action(self):
        self.ec2_backend.settle()
        return super().call_action()

    def serialized(self, action_result):
        """Some of moto's messages show Python's sets and lists where AWS shows an ID."""
        error = action_result.result
        if isinstance(error, EC2ClientError):
            error.message = re.sub(r"'?[{\[]'([^']*)'[}\]]'?", r"'\1'", error.message or "The request is not valid.")
        return super().serialized(action_result)


def install():
    """Makes moto use the classes of this file. Must run before the first EC2 request."""
    for subject in (images, instances, launch_templates, network, security_groups, volumes):
        subject.install()
    honour_tokens(Response)
    models.ec2_backends.backend = Backend
    urls.url_paths["{0}/"] = Response.dispatch
    utils.EC2_RESOURCE_TO_PREFIX.update(PREFIXES)
    utils.EC2_PREFIX_TO_RESOURCE.update({prefix: name for name, prefix in PREFIXES.items()})
    utils.filter_dict_attribute_mapping.update(INSTANCE_FILTERS)


def backend(account, region):
    """The backend of one account and region, made on first use."""
    return models.ec2_backends[account][region]

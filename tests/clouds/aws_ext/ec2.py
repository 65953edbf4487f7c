"""The EC2 backend and responses that the server uses: moto's, with this package's subjects mixed in.

A new subject is one new file and one line in each class here.
"""

import moto.ec2.models as models
import moto.ec2.urls as urls
from moto.ec2.models import EC2Backend
from moto.ec2.responses import EC2Response
from moto.ec2 import utils

from .placement_groups import PlacementGroupBackend, PlacementGroupResponse
from .tokens import ClientTokenBackend, honour_tokens

#: Resource types that moto cannot tell by their ID's prefix.
PREFIXES = {"placement-group": "pg", "capacity-reservation": "cr"}


class Backend(ClientTokenBackend, PlacementGroupBackend, EC2Backend):
    # Moto finds a service's URLs by the module name of its backend.
    __module__ = EC2Backend.__module__

    def __init__(self, region_name, account_id):
        self.init_client_tokens()
        self.init_placement_groups()
        super().__init__(region_name, account_id)


class Response(PlacementGroupResponse, EC2Response):
    pass


def install():
    """Makes moto use the classes of this file. Must run before the first EC2 request."""
    honour_tokens(Response)
    models.ec2_backends.backend = Backend
    urls.url_paths["{0}/"] = Response.dispatch
    utils.EC2_RESOURCE_TO_PREFIX.update(PREFIXES)
    utils.EC2_PREFIX_TO_RESOURCE.update({prefix: name for name, prefix in PREFIXES.items()})


def backend(account, region):
    """The backend of one account and region, made on first use."""
    return models.ec2_backends[account][region]

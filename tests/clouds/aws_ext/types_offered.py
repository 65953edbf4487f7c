"""DescribeInstanceTypeOfferings with the wildcards that its filters allow."""

import fnmatch

from moto.core.responses import ActionResult


class InstanceTypeResponse:
    def describe_instance_type_offerings(self):
        """Moto's offerings, filtered here: its own filters compare literally and know no wildcard."""
        kind = self._get_param("LocationType") or "region"
        filters = self._filters_from_querystring()
        offerings = self.ec2_backend.describe_instance_type_offerings(kind, {})
        for name, member in (("location", "Location"), ("instance-type", "InstanceType")):
            if name in filters:
                offerings = [
                    offering
                    for offering in offerings
                    if any(fnmatch.fnmatch(offering[member], pattern) for pattern in filters[name])
                ]
        return ActionResult({"InstanceTypeOfferings": offerings})

"""What the cloud can give: capacity by instance type and zone, vCPU quotas, and call rates.

All are unlimited until a test sets them through the admin endpoint. Launches ask `LIMITS` (see `instances`), the
middleware asks for throttling.
"""

import re
import threading
import time
from collections import Counter

from moto.ec2.exceptions import EC2ClientError

#: Quota code by market and instance family, from the Service Quotas documentation. Families not named are "standard".
QUOTA_CODES = {
    "on-demand": {
        "standard": "L-1216C47A",
        "g": "L-DB2E81BA",
        "vt": "L-DB2E81BA",
        "p": "L-417A185B",
        "inf": "L-1945791B",
        "trn": "L-2C3B7624",
    },
    "spot": {
        "standard": "L-34B43A08",
        "g": "L-3819A6DF",
        "vt": "L-3819A6DF",
        "p": "L-7212CCBC",
        "p5": "L-C4BD4855",
        "inf": "L-B5D1601B",
        "trn": "L-6B0D517C",
    },
}

#: (HTTP status, code, message) of a throttled call, by service.
THROTTLED = {
    "ec2": (503, "RequestLimitExceeded", "Request limit exceeded."),
    "s3": (503, "SlowDown", "Please reduce your request rate."),
    "kms": (400, "ThrottlingException", "Rate exceeded"),
    "ssm": (400, "ThrottlingException", "Rate exceeded"),
}
THROTTLED_ELSEWHERE = (400, "Throttling", "Rate exceeded")


class LaunchRefused(EC2ClientError):
    """A launch that AWS refuses for want of capacity; AWS reports it as its own failure, status 500."""

    http_status = 500
    code = "InsufficientInstanceCapacity"


def quota_code(instance_type, market):
    """The Service Quotas code that limits instances of this type in this market ("on-demand" or "spot")."""
    codes = QUOTA_CODES[market]
    family = instance_type.split(".")[0]
    letters = re.match("[a-z]*", family).group()
    return codes.get(family[:2]) or codes.get(letters) or codes["standard"]


class Bucket:
    """A token bucket: `rate` calls a second, bursts of as many."""

    def __init__(self, rate):
        self.rate = rate
        self.level = max(1.0, rate)
        self.time = time.monotonic()

    def take(self):
        now = time.monotonic()
        self.level = min(max(1.0, self.rate), self.level + (now - self.time) * self.rate)
        self.time = now
        if self.level < 1:
            return False
        self.level -= 1
        return True


class Limits:
    def __init__(self):
        self.lock = threading.Lock()
        #: calls under way, by service
        self.under_way = Counter()
        self.clear()

    def clear(self):
        #: instances that can still be launched, by (instance type, zone)
        self.capacity = {}
        #: vCPUs by quota code
        self.quotas = {}
        self.rates = {}
        #: calls that may be under way, by service
        self.at_once = {}

    def begins(self, service):
        """Counts a call as under way; returns how many of its service are, with it."""
        with self.lock:
            self.under_way[service] += 1
            return self.under_way[service]

    def ends(self, service):
        with self.lock:
            self.under_way[service] -= 1

    def throttled(self, call, at_once):
        """(status, code, message) when the call exceeds its service's rate or number, else None."""
        with self.lock:
            most, bucket = self.at_once.get(call.service), self.rates.get(call.service)
            if (most is None or at_once <= most) and (bucket is None or bucket.take()):
                return None
        return THROTTLED.get(call.service, THROTTLED_ELSEWHERE)

    def free_zones(self, instance_type, zones, number=1):
        """Those of `zones` that have capacity for `number` more instances."""
        return [zone for zone in zones if self.capacity.get((instance_type, zone), number) >= number]

    def choose_zone(self, instance_type, zones, spot=False):
        """The first of `zones` that has capacity. Raises InsufficientInstanceCapacity."""
        free = self.free_zones(instance_type, zones)
        if not free:
            self.refuse(instance_type, None, [], spot)
        return free[0]

    def refuse(self, instance_type, zone, free_zones, spot=False):
        """Raises InsufficientInstanceCapacity for a launch in `zone` (None: in any), with AWS's wording."""
        if spot:
            raise LaunchRefused("There is no Spot capacity available that matches your request.")
        if zone is None:
            raise LaunchRefused(
                f"We currently do not have sufficient {instance_type} capacity in zones with support for the "
                "requested configuration. Our system will be working on provisioning additional capacity."
            )
        advice = ""
        if free_zones:
            advice = (
                f" You can currently get {instance_type} capacity by not specifying an Availability Zone in your "
                f"request or choosing {', '.join(free_zones)}."
            )
        raise LaunchRefused(
            f"We currently do not have sufficient {instance_type} capacity in the Availability Zone you "
            f"requested ({zone}). Our system will be working on provisioning additional capacity.{advice}"
        )

    def launchable(self, instance_type, zone):
        """How many instances the zone still has, or None when it has no limit."""
        return self.capacity.get((instance_type, zone))

    def take(self, instance_type, zone, number):
        if (instance_type, zone) in self.capacity:
            self.capacity[instance_type, zone] -= number

    def give_back(self, instance_type, zone):
        if (instance_type, zone) in self.capacity:
            self.capacity[instance_type, zone] += 1

    def check_quota(self, instance_type, market, vcpus_running, vcpus_wanted):
        """Raises the error of an exhausted quota; both figures are vCPUs under this type's quota."""
        limit = self.quotas.get(quota_code(instance_type, market))
        if limit is None or vcpus_running + vcpus_wanted <= limit:
            return
        if market == "spot":
            raise EC2ClientError("MaxSpotInstanceCountExceeded", "Max spot instance count exceeded")
        raise EC2ClientError(
            "VcpuLimitExceeded",
            f"You have requested more vCPU capacity than your current vCPU limit of {limit} allows for the instance "
            "bucket that the specified instance type belongs to. Please visit "
            "http://aws.amazon.com/contact-us/ec2-request "
            "to request an adjustment to this limit.",
        )


#: The limits of this process; moto's state is global as well.
LIMITS = Limits()

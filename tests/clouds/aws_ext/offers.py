"""Facts about instance types: where they are offered, what they are made of, and a spot price.

Moto ships AWS's own answers of DescribeInstanceTypes and DescribeInstanceTypeOfferings; this file reads them. Spot
prices are a plausible constant per type and zone, not a market.
"""

import functools

from moto.ec2.models.instance_types import INSTANCE_TYPE_OFFERINGS, INSTANCE_TYPES

#: On-demand price of Linux in us-east-1, in USD per hour, of the types that examples and tests use.
ON_DEMAND = {
    "g4dn.xlarge": 0.526,
    "g5.xlarge": 1.006,
    "g5.2xlarge": 1.212,
    "g5.4xlarge": 1.624,
    "g5.12xlarge": 5.672,
    "g5.48xlarge": 16.288,
    "g6.xlarge": 0.8048,
    "g6.2xlarge": 0.9776,
    "p3.2xlarge": 3.06,
    "p4d.24xlarge": 21.957642,
    "p5.48xlarge": 55.04,
    "t3.micro": 0.0104,
    "m5.large": 0.096,
}
#: Assumed for types without a known price, in USD per vCPU and hour.
PRICE_PER_VCPU = 0.05
SPOT_SHARE = 0.4


@functools.cache
def zones_by_type(region):
    """{instance type: [zone]} of a region; empty for a region that moto knows nothing about."""
    zones = {}
    for offering in INSTANCE_TYPE_OFFERINGS["availability-zone"].get(region, []):
        zones.setdefault(offering["InstanceType"], []).append(offering["Location"])
    return {name: sorted(found) for name, found in zones.items()}


def known(instance_type):
    return instance_type in INSTANCE_TYPES


def vcpus(instance_type):
    return INSTANCE_TYPES.get(instance_type, {}).get("VCpuInfo", {}).get("DefaultVCpus", 1)


def cores_and_threads(instance_type):
    """The default (cores, threads per core)."""
    info = INSTANCE_TYPES.get(instance_type, {}).get("VCpuInfo", {})
    threads = info.get("DefaultThreadsPerCore", 1)
    return info.get("DefaultCores", max(1, info.get("DefaultVCpus", 1) // threads)), threads


def architectures(instance_type):
    return INSTANCE_TYPES.get(instance_type, {}).get("ProcessorInfo", {}).get("SupportedArchitectures", [])


def placement_strategies(instance_type):
    return INSTANCE_TYPES.get(instance_type, {}).get("PlacementGroupInfo", {}).get("SupportedStrategies", [])


def burstable(instance_type):
    return bool(INSTANCE_TYPES.get(instance_type, {}).get("BurstablePerformanceSupported"))


def spot_price(instance_type, zone):
    """USD per hour; zones differ a little, as they do on AWS."""
    on_demand = ON_DEMAND.get(instance_type, PRICE_PER_VCPU * vcpus(instance_type))
    return round(on_demand * SPOT_SHARE * (1 + 0.01 * (ord(zone[-1]) - ord("a"))), 6)

"""RunInstances: from a request, and the launch template that it names, to instances with all they asked for.

Checks come in AWS's order (what is named must exist, then quota, then capacity), and nothing is made before they all
pass. Moto's own callers (auto scaling, fleets, RequestSpotInstances) end here too.
"""

from moto.core.exceptions import ServiceException
from moto.core.responses import ActionResult
from moto.ec2.exceptions import EC2ClientError, InvalidParameterCombination
from moto.ec2.utils import convert_tag_spec, filter_iam_instance_profiles
from moto.kms import kms_backends

from . import offers
from .launch_templates import user_data
from .limits import LIMITS, quota_code
from .volumes import key_arn

#: Structures of a launch whose members override the template's one by one; others override as a whole.
MERGED = ("Placement", "MetadataOptions", "CpuOptions", "PrivateDnsNameOptions")


class LaunchBackend:
    def run_instances(self, image_id, count, user_data, security_group_names, **kwargs):
        """Moto's own callers, in moto's terms."""
        if kwargs.pop("checked", False):
            return super().run_instances(image_id, count, user_data, security_group_names, **kwargs)
        groups = [
            *security_group_names,
            *(getattr(group, "id", group) for group in kwargs.get("security_group_ids") or []),
        ]
        request = {
            "ImageId": image_id,
            "MinCount": count,
            "MaxCount": count,
            "UserData": user_data,
            "SecurityGroupIds": groups,
            "InstanceType": kwargs.get("instance_type"),
            "KeyName": kwargs.get("key_name"),
            "SubnetId": kwargs.get("subnet_id"),
            "LaunchTemplate": kwargs.get("launch_template"),
            "BlockDeviceMappings": kwargs.get("block_device_mappings"),
            "TagSpecifications": [
                {"ResourceType": kind, "Tags": [{"Key": key, "Value": value} for key, value in tags.items()]}
                for kind, tags in (kwargs.get("tags") or {}).items()
            ],
        }
        if kwargs.get("placement") and not kwargs.get("subnet_id"):
            request["Placement"] = {"AvailabilityZone": kwargs["placement"]}
        passed_on = {key: kwargs[key] for key in ("lifecycle", "spot_fleet_id", "fleet_id") if key in kwargs}
        return self.launch({key: value for key, value in request.items() if value}, **passed_on)

    def launch(self, request, **passed_on):
        """Launches what `request`, the input of RunInstances, asks for, and returns its reservation."""
        plan = LaunchPlan(self, request)
        reservation = self.run_instances(
            plan.image.id,
            plan.count,
            user_data(plan.request.get("UserData")),
            [],
            checked=True,
            **plan.moto_arguments(),
            **passed_on,
        )
        launched = reservation.instances[0].launch_time.replace(microsecond=0)
        for instance in reservation.instances:
            instance.launch_time = launched
            plan.furnish(instance)
        if plan.reservation is None:
            LIMITS.take(plan.instance_type, plan.zone, plan.count)
        return reservation


class LaunchPlan:
    """A checked launch: everything that it names exists, fits, and has capacity."""

    def __init__(self, backend, request):
        self.backend = backend
        self.template_version = None
        self.request = self.with_template(request)
        self.image = self.find_image()
        self.instance_type = self.request.get("InstanceType") or "m1.small"
        self.market = self.request.get("InstanceMarketOptions") or {}
        self.check_names()
        self.zone, self.subnet = self.choose_subnet()
        self.groups = self.find_groups()
        self.placement_group = self.find_placement_group()
        self.interfaces = self.plan_interfaces()
        self.devices = self.plan_devices()
        self.tags = convert_tag_spec(self.request.get("TagSpecifications") or [])
        minimum = int(self.request.get("MinCount", 1))
        self.reservation = backend.capacity_reservation_for_launch(
            self.request.get("CapacityReservationSpecification") or {}, self.instance_type, self.zone, minimum
        )
        self.count = self.grantable(minimum, int(self.request.get("MaxCount", minimum)))
        self.check_quota()

    @property
    def is_spot(self):
        return self.market.get("MarketType") == "spot"

    def with_template(self, request):
        """The request with what its launch template adds."""
        if not request.get("LaunchTemplate"):
            return request
        data, self.template_version = self.backend.launch_template_data(request["LaunchTemplate"])
        merged = {key: value for key, value in data.items() if value is not None}
        for key, value in request.items():
            if key in MERGED and key in merged:
                value = {**merged[key], **value}
            elif key == "BlockDeviceMappings":
                named = {mapping["DeviceName"]: mapping for mapping in merged.get(key) or []}
                value = list({**named, **{mapping["DeviceName"]: mapping for mapping in value}}.values())
            elif key == "TagSpecifications":
                value = [*(merged.get(key) or []), *value]
            merged[key] = value
        return merged

    def find_image(self):
        image_id = self.request.get("ImageId")
        if not image_id:
            raise EC2ClientError("MissingParameter", "The request must contain the parameter ImageId")
        images = self.backend.describe_images(ami_ids=[image_id])
        if not images:
            raise EC2ClientError("InvalidAMIID.Unavailable", f"The image ID '{image_id}' is no longer available")
        if images[0].state != "available":
            raise EC2ClientError("InvalidAMIID.Unavailable", f"The image ID '{image_id}' is not available")
        return images[0]

    def check_names(self):
        if not offers.known(self.instance_type):
            raise EC2ClientError("InvalidParameterValue", f"Invalid value '{self.instance_type}' for InstanceType.")
        architectures = offers.architectures(self.instance_type)
        if self.image.architecture and self.image.architecture not in architectures:
            raise EC2ClientError(
                "InvalidParameterValue",
                f"The architecture '{architectures[0]}' of the specified instance type does not match the "
                f"architecture '{self.image.architecture}' of the specified AMI. Specify an instance type and "
                "an AMI that have matching architectures, and try again. You can use "
                "'describe-instance-types' or 'describe-images' to discover the architecture of the instance "
                "type or AMI.",
            )
        key_name = self.request.get("KeyName")
        if key_name and key_name not in self.backend.key_pairs:
            raise EC2ClientError("InvalidKeyPair.NotFound", f"The key pair '{key_name}' does not exist")
        profile = self.request.get("IamInstanceProfile") or {}
        if profile:
            self.check_profile(profile)
        if int(self.request.get("MinCount", 1)) > int(self.request.get("MaxCount", 1)):
            raise EC2ClientError("InvalidParameterValue", "The minimum count must be at most the maximum count.")
        if self.request.get("NetworkInterfaces"):
            if self.request.get("SubnetId"):
                raise InvalidParameterCombination(
                    "Network interfaces and an instance-level subnet ID may not be specified on the same request"
                )
            if self.request.get("SecurityGroupIds") or self.request.get("SecurityGroups"):
                raise InvalidParameterCombination(
                    "Network interfaces and an instance-level security groups may not be specified on the same request"
                )

    def check_profile(self, profile):
        try:
            filter_iam_instance_profiles(
                self.backend.account_id, self.backend.partition, profile.get("Arn"), profile.get("Name")
            )
        except ServiceException as missing:
            given = "Name" if profile.get("Name") else "ARN"
            raise EC2ClientError(
                "InvalidParameterValue",
                f"Value ({profile.get('Name') or profile.get('Arn')}) for parameter "
                f"iamInstanceProfile.{given.lower()} is invalid. Invalid IAM Instance Profile {given}",
            ) from missing

    def choose_subnet(self):
        """(zone, subnet) of the launch: the subnet that it names, or the default one of a zone with capacity."""
        subnet = self.named_subnet()
        wanted = (self.request.get("Placement") or {}).get("AvailabilityZone")
        if subnet is not None:
            if wanted not in (None, subnet.availability_zone):
                raise EC2ClientError(
                    "InvalidParameterValue",
                    f"The subnet '{subnet.id}' is in {subnet.availability_zone}, not in {wanted}.",
                )
            wanted = subnet.availability_zone
        defaults = self.backend.get_default_subnets()
        if subnet is None and not defaults:
            raise EC2ClientError("MissingInput", "No subnets found for the default VPC. Please specify a subnet.")
        offered = offers.zones_by_type(self.backend.region_name).get(self.instance_type, [])
        if wanted is not None and offered and wanted not in offered:
            if not any(zone.name == wanted for zone in self.backend.describe_availability_zones()):
                raise EC2ClientError("InvalidParameterValue", f"Invalid availability zone: [{wanted}]")
            raise EC2ClientError(
                "Unsupported",
                f"Your requested instance type ({self.instance_type}) is not supported in your requested "
                f"Availability Zone ({wanted}). Please retry your request by not specifying an Availability "
                f"Zone or choosing {', '.join(offered)}.",
            )
        target = (
            (self.request.get("CapacityReservationSpecification") or {}).get("CapacityReservationTarget") or {}
        ).get("CapacityReservationId")
        if target:
            zone = wanted or self.backend.get_capacity_reservation(target).availability_zone
        else:
            zone = wanted or LIMITS.choose_zone(
                self.instance_type, [zone for zone in offered if zone in defaults] or sorted(defaults), self.is_spot
            )
        if self.is_spot:
            self.backend.check_spot_price(self.market.get("SpotOptions") or {}, self.instance_type, zone)
        if subnet is None:
            if zone not in defaults:
                raise EC2ClientError("InvalidInput", f"No default subnet for availability zone: '{zone}'.")
            subnet = defaults[zone]
        return zone, subnet

    def named_subnet(self):
        subnet_id = self.request.get("SubnetId")
        for interface in self.request.get("NetworkInterfaces") or []:
            if int(interface.get("DeviceIndex") or 0) == 0:
                if interface.get("NetworkInterfaceId"):
                    return self.backend.get_network_interface(interface["NetworkInterfaceId"]).subnet
                subnet_id = subnet_id or interface.get("SubnetId")
        return self.backend.get_subnet(subnet_id) if subnet_id else None

    def find_groups(self):
        """The security groups of the launch, by ID or by name; the VPC's default one when it names none."""
        named = [*(self.request.get("SecurityGroupIds") or []), *(self.request.get("SecurityGroups") or [])]
        for interface in self.request.get("NetworkInterfaces") or []:
            named += interface.get("Groups") or []
        groups = []
        for name in named:
            group = self.backend.get_security_group_from_id(name) or self.backend.get_security_group_from_name(
                name, self.subnet.vpc_id
            )
            if group is None:
                raise EC2ClientError("InvalidGroup.NotFound", f"The security group '{name}' does not exist")
            if group.vpc_id != self.subnet.vpc_id:
                raise EC2ClientError(
                    "InvalidParameter",
                    f"Security group {group.id} and subnet {self.subnet.id} belong to different networks.",
                )
            groups.append(group)
        return groups or [self.backend.get_default_security_group(self.subnet.vpc_id)]

    def find_placement_group(self):
        placement = self.request.get("Placement") or {}
        if not placement.get("GroupName") and not placement.get("GroupId"):
            return None
        group = self.backend.placement_group_for_launch(placement.get("GroupName"), placement.get("GroupId"))
        if group.strategy not in offers.placement_strategies(self.instance_type):
            raise EC2ClientError(
                "InvalidParameterCombination",
                f"{group.strategy.capitalize()} placement groups are not supported by the "
                f"'{self.instance_type}' instance type. Specify a supported instance type or change the "
                "placement group strategy, and try again.",
            )
        partition = placement.get("PartitionNumber")
        if partition is not None and not (group.partition_count and 1 <= int(partition) <= group.partition_count):
            raise EC2ClientError(
                "InvalidParameterValue",
                f"The partition number {partition} is not valid for the placement group '{group.group_name}'.",
            )
        return group

    def plan_interfaces(self):
        """The interfaces in moto's terms; those that the launch makes end with the instance unless it says "
        "otherwise."""
        interfaces = [dict(interface) for interface in self.request.get("NetworkInterfaces") or [{}]]
        for interface in interfaces:
            interface.setdefault("DeviceIndex", 0)
            if interface.get("NetworkInterfaceId"):
                continue
            if interface.get("DeleteOnTermination") is None:
                interface["DeleteOnTermination"] = True
            if int(interface["DeviceIndex"]) == 0:
                interface.setdefault("SubnetId", self.subnet.id)
                if self.request.get("PrivateIpAddress"):
                    interface["PrivateIpAddress"] = self.request["PrivateIpAddress"]
            if interface.get("AssociatePublicIpAddress") is None:
                interface["AssociatePublicIpAddress"] = int(
                    interface["DeviceIndex"]
                ) == 0 and self.subnet.map_public_ip_on_launch in (True, "true")
            if not interface.get("Groups"):
                interface["Groups"] = [group.id for group in self.groups]
        return interfaces

    def plan_devices(self):
        """{device name: EBS parameters}: the image's, overridden by the launch's."""
        devices = {
            mapping["DeviceName"]: dict(mapping["Ebs"])
            for mapping in self.image.block_device_mappings
            if "Ebs" in mapping
        }
        for mapping in self.request.get("BlockDeviceMappings") or []:
            name = mapping["DeviceName"]
            if mapping.get("NoDevice") is not None:
                devices.pop(name, None)
            elif mapping.get("Ebs"):
                changed = {key: value for key, value in mapping["Ebs"].items() if value is not None}
                if changed.get("VolumeType") and name in devices:
                    devices[name].pop("Iops", None)
                    devices[name].pop("Throughput", None)
                devices[name] = {"DeleteOnTermination": True, **devices.get(name, {}), **changed}
                if not devices[name].get("VolumeSize") and not devices[name].get("SnapshotId"):
                    raise EC2ClientError(
                        "MissingParameter", "The request must contain the parameter size or snapshotId"
                    )
        return devices

    def grantable(self, minimum, maximum):
        """How many instances the launch gets, between its minimum and its maximum."""
        if self.reservation is not None:
            return min(maximum, self.reservation.available_instance_count)
        available = LIMITS.launchable(self.instance_type, self.zone)
        if available is None or available >= maximum:
            return maximum
        if available < minimum:
            offered = offers.zones_by_type(self.backend.region_name).get(self.instance_type, [])
            LIMITS.refuse(
                self.instance_type, self.zone, LIMITS.free_zones(self.instance_type, offered, minimum), self.is_spot
            )
        return available

    def check_quota(self):
        market = "spot" if self.is_spot else "on-demand"
        code = quota_code(self.instance_type, market)
        running = sum(
            offers.vcpus(instance.instance_type)
            for instance in self.backend.all_instances()
            if instance.state in ("pending", "running")
            and quota_code(instance.instance_type, "spot" if instance.lifecycle == "spot" else "on-demand") == code
        )
        LIMITS.check_quota(self.instance_type, market, running, offers.vcpus(self.instance_type) * self.count)

    def moto_arguments(self):
        """The arguments of moto's run_instances, apart from what `furnish` adds afterwards."""
        request = self.request
        arguments = {
            "instance_type": self.instance_type,
            "is_instance_type_default": False,
            "region_name": self.backend.region_name,
            "subnet_id": self.subnet.id,
            "key_name": request.get("KeyName"),
            "security_group_ids": [],
            "nics": self.interfaces,
            "placement_hostid": (request.get("Placement") or {}).get("HostId"),
            "tags": {"instance": self.tags.get("instance", {})},
            "ebs_optimized": bool(request.get("EbsOptimized")),
            "disable_api_stop": bool(request.get("DisableApiStop")),
            "disable_api_termination": bool(request.get("DisableApiTermination")),
            "instance_initiated_shutdown_behavior": request.get("InstanceInitiatedShutdownBehavior"),
            "hibernation_options": {"Configured": bool((request.get("HibernationOptions") or {}).get("Configured"))},
            "monitoring_state": "enabled" if (request.get("Monitoring") or {}).get("Enabled") else "disabled",
            "ipv6_address_count": request.get("Ipv6AddressCount"),
            "metadata_options": request.get("MetadataOptions") or {},
            "client_token": request.get("ClientToken", ""),
            "block_device_mappings": [],
        }
        if self.template_version is not None:
            arguments["launch_template"] = {
                "LaunchTemplateId": self.template_version.template.id,
                "Version": self.template_version.number,
            }
        return arguments

    def furnish(self, instance):
        """Gives a new instance its volumes, placement, options, profile and spot request."""
        self.furnish_options(instance)
        self.furnish_interfaces(instance)
        unusable_key = self.furnish_volumes(instance)
        profile = self.request.get("IamInstanceProfile") or {}
        if profile:
            self.backend.associate_iam_instance_profile(instance.id, profile.get("Name"), profile.get("Arn"))
        if self.is_spot:
            self.backend.make_spot_request(
                instance, self.market.get("SpotOptions") or {}, self.tags.get("spot-instances-request", {})
            )
        if self.reservation is not None:
            instance.capacity_reservation_id = self.reservation.id
        else:
            instance.takes_capacity = True
        if unusable_key:
            instance.explain("Client.InternalError", "Client error on launch", "Client.InternalError")
            instance.begin_termination("instance-terminated-by-user")

    def furnish_options(self, instance):
        request, placement = self.request, self.request.get("Placement") or {}
        cores, threads = offers.cores_and_threads(self.instance_type)
        asked = request.get("CpuOptions") or {}
        instance.cpu_options = {
            "CoreCount": int(asked.get("CoreCount") or cores),
            "ThreadsPerCore": int(asked.get("ThreadsPerCore") or threads),
            "AmdSevSnp": asked.get("AmdSevSnp"),
        }
        instance.placement.tenancy = placement.get("Tenancy") or "default"
        if self.placement_group is not None:
            instance.placement.group_name = self.placement_group.group_name
            instance.placement.group_id = self.placement_group.id
            instance.placement.partition_number = placement.get("PartitionNumber") or self.spread_partition(instance)
        instance.enclave_options = {"Enabled": bool((request.get("EnclaveOptions") or {}).get("Enabled"))}
        instance.maintenance_options = {"AutoRecovery": "default", **(request.get("MaintenanceOptions") or {})}
        instance.private_dns_name_options = {
            **(getattr(self.subnet, "private_dns_name_options_on_launch", None) or {"HostnameType": "ip-name"}),
            **(request.get("PrivateDnsNameOptions") or {}),
        }
        instance.capacity_reservation_specification = {
            "CapacityReservationPreference": "open",
            **(request.get("CapacityReservationSpecification") or {}),
        }
        if "CapacityReservationTarget" in instance.capacity_reservation_specification:
            del instance.capacity_reservation_specification["CapacityReservationPreference"]
        credits = (request.get("CreditSpecification") or {}).get("CpuCredits")
        instance.cpu_credits = credits or ("standard" if self.instance_type.startswith("t2.") else "unlimited")
        instance.platform_details = "Linux/UNIX"
        instance.usage_operation = "RunInstances"
        instance.ena_support = True
        instance.boot_mode = self.image.boot_mode
        instance.current_instance_boot_mode = "legacy-bios" if self.image.boot_mode == "legacy-bios" else "uefi"

    def spread_partition(self, instance):
        """AWS chooses a partition when the launch does not."""
        if self.placement_group.strategy != "partition":
            return None
        return 1 + instance.ami_launch_index % self.placement_group.partition_count

    def furnish_interfaces(self, instance):
        for asked, interface in zip(self.interfaces, instance.nics.values(), strict=True):
            if asked.get("NetworkInterfaceId"):
                continue
            interface.add_tags(self.tags.get("network-interface", {}))
            interface.interface_type = asked.get("InterfaceType") or "interface"
            interface.network_card_index = int(asked.get("NetworkCardIndex") or 0)
            secondary = [
                address["PrivateIpAddress"]
                for address in asked.get("PrivateIpAddresses") or []
                if not address.get("Primary")
            ]
            count = int(asked.get("SecondaryPrivateIpAddressCount") or 0)
            if secondary or count:
                self.backend.assign_private_ip_addresses(interface.id, secondary, count)

    def furnish_volumes(self, instance):
        """Makes and attaches the volumes; says whether one of them has a key that cannot be used."""
        unusable_key = False
        for name, ebs in self.devices.items():
            volume = self.backend.create_volume(
                ebs.get("VolumeSize"),
                self.zone,
                ebs.get("SnapshotId"),
                bool(ebs.get("Encrypted")),
                ebs.get("KmsKeyId"),
                ebs.get("VolumeType"),
                ebs.get("Iops"),
                ebs.get("Throughput"),
            )
            self.backend.attach_volume(volume.id, instance.id, name, bool(ebs.get("DeleteOnTermination")))
            volume.add_tags(self.tags.get("volume", {}))
            unusable_key |= ebs.get("KmsKeyId") is not None and not self.key_is_usable(ebs["KmsKeyId"])
        return unusable_key

    def key_is_usable(self, key):
        arn = key_arn(self.backend.account_id, self.backend.region_name, key)
        found = kms_backends[self.backend.account_id][self.backend.region_name].keys.get(arn.rsplit("/", 1)[-1])
        return found is not None and found.key_state == "Enabled"


class LaunchResponse:
    def run_instances(self):
        self.error_on_dryrun()
        return ActionResult(self.ec2_backend.launch(self.params))

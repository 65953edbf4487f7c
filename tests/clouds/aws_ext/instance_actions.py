"""Calls that describe or change one instance: its attributes, metadata options, placement, credits, monitoring.

AWS allows most of them in any state and some (type, user data, placement) only when the instance is stopped.
"""

from moto.core.responses import ActionResult, EmptyResult
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models.instances import MetadataOptions

from . import offers
from .launch_templates import user_data

#: Attribute name in the API, by the member of ModifyInstanceAttribute, with moto's attribute.
ATTRIBUTES = {
    "InstanceType": "instance_type",
    "UserData": "user_data",
    "Kernel": "kernel",
    "Ramdisk": "ramdisk",
    "DisableApiTermination": "disable_api_termination",
    "DisableApiStop": "disable_api_stop",
    "InstanceInitiatedShutdownBehavior": "instance_initiated_shutdown_behavior",
    "SourceDestCheck": "source_dest_check",
    "EbsOptimized": "ebs_optimized",
    "EnaSupport": "ena_support",
}
ONLY_STOPPED = {"InstanceType", "UserData", "Kernel", "Ramdisk", "EbsOptimized", "EnaSupport"}
BOOLEAN = {"DisableApiTermination", "DisableApiStop", "SourceDestCheck", "EbsOptimized", "EnaSupport"}

#: Parameters of ModifyInstanceMetadataOptions, with moto's attribute.
METADATA_OPTIONS = {
    "HttpTokens": "http_tokens",
    "HttpPutResponseHopLimit": "http_put_response_hop_limit",
    "HttpEndpoint": "http_endpoint",
    "HttpProtocolIpv6": "http_protocol_ipv6",
    "InstanceMetadataTags": "instance_metadata_tags",
}


class InstanceActionsResponse:
    def describe_instance_attribute(self):
        instance = self.named_instance()
        attribute = self._get_param("Attribute")
        member = attribute[:1].upper() + attribute[1:]
        result = {"InstanceId": instance.id}
        if attribute == "groupSet":
            result["Groups"] = [{"GroupId": group.id, "GroupName": group.name} for group in instance.security_groups]
        elif attribute == "blockDeviceMapping":
            result["BlockDeviceMappings"] = instance.block_device_mappings
        elif attribute == "rootDeviceName":
            result["RootDeviceName"] = {"Value": instance.root_device_name}
        elif attribute == "enclaveOptions":
            result["EnclaveOptions"] = instance.enclave_options
        elif attribute == "sriovNetSupport":
            result["SriovNetSupport"] = {"Value": instance.sriov_net_support}
        elif attribute == "productCodes":
            result["ProductCodes"] = []
        elif member in ATTRIBUTES:
            value = getattr(instance, ATTRIBUTES[member])
            result[member] = {} if value is None else {"Value": str(value) if member == "UserData" else value}
        else:
            raise EC2ClientError(
                "InvalidParameterValue", f"Value ({attribute}) for parameter attribute is invalid. Unknown attribute."
            )
        return ActionResult(result)

    def modify_instance_attribute(self):
        self.error_on_dryrun()
        instance = self.named_instance()
        for member, value in self.changed_attributes().items():
            self.change_attribute(instance, member, value)
        groups = self._get_param("Groups", [])
        if groups:
            instance.security_groups = [self.known_group(group_id) for group_id in groups]
        for mapping in self._get_param("BlockDeviceMappings", []):
            block = instance.block_device_mapping.get(mapping["DeviceName"])
            if block is None:
                raise EC2ClientError(
                    "InvalidInstanceAttributeValue", f"No device is currently mapped at {mapping['DeviceName']}"
                )
            kept = mapping.get("Ebs", {}).get("DeleteOnTermination")
            if kept is not None:
                block.delete_on_termination = kept
        return EmptyResult()

    def changed_attributes(self):
        """{member: value} of a ModifyInstanceAttribute, from either of its two forms."""
        changes = {}
        attribute = self._get_param("Attribute")
        if attribute:
            changes[attribute[:1].upper() + attribute[1:]] = self._get_param("Value")
        for member in ATTRIBUTES:
            value = self._get_param(f"{member}.Value")
            if value is not None:
                changes[member] = value
        return changes

    def change_attribute(self, instance, member, value):
        if member not in ATTRIBUTES:
            raise EC2ClientError(
                "InvalidParameterValue", f"Value ({member}) for parameter attribute is invalid. Unknown attribute."
            )
        if member in ONLY_STOPPED and instance.state != "stopped":
            raise EC2ClientError(
                "IncorrectInstanceState", f"The instance '{instance.id}' is not in the 'stopped' state."
            )
        if member in BOOLEAN:
            value = str(value).lower() == "true"
        elif member == "UserData":
            value = user_data(value) if value else None
        elif member == "InstanceType":
            if not offers.known(value):
                raise EC2ClientError("InvalidInstanceAttributeValue", f"Invalid value '{value}' for InstanceType.")
            cores, threads = offers.cores_and_threads(value)
            instance.cpu_options = {"CoreCount": cores, "ThreadsPerCore": threads}
        setattr(instance, ATTRIBUTES[member], value)

    def known_group(self, group_id):
        group = self.ec2_backend.get_security_group_from_id(group_id)
        if group is None:
            raise EC2ClientError("InvalidGroup.NotFound", f"The security group '{group_id}' does not exist")
        return group

    def modify_instance_metadata_options(self):
        self.error_on_dryrun()
        instance = self.named_instance()
        options = MetadataOptions()
        for parameter, name in METADATA_OPTIONS.items():
            value = self._get_param(parameter)
            setattr(options, name, getattr(instance.metadata_options, name) if value is None else value)
        instance.metadata_options = options
        return ActionResult(
            {"InstanceId": instance.id, "InstanceMetadataOptions": {**vars(options), "State": "pending"}}
        )

    def modify_instance_placement(self):
        instance = self.named_instance()
        if instance.state != "stopped":
            raise EC2ClientError(
                "IncorrectInstanceState", f"The instance '{instance.id}' is not in the 'stopped' state."
            )
        name, group_id = self._get_param("GroupName"), self._get_param("GroupId")
        if name == "":
            instance.placement.group_name = ""
            instance.placement.group_id = None
        elif name or group_id:
            group = self.ec2_backend.placement_group_for_launch(name, group_id)
            instance.placement.group_name, instance.placement.group_id = group.group_name, group.id
        if self._get_param("PartitionNumber") is not None:
            instance.placement.partition_number = self._get_param("PartitionNumber")
        if self._get_param("Tenancy"):
            instance.placement.tenancy = self._get_param("Tenancy")
        if self._get_param("HostId"):
            instance.placement.host_id = self._get_param("HostId")
        return ActionResult({"Return": True})

    def modify_instance_maintenance_options(self):
        instance = self.named_instance()
        instance.maintenance_options = {"AutoRecovery": self._get_param("AutoRecovery", "default")}
        return ActionResult({"InstanceId": instance.id, **instance.maintenance_options})

    def modify_private_dns_name_options(self):
        instance = self.named_instance()
        for parameter in ("EnableResourceNameDnsARecord", "EnableResourceNameDnsAAAARecord"):
            if self._get_param(parameter) is not None:
                instance.private_dns_name_options[parameter] = self._get_param(parameter)
        if self._get_param("PrivateDnsHostnameType"):
            instance.private_dns_name_options["HostnameType"] = self._get_param("PrivateDnsHostnameType")
        return ActionResult({"Return": True})

    def modify_instance_capacity_reservation_attributes(self):
        instance = self.named_instance()
        if instance.state != "stopped":
            raise EC2ClientError(
                "IncorrectInstanceState", f"The instance '{instance.id}' is not in the 'stopped' state."
            )
        instance.capacity_reservation_specification = dict(self.params["CapacityReservationSpecification"])
        return ActionResult({"Return": True})

    def modify_instance_cpu_options(self):
        instance = self.named_instance()
        if instance.state != "stopped":
            raise EC2ClientError(
                "IncorrectInstanceState", f"The instance '{instance.id}' is not in the 'stopped' state."
            )
        instance.cpu_options = {
            "CoreCount": self._get_param("CoreCount"),
            "ThreadsPerCore": self._get_param("ThreadsPerCore"),
        }
        return ActionResult({"InstanceId": instance.id, **instance.cpu_options})

    def describe_instance_credit_specifications(self):
        instances = self.ec2_backend.get_multi_instances_by_id(self._get_param("InstanceIds", []))
        for instance in instances:
            if not offers.burstable(instance.instance_type):
                raise EC2ClientError(
                    "InvalidParameterCombination",
                    f"The instance {instance.id} is of type {instance.instance_type}, which has no CPU credits.",
                )
        shown = [{"InstanceId": instance.id, "CpuCredits": instance.cpu_credits} for instance in instances]
        return ActionResult({"InstanceCreditSpecifications": shown})

    def modify_instance_credit_specification(self):
        changed = []
        for specification in self._get_param("InstanceCreditSpecifications", []):
            instance = self.ec2_backend.get_instance(specification["InstanceId"])
            instance.cpu_credits = specification["CpuCredits"]
            changed.append({"InstanceId": instance.id})
        return ActionResult(
            {"SuccessfulInstanceCreditSpecifications": changed, "UnsuccessfulInstanceCreditSpecifications": []}
        )

    def monitor_instances(self):
        return self.set_monitoring("enabled", "pending")

    def unmonitor_instances(self):
        return self.set_monitoring("disabled", "disabling")

    def set_monitoring(self, state, shown_state):
        instances = self.ec2_backend.get_multi_instances_by_id(self._get_param("InstanceIds", []))
        for instance in instances:
            instance.monitoring_state = state
        return ActionResult(
            {
                "InstanceMonitorings": [
                    {"InstanceId": instance.id, "Monitoring": {"State": shown_state}} for instance in instances
                ]
            }
        )

    def terminate_instances(self):
        """As moto's, with the state that each instance is really in."""
        self.error_on_dryrun()
        changes = self.ec2_backend.terminate_instances(self._get_param("InstanceIds", []))
        super().terminate_instances()
        return self.state_changes("TerminatingInstances", changes)

    def stop_instances(self):
        self.error_on_dryrun()
        return self.state_changes(
            "StoppingInstances", self.ec2_backend.stop_instances(self._get_param("InstanceIds", []))
        )

    def start_instances(self):
        self.error_on_dryrun()
        return self.state_changes(
            "StartingInstances", self.ec2_backend.start_instances(self._get_param("InstanceIds", []))
        )

    def state_changes(self, member, changes):
        return ActionResult(
            {
                member: [
                    {"InstanceId": instance.id, "CurrentState": instance.instance_state, "PreviousState": previous}
                    for instance, previous in changes
                ]
            }
        )

    def named_instance(self):
        return self.ec2_backend.get_instance(self._get_param("InstanceId"))

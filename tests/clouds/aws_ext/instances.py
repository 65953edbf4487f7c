"""Instances with AWS's life: pending, running, stopping, stopped, shutting-down, terminated, by the clock.

What an instance holds (volumes, network interfaces, addresses, profile, capacity) is released when it reaches
`terminated`, so that deleting a subnet or a placement group too early fails here as it does on AWS. `launch` makes
instances, `instance_actions` answers the calls that change one.
"""

import time

from moto.core.utils import utcnow
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models import elastic_network_interfaces as interfaces
from moto.ec2.models import instances as moto_instances
from moto.ec2.models.instances import InstanceState, StateReason

from .lifecycle import Clock
from .limits import LIMITS

CODES = {"pending": 0, "running": 16, "shutting-down": 32, "terminated": 48, "stopping": 64, "stopped": 80}
#: More than any network card of an instance has.
MOST_DEVICES = 100
TRANSITIONAL = {"pending": "running", "shutting-down": "terminated", "stopping": "stopped"}


class Instance(moto_instances.Instance):
    def __init__(self, ec2_backend, image_id, user_data, security_groups, **kwargs):
        self.phase = "pending"
        self.clock = Clock()
        self.launch_groups = []
        self.released = False
        self.spot_request = None
        self.capacity_reservation_id = None
        self.takes_capacity = False
        super().__init__(ec2_backend, image_id, user_data, security_groups, **kwargs)

    @property
    def _state(self):
        name = self.phase
        if name in TRANSITIONAL and self.clock.settled():
            name = TRANSITIONAL[name]
        return InstanceState(name, CODES[name])

    @_state.setter
    def _state(self, _state):
        """Moto's constructor starts instances as running; ours start as pending."""

    def enter(self, phase):
        self.phase = phase
        self.clock.restart()

    def start(self):
        previous = self._state
        if previous.name == "stopped":
            for interface in self.nics.values():
                interface.start()
            self._reason, self.state_reason = "", StateReason()
            self.launch_time = utcnow().replace(microsecond=0)
            self.enter("pending")
        elif previous.name not in ("pending", "running"):
            raise incorrect_state(self, "started")
        return previous

    def stop(self):
        previous = self._state
        if previous.name in ("pending", "running"):
            if self.spot_request and self.spot_request.type != "persistent":
                raise EC2ClientError(
                    "UnsupportedOperation",
                    f"You can't stop the Spot Instance '{self.id}' because it is associated with a one-time "
                    "Spot Instance request. You can only stop Spot Instances associated with persistent Spot "
                    "Instance requests.",
                )
            for interface in self.nics.values():
                interface.stop()
            self.explain("Client.UserInitiatedShutdown", "User initiated shutdown", "User initiated")
            self.enter("stopping")
        elif previous.name not in ("stopping", "stopped"):
            raise incorrect_state(self, "stopped")
        return previous

    def reboot(self):
        if self.state not in ("pending", "running"):
            raise incorrect_state(self, "rebooted")

    def terminate(self):
        previous = self._state
        if previous.name not in ("shutting-down", "terminated"):
            self.explain("Client.UserInitiatedShutdown", "User initiated shutdown", "User initiated")
            self.begin_termination("instance-terminated-by-user")
        return previous

    def begin_termination(self, spot_status):
        """Enters shutting-down; `spot_status` is what a spot request then reports."""
        self.enter("shutting-down")
        self.ec2_backend.leaving.append(self)
        if self.spot_request:
            self.spot_request.end(spot_status)

    def explain(self, code, message, reason):
        self._reason = f"{reason} ({utcnow():%Y-%m-%d %H:%M:%S} GMT)"
        self.state_reason = StateReason(f"{code}: {message}", code)

    def attach_eni(self, eni, device_index):
        """Each network card has its own device indexes; moto keeps one interface for each index."""
        slot = int(device_index)
        while slot in self.nics:
            slot += MOST_DEVICES
        attachment = super().attach_eni(eni, slot)
        eni.device_index = int(device_index)
        return attachment

    def detach_eni(self, eni):
        eni.device_index = next((slot for slot, held in self.nics.items() if held is eni), eni.device_index)
        super().detach_eni(eni)

    def release(self):
        """Gives back everything that a terminated instance no longer has."""
        self.released = True
        for address in self.ec2_backend.addresses:
            if address.instance is self or (address.eni and address.eni.instance is self):
                self.ec2_backend.disassociate_address(address=address.public_ip)
        reason, state_reason = self._reason, self.state_reason
        super().terminate()
        self._reason, self.state_reason = reason, state_reason
        for interface in list(self.nics.values()):
            self.detach_eni(interface)
        self._subnet_id = None
        self.launch_groups = []
        if self.takes_capacity:
            LIMITS.give_back(self.instance_type, self.availability_zone)

    @property
    def security_groups(self):
        primary = getattr(self, "nics", {}).get(0)
        return primary._group_set if primary else self.launch_groups

    @security_groups.setter
    def security_groups(self, groups):
        self.launch_groups = groups
        primary = getattr(self, "nics", {}).get(0)
        if primary:
            primary._group_set = groups

    @property
    def private_ip(self):
        return self.nics[0].private_ip_address if 0 in self.nics else None

    private_ip_address = private_ip

    @property
    def public_ip(self):
        return self.nics[0].public_ip if 0 in self.nics else None

    public_ip_address = public_ip

    @property
    def private_dns_name(self):
        return super().private_dns_name if self.private_ip else ""

    @property
    def public_dns_name(self):
        if self.public_ip and self.subnet_id:
            if self.ec2_backend.get_vpc(self.vpc_id).enable_dns_hostnames:
                return super().public_dns_name
        return ""

    @property
    def spot_instance_request_id(self):
        return self.spot_request.id if self.spot_request else None

    @property
    def source_dest_check(self):
        primary = getattr(self, "nics", {}).get(0)
        return primary.source_dest_check if primary else True

    @source_dest_check.setter
    def source_dest_check(self, value):
        primary = getattr(self, "nics", {}).get(0)
        if primary:
            primary.source_dest_check = value


class NetworkInterface(interfaces.NetworkInterface):
    """An interface whose groups are its own, and whose association is absent when there is none."""

    network_card_index = 0

    @property
    def group_set(self):
        return self._group_set

    @property
    def association(self):
        return super().association or None


class Attachment(interfaces.Attachment):
    def __init__(self, interface):
        super().__init__(interface)
        self.network_card_index = interface.network_card_index


class InstanceBackend:
    def init_instances(self):
        self.leaving = []
        self.interruptions = []

    def settle(self):
        """Completes what the clock has completed. Called before every EC2 call."""
        now = time.monotonic()
        for moment, instance, status in [due for due in self.interruptions if due[0] <= now]:
            self.interruptions.remove((moment, instance, status))
            instance.spot_request.interrupt(status)
        for instance in [instance for instance in self.leaving if instance.state == "terminated"]:
            self.leaving.remove(instance)
            instance.release()

    def replace_iam_instance_profile_association(self, *args, **kwargs):
        """Moto changes the association but not what the instance reports."""
        association = super().replace_iam_instance_profile_association(*args, **kwargs)
        association.instance.iam_instance_profile = association.iam_instance_profile
        return association

    def terminate_instances(self, instance_ids):
        """Terminates all or, when one is unknown or protected, none."""
        for instance in self.get_multi_instances_by_id(instance_ids):
            if instance.disable_api_termination:
                raise EC2ClientError(
                    "OperationNotPermitted",
                    f"The instance '{instance.id}' may not be terminated. Modify its 'disableApiTermination' "
                    "instance attribute and try again.",
                )
        return super().terminate_instances(instance_ids)


def incorrect_state(instance, done):
    return EC2ClientError(
        "IncorrectInstanceState", f"The instance '{instance.id}' is not in a state from which it can be {done}."
    )


def install():
    """Puts this file's models into moto's modules, where its backends make them."""
    moto_instances.Instance = Instance
    interfaces.NetworkInterface = NetworkInterface
    interfaces.Attachment = Attachment

"""On-demand capacity reservations: create, describe, modify, cancel, and their use by launches.

Moto has none of it. A reservation's free capacity is counted from the instances that use it, never stored.
"""

from moto.core.responses import ActionResult
from moto.core.utils import utcnow
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models.core import TaggedEC2Resource
from moto.ec2.utils import generic_filter, random_id

from . import offers
from .lifecycle import Clock
from .limits import LIMITS


class CapacityReservation(TaggedEC2Resource):
    def __init__(self, backend, zone, request, tags):
        self.ec2_backend = backend
        self.id = random_id("cr")
        self.capacity_reservation_id = self.id
        self.owner_id = backend.account_id
        self.capacity_reservation_arn = (
            f"arn:{backend.partition}:ec2:{backend.region_name}:{backend.account_id}:capacity-reservation/{self.id}"
        )
        self.availability_zone = zone.name
        self.availability_zone_id = zone.zone_id
        self.instance_type = request["InstanceType"]
        self.instance_platform = request["InstancePlatform"]
        self.tenancy = request.get("Tenancy", "default")
        self.total_instance_count = request["InstanceCount"]
        self.ebs_optimized = request.get("EbsOptimized", False)
        self.ephemeral_storage = request.get("EphemeralStorage", False)
        self.end_date = request.get("EndDate")
        self.end_date_type = request.get("EndDateType", "unlimited")
        self.instance_match_criteria = request.get("InstanceMatchCriteria", "open")
        self.placement_group_arn = request.get("PlacementGroupArn")
        self.outpost_arn = request.get("OutpostArn")
        self.reservation_type = "default"
        self.delivery_preference = "fixed"
        self.start_date = self.create_date = utcnow()
        self.cancelled = False
        self.clock = Clock()
        self.add_tags(tags)

    @property
    def tags(self):
        return self.get_tags()

    @property
    def state(self):
        if self.cancelled:
            return "cancelled"
        if self.end_date and self.end_date.replace(tzinfo=None) <= utcnow():
            return "expired"
        return "active" if self.clock.settled() else "pending"

    @property
    def available_instance_count(self):
        if self.state not in ("active", "pending"):
            return 0
        return self.total_instance_count - self.used()

    def used(self):
        return sum(
            1
            for instance in self.ec2_backend.all_instances()
            if instance.capacity_reservation_id == self.id and instance.state not in ("terminated", "stopped")
        )

    def get_filter_value(self, filter_name, method_name=None):
        return super().get_filter_value(filter_name, "DescribeCapacityReservations")


class CapacityReservationBackend:
    def init_capacity_reservations(self):
        self.capacity_reservations = {}

    def create_capacity_reservation(self, request, tags):
        instance_type = request["InstanceType"]
        zone = self.reservation_zone(request)
        if not offers.known(instance_type):
            raise EC2ClientError("InvalidParameterValue", f"Invalid value '{instance_type}' for InstanceType.")
        offered = offers.zones_by_type(self.region_name).get(instance_type, [])
        if zone.name not in offered:
            raise EC2ClientError(
                "Unsupported",
                f"The requested configuration is currently not supported. Instance type {instance_type} is "
                f"not offered in {zone.name}.",
            )
        if (request.get("EndDateType") == "limited") != bool(request.get("EndDate")):
            raise EC2ClientError(
                "InvalidParameterCombination", "EndDate must be given with EndDateType limited, and only then."
            )
        free = LIMITS.free_zones(instance_type, offered, request["InstanceCount"])
        if zone.name not in free:
            LIMITS.refuse(instance_type, zone.name, free)
        LIMITS.take(instance_type, zone.name, request["InstanceCount"])
        reservation = CapacityReservation(self, zone, request, tags)
        self.capacity_reservations[reservation.id] = reservation
        return reservation

    def reservation_zone(self, request):
        for zone in self.describe_availability_zones():
            if request.get("AvailabilityZone") == zone.name or request.get("AvailabilityZoneId") == zone.zone_id:
                return zone
        raise EC2ClientError("InvalidParameterValue", "Invalid availability zone")

    def get_capacity_reservation(self, reservation_id):
        if reservation_id not in self.capacity_reservations:
            raise EC2ClientError(
                "InvalidCapacityReservationId.NotFound", f"The capacity reservation '{reservation_id}' does not exist"
            )
        return self.capacity_reservations[reservation_id]

    def describe_capacity_reservations(self, reservation_ids, filters):
        chosen = reservation_ids or list(self.capacity_reservations)
        return generic_filter(filters, [self.get_capacity_reservation(reservation_id) for reservation_id in chosen])

    def modify_capacity_reservation(self, reservation_id, changes):
        reservation = self.live_capacity_reservation(reservation_id)
        count = changes.get("InstanceCount")
        if count is not None:
            if count < reservation.used():
                raise EC2ClientError(
                    "InvalidParameterValue",
                    f"The instance count {count} is below the {reservation.used()} instances that run in "
                    f"{reservation_id}.",
                )
            reservation.total_instance_count = count
        if changes.get("EndDateType"):
            reservation.end_date_type = changes["EndDateType"]
            reservation.end_date = changes.get("EndDate")
        if changes.get("InstanceMatchCriteria"):
            reservation.instance_match_criteria = changes["InstanceMatchCriteria"]

    def cancel_capacity_reservation(self, reservation_id):
        reservation = self.live_capacity_reservation(reservation_id)
        reservation.cancelled = True
        reservation.end_date = utcnow()
        for instance in self.all_instances():
            if instance.capacity_reservation_id == reservation_id:
                instance.capacity_reservation_id = None

    def live_capacity_reservation(self, reservation_id):
        reservation = self.get_capacity_reservation(reservation_id)
        if reservation.state not in ("active", "pending"):
            raise EC2ClientError(
                "InvalidCapacityReservationState",
                f"The capacity reservation '{reservation_id}' is {reservation.state}.",
            )
        return reservation

    def capacity_reservation_for_launch(self, specification, instance_type, zone, count):
        """The reservation that a launch of `count` instances uses, or None.

        A targeted one must fit; an open one is used when it does, unless the preference is "none".
        """
        target = (specification.get("CapacityReservationTarget") or {}).get("CapacityReservationId")
        if target:
            reservation = self.live_capacity_reservation(target)
            if (reservation.instance_type, reservation.availability_zone) != (instance_type, zone):
                raise EC2ClientError(
                    "InvalidParameterCombination",
                    f"The capacity reservation '{target}' is for {reservation.instance_type} in "
                    f"{reservation.availability_zone}.",
                )
            if reservation.available_instance_count < count:
                raise EC2ClientError(
                    "ReservationCapacityExceeded",
                    "The requested reservation does not have sufficient compatible and available capacity "
                    "for this request.",
                )
            return reservation
        preference = specification.get("CapacityReservationPreference", "open")
        if preference == "none":
            return None
        for reservation in self.capacity_reservations.values():
            if (
                reservation.instance_match_criteria == "open"
                and (reservation.instance_type, reservation.availability_zone) == (instance_type, zone)
                and reservation.available_instance_count >= count
            ):
                return reservation
        if preference == "capacity-reservations-only":
            raise EC2ClientError(
                "ReservationCapacityExceeded",
                "The requested reservation does not have sufficient compatible and available capacity for "
                "this request.",
            )
        return None


class CapacityReservationResponse:
    def create_capacity_reservation(self):
        self.error_on_dryrun()
        reservation = self.ec2_backend.create_capacity_reservation(
            self.params, self._parse_tag_specification("capacity-reservation").get("capacity-reservation", {})
        )
        return ActionResult({"CapacityReservation": reservation})

    def describe_capacity_reservations(self):
        reservations = self.ec2_backend.describe_capacity_reservations(
            self._get_param("CapacityReservationIds", []), self._filters_from_querystring()
        )
        return ActionResult({"CapacityReservations": reservations})

    def modify_capacity_reservation(self):
        self.error_on_dryrun()
        self.ec2_backend.modify_capacity_reservation(self._get_param("CapacityReservationId"), self.params)
        return ActionResult({"Return": True})

    def cancel_capacity_reservation(self):
        self.error_on_dryrun()
        self.ec2_backend.cancel_capacity_reservation(self._get_param("CapacityReservationId"))
        return ActionResult({"Return": True})

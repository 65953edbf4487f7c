"""Spot requests of instances launched by RunInstances, their interruption, and spot price history.

Moto marks such instances as spot but makes no request for them. Its own RequestSpotInstances keeps working.
"""

import datetime
import time

from moto.core.responses import ActionResult
from moto.core.utils import utcnow
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models.core import TaggedEC2Resource
from moto.ec2.utils import random_spot_request_id

from . import offers

#: What AWS says with each status code, from "Spot request status" in the EC2 user guide.
STATUS_MESSAGES = {
    "fulfilled": "Your Spot request is fulfilled.",
    "marked-for-termination": "The Spot Instance is marked for termination.",
    "marked-for-stop": "The Spot Instance is marked for stopping.",
    "instance-terminated-by-user": "Your Spot Instance was terminated by a user.",
    "instance-terminated-no-capacity": (
        "Your Spot Instance was terminated because there is no Spot capacity available that matches your request."
    ),
    "instance-terminated-by-price": (
        "Your Spot Instance was terminated because the Spot price exceeds your maximum price."
    ),
    "instance-terminated-by-service": "Your Spot Instance was terminated by the Spot service.",
    "instance-stopped-no-capacity": (
        "Your Spot Instance was stopped because there is no Spot capacity available that matches your request."
    ),
    "request-canceled-and-instance-running": "Your Spot request is canceled, but your instance is still running.",
}


class SpotRequest(TaggedEC2Resource):
    def __init__(self, backend, instance, options, tags):
        self.ec2_backend = backend
        self.id = random_spot_request_id()
        self.spot_instance_request_id = self.id
        self.instance = instance
        self.instance_id = instance.id
        self.type = options.get("SpotInstanceType", "one-time")
        self.instance_interruption_behavior = options.get("InstanceInterruptionBehavior", "terminate")
        self.valid_until = options.get("ValidUntil")
        price = options.get("MaxPrice") or offers.ON_DEMAND.get(instance.instance_type, 1.0)
        self.spot_price = f"{float(price):.6f}"
        self.product_description = "Linux/UNIX"
        self.create_time = utcnow()
        self.launched_availability_zone = instance.availability_zone
        self.launch_specification = {
            "ImageId": instance.image_id,
            "InstanceType": instance.instance_type,
            "KeyName": instance.key_name,
            "SubnetId": instance.subnet_id,
            "Placement": {"AvailabilityZone": instance.availability_zone},
        }
        self.add_tags(tags)
        self.set_status("active", "fulfilled")

    @property
    def tags(self):
        return self.get_tags()

    def set_status(self, state, code):
        self.state = state
        self.status = {"Code": code, "Message": STATUS_MESSAGES.get(code, code), "UpdateTime": utcnow()}

    def end(self, code):
        """The instance ends; a persistent request then waits for capacity again."""
        if self.state in ("active", "disabled"):
            self.set_status("open" if self.type == "persistent" else "closed", code)

    def interrupt(self, code):
        """Stops or terminates the instance, as AWS does after its warning."""
        instance = self.instance
        if instance.state not in ("pending", "running"):
            return
        instance.explain(
            "Server.SpotInstanceTermination",
            "Spot instance termination",
            "Server.SpotInstanceTermination: Spot instance termination",
        )
        if self.instance_interruption_behavior == "terminate":
            instance.begin_termination(code)
        else:
            instance.enter("stopping")
            self.set_status("disabled", code.replace("terminated", "stopped"))

    def get_filter_value(self, filter_name, method_name=None):
        if filter_name == "status-code":
            return self.status["Code"]
        return super().get_filter_value(filter_name, "DescribeSpotInstanceRequests")


class SpotBackend:
    def check_spot_price(self, options, instance_type, zone):
        """Raises SpotMaxPriceTooLow when the highest price that the request allows is below the market's."""
        price = options.get("MaxPrice")
        market = offers.spot_price(instance_type, zone)
        if price is not None and float(price) < market:
            raise EC2ClientError(
                "SpotMaxPriceTooLow",
                f"Your Spot request price of {price} is lower than the minimum required Spot request "
                f"fulfillment price of {market}.",
            )

    def make_spot_request(self, instance, options, tags):
        request = SpotRequest(self, instance, options, tags)
        instance.spot_request = request
        instance.lifecycle = "spot"
        self.spot_instance_requests[request.id] = request

    def describe_spot_instance_requests(self, filters=None, spot_instance_ids=None):
        for request_id in spot_instance_ids or []:
            if request_id not in self.spot_instance_requests:
                raise EC2ClientError(
                    "InvalidSpotInstanceRequestID.NotFound",
                    f"The spot instance request ID '{request_id}' does not exist",
                )
        return super().describe_spot_instance_requests(filters, spot_instance_ids)

    def cancel_spot_instance_requests(self, request_ids):
        requests = self.describe_spot_instance_requests(None, request_ids)
        for request in requests:
            if not isinstance(request, SpotRequest):
                del self.spot_instance_requests[request.id]
            elif request.instance.state in ("pending", "running"):
                request.set_status("cancelled", "request-canceled-and-instance-running")
            else:
                request.set_status("cancelled", request.status["Code"])
        return requests

    def interrupt_spot_instance(self, instance_id, warning_seconds, status_code):
        """Marks a running spot instance for interruption after `warning_seconds` (AWS: 120).

        Returns its spot request, or None when it is no such instance.
        """
        instance = self.get_instance_by_id(instance_id)
        if instance is None or instance.spot_request is None or instance.state not in ("pending", "running"):
            return None
        request = instance.spot_request
        behaviour = "termination" if request.instance_interruption_behavior == "terminate" else "stop"
        request.set_status("active", f"marked-for-{behaviour}")
        self.interruptions.append(
            (time.monotonic() + warning_seconds, instance, status_code or "instance-terminated-no-capacity")
        )
        self.settle()
        return request


class SpotResponse:
    def describe_spot_price_history(self):
        filters = self._filters_from_querystring()
        types = self._get_param("InstanceTypes") or filters.get("instance-type") or []
        zones = (
            [self._get_param("AvailabilityZone")]
            if self._get_param("AvailabilityZone")
            else filters.get("availability-zone")
        )
        products = self._get_param("ProductDescriptions") or filters.get("product-description") or ["Linux/UNIX"]
        since = utcnow().replace(minute=0, second=0, microsecond=0) - datetime.timedelta(hours=1)
        offered = offers.zones_by_type(self.region)
        prices = [
            {
                "InstanceType": name,
                "ProductDescription": product.removesuffix(" (Amazon VPC)"),
                "SpotPrice": f"{offers.spot_price(name, zone):.6f}",
                "AvailabilityZone": zone,
                "Timestamp": since,
            }
            for name in types or sorted(offered)
            for zone in offered.get(name, [])
            if zones is None or zone in zones
            for product in products
        ]
        return ActionResult({"SpotPriceHistory": prices[: self._get_int_param("MaxResults", 1000)]})

"""Auto scaling groups whose instances come and go with time, that report activities, and that cannot vanish in use.

Moto launches from the default version of a template, forgets several attributes, and deletes at once.
"""

import copy
import time
import uuid

from moto.autoscaling import models, urls
from moto.autoscaling.exceptions import AutoscalingClientError, ValidationError
from moto.autoscaling.models import AutoScalingBackend, autoscaling_backends
from moto.autoscaling.responses import AutoScalingResponse
from moto.core.responses import ActionResult, EmptyResult
from moto.core.utils import utcnow
from moto.ec2.exceptions import EC2ClientError

#: Members of Create- and UpdateAutoScalingGroup that moto ignores or takes at creation only, with the attribute.
ATTRIBUTES = {
    "AvailabilityZoneDistribution": "availability_zone_distribution",
    "CapacityRebalance": "capacity_rebalance",
    "CapacityReservationSpecification": "capacity_reservation_specification",
    "Context": "context",
    "DefaultCooldown": "default_cooldown",
    "DefaultInstanceWarmup": "default_instance_warmup",
    "DesiredCapacityType": "desired_capacity_type",
    "HealthCheckGracePeriod": "health_check_grace_period",
    "InstanceMaintenancePolicy": "instance_maintenance_policy",
    "MaxInstanceLifetime": "max_instance_lifetime",
    "PlacementGroup": "placement_group",
    "ServiceLinkedRoleARN": "service_linked_role_arn",
    "TerminationPolicies": "termination_policies",
}
#: Values that remove an attribute.
REMOVING = [("default_instance_warmup", -1), ("max_instance_lifetime", 0), ("placement_group", "")]

#: Seconds before a group tries again to launch what it could not.
RETRY_SECONDS = 1.0


class InstanceState(models.InstanceState):
    @property
    def lifecycle_state(self):
        states = {"pending": "Pending", "shutting-down": "Terminating", "terminated": "Terminated"}
        return states.get(self.instance.state, self.settled_state)

    @lifecycle_state.setter
    def lifecycle_state(self, state):
        self.settled_state = state


class ScalingActivity:
    """One entry of DescribeScalingActivities."""

    def __init__(self, group, description, error=None):
        self.activity_id = str(uuid.uuid4())
        self.auto_scaling_group_name = group.name
        self.auto_scaling_group_arn = group.arn
        self.description = f"{description}.  Status Reason: {error.message}" if error else description
        self.cause = f"At {utcnow():%Y-%m-%dT%H:%M:%SZ} the desired capacity is {group.desired_capacity}."
        self.start_time = self.end_time = utcnow()
        self.status_code = "Failed" if error else "Successful"
        self.status_message = f"{error.message} Launching EC2 instance failed." if error else None
        self.progress = 100
        self.details = "{}"


class Group(models.FakeAutoScalingGroup):
    def __init__(self, **kwargs):
        self.activities = []
        self.leaving = []
        self.refreshes = []
        self.retry_at = 0.0
        self.status = None
        super().__init__(**kwargs)

    def apply(self, params):
        """Takes the attributes of a create or update that moto does not."""
        for member, name in ATTRIBUTES.items():
            value = params(member)
            if value is not None:
                setattr(self, name, None if (name, value) in REMOVING else value)

    @property
    def instances(self):
        return [*self.instance_states, *self.leaving]

    def active_instances(self):
        return [state for state in self.instance_states if state.lifecycle_state in ("Pending", "InService")]

    def update(self, **changes):
        if (
            changes.get("mixed_instances_policy") is None
            and not changes.get("launch_template")
            and not changes.get("launch_config_name")
        ):
            changes["mixed_instances_policy"] = self.kept_policy()
        super().update(**changes)

    def kept_policy(self):
        """The mixed policy as a request may give it: a template is named by its ID or by its name, not by both."""
        policy = copy.deepcopy(self.mixed_instances_policy)
        if policy:
            policy["LaunchTemplate"]["LaunchTemplateSpecification"].pop("LaunchTemplateName", None)
        return policy

    def set_desired_capacity(self, new_capacity):
        before = list(self.instance_states)
        super().set_desired_capacity(new_capacity)
        gone = [state for state in before if state not in self.instance_states]
        for state in gone:
            self.leaving.append(state)
            self.activities.insert(0, ScalingActivity(self, f"Terminating EC2 instance: {state.instance.id}"))

    def replace_autoscaling_group_instances(self, count_needed, propagated_tags):
        """Launches instances one by one; what cannot be launched is an activity, not an error, and is tried again."""
        if "Launch" in self._suspended_processes:
            return
        for _ in range(count_needed):
            try:
                reservation = self.ec2_backend.launch(self.launch_request(propagated_tags))
            except EC2ClientError as error:
                self.activities.insert(0, ScalingActivity(self, "Launching a new EC2 instance", error))
                self.retry_at = time.monotonic() + RETRY_SECONDS
                return
            for instance in reservation.instances:
                instance.autoscaling_group = self
                self.instance_states.append(
                    InstanceState(instance, protected_from_scale_in=self.new_instances_protected_from_scale_in)
                )
                self.activities.insert(0, ScalingActivity(self, f"Launching a new EC2 instance: {instance.id}"))

    def launch_request(self, propagated_tags):
        tags = {**propagated_tags, "aws:autoscaling:groupName": self.name}
        request = {
            "MinCount": 1,
            "MaxCount": 1,
            "TagSpecifications": [
                {"ResourceType": "instance", "Tags": [{"Key": key, "Value": value} for key, value in tags.items()]}
            ],
        }
        if self.ec2_launch_template:
            request["LaunchTemplate"] = {
                "LaunchTemplateId": self.ec2_launch_template.id,
                "Version": self.launch_template_version,
            }
            self.add_mixed_policy(request)
        else:
            request.update(
                ImageId=self.launch_config.image_id,
                InstanceType=self.launch_config.instance_type,
                SecurityGroupIds=list(self.launch_config.security_groups),
                UserData=self.launch_config.user_data,
                BlockDeviceMappings=self.launch_config.block_device_mapping_dict,
            )
            if self.launch_config.key_name:
                request["KeyName"] = self.launch_config.key_name
        subnet_id = self.emptiest_subnet()
        template_interfaces = self.template_interfaces()
        if subnet_id and template_interfaces:
            request["NetworkInterfaces"] = [{**interface, "SubnetId": subnet_id} for interface in template_interfaces]
        elif subnet_id:
            request["SubnetId"] = subnet_id
        else:
            request["Placement"] = {"AvailabilityZone": self.availability_zones[0]}
        if self.placement_group:
            request.setdefault("Placement", {})["GroupName"] = self.placement_group
        return {key: value for key, value in request.items() if value is not None}

    def add_mixed_policy(self, request):
        """The first override, and spot for the instances above the on-demand base, as the policy's shares say."""
        policy = self.mixed_instances_policy
        if not policy:
            return
        overrides = policy["LaunchTemplate"].get("Overrides") or [{}]
        if overrides[0].get("InstanceType"):
            request["InstanceType"] = overrides[0]["InstanceType"]
        distribution = policy.get("InstancesDistribution") or {}
        base = int(distribution.get("OnDemandBaseCapacity") or 0)
        share = distribution.get("OnDemandPercentageAboveBaseCapacity")
        share = 100 if share is None else int(share)
        on_demand = sum(1 for state in self.instance_states if state.instance.lifecycle != "spot")
        above_base = len(self.instance_states) - base
        if on_demand >= base and (on_demand - base) >= (above_base + 1) * share / 100:
            request["InstanceMarketOptions"] = {"MarketType": "spot"}
            if distribution.get("SpotMaxPrice"):
                request["InstanceMarketOptions"]["SpotOptions"] = {"MaxPrice": distribution["SpotMaxPrice"]}

    def template_interfaces(self):
        if not self.ec2_launch_template:
            return []
        data = self.ec2_launch_template.get_version(self.launch_template_version).data
        return copy.deepcopy(data.get("NetworkInterfaces") or [])

    def active_refresh(self):
        return next((r for r in self.refreshes if r["Status"] == "InProgress"), None)

    def start_refresh(self, preferences):
        """Begins to replace the instances; they end at once, and `settle` launches others."""
        if self.active_refresh():
            raise AutoscalingClientError(
                "InstanceRefreshInProgress",
                f"An Instance Refresh is already in progress and blocks the execution of this Instance Refresh for "
                f"{self.name}.",
            )
        refresh = {
            "InstanceRefreshId": str(uuid.uuid4()),
            "AutoScalingGroupName": self.name,
            "Status": "InProgress",
            "StartTime": utcnow(),
            "PercentageComplete": 0,
            "InstancesToUpdate": len(self.instance_states),
            "Preferences": preferences,
        }
        self.refreshes.insert(0, refresh)
        for state in self.active_instances():
            state.instance.terminate()
        return refresh

    def settle_refresh(self):
        refresh = self.active_refresh()
        ready = [state for state in self.instance_states if state.lifecycle_state == "InService"]
        if refresh and len(ready) >= (self.desired_capacity or 0):
            refresh.update(Status="Successful", PercentageComplete=100, InstancesToUpdate=0, EndTime=utcnow())

    def emptiest_subnet(self):
        """The group's subnet with the fewest of its instances."""
        if not self.vpc_zone_identifier:
            return None
        used = [state.instance.subnet_id for state in self.instance_states]
        return min(self.vpc_zone_identifier.split(","), key=used.count)

    def settle(self):
        """Lets go of ended instances and replaces them, as the service does by itself."""
        self.leaving = [state for state in self.leaving if state.instance.state != "terminated"]
        ended = [state for state in self.instance_states if state.instance.state in ("shutting-down", "terminated")]
        for state in ended:
            self.instance_states.remove(state)
            self.leaving.append(state)
        missing = len(self.active_instances()) < (self.desired_capacity or 0)
        if self.status is None and missing and time.monotonic() >= self.retry_at:
            self.set_desired_capacity(self.desired_capacity)
        self.settle_refresh()


class ScalingPolicy(models.FakeScalingPolicy):
    """A policy with an ARN of its own and without the configurations of other types."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.policy_uuid = str(uuid.uuid4())
        self.predictive_scaling_configuration = self.predictive_scaling_configuration or None
        self.enabled = True
        self.alarms = []

    @property
    def arn(self):
        return super().arn.replace("c322761b-3172-4d56-9a21-0ed9d6161d67", self.policy_uuid)

    policy_arn = arn


class Backend(AutoScalingBackend):
    # Moto finds a service's URLs by the module name of its backend.
    __module__ = AutoScalingBackend.__module__

    def settle(self):
        self.ec2_backend.settle()
        for name, group in list(self.autoscaling_groups.items()):
            group.settle()
            if group.status and not group.instances:
                self.forget(name)

    def forget(self, name):
        del self.autoscaling_groups[name]
        for key in [key for key, policy in self.policies.items() if policy.auto_scaling_group_name == name]:
            del self.policies[key]

    def group(self, name):
        if name not in self.autoscaling_groups:
            raise ValidationError(f"AutoScalingGroup name not found - AutoScalingGroup '{name}' not found")
        return self.autoscaling_groups[name]

    def delete_group(self, name, force):
        """Deletes an empty group; with `force`, ends its instances first and lets it linger until they are gone."""
        group = self.group(name)
        if group.instances and not force:
            raise AutoscalingClientError(
                "ResourceInUse",
                "You cannot delete an AutoScalingGroup while there are instances or pending lifecycle "
                "activity(ies) still in the group.",
            )
        group.max_size = group.min_size = 0
        for state in group.instance_states:
            state.protected_from_scale_in = False
        self.set_desired_capacity(name, 0)
        group.status = "Delete in progress"
        self.settle()

    def put_scaling_policy(self, name, **kwargs):
        policy = super().put_scaling_policy(name, **kwargs)
        del self.policies[name]
        self.policies[f"{policy.auto_scaling_group_name}/{name}"] = policy
        return policy


class Response(AutoScalingResponse):
    def call_action(self):
        self.autoscaling_backend.settle()
        return super().call_action()

    def create_auto_scaling_group(self):
        name = self._get_param("AutoScalingGroupName")
        if name in self.autoscaling_backend.autoscaling_groups:
            raise AutoscalingClientError(
                "AlreadyExists",
                f"AutoScalingGroup by this name already exists - A group with the name {name} already exists",
            )
        try:
            super().create_auto_scaling_group()
        except EC2ClientError as error:
            raise ValidationError(error.message) from error
        self.autoscaling_backend.group(name).apply(self._get_param)
        return EmptyResult()

    def update_auto_scaling_group(self):
        group = self.autoscaling_backend.group(self._get_param("AutoScalingGroupName"))
        group.apply(self._get_param)
        try:
            return super().update_auto_scaling_group()
        except EC2ClientError as error:
            raise ValidationError(error.message) from error

    def delete_auto_scaling_group(self):
        self.autoscaling_backend.delete_group(
            self._get_param("AutoScalingGroupName"), self._get_bool_param("ForceDelete", False)
        )
        return EmptyResult()

    def start_instance_refresh(self):
        refresh = self.named_group().start_refresh(self._get_param("Preferences") or {})
        return ActionResult({"InstanceRefreshId": refresh["InstanceRefreshId"]})

    def cancel_instance_refresh(self):
        group = self.named_group()
        refresh = group.active_refresh()
        if refresh is None:
            raise AutoscalingClientError(
                "ActiveInstanceRefreshNotFound", f"No in progress or pending Instance Refresh found for {group.name}"
            )
        refresh["Status"] = "Cancelled"
        return ActionResult({"InstanceRefreshId": refresh["InstanceRefreshId"]})

    def describe_instance_refreshes(self):
        wanted = self._get_param("InstanceRefreshIds")
        found = [r for r in self.named_group().refreshes if not wanted or r["InstanceRefreshId"] in wanted]
        return ActionResult({"InstanceRefreshes": found})

    def named_group(self):
        return self.autoscaling_backend.group(self._get_param("AutoScalingGroupName"))

    def describe_scaling_activities(self):
        name = self._get_param("AutoScalingGroupName")
        groups = self.autoscaling_backend.autoscaling_groups.values()
        activities = [activity for group in groups if name in (None, group.name) for activity in group.activities]
        return ActionResult({"Activities": activities[: self._get_int_param("MaxRecords", 100)]})

    def put_scaling_policy(self):
        self.autoscaling_backend.group(self._get_param("AutoScalingGroupName"))
        super().put_scaling_policy()
        policy = self.named_policy()
        policy.enabled = self._get_bool_param("Enabled", True)
        return ActionResult({"PolicyARN": policy.arn, "Alarms": policy.alarms})

    def delete_policy(self):
        policy = self.named_policy()
        self.autoscaling_backend.delete_policy(f"{policy.auto_scaling_group_name}/{policy.name}")
        return EmptyResult()

    def execute_policy(self):
        self.named_policy().execute()
        return EmptyResult()

    def named_policy(self):
        """The policy that the request names, by name and group or by ARN."""
        name, group = self._get_param("PolicyName"), self._get_param("AutoScalingGroupName")
        for policy in self.autoscaling_backend.policies.values():
            if policy.arn == name or (policy.name == name and group in (None, policy.auto_scaling_group_name)):
                return policy
        raise ValidationError(f"PolicyName not found - Policy {name} not found")


def install():
    """Makes moto use the classes of this file. Must run before the first auto scaling request."""
    models.FakeAutoScalingGroup = Group
    models.FakeScalingPolicy = ScalingPolicy
    models.InstanceState = InstanceState
    autoscaling_backends.backend = Backend
    urls.url_paths = {"{0}/$": Response.dispatch}

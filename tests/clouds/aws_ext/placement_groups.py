"""Placement groups: Create-, Describe- and DeletePlacementGroup, and the check of a launch into one.

Moto has none of these actions. Instances refer to a group by name, as in AWS.
"""

from moto.core.responses import ActionResult, EmptyResult
from moto.ec2.exceptions import EC2ClientError, InvalidParameter
from moto.ec2.models.core import TaggedEC2Resource
from moto.ec2.utils import generic_filter, random_id

STRATEGIES = ("cluster", "spread", "partition")
DEFAULT_PARTITIONS = 2
MAX_PARTITIONS = 7


class PlacementGroup(TaggedEC2Resource):
    def __init__(self, backend, name, strategy, partition_count, spread_level, tags):
        self.ec2_backend = backend
        self.id = random_id("pg")
        self.group_id = self.id
        self.group_name = name
        self.strategy = strategy
        self.state = "available"
        self.partition_count = partition_count
        self.spread_level = spread_level
        self.group_arn = (
            f"arn:{backend.partition}:ec2:{backend.region_name}:{backend.account_id}:placement-group/{name}"
        )
        self.add_tags(tags)

    @property
    def tags(self):
        return self.get_tags()

    def get_filter_value(self, filter_name, method_name=None):
        return super().get_filter_value(filter_name, "DescribePlacementGroups")


class PlacementGroupBackend:
    def init_placement_groups(self):
        self.placement_groups = {}

    def create_placement_group(self, name, strategy, partition_count, spread_level, tags):
        if not name:
            raise EC2ClientError("MissingParameter", "The request must contain the parameter groupName")
        if name in self.placement_groups:
            raise EC2ClientError("InvalidPlacementGroup.Duplicate", f"The placement group '{name}' already exists.")
        if strategy not in STRATEGIES:
            raise EC2ClientError("InvalidParameterValue", f"Value ({strategy}) for parameter strategy is invalid.")
        if strategy != "partition" and partition_count:
            raise EC2ClientError(
                "InvalidParameterCombination",
                "The parameter PartitionCount may only be specified with the partition strategy.",
            )
        if strategy == "partition":
            partition_count = partition_count or DEFAULT_PARTITIONS
            if not 1 <= partition_count <= MAX_PARTITIONS:
                raise InvalidParameter(f"Value ({partition_count}) for parameter partitionCount is invalid.")
        if strategy != "spread" and spread_level:
            raise EC2ClientError(
                "InvalidParameterCombination",
                "The parameter SpreadLevel may only be specified with the spread strategy.",
            )
        if strategy == "spread":
            spread_level = spread_level or "rack"
        group = PlacementGroup(self, name, strategy, partition_count, spread_level, tags)
        self.placement_groups[name] = group
        return group

    def describe_placement_groups(self, names, ids, filters):
        groups = list(self.placement_groups.values())
        for name in names:
            if name not in self.placement_groups:
                raise unknown_group(name)
        known_ids = {group.id for group in groups}
        for group_id in ids:
            if group_id not in known_ids:
                raise EC2ClientError(
                    "InvalidPlacementGroupId.NotFound", f"The placement group ID '{group_id}' does not exist."
                )
        if names:
            groups = [group for group in groups if group.group_name in names]
        if ids:
            groups = [group for group in groups if group.id in ids]
        return generic_filter(filters, groups)

    def delete_placement_group(self, name):
        group = self.placement_group_for_launch(name, None)
        if self.instances_in_placement_group(name):
            raise EC2ClientError(
                "InvalidPlacementGroup.InUse", f"The placement group '{name}' is in use and may not be deleted."
            )
        del self.placement_groups[name]
        self.tags.pop(group.id, None)

    def placement_group_for_launch(self, name, group_id):
        """The group that a launch names by `name` or `group_id`.

        Raises InvalidPlacementGroup.Unknown.
        """
        for group in self.placement_groups.values():
            if name == group.group_name or group_id == group.id:
                return group
        raise unknown_group(name or group_id)

    def instances_in_placement_group(self, name):
        return [
            instance
            for instance in self.all_instances()
            if instance.placement.group_name == name and instance.state != "terminated"
        ]


def unknown_group(name):
    return EC2ClientError("InvalidPlacementGroup.Unknown", f"The Placement Group '{name}' is unknown.")


class PlacementGroupResponse:
    def create_placement_group(self):
        self.error_on_dryrun()
        group = self.ec2_backend.create_placement_group(
            self._get_param("GroupName"),
            self._get_param("Strategy", "cluster"),
            self._get_param("PartitionCount"),
            self._get_param("SpreadLevel"),
            self._parse_tag_specification("placement-group").get("placement-group", {}),
        )
        return ActionResult({"PlacementGroup": group})

    def describe_placement_groups(self):
        groups = self.ec2_backend.describe_placement_groups(
            self._get_param("GroupNames", []), self._get_param("GroupIds", []), self._filters_from_querystring()
        )
        return ActionResult({"PlacementGroups": groups})

    def delete_placement_group(self):
        self.error_on_dryrun()
        self.ec2_backend.delete_placement_group(self._get_param("GroupName"))
        return EmptyResult()

"""Security groups: rules that are equal whatever their description, and groups that cannot be deleted while used."""

from moto.ec2.exceptions import DependencyViolationError, EC2ClientError
from moto.ec2.models import security_groups as moto_groups


class SecurityGroupRule(moto_groups.SecurityGroupRule):
    """A rule that is the same as another when it lets the same traffic through.

    Moto also compares descriptions of group and prefix list references, so that revoking such a rule fails.
    """

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        prefix_list = kwargs.get("prefix_list_id") or (args[7] if len(args) > 7 else None) or {}
        self.prefix_list_description = prefix_list.get("Description")

    @property
    def description(self):
        return self.ip_range.get("Description") or self.source_group.get("Description") or self.prefix_list_description

    @property
    def referenced_group_info(self):
        shown = {
            key: value
            for key, value in self.source_group.items()
            if key in ("GroupId", "UserId", "VpcId", "VpcPeeringConnectionId")
        }
        return shown or None

    @property
    def group_owner_id(self):
        return self.owner_id

    @property
    def traffic(self):
        ports = () if self.ip_protocol == "-1" else (self.from_port, self.to_port)
        return (
            self.ip_protocol,
            ports,
            self.cidr_ipv4,
            self.cidr_ipv6,
            self.source_group.get("GroupId"),
            self.prefix_list_id,
        )

    def __eq__(self, other):
        return self.traffic == other.traffic

    __hash__ = None


class SecurityGroupBackend:
    def delete_security_group(self, name=None, group_id=None):
        group = (
            self.get_security_group_from_id(group_id)
            if group_id
            else self.get_security_group_from_name(name, self.default_vpc.id)
        )
        if group is None:
            raise EC2ClientError("InvalidGroup.NotFound", f"The security group '{group_id or name}' does not exist")
        if any(group in interface._group_set for interface in self.enis.values()):
            raise DependencyViolationError(f"resource {group.id} has a dependent object")
        for other in self.groups.get(group.vpc_id, {}).values():
            rules = [*other.ingress_rules, *other.egress_rules]
            if other is not group and any(rule.source_group.get("GroupId") == group.id for rule in rules):
                raise DependencyViolationError(f"resource {group.id} has a dependent object")
        super().delete_security_group(group_id=group.id)
        self.tags.pop(group.id, None)

    def delete_vpc(self, vpc_id):
        """The default group goes with its VPC, whatever its rules say."""
        for group in self.groups.get(vpc_id, {}).values():
            if group.name == "default":
                group.ingress_rules.clear()
                group.egress_rules.clear()
        return super().delete_vpc(vpc_id)


def install():
    """Puts this file's model into moto's module, where its backend makes it."""
    moto_groups.SecurityGroupRule = SecurityGroupRule

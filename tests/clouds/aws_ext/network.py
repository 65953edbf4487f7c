"""Subnets, addresses, NAT gateways, network ACLs and availability zones: what moto omits or permits.

Deleting something that is in use fails as on AWS, with the codes that clients wait and retry on.
"""

from moto.core.responses import EmptyResult
from moto.core.utils import utcnow
from moto.ec2.exceptions import DependencyViolationError, EC2ClientError
from moto.ec2.models import elastic_ip_addresses, nat_gateways, network_acls, subnets
from moto.ec2.utils import generic_filter
from moto.moto_api._internal import mock_random as random

from .lifecycle import Clock

#: Boolean members of ModifySubnetAttribute, with moto's attribute.
SUBNET_FLAGS = {
    "MapPublicIpOnLaunch": "map_public_ip_on_launch",
    "AssignIpv6AddressOnCreation": "assign_ipv6_address_on_creation",
    "MapCustomerOwnedIpOnLaunch": "map_customer_owned_ip_on_launch",
    "EnableDns64": "enable_dns64",
}
SUBNET_NAME_FLAGS = {
    "EnableResourceNameDnsARecordOnLaunch": "EnableResourceNameDnsARecord",
    "EnableResourceNameDnsAAAARecordOnLaunch": "EnableResourceNameDnsAAAARecord",
}


class Subnet(subnets.Subnet):
    map_customer_owned_ip_on_launch = False
    enable_dns64 = False


class ElasticAddress(elastic_ip_addresses.ElasticAddress):
    """An address from Amazon's pool; what it is associated with is absent, not empty, when there is nothing."""

    public_ipv4_pool = "amazon"

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        if self.public_ip.startswith("127."):
            self.public_ip = f"54.{random.randint(64, 95)}.{random.randint(0, 255)}.{random.randint(1, 254)}"
        self.network_border_group = self.ec2_backend.region_name

    @property
    def instance_id(self):
        return super().instance_id or None

    @property
    def network_interface_id(self):
        return super().network_interface_id or None


class NatGateway(nat_gateways.NatGateway):
    """A NAT gateway that is pending, then available; deleting, then deleted. It holds its address until deleted."""

    def __init__(self, backend, subnet_id, allocation_id, tags=None, connectivity_type="public"):
        connectivity_type = connectivity_type or "public"
        self.clock = Clock()
        self.settled_state = "available"
        super().__init__(backend, subnet_id, allocation_id, tags, connectivity_type)
        self.delete_time = None

    @property
    def state(self):
        transitional = {"available": "pending", "deleted": "deleting"}
        return self.settled_state if self.clock.settled() else transitional[self.settled_state]

    @state.setter
    def state(self, state):
        if state != self.settled_state:
            self.clock.restart()
        self.settled_state = state

    def get_filter_value(self, filter_name, method_name=None):
        if filter_name == "nat-gateway-id":
            return self.id
        return super().get_filter_value(filter_name, "DescribeNatGateways")


class NetworkAcl(network_acls.NetworkAcl):
    def get_filter_value(self, filter_name, method_name=None):
        if filter_name == "network-acl-id":
            return self.id
        return super().get_filter_value(filter_name, method_name)


class NetworkBackend:
    def delete_subnet(self, subnet_id):
        subnet = self.get_subnet(subnet_id)
        if any(interface.subnet.id == subnet_id for interface in self.enis.values()):
            raise DependencyViolationError(f"The subnet '{subnet_id}' has dependencies and cannot be deleted.")
        for acl in self.network_acls.values():
            for association_id in [key for key, link in acl._associations.items() if link.subnet_id == subnet_id]:
                del acl._associations[association_id]
        for table in self.route_tables.values():
            for association_id in [key for key, target in table._associations.items() if target == subnet_id]:
                del table._associations[association_id]
        super().delete_subnet(subnet_id)
        self.tags.pop(subnet_id, None)
        return subnet

    def detach_internet_gateway(self, internet_gateway_id, vpc_id):
        if any(interface.vpc_id == vpc_id and interface.public_ip for interface in self.enis.values()):
            raise DependencyViolationError(
                f"Network {vpc_id} has some mapped public address(es). Please unmap those public address(es) "
                "before detaching the gateway."
            )
        super().detach_internet_gateway(internet_gateway_id, vpc_id)

    def delete_vpc(self, vpc_id):
        self.get_vpc(vpc_id)
        in_use = (
            any(gateway.vpc and gateway.vpc.id == vpc_id for gateway in self.internet_gateways.values()),
            any(not group.is_default and group.name != "default" for group in self.groups.get(vpc_id, {}).values()),
            any(acl.vpc_id == vpc_id and not acl.default for acl in self.network_acls.values()),
        )
        if any(in_use):
            raise DependencyViolationError(f"The vpc '{vpc_id}' has dependencies and cannot be deleted.")
        vpc = super().delete_vpc(vpc_id)
        for acl_id in [acl.id for acl in self.network_acls.values() if acl.vpc_id == vpc_id]:
            del self.network_acls[acl_id]
        return vpc

    def get_vpc(self, vpc_id):
        if vpc_id not in self.vpcs:
            raise EC2ClientError("InvalidVpcID.NotFound", f"The vpc ID '{vpc_id}' does not exist")
        return self.vpcs[vpc_id]

    def associate_route_table(self, route_table_id, gateway_id=None, subnet_id=None):
        if subnet_id and any(subnet_id in table._associations.values() for table in self.route_tables.values()):
            raise EC2ClientError(
                "Resource.AlreadyAssociated",
                f"the specified association for route table {route_table_id} conflicts with an existing association",
            )
        return super().associate_route_table(route_table_id, gateway_id, subnet_id)

    def release_address(self, address=None, allocation_id=None):
        found = self.address_by_ip([address]) if address else self.address_by_allocation([allocation_id])
        if found[0].association_id:
            raise EC2ClientError(
                "InvalidIPAddress.InUse",
                f"The address with allocation id [{found[0].allocation_id}] cannot be released because it is in use."
                if allocation_id
                else f"Address {address} is in use.",
            )
        super().release_address(address, allocation_id)

    def create_nat_gateway(self, subnet_id, allocation_id, tags=None, connectivity_type="public"):
        if allocation_id:
            address = self.address_by_allocation([allocation_id])[0]
            if address.association_id:
                raise EC2ClientError(
                    "Resource.AlreadyAssociated", f"Elastic IP address [{allocation_id}] is already associated"
                )
        elif connectivity_type in (None, "public"):
            raise EC2ClientError(
                "MissingParameter",
                "The request must include the AllocationId parameter. Add the required parameter and retry "
                "the request.",
            )
        gateway = super().create_nat_gateway(subnet_id, allocation_id, tags, connectivity_type)
        interface = gateway._eni
        interface.interface_type = "nat_gateway"
        interface.description = f"Interface for NAT Gateway {gateway.id}"
        interface.status = "in-use"
        interface.private_ip_address = gateway.private_ip = self.get_subnet(subnet_id).get_available_subnet_ip(
            interface
        )
        interface.private_ip_addresses = [{"Primary": True, "PrivateIpAddress": gateway.private_ip}]
        gateway.address_set[0].update(privateIp=gateway.private_ip, isPrimary=True, status="succeeded")
        return gateway

    def describe_nat_gateways(self, filters, nat_gateway_ids):
        for gateway_id in nat_gateway_ids or []:
            if gateway_id not in self.nat_gateways:
                raise EC2ClientError("NatGatewayNotFound", f"NAT gateway {gateway_id} was not found")
        gateways = [
            gateway for gateway in self.nat_gateways.values() if not nat_gateway_ids or gateway.id in nat_gateway_ids
        ]
        return generic_filter(filters, gateways)

    def delete_nat_gateway(self, nat_gateway_id):
        self.describe_nat_gateways(None, [nat_gateway_id])
        gateway = super().delete_nat_gateway(nat_gateway_id)
        gateway.delete_time = utcnow()
        self.deleting_nat_gateways.append(gateway)
        return gateway

    def settle(self):
        super().settle()
        for gateway in [gateway for gateway in self.deleting_nat_gateways if gateway.state == "deleted"]:
            self.deleting_nat_gateways.remove(gateway)
            for address in self.addresses:
                if address.eni is gateway._eni:
                    self.disassociate_address(address=address.public_ip)
            if gateway._eni.id in self.enis:
                gateway._eni.delete()

    def init_network(self):
        self.deleting_nat_gateways = []

    def create_network_acl(self, vpc_id, tags=None, default=False):
        acl = super().create_network_acl(vpc_id, tags, default)
        if not default:
            for egress in (True, False):
                self.create_network_acl_entry(
                    acl.id, 32767, "-1", "deny", egress, "0.0.0.0/0", None, None, None, None, None
                )
        return acl

    def describe_network_acls(self, network_acl_ids=None, filters=None):
        for acl_id in network_acl_ids or []:
            if acl_id not in self.network_acls:
                raise EC2ClientError("InvalidNetworkAclID.NotFound", f"The networkAcl ID '{acl_id}' does not exist")
        return super().describe_network_acls(network_acl_ids, filters)

    def delete_network_acl_entry(self, network_acl_id, rule_number, egress):
        acl = self.get_network_acl(network_acl_id)
        for entry in acl.network_acl_entries:
            if (entry.rule_number, bool(entry.egress)) == (rule_number, bool(egress)):
                acl.network_acl_entries.remove(entry)
                return entry
        raise EC2ClientError(
            "InvalidNetworkAclEntry.NotFound",
            f"The {'egress' if egress else 'ingress'} entry with number {rule_number} does not exist in "
            f"network ACL {network_acl_id}.",
        )

    def replace_network_acl_association(self, association_id, network_acl_id):
        if not any(association_id in acl._associations for acl in self.network_acls.values()):
            raise EC2ClientError(
                "InvalidAssociationID.NotFound", f"The association ID '{association_id}' does not exist"
            )
        self.get_network_acl(network_acl_id)
        return super().replace_network_acl_association(association_id, network_acl_id)

    def describe_availability_zones(self, filters=None, zone_names=None, zone_ids=None):
        filters = dict(filters or {})
        opt_in = filters.pop("opt-in-status", None)
        groups = filters.pop("group-name", None)
        zones = super().describe_availability_zones(filters, zone_names, zone_ids)
        for zone in zones:
            zone.opt_in_status = "opt-in-not-required"
            zone.network_border_group = zone.region_name
            zone.group_name = f"{zone.region_name}-zg-1"
        for name in zone_names or []:
            if name not in [zone.name for zone in zones] and not filters:
                raise EC2ClientError("InvalidParameterValue", f"Invalid availability zone: [{name}]")
        return [
            zone
            for zone in zones
            if (opt_in is None or zone.opt_in_status in opt_in) and (groups is None or zone.group_name in groups)
        ]


class NetworkResponse:
    def modify_subnet_attribute(self):
        subnet = self.ec2_backend.get_subnet(self._get_param("SubnetId"))
        for member, name in SUBNET_FLAGS.items():
            value = self._get_param(f"{member}.Value")
            if value is not None:
                setattr(subnet, name, value)
        for member, name in SUBNET_NAME_FLAGS.items():
            value = self._get_param(f"{member}.Value")
            if value is not None:
                subnet.private_dns_name_options_on_launch[name] = value
        if self._get_param("PrivateDnsHostnameTypeOnLaunch"):
            subnet.private_dns_name_options_on_launch["HostnameType"] = self._get_param(
                "PrivateDnsHostnameTypeOnLaunch"
            )
        return EmptyResult()

    def create_network_acl_entry(self):
        self.ec2_backend.create_network_acl_entry(**self.acl_entry())
        return EmptyResult()

    def replace_network_acl_entry(self):
        self.ec2_backend.replace_network_acl_entry(**self.acl_entry())
        return EmptyResult()

    def acl_entry(self):
        return {
            "network_acl_id": self._get_param("NetworkAclId"),
            "rule_number": self._get_param("RuleNumber"),
            "protocol": self._get_param("Protocol"),
            "rule_action": self._get_param("RuleAction"),
            "egress": self._get_param("Egress"),
            "cidr_block": self._get_param("CidrBlock"),
            "icmp_code": self._get_param("IcmpTypeCode.Code"),
            "icmp_type": self._get_param("IcmpTypeCode.Type"),
            "port_range_from": self._get_param("PortRange.From"),
            "port_range_to": self._get_param("PortRange.To"),
            "ipv6_cidr_block": self._get_param("Ipv6CidrBlock"),
        }


def install():
    """Puts this file's models into moto's modules, where its backends make them."""
    subnets.Subnet = Subnet
    elastic_ip_addresses.ElasticAddress = ElasticAddress
    nat_gateways.NatGateway = NatGateway
    network_acls.NetworkAcl = NetworkAcl

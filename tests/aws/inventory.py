# Leaves in `found` what the cloud holds, `{kind: [ids]}`: run by `Cloud::inventory`, which provides the clients.


def each(client, operation, key, **arguments):
    paginator = client.get_paginator(operation) if client.can_paginate(operation) else None
    pages = paginator.paginate(**arguments) if paginator else [getattr(client, operation)(**arguments)]
    return [item for page in pages for item in page[key]]


def is_kept(key):
    return kms.describe_key(KeyId=key["KeyId"])["KeyMetadata"]["KeyState"] != "PendingDeletion"


# A key of AWS comes into being when it is first used.
aliases = each(kms, "list_aliases", "Aliases")
of_aws = {a.get("TargetKeyId") for a in aliases if a["AliasName"].startswith("alias/aws/")}
reservations = each(ec2, "describe_instances", "Reservations")
found = {
    "instance": [
        i["InstanceId"] for r in reservations for i in r["Instances"] if i["State"]["Name"] != "terminated"
    ],
    "nat": [
        n["NatGatewayId"] for n in each(ec2, "describe_nat_gateways", "NatGateways") if n["State"] != "deleted"
    ],
    "key": [k["KeyId"] for k in each(kms, "list_keys", "Keys") if k["KeyId"] not in of_aws and is_kept(k)],
    "alias": [a["AliasName"] for a in aliases],
    "bucket": [b["Name"] for b in s3.list_buckets()["Buckets"]],
    "role": [r["RoleName"] for r in each(iam, "list_roles", "Roles") if "/aws-service-role/" not in r["Path"]],
    "policy": [p["Arn"] for p in each(iam, "list_policies", "Policies", Scope="Local")],
    "profile": [p["InstanceProfileName"] for p in each(iam, "list_instance_profiles", "InstanceProfiles")],
    "group": [g["AutoScalingGroupName"] for g in each(autoscaling, "describe_auto_scaling_groups", "AutoScalingGroups")],
    "scaling policy": [p["PolicyName"] for p in each(autoscaling, "describe_policies", "ScalingPolicies")],
}
for kind, operation, key, name in (
    ("vpc", "describe_vpcs", "Vpcs", "VpcId"),
    ("subnet", "describe_subnets", "Subnets", "SubnetId"),
    ("gateway", "describe_internet_gateways", "InternetGateways", "InternetGatewayId"),
    ("address", "describe_addresses", "Addresses", "AllocationId"),
    ("route table", "describe_route_tables", "RouteTables", "RouteTableId"),
    ("acl", "describe_network_acls", "NetworkAcls", "NetworkAclId"),
    ("security group", "describe_security_groups", "SecurityGroups", "GroupId"),
    ("rule", "describe_security_group_rules", "SecurityGroupRules", "SecurityGroupRuleId"),
    ("key pair", "describe_key_pairs", "KeyPairs", "KeyPairId"),
    ("placement group", "describe_placement_groups", "PlacementGroups", "GroupName"),
    ("template", "describe_launch_templates", "LaunchTemplates", "LaunchTemplateId"),
    ("volume", "describe_volumes", "Volumes", "VolumeId"),
):
    found[kind] = [item[name] for item in each(ec2, operation, key)]
found["snapshot"] = [s["SnapshotId"] for s in each(ec2, "describe_snapshots", "Snapshots", OwnerIds=["self"])]
found["image"] = [i["ImageId"] for i in each(ec2, "describe_images", "Images", Owners=["self"])]
found = {kind: sorted(ids) for kind, ids in found.items()}

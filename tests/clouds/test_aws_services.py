"""What the AWS launcher adds to moto's networks, images, S3, IAM, KMS, auto scaling and DLM."""

import json
import time
import unittest
import urllib.request

from support import CloudTest, address, admin, client, tags

TRUST = json.dumps(
    {
        "Version": "2012-10-17",
        "Statement": [{"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}],
    }
)
ALLOW = json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]})


class Network(CloudTest):
    def test_subnet_attributes_are_kept(self):
        _vpc, subnet, _group = self.network()
        modify = self.ec2.modify_subnet_attribute
        modify(SubnetId=subnet, MapPublicIpOnLaunch={"Value": True})
        modify(SubnetId=subnet, EnableDns64={"Value": True})
        modify(SubnetId=subnet, PrivateDnsHostnameTypeOnLaunch="resource-name")
        modify(SubnetId=subnet, EnableResourceNameDnsAAAARecordOnLaunch={"Value": True})
        shown = self.ec2.describe_subnets(SubnetIds=[subnet])["Subnets"][0]
        self.assertEqual((shown["MapPublicIpOnLaunch"], shown["EnableDns64"]), (True, True))
        self.assertEqual(
            shown["PrivateDnsNameOptionsOnLaunch"],
            {
                "HostnameType": "resource-name",
                "EnableResourceNameDnsARecord": False,
                "EnableResourceNameDnsAAAARecord": True,
            },
        )

    def test_a_nat_gateway_comes_goes_and_holds_its_address(self):
        _vpc, subnet, _group = self.network("us-east-1a", "10.1.0.0/16")
        address = self.ec2.allocate_address(Domain="vpc")["AllocationId"]
        gateway = self.ec2.create_nat_gateway(SubnetId=subnet, AllocationId=address)["NatGateway"]
        self.assertEqual((gateway["State"], gateway["ConnectivityType"]), ("pending", "public"))
        self.assertTrue(gateway["NatGatewayAddresses"][0]["PrivateIp"].startswith("10.1.0."))
        gateway = gateway["NatGatewayId"]
        state = lambda: self.ec2.describe_nat_gateways(NatGatewayIds=[gateway])["NatGateways"][0]["State"]
        self.eventually("available", state)
        self.refused("InvalidIPAddress.InUse", self.ec2.release_address, AllocationId=address)
        self.refused("DependencyViolation", self.ec2.delete_subnet, SubnetId=subnet)
        self.ec2.delete_nat_gateway(NatGatewayId=gateway)
        self.assertEqual(state(), "deleting")
        self.eventually("deleted", state)
        self.ec2.release_address(AllocationId=address)
        self.ec2.delete_subnet(SubnetId=subnet)
        self.refused("NatGatewayNotFound", self.ec2.describe_nat_gateways, NatGatewayIds=["nat-0123456789abcdef0"])

    def test_addresses_show_only_what_they_have(self):
        allocation = self.ec2.allocate_address(Domain="vpc", TagSpecifications=tags("elastic-ip", a="b"))[
            "AllocationId"
        ]
        shown = self.ec2.describe_addresses(AllocationIds=[allocation])["Addresses"][0]
        self.assertEqual((shown["PublicIpv4Pool"], shown["NetworkBorderGroup"]), ("amazon", "us-east-1"))
        self.assertNotIn("InstanceId", shown)
        instance = self.run_one()["InstanceId"]
        self.ec2.associate_address(AllocationId=allocation, InstanceId=instance)
        self.assertEqual(self.instance(instance)["PublicIpAddress"], shown["PublicIp"])
        self.ec2.terminate_instances(InstanceIds=[instance])
        self.eventually("terminated", lambda: self.state(instance))
        self.assertNotIn("AssociationId", self.ec2.describe_addresses(AllocationIds=[allocation])["Addresses"][0])
        self.ec2.release_address(AllocationId=allocation)

    def test_a_vpc_is_deleted_last(self):
        vpc, subnet, group = self.network("us-east-1a", "10.2.0.0/16")
        gateway = self.ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
        self.ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc)
        for delete, arguments in (
            (self.ec2.delete_subnet, {"SubnetId": subnet}),
            (self.ec2.delete_security_group, {"GroupId": group}),
            (self.ec2.detach_internet_gateway, {"InternetGatewayId": gateway, "VpcId": vpc}),
        ):
            self.refused("DependencyViolation", self.ec2.delete_vpc, VpcId=vpc)
            delete(**arguments)
        self.ec2.delete_vpc(VpcId=vpc)
        self.refused("InvalidVpcID.NotFound", self.ec2.describe_vpcs, VpcIds=[vpc])

    def test_a_subnet_has_one_route_table(self):
        vpc, subnet, _group = self.network("us-east-1a", "10.3.0.0/16")
        first, second = (self.ec2.create_route_table(VpcId=vpc)["RouteTable"]["RouteTableId"] for _ in range(2))
        self.ec2.associate_route_table(RouteTableId=first, SubnetId=subnet)
        self.refused("Resource.AlreadyAssociated", self.ec2.associate_route_table, RouteTableId=second, SubnetId=subnet)

    def test_network_acls_have_their_last_rule_and_icmp(self):
        vpc, _subnet, _group = self.network("us-east-1a", "10.4.0.0/16")
        acl = self.ec2.create_network_acl(VpcId=vpc)["NetworkAcl"]
        self.assertEqual(
            [(entry["RuleNumber"], entry["RuleAction"]) for entry in acl["Entries"]], [(32767, "deny")] * 2
        )
        rule = {"NetworkAclId": acl["NetworkAclId"], "RuleNumber": 100, "Egress": False}
        self.ec2.create_network_acl_entry(
            **rule, Protocol="1", RuleAction="allow", CidrBlock="10.0.0.0/8", IcmpTypeCode={"Type": 8, "Code": -1}
        )
        entries = self.ec2.describe_network_acls(NetworkAclIds=[acl["NetworkAclId"]])["NetworkAcls"][0]["Entries"]
        self.assertEqual(
            [entry["IcmpTypeCode"] for entry in entries if entry["RuleNumber"] == 100], [{"Type": 8, "Code": -1}]
        )
        self.ec2.delete_network_acl_entry(**rule)
        self.refused("InvalidNetworkAclEntry.NotFound", self.ec2.delete_network_acl_entry, **rule)
        self.ec2.delete_network_acl(NetworkAclId=acl["NetworkAclId"])
        self.refused(
            "InvalidNetworkAclID.NotFound", self.ec2.describe_network_acls, NetworkAclIds=[acl["NetworkAclId"]]
        )

    def test_a_rule_is_revoked_whatever_its_description(self):
        _vpc, _subnet, group = self.network("us-east-1a", "10.5.0.0/16")
        rule = lambda **more: [{"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": group, **more}]}]
        added = self.ec2.authorize_security_group_ingress(GroupId=group, IpPermissions=rule(Description="nodes"))[
            "SecurityGroupRules"
        ][0]
        self.assertEqual((added["Description"], added["ReferencedGroupInfo"]["GroupId"]), ("nodes", group))
        self.ec2.update_security_group_rule_descriptions_ingress(
            GroupId=group, IpPermissions=rule(Description="all nodes")
        )
        self.refused(
            "InvalidPermission.Duplicate",
            self.ec2.authorize_security_group_ingress,
            GroupId=group,
            IpPermissions=rule(),
        )
        shown = self.ec2.describe_security_group_rules(SecurityGroupRuleIds=[added["SecurityGroupRuleId"]])[
            "SecurityGroupRules"
        ][0]
        self.assertEqual(shown["Description"], "all nodes")
        self.ec2.revoke_security_group_ingress(GroupId=group, IpPermissions=rule())

    def test_a_group_that_another_refers_to_stays(self):
        vpc, _subnet, first = self.network("us-east-1a", "10.6.0.0/16")
        second = self.ec2.create_security_group(GroupName="second", Description="s", VpcId=vpc)["GroupId"]
        self.ec2.authorize_security_group_ingress(
            GroupId=second, IpPermissions=[{"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": first}]}]
        )
        self.refused("DependencyViolation", self.ec2.delete_security_group, GroupId=first)
        self.ec2.delete_security_group(GroupId=second)
        self.ec2.delete_security_group(GroupId=first)

    def test_zones_say_whether_they_are_opted_in(self):
        zones = self.ec2.describe_availability_zones(
            Filters=[{"Name": "opt-in-status", "Values": ["opt-in-not-required"]}]
        )["AvailabilityZones"]
        self.assertEqual(
            (zones[0]["OptInStatus"], zones[0]["NetworkBorderGroup"]), ("opt-in-not-required", "us-east-1")
        )
        self.assertEqual(
            self.ec2.describe_availability_zones(Filters=[{"Name": "opt-in-status", "Values": ["not-opted-in"]}])[
                "AvailabilityZones"
            ],
            [],
        )


class Images(CloudTest):
    def newest(self, owner, name):
        images = self.ec2.describe_images(Owners=[owner], Filters=[{"Name": "name", "Values": [name]}])["Images"]
        return max(images, key=lambda image: image["CreationDate"])

    def test_current_public_images_are_there(self):
        ubuntu = self.newest("099720109477", "ubuntu/images/hvm-ssd-gp3/ubuntu-noble-24.04-amd64-server-*")
        self.assertEqual(ubuntu["CreationDate"][:10], "2026-09-15")
        learning = self.newest("amazon", "Deep Learning Base OSS Nvidia Driver GPU AMI (Ubuntu 22.04) *")
        self.assertEqual(learning["BlockDeviceMappings"][0]["Ebs"]["VolumeSize"], 75)
        linux = self.newest("amazon", "al2023-ami-2023*-x86_64")
        root = linux["BlockDeviceMappings"][0]
        self.assertEqual(
            (root["DeviceName"], root["Ebs"]["VolumeSize"], root["Ebs"]["DeleteOnTermination"]), ("/dev/xvda", 8, True)
        )
        self.assertEqual(linux["PlatformDetails"], "Linux/UNIX")

    def test_an_image_of_an_instance_has_its_devices(self):
        devices = [
            {"DeviceName": "/dev/sdf", "Ebs": {"VolumeSize": 10, "VolumeType": "gp3", "Iops": 4000, "Throughput": 200}}
        ]
        instance = self.run_one(BlockDeviceMappings=devices)["InstanceId"]
        image = self.ec2.create_image(
            InstanceId=instance, Name="golden", TagSpecifications=tags("image", a="b") + tags("snapshot", c="d")
        )["ImageId"]
        shown = lambda: self.ec2.describe_images(ImageIds=[image])["Images"][0]
        self.assertEqual(shown()["State"], "pending")
        self.eventually("available", lambda: shown()["State"])
        mapping = {mapping["DeviceName"]: mapping["Ebs"] for mapping in shown()["BlockDeviceMappings"]}["/dev/sdf"]
        self.assertEqual((mapping["VolumeSize"], mapping["Iops"], mapping["Throughput"]), (10, 4000, 200))
        snapshot = self.ec2.describe_snapshots(SnapshotIds=[mapping["SnapshotId"]])["Snapshots"][0]
        self.assertEqual(
            (snapshot["Tags"], shown()["Tags"]), ([{"Key": "c", "Value": "d"}], [{"Key": "a", "Value": "b"}])
        )
        self.refused("InvalidAMIName.Duplicate", self.ec2.create_image, InstanceId=instance, Name="golden")
        self.ec2.modify_image_attribute(ImageId=image, Description={"Value": "for training"})
        self.assertEqual(shown()["Description"], "for training")

    def test_gpu_facts_and_offerings(self):
        names = ["g5.xlarge", "g6.xlarge", "p4d.24xlarge"]
        types = {
            each["InstanceType"]: each["GpuInfo"]["Gpus"][0]
            for each in self.ec2.describe_instance_types(InstanceTypes=names)["InstanceTypes"]
        }
        self.assertEqual(
            {name: (gpu["Name"], gpu["Count"]) for name, gpu in types.items()},
            {"g5.xlarge": ("A10G", 1), "g6.xlarge": ("L4", 1), "p4d.24xlarge": ("A100", 8)},
        )
        offered = self.ec2.describe_instance_type_offerings(
            LocationType="availability-zone", Filters=[{"Name": "instance-type", "Values": ["p4d.*"]}]
        )["InstanceTypeOfferings"]
        self.assertIn(("p4d.24xlarge", "us-east-1a"), [(each["InstanceType"], each["Location"]) for each in offered])


class Buckets(CloudTest):
    def setUp(self):
        self.bucket = f"bucket-{time.monotonic_ns()}"
        self.s3.create_bucket(Bucket=self.bucket)

    def test_versioning_has_the_root_element_that_aws_documents(self):
        with urllib.request.urlopen(f"{address()}/{self.bucket}?versioning") as answer:
            self.assertIn(b"<VersioningConfiguration ", answer.read())

    def test_a_new_bucket_is_encrypted_private_and_without_acls(self):
        rule = self.s3.get_bucket_encryption(Bucket=self.bucket)["ServerSideEncryptionConfiguration"]["Rules"][0]
        self.assertEqual(
            rule, {"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}, "BucketKeyEnabled": False}
        )
        self.assertTrue(
            all(self.s3.get_public_access_block(Bucket=self.bucket)["PublicAccessBlockConfiguration"].values())
        )
        self.assertEqual(
            self.s3.get_bucket_ownership_controls(Bucket=self.bucket)["OwnershipControls"]["Rules"],
            [{"ObjectOwnership": "BucketOwnerEnforced"}],
        )
        self.s3.delete_bucket_encryption(Bucket=self.bucket)
        self.s3.get_bucket_encryption(Bucket=self.bucket)

    def test_intelligent_tiering(self):
        configuration = {
            "Id": "archive",
            "Status": "Enabled",
            "Filter": {"Prefix": "runs/"},
            "Tierings": [
                {"Days": 125, "AccessTier": "ARCHIVE_ACCESS"},
                {"Days": 365, "AccessTier": "DEEP_ARCHIVE_ACCESS"},
            ],
        }
        name = {"Bucket": self.bucket, "Id": "archive"}
        self.refused("NoSuchConfiguration", self.s3.get_bucket_intelligent_tiering_configuration, **name)
        self.s3.put_bucket_intelligent_tiering_configuration(**name, IntelligentTieringConfiguration=configuration)
        self.assertEqual(
            self.s3.get_bucket_intelligent_tiering_configuration(**name)["IntelligentTieringConfiguration"],
            configuration,
        )
        self.assertEqual(
            self.s3.list_bucket_intelligent_tiering_configurations(Bucket=self.bucket)[
                "IntelligentTieringConfigurationList"
            ],
            [configuration],
        )
        self.s3.delete_bucket_intelligent_tiering_configuration(**name)
        self.refused("NoSuchConfiguration", self.s3.get_bucket_intelligent_tiering_configuration, **name)
        configuration["Tierings"][0]["Days"] = 10
        self.refused(
            "InvalidArgument",
            self.s3.put_bucket_intelligent_tiering_configuration,
            **name,
            IntelligentTieringConfiguration=configuration,
        )

    def test_lifecycle_rules_are_read_back_as_written(self):
        rules = [
            {
                "ID": "tiers",
                "Status": "Enabled",
                "Filter": {"And": {"Prefix": "a/", "Tags": [{"Key": "x", "Value": "y"}], "ObjectSizeGreaterThan": 100}},
                "Transitions": [
                    {"Days": 30, "StorageClass": "INTELLIGENT_TIERING"},
                    {"Days": 90, "StorageClass": "GLACIER"},
                ],
            },
            {
                "ID": "old",
                "Status": "Enabled",
                "Filter": {"ObjectSizeLessThan": 5000},
                "NoncurrentVersionExpiration": {"NoncurrentDays": 90, "NewerNoncurrentVersions": 3},
            },
            {
                "ID": "parts",
                "Status": "Enabled",
                "Filter": {"Prefix": ""},
                "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 7},
            },
        ]
        self.s3.put_bucket_lifecycle_configuration(
            Bucket=self.bucket,
            LifecycleConfiguration={"Rules": rules},
            TransitionDefaultMinimumObjectSize="varies_by_storage_class",
        )
        shown = self.s3.get_bucket_lifecycle_configuration(Bucket=self.bucket)
        self.assertEqual(shown["Rules"], rules)
        self.assertEqual(shown["TransitionDefaultMinimumObjectSize"], "varies_by_storage_class")
        self.s3.delete_bucket_lifecycle(Bucket=self.bucket)
        self.refused("NoSuchLifecycleConfiguration", self.s3.get_bucket_lifecycle_configuration, Bucket=self.bucket)

    def test_policies_are_checked(self):
        policy = {
            "Version": "2012-10-17",
            "Statement": [
                {
                    "Effect": "Allow",
                    "Principal": "*",
                    "Action": "s3:GetObject",
                    "Resource": f"arn:aws:s3:::{self.bucket}/*",
                }
            ],
        }
        put = lambda document: self.s3.put_bucket_policy(Bucket=self.bucket, Policy=json.dumps(document))
        self.refused("AccessDenied", put, document=policy)
        self.s3.delete_public_access_block(Bucket=self.bucket)
        put(policy)
        self.assertEqual(json.loads(self.s3.get_bucket_policy(Bucket=self.bucket)["Policy"]), policy)
        self.refused("MalformedPolicy", put, document={"Statement": [{"Effect": "Allow"}]})


class Identity(CloudTest):
    def test_a_policy_in_use_cannot_be_deleted(self):
        self.iam.create_role(RoleName="node", AssumeRolePolicyDocument=TRUST)
        policy = self.iam.create_policy(PolicyName="data", PolicyDocument=ALLOW)["Policy"]["Arn"]
        self.iam.attach_role_policy(RoleName="node", PolicyArn=policy)
        self.refused("DeleteConflict", self.iam.delete_policy, PolicyArn=policy)
        self.iam.detach_role_policy(RoleName="node", PolicyArn=policy)
        self.iam.create_policy_version(PolicyArn=policy, PolicyDocument=ALLOW, SetAsDefault=True)
        self.refused("DeleteConflict", self.iam.delete_policy, PolicyArn=policy)
        self.iam.delete_policy_version(PolicyArn=policy, VersionId="v1")
        self.iam.delete_policy(PolicyArn=policy)

    def test_a_policy_attached_twice_is_attached_once(self):
        self.iam.create_role(RoleName="twice", AssumeRolePolicyDocument=TRUST)
        policy = self.iam.create_policy(PolicyName="twice", PolicyDocument=ALLOW)["Policy"]["Arn"]
        for _ in range(2):
            self.iam.attach_role_policy(RoleName="twice", PolicyArn=policy)
        self.assertEqual(self.iam.get_policy(PolicyArn=policy)["Policy"]["AttachmentCount"], 1)

    def test_managed_policies_can_be_attached(self):
        self.iam.create_role(RoleName="managed", AssumeRolePolicyDocument=TRUST)
        self.iam.attach_role_policy(
            RoleName="managed", PolicyArn="arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore"
        )
        attached = self.iam.list_attached_role_policies(RoleName="managed")["AttachedPolicies"]
        self.assertEqual(attached[0]["PolicyName"], "AmazonSSMManagedInstanceCore")

    def test_trust_policies_are_checked(self):
        for document in ("{", "{}", ALLOW):
            self.refused(
                "MalformedPolicyDocument", self.iam.create_role, RoleName="bad", AssumeRolePolicyDocument=document
            )

    def test_profiles_list_their_tags(self):
        self.iam.create_instance_profile(InstanceProfileName="tagged", Tags=[{"Key": "a", "Value": "b"}])
        self.assertEqual(
            self.iam.list_instance_profile_tags(InstanceProfileName="tagged")["Tags"], [{"Key": "a", "Value": "b"}]
        )


class Keys(CloudTest):
    def test_a_key_has_awss_defaults(self):
        key = self.kms.create_key()["KeyMetadata"]
        self.assertEqual((key["KeyUsage"], key["MultiRegion"], key["KeyState"]), ("ENCRYPT_DECRYPT", False, "Enabled"))

    def test_rotation_has_a_period(self):
        key = self.kms.create_key()["KeyMetadata"]["KeyId"]
        self.kms.enable_key_rotation(KeyId=key, RotationPeriodInDays=180)
        status = self.kms.get_key_rotation_status(KeyId=key)
        self.assertEqual((status["KeyRotationEnabled"], status["RotationPeriodInDays"]), (True, 180))

    def test_a_key_pending_deletion_refuses_changes(self):
        key = self.kms.create_key()["KeyMetadata"]["KeyId"]
        self.kms.schedule_key_deletion(KeyId=key, PendingWindowInDays=7)
        self.assertEqual(self.kms.describe_key(KeyId=key)["KeyMetadata"]["KeyState"], "PendingDeletion")
        self.refused("KMSInvalidStateException", self.kms.schedule_key_deletion, KeyId=key)
        self.refused("KMSInvalidStateException", self.kms.create_alias, AliasName="alias/late", TargetKeyId=key)

    def test_policies_are_checked_and_aliases_dated(self):
        self.refused("MalformedPolicyDocumentException", self.kms.create_key, Policy="{}")
        key = self.kms.create_key()["KeyMetadata"]["KeyId"]
        self.kms.create_alias(AliasName="alias/dated", TargetKeyId=key)
        self.assertIn("CreationDate", self.kms.list_aliases(KeyId=key)["Aliases"][0])


class Scaling(CloudTest):
    def setUp(self):
        self.name = f"group-{time.monotonic_ns()}"
        _vpc, self.subnet, group = self.network()
        data = {
            "ImageId": self.image(),
            "InstanceType": "g5.xlarge",
            "SecurityGroupIds": [group],
            "BlockDeviceMappings": [
                {"DeviceName": "/dev/sdf", "Ebs": {"VolumeSize": 10, "VolumeType": "gp3", "Iops": 4000}}
            ],
        }
        self.template = {
            "LaunchTemplateId": self.ec2.create_launch_template(LaunchTemplateName=self.name, LaunchTemplateData=data)[
                "LaunchTemplate"
            ]["LaunchTemplateId"],
            "Version": "$Latest",
        }

    def create(self, **request):
        self.autoscaling.create_auto_scaling_group(
            AutoScalingGroupName=self.name,
            **{
                "MinSize": 0,
                "MaxSize": 4,
                "DesiredCapacity": 1,
                "LaunchTemplate": self.template,
                "VPCZoneIdentifier": self.subnet,
                **request,
            },
        )

    def group(self):
        groups = self.autoscaling.describe_auto_scaling_groups(AutoScalingGroupNames=[self.name])["AutoScalingGroups"]
        return groups[0] if groups else None

    def instances(self):
        return [(each["InstanceType"], each["LifecycleState"]) for each in self.group()["Instances"]]

    def test_attributes_are_kept_and_updated(self):
        self.create(
            DefaultInstanceWarmup=60,
            MaxInstanceLifetime=86400,
            TerminationPolicies=["OldestInstance"],
            DesiredCapacity=0,
        )
        self.autoscaling.update_auto_scaling_group(
            AutoScalingGroupName=self.name,
            DefaultInstanceWarmup=90,
            DefaultCooldown=120,
            TerminationPolicies=["NewestInstance"],
            MaxInstanceLifetime=0,
        )
        group = self.group()
        self.assertEqual(
            (group["DefaultInstanceWarmup"], group["DefaultCooldown"], group["TerminationPolicies"]),
            (90, 120, ["NewestInstance"]),
        )
        self.assertNotIn("MaxInstanceLifetime", group)
        self.refused("AlreadyExists", self.create)

    def test_instances_come_from_the_templates_version(self):
        self.ec2.create_launch_template_version(
            LaunchTemplateId=self.template["LaunchTemplateId"],
            SourceVersion="1",
            LaunchTemplateData={"InstanceType": "g5.2xlarge"},
        )
        self.create()
        self.assertEqual(self.instances(), [("g5.2xlarge", "Pending")])
        self.eventually([("g5.2xlarge", "InService")], self.instances)
        instance = self.group()["Instances"][0]["InstanceId"]
        self.assertEqual(self.volumes(instance)["/dev/sdf"]["Iops"], 4000)
        self.assertEqual(self.instance(instance)["SubnetId"], self.subnet)

    def test_a_failed_launch_is_an_activity_and_is_tried_again(self):
        admin("POST", "capacity", {"instance_type": "g5.xlarge", "zone": "us-east-1a", "available": 0})
        self.create()
        activity = self.autoscaling.describe_scaling_activities(AutoScalingGroupName=self.name)["Activities"][0]
        self.assertEqual(activity["StatusCode"], "Failed")
        self.assertIn("We currently do not have sufficient g5.xlarge capacity", activity["StatusMessage"])
        admin("POST", "capacity", {"instance_type": "g5.xlarge", "zone": "us-east-1a", "available": None})
        self.eventually([("g5.xlarge", "InService")], self.instances)

    def test_an_ended_instance_is_replaced(self):
        self.create()
        first = self.group()["Instances"][0]["InstanceId"]
        self.ec2.terminate_instances(InstanceIds=[first])
        self.eventually([("g5.xlarge", "InService")], self.instances)
        self.assertNotEqual(self.group()["Instances"][0]["InstanceId"], first)

    def test_a_mixed_policy_buys_spot_above_its_base(self):
        policy = {
            "LaunchTemplate": {
                "LaunchTemplateSpecification": self.template,
                "Overrides": [{"InstanceType": "g5.xlarge"}],
            },
            "InstancesDistribution": {"OnDemandBaseCapacity": 1, "OnDemandPercentageAboveBaseCapacity": 0},
        }
        self.create(LaunchTemplate={}, MixedInstancesPolicy=policy, DesiredCapacity=3)
        ids = [each["InstanceId"] for each in self.group()["Instances"]]
        self.assertEqual(
            sorted(self.instance(each).get("InstanceLifecycle", "on-demand") for each in ids),
            ["on-demand", "spot", "spot"],
        )
        self.autoscaling.update_auto_scaling_group(AutoScalingGroupName=self.name, DesiredCapacity=2)
        self.assertIn("MixedInstancesPolicy", self.group())

    def test_a_group_with_instances_is_deleted_by_force_only(self):
        self.create()
        self.refused("ResourceInUse", self.autoscaling.delete_auto_scaling_group, AutoScalingGroupName=self.name)
        self.autoscaling.delete_auto_scaling_group(AutoScalingGroupName=self.name, ForceDelete=True)
        self.assertEqual(
            (self.group()["Status"], self.instances()), ("Delete in progress", [("g5.xlarge", "Terminating")])
        )
        self.eventually(None, self.group)

    def test_a_refresh_replaces_the_instances(self):
        self.create()
        self.eventually([("g5.xlarge", "InService")], self.instances)
        before = self.group()["Instances"][0]["InstanceId"]
        self.autoscaling.start_instance_refresh(AutoScalingGroupName=self.name)
        self.refused(
            "InstanceRefreshInProgress", self.autoscaling.start_instance_refresh, AutoScalingGroupName=self.name
        )

        def status():
            refreshes = self.autoscaling.describe_instance_refreshes(AutoScalingGroupName=self.name)
            return refreshes["InstanceRefreshes"][0]["Status"]

        self.eventually("Successful", status)
        after = [each["InstanceId"] for each in self.group()["Instances"] if each["LifecycleState"] == "InService"]
        self.assertNotIn(before, after)

    def test_policies_have_arns_and_belong_to_their_group(self):
        self.create(DesiredCapacity=0)
        target = {
            "PredefinedMetricSpecification": {"PredefinedMetricType": "ASGAverageCPUUtilization"},
            "TargetValue": 50.0,
        }
        arn = self.autoscaling.put_scaling_policy(
            AutoScalingGroupName=self.name,
            PolicyName="cpu",
            PolicyType="TargetTrackingScaling",
            TargetTrackingConfiguration=target,
            Enabled=False,
        )["PolicyARN"]
        policy = self.autoscaling.describe_policies(AutoScalingGroupName=self.name)["ScalingPolicies"][0]
        self.assertEqual((policy["PolicyARN"], policy["Enabled"]), (arn, False))
        self.assertNotIn("PredictiveScalingConfiguration", policy)
        self.autoscaling.delete_policy(AutoScalingGroupName=self.name, PolicyName="cpu")
        self.refused(
            "ValidationError", self.autoscaling.delete_policy, AutoScalingGroupName=self.name, PolicyName="cpu"
        )


class SnapshotPolicies(CloudTest):
    def test_policies_live_from_create_to_delete(self):
        dlm = client("dlm")
        details = {
            "ResourceTypes": ["VOLUME"],
            "TargetTags": [{"Key": "backup", "Value": "yes"}],
            "Schedules": [
                {"Name": "daily", "CreateRule": {"Interval": 24, "IntervalUnit": "HOURS"}, "RetainRule": {"Count": 7}}
            ],
        }
        policy = dlm.create_lifecycle_policy(
            Description="daily",
            ExecutionRoleArn="arn:aws:iam::123456789012:role/dlm",
            State="ENABLED",
            PolicyDetails=details,
            Tags={"a": "b"},
        )["PolicyId"]
        dlm.update_lifecycle_policy(PolicyId=policy, State="DISABLED")
        shown = dlm.get_lifecycle_policy(PolicyId=policy)["Policy"]
        self.assertEqual((shown["State"], shown["PolicyDetails"]["Schedules"]), ("DISABLED", details["Schedules"]))
        dlm.tag_resource(ResourceArn=shown["PolicyArn"], Tags={"c": "d", "e": "f"})
        dlm.untag_resource(ResourceArn=shown["PolicyArn"], TagKeys=["a", "e"])
        self.assertEqual(dlm.list_tags_for_resource(ResourceArn=shown["PolicyArn"])["Tags"], {"c": "d"})
        self.assertEqual(
            [each["PolicyId"] for each in dlm.get_lifecycle_policies(State="DISABLED")["Policies"]], [policy]
        )
        dlm.delete_lifecycle_policy(PolicyId=policy)
        self.refused("ResourceNotFoundException", dlm.get_lifecycle_policy, PolicyId=policy)


if __name__ == "__main__":
    unittest.main()

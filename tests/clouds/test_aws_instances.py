"""What the AWS launcher adds to moto's instances: tokens, life cycle, placement, capacity, spot, volumes, templates."""

import time
import unittest

from support import SETTLE, CloudTest, admin, tags


class Tokens(CloudTest):
    def test_the_same_request_twice_makes_one_instance(self):
        request = {"ClientToken": "a", "TagSpecifications": tags("instance", Name="node")}
        first = self.run_one(**request)["InstanceId"]
        self.eventually("running", lambda: self.state(first))
        again = self.run_one(**request)
        self.assertEqual((again["InstanceId"], again["State"]["Name"]), (first, "running"))
        self.assertEqual(self.instance(first)["ClientToken"], "a")

    def test_the_same_token_for_something_else_is_refused(self):
        self.run_one(ClientToken="b")
        self.refused("IdempotentParameterMismatch", self.run_one, ClientToken="b", InstanceType="g5.2xlarge")

    def test_a_launch_that_failed_leaves_its_token_free(self):
        self.refused("InvalidKeyPair.NotFound", self.run_one, ClientToken="c", KeyName="missing")
        self.run_one(ClientToken="c")

    def test_an_instance_can_be_found_by_its_token(self):
        instance = self.run_one(ClientToken="d")["InstanceId"]
        found = self.ec2.describe_instances(Filters=[{"Name": "client-token", "Values": ["d"]}])["Reservations"]
        self.assertEqual(found[0]["Instances"][0]["InstanceId"], instance)

    def test_tokens_of_other_creates(self):
        volume = lambda: self.ec2.create_volume(ClientToken="v", AvailabilityZone="us-east-1a", Size=1)["VolumeId"]
        self.assertEqual(volume(), volume())
        template = lambda: self.ec2.create_launch_template(
            ClientToken="t", LaunchTemplateName="once", LaunchTemplateData={"ImageId": "ami-1"}
        )
        self.assertEqual(
            template()["LaunchTemplate"]["LaunchTemplateId"], template()["LaunchTemplate"]["LaunchTemplateId"]
        )
        _vpc, subnet, _group = self.network()
        address = self.ec2.allocate_address()["AllocationId"]
        gateway = lambda: self.ec2.create_nat_gateway(ClientToken="n", SubnetId=subnet, AllocationId=address)[
            "NatGateway"
        ]["NatGatewayId"]
        self.assertEqual(gateway(), gateway())
        reservation = lambda: self.ec2.create_capacity_reservation(
            ClientToken="r",
            InstanceType="g5.xlarge",
            InstancePlatform="Linux/UNIX",
            AvailabilityZone="us-east-1a",
            InstanceCount=1,
        )
        self.assertEqual(
            reservation()["CapacityReservation"]["CapacityReservationId"],
            reservation()["CapacityReservation"]["CapacityReservationId"],
        )
        self.refused(
            "IdempotentParameterMismatch",
            self.ec2.create_volume,
            ClientToken="v",
            AvailabilityZone="us-east-1a",
            Size=2,
        )


class LifeCycle(CloudTest):
    def test_states_follow_each_other(self):
        instance = self.run_one()
        self.assertEqual(instance["State"], {"Code": 0, "Name": "pending"})
        instance = instance["InstanceId"]
        self.eventually("running", lambda: self.state(instance))
        stopping = self.ec2.stop_instances(InstanceIds=[instance])["StoppingInstances"][0]
        self.assertEqual((stopping["PreviousState"]["Name"], stopping["CurrentState"]["Name"]), ("running", "stopping"))
        self.eventually("stopped", lambda: self.state(instance))
        self.ec2.start_instances(InstanceIds=[instance])
        self.eventually("running", lambda: self.state(instance))
        ending = self.ec2.terminate_instances(InstanceIds=[instance])["TerminatingInstances"][0]
        self.assertEqual(ending["CurrentState"], {"Code": 32, "Name": "shutting-down"})
        self.eventually("terminated", lambda: self.state(instance))
        self.assertEqual(self.instance(instance)["StateReason"]["Code"], "Client.UserInitiatedShutdown")
        self.refused("IncorrectInstanceState", self.ec2.start_instances, InstanceIds=[instance])

    def test_what_an_instance_uses_cannot_be_deleted_before_it_is_gone(self):
        vpc, subnet, group = self.network()
        instance = self.run_one(SubnetId=subnet, SecurityGroupIds=[group])["InstanceId"]
        self.ec2.terminate_instances(InstanceIds=[instance])
        self.refused("DependencyViolation", self.ec2.delete_subnet, SubnetId=subnet)
        self.refused("DependencyViolation", self.ec2.delete_security_group, GroupId=group)
        self.eventually("terminated", lambda: self.state(instance))
        self.ec2.delete_subnet(SubnetId=subnet)
        self.ec2.delete_security_group(GroupId=group)
        self.ec2.delete_vpc(VpcId=vpc)
        gone = self.instance(instance)
        self.assertEqual((gone["NetworkInterfaces"], gone["SecurityGroups"], gone.get("SubnetId")), ([], [], None))

    def test_each_network_card_has_its_own_device_indexes(self):
        _vpc, subnet, group = self.network()
        cards = [
            {"NetworkCardIndex": card, "DeviceIndex": min(card, 1), "SubnetId": subnet, "Groups": [group]}
            for card in range(4)
        ]
        instance = self.run_one(InstanceType="p4d.24xlarge", NetworkInterfaces=cards)["InstanceId"]
        self.eventually("running", lambda: self.state(instance))
        places = [i["Attachment"] for i in self.instance(instance)["NetworkInterfaces"]]
        self.assertEqual(
            sorted((p["NetworkCardIndex"], p["DeviceIndex"]) for p in places), [(0, 0), (1, 1), (2, 1), (3, 1)]
        )
        self.ec2.terminate_instances(InstanceIds=[instance])
        self.eventually("terminated", lambda: self.state(instance))
        self.ec2.delete_subnet(SubnetId=subnet)

    def test_protection_against_termination(self):
        instance = self.run_one(DisableApiTermination=True)["InstanceId"]
        self.assertIn(
            "disableApiTermination",
            self.refused("OperationNotPermitted", self.ec2.terminate_instances, InstanceIds=[instance]),
        )
        self.ec2.modify_instance_attribute(InstanceId=instance, DisableApiTermination={"Value": False})
        self.ec2.terminate_instances(InstanceIds=[instance])

    def test_a_launch_names_what_does_not_exist(self):
        self.refused("InvalidAMIID.NotFound", self.run_one, ImageId="ami-0123456789abcdef0")
        self.refused("InvalidParameterValue", self.run_one, InstanceType="g99.xlarge")
        self.refused("InvalidKeyPair.NotFound", self.run_one, KeyName="missing")
        self.refused("InvalidSubnetID.NotFound", self.run_one, SubnetId="subnet-0123456789abcdef0")
        self.refused("InvalidGroup.NotFound", self.run_one, SecurityGroupIds=["sg-0123456789abcdef0"])
        self.refused("InvalidPlacementGroup.Unknown", self.run_one, Placement={"GroupName": "missing"})
        self.refused(
            "InvalidLaunchTemplateId.NotFound",
            self.run_one,
            LaunchTemplate={"LaunchTemplateId": "lt-0123456789abcdef0"},
        )
        self.assertIn(
            "us-east-1e", self.refused("Unsupported", self.run_one, Placement={"AvailabilityZone": "us-east-1e"})
        )
        self.assertIn(
            "arm64",
            self.refused(
                "InvalidParameterValue", self.run_one, ImageId=self.image("al2023-ami-2023*-kernel-6.1-arm64")
            ),
        )
        _vpc, subnet, _group = self.network()
        default = self.ec2.describe_security_groups(GroupNames=["default"])["SecurityGroups"][0]["GroupId"]
        self.refused("InvalidParameter", self.run_one, SubnetId=subnet, SecurityGroupIds=[default])


class Attributes(CloudTest):
    def test_options_of_a_launch_are_kept(self):
        instance = self.run_one(
            InstanceType="p4d.24xlarge",
            CpuOptions={"CoreCount": 24, "ThreadsPerCore": 1},
            EnclaveOptions={"Enabled": True},
            HibernationOptions={"Configured": True},
            MaintenanceOptions={"AutoRecovery": "disabled"},
            MetadataOptions={"HttpTokens": "required", "HttpPutResponseHopLimit": 2},
            PrivateDnsNameOptions={"HostnameType": "resource-name"},
            CapacityReservationSpecification={"CapacityReservationPreference": "none"},
            Monitoring={"Enabled": True},
            EbsOptimized=True,
        )
        self.assertEqual(instance["CpuOptions"], {"CoreCount": 24, "ThreadsPerCore": 1})
        self.assertEqual(instance["EnclaveOptions"], {"Enabled": True})
        self.assertEqual(instance["HibernationOptions"], {"Configured": True})
        self.assertEqual(instance["MaintenanceOptions"], {"AutoRecovery": "disabled"})
        self.assertEqual(
            (instance["MetadataOptions"]["HttpTokens"], instance["MetadataOptions"]["HttpPutResponseHopLimit"]),
            ("required", 2),
        )
        self.assertEqual(instance["PrivateDnsNameOptions"]["HostnameType"], "resource-name")
        self.assertEqual(instance["CapacityReservationSpecification"], {"CapacityReservationPreference": "none"})
        self.assertEqual((instance["Monitoring"]["State"], instance["EbsOptimized"]), ("enabled", True))

    def test_defaults_are_those_of_the_type(self):
        instance = self.run_one(InstanceType="p4d.24xlarge")
        self.assertEqual(instance["CpuOptions"], {"CoreCount": 48, "ThreadsPerCore": 2})
        self.assertEqual(instance["CapacityReservationSpecification"], {"CapacityReservationPreference": "open"})
        self.assertEqual(
            (instance["EnclaveOptions"], instance["HibernationOptions"]), ({"Enabled": False}, {"Configured": False})
        )
        self.assertNotIn("InstanceLifecycle", instance)

    def attribute(self, instance, name):
        answer = self.ec2.describe_instance_attribute(InstanceId=instance, Attribute=name)
        return answer[name[0].upper() + name[1:]].get("Value")

    def test_attributes_are_described_and_modified(self):
        instance = self.run_one(UserData="#!/bin/sh", InstanceInitiatedShutdownBehavior="terminate")["InstanceId"]
        self.assertEqual(self.attribute(instance, "userData"), "IyEvYmluL3No")
        self.assertEqual(self.attribute(instance, "instanceInitiatedShutdownBehavior"), "terminate")
        self.ec2.modify_instance_attribute(InstanceId=instance, InstanceInitiatedShutdownBehavior={"Value": "stop"})
        self.ec2.modify_instance_attribute(InstanceId=instance, SourceDestCheck={"Value": False})
        self.ec2.modify_instance_attribute(InstanceId=instance, DisableApiStop={"Value": True})
        self.assertEqual(self.attribute(instance, "instanceInitiatedShutdownBehavior"), "stop")
        self.assertIs(self.attribute(instance, "disableApiStop"), True)
        shown = self.instance(instance)
        self.assertEqual((shown["SourceDestCheck"], shown["NetworkInterfaces"][0]["SourceDestCheck"]), (False, False))
        self.assertIsNone(self.attribute(self.run_one()["InstanceId"], "userData"))

    def test_type_and_user_data_change_only_when_stopped(self):
        instance = self.run_one()["InstanceId"]
        change = {"InstanceId": instance, "InstanceType": {"Value": "g5.2xlarge"}}
        self.refused("IncorrectInstanceState", self.ec2.modify_instance_attribute, **change)
        self.ec2.stop_instances(InstanceIds=[instance])
        self.eventually("stopped", lambda: self.state(instance))
        self.ec2.modify_instance_attribute(**change)
        self.ec2.modify_instance_attribute(InstanceId=instance, UserData={"Value": b"new"})
        self.assertEqual(self.instance(instance)["InstanceType"], "g5.2xlarge")
        self.assertEqual(self.attribute(instance, "userData"), "bmV3")

    def test_metadata_options_change_one_by_one(self):
        instance = self.run_one(MetadataOptions={"HttpPutResponseHopLimit": 3})["InstanceId"]
        self.ec2.modify_instance_metadata_options(InstanceId=instance, HttpTokens="required")
        options = self.instance(instance)["MetadataOptions"]
        self.assertEqual(
            (options["HttpTokens"], options["HttpPutResponseHopLimit"], options["HttpEndpoint"]),
            ("required", 3, "enabled"),
        )

    def test_security_groups_change_with_the_interface(self):
        vpc, subnet, first = self.network("us-east-1a", "10.2.0.0/16")
        second = self.ec2.create_security_group(GroupName="second", Description="s", VpcId=vpc)["GroupId"]
        shown = self.run_one(SubnetId=subnet, SecurityGroupIds=[first])
        groups = lambda: [group["GroupId"] for group in self.instance(shown["InstanceId"])["SecurityGroups"]]
        self.assertEqual(groups(), [first])
        interface = shown["NetworkInterfaces"][0]["NetworkInterfaceId"]
        self.ec2.modify_network_interface_attribute(NetworkInterfaceId=interface, Groups=[second])
        self.assertEqual(groups(), [second])
        self.ec2.modify_instance_attribute(InstanceId=shown["InstanceId"], Groups=[first, second])
        self.assertEqual(groups(), [first, second])

    def test_credits_belong_to_burstable_types(self):
        instance = self.run_one(InstanceType="t3.micro")["InstanceId"]
        shown = self.ec2.describe_instance_credit_specifications(InstanceIds=[instance])["InstanceCreditSpecifications"]
        self.assertEqual(shown, [{"InstanceId": instance, "CpuCredits": "unlimited"}])
        self.ec2.modify_instance_credit_specification(
            InstanceCreditSpecifications=[{"InstanceId": instance, "CpuCredits": "standard"}]
        )
        shown = self.ec2.describe_instance_credit_specifications(InstanceIds=[instance])["InstanceCreditSpecifications"]
        self.assertEqual(shown[0]["CpuCredits"], "standard")

    def test_monitoring_is_switched(self):
        instance = self.run_one()["InstanceId"]
        self.ec2.monitor_instances(InstanceIds=[instance])
        self.assertEqual(self.instance(instance)["Monitoring"]["State"], "enabled")
        self.ec2.unmonitor_instances(InstanceIds=[instance])
        self.assertEqual(self.instance(instance)["Monitoring"]["State"], "disabled")

    def test_profiles_are_associated_and_let_go(self):
        self.iam.create_instance_profile(InstanceProfileName="node")
        instance = self.run_one(IamInstanceProfile={"Name": "node"})["InstanceId"]
        self.assertTrue(self.instance(instance)["IamInstanceProfile"]["Arn"].endswith(":instance-profile/node"))
        self.refused("InvalidParameterValue", self.run_one, IamInstanceProfile={"Name": "missing"})
        self.ec2.terminate_instances(InstanceIds=[instance])
        time.sleep(SETTLE + 0.05)
        states = self.ec2.describe_iam_instance_profile_associations()["IamInstanceProfileAssociations"]
        self.assertEqual(states, [])


class Placement(CloudTest):
    def test_groups_of_each_strategy(self):
        cluster = self.ec2.create_placement_group(
            GroupName="c", Strategy="cluster", TagSpecifications=tags("placement-group", team="ml")
        )["PlacementGroup"]
        self.assertEqual(
            (cluster["Strategy"], cluster["State"], cluster["Tags"]),
            ("cluster", "available", [{"Key": "team", "Value": "ml"}]),
        )
        self.ec2.create_placement_group(GroupName="p", Strategy="partition", PartitionCount=3)
        self.ec2.create_placement_group(GroupName="s", Strategy="spread", SpreadLevel="rack")
        groups = {group["GroupName"]: group for group in self.ec2.describe_placement_groups()["PlacementGroups"]}
        self.assertEqual((groups["p"]["PartitionCount"], groups["s"]["SpreadLevel"]), (3, "rack"))
        self.assertTrue(groups["c"]["GroupArn"].endswith(":placement-group/c"))

    def test_groups_are_found_by_name_id_filter_and_tag(self):
        group = self.ec2.create_placement_group(GroupName="f", Strategy="cluster")["PlacementGroup"]
        self.ec2.create_tags(Resources=[group["GroupId"]], Tags=[{"Key": "x", "Value": "y"}])
        for search in (
            {"GroupNames": ["f"]},
            {"GroupIds": [group["GroupId"]]},
            {"Filters": [{"Name": "group-name", "Values": ["f*"]}]},
            {"Filters": [{"Name": "tag:x", "Values": ["y"]}]},
        ):
            self.assertEqual(
                [each["GroupName"] for each in self.ec2.describe_placement_groups(**search)["PlacementGroups"]], ["f"]
            )
        self.refused("InvalidPlacementGroup.Unknown", self.ec2.describe_placement_groups, GroupNames=["missing"])
        self.refused(
            "InvalidPlacementGroup.Duplicate", self.ec2.create_placement_group, GroupName="f", Strategy="cluster"
        )

    def test_a_group_in_use_cannot_be_deleted(self):
        self.ec2.create_placement_group(GroupName="u", Strategy="cluster")
        instance = self.run_one(InstanceType="p4d.24xlarge", Placement={"GroupName": "u"})
        self.assertEqual(instance["Placement"]["GroupName"], "u")
        self.refused("InvalidPlacementGroup.InUse", self.ec2.delete_placement_group, GroupName="u")
        self.ec2.terminate_instances(InstanceIds=[instance["InstanceId"]])
        self.eventually("terminated", lambda: self.state(instance["InstanceId"]))
        self.ec2.delete_placement_group(GroupName="u")
        self.refused("InvalidPlacementGroup.Unknown", self.ec2.delete_placement_group, GroupName="u")

    def test_partitions_and_types_are_checked(self):
        self.ec2.create_placement_group(GroupName="parts", Strategy="partition", PartitionCount=2)
        placed = self.run_one(Placement={"GroupName": "parts", "PartitionNumber": 2})
        self.assertEqual(placed["Placement"]["PartitionNumber"], 2)
        self.refused("InvalidParameterValue", self.run_one, Placement={"GroupName": "parts", "PartitionNumber": 3})
        self.ec2.create_placement_group(GroupName="fast", Strategy="cluster")
        self.refused(
            "InvalidParameterCombination", self.run_one, InstanceType="t3.micro", Placement={"GroupName": "fast"}
        )


class Capacity(CloudTest):
    def reserve(self, **request):
        request = {
            "InstanceType": "p4d.24xlarge",
            "InstancePlatform": "Linux/UNIX",
            "AvailabilityZone": "us-east-1a",
            "InstanceCount": 2,
            **request,
        }
        return self.ec2.create_capacity_reservation(**request)["CapacityReservation"]["CapacityReservationId"]

    def reservation(self, reservation_id):
        return self.ec2.describe_capacity_reservations(CapacityReservationIds=[reservation_id])["CapacityReservations"][
            0
        ]

    def test_a_targeted_reservation_fills_and_empties(self):
        reservation = self.reserve(
            InstanceMatchCriteria="targeted", TagSpecifications=tags("capacity-reservation", Name="train")
        )
        self.eventually("active", lambda: self.reservation(reservation)["State"])
        target = {"CapacityReservationTarget": {"CapacityReservationId": reservation}}
        instance = self.run_one(InstanceType="p4d.24xlarge", CapacityReservationSpecification=target)
        self.assertEqual(instance["CapacityReservationId"], reservation)
        self.assertEqual(instance["CapacityReservationSpecification"], target)
        self.assertEqual(self.reservation(reservation)["AvailableInstanceCount"], 1)
        self.refused(
            "ReservationCapacityExceeded",
            self.ec2.run_instances,
            ImageId=self.image(),
            InstanceType="p4d.24xlarge",
            MinCount=2,
            MaxCount=2,
            CapacityReservationSpecification=target,
        )
        self.refused(
            "InvalidParameterCombination",
            self.run_one,
            InstanceType="g5.xlarge",
            CapacityReservationSpecification=target,
        )
        self.ec2.terminate_instances(InstanceIds=[instance["InstanceId"]])
        self.eventually(2, lambda: self.reservation(reservation)["AvailableInstanceCount"])
        self.assertEqual(self.reservation(reservation)["Tags"], [{"Key": "Name", "Value": "train"}])

    def test_an_open_reservation_serves_when_capacity_is_gone(self):
        reservation = self.reserve(AvailabilityZone="us-east-1b", InstanceCount=1)
        admin("POST", "capacity", {"instance_type": "p4d.24xlarge", "zone": "us-east-1b", "available": 0})
        zone = {"AvailabilityZone": "us-east-1b"}
        self.assertEqual(
            self.run_one(InstanceType="p4d.24xlarge", Placement=zone)["CapacityReservationId"], reservation
        )
        self.refused("InsufficientInstanceCapacity", self.run_one, InstanceType="p4d.24xlarge", Placement=zone)
        self.refused("InsufficientInstanceCapacity", self.reserve, AvailabilityZone="us-east-1b")

    def test_reservations_are_modified_and_cancelled(self):
        reservation = self.reserve(InstanceType="g5.xlarge")
        self.ec2.modify_capacity_reservation(
            CapacityReservationId=reservation, InstanceCount=5, EndDateType="limited", EndDate="2099-01-01T00:00:00Z"
        )
        shown = self.reservation(reservation)
        self.assertEqual(
            (shown["TotalInstanceCount"], shown["EndDateType"], shown["EndDate"].year), (5, "limited", 2099)
        )
        self.ec2.cancel_capacity_reservation(CapacityReservationId=reservation)
        self.assertEqual(self.reservation(reservation)["State"], "cancelled")
        self.refused(
            "InvalidCapacityReservationState", self.ec2.cancel_capacity_reservation, CapacityReservationId=reservation
        )
        self.refused(
            "InvalidCapacityReservationId.NotFound",
            self.ec2.cancel_capacity_reservation,
            CapacityReservationId="cr-0123456789abcdef0",
        )


class Spot(CloudTest):
    SPOT = {"MarketType": "spot", "SpotOptions": {"MaxPrice": "5", "SpotInstanceType": "one-time"}}

    def request(self, instance):
        requests = self.ec2.describe_spot_instance_requests(SpotInstanceRequestIds=[instance["SpotInstanceRequestId"]])
        return requests["SpotInstanceRequests"][0]

    def test_a_spot_launch_has_a_fulfilled_request(self):
        instance = self.run_one(
            InstanceMarketOptions=self.SPOT, TagSpecifications=tags("spot-instances-request", a="b")
        )
        self.assertEqual(instance["InstanceLifecycle"], "spot")
        request = self.request(instance)
        self.assertEqual((request["State"], request["Status"]["Code"]), ("active", "fulfilled"))
        self.assertEqual(
            (request["InstanceId"], request["SpotPrice"], request["Type"]),
            (instance["InstanceId"], "5.000000", "one-time"),
        )
        self.assertEqual(request["Tags"], [{"Key": "a", "Value": "b"}])

    def test_termination_closes_the_request(self):
        instance = self.run_one(InstanceMarketOptions=self.SPOT)
        self.ec2.terminate_instances(InstanceIds=[instance["InstanceId"]])
        request = self.request(instance)
        self.assertEqual((request["State"], request["Status"]["Code"]), ("closed", "instance-terminated-by-user"))

    def test_an_interruption_warns_and_then_terminates(self):
        instance = self.run_one(InstanceMarketOptions=self.SPOT)
        answer = admin("POST", "spot-interrupt", {"instance_id": instance["InstanceId"], "warning_seconds": 0.3})
        self.assertEqual(answer["spot_instance_request_id"], instance["SpotInstanceRequestId"])
        request = self.request(instance)
        self.assertEqual((request["State"], request["Status"]["Code"]), ("active", "marked-for-termination"))
        self.eventually("terminated", lambda: self.state(instance["InstanceId"]))
        request = self.request(instance)
        self.assertEqual((request["State"], request["Status"]["Code"]), ("closed", "instance-terminated-no-capacity"))
        self.assertEqual(self.instance(instance["InstanceId"])["StateReason"]["Code"], "Server.SpotInstanceTermination")

    def test_only_spot_instances_are_interrupted(self):
        self.assertIn(
            "not a running spot instance",
            admin("POST", "spot-interrupt", {"instance_id": self.run_one()["InstanceId"]})["error"],
        )

    def test_a_request_is_cancelled_while_the_instance_runs(self):
        instance = self.run_one(InstanceMarketOptions=self.SPOT)
        self.ec2.cancel_spot_instance_requests(SpotInstanceRequestIds=[instance["SpotInstanceRequestId"]])
        request = self.request(instance)
        self.assertEqual(
            (request["State"], request["Status"]["Code"]), ("cancelled", "request-canceled-and-instance-running")
        )

    def test_prices_have_a_history_and_a_floor(self):
        prices = self.ec2.describe_spot_price_history(
            InstanceTypes=["p4d.24xlarge"], ProductDescriptions=["Linux/UNIX"], AvailabilityZone="us-east-1b"
        )["SpotPriceHistory"]
        self.assertEqual(
            [(price["InstanceType"], price["AvailabilityZone"]) for price in prices], [("p4d.24xlarge", "us-east-1b")]
        )
        self.assertGreater(float(prices[0]["SpotPrice"]), 1)
        cheap = {"MarketType": "spot", "SpotOptions": {"MaxPrice": "0.01"}}
        self.refused("SpotMaxPriceTooLow", self.run_one, InstanceMarketOptions=cheap)


class Volumes(CloudTest):
    def test_launch_time_volumes_are_what_was_asked_for(self):
        key = self.kms.create_key()["KeyMetadata"]["Arn"]
        devices = [
            {"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": 100, "Encrypted": True, "KmsKeyId": key}},
            {
                "DeviceName": "/dev/sdf",
                "Ebs": {
                    "VolumeSize": 500,
                    "VolumeType": "gp3",
                    "Iops": 6000,
                    "Throughput": 500,
                    "DeleteOnTermination": False,
                },
            },
            {"DeviceName": "/dev/sdg", "Ebs": {"VolumeSize": 50, "VolumeType": "io2", "Iops": 2000}},
        ]
        instance = self.run_one(BlockDeviceMappings=devices, TagSpecifications=tags("volume", a="b"))["InstanceId"]
        volumes = self.volumes(instance)
        facts = {
            name: (
                volume["Size"],
                volume["VolumeType"],
                volume.get("Iops"),
                volume.get("Throughput"),
                volume["Encrypted"],
            )
            for name, volume in volumes.items()
        }
        self.assertEqual(
            facts,
            {
                "/dev/xvda": (100, "gp3", 3000, 125, True),
                "/dev/sdf": (500, "gp3", 6000, 500, False),
                "/dev/sdg": (50, "io2", 2000, None, False),
            },
        )
        self.assertEqual(volumes["/dev/xvda"]["KmsKeyId"], key)
        self.assertEqual([volume["Tags"] for volume in volumes.values()], [[{"Key": "a", "Value": "b"}]] * 3)
        self.assertEqual(
            [volumes[name]["Attachments"][0]["DeleteOnTermination"] for name in ("/dev/xvda", "/dev/sdf")],
            [True, False],
        )
        self.ec2.terminate_instances(InstanceIds=[instance])
        self.eventually("terminated", lambda: self.state(instance))
        left = [volume["VolumeId"] for volume in self.ec2.describe_volumes()["Volumes"]]
        self.assertIn(volumes["/dev/sdf"]["VolumeId"], left)
        self.assertNotIn(volumes["/dev/xvda"]["VolumeId"], left)

    def test_an_instance_without_devices_has_its_images_root(self):
        volumes = self.volumes(self.run_one()["InstanceId"])
        self.assertEqual(
            [(name, volume["Size"], volume["VolumeType"]) for name, volume in volumes.items()],
            [("/dev/xvda", 8, "gp3")],
        )

    def test_an_unusable_key_ends_the_instance(self):
        key = self.kms.create_key()["KeyMetadata"]["KeyId"]
        self.kms.schedule_key_deletion(KeyId=key, PendingWindowInDays=7)
        device = {"DeviceName": "/dev/sdf", "Ebs": {"VolumeSize": 1, "Encrypted": True, "KmsKeyId": key}}
        instance = self.run_one(BlockDeviceMappings=[device])["InstanceId"]
        self.eventually("terminated", lambda: self.state(instance))
        self.assertEqual(self.instance(instance)["StateReason"]["Code"], "Client.InternalError")

    def test_each_type_has_its_defaults_and_limits(self):
        create = lambda **request: self.ec2.create_volume(AvailabilityZone="us-east-1a", **request)
        self.assertEqual(create(Size=100)["Iops"], 300)
        gp3 = create(Size=100, VolumeType="gp3")
        self.assertEqual((gp3["Iops"], gp3["Throughput"], gp3["State"]), (3000, 125, "creating"))
        self.refused("InvalidParameterValue", create, Size=20_000)
        self.refused("InvalidParameterValue", create, Size=1, VolumeType="st1")
        self.refused("InvalidZone.NotFound", self.ec2.create_volume, AvailabilityZone="us-east-9a", Size=1)

    def test_a_key_given_by_alias_is_shown_as_arn(self):
        key = self.kms.create_key()["KeyMetadata"]
        self.kms.create_alias(AliasName="alias/disks", TargetKeyId=key["KeyId"])
        volume = self.ec2.create_volume(AvailabilityZone="us-east-1a", Size=1, Encrypted=True, KmsKeyId="alias/disks")
        self.assertEqual(volume["KmsKeyId"], key["Arn"])

    def test_a_modification_takes_its_time(self):
        volume = self.ec2.create_volume(AvailabilityZone="us-east-1a", Size=10, VolumeType="gp2")["VolumeId"]
        change = self.ec2.modify_volume(VolumeId=volume, VolumeType="gp3", Size=20, Iops=5000)["VolumeModification"]
        self.assertEqual(
            (change["ModificationState"], change["OriginalSize"], change["TargetSize"], change["TargetThroughput"]),
            ("modifying", 10, 20, 125),
        )
        self.refused("IncorrectModificationState", self.ec2.modify_volume, VolumeId=volume, Size=30)
        state = lambda: self.ec2.describe_volumes_modifications(VolumeIds=[volume])["VolumesModifications"][-1][
            "ModificationState"
        ]
        self.eventually("completed", state)
        shown = self.ec2.describe_volumes(VolumeIds=[volume])["Volumes"][0]
        self.assertEqual(
            (shown["Size"], shown["VolumeType"], shown["Iops"], shown["Throughput"]), (20, "gp3", 5000, 125)
        )
        self.refused("InvalidParameterValue", self.ec2.modify_volume, VolumeId=volume, Size=5)

    def test_attaching_and_detaching(self):
        instance = self.run_one()["InstanceId"]
        zone = self.instance(instance)["Placement"]["AvailabilityZone"]
        volume = self.ec2.create_volume(AvailabilityZone=zone, Size=1)["VolumeId"]
        elsewhere = self.ec2.create_volume(AvailabilityZone="us-east-1f", Size=1)["VolumeId"]
        self.assertEqual(
            self.ec2.attach_volume(VolumeId=volume, InstanceId=instance, Device="/dev/sdh")["State"], "attaching"
        )
        state = lambda: self.ec2.describe_volumes(VolumeIds=[volume])["Volumes"][0]["Attachments"][0]["State"]
        self.eventually("attached", state)
        self.refused("VolumeInUse", self.ec2.attach_volume, VolumeId=volume, InstanceId=instance, Device="/dev/sdi")
        self.refused(
            "InvalidVolume.ZoneMismatch",
            self.ec2.attach_volume,
            VolumeId=elsewhere,
            InstanceId=instance,
            Device="/dev/sdi",
        )
        self.refused("VolumeInUse", self.ec2.delete_volume, VolumeId=volume)
        self.ec2.detach_volume(VolumeId=volume)
        self.refused("IncorrectState", self.ec2.detach_volume, VolumeId=volume)
        self.ec2.delete_volume(VolumeId=volume)

    def test_a_snapshot_keeps_size_and_key(self):
        key = self.kms.create_key()["KeyMetadata"]["Arn"]
        volume = self.ec2.create_volume(AvailabilityZone="us-east-1a", Size=4, Encrypted=True, KmsKeyId=key)["VolumeId"]
        snapshot = self.ec2.create_snapshot(VolumeId=volume, TagSpecifications=tags("snapshot", a="b"))
        self.assertEqual((snapshot["State"], snapshot["VolumeSize"]), ("pending", 4))
        shown = lambda: self.ec2.describe_snapshots(SnapshotIds=[snapshot["SnapshotId"]])["Snapshots"][0]
        self.eventually("completed", lambda: shown()["State"])
        self.ec2.modify_volume(VolumeId=volume, Size=8)
        self.assertEqual((shown()["VolumeSize"], shown()["KmsKeyId"]), (4, key))
        restored = self.ec2.create_volume(AvailabilityZone="us-east-1a", SnapshotId=snapshot["SnapshotId"])
        self.assertEqual((restored["Size"], restored["Encrypted"], restored["KmsKeyId"]), (4, True, key))


class Templates(CloudTest):
    def test_data_is_read_back_as_written(self):
        data = {"ImageId": self.image(), "InstanceType": "g5.xlarge", "TagSpecifications": tags("instance", a="b")}
        template = self.ec2.create_launch_template(
            LaunchTemplateName="read", LaunchTemplateData=data, TagSpecifications=tags("launch-template", c="d")
        )["LaunchTemplate"]
        version = self.ec2.describe_launch_template_versions(LaunchTemplateId=template["LaunchTemplateId"])[
            "LaunchTemplateVersions"
        ][0]
        self.assertEqual(version["LaunchTemplateData"], data)
        self.assertEqual(template["Tags"], [{"Key": "c", "Value": "d"}])

    def test_versions_are_added_chosen_and_deleted(self):
        template = self.ec2.create_launch_template(
            LaunchTemplateName="versions", LaunchTemplateData={"InstanceType": "g5.xlarge"}
        )["LaunchTemplate"]["LaunchTemplateId"]
        self.ec2.create_launch_template_version(
            LaunchTemplateId=template, LaunchTemplateData={"InstanceType": "g5.2xlarge"}
        )
        self.ec2.modify_launch_template(LaunchTemplateId=template, DefaultVersion="2")
        deleted = self.ec2.delete_launch_template_versions(LaunchTemplateId=template, Versions=["1"])
        self.assertEqual(deleted["SuccessfullyDeletedLaunchTemplateVersions"][0]["VersionNumber"], 1)
        self.assertEqual(
            self.ec2.create_launch_template_version(
                LaunchTemplateId=template, LaunchTemplateData={"InstanceType": "g5.4xlarge"}
            )["LaunchTemplateVersion"]["VersionNumber"],
            3,
        )
        default = self.ec2.describe_launch_template_versions(LaunchTemplateId=template, Versions=["$Default"])[
            "LaunchTemplateVersions"
        ][0]
        self.assertEqual((default["VersionNumber"], default["LaunchTemplateData"]["InstanceType"]), (2, "g5.2xlarge"))
        self.refused(
            "InvalidLaunchTemplateId.VersionNotFound",
            self.ec2.describe_launch_template_versions,
            LaunchTemplateId=template,
            Versions=["1"],
        )
        self.ec2.delete_launch_template(LaunchTemplateId=template)
        self.refused(
            "InvalidLaunchTemplateId.NotFound", self.ec2.describe_launch_templates, LaunchTemplateIds=[template]
        )

    def test_a_launch_takes_from_the_template_what_it_does_not_say(self):
        _vpc, subnet, group = self.network()
        self.ec2.create_placement_group(GroupName="tpl", Strategy="cluster")
        data = {
            "ImageId": self.image(),
            "InstanceType": "p4d.24xlarge",
            "UserData": "aGk=",
            "Placement": {"GroupName": "tpl"},
            "NetworkInterfaces": [{"DeviceIndex": 0, "SubnetId": subnet, "Groups": [group], "InterfaceType": "efa"}],
            "BlockDeviceMappings": [
                {"DeviceName": "/dev/sdf", "Ebs": {"VolumeSize": 10, "VolumeType": "gp3", "Iops": 4000}}
            ],
            "TagSpecifications": tags("instance", from_template="yes", both="template"),
            "InstanceMarketOptions": {"MarketType": "spot"},
        }
        template = self.ec2.create_launch_template(LaunchTemplateName="full", LaunchTemplateData=data)[
            "LaunchTemplate"
        ]["LaunchTemplateId"]
        instance = self.ec2.run_instances(
            MinCount=1,
            MaxCount=1,
            LaunchTemplate={"LaunchTemplateId": template},
            TagSpecifications=tags("instance", both="launch"),
        )["Instances"][0]
        self.assertEqual(
            (instance["InstanceType"], instance["Placement"]["GroupName"], instance["InstanceLifecycle"]),
            ("p4d.24xlarge", "tpl", "spot"),
        )
        self.assertEqual((instance["SubnetId"], instance["NetworkInterfaces"][0]["InterfaceType"]), (subnet, "efa"))
        self.assertEqual(self.volumes(instance["InstanceId"])["/dev/sdf"]["Iops"], 4000)
        values = {tag["Key"]: tag["Value"] for tag in instance["Tags"]}
        self.assertEqual(
            (values["from_template"], values["both"], values["aws:ec2launchtemplate:id"]), ("yes", "launch", template)
        )


if __name__ == "__main__":
    unittest.main()

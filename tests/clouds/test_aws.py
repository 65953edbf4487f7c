"""The AWS launcher as a process, and its admin endpoint: faults, limits, and the record of calls."""

import os
import signal
import subprocess
import sys
import threading
import time
import unittest
import urllib.request

import botocore.exceptions

import support
from support import CloudTest, admin, client


class Process(unittest.TestCase):
    def test_serves_on_loopback_and_writes_the_port(self):
        port_file = support.temporary_file()
        process, url = support.start("--port", "0", "--port-file", str(port_file), "--seed-region", "eu-west-1")
        try:
            self.assertEqual(url, f"http://127.0.0.1:{port_file.read_text().strip()}")
            zones = client("ec2", url, region="eu-west-1").describe_availability_zones()["AvailabilityZones"]
            self.assertEqual(zones[0]["RegionName"], "eu-west-1")
        finally:
            process.terminate()
            process.wait()
            process.stdout.close()
            port_file.unlink()

    def test_the_users_aws_settings_do_not_matter(self):
        process, url = support.start(env={**os.environ, "AWS_PROFILE": "missing", "MOTO_ACCOUNT_ID": "1"})
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        self.assertEqual(client("sts", url).get_caller_identity()["Account"], "123456789012")

    def test_ends_cleanly_on_signals(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            process, _url = support.start()
            process.send_signal(number)
            self.assertEqual(process.wait(timeout=5), 0)
            process.stdout.close()

    def test_ends_with_its_parent(self):
        starter = (
            "import subprocess, sys, time\n"
            f"command = [sys.executable, {str(support.LAUNCHER)!r}, '--die-with-parent']\n"
            "print(subprocess.Popen(command, stdout=subprocess.DEVNULL).pid, flush=True)\n"
            "time.sleep(1)"
        )
        output = subprocess.run([sys.executable, "-c", starter], capture_output=True, text=True, check=True).stdout
        launcher = int(output)
        deadline = time.monotonic() + 10
        while os.path.exists(f"/proc/{launcher}") and time.monotonic() < deadline:
            time.sleep(0.1)
        self.assertFalse(os.path.exists(f"/proc/{launcher}"))


class Faults(CloudTest):
    def test_an_error_is_given_as_often_as_asked(self):
        admin(
            "POST",
            "faults",
            {
                "kind": "error",
                "action": "DescribeVpcs",
                "code": "RequestLimitExceeded",
                "message": "Slow down.",
                "status": 503,
                "times": 2,
            },
        )
        for _ in range(2):
            self.assertEqual(self.refused("RequestLimitExceeded", self.ec2.describe_vpcs), "Slow down.")
        self.ec2.describe_vpcs()

    def test_an_error_has_the_form_of_its_service(self):
        admin("POST", "faults", {"kind": "error", "code": "Broken", "message": "No.", "status": 400, "times": 5})
        self.assertEqual(self.refused("Broken", self.ec2.describe_vpcs), "No.")
        self.assertEqual(self.refused("Broken", self.s3.list_buckets), "No.")
        self.assertEqual(self.refused("Broken", self.iam.list_roles), "No.")
        self.assertEqual(self.refused("Broken", self.kms.list_keys), "No.")
        self.assertEqual(self.refused("Broken", self.autoscaling.describe_auto_scaling_groups), "No.")

    def test_a_fault_can_be_narrowed(self):
        _vpc, subnet, _group = self.network("us-east-1b", "10.1.0.0/16")
        admin(
            "POST",
            "faults",
            {
                "kind": "error",
                "action": "RunInstances",
                "code": "Unlucky",
                "instance_type": "g5.xlarge",
                "zone": "us-east-1b",
                "match": {"ImageId": "ami-*"},
                "skip": 1,
            },
        )
        self.run_one(InstanceType="t3.micro", SubnetId=subnet)
        self.run_one(Placement={"AvailabilityZone": "us-east-1a"})
        self.run_one(SubnetId=subnet)
        self.refused("Unlucky", self.run_one, SubnetId=subnet)

    def test_a_connection_dropped_before_the_effect_has_none(self):
        admin("POST", "faults", {"kind": "drop_before", "action": "RunInstances", "times": 1})
        before = self.instance_count()
        with self.assertRaises(botocore.exceptions.HTTPClientError):
            self.run_one()
        self.assertEqual(self.instance_count(), before)

    def test_a_repeated_create_after_a_lost_answer_makes_one_instance(self):
        admin("POST", "faults", {"kind": "drop_after", "action": "RunInstances", "times": 1})
        before = self.instance_count()
        retrying = client("ec2", retries=2)
        run = retrying.run_instances(
            ImageId=self.image(), InstanceType="g5.xlarge", MinCount=1, MaxCount=1, ClientToken="lost"
        )
        self.assertEqual(self.instance_count(), before + 1)
        self.assertEqual(len(run["Instances"]), 1)
        calls = admin("GET", "calls?action=RunInstances")["calls"][-2:]
        self.assertEqual([call["status"] for call in calls], ["dropped", 200])

    def test_latency_delays_only_its_calls(self):
        admin("POST", "faults", {"kind": "latency", "action": "DescribeVpcs", "seconds": 0.5})
        slow = threading.Thread(target=self.ec2.describe_vpcs)
        started = time.monotonic()
        slow.start()
        self.ec2.describe_subnets()
        self.assertLess(time.monotonic() - started, 0.5)
        slow.join()
        self.assertGreaterEqual(time.monotonic() - started, 0.5)

    def test_a_new_object_is_invisible_to_some_reads(self):
        admin("POST", "faults", {"kind": "stale_reads", "action": "CreateVpc", "times": 2})
        vpc = self.ec2.create_vpc(CidrBlock="10.9.0.0/16")["Vpc"]["VpcId"]
        self.refused("InvalidVpcID.NotFound", self.ec2.describe_vpcs, VpcIds=[vpc])
        self.assertNotIn(vpc, [each["VpcId"] for each in self.ec2.describe_vpcs()["Vpcs"]])
        self.assertEqual(self.ec2.describe_vpcs(VpcIds=[vpc])["Vpcs"][0]["VpcId"], vpc)

    def test_stale_reads_of_an_instance_a_bucket_a_key_and_a_role(self):
        admin("POST", "faults", {"kind": "stale_reads", "service": "*", "action": "*", "times": 1})
        instance = self.run_one()["InstanceId"]
        self.refused("InvalidInstanceID.NotFound", self.instance, instance_id=instance)
        self.instance(instance)
        self.s3.create_bucket(Bucket="stale-bucket")
        self.refused("404", self.s3.head_bucket, Bucket="stale-bucket")
        self.s3.head_bucket(Bucket="stale-bucket")
        key = self.kms.create_key()["KeyMetadata"]["KeyId"]
        self.refused("NotFoundException", self.kms.describe_key, KeyId=key)
        self.kms.describe_key(KeyId=key)

    def test_a_stale_time_passes(self):
        admin("POST", "faults", {"kind": "stale_reads", "action": "CreateVpc", "seconds": 0.3})
        vpc = self.ec2.create_vpc(CidrBlock="10.8.0.0/16")["Vpc"]["VpcId"]
        self.refused("InvalidVpcID.NotFound", self.ec2.describe_vpcs, VpcIds=[vpc])
        time.sleep(0.35)
        self.ec2.describe_vpcs(VpcIds=[vpc])

    def test_faults_are_listed_and_removed(self):
        fault = admin("POST", "faults", {"kind": "error", "action": "Nothing"})
        self.assertEqual([each["id"] for each in admin("GET", "faults")["faults"]], [fault["id"]])
        admin("DELETE", f"faults?id={fault['id']}")
        self.assertEqual(admin("GET", "faults")["faults"], [])

    def test_a_bad_fault_is_explained(self):
        self.assertIn("kind must be one of", admin("POST", "faults", {"kind": "flood"})["error"])
        self.assertIn("unknown fields: sort", admin("POST", "faults", {"kind": "error", "sort": 1})["error"])
        self.assertIn("needs seconds", admin("POST", "faults", {"kind": "latency"})["error"])
        self.assertIn("there are POST faults", admin("GET", "nothing")["error"])


class Limits(CloudTest):
    def tearDown(self):
        super().tearDown()
        admin("POST", "reset")

    def test_capacity_ends_and_comes_back(self):
        admin("POST", "capacity", {"instance_type": "p4d.24xlarge", "zone": "us-east-1a", "available": 1})
        first = self.run_one(InstanceType="p4d.24xlarge", Placement={"AvailabilityZone": "us-east-1a"})["InstanceId"]
        message = self.refused(
            "InsufficientInstanceCapacity",
            self.run_one,
            InstanceType="p4d.24xlarge",
            Placement={"AvailabilityZone": "us-east-1a"},
        )
        self.assertTrue(
            message.startswith(
                "We currently do not have sufficient p4d.24xlarge capacity in the Availability Zone you "
                "requested (us-east-1a)."
            )
        )
        self.assertIn("choosing us-east-1b", message)
        self.ec2.terminate_instances(InstanceIds=[first])
        self.eventually("terminated", lambda: self.state(first))
        self.run_one(InstanceType="p4d.24xlarge", Placement={"AvailabilityZone": "us-east-1a"})

    def test_a_launch_that_names_no_zone_goes_where_capacity_is(self):
        admin("POST", "capacity", {"instance_type": "g5.xlarge", "zone": "us-east-1a", "available": 0})
        self.assertEqual(self.run_one()["Placement"]["AvailabilityZone"], "us-east-1b")

    def test_a_launch_gets_what_is_left_above_its_minimum(self):
        admin("POST", "capacity", {"instance_type": "g5.xlarge", "zone": "us-east-1a", "available": 2})
        zone = {"AvailabilityZone": "us-east-1a"}
        run = self.ec2.run_instances(
            ImageId=self.image(), InstanceType="g5.xlarge", MinCount=1, MaxCount=3, Placement=zone
        )
        self.assertEqual(len(run["Instances"]), 2)

    def test_no_spot_capacity_has_its_own_text(self):
        admin("POST", "capacity", {"instance_type": "g5.xlarge", "zone": "us-east-1a", "available": 0})
        message = self.refused(
            "InsufficientInstanceCapacity",
            self.run_one,
            InstanceMarketOptions={"MarketType": "spot"},
            Placement={"AvailabilityZone": "us-east-1a"},
        )
        self.assertEqual(message, "There is no Spot capacity available that matches your request.")

    def test_quotas_count_vcpus(self):
        admin("POST", "quota", {"code": "L-DB2E81BA", "vcpus": 8})
        self.run_one(InstanceType="g5.xlarge")
        message = self.refused("VcpuLimitExceeded", self.run_one, InstanceType="g5.2xlarge")
        self.assertIn("your current vCPU limit of 8", message)
        self.run_one(InstanceType="p4d.24xlarge")
        admin("POST", "quota", {"code": "L-3819A6DF", "vcpus": 0})
        self.refused("MaxSpotInstanceCountExceeded", self.run_one, InstanceMarketOptions={"MarketType": "spot"})

    def test_throttling(self):
        admin("POST", "throttle", {"service": "ec2", "rate_per_second": 0.01})
        self.ec2.describe_vpcs()
        self.refused("RequestLimitExceeded", self.ec2.describe_vpcs)
        self.s3.list_buckets()
        admin("POST", "throttle", {"service": "ec2", "rate_per_second": None})
        self.ec2.describe_vpcs()

    def test_a_limit_of_calls_under_way(self):
        admin("POST", "throttle", {"service": "ec2", "at_once": 1})
        admin("POST", "faults", {"kind": "latency", "action": "DescribeVpcs", "seconds": 0.5})
        admin("DELETE", "calls")
        slow = threading.Thread(target=self.ec2.describe_vpcs)
        slow.start()
        while not admin("GET", "calls")["calls"]:
            time.sleep(0.02)
        self.refused("RequestLimitExceeded", self.ec2.describe_subnets)
        slow.join()
        self.ec2.describe_subnets()
        self.assertEqual([call["at_once"] for call in admin("GET", "calls")["calls"]], [1, 2, 1])
        admin("POST", "throttle", {"service": "ec2", "at_once": None})


class Record(CloudTest):
    def test_calls_are_recorded_in_order_without_secrets(self):
        admin("DELETE", "calls")
        self.run_one(UserData="top secret", ClientToken="one")
        self.s3.list_buckets()
        calls = admin("GET", "calls")["calls"]
        self.assertEqual(
            [(call["service"], call["action"]) for call in calls],
            [("ec2", "DescribeImages"), ("ec2", "RunInstances"), ("s3", "ListBuckets")],
        )
        self.assertEqual(calls[1]["params"]["ClientToken"], "one")
        self.assertEqual(calls[1]["params"]["InstanceType"], "g5.xlarge")
        self.assertNotIn("UserData", calls[1]["params"])
        self.assertNotIn("AKIA", str(calls))
        self.assertEqual(
            [call["action"] for call in admin("GET", "calls?action=ListBuckets")["calls"]], ["ListBuckets"]
        )
        self.assertEqual(len(admin("GET", f"calls?since={calls[0]['sequence']}")["calls"]), 2)

    def test_a_request_id_is_the_same_for_both_sides(self):
        answer = self.ec2.describe_vpcs()["ResponseMetadata"]
        recorded = admin("GET", "calls?action=DescribeVpcs")["calls"][-1]
        self.assertEqual(recorded["request_id"], answer["RequestId"])
        self.assertEqual(recorded["request_id"], answer["HTTPHeaders"]["x-amzn-requestid"])

    def test_counts(self):
        admin("DELETE", "calls")
        self.ec2.describe_vpcs()
        self.refused("InvalidVpcID.NotFound", self.ec2.describe_vpcs, VpcIds=["vpc-0123456789abcdef0"])
        self.kms.list_keys()
        self.assertEqual(admin("GET", "counts")["counts"], {"ec2": {"DescribeVpcs": 2}, "kms": {"ListKeys": 1}})

    def test_reset_empties_everything(self):
        self.s3.create_bucket(Bucket="to-be-forgotten")
        self.ec2.create_placement_group(GroupName="to-be-forgotten")
        admin("POST", "capacity", {"instance_type": "g5.xlarge", "zone": "us-east-1a", "available": 0})
        admin("POST", "reset")
        self.assertEqual(self.s3.list_buckets().get("Buckets", []), [])
        self.assertEqual(self.ec2.describe_placement_groups()["PlacementGroups"], [])
        self.run_one(Placement={"AvailabilityZone": "us-east-1a"})

    def test_an_unknown_action_is_named(self):
        self.assertIn("CreateIpam", self.refused("InvalidAction", self.ec2.create_ipam))

    def test_a_streamed_upload_arrives_whole(self):
        self.s3.create_bucket(Bucket="streams")
        signature = b";chunk-signature=" + b"0" * 64
        body = b"5" + signature + b"\r\nhello\r\n0" + signature + b"\r\n\r\n"
        headers = {
            "Authorization": (
                "AWS4-HMAC-SHA256 Credential=AKIA/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"
            ),
            "Content-Encoding": "aws-chunked",
            "Content-Type": "application/octet-stream",
            "x-amz-content-sha256": "STREAMING-AWS4-HMAC-SHA256-PAYLOAD",
            "x-amz-decoded-content-length": "5",
        }
        urllib.request.urlopen(
            urllib.request.Request(f"{support.address()}/streams/key", method="PUT", data=body, headers=headers)
        ).close()
        self.assertEqual(self.s3.get_object(Bucket="streams", Key="key")["Body"].read(), b"hello")


if __name__ == "__main__":
    unittest.main()

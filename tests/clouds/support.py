"""What the tests of the test clouds share: a running launcher, boto3 clients for it, and its admin endpoint.

One launcher serves a whole `python -m unittest` run; each test case starts from an empty cloud.
"""

import atexit
import functools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request
from pathlib import Path

import boto3
import botocore.config
import botocore.exceptions

LAUNCHER = Path(__file__).resolve().parent / "aws.py"
#: Seconds that the launcher under test keeps objects in transitional states.
SETTLE = 0.15


def start(*arguments, **options):
    """Starts a launcher and returns (process, address) once it is ready."""
    process = subprocess.Popen(
        [sys.executable, str(LAUNCHER), *arguments], stdout=subprocess.PIPE, text=True, **options
    )
    line = process.stdout.readline()
    if not line.startswith("listening on http://127.0.0.1:"):
        process.kill()
        raise RuntimeError(f"the launcher did not start: {line!r}")
    return process, line.split()[-1]


@functools.cache
def address():
    """The address of the launcher that all tests share."""
    process, url = start("--settle", str(SETTLE), "--die-with-parent")
    atexit.register(lambda: (process.send_signal(signal.SIGTERM), process.wait(), process.stdout.close()))
    return url


@functools.cache
def client(service, url=None, retries=0, region="us-east-1", **settings):
    config = botocore.config.Config(
        retries={"total_max_attempts": retries + 1}, s3={"addressing_style": "path"}, **settings
    )
    return boto3.client(
        service,
        endpoint_url=url or address(),
        region_name=region,
        aws_access_key_id="AKIAIOSFODNN7EXAMPLE",
        aws_secret_access_key="example",
        config=config,
    )


def admin(method, path, document=None, url=None):
    """Calls the admin endpoint; returns its JSON, also that of an error."""
    body = None if document is None else json.dumps(document).encode()
    request = urllib.request.Request(f"{url or address()}/_admin/{path}", method=method, data=body)
    try:
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as refused:
        with refused:
            return json.load(refused)


class CloudTest(unittest.TestCase):
    """A test case with an empty cloud, clients made on first use, and helpers for what most tests need."""

    @classmethod
    def setUpClass(cls):
        admin("POST", "reset")

    def tearDown(self):
        admin("DELETE", "faults")

    ec2 = functools.cached_property(lambda self: client("ec2"))
    s3 = functools.cached_property(lambda self: client("s3"))
    kms = functools.cached_property(lambda self: client("kms"))
    iam = functools.cached_property(lambda self: client("iam"))
    autoscaling = functools.cached_property(lambda self: client("autoscaling"))

    def refused(self, code, call, **arguments):
        """Asserts that AWS refuses the call with this error code, and returns its message."""
        with self.assertRaises(botocore.exceptions.ClientError) as caught:
            call(**arguments)
        self.assertEqual(caught.exception.response["Error"]["Code"], code)
        return caught.exception.response["Error"]["Message"]

    def eventually(self, expected, read):
        """Asserts that `read` returns `expected` within two seconds."""
        deadline = time.monotonic() + 2
        while (found := read()) != expected and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertEqual(found, expected)

    def image(self, name="al2023-ami-2023*-kernel-6.1-x86_64"):
        images = self.ec2.describe_images(Owners=["amazon"], Filters=[{"Name": "name", "Values": [name]}])["Images"]
        return max(images, key=lambda image: image["CreationDate"])["ImageId"]

    def run_one(self, **request):
        """Runs one instance and returns it as RunInstances shows it."""
        request = {"ImageId": self.image(), "InstanceType": "g5.xlarge", "MinCount": 1, "MaxCount": 1, **request}
        return self.ec2.run_instances(**request)["Instances"][0]

    def instance(self, instance_id):
        return self.ec2.describe_instances(InstanceIds=[instance_id])["Reservations"][0]["Instances"][0]

    def state(self, instance_id):
        return self.instance(instance_id)["State"]["Name"]

    def instance_count(self):
        reservations = self.ec2.describe_instances()["Reservations"]
        return sum(len(reservation["Instances"]) for reservation in reservations)

    def network(self, zone="us-east-1a", cidr="10.0.0.0/16"):
        """(VPC, subnet, security group) IDs of a new network."""
        vpc = self.ec2.create_vpc(CidrBlock=cidr)["Vpc"]["VpcId"]
        subnet = self.ec2.create_subnet(VpcId=vpc, CidrBlock=cidr.replace("/16", "/24"), AvailabilityZone=zone)
        group = self.ec2.create_security_group(GroupName="nodes", Description="nodes", VpcId=vpc)
        return vpc, subnet["Subnet"]["SubnetId"], group["GroupId"]

    def volumes(self, instance_id):
        """{device: volume} of an instance."""
        filters = [{"Name": "attachment.instance-id", "Values": [instance_id]}]
        return {
            volume["Attachments"][0]["Device"]: volume
            for volume in self.ec2.describe_volumes(Filters=filters)["Volumes"]
        }


def tags(kind, **values):
    return [{"ResourceType": kind, "Tags": [{"Key": key, "Value": value} for key, value in values.items()]}]


def temporary_file():
    handle, name = tempfile.mkstemp()
    os.close(handle)
    return Path(name)

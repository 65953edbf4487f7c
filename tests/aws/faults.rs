//! What a user gets when AWS refuses, slows down or is not consistent yet, and when it takes a spot instance back.

use crate::cloud::{Cloud, IMAGE, Stack};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const TRAINER: &str = r#"
resource "aws_instance" "trainer" {
  ami               = data.aws_ami.ubuntu.id
  instance_type     = "p4d.24xlarge"
  availability_zone = "us-east-1a"
}
"#;

const SPOT: &str = r#"
resource "aws_instance" "spot" {
  ami           = data.aws_ami.ubuntu.id
  instance_type = "g5.xlarge"
  instance_market_options {
    market_type = "spot"
  }
}
"#;

/// An apply that AWS refuses ends within this time; waiting for capacity would take minutes.
const AT_ONCE: Duration = Duration::from_secs(20);

#[test]
fn missing_capacity_is_reported_at_once_with_other_zones_types_and_markets() {
    let Some(cloud) = Cloud::start() else { return };
    let stack = Stack::with(&cloud, &format!("{IMAGE}{TRAINER}"));
    cloud.admin("POST", "capacity", &json!({"instance_type": "p4d.24xlarge", "zone": "us-east-1a", "available": 0}));
    let said = refused_at_once(&cloud, &stack, "RunInstances");
    for part in ["InsufficientInstanceCapacity", "us-east-1b", "p4de.24xlarge", "market_type = \"spot\""] {
        assert!(said.contains(part), "{part}: {said}");
    }
    // The zone that has capacity is a change of one line.
    let moved = TRAINER.replace("us-east-1a", "us-east-1b");
    stack.write("main.tf", &format!("{IMAGE}{moved}"));
    stack.apply();
}

#[test]
fn a_quota_is_reported_at_once_with_its_name_and_how_to_raise_it() {
    let Some(cloud) = Cloud::start() else { return };
    cloud.admin("POST", "quota", &json!({"code": "L-417A185B", "vcpus": 0}));
    cloud.admin("POST", "quota", &json!({"code": "L-3819A6DF", "vcpus": 0}));
    let stack = Stack::with(&cloud, &format!("{IMAGE}{TRAINER}"));
    let said = refused_at_once(&cloud, &stack, "RunInstances");
    for part in ["VcpuLimitExceeded", "Running On-Demand P instances", "L-417A185B", "counts as 96 vCPUs"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    stack.write("main.tf", &format!("{IMAGE}{SPOT}"));
    let said = refused_at_once(&cloud, &stack, "RunInstances");
    for part in ["MaxSpotInstanceCountExceeded", "All G and VT Spot Instance Requests", "L-3819A6DF"] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn a_group_that_gets_no_instances_is_reported_at_once_with_alternatives() {
    let Some(cloud) = Cloud::start() else { return };
    let group = r#"
resource "aws_launch_template" "worker" {
  image_id      = data.aws_ami.ubuntu.id
  instance_type = "p4d.24xlarge"
}
resource "aws_autoscaling_group" "workers" {
  availability_zones = ["us-east-1a"]
  min_size           = 1
  max_size           = 1
  launch_template {
    id = aws_launch_template.worker.id
  }
}
"#;
    let stack = Stack::with(&cloud, &format!("{IMAGE}{group}"));
    cloud.admin("POST", "capacity", &json!({"instance_type": "p4d.24xlarge", "zone": "us-east-1a", "available": 0}));
    let said = refused_at_once(&cloud, &stack, "CreateAutoScalingGroup");
    for part in ["p4d.24xlarge", "us-east-1b", "capacity"] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

/// Applies; AWS refuses, is asked once, and the apply ends at once. Gives what was said.
fn refused_at_once(cloud: &Cloud, stack: &Stack, action: &str) -> String {
    let service = if action == "RunInstances" { "ec2" } else { "autoscaling" };
    let before = cloud.calls(service, action);
    let start = Instant::now();
    let said = stack.gpuform(&["apply", "-auto-approve"], 1);
    let took = start.elapsed();
    assert!(took < AT_ONCE, "it took {took:?}: {said}");
    assert_eq!(cloud.calls(service, action), before + 1, "{said}");
    said
}

#[test]
fn throttled_calls_are_made_again() {
    let Some(cloud) = Cloud::start() else { return };
    let refusals = [
        ("RunInstances", "RequestLimitExceeded", 503),
        ("DescribeInstances", "RequestLimitExceeded", 503),
        ("CreateKey", "ThrottlingException", 400),
        ("CreateBucket", "SlowDown", 503),
        ("HeadBucket", "SlowDown", 503),
        ("CreateVpc", "RequestLimitExceeded", 503),
    ];
    for (action, code, status) in refusals {
        let message = "Slow down.";
        cloud.fault(
            json!({"kind": "error", "action": action, "times": 2, "code": code, "status": status, "message": message}),
        );
    }
    let others = r#"
resource "aws_kms_key" "it" {}
resource "aws_s3_bucket" "it" {}
resource "aws_vpc" "it" {
  cidr_block = "10.0.0.0/16"
}
"#;
    let stack = Stack::with(&cloud, &format!("{IMAGE}{SPOT}{others}"));
    stack.apply();
    assert_eq!(cloud.faults_applied(), 2 * refusals.len() as u64);
    stack.expect_no_changes(&[]);
    assert_eq!(stack.resources().len(), 4);
}

#[test]
fn new_objects_that_cannot_be_seen_yet_are_waited_for() {
    let Some(cloud) = Cloud::start() else { return };
    let creates = [
        "CreateVpc",
        "CreateSubnet",
        "CreateSecurityGroup",
        "CreateRouteTable",
        "CreateInternetGateway",
        "RunInstances",
        "CreateVolume",
        "CreateLaunchTemplate",
        "CreateRole",
        "CreateInstanceProfile",
        "CreatePolicy",
        "CreateBucket",
        "CreateKey",
    ];
    for action in creates {
        cloud.fault(json!({"kind": "stale_reads", "action": action, "times": 2}));
    }
    let resources = r#"
resource "aws_vpc" "it" {
  cidr_block = "10.0.0.0/16"
}
resource "aws_subnet" "it" {
  vpc_id     = aws_vpc.it.id
  cidr_block = "10.0.1.0/24"
}
resource "aws_security_group" "it" {
  vpc_id = aws_vpc.it.id
}
resource "aws_internet_gateway" "it" {
  vpc_id = aws_vpc.it.id
}
resource "aws_route_table" "it" {
  vpc_id = aws_vpc.it.id
  route {
    cidr_block = "0.0.0.0/0"
    gateway_id = aws_internet_gateway.it.id
  }
}
resource "aws_ebs_volume" "it" {
  availability_zone = "us-east-1a"
  size              = 10
}
resource "aws_launch_template" "it" {
  image_id      = data.aws_ami.ubuntu.id
  instance_type = "t3.micro"
}
resource "aws_iam_role" "it" {
  assume_role_policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Action = "sts:AssumeRole", Principal = { Service = "ec2.amazonaws.com" } }]
  })
}
resource "aws_iam_instance_profile" "it" {
  role = aws_iam_role.it.name
}
resource "aws_iam_policy" "it" {
  policy = jsonencode({ Version = "2012-10-17", Statement = [{ Effect = "Allow", Action = "s3:*", Resource = "*" }] })
}
resource "aws_iam_role_policy_attachment" "it" {
  role       = aws_iam_role.it.name
  policy_arn = aws_iam_policy.it.arn
}
resource "aws_s3_bucket" "it" {}
resource "aws_s3_bucket_versioning" "it" {
  bucket = aws_s3_bucket.it.id
  versioning_configuration {
    status = "Enabled"
  }
}
resource "aws_kms_key" "it" {}
"#;
    let stack = Stack::with(&cloud, &format!("{IMAGE}{SPOT}{resources}"));
    stack.apply();
    assert!(cloud.faults_applied() >= creates.len() as u64);
    cloud.admin("DELETE", "faults", &Value::Null);
    stack.expect_no_changes(&[]);
}

#[test]
fn an_interrupted_spot_instance_is_drift_and_comes_back_with_the_next_apply() {
    let Some(cloud) = Cloud::start() else { return };
    let stack = Stack::with(&cloud, &format!("{IMAGE}{SPOT}"));
    stack.apply();
    let first = stack.attribute("aws_instance.spot", "id");
    cloud.admin("POST", "spot-interrupt", &json!({"instance_id": first}));
    let deadline = Instant::now() + Duration::from_secs(10);
    while !cloud.ids("instance").is_empty() {
        assert!(Instant::now() < deadline, "the instance goes on");
    }
    let said = stack.gpuform(&["plan", "-detailed-exitcode", "-out=plan"], 2);
    assert!(said.contains("aws_instance.spot will be created"), "{said}");
    let plan: Value = serde_json::from_str(&stack.gpuform(&["show", "-json", "plan"], 0)).unwrap();
    assert_eq!(plan["resource_drift"][0]["address"], "aws_instance.spot");
    assert_eq!(plan["resource_drift"][0]["change"]["actions"], json!(["delete"]));
    stack.apply();
    assert_ne!(stack.attribute("aws_instance.spot", "id"), first);
    assert_eq!(cloud.ids("instance").len(), 1);
}

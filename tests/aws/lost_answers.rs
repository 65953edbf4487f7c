//! Creates whose answers are lost make one object: when the connection breaks after the effect, and when gpuform or the
//! provider is killed between intent and answer.

use crate::cloud::{Cloud, GPUFORM, IMAGE, Stack, text};
use serde_json::{Value, json};
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Calls that make something, each of which loses the answer to its first call.
const CREATES: &[(&str, &[&str])] = &[
    (
        "network",
        &[
            "CreateVpc",
            "CreateSubnet",
            "CreateInternetGateway",
            "AttachInternetGateway",
            "AllocateAddress",
            "CreateNatGateway",
            "CreateRouteTable",
            "CreateRoute",
            "AssociateRouteTable",
            "CreateNetworkAcl",
            "CreateNetworkAclEntry",
            "ReplaceNetworkAclAssociation",
        ],
    ),
    ("security", &["CreateSecurityGroup", "AuthorizeSecurityGroupIngress", "AuthorizeSecurityGroupEgress"]),
    ("kms", &["CreateKey", "CreateAlias", "EnableKeyRotation"]),
    (
        "storage",
        &[
            "CreateBucket",
            "PutBucketVersioning",
            "PutBucketEncryption",
            "PutBucketLifecycleConfiguration",
            "PutPublicAccessBlock",
            "PutBucketPolicy",
            "PutObject",
            "CreateRole",
            "PutRolePolicy",
            "CreatePolicy",
            "AttachRolePolicy",
            "CreateInstanceProfile",
            "AddRoleToInstanceProfile",
        ],
    ),
    ("instances", &["ImportKeyPair", "CreatePlacementGroup", "RunInstances"]),
    ("volumes", &["RunInstances", "CreateVolume", "AttachVolume", "CreateSnapshot", "CreateImage"]),
    ("templates", &["CreateLaunchTemplate", "RunInstances", "CreateAutoScalingGroup", "PutScalingPolicy"]),
];

#[test]
fn a_connection_that_breaks_after_the_effect_leaves_no_second_network() {
    break_connections(&["network", "security"]);
}

#[test]
fn a_connection_that_breaks_after_the_effect_leaves_no_second_key_bucket_or_role() {
    break_connections(&["kms", "storage"]);
}

#[test]
fn a_connection_that_breaks_after_the_effect_leaves_no_second_instance() {
    break_connections(&["instances", "volumes", "templates"]);
}

/// Applies with broken connections; whatever was made twice is left when the rest has been destroyed.
fn break_connections(groups: &[&str]) {
    let Some(cloud) = Cloud::start() else { return };
    let before = cloud.inventory();
    for (config, actions) in CREATES.iter().filter(|(config, _)| groups.contains(config)) {
        let stack = Stack::of(&cloud, config);
        for action in *actions {
            cloud.fault(json!({"kind": "drop_after", "action": action, "times": 1}));
        }
        stack.apply();
        let applied = cloud.faults_applied();
        assert_eq!(applied, actions.len() as u64, "{config}: {}", cloud.admin("GET", "faults", &Value::Null));
        cloud.admin("DELETE", "faults", &Value::Null);
        stack.expect_no_changes(&[]);
        stack.gpuform(&["destroy", "-auto-approve"], 0);
        cloud.expect(&before);
    }
}

/// Actions, each of which makes one object of a kind as `inventory.py` names it.
const KILLED: &[(&str, &str)] = &[
    ("RunInstances", "instance"),
    ("CreateVolume", "volume"),
    ("CreateVpc", "vpc"),
    ("CreateBucket", "bucket"),
    ("CreateKey", "key"),
    ("CreateRole", "role"),
];

const OBJECTS: &str = r#"
resource "aws_instance" "it" {
  ami           = data.aws_ami.ubuntu.id
  instance_type = "g5.xlarge"
  instance_market_options {
    market_type = "spot"
  }
}
resource "aws_ebs_volume" "it" {
  availability_zone = "us-east-1a"
  size              = 10
}
resource "aws_vpc" "it" {
  cidr_block = "10.0.0.0/16"
}
resource "aws_s3_bucket" "it" {
  bucket = "killed"
}
resource "aws_kms_key" "it" {}
resource "aws_iam_role" "it" {
  name = "killed"
  assume_role_policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Action = "sts:AssumeRole", Principal = { Service = "ec2.amazonaws.com" } }]
  })
}
"#;

#[test]
fn what_was_asked_for_before_gpuform_was_killed_is_found_by_the_next_apply() {
    kill_in_the_middle(|mut apply| {
        apply.kill().unwrap();
        apply.wait().unwrap();
    });
}

#[test]
fn what_was_asked_for_before_the_provider_was_killed_is_found_by_the_next_apply() {
    kill_in_the_middle(|apply| {
        for provider in children(apply.id()) {
            assert!(Command::new("kill").args(["-9", &provider.to_string()]).status().unwrap().success());
        }
        let output = apply.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    });
}

/// Kills while the cloud has got every create and answered none. When they have had their effect, the next apply ends
/// with one object of each, and a destroy leaves none.
fn kill_in_the_middle(kill: impl Fn(Child)) {
    let Some(cloud) = Cloud::start() else { return };
    let stack = Stack::with(&cloud, &format!("{IMAGE}{OBJECTS}"));
    let before = cloud.inventory();
    kill(start_slowly(&cloud, &stack));
    let deadline = Instant::now() + Duration::from_secs(30);
    while more(&before, &cloud.inventory()).contains(&0) {
        assert!(Instant::now() < deadline, "not every create had its effect");
    }
    cloud.admin("DELETE", "faults", &Value::Null);
    let said = stack.gpuform(&["apply", "-auto-approve"], 0);
    let others = KILLED.len() - 1;
    assert!(said.contains(&format!("(and {others} more similar warnings elsewhere)")), "{said}");
    assert!(said.contains("Object of an interrupted create found"), "{said}");
    // The instance has brought a volume of its own.
    assert_eq!(more(&before, &cloud.inventory()), [1, 2, 1, 1, 1, 1], "{said}");
    assert_eq!(stack.resources().len(), KILLED.len(), "{said}");
    stack.expect_no_changes(&[]);
    stack.gpuform(&["destroy", "-auto-approve"], 0);
    cloud.expect(&before);
}

/// Starts an apply and returns while the cloud has got the creates but not carried them out.
fn start_slowly(cloud: &Cloud, stack: &Stack) -> Child {
    for (action, _) in KILLED {
        cloud.fault(json!({"kind": "latency", "action": action, "seconds": 5, "times": 1}));
    }
    let mut apply = stack.command(GPUFORM, &["apply", "-auto-approve"]).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while cloud.faults_applied() < KILLED.len() as u64 {
        assert!(Instant::now() < deadline, "not every create was called");
        assert!(apply.try_wait().unwrap().is_none(), "the apply ended too soon");
        sleep(Duration::from_millis(20));
    }
    apply
}

/// How many more objects of each kind there are.
fn more(before: &Value, after: &Value) -> Vec<usize> {
    let count = |all: &Value, kind: &str| all[kind].as_array().unwrap().len();
    KILLED.iter().map(|(_, kind)| count(after, kind) - count(before, kind)).collect()
}

/// The processes that a process has started.
fn children(parent: u32) -> Vec<u32> {
    let listed = Command::new("ps").args(["-A", "-o", "pid=,ppid="]).output().unwrap();
    let number = |text: Option<&str>| text.and_then(|t| t.parse::<u32>().ok());
    let of_line = |line: &str| {
        let mut numbers = line.split_whitespace();
        let (process, of) = (number(numbers.next())?, number(numbers.next())?);
        (of == parent).then_some(process)
    };
    String::from_utf8_lossy(&listed.stdout).lines().filter_map(of_line).collect()
}

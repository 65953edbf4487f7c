//! How many requests a refresh sends, beside one for each object, and what becomes of an apply that AWS throttles.

use crate::cloud::{Cloud, GPUFORM, IMAGE, Stack, text};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The requests sent since the record was emptied, by action.
fn requests(cloud: &Cloud) -> BTreeMap<String, u64> {
    let counts = cloud.admin("GET", "counts", &Value::Null);
    let services = counts["counts"].as_object().unwrap();
    let actions = services.values().flat_map(|s| s.as_object().unwrap());
    actions.map(|(action, number)| (action.clone(), number.as_u64().unwrap())).collect()
}

const MIXED: &str = r#"
resource "aws_vpc" "it" {
  cidr_block = "10.0.0.0/16"
}
resource "aws_internet_gateway" "it" {
  vpc_id = aws_vpc.it.id
}
resource "aws_subnet" "it" {
  count             = 4
  vpc_id            = aws_vpc.it.id
  cidr_block        = cidrsubnet("10.0.0.0/16", 8, count.index)
  availability_zone = "us-east-1a"
}
resource "aws_route_table" "it" {
  count  = 4
  vpc_id = aws_vpc.it.id
}
resource "aws_route_table_association" "it" {
  count          = 4
  route_table_id = aws_route_table.it[count.index].id
  subnet_id      = aws_subnet.it[count.index].id
}
resource "aws_security_group" "it" {
  count  = 4
  name   = "group-${count.index}"
  vpc_id = aws_vpc.it.id
}
resource "aws_vpc_security_group_ingress_rule" "it" {
  count             = 12
  security_group_id = aws_security_group.it[count.index % 4].id
  cidr_ipv4         = "10.0.${count.index}.0/24"
  ip_protocol       = "tcp"
  from_port         = 22
  to_port           = 22
}
resource "aws_eip" "it" {
  count = 4
}
resource "aws_placement_group" "it" {
  count    = 2
  name     = "group-${count.index}"
  strategy = "cluster"
}
resource "aws_key_pair" "it" {
  count      = 2
  key_name   = "key-${count.index}"
  public_key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPmUT2UuDYSUjHNfUf8nHWMYxHPjmJjmdIdYTlFUiCoC someone@example"
}
resource "aws_instance" "it" {
  count         = 18
  ami           = data.aws_ami.ubuntu.id
  instance_type = "t3.micro"
  subnet_id     = aws_subnet.it[0].id
}
resource "aws_ebs_volume" "it" {
  count             = 6
  availability_zone = "us-east-1a"
  size              = 10
}
resource "aws_volume_attachment" "it" {
  count       = 6
  device_name = "/dev/sdf"
  volume_id   = aws_ebs_volume.it[count.index].id
  instance_id = aws_instance.it[count.index].id
}
resource "aws_ebs_snapshot" "it" {
  count     = 3
  volume_id = aws_ebs_volume.it[count.index].id
}
"#;

#[test]
fn a_refresh_of_many_kinds_asks_for_each_kind_and_not_for_each_object() {
    let Some(cloud) = Cloud::start() else { return };
    let stack = Stack::with(&cloud, &format!("{IMAGE}{MIXED}"));
    stack.apply();
    // The second refresh: by then it is known since which launch the instances are as they are.
    cloud.admin("DELETE", "calls", &Value::Null);
    stack.expect_no_changes(&[]);
    let sent = requests(&cloud);
    let (total, objects) = (sent.values().sum::<u64>(), stack.resources().len() as u64);
    eprintln!("{objects} objects, {total} requests: {sent:?}");
    assert_eq!(objects, 71);
    // Alone each object needs one request at least, an instance seven, a VPC seven.
    let alone = objects + 18 * 6 + 6;
    assert!(total * 4 <= alone, "{total} requests, {alone} one by one: {sent:?}");
    // What is asked for in two ways, such as volumes by their own ID and by their instance's, takes two; a machine that
    // is busy with other things may split each once.
    for (action, number) in &sent {
        assert!(*number <= 4, "{action}: {number} of {sent:?}");
    }
    assert_eq!(sent.get("DescribeInstanceAttribute"), None);
}

const NODES: &str = r#"
variable "nodes" {
  type = number
}
resource "aws_instance" "node" {
  count         = var.nodes
  ami           = "IMAGE"
  instance_type = "g5.xlarge"
}
"#;

/// A state in which as many instances are managed as there are IDs, all alike the one that is there.
fn multiply(stack: &Stack, ids: &[String]) {
    let path = stack.path("terraform.tfstate");
    let mut state: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    let nodes = &mut state["resources"][0]["instances"];
    let one = nodes[0].clone();
    let all = ids.iter().enumerate().map(|(index, id)| {
        let mut node = one.clone();
        node["index_key"] = index.into();
        node["attributes"]["id"] = id.as_str().into();
        node
    });
    *nodes = all.collect();
    std::fs::write(path, state.to_string()).unwrap();
}

#[test]
fn five_hundred_instances_refresh_in_ten_requests() {
    let Some(cloud) = Cloud::start() else { return };
    let launched = cloud.boto(
        "image = ec2.describe_images(Owners=['099720109477'])['Images'][0]['ImageId']\n\
         tags = [{'ResourceType': 'instance', 'Tags': [{'Key': 'team', 'Value': 'ml'}]}]\n\
         run = ec2.run_instances(ImageId=image, InstanceType='g5.xlarge', MinCount=500, MaxCount=500, TagSpecifications=tags)\n\
         found = {'image': image, 'ids': [i['InstanceId'] for i in run['Instances']]}",
    );
    let ids: Vec<String> = serde_json::from_value(launched["ids"].clone()).unwrap();
    assert_eq!(ids.len(), 500);
    let stack = Stack::with(&cloud, &NODES.replace("IMAGE", launched["image"].as_str().unwrap()));
    stack.write("import.tf", &format!("import {{\n  to = aws_instance.node[0]\n  id = \"{}\"\n}}\n", ids[0]));
    stack.gpuform(&["apply", "-auto-approve", "-var=nodes=1"], 0);
    std::fs::remove_file(stack.path("import.tf")).unwrap();
    multiply(&stack, &ids);

    cloud.admin("DELETE", "calls", &Value::Null);
    stack.expect_no_changes(&["-var=nodes=500"]);
    let sent = requests(&cloud);
    eprintln!(
        "500 instances: {sent:?}; one by one 500 DescribeInstances, 500 DescribeVolumes, 2000 DescribeInstanceAttribute"
    );
    assert!(sent.values().sum::<u64>() <= 10, "{sent:?}");
    // The refresh was a real one: what was done to one of them shows.
    cloud.boto(&format!("ec2.create_tags(Resources=['{}'], Tags=[{{'Key': 'team', 'Value': 'else'}}])", ids[321]));
    let output = stack.command(GPUFORM, &["plan", "-detailed-exitcode", "-var=nodes=500"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    assert!(text(&output).contains("aws_instance.node[321] will be updated in-place"), "{}", text(&output));
}

const MANY: &str = r#"
resource "aws_ebs_volume" "it" {
  count             = 20
  availability_zone = "us-east-1a"
  size              = 10 + count.index
}
resource "aws_security_group" "it" {
  count = 10
  name  = "group-${count.index}"
}
resource "aws_kms_key" "it" {
  count = 10
}
resource "aws_s3_bucket" "it" {
  count = 4
}
"#;

#[test]
fn an_apply_that_is_throttled_slows_down_and_makes_everything_once() {
    let Some(cloud) = Cloud::start() else { return };
    let before = cloud.inventory();
    for (service, rate) in [("ec2", 15), ("kms", 10), ("s3", 15)] {
        cloud.admin("POST", "throttle", &json!({"service": service, "rate_per_second": rate}));
    }
    let stack = Stack::with(&cloud, MANY);
    stack.gpuform(&["apply", "-auto-approve", "-parallelism=40"], 0);
    let refused = cloud.admin("GET", "calls", &Value::Null);
    let refused = refused["calls"].as_array().unwrap().iter().filter(|c| is_refusal(c)).count();
    assert!(refused > 10, "{refused} calls were refused");
    assert_eq!(stack.resources().len(), 44);
    stack.expect_no_changes(&["-parallelism=40"]);
    for service in ["ec2", "kms", "s3"] {
        cloud.admin("POST", "throttle", &json!({"service": service, "rate_per_second": null}));
    }
    stack.gpuform(&["destroy", "-auto-approve", "-parallelism=40"], 0);
    cloud.expect(&before);
}

fn is_refusal(call: &Value) -> bool {
    matches!(call["error"].as_str(), Some("RequestLimitExceeded" | "ThrottlingException" | "SlowDown"))
}

/// Calls of one kind that are not joined: three for each VPC.
const VPCS: &str = r#"
resource "aws_vpc" "it" {
  count      = 60
  cidr_block = "10.${count.index}.0.0/16"
}
"#;

#[test]
fn refused_calls_lower_the_number_under_way_and_answers_raise_it() {
    let Some(cloud) = Cloud::start() else { return };
    let stack = Stack::with(&cloud, VPCS);
    stack.gpuform(&["apply", "-auto-approve", "-parallelism=40"], 0);
    // Each call takes a moment, so that what is sent together is under way together.
    cloud.fault(json!({"kind": "latency", "service": "ec2", "seconds": 0.1}));
    cloud.admin("POST", "throttle", &json!({"service": "ec2", "at_once": 8}));
    cloud.admin("DELETE", "calls", &Value::Null);
    stack.expect_no_changes(&[]);
    let calls = cloud.admin("GET", "calls", &json!(null));
    let calls: Vec<&Value> = calls["calls"].as_array().unwrap().iter().filter(|c| c["service"] == "ec2").collect();
    let under_way: Vec<u64> = calls.iter().map(|c| c["at_once"].as_u64().unwrap()).collect();
    let refused = calls.iter().filter(|c| is_refusal(c)).count();
    // As many as are started with at first; then about as many as are allowed, and again and again more than the fewest.
    let (begin, rest) = under_way.split_at(under_way.len() / 2);
    let peak = begin.iter().max().copied().unwrap_or_default();
    let mean = rest.iter().sum::<u64>() as f64 / rest.len() as f64;
    let lowest = rest.iter().position(|n| Some(n) == rest.iter().min()).unwrap_or_default();
    let later = rest[lowest..].iter().max().copied().unwrap_or_default();
    eprintln!(
        "{} calls, {refused} refused; at once {peak}, then {mean:.1}, {later} after {}: {under_way:?}",
        calls.len(),
        rest[lowest]
    );
    assert!(refused > 0, "no call was refused");
    assert!(peak > 16, "{peak}");
    assert!(mean <= 12.0, "{mean}");
    assert!(later > rest[lowest], "{later}");
}

//! Settings of the provider that are wrong or empty: what a user reads, and how soon.

use crate::cloud::{Cloud, GPUFORM, Stack, text};
use std::time::{Duration, Instant};

const VPC: &str = "resource \"aws_vpc\" \"it\" {\n  cidr_block = \"10.0.0.0/16\"\n}\n";

#[test]
fn an_address_where_nobody_listens_is_named_soon() {
    let Some(cloud) = Cloud::start() else { return };
    let stack = Stack::with(&cloud, VPC);
    // Nobody listens on port 1; the host name does not exist.
    for address in ["http://127.0.0.1:1", "http://cloud.invalid:8080"] {
        let start = Instant::now();
        let said = stack.gpuform(&["plan", &format!("-var=endpoint={address}")], 1);
        let took = start.elapsed();
        assert!(took < Duration::from_secs(30), "it took {took:?}: {said}");
        assert!(said.contains(&format!("{address} did not answer")), "{said}");
    }
}

#[test]
fn a_create_that_reaches_nobody_fails_soon_and_leaves_nothing() {
    let Some(cloud) = Cloud::start() else { return };
    let stack = Stack::with(&cloud, VPC);
    let provider = "provider \"aws\" {\n  endpoints {\n    ec2 = \"http://127.0.0.1:1\"\n  }\n}\n";
    stack.write("provider.tf", provider);
    stack.write("main.tf", &format!("terraform {{\n  required_providers {{\n    aws = {{\n      source = \"gpuform/aws\"\n    }}\n  }}\n}}\n{VPC}"));
    let start = Instant::now();
    let said = stack.gpuform(&["apply", "-auto-approve"], 1);
    let took = start.elapsed();
    assert!(took < Duration::from_secs(40), "it took {took:?}: {said}");
    assert!(said.contains("http://127.0.0.1:1 did not answer"), "{said}");
    assert_eq!(stack.resources().len(), 0);
}

#[test]
fn an_empty_address_in_the_environment_means_none() {
    let Some(cloud) = Cloud::start() else { return };
    let stack = Stack::with(&cloud, VPC);
    for name in ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_EC2"] {
        let output = stack.command(GPUFORM, &["plan"]).env(name, "").output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{name}: {}", text(&output));
    }
}

#[test]
fn what_cannot_be_an_address_a_region_or_credentials_is_an_error() {
    let Some(cloud) = Cloud::start() else { return };
    let stack = Stack::with(&cloud, VPC);
    for address in ["not an address", "ftp://127.0.0.1", "http://"] {
        let said = stack.gpuform(&["plan", &format!("-var=endpoint={address}")], 1);
        assert!(said.contains("Invalid endpoint"), "{address}: {said}");
    }
    let provider = std::fs::read_to_string(stack.path("provider.tf")).unwrap();
    stack.write("provider.tf", &provider.replace("\"us-east-1\"", "\"nowhere\""));
    let said = stack.gpuform(&["plan"], 1);
    assert!(said.contains("\"nowhere\" does not look like a region"), "{said}");
    stack.write("provider.tf", &provider.replace("  secret_key        = \"test\"\n", ""));
    let said = stack.gpuform(&["plan"], 1);
    assert!(said.contains("Incomplete credentials"), "{said}");
}

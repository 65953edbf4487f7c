//! Every resource, in groups (`tests/aws/configs`): applied, unchanged in the next plan, changed in place, taken over by
//! import without a change, brought back after a change made elsewhere, and destroyed without a trace.

use crate::cloud::{Cloud, GPUFORM, Stack, text};
use serde_json::Value;

/// What one group goes through.
struct Group {
    /// The configuration's name.
    config: &'static str,
    /// Variables for the second apply, which replaces nothing but what `replaced` names.
    changes: &'static [&'static str],
    replaced: &'static [&'static str],
    /// Resources that an import cannot tell all arguments of: the attributes that the next apply stores.
    untold: &'static [(&'static str, &'static [&'static str])],
    /// Changes made elsewhere: the resource and the attribute in which each shows (none where the object is gone), and
    /// what is done, in Python with `a` for the resource's attributes.
    drift: &'static [(&'static str, &'static str, &'static str)],
}

const NETWORK: Group = Group {
    config: "network",
    changes: &["name=other", "public_ip=false"],
    replaced: &[],
    untold: &[],
    drift: &[
        (
            "aws_vpc.this",
            "enable_dns_hostnames",
            "ec2.modify_vpc_attribute(VpcId=a['id'], EnableDnsHostnames={'Value': True})",
        ),
        (
            "aws_subnet.public",
            "map_public_ip_on_launch",
            "ec2.modify_subnet_attribute(SubnetId=a['id'], MapPublicIpOnLaunch={'Value': True})",
        ),
        (
            "aws_internet_gateway.this",
            "tags",
            "ec2.create_tags(Resources=[a['id']], Tags=[{'Key': 'Name', 'Value': 'else'}])",
        ),
        ("aws_eip.nat", "tags_all", "ec2.create_tags(Resources=[a['id']], Tags=[{'Key': 'new', 'Value': 'tag'}])"),
        ("aws_nat_gateway.this", "tags", "ec2.delete_tags(Resources=[a['id']], Tags=[{'Key': 'Name'}])"),
        ("aws_route_table.public", "route", "ec2.delete_route(RouteTableId=a['id'], DestinationIpv6CidrBlock='::/0')"),
        ("aws_route.nat", "", "ec2.delete_route(RouteTableId=a['route_table_id'], DestinationCidrBlock='0.0.0.0/0')"),
        ("aws_route_table_association.public", "", "ec2.disassociate_route_table(AssociationId=a['id'])"),
        (
            "aws_network_acl.this",
            "ingress",
            "ec2.delete_network_acl_entry(NetworkAclId=a['id'], RuleNumber=100, Egress=False)",
        ),
    ],
};

const SECURITY: Group = Group {
    config: "security",
    changes: &["port=8443", "note=other"],
    replaced: &[],
    untold: &[("aws_security_group.separate", &["revoke_rules_on_delete"])],
    drift: &[
        (
            "aws_security_group.inline",
            "ingress",
            "ec2.authorize_security_group_ingress(GroupId=a['id'], IpProtocol='tcp', FromPort=1, ToPort=2, CidrIp='10.9.0.0/16')",
        ),
        (
            "aws_vpc_security_group_ingress_rule.http",
            "to_port",
            "ec2.modify_security_group_rules(GroupId=a['security_group_id'], SecurityGroupRules=[{\n\
             \x20   'SecurityGroupRuleId': a['id'], 'SecurityGroupRule':\n\
             \x20   {'IpProtocol': 'tcp', 'FromPort': 80, 'ToPort': 81, 'CidrIpv4': '0.0.0.0/0'}}])",
        ),
        (
            "aws_vpc_security_group_egress_rule.all",
            "",
            "ec2.revoke_security_group_egress(GroupId=a['security_group_id'], SecurityGroupRuleIds=[a['id']])",
        ),
    ],
};

const KMS: Group = Group {
    config: "kms",
    changes: &["description=Other", "rotation=false", "enabled=false"],
    replaced: &[],
    untold: &[("aws_kms_key.volumes", &["deletion_window_in_days"])],
    drift: &[
        ("aws_kms_key.volumes", "is_enabled", "kms.enable_key(KeyId=a['id'])"),
        ("aws_kms_key.signing", "description", "kms.update_key_description(KeyId=a['id'], Description='else')"),
        ("aws_kms_alias.volumes", "", "kms.delete_alias(AliasName=a['id'])"),
    ],
};

const STORAGE: Group = Group {
    config: "storage",
    changes: &["status=Suspended"],
    replaced: &[],
    untold: &[
        ("aws_s3_bucket.data", &["force_destroy"]),
        // Its document refers to the bucket, and is read after the bucket's update.
        ("aws_s3_bucket_policy.data", &["policy"]),
        ("aws_s3_object.readme", &["content", "etag", "version_id"]),
    ],
    drift: &[
        (
            "aws_s3_bucket.data",
            "tags",
            "s3.put_bucket_tagging(Bucket=a['id'], Tagging={'TagSet': [{'Key': 'use', 'Value': 'else'}]})",
        ),
        (
            "aws_s3_bucket_versioning.data",
            "versioning_configuration",
            "s3.put_bucket_versioning(Bucket=a['bucket'], VersioningConfiguration={'Status': 'Enabled'})",
        ),
        (
            "aws_s3_bucket_server_side_encryption_configuration.data",
            "rule",
            "s3.put_bucket_encryption(Bucket=a['bucket'], ServerSideEncryptionConfiguration={'Rules': [\n\
             \x20   {'ApplyServerSideEncryptionByDefault': {'SSEAlgorithm': 'AES256'}}]})",
        ),
        ("aws_s3_bucket_lifecycle_configuration.data", "", "s3.delete_bucket_lifecycle(Bucket=a['bucket'])"),
        ("aws_s3_bucket_public_access_block.data", "", "s3.delete_public_access_block(Bucket=a['bucket'])"),
        ("aws_s3_bucket_policy.data", "", "s3.delete_bucket_policy(Bucket=a['bucket'])"),
        ("aws_s3_object.readme", "etag", "s3.put_object(Bucket=a['bucket'], Key=a['key'], Body=b'else')"),
        ("aws_iam_role.node", "description", "iam.update_role(RoleName=a['id'], Description='else')"),
        ("aws_iam_role_policy.node", "", "iam.delete_role_policy(RoleName=a['role'], PolicyName=a['name'])"),
        (
            "aws_iam_policy.node",
            "policy",
            "iam.create_policy_version(PolicyArn=a['arn'], SetAsDefault=True, PolicyDocument=json.dumps({'Version':\n\
             \x20   '2012-10-17', 'Statement': [{'Effect': 'Allow', 'Action': 's3:*', 'Resource': '*'}]}))",
        ),
        (
            "aws_iam_role_policy_attachment.node",
            "",
            "iam.detach_role_policy(RoleName=a['role'], PolicyArn=a['policy_arn'])",
        ),
        (
            "aws_iam_instance_profile.node",
            "role",
            "iam.remove_role_from_instance_profile(InstanceProfileName=a['name'], RoleName=a['role'])",
        ),
    ],
};

const INSTANCES: Group = Group {
    config: "instances",
    changes: &["name=other", "type=g5.2xlarge"],
    replaced: &[],
    untold: &[("aws_instance.spot", &["volume_tags"])],
    drift: &[
        (
            "aws_key_pair.login",
            "tags_all",
            "ec2.create_tags(Resources=[a['key_pair_id']], Tags=[{'Key': 'new', 'Value': 'tag'}])",
        ),
        (
            "aws_placement_group.close",
            "tags_all",
            "ec2.create_tags(Resources=[a['placement_group_id']], Tags=[{'Key': 'new', 'Value': 'tag'}])",
        ),
        (
            "aws_instance.trainer",
            "metadata_options",
            "ec2.modify_instance_metadata_options(InstanceId=a['id'], HttpTokens='optional')",
        ),
        ("aws_instance.plain", "", "ec2.terminate_instances(InstanceIds=[a['id']])"),
    ],
};

const VOLUMES: Group = Group {
    config: "volumes",
    changes: &["size=30"],
    replaced: &[],
    untold: &[("aws_ami_from_instance.golden", &["snapshot_without_reboot"])],
    drift: &[
        ("aws_ebs_volume.data", "iops", "ec2.modify_volume(VolumeId=a['id'], Iops=5000)"),
        ("aws_volume_attachment.data", "", "ec2.detach_volume(VolumeId=a['volume_id'])"),
        (
            "aws_ebs_snapshot.data",
            "tags",
            "ec2.create_tags(Resources=[a['id']], Tags=[{'Key': 'Name', 'Value': 'else'}])",
        ),
        (
            "aws_ami_from_instance.golden",
            "tags",
            "ec2.create_tags(Resources=[a['id']], Tags=[{'Key': 'Name', 'Value': 'else'}])",
        ),
    ],
};

const TEMPLATES: Group = Group {
    config: "templates",
    changes: &["type=g5.2xlarge"],
    replaced: &["aws_instance.from_template"],
    // An instance does not say which of its tags the template gave.
    untold: &[
        ("aws_autoscaling_group.workers", &["instance_refresh"]),
        ("aws_instance.from_template", &["tags", "tags_all"]),
        ("aws_launch_template.worker", &["default_version", "update_default_version"]),
    ],
    drift: &[
        (
            "aws_launch_template.worker",
            "default_version",
            "ec2.modify_launch_template(LaunchTemplateId=a['id'], DefaultVersion='1')",
        ),
        (
            "aws_autoscaling_group.workers",
            "max_size",
            "autoscaling.update_auto_scaling_group(AutoScalingGroupName=a['name'], MaxSize=9)",
        ),
        (
            "aws_autoscaling_policy.one_more",
            "",
            "autoscaling.delete_policy(AutoScalingGroupName=a['autoscaling_group_name'], PolicyName=a['name'])",
        ),
    ],
};

#[test]
fn networks() {
    NETWORK.round_trip();
}

#[test]
fn security_groups() {
    SECURITY.round_trip();
}

#[test]
fn keys() {
    KMS.round_trip();
}

#[test]
fn buckets_and_roles() {
    STORAGE.round_trip();
}

#[test]
fn instances() {
    INSTANCES.round_trip();
}

#[test]
fn volumes_and_images() {
    VOLUMES.round_trip();
}

#[test]
fn templates_and_groups() {
    TEMPLATES.round_trip();
}

/// Resources without tags, as they have none at AWS either; a group's are blocks of their own.
const UNTAGGED: &[&str] = &[
    "aws_autoscaling_group",
    "aws_autoscaling_policy",
    "aws_iam_role_policy",
    "aws_iam_role_policy_attachment",
    "aws_kms_alias",
    "aws_route",
    "aws_route_table_association",
    "aws_s3_bucket_lifecycle_configuration",
    "aws_s3_bucket_policy",
    "aws_s3_bucket_public_access_block",
    "aws_s3_bucket_server_side_encryption_configuration",
    "aws_s3_bucket_versioning",
    "aws_volume_attachment",
];

/// `docs/aws.md` lists every resource and data source, and no other; all have tags that AWS can tag.
#[test]
fn the_list_is_complete_and_tags_are_everywhere() {
    let Some(cloud) = Cloud::start() else { return };
    let stack = Stack::with(&cloud, "");
    let schemas: Value = serde_json::from_str(&stack.gpuform(&["providers", "schema", "-json"], 0)).unwrap();
    let schema = &schemas["provider_schemas"]["registry.terraform.io/gpuform/aws"];
    let resources = schema["resource_schemas"].as_object().unwrap();
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/aws.md")).unwrap();
    let listed = |heading: &str| -> Vec<String> {
        let section = page.split_once(heading).unwrap().1.split("\n## ").next().unwrap();
        let first_cells = section.lines().filter_map(|l| l.strip_prefix("| `")?.split(" |").next());
        first_cells.flat_map(|cell| cell.split('`')).filter(|n| n.starts_with("aws_")).map(str::to_owned).collect()
    };
    for (heading, known) in
        [("## Resources", resources), ("## Data sources", schema["data_source_schemas"].as_object().unwrap())]
    {
        let (mut listed, mut known) = (listed(heading), known.keys().cloned().collect::<Vec<_>>());
        listed.sort();
        known.sort();
        assert_eq!(listed, known, "{heading}");
    }
    for (name, schema) in resources {
        let tagged = ["tags", "tags_all"].iter().all(|a| schema["block"]["attributes"].get(a).is_some());
        assert_eq!(tagged, !UNTAGGED.contains(&name.as_str()), "{name}");
    }
}

/// What data sources find, in the figures of AWS's price and type lists.
#[test]
fn images_types_zones_and_prices() {
    let Some(cloud) = Cloud::start() else { return };
    let stack = Stack::of(&cloud, "catalog");
    stack.apply();
    let outputs: Value = serde_json::from_str(&stack.gpuform(&["output", "-json"], 0)).unwrap();
    assert_eq!(outputs["gpus"]["value"], 8);
    assert_eq!(outputs["gpu_memory"]["value"], 8 * 40 * 1024);
    assert!(outputs["zones"]["value"].as_array().unwrap().iter().any(|z| z == "us-east-1a"));
    assert!(outputs["spot_price"]["value"].as_str().unwrap().parse::<f64>().unwrap() > 0.0);
    assert!(outputs["image"]["value"].as_str().unwrap().starts_with("Deep Learning Base"));
    stack.expect_no_changes(&[]);
}

impl Group {
    fn round_trip(&self) {
        let Some(cloud) = Cloud::start() else { return };
        let before = cloud.inventory();
        let stack = Stack::of(&cloud, self.config);
        stack.apply();
        stack.expect_no_changes(&[]);
        let variables: Vec<String> = self.changes.iter().map(|c| format!("-var={c}")).collect();
        let variables: Vec<&str> = variables.iter().map(String::as_str).collect();
        self.change(&stack, &variables);
        self.import(&cloud, &stack, &variables);
        self.drift(&cloud, &stack, &variables);
        stack.gpuform(&[&["destroy", "-auto-approve"], variables.as_slice()].concat(), 0);
        cloud.expect(&before);
    }

    /// Other values of variables are updates in place.
    fn change(&self, stack: &Stack, variables: &[&str]) {
        let said = stack.gpuform(&[&["apply", "-auto-approve"], variables].concat(), 0);
        let replaced: Vec<&str> = said.lines().filter_map(|l| l.trim().strip_suffix(" must be replaced")).collect();
        let replaced: Vec<&str> = replaced.iter().map(|l| l.trim_start_matches("# ")).collect();
        assert_eq!(replaced, self.replaced, "{said}");
        stack.expect_no_changes(variables);
    }

    /// A new state that imports every object needs no change but the arguments that no import can tell.
    fn import(&self, cloud: &Cloud, stack: &Stack, variables: &[&str]) {
        let fresh = Stack::of(cloud, self.config);
        let resources = stack.resources();
        let blocks = resources.iter().map(|r| {
            let (to, id) = (r["address"].as_str().unwrap(), import_id(r));
            format!("import {{\n  to = {to}\n  id = \"{id}\"\n}}\n")
        });
        fresh.write("imports.tf", &blocks.collect::<String>());
        fresh.gpuform(&[&["plan", "-out=plan"], variables].concat(), 0);
        let plan: Value = serde_json::from_str(&fresh.gpuform(&["show", "-json", "plan"], 0)).unwrap();
        for change in plan["resource_changes"].as_array().unwrap() {
            let address = change["address"].as_str().unwrap();
            let known = self.untold.iter().find(|(a, _)| *a == address).map(|(_, names)| *names).unwrap_or_default();
            assert_eq!(differences(&change["change"]), known, "{address} is not as it was imported: {change:#}");
        }
        fresh.gpuform(&["apply", "-auto-approve", "plan"], 0);
        fresh.expect_no_changes(variables);
    }

    /// Each change made elsewhere shows in the next plan, and an apply takes it back.
    fn drift(&self, cloud: &Cloud, stack: &Stack, variables: &[&str]) {
        let resources = stack.resources();
        let mut script = String::new();
        for (address, _, line) in self.drift {
            let resource = resources.iter().find(|r| r["address"] == *address).unwrap_or_else(|| panic!("{address}"));
            script += &format!("a = json.loads({})\n{line}\n", Value::from(resource["values"].to_string()));
        }
        cloud.boto(&script);
        let arguments = [&["plan", "-detailed-exitcode", "-out=drift"], variables].concat();
        let output = stack.command(GPUFORM, &arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", text(&output));
        let plan: Value = serde_json::from_str(&stack.gpuform(&["show", "-json", "drift"], 0)).unwrap();
        let drift = plan["resource_drift"].as_array().unwrap();
        for (address, attribute, _) in self.drift {
            let Some(found) = drift.iter().find(|d| d["address"] == *address) else {
                panic!("{address} shows no drift")
            };
            let change = &found["change"];
            if attribute.is_empty() {
                assert_eq!(change["actions"], serde_json::json!(["delete"]), "{address}");
            } else {
                assert!(differences(change).contains(attribute), "{address}: {attribute} shows no drift in {change:#}");
            }
        }
        stack.gpuform(&["apply", "-auto-approve", "drift"], 0);
        stack.expect_no_changes(variables);
    }
}

/// The attributes that an update would change.
fn differences(change: &Value) -> Vec<&str> {
    if change["actions"] == serde_json::json!(["no-op"]) || change["actions"] == serde_json::json!(["read"]) {
        return Vec::new();
    }
    let Some(before) = change["before"].as_object() else { return vec!["all of it"] };
    let changed = |(name, value): &(&String, &Value)| **value != change["after"][name.as_str()];
    before.iter().filter(changed).map(|(name, _)| name.as_str()).collect()
}

/// By what a resource is imported: its ID, but for those that are found by what they connect.
fn import_id(resource: &Value) -> String {
    let of = |name: &str| resource["values"][name].as_str().unwrap_or_default();
    match resource["type"].as_str().unwrap() {
        "aws_route" => format!("{}_{}", of("route_table_id"), of("destination_cidr_block")),
        "aws_route_table_association" => format!("{}/{}", of("subnet_id"), of("route_table_id")),
        "aws_volume_attachment" => format!("{}:{}:{}", of("device_name"), of("volume_id"), of("instance_id")),
        "aws_iam_role_policy_attachment" => format!("{}/{}", of("role"), of("policy_arn")),
        "aws_s3_object" => format!("{}/{}", of("bucket"), of("key")),
        "aws_autoscaling_policy" => format!("{}/{}", of("autoscaling_group_name"), of("name")),
        _ => of("id").to_owned(),
    }
}

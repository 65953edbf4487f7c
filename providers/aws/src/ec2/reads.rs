//! Reads of EC2's objects, joined: concurrent questions for objects of one kind become one Describe call. Resources
//! read by these and never by a Describe call for one object. What EC2 tells about one object at a time is listed in
//! `docs/aws.md`.
//!
//! Most are asked for by filter and not by ID: an ID that does not exist makes AWS refuse all of the call, a filter's
//! value that matches nothing does not. Instances, which can be seen for an hour after their end, are asked for by ID,
//! as more fit into a call; snapshots and images, as a filter would go through all public ones.

use super::util::{filter, values};
use crate::error::Answer;
use aws_sdk_ec2::Client;
use aws_sdk_ec2::types as ec2;
use gpuform_provider_sdk::prelude::*;
use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

/// The values that a filter may have, by the documentation of EC2's API.
const FILTER_VALUES: usize = 200;
/// The IDs that a call may name, by the same.
const IDS: usize = 1000;
/// Up to this number of instances everything is read at every refresh.
const FEW_INSTANCES: usize = 16;

/// One joined read for each kind of object. The keys are IDs; names for key pairs, placement groups and, where that is
/// said, launch templates.
pub struct Reads {
    pub addresses: Batcher<String, ec2::Address>,
    pub associations: Batcher<String, ec2::RouteTableAssociation>,
    /// Of instances that have CPU credits; others are an error.
    pub cpu_credits: Batcher<String, ec2::InstanceCreditSpecification>,
    pub images: Batcher<String, ec2::Image>,
    pub instances: Batcher<String, ec2::Instance>,
    /// The volumes attached to an instance.
    pub instance_volumes: Batcher<String, ec2::Volume>,
    pub internet_gateways: Batcher<String, ec2::InternetGateway>,
    pub key_pairs: Batcher<String, ec2::KeyPairInfo>,
    pub launch_templates: Batcher<String, ec2::LaunchTemplate>,
    pub launch_template_names: Batcher<String, ec2::LaunchTemplate>,
    pub nat_gateways: Batcher<String, ec2::NatGateway>,
    pub network_acls: Batcher<String, ec2::NetworkAcl>,
    pub placement_groups: Batcher<String, ec2::PlacementGroup>,
    pub route_tables: Batcher<String, ec2::RouteTable>,
    pub security_groups: Batcher<String, ec2::SecurityGroup>,
    pub security_group_rules: Batcher<String, ec2::SecurityGroupRule>,
    pub snapshots: Batcher<String, ec2::Snapshot>,
    pub spot_requests: Batcher<String, ec2::SpotInstanceRequest>,
    pub subnets: Batcher<String, ec2::Subnet>,
    pub volumes: Batcher<String, ec2::Volume>,
    pub volume_modifications: Batcher<String, ec2::VolumeModification>,
    pub vpcs: Batcher<String, ec2::Vpc>,
    /// The default ACL of a VPC.
    pub vpc_acls: Batcher<String, ec2::NetworkAcl>,
    /// The default security group of a VPC.
    pub vpc_groups: Batcher<String, ec2::SecurityGroup>,
    /// The main route table of a VPC.
    pub vpc_tables: Batcher<String, ec2::RouteTable>,
    always_all: bool,
    seen: Mutex<HashSet<String>>,
}

/// A joined read: how a call for `$ids` is made and its pages collected, and the objects of a page with their keys.
macro_rules! joined {
    ($ec2:ident, $most:expr, $doing:literal, |$ids:ident| $pages:expr, |$page:ident| $objects:expr) => {{
        let client = $ec2.clone();
        Batcher::new($most, move |$ids: Vec<String>| {
            let $ec2 = client.clone();
            async move {
                let pages: Vec<_> = $pages.await.or_fail($doing)?;
                let mut found = Vec::new();
                for $page in &pages {
                    found.extend($objects.filter_map(|(key, object)| Some((key?.to_owned(), object.clone()))));
                }
                Ok(found)
            }
        })
    }};
}

/// Collects the pages of a call, or its only one.
macro_rules! pages {
    ($request:expr) => {
        $request.into_paginator().send().try_collect()
    };
    ($request:expr, one) => {
        async { $request.send().await.map(|page| vec![page]) }
    };
}

impl Reads {
    /// `always_all`: what cannot be joined is read for every instance at every refresh.
    pub fn new(ec2: &Client, always_all: bool) -> Reads {
        Reads {
            addresses: joined!(
                ec2,
                FILTER_VALUES,
                "Reading addresses",
                |ids| pages!(ec2.describe_addresses().filters(values("allocation-id", ids)), one),
                |page| page.addresses().iter().map(|a| (a.allocation_id(), a))
            ),
            associations: joined!(
                ec2,
                FILTER_VALUES,
                "Reading route table associations",
                |ids| pages!(
                    ec2.describe_route_tables().filters(values("association.route-table-association-id", ids))
                ),
                |page| page
                    .route_tables()
                    .iter()
                    .flat_map(|t| t.associations())
                    .map(|a| (a.route_table_association_id(), a))
            ),
            cpu_credits: joined!(
                ec2,
                IDS,
                "Reading CPU credits of instances",
                |ids| pages!(ec2.describe_instance_credit_specifications().set_instance_ids(Some(ids))),
                |page| page.instance_credit_specifications().iter().map(|c| (c.instance_id(), c))
            ),
            images: joined!(
                ec2,
                IDS,
                "Reading images",
                |ids| pages!(ec2.describe_images().set_image_ids(Some(ids)).include_deprecated(true)),
                |page| page.images().iter().map(|i| (i.image_id(), i))
            ),
            instances: joined!(
                ec2,
                IDS,
                "Reading instances",
                |ids| pages!(ec2.describe_instances().set_instance_ids(Some(ids))),
                |page| page.reservations().iter().flat_map(|r| r.instances()).map(|i| (i.instance_id(), i))
            ),
            instance_volumes: joined!(
                ec2,
                FILTER_VALUES,
                "Reading volumes of instances",
                |ids| pages!(ec2.describe_volumes().filters(values("attachment.instance-id", ids))),
                |page| page.volumes().iter().flat_map(|v| v.attachments().iter().map(move |a| (a.instance_id(), v)))
            ),
            internet_gateways: joined!(
                ec2,
                FILTER_VALUES,
                "Reading internet gateways",
                |ids| pages!(ec2.describe_internet_gateways().filters(values("internet-gateway-id", ids))),
                |page| page.internet_gateways().iter().map(|g| (g.internet_gateway_id(), g))
            ),
            key_pairs: joined!(
                ec2,
                FILTER_VALUES,
                "Reading key pairs",
                |ids| pages!(ec2.describe_key_pairs().filters(values("key-name", ids)).include_public_key(true), one),
                |page| page.key_pairs().iter().map(|k| (k.key_name(), k))
            ),
            launch_templates: joined!(
                ec2,
                FILTER_VALUES,
                "Reading launch templates",
                |ids| pages!(ec2.describe_launch_templates().set_launch_template_ids(Some(ids))),
                |page| page.launch_templates().iter().map(|t| (t.launch_template_id(), t))
            ),
            launch_template_names: joined!(
                ec2,
                FILTER_VALUES,
                "Reading launch templates",
                |ids| pages!(ec2.describe_launch_templates().filters(values("launch-template-name", ids))),
                |page| page.launch_templates().iter().map(|t| (t.launch_template_name(), t))
            ),
            nat_gateways: joined!(
                ec2,
                FILTER_VALUES,
                "Reading NAT gateways",
                |ids| pages!(ec2.describe_nat_gateways().filter(values("nat-gateway-id", ids))),
                |page| page.nat_gateways().iter().map(|g| (g.nat_gateway_id(), g))
            ),
            network_acls: joined!(
                ec2,
                FILTER_VALUES,
                "Reading network ACLs",
                |ids| pages!(ec2.describe_network_acls().filters(values("network-acl-id", ids))),
                |page| page.network_acls().iter().map(|a| (a.network_acl_id(), a))
            ),
            placement_groups: joined!(
                ec2,
                FILTER_VALUES,
                "Reading placement groups",
                |ids| pages!(ec2.describe_placement_groups().filters(values("group-name", ids)), one),
                |page| page.placement_groups().iter().map(|g| (g.group_name(), g))
            ),
            route_tables: joined!(
                ec2,
                FILTER_VALUES,
                "Reading route tables",
                |ids| pages!(ec2.describe_route_tables().filters(values("route-table-id", ids))),
                |page| page.route_tables().iter().map(|t| (t.route_table_id(), t))
            ),
            security_groups: joined!(
                ec2,
                FILTER_VALUES,
                "Reading security groups",
                |ids| pages!(ec2.describe_security_groups().filters(values("group-id", ids))),
                |page| page.security_groups().iter().map(|g| (g.group_id(), g))
            ),
            security_group_rules: joined!(
                ec2,
                FILTER_VALUES,
                "Reading security group rules",
                |ids| pages!(ec2.describe_security_group_rules().filters(values("security-group-rule-id", ids))),
                |page| page.security_group_rules().iter().map(|r| (r.security_group_rule_id(), r))
            ),
            snapshots: joined!(
                ec2,
                IDS,
                "Reading snapshots",
                |ids| pages!(ec2.describe_snapshots().set_snapshot_ids(Some(ids))),
                |page| page.snapshots().iter().map(|s| (s.snapshot_id(), s))
            ),
            spot_requests: joined!(
                ec2,
                FILTER_VALUES,
                "Reading spot requests",
                |ids| pages!(ec2.describe_spot_instance_requests().filters(values("spot-instance-request-id", ids))),
                |page| page.spot_instance_requests().iter().map(|r| (r.spot_instance_request_id(), r))
            ),
            subnets: joined!(
                ec2,
                FILTER_VALUES,
                "Reading subnets",
                |ids| pages!(ec2.describe_subnets().filters(values("subnet-id", ids))),
                |page| page.subnets().iter().map(|s| (s.subnet_id(), s))
            ),
            volumes: joined!(
                ec2,
                FILTER_VALUES,
                "Reading volumes",
                |ids| pages!(ec2.describe_volumes().filters(values("volume-id", ids))),
                |page| page.volumes().iter().map(|v| (v.volume_id(), v))
            ),
            volume_modifications: joined!(
                ec2,
                FILTER_VALUES,
                "Reading modifications of volumes",
                |ids| pages!(ec2.describe_volumes_modifications().filters(values("volume-id", ids))),
                |page| page.volumes_modifications().iter().map(|m| (m.volume_id(), m))
            ),
            vpcs: joined!(
                ec2,
                FILTER_VALUES,
                "Reading VPCs",
                |ids| pages!(ec2.describe_vpcs().filters(values("vpc-id", ids))),
                |page| page.vpcs().iter().map(|v| (v.vpc_id(), v))
            ),
            vpc_acls: joined!(
                ec2,
                FILTER_VALUES,
                "Reading VPCs' network ACLs",
                |ids| pages!(
                    ec2.describe_network_acls().filters(values("vpc-id", ids)).filters(filter("default", "true"))
                ),
                |page| page.network_acls().iter().map(|a| (a.vpc_id(), a))
            ),
            vpc_groups: joined!(
                ec2,
                FILTER_VALUES,
                "Reading VPCs' security groups",
                |ids| pages!(
                    ec2.describe_security_groups()
                        .filters(values("vpc-id", ids))
                        .filters(filter("group-name", "default"))
                ),
                |page| page.security_groups().iter().map(|g| (g.vpc_id(), g))
            ),
            vpc_tables: joined!(
                ec2,
                FILTER_VALUES,
                "Reading VPCs' route tables",
                |ids| pages!(
                    ec2.describe_route_tables()
                        .filters(values("vpc-id", ids))
                        .filters(filter("association.main", "true"))
                ),
                |page| page.route_tables().iter().map(|t| (t.vpc_id(), t))
            ),
            always_all,
            seen: Mutex::default(),
        }
    }

    /// Notes that an instance is refreshed.
    pub fn sees_instance(&self, id: &str) {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).insert(id.to_owned());
    }

    /// Whether what cannot be joined is read for every instance: so far there are few, or the user wants it.
    pub fn all_of_instances(&self) -> bool {
        self.always_all || self.seen.lock().unwrap_or_else(PoisonError::into_inner).len() <= FEW_INSTANCES
    }
}

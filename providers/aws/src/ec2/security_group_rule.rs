//! `aws_vpc_security_group_ingress_rule` and `aws_vpc_security_group_egress_rule`: one rule of a group, with an ID and
//! tags of its own. API: AuthorizeSecurityGroup…, DescribeSecurityGroupRules, ModifySecurityGroupRules,
//! RevokeSecurityGroup….

use super::net::{filled, protocol, same_protocol};
use super::permissions::pair;
use super::util::filter;
use crate::client::Aws;
use crate::error::Answer;
use crate::once;
use crate::tags::{self, Tags};
use aws_sdk_ec2::types::{
    IpPermission, IpRange, Ipv6Range, PrefixListId, ResourceType, SecurityGroupRule, SecurityGroupRuleRequest,
    SecurityGroupRuleUpdate,
};
use gpuform_provider_sdk::prelude::*;

/// What a rule says, whatever its direction.
#[derive(Clone, PartialEq)]
struct Terms {
    protocol: String,
    /// -1 where all ports are meant.
    ports: (i32, i32),
    peer: Peer,
    description: String,
}

#[derive(Clone, PartialEq)]
enum Peer {
    Ipv4(String),
    Ipv6(String),
    PrefixList(String),
    Group(String),
}

/// The two resources differ in their names and in two calls.
macro_rules! rule {
    ($name:ident, $type:literal, $doc:tt, $egress:literal, $authorize:ident, $revoke:ident) => {
        #[doc = $doc]
        #[derive(Model, Clone, PartialEq, Default)]
        pub struct $name {
            /// The rule's ID.
            #[attr(computed)]
            pub id: Attr<String>,
            /// The rule's ARN.
            #[attr(computed)]
            pub arn: Attr<String>,
            /// The rule's ID.
            #[attr(computed)]
            pub security_group_rule_id: Attr<String>,
            /// The group that the rule belongs to.
            #[attr(required, force_new)]
            pub security_group_id: Attr<String>,
            /// What the rule is for.
            #[attr(optional, validate = length(0..=255))]
            pub description: Attr<String>,
            /// The protocol by name or number; `-1` for all.
            #[attr(required, suppress = same_protocol)]
            pub ip_protocol: Attr<String>,
            /// The first port, or the ICMP type.
            #[attr(optional, validate = range(-1..=65535))]
            pub from_port: Attr<i32>,
            /// The last port, or the ICMP code.
            #[attr(optional, validate = range(-1..=65535))]
            pub to_port: Attr<i32>,
            /// The other side, an IPv4 range.
            #[attr(optional, validate = ipv4_cidr(), exactly_one_of = ["cidr_ipv4", "cidr_ipv6", "prefix_list_id", "referenced_security_group_id"])]
            pub cidr_ipv4: Attr<String>,
            /// The other side, an IPv6 range.
            #[attr(optional, validate = ipv6_cidr(), exactly_one_of = ["cidr_ipv4", "cidr_ipv6", "prefix_list_id", "referenced_security_group_id"])]
            pub cidr_ipv6: Attr<String>,
            /// The other side, a prefix list.
            #[attr(optional, exactly_one_of = ["cidr_ipv4", "cidr_ipv6", "prefix_list_id", "referenced_security_group_id"])]
            pub prefix_list_id: Attr<String>,
            /// The other side, a security group.
            #[attr(optional, exactly_one_of = ["cidr_ipv4", "cidr_ipv6", "prefix_list_id", "referenced_security_group_id"])]
            pub referenced_security_group_id: Attr<String>,
            /// Tags.
            #[attr(optional)]
            pub tags: Attr<Tags>,
            /// Tags with the provider's default tags.
            #[attr(computed)]
            pub tags_all: Attr<Tags>,
        }

        impl Resource for $name {
            type Client = Aws;
            const TYPE: &'static str = $type;

            async fn create(&mut self, ctx: &Context<Aws>) -> Result<()> {
                let aws = ctx.client();
                let lookup = || lookup(aws, self.security_group_id.as_deref(), $egress, self.terms());
                let id = once::once(ctx, || self.request(aws), lookup).await?;
                self.id.set(id);
                Ok(())
            }

            async fn read(mut self, ctx: &Context<Aws>) -> Result<Option<Self>> {
                let aws = ctx.client();
                let id = self.id.require("id")?.clone();
                let Some(rule) = find(aws, &id).await?.filter(|r| r.is_egress() == Some($egress)) else {
                    return Ok(None);
                };
                self.arn.set(aws.arn("ec2", &format!("security-group-rule/{id}")).await?);
                self.security_group_rule_id.set(id);
                self.security_group_id.set(rule.group_id().unwrap_or_default());
                let now = Terms::found(&rule);
                self.description.refresh(now.description);
                self.ip_protocol.set(now.protocol);
                for (attr, port) in [(&mut self.from_port, now.ports.0), (&mut self.to_port, now.ports.1)] {
                    if attr.is_set() || port != -1 {
                        attr.set(port);
                    }
                }
                let peer = |p: Option<&str>| Attr::from(p.filter(|p| !p.is_empty()));
                self.cidr_ipv4 = peer(rule.cidr_ipv4());
                self.cidr_ipv6 = peer(rule.cidr_ipv6());
                self.prefix_list_id = peer(rule.prefix_list_id());
                self.referenced_security_group_id = referenced(&rule).into();
                tags::refresh(tags::from_ec2(rule.tags()), &mut self.tags, &mut self.tags_all, aws);
                Ok(Some(self))
            }

            async fn update(&mut self, prior: &Self, ctx: &Context<Aws>) -> Result<()> {
                let (aws, id) = (ctx.client(), self.id.require("id")?);
                let terms = self.terms();
                if terms != prior.terms() {
                    modify(aws, self.security_group_id.require("security_group_id")?, id, &terms).await?;
                }
                tags::update_ec2(aws, id, &prior.tags_all, &self.tags_all).await
            }

            async fn delete(self, ctx: &Context<Aws>) -> Result<()> {
                let (aws, id) = (ctx.client(), self.id.require("id")?);
                let request = aws.ec2.$revoke().group_id(self.security_group_id.require("security_group_id")?);
                let done = request.security_group_rule_ids(id).send().await.or_fail("Deleting the security group rule");
                match done {
                    Err(e) if e.has_code(&["InvalidPermission.NotFound"]) => return Ok(()),
                    other => other?,
                };
                let gone = Wait::until_gone("security group rule");
                ctx.wait_until_gone(&gone, || async { Ok(find(aws, id).await?.map(|_| ("present".into(), ()))) }).await
            }

            async fn modify_plan(plan: &mut Plan<'_, Self>) -> Result<()> {
                // A rule cannot change the kind of its other side.
                let peers: [(&str, fn(&Self) -> &Attr<String>); 4] = [
                    ("cidr_ipv4", |r| &r.cidr_ipv4),
                    ("cidr_ipv6", |r| &r.cidr_ipv6),
                    ("prefix_list_id", |r| &r.prefix_list_id),
                    ("referenced_security_group_id", |r| &r.referenced_security_group_id),
                ];
                for (name, attr) in peers {
                    let changes = |p: &Self| attr(p).is_set() && attr(&plan.planned).is_null();
                    if plan.prior.as_ref().is_some_and(changes) {
                        plan.replace(name);
                    }
                }
                let client = plan.client();
                tags::plan(&plan.planned.tags, &mut plan.planned.tags_all, client);
                Ok(())
            }

            fn validate(&self, problems: &mut Problems) {
                let protocol = filled(&self.ip_protocol).map(|p| protocol(&p)).unwrap_or_default();
                for (name, port) in [("from_port", &self.from_port), ("to_port", &self.to_port)] {
                    if matches!(protocol.as_str(), "tcp" | "udp" | "icmp" | "icmpv6") && port.is_null() {
                        problems.error(name, "Missing argument", format!("A rule for {protocol} needs \"{name}\"."));
                    }
                }
            }

            async fn find_by_token(&self, _token: &str, ctx: &Context<Aws>) -> Result<Option<Self>> {
                let (aws, group) = (ctx.client(), self.security_group_id.as_deref());
                let Some(id) = lookup(aws, group, $egress, self.terms()).await? else { return Ok(None) };
                let mut found = self.clone();
                found.id.set(id);
                found.read(ctx).await
            }
        }

        impl $name {
            fn terms(&self) -> Terms {
                let text = |a: &Attr<String>, peer: fn(String) -> Peer| filled(a).map(peer);
                let peer = text(&self.cidr_ipv4, Peer::Ipv4)
                    .or_else(|| text(&self.cidr_ipv6, Peer::Ipv6))
                    .or_else(|| text(&self.prefix_list_id, Peer::PrefixList));
                let group = || Peer::Group(self.referenced_security_group_id.or_default());
                Terms {
                    protocol: protocol(&self.ip_protocol.or_default()),
                    ports: (self.from_port.unwrap_or(-1), self.to_port.unwrap_or(-1)),
                    peer: peer.unwrap_or_else(group),
                    description: self.description.or_default(),
                }
            }

            async fn request(&self, aws: &Aws) -> Result<String> {
                let tags = tags::specifications(ResourceType::SecurityGroupRule, &self.tags_all.or_default());
                let request = aws
                    .ec2
                    .$authorize()
                    .group_id(self.security_group_id.or_default())
                    .ip_permissions(self.terms().permission())
                    .set_tag_specifications(tags);
                let made = request.customize().config_override(once::ec2()).send().await;
                let made = made.or_fail("Creating the security group rule")?;
                let id = made.security_group_rules().first().and_then(|r| r.security_group_rule_id());
                id.map(str::to_owned).ok_or_else(|| Error::new("AWS returned no security group rule"))
            }
        }
    };
}

rule!(
    IngressRule,
    "aws_vpc_security_group_ingress_rule",
    "A rule of a security group for incoming traffic.",
    false,
    authorize_security_group_ingress,
    revoke_security_group_ingress
);
rule!(
    EgressRule,
    "aws_vpc_security_group_egress_rule",
    "A rule of a security group for outgoing traffic.",
    true,
    authorize_security_group_egress,
    revoke_security_group_egress
);

impl Terms {
    fn found(rule: &SecurityGroupRule) -> Terms {
        let text = |t: Option<&str>, peer: fn(String) -> Peer| t.filter(|t| !t.is_empty()).map(|t| peer(t.to_owned()));
        let peer = text(rule.cidr_ipv4(), Peer::Ipv4)
            .or_else(|| text(rule.cidr_ipv6(), Peer::Ipv6))
            .or_else(|| text(rule.prefix_list_id(), Peer::PrefixList));
        Terms {
            protocol: protocol(rule.ip_protocol().unwrap_or("-1")),
            ports: (rule.from_port().unwrap_or(-1), rule.to_port().unwrap_or(-1)),
            peer: peer.unwrap_or_else(|| Peer::Group(referenced(rule).unwrap_or_default())),
            description: rule.description().unwrap_or_default().to_owned(),
        }
    }

    /// The same whatever its description.
    fn same_traffic(&self, other: &Terms) -> bool {
        // For all protocols there are no ports, whatever is written.
        let ports = self.protocol == "-1" || self.ports == other.ports;
        self.protocol == other.protocol && ports && self.peer == other.peer
    }

    /// The ports, where there are any.
    fn ports(&self) -> Option<(i32, i32)> {
        (self.protocol != "-1").then_some(self.ports)
    }

    fn permission(&self) -> IpPermission {
        let text = Some(self.description.clone()).filter(|d| !d.is_empty());
        let p = IpPermission::builder()
            .ip_protocol(&self.protocol)
            .set_from_port(self.ports().map(|p| p.0))
            .set_to_port(self.ports().map(|p| p.1));
        match &self.peer {
            Peer::Ipv4(c) => p.ip_ranges(IpRange::builder().cidr_ip(c).set_description(text).build()),
            Peer::Ipv6(c) => p.ipv6_ranges(Ipv6Range::builder().cidr_ipv6(c).set_description(text).build()),
            Peer::PrefixList(l) => {
                p.prefix_list_ids(PrefixListId::builder().prefix_list_id(l).set_description(text).build())
            }
            Peer::Group(g) => p.user_id_group_pairs(pair(g).set_description(text).build()),
        }
        .build()
    }
}

/// The group on the other side, with its account if that is another one.
fn referenced(rule: &SecurityGroupRule) -> Option<String> {
    let group = rule.referenced_group_info()?;
    let id = group.group_id()?;
    match group.user_id() {
        Some(user) if !user.is_empty() && Some(user) != rule.group_owner_id() => Some(format!("{user}/{id}")),
        _ => Some(id.to_owned()),
    }
}

async fn modify(aws: &Aws, group: &str, id: &str, terms: &Terms) -> Result<()> {
    let rule = SecurityGroupRuleRequest::builder()
        .ip_protocol(&terms.protocol)
        .set_from_port(terms.ports().map(|p| p.0))
        .set_to_port(terms.ports().map(|p| p.1))
        .set_description(Some(terms.description.clone()).filter(|d| !d.is_empty()));
    let rule = match &terms.peer {
        Peer::Ipv4(c) => rule.cidr_ipv4(c),
        Peer::Ipv6(c) => rule.cidr_ipv6(c),
        Peer::PrefixList(l) => rule.prefix_list_id(l),
        Peer::Group(g) => rule.referenced_group_id(g.split_once('/').map_or(g.as_str(), |(_, id)| id)),
    };
    let update = SecurityGroupRuleUpdate::builder().security_group_rule_id(id).security_group_rule(rule.build());
    let request = aws.ec2.modify_security_group_rules().group_id(group).security_group_rules(update.build());
    request.send().await.or_fail("Changing the security group rule").map(drop)
}

async fn find(aws: &Aws, id: &str) -> Result<Option<SecurityGroupRule>> {
    aws.reads.security_group_rules.get(id).await
}

/// The rule of the group that is for the same traffic; there is one at most.
async fn lookup(aws: &Aws, group: Option<&str>, egress: bool, terms: Terms) -> Result<Option<String>> {
    let request = aws.ec2.describe_security_group_rules().filters(filter("group-id", group.unwrap_or_default()));
    let answer = request.send().await.or_fail("Looking for the security group rule")?;
    let same = |r: &&SecurityGroupRule| r.is_egress() == Some(egress) && terms.same_traffic(&Terms::found(r));
    Ok(answer.security_group_rules().iter().find(same).and_then(|r| r.security_group_rule_id()).map(str::to_owned))
}

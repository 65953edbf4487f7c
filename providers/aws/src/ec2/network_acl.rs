//! `aws_network_acl`. API: CreateNetworkAcl, DescribeNetworkAcls, CreateNetworkAclEntry, ReplaceNetworkAclEntry,
//! DeleteNetworkAclEntry, ReplaceNetworkAclAssociation, DeleteNetworkAcl.

use super::net::filled;
use super::util::filter;
use crate::client::Aws;
use crate::error::Answer;
use crate::once;
use crate::tags::{self, Tags};
use aws_sdk_ec2::types::{IcmpTypeCode, NetworkAcl as Found, NetworkAclEntry, PortRange, ResourceType, RuleAction};
use gpuform_provider_sdk::codec::AttrValue;
use gpuform_provider_sdk::prelude::*;

/// The number of the rule at the end of every ACL that denies what no other rule allows.
const LAST_RULE: i32 = 32767;

/// A network ACL: rules for the traffic into and out of subnets.
#[derive(Model, Clone, PartialEq, Default)]
pub struct NetworkAcl {
    /// The ACL's ID.
    #[attr(optional, computed)]
    pub id: Attr<String>,
    /// The ACL's ARN.
    #[attr(computed)]
    pub arn: Attr<String>,
    /// The VPC.
    #[attr(required, force_new)]
    pub vpc_id: Attr<String>,
    /// The subnets that the ACL applies to.
    #[attr(optional, computed)]
    pub subnet_ids: Attr<Set<String>>,
    /// Rules for incoming traffic. Where none is written, they are left to `aws_network_acl_rule`.
    #[attr(optional, computed, suppress = same_rules)]
    pub ingress: Attr<Set<Rule>>,
    /// Rules for outgoing traffic.
    #[attr(optional, computed, suppress = same_rules)]
    pub egress: Attr<Set<Rule>>,
    /// The account that owns the ACL.
    #[attr(computed)]
    pub owner_id: Attr<String>,
    /// Tags.
    #[attr(optional)]
    pub tags: Attr<Tags>,
    /// Tags with the provider's default tags.
    #[attr(optional, computed)]
    pub tags_all: Attr<Tags>,
}

/// A rule of a network ACL; the lowest number that matches decides.
#[derive(Model, Clone, PartialEq, Default)]
pub struct Rule {
    /// `allow` or `deny`.
    #[attr(optional, validate = one_of_any_case(["allow", "deny"]))]
    pub action: Attr<String>,
    /// An IPv4 range.
    #[attr(optional)]
    pub cidr_block: Attr<String>,
    /// The first port.
    #[attr(optional)]
    pub from_port: Attr<i32>,
    /// The ICMP code.
    #[attr(optional)]
    pub icmp_code: Attr<i32>,
    /// The ICMP type.
    #[attr(optional)]
    pub icmp_type: Attr<i32>,
    /// An IPv6 range.
    #[attr(optional)]
    pub ipv6_cidr_block: Attr<String>,
    /// The protocol by name or number; `-1` for all.
    #[attr(optional)]
    pub protocol: Attr<String>,
    /// The rule's number.
    #[attr(optional, validate = range(1..=32766))]
    pub rule_no: Attr<i32>,
    /// The last port.
    #[attr(optional)]
    pub to_port: Attr<i32>,
}

/// A rule in one spelling.
#[derive(Clone, PartialEq, Eq)]
struct Entry {
    number: i32,
    protocol: String,
    action: String,
    cidr: Option<String>,
    ipv6: Option<String>,
    ports: (i32, i32),
    /// Type and code.
    icmp: (i32, i32),
}

impl Resource for NetworkAcl {
    type Client = Aws;
    const TYPE: &'static str = "aws_network_acl";

    async fn create(&mut self, ctx: &Context<Aws>) -> Result<()> {
        let aws = ctx.client();
        let id = self.request(aws, ctx.client_token()).await?;
        self.id.set(id.clone());
        let wait = Wait::until("network ACL", &["present"]);
        ctx.wait_for(&wait, || state(aws, &id)).await?;
        change_rules(aws, &id, false, &Attr::Null, &self.ingress).await?;
        change_rules(aws, &id, true, &Attr::Null, &self.egress).await?;
        self.associate(aws, &id, &Set::new()).await
    }

    async fn read(mut self, ctx: &Context<Aws>) -> Result<Option<Self>> {
        let aws = ctx.client();
        let id = self.id.require("id")?.clone();
        let Some(acl) = find(aws, &id).await? else { return Ok(None) };
        let owner = acl.owner_id().unwrap_or_default();
        self.arn.set(format!("arn:{}:ec2:{}:{owner}:network-acl/{id}", aws.partition(), aws.region));
        self.owner_id.set(owner);
        self.vpc_id.set(acl.vpc_id().unwrap_or_default());
        let subnets = acl.associations().iter().filter_map(|a| a.subnet_id()).map(str::to_owned);
        self.subnet_ids.set(subnets.collect::<Set<String>>());
        self.ingress.set(reported(&acl, false, &self.ingress.or_default()));
        self.egress.set(reported(&acl, true, &self.egress.or_default()));
        tags::refresh(tags::from_ec2(acl.tags()), &mut self.tags, &mut self.tags_all, aws);
        Ok(Some(self))
    }

    async fn update(&mut self, prior: &Self, ctx: &Context<Aws>) -> Result<()> {
        let aws = ctx.client();
        let id = self.id.require("id")?;
        change_rules(aws, id, false, &prior.ingress, &self.ingress).await?;
        change_rules(aws, id, true, &prior.egress, &self.egress).await?;
        self.associate(aws, id, &prior.subnet_ids.or_default()).await?;
        tags::update_ec2(aws, id, &prior.tags_all, &self.tags_all).await
    }

    async fn delete(self, ctx: &Context<Aws>) -> Result<()> {
        let (aws, id) = (ctx.client(), self.id.require("id")?);
        let Some(acl) = find(aws, id).await? else { return Ok(()) };
        let subnets: Vec<&str> = acl.associations().iter().filter_map(|a| a.subnet_id()).collect();
        if !subnets.is_empty() {
            let default = default_acl(aws, acl.vpc_id().unwrap_or_default()).await?;
            for subnet in subnets {
                apply_to(aws, &default, subnet).await?;
            }
        }
        ctx.retry(
            |e| e.has_code(&["DependencyViolation"]),
            |_| async {
                let request = aws.ec2.delete_network_acl().network_acl_id(id);
                request.send().await.or_fail("Deleting the network ACL").map(drop)
            },
        )
        .await?;
        ctx.wait_until_gone(&Wait::until_gone("network ACL"), || state(aws, id)).await
    }

    tags::plan_tags!();

    fn validate(&self, problems: &mut Problems) {
        for (name, rules) in [("ingress", &self.ingress), ("egress", &self.egress)] {
            for rule in rules.get().into_iter().flatten() {
                for (argument, missing) in [
                    ("action", rule.action.is_null()),
                    ("from_port", rule.from_port.is_null()),
                    ("protocol", rule.protocol.is_null()),
                    ("rule_no", rule.rule_no.is_null()),
                    ("to_port", rule.to_port.is_null()),
                ] {
                    if missing {
                        problems.error(name, "Missing argument", format!("A rule needs \"{argument}\"."));
                    }
                }
            }
        }
    }

    once::find_by_repeating!();
}

impl NetworkAcl {
    async fn request(&self, aws: &Aws, token: &str) -> Result<String> {
        let request = aws
            .ec2
            .create_network_acl()
            .client_token(token)
            .vpc_id(self.vpc_id.or_default())
            .set_tag_specifications(tags::specifications(ResourceType::NetworkAcl, &self.tags_all.or_default()));
        let made = request.send().await.or_fail("Creating the network ACL")?;
        Ok(made.network_acl().and_then(|a| a.network_acl_id()).unwrap_or_default().to_owned())
    }

    /// Brings the subnets from `prior` to what is planned; a subnet that is let go gets the VPC's default ACL.
    async fn associate(&self, aws: &Aws, id: &str, prior: &Set<String>) -> Result<()> {
        let Some(planned) = self.subnet_ids.get() else { return Ok(()) };
        for subnet in planned.without(prior) {
            apply_to(aws, id, subnet).await?;
        }
        let gone: Vec<&String> = prior.without(planned).collect();
        if !gone.is_empty() {
            let default = default_acl(aws, &self.vpc_id.or_default()).await?;
            for subnet in gone {
                apply_to(aws, &default, subnet).await?;
            }
        }
        Ok(())
    }
}

impl Entry {
    fn of(rule: &Rule) -> Option<Entry> {
        Some(
            Entry {
                number: rule.rule_no.cloned()?,
                protocol: number(rule.protocol.as_deref()?),
                action: rule.action.as_deref()?.to_ascii_lowercase(),
                cidr: filled(&rule.cidr_block),
                ipv6: filled(&rule.ipv6_cidr_block),
                ports: (rule.from_port.or_default(), rule.to_port.or_default()),
                icmp: (rule.icmp_type.or_default(), rule.icmp_code.or_default()),
            }
            .relevant(),
        )
    }

    fn found(entry: &NetworkAclEntry) -> Option<Entry> {
        let number_of = entry.rule_number().filter(|n| *n < LAST_RULE)?;
        let ports = entry.port_range().map(|p| (p.from().unwrap_or_default(), p.to().unwrap_or_default()));
        let icmp = entry.icmp_type_code().map(|i| (i.r#type().unwrap_or_default(), i.code().unwrap_or_default()));
        Some(
            Entry {
                number: number_of,
                protocol: number(entry.protocol()?),
                action: entry.rule_action()?.as_str().to_owned(),
                cidr: entry.cidr_block().map(str::to_owned),
                ipv6: entry.ipv6_cidr_block().map(str::to_owned),
                ports: ports.unwrap_or_default(),
                icmp: icmp.unwrap_or_default(),
            }
            .relevant(),
        )
    }

    /// Without what does not count for the protocol.
    fn relevant(mut self) -> Entry {
        if !matches!(self.protocol.as_str(), "6" | "17") {
            self.ports = (0, 0);
        }
        if !self.is_icmp() {
            self.icmp = (0, 0);
        }
        self
    }

    fn is_icmp(&self) -> bool {
        matches!(self.protocol.as_str(), "1" | "58")
    }

    fn rule(&self) -> Rule {
        let name = match self.protocol.as_str() {
            "6" => "tcp",
            "17" => "udp",
            "1" => "icmp",
            other => other,
        };
        Rule {
            action: self.action.as_str().into(),
            cidr_block: self.cidr.clone().into(),
            from_port: self.ports.0.into(),
            icmp_code: self.is_icmp().then_some(self.icmp.1).into(),
            icmp_type: self.is_icmp().then_some(self.icmp.0).into(),
            ipv6_cidr_block: self.ipv6.clone().into(),
            protocol: name.into(),
            rule_no: self.number.into(),
            to_port: self.ports.1.into(),
        }
    }
}

/// A protocol's number in text, as the API wants it.
fn number(protocol: &str) -> String {
    match protocol.to_ascii_lowercase().as_str() {
        "all" => "-1",
        "icmp" => "1",
        "igmp" => "2",
        "tcp" => "6",
        "udp" => "17",
        "gre" => "47",
        "esp" => "50",
        "ah" => "51",
        "icmpv6" => "58",
        "sctp" => "132",
        other => return other.to_owned(),
    }
    .to_owned()
}

/// The ACL's rules, each as it is written in `known` where that means the same.
fn reported(acl: &Found, egress: bool, known: &Set<Rule>) -> Set<Rule> {
    let written: Vec<_> = known.iter().filter_map(|r| Some((Entry::of(r)?, r))).collect();
    acl.entries()
        .iter()
        .filter(|e| e.egress() == Some(egress))
        .filter_map(Entry::found)
        .map(|e| written.iter().find(|(w, _)| *w == e).map_or_else(|| e.rule(), |(_, rule)| (*rule).clone()))
        .collect()
}

/// Brings the rules of one direction from `prior` to `planned`, by their numbers.
async fn change_rules(
    aws: &Aws,
    id: &str,
    egress: bool,
    prior: &Attr<Set<Rule>>,
    planned: &Attr<Set<Rule>>,
) -> Result<()> {
    let Some(planned) = planned.get() else { return Ok(()) };
    let new: Vec<Entry> = planned.iter().filter_map(Entry::of).collect();
    let old: Vec<Entry> = prior.or_default().iter().filter_map(Entry::of).collect();
    for gone in old.iter().filter(|o| new.iter().all(|n| n.number != o.number)) {
        let request = aws.ec2.delete_network_acl_entry().network_acl_id(id).egress(egress).rule_number(gone.number);
        match request.send().await.or_fail("Deleting a rule of the network ACL") {
            Err(e) if !e.is_not_found() => return Err(e),
            _ => {}
        }
    }
    for entry in &new {
        match old.iter().find(|o| o.number == entry.number) {
            Some(old) if old == entry => {}
            Some(_) => replace_rule(aws, id, egress, entry).await?,
            None => match create_rule(aws, id, egress, entry).await {
                // Made by an attempt whose answer was lost, or by somebody else: the number is ours in any case.
                Err(e) if e.has_code(&["NetworkAclEntryAlreadyExists"]) => {
                    replace_rule(aws, id, egress, entry).await?;
                }
                other => other?,
            },
        }
    }
    Ok(())
}

/// Fills a request; create and replace have the same setters.
macro_rules! filled_in {
    ($request:expr, $id:expr, $egress:expr, $entry:expr) => {{
        let e = $entry;
        let icmp = e.is_icmp().then(|| IcmpTypeCode::builder().r#type(e.icmp.0).code(e.icmp.1).build());
        let ports = matches!(e.protocol.as_str(), "6" | "17")
            .then(|| PortRange::builder().from(e.ports.0).to(e.ports.1).build());
        $request
            .network_acl_id($id)
            .egress($egress)
            .rule_number(e.number)
            .protocol(&e.protocol)
            .rule_action(RuleAction::from(e.action.as_str()))
            .set_cidr_block(e.cidr.clone())
            .set_ipv6_cidr_block(e.ipv6.clone())
            .set_icmp_type_code(icmp)
            .set_port_range(ports)
    }};
}

async fn create_rule(aws: &Aws, id: &str, egress: bool, entry: &Entry) -> Result<()> {
    let request = filled_in!(aws.ec2.create_network_acl_entry(), id, egress, entry);
    request.send().await.or_fail("Creating a rule of the network ACL").map(drop)
}

async fn replace_rule(aws: &Aws, id: &str, egress: bool, entry: &Entry) -> Result<()> {
    let request = filled_in!(aws.ec2.replace_network_acl_entry(), id, egress, entry);
    request.send().await.or_fail("Changing a rule of the network ACL").map(drop)
}

/// Makes the ACL the one of the subnet, in place of the one that it has.
async fn apply_to(aws: &Aws, id: &str, subnet: &str) -> Result<()> {
    match replace_acl(aws, id, subnet).await {
        // Each replacement has a new ID: an attempt whose answer was lost has taken the old one away.
        Err(e) if e.is_not_found() => replace_acl(aws, id, subnet).await,
        other => other,
    }
}

async fn replace_acl(aws: &Aws, id: &str, subnet: &str) -> Result<()> {
    let answer = aws.ec2.describe_network_acls().filters(filter("association.subnet-id", subnet)).send().await;
    let answer = answer.or_fail("Reading the subnet's network ACL")?;
    let mut all = answer.network_acls().iter().flat_map(|a| a.associations());
    // A subnet that is gone needs no ACL.
    let Some(current) = all.find(|a| a.subnet_id() == Some(subnet)) else { return Ok(()) };
    if current.network_acl_id() == Some(id) {
        return Ok(());
    }
    let request = aws.ec2.replace_network_acl_association().network_acl_id(id);
    let request = request.set_association_id(current.network_acl_association_id().map(str::to_owned));
    request.send().await.or_fail("Changing the subnet's network ACL").map(drop)
}

async fn default_acl(aws: &Aws, vpc: &str) -> Result<String> {
    let acl = aws.reads.vpc_acls.get(vpc).await?;
    acl.and_then(|a| a.network_acl_id).ok_or_else(|| Error::not_found("The VPC has no default network ACL"))
}

async fn find(aws: &Aws, id: &str) -> Result<Option<Found>> {
    aws.reads.network_acls.get(id).await
}

async fn state(aws: &Aws, id: &str) -> Result<Option<(String, ())>> {
    Ok(find(aws, id).await?.map(|_| ("present".to_owned(), ())))
}

/// Sets of rules that mean the same: null or zero for what does not count, spelling of protocols and actions.
fn same_rules(old: &Value, new: &Value) -> bool {
    let entries = |v: &Value| -> Option<Vec<Entry>> { Set::<Rule>::decode(v).ok()?.iter().map(Entry::of).collect() };
    let (Some(a), Some(b)) = (entries(old), entries(new)) else { return false };
    a.iter().all(|e| b.contains(e)) && b.iter().all(|e| a.contains(e))
}

//! The rules of security groups as `aws_security_group` writes them: blocks with lists of sources, and the single
//! permissions that these stand for, by which they are compared, found in what AWS reports, and changed.

use super::net::{filled, protocol};
use aws_sdk_ec2::types::{IpPermission, IpRange, Ipv6Range, PrefixListId, UserIdGroupPair};
use gpuform_provider_sdk::codec::AttrValue;
use gpuform_provider_sdk::prelude::*;
use std::collections::BTreeSet;

/// A rule of a security group.
#[derive(Model, Clone, PartialEq, Default, Debug)]
pub struct Rule {
    /// IPv4 ranges.
    #[attr(optional)]
    pub cidr_blocks: Attr<Vec<String>>,
    /// What the rule is for.
    #[attr(optional, validate = length(0..=255))]
    pub description: Attr<String>,
    /// The first port, or the ICMP type.
    #[attr(optional)]
    pub from_port: Attr<i32>,
    /// IPv6 ranges.
    #[attr(optional)]
    pub ipv6_cidr_blocks: Attr<Vec<String>>,
    /// Prefix lists.
    #[attr(optional)]
    pub prefix_list_ids: Attr<Vec<String>>,
    /// The protocol by name or number; `-1` for all.
    #[attr(optional)]
    pub protocol: Attr<String>,
    /// Other security groups.
    #[attr(optional)]
    pub security_groups: Attr<Set<String>>,
    /// Whether the group itself is a source or destination.
    #[attr(optional, name = "self")]
    pub itself: Attr<bool>,
    /// The last port, or the ICMP code.
    #[attr(optional)]
    pub to_port: Attr<i32>,
}

/// One protocol with ports, one source or destination.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Permission {
    pub protocol: String,
    pub ports: (i32, i32),
    pub peer: Peer,
    pub description: String,
}

/// A source or destination.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Peer {
    Ipv4(String),
    Ipv6(String),
    PrefixList(String),
    /// An ID, or an account, a slash and an ID.
    Group(String),
    Itself,
}

impl Permission {
    /// Whether both concern the same traffic; there is only one such permission in a group.
    pub fn same_traffic(&self, other: &Permission) -> bool {
        (&self.protocol, self.ports, &self.peer) == (&other.protocol, other.ports, &other.peer)
    }
}

impl Rule {
    /// The permissions that the rule stands for.
    pub fn permissions(&self) -> Vec<Permission> {
        let name = protocol(&self.protocol.or_default());
        let ports = if name == "-1" { (0, 0) } else { (self.from_port.or_default(), self.to_port.or_default()) };
        let list = |l: &Attr<Vec<String>>, peer: fn(String) -> Peer| l.or_default().into_iter().map(peer).collect();
        let mut peers: Vec<Peer> = list(&self.cidr_blocks, Peer::Ipv4);
        peers.extend::<Vec<Peer>>(list(&self.ipv6_cidr_blocks, Peer::Ipv6));
        peers.extend::<Vec<Peer>>(list(&self.prefix_list_ids, Peer::PrefixList));
        peers.extend(self.security_groups.or_default().into_iter().map(Peer::Group));
        peers.extend((self.itself == true).then_some(Peer::Itself));
        let description = self.description.or_default();
        let permission = |peer| Permission { protocol: name.clone(), ports, peer, description: description.clone() };
        peers.into_iter().map(permission).collect()
    }

    /// The rule with only those sources that `keep` wants.
    fn retain(&self, keep: impl Fn(&Peer) -> bool) -> Rule {
        let mut rule = self.clone();
        let list = |l: Attr<Vec<String>>, peer: fn(String) -> Peer| {
            l.map(|l| l.into_iter().filter(|e| keep(&peer(e.clone()))).collect())
        };
        rule.cidr_blocks = list(rule.cidr_blocks, Peer::Ipv4);
        rule.ipv6_cidr_blocks = list(rule.ipv6_cidr_blocks, Peer::Ipv6);
        rule.prefix_list_ids = list(rule.prefix_list_ids, Peer::PrefixList);
        let groups = rule.security_groups;
        rule.security_groups = groups.map(|g| g.into_iter().filter(|e| keep(&Peer::Group(e.clone()))).collect());
        rule.itself = rule.itself.map(|s| s && keep(&Peer::Itself));
        rule
    }

    /// A rule for permissions that differ in their source only.
    fn of(permissions: &[&Permission]) -> Option<Rule> {
        let first = permissions.first()?;
        let all = |f: fn(&Peer) -> Option<&String>| -> Vec<String> {
            permissions.iter().filter_map(|p| f(&p.peer)).cloned().collect()
        };
        let list = |l: Vec<String>| if l.is_empty() { Attr::Null } else { Attr::Known(l) };
        let itself = permissions.iter().any(|p| p.peer == Peer::Itself);
        let groups = all(|p| if let Peer::Group(g) = p { Some(g) } else { None });
        Some(Rule {
            cidr_blocks: list(all(|p| if let Peer::Ipv4(c) = p { Some(c) } else { None })),
            description: Some(first.description.clone()).filter(|d| !d.is_empty()).into(),
            from_port: first.ports.0.into(),
            ipv6_cidr_blocks: list(all(|p| if let Peer::Ipv6(c) = p { Some(c) } else { None })),
            prefix_list_ids: list(all(|p| if let Peer::PrefixList(c) = p { Some(c) } else { None })),
            protocol: first.protocol.as_str().into(),
            security_groups: list(groups).map(Set::from),
            itself: itself.then_some(true).into(),
            to_port: first.ports.1.into(),
        })
    }
}

/// All permissions of some rules, each once.
pub fn permissions(rules: &Attr<Set<Rule>>) -> BTreeSet<Permission> {
    rules.get().into_iter().flatten().flat_map(Rule::permissions).collect()
}

/// The permissions that AWS reports for a group.
pub fn found(reported: &[IpPermission], group: &str, owner: &str) -> BTreeSet<Permission> {
    let mut all = BTreeSet::new();
    for p in reported {
        let name = protocol(p.ip_protocol().unwrap_or("-1"));
        let ports = match name.as_str() {
            "-1" => (0, 0),
            _ => (p.from_port().unwrap_or_default(), p.to_port().unwrap_or_default()),
        };
        let mut add = |peer: Peer, description: Option<&str>| {
            let description = description.unwrap_or_default().to_owned();
            all.insert(Permission { protocol: name.clone(), ports, peer, description });
        };
        for r in p.ip_ranges() {
            add(Peer::Ipv4(r.cidr_ip().unwrap_or_default().to_owned()), r.description());
        }
        for r in p.ipv6_ranges() {
            add(Peer::Ipv6(r.cidr_ipv6().unwrap_or_default().to_owned()), r.description());
        }
        for l in p.prefix_list_ids() {
            add(Peer::PrefixList(l.prefix_list_id().unwrap_or_default().to_owned()), l.description());
        }
        for g in p.user_id_group_pairs() {
            let id = g.group_id().or(g.group_name()).unwrap_or_default();
            let peer = match g.user_id() {
                _ if id == group => Peer::Itself,
                Some(user) if user != owner && !user.is_empty() => Peer::Group(format!("{user}/{id}")),
                _ => Peer::Group(id.to_owned()),
            };
            add(peer, g.description());
        }
    }
    all
}

/// The rules for what AWS reports: as they are written in `known` as far as that goes, the rest in rules of their own.
pub fn as_written(mut found: BTreeSet<Permission>, known: &Set<Rule>) -> Set<Rule> {
    let mut rules = Vec::new();
    let present = found.clone();
    for rule in known {
        let wanted = rule.permissions();
        let there: Vec<&Permission> = wanted.iter().filter(|p| present.contains(p)).collect();
        if there.len() == wanted.len() {
            rules.push(rule.clone());
        } else if !there.is_empty() {
            rules.push(rule.retain(|peer| there.iter().any(|p| p.peer == *peer)));
        }
        for permission in &wanted {
            found.remove(permission);
        }
    }
    let mut groups: BTreeMap<_, Vec<&Permission>> = BTreeMap::new();
    for p in &found {
        groups.entry((&p.protocol, p.ports, &p.description)).or_default().push(p);
    }
    rules.extend(groups.values().filter_map(|group| Rule::of(group)));
    rules.into()
}

/// Permissions in the form of the API, for the group with this ID.
pub fn to_api<'a>(permissions: impl IntoIterator<Item = &'a Permission>, group: &str) -> Vec<IpPermission> {
    let mut groups: BTreeMap<_, Vec<&Permission>> = BTreeMap::new();
    for p in permissions {
        groups.entry((&p.protocol, p.ports)).or_default().push(p);
    }
    let build = |((name, ports), permissions): ((&String, (i32, i32)), Vec<&Permission>)| {
        let mut api = IpPermission::builder().ip_protocol(name);
        if name != "-1" {
            api = api.from_port(ports.0).to_port(ports.1);
        }
        for p in permissions {
            let text = Some(p.description.clone()).filter(|d| !d.is_empty());
            api = match &p.peer {
                Peer::Ipv4(c) => api.ip_ranges(IpRange::builder().cidr_ip(c).set_description(text).build()),
                Peer::Ipv6(c) => api.ipv6_ranges(Ipv6Range::builder().cidr_ipv6(c).set_description(text).build()),
                Peer::PrefixList(l) => {
                    api.prefix_list_ids(PrefixListId::builder().prefix_list_id(l).set_description(text).build())
                }
                Peer::Group(g) => api.user_id_group_pairs(pair(g).set_description(text).build()),
                Peer::Itself => api.user_id_group_pairs(pair(group).set_description(text).build()),
            };
        }
        api.build()
    };
    groups.into_iter().map(build).collect()
}

/// A group given as `sg-1` or `123456789012/sg-1`.
pub fn pair(group: &str) -> aws_sdk_ec2::types::builders::UserIdGroupPairBuilder {
    let pair = UserIdGroupPair::builder();
    match group.split_once('/') {
        Some((account, id)) => pair.user_id(account).group_id(id),
        None => pair.group_id(group),
    }
}

/// Sets of rules that stand for the same permissions.
pub fn same_rules(old: &Value, new: &Value) -> bool {
    let all = |v: &Value| Attr::<Set<Rule>>::decode(v).ok().filter(Attr::is_known).map(|r| permissions(&r));
    matches!((all(old), all(new)), (Some(a), Some(b)) if a == b)
}

/// Says what a written rule lacks.
pub fn check(name: &str, rules: &Attr<Set<Rule>>, problems: &mut Problems) {
    for rule in rules.get().into_iter().flatten() {
        for (argument, missing) in [
            ("from_port", rule.from_port.is_null()),
            ("protocol", rule.protocol.is_null()),
            ("to_port", rule.to_port.is_null()),
        ] {
            if missing {
                problems.error(name, "Missing argument", format!("A rule needs \"{argument}\"."));
            }
        }
        let all = filled(&rule.protocol).is_some_and(|p| protocol(&p) == "-1");
        let ports = [&rule.from_port, &rule.to_port].into_iter().any(|p| p.cloned().is_some_and(|p| p > 0));
        if all && ports {
            problems.error(name, "Invalid ports", "A rule for all protocols is for all ports: give 0 for both.");
        }
    }
}

#[cfg(test)]
mod tests;

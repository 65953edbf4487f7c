use super::*;

fn ssh(cidrs: &[&str]) -> Rule {
    Rule {
        protocol: "6".into(),
        from_port: 22.into(),
        to_port: 22.into(),
        cidr_blocks: Attr::Known(cidrs.iter().map(|c| (*c).to_owned()).collect()),
        ..Rule::default()
    }
}

/// What AWS reports after these rules were written.
fn reported(rules: &[Rule]) -> BTreeSet<Permission> {
    let written = permissions(&Attr::Known(rules.to_vec().into()));
    found(&to_api(&written, "sg-1"), "sg-1", "123456789012")
}

fn set(rules: &[Rule]) -> Set<Rule> {
    rules.to_vec().into()
}

#[test]
fn rules_that_are_all_there_stay_as_they_are_written() {
    let all =
        Rule { protocol: "-1".into(), from_port: 0.into(), to_port: 0.into(), itself: true.into(), ..Rule::default() };
    let rules = [ssh(&["10.0.0.0/8", "192.168.0.0/16"]), all];
    assert_eq!(as_written(reported(&rules), &set(&rules)), set(&rules));
}

#[test]
fn a_revoked_source_is_missing_from_its_rule_only() {
    let rules = [ssh(&["10.0.0.0/8", "192.168.0.0/16"])];
    let left = as_written(reported(&[ssh(&["10.0.0.0/8"])]), &set(&rules));
    assert_eq!(left, set(&[ssh(&["10.0.0.0/8"])]));
}

#[test]
fn a_rule_made_elsewhere_appears_by_itself() {
    let dns = Rule {
        protocol: "udp".into(),
        from_port: 53.into(),
        to_port: 53.into(),
        description: "dns".into(),
        security_groups: Attr::Known(vec!["210987654321/sg-2".to_owned()].into()),
        ..Rule::default()
    };
    let rules = [ssh(&["10.0.0.0/8"])];
    let now = as_written(reported(&[ssh(&["10.0.0.0/8"]), dns.clone()]), &set(&rules));
    assert_eq!(now, set(&[ssh(&["10.0.0.0/8"]), dns]));
}

#[test]
fn the_same_permissions_in_other_rules_are_no_change() {
    let value = |rules: &[Rule]| Attr::Known(set(rules)).encode();
    let one = value(&[ssh(&["10.0.0.0/8", "192.168.0.0/16"])]);
    let two = value(&[ssh(&["192.168.0.0/16"]), Rule { protocol: "tcp".into(), ..ssh(&["10.0.0.0/8"]) }]);
    assert!(same_rules(&one, &two));
    assert!(!same_rules(&one, &value(&[ssh(&["10.0.0.0/8"])])));
}

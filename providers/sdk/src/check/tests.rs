use super::*;
use crate::prelude::*;

#[derive(Model, Clone, PartialEq, Default)]
struct Machine {
    #[attr(optional, exactly_one_of = ["image", "snapshot", "disk"])]
    image: Attr<String>,
    #[attr(optional, exactly_one_of = ["image", "snapshot", "disk"])]
    snapshot: Attr<String>,
    #[block]
    disk: Vec<Disk>,
    #[attr(optional)]
    spare: Attr<Set<Disk>>,
    #[attr(optional, conflicts_with = ["fast"])]
    slow: Attr<bool>,
    #[attr(optional, required_with = ["slow"])]
    fast: Attr<bool>,
    #[attr(optional, validate = [length(2..=3), each(one_of(["a", "b", "c"]))])]
    zones: Attr<Vec<String>>,
    #[attr(optional, validate = ipv4_cidr())]
    network: Attr<String>,
    #[attr(optional, validate = range(0.0..=1.0))]
    share: Attr<f64>,
    #[attr(optional, validate = regex("[a-z]+", "lower-case letters"))]
    name: Attr<String>,
    #[timeouts(create = "10m")]
    timeouts: Timeouts,
}

#[derive(Model, Clone, PartialEq, Default)]
struct Disk {
    #[attr(optional, validate = one_of(["ssd", "hdd"]))]
    kind: Attr<String>,
}

/// What is wrong with a configuration: path and detail of each problem.
fn problems(config: &Machine) -> Vec<String> {
    let mut found = Problems::default();
    check(Machine::object(), &config.encode(), &Path::root(), &mut found);
    found.into_diagnostics().into_iter().map(|d| format!("{}: {}", d.path, d.detail)).collect()
}

fn base() -> Machine {
    Machine { image: "linux".into(), ..Machine::default() }
}

#[test]
fn a_good_configuration_has_no_problems() {
    let strings = |s: &[&str]| s.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
    let good = Machine {
        zones: strings(&["a", "b"]).into(),
        network: "10.0.0.0/16".into(),
        share: 0.5.into(),
        name: "web".into(),
        ..base()
    };
    assert_eq!(problems(&good), Vec::<String>::new());
}

#[test]
fn values_are_checked_where_they_are_known() {
    let zones = |s: &[&str]| Machine { zones: s.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>().into(), ..base() };
    assert_eq!(problems(&zones(&["a"])), [".zones: The number of elements, 1, is not between 2 and 3."]);
    assert_eq!(problems(&zones(&["a", "x"])), [r#".zones: "x" is none of "a", "b", "c"."#]);
    assert_eq!(problems(&Machine { zones: Attr::Unknown, ..base() }), Vec::<String>::new());
    let network = Machine { network: "10.0.0.1/16".into(), ..base() };
    assert_eq!(problems(&network).len(), 1);
    assert_eq!(problems(&Machine { share: 1.5.into(), ..base() }), [".share: 1.5 is not between 0 and 1."]);
    assert_eq!(problems(&Machine { name: "web1".into(), ..base() }), [r#".name: "web1" must be lower-case letters."#]);
    let disk = Machine { image: Attr::Null, disk: vec![Disk { kind: "tape".into() }], ..base() };
    assert_eq!(problems(&disk), [r#".disk[0].kind: "tape" is none of "ssd", "hdd"."#]);
    let spare = Machine { spare: Set::from(vec![Disk { kind: "tape".into() }]).into(), ..base() };
    assert_eq!(problems(&spare), [r#".spare[...].kind: "tape" is none of "ssd", "hdd"."#]);
}

#[test]
fn relations_hold_between_attributes_and_blocks() {
    let none = Machine { image: Attr::Null, ..base() };
    assert_eq!(problems(&none), [r#".image: One of "image", "snapshot", "disk" must be given."#]);
    let two = Machine { disk: vec![Disk::default()], ..base() };
    assert_eq!(problems(&two), [r#".image: Only one of "image", "snapshot", "disk" can be given."#]);
    let perhaps = Machine { image: Attr::Null, snapshot: Attr::Unknown, ..base() };
    assert_eq!(problems(&perhaps), Vec::<String>::new());
    let both = Machine { slow: true.into(), fast: true.into(), ..base() };
    assert_eq!(problems(&both), [r#".slow: "slow" conflicts with "fast": give only one of them."#]);
    let alone = Machine { fast: true.into(), ..base() };
    assert_eq!(problems(&alone), [r#".fast: "fast" needs "slow" to be given as well."#]);
}

#[test]
fn timeouts_must_be_durations() {
    let written = Value::object([("create", Value::from("soon"))]);
    let config = base().encode().map_children(&mut |step, v| match step() {
        Step::Attr(n) if &*n == "timeouts" => written.clone(),
        _ => v.clone(),
    });
    let mut found = Problems::default();
    check(Machine::object(), &config, &Path::root(), &mut found);
    assert_eq!(found.into_diagnostics()[0].path.to_string(), ".timeouts.create");
}

use super::*;
use crate::prelude::*;

#[derive(Model, Clone, PartialEq, Default)]
struct Machine {
    #[attr(computed)]
    id: Attr<String>,
    #[attr(required)]
    name: Attr<String>,
    #[attr(optional, force_new)]
    zone: Attr<String>,
    #[attr(optional, default = "linux")]
    image: Attr<String>,
    #[attr(optional, computed)]
    address: Attr<String>,
    #[attr(computed, recompute_on = ["name"])]
    host: Attr<String>,
    #[attr(optional, suppress = json_equal)]
    policy: Attr<String>,
    #[attr(optional, write_only)]
    key: Attr<String>,
    #[block]
    disk: Vec<Disk>,
    #[block(nesting = "set")]
    rule: Vec<Disk>,
    #[block(computed)]
    root: Option<Disk>,
    #[block(force_new)]
    fixed: Vec<Disk>,
}

#[derive(Model, Clone, PartialEq, Default)]
struct Disk {
    #[attr(computed)]
    id: Attr<String>,
    #[attr(optional)]
    size: Attr<i64>,
    #[attr(optional, default = "ssd", force_new)]
    kind: Attr<String>,
}

fn disk(id: &str, size: i64) -> Disk {
    Disk { id: id.into(), size: size.into(), kind: "ssd".into() }
}

fn written(size: i64) -> Disk {
    Disk { size: size.into(), ..Disk::default() }
}

/// A configuration with a name, and the state that it became.
fn config() -> Machine {
    Machine { name: "a".into(), ..Machine::default() }
}

fn state() -> Machine {
    Machine {
        id: "i-1".into(),
        image: "linux".into(),
        address: "10.0.0.1".into(),
        host: "a.example".into(),
        root: Some(disk("r", 8)),
        ..config()
    }
}

fn create(config: &Machine) -> Machine {
    decode(&planned(Machine::object(), None, &config.encode()))
}

fn update(prior: &Machine, config: &Machine) -> Machine {
    decode(&planned(Machine::object(), Some(&prior.encode()), &config.encode()))
}

fn decode(value: &Value) -> Machine {
    Machine::decode(value).unwrap_or_else(|e| panic!("{e:?}"))
}

fn replaced(prior: &Machine, config: &Machine) -> Vec<String> {
    let planned = update(prior, config);
    requires_replace(Machine::object(), &prior.encode(), &planned.encode()).iter().map(Path::to_string).collect()
}

#[test]
fn a_create_has_defaults_and_leaves_to_apply_what_only_apply_can_tell() {
    let plan = create(&Machine { key: "secret".into(), disk: vec![written(1)], ..config() });
    assert!(plan.name == "a" && plan.image == "linux");
    assert!(plan.id.is_unknown() && plan.address.is_unknown() && plan.host.is_unknown());
    assert!(plan.zone.is_null(), "optional and not written");
    assert!(plan.key.is_null(), "write-only values are in no plan");
    assert!(plan.disk[0].id.is_unknown() && plan.disk[0].kind == "ssd");
    let value = planned(Machine::object(), None, &config().encode());
    assert_eq!(value.get("root"), Some(&Value::unknown(Type::list(Disk::object().ty()))), "computed blocks");
    assert_eq!(value.get("disk"), Some(&Value::list(Disk::object().ty(), vec![])), "other blocks");
}

#[test]
fn without_a_change_the_plan_is_the_prior_state() {
    assert!(update(&state(), &config()) == state());
    let (mut prior, mut config) = (state(), config());
    prior.disk = vec![disk("d1", 1), disk("d2", 2)];
    config.disk = vec![written(1), written(2)];
    prior.rule = vec![disk("r1", 1), disk("r2", 2)];
    config.rule = vec![written(2), written(1)];
    assert!(update(&prior, &config) == prior);
}

#[test]
fn an_update_keeps_what_the_provider_computed() {
    let plan = update(&state(), &Machine { image: "bsd".into(), ..config() });
    assert!(plan == Machine { image: "bsd".into(), ..state() });
}

#[test]
fn a_computed_value_becomes_unknown_with_what_it_depends_on() {
    let plan = update(&state(), &Machine { name: "b".into(), ..config() });
    assert!(plan == Machine { name: "b".into(), host: Attr::Unknown, ..state() });
}

#[test]
fn a_value_that_is_no_longer_written_is_kept_if_computed_and_else_removed() {
    let prior = Machine { zone: "north".into(), address: "10.9.9.9".into(), ..state() };
    let plan = update(&prior, &config());
    assert!(plan.address == "10.9.9.9" && plan.zone.is_null());
}

#[test]
fn a_change_that_means_nothing_is_planned_as_the_prior_value() {
    let prior = Machine { policy: r#"{"a": 1}"#.into(), ..state() };
    assert!(update(&prior, &Machine { policy: r#"{ "a":1 }"#.into(), ..config() }) == prior);
    assert!(update(&prior, &Machine { policy: r#"{"a":2}"#.into(), ..config() }).policy == r#"{"a":2}"#);
}

#[test]
fn list_blocks_are_matched_by_position_and_set_blocks_by_content() {
    let (mut prior, mut config) = (state(), config());
    prior.disk = vec![disk("d1", 1)];
    config.disk = vec![written(5), written(6)];
    prior.rule = vec![disk("r1", 1), disk("r2", 2)];
    config.rule = vec![written(2), written(3)];
    let plan = update(&prior, &config);
    assert!(plan.disk[0] == disk("d1", 5), "the first disk grows");
    assert!(plan.disk[1].id.is_unknown());
    assert!(plan.rule.contains(&disk("r2", 2)));
    assert!(plan.rule.iter().any(|r| r.size == 3 && r.id.is_unknown()), "a changed rule is a new rule");
}

#[test]
fn computed_blocks_stay_unless_written() {
    let plan = update(&state(), &Machine { root: Some(written(20)), ..config() });
    assert!(plan.root == Some(disk("r", 20)));
}

#[test]
fn blocks_whose_number_is_unknown_stay_unknown() {
    let unknown = Value::unknown(Type::list(Disk::object().ty()));
    let config = config().encode().map_children(&mut |step, v| match step() {
        gpuform_schema::Step::Attr(n) if &*n == "disk" => unknown.clone(),
        _ => v.clone(),
    });
    assert_eq!(planned(Machine::object(), Some(&state().encode()), &config).get("disk"), Some(&unknown));
}

#[test]
fn a_change_that_cannot_be_made_in_place_names_its_path() {
    let zone = |z: &str| Machine { zone: z.into(), ..state() };
    assert_eq!(replaced(&zone("a"), &Machine { zone: "a".into(), ..config() }), Vec::<String>::new());
    assert_eq!(replaced(&zone("a"), &Machine { zone: "b".into(), ..config() }), [".zone"]);
    assert_eq!(replaced(&zone("a"), &config()), [".zone"], "removed");
    assert_eq!(replaced(&zone("a"), &Machine { zone: Attr::Unknown, ..config() }), [".zone"], "perhaps");

    let hdd = Disk { kind: "hdd".into(), ..written(1) };
    let prior = Machine { disk: vec![disk("d", 1)], rule: vec![disk("r", 1)], ..state() };
    let same = Machine { disk: vec![written(1)], rule: vec![written(1)], ..config() };
    assert_eq!(replaced(&prior, &Machine { disk: vec![written(2)], ..same.clone() }), Vec::<String>::new());
    assert_eq!(replaced(&prior, &Machine { disk: vec![hdd.clone()], ..same.clone() }), [".disk[0].kind"]);
    assert_eq!(replaced(&prior, &Machine { rule: vec![hdd], ..same.clone() }), [".rule"]);
    assert_eq!(replaced(&prior, &Machine { disk: vec![], ..same.clone() }), [".disk"], "the disk has a kind");
    assert_eq!(replaced(&prior, &Machine { fixed: vec![written(1)], ..same }), [".fixed"]);
}

#[test]
fn unknown_parts_are_completed_from_a_read_and_nothing_else_is() {
    let made = create(&Machine { disk: vec![written(1)], rule: vec![written(1), written(2)], ..config() });
    let read = Machine {
        name: "other spelling".into(),
        disk: vec![disk("d", 1)],
        rule: vec![disk("r2", 2), disk("r1", 1)],
        ..state()
    };
    let done = decode(&complete(&made.encode(), Some(&read.encode())));
    assert!(done.name == "a" && done.id == "i-1");
    assert!(done.disk == [disk("d", 1)]);
    assert!(done.rule.contains(&disk("r1", 1)) && done.rule.contains(&disk("r2", 2)) && done.rule.len() == 2);
    let nothing = decode(&complete(&made.encode(), None));
    assert!(nothing.id.is_null() && nothing.disk[0].id.is_null());
}

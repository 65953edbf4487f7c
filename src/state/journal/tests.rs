use super::*;
use crate::addr::{AbsProviderConfig, InstanceKey, Module, Provider, ResourceInstance};
use crate::state::{DeposedKey, Fingerprint, ObjectState, ObjectStatus, OutputValue, State, file};
use gpuform_schema::Value;
use proptest::prelude::*;
use std::path::PathBuf;

fn addr(text: &str) -> ResourceInstance {
    text.parse().unwrap()
}

fn provider() -> AbsProviderConfig {
    AbsProviderConfig {
        module: Module::root(),
        provider: Provider::implied("aws"),
        alias: Some("west".into()),
        key: InstanceKey::None,
    }
}

fn object(id: &str) -> Arc<ObjectState> {
    Arc::new(ObjectState {
        sensitive_paths: vec![gpuform_schema::Path::attrs(["a"]).key("k").index(3)],
        private: vec![0, 255, 7],
        dependencies: [addr("data.x.y").config(), addr("module.m[0].x.z").config()].into(),
        ..ObjectState::new(3, format!("{{\"id\":\"{id}\",\"t\":\"<&>\u{2028}\\n\"}}"))
    })
}

fn set(a: &str, id: &str) -> Change {
    Change::Set { addr: addr(a), deposed: None, provider: provider(), object: object(id) }
}

fn intent(operation: u64, a: &str) -> Intent {
    Intent {
        operation: OperationId(operation),
        action: IntentAction::Create,
        addr: addr(a),
        deposed: None,
        provider: provider(),
        client_token: Some("tok\"en".into()),
        planned_private: b"private".to_vec(),
        planned: "{\"a\":1}".into(),
        time: now(),
    }
}

fn finished(operation: u64, changes: Vec<Change>) -> Record {
    Record::Finished { operation: OperationId(operation), changes }
}

fn stored(mut state: State, serial: u64) -> Stored {
    state.serial = serial;
    let fingerprint = Fingerprint::of(&file::to_bytes(&state).unwrap());
    Stored { state, fingerprint }
}

/// A state that is stored nowhere yet.
fn nothing() -> Stored {
    Stored { state: State::new(), fingerprint: Fingerprint::default() }
}

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        Place { folder: tempfile::tempdir().unwrap() }
    }

    fn journal(&self) -> PathBuf {
        self.folder.path().join(".terraform.tfstate.gpuform.journal")
    }

    fn recover(&self, stored: Option<&Stored>) -> Recovery {
        recover(&self.journal(), stored).map_err(|d| d.to_string()).unwrap().expect("there is a journal")
    }

    fn error(&self, stored: Option<&Stored>) -> String {
        recover(&self.journal(), stored).unwrap_err().to_string()
    }
}

async fn write(journal: &Journal, records: &[Record]) {
    for record in records {
        journal.append(record).await.unwrap();
    }
}

#[tokio::test]
async fn after_a_crash_results_are_in_the_state_and_open_operations_are_named() {
    let place = Place::new();
    let base = nothing();
    let journal = Journal::create(&place.journal(), &base).unwrap();
    let (a, b) = (intent(journal.operation().0, "x.a"), intent(journal.operation().0, "module.m[\"k\"].x.b[1]"));
    write(
        &journal,
        &[Record::Intent(a.clone().into()), Record::Intent(b.clone().into()), finished(1, vec![set("x.a", "1")])],
    )
    .await;
    drop(journal);

    let r = place.recover(None);
    assert_eq!(r.pending, [b]);
    assert_eq!(r.state.get(&addr("x.a")), Some(&object("1")));
    assert_eq!(r.state.lineage, base.state.lineage);
    assert_eq!((r.changes, r.torn_tail, r.process), (1, false, std::process::id()));
}

#[tokio::test]
async fn every_kind_of_change_is_made_again() {
    let place = Place::new();
    let mut state = State::new();
    for a in ["x.a", "x.b", "x.c", "x.gone"] {
        state.set(&addr(a), object("old"), &provider());
    }
    let base = stored(state, 5);
    let key: DeposedKey = "0a0b0c0d".parse().unwrap();
    let other: DeposedKey = "00000001".parse().unwrap();
    let output = OutputValue { value: Value::object([("k", Value::from(1))]), sensitive: true };
    let tainted = Arc::new(ObjectState { status: ObjectStatus::Tainted, ..(*object("t")).clone() });
    let journal = Journal::create(&place.journal(), &base).unwrap();
    let changes = vec![
        Change::Depose { addr: addr("x.a"), key },
        Change::Set { addr: addr("x.a"), deposed: None, provider: provider(), object: tainted.clone() },
        Change::Set { addr: addr("x.a"), deposed: Some(other), provider: provider(), object: object("2") },
        Change::Remove { addr: addr("x.a"), deposed: Some(other) },
        Change::Remove { addr: addr("x.gone"), deposed: None },
        Change::Move { from: addr("x.b"), to: addr("module.n.x.b[0]") },
        Change::Depose { addr: addr("x.c"), key },
        Change::Restore { addr: addr("x.c"), key },
        Change::Output { name: "o".into(), value: Some(output.clone()) },
        Change::Output { name: "p".into(), value: None },
    ];
    write(&journal, &[Record::Changes(changes)]).await;

    let s = place.recover(Some(&base)).state;
    let found: Vec<String> = s.instances().map(|i| i.addr().to_string()).collect();
    assert_eq!(found, ["x.a", "x.c", "module.n.x.b[0]"]);
    assert_eq!((s.get(&addr("x.a")), s.get_deposed(&addr("x.a"), key)), (Some(&tainted), Some(&object("old"))));
    assert_eq!(s.outputs.get("o"), Some(&output));
    assert_eq!(s.serial, 5);
}

#[tokio::test]
async fn a_finished_journal_is_gone() {
    let place = Place::new();
    let journal = Journal::create(&place.journal(), &nothing()).unwrap();
    let next = stored(State::new(), 1);
    write(&journal, &[Record::Intent(intent(1, "x.a").into()), finished(1, vec![])]).await;
    journal.saving(&next).await.unwrap();
    assert!(journal.finish(&next).unwrap());
    assert_eq!(recover(&place.journal(), Some(&next)), Ok(None));
    assert!(journal.append(&finished(2, vec![])).await.is_err());
}

#[tokio::test]
async fn a_crash_between_the_state_file_and_the_end_of_the_journal_changes_nothing() {
    let place = Place::new();
    let base = nothing();
    let journal = Journal::create(&place.journal(), &base).unwrap();
    write(&journal, &[Record::Intent(intent(1, "x.a").into()), finished(1, vec![set("x.a", "1")])]).await;
    let mut state = base.state.clone();
    set("x.a", "1").apply(&mut state);
    let next = stored(state, 1);
    journal.saving(&next).await.unwrap();
    drop(journal);

    // Before the state file was written, and after.
    assert_eq!(place.recover(None).changes, 1);
    let after = place.recover(Some(&next));
    assert_eq!((after.changes, &after.state), (0, &next.state));
    let journal = Journal::reopen(&place.journal(), &after).unwrap();
    assert!(journal.finish(&next).unwrap());

    // Results that came after a snapshot are added to the snapshot.
    let journal = Journal::create(&place.journal(), &base).unwrap();
    write(&journal, &[finished(1, vec![set("x.a", "1")])]).await;
    journal.saving(&next).await.unwrap();
    write(&journal, &[finished(2, vec![set("x.b", "2")])]).await;
    assert_eq!(place.recover(Some(&next)).changes, 1);
}

#[tokio::test]
async fn open_operations_are_carried_from_run_to_run_until_they_are_resolved() {
    let place = Place::new();
    let journal = Journal::create(&place.journal(), &nothing()).unwrap();
    assert_eq!(journal.operation(), OperationId(1));
    write(&journal, &[Record::Intent(intent(1, "x.a").into())]).await;
    let first = stored(State::new(), 1);
    journal.saving(&first).await.unwrap();
    assert!(!journal.finish(&first).unwrap(), "a journal is left");

    // The next run knows of it, does other things, and leaves it open again.
    let r = place.recover(Some(&first));
    assert_eq!((r.pending.len(), r.changes), (1, 0));
    let journal = Journal::reopen(&place.journal(), &r).unwrap();
    assert_eq!(journal.operation(), OperationId(2));
    write(&journal, &[Record::Intent(intent(2, "x.b").into()), finished(2, vec![set("x.b", "2")])]).await;
    let second = stored(place.recover(Some(&first)).state, 2);
    journal.saving(&second).await.unwrap();
    assert!(!journal.finish(&second).unwrap());

    // The third finds out that the object exists.
    let r = place.recover(Some(&second));
    let journal = Journal::reopen(&place.journal(), &r).unwrap();
    write(&journal, &[finished(1, vec![set("x.a", "1")])]).await;
    let r = place.recover(Some(&second));
    assert!(r.pending.is_empty() && r.state.get(&addr("x.a")).is_some() && r.state.get(&addr("x.b")).is_some());
    assert!(journal.finish(&stored(r.state, 3)).unwrap());
}

#[tokio::test]
async fn a_journal_of_another_state_is_explained_and_kept() {
    let place = Place::new();
    let base = stored(State::new(), 5);
    let journal = Journal::create(&place.journal(), &base).unwrap();
    write(&journal, &[Record::Intent(intent(1, "x.a").into()), finished(1, vec![set("x.a", "1")])]).await;
    let bytes = std::fs::read(place.journal()).unwrap();
    let newer = stored(base.state.clone(), 6);
    let mut edited = base.state.clone();
    edited.terraform_version = "1.2.3".into();
    let edited = stored(edited, 5);
    for (now, part) in [
        (None, "there is no state now"),
        (Some(&stored(State::new(), 5)), "the state now has the lineage"),
        (Some(&newer), "the state now has serial 6"),
        (Some(&edited), "was edited since"),
    ] {
        let e = place.error(now);
        assert!(e.contains(part) && e.contains("these objects: x.a") && e.contains("serial 5"), "{e}");
    }
    assert_eq!(std::fs::read(place.journal()).unwrap(), bytes);
    assert!(Journal::create(&place.journal(), &newer).unwrap_err().detail.contains("Recover it"));
}

/// What a journal of one run holds, and how its records were grouped: what counts as durable after each byte.
async fn run(place: &Place) -> (Stored, Vec<u8>) {
    let base = nothing();
    let journal = Journal::create(&place.journal(), &base).unwrap();
    for i in 1..=6 {
        let a = format!("x.a[{i}]");
        write(&journal, &[Record::Intent(intent(i, &a).into()), finished(i, vec![set(&a, &i.to_string())])]).await;
    }
    (base, std::fs::read(place.journal()).unwrap())
}

#[tokio::test]
async fn cut_at_any_byte_a_journal_keeps_every_whole_record() {
    let place = Place::new();
    let (_, bytes) = run(&place).await;
    let header = 28 + log::scan(&bytes).unwrap().payloads[0].len();
    let mut last = (0, 0);
    for cut in header..=bytes.len() {
        std::fs::write(place.journal(), &bytes[..cut]).unwrap();
        let r = place.recover(None);
        let begun = r.changes + r.pending.len();
        assert!(begun >= last.0 && r.changes >= last.1 && r.pending.len() <= 1, "cut at {cut}");
        assert_eq!(r.state.instance_count(), r.changes);
        last = (begun, r.changes);
        if r.torn_tail && cut % 100 == 0 {
            // What was cut off does not disturb what is appended later.
            let journal = Journal::reopen(&place.journal(), &r).unwrap();
            write(&journal, &[Record::Changes(vec![set("x.later", "1")])]).await;
            let again = place.recover(None);
            assert!(!again.torn_tail && again.changes == r.changes + 1 && again.pending == r.pending);
        }
    }
    assert_eq!(last, (6, 6));
}

#[tokio::test]
async fn a_flipped_bit_anywhere_is_noticed() {
    let place = Place::new();
    let (_, bytes) = run(&place).await;
    for at in (0..bytes.len()).step_by(7) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (at % 8);
        std::fs::write(place.journal(), &damaged).unwrap();
        match recover(&place.journal(), None) {
            Ok(r) => assert!(r.is_some_and(|r| r.torn_tail && r.changes == 5 && r.pending.len() == 1), "at {at}"),
            Err(e) => assert!(e.detail.contains("damaged") || e.detail.contains("beginning"), "{e}"),
        }
        assert_eq!(std::fs::read(place.journal()).unwrap(), damaged);
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_full_disk_fails_every_record_from_then_on() {
    let full = Path::new("/dev/full");
    let journal = Journal::open(full, Frames { number: 1, sound: None }, 1, BTreeMap::new()).unwrap();
    for _ in 0..2 {
        let e = journal.append(&finished(1, vec![])).await.unwrap_err();
        assert!(e.detail.contains("No space left") && e.detail.contains("no further operation"), "{e}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_submitters_share_the_wait_for_the_disk() {
    let place = Place::new();
    let journal = Arc::new(Journal::create(&place.journal(), &nothing()).unwrap());
    let start = std::time::Instant::now();
    let tasks: Vec<_> = (0..20_000)
        .map(|i| {
            let journal = journal.clone();
            tokio::spawn(async move {
                let operation = journal.operation();
                let a = format!("x.a[{i}]");
                journal.append_nowait(&Record::Intent(intent(operation.0, &a).into()));
                journal.append(&finished(operation.0, vec![set(&a, "1")])).await.unwrap();
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let rate = 40_000.0 / start.elapsed().as_secs_f64();
    println!("{rate:.0} records per second");
    let r = place.recover(None);
    assert_eq!((r.changes, r.pending.len()), (20_000, 0));
    // Far below what is reached, to hold on a busy machine without optimization: one wait per record would give less.
    assert!(rate > 5_000.0, "{rate} records per second");
}

fn any_change() -> impl Strategy<Value = Change> {
    let a = prop_oneof![Just("x.a"), Just("x.b[0]"), Just("x.b[1]"), Just("module.m[\"é \\\"\"].x.c[\"$${k}\"]")];
    let key = prop_oneof![Just("00000001"), Just("ffffffff")].prop_map(|k| k.parse::<DeposedKey>().unwrap());
    (a.clone(), a, key, any::<String>(), 0..7).prop_map(|(a, b, key, text, kind)| {
        let (a, b) = (addr(a), addr(b));
        let id = serde_json::to_string(&text).unwrap();
        let object = Arc::new(ObjectState::new(1, format!("{{\"id\":{id}}}")));
        match kind {
            0 => Change::Set { addr: a, deposed: None, provider: provider(), object },
            1 => Change::Set { addr: a, deposed: Some(key), provider: provider(), object },
            2 => Change::Remove { addr: a, deposed: None },
            3 => Change::Depose { addr: a, key },
            4 => Change::Restore { addr: a, key },
            5 => Change::Move { from: a, to: b },
            _ => {
                let value = OutputValue { value: Value::string(&text), sensitive: text.len() % 2 == 0 };
                Change::Output { name: text.into(), value: Some(value) }
            }
        }
    })
}

proptest! {
    #[test]
    fn records_read_back_as_they_were_written(changes in proptest::collection::vec(any_change(), 0..8), n in 0..=record::LAST_OPERATION) {
        let records = [
            Record::Changes(changes.clone()),
            finished(n, changes),
            Record::Intent(Intent { deposed: Some(DeposedKey::random()), client_token: None, ..intent(n, "x.a") }.into()),
            Record::Saving { serial: n, fingerprint: Fingerprint { length: n, crc: n as u32 } },
        ];
        for record in records {
            let payload = record::encode(&record).unwrap();
            prop_assert_eq!(record::Decoder::default().decode(&payload), Ok(record));
        }
    }
}

#[tokio::test]
async fn numbers_of_operations_that_were_never_given_out_are_refused() {
    let place = Place::new();
    let journal = Journal::create(&place.journal(), &nothing()).unwrap();
    write(&journal, &[Record::Intent(Box::new(intent(u64::MAX, "x.a")))]).await;
    drop(journal);
    assert!(place.error(None).contains("not the number of an operation"));
}

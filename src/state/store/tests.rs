use super::*;
use crate::addr::{AbsProviderConfig, Module, Provider, ResourceInstance};
use crate::state::backend::local::{Local, LocalSettings};
use crate::state::backend::save_errored;
use crate::state::journal::{Change, IntentAction, Record};
use crate::state::{ObjectState, OutputValue};
use gpuform_schema::Value;
use std::path::Path;

fn addr(text: &str) -> ResourceInstance {
    text.parse().unwrap()
}

fn provider() -> AbsProviderConfig {
    AbsProviderConfig {
        module: Module::root(),
        provider: Provider::implied("x"),
        alias: None,
        key: crate::addr::InstanceKey::None,
    }
}

fn set(a: &str) -> Change {
    let object = Arc::new(ObjectState::new(0, "{\"id\":\"1\"}"));
    Change::Set { addr: addr(a), deposed: None, provider: provider(), object }
}

async fn open(folder: &Path) -> Store {
    let local = Local::new(LocalSettings { folder: folder.into(), ..LocalSettings::default() });
    let request = LockRequest { operation: "test".into(), who: "me".into(), timeout: Duration::ZERO };
    Store::open(Arc::new(local), "default", Some(&request), || ()).await.map_err(|d| d.to_string()).unwrap()
}

/// Begins to create an instance; with `end`, the provider answers.
async fn create(journal: &Journal, a: &str, end: bool) {
    let operation = journal.operation();
    let intent = Intent {
        operation,
        action: IntentAction::Create,
        addr: addr(a),
        deposed: None,
        provider: provider(),
        client_token: None,
        planned_private: Vec::new(),
        planned: "{}".into(),
        time: 0,
    };
    journal.append(&Record::Intent(intent.into())).await.unwrap();
    if end {
        journal.append(&Record::Finished { operation, changes: vec![set(a)] }).await.unwrap();
    }
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_run_leaves_the_state_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(dir.path()).await;
    assert!(!store.exists());
    create(&store.begin().unwrap(), "x.a", true).await;
    let mut state = store.state().clone();
    set("x.a").apply(&mut state);
    assert!(store.commit(&state).await.unwrap());
    assert!(!store.commit(&state).await.unwrap(), "nothing more to store");
    store.close().await.unwrap();
    assert_eq!(names(dir.path()), ["terraform.tfstate"]);
    let store = open(dir.path()).await;
    assert_eq!((store.state().serial, store.state().get(&addr("x.a")).is_some()), (1, true));
}

#[tokio::test]
async fn a_run_that_dies_is_completed_by_the_next() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(dir.path()).await;
    let journal = store.begin().unwrap();
    create(&journal, "x.a", true).await;
    create(&journal, "x.b", false).await;
    drop((journal, store));

    // A command that only looks sees what was done.
    let mut store = open(dir.path()).await;
    assert!(store.exists() && store.state().get(&addr("x.a")).is_some());
    assert_eq!(store.pending().iter().map(|i| i.addr.to_string()).collect::<Vec<_>>(), ["x.b"]);
    // One that changes things stores it first; what is not known stays in the journal.
    assert_eq!(store.save_recovered().await.unwrap(), 1);
    assert_eq!((store.state().serial, store.pending().len(), store.save_recovered().await.unwrap()), (1, 1, 0));
    drop(store);

    // Changes by commands without operations do not lose it.
    let mut store = open(dir.path()).await;
    let mut state = store.state().clone();
    state.remove(&addr("x.a"));
    assert!(store.commit(&state).await.unwrap());
    assert_eq!(store.pending().len(), 1);
    drop(store);

    // It is found out that the object was made.
    let mut store = open(dir.path()).await;
    let operation = store.pending()[0].operation;
    let mut state = store.state().clone();
    let changes = vec![set("x.b")];
    changes.iter().for_each(|c| c.apply(&mut state));
    store.begin().unwrap().append(&Record::Finished { operation, changes }).await.unwrap();
    store.commit(&state).await.unwrap();
    assert!(store.pending().is_empty());
    store.close().await.unwrap();
    assert_eq!(names(dir.path()), ["terraform.tfstate", "terraform.tfstate.backup"]);
}

#[tokio::test]
async fn a_state_that_cannot_be_stored_is_recovered_or_pushed_later() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(dir.path()).await;
    let journal = store.begin().unwrap();
    create(&journal, "x.a", true).await;
    let mut state = store.state().clone();
    set("x.a").apply(&mut state);
    // A folder is in the way of the state file.
    std::fs::remove_file(dir.path().join("terraform.tfstate")).unwrap();
    std::fs::create_dir(dir.path().join("terraform.tfstate")).unwrap();
    let e = store.commit(&state).await.unwrap_err();
    let d = save_errored(dir.path(), &store.snapshot(&state).unwrap().unwrap(), &e);
    assert!(d.detail.contains("errored.tfstate"), "{d}");
    drop((journal, store));

    std::fs::remove_dir(dir.path().join("terraform.tfstate")).unwrap();
    let mut store = open(dir.path()).await;
    assert!(store.state().get(&addr("x.a")).is_some());
    let bytes = std::fs::read(dir.path().join("errored.tfstate")).unwrap();
    let pushed = crate::state::file::read(&bytes, "errored.tfstate").unwrap().unwrap();
    assert!(!store.push(&pushed, false).await.unwrap(), "the journal had it all");
    assert!(store.state().same_content(&pushed));
    store.close().await.unwrap();
    assert_eq!(names(dir.path()), ["errored.tfstate", "terraform.tfstate"]);
}

#[tokio::test]
async fn outputs_that_could_not_be_stored_are_pushed_after_the_journal_gave_the_objects() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(dir.path()).await;
    let journal = store.begin().unwrap();
    create(&journal, "x.a", true).await;
    let mut state = store.state().clone();
    set("x.a").apply(&mut state);
    let output = OutputValue { value: Value::from("v"), sensitive: false };
    state.outputs.insert("o".into(), output);
    let errored = store.snapshot(&state).unwrap().unwrap();
    drop((journal, store));

    let pushed = crate::state::file::read(&errored.bytes, "errored.tfstate").unwrap().unwrap();
    let mut store = open(dir.path()).await;
    assert!(store.push(&pushed, false).await.unwrap());
    assert!(store.state().same_content(&pushed) && store.state().outputs.contains_key("o"));
    store.close().await.unwrap();
}

#[tokio::test]
async fn nothing_begins_with_a_serial_after_which_there_is_none() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(dir.path()).await;
    let mut state = store.state().clone();
    set("x.a").apply(&mut state);
    store.commit(&state).await.unwrap();
    store.close().await.unwrap();
    let path = dir.path().join("terraform.tfstate");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("\"serial\": 1", "\"serial\": 18446744073709551615")).unwrap();
    let mut store = open(dir.path()).await;
    let e = store.begin().unwrap_err();
    assert!(e.detail.contains("18446744073709551615"), "{e}");
    store.close().await.unwrap();
}

#[tokio::test]
async fn pushing_refuses_what_would_lose_something() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(dir.path()).await;
    let mut state = store.state().clone();
    set("x.a").apply(&mut state);
    store.commit(&state).await.unwrap();
    let current = store.state().clone();
    let mut other = current.clone();
    other.remove(&addr("x.a"));
    for (lineage, serial, part) in
        [("other", 9, "different things"), (&current.lineage, 0, "newer"), (&current.lineage, 1, "another content")]
    {
        let mut new = other.clone();
        (new.lineage, new.serial) = (lineage.to_owned(), serial);
        let e = store.push(&new, false).await.unwrap_err();
        assert!(e.detail.contains(part) && e.detail.contains("-force"), "{e}");
    }
    other.serial = 5;
    assert!(store.push(&other, false).await.unwrap());
    assert_eq!(store.state().serial, 6);
    other.serial = 2;
    set("x.b").apply(&mut other);
    assert!(store.push(&other, true).await.unwrap());
    assert_eq!(store.state().serial, 3);
}

#[tokio::test]
async fn a_lock_is_given_back_when_the_state_cannot_be_read() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("terraform.tfstate"), "rubbish").unwrap();
    let local = Arc::new(Local::new(LocalSettings { folder: dir.path().into(), ..LocalSettings::default() }));
    let request = LockRequest { operation: "test".into(), who: "me".into(), timeout: Duration::ZERO };
    assert!(Store::open(local.clone(), "default", Some(&request), || ()).await.is_err());
    assert_eq!(names(dir.path()), ["terraform.tfstate"]);
    assert!(local.try_lock("default", &LockInfo::new("test", "me")).await.is_ok());
}

#[tokio::test]
async fn two_runs_never_write_one_journal() {
    let dir = tempfile::tempdir().unwrap();
    let mut first = open(dir.path()).await;
    create(&first.begin().unwrap(), "x.a", true).await;
    // -lock=false
    let local = Local::new(LocalSettings { folder: dir.path().into(), ..LocalSettings::default() });
    let mut second = Store::open(Arc::new(local), "default", None, || ()).await.unwrap();
    assert!(second.state().get(&addr("x.a")).is_some(), "looking is fine");
    assert!(second.begin().unwrap_err().detail.contains("another run is writing"));
}

use super::Batcher;
use crate::error::{Error, Result};
use futures::future::join_all;
use std::sync::{Arc, Mutex};
use std::time::Duration;

type Log = Arc<Mutex<Vec<Vec<String>>>>;

/// A cloud in which all but "gone…" exist, that takes up to 100 keys and 100 ms for each call.
fn cloud(refuse: fn(&[String]) -> Result<()>) -> (Batcher<String, String>, Log) {
    let log = Log::default();
    let calls = Arc::clone(&log);
    let batcher = Batcher::new(100, move |keys: Vec<String>| {
        calls.lock().unwrap().push(keys.clone());
        async move {
            tokio::time::sleep(Duration::from_millis(100)).await;
            refuse(&keys)?;
            let there = keys.into_iter().filter(|k| !k.starts_with("gone"));
            Ok(there.map(|k| (k.clone(), format!("object {k}"))).collect())
        }
    });
    (batcher, log)
}

#[tokio::test]
async fn concurrent_questions_share_calls_and_each_gets_its_own_answer() {
    let (cloud, log) = cloud(|_| Ok(()));
    let answers = join_all((0..250).map(|i| cloud.get(format!("id-{i}")))).await;
    for (i, answer) in answers.into_iter().enumerate() {
        assert_eq!(answer.unwrap().unwrap(), format!("object id-{i}"));
    }
    assert_eq!(cloud.get("gone").await.unwrap(), None);
    let sizes: Vec<usize> = log.lock().unwrap().iter().map(Vec::len).collect();
    assert_eq!(sizes, [100, 100, 50, 1]);
}

#[tokio::test]
async fn the_same_question_is_asked_once_but_never_answered_from_the_past() {
    let (cloud, log) = cloud(|_| Ok(()));
    join_all((0..50).map(|_| cloud.get("id"))).await;
    assert_eq!(log.lock().unwrap().len(), 1);
    let first = cloud.get("id");
    let later = async {
        // The call of the first question is under way by now.
        tokio::time::sleep(Duration::from_millis(60)).await;
        cloud.get("id").await
    };
    let (first, later) = tokio::join!(first, later);
    assert!(first.is_ok() && later.is_ok());
    assert_eq!(log.lock().unwrap().len(), 3);
}

#[tokio::test]
async fn an_error_about_some_keys_is_not_for_the_others() {
    let named = |keys: &[String]| match keys.iter().find(|k| k.starts_with("bad")) {
        Some(bad) => Err(Error::new("Refused").detail(format!("The ID {bad} is malformed."))),
        None => Ok(()),
    };
    let unnamed = |keys: &[String]| match keys.iter().any(|k| k.starts_with("bad")) {
        true => Err(Error::not_found("Refused").detail("One or more do not exist.")),
        false => Ok(()),
    };
    for refuse in [named, unnamed] {
        let (cloud, log) = cloud(refuse);
        let (a, b, c, d) = tokio::join!(cloud.get("id-1"), cloud.get("bad-2"), cloud.get("id-3"), cloud.get("id-4"));
        assert!(b.is_err());
        assert!([a, c, d].into_iter().all(|r| r.unwrap().is_some()));
        assert!(log.lock().unwrap().len() <= 5);
    }
}

#[tokio::test]
async fn an_error_of_the_call_reaches_everybody_and_a_crash_leaves_nobody_waiting() {
    let (cloud, log) = cloud(|_| Err(Error::new("Access denied")));
    for answer in join_all((0..20).map(|i| cloud.get(format!("id-{i}")))).await {
        assert!(answer.unwrap_err().to_string().contains("Access denied"));
    }
    assert_eq!(log.lock().unwrap().len(), 1);
    let crashing: Batcher<String, String> = Batcher::new(100, |_| async { panic!("a bug") });
    assert!(crashing.get("id").await.is_err());
    assert!(crashing.get("id").await.is_err());
}

#[tokio::test]
async fn who_stops_waiting_holds_nobody_up() {
    let (cloud, log) = cloud(|_| Ok(()));
    let impatient = tokio::time::timeout(Duration::from_millis(1), cloud.get("impatient"));
    let (impatient, patient) = tokio::join!(impatient, cloud.get("patient"));
    assert!(impatient.is_err());
    assert!(patient.unwrap().is_some());
    assert_eq!(*log.lock().unwrap(), [["patient"]]);
}

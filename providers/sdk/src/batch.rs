//! Many concurrent questions of one kind as few calls of the API. A provider's client has one [`Batcher`] for each
//! kind of object; resources ask it for one object by its key. Nothing is remembered: an answer is never older than the
//! question.

use crate::error::{Error, Result};
use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use std::collections::{HashMap, HashSet};
use std::fmt::Display;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Questions are collected until none has come for this long …
const QUIET: Duration = Duration::from_millis(20);
/// … or until the first of them has waited this long.
const LONGEST: Duration = Duration::from_millis(500);
/// While a call is under way questions wait for its end and are then asked together, unless it takes longer than this.
const PATIENCE: Duration = Duration::from_secs(5);

/// Joins concurrent questions for objects of type `V` by keys of type `K`.
///
/// ```
/// # use gpuform_provider_sdk::{Batcher, Result};
/// # #[derive(Clone)] struct Volume { id: String }
/// # async fn describe_volumes(ids: Vec<String>) -> Result<Vec<Volume>> {
/// #     Ok(ids.into_iter().map(|id| Volume { id }).collect())
/// # }
/// // Of the API's documentation: 200 IDs in a call.
/// let volumes = Batcher::new(200, |ids| async move {
///     Ok(describe_volumes(ids).await?.into_iter().map(|v| (v.id.clone(), v)).collect())
/// });
/// # let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
/// # runtime.block_on(async {
/// let (a, b) = tokio::join!(volumes.get("vol-1"), volumes.get("vol-2")); // one call
/// # assert!(a.unwrap().is_some() && b.unwrap().is_some());
/// # });
/// ```
pub struct Batcher<K, V>(Arc<Shared<K, V>>);

struct Shared<K, V> {
    most: usize,
    ask: Ask<K, V>,
    queue: Mutex<Queue<K, V>>,
    arrival: Notify,
}

type Ask<K, V> = Box<dyn Fn(Vec<K>) -> BoxFuture<'static, Result<Vec<(K, V)>>> + Send + Sync>;

struct Queue<K, V> {
    waiting: Vec<Waiter<K, V>>,
    /// Whether a task serves the queue.
    served: bool,
}

struct Waiter<K, V> {
    key: K,
    answer: oneshot::Sender<Result<Vec<V>>>,
}

impl<K, V> Batcher<K, V>
where
    K: Clone + Eq + Hash + Display + Send + Sync + 'static,
    V: Clone + Send + 'static,
{
    /// `ask` makes one call (and follows its pages) for at most `most` different keys. It gives what it found with the
    /// key that asked for it, in any order: several objects for one key, or none. Objects that nobody asked for are
    /// dropped.
    ///
    /// An error is for all keys of the call. But where the API refuses all because of some (the error is of kind "not
    /// found", or its text names keys), the others are asked for again without those.
    pub fn new<F>(most: usize, ask: impl Fn(Vec<K>) -> F + Send + Sync + 'static) -> Batcher<K, V>
    where
        F: Future<Output = Result<Vec<(K, V)>>> + Send + 'static,
    {
        Batcher(Arc::new(Shared {
            most: most.max(1),
            ask: Box::new(move |keys| Box::pin(ask(keys))),
            queue: Mutex::new(Queue { waiting: Vec::new(), served: false }),
            arrival: Notify::new(),
        }))
    }

    /// The object of this key; `None` where the API has none.
    ///
    /// # Errors
    /// That of the call.
    pub async fn get(&self, key: impl Into<K>) -> Result<Option<V>> {
        Ok(self.all(key).await?.into_iter().next())
    }

    /// All objects of this key.
    ///
    /// # Errors
    /// That of the call.
    pub async fn all(&self, key: impl Into<K>) -> Result<Vec<V>> {
        let (answer, answered) = oneshot::channel();
        let idle = {
            let mut queue = self.0.queue();
            queue.waiting.push(Waiter { key: key.into(), answer });
            !std::mem::replace(&mut queue.served, true)
        };
        if idle {
            tokio::spawn(serve(Arc::clone(&self.0)));
        } else {
            self.0.arrival.notify_one();
        }
        answered.await.unwrap_or_else(|_| Err(Error::new("A call of the API ended without an answer")))
    }
}

impl<K: Clone + Eq + Hash, V> Shared<K, V> {
    fn queue(&self) -> MutexGuard<'_, Queue<K, V>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_full(&self) -> bool {
        self.queue().waiting.len() >= self.most
    }

    /// Waits until no more questions come for the moment, or there are enough for a call.
    async fn gather(&self) {
        let start = Instant::now();
        while !self.is_full() {
            let left = LONGEST.saturating_sub(start.elapsed());
            if timeout(QUIET.min(left), self.arrival.notified()).await.is_err() {
                return;
            }
        }
    }

    /// Waits until there are enough questions for another call.
    async fn filled(&self) {
        while !self.is_full() {
            self.arrival.notified().await;
        }
    }

    /// The questions of the next call, oldest first, without those that nobody waits for any more. `None`, and nobody
    /// serves the queue any longer, where there are none and `leave`.
    fn take(&self, leave: bool) -> Option<Vec<Waiter<K, V>>> {
        let mut queue = self.queue();
        let mut keys = HashSet::new();
        let (mut taken, mut left) = (Vec::new(), Vec::new());
        for waiter in queue.waiting.drain(..).filter(|w| !w.answer.is_closed()) {
            if keys.contains(&waiter.key) || keys.len() < self.most {
                keys.insert(waiter.key.clone());
                taken.push(waiter);
            } else {
                left.push(waiter);
            }
        }
        queue.waiting = left;
        queue.served = !(taken.is_empty() && leave);
        queue.served.then_some(taken)
    }
}

/// Asks what is in the queue until it is empty and all calls have ended.
async fn serve<K, V>(shared: Arc<Shared<K, V>>)
where
    K: Clone + Eq + Hash + Display + Send + Sync + 'static,
    V: Clone + Send + 'static,
{
    let mut calls: FuturesUnordered<JoinHandle<()>> = FuturesUnordered::new();
    loop {
        shared.gather().await;
        if !calls.is_empty() {
            tokio::select! {
                _ = calls.next() => {}
                () = shared.filled() => {}
                () = tokio::time::sleep(PATIENCE) => {}
            }
        }
        match shared.take(calls.is_empty()) {
            None => return,
            // Nothing to ask yet: the calls that are under way end, or questions come.
            Some(batch) if batch.is_empty() => {}
            Some(batch) => calls.push(tokio::spawn(answer(Arc::clone(&shared), batch))),
        }
    }
}

/// Makes the call and tells everybody.
async fn answer<K, V>(shared: Arc<Shared<K, V>>, batch: Vec<Waiter<K, V>>)
where
    K: Clone + Eq + Hash + Display + Send + Sync + 'static,
    V: Clone + Send + 'static,
{
    let distinct: HashSet<&K> = batch.iter().map(|w| &w.key).collect();
    let keys = distinct.into_iter().cloned().collect();
    let answers = ask_all(&shared.ask, keys).await;
    for waiter in batch {
        let answer = answers.get(&waiter.key).cloned().unwrap_or_else(|| Ok(Vec::new()));
        // Who has stopped waiting needs no answer.
        let _ = waiter.answer.send(answer);
    }
}

/// The answer for each key that has objects or an error.
async fn ask_all<K, V>(ask: &Ask<K, V>, keys: Vec<K>) -> HashMap<K, Result<Vec<V>>>
where
    K: Clone + Eq + Hash + Display,
{
    let mut answers: HashMap<K, Result<Vec<V>>> = HashMap::new();
    let mut open = vec![keys];
    while let Some(keys) = open.pop() {
        let error = match ask(keys.clone()).await {
            Ok(found) => {
                for (key, object) in found {
                    if let Ok(objects) = answers.entry(key).or_insert_with(|| Ok(Vec::new())) {
                        objects.push(object);
                    }
                }
                continue;
            }
            Err(e) => e,
        };
        let text = error.to_string();
        let (named, others): (Vec<K>, Vec<K>) = keys.into_iter().partition(|k| text.contains(&k.to_string()));
        match (named.is_empty(), others.is_empty()) {
            (false, false) => {
                open.push(others);
                answers.extend(named.into_iter().map(|k| (k, Err(error.clone()))));
            }
            (true, _) if error.is_not_found() && others.len() > 1 => {
                let (some, rest) = others.split_at(others.len() / 2);
                open.extend([some.to_vec(), rest.to_vec()]);
            }
            _ => answers.extend(named.into_iter().chain(others).map(|k| (k, Err(error.clone())))),
        }
    }
    answers
}

#[cfg(test)]
mod tests;

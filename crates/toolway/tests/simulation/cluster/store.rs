//! How does the store fail that all nodes share?
//!
//! Each node has its own way to the store. What goes wrong on a visit depends on the seed, the node, the session, the kind
//! of the step, and how many such visits there were, but not on other visits: the order of visits within a millisecond
//! may differ between two runs.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Notify;
use tokio::time::sleep;
use toolway::BoxFuture;
use toolway::store::{
    Answer, MemoryStore, Operation, Outcome, Result, Secret, Step, Store, StoreError, StoreFailure,
    Subscription,
};

use super::history::{Event, History, StoreFault, hash_of};
use super::life::NodeLife;
use crate::random::Random;

/// How often things go wrong, in percent, and by how much.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct StoreFaults {
    pub(crate) failed_visits: u64,
    pub(crate) bad_messages: u64,
    /// The longest delay of most visits, in milliseconds.
    pub(crate) delay: u64,
    /// The visit with this number fails in this way.
    pub(crate) planned: Option<(u64, StoreFault)>,
    /// There is a replica, so that a tail can be lost.
    pub(crate) has_replica: bool,
}

/// The store of all nodes.
pub(crate) struct SharedStore {
    history: History,
    seed: u64,
    faults: StoreFaults,
    secret: Secret,
    state: Mutex<StoreState>,
    /// How many visits there were.
    visits: AtomicU64,
    /// Wakes the subscriptions when a replica has taken over.
    has_failed_over: Notify,
}

struct StoreState {
    primary: MemoryStore,
    /// Gets what the primary gets, unless it lags.
    replica: Option<MemoryStore>,
    is_lagging: bool,
    is_away: bool,
    is_calm: bool,
    /// How often a replica took over.
    generation: u32,
    drawn: BTreeMap<(usize, String), u64>,
}

impl SharedStore {
    pub(crate) fn new(history: &History, seed: u64, faults: StoreFaults) -> Arc<Self> {
        let primary = MemoryStore::new();
        let secret = primary.secret();
        let state = StoreState {
            primary,
            replica: faults.has_replica.then(MemoryStore::new),
            is_lagging: false,
            is_away: false,
            is_calm: false,
            generation: 0,
            drawn: BTreeMap::new(),
        };
        Arc::new(Self {
            history: history.clone(),
            seed,
            faults,
            secret,
            state: Mutex::new(state),
            visits: AtomicU64::new(0),
            has_failed_over: Notify::new(),
        })
    }

    pub(crate) fn visits(&self) -> u64 {
        self.visits.load(Ordering::SeqCst)
    }

    pub(crate) fn primary(&self) -> MemoryStore {
        self.state.lock().unwrap().primary.clone()
    }

    fn generation(&self) -> u32 {
        self.state.lock().unwrap().generation
    }

    /// Lets nothing fail from now on.
    pub(crate) fn calm(&self) {
        self.set_away(false);
        self.state.lock().unwrap().is_calm = true;
    }

    pub(crate) fn set_away(&self, is_away: bool) {
        let before = std::mem::replace(&mut self.state.lock().unwrap().is_away, is_away);
        if before != is_away {
            self.fault(0, if is_away { StoreFault::Away } else { StoreFault::Back });
        }
    }

    /// Lets the replica fall behind.
    pub(crate) fn lag(&self) {
        self.state.lock().unwrap().is_lagging = true;
    }

    /// Lets the replica take over: what was confirmed since it lags is lost.
    pub(crate) fn lose_tail(&self) {
        let mut state = self.state.lock().unwrap();
        if let Some(replica) = state.replica.take() {
            state.primary = replica;
            state.generation += 1;
            drop(state);
            self.fault(0, StoreFault::LostTail);
            self.has_failed_over.notify_waiters();
        }
    }

    fn fault(&self, node: usize, fault: StoreFault) {
        self.history.add(Event::Fault { node, fault });
    }

    /// Returns the generator for what happens next between a node and the store.
    fn draw(&self, node: usize, purpose: String) -> Option<Random> {
        let mut state = self.state.lock().unwrap();
        if state.is_calm {
            return None;
        }
        let key = (node, purpose);
        let count = state.drawn.get(&key).copied().unwrap_or_default() + 1;
        let random = Random::new(hash_of(&(self.seed, &key, count)));
        state.drawn.insert(key, count);
        Some(random)
    }

    async fn apply(&self, group: &str, step: &Step) -> Result<Outcome> {
        let (primary, replica) = {
            let state = self.state.lock().unwrap();
            (state.primary.clone(), state.replica.clone().filter(|_| !state.is_lagging))
        };
        if let Some(replica) = replica {
            replica.run(group, step).await?;
        }
        let outcome = primary.run(group, step).await?;
        if let (Some(_), Outcome::Done(answers)) = (group.strip_prefix("s/"), &outcome) {
            self.record(group, step, answers);
        }
        Ok(outcome)
    }

    fn record(&self, group: &str, step: &Step, answers: &[Answer]) {
        let session = self.session(group);
        for (operation, answer) in step.operations.iter().zip(answers) {
            match (operation, answer) {
                (Operation::Append(append), Answer::Appended { last, .. }) => {
                    let count = append.entries.len() as u64;
                    let first = append.first.unwrap_or(last + 1 - count);
                    let entries = append.entries.iter().map(|entry| hash_of(&entry.bytes)).collect();
                    let stream = self.history.number(&append.log);
                    self.history.add(Event::Stored { session, stream, first, entries, ends: append.ends });
                }
                (Operation::Delete(key), _) if key == "record" => {
                    self.history.add(Event::Erased { session });
                }
                _ => {}
            }
        }
    }

    fn session(&self, group: &str) -> usize {
        self.history.number(group.split('/').nth(1).unwrap_or_default())
    }

    /// Describes a visit without what is random.
    fn purpose(&self, group: &str, step: &Step) -> String {
        // The names of sessions and of peers are random.
        let is_random = group.starts_with("s/") || group.starts_with("p/");
        let name = if is_random { self.session(group).to_string() } else { group.to_owned() };
        let operations: Vec<_> = step.operations.iter().map(kind_of).collect();
        format!("{name} {} {}", step.conditions.len(), operations.join(" "))
    }

    /// Chooses what happens to a visit.
    fn choose(&self, node: usize, group: &str, step: &Step) -> (Option<StoreFault>, Duration) {
        let number = self.visits.fetch_add(1, Ordering::SeqCst) + 1;
        if let Some((planned, fault)) = self.faults.planned {
            return ((planned == number).then_some(fault), Duration::from_millis(1));
        }
        let Some(mut random) = self.draw(node, self.purpose(group, step)) else {
            return (None, Duration::from_millis(1));
        };
        let fault = match random.below(4) {
            _ if !random.chance(self.faults.failed_visits) => None,
            0 => Some(StoreFault::NotDone),
            1 => Some(StoreFault::UnknownBefore),
            2 => Some(StoreFault::UnknownAfter),
            _ => Some(StoreFault::Slow),
        };
        let delay = match fault {
            Some(StoreFault::Slow) => random.millis(100, 3000),
            _ => random.millis(0, self.faults.delay),
        };
        (fault, delay)
    }
}

fn kind_of(operation: &Operation) -> &'static str {
    match operation {
        Operation::Get { .. } => "get",
        Operation::Renew { .. } => "renew",
        Operation::Put { .. } => "put",
        Operation::Delete(_) => "delete",
        Operation::Enter { .. } => "enter",
        Operation::Leave { .. } => "leave",
        Operation::Entries(_) => "entries",
        Operation::Clear(_) => "clear",
        Operation::Append(_) => "append",
        Operation::Read { .. } => "read",
        Operation::SetReader { .. } => "set reader",
        Operation::RenewLog { .. } => "renew log",
        Operation::DeleteLog(_) => "delete log",
        Operation::Publish { .. } => "publish",
    }
}

/// The way of one node to the store.
pub(crate) struct NodeStore {
    pub(crate) shared: Arc<SharedStore>,
    pub(crate) life: Arc<NodeLife>,
}

impl NodeStore {
    /// Waits while the node is frozen. Fails if it is dead, or the store is away.
    async fn pass(&self) -> Result<()> {
        if !self.life.passes().await || self.shared.state.lock().unwrap().is_away {
            return Err(StoreError::new(StoreFailure::NotDone, "the store is away"));
        }
        Ok(())
    }
}

fn unknown() -> StoreError {
    StoreError::new(StoreFailure::Unknown, "the reply of the store was lost")
}

impl Store for NodeStore {
    fn run<'s>(&'s self, group: &'s str, step: &'s Step) -> BoxFuture<'s, Result<Outcome>> {
        Box::pin(async move {
            self.pass().await?;
            let node = self.life.number;
            let (fault, delay) = self.shared.choose(node, group, step);
            if let Some(fault) = fault {
                self.shared.fault(node, fault);
            }
            sleep(delay / 2).await;
            self.pass().await?;
            match fault {
                Some(StoreFault::NotDone) => {
                    return Err(StoreError::new(StoreFailure::NotDone, "the store refused the visit"));
                }
                Some(StoreFault::UnknownBefore) => return Err(unknown()),
                _ => {}
            }
            let outcome = self.shared.apply(group, step).await?;
            sleep(delay / 2).await;
            if fault == Some(StoreFault::UnknownAfter) || !self.life.passes().await {
                return Err(unknown());
            }
            Ok(outcome)
        })
    }

    fn publish<'s>(&'s self, channel: &'s str, message: Bytes) -> BoxFuture<'s, Result<()>> {
        Box::pin(async move {
            self.pass().await?;
            let primary = self.shared.primary();
            primary.publish(channel, message).await
        })
    }

    fn subscribe<'s>(&'s self, channel: &'s str) -> BoxFuture<'s, Result<Box<dyn Subscription>>> {
        Box::pin(async move {
            self.pass().await?;
            let generation = self.shared.generation();
            let inner = self.shared.primary().subscribe(channel).await?;
            let (shared, life) = (self.shared.clone(), self.life.clone());
            let purpose = if channel.starts_with("n/") { channel.matches('/').count() } else { 0 };
            let purpose = format!("channel {purpose}");
            let channel = channel.to_owned();
            let held = Vec::new();
            Ok(Box::new(FaultySubscription { shared, life, channel, purpose, inner, generation, held })
                as Box<dyn Subscription>)
        })
    }

    fn secret(&self) -> Secret {
        self.shared.secret
    }

    fn losses(&self) -> u64 {
        self.shared.generation().into()
    }
}

/// A subscription that loses, doubles and swaps messages.
struct FaultySubscription {
    shared: Arc<SharedStore>,
    life: Arc<NodeLife>,
    channel: String,
    purpose: String,
    inner: Box<dyn Subscription>,
    generation: u32,
    /// Messages that arrive before the next one is received.
    held: Vec<Bytes>,
}

impl FaultySubscription {
    async fn receive(&mut self) -> Option<Bytes> {
        loop {
            if let Some(message) = self.held.pop() {
                return Some(message);
            }
            let failed_over = self.shared.has_failed_over.notified();
            if self.shared.generation() != self.generation {
                self.generation = self.shared.generation();
                self.inner = self.shared.primary().subscribe(&self.channel).await.ok()?;
                return None;
            }
            let message = tokio::select! {
                biased;
                () = failed_over => continue,
                message = self.inner.next() => message?,
            };
            let node = self.life.number;
            let Some(mut random) = self.shared.draw(node, self.purpose.clone()) else { return Some(message) };
            if !random.chance(self.shared.faults.bad_messages) {
                return Some(message);
            }
            match random.below(4) {
                0 | 1 => self.shared.fault(node, StoreFault::MessageLost),
                2 => {
                    self.shared.fault(node, StoreFault::MessageDoubled);
                    self.held.push(message.clone());
                    return Some(message);
                }
                _ => {
                    self.shared.fault(node, StoreFault::MessagesSwapped);
                    self.held.push(message);
                    // The next message comes first, if there is one soon.
                    let next = tokio::time::timeout(Duration::from_millis(500), self.inner.next()).await;
                    if let Ok(Some(next)) = next {
                        return Some(next);
                    }
                }
            }
        }
    }
}

impl Subscription for FaultySubscription {
    fn next(&mut self) -> BoxFuture<'_, Option<Bytes>> {
        Box::pin(async move {
            if !self.life.passes().await {
                std::future::pending::<()>().await;
            }
            self.receive().await
        })
    }
}

//! How does the store that several servers share fail?

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use bytes::Bytes;
use tokio::sync::watch;
use toolway::BoxFuture;
use toolway::store::{
    Answer, Append, MemoryStore, Name, Operation, Outcome, Result, Secret, Step, Store, StoreError,
    StoreFailure, Subscription,
};

/// The way of one server to the store that all share. It counts visits, and can be cut.
#[derive(Default)]
pub(super) struct FaultyStore {
    pub(super) memory: Arc<MemoryStore>,
    /// Every visit fails.
    pub(super) is_away: AtomicBool,
    /// Messages are lost.
    pub(super) loses_messages: AtomicBool,
    /// How many steps that append to a stream are confirmed and then lost, as by a fail-over.
    pub(super) lost_appends: AtomicUsize,
    /// How many streams are lost just before a server ends them, because it continues them.
    pub(super) streams_lost_before_end: AtomicUsize,
    /// How many streams are lost just after a server has ended them, which has no answer.
    pub(super) streams_lost_with_end: AtomicUsize,
    /// Whether cancellations and answers for other servers are confirmed and then lost, as by a fail-over.
    pub(super) loses_deliveries: AtomicBool,
    /// Steps of the writer of a stream are done, but their answers wait.
    pub(super) holds_answers: AtomicBool,
    /// How many steps with a claim are done, and their answers are lost.
    pub(super) lost_claim_answers: AtomicUsize,
    /// Changes of the records of sessions are done, but not confirmed.
    pub(super) confirms_no_records: AtomicBool,
    /// How many announcements of a change are done, and their answers are lost.
    pub(super) lost_change_answers: AtomicUsize,
    /// Visits to the log of changes wait before they are done.
    pub(super) holds_changes: AtomicBool,
    /// Tells all subscriptions that messages may have been missed, as after a lost connection.
    pub(super) gaps: watch::Sender<u32>,
    /// How often the store may have lost something.
    pub(super) losses: AtomicU64,
    /// How many visits there were for sessions, and for the peers that they belong to.
    visits: AtomicUsize,
    /// How many visits there were to mark a server as alive, whatever their outcome.
    pub(super) marks: AtomicUsize,
}

impl FaultyStore {
    pub(super) fn new(memory: &Arc<MemoryStore>) -> Arc<Self> {
        Arc::new(Self { memory: memory.clone(), ..Self::default() })
    }

    /// Returns the way of another server to the same store.
    pub(super) fn sibling(&self) -> Arc<Self> {
        Self::new(&self.memory)
    }

    /// Returns the number of visits for sessions and their peers since the last time.
    pub(super) fn take_visits(&self) -> usize {
        self.visits.swap(0, Ordering::AcqRel)
    }

    /// Loses the claims of all requests of a session, as by a fail-over.
    pub(super) async fn lose_claims(&self, session: &str) {
        let step = Step::new().then(Operation::Clear("running".into()));
        self.memory.run(&format!("s/{session}"), &step).await.unwrap();
    }

    fn check(&self) -> Result<()> {
        if self.is_away.load(Ordering::Acquire) {
            return Err(StoreError::new(StoreFailure::NotDone, "the store is away"));
        }
        Ok(())
    }
}

/// Returns the notification stream that a step ends, if it does.
fn stream_that_is_continued(step: &Step) -> Option<Name> {
    step.operations.iter().find_map(|operation| match operation {
        Operation::Append(Append { ends: true, entries, log, .. }) if entries.is_empty() => Some(log.clone()),
        _ => None,
    })
}

/// Returns whether an operation changes the record of a session.
fn is_record(operation: &Operation) -> bool {
    matches!(operation, Operation::Put { key, .. } | Operation::Delete(key) if key == "record")
}

/// Returns whether an operation is for another server.
fn is_delivery(operation: &Operation) -> bool {
    match operation {
        Operation::Enter { map, .. } => map == "cancelled",
        Operation::Put { key, value, .. } => key.starts_with("q/") && !value.is_empty(),
        _ => false,
    }
}

impl Store for FaultyStore {
    fn run<'s>(&'s self, group: &'s str, step: &'s Step) -> BoxFuture<'s, Result<Outcome>> {
        Box::pin(async move {
            self.marks.fetch_add(usize::from(group.starts_with("n/")), Ordering::AcqRel);
            self.check()?;
            while group.starts_with("c/") && self.holds_changes.load(Ordering::Acquire) {
                tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            }
            let is_of_session = group.starts_with("s/");
            let is_of_peer = group.starts_with("p/");
            self.visits.fetch_add(usize::from(is_of_session || is_of_peer), Ordering::AcqRel);
            let appends = step.operations.iter().any(|operation| matches!(operation, Operation::Append(_)));
            let lose = |left: usize| left.checked_sub(1);
            if is_of_session
                && appends
                && self.lost_appends.fetch_update(Ordering::AcqRel, Ordering::Acquire, lose).is_ok()
            {
                let answers = step.operations.iter().map(|_| Answer::Nothing).collect();
                return Ok(Outcome::Done(answers));
            }
            if let Some(stream) = stream_that_is_continued(step) {
                let forget = Step::new().then(Operation::DeleteLog(stream));
                let counters = [&self.streams_lost_before_end, &self.streams_lost_with_end];
                let [is_lost_before, is_lost_with_end] = counters
                    .map(|count| count.fetch_update(Ordering::AcqRel, Ordering::Acquire, lose).is_ok());
                if is_lost_before {
                    self.memory.run(group, &forget).await?;
                }
                if is_lost_with_end {
                    // Messages were sent meanwhile.
                    self.memory.run(group, step).await?;
                    self.memory.run(group, &forget).await?;
                    return Err(StoreError::new(StoreFailure::Unknown, "the answer is lost"));
                }
            }
            if self.loses_deliveries.load(Ordering::Acquire) && step.operations.iter().any(is_delivery) {
                return Ok(Outcome::Done(Vec::new()));
            }
            if self.loses_messages.load(Ordering::Acquire) {
                let mut step = step.clone();
                let dropped = Operation::Entries("no such map".into());
                for operation in &mut step.operations {
                    if matches!(operation, Operation::Publish { .. }) {
                        operation.clone_from(&dropped);
                    }
                }
                return self.memory.run(group, &step).await;
            }
            let outcome = self.memory.run(group, step).await;
            if self.confirms_no_records.load(Ordering::Acquire) && step.operations.iter().any(is_record) {
                return Err(StoreError::new(StoreFailure::Unknown, "it is not confirmed"));
            }
            let claims = step.operations.iter().any(|operation| matches!(operation, Operation::Enter { .. }));
            if is_of_session
                && claims
                && self.lost_claim_answers.fetch_update(Ordering::AcqRel, Ordering::Acquire, lose).is_ok()
            {
                return Err(StoreError::new(StoreFailure::Unknown, "the answer is lost"));
            }
            if group.starts_with("c/")
                && appends
                && self.lost_change_answers.fetch_update(Ordering::AcqRel, Ordering::Acquire, lose).is_ok()
            {
                return Err(StoreError::new(StoreFailure::Unknown, "the answer is lost"));
            }
            let is_numbered = |operation: &Operation| matches!(operation, Operation::Append(append) if append.first.is_some());
            let is_of_writer =
                step.operations.iter().any(is_numbered) && stream_that_is_continued(step).is_none();
            while is_of_writer && self.holds_answers.load(Ordering::Acquire) {
                tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            }
            outcome
        })
    }

    fn publish<'s>(&'s self, channel: &'s str, message: Bytes) -> BoxFuture<'s, Result<()>> {
        Box::pin(async move {
            self.check()?;
            if self.loses_messages.load(Ordering::Acquire) {
                return Ok(());
            }
            self.memory.publish(channel, message).await
        })
    }

    fn subscribe<'s>(&'s self, channel: &'s str) -> BoxFuture<'s, Result<Box<dyn Subscription>>> {
        Box::pin(async move {
            self.check()?;
            let (subscription, gaps) = (self.memory.subscribe(channel).await?, self.gaps.subscribe());
            Ok(Box::new(FaultySubscription { subscription, gaps }) as Box<dyn Subscription>)
        })
    }

    fn secret(&self) -> Secret {
        self.memory.secret()
    }

    fn losses(&self) -> u64 {
        self.losses.load(Ordering::Acquire)
    }
}

struct FaultySubscription {
    subscription: Box<dyn Subscription>,
    gaps: watch::Receiver<u32>,
}

impl Subscription for FaultySubscription {
    fn next(&mut self) -> BoxFuture<'_, Option<Bytes>> {
        Box::pin(async {
            tokio::select! {
                biased;
                Ok(()) = self.gaps.changed() => None,
                message = self.subscription.next() => message,
            }
        })
    }
}

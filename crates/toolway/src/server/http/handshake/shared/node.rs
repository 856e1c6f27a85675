//! Which servers that share a store are alive, and how do messages reach them?
//!
//! Each server has a random id and marks itself in a map of the store. It listens to two channels: its own, and one for
//! all servers. Those who miss a message to all of them notice this by the marks. A server that could not mark itself for as
//! long as a mark lasts takes itself for dead, because the others do: it begins no calls until it could.

use std::collections::{HashMap, HashSet};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::announcements::{OpenNumber, ReceivedMessages, SentMessages};
use super::gaps::{GapWatch, Gaps};
use super::message::{MessageNumber, News, NodeMessage};
use crate::ground::mutex::Mutex;
use crate::ground::random::random_hex;
use crate::server::observe::store_meter::StoreMeter;
use crate::store::{Answer, Operation, Outcome, Result, Step, Store, Subscription};

/// One of the servers that share a store.
pub(in crate::server) struct Node {
    pub(in crate::server) id: String,
    pub(in crate::server) store: Arc<dyn Store>,
    pub(in crate::server) meter: Arc<StoreMeter>,
    /// The group of the map of nodes, which is the channel for all of them, too.
    group: String,
    state: Mutex<NodeState>,
    /// Notified when nodes have died, however this node noticed it.
    died: Arc<Notify>,
    gaps: Arc<Gaps>,
    /// Notified when the mark of this node may be lost.
    unmarked: Arc<Notify>,
    /// The messages to all nodes: those of this one, and those of the others.
    sent: Arc<SentMessages>,
    received: Mutex<ReceivedMessages>,
    /// Notified when messages may have been missed, or the store may have lost something.
    missed: Arc<Notify>,
    /// The losses of the store that are known.
    losses: AtomicU64,
    task: OnceLock<AbortHandle>,
    /// When the store was last probed, and the outcome. The lock is held during the probe, so that there is one at a time.
    probe: tokio::sync::Mutex<Option<(Instant, bool)>>,
}

#[derive(Default)]
struct NodeState {
    /// When this node was last marked.
    marked_at: Option<Instant>,
    /// The nodes that were alive then.
    alive: HashSet<String>,
    /// Those of them that had no mark, and since when: the store may have lost it.
    unmarked: HashMap<String, Instant>,
    /// When the store was last lost, or failed.
    failed_at: Option<Instant>,
    /// When the store may last have lost what it had confirmed, and with it the marks of nodes, or was back after so long that
    /// they had expired.
    lost_at: Option<Instant>,
}

/// The part of the server that messages are for.
pub(in crate::server) trait NodeEvents: Send + Sync + 'static {
    /// Takes a message of another node.
    fn receive(&self, message: NodeMessage);

    /// Looks up what is waited for. Called at intervals, because a message to this node alone may be lost.
    fn look(&self);

    /// Looks up everything that is served here, because messages were missed, or the store may have lost something.
    fn look_everywhere(&self);

    /// Some nodes have died.
    fn nodes_died(&self);
}

impl Node {
    pub(in crate::server) fn new(store: Arc<dyn Store>, meter: Arc<StoreMeter>, server: &str) -> Arc<Self> {
        let (id, group) = (random_hex::<8>(), format!("n/{server}"));
        let (state, died) = (Mutex::default(), Arc::default());
        let (task, probe) = (OnceLock::new(), tokio::sync::Mutex::default());
        let (gaps, unmarked, losses) = (Arc::default(), Arc::default(), AtomicU64::new(store.losses()));
        let (sent, received, missed) = (Arc::default(), Mutex::default(), Arc::default());
        Arc::new(Self {
            id,
            store,
            meter,
            group,
            state,
            died,
            gaps,
            unmarked,
            sent,
            received,
            missed,
            losses,
            task,
            probe,
        })
    }

    /// Returns a watch for the times when the store may have lost what it had confirmed, as by a fail-over.
    pub(super) fn gaps(&self) -> GapWatch {
        self.gaps.watch()
    }

    /// Returns whether the store may not have everything that was confirmed, because it failed a short time ago. Servers
    /// write again what they have.
    pub(super) fn may_store_be_behind(&self) -> bool {
        self.state.lock().failed_at.is_some_and(|failed| failed.elapsed() < HEALING_TIME)
    }

    /// Returns how often the store may have lost what it had confirmed.
    pub(in crate::server) fn losses(&self) -> u64 {
        self.store.losses()
    }

    /// Runs a step in the store.
    pub(super) async fn run(&self, group: &str, step: &Step) -> Result<Outcome> {
        let outcome = self.store.run(group, step).await;
        let losses = self.store.losses();
        if self.losses.fetch_max(losses, Ordering::AcqRel) < losses {
            self.note_gap();
        } else if outcome.is_err() {
            self.state.lock().failed_at = Some(Instant::now());
        }
        outcome
    }

    /// Notes that the store may have lost what it had confirmed.
    fn note_gap(&self) {
        let mut state = self.state.lock();
        (state.failed_at, state.lost_at) = (Some(Instant::now()), Some(Instant::now()));
        drop(state);
        self.expect_anything();
        self.gaps.report();
    }

    /// Notes that anything may have happened until now. When the store can be reached, everything is looked up.
    fn expect_anything(&self) {
        self.received.lock().restart();
        self.unmarked.notify_one();
    }

    /// Prepares the node for calls: starts to listen to messages, and marks the node, unless its mark is fresh.
    pub(in crate::server) async fn ensure_marked<E: NodeEvents>(
        self: &Arc<Self>,
        events: &Arc<E>,
    ) -> Result<()> {
        self.start(events);
        let is_fresh = self.state.lock().marked_at.is_some_and(|marked| marked.elapsed() < MARK_TTL);
        if is_fresh { Ok(()) } else { self.mark().await }
    }

    /// Starts to listen to messages, and to mark the node at intervals.
    fn start<E: NodeEvents>(self: &Arc<Self>, events: &Arc<E>) {
        self.task.get_or_init(|| {
            let (node, events) = (Arc::downgrade(self), Arc::downgrade(events));
            let (died, unmarked, missed) = (self.died.clone(), self.unmarked.clone(), self.missed.clone());
            let task = NodeTask { node, events, died, unmarked, missed };
            tokio::spawn(task.run(self.store.clone(), self.channel(&self.id), self.group.clone()))
                .abort_handle()
        });
    }

    /// Returns whether this node can be marked in the store. Frequent checks cause one visit per second.
    pub(in crate::server) async fn is_store_reachable<E: NodeEvents>(
        self: &Arc<Self>,
        events: &Arc<E>,
    ) -> bool {
        let mut probe = self.probe.lock().await;
        if let Some((at, outcome)) = *probe
            && at.elapsed() < PROBE_INTERVAL
        {
            return outcome;
        }
        self.start(events);
        let outcome = tokio::time::timeout(PROBE_TIMEOUT, self.mark()).await;
        let is_reachable = matches!(outcome, Ok(Ok(())));
        *probe = Some((Instant::now(), is_reachable));
        is_reachable
    }

    /// Marks this node, and finds out which nodes are alive.
    async fn mark(&self) -> Result<()> {
        // The mark lasts from the visit, which is not before this moment.
        let now = Instant::now();
        let (map, key) = ("nodes".into(), self.id.clone().into());
        let sent = self.sent.progress();
        let mut step = Step::new();
        if let Some(message) = sent.unused_message(&self.id) {
            step = step.then(Operation::Publish { channel: self.group.clone().into(), message });
        }
        step = step
            .then(Operation::Enter { map, key, value: sent.write(), ttl: MARK_TTL })
            .then(Operation::Entries("nodes".into()));
        let Outcome::Done(answers) = self.run(&self.group, &step).await? else { return Ok(()) };
        self.sent.forget_unused(&sent.unused);
        let Some(Answer::Entries(entries)) = answers.into_iter().next_back() else { return Ok(()) };
        let others = entries.iter().filter(|(id, _)| *id != self.id);
        let marks = others.map(|(id, mark)| (id.as_str(), &mark[..]));
        if self.received.lock().compare(Instant::now(), marks) {
            self.missed.notify_one();
        }
        let mut alive: HashSet<_> = entries.into_iter().map(|(id, _)| id).collect();
        let mut state = self.state.lock();
        // While the store was away, the marks of the others expired as this one did.
        if state.marked_at.is_some_and(|marked| marked.elapsed() >= MARK_TTL.saturating_sub(MARK_INTERVAL)) {
            state.lost_at = Some(Instant::now());
        }
        // The others mark themselves again. One that does not do so in time is dead, however often the connection to the store is
        // lost meanwhile.
        let is_healing = state.lost_at.is_some_and(|lost| lost.elapsed() < HEALING_TIME);
        let unmarked: HashMap<_, _> = state
            .alive
            .difference(&alive)
            .filter(|_| is_healing)
            .map(|node| (node.clone(), state.unmarked.get(node).copied().unwrap_or_else(Instant::now)))
            .filter(|(_, since)| since.elapsed() < HEALING_TIME)
            .collect();
        alive.extend(unmarked.keys().cloned());
        state.unmarked = unmarked;
        state.marked_at = state.marked_at.max(Some(now));
        if state.alive.difference(&alive).next().is_some() {
            self.died.notify_one();
        }
        self.meter.nodes.store(alive.len(), Ordering::Relaxed);
        state.alive = alive;
        Ok(())
    }

    /// Returns whether a node is alive. An unknown node may be new, so the store is asked.
    pub(in crate::server) async fn is_alive(&self, node: &str) -> Result<bool> {
        if node == self.id || self.state.lock().alive.contains(node) {
            return Ok(true);
        }
        self.mark().await?;
        Ok(self.state.lock().alive.contains(node))
    }

    /// Sends a message to one node.
    pub(in crate::server) async fn tell(&self, node: &str, message: Bytes) {
        self.publish(&self.channel(node), message).await;
    }

    /// Sends a message to all nodes.
    pub(in crate::server) async fn tell_all(&self, message: Bytes) {
        self.publish(&self.group, message).await;
    }

    async fn publish(&self, channel: &str, message: Bytes) {
        // What the message is about is in the store, and is looked up at intervals.
        if let Err(error) = self.store.publish(channel, message).await {
            tracing::warn!(%error, "another server could not be told");
        }
    }

    /// Returns the operation that sends a message to all nodes, and its number. Nodes that miss it notice this.
    pub(super) fn telling_all(&self, session: &str, news: News) -> (Operation, OpenNumber) {
        let open = self.sent.begin();
        let number = MessageNumber { node: self.id.clone(), number: open.number() };
        let message = NodeMessage::write_numbered(session, news, number);
        (Operation::Publish { channel: self.group.clone().into(), message }, open)
    }

    /// Returns the operation that sends a message to one node.
    pub(super) fn telling(&self, node: &str, message: Bytes) -> Operation {
        Operation::Publish { channel: self.channel(node).into(), message }
    }

    fn channel(&self, node: &str) -> String {
        format!("{}/{node}", self.group)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if let Some(task) = self.task.get() {
            task.abort();
        }
    }
}

/// The task of a node.
struct NodeTask<E> {
    node: Weak<Node>,
    events: Weak<E>,
    died: Arc<Notify>,
    unmarked: Arc<Notify>,
    missed: Arc<Notify>,
}

impl<E: NodeEvents> NodeTask<E> {
    async fn run(self, store: Arc<dyn Store>, inbox: String, all: String) {
        let mut mark = Instant::now() + MARK_INTERVAL;
        let mut look = Instant::now() + LOOK_INTERVAL;
        // A message on one channel must not interrupt a subscription to the other, which takes a visit or a pause.
        let mut inbox = pin!(next_message(store.clone(), Channel::new(inbox)));
        let mut all = pin!(next_message(store.clone(), Channel::new(all)));
        loop {
            tokio::select! {
                biased;
                () = tokio::time::sleep_until(mark) => {
                    let Some(node) = self.node.upgrade() else { return };
                    let interval = match node.mark().await {
                        Ok(()) => MARK_INTERVAL,
                        Err(error) => {
                            tracing::warn!(%error, "this server could not be marked as alive");
                            MARK_RETRY_INTERVAL
                        }
                    };
                    mark = Instant::now() + interval;
                }
                () = self.unmarked.notified() => mark = Instant::now(),
                () = self.died.notified() => self.with(E::nodes_died),
                () = self.missed.notified() => self.with(E::look_everywhere),
                () = tokio::time::sleep_until(look) => {
                    look = Instant::now() + LOOK_INTERVAL;
                    self.with(E::look);
                }
                (heard, channel) = &mut inbox => {
                    inbox.set(next_message(store.clone(), channel));
                    self.receive(heard);
                }
                (heard, channel) = &mut all => {
                    all.set(next_message(store.clone(), channel));
                    self.receive(heard);
                }
            }
        }
    }

    fn receive(&self, heard: Heard) {
        let Some(node) = self.node.upgrade() else { return };
        match heard {
            Heard::Message(message) => {
                let Some(message) = NodeMessage::read(&message) else { return };
                if let News::Unused { node: sender, numbers } = &message.news {
                    return node.received.lock().unused(sender, numbers);
                }
                if let Some(number) = &message.number {
                    node.received.lock().arrived(number);
                }
                self.with(|events| events.receive(message));
            }
            // Something may have happened before.
            Heard::Start => node.expect_anything(),
            Heard::Gap => node.note_gap(),
        }
    }

    fn with(&self, work: impl FnOnce(&E)) {
        if let Some(events) = self.events.upgrade() {
            work(&events);
        }
    }
}

/// A channel that a node listens to.
struct Channel {
    name: String,
    subscription: Option<Box<dyn Subscription>>,
}

impl Channel {
    fn new(name: String) -> Self {
        Self { name, subscription: None }
    }
}

/// Something that a node hears on a channel.
enum Heard {
    Message(Bytes),
    /// The subscription has begun.
    Start,
    /// Messages may be lost.
    Gap,
}

/// Waits for the next message of a channel, and subscribes to it first if necessary.
async fn next_message(store: Arc<dyn Store>, mut channel: Channel) -> (Heard, Channel) {
    loop {
        if let Some(subscription) = &mut channel.subscription {
            return (subscription.next().await.map_or(Heard::Gap, Heard::Message), channel);
        }
        match store.subscribe(&channel.name).await {
            Ok(opened) => {
                channel.subscription = Some(opened);
                return (Heard::Start, channel);
            }
            Err(error) => {
                tracing::warn!(%error, "messages of other servers cannot be received");
                tokio::time::sleep(RETRY_DELAY).await;
            }
        }
    }
}

/// How often a node marks itself.
const MARK_INTERVAL: Duration = Duration::from_secs(3);
/// How often a node tries to mark itself while the store fails. Its mark must not expire because of short outages.
const MARK_RETRY_INTERVAL: Duration = Duration::from_millis(500);
/// How long a mark lasts.
const MARK_TTL: Duration = Duration::from_secs(10);
/// How often what is waited for is looked up.
const LOOK_INTERVAL: Duration = Duration::from_secs(15);
/// How long to wait before subscribing again.
const RETRY_DELAY: Duration = Duration::from_secs(1);
/// How long servers may take to write again what the store has lost.
pub(super) const HEALING_TIME: Duration = Duration::from_secs(5);
/// How long the outcome of a probe of the store is used.
const PROBE_INTERVAL: Duration = Duration::from_secs(1);
/// How long a probe of the store may take.
const PROBE_TIMEOUT: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize};

    use super::super::message::News;
    use super::*;
    use crate::ground::future::BoxFuture;
    use crate::store::{MemoryStore, Secret, StoreError, StoreFailure};

    /// A store that takes its time to subscribe to the channel of one node, and that can be away.
    #[derive(Default)]
    struct SlowStore(MemoryStore, AtomicBool, AtomicU64);

    impl Store for SlowStore {
        fn run<'s>(&'s self, group: &'s str, step: &'s Step) -> BoxFuture<'s, Result<Outcome>> {
            if self.1.load(Ordering::Relaxed) {
                return Box::pin(async { Err(StoreError::new(StoreFailure::NotDone, "the store is away")) });
            }
            self.0.run(group, step)
        }

        fn publish<'s>(&'s self, channel: &'s str, message: Bytes) -> BoxFuture<'s, Result<()>> {
            self.0.publish(channel, message)
        }

        fn subscribe<'s>(&'s self, channel: &'s str) -> BoxFuture<'s, Result<Box<dyn Subscription>>> {
            Box::pin(async move {
                if channel != "n/test" {
                    tokio::time::sleep(BETWEEN_MESSAGES * 10).await;
                }
                self.0.subscribe(channel).await
            })
        }

        fn secret(&self) -> Secret {
            self.0.secret()
        }

        fn losses(&self) -> u64 {
            self.2.load(Ordering::Relaxed)
        }
    }

    #[derive(Default)]
    struct Received(AtomicUsize);

    impl NodeEvents for Received {
        fn receive(&self, _message: NodeMessage) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }

        fn look(&self) {}

        fn look_everywhere(&self) {}

        fn nodes_died(&self) {}
    }

    #[tokio::test(start_paused = true)]
    async fn messages_for_all_nodes_do_not_delay_the_subscription_to_those_for_one() {
        let (store, events) = (Arc::new(SlowStore::default()), Arc::new(Received::default()));
        let node = Node::new(store.clone(), Arc::default(), "test");
        node.ensure_marked(&events).await.unwrap();
        for _ in 0..100 {
            // It is not a message that a node understands.
            store.publish("n/test", Bytes::from_static(b"?")).await.unwrap();
            tokio::time::sleep(BETWEEN_MESSAGES).await;
        }
        let news = News::Events { stream: "stream".to_owned() };
        node.tell(&node.id, NodeMessage::write("session", news)).await;
        tokio::time::sleep(BETWEEN_MESSAGES).await;
        assert_eq!(events.0.load(Ordering::Relaxed), 1);
    }

    /// A store whose marks a fail-over loses.
    #[tokio::test(start_paused = true)]
    async fn a_node_does_not_die_of_a_lost_mark() {
        let (store, events) = (Arc::new(SlowStore::default()), Arc::new(Received::default()));
        let [node, other] = [(), ()].map(|()| Node::new(store.clone(), Arc::default(), "test"));
        for node in [&node, &other] {
            node.ensure_marked(&events).await.unwrap();
        }
        assert!(other.is_alive(&node.id).await.unwrap());
        store.2.fetch_add(1, Ordering::Relaxed);
        store.0.run("n/test", &Step::new().then(Operation::Clear("nodes".into()))).await.unwrap();
        other.mark().await.unwrap();
        assert!(other.is_alive(&node.id).await.unwrap(), "it may mark itself again");
        // Its next visit tells it, whatever it is for.
        node.run("n/test", &Step::new()).await.unwrap();
        tokio::time::sleep(BETWEEN_MESSAGES).await;
        let third = Node::new(store.clone(), Arc::default(), "test");
        assert!(third.is_alive(&node.id).await.unwrap(), "it has done so");
        let node_id = node.id.clone();
        drop(node);
        tokio::time::sleep(MARK_TTL + HEALING_TIME).await;
        assert!(!other.is_alive(&node_id).await.unwrap(), "and a dead node is dead");
    }

    #[tokio::test(start_paused = true)]
    async fn a_node_does_not_die_of_short_outages() {
        let (store, events) = (Arc::new(SlowStore::default()), Arc::new(Received::default()));
        let [node, other] = [(), ()].map(|()| Node::new(store.clone(), Arc::default(), "test"));
        node.ensure_marked(&events).await.unwrap();
        // It is away just when the node would mark itself, three times.
        tokio::time::sleep(MARK_INTERVAL.saturating_sub(BETWEEN_MESSAGES)).await;
        store.1.store(true, Ordering::Relaxed);
        tokio::time::sleep(MARK_INTERVAL * 2 + BETWEEN_MESSAGES * 20).await;
        store.1.store(false, Ordering::Relaxed);
        tokio::time::sleep(MARK_TTL.saturating_sub(MARK_INTERVAL * 3)).await;
        assert!(other.is_alive(&node.id).await.unwrap());
    }

    #[tokio::test(start_paused = true)]
    async fn a_node_does_not_die_of_a_long_outage() {
        let (store, events) = (Arc::new(SlowStore::default()), Arc::new(Received::default()));
        let [node, other] = [(), ()].map(|()| Node::new(store.clone(), Arc::default(), "test"));
        for node in [&node, &other] {
            node.ensure_marked(&events).await.unwrap();
        }
        assert!(other.is_alive(&node.id).await.unwrap());
        store.1.store(true, Ordering::Relaxed);
        tokio::time::sleep(MARK_TTL * 2).await;
        store.1.store(false, Ordering::Relaxed);
        // It is the first one to notice that the store is back.
        other.mark().await.unwrap();
        assert!(other.is_alive(&node.id).await.unwrap(), "its mark has expired in the outage");
        let node_id = node.id.clone();
        drop(node);
        tokio::time::sleep(MARK_TTL + HEALING_TIME).await;
        assert!(!other.is_alive(&node_id).await.unwrap(), "and a dead node is dead");
    }

    /// A busy store answers late, and its connections are given up again and again.
    #[tokio::test(start_paused = true)]
    async fn a_dead_node_is_dead_however_often_the_connection_is_lost() {
        let (store, events) = (Arc::new(SlowStore::default()), Arc::new(Received::default()));
        let [node, other] = [(), ()].map(|()| Node::new(store.clone(), Arc::default(), "test"));
        for node in [&node, &other] {
            node.ensure_marked(&events).await.unwrap();
        }
        assert!(other.is_alive(&node.id).await.unwrap());
        let node_id = node.id.clone();
        drop(node);
        // It is missed by one look at the marks, and given up by a later one.
        let mut waited = Duration::ZERO;
        while waited < MARK_TTL + MARK_INTERVAL + HEALING_TIME + MARK_INTERVAL {
            store.2.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(Duration::from_secs(1)).await;
            waited += Duration::from_secs(1);
        }
        assert!(!other.is_alive(&node_id).await.unwrap());
    }

    const BETWEEN_MESSAGES: Duration = Duration::from_millis(10);
}

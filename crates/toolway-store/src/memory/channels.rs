//! Which subscribers does each channel have? A channel exists as long as it has a subscriber.
//!
//! Every subscriber has its own short queue, which uses no memory while it is empty.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use tokio::sync::Notify;

use super::calendar::shrink_if_sparse;
use super::mutex::Mutex;
use crate::store::{BoxFuture, Subscription};

/// The queues of subscribers, by channel and in the order of subscription.
#[derive(Default)]
pub(super) struct Channels {
    subscribers: HashMap<Arc<str>, BTreeMap<u64, Arc<Queue>>>,
    last_id: u64,
}

impl Channels {
    pub(super) fn publish(&self, channel: &str, message: &Bytes) {
        for queue in self.subscribers.get(channel).into_iter().flat_map(BTreeMap::values) {
            queue.push(message.clone());
        }
    }

    /// Returns the number of channels with a subscriber.
    pub(super) fn len(&self) -> usize {
        self.subscribers.len()
    }

    fn subscribe(&mut self, channel: &str) -> (Arc<str>, u64, Arc<Queue>) {
        let name = match self.subscribers.get_key_value(channel) {
            Some((name, _)) => name.clone(),
            None => channel.into(),
        };
        self.last_id += 1;
        let queue = Arc::<Queue>::default();
        self.subscribers.entry(name.clone()).or_default().insert(self.last_id, queue.clone());
        (name, self.last_id, queue)
    }

    fn unsubscribe(&mut self, channel: &str, subscriber: u64) {
        if let Some(subscribers) = self.subscribers.get_mut(channel) {
            subscribers.remove(&subscriber);
            if subscribers.is_empty() {
                self.subscribers.remove(channel);
                shrink_if_sparse(&mut self.subscribers);
            }
        }
    }
}

/// The messages that one subscriber has not received yet.
#[derive(Default)]
struct Queue {
    pending: Mutex<PendingMessages>,
    /// Only one task waits on this, so a leftover permit costs one extra check of the queue.
    notify: Notify,
}

#[derive(Default)]
struct PendingMessages {
    messages: VecDeque<Bytes>,
    has_missed: bool,
}

impl Queue {
    fn push(&self, message: Bytes) {
        let mut pending = self.pending.lock();
        if pending.messages.len() == QUEUE_CAPACITY {
            pending.messages.pop_front();
            pending.has_missed = true;
        }
        pending.messages.push_back(message);
        drop(pending);
        self.notify.notify_one();
    }

    /// Returns the next item, if there is one: a message, or `None` if messages were missed.
    fn poll_next(&self) -> Poll<Option<Bytes>> {
        let mut pending = self.pending.lock();
        if std::mem::take(&mut pending.has_missed) {
            return Poll::Ready(None);
        }
        pending.messages.pop_front().map_or(Poll::Pending, |message| Poll::Ready(Some(message)))
    }
}

/// The subscription of one subscriber. Dropping it unsubscribes.
pub(super) struct ChannelSubscription {
    channels: Arc<Mutex<Channels>>,
    channel: Arc<str>,
    subscriber: u64,
    queue: Arc<Queue>,
}

impl ChannelSubscription {
    pub(super) fn new(channels: &Arc<Mutex<Channels>>, channel: &str) -> Self {
        let (channel, subscriber, queue) = channels.lock().subscribe(channel);
        Self { channels: channels.clone(), channel, subscriber, queue }
    }
}

impl Subscription for ChannelSubscription {
    fn next(&mut self) -> BoxFuture<'_, Option<Bytes>> {
        Box::pin(async {
            loop {
                // The message is taken in the same poll that returns it, so a dropped future never holds one.
                if let Poll::Ready(next) = self.queue.poll_next() {
                    return next;
                }
                self.queue.notify.notified().await;
            }
        })
    }
}

impl Drop for ChannelSubscription {
    fn drop(&mut self) {
        self.channels.lock().unsubscribe(&self.channel, self.subscriber);
    }
}

/// The maximum number of messages in a queue. When the queue is full, the oldest message is dropped.
const QUEUE_CAPACITY: usize = 256;

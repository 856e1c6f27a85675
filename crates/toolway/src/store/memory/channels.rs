//! Who listens where? A channel is there as long as somebody does.
//!
//! Everybody who listens has a short queue of their own, which takes no memory while nothing is in it.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use tokio::sync::Notify;

use super::expiring::give_back;
use crate::ground::future::BoxFuture;
use crate::ground::mutex::Mutex;
use crate::store::backend::Subscription;

/// Those who listen, by the name of the channel and in the order in which they came.
#[derive(Default)]
pub(super) struct Channels {
    listeners: HashMap<Arc<str>, BTreeMap<u64, Arc<Queue>>>,
    came: u64,
}

impl Channels {
    pub(super) fn publish(&self, channel: &str, message: &Bytes) {
        for queue in self.listeners.get(channel).into_iter().flat_map(BTreeMap::values) {
            queue.push(message.clone());
        }
    }

    /// How many channels somebody listens to.
    pub(super) fn len(&self) -> usize {
        self.listeners.len()
    }

    fn join(&mut self, channel: &str) -> (Arc<str>, u64, Arc<Queue>) {
        let name = match self.listeners.get_key_value(channel) {
            Some((name, _)) => name.clone(),
            None => channel.into(),
        };
        self.came += 1;
        let queue = Arc::<Queue>::default();
        self.listeners.entry(name.clone()).or_default().insert(self.came, queue.clone());
        (name, self.came, queue)
    }

    fn leave(&mut self, channel: &str, listener: u64) {
        if let Some(listeners) = self.listeners.get_mut(channel) {
            listeners.remove(&listener);
            if listeners.is_empty() {
                self.listeners.remove(channel);
                give_back(&mut self.listeners);
            }
        }
    }
}

/// What one listener has not heard yet.
#[derive(Default)]
struct Queue {
    unheard: Mutex<Unheard>,
    /// There is only one who waits, so a permit that is left over costs it one look.
    news: Notify,
}

#[derive(Default)]
struct Unheard {
    messages: VecDeque<Bytes>,
    has_missed: bool,
}

impl Queue {
    fn push(&self, message: Bytes) {
        let mut unheard = self.unheard.lock();
        if unheard.messages.len() == MAX_BEHIND {
            unheard.messages.pop_front();
            unheard.has_missed = true;
        }
        unheard.messages.push_back(message);
        drop(unheard);
        self.news.notify_one();
    }

    /// What comes next, if it is there: a message, or that some were missed.
    fn take(&self) -> Poll<Option<Bytes>> {
        let mut unheard = self.unheard.lock();
        if std::mem::take(&mut unheard.has_missed) {
            return Poll::Ready(None);
        }
        unheard.messages.pop_front().map_or(Poll::Pending, |message| Poll::Ready(Some(message)))
    }
}

/// The subscription of one listener, who leaves when it is dropped.
pub(super) struct Heard {
    channels: Arc<Mutex<Channels>>,
    channel: Arc<str>,
    listener: u64,
    queue: Arc<Queue>,
}

impl Heard {
    pub(super) fn on(channels: &Arc<Mutex<Channels>>, channel: &str) -> Self {
        let (channel, listener, queue) = channels.lock().join(channel);
        Self { channels: channels.clone(), channel, listener, queue }
    }
}

impl Subscription for Heard {
    fn next(&mut self) -> BoxFuture<'_, Option<Bytes>> {
        Box::pin(async {
            loop {
                // Taken in the step that gives it back: there is no moment in which a dropped future holds a message.
                if let Poll::Ready(next) = self.queue.take() {
                    return next;
                }
                self.queue.news.notified().await;
            }
        })
    }
}

impl Drop for Heard {
    fn drop(&mut self) {
        self.channels.lock().leave(&self.channel, self.listener);
    }
}

/// How many messages a listener may be behind before it misses the oldest.
const MAX_BEHIND: usize = 16;

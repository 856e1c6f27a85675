//! How can messages go wrong?

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::task::Poll;

use bytes::Bytes;
use toolway_store::{BoxFuture, MemoryStore, Result, Store, StoreError, StoreFailure, Subscription};

use crate::faults::Faults;
use crate::list::Mistake::{self, *};

pub(crate) fn publish<'s>(
    faults: Faults,
    channels: &'s MemoryStore,
    channel: &'s str,
    message: Bytes,
) -> BoxFuture<'s, Result<()>> {
    Box::pin(async move {
        let message = match faults.0 {
            Some(MessagesEndAtNul) => {
                message.slice(..message.iter().position(|byte| *byte == 0).unwrap_or(message.len()))
            }
            _ => message,
        };
        let id = id(channels, channel);
        if faults.has(PublishingNeedsASubscriber) && subscribers(&id).is_none() {
            return Err(StoreError::new(StoreFailure::NotDone, "there is no subscriber"));
        }
        if faults.has(OldMessagesArrive) {
            LAST.lock().unwrap().insert(id, message.clone());
        }
        channels.publish(&name(faults, channel), message).await
    })
}

pub(crate) fn subscribe<'s>(
    faults: Faults,
    channels: &'s MemoryStore,
    channel: &'s str,
) -> BoxFuture<'s, Result<Box<dyn Subscription>>> {
    Box::pin(async move {
        let id = id(channels, channel);
        let inner = match faults.0 {
            Some(SubscribesWhenFirstAsked) => None,
            _ => Some(channels.subscribe(&name(faults, channel)).await?),
        };
        let mut subscribers = SUBSCRIBERS.lock().unwrap();
        if faults.has(OneSubscriberReceives) {
            let earlier = subscribers.insert(id.clone(), Arc::default()).unwrap_or_default();
            earlier.store(true, Ordering::Relaxed);
        }
        let is_over = subscribers.entry(id.clone()).or_default().clone();
        let held = LAST.lock().unwrap().get(&id).cloned();
        Ok(Box::new(Wrong {
            faults,
            channels: channels.clone(),
            channel: channel.to_owned(),
            inner,
            is_over,
            held,
        }) as _)
    })
}

/// The name under which messages travel.
fn name(faults: Faults, channel: &str) -> String {
    // The channels of one case begin alike.
    let end = channel.match_indices(':').nth(2).map_or(channel.len(), |(at, _)| at);
    if faults.has(ReceivesEveryChannel) { channel[..end].to_owned() } else { channel.to_owned() }
}

fn id(channels: &MemoryStore, channel: &str) -> Id {
    (*channels.secret().as_bytes(), channel.to_owned())
}

fn subscribers(id: &Id) -> Option<Arc<AtomicBool>> {
    SUBSCRIBERS.lock().unwrap().get(id).cloned()
}

struct Wrong {
    faults: Faults,
    channels: MemoryStore,
    channel: String,
    inner: Option<Box<dyn Subscription>>,
    /// Set when this subscription must receive nothing more.
    is_over: Arc<AtomicBool>,
    held: Option<Bytes>,
}

impl Wrong {
    fn has(&self, mistake: Mistake) -> bool {
        self.faults.has(mistake)
    }
}

impl Subscription for Wrong {
    fn next(&mut self) -> BoxFuture<'_, Option<Bytes>> {
        Box::pin(async move {
            if self.is_over.load(Ordering::Relaxed) {
                return std::future::pending().await;
            }
            if let Some(held) = self.held.take() {
                return Some(held);
            }
            let name = name(self.faults, &self.channel);
            let (hides, stops) = (self.has(HidesThatItMissed), self.has(StopsAfterItMissed));
            let (wakes, loses) = (!self.has(WakesNoSubscriber), self.has(LosesTheMessageOfADroppedFuture));
            let inner = match &mut self.inner {
                Some(inner) => inner,
                empty => empty.insert(self.channels.subscribe(&name).await.unwrap()),
            };
            if !wakes {
                let mut next = inner.next();
                let now = std::future::poll_fn(|cx| Poll::Ready(next.as_mut().poll(cx))).await;
                return match now {
                    Poll::Ready(message) => message,
                    Poll::Pending => std::future::pending().await,
                };
            }
            let mut message = inner.next().await;
            while message.is_none() && hides {
                message = inner.next().await;
            }
            if message.is_none() && stops {
                self.is_over.store(true, Ordering::Relaxed);
            }
            if loses {
                // The message is in this future now, and lost if the future is dropped.
                tokio::task::yield_now().await;
            }
            message
        })
    }
}

impl Drop for Wrong {
    fn drop(&mut self) {
        if self.has(OneDroppedSubscriptionEndsAll) {
            self.is_over.store(true, Ordering::Relaxed);
        }
    }
}

type Id = ([u8; 32], String);

/// For each channel, what is shared by its subscriptions.
static SUBSCRIBERS: LazyLock<Mutex<HashMap<Id, Arc<AtomicBool>>>> = LazyLock::new(Mutex::default);
/// The last message of each channel.
static LAST: LazyLock<Mutex<HashMap<Id, Bytes>>> = LazyLock::new(Mutex::default);

//! What if a store panics? The panic is reported as an error of the store.

use std::time::Duration;

use bytes::Bytes;

use crate::ground::error::{Error, ErrorKind, Result};
use crate::ground::future::BoxFuture;
use crate::ground::panic::{Panic, catch_panic_async};
use crate::store::backend::{LogEntry, Room, Store, Subscription};

/// A wrapper that turns panics of a store into errors.
pub(crate) struct PanicGuard<S>(pub(crate) S);

/// Runs an operation of the store, and turns a panic into an error.
fn guarded<'s, T: 's>(
    start: impl FnOnce() -> BoxFuture<'s, Result<T>> + Send + 's,
) -> BoxFuture<'s, Result<T>> {
    Box::pin(async move { catch_panic_async(start).await.unwrap_or_else(|panic| Err(panic_error(panic))) })
}

fn panic_error(panic: Panic) -> Error {
    Error::new(ErrorKind::Application, "the store panicked").caused_by(panic)
}

impl<S: Store> Store for PanicGuard<S> {
    fn get<'s>(&'s self, key: &'s str) -> BoxFuture<'s, Result<Option<Bytes>>> {
        guarded(move || self.0.get(key))
    }

    fn renew<'s>(&'s self, key: &'s str, ttl: Duration) -> BoxFuture<'s, Result<Option<Bytes>>> {
        guarded(move || self.0.renew(key, ttl))
    }

    fn put<'s>(&'s self, key: &'s str, value: Bytes, ttl: Duration) -> BoxFuture<'s, Result<()>> {
        guarded(move || self.0.put(key, value, ttl))
    }

    fn compare_and_swap<'s>(
        &'s self,
        key: &'s str,
        expected: Option<Bytes>,
        value: Bytes,
        ttl: Duration,
    ) -> BoxFuture<'s, Result<bool>> {
        guarded(move || self.0.compare_and_swap(key, expected, value, ttl))
    }

    fn delete<'s>(&'s self, key: &'s str) -> BoxFuture<'s, Result<bool>> {
        guarded(move || self.0.delete(key))
    }

    fn append<'s>(
        &'s self,
        log: &'s str,
        entry: LogEntry,
        room: Room,
        ttl: Duration,
    ) -> BoxFuture<'s, Result<u64>> {
        guarded(move || self.0.append(log, entry, room, ttl))
    }

    fn read<'s>(&'s self, log: &'s str, after: u64, max: usize) -> BoxFuture<'s, Result<Vec<(u64, Bytes)>>> {
        guarded(move || self.0.read(log, after, max))
    }

    fn last<'s>(&'s self, log: &'s str) -> BoxFuture<'s, Result<Option<u64>>> {
        guarded(move || self.0.last(log))
    }

    fn renew_log<'s>(&'s self, log: &'s str, ttl: Duration) -> BoxFuture<'s, Result<bool>> {
        guarded(move || self.0.renew_log(log, ttl))
    }

    fn delete_log<'s>(&'s self, log: &'s str) -> BoxFuture<'s, Result<bool>> {
        guarded(move || self.0.delete_log(log))
    }

    fn publish<'s>(&'s self, channel: &'s str, message: Bytes) -> BoxFuture<'s, Result<()>> {
        guarded(move || self.0.publish(channel, message))
    }

    fn subscribe<'s>(&'s self, channel: &'s str) -> BoxFuture<'s, Result<Box<dyn Subscription>>> {
        guarded(move || {
            let subscribing = self.0.subscribe(channel);
            Box::pin(async move {
                let subscription = subscribing.await?;
                Ok(Box::new(GuardedSubscription(Some(subscription))) as Box<dyn Subscription>)
            })
        })
    }
}

/// A subscription; `None` after it has panicked.
struct GuardedSubscription(Option<Box<dyn Subscription>>);

impl Subscription for GuardedSubscription {
    fn next(&mut self) -> BoxFuture<'_, Option<Bytes>> {
        Box::pin(async move {
            // Waits forever after a panic. Readers of streams still check their log at intervals.
            let Some(subscription) = &mut self.0 else { return std::future::pending().await };
            match catch_panic_async(|| subscription.next()).await {
                Ok(message) => message,
                Err(panic) => {
                    tracing::error!(error = %panic, "a subscription panicked: it receives no further messages");
                    self.0 = None;
                    None
                }
            }
        })
    }
}

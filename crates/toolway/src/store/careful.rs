//! What if a store panics? The panic is reported as an error of the store.

use std::time::Duration;

use bytes::Bytes;

use crate::ground::error::{Error, ErrorKind, Result};
use crate::ground::future::BoxFuture;
use crate::ground::panic::{Panic, catch};
use crate::store::backend::{Entry, Room, Store, Subscription};

/// A wrapper that turns panics of a store into errors.
pub(crate) struct Careful<S>(pub(crate) S);

/// Runs an operation of the store, and turns a panic into an error.
fn storing<'s, T: 's>(
    start: impl FnOnce() -> BoxFuture<'s, Result<T>> + Send + 's,
) -> BoxFuture<'s, Result<T>> {
    Box::pin(async move { catch(start).await.unwrap_or_else(|panic| Err(failed(panic))) })
}

fn failed(panic: Panic) -> Error {
    Error::new(ErrorKind::Application, "the store panicked").caused_by(panic)
}

impl<S: Store> Store for Careful<S> {
    fn get<'s>(&'s self, key: &'s str) -> BoxFuture<'s, Result<Option<Bytes>>> {
        storing(move || self.0.get(key))
    }

    fn renew<'s>(&'s self, key: &'s str, ttl: Duration) -> BoxFuture<'s, Result<Option<Bytes>>> {
        storing(move || self.0.renew(key, ttl))
    }

    fn put<'s>(&'s self, key: &'s str, value: Bytes, ttl: Duration) -> BoxFuture<'s, Result<()>> {
        storing(move || self.0.put(key, value, ttl))
    }

    fn swap<'s>(
        &'s self,
        key: &'s str,
        expected: Option<Bytes>,
        value: Bytes,
        ttl: Duration,
    ) -> BoxFuture<'s, Result<bool>> {
        storing(move || self.0.swap(key, expected, value, ttl))
    }

    fn delete<'s>(&'s self, key: &'s str) -> BoxFuture<'s, Result<bool>> {
        storing(move || self.0.delete(key))
    }

    fn append<'s>(
        &'s self,
        log: &'s str,
        entry: Entry,
        room: Room,
        ttl: Duration,
    ) -> BoxFuture<'s, Result<u64>> {
        storing(move || self.0.append(log, entry, room, ttl))
    }

    fn read<'s>(&'s self, log: &'s str, after: u64, max: usize) -> BoxFuture<'s, Result<Vec<(u64, Bytes)>>> {
        storing(move || self.0.read(log, after, max))
    }

    fn last<'s>(&'s self, log: &'s str) -> BoxFuture<'s, Result<Option<u64>>> {
        storing(move || self.0.last(log))
    }

    fn prolong<'s>(&'s self, log: &'s str, ttl: Duration) -> BoxFuture<'s, Result<bool>> {
        storing(move || self.0.prolong(log, ttl))
    }

    fn forget<'s>(&'s self, log: &'s str) -> BoxFuture<'s, Result<bool>> {
        storing(move || self.0.forget(log))
    }

    fn publish<'s>(&'s self, channel: &'s str, message: Bytes) -> BoxFuture<'s, Result<()>> {
        storing(move || self.0.publish(channel, message))
    }

    fn subscribe<'s>(&'s self, channel: &'s str) -> BoxFuture<'s, Result<Box<dyn Subscription>>> {
        storing(move || {
            let subscribing = self.0.subscribe(channel);
            Box::pin(async move {
                let subscription = subscribing.await?;
                Ok(Box::new(Heard(Some(subscription))) as Box<dyn Subscription>)
            })
        })
    }
}

/// A subscription; `None` after it has panicked.
struct Heard(Option<Box<dyn Subscription>>);

impl Subscription for Heard {
    fn next(&mut self) -> BoxFuture<'_, Option<Bytes>> {
        Box::pin(async move {
            // Waits forever after a panic. Readers of streams still check their log at intervals.
            let Some(subscription) = &mut self.0 else { return std::future::pending().await };
            match catch(|| subscription.next()).await {
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

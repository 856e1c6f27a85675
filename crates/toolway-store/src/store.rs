//! What must a store do?

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;

use crate::error::Result;
use crate::step::{Outcome, Step};

/// A future on the heap.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Storage that several servers share.
///
/// Many tasks and processes may call every method at the same time. If the future of a method is dropped, the method has
/// done either all of its work or none. Expired data behaves as if it had never existed; times to live are measured by
/// the clock of the store.
pub trait Store: Send + Sync + 'static {
    /// Checks the conditions of a step and does its operations, atomically, on the names of one group.
    fn run<'s>(&'s self, group: &'s str, step: &'s Step) -> BoxFuture<'s, Result<Outcome>>;

    /// Sends a message to all current subscribers of a channel.
    fn publish<'s>(&'s self, channel: &'s str, message: Bytes) -> BoxFuture<'s, Result<()>>;

    /// Subscribes to a channel. The subscription receives every message that is published after this has returned.
    fn subscribe<'s>(&'s self, channel: &'s str) -> BoxFuture<'s, Result<Box<dyn Subscription>>>;

    /// Returns the secret that everyone who shares this store has, and no one else: keys are derived from it.
    fn secret(&self) -> Secret;

    /// Counts how often the store may have lost data that it had confirmed, as by a fail-over. The number changes before
    /// the first visit that may not find such data returns. A caller that sees another number than before writes again
    /// what it has. A store that loses nothing need not implement this.
    fn losses(&self) -> u64 {
        0
    }
}

impl fmt::Debug for dyn Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a store")
    }
}

/// Forwards to a shared store.
impl<S: Store + ?Sized> Store for Arc<S> {
    fn run<'s>(&'s self, group: &'s str, step: &'s Step) -> BoxFuture<'s, Result<Outcome>> {
        S::run(self, group, step)
    }

    fn publish<'s>(&'s self, channel: &'s str, message: Bytes) -> BoxFuture<'s, Result<()>> {
        S::publish(self, channel, message)
    }

    fn subscribe<'s>(&'s self, channel: &'s str) -> BoxFuture<'s, Result<Box<dyn Subscription>>> {
        S::subscribe(self, channel)
    }

    fn secret(&self) -> Secret {
        S::secret(self)
    }

    fn losses(&self) -> u64 {
        S::losses(self)
    }
}

/// A subscription to a channel. Dropping it ends the subscription.
pub trait Subscription: Send + 'static {
    /// Waits for the next message; messages of one publisher arrive in the order in which they were published. `None`
    /// means that messages may have been missed: a subscriber that needs them reads the stored data again and then
    /// continues. Dropping the future does not lose a message.
    fn next(&mut self) -> BoxFuture<'_, Option<Bytes>>;
}

/// Random bytes that all servers of a store know. They are not shown by `Debug`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Secret([u8; 32]);

impl Secret {
    /// A secret of these bytes.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

//! How does one process keep everything in memory?
//!
//! `run` does a step, on values and logs (`expiring`, `log`) and maps (`maps`) that leave by a `calendar`; `channels`
//! keeps the subscribers. The data and the channels have one lock each, which is never held across an `.await`.

mod calendar;
mod channels;
mod expiring;
mod log;
mod maps;
mod mutex;
mod names;
mod run;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use self::channels::{ChannelSubscription, Channels};
use self::mutex::Mutex;
use self::run::Data;
use crate::error::Result;
use crate::step::{Outcome, Step};
use crate::store::{BoxFuture, Secret, Store, Subscription};

/// A store in memory. Its data is lost when the process ends. A clone is a handle to the same data: servers of one
/// process may share it.
///
/// Times to live are measured by the clock of tokio, so tests can pause it. There is no background task: every operation
/// removes some expired data. The memory it uses therefore follows the live data, and no single step has to remove
/// everything.
///
/// ```
/// use toolway_store::{Answer, Condition, MemoryStore, Operation, Outcome, Step, Store, Version};
/// use std::time::Duration;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> toolway_store::Result<()> {
/// let store = MemoryStore::new();
/// let put = Operation::Put {
///     key: "key".into(),
///     value: "value".into(),
///     version: Version(1),
///     ttl: Duration::from_secs(60),
/// };
/// let step = Step::new().when(Condition::Absent("key".into())).then(put);
/// assert_eq!(store.run("group", &step).await?, Outcome::Done(vec![Answer::Nothing]));
/// assert_eq!(store.run("group", &step).await?, Outcome::Refused { condition: 0, holder: None });
/// // `Debug` prints how much is stored. Expired data counts until it is removed.
/// assert_eq!(format!("{store:?}"), "MemoryStore { values: 1, maps: 0, logs: 0, channels: 0, .. }");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct MemoryStore {
    data: Arc<Mutex<Data>>,
    /// Shared with the subscriptions, which remove themselves when they are dropped.
    channels: Arc<Mutex<Channels>>,
    secret: Secret,
}

impl MemoryStore {
    /// Creates an empty store with a random secret.
    pub fn new() -> Self {
        let mut secret = [0; 32];
        getrandom::fill(&mut secret).expect("the operating system must provide random bytes");
        Self { data: Arc::default(), channels: Arc::default(), secret: Secret::new(secret) }
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns a future that does its work at its first poll.
fn lazy<'s, T>(work: impl FnOnce() -> T + Send + 's) -> BoxFuture<'s, Result<T>> {
    Box::pin(async { Ok(work()) })
}

impl Store for MemoryStore {
    fn run<'s>(&'s self, group: &'s str, step: &'s Step) -> BoxFuture<'s, Result<Outcome>> {
        lazy(|| {
            let mut data = self.data.lock();
            data.run(group, step, |channel, message| self.channels.lock().publish(channel, message))
        })
    }

    fn publish<'s>(&'s self, channel: &'s str, message: Bytes) -> BoxFuture<'s, Result<()>> {
        lazy(move || self.channels.lock().publish(channel, &message))
    }

    fn subscribe<'s>(&'s self, channel: &'s str) -> BoxFuture<'s, Result<Box<dyn Subscription>>> {
        lazy(|| Box::new(ChannelSubscription::new(&self.channels, channel)) as Box<dyn Subscription>)
    }

    fn secret(&self) -> Secret {
        self.secret
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let data = self.data.lock();
        f.debug_struct("MemoryStore")
            .field("values", &data.values.len())
            .field("maps", &data.maps.len())
            .field("logs", &data.logs.len())
            .field("channels", &self.channels.lock().len())
            .finish_non_exhaustive()
    }
}

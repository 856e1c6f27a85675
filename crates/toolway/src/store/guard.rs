//! What if a store panics, or never answers? Both are errors of the store.

use std::time::Duration;

use bytes::Bytes;
use toolway_store::{Outcome, Result, Secret, Step, Store, StoreError, StoreFailure, Subscription};

use crate::ground::error::{Error, ErrorKind};
use crate::ground::future::BoxFuture;
use crate::ground::panic::{catch_panic, catch_panic_async};

/// A wrapper that turns panics of a store into errors, and gives each visit a time limit.
pub(crate) struct StoreGuard<S>(pub(crate) S);

async fn guarded<'s, T: 's>(start: impl FnOnce() -> BoxFuture<'s, Result<T>> + Send + 's) -> Result<T> {
    match tokio::time::timeout(MAX_VISIT_TIME, catch_panic_async(start)).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(panic)) => Err(StoreError::new(StoreFailure::Unknown, "the store panicked").caused_by(panic)),
        Err(_) => Err(StoreError::new(StoreFailure::Unknown, "the store did not answer in time")),
    }
}

impl<S: Store> Store for StoreGuard<S> {
    fn run<'s>(&'s self, group: &'s str, step: &'s Step) -> BoxFuture<'s, Result<Outcome>> {
        Box::pin(guarded(move || self.0.run(group, step)))
    }

    fn publish<'s>(&'s self, channel: &'s str, message: Bytes) -> BoxFuture<'s, Result<()>> {
        Box::pin(guarded(move || self.0.publish(channel, message)))
    }

    fn subscribe<'s>(&'s self, channel: &'s str) -> BoxFuture<'s, Result<Box<dyn Subscription>>> {
        Box::pin(async move {
            let subscription = guarded(move || self.0.subscribe(channel)).await?;
            Ok(Box::new(GuardedSubscription(Some(subscription))) as Box<dyn Subscription>)
        })
    }

    fn secret(&self) -> Secret {
        self.0.secret()
    }

    fn losses(&self) -> u64 {
        catch_panic(|| self.0.losses()).unwrap_or_default()
    }
}

/// A subscription; `None` after it has panicked.
struct GuardedSubscription(Option<Box<dyn Subscription>>);

impl Subscription for GuardedSubscription {
    fn next(&mut self) -> BoxFuture<'_, Option<Bytes>> {
        Box::pin(async move {
            // Waits forever after a panic. What is waited for is also looked up at intervals.
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

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Self::new(ErrorKind::Application, "the store failed").caused_by(error)
    }
}

/// The longest time that one visit to a store may take. Backends should have a shorter limit.
const MAX_VISIT_TIME: Duration = Duration::from_secs(5);

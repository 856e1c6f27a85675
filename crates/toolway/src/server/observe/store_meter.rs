//! What does a server do with the store that it shares with others?

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::otel::StoreInstruments;
use crate::ground::future::BoxFuture;
use crate::store::{Outcome, Result, Secret, Step, Store, StoreFailure, Subscription};

/// The use of a store that a server shares with others, since the server was built: see
/// [`Usage::store`](super::usage::Usage::store).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreUsage {
    /// Visits to the store.
    pub visits: u64,
    /// Visits that failed.
    pub failed_visits: u64,
    /// Servers that share the store and are alive, including this one; 0 before the first session.
    pub nodes: usize,
    /// Requests that this server has ended as lost, because their server had died.
    pub lost_requests: u64,
    /// Requests that were refused, because a request of the session with the same id runs.
    pub refused_requests: u64,
    /// How often the store had lost events that it had confirmed, and this server wrote them again.
    pub healed_streams: u64,
    /// Streams of this server that another one has ended, because the client reads on there, or because it took this
    /// server for dead.
    pub fenced_streams: u64,
    /// How often messages of other servers may have been lost.
    pub gaps: u64,
}

/// An event that operators want to know about.
#[derive(Debug, Clone, Copy)]
pub(crate) enum StoreEvent {
    LostRequest,
    RefusedRequest,
    HealedStream,
    FencedStream,
    Gap,
}

/// Counts what a server does with a store.
#[derive(Debug, Default)]
pub(crate) struct StoreMeter {
    visits: AtomicU64,
    failed_visits: AtomicU64,
    /// The number of servers that are alive.
    pub(crate) nodes: AtomicUsize,
    events: [AtomicU64; 5],
    instruments: StoreInstruments,
}

impl StoreEvent {
    fn name(self) -> &'static str {
        match self {
            Self::LostRequest => "lost_request",
            Self::RefusedRequest => "refused_request",
            Self::HealedStream => "healed_stream",
            Self::FencedStream => "fenced_stream",
            Self::Gap => "gap",
        }
    }
}

impl StoreMeter {
    /// Counts an event.
    pub(crate) fn record(&self, event: StoreEvent) {
        self.events[event as usize].fetch_add(1, Ordering::Relaxed);
        self.instruments.record_event(event.name());
    }

    pub(super) fn usage(&self) -> StoreUsage {
        let of = |event: StoreEvent| self.events[event as usize].load(Ordering::Relaxed);
        StoreUsage {
            visits: self.visits.load(Ordering::Relaxed),
            failed_visits: self.failed_visits.load(Ordering::Relaxed),
            nodes: self.nodes.load(Ordering::Relaxed),
            lost_requests: of(StoreEvent::LostRequest),
            refused_requests: of(StoreEvent::RefusedRequest),
            healed_streams: of(StoreEvent::HealedStream),
            fenced_streams: of(StoreEvent::FencedStream),
            gaps: of(StoreEvent::Gap),
        }
    }

    fn record_visit(&self, outcome: &Result<Outcome>, time: Duration) {
        self.visits.fetch_add(1, Ordering::Relaxed);
        self.failed_visits.fetch_add(u64::from(outcome.is_err()), Ordering::Relaxed);
        let outcome = match outcome {
            Ok(Outcome::Done(_)) => "done",
            Ok(Outcome::Refused { .. }) => "refused",
            Ok(Outcome::Behind { .. }) => "behind",
            Ok(Outcome::Ended { .. }) => "ended",
            Err(error) => match error.failure() {
                StoreFailure::NotDone => "not_done",
                StoreFailure::Unknown => "unknown",
                StoreFailure::Broken => "broken",
            },
        };
        self.instruments.record_visit(outcome, time);
    }
}

/// A store whose visits are counted.
pub(crate) struct MeteredStore {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) meter: Arc<StoreMeter>,
}

impl Store for MeteredStore {
    fn run<'s>(&'s self, group: &'s str, step: &'s Step) -> BoxFuture<'s, Result<Outcome>> {
        Box::pin(async move {
            let began = Instant::now();
            let outcome = self.store.run(group, step).await;
            self.meter.record_visit(&outcome, began.elapsed());
            outcome
        })
    }

    fn publish<'s>(&'s self, channel: &'s str, message: Bytes) -> BoxFuture<'s, Result<()>> {
        self.store.publish(channel, message)
    }

    fn subscribe<'s>(&'s self, channel: &'s str) -> BoxFuture<'s, Result<Box<dyn Subscription>>> {
        Box::pin(async move {
            let subscription = self.store.subscribe(channel).await?;
            let metered = MeteredSubscription { subscription, meter: self.meter.clone() };
            Ok(Box::new(metered) as Box<dyn Subscription>)
        })
    }

    fn secret(&self) -> Secret {
        self.store.secret()
    }

    fn losses(&self) -> u64 {
        self.store.losses()
    }
}

struct MeteredSubscription {
    subscription: Box<dyn Subscription>,
    meter: Arc<StoreMeter>,
}

impl Subscription for MeteredSubscription {
    fn next(&mut self) -> BoxFuture<'_, Option<Bytes>> {
        Box::pin(async move {
            let message = self.subscription.next().await;
            if message.is_none() {
                self.meter.record(StoreEvent::Gap);
            }
            message
        })
    }
}

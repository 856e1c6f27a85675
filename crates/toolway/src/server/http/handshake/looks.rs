//! How are sessions looked up in the store, if this has to be done for many of them?
//!
//! A few are visited at a time, so that a server with ten thousand open streams does not send ten thousand steps at once. While
//! the store is away, the visits are repeated.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::Instant;

use super::live_session::LiveSession;
use crate::ground::future::BoxFuture;
use crate::store;

/// A visit to the store for a session.
pub(super) type Visit = fn(&LiveSession) -> BoxFuture<'_, store::Result<()>>;

/// The looks at all sessions of a server. A look ends when a later one begins.
#[derive(Default)]
pub(super) struct Looks {
    last: Arc<AtomicU64>,
}

impl Looks {
    /// Visits the store for each of these sessions until it has succeeded, or another look begins.
    pub(super) fn begin(&self, sessions: Vec<Arc<LiveSession>>) {
        let (number, last) = (self.last.fetch_add(1, Ordering::AcqRel) + 1, self.last.clone());
        tokio::spawn(async move {
            let is_over = || last.load(Ordering::Acquire) != number;
            visit_until(sessions, |live| Box::pin(live.look()), is_over).await;
        });
    }
}

/// Visits the store for each of these sessions. The visits that fail are repeated for a limited time.
pub(super) fn visit_for(sessions: Vec<Arc<LiveSession>>, limit: Duration, visit: Visit) {
    tokio::spawn(async move {
        let end = Instant::now() + limit;
        visit_until(sessions, visit, || Instant::now() >= end).await;
    });
}

/// Visits the store for a session until it has succeeded.
pub(super) fn look_at(live: Arc<LiveSession>) {
    tokio::spawn(async move { visit_until(vec![live], |live| Box::pin(live.look()), || false).await });
}

async fn visit_until(mut sessions: Vec<Arc<LiveSession>>, visit: Visit, is_over: impl Fn() -> bool) {
    loop {
        sessions = visit_each(sessions, visit).await;
        if sessions.is_empty() {
            return;
        }
        tokio::time::sleep(PAUSE).await;
        sessions.retain(|live| live.is_active());
        if is_over() {
            return;
        }
    }
}

/// Visits the store once for each session. Returns those whose visits have failed.
async fn visit_each(sessions: Vec<Arc<LiveSession>>, visit: Visit) -> Vec<Arc<LiveSession>> {
    let (mut visits, mut failed) = (JoinSet::new(), Vec::new());
    for live in sessions {
        if visits.len() >= MAX_VISITS
            && let Some(outcome) = visits.join_next().await
        {
            failed.extend(outcome.ok().flatten());
        }
        visits.spawn(async move {
            let outcome = visit(&live).await;
            outcome
                .is_err_and(|error| {
                    tracing::warn!(%error, "a session could not be looked up");
                    true
                })
                .then_some(live)
        });
    }
    while let Some(outcome) = visits.join_next().await {
        failed.extend(outcome.ok().flatten());
    }
    // In the order in which they were opened, whichever visit was the slowest.
    failed.sort_unstable_by_key(|live| live.number);
    failed
}

/// How many sessions are visited at a time.
const MAX_VISITS: usize = 64;
/// How long to wait before a visit is repeated.
const PAUSE: Duration = Duration::from_secs(1);

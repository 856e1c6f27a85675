//! May a caller keep the notification stream that it opened, and what may it see there?

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::sync::watch;
use tokio::time::Instant;
use toolway_protocol::RpcError;

use crate::ground::future::BoxFuture;
use crate::ground::mutex::Mutex;
use crate::server::call::verified::Verified;
use crate::server::call::visibility::Visibility;

/// The time between two checks of the rights of one stream, and the longest time that a check may take.
const RECHECK_INTERVAL: Duration = Duration::from_secs(60);

/// The time between two checks of credentials that should have expired.
const EXPIRED_INTERVAL: Duration = Duration::from_secs(5);

/// The elements and resources that the caller of a notification stream may see.
#[derive(Debug, Clone, Default)]
pub(crate) struct StreamView {
    /// The elements that exist for the caller; all of them without a restriction.
    pub(crate) visibility: Option<Arc<Visibility>>,
    /// The verified caller, whose scopes decide about the updates of resources.
    pub(crate) caller: Option<Arc<Verified>>,
    /// `true` over HTTP, where a caller that was not verified has no scopes.
    pub(crate) is_over_http: bool,
}

/// A view that changes while its stream is open.
pub(crate) type SharedView = Arc<Mutex<StreamView>>;

/// The view of a caller, or the reason why it is refused.
pub(crate) type Verdict = Result<StreamView, RpcError>;

/// Decides again about a request that opened a stream.
pub(crate) trait Recheck: fmt::Debug + Send + Sync {
    fn check(self: Arc<Self>) -> BoxFuture<'static, Verdict>;

    /// Returns a receiver that has a new value since the first decision if rights have changed.
    fn announcements(&self) -> watch::Receiver<()>;
}

/// The rights of an open stream.
pub(crate) struct StreamRights {
    recheck: Arc<dyn Recheck>,
    announcements: watch::Receiver<()>,
    /// When the credentials of the caller expire.
    expiry: Option<Instant>,
    due: Instant,
    running: Option<BoxFuture<'static, Verdict>>,
}

impl StreamRights {
    /// The rights of a stream whose caller has credentials that expire at `expiry`.
    pub(crate) fn new(recheck: Arc<dyn Recheck>, expiry: Option<SystemTime>) -> Self {
        let expiry = expiry.map(|time| {
            // A moment later, so that the check finds that the credentials have expired.
            Instant::now()
                + time.duration_since(SystemTime::now()).unwrap_or_default()
                + Duration::from_millis(1)
        });
        let announcements = recheck.announcements();
        Self { recheck, announcements, expiry, due: next_check(expiry), running: None }
    }

    /// Waits for the next decision about the stream. Cancel safe: a check that has begun is continued by the next call.
    pub(crate) async fn next_verdict(&mut self) -> Verdict {
        if self.running.is_none() {
            tokio::select! {
                () = tokio::time::sleep_until(self.due) => {}
                Ok(()) = self.announcements.changed() => {}
            }
            self.due = next_check(self.expiry);
        }
        let running = self.running.get_or_insert_with(|| self.recheck.clone().check());
        let verdict = tokio::time::timeout_at(self.due, running).await;
        self.running = None;
        verdict.unwrap_or_else(|_| Err(RpcError::internal("the check of the rights took too long")))
    }
}

/// Returns the time of the next check: soon, or when the credentials expire. Those that should have expired may still be
/// accepted, if a clock was set; then they are checked again very soon.
fn next_check(expiry: Option<Instant>) -> Instant {
    let now = Instant::now();
    match expiry {
        Some(expiry) if expiry <= now => now + EXPIRED_INTERVAL,
        Some(expiry) => expiry.min(now + RECHECK_INTERVAL),
        None => now + RECHECK_INTERVAL,
    }
}

/// Waits for the next decision about a stream. Waits forever if the rights of the stream cannot change.
pub(crate) async fn next_verdict(rights: Option<&mut StreamRights>) -> Verdict {
    match rights {
        Some(rights) => rights.next_verdict().await,
        None => std::future::pending().await,
    }
}

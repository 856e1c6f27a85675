//! How do streams hear that the store may have lost what it had confirmed?

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Notify;

/// The number of times that the store may have lost something.
#[derive(Default)]
pub(super) struct Gaps {
    count: AtomicU64,
    // It wakes streams in the order in which they began to wait, unlike a watch channel.
    reported: Notify,
}

impl Gaps {
    pub(super) fn report(&self) {
        self.count.fetch_add(1, Ordering::AcqRel);
        self.reported.notify_waiters();
    }

    /// Returns a watch that reports the gaps after this moment.
    pub(super) fn watch(self: &Arc<Self>) -> GapWatch {
        GapWatch { seen: self.count.load(Ordering::Acquire), gaps: self.clone() }
    }
}

/// Waits for gaps.
pub(super) struct GapWatch {
    gaps: Arc<Gaps>,
    seen: u64,
}

impl GapWatch {
    /// Waits until something may have been lost since the last time.
    pub(super) async fn next(&mut self) {
        loop {
            // It notices what is reported from here on.
            let reported = self.gaps.reported.notified();
            let count = self.gaps.count.load(Ordering::Acquire);
            if count != self.seen {
                self.seen = count;
                return;
            }
            reported.await;
        }
    }
}

//! How often is the same event logged?

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::mutex::Mutex;

/// The time of the last message about an event, shared by all clones.
#[derive(Debug, Clone, Default)]
pub(crate) struct LogPace(Arc<Mutex<Option<Instant>>>);

impl LogPace {
    /// Returns whether a message is due at `now`, because the last one is older than `interval`. If so, it counts as
    /// logged.
    pub(crate) fn is_due(&self, interval: Duration, now: Instant) -> bool {
        let mut last = self.0.lock();
        let is_due = last.is_none_or(|last| now.duration_since(last) >= interval);
        if is_due {
            *last = Some(now);
        }
        is_due
    }
}

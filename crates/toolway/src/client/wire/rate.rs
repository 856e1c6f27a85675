//! How often may something happen?

use std::time::Duration;

use tokio::time::Instant;

use crate::ground::mutex::Mutex;

/// Allows a number of events at once, and as many again after each `period`.
pub(crate) struct RateLimit {
    most: u32,
    period: Duration,
    state: Mutex<RateState>,
}

struct RateState {
    since: Instant,
    allowed: u32,
    denied: u64,
}

impl RateLimit {
    pub(crate) fn new(most: u32, period: Duration) -> Self {
        let state = RateState { since: Instant::now(), allowed: 0, denied: 0 };
        Self { most, period, state: Mutex::new(state) }
    }

    /// Counts an event. Returns how many events were denied before this one, or `None` if this one is denied.
    pub(crate) fn allow(&self) -> Option<u64> {
        let mut state = self.state.lock();
        if state.since.elapsed() >= self.period {
            state.since = Instant::now();
            state.allowed = 0;
        }
        if state.allowed == self.most {
            state.denied += 1;
            return None;
        }
        state.allowed += 1;
        Some(std::mem::take(&mut state.denied))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_rest_of_a_period_is_denied_and_counted() {
        let rate = RateLimit::new(2, Duration::from_secs(1));
        let outcomes = || [rate.allow(), rate.allow(), rate.allow(), rate.allow()];
        assert_eq!(outcomes(), [Some(0), Some(0), None, None]);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(outcomes(), [Some(2), Some(0), None, None]);
    }
}

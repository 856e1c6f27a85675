//! How long is waited before something is tried again?

use std::time::Duration;

use crate::ground::jitter::fraction;

/// The longest first wait before something is tried again; twice as long each time.
const FIRST_WAIT: Duration = Duration::from_millis(200);

/// The longest wait.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// Any time up to a limit that doubles: clients that lost a server together do not come back together.
pub(crate) fn backoff(attempt: u32, at_least: Option<Duration>) -> Duration {
    let limit = MAX_WAIT.min(FIRST_WAIT.saturating_mul(1 << attempt.min(16)));
    at_least.unwrap_or_default() + limit.mul_f64(fraction())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_spread_and_bounded() {
        for attempt in 0..40 {
            let waits: Vec<_> = (0..50).map(|_| backoff(attempt, None)).collect();
            let limit = MAX_WAIT.min(FIRST_WAIT * (1 << attempt.min(16)));
            assert!(waits.iter().all(|wait| *wait <= limit));
            assert!(waits.iter().any(|wait| *wait < limit / 2) && waits.iter().any(|wait| *wait > limit / 2));
        }
        assert!(backoff(0, Some(Duration::from_secs(9))) >= Duration::from_secs(9));
    }
}

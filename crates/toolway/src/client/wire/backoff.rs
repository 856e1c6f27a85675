//! How long does a client wait before it retries?

use std::time::Duration;

use crate::ground::jitter::random_fraction;

/// The upper limit of the first wait. The limit doubles with each attempt.
const FIRST_WAIT: Duration = Duration::from_millis(200);

/// The upper limit of every wait.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// Returns `at_least` plus a random time between zero and a limit that doubles with each attempt. The time is random so
/// that clients that lost the same server do not all reconnect at the same moment.
pub(crate) fn backoff(attempt: u32, at_least: Option<Duration>) -> Duration {
    let limit = MAX_WAIT.min(FIRST_WAIT.saturating_mul(1 << attempt.min(16)));
    at_least.unwrap_or_default() + limit.mul_f64(random_fraction())
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

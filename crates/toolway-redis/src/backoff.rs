//! How long does a task wait before it tries again?

use std::time::Duration;

/// Waiting times that grow from one attempt to the next, drawn at random so that the servers of a store do not try at
/// the same moment.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    attempts: u32,
}

impl Backoff {
    /// Returns the time before the next attempt to connect: anything up to 50 ms, then up to twice as much, up to 2 s.
    pub(crate) fn next_attempt(&mut self) -> Duration {
        draw(Duration::ZERO, self.grow(FIRST_ATTEMPT))
    }

    /// Returns the time before the next probe of a server that has failed several times: 250 ms to 2 s.
    pub(crate) fn next_probe(&mut self) -> Duration {
        draw(FIRST_PROBE, self.grow(FIRST_PROBE))
    }

    fn grow(&mut self, first: Duration) -> Duration {
        let longest = (first * 2_u32.saturating_pow(self.attempts.min(10))).min(LONGEST);
        self.attempts += 1;
        longest
    }
}

/// Draws a time at random.
pub(crate) fn draw(from: Duration, to: Duration) -> Duration {
    let span = u64::try_from(to.saturating_sub(from).as_micros()).unwrap_or(u64::MAX);
    from + Duration::from_micros(random() % span.saturating_add(1))
}

/// Returns the same items in a random order.
#[cfg(any(feature = "sentinel", feature = "cluster"))]
pub(crate) fn shuffled<T>(mut items: Vec<T>) -> Vec<T> {
    for last in (1..items.len()).rev() {
        let other = usize::try_from(random() % (last as u64 + 1)).unwrap_or_default();
        items.swap(last, other);
    }
    items
}

/// A random number. Without randomness, which operating systems always have, all attempts take the longest time.
fn random() -> u64 {
    getrandom::u64().unwrap_or(u64::MAX)
}

const FIRST_ATTEMPT: Duration = Duration::from_millis(50);
const FIRST_PROBE: Duration = Duration::from_millis(250);
const LONGEST: Duration = Duration::from_secs(2);

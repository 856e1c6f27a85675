//! What time is it, and for how long did a user sign in?

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::ground::mutex::Mutex;

/// Returns the milliseconds since 1970.
pub(crate) fn now() -> u64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(since_1970.as_millis()).unwrap_or(u64::MAX)
}

/// Measures the time in which a user signs in. It does not count as time of the requests that wait for it.
#[derive(Default)]
pub(super) struct UserClock(Mutex<Measured>);

#[derive(Default)]
struct Measured {
    past: Duration,
    /// When the user was asked.
    since: Option<Instant>,
}

impl UserClock {
    /// Returns the time until now.
    pub(super) fn total(&self) -> Duration {
        let measured = self.0.lock();
        measured.past + measured.since.map(|since| since.elapsed()).unwrap_or_default()
    }

    /// Starts the clock. Dropping the guard stops it.
    pub(super) fn start(&self) -> impl Drop + Send + '_ {
        self.0.lock().since = Some(Instant::now());
        Running(self)
    }
}

struct Running<'c>(&'c UserClock);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let mut measured = self.0.0.lock();
        if let Some(since) = measured.since.take() {
            measured.past += since.elapsed();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_time_of_users_counts() {
        let clock = UserClock::default();
        assert_eq!(clock.total(), Duration::ZERO);
        let running = clock.start();
        while clock.total() == Duration::ZERO {
            std::hint::spin_loop();
        }
        drop(running);
        let total = clock.total();
        assert!(total > Duration::ZERO);
        assert_eq!(clock.total(), total, "it stands");
    }
}

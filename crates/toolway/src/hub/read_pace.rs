//! How soon is a list read again after the server reported a change?
//!
//! Several reports lead to one read. A server that reports changes without end is read less and less often, so that it
//! cannot keep the hub busy. Once the server is quiet for a while, the next change is followed at once again.

use std::time::Duration;

use tokio::time::Instant;

/// The minimum time between two reads of a list that are caused by reports of changes.
const MIN_READ_INTERVAL: Duration = Duration::from_millis(100);

/// The maximum time between two such reads. The time doubles from [`MIN_READ_INTERVAL`] as long as each read is followed
/// by another report within [`QUIET_FACTOR`] times the time.
const MAX_READ_INTERVAL: Duration = Duration::from_secs(5);

/// For how many times the current interval a server has to be quiet so that the interval is the shortest again.
const QUIET_FACTOR: u32 = 4;

/// The reports of changes of one list.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReadPace {
    interval: Duration,
    last_read: Instant,
    /// When to read the list, if it has changed.
    due: Option<Instant>,
}

impl ReadPace {
    /// Starts after a read of the list.
    pub(super) fn new() -> Self {
        Self { interval: MIN_READ_INTERVAL, last_read: Instant::now(), due: None }
    }

    /// Records that the server reported a change.
    pub(super) fn note_change(&mut self) {
        if self.due.is_none() {
            let now = Instant::now();
            let is_early = now < self.last_read + self.interval * QUIET_FACTOR;
            self.due = Some(now.max(self.last_read + self.interval));
            self.interval =
                if is_early { MAX_READ_INTERVAL.min(self.interval * 2) } else { MIN_READ_INTERVAL };
        }
    }

    /// Records that the list was read.
    pub(super) fn note_read(&mut self) {
        self.due = None;
        self.last_read = Instant::now();
    }

    /// Returns when to read the list, if the server reported a change since the last read.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn endless_reports_are_followed_less_and_less_often() {
        let mut pace = ReadPace::new();
        let started = Instant::now();
        let mut waits = Vec::new();
        for _ in 0..10 {
            let before = Instant::now();
            pace.note_change();
            pace.note_change();
            tokio::time::sleep_until(pace.due().unwrap()).await;
            pace.note_read();
            waits.push(before.elapsed().as_millis());
        }
        assert_eq!(waits, [100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000, 5000]);
        tokio::time::advance(Duration::from_secs(6)).await;
        pace.note_change();
        assert_eq!(pace.due(), Some(Instant::now()), "after a pause, a change is followed at once");
        assert!(started.elapsed() > Duration::from_secs(30));
    }
}

//! How often may the hub try to connect to a server? Again and again, but with growing pauses.
//!
//! Every attempt to connect counts, no matter whether the follower task or a call makes it. The second attempt may
//! follow at once. Before each later attempt there is a random wait, which grows up to five seconds. The waits start
//! over after ten seconds without an attempt. After [five attempts in a minute](super::HubBuilder::attempts), the hub
//! waits ten to twenty seconds before the next attempt, and calls fail at once during this wait. A program that exits
//! right after its start is therefore not started a hundred times a minute.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::client::record::Recorder;
use crate::client::wire::backoff::backoff;
use crate::client::{Connector, Target, Transport};
use crate::ground::error::{Error, ErrorKind, Result};
use crate::ground::future::BoxFuture;
use crate::ground::jitter::random_fraction;
use crate::ground::mutex::Mutex;

/// The limit of attempts. After `number` attempts within the time `within`, the next attempt has to wait longer.
#[derive(Debug, Clone, Copy)]
pub(super) struct AttemptLimit {
    pub(super) number: usize,
    pub(super) within: Duration,
}

impl Default for AttemptLimit {
    fn default() -> Self {
        Self { number: MAX_ATTEMPTS, within: ATTEMPTS_WITHIN }
    }
}

/// The attempts to connect to one server.
#[derive(Debug)]
pub(super) struct Breaker {
    limit: AttemptLimit,
    state: Mutex<BreakerState>,
}

#[derive(Debug, Default)]
struct BreakerState {
    /// The times of the most recent attempts, at most [`AttemptLimit::number`] of them.
    attempts: VecDeque<Instant>,
    /// The time of the next allowed attempt.
    next_attempt: Option<Instant>,
    /// `true` if the last attempt reached the limit.
    is_open: bool,
    attempt_count: u64,
}

impl Breaker {
    pub(super) fn new(limit: AttemptLimit) -> Self {
        Self { limit, state: Mutex::default() }
    }

    /// Returns when the next attempt is allowed.
    pub(super) fn next_attempt(&self) -> Instant {
        let now = Instant::now();
        self.state.lock().next_attempt.map_or(now, |next| next.max(now))
    }

    /// Returns how many attempts were counted so far.
    pub(super) fn attempt_count(&self) -> u64 {
        self.state.lock().attempt_count
    }

    /// Forgets all attempts; only their total number is kept.
    pub(super) fn reset(&self) {
        let mut state = self.state.lock();
        *state = BreakerState { attempt_count: state.attempt_count, ..BreakerState::default() };
    }

    /// Returns an error if there were too many attempts and the wait is not over.
    pub(super) fn check(&self) -> Result<()> {
        let state = self.state.lock();
        let wait =
            state.next_attempt.map(|next| next.saturating_duration_since(Instant::now())).unwrap_or_default();
        if state.is_open && !wait.is_zero() { Err(self.too_many_attempts(wait)) } else { Ok(()) }
    }

    /// Counts an attempt, or returns an error if the attempt comes too early.
    fn begin(&self) -> Result<()> {
        self.check()?;
        let wait = self.next_attempt().saturating_duration_since(Instant::now());
        if !wait.is_zero() {
            let message =
                format!("it could not be reached a moment ago; the next attempt is due in {wait:.1?}");
            return Err(Error::new(ErrorKind::Transport, message).unsent().with_retry_after(wait));
        }
        self.record_attempt();
        Ok(())
    }

    /// Counts an attempt, and computes when the next one is allowed.
    pub(super) fn record_attempt(&self) {
        let now = Instant::now();
        let mut state = self.state.lock();
        while state.attempts.front().is_some_and(|first| now.duration_since(*first) >= self.limit.within) {
            state.attempts.pop_front();
        }
        state.attempts.push_back(now);
        state.attempt_count += 1;
        let lately = state
            .attempts
            .iter()
            .filter(|attempt| now.duration_since(**attempt) < BACKOFF_RESET_AFTER)
            .count();
        state.is_open = state.attempts.len() >= self.limit.number;
        state.next_attempt = Some(match (state.is_open, lately) {
            (true, _) => now + LONG_WAIT.mul_f64(f64::midpoint(1.0, random_fraction())),
            (false, 0 | 1) => now,
            (false, _) => now + backoff(u32::try_from(lately).unwrap_or(u32::MAX).saturating_add(1), None),
        });
        // The limit only needs the last `number` attempts.
        if state.attempts.len() > self.limit.number {
            state.attempts.pop_front();
        }
    }

    fn too_many_attempts(&self, wait: Duration) -> Error {
        let AttemptLimit { number, within } = self.limit;
        let message = format!(
            "it was tried {number} times within {within:?} and is not tried again for {wait:.1?}; `refresh` tries at \
             once"
        );
        Error::new(ErrorKind::Transport, message)
    }
}

/// A connector that limits how often its target is tried.
pub(super) struct LimitedConnector {
    pub(super) target: Target,
    pub(super) breaker: Arc<Breaker>,
}

impl Connector for LimitedConnector {
    fn connect(&self) -> BoxFuture<'_, Result<Box<dyn Transport>>> {
        match self.breaker.begin() {
            Ok(()) => self.target.connector().connect(),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }

    fn name(&self) -> String {
        self.target.connector().name()
    }

    fn can_reconnect(&self) -> bool {
        self.target.connector().can_reconnect()
    }

    fn user_time(&self) -> Duration {
        self.target.connector().user_time()
    }

    fn extensions(&self) -> Vec<&'static str> {
        self.target.connector().extensions()
    }

    fn recorded(&self, _recorder: &Recorder) -> Option<Target> {
        // The target got the recorder of its client before it was put behind the limit.
        Some(Target::new(Self { target: self.target.clone(), breaker: self.breaker.clone() }))
    }

    fn cache_key(&self) -> Option<String> {
        self.target.connector().cache_key()
    }
}

/// The default limit of attempts within [`ATTEMPTS_WITHIN`].
const MAX_ATTEMPTS: usize = 5;

const ATTEMPTS_WITHIN: Duration = Duration::from_secs(60);

/// The maximum wait once the limit of attempts is reached. The minimum is half of this value.
const LONG_WAIT: Duration = Duration::from_secs(20);

/// An attempt that was made longer ago than this does not increase the wait.
const BACKOFF_RESET_AFTER: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    fn waits(breaker: &Breaker) -> Duration {
        breaker.next_attempt() - Instant::now()
    }

    #[tokio::test(start_paused = true)]
    async fn the_second_attempt_follows_at_once_and_the_sixth_much_later() {
        let breaker = Breaker::new(AttemptLimit::default());
        breaker.begin().unwrap();
        breaker.begin().unwrap();
        for _ in 0..3 {
            let wait = waits(&breaker);
            assert!(wait <= Duration::from_secs(5), "{wait:?}");
            if !wait.is_zero() {
                let early = breaker.begin().unwrap_err();
                assert!(early.is_unsent(), "the caller may wait and retry");
                assert_eq!(early.retry_after(), Some(wait));
            }
            advance(wait).await;
            breaker.begin().unwrap();
        }
        let wait = waits(&breaker);
        assert!(wait >= LONG_WAIT / 2 && wait <= LONG_WAIT, "{wait:?}");
        let refused = breaker.begin().unwrap_err();
        assert!(!refused.is_unsent(), "the wait is too long for a retry");
        assert!(
            refused.to_string().starts_with("it was tried 5 times within 60s and is not tried again for "),
            "{refused}"
        );
        advance(wait).await;
        breaker.begin().unwrap();
        assert!(waits(&breaker) >= LONG_WAIT / 2, "there were still too many attempts");
        breaker.reset();
        breaker.begin().unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_long_ago_does_not_count() {
        let breaker = Breaker::new(AttemptLimit::default());
        for _ in 0..3 {
            advance(waits(&breaker)).await;
            breaker.begin().unwrap();
        }
        advance(BACKOFF_RESET_AFTER).await;
        breaker.begin().unwrap();
        assert!(waits(&breaker).is_zero(), "the last connection was steady");
        advance(ATTEMPTS_WITHIN).await;
        for _ in 0..4 {
            breaker.check().unwrap();
            advance(waits(&breaker)).await;
            breaker.begin().unwrap();
        }
        breaker.check().unwrap();
    }
}

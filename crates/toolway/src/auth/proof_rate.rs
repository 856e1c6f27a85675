//! How many proofs may one caller use? Each is remembered for minutes, here or in the store of all nodes.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

use crate::ground::mutex::Mutex;

/// Limits the proofs of each caller: a number at once, and then a number in each second.
#[derive(Default)]
pub(crate) struct ProofRate {
    /// When each caller has all its proofs back. Callers that have all of them are forgotten.
    restored: Mutex<HashMap<String, Instant>>,
}

impl ProofRate {
    /// Returns whether a caller may use one more proof, and counts it.
    pub(crate) fn allows(&self, caller: &str) -> bool {
        let now = Instant::now();
        let mut restored = self.restored.lock();
        if let Some(time) = restored.get_mut(caller) {
            let next = now.max(*time) + INTERVAL;
            let is_allowed = next <= now + BURST * INTERVAL;
            if is_allowed {
                *time = next;
            }
            return is_allowed;
        }
        if restored.len() == restored.capacity() {
            restored.retain(|_, time| *time > now);
        }
        restored.insert(caller.to_owned(), now + INTERVAL);
        true
    }
}

/// The number of proofs that a caller may use at once.
const BURST: u32 = 6000;
/// The time after which it may use one more.
const INTERVAL: Duration = Duration::from_millis(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_caller_has_a_number_of_proofs_that_comes_back() {
        let rate = ProofRate::default();
        assert_eq!((0..BURST + 100).filter(|_| rate.allows("ann")).count(), BURST as usize);
        assert!(rate.allows("bob"), "each caller has its own");
        for _ in 0..3 {
            tokio::time::advance(Duration::from_secs(1)).await;
            assert_eq!((0..200).filter(|_| rate.allows("ann")).count(), 100);
        }
        tokio::time::advance(BURST * INTERVAL).await;
        assert_eq!((0..BURST + 100).filter(|_| rate.allows("ann")).count(), BURST as usize);
    }

    #[tokio::test(start_paused = true)]
    async fn callers_that_use_no_proofs_are_forgotten() {
        let rate = ProofRate::default();
        for number in 0..10_000 {
            rate.allows(&number.to_string());
            tokio::time::advance(INTERVAL).await;
        }
        assert!(rate.restored.lock().capacity() < 100);
    }
}

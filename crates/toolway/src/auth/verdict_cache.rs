//! Which tokens were verified a moment ago?

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;
use std::time::Duration;

use highway::{HighwayHash, HighwayHasher, Key};
use tokio::time::Instant;

use crate::auth::verifier::Rejected;
use crate::ground::mutex::Mutex;
use crate::server::call::verified::Verified;

/// The outcome of a verification.
pub(crate) type Verdict = Result<Arc<Verified>, Rejected>;

/// Keeps the verdicts about tokens, by a keyed hash of the token: no token is kept.
///
/// Each kind of verdict has two generations. If the younger one is full, it becomes the older one, and what was older is
/// forgotten. Tokens that are used stay in the younger one.
pub(crate) struct VerdictCache {
    key: Key,
    accepted: Mutex<Generations<Arc<Verified>>>,
    /// Separate, so that tokens of a stranger cannot push out those of known callers.
    refused: Mutex<Generations<Rejected>>,
}

struct Generations<T> {
    young: HashMap<u128, (T, Instant), HashedAlready>,
    old: HashMap<u128, (T, Instant), HashedAlready>,
}

/// Uses the keys of a map, which are hashes, as they are.
#[derive(Default)]
struct Unhashed(u64);

type HashedAlready = BuildHasherDefault<Unhashed>;

impl Hasher for Unhashed {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u128(&mut self, hash: u128) {
        #[expect(clippy::cast_possible_truncation, reason = "each half of a hash is as good as the other")]
        let half = hash as u64;
        self.0 = half;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

impl<T> Default for Generations<T> {
    fn default() -> Self {
        Self { young: HashMap::default(), old: HashMap::default() }
    }
}

impl<T: Clone> Generations<T> {
    fn get(&mut self, key: u128, now: Instant) -> Option<T> {
        let is_fresh = |(_, until): &&(T, Instant)| *until > now;
        if let Some((value, _)) = self.young.get(&key).filter(is_fresh) {
            return Some(value.clone());
        }
        let (value, until) = self.old.remove(&key).filter(|kept| is_fresh(&kept))?;
        self.insert(key, value.clone(), until);
        Some(value)
    }

    fn insert(&mut self, key: u128, value: T, until: Instant) {
        if self.young.len() >= MAX_VERDICTS / 2 && !self.young.contains_key(&key) {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, (value, until));
    }
}

impl VerdictCache {
    pub(crate) fn new() -> Self {
        // With a key that can be guessed, a caller could make a token with the hash of another one.
        let draw = || getrandom::u64().expect("the system has a source of randomness");
        Self {
            key: Key(std::array::from_fn(|_| draw())),
            accepted: Mutex::default(),
            refused: Mutex::default(),
        }
    }

    /// Returns the name of a token in the cache.
    pub(crate) fn key(&self, token: &[u8]) -> u128 {
        let [low, high] = HighwayHasher::new(self.key).hash128(token);
        u128::from(high) << 64 | u128::from(low)
    }

    pub(crate) fn get(&self, key: u128) -> Option<Verdict> {
        let now = Instant::now();
        if let Some(caller) = self.accepted.lock().get(key, now) {
            return Some(Ok(caller));
        }
        self.refused.lock().get(key, now).map(Err)
    }

    pub(crate) fn put(&self, key: u128, verdict: &Verdict, time: Duration) {
        let until = Instant::now() + time;
        match verdict {
            Ok(caller) => self.accepted.lock().insert(key, caller.clone(), until),
            Err(rejected) => self.refused.lock().insert(key, rejected.clone(), until),
        }
    }
}

/// The largest number of verdicts of each kind.
const MAX_VERDICTS: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(name: &str) -> Arc<Verified> {
        Arc::new(Verified::new(name))
    }

    #[tokio::test(start_paused = true)]
    async fn a_verdict_ends_and_belongs_to_one_token() {
        let cache = VerdictCache::new();
        let (ann, bob) = (cache.key(b"token of ann"), cache.key(b"token of bob"));
        cache.put(ann, &Ok(caller("ann")), Duration::from_secs(30));
        cache.put(bob, &Err(Rejected::invalid("no")), Duration::from_secs(5));
        assert_eq!(cache.get(ann).unwrap().unwrap().subject(), "ann");
        assert!(cache.get(bob).unwrap().is_err());
        assert!(cache.get(cache.key(b"token of ann ")).is_none());
        assert_ne!(
            VerdictCache::new().key(b"token of ann"),
            ann,
            "a caller cannot compute the name of a token"
        );
        tokio::time::advance(Duration::from_secs(5)).await;
        assert!(cache.get(bob).is_none() && cache.get(ann).is_some());
        tokio::time::advance(Duration::from_secs(25)).await;
        assert!(cache.get(ann).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn strangers_do_not_push_out_known_callers_and_the_cache_is_bounded() {
        let cache = VerdictCache::new();
        let ann = cache.key(b"ann");
        cache.put(ann, &Ok(caller("ann")), Duration::from_secs(30));
        for number in 0..3 * MAX_VERDICTS {
            cache.put(
                cache.key(number.to_string().as_bytes()),
                &Err(Rejected::invalid("no")),
                Duration::from_secs(5),
            );
        }
        assert!(cache.get(ann).is_some());
        for number in 0..3 * MAX_VERDICTS {
            cache.put(cache.key(number.to_string().as_bytes()), &Ok(caller("x")), Duration::from_secs(5));
            // A token that is used stays.
            assert!(cache.get(ann).is_some());
        }
        let accepted = cache.accepted.lock();
        assert!(accepted.young.len() + accepted.old.len() <= MAX_VERDICTS);
    }
}

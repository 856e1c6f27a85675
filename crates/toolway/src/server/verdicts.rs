//! Who was let in a moment ago? Verdicts that may be used again, each for exactly who it was about.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hasher;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, DATE, HeaderName};
use siphasher::sip128::{Hasher128, SipHasher24};
use tokio::time::Instant;

use super::admit::Admit;
use super::connecting::Connecting;
use super::cursor::random_key;

/// How many verdicts are kept. When there are as many, the hook is asked about everybody else.
const MAX_VERDICTS: usize = 10_000;
/// The longest time for which a verdict is kept, whatever the hook says.
const MAX_VALID: Duration = Duration::from_hours(24);
/// How often those that have expired are looked for when there is no more room.
const SWEEP: Duration = Duration::from_secs(1);

/// Verdicts, by a keyed hash of what the hook was shown. Without the key nobody can look for two callers that have the same
/// hash; a header more or less only leads to the hook.
pub(super) struct Verdicts {
    key: [u8; 16],
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    kept: HashMap<u128, (Instant, Admit)>,
    swept: Option<Instant>,
}

impl Verdicts {
    pub(super) fn new() -> Self {
        Self { key: random_key(), table: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What everything that the hook is shown about somebody hashes to. Nothing is left out but what changes with each
    /// message, and the port, which changes with each connection.
    pub(super) fn key(&self, connecting: &Connecting) -> u128 {
        let mut hasher = SipHasher24::new_with_key(&self.key);
        // Lengths keep `ab` + `c` and `a` + `bc` apart.
        let mut add = |part: &[u8]| {
            hasher.write(&(part.len() as u64).to_le_bytes());
            hasher.write(part);
        };
        for (name, value) in connecting.headers() {
            if !is_of_the_message(name) {
                add(name.as_str().as_bytes());
                add(value.as_bytes());
            }
        }
        // No header has an empty name: here they end.
        add(b"");
        for part in [connecting.query(), connecting.session_id()] {
            add(if part.is_some() { b"+" } else { b"-" });
            add(part.unwrap_or_default().as_bytes());
        }
        add(connecting.remote().map(|remote| remote.ip().to_string()).unwrap_or_default().as_bytes());
        hasher.finish128().as_u128()
    }

    /// A verdict that is still good.
    pub(super) fn get(&self, key: u128) -> Option<Admit> {
        let mut table = self.lock();
        // Most servers keep none.
        let (end, admit) = table.kept.get(&key)?;
        if Instant::now() < *end {
            return Some(admit.clone());
        }
        table.kept.remove(&key);
        None
    }

    /// Keeps a verdict, if there is room.
    pub(super) fn keep(&self, key: u128, valid_for: Duration, admit: Admit) {
        let now = Instant::now();
        let mut table = self.lock();
        if table.kept.len() >= MAX_VERDICTS && table.swept.is_none_or(|swept| now - swept >= SWEEP) {
            table.swept = Some(now);
            table.kept.retain(|_, (end, _)| now < *end);
        }
        if table.kept.len() < MAX_VERDICTS || table.kept.contains_key(&key) {
            table.kept.insert(key, (now + valid_for.min(MAX_VALID), admit));
        }
    }
}

/// Whether a header is about one message, and says nothing about who sends it or what it wants.
fn is_of_the_message(name: &HeaderName) -> bool {
    [ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, DATE].contains(name)
        || ["last-event-id", "traceparent", "tracestate"].contains(&name.as_str())
}

impl fmt::Debug for Verdicts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Verdicts")
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::sync::Arc;

    use http::{HeaderMap, HeaderValue};

    use super::*;

    fn somebody(headers: &[(&'static str, &'static str)], query: Option<&str>, port: u16) -> Connecting {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, HeaderValue::from_static(value));
        }
        let remote = Some(SocketAddr::from(([127, 0, 0, 1], port)));
        Connecting::over_http(Arc::new(map), query, None, remote)
    }

    #[test]
    fn whoever_differs_in_anything_that_is_shown_has_another_key() {
        let verdicts = Verdicts::new();
        let ann = [("authorization", "Bearer ann"), ("x-a", "b")];
        let key = verdicts.key(&somebody(&ann, Some("q=1"), 1));
        let same = [
            somebody(&ann, Some("q=1"), 2),
            somebody(&[ann[0], ann[1], ("content-length", "7")], Some("q=1"), 1),
            somebody(&[ann[0], ann[1], ("accept", "*/*"), ("traceparent", "00-1")], Some("q=1"), 1),
        ];
        for same in same {
            assert_eq!(verdicts.key(&same), key, "{same:?}");
        }
        let elsewhere = Some(SocketAddr::from(([127, 0, 0, 2], 1)));
        let headers = Arc::new(somebody(&ann, None, 1).headers().clone());
        let others = [
            somebody(&[("authorization", "Bearer bob"), ann[1]], Some("q=1"), 1),
            somebody(&[ann[0]], Some("q=1"), 1),
            // A hook may decide by the tool that is called.
            somebody(&[ann[0], ann[1], ("mcp-name", "x")], Some("q=1"), 1),
            somebody(&[ann[0], ("x-ab", "")], Some("q=1"), 1),
            somebody(&[ann[0], ann[1], ann[0]], Some("q=1"), 1),
            somebody(&[ann[0], ann[1], ("user-agent", "x")], Some("q=1"), 1),
            somebody(&ann, Some("q=2"), 1),
            somebody(&ann, Some(""), 1),
            somebody(&ann, None, 1),
            Connecting::over_http(headers.clone(), Some("q=1"), None, elsewhere),
            Connecting::over_http(headers, Some("q=1"), Some("session".to_owned()), elsewhere),
        ];
        let mut keys: Vec<_> = others.iter().map(|other| verdicts.key(other)).collect();
        keys.push(key);
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), others.len() + 1);
        assert_ne!(Verdicts::new().key(&somebody(&ann, Some("q=1"), 1)), key, "the key is random");
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_verdicts_are_kept_than_there_is_room_for() {
        let verdicts = Verdicts::new();
        for key in 0..MAX_VERDICTS as u128 + 10 {
            verdicts.keep(key, Duration::from_secs(10), Admit::anyone());
        }
        assert_eq!(verdicts.lock().kept.len(), MAX_VERDICTS);
        assert!(verdicts.get(0).is_some() && verdicts.get(MAX_VERDICTS as u128).is_none());
        tokio::time::advance(Duration::from_secs(10)).await;
        verdicts.keep(1 << 100, Duration::MAX, Admit::anyone());
        assert_eq!(verdicts.lock().kept.len(), 1, "the others have expired");
        tokio::time::advance(MAX_VALID).await;
        assert!(verdicts.get(1 << 100).is_none());
    }
}

//! Where was a stream when it ended, and when may it be asked for again?

use std::time::Duration;

use ::http::header::HeaderValue;

use crate::ground::jitter::fraction;
use crate::transport::sse::Event;

/// What is waited before a stream is asked for again, when its server does not say.
const FIRST_WAIT: Duration = Duration::from_secs(1);

/// The longest wait that we choose ourselves.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// The longest wait that a server may choose: somebody may be waiting for the reply.
const MAX_RETRY: Duration = Duration::from_secs(5 * 60);

/// The shortest: a server that says "at once" again and again would have us do nothing else.
const MIN_RETRY: Duration = Duration::from_millis(10);

/// The longest id that is repeated to the server.
const MAX_ID: usize = 4 << 10;

/// How far one stream was read.
#[derive(Debug, Default)]
pub(super) struct Cursor {
    last_id: Option<HeaderValue>,
    retry: Option<Duration>,
    /// How often the stream was asked for since it last said something.
    pub(super) fruitless: u32,
    /// How long the server wanted to be left alone when it was last asked.
    hold: Option<Duration>,
    /// Nothing with an id has come since it was asked for again.
    resumed: bool,
}

impl Cursor {
    /// Takes note of an event. `false` for one that was seen already: a stream goes on *after* the id it is given, but
    /// not every server counts so.
    pub(super) fn note(&mut self, event: &Event) -> bool {
        if let Some(retry) = event.retry {
            self.retry = Some(Duration::from_millis(retry).clamp(MIN_RETRY, MAX_RETRY));
        }
        if let Some(id) = &event.id {
            // An empty id takes back the one before; one that fits no header cannot be repeated.
            let id = HeaderValue::from_bytes(id.as_bytes()).ok();
            let id = id.filter(|id| !id.is_empty() && id.len() <= MAX_ID);
            if std::mem::take(&mut self.resumed) && id.is_some() && id == self.last_id {
                return false;
            }
            self.last_id = id;
        }
        // To be told to wait is nothing new.
        if event.id.is_some() || !event.data.is_empty() {
            self.fruitless = 0;
        }
        true
    }

    /// Whether the server can tell where the stream was.
    pub(super) fn is_resumable(&self) -> bool {
        self.last_id.is_some()
    }

    /// Forgets where the stream was.
    pub(super) fn forget(&mut self) {
        self.last_id = None;
    }

    /// Begins another attempt: after which event?
    pub(super) fn begin(&mut self) -> Option<HeaderValue> {
        self.fruitless = self.fruitless.saturating_add(1);
        self.hold = None;
        self.resumed = self.last_id.is_some();
        self.last_id.clone()
    }

    /// Takes note of how long the server wants to be left alone.
    pub(super) fn hold(&mut self, wait: Option<Duration>) {
        self.hold = wait.map(|wait| wait.min(MAX_RETRY));
    }

    /// How long to wait before the next attempt.
    pub(super) fn wait(&self) -> Duration {
        let Pause { asked, own } = self.pause();
        asked + own
    }

    /// The same in its two parts. The more attempts bring nothing, the longer ours may be, and it is never the same for two
    /// clients that lost the same server.
    pub(super) fn pause(&self) -> Pause {
        let asked = self.hold.max(self.retry).unwrap_or_default();
        let limit = match self.fruitless {
            // It may be the server's way to work, and is not to take much longer than it says.
            0 if asked > Duration::ZERO => (asked / 2).min(MAX_WAIT),
            0 => FIRST_WAIT,
            fruitless => FIRST_WAIT.saturating_mul(1 << fruitless.min(5)).min(MAX_WAIT),
        };
        Pause { asked, own: limit.mul_f64(fraction()) }
    }
}

/// A wait before another attempt.
#[derive(Debug)]
pub(super) struct Pause {
    /// What the server asked for.
    pub(super) asked: Duration,
    /// What we add to it.
    pub(super) own: Duration,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(id: Option<&str>, retry: Option<u64>) -> Event {
        Event { id: id.map(str::to_owned), retry, ..Event::default() }
    }

    #[test]
    fn a_stream_goes_on_after_the_last_id_that_was_seen() {
        let mut cursor = Cursor::default();
        assert!(!cursor.is_resumable());
        for id in [Some("a"), None, Some("b"), None] {
            assert!(cursor.note(&event(id, None)));
        }
        assert_eq!(cursor.begin().expect("an id"), "b");
        assert!(!cursor.note(&event(Some("b"), None)), "it comes a second time");
        assert_eq!(cursor.fruitless, 1, "and is no progress");
        assert!(cursor.note(&event(Some("c"), None)));
        assert!(cursor.note(&event(Some("c"), None)), "only right after resuming");
        assert_eq!(cursor.fruitless, 0);
    }

    #[test]
    fn an_id_that_cannot_be_repeated_is_none() {
        for id in ["", "a\u{7}b", &"x".repeat(MAX_ID + 1)] {
            let mut cursor = Cursor::default();
            cursor.note(&event(Some("a"), None));
            cursor.note(&event(Some(id), None));
            assert!(!cursor.is_resumable(), "{id:?}");
        }
    }

    /// Many waits of one cursor, shortest first.
    fn waits(cursor: &Cursor) -> Vec<Duration> {
        let mut waits: Vec<_> = (0..64).map(|_| cursor.wait()).collect();
        waits.sort();
        waits
    }

    fn assert_spread(cursor: &Cursor, from: Duration, to: Duration) {
        let waits = waits(cursor);
        let middle = (from + to) / 2;
        assert!(waits[0] >= from && waits[63] <= to, "{from:?} to {to:?}: {waits:?}");
        assert!(waits[0] < middle && waits[63] > middle, "{from:?} to {to:?}: {waits:?}");
    }

    #[test]
    fn the_wait_is_at_least_what_the_server_says_and_nobodys_is_the_same() {
        let mut cursor = Cursor::default();
        assert_spread(&cursor, Duration::ZERO, FIRST_WAIT);
        for (said, meant) in [
            (0, MIN_RETRY),
            (20, Duration::from_millis(20)),
            (7_000, Duration::from_secs(7)),
            (u64::MAX, MAX_RETRY),
        ] {
            cursor.note(&event(Some("a"), Some(said)));
            assert_spread(&cursor, meant, meant + (meant / 2).min(MAX_WAIT));
        }
    }

    #[test]
    fn the_wait_grows_when_nothing_comes_up_to_a_limit() {
        let mut cursor = Cursor::default();
        cursor.note(&event(Some("a"), Some(7_000)));
        for attempt in 1..100 {
            cursor.begin();
            assert!(cursor.note(&event(None, Some(7_000))));
            assert_eq!(cursor.fruitless, attempt, "to be told to wait is no progress");
            let asked = Duration::from_secs(7);
            assert_spread(&cursor, asked, asked + MAX_WAIT.min(FIRST_WAIT * (1 << attempt.min(5))));
        }
        cursor.hold(Some(Duration::from_secs(90)));
        assert!(cursor.wait() >= Duration::from_secs(90));
        cursor.hold(Some(Duration::MAX));
        assert!(cursor.wait() <= MAX_RETRY + MAX_WAIT, "nobody waits for ever");
        cursor.begin();
        assert!(cursor.wait() <= Duration::from_secs(7) + MAX_WAIT, "it goes for one time");
    }
}

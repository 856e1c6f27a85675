//! Where did a stream break off, and when may the client request the stream again?

use std::time::Duration;

use ::http::header::HeaderValue;

use crate::ground::jitter::random_fraction;
use crate::transport::sse::Event;

/// Before the client requests a stream again, it waits for the time that the server asked for, and then for a random
/// time. This is the first upper bound of the random time. The bound doubles with each attempt that brings nothing new,
/// up to [`MAX_WAIT`].
const FIRST_WAIT: Duration = Duration::from_secs(1);

/// The largest upper bound of the random time (see [`FIRST_WAIT`]).
const MAX_WAIT: Duration = Duration::from_secs(30);

/// The longest wait that a server may request. It is limited because a call may be waiting for the reply.
const MAX_RETRY: Duration = Duration::from_secs(5 * 60);

/// The shortest wait that a server may request with `retry`. With shorter waits, a server could make the client
/// reconnect in a busy loop.
const MIN_RETRY: Duration = Duration::from_millis(10);

/// The maximum length in bytes of an event id that the client sends back to the server. A stream with a longer id
/// cannot be resumed.
const MAX_ID: usize = 4 << 10;

/// The position up to which one stream was read.
#[derive(Debug, Default)]
pub(super) struct StreamCursor {
    /// The id of the last event that had one, if the client can send it back.
    last_id: Option<HeaderValue>,
    /// The wait that the server requested in the `retry` field of an event.
    retry: Option<Duration>,
    /// The number of requests for the stream since it last brought a new event with an id or data.
    pub(super) attempts_without_event: u32,
    /// The wait from the `Retry-After` header of the reply to the last attempt.
    retry_after: Option<Duration>,
    /// `true` from a request with an event id until the first event with an id arrives.
    is_resuming: bool,
}

impl StreamCursor {
    /// Records an event. Returns `false` for an event that the client has already seen. A resumed stream should begin
    /// *after* the event whose id the client sent, but some servers repeat that event.
    pub(super) fn note(&mut self, event: &Event) -> bool {
        if let Some(retry) = event.retry {
            self.retry = Some(Duration::from_millis(retry).clamp(MIN_RETRY, MAX_RETRY));
        }
        if let Some(id) = &event.id {
            // An empty id clears the previous one. An id that is not a valid header value cannot be sent back.
            let id = HeaderValue::from_bytes(id.as_bytes()).ok();
            let id = id.filter(|id| !id.is_empty() && id.len() <= MAX_ID);
            if std::mem::take(&mut self.is_resuming) && id.is_some() && id == self.last_id {
                return false;
            }
            self.last_id = id;
        }
        // An event that only sets the retry time does not count as progress.
        if event.id.is_some() || !event.data.is_empty() {
            self.attempts_without_event = 0;
        }
        true
    }

    /// Returns whether the stream can be resumed from the last event.
    pub(super) fn is_resumable(&self) -> bool {
        self.last_id.is_some()
    }

    /// Forgets the id of the last event, so that the next request asks for a new stream.
    pub(super) fn clear(&mut self) {
        self.last_id = None;
    }

    /// Starts an attempt to request the stream. Returns the event id to send with the request, if the stream can be
    /// resumed.
    pub(super) fn start_attempt(&mut self) -> Option<HeaderValue> {
        self.attempts_without_event = self.attempts_without_event.saturating_add(1);
        self.retry_after = None;
        self.is_resuming = self.last_id.is_some();
        self.last_id.clone()
    }

    /// Records the `Retry-After` time of a reply, limited to [`MAX_RETRY`].
    pub(super) fn set_retry_after(&mut self, wait: Option<Duration>) {
        self.retry_after = wait.map(|wait| wait.min(MAX_RETRY));
    }

    /// Returns how long to wait before the next attempt.
    pub(super) fn total_delay(&self) -> Duration {
        let ReconnectDelay { by_server: asked, by_client: own } = self.delay();
        asked + own
    }

    /// Returns the wait before the next attempt in two parts. The client's part is random, so that clients that lost
    /// the same server do not reconnect at the same moment. The upper bound of the client's part grows with each
    /// attempt that brings nothing new.
    pub(super) fn delay(&self) -> ReconnectDelay {
        let asked = self.retry_after.max(self.retry).unwrap_or_default();
        let limit = match self.attempts_without_event {
            // The server may close its streams regularly, so do not wait much longer than the server asks for.
            0 if asked > Duration::ZERO => (asked / 2).min(MAX_WAIT),
            0 => FIRST_WAIT,
            fruitless => FIRST_WAIT.saturating_mul(1 << fruitless.min(5)).min(MAX_WAIT),
        };
        ReconnectDelay { by_server: asked, by_client: limit.mul_f64(random_fraction()) }
    }
}

/// A wait before another attempt.
#[derive(Debug)]
pub(super) struct ReconnectDelay {
    /// The time that the server asked for.
    pub(super) by_server: Duration,
    /// The time that the client adds.
    pub(super) by_client: Duration,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(id: Option<&str>, retry: Option<u64>) -> Event {
        Event { id: id.map(str::to_owned), retry, ..Event::default() }
    }

    #[test]
    fn a_stream_goes_on_after_the_last_id_that_was_seen() {
        let mut cursor = StreamCursor::default();
        assert!(!cursor.is_resumable());
        for id in [Some("a"), None, Some("b"), None] {
            assert!(cursor.note(&event(id, None)));
        }
        assert_eq!(cursor.start_attempt().expect("an id"), "b");
        assert!(!cursor.note(&event(Some("b"), None)), "the id occurs a second time");
        assert_eq!(cursor.attempts_without_event, 1, "an id that was seen before does not count as progress");
        assert!(cursor.note(&event(Some("c"), None)));
        assert!(
            cursor.note(&event(Some("c"), None)),
            "a repeated id is skipped only directly after resuming"
        );
        assert_eq!(cursor.attempts_without_event, 0);
    }

    #[test]
    fn an_id_that_cannot_be_repeated_is_none() {
        for id in ["", "a\u{7}b", &"x".repeat(MAX_ID + 1)] {
            let mut cursor = StreamCursor::default();
            cursor.note(&event(Some("a"), None));
            cursor.note(&event(Some(id), None));
            assert!(!cursor.is_resumable(), "{id:?}");
        }
    }

    /// Many waits of one cursor, shortest first.
    fn waits(cursor: &StreamCursor) -> Vec<Duration> {
        let mut waits: Vec<_> = (0..64).map(|_| cursor.total_delay()).collect();
        waits.sort();
        waits
    }

    fn assert_spread(cursor: &StreamCursor, from: Duration, to: Duration) {
        let waits = waits(cursor);
        let middle = (from + to) / 2;
        assert!(waits[0] >= from && waits[63] <= to, "{from:?} to {to:?}: {waits:?}");
        assert!(waits[0] < middle && waits[63] > middle, "{from:?} to {to:?}: {waits:?}");
    }

    #[test]
    fn the_wait_is_at_least_what_the_server_says_and_nobodys_is_the_same() {
        let mut cursor = StreamCursor::default();
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
        let mut cursor = StreamCursor::default();
        cursor.note(&event(Some("a"), Some(7_000)));
        for attempt in 1..100 {
            cursor.start_attempt();
            assert!(cursor.note(&event(None, Some(7_000))));
            assert_eq!(cursor.attempts_without_event, attempt, "a `retry` field does not count as progress");
            let asked = Duration::from_secs(7);
            assert_spread(&cursor, asked, asked + MAX_WAIT.min(FIRST_WAIT * (1 << attempt.min(5))));
        }
        cursor.set_retry_after(Some(Duration::from_secs(90)));
        assert!(cursor.total_delay() >= Duration::from_secs(90));
        cursor.set_retry_after(Some(Duration::MAX));
        assert!(cursor.total_delay() <= MAX_RETRY + MAX_WAIT, "the wait has an upper limit");
        cursor.start_attempt();
        assert!(cursor.total_delay() <= Duration::from_secs(7) + MAX_WAIT, "the wait applies to one attempt");
    }
}

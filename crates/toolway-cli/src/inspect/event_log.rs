//! Which events are kept for the page? The last ones, numbered without gaps, so that a page that lost its connection goes
//! on where it was.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde_json::Value;
use tokio::sync::watch;

use super::object::{SetMember, object};

/// The maximum number of events.
const MAX_EVENTS: usize = 10_000;

/// The maximum total length in bytes of the events.
const MAX_BYTES: usize = 16 << 20;

pub(super) struct EventLog {
    started: Instant,
    state: Mutex<LogState>,
    last: watch::Sender<u64>,
}

#[derive(Default)]
struct LogState {
    events: VecDeque<(u64, String)>,
    bytes: usize,
    /// The number of the last event.
    last: u64,
}

impl EventLog {
    pub(super) fn new(started: Instant) -> Self {
        Self { started, state: Mutex::default(), last: watch::Sender::new(0) }
    }

    fn state(&self) -> MutexGuard<'_, LogState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the milliseconds since the inspector began.
    pub(super) fn now_ms(&self) -> f64 {
        millis(self.started.elapsed())
    }

    /// Adds an event, an object, to which a number and the time are added.
    pub(super) fn add(&self, mut event: Value) {
        let time = self.now_ms();
        let number = {
            let mut state = self.state();
            state.last += 1;
            let number = state.last;
            event.set("n", &number);
            event.set("t_ms", &time);
            let line = format!("{event}\n");
            state.bytes += line.len();
            state.events.push_back((number, line));
            while state.events.len() > MAX_EVENTS || state.bytes > MAX_BYTES {
                let Some((_, oldest)) = state.events.pop_front() else { break };
                state.bytes -= oldest.len();
            }
            number
        };
        self.last.send_if_modified(|last| {
            let is_later = number > *last;
            *last = number.max(*last);
            is_later
        });
    }

    /// Returns the number of the last event.
    pub(super) fn last(&self) -> u64 {
        self.state().last
    }

    /// Returns some lines after the event with this number, and the number of the last of them. Events that are no longer kept
    /// are announced by one of the type `gap`.
    fn lines(&self, after: u64) -> Option<(String, u64)> {
        let state = self.state();
        if state.last <= after {
            return None;
        }
        let mut text = String::new();
        let mut last = after;
        let first_kept = state.events.front().map_or(state.last + 1, |(number, _)| *number);
        if first_kept > after + 1 {
            let gap = object! {"type": "gap", "n": first_kept - 1, "from": after + 1, "to": first_kept - 1};
            text = format!("{gap}\n");
            last = first_kept - 1;
        }
        let skipped = state.events.partition_point(|(number, _)| *number <= after);
        for (number, line) in state.events.range(skipped..) {
            text.push_str(line);
            last = *number;
            if text.len() > MAX_CHUNK {
                break;
            }
        }
        Some((text, last))
    }

    /// Waits for events after the one with this number. Returns their lines and the number of the last of them.
    pub(super) async fn next(&self, after: u64) -> (String, u64) {
        let mut last = self.last.subscribe();
        loop {
            if let Some(lines) = self.lines(after) {
                return lines;
            }
            // This cannot fail: the log holds the sender.
            let _ = last.wait_for(|last| *last > after).await;
        }
    }
}

/// About how many bytes are sent at once.
const MAX_CHUNK: usize = 256 << 10;

pub(super) fn millis(time: std::time::Duration) -> f64 {
    (time.as_secs_f64() * 10_000.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[tokio::test]
    async fn a_reader_goes_on_where_it_was() {
        let log = EventLog::new(Instant::now());
        log.add(json!({"type": "note", "text": "a"}));
        log.add(json!({"type": "note", "text": "b"}));
        let (lines, last) = log.next(1).await;
        assert_eq!(last, 2);
        assert!(lines.contains("\"b\"") && !lines.contains("\"a\""), "{lines}");
    }

    #[tokio::test]
    async fn events_that_are_not_kept_are_a_gap() {
        let log = EventLog::new(Instant::now());
        for _ in 0..MAX_EVENTS + 5 {
            log.add(json!({"type": "note"}));
        }
        let (lines, _) = log.next(0).await;
        assert!(lines.starts_with("{\"from\":1,\"n\":5,\"to\":5,\"type\":\"gap\"}\n"), "{}", &lines[..80]);
    }
}

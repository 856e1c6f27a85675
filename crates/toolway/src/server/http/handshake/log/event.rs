//! What is an event of a stream, and how is it stored?

use bytes::Bytes;

use crate::store::{Keep, LogEntry};

/// An event of a stream.
#[derive(Debug, Clone)]
pub(in crate::server) struct Event {
    pub(in crate::server) number: u64,
    pub(in crate::server) kind: EventKind,
    pub(in crate::server) text: Bytes,
    /// The id of the question, if it is one.
    pub(in crate::server) question: Option<String>,
    /// How many bytes were written to the log up to the end of this event.
    pub(in crate::server) written: usize,
}

impl Event {
    /// Returns the event as an entry of a stored log.
    pub(in crate::server) fn entry(&self) -> LogEntry {
        let mut bytes = Vec::with_capacity(self.text.len() + 1);
        bytes.push(self.kind as u8);
        bytes.extend_from_slice(&self.text);
        let keep = if self.kind.may_be_dropped() { Keep::WhileThereIsRoom } else { Keep::Always };
        LogEntry { bytes: bytes.into(), keep }
    }
}

/// The kind of an event. The values are the first bytes of stored entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::server) enum EventKind {
    /// The start of the stream of a request.
    RequestStart = b'p' as isize,
    /// The start of a notification stream.
    NotificationsStart = b'g' as isize,
    Message = b'm' as isize,
    /// A question to the client. The request waits for the answer.
    Question = b'q' as isize,
    /// The answer, if there is one, and the end of the stream.
    End = b'e' as isize,
    /// Asks the client to disconnect, and to reconnect after the given number of milliseconds.
    Release = b'r' as isize,
}

impl EventKind {
    /// Reads an entry of a stored log. An empty entry stands for an event that was dropped.
    pub(in crate::server) fn read(entry: &Bytes) -> Option<(Self, Bytes)> {
        let all = [
            Self::RequestStart,
            Self::NotificationsStart,
            Self::Message,
            Self::Question,
            Self::End,
            Self::Release,
        ];
        let mark = *entry.first()?;
        Some((all.into_iter().find(|known| *known as u8 == mark)?, entry.slice(1..)))
    }

    /// Returns whether the event may be dropped when the log is full. The start, the end and questions stay.
    pub(in crate::server) fn may_be_dropped(self) -> bool {
        matches!(self, Self::Message | Self::Release)
    }
}

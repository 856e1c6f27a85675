//! Which events does a log hold, and how far are its reader and the store?

use std::collections::VecDeque;

use bytes::Bytes;
use tokio::time::Instant;

use super::event::{Event, EventKind};
use crate::ground::budget::Charge;
use crate::store::Room;

/// The state of a log.
pub(super) struct LogState {
    /// The events that the log still holds.
    pub(super) events: VecDeque<Event>,
    /// The number of the last event.
    pub(super) last: u64,
    /// The number of the last event that may be read.
    pub(super) confirmed: u64,
    /// `true` if the store does not confirm the rest in time: it is read without event ids.
    pub(super) is_unconfirmed_end: bool,
    pub(super) is_ended: bool,
    pub(super) place: LogPlace,
    /// The bytes of all events of the log.
    bytes: usize,
    /// The events that may be dropped, and their bytes.
    droppable: Room,
    /// The bytes of all events that were ever appended.
    total_bytes: usize,
    pub(super) writer: WriterState,
    pub(super) reader: ReaderState,
    pub(super) last_used: Instant,
    /// The charge for the memory of the log.
    pub(super) charge: Option<Charge>,
}

/// Where a log goes on.
#[derive(PartialEq, Eq)]
pub(super) enum LogPlace {
    Here,
    /// The client continues the stream at another server. Nothing is added or read here any more.
    Elsewhere,
    /// The log was deleted, or another server ended it.
    Nowhere,
}

#[derive(PartialEq, Eq)]
pub(super) enum WriterState {
    NotStarted,
    Writing,
    Done,
}

/// The reader in this process. A handler that writes faster than the reader reads has to wait, as on every other
/// transport. Once the reader has stalled, the writer does not wait again until the reader continues.
#[derive(Default)]
pub(super) struct ReaderState {
    /// The number of the current reader. A reader with another number was replaced.
    pub(super) number: u64,
    pub(super) attached: usize,
    pub(super) was_attached: bool,
    pub(super) last_read: u64,
    pub(super) is_stalled: bool,
}

impl LogState {
    pub(super) fn is_here(&self) -> bool {
        self.place == LogPlace::Here
    }

    pub(super) fn is_forgotten(&self) -> bool {
        self.place == LogPlace::Nowhere
    }

    pub(super) fn new() -> Self {
        Self {
            events: VecDeque::new(),
            last: 0,
            confirmed: 0,
            is_unconfirmed_end: false,
            is_ended: false,
            place: LogPlace::Here,
            bytes: 0,
            droppable: Room { entries: 0, bytes: 0 },
            total_bytes: 0,
            writer: WriterState::NotStarted,
            reader: ReaderState::default(),
            last_used: Instant::now(),
            charge: None,
        }
    }

    pub(super) fn push(&mut self, kind: EventKind, text: Bytes, question: Option<String>) {
        self.last += 1;
        self.last_used = Instant::now();
        self.bytes += text.len();
        self.total_bytes += text.len();
        self.is_ended = kind == EventKind::End;
        if kind.may_be_dropped() {
            self.droppable.entries += 1;
            self.droppable.bytes += text.len();
        }
        let written = self.total_bytes;
        self.events.push_back(Event { number: self.last, kind, text, question, written });
    }

    /// Removes the last event.
    pub(super) fn pop(&mut self) {
        let Some(event) = self.events.pop_back() else { return };
        self.bytes -= event.text.len();
        self.total_bytes -= event.text.len();
        if event.kind.may_be_dropped() {
            self.droppable.entries -= 1;
            self.droppable.bytes -= event.text.len();
        }
    }

    /// Drops the oldest events that may be dropped, while they exceed the room. The last event, and events that are not
    /// confirmed, stay.
    pub(super) fn drop_excess(&mut self, room: Room) {
        while self.droppable.entries > room.entries || self.droppable.bytes > room.bytes {
            let end = self.confirmed.min(self.last.saturating_sub(1));
            let oldest = self.events.iter().position(|event| event.kind.may_be_dropped());
            let oldest = oldest.filter(|oldest| self.events[*oldest].number <= end);
            let Some(dropped) = oldest.and_then(|oldest| self.events.remove(oldest)) else { break };
            self.droppable.entries -= 1;
            self.droppable.bytes -= dropped.text.len();
            self.bytes -= dropped.text.len();
        }
        let size = self.size();
        if let Some(charge) = self.charge.as_mut().filter(|charge| charge.amount() > size) {
            // A charge can always become smaller.
            let _ = charge.resize(size);
        }
    }

    /// Returns how many bytes the log takes.
    pub(super) fn size(&self) -> usize {
        STREAM_OVERHEAD + self.bytes
    }

    /// Returns whether no client reads the stream, and no request writes it.
    pub(super) fn is_finished(&self) -> bool {
        self.writer != WriterState::Writing && self.reader.attached == 0
    }

    /// Returns how many events follow a number, and their bytes.
    fn after(&self, number: u64) -> (usize, usize) {
        let first = self.events.partition_point(|event| event.number <= number);
        let Some(event) = self.events.get(first) else { return (0, 0) };
        (self.events.len() - first, self.total_bytes - (event.written - event.text.len()))
    }

    pub(super) fn is_reader_behind(&self, entries: usize, size: usize, room: Room) -> bool {
        if self.reader.attached == 0 || self.reader.is_stalled {
            return false;
        }
        let (unread, bytes) = self.after(self.reader.last_read);
        // The first event has no message.
        let unread = unread - usize::from(self.reader.last_read == 0 && unread > 0);
        unread > 0 && (unread + entries > room.entries.min(MAX_BEHIND) || bytes + size > room.bytes)
    }

    pub(super) fn is_waiting_for_store(&self) -> bool {
        self.confirmed < self.last && !self.is_unconfirmed_end && !self.is_forgotten()
    }

    pub(super) fn is_store_behind(&self, size: usize, room: Room) -> bool {
        let (waiting, bytes) = self.after(self.confirmed);
        !self.is_unconfirmed_end
            && !self.is_forgotten()
            && waiting > 0
            && (waiting >= room.entries || bytes + size > room.bytes)
    }
}

/// How many bytes a log takes, besides its events.
const STREAM_OVERHEAD: usize = 512;
/// How many events a reader may be behind before the writer waits.
const MAX_BEHIND: usize = 256;

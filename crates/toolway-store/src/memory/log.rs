//! What does one log hold, and which appends does it accept?
//!
//! Entries that must stay and entries that may be dropped are in separate lists, so that the oldest droppable entry is
//! always at the front.

use std::collections::VecDeque;

use bytes::Bytes;

use crate::step::{Answer, Append, Keep, LogEntry, LogPage, Room};

/// Entries with their numbers, oldest first in both lists.
#[derive(Default)]
pub(super) struct Log {
    kept: Vec<(u64, Bytes)>,
    droppable: VecDeque<(u64, Bytes)>,
    /// The number of bytes in `droppable`.
    bytes: usize,
    last: u64,
    /// The writer that has ended the log.
    ended_by: Option<Bytes>,
    reader: Option<Bytes>,
}

/// The reasons for which a log does not accept an append.
pub(super) enum Rejection {
    Behind,
    Ended,
}

impl Log {
    /// Returns how many entries of an append are there already.
    pub(super) fn count_present(&self, append: &Append) -> Result<usize, Rejection> {
        let count = append.entries.len();
        let next = self.last + 1;
        let present = match append.first {
            Some(first) => usize::try_from(next.saturating_sub(first)).unwrap_or(usize::MAX).min(count),
            // The writer repeats its end: what it wrote the first time is there.
            None if append.ends && self.ended_by.is_some() => count,
            None => 0,
        };
        if let Some(ended_by) = &self.ended_by
            && (*ended_by != append.writer || present < count)
        {
            return Err(Rejection::Ended);
        }
        if append.first.is_some_and(|first| first > next) {
            return Err(Rejection::Behind);
        }
        Ok(present)
    }

    /// Appends the entries that are not there yet. The append was checked before.
    pub(super) fn append(&mut self, append: &Append) -> Answer {
        let present = self.count_present(append).unwrap_or(append.entries.len());
        for entry in append.entries.iter().skip(present) {
            self.push(entry, append.room);
        }
        if append.ends && self.ended_by.is_none() {
            self.ended_by = Some(append.writer.clone());
        }
        Answer::Appended { last: self.last, reader: self.reader.clone() }
    }

    fn push(&mut self, entry: &LogEntry, room: Room) {
        self.last += 1;
        match entry.keep {
            Keep::Always => self.kept.push((self.last, entry.bytes.clone())),
            Keep::WhileThereIsRoom => {
                self.bytes += entry.bytes.len();
                self.droppable.push_back((self.last, entry.bytes.clone()));
            }
        }
        while (self.droppable.len() > room.entries || self.bytes > room.bytes)
            && self.droppable.front().is_some_and(|(number, _)| *number < self.last)
            && let Some((_, dropped)) = self.droppable.pop_front()
        {
            self.bytes -= dropped.len();
        }
    }

    pub(super) fn read(&self, after: u64, limit: Room) -> LogPage {
        let from = self.kept.partition_point(|(number, _)| *number <= after);
        let mut kept = self.kept[from..].iter().peekable();
        let from = self.droppable.partition_point(|(number, _)| *number <= after);
        let mut droppable = self.droppable.range(from..).peekable();
        let both = std::iter::from_fn(|| match (kept.peek(), droppable.peek()) {
            (Some((one, _)), Some((other, _))) if one < other => kept.next(),
            (Some(_), None) => kept.next(),
            _ => droppable.next(),
        });
        let mut bytes = 0_usize;
        let mut is_first = true;
        let fits = |entry: &&(u64, Bytes)| {
            bytes = bytes.saturating_add(entry.1.len());
            std::mem::take(&mut is_first) || bytes <= limit.bytes
        };
        LogPage {
            entries: both.take(limit.entries).take_while(fits).cloned().collect(),
            last: self.last,
            is_ended: self.ended_by.is_some(),
            reader: self.reader.clone(),
        }
    }

    pub(super) fn last(&self) -> u64 {
        self.last
    }

    pub(super) fn reader(&self) -> Option<&Bytes> {
        self.reader.as_ref()
    }

    pub(super) fn set_reader(&mut self, reader: Bytes) {
        self.reader = Some(reader);
    }
}

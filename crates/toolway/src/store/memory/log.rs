//! One log. Entries that must stay and entries that may be dropped are in separate lists, so that the oldest droppable
//! entry is always at the front.

use std::collections::VecDeque;

use bytes::Bytes;

use crate::store::backend::{Entry, Keep, Room};

/// Entries with their numbers, oldest first in both lists.
#[derive(Default)]
pub(super) struct Log {
    stays: Vec<(u64, Bytes)>,
    may_go: VecDeque<(u64, Bytes)>,
    /// The number of bytes in `may_go`.
    bytes: usize,
    last: u64,
}

impl Log {
    pub(super) fn push(&mut self, entry: Entry, room: Room) -> u64 {
        self.last += 1;
        match entry.keep {
            Keep::Always => self.stays.push((self.last, entry.bytes)),
            Keep::WhileThereIsRoom => {
                self.bytes += entry.bytes.len();
                self.may_go.push_back((self.last, entry.bytes));
            }
        }
        while (self.may_go.len() > room.entries || self.bytes > room.bytes)
            && self.may_go.front().is_some_and(|(number, _)| *number < self.last)
            && let Some((_, dropped)) = self.may_go.pop_front()
        {
            self.bytes -= dropped.len();
        }
        self.last
    }

    pub(super) fn read(&self, after: u64, max: usize) -> Vec<(u64, Bytes)> {
        let from = self.stays.partition_point(|(number, _)| *number <= after);
        let mut stays = self.stays[from..].iter().peekable();
        let from = self.may_go.partition_point(|(number, _)| *number <= after);
        let mut may_go = self.may_go.range(from..).peekable();
        let both = std::iter::from_fn(|| match (stays.peek(), may_go.peek()) {
            (Some((one, _)), Some((other, _))) if one < other => stays.next(),
            (Some(_), None) => stays.next(),
            _ => may_go.next(),
        });
        both.take(max).cloned().collect()
    }

    pub(super) fn last(&self) -> u64 {
        self.last
    }
}

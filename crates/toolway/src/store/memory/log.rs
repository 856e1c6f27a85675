//! One log. Entries that must stay and entries that may be dropped are in separate lists, so that the oldest droppable
//! entry is always at the front.

use std::collections::VecDeque;

use bytes::Bytes;

use crate::store::backend::{Keep, LogEntry, Room};

/// Entries with their numbers, oldest first in both lists.
#[derive(Default)]
pub(super) struct Log {
    kept: Vec<(u64, Bytes)>,
    droppable: VecDeque<(u64, Bytes)>,
    /// The number of bytes in `droppable`.
    bytes: usize,
    last: u64,
}

impl Log {
    pub(super) fn push(&mut self, entry: LogEntry, room: Room) -> u64 {
        self.last += 1;
        match entry.keep {
            Keep::Always => self.kept.push((self.last, entry.bytes)),
            Keep::WhileThereIsRoom => {
                self.bytes += entry.bytes.len();
                self.droppable.push_back((self.last, entry.bytes));
            }
        }
        while (self.droppable.len() > room.entries || self.bytes > room.bytes)
            && self.droppable.front().is_some_and(|(number, _)| *number < self.last)
            && let Some((_, dropped)) = self.droppable.pop_front()
        {
            self.bytes -= dropped.len();
        }
        self.last
    }

    pub(super) fn read(&self, after: u64, max: usize) -> Vec<(u64, Bytes)> {
        let from = self.kept.partition_point(|(number, _)| *number <= after);
        let mut stays = self.kept[from..].iter().peekable();
        let from = self.droppable.partition_point(|(number, _)| *number <= after);
        let mut may_go = self.droppable.range(from..).peekable();
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

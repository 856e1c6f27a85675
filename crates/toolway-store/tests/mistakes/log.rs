//! How does the model keep a log, and where can that go wrong?

use std::collections::BTreeMap;

use bytes::Bytes;
use tokio::time::Instant;
use toolway_store::{Answer, Append, Keep, LogEntry, LogPage, Outcome, Room};

use crate::faults::Faults;
use crate::list::Mistake::*;

/// A self.
#[derive(Default)]
pub(crate) struct Log {
    pub(crate) entries: BTreeMap<u64, LogEntry>,
    pub(crate) last: u64,
    pub(crate) ended_by: Option<Bytes>,
    pub(crate) reader: Option<Bytes>,
    pub(crate) until: Option<Instant>,
}

impl Log {
    /// Returns why entries cannot be appended.
    pub(crate) fn check(&self, faults: Faults, operation: usize, append: &Append) -> Option<Outcome> {
        let operation = if faults.has(PositionIsNotReported) { 0 } else { operation };
        if let Some(ended_by) = &self.ended_by
            && !faults.has(EndsAreIgnored)
        {
            let is_other = *ended_by != append.writer && !faults.has(WritersAreEqual);
            let end = append.first.map(|first| first + append.entries.len() as u64 - 1);
            let is_beyond = match end {
                Some(end) => end > self.last,
                None => !append.entries.is_empty() && !append.ends,
            };
            if is_other || (is_beyond && !faults.has(WriterMayContinue)) || faults.has(EndsCannotBeRepeated) {
                return Some(Outcome::Ended { operation, last: self.last });
            }
            return None;
        }
        let is_behind =
            append.first.is_some_and(|first| first > self.last + 1 && !faults.has(GapsAreAccepted));
        is_behind.then_some(Outcome::Behind {
            operation,
            last: if faults.has(BehindSaysTheNext) { self.last + 1 } else { self.last },
        })
    }

    /// Appends entries. `is_there` says whether the log existed before.
    pub(crate) fn append(&mut self, faults: Faults, append: &Append, is_there: bool) -> Answer {
        if append.entries.is_empty() && !append.ends && !is_there && faults.has(EmptyAppendDoesNotCreate) {
            return Answer::Appended { last: 0, reader: None };
        }
        let next = self.last + 1;
        let present = match append.first {
            _ if faults.has(EntriesAreWrittenTwice) => 0,
            Some(first) => next.saturating_sub(first),
            None if append.ends && self.ended_by.is_some() => append.entries.len() as u64,
            None => 0,
        };
        let new: Vec<_> = append.entries.iter().skip(usize::try_from(present).unwrap()).collect();
        let is_renewed = match faults.0 {
            Some(AppendDoesNotRenew) => !is_there,
            Some(SkippedEntriesDoNotRenew) => !new.is_empty() || !is_there || append.entries.is_empty(),
            _ => true,
        };
        if is_renewed {
            self.until = Some(faults.until(append.ttl));
        }
        if let (Some(first), true) = (append.first, faults.has(PresentEntriesAreReplaced)) {
            for (number, entry) in (first..next).zip(&append.entries) {
                self.entries.insert(number, entry.clone());
            }
        }
        let is_empty = new.is_empty();
        for entry in new {
            self.last += 1;
            let keep = if faults.has(AllEntriesAreDroppable) { Keep::WhileThereIsRoom } else { entry.keep };
            self.entries.insert(self.last, LogEntry { bytes: faults.bytes(&entry.bytes), keep });
        }
        if !is_empty || faults.has(EveryAppendDrops) {
            self.drop_entries(faults, append.room);
        }
        if faults.has(NumbersAreCounted) {
            self.last = self.entries.len() as u64;
        }
        if let (true, Some(first), true) = (append.ends, append.first, faults.has(NumberedEndCutsTheLog)) {
            self.last = first + append.entries.len() as u64 - 1;
            self.entries.retain(|number, _| *number <= self.last);
        }
        if append.ends
            && self.ended_by.is_none()
            && !(faults.has(SkippedEntriesDoNotEnd) && is_empty && !append.entries.is_empty())
            && !(faults.has(EndNeedsEntries) && append.entries.is_empty())
        {
            self.ended_by = Some(append.writer.clone());
        }
        let last = if faults.has(AppendReturnsTheFirst) { next } else { self.last };
        Answer::Appended { last, reader: self.reader.clone().filter(|_| !faults.has(AppendHidesTheReader)) }
    }

    fn drop_entries(&mut self, faults: Faults, room: Room) {
        loop {
            let counted = self
                .entries
                .iter()
                .filter(|(_, entry)| entry.keep == Keep::WhileThereIsRoom || faults.has(KeptEntriesTakeRoom));
            let (count, bytes) =
                counted.fold((0, 0), |(count, bytes), (_, entry)| (count + 1, bytes + entry.bytes.len()));
            let is_full = (count > room.entries && !faults.has(RoomForAnyEntries))
                || (bytes > room.bytes && !faults.has(RoomForAnyBytes));
            let mut droppable = self.entries.iter().filter(|(number, entry)| {
                entry.keep == Keep::WhileThereIsRoom
                    && (**number < self.last || faults.has(NewestMayBeDropped))
            });
            let chosen = if faults.has(NewestAreDropped) { droppable.next_back() } else { droppable.next() };
            match chosen.map(|(number, _)| *number).filter(|_| is_full) {
                Some(number) => _ = self.entries.remove(&number),
                None => break,
            }
        }
    }

    pub(crate) fn page(&self, faults: Faults, after: u64, limit: Room) -> LogPage {
        let after = if faults.has(PagesIncludeTheirStart) { after.saturating_sub(1) } else { after };
        let mut page = LogPage {
            entries: Vec::new(),
            last: self.last,
            is_ended: self.ended_by.is_some(),
            reader: self.reader.clone().filter(|_| !faults.has(PageHidesTheReader)),
        };
        let mut bytes = 0;
        let all = self.entries.iter().filter(|(number, _)| **number > after);
        for (number, entry) in all {
            bytes += entry.bytes.len();
            let limit_entries =
                if faults.has(PagesAreTooLong) { limit.entries.saturating_add(1) } else { limit.entries };
            let is_full = page.entries.len() >= limit_entries
                || (faults.has(PagesCountNumbers) && *number - after > limit.entries as u64);
            let is_first = page.entries.is_empty() && !faults.has(LargeEntriesAreNotRead);
            if is_full || (bytes > limit.bytes && !is_first && !faults.has(PagesIgnoreBytes)) {
                break;
            }
            page.entries.push((*number, entry.bytes.clone()));
        }
        if faults.has(PagesAreBackwards) {
            page.entries.reverse();
        }
        if let (Some((number, _)), true) = (page.entries.last(), faults.has(LastIsThatOfThePage)) {
            page.last = *number;
        }
        page
    }
}

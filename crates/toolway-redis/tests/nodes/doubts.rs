//! What may the store have forgotten, and when could it accept no change?
//!
//! A store that confirms what its replica lacks forgets it when the replica takes over: sessions that were opened then may
//! be gone, those that were ended may be there, and a claim that is gone does not keep a copy of its request from running.
//! Events that a client got are not among these, because their writers live; nor are cancellations and answers, which the
//! nodes that accepted them deliver again.

use crate::history::Fact;

/// The outages of the store.
#[derive(Debug, Default)]
pub(crate) struct Doubts {
    behind: Vec<Span>,
    apart: Vec<Span>,
    /// When outages of any kind were over.
    ends: Vec<u64>,
}

/// A time without an end goes on.
#[derive(Debug, Clone, Copy)]
struct Span {
    start: u64,
    end: Option<u64>,
}

impl Doubts {
    pub(crate) fn take(&mut self, at: u64, fact: &Fact) {
        match fact {
            Fact::StoreBehind => self.behind.push(Span { start: at, end: None }),
            Fact::StoreApart => self.apart.push(Span { start: at, end: None }),
            Fact::StorePromoted => end(&mut self.behind, at),
            Fact::StoreTogether => end(&mut self.apart, at),
            Fact::StoreListening => {}
            _ => return,
        }
        if matches!(fact, Fact::StorePromoted | Fact::StoreTogether | Fact::StoreListening) {
            self.ends.push(at);
        }
    }

    /// Returns whether a change may be forgotten that a client saw, or asked for, at this moment.
    pub(crate) fn may_be_forgotten(&self, at: u64) -> bool {
        let is_in = |span: &Span| {
            at + DELAY >= span.start && span.end.is_none_or(|end| at <= end.saturating_add(DELAY))
        };
        self.behind.iter().any(is_in)
    }

    /// Returns whether nothing may begin at this moment, because the store accepts no change.
    pub(crate) fn is_apart(&self, at: u64) -> bool {
        let is_in = |span: &Span| at >= span.start + DELAY && span.end.is_none_or(|end| at < end);
        self.apart.iter().any(is_in)
    }

    /// Returns when the last outage was over that was so until a moment.
    pub(crate) fn last_end(&self, until: u64) -> Option<u64> {
        self.ends.iter().copied().filter(|at| *at <= until).max()
    }

    /// Returns when the store could be used again after the last time apart.
    pub(crate) fn last_reunion(&self) -> Option<u64> {
        self.apart.last().and_then(|span| span.end)
    }
}

fn end(spans: &mut [Span], at: u64) {
    if let Some(span) = spans.last_mut() {
        span.end.get_or_insert(at);
    }
}

/// The milliseconds between a change in the store and the moment at which the test knows of it, on a slow machine. A store
/// that does not answer is given up after half a second.
const DELAY: u64 = 2000;

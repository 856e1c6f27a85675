//! How much work may one value cause?
//!
//! Schemas and values come from different sides, and the work can be their product: a long text under a large pattern,
//! a long list under a choice between many branches. So each step is paid from a budget.

use std::cell::Cell;

/// The work that may still be done for one value. An empty budget stays empty.
#[derive(Debug)]
pub(crate) struct Budget(Cell<u64>);

impl Budget {
    pub(crate) fn new() -> Self {
        Self(Cell::new(MAX_WORK))
    }

    /// Pays for some work. Returns `false` if it must not be done.
    pub(crate) fn spend(&self, work: u64) -> bool {
        let left = self.0.get().checked_sub(work);
        self.0.set(left.unwrap_or(0));
        left.is_some()
    }
}

/// The maximum work for one value. The unit is one byte of a compiled pattern that is applied to one character of a
/// text, which takes about a nanosecond.
pub(crate) const MAX_WORK: u64 = 1 << 30;

/// The work of comparing a value with one rule: a type, an option of an `enum`, a member.
pub(crate) const STEP: u64 = 64;

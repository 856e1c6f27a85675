//! What can be asked of a store in one visit?

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use bytes::Bytes;

/// A name of a value, map, log or channel: any text.
pub type Name = Cow<'static, str>;

/// One atomic visit: if all conditions hold, all operations are done, in order; otherwise nothing is done.
///
/// All names of a step belong to one group. Values, maps and logs have separate namespaces. Each value, log and
/// entry of a map occurs in at most one operation that changes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Step {
    /// The conditions, checked in order before anything is done.
    pub conditions: Vec<Condition>,
    /// The operations.
    pub operations: Vec<Operation>,
}

impl Step {
    /// An empty step.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a condition.
    #[must_use]
    pub fn when(mut self, condition: Condition) -> Self {
        self.conditions.push(condition);
        self
    }

    /// Adds an operation.
    #[must_use]
    pub fn then(mut self, operation: impl Into<Operation>) -> Self {
        self.operations.push(operation.into());
        self
    }

    /// Returns whether doing it twice is the same as doing it once, if nothing else happens in between and its
    /// conditions still hold. Messages may arrive twice. Only an [`Append`] that leaves the numbers to the store, and
    /// does not end the log, is not repeatable.
    pub fn is_repeatable(&self) -> bool {
        self.operations.iter().all(|operation| match operation {
            Operation::Append(append) => append.first.is_some() || append.ends,
            _ => true,
        })
    }
}

/// A condition of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// The key has a value.
    Exists(Name),
    /// The key has no value.
    Absent(Name),
    /// The value of the key has this version.
    HasVersion(Name, Version),
    /// The map has no entry for the key, or exactly this one.
    Free {
        /// The map.
        map: Name,
        /// The key of the entry.
        key: Name,
        /// The value that is allowed to be there.
        value: Bytes,
    },
    /// The map has an entry for the key, or fewer than `limit` entries.
    HasRoom {
        /// The map.
        map: Name,
        /// The key of the entry.
        key: Name,
        /// The number of entries that a map without the key must be below.
        limit: usize,
    },
    /// The log exists and its reader is this one, or it has no reader.
    ReadBy {
        /// The log.
        log: Name,
        /// The reader.
        reader: Bytes,
    },
}

/// An operation of a step. The outcome has one [`Answer`] for each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// Returns the value of a key: [`Answer::Value`].
    Get {
        /// The key.
        key: Name,
        /// The version that the caller has: if it is still the version, the bytes are not returned.
        known: Option<Version>,
    },
    /// Makes the value of a key, if there is one, expire after `ttl` from now.
    Renew {
        /// The key.
        key: Name,
        /// The new time to live.
        ttl: Duration,
    },
    /// Sets the value of a key. It expires after `ttl`.
    Put {
        /// The key.
        key: Name,
        /// The value.
        value: Bytes,
        /// Chosen by the writer, at random.
        version: Version,
        /// The time to live.
        ttl: Duration,
    },
    /// Deletes the value of a key, if there is one.
    Delete(Name),
    /// Sets an entry of a map. The entry expires after `ttl`; the others are not affected.
    Enter {
        /// The map.
        map: Name,
        /// The key of the entry.
        key: Name,
        /// The value of the entry.
        value: Bytes,
        /// The time to live of the entry.
        ttl: Duration,
    },
    /// Removes an entry of a map, if its value is `value`.
    Leave {
        /// The map.
        map: Name,
        /// The key of the entry.
        key: Name,
        /// The value that the entry must have to be removed; `None` for any.
        value: Option<Bytes>,
    },
    /// Returns the entries of a map, in any order: [`Answer::Entries`].
    Entries(Name),
    /// Deletes a map.
    Clear(Name),
    /// Appends entries to a log: [`Answer::Appended`].
    Append(Append),
    /// Returns entries of a log after a number, oldest first: [`Answer::Page`].
    Read {
        /// The log.
        log: Name,
        /// The number after which the page begins.
        after: u64,
        /// The most entries and bytes to return. The first entry is returned even if it has more bytes.
        limit: Room,
    },
    /// Sets the reader of a log, if the log exists.
    SetReader {
        /// The log.
        log: Name,
        /// The reader, in the words of the caller.
        reader: Bytes,
    },
    /// Makes a log, if it exists, expire after `ttl` from now.
    RenewLog {
        /// The log.
        log: Name,
        /// The new time to live.
        ttl: Duration,
    },
    /// Deletes a log, if it exists.
    DeleteLog(Name),
    /// Sends a message to the current subscribers of a channel. Channels belong to no group.
    Publish {
        /// The channel.
        channel: Name,
        /// The message.
        message: Bytes,
    },
}

/// Entries for the end of a log.
///
/// A writer that numbers its entries can repeat an append, and finds out if the store has lost some: entries that are
/// there already are skipped, and if entries before `first` are missing, the step does nothing and its outcome is
/// [`Outcome::Behind`]. The writer then appends what is missing as well.
///
/// A log can be ended, once. An append to a log that another writer has ended, and one with entries after the end, does
/// nothing, and the outcome of its step is [`Outcome::Ended`]. The writer that has ended a log can repeat what it
/// appended, also an end that the store has numbered: this only renews the log.
///
/// Entries that are skipped change nothing but the time to live, and drop nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Append {
    /// The log. It is created if it does not exist.
    pub log: Name,
    /// The writer, in the words of the caller.
    pub writer: Bytes,
    /// The number of the first entry, from 1. With `None` the store numbers them, after its last entry.
    pub first: Option<u64>,
    /// The entries. With none, the log is only ended or renewed.
    pub entries: Vec<LogEntry>,
    /// Ends the log after these entries.
    pub ends: bool,
    /// The space for entries that may be dropped. The newest entry of an append is never dropped by it.
    pub room: Room,
    /// The log expires after this time from now.
    pub ttl: Duration,
}

impl From<Append> for Operation {
    fn from(append: Append) -> Self {
        Self::Append(append)
    }
}

/// An entry of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEntry {
    /// The content.
    pub bytes: Bytes,
    /// Determines whether the entry may be dropped when the log is full.
    pub keep: Keep,
}

/// Determines whether an entry may be dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// The entry is kept as long as its log.
    Always,
    /// The entry may be dropped, the oldest first, when the log is full.
    WhileThereIsRoom,
}

/// A number of entries and of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// The maximum number of entries.
    pub entries: usize,
    /// The maximum number of bytes in these entries.
    pub bytes: usize,
}

/// What a step has done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Everything was done. There is one answer for each operation.
    Done(Vec<Answer>),
    /// Nothing was done, because a condition does not hold.
    Refused {
        /// The position of the first condition that does not hold.
        condition: usize,
        /// The value of the entry that is there instead, for [`Condition::Free`].
        holder: Option<Bytes>,
    },
    /// Nothing was done, because entries before the first of an [`Append`] are missing.
    Behind {
        /// The position of the operation.
        operation: usize,
        /// The number of the last entry that is there, or 0.
        last: u64,
    },
    /// Nothing was done, because a log has ended that an [`Append`] would append to.
    Ended {
        /// The position of the operation.
        operation: usize,
        /// The number of the last entry.
        last: u64,
    },
}

/// The answer to one operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The operation returns nothing.
    Nothing,
    /// The answer to [`Operation::Get`].
    Value(Option<StoredValue>),
    /// The answer to [`Operation::Entries`].
    Entries(Vec<(String, Bytes)>),
    /// The answer to [`Operation::Append`].
    Appended {
        /// The number of the last entry of the log.
        last: u64,
        /// The reader of the log.
        reader: Option<Bytes>,
    },
    /// The answer to [`Operation::Read`]; `None` if the log does not exist.
    Page(Option<LogPage>),
}

/// The value of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredValue {
    /// The version that its writer chose.
    pub version: Version,
    /// The bytes; `None` if the caller knows this version.
    pub bytes: Option<Bytes>,
}

/// Entries of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogPage {
    /// The entries with their numbers. Entries that were dropped are missing.
    pub entries: Vec<(u64, Bytes)>,
    /// The number of the last entry of the log.
    pub last: u64,
    /// `true` if nothing can be appended.
    pub is_ended: bool,
    /// The reader of the log.
    pub reader: Option<Bytes>,
}

/// The version of a value: 64 random bits that its writer chose.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Version(pub u64);

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Version({:016x})", self.0)
    }
}

//! How does a case write its operations and conditions briefly?

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;

use crate::step::{Append, Condition, Keep, LogEntry, Name, Operation, Room, Version};

/// Returns an owned name.
pub(super) fn name(name: &str) -> Name {
    Name::Owned(name.to_owned())
}

/// Returns a version that was not used before.
pub(super) fn new_version() -> Version {
    static COUNT: AtomicU64 = AtomicU64::new(1);
    // Multiplied by an odd number, so that high bits differ as well, as those of random versions do.
    Version(COUNT.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

pub(super) fn put(key: &str, value: impl Into<Bytes>, ttl: Duration) -> Operation {
    put_version(key, value, new_version(), ttl)
}

pub(super) fn put_version(key: &str, value: impl Into<Bytes>, version: Version, ttl: Duration) -> Operation {
    Operation::Put { key: name(key), value: value.into(), version, ttl }
}

pub(super) fn get(key: &str) -> Operation {
    Operation::Get { key: name(key), known: None }
}

pub(super) fn renew(key: &str, ttl: Duration) -> Operation {
    Operation::Renew { key: name(key), ttl }
}

pub(super) fn enter(map: &str, key: &str, value: impl Into<Bytes>, ttl: Duration) -> Operation {
    Operation::Enter { map: name(map), key: name(key), value: value.into(), ttl }
}

pub(super) fn leave(map: &str, key: &str, value: Option<&str>) -> Operation {
    Operation::Leave { map: name(map), key: name(key), value: value.map(|value| value.to_owned().into()) }
}

pub(super) fn read(log: &str) -> Operation {
    Operation::Read { log: name(log), after: 0, limit: AMPLE_ROOM }
}

pub(super) fn set_reader(log: &str, reader: &'static str) -> Operation {
    Operation::SetReader { log: name(log), reader: reader.into() }
}

pub(super) fn renew_log(log: &str, ttl: Duration) -> Operation {
    Operation::RenewLog { log: name(log), ttl }
}

/// Droppable entries of the writer "writer", numbered by the store, with ample room and a long time to live.
pub(super) fn append(log: &str, entries: &[&str]) -> Append {
    Append {
        log: name(log),
        writer: "writer".into(),
        first: None,
        entries: entries.iter().map(|text| droppable((*text).to_owned())).collect(),
        ends: false,
        room: AMPLE_ROOM,
        ttl: LONG_TTL,
    }
}

impl Append {
    pub(super) fn numbered(self, first: u64) -> Self {
        Self { first: Some(first), ..self }
    }

    pub(super) fn by(self, writer: &'static str) -> Self {
        Self { writer: writer.into(), ..self }
    }

    pub(super) fn ending(self) -> Self {
        Self { ends: true, ..self }
    }

    pub(super) fn lasting(self, ttl: Duration) -> Self {
        Self { ttl, ..self }
    }

    pub(super) fn within(self, room: Room) -> Self {
        Self { room, ..self }
    }
}

pub(super) fn droppable(bytes: impl Into<Bytes>) -> LogEntry {
    LogEntry { bytes: bytes.into(), keep: Keep::WhileThereIsRoom }
}

pub(super) fn kept(bytes: impl Into<Bytes>) -> LogEntry {
    LogEntry { bytes: bytes.into(), keep: Keep::Always }
}

pub(super) fn exists(key: &str) -> Condition {
    Condition::Exists(name(key))
}

pub(super) fn absent(key: &str) -> Condition {
    Condition::Absent(name(key))
}

pub(super) fn free(map: &str, key: &str, value: impl Into<Bytes>) -> Condition {
    Condition::Free { map: name(map), key: name(key), value: value.into() }
}

pub(super) fn has_room(map: &str, key: &str, limit: usize) -> Condition {
    Condition::HasRoom { map: name(map), key: name(key), limit }
}

pub(super) fn read_by(log: &str, reader: impl Into<Bytes>) -> Condition {
    Condition::ReadBy { log: name(log), reader: reader.into() }
}

/// The `ttl` of data that a case expects to expire. It is long enough that the next visits still find the data.
pub(super) const SHORT_TTL: Duration = Duration::from_secs(1);
/// The `ttl` of all other data.
pub(super) const LONG_TTL: Duration = Duration::from_secs(2 * 60);
/// Enough room for all entries of a case.
pub(super) const AMPLE_ROOM: Room = Room { entries: 10_000, bytes: 10 << 20 };

//! What is known about a session, besides its events?

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;
use toolway_protocol::ProtocolVersion;
use toolway_protocol::era::handshake::Initialize;
use toolway_protocol::types::LogLevel;

use super::shared::session::StoredRecord;
use crate::server::call::memory_record::MemoryRecord;
use crate::server::changes::listeners::{self, Listener};
use crate::server::handshake::Session;
use crate::store::{self, Operation, Step};

/// The record of a session, as servers that share a store keep it there.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Record {
    version: String,
    /// The parameters of `initialize`, in which the client describes itself.
    opening: Box<RawValue>,
    /// `true` once the client has sent `notifications/initialized`.
    pub(super) ready: bool,
    #[serde(serialize_with = "write_level")]
    pub(super) level: LogLevel,
    /// The URIs that the client has subscribed to.
    pub(super) uris: Vec<String>,
    /// How often the record was changed.
    #[serde(default)]
    pub(super) changes: u64,
    /// How often the store may have lost data before the record was read, and with it changes.
    #[serde(skip)]
    pub(super) losses: u64,
    /// The group of the peer, among whose sessions this one is counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) peer: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn write_level<S: Serializer>(level: &LogLevel, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(level.as_str())
}

impl Record {
    pub(super) fn new(version: ProtocolVersion, opening: Box<RawValue>) -> Self {
        let level = Session::DEFAULT_LOG_LEVEL;
        let version = version.as_str().to_owned();
        Self { version, opening, ready: false, level, uris: Vec::new(), changes: 0, losses: 0, peer: None }
    }

    pub(super) fn read(text: &[u8]) -> Option<Self> {
        serde_json::from_slice(text).ok()
    }

    pub(super) fn read_stored(stored: &StoredRecord) -> Option<Self> {
        Some(Self { losses: stored.losses, ..Self::read(&stored.text)? })
    }

    /// Returns a value that is greater for the newer of two records of a session. The number of changes decides, unless the
    /// store may have lost some of them between the two.
    pub(super) fn age(&self) -> (u64, u64) {
        (self.losses, self.changes)
    }

    /// Adds the changes of a record that was seen before, if the store has lost them. Changes that other servers have made
    /// since stay. So a change may be undone that was made twice, such as a subscription that was ended.
    pub(super) fn with_lost_changes(&self, seen: &Self) -> Self {
        let mut record = self.clone();
        if self.losses > seen.losses {
            record.ready |= seen.ready;
            if self.changes < seen.changes {
                record.level = seen.level;
                record.uris.extend(seen.uris.iter().filter(|uri| !self.uris.contains(uri)).cloned());
            }
        }
        record
    }

    /// Returns whether two records describe the same state of a session.
    pub(super) fn has_same_state(&self, other: &Self) -> bool {
        (self.ready, self.level, &self.uris) == (other.ready, other.level, &other.uris)
    }

    pub(super) fn write(&self) -> Bytes {
        serde_json::to_vec(self).unwrap_or_default().into()
    }

    pub(super) fn session(&self, listener: Arc<Listener>) -> Session {
        let version = self.version.parse().unwrap_or(ProtocolVersion::LATEST_HANDSHAKE);
        match serde_json::from_str::<Initialize>(self.opening.get()) {
            Ok(opening) => Session::open(version, opening, Some(listener)),
            Err(_) => Session::without_handshake(version, Some(listener)),
        }
    }
}

impl Listener {
    /// Returns the subscribed URIs, sorted.
    pub(super) fn subscribed(&self) -> Vec<String> {
        let mut uris: Vec<_> = self.state.lock().subscribed.iter().cloned().collect();
        uris.sort_unstable();
        uris
    }

    /// Replaces the subscriptions with these URIs.
    pub(super) fn set_subscribed(&self, uris: Vec<String>) {
        let mut state = self.state.lock();
        let uris: HashSet<String> = uris.into_iter().collect();
        self.add_interest(uris.difference(&state.subscribed));
        self.remove_interest(state.subscribed.difference(&uris));
        state.subscribed = uris;
        let listeners::ListenerState { subscribed, pending, .. } = &mut *state;
        pending.updated.retain(|uri| subscribed.contains(uri));
    }
}

impl MemoryRecord {
    /// Extends the lifetime of the values, even if they were not used.
    pub(super) async fn renew(&self) -> store::Result<()> {
        let renew = Operation::Renew { key: self.key.clone().into(), ttl: self.ttl };
        self.store.run(&self.group, &Step::new().then(renew)).await.map(drop)
    }

    /// Deletes the values, and prevents pending writes.
    pub(super) async fn forget(&self) -> store::Result<()> {
        self.is_over.store(true, Ordering::SeqCst);
        self.delete().await
    }
}

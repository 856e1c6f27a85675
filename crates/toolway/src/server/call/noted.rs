//! What is recorded about a request for spans, metrics and hooks?

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use toolway_protocol::Id;
use toolway_protocol::jsonrpc::Params;

use crate::server::call::trace::Traced;

/// The data about a request for spans, metrics and hooks.
#[derive(Debug, Clone, Default)]
pub(crate) struct Noted {
    pub(crate) id: Option<Id>,
    pub(crate) traced: Traced,
    pub(crate) seen: Option<Arc<Seen>>,
}

/// Counters and flags of one observed call.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) rounds: AtomicU32,
    pub(crate) is_unexpected: AtomicBool,
}

impl Noted {
    pub(crate) fn of(id: Option<&Id>, params: &Params) -> Self {
        Self { id: id.cloned(), traced: Traced::of(params), seen: None }
    }

    /// Records that a handler runs, for the first time or again.
    pub(crate) fn round(&self) {
        if let Some(seen) = &self.seen {
            seen.rounds.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Records that the call failed with an error that was not written for the client.
    pub(crate) fn unexpected(&self) {
        if let Some(seen) = &self.seen {
            seen.is_unexpected.store(true, Ordering::Relaxed);
        }
    }
}

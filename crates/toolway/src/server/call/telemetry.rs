//! What is recorded about a request for spans, metrics and hooks?

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use toolway_protocol::Id;
use toolway_protocol::jsonrpc::Params;

use crate::server::call::trace::RawTraceContext;

/// The data about a request for spans, metrics and hooks.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequestTelemetry {
    pub(crate) id: Option<Id>,
    pub(crate) trace_context: RawTraceContext,
    pub(crate) counters: Option<Arc<CallCounters>>,
}

/// Counters and flags of one observed call.
#[derive(Debug, Default)]
pub(crate) struct CallCounters {
    pub(crate) rounds: AtomicU32,
    pub(crate) is_unexpected: AtomicBool,
}

impl RequestTelemetry {
    pub(crate) fn new(id: Option<&Id>, params: &Params) -> Self {
        Self { id: id.cloned(), trace_context: RawTraceContext::of(params), counters: None }
    }

    /// Records that a handler runs, for the first time or again.
    pub(crate) fn count_round(&self) {
        if let Some(seen) = &self.counters {
            seen.rounds.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Records that the call failed with an error that was not written for the client.
    pub(crate) fn mark_unexpected(&self) {
        if let Some(seen) = &self.counters {
            seen.is_unexpected.store(true, Ordering::Relaxed);
        }
    }
}

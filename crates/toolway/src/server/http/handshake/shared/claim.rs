//! How is a request kept from running twice, if copies of it reach several servers?
//!
//! The server that begins a request enters a claim for its id in the store. The claim is released when the reply was
//! handed over. A reply that could not be handed over leaves its claim until it expires: a copy of the request is
//! refused, not run.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use toolway_protocol::Id;

use super::super::super::endpoint::permit::ReplyClaim;
use super::node::Node;
use super::session::{CLAIMS, SharedSession};
use crate::ground::random::random_hex;
use crate::store::{Condition, Name, Operation, Step};

/// The entry of a claim in the store.
#[derive(Debug, Clone)]
pub(in super::super) struct ClaimEntry {
    key: Name,
    /// The id of the node, and a random number: another request with the same id has another claim.
    value: Bytes,
}

impl ClaimEntry {
    pub(in super::super) fn new(node: &Node, id: &Id) -> Self {
        let value = format!("{}:{}", node.id, random_hex::<8>());
        Self { key: id.to_string().into(), value: value.into() }
    }

    /// Returns the node that a claim belongs to.
    pub(in super::super) fn node(value: &[u8]) -> &str {
        let node = value.split(|byte| *byte == b':').next().unwrap_or_default();
        std::str::from_utf8(node).unwrap_or_default()
    }

    pub(super) fn is_free(&self) -> Condition {
        Condition::Free { map: CLAIMS, key: self.key.clone(), value: self.value.clone() }
    }

    pub(super) fn enter(&self, ttl: Duration) -> Operation {
        Operation::Enter { map: CLAIMS, key: self.key.clone(), value: self.value.clone(), ttl }
    }

    fn leave(&self) -> Operation {
        Operation::Leave { map: CLAIMS, key: self.key.clone(), value: Some(self.value.clone()) }
    }
}

/// A claimed request. Dropping it releases the claim, if the reply was handed over.
pub(in super::super) struct Claim {
    pub(in super::super) entry: ClaimEntry,
    session: Arc<SharedSession>,
    is_sent: bool,
}

impl Claim {
    pub(in super::super) fn new(entry: ClaimEntry, session: Arc<SharedSession>) -> Self {
        Self { entry, session, is_sent: false }
    }
}

impl ReplyClaim for Claim {
    fn mark_sent(&mut self) {
        self.is_sent = true;
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if !self.is_sent {
            return;
        }
        let (session, leave) = (self.session.clone(), self.entry.leave());
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            // A claim that could not be released expires.
            if let Err(error) = session.run(&Step::new().then(leave)).await {
                tracing::debug!(%error, "a claim could not be released");
            }
        });
    }
}

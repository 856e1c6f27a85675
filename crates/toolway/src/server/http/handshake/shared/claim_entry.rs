//! How is it stored that a request runs?

use std::time::Duration;

use bytes::Bytes;
use toolway_protocol::Id;

use super::node::Node;
use crate::ground::random::random_hex;
use crate::store::{Condition, Name, Operation};

/// The entry of a claim in the store.
#[derive(Debug, Clone)]
pub(in crate::server) struct ClaimEntry {
    key: Name,
    /// The id of the node, and a random number: another request with the same id has another claim.
    value: Bytes,
}

impl ClaimEntry {
    pub(in crate::server) fn new(node: &Node, id: &Id) -> Self {
        let value = format!("{}:{}", node.id, random_hex::<8>());
        Self { key: id.to_string().into(), value: value.into() }
    }

    /// Returns the node that a claim belongs to.
    pub(in crate::server) fn node(value: &[u8]) -> &str {
        let node = value.split(|byte| *byte == b':').next().unwrap_or_default();
        std::str::from_utf8(node).unwrap_or_default()
    }

    /// Returns the key and the value, for the first event of a stream.
    pub(super) fn to_texts(&self) -> (String, String) {
        (self.key.to_string(), String::from_utf8_lossy(&self.value).into_owned())
    }

    pub(super) fn from_texts((key, value): &(String, String)) -> Self {
        Self { key: key.clone().into(), value: value.clone().into() }
    }

    pub(super) fn is_free(&self) -> Condition {
        Condition::Free { map: CLAIMS, key: self.key.clone(), value: self.value.clone() }
    }

    pub(super) fn enter(&self, ttl: Duration) -> Operation {
        Operation::Enter { map: CLAIMS, key: self.key.clone(), value: self.value.clone(), ttl }
    }

    pub(super) fn leave(&self) -> Operation {
        Operation::Leave { map: CLAIMS, key: self.key.clone(), value: Some(self.value.clone()) }
    }
}

/// The requests that run, with their nodes.
pub(super) const CLAIMS: Name = Name::Borrowed("running");

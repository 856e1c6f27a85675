//! How many sessions does one peer have open, at all servers together?

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::node::Node;
use crate::store::{Condition, Groups, Name, Operation, Outcome, Result, Step};

/// The place of a session among those of its peer.
#[derive(Clone)]
pub(super) struct SessionPlace {
    pub(super) node: Arc<Node>,
    pub(super) session: String,
    /// The group of the peer.
    pub(super) group: String,
    /// The place expires with the session.
    pub(super) ttl: Duration,
}

/// Returns the group of a peer; `None` if the peer is known neither by name nor by address.
pub(in crate::server) fn peer_group(
    groups: &Groups,
    server: &str,
    owner: Option<&str>,
    address: Option<IpAddr>,
) -> Option<String> {
    let hash = match (owner, address) {
        (Some(owner), _) => groups.hash("principal", &[server, owner]),
        (None, Some(address)) => groups.hash("address", &[server, &address.to_string()]),
        (None, None) => return None,
    };
    Some(format!("p/{hash}"))
}

impl SessionPlace {
    /// Takes the place, if there are fewer than `limit`.
    pub(super) async fn take(&self, limit: usize) -> Result<bool> {
        let has_room = Condition::HasRoom { map: SESSIONS, key: self.session.clone().into(), limit };
        let step = Step::new().when(has_room).then(self.enter());
        Ok(matches!(self.node.store.run(&self.group, &step).await?, Outcome::Done(_)))
    }

    /// Extends the life of the place. Nothing waits for it: a place that expires early is one session too many.
    pub(super) fn renew(&self) {
        self.run_later(self.enter());
    }

    pub(super) fn release(&self) {
        self.run_later(Operation::Leave { map: SESSIONS, key: self.session.clone().into(), value: None });
    }

    fn enter(&self) -> Operation {
        let (key, value) = (self.session.clone().into(), Bytes::new());
        Operation::Enter { map: SESSIONS, key, value, ttl: self.ttl }
    }

    fn run_later(&self, operation: Operation) {
        let (node, group) = (self.node.clone(), self.group.clone());
        tokio::spawn(async move {
            if let Err(error) = node.store.run(&group, &Step::new().then(operation)).await {
                tracing::warn!(%error, "the number of sessions of a peer could not be updated");
            }
        });
    }
}

/// The sessions of the peer.
const SESSIONS: Name = Name::Borrowed("sessions");

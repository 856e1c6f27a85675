//! What is remembered about one peer of the handshake era.

use std::sync::Arc;

use toolway_protocol::ProtocolVersion;
use toolway_protocol::era::handshake::Initialize;

use crate::peer::Peer;

/// A conversation.
#[derive(Debug, Clone)]
pub(in crate::server) struct Session {
    peer: Arc<Peer>,
}

impl Session {
    /// The conversation that an `initialize` opens.
    pub(super) fn open(version: ProtocolVersion, opening: Initialize) -> Self {
        Self { peer: Arc::new(Peer::new(version, opening.capabilities, opening.client_info)) }
    }

    /// A conversation that nobody opened: requests typed by hand, or HTTP requests that stand alone.
    pub(in crate::server) fn unopened(version: ProtocolVersion) -> Self {
        Self { peer: Arc::new(Peer::unknown(version)) }
    }

    pub(in crate::server) fn version(&self) -> ProtocolVersion {
        self.peer.version
    }

    pub(super) fn peer(&self) -> Arc<Peer> {
        self.peer.clone()
    }
}

//! What is known about the client of a request? The code of each era fills it in.

use toolway_protocol::capability::ClientCapabilities;
use toolway_protocol::era::Envelope;
use toolway_protocol::types::Implementation;
use toolway_protocol::{Era, ProtocolVersion};

/// The client that a request came from.
///
/// ```
/// use toolway::prelude::*;
///
/// /// Say who calls.
/// #[tool]
/// fn whoami(ctx: &Ctx) -> String {
///     let peer = ctx.peer();
///     let name = peer.info.as_ref().map_or("a client", |info| &info.name);
///     format!("{name}, who speaks {}", peer.version)
/// }
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Peer {
    /// The protocol revision in use.
    pub version: ProtocolVersion,
    /// The capabilities of the client.
    pub capabilities: ClientCapabilities,
    /// The name and version that the client reports. They are for display only; do not base decisions on them.
    pub info: Option<Implementation>,
}

impl Peer {
    /// Creates a peer about which only the revision is known.
    pub(crate) fn unknown(version: ProtocolVersion) -> Self {
        Self { version, capabilities: ClientCapabilities::default(), info: None }
    }

    pub(crate) fn new(
        version: ProtocolVersion,
        capabilities: ClientCapabilities,
        info: Implementation,
    ) -> Self {
        Self { version, capabilities, info: Some(info) }
    }

    pub(crate) fn from_envelope(version: ProtocolVersion, envelope: Envelope) -> Self {
        Self { version, capabilities: envelope.capabilities, info: envelope.client_info }
    }

    /// Returns whether the client can answer at least one kind of question.
    pub(crate) fn can_be_asked(&self) -> bool {
        let ClientCapabilities { sampling, elicitation, roots, .. } = &self.capabilities;
        sampling.is_some() || elicitation.is_some() || roots.is_some()
    }

    /// Returns the era of the client's protocol revision.
    pub fn era(&self) -> Era {
        self.version.era()
    }
}

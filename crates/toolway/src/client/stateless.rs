//! The stateless era: how does a request describe itself, and what does the server say about itself?

use serde::Deserialize;
use toolway_protocol::capability::ClientCapabilities;
use toolway_protocol::era::Envelope;
use toolway_protocol::era::stateless::{Discovered, write_bare, write_call};
use toolway_protocol::meta::Key;
use toolway_protocol::types::Implementation;
use toolway_protocol::{Id, Method, ProtocolVersion, RawJson, Request};

use super::ServerFacts;
use super::transport::Outgoing;
use crate::error::{Error, ErrorKind, Result};

/// What every request to one server carries.
#[derive(Debug)]
pub(super) struct Link {
    version: ProtocolVersion,
    envelope: Envelope,
}

impl Link {
    pub(super) fn new(
        version: ProtocolVersion,
        capabilities: ClientCapabilities,
        info: Implementation,
    ) -> Self {
        Self { version, envelope: Envelope::new(version, capabilities, info) }
    }

    pub(super) fn version(&self) -> ProtocolVersion {
        self.version
    }

    pub(super) fn request(&self, id: Id, request: &Request) -> Outgoing {
        let name = request.name().map(String::from);
        let mut frame = Vec::new();
        write_call(&mut frame, &id, request, &self.envelope);
        self.outgoing(frame, id, request.method(), name)
    }

    pub(super) fn bare(&self, id: Id, method: Method) -> Outgoing {
        let mut frame = Vec::new();
        write_bare(&mut frame, &id, &method, &self.envelope);
        self.outgoing(frame, id, method, None)
    }

    fn outgoing(&self, frame: Vec<u8>, id: Id, method: Method, name: Option<String>) -> Outgoing {
        Outgoing { frame: frame.into(), id: Some(id), method, name, version: Some(self.version) }
    }
}

/// Reads the reply to `server/discover`.
pub(super) fn discovered(result: &RawJson) -> Result<Discovered> {
    result.decode().map_err(|error| {
        Error::new(ErrorKind::PeerMisbehaved, "the server's reply to server/discover is malformed")
            .caused_by(error)
    })
}

/// What the server said about itself. A malformed identity is none: it is for display only.
pub(super) fn facts(discovered: Discovered) -> ServerFacts {
    let info = discovered.meta.and_then(|mut meta| meta.remove(Key::ServerInfo.name()));
    ServerFacts {
        info: info.and_then(|info| RawJson::from(info).decode().ok()),
        capabilities: discovered.capabilities,
        instructions: discovered.instructions,
    }
}

/// Only a complete result can be read as what was asked for. A server that does not say means complete.
pub(super) fn complete(result: &RawJson) -> Result<()> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Kind {
        result_type: Option<String>,
    }
    match result.decode::<Kind>() {
        Ok(Kind { result_type: None }) => Ok(()),
        Ok(Kind { result_type: Some(kind) }) if kind == "complete" => Ok(()),
        Ok(Kind { result_type: Some(kind) }) => Err(Error::new(
            ErrorKind::PeerMisbehaved,
            format!("the server's result is of an unknown type, {kind:?}"),
        )),
        Err(error) => {
            Err(Error::new(ErrorKind::PeerMisbehaved, "the server's result is not an object")
                .caused_by(error))
        }
    }
}

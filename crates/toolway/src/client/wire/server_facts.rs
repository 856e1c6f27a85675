//! What does a server say about itself?

use toolway_protocol::capability::ServerCapabilities;
use toolway_protocol::types::Implementation;

/// What the server said about itself when the connection was opened.
pub(crate) struct ServerFacts {
    pub(crate) info: Option<Implementation>,
    pub(crate) capabilities: ServerCapabilities,
    pub(crate) instructions: Option<String>,
}

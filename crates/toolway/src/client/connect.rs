//! How is a conversation opened, and in which era?
//!
//! Unless a revision is pinned, the server is probed: `server/discover` first, and `initialize` if the answer
//! shows a server that does not know it.

use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use toolway_protocol::capability::ClientCapabilities;
use toolway_protocol::era::negotiate::{Verdict, choose, judge_error, judge_status};
use toolway_protocol::types::Implementation;
use toolway_protocol::{Era, Id, Method, ProtocolVersion};

use super::transport::{Inbox, Transport, exchange};
use super::{Client, Dress, ServerFacts, Shared, handshake, stateless};
use crate::error::{Error, ErrorKind, Result};

/// A client that is being described. Made by [`Client::builder`].
#[derive(Debug, Clone)]
pub struct ClientBuilder {
    info: Implementation,
    capabilities: ClientCapabilities,
    pinned: Option<ProtocolVersion>,
}

impl Default for ClientBuilder {
    fn default() -> Self {
        Self {
            info: Implementation::new("toolway", env!("CARGO_PKG_VERSION")),
            capabilities: ClientCapabilities::default(),
            pinned: None,
        }
    }
}

impl ClientBuilder {
    /// Who the client says it is.
    pub fn info(mut self, name: impl Into<String>, version: impl Into<String>) -> Self {
        self.info = Implementation::new(name, version);
        self
    }

    /// Speaks this revision instead of finding out. A server of the handshake era may still answer with an
    /// older one.
    pub fn protocol(mut self, version: ProtocolVersion) -> Self {
        self.pinned = Some(version);
        self
    }

    /// Connects through a transport.
    pub async fn connect(self, transport: impl Transport) -> Result<Client> {
        let transport: Box<dyn Transport> = Box::new(transport);
        let inbox = Inbox::new();
        transport.deliver_to(inbox.clone());
        let mut opening = Opening { builder: &self, transport: &*transport, next_id: 0 };
        let (era, server) = match self.pinned.map(|version| (version, version.era())) {
            Some((version, Era::Handshake)) => opening.handshake(version).await?,
            Some((version, Era::Stateless)) => opening.discover(version, Fallback::Refused).await?,
            None => opening.discover(ProtocolVersion::LATEST, Fallback::Allowed).await?,
        };
        let next_id = AtomicI64::new(opening.next_id);
        Ok(Client { shared: Arc::new(Shared { transport, era, server, inbox, next_id }) })
    }
}

/// Whether a server of the other era is welcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fallback {
    Allowed,
    Refused,
}

struct Opening<'o> {
    builder: &'o ClientBuilder,
    transport: &'o dyn Transport,
    next_id: i64,
}

impl Opening<'_> {
    fn id(&mut self) -> Id {
        self.next_id += 1;
        Id::Number(self.next_id - 1)
    }

    async fn handshake(&mut self, version: ProtocolVersion) -> Result<(Dress, ServerFacts)> {
        let ClientBuilder { info, capabilities, .. } = self.builder;
        let id = self.id();
        let (link, facts) =
            handshake::open(self.transport, version, capabilities.clone(), info.clone(), id).await?;
        Ok((Dress::Handshake(link), facts))
    }

    async fn discover(
        &mut self,
        mut version: ProtocolVersion,
        fallback: Fallback,
    ) -> Result<(Dress, ServerFacts)> {
        // One correction is allowed: a server that refuses the revision it proposed itself is not argued with.
        for attempt in 0..2 {
            let ClientBuilder { info, capabilities, .. } = self.builder;
            let link = stateless::Link::new(version, capabilities.clone(), info.clone());
            let outcome = exchange(self.transport, link.bare(self.id(), Method::Discover)).await;
            let (verdict, refusal) = match outcome {
                Ok(result) => {
                    let discovered = stateless::discovered(&result)?;
                    match choose(&discovered.supported_versions) {
                        Verdict::Stateless(chosen) => {
                            let link = stateless::Link::new(chosen, capabilities.clone(), info.clone());
                            return Ok((Dress::Stateless(link), stateless::facts(discovered)));
                        }
                        verdict => (verdict, None),
                    }
                }
                Err(error) => match verdict(&error) {
                    Some(verdict) => (verdict, Some(error)),
                    None => return Err(error),
                },
            };
            match verdict {
                Verdict::Stateless(proposed) if attempt == 0 => version = proposed,
                Verdict::Handshake if fallback == Fallback::Allowed => {
                    return self.handshake(ProtocolVersion::LATEST_HANDSHAKE).await;
                }
                _ => return Err(refusal.unwrap_or_else(incompatible)),
            }
        }
        Err(incompatible())
    }
}

/// What a failed probe says about the server; nothing, when the fault may lie elsewhere.
fn verdict(error: &Error) -> Option<Verdict> {
    error.rpc().map(judge_error).or_else(|| error.http_status().and_then(judge_status))
}

fn incompatible() -> Error {
    Error::new(ErrorKind::PeerIncompatible, "the server speaks no protocol version that this client does")
}

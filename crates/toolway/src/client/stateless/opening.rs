//! How is a connection of the stateless era opened? The client sends `server/discover` first; the reply names the
//! revisions that the server supports.

use std::time::Duration;

use tokio::time::timeout;
use toolway_protocol::era::negotiate::{Verdict, choose, judge_error, judge_status};
use toolway_protocol::era::stateless::DiscoverResult;
use toolway_protocol::{Method, ProtocolVersion};

use crate::client::stateless::link::{StatelessLink, server_facts};
use crate::client::wire::era_link::EraLink;
use crate::client::wire::opening::{
    ConnectionSetup, FreshTransport, OpenConnection, ServerFacts, with_diagnosis,
};
use crate::client::wire::transport::{Transport, exchange, malformed_reply};
use crate::ground::error::{Error, ErrorKind, Result};

/// The outcome of a probe.
#[expect(clippy::large_enum_variant, reason = "the value is matched at once and dropped")]
pub(crate) enum ProbeOutcome {
    Opened(StatelessLink, ServerFacts),
    /// The server requires a handshake. Contains the error with which it refused the probe; `None` if it did not answer
    /// or sent no error.
    HandshakeRequired(Option<Error>),
}

/// Opens a connection of the stateless era, without a fallback to the handshake era.
pub(crate) async fn open(opening: &ConnectionSetup<'_>, version: ProtocolVersion) -> Result<OpenConnection> {
    let reached = opening.open_transport().await?;
    match probe(opening, &*reached.0, version, None).await? {
        ProbeOutcome::Opened(link, server) => Ok(build_connection(reached, link, server)),
        ProbeOutcome::HandshakeRequired(refusal) => Err(refusal.unwrap_or_else(incompatible)),
    }
}

pub(crate) fn build_connection(
    (transport, inbox): FreshTransport,
    link: impl EraLink + 'static,
    server: ServerFacts,
) -> OpenConnection {
    OpenConnection { transport, inbox, era: Box::new(link), server }
}

/// Asks which revisions the server supports. If `patience` is set, a server that does not answer in that time counts as
/// one of the handshake era.
pub(crate) async fn probe(
    opening: &ConnectionSetup<'_>,
    transport: &dyn Transport,
    mut version: ProtocolVersion,
    patience: Option<Duration>,
) -> Result<ProbeOutcome> {
    // If the server refuses the revision and proposes another, the probe is repeated once with the proposed revision.
    // If the server refuses that too, the probe fails.
    for attempt in 0..2 {
        let link = |version| StatelessLink::new(version, opening.answers, opening.info.clone());
        let asking = opening.with_deadline(exchange(transport, link(version).ping(opening.next_id())));
        let outcome = match patience {
            None => asking.await,
            Some(limit) => match timeout(limit, asking).await {
                Ok(outcome) => outcome,
                Err(_) => return Ok(ProbeOutcome::HandshakeRequired(None)),
            },
        };
        let (verdict, refusal) = match outcome {
            Ok(result) => {
                let server = result.decode::<DiscoverResult>();
                let server = server.map_err(|error| malformed_reply(&Method::Discover).caused_by(error))?;
                match choose(&server.supported_versions) {
                    Verdict::Stateless(chosen) => {
                        return Ok(ProbeOutcome::Opened(link(chosen), server_facts(server).checked()?));
                    }
                    verdict => (verdict, None),
                }
            }
            Err(error) => match era_verdict(&error) {
                Some(verdict) => (verdict, Some(error)),
                None => return Err(with_diagnosis(error, transport)),
            },
        };
        match verdict {
            Verdict::Stateless(proposed) if attempt == 0 => version = proposed,
            Verdict::Handshake => return Ok(ProbeOutcome::HandshakeRequired(refusal)),
            _ => return Err(refusal.unwrap_or_else(incompatible)),
        }
    }
    Err(incompatible())
}

/// Returns what the error of a probe or handshake tells about the era of the server; `None` if it tells nothing.
pub(crate) fn era_verdict(error: &Error) -> Option<Verdict> {
    // With these statuses the request was refused before it was read, so they tell nothing about the era.
    if let Some(401 | 403 | 407 | 408 | 425 | 429 | 502..=504) = error.http_status() {
        return None;
    }
    error.rpc().map(judge_error).or_else(|| error.http_status().and_then(judge_status))
}

fn incompatible() -> Error {
    Error::new(ErrorKind::PeerIncompatible, "the server and this client have no protocol version in common")
}

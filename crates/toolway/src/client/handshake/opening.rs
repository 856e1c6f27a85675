//! How does a client find out which era a server speaks?
//!
//! Unless a revision is pinned or the server is in the cache, the client probes the server: it first sends
//! `server/discover`. If the reply shows that the server does not know this request, or if no reply arrives on a pipe,
//! the client sends `initialize`.

use std::time::Duration;

use toolway_protocol::era::negotiate::Verdict;
use toolway_protocol::{Era, ProtocolVersion};

use crate::client::answer::answers::Answers;
use crate::client::handshake::era_cache::EraCache;
use crate::client::handshake::link::{HandshakeLink, shake_hands};
use crate::client::stateless::opening::{self as stateless, ProbeOutcome, opened, probe, verdict};
use crate::client::wire::opening::{FreshTransport, OpenConnection, Opening, ServerFacts, explained};
use crate::ground::error::{Error, ErrorKind, Result};

/// The settings for a connection to a server whose era is not known yet.
pub(crate) struct Negotiation<'n> {
    pub(crate) opening: &'n Opening<'n>,
    pub(crate) eras: &'n EraCache,
    /// The application's answers in the handshake era. The field `passes` tells whether other questions are passed on
    /// to the callers of forwarded requests.
    pub(crate) answers: Answers,
    /// How long a server on a pipe may take to answer the probe. Servers of the handshake era may ignore the probe.
    pub(crate) probe_timeout: Duration,
}

impl Negotiation<'_> {
    /// Opens a connection in the era of the pinned revision, or in the era that the server speaks.
    pub(crate) async fn open(&self, pinned: Option<ProtocolVersion>) -> Result<OpenConnection> {
        match pinned {
            Some(version) if version.era() == Era::Handshake => self.begin(version).await,
            Some(version) => stateless::open(self.opening, version).await,
            None => match self.as_remembered().await {
                Some(known) => known,
                None => self.find_out().await,
            },
        }
    }

    async fn find_out(&self) -> Result<OpenConnection> {
        let version = ProtocolVersion::LATEST;
        let reached = self.opening.reach().await?;
        let transport = &*reached.0;
        // Over HTTP every request gets a response, so the probe has no time limit of its own there.
        let patience = (!transport.has_headers()).then_some(self.probe_timeout);
        let mut is_silent = false;
        let older = match probe(self.opening, transport, version, patience).await {
            Ok(ProbeOutcome::Opened(link, server)) => return Ok(opened(reached, link, server)),
            Ok(ProbeOutcome::Older(refusal)) if transport.is_connected() => {
                is_silent = refusal.is_none();
                reached
            }
            Ok(ProbeOutcome::Older(refusal)) => self.once_more(refusal).await?,
            // Some servers of the handshake era exit when they receive an unknown request.
            Err(error) if !transport.is_connected() => self.once_more(Some(error)).await?,
            Err(error) => return Err(error),
        };
        let error = match self.shake(&older, ProtocolVersion::LATEST_HANDSHAKE).await {
            Ok((link, server)) => {
                if let Some(server) = self.opening.connector.key() {
                    self.eras.learn(&server);
                }
                return Ok(opened(older, link, server));
            }
            Err(error) => error,
        };
        // A server that starts slowly may have answered the probe too late, and speak the stateless era. Probe it
        // again.
        let may_be_newer = match verdict(&error) {
            Some(Verdict::Stateless(_)) => true,
            Some(_) => is_silent,
            None => false,
        };
        if may_be_newer && older.0.is_connected() {
            // Boxed because this is rare: otherwise the future of every connection would reserve space for it.
            let probed = Box::pin(probe(self.opening, &*older.0, version, None)).await;
            if let Ok(ProbeOutcome::Opened(link, server)) = probed {
                return Ok(opened(older, link, server));
            }
        }
        Err(error)
    }

    /// Opens a session with a server that the cache knows. Returns `None` if the server is not in the cache, or if it
    /// no longer accepts a handshake.
    async fn as_remembered(&self) -> Option<Result<OpenConnection>> {
        let server = self.opening.connector.key().filter(|server| self.eras.has(server))?;
        match self.begin(ProtocolVersion::LATEST_HANDSHAKE).await {
            Err(error) if verdict(&error).is_some() || error.kind() == ErrorKind::PeerIncompatible => {
                self.eras.forget(&server);
                None
            }
            begun => Some(begun),
        }
    }

    /// Opens a session of the handshake era, without a fallback to the stateless era.
    async fn begin(&self, version: ProtocolVersion) -> Result<OpenConnection> {
        let reached = self.opening.reach().await?;
        let (link, server) = self.shake(&reached, version).await?;
        Ok(opened(reached, link, server))
    }

    /// Opens a second transport after the first one has ended. If the second cannot be opened, returns the error of the
    /// first.
    async fn once_more(&self, first: Option<Error>) -> Result<FreshTransport> {
        match (self.opening.reach().await, first) {
            (Err(_), Some(first)) => Err(first),
            (reached, _) => reached,
        }
    }

    async fn shake(
        &self,
        (transport, inbox): &FreshTransport,
        version: ProtocolVersion,
    ) -> Result<(HandshakeLink, ServerFacts)> {
        let Self { opening, answers, .. } = self;
        let shaking = shake_hands(&**transport, inbox, answers, version, opening.info.clone(), opening.id());
        opening.in_time(shaking).await.map_err(|error| explained(error, &**transport))
    }
}

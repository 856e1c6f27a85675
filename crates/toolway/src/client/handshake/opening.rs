//! How does a client find out which era a server speaks?
//!
//! Unless a revision is pinned or the server is in the cache, the client probes the server: it first sends
//! `server/discover`. If the reply shows that the server does not know this request, or if no reply arrives on a pipe,
//! the client sends `initialize`.

use std::time::Duration;

use toolway_protocol::era::negotiate::Verdict;
use toolway_protocol::{Era, ProtocolVersion};

use crate::client::answer::answers::AnswerHandlers;
use crate::client::handshake::era_cache::EraCache;
use crate::client::handshake::link::{HandshakeLink, initialize};
use crate::client::stateless::opening::{
    self as stateless, ProbeOutcome, build_connection, era_verdict, probe,
};
use crate::client::wire::opening::{
    ConnectionSetup, FreshTransport, OpenConnection, ServerFacts, with_diagnosis,
};
use crate::ground::error::{Error, ErrorKind, Result};

/// The settings for a connection to a server whose era is not known yet.
pub(crate) struct Negotiation<'n> {
    pub(crate) setup: &'n ConnectionSetup<'n>,
    pub(crate) era_cache: &'n EraCache,
    /// The application's answers in the handshake era. The field `forwards_questions` tells whether other
    /// questions are passed on to the callers of forwarded requests.
    pub(crate) answers: AnswerHandlers,
    /// How long a server on a pipe may take to answer the probe. Servers of the handshake era may ignore the probe.
    pub(crate) probe_timeout: Duration,
}

impl Negotiation<'_> {
    /// Opens a connection in the era of the pinned revision, or in the era that the server speaks.
    pub(crate) async fn open(&self, pinned: Option<ProtocolVersion>) -> Result<OpenConnection> {
        match pinned {
            Some(version) if version.era() == Era::Handshake => self.open_session(version).await,
            Some(version) => stateless::open(self.setup, version).await,
            None => match self.open_cached().await {
                Some(known) => known,
                None => self.negotiate().await,
            },
        }
    }

    async fn negotiate(&self) -> Result<OpenConnection> {
        let version = ProtocolVersion::LATEST;
        let reached = self.setup.open_transport().await?;
        let transport = &*reached.0;
        // Over HTTP every request gets a response, so the probe has no time limit of its own there.
        let patience = (!transport.has_headers()).then_some(self.probe_timeout);
        let mut is_silent = false;
        let older = match probe(self.setup, transport, version, patience).await {
            Ok(ProbeOutcome::Opened(link, server)) => return Ok(build_connection(reached, link, server)),
            Ok(ProbeOutcome::HandshakeRequired(refusal)) if transport.is_connected() => {
                is_silent = refusal.is_none();
                reached
            }
            Ok(ProbeOutcome::HandshakeRequired(refusal)) => self.reopen_transport(refusal).await?,
            // Some servers of the handshake era exit when they receive an unknown request.
            Err(error) if !transport.is_connected() => self.reopen_transport(Some(error)).await?,
            Err(error) => return Err(error),
        };
        let error = match self.initialize_session(&older, ProtocolVersion::LATEST_HANDSHAKE).await {
            Ok((link, server)) => {
                if let Some(server) = self.setup.connector.cache_key() {
                    self.era_cache.insert(&server);
                }
                return Ok(build_connection(older, link, server));
            }
            Err(error) => error,
        };
        // A server that starts slowly may have answered the probe too late, and speak the stateless era. Probe it
        // again.
        let may_be_newer = match era_verdict(&error) {
            Some(Verdict::Stateless(_)) => true,
            Some(_) => is_silent,
            None => false,
        };
        if may_be_newer && older.0.is_connected() {
            // Boxed because this is rare: otherwise the future of every connection would reserve space for it.
            let probed = Box::pin(probe(self.setup, &*older.0, version, None)).await;
            if let Ok(ProbeOutcome::Opened(link, server)) = probed {
                return Ok(build_connection(older, link, server));
            }
        }
        Err(error)
    }

    /// Opens a session with a server that the cache knows. Returns `None` if the server is not in the cache, or if it
    /// no longer accepts a handshake.
    async fn open_cached(&self) -> Option<Result<OpenConnection>> {
        let server = self.setup.connector.cache_key().filter(|server| self.era_cache.has(server))?;
        match self.open_session(ProtocolVersion::LATEST_HANDSHAKE).await {
            Err(error) if era_verdict(&error).is_some() || error.kind() == ErrorKind::PeerIncompatible => {
                self.era_cache.remove(&server);
                None
            }
            begun => Some(begun),
        }
    }

    /// Opens a session of the handshake era, without a fallback to the stateless era.
    async fn open_session(&self, version: ProtocolVersion) -> Result<OpenConnection> {
        let reached = self.setup.open_transport().await?;
        let (link, server) = self.initialize_session(&reached, version).await?;
        Ok(build_connection(reached, link, server))
    }

    /// Opens a second transport after the first one has ended. If the second cannot be opened, returns the error of the
    /// first.
    async fn reopen_transport(&self, first: Option<Error>) -> Result<FreshTransport> {
        match (self.setup.open_transport().await, first) {
            (Err(_), Some(first)) => Err(first),
            (reached, _) => reached,
        }
    }

    async fn initialize_session(
        &self,
        (transport, inbox): &FreshTransport,
        version: ProtocolVersion,
    ) -> Result<(HandshakeLink, ServerFacts)> {
        let Self { setup: opening, answers, .. } = self;
        let shaking =
            initialize(&**transport, inbox, answers, version, opening.info.clone(), opening.next_id());
        opening.with_deadline(shaking).await.map_err(|error| with_diagnosis(error, &**transport))
    }
}

//! In which era is a conversation opened, and how?
//!
//! Unless a revision is pinned, the server is probed: `server/discover` first, and `initialize` if the answer
//! shows a server that does not know it, or if none comes on a pipe.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use tokio::time::{Instant, timeout, timeout_at};
use toolway_protocol::era::negotiate::{Verdict, choose, judge_error, judge_status};
use toolway_protocol::{Era, Id, Method, ProtocolVersion};

use crate::client::answer::answers::Answers;
use crate::client::connect::config::Config;
use crate::client::connect::connection::{Connection, EraLink};
use crate::client::connect::era_cache::Met;
use crate::client::handshake::link as handshake;
use crate::client::notifications::listeners::Notifications;
use crate::client::stateless::link::{StatelessLink, discovered, facts};
use crate::client::wire::inbox::Inbox;
use crate::client::wire::server_facts::ServerFacts;
use crate::client::wire::target::Connector;
use crate::client::wire::transport::{Transport, exchange};
use crate::ground::error::{Error, ErrorKind, Result};

/// A conversation that is being opened.
pub(super) struct Opening<'o> {
    pub(super) config: &'o Config,
    pub(super) connector: &'o dyn Connector,
    pub(super) next_id: &'o AtomicI64,
    pub(super) notifications: &'o Arc<Notifications>,
    /// What the application answers in a conversation of the handshake era.
    pub(super) answers: Answers,
    pub(super) deadline: Instant,
}

/// Whether a server of the other era is welcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fallback {
    Allowed,
    Refused,
}

/// What a probe has shown.
#[expect(clippy::large_enum_variant, reason = "it is looked at once, and gone")]
enum Probed {
    Opened(EraLink, ServerFacts),
    /// The server wants a handshake; this is what it said instead of an answer.
    Older(Option<Error>),
}

impl Opening<'_> {
    pub(super) async fn open(&self) -> Result<Connection> {
        let (version, fallback) = match self.config.pinned {
            Some(version) if version.era() == Era::Handshake => {
                return self.begin(version).await;
            }
            Some(version) => (version, Fallback::Refused),
            None => (ProtocolVersion::LATEST, Fallback::Allowed),
        };
        if let Some(known) = self.as_remembered().await {
            return known;
        }
        let (transport, inbox) = self.reach().await?;
        let mut is_silent = false;
        let older = match self.probe(&*transport, version, fallback).await {
            Ok(Probed::Opened(era, server)) => {
                return Ok(Connection::new(transport, era, server, inbox));
            }
            Ok(Probed::Older(refusal)) if transport.is_connected() => {
                is_silent = refusal.is_none();
                (transport, inbox)
            }
            Ok(Probed::Older(refusal)) => self.once_more(refusal).await?,
            // Some older servers end when they hear something that they do not know.
            Err(error) if fallback == Fallback::Allowed && !transport.is_connected() => {
                self.once_more(Some(error)).await?
            }
            Err(error) => return Err(error),
        };
        let (transport, inbox) = older;
        let (era, server) = match self.shake(&*transport, &inbox, ProtocolVersion::LATEST_HANDSHAKE).await {
            Ok(opened) => {
                if let Some(server) = self.connector.key() {
                    self.config.eras.learn(&server, Met::Older);
                }
                opened
            }
            // A server that starts slowly has heard the probe after all, and is of the new era.
            Err(error)
                if transport.is_connected()
                    && match verdict(&error) {
                        Some(Verdict::Stateless(_)) => true,
                        Some(_) => is_silent,
                        None => false,
                    } =>
            {
                // On the heap, as it is rare: no other connection is to have room for it.
                match Box::pin(self.probe(&*transport, version, Fallback::Refused)).await {
                    Ok(Probed::Opened(era, server)) => (era, server),
                    _ => return Err(error),
                }
            }
            Err(error) => return Err(error),
        };
        Ok(Connection::new(transport, era, server, inbox))
    }

    /// Opens a conversation as it was opened the last time. Nothing, if nothing is known, or if the server is another one by now.
    async fn as_remembered(&self) -> Option<Result<Connection>> {
        let server = self.connector.key().filter(|_| self.config.pinned.is_none())?;
        let Met::Older = self.config.eras.get(&server)?;
        match self.begin(ProtocolVersion::LATEST_HANDSHAKE).await {
            Err(error) if verdict(&error).is_some() || error.kind() == ErrorKind::PeerIncompatible => {
                self.config.eras.forget(&server);
                None
            }
            begun => Some(begun),
        }
    }

    /// Opens a conversation of the handshake era, and no other.
    async fn begin(&self, version: ProtocolVersion) -> Result<Connection> {
        let (transport, inbox) = self.reach().await?;
        let (era, server) = self.shake(&*transport, &inbox, version).await?;
        Ok(Connection::new(transport, era, server, inbox))
    }

    async fn reach(&self) -> Result<(Box<dyn Transport>, Inbox)> {
        let transport = self.connector.reach().await?;
        transport.use_headers(&self.config.headers)?;
        let max_message = transport.use_max_message(self.config.max_message);
        let inbox = Inbox::new(self.notifications.clone(), max_message);
        transport.deliver_to(inbox.clone());
        Ok((transport, inbox))
    }

    /// A second way, after the first has ended; if there is none, why the first did.
    async fn once_more(&self, first: Option<Error>) -> Result<(Box<dyn Transport>, Inbox)> {
        match (self.reach().await, first) {
            (Err(_), Some(first)) => Err(first),
            (reached, _) => reached,
        }
    }

    /// Waits for an answer while there is time. Whoever is late is asked why, which is too late when all of this is dropped.
    async fn in_time<T>(&self, asking: impl Future<Output = Result<T>>) -> Result<T> {
        timeout_at(self.deadline, asking).await.unwrap_or_else(|_| Err(self.late()))
    }

    /// When a time from now is over; some are longer than clocks go.
    pub(super) fn deadline(limit: Duration) -> Instant {
        let now = Instant::now();
        now.checked_add(limit).unwrap_or(now + Duration::from_hours(24 * 365))
    }

    pub(super) fn late(&self) -> Error {
        let limit = self.config.connect_timeout;
        Error::new(ErrorKind::Timeout, format!("nothing came within {limit:?}")).unsent()
    }

    fn id(&self) -> Id {
        Id::Number(self.next_id.fetch_add(1, Ordering::Relaxed))
    }

    async fn shake(
        &self,
        transport: &dyn Transport,
        inbox: &Inbox,
        version: ProtocolVersion,
    ) -> Result<(EraLink, ServerFacts)> {
        let info = self.config.info.clone();
        let opening = handshake::open(transport, inbox, &self.answers, version, info, self.id());
        let opened = self.in_time(opening).await;
        let (link, server) = opened.map_err(|error| explained(error, transport))?;
        Ok((EraLink::Handshake(link), server))
    }

    async fn probe(
        &self,
        transport: &dyn Transport,
        mut version: ProtocolVersion,
        fallback: Fallback,
    ) -> Result<Probed> {
        // One correction is allowed: a server that refuses the revision it proposed itself is not argued with.
        for attempt in 0..2 {
            let Config { info, answers, .. } = self.config;
            let link = StatelessLink::new(version, answers, info.clone());
            let asking = self.in_time(exchange(transport, link.bare(self.id(), Method::Discover)));
            let outcome = match patience(transport, fallback, self.config.probe_timeout) {
                None => asking.await,
                Some(limit) => match timeout(limit, asking).await {
                    Ok(outcome) => outcome,
                    Err(_) => return Ok(Probed::Older(None)),
                },
            };
            let (verdict, refusal) = match outcome {
                Ok(result) => {
                    let server = discovered(&result)?;
                    match choose(&server.supported_versions) {
                        Verdict::Stateless(chosen) => {
                            let link = StatelessLink::new(chosen, answers, info.clone());
                            return Ok(Probed::Opened(EraLink::Stateless(link), facts(server)));
                        }
                        verdict => (verdict, None),
                    }
                }
                Err(error) => match verdict(&error) {
                    Some(verdict) => (verdict, Some(error)),
                    None => return Err(explained(error, transport)),
                },
            };
            match verdict {
                Verdict::Stateless(proposed) if attempt == 0 => version = proposed,
                Verdict::Handshake if fallback == Fallback::Allowed => return Ok(Probed::Older(refusal)),
                _ => return Err(refusal.unwrap_or_else(incompatible)),
            }
        }
        Err(incompatible())
    }
}

/// How long an answer to a probe is waited for, where silence says something: over HTTP, somebody always answers.
fn patience(transport: &dyn Transport, fallback: Fallback, limit: Duration) -> Option<Duration> {
    (fallback == Fallback::Allowed && !transport.has_headers()).then_some(limit)
}

/// What a failed probe says about the server; nothing, when the fault may lie elsewhere.
fn verdict(error: &Error) -> Option<Verdict> {
    // Who is not let in, or comes at a bad time, has not been listened to.
    if let Some(401 | 403 | 407 | 408 | 425 | 429 | 502..=504) = error.http_status() {
        return None;
    }
    error.rpc().map(judge_error).or_else(|| error.http_status().and_then(judge_status))
}

/// Adds what is known about the server's state.
pub(super) fn explained(error: Error, transport: &dyn Transport) -> Error {
    match transport.diagnosis() {
        // A connection that broke has said it already.
        Some(diagnosis) if error.kind() != ErrorKind::Transport => error.explained(diagnosis),
        _ => error,
    }
}

fn incompatible() -> Error {
    Error::new(ErrorKind::PeerIncompatible, "the server speaks no protocol version that this client does")
}

//! Does the server recognize a session over every connection?
//!
//! A client reuses its connections, so it usually talks to one of several servers behind a load balancer. If each
//! server knows only the sessions that it opened itself, everything works until a request is routed to another
//! server. So this check uses a new connection for each request.

use toolway::client::ClientBuilder;
use toolway::{Client, Era, Error, ProtocolVersion};

use super::report::{Report, Step};
use crate::console::Console;
use crate::failure::{Fault, Result, chain};
use crate::location::{Address, CLOSE_TIMEOUT};

/// The number of requests that are sent after the session was opened. If a balancer chooses randomly between two
/// servers, all requests reach the server that opened the session about once in 500 times.
const REQUESTS: u32 = 8;

/// The result of the check.
#[derive(Debug)]
pub(super) enum SessionCheck {
    /// Every request found the session. The server uses this revision.
    Kept(ProtocolVersion),
    /// The server does not know a session that it has just opened.
    Lost(Error),
    /// The check failed for another reason.
    Failed(Error),
    /// The server supports no revision with sessions.
    NoSessions,
}

/// Opens a session and sends several requests in it.
pub(super) async fn examine(
    address: &Address,
    builder: ClientBuilder,
    client: &Client,
    console: &Console,
) -> SessionCheck {
    let (pin, otherwise): (_, fn(Error) -> SessionCheck) = match client.protocol_version() {
        version if version.era() == Era::Handshake => (version, SessionCheck::Failed),
        _ => (ProtocolVersion::LATEST_HANDSHAKE, |_| SessionCheck::NoSessions),
    };
    // The same vault could be used a moment ago.
    let http = address.signed_in(console).await.unwrap_or_else(|_| address.http());
    let http = http.reuse_connections(false);
    let probe = match builder.protocol(pin).retries(0).connect(http).await {
        Ok(probe) => probe,
        Err(error) if is_unavailable(&error) => return SessionCheck::Failed(error),
        Err(error) if is_lost(&error) => return SessionCheck::Lost(error),
        Err(error) => return otherwise(error),
    };
    let found = send_pings(&probe).await;
    let _ = tokio::time::timeout(CLOSE_TIMEOUT, probe.close()).await;
    found
}

async fn send_pings(probe: &Client) -> SessionCheck {
    for _ in 0..REQUESTS {
        match probe.ping().await {
            Ok(()) => {}
            Err(error) if is_unavailable(&error) => return SessionCheck::Failed(error),
            Err(error) if is_lost(&error) || matches!(error.http_status(), Some(400 | 404)) => {
                return SessionCheck::Lost(error);
            }
            // Even if the server answers with an error, it has found the session.
            Err(error) if error.rpc().is_some() => {}
            Err(error) => return SessionCheck::Failed(error),
        }
    }
    SessionCheck::Kept(probe.protocol_version())
}

/// Returns whether the server, or a proxy, cannot answer at the moment. This tells nothing about the session.
fn is_unavailable(error: &Error) -> bool {
    matches!(error.http_status(), Some(502..=504))
}

/// Returns whether the server does not know the session. Some servers say so in a message instead of the status 404.
fn is_lost(error: &Error) -> bool {
    let names_it = |message: &str| message.to_ascii_lowercase().contains("session");
    error.is_session_ended() || error.rpc().is_some_and(|error| names_it(&error.message))
}

/// Describes a lost session.
pub(super) fn describe_loss(error: &Error) -> String {
    let answer = match error.http_status() {
        Some(status) => format!("the answer is HTTP {status}"),
        None => format!("the answer is: {}", chain(error)),
    };
    format!("a session that was just opened is unknown when a request uses another connection; {answer}")
}

pub(super) const FIX: &str = "several servers seem to share this address, and each knows only the sessions that it has opened: give them a \
    common store, or let the load balancer send all requests of a session to the same server";

impl SessionCheck {
    /// Returns the revision of the session, if the client itself uses a revision without sessions.
    pub(super) fn other_era(&self, client: &Client) -> Option<ProtocolVersion> {
        match self {
            Self::Kept(version) if version.era() != client.protocol_version().era() => Some(*version),
            _ => None,
        }
    }

    pub(super) fn write_to(&self, report: &mut Report<'_>, step: Step) -> Result<()> {
        match self {
            Self::Kept(_) => {
                // Opening the session took two more requests.
                let number = REQUESTS + 2;
                report.pass(
                    step,
                    &[format!("{number} requests over {number} connections belong to one session")],
                )
            }
            Self::Lost(error) => Err(report.fail(step, Fault::Unreachable, &describe_loss(error), FIX)),
            Self::Failed(error) => {
                let (fault, fix) = match error.http_status() {
                    Some(503) => (Fault::Unreachable, UNAVAILABLE_FIX),
                    _ => (Fault::of(error), FAILURE_FIX),
                };
                Err(report.fail(step, fault, &chain(error), fix))
            }
            Self::NoSessions => report.skip("session", "the server supports no revision with sessions"),
        }
    }
}

const FAILURE_FIX: &str = "look at the server's log, and at the log of the proxy in front of it";

const UNAVAILABLE_FIX: &str = "the server cannot use its sessions at the moment: check the store that the servers share, and look at the \
     server's log";

//! Does it know a session again, whichever connection a request comes over?
//!
//! A client keeps its connections, and so mostly talks with one of several servers behind a balancer. If each of these knows only the
//! sessions that it has opened itself, everything works until a request takes another way. So here each request takes a connection of
//! its own.

use toolway::client::ClientBuilder;
use toolway::{Client, Era, Error, ProtocolVersion};

use super::report::{Report, Step};
use crate::failure::{Fault, Result, chain};
use crate::place::{Address, FAREWELL};

/// The number of requests that follow those which open a session. If a balancer draws lots between two servers, all of them go to the
/// right one about once in 500 times.
const REQUESTS: u32 = 8;

/// The outcome of the examination.
#[derive(Debug)]
pub(super) enum Found {
    /// Every request of the session reached it. It speaks this revision.
    Kept(ProtocolVersion),
    /// The server does not know a session that it has just given out.
    Lost(Error),
    /// Something else was wrong.
    Failed(Error),
    /// The server speaks no revision that has sessions.
    Without,
}

/// Opens a session and asks something in it, again and again.
pub(super) async fn examine(address: &Address, builder: ClientBuilder, client: &Client) -> Found {
    let (pin, otherwise): (_, fn(Error) -> Found) = match client.protocol_version() {
        version if version.era() == Era::Handshake => (version, Found::Failed),
        _ => (ProtocolVersion::LATEST_HANDSHAKE, |_| Found::Without),
    };
    let http = address.http().reuse_connections(false);
    let probe = match builder.protocol(pin).retries(0).connect(http).await {
        Ok(probe) => probe,
        Err(error) if is_lost(&error) => return Found::Lost(error),
        Err(error) => return otherwise(error),
    };
    let found = ask(&probe).await;
    let _ = tokio::time::timeout(FAREWELL, probe.close()).await;
    found
}

async fn ask(probe: &Client) -> Found {
    for _ in 0..REQUESTS {
        match probe.ping().await {
            Ok(()) => {}
            Err(error) if is_lost(&error) || matches!(error.http_status(), Some(400 | 404)) => {
                return Found::Lost(error);
            }
            // Whatever the server thinks of the question, it has found the session.
            Err(error) if error.rpc().is_some() => {}
            Err(error) => return Found::Failed(error),
        }
    }
    Found::Kept(probe.protocol_version())
}

/// Tells if a server does not know a session. Some say so by a message instead of the status 404.
fn is_lost(error: &Error) -> bool {
    let names_it = |message: &str| message.to_ascii_lowercase().contains("session");
    error.is_session_ended() || error.rpc().is_some_and(|error| names_it(&error.message))
}

/// The words about a session that was lost.
pub(super) fn what(error: &Error) -> String {
    let answer = match error.http_status() {
        Some(status) => format!("the answer is HTTP {status}"),
        None => format!("the answer is: {}", chain(error)),
    };
    format!(
        "a session that was just opened is not known when a request comes over another connection; {answer}"
    )
}

pub(super) const FIX: &str = "several servers seem to share this address, and each knows only the sessions that it has opened: give them a \
    common store, or let the balancer send all requests of a session to the same server";

impl Found {
    /// The revision that is spoken beside the one of a client.
    pub(super) fn other_era(&self, client: &Client) -> Option<ProtocolVersion> {
        match self {
            Self::Kept(version) if version.era() != client.protocol_version().era() => Some(*version),
            _ => None,
        }
    }

    pub(super) fn tell(&self, report: &mut Report<'_>, step: Step) -> Result<()> {
        match self {
            Self::Kept(_) => {
                // Two have opened it.
                let number = REQUESTS + 2;
                report.well(
                    step,
                    &[format!("{number} requests over {number} connections are one conversation")],
                )
            }
            Self::Lost(error) => Err(report.failed(step, Fault::Unreachable, &what(error), FIX)),
            Self::Failed(error) => {
                let fix = "look at the server's log, and at that of the proxy before it";
                Err(report.failed(step, Fault::of(error), &chain(error), fix))
            }
            Self::Without => report.skipped("session", "the server speaks no revision that has sessions"),
        }
    }
}

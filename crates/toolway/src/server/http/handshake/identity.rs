//! Which session is it, and whose account is it counted for?

use std::sync::Arc;

use super::log::event_log::EventLog;
use super::log::kept_streams::KeptStreams;
use super::shared::session::SharedSession;
use crate::ground::budget::{Account, Charge};
use crate::ground::random::random_hex;

/// The identity of a session.
pub(super) struct SessionIdentity {
    pub(super) id: String,
    pub(super) owner: Option<String>,
    /// The session in the store, if servers share one.
    pub(super) shared: Option<Arc<SharedSession>>,
}

/// The account of a session's peer, and what is counted there.
pub(super) struct SessionAccount {
    pub(super) account: Arc<Account>,
    /// The charge for the session, if this server counts it.
    pub(super) charge: Option<Charge>,
    /// The streams of all sessions that can be resumed.
    pub(super) kept_streams: Arc<KeptStreams<Arc<EventLog>>>,
}

/// Returns 128 bits from the system's random source, in hexadecimal.
pub(super) fn new_session_id() -> String {
    random_hex::<16>()
}

/// Returns whether a text has the form of a session id.
pub(super) fn is_session_id(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

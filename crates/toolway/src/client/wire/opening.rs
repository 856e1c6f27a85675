//! What does an era need to open a connection, and what does it return?

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use tokio::time::{Instant, timeout_at};
use toolway_protocol::capability::ServerCapabilities;
use toolway_protocol::types::Implementation;
use toolway_protocol::{Id, ProtocolVersion, RawJson};

use crate::client::answer::answers::AnswerHandlers;
use crate::client::notifications::listeners::Notifications;
use crate::client::wire::era_link::EraLink;
use crate::client::wire::inbox::Inbox;
use crate::client::wire::target::Connector;
use crate::client::wire::transport::Transport;
use crate::ground::error::{Error, ErrorKind, Result};

/// The settings of a connection that is being opened.
pub(crate) struct ConnectionSetup<'o> {
    pub(crate) connector: &'o dyn Connector,
    pub(crate) info: &'o Implementation,
    /// The application's answers to the server's questions.
    pub(crate) answers: &'o AnswerHandlers,
    pub(crate) headers: &'o [(String, String)],
    pub(crate) max_message: usize,
    pub(crate) connect_timeout: Duration,
    pub(crate) next_id: &'o AtomicI64,
    pub(crate) notifications: &'o Arc<Notifications>,
    pub(crate) deadline: Instant,
    /// The time in which users signed in before the connection was asked for.
    pub(crate) user_time_before: Duration,
}

/// A transport over which nothing was sent yet, and its inbox.
pub(crate) type FreshTransport = (Box<dyn Transport>, Inbox);

/// An open connection.
pub(crate) struct OpenConnection {
    pub(crate) transport: Box<dyn Transport>,
    pub(crate) inbox: Inbox,
    pub(crate) era: Box<dyn EraLink>,
    pub(crate) server: ServerFacts,
}

/// The facts that the server stated about itself when the connection was opened.
pub(crate) struct ServerFacts {
    pub(crate) info: Option<Implementation>,
    pub(crate) capabilities: ServerCapabilities,
    pub(crate) instructions: Option<String>,
}

/// How often to look whether a user still signs in.
const USER_CHECK_INTERVAL: Duration = Duration::from_millis(200);

/// The maximum length in bytes of the capabilities of a server. They are consulted often, and their values need much more
/// memory than their text.
const MAX_CAPABILITIES: usize = 64 << 10;

impl ServerFacts {
    /// Returns an error if the capabilities are longer than a client keeps.
    pub(crate) fn checked(self) -> Result<Self> {
        // Each revision leaves out the capabilities that it does not have.
        let size_in =
            |version: &ProtocolVersion| RawJson::encoded(&self.capabilities, *version).as_bytes().len();
        let size = ProtocolVersion::ALL.iter().map(size_in).max().unwrap_or_default();
        if size <= MAX_CAPABILITIES {
            return Ok(self);
        }
        let message = format!(
            "the server's capabilities are {size} bytes long, and the client accepts at most {MAX_CAPABILITIES}"
        );
        Err(Error::new(ErrorKind::PeerMisbehaved, message))
    }
}

impl ConnectionSetup<'_> {
    pub(crate) async fn open_transport(&self) -> Result<FreshTransport> {
        let transport = self.connector.connect().await?;
        transport.set_headers(self.headers)?;
        let max_message = transport.set_max_message(self.max_message);
        let inbox = Inbox::new(self.notifications.clone(), max_message);
        transport.set_inbox(inbox.clone());
        Ok((transport, inbox))
    }

    /// Waits for `asking` until the deadline, which moves while a user signs in. The transport still exists after a timeout,
    /// so that the code that opens the connection can add the transport's diagnosis to the error.
    pub(crate) async fn with_deadline<T>(&self, asking: impl Future<Output = Result<T>>) -> Result<T> {
        let mut asking = std::pin::pin!(asking);
        let (mut deadline, mut user_time) = (self.deadline, Duration::ZERO);
        loop {
            if let Ok(outcome) = timeout_at(deadline, &mut asking).await {
                return outcome;
            }
            let total = self.connector.user_time().saturating_sub(self.user_time_before);
            if total == user_time {
                let message = format!("the server did not answer within {:?}", self.connect_timeout);
                return Err(Error::new(ErrorKind::Timeout, message).unsent());
            }
            user_time = total;
            deadline = (self.deadline + user_time).max(Instant::now() + USER_CHECK_INTERVAL);
        }
    }

    /// The moment when `limit` has passed. A limit that the clock cannot represent counts as one year.
    pub(crate) fn deadline_after(limit: Duration) -> Instant {
        let now = Instant::now();
        now.checked_add(limit).unwrap_or(now + Duration::from_secs(24 * 365 * 3600))
    }

    pub(crate) fn next_id(&self) -> Id {
        Id::Number(self.next_id.fetch_add(1, Ordering::Relaxed))
    }
}

/// Adds the transport's diagnosis to an error.
pub(crate) fn with_diagnosis(error: Error, transport: &dyn Transport) -> Error {
    match transport.diagnosis() {
        // The error of a broken connection contains the diagnosis already.
        Some(diagnosis) if error.kind() != ErrorKind::Transport => error.with_note(diagnosis),
        _ => error,
    }
}

//! The error type of this library: its kind, its message and its causes.

use std::fmt;
use std::time::Duration;

use toolway_protocol::RpcError;
use toolway_protocol::jsonrpc::Code;

/// The result of every fallible operation of this library.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Any failure of a server or a client.
///
/// `{}` prints only the message, which starts in lower case; the cause is available as `source()`. `{:?}` prints the
/// message and then each cause on a separate line; a program prints this if its `main` returns the error. To inspect an
/// error, use [`kind`](Error::kind) or the methods that return `bool`, not the text.
///
/// ```
/// use toolway::{Error, ErrorKind};
///
/// let cause = std::io::Error::other("no such host");
/// let error = Error::new(ErrorKind::Transport, "failed to connect").caused_by(cause);
/// assert_eq!(format!("{error}"), "failed to connect");
/// assert_eq!(format!("{error:?}"), "failed to connect\ncaused by: no such host");
/// assert_eq!(error.kind(), ErrorKind::Transport);
/// ```
///
/// `?` converts I/O errors:
///
/// ```no_run
/// use toolway::prelude::*;
///
/// #[tokio::main]
/// async fn main() -> toolway::Result<()> {
///     let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
///     eprintln!("http://{}/mcp", listener.local_addr()?);
///     Server::new("calculator", "1.0.0").build()?.http().serve(listener).await
/// }
/// ```
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    message: String,
    rpc: Option<RpcError>,
    status: Option<u16>,
    delivery_failure: Option<DeliveryFailure>,
    retry_after: Option<Duration>,
    challenge: Option<String>,
    cause: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// The part of an exchange that was lost: nothing, because the request never reached the server; the reply; or the
/// whole session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DeliveryFailure {
    Unsent,
    ReplyLost,
    StateLost,
}

/// The kind of an [`Error`]: which side caused it, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The peer broke the protocol.
    PeerMisbehaved,
    /// The peer and this side have no protocol revision in common.
    PeerIncompatible,
    /// The peer understood the request and answered with an error.
    PeerRefused,
    /// A tool ran and reported a failure, which is meant for the model to read.
    ToolFailed,
    /// The server's `on_connect` refused the client.
    NotAdmitted,
    /// A message is longer than the limit of the client or of the server. Both have a setting `max_message`.
    TooLarge,
    /// This program uses the library incorrectly.
    Misuse,
    /// A function of the application failed, such as a callback that answers a question of the server.
    Application,
    /// The connection failed.
    Transport,
    /// The operation timed out.
    Timeout,
    /// The operation was cancelled on purpose.
    Cancelled,
}

impl Error {
    /// Creates an error. For implementations of transports and handlers.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            rpc: None,
            status: None,
            delivery_failure: None,
            retry_after: None,
            challenge: None,
            cause: None,
        }))
    }

    /// Adds the cause of the error.
    pub fn caused_by(mut self, cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.0.cause = Some(cause.into());
        self
    }

    /// Wraps the error in a new error with this message. The kind and all other properties stay the same, and the old
    /// error becomes the cause.
    ///
    /// ```
    /// use toolway::{Chain, Error, ErrorKind};
    ///
    /// let error = Error::new(ErrorKind::Timeout, "nothing came within 30s").context("failed to connect to `weather`");
    /// assert!(error.is_timeout());
    /// assert_eq!(Chain(&error).to_string(), "failed to connect to `weather`: nothing came within 30s");
    /// ```
    pub fn context(self, message: impl Into<String>) -> Self {
        let Inner { kind, rpc, status, delivery_failure: loss, retry_after, challenge, .. } = &*self.0;
        let (kind, rpc, status, loss, retry_after) = (*kind, rpc.clone(), *status, *loss, *retry_after);
        let challenge = challenge.clone();
        let cause = Some(self.into());
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            rpc,
            status,
            delivery_failure: loss,
            retry_after,
            challenge,
            cause,
        }))
    }

    /// Appends an explanation at the end of the chain of causes.
    pub fn with_note(mut self, words: impl Into<String>) -> Self {
        let words = words.into();
        self.0.cause = Some(match self.0.cause.take() {
            None => words.into(),
            Some(cause) => format!("{}\n{words}", Chain(&*cause)).into(),
        });
        self
    }

    /// Returns a copy of the error, for another task that waited for the same operation. The copy keeps the causes only
    /// as text.
    pub fn clone_flattened(&self) -> Self {
        let Inner { kind, message, rpc, status, delivery_failure: loss, retry_after, challenge, cause } =
            &*self.0;
        let cause = cause.as_ref().map(|cause| Chain(&**cause).to_string().into());
        let (message, rpc) = (message.clone(), rpc.clone());
        Self(Box::new(Inner {
            kind: *kind,
            message,
            rpc,
            status: *status,
            delivery_failure: *loss,
            retry_after: *retry_after,
            challenge: challenge.clone(),
            cause,
        }))
    }

    /// Returns how long the peer asked this side to wait before the next attempt.
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// Sets how long the peer asked this side to wait before the next attempt. For implementations of transports.
    pub fn with_retry_after(mut self, wait: Duration) -> Self {
        self.0.retry_after = Some(wait);
        self
    }

    /// Returns the kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the JSON-RPC error, if the peer answered with one.
    pub fn rpc(&self) -> Option<&RpcError> {
        self.0.rpc.as_ref()
    }

    /// Returns the code of the JSON-RPC error, if the peer answered with one.
    ///
    /// ```
    /// use toolway::{Code, Error, RpcError};
    ///
    /// let error = Error::from(RpcError::invalid_params("no such tool: `ad`, did you mean `add`?"));
    /// assert_eq!(error.code(), Some(Code::INVALID_PARAMS));
    /// assert_eq!(error.code(), Some(Code(-32602)));
    /// ```
    pub fn code(&self) -> Option<Code> {
        self.rpc().map(|error| error.code)
    }

    /// Returns the HTTP status of the response, if the response did not contain a JSON-RPC message.
    pub fn http_status(&self) -> Option<u16> {
        self.0.status
    }

    /// Sets the HTTP status of a response that did not contain a JSON-RPC message.
    pub fn with_http_status(mut self, status: u16) -> Self {
        self.0.status = Some(status);
        self
    }

    /// Returns whether the server lets in only callers that sign in, and this one has not, or could not.
    ///
    /// ```
    /// use toolway::{Error, ErrorKind};
    ///
    /// let error = Error::new(ErrorKind::PeerRefused, "access is denied").with_challenge("Bearer");
    /// assert!(error.needs_sign_in());
    /// assert!(!Error::new(ErrorKind::PeerRefused, "access is denied").needs_sign_in());
    /// ```
    pub fn needs_sign_in(&self) -> bool {
        self.challenge().is_some() || self.http_status() == Some(401)
    }

    /// Returns the challenge with which the server asks to sign in, or for a token with more scopes: the header
    /// `WWW-Authenticate`, such as `Bearer resource_metadata="…", scope="notes:read"`.
    pub fn challenge(&self) -> Option<&str> {
        let of_cause = || self.0.cause.as_deref()?.downcast_ref::<Self>()?.challenge();
        self.0.challenge.as_deref().or_else(of_cause)
    }

    /// Sets the challenge with which the server asks to sign in. For implementations of transports.
    pub fn with_challenge(mut self, challenge: impl Into<String>) -> Self {
        self.0.challenge = Some(challenge.into());
        self
    }

    /// Returns whether the request was sent and its reply was lost. The server may have executed the request.
    ///
    /// ```
    /// use toolway::{Error, ErrorKind};
    ///
    /// let error = Error::new(ErrorKind::Transport, "the reply broke off").reply_lost();
    /// assert!(error.is_reply_lost());
    /// assert!(!Error::new(ErrorKind::Transport, "failed to connect").is_reply_lost());
    /// ```
    pub fn is_reply_lost(&self) -> bool {
        self.0.delivery_failure == Some(DeliveryFailure::ReplyLost)
    }

    /// Marks the request as sent and its reply as lost. For implementations of transports.
    pub fn reply_lost(mut self) -> Self {
        self.0.delivery_failure = Some(DeliveryFailure::ReplyLost);
        self
    }

    /// Returns whether the request never reached the server. The server has not executed the request, so it is safe to
    /// send it again.
    ///
    /// ```
    /// use toolway::{Error, ErrorKind};
    ///
    /// let error = Error::new(ErrorKind::Transport, "failed to connect to http://localhost:8000/mcp").unsent();
    /// assert!(error.is_unsent());
    /// assert!(!Error::new(ErrorKind::Transport, "the reply broke off").reply_lost().is_unsent());
    /// ```
    pub fn is_unsent(&self) -> bool {
        self.0.delivery_failure == Some(DeliveryFailure::Unsent)
    }

    /// Marks the request as never received by the server. For implementations of transports.
    pub fn unsent(mut self) -> Self {
        self.0.delivery_failure = Some(DeliveryFailure::Unsent);
        self
    }

    /// Returns whether the session has ended, because it was closed or because the server no longer knows it. To
    /// continue, the client has to reconnect.
    pub fn is_session_ended(&self) -> bool {
        self.0.delivery_failure == Some(DeliveryFailure::StateLost)
    }

    /// Marks the session as ended. For implementations of transports.
    pub fn session_ended(mut self) -> Self {
        self.0.delivery_failure = Some(DeliveryFailure::StateLost);
        self
    }

    /// Returns whether the operation timed out.
    pub fn is_timeout(&self) -> bool {
        self.kind() == ErrorKind::Timeout
    }

    /// Returns whether a message is longer than the limit of the client or of the server. The message of the error
    /// names the side and its limit.
    ///
    /// ```
    /// use toolway::prelude::*;
    /// use toolway::testing::connect;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> toolway::Result<()> {
    /// let server = Server::new("small", "1.0.0").max_message(1000).build()?;
    /// let text = "x".repeat(2000);
    /// let error = connect(&server).await.call("echo", serde_json::json!({"text": text})).await.unwrap_err();
    /// assert!(error.is_too_large());
    /// assert!(error.to_string().contains("1000 bytes"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn is_too_large(&self) -> bool {
        self.kind() == ErrorKind::TooLarge
    }

    /// Returns whether the operation was cancelled on purpose.
    pub fn is_cancelled(&self) -> bool {
        self.kind() == ErrorKind::Cancelled
    }

    /// Returns whether the peer caused the error.
    pub fn is_peer_fault(&self) -> bool {
        matches!(
            self.kind(),
            ErrorKind::PeerMisbehaved
                | ErrorKind::PeerIncompatible
                | ErrorKind::PeerRefused
                | ErrorKind::ToolFailed
        )
    }
}

/// Prints an error and all its causes on one line, for logs and messages to users.
///
/// ```
/// use toolway::{Chain, Error, ErrorKind};
///
/// let cause = std::io::Error::other("no such host");
/// let error = Error::new(ErrorKind::Transport, "failed to connect").caused_by(cause);
/// assert_eq!(Chain(&error).to_string(), "failed to connect: no such host");
/// ```
#[derive(Debug)]
pub struct Chain<'a>(pub &'a (dyn std::error::Error + 'static));

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut source = self.0.source();
        while let Some(error) = source {
            write!(f, ": {error}")?;
            source = error.source();
        }
        Ok(())
    }
}

impl From<RpcError> for Error {
    fn from(error: RpcError) -> Self {
        let kind = match error.max_message() {
            Some(_) => ErrorKind::TooLarge,
            None => ErrorKind::PeerRefused,
        };
        let mut refused = Self::new(kind, error.to_string());
        refused.0.rpc = Some(error);
        refused
    }
}

/// Converts the failure of a file, a socket or a pipe to [`ErrorKind::Transport`].
impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Self::new(ErrorKind::Transport, "input or output failed").caused_by(error)
    }
}

/// Prints the message and the causes, because `main` and `unwrap` show an error this way. `{:#?}` prints the fields
/// instead.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            return f.debug_tuple("Error").field(&self.0).finish();
        }
        write!(f, "{self}")?;
        let mut source = std::error::Error::source(self);
        while let Some(error) = source {
            write!(f, "\ncaused by: {error}")?;
            source = error.source();
        }
        Ok(())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0.cause {
            Some(cause) => Some(&**cause),
            None => None,
        }
    }
}

//! What went wrong, whose fault it was, and what was underneath.

use std::fmt;
use std::time::Duration;

use toolway_protocol::RpcError;
use toolway_protocol::jsonrpc::Code;

/// The result of everything here that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Any failure of a server or a client.
///
/// `{}` prints one level, in lower case; what lies underneath is its `source()`. `{:?}` is what a program shows whose
/// `main` returns it: the same text, and each cause on a line of its own. Ask it with [`kind`](Error::kind) or the
/// predicates rather than by its text.
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
/// Errors of input and output become one with `?`:
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
    loss: Option<Loss>,
    retry_after: Option<Duration>,
    cause: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// What is gone with the error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Loss {
    Nothing,
    Reply,
    Conversation,
}

/// Whose fault it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The peer broke the protocol.
    PeerMisbehaved,
    /// The peer speaks no revision that we do.
    PeerIncompatible,
    /// The peer understood and answered with an error.
    PeerRefused,
    /// A tool ran and said that it failed: something for the model to read.
    ToolFailed,
    /// The peer was not let in: the server's `on_connect` refused it.
    NotAdmitted,
    /// A message is longer than one of the two sides sends or takes: see `max_message`, which both have.
    TooLarge,
    /// This program uses the library wrongly.
    Misuse,
    /// A function of this program failed that the library had called: one that answers a question of the server.
    Application,
    /// The connection failed.
    Transport,
    /// Nothing came in time.
    Timeout,
    /// The work was given up on purpose.
    Cancelled,
}

impl Error {
    /// A failure of some kind, for those who implement transports or handlers.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            rpc: None,
            status: None,
            loss: None,
            retry_after: None,
            cause: None,
        }))
    }

    /// Adds what lies underneath.
    pub fn caused_by(mut self, cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.0.cause = Some(cause.into());
        self
    }

    /// Puts a sentence of a wider view in front. Everything that can be asked of the error stays.
    ///
    /// ```
    /// use toolway::{Chain, Error, ErrorKind};
    ///
    /// let error = Error::new(ErrorKind::Timeout, "nothing came within 30s").context("failed to connect to `weather`");
    /// assert!(error.is_timeout());
    /// assert_eq!(Chain(&error).to_string(), "failed to connect to `weather`: nothing came within 30s");
    /// ```
    pub fn context(self, message: impl Into<String>) -> Self {
        let Inner { kind, rpc, status, loss, retry_after, .. } = &*self.0;
        let (kind, rpc, status, loss, retry_after) = (*kind, rpc.clone(), *status, *loss, *retry_after);
        let cause = Some(self.into());
        Self(Box::new(Inner { kind, message: message.into(), rpc, status, loss, retry_after, cause }))
    }

    /// Adds what is known besides, underneath everything else.
    pub fn explained(mut self, words: impl Into<String>) -> Self {
        let words = words.into();
        self.0.cause = Some(match self.0.cause.take() {
            None => words.into(),
            Some(cause) => format!("{}\n{words}", Chain(&*cause)).into(),
        });
        self
    }

    /// The same error for somebody else who waited for the same thing. What lies underneath is kept as text.
    pub fn repeated(&self) -> Self {
        let Inner { kind, message, rpc, status, loss, retry_after, cause } = &*self.0;
        let cause = cause.as_ref().map(|cause| Chain(&**cause).to_string().into());
        let (message, rpc) = (message.clone(), rpc.clone());
        Self(Box::new(Inner {
            kind: *kind,
            message,
            rpc,
            status: *status,
            loss: *loss,
            retry_after: *retry_after,
            cause,
        }))
    }

    /// How long the peer wants to be left alone before it is asked again.
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// Says how long the peer wants to be left alone, for those who implement transports.
    pub fn with_retry_after(mut self, wait: Duration) -> Self {
        self.0.retry_after = Some(wait);
        self
    }

    /// Whose fault it was.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The peer's own error, when it answered with one.
    pub fn rpc(&self) -> Option<&RpcError> {
        self.0.rpc.as_ref()
    }

    /// The code of the peer's own error, when it answered with one.
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

    /// The HTTP status of an answer that held no message.
    pub fn http_status(&self) -> Option<u16> {
        self.0.status
    }

    /// Adds the HTTP status of an answer that held no message.
    pub fn with_http_status(mut self, status: u16) -> Self {
        self.0.status = Some(status);
        self
    }

    /// Whether a request was sent and its reply was lost on the way. Unlike after a failure to connect, the server
    /// may have done what it was asked.
    ///
    /// ```
    /// use toolway::{Error, ErrorKind};
    ///
    /// let error = Error::new(ErrorKind::Transport, "the reply broke off").broken_off();
    /// assert!(error.is_broken_off());
    /// assert!(!Error::new(ErrorKind::Transport, "failed to connect").is_broken_off());
    /// ```
    pub fn is_broken_off(&self) -> bool {
        self.0.loss == Some(Loss::Reply)
    }

    /// Says that a request was sent and its reply was lost, for those who implement transports.
    pub fn broken_off(mut self) -> Self {
        self.0.loss = Some(Loss::Reply);
        self
    }

    /// Whether a request did not reach the server, which has done nothing of what it was to be asked: it can be sent again.
    ///
    /// ```
    /// use toolway::{Error, ErrorKind};
    ///
    /// let error = Error::new(ErrorKind::Transport, "failed to connect to http://localhost:8000/mcp").unsent();
    /// assert!(error.is_unsent());
    /// assert!(!Error::new(ErrorKind::Transport, "the reply broke off").broken_off().is_unsent());
    /// ```
    pub fn is_unsent(&self) -> bool {
        self.0.loss == Some(Loss::Nothing)
    }

    /// Says that a request did not reach the server, for those who implement transports.
    pub fn unsent(mut self) -> Self {
        self.0.loss = Some(Loss::Nothing);
        self
    }

    /// Whether the conversation is over, because the server has forgotten it or it was closed. Whoever wants to go on
    /// connects again.
    pub fn is_session_ended(&self) -> bool {
        self.0.loss == Some(Loss::Conversation)
    }

    /// Says that the conversation is over, for those who implement transports.
    pub fn session_ended(mut self) -> Self {
        self.0.loss = Some(Loss::Conversation);
        self
    }

    /// Whether nothing came in time.
    pub fn is_timeout(&self) -> bool {
        self.kind() == ErrorKind::Timeout
    }

    /// Returns true if a message is longer than one of the two sides sends or takes. The text names the side and its limit.
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

    /// Whether the work was given up on purpose.
    pub fn is_cancelled(&self) -> bool {
        self.kind() == ErrorKind::Cancelled
    }

    /// Whether the peer is to blame.
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

/// An error and everything underneath it, on one line: for logs and for people.
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

/// A file, a socket or a pipe failed: [`ErrorKind::Transport`].
impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Self::new(ErrorKind::Transport, "input or output failed").caused_by(error)
    }
}

/// For people, as `main` and `unwrap` show it; `{:#?}` tells how it is built.
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

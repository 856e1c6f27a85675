//! How do messages travel over HTTP? One POST each; the reply is JSON or a stream of events that holds it.
//!
//! | file | question |
//! |---|---|
//! | `target.rs` | Which server is meant, and what is it told with every request? |
//! | `url.rs` | Which URL can a server have, and how is it shown to people? |
//! | `headers.rs` | Which headers may an application add to its requests? |
//! | `send.rs` | What sends an HTTP request and brings the reply? |
//! | `watched.rs` | Has the connection of a request ended without anybody telling the request? |
//! | `tls.rs` | Whom do we believe to be the server that an `https://` URL names? |
//! | `line.rs` | How does one HTTP request reach the server, and what shape has the reply? |
//! | `redirect.rs` | The server says that it is elsewhere: do we go there? |
//! | `refusal.rs` | What does a reply mean that holds no result? |
//! | `events.rs` | Which messages does a stream of events hold? |
//! | `stateless.rs` | What does a request carry that stands alone? |
//! | `handshake/` | What does an opened conversation add: its session, the server's own stream, going on after a break? |

mod endpoint;
mod events;
mod handshake;
mod headers;
mod redirect;
mod refusal;
mod send;
mod stateless;
mod target;
#[cfg(feature = "tls")]
mod tls;
#[cfg(not(feature = "tls"))]
#[path = "no_tls.rs"]
mod tls;
mod url;
mod watched;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use ::http::HeaderName;
use ::http::header::{HeaderMap, HeaderValue};
use toolway_protocol::{Era, ProtocolVersion};

use self::endpoint::Line;
use self::handshake::Conversation;
pub use self::send::{HttpBody, HttpClient, Sending};
pub use self::target::Http;
use crate::client::wire::transport::{Carried, Closing, Inbox, Lasting, Outgoing, Transport};
use crate::client::{Client, ClientBuilder};
use crate::error::Result;

impl ClientBuilder {
    /// Connects to the server at a URL. An [`Http`] says more than where it is:
    ///
    /// ```
    /// use toolway::client::Http;
    /// use toolway::prelude::*;
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    /// # let url = format!("http://{}/mcp", listener.local_addr()?);
    /// # let server = Server::new("calculator", "1.0.0").build()?;
    /// # tokio::spawn(async move { server.http().serve(listener).await });
    /// let client = Client::builder().connect_http(&url).await?;
    /// let known = Client::builder().connect_http(Http::new(&url).bearer("s3cret")).await?;
    /// # Ok::<(), toolway::Error>(()) }).unwrap();
    /// ```
    pub async fn connect_http(self, server: impl Into<Http>) -> Result<Client> {
        self.connect(server.into()).await
    }
}

impl Client {
    /// Connects to the server at a URL: see [`ClientBuilder::connect_http`].
    pub async fn connect_http(server: impl Into<Http>) -> Result<Self> {
        Self::builder().connect_http(server).await
    }
}

struct Endpoint {
    line: Arc<Line>,
    /// The limit that was set for this server alone.
    max_message: Option<usize>,
    /// Empty, and of no consequence, unless one is opened.
    conversation: Arc<Conversation>,
}

impl Endpoint {
    fn new(line: Line, max_message: Option<usize>) -> Self {
        let line = Arc::new(line);
        Self { conversation: Arc::new(Conversation::new(line.clone())), line, max_message }
    }
}

impl Transport for Endpoint {
    fn carry(&self, outgoing: Outgoing) -> Carried<'_> {
        // No revision is agreed upon while a handshake is under way.
        match outgoing.version.map_or(Era::Handshake, ProtocolVersion::era) {
            Era::Stateless => Box::pin(stateless::carry(&self.line, outgoing)),
            Era::Handshake => Box::pin(self.conversation.carry(outgoing)),
        }
    }

    fn deliver_to(&self, inbox: Inbox) {
        self.line.deliver_to(inbox);
    }

    fn is_connected(&self) -> bool {
        !self.conversation.is_over()
    }

    fn lost(&self) -> Lasting<'_> {
        Box::pin(self.conversation.over())
    }

    fn listening(&self) -> Lasting<'_> {
        Box::pin(self.conversation.listening())
    }

    fn has_headers(&self) -> bool {
        true
    }

    fn use_headers(&self, headers: &[(String, String)]) -> Result<()> {
        self.line.use_headers(headers)
    }

    fn use_max_message(&self, bytes: usize) -> usize {
        let bytes = self.max_message.unwrap_or(bytes);
        self.line.use_max_message(bytes);
        bytes
    }

    /// In the stateless era a connection that is closed is a call that is given up.
    fn cancels_by_dropping(&self, version: ProtocolVersion) -> bool {
        version.era() == Era::Stateless
    }

    fn close(&self) -> Closing<'_> {
        Box::pin(self.conversation.close())
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.conversation.leave();
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint").field("url", self.line.url()).finish_non_exhaustive()
    }
}

fn insert(headers: &mut HeaderMap, name: &'static str, value: &str) {
    // Names and revisions are plain, and `header::encode` makes anything else so.
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(HeaderName::from_static(name), value);
    }
}

//! How do messages travel over HTTP? One POST each; the reply is JSON or a stream of events that holds it.
//!
//! | file | question |
//! |---|---|
//! | `line.rs` | How does one HTTP request reach the server, and what shape has the reply? |
//! | `events.rs` | Which messages does a stream of events hold? |
//! | `stateless.rs` | What does a request carry that stands alone? |
//! | `handshake/` | What does an opened conversation add: its session, the server's own stream, going on after a break? |

mod events;
mod handshake;
mod line;
mod stateless;

use std::fmt;
use std::sync::Arc;

use ::http::HeaderName;
use ::http::header::{HeaderMap, HeaderValue};
use toolway_protocol::{Era, ProtocolVersion};

use self::handshake::Conversation;
use self::line::Line;
use super::transport::{Carried, Closing, Inbox, Outgoing, Transport};
use super::{Client, ClientBuilder};
use crate::error::Result;

impl ClientBuilder {
    /// Connects to the server at a URL.
    pub async fn connect_http(self, url: &str) -> Result<Client> {
        self.connect(Endpoint::new(url)?).await
    }
}

impl Client {
    /// Connects to the server at a URL: see [`ClientBuilder::connect_http`].
    pub async fn connect_http(url: &str) -> Result<Self> {
        Self::builder().connect_http(url).await
    }
}

struct Endpoint {
    line: Arc<Line>,
    /// Empty, and of no consequence, unless one is opened.
    conversation: Arc<Conversation>,
}

impl Endpoint {
    fn new(url: &str) -> Result<Self> {
        let line = Arc::new(Line::to(url)?);
        Ok(Self { conversation: Arc::new(Conversation::new(line.clone())), line })
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
        f.debug_struct("Endpoint").field("uri", self.line.uri()).finish_non_exhaustive()
    }
}

fn insert(headers: &mut HeaderMap, name: &'static str, value: &str) {
    // Names and revisions are plain, and `header::encode` makes anything else so.
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(HeaderName::from_static(name), value);
    }
}

//! What does a program send and get that passes messages on to a server over HTTP? It gives the text of each message,
//! and gets the texts of the server's messages; sessions, streams and headers are added and taken away here.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::mpsc;
use toolway_protocol::json::Limits;
use toolway_protocol::jsonrpc::{ParsedFrame, parse};
use toolway_protocol::meta::Key;
use toolway_protocol::{Id, Message};

use super::arguments::ArgumentHeaders;
use super::handshake::Conversation;
use super::stateless::{self, StatelessRequest};
use crate::client::http::request::endpoint::HttpEndpoint;
use crate::client::http::request::events::ReceivedMessage;
use crate::client::http::target::Http;
use crate::client::wire::outgoing::error_frame;
use crate::ground::error::{Error, ErrorKind, Result};
use crate::transport::frame::{MAX_MESSAGE, replace_line_breaks};

/// The maximum number of the server's messages that wait for [`RelayedMessages::next`]. Beyond it, the streams of the
/// server are not read.
const MAX_WAITING: usize = 64;

/// Passes messages on to a server over HTTP without changing them: the level below [`Client`](crate::Client), for
/// proxies. Made by [`Http::open_relay`].
///
/// Each message is one JSON-RPC message as text. A request whose `_meta` names a revision of the stateless era becomes
/// one POST with its headers. All other messages belong to the session that `initialize` opens: the session's id, the
/// stream for messages of the server, and streams that resume after a break are handled here, for the transport of
/// 2024-11-05 too. When the session has ended, the program opens another relay, and repeats `initialize`.
///
/// Dropping the relay ends its session.
pub struct HttpRelay {
    endpoint: Arc<HttpEndpoint>,
    conversation: Conversation,
    arguments: ArgumentHeaders,
    messages: mpsc::Sender<Bytes>,
}

/// The messages of a server, as text: see [`Http::open_relay`].
pub struct RelayedMessages {
    messages: mpsc::Receiver<Bytes>,
}

impl Http {
    /// Opens a way to pass messages on to this server as they are. Nothing is sent yet.
    ///
    /// ```
    /// use toolway::client::Http;
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    /// # let url = format!("http://{}/mcp", listener.local_addr()?);
    /// # let server = toolway::Server::new("calculator", "1.0.0").build()?;
    /// # tokio::spawn(async move { server.http().serve(listener).await });
    /// let (relay, mut messages) = Http::new(url).open_relay().await?;
    /// let request = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{
    ///     "protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"host","version":"1"}}}"#;
    /// relay.send(request).await?;
    /// let reply = messages.next().await.expect("the reply");
    /// assert!(reply.starts_with(br#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25""#));
    /// # Ok::<(), toolway::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    ///
    /// When a setting is invalid, or TLS cannot be set up.
    pub async fn open_relay(&self) -> Result<(HttpRelay, RelayedMessages)> {
        let endpoint = self.open_endpoint().await?;
        endpoint.set_max_message(self.max_message.unwrap_or(MAX_MESSAGE));
        let (sender, receiver) = mpsc::channel(MAX_WAITING);
        endpoint.set_relay(sender.clone());
        let endpoint = Arc::new(endpoint);
        let relay = HttpRelay {
            conversation: Conversation::new(endpoint.clone()),
            endpoint,
            arguments: ArgumentHeaders::default(),
            messages: sender,
        };
        Ok((relay, RelayedMessages { messages: receiver }))
    }
}

impl HttpRelay {
    /// Passes a message on. For a request, this completes when the reply can be read from [`RelayedMessages`]. Messages
    /// of the server about the request come before its reply.
    ///
    /// Requests of one session may be sent at the same time, after `initialize` and `notifications/initialized`.
    ///
    /// # Errors
    ///
    /// When the request has no reply: the message is not a JSON-RPC message, the server cannot be reached, refuses the
    /// caller, or does not know the session any more ([`Error::is_session_ended`]). The caller then answers the request
    /// itself. Notifications and answers to the server fail only if they are not messages.
    ///
    /// # Cancellation
    ///
    /// Dropping the future of a request cancels the request in the stateless era. In the handshake era it has to be
    /// cancelled with `notifications/cancelled`.
    pub async fn send(&self, message: impl Into<Bytes>) -> Result<()> {
        let frame = message.into();
        let max = self.endpoint.max_message();
        if frame.len() > max {
            let text = format!("the message is {} bytes long, and at most {max} are sent", frame.len());
            return Err(Error::new(ErrorKind::TooLarge, text));
        }
        let parsed = parse(&frame, Limits::default()).map_err(|rejection| Error::from(rejection.error))?;
        let ParsedFrame::One(message) = parsed else {
            return Err(Error::new(ErrorKind::Misuse, "the messages of a batch are passed on one by one"));
        };
        match message {
            Message::Request { id, method, params } if params.meta_member(Key::ProtocolVersion).is_some() => {
                let request = StatelessRequest { frame, id: &id, method: &method, params: &params };
                let reply = stateless::send(&self.endpoint, &self.arguments, &self.messages, request).await?;
                self.deliver(reply, &id).await
            }
            Message::Request { id, method, .. } => {
                let reply = self.conversation.send(frame, Some(id.clone()), method).await?;
                let reply =
                    reply.ok_or_else(|| self.endpoint.misbehaved_error("a request was not answered"))?;
                self.deliver(reply, &id).await
            }
            Message::Notification { method, .. } => {
                self.conversation.send(frame, None, method).await.map(drop)
            }
            Message::Response { .. } => {
                self.conversation.answer(frame);
                Ok(())
            }
        }
    }

    /// Waits until the session has ended. Without a session, this waits until the relay is closed.
    pub async fn ended(&self) {
        self.conversation.ended().await;
    }

    /// Ends the session, and tells the server.
    ///
    /// # Errors
    ///
    /// When the server does not answer.
    pub async fn close(&self) -> Result<()> {
        self.conversation.close().await
    }

    /// Hands a reply over, with the id of the request.
    async fn deliver(&self, reply: ReceivedMessage, id: &Id) -> Result<()> {
        let text = match reply.message {
            Message::Response { id: Some(answered), .. } if answered == *id => reply.text,
            // A refusal of the POST may name another id or none.
            Message::Response { id: None, outcome: Err(error) } => error_frame(id, &error),
            _ => {
                return Err(self.endpoint.misbehaved_error("the server sent another message than the reply"));
            }
        };
        let _ = self.messages.send(text).await;
        Ok(())
    }
}

impl RelayedMessages {
    /// Waits for the next message of the server, on one line. Returns `None` when the relay has been dropped.
    ///
    /// # Cancellation
    ///
    /// Dropping the future loses no message.
    pub async fn next(&mut self) -> Option<Bytes> {
        let message = self.messages.recv().await?;
        if memchr::memchr2(b'\n', b'\r', &message).is_none() {
            return Some(message);
        }
        // Only between tokens: within strings, JSON has no line breaks.
        let mut line = Vec::from(message);
        replace_line_breaks(&mut line);
        Some(line.into())
    }
}

impl fmt::Debug for HttpRelay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpRelay")
            .field("url", &format_args!("{}", self.endpoint.url))
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for RelayedMessages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RelayedMessages").finish_non_exhaustive()
    }
}

//! How is a message of a conversation sent, and where does its reply arrive?

use std::sync::Arc;

use ::http::StatusCode;
use toolway_protocol::{Message, Method};

use crate::client::http::handshake::http_session::{HttpSession, session_ended_error};
use crate::client::http::handshake::listen::listen;
use crate::client::http::handshake::session_id::SessionId;
use crate::client::http::handshake::{legacy_sse, resume};
use crate::client::http::request::endpoint::ReplyBody;
use crate::client::http::request::events::ReceivedMessage;
use crate::client::http::request::headers::{CallHeaders, merge_headers};
use crate::client::wire::outgoing::OutgoingMessage;
use crate::ground::error::Result;

impl HttpSession {
    /// Sends a message. If the message is a request, waits for its reply.
    pub(crate) async fn send(self: &Arc<Self>, outgoing: OutgoingMessage) -> Result<Option<ReceivedMessage>> {
        if self.has_ended() {
            return Err(session_ended_error());
        }
        if let Some(url) = self.post_url.get() {
            return legacy_sse::send(self, url, outgoing).await;
        }
        if self.gate.must_wait(&outgoing.method) {
            Box::pin(self.gate.wait_until_open()).await;
            if self.has_ended() {
                return Err(session_ended_error());
            }
        }
        if let Some(version) = outgoing.version {
            self.version.get_or_init(|| version);
        }
        let CallHeaders { caller_headers: of_caller, argument_headers: of_tool } =
            CallHeaders::parse(&outgoing.headers)?;
        let mut headers = self.headers(&of_caller);
        merge_headers(&mut headers, &of_tool);
        let mut expected = outgoing.id.as_ref().map(|id| self.pending.register(id));
        let response = self.endpoint.post(headers, outgoing.frame.clone()).await?;
        let status = response.status();
        match self.session_id.get() {
            Some(_) if status == StatusCode::NOT_FOUND => {
                self.end();
                return Err(session_ended_error().with_http_status(status.as_u16()));
            }
            // Only the reply to `initialize` sets the session id. A session id in any other reply is ignored.
            None if outgoing.method == Method::Initialize && status.is_success() => {
                if let Some(session) = SessionId::from_headers(response.headers())? {
                    self.session_id.get_or_init(|| session);
                }
            }
            _ => {}
        }
        let Some(id) = &outgoing.id else {
            self.endpoint.check_accepted(response).await?;
            if outgoing.method == Method::Initialized && self.session_id.get().is_some() {
                self.listen_task.get_or_init(|| {
                    self.gate.close();
                    tokio::spawn(listen(self.clone())).abort_handle()
                });
            }
            return Ok(None);
        };
        let elsewhere = async {
            match &mut expected {
                Some(expected) => expected.reply().await,
                None => std::future::pending().await,
            }
        };
        match self.endpoint.read_reply(response, Some(id)).await {
            Ok(ReplyBody::Whole(reply))
                if status == StatusCode::BAD_REQUEST && self.is_unknown_session(&reply.message) =>
            {
                self.end();
                Err(session_ended_error().with_http_status(status.as_u16()))
            }
            Ok(ReplyBody::Whole(reply)) => Ok(Some(reply)),
            Ok(ReplyBody::Stream(events)) => tokio::select! {
                biased;
                reply = resume::read_reply(self, events, id, &of_caller) => reply.map(Some),
                reply = elsewhere => Ok(Some(reply)),
            },
            Err(error) if outgoing.method == Method::Initialize && legacy_sse::is_likely(&error) => {
                match legacy_sse::open(self, &of_caller).await? {
                    Some(url) => {
                        let url = self.post_url.get_or_init(|| url);
                        legacy_sse::send(self, url, outgoing).await
                    }
                    None => Err(error),
                }
            }
            Err(error) => Err(error),
        }
    }

    /// Returns whether a reply with status 400 means that the server does not know the session. The specification
    /// requires status 404, but many servers with their own session handling send status 400 and an error without a
    /// request id.
    fn is_unknown_session(&self, message: &Message) -> bool {
        let Message::Response { id: None, outcome: Err(error) } = message else { return false };
        self.session_id.get().is_some() && error.message.to_ascii_lowercase().contains("session")
    }
}

//! How is a message of a conversation sent, and where does its reply arrive?

use std::sync::Arc;

use ::http::StatusCode;
use toolway_protocol::{Message, Method};

use crate::client::http::handshake::conversation::{Conversation, ended};
use crate::client::http::handshake::listen::listen;
use crate::client::http::handshake::session::Session;
use crate::client::http::handshake::{legacy_sse, resume};
use crate::client::http::request::endpoint::Reply;
use crate::client::http::request::headers::{OfCall, put_on};
use crate::client::wire::outgoing::Outgoing;
use crate::ground::error::Result;

impl Conversation {
    /// Sends a message. If the message is a request, waits for its reply.
    pub(crate) async fn carry(self: &Arc<Self>, outgoing: Outgoing) -> Result<Option<Message>> {
        if self.is_over() {
            return Err(ended());
        }
        if let Some(url) = self.post_to.get() {
            return legacy_sse::carry(self, url, outgoing).await;
        }
        if self.gate.holds(&outgoing.method) {
            Box::pin(self.gate.pass()).await;
            if self.is_over() {
                return Err(ended());
            }
        }
        if let Some(version) = outgoing.version {
            self.version.get_or_init(|| version);
        }
        let OfCall { of_caller, of_tool } = OfCall::read(&outgoing.headers)?;
        let mut headers = self.headers(&of_caller);
        put_on(&mut headers, &of_tool);
        let mut expected = outgoing.id.as_ref().map(|id| self.pending.expect(id));
        let response = self.endpoint.post(headers, outgoing.frame.clone()).await?;
        let status = response.status();
        match self.session.get() {
            Some(_) if status == StatusCode::NOT_FOUND => {
                self.end();
                return Err(ended().with_http_status(status.as_u16()));
            }
            // Only the reply to `initialize` sets the session id. A session id in any other reply is ignored.
            None if outgoing.method == Method::Initialize && status.is_success() => {
                if let Some(session) = Session::named_in(response.headers())? {
                    self.session.get_or_init(|| session);
                }
            }
            _ => {}
        }
        let Some(id) = &outgoing.id else {
            self.endpoint.accepted(response).await?;
            if outgoing.method == Method::Initialized && self.session.get().is_some() {
                self.listening.get_or_init(|| {
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
        match self.endpoint.reply(response, Some(id)).await {
            Ok(Reply::Whole(message)) if status == StatusCode::BAD_REQUEST && self.is_forgotten(&message) => {
                self.end();
                Err(ended().with_http_status(status.as_u16()))
            }
            Ok(Reply::Whole(message)) => Ok(Some(message)),
            Ok(Reply::Stream(events)) => tokio::select! {
                biased;
                reply = resume::read(self, events, id, &of_caller) => reply.map(Some),
                reply = elsewhere => Ok(Some(reply)),
            },
            Err(error) if outgoing.method == Method::Initialize && legacy_sse::is_likely(&error) => {
                match legacy_sse::open(self, &of_caller).await? {
                    Some(url) => {
                        let url = self.post_to.get_or_init(|| url);
                        legacy_sse::carry(self, url, outgoing).await
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
    fn is_forgotten(&self, message: &Message) -> bool {
        let Message::Response { id: None, outcome: Err(error) } = message else { return false };
        self.session.get().is_some() && error.message.to_ascii_lowercase().contains("session")
    }
}

//! How is a request of the stateless era sent? As a POST whose headers repeat parts of the body: the revision, the
//! method, and the name of the tool, prompt or resource. A reply that breaks off cannot be resumed.

use std::sync::Arc;
use std::time::Duration;

use ::http::header::HeaderMap;
use toolway_protocol::http::header::encode;
use toolway_protocol::{Id, Message, ProtocolVersion};

use crate::client::http::request::endpoint::{HttpEndpoint, ReplyBody};
use crate::client::http::request::events::EventReader;
use crate::client::http::request::headers::{CallHeaders, insert_header, merge_headers};
use crate::client::wire::inbox::Inbox;
use crate::client::wire::outgoing::OutgoingMessage;
use crate::client::wire::transport::Transport;
use crate::ground::error::Result;
use crate::ground::future::BoxFuture;

/// Carries messages of the stateless era over HTTP.
pub(crate) struct StatelessTransport {
    pub(crate) endpoint: Arc<HttpEndpoint>,
    /// The limit of [`Http::max_message`](crate::client::Http::max_message). It overrides the limit of the client.
    max_message: Option<usize>,
}

impl StatelessTransport {
    pub(crate) fn new(endpoint: HttpEndpoint, max_message: Option<usize>) -> Self {
        Self { endpoint: Arc::new(endpoint), max_message }
    }
}

impl Transport for StatelessTransport {
    fn send(&self, outgoing: OutgoingMessage) -> BoxFuture<'_, Result<Option<Message>>> {
        Box::pin(send(&self.endpoint, outgoing))
    }

    fn set_inbox(&self, inbox: Inbox) {
        self.endpoint.set_inbox(inbox);
    }

    fn has_headers(&self) -> bool {
        true
    }

    fn set_headers(&self, headers: &[(String, String)]) -> Result<()> {
        self.endpoint.set_client_headers(headers)
    }

    fn user_time(&self) -> Duration {
        self.endpoint.user_time()
    }

    fn set_max_message(&self, bytes: usize) -> usize {
        let bytes = self.max_message.unwrap_or(bytes);
        self.endpoint.set_max_message(bytes);
        bytes
    }

    /// Returns `true`: dropping the future closes the connection, which cancels the call.
    fn cancels_by_dropping(&self, _: ProtocolVersion) -> bool {
        true
    }
}

async fn send(endpoint: &HttpEndpoint, outgoing: OutgoingMessage) -> Result<Option<Message>> {
    let response = endpoint.post(request_headers(&outgoing)?, outgoing.frame).await?;
    let Some(id) = outgoing.id else {
        return endpoint.check_accepted(response).await.map(|()| None);
    };
    match endpoint.read_reply(response, Some(&id)).await? {
        ReplyBody::Whole(reply) => Ok(Some(reply.message)),
        ReplyBody::Stream(events) => read_reply(endpoint, events, &id).await.map(Some),
    }
}

fn request_headers(outgoing: &OutgoingMessage) -> Result<HeaderMap> {
    let CallHeaders { caller_headers: mut headers, argument_headers: of_tool } =
        CallHeaders::parse(&outgoing.headers)?;
    // More are added until the request is sent.
    headers.reserve(10);
    merge_headers(&mut headers, &of_tool);
    if let Some(version) = outgoing.version {
        insert_header(&mut headers, "mcp-protocol-version", version.as_str());
    }
    insert_header(&mut headers, "mcp-method", outgoing.method.name());
    if let Some(name) = &outgoing.name {
        insert_header(&mut headers, "mcp-name", &encode(name));
    }
    Ok(headers)
}

/// Reads events until the reply arrives. Ignores event ids, because this era cannot resume a stream.
async fn read_reply(endpoint: &HttpEndpoint, mut events: EventReader, id: &Id) -> Result<Message> {
    let inbox = endpoint.inbox(Some(id));
    loop {
        let messages = events.next_messages(|_| true).await;
        for received in messages.map_err(|reason| endpoint.stream_error(reason))? {
            match received.message {
                reply @ Message::Response { .. } if reply.id() == Some(id) => return Ok(reply),
                other => inbox.iter().for_each(|inbox| inbox.deliver(&other)),
            }
        }
    }
}

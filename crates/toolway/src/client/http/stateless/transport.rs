//! How is a request of the stateless era sent? As a POST whose headers repeat parts of the body: the revision, the
//! method, and the name of the tool, prompt or resource. A reply that breaks off cannot be resumed.

use std::sync::Arc;

use ::http::header::HeaderMap;
use toolway_protocol::http::header::encode;
use toolway_protocol::{Id, Message, ProtocolVersion};

use crate::client::http::request::endpoint::{HttpEndpoint, Reply};
use crate::client::http::request::events::Events;
use crate::client::http::request::headers::{OfCall, insert, put_on};
use crate::client::wire::inbox::Inbox;
use crate::client::wire::outgoing::Outgoing;
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
    fn carry(&self, outgoing: Outgoing) -> BoxFuture<'_, Result<Option<Message>>> {
        Box::pin(carry(&self.endpoint, outgoing))
    }

    fn deliver_to(&self, inbox: Inbox) {
        self.endpoint.deliver_to(inbox);
    }

    fn has_headers(&self) -> bool {
        true
    }

    fn use_headers(&self, headers: &[(String, String)]) -> Result<()> {
        self.endpoint.use_headers(headers)
    }

    fn use_max_message(&self, bytes: usize) -> usize {
        let bytes = self.max_message.unwrap_or(bytes);
        self.endpoint.use_max_message(bytes);
        bytes
    }

    /// Returns `true`: dropping the future closes the connection, which cancels the call.
    fn cancels_by_dropping(&self, _: ProtocolVersion) -> bool {
        true
    }
}

async fn carry(endpoint: &HttpEndpoint, outgoing: Outgoing) -> Result<Option<Message>> {
    let response = endpoint.post(dress(&outgoing)?, outgoing.frame).await?;
    let Some(id) = outgoing.id else {
        return endpoint.accepted(response).await.map(|()| None);
    };
    match endpoint.reply(response, Some(&id)).await? {
        Reply::Whole(message) => Ok(Some(message)),
        Reply::Stream(events) => read(endpoint, events, &id).await.map(Some),
    }
}

fn dress(outgoing: &Outgoing) -> Result<HeaderMap> {
    let OfCall { of_caller: mut headers, of_tool } = OfCall::read(&outgoing.headers)?;
    put_on(&mut headers, &of_tool);
    if let Some(version) = outgoing.version {
        insert(&mut headers, "mcp-protocol-version", version.as_str());
    }
    insert(&mut headers, "mcp-method", outgoing.method.name());
    if let Some(name) = &outgoing.name {
        insert(&mut headers, "mcp-name", &encode(name));
    }
    Ok(headers)
}

/// Reads events until the reply arrives. Ignores event ids, because this era cannot resume a stream.
async fn read(endpoint: &HttpEndpoint, mut events: Events, id: &Id) -> Result<Message> {
    let inbox = endpoint.inbox(Some(id));
    loop {
        for message in events.messages(|_| true).await.map_err(|reason| endpoint.broken(reason))? {
            match message {
                reply @ Message::Response { .. } if reply.id() == Some(id) => return Ok(reply),
                other => inbox.iter().for_each(|inbox| inbox.take(&other)),
            }
        }
    }
}

//! The two-URL transport of 2024-11-05: a stream on which everything is heard, and an address to post to, which the stream tells.
//!
//! The two together are a pipe. It ends with its stream, and what was not answered until then is lost.

use std::sync::Arc;
use std::time::Duration;

use ::http::header::{ACCEPT, HeaderMap, HeaderValue};
use ::http::{Method as HttpMethod, StatusCode};
use bytes::Bytes;
use tokio::time::timeout;
use toolway_protocol::Message;

use crate::client::http::endpoint::Arrived;
use crate::client::http::events::{Events, is_events, messages};
use crate::client::http::handshake::{Conversation, ended};
use crate::client::http::headers::{OfCall, put_on};
use crate::client::http::url::Url;
use crate::client::wire::transport::Outgoing;
use crate::error::{Error, ErrorKind, Result};

/// How long a stream is waited for to say where to post. A stream that is not of this transport may say nothing for hours.
const PATIENCE: Duration = Duration::from_secs(5);

/// How many events may come before that.
const MAX_BEFORE: usize = 16;

/// A conversation of this kind.
pub(super) struct Pipe {
    endpoint: Url,
}

/// Whether a refused `initialize` may have gone to a server that knows only this transport: it does not take messages there.
pub(super) fn is_likely(error: &Error) -> bool {
    match error.http_status() {
        Some(401 | 403 | 407 | 408 | 425 | 429) | None => false,
        Some(status) => (400..500).contains(&status) && error.rpc().is_none(),
    }
}

/// Opens the stream. Nothing, if there is none that says where to post.
pub(super) async fn open(conversation: &Arc<Conversation>, of_caller: &HeaderMap) -> Result<Option<Pipe>> {
    let line = &conversation.line;
    let mut headers = of_caller.clone();
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
    let Ok(Arrived { response, at, .. }) =
        line.send_to(line.place(), HttpMethod::GET, headers, Bytes::new()).await
    else {
        return Ok(None);
    };
    if response.status() != StatusCode::OK || !is_events(&response) {
        return Ok(None);
    }
    let mut events = Events::of(response, line.max_message());
    let Ok(Some(endpoint)) = timeout(PATIENCE, first(&mut events)).await else { return Ok(None) };
    let endpoint = at.join(&endpoint).map_err(|error| {
        line.misbehaved("the server wants messages to be posted to something that is not a URL")
            .caused_by(error)
    })?;
    if !at.is_same_origin(&endpoint) {
        return Err(line.misbehaved(&format!(
            "the server wants messages to be posted to {endpoint}, which is another server: they are not sent there"
        )));
    }
    tracing::debug!(server = %line.url(), "the server speaks the transport of 2024-11-05");
    let hearing = hear(conversation.clone(), events);
    conversation.listening.get_or_init(|| tokio::spawn(hearing).abort_handle());
    Ok(Some(Pipe { endpoint }))
}

/// What the first event says, if it is about where to post.
async fn first(events: &mut Events) -> Option<String> {
    for _ in 0..MAX_BEFORE {
        let event = events.next().await.ok()?;
        match event.event.as_deref() {
            Some("endpoint") => return String::from_utf8(event.data.to_vec()).ok(),
            _ if event.data.is_empty() => {}
            _ => return None,
        }
    }
    None
}

/// Hears the server until its stream ends, and the conversation with it.
async fn hear(conversation: Arc<Conversation>, mut events: Events) {
    loop {
        match events.next().await.map(|event| messages(&event)) {
            Ok(Ok(messages)) => {
                for message in messages {
                    conversation.heed(message, &HeaderMap::new(), None).await;
                }
            }
            Ok(Err(_)) => tracing::debug!("skipped an event that is not a message"),
            Err(reason) => {
                tracing::debug!(?reason, "the server's stream is over");
                break;
            }
        }
    }
    conversation.end();
}

impl Pipe {
    pub(super) fn endpoint(&self) -> Url {
        self.endpoint.clone()
    }

    pub(super) async fn carry(
        &self,
        conversation: &Conversation,
        outgoing: Outgoing,
    ) -> Result<Option<Message>> {
        let OfCall { of_caller: mut headers, of_tool } = OfCall::read(&outgoing.headers)?;
        put_on(&mut headers, &of_tool);
        let expected = outgoing.id.as_ref().map(|id| conversation.elsewhere.expect(id));
        let response = conversation.line.post_to(self.endpoint(), headers, outgoing.frame).await?;
        if response.status() == StatusCode::NOT_FOUND {
            conversation.end();
            return Err(ended().with_http_status(StatusCode::NOT_FOUND.as_u16()));
        }
        conversation.line.accepted(response).await?;
        let Some(mut expected) = expected else { return Ok(None) };
        tokio::select! {
            biased;
            reply = expected.reply() => Ok(Some(reply)),
            () = conversation.over() => {
                let message = "the server's stream ended before the reply came";
                Err(Error::new(ErrorKind::Transport, message).broken_off())
            }
        }
    }
}

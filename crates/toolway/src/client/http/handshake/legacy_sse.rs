//! The two-URL transport of 2024-11-05: the server sends all its messages on one stream, and the client posts its
//! messages to another URL. An `endpoint` event on the stream announces that URL.
//!
//! The conversation ends when the stream ends. Requests without a reply are lost then.

use std::sync::Arc;
use std::time::Duration;

use ::http::header::{ACCEPT, HeaderMap, HeaderValue};
use ::http::{Method as HttpMethod, StatusCode};
use bytes::Bytes;
use tokio::time::timeout;

use crate::client::http::handshake::cursor::StreamCursor;
use crate::client::http::handshake::http_session::{HttpSession, session_ended_error};
use crate::client::http::handshake::listen::read_stream;
use crate::client::http::request::endpoint::FinalResponse;
use crate::client::http::request::events::{EventReader, ReceivedMessage, is_event_stream};
use crate::client::http::request::headers::{CallHeaders, merge_headers};
use crate::client::http::request::url::Url;
use crate::client::wire::outgoing::OutgoingMessage;
use crate::ground::error::{Error, ErrorKind, Result};

/// The time limit for the `endpoint` event of a stream. The server may use the newer HTTP transport, whose streams have
/// no `endpoint` event and may stay silent for hours.
const ENDPOINT_EVENT_TIMEOUT: Duration = Duration::from_secs(5);

/// The maximum number of events that are read to find the `endpoint` event, including the `endpoint` event itself.
const MAX_EVENTS_TO_ENDPOINT: usize = 16;

/// Returns whether the error of an `initialize` request suggests a server that only supports the two-URL transport.
/// Such a server does not accept a POST at the URL of its stream.
pub(super) fn is_likely(error: &Error) -> bool {
    match error.http_status() {
        Some(401 | 403 | 407 | 408 | 425 | 429) | None => false,
        Some(status) => (400..500).contains(&status) && error.rpc().is_none(),
    }
}

/// Opens the stream, and returns the URL to post messages to. Returns `None` if the server does not offer a stream, or
/// the stream does not announce a URL. Fails if the announced URL is invalid or has another origin.
pub(super) async fn open(conversation: &Arc<HttpSession>, of_caller: &HeaderMap) -> Result<Option<Url>> {
    let endpoint = &conversation.endpoint;
    let mut headers = of_caller.clone();
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
    let Ok(FinalResponse { response, url: at, .. }) =
        endpoint.send_to(endpoint.current_url(), HttpMethod::GET, headers, Bytes::new()).await
    else {
        return Ok(None);
    };
    if response.status() != StatusCode::OK || !is_event_stream(&response) {
        return Ok(None);
    }
    let mut events = EventReader::new(response, endpoint.max_message());
    let Ok(Some(told)) = timeout(ENDPOINT_EVENT_TIMEOUT, read_endpoint_event(&mut events)).await else {
        return Ok(None);
    };
    let post_to = at.join(&told).map_err(|error| {
        endpoint
            .misbehaved_error("the server wants messages to be posted to something that is not a URL")
            .caused_by(error)
    })?;
    if !at.is_same_origin(&post_to) {
        return Err(endpoint.misbehaved_error(&format!(
            "the server wants messages to be posted to {post_to}, which is another server: they are not sent there"
        )));
    }
    tracing::debug!(server = %endpoint.url, "the server speaks the transport of 2024-11-05");
    let hearing = read_until_end(conversation.clone(), events);
    conversation.listen_task.get_or_init(|| tokio::spawn(hearing).abort_handle());
    Ok(Some(post_to))
}

/// Returns the URL in the `endpoint` event. Returns `None` if another event with data arrives first, or the `endpoint`
/// event does not arrive.
async fn read_endpoint_event(events: &mut EventReader) -> Option<String> {
    for _ in 0..MAX_EVENTS_TO_ENDPOINT {
        let event = events.next().await.ok()?;
        match event.event.as_deref() {
            Some("endpoint") => return String::from_utf8(event.data.to_vec()).ok(),
            _ if event.data.is_empty() => {}
            _ => return None,
        }
    }
    None
}

/// Reads the server's stream until it ends, and then ends the conversation. This transport cannot resume a stream.
async fn read_until_end(conversation: Arc<HttpSession>, events: EventReader) {
    let reason = read_stream(&conversation, events, &mut StreamCursor::default()).await;
    tracing::debug!(?reason, "the server's stream ended");
    conversation.end();
}

/// Posts a message to `url`. If the message is a request, waits for the reply on the stream.
pub(super) async fn send(
    conversation: &HttpSession,
    url: &Url,
    outgoing: OutgoingMessage,
) -> Result<Option<ReceivedMessage>> {
    let CallHeaders { caller_headers: mut headers, argument_headers: of_tool } =
        CallHeaders::parse(&outgoing.headers)?;
    merge_headers(&mut headers, &of_tool);
    let expected = outgoing.id.as_ref().map(|id| conversation.pending.register(id));
    let response = conversation.endpoint.post_to(url.clone(), headers, outgoing.frame).await?;
    if response.status() == StatusCode::NOT_FOUND {
        conversation.end();
        return Err(session_ended_error().with_http_status(StatusCode::NOT_FOUND.as_u16()));
    }
    conversation.endpoint.check_accepted(response).await?;
    let Some(mut expected) = expected else { return Ok(None) };
    tokio::select! {
        biased;
        reply = expected.reply() => Ok(Some(reply)),
        () = conversation.ended() => {
            let message = "the server's stream ended before the reply came";
            Err(Error::new(ErrorKind::Transport, message).reply_lost())
        }
    }
}

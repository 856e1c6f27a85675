//! Which messages does a stream of events contain?

use ::http::header::CONTENT_TYPE;
use ::http::{HeaderMap, Response};
use bytes::Bytes;
use http_body_util::BodyExt;
use serde_json::value::RawValue;
use toolway_protocol::json::Limits;
use toolway_protocol::jsonrpc::{OversizedMessage, ParsedFrame, parse};
use toolway_protocol::{Message, RpcError};

use crate::client::http::request::client::HttpBody;
use crate::client::wire::outgoing::error_frame;
use crate::client::wire::transport::reply_too_long_error;
use crate::transport::sse::{Event, Parser};

/// A message of the server, and its text as it arrived.
#[derive(Debug)]
pub(crate) struct ReceivedMessage {
    pub(crate) message: Message,
    pub(crate) text: Bytes,
}

/// The events of one response, in order.
pub(crate) struct EventReader {
    body: HttpBody,
    parser: Parser,
    max_message: usize,
}

/// The reason why no event or message could be read.
#[derive(Debug)]
pub(crate) enum StreamError {
    /// The stream has ended.
    Ended,
    /// The connection is lost.
    Connection(Box<dyn std::error::Error + Send + Sync>),
    /// The event is too long to be read or skipped.
    TooLong,
    /// The data of the event is not a message.
    NotAMessage,
}

impl EventReader {
    /// Creates a reader for the events of a response. An event may have at most `max_message` bytes.
    pub(crate) fn new(response: Response<HttpBody>, max_message: usize) -> Self {
        Self { body: response.into_body(), parser: Parser::new(max_message), max_message }
    }

    /// If the event is a reply that is too long, puts an error in its place. So only the call that waits for the reply
    /// fails, and the stream continues. Other messages that are too long are ignored.
    fn replace_too_long_reply(&self, mut event: Event) -> Event {
        match event.too_long.take() {
            None => {}
            Some(OversizedMessage::Reply(id)) => {
                let error = RpcError::internal(reply_too_long_error(self.max_message).to_string());
                event.data = error_frame(&id, &error.with_max_message(self.max_message));
            }
            Some(_) => tracing::warn!(
                max_message = self.max_message,
                "a message of the server is longer than the client's `max_message`, and was ignored"
            ),
        }
        event
    }

    /// Returns the messages of the next event that `is_new` accepts. Events that it rejects are skipped.
    pub(crate) async fn next_messages(
        &mut self,
        mut is_new: impl FnMut(&Event) -> bool,
    ) -> Result<Vec<ReceivedMessage>, StreamError> {
        loop {
            let event = self.next().await?;
            if is_new(&event) {
                return parse_messages(&event);
            }
        }
    }

    /// Returns the next complete event. An event that is cut off by the end of the stream is dropped.
    pub(crate) async fn next(&mut self) -> Result<Event, StreamError> {
        loop {
            if let Some(event) = self.parser.next_event().map_err(|_| StreamError::TooLong)? {
                return Ok(self.replace_too_long_reply(event));
            }
            let frame =
                self.body.frame().await.ok_or(StreamError::Ended)?.map_err(StreamError::Connection)?;
            if let Some(chunk) = frame.data_ref() {
                self.parser.push(chunk);
            }
        }
    }
}

/// Returns the messages of an event. The list is empty if the event has no data, or is of another kind than `message`.
/// Revision 2025-03-26 allows several messages in one event.
fn parse_messages(event: &Event) -> Result<Vec<ReceivedMessage>, StreamError> {
    if event.data.is_empty() || event.event.as_deref().is_some_and(|kind| kind != "message") {
        return Ok(Vec::new());
    }
    match parse(&event.data, Limits::default()) {
        Ok(ParsedFrame::One(message)) => Ok(vec![ReceivedMessage { message, text: event.data.clone() }]),
        Ok(ParsedFrame::Batch(messages)) => {
            let texts: Vec<&RawValue> =
                serde_json::from_slice(&event.data).map_err(|_| StreamError::NotAMessage)?;
            let both = messages.into_iter().zip(texts);
            Ok(both
                .filter_map(|(message, text)| {
                    let text = event.data.slice_ref(text.get().as_bytes());
                    Some(ReceivedMessage { message: message.ok()?, text })
                })
                .collect())
        }
        Err(_) => Err(StreamError::NotAMessage),
    }
}

pub(crate) fn is_event_stream(response: &Response<HttpBody>) -> bool {
    media_type(response.headers()).as_deref() == Some("text/event-stream")
}

/// Returns the media type of a body in lower case, without its parameters.
pub(crate) fn media_type(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    Some(value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase())
}
